/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupt balancing: decaying averages and the time of the next pass.
 * Pure, as balance_plan.h.
 */
#ifndef _KERNEL_IRQ_BALANCE_PACE_H
#define _KERNEL_IRQ_BALANCE_PACE_H

#include "balance_plan.h"

/*
 * The fast average forgets half in this time. Of a load that is steady it is
 * what the planner sees; it has to follow a step within a few passes and to even
 * out a burst that is shorter than one.
 */
#define IRQ_BALANCE_HALF_LIFE_MS	64U

/*
 * The slow average is the mean over about this time. A small gain has to
 * show in it too, so that noise around a balanced placement moves nothing.
 */
#define IRQ_BALANCE_SLOW_MS		15000U

/* History that the slow average needs before it counts. */
#define IRQ_BALANCE_YOUNG_MS		2000U

/*
 * A load that came in bursts, or swung to and fro, and has been on one side of
 * its slow average for so long, does so no more. If it comes back within twice
 * that time it did: then the time doubles for it.
 */
#define IRQ_BALANCE_BURST_MS		5500

/* How far a load swings is forgotten in this time. */
#define IRQ_BALANCE_SWING_MS		60000U

/* Shorter windows measure too little to be worth a look. */
#define IRQ_BALANCE_WINDOW_MIN_MS	4U

/* Loads (ns/s) are cut off here, so that products with them fit 64 bits. */
#define IRQ_BALANCE_LOAD_MAX		((1ULL << 33) - 1)

void irq_balance_average_update(struct irq_balance_average *avg, u64 total,
				u64 elapsed, u32 capacity);
u64 irq_balance_average_noise(const struct irq_balance_average *avg);
u64 irq_balance_average_load(const struct irq_balance_average *avg);
u32 irq_balance_limit(u64 rate);
void irq_balance_pace(struct irq_balance *bal,
		      const struct irq_balance_settings *set, u64 now,
		      bool restless);

#endif /* _KERNEL_IRQ_BALANCE_PACE_H */
