// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the machine as a tree.
 *
 * The tree serves two ends. It spreads: packages before last-level caches
 * before cores before SMT siblings, the rule of 2003. And it is quick: a
 * place for an interrupt is found by going down it, not by a look at each
 * CPU, so that a machine of a thousand CPUs costs little more than one of
 * ten.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "balance_topo.h"

/* Busy time is compared in units of 2^20 ns/s: a thousandth of a CPU. */
#define BUSY_SHIFT	20

/**
 * irq_balance_before - the order of positions
 * @cpus:	the CPUs
 * @a:		number of one CPU
 * @b:		number of another
 *
 * Return: whether @a comes first.
 */
static bool irq_balance_before(const struct irq_balance_cpu *cpus, u32 a, u32 b)
{
	const struct irq_balance_cpu *x = &cpus[a], *y = &cpus[b];

	if (x->package != y->package)
		return x->package < y->package;
	if (x->node != y->node)
		return x->node < y->node;
	if (x->llc != y->llc)
		return x->llc < y->llc;
	if (x->core != y->core)
		return x->core < y->core;
	return a < b;
}

static void irq_balance_sift(const struct irq_balance_cpu *cpus, u32 *heap,
			     unsigned int root, unsigned int nr)
{
	u32 top = heap[root];

	for (;;) {
		unsigned int kid = 2 * root + 1;

		if (kid >= nr)
			break;
		if (kid + 1 < nr &&
		    irq_balance_before(cpus, heap[kid], heap[kid + 1]))
			kid++;
		if (!irq_balance_before(cpus, top, heap[kid]))
			break;
		heap[root] = heap[kid];
		root = kid;
	}
	heap[root] = top;
}

/**
 * irq_balance_order - give each CPU its position and build the tree
 * @mach:	machine; @cpu holds the last order, or any permutation
 * @cpus:	the CPUs
 *
 * The order hardly ever changes: it is checked first, and sorted only then.
 */
void irq_balance_order(struct irq_balance_machine *mach,
		       const struct irq_balance_cpu *cpus)
{
	unsigned int nr = mach->nr_cpus, i;
	unsigned int level;

	for (i = 1; i < nr; i++) {
		if (!irq_balance_before(cpus, mach->cpu[i - 1], mach->cpu[i]))
			break;
	}
	if (i < nr) {
		for (i = nr / 2; i-- > 0;)
			irq_balance_sift(cpus, mach->cpu, i, nr);
		for (i = nr; i-- > 1;) {
			u32 last = mach->cpu[i];

			mach->cpu[i] = mach->cpu[0];
			mach->cpu[0] = last;
			irq_balance_sift(cpus, mach->cpu, 0, i);
		}
	}

	for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++)
		mach->nr[level] = 0;
	for (i = 0; i < nr; i++) {
		const struct irq_balance_cpu *cpu = &cpus[mach->cpu[i]];
		const struct irq_balance_cpu *prev = i ? &cpus[mach->cpu[i - 1]] : NULL;
		unsigned int top = IRQ_BALANCE_THREAD;

		mach->pos[mach->cpu[i]] = i;
		if (!prev || prev->package != cpu->package)
			top = IRQ_BALANCE_PACKAGE;
		else if (prev->node != cpu->node)
			top = IRQ_BALANCE_GROUP;
		else if (prev->llc != cpu->llc)
			top = IRQ_BALANCE_LLC;
		else if (prev->core != cpu->core)
			top = IRQ_BALANCE_CORE;
		/* A new domain at one level begins new ones below it. */
		for (level = top; level < IRQ_BALANCE_NR_LEVELS; level++) {
			struct irq_balance_domain *dom;

			dom = &mach->level[level][mach->nr[level]++];
			dom->first = i;
			dom->parent = level ? mach->nr[level - 1] - 1 : 0;
			dom->child = level < IRQ_BALANCE_THREAD ? mach->nr[level + 1] : i;
		}
	}
	for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++) {
		struct irq_balance_domain *dom;

		dom = &mach->level[level][mach->nr[level]];
		dom->first = nr;
		dom->child = level < IRQ_BALANCE_THREAD ? mach->nr[level + 1] : nr;
	}
}

/* Works out a domain above single CPUs from its children. */
static void irq_balance_refresh(struct irq_balance_machine *mach,
				unsigned int level, u32 index)
{
	struct irq_balance_domain *dom = &mach->level[level][index];
	const struct irq_balance_domain *kid = mach->level[level + 1] + dom->child;
	const struct irq_balance_domain *end = mach->level[level + 1] + dom[1].child;

	dom->low = ~0ULL;
	for (; kid < end; kid++) {
		if (kid->low < dom->low)
			dom->low = kid->low;
	}
}

/**
 * irq_balance_tree_reset - bring the tree in line with the loads
 * @mach:	machine, with @load up to date
 * @cpus:	the CPUs
 */
void irq_balance_tree_reset(struct irq_balance_machine *mach,
			    const struct irq_balance_cpu *cpus)
{
	unsigned int level = IRQ_BALANCE_THREAD, i;

	for (i = 0; i < mach->nr_cpus; i++) {
		struct irq_balance_domain *dom = &mach->level[level][i];
		bool usable = cpus[mach->cpu[i]].usable;

		dom->busy = mach->load[i];
		dom->low = usable ? mach->load[i] : ~0ULL;
		dom->scale = usable ? mach->scale[i] : ~0U;
		dom->nr = usable;
	}
	while (level-- > 0) {
		for (i = 0; i < mach->nr[level]; i++) {
			struct irq_balance_domain *dom = &mach->level[level][i];
			const struct irq_balance_domain *kid, *end;

			kid = mach->level[level + 1] + dom->child;
			end = mach->level[level + 1] + dom[1].child;
			dom->busy = 0;
			dom->low = ~0ULL;
			dom->scale = ~0U;
			dom->nr = 0;
			for (; kid < end; kid++) {
				dom->busy += kid->busy;
				dom->low = min(dom->low, kid->low);
				dom->scale = min(dom->scale, kid->scale);
				dom->nr += kid->nr;
			}
		}
	}
}

/* Brings the tree in line with one CPU's load. */
static void irq_balance_account(struct irq_balance_machine *mach, u32 pos)
{
	unsigned int level = IRQ_BALANCE_THREAD;
	struct irq_balance_domain *dom = &mach->level[level][pos];
	u64 change = mach->load[pos] - dom->busy;
	u64 was = dom->low, is;

	if (was != ~0ULL)
		dom->low = mach->load[pos];
	is = dom->low;
	dom->busy = mach->load[pos];
	while (level-- > 0) {
		u32 index = dom->parent;
		u64 low;

		dom = &mach->level[level][index];
		low = dom->low;
		/* Unsigned, so a fall wraps round to the right sum. */
		dom->busy += change;
		if (is < low)
			dom->low = is;
		else if (was == low && is > was)
			irq_balance_refresh(mach, level, index);
		was = low;
		is = dom->low;
	}
}

/**
 * irq_balance_charge - put an item's cost on a CPU
 * @mach:	machine
 * @pos:	position of the CPU
 * @cost:	ns/s of that CPU
 */
void irq_balance_charge(struct irq_balance_machine *mach, u32 pos, u64 cost)
{
	mach->load[pos] += cost;
	mach->items[pos]++;
	irq_balance_account(mach, pos);
}

/**
 * irq_balance_discharge - take an item's cost off a CPU
 * @mach:	machine
 * @pos:	position of the CPU
 * @cost:	ns/s of that CPU, as it was charged
 */
void irq_balance_discharge(struct irq_balance_machine *mach, u32 pos, u64 cost)
{
	mach->load[pos] -= cost;
	mach->items[pos]--;
	irq_balance_account(mach, pos);
}

/**
 * irq_balance_lowest - the CPU that ends lowest with an item
 * @mach:	machine
 * @item:	the item, charged nowhere
 *
 * Return: position, or ~0 when its class is empty.
 */
u32 irq_balance_lowest(const struct irq_balance_machine *mach,
		       const struct irq_balance_item *item)
{
	const unsigned long *bits = mach->classes + item->class * mach->longs;
	u32 pos = find_first_bit(bits, mach->nr_cpus), best = ~0U;
	u64 least = ~0ULL;

	for (; pos < mach->nr_cpus;
	     pos = find_next_bit(bits, mach->nr_cpus, pos + 1)) {
		u64 load = mach->load[pos] + irq_balance_cost(mach, item->load, pos);

		if (load < least) {
			least = load;
			best = pos;
		}
	}
	return best;
}

/**
 * irq_balance_find - the least crowded CPU with room for an item
 * @mach:	machine, the tree up to date
 * @item:	the item, charged nowhere
 * @limit:	load (ns/s) that the CPU may have with it
 *
 * Goes down the tree by the least busy domain that seems to have room. What
 * a domain says of its least loaded CPU is not the whole truth when masks
 * differ or capacities do: when the way down ends early, all CPUs are looked
 * at.
 *
 * Return: position, or ~0 when no CPU has room.
 */
u32 irq_balance_find(const struct irq_balance_machine *mach,
		     const struct irq_balance_item *item, u64 limit)
{
	const unsigned long *bits = mach->classes + item->class * mach->longs;
	u32 index = 0, end = mach->nr[0], pos;
	unsigned int level;

	for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++) {
		const struct irq_balance_domain *pick = NULL;

		for (; index < end; index++) {
			const struct irq_balance_domain *dom;
			u64 cost;

			dom = &mach->level[level][index];
			if (!dom->nr)
				continue;
			cost = (item->load * dom->scale) >> IRQ_BALANCE_SCALE_SHIFT;
			if (dom->low + cost > limit)
				continue;
			if (pick && (dom->busy >> BUSY_SHIFT) * pick->nr >=
			    (pick->busy >> BUSY_SHIFT) * dom->nr)
				continue;
			if (dom[1].first <= mach->class_first[item->class] ||
			    dom->first >= mach->class_end[item->class] ||
			    find_next_bit(bits, dom[1].first, dom->first) >=
			    dom[1].first)
				continue;
			pick = dom;
		}
		if (!pick && !level)
			return ~0U;
		if (!pick)
			break;
		if (level == IRQ_BALANCE_THREAD)
			return pick->first;
		index = pick->child;
		end = pick[1].child;
	}

	pos = irq_balance_lowest(mach, item);
	if (pos != ~0U &&
	    mach->load[pos] + irq_balance_cost(mach, item->load, pos) <= limit)
		return pos;
	return ~0U;
}

/* What a domain adds to the measure of crowding, see below. */
static s64 irq_balance_square(u64 busy, u32 nr)
{
	busy >>= BUSY_SHIFT;
	return div_u64(busy * busy, nr ? nr : 1);
}

/**
 * irq_balance_crowding - how a move changes the crowding of one level
 * @mach:	machine, the tree up to date
 * @level:	level
 * @from:	position that loses load
 * @less:	how much, ns/s
 * @to:		position that gains load
 * @more:	how much, ns/s
 *
 * Crowding is the sum over the level's domains of busy^2 / CPUs: least when
 * all CPUs' worth of domains are equally busy.
 *
 * Return: the change, below 0: less crowded.
 */
s64 irq_balance_crowding(const struct irq_balance_machine *mach,
			 enum irq_balance_level level, u32 from, u64 less,
			 u32 to, u64 more)
{
	const struct irq_balance_domain *a = &mach->level[IRQ_BALANCE_THREAD][from];
	const struct irq_balance_domain *b = &mach->level[IRQ_BALANCE_THREAD][to];
	unsigned int at = IRQ_BALANCE_THREAD;

	while (at-- > level) {
		a = &mach->level[at][a->parent];
		b = &mach->level[at][b->parent];
	}
	if (a == b)
		return irq_balance_square(a->busy - less + more, a->nr) -
		       irq_balance_square(a->busy, a->nr);
	return irq_balance_square(a->busy - less, a->nr) -
	       irq_balance_square(a->busy, a->nr) +
	       irq_balance_square(b->busy + more, b->nr) -
	       irq_balance_square(b->busy, b->nr);
}

/**
 * irq_balance_peak - load of the worst CPU
 * @mach:	machine
 *
 * Return: ns/s.
 */
u64 irq_balance_peak(const struct irq_balance_machine *mach)
{
	u64 worst = 0;
	u32 pos;

	for (pos = 0; pos < mach->nr_cpus; pos++)
		worst = max(worst, mach->load[pos]);
	return worst;
}

/**
 * irq_balance_worst_load - load of the worst CPU that has an item
 * @mach:	machine
 *
 * Return: ns/s, 0: none has.
 */
u64 irq_balance_worst_load(const struct irq_balance_machine *mach)
{
	u64 worst = 0;
	u32 pos;

	for (pos = 0; pos < mach->nr_cpus; pos++) {
		if (mach->items[pos])
			worst = max(worst, mach->load[pos]);
	}
	return worst;
}
