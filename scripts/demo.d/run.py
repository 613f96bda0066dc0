#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs the demo's scenes in guests, shows them live, writes figures and pictures.

Called by scripts/demo. Scene 1 is overload.py's, the others are evenness's. Interrupt
load is irq + softirq time of /proc/stat; its unit there, 1/100 s, makes it a percentage
when divided by seconds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import overload  # noqa: E402

NAMES = {2: 'all other CPUs went offline and came back', 3: 'more busy vectors than CPUs, placed blind to load',
         4: 'the heavy flows change three times'}
WINDOW, MEASURE, WITHIN = 0.5, 5.0, 1.1


def ratio(run, start, end):
    """Largest interrupt load of a CPU / mean load, between two times."""
    inside = [s for s in run['samples'] if start <= s[0] <= end]
    loads = [y - x for x, y in zip(inside[0][1:], inside[-1][1:])] if len(inside) > 1 else [0]
    return max(loads) * len(loads) / sum(loads) if sum(loads) else None


def settled(run, start, stop):
    """ms from START until a window shows what the last windows before STOP show, or None."""
    windows = [(s[0], ratio(run, s[0] - WINDOW - 0.01, s[0])) for s in run['samples'] if start + WINDOW <= s[0] <= stop]
    windows = [(when, value) for when, value in windows if value]
    final = statistics.median([value for when, value in windows if when >= max(stop - MEASURE, (start + stop) / 2)] or [0])
    return next((round((when - start) * 1000) for when, value in windows if value <= WITHIN * final), None)


def figures(run):
    starts, end = list(run['marks'].values()), run['end']
    times = [settled(run, start, stop) for start, stop in zip(starts, starts[1:] + [end])]
    last = starts[-1] + (times[-1] or 0) / 1000
    return {'max_over_mean': round(ratio(run, end - MEASURE, end) or 0, 2), 'settle_ms': None if None in times else max(times),
            # Also those before the first mark: the placement that is measured is theirs too
            'moves': len(run['moves']),
            'moves_after': None if times[-1] is None else sum(when > last for when in run['moves']),
            'masks_unchanged': run['masks_unchanged']}


def medians(each):
    result = {key: statistics.median_high([float('inf') if one[key] is None else one[key] for one in each]) for key in each[0]}
    result['masks_unchanged'] = all(one['masks_unchanged'] for one in each)
    return {key: None if value == float('inf') else value for key, value in result.items()}


def table(found):
    print('\n%-50s %9s %9s %6s %9s %12s %s' % ('max/mean of the CPUs\' interrupt time', 'off', 'on', 'moves', 'balanced',
                                             'moves after', 'smp_affinity'))
    for scene, states in found.items():
        off, on = states['off'], states['on']
        print('%-50s %9.2f %9.2f %6d %9s %12s %s' % (
            NAMES[scene], off['max_over_mean'], on['max_over_mean'], on['moves'],
            'never' if on['settle_ms'] is None else '%d ms' % on['settle_ms'], '-' if on['moves_after'] is None else on['moves_after'],
            'unchanged' if on['masks_unchanged'] else 'CHANGED'))
    print('1.00 is even, 8.00 is all on one; moves are those of the whole scene, before the first change too')


def pyplot():
    try:
        import matplotlib
    except ImportError:
        sys.exit('demo: no picture: matplotlib is missing (Debian package python3-matplotlib)')
    matplotlib.use('Agg')
    matplotlib.rcParams['svg.hashsalt'] = 'irq_balance'
    import matplotlib.pyplot as plt
    return plt


def save(figure, out, name):
    for kind in 'png', 'svg':
        path = os.path.join(out, '%s.%s' % (name, kind))
        figure.savefig(path, dpi=110, metadata={'Date': None} if kind == 'svg' else None)
        print('picture: ' + os.path.relpath(path))


def bars(out, found):
    figure, axes = pyplot().subplots(1, 2, figsize=(9, 0.6 + 0.45 * len(found)), sharey=True, constrained_layout=True)
    ways = list(found)[::-1]
    for axis, key, scale, title in ((axes[0], 'pps', 1, 'packets/s delivered'), (axes[1], 'rtt_us_p99', 1000, 'ping, p99, ms')):
        values = [(found[way][key] or 0) / scale for way in ways]
        axis.bar_label(axis.barh([overload.NAMES[way] for way in ways], values, color='0.6'), fmt='%.4g', padding=3, fontsize=8)
        axis.set_title(title, fontsize=9)
        axis.margins(x=0.15)
    save(figure, out, 'overload')


def lines(out, runs):
    """The load of each CPU over time, in windows of a second."""
    scenes = sorted({run['scene'] for run in runs})
    figure, axes = pyplot().subplots(len(scenes), 2, figsize=(11, 2.9 * len(scenes)), squeeze=False, sharey='row', constrained_layout=True)
    for run in runs[:2 * len(scenes)]:
        axis, samples = axes[scenes.index(run['scene'])][int(run['state'] == 'on')], run['samples']
        origin = list(run['marks'].values())[0]
        for cpu in range(1, len(samples[0])):
            axis.plot([b[0] - origin for b in samples[10:]],
                      [(b[cpu] - a[cpu]) / (b[0] - a[0]) for a, b in zip(samples, samples[10:])], lw=1.3, label='CPU%d' % (cpu - 1))
        for when in run['marks'].values():
            axis.axvline(when - origin, color='0.4', lw=0.8, ls='--')
        axis.set_title('%d. %s: %s' % (run['scene'], NAMES[run['scene']], run['state']), fontsize=8.5)
        axis.set(ylim=(0, None), xlabel='seconds from the (first) event', ylabel='interrupt time, % of a CPU')
    axes[0][1].legend(fontsize=7, ncol=2, loc='upper right')
    save(figure, out, 'irq-load')


def flood(args, result):
    ways = ['without', 'on', 'by_hand'] + (['irqbalance'] if os.environ.get('IRQBALANCE') else [])
    rounds = max(3, args.pairs)
    print('scene 1: booting 4 CPUs; %d rounds take about %d s' % (rounds, 15 + rounds * (8 * len(ways) + 8)), flush=True)
    found = overload.run(args.kernel, os.path.join(args.out, 'overload'), ways, rounds, say=lambda f: print(
        'scene 1 round %d, %s: %d packets/s' % (f['round'] + 1, overload.NAMES[f['way']], f['pps']), flush=True))
    print()
    overload.table(found)
    result['overload'] = {way: overload.medians(each) for way, each in found.items()}
    gain = result['overload']['by_hand']['pps'] / max(1, result['overload']['without']['pps'])
    if gain < 1.4:
        print('placed by hand it is only %.2f times as much: this host is too small or too busy to show a gain' % gain)


def evenness(args, scenes, result):
    share = os.path.join(args.out, 'guest')
    limit = 120 + 60 * args.pairs * len(scenes)
    print('booting 8 CPUs (2 sockets x 2 cores x 2 threads); the scenes take about %d s' % (30 + 35 * args.pairs * len(scenes)), flush=True)
    guest = subprocess.Popen([HERE + '/../guest', '--nics', 'e1000x10', '--share', share, '--timeout', str(limit), '--live', '--append',
                              'irqbalance=off', args.kernel, '--', HERE + '/evenness', args.traffic, str(args.pairs), *map(str, scenes)],
                             stdout=subprocess.PIPE, text=True)
    runs = []
    for line in guest.stdout:
        if line.startswith('{'):
            runs.append(json.loads(line))
        else:
            print(line, end='', flush=True)
    if guest.wait():
        sys.exit('demo: the guest failed (status %d); its log is %s/console.log' % (guest.returncode, share))
    found = {scene: {state: medians([figures(run) for run in runs if (run['scene'], run['state']) == (scene, state)])
                     for state in ('off', 'on')} for scene in scenes}
    table(found)
    result['scenes'] = [dict(states, name=NAMES[scene]) for scene, states in found.items()]
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in 'kernel', 'traffic', 'out', 'scenes':
        parser.add_argument('--' + name, required=True)
    parser.add_argument('--pairs', type=int, default=1)
    args = parser.parse_args()
    scenes, result, runs = sorted({int(s) for s in args.scenes.split(',')}), {}, []
    if 1 in scenes:
        flood(args, result)
        scenes.remove(1)
    if scenes:
        runs = evenness(args, scenes, result)
    with open(os.path.join(args.out, 'result.json'), 'w') as file:
        json.dump(result, file, indent=1)
    print('figures: %s/result.json' % os.path.relpath(args.out))
    if 'overload' in result:
        bars(args.out, result['overload'])
    if runs:
        lines(args.out, runs)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
