/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: a pass, as a loaded program sees it */
#ifndef _KERNEL_IRQ_BALANCE_PROGRAM_H
#define _KERNEL_IRQ_BALANCE_PROGRAM_H

#include "plan.h"

/* A program can read this and what it points to, and change nothing */
struct irq_balance_ctx {
	struct irq_balance			*bal;
	const struct irq_balance_settings	*set;
	u64	now;		/* clock, ns */
	u32	nr_irqs;	/* interrupts in this pass */
	u32	nr_cpus;
	u32	generation;	/* differs after each start, which voids all loads */
	u32	refused;	/* proposals so far */
};

/* Record of a program, zeroed at first */
struct irq_balance_verdict {
	u64	last;		/* clock (ns) when it was looked at */
	u64	overload;	/* time (ns) in which a CPU had too much, less 1/4 of the rest */
};

bool irq_balance_overloads(struct irq_balance *bal, u64 now, struct irq_balance_verdict *verdict);
void irq_balance_ctx_init(struct irq_balance_ctx *ctx, struct irq_balance *bal, u64 now);
struct irq_balance_irq *bpf_irq_balance_irq(struct irq_balance_ctx *ctx, u32 index);
struct irq_balance_cpu *bpf_irq_balance_cpu(struct irq_balance_ctx *ctx, u32 cpu);
int bpf_irq_balance_check(struct irq_balance_ctx *ctx, u32 irq, u32 cpu);
int bpf_irq_balance_propose(struct irq_balance_ctx *ctx, u32 irq, u32 cpu);
int irq_balance_propose(struct irq_balance_ctx *ctx, u32 irq, u32 cpu);

#endif /* _KERNEL_IRQ_BALANCE_PROGRAM_H */
