# SPDX-License-Identifier: GPL-2.0
"""The load map of a kernel with the balancer, read as differences: the CPU time of each interrupt"""
import os
import re
import time

from common import Failure, Nothing, command, names, read

PARTS = ('hard_ns', 'soft_ns', 'thread_ns')
SUMS = PARTS + ('ns', 'count')
FORMAT = 'irqload 2'


def number(path):
    """The number in a file, or the sum of numbers by commas; None if there is none."""
    words = (read(path) or '').split(',')
    # Of thousands of CPUs the kernel's page may end behind a comma
    words = words[:-1] if words[-1] == '' and len(words) > 1 else words
    return sum(map(int, words)) if all(re.fullmatch('[0-9]{1,20}', w) for w in words) else None


def numbered(path):
    """Names in a directory that are a number."""
    return sorted(int(n) for n in names(path) if re.fullmatch('[0-9]{1,10}', n))


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
                          'whether one would help, this kernel can tell: sudo ' + command('advise'),
                          'then build one with CONFIG_IRQ_BALANCE=y')
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
        keys, *rows = [line.split() for line in text.splitlines()] or [[]]
        try:
            found = [{key: int(dict(zip(keys, row))[key]) for key in form} for row in rows]
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


def measured(source, interval, count, sleep):
    source.check()
    source.sample()
    due = time.monotonic()
    while count is None or count > 0:
        due = max(due + interval, time.monotonic())
        sleep(max(0.0, due - time.monotonic()))
        yield source.sample()
        count = None if count is None else count - 1
