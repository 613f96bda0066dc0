# SPDX-License-Identifier: GPL-2.0
"""irqload --advise: would the balancer help this machine? On kernels that do not have it

tracetimes.py measures the CPU time of each interrupt. This file adds the rest of a workload
for replay from /sys and /proc: the topology, the masks, the load of tasks. replay runs the
kernel's own planner on it. The answer compares the load of the busiest CPU as measured with
that of the same loads where the planner put them, and lists what no move can help:

  saturated   one interrupt takes FULL of a CPU: divide it (RPS, queues, threaded NAPI)
  driver      the driver wrote a mask of one CPU (it is affinity_hint, too): widen
  user        a user or a daemon did
  fixed       the kernel refuses a mask (smp_affinity is read-only), 8259A
  managed     the core has placed it, one for each CPU or group of CPUs

The loads are measured in up to BINS parts. They change from part to part, and this is where
the errors come from: twice the standard error of the mean.
"""
import array
import fcntl
import json
import math
import os
import re
import socket
import stat
import struct
import subprocess
import sys
import time

import tracetimes
from record import cpulist
from tracetimes import Refused, cpus_of, read

FORMAT = 'irqload advise 1'
BINS = 10
HEAVY, FULL = 0.02, 0.8
SECOND = 10 ** 9


def hexmask(cpus):
    """As rps_cpus takes it."""
    value = sum(1 << cpu for cpu in cpus)
    words = []
    while value or not words:
        words.append('%x' % (value & 0xffffffff) if value < 1 << 32 else '%08x' % (value & 0xffffffff))
        value >>= 32
    return ','.join(reversed(words))


def integer(text, default):
    return int(text) if re.fullmatch(r'\s*-?[0-9]{1,9}\s*', text or '') else default


class Machine:
    """CPUs and interrupts, from /sys and /proc."""

    def __init__(self, sysfs='/sys', procfs='/proc'):
        self.sysfs, self.procfs = sysfs, procfs
        base = sysfs + '/devices/system/cpu/'
        self.isolated = set(cpus_of(read(base + 'isolated')) + cpus_of(read(base + 'nohz_full')))
        self.online = [cpu for cpu in cpus_of(read(base + 'online')) if cpu < 8192]
        if not self.online:
            raise Refused('no %sonline: is sysfs mounted?' % base)
        self.default = self.in_mask(procfs + '/irq/default_smp_affinity') or set(self.online)
        self.cpus = {cpu: self.topology('%scpu%d/' % (base, cpu), cpu) for cpu in self.online}
        self.irqs = self.interrupts()

    def in_mask(self, path):
        """The CPUs of a hexadecimal mask that are online."""
        text = (read(path) or '').strip().replace(',', '')
        value = int(text, 16) if re.fullmatch('[0-9a-fA-F]+', text) else 0
        return {cpu for cpu in self.online if value >> cpu & 1}

    def topology(self, path, cpu):
        def lowest(name, default):
            return min(cpus_of(read(path + name)) or [default])
        node = next((int(name[4:]) for name in self.names(path) if re.fullmatch('node[0-9]{1,5}', name)), -1)
        package = lowest('topology/package_cpus_list', lowest('topology/core_siblings_list', 0))
        caches = sorted((integer(read('%scache/%s/level' % (path, name)), 0), name) for name in self.names(path + 'cache')
                        if re.fullmatch('index[0-9]+', name))
        return {'node': node, 'package': package, 'core': lowest('topology/thread_siblings_list', cpu),
                'llc': lowest('cache/%s/shared_cpu_list' % caches[-1][1], package) if caches else package,
                'capacity': min(1024, max(1, integer(read(path + 'cpu_capacity'), 1024)))}

    @staticmethod
    def names(path):
        try:
            return os.listdir(path)
        except OSError:
            return []

    def counts(self):
        """{irq: interrupts so far}"""
        return {irq: sum(map(int, re.findall('[0-9]{1,20}', read('%s/kernel/irq/%d/per_cpu_count' % (self.sysfs, irq)) or '')))
                for irq in self.irqs}

    def interrupts(self):
        found = {}
        for irq in sorted(int(name) for name in self.names(self.sysfs + '/kernel/irq') if re.fullmatch('[0-9]{1,9}', name)):
            path, proc = '%s/kernel/irq/%d/' % (self.sysfs, irq), '%s/irq/%d/' % (self.procfs, irq)
            name = (read(path + 'actions') or '').strip()
            if not name:
                continue
            mask = set(cpus_of(read(proc + 'smp_affinity_list'))) & set(self.online)
            at = cpus_of(read(proc + 'effective_affinity_list'))
            at = at[0] if at and at[0] in self.cpus else min(mask or self.online)
            row = {'name': name, 'chip': (read(path + 'chip_name') or '').strip(), 'cpu': at, 'mask': mask | {at},
                   'node': integer(read(proc + 'node'), -1)}
            row['why'] = self.why(irq, row, proc)
            found[irq] = row
        return found

    def why(self, irq, row, proc):
        """The reason that an interrupt has its mask."""
        try:
            writable = os.stat(proc + 'smp_affinity').st_mode & stat.S_IWUSR
        except OSError:
            writable = False
        if 'AFFINITY_MANAGED' in (read('%s/kernel/debug/irq/irqs/%d' % (self.sysfs, irq)) or '') or \
                re.search(r'nvme[0-9]+q[1-9]', row['name']) or not writable and 'MSI' in row['chip']:
            return 'managed'
        if not writable or 'XT-PIC' in row['chip']:
            return 'fixed'
        if row['mask'] >= self.default:
            return 'default'
        if row['mask'] <= self.isolated:
            return 'isolated'
        return 'driver' if self.in_mask(proc + 'affinity_hint') == row['mask'] else 'user'

    def threads(self):
        """{pid: irq} of the interrupts' threads, which are children of kthreadd."""
        found = {}
        for pid in self.names(self.procfs):
            name = re.match('irq/([0-9]{1,9})-', read('%s/%s/comm' % (self.procfs, pid)) or '') if pid.isdigit() else None
            if name and re.search(r'^PPid:\s*2$', read('%s/%s/status' % (self.procfs, pid)) or '', re.M):
                found[int(pid)] = int(name[1])
        return found

    def times(self):
        """{cpu: (busy with tasks, steal)} in ns so far."""
        tick, found = SECOND // os.sysconf('SC_CLK_TCK'), {}
        for line in (read(self.procfs + '/stat') or '').splitlines():
            words = line.split()
            if re.fullmatch('cpu[0-9]+', words[0] if words else '') and len(words) > 8 and all(w.isdigit() for w in words[1:9]):
                user, nice, system, _, _, _, _, steal = map(int, words[1:9])
                found[int(words[0][3:])] = (user + nice + system) * tick, steal * tick
        return found

    def candidates(self, device):
        """The interrupts of a network device, or of its parent (virtio)."""
        path = '%s/class/net/%s/device' % (self.sysfs, device)
        if '/' in device or not device:
            return set()
        for one in path, path + '/..':
            found = {int(name) for name in self.names(one + '/msi_irqs') if name.isdigit()}
            alone = integer(read(one + '/irq'), 0)
            found |= {alone} if alone > 0 and not found else set()
            if found & set(self.irqs):
                return found & set(self.irqs)
        return set()


class Measured:
    """A machine and what it did: load[bin][irq] and base[bin][cpu] in ns/s on a CPU of capacity 1024."""

    def __init__(self, machine, trace, accounts, before, after, counts):
        self.machine, self.trace, self.accounts = machine, trace, accounts
        used = tracetimes.owners(accounts, machine.candidates, self.fallback(counts))
        parts = {}
        for window, (begin, end, *_) in zip(accounts.sums, trace.timed):
            number = min(BINS - 1, max(0, int(BINS * (begin / 1e9 - trace.began) / trace.seconds)))
            part = parts.setdefault(number, [0, {}])
            part[0] += end - begin
            for cpu, sums in window.items():
                for key, value in sums.items():
                    row = part[1].setdefault((cpu, key), [0, 0])
                    row[0] += value[0]
                    row[1] += value[1]
        cost, self.bins, self.rows, where = accounts.event_ns(), [], {}, {}
        for _, (length, sums) in sorted(parts.items()):
            load, base = {}, {}
            for (cpu, (kind, key)), (ns, events) in sums.items():
                rate = max(0, ns - cost * events) * SECOND / length
                irq = used.get(key) if kind == 'napi' else key
                if kind == 'base' or irq not in machine.irqs or cpu not in machine.cpus:
                    base[cpu] = base.get(cpu, 0) + rate
                    continue
                load[irq] = load.get(irq, 0) + rate * machine.cpus[cpu]['capacity'] / 1024
                row = self.rows.setdefault(irq, {'hard': 0, 'soft': 0, 'thread': 0})
                row[{'napi': 'soft'}.get(kind, kind)] += max(0, ns - cost * events) / trace.traced / 1e9
                where.setdefault(irq, {}).setdefault(cpu, 0)
                where[irq][cpu] += rate
            self.bins.append((load, base))
        for irq, cpus in where.items():
            # A chip may deliver to several CPUs, and show all of them
            machine.irqs[irq]['cpu'] = max(cpus, key=lambda cpu: (cpus[cpu], -cpu))
            machine.irqs[irq]['mask'] |= {machine.irqs[irq]['cpu']}
        self.tasks, self.steal = {}, {}
        for cpu in machine.cpus:
            old, new = before.get(cpu, (0, 0)), after.get(cpu, (0, 0))
            self.tasks[cpu], self.steal[cpu] = (min(SECOND, max(0, int((b - a) / trace.seconds))) for a, b in zip(old, new))
        self.events = accounts.seen / trace.seconds
        self.overhead = (accounts.seen * cost / 1e9 + trace.own) / trace.seconds
        self.cost = cost

    def fallback(self, counts):
        irqs = self.machine.irqs

        def most(device, taken):
            own = self.machine.candidates(device) - taken
            return max(own, key=lambda irq: (counts.get(irq, 0), -irq), default=None)
        return most if irqs else lambda device, taken: None

    def load(self, irq):
        return sum(load.get(irq, 0) for load, _ in self.bins) / len(self.bins)

    def cpu_loads(self, place):
        """{cpu: its load in each bin} if interrupts are where PLACE says."""
        found = {cpu: [base.get(cpu, 0) for _, base in self.bins] for cpu in self.machine.cpus}
        for number, (load, _) in enumerate(self.bins):
            for irq, value in load.items():
                cpu = place[irq]
                found[cpu][number] += value * 1024 / self.machine.cpus[cpu]['capacity']
        return found

    def workload(self, widened=()):
        """Text for replay; interrupts that are WIDENED have the default mask."""
        out, machine = ['# Measured by irqload --advise on %s, Linux %s' % (time.strftime('%Y-%m-%d'), os.uname().release)], self.machine
        for cpu, c in sorted(machine.cpus.items()):
            out.append('cpu %d node %d package %d llc %d core %d capacity %d%s' % (
                cpu, c['node'], c['package'], c['llc'], c['core'], c['capacity'], ' isolated' if cpu in machine.isolated else ''))
        known = [irq for irq in machine.irqs if irq in self.rows]
        for irq in known:
            row = machine.irqs[irq]
            mask = machine.default | {row['cpu']} if irq in widened else row['mask']
            flag = {'managed': ' managed', 'fixed': ' pinned'}.get(row['why'], '')
            if len(mask) == 1 or row['why'] == 'driver' and irq not in widened:
                flag = flag or ' pinned'
            out.append('irq %d node %d mask %s at %d%s' % (irq, row['node'], cpulist(mask), row['cpu'], flag))
        for number in range(max(BINS, len(self.bins))):
            load, base = self.bins[number % len(self.bins)]
            out.append('epoch %d' % (1000 * number))
            if not number:
                out += ['tasks %d %d' % (cpu, ns) for cpu, ns in sorted(self.tasks.items()) if ns]
            out += ['load %d %d' % (irq, min(2 ** 33 - 1, load.get(irq, 0))) for irq in known]
            out += ['base %d %d' % (cpu, min(SECOND, base.get(cpu, 0))) for cpu in machine.cpus
                    if base.get(cpu, 0) or number]
        return '\n'.join(out + ['end %d' % (1000 * max(BINS, len(self.bins)))]) + '\n'


def plan(program, text):
    """The moves and the last place of a replay: [(irq, from, to, reason)], {irq: cpu}."""
    done = subprocess.run([program, '-'], input=text, capture_output=True, text=True, check=False, env=dict(os.environ, LC_ALL='C'))
    if done.returncode:
        raise Refused('%s: %s' % (program, done.stderr.strip().split('\n')[0]))
    lines = [line.split() for line in done.stdout.splitlines()]
    moves = [(int(w[2]), int(w[3]), int(w[4]), w[5]) for w in lines if w[:1] == ['move']]
    last = next((w[2:] for w in reversed(lines) if w[:1] == ['place']), [])
    return moves, {int(irq): int(cpu) for irq, cpu in (pair.split('=') for pair in last) if cpu != '-'}


class Advice:
    """The answer: worst CPUs now and as planned, the gain and its error."""

    def __init__(self, measured, program):
        self.measured, self.machine = measured, measured.machine
        self.place = {irq: row['cpu'] for irq, row in self.machine.irqs.items()}
        self.now = measured.cpu_loads(self.place)
        moves, place = plan(program, measured.workload())
        self.planned_place = {**self.place, **place}
        self.planned = measured.cpu_loads(self.planned_place)
        self.moves = [(irq, self.place[irq], cpu, next(m[3] for m in reversed(moves) if m[0] == irq))
                      for irq, cpu in sorted(place.items()) if cpu != self.place[irq]]
        self.before, self.after = self.worst(self.now), self.worst(self.planned)
        self.gain, self.error = self.difference(self.before, self.after)
        wide = [irq for irq in measured.rows if self.machine.irqs[irq]['why'] == 'driver' and measured.load(irq) >= HEAVY * SECOND]
        self.widened = None
        if wide:
            _, place = plan(program, measured.workload(wide))
            gain, error = self.difference(self.before, self.worst(measured.cpu_loads({**self.place, **place})))
            if gain > self.gain + max(0.05, 2 * error):
                self.widened = {'irqs': wide, 'gain': gain, 'error': error}

    @staticmethod
    def worst(loads):
        """(cpu, mean, error) of the busiest CPU, as shares of a CPU."""
        def mean(values):
            return sum(values) / len(values)
        cpu = max(loads, key=lambda c: (mean(loads[c]), -c))
        values = [v / SECOND for v in loads[cpu]]
        n = len(values)
        spread = math.sqrt(sum((v - mean(values)) ** 2 for v in values) / (n - 1) / n) if n > 1 else mean(values)
        return cpu, mean(values), 2 * spread

    @staticmethod
    def difference(before, after):
        if before[1] <= 0:
            return 0.0, 0.0
        ratio = after[1] / before[1]
        return 1 - ratio, math.hypot(after[2], ratio * before[2]) / before[1]

    def heaviest(self):
        return sorted(self.measured.rows, key=lambda irq: (-self.measured.load(irq), irq))

    def helpless(self):
        """[(word, irq or None, text, [commands])]: what moves cannot help."""
        found, m = [], self.measured
        for irq in self.heaviest():
            row, load = self.machine.irqs[irq], m.load(irq)
            share = load * 1024 / self.machine.cpus[row['cpu']]['capacity'] / SECOND
            if share >= FULL:
                found.append(('saturated', irq, 'interrupt %d (%s) takes %.0f %% of CPU %d: divide its work' % (
                    irq, row['name'], 100 * share, row['cpu']), self.divide(irq, row)))
            elif load >= HEAVY * SECOND and row['why'] == 'fixed':
                order = ': its order of service can be chosen (i8259-priority.rst)' if 'XT-PIC' in row['chip'] else ''
                found.append(('fixed', irq, 'interrupt %d (%s) cannot be moved%s' % (irq, row['name'], order), []))
            elif load >= HEAVY * SECOND and row['why'] == 'user' and len(row['mask']) == 1:
                found.append(('user', irq, 'interrupt %d (%s) has a mask of CPU %d: by hand, or by the irqbalance daemon' % (
                    irq, row['name'], row['cpu']), ['cat /proc/irq/default_smp_affinity > /proc/irq/%d/smp_affinity' % irq]))
        if self.widened:
            names = [self.machine.irqs[irq]['name'] for irq in self.widened['irqs']]
            plain = all(re.fullmatch(r'[\w.:@-]+', name) for name in names)
            words = sorted({re.sub('[0-9]+', '*', name) for name in names}) if plain else map(str, self.widened['irqs'])
            found.append(('driver', None, 'masks of one CPU that drivers wrote: widened, the gain is %s' % percent(
                self.widened['gain'], self.widened['error']), ["echo '%s' > /sys/kernel/irq_balance/widen" % ','.join(words)]))
        base = sum(base.get(self.before[0], 0) for _, base in m.bins) / len(m.bins) / SECOND
        if base >= 0.1 and base >= self.before[1] / 4:
            found.append(('base', None, '%.0f %% of CPU %d are softirqs that no interrupt raised (timers, RCU, RPS)' % (
                100 * base, self.before[0]), []))
        return found

    def divide(self, irq, row):
        """Commands that divide the work of an interrupt of a network device."""
        device = next((d for n, d in self.measured.accounts.devices.items() if irq in self.machine.candidates(d)), None)
        if not device:
            return []
        path, commands = '%s/class/net/%s/' % (self.machine.sysfs, device), []
        rx = sorted(int(n[3:]) for n in self.machine.names(path + 'queues') if re.fullmatch('rx-[0-9]+', n))
        quoted = "'%s'" % device if re.search(r'[^\w.-]', device) else device
        kind, most, now = channels(device) if self.machine.sysfs == '/sys' else ('', 0, 0)
        if most > now:
            commands.append('ethtool -L %s %s %d' % (quoted, kind, min(most, len(self.machine.cpus))))
        others = set(self.machine.cpus) - self.machine.isolated - {row['cpu']}
        number = re.search(r'([0-9]+)$', row['name'])
        queue = int(number[1]) if number and int(number[1]) in rx else rx[0] if rx else 0
        if others and rx:
            commands.append('echo %s > /sys/class/net/%s/queues/rx-%d/rps_cpus' % (hexmask(others), quoted, queue))
        if os.path.exists(path + 'threaded'):
            commands.append('echo 1 > /sys/class/net/%s/threaded' % quoted)
        return commands


def channels(device):
    """(kind, most, now) of a device's queues, as ethtool -l shows them."""
    block = array.array('B', struct.pack('=9I', 0x3c, *[0] * 8))
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            fcntl.ioctl(sock, 0x8946, struct.pack('16sP', device.encode()[:15], block.buffer_info()[0]) + bytes(16))
    except (OSError, ValueError):
        return '', 0, 0
    words = struct.unpack('=9I', block.tobytes())
    return ('combined', words[4], words[8]) if words[4] else ('rx', words[1], words[5])


def percent(value, error):
    return '%.1f +- %.1f %%' % (100 * value, 100 * error)


def printable(text):
    return ''.join(c if c.isprintable() else '?' for c in text)


def page(advice, pressure):
    """Lines of text: the answer."""
    m, machine = advice.measured, advice.machine
    t = m.trace
    lines = ['%.1f s, %d interrupts of %d CPUs; traced %.0f %% of the time, %.0f events/s of %d ns; overhead %.2f %% of a CPU%s' % (
        t.seconds, len(m.rows), len(machine.cpus), 100 * t.traced / t.seconds, m.events, m.cost, 100 * m.overhead,
        '; %d of %d windows lost events and were left out' % (t.lost, t.lost + len(t.windows)) if t.lost else '')]
    if pressure:
        lines.append('/proc/pressure/irq: ' + pressure)
    state = (read(machine.sysfs + '/kernel/irq_balance/state') or '').strip()
    if state == 'on':
        lines.append('The balancer of this kernel is on: this is what it has left')
    if m.overhead > 0.05:
        lines.append('The measurement is a good part of the load: compare moves, not single loads')
    if (read(machine.sysfs + '/kernel/realtime') or '').strip() == '1':
        lines.append('PREEMPT_RT: times of softirqs are rough')
    worst = 'CPU %d is busiest with interrupts: %s' % (advice.before[0], percent(*advice.before[1:]))
    helpless = advice.helpless()
    if not advice.moves:
        reason = 'no interrupt is heavy' if max(map(m.load, m.rows), default=0) < HEAVY * SECOND else 'the planner moves nothing'
        lines.append('Nothing to do: %s. %s; overhead %.2f %%' % (reason, worst, 100 * m.overhead))
        if not helpless:
            return lines[-1:] if not t.lost and state != 'on' else lines
    else:
        lines.append('Yes, it would help. %s, as planned CPU %d: %s; gain %s' % (
            worst, advice.after[0], percent(*advice.after[1:]), percent(advice.gain, advice.error)))
        for irq, old, new, why in advice.moves[:10]:
            lines.append('  move %d (%s) from CPU %d to %d: %s, %.1f %%' % (
                irq, machine.irqs[irq]['name'], old, new, why, 100 * m.load(irq) / SECOND))
        if len(advice.moves) > 10:
            lines.append('  and %d more: --json' % (len(advice.moves) - 10))

    def mean(values):
        return sum(values) / len(values) / SECOND * 100
    busy = sorted(machine.cpus, key=lambda c: (-mean(advice.now[c]) - mean(advice.planned[c]), c))[:8]
    lines += ['', 'cpu      ' + ''.join('%7d' % c for c in busy) + ('  ...' if len(machine.cpus) > 8 else '')]
    for word, values in (('irq %', {c: mean(advice.now[c]) for c in busy}), ('planned', {c: mean(advice.planned[c]) for c in busy}),
                         ('task %', {c: m.tasks[c] / SECOND * 100 for c in busy}), ('steal %', {c: m.steal[c] / SECOND * 100 for c in busy})):
        lines.append('%-9s' % word + ''.join('%7.1f' % values[c] for c in busy))
    cells = [('irq', 'name', 'cpu%', 'hard', 'soft', 'thread', 'on', 'mask', 'by')]
    for irq in advice.heaviest()[:10]:
        row, part = machine.irqs[irq], m.rows[irq]
        mask = cpulist(row['mask'])
        cells.append(('%d' % irq, row['name'][:24], *('%.2f' % (100 * x) for x in (sum(part.values()), part['hard'], part['soft'], part['thread'])),
                      '%d' % row['cpu'], mask if len(mask) < 16 else mask[:13] + '...', row['why']))
    sizes = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines += [''] + [' '.join(c.ljust(n) if i in (1, 7, 8) else c.rjust(n) for i, (c, n) in enumerate(zip(row, sizes))).rstrip() for row in cells]
    if helpless:
        lines += ['', 'It cannot help:']
        for _, _, text, commands in helpless[:8]:
            lines += ['  ' + text] + ['    ' + command for command in commands]
    return [printable(line) for line in lines]


def record(advice, pressure):
    """The answer as an object for --json."""
    m, t = advice.measured, advice.measured.trace

    def mean(values):
        return int(sum(values) / len(values))

    def side(worst):
        return dict(zip(('cpu', 'share', 'error'), worst))
    return {
        'format': FORMAT, 'time': round(time.time(), 3), 'seconds': t.seconds, 'traced_seconds': t.traced, 'events_per_s': int(m.events),
        'event_ns': m.cost, 'overhead': m.overhead, 'lost_windows': t.lost, 'pressure_irq': pressure, 'help': bool(advice.moves),
        'now': side(advice.before), 'planned': side(advice.after), 'gain': advice.gain, 'gain_error': advice.error,
        'moves': [dict(zip(('irq', 'from', 'to', 'reason'), move)) for move in advice.moves],
        'cannot_help': [dict(zip(('why', 'irq', 'text', 'commands'), row)) for row in advice.helpless()],
        'cpus': [{'cpu': cpu, 'load_ns_per_s': mean(advice.now[cpu]), 'planned_ns_per_s': mean(advice.planned[cpu]),
                  'base_ns_per_s': mean([base.get(cpu, 0) for _, base in m.bins]), 'tasks_ns_per_s': m.tasks[cpu],
                  'steal_ns_per_s': m.steal[cpu]} for cpu in sorted(advice.machine.cpus)],
        'irqs': [{'irq': irq, 'name': row['name'], 'chip': row['chip'], 'cpu': row['cpu'], 'mask': cpulist(row['mask']), 'mask_by': row['why'],
                  **{part + '_ns_per_s': int(m.rows[irq][part] * SECOND) for part in ('hard', 'soft', 'thread')}}
                 for irq in advice.heaviest() for row in (advice.machine.irqs[irq],)]}


def run(seconds, as_json=False, out=None, sysfs='/sys', procfs='/proc'):
    program = os.environ.get('REPLAY') or os.path.join(os.path.dirname(os.path.abspath(__file__)), 'replay')
    if not os.access(program, os.X_OK):
        raise Refused('%s is not built: make -C %s replay' % (program, os.path.dirname(program)))
    machine = Machine(sysfs, procfs)
    threads = machine.threads()
    with tracetimes.Tracer(sysfs, bool(threads)) as tracer:
        counts, before = machine.counts(), machine.times()
        trace = tracetimes.Trace(tracer, seconds)
        after, threads = machine.times(), {**threads, **machine.threads()}
        counts = {irq: n - counts.get(irq, 0) for irq, n in machine.counts().items()}
    measured = Measured(machine, trace, trace.parse(tracer.format, threads), before, after, counts)
    pressure = re.search('^full (.*)', read(procfs + '/pressure/irq') or '', re.M)
    advice, pressure = Advice(measured, program), pressure[1] if pressure else None
    text = [json.dumps(record(advice, pressure), separators=(',', ':'))] if as_json else page(advice, pressure)
    if out is not None:
        with open(out, 'w', encoding='utf-8') as file:
            file.write(measured.workload())
    sys.stdout.write('\n'.join(text) + '\n')
    sys.stdout.flush()
