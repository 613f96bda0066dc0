#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""irqload on made-up trees and recordings: python3 -m unittest test_irqload"""
import ast
import contextlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import common
import live
import loadmap

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'irqload.py')
WORK = tempfile.TemporaryDirectory()
IRQS = 'sys/kernel/debug/irq_load'


def tearDownModule():
    WORK.cleanup()


class Tree:
    """A /sys, and a /proc beside it."""

    def __init__(self):
        self.top = tempfile.mkdtemp(dir=WORK.name)
        self.write('sys/kernel/irq_balance/state', 'observe')
        self.write('sys/kernel/debug/irq_balance/cpus', 'cpu load_ns_per_s base_ns_per_s\n0 410000000 5000000\n 10 0 0')
        self.times = {}

    def write(self, path, value):
        path = self.top + '/' + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as file:
            file.write('%s\n' % value)

    def remove(self, path):
        shutil.rmtree(self.top + '/' + path)

    def irq(self, irq, name, *sums, cpu='0', status='movable'):
        for file, value in dict(actions=name, chip_name='PCI-MSIX-0000:02:00.0', per_cpu_count=sums[3],
                                balance_status=status, load_ns_per_s=1000000).items():
            self.write('sys/kernel/irq/%d/%s' % (irq, file), value)
        self.times[irq] = '%d 0 %s %s %s\n' % (irq, *sums[:3])
        self.write(IRQS, 'irq cpu hard_ns soft_ns thread_ns\n' + ''.join(self.times.values()))
        self.write('proc/irq/%d/effective_affinity_list' % irq, cpu)

    def arguments(self, *more):
        return ['--sysfs', self.top + '/sys', '--procfs', self.top + '/proc', *more]

    def between(self, *changes, more=()):
        """The intervals of irqload --json when one of CHANGES happens in each."""
        out, steps = io.StringIO(), iter(changes)
        with contextlib.redirect_stdout(out):
            live.run(self.arguments('--json', '--count', str(len(changes)), *more), lambda seconds: next(steps)())
        return out.getvalue()


def rows(record):
    return {row['irq']: row for row in record['irqs']}


def records(text):
    return [json.loads(line) for line in text.splitlines()]


class Measuring(unittest.TestCase):
    def setUp(self):
        self.tree = Tree()

    def test_differences(self):
        # before, after, expected; None: the interrupt is not shown
        cases = (
            ('cost and count', (1000, 2000, 3000, '4,6'), (601000, 302000, 103000, '104,6'), [600000, 300000, 100000, 100]),
            ('a time that steps back is none', (100, 100, 0, 100), (50100, 90, 0, 101), [50000, 0, 0, 1]),
            ('idle', (7, 0, 0, 7), (7, 0, 0, 7), [0, 0, 0, 0]),
            ('another interrupt with this number', (1000, 0, 0, 1000), (5, 0, 0, 5), None),
            ('rubbish', (1, 1, 1, 1), (2, 1, 1, 'garbage'), None))
        for what, before, after, expected in cases:
            with self.subTest(what):
                self.tree.irq(24, 'eth0', *before)
                [record] = records(self.tree.between(lambda a=after: self.tree.irq(24, 'eth0', *a, cpu='2-3', status='managed')))
                self.assertEqual([rows(record)[24][k] for k in loadmap.PARTS + ('count',)] if 24 in rows(record) else None, expected)
                if expected:
                    self.assertEqual(rows(record)[24]['ns'], sum(expected[:3]))
                    self.assertEqual((rows(record)[24]['cpus'], rows(record)[24]['status']), ('2-3', 'managed'))

    def test_appear_and_disappear(self):
        self.tree.irq(24, 'eth0', 1, 1, 1, 1)
        self.tree.irq(26, '', 5, 5, 5, 5)
        a, b = records(self.tree.between(
            lambda: (self.tree.remove('sys/kernel/irq/24'), self.tree.irq(25, 'eth1', 0, 0, 0, 0)),
            lambda: (self.tree.irq(25, 'eth1', 9, 0, 0, 3), self.tree.write('sys/kernel/irq_balance/state', 'off'))))
        self.assertEqual((sorted(rows(a)), sorted(rows(b)), rows(b)[25]['count']), ([], [25], 3))
        self.assertEqual((a['state'], b['state'], [cpu['cpu'] for cpu in b['cpus']]), ('observe', 'off', [0, 10]))

    def test_without_debugfs(self):
        self.tree.irq(24, 'eth0', 1, 1, 1, 10)
        self.tree.remove('sys/kernel/debug')
        # The kernel's page ends behind a comma
        text = self.tree.between(lambda: self.tree.write('sys/kernel/irq/24/per_cpu_count', '30,0,'))
        [row] = live.parse(text.encode())['irqs']
        self.assertEqual([row[k] for k in loadmap.PARTS + ('count',)], [None, None, None, 20])
        self.assertAlmostEqual(row['ns'] / row['seconds'], 1000000, delta=50000)
        lines = live.table(live.total(records(text) * 2))
        self.assertEqual(lines[2].split()[3:8], ['0.10', '-', '-', '-', '-'])

    def test_late(self):
        def late(seconds):
            self.assertGreaterEqual(seconds, 0)
            time.sleep(0.2)
        self.tree.irq(24, 'eth0', 0, 0, 0, 0)
        with contextlib.redirect_stdout(io.StringIO()):
            live.run(self.tree.arguments('--json', '--count', '3', '--interval', '0.05'), late)

    def test_table(self):
        self.tree.irq(24, 'eth0 \x1b[2J', 0, 0, 0, 0)
        [record] = records(self.tree.between(lambda: self.tree.irq(24, 'eth0 \x1b[2J', 600000, 300000, 100000, 100)))
        record['seconds'] = record['irqs'][0]['seconds'] = 2.0
        lines = live.table(record)
        self.assertEqual([line.split() for line in lines[1:]], [
            ['CPU', '0', '10'], ['load', '41.0', '0.0'], ['base', '0.5', '0.0'],
            'irq name chip cpu% hard soft thread ns/irq rate/s on status'.split(),
            '24 eth0 ?[2J PCI-MSIX 0.05 0.03 0.01 0.01 10000 50 0 movable'.split()])
        self.assertLessEqual(max(map(len, live.table(record, width=75))), 75)
        one = dict(record['irqs'][0])
        record['irqs'] = [dict(one, irq=1, ns=9), dict(one, irq=2, ns=10 ** 9, count=1), dict(one, irq=3, cpus='')]
        for key, first in ('cost', 2), ('ns', 2), ('rate', 1), ('irq', 1), ('cpu', 2):
            self.assertEqual(live.table(record, key)[5].split()[0], str(first), key)


class Program(unittest.TestCase):
    def run_it(self, *arguments, text=None):
        return subprocess.run([sys.executable, PROGRAM, *arguments], input=text, capture_output=True, text=True, check=False,
                              errors='surrogateescape')

    def test_recording(self):
        tree = Tree()
        tree.irq(24, 'eth0', 0, 0, 0, 0)
        text = tree.between(lambda: tree.irq(24, 'eth0', 100, 200, 300, 1), lambda: tree.irq(24, 'eth0', 150, 250, 400, 3))
        self.assertEqual(self.run_it('--from', '-', '--json', text=text).stdout, text)
        [whole] = records(self.run_it('--from', '-', '--once', '--json', text=text).stdout)
        self.assertEqual([rows(whole)[24][k] for k in loadmap.SUMS], [150, 250, 400, 800, 3])
        self.assertEqual(self.run_it('--from', '-', text=text).stdout.count('balancer observe'), 2)
        good = json.loads(text.splitlines()[0])
        wrong = [dict(good, **w) for w in (
            {'seconds': 5e-324}, {'time': 1e17}, {'time': -1e17}, {'irqs': ''}, {'irqs': good['irqs'] * 2}, {'state': ['x']}, {'state': '\x1b[2J'},
            *({'cpus': [{'cpu': cpu, 'load_ns_per_s': 0, 'base_ns_per_s': 0}]} for cpu in (True, -1, 0.5, '0')))]
        for line in (*map(json.dumps, wrong), json.dumps(good)[:-1] + ', "seconds": 7.0}', '\udcff',
                     'x', '1', '[]', 'null', text[:50], json.dumps(dict(good, format='irqload 1')), json.dumps(dict(good, irqs=[3])),
                     json.dumps(dict(good, seconds='1')), json.dumps(dict(good, cpus=None)), json.dumps(dict(good, seconds=float('nan'))),
                     json.dumps(dict(good, seconds=1e300)), json.dumps(dict(good, seconds=0)), text.splitlines()[0].replace('300', '9' * 40),
                     '[' * 100000, '\x00', *(json.dumps(dict(good, irqs=[dict(good['irqs'][0], **wrong)])) for wrong in (
                         {'irq': -1}, {'hard_ns': None}, {'irq': True}, {'seconds': 5e-324}, {'count': 1.5}, {'name': '\ud800'}, {'cpus': 'x'}, {'irq': '3'}, {'name': None}, {'cpus': 0}, {'count': -1}, {'seconds': 0}))):
            with self.subTest(line[:40]):
                self.refused('-:2', '--from', '-', '--once', text=text.splitlines()[0] + '\n' + line + '\n')
        with open(tree.top + '/bad', 'w') as file:
            file.write(text + 'x\n')
        self.refused('bad:3', '--from', tree.top + '/bad')
        self.refused(PROGRAM + ' --json', '--from', tree.top + '/bad')
        long = json.dumps(dict(good, irqs=[dict(good['irqs'][0], cpus='9' * 5000)])) + '\n'
        self.assertEqual(self.run_it('--from', '-', '--sort', 'cpu', text=long).returncode, 0)

    @unittest.skipUnless(importlib.util.find_spec('matplotlib'), 'no matplotlib')
    def test_pictures(self):
        tree = Tree()
        tree.irq(24, '$\\frac$', 0, 0, 0, 0)
        text = tree.between(lambda: tree.irq(24, '$\\frac$', 100, 200, 300, 1))
        os.symlink('/dev/full', tree.top + '/full.png')
        os.mkdir(tree.top + '/d.png')
        for name in 'full.png', 'd.png', 'none/x.png':
            self.refused(name, '--from', '-', '--plot', tree.top + '/' + name, text='x')
        for name, start in ('x.svg', b'<?xml'), ('x.png', b'\x89PNG'):
            found = self.run_it('--from', '-', '--plot', tree.top + '/' + name, text=text)
            with open(tree.top + '/' + name, 'rb') as file:
                self.assertTrue(file.read().startswith(start), found.stderr)

    def test_output(self):
        tree = Tree()
        tree.irq(24, 'br\xe9', 0, 0, 0, 0)
        text = tree.between(lambda: tree.irq(24, 'br\xe9', 100, 200, 300, 1))
        done = subprocess.run([sys.executable, PROGRAM, '--from', '-'], input=text.encode(), capture_output=True, check=False,
                              env=dict(os.environ, PYTHONIOENCODING='ascii'))
        self.assertEqual((done.returncode, done.stderr), (0, b''))
        for where in '>/dev/full', '>&-':
            done = subprocess.run(['sh', '-c', '"$0" "$1" --from - --json ' + where, sys.executable, PROGRAM],
                                  input=text, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr[:9], done.stderr.count('Traceback')), (2, 'irqload: ', 0), done.stderr)

    def refused(self, message, *arguments, text=None, status=2):
        found = self.run_it(*arguments, text=text)
        self.assertEqual((found.returncode, found.stdout), (status, ''), found.stderr)
        self.assertIn(message, found.stderr)
        self.assertNotIn('Traceback', found.stderr)

    def test_refusals(self):
        tree = Tree()
        self.refused('no %s/sys/kernel/irq' % tree.top, *tree.arguments('--once'), status=1)
        tree.irq(24, 'eth0', 1, 1, 1, 1)
        for rubbish in 'cpu load_ns_per_s\n0 1', 'cpu load_ns_per_s base_ns_per_s\n0 x 1', 'cpu load_ns_per_s base_ns_per_s\n0 %s 1' % ('9' * 5000):
            tree.write('sys/kernel/debug/irq_balance/cpus', rubbish)
            self.refused('balance/cpus: ', *tree.arguments('--once'))
        tree.write('sys/kernel/debug/irq_balance/cpus', '')
        tree.irq(24, 'eth0', 'x', 1, 1, 1)
        self.refused('irq_load: ', *tree.arguments('--once'))
        tree.irq(24, 'eth0', 1, 1, 1, '9' * 5000)
        self.assertEqual(self.run_it(*tree.arguments('--once', '--interval', '0.05')).returncode, 0)
        os.unlink(tree.top + '/' + IRQS)
        os.unlink(tree.top + '/sys/kernel/irq/24/load_ns_per_s')
        self.refused('as root', *tree.arguments('--once'), status=1)
        done = subprocess.run(['sh', '-c', '"$0" "$1" --from - <&-', sys.executable, PROGRAM], capture_output=True, text=True, check=False)
        self.assertIn('input is closed', done.stderr)
        tree.write('sys/kernel/irq_balance/state', 'off')
        self.refused('echo observe > %s' % tree.top, *tree.arguments('--once'), status=1)
        tree.remove('sys/kernel/irq_balance')
        self.refused(PROGRAM + ' advise', *tree.arguments('--once'), status=1)
        self.refused('CONFIG_IRQ_BALANCE', *tree.arguments('--once'), status=1)
        self.refused('No such file', '--from', tree.top + '/none')
        self.refused('empty', '--from', '-', '--once', text='\n')
        self.refused('empty', '--from', '-', text='')
        self.refused('--plot draws', '--from', '-', '--plot', 'x.gif', text='')
        for arguments in (['--interval', '0'], ['--interval', '-1'], ['vise'], ['--interval', 'nan'], ['--count', '0'], ['--count', 'x'], ['--sort', 'beauty'],
                          ['--wrong'], ['file'], ['--from', 'x', '--interval', '5'], ['--from', ''], ['--sysfs', ''], ['--onc'],
                          ['--count', '1_0'], ['--count', '\u0663'], ['--interval', '1_0'], ['--once', '--count', '3'], ['--from', 'x', '--sysfs', 'y']):
            self.refused('irqload', *arguments)

    def test_help(self):
        # A page for each verb, in a terminal
        for verb in '', 'advise', 'record', 'replay', 'order':
            if verb in ('replay', 'order') and not os.path.exists(os.path.join(os.path.dirname(PROGRAM), {'replay': 'replay', 'order': 'pic-order'}[verb])):
                continue
            with self.subTest(verb):
                done = self.run_it(*filter(None, [verb]), '--help')
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                lines = done.stdout.splitlines()
                self.assertLessEqual((max(map(len, lines)), len(lines) > 36), (80, False))
                self.assertRegex(done.stdout, 'usage: irqload ' + verb)

    def test_name(self):
        # Messages have the command as it was called
        with tempfile.TemporaryDirectory() as top:
            os.symlink(PROGRAM, top + '/irq load')
            found = subprocess.run([top + '/irq load', '--once', '--sysfs', self.empty(top)], capture_output=True, text=True, check=False)
            self.assertIn("sudo '%s/irq load' advise" % top, found.stderr)
            with unittest.mock.patch('sys.argv', [top + '/irq load', 'record', '--seconds', '3']):
                self.assertEqual(common.called(), "'%s/irq load' record" % top)

    @staticmethod
    def empty(top):
        os.makedirs(top + '/sys/kernel/irq')
        return top + '/sys'

    def test_old_python(self):
        for version in '2.7', '3.4', '3.6':
            python = shutil.which('python' + version)
            if python:
                done = subprocess.run([python, PROGRAM, 'advise'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
                if done.returncode != 127:
                    self.assertEqual((done.returncode, done.stderr[:47]), (2, b'irqload: Python 3.7 or newer is required, this '))
        # Each that comes parses the file
        with open(PROGRAM, encoding='utf-8') as file:
            self.assertFalse(re.search(r"\bf['\"]|print\(.*file=|:=|async |nonlocal ", file.read()))

    def test_layers(self):
        # No module imports one that imports it, over others either; python3.7 has all that they use
        here, above = os.path.dirname(PROGRAM), {}
        for name in 'irqload.py', 'common.py', 'instance.py', 'tracetimes.py', 'tracetext.py', 'loadmap.py', 'boards.py', 'machine.py', 'measure.py', \
                'remedy.py', 'advise.py', 'record.py', 'live.py':
            with open(os.path.join(here, name), encoding='utf-8') as file:
                tree = ast.parse(file.read(), feature_version=(3, 7))
            found = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
            found |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            above[name.split('.')[0]] = {other for other in found if os.path.exists(os.path.join(here, other + '.py'))}
        while above:
            lowest = [name for name, below in above.items() if not below & set(above)]
            self.assertTrue(lowest, above)
            above = {name: below for name, below in above.items() if name not in lowest}

    def test_others(self):
        # The comparisons of this directory end before they begin
        for words in ('peers.py --cases 0', 'peers.py --cases -1', 'peers.py --case 1', 'peers.py --plot /none/x.svg', 'peers.py --plot x.gif',
                      'peers.py --cases 1', 'quality.py --cases 0 --large 0', 'quality.py --cases -1', 'quality.py --seconds nan',
                      'mutants.py --only nothing', 'mutants.py --every 0', 'mutants.py --seeds -1', 'mutants.py --from -1',
                      'mutants.py --plan /none', 'mutants.py --work /proc/x'):
            name, *options = words.split()
            path = os.path.join(os.path.dirname(PROGRAM), name)
            if os.path.exists(path):
                with self.subTest(words):
                    found = subprocess.run([sys.executable, '-B', path, *options], capture_output=True, text=True, check=False,
                                           env=dict(os.environ, REPLAY='/none'), timeout=60)
                    self.assertEqual((found.returncode, found.stdout, 'Traceback' in found.stderr), (2, '', False), found.stderr)


if __name__ == '__main__':
    unittest.main()
