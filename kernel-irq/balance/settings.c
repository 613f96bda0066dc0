// SPDX-License-Identifier: GPL-2.0
/* Interrupt balancing: the settings of the planner */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stddef.h>

#include "settings.h"

#define IRQ_BALANCE_KNOB(name, def, min, max)	\
	{ #name, offsetof(struct irq_balance_settings, name), min, max, def },
const struct irq_balance_knob irq_balance_knobs[] = {
	IRQ_BALANCE_SETTINGS(IRQ_BALANCE_KNOB)
};

const unsigned int irq_balance_nr_knobs = ARRAY_SIZE(irq_balance_knobs);

/**
 * irq_balance_policy_name - The word for a policy
 * @policy:	the policy
 *
 * Return: the word, never NULL
 */
const char *irq_balance_policy_name(enum irq_balance_policy policy)
{
#define IRQ_BALANCE_POLICY_NAME(name, word)	\
	[IRQ_BALANCE_POLICY_##name] = word,
	static const char * const names[] = { IRQ_BALANCE_POLICIES(IRQ_BALANCE_POLICY_NAME) };

	return policy < IRQ_BALANCE_NR_POLICIES ? names[policy] : "unknown";
}

/**
 * irq_balance_settings_init - Set all knobs to their values at boot
 * @set:	settings
 */
void irq_balance_settings_init(struct irq_balance_settings *set)
{
#define IRQ_BALANCE_DEFAULT(name, def, ...) .name = def,
	*set = (struct irq_balance_settings) { IRQ_BALANCE_SETTINGS(IRQ_BALANCE_DEFAULT) };
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
