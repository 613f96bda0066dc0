// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-balance-napi
 *
 * A NAPI instance that uses up its budget is polled again, by the same CPU, and its
 * interrupt stays disabled in the device. No affinity moves the polls then, and a deferred
 * move waits for an interrupt that does not come, just when a CPU is saturated.
 *
 * While the balancer is on, each instance that a run of NET_RX leaves behind is looked at.
 * If its interrupt is on another CPU, or will be once it comes, the instance is handed to
 * that CPU. The balancer's pending move counts as done then.
 *
 * An instance on a CPU's poll list has NAPI_STATE_SCHED set: napi_disable() waits until
 * its owner clears the bit. One that is unlinked from there, with interrupts disabled,
 * belongs to this code until the irq_work of the new CPU calls __napi_schedule(). In
 * between list_owner is -1, so no CPU uses page_pool's lockless cache. Netpoll takes
 * poll_owner and does not use the lists. With PREEMPT_RT a thread runs the irq_work, as an
 * IPI that finds a CPU idle may not raise a softirq there.
 *
 * A CPU that is seen active with interrupts disabled does not pass the grace period
 * in sched_cpu_deactivate() before they are enabled. One that goes offline takes what is
 * in its basket after that, and dev_cpu_dead() hands on its poll list.
 *
 * Packets that the old CPU has queued elsewhere, as in its backlog, may be overtaken by
 * packets of the new one, once for each hand-over.
 *
 * Instances without a known interrupt stay, and those that a thread or a busy poller polls.
 */
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/netdevice.h>

#include "../internals.h"

/* Instances on their way to a CPU, by poll_list; the work has the CPU take them */
struct irq_balance_basket {
	raw_spinlock_t		lock;
	struct list_head	list;
	struct irq_work		work;
};

static DEFINE_PER_CPU(struct irq_balance_basket, irq_balance_basket);

/* Take what is on its way to this CPU. If it goes offline: after it ceased to be active. */
void irq_balance_take_polls(struct irq_work *unused)
{
	struct irq_balance_basket *basket = this_cpu_ptr(&irq_balance_basket);
	struct napi_struct *napi, *next;
	LIST_HEAD(list);

	guard(irqsave)();
	scoped_guard(raw_spinlock, &basket->lock)
		list_splice_init(&basket->list, &list);

	list_for_each_entry_safe(napi, next, &list, poll_list) {
		list_del_init(&napi->poll_list);
		__napi_schedule(napi);
	}
}

static void irq_balance_hand_poll(struct napi_struct *napi, unsigned int cpu)
{
	struct irq_balance_basket *basket = per_cpu_ptr(&irq_balance_basket, cpu);

	WRITE_ONCE(napi->list_owner, -1);
	scoped_guard(raw_spinlock, &basket->lock)
		list_move_tail(&napi->poll_list, &basket->list);
	/* If it is queued already, it has not begun and takes all */
	irq_work_queue_on(&basket->work, cpu);
}

static unsigned int irq_balance_poll_cpu(const struct napi_struct *napi)
{
	struct irq_desc *desc;
	unsigned int irq;

	guard(rcu)();
	irq = irq_load_napi_irq(napi);
	desc = irq ? irq_to_desc(irq) : NULL;
	if (!desc)
		return smp_processor_id();

	guard(raw_spinlock)(&desc->lock);
	return irq_balance_next_cpu(desc, smp_processor_id());
}

/* NET_RX has run on this CPU and left instances in its list */
static void irq_balance_polls_left(struct list_head *list)
{
	struct napi_struct *napi, *next;
	unsigned int cpu;

	guard(irqsave)();
	list_for_each_entry_safe(napi, next, list, poll_list) {
		cpu = irq_balance_poll_cpu(napi);
		if (cpu != smp_processor_id())
			irq_balance_hand_poll(napi, cpu);
	}
}

/* Let NAPI polls follow their interrupts, or stay where they are until the interrupt comes */
void irq_balance_follow(bool follow)
{
	irq_load_set_polls_left(follow ? irq_balance_polls_left : NULL);
}

static int __init irq_balance_napi_init(void)
{
	struct irq_balance_basket *basket;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		basket = per_cpu_ptr(&irq_balance_basket, cpu);
		raw_spin_lock_init(&basket->lock);
		INIT_LIST_HEAD(&basket->list);
		basket->work = IRQ_WORK_INIT(irq_balance_take_polls);
	}
	return 0;
}
core_initcall(irq_balance_napi_init);
