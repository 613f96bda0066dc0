#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""irqload [OPTIONS]: show the cost of each interrupt, a live table of the load map

Reads the times of each interrupt in /sys/kernel/debug/irq_load and shows their
differences; without debugfs load_ns_per_s of /sys/kernel/irq/N/, the balancer's mean over
about 20 s. Writes nothing. Only for root. Works with the balancer in "observe" as well
as "on".

  --interval S   seconds between two readings (2)
  --once         one table and out
  --count N      N tables and out
  --sort KEY     cost (default), hard, soft, thread, rate, ns, cpu, irq, name
  --all          also interrupts that did not occur
  --json         a JSON object per interval, one a line, instead of the tables; see below
  --from FILE    show a recording of --json ("-": standard input) instead of measuring;
                 with --once the whole of it in one table
  --plot FILE    at the end draw the intervals: FILE.png or FILE.svg (matplotlib); with
                 --advise the load of each CPU, now and as planned
  --advise       would the balancer help? Measures once, on a kernel without balancer, from
                 5.10 on, with tracefs, and plans with replay, which has to be built
  --advise TEXT  the same for what perf script or trace-cmd report wrote ("-": standard
                 input) of irq:*, napi:napi_poll and, with interrupt threads, sched:sched_switch
  --seconds S    how long --advise measures (10)
  -o FILE        with --advise: write the measured workload for replay
  --sysfs DIR    another /sys; with --advise TEXT a copy of the other machine's
  --procfs DIR   another /proc; with --sysfs and without this, CPUs are not shown

Columns: % of a CPU, in all and spent in the handlers (hard), in softirqs (soft)
and in interrupt threads (thread); ns per interrupt, all three; interrupts per
second; the CPU that is interrupted; why the balancer does not move it, or did.
Above them each CPU's interrupt load, and the part of it (base) that belongs to no
interrupt, as the balancer's last pass saw them. Without debugfs there are no parts,
no ns per interrupt and no CPUs.

JSON: "format" (irqload 2), "time" (s since 1970), "seconds" (of the interval), "state",
"cpus" (cpu, load_ns_per_s, base_ns_per_s) and "irqs" (irq, name, chip, cpus, status,
seconds, count, ns in all, hard_ns, soft_ns, thread_ns: null without debugfs).

Status: 0; 1 where there is nothing to measure; 2 wrong usage or input.
"""
import argparse
import json
import os
import re
import shutil
import signal
import sys
import time

PARTS = ('hard_ns', 'soft_ns', 'thread_ns')
SUMS = PARTS + ('ns', 'count')
FORMAT = 'irqload 2'


class Failure(Exception):
    """The error, and the next step."""
    status = 2


class Nothing(Failure):
    """There is nothing to measure."""
    status = 1


def read(path):
    """The text of a file, None if there is no such file or it cannot be read now."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read().strip()
    except OSError:
        return None


def number(path):
    """The number in a file, or the sum of numbers by commas; None if there is none."""
    words = (read(path) or '').split(',')
    # Of thousands of CPUs the kernel's page may end behind a comma
    words = words[:-1] if words[-1] == '' and len(words) > 1 else words
    return sum(map(int, words)) if all(re.fullmatch('[0-9]{1,20}', w) for w in words) else None


def numbered(path):
    """Names in a directory that are a number."""
    try:
        names = os.listdir(path)
    except OSError:
        return []
    return sorted(int(n) for n in names if re.fullmatch('[0-9]{1,10}', n))


class Source:
    """The load map of a machine: sample() returns the changes since the last call."""

    def __init__(self, sysfs='/sys', procfs='/proc', clock=time.monotonic_ns):
        self.irqs, self.balancer, self.procfs, self.clock = sysfs + '/kernel/irq', sysfs + '/kernel/irq_balance', procfs, clock
        self.debug = sysfs + '/kernel/debug/'
        self.before = {}
        self.began = None

    def check(self):
        """Raise a Failure unless there is something to measure."""
        if not os.path.isdir(self.irqs):
            raise Nothing('no %s' % self.irqs, 'it is there when sysfs is mounted and the kernel has CONFIG_SPARSE_IRQ')
        state = self.state()
        if state is None:
            raise Nothing('this kernel has no interrupt balancer (no %s/state)' % self.balancer,
                          'build one with CONFIG_IRQ_BALANCE=y')
        if state == 'off':
            raise Nothing('the balancer is off, nothing is measured', self.advice())
        irqs = numbered(self.irqs)
        if self.times() is None and irqs and number('%s/%d/load_ns_per_s' % (self.irqs, irqs[0])) is None:
            raise Nothing('the loads in %s cannot be read' % self.irqs, 'run this as root')

    def state(self):
        return read(self.balancer + '/state')

    def advice(self):
        return 'as root: echo observe > %s/state' % self.balancer

    def rows(self, name, form):
        """The rows of a table in debugfs, a dict each; None if it cannot be read."""
        text = read(self.debug + name)
        if text is None:
            return None
        names, *rows = [line.split() for line in text.splitlines()] or [[]]
        try:
            found = [{key: int(dict(zip(names, row))[key]) for key in form} for row in rows]
            if len({check(row, form, next(iter(form))) for row in found}) < len(found):
                raise ValueError(name)
            return found
        except (KeyError, ValueError):
            raise Failure(self.debug + name + ': cannot read this', 'expected rows of ' + ' '.join(form)) from None

    def times(self):
        """{irq: (hard, soft, thread)} of those that have a load; None without debugfs."""
        rows = self.rows('irq_load', TIMES)
        return None if rows is None else {row['irq']: [row[key] for key in list(TIMES)[1:]] for row in rows}

    def counters(self, irq, times):
        """(count, times) of one interrupt; None if it has no handler or went away."""
        path = '%s/%d/' % (self.irqs, irq)
        count = number(path + 'per_cpu_count') if read(path + 'actions') else None
        return None if count is None else (count, None if times is None else times.get(irq, [0, 0, 0]))

    def changes(self, irq, old, new, seconds):
        """The changes of one interrupt between two readings; None if they cannot be known."""
        if None in (old[1], new[1]):
            rate = number('%s/%d/load_ns_per_s' % (self.irqs, irq))
            row = {**dict.fromkeys(PARTS), 'ns': None if rate is None else int(rate * seconds)}
        else:
            parts = [max(0, b - a) for a, b in zip(old[1], new[1])]
            row = {**dict(zip(PARTS, parts)), 'ns': sum(parts)}
        # A smaller count is another interrupt with the same number
        return None if row['ns'] is None or new[0] < old[0] else {**row, 'count': new[0] - old[0], 'seconds': seconds}

    def describe(self, irq):
        path = '%s/%d/' % (self.irqs, irq)
        cpus = read('%s/irq/%d/effective_affinity_list' % (self.procfs, irq)) if self.procfs else None
        # A demultiplexer has no name
        name = 'demultiplexer' if read(path + 'actions') == '(null)' else read(path + 'actions') or ''
        return {'irq': irq, 'name': name, 'chip': read(path + 'chip_name') or '',
                'cpus': cpus or '', 'status': read(path + 'balance_status') or ''}

    def sample(self):
        """The changes since the last call, as an object for --json."""
        times, now = self.times(), self.clock()
        seconds = (now - self.began) / 1e9 if self.began is not None else 0.0
        record = {'format': FORMAT, 'time': round(time.time(), 3), 'state': self.state() or '', 'seconds': seconds,
                  'cpus': self.rows('irq_balance/cpus', CPU) or [], 'irqs': []}
        after = {}
        for irq in numbered(self.irqs):
            reading = self.counters(irq, times)
            if reading is None:
                continue
            after[irq] = reading
            changes = self.changes(irq, self.before[irq], reading, seconds) if irq in self.before else None
            if changes:
                record['irqs'].append({**self.describe(irq), **changes})
        self.before, self.began = after, now
        return record


NS, SHORT = (0, 2 ** 63 - 1), (1e-6, 1e9)
TEXT = r'[^\ud800-\udfff]{0,4096}'
# The values that irqload writes: a range of numbers, or a pattern
RECORD = {'format': re.escape(FORMAT), 'time': (-2 ** 31, 2 ** 36), 'state': '[a-z]{0,20}', 'seconds': SHORT}
CPU = {'cpu': (0, 2 ** 20), 'load_ns_per_s': NS, 'base_ns_per_s': NS}
TIMES = {'irq': (0, 2 ** 32 - 1), 'hard_ns': NS, 'soft_ns': NS, 'thread_ns': NS}
IRQ = dict({'irq': (0, 2 ** 32 - 1), 'name': TEXT, 'chip': TEXT, 'status': TEXT, 'cpus': r'[0-9,-]{0,65536}', 'seconds': SHORT},
           **dict.fromkeys(SUMS, NS))


def check(value, form, key):
    """An error where VALUE cannot be one that irqload wrote; KEY is the one that tells rows apart."""
    for name, wanted in form.items():
        known = value[name]
        if known is None and name in PARTS:
            good = all(value[part] is None for part in PARTS)
        elif isinstance(wanted, str):
            good = isinstance(known, str) and re.fullmatch(wanted, known, re.S)
        else:
            good = type(known) in ((int, float) if name in ('time', 'seconds') else (int,)) and wanted[0] <= known <= wanted[1]
        if not good:
            raise ValueError(name)
    return value[key]


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
        raise Failure('%s: this is no line of "irqload.py --json"' % where,
                      'make one on a machine with the balancer: %s --json --count 10 > FILE' % sys.argv[0]) from None
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
    lines = [''.join(c if c.isprintable() else '?' for c in line) for line in lines] + per_cpu(record, width)

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
        row = [''.join(c if c.isprintable() else '?' for c in cell) for cell in row]
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
    try:
        new = not os.path.lexists(out)
        if not new and not os.path.isfile(out):
            raise OSError(0, 'this is no file')
        with open(out, 'ab'):
            pass
        if new:
            os.unlink(out)
    except OSError as error:
        raise Failure('%s: %s' % (out, error.strerror), 'name a file that can be written') from None


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


def measured(source, interval, count, sleep):
    source.check()
    source.sample()
    due = time.monotonic()
    while count is None or count > 0:
        due = max(due + interval, time.monotonic())
        sleep(max(0.0, due - time.monotonic()))
        yield source.sample()
        count = None if count is None else count - 1


def positive(kind, low, high):
    def convert(text):
        if not re.fullmatch(r'[0-9]+(\.[0-9]+)?' if kind is float else '[0-9]{1,10}', text):
            raise argparse.ArgumentTypeError('%s is no number' % text)
        value = kind(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError('%s is not between %s and %s' % (text, low, high))
        return value
    return convert


def options(args):
    parser = argparse.ArgumentParser(prog='irqload', description=__doc__, usage=argparse.SUPPRESS, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    hidden = {'help': argparse.SUPPRESS}
    parser.add_argument('--interval', type=positive(float, 0.05, 3600.0), **hidden)
    parser.add_argument('--once', action='store_true', **hidden)
    parser.add_argument('--count', type=positive(int, 1, 10 ** 9), **hidden)
    parser.add_argument('--sort', choices=KEYS, default='cost', **hidden)
    parser.add_argument('--all', action='store_true', **hidden)
    parser.add_argument('--json', action='store_true', **hidden)
    parser.add_argument('--from', dest='recording', **hidden)
    parser.add_argument('--plot', **hidden)
    parser.add_argument('--advise', nargs='?', const=True, **hidden)
    parser.add_argument('--seconds', type=positive(float, 0.1, 3600.0), **hidden)
    parser.add_argument('-o', dest='out', **hidden)
    parser.add_argument('--sysfs', **hidden)
    parser.add_argument('--procfs', **hidden)
    chosen = parser.parse_args(args)
    if '' in (chosen.recording, chosen.advise, chosen.plot, chosen.out, chosen.sysfs, chosen.procfs):
        parser.error('expected a name, not an empty one')
    if chosen.recording and (chosen.sysfs or chosen.procfs or chosen.interval):
        parser.error('--from reads a recording, --sysfs, --procfs and --interval are for a machine')
    if chosen.once and chosen.count:
        parser.error('--once is one table, --count N are N')
    if chosen.advise and (chosen.recording or chosen.once or chosen.count or chosen.interval or chosen.all):
        parser.error('--advise goes with --seconds, --json, --plot, -o, --sysfs and --procfs only')
    if chosen.seconds and chosen.advise not in (None, True):
        parser.error('--seconds is for this machine, not for a text')
    if not chosen.advise and (chosen.seconds or chosen.out):
        parser.error('--seconds and -o are for --advise')
    return chosen


def run(args, sleep=time.sleep):
    chosen = options(args)
    if chosen.plot:
        plot_check(chosen.plot)
    if chosen.advise:
        import advise
        text = None if chosen.advise is True else chosen.advise
        try:
            return advise.run(chosen.seconds or 10.0, chosen.json, chosen.out, chosen.sysfs, chosen.procfs, text, chosen.plot)
        except advise.Refused as refused:
            raise Failure(str(refused)) from None
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


def main():
    # "irqload | head" ends it without a message
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        if not sys.stdout:
            raise Failure('standard output is closed', 'it shows the table')
        sys.stdout.reconfigure(errors='replace')
        run(sys.argv[1:])
    except OSError as error:
        print('irqload: %s: %s' % (error.filename or 'standard output', error.strerror), file=sys.stderr)
        # Python writes the rest at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 2
    except Failure as failure:
        print('irqload: ' + '\n  '.join(failure.args), file=sys.stderr)
        return failure.status
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == '__main__':
    # advise imports this file: its Failure has to be the same class
    sys.modules['irqload'] = sys.modules['__main__']
    sys.exit(main())
