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

/**
 * struct irq_balance_run - A run of an interrupt thread's handler
 * @start:	when it began, by irq_balance_soft_clock(); 0 if it is not timed
 * @runtime:	what the thread had run until then by the scheduler, ns
 * @switches:	context switches of the thread until then
 */
struct irq_balance_run {
#ifdef CONFIG_IRQ_BALANCE_LOAD
	u64		start;
	u64		runtime;
	unsigned long	switches;
#endif
};

#ifdef CONFIG_IRQ_BALANCE_LOAD

irqreturn_t irq_balance_timed_event(struct irq_desc *desc);
void irq_balance_load_peek(struct irq_desc *desc, struct irq_balance_load *load);
void irq_balance_load_flush(struct irq_desc *desc);
void irq_balance_load_set_kick(struct irq_work *work, u32 quantum, u32 limit);
u64 irq_balance_load_charged(void);
void irq_balance_check_limit(struct irq_balance_desc *b, u64 now);

/* balance_softirq.c */
u64 irq_balance_clock(void);
u64 irq_balance_soft_clock(u64 now);
s64 irq_balance_soft_own_on(unsigned int cpu);
void irq_balance_note_raised(unsigned int raised, unsigned int irq, bool once, u64 now);

/* balance_thread.c */
struct irqaction *irq_thread_action(void);
void irq_balance_fold_threads(struct irq_desc *desc);
void __irq_balance_remove_action(struct irq_desc *desc, struct irqaction *action);
void __irq_balance_thread_begin(struct irqaction *action, struct irq_balance_run *run);
void __irq_balance_thread_end(struct irq_desc *desc, struct irqaction *action,
			      const struct irq_balance_run *run);
void __irq_balance_steal(s64 ns);

#ifdef CONFIG_IRQ_TIME_ACCOUNTING
DECLARE_STATIC_KEY_FALSE(sched_clock_irqtime);
#endif

/**
 * irq_balance_clock_stops - Whether tasks' clocks stand still in interrupts
 *
 * If not, the time of an interrupt thread contains that of the interrupts and
 * softirqs that ran over it.
 *
 * Return: whether they do
 */
static inline bool irq_balance_clock_stops(void)
{
#ifdef CONFIG_IRQ_TIME_ACCOUNTING
	return static_branch_likely(&sched_clock_irqtime);
#else
	return false;
#endif
}

/**
 * irq_balance_steal - Take time off the interrupt thread that was interrupted
 * @ns:		time that was charged to somebody else
 *
 * Context: hard interrupt or softirq.
 */
static inline void irq_balance_steal(s64 ns)
{
	if (!irq_balance_clock_stops())
		__irq_balance_steal(ns);
}

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
 * @run:	for irq_balance_thread_end()
 */
static inline void irq_balance_thread_begin(struct irqaction *action, struct irq_balance_run *run)
{
	run->start = 0;
	if (static_branch_unlikely(&irq_balance_load_key))
		__irq_balance_thread_begin(action, run);
}

/**
 * irq_balance_thread_end - Charge what the thread's handler has run
 * @desc:	descriptor of the interrupt
 * @action:	action whose thread is current
 * @run:	what irq_balance_thread_begin() was given
 */
static inline void irq_balance_thread_end(struct irq_desc *desc, struct irqaction *action,
					  const struct irq_balance_run *run)
{
	if (static_branch_unlikely(&irq_balance_load_key) && run->start)
		__irq_balance_thread_end(desc, action, run);
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
static inline void irq_balance_thread_begin(struct irqaction *action,
					    struct irq_balance_run *run) { }
static inline void irq_balance_thread_end(struct irq_desc *desc, struct irqaction *action,
					  const struct irq_balance_run *run) { }

#endif /* !CONFIG_IRQ_BALANCE_LOAD */

#endif /* _KERNEL_IRQ_BALANCE_LOAD_H */
