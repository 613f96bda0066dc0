/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For policies for interrupt balancing
 *
 *	IRQ_BALANCE_PLAN(name) { ... }		the body of plan(ctx)
 *	IRQ_BALANCE_PROGRAM(name);		makes a program of it
 *
 * The same source is compiled to BPF, for the kernel, and for user space, for replay. In
 * the kernel the structures have more members; these find their place when the program
 * is loaded. The verifier follows each value of a variable on the stack, but not of a
 * static one: what a loop counts is static.
 */
#ifndef _IRQ_BALANCE_BPF_H
#define _IRQ_BALANCE_BPF_H

/* CPUs and interrupts of a pass that a program of ours looks at */
#define CPUS_MAX	1024
#define IRQS_MAX	4096

#ifdef __bpf__
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;

#define __cleanup(f)	__attribute__((cleanup(f)))

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct irq_balance_settings {
	u32	heavy;		/* per mille of a CPU from which an interrupt is heavy */
	u32	min_gain;
	u32	interval_ms;
};

struct irq_balance_average {
	u64	mean;		/* ns/s */
	u64	dev;		/* mean distance from it, ns/s */
};

struct irq_balance_state {
	struct irq_balance_average load;
	u64	moved;		/* clock (ns) of its last move, 0: none */
	u64	hold;		/* clock (ns) until which it rests */
	bool	heavy;
};

struct irq_balance_irq {
	unsigned int	irq;
	int		node;	/* of its device, -1: none */
	unsigned int	cpu;	/* where it is, not below nr_cpus: nowhere */
	u64		time;	/* cumulative ns: all, ... */
	u64		soft;	/* ... in softirqs, ... */
	u64		thread;	/* ... in threads */
	u8		status;	/* enum irq_balance_status: why it may not be moved, 0: it may */
	struct irq_balance_state *state;
	u64		load;	/* ns/s on a CPU of capacity 1024 */
};

struct irq_balance_cpu {
	u32		capacity;
	int		node;
	unsigned int	package;
	unsigned int	llc;
	unsigned int	core;
	bool		usable;	/* may be given interrupts */
	struct irq_balance_average base;
	u64		load;	/* ns/s, all interrupts included; 1e9: it is full */
};

struct irq_balance_ctx {
	const struct irq_balance_settings *set;
	u64	now;		/* clock, ns */
	u32	nr_irqs;
	u32	nr_cpus;
	u32	generation;	/* differs after each start, which voids all loads */
};

struct task_struct {
	const void	*cpus_ptr;	/* a cpumask; as such clang would not emit its type */
	int		nr_cpus_allowed;
	int		prio;
	u32		flags;
};

struct irq_balance_ops {
	void	(*plan)(struct irq_balance_ctx *ctx);
	char	name[16];
};

#pragma clang attribute pop

struct irq_balance_irq *bpf_irq_balance_irq(struct irq_balance_ctx *ctx, u32 index) __ksym;
struct irq_balance_cpu *bpf_irq_balance_cpu(struct irq_balance_ctx *ctx, u32 cpu) __ksym;
int bpf_irq_balance_check(struct irq_balance_ctx *ctx, u32 irq, u32 cpu) __ksym;
int bpf_irq_balance_propose(struct irq_balance_ctx *ctx, u32 irq, u32 cpu) __ksym;

struct bpf_iter_num {
	u64 opaque;
};

int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;

/* For programs that look at tasks */
#define PF_KTHREAD	0x00200000
#define MAX_RT_PRIO	100

struct cpumask {};
struct cgroup {};
struct bpf_iter_task {
	u64 opaque[3];
};

int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, u32 flags) __ksym;
struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym;
void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym;
struct cgroup *bpf_cgroup_from_id(u64 id) __ksym;
void bpf_cgroup_release(struct cgroup *cgroup) __ksym;
long bpf_task_under_cgroup(struct task_struct *task, struct cgroup *cgroup) __ksym;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask) __ksym;

static __always_inline bool next_number(struct bpf_iter_num *it, u32 *i, u32 max)
{
	int *next = bpf_iter_num_next(it);

	if (!next)
		return false;
	*i = *next;
	return *i < max;
}

/*
 * For each i from 0 to @end - 1, below @max, which the verifier can see. It needs the type
 * of the destructor as well.
 */
#define FOR_EACH(i, end, max)									\
	for (struct bpf_iter_num it_##i __cleanup(bpf_iter_num_destroy),			\
	     *start_##i = (bpf_iter_num_new(&it_##i, 0, (end)), (void)bpf_iter_num_destroy, NULL);\
	     next_number(&it_##i, &(i), max); (void)start_##i)

#define IRQ_BALANCE_PLAN(word)									\
	static __always_inline void word##_do(struct irq_balance_ctx *);	\
	SEC("struct_ops/plan") void word##_plan(u64 *args)					\
	{											\
		word##_do((struct irq_balance_ctx *)args[0]);					\
	}											\
	static __always_inline void word##_do(struct irq_balance_ctx *ctx)
#define IRQ_BALANCE_PROGRAM(word)								\
	char LICENSE[] SEC("license") = "GPL";							\
	SEC(".struct_ops.link") struct irq_balance_ops word = {					\
		.plan = (void *)word##_plan, .name = #word,					\
	}

#else /* for replay */
#include <string.h>

#include "program.h"

#define bpf_irq_balance_propose	irq_balance_propose
#define FOR_EACH(i, end, max)	for (i = 0; i < (end) && i < (max); i++)
#define barrier_var(var)	((void)(var))
#define IRQ_BALANCE_PLAN(word)	static void word##_plan(struct irq_balance_ctx *ctx)
#define IRQ_BALANCE_PROGRAM(word)								\
	static void word##_run(struct irq_balance *bal, u64 now)				\
	{											\
		struct irq_balance_ctx ctx;							\
												\
		irq_balance_ctx_init(&ctx, bal, now);						\
		word##_plan(&ctx);								\
	}											\
	const struct irq_balance_program word##_program = { #word, word##_run }
#endif

/* An element of an array of 2^n, by an index that the verifier can see is inside */
#define AT(array, index)									\
	((array)[({ u32 at = (index); barrier_var(at);						\
		    at & (sizeof(array) / sizeof(*(array)) - 1); })])

/* Whether it is heavy and may be moved */
static inline bool is_movable(struct irq_balance_irq *irq)
{
	return !irq->status && irq->state->heavy;
}

/* The time that an interrupt takes of a CPU, ns/s */
static inline u64 load_on(struct irq_balance_irq *irq, struct irq_balance_cpu *cpu)
{
	return irq->load * 1024 / (cpu->capacity ?: 1024);
}

#endif /* _IRQ_BALANCE_BPF_H */
