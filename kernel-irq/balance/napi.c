// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the interrupt that the polls of a NAPI instance follow
 *
 * Polls that go on without an interrupt follow it to the CPU that irq_next_cpu() names, if the
 * driver names the interrupt. If not, it is what the load map has learned, and polls stay if it is
 * banned, or if tasks must not poll the instance, which may belong to a CPU then.
 */
#include <linux/irq.h>
#include <linux/netdevice.h>

#include "../../../net/core/dev.h"
#include "../internals.h"

/**
 * irq_balance_napi_irq - The interrupt that the polls of an instance follow
 * @napi:	the instance
 *
 * Context: any
 *
 * Return: its number, not above 0 if there is none or it is not known
 */
int irq_balance_napi_irq(const struct napi_struct *napi)
{
	int irq = READ_ONCE(napi->irq);
	struct irq_desc *desc;

	if (irq > 0 || test_bit(NAPI_STATE_NO_BUSY_POLL, &napi->state))
		return irq;

	irq = irq_load_napi_irq(napi);
	guard(rcu)();
	desc = irq_to_desc(irq);
	/* A ban meanwhile is seen the next time */
	return desc && !data_race(desc->istate & IRQS_BALANCE_BANNED) ? irq : 0;
}
