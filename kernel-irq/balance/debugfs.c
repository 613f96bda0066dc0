// SPDX-License-Identifier: GPL-2.0
/* Interrupt balancing: statistics and tables in /sys/kernel/debug/irq_balance/ */
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/irq.h>
#include <linux/math64.h>
#include <linux/seq_file.h>

#include "../internals.h"
#include "core.h"

static int stats_show(struct seq_file *m, void *unused)
{
	const struct irq_balance_failure *failure = irq_balance_failures;
	const struct irq_balance_map *map = &irq_balance_map;
	enum irq_balance_why why;

	guard(mutex)(&irq_balance_pass_mutex);
	seq_printf(m, "passes %llu\n", map->passes);
	for (why = IRQ_BALANCE_WHY_IMBALANCE; why <= IRQ_BALANCE_WHY_PROGRAM; why++)
		seq_printf(m, "moves_%s %llu\n", irq_balance_why_name(why), map->moves[why]);
	do {
		seq_printf(m, "failed_%s %llu\n", failure->name, failure->count);
	} while (failure++->error);
	seq_printf(m, "proposal_gain %u\n", map->gain);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int cpus_show(struct seq_file *m, void *unused)
{
	const struct irq_balance_map *map = &irq_balance_map;
	unsigned int cpu;
	u64 base;

	irq_balance_refresh();
	guard(cpus_read_lock)();
	guard(mutex)(&irq_balance_pass_mutex);

	seq_puts(m, "cpu load_ns_per_s base_ns_per_s\n");
	for_each_online_cpu(cpu) {
		if (irq_balance_get_mode() == IRQ_BALANCE_OFF)
			break;
		base = map->cpus[cpu].base.mean + map->sources[cpu].fixed;
		seq_printf(m, "%3u %13llu %13llu\n", cpu, max(map->cpus[cpu].load, base), base);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cpus);

static void irq_balance_show_irq(struct seq_file *m, struct irq_desc *desc,
				 const struct cpumask *usable)
{
	enum irq_balance_status status = irq_balance_show_status(desc, usable);
	static const struct irq_balance_entry none;
	const struct irq_balance_entry *entry = irq_balance_peek(desc) ?: &none;
	const struct irq_balance_state *state = &entry->state;
	unsigned int cpu;

	scoped_guard(raw_spinlock_irq, &desc->lock)
		cpu = irq_balance_cpu(desc);
	seq_printf(m, "%3u %3d %-12s ", irq_desc_get_irq(desc), cpu < nr_cpu_ids ? (int)cpu : -1,
		   irq_balance_status_names[status]);
	seq_printf(m, "%-9s %10llu %10llu %-9s ", irq_balance_why_name(state->why),
		   state->load.mean, state->load.dev, irq_balance_why_name(state->reason));
	if (state->moved)
		seq_printf(m, "%4u %10llu ", entry->from, div_u64(state->moved, NSEC_PER_MSEC));
	else
		seq_puts(m, "   -          - ");
	if (state->planned && !irq_balance_moves())
		seq_printf(m, "%u\n", state->target);
	else
		seq_puts(m, "-\n");
}

static int irqs_show(struct seq_file *m, void *unused)
{
	cpumask_var_t usable __free(free_cpumask_var) = CPUMASK_VAR_NULL;
	struct irq_desc *desc;
	unsigned int irq = 0;

	if (!alloc_cpumask_var(&usable, GFP_KERNEL))
		return -ENOMEM;

	irq_balance_refresh();
	irq_balance_usable_cpus(usable);
	guard(mutex)(&irq_balance_pass_mutex);

	seq_puts(m, "irq cpu status       why       ns_per_s  deviation  reason    from   moved_ms proposed\n");
	while ((desc = irq_load_next_desc(irq))) {
		irq = irq_desc_get_irq(desc) + 1;
		irq_balance_show_irq(m, desc, usable);
		irq_desc_put_ref(desc);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(irqs);

static int __init irq_balance_debugfs_init(void)
{
	struct dentry *dir = debugfs_create_dir("irq_balance", NULL);

	debugfs_create_file("stats", 0444, dir, NULL, &stats_fops);
	debugfs_create_file("cpus", 0444, dir, NULL, &cpus_fops);
	debugfs_create_file("irqs", 0444, dir, NULL, &irqs_fops);
	return 0;
}
late_initcall(irq_balance_debugfs_init);
