// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time per interrupt: the interrupt of a NAPI instance
 *
 * Some drivers name it with netif_napi_set_irq(). For others it is learned: a handler that is timed
 * schedules its instance. An instance that is polled without end since before measuring began has
 * no known interrupt, until a handler schedules it again. One that the handlers of several
 * interrupts schedule, as of RX and TX, belongs to none of them: each claims runs.
 *
 * The backlog, gro_cells and tunnels have no interrupt, nor have instances that a task or a softirq
 * schedules. If the poll of another instance has scheduled one, its polls are charged to the
 * interrupt of that, until one that is timed leaves nothing to do.
 *
 * Polls by NAPI threads and busy pollers run where the scheduler puts them: they are not charged.
 *
 * Data: &napi_struct.irq_seen, written by who schedules or polls the instance, read by all: the
 * number of the interrupt, IRQ_LOAD_SHARED, or negative if a poll for it has scheduled it.
 * Callers: load_softirq.c, and net/core/dev.c.
 */
#include <linux/irq.h>
#include <linux/netdevice.h>

#include "internals.h"
#include "load_span.h"

/**
 * irq_load_napi_irq - The interrupt of a NAPI instance
 * @napi:	the instance
 *
 * Context: any
 *
 * Return: its number, 0 if there is none or it is not known
 */
unsigned int irq_load_napi_irq(const struct napi_struct *napi)
{
	int irq = READ_ONCE(napi->irq), seen = READ_ONCE(napi->irq_seen);

	return irq > 0 ? irq : seen == IRQ_LOAD_SHARED ? 0 : max(seen, 0);
}

/* The handler of @irq schedules an instance: whether it alone does */
bool irq_load_learn(struct napi_struct *napi, unsigned int irq)
{
	int seen = READ_ONCE(napi->irq_seen);
	struct irq_desc *desc;

	if (READ_ONCE(napi->irq) > 0 || seen == irq)
		return true;
	guard(rcu)();
	desc = seen > 0 && seen != IRQ_LOAD_SHARED ? irq_to_desc(seen) : NULL;
	/* One without a handler was replaced by this one */
	if (desc && data_race(desc->action))
		seen = IRQ_LOAD_SHARED;
	if (seen != IRQ_LOAD_SHARED)
		seen = irq;
	WRITE_ONCE(napi->irq_seen, seen);
	return seen == irq;
}
