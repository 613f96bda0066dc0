// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time of interrupts: /sys/kernel/debug/irq_load
 *
 * Time is measured while the file is open, and shown as it is by the time of the reading: all
 * that was measured since boot. So the difference of two readings is the load meanwhile.
 */
#include <linux/debugfs.h>
#include <linux/irq.h>
#include <linux/seq_file.h>

#include "internals.h"

static int irq_load_show(struct seq_file *m, void *unused)
{
	struct irq_desc *desc = NULL;
	struct irq_load load;

	seq_puts(m, "irq cpu hard_ns soft_ns thread_ns\n");
	while ((desc = irq_load_next_desc(desc))) {
		scoped_guard(raw_spinlock_irq, &desc->lock)
			irq_load_peek(desc, &load);
		/* Something was charged */
		if (load.cpu < nr_cpu_ids)
			seq_printf(m, "%3u %3u %13llu %13llu %13llu\n", irq_desc_get_irq(desc),
				   load.cpu, load.time_ns, load.soft_ns, load.thread_ns);
	}
	return 0;
}

static int irq_load_open(struct inode *inode, struct file *file)
{
	int ret = single_open(file, irq_load_show, NULL);

	if (!ret)
		irq_load_get();
	return ret;
}

static int irq_load_release(struct inode *inode, struct file *file)
{
	irq_load_put();
	return single_release(inode, file);
}

static const struct file_operations irq_load_fops = {
	.open		= irq_load_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= irq_load_release,
};

static int __init irq_load_debugfs_init(void)
{
	debugfs_create_file("irq_load", 0400, NULL, NULL, &irq_load_fops);
	return 0;
}
late_initcall(irq_load_debugfs_init);
