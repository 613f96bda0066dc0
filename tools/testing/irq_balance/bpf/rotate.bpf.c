// SPDX-License-Identifier: GPL-2.0
/*
 * rotate: the rule of Linux 2.5.52 (2002), without its randomness
 *
 * All heavy interrupts go to the next CPU at once, every two seconds, each to another
 * one. With as many of them as CPUs, or more, they stay. To be compared with.
 */
#include "irq_balance.bpf.h"

#define TURN_NS	2000000000ULL

static u64 turned;
static u32 generation;
static u8 taken[CPUS_MAX];
static u32 heavy, usable;

static int next_cpu(struct irq_balance_ctx *ctx, struct irq_balance_irq *irq)
{
	u32 step = 0, cpu;

	FOR_EACH(step, ctx->nr_cpus, CPUS_MAX) {
		cpu = irq->cpu + 1 + step;
		if (cpu >= ctx->nr_cpus)
			cpu -= ctx->nr_cpus;
		if (!AT(taken, cpu) && !bpf_irq_balance_check(ctx, irq->irq, cpu))
			return cpu;
	}
	return -1;
}

IRQ_BALANCE_PLAN(rotate)
{
	u32 i = 0;
	struct irq_balance_irq *irq;
	struct irq_balance_cpu *cpu;

	if (generation != ctx->generation)
		turned = ctx->now;
	generation = ctx->generation;
	if (ctx->now - turned < TURN_NS)
		return;
	turned = ctx->now;
	heavy = 0;
	usable = 0;
	FOR_EACH(i, ctx->nr_cpus, CPUS_MAX) {
		taken[i] = 0;
		cpu = bpf_irq_balance_cpu(ctx, i);
		usable += cpu && cpu->usable;
	}
	FOR_EACH(i, ctx->nr_irqs, IRQS_MAX) {
		irq = bpf_irq_balance_irq(ctx, i);
		heavy += irq && is_movable(irq);
	}
	if (heavy >= usable)
		return;
	FOR_EACH(i, ctx->nr_irqs, IRQS_MAX) {
		int to;

		irq = bpf_irq_balance_irq(ctx, i);
		if (!irq || !is_movable(irq))
			continue;
		to = next_cpu(ctx, irq);
		if (to < 0)
			continue;
		AT(taken, to) = 1;
		bpf_irq_balance_propose(ctx, irq->irq, to);
	}
}

IRQ_BALANCE_PROGRAM(rotate);
