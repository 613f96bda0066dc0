#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""pic-order against exact fractions: python3 -m unittest test_pic_order

PIC_ORDER names the program, where it is not beside this; SEED and COUNT vary the
random loads.
"""
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
from fractions import Fraction
from math import inf

PROGRAM = os.environ.get('PIC_ORDER') or os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pic-order')
MILLION, HUGE = 10 ** 6, 2 ** 32 - 1
LINES = [irq for irq in range(16) if irq != 2]


def run(*arguments, text=None):
    return subprocess.run([PROGRAM] + [str(a) for a in arguments], input=text, capture_output=True, text=True, check=False)


def order(master, slave):
    lines = []
    for line in ((master + i) % 8 for i in range(8)):
        lines += [line] if line != 2 else [8 + (slave + j) % 8 for j in range(8)]
    return lines


def rows(master, slave):
    return ['%d %d %s%d' % (rank, irq, 'MS'[irq > 7], irq % 8) for rank, irq in enumerate(order(master, slave))]


def latencies(master, slave, load, known):
    """{irq: us}: the longest handler behind it and all that comes ahead of it meanwhile.

    It does not depend on the order of those ahead: KNOWN has what was computed of LOAD before."""
    lines, found = [irq for irq in order(master, slave) if irq in load], {}
    for rank, irq in enumerate(lines):
        behind = max([load[i][0] for i in lines[rank + 1:]], default=0)
        key = frozenset(lines[:rank]), behind
        if key not in known:
            ahead = [load[i][:2] for i in lines[:rank]]
            last, now = None, inf if sum(cost * rate for cost, rate in ahead) >= MILLION else 0
            while now not in (last, inf):
                last, now = now, behind + sum((now * rate // MILLION + 1) * cost for cost, rate in ahead)
            known[key] = now
        found[irq] = known[key]
    return found


def deadline(line):
    return Fraction(line[2]) if line[2] else Fraction(MILLION, line[1]) if line[1] else inf


def worst(found, load):
    return max((inf if us == inf else us / deadline(load[irq]) if deadline(load[irq]) != inf else 0
                for irq, us in found.items()), default=0)


def expected(master, slave, load):
    known = {}
    lines, found = rows(master, slave), latencies(master, slave, load, known)
    for irq in sorted(found):
        ranks = [i for i in order(master, slave) if i in load]
        full = sum(load[i][0] * load[i][1] for i in ranks[:ranks.index(irq) + 1]) > MILLION
        lines.append('latency %d - unbounded' % irq if found[irq] == inf else
                     'latency %d %d %s' % (irq, found[irq], 'late' if full or found[irq] > deadline(load[irq]) else 'ok'))
    best = min((worst(latencies(m, s, load, known), load), m, s) for m in range(8) for s in range(8, 16))
    return '\n'.join(lines + ['best %d %d' % best[1:]]) + '\n'


def waited(ahead, behind, load):
    """The same by serving each request, without an equation: all come at once, beside the longest of BEHIND."""
    now, served = max((load[i][0] for i in behind), default=0), dict.fromkeys(ahead, 0)
    while True:
        pending = [irq for irq in ahead if served[irq] * MILLION <= now * load[irq][1] or not served[irq]]
        if not pending:
            return now
        served[pending[0]] += 1
        now += load[pending[0]][0]


def best_served(load):
    """The best of all orders, and the latencies of each, one request after the other"""
    found = {}
    for master in range(8):
        for slave in range(8, 16):
            lines = [irq for irq in order(master, slave) if irq in load]
            found[master, slave] = {irq: waited(lines[:rank], lines[rank + 1:], load) for rank, irq in enumerate(lines)}
    return min(found, key=lambda key: (worst(found[key], load), key)), found


def as_text(load):
    return ''.join('irq %d %d %d%s\n' % (irq, c, r, ' %d' % d if d else '') for irq, (c, r, d) in load.items())


def random_load(rnd):
    kind, count = rnd.random(), rnd.randint(0, 15)
    load = {}
    for irq in rnd.sample(LINES, count):
        cost, rate = rnd.randint(0, 3000), rnd.choice([0, 1, 10, 100, 1000])
        if kind < .1:
            cost, rate = rnd.randint(0, HUGE), rnd.choice([0, 1, rnd.randint(0, HUGE)])
        elif kind < .75:
            cost = rnd.randint(1, 300)
            rate = int(MILLION / cost / count * rnd.uniform(.5, 1.1))
        load[irq] = cost, rate, rnd.choice([0, 0, 0, rnd.randint(1, 5000), rnd.randint(1, HUGE)])
    return load


class PicOrder(unittest.TestCase):
    def compare(self, master, slave, load):
        done = run(master, slave, '--latency', '-', text=as_text(load))
        self.assertEqual((done.stdout, done.stderr), (expected(master, slave, load), ''), (master, slave, load))
        return done.stdout

    def test_orders(self):
        for master in range(8):
            for slave in range(8, 16):
                self.assertEqual(run(master, slave).stdout.splitlines(), rows(master, slave))
        # As the FAQ of the 8259A has it: ten devices come ahead of IRQ 3 by default
        self.assertEqual(run(0, 8).stdout.splitlines()[10], '10 3 M3')

    def test_faq(self):
        load = {0: (190, 10, 0), 1: (320, 10, 0), 3: (10, 838, 1194), 12: (300, 10, 0), 14: (500, 10, 0)}
        self.assertIn('latency 3 1310 late', self.compare(0, 8, load))
        self.assertIn('latency 3 500 ok', self.compare(3, 14, load))

    def test_boundaries(self):
        for master, slave, load in (
                (5, 9, {}), (5, 9, {7: (100, 100, 0)}),
                (0, 8, {3: (1, 1000, 0), 4: (1000, 1, 0)}), (0, 8, {3: (1, 1000, 700), 4: (700, 1, 0)}),
                (0, 8, {3: (1, 1001, 0), 4: (1000, 1, 0)}), (0, 8, {0: (400, 1000, 0), 3: (1, 1, 0), 4: (600, 1, 0)}),
                # Two solutions, of which the lower one counts: 700 and 1100
                (0, 8, {0: (400, 1000, 0), 1: (300, 0, 0), 3: (1, 1, 0)}),
                # In time, but without time for all its requests
                *[(master, 8, {0: (100, 1000, 0), 3: (cost, rate, 0), 4: (0, 0, 0)})
                  for master in (0, 3) for cost in (900, 901) for rate in (1000, 2000)],
                (0, 8, {0: (100, 9990, 0), 1: (5, 5, 0), 3: (7, 7, 0)}), (0, 8, {0: (1, 999999, 0), 1: (5, 5, 0), 3: (7, 7, 0)}),
                (0, 8, {0: (500, 1000, 0), 1: (1000, 500, 0), 3: (0, 0, 0)}), (3, 14, {i: (1000, 1000, 0) for i in LINES}),
                (0, 8, {0: (HUGE, HUGE, 0), 1: (HUGE, HUGE, 0), 3: (1, 1, 0)}),
                (7, 15, {3: (10, 10, 0)}), (7, 15, {9: (100, 10, 150), 11: (100, 10, 5000)})):
            with self.subTest(load):
                self.compare(master, slave, load)
        text = '\n# a comment\n  irq\t3 10 838 1194 # another\r\n\nirq 12 500 10'
        self.assertEqual(run(0, 8, '--latency', '-', text=text).stdout, expected(0, 8, {3: (10, 838, 1194), 12: (500, 10, 0)}))

    def test_forms(self):
        for words in ('3,14',), (3,), ('3', '14'):
            self.assertEqual(run(*words).stdout, '\n'.join(rows(3, 14)) + '\n')
        usage = run('--help').stdout
        self.assertIn('usage', usage)
        self.assertLessEqual(max(map(len, usage.splitlines())), 80)

    def test_random(self):
        rnd = random.Random(int(os.environ.get('SEED', 20031107)))
        for _ in range(int(os.environ.get('COUNT', 100))):
            self.compare(rnd.randint(0, 7), rnd.randint(8, 15), random_load(rnd))

    def test_served(self):
        rnd = random.Random(int(os.environ.get('SEED', 20031107)))
        for _ in range(int(os.environ.get('COUNT', 100)) // 3):
            count, load = rnd.randint(2, 12), {}
            # Round ones among them: requests come as a handler ends
            for irq in rnd.sample(LINES, count):
                cost = rnd.randint(1, 30) * rnd.choice([7, 20])
                rate = max(r for r in (1, 2, 10, 20, 50, 100, 250, 1000, 5000) if cost * r * count <= rnd.uniform(.3, .9) * MILLION)
                load[irq] = cost, rate, rnd.choice([0, 0, rnd.randint(1, 5000)])
            best, found = best_served(load)
            for now in best, (rnd.randint(0, 7), rnd.randint(8, 15)):
                rows = run(*now, '--latency', '-', text=as_text(load)).stdout.splitlines()[15:]
                self.assertEqual(rows[-1], 'best %d %d' % best, load)
                self.assertEqual({int(row.split()[1]): int(row.split()[2]) for row in rows[:-1]}, found[now], load)

    def test_refusals(self):
        arguments = [((), ''), (('3,',), '8..15'), ((3, 14, 5), ''), (('', 14), ''), ((8, 14), '0..7'), ((3, 7), '8..15'), ((3, 16), '8..15'),
                     ((-1, 14), ''), (('+3', 14), ''), ((' 3', 14), ''), (('3,14,1',), ''), (('3,14', 14), ''), (('0x3', 14), ''), (('0003', 14), ''), ((3, '14x'), ''),
                     ((2 ** 32 + 3, 14), ''), ((2 ** 64 + 3, 14), ''), ((3, 14, '--latency'), ''), ((3, 14, '--wrong', '-'), ''),
                     ((3, 14, '--latency', '/none'), ''), ((3, 14, '--latency', '/'), ''),
                     *[((*words, '--measure'), 'usage') for words in ((3,), (3, 14), ('--latency', '-'))],
                     *[((3, 14, *words), 'usage') for words in (('--apply',), ('--seconds', 1), ('--deadline', '3=1'), ('--root', '/none'))],
                     *[(('--measure', '--seconds', n), '1..3600') for n in ('', 0, 3601, -1, '1s')],
                     *[(('--measure', '--deadline', text), 'IRQ=US') for text in ('', 3, '3=', '3=0', '2=5', '16=5', '=5', '3=4294967296', '3:5')]]
        for row in ('irq', 'irq 3 10', 'irq 3 10 10 10 10', 'irq 2 10 10', 'irq 16 10 10', 'irq -1 10 10', 'irq x 10 10', 'irq 3 1.5 10',
                    'irq 3 10 10 0', 'irq 3 4294967296 10', 'IRQ 3 10 10', '3 10 10', 'irq 3 10 10x', 'irq 3 10 10\nirq 3 10 10',
                    'irq 3 10 10\0', '#' * 70000, 'latency 3 10 10'):
            arguments.append(((0, 8, '--latency', '-'), '-:', 'irq 5 1 1\n' + row + '\n'))
        for words in '3 14', '--help':
            self.assertEqual(subprocess.run(['sh', '-c', '"$0" %s >/dev/full 2>&-' % words, PROGRAM], check=False).returncode, 2)
        for words, message, *text in arguments:
            with self.subTest((words, text)):
                done = run(*words, text=''.join(text))
                self.assertTrue(done.returncode and not done.stdout and done.stderr.strip() and message in done.stderr, done)
                self.assertNotRegex(done.stderr, 'runtime error|Sanitizer')


class Tree:
    """Files of a kernel with an 8259A. While it runs, LOAD {irq: (cost_us, rate_hz)} counts up."""

    def __init__(self, load):
        self.top, self.load, self.stop = tempfile.mkdtemp(), load, threading.Event()
        for irq in range(16):
            self.write('sys/kernel/irq/%d/chip_name' % irq, 'XT-PIC\n' if irq < 15 else 'IO-APIC\n')
            self.write('sys/kernel/irq/%d/actions' % irq, 'dev%d,other\n' % irq if irq % 2 else '\n')
            self.write('sys/kernel/irq/%d/per_cpu_count' % irq, '0,5\n')
        self.write('sys/kernel/i8259_priority/priority', 'default\n')
        self.write('sys/kernel/debug/irq_load', '')
        self.count(0)
        self.thread = threading.Thread(target=self.run)

    def write(self, name, text):
        path = os.path.join(self.top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + '~', 'w', encoding='ascii') as file:
            file.write(text)
        os.rename(path + '~', path)

    def read(self, name):
        with open(os.path.join(self.top, name), encoding='ascii') as file:
            return file.read()

    def count(self, seconds):
        rows = 'irq cpu hard_ns soft_ns thread_ns\n'
        for irq, (cost, rate) in self.load.items():
            runs = int(seconds * rate)
            self.write('sys/kernel/irq/%d/per_cpu_count' % irq, '%d,5\n' % runs)
            rows += '%3d   0 %13d %13d %13d\n' % (irq, 1000 * cost * runs, 10 ** 12 + runs, 7)
        # In place: pic-order keeps this one open
        with open(os.path.join(self.top, 'sys/kernel/debug/irq_load'), 'r+', encoding='ascii') as file:
            file.write(rows + '300   1 %13d %13d %13d\n' % (10 ** 9 * seconds, 0, 0))

    def run(self):
        begin = time.monotonic()
        while not self.stop.wait(.01):
            self.count(time.monotonic() - begin)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.stop.set()
        self.thread.join()
        shutil.rmtree(self.top)


class Measure(unittest.TestCase):
    def measure(self, tree, *arguments):
        done = run('--measure', '--seconds', 1, '--root', tree.top, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ''), done)
        return done.stdout.splitlines()

    def test_apply(self):
        load = {0: (10, 250), 3: (25, 400), 10: (600, 50), 14: (900, 50)}
        with Tree(load) as tree:
            found = self.measure(tree, '--deadline', '3=1200', '--apply')
            rows = [row.split() for row in found if row.startswith('irq ')]
            self.assertEqual([int(row[1]) for row in rows], sorted(load))
            for row in rows:
                for got, wanted in zip(row[2:4], load[int(row[1])]):
                    self.assertTrue(wanted / 3 <= int(got) <= wanted * 4, (rows, load))
            self.assertEqual(rows[1][4:], ['1200', '#', 'dev3,other'])
            self.assertEqual([len(row) for row in rows], [4, 7, 4, 4])
            measured = {int(row[1]): (int(row[2]), int(row[3]), 1200 if row[1] == '3' else 0) for row in rows}
            # The latencies in the order in force, the best order, and those in that
            default = expected(0, 8, measured).splitlines()[15:]
            best = default[-1].split()[1:]
            self.assertEqual(found[4:], ['now 0 8', *default, *expected(*map(int, best), measured).splitlines()[15:-1],
                                         'applied ' + ' '.join(best)])
            self.assertNotEqual(best, ['0', '8'])
            self.assertEqual(tree.read('sys/kernel/i8259_priority/priority'), ','.join(best) + '\n')
            # Its rows can be read again
            text = '\n'.join(found[:4])
            self.assertEqual(run(0, 8, '--latency', '-', text=text).stdout.splitlines()[15:], default)

    def test_kept(self):
        # All orders are alike
        with Tree({4: (100, 50)}) as tree:
            tree.write('sys/kernel/i8259_priority/priority', '5,11\n')
            found = self.measure(tree, '--apply')
            self.assertEqual(found[1:], ['now 5 11', 'latency 4 0 ok', 'best 0 8', 'latency 4 0 ok', 'kept 5 11'])
            self.assertEqual(tree.read('sys/kernel/i8259_priority/priority'), '5,11\n')

    def test_not_applied(self):
        # A kernel without a choice of the order, and a line whose time is not known
        with Tree({3: (25, 400), 10: (600, 50), 14: (900, 50)}) as tree:
            shutil.rmtree(tree.top + '/sys/kernel/i8259_priority')
            found = self.measure(tree)
            self.assertTrue('now 0 8' in found and 'best 3 8' in found, found)
            tree.load = {3: (0, 400), 14: (900, 50)}
            done = run('--measure', '--seconds', 1, '--root', tree.top)
            self.assertIn('no time was measured for IRQ 3', done.stderr)

    def test_missing(self):
        def refused(message, *arguments):
            done = run('--measure', '--seconds', 1, '--root', tree.top, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ''), done)
            self.assertIn(message, done.stderr)
            self.assertNotRegex(done.stderr, 'runtime error|Sanitizer')
        tree = Tree({})
        self.addCleanup(shutil.rmtree, tree.top)
        refused('no interrupts in 1 s')
        refused('--deadline: IRQ 15 is not of the 8259A', '--deadline', '15=5')
        for rows in '', 'irq cpu load\n', 'irq hard_ns cpu\n1 2\n', 'irq hard_ns cpu\n1 2 3 4\n', 'irq hard_ns cpu\n1 x 3\n':
            tree.write('sys/kernel/debug/irq_load', rows)
            refused('/irq_load: ')
        os.remove(tree.top + '/sys/kernel/debug/irq_load')
        refused('CONFIG_IRQ_LOAD_DEBUGFS')
        tree.write('sys/kernel/debug/irq_load', 'irq hard_ns\n')
        for text in '', 'auto\n', '9,8\n':
            tree.write('sys/kernel/i8259_priority/priority', text)
            refused('expected MASTER,SLAVE or default')
        os.remove(tree.top + '/sys/kernel/i8259_priority/priority')
        refused('--apply needs a kernel with CONFIG_I8259_PRIORITY', '--apply')
        tree.write('sys/kernel/irq/3/per_cpu_count', 'many\n')
        refused('/sys/kernel/irq/3/per_cpu_count: expected numbers')
        os.remove(tree.top + '/sys/kernel/irq/3/per_cpu_count')
        refused('/sys/kernel/irq/3/per_cpu_count: No such file')
        for irq in range(15):
            tree.write('sys/kernel/irq/%d/chip_name' % irq, 'IO-APIC\n' if irq != 2 else 'XT-PIC\n')
        refused('no interrupt goes through the 8259A')
        shutil.rmtree(tree.top + '/sys/kernel/irq')
        refused('is sysfs mounted?')


if __name__ == '__main__':
    unittest.main()
