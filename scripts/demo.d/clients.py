#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Figures of clients on four network cards, with the balancer off and on

Boots KERNEL with 8 CPUs of a fixed speed and four cards, in two pairs. iperf3, redis-benchmark and
sockperf of Debian, see clients/in-guest, run with all interrupts on CPU 0, as after a resume, or
with --apart with those of each card on a CPU of its own. Each round is a boot, every other one
with on before off. A boot in which the host could not give the CPUs their speed is
repeated up to four times. Shows medians, and the smallest and the largest. Status 4: the host cannot
give the CPUs their speed.
"""
import argparse
import json
import os
import shutil
import statistics
import sys

from overload import Slow, count, guest

HERE = os.path.dirname(os.path.abspath(__file__))
MIPS, AGAIN, STATES, BOOT_S, STATE_S = 12, 4, ('off', 'on'), 35, 50
# Name, unit, digits
FIGURES = {'iperf3': ('iperf3, four flows', 'Mbit/s', 0), 'redis': ('redis, GET, four clients', '/s', 0),
           'p50': ('sockperf, p50', 'ms', 1), 'p99': ('sockperf, p99', 'ms', 1),
           'flood_p50': ('sockperf beside a flood, p50', 'ms', 1), 'flood_p99': ('sockperf beside a flood, p99', 'ms', 1)}


def boot(kernel, out, place, number, say):
    """The figures of a round. Nothing of a boot that was disturbed remains"""
    words = STATES[::-1] if number % 2 else STATES
    for again in range(AGAIN, -1, -1):
        # By state: a second boot replaces what the first one has measured
        found = {}
        try:
            for line in guest(out, '--nics', 'e1000ex4', '--mips', str(MIPS), '--timeout', str(4 * (BOOT_S + len(words) * STATE_S)),
                              kernel, '--', HERE + '/clients/in-guest', place, *words):
                found[line['state']] = dict(line, round=number)
                say(found[line['state']])
        except Slow:
            if not again:
                raise
            print('once more: the host was busy with other work', flush=True)
            continue
        if len(found) != len(words):
            sys.exit('clients.py: the guest did not measure %s' % ' '.join(words))
        return list(found.values())


def run(kernel, out, rounds, place='resume', say=print):
    """[the figures of each round and state]"""
    os.makedirs(out, exist_ok=True)
    server = os.path.join(out, 'redis-server')
    if not os.path.lexists(server):
        # One program, which goes by its name; Debian's package of this name would start a server here
        os.symlink(shutil.which('redis-check-rdb') or sys.exit('clients.py: no redis-check-rdb: install redis-tools'), server)
    return [line for number in range(rounds) for line in boot(kernel, out, place, number, say)]


def medians(found):
    """{figure: {state: [median, smallest, largest]}}"""
    result = {}
    for key in FIGURES:
        each = {state: [line[key] for line in found if line['state'] == state] for state in STATES}
        result[key] = {state: [statistics.median(values), min(values), max(values)] for state, values in each.items()}
    return result


def table(result, rounds):
    print('%-38s %24s %24s %9s' % ('medians of %d rounds (range)' % rounds, 'off', 'on', 'on / off'))
    for key, (name, unit, digits) in FIGURES.items():
        texts = ['%.*f (%.*f to %.*f)' % tuple(word for value in result[key][state] for word in (digits, value)) for state in STATES]
        print('%-38s %24s %24s %9.2f' % ('%s, %s' % (name, unit) if unit != '/s' else name + '/s', *texts,
                                         result[key]['on'][0] / result[key]['off'][0]))


def shown(line):
    return 'round %d, %s: iperf3 %.0f Mbit/s, redis %.0f/s, sockperf p99 %.1f ms, beside a flood %.1f ms; interrupts on CPUs %s' % (
        line['round'] + 1, line['state'], line['iperf3'], line['redis'], line['p99'], line['flood_p99'],
        ' '.join(','.join(map(str, cpus)) for cpus in line['cpus']))


def main():
    parser = argparse.ArgumentParser(usage='clients.py [OPTION...] KERNEL OUT', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('kernel', metavar='KERNEL', help='a bzImage')
    parser.add_argument('out', metavar='OUT', help='a directory for the guest and its log')
    parser.add_argument('--apart', action='store_true', help='each card has a CPU of its own; without: all are on CPU 0')
    parser.add_argument('--rounds', type=count, default=6, help='of each state (6)')
    parser.add_argument('--json', metavar='FILE', help='write the medians, and the figures of each round, there')
    args = parser.parse_args()
    try:
        found = run(args.kernel, os.path.abspath(args.out), args.rounds, 'apart' if args.apart else 'resume',
                    lambda line: print(shown(line), flush=True))
    except Slow:
        sys.exit(4)
    result = medians(found)
    table(result, args.rounds)
    if args.json:
        with open(args.json, 'w') as file:
            json.dump({'clients': result, 'rounds': found}, file, indent=1)


if __name__ == '__main__':
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
