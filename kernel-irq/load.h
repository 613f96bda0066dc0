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

typedef irqreturn_t (*irq_load_thread_fn_t)(struct irq_desc *desc, struct irqaction *action);

/* Interrupts that share one softirq; more are not remembered */
#define IRQ_LOAD_RAISERS	4

/* Cost of an interrupt so far: handlers, softirqs on its behalf, threads */
struct irq_load {
	u64	time_ns;
	u64	soft_ns;
	u64	thread_ns;
};

/**
 * struct irq_load_line - State of one interrupt in the load map
 * @hard:		handlers, under desc->lock
 * @soft:		softirq time, cumulative, ns
 * @thread:		thread time, cumulative, ns, may go down for a moment
 * @soft_stamp:		when softirq time was last charged
 * @soft_carry:		softirq time that is still to be charged, ns
 * @seen:		highest times that a reader saw
 * @window_start:	when the present window was opened
 * @window_total:	time of all kinds when it was opened
 * @polled:		jiffies | 1 when NAPI was last polled by a thread or by a
 *			busy poller, which is not measured; 0: never
 */
struct irq_load_line {
	struct irq_load_hard	hard;
	atomic64_t		soft;
	atomic64_t		thread;
	u64			soft_stamp;
	u32			soft_carry;
	struct irq_load		seen;
	u64			window_start;
	u64			window_total;
	unsigned long		polled;
};

/**
 * struct irq_load_vector - One softirq on one CPU
 * @stamp:	when it was last timed
 * @sampled:	when it was last timed without request
 * @mean:	time of a run, decaying mean of those that were timed without request, ns
 * @runs_seen:	its count in kstat at that time
 * @timed:	runs that were timed
 * @rest:	what is left of the countdown while a run is requested
 * @runs:	runs that were not charged yet, neither to interrupts nor to the CPU
 * @sampler:	which runs are timed
 * @raiser:	interrupts whose timed handlers raised it, and the number of interrupts
 *		that those stand for, as far as these claims are not settled; 0: unused
 */
struct irq_load_vector {
	u64			stamp;
	u64			sampled;
	u64			mean;
	u32			runs_seen;
	u32			timed;
	int			rest;
	u32			runs;
	struct irq_load_sampler	sampler;
	struct {
		u32		irq;
		u32		weight;
	} raiser[IRQ_LOAD_RAISERS];
};

/*
 * A piece of work that is timed: the clock when it began, run time and context switches of
 * the task, and of the CPU the number of interrupts and softirqs that were not timed, and
 * what those took that were
 */
struct irq_load_span {
	u64		start;
	u64		runtime;
	unsigned long	switches;
	unsigned long	irqs;
	u64		timed_ns;
	u32		softirqs[NR_SOFTIRQS];
	u64		soft_ns;
};

/*
 * A run of a softirq that is timed: @time for @irq, the interrupt of the last NAPI poll in it,
 * is still to be charged, @charged was. @span is what follows the last poll.
 */
struct irq_load_run {
	struct task_struct	*task;
	struct irq_load_vector	*vector;
	unsigned int		irq;
	u64			time;
	u64			charged;
	struct irq_load_span	span;
};

/**
 * struct irq_load_cpu - State of one CPU in the load map
 * @skip:	runs of each softirq until one is timed
 * @run:	the run of NET_RX that is timed, NULL for none
 * @thread:	the interrupt thread that is timed, and whether NAPI polls were waiting
 *		when it began, which are not its own
 * @timed:	interrupts that were timed
 * @timed_ns:	what they took, each ns once, also where one raises another
 * @mean_nr:	number of recent interrupts
 * @mean_ns:	what they took, extrapolated from samples
 * @mean_stamp:	when both were last halved
 * @soft_ns:	softirq runs that were timed took this
 * @foreign_ns:	what polls have taken in forced threads that are not their own
 * @base:	softirq time that belongs to no interrupt, ns
 * @polled:	jiffies when a poll outside of softirqs last marked an interrupt
 * @guessed:	jiffies when the interrupt of a NAPI instance was last guessed
 * @vector:	each softirq
 */
struct irq_load_cpu {
	int			skip[NR_SOFTIRQS];
	struct irq_load_run	*run;
	struct irq_load_thread {
		struct task_struct	*task;
		unsigned int		irq;
		bool			foreign;
	} thread;
	unsigned long		timed;
	u64			timed_ns;
	u64			mean_nr;
	u64			mean_ns;
	u64			mean_stamp;
	u64			soft_ns;
	u64			foreign_ns;
	atomic64_t		base;
	unsigned long		polled;
	unsigned long		guessed;
	struct irq_load_vector	vector[NR_SOFTIRQS];
};

DECLARE_STATIC_KEY_FALSE(irq_load_key);
DECLARE_PER_CPU(struct irq_load_cpu, irq_load_cpu);

/* load.c */
irqreturn_t irq_load_timed_event(struct irq_desc *desc);
irqreturn_t irq_load_timed_thread(irq_load_thread_fn_t fn, struct irq_desc *desc,
				  struct irqaction *action);
void irq_load_peek(struct irq_desc *desc, struct irq_load *load);
bool irq_load_is_polled(struct irq_desc *desc);
void irq_load_set_kick(struct irq_work *work, u32 limit);
void irq_load_check_rise(struct irq_load_line *line, u64 now);
struct irq_desc *irq_load_next_desc(unsigned int irq);
struct irq_load_line *irq_load_get_line(unsigned int irq);
void irq_load_span_begin(struct irq_load_span *span);
s64 irq_load_span_end(const struct irq_load_span *span, u64 now);

/* load_softirq.c */
void irq_load_softirq_start(void);
void irq_load_softirq_stop(void);
struct list_head *irq_load_polls_tail(void);
void irq_load_raised(u32 raised, struct list_head *tail, unsigned int irq, u32 stands_for);
void irq_load_charge_run(struct irq_load_run *run, unsigned int irq, u64 now);
void irq_load_softirqs_begin(struct irq_load_span *span);
u64 irq_load_softirqs_end(const struct irq_load_span *span);
unsigned int irq_load_forced_thread(unsigned int nr);
bool irq_load_polls_wait(void);
u64 irq_load_base(unsigned int cpu);
void irq_load_set_polls_left(void (*left)(struct list_head *list));

/* load_napi.c, with CONFIG_IRQ_LOAD_NAPI */
int irq_load_napi_start(void);
void irq_load_napi_stop(void);
void irq_load_napi_learn(const struct list_head *entry, const struct list_head *head,
			 unsigned int irq);
unsigned int irq_load_napi_irq(const struct napi_struct *napi);

#ifdef CONFIG_IRQ_LOAD
/* Count down to the sample, in a cache line that is dirty already; a NOP while measuring is off */
static __always_inline bool irq_load_due(struct irq_desc *desc)
{
	return static_branch_unlikely(&irq_load_key) && unlikely(--desc->load_skip < 0);
}

static inline void irq_load_free(struct irq_desc *desc)
{
	kfree(desc->load);
}
#else
static inline bool irq_load_due(struct irq_desc *desc) { return false; }
static inline void irq_load_free(struct irq_desc *desc) { }
#endif

/* Run an interrupt thread's handler, timed while measuring is on */
static inline irqreturn_t irq_load_thread_fn(irq_load_thread_fn_t fn, struct irq_desc *desc,
					     struct irqaction *action)
{
	if (IS_ENABLED(CONFIG_IRQ_LOAD) && static_branch_unlikely(&irq_load_key))
		return irq_load_timed_thread(fn, desc, action);
	return fn(desc, action);
}

#endif /* _KERNEL_IRQ_LOAD_H */
