// SPDX-License-Identifier: GPL-2.0
/*
 * The load map's account of interrupt threads.
 *
 * Each run of a thread's handler is timed by the clock that softirqs are timed
 * by: it stops for interrupts and softirqs that run over the thread, and for
 * softirqs that the thread of a forced threaded handler runs itself. Those are
 * charged to whoever caused them, so each ns is charged once. Interrupts that are
 * not in the map, the tick and IPIs, count for what they interrupt.
 *
 * The scheduler is not asked: an interrupt is taken off a task's clock as late as
 * at its end, and then off the thread that it woke.
 *
 * What has run is folded into the descriptor when somebody looks, when the
 * action goes away and, so that a thread that becomes heavy wakes the
 * balancer, by the thread itself after a while. A thread is created with the
 * action and stopped after the action has left the list: whoever finds it there
 * under desc->lock may look at it. A run counts when it ends.
 */
#include <linux/atomic.h>
#include <linux/interrupt.h>
#include <linux/irq.h>

#include "internals.h"
#include "balance_charge.h"

/* Run time after which a thread is folded, ns: a few times per quantum */
#define IRQ_BALANCE_FOLD_NS	(NSEC_PER_MSEC / 2)

/**
 * irq_balance_thread_irq - The interrupt whose thread this is
 *
 * Context: any.
 *
 * Return: interrupt number, 0 if the current code is not an interrupt thread's
 */
unsigned int irq_balance_thread_irq(void)
{
	struct irqaction *action = in_serving_softirq() ? NULL : irq_thread_action();

	return action ? action->irq : 0;
}

unsigned int __irq_balance_poller(unsigned int known)
{
	struct irqaction *action = !known || force_irqthreads() ? irq_thread_action() : NULL;

	return action ? action->irq : known;
}

static u64 irq_balance_fold_one(struct irqaction *action)
{
	if (!action)
		return 0;
	return irq_balance_advance(&action->load_folded, atomic64_read(&action->load_ran));
}

static void irq_balance_fold_action(struct irq_desc *desc, struct irqaction *action)
{
	lockdep_assert_held(&desc->lock);

	desc->balance.thread += irq_balance_fold_one(action) +
				irq_balance_fold_one(action->secondary);
}

void __irq_balance_remove_action(struct irq_desc *desc, struct irqaction *action)
{
	irq_balance_fold_action(desc, action);
}

/**
 * irq_balance_fold_threads - Charge an interrupt with what its threads ran
 * @desc:	descriptor of the interrupt, locked
 *
 * Context: any, interrupts disabled, desc->lock held.
 */
void irq_balance_fold_threads(struct irq_desc *desc)
{
	struct irqaction *action;

	for_each_action_of_desc(desc, action)
		irq_balance_fold_action(desc, action);
}

void __irq_balance_thread_end(struct irq_desc *desc, struct irqaction *action)
{
	u64 now, total = atomic64_add_return(irq_balance_span_end(&action->load_span, &now),
					     &action->load_ran);

	action->load_span.session = 0;
	if (irq_balance_since(total, READ_ONCE(action->load_folded)) < IRQ_BALANCE_FOLD_NS)
		return;

	guard(raw_spinlock_irq)(&desc->lock);
	desc->balance.thread += irq_balance_fold_one(action);
	irq_balance_check_limit(&desc->balance, now);
}
