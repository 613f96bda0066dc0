#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""irqload advise on trees of boards and servers: python3 -m unittest test_boards"""
import json
import os
import subprocess
import sys
import unittest

import advise
import boards
from test_advise import PROGRAM, REPLAY, Tree, advice

READONLY = 0o444


def text(loads):
    """A text of tracefs: each 10 ms the interrupts of LOADS, {irq: (us, device that it polls)}, on CPU 0."""
    lines = []

    def event(at, name, rest):
        lines.append('          <idle>-0       [000] d.h1. %5d.%06d: %s: %s\n' % (at // 10 ** 6, at % 10 ** 6, name, rest))
    for n in range(50):
        at = 10 ** 6 + n * 10000
        for irq, (took, device) in loads.items():
            event(at, 'irq_handler_entry', 'irq=%d name=x%d' % (irq, irq))
            if device:
                event(at + 2, 'softirq_raise', 'vec=3 [action=NET_RX]')
            at += 5 if device else took
            event(at, 'irq_handler_exit', 'irq=%d ret=handled' % irq)
            if device:
                event(at + 1, 'softirq_entry', 'vec=3 [action=NET_RX]')
                at += took - 5
                event(at - 1, 'napi_poll', 'napi poll on napi struct 0xffff8880123456%02d for device %s work 3 budget 64' % (irq, device))
                event(at, 'softirq_exit', 'vec=3 [action=NET_RX]')
            at += 10
    return '# tracer: nop  #P:4\n' + ''.join(lines)


class Boards(unittest.TestCase):
    def setUp(self):
        if not os.access(REPLAY, os.X_OK):
            self.skipTest('replay is not built')

    def answer(self, tree, loads, counts=()):
        """The advice if LOADS, {irq: ms/s}, arrive on CPU 0; its lines; its commands."""
        part = {(0, ('hard', irq)): ms for irq, ms in loads.items()}
        found = advice(tree, part, part, part, counts=counts)
        lines = advise.page(found, None)
        self.assertTrue(found.verdict()[0] in ('Yes', 'No: a move cannot help'), lines[0])
        self.assertTrue(lines[0].startswith(found.verdict()[0]), lines[0])
        # The tables, with a word for each interrupt; never one line
        [head] = [n for n, line in enumerate(lines) if line.startswith('irq name')]
        self.assertEqual(len(lines) - head - 1, min(10, len(loads)))
        for line in lines[head + 1:]:
            self.assertRegex(line, r'[a-z]+: \S')
        for word, _, text, commands in found.helpless():
            self.assertTrue(commands, (word, text))
            for command in commands:
                self.assertEqual(os.system("sh -n -c '%s'" % command.replace("'", "'\\''")), 0, command)
        return found, lines, [command for row in found.helpless() for command in row[3]]

    def test_pi4(self):
        for chip in 'BRCM STB PCIe MSI', 'BRCM-PCI-MSIX-0000:01:00.0':
            tree = Tree()
            for irq, name in (40, 'xhci_hcd'), (41, 'wlan0'), (42, 'eth1'):
                tree.irq(irq, name, chip=chip, mode=READONLY)
            tree.nic('eth1', 42)
            tree.nic('wlan0', 41)
            found, lines, commands = self.answer(tree, {40: 120, 41: 250, 42: 425})
            self.assertEqual([row['why'] for row in found.machine.irqs.values()], ['bridge'] * 3)
            self.assertEqual(found.verdict()[0], 'No: a move cannot help')
            for device in 'eth1', 'wlan0':
                self.assertIn('echo 1 > /sys/class/net/%s/threaded' % device, commands)
                self.assertIn('echo e > /sys/class/net/%s/queues/rx-0/rps_cpus' % device, commands)
            self.assertIn("taskset -cp 1-3 $(pgrep '^irq/40-')   # boot with threadirqs before", commands)
            self.assertIn('behind brcmstb (BRCM', '\n'.join(lines))

    def test_texts(self):
        # From a trace, and a copy of /sys and /proc without what is about queues
        tree = Tree()
        for irq, name in (40, 'xhci_hcd'), (41, 'mt7921e'), (42, 'enp1s0'), (43, 'x'):
            tree.irq(irq, name, chip='BRCM-PCI-MSIX-0000:01:00.0', mode=READONLY)
        tree.write('text', text({40: (1200, ''), 41: (2500, 'dummy#'), 42: (4200, 'enp1s0'), 43: (10, 'wlan0')}).strip('\n'))
        done = subprocess.run([sys.executable, '-B', PROGRAM, 'advise', tree.top + '/text', '--sysfs', tree.top + '/sys', '--procfs', tree.top + '/proc', '--json'],
                              capture_output=True, check=False, env={**os.environ, 'REPLAY': REPLAY})
        self.assertEqual((done.returncode, done.stderr), (0, b''))
        found = json.loads(done.stdout)
        self.assertEqual((found['verdict'], found['help'], [row['why'] for row in found['cannot_help']]),
                         ('No: a move cannot help', False, ['bridge'] * 3))
        self.assertEqual([row['commands'] for row in found['cannot_help'][:2]], [
            ['echo e > /sys/class/net/%s/queues/rx-0/rps_cpus' % device, 'echo 1 > /sys/class/net/%s/threaded' % device] for device in ('enp1s0', 'wlan0')])
        self.assertEqual({(row['mask_by'], row['bridge'], row['planner']) for row in found['irqs']}, {('bridge', 'brcmstb (BRCM-PCI-MSI)', 'bridge')})

    def test_jetson(self):
        # 24 queues of two NVMe, all delivered to CPU 0; some kernels do not show where
        for shown in '0', '':
            tree = Tree(12)
            for n in range(24):
                tree.irq(100 + n, 'nvme%dq%d' % (n // 12, n % 12 + 1), str(n % 12), shown, chip='PCI-MSI', mode=READONLY)
            found, lines, commands = self.answer(tree, {100 + n: 35 for n in range(24)})
            self.assertEqual({row['why'] for row in found.machine.irqs.values()}, {'bridge'})
            self.assertEqual(found.verdict()[0], 'No: a move cannot help')
            self.assertEqual([c for c in commands if 'rq_affinity' in c], [
                'for q in /sys/block/nvme%d*/queue; do echo 2 > $q/rq_affinity; done'.replace('*', 'n*') % n for n in (0, 1)])
            self.assertIn('all of it, 84 %, arrives there', '\n'.join(lines))
        # Before 6.12 the files are writable
        for row in found.machine.irqs.values():
            row['writable'] = True
        found.machine.judge()
        self.assertEqual({row['why'] for row in found.machine.irqs.values()}, {'bridge'})

    def test_ath12k(self):
        tree = Tree()
        for n in range(5):
            tree.irq(60 + n, 'DP_EXT_IRQ%d' % n, chip='PCI-MSI-0000:01:00.0', mode=READONLY)
        tree.nic('wlan0')
        tree.write('sys/class/net/wlan0/phy80211/index', 0)
        found, _, commands = self.answer(tree, {60 + n: 172 for n in range(5)})
        self.assertEqual((found.verdict()[0], {row['why'] for row in found.machine.irqs.values()}), ('No: a move cannot help', {'bridge'}))
        self.assertIn('echo 1 > /sys/class/net/wlan0/threaded', commands)

    def test_filogic(self):
        # The router's own Ethernet can be moved, what is on PCIe cannot
        tree = Tree()
        tree.irq(20, 'eth0', chip='GICv3')
        for irq, name in (50, 'wlan0'), (51, 'wlan1'):
            tree.irq(irq, name, chip='MTK PCIe MSI', mode=READONLY)
        tree.nic('eth0', 20)
        found, _, commands = self.answer(tree, {20: 300, 50: 250, 51: 200})
        self.assertEqual([move[0] for move in found.moves], [20])
        self.assertEqual(commands, ["taskset -cp 1-3 $(pgrep '^irq/%d-')   # boot with threadirqs before" % irq for irq in (50, 51)])

    def test_designware(self):
        # Writable: each occurrence is passed on, which has a price
        for rate, moves, toll in (0, 1, 0), (25000, 1, 50000000), (400000, 0, 800000000):
            tree = Tree()
            for irq, name in (30, 'eth0'), (31, 'eth1'):
                tree.irq(irq, name, chip='DW-PCI-MSIX-0000:01:00.0')
                tree.nic(name, irq)
            found, lines, _ = self.answer(tree, {30: 300, 31: 300}, {30: 3 * rate, 31: 3 * rate})
            self.assertEqual((len(found.moves), found.measured.tolls.get(30, 0)), (moves, toll))
            self.assertEqual('toll 30 %d' % toll in found.measured.workload(), toll > 0)
            if moves:
                self.assertAlmostEqual(found.after[1], 0.3 + toll / 1e9)
                [(irq, _, cpu, _)] = found.moves
                self.assertIn('    try it now: echo %d > /proc/irq/%d/smp_affinity_list' % (cpu, irq), lines)
                self.assertIn('          back: echo 0-3 > /proc/irq/%d/smp_affinity_list' % irq, lines)
            else:
                self.assertIn('gain: ', lines[-1])
        tree = Tree()
        for irq in range(30, 33):
            tree.irq(irq, 'eth%d' % (irq - 30), chip='DW-PCI-MSIX-0000:0%d:00.0' % irq)
        found, _, _ = self.answer(tree, {30: 300, 31: 300, 32: 300})
        self.assertEqual(len(found.moves), 2)
        # Read-only, up to 6.18; before 6.12 by the kernel's version
        for chip, mode, version in ('DW-PCI-MSI-0000:01:00.0', READONLY, ''), ('PCI-MSI', 0o644, 'Linux version 6.1.75-vendor (x)'):
            tree = Tree()
            tree.write('proc/version', version)
            tree.irq(9, 'uart', chip='GICv3')
            tree.irq(30, 'eth0', chip=chip, mode=mode)
            found, _, commands = self.answer(tree, {30: 600})
            self.assertEqual((found.machine.irqs[30]['why'], found.verdict()[0]), ('bridge', 'No: a move cannot help'))
            self.assertTrue(commands)

    def test_managed(self):
        # A server's NVMe: a queue for each CPU, and one of the driver that can be moved
        tree = Tree()
        tree.irq(100, 'nvme0q0', chip='IR-PCI-MSIX-0000:01:00.0')
        for n in range(4):
            tree.irq(101 + n, 'nvme0q%d' % (n + 1), str(n), str(n), chip='IR-PCI-MSIX-0000:01:00.0', mode=READONLY)
        tree.irq(110, 'virtio1-req.0', chip='IR-PCI-MSIX-0000:02:00.0', mode=READONLY)
        tree.irq(111, 'virtio2-req.0', chip='IR-PCI-MSIX-0000:03:00.0', mode=READONLY)
        found, lines, commands = self.answer(tree, {101: 400, 110: 450})
        self.assertEqual([row['why'] for row in found.machine.irqs.values()], ['default'] + ['managed'] * 6)
        self.assertEqual(found.verdict()[0], 'No: a move cannot help')
        self.assertIn('managed: the core placed it', '\n'.join(lines))
        self.assertIn('for q in /sys/block/nvme0n*/queue; do echo 2 > $q/rq_affinity; done', commands)

    def test_driver(self):
        # Masks of one CPU that a driver wrote, two of which are on the same one
        tree = Tree()
        for n, cpu in enumerate((0, 0, 1, 2)):
            tree.irq(70 + n, 'ena-rx-%d' % n, str(cpu), str(cpu), '%x' % (1 << cpu))
        found, lines, commands = self.answer(tree, {70: 350, 71: 350})
        self.assertEqual(found.verdict()[0], 'No: a move cannot help')
        self.assertIn('for n in 70 71; do echo 0-3 > /proc/irq/$n/smp_affinity_list; done', commands)
        self.assertIn('driver: its driver chose CPU 0', '\n'.join(lines))
        [unit] = [command for command in commands if 'widen-irqs.service' in command]
        self.assertIn('for n in ena-rx-0 ena-rx-1; do for d in /proc/irq/*/$$n; do echo 0-3 >', unit)
        self.assertIn('systemctl enable widen-irqs', commands)

    def test_user(self):
        tree = Tree()
        for irq in 70, 71:
            tree.irq(irq, 'eth%d' % irq, '0', '0')
        found, lines, commands = self.answer(tree, {70: 350, 71: 350})
        self.assertEqual((found.verdict()[0], commands[0]),
                         ('No: a move cannot help', 'for n in 70 71; do echo 0-3 > /proc/irq/$n/smp_affinity_list; done'))
        tree.write('proc/70/comm', 'irqbalance')
        self.assertIn('systemctl stop irqbalance', self.answer(tree, {70: 350, 71: 350})[2][0])

    def test_alone(self):
        # One interrupt: of 90 %, and of 50 %
        for ms, word in (900, 'saturated'), (500, 'best'):
            tree = Tree()
            tree.irq(24, 'eth0-rx')
            tree.nic('eth0', 24)
            found, lines, commands = self.answer(tree, {24: ms})
            self.assertEqual((found.verdict()[0], found.helpless()[0][0]), ('No: a move cannot help', word))
            self.assertIn('best: has CPU 0 to itself', lines[-1])
            self.assertEqual(commands, ['echo e > /sys/class/net/eth0/queues/rx-0/rps_cpus', 'echo 1 > /sys/class/net/eth0/threaded'])

    def test_many_light(self):
        # 85 % of a CPU, by interrupts that are all light
        tree = Tree()
        for irq in range(100, 160):
            tree.irq(irq, 'x%d' % irq, '0', '0')
        found, lines, commands = self.answer(tree, {irq: 14 for irq in range(100, 160)})
        self.assertEqual(found.verdict()[0], 'No: a move cannot help')
        self.assertEqual(commands, ['echo 1 > /proc/irq/100/smp_affinity_list'])

    def test_base(self):
        tree = Tree()
        tree.irq(24, 'eth0-rx')
        found = advice(tree, {(0, ('base', 0)): 850, (0, ('hard', 24)): 5})
        self.assertEqual((found.verdict()[0], [row[0] for row in found.helpless()]), ('No: a move cannot help', ['base']))
        self.assertTrue(found.helpless()[0][3])
        self.assertGreater(len(advise.page(found, None)), 8)

    def test_names(self):
        online = {0, 1, 2, 3}
        row = {'name': 'eth0', 'listed': online, 'cpu': 0, 'writable': False, 'known': False}
        for chip, name in (('BRCM-PCI-MSI-0000:01:00.0', 'brcmstb'), ('MTK3-PCI-MSIX-0000:01:00.0', 'mediatek-gen3'), ('MTK PCIe MSI', 'mediatek'),
                           ('RCAR-PCI-MSI-0000:01:00.0', 'rcar'), ('Tegra PCIe MSI', 'tegra'), ('advk-PCI-MSI-0000:01:00.0', 'aardvark'),
                           ('PLDA-PCI-MSI-0000:01:00.0', 'plda'), ('RZG3S-PCI-MSI-0000:01:00.0', 'rzg3s'), ('nwl-PCI-MSI-0000:01:00.0', 'xilinx'),
                           ('Altera-PCI-MSI-0000:01:00.0', 'altera'), ('Mobiveil-PCI-MSI-0000:01:00.0', 'mobiveil'),
                           ('ASPEED-PCI-MSI-0000:01:00.0', 'aspeed'), ('VMD-PCI-MSIX-10000:e1:00.0', 'vmd'), ('DW-PCI-MSI-0000:01:00.0', 'DesignWare')):
            self.assertTrue(boards.bridges({24: dict(row, chip=chip)}, online)[24].startswith(name + ' ('), chip)
        # One that is not known, by its masks; and none, where one of them is writable, or on a single CPU
        one, two = dict(row, chip='NEW-PCI-MSI-0000:01:00.0'), dict(row, chip='NEW-PCI-MSIX-0000:02:00.0')
        self.assertEqual(boards.bridges({24: one, 25: two}, online), {24: 'NEW-PCI-MSI', 25: 'NEW-PCI-MSI'})
        self.assertEqual(boards.bridges({24: one, 25: dict(two, writable=True)}, online), {})
        self.assertEqual(boards.bridges({24: dict(one, listed={0})}, {0}), {})
        self.assertEqual(boards.bridges({24: dict(one, name='virtio0-req.0')}, online), {})
        self.assertEqual(boards.bridges({24: dict(one, known=True), 25: dict(two, known=True)}, online), {})
        # Where one arrives: read-only one is enough, of those that can be written two on a CPU
        away = dict(one, listed={2}, name='nvme0q3')
        self.assertEqual(boards.bridges({24: away}, online), {24: 'NEW-PCI-MSI'})
        away['writable'] = True
        self.assertEqual(boards.bridges({24: away}, online), {})
        self.assertEqual(boards.bridges({24: away, 25: dict(away, listed={1})}, online), {24: 'NEW-PCI-MSI', 25: 'NEW-PCI-MSI'})
        self.assertEqual(boards.bridges({24: away, 25: dict(away, cpu=1)}, online), {})


if __name__ == '__main__':
    unittest.main()
