/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: the settings of the planner */
#ifndef _KERNEL_IRQ_BALANCE_SETTINGS_H
#define _KERNEL_IRQ_BALANCE_SETTINGS_H

#include <linux/types.h>

/*
 * All settings: name, value at boot, least and greatest value.
 *
 *   heavy		per mille of a CPU of capacity 1024 from which an interrupt is heavy
 *   min_gain		per mille of a CPU's load that a plan has to gain
 *   interval_ms	between passes while something changes, four times that otherwise
 */
#define IRQ_BALANCE_SETTINGS(x)	\
	x(heavy,	20,  1,  1000)	\
	x(min_gain,	50,  0,  1000)	\
	x(interval_ms,	50, 10, 10000)

#define IRQ_BALANCE_MEMBER(name, ...) u32 name;
struct irq_balance_settings {
	IRQ_BALANCE_SETTINGS(IRQ_BALANCE_MEMBER)
};

/* One setting, as sysfs, the command line and the tools see it */
struct irq_balance_knob {
	const char	*name;
	size_t		offset;		/* of the u32 in struct irq_balance_settings */
	u32		min;
	u32		max;
	u32		def;
};

extern const struct irq_balance_knob irq_balance_knobs[];
extern const unsigned int irq_balance_nr_knobs;

const struct irq_balance_knob *irq_balance_find_knob(const char *name);
void irq_balance_settings_init(struct irq_balance_settings *set);
int irq_balance_settings_store(struct irq_balance_settings *set,
			       const struct irq_balance_knob *knob, u32 value);

#endif /* _KERNEL_IRQ_BALANCE_SETTINGS_H */
