// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the mean and the deviation of a load
 *
 * A load is a mean over twenty seconds with a deviation: how far the mean over
 * one second is from it. Windows that are far off for a tenth of a second are
 * a step: the mean starts anew from there. A step back within a minute is not
 * followed, so bursts and swings end up in mean and deviation.
 *
 * The base load of a CPU follows no steps: bursts of it are common, and each would
 * cause moves. Its mean looks back for half of its age at first, so that softirqs of
 * the time at which the balancer was switched on fade with the square of the time.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "average.h"

/* History (ms) of the mean, and of what its deviation is taken from */
#define MEAN_MS		20000U
#define RECENT_MS	1000U

/* A mean without history may be off by an eighth, after this time (ms) by its deviation only */
#define UNKNOWN_SHIFT	3
#define UNKNOWN_MS	5000U

/* A load may be off by this many mean deviations */
#define DEVIATIONS	3U

/* Below this age (ms) both terms of the error are doubled */
#define YOUNG_MS	2500U

/* A step back within this time (ms) is not followed. A window as long is a mean by itself. */
#define SWING_MS	60000U

/* Longer windows and ages weigh no more than this, ms */
#define WINDOW_MAX	1000000U

/* Moves an average with a history of @history ms towards the mean of @ms more */
static u64 irq_balance_blend(u64 old, u64 new, u32 ms, u32 history)
{
	if (new >= old)
		return old + div_u64((new - old) * ms, history + ms);
	return old - div_u64((old - new) * ms, history + ms);
}

/* Starts anew from the mean of @age_ms */
static void irq_balance_restart(struct irq_balance_average *avg, u64 mean, u32 age_ms)
{
	avg->mean = mean;
	avg->recent = mean;
	avg->dev = 0;
	avg->age_ms = age_ms;
	avg->run_ms = 0;
}

/*
 * Takes in a window that is far off; returns whether it completes a step. If the last
 * one was far off in the other direction, the load swings and is not followed. The
 * first window of a run has the step somewhere inside and does not count.
 */
static bool irq_balance_take_far(struct irq_balance_average *avg, u64 rate, u32 ms)
{
	bool up = rate > avg->mean;

	if (avg->far_ms < SWING_MS && (avg->turned || up != avg->up)) {
		avg->turned = true;
		avg->run_ms = 0;
	} else if (!avg->run_ms || up != avg->up) {
		avg->turned = false;
		avg->run_ms = 1;
	} else {
		avg->run = irq_balance_blend(avg->run_ms > 1 ? avg->run : rate, rate, ms,
					     avg->run_ms);
		avg->run_ms += ms;
	}
	avg->up = up;
	avg->far_ms = 0;
	if (avg->run_ms <= IRQ_BALANCE_STEP_MS)
		return false;
	irq_balance_restart(avg, avg->run, avg->run_ms);
	return true;
}

/* How far off the mean a window has to be for a step, ns/s */
u64 irq_balance_average_off(const struct irq_balance_average *avg)
{
	return max(avg->mean / 4, 3 * avg->dev);
}

/* How far off the mean may be, ns/s: the deviation, and more with little history */
u64 irq_balance_average_error(const struct irq_balance_average *avg)
{
	u32 left = UNKNOWN_MS - min(avg->age_ms, UNKNOWN_MS);
	u64 unknown = div_u64((avg->mean >> UNKNOWN_SHIFT) * left, UNKNOWN_MS);

	return (avg->age_ms < YOUNG_MS ? 2 : 1) * (DEVIATIONS * avg->dev + unknown);
}

/**
 * irq_balance_average_update - Take in one window
 * @avg:	the average
 * @total:	cumulative time (ns) at the window's end; if it went back, or was
 *		never seen, the window counts as not measured
 * @elapsed:	length of the window in ns
 * @capacity:	1..1024, of the CPU that did the work: the average is in ns/s
 *		of a CPU of capacity 1024
 * @follow:	follow steps; if not, forget the beginning sooner
 */
void irq_balance_average_update(struct irq_balance_average *avg, u64 total,
				u64 elapsed, u32 capacity, bool follow)
{
	u64 us = div_u64(elapsed, 1000), rate = total - avg->total, off;
	u32 ms = min_t(u64, div_u64(us, 1000), WINDOW_MAX);
	u32 history = min(follow ? avg->age_ms : avg->age_ms / 2, MEAN_MS);
	bool seen = avg->seen && total >= avg->total && ms;

	avg->total = total;
	avg->seen = true;
	if (!seen)
		return;

	/* A hundred days of work in ns are below 2^53: the quotient fits */
	rate = mul_u64_u64_div_u64(min(rate, 1ULL << 53), 1000000, us);
	rate = min(rate, IRQ_BALANCE_LOAD_MAX) * capacity / IRQ_BALANCE_CAPACITY;
	if (!avg->age_ms || ms >= SWING_MS) {
		u32 age = abs_diff(rate, avg->mean) <= irq_balance_average_off(avg) ?
			  avg->age_ms : 0;

		avg->far_ms = SWING_MS;
		irq_balance_restart(avg, rate, min(age + ms, WINDOW_MAX));
		return;
	}
	avg->far_ms = min(avg->far_ms + ms, SWING_MS);
	avg->recent = irq_balance_blend(avg->recent, rate, ms, min(avg->age_ms, RECENT_MS));
	/* As long as there is no more history than that, single windows have to do */
	off = abs_diff(avg->age_ms < RECENT_MS ? rate : avg->recent, avg->mean);
	avg->dev = irq_balance_blend(avg->dev, off, ms, history);
	/* The mean comes closer during a run */
	off = irq_balance_average_off(avg);
	if (avg->run_ms)
		off -= off / 4;
	if (follow && abs_diff(rate, avg->mean) > off) {
		if (irq_balance_take_far(avg, rate, ms))
			return;
	} else {
		avg->run_ms = 0;
	}
	avg->mean = irq_balance_blend(avg->mean, rate, ms, history);
	avg->age_ms = min(avg->age_ms + ms, WINDOW_MAX);
}
