# SPDX-License-Identifier: GPL-2.0
"""Figures of the demo from what its guest recorded; no side effects.

All times are seconds of the guest's CLOCK_MONOTONIC. Interrupt load is irq +
softirq time of /proc/stat; its unit there, 1/100 s, makes it a percentage when
divided by seconds.
"""
import re
import statistics

SETTLED_WITHIN = 1.1    # of the final value
WINDOW = 0.5            # what is looked at to find the moment of settling
AFTER_SETTLING = 5.0    # the final value is measured this long after it
MEASURE = 5.0           # and over this long
MOVES_OVER = 10.0       # moves after settling are counted over at least this


class Run:
    """One run of traffic: samples [(time, bytes, [ticks of each CPU])], marks, moves."""

    def __init__(self, log, trace='', before='', after=''):
        self.samples, self.marks = [], []
        for line in log.splitlines():
            words = line.split()
            if len(words) > 3 and words[0] == 'stat':
                self.samples.append((int(words[1]) / 1e9, int(words[2]), [int(w) for w in words[3:]]))
            elif len(words) == 3 and words[0] == 'mark':
                self.marks.append((int(words[1]) / 1e9, words[2]))
        self.moves = [(float(m[1]), m[2]) for m in
                      re.finditer(r'\s(\d+\.\d+): irq_balance_move: (.*)', trace)]
        self.masks_unchanged = before == after and bool(before)

    def mark(self, name):
        for when, what in self.marks:
            if what == name:
                return when
        raise ValueError('the guest recorded no mark "%s"' % name)

    def span(self, start, end):
        """First and last sample inside [start, end]."""
        inside = [s for s in self.samples if start <= s[0] <= end]
        if len(inside) < 2:
            raise ValueError('no samples between %.1f and %.1f s' % (start, end))
        return inside[0], inside[-1]

    def loads(self, start, end):
        """Interrupt load of each CPU, in percent."""
        a, b = self.span(start, end)
        return [(y - x) / (b[0] - a[0]) for x, y in zip(a[2], b[2])]

    def ratio(self, start, end):
        loads = self.loads(start, end)
        mean = sum(loads) / len(loads)
        return max(loads) / mean if mean else float('nan')

    def windows(self, start, end):
        """(end, ratio) of each WINDOW inside [start, end]."""
        for when, _, _ in self.samples:
            if start - 0.01 <= when - WINDOW and when <= end:
                try:
                    yield when, self.ratio(when - WINDOW - 0.01, when)
                except ValueError:      # the host left the guest without time
                    pass

    def final(self, start, end):
        """What a WINDOW shows in [start, end]: the median.

        In half a second a CPU that is 10 % busy with interrupts counts 5 ticks, give
        or take one: the largest of 8 such numbers is above what 5 s would show. So
        windows are compared with windows.
        """
        return statistics.median(ratio for _, ratio in self.windows(start, end))

    def settled(self, start, end, final):
        """End of the first WINDOW from start on that is within bounds, or None."""
        for when, ratio in self.windows(start, end):
            if ratio <= SETTLED_WITHIN * final:
                return when
        return None

    def moves_between(self, start, end):
        return sum(start <= when <= end for when, _ in self.moves)


def window_of(start, end):
    """Where off and on are both measured: the last part before end."""
    return end - MEASURE, end


def phases(run, starts, end):
    """For each change: time to settle (ms or None) and final max/mean."""
    result = []
    for i, start in enumerate(starts):
        stop = starts[i + 1] if i + 1 < len(starts) else end
        # all but the last change are followed by the next one after a few seconds
        last = window_of(start, end) if stop == end else ((start + stop) / 2, stop)
        final = run.final(*last)
        when = run.settled(start, stop, final)
        result.append({'max_over_mean': round(run.ratio(*last), 3),
                       'max_over_mean_500ms': round(final, 3),
                       'settle_ms': None if when is None else round((when - start) * 1000)})
    return result


def figures(run, starts, balanced):
    """The figures of one run. starts: the marks that time to balance counts from."""
    starts = [run.mark(name) for name in starts]
    end = run.mark('end')
    window = window_of(starts[-1], end)
    found = {'max_over_mean': round(run.ratio(*window), 3)}
    parts = phases(run, starts, end)
    if balanced:
        times = [p['settle_ms'] for p in parts]
        found['moves'] = run.moves_between(starts[0], end)
        found['settle_ms'] = None if None in times else max(times)
        settled = starts[-1] + (times[-1] or 0) / 1000
        found['moves_after_settled'] = None if times[-1] is None else run.moves_between(settled, end)
        found['masks_unchanged'] = run.masks_unchanged
        if times[-1] is not None:
            found['measured_from_s_after_settling'] = round(window[0] - settled, 2)
            found['moves_counted_over_s'] = round(end - settled, 2)
    found['cpu_percent'] = [round(x, 1) for x in run.loads(*window)]
    if balanced:
        found['changes'] = parts
    return found


def median(runs):
    """One set of figures from several: medians; the masks must agree in all."""
    result = dict(runs[0])
    for key in runs[0]:
        values = [r[key] for r in runs]
        if key == 'masks_unchanged':
            result[key] = all(values)
        elif key in ('moves', 'moves_after_settled', 'settle_ms', 'max_over_mean'):
            if None in values:
                values = [float('inf') if v is None else v for v in values]
            value = statistics.median_high(values)
            result[key] = None if value == float('inf') else value
    return result
