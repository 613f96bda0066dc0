// SPDX-License-Identifier: GPL-2.0
/*
 * compact: gather heavy interrupts on few CPUs, so that the others sleep
 *
 * First fit, in the order of numbers: the CPUs of the package that serves the first heavy
 * interrupt come first. A CPU is filled to one half. An interrupt that fits nowhere goes
 * to the CPU with the least load. Latency suffers by it, and a loaded CPU is not relieved
 * by much: it is for machines that are idle most of the time.
 */
#include "irq_balance.bpf.h"

#define LIMIT	500000000ULL

static u64 load[CPUS_MAX];	/* with what was placed so far, ns/s */
static u8 used[CPUS_MAX];	/* by heavy interrupts: bit 0 now, bit 1 in the plan */
static u32 place[IRQS_MAX];	/* CPU in the plan, CPUS_MAX: stays */
static u32 home;		/* the package that is filled first */
static bool over;		/* a CPU is above the limit now */
static bool found;		/* a heavy interrupt */
static u32 before, after;	/* CPUs in use */

static bool fits(struct irq_balance_ctx *ctx, struct irq_balance_irq *irq, u32 to, bool near)
{
	struct irq_balance_cpu *cpu = bpf_irq_balance_cpu(ctx, to);

	return cpu && cpu->usable && (cpu->package == home) == near &&
	       AT(load, to) + load_on(irq, cpu) <= LIMIT &&
	       (to == irq->cpu || !bpf_irq_balance_check(ctx, irq->irq, to));
}

static u32 find(struct irq_balance_ctx *ctx, struct irq_balance_irq *irq)
{
	u32 i = 0, best = irq->cpu;

	FOR_EACH(i, ctx->nr_cpus, CPUS_MAX) {
		if (fits(ctx, irq, i, true))
			return i;
	}
	FOR_EACH(i, ctx->nr_cpus, CPUS_MAX) {
		if (fits(ctx, irq, i, false))
			return i;
	}
	FOR_EACH(i, ctx->nr_cpus, CPUS_MAX) {
		if (load[i] < AT(load, best) &&
		    !bpf_irq_balance_check(ctx, irq->irq, i))
			best = i;
	}
	return best;
}

/* Takes what is to be placed off its CPU */
static void look(struct irq_balance_ctx *ctx)
{
	struct irq_balance_irq *irq;
	struct irq_balance_cpu *cpu;
	u32 i = 0;
	u64 its;

	over = false;
	found = false;
	before = 0;
	after = 0;
	FOR_EACH(i, ctx->nr_cpus, CPUS_MAX) {
		cpu = bpf_irq_balance_cpu(ctx, i);
		load[i] = cpu ? cpu->load : 0;
		used[i] = 0;
		over |= load[i] > LIMIT;
	}
	FOR_EACH(i, ctx->nr_irqs, IRQS_MAX) {
		place[i] = CPUS_MAX;
		irq = bpf_irq_balance_irq(ctx, i);
		if (!irq || !is_movable(irq) || irq->cpu >= CPUS_MAX)
			continue;
		cpu = bpf_irq_balance_cpu(ctx, irq->cpu);
		if (!cpu)
			continue;
		if (!found)
			home = cpu->package;
		found = true;
		its = load_on(irq, cpu);
		AT(load, irq->cpu) -= its < AT(load, irq->cpu) ? its : AT(load, irq->cpu);
		AT(used, irq->cpu) |= 1;
	}
}

IRQ_BALANCE_PLAN(compact)
{
	struct irq_balance_irq *irq;
	struct irq_balance_cpu *cpu;
	u32 i = 0, to;

	look(ctx);
	FOR_EACH(i, ctx->nr_irqs, IRQS_MAX) {
		irq = bpf_irq_balance_irq(ctx, i);
		if (!irq || !is_movable(irq))
			continue;
		to = find(ctx, irq);
		cpu = bpf_irq_balance_cpu(ctx, to);
		if (!cpu)
			continue;
		place[i] = to;
		AT(load, to) += load_on(irq, cpu);
		AT(used, to) |= 2;
	}
	FOR_EACH(i, ctx->nr_cpus, CPUS_MAX) {
		before += used[i] & 1;
		after += used[i] >> 1;
	}
	if (after >= before && !over)
		return;
	FOR_EACH(i, ctx->nr_irqs, IRQS_MAX) {
		irq = bpf_irq_balance_irq(ctx, i);
		if (irq && place[i] < CPUS_MAX && place[i] != irq->cpu)
			bpf_irq_balance_propose(ctx, irq->irq, place[i]);
	}
}

IRQ_BALANCE_PROGRAM(compact);
