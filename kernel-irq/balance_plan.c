// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the policy as a pure function.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>

#include "balance_pace.h"
#include "balance_plan.h"

#define IRQ_BALANCE_KNOB(member, lowest, highest, value) {		\
	.name	= #member,						\
	.offset	= offsetof(struct irq_balance_settings, member),	\
	.min	= (lowest),						\
	.max	= (highest),						\
	.def	= (value),						\
}

const struct irq_balance_knob irq_balance_knobs[] = {
	IRQ_BALANCE_KNOB(policy, 0, IRQ_BALANCE_NR_POLICIES - 1,
			 IRQ_BALANCE_POLICY_BALANCE),
	IRQ_BALANCE_KNOB(heavy, 1, 1000, 20),
	IRQ_BALANCE_KNOB(min_gain, 0, 1000, 125),
	IRQ_BALANCE_KNOB(confirm, 1, 100, 3),
	IRQ_BALANCE_KNOB(max_moves, 0, 65535, 8),
	IRQ_BALANCE_KNOB(cooldown_ms, 0, 600000, 400),
	IRQ_BALANCE_KNOB(node_limit, 0, 100, 80),
	IRQ_BALANCE_KNOB(compact_limit, 1, 100, 50),
	IRQ_BALANCE_KNOB(rotate_ms, 10, 600000, 1000),
	IRQ_BALANCE_KNOB(interval_min_ms, 10, 10000, 50),
	IRQ_BALANCE_KNOB(interval_max_ms, 10, 600000, 200),
};

const unsigned int irq_balance_nr_knobs = ARRAY_SIZE(irq_balance_knobs);

/**
 * irq_balance_reason_name - the word for a reason
 * @reason:	the reason
 *
 * Context: any.
 * Return: the word, never NULL.
 */
const char *irq_balance_reason_name(enum irq_balance_reason reason)
{
	static const char * const names[IRQ_BALANCE_NR_REASONS] = {
		[IRQ_BALANCE_REASON_NONE]	= "none",
		[IRQ_BALANCE_REASON_IMBALANCE]	= "imbalance",
		[IRQ_BALANCE_REASON_CAPACITY]	= "capacity",
		[IRQ_BALANCE_REASON_LOCALITY]	= "locality",
		[IRQ_BALANCE_REASON_AFFINITY]	= "affinity",
		[IRQ_BALANCE_REASON_HOTPLUG]	= "hotplug",
		[IRQ_BALANCE_REASON_ROTATE]	= "rotate",
		[IRQ_BALANCE_REASON_COMPACT]	= "compact",
	};

	return reason < IRQ_BALANCE_NR_REASONS ? names[reason] : "unknown";
}

/**
 * irq_balance_policy_name - the word for a policy
 * @policy:	the policy
 *
 * Context: any.
 * Return: the word, never NULL.
 */
const char *irq_balance_policy_name(enum irq_balance_policy policy)
{
	static const char * const names[IRQ_BALANCE_NR_POLICIES] = {
		[IRQ_BALANCE_POLICY_BALANCE]	= "balance",
		[IRQ_BALANCE_POLICY_ROTATE]	= "rotate",
		[IRQ_BALANCE_POLICY_COMPACT]	= "compact",
	};

	return policy < IRQ_BALANCE_NR_POLICIES ? names[policy] : "unknown";
}

/**
 * irq_balance_settings_init - all knobs to their values at boot
 * @set:	settings
 *
 * Context: any; the caller serialises access to @set.
 */
void irq_balance_settings_init(struct irq_balance_settings *set)
{
	unsigned int i;

	for (i = 0; i < irq_balance_nr_knobs; i++) {
		const struct irq_balance_knob *knob = &irq_balance_knobs[i];

		*(u32 *)((char *)set + knob->offset) = knob->def;
	}
}

/**
 * irq_balance_settings_store - turn a knob
 * @set:	settings
 * @knob:	one of irq_balance_knobs[]
 * @value:	the new value
 *
 * Context: any; the caller serialises access to @set.
 * Return: 0, or -EINVAL when @value is out of the knob's range or would put
 * the smallest interval above the largest; @set is unchanged then.
 */
int irq_balance_settings_store(struct irq_balance_settings *set,
			       const struct irq_balance_knob *knob, u32 value)
{
	struct irq_balance_settings next = *set;

	if (value < knob->min || value > knob->max)
		return -EINVAL;
	*(u32 *)((char *)&next + knob->offset) = value;
	if (next.interval_min_ms > next.interval_max_ms)
		return -EINVAL;
	*set = next;
	return 0;
}

struct irq_balance_work {
	unsigned int	nr_irqs;
	unsigned int	nr_cpus;
};

/**
 * irq_balance_work_size - how much workspace a machine needs
 * @nr_irqs:	most interrupts that a pass may be handed
 * @nr_cpus:	most CPUs
 *
 * Context: any.
 * Return: bytes.
 */
size_t irq_balance_work_size(unsigned int nr_irqs, unsigned int nr_cpus)
{
	return sizeof(struct irq_balance_work) + nr_irqs + nr_cpus;
}

/**
 * irq_balance_init - start from nothing
 * @bal:	the balancer, zeroed before its first use
 * @work:	workspace of irq_balance_work_size() bytes
 * @nr_irqs:	as given to irq_balance_work_size()
 * @nr_cpus:	as given to irq_balance_work_size()
 *
 * Whatever was remembered of interrupts before is void from now on; the
 * state in the array of CPUs is the caller's to clear.
 *
 * Context: any; not during a pass.
 */
void irq_balance_init(struct irq_balance *bal, void *work,
		      unsigned int nr_irqs, unsigned int nr_cpus)
{
	u32 generation = bal->generation + 1;

	memset(bal, 0, sizeof(*bal));
	bal->generation = generation ? generation : 1;
	bal->next = IRQ_BALANCE_NO_TIMER;
	bal->work = work;
	bal->work->nr_irqs = nr_irqs;
	bal->work->nr_cpus = nr_cpus;
}

static u64 irq_balance_cost(u64 load, const struct irq_balance_cpu *cpu)
{
	return div_u64(load * IRQ_BALANCE_CAPACITY, cpu->capacity);
}

/**
 * irq_balance_pass - one pass: measure, plan, say what to move
 * @bal:	the balancer
 * @set:	settings
 * @now:	clock in ns, above 0, never going back
 * @cpus:	the CPUs, by number
 * @nr_cpus:	how many, as given to irq_balance_init()
 * @irqs:	the interrupts, in rising order
 * @nr_irqs:	how many, at most as given to irq_balance_init()
 *
 * Every interrupt whose @target is not its @cpu is to be moved there. What
 * became of it need not be told: the next pass sees where it is. The time of
 * the next pass is in &irq_balance.next.
 *
 * Context: any; the caller serialises passes. No allocation, no recursion.
 * Return: number of moves.
 */
unsigned int irq_balance_pass(struct irq_balance *bal,
			      const struct irq_balance_settings *set, u64 now,
			      struct irq_balance_cpu *cpus, unsigned int nr_cpus,
			      struct irq_balance_irq *irqs, unsigned int nr_irqs)
{
	u64 elapsed = bal->last ? now - bal->last : 0;
	u64 heavy = (u64)set->heavy * (IRQ_BALANCE_FULL / 1000);
	unsigned int i, c, worst = 0, best_cpu = 0;
	struct irq_balance_irq *best = NULL;
	u64 best_load = ~0ULL;

	bal->nr_heavy = 0;
	bal->nr_moves = 0;
	for (c = 0; c < nr_cpus; c++) {
		irq_balance_average_update(&cpus[c].base, cpus[c].time, elapsed,
					   IRQ_BALANCE_CAPACITY);
		cpus[c].load = cpus[c].base.fast;
	}
	for (i = 0; i < nr_irqs; i++) {
		struct irq_balance_irq *irq = &irqs[i];
		struct irq_balance_state *st = irq->state;

		irq->target = irq->cpu;
		irq->reason = IRQ_BALANCE_REASON_NONE;
		irq->gain = 0;
		if (st->generation != bal->generation) {
			memset(st, 0, sizeof(*st));
			st->generation = bal->generation;
		}
		if (irq->cpu >= nr_cpus)
			continue;
		irq_balance_average_update(&st->load, irq->time, elapsed,
					   cpus[irq->cpu].capacity);
		irq->load = st->load.fast;
		st->cpu = irq->cpu;
		st->heavy = irq->load >= heavy;
		bal->nr_heavy += st->heavy;
		cpus[irq->cpu].load += irq_balance_cost(irq->load, &cpus[irq->cpu]);
		st->limit = irq_balance_limit(heavy);
	}
	for (c = 0; c < nr_cpus; c++) {
		if (cpus[c].load > cpus[worst].load)
			worst = c;
	}
	for (i = 0; i < nr_irqs; i++) {
		struct irq_balance_irq *irq = &irqs[i];

		if (irq->cpu != worst || !irq->state->heavy || !irq->allowed)
			continue;
		for (c = 0; c < nr_cpus; c++) {
			u64 load = cpus[c].load + irq_balance_cost(irq->load, &cpus[c]);

			if (c == worst || !cpus[c].usable || cpus[c].full ||
			    !test_bit(c, irq->allowed))
				continue;
			load = max_t(u64, load, cpus[worst].load -
				     irq_balance_cost(irq->load, &cpus[worst]));
			if (load < best_load) {
				best_load = load;
				best = irq;
				best_cpu = c;
			}
		}
	}
	if (best && cpus[worst].load - best_load >=
	    div_u64(cpus[worst].load, 1000) * set->min_gain &&
	    best_load < cpus[worst].load && ++bal->confirmed >= set->confirm) {
		best->target = best_cpu;
		best->reason = IRQ_BALANCE_REASON_IMBALANCE;
		best->gain = cpus[worst].load - best_load;
		bal->nr_moves = 1;
	}
	bal->last = now;
	irq_balance_pace(bal, set, now, bal->confirmed || bal->kicked);
	bal->kicked = false;
	return bal->nr_moves;
}
