// SPDX-License-Identifier: GPL-2.0
/*
 * keepoff: keep interrupts off the CPUs of certain tasks
 *
 * These are the tasks of the cgroups whose IDs (the inode number of the directory) are in
 * the map "cgroups"; the number 1 there stands for all real-time tasks. Kernel threads do not
 * count, nor tasks that may run on all CPUs. The CPUs are looked up once a second.
 *
 * Movable interrupts, heavy or light, leave these CPUs for the CPU with the least load. On
 * the others a heavy one moves from the fullest to the emptiest if that gains a tenth.
 */
#include "irq_balance.bpf.h"

#define SCAN_NS	1000000000ULL
#define NOWHERE	CPUS_MAX
#define NOTHING	100000		/* ns/s, 0.01 % of a CPU; less is not recorded */

static u32 kept[CPUS_MAX];	/* the scan that found it */
static u64 load[CPUS_MAX];	/* with what was proposed so far, ns/s */
static u32 scan;
static u64 scanned;
static u64 least, most;		/* ns/s of ... */
static u32 best, full;		/* ... these CPUs */

#ifdef __bpf__
#define REALTIME	1

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u64);
} cgroups SEC(".maps");

static void keep_off(struct irq_balance_ctx *ctx, struct task_struct *task)
{
	u32 i = 0;

	FOR_EACH(i, ctx->nr_cpus, CPUS_MAX) {
		if (bpf_cpumask_test_cpu(i, task->cpus_ptr))
			kept[i] = scan;
	}
}

static void find_tasks(struct irq_balance_ctx *ctx, u32 key)
{
	u64 *id = bpf_map_lookup_elem(&cgroups, &key);
	struct bpf_iter_task it __cleanup(bpf_iter_task_destroy);
	struct cgroup *cgroup = NULL;
	struct task_struct *task;

	(void)bpf_iter_task_destroy;
	bpf_iter_task_new(&it, NULL, 1 /* all threads */);
	if (id && *id > REALTIME)
		cgroup = bpf_cgroup_from_id(*id);
	while (id && *id && (task = bpf_iter_task_next(&it))) {
		if ((u32)task->nr_cpus_allowed >= ctx->nr_cpus || task->flags & PF_KTHREAD)
			continue;
		if (cgroup ? bpf_task_under_cgroup(task, cgroup) :
			     *id == REALTIME && task->prio < MAX_RT_PRIO)
			keep_off(ctx, task);
	}
	if (cgroup)
		bpf_cgroup_release(cgroup);
}
#else
static void find_tasks(struct irq_balance_ctx *ctx, u32 key)
{
	(void)ctx;
	/* For replay: the first CPU */
	if (!key)
		kept[0] = scan;
}
#endif

/* The CPU with the least load that the interrupt may go to */
static u32 emptiest(struct irq_balance_ctx *ctx, struct irq_balance_irq *irq)
{
	u32 i = 0;

	best = NOWHERE;
	least = ~0ULL;
	FOR_EACH(i, ctx->nr_cpus, CPUS_MAX) {
		if (kept[i] != scan && load[i] < least &&
		    !bpf_irq_balance_check(ctx, irq->irq, i)) {
			least = load[i];
			best = i;
		}
	}
	return best;
}

static void look(struct irq_balance_ctx *ctx)
{
	struct irq_balance_cpu *cpu;
	u32 i = 0;

	if (!scanned || ctx->now - scanned >= SCAN_NS) {
		scanned = ctx->now;
		scan++;
		FOR_EACH(i, 4, 4)
			find_tasks(ctx, i);
	}
	most = 0;
	FOR_EACH(i, ctx->nr_cpus, CPUS_MAX) {
		cpu = bpf_irq_balance_cpu(ctx, i);
		load[i] = cpu ? cpu->load : 0;
		if (cpu && cpu->usable && kept[i] != scan && load[i] > most) {
			most = load[i];
			full = i;
		}
	}
}

IRQ_BALANCE_PLAN(keepoff)
{
	struct irq_balance_irq *irq;
	struct irq_balance_cpu *cpu;
	u32 i = 0, to;
	bool leaves;

	look(ctx);
	FOR_EACH(i, ctx->nr_irqs, IRQS_MAX) {
		irq = bpf_irq_balance_irq(ctx, i);
		if (!irq || irq->status || irq->load < NOTHING || irq->cpu >= CPUS_MAX)
			continue;
		leaves = AT(kept, irq->cpu) == scan;
		if (!leaves && !(most && irq->cpu == full && is_movable(irq)))
			continue;
		to = emptiest(ctx, irq);
		cpu = bpf_irq_balance_cpu(ctx, to);
		if (!cpu || (!leaves && AT(load, to) + load_on(irq, cpu) + most / 10 >= most))
			continue;
		AT(load, to) += load_on(irq, cpu);
		bpf_irq_balance_propose(ctx, irq->irq, to);
		if (!leaves)
			most = 0;
	}
}

IRQ_BALANCE_PROGRAM(keepoff);
