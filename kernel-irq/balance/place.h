/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: the placement problem of one pass */
#ifndef _KERNEL_IRQ_BALANCE_PLACE_H
#define _KERNEL_IRQ_BALANCE_PLACE_H

#include <linux/bitmap.h>
#include <linux/math64.h>

#include "plan.h"

#define IRQ_BALANCE_NOWHERE	(~0U)

/* Scales are fixed point: ns on this CPU for 2^20 ns on the fastest */
#define IRQ_BALANCE_SCALE_SHIFT	20

/**
 * enum irq_balance_level - What CPUs share, from the top
 * @IRQ_BALANCE_NODE:		a NUMA node
 * @IRQ_BALANCE_PACKAGE:	the part of a package that is in one node
 * @IRQ_BALANCE_LLC:		a last-level cache
 * @IRQ_BALANCE_CORE:		a core
 * @IRQ_BALANCE_NR_LEVELS:	number of levels, not a level
 */
enum irq_balance_level {
	IRQ_BALANCE_NODE,
	IRQ_BALANCE_PACKAGE,
	IRQ_BALANCE_LLC,
	IRQ_BALANCE_CORE,
	IRQ_BALANCE_NR_LEVELS
};

/**
 * struct irq_balance_domain - CPUs that share something
 * @busy:	ns/s of all of them
 * @nr:		usable CPUs
 * @end:	the position after its last one
 */
struct irq_balance_domain {
	u64	busy;
	u32	nr;
	u32	end;
};

/**
 * struct irq_balance_item - A heavy interrupt that may be moved
 * @load:	ns/s on a CPU of capacity 1024
 * @error:	ns/s by which @load may be off
 * @allowed:	CPUs that the user allows, by number
 * @irq:	its index in what was handed to the pass
 * @home:	position where it is
 * @place:	position where it is to be
 * @best:	position in the best placement so far
 * @next:	next item at @place
 * @prev:	previous item at @place
 * @first:	first position that it may be at, but for @home
 * @end:	the position after the last one
 * @node:	of its device, -1: none
 * @held:	it has to be in @node
 * @stay:	it may stay at @home
 */
struct irq_balance_item {
	u64			load;
	u64			error;
	const unsigned long	*allowed;
	u32			irq;
	u32			home;
	u32			place;
	u32			best;
	u32			next;
	u32			prev;
	u32			first;
	u32			end;
	int			node;
	bool			held;
	bool			stay;
};

/**
 * struct irq_balance_touch - What the plan does to CPUs that its moves connect
 * @before:	load (ns/s) of the worst of them before it
 * @worst:	position of that CPU
 * @after:	load of the worst after it
 * @near:	ns/s that come back to their device's node
 * @forced:	one of the moves is from a CPU that is not allowed
 * @worth:	it gains more than it has to, and than the loads may be off by
 */
struct irq_balance_touch {
	u64	before;
	u64	after;
	u64	near;
	u32	worst;
	bool	forced;
	bool	worth;
};

/**
 * struct irq_balance_work - Workspace of a pass
 * @nr_cpus:	CPUs
 * @nr:		items
 * @cpus:	the CPUs, by number, as handed to the pass
 * @items:	heaviest first
 * @cpu:	[position] number of the CPU
 * @pos:	[number] position of the CPU
 * @scale:	[position] see IRQ_BALANCE_SCALE_SHIFT
 * @fixed:	[position] ns/s that no plan changes
 * @error:	[position] ns/s by which @fixed may be off
 * @load:	[position] ns/s with all items at their place
 * @head:	[position] first item there
 * @domain:	[level][position of its first CPU]
 * @first:	[level][position] position of the first CPU of its domain
 * @root:	[position] union-find
 * @touch:	[root]
 * @before:	[position] load before the plan, then the sum of the squares of what
 *		it may be off by
 * @after:	[position] the same sum after it
 * @common:	[position] the part of @after that was on the worst CPU before
 * @flags:	[position] IRQ_BALANCE_ROOM, ...
 * @low:	least of @fixed
 * @enough:	ns/s of the worst CPU that is as good as the best
 * @fast:	least of @scale
 * @turn:	counts the items that were perturbed
 * @cursor:	counts the CPUs that they were tried at
 * @spent:	steps of work in this pass
 * @until:	value of @spent to end at
 * @worst:	ns/s of the worst CPU with everything at home
 *
 * A position is a place in the order (node, package, cache, core, number): domains are
 * ranges of positions.
 */
struct irq_balance_work {
	unsigned int			nr_cpus;
	unsigned int			nr;
	const struct irq_balance_cpu	*cpus;
	struct irq_balance_item		*items;
	u32				*cpu;
	u32				*pos;
	u32				*scale;
	u64				*fixed;
	u64				*error;
	u64				*load;
	u32				*head;
	struct irq_balance_domain	*domain[IRQ_BALANCE_NR_LEVELS];
	u32				*first[IRQ_BALANCE_NR_LEVELS];
	u32				*root;
	struct irq_balance_touch	*touch;
	u64				*before;
	u64				*after;
	u64				*common;
	u8				*flags;
	u64				low;
	u64				enough;
	u32				fast;
	u32				turn;
	u32				cursor;
	u32				spent;
	u32				until;
	u64				worst;
};

#define IRQ_BALANCE_ROOM	1U	/* it takes more interrupts */
#define IRQ_BALANCE_OPEN	2U	/* first of a node that does not hold interrupts */
#define IRQ_BALANCE_AWAY	4U	/* first of a node that an interrupt was moved away from */
#define IRQ_BALANCE_FROZEN	8U	/* nothing relieves it */

/* Steps of work to see whether a plan is worth it, and to make one */
#define IRQ_BALANCE_LOOK	20000U
#define IRQ_BALANCE_THOROUGH	1000000U

/* What a load takes of a CPU, ns/s */
static inline u64 irq_balance_cost(const struct irq_balance_work *w, u64 load, u32 pos)
{
	return (load * w->scale[pos]) >> IRQ_BALANCE_SCALE_SHIFT;
}

/* Whether an item may not be where it is */
static inline bool irq_balance_is_forbidden(const struct irq_balance_work *w,
					    const struct irq_balance_item *it)
{
	u32 cpu = w->cpu[it->home];

	return !w->cpus[cpu].usable || !test_bit(cpu, it->allowed);
}

/* The least gain for a CPU with that load that is worth a move, ns/s */
static inline u64 irq_balance_need(const struct irq_balance_settings *set, u64 load)
{
	u64 floor = (u64)set->heavy * (IRQ_BALANCE_FULL / 1000) / 2;

	return max(div_u64(load, 1000) * set->min_gain, floor);
}

bool irq_balance_may(const struct irq_balance_work *w, const struct irq_balance_item *it, u32 pos);
void irq_balance_put(struct irq_balance_work *w, struct irq_balance_item *it, u32 pos);
void irq_balance_sort(struct irq_balance_work *w);
void irq_balance_home(struct irq_balance_work *w);
void irq_balance_settle(struct irq_balance_work *w, const struct irq_balance_settings *set);
bool irq_balance_place(struct irq_balance_work *w,
		       const struct irq_balance_settings *set, u32 effort);

#endif /* _KERNEL_IRQ_BALANCE_PLACE_H */
