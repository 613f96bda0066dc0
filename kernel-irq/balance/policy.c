// SPDX-License-Identifier: GPL-2.0
/* Interrupt balancing: policies other than balance, see irq-balance-plan */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "place.h"

static u32 irq_balance_used(const struct irq_balance_work *w)
{
	u32 pos, used = 0;

	for (pos = 0; pos < w->nr_cpus; pos++)
		used += w->head[pos] != IRQ_BALANCE_NOWHERE;
	return used;
}

/* Gathers items on the CPUs of one package, on those that have some at first */
static void irq_balance_gather_at(struct irq_balance_work *w, u32 package, u64 limit)
{
	struct irq_balance_item *it;
	u32 pos, end = w->domain[IRQ_BALANCE_PACKAGE][package].end;

	irq_balance_home(w);
	for (it = w->items; it < w->items + w->nr; it++) {
		u32 to = it->place;

		for (pos = package; pos < end; pos++) {
			if (!irq_balance_may(w, it, pos) || pos == it->place ||
			    w->load[pos] + irq_balance_cost(w, it->load, pos) > limit)
				continue;
			if (to < package || to >= end ||
			    (w->head[pos] != IRQ_BALANCE_NOWHERE && pos < to))
				to = pos;
		}
		irq_balance_put(w, it, to);
	}
}

/* Whether fewer CPUs take all items */
static bool irq_balance_compact(struct irq_balance_work *w, u64 limit)
{
	u32 package, best = IRQ_BALANCE_NOWHERE, least;

	irq_balance_home(w);
	least = irq_balance_used(w);
	for (package = 0; package < w->nr_cpus;
	     package = w->domain[IRQ_BALANCE_PACKAGE][package].end) {
		irq_balance_gather_at(w, package, limit);
		if (irq_balance_used(w) < least) {
			least = irq_balance_used(w);
			best = package;
		}
	}
	if (best == IRQ_BALANCE_NOWHERE)
		irq_balance_home(w);
	else
		irq_balance_gather_at(w, best, limit);
	return best != IRQ_BALANCE_NOWHERE;
}

/* Moves each item to the next CPU, or none if that makes the worst CPU worse */
static bool irq_balance_rotate(struct irq_balance_work *w)
{
	struct irq_balance_item *it;
	u32 pos, step, usable = 0;

	irq_balance_home(w);
	for (pos = 0; pos < w->nr_cpus; pos++)
		usable += w->cpus[pos].usable;
	if (w->nr >= usable)
		return false;
	for (it = w->items; it < w->items + w->nr; it++)
		irq_balance_put(w, it, IRQ_BALANCE_NOWHERE);
	for (it = w->items; it < w->items + w->nr; it++) {
		for (step = 1; step <= w->nr_cpus; step++) {
			pos = w->pos[(w->cpu[it->home] + step) % w->nr_cpus];
			if (irq_balance_may(w, it, pos) &&
			    w->load[pos] + irq_balance_cost(w, it->load, pos) <= w->worst)
				break;
		}
		if (step > w->nr_cpus) {
			irq_balance_home(w);
			return false;
		}
		irq_balance_put(w, it, pos);
	}
	return true;
}

/**
 * irq_balance_apply_policy - Change the placement by the rule of the policy
 * @bal:	the planner, with a placement that is worth its moves
 * @now:	clock in ns
 *
 * Return: the reason of all moves, IRQ_BALANCE_WHY_NONE if they have their own
 */
enum irq_balance_why irq_balance_apply_policy(struct irq_balance *bal, u64 now)
{
	struct irq_balance_work *w = bal->work;
	const struct irq_balance_settings *set = w->set;
	u64 limit = IRQ_BALANCE_FULL / 100 * set->compact_limit;
	u32 i, moves = 0;
	bool forbidden = false;

	for (i = 0; i < w->nr; i++)
		forbidden |= irq_balance_is_forbidden(w, &w->items[i]);
	/* Items that may not stay move first, as balance places them */
	if (set->policy == IRQ_BALANCE_POLICY_COMPACT && w->worst <= limit && !forbidden)
		return irq_balance_compact(w, limit) ? IRQ_BALANCE_WHY_COMPACT :
						       IRQ_BALANCE_WHY_NONE;

	for (i = 0; i < w->nr; i++)
		moves += w->items[i].place != w->items[i].home;
	if (set->policy != IRQ_BALANCE_POLICY_ROTATE || moves)
		return IRQ_BALANCE_WHY_NONE;
	if (!bal->rotated)
		bal->rotated = now;
	if (now - bal->rotated < (u64)set->rotate_ms * 1000000)
		return IRQ_BALANCE_WHY_NONE;
	bal->rotated = now;
	return irq_balance_rotate(w) ? IRQ_BALANCE_WHY_ROTATE : IRQ_BALANCE_WHY_NONE;
}
