/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The load map's face towards the rest of kernel/irq: the test that
 * handle_irq_event() makes, and nothing else that runs at interrupt entry.
 */
#ifndef _KERNEL_IRQ_BALANCE_LOAD_H
#define _KERNEL_IRQ_BALANCE_LOAD_H

#include <linux/interrupt.h>
#include <linux/irqdesc.h>

struct irq_work;

#ifdef CONFIG_IRQ_BALANCE_LOAD

irqreturn_t irq_balance_timed_event(struct irq_desc *desc);
void irq_balance_load_peek(struct irq_desc *desc, struct irq_balance_load *load);
void irq_balance_load_flush(struct irq_desc *desc);
void irq_balance_load_set_kick(struct irq_work *work, u32 quantum, u32 limit);
u64 irq_balance_load_charged(void);
void irq_balance_check_limit(struct irq_balance_desc *b, u64 now);
s64 irq_balance_soft_charged_on(unsigned int cpu);

/**
 * irq_balance_sample_due - Test whether this interrupt is to be timed
 * @desc:	descriptor of the interrupt, locked
 *
 * Costs a patched-out branch when nobody measures, and a decrement of a counter
 * in a cache line that handle_irq_event() dirties anyway when somebody does.
 *
 * Return: true if handle_irq_event() has to go through
 * irq_balance_timed_event()
 */
static __always_inline bool irq_balance_sample_due(struct irq_desc *desc)
{
	return static_branch_unlikely(&irq_balance_load_key) &&
	       unlikely(--desc->balance.skip <= 0);
}

#else /* CONFIG_IRQ_BALANCE_LOAD */

static inline bool irq_balance_sample_due(struct irq_desc *desc) { return false; }
static inline irqreturn_t irq_balance_timed_event(struct irq_desc *desc) { return IRQ_NONE; }

#endif /* !CONFIG_IRQ_BALANCE_LOAD */

#endif /* _KERNEL_IRQ_BALANCE_LOAD_H */
