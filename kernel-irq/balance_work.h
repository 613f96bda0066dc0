/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupt balancing: the workspace of a pass, and the steps that it is made
 * of: collect, locate, judge. Pure, as balance_plan.h.
 */
#ifndef _KERNEL_IRQ_BALANCE_WORK_H
#define _KERNEL_IRQ_BALANCE_WORK_H

#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "balance_plan.h"
#include "balance_solve.h"

/**
 * enum irq_balance_look - what a placement is looked for
 * @IRQ_BALANCE_LOOK_FIRST:	a plan, when one is worth it
 * @IRQ_BALANCE_LOOK_ANEW:	the rest of a begun plan that does not fit any
 *				more: all that gains anything
 * @IRQ_BALANCE_LOOK_SECOND:	what would be wanted at the end of a plan
 */
enum irq_balance_look {
	IRQ_BALANCE_LOOK_FIRST,
	IRQ_BALANCE_LOOK_ANEW,
	IRQ_BALANCE_LOOK_SECOND,
};

/**
 * struct irq_balance_touch - what a plan does to the CPUs that it touches
 * @before:	load (ns/s) of the worst one before it
 * @after:	and after it
 * @slow_before: the first by the slow averages
 * @slow_after:	the second by the slow averages
 * @sure_before: the first, should the loads be off by as much as noise may be
 * @sure_after:	the second, the same
 * @near:	ns/s that come home to their device's node
 * @age_ms:	history of the youngest interrupt that is moved
 * @moves:	moves
 * @forced:	one of them is from a CPU that is not allowed
 * @cooling:	one of them is of an interrupt that was moved lately
 * @restless:	one of them is of an interrupt that is moved too often
 * @lone:	each of them is of the only heavy interrupt of its CPU, to a CPU
 *		that is no faster
 */
struct irq_balance_touch {
	u64		before;
	u64		after;
	u64		slow_before;
	u64		slow_after;
	u64		sure_before;
	u64		sure_after;
	u64		near;
	u32		age_ms;
	unsigned int	moves;
	bool		forced;
	bool		cooling;
	bool		restless;
	bool		lone;
};

/**
 * struct irq_balance_work - workspace of a pass
 * @solver:	the placement problem
 * @max_irqs:	room for so many interrupts
 * @touch:	[part] what the plan does there
 * @before:	[position] load with everything at home
 * @slow_before: [position] slow load with everything at home
 * @slow_after:	[position] slow load with everything at its place
 * @sure_before: [position] sure load with everything at home
 * @sure_after:	[position] sure load with everything at its place
 * @heavy:	[position] heavy interrupts at it now, movable or not
 * @full:	[position] whether an interrupt saturates it by itself
 * @small:	[position] load (ns/s) of small interrupts at it
 * @source:	[class] the user's mask that it was made of
 * @within:	[class] node that it is confined to, -1: none
 * @node:	[index] nodes of the machine
 * @spilled:	[index] whether the node does not hold its interrupts
 * @holds:	[index] whether the node has a device of its own to hold
 * @away:	[index] whether the balancer took one of them away before
 * @index:	[position] index of its node
 * @nr_nodes:	how many nodes
 * @saturated:	whether one of @full is true
 * @unsettled:	a heavy interrupt's load is off its average
 */
struct irq_balance_work {
	struct irq_balance_solver	solver;
	unsigned int			max_irqs;
	struct irq_balance_touch	*touch;
	u64				*before;
	u64				*slow_before;
	u64				*slow_after;
	u64				*sure_before;
	u64				*sure_after;
	u32				*heavy;
	bool				*full;
	u64				*small;
	const unsigned long		**source;
	int				*within;
	int				*node;
	bool				*spilled;
	bool				*holds;
	bool				*away;
	u32				*index;
	unsigned int			nr_nodes;
	bool				saturated;
	bool				unsettled;
};

static inline u64 irq_balance_ms(u32 ms)
{
	return (u64)ms * 1000000;
}

static inline u64 irq_balance_heavy_load(const struct irq_balance_settings *set)
{
	return (u64)set->heavy * (IRQ_BALANCE_FULL / 1000);
}

/* The least that is worth a plan: ns/s of a CPU with load @before. */
static inline u64 irq_balance_need(const struct irq_balance_settings *set, u64 before)
{
	return div_u64(before, 1000) * set->min_gain;
}

/* The CPUs of a class, by position. */
static inline const unsigned long *
irq_balance_bits(const struct irq_balance_machine *mach, u32 class)
{
	return mach->classes + class * mach->longs;
}

/* Whether mask and isolation allow an interrupt where it is. */
static inline bool irq_balance_may_stay(const struct irq_balance_cpu *cpus,
					const struct irq_balance_irq *irq)
{
	return cpus[irq->cpu].usable && test_bit(irq->cpu, irq->allowed);
}

/* Whether a position is in the node of the item's device, or it has none. */
static inline bool irq_balance_is_near(const struct irq_balance_work *work,
				       const struct irq_balance_item *item, u32 pos)
{
	return item->node < 0 || work->index[pos] == (u32)item->node;
}

void irq_balance_measure(struct irq_balance *bal,
			 const struct irq_balance_settings *set, u64 now,
			 struct irq_balance_cpu *cpus, unsigned int nr_cpus,
			 struct irq_balance_irq *irqs, unsigned int nr_irqs);
void irq_balance_survey(struct irq_balance_work *work,
			const struct irq_balance_settings *set, u64 now,
			struct irq_balance_cpu *cpus,
			struct irq_balance_irq *irqs, unsigned int nr_irqs);
void irq_balance_locate(struct irq_balance_work *work,
			const struct irq_balance_settings *set,
			const struct irq_balance_cpu *cpus);
bool irq_balance_judge(struct irq_balance_work *work,
		       const struct irq_balance_settings *set, u64 now,
		       const struct irq_balance_irq *irqs,
		       enum irq_balance_look look);
bool irq_balance_gather(struct irq_balance_work *work,
			const struct irq_balance_settings *set,
			const struct irq_balance_cpu *cpus);
void irq_balance_rotate(struct irq_balance *bal,
			const struct irq_balance_settings *set, u64 now,
			const struct irq_balance_cpu *cpus,
			struct irq_balance_irq *irqs);

#endif /* _KERNEL_IRQ_BALANCE_WORK_H */
