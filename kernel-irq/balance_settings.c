// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the knobs of the policy, and its words.
 *
 * One table describes the knobs to sysfs and to the tools, so that names,
 * ranges and defaults are the same in both.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stddef.h>
#include <linux/types.h>

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
	IRQ_BALANCE_KNOB(min_gain, 0, 1000, 140),
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
