#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""pictures.py [--build DIR] OUT [NAME...]: draws what the demo and the tests have measured

Writes OUT/NAME.svg for each picture, or for those named. Called by scripts/demo --pictures.
Fails if the data of a picture are not there, and shows the command that makes them.

  resume   interrupt time of each CPU, by interrupt, when the CPUs come back (demo/resume.json)
  ping     round-trip times of pings while a CPU is saturated (demo/overload/host.json)
  cost     instructions of measuring against the rate of an interrupt (the cost page)
  passes   time of a pass against heavy interrupts (demo/passes.txt; bench writes it if need be)
  truth    measured loads against known loads (test/73-truth.log, test/86-truth-long*.log)
"""
import argparse
import glob
import io
import json
import os
import re
import statistics
import subprocess
import sys
import matplotlib
matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, TOP + '/scripts/count-insns.d']
import overload  # noqa: E402
import page  # noqa: E402

# The text stays text: a tenth of the size
matplotlib.rcParams.update({'svg.hashsalt': 'irq_balance', 'svg.fonttype': 'none'})
WINDOW = 0.25


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def curves(size, lines, **settings):
    """A picture of LINES {label: [(x, y)]}"""
    figure, axis = pyplot.subplots(figsize=size, constrained_layout=True)
    for label, points in lines.items():
        axis.plot(*zip(*sorted(points)), marker='o' if len(points) < 20 else '', ms=3, lw=1.3, label=label)
    axis.set(**settings)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    return figure


def windows(loads):
    """[(second, {CPU: {interrupt: %}})]: windows of a quarter of a second"""
    result, last = [], loads[0]
    for now in loads[1:]:
        if now[0] - last[0] < WINDOW:
            continue
        each = {}
        for irq, (cpu, ns) in now[1].items():
            spent = ns - last[1].get(irq, [cpu, ns])[1]
            each.setdefault(cpu, {})[irq] = spent / (now[0] - last[0]) / 1e7
        result.append((now[0], each))
        last = now
    return result


def resume(build):
    runs = json.loads(read(build + '/demo/resume.json'))
    on, off = (next((run for run in runs if run['state'] == state), None) for state in ('on', 'off'))
    if not on or not off or len(on.get('loads', ())) < 2 or len(off['samples']) < 2:
        raise ValueError('build/demo/resume.json: no runs with the balancer off and on, and the loads of interrupts')
    seen, seconds = windows(on['loads']), off['samples'][::10]
    # Those that took 1 % of a CPU in some window
    irqs = sorted({irq for _, each in seen for load in each.values() for irq, value in load.items() if value >= 1}, key=int)
    cpus, rows = len(on['samples'][0]) - 1, len(on['samples'][0]) // 2
    figure, axes = pyplot.subplots(1 + rows, 2, figsize=(9, 1 + 1.1 * rows), sharex=True, sharey=True, constrained_layout=True,
                                   gridspec_kw={'height_ratios': [0.2] + [1] * rows})
    for cpu, axis in enumerate(axes[1:].flat[:cpus]):
        when, base = [second - on['mark'] for second, _ in seen], [0] * len(seen)
        for n, irq in enumerate(irqs):
            load = [0] + [each.get(cpu, {}).get(irq, 0) for _, each in seen] + [0]
            top = [low + value for low, value in zip(base, load[1:])]
            axis.fill_between(when, base, top, where=[any(load[i:i + 3]) for i in range(len(seen))], color='C%d' % (n % 10), lw=0)
            base = top
        axis.plot([b[0] - off['mark'] for b in seconds[1:]], [(b[cpu + 1] - a[cpu + 1]) / (b[0] - a[0]) for a, b in zip(seconds, seconds[1:])],
                  'k--', lw=0.9)
        axis.set_title('CPU %d' % cpu, fontsize=8, pad=2)
    for above, below in zip(axes[0], axes[-1]):
        above.axis('off')
        below.set_xlabel('s since all CPUs are back')
    figure.supylabel('interrupt time, % of a CPU', fontsize=9)
    axes[0][0].legend(handles=[matplotlib.patches.Patch(color='C%d' % (n % 10), label='%s (%s)' % (irq, on['names'].get(irq, '?')))
                               for n, irq in enumerate(irqs)] + [matplotlib.lines.Line2D([], [], color='k', ls='--', lw=0.9, label='without, all')],
                      loc='center left', ncol=6, fontsize=8).set_in_layout(False)
    return figure


def ping(build):
    paths, times = [build + '/demo/overload/host.json', build + '/test/78-overload/e1000/host.json'], {}
    path = next(filter(os.path.exists, paths), paths[0])
    for label, of in json.loads(read(path)).items():
        number, _, way = label.partition('.')
        if number.isdigit() and way in overload.NAMES:
            times.setdefault(way, []).extend(of['rtt_us'])
    times = {way: values for way, values in times.items() if values}
    if not times:
        raise ValueError('%s: no pings' % os.path.relpath(path))
    return curves((8, 3.6), {'%s (%d pings)' % (overload.NAMES[way], len(times[way])): [
        (overload.percentile(times[way], n / 100) / 1000, n) for n in range(101)] for way in sorted(times, key=list(overload.NAMES).index)},
        xscale='log', xlabel='round-trip time of a ping, ms', ylabel='% of pings that take at most this')


def cost(_build):
    text, title = read(TOP + '/Documentation/admin-guide/irq-balance-cost.rst'), page.TITLES[1]
    rows = page.parsed(text[slice(*(page.place(text, title) or (0, 0)))])
    found = {kernel: [(int(rate.replace(',', '')), float(values[n])) for (rate, what), values in rows.items() if what == page.MORE]
             for n, kernel in enumerate(page.KERNELS) if n}
    return curves((6, 3.2), found, title=title, xlabel='interrupts per second',
                  ylabel='10$^6$ instructions per second\nmore than unpatched')


def passes(build):
    path = build + '/demo/passes.txt'
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        run = subprocess.run(['make', '-s', '-C', TOP + '/tools/testing/irq_balance', 'speed'], capture_output=True, text=True)
        if len(run.stdout.splitlines()) < 3:
            raise ValueError('bench: ' + (run.stderr.strip().splitlines() or ['no output'])[-1])
        with open(path, 'w', encoding='utf-8') as file:
            file.write(run.stdout)
    found = {}
    for cpus, irqs, heavy, us in re.findall(r'^ *(\d+) +(\d+) +(\d+) +(\d+\.\d) ', read(path), re.M):
        if irqs == heavy:
            found.setdefault(cpus + ' CPUs', []).append((int(heavy), float(us)))
    if not found:
        raise ValueError('%s: no passes' % os.path.relpath(path))
    return curves((6, 3.2), found, xscale='log', yscale='log', xlabel='heavy interrupts', ylabel='time of a pass, µs')


def truth(build):
    logs = sorted(glob.glob(build + '/test/73-truth.log') + glob.glob(build + '/test/86-truth-long*.log'))
    # Results whose name begins so are off by a quarter on purpose
    found = [(float(share), [float(word) for word in ratios.split()]) for log in logs for share, ratios in re.findall(
        r'^ok - [^:]*: (?!what the account omits).*, load map / witness [\d.]+, ([\d.]+) % of a CPU\n# +windows: ([\d. ]+)$', read(log), re.M)]
    if not found:
        raise ValueError('build/test/73-truth.log: no results')
    figure, axis = pyplot.subplots(figsize=(6, 3.2), constrained_layout=True)
    middle = [statistics.median(ratios) for _, ratios in found]
    axis.errorbar([share for share, _ in found], middle, fmt='o', ms=3, lw=0.8, yerr=[
        [m - min(ratios) for m, (_, ratios) in zip(middle, found)], [max(ratios) - m for m, (_, ratios) in zip(middle, found)]])
    axis.axhline(1, color='k', lw=0.8)
    axis.grid(alpha=0.3)
    axis.set(xscale='log', xlabel='true load, % of a CPU', ylabel='measured load / true load', title='%d loads, medians; bars: all windows' % len(found))
    axis.xaxis.set_major_formatter('{x:g}')
    return figure


# The function that draws a picture, the command that makes its data
PICTURES = {'resume': (resume, 'scripts/demo'), 'ping': (ping, 'scripts/demo, or scripts/test 78-overload'),
            'cost': (cost, 'scripts/test --debug 86-price-long'), 'passes': (passes, 'make -C tools/testing/irq_balance speed'),
            'truth': (truth, 'scripts/test 73-truth')}


def main():
    parser = argparse.ArgumentParser(usage='pictures.py [--build DIR] OUT [NAME...]', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', metavar='DIR', default=TOP + '/build', help='where the data are (build)')
    parser.add_argument('out', metavar='OUT', help='a directory')
    parser.add_argument('names', metavar='NAME', nargs='*', help='the pictures to draw (all)')
    args = parser.parse_args()
    if set(args.names) - set(PICTURES):
        parser.error('%s: there are %s' % (' '.join(args.names), ', '.join(PICTURES)))
    os.makedirs(args.out, exist_ok=True)
    lacking = 0
    for name in args.names or PICTURES:
        function, command = PICTURES[name]
        path, text = os.path.join(args.out, name + '.svg'), io.StringIO()
        try:
            function(args.build).savefig(text, format='svg', metadata={'Date': None, 'Creator': None})
        except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
            lacking += 1
            print('no %s.svg: %s; %s measures that' % (name, error if isinstance(error, (OSError, ValueError)) else repr(error), command),
                  file=sys.stderr)
            continue
        # A hundredth of a point is enough
        with open(path, 'w', encoding='utf-8') as file:
            file.write(re.sub(r'(\d\.\d\d)\d+', r'\1', text.getvalue()))
        print('picture: ' + os.path.relpath(path))
    return bool(lacking)


if __name__ == '__main__':
    try:
        sys.exit(main())
    except OSError as problem:
        print('pictures.py: %s: %s' % (problem.filename, problem.strerror), file=sys.stderr)
        sys.exit(2)
