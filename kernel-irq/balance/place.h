/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: the placement problem of one pass */
#ifndef _KERNEL_IRQ_BALANCE_PLACE_H
#define _KERNEL_IRQ_BALANCE_PLACE_H

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/math64.h>

#include "plan.h"

#define IRQ_BALANCE_NOWHERE	(~0U)

/* Scales are fixed point: ns on this CPU for 2^20 ns on the fastest */
#define IRQ_BALANCE_SCALE_SHIFT	20

/* The units that CPUs share, from the top. A package in two nodes counts as two. */
enum irq_balance_level {
	IRQ_BALANCE_NODE,
	IRQ_BALANCE_PACKAGE,
	IRQ_BALANCE_LLC,
	IRQ_BALANCE_CORE,
	IRQ_BALANCE_NR_LEVELS
};

/* CPUs that share something: a range of positions */
struct irq_balance_domain {
	u64	busy;		/* ns/s of all of them */
	u32	nr;		/* usable CPUs */
	u32	end;		/* position after its last one */
};

/* A heavy interrupt that may be moved. Loads are in ns/s on a CPU of capacity 1024. */
struct irq_balance_item {
	u64			load;
	u64			error;		/* by which @load may be off */
	const unsigned long	*allowed;	/* CPUs of the user's mask, by number */
	u32			irq;		/* its index in what was handed to the pass */
	u32			home;		/* position where it is */
	u32			place;		/* position where it is to be */
	u32			best;		/* position in the best placement so far */
	struct hlist_node	at;		/* in the list of @place */
	u32			first;		/* first position that it may be at but @home */
	u32			end;		/* position after the last one */
	int			node;		/* of its device, -1: none */
	bool			held;		/* it has to be in @node */
	bool			stay;		/* it may stay at @home */
	bool			rejected;	/* a move of it was not worth it in this pass */
};

/* The effect of a plan on CPUs that its moves connect; loads in ns/s */
struct irq_balance_touch {
	u64	before;		/* of the worst of them before it */
	u64	after;		/* of the worst after it */
	u64	near;		/* what comes back to its device's node */
	u32	worst;		/* position of the worst before it */
	bool	forced;		/* one of the moves is from a CPU that is not allowed */
	bool	worth;		/* it gains enough, and more than the loads may be off by */
};

/*
 * Workspace of a pass. A position is a place in the order (node, package, cache, core,
 * number): domains are ranges. Arrays are indexed by position but for @pos.
 */
struct irq_balance_work {
	const struct irq_balance_settings *set;
	const struct irq_balance_cpu	*cpus;		/* by number, as handed to the pass */
	struct irq_balance_irq		*irqs;		/* as handed to the pass */
	struct irq_balance_item		*items;		/* heaviest first */
	unsigned int			nr_cpus;
	unsigned int			nr_irqs;
	unsigned int			nr;		/* items */
	u32				*cpu;		/* number of the CPU */
	u32				*pos;		/* [number] position of the CPU */
	u32				*scale;		/* see IRQ_BALANCE_SCALE_SHIFT */
	u64				*fixed;		/* load that no plan changes, ns/s */
	u64				*error;		/* by which it may be off */
	u64				*load;		/* with all items at their place */
	struct hlist_head		*items_at;	/* items that are there */
	u32				*root;		/* union-find */
	struct irq_balance_touch	*touch;		/* of a root */
	u64				*before;	/* load before the plan, then error^2 */
	u64				*after;		/* error^2 after the plan */
	u64				*common;	/* of it what was on the worst CPU before */
	u8				*flags;		/* IRQ_BALANCE_ROOM, ... */
	u32				*first[IRQ_BALANCE_NR_LEVELS];	/* of its domain */
	struct irq_balance_domain	*domain[IRQ_BALANCE_NR_LEVELS];	/* of a first one */
	u64				enough;		/* a worst CPU as good as the best */
	u64				worst;		/* the worst CPU with everything at home */
	u32				turn;		/* counts the items that were perturbed */
	u32				cursor;		/* counts the CPUs they were tried at */
	u32				spent;		/* steps of work in this pass */
	u32				until;		/* value of @spent to end at */
};

#define IRQ_BALANCE_ROOM	1U	/* it takes more interrupts */
#define IRQ_BALANCE_OPEN	2U	/* first of a node that does not hold interrupts */
#define IRQ_BALANCE_AWAY	4U	/* first of a node that an interrupt was moved away from */
#define IRQ_BALANCE_FROZEN	8U	/* nothing relieves it */

/* The time that a load takes of a CPU, ns/s */
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
static inline u64 irq_balance_need(const struct irq_balance_work *w, u64 load)
{
	return max(div_u64(load, 1000) * w->set->min_gain,
		   (u64)w->set->heavy * (IRQ_BALANCE_FULL / 1000) / 2);
}

bool irq_balance_may(const struct irq_balance_work *w, const struct irq_balance_item *it, u32 pos);
void irq_balance_put(struct irq_balance_work *w, struct irq_balance_item *it, u32 pos);
void irq_balance_home(struct irq_balance_work *w);
void irq_balance_settle(struct irq_balance_work *w);
bool irq_balance_place(struct irq_balance_work *w);

#endif /* _KERNEL_IRQ_BALANCE_PLACE_H */
