/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupt balancing: the machine as a tree, and what is to be placed on it.
 * Pure, as balance_plan.h.
 */
#ifndef _KERNEL_IRQ_BALANCE_TOPO_H
#define _KERNEL_IRQ_BALANCE_TOPO_H

#include <linux/bitmap.h>
#include <linux/types.h>

#include "balance_plan.h"

/* Scales are fixed point: ns on this CPU for 2^20 ns on the fastest. */
#define IRQ_BALANCE_SCALE_SHIFT		20

/**
 * enum irq_balance_level - levels of the tree, from the root's children down
 * @IRQ_BALANCE_PACKAGE:	packages
 * @IRQ_BALANCE_GROUP:		the part of a package that is in one node
 * @IRQ_BALANCE_LLC:		CPUs that share the last-level cache
 * @IRQ_BALANCE_CORE:		SMT siblings
 * @IRQ_BALANCE_THREAD:		single CPUs
 * @IRQ_BALANCE_NR_LEVELS:	number of levels, not a level
 */
enum irq_balance_level {
	IRQ_BALANCE_PACKAGE,
	IRQ_BALANCE_GROUP,
	IRQ_BALANCE_LLC,
	IRQ_BALANCE_CORE,
	IRQ_BALANCE_THREAD,
	IRQ_BALANCE_NR_LEVELS
};

/**
 * struct irq_balance_domain - one node of the tree
 * @busy:	ns/s that its CPUs are busy
 * @low:	load (ns/s) of its least loaded usable CPU, ~0: none is usable
 * @first:	first position in it; the next domain's is its end
 * @child:	first domain in it, one level down
 * @parent:	the domain it is in, one level up
 * @scale:	smallest scale among its usable CPUs
 * @nr:		its usable CPUs
 */
struct irq_balance_domain {
	u64	busy;
	u64	low;
	u32	first;
	u32	child;
	u32	parent;
	u32	scale;
	u32	nr;
};

/**
 * struct irq_balance_item - an interrupt that may be moved
 * @load:	ns/s on a CPU of capacity 1024
 * @slow:	the same by the slow average
 * @sure:	the same, should it be off by as much as noise may be
 * @irq:	its index in what was handed to the pass
 * @home:	position where it is
 * @place:	position where it shall be
 * @class:	the CPUs that it may be given now, see irq_balance_may()
 * @wide:	@class without its device's node
 * @near:	@class inside its device's node
 * @rank:	scratch of the search
 * @node:	node of its device that is in the machine, else -1
 * @may_stay:	whether mask and isolation allow @home
 * @stay:	whether @home is allowed now, the device's node included
 */
struct irq_balance_item {
	u64	load;
	u64	slow;
	u64	sure;
	u32	irq;
	u32	home;
	u32	place;
	u32	class;
	u32	wide;
	u32	near;
	u32	rank;
	int	node;
	bool	may_stay;
	bool	stay;
};

/**
 * struct irq_balance_machine - CPUs in the order of the tree, and their loads
 * @nr_cpus:	CPUs
 * @cpu:	[position] number of the CPU
 * @pos:	[number] position of the CPU
 * @scale:	[position] see IRQ_BALANCE_SCALE_SHIFT
 * @fixed:	[position] ns/s that no plan changes
 * @fixed_slow:	[position] the same by the slow average
 * @fixed_sure:	[position] the same, should it be off by noise
 * @load:	[position] ns/s with all items at their place
 * @items:	[position] number of items at it
 * @level:	[level][index] the tree; each level ends with a sentinel
 * @nr:		[level] domains of it
 * @classes:	[class] bitmaps of positions
 * @class_first: [class] first position in it
 * @class_end:	[class] position after the last one in it
 * @nr_classes:	how many there are
 * @max_classes: how many there is room for
 * @longs:	size of one bitmap in longs
 *
 * A position is a place in the order (package, node, cache, core, number):
 * each domain of the tree is a range of them.
 */
struct irq_balance_machine {
	unsigned int			nr_cpus;
	u32				*cpu;
	u32				*pos;
	u32				*scale;
	u64				*fixed;
	u64				*fixed_slow;
	u64				*fixed_sure;
	u64				*load;
	u32				*items;
	struct irq_balance_domain	*level[IRQ_BALANCE_NR_LEVELS];
	unsigned int			nr[IRQ_BALANCE_NR_LEVELS];
	unsigned long			*classes;
	u32				*class_first;
	u32				*class_end;
	unsigned int			nr_classes;
	unsigned int			max_classes;
	unsigned int			longs;
};

void irq_balance_order(struct irq_balance_machine *mach,
		       const struct irq_balance_cpu *cpus);
void irq_balance_tree_reset(struct irq_balance_machine *mach,
			    const struct irq_balance_cpu *cpus);
void irq_balance_charge(struct irq_balance_machine *mach, u32 pos, u64 cost);
void irq_balance_discharge(struct irq_balance_machine *mach, u32 pos, u64 cost);
u32 irq_balance_lowest(const struct irq_balance_machine *mach,
		       const struct irq_balance_item *item);
u32 irq_balance_find(const struct irq_balance_machine *mach,
		     const struct irq_balance_item *item, u64 limit);
u64 irq_balance_peak(const struct irq_balance_machine *mach);
u64 irq_balance_worst_load(const struct irq_balance_machine *mach);
s64 irq_balance_crowding(const struct irq_balance_machine *mach,
			 enum irq_balance_level level, u32 from, u64 less,
			 u32 to, u64 more);

/**
 * irq_balance_cost - what a load takes of one CPU
 * @mach:	machine
 * @load:	ns/s on a CPU of capacity 1024, up to IRQ_BALANCE_LOAD_MAX
 * @pos:	position of the CPU
 *
 * Return: ns/s of that CPU; time scales with the inverse of the capacity, as
 * arch_scale_cpu_capacity() defines it.
 */
static inline u64 irq_balance_cost(const struct irq_balance_machine *mach,
				   u64 load, u32 pos)
{
	return (load * mach->scale[pos]) >> IRQ_BALANCE_SCALE_SHIFT;
}

/**
 * irq_balance_may - whether an item may be at a CPU
 * @mach:	machine
 * @item:	the item
 * @pos:	position of the CPU
 *
 * A CPU that was full keeps what it has: the item's home is no newcomer's.
 *
 * Return: true when it may.
 */
static inline bool irq_balance_may(const struct irq_balance_machine *mach,
				   const struct irq_balance_item *item, u32 pos)
{
	const unsigned long *bits = mach->classes + item->class * mach->longs;

	return pos == item->home ? item->stay : test_bit(pos, bits);
}

#endif /* _KERNEL_IRQ_BALANCE_TOPO_H */
