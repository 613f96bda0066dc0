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

static u8 kept[CPUS_MAX];	/* generation of the scan that found it */
static u8 scan;
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

/* The usable CPU with the least load that the interrupt may go to */
static u32 emptiest(struct irq_balance_ctx *ctx, struct irq_balance_irq *irq)
{
	struct irq_balance_cpu *cpu;
	u32 i = 0;

	best = NOWHERE;
	least = ~0ULL;
	FOR_EACH(i, ctx->nr_cpus, CPUS_MAX) {
		cpu = bpf_irq_balance_cpu(ctx, i);
		if (cpu && kept[i] != scan && cpu->load < least &&
		    !bpf_irq_balance_check(ctx, irq->irq, i)) {
			least = cpu->load;
			best = i;
		}
	}
	return best;
}

IRQ_BALANCE_PLAN(keepoff)
{
	struct irq_balance_cpu *from, *cpu;
	struct irq_balance_irq *irq;
	u32 i = 0, to;

	if (!scanned || ctx->now - scanned >= SCAN_NS) {
		scanned = ctx->now;
		scan = scan % 255 + 1;
		FOR_EACH(i, 4, 4)
			find_tasks(ctx, i);
	}
	most = 0;
	FOR_EACH(i, ctx->nr_cpus, CPUS_MAX) {
		cpu = bpf_irq_balance_cpu(ctx, i);
		if (cpu && cpu->usable && kept[i] != scan && cpu->load > most) {
			most = cpu->load;
			full = i;
		}
	}
	FOR_EACH(i, ctx->nr_irqs, IRQS_MAX) {
		irq = bpf_irq_balance_irq(ctx, i);
		if (!irq || irq->status || irq->load < NOTHING || irq->cpu >= CPUS_MAX)
			continue;
		if (AT(kept, irq->cpu) != scan && !(most && irq->cpu == full && is_movable(irq)))
			continue;
		to = emptiest(ctx, irq);
		from = bpf_irq_balance_cpu(ctx, irq->cpu);
		cpu = bpf_irq_balance_cpu(ctx, to);
		if (!cpu || !from)
			continue;
		if (AT(kept, irq->cpu) == scan) {
			bpf_irq_balance_propose(ctx, irq->irq, to, WHY(PROGRAM));
		} else if (cpu->load + load_on(irq, cpu) + from->load / 10 < from->load) {
			bpf_irq_balance_propose(ctx, irq->irq, to, WHY(IMBALANCE));
			most = 0;
		}
	}
}

IRQ_BALANCE_PROGRAM(keepoff);
