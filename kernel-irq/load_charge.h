/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of the load map: sampling, extrapolation, and the rule that
 * wakes its user. Pure: no locks, no clock, no descriptors, so that KUnit and
 * user space run what the kernel runs.
 *
 * Times are ns of local_clock(). The clocks of two CPUs may differ: take the
 * difference of two stamps with irq_load_since() unless it is only compared.
 */
#ifndef _KERNEL_IRQ_LOAD_CHARGE_H
#define _KERNEL_IRQ_LOAD_CHARGE_H

#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/types.h>

/* Samples of one source are about this far apart */
#define IRQ_LOAD_SAMPLE_NS	1000000ULL

/* A source without a sample for this long has become rare */
#define IRQ_LOAD_RARE_NS	(4 * IRQ_LOAD_SAMPLE_NS)

/* Gaps of about 4096 are one sample per ms at four million events per second */
#define IRQ_LOAD_MAX_SPREAD	4095U

/* Most time that may be charged later than it was spent */
#define IRQ_LOAD_CARRY_NS	32000000U

/* The maximum decays in steps of 2^30 ns, about a second */
#define IRQ_LOAD_MAX_SHIFT	30

/* Charged time after which a window closes, see irq_load_rises() */
#define IRQ_LOAD_QUANTUM	2000000U

/**
 * struct irq_load_hard - Handler time of one interrupt
 * @gap:	interrupts that the next sample stands for
 * @spread:	the gap that is aimed at, a power of two less one
 * @carry:	extrapolated time that is still to be charged, ns
 * @max_stamp:	when @max last decayed, in units of 2^30 ns
 * @max:	decayed maximum of the handler time, ns
 * @last:	handler time of the last sample, ns
 * @stamp:	when the last sample was taken
 * @time:	handler time, cumulative, ns
 * @count:	interrupts, cumulative
 */
struct irq_load_hard {
	u32	gap;
	u32	spread;
	u32	carry;
	u32	max_stamp;
	u64	max;
	u64	last;
	u64	stamp;
	u64	time;
	u64	count;
};

/* Time from @stamp to @now; a clock that went back measured nothing */
static inline u64 irq_load_since(u64 now, u64 stamp)
{
	s64 delta = now - stamp;

	return delta > 0 ? delta : 0;
}

/*
 * Follow a sum that may go down for a moment. Returns by how much @value is
 * above the highest so far. Sums may wrap around.
 */
static inline u64 irq_load_advance(u64 *highest, u64 value)
{
	u64 delta = irq_load_since(value, *highest);

	*highest += delta;
	return delta;
}

/*
 * Choose the gap to the next sample, @since is the time since the last one and
 * @aim what it should be. Factors of two with a dead band of four, so that a
 * steady rate settles; at once if the source has become rare. The clock is hashed to dither the gap: handlers that
 * alternate between a cheap and an expensive run would otherwise always be
 * sampled at the same one.
 */
static inline u32 irq_load_next_gap(u32 *spread, u64 now, u64 since, u64 aim)
{
	if (since < aim)
		*spread = min(2 * *spread + 1, IRQ_LOAD_MAX_SPREAD);
	else if (since > 4 * aim)
		*spread >>= min(ilog2(div64_u64(since, aim)) - 1, 31);

	return (*spread >> 1) + (((u32)now * 0x61C88647U >> 16) & *spread) + 1;
}

/*
 * The extrapolated time cannot exceed the wall time @since the last sample. The
 * excess is charged later, within bounds: one sample in many may be slow and
 * stand for the slow ones that were not sampled, or it may be slow just once.
 */
static inline u64 irq_load_extrapolate(u32 *carry, u64 time, u64 since)
{
	time += *carry;
	if (time <= since) {
		*carry = 0;
		return time;
	}
	*carry = min_t(u64, time - since, IRQ_LOAD_CARRY_NS);
	return since;
}

/*
 * Let the maximum decay by an eighth per 2^30 ns. What goes is rounded up, so
 * that small ones end at 0.
 */
static inline void irq_load_decay_max(struct irq_load_hard *h, u64 now)
{
	u32 stamp = now >> IRQ_LOAD_MAX_SHIFT;
	/* A clock that went back counts as one that went far ahead */
	u32 n = min(stamp - h->max_stamp, 128U);

	for (; n && h->max; n--)
		h->max -= (h->max + 7) / 8;
	h->max_stamp = stamp;
}

/*
 * Take in a sample that ended at @now and took @delta, both plain differences: if
 * a clock went back they are huge.
 */
static inline void irq_load_take_sample(struct irq_load_hard *h, u64 now, u64 delta)
{
	if ((s64)delta < 0)
		delta = 0;

	h->time += irq_load_extrapolate(&h->carry, delta * h->gap, now - h->stamp);
	h->count += h->gap;
	h->stamp = now;
	h->last = delta;
	irq_load_decay_max(h, now);
	h->max = max(h->max, delta);
}

/* Interrupts since the last sample, @skip are left to the next one */
static inline u32 irq_load_unsampled(const struct irq_load_hard *h, int skip)
{
	/* While the sample itself is handled @skip is below 0 */
	return skip < (int)h->gap ? h->gap - 1 - max(skip, 0) : 0;
}

/* Their time: like the last sample, as far as the wall time allows */
static inline u64 irq_load_unsampled_time(const struct irq_load_hard *h, int skip, u64 now)
{
	return min(irq_load_unsampled(h, skip) * h->last, irq_load_since(now, h->stamp));
}

/**
 * irq_load_rises - Whether the load of an interrupt has risen
 * @charged:	ns charged in a window, at least IRQ_LOAD_QUANTUM
 * @elapsed:	length of the window, ns
 * @limit:	ns in which a quantum may be charged without notice
 *
 * Context: any.
 *
 * Return: true if the user of the load map has to look
 */
static inline bool irq_load_rises(u64 charged, u64 elapsed, u32 limit)
{
	/* A window may close with more than a quantum in it; below 2^62 */
	return elapsed < div_u64(limit * min_t(u64, charged, 1000000000), IRQ_LOAD_QUANTUM);
}

#endif /* _KERNEL_IRQ_LOAD_CHARGE_H */
