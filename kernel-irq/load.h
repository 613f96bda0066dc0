/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPU time per interrupt: what the rest of kernel/irq calls, and what the files
 * load*.c share. Of all this only irq_load_due() is in the way of an interrupt.
 */
#ifndef _KERNEL_IRQ_LOAD_H
#define _KERNEL_IRQ_LOAD_H

#include <linux/atomic.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "load_charge.h"

struct irq_work;
struct napi_struct;

typedef irqreturn_t (*irq_load_thread_fn_t)(struct irq_desc *desc, struct irqaction *action);

#ifdef CONFIG_IRQ_LOAD

/* Softirqs that are raised for interrupts; all others are work of the CPU itself */
#define IRQ_LOAD_RAISED		(BIT(HI_SOFTIRQ) | BIT(NET_TX_SOFTIRQ) | BIT(NET_RX_SOFTIRQ) | \
				 BIT(BLOCK_SOFTIRQ) | BIT(IRQ_POLL_SOFTIRQ) | BIT(TASKLET_SOFTIRQ))

/* Interrupts that share one softirq; more are not remembered */
#define IRQ_LOAD_RAISERS	4

/**
 * struct irq_load_line - What the load map keeps of one interrupt
 * @hard:		handlers, under desc->lock
 * @soft:		softirq time, cumulative, ns, may go down for a moment
 * @thread:		thread time, cumulative, ns, may go down for a moment
 * @soft_stamp:		when softirq time was last charged
 * @soft_carry:		softirq time that is still to be charged, ns
 * @limit:		see irq_load_rises(), ns, 0: default
 * @seen:		highest hard, softirq and thread time that a reader saw
 * @window_start:	when the window for @limit was opened
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
	u32			limit;
	u64			seen[3];
	u64			window_start;
	u64			window_total;
	unsigned long		polled;
};

/**
 * struct irq_load_raiser - Interrupt whose timed handlers raised a softirq
 * @irq:	its number
 * @weight:	number of interrupts that the timed ones stand for, 0: unused
 */
struct irq_load_raiser {
	u32	irq;
	u32	weight;
};

/**
 * struct irq_load_vector - One softirq on one CPU
 * @stamp:	when it was last timed
 * @sampled:	when it was last timed without request
 * @runs_seen:	its count in kstat at that time
 * @timed:	runs that were timed
 * @sampler:	which runs are timed
 * @mean:	time of a run, decaying mean of those that were timed without request, ns
 * @rest:	what is left of the countdown while a run is wanted
 * @runs:	runs that were not charged yet, neither to interrupts nor to the CPU
 * @raiser:	interrupts that raise it, as far as their claims are not settled
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
	struct irq_load_raiser	raiser[IRQ_LOAD_RAISERS];
};

/**
 * struct irq_load_span - A piece of work of a task or a softirq that is timed
 * @start:	local_clock()
 * @runtime:	run time of the task
 * @switches:	context switches of the task
 * @irqs:	interrupts of the CPU
 * @timed:	those of them that were timed
 * @timed_ns:	what they took
 * @foreign_ns:	polls in forced threads that were not their own
 * @softirqs:	softirq runs of the CPU that were not timed, unless this is one
 * @soft_ns:	what those took that were timed
 */
struct irq_load_span {
	u64		start;
	u64		runtime;
	unsigned long	switches;
	unsigned long	irqs;
	unsigned long	timed;
	u64		timed_ns;
	u64		foreign_ns;
	u32		softirqs[NR_SOFTIRQS];
	u64		soft_ns;
};

/**
 * struct irq_load_run - A run of a softirq that is timed
 * @task:	in whose context
 * @vector:	the softirq
 * @stands_for:	runs that it stands for
 * @irq:	interrupt of the last NAPI poll in it, 0 for none
 * @time:	time for @irq that is still to be charged, ns
 * @charged:	what was charged before, ns
 * @span:	what follows the last poll
 */
struct irq_load_run {
	struct task_struct	*task;
	struct irq_load_vector	*vector;
	u32			stands_for;
	unsigned int		irq;
	u64			time;
	u64			charged;
	struct irq_load_span	span;
};

/**
 * struct irq_load_cpu - What the load map keeps of one CPU
 * @skip:	runs of each softirq until one is timed
 * @run:	the run of NET_RX that is timed, NULL for none
 * @thread:	the interrupt thread that is timed, NULL for none
 * @thread_irq:	its interrupt
 * @foreign:	whether NAPI polls were waiting when it began, which are not its own
 * @foreign_ns:	what polls have taken in such threads
 * @timed:	interrupts that were timed
 * @timed_ns:	what they took, each ns once, also where one raises another
 * @mean_nr:	number of recent interrupts
 * @mean_ns:	what they took, extrapolated from samples
 * @mean_stamp:	when both were last halved
 * @soft_ns:	softirq runs that were timed took this
 * @base:	softirq time that belongs to no interrupt, ns
 * @polled:	jiffies when a poll outside of softirqs last marked an interrupt
 * @guessed:	jiffies when the interrupt of a NAPI instance was last guessed
 * @vector:	each softirq
 */
struct irq_load_cpu {
	int			skip[NR_SOFTIRQS];
	struct irq_load_run	*run;
	struct task_struct	*thread;
	unsigned int		thread_irq;
	bool			foreign;
	u64			foreign_ns;
	unsigned long		timed;
	u64			timed_ns;
	u64			mean_nr;
	u64			mean_ns;
	u64			mean_stamp;
	u64			soft_ns;
	atomic64_t		base;
	unsigned long		polled;
	unsigned long		guessed;
	struct irq_load_vector	vector[NR_SOFTIRQS];
};

/**
 * struct irq_load_raise - What was there before a timed handler ran
 * @pending:	pending softirqs
 * @tail:	end of the CPU's list of NAPI instances to poll
 */
struct irq_load_raise {
	u32			pending;
	struct list_head	*tail;
};

DECLARE_STATIC_KEY_FALSE(irq_load_key);
DECLARE_PER_CPU(struct irq_load_cpu, irq_load_cpu);

/* load.c */
irqreturn_t irq_load_timed_event(struct irq_desc *desc);
irqreturn_t irq_load_timed_thread(irq_load_thread_fn_t fn, struct irq_desc *desc,
				  struct irqaction *action);
void irq_load_peek(struct irq_desc *desc, struct irq_load *load);
void irq_load_flush(struct irq_desc *desc);
void irq_load_set_limit(struct irq_desc *desc, u32 limit);
void irq_load_set_kick(struct irq_work *work, u32 limit);
void irq_load_check_rise(struct irq_load_line *line, u64 now);
struct irq_desc *irq_load_next_desc(unsigned int irq);
struct irq_load_line *irq_load_get_line(unsigned int irq);
void irq_load_span_begin(struct irq_load_span *span);
s64 irq_load_span_end(const struct irq_load_span *span, u64 now);
bool irq_load_clock_is_good(void);

/* load_softirq.c */
int irq_load_softirq_start(void);
void irq_load_softirq_stop(void);
void irq_load_raise_begin(struct irq_load_raise *raise);
void irq_load_raise_end(const struct irq_load_raise *raise, unsigned int irq, u32 stands_for);
void irq_load_charge_run(struct irq_load_run *run, unsigned int irq, u64 now);
u64 irq_load_base(unsigned int cpu);
void irq_load_softirqs_begin(struct irq_load_span *span);
u64 irq_load_softirqs_end(const struct irq_load_span *span);
unsigned int irq_load_forced_thread(unsigned int nr);
bool irq_load_polls_wait(void);

/* load_napi.c */
#ifdef CONFIG_IRQ_LOAD_NAPI
int irq_load_napi_start(void);
void irq_load_napi_stop(void);
void irq_load_napi_begin(struct irq_load_raise *raise);
void irq_load_napi_learn(const struct irq_load_raise *raise, unsigned int irq);
bool irq_load_is_polled(struct irq_desc *desc);
unsigned int irq_load_napi_irq(const struct napi_struct *napi);
void irq_load_set_polls_left(void (*left)(struct list_head *list));
void irq_load_polls_left(struct list_head *list);
#else
static inline int irq_load_napi_start(void) { return 0; }
static inline void irq_load_napi_stop(void) { }
static inline void irq_load_napi_begin(struct irq_load_raise *raise) { }
static inline void irq_load_napi_learn(const struct irq_load_raise *raise, unsigned int irq) { }
static inline bool irq_load_is_polled(struct irq_desc *desc) { return false; }
static inline void irq_load_polls_left(struct list_head *list) { }
#endif

/**
 * irq_load_due - Whether this interrupt is to be timed
 * @desc:	descriptor of the interrupt, locked
 *
 * Costs one NOP when nobody measures. Otherwise it counts down beside desc->lock,
 * in a cache line that is dirty already.
 *
 * Return: true if irq_load_timed_event() has to handle the interrupt
 */
static __always_inline bool irq_load_due(struct irq_desc *desc)
{
	return static_branch_unlikely(&irq_load_key) && unlikely(--desc->load_skip < 0);
}

/**
 * irq_load_thread_fn - Run an interrupt thread's handler, timed while measuring is on
 * @fn:		the function that calls the handler
 * @desc:	descriptor of the interrupt
 * @action:	action whose thread is current
 *
 * Return: what @fn returned
 */
static inline irqreturn_t irq_load_thread_fn(irq_load_thread_fn_t fn, struct irq_desc *desc,
					     struct irqaction *action)
{
	if (static_branch_unlikely(&irq_load_key))
		return irq_load_timed_thread(fn, desc, action);
	return fn(desc, action);
}

static inline void irq_load_free(struct irq_desc *desc)
{
	kfree(desc->load);
}

#else /* CONFIG_IRQ_LOAD */

static inline bool irq_load_due(struct irq_desc *desc) { return false; }
static inline irqreturn_t irq_load_timed_event(struct irq_desc *desc) { return IRQ_NONE; }
static inline irqreturn_t irq_load_thread_fn(irq_load_thread_fn_t fn, struct irq_desc *desc,
					     struct irqaction *action)
{
	return fn(desc, action);
}

static inline void irq_load_free(struct irq_desc *desc) { }

#endif /* !CONFIG_IRQ_LOAD */

#endif /* _KERNEL_IRQ_LOAD_H */
