/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of the load map: pure functions of numbers, which can be compiled for
 * user space too. Times are ns of local_clock(). The clocks of two CPUs may differ: take
 * the difference of two stamps with irq_load_since() unless it is only compared.
 */
#ifndef _KERNEL_IRQ_LOAD_CHARGE_H
#define _KERNEL_IRQ_LOAD_CHARGE_H

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/types.h>

/* Samples of an interrupt, and of a CPU's polls and other softirqs, are about that far apart */
#define IRQ_LOAD_SAMPLE_NS	40000000ULL
#define IRQ_LOAD_POLL_NS	16000000ULL
#define IRQ_LOAD_BASE_NS	80000000ULL
/* An interrupt without a sample for this long has become rare */
#define IRQ_LOAD_RARE_NS	(4 * IRQ_LOAD_SAMPLE_NS)
/* Two samples per second at four million events per second would be 2^21 */
#define IRQ_LOAD_MAX_STRATUM	65536U
/* Most time that may be charged later than it was spent */
#define IRQ_LOAD_CARRY_NS	64000000U
/* Charged time after which a window closes, see irq_load_rises() */
#define IRQ_LOAD_QUANTUM	2000000U

/* Choice of the events that are timed */
struct irq_load_sampler {
	u64	apart;		/* mean time between samples, ns */
	u32	gap;		/* events from the last sample to the next one, included */
	u32	stratum;	/* events that the next sample stands for: 2^n, first 0 */
	u32	rest;		/* those of them that come after it */
	u32	seed;		/* of a generator of random numbers */
};

/* Time of one kind of event of an interrupt: runs of its handlers, or of its threads */
struct irq_load_series {
	struct irq_load_sampler	sampler;
	u32	carry;		/* extrapolated time that is still to be charged, ns */
	u64	last;		/* time of the last sample, scaled, ns */
	u64	stamp;		/* when it was taken */
	u64	time;		/* cumulative, scaled, ns */
};

/* Time from @stamp to @now; a clock that went back measured nothing */
static inline u64 irq_load_since(u64 now, u64 stamp)
{
	s64 delta = now - stamp;

	return delta > 0 ? delta : 0;
}

/* Follow a sum that may go down for a moment, and may wrap around */
static inline void irq_load_advance(u64 *highest, u64 value)
{
	*highest += irq_load_since(value, *highest);
}

/* Time each event, as nothing is known of the rate */
static inline void irq_load_restart(struct irq_load_sampler *s)
{
	s->apart = 0;
	s->gap = 1;
	s->stratum = 1;
	s->rest = 0;
}

/*
 * Choose the next sample, @since ns after the one before. Events are divided into strata, and
 * one event of each is timed. Each has the same chance, whatever the pattern of cheap and
 * expensive ones. The size of a stratum follows the mean time between samples, which is to be
 * @aim: in a burst it hardly grows.
 */
static inline void irq_load_next_sample(struct irq_load_sampler *s, u64 now, u64 since, u64 aim)
{
	u32 place;

	s->stratum = max(s->stratum, 1);
	if (!s->apart)
		s->apart = aim;
	else if (since > s->apart)
		s->apart += (since - s->apart) / 4;
	else
		s->apart -= (s->apart - since) / 4;
	if (5 * s->apart < 3 * aim && s->stratum < IRQ_LOAD_MAX_STRATUM) {
		s->stratum *= 2;
		s->apart *= 2;
	}
	for (; 2 * s->apart > 3 * aim && s->stratum > 1; s->apart /= 2)
		s->stratum /= 2;

	/* Numerical Recipes' generator, dithered by the clock; its high bits are good */
	s->seed = s->seed * 1664525 + 1013904223 + (u32)(now & 0xffffffffU);
	place = (s->seed >> 16) & (s->stratum - 1);
	s->gap = s->rest + place + 1;
	s->rest = s->stratum - 1 - place;
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

/* Work that takes @time at @freq of 1024 takes less at the highest frequency, as in PELT */
static inline u64 irq_load_scale(u64 time, u32 freq)
{
	return time * freq >> 10;
}

/*
 * How much of a sample of @time counts in a mean: a hypervisor, or a handler that waits for its
 * device, can make one a thousand times longer than the others. @before is the sample before.
 */
static inline u64 irq_load_usual(u64 time, u64 mean, u64 *before)
{
	u64 limit = max(4 * mean, *before);

	*before = time;
	return min(time, limit);
}

/* Take in a sample that ended at @now and took @delta: huge if the clock went back */
static inline void
irq_load_take_sample(struct irq_load_series *h, u64 now, u64 delta, u32 freq)
{
	u64 time;

	if ((s64)delta < 0)
		delta = 0;

	time = irq_load_extrapolate(&h->carry, delta * h->sampler.stratum, now - h->stamp);
	WRITE_ONCE(h->time, h->time + irq_load_scale(time, freq));
	h->stamp = now;
	h->last = irq_load_scale(delta, freq);
}

/*
 * Events since the last sample for which it does not stand, @skip are left to the next one.
 * Negative if more are to come for which it stands.
 */
static inline int irq_load_unsampled(const struct irq_load_sampler *s, int skip)
{
	/* While the sample itself is handled @skip is out of range */
	u32 left = (u32)skip < s->gap ? skip : 0;

	return s->stratum - s->rest - 1 - left;
}

/* Their time: each is charged like the last sample, as far as the wall time allows */
static inline u64 irq_load_unsampled_time(const struct irq_load_series *h, int skip, u64 now)
{
	int nr = irq_load_unsampled(&h->sampler, skip);

	return nr > 0 ? min(nr * h->last, irq_load_since(now, h->stamp)) : 0;
}

/* Whether a load has risen: @charged ns in @elapsed ns are more than a quantum in @limit ns */
static inline bool irq_load_rises(u64 charged, u64 elapsed, u32 limit)
{
	/* A window may close with more than a quantum in it; below 2^62 */
	return elapsed < div_u64(limit * min_t(u64, charged, 1000000000), IRQ_LOAD_QUANTUM);
}

#endif /* _KERNEL_IRQ_LOAD_CHARGE_H */
