// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: policy as a BPF program
 *
 * While the link of a struct_ops map of type irq_balance_ops exists, its program plans
 * instead of the planner, one program at a time. It is called at each pass; while no
 * interrupt is heavy there is none. program.c checks what it proposes. A program that takes
 * too long, or whose moves overload a CPU, is ejected: it is not called any more, its link is
 * detached, and the planner goes on. It may not sleep: a pass holds off CPU hotplug, and a page
 * fault could wait for a task that waits for hotplug.
 */
#define pr_fmt(fmt) "irq_balance: " fmt

#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/capability.h>
#include <linux/init.h>
#include <linux/sched/cputime.h>
#include <linux/workqueue.h>

#include "collect.h"
#include "core.h"
#include "plan.h"
#include "program.h"
#include "trace.h"

/* CPU time that a call may take; time above it adds up, until the program ends (ns) */
#define IRQ_BALANCE_CALL_NS	(10 * NSEC_PER_MSEC)
#define IRQ_BALANCE_LATE_NS	(50 * NSEC_PER_MSEC)

/* After one was ejected none is attached for two seconds, then for twice as long each time (ns) */
#define IRQ_BALANCE_BAR_NS	(2ULL * NSEC_PER_SEC)
#define IRQ_BALANCE_BAR_MAX	(64ULL * NSEC_PER_SEC)

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
	u64				late;	/* see IRQ_BALANCE_LATE_NS */
	struct irq_balance_verdict	verdict;
} irq_balance_bpf;

/* Left by the last ejection; irq_balance_pass_mutex */
static struct bpf_link *irq_balance_ejected;	/* to be detached yet */
static u64 irq_balance_bar;			/* length (ns) of that which ends ... */
static u64 irq_balance_barred;			/* ... by then (clock, ns) */

static void irq_balance_bpf_end(const char *how)
{
	pr_info("program %s %s: %llu passes, %llu proposals refused\n", irq_balance_bpf.ops->name,
		how, irq_balance_bpf.passes, irq_balance_bpf.refused);
	irq_balance_bpf.link = NULL;
	irq_balance_map.policy.program = NULL;
	irq_balance_replan();
}

/* Its owner sees the end of the link. Not in the pass: detaching takes the mutex of that. */
static void irq_balance_bpf_detach(struct work_struct *work)
{
	struct bpf_link *link = irq_balance_ejected;

	link->ops->detach(link);
	scoped_guard(mutex, &irq_balance_pass_mutex)
		irq_balance_ejected = NULL;
	bpf_link_put(link);
}

static DECLARE_WORK(irq_balance_bpf_work, irq_balance_bpf_detach);

static void irq_balance_bpf_eject(const char *how, u64 now)
{
	struct bpf_link *link = bpf_link_inc_not_zero(irq_balance_bpf.link);

	/* If the last one is long ago it begins anew */
	if (now >= irq_balance_barred + IRQ_BALANCE_BAR_MAX)
		irq_balance_bar = 0;
	irq_balance_bar = clamp(2 * irq_balance_bar, IRQ_BALANCE_BAR_NS, IRQ_BALANCE_BAR_MAX);
	irq_balance_barred = now + irq_balance_bar;
	irq_balance_bpf_end(how);
	/* If not, its owner is ending it */
	if (!IS_ERR(link)) {
		irq_balance_ejected = link;
		schedule_work(&irq_balance_bpf_work);
	}
}

static void irq_balance_bpf_plan(struct irq_balance *bal, u64 now)
{
	struct irq_balance_ctx ctx;
	u64 start, spent;

	if (irq_balance_overloads(bal, now, &irq_balance_bpf.verdict)) {
		irq_balance_bpf_eject("ejected, it overloads a CPU", now);
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
		irq_balance_bpf_eject("ejected, it takes too long", now);
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

	/* It decides for the whole machine: a token of a container is not enough */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	/* Without a link a program would outlive its owner */
	if (!link)
		return -EOPNOTSUPP;
	if (!ops->plan)
		return -EINVAL;

	guard(mutex)(&irq_balance_pass_mutex);
	if (irq_balance_bpf.link || irq_balance_ejected)
		return -EBUSY;
	if (ktime_get_ns() < irq_balance_barred)
		return -EAGAIN;
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
	/* It may have been ejected */
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
