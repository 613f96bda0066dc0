// SPDX-License-Identifier: GPL-2.0
/* The load map in sysfs: /sys/kernel/irq_balance/cpu<N>/ */
#include <linux/cpumask.h>
#include <linux/irq.h>
#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "internals.h"
#include "balance.h"

struct irq_balance_cpu_dir {
	struct kobject	kobj;
	unsigned int	cpu;
};

static void irq_balance_cpu_load(struct kobject *kobj, u64 *load, u64 *base)
{
	irq_balance_load_of_cpu(container_of(kobj, struct irq_balance_cpu_dir, kobj)->cpu,
				load, base);
}

static ssize_t load_ns_per_s_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	u64 load, base;

	irq_balance_cpu_load(kobj, &load, &base);
	return sysfs_emit(buf, "%llu\n", load);
}

static struct kobj_attribute irq_balance_cpu_load_attr = __ATTR_RO(load_ns_per_s);

static ssize_t base_ns_per_s_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	u64 load, base;

	irq_balance_cpu_load(kobj, &load, &base);
	return sysfs_emit(buf, "%llu\n", base);
}

static struct kobj_attribute irq_balance_cpu_base_attr = __ATTR_RO(base_ns_per_s);

static struct attribute *irq_balance_cpu_attrs[] = {
	&irq_balance_cpu_load_attr.attr,
	&irq_balance_cpu_base_attr.attr,
	NULL
};
ATTRIBUTE_GROUPS(irq_balance_cpu);

static void irq_balance_cpu_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct irq_balance_cpu_dir, kobj));
}

static const struct kobj_type irq_balance_cpu_type = {
	.release	= irq_balance_cpu_release,
	.sysfs_ops	= &kobj_sysfs_ops,
	.default_groups	= irq_balance_cpu_groups,
};

/**
 * irq_balance_add_cpus - Make a directory for each possible CPU
 * @parent:	where
 *
 * They are never removed, as the parent is not.
 *
 * Context: process context, may sleep.
 *
 * Return: 0 or -errno
 */
int irq_balance_add_cpus(struct kobject *parent)
{
	struct irq_balance_cpu_dir *dir;
	unsigned int cpu;
	int ret;

	for_each_possible_cpu(cpu) {
		dir = kzalloc_obj(*dir);
		if (!dir)
			return -ENOMEM;
		dir->cpu = cpu;
		ret = kobject_init_and_add(&dir->kobj, &irq_balance_cpu_type, parent, "cpu%u", cpu);
		if (ret) {
			kobject_put(&dir->kobj);
			return ret;
		}
	}
	return 0;
}
