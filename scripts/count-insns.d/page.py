#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The tables of the cost page, from the figures of scripts/count-insns

FIGURES are files that "count-insns --figures" wrote for the kernels unpatched, off, observe, on and
one that times each event, in this order: with mitigations=off at several rates and of busy and deferred polls
(which need not have the last kernel), and the same with mitigations=auto. Prints the
tables, compares them with those of PAGE, or puts them there.
"""
import argparse
import re
import sys

KERNELS = 'unpatched', 'off', 'observe', 'on', 'each timed'
TITLES = ('Instructions of a whole interrupt, mitigations=off', 'Instructions of a whole interrupt, default mitigations')
RATES = {'1000': '1,000', '10000': '10,000', '20000': '20,000', '0': 'most', 'busy-poll': 'busy poll',
         'deferred': 'deferred'}
# The column of each, after NUMBER, RATE, ROW and LOW. Not p99: at 10,000 per second one in a hundred is sampled
FIGURES = {'median': 4, 'mean': 6}
MORE = 'more, 10^6/s'
# Per cent that a figure may differ, as other compilers and boots make it; of MORE this many millions, too
TOLERANCE = {'median': 3, 'mean': 3, MORE: 15}
LITTLE = 0.1


def figures(names):
    """{(rate, figure): [of each kernel]}"""
    found = {}
    for name in names:
        with open(name, encoding='ascii') as file:
            for words in (line.split() for line in file):
                if words[2] in ('whole', 'poll', 'timer'):
                    for figure, column in FIGURES.items():
                        found.setdefault((words[1], figure), []).append(float(words[column]))
    result = {}
    for rate, label in RATES.items():
        for figure in FIGURES:
            if (rate, figure) in found:
                result[label, figure] = ['%.0f' % value for value in found[rate, figure]]
        if rate.isdigit() and int(rate) and (rate, 'mean') in found:
            means = found[rate, 'mean']
            result[label, MORE] = ['%.2f' % (abs(mean - means[0]) * int(rate) / 1e6) for mean in means]
    return result


def table(title, found):
    lines = [('per second', 'figure', *KERNELS)] + [(*key, *values, *[''] * (len(KERNELS) - len(values))) for key, values in found.items()]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    rule = '  '.join('=' * width for width in widths)
    text = ['  '.join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines]
    return '.. table:: %s\n\n' % title + ''.join('   %s\n' % line for line in (rule, text[0], rule, *text[1:], rule))


def place(page, title):
    """(start, end) of the table in PAGE, or None"""
    match = re.search(r'\.\. table:: %s\n\n(?:   \S.*\n)+' % re.escape(title), page)
    return match and match.span()


def parsed(text):
    """{(rate, figure): [of each kernel]} of a table"""
    lines = text.split('\n')
    starts = [match.start() for match in re.finditer(r'=+', lines[2])]
    cells = [[line[a:b].strip() for a, b in zip(starts, starts[1:] + [None])] for line in lines[5:] if not line.startswith('   =') and line]
    return {(rate, figure): [value for value in values if value] for rate, figure, *values in cells}


def differences(there, found):
    for key, values in found.items():
        old = there.get(key, [])
        if len(old) != len(values):
            yield '%s, %s: the page has %s, here are %s' % (*key, ' '.join(old) or 'nothing', ' '.join(values))
            continue
        for kernel, a, b in zip(KERNELS, old, values):
            allowed = max(float(b) * TOLERANCE[key[1]] / 100, LITTLE if key[1] == MORE else 1)
            if abs(float(a) - float(b)) > allowed:
                yield '%s, %s, %s: the page has %s, here is %s' % (*key, kernel, a, b)
    yield from ('%s, %s: in the page only' % key for key in there.keys() - found.keys())


def main():
    parser = argparse.ArgumentParser(usage='page.py [--check PAGE | --write PAGE] FIGURES BUSY [FIGURES BUSY]', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--check', metavar='PAGE', help='fail if figures of the page differ by more than (per cent) ' + ', '.join(
        '%s %d' % pair for pair in TOLERANCE.items()))
    parser.add_argument('--write', metavar='PAGE', help='put the tables in the place of those with the same titles, or behind each other')
    parser.add_argument('figures', metavar='FIGURES', nargs='+')
    args = parser.parse_args()
    if len(args.figures) not in (2, 4):
        parser.error('two files, or two more with mitigations')
    try:
        sets = {title: figures(args.figures[2 * i:2 * i + 2]) for i, title in enumerate(TITLES[:len(args.figures) // 2])}
        page = open(args.check or args.write, encoding='utf-8').read() if args.check or args.write else ''
    except (OSError, ValueError, IndexError) as error:
        sys.exit('page.py: %s: name files that count-insns --figures wrote, and a page' % error)
    wrong, last = [], 0
    for title, found in sets.items():
        span = place(page, title)
        if not span and args.write and last:
            page = page[:last] + '\n' + page[last:]
            span = (last + 1, last + 1)
        if not args.check and not args.write:
            print(table(title, found))
        elif not span:
            wrong.append('%s: no such table' % title)
        elif args.check:
            wrong += ['%s: %s' % (title, line) for line in differences(parsed(page[slice(*span)]), found)]
        else:
            page = page[:span[0]] + table(title, found) + page[span[1]:]
            last = span[0] + len(table(title, found))
    if args.write and not wrong:
        with open(args.write, 'w', encoding='utf-8') as file:
            file.write(page)
    print('\n'.join(wrong), end='\n' if wrong else '')
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main())
