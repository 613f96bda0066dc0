/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The load map's arithmetic. Pure, so that KUnit tests what runs: no locks, no
 * clock, nothing but what the caller hands in.
 *
 * Times are ns of local_clock(). Clocks of two CPUs may differ and one that is
 * not stable may step: only irq_balance_since() takes the difference of two.
 */
#ifndef _KERNEL_IRQ_BALANCE_CHARGE_H
#define _KERNEL_IRQ_BALANCE_CHARGE_H

#include <linux/bits.h>
#include <linux/hash.h>
#include <linux/interrupt.h>
#include <linux/irqdesc.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/wordpart.h>

/* Aim of the adaptive gap: samples of one interrupt are about this far apart */
#define IRQ_BALANCE_SAMPLE_NS	NSEC_PER_MSEC

/* Gaps about 4096 are one sample per ms at four million interrupts per second */
#define IRQ_BALANCE_MAX_SPREAD	4095U

/* The maximum decays in steps of 2^30 ns, about a second */
#define IRQ_BALANCE_MAX_SHIFT	30

/* What need not be done at each sample is done when this time has passed */
#define IRQ_BALANCE_REST_NS	(8 * NSEC_PER_MSEC)

/* Most time that may be charged later than it was spent */
#define IRQ_BALANCE_CARRY_NS	(32 * NSEC_PER_MSEC)

/* One of it is to remember who raises a softirq: it goes for this time */
#define IRQ_BALANCE_RAISER_NS	(3 * IRQ_BALANCE_REST_NS)

/* Interrupts that share the cost of one softirq; more are not remembered */
#define IRQ_BALANCE_RAISERS	4

/* Softirqs that are raised for interrupts; the others are the CPU's own work */
#define IRQ_BALANCE_RAISED_MASK	(BIT(HI_SOFTIRQ) | BIT(NET_TX_SOFTIRQ) | BIT(NET_RX_SOFTIRQ) |	\
				 BIT(BLOCK_SOFTIRQ) | BIT(IRQ_POLL_SOFTIRQ) | BIT(TASKLET_SOFTIRQ))

/**
 * struct irq_balance_raisers - Who raises a softirq on one CPU
 * @irq:	interrupt numbers, 0 for none
 * @once:	whether it is so rare that each one is noted: it goes for one run
 * @stamp:	when it was last seen to raise
 */
struct irq_balance_raisers {
	unsigned int	irq[IRQ_BALANCE_RAISERS];
	bool		once[IRQ_BALANCE_RAISERS];
	u64		stamp[IRQ_BALANCE_RAISERS];
};

/* Time from @stamp to @now: time that ran backwards is no time */
static inline u64 irq_balance_since(u64 now, u64 stamp)
{
	s64 delta = now - stamp;

	return delta > 0 ? delta : 0;
}

/*
 * Follow a sum that may go down for a moment. Returns by how much @value is
 * above the highest so far; sums are compared by their difference, so they may
 * wrap around.
 */
static inline u64 irq_balance_advance(u64 *highest, u64 value)
{
	u64 delta = irq_balance_since(value, *highest);

	*highest += delta;
	return delta;
}

/*
 * Choose the gap to the next sample, @since is the time since the last one.
 * Only factors of two, with a dead band of four, so that a steady rate settles.
 * The clock, stirred, is as good as dice. Unstirred its lowest bit would be that
 * of the number of interrupts, if they are an odd time apart.
 */
static inline void irq_balance_next_gap(struct irq_balance_desc *b, u64 now, u64 since)
{
	if (unlikely(since < IRQ_BALANCE_SAMPLE_NS))
		b->spread = min(2 * b->spread + 1, IRQ_BALANCE_MAX_SPREAD);

	b->gap = (b->spread >> 1) + (lower_32_bits(now) * GOLDEN_RATIO_32 >> 16 & b->spread) + 1;
	b->skip = b->gap;
}

/*
 * Let the maximum decay by an eighth per 2^30 ns. Small ones end at 0, as what
 * goes is rounded up.
 */
static inline void irq_balance_decay_max(struct irq_balance_desc *b, u64 now)
{
	u32 stamp = now >> IRQ_BALANCE_MAX_SHIFT;
	/* A clock that went back counts as one that went far ahead */
	u32 n = min(stamp - b->max_stamp, 128U);

	for (; n && b->max; n--)
		b->max -= (b->max + 7) / 8;
	b->max_stamp = stamp;
}

/*
 * Take in a timed interrupt: it ended at @now, its handlers took @delta, the
 * sample before was @since ago. Both are plain differences: if a clock went back
 * they are huge. Returns the ns that are charged.
 */
static inline u64 irq_balance_take_sample(struct irq_balance_desc *b, u64 now, u64 since, u64 delta)
{
	u64 charged = delta * b->gap;

	if (unlikely(delta > b->max)) {
		if ((s64)delta < 0) {
			charged = 0;
			delta = 0;
		} else {
			b->max = delta;
		}
	}

	/*
	 * As many slow ones had no time. But if one in many is slow, this one
	 * stands for those that were not timed: the rest is charged later, within
	 * bounds, as it may be a handler that was slow once and never again.
	 */
	if (unlikely(charged > since)) {
		b->carry = min(b->carry + charged - since, IRQ_BALANCE_CARRY_NS);
		charged = since;
	}

	b->time += charged;
	b->count += b->gap;
	b->stamp = now;

	b->last = delta;
	return charged;
}

/*
 * The other direction of irq_balance_next_gap(), to be called each
 * IRQ_BALANCE_REST_NS or later. If a clock went back @since is huge, and the
 * gaps are a little shorter for once.
 */
static inline void irq_balance_shorten_gaps(struct irq_balance_desc *b, u64 since)
{
	if (since > 4 * IRQ_BALANCE_SAMPLE_NS)
		b->spread >>= 1;
}

/* What is charged now of that, to be called each IRQ_BALANCE_REST_NS or later */
static inline u64 irq_balance_take_carry(struct irq_balance_desc *b, u64 now)
{
	u64 charged = min(b->carry, irq_balance_since(now, b->rest_stamp) / 2);

	b->carry -= charged;
	b->time += charged;
	b->rest_stamp = now;
	return charged;
}

/* Interrupts since the last sample */
static inline unsigned int irq_balance_unsampled(const struct irq_balance_desc *b)
{
	return b->skip > 0 && b->skip < b->gap ? b->gap - b->skip : 0;
}

/* Their time: until the next sample they are like the last, as far as time allows */
static inline u64 irq_balance_unsampled_time(const struct irq_balance_desc *b, u64 now)
{
	return min((u64)irq_balance_unsampled(b) * b->last, irq_balance_since(now, b->stamp));
}

/*
 * Charge an interrupt that has become rare. Its gap was chosen for the rate at
 * the last sample: the interrupts since then are charged by that one and the
 * next one is timed, otherwise hundreds would be charged by what a single one
 * costs much later.
 */
static inline void irq_balance_flush_gap(struct irq_balance_desc *b, u64 now)
{
	unsigned int unsampled = irq_balance_unsampled(b);

	if (b->skip <= 0 || irq_balance_since(now, b->stamp) < 4 * IRQ_BALANCE_SAMPLE_NS)
		return;

	b->time += irq_balance_unsampled_time(b, now);
	b->count += unsampled;
	b->skip = 1;
	b->gap = 1;
	b->spread = 0;
}

/* Time charged since the window was opened; negative if a sum went down */
static inline s64 irq_balance_window_charged(struct irq_balance_desc *b)
{
	return READ_ONCE(b->time) + atomic64_read(&b->soft) + READ_ONCE(b->thread) -
	       READ_ONCE(b->window_total);
}

/* Remember that @irq raised the softirq. The longest not seen gives way */
static inline void irq_balance_note_raiser(struct irq_balance_raisers *r, unsigned int irq,
					   bool once, u64 now)
{
	unsigned int i, oldest = 0;

	for (i = 0; i < IRQ_BALANCE_RAISERS && r->irq[i] && r->irq[i] != irq; i++) {
		if (irq_balance_since(r->stamp[oldest], r->stamp[i]))
			oldest = i;
	}
	if (i == IRQ_BALANCE_RAISERS)
		i = oldest;

	r->irq[i] = irq;
	r->once[i] = once;
	r->stamp[i] = now;
}

/*
 * Who is to share the run of a softirq that ends at @now? Fills @irqs, returns
 * how many, and forgets those that do not raise it any more.
 */
static inline unsigned int irq_balance_take_raisers(struct irq_balance_raisers *r, u64 now,
						    unsigned int irqs[IRQ_BALANCE_RAISERS])
{
	unsigned int i, kept = 0, nr = 0;

	for (i = 0; i < IRQ_BALANCE_RAISERS && r->irq[i]; i++) {
		if (!r->once[i] && irq_balance_since(now, r->stamp[i]) > IRQ_BALANCE_RAISER_NS)
			continue;
		irqs[nr++] = r->irq[i];
		if (r->once[i])
			continue;
		r->irq[kept] = r->irq[i];
		r->once[kept] = false;
		r->stamp[kept++] = r->stamp[i];
	}
	for (; kept < i; kept++)
		r->irq[kept] = 0;
	return nr;
}

#endif /* _KERNEL_IRQ_BALANCE_CHARGE_H */
