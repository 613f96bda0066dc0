#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The table of the mail of 2003, measured in a guest

The mail that proposed the first balancer of Linux for x86 (linux-kernel, 7 January 2003, "IRQ
distribution in the 2.5.52 kernel") compares transactions per second of a machine with four busy
network cards and eight logical CPUs. Here KERNEL has as many: 2 packages x 2 cores x 2 threads,
each of which executes 12 million instructions per second, whatever else the host does, and
four virtio-net cards. A program on the host keeps WINDOW echo requests outstanding at each
card; the guest answers them in its softirq. See table/in-guest for the WAYS.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
from overload import count, free_ports, qemu_args, some_of

HERE = os.path.dirname(os.path.abspath(__file__))
CARDS, MIPS, WINDOWS_MAX, SPREAD = 4, 12, 64, 0.05
NAMES = {'random': 'moved at random every 20 ms (the kernel of 2003)', 'linux': 'as Linux places them', 'one': 'all on CPU 0',
         'by_hand': 'by hand: one card per core',
         'siblings': 'by hand: two siblings per card', 'observe': 'by hand, balancer in observe', 'on': 'on',
         'alone': 'by hand, then on'}
# Measured by default
WAYS = [way for way in NAMES if way != 'alone']
# 56.20K, 50.05K and 56.01K transactions/s
MAIL = {'by_hand': 56200, 'random': 50050, 'on': 56010}


def compiled(out, name):
    path = os.path.join(out, name)
    if subprocess.run(['gcc', '-O2', '-Wall', '-o', path, '%s/table/%s.c' % (HERE, name)]).returncode:
        sys.exit('table.py: %s.c does not compile; it needs gcc and the headers of the C library' % name)
    return path


def run(kernel, out, cpus, ways, windows, rounds, measure):
    """[(way, window, {figures of a round})]"""
    os.makedirs(out, exist_ok=True)
    if os.path.exists(out + '/ask'):
        os.remove(out + '/ask')
    ports, seconds = free_ports(CARDS), 20 + rounds * sum(1 + (measure + (4 if way in ('on', 'observe', 'alone') else 1)) * len(windows) for way in ways)
    print('booting %d CPUs of %d MIPS and %d cards: %d rounds take about %d s' % (cpus, MIPS, CARDS, rounds, seconds), flush=True)
    client = subprocess.Popen([compiled(out, 'client'), out, *map(str, ports)], stdout=subprocess.PIPE, text=True)
    command = [HERE + '/table/in-guest', compiled(out, 'mover'), str(rounds), ','.join(map(str, windows)), ','.join(ways),
               str(measure)]
    guest = subprocess.Popen([HERE + '/../guest', '--mips', str(MIPS), '--mem', '1G', '--share', out,
                              '--timeout', str(100 + 2 * seconds), '--append', 'irqbalance=off', *(['--smp', '4'] if cpus == 4 else []),
                              '--qemu-args', qemu_args('virtio-net-pci', ports), kernel, '--', *command])
    # The client ends when the guest asks it to, or with the guest
    threading.Thread(target=lambda: (guest.wait(), client.kill())).start()
    # By round: a second boot replaces what the first one has measured
    found = {}
    for line in client.stdout:
        words = line.split()
        if len(words) != 5 + CARDS + 5:
            continue
        took, answers, lost, p50, p99, *each = map(float, words[:5 + CARDS])
        number, way, window, cpus, busy = words[5 + CARDS:]
        found[number, way, int(window)] = {
            'tps': round(answers / took), 'lost': int(lost), 'rtt_us_p50': p50, 'rtt_us_p99': p99,
            'cards': [round(n / took) for n in each], 'cpus': cpus, 'busy': int(busy)}
        print('round %d, window %s, %s: %d transactions/s, busiest CPU %s %%, interrupts on CPUs %s' % (
            int(number) + 1, window, NAMES[way], answers / took, busy, cpus), flush=True)
    status = guest.wait()
    if status:
        sys.exit('table.py: the guest failed (status %d); its log is %s/console.log' % (status, out))
    if len(found) != rounds * len(ways) * len(windows):
        sys.exit('table.py: the guest did not measure %d rounds of each way and window' % rounds)
    return [(way, window, figures) for (_, way, window), figures in found.items()]


def ratios(row):
    others = [way for way in ('by_hand', 'random') if row.get('on') and row.get(way)]
    return {'on_%s' % way: round(row['on'] / row[way], 3) for way in others}


def summary(found, ways, windows):
    """{window: {way: median, ..., on_by_hand: ratio, on_random: ratio, spread: {way: (largest - smallest) / median}}}"""
    result = {}
    for window in windows:
        each = {way: [f['tps'] for w, n, f in found if (w, n) == (way, window)] for way in ways}
        row = {way: round(statistics.median(values)) for way, values in each.items()}
        result[str(window)] = dict(row, **ratios(row), spread={
            way: round((max(values) - min(values)) / max(1, row[way]), 3) for way, values in each.items()})
    return result


def table(result, ways):
    columns = [('window %s' % window, row) for window, row in result.items()] + [('mail, 2003', dict(MAIL, **ratios(MAIL)))]
    print('\ntransactions/s, four cards     %s' % ''.join('%12s' % name for name, _ in columns).rjust(12 * len(columns) + 19))
    for key, name, form in [(way, NAMES[way], '%12d') for way in ways] + [
            ('on_by_hand', 'on / by hand', '%12.3f'), ('on_random', 'on / random', '%12.2f')]:
        print('%-50s' % name + ''.join(form % row[key] if key in row else '%12s' % '-' for _, row in columns))
    print('The siblings of 2003 were hyper-threads that shared a core. Here each is a whole CPU: two cards on one core cost\n'
          'nothing. A card of 2003 had one interrupt, these have two: frames received, and sent. By hand and at random\n'
          'both are on one CPU.')
    for window, row in result.items():
        for way, spread in row['spread'].items():
            if spread > SPREAD:
                print('window %s, %s: the rounds differ by %.0f %%' % (window, NAMES[way], 100 * spread))


def numbers(text):
    found = [int(word) if word.isdigit() else 0 for word in text.split(',')]
    if not all(0 < n <= WINDOWS_MAX for n in found) or len(set(found)) != len(found):
        raise argparse.ArgumentTypeError('%r: expected different numbers from 1 to %d, as 2,4' % (text, WINDOWS_MAX))
    return found


def main():
    parser = argparse.ArgumentParser(usage='table.py [OPTION...] KERNEL OUT', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('kernel', metavar='KERNEL', help='a bzImage')
    parser.add_argument('out', metavar='OUT', help='a directory for the guest and its log')
    parser.add_argument('--windows', type=numbers, default=[2, 4, 5], help='requests outstanding at each card (2,4,5)')
    parser.add_argument('--ways', type=some_of(NAMES), default=WAYS, help='those to measure, of %s (all but alone)' % ','.join(NAMES))
    parser.add_argument('--cpus', type=int, choices=(4, 8), default=8, help='8 in 2 packages, or 4, one for each card (8)')
    parser.add_argument('--rounds', type=count, default=5, help='of each; the table has medians (5)')
    parser.add_argument('--seconds', type=count, default=3, help='that each round of a way and a window is measured (3)')
    parser.add_argument('--json', metavar='FILE', help='write the medians, and the figures of each round, there')
    parser.add_argument('--result', metavar='FILE', help='set its key table2003 to the medians, and keep the others')
    args = parser.parse_args()
    if args.cpus == 4 and 'siblings' in args.ways:
        parser.error('4 CPUs have no siblings: name other --ways')
    if not os.path.isfile(args.kernel):
        parser.error('no kernel image at %s: name a bzImage, arch/x86/boot/bzImage in a build directory' % args.kernel)
    for name in filter(None, (args.json, args.result)):
        if not os.access(os.path.dirname(os.path.abspath(name)), os.W_OK):
            parser.error('cannot write %s: name a file in a directory that is there' % name)
    found = run(args.kernel, os.path.abspath(args.out), args.cpus, args.ways, args.windows, args.rounds, args.seconds)
    result = summary(found, args.ways, args.windows)
    table(result, args.ways)
    if args.json:
        with open(args.json, 'w') as file:
            json.dump({'table2003': result, 'rounds': [dict(f, way=way, window=n) for way, n, f in found]}, file, indent=1)
    if args.result:
        kept = {}
        if os.path.exists(args.result):
            with open(args.result) as file:
                kept = json.load(file)
        with open(args.result, 'w') as file:
            json.dump(dict(kept, table2003=result), file, indent=1)


if __name__ == '__main__':
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
