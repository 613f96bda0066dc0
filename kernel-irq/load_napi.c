// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time per interrupt: the interrupt of a NAPI instance
 *
 * Some drivers name it with netif_napi_set_irq(). For others it is learned: a handler that is timed
 * schedules its instance. An instance that is polled without end since before measuring began has
 * no known interrupt, until a handler schedules it again.
 *
 * The backlog, gro_cells and tunnels have no interrupt, nor have instances that a task or a softirq
 * schedules. If the poll of another instance has scheduled one, its polls are charged to the
 * interrupt of that, until it has nothing left to do.
 *
 * Polls by NAPI threads and busy pollers run where the scheduler puts them: they are not charged,
 * but the interrupt is marked, see irq_load_is_polled().
 *
 * Data: &napi_struct.irq_seen, written by the owner of the instance, read by all: the number of
 * the interrupt, negative if a poll for it has scheduled the instance. &irq_load_line.polled.
 * Callers: load_softirq.c, net/core/dev.c and the balancer.
 */
#include <linux/irq.h>
#include <linux/netdevice.h>

#include "internals.h"
#include "load_span.h"

/* The last poll by a task that was marked: its jiffy and instance */
static DEFINE_PER_CPU(u32, irq_load_marked);

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
	int irq = READ_ONCE(napi->irq);

	return irq > 0 ? irq : max(READ_ONCE(napi->irq_seen), 0);
}

/**
 * irq_load_mark_polled - A task polls an instance
 * @napi:	the instance
 *
 * Its cost is not measured, and does not follow the interrupt.
 *
 * Context: BH or preemption disabled
 */
void irq_load_mark_polled(const struct napi_struct *napi)
{
	u32 now = jiffies, mark = now + (u32)(unsigned long)napi;
	struct irq_load_line *line;

	if (this_cpu_read(irq_load_marked) == mark)
		return;
	this_cpu_write(irq_load_marked, mark);

	guard(rcu)();
	line = irq_load_get_line(irq_load_napi_irq(napi));
	if (line)
		irq_load_count_polled(line, now);
}
