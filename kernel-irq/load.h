/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPU time per interrupt: what others than the load map need of it. Only irq_load_due() is in the
 * way of an interrupt.
 */
#ifndef _KERNEL_IRQ_LOAD_H
#define _KERNEL_IRQ_LOAD_H

#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/slab.h>

#include "load_charge.h"

struct irq_work;
struct napi_struct;

/* Cost of an interrupt so far: handlers, softirqs for it, threads. load_line.c has this order */
struct irq_load {
	u64		time_ns;
	u64		soft_ns;
	u64		thread_ns;
	unsigned int	cpu;		/* that was charged last */
	u32		charges;
};

/* Of all kinds, ns */
static inline u64 irq_load_total(const struct irq_load *load)
{
	return load->time_ns + load->soft_ns + load->thread_ns;
}

/*
 * State of one interrupt; times in ns.
 *
 * D: under desc->lock
 * A: atomic
 * R: without lock, READ_ONCE() and WRITE_ONCE(): a race charges or wakes once too often, or late
 */
struct irq_load_line {
	struct irq_load_series	hard;		/* D: handlers */
	struct irq_load_series	thread;		/* D: runs of threads */
	int			thread_skip;	/* R: until one is timed */
	atomic64_t		soft;		/* A: softirq time, cumulative, scaled */
	u64			soft_stamp;	/* R: when softirq time was last charged */
	u64			soft_last;	/* R: how much that was */
	u32			soft_rate;	/* R: for each 1024 ns since the one before */
	u32			soft_carry;	/* R: softirq time that is still to be charged */
	struct irq_load		seen;		/* D: highest times a reader saw; R: cpu, charges */
	u64			window_start;	/* R: when the present window was opened */
	u64			window_total;	/* R: time of all kinds by then */
};

/* load_line.c */
struct irq_desc *irq_load_next_desc(struct irq_desc *desc);
void irq_load_peek(struct irq_desc *desc, struct irq_load *load);
void irq_load_set_kick(struct irq_work *work, u32 limit);

/* load_span.c */
u64 irq_load_base(unsigned int cpu);

/* load_napi.c */
unsigned int irq_load_napi_irq(const struct napi_struct *napi);

/* load_hard.c */
irqreturn_t irq_load_timed_event(struct irq_desc *desc);
irqreturn_t irq_load_timed_thread(struct irq_desc *desc, struct irqaction *action);

DECLARE_STATIC_KEY_FALSE(irq_load_key);

/* A NOP while measuring is off */
static __always_inline bool irq_load_is_on(void)
{
	return IS_ENABLED(CONFIG_IRQ_LOAD) && static_branch_unlikely(&irq_load_key);
}

#ifdef CONFIG_IRQ_LOAD
int irq_load_alloc(struct irq_desc *desc, int node);
void irq_load_renew(struct irq_desc *desc);

/* Count down to the sample, in a cache line that is dirty already */
static __always_inline bool irq_load_due(struct irq_desc *desc)
{
	return irq_load_is_on() && unlikely(--desc->load_skip < 0);
}

static inline void irq_load_free(struct irq_desc *desc)
{
	kfree(desc->load);
}
#else
static inline bool irq_load_due(struct irq_desc *desc) { return false; }
static inline int irq_load_alloc(struct irq_desc *desc, int node) { return 0; }
static inline void irq_load_renew(struct irq_desc *desc) { }
static inline void irq_load_free(struct irq_desc *desc) { }
#endif

#endif /* _KERNEL_IRQ_LOAD_H */
