// SPDX-License-Identifier: GPL-2.0
/*
 * The load map's account of softirqs.
 *
 * Most of what an interrupt costs may be spent after its handler: a network
 * driver only schedules its NAPI instance there. The relation of the two is
 * fixed, so it is learned once: while an interrupt is timed its number is in
 * irq_balance_timed_irq, and who schedules work in the meantime takes it down.
 * Each time the work runs it is timed and charged to that interrupt.
 *
 * desc->lock is not held, and the CPU need not be the one that serves the
 * interrupt by now. So the time goes to an atomic counter of the descriptor,
 * which is looked up by number: an interrupt that has been freed meanwhile is
 * not found, one whose number went to somebody else is charged until the next
 * timed interrupt teaches better.
 */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>

#include "internals.h"

/* ns of softirq time that each CPU has charged to interrupts, never reset */
static DEFINE_PER_CPU(atomic64_t, irq_balance_soft_charged);

/**
 * irq_balance_soft_charged_on - Softirq time that was charged to interrupts
 * @cpu:	possible CPU on which it was spent
 *
 * Return: ns since boot
 */
s64 irq_balance_soft_charged_on(unsigned int cpu)
{
	return atomic64_read(per_cpu_ptr(&irq_balance_soft_charged, cpu));
}

/*
 * Handlers that interrupt the softirq are charged for themselves. Each of
 * the two clocks is right on average only, as one of many handlers is timed:
 * their difference may be negative for once.
 */
u64 __irq_balance_softirq_begin(void)
{
	/* With PREEMPT_RT other tasks may run meanwhile: that time is not ours */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || !in_serving_softirq())
		return 0;
	return local_clock() - irq_balance_load_charged();
}

void __irq_balance_softirq_end(unsigned int irq, u64 start)
{
	u64 now = local_clock();
	s64 spent = now - irq_balance_load_charged() - start;
	struct irq_desc *desc;

	guard(rcu)();
	desc = irq_to_desc(irq);
	if (!desc)
		return;

	atomic64_add(spent, &desc->balance.soft);
	atomic64_add(spent, this_cpu_ptr(&irq_balance_soft_charged));
	irq_balance_check_limit(&desc->balance, now);
}
