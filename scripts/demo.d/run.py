#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs the demo's scenes in guests, shows them live, writes figures and pictures.

Called by scripts/demo. Scene 1 is overload.py's. The others share one boot with
irqbalance=off; off and on alternate in it by way of /sys/kernel/irq_balance/state,
so that both meet the same placement of the interrupts and the same receive hashing
(its key is new at every boot).
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import figures  # noqa: E402
import overload # noqa: E402
import plot     # noqa: E402

CPUS = 8
SETTLE = 11.2   # s from the last change to the end of a run: see figures.py
NAMES = {
    1: 'CPU 0 is saturated by packets from outside',
    2: 'all other CPUs went offline and came back',
    3: 'more busy vectors than CPUs, placed blind to load',
    4: 'the heavy flows change three times',
}
MARKS = {2: ['return'], 3: ['start'], 4: ['change1', 'change2', 'change3']}


def scene(number, speed):
    """Commands of load for a scene, and how many seconds they take."""
    if number == 2:
        steps = ['rates=' + ','.join(['%d' % (5000 * speed)] * 4), 'sleep=1', 'cycle-cpus', 'mark=return',
                 'sleep=%s' % SETTLE, 'mark=end']
        return '4 1', steps
    # Of 32 light flows one of each NIC becomes heavy. It has a queue to be sent by
    # and another to be received by: 8 heavy interrupts, about 20 light ones.
    def heavy(which):
        return 'heavy=%d,%d,10' % (which, 3500 * speed)
    if number == 3:
        steps = [heavy(0), 'mark=start', 'sleep=%s' % SETTLE, 'mark=end']
    else:
        steps = [heavy(0), 'sleep=1.5', heavy(1), 'mark=change1', 'sleep=3', heavy(2), 'mark=change2',
                 'sleep=3', heavy(3), 'mark=change3', 'sleep=%s' % SETTLE, 'mark=end']
    return '4 8', steps


def plan(scenes, pairs, speed):
    """The guest's plan and the names of its runs, in order."""
    lines, names = [], []

    def run(number, state, pair):
        name = '%d.%s.%d' % (number, state, pair)
        sizes, steps = scene(number, speed)
        lines.append('run %s %s %s' % (name, sizes, ' '.join(steps)))
        names.append(name)

    for pair in range(1, pairs + 1):
        if 2 in scenes:
            lines.append('state off')
            lines.append('up 0 4 1')
            for state in 'off', 'on':
                lines.append('state ' + state)
                run(2, state, pair)
            lines.append('state off')
            lines.append('down 4')
        queues = [s for s in scenes if s > 2]
        if queues:
            lines.append('state off')
            lines.append('up 4 4 8')
            lines.append('probe 4 8')
            for state in 'off', 'on':
                lines.append('state ' + state)
                for number in queues:
                    run(number, state, pair)
            lines.append('state off')
            lines.append('down 4')
    return '\n'.join(lines) + '\n', names


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ''


class Live(threading.Thread):
    """Follows the log that is being written and paints the CPUs."""

    def __init__(self, share, names):
        super().__init__(daemon=True)
        self.share, self.names = share, names
        self.tty = sys.stdout.isatty()
        self.stop = False
        self.painted = 0

    def run(self):
        shown = None
        while not self.stop:
            name = next((n for n in reversed(self.names)
                         if os.path.exists('%s/%s.log' % (self.share, n))), None)
            log = read('%s/%s.log' % (self.share, name)) if name else ''
            run = figures.Run(log[:log.rfind('\n') + 1])
            if len(run.samples) > 11:
                now = run.samples[-1][0]
                if shown is None or shown[0] != name or now - shown[1] >= (0.4 if self.tty else 3):
                    if shown and shown[0] != name:
                        self.painted = 0
                    shown = (name, now)
                    self.paint(name, run, now)
            time.sleep(0.4)

    def paint(self, name, run, now):
        number, state, _ = name.split('.')
        loads = run.loads(now - 1.05, now)
        head = 'scene %s %-3s %5.1f s  max/mean %.2f' % (
            number, state, now - run.samples[0][0], run.ratio(now - 1.05, now))
        if run.marks:
            head += '  after: ' + run.marks[-1][1]
        if not self.tty:
            print(head + '  CPUs ' + ' '.join('%2.0f%%' % x for x in loads), flush=True)
            return
        lines = [head] + ['  CPU%d %s %3.0f%%' % (i, ('#' * min(50, round(x))).ljust(50), x)
                          for i, x in enumerate(loads)]
        up = '\033[%dA' % self.painted if self.painted else ''
        print(up + '\n'.join('\033[K' + line for line in lines), flush=True)
        self.painted = len(lines)


def table(scenes, result):
    print()
    print('%-5s %-4s %9s %6s %11s %14s %s' % (
        'scene', '', 'max/mean', 'moves', 'balanced', 'moves after it', 'smp_affinity'))
    for number, entry in zip(scenes, result['scenes']):
        off, on = entry['off'], entry['on']
        print('%-5d %-4s %9.2f' % (number, 'off', off['max_over_mean']))
        settle = 'never' if on['settle_ms'] is None else '%d ms' % on['settle_ms']
        after = '-' if on['moves_after_settled'] is None else on['moves_after_settled']
        print('%-5s %-4s %9.2f %6d %11s %14s %s' % (
            '', 'on', on['max_over_mean'], on['moves'], settle, after,
            'unchanged' if on['masks_unchanged'] else 'CHANGED'))
    print()
    for number in scenes:
        print('scene %d: %s' % (number, NAMES[number]))
    print('max/mean: of the %d CPUs\' interrupt time (irq + softirq of /proc/stat), %g s long, at '
          'least %g s after it was balanced; 1.00 is even, %d.00 is all on one' % (
              CPUS, figures.MEASURE, figures.AFTER_SETTLING, CPUS))


def flood(args, result):
    """Scene 1."""
    ways = ['without', 'on', 'by_hand'] + (['irqbalance'] if os.environ.get('IRQBALANCE') else [])
    rounds = max(3, args.pairs)
    print('scene 1: booting 4 CPUs; %d rounds take about %d s' % (rounds, 15 + rounds * (8 * len(ways) + 8)), flush=True)
    found = overload.run(args.kernel, os.path.join(args.out, 'overload'), ways, rounds, say=lambda f: print(
        'scene 1 round %d, %s: %d packets/s' % (f['round'] + 1, overload.NAMES[f['way']], f['pps']), flush=True))
    print()
    overload.table(found)
    result['overload'] = {way: overload.medians(each) for way, each in found.items()}
    result['overload_rounds'] = found
    gain = result['overload']['by_hand']['pps'] / max(1, result['overload']['without']['pps'])
    if gain < 1.4:
        print('placed by hand it is only %.2f times as much: this host is too small or too busy to show a gain' % gain)
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--kernel', required=True)
    parser.add_argument('--load', required=True)
    parser.add_argument('--out', required=True)
    parser.add_argument('--pairs', type=int, default=1)
    parser.add_argument('--scenes', default='1,2,3,4')
    parser.add_argument('--speed', type=float, default=1.0)
    args = parser.parse_args()
    scenes = [int(s) for s in args.scenes.split(',')]
    result = {}
    if 1 in scenes:
        flood(args, result)
        scenes.remove(1)
    status = evenness(args, scenes, result) if scenes else 0
    if status:
        return status
    with open(os.path.join(args.out, 'result.json'), 'w') as f:
        json.dump(result, f, indent=1)
        f.write('\n')
    made = plot.bars(args.out, result['overload'], overload.NAMES) if 'overload' in result else []
    print('figures: %s/result.json' % os.path.relpath(args.out))
    for path in made + glob.glob(args.out + '/irq-load.*') if scenes else made:
        print('picture: ' + os.path.relpath(path))
    return 0


def evenness(args, scenes, result):
    """The scenes after the first: returns a status for the shell."""
    share = os.path.join(args.out, 'guest')
    os.makedirs(share, exist_ok=True)
    for old in glob.glob(share + '/*'):
        os.remove(old)
    text, names = plan(scenes, args.pairs, args.speed)
    with open(share + '/plan', 'w') as f:
        f.write(text)
    seconds = sum(float(s) for s in re.findall(r'sleep=([\d.]+)', text))
    limit = 60 + 2 * seconds + 30 * args.pairs
    print('booting 8 CPUs (2 sockets x 2 cores x 2 threads) with irqbalance=off; the scenes take '
          'about %d s' % (15 + seconds + 7 * args.pairs), flush=True)
    live = Live(share, names)
    live.start()
    guest = subprocess.Popen(
        [os.path.join(HERE, '..', 'guest'), '--nics', 'e1000x4,igbx4', '--share', share,
         '--timeout', str(int(limit)), '--append', 'irqbalance=off', args.kernel, '--',
         os.path.join(HERE, 'in-guest'), args.load, share])
    try:
        status = guest.wait()
    except KeyboardInterrupt:
        guest.wait()
        print('\nstopped')
        return 130
    finally:
        live.stop = True
    live.join()
    if status:
        print('demo: the guest failed (status %d); its log is %s/console.log' % (status, share),
              file=sys.stderr)
        return 1

    runs = {name: figures.Run(read('%s/%s.log' % (share, name)), read('%s/%s.trace' % (share, name)),
                              read('%s/%s.masks.0' % (share, name)), read('%s/%s.masks.1' % (share, name)))
            for name in names}
    result.update(scenes=[], pairs=args.pairs, kernel=read(share + '/version').strip())
    for number in scenes:
        entry = {'name': NAMES[number]}
        for state in 'off', 'on':
            each = [figures.figures(runs['%d.%s.%d' % (number, state, pair)], MARKS[number], state == 'on')
                    for pair in range(1, args.pairs + 1)]
            entry[state] = figures.median(each)
            if args.pairs > 1:
                entry[state]['runs'] = each
        result['scenes'].append(entry)
    table(scenes, result)
    plot.picture(args.out, [(number, NAMES[number], MARKS[number],
                             {state: runs['%d.%s.1' % (number, state)] for state in ('off', 'on')},
                             entry) for number, entry in zip(scenes, result['scenes'])])
    return 0


if __name__ == '__main__':
    sys.exit(main())
