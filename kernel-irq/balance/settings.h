/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: the settings of the planner */
#ifndef _KERNEL_IRQ_BALANCE_SETTINGS_H
#define _KERNEL_IRQ_BALANCE_SETTINGS_H

#include <linux/types.h>

/* What the planner strives for: the words are interface of sysfs, tracepoints and tools */
#define IRQ_BALANCE_POLICIES(x)							\
	x(POLICY_BALANCE, "balance")	/* the lowest load of the worst CPU (default) */\
	x(POLICY_ROTATE, "rotate")	/* the same, but few heavy interrupts take turns */\
	x(POLICY_COMPACT, "compact")	/* light total load on few CPUs of one package */

#define IRQ_BALANCE_POLICY_ENUM(name, word) IRQ_BALANCE_##name,
enum irq_balance_policy {
	IRQ_BALANCE_POLICIES(IRQ_BALANCE_POLICY_ENUM)
	IRQ_BALANCE_NR_POLICIES
};

/**
 * struct irq_balance_settings - The knobs of the planner
 * @policy:		enum irq_balance_policy
 * @heavy:		per mille of a CPU of capacity 1024: an interrupt below
 *			it is light and not moved; 1..1000
 * @min_gain:		per mille of a CPU's load that a plan has to gain; 0..1000
 * @interval_ms:	ms between passes while something changes, four times as
 *			long when nothing does; 10..10000
 * @node_limit:		per cent of a CPU up to which a device's node holds its
 *			interrupts; 0..100, 100: always
 * @compact_limit:	per cent of a CPU up to which policy compact fills it; 1..100
 * @rotate_ms:		ms between two turns of policy rotate; 10..600000
 *
 * All are u32: irq_balance_knobs[] describes them to sysfs and to the tools.
 */
struct irq_balance_settings {
	u32	policy;
	u32	heavy;
	u32	min_gain;
	u32	interval_ms;
	u32	node_limit;
	u32	compact_limit;
	u32	rotate_ms;
};

/**
 * struct irq_balance_knob - One member of struct irq_balance_settings
 * @name:	its name in sysfs, on the command line and in the tools
 * @offset:	where it is, a u32
 * @min:	smallest allowed value
 * @max:	largest allowed value
 * @def:	value at boot
 */
struct irq_balance_knob {
	const char	*name;
	size_t		offset;
	u32		min;
	u32		max;
	u32		def;
};

extern const struct irq_balance_knob irq_balance_knobs[];
extern const unsigned int irq_balance_nr_knobs;

const char *irq_balance_policy_name(enum irq_balance_policy policy);
void irq_balance_settings_init(struct irq_balance_settings *set);
int irq_balance_settings_store(struct irq_balance_settings *set,
			       const struct irq_balance_knob *knob, u32 value);

#endif /* _KERNEL_IRQ_BALANCE_SETTINGS_H */
