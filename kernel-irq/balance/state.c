// SPDX-License-Identifier: GPL-2.0
/* Interrupt balancing: the state that all of it shares, and the bell that wakes the thread */
#define pr_fmt(fmt) "irq_balance: " fmt

#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "../internals.h"
#include "state.h"

/* Guards the map and the settings */
DEFINE_MUTEX(irq_balance_pass_mutex);
struct irq_balance_map irq_balance_map;
struct irq_balance_settings irq_balance_settings = IRQ_BALANCE_DEFAULTS;
enum irq_balance_mode irq_balance_mode;
const char * const irq_balance_mode_names[] = { IRQ_BALANCE_MODES(IRQ_BALANCE_WORD) };

struct irq_balance_bell irq_balance_bell;

/* The state of an interrupt, NULL: no memory */
struct irq_balance_entry *irq_balance_alloc(struct irq_desc *desc)
{
	struct irq_balance_entry *fresh;

	if (!READ_ONCE(desc->balance)) {
		fresh = kzalloc_flex(*fresh, allowed, BITS_TO_LONGS(nr_cpu_ids));
		/* May race with another caller; zeroed before it is seen */
		if (fresh && cmpxchg(&desc->balance, NULL, &fresh->mover))
			kfree(fresh);
	}
	return irq_balance_entry_of(desc);
}

/* Whether moves are made. The times of a clock that has become unstable cannot be trusted. */
bool irq_balance_moves(void)
{
	if (irq_balance_get_mode() != IRQ_BALANCE_ON)
		return false;
	if (sched_clock_stable())
		return true;
	pr_warn_once("sched_clock() has become unstable: nothing is moved any more\n");
	return false;
}

/* Start a pass as soon as the interval allows */
void irq_balance_replan(void)
{
	/* A thread that sees that it rang sees why */
	smp_store_release(&irq_balance_bell.rung, 1);
	rcuwait_wake_up(&irq_balance_bell.wait);
}

static void ring(struct irq_work *work)
{
	irq_balance_replan();
}

/* With PREEMPT_RT others would wait for a CPU that went offline to come back */
struct irq_work irq_balance_ring = IRQ_WORK_INIT_HARD(ring);

/**
 * irq_balance_review - The CPUs to use, or the interrupts to leave alone, have changed
 *
 * The next pass looks at all interrupts, those without a load too, and moves them off CPUs where
 * they may not be.
 *
 * Context: any
 */
void irq_balance_review(void)
{
	if (irq_balance_get_mode() == IRQ_BALANCE_OFF)
		return;
	WRITE_ONCE(irq_balance_bell.review, 1);
	irq_work_queue(&irq_balance_ring);
}
