#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""record, from captures to a workload and back to the moves: python3 -m unittest test_record

REPLAY names the program replay, where it is not beside this.
"""
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'irqload.py')
# Two interrupts take 30 % of CPU 0 each while CPU 1 idles; after more than
# 100 ms of history one of them is moved. (ns, CPU of interrupt 24)
PASSES = [(1000000000, 0), (1040400000, 0), (1090500000, 0), (1140900000, 0), (1190700000, 1), (1290800000, 1)]
SETTINGS = 'heavy=20 min_gain=50 interval_ms=50 program=none'
FORMATS = {
    'tracefs': '           kirqd-85      [003] .....  %.6f: irq_balance_%s: %s\n',
    'trace-cmd': '           kirqd-85    [003] %.6f: irq_balance_%s:    %s\n',
    'perf script': 'kirqd    85 [003]   %.6f: irq_balance:irq_balance_%s: %s\n'}


def events(move='irq=24 from=0 to=1', at=3, generation=1, gain=300000000):
    for number, (now, cpu) in enumerate(PASSES):
        t = now / 1e9
        yield t, 'settings', SETTINGS
        for c in 0, 1:
            yield t, 'cpu', ('cpu=%d node=0 package=%d llc=%d core=%d capacity=1024 online=1 usable=1 '
                             'time=%d load=0 tasks=%d') % (c, c, c, c, 1000 * number, 5000000 * c)
        for irq in 24, 25:
            yield t, 'irq', 'irq=%d cpu=%d node=-1 time=%d load=300000000 status=movable mask=00000000,00000003' % (
                irq, cpu if irq == 24 else 0, (now - PASSES[0][0]) * 3 // 10)
        yield t, 'plan', 'now=%d heavy=2 worst=600000000 planned=600000000 moves=0 next_ms=50 generation=%d' % (
            now, generation)
        if number == at:
            yield t, 'move', move + ' reason=imbalance load=300000000 gain=%d' % gain


def capture(some, form='tracefs'):
    return '# tracer: nop\n' + ''.join(FORMATS[form] % event for event in some)


def record(text, *options):
    done = subprocess.run([sys.executable, PROGRAM, 'record', *(options or ['-'])], input=text, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class Record(unittest.TestCase):
    def test_convert(self):
        status, workload, said = record(capture(events()))
        lines = workload.splitlines()
        self.assertEqual(status, 0, said)
        for line in 'irq 24 node -1 mask 0-1 at 0', 'irq 25 node -1 mask 0-1 at 0', 'load 24 300000000', 'load 25 300000000':
            self.assertEqual(lines.count(line), 1, workload)
        self.assertEqual([line for line in lines if line.startswith(('epoch', 'pass'))],
                         sum([['epoch %d' % ms, 'pass'] for ms in (0, 40, 91, 141, 191, 291)], []))
        for form in FORMATS:
            self.assertEqual(record(capture(events(), form))[1], workload, form)
        # Passes before the last change of the state are left out
        twice = list(events(move='irq=25 from=0 to=1')) + list(events(generation=2))
        self.assertEqual(record(capture(twice))[1], workload)

    def test_toll(self):
        # Between load and status, since a kernel that has it; each change is a statement
        text = capture(events()).replace('load=300000000 status', 'load=300000000 toll=7000 status').replace(
            'irq=25 cpu=0 node=-1 time=57210000 load=300000000 toll=7000', 'irq=25 cpu=0 node=-1 time=57210000 load=300000000 toll=0')
        status, workload, said = record(text)
        self.assertEqual(([line for line in workload.splitlines() if 'toll' in line], status),
                         (['toll 24 7000', 'toll 25 7000', 'toll 25 0', 'toll 25 7000'], 0), said)

    def test_out(self):
        # Refused before anything is measured
        for option in '-o', '--save':
            for name in '/none/out', '/proc/out', tempfile.gettempdir():
                status, out, said = record('', option, name, '--seconds', '60')
                self.assertEqual((status, out), (2, ''))
                self.assertIn('no capture to save' if option == '--save' and not os.path.exists('/sys/kernel/irq_balance') else name, said)

    def test_verify(self):
        cases = (('the recorded move', {}, 0, '1 recorded moves, 1 replayed, 1 of them'),
                 ('another one that gains as much', {'move': 'irq=25 from=0 to=1'}, 0, 'the others gain as much'),
                 ('another one that gains more', {'move': 'irq=25 from=0 to=1', 'gain': 310000000}, 1, 'absent 25 0 1'),
                 ('another CPU that is left', {'move': 'irq=25 from=1 to=0'}, 1, 'absent 25 1 0'))
        with tempfile.TemporaryDirectory() as work:
            name = work + '/replay'
            for what, options, wanted, text in cases:
                with self.subTest(what):
                    self.assertEqual(record(capture(events(**options)), '-o', name, '-')[0], 0)
                    status, out, said = record('', '--verify', name)
                    self.assertEqual(status, wanted, out + said)
                    self.assertIn(text, out)
            for where in '>/dev/full', '>&-':
                done = subprocess.run(['sh', '-c', '"$0" "$1" record --verify "$2" ' + where, sys.executable, PROGRAM, name],
                                      capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr[:7], 'Traceback' in done.stderr), (2, 'irqload', False), done.stderr)

    def test_output(self):
        with tempfile.TemporaryDirectory() as top:
            with open(top + '/capture', 'w', encoding='latin-1') as file:
                file.write(capture(events()).replace('kirqd', 'kirq\xe9'))
            done = subprocess.run(['sh', '-c', '{ echo first; "$0" "$1" record "$2"; "$0" "$1" record - <"$2"; } >"$2.out"',
                                   sys.executable, PROGRAM, top + '/capture'], capture_output=True, text=True, check=False)
            with open(top + '/capture.out', encoding='utf-8') as file:
                once = record(capture(events()))[1]
                self.assertEqual(file.read(), 'first\n' + once + once, done.stderr)

    def test_overwritten(self):
        for kept, status in ('8596/8596 LOST-85', 0), ('316/8596', 2), ('1/1\nCPU:3 [LOST 85 EVENTS]', 2):
            found, workload, said = record('# entries-in-buffer/entries-written: %s   #P:8\n' % kept + capture(events()))
            self.assertEqual((found, not workload, 'too small' in said), (status, status > 0, status > 0), said)

    def test_refusals(self):
        cases = (('', 'no complete pass'), (capture(e for e in events() if e[1] != 'cpu'), 'no complete pass'),
                 (capture(e for e in events() if e[0] < 1.01), 'one pass only'),
                 (capture(events()).replace('now=', 'then='), '-:7: cannot read this event, expected now='),
                 (capture(events()).replace('capacity=1024', 'capacity=0'), 'expected capacity= 1 to 1024'),
                 (capture(events()).replace('mask=00000000,00000003', 'mask='), 'expected mask='),
                 (capture(events()).replace(' now=1040400000', ' now=1000000000'), 'a later now='),
                 (capture(events()).replace(' now=1040400000', ' now=18446744073709551615'), 'a later now='),
                 (capture(events()).replace('online=1', 'online=0'), 'an online= CPU'),
                 (capture(events()).replace('cpu=1 ', 'cpu=-1 '), 'expected cpu= 0 to 8191'),
                 (capture(events()).replace('irq=25 ', 'irq=-3 '), 'expected irq= 0 to'),
                 (capture(events()).replace('node=-1 ', 'node=-2 '), 'expected node= -1 to'),
                 (capture(events()).replace(' to=1 ', ' to=x '), 'expected to='),
                 (capture(events())[:-9], ':38: cannot read this event, expected the end of the line'),
                 ('\0' + capture(events()), '-:1: no text'), ('\f\n' + capture(events()).replace('now=', 'then='), '-:8: '))
        cases += tuple((capture(events()).replace(was, now), wanted) for was, now, wanted in (
            ('node=-1', 'node=-0', 'node= and a number'), ('node=-1', 'node=01', 'node='), ('core=0', 'core=-0', 'core= and a number'),
            ('load=300000000 s', 'load=-5 s', 'load= 0 to'), ('online=1', 'online=2', 'online= 0 to 1'), ('usable=1', 'usable=01', 'usable='),
            ('heavy=20', 'heavy=abc', 'heavy='), ('heavy=20', 'heavy=1001', 'heavy= 1 to 1000'), ('interval_ms=50', 'interval_ms=9', '10 to'),
            ('program=none', 'program=a/b', 'program='), ('program=none', 'program=none x', 'the end of the line after program='),
            ('heavy=20', 'heavy=20 heavy=900', 'min_gain= as word 2'), ('irq_balance_irq:', 'irq_balance_irq', 'irq_balance_ and'),
            ('irq_balance_irq:', 'irq_balance_irqx:', 'irq_balance_ and'), ('cpu=1 node=0', 'cpu=0 node=0', 'one event of each cpu'),
            ('irq=25 cpu', 'irq=24 cpu', 'one event of each irq'), ('generation=1', 'generation=', 'generation=')))
        for text, wanted in cases:
            with self.subTest(wanted):
                status, out, said = record(text)
                self.assertEqual((status, out), (2, ''))
                self.assertIn(wanted, said)
        for words in (['--seconds'], ['--seconds', '1_0'], ['--seconds', '\u0663'], ['--seconds', 'nan'], ['--sec', '3'], ['--verify', ''], [''],
                      ['--seconds', '3', __file__], ['--verify', 'x', '--seconds', '3'], ['--verify', 'x', 'y'], ['-o', '', '-']):
            status, out, said = record(capture(events()), *words)
            self.assertEqual((status, out, 'Traceback' in said), (2, '', False), (words, said))
        status, out, said = record('', '--verify', __file__)
        self.assertEqual((status, out), (2, ''), said)


if __name__ == '__main__':
    unittest.main()
