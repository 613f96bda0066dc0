/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: the settings of the planner */
#ifndef _KERNEL_IRQ_BALANCE_SETTINGS_H
#define _KERNEL_IRQ_BALANCE_SETTINGS_H

#include <linux/types.h>

/* The goals of the planner; see irq-balance-plan */
#define IRQ_BALANCE_POLICIES(x)	\
	x(POLICY_BALANCE, "balance")	\
	x(POLICY_ROTATE, "rotate")	\
	x(POLICY_COMPACT, "compact")

#define IRQ_BALANCE_POLICY_ENUM(name, word) IRQ_BALANCE_##name,
enum irq_balance_policy {
	IRQ_BALANCE_POLICIES(IRQ_BALANCE_POLICY_ENUM)
	IRQ_BALANCE_NR_POLICIES
};

/*
 * All settings: name, value at boot, least and greatest value.
 *
 *   policy		enum irq_balance_policy
 *   heavy		per mille of a CPU of capacity 1024 from which an interrupt is heavy
 *   min_gain		per mille of a CPU's load that a plan has to gain
 *   interval_ms	between passes while something changes, four times that otherwise
 *   compact_limit	per cent up to which policy compact fills a CPU
 *   rotate_ms		between two turns of policy rotate
 */
#define IRQ_BALANCE_SETTINGS(x)	\
	x(policy, IRQ_BALANCE_POLICY_BALANCE, 0, IRQ_BALANCE_NR_POLICIES - 1)	\
	x(heavy,		  20,  1,   1000)	\
	x(min_gain,		  50,  0,   1000)	\
	x(interval_ms,		  50, 10,  10000)	\
	x(compact_limit,	  50,  1,    100)	\
	x(rotate_ms,		1000, 10, 600000)

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
const char *irq_balance_policy_name(enum irq_balance_policy policy);
void irq_balance_settings_init(struct irq_balance_settings *set);
int irq_balance_settings_store(struct irq_balance_settings *set,
			       const struct irq_balance_knob *knob, u32 value);

#endif /* _KERNEL_IRQ_BALANCE_SETTINGS_H */
