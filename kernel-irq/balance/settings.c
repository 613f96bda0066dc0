// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the settings of the planner
 *
 * One table describes the knobs to sysfs, to the command line and to the tools.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stddef.h>
#include <linux/types.h>

#include "settings.h"

#define IRQ_BALANCE_KNOB(member, lowest, highest, value) {		\
	.name	= #member,						\
	.offset	= offsetof(struct irq_balance_settings, member),	\
	.min	= (lowest),						\
	.max	= (highest),						\
	.def	= (value),						\
}

const struct irq_balance_knob irq_balance_knobs[] = {
	IRQ_BALANCE_KNOB(policy, 0, IRQ_BALANCE_NR_POLICIES - 1, IRQ_BALANCE_POLICY_BALANCE),
	IRQ_BALANCE_KNOB(heavy, 1, 1000, 20),
	IRQ_BALANCE_KNOB(min_gain, 0, 1000, 50),
	IRQ_BALANCE_KNOB(interval_ms, 10, 10000, 50),
	IRQ_BALANCE_KNOB(node_limit, 0, 100, 80),
	IRQ_BALANCE_KNOB(compact_limit, 1, 100, 50),
	IRQ_BALANCE_KNOB(rotate_ms, 10, 600000, 1000),
};

const unsigned int irq_balance_nr_knobs = ARRAY_SIZE(irq_balance_knobs);

#define IRQ_BALANCE_POLICY_WORD(name, word) word,

/**
 * irq_balance_policy_name - The word for a policy
 * @policy:	the policy
 *
 * Return: the word, never NULL
 */
const char *irq_balance_policy_name(enum irq_balance_policy policy)
{
	static const char * const names[] = { IRQ_BALANCE_POLICIES(IRQ_BALANCE_POLICY_WORD) };

	return policy < IRQ_BALANCE_NR_POLICIES ? names[policy] : "unknown";
}

/**
 * irq_balance_settings_init - Set all knobs to their values at boot
 * @set:	settings
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
 * irq_balance_settings_store - Set one knob
 * @set:	settings
 * @knob:	one of irq_balance_knobs[]
 * @value:	the new value
 *
 * Context: any; the caller serialises access to @set.
 *
 * Return: 0, or -EINVAL if @value is out of the knob's range; @set is unchanged then
 */
int irq_balance_settings_store(struct irq_balance_settings *set,
			       const struct irq_balance_knob *knob, u32 value)
{
	if (value < knob->min || value > knob->max)
		return -EINVAL;
	*(u32 *)((char *)set + knob->offset) = value;
	return 0;
}
