# SPDX-License-Identifier: GPL-2.0
"""irqload: the cost of each interrupt, a live table (needs the balancer, root)

usage: irqload [OPTIONS]         the table
       irqload advise [OPTIONS]  would the balancer help? Any kernel from 5.10
       irqload record [OPTIONS]  record the load as a workload for replay
       irqload replay FILE       what the balancer does with a workload
       irqload order [OPTIONS]   the order of service of 8259A interrupts
       irqload VERB --help       a page about each

  --interval S   seconds between two readings (2)
  --once         one table and out
  --count N      N tables and out
  --sort KEY     cost (default), hard, soft, thread, rate, ns, cpu, irq, name
  --all          also interrupts that did not occur
  --json         an object per interval, one a line, instead of the tables
  --from FILE    show a recording of --json ("-": standard input) instead of
                 measuring; with --once the whole of it in one table
  --plot FILE    at the end draw the intervals: .png or .svg (matplotlib)
  --sysfs DIR    another /sys
  --procfs DIR   another /proc; with --sysfs and without this no CPUs are shown

Columns: % of a CPU, in all and spent in the handlers (hard), in softirqs (soft)
and in interrupt threads (thread); ns per interrupt, all three; interrupts per
second; the CPU that is interrupted; why the balancer does not move it, or did.
Above them each CPU's interrupt load, and the part of it (base) that belongs to
no interrupt, as the balancer's last pass saw them. Without debugfs the loads
are the balancer's means over 20 s, without parts and CPUs.

JSON: "format" (irqload 2), "time" (s since 1970), "seconds" (of the interval),
"state", "cpus" (cpu, load_ns_per_s, base_ns_per_s) and "irqs" (irq, name, chip,
cpus, status, seconds, count, ns in all, hard_ns, soft_ns, thread_ns: null
without debugfs). Status: 0; 1 if there is nothing to measure; 2 wrong usage.
"""
import argparse
import json
import os
import re
import shutil
import sys
import time

from common import Failure, between, command, options, printable, to_write
from loadmap import CPU, IRQ, PARTS, RECORD, SUMS, Source, check, measured


def once(pairs):
    """An object of JSON in which no key is twice."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError('a key twice')
    return dict(pairs)


def parse(line):
    """A line of a recording, of bytes."""
    record = json.loads(line.decode(), object_pairs_hook=once)
    check(record, RECORD, 'seconds')
    for rows, form, key in (record['irqs'], IRQ, 'irq'), (record['cpus'], CPU, 'cpu'):
        if type(rows) is not list or len({check(row, form, key) for row in rows}) < len(rows):
            raise ValueError(key)
    table(record)
    return record


def recorded(path):
    """The intervals in a recording of --json."""
    where, empty = path, True
    try:
        if path == '-' and not sys.stdin:
            raise Failure('standard input is closed', '--from expects what --json wrote')
        with sys.stdin.buffer if path == '-' else open(path, 'rb') as file:
            for n, line in enumerate(iter(lambda: file.readline(2 ** 26), b''), 1):
                where = '%s:%d' % (path, n)
                if line.strip():
                    record = parse(line)
                    empty = False
                    yield record
    except OSError as error:
        raise Failure('%s: %s' % (path, error.strerror), '--from expects what --json wrote') from None
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise Failure('%s: this is no line of "irqload --json"' % where,
                      'make one on a machine with the balancer: %s --json --count 10 > FILE' % command()) from None
    if empty:
        raise Failure('%s is empty' % path, '--from expects what --json wrote')


def total(records):
    """Several intervals as one."""
    rows = {}
    for row in (row for record in records for row in record['irqs']):
        known = rows.setdefault(row['irq'], dict(row, seconds=0.0, **dict.fromkeys(SUMS, 0)))
        sums = {key: None if None in (known[key], row[key]) else known[key] + row[key] for key in SUMS + ('seconds',)}
        rows[row['irq']] = dict(row, **sums)
    result = dict(records[-1], seconds=sum(r['seconds'] for r in records), irqs=list(rows.values()))
    cpus = {}
    for record in records:
        for cpu in record['cpus']:
            cpus.setdefault(cpu['cpu'], []).append(cpu)

    def mean(values):
        return sum(v or 0 for v in values) // len(values)
    result['cpus'] = [{'cpu': n, 'load_ns_per_s': mean([c['load_ns_per_s'] for c in seen]),
                       'base_ns_per_s': mean([c['base_ns_per_s'] for c in seen])} for n, seen in sorted(cpus.items())]
    return result


def percent(ns, seconds):
    return ns / seconds / 1e7


def per_interrupt(row):
    """ns; None where no interrupt was counted, or its load is a mean over more than the interval."""
    return row['ns'] / row['count'] if row['count'] and row['hard_ns'] is not None else None


# Smallest key first
KEYS = {
    'cost': lambda row: -row['ns'] / row['seconds'],
    'hard': lambda row: -(row['hard_ns'] or 0) / row['seconds'],
    'soft': lambda row: -(row['soft_ns'] or 0) / row['seconds'],
    'thread': lambda row: -(row['thread_ns'] or 0) / row['seconds'],
    'rate': lambda row: -row['count'] / row['seconds'],
    'ns': lambda row: -(per_interrupt(row) or 0),
    'cpu': lambda row: (not row['cpus'], [int(p) if re.fullmatch('[0-9]{1,9}', p) else 0 for p in row['cpus'].replace('-', ',').split(',')],
                        -row['ns'] / row['seconds']),
    'irq': lambda row: row['irq'],
    'name': lambda row: (row['name'], row['irq']),
}


def per_cpu(record, width):
    """The CPUs' loads, as many beside each other as fit."""
    lines, size = [], max(1, (width - 5) // 6)
    for i in range(0, len(record['cpus']), size):
        part = record['cpus'][i:i + size]
        lines.append('CPU  ' + ''.join('%6d' % c['cpu'] for c in part))
        lines.append('load ' + ''.join('%6.1f' % percent(c['load_ns_per_s'], 1) for c in part))
        if any(c['base_ns_per_s'] for c in part):
            lines.append('base ' + ''.join('%6.1f' % percent(c['base_ns_per_s'] or 0, 1) for c in part))
    return lines


def table(record, sort='cost', everything=False, width=100, advice=''):
    """Lines of text."""
    rows = [r for r in record['irqs'] if everything or r['count'] or r['ns']]
    rows.sort(key=lambda r: (KEYS[sort](r), r['irq']))
    busy = sum(percent(r['ns'], r['seconds']) for r in record['irqs'])
    lines = ['%s  balancer %s, %d interrupts, %.1f s: %.1f %% of a CPU' % (
        time.strftime('%H:%M:%S', time.localtime(record['time'])), record['state'] or 'gone', len(record['irqs']),
        record['seconds'], busy)]
    if record['state'] == 'off':
        lines.append('nothing is measured. ' + advice)
    lines = [printable(line) for line in lines] + per_cpu(record, width)

    cells = [('irq', 'name', 'chip', 'cpu%', 'hard', 'soft', 'thread', 'ns/irq', 'rate/s', 'on', 'status')]
    for r in rows:
        shares = ['-' if r[key] is None else '%.2f' % percent(r[key], r['seconds']) for key in ('ns',) + PARTS]
        each = per_interrupt(r)
        # Without the device's address
        chip = re.sub(r'-[0-9a-f]{4,}:[0-9a-f]{2}:.*', '', r['chip'])
        cells.append(('%d' % r['irq'], r['name'], chip, *shares, '-' if each is None else '%.0f' % each,
                      '%.0f' % (r['count'] / r['seconds']), r['cpus'] or '-', r['status']))
    left = (1, 2, 10)
    sizes = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    # Only names may be cut
    for i in (1, 2):
        over = sum(sizes) + len(sizes) - 1 - width
        sizes[i] = max(min(sizes[i], 8), sizes[i] - max(0, over))
    for row in cells:
        row = [printable(cell) for cell in row]
        text = [c if len(c) <= n else c[:n - 1] + '+' for c, n in zip(row, sizes)]
        lines.append(' '.join(c.ljust(n) if i in left else c.rjust(n)
                              for i, (c, n) in enumerate(zip(text, sizes))).rstrip())
    if not rows:
        lines.append('(no interrupt occurred; --all shows the others)')
    return lines


def plot_check(out):
    """Before measuring for hours: can it be drawn, and written?"""
    if os.path.splitext(out)[1] not in ('.png', '.svg'):
        raise Failure('%s: --plot draws .png and .svg' % out, 'choose a name that ends in one of them')
    try:
        import matplotlib
    except ImportError:
        raise Failure('no picture: %s has no matplotlib' % sys.executable,
                      'use /usr/bin/python3 and apt install python3-matplotlib, or pip install matplotlib') from None
    matplotlib.use('Agg')
    if os.path.lexists(out) and not os.path.isfile(out):
        raise Failure('%s: this is no file' % out, 'name a file that can be written')
    to_write(out)


def plot(records, out):
    """Per cent of a CPU over time: interrupts piled up, and each CPU."""
    if not records:
        raise Failure('no interval to draw', 'measure at least one: --count 10')
    import matplotlib
    matplotlib.rcParams['svg.hashsalt'] = 'irqload'
    import matplotlib.pyplot as plt

    end, times = 0.0, []
    for record in records:
        end += record['seconds']
        times.append(end)
    heavy = sorted(total(records)['irqs'], key=lambda row: row['ns'], reverse=True)[:9]
    heavy = [row for row in heavy if row['ns']]
    number_of = {row['irq']: n for n, row in enumerate(heavy)}
    piles = [[0.0] * len(records) for _ in range(len(heavy) + 1)]
    for t, record in enumerate(records):
        for row in record['irqs']:
            piles[number_of.get(row['irq'], -1)][t] += percent(row['ns'], row['seconds'])
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), constrained_layout=True)
    # A dollar would begin a formula
    names = ['%d %s' % (row['irq'], row['name'].replace('$', r'\$')) for row in heavy] + ['others']
    # One interval alone is a bar, not a line
    if len(times) == 1:
        times, piles = [0.0] + times, [pile * 2 for pile in piles]
    axes[0].stackplot(times, piles, labels=names, colors=plt.get_cmap('tab10').colors)
    axes[0].set(title='interrupts', xlabel='s', ylabel='% of a CPU', ylim=(0, None))
    axes[0].legend(fontsize=8, loc='upper left')
    cpus = sorted({c['cpu'] for record in records for c in record['cpus']})
    for cpu in cpus:
        values = [next((percent(c['load_ns_per_s'], 1) for c in r['cpus'] if c['cpu'] == cpu), 0.0) for r in records]
        axes[1].plot(times, values * (len(times) // len(values)), label='CPU%d' % cpu)
    axes[1].set(title='CPUs', xlabel='s', ylim=(0, None))
    if 0 < len(cpus) <= 16:
        axes[1].legend(fontsize=8, ncol=2, loc='upper left')
    try:
        figure.savefig(out, metadata={'Date': None} if out.endswith('.svg') else {})
    except OSError as error:
        raise Failure('%s: %s' % (out, error.strerror), 'name a file that can be written') from None
    plt.close(figure)


def arguments(args):
    parser = options('', __doc__)
    hidden = {'help': argparse.SUPPRESS}
    parser.add_argument('--interval', type=between(float, 0.05, 3600.0), **hidden)
    parser.add_argument('--once', action='store_true', **hidden)
    parser.add_argument('--count', type=between(int, 1, 10 ** 9), **hidden)
    parser.add_argument('--sort', choices=KEYS, default='cost', **hidden)
    parser.add_argument('--all', action='store_true', **hidden)
    parser.add_argument('--json', action='store_true', **hidden)
    parser.add_argument('--from', dest='recording', **hidden)
    parser.add_argument('--plot', **hidden)
    parser.add_argument('--sysfs', **hidden)
    parser.add_argument('--procfs', **hidden)
    chosen = parser.parse_args(args)
    if '' in (chosen.recording, chosen.plot, chosen.sysfs, chosen.procfs):
        parser.error('expected a name, not an empty one')
    if chosen.recording and (chosen.sysfs or chosen.procfs or chosen.interval):
        parser.error('--from reads a recording, --sysfs, --procfs and --interval are for a machine')
    if chosen.once and chosen.count:
        parser.error('--once is one table, --count N are N')
    return chosen


def run(args, sleep=time.sleep):
    chosen = arguments(args)
    if chosen.plot:
        plot_check(chosen.plot)
    source, advice = None, ''
    if chosen.recording:
        records = recorded(chosen.recording)
        # All of a file is read before any of it is shown
        if chosen.once or chosen.recording != '-':
            records = list(records)
        if chosen.once:
            records = [total(records)]
    else:
        procfs = chosen.procfs or ('/proc' if not chosen.sysfs else None)
        source = Source(chosen.sysfs or '/sys', procfs)
        advice = source.advice()
        records = measured(source, chosen.interval or 2.0, 1 if chosen.once else chosen.count, sleep)
    live = sys.stdout.isatty() and source and not chosen.once and not chosen.json
    kept, shown = [], 0
    try:
        for record in records:
            if chosen.plot:
                kept.append(record)
            if chosen.json:
                print(json.dumps(record, separators=(',', ':')), flush=True)
            else:
                size = shutil.get_terminal_size((100, 25))
                lines = table(record, chosen.sort, chosen.all, size.columns if sys.stdout.isatty() else 1000, advice)
                if live:
                    lines = ['\033[H'] + ['\033[K%s' % line[:size.columns] for line in lines[:size.lines - 1]] + ['\033[J']
                    print(lines[0] + '\n'.join(lines[1:]), end='', flush=True)
                else:
                    print(('\n' if shown else '') + '\n'.join(lines), flush=True)
            shown += 1
            if shown == chosen.count:
                break
    except KeyboardInterrupt:
        pass
    if live:
        print()
    if chosen.plot:
        plot(kept, chosen.plot)
