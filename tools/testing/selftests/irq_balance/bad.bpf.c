// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that must do no harm, for bpf.sh: hostile, slow, pile, write, sleep, or
 * unlinked, as -DKIND_... says
 */
#include "irq_balance.bpf.h"

#if defined(KIND_hostile)
/* Proposes all interrupts, and some that do not exist, for all CPUs and some more */
static u32 target;

IRQ_BALANCE_PLAN(hostile)
{
	u32 i = 0, cpu = 0;

	target++;
	FOR_EACH(i, 50, 50) {
		struct irq_balance_irq *irq = bpf_irq_balance_irq(ctx, i);

		FOR_EACH(cpu, ctx->nr_cpus + 2, CPUS_MAX)
			bpf_irq_balance_propose(ctx, irq ? irq->irq : i + 100000,
						(cpu + target) % (ctx->nr_cpus + 2));
	}
}

IRQ_BALANCE_PROGRAM(hostile);
#elif defined(KIND_slow)
/* Loops as long as one loop can */
static u32 target;

IRQ_BALANCE_PLAN(slow)
{
	u32 i = 0;

	FOR_EACH(i, 1 << 23, 1 << 24)
		target += bpf_irq_balance_check(ctx, i, 0);
}

IRQ_BALANCE_PROGRAM(slow);
#elif defined(KIND_pile)
/* Gathers all interrupts on CPU 1 */
IRQ_BALANCE_PLAN(pile)
{
	struct irq_balance_irq *irq;
	u32 i = 0;

	FOR_EACH(i, ctx->nr_irqs, IRQS_MAX) {
		irq = bpf_irq_balance_irq(ctx, i);
		if (irq && is_movable(irq))
			bpf_irq_balance_propose(ctx, irq->irq, 1);
	}
}

IRQ_BALANCE_PROGRAM(pile);
#elif defined(KIND_write)
/* Writes to what it may read only */
IRQ_BALANCE_PLAN(write)
{
	struct irq_balance_irq *irq = bpf_irq_balance_irq(ctx, 0);

	if (irq)
		irq->status = 0;
}

IRQ_BALANCE_PROGRAM(write);
#elif defined(KIND_sleep)
SEC("struct_ops.s/plan") void sleep_plan(u64 *args)
{
	(void)args;
}

IRQ_BALANCE_PROGRAM(sleep);
#elif defined(KIND_unlinked)
IRQ_BALANCE_PLAN(unlinked)
{
	(void)ctx;
}

char LICENSE[] SEC("license") = "GPL";
SEC(".struct_ops") struct irq_balance_ops unlinked = {
	.plan = (void *)unlinked_plan, .name = "unlinked",
};
#endif
