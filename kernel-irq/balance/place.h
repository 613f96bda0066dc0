/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: the placement problem of one pass */
#ifndef _KERNEL_IRQ_BALANCE_PLACE_H
#define _KERNEL_IRQ_BALANCE_PLACE_H

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/math64.h>

#include "plan.h"

#define IRQ_BALANCE_NOWHERE	(~0U)

/* Scales are fixed point: ns on this CPU for 2^20 ns on one of capacity 1024 */
#define IRQ_BALANCE_SCALE_SHIFT	20

/* An interrupt with that load (ns/s) saturates its CPU */
#define IRQ_BALANCE_SATURATES	(IRQ_BALANCE_FULL / 10 * 8)

/* An interrupt leaves for a faster CPU only from one with at least this load, ns/s */
#define IRQ_BALANCE_WAKES	(IRQ_BALANCE_FULL / 4)

/* Items that one search may put elsewhere, those that come back included */
#define IRQ_BALANCE_TRAIL	(4 * IRQ_BALANCE_MOVES_MAX)

/* The units that CPUs share, from the top. A package in two nodes counts as two. */
enum irq_balance_level {
	IRQ_BALANCE_NODE,
	IRQ_BALANCE_PACKAGE,
	IRQ_BALANCE_LLC,
	IRQ_BALANCE_CORE,
	IRQ_BALANCE_NR_LEVELS
};

/* CPUs that share something: a range of positions. Kept at the first of them. */
struct irq_balance_domain {
	u64	busy;		/* ns/s of all of them */
	u64	bias;		/* the same of their bias */
	u32	nr;		/* usable CPUs */
	u32	end;		/* position after the last one */
	bool	open;		/* a node: it does not hold its devices' interrupts */
	bool	away;		/* a node: it has let one go before */
};

/* One CPU. Its position is its place in the order of node, package, cache, core, number. */
struct irq_balance_slot {
	u64			load;		/* with all items at their place, ns/s */
	u64			error;		/* the square of what it may be off by */
	struct hlist_head	items;		/* that are here, the heaviest first */
	u32			scale;		/* see IRQ_BALANCE_SCALE_SHIFT */
	u32			cpu;		/* its number */
	bool			room;		/* it takes more interrupts */
	bool			done;		/* nothing relieves it any more */
	u32			first[IRQ_BALANCE_NR_LEVELS];	/* position of its domains */
	u64			bias;		/* newcomers prefer a CPU with less, ns/s */
	u64			fixed;		/* load that no plan changes, ns/s */
	u64			fixed_error;	/* the square of what that may be off by */
	u64			base;		/* the part of that which may follow an interrupt */
	u64			light;		/* of light interrupts, ns/s */
	u64			wait;		/* of light interrupts once one saturates it */
	u64			before;		/* load with all items at home */
};

/* A heavy interrupt that may be moved. Loads are in ns/s on a CPU of capacity 1024. */
struct irq_balance_item {
	struct hlist_node	at;		/* in the list of @place */
	u64			load;
	u64			error;		/* by which @load may be off */
	u64			toll;		/* that a move costs from then on */
	const unsigned long	*allowed;	/* CPUs of the user's mask, by number */
	u32			irq;		/* its index in what was handed to the pass */
	u32			home;		/* position where it is */
	u32			place;		/* position where it is to be */
	u32			plan;		/* the same in the best plan so far */
	u32			first;		/* first position that it may go to */
	u32			end;		/* position after the last one */
	u32			hint;		/* position that its driver prefers, or NOWHERE */
	u32			refused;	/* position that refused it lately, or NOWHERE */
	bool			doubt;		/* it was not moved when it was to be */
	int			node;		/* of its device, -1: none */
	bool			held;		/* it has to stay in @node */
	bool			stay;		/* it may stay at @home */
	bool			vain;		/* base load follows it, as much as a gain */
	u8			why;		/* enum irq_balance_why, if it stays */
};

/* An item that was put elsewhere, to take that back */
struct irq_balance_trace {
	struct irq_balance_item	*it;
	u32			from;		/* position where it was */
};

/* Workspace of a pass. Arrays are indexed by position. */
struct irq_balance_work {
	const struct irq_balance_settings *set;
	struct irq_balance_cpu		*cpus;		/* by number, as handed to the pass */
	struct irq_balance_irq		*irqs;		/* as handed to the pass */
	unsigned int			nr_cpus;
	unsigned int			nr_irqs;
	struct irq_balance_slot		*slots;
	struct irq_balance_domain	*domains[IRQ_BALANCE_NR_LEVELS];
	struct irq_balance_item		*items;		/* heaviest first */
	unsigned int			nr;		/* items */
	unsigned int			nr_moved;	/* items whose place is not their home */
	unsigned int			heaviest;	/* the first item whose CPU is not done */
	u64				total;		/* load times capacity of CPUs not done */
	unsigned int			dones;		/* CPUs that are done */
	u32				room;		/* capacity of those that have room */
	u64				enough;		/* a CPU with no more is left alone, ns/s */
	bool				proven;		/* a CPU gains, in spite of all errors */
	u32				slack;		/* halves of min_gain in @enough */
	u32				spent;		/* steps of work in this pass */
	u32				until;		/* value of @spent that ends a search */
	unsigned int			nr_trail;
	struct irq_balance_trace	trail[IRQ_BALANCE_TRAIL];
};

/* The time that a load takes of a CPU, ns/s */
static inline u64 irq_balance_cost(const struct irq_balance_work *w, u64 load, u32 pos)
{
	return (load * w->slots[pos].scale) >> IRQ_BALANCE_SCALE_SHIFT;
}

/* Errors are in units of 2^10 ns/s, so that the squares of thousands fit 64 bits */
static inline u64 irq_balance_product(u64 a, u64 b)
{
	return min(a >> 10, 1ULL << 24) * min(b >> 10, 1ULL << 24);
}

/* The least gain for a CPU with that load that is worth a move, ns/s */
static inline u64 irq_balance_need(const struct irq_balance_work *w, u64 load)
{
	return max(div_u64(load, 1000) * w->set->min_gain, irq_balance_heavy(w->set) / 2);
}

void irq_balance_home(struct irq_balance_work *w);
void irq_balance_place(struct irq_balance_work *w);

#endif /* _KERNEL_IRQ_BALANCE_PLACE_H */
