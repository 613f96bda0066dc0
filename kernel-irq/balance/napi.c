// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-balance-napi
 *
 * A NAPI instance that uses up its budget is polled again, by the same CPU, and its
 * interrupt stays disabled in the device. No affinity moves the polls then, and a deferred
 * move waits for an interrupt that does not come, just when a CPU is saturated. The same holds
 * with napi_defer_hard_irqs: a timer polls again on the CPU that polled before.
 *
 * While the balancer is on, net_rx_action() and napi_watchdog() ask where to go on. If the
 * interrupt of the instance is on another CPU, or will be once it comes, the instance is handed
 * to that CPU, see napi_hand_over(). The balancer's pending move counts as done then.
 *
 * Instances with less than a budget to do may be scheduled again each time before their
 * interrupt is enabled. They are asked for, too, in the second after any route has changed:
 * the answer takes a tenth of a short poll.
 *
 * Instances without a known interrupt stay, and those that a thread or a busy poller polls.
 */
#include <linux/irq.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>

#include "../internals.h"
#include "move.h"

static bool irq_balance_follows;

/**
 * irq_balance_napi_cpu - The CPU on which an instance is to be polled next
 * @napi:	the instance, owned by the caller
 *
 * Context: interrupts disabled
 *
 * Return: this CPU, or another one that is active
 */
unsigned int irq_balance_napi_cpu(const struct napi_struct *napi)
{
	unsigned int cpu = smp_processor_id(), irq = irq_load_napi_irq(napi);
	struct irq_desc *desc;

	lockdep_assert_irqs_disabled();

	if (!irq || !READ_ONCE(irq_balance_follows))
		return cpu;

	guard(rcu)();
	desc = irq_to_desc(irq);
	/* Busy pollers have CPUs of their own, and so have the timers that stand in for them */
	if (!desc || irq_load_is_polled(desc))
		return cpu;
	guard(raw_spinlock)(&desc->lock);
	return irq_balance_next_cpu(desc, cpu);
}

/* Whether polls that leave some of their budget may have to follow */
bool irq_balance_napi_moves(void)
{
	return jiffies - READ_ONCE(irq_balance_routed) < HZ;
}

/* Let NAPI polls follow their interrupts, or stay where they are until the interrupt comes */
void irq_balance_follow(bool follow)
{
	WRITE_ONCE(irq_balance_follows, follow);
	WRITE_ONCE(irq_balance_routed, jiffies);
}
