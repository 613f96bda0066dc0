// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-load
 *
 * Two clock readings around each handler would be felt at a hundred thousand interrupts
 * per second, and at a thousand on a small board. So only samples are timed, 20 to 30 per
 * second and interrupt at any rate, and each stands for the events since the one before::
 *
 *   handlers	handle_irq_event() counts down beside desc->lock; the interrupt that
 *		reaches zero is handled by irq_load_timed_event() (load_hard.c)
 *   threads	the same around the handler of an interrupt thread (load_hard.c)
 *   softirqs	handle_softirqs() counts down the runs of each on this CPU
 *		(load_softirq.c)
 *   NAPI	in a run of NET_RX that is timed each poll is, and is charged to the
 *		interrupt of its instance (load_napi.c)
 *
 * Work belongs to what caused it. If an interrupt, or a poll for it, raises a softirq or
 * schedules another NAPI instance, that is charged to the interrupt, too. If several
 * interrupts raise a softirq before it runs, the first one is charged for the run. The CPU is
 * charged for all else: timers, RCU, the scheduler, packets that another CPU steers here.
 *
 * An instance belongs to the interrupt that its driver names with netif_napi_set_irq(),
 * otherwise to the one whose handler scheduled it; if several did, each pays for what it raised.
 * Polls by NAPI threads and by busy pollers are not charged: they run where the scheduler puts
 * them.
 *
 * The time of a softirq or a thread does not contain what interrupted it. Interruptions that
 * were not timed count with this CPU's recent mean. If a thread slept in its handler, the
 * run time that the scheduler has for it is taken instead. With CONFIG_IRQ_TIME_ACCOUNTING
 * that contains neither interrupts nor softirqs, otherwise it contains both. Time that the
 * hypervisor took is not charged, except to a thread that slept without
 * CONFIG_PARAVIRT_TIME_ACCOUNTING. Like PELT's, loads are scaled to the highest frequency of
 * the CPU.
 *
 * A shared interrupt is one load. The handler of an interrupt that demultiplexes others is
 * charged for the handlers of those, too, so their time is in two loads. Work outside of
 * handle_irq_event() is in no load: the handlers of chained, nested, untracked and per-CPU
 * interrupts, NMIs, and the part of an interrupt that is redirected to another CPU before it gets
 * there. Polling for misrouted interrupts (IRQS_POLL_INPROGRESS) is not charged: it runs the
 * handlers of lines that may be innocent.
 */
#include <linux/delay.h>
#include <linux/irq.h>
#include <linux/mutex.h>

#include "internals.h"
#include "load_span.h"

static DEFINE_MUTEX(irq_load_mutex);

/**
 * irq_load_clock_is_good - Whether what is measured can be trusted
 *
 * Context: any.
 *
 * Return: true if sched_clock() is stable and fine-grained
 */
bool irq_load_clock_is_good(void)
{
	/* A coarse clock may tick once meanwhile, but not each time */
	for (unsigned int i = 0; i < 4; i++) {
		u64 start = local_clock();

		udelay(9);
		if (!sched_clock_stable() || local_clock() == start)
			return false;
	}
	return true;
}

/**
 * irq_load_get - Start to measure the time of interrupts
 *
 * The measuring runs as long as it has users. The counters go on where they were:
 * users work on differences.
 *
 * Context: process context, may sleep, patches kernel text for the first user.
 */
void irq_load_get(void)
{
	guard(mutex)(&irq_load_mutex);

	if (!static_key_enabled(&irq_load_key))
		irq_load_calibrate();
	static_branch_inc(&irq_load_key);
}

/**
 * irq_load_put - The opposite of irq_load_get()
 *
 * Context: process context, may sleep, patches kernel text for the last user.
 */
void irq_load_put(void)
{
	static_branch_dec(&irq_load_key);
}
