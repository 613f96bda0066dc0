# SPDX-License-Identifier: GPL-2.0
"""irqload advise: would the balancer help this machine? On any kernel from 5.10

usage: irqload advise [OPTIONS]        this machine, as root, under usual load
       irqload advise [OPTIONS] TEXT   the text of perf script, trace-cmd report
                                       or tracefs ("-": standard input)

Measures the CPU time of each interrupt, and runs the kernel's own planner on
it. Changes no mask. The answer is one of

  Yes                             with the moves, and commands to try each now
  No: a move cannot help          why, and the commands for what does
  No load now: ask again while it is slow

  --seconds S    how long to measure (10)
  --json         the answer as an object
  -o FILE        write the measured workload for "irqload replay"
  --plot FILE    draw the load of each CPU, now and as planned: FILE.png or
                 FILE.svg (matplotlib)
  --sysfs DIR    another /sys; with TEXT a copy of the other machine's
  --procfs DIR   another /proc, likewise

TEXT has the events irq:*, napi:napi_poll and, with interrupt threads,
sched:sched_switch:

  perf record -a -e 'irq:*' -e napi:napi_poll -e sched:sched_switch sleep 10
  perf script --ns > TEXT

Columns: see irqload --help; "mask" is smp_affinity_list, and the last column
has the planner's word for each interrupt. Errors are twice the standard error.
Status: 0; 2 wrong usage or input, or it cannot be measured.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
import warnings

import live
import measure
import remedy
import tracetext
from boards import kind
from common import Failure, between, cpulist, options, printable, program, read, to_write
from machine import SECOND

FORMAT = 'irqload advise 2'
# Of a CPU: what the planner may move, what no CPU has room beside, and a load that a user may notice
HEAVY, FULL, LOADED = 0.02, 0.8, 0.1
# min_gain
NEEDED = 0.05
# CPUs in a picture, at most
DRAWN = 64


def plan(replay, text):
    """The moves, the last place and the words of a replay: [(irq, from, to, reason)], {irq: cpu}, {irq: word}."""
    done = subprocess.run([replay, '--why', '-'], input=text, capture_output=True, text=True, check=False, env=dict(os.environ, LC_ALL='C'))
    if done.returncode:
        raise Failure('%s: %s' % (replay, done.stderr.strip().split('\n')[0]))
    lines = [line.split() for line in done.stdout.splitlines()]
    moves = [(int(w[2]), int(w[3]), int(w[4]), w[5]) for w in lines if w[:1] == ['move']]

    def last(word):
        return dict(pair.split('=') for pair in next((w[2:] for w in reversed(lines) if w[:1] == [word]), []))
    return moves, {int(irq): int(cpu) for irq, cpu in last('place').items() if cpu != '-'}, {int(irq): why for irq, why in last('why').items()}


class Advice:
    """The answer: worst CPUs now and as planned, the gain and its error."""

    def __init__(self, measured, replay):
        self.measured, self.machine = measured, measured.machine
        self.place = {irq: row['cpu'] for irq, row in self.machine.irqs.items()}
        self.now = measured.cpu_loads(self.place)
        moves, place, self.words = plan(replay, measured.workload())
        self.planned_place = {**self.place, **place}
        self.planned = measured.cpu_loads(self.planned_place)
        self.moves = [(irq, self.place[irq], cpu, next(m[3] for m in reversed(moves) if m[0] == irq))
                      for irq, cpu in sorted(place.items()) if cpu != self.place[irq]]
        self.before, self.after = self.worst(self.now), self.worst(self.planned)
        self.gain, self.error = self.difference(self.before, self.after)
        self.widened = None
        wide = [irq for irq in measured.rows if self.machine.irqs[irq]['why'] == 'driver' and self.machine.irqs[irq]['alone']]
        if self.counts_for(wide):
            _, place, _ = plan(replay, measured.workload(wide))
            gain, error = self.difference(self.before, self.worst(measured.cpu_loads({**self.place, **place})))
            wide = [irq for irq in wide if measured.load(irq) >= HEAVY * SECOND or place.get(irq) != self.place[irq]]
            if gain > self.gain + max(0.05, 2 * error):
                self.widened = {'irqs': wide, 'gain': gain, 'error': error}

    def counts_for(self, irqs):
        """Whether interrupts have a load that matters: one of them, or all on a CPU."""
        sums = {}
        for irq in irqs:
            sums[self.place[irq]] = sums.get(self.place[irq], 0) + self.measured.load(irq) * 1024 / self.machine.cpus[self.place[irq]]['capacity']
        return any(self.measured.load(irq) >= HEAVY * SECOND for irq in irqs) or any(load >= LOADED * SECOND for load in sums.values())

    def share(self, irq):
        """The part of its CPU that an interrupt takes."""
        return self.measured.load(irq) * 1024 / self.machine.cpus[self.place[irq]]['capacity'] / SECOND

    def mean(self, cpu):
        """The part of a CPU that interrupts take, as they are."""
        return sum(self.now[cpu]) / len(self.now[cpu]) / SECOND

    def loaded(self):
        """Whether there is a load that can be judged."""
        return self.counts_for(self.measured.rows) or self.before[1] >= LOADED

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

    def verdict(self):
        """(word, sentence): the answer."""
        worst = 'CPU %d is busiest with interrupts: %s' % (self.before[0], percent(*self.before[1:]))
        if self.moves:
            return 'Yes', '%s; with %s as planned CPU %d: %s; gain %s' % (
                worst, plural(len(self.moves), 'move'), self.after[0], percent(*self.after[1:]), percent(self.gain, self.error))
        if not self.loaded():
            return 'No load now: ask again while it is slow', worst
        return 'No: a move cannot help', worst

    def because(self, irq):
        """(word, half a sentence): the planner's opinion of an interrupt, or why it has none."""
        row, word, cpu = self.machine.irqs[irq], self.words.get(irq, 'none'), self.place[irq]
        move = next((move for move in self.moves if move[0] == irq), None)
        if move:
            return move[3], 'to CPU %d' % move[2]
        fixed = {'managed': 'the core placed it', 'bridge': '%s takes no mask' % row['bridge'], 'fixed': 'balance_status is %s' % row['status'] if row['status'] else 'the kernel takes no mask',
                 'isolated': 'its mask has isolated CPUs only'}.get(row['why'])
        if 'XT-PIC' in row['chip']:
            fixed = 'the 8259A takes no mask'
        if fixed:
            return row['why'], fixed
        if row['alone'] and len(self.machine.cpus) > 1:
            return ('driver', 'its driver chose CPU %d' % cpu) if row['why'] == 'driver' else ('pinned', 'its mask is CPU %d' % cpu)
        toll = self.measured.tolls.get(irq, 0)
        toll = ', besides %.1f %% for an IPI each time' % (100 * toll / SECOND) if toll else ''
        if word == 'best':
            rest = [other for other in self.measured.rows if other != irq and self.planned_place[other] == cpu and
                    self.measured.load(other) >= HEAVY * SECOND / 2]
            return word, 'no other CPU is better' if rest or len(row['mask']) == 1 else 'has CPU %d to itself' % cpu
        return word, {'light': 'below %d %% of a CPU' % (100 * HEAVY), 'gain': '%.0f %%, %d %% needed%s' % (
            100 * self.possible(irq), 100 * NEEDED, toll),
                      'noise': 'the loads vary by as much', 'resting': 'a move of it was taken back, or is too recent', 'node': "its device's node holds it",
                      'full': 'no vector is free', 'fixed': 'it may not be moved'}.get(word, 'the planner has not seen it')

    def possible(self, irq):
        """The part that the best move of this interrupt alone would take off the busier one of two CPUs, after the planned moves."""
        row, cpu, share = self.machine.irqs[irq], self.place[irq], self.share(irq)
        load = {other: sum(values) / len(values) / SECOND for other, values in self.planned.items()}
        found = [1 - max(load[cpu] - share, load[other] + self.measured.tolls.get(irq, 0) / SECOND +
                         share * self.machine.cpus[cpu]['capacity'] / self.machine.cpus[other]['capacity']) / load[cpu]
                 for other in row['mask'] - self.machine.isolated - {cpu} if other in load and load[cpu] > 0]
        return min(NEEDED, max(found + [0.0]))

    def lists(self, irqs):
        """Interrupts as a phrase."""
        rows = ['%d (%s)' % (irq, self.machine.irqs[irq]['name']) for irq in irqs[:3]]
        more = ' and %d more' % (len(irqs) - 3) if len(irqs) > 3 else ''
        return ('interrupt ' if len(irqs) == 1 else 'interrupts ') + ', '.join(rows) + more

    def by_owner(self, irqs):
        """[(what, name, irqs)] by the devices that they are of, the heaviest first."""
        found = {}
        for irq in irqs:
            found.setdefault(remedy.owner(self.machine, irq), []).append(irq)
        return [(*owner, rows) for owner, rows in found.items()]

    def helpless(self):
        """[(word, irq or None, text, [commands])]: what moves cannot help; each has commands."""
        found, m, told, rows = [], self.measured, set(), self.machine.irqs

        def add(word, irqs, text, commands, one=None):
            found.append((word, one if one is not None else irqs[0] if len(irqs) == 1 else None, text, commands))
            told.update(irqs)
        for irq in self.heaviest():
            if self.share(irq) >= FULL:
                add('saturated', [irq], 'interrupt %d (%s) takes %.0f %% of CPU %d: divide its work' % (
                    irq, rows[irq]['name'], 100 * self.share(irq), rows[irq]['cpu']), remedy.divide(self.machine, [irq]))
        left = [irq for irq in self.heaviest() if m.load(irq) > 0]
        bridged = {}
        for irq in left:
            if rows[irq]['why'] == 'bridge':
                bridged.setdefault((rows[irq]['bridge'], rows[irq]['cpu']), []).append(irq)
        for (bridge, cpu), irqs in bridged.items():
            if self.counts_for(irqs):
                self.behind(bridge, cpu, irqs, add)
        managed = [irq for irq in left if rows[irq]['why'] == 'managed' and irq not in told]
        for _, name, irqs in self.by_owner(managed):
            if self.counts_for(irqs):
                add('managed', irqs, '%s: %s managed, the core placed %s' % (
                    name, self.lists(irqs) + (' is' if len(irqs) == 1 else ' are'), 'it' if len(irqs) == 1 else 'them, one for each CPU or group'),
                    self.spread(irqs))
        for _, name, irqs in self.by_owner([irq for irq in left if rows[irq]['why'] == 'fixed' and 'XT-PIC' not in rows[irq]['chip'] and irq not in told]):
            if self.counts_for(irqs):
                add('fixed', irqs, '%s: %s cannot be moved' % (name, self.lists(irqs)), remedy.divide(self.machine, irqs))
        pinned = [irq for irq in left if rows[irq]['why'] in ('user', 'isolated') and len(rows[irq]['listed']) == 1 and
                  m.load(irq) >= HEAVY * SECOND and irq not in told]
        if pinned:
            daemon = self.machine.runs('irqbalance')
            add('user', pinned, '%s: a mask of one CPU, written %s' % (
                self.lists(pinned), 'by the irqbalance daemon, which runs' if daemon else 'by hand, by the irqbalance daemon or by its driver'),
                ['systemctl stop irqbalance   # back: systemctl start irqbalance'] * daemon + [remedy.widen(self.machine, pinned)] +
                (remedy.keep_wide(self.machine, pinned) if not daemon and remedy.network(self.machine, pinned[0]) else []))
        if self.widened:
            wide = self.widened['irqs']
            add('driver', wide, 'masks of one CPU that drivers wrote: widened, the gain is %s. Widen them, and at each boot' % percent(
                self.widened['gain'], self.widened['error']), [remedy.widen(self.machine, wide)] + remedy.keep_wide(self.machine, wide), one=-1)
        if any('XT-PIC' in rows[irq]['chip'] for irq in m.rows):
            add('order', [irq for irq in m.rows if 'XT-PIC' in rows[irq]['chip']],
                'XT-PIC: none of these interrupts can be moved, but which is served first can be chosen (i8259-priority.rst)',
                ['irqload order --measure --apply'], one=-1)
        base = sum(base.get(self.before[0], 0) for _, base in m.bins) / len(m.bins) / SECOND
        if base >= 0.1 and base >= self.before[1] / 4:
            add('base', [], '%.0f %% of CPU %d are softirqs that no interrupt raised (timers, RCU, RPS, loopback, veth): see which' % (
                100 * base, self.before[0]), ['watch -d cat /proc/softirqs'])
        # The busiest CPU always has an answer
        here = [irq for irq in left if rows[irq]['cpu'] == self.before[0] and irq not in told]
        if not self.moves and self.loaded() and here and (self.counts_for(here) or not found):
            self.remaining(here, add)
        return [(word, None if irq == -1 else irq, text, commands) for word, irq, text, commands in found]

    def behind(self, bridge, cpu, irqs, add):
        """Help for the interrupts of a bridge: an entry for each of its devices."""
        share = sum(map(self.share, irqs))
        for n, (_, name, rows) in enumerate(self.by_owner(irqs)):
            part = sum(map(self.share, rows))
            if n and part < HEAVY / 2:
                continue
            add('bridge', rows, '%s, %.0f %% of CPU %d: behind %s, which takes no mask%s' % (
                name, 100 * part, cpu, bridge, '' if n else '; all of it, %.0f %%, arrives there' % (100 * share)), remedy.divide(self.machine, rows))

    def spread(self, irqs):
        """Help for managed interrupts: which CPU uses which queue, and where requests end."""
        what, name = remedy.owner(self.machine, irqs[0])
        block = '/sys/block/%sn*' % name if what == 'nvme' else '/sys/block/*'
        if what == 'net':
            return remedy.divide(self.machine, irqs)
        return ['grep . %s/mq/*/cpu_list   # the CPUs of each queue: move the tasks that use it' % block,
                'for q in %s/queue; do echo 2 > $q/rq_affinity; done' % block]

    def remaining(self, irqs, add):
        """The rest of the busiest CPU: an interrupt that has it to itself, or many."""
        top = irqs[0]
        if self.measured.load(top) < HEAVY * SECOND:
            other = min(self.machine.cpus, key=lambda cpu: (self.mean(cpu), cpu))
            add('light', irqs, '%d interrupts, each below %d %% of a CPU, are on CPU %d: move some by hand' % (
                len(irqs), 100 * HEAVY, self.before[0]), ['echo %d > /proc/irq/%d/smp_affinity_list' % (other, top)])
            return
        word, half = self.because(top)
        add(word, [top], 'interrupt %d (%s), %.0f %% of CPU %d: %s. If this is too much, divide its work' % (
            top, self.machine.irqs[top]['name'], 100 * self.share(top), self.place[top], half), remedy.divide(self.machine, [top]))


def plural(number, word):
    return '%d %s%s' % (number, word, '' if number == 1 else 's')


def percent(value, error):
    return '%.1f +- %.1f %%' % (100 * value, 100 * error)


def trial(machine, irq, cpu):
    """The commands that make a move by hand, and take it back."""
    path = '/proc/irq/%d/smp_affinity_list' % irq
    row = machine.irqs[irq]
    return 'echo %d > %s' % (cpu, path), 'echo %s > %s' % (cpulist(row['listed']), path) if row['listed'] else 'the mask that it has before: cat ' + path


def page(advice, pressure):
    """Lines of text: the answer."""
    m, machine = advice.measured, advice.machine
    word, sentence = advice.verdict()
    helpless = advice.helpless()
    lines = ['%s. %s' % (word, sentence) if word != 'Yes' else 'Yes: ' + sentence]
    if machine.runs('irqbalance') and advice.moves:
        lines.append('  the irqbalance daemon runs, and would undo a trial: systemctl stop irqbalance (back: systemctl start irqbalance)')
    for irq, old, new, why in advice.moves[:10]:
        now, back = trial(machine, irq, new)
        lines += ['  move %d (%s) from CPU %d to %d: %s, %.1f %%' % (irq, machine.irqs[irq]['name'], old, new, why, 100 * m.load(irq) / SECOND),
                  '    try it now: ' + now, '          back: ' + back]
    if len(advice.moves) > 10:
        lines.append('  and %d more: --json' % (len(advice.moves) - 10))
    if not advice.loaded():
        helpless = [row for row in helpless if row[0] == 'order']
    if helpless:
        lines += ['What a move cannot help, and what does (one of the commands):'] if advice.moves else []
        for _, _, text, commands in helpless[:8]:
            lines += ['  ' + text] + ['    ' + command for command in commands]
        lines += ['  and %d more: --json' % (len(helpless) - 8)] if len(helpless) > 8 else []
    notes = about(advice, pressure)
    if not advice.loaded():
        lines[0] += '; overhead %.2f %%' % (100 * m.overhead)
        return [printable(line) for line in lines + (notes if m.notes or len(notes) > 1 else [])]
    return [printable(line) for line in lines + [''] + notes + [''] + tables(advice)]


def about(advice, pressure):
    """Lines about the measurement."""
    m, machine = advice.measured, advice.machine
    lines = ['%.1f s, %s of %s; %s; overhead %.2f %% of a CPU' % (
        m.seconds, plural(len(m.rows), 'interrupt'), plural(len(machine.cpus), 'CPU'), m.how, 100 * m.overhead)] + m.notes
    if pressure:
        lines.append('/proc/pressure/irq: ' + pressure)
    if read(machine.sysfs + '/kernel/irq_balance/state') == 'on':
        lines.append('The balancer of this kernel is on: this is what it has left')
    if m.overhead > 0.05:
        lines.append('The measurement is a good part of the load: compare moves, not single loads')
    if read(machine.sysfs + '/kernel/realtime') == '1':
        lines.append('PREEMPT_RT: times of softirqs are rough')
    return lines


def tables(advice):
    """The CPUs, and the heaviest interrupts with the planner's word."""
    m, machine = advice.measured, advice.machine

    def mean(values):
        return sum(values) / len(values) / SECOND * 100
    busy = sorted(machine.cpus, key=lambda c: (-mean(advice.now[c]) - mean(advice.planned[c]), c))[:8]
    lines = ['cpu      ' + ''.join('%7d' % c for c in busy) + ('  ...' if len(machine.cpus) > 8 else '')]
    rows = [('irq %', {c: mean(advice.now[c]) for c in busy}), ('planned', {c: mean(advice.planned[c]) for c in busy})]
    if m.known:
        rows += [('task %', {c: m.tasks[c] / SECOND * 100 for c in busy}), ('steal %', {c: m.steal[c] / SECOND * 100 for c in busy})]
    for word, values in rows:
        lines.append('%-9s' % word + ''.join('%7.1f' % values[c] for c in busy))
    cells = [('irq', 'name', 'cpu%', 'hard', 'soft', 'thread', 'on', 'mask', 'by', 'planner')]
    for irq in advice.heaviest()[:10]:
        row, part = machine.irqs[irq], m.rows[irq]
        mask = cpulist(row['listed'] or row['mask'])
        cells.append(('%d' % irq, row['name'][:24], *('%.2f' % (100 * x) for x in (sum(part.values()), part['hard'], part['soft'], part['thread'])),
                      '%d' % row['cpu'], mask if len(mask) < 16 else mask[:13] + '...', row['why'], '%s: %s' % advice.because(irq)))
    sizes = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    return lines + [''] + [' '.join(c.ljust(n) if i in (1, 7, 8, 9) else c.rjust(n) for i, (c, n) in enumerate(zip(row, sizes))).rstrip() for row in cells]


def record(advice, pressure):
    """The answer as an object for --json."""
    m = advice.measured

    def mean(values):
        return int(sum(values) / len(values))

    def side(worst):
        return dict(zip(('cpu', 'share', 'error'), worst))
    return {
        'format': FORMAT, 'time': round(time.time(), 3), 'seconds': m.seconds, **m.figures, 'overhead': m.overhead, 'notes': m.notes,
        'pressure_irq': pressure, 'help': bool(advice.moves), **dict(zip(('verdict', 'reason'), advice.verdict())),
        'now': side(advice.before), 'planned': side(advice.after), 'gain': advice.gain, 'gain_error': advice.error,
        'moves': [dict(zip(('irq', 'from', 'to', 'reason', 'try', 'back'), (*move, *trial(advice.machine, move[0], move[2])))) for move in advice.moves],
        'cannot_help': [dict(zip(('why', 'irq', 'text', 'commands'), row)) for row in advice.helpless()],
        'cpus': [{'cpu': cpu, 'load_ns_per_s': mean(advice.now[cpu]), 'planned_ns_per_s': mean(advice.planned[cpu]),
                  'base_ns_per_s': mean([base.get(cpu, 0) for _, base in m.bins]), 'tasks_ns_per_s': m.tasks[cpu] if m.known else None,
                  'steal_ns_per_s': m.steal[cpu] if m.known else None} for cpu in sorted(advice.machine.cpus)],
        'irqs': [{'irq': irq, 'name': row['name'], 'chip': row['chip'], 'cpu': row['cpu'], 'mask': cpulist(row['listed'] or row['mask']), 'mask_by': row['why'],
                  'bridge': row['bridge'], 'toll_ns_per_s': m.tolls.get(irq, 0), **dict(zip(('planner', 'because'), advice.because(irq))),
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
        raise Failure('%s: %s' % (out, error.strerror)) from None
    plt.close(figure)


def arguments(args):
    parser = options('advise', __doc__)
    hidden = {'help': argparse.SUPPRESS}
    parser.add_argument('text', nargs='?', **hidden)
    parser.add_argument('--seconds', type=between(float, 0.1, 3600.0), **hidden)
    parser.add_argument('--json', action='store_true', **hidden)
    parser.add_argument('-o', dest='out', **hidden)
    parser.add_argument('--plot', **hidden)
    parser.add_argument('--sysfs', **hidden)
    parser.add_argument('--procfs', **hidden)
    chosen = parser.parse_args(args)
    if '' in (chosen.text, chosen.plot, chosen.out, chosen.sysfs, chosen.procfs):
        parser.error('expected a name, not an empty one')
    if chosen.seconds and chosen.text:
        parser.error('--seconds is for this machine, not for a text')
    return chosen


def run(args):
    chosen = arguments(args)
    replay = program('replay', 'REPLAY')
    if chosen.plot:
        live.plot_check(chosen.plot)
    if chosen.out:
        to_write(chosen.out)
    if chosen.text is None:
        if sys.stderr.isatty():
            print('measuring for %g s ...' % (chosen.seconds or 10.0), file=sys.stderr)
        measured = measure.measure(chosen.seconds or 10.0, chosen.sysfs or '/sys', chosen.procfs or '/proc')
    else:
        measured = measure.recorded(tracetext.load(chosen.text), chosen.sysfs, chosen.procfs)
    pressure = re.search('^full (.*)', read(measured.machine.procfs + '/pressure/irq') or '', re.M)
    advice, pressure = Advice(measured, replay), pressure[1] if pressure else None
    lines = [json.dumps(record(advice, pressure), separators=(',', ':'))] if chosen.json else page(advice, pressure)
    if chosen.plot:
        draw(advice, chosen.plot)
    if chosen.out:
        with open(chosen.out, 'w', encoding='utf-8') as file:
            file.write(measured.workload())
    sys.stdout.write('\n'.join(lines) + '\n')
    sys.stdout.flush()
