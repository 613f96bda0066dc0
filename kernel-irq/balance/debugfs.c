// SPDX-License-Identifier: GPL-2.0
/* Interrupt balancing: statistics in /sys/kernel/debug/irq_balance/ */
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/seq_file.h>

#include "core.h"
#include "state.h"

static int stats_show(struct seq_file *m, void *unused)
{
	const struct irq_balance_map *map = &irq_balance_map;
	u64 before, gain;

	guard(mutex)(&irq_balance_pass_mutex);
	before = map->policy.before;
	gain = before - min(before, map->policy.after);
	seq_printf(m, "passes %llu\n", map->passes);
#define SHOW_MOVES(name, word)	\
	seq_printf(m, "moves_" word " %llu\n", map->moves[IRQ_BALANCE_WHY_##name]);
	IRQ_BALANCE_WHYS_MOVE(SHOW_MOVES)
	seq_printf(m, "failed %llu\n", map->failed);
	seq_printf(m, "proposal_gain %llu\n", before ? div64_u64(1000 * gain, before) : 0);
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

static int __init irq_balance_debugfs_init(void)
{
	struct dentry *dir = debugfs_create_dir("irq_balance", NULL);

	debugfs_create_file("stats", 0444, dir, NULL, &stats_fops);
	debugfs_create_file("cpus", 0444, dir, NULL, &cpus_fops);
	return 0;
}
late_initcall(irq_balance_debugfs_init);
