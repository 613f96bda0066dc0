/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupt balancing: where everything should be. Pure, as balance_plan.h.
 */
#ifndef _KERNEL_IRQ_BALANCE_SOLVE_H
#define _KERNEL_IRQ_BALANCE_SOLVE_H

#include "balance_search.h"
#include "balance_topo.h"

/* Steps of work on a small part: for a look, and for a plan to be begun. */
#define IRQ_BALANCE_LOOK	10000U
#define IRQ_BALANCE_THOROUGH	300000U

/*
 * Places that a pass looks for on large parts before it makes do with what comes
 * first: some hundredths of a second.
 */
#define IRQ_BALANCE_PLACES	16384U

/**
 * struct irq_balance_part - CPUs and items that share no other's fate
 * @before:	load (ns/s) of the worst of its CPUs that have items, now
 * @after:	the same with all items at their place
 * @first:	index of its first item in &irq_balance_solver.order
 * @nr:		items
 * @nr_cpus:	CPUs
 * @cpu:	its first position
 */
struct irq_balance_part {
	u64	before;
	u64	after;
	u32	first;
	u32	nr;
	u32	nr_cpus;
	u32	cpu;
};

/**
 * struct irq_balance_solver - a placement problem and its workspace
 * @mach:	the machine
 * @items:	what is to be placed
 * @nr:		how many
 * @min_gain:	per mille of a CPU's load that a step below the worst CPU has
 *		to gain
 * @floor:	ns/s that any gain has to be
 * @effort:	steps of work on a small part
 * @placed:	places that were looked for on large parts in this pass
 * @order:	items by part, heaviest first
 * @next:	[item] next one at the same CPU
 * @head:	[position] first item at it
 * @root:	[position] union-find over CPUs, then the part's index
 * @tail:	[position] next position in the same part
 * @parts:	the parts
 * @nr_parts:	how many
 * @search:	workspace of the thorough search
 */
struct irq_balance_solver {
	struct irq_balance_machine	mach;
	struct irq_balance_item		*items;
	unsigned int			nr;
	u32				min_gain;
	u64				floor;
	u32				effort;
	u32				placed;
	u32				*order;
	u32				*next;
	u32				*head;
	u32				*root;
	u32				*tail;
	struct irq_balance_part		*parts;
	unsigned int			nr_parts;
	struct irq_balance_search	search;
};

void irq_balance_tally(struct irq_balance_solver *s,
		       const struct irq_balance_cpu *cpus, bool home);
void irq_balance_home(struct irq_balance_solver *s,
		      const struct irq_balance_cpu *cpus);
void irq_balance_solve(struct irq_balance_solver *s,
		       const struct irq_balance_cpu *cpus);

#endif /* _KERNEL_IRQ_BALANCE_SOLVE_H */
