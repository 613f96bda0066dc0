// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: carrying out a plan, pass by pass.
 *
 * A plan may have more moves than one pass may make. Then the order matters:
 * at no time may the worst CPU be worse than it was, so a CPU has to be
 * relieved before it is given something new.
 */
#include <linux/kernel.h>
#include <linux/types.h>

#include "balance_step.h"

static void irq_balance_shift(struct irq_balance_solver *s,
			      struct irq_balance_item *item, u32 from, u32 to)
{
	struct irq_balance_machine *mach = &s->mach;

	irq_balance_discharge(mach, from, irq_balance_cost(mach, item->load, from));
	irq_balance_charge(mach, to, irq_balance_cost(mach, item->load, to));
}

/**
 * irq_balance_next_move - the move off the worst CPU that fits by itself
 * @s:		solver
 * @worst:	ns/s that no CPU may pass
 * @end:	ns/s of the worst CPU when the plan is done
 *
 * The last CPU that is as busy as the worst one will be at the end has to
 * wait until another one is: what comes after would be a rise otherwise.
 *
 * Return: index of a waiting item, ~0: none.
 */
static u32 irq_balance_next_move(const struct irq_balance_solver *s, u64 worst,
				 u64 end)
{
	const struct irq_balance_machine *mach = &s->mach;
	u32 i, best = ~0U, high = 0;
	u64 most = 0;

	for (i = 0; i < mach->nr_cpus; i++)
		high += mach->load[i] >= end;
	for (i = 0; i < s->nr; i++) {
		const struct irq_balance_item *item = &s->items[i];
		u64 from, to;

		if (item->rank || item->place == item->home ||
		    (best != ~0U && mach->load[item->home] <= most))
			continue;
		from = mach->load[item->home] -
		       irq_balance_cost(mach, item->load, item->home);
		to = mach->load[item->place] +
		     irq_balance_cost(mach, item->load, item->place);
		if (item->may_stay && to > worst)
			continue;
		if (high == 1 && mach->load[item->home] >= end && from < end &&
		    to < end)
			continue;
		most = mach->load[item->home];
		best = i;
	}
	return best;
}

/**
 * irq_balance_chain - moves that only fit together
 * @s:		solver
 * @first:	a waiting move that does not fit by itself
 * @worst:	ns/s that no CPU may pass
 * @cap:	how many moves may be made
 *
 * Follows the CPU that is too full now to a waiting move away from it, until
 * all is well or the moves are used up; then takes everything back.
 *
 * Return: number of moves made, 0: it does not work out.
 */
static unsigned int irq_balance_chain(struct irq_balance_solver *s, u32 first,
				      u64 worst, unsigned int cap)
{
	struct irq_balance_machine *mach = &s->mach;
	unsigned int made = 0;
	u32 next = first, full, i;

	while (next != ~0U && made < cap) {
		struct irq_balance_item *item = &s->items[next];

		irq_balance_shift(s, item, item->home, item->place);
		/* Marked as part of this chain, for now. */
		item->rank = 2;
		made++;
		full = item->place;
		next = ~0U;
		if (mach->load[full] <= worst)
			break;
		for (i = 0; i < s->nr; i++) {
			if (s->items[i].rank || s->items[i].home != full ||
			    s->items[i].place == full)
				continue;
			if (next == ~0U || s->items[i].load > s->items[next].load)
				next = i;
		}
		if (next == ~0U)
			break;
	}
	for (i = 0; i < s->nr; i++) {
		if (s->items[i].rank == 2 && mach->load[s->items[i].place] > worst)
			break;
	}
	if (i == s->nr) {
		for (i = 0; i < s->nr; i++)
			s->items[i].rank = !!s->items[i].rank;
		return made;
	}
	for (i = 0; i < s->nr; i++) {
		struct irq_balance_item *item = &s->items[i];

		if (item->rank != 2)
			continue;
		irq_balance_shift(s, item, item->place, item->home);
		item->rank = 0;
	}
	return 0;
}

/**
 * irq_balance_step - choose the moves of one pass
 * @s:		solver: loads are those of the present placement, @place of
 *		each item is where the plan wants it
 * @cap:	most moves, 0: all
 * @end:	ns/s of the worst CPU when the plan is done
 *
 * Sets &irq_balance_item.rank of the items that are to be moved now. An item
 * that may not stay is moved whatever it does to the worst CPU.
 *
 * Return: number of moves.
 */
unsigned int irq_balance_step(struct irq_balance_solver *s, unsigned int cap,
			      u64 end)
{
	struct irq_balance_machine *mach = &s->mach;
	unsigned int made = 0, waiting = 0;
	u64 worst = 0;
	u32 i;

	for (i = 0; i < mach->nr_cpus; i++)
		worst = max(worst, mach->load[i]);
	for (i = 0; i < s->nr; i++) {
		waiting += s->items[i].place != s->items[i].home;
		s->items[i].rank = 0;
	}
	if (!cap || cap >= waiting) {
		for (i = 0; i < s->nr; i++)
			s->items[i].rank = s->items[i].place != s->items[i].home;
		return waiting;
	}
	while (made < cap) {
		unsigned int more = 0;

		i = irq_balance_next_move(s, worst, end);
		if (i != ~0U) {
			irq_balance_shift(s, &s->items[i], s->items[i].home,
					  s->items[i].place);
			s->items[i].rank = 1;
			made++;
			continue;
		}
		for (i = 0; i < s->nr && !more; i++) {
			if (!s->items[i].rank &&
			    s->items[i].place != s->items[i].home)
				more = irq_balance_chain(s, i, worst, cap - made);
		}
		if (!more && (made || !end))
			break;
		/* Rather in a bad order than not at all. */
		if (!more)
			end = 0;
		made += more;
	}
	return made;
}
