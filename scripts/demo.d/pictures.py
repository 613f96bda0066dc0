#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""pictures.py [--build DIR] OUT [NAME...]: draws what the demo and the tests have measured

Writes OUT/NAME.svg for each picture, or for those named. Called by scripts/demo --pictures.
Fails if the data of a picture are not there.

  overload packets of a guest whose CPU 0 is saturated (the table of README.md beside this)
  resume   interrupt time of each CPU, by interrupt, when the CPUs come back (demo/resume.json)
  ping     round-trip times of pings while a CPU is saturated (demo/overload/host.json)
"""
import argparse
import io
import json
import os
import re
import sys
import matplotlib
import matplotlib.ticker
matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE]
import overload  # noqa: E402

# The text stays text: a tenth of the size
matplotlib.rcParams.update({'svg.hashsalt': 'irq_balance', 'svg.fonttype': 'none'})
WINDOW = 0.5


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def shown(path):
    """Relative to the current directory, if it is in it"""
    return min(os.path.relpath(path), os.path.abspath(path), key=lambda name: name.startswith('..'))


def bars(rows):
    """
    A picture of ROWS [name, packets/s, instructions for each, [p50 of pings, ms]]. A value with two modes is a bar for
    the larger one, and a darker one.
    """
    figure, axes = pyplot.subplots(1, 3, figsize=(10.5, 1.1 + 0.4 * len(rows)), sharey=True, constrained_layout=True,
                                   gridspec_kw={'width_ratios': [1.3, 1, 1]})
    names = [row[0] for row in rows][::-1]
    for axis, column, title in zip(axes, (1, 2, 3), ('packets/s that reach a socket\n(more is better)', 'instructions per packet\n(less is better)',
                                                     'ping, p50, ms\n(less is better)')):
        for name, *row in rows[::-1]:
            values = row[column - 1] if column == 3 else [row[column - 1]]
            colour = 'C3' if name.startswith('this balancer') else '0.65'
            drawn = axis.barh([name], [max(values)], color='0.85' if len(values) > 1 else colour, edgecolor='0.2', lw=0.4,
                              hatch='////' if name.endswith('beforehand') else None)
            if len(values) > 1:
                axis.barh([name], [min(values)], color=colour, edgecolor='0.2', lw=0.4)
            axis.bar_label(drawn, [' or '.join('%.*f' % (column == 3, value) for value in sorted(values))], padding=3, fontsize=8)
        axis.set_title(title, fontsize=9)
        axis.margins(x=0.5 if column == 3 else 0.25)
    axes[0].set_yticks(range(len(names)), names)
    for label in axes[0].get_yticklabels():
        if label.get_text().startswith('this balancer'):
            label.set(color='C3', weight='bold')
    figure.supxlabel('Two network cards flood CPU 0. Emulated: 4 CPUs of %d million instructions per second in QEMU.\n'
                     'Hatched: has to be set before the flood. "or": as the pings\' interrupt moves too, or does not.' % overload.MIPS, fontsize=8)
    return figure


def overload_rows():
    """The table of the demo's page: its names are those of the letters"""
    shown = {'without': overload.NAMES['without'], 'on': overload.NAMES['on'],
             'by hand in the flood, with series 2': "by hand in the flood, with the polls' series",
             'irqbalance daemon 1.9': 'irqbalance daemon', 'irqbalance daemon 1.9, the same with series 2': "irqbalance daemon, with the polls' series\n(in 2 of 9 rounds 6750 packets/s)"}
    lines = (line[1:-1].split('|') for line in read(HERE + '/README.md').splitlines() if re.match(r'\|[^|]+\|\d+\|[\d-]+\|\d+\|', line))
    return [(shown.get(cells[0], cells[0]), int(cells[1]), int(cells[3]), [float(ms) for ms in re.findall(r'([\d.]+) ms', cells[4])])
            for cells in lines if len(cells) == 8]


def overloaded(_build):
    rows = overload_rows()
    if len(rows) < 3:
        raise ValueError('README.md: no table of a CPU that is saturated')
    return bars(rows)


def windows(loads):
    """[(second, {CPU: {interrupt: %}})]: windows of half a second"""
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


def shares(run, cpu, step=5):
    """[(second, %)]: interrupt time of a CPU by /proc/stat, in windows of STEP samples, while it is online"""
    known = [(sample[0] - run['mark'], sample[cpu + 1]) for sample in run['samples']][::step]
    return [(b[0], (b[1] - a[1]) / (b[0] - a[0]) if None not in (a[1], b[1]) else float('nan')) for a, b in zip(known, known[1:])]


def busy(run):
    """% of each CPU in interrupts, from two seconds after the mark on"""
    inside = [sample for sample in run['samples'] if sample[0] >= run['mark'] + 2]
    return [(b - a) / (inside[-1][0] - inside[0][0]) for a, b in zip(inside[0][1:], inside[-1][1:])]


def total(run):
    return sum(busy(run))


def resume(build):
    runs = json.loads(read(build + '/demo/resume.json'))
    on, off = (next((run for run in runs if run['state'] == state), None) for state in ('on', 'off'))
    if not on or not off or len(on.get('loads', ())) < 2 or min(len(run['samples']) for run in (on, off)) < 2:
        raise ValueError('build/demo/resume.json: no runs with the balancer off and on, and the loads of interrupts')
    seen = windows(on['loads'])
    # Those that took 2 % of a CPU in some window
    irqs = sorted({irq for _, each in seen for load in each.values() for irq, value in load.items() if value >= 2}, key=int)
    cpus, rows = len(on['samples'][0]) - 1, len(on['samples'][0]) // 2
    figure, axes = pyplot.subplots(1 + rows, 2, figsize=(9, 1.6 + 1.1 * rows), sharex=True, sharey=True, constrained_layout=True,
                                   gridspec_kw={'height_ratios': [0.8] + [1] * rows})
    for cpu, axis in enumerate(axes[1:].flat[:cpus]):
        when, base = [second - on['mark'] for second, _ in seen], [0] * len(seen)
        for n, irq in enumerate(irqs):
            load = [0] + [each.get(cpu, {}).get(irq, 0) for _, each in seen] + [0]
            top = [low + value for low, value in zip(base, load[1:])]
            axis.fill_between(when, base, top, where=[any(load[i:i + 3]) for i in range(len(seen))], color='C%d' % (n % 10), alpha=0.6, lw=0)
            base = top
        axis.plot(*zip(*shares(off, cpu)), 'k--', lw=0.9)
        axis.plot(*zip(*shares(on, cpu)), color='C3', lw=1.2)
        axis.axvspan(on['down'] - on['mark'], 0, color='0.9' if cpu else 'none', lw=0)
        axis.set_title('CPU %d' % cpu, fontsize=8, pad=2)
        axis.set_ylim(0)
    for above, below in zip(axes[0], axes[-1]):
        above.axis('off')
        below.set_xlabel('s since all CPUs are back')
    figure.supylabel('interrupt time, % of a CPU', fontsize=9)
    lines = [matplotlib.lines.Line2D([], [], color='k', ls='--', lw=0.9,
                                     label='all, Linux 7.3: %.0f %% in %d interrupts/s' % (total(off), off['interrupts'])),
             matplotlib.lines.Line2D([], [], color='C3', lw=1.2,
                                     label='all, this balancer: %.0f %% in %d interrupts/s' % (total(on), on['interrupts']))]
    lines.append(matplotlib.patches.Patch(color='0.9', label='all CPUs but CPU 0 go offline, and come back'))
    areas = [matplotlib.patches.Patch(color='C%d' % (n % 10), alpha=0.6, label='%s (%s)' % (irq, on['names'].get(irq, '?')))
             for n, irq in enumerate(irqs)]
    axes[0][0].legend(handles=lines, loc='center left', fontsize=8, title='lines: /proc/stat, and the sum of all CPUs', title_fontsize=8).set_in_layout(False)
    axes[0][1].legend(handles=areas, loc='center left', ncol=2 if len(areas) < 7 else 3, fontsize=6 if len(areas) > 6 else 8,
                      title='areas: part of the red line, by interrupt', title_fontsize=8).set_in_layout(False)
    return figure


def ping(build):
    paths, times = [build + '/demo/overload/host.json', build + '/test/78-overload/e1000/host.json'], {}
    path = next(filter(os.path.exists, paths), paths[0])
    for label, of in json.loads(read(path)).items():
        number, _, way = label.partition('.')
        if number.isdigit() and way in overload.NAMES and of['rtt_us']:
            times.setdefault(way, []).append({'rtt_us': of['rtt_us'], 'rtt_us_p50': overload.percentile(of['rtt_us'], 0.5)})
    if not times:
        raise ValueError('%s: no pings' % os.path.relpath(path))
    lines = {}
    for way in sorted(times, key=list(overload.NAMES).index):
        for alike in overload.modes(times[way]):
            values = [us for one in alike for us in one['rtt_us']]
            some = '' if len(alike) == len(times[way]) else '%d of %d rounds, ' % (len(alike), len(times[way]))
            lines['%s (%s%d pings)' % (overload.NAMES[way], some, len(values))] = [
                (overload.percentile(values, n / 100) / 1000, n) for n in range(101)]
    figure, axis = pyplot.subplots(figsize=(8, 4.2), constrained_layout=True)
    for label, points in lines.items():
        style = {'color': 'C3', 'lw': 2.5} if label.startswith(overload.NAMES['on']) else \
            {'color': 'C5'} if label.startswith(overload.NAMES['threaded']) else {}
        axis.plot(*zip(*points), label=label, **dict({'lw': 1.3}, **style))
    axis.set(xscale='log', xlabel='round-trip time of a ping, ms', ylabel='% of pings that take at most this')
    # 1 and 10, not powers
    axis.xaxis.set_major_formatter('{x:g}')
    axis.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    return figure


PICTURES = {'overload': overloaded, 'resume': resume, 'ping': ping}


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
        path, text = os.path.join(args.out, name + '.svg'), io.StringIO()
        try:
            PICTURES[name](args.build).savefig(text, format='svg', metadata={'Date': None, 'Creator': None})
        except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
            lacking += 1
            print('no %s.svg: %s; scripts/demo measures that' % (name, error if isinstance(error, (OSError, ValueError)) else repr(error)),
                  file=sys.stderr)
            continue
        # A hundredth of a point is enough
        with open(path, 'w', encoding='utf-8') as file:
            file.write(re.sub(r'(\d\.\d\d)\d+', r'\1', text.getvalue()))
        print('picture: ' + shown(path))
    return bool(lacking)


if __name__ == '__main__':
    try:
        sys.exit(main())
    except OSError as problem:
        print('pictures.py: %s: %s' % (problem.filename, problem.strerror), file=sys.stderr)
        sys.exit(2)
