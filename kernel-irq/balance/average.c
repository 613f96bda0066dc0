// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the mean of a load, and how far off it may be
 *
 * A load is a mean over twenty seconds. A new one may be off by a quarter, which falls to nothing
 * over five seconds. Besides, its error is not the size of its swings but three times their mean
 * deviation divided by the root of n, where n swings were seen. It is never off by more than half.
 * But a load that was higher, within its range, may rise again: a quarter of the difference counts.
 *
 * If a load leaves its past range by a quarter of its upper bound, the mean starts anew. There are
 * two ranges, of single windows (of 50 to 300 ms, as passes are apart) and of the mean over a
 * second: windows have to stay outside of the first for a tenth of a second, or the mean
 * outside of the second for a second, as after a step out of a fast swing. Ranges forget within
 * two minutes. Until then a return to an earlier level does not start the mean anew, so that
 * slow swings end up in it.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "average.h"

/* History (ms) of the mean, of what is recent, and of the ranges */
#define MEAN_MS		20000U
#define RECENT_MS	1000U
#define RANGE_MS	120000U

/* A mean without history, or what a load has fallen by in a pause, may be off by a quarter */
#define UNKNOWN_SHIFT	2

/* A mean may be off by this many times its deviation */
#define DEVIATIONS	3U

/* Longer windows and ages weigh no more than this, ms */
#define WINDOW_MAX	1000000U

/* Moves an average with a history of @history ms towards the mean of @ms more */
static u64 blend(u64 old, u64 new, u32 ms, u32 history)
{
	if (new >= old)
		return old + div_u64((new - old) * ms, history + ms);
	return old - div_u64((old - new) * ms, history + ms);
}

static void widen_range(struct irq_balance_range *range, u64 rate, u32 ms)
{
	range->low = min(rate, blend(range->low, rate, ms, RANGE_MS));
	range->high = max(rate, blend(range->high, rate, ms, RANGE_MS));
}

static bool is_beyond(const struct irq_balance_range *range, u64 rate)
{
	return rate > range->high + range->high / 4 || rate + range->high / 4 < range->low;
}

static void restart(struct irq_balance_average *avg, u64 mean, u32 age_ms)
{
	avg->mean = mean;
	avg->recent = mean;
	avg->dev = 0;
	avg->age_ms = age_ms;
	avg->run_ms = 0;
	widen_range(&avg->windows, mean, 0);
	widen_range(&avg->seconds, mean, 0);
}

/*
 * Whether a window completes a step. The first one of a run has the step somewhere inside and
 * does not count.
 */
static bool is_step(struct irq_balance_average *avg, u64 rate, u32 ms, bool fast)
{
	bool quick = fast && is_beyond(&avg->windows, rate);
	bool up = rate > avg->mean;
	/* After a burst what is recent stays high for a while */
	bool slow = is_beyond(&avg->seconds, avg->recent) && up == (avg->recent > avg->mean);

	if (!quick)
		widen_range(&avg->windows, rate, ms);
	if (avg->run_ms && (!(quick || slow) || up != avg->up)) {
		widen_range(&avg->windows, avg->run, 0);
		widen_range(&avg->seconds, avg->recent, 0);
		avg->run_ms = 0;
	}
	if (quick || slow) {
		avg->quick = quick && (avg->quick || !avg->run_ms);
		avg->run = avg->run_ms > 1 ? blend(avg->run, rate, ms, avg->run_ms) : rate;
		avg->run_ms += avg->run_ms ? ms : 1;
		avg->up = up;
	}
	return avg->run_ms > (avg->quick ? IRQ_BALANCE_STEP_MS : RECENT_MS);
}

/* How far off the mean may be, ns/s: less with more history */
u64 irq_balance_average_error(const struct irq_balance_average *avg)
{
	u32 left = IRQ_BALANCE_UNKNOWN_MS - min(avg->age_ms, IRQ_BALANCE_UNKNOWN_MS);
	u32 swings = min(avg->age_ms, 2 * MEAN_MS) /
		     max3(avg->since_ms, avg->swing_ms, RECENT_MS);
	u64 error = div_u64((avg->mean >> UNKNOWN_SHIFT) * left, IRQ_BALANCE_UNKNOWN_MS) +
		    div_u64(DEVIATIONS * avg->dev, int_sqrt(max(swings, 1U)));

	/* Two that take turns on a full CPU have such swings, but any of them may well leave it */
	error = min(error, avg->mean / 2);
	return max(error, (max(avg->seconds.high, avg->mean) - avg->mean) >> UNKNOWN_SHIFT);
}

/**
 * irq_balance_average_update - Take in one window
 * @avg:	the average
 * @total:	cumulative time (ns) at the window's end; if it went back, or was
 *		never seen, the window counts as not measured
 * @elapsed:	length of the window in ns
 * @capacity:	1..1024, of the CPU that did the work: the average is in ns/s
 *		of a CPU of capacity 1024
 * @fast:	follow a step after a tenth of a second; if not, after a second
 */
void irq_balance_average_update(struct irq_balance_average *avg, u64 total,
				u64 elapsed, u32 capacity, bool fast)
{
	u64 us = div_u64(elapsed, 1000), rate = total - avg->total, off;
	u32 ms = min_t(u64, div_u64(us, 1000), WINDOW_MAX), history = min(avg->age_ms, MEAN_MS);
	bool seen = avg->seen && total >= avg->total && ms, above;

	avg->total = total;
	avg->seen = true;
	if (!seen)
		return;

	/* A hundred days of work in ns are below 2^53: the quotient fits */
	rate = mul_u64_u64_div_u64(min(rate, 1ULL << 53), 1000000, us);
	rate = min(rate, IRQ_BALANCE_LOAD_MAX) * capacity / IRQ_BALANCE_CAPACITY;
	/* The first window, or one that is as long as the range */
	if (!avg->age_ms || ms >= RANGE_MS) {
		avg->windows = (struct irq_balance_range) { rate, rate };
		avg->seconds = avg->windows;
		restart(avg, rate, max(avg->age_ms, ms));
		return;
	}
	avg->recent = blend(avg->recent, rate, ms, min(avg->age_ms, RECENT_MS));
	if (is_step(avg, rate, ms, fast)) {
		restart(avg, avg->run, avg->run_ms);
		return;
	}
	/* Once a second, lest the range goes with a step */
	avg->range_ms += ms;
	if (!avg->run_ms && avg->range_ms >= RECENT_MS) {
		widen_range(&avg->seconds, avg->recent, avg->range_ms);
		avg->range_ms = 0;
	}
	/* As long as there is no more history than that, single windows have to do */
	off = abs_diff(avg->age_ms < RECENT_MS ? rate : avg->recent, avg->mean);
	avg->dev = blend(avg->dev, off, ms, history);
	avg->since_ms = min(avg->since_ms + ms, WINDOW_MAX);
	above = avg->recent > avg->mean;
	if (above != avg->above) {
		avg->above = above;
		avg->swing_ms = (3 * avg->swing_ms + avg->since_ms) / 4;
		avg->since_ms = 0;
	}
	avg->mean = blend(avg->mean, rate, ms, history);
	avg->age_ms = min(avg->age_ms + ms, WINDOW_MAX);
}
