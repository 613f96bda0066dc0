// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: what a loaded program may do in a pass
 *
 * It reads interrupts and CPUs, and proposes moves. Each proposal is checked here, by the
 * rules that hold for the planner as well. The mover checks again, as masks and CPUs may
 * have changed since.
 *
 * A program may place interrupts as it likes, but not overload a CPU for long. A CPU is overloaded
 * if it is nearly full and shared, and would not be nearly full without the interrupts that
 * programs have moved there. One that an interrupt fills by itself is not.
 */
#include <linux/bitmap.h>
#include <linux/btf.h>
#include <linux/errno.h>
#include <linux/types.h>

#include "place.h"
#include "program.h"

/* A program ends when a CPU was overloaded for so long (ns), less a quarter of calm time */
#define OVERLOAD_NS	2000000000ULL

/* Passes that are farther apart (ns) count no more than this */
#define APART_NS	1000000000ULL

void irq_balance_ctx_init(struct irq_balance_ctx *ctx, struct irq_balance *bal, u64 now)
{
	*ctx = (struct irq_balance_ctx) {
		.bal = bal, .set = bal->work->in.set, .now = now,
		.nr_irqs = bal->work->in.nr_irqs, .nr_cpus = bal->work->nr_cpus,
		.generation = bal->generation,
	};
}

/* The interrupt with that index, in rising order of numbers, NULL behind the last */
__bpf_kfunc struct irq_balance_irq *bpf_irq_balance_irq(struct irq_balance_ctx *ctx, u32 index)
{
	return index < ctx->nr_irqs ? &ctx->bal->work->in.irqs[index] : NULL;
}

/* The CPU with that number, NULL behind the last. One that is not possible is not usable. */
__bpf_kfunc struct irq_balance_cpu *bpf_irq_balance_cpu(struct irq_balance_ctx *ctx, u32 cpu)
{
	return cpu < ctx->nr_cpus ? (struct irq_balance_cpu *)&ctx->bal->work->in.cpus[cpu] : NULL;
}

static struct irq_balance_irq *irq_balance_ctx_find(struct irq_balance_ctx *ctx, u32 irq)
{
	struct irq_balance_irq *i = ctx->bal->work->in.irqs, *end = i + ctx->nr_irqs;

	while (i < end && i->irq != irq)
		i++;
	return i < end ? i : NULL;
}

/**
 * bpf_irq_balance_check - Whether an interrupt may be moved to a CPU in this pass
 * @ctx:	the pass
 * @irq:	number of the interrupt
 * @cpu:	number of the CPU
 *
 * Return: 0; -ENOENT: the pass has no such interrupt; -EPERM: it may not be moved, see its
 * status, or has no CPU; -EBUSY: it rests, see &irq_balance_state.hold; -EALREADY: it is
 * there, or a move was proposed; -EACCES: the CPU is not usable or not in the user's mask;
 * -ENOSPC: it has no free vector; -E2BIG: the pass takes no more
 */
__bpf_kfunc int bpf_irq_balance_check(struct irq_balance_ctx *ctx, u32 irq, u32 cpu)
{
	const struct irq_balance_irq *i = irq_balance_ctx_find(ctx, irq);
	const struct irq_balance_cpu *c = bpf_irq_balance_cpu(ctx, cpu);

	if (!i)
		return -ENOENT;
	if (!i->allowed || i->cpu >= ctx->nr_cpus)
		return -EPERM;
	if (ctx->now < i->state->hold)
		return -EBUSY;
	if (i->cpu == cpu || i->target != i->cpu)
		return -EALREADY;
	if (!c || !c->usable || !test_bit(cpu, i->allowed))
		return -EACCES;
	if (ctx->now < c->full_until)
		return -ENOSPC;
	return ctx->bal->nr_moves < IRQ_BALANCE_MOVES_MAX ? 0 : -E2BIG;
}

/**
 * irq_balance_propose - Ask for a move
 * @ctx:	the pass
 * @irq:	number of the interrupt
 * @cpu:	number of the CPU that it is to go to
 *
 * Return: as bpf_irq_balance_check()
 */
int irq_balance_propose(struct irq_balance_ctx *ctx, u32 irq, u32 cpu)
{
	int ret = bpf_irq_balance_check(ctx, irq, cpu);

	ctx->refused += !!ret;
	if (!ret)
		irq_balance_ask(ctx->bal, irq_balance_ctx_find(ctx, irq), cpu,
				IRQ_BALANCE_WHY_PROGRAM);
	return ret;
}

static bool is_overloaded(const struct irq_balance_work *w, u32 cpu)
{
	u64 mine = 0, most = 0, sum = 0, cost;
	const struct irq_balance_irq *i;

	for (i = w->in.irqs; i < w->in.irqs + w->in.nr_irqs; i++) {
		if (i->cpu != cpu)
			continue;
		cost = irq_balance_cost(w, i->load, cpu);
		sum += cost;
		most = max(most, cost);
		if (i->state->reason == IRQ_BALANCE_WHY_PROGRAM && i->state->target == cpu)
			mine += cost;
	}
	return w->in.cpus[cpu].load > IRQ_BALANCE_NEARLY_FULL &&
	       w->in.cpus[cpu].load - mine <= IRQ_BALANCE_NEARLY_FULL &&
	       sum - most >= irq_balance_heavy(w->in.set);
}

/**
 * irq_balance_overloads - Whether a program has overloaded CPUs for too long
 * @bal:	the planner, in a pass
 * @now:	clock in ns
 * @verdict:	what is known of the program
 *
 * Return: true if it is to plan no more
 */
bool irq_balance_overloads(struct irq_balance *bal, u64 now, struct irq_balance_verdict *verdict)
{
	u64 elapsed = verdict->last ? min(now - verdict->last, APART_NS) : 0;
	const struct irq_balance_work *w = bal->work;
	u32 cpu = 0;

	verdict->last = now;
	while (cpu < w->nr_cpus && !(w->in.cpus[cpu].usable && is_overloaded(w, cpu)))
		cpu++;
	if (cpu < w->nr_cpus)
		verdict->overload += elapsed;
	else
		verdict->overload -= min(verdict->overload, elapsed / 4);
	return verdict->overload > OVERLOAD_NS;
}
