// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: whether a placement is worth its moves.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>

#include "balance_pace.h"
#include "balance_work.h"

/* Works out what the plan does to the CPUs that it touches, part by part. */
static void irq_balance_touched(struct irq_balance_work *work,
				const struct irq_balance_settings *set, u64 now,
				const struct irq_balance_irq *irqs)
{
	struct irq_balance_solver *s = &work->solver;
	struct irq_balance_machine *mach = &s->mach;
	unsigned int i, j;

	memset(work->touch, 0, s->nr_parts * sizeof(*work->touch));
	for (i = 0; i < mach->nr_cpus; i++) {
		work->before[i] = mach->fixed[i];
		work->slow_before[i] = mach->fixed_slow[i];
		work->slow_after[i] = mach->fixed_slow[i];
		work->sure_before[i] = mach->fixed_sure[i];
		work->sure_after[i] = mach->fixed_sure[i];
	}
	for (i = 0; i < s->nr; i++) {
		const struct irq_balance_item *item = &s->items[i];

		work->before[item->home] +=
			irq_balance_cost(mach, item->load, item->home);
		work->slow_before[item->home] +=
			irq_balance_cost(mach, item->slow, item->home);
		work->slow_after[item->place] +=
			irq_balance_cost(mach, item->slow, item->place);
		work->sure_before[item->home] +=
			irq_balance_cost(mach, item->sure, item->home);
		work->sure_after[item->place] +=
			irq_balance_cost(mach, item->sure, item->place);
	}
	for (i = 0; i < s->nr; i++) {
		const struct irq_balance_item *item = &s->items[i];
		const struct irq_balance_state *st = irqs[item->irq].state;
		struct irq_balance_touch *t = &work->touch[item->rank];
		u32 ends[] = { item->home, item->place };
		u64 quiet;

		if (item->place == item->home)
			continue;
		for (j = 0; j < ARRAY_SIZE(ends); j++) {
			u32 pos = ends[j];

			t->before = max(t->before, work->before[pos]);
			t->after = max(t->after, mach->load[pos]);
			t->slow_before = max(t->slow_before, work->slow_before[pos]);
			t->slow_after = max(t->slow_after, work->slow_after[pos]);
			t->sure_before = max(t->sure_before, work->sure_before[pos]);
			t->sure_after = max(t->sure_after, work->sure_after[pos]);
		}
		if (!irq_balance_is_near(work, item, item->home) &&
		    irq_balance_is_near(work, item, item->place))
			t->near += irq_balance_cost(mach, item->load, item->home);
		t->forced |= !item->may_stay;
		quiet = irq_balance_ms(set->cooldown_ms);
		t->cooling |= st->moved && now - st->moved < quiet;
		t->restless |= st->moved && now - st->moved < quiet << st->churn;
		if (!t->moves)
			t->lone = true;
		if (work->heavy[item->home] > 1 ||
		    mach->scale[item->place] < mach->scale[item->home])
			t->lone = false;
		if (!t->moves++ || st->load.age_ms < t->age_ms)
			t->age_ms = st->load.age_ms;
	}
}

/* Whether a part's plan is worth it; see the policy's steps 4 and 5. */
static bool irq_balance_wanted(const struct irq_balance_settings *set,
			       const struct irq_balance_touch *t,
			       enum irq_balance_look look)
{
	u64 need = irq_balance_need(set, t->before);
	u64 gain;

	if (!t->moves)
		return false;
	if (t->forced)
		return true;
	if (t->cooling)
		return false;
	if (t->near && t->near >= need)
		return true;
	if (t->before < t->after + need)
		return false;
	gain = t->before - t->after;
	/* What a lone one flees from is base load, which comes and goes: no haste */
	if (!t->lone && gain * 8 >= div_u64(t->before, 1000) * set->min_gain * 15 &&
	    t->sure_before >= t->sure_after + irq_balance_need(set, t->sure_before))
		return true;
	if (t->restless)
		return false;
	/* What is begun now need not wait for history: it would be all the same. */
	if (t->age_ms < IRQ_BALANCE_YOUNG_MS)
		return look == IRQ_BALANCE_LOOK_SECOND;
	return t->slow_before >=
	       t->slow_after + irq_balance_need(set, t->slow_before);
}

/**
 * irq_balance_judge - keep of a plan what is worth it
 * @work:	workspace, solved
 * @set:	settings
 * @now:	clock in ns
 * @irqs:	the interrupts
 * @look:	which look it is
 *
 * Return: whether anything is left of it.
 */
bool irq_balance_judge(struct irq_balance_work *work,
		       const struct irq_balance_settings *set, u64 now,
		       const struct irq_balance_irq *irqs,
		       enum irq_balance_look look)
{
	struct irq_balance_solver *s = &work->solver;
	bool any = false;
	unsigned int i;

	irq_balance_touched(work, set, now, irqs);
	for (i = 0; i < s->nr_parts; i++) {
		struct irq_balance_touch *t = &work->touch[i];

		if (!irq_balance_wanted(set, t, look) &&
		    (look != IRQ_BALANCE_LOOK_ANEW ||
		     t->after + div_u64(t->before, 100) >= t->before))
			t->moves = 0;
		any |= t->moves;
	}
	for (i = 0; i < s->nr; i++) {
		struct irq_balance_item *item = &s->items[i];

		if (!work->touch[item->rank].moves)
			item->place = item->home;
	}
	return any;
}
