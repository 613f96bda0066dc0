// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: decaying averages and the time of the next pass.
 *
 * Two averages are kept of each load. The fast one decays with a half-life
 * that is short against the reaction wanted (tenths of a second); the slow
 * one is what a small gain has to be proven with. Both start as plain means,
 * so that the first pass that measured anything has the right number. Between
 * the two the measured noise decides, and how far the load has swung before.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "balance_pace.h"

#define NSEC_PER_USEC_U		1000U
#define USEC_PER_SEC_U		1000000U
#define NSEC_PER_MSEC_U		1000000U

/* Weights are fractions of this. */
#define WEIGHT_SHIFT		16
#define WEIGHT_ONE		65536U

/* The slowest kick, ns. */
#define LIMIT_MAX		4000000000U

/* Histories, windows and runs (ms) are cut off here. */
#define AGE_MAX_MS		1000000U
#define RUN_MAX_MS		30000

/* 65536 * 2^(-i/16), rounded: sixteen steps make one half-life. */
static const u32 irq_balance_decay[16] = {
	65536, 62757, 60097, 57549, 55109, 52773, 50535, 48393,
	46341, 44376, 42495, 40693, 38968, 37316, 35734, 34219,
};

/**
 * irq_balance_kept - how much of an average is left after a time
 * @ms:		the time
 *
 * Return: 65536 * 2^(-@ms / IRQ_BALANCE_HALF_LIFE_MS), 0..65536.
 */
static u32 irq_balance_kept(u32 ms)
{
	u32 step = ms / (IRQ_BALANCE_HALF_LIFE_MS / 16);

	if (step >= 16 * WEIGHT_SHIFT)
		return 0;
	return irq_balance_decay[step % 16] >> (step / 16);
}

/**
 * irq_balance_blend - move an average towards a new value
 * @old:	the average, ns/s, up to IRQ_BALANCE_LOAD_MAX
 * @new:	the value, ns/s, up to IRQ_BALANCE_LOAD_MAX
 * @weight:	weight of @new, 0..65536
 *
 * Return: the new average; @new itself for the full weight.
 */
static u64 irq_balance_blend(u64 old, u64 new, u32 weight)
{
	if (new >= old)
		return old + (((new - old) * weight) >> WEIGHT_SHIFT);
	return old - (((old - new) * weight) >> WEIGHT_SHIFT);
}

/* The weight of a window of @ms beside a history of @history ms. */
static u32 irq_balance_share(u64 ms, u64 history)
{
	return (u32)div_u64(ms << WEIGHT_SHIFT, (u32)(history + ms));
}

/**
 * irq_balance_rate - time per time
 * @time:	ns of work
 * @elapsed:	ns in which it was done, at least 1000
 * @capacity:	1..1024, of the CPU that did it
 *
 * Return: ns/s on a CPU of capacity 1024, up to IRQ_BALANCE_LOAD_MAX.
 */
static u64 irq_balance_rate(u64 time, u64 elapsed, u32 capacity)
{
	u64 usec = div_u64(elapsed, NSEC_PER_USEC_U);
	u64 rate;

	while (usec >> 32 || time >> 44) {
		usec >>= 1;
		time >>= 1;
	}
	if (!usec)
		return IRQ_BALANCE_LOAD_MAX;
	/* Below 2^44 * 10^6, which is just below 2^64. */
	rate = div_u64(time * USEC_PER_SEC_U, (u32)usec);
	rate = min_t(u64, rate, IRQ_BALANCE_LOAD_MAX);
	return rate * capacity / IRQ_BALANCE_CAPACITY;
}

/* After how long (ms) on one side of its slow average a load is there to stay. */
static int irq_balance_lasts(const struct irq_balance_average *avg)
{
	return max(avg->lasts_ms, IRQ_BALANCE_BURST_MS);
}

/* For how long (ms) it has been on one side of it. */
static int irq_balance_ran(const struct irq_balance_average *avg)
{
	return max(avg->run_ms, -avg->run_ms);
}

/* It comes back from the other side of its slow average. */
static void irq_balance_swung(struct irq_balance_average *avg)
{
	int ran = irq_balance_ran(avg), lasts = irq_balance_lasts(avg);
	u64 *swing = &avg->swing[avg->run_ms > 0];

	if (ran > 2 * lasts) {
		avg->lasts_ms = 0;
	} else if (avg->off * 4 > avg->slow) {
		/* Half of what is new in it is believed each time. */
		if (avg->off > *swing)
			*swing += (avg->off - *swing) / 2;
		/* It was taken for one that is there to stay. */
		if (ran > lasts)
			avg->lasts_ms = (s16)min(2 * lasts, RUN_MAX_MS / 2);
	}
	avg->off = 0;
}

/* For how long windows have been on the same side of the slow average. */
static void irq_balance_run(struct irq_balance_average *avg, bool above, u32 ms)
{
	int run = avg->run_ms, more = (int)min_t(u32, ms, RUN_MAX_MS);

	if (above ? run < 0 : run > 0)
		irq_balance_swung(avg);
	if (above)
		run = min(max(run, 0) + more, RUN_MAX_MS);
	else
		run = max(min(run, 0) - more, -RUN_MAX_MS);
	avg->run_ms = (s16)run;
}

/**
 * irq_balance_average_update - take in one window
 * @avg:	the average
 * @total:	cumulative time (ns) at the window's end; when it went back,
 *		or was never seen, the window counts as not measured
 * @elapsed:	length of the window in ns
 * @capacity:	1..1024, of the CPU that did the work: the average is in ns/s
 *		of a CPU of capacity 1024
 *
 * A load that is off the average by more than a quarter, and still off in the
 * same direction by more than a sixteenth in the next window, made a step:
 * then the fast average jumps to the last window instead of creeping there,
 * and no plan is made from numbers on their way. One that came in bursts and
 * does so no more has no history but the last moments.
 */
void irq_balance_average_update(struct irq_balance_average *avg, u64 total,
				u64 elapsed, u32 capacity)
{
	u64 rate, off, ms = div_u64(elapsed, NSEC_PER_MSEC_U);
	u32 weight, young;
	bool up;

	if (!avg->seen || total < avg->total || !ms) {
		avg->total = total;
		avg->seen = true;
		return;
	}
	rate = irq_balance_rate(total - avg->total, elapsed, capacity);
	avg->total = total;
	ms = min_t(u64, ms, AGE_MAX_MS);

	irq_balance_run(avg, rate > avg->slow, (u32)ms);
	if (avg->noise * 4 > avg->slow &&
	    irq_balance_ran(avg) > irq_balance_lasts(avg)) {
		avg->slow = avg->fast;
		avg->noise = 0;
	}

	up = rate >= avg->fast;
	off = up ? rate - avg->fast : avg->fast - rate;
	if (avg->age_ms && up && avg->steps > 0 && off * 16 > avg->fast)
		avg->steps = 2;
	else if (avg->age_ms && !up && avg->steps < 0 && off * 16 > avg->fast)
		avg->steps = -2;
	else if (avg->age_ms && off * 4 > avg->fast)
		avg->steps = up ? 1 : -1;
	else
		avg->steps = 0;

	young = irq_balance_share(ms, avg->age_ms);
	weight = max(WEIGHT_ONE - irq_balance_kept((u32)ms), young);
	if (avg->steps > 1 || avg->steps < -1)
		weight = WEIGHT_ONE;
	avg->fast = irq_balance_blend(avg->fast, rate, weight);

	weight = irq_balance_share(ms, IRQ_BALANCE_SLOW_MS);
	avg->slow = irq_balance_blend(avg->slow, rate, max(weight, young));

	/*
	 * @off is from before the window was taken in; the first has no before.
	 * A new load is taken for a steady one: its first step is no noise.
	 */
	weight = max(weight, irq_balance_share(ms, avg->age_ms + IRQ_BALANCE_YOUNG_MS));
	avg->noise = irq_balance_blend(avg->noise, avg->age_ms ? off : 0, weight);
	avg->age_ms = min_t(u32, avg->age_ms + (u32)ms, AGE_MAX_MS);

	weight = irq_balance_share(ms, IRQ_BALANCE_SWING_MS);
	avg->swing[0] = irq_balance_blend(avg->swing[0], 0, weight);
	avg->swing[1] = irq_balance_blend(avg->swing[1], 0, weight);
	if (avg->run_ms > 0 && avg->fast > avg->slow)
		avg->off = max(avg->off, avg->fast - avg->slow);
	else if (avg->run_ms < 0 && avg->fast < avg->slow)
		avg->off = max(avg->off, avg->slow - avg->fast);
}

/**
 * irq_balance_average_noise - how far the fast average may be off for nothing
 * @avg:	the average
 *
 * The noise of single windows, or how far the load has swung to the side of the
 * slow average on which it is, if it has not been there for longer than that.
 *
 * Return: ns/s on a CPU of capacity 1024.
 */
u64 irq_balance_average_noise(const struct irq_balance_average *avg)
{
	if (irq_balance_ran(avg) > irq_balance_lasts(avg))
		return avg->noise;
	return max(avg->noise, avg->swing[avg->fast > avg->slow]);
}

/**
 * irq_balance_average_load - what a load is, as far as noise lets one know
 * @avg:	the average
 *
 * The slow average is right unless something has changed, and the fast one
 * says whether it has, give or take the noise. So it is the closest to the slow
 * average that the fast one allows: a steady load has no noise and follows
 * the fast average, one that comes in bursts, or swings to and fro, has no load
 * but the slow average.
 *
 * Return: ns/s on a CPU of capacity 1024.
 */
u64 irq_balance_average_load(const struct irq_balance_average *avg)
{
	u64 noise = irq_balance_average_noise(avg);

	return clamp(avg->slow, avg->fast - min(avg->fast, noise), avg->fast + noise);
}

/**
 * irq_balance_limit - the time in which a rate charges one quantum
 * @rate:	ns/s of handler time on the CPU that serves the interrupt
 *
 * Return: ns; at most LIMIT_MAX, which stands for all rates below 1 ms/s.
 */
u32 irq_balance_limit(u64 rate)
{
	u64 limit = (u64)IRQ_LOAD_QUANTUM * IRQ_BALANCE_FULL >> 10;

	/* A rate is at most 2^10 times IRQ_BALANCE_LOAD_MAX, below 2^43. */
	rate >>= 10;
	while (rate >> 32) {
		rate >>= 1;
		limit >>= 1;
	}
	limit = rate ? div_u64(limit, (u32)rate) : LIMIT_MAX;
	return (u32)min_t(u64, limit, LIMIT_MAX);
}

/**
 * irq_balance_heavy_limit - the limit of an interrupt that no pass has seen
 * @set:	settings
 *
 * Return: ns in which an interrupt charges one quantum that is just heavy.
 */
u32 irq_balance_heavy_limit(const struct irq_balance_settings *set)
{
	return irq_balance_limit((u64)set->heavy * (IRQ_BALANCE_FULL / 1000));
}

/**
 * irq_balance_pace - work out the time of the next pass
 * @bal:	the balancer; @nr_heavy of it is up to date
 * @set:	settings
 * @now:	clock in ns
 * @restless:	whether something changed, or is about to
 *
 * Short while something changes, doubling when nothing does, and no timer at
 * all without heavy interrupts: irq_balance_kick() ends that sleep.
 */
void irq_balance_pace(struct irq_balance *bal,
		      const struct irq_balance_settings *set, u64 now,
		      bool restless)
{
	u32 ms = bal->interval_ms;

	if (restless)
		ms = set->interval_min_ms;
	else if (!bal->nr_heavy)
		ms = 0;
	else
		ms = clamp(2 * ms, set->interval_min_ms, set->interval_max_ms);
	bal->interval_ms = ms;
	bal->next = ms ? now + (u64)ms * NSEC_PER_MSEC_U : IRQ_BALANCE_NO_TIMER;
}
