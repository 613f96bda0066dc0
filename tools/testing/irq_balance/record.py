# SPDX-License-Identifier: GPL-2.0
"""irqload record: record the balancer's input as a workload for replay

usage: irqload record [-o FILE] [--seconds N | CAPTURE]
       irqload record --verify FILE

Without CAPTURE it records this machine for N seconds (10), through tracefs, as
root; the state has to be on or observe. Passes before the last change of the
state are left out. On a kernel without the balancer it measures what "irqload
advise" does: no settings, no moves. CAPTURE is text that was recorded before,
- is the standard input; irq:* and napi:napi_poll will do:

  trace-cmd record -e irq_balance sleep 10
  trace-cmd report | irqload record -o FILE -
  perf record -a -e 'irq_balance:*' sleep 10
  perf script | irqload record -o FILE -

  -o FILE        where to write the workload (standard output)
  --seconds N    how long to record
  --save FILE    keep the capture too
  --verify FILE  replay FILE, a workload written by this command, and compare
                 its moves with the recorded ones. Exit status 1 if they differ
                 and do not gain as much

Documentation/admin-guide/irq-balance-replay.rst describes the format of FILE.
The settings and the recorded moves are in its comments.
"""
import argparse
import functools
import io
import os
import re
import subprocess
import sys
import time

import measure
import tracetext
from common import Failure, between, command, cpulist, options, program, to_write
from instance import Instance

EVENT = re.compile(r'\s\d+\.\d+:\s+(?:irq_balance:)?irq_balance_(.*)')
LOAD_MAX, BASE_MAX = 2**33 - 1, 10**9
# The events, with their words in the order in which the kernel prints them; the settings are before "program"
EVENTS = {name: words.split() for name, words in {
    'settings': 'program', 'fail': 'irq to error', 'irq': 'irq cpu node time load toll status mask',
    'cpu': 'cpu node package llc core capacity online usable time load tasks',
    'plan': 'now heavy worst planned moves next_ms generation',
    'move': 'irq from to reason load gain', 'propose': 'irq from to reason load gain'}.items()}
# Numbers that the kernel writes and replay takes; all others have 64 bits
RANGES = {'capacity': (1, 1024), 'cpu': (0, 8191), 'from': (0, 8191), 'to': (0, 8191), 'irq': (0, 2**32 - 1),
          'node': (-1, 65535), 'package': (0, 65535), 'llc': (0, 65535), 'core': (0, 65535), 'error': (-2**31, 2**31 - 1),
          'online': (0, 1), 'usable': (0, 1)}
WORDS = {'status': '[a-z-]+', 'mask': '[0-9a-f]+(,[0-9a-f]+)*', 'reason': '[a-z-]+', 'program': '[A-Za-z0-9_.]+'}


def write(path, text):
    with open(path, 'w', encoding='utf-8', closefd=path != 1) as f:
        f.write(text)


def content(path):
    with open(path, encoding='utf-8', errors='replace', newline='', closefd=path != 0) as f:
        return f.read()


class Recorder(Instance):
    """The balancer's events of this machine."""

    def prepare(self):
        if not os.path.isdir(self.mine + '/events/irq_balance'):
            raise Failure('no tracepoints of the balancer in ' + self.top, 'the kernel needs CONFIG_FTRACE')
        # Of each CPU
        self.set('buffer_size_kb', max(1024, 65536 // os.cpu_count()))
        # Enabled last: a pass begins with this event
        for event in 'irq', 'cpu', 'plan', 'move', 'propose', 'fail', 'settings':
            self.set('events/irq_balance/irq_balance_%s/enable' % event, 1)
        self.set('tracing_on', 1)


def capture(seconds):
    """The events of this machine, as tracefs prints them."""
    if content('/sys/kernel/irq_balance/state').strip() == 'off':
        raise Failure('the balancer is off, there is nothing to record', 'echo observe > /sys/kernel/irq_balance/state')
    with Recorder() as recorder:
        try:
            time.sleep(seconds)
        except KeyboardInterrupt:
            print('irqload record: interrupted: this is what there is so far', file=sys.stderr)
        recorder.set('tracing_on', 0)
        return content(recorder.mine + '/trace')


def measured(seconds, text=None, where=None):
    """A workload from the events of interrupts that each kernel has, of this machine or in TEXT."""
    if text is None:
        return measure.measure(seconds).workload()
    return measure.recorded(tracetext.Text(io.StringIO(text, newline='\n'), where)).workload()


def complete(text, where):
    """TEXT, unless the kernel says that it has overwritten or dropped events."""
    if '\0' in text:
        raise Failure('%s:%d: no text capture: it has a NUL' % (where, text.count('\n', 0, text.index('\0')) + 1),
            'trace-cmd report and perf script make text')
    kept = re.search(r'entries-in-buffer/entries-written: (\d+)/(\d+)', text)
    if re.search(r'\bLOST \d+ EVENTS', text) or 'EVENTS DROPPED' in text or kept and kept[1] != kept[2]:
        raise Failure('the trace buffer was too small: events were lost', 'record for a shorter time: --seconds')
    return text


@functools.lru_cache(None)
def settings():
    """{name: (least, greatest)}, in the order of the kernel's table, from which replay has them."""
    text = subprocess.run([program('replay', 'REPLAY'), '--help'], stdout=subprocess.PIPE, universal_newlines=True).stdout
    return {name: (int(low), int(high)) for name, low, high in re.findall(r'^  (\w+) +(\d+)\.\.(\d+),', text, re.M)}


def fields(text):
    """The name of an event and its fields; a ValueError has what is wrong."""
    name, colon, rest = text.partition(':')
    if not colon or name not in EVENTS:
        raise ValueError('irq_balance_ and %s, and a colon' % ', '.join(EVENTS))
    pairs = [pair.partition('=') for pair in rest.split()]
    if name == 'irq' and ' toll=' not in rest:
        # Kernels before it was recorded
        pairs.insert(EVENTS['irq'].index('toll'), ('toll', '=', '0'))
    ranges = settings() if name == 'settings' else RANGES
    words = list(ranges) + EVENTS[name] if name == 'settings' else EVENTS[name]
    for n, word in enumerate(words):
        if n == len(pairs) or pairs[n][:2] != (word, '='):
            raise ValueError('%s= as word %d' % (word, n + 1))
        low, high = ranges.get(word, (0, 2**64 - 1))
        if not re.fullmatch(WORDS.get(word, '0|-?[1-9][0-9]{0,19}'), pairs[n][2]):
            raise ValueError('%s= and a %s' % (word, 'value' if word in WORDS else 'number'))
        if word not in WORDS and not low <= int(pairs[n][2]) <= high:
            raise ValueError('%s= %d to %d' % (word, low, high))
    if len(pairs) > len(words):
        raise ValueError('the end of the line after %s=' % words[-1])
    return name, {word: value for word, _, value in pairs}


class Pass:
    """One pass of the balancer: its input and its decisions."""
    def __init__(self):
        self.cpus, self.irqs, self.moves, self.settings = {}, {}, [], None
        self.now, self.generation = None, None


def passes(text, where):
    """The passes of a capture, from the first that is complete."""
    found, now, lines = [], Pass(), text.split('\n')
    for number, line in enumerate(lines, 1):
        match = EVENT.search(line)
        if not match:
            continue
        try:
            if number == len(lines):
                raise ValueError('the end of the line: the capture was cut')
            name, value = fields(match[1])
            if name in ('cpu', 'irq'):
                seen, key = now.cpus if name == 'cpu' else now.irqs, int(value[name])
                # One that was before the settings is of another pass
                if key in seen and now.settings:
                    raise ValueError('one event of each %s in a pass' % name)
                seen[key] = value
            elif name == 'settings':
                now = Pass()
                now.settings = value
            elif name == 'plan':
                now.now, now.generation = int(value['now']), value['generation']
                if found and now.generation != found[-1].generation:
                    # The balancer was switched, and has lost its history
                    found = []
                if found and not found[-1].now < now.now < found[0].now + 2**50:
                    raise ValueError('a later now= than in the pass before, within 13 days')
                if now.cpus and not any(c['online'] == '1' for c in now.cpus.values()):
                    raise ValueError('an online= CPU in each pass')
                found.append(now)
                now = Pass()
            elif name in ('move', 'propose') and found:
                found[-1].moves.append((name, value))
        except ValueError as error:
            raise Failure('%s:%d: cannot read this event, expected %s: %s' % (where, number, error, line.strip()),
                'it should look as in /sys/kernel/tracing/events/irq_balance/*/format')
    while found and not (found[0].settings and found[0].cpus):
        found.pop(0)
    if not found:
        raise Failure('no complete pass of the balancer in this capture',
            'record all events of irq_balance, and begin while the balancer runs')
    if len(found) < 2:
        raise Failure('the balancer made one pass only: no interrupt is heavy, so it sleeps',
            'record while the machine is busy')
    return found


def bits(mask, cpus):
    """Those of CPUS that are in a mask of hexadecimal words."""
    value = int(mask.replace(',', ''), 16)
    return [cpu for cpu in cpus if value >> cpu & 1]


class Machine:
    """The lines about CPUs and interrupts, which come before all times."""
    def __init__(self, found):
        self.cpus, self.irqs = {}, {}
        for one in found:
            for cpu, value in one.cpus.items():
                # The values of an offline CPU are old
                if value['online'] == '1':
                    self.cpus.setdefault(cpu, value)
        for one in found:
            for irq, value in one.irqs.items():
                if int(value['cpu']) not in self.cpus:
                    continue
                mine = self.irqs.setdefault(irq, dict(value, movable=False))
                # A write that has not taken effect yet is no pin
                mine['movable'] |= value['status'] == 'movable'

    def mask(self, value, at=None):
        allowed = set(bits(value['mask'], self.cpus)) or set(self.cpus)
        return cpulist(allowed | ({at} if at is not None else set()))

    def lines(self):
        for cpu, c in sorted(self.cpus.items()):
            yield 'cpu %d node %s package %s llc %s core %s capacity %s%s' % (
                cpu, c['node'], c['package'], c['llc'], c['core'], c['capacity'],
                '' if c['usable'] == '1' else ' isolated')
        for irq, i in sorted(self.irqs.items()):
            flag = ' managed' if i['status'] == 'managed' else '' if i['movable'] else ' pinned'
            yield 'irq %d node %s mask %s at %s%s' % (
                irq, i['node'], self.mask(i, int(i['cpu'])), i['cpu'], flag)

    def capacity(self, cpu):
        return int(self.cpus[cpu]['capacity']) if cpu in self.cpus else 1024


def rates(machine, before, after):
    """Loads of the interrupts and own times of the CPUs between two passes, in ns/s."""
    elapsed = after.now - before.now
    load, base = {}, {}
    for irq, value in after.irqs.items():
        if irq in before.irqs:
            spent = max(0, int(value['time']) - int(before.irqs[irq]['time']))
            load[irq] = spent * 10**9 // elapsed * machine.capacity(int(value['cpu'])) // 1024
        else:
            load[irq] = int(value['load'])
        load[irq] = min(load[irq], LOAD_MAX)
    for cpu, value in after.cpus.items():
        spent = max(0, int(value['time']) - int(before.cpus.get(cpu, value)['time']))
        base[cpu] = min(spent * 10**9 // elapsed, BASE_MAX)
    return load, base


def convert(text, where):
    found = passes(text, where)
    machine = Machine(found)
    out = ['# Recorded: %d passes' % len(found)]
    out.append('# set ' + ' '.join('%s=%s' % pair for pair in found[0].settings.items()))
    out += machine.lines()
    loads, bases, tasks, tolls, masks, ms = {}, {}, {}, {}, {i: machine.mask(v, int(v['cpu'])) for i, v in machine.irqs.items()}, -1
    online = set(machine.cpus)
    for number, one in enumerate(found):
        # At least one apart, as epochs have to be
        ms = max(ms + 1, (one.now - found[0].now + 500000) // 1000000)
        out.append('epoch %d' % ms)
        # One has to stay online
        for cpu, value in sorted(one.cpus.items(), key=lambda item: (item[1]['online'] != '1', item[0])):
            if cpu in machine.cpus and (value['online'] == '1') != (cpu in online):
                out.append('%s %d' % ('online' if value['online'] == '1' else 'offline', cpu))
                online ^= {cpu}
        for irq, value in sorted(one.irqs.items()):
            mask = machine.mask(value)
            if irq in masks and machine.irqs[irq]['movable'] and mask != masks[irq] and \
                    int(value['cpu']) in bits(value['mask'], machine.cpus):
                out.append('mask %d %s' % (irq, mask))
                masks[irq] = mask
        for cpu in sorted(machine.cpus):
            value = min(int(one.cpus[cpu]['tasks']), BASE_MAX) if cpu in one.cpus else 0
            if value != tasks.get(cpu, 0):
                tasks[cpu] = value
                out.append('tasks %d %d' % (cpu, value))
        for irq, value in sorted(one.irqs.items()):
            toll = min(int(value['toll']), BASE_MAX)
            if irq in machine.irqs and toll != tolls.get(irq, 0):
                tolls[irq] = toll
                out.append('toll %d %d' % (irq, toll))
        if number + 1 < len(found):
            load, base = rates(machine, one, found[number + 1])
            for irq in sorted(machine.irqs):
                if load.get(irq, 0) != loads.get(irq, 0):
                    loads[irq] = load.get(irq, 0)
                    out.append('load %d %d' % (irq, loads[irq]))
            for cpu in sorted(machine.cpus):
                if base.get(cpu, 0) != bases.get(cpu, 0):
                    bases[cpu] = base.get(cpu, 0)
                    out.append('base %d %d' % (cpu, bases[cpu]))
        out.append('pass')
        for name, m in one.moves:
            out.append('# %s %d %s %s %s %s %s' % (name, ms, m['irq'], m['from'], m['to'], m['reason'], m['gain']))
    return '\n'.join(out + ['end %d' % ms]) + '\n'


def verify(name):
    """Replay a recording, and compare the moves."""
    text, words = content(name), [program('replay', 'REPLAY')]
    if not re.search('^# set ', text, re.M):
        raise Failure('%s has no "# set": it has no moves of a balancer to compare with' % name,
            'record while one is on: %s -o FILE' % command('record'))
    for pair in (re.search(r'^# set (.*)$', text, re.M) or [0, ''])[1].split():
        words += ['--program', pair[8:]] if pair.startswith('program=') else ['--set', pair]
    if '# propose ' in text:
        raise Failure(name + ' was recorded in state observe, in which nothing moves', 'record in state on')
    done = subprocess.run(words + [name], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure('replay: ' + done.stderr.strip())
    wanted, got = moves(r'^# move', text), moves('^move', done.stdout)
    for move in wanted:
        print('%s %s %d' % ('same  ' if move in got else 'absent', move, wanted[move]))
    for move in got:
        if move not in wanted:
            print('new    %s %d' % (move, got[move]))
    print('%d recorded moves, %d replayed, %d of them the same' % (len(wanted), len(got), len(set(wanted) & set(got))))
    absent = {m: wanted[m] for m in wanted if m not in got}
    new = {m: got[m] for m in got if m not in wanted}
    if absent and equal_worth(absent, new):
        print('the others gain as much')
        return 0
    return 1 if absent or new else 0


def moves(start, text):
    """{'IRQ FROM TO REASON': gain}. Some are asked for twice until they are done."""
    return {m[1]: int(m[2]) for m in re.finditer(start + r' \d+ (\d+ \d+ \d+ \w+) (\d+)', text, re.M)}


def equal_worth(absent, new):
    """
    Whether as many moves leave the same CPUs, each for a gain that is the same to 2 %: a replay
    goes by whole ms, so of interrupts and CPUs that are nearly equal it may choose another one.
    """
    def worth(found):
        return sorted((*move.split()[1::2], gain) for move, gain in found.items())
    a, b = worth(absent), worth(new)
    return len(a) == len(b) and all(x[:2] == y[:2] and abs(x[2] - y[2]) * 50 <= x[2] for x, y in zip(a, b))


def arguments(args):
    parser = options('record', __doc__)
    hidden = {'help': argparse.SUPPRESS}
    parser.add_argument('-o', dest='out', **hidden)
    parser.add_argument('--seconds', type=between(float, 0.1, 86400.0), **hidden)
    parser.add_argument('--save', **hidden)
    parser.add_argument('--verify', **hidden)
    parser.add_argument('capture', nargs='?', **hidden)
    chosen = parser.parse_args(args)
    others = [chosen.out, chosen.save, chosen.seconds, chosen.capture]
    if chosen.verify is not None and others != [None] * 4:
        parser.error('--verify FILE goes alone')
    if chosen.seconds is not None and chosen.capture is not None:
        parser.error('--seconds is for a recording of this machine, not for CAPTURE')
    return chosen


def run(args):
    """The exit status."""
    chosen = arguments(args)
    if chosen.verify is not None:
        status = verify(chosen.verify)
        sys.stdout.flush()
        return status
    here = chosen.capture is None
    balancer = os.path.exists('/sys/kernel/irq_balance')
    if here and not balancer and chosen.save is not None:
        raise Failure('this kernel has no /sys/kernel/irq_balance, so there is no capture to save', 'leave out --save')
    for path in chosen.out, chosen.save:
        if path is not None:
            to_write(path)
    out = 1 if chosen.out is None else chosen.out
    if here and not balancer:
        write(out, measured(chosen.seconds or 10))
        return 0
    text = capture(chosen.seconds or 10) if here else content(0 if chosen.capture == '-' else chosen.capture)
    if chosen.save is not None:
        write(chosen.save, text)
    where = 'trace' if here else chosen.capture
    text = complete(text, where)
    other = not EVENT.search(text) and 'irq_handler_entry:' in text
    write(out, measured(0, text, where) if other else convert(text, where))
    return 0
