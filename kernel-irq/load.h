/* SPDX-License-Identifier: GPL-2.0 */
/* CPU time per interrupt: only irq_load_due() is in the way of an interrupt */
#ifndef _KERNEL_IRQ_LOAD_H
#define _KERNEL_IRQ_LOAD_H

#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/jump_label.h>
#include <linux/slab.h>

#include "load_charge.h"

struct irq_work;
struct napi_struct;

/* Interrupts that claim runs of one softirq at a time */
#define IRQ_LOAD_RAISERS	8

/* Jiffies that the leaky bucket of irq_load_polled() gets for a poll by a task */
#define IRQ_LOAD_POLL_JIFFIES	DIV_ROUND_UP(HZ, 32)
/* The most that it holds: it takes two seconds to leak */
#define IRQ_LOAD_POLLED		(2U * HZ)

/* Cost of an interrupt so far: handlers, softirqs on its behalf, threads */
struct irq_load {
	u64		time_ns;
	u64		soft_ns;
	u64		thread_ns;
	unsigned int	cpu;		/* that was charged last */
	u32		charges;
};

/* State of one interrupt; times in ns */
struct irq_load_line {
	struct irq_load_series	hard;		/* handlers, under desc->lock */
	struct irq_load_series	thread;		/* runs of threads, the same */
	int			thread_skip;	/* until one is timed */
	atomic64_t		soft;		/* softirq time, cumulative, scaled */
	u64			soft_stamp;	/* when softirq time was last charged */
	u64			soft_last;	/* what was charged then */
	u32			soft_rate;	/* for each 1024 ns since the one before */
	u32			soft_carry;	/* softirq time that is still to be charged */
	struct irq_load		seen;		/* highest times a reader saw */
	u64			window_start;	/* when the present window was opened */
	u64			window_total;	/* time of all kinds by then */
	/* NAPI polls by threads or busy pollers, which are not measured: see irq_load_polled() */
	u32			polled;
	u32			polled_at;	/* jiffies of the last one */
};

/* An interrupt has raised a run, for so many 1024ths of a run, 0: unused */
struct irq_load_claim {
	u32			irq;
	u32			weight;
};

/* One softirq on one CPU. "On request": for a claim. */
struct irq_load_vector {
	u64			sampled;	/* when it was last timed, but not on request */
	u64			halved;		/* when the next two were last halved */
	u64			claims;		/* that were made, in 1024ths of a run */
	u64			runs;		/* that answered them, in the same unit */
	u64			mean;		/* decaying mean of the sampled runs, ns */
	u64			last;		/* the last one, ns */
	u32			runs_seen;	/* its count in kstat at the last timed run */
	u32			timed;		/* runs that were timed */
	int			rest;		/* of the countdown while a run is requested */
	struct irq_load_sampler	sampler;
	struct irq_load_claim	raiser[IRQ_LOAD_RAISERS];	/* of the next run, from 0 on */
};

/* A piece of work that is timed: the state of its task and of its CPU when it began */
struct irq_load_span {
	u64		start;			/* the clock */
	u64		steal;			/* the hypervisor's clock */
	u64		runtime;		/* of the task */
	unsigned long	switches;		/* of the task */
	unsigned long	irqs;			/* that were not timed */
	u64		timed_ns;		/* time of the others */
	u32		softirqs[NR_SOFTIRQS];	/* that were not timed */
	u64		soft_ns;		/* time of the others */
};

/* State of one CPU; times in ns */
struct irq_load_cpu {
	unsigned long		timed;		/* interrupts that were timed */
	u64			timed_ns;	/* their time, without what interrupted them */
	u64			mean_nr;	/* recent interrupts that were not timed */
	u64			mean_ns;	/* their time, extrapolated from samples */
	u64			mean_stamp;	/* when both were last halved */
	u64			last_ns;	/* the last sample */
	u64			soft_ns;	/* time of softirq runs that were timed */
	atomic64_t		base;		/* softirq time that belongs to no interrupt */
	struct irq_load_vector	vector[NR_SOFTIRQS];
};

DECLARE_PER_CPU(struct irq_load_cpu, irq_load_cpu);

/* Work that is timed on this CPU, and may schedule NAPI instances */
struct irq_load_cause {
	struct task_struct	*task;		/* NULL: the handler of an interrupt */
	struct irq_load_run	*run;		/* of NET_RX; NULL: a handler or its thread */
	unsigned int		irq;
	u32			weight;		/* runs that it claims */
	u32			missing;	/* see struct irq_load_sampler */
	unsigned long		irqs;		/* of this CPU when a handler began */
};

DECLARE_PER_CPU(struct irq_load_cause *, irq_load_cause);

/* load.c */
irqreturn_t irq_load_timed_event(struct irq_desc *desc);
irqreturn_t irq_load_timed_thread(struct irq_desc *desc, struct irqaction *action);
void irq_load_peek(struct irq_desc *desc, struct irq_load *load);
bool irq_load_is_polled(struct irq_desc *desc);
void irq_load_set_kick(struct irq_work *work, u32 limit);
void irq_load_charged(struct irq_load_line *line, u64 now);
struct irq_desc *irq_load_next_desc(struct irq_desc *desc);
struct irq_load_line *irq_load_get_line(unsigned int irq);
u64 irq_load_aim(u64 aim);
u64 irq_load_steal_clock(void);
u32 irq_load_freq(void);
void irq_load_span_begin(struct irq_load_span *span);
u64 irq_load_span_end(const struct irq_load_span *span, u64 now);

/* load_softirq.c */
void irq_load_softirq_start(void);
void irq_load_raised(u32 raised, const struct irq_load_cause *cause);

/* load_napi.c, with CONFIG_IRQ_LOAD_NAPI */
unsigned int irq_load_napi_irq(const struct napi_struct *napi);
void irq_load_napi_guess(struct napi_struct *napi);

DECLARE_STATIC_KEY_FALSE(irq_load_key);

/* A NOP while measuring is off */
static __always_inline bool irq_load_is_on(void)
{
	return IS_ENABLED(CONFIG_IRQ_LOAD) && static_branch_unlikely(&irq_load_key);
}

#ifdef CONFIG_IRQ_LOAD
int irq_load_alloc(struct irq_desc *desc, int node);

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
static inline void irq_load_free(struct irq_desc *desc) { }
#endif

/*
 * Level of a leaky bucket: a jiffy with a poll by a task adds the jiffies of 1/32 s, and one
 * leaks in each jiffy. So it fills if more than 32 in a second have one: rare busy polling
 * does not count.
 */
static inline u32 irq_load_polled(const struct irq_load_line *line, u32 now)
{
	u32 level = READ_ONCE(line->polled), at = READ_ONCE(line->polled_at);

	/* After @now was read ticks may have come, and another CPU may have counted a poll */
	return at - now < HZ ? level : level - min(level, now - at);
}

/* Without lock: one poll per jiffy counts, whichever CPU wins */
static inline void irq_load_count_polled(struct irq_load_line *line, u32 now)
{
	if (READ_ONCE(line->polled_at) == now)
		return;
	WRITE_ONCE(line->polled, min(irq_load_polled(line, now) + IRQ_LOAD_POLL_JIFFIES,
				     IRQ_LOAD_POLLED));
	WRITE_ONCE(line->polled_at, now);
}

#endif /* _KERNEL_IRQ_LOAD_H */
