/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Moving an interrupt inside its affinity mask: what the rest of kernel/irq
 * has to know of it, which is how to call it off.
 */
#ifndef _KERNEL_IRQ_BALANCE_MOVE_H
#define _KERNEL_IRQ_BALANCE_MOVE_H

#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/slab.h>

/*
 * Why an interrupt is left where it is. The first one that applies is given.
 * Both the names in sysfs and the enumeration come from this list.
 */
#define IRQ_BALANCE_FIXED_REASONS			\
	R(MOVABLE,	"movable")			\
	R(OPTED_OUT,	"opted-out")			\
	R(UNUSED,	"unused")			\
	R(CHAINED,	"chained")			\
	R(NMI,		"nmi")				\
	R(NESTED,	"nested")			\
	R(PER_CPU,	"per-cpu")			\
	R(NO_BALANCING,	"no-balancing")			\
	R(NO_AFFINITY,	"no-affinity")			\
	R(MANAGED,	"managed")			\
	R(STOPPED,	"stopped")			\
	R(FORWARDED,	"forwarded")			\
	R(REDIRECTED,	"redirected")			\
	R(CHIP,		"chip")				\
	R(USER_MOVE,	"user-move")			\
	R(PINNED,	"pinned")

#define R(_id, _name)	IRQ_BALANCE_##_id,
enum irq_balance_fixed { IRQ_BALANCE_FIXED_REASONS IRQ_BALANCE_NR_FIXED };
#undef R

#ifdef CONFIG_IRQ_BALANCE

extern const struct attribute_group irq_balance_irq_group;

enum irq_balance_fixed irq_balance_why_fixed(struct irq_desc *desc);
int irq_balance_move(struct irq_desc *desc, unsigned int cpu);
int irq_balance_move_result(struct irq_desc *desc);
bool irq_balance_move_masked(struct irq_desc *desc);
int irq_set_effective_cpu(struct irq_data *data, unsigned int cpu);
void irq_balance_cancel(struct irq_desc *desc);

static inline void irq_balance_free_desc(struct irq_desc *desc)
{
	kfree(desc->balance.entry);
}

#else /* CONFIG_IRQ_BALANCE */

static inline bool irq_balance_move_masked(struct irq_desc *desc) { return false; }
static inline void irq_balance_cancel(struct irq_desc *desc) { }
static inline void irq_balance_free_desc(struct irq_desc *desc) { }

#endif /* !CONFIG_IRQ_BALANCE */

#endif /* _KERNEL_IRQ_BALANCE_MOVE_H */
