# SPDX-License-Identifier: GPL-2.0
"""The load of a machine as a workload for replay

tracetimes.py measures the CPU time of each interrupt, on kernels that do not have the balancer,
too. Where it is and measures, its load map is read instead. Or the events are in a text that was
recorded elsewhere (tracetext.py). machine.py has the rest: the topology, the masks, the load of tasks.
The loads are measured in up to BINS parts. They change from part to part, and this is where the
errors come from.
"""
import collections
import os
import time

import loadmap
import tracetimes
from boards import IPI_NS, redirects
from common import Failure, cpulist, cpus_of
from machine import Machine, SECOND, Traced

BINS = 10


class Workload:
    """A machine and what it did: load[bin][irq] and base[bin][cpu] in ns/s on a CPU of capacity 1024."""

    def __init__(self, machine, seconds, before, after):
        self.machine, self.seconds, self.bins, self.rows = machine, seconds, [], {}
        self.tasks, self.steal, self.known, self.notes, self.tolls = {}, {}, bool(after), [], {}
        for cpu in machine.cpus:
            old, new = before.get(cpu, (0, 0)), after.get(cpu, (0, 0))
            self.tasks[cpu], self.steal[cpu] = (min(SECOND, max(0, int((b - a) / seconds))) for a, b in zip(old, new))

    def row(self, irq):
        return self.rows.setdefault(irq, {'hard': 0, 'soft': 0, 'thread': 0})

    def at(self, irq, cpu):
        """A chip may deliver to several CPUs, and show all of them."""
        self.machine.irqs[irq]['cpu'] = cpu
        self.machine.irqs[irq]['mask'] |= {cpu}

    def count(self, counts):
        """COUNTS are {irq: interrupts in this time}, which cost something where they are passed on."""
        self.tolls = {irq: min(SECOND, int(n * IPI_NS / self.seconds)) for irq, n in counts.items()
                      if n and irq in self.machine.irqs and redirects(self.machine.irqs[irq])}

    def load(self, irq):
        return sum(load.get(irq, 0) for load, _ in self.bins) / len(self.bins)

    def cpu_loads(self, place):
        """{cpu: its load in each bin} if interrupts are where PLACE says, and have tolls where they have moved."""
        found = {cpu: [base.get(cpu, 0) for _, base in self.bins] for cpu in self.machine.cpus}
        for number, (load, _) in enumerate(self.bins):
            for irq, value in load.items():
                cpu = place[irq]
                found[cpu][number] += value * 1024 / self.machine.cpus[cpu]['capacity']
                found[cpu][number] += self.tolls.get(irq, 0) if cpu != self.machine.irqs[irq]['cpu'] else 0
        return found

    def workload(self, widened=()):
        """Text for replay; interrupts that are WIDENED have the default mask."""
        machine = self.machine
        out = ['# Measured by irqload on %s, Linux %s: %s' % (time.strftime('%Y-%m-%d'), machine.release, self.how)]
        for cpu, c in sorted(machine.cpus.items()):
            out.append('cpu %d node %d package %d llc %d core %d capacity %d%s' % (
                cpu, c['node'], c['package'], c['llc'], c['core'], c['capacity'], ' isolated' if cpu in machine.isolated else ''))
        known = [irq for irq in machine.irqs if irq in self.rows]
        for irq in known:
            row = machine.irqs[irq]
            mask = machine.default | {row['cpu']} if irq in widened else row['mask']
            flag = {'managed': ' managed', 'fixed': ' pinned', 'bridge': ' pinned'}.get(row['why'], '')
            if len(mask) == 1 or row['why'] == 'driver' and row['alone'] and irq not in widened:
                flag = flag or ' pinned'
            out.append('irq %d node %d mask %s at %d%s' % (irq, row['node'], cpulist(mask), row['cpu'], flag))
        for number in range(max(BINS, len(self.bins))):
            load, base = self.bins[number % len(self.bins)]
            out.append('epoch %d' % (1000 * number))
            if not number:
                out += ['tasks %d %d' % (cpu, ns) for cpu, ns in sorted(self.tasks.items()) if ns]
                out += ['toll %d %d' % (irq, self.tolls[irq]) for irq in known if self.tolls.get(irq)]
            out += ['load %d %d' % (irq, min(2 ** 33 - 1, load.get(irq, 0))) for irq in known]
            out += ['base %d %d' % (cpu, min(SECOND, base.get(cpu, 0))) for cpu in machine.cpus
                    if base.get(cpu, 0) or number]
        return '\n'.join(out + ['end %d' % (1000 * max(BINS, len(self.bins)))]) + '\n'


class Measured(Workload):
    """By the events of a trace."""

    def __init__(self, machine, trace, accounts, before, after, counts):
        super().__init__(machine, trace.seconds, before, after)
        used = tracetimes.owners(accounts, machine.candidates, self.fallback(counts))
        # {irq: the network device that it polls}
        machine.polled = {irq: accounts.devices[napi] for napi, irq in sorted(used.items())}
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
        machine.judge()
        self.count(counts)
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
    """By the load map of a kernel with the balancer: RECORDS are loadmap's."""

    def __init__(self, machine, records, before, after, own):
        super().__init__(machine, sum(record['seconds'] for record in records), before, after)
        counts = {}
        for record in records:
            load = {}
            for row in record['irqs']:
                irq, cpus = row['irq'], [cpu for cpu in cpus_of(row['cpus']) if cpu in machine.cpus]
                if irq not in machine.irqs or not row['ns'] or row['hard_ns'] is None:
                    continue
                self.at(irq, cpus[0] if cpus else machine.irqs[irq]['cpu'])
                machine.irqs[irq]['status'] = row.get('status', '')
                counts[irq] = counts.get(irq, 0) + row['count']
                load[irq] = row['ns'] / row['seconds'] * machine.cpus[machine.irqs[irq]['cpu']]['capacity'] / 1024
                for part in 'hard', 'soft', 'thread':
                    self.row(irq)[part] += row[part + '_ns'] / self.seconds / 1e9
            self.bins.append((load, {cpu['cpu']: cpu['base_ns_per_s'] for cpu in record['cpus'] if cpu['cpu'] in machine.cpus}))
        machine.judge()
        self.count(counts)
        self.overhead, self.how = own / self.seconds, "read from the balancer's load map"
        self.figures = {'source': 'map', 'traced_seconds': 0.0, 'events_per_s': 0, 'event_ns': 0, 'lost_windows': 0}


def measure(seconds, sysfs='/sys', procfs='/proc'):
    """The workload of this machine."""
    machine = Machine(sysfs, procfs)
    source = loadmap.Source(sysfs, procfs)
    if source.state() in ('on', 'observe') and source.times() is not None:
        before, cpu = machine.times(), time.process_time()
        records = list(loadmap.measured(source, seconds / BINS, BINS, time.sleep))
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
    machine.release, machine.nics = 'unknown', [name for name in sorted(text.devices) if '#' not in name]
    strange = sorted(set(text.cpus) - set(machine.cpus))
    if strange:
        raise Failure('%s has events of CPU %d, which is not online in %s' % (text.where, strange[0], sysfs))
    measured = Measured(machine, text, text.parse(), {}, {}, text.counts())
    measured.figures['source'] = 'text'
    unknown = text.unknown() + ['no load of tasks'] + ([] if sysfs else ['no topology (--sysfs)']) + (
        [] if sysfs and procfs else ['no masks (--sysfs, --procfs)'])
    measured.notes.append('Not known from the text: ' + '; '.join(unknown))
    return measured
