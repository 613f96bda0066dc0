/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: the mean and the deviation of a load */
#ifndef _KERNEL_IRQ_BALANCE_AVERAGE_H
#define _KERNEL_IRQ_BALANCE_AVERAGE_H

#include <linux/types.h>

/* The capacity of the fastest CPU, as SCHED_CAPACITY_SCALE */
#define IRQ_BALANCE_CAPACITY	1024U

/* A CPU that does nothing else: ns of work per second */
#define IRQ_BALANCE_FULL	1000000000ULL

/* Loads (ns/s) are cut off here, so that products with them fit 64 bits */
#define IRQ_BALANCE_LOAD_MAX	((1ULL << 33) - 1)

/* Shorter windows measure too little, ns */
#define IRQ_BALANCE_WINDOW_MIN	4000000U

/* Windows far off for this long (ms) make a step; no load with less history is heavy */
#define IRQ_BALANCE_STEP_MS	100U

/* A load: its mean, and how far it deviates from it. A zeroed one has seen nothing. */
struct irq_balance_average {
	u64	total;		/* cumulative time (ns) at the last window's end */
	u64	mean;		/* ns/s, over about twenty seconds, or since the last step */
	u64	recent;		/* ns/s, over about one second */
	u64	dev;		/* ns/s, the mean distance of @recent from @mean */
	u64	run;		/* ns/s, the mean over the windows of the present run */
	u32	age_ms;		/* history behind @mean, saturating */
	u32	run_ms;		/* length of the run of windows far from @mean, 0: none */
	u32	far_ms;		/* time since the last window far from @mean, saturating */
	bool	up;		/* that one was above it */
	bool	turned;		/* windows have been far from @mean on both sides of it */
	bool	seen;		/* @total is valid */
};

void irq_balance_average_update(struct irq_balance_average *avg, u64 total, u64 elapsed,
				u32 capacity, bool follow);
u64 irq_balance_average_off(const struct irq_balance_average *avg);
u64 irq_balance_average_error(const struct irq_balance_average *avg);

#endif /* _KERNEL_IRQ_BALANCE_AVERAGE_H */
