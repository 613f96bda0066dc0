/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupt balancing: thorough search on a part of the machine that is small
 * enough for it. Pure, as balance_plan.h.
 */
#ifndef _KERNEL_IRQ_BALANCE_SEARCH_H
#define _KERNEL_IRQ_BALANCE_SEARCH_H

#include "balance_topo.h"

/* A part is small when it has no more CPUs and no more items. */
#define IRQ_BALANCE_SMALL_CPUS	64U
#define IRQ_BALANCE_SMALL_ITEMS	96U

/**
 * struct irq_balance_search - one small placement problem
 * @nr:		items, heaviest first
 * @nr_cpus:	CPUs, up to IRQ_BALANCE_SMALL_CPUS
 * @spent:	steps of work done so far
 * @seed:	state of the generator that shakes placements
 * @cost:	[item * @nr_cpus + CPU] ns/s that the item takes there
 * @mask:	[item] bit mask of its CPUs
 * @item:	[item] index among all items
 * @home:	[item] CPU where it is; @nr_cpus: at one that is not allowed
 * @cur:	[item] CPU in the placement that is being worked on
 * @best:	[item] CPU in the best placement of a search
 * @pick:	[item] CPU in the placement chosen so far
 * @bound:	[item] not to be moved by the search
 * @pos:	[CPU] its position
 * @fixed:	[CPU] ns/s that no placement changes
 * @load:	[CPU] ns/s in @cur
 * @count:	[CPU] items at it in @cur
 */
struct irq_balance_search {
	unsigned int	nr;
	unsigned int	nr_cpus;
	u32		spent;
	u32		seed;
	u64		*cost;
	u64		*mask;
	u32		*item;
	u8		*home;
	u8		*cur;
	u8		*best;
	u8		*pick;
	bool		*bound;
	u32		*pos;
	u64		*fixed;
	u64		*load;
	u32		*count;
};

u64 irq_balance_search(struct irq_balance_search *s, u64 stop, u32 effort);

#endif /* _KERNEL_IRQ_BALANCE_SEARCH_H */
