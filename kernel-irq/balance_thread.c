// SPDX-License-Identifier: GPL-2.0
/*
 * The load map's account of interrupt threads.
 *
 * The scheduler measures them already: what is new is the run time of a thread
 * since the last look, which each action remembers. It is folded into the
 * descriptor when somebody looks, when the action goes away and, so that a
 * thread that becomes heavy wakes the balancer, when the thread has run for
 * a while. A thread is created with the action and stopped after the action
 * has left the list: whoever finds it there under desc->lock may look at it.
 *
 * Without IRQ time accounting the clock of a task does not stop for interrupts
 * and the softirqs which run over it. Those are charged to whoever caused
 * them, so their time is noted in the action and taken off its thread.
 * The other way round it is the softirqs that a thread of a forced threaded
 * handler runs itself which are missing in its clock; they are charged as all
 * softirqs. Either way each ns is charged once.
 */
#include <linux/atomic.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/cputime.h>

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

void __irq_balance_steal(s64 ns)
{
	struct irqaction *action = irq_thread_action();

	if (action)
		atomic64_add(ns, &action->load_stolen);
}

static u64 irq_balance_fold_one(struct irqaction *action)
{
	if (!action || !action->thread)
		return 0;

	return irq_balance_advance(&action->load_runtime, task_sched_runtime(action->thread) -
				   atomic64_read(&action->load_stolen));
}

void __irq_balance_remove_action(struct irq_desc *desc, struct irqaction *action)
{
	lockdep_assert_held(&desc->lock);

	desc->balance.thread += irq_balance_fold_one(action) +
				irq_balance_fold_one(action->secondary);
}

static void irq_balance_fold(struct irq_desc *desc, bool charge)
{
	struct irqaction *action;

	for_each_action_of_desc(desc, action) {
		u64 ns = irq_balance_fold_one(action) + irq_balance_fold_one(action->secondary);

		if (charge)
			desc->balance.thread += ns;
	}
}

/**
 * irq_balance_fold_threads - Charge an interrupt with what its threads ran
 * @desc:	descriptor of the interrupt, locked
 *
 * Does nothing while nobody measures.
 *
 * Context: any, interrupts disabled, desc->lock held, no runqueue lock held.
 */
void irq_balance_fold_threads(struct irq_desc *desc)
{
	lockdep_assert_held(&desc->lock);

	if (static_key_enabled(&irq_balance_load_key))
		irq_balance_fold(desc, true);
}

/**
 * irq_balance_fold_all_threads - Look at the threads of all interrupts
 * @charge:	charge what they ran, or forget it
 *
 * Context: process context.
 */
void irq_balance_fold_all_threads(bool charge)
{
	unsigned int irq, nr = irq_get_nr_irqs();
	struct irq_desc *desc;

	for (irq = 0; irq < nr; irq++) {
		guard(rcu)();
		desc = irq_to_desc(irq);
		if (!desc)
			continue;
		guard(raw_spinlock_irq)(&desc->lock);
		irq_balance_fold(desc, charge);
	}
}

void __irq_balance_thread_ran(struct irq_desc *desc, struct irqaction *action)
{
	u64 runtime = READ_ONCE(current->se.sum_exec_runtime) - atomic64_read(&action->load_stolen);

	/* As of its last tick or sleep, which is near enough for a kick */
	if (irq_balance_since(runtime, READ_ONCE(action->load_runtime)) < IRQ_BALANCE_FOLD_NS)
		return;

	guard(raw_spinlock_irq)(&desc->lock);
	desc->balance.thread += irq_balance_advance(&action->load_runtime, runtime);
	irq_balance_check_limit(&desc->balance, local_clock());
}
