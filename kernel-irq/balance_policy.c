// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the policies that are not the default.
 */
#include <linux/kernel.h>
#include <linux/types.h>

#include "balance_work.h"

/**
 * irq_balance_gather - policy compact: as few CPUs of one package as it takes
 * @work:	workspace, everything collected and at home
 * @set:	settings
 * @cpus:	the CPUs
 *
 * First fit, heaviest first, on the CPUs that have most already. What may not
 * be in the package stays where it is.
 *
 * Return: whether fewer CPUs would have heavy interrupts.
 */
bool irq_balance_gather(struct irq_balance_work *work,
			const struct irq_balance_settings *set,
			const struct irq_balance_cpu *cpus)
{
	struct irq_balance_solver *s = &work->solver;
	struct irq_balance_machine *mach = &s->mach;
	u64 limit = IRQ_BALANCE_FULL / 100 * set->compact_limit;
	unsigned int i, pkg, used = 0, best_used, best = ~0U;
	u32 pos;

	for (pos = 0; pos < mach->nr_cpus; pos++)
		used += mach->items[pos] > 0;
	best_used = used;

	/* The last round does again what the best one did. */
	for (pkg = 0; pkg <= mach->nr[IRQ_BALANCE_PACKAGE]; pkg++) {
		u32 which = pkg < mach->nr[IRQ_BALANCE_PACKAGE] ? pkg : best;
		const struct irq_balance_domain *dom;
		unsigned int now = 0;

		if (which == ~0U)
			break;
		dom = &mach->level[IRQ_BALANCE_PACKAGE][which];
		irq_balance_home(s, cpus);
		for (i = 0; i < s->nr; i++) {
			struct irq_balance_item *item = &s->items[s->order[i]];
			u32 to = item->place;

			irq_balance_discharge(mach, to,
					      irq_balance_cost(mach, item->load, to));
			for (pos = dom->first; pos < dom[1].first; pos++) {
				if (!irq_balance_may(mach, item, pos) ||
				    mach->load[pos] +
				    irq_balance_cost(mach, item->load, pos) > limit)
					continue;
				if (to < dom->first || to >= dom[1].first ||
				    mach->items[pos] > mach->items[to])
					to = pos;
			}
			item->place = to;
			irq_balance_charge(mach, to,
					   irq_balance_cost(mach, item->load, to));
		}
		for (pos = 0; pos < mach->nr_cpus; pos++)
			now += mach->items[pos] > 0;
		if (now < best_used) {
			best_used = now;
			best = pkg;
		}
	}
	if (best == ~0U)
		irq_balance_home(s, cpus);
	return best != ~0U;
}

/**
 * irq_balance_rotate - policy rotate: each one CPU further
 * @bal:	the balancer, solved: nothing is to be gained
 * @now:	clock in ns
 * @cpus:	the CPUs
 * @irqs:	the interrupts
 * @set:	settings
 *
 * Only with fewer heavy interrupts than CPUs, and where it makes the worst
 * CPU no worse.
 */
void irq_balance_rotate(struct irq_balance *bal,
			const struct irq_balance_settings *set, u64 now,
			const struct irq_balance_cpu *cpus,
			struct irq_balance_irq *irqs)
{
	struct irq_balance_solver *s = &bal->work->solver;
	struct irq_balance_machine *mach = &s->mach;
	unsigned int i, step, usable = 0;
	u64 worst;

	if (!bal->rotated)
		bal->rotated = now;
	if (now - bal->rotated < irq_balance_ms(set->rotate_ms))
		return;
	bal->rotated = now;
	irq_balance_home(s, cpus);
	for (i = 0; i < mach->nr_cpus; i++)
		usable += cpus[i].usable;
	if (!s->nr || s->nr >= usable ||
	    (set->max_moves && s->nr > set->max_moves))
		return;
	worst = irq_balance_worst_load(mach);
	for (i = 0; i < s->nr; i++)
		irq_balance_discharge(mach, s->items[i].home,
				      irq_balance_cost(mach, s->items[i].load,
						       s->items[i].home));
	for (i = 0; i < s->nr; i++) {
		struct irq_balance_item *item = &s->items[i];
		struct irq_balance_irq *irq = &irqs[item->irq];
		u32 to = item->home;

		for (step = 1; step < mach->nr_cpus; step++) {
			u32 cpu = (irq->cpu + step) % mach->nr_cpus;

			if (irq_balance_may(mach, item, mach->pos[cpu]) &&
			    mach->load[mach->pos[cpu]] +
			    irq_balance_cost(mach, item->load, mach->pos[cpu]) <= worst) {
				to = mach->pos[cpu];
				break;
			}
		}
		irq_balance_charge(mach, to, irq_balance_cost(mach, item->load, to));
		item->place = to;
	}
	/* A place may have been taken by one that could not leave: all or none. */
	if (irq_balance_worst_load(mach) > worst)
		return;
	for (i = 0; i < s->nr; i++) {
		struct irq_balance_item *item = &s->items[i];
		struct irq_balance_irq *irq = &irqs[item->irq];

		if (item->place == item->home)
			continue;
		irq->target = mach->cpu[item->place];
		irq->reason = IRQ_BALANCE_REASON_ROTATE;
		irq->state->target = irq->target;
		irq->state->planned = irq->reason;
		bal->nr_moves++;
	}
}
