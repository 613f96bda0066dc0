#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""irqload advise on made-up traces and trees: python3 -m unittest test_advise"""
import atexit
import contextlib
import errno
import importlib.util
import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

import advise
import common
import instance
import machine as machines
import measure
import remedy
import tracetext
import tracetimes
from common import Failure
from tracetimes import ENTRY, EXIT, POLL, RAISE, SOFT_ENTRY, SOFT_EXIT, SWITCH

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'irqload.py')
REPLAY = os.environ.get('REPLAY') or os.path.join(os.path.dirname(PROGRAM), 'replay')
WORK = tempfile.TemporaryDirectory()
# test_boards has trees in it, too
atexit.register(WORK.cleanup)
PAGE = '\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n' \
    '\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n'
FIELDS = {'irq': ('int irq', 8, 4), 'vec': ('unsigned int vec', 8, 4), 'napi': ('struct napi_struct * napi', 8, 8),
          'dev_name': ('__data_loc char[] dev_name', 16, 4), 'prev_comm': ('char prev_comm[16]', 8, 16),
          'prev_pid': ('pid_t prev_pid', 24, 4), 'next_pid': ('pid_t next_pid', 56, 4)}


def event(kind, delta, *values, pid=0):
    """An event of the ring buffer, of a kind, DELTA ns after the last one."""
    body = struct.pack('=HBBi', 100 + kind, 0, 0, pid)
    if kind == POLL:
        name = values[1].encode() + b'\0'
        body += struct.pack('=QIii', values[0], len(name) << 16 | 28, 1, 64) + name
    elif kind == SWITCH:
        body += struct.pack('=16siiq16siii', b'a [b] =', values[0], 120, 0, b'c', values[1], 120, 0)[:48] + struct.pack('=i', 0)
        body = body[:56] + struct.pack('=i', values[1])
    else:
        body += struct.pack('=i', values[0])
    body += bytes(-len(body) % 4)
    words = len(body) // 4
    return struct.pack('=I', delta << 5 | words) + body if words <= 28 else struct.pack('=II', delta << 5, len(body) + 4) + body


def page(start, *events, lost=0):
    data = b''.join(events)
    return struct.pack('=QQ', start, len(data) | lost << 31) + data + bytes(4080 - len(data))


class Tree:
    """A /sys and a /proc."""

    def __init__(self, cpus=4):
        self.top = tempfile.mkdtemp(dir=WORK.name)
        self.write('sys/devices/system/cpu/online', '0-%d' % (cpus - 1))
        self.write('proc/irq/default_smp_affinity', common.hexmask(range(cpus)))
        for cpu in range(cpus if cpus < 100 else 0):
            self.write('sys/devices/system/cpu/cpu%d/topology/thread_siblings_list' % cpu, '%d-%d' % (cpu & ~1, cpu | 1))
            self.write('sys/devices/system/cpu/cpu%d/topology/package_cpus_list' % cpu, '0-%d' % (cpus - 1))
        tracing = 'sys/kernel/tracing/'
        self.write(tracing + 'events/header_page', PAGE)
        for kind, (name, field) in enumerate(tracetimes.EVENTS.items()):
            more = {POLL: ['dev_name'], SWITCH: ['prev_comm', 'next_pid']}.get(kind, [])
            self.write(tracing + 'events/%s/id' % name, 100 + kind)
            self.write(tracing + 'events/%s/format' % name, ''.join(
                '\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:0;\n' % FIELDS[f] for f in [field] + more))

    def write(self, path, value):
        path = self.top + '/' + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write('%s\n' % value)

    def irq(self, irq, name, mask='0-3', at='0', hint='0', chip='PCI-MSIX-0000:02:00.0', mode=0o644):
        for file, value in dict(actions=name, chip_name=chip, per_cpu_count='5,0').items():
            self.write('sys/kernel/irq/%d/%s' % (irq, file), value)
        for file, value in dict(smp_affinity='x', smp_affinity_list=mask, effective_affinity_list=at, affinity_hint=hint, node=-1).items():
            self.write('proc/irq/%d/%s' % (irq, file), value)
        os.chmod('%s/proc/irq/%d/smp_affinity' % (self.top, irq), mode)

    def nic(self, device, *irqs):
        for irq in irqs:
            self.write('sys/class/net/%s/device/msi_irqs/%d' % (device, irq), 'msix')
        self.write('sys/class/net/%s/queues/rx-0/rps_cpus' % device, 0)
        self.write('sys/class/net/%s/threaded' % device, 0)

    def machine(self):
        return machines.Machine(self.top + '/sys', self.top + '/proc')

    def format(self):
        return tracetimes.Format(self.top + '/sys/kernel/tracing')


class Events(unittest.TestCase):
    def setUp(self):
        self.tree = Tree()
        self.form = self.tree.format()

    def test_pages(self):
        one = page(1000, event(ENTRY, 0, 24), struct.pack('=II', 5 << 5 | 30, 1), event(EXIT, 7, 24),
                   struct.pack('=II', 9 << 5 | 29, 8) + bytes(4), event(POLL, 1, 0xffff888012345678, 'eth ü[0]'),
                   struct.pack('=II', 4 << 5 | 31, 3), event(SWITCH, 2, 70, 71))
        then = 1000 + 5 + (1 << 27) + 7
        self.assertEqual([e[:4] for e in self.form.events(one)], [
            (1000, ENTRY, 24, 24), (then, EXIT, 24, 24), (then + 1, POLL, 0xffff888012345678, 'eth ü[0]'),
            ((3 << 27) + 4 + 2, SWITCH, 70, 71)])
        self.assertFalse(self.form.lost(one))
        self.assertTrue(self.form.lost(page(0, lost=1)))
        for cut in range(16, 200):
            list(self.form.events(one[:cut]))

    def test_no_format(self):
        self.tree.write('sys/kernel/tracing/events/napi/napi_poll/id', '')
        for name in 'irq/irq_handler_entry/format', 'header_page':
            with self.subTest(name), self.assertRaises(Failure):
                self.tree.write('sys/kernel/tracing/events/' + name, 'rubbish')
                self.tree.format()

    def sums(self, *events, threads=(), learn=(), end=10000):
        accounts = tracetimes.Accounts(dict(threads))
        for part in learn, events:
            accounts.window()
            accounts.cpu(0, [(e + (0,) * (5 - len(e))) for e in part], 0, end)
        return {key: value[0] for key, value in accounts.sums[-1].get(0, {}).items() if value[0]}, accounts

    def test_levels(self):
        # A handler in a poll: each has its own time
        found, accounts = self.sums(
            (100, ENTRY, 24), (150, EXIT, 24), (200, SOFT_ENTRY, 3), (300, POLL, 7, 'eth0'), (310, ENTRY, 25), (340, EXIT, 25),
            (400, POLL, 8, 'eth1'), (450, SOFT_EXIT, 3), (460, SOFT_ENTRY, 1), (500, SOFT_EXIT, 1))
        self.assertEqual(found, {('hard', 24): 50, ('hard', 25): 30, ('napi', 7): 100, ('napi', 8): 120, ('base', 0): 40})
        self.assertEqual((accounts.devices, accounts.gaps[SOFT_EXIT, SOFT_ENTRY]), ({7: 'eth0', 8: 'eth1'}, [10]))

    def test_raised(self):
        learn = (1, ENTRY, 24), (2, RAISE, 6, 6), (3, EXIT, 24), (4, SOFT_ENTRY, 6), (5, SOFT_EXIT, 6)
        events = (10, ENTRY, 24), (20, EXIT, 24), (30, SOFT_ENTRY, 6), (90, SOFT_EXIT, 6), (100, SOFT_ENTRY, 6), (101, SOFT_EXIT, 6)
        self.assertEqual(self.sums(*events, learn=learn)[0], {('hard', 24): 10, ('soft', 24): 60, ('base', 0): 1})
        self.assertEqual(self.sums(*events)[0], {('hard', 24): 10, ('base', 0): 61})

    def test_raised_later(self):
        # Windows without softirq_raise do not make the handler one that seldom raises
        run = [(10, ENTRY, 24, 24, 0), (20, EXIT, 24, 24, 0), (30, SOFT_ENTRY, 6, 6, 0), (90, SOFT_EXIT, 6, 6, 0)]
        windows = [(0, 100, {0: [run[:1] + [(15, RAISE, 6, 6, 0)] + run[1:]]}, False, True)] + [(0, 100, {0: [run]}, False, False)] * 40
        trace = types.SimpleNamespace(windows=windows, timed=windows[1:], seconds=1)
        sums = tracetimes.Trace.parse(trace, types.SimpleNamespace(events=iter), {}).sums
        self.assertEqual([window[0].get(('soft', 24)) for window in sums], [[60, 1]] * 40)

    def test_edges(self):
        # The window begins in a softirq, and ends in a handler
        found, _ = self.sums((100, ENTRY, 24), (150, EXIT, 24), (200, SOFT_EXIT, 1), (9000, ENTRY, 25))
        self.assertEqual(found, {('base', 0): 150, ('hard', 24): 50, ('hard', 25): 1000})
        self.assertEqual(self.sums((100, EXIT, 24), (200, SOFT_EXIT, 1))[0], {('hard', 24): 100, ('base', 0): 100})

    def test_threads(self):
        found, _ = self.sums((100, SWITCH, 1, 70), (150, ENTRY, 9), (160, EXIT, 9), (170, SOFT_ENTRY, 6), (180, SOFT_EXIT, 6),
                             (300, SWITCH, 70, 1), threads={70: 24})
        self.assertEqual(found, {('thread', 24): 180, ('hard', 9): 10, ('soft', 24): 10})
        self.assertEqual(self.sums((100, SWITCH, 70, 1), threads={70: 24})[0], {('thread', 24): 100})

    def test_backlog(self):
        found, accounts = self.sums((0, SOFT_ENTRY, 3), (100, POLL, 7, 'eth0'), (200, POLL, 9, '(no_device)'), (200, SOFT_EXIT, 3),
                                    (300, SOFT_ENTRY, 3), (350, POLL, 9, '(no_device)'), (350, SOFT_EXIT, 3))
        self.assertEqual(found, {('napi', 7): 200, ('base', 0): 50})
        self.assertNotIn(9, accounts.devices)

    def test_cost(self):
        accounts = tracetimes.Accounts({})
        accounts.gaps[POLL, SOFT_EXIT] = [2400] * 50 + [2600] * 50 + [90000] * 9
        accounts.gaps[ENTRY, EXIT] = [100] * 9
        self.assertEqual(accounts.event_ns(), 2400)
        accounts.gaps[POLL, SOFT_EXIT], accounts.resolution = [2000] * 60 + [3000] * 40 + [90000] * 9, 1000
        self.assertEqual(accounts.event_ns(), 2400)
        accounts.gaps[POLL, SOFT_EXIT] = [0] * 80 + [1000] * 20
        self.assertEqual(accounts.event_ns(), 200)

    def test_owners(self):
        learn = [e for irq in (24, 25, 26) for e in ((1, ENTRY, irq), (2, RAISE, 3, 3), (3, EXIT, irq))]
        run = [(10, ENTRY, 24), (11, EXIT, 24), (12, ENTRY, 26), (13, EXIT, 26), (20, SOFT_ENTRY, 3), (30, POLL, 7, 'eth0'),
               (40, POLL, 8, 'eth1'), (50, SOFT_EXIT, 3), (60, SOFT_ENTRY, 3), (70, POLL, 6, 'eth2'), (80, SOFT_EXIT, 3)]
        _, accounts = self.sums(*run, learn=learn)
        own = {'eth0': {24, 25}, 'eth1': {26}, 'eth2': {27, 28}}
        found = tracetimes.owners(accounts, own.get, lambda device, taken: max(own[device] - taken))
        self.assertEqual(found, {7: 24, 8: 26, 6: 28})


def script(form, cycles=40, name='eth0-rx', gap=400, raised=True, device='eth0', cpus=(0, 1)):
    """A text as a tool prints it. Each of CPUS has CYCLES of 10 ms: 1 ms of handler 24, 2 ms of poll, 0.5 ms of thread 70."""
    forms = {'perf': '%(comm)16s %(pid)5d [%(cpu)03d] %(s)6d.%(us)06d: %(system)s:%(name)s: %(rest)s',
             'perf --ns': '%(comm)16s %(pid)5d/%(pid)d [%(cpu)03d] %(s)6d.%(ns)09d: %(system)20s:%(name)s: %(rest)s',
             'trace-cmd': '%(comm)16s-%(pid)-5d [%(cpu)03d] %(s)6d.%(us)06d: %(name)s:    %(rest)s',
             'trace-cmd -t': '%(comm)16s-%(pid)-5d [%(cpu)03d] d.h1. %(s)6d.%(ns)09d: %(name)s: %(rest)s',
             'tracefs': '%(comm)16s-%(pid)-7d (%(pid)7d) [%(cpu)03d] d.h1. %(s)5d.%(us)06d: %(name)s: %(rest)s'}
    switch = '%s:%d [120] S ==> %s:%d [49]' if form == 'trace-cmd' else \
        'prev_comm=%s prev_pid=%d prev_prio=120 prev_state=S ==> next_comm=%s next_pid=%d next_prio=49'
    lines, idle, thread = [], ('swapper/0', 0), ('irq/24-a [b] =', 70)
    for n in range(cycles):
        events = [(0, idle, 'irq', 'irq_handler_entry', 'irq=24 name=%s' % name)]
        events += [(500000, idle, 'irq', 'softirq_raise', 'vec=3 [action=NET_RX]')] if raised else []
        events += [(1000000, idle, 'irq', 'irq_handler_exit', 'irq=24 ret=handled'),
                   (1000000 + gap, idle, 'irq', 'softirq_entry', 'vec=3 [action=NET_RX]'),
                   (3000000, idle, 'napi', 'napi_poll', 'napi poll on napi struct 0xffff888012345678 for device %s work 3 budget 64' % device),
                   (3000000 + gap, idle, 'irq', 'softirq_exit', 'vec=3 [action=NET_RX]'),
                   (3000000 + 2 * gap, idle, 'irq', 'softirq_entry', 'vec=1 [action=TIMER]'),
                   (3100000, idle, 'irq', 'softirq_exit', 'vec=1 [action=TIMER]'),
                   (4000000, idle, 'sched', 'sched_switch', switch % (idle + thread)),
                   (4500000, thread, 'sched', 'sched_switch', switch % (thread + idle))]
        for delta, task, system, event, rest in events:
            for cpu in cpus[:1 + n % 2]:
                at = 10 ** 9 + n * 10 ** 7 + delta
                lines.append(forms[form] % dict(comm=task[0], pid=task[1], cpu=cpu, s=at // 10 ** 9, us=at % 10 ** 9 // 1000, ns=at % 10 ** 9,
                                                system=system, name=event, rest=rest))
    return ''.join(line + '\n' for line in lines)


def advice(tree, *parts, counts=()):
    """Of windows of a second, each {(cpu, key): ms}, and of COUNTS of interrupts in all."""
    accounts = tracetimes.Accounts({})
    accounts.devices = {7: 'eth0'}
    accounts.seen = 1000
    for part in parts:
        accounts.window()
        for (cpu, key), ms in part.items():
            accounts.sums[-1].setdefault(cpu, {})[key] = [ms * 1000000, 1]
    timed = [(n * 10 ** 9, (n + 1) * 10 ** 9, {}, False, False) for n in range(len(parts))]
    trace = types.SimpleNamespace(timed=timed, windows=timed, traced=float(len(parts)), began=0.0, seconds=float(len(parts)), own=0.01, lost=0)
    return advise.Advice(measure.Measured(tree.machine(), trace, accounts, {}, {}, dict(counts)), REPLAY)


FORMS = 'perf', 'perf --ns', 'trace-cmd', 'trace-cmd -t', 'tracefs'


class Texts(unittest.TestCase):
    def measured(self, text, sysfs=None, procfs=None):
        return measure.recorded(tracetext.Text(text.splitlines(True), '-'), sysfs, procfs)

    def test_forms(self):
        # CPU 1 works in half of the cycles
        for form in FORMS:
            with self.subTest(form):
                found = self.measured('cpus=2\n' * form.startswith('trace-cmd') + script(form))
                for part, ms in ('hard', 1), ('soft', 2), ('thread', 0.5):
                    self.assertAlmostEqual(found.rows[24][part], 1.5 * ms / 10, delta=0.01)
                self.assertEqual([n['why'] for n in found.machine.irqs.values()], ['unknown'])
                self.assertEqual(('times are in us' in found.notes[-1], found.figures['event_ns']), (False, 400) if form in ('perf --ns', 'trace-cmd -t') else (True, 0))
                self.assertEqual((found.machine.irqs[24]['cpu'], list(found.machine.cpus)), (0, [0, 1]))

    def test_same_as_live(self):
        # The same events from the pages of a machine's buffer have the same sums
        text, form = tracetext.Text(script('perf --ns').splitlines(True), '-'), Tree().format()
        accounts = tracetimes.Accounts({70: 24})
        for _ in range(2):
            accounts.window()
            for cpu, events in text.cpus.items():
                times = [events[0][0]] + [e[0] for e in events]
                found = [event(kind, at - last, value, other, pid=pid) for last, (at, kind, value, other, pid) in zip(times, events)]
                pages = [page(times[n + 1] - (times[n + 1] - times[n]), *found[n:n + 60]) for n in range(0, len(found), 60)]
                accounts.cpu(cpu, (e for one in pages for e in form.events(one)), text.begin, text.timed[-1][1])
        sums = {}
        for rows in text.parse().sums:
            for cpu, row in rows.items():
                for key, (ns, _) in row.items():
                    sums[cpu, key] = sums.get((cpu, key), 0) + ns
        for cpu, row in accounts.sums[-1].items():
            for key, (ns, _) in row.items():
                self.assertEqual(sums[cpu, key], ns, (cpu, key))

    def test_names(self):
        for name in 'a b [3] {x}', 'eth0 ü 中', 'x [001] 1.000001: irq:softirq_exit: vec=3', 'irq=7 name=y', '':
            for form in FORMS:
                found = self.measured(script(form, name=name))
                self.assertEqual(found.machine.irqs[24]['name'], name)
                self.assertAlmostEqual(found.rows[24]['hard'], 0.15, delta=0.01)

    def test_less_events(self):
        full = script('perf --ns')
        for without, part, said in (('softirq_raise', 'soft', ''), ('sched_switch', 'thread', 'no events of threads'),
                                    ('napi_poll', 'napi', 'no events of NAPI polls'), ('softirq_', 'soft', 'no events of softirqs')):
            found = self.measured(''.join(line for line in full.splitlines(True) if without not in line))
            self.assertIn(said, found.notes[-1])
            kept = found.rows[24].get(part, 0)
            self.assertEqual(kept > 0, without == 'softirq_raise', without)
        # Without polls softirqs belong to the handler that raised them
        self.assertAlmostEqual(self.measured(''.join(line for line in full.splitlines(True) if 'napi_poll' not in line)).rows[24]['soft'], 0.3, delta=0.02)

    def test_only_handlers(self):
        # The time of a handler is not the cost of an event
        found = self.measured(''.join(line for line in script('perf --ns').splitlines(True) if 'irq_handler_' in line))
        self.assertEqual(found.figures['event_ns'], 0)
        self.assertAlmostEqual(found.rows[24]['hard'], 0.15, delta=0.01)

    def test_seldom_raised(self):
        # Without softirq_raise: in every 16th run a softirq follows the handler
        lines = script('perf --ns', 64, raised=False, cpus=(0,)).splitlines(True)
        found = tracetext.Text([line for n, line in enumerate(lines) if 'handler' in line or 'vec=3' in line and not n // 9 % 16], '-')
        self.assertEqual(sum(window[0].get(('soft', 24), [0])[0] for window in found.parse().sums), 4 * 2000000)

    def test_sysfs_only(self):
        tree = Tree(2)
        tree.irq(24, 'eth0-rx', '1', '1')
        found = self.measured(script('perf --ns'), tree.top + '/sys')
        self.assertIn('no masks', found.notes[-1])
        self.assertNotIn('no topology', found.notes[-1])
        self.assertEqual((found.machine.irqs[24]['mask'], found.machine.irqs[24]['why']), ({0, 1}, 'unknown'))

    def test_state(self):
        tree = Tree(2)
        tree.irq(24, 'virtio0-input.0', '1', '1', '2')
        tree.nic('eth0', 24)
        found = self.measured(script('perf --ns', name='virtio0-input.0'), tree.top + '/sys', tree.top + '/proc')
        self.assertEqual(found.machine.irqs[24]['why'], 'driver')
        self.assertAlmostEqual(found.rows[24]['soft'], 0.3, delta=0.02)
        self.assertNotIn('no topology', found.notes[-1])
        with self.assertRaisesRegex(Failure, 'events of CPU 7, which is not online'):
            self.measured(script('perf', cpus=(0, 7)), tree.top + '/sys', tree.top + '/proc')

    def test_saturated(self):
        # One interrupt fills a CPU: the commands for its interface
        if not os.access(REPLAY, os.X_OK):
            self.skipTest('replay is not built')
        text = script('perf --ns', name='eth0-rx-3')
        lines = [re.sub(r'(\.\d)(\d)3(\d{6})', r'\g<1>\g<2>9\3', line) for line in text.splitlines(True) if 'sched_switch' not in line]
        found = advise.Advice(self.measured(''.join(lines)), REPLAY)
        [commands] = [row[3] for row in found.helpless() if row[0] == 'saturated']
        self.assertEqual(commands, ['echo 2 > /sys/class/net/eth0/queues/rx-3/rps_cpus', 'echo 1 > /sys/class/net/eth0/threaded'])

    def test_refused(self):
        good = script('perf')
        for text, wanted in (
                ('', 'no events irq:irq_handler_entry'), ('rubbish\n' * 9, 'no events'), (good[:-20], ':600: cannot read this event: is the text cut'),
                (good[:-1], 'is the text cut'), (good[:good.rindex('irq:')], 'is the text cut'), (good[200:], ':1: cannot read'),
                ('CPU:3 [LOST 85 EVENTS]\n' + good, ':1: events were lost'), ('CPU 1: [9 EVENTS DROPPED]\n' + good, 'events were lost'),
                ('# entries-in-buffer/entries-written: 5/8   #P:8\n' + good, 'events were lost'),
                (good.replace('irq=24 ret', 'irq= ret'), ':3: cannot read'), (good.replace('vec=3', 'vec=x'), 'cannot read'),
                (good.replace('napi struct', 'struct'), 'cannot read'), (good.replace('==>', '='), 'cannot read'), ('\0' + good, ':1: cannot'),
                (script('perf', 1), 'too short'), (script('perf', cpus=(0, 99999)), 'cannot read'),
                (''.join(line for n, line in enumerate(good.splitlines(True)) if n % 7 or 'entry' not in line), 'ends have no beginning')):
            with self.subTest(wanted), self.assertRaisesRegex(Failure, wanted) as caught:
                self.measured(text)
            self.assertNotIn('\n', str(caught.exception))
        self.measured('# entries-in-buffer/entries-written: 8/8   #P:8\n' + good)

    def test_much(self):
        lines = script('perf --ns', 1000).splitlines(True)
        with unittest.mock.patch.object(tracetext.Text, 'most', 3000):
            found = measure.recorded(tracetext.Text(lines, '-'))
        self.assertRegex(found.notes[-1], r'only the first 2\.\d s, 3000 events, were read')
        self.assertAlmostEqual(found.rows[24]['hard'], 0.15, delta=0.01)


class Advising(unittest.TestCase):
    def setUp(self):
        if not os.access(REPLAY, os.X_OK):
            self.skipTest('replay is not built')
        self.tree = Tree()
        os.mkdir(self.tree.top + '/proc/70')
        for irq, name in (24, 'eth0-rx'), (25, 'eth1 [ü]'), (26, 'eth2'):
            self.tree.irq(irq, name)
        self.tree.nic('eth0', 24)

    def advice(self, *parts):
        return advice(self.tree, *parts)

    def test_helps(self):
        part = {(0, ('hard', 24)): 100, (0, ('napi', 7)): 200, (0, ('hard', 25)): 250, (0, ('base', 0)): 10}
        found = self.advice(part, part, part)
        self.assertEqual([m[:2] for m in found.moves], [(24, 0)])
        self.assertAlmostEqual(found.before[1], 0.56)
        self.assertAlmostEqual(found.after[1], 0.30)
        self.assertAlmostEqual(found.gain, 1 - 30 / 56)
        text = '\n'.join(advise.page(found, None))
        self.assertIn('Yes: CPU 0 is busiest with interrupts: 56.0 +- 0.0 %', text)
        record = json.loads(json.dumps(advise.record(found, None)))
        self.assertEqual([(i['irq'], i['soft_ns_per_s']) for i in record['irqs']], [(24, 200000000), (25, 0)])

    def test_nothing(self):
        [line] = advise.page(self.advice({(0, ('hard', 24)): 5}), None)
        self.assertTrue(line.startswith('No load now: ask again while it is slow. CPU 0 is busiest'), line)

    def test_saturated(self):
        found = self.advice(*[{(0, ('hard', 24)): 100, (0, ('napi', 7)): 850}] * 4)
        [(why, irq, _, commands)] = found.helpless()
        self.assertEqual((why, irq), ('saturated', 24))
        self.assertEqual(commands, ['echo e > /sys/class/net/eth0/queues/rx-0/rps_cpus', 'echo 1 > /sys/class/net/eth0/threaded'])

    def test_masks(self):
        self.tree.irq(24, 'eth0-rx', '0', '0', '1')
        self.tree.irq(25, 'eth1 [ü]', '1', '1')
        self.tree.irq(26, 'eth2-input.3', '0', '0', '00000000,00000001')
        self.tree.irq(27, 'ide', chip='XT-PIC')
        self.tree.irq(28, 'nvme0q1', '2', '2')
        self.tree.irq(30, 'virtio1-req.0')
        os.chmod(self.tree.top + '/proc/irq/30/smp_affinity', 0o444)
        self.tree.irq(29, 'eth3', '0-1', '0')
        rows = self.tree.machine().irqs
        self.assertEqual([rows[i]['why'] for i in range(24, 31)],
                         ['driver', 'user', 'driver', 'fixed', 'managed', 'user', 'managed'])
        found = self.advice(*[{(0, ('hard', 24)): 300, (1, ('hard', 25)): 100, (0, ('hard', 26)): 300, (0, ('hard', 27)): 50}] * 3)
        self.assertEqual([row[0] for row in found.helpless()], ['user', 'driver', 'order'])
        self.assertEqual([row[3][:1] for row in found.helpless()[:2]], [['echo 0-3 > /proc/irq/25/smp_affinity_list'], [
            'for n in 24 26; do echo 0-3 > /proc/irq/$n/smp_affinity_list; done']])

    def test_percpu(self):
        # A timer of each CPU is base load; an interrupt that moves is not
        self.tree.irq(3, 'arch_timer')
        timer = {(cpu, ('hard', 3)): 200 for cpu in range(4)}
        found = self.advice(*[{**timer, (cpu, ('hard', 24)): 50} for cpu in (0, 1, 2)])
        self.assertEqual(list(found.measured.rows), [24])
        self.assertEqual([base for _, base in found.measured.bins], [dict.fromkeys(range(4), 2e8)] * 3)

    def test_driver_of_several(self):
        # The driver's mask is kept, and is room for a move
        self.tree.irq(24, 'eth0-rx', '0-1', '0', '3')
        self.tree.irq(25, 'eth1', '0', '0')
        self.tree.irq(26, 'eth2', '1', '1')
        found = self.advice(*[{(0, ('hard', 24)): 300, (0, ('hard', 25)): 300, (1, ('hard', 26)): 200}] * 3)
        self.assertEqual((found.machine.irqs[24]['why'], [move[:3] for move in found.moves]), ('driver', [(24, 0, 1)]))
        self.assertRegex(found.measured.workload(), '(?m)^irq 24 node -1 mask 0-1 at 0$')
        self.assertIsNone(found.widened)

    def test_unwritable(self):
        # Before 6.12 all masks seem to be writable
        machine = self.tree.machine()
        machine.procfs, proc = '/proc', self.tree.top + '/proc/irq/24/'
        for error, wanted in (errno.EINVAL, True), (errno.EIO, False):
            refuse = unittest.mock.patch('machine.open', create=True, side_effect=OSError(error, ''))
            with unittest.mock.patch('os.geteuid', lambda: 0), refuse:
                self.assertEqual(machine.writable(proc), wanted)

    def test_queue(self):
        # The last number of a name may be that of the PCI function
        self.tree.irq(24, 'mlx5_comp5@pci:0000:3b:00.0')
        self.tree.write('sys/class/net/eth0/queues/rx-5/rps_cpus', 0)
        found = self.advice({(0, ('hard', 24)): 900})
        self.assertIn('echo e > /sys/class/net/eth0/queues/rx-5/rps_cpus', found.helpless()[0][3])
        # As many queues as CPUs are enough
        machine = found.machine
        machine.sysfs, machine.devices, machine.candidates = '/sys', lambda: ['eth0'], lambda device: {24}
        for most, now, more in (8, 4, []), (8, 5, []), (8, 2, [4]), (3, 2, [3]):
            with unittest.mock.patch('remedy.channels', lambda device, most=most, now=now: ('combined', most, now)):
                commands = [command for command in remedy.divide(machine, [24]) if 'ethtool' in command]
            self.assertEqual(commands, ['ethtool -L eth0 combined %d' % n for n in more])

    def test_many_cpus(self):
        self.tree = Tree(4096)
        self.tree.irq(24, 'eth0', '0-4095', '17')
        self.tree.irq(25, 'eth1', '0-4095', '17')
        found = self.advice({(17, ('hard', 24)): 300, (17, ('hard', 25)): 400})
        self.assertEqual(len(found.moves), 1)
        self.assertLess(max(map(len, advise.page(found, None))), 200)


    def test_order(self):
        self.tree.irq(27, 'ide', chip='XT-PIC')
        self.assertNotIn('order', [row[0] for row in self.advice({(0, ('hard', 24)): 5}).helpless()])
        self.assertIn('i8259-priority.rst', '\n'.join(advise.page(self.advice({(0, ('hard', 27)): 5}), None)))

    def test_map(self):
        # With the balancer its map is read, and nothing traced
        shutil.rmtree(self.tree.top + '/sys/kernel/tracing')
        self.tree.write('sys/kernel/irq_balance/state', 'observe')
        self.tree.write('sys/kernel/debug/irq_balance/cpus', 'cpu load_ns_per_s base_ns_per_s\n0 410000000 5000000\n1 0 0')
        now = [0]

        def step(seconds):
            now[0] += 1
            time_was(seconds / 100)
            rows = ''.join('%d 0 %d %d %d\n' % (irq, *(ms * now[0] * 10 ** 4 for ms in parts))
                           for irq, parts in ((24, (100, 200, 0)), (25, (0, 0, 100))))
            self.tree.write('sys/kernel/debug/irq_load', 'irq cpu hard_ns soft_ns thread_ns\n' + rows)
        time_was = time.sleep
        step(0)
        with unittest.mock.patch('time.sleep', step):
            found = measure.measure(0.1, self.tree.top + '/sys', self.tree.top + '/proc')
        self.assertEqual((found.figures['source'], len(found.bins)), ('map', measure.BINS))
        for irq, parts in (24, (1, 2, 0)), (25, (0, 0, 1)):
            for part, ms in zip(('hard', 'soft', 'thread'), parts):
                self.assertAlmostEqual(found.rows[irq][part] * found.seconds, ms * 10 / 1e3)
        self.assertEqual(found.bins[3][1], {0: 5000000, 1: 0})
        text = '\n'.join(advise.page(advise.Advice(found, REPLAY), 'avg10=1.25'))
        self.assertIn("read from the balancer's load map", text)
        self.assertIn('/proc/pressure/irq: avg10=1.25', text)
        row = {'irq': 24, 'cpus': '0', 'ns': 800, 'seconds': 2.0, 'count': 9, 'hard_ns': 300, 'soft_ns': 500, 'thread_ns': 0}
        found = measure.Mapped(self.tree.machine(), [{'seconds': 2.0, 'irqs': [row], 'cpus': []}] * 2, {}, {}, 0)
        self.assertEqual((found.bins, found.load(24)), ([({24: 400.0}, {})] * 2, 400.0))

    def test_map_status(self):
        # An interrupt that the kernel keeps is not planned
        cases = ('chained', 'fixed', []), ('banned', 'fixed', []), ('managed', 'managed', []), ('movable', 'default', [24])
        self.tree.irq(25, 'eth1', '0')
        for status, why, moved in cases:
            rows = [{'irq': irq, 'cpus': '0', 'ns': ms * 10 ** 6, 'seconds': 1.0, 'count': 9, 'hard_ns': ms * 10 ** 6, 'soft_ns': 0, 'thread_ns': 0,
                     'status': now} for irq, ms, now in ((24, 300, status), (25, 400, 'pinned'))]
            found = advise.Advice(measure.Mapped(self.tree.machine(), [{'seconds': 1.0, 'irqs': rows, 'cpus': []}] * 3, {}, {}, 0), REPLAY)
            self.assertEqual((found.machine.irqs[24]['why'], [move[0] for move in found.moves]), (why, moved))
            self.assertEqual(found.because(24)[1] == 'balance_status is ' + status, why == 'fixed')

    @unittest.skipUnless(importlib.util.find_spec('matplotlib'), 'no matplotlib')
    def test_picture(self):
        for cpus in 1, 4, 64, 4096:
            self.tree = Tree(cpus)
            for irq in range(24, 44):
                self.tree.irq(irq, 'a [b] $1_{%d} ü' % irq, '0-%d' % (cpus - 1), str(irq % cpus))
            found = self.advice(*[{(irq % cpus, ('hard', irq)): irq for irq in range(24, 44)}, {(0, ('base', 0)): 7}] * 2)
            with self.subTest(cpus):
                out = '%s/%d.svg' % (self.tree.top, cpus)
                advise.draw(found, out)
                with open(out, encoding='utf-8') as file:
                    text = file.read()
                for word in 'as planned', 'no interrupt', 'other interrupts', '$1_{', 'ü', '64 busiest of 4096' if cpus > 64 else 'CPU':
                    self.assertTrue('<!-- ' in text and word in ''.join(re.findall('<!-- (.*?) -->', text)), word)


class Program(unittest.TestCase):
    def run_it(self, *arguments, replay='/bin/true', program=PROGRAM, text='', **more):
        return subprocess.run([sys.executable, '-B', program, *arguments], capture_output=True, check=False, input=text.encode(),
                              env={**os.environ, 'LC_ALL': 'C', 'REPLAY': replay, **more})

    def refused(self, message, *arguments, **more):
        done = self.run_it(*arguments, **more)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout), (2, ''), done.stderr)
        self.assertIn(message, done.stderr)
        self.assertNotIn('Traceback', done.stderr)
        return done.stderr

    def test_bad_input(self):
        tree = Tree()
        where = ['advise', '--seconds', '0.2', '--sysfs', tree.top + '/sys', '--procfs', tree.top + '/proc']
        for arguments, message in ((['advise', '--once'], 'unrecognized'), (['--seconds', '3'], 'unrecognized'), (['advise', '--seconds', '-1'], '-1 is not between'),
                                   (['advise', '--seconds', '0'], 'is not between'), (['advise', '-o', ''], 'not an empty one')):
            self.refused(message, *arguments)
        self.assertEqual(self.refused('is not built: make', *where, replay='/none/replay').count('\n'), 1)
        # A failure in the table of the balancer, which irqload reads
        tree.write('sys/kernel/irq_balance/state', 'observe')
        tree.write('sys/kernel/debug/irq_load', 'irq hard_ns\nx y')
        self.assertEqual(self.refused('cannot read this', *where).count('\n'), 2)
        tree.write('sys/kernel/irq_balance/state', 'off')
        if os.geteuid():
            self.refused('only root', *where)
            return
        with unittest.mock.patch('os.geteuid', lambda: 1000), self.assertRaisesRegex(Failure, '^only root'):
            measure.measure(0.2, tree.top + '/sys', tree.top + '/proc')
        # No instances, then a kernel that is locked down
        self.assertEqual(self.refused('cannot trace', *where).count('\n'), 1)
        tree.write('sys/kernel/security/lockdown', 'none [integrity] confidentiality')
        self.assertEqual(self.refused('locked down (integrity)', *where).count('\n'), 1)
        shutil.rmtree(tree.top + '/sys/kernel')
        self.assertEqual(self.refused('no tracefs', *where).count('\n'), 1)
        shutil.rmtree(tree.top + '/sys/devices')
        self.assertEqual(self.refused('is sysfs mounted', *where).count('\n'), 1)


    def test_bad_text(self):
        good, out = script('perf'), tempfile.mkdtemp(dir=WORK.name) + '/out'
        for text, message in ((good[:-9], '-:600: cannot read this event'), ('', 'no events'), ('LOST 7 EVENTS\n' + good, 'events were lost')):
            self.assertEqual(self.refused(message, 'advise', '-', '-o', out, text=text).count('\n'), 1)
        self.assertFalse(os.path.exists(out))
        for arguments, message in ((['advise', '/none'], '/none: No such file'), (['advise', WORK.name], 'Is a directory'), (['advise', ''], 'not an empty'),
                                   (['advise', '-', '--seconds', '3'], 'is for this machine'), (['advise', '-', '--plot', 'x.gif'], '--plot draws'),
                                   (['advise', '-', '--sysfs', '/none'], 'is sysfs mounted')):
            self.refused(message, *arguments, text=good)

    def test_locales(self):
        texts = []
        if not os.access(REPLAY, os.X_OK):
            self.skipTest('replay is not built')
        for more in {'LC_ALL': 'C'}, {'LC_ALL': 'tr_TR.UTF-8'}, {'LC_ALL': 'de_DE.ISO-8859-1', 'PYTHONUTF8': '0', 'PYTHONIOENCODING': 'ascii', 'LANGUAGE': 'de'}:
            done = self.run_it('advise', '-', replay=REPLAY, text=script('perf --ns', name='[ü] 中'), **more)
            self.assertEqual((done.returncode, done.stderr), (0, b''))
            texts.append(done.stdout.decode('ascii', 'replace').replace('\ufffd', '?'))
            self.assertIn('Not known from the text', texts[-1])
        self.assertEqual(len({re.sub(r'\?+', '', text) for text in texts}), 1, texts)

    def test_no_matplotlib(self):
        where = tempfile.mkdtemp(dir=WORK.name)
        with open(where + '/matplotlib.py', 'w', encoding='ascii') as file:
            file.write('raise ImportError\n')
        self.assertIn('apt install python3-matplotlib',
                      self.refused('no matplotlib', 'advise', '-', '--plot', where + '/x.svg', text=script('perf'), PYTHONPATH=where))

    def test_many_cpus(self):
        if not os.access(REPLAY, os.X_OK):
            self.skipTest('replay is not built')
        done = self.run_it('advise', '-', '--json', replay=REPLAY, text='cpus=4096\n' + script('trace-cmd -t', cpus=(4095, 3)))
        self.assertEqual((done.returncode, done.stderr), (0, b''))
        record = json.loads(done.stdout)
        self.assertEqual((len(record['cpus']), record['now']['cpu'], record['source']), (4096, 4095, 'text'))

    def test_record(self):
        # record takes the same text, and the format is the same
        outs = []
        if not os.access(REPLAY, os.X_OK):
            self.skipTest('replay is not built')
        for form in 'perf --ns', 'trace-cmd -t':
            out = tempfile.mkdtemp(dir=WORK.name) + '/out'
            self.assertEqual(self.run_it('advise', '-', '-o', out, replay=REPLAY, text=script(form)).returncode, 0)
            done = self.run_it('record', '-', text=script(form))
            with open(out, 'rb') as file:
                self.assertEqual((done.returncode, done.stderr, done.stdout), (0, b'', file.read()))
            outs.append(done.stdout)
        self.assertEqual(subprocess.run([REPLAY, '-'], input=outs[0], capture_output=True, check=False).returncode, 0)
        # Only a newline ends a line
        done = self.run_it('record', '-', text=script('perf', name='a\x0bb\u2028c'))
        self.assertEqual((done.returncode, done.stderr), (0, b''))
        done = self.run_it('record', '-', text=script('perf')[:-9])
        self.assertEqual((done.returncode, done.stdout, done.stderr.count(b'\n')), (2, b'', 1))


@unittest.skipIf(os.geteuid() or not os.path.isdir('/sys/kernel/tracing/instances'), 'no tracefs')
class Instances(unittest.TestCase):
    """On this machine's tracefs: nothing is left."""
    TOP = '/sys/kernel/tracing/instances/'

    def start(self, *arguments):
        """A run that records, and its instance."""
        run = subprocess.Popen([sys.executable, '-B', PROGRAM, *(arguments or ['advise', '--seconds', '60'])], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, env={**os.environ, 'REPLAY': '/bin/true'})
        mine = '%sirqload.%d' % (self.TOP, run.pid)
        for _ in range(600):
            if os.path.exists(mine + '/events/irq/irq_handler_entry/enable'):
                with open(mine + '/events/irq/irq_handler_entry/enable', encoding='ascii') as file:
                    if file.read().strip() == '1':
                        return run, mine
            time.sleep(0.05)
        run.kill()
        self.fail(run.communicate()[1])

    def test_signals(self):
        for number in signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGINT:
            run, mine = self.start()
            # Held, for runs that do not see its number
            self.assertRaises(OSError, os.rmdir, mine)
            run.send_signal(number)
            run.communicate()
            self.assertFalse(os.path.exists(mine), number)

    def test_killed(self):
        run, mine = self.start()
        run.kill()
        run.communicate()
        self.assertTrue(os.path.exists(mine))
        # One that runs stays; the killed one is removed by the next
        other, its = self.start()
        self.assertEqual((os.path.exists(mine), os.path.exists(its)), (False, True))
        third, _ = self.start()
        self.assertTrue(os.path.exists(its))
        for run in third, other:
            run.terminate()
        self.assertIn(b'removed the trace instance of a run that was killed: ' + os.path.basename(mine).encode(), other.communicate()[1])
        self.assertEqual(third.communicate()[1], b'')

    def test_held(self):
        # One of another PID namespace has a number that is not known here, and an open file
        name = self.TOP + 'irqload.4999999999'
        os.mkdir(name)
        with open(name + '/tracing_on', 'w', encoding='ascii'):
            instance.Instance().remove_old()
            self.assertTrue(os.path.exists(name))
        with contextlib.redirect_stderr(io.StringIO()):
            instance.Instance().remove_old()
        self.assertFalse(os.path.exists(name))

    def test_numbers(self):
        # That of a run that lives stays, that of another program does not
        tree = Tree()
        with subprocess.Popen(['irqload', '60'], executable='/bin/sleep') as run:
            for pid in run.pid, 1, 4999999999:
                os.makedirs('%s/sys/kernel/tracing/instances/irqload.%d' % (tree.top, pid))
            with contextlib.redirect_stderr(io.StringIO()):
                instance.Instance(tree.top + '/sys').remove_old()
            run.kill()
        self.assertEqual(os.listdir(tree.top + '/sys/kernel/tracing/instances'), ['irqload.%d' % run.pid])

    def test_out(self):
        # Refused before measuring
        for option in '-o', '--plot':
            began = time.monotonic()
            done = subprocess.run([sys.executable, '-B', PROGRAM, 'advise', '--seconds', '60', option, '/none/x.svg'], capture_output=True, check=False,
                                  env={**os.environ, 'REPLAY': '/bin/true'})
            self.assertEqual(done.returncode, 2)
            self.assertLess(time.monotonic() - began, 30)


class Windows(unittest.TestCase):
    def trace(self, window):
        form = types.SimpleNamespace(page=4096)
        tracer = types.SimpleNamespace(format=form, kb=64, window=window)
        return tracetimes.Trace(tracer, 0.3)

    def test_lost(self):
        def lossy(seconds, learn):
            time.sleep(seconds)
            return 0, int(seconds * 1e9), {0: [bytes(4096)]}, seconds > 0.01, learn
        found = self.trace(lossy)
        self.assertGreater(found.lost, 0)
        self.assertGreater(len(found.windows), 3)
        with self.assertRaises(Failure):
            self.trace(lambda seconds, learn: (time.sleep(seconds), 0, {}, True, learn))

    def test_sample(self):
        def flood(seconds, learn):
            time.sleep(seconds)
            return 0, int(seconds * 1e9), {0: [bytes(4096)] * 1024}, False, learn
        found = self.trace(flood)
        self.assertLessEqual(len(found.windows), 10)
        self.assertLess(found.traced, 0.2)

    def test_silence(self):
        found = self.trace(lambda seconds, learn: (time.sleep(seconds) or 0, 1, {}, False, learn))
        with self.assertRaises(Failure):
            found.parse(None, {})


if __name__ == '__main__':
    unittest.main()
