/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPU time per interrupt: what the files of the load map share. From the ground up, a file calls
 * only those before it in this list:
 *
 *   load_charge.h	numbers only: which event is timed, and what it stands for
 *   load_line.c	what each interrupt has cost, to charge and to read
 *   load_span.c	the time of a piece of work, without what interrupted it
 *   load_napi.c	which interrupt a NAPI instance belongs to
 *   load_softirq.c	softirqs and polls are charged to what caused them
 *   load_hard.c	handlers, and handlers of threads
 *   load.c		who measures
 *   load_debugfs.c	a user
 *
 * Members of state that lasts have the letter of what protects them:
 *
 * C: its CPU alone uses it, and writes it with interrupts disabled
 * A: atomic
 */
#ifndef _KERNEL_IRQ_LOAD_SPAN_H
#define _KERNEL_IRQ_LOAD_SPAN_H

#include "load.h"

/* &napi_struct.irq_seen if several interrupts schedule the instance */
#define IRQ_LOAD_SHARED		INT_MAX

/* An interrupt has raised the next run, for so many runs, 0: none has */
struct irq_load_claim {
	u32			irq;
	u32			weight;
};

/* One softirq on one CPU. "On request": for a claim. Times in ns. */
struct irq_load_vector {
	u64			sampled;	/* C: when it was last timed, but not on request */
	u64			mean;		/* C: decaying mean of the sampled runs */
	u64			last;		/* C: the last one */
	s64			unclaimed;	/* C: time of all runs, less what claims took */
	u64			most;		/* C: time that a claim asked for lately */
	u32			timed;		/* C: runs that were timed */
	struct irq_load_sampler	sampler;	/* C */
	struct irq_load_claim	claim;		/* C: of the next run */
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
	unsigned long		timed;		/* C: interrupts that were timed */
	u64			timed_ns;	/* C: their time, without what interrupted them */
	u64			mean_nr;	/* C: recent interrupts that were not timed */
	u64			mean_ns;	/* C: their time, extrapolated from samples */
	u64			last_ns;	/* C: the last sample */
	u64			soft_ns;	/* C: time of softirq runs that were timed */
	atomic64_t		base;		/* A: softirq time that belongs to no interrupt */
	struct irq_load_vector	vector[NR_SOFTIRQS];
};

DECLARE_PER_CPU(struct irq_load_cpu, irq_load_cpu);

/* Work that is timed on this CPU, and may schedule NAPI instances: on the stack */
struct irq_load_cause {
	struct task_struct	*task;		/* NULL: the handler of an interrupt */
	struct irq_load_run	*run;		/* of NET_RX; NULL: a handler or its thread */
	unsigned int		irq;		/* 0: none is known */
	u32			weight;		/* events that it stands for */
	unsigned long		irqs;		/* of this CPU when it began */
};

DECLARE_PER_CPU(struct irq_load_cause *, irq_load_cause);

/* load_line.c */
struct irq_load_line *irq_load_get_line(unsigned int irq);
bool irq_load_has_risen(struct irq_load_line *line, u64 now, u32 limit);
void irq_load_charged(struct irq_load_line *line, u64 now);

/* load_span.c */
extern u64 irq_load_span_cost;
void irq_load_calibrate(void);
u64 irq_load_aim(u64 aim);
u64 irq_load_steal_clock(void);
u32 irq_load_freq(void);
void irq_load_span_begin(struct irq_load_span *span);
u64 irq_load_span_end(const struct irq_load_span *span, u64 now);
void irq_load_account_cpu(struct irq_load_cpu *c, u64 nested, u32 stands_for, u64 delta);

/* load_napi.c */
bool irq_load_learn(struct napi_struct *napi, unsigned int irq);

/* load_softirq.c */
void irq_load_claim(u32 raised, unsigned int irq, u32 weight);

#endif /* _KERNEL_IRQ_LOAD_SPAN_H */
