#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""run.py KERNEL TRAFFIC OUT ROUNDS: runs the demo's scenes in guests, shows them live, writes figures and pictures.

Called by scripts/demo. Scene 1 is overload.py's, scene 2 is that of resume. Interrupt
load is irq + softirq time of /proc/stat; its unit there, 1/100 s, makes it a percentage
when divided by seconds.
"""
import json
import os
import statistics
import sys
import matplotlib
matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import overload  # noqa: E402
import pictures  # noqa: E402

WINDOW, MEASURE, WITHIN = 0.5, 5.0, 1.1


def ratio(run, start, end):
    """Largest interrupt time of a CPU / mean, between two times."""
    inside = [s for s in run['samples'] if start <= s[0] <= end]
    loads = [y - x for x, y in zip(inside[0][1:], inside[-1][1:])] if len(inside) > 1 else [0]
    return max(loads) * len(loads) / sum(loads) if sum(loads) else None


def figures(run):
    """How even it is at the end, and the ms until a window of half a second is as even."""
    end, start = run['samples'][-1][0], run['mark']
    even = ratio(run, end - MEASURE, end) or 0
    settled = next((s[0] for s in run['samples'] if s[0] >= start + WINDOW and
                    (ratio(run, s[0] - WINDOW - 0.01, s[0]) or 99) <= WITHIN * even), end)
    return {'max_over_mean': round(even, 2), 'settle_ms': round((settled - start) * 1000), 'moves': len(run['moves']),
            'moves_after': sum(when > settled for when in run['moves']), 'masks_unchanged': run['masks_unchanged']}


def medians(each):
    result = {key: statistics.median_high([one[key] for one in each]) for key in each[0]}
    return dict(result, masks_unchanged=all(one['masks_unchanged'] for one in each))


def table(off, on):
    print('\nThe CPUs came back. Largest / mean interrupt time of a CPU (1.00 is even, 8.00 is all on one):\n'
          'without %.2f, on %.2f after %d ms and %d moves, then %d moves; smp_affinity %s' % (
              off['max_over_mean'], on['max_over_mean'], on['settle_ms'], on['moves'] - on['moves_after'], on['moves_after'],
              'unchanged' if on['masks_unchanged'] else 'CHANGED'))


def save(figure, out, name):
    for kind in 'png', 'svg':
        path = os.path.join(out, '%s.%s' % (name, kind))
        figure.savefig(path, dpi=110, metadata={'Date': None} if kind == 'svg' else None)
        print('picture: ' + os.path.relpath(path))


def bars(out, found):
    figure, axes = pyplot.subplots(1, 3, figsize=(10, 0.6 + 0.4 * len(found)), sharey=True, constrained_layout=True)
    ways = list(found)[::-1]
    for axis, key, scale, title in zip(axes, ('pps', 'insns', 'rtt_us_p99'), (1, 1, 1000),
                                       ('packets/s that reach a socket', 'instructions per packet', 'ping, p99, ms')):
        values = [(found[way][key] or 0) / scale for way in ways]
        drawn = axis.barh([overload.NAMES[way] for way in ways], values, color='0.6')
        axis.bar_label(drawn, fmt='%.1f' if scale > 1 else '%.0f', padding=3, fontsize=8)
        axis.set_title(title, fontsize=9)
        axis.margins(x=0.3)
    save(figure, out, 'overload')


def flood(kernel, out, rounds):
    """{'overload': {way: medians of the figures}}, or nothing if the host cannot give the CPUs their speed"""
    ways = ['without', 'on', 'by_hand'] + (['irqbalance'] if os.environ.get('IRQBALANCE') else []) + ['threaded', 'rps']
    print('scene 1: booting 4 CPUs of %d MIPS; %d rounds take about %d s' % (
        overload.MIPS, rounds, 15 + rounds * (8 * len(ways) + 8)), flush=True)
    try:
        found = overload.run(kernel, os.path.join(out, 'overload'), ways, rounds, say=lambda f: print(
            'scene 1 round %d, %s: %d packets/s' % (f['round'] + 1, overload.NAMES[f['way']], f['pps']), flush=True))
    except overload.Slow:
        print('scene 1 has no figures and no picture: they would be those of the host')
        return {}
    print()
    overload.table(found)
    return {'overload': {way: overload.medians(each) for way, each in found.items()}}


def resume(kernel, traffic, out, rounds, *options, rate=()):
    """[what the guest measured in each run]"""
    print('\nscene 2: booting 8 CPUs (2 sockets x 2 cores x 2 threads); it takes about %d s' % (30 + 35 * rounds), flush=True)
    # By round: a second boot replaces what the first one has measured
    found = {(run['round'], run['state']): run for run in overload.guest(
        os.path.join(out, 'guest'), '--nics', 'e1000x4', '--timeout', str(120 + 60 * rounds),
        *options, kernel, '--', HERE + '/resume', traffic, str(rounds), *rate)}
    if len(found) != 2 * rounds:
        sys.exit('run.py: the guest did not measure %d rounds off and on' % rounds)
    return list(found.values())


def drawn(kernel, traffic, out):
    """The same at a speed that the host has no part in, for the picture"""
    try:
        runs = resume(kernel, traffic, out, 1, '--mips', str(overload.MIPS), rate=['1000'])
    except overload.Slow:
        return print('scene 2 has no picture: it would be that of the host')
    with open(os.path.join(out, 'resume.json'), 'w') as file:
        json.dump(runs, file)
    save(pictures.resume(os.path.dirname(out)), out, 'resume')


def main():
    kernel, traffic, out, rounds = sys.argv[1:4] + [int(sys.argv[4])]
    path, result = os.path.join(out, 'result.json'), {}
    if os.path.exists(path):
        with open(path) as file:    # scripts/demo --table has put its own there
            result = {key: value for key, value in json.load(file).items() if key == 'table2003'}
    result.update(flood(kernel, out, rounds))
    runs = resume(kernel, traffic, out, rounds)
    result['resume'] = {state: medians([figures(run) for run in runs if run['state'] == state]) for state in ('off', 'on')}
    table(**result['resume'])
    with open(path, 'w') as file:
        json.dump(result, file, indent=1)
    print('figures: ' + os.path.relpath(path))
    if 'overload' in result:
        bars(out, result['overload'])
    drawn(kernel, traffic, out)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
