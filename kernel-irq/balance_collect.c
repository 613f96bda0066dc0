// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: what a pass is about.
 *
 * Takes the measured times into the averages, and sorts the machine into what
 * can be moved and what is given.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>

#include "balance_pace.h"
#include "balance_work.h"

/* Below this load (ns/s) an interrupt is rather left by one that saturates its CPU */
#define SMALL_LOAD	(IRQ_BALANCE_FULL / 10)

/**
 * irq_balance_sure - what a load is if it is off by as much as noise may be
 * @set:	settings
 * @load:	its averages
 *
 * Noise that is no reason for a plan is up to about the minimum gain, and it may
 * have begun just now. A step worth twice that is worth the minimum gain by these
 * loads too: one that rose by 1 / (1 - 2g) counts for (1 - g) / (1 - 2g), which
 * gains g / (1 - g).
 *
 * Return: ns/s, the closest to the slow average that is within the minimum
 * gain of the fast one, or within the known noise of it.
 */
static u64 irq_balance_sure(const struct irq_balance_settings *set,
			    const struct irq_balance_average *load)
{
	u32 left = 1000 - min(set->min_gain, 999U);
	u64 low = div_u64(load->fast * left, 1000);
	u64 high = div_u64(load->fast * 1000, left);
	u64 noise = irq_balance_average_noise(load);

	return clamp(load->slow, min(low, load->fast - min(load->fast, noise)),
		     max(high, load->fast + noise));
}

static void irq_balance_measure_irq(struct irq_balance *bal,
				    const struct irq_balance_settings *set,
				    u64 elapsed, bool measure,
				    const struct irq_balance_cpu *cpus,
				    unsigned int nr_cpus,
				    struct irq_balance_irq *irq)
{
	struct irq_balance_state *st = irq->state;
	u64 heavy = irq_balance_heavy_load(set);
	bool was_heavy;

	irq->target = irq->cpu;
	irq->reason = IRQ_BALANCE_REASON_NONE;
	irq->gain = 0;
	if (st->generation != bal->generation) {
		memset(st, 0, sizeof(*st));
		st->generation = bal->generation;
		st->cpu = irq->cpu;
	}
	was_heavy = st->heavy;
	if (irq->cpu < nr_cpus && measure) {
		/* A window on two kinds of CPU cannot be told apart. */
		if (st->cpu < nr_cpus &&
		    cpus[st->cpu].capacity != cpus[irq->cpu].capacity)
			st->load.seen = false;
		st->ran = irq->time != st->load.total;
		irq_balance_average_update(&st->load, irq->time, elapsed,
					   cpus[irq->cpu].capacity);
	}
	irq->load = irq_balance_average_load(&st->load);
	if (irq->cpu >= nr_cpus)
		st->heavy = false;
	else if (measure)
		st->heavy = irq->load >= (st->heavy ? heavy * 3 / 4 : heavy);
	bal->nr_heavy += st->heavy;
	if ((st->heavy && st->load.steps) || st->heavy != was_heavy)
		bal->work->unsettled = true;
	st->cpu = irq->cpu;
}

/**
 * irq_balance_measure - take in what was measured since the last pass
 * @bal:	the balancer
 * @set:	settings
 * @now:	clock in ns
 * @cpus:	the CPUs
 * @nr_cpus:	how many
 * @irqs:	the interrupts
 * @nr_irqs:	how many
 */
void irq_balance_measure(struct irq_balance *bal,
			 const struct irq_balance_settings *set, u64 now,
			 struct irq_balance_cpu *cpus, unsigned int nr_cpus,
			 struct irq_balance_irq *irqs, unsigned int nr_irqs)
{
	u64 elapsed = bal->last ? now - bal->last : 0;
	bool measure = !bal->last ||
		       elapsed >= irq_balance_ms(IRQ_BALANCE_WINDOW_MIN_MS);
	unsigned int i;

	for (i = 0; i < nr_cpus && measure; i++)
		irq_balance_average_update(&cpus[i].base, cpus[i].time, elapsed,
					   IRQ_BALANCE_CAPACITY);
	bal->nr_heavy = 0;
	bal->work->unsettled = false;
	for (i = 0; i < nr_irqs; i++)
		irq_balance_measure_irq(bal, set, elapsed, measure, cpus,
					nr_cpus, &irqs[i]);
	if (measure)
		bal->last = now;
}

/* The bitmap of positions for a mask, inside a node or not. */
static u32 irq_balance_class(struct irq_balance_work *work,
			     const struct irq_balance_cpu *cpus,
			     const unsigned long *allowed, int node)
{
	struct irq_balance_machine *mach = &work->solver.mach;
	unsigned long *bits;
	unsigned int i, pos;

	for (i = mach->nr_classes; i-- > 0;) {
		if (work->within[i] == node &&
		    (work->source[i] == allowed ||
		     !memcmp(work->source[i], allowed, mach->longs * sizeof(long))))
			return i;
	}
	i = mach->nr_classes++;
	work->source[i] = allowed;
	work->within[i] = node;
	bits = mach->classes + i * mach->longs;
	bitmap_zero(bits, mach->nr_cpus);
	mach->class_first[i] = 0;
	mach->class_end[i] = 0;
	for (pos = 0; pos < mach->nr_cpus; pos++) {
		const struct irq_balance_cpu *cpu = &cpus[mach->cpu[pos]];

		if (!cpu->usable || cpu->full || !test_bit(mach->cpu[pos], allowed) ||
		    (node >= 0 && cpu->node != node))
			continue;
		__set_bit(pos, bits);
		if (!mach->class_end[i])
			mach->class_first[i] = pos;
		mach->class_end[i] = pos + 1;
	}
	return i;
}

/* Index of a node among those of the machine, ~0: it has no CPU. */
static u32 irq_balance_node(struct irq_balance_work *work, int node)
{
	u32 i;

	for (i = 0; i < work->nr_nodes; i++) {
		if (work->node[i] == node)
			return i;
	}
	return ~0U;
}

/*
 * An interrupt that saturates its CPU by itself makes the small ones there wait, which
 * is not in any load. While there is one, small ones count for up to a quarter of a CPU,
 * wherever they are: half of that if they load it with a thousandth. It leaves them,
 * and not they it.
 */
static void irq_balance_find_waiting(struct irq_balance_work *work,
				     const struct irq_balance_irq *irqs, unsigned int nr_irqs)
{
	struct irq_balance_machine *mach = &work->solver.mach;
	unsigned int i;
	u32 pos;

	work->saturated = false;
	for (pos = 0; pos < mach->nr_cpus; pos++) {
		work->full[pos] = false;
		work->small[pos] = 0;
	}
	for (i = 0; i < nr_irqs; i++) {
		if (irqs[i].cpu >= mach->nr_cpus)
			continue;
		pos = mach->pos[irqs[i].cpu];
		if (irqs[i].load >= IRQ_BALANCE_FULL / 10 * 8)
			work->full[pos] = true;
		else if (irqs[i].load < SMALL_LOAD)
			work->small[pos] += irqs[i].load;
		work->saturated |= work->full[pos];
	}
}

static void irq_balance_count_waiting(struct irq_balance_work *work)
{
	struct irq_balance_machine *mach = &work->solver.mach;
	u64 small, wait;
	u32 pos;

	for (pos = 0; pos < mach->nr_cpus; pos++) {
		small = min(work->small[pos], IRQ_BALANCE_FULL);
		wait = div_u64(IRQ_BALANCE_FULL / 4 * small, small + IRQ_BALANCE_FULL / 1000);
		mach->fixed[pos] += wait;
		mach->fixed_slow[pos] += wait;
		mach->fixed_sure[pos] += wait;
	}
}

/* Whether the interrupt is one to be placed; fills in what is known of it. */
static bool irq_balance_survey_irq(struct irq_balance_work *work,
				   const struct irq_balance_settings *set, u64 now,
				   const struct irq_balance_cpu *cpus,
				   const struct irq_balance_irq *irq,
				   struct irq_balance_item *item)
{
	struct irq_balance_machine *mach = &work->solver.mach;
	const unsigned long *bits;
	u32 first;

	if (!irq->state->heavy || !irq->allowed || now < irq->state->hold)
		return false;
	item->may_stay = irq_balance_may_stay(cpus, irq);
	item->home = mach->pos[irq->cpu];
	if (item->may_stay && work->full[item->home] && irq->load < SMALL_LOAD)
		return false;
	item->wide = irq_balance_class(work, cpus, irq->allowed, -1);

	/* Nowhere to go, or nowhere else. */
	bits = irq_balance_bits(mach, item->wide);
	first = find_first_bit(bits, mach->nr_cpus);
	if (first == item->home)
		first = find_next_bit(bits, mach->nr_cpus, first + 1);
	if (first >= mach->nr_cpus)
		return false;

	item->near = item->wide;
	item->node = -1;
	if (irq->node >= 0 && irq_balance_node(work, irq->node) != ~0U) {
		u32 near = irq_balance_class(work, cpus, irq->allowed, irq->node);

		if (!bitmap_empty(irq_balance_bits(mach, near), mach->nr_cpus)) {
			item->near = near;
			item->node = irq_balance_node(work, irq->node);
		}
	}
	item->load = irq->load;
	item->slow = irq->state->load.slow;
	item->sure = irq_balance_sure(set, &irq->state->load);
	item->place = item->home;
	return true;
}

/**
 * irq_balance_survey - sort the machine into what can be moved and what is given
 * @work:	workspace
 * @set:	settings
 * @now:	clock in ns
 * @cpus:	the CPUs; sets their @load
 * @irqs:	the interrupts, measured
 * @nr_irqs:	how many
 */
void irq_balance_survey(struct irq_balance_work *work,
			const struct irq_balance_settings *set, u64 now,
			struct irq_balance_cpu *cpus,
			struct irq_balance_irq *irqs, unsigned int nr_irqs)
{
	struct irq_balance_solver *s = &work->solver;
	struct irq_balance_machine *mach = &s->mach;
	unsigned int i, pos;

	irq_balance_order(mach, cpus);
	mach->nr_classes = 0;
	work->nr_nodes = 0;
	for (pos = 0; pos < mach->nr_cpus; pos++) {
		const struct irq_balance_cpu *cpu = &cpus[mach->cpu[pos]];
		u32 index;

		mach->scale[pos] = (IRQ_BALANCE_CAPACITY << IRQ_BALANCE_SCALE_SHIFT) /
				   cpu->capacity;
		mach->fixed[pos] = irq_balance_average_load(&cpu->base);
		mach->fixed_slow[pos] = cpu->base.slow;
		mach->fixed_sure[pos] = irq_balance_sure(set, &cpu->base);
		work->heavy[pos] = 0;
		if (pos && cpu->node == cpus[mach->cpu[pos - 1]].node)
			index = work->index[pos - 1];
		else
			index = irq_balance_node(work, cpu->node);
		if (index == ~0U) {
			index = work->nr_nodes++;
			work->node[index] = cpu->node;
			work->spilled[index] = false;
			work->away[index] = false;
			work->holds[index] = false;
		}
		work->index[pos] = index;
	}

	irq_balance_find_waiting(work, irqs, nr_irqs);
	s->nr = 0;
	s->placed = 0;
	s->min_gain = set->min_gain;
	s->floor = irq_balance_heavy_load(set) * 3 / 4;
	for (i = 0; i < nr_irqs; i++) {
		const struct irq_balance_irq *irq = &irqs[i];
		const struct irq_balance_average *load = &irq->state->load;

		if (irq->cpu >= mach->nr_cpus)
			continue;
		pos = mach->pos[irq->cpu];
		work->heavy[pos] += irq->state->heavy &&
				    !(work->full[pos] && irq->load < SMALL_LOAD);
		s->items[s->nr].irq = i;
		if (irq_balance_survey_irq(work, set, now, cpus, irq, &s->items[s->nr])) {
			int node = s->items[s->nr].node;

			if (node >= 0) {
				work->holds[node] = true;
				work->away[node] |= irq->state->away;
			}
			s->nr++;
			continue;
		}
		pos = mach->pos[irq->cpu];
		mach->fixed[pos] += irq_balance_cost(mach, irq->load, pos);
		mach->fixed_slow[pos] += irq_balance_cost(mach, load->slow, pos);
		mach->fixed_sure[pos] +=
			irq_balance_cost(mach, irq_balance_sure(set, load), pos);
	}

	irq_balance_home(s, cpus);
	for (pos = 0; pos < mach->nr_cpus; pos++)
		cpus[mach->cpu[pos]].load = mach->load[pos];
	if (work->saturated) {
		irq_balance_count_waiting(work);
		irq_balance_home(s, cpus);
	}
}
