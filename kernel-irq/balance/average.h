/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: the mean of a load, and how far off it may be */
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

/* A load that leaves its range for this long (ms) makes a step; no younger load is heavy */
#define IRQ_BALANCE_STEP_MS	100U

/* A mean may be off by a quarter at first, after this time (ms) by its deviation only */
#define IRQ_BALANCE_UNKNOWN_MS	5000U

/* Between which values a load was, lately */
struct irq_balance_range {
	u64	low, high;
};

/* A load: its mean, and how it varies, in ns/s. A zeroed one has seen nothing. */
struct irq_balance_average {
	u64	total;		/* cumulative time (ns) at the last window's end */
	u64	mean;		/* over about twenty seconds, or since the last step */
	u64	recent;		/* over about one second */
	u64	dev;		/* mean distance of @recent from @mean */
	u64	run;		/* mean of the run of windows that may become a step */
	struct irq_balance_range windows;	/* of single windows */
	struct irq_balance_range seconds;	/* of @recent */
	u32	age_ms;		/* history behind @mean, saturating */
	u32	run_ms;		/* length of the run, 0: none */
	u32	range_ms;	/* since @seconds took in @recent */
	u32	since_ms;	/* since @recent crossed @mean */
	u32	swing_ms;	/* about as long it stays on one side of it */
	bool	above;		/* it is above it */
	bool	up;		/* the run is above @mean */
	bool	quick;		/* all its windows are out of their range */
	bool	seen;		/* @total is valid */
};

void irq_balance_average_update(struct irq_balance_average *avg, u64 total, u64 elapsed,
				u32 capacity, bool fast);
u64 irq_balance_average_error(const struct irq_balance_average *avg);

#endif /* _KERNEL_IRQ_BALANCE_AVERAGE_H */
