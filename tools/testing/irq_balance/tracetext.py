# SPDX-License-Identifier: GPL-2.0
"""Events in the text of perf script, trace-cmd report or tracefs, recorded on any machine

The events are those of tracetimes.py, and are charged in the same way. Not all have to be there:
without softirq_raise a handler is taken to raise the softirq that follows it directly. The text is
divided into BINS windows.
"""
import itertools
import re
import sys

import tracetimes
from common import Failure
from tracetimes import ENTRY, EXIT, POLL, RAISE, SOFT_ENTRY, SWITCH

BINS = 10
# Of a trace with more events these are read, which takes up to half a minute and 100 MB
MOST = 500000
# The cost of an event of ftrace, in events of perf: 2470 and 5480 ns in the same guest
PERF = 0.45
NAMES = [name.split('/')[1] for name in tracetimes.EVENTS]
# comm PID [CPU] flags SECONDS: SYSTEM:NAME: fields
HEAD = re.compile(r'[\s-](\d{1,10})(?:/\d{1,10})?\s+(?:\([\s\d-]*\)\s+)?\[(\d{1,4})\]\s+(?:[^\s:]{4,8}\s+)?(\d{1,12})\.(\d{9}|\d{6}):\s+(?:\d+\s+)?'
                  r'(irq:|napi:|sched:)?(%s):\s*(.*)' % '|'.join(NAMES))
NAME = re.compile(r'\b(%s):' % '|'.join(NAMES))
FIELDS = {'irq': re.compile(r'irq=(\d{1,9}) (?:name=(.*))?'), 'vec': re.compile(r'vec=(\d{1,2})\b'),
          'napi': re.compile(r'napi poll on napi struct (?:0x)?([0-9a-f]{1,16}) for device (.*?)(?: work .*)?$'),
          'prev_pid': re.compile(r'(?:prev_comm=(?P<a>.*) prev_pid=|(?P<b>.*):)(\d{1,10}) .*==> (?:next_comm=(?P<c>.*) next_pid=|(?P<d>.*):)(\d{1,10}) ')}
LOST = re.compile(r'LOST \d+ EVENTS|EVENTS DROPPED|PERF_RECORD_LOST|entries-in-buffer/entries-written: (?!(\d+)/\1\b)')
THREAD = re.compile(r'irq/(\d{1,9})-')


class Text:
    """A trace in the file WHERE, with what Trace has of one that was measured here."""
    own, lost, most = 0.0, 0, MOST

    def __init__(self, lines, where):
        self.where, self.names, self.threads, self.cpus, self.devices = where, {}, {}, {}, set()
        self.kinds, self.precise, self.perf, self.cut, online = set(), False, False, False, 0
        for number, line in enumerate(itertools.islice(lines, 50 * self.most), 1):
            found = HEAD.search(line)
            if not found and LOST.search(line):
                raise Failure('%s:%d: events were lost: record with a larger buffer, or for a shorter time' % (where, number))
            header = re.match(r'cpus=(\d{1,4})$|#.*#P:(\d{1,4})', line)
            online = max(online, int(header[1] or header[2])) if header else online
            try:
                if '\0' in line:
                    raise ValueError
                if found:
                    self.event(line, found)
                elif NAME.search(line):
                    raise ValueError
                if not line.endswith('\n') and not line.startswith('#'):
                    raise ValueError
            except ValueError:
                raise Failure('%s:%d: cannot read this event: is the text cut? It is expected from perf script or trace-cmd report' % (
                    where, number)) from None
            if self.size == self.most:
                self.cut = True
                break
        if ENTRY not in self.kinds or EXIT not in self.kinds:
            raise Failure("%s: no events irq:irq_handler_entry and irq_handler_exit: perf record -a -e 'irq:*' -e napi:napi_poll" % where)
        for events in self.cpus.values():
            events.sort(key=lambda event: event[0])
        self.begin, end = min(e[0][0] for e in self.cpus.values()), max(e[-1][0] for e in self.cpus.values())
        if end - self.begin < 10 ** 7:
            raise Failure('%s: %.1f ms are too short: record some seconds' % (where, (end - self.begin) / 1e6))
        self.online = range(max(online, 1 + max(self.cpus)))
        self.began, self.seconds = self.begin / 1e9, (end - self.begin) / 1e9
        self.traced = self.seconds
        limits = [self.begin + (end - self.begin) * n // BINS for n in range(BINS + 1)]
        self.timed = self.windows = list(zip(limits, limits[1:]))

    size = 0

    def event(self, line, found):
        pid, cpu, seconds, part, system, name, rest = found.groups()
        kind = NAMES.index(name)
        fields = FIELDS[list(tracetimes.EVENTS.values())[kind]].match(rest + ' ' if kind in (SWITCH, EXIT) else rest)
        if not fields:
            raise ValueError(rest)
        value = other = int(fields[1], 16) if kind == POLL else int(fields[3] if kind == SWITCH else fields[1])
        if kind == ENTRY:
            self.names.setdefault(value, fields[2] or '')
        elif kind == POLL:
            other = fields[2]
            self.devices |= {other} - {'(no_device)', ''}
        elif kind == SWITCH:
            other = int(fields[6])
            for comm, number in (fields['a'] or fields['b'] or '', value), (fields['c'] or fields['d'] or '', other):
                thread = THREAD.match(comm)
                if thread:
                    self.threads[number] = int(thread[1])
        self.kinds.add(kind)
        self.precise |= len(part) == 9
        self.perf |= system is not None
        self.size += 1
        self.cpus.setdefault(int(cpu), []).append((int(seconds) * 10 ** 9 + int(part.ljust(9, '0')), kind, value, other, int(pid)))

    def parse(self):
        """The sums of each window, and what the handlers raise."""
        accounts = tracetimes.Accounts(self.threads, PERF if self.perf else 1)
        for learn in True, False:
            accounts.learning = learn or RAISE in self.kinds
            accounts.seen = accounts.torn = 0
            accounts.gaps.clear()
            for begin, end in self.timed:
                accounts.window()
                for cpu, events in self.cpus.items():
                    part = [event for event in events if begin <= event[0] < end + (end == self.timed[-1][1])]
                    accounts.cpu(cpu, part if not learn or RAISE in self.kinds else raising(part), begin, end)
        accounts.sums = accounts.sums[-len(self.timed):]
        accounts.resolution = 1 if self.precise else 1000
        if accounts.torn > accounts.seen / 100:
            raise Failure('%s: events were lost, %d ends have no beginning: record with a larger buffer' % (self.where, accounts.torn))
        return accounts

    def counts(self):
        found = dict.fromkeys(self.names, 0)
        for _, kind, value, *_ in itertools.chain(*self.cpus.values()):
            if kind == ENTRY:
                found[value] += 1
        return found

    def unknown(self):
        """Phrases about all that the text does not contain."""
        found = ['only the first %.1f s, %d events, were read' % (self.seconds, self.size)] if self.cut else []
        missing = [text for kind, text in ((SOFT_ENTRY, 'softirqs'), (POLL, 'NAPI polls'), (SWITCH, 'threads')) if kind not in self.kinds]
        found += ['no events of ' + ', '.join(missing)] if missing else []
        return found + ([] if self.precise else ['times are in us, loads are rough (perf script --ns, trace-cmd report -t)'])


def raising(events):
    """EVENTS with softirq_raise in the handler that is directly before a softirq."""
    for event, then in itertools.zip_longest(events, events[1:]):
        if event[1] == EXIT and then and then[1] == SOFT_ENTRY:
            yield (event[0], RAISE, then[2], then[2], event[4])
        yield event


def load(name):
    try:
        if name == '-' and not sys.stdin:
            raise Failure('standard input is closed')
        with open(0 if name == '-' else name, encoding='utf-8', errors='replace', newline='\n', closefd=name != '-') as file:
            return Text(iter(lambda: file.readline(65536), ''), name)
    except OSError as error:
        raise Failure('%s: %s' % (name, error.strerror)) from None
