#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""run.py KERNEL OUT ROUNDS: runs the demo's scenes in guests, shows them live, writes figures and pictures.

Called by scripts/demo. Scene 1 is overload.py's, scene 2 that of clients.py, with two rounds
for each of ROUNDS, and scene 3 that of clients/timeline.
"""
import json
import os
import sys
import matplotlib
matplotlib.use('Agg')

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import clients  # noqa: E402
import overload  # noqa: E402
import pictures  # noqa: E402

FRAMES, TIMELINE_S = 600, 11
# The kernel has that series, whose effect this is
BARS = dict(overload.NAMES, irqbalance="irqbalance daemon, with the polls' series")


def many(number, what):
    return '%d %s%s' % (number, what, 's' * (number != 1))


def save(figure, out, name):
    for kind in 'png', 'svg':
        path = os.path.join(out, '%s.%s' % (name, kind))
        figure.savefig(path, dpi=110, metadata={'Date': None} if kind == 'svg' else None)
        print('picture: ' + pictures.shown(path))


def flood(kernel, out, rounds):
    """{'overload': {way: medians of the figures}}"""
    ways = ['without', 'on', 'by_hand'] + (['irqbalance'] if os.environ.get('IRQBALANCE') else []) + ['threaded', 'rps']
    print('scene 1, a CPU that is saturated: booting 4 CPUs of %d MIPS; %s, about %d s' % (
        overload.MIPS, many(rounds, 'round'), 15 + rounds * (8 * len(ways) + 8)), flush=True)
    found = overload.run(kernel, os.path.join(out, 'overload'), ways, rounds, say=lambda f: print(
        'scene 1, round %d, %s: %d packets/s' % (f['round'] + 1, overload.NAMES[f['way']], f['pps']), flush=True))
    print()
    overload.table(found)
    return {'overload': {way: overload.medians(each) for way, each in found.items()}}


def resume(kernel, out, rounds):
    """{'clients': medians of what clients get}"""
    rounds *= 2
    print('\nscene 2, clients after a resume: booting 8 CPUs of %d MIPS and four cards; %s of a boot each, about %d s' % (
        clients.MIPS, many(rounds, 'round'), rounds * (clients.BOOT_S + 2 * clients.STATE_S)), flush=True)
    found = clients.run(kernel, os.path.join(out, 'clients'), rounds, say=lambda f: print('scene 2, ' + clients.shown(f), flush=True))
    result = clients.medians(found)
    print()
    clients.table(result, rounds)
    return {'clients': result}


def timeline(kernel, out, _rounds):
    """{'resume': what the interrupts of all CPUs take}"""
    print('\nscene 3, the same with a constant load, for the picture: %d frames/s over two cards; about %d s' % (
        FRAMES, 40 + 2 * TIMELINE_S), flush=True)
    runs = [line for line in overload.guest(
        os.path.join(out, 'timeline'), '--nics', 'e1000ex4', '--mips', str(clients.MIPS), '--timeout', '240', kernel,
        '--', HERE + '/clients/timeline', str(FRAMES), str(TIMELINE_S))]
    runs = {run['state']: run for run in runs}     # a second boot replaces what the first one has measured
    if len(runs) != 2:
        sys.exit('run.py: the guest did not measure off and on')
    with open(os.path.join(out, 'resume.json'), 'w') as file:
        json.dump(list(runs.values()), file)
    result = {state: {'percent': round(pictures.total(run)), 'busiest': round(max(pictures.busy(run))), 'interrupts': run['interrupts']}
              for state, run in runs.items()}
    for state, name in ('off', overload.NAMES['without']), ('on', 'this balancer'):
        print('%s: interrupts take %d %% of a CPU, of the busiest CPU %d %%, in %d interrupts/s' % (
            name, result[state]['percent'], result[state]['busiest'], result[state]['interrupts']))
    return {'resume': result}


def main():
    kernel, out, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    path, result = os.path.join(out, 'result.json'), {}
    if os.path.exists(path):
        with open(path) as file:    # scripts/demo --table has put its own there
            result = {key: value for key, value in json.load(file).items() if key == 'table2003'}
    for number, scene in enumerate((flood, resume, timeline), 1):
        try:
            result.update(scene(kernel, out, rounds))
        except overload.Slow:
            print('scene %d has no figures and no picture: they would be those of the host' % number)
    with open(path, 'w') as file:
        json.dump(result, file, indent=1)
    print('figures: ' + pictures.shown(path))
    if 'overload' in result:
        save(pictures.bars([(BARS[way], m['pps'], m['insns'], [(mode[1] or 0) / 1000 for mode in m['modes']])
                            for way, m in result['overload'].items()]), out, 'overload')
    if 'resume' in result:
        save(pictures.resume(os.path.dirname(out)), out, 'resume')


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
