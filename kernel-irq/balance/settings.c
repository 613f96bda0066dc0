// SPDX-License-Identifier: GPL-2.0
/* Interrupt balancing: the settings of the planner */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include "settings.h"

#define IRQ_BALANCE_KNOB(name, def, min, max)	\
	{ #name, offsetof(struct irq_balance_settings, name), min, max, def },
const struct irq_balance_knob irq_balance_knobs[] = {
	IRQ_BALANCE_SETTINGS(IRQ_BALANCE_KNOB)
};

const unsigned int irq_balance_nr_knobs = ARRAY_SIZE(irq_balance_knobs);

/* The setting with that name, or NULL */
const struct irq_balance_knob *irq_balance_find_knob(const char *name)
{
	const struct irq_balance_knob *knob = irq_balance_knobs;

	for (; knob < irq_balance_knobs + irq_balance_nr_knobs; knob++) {
		if (!strcmp(knob->name, name))
			return knob;
	}
	return NULL;
}

/* Set all to their values at boot */
void irq_balance_settings_init(struct irq_balance_settings *set)
{
#define IRQ_BALANCE_DEFAULT(name, def, ...) .name = def,
	*set = (struct irq_balance_settings) { IRQ_BALANCE_SETTINGS(IRQ_BALANCE_DEFAULT) };
}

/* Set one: 0, or -EINVAL if it is out of range and unchanged. The caller serialises. */
int irq_balance_settings_store(struct irq_balance_settings *set,
			       const struct irq_balance_knob *knob, u32 value)
{
	if (value < knob->min || value > knob->max)
		return -EINVAL;
	*(u32 *)((char *)set + knob->offset) = value;
	return 0;
}
