/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: the placement problem of one pass */
#ifndef _KERNEL_IRQ_BALANCE_PLACE_H
#define _KERNEL_IRQ_BALANCE_PLACE_H

#include <linux/list.h>
#include <linux/math64.h>

#include "problem.h"

#define IRQ_BALANCE_NOWHERE	(~0U)

/* Scales are fixed point: ns on this CPU for 2^20 ns on one of capacity 1024 */
#define IRQ_BALANCE_SCALE_SHIFT	20

/* A CPU with that load (ns/s) is nearly full */
#define IRQ_BALANCE_NEARLY_FULL	(IRQ_BALANCE_FULL / 10 * 8)

/* One CPU, by number */
struct irq_balance_slot {
	u64			load;		/* of its own, items at their place, ns/s */
	u64			variance;	/* the square of what it may be off by */
	u64			light;		/* of light interrupts, ns/s */
	u64			bias;		/* among equal CPUs one with less is better, ns/s */
	u64			package_load;	/* of the CPUs of this package number */
	u64			cache_load;	/* the same of last-level caches */
	u64			core_load;	/* and of cores */
	struct hlist_head	items;		/* that are here, the heaviest first */
	u32			package;	/* 1 + that of the node with this number, 0: none */
	u32			scale;		/* see IRQ_BALANCE_SCALE_SHIFT */
	bool			room;		/* it takes more interrupts */
	bool			done;		/* no step relieves it */
};

/* An interrupt that may be moved. Loads are in ns/s on a CPU of capacity 1024. */
struct irq_balance_item {
	struct hlist_node	at;		/* in the list of @place */
	u64			load;
	u64			error;		/* by which @load may be off */
	u64			toll;		/* that a move costs from then on */
	const unsigned long	*allowed;	/* CPUs of the user's mask, by number */
	u32			irq;		/* its index in what was handed to the pass */
	u32			home;		/* CPU where it is */
	u32			place;		/* CPU where it is to be */
	u32			from;		/* @place before the present step */
	u32			hint;		/* CPU that its driver prefers, or NOWHERE */
	int			node;		/* of its device, -1: none */
	bool			known;		/* its load is not new */
	bool			stay;		/* it may stay at @home */
	bool			keeps;		/* its room there: it could not leave before */
	u8			why;		/* enum irq_balance_why, if it stays */
};

/* Workspace of a pass */
struct irq_balance_work {
	struct irq_balance_input	in;		/* of this pass */
	unsigned int			nr_cpus;
	struct irq_balance_slot		*slots;		/* by number */
	struct irq_balance_item		*items;		/* heaviest first */
	unsigned int			nr;		/* items */
	unsigned int			nr_moved;	/* items whose place is not their home */
	u64				lowest;		/* no CPU has less, ns/s */
	unsigned int			spent;		/* CPUs that were looked at */
	u8				why;		/* of what was picked last, if it stays */
	bool				done;		/* a CPU is done, which was busier */
	bool				proven;		/* a CPU gains, in spite of all errors */
	bool				company;	/* loads are with what neighbours do */
	/* The present step: */
	u32				from;		/* the CPU that it relieves */
	u64				own;		/* load of that, ns/s */
	u64				before;		/* and with neighbours, if these count */
	u64				variance;	/* the square of what that may be off by */
	u64				price;		/* of one move, ns/s */
	u64				least;		/* what it has to gain, ns/s */
	u64				limit;		/* where each CPU has to end, ns/s */
	bool				noise;		/* it gains less than the errors */
	unsigned int			nr_trail;	/* items that it moves */
	struct irq_balance_item		*trail[IRQ_BALANCE_MOVES_MAX];
};

/* The time that a load takes of a CPU, ns/s */
static inline u64 irq_balance_cost(const struct irq_balance_work *w, u64 load, u32 cpu)
{
	return (load * w->slots[cpu].scale) >> IRQ_BALANCE_SCALE_SHIFT;
}

/* Errors are in units of 2^10 ns/s, so that the squares of thousands fit 64 bits */
static inline u64 irq_balance_square(u64 error)
{
	return min(error >> 10, 1ULL << 24) * min(error >> 10, 1ULL << 24);
}

void irq_balance_charge(struct irq_balance_work *w, u32 cpu, u64 load, u64 variance);
void irq_balance_place(struct irq_balance_work *w);

#endif /* _KERNEL_IRQ_BALANCE_PLACE_H */
