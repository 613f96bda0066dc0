#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""words.py: each word of balance_status is explained

All are in the tables of the ABI, and those of interrupts that may be moved in the tables of
the guide as well. Prints the words that are missing, and fails if there are any.
"""
import re
import sys

ABI, GUIDE = 'Documentation/ABI/testing/sysfs-kernel-irq_balance', 'Documentation/admin-guide/irq-balance.rst'
# irq_balance_word() has others for these
UNSEEN = {'none', 'hotplug', 'fixed'}


def text(name):
    with open(name, encoding='utf-8') as file:
        return file.read()


def words(header, macros):
    """The words that lists of macros have."""
    lists = re.findall(r'^#define %s\(x\)((?:.*\\\n)*.*\n)' % macros, text(header), re.M)
    found = {word for one in lists for word in re.findall(r'\tx\(\w+,\s*"([^"]+)"\)', one)}
    if not found:
        sys.exit('%s has no list of words called %s' % (header, macros))
    return found - UNSEEN


def main():
    whys = words('kernel-irq/balance/problem.h', r'IRQ_BALANCE_WHYS_\w+')
    all_words = whys | words('kernel-irq/balance/move.h', 'IRQ_BALANCE_STATUSES')
    # The first column of simple tables, and of list-tables
    abi = set(re.findall(r'^\t\t([a-z-]+)  +\S', text(ABI), re.M))
    columns = re.findall(r'^(?:\s*\* - )?(``[a-z-]+``.*)', text(GUIDE), re.M)
    guide = {word for column in columns for word in re.findall('``([a-z-]+)``', re.split('  +', column)[0])}
    missing = ['%s has no row: %s' % (name, word) for name, wanted, there in ((ABI, all_words, abi), (GUIDE, whys, guide))
               for word in sorted(wanted - there)]
    print(*missing, sep='\n', end='\n' * bool(missing))
    return bool(missing)


sys.exit(main())
