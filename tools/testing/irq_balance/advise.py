# SPDX-License-Identifier: GPL-2.0
"""irqload --advise: would the balancer help this machine?

tracetimes.py measures the CPU time of each interrupt, on kernels that do not have the balancer,
too. Where it is and measures, its load map is read instead. Or the events are in a text that was
recorded elsewhere (tracetext.py). This file adds the rest of a workload for replay from /sys and
/proc: the topology, the masks, the load of tasks. replay runs the kernel's own planner on it. The answer compares the load of the busiest CPU as measured with
that of the same loads where the planner put them, and lists what no move can help:

  saturated   one interrupt takes FULL of a CPU: divide it (RPS, queues, threaded NAPI)
  driver      the driver wrote a mask of one CPU (it is affinity_hint, too): widen it
  user        a user or a daemon did, or a driver without a hint
  fixed       the kernel refuses a mask (smp_affinity is read-only), 8259A
  managed     the core has placed it, one for each CPU or group of CPUs

The loads are measured in up to BINS parts. They change from part to part, and this is where
the errors come from: twice the standard error of the mean.
"""
import array
import collections
import errno
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
import warnings

import irqload
import tracetext
import tracetimes
from record import cpulist
from tracetimes import Refused, cpus_of, read

FORMAT = 'irqload advise 1'
BINS = 10
HEAVY, FULL = 0.02, 0.8
SECOND = 10 ** 9
# CPUs in a picture, at most
DRAWN = 64
# By the kernel's word, what the balancer does not move
STAY = {'managed': 'managed', **dict.fromkeys(('chained', 'nmi', 'nested', 'per-cpu', 'no-balancing', 'no-affinity', 'forwarded', 'chip',
                                               'banned'), 'fixed')}


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
        self.sysfs, self.procfs, self.release = sysfs, procfs, os.uname().release
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
            listed = read(proc + 'smp_affinity_list')
            mask = set(self.default) if listed is None else set(cpus_of(listed)) & set(self.online)
            at = cpus_of(read(proc + 'effective_affinity_list'))
            at = at[0] if at and at[0] in self.cpus else min(mask or self.online)
            row = {'name': name, 'chip': (read(path + 'chip_name') or '').strip(), 'cpu': at, 'mask': mask | {at},
                   'node': integer(read(proc + 'node'), -1), 'alone': len(mask | {at}) == 1}
            row['why'] = 'unknown' if listed is None else self.why(irq, row, proc)
            found[irq] = row
        return found

    def why(self, irq, row, proc):
        """The reason that an interrupt has its mask."""
        try:
            writable = os.stat(proc + 'smp_affinity').st_mode & stat.S_IWUSR
            # Before 6.12 all are writable: what is no mask is refused with EINVAL, or sooner if no mask is taken
            if writable and self.procfs == '/proc' and os.geteuid() == 0:
                with open(proc + 'smp_affinity', 'wb', buffering=0) as file:
                    file.write(b'x')
        except OSError as error:
            writable = error.errno in (errno.EINVAL, errno.EROFS, errno.EACCES)
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

    def devices(self):
        return sorted(self.names(self.sysfs + '/class/net'))

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


class Traced(Machine):
    """Another machine, by its trace: each CPU is a core of one package, and takes all interrupts."""

    def __init__(self, text):
        self.sysfs = self.procfs = os.devnull
        self.nics, self.release, self.isolated, self.online, self.default = sorted(text.devices), 'unknown', set(), list(text.online), set(text.online)
        self.cpus = {cpu: {'node': -1, 'package': 0, 'core': cpu, 'llc': 0, 'capacity': 1024} for cpu in text.online}
        self.irqs = {irq: {'name': name, 'chip': '', 'cpu': 0, 'mask': set(text.online), 'node': -1, 'why': 'unknown'}
                     for irq, name in sorted(text.names.items())}

    def devices(self):
        return self.nics

    def candidates(self, device):
        """By their names: eth0-rx-1."""
        return {irq for irq, row in self.irqs.items() if device in re.findall(r'[\w.]+', row['name'])}


class Workload:
    """A machine and what it did: load[bin][irq] and base[bin][cpu] in ns/s on a CPU of capacity 1024."""

    def __init__(self, machine, seconds, before, after):
        self.machine, self.seconds, self.bins, self.rows = machine, seconds, [], {}
        self.tasks, self.steal, self.known, self.notes = {}, {}, bool(after), []
        for cpu in machine.cpus:
            old, new = before.get(cpu, (0, 0)), after.get(cpu, (0, 0))
            self.tasks[cpu], self.steal[cpu] = (min(SECOND, max(0, int((b - a) / seconds))) for a, b in zip(old, new))

    def row(self, irq):
        return self.rows.setdefault(irq, {'hard': 0, 'soft': 0, 'thread': 0})

    def at(self, irq, cpu):
        """A chip may deliver to several CPUs, and show all of them."""
        self.machine.irqs[irq]['cpu'] = cpu
        self.machine.irqs[irq]['mask'] |= {cpu}

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
        machine = self.machine
        out = ['# Measured by irqload --advise on %s, Linux %s: %s' % (time.strftime('%Y-%m-%d'), machine.release, self.how)]
        for cpu, c in sorted(machine.cpus.items()):
            out.append('cpu %d node %d package %d llc %d core %d capacity %d%s' % (
                cpu, c['node'], c['package'], c['llc'], c['core'], c['capacity'], ' isolated' if cpu in machine.isolated else ''))
        known = [irq for irq in machine.irqs if irq in self.rows]
        for irq in known:
            row = machine.irqs[irq]
            mask = machine.default | {row['cpu']} if irq in widened else row['mask']
            flag = {'managed': ' managed', 'fixed': ' pinned'}.get(row['why'], '')
            if len(mask) == 1 or row['why'] == 'driver' and row['alone'] and irq not in widened:
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


class Measured(Workload):
    """By the events of a trace."""

    def __init__(self, machine, trace, accounts, before, after, counts):
        super().__init__(machine, trace.seconds, before, after)
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
        ran, several = collections.Counter(), collections.Counter()
        for window in accounts.sums:
            times = collections.Counter(key for sums in window.values() for kind, key in sums if kind == 'hard')
            ran.update(times.keys())
            several.update(irq for irq, cpus in times.items() if cpus > 2)
        # On several CPUs at a time: a timer or an IPI of each CPU
        percpu = {irq for irq in ran if 2 * several[irq] > ran[irq]}
        cost, where = accounts.event_ns(), {}
        for _, (length, sums) in sorted(parts.items()):
            load, base = {}, {}
            for (cpu, (kind, key)), (ns, events) in sums.items():
                rate = max(0, ns - cost * events) * SECOND / length
                irq = used.get(key) if kind == 'napi' else key
                if kind == 'base' or irq in percpu or irq not in machine.irqs or cpu not in machine.cpus:
                    base[cpu] = base.get(cpu, 0) + rate
                    continue
                load[irq] = load.get(irq, 0) + rate * machine.cpus[cpu]['capacity'] / 1024
                self.row(irq)[{'napi': 'soft'}.get(kind, kind)] += max(0, ns - cost * events) / trace.traced / 1e9
                where.setdefault(irq, {}).setdefault(cpu, 0)
                where[irq][cpu] += rate
            self.bins.append((load, base))
        for irq, cpus in where.items():
            self.at(irq, max(cpus, key=lambda cpu: (cpus[cpu], -cpu)))
        self.overhead = (accounts.seen * cost / 1e9 + trace.own) / trace.seconds
        events = accounts.seen * 1e9 / sum(end - begin for begin, end, *_ in trace.windows)
        self.figures = {'source': 'trace', 'traced_seconds': trace.traced, 'events_per_s': int(events), 'event_ns': cost,
                        'lost_windows': trace.lost}
        self.how = 'traced %.0f %% of the time, %.0f events/s of %d ns' % (100 * trace.traced / trace.seconds, events, cost)
        if trace.traced < trace.seconds / 2:
            self.notes.append('Events are frequent: this is a sample of %.2f s' % trace.traced)
        if trace.lost:
            self.notes.append('%d of %d windows lost events and were left out' % (trace.lost, trace.lost + len(trace.windows)))

    def fallback(self, counts):
        irqs = self.machine.irqs

        def most(device, taken):
            own = self.machine.candidates(device) - taken
            return max(own, key=lambda irq: (counts.get(irq, 0), -irq), default=None)
        return most if irqs else lambda device, taken: None


class Mapped(Workload):
    """By the load map of a kernel with the balancer: RECORDS are those of irqload."""

    def __init__(self, machine, records, before, after, own):
        super().__init__(machine, sum(record['seconds'] for record in records), before, after)
        for record in records:
            load = {}
            for row in record['irqs']:
                irq, cpus = row['irq'], [cpu for cpu in cpus_of(row['cpus']) if cpu in machine.cpus]
                if irq not in machine.irqs or not row['ns'] or row['hard_ns'] is None:
                    continue
                self.at(irq, cpus[0] if cpus else machine.irqs[irq]['cpu'])
                if row.get('status') in STAY:
                    machine.irqs[irq]['why'] = STAY[row['status']]
                load[irq] = row['ns'] / row['seconds'] * machine.cpus[machine.irqs[irq]['cpu']]['capacity'] / 1024
                for part in 'hard', 'soft', 'thread':
                    self.row(irq)[part] += row[part + '_ns'] / self.seconds / 1e9
            self.bins.append((load, {cpu['cpu']: cpu['base_ns_per_s'] for cpu in record['cpus'] if cpu['cpu'] in machine.cpus}))
        self.overhead, self.how = own / self.seconds, "read from the balancer's load map"
        self.figures = {'source': 'map', 'traced_seconds': 0.0, 'events_per_s': 0, 'event_ns': 0, 'lost_windows': 0}


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
        wide = [irq for irq in measured.rows if self.machine.irqs[irq]['why'] == 'driver' and
                self.machine.irqs[irq]['alone'] and measured.load(irq) >= HEAVY * SECOND]
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
            elif load >= HEAVY * SECOND and row['why'] == 'fixed' and 'XT-PIC' not in row['chip']:
                found.append(('fixed', irq, 'interrupt %d (%s) cannot be moved' % (irq, row['name']), []))
            elif load >= HEAVY * SECOND and row['why'] == 'user' and len(row['mask']) == 1:
                found.append(('user', irq, 'interrupt %d (%s) has a mask of CPU %d: by hand, by the irqbalance daemon or by its driver' % (
                    irq, row['name'], row['cpu']), [self.widen([irq])]))
        if self.widened:
            found.append(('driver', None, 'masks of one CPU that drivers wrote: widened, the gain is %s (to keep them wide: irq-balance.rst, '
                          '"Drivers that write masks")' % percent(self.widened['gain'], self.widened['error']), [self.widen(self.widened['irqs'])]))
        if any('XT-PIC' in self.machine.irqs[irq]['chip'] for irq in m.rows):
            found.append(('order', None, 'XT-PIC: none of these interrupts can be moved, but which is served first can be chosen '
                          '(i8259-priority.rst)', ['pic-order --measure --apply']))
        base = sum(base.get(self.before[0], 0) for _, base in m.bins) / len(m.bins) / SECOND
        if base >= 0.1 and base >= self.before[1] / 4:
            found.append(('base', None, '%.0f %% of CPU %d are softirqs that no interrupt raised (timers, RCU, RPS)' % (
                100 * base, self.before[0]), []))
        return found

    def widen(self, irqs):
        """The command that gives interrupts the default mask."""
        line = 'echo %s > /proc/irq/%%s/smp_affinity_list' % cpulist(self.machine.default)
        return line % irqs[0] if len(irqs) == 1 else 'for n in %s; do %s; done' % (' '.join(map(str, sorted(irqs))), line % '$n')

    def divide(self, irq, row):
        """Commands that divide the work of an interrupt of a network device."""
        device = next((d for d in self.machine.devices() if irq in self.machine.candidates(d)), None)
        if not device:
            return []
        path, commands, seen = '%s/class/net/%s/' % (self.machine.sysfs, device), [], self.machine.sysfs != os.devnull
        rx = sorted(int(n[3:]) for n in self.machine.names(path + 'queues') if re.fullmatch('rx-[0-9]+', n))
        quoted = "'%s'" % device if re.search(r'[^\w.-]', device) else device
        kind, most, now = channels(device) if self.machine.sysfs == '/sys' else ('', 0, 0)
        want = min(most, len(self.machine.cpus))
        if want > now:
            commands.append('ethtool -L %s %s %d' % (quoted, kind, want))
        others = set(self.machine.cpus) - self.machine.isolated - {row['cpu']}
        number = re.search(r'([0-9]+)(?:@.*)?$', row['name'])
        queue = int(number[1]) if number and (int(number[1]) in rx or not seen) else rx[0] if rx else 0
        if others and (rx or not seen):
            commands.append('echo %s > /sys/class/net/%s/queues/rx-%d/rps_cpus' % (hexmask(others), quoted, queue))
        if os.path.exists(path + 'threaded') or not seen:
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
    lines = ['%.1f s, %d interrupts of %d CPUs; %s; overhead %.2f %% of a CPU' % (
        m.seconds, len(m.rows), len(machine.cpus), m.how, 100 * m.overhead)] + m.notes
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
            return lines[-1:] if not m.notes and state != 'on' else lines
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
    rows = [('irq %', {c: mean(advice.now[c]) for c in busy}), ('planned', {c: mean(advice.planned[c]) for c in busy})]
    if m.known:
        rows += [('task %', {c: m.tasks[c] / SECOND * 100 for c in busy}), ('steal %', {c: m.steal[c] / SECOND * 100 for c in busy})]
    for word, values in rows:
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
    m = advice.measured

    def mean(values):
        return int(sum(values) / len(values))

    def side(worst):
        return dict(zip(('cpu', 'share', 'error'), worst))
    return {
        'format': FORMAT, 'time': round(time.time(), 3), 'seconds': m.seconds, **m.figures, 'overhead': m.overhead, 'notes': m.notes,
        'pressure_irq': pressure, 'help': bool(advice.moves),
        'now': side(advice.before), 'planned': side(advice.after), 'gain': advice.gain, 'gain_error': advice.error,
        'moves': [dict(zip(('irq', 'from', 'to', 'reason'), move)) for move in advice.moves],
        'cannot_help': [dict(zip(('why', 'irq', 'text', 'commands'), row)) for row in advice.helpless()],
        'cpus': [{'cpu': cpu, 'load_ns_per_s': mean(advice.now[cpu]), 'planned_ns_per_s': mean(advice.planned[cpu]),
                  'base_ns_per_s': mean([base.get(cpu, 0) for _, base in m.bins]), 'tasks_ns_per_s': m.tasks[cpu] if m.known else None,
                  'steal_ns_per_s': m.steal[cpu] if m.known else None} for cpu in sorted(advice.machine.cpus)],
        'irqs': [{'irq': irq, 'name': row['name'], 'chip': row['chip'], 'cpu': row['cpu'], 'mask': cpulist(row['mask']), 'mask_by': row['why'],
                  **{part + '_ns_per_s': int(m.rows[irq][part] * SECOND) for part in ('hard', 'soft', 'thread')}}
                 for irq in advice.heaviest() for row in (advice.machine.irqs[irq],)]}


def draw(advice, out):
    """The load of each CPU by interrupts, now and as planned."""
    import matplotlib
    matplotlib.rcParams['svg.hashsalt'] = 'irqload'
    import matplotlib.pyplot as plt

    m, machine = advice.measured, advice.machine
    shown = sorted(machine.cpus, key=lambda c: (-max(sum(advice.now[c]), sum(advice.planned[c])), c))[:DRAWN]
    shown = {cpu: n for n, cpu in enumerate(sorted(shown))}
    heavy = advice.heaviest()[:9]
    labels = {irq: printable('%d %s' % (irq, machine.irqs[irq]['name'][:20])).replace('$', r'\$') for irq in heavy}
    labels.update(others='other interrupts', base='no interrupt')
    colors = dict(zip(labels, [*plt.get_cmap('tab10').colors[:len(heavy)], '#555555', '#c8c8c8']))
    figure, axes = plt.subplots(1, 2, sharey=True, figsize=(max(9, min(20, 4 + 0.4 * len(shown))), 4.6), constrained_layout=True)
    sides = ('now', advice.place, advice.before), ('as planned', advice.planned_place, advice.after)
    for axis, (title, place, worst) in zip(axes, sides):
        piles = {key: [0.0] * len(shown) for key in labels}
        for load, base in m.bins:
            for irq, value in load.items():
                if place[irq] in shown:
                    piles[irq if irq in labels else 'others'][shown[place[irq]]] += value * 1024 / machine.cpus[place[irq]]['capacity']
            for cpu in set(base) & set(shown):
                piles['base'][shown[cpu]] += base[cpu]
        bottom = [0.0] * len(shown)
        for key, pile in piles.items():
            values = [value * 100 / SECOND / len(m.bins) for value in pile]
            axis.bar(range(len(shown)), values, 0.8, bottom, label=labels[key], color=colors[key])
            bottom = [a + b for a, b in zip(bottom, values)]
        step = -(-len(shown) // 16)
        axis.set(title='%s: at most %.1f %% (CPU %d)' % (title, 100 * worst[1], worst[0]), xlabel='CPU', xlim=(-1, len(shown)))
        axis.set_xticks(list(shown.values())[::step])
        axis.set_xticklabels(list(shown)[::step])
    axes[0].set_ylabel('% of the CPU')
    handles, names = axes[1].get_legend_handles_labels()
    axes[1].legend(handles[::-1], names[::-1], loc='upper left', bbox_to_anchor=(1, 1), fontsize=8)
    if len(machine.cpus) > DRAWN:
        figure.suptitle('the %d busiest of %d CPUs' % (DRAWN, len(machine.cpus)), fontsize=9)
    try:
        with warnings.catch_warnings():
            # A font that lacks a letter draws a box
            warnings.simplefilter('ignore')
            figure.savefig(out, metadata={'Date': None} if out.endswith('.svg') else {})
    except OSError as error:
        raise Refused('%s: %s' % (out, error.strerror)) from None
    plt.close(figure)


def measure(seconds, sysfs='/sys', procfs='/proc'):
    """The workload of this machine."""
    machine = Machine(sysfs, procfs)
    source = irqload.Source(sysfs, procfs)
    if source.state() in ('on', 'observe') and source.times() is not None:
        before, cpu = machine.times(), time.process_time()
        records = list(irqload.measured(source, seconds / BINS, BINS, time.sleep))
        return Mapped(Machine(sysfs, procfs), records, before, machine.times(), time.process_time() - cpu)
    threads = machine.threads()
    with tracetimes.Tracer(sysfs, bool(threads)) as tracer:
        counts, before = machine.counts(), machine.times()
        trace = tracetimes.Trace(tracer, seconds)
        after, threads = machine.times(), {**threads, **machine.threads()}
        counts = {irq: n - counts.get(irq, 0) for irq, n in machine.counts().items()}
    return Measured(machine, trace, trace.parse(tracer.format, threads), before, after, counts)


def recorded(text, sysfs=None, procfs=None):
    """The workload of a text; the rest of what is known of the machine may be saved in SYSFS and PROCFS."""
    machine = Machine(sysfs, procfs or os.devnull) if sysfs else Traced(text)
    machine.release = 'unknown'
    strange = sorted(set(text.cpus) - set(machine.cpus))
    if strange:
        raise Refused('%s has events of CPU %d, which is not online in %s' % (text.where, strange[0], sysfs))
    measured = Measured(machine, text, text.parse(), {}, {}, text.counts())
    measured.figures['source'] = 'text'
    unknown = text.unknown() + ['no load of tasks'] + ([] if sysfs else ['no topology (--sysfs)']) + (
        [] if sysfs and procfs else ['no masks (--sysfs, --procfs)'])
    measured.notes.append('Not known from the text: ' + '; '.join(unknown))
    return measured


def run(seconds, as_json=False, out=None, sysfs=None, procfs=None, text=None, picture=None):
    program = os.environ.get('REPLAY') or os.path.join(os.path.dirname(os.path.abspath(__file__)), 'replay')
    if not os.access(program, os.X_OK):
        raise Refused('%s is not built: make -C %s replay' % (program, os.path.dirname(program)))
    if text is None:
        measured = measure(seconds, sysfs or '/sys', procfs or '/proc')
    else:
        measured = recorded(tracetext.load(text), sysfs, procfs)
    pressure = re.search('^full (.*)', read(measured.machine.procfs + '/pressure/irq') or '', re.M)
    advice, pressure = Advice(measured, program), pressure[1] if pressure else None
    lines = [json.dumps(record(advice, pressure), separators=(',', ':'))] if as_json else page(advice, pressure)
    if picture is not None:
        draw(advice, picture)
    if out is not None:
        with open(out, 'w', encoding='utf-8') as file:
            file.write(measured.workload())
    sys.stdout.write('\n'.join(lines) + '\n')
    sys.stdout.flush()
