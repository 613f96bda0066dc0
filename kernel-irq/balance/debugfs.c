// SPDX-License-Identifier: GPL-2.0
/* Interrupt balancing: statistics in /sys/kernel/debug/irq_balance/ */
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/irq.h>
#include <linux/seq_file.h>

#include "../internals.h"
#include "collect.h"
#include "core.h"
#include "plan.h"

static int stats_show(struct seq_file *m, void *unused)
{
	const struct irq_balance_map *map = &irq_balance_map;

	guard(mutex)(&irq_balance_pass_mutex);
	seq_printf(m, "passes %llu\n", map->passes);
#define SHOW_MOVES(name, word)	\
	seq_printf(m, "moves_" word " %llu\n", map->moves[IRQ_BALANCE_WHY_##name]);
	IRQ_BALANCE_WHYS_MOVE(SHOW_MOVES)
	seq_printf(m, "failed %llu\n", map->failed);
	seq_printf(m, "proposal_gain %u\n", map->gain);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int cpus_show(struct seq_file *m, void *unused)
{
	const struct irq_balance_map *map = &irq_balance_map;
	unsigned int cpu;

	if (!map->cpus)
		return -ENODEV;
	irq_balance_refresh();
	guard(cpus_read_lock)();
	guard(mutex)(&irq_balance_pass_mutex);

	seq_puts(m, "cpu load_ns_per_s base_ns_per_s\n");
	for_each_online_cpu(cpu)
		seq_printf(m, "%3u %13llu %13llu\n", cpu, map->cpus[cpu].load,
			   div_u64(map->cpus[cpu].base.mean * IRQ_BALANCE_CAPACITY,
				   max(map->cpus[cpu].capacity, 1U)));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cpus);

static void irqs_show_one(struct seq_file *m, struct irq_desc *desc, const struct cpumask *usable)
{
	const struct irq_balance_entry *entry = irq_balance_peek(desc);
	const char *word;
	struct irq_load load;

	scoped_guard(raw_spinlock_irq, &desc->lock) {
		irq_load_peek(desc, &load);
		word = irq_balance_word(desc, usable);
	}
	/* Nothing was charged */
	if (load.cpu >= nr_cpu_ids)
		return;

	seq_printf(m, "%3u %3u %-12s %13llu %13llu %13llu %13llu ",
		   irq_desc_get_irq(desc), load.cpu, word, entry ? entry->state.load.mean : 0,
		   load.time_ns, load.soft_ns, load.thread_ns);
	if (entry && entry->state.planned && !irq_balance_moves())
		seq_printf(m, "%s CPU%u\n", irq_balance_why_name(entry->state.planned),
			   entry->state.target);
	else
		seq_puts(m, "-\n");
}

static int irqs_show(struct seq_file *m, void *unused)
{
	cpumask_var_t usable __free(free_cpumask_var) = CPUMASK_VAR_NULL;
	struct irq_desc *desc = NULL;

	if (!alloc_cpumask_var(&usable, GFP_KERNEL))
		return -ENOMEM;
	irq_balance_refresh();
	irq_balance_usable_cpus(usable);
	/* A pass writes what is shown */
	guard(mutex)(&irq_balance_pass_mutex);

	seq_puts(m, "irq cpu status load_ns_per_s time_ns soft_ns thread_ns proposal\n");
	while ((desc = irq_load_next_desc(desc)))
		irqs_show_one(m, desc, usable);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(irqs);

static int __init irq_balance_debugfs_init(void)
{
	struct dentry *dir = debugfs_create_dir("irq_balance", NULL);

	debugfs_create_file("stats", 0444, dir, NULL, &stats_fops);
	debugfs_create_file("cpus", 0444, dir, NULL, &cpus_fops);
	debugfs_create_file("irqs", 0400, dir, NULL, &irqs_fops);
	return 0;
}
late_initcall(irq_balance_debugfs_init);
