#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""figures.py: the figures in README.md and the cover letters are those of the measurements

Measurements are in scripts/demo.d/README.md and in the guide. A number of four digits or more
that is in neither is printed, and so is a row of the first table that differs.
"""
import glob
import re
import sys

TABLE, LETTER = 'scripts/demo.d/README.md', 'patches/0400-cover-letter.txt'


def text(name):
    with open(name, encoding='utf-8') as file:
        return file.read()


def numbers(words):
    """Numbers with four digits or more, without separators, but for years, links and hashes."""
    words = re.sub(r'https?://\S+|Message-ID\S*|message-id\S*|<irq-balance-\S+|\b[0-9a-f]{12,}\b', '', words)
    found = {n.replace(',', '') for n in re.findall(r'(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.,-])\d{4,}(?!\w)', words)}
    return {n for n in found if not re.fullmatch('(19|20)[0-9][0-9]', n)}


def main():
    letters = sorted(glob.glob('patches/*-cover-letter.txt'))
    measured = set().union(*(numbers(text(name).replace('|', ' ')) for name in
                             [TABLE, *glob.glob('Documentation/admin-guide/*.rst')]))
    bad = ['%s: %s is no figure of a measurement' % (name, n) for name in ['README.md', *letters] for n in sorted(numbers(text(name)) - measured)]
    rows = {cells[0]: (cells[1], cells[3], cells[4], cells[5]) for cells in
            (line.strip('|').split('|') for line in text(TABLE).splitlines() if line.startswith('|')) if len(cells) > 5 and cells[4].endswith(' ms')}
    letter = text(LETTER)
    for method, row in rows.items():
        there = re.search(r'^  %s[ \t]+(\d+)[ \t]+(\d+)[ \t]+([\d.]+ ms)[ \t]+([\d.]+ ms)$' % re.escape(method), letter, re.M)
        if not there or there.groups() != row:
            bad.append('%s: "%s" is %s in %s, here %s' % (LETTER, method, row, TABLE, there and there.groups()))
    if len(rows) < 5 or not letters:
        bad.append('there is nothing to compare')
    print('\n'.join(bad), end='\n' * bool(bad))
    sys.exit(bool(bad))


main()
