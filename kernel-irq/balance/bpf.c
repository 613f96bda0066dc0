// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: policy as a BPF program
 *
 * While the link of a struct_ops map of type irq_balance_ops exists, its program plans
 * instead of the planner, one program at a time. It is called at each pass; while no
 * interrupt is heavy there is none. program.c checks what it proposes. A program that takes
 * too long, or whose moves overload a CPU, is ejected: it is not called any more, and the
 * planner goes on. It may not sleep: a pass holds off CPU hotplug, and a page fault could
 * wait for a task that waits for hotplug.
 */
#define pr_fmt(fmt) "irq_balance: " fmt

#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/init.h>
#include <linux/sched/cputime.h>

#include "collect.h"
#include "core.h"
#include "plan.h"
#include "program.h"
#include "trace.h"

/* CPU time that a call may take; time above it adds up, until the program ends (ns) */
#define IRQ_BALANCE_CALL_NS	(10 * NSEC_PER_MSEC)
#define IRQ_BALANCE_LATE_NS	(50 * NSEC_PER_MSEC)

/* A program ends after this many passes in a row with a CPU that it loaded above this (ns/s) */
#define IRQ_BALANCE_WORSE	20U
#define IRQ_BALANCE_OVERLOAD	(IRQ_BALANCE_FULL / 10 * 8)

struct irq_balance_ops {
	void	(*plan)(struct irq_balance_ctx *ctx);
	char	name[BPF_OBJ_NAME_LEN];	/* letters, digits, dots and underscores */
};

/* The loaded program; guarded by irq_balance_pass_mutex */
static struct {
	struct bpf_link			*link;	/* NULL: there is none */
	struct irq_balance_ops		*ops;
	struct irq_balance_program	program;
	u64				passes;
	u64				refused; /* proposals */
	u64				worst;	/* load of the worst CPU at its first pass, ns/s */
	u64				late;	/* see IRQ_BALANCE_LATE_NS */
	unsigned int			worse;	/* see IRQ_BALANCE_WORSE */
} irq_balance_bpf;

static void irq_balance_bpf_end(const char *how)
{
	pr_info("program %s %s: %llu passes, %llu proposals refused\n", irq_balance_bpf.ops->name,
		how, irq_balance_bpf.passes, irq_balance_bpf.refused);
	irq_balance_bpf.link = NULL;
	irq_balance_map.policy.program = NULL;
	irq_balance_replan();
}

/* Whether the worst CPU is overloaded by heavy interrupts, and the program moved one there */
static bool irq_balance_bpf_is_worse(const struct irq_balance_map *map)
{
	unsigned int cpu, worst, i, heavy = 0;
	bool mine = false;

	worst = cpumask_first(&map->usable);
	if (worst >= nr_cpu_ids)
		return false;
	for_each_cpu(cpu, &map->usable)
		worst = map->cpus[cpu].load > map->cpus[worst].load ? cpu : worst;
	if (!irq_balance_bpf.passes)
		irq_balance_bpf.worst = map->cpus[worst].load;
	for (i = 0; i < map->nr; i++) {
		const struct irq_balance_state *st = map->irqs[i].state;

		if (map->irqs[i].cpu != worst || !st->heavy)
			continue;
		heavy++;
		mine |= st->reason == IRQ_BALANCE_WHY_PROGRAM && st->target == worst;
	}
	return mine && heavy > 1 &&
	       map->cpus[worst].load > max(irq_balance_bpf.worst, IRQ_BALANCE_OVERLOAD);
}

static void irq_balance_bpf_plan(struct irq_balance *bal, u64 now)
{
	struct irq_balance_ctx ctx;
	u64 start, spent;

	irq_balance_bpf.worse++;
	if (!irq_balance_bpf_is_worse(&irq_balance_map))
		irq_balance_bpf.worse = 0;
	if (irq_balance_bpf.worse >= IRQ_BALANCE_WORSE) {
		irq_balance_bpf_end("ejected, it overloads a CPU");
		return;
	}

	irq_balance_ctx_init(&ctx, bal, now);
	start = task_sched_runtime(current);
	irq_balance_bpf.ops->plan(&ctx);
	spent = task_sched_runtime(current) - start;

	irq_balance_bpf.passes++;
	irq_balance_bpf.refused += ctx.refused;
	irq_balance_bpf.late += spent;
	irq_balance_bpf.late -= min(irq_balance_bpf.late, IRQ_BALANCE_CALL_NS);
	if (irq_balance_bpf.late > IRQ_BALANCE_LATE_NS)
		irq_balance_bpf_end("ejected, it takes too long");
}

/* irq_balance_propose(), traced */
__bpf_kfunc int bpf_irq_balance_propose(struct irq_balance_ctx *ctx, u32 irq, u32 cpu)
{
	int ret = irq_balance_propose(ctx, irq, cpu);

	if (ret && ret != -E2BIG)
		trace_irq_balance_fail(irq, cpu, ret);
	return ret;
}

BTF_KFUNCS_START(irq_balance_kfuncs)
BTF_ID_FLAGS(func, bpf_irq_balance_irq, KF_RET_NULL)
BTF_ID_FLAGS(func, bpf_irq_balance_cpu, KF_RET_NULL)
BTF_ID_FLAGS(func, bpf_irq_balance_check)
BTF_ID_FLAGS(func, bpf_irq_balance_propose)
BTF_KFUNCS_END(irq_balance_kfuncs)

static const struct btf_kfunc_id_set irq_balance_kfunc_set = {
	.owner = THIS_MODULE, .set = &irq_balance_kfuncs,
};

static void irq_balance_stub_plan(struct irq_balance_ctx *ctx) { }

static struct irq_balance_ops irq_balance_stubs = { irq_balance_stub_plan };

static const struct bpf_verifier_ops irq_balance_verifier_ops = {
	.get_func_proto		= bpf_base_func_proto,
	.is_valid_access	= bpf_tracing_btf_ctx_access,
};

static int irq_balance_bpf_init(struct btf *btf)
{
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &irq_balance_kfunc_set);
}

static int irq_balance_bpf_check_member(const struct btf_type *t, const struct btf_member *member,
					const struct bpf_prog *prog)
{
	return prog->sleepable ? -EINVAL : 0;
}

static int irq_balance_bpf_init_member(const struct btf_type *t, const struct btf_member *member,
				       void *kdata, const void *udata)
{
	const struct irq_balance_ops *from = udata;
	struct irq_balance_ops *ops = kdata;

	if (__btf_member_bit_offset(t, member) / 8 != offsetof(struct irq_balance_ops, name))
		return 0;
	return bpf_obj_name_cpy(ops->name, from->name, sizeof(ops->name)) > 0 ? 1 : -EINVAL;
}

static int irq_balance_bpf_reg(void *kdata, struct bpf_link *link)
{
	struct irq_balance_ops *ops = kdata;

	/* Without a link a program would outlive its owner */
	if (!link)
		return -EOPNOTSUPP;
	if (!ops->plan)
		return -EINVAL;

	guard(mutex)(&irq_balance_pass_mutex);
	if (irq_balance_bpf.link)
		return -EBUSY;
	memset(&irq_balance_bpf, 0, sizeof(irq_balance_bpf));
	irq_balance_bpf.link = link;
	irq_balance_bpf.ops = ops;
	irq_balance_bpf.program.name = ops->name;
	irq_balance_bpf.program.plan = irq_balance_bpf_plan;
	pr_info("program %s plans\n", ops->name);
	irq_balance_map.policy.program = &irq_balance_bpf.program;
	/* Interrupts that rest after a move by the planner may move */
	irq_balance_map.policy.changed = true;
	irq_balance_replan();
	return 0;
}

static void irq_balance_bpf_unreg(void *kdata, struct bpf_link *link)
{
	guard(mutex)(&irq_balance_pass_mutex);
	/* It may have been ejected, and attached again by another link */
	if (link && irq_balance_bpf.link == link)
		irq_balance_bpf_end("detached");
}

static struct bpf_struct_ops irq_balance_bpf_ops = {
	.verifier_ops	= &irq_balance_verifier_ops,
	.init		= irq_balance_bpf_init,
	.check_member	= irq_balance_bpf_check_member,
	.init_member	= irq_balance_bpf_init_member,
	.reg		= irq_balance_bpf_reg,
	.unreg		= irq_balance_bpf_unreg,
	.cfi_stubs	= &irq_balance_stubs,
	.name		= "irq_balance_ops",
	.owner		= THIS_MODULE,
};

static int __init irq_balance_bpf_late_init(void)
{
	return register_bpf_struct_ops(&irq_balance_bpf_ops, irq_balance_ops);
}
late_initcall(irq_balance_bpf_late_init);
