// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the rule for NUMA nodes, around the search for a
 * placement.
 */
#include <linux/kernel.h>
#include <linux/types.h>

#include "balance_work.h"

/* Rounds in which one node is found too full; as many more find all. */
#define NODE_ROUNDS	4U

/**
 * irq_balance_spill - find a node that is too full for its devices
 * @work:	workspace, solved
 * @set:	settings
 * @all:	find all of them, else the worst
 *
 * One after the other: when the worst lets go, others may be relieved.
 *
 * Return: whether one was found that was not known.
 */
static bool irq_balance_spill(struct irq_balance_work *work,
			      const struct irq_balance_settings *set, bool all)
{
	struct irq_balance_machine *mach = &work->solver.mach;
	u32 pos, worst = ~0U;

	for (pos = 0; pos < mach->nr_cpus; pos++) {
		u32 index = work->index[pos];
		u64 limit = IRQ_BALANCE_FULL / 100 * set->node_limit;

		if (work->away[index])
			limit -= limit / 8;
		if (work->spilled[index] || !work->holds[index] ||
		    !mach->items[pos] || set->node_limit == 100 ||
		    mach->load[pos] <= limit)
			continue;
		if (worst == ~0U || mach->load[pos] > mach->load[worst])
			worst = pos;
		if (all)
			work->spilled[index] = true;
	}
	if (worst != ~0U)
		work->spilled[work->index[worst]] = true;
	return worst != ~0U;
}

/* Brings home what can come without making the worst CPU worse. */
static void irq_balance_bring_home(struct irq_balance_work *work, u64 worst)
{
	struct irq_balance_solver *s = &work->solver;
	struct irq_balance_machine *mach = &s->mach;
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		struct irq_balance_item *item = &s->items[s->order[i]];
		u32 from = item->place, to;

		if (item->class != item->near ||
		    irq_balance_is_near(work, item, from))
			continue;
		irq_balance_discharge(mach, from,
				      irq_balance_cost(mach, item->load, from));
		to = irq_balance_find(mach, item, worst);
		item->place = to == ~0U ? from : to;
		irq_balance_charge(mach, item->place,
				   irq_balance_cost(mach, item->load, item->place));
	}
}

/**
 * irq_balance_locate - solve, with the rule for nodes
 * @work:	workspace, everything collected
 * @set:	settings
 * @cpus:	the CPUs
 *
 * Everything is held in its node first. Nodes whose worst CPU passes the
 * limit then let their interrupts go, and it is solved again, until no other
 * node does. When bringing strangers home would make the worst CPU worse,
 * they may stay where they are.
 */
void irq_balance_locate(struct irq_balance_work *work,
			const struct irq_balance_settings *set,
			const struct irq_balance_cpu *cpus)
{
	struct irq_balance_solver *s = &work->solver;
	unsigned int i, round;
	bool relaxed = false, again = true;
	u64 before;

	irq_balance_home(s, cpus);
	before = irq_balance_worst_load(&s->mach);
	for (i = 0; i < work->nr_nodes; i++)
		work->spilled[i] = false;

	for (round = 0; again; round++) {
		bool strange = false, forced = false;

		for (i = 0; i < s->nr; i++) {
			struct irq_balance_item *item = &s->items[i];
			bool held = item->node >= 0 && !work->spilled[item->node];
			bool near = irq_balance_is_near(work, item, item->home);

			item->class = held ? item->near : item->wide;
			item->stay = item->may_stay && (!held || near || relaxed);
			strange |= held && !near;
			forced |= !item->may_stay;
		}
		irq_balance_solve(s, cpus);
		again = round < 2 * NODE_ROUNDS &&
			irq_balance_spill(work, set, round >= NODE_ROUNDS ||
					  s->placed >= IRQ_BALANCE_PLACES);
		if (again || !strange)
			continue;
		if (relaxed) {
			irq_balance_bring_home(work, before);
		} else if (!forced && irq_balance_worst_load(&s->mach) > before) {
			relaxed = true;
			again = true;
		}
	}
}
