# SPDX-License-Identifier: GPL-2.0
"""Four network cards in two pairs, each card in a namespace of its own, for the programs beside this."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../overload')
from common import CPUS, irqs as irqs_of, read, write  # noqa: E402

CARDS, ALL = 4, '0-%d' % (CPUS - 1)


def address(card):
    return '10.9.%d.%d' % (card // 2, card % 2 + 1)


def start(card, *words):
    return subprocess.Popen(['ip', 'netns', 'exec', 'n%d' % card, *map(str, words)], text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def found(pattern, client):
    """The numbers that PATTERN finds in what CLIENT shows"""
    text = client.communicate()[0]
    match = re.search(pattern, text, re.M | re.S)
    return list(map(float, match.groups())) if match else sys.exit('%s: %s' % (' '.join(client.args), text))


def connect(servers):
    """Returns the interrupts of each card, which nothing in /sys names once it is in a namespace"""
    irqs = []
    for card in range(CARDS):
        for words in ('link set eth{0} up', 'netns add n{0}', 'link set eth{0} netns n{0}', '-n n{0} link set lo up',
                      '-n n{0} addr add {1}/24 dev eth{0}', '-n n{0} link set eth{0} up'):
            subprocess.run(['ip', *words.format(card, address(card)).split()], check=True)
            irqs += [irqs_of(card)] if len(irqs) == card else []
        for words in servers:
            start(card, *words)
    return irqs


def put(irqs, cpus):
    for numbers, cpu in zip(irqs, cpus):
        for irq in numbers:
            write('/proc/irq/%d/smp_affinity_list' % irq, cpu)


def counts(numbers):
    return [sum(map(int, read('/sys/kernel/irq/%d/per_cpu_count' % irq).split(','))) for irq in numbers]


def placed(irqs, before):
    """The CPUs of those interrupts, by card, that have come often since BEFORE (counts of each)"""
    return [[int(read('/proc/irq/%d/effective_affinity_list' % irq)) for irq, count, old in zip(numbers, counts(numbers), olds)
             if count > old + 100] for numbers, olds in zip(irqs, before)]


def resume(meanwhile=lambda: None):
    """All CPUs but CPU 0 go offline and come back"""
    for online in 0, 1:
        for cpu in range(1, CPUS):
            write('/sys/devices/system/cpu/cpu%d/online' % cpu, online)
            meanwhile()
