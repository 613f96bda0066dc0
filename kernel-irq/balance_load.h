/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The load map's face towards the rest of kernel/irq. Of all this only the test
 * that handle_irq_event() makes runs at interrupt entry.
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
void irq_balance_check_clock(void);
void irq_balance_check_limit(struct irq_balance_desc *b, u64 now);

/* balance_softirq.c */
void irq_balance_next_session(void);
u64 irq_balance_clock(void);
void irq_balance_span_begin(struct irq_balance_span *span);
s64 irq_balance_span_end(struct irq_balance_span *span, u64 *now);
s64 irq_balance_soft_own_on(unsigned int cpu);
void irq_balance_note_raised(unsigned int raised, unsigned int irq, bool once, u64 now);

/* balance_thread.c */
struct irqaction *irq_thread_action(void);
void irq_balance_fold_threads(struct irq_desc *desc);
void __irq_balance_remove_action(struct irq_desc *desc, struct irqaction *action);
void __irq_balance_thread_end(struct irq_desc *desc, struct irqaction *action);

/**
 * irq_balance_remove_action - Charge the threads of an action that goes away
 * @desc:	descriptor of the interrupt, locked
 * @action:	the action, which is not in its list any more
 */
static inline void irq_balance_remove_action(struct irq_desc *desc, struct irqaction *action)
{
	if (static_branch_unlikely(&irq_balance_load_key))
		__irq_balance_remove_action(desc, action);
}

/**
 * irq_balance_thread_begin - An interrupt thread goes into its handler
 * @action:	action whose thread is current
 */
static inline void irq_balance_thread_begin(struct irqaction *action)
{
	if (static_branch_unlikely(&irq_balance_load_key))
		irq_balance_span_begin(&action->load_span);
}

/**
 * irq_balance_thread_end - Charge what the thread's handler has run
 * @desc:	descriptor of the interrupt
 * @action:	action whose thread is current, which may be dying
 */
static inline void irq_balance_thread_end(struct irq_desc *desc, struct irqaction *action)
{
	if (irq_balance_span_runs(&action->load_span))
		__irq_balance_thread_end(desc, action);
}

/**
 * irq_balance_init_desc - Prepare a new descriptor for being timed
 * @desc:	descriptor of the interrupt
 */
static inline void irq_balance_init_desc(struct irq_desc *desc)
{
	desc->balance.gap = 1;
	desc->balance.skip = 1;
}

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
	       unlikely(--desc->balance.skip == 0);
}

#else /* CONFIG_IRQ_BALANCE_LOAD */

static inline void irq_balance_init_desc(struct irq_desc *desc) { }
static inline bool irq_balance_sample_due(struct irq_desc *desc) { return false; }
static inline irqreturn_t irq_balance_timed_event(struct irq_desc *desc) { return IRQ_NONE; }
static inline void irq_balance_remove_action(struct irq_desc *desc, struct irqaction *action) { }
static inline void irq_balance_thread_begin(struct irqaction *action) { }
static inline void irq_balance_thread_end(struct irq_desc *desc, struct irqaction *action) { }

#endif /* !CONFIG_IRQ_BALANCE_LOAD */

#endif /* _KERNEL_IRQ_BALANCE_LOAD_H */
