# SPDX-License-Identifier: GPL-2.0
"""CPU time of each interrupt from tracepoints that every kernel has since 5.10

The tracepoints of interrupts, softirqs and NAPI polls are recorded in a trace instance of
its own, in windows: tracing is on for some ms, then off while its buffers are read. If
events are frequent, there are pauses between windows, so that all of them have at most
BUDGET bytes: a sample of a busy machine. Events are read after the last window.

softirq_raise may come once for each packet, and slow down what is measured. So it is recorded
in the first LEARN of the time only, and the windows in it are not timed: they show which softirqs
a handler or a poll raises.

Each CPU is a stack: a handler interrupts a softirq, which interrupts a task. The time
of each level is without that of the levels above it, and is charged to

  hard     the interrupt of the handler
  thread   the interrupt of the thread (its sched_switch events are recorded)
  napi     an instance, see owners(), for the time before its napi_poll event in NET_RX
  soft     the interrupt whose handler raises this softirq and ran before it
  base     the CPU: timers, RCU, and what no interrupt has raised

An event is written inside of what it measures. Two softirqs in a row, for example, have nothing
between them but one event, so the shortest gaps are the cost of an event. It is taken off. The core's
own work around a handler is outside of its events, and the scheduler's inside of those of a thread.
Other than the load map's, they are estimates: so many times the cost of an event.
"""
import collections
import errno
import os
import re
import struct
import sys
import time

from common import Failure, read
from instance import Instance

BUDGET = 32 << 20
LEARN = 0.1
# A handler is taken to raise a softirq if it does so in at least this part of its runs
OFTEN = 0.05
# In costs of an event, of 615 instructions in a guest with --icount where they were measured: the
# core's work around a handler, waking its thread, and the scheduler's around a run of the thread
CORE, WAKE, SWITCHED = 0.3, 0.9, 3.7
NET_RX = 3
# HI, NET_TX, NET_RX, BLOCK, IRQ_POLL, TASKLET: the others are work of the CPU itself
RAISED = {0, 2, 3, 4, 5, 6}
EVENTS = {'irq/irq_handler_entry': 'irq', 'irq/irq_handler_exit': 'irq', 'irq/softirq_entry': 'vec',
          'irq/softirq_exit': 'vec', 'irq/softirq_raise': 'vec', 'napi/napi_poll': 'napi', 'sched/sched_switch': 'prev_pid'}
ORDER = sys.byteorder
(ENTRY, EXIT, SOFT_ENTRY, SOFT_EXIT, RAISE, POLL, SWITCH) = range(7)
# Pairs of events with little between them, neither of which may come while another is written
TIGHT = {(ENTRY, EXIT), (RAISE, EXIT), (SOFT_ENTRY, SOFT_EXIT), (POLL, SOFT_EXIT), (SOFT_EXIT, SOFT_ENTRY)}


class Format:
    """Where the fields of events are, as a kernel describes it."""

    def __init__(self, top):
        self.kinds, self.top = {}, top
        for kind, (name, field) in enumerate(EVENTS.items()):
            fields, number = self.fields('events/%s/format' % name), read('%s/events/%s/id' % (top, name))
            # Without network there is no NAPI
            if kind == POLL and number is None:
                continue
            try:
                extra = {POLL: 'dev_name', SWITCH: 'next_pid'}.get(kind, field)
                self.kinds[int(number)] = (kind, fields[field], fields[extra][0])
            except (KeyError, TypeError, ValueError):
                raise Failure('no tracepoint %s in %s: the kernel needs CONFIG_FTRACE' % (name, top)) from None
        page = self.fields('events/header_page')
        try:
            self.data, size = page['data']
            self.commit = page['commit']
        except KeyError:
            raise Failure('cannot read %s/events/header_page: the format of pages is not known' % top) from None
        self.page = self.data + size

    def fields(self, name):
        """{field: (offset, size)}"""
        return {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(
            r'field:[^;]*?(\w+)(?:\[\w*\])?;\s*offset:(\d+);\s*size:(\d+);', read('%s/%s' % (self.top, name)) or '')}

    def lost(self, page):
        """Whether events before this page were overwritten."""
        return bool(self.length(page) >> 31)

    def length(self, page):
        offset, size = self.commit
        return int.from_bytes(page[offset:offset + size], ORDER) & 0xffffffff

    def events(self, page):
        """[(ns, kind, value, second value, pid)] of a page."""
        (now,) = struct.unpack_from('=Q', page, 0)
        at, end = self.data, min(len(page), self.data + (self.length(page) & 0x3fffffff))
        word, pair, kinds = struct.Struct('=I').unpack_from, struct.Struct('=Hxxi').unpack_from, self.kinds
        try:
            while at + 4 <= end:
                head = word(page, at)[0]
                kind, delta = (head & 31, head >> 5) if ORDER == 'little' else (head >> 27, head & 0x7ffffff)
                if kind == 29 and not delta:
                    break
                if kind == 29:
                    at += 4 + word(page, at + 4)[0]
                    continue
                if kind == 30:
                    now += delta + (word(page, at + 4)[0] << 27)
                    at += 8
                    continue
                if kind == 31:
                    now = (now & ~((1 << 59) - 1)) | delta + (word(page, at + 4)[0] << 27)
                    at += 8
                    continue
                now += delta
                start, at = (at + 4, at + 4 + 4 * kind) if kind else (at + 8, at + 4 + word(page, at + 4)[0])
                number, pid = pair(page, start)
                if number in kinds:
                    what, (offset, size), second = kinds[number]
                    value = int.from_bytes(page[start + offset:start + offset + size], ORDER)
                    other = word(page, start + second)[0]
                    if what == POLL:
                        begin = start + (other & 0xffff)
                        other = page[begin:begin + (other >> 16)].split(b'\0')[0].decode('utf-8', 'replace')
                    yield now, what, value, other, pid
        except struct.error:
            return


class Frame:
    """A level of a CPU's stack."""
    __slots__ = ('what', 'key', 'begin', 'since', 'nested', 'events', 'owners', 'raised', 'polled', 'last')

    def __init__(self, what, key, begin, owners=()):
        self.what, self.key, self.begin, self.since, self.nested, self.events = what, key, begin, begin, 0, 0
        # Those that have raised it, and softirqs that it raises; NAPI instances in their order
        self.owners, self.raised, self.polled, self.last = owners, [], [], None

    def take(self, now):
        """The time and the events since the last take()."""
        taken = max(0, now - self.since - self.nested), self.events
        self.since, self.nested, self.events = now, 0, 0
        return taken


class Accounts:
    """
    Charges events: sums[window][cpu][key] are [ns, events], a key is ('hard', 24). TORN are ends
    without a beginning, other than at the begin of a window.
    """

    def __init__(self, threads, unit=1):
        """UNIT is what an event of ftrace costs, in events of the trace."""
        self.threads, self.threaded, self.unit, self.resolution = threads, set(threads.values()), unit, 1
        self.sums, self.gaps, self.seen, self.torn, self.learning = [], collections.defaultdict(list), 0, 0, True
        self.runs, self.raises = collections.Counter(), collections.defaultdict(collections.Counter)
        self.devices, self.votes = {}, collections.defaultdict(collections.Counter)

    def window(self):
        self.sums.append({})

    def raised_by(self, key):
        """The softirqs that a handler or a poll raises."""
        return [vec for vec, times in self.raises[key].items() if times >= OFTEN * self.runs[key]]

    def cpu(self, cpu, events, begin, end):
        """The events of a CPU in the present window, which lasted from BEGIN to END."""
        sums = self.sums[-1].setdefault(cpu, {})
        learned = {}
        raisers, last, fresh = {}, None, True
        stack = [Frame('task', None, begin)]

        def charge(key, taken):
            row = sums.setdefault(key, [0, 0])
            row[0] += taken[0]
            row[1] += taken[1]

        def follow(key):
            """KEY has run, and raised its softirqs."""
            self.runs[key] += self.learning
            if key not in learned:
                learned[key] = self.raised_by(key)
            for vec in learned[key]:
                if key not in raisers.setdefault(vec, []):
                    raisers[vec].append(key)

        def settle(frame, now):
            """Charge what is left of a level that ends."""
            taken = frame.take(now)
            if frame.what != 'soft':
                if frame.key is not None:
                    charge((frame.what, frame.key), taken)
                    follow(('soft', frame.key))
                return
            keys = [frame.last] if frame.last else list(frame.owners)
            if not keys and frame.key in RAISED and stack[0].what == 'thread':
                keys = [('soft', stack[0].key)]
            for key in keys:
                charge(key, (taken[0] // len(keys), taken[1] / len(keys)))
            if not keys:
                charge(('base', cpu), taken)
            irqs, polled = [key[1] for key in frame.owners if key[0] == 'soft'], frame.polled
            if len(irqs) == len(polled):
                for irq, napi in zip(irqs, polled):
                    self.votes[napi][irq] += 2
            else:
                for irq in irqs:
                    for napi in polled:
                        self.votes[napi][irq] += 1 / len(irqs)

        def leave(now):
            frame = stack.pop()
            settle(frame, now)
            stack[-1].nested += now - frame.begin

        for now, what, value, other, pid in events:
            self.seen += 1
            if last is not None and (last[1], what) in TIGHT and len(self.gaps[last[1], what]) < 10000:
                self.gaps[last[1], what].append(now - last[0])
            last = now, what
            top = stack[-1]
            if fresh and len(stack) == 1 and top.what == 'task' and pid in self.threads:
                top.what, top.key = 'thread', self.threads[pid]
            if what == ENTRY:
                stack.append(Frame('hard', value, now))
            elif what == SOFT_ENTRY:
                fresh = False
                stack.append(Frame('soft', value, now, raisers.pop(value, ())))
            elif what in (EXIT, SOFT_EXIT):
                kind = 'hard' if what == EXIT else 'soft'
                # An end without a beginning began before the window
                if len(stack) == 1 and fresh and top.key is None:
                    stack.append(Frame(kind, value, top.since))
                    stack[-1].nested, top.nested = top.nested, 0
                self.torn += not any((f.what, f.key) == (kind, value) for f in stack[1:])
                while len(stack) > 1 and any((f.what, f.key) == (kind, value) for f in stack[1:]):
                    found = (stack[-1].what, stack[-1].key) == (kind, value)
                    leave(now)
                    if found:
                        break
                fresh = fresh and what == EXIT
            elif what == RAISE:
                if top.what in ('hard', 'thread') and value in RAISED:
                    self.raises['soft', top.key][value] += 1
                elif top.what == 'soft' and value in RAISED and value != NET_RX:
                    top.raised.append(value)
            elif what == POLL and (top.what, top.key) == ('soft', NET_RX):
                key = ('napi', value)
                # The backlog is work of the instance that was polled before
                if other in ('(no_device)', '') and top.last:
                    key = top.last
                elif other in ('(no_device)', ''):
                    key = top.owners[0] if len(top.owners) == 1 else ('base', cpu)
                else:
                    self.devices[value] = other
                    if value not in top.polled:
                        top.polled.append(value)
                charge(key, top.take(now))
                top.last = key
                self.raises[key].update(top.raised)
                top.raised = []
                if key[0] == 'napi':
                    follow(key)
            elif what == SWITCH and len(stack) == 1:
                if value in self.threads and fresh and top.key is None:
                    top.what, top.key = 'thread', self.threads[value]
                settle(top, now)
                stack[0] = Frame('thread', self.threads[other], now) if other in self.threads else Frame('task', None, now)
                fresh = False
            stack[-1].events += 1
            if what == ENTRY:
                stack[-1].events -= (CORE + (WAKE if value in self.threaded else 0)) * self.unit
            elif what == SWITCH and stack[0].what == 'thread':
                stack[-1].events += SWITCHED * self.unit
        while len(stack) > 1:
            leave(end)
        settle(stack[0], end)

    def event_ns(self):
        """The cost of an event, 0 if it is not known."""
        costs = []
        # Between the events of a handler is the handler: it is no measure of an event
        if not any(len(gaps) >= 10 and {SOFT_ENTRY, SOFT_EXIT} & set(pair) for pair, gaps in self.gaps.items()):
            return 0
        for gaps in self.gaps.values():
            least = sorted(gaps)[len(gaps) // 10]
            # The mean of times in us is as good as that of times in ns
            usual = [gap for gap in gaps if gap <= 2 * least + self.resolution] if self.resolution > 1 else [least]
            costs += [sum(usual) // len(usual)] if len(gaps) >= 10 else []
        return min(costs, default=0)


def owners(accounts, candidates, fallback):
    """
    {instance: interrupt}. Each run of NET_RX that a handler raised is a vote for its interrupt
    and the instances that are polled in it. CANDIDATES(device) are the device's interrupts. One
    that is polled without end since before the first window has no vote: FALLBACK(device, taken).
    """
    found = {}
    for napi in accounts.devices:
        own = candidates(accounts.devices[napi])
        votes = {irq: n for irq, n in accounts.votes[napi].items() if irq in own or not own}
        if votes:
            found[napi] = max(votes, key=lambda irq: (votes[irq], -irq))
    for napi in accounts.devices:
        irq = fallback(accounts.devices[napi], set(found.values())) if napi not in found else None
        if irq is not None:
            found[napi] = irq
    return found


class Tracer(Instance):
    """A trace instance: window() returns what was recorded in it."""

    def __init__(self, sysfs='/sys', threads=True):
        """Without interrupt THREADS task switches are not recorded."""
        super().__init__(sysfs)
        self.threads, self.learning = threads, True

    def prepare(self):
        self.cpus = sorted(int(name[3:]) for name in os.listdir(self.mine + '/per_cpu') if re.fullmatch('cpu[0-9]+', name))
        self.kb = min(4096, max(64, 262144 // max(1, len(self.cpus))))
        self.format = Format(self.mine)
        self.set('buffer_size_kb', self.kb)
        self.set('trace_clock', 'mono')
        self.set('events/sched/sched_switch/filter', 'prev_comm ~ "irq/*" || next_comm ~ "irq/*"')
        for name in EVENTS:
            if os.path.exists('%s/events/%s' % (self.mine, name)) and (self.threads or not name.startswith('sched')):
                self.set('events/%s/enable' % name, 1)

    def window(self, seconds, learn):
        """(begin, end, {cpu: pages}, lost, learn) of SECONDS."""
        if self.learning and not learn:
            self.set('events/irq/softirq_raise/enable', 0)
            self.learning = False
        begin = time.monotonic_ns()
        self.set('tracing_on', 1)
        time.sleep(seconds)
        self.set('tracing_on', 0)
        end, pages, lost = time.monotonic_ns(), {}, False
        for cpu in self.cpus:
            file = os.open('%s/per_cpu/cpu%d/trace_pipe_raw' % (self.mine, cpu), os.O_RDONLY | os.O_NONBLOCK)
            try:
                while True:
                    page = os.read(file, self.format.page)
                    if len(page) < self.format.data:
                        break
                    lost |= self.format.lost(page)
                    pages.setdefault(cpu, []).append(page[:self.format.data + (self.format.length(page) & 0x3fffffff)])
            except OSError as error:
                # It is empty, or of a CPU that never was online
                if error.errno not in (errno.EAGAIN, errno.ENODEV):
                    raise
            finally:
                os.close(file)
        return begin, end, pages, lost, learn


class Trace:
    """The windows of SECONDS of a machine."""

    def __init__(self, tracer, seconds):
        self.windows, self.lost = [], 0
        self.began, cpu, length, size = time.monotonic(), time.process_time(), 0.02, 0
        while True:
            left = self.began + seconds - time.monotonic()
            if left <= 0:
                break
            learn = left > seconds * (1 - LEARN)
            window = tracer.window(min(length, left, max(0.02, seconds * LEARN / 4) if learn else left), learn)
            fill = max((len(pages) for pages in window[2].values()), default=0) * tracer.format.page / (tracer.kb * 1024)
            length = min(0.5, length * 1.5) if fill < 0.3 and not window[3] else max(0.002, length / 2) if fill > 0.6 or window[3] else length
            if window[3]:
                self.lost += 1
            else:
                self.windows.append(window)
            size += sum(len(page) for pages in window[2].values() for page in pages)
            due = self.began + seconds * size / BUDGET
            time.sleep(max(0, min(due, self.began + seconds) - time.monotonic()))
        self.seconds = time.monotonic() - self.began
        self.own = time.process_time() - cpu
        if self.lost and not self.windows:
            raise Failure('all %d windows of the trace lost events: the machine is too busy to be traced' % self.lost)
        # Those that are learned from are all that there is if the time was short
        timed = [window for window in self.windows if not window[4]]
        self.timed = timed or self.windows
        self.traced = sum(end - begin for begin, end, *_ in self.timed) / 1e9

    def parse(self, form, threads):
        """The sums of each window in timed."""
        accounts = Accounts(threads)
        for begin, end, pages, _, accounts.learning in self.windows:
            accounts.window()
            for cpu, found in pages.items():
                accounts.cpu(cpu, (event for page in found for event in form.events(page)), begin, end)
        if not accounts.seen:
            raise Failure('no interrupt or softirq in %.1f s: the tracepoints are silent' % self.seconds)
        accounts.sums = accounts.sums[-len(self.timed):]
        return accounts
