// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt balancer's files in sysfs
 *
 *   /sys/kernel/irq_balance/	state and settings
 *   /sys/kernel/irq/N/		one interrupt; its words are in move.h and problem.h
 */
#define pr_fmt(fmt) "irq_balance: " fmt

#include <linux/init.h>
#include <linux/irq.h>
#include <linux/kobject.h>
#include <linux/slab.h>

#include "../internals.h"
#include "collect.h"
#include "config.h"
#include "core.h"
#include "plan.h"

static ssize_t irq_balance_store(struct kobject *kobj, struct kobj_attribute *attr,
				 const char *buf, size_t count)
{
	const char *name = attr->attr.name;
	int ret = -EINVAL;

	/* Words behind a NUL would be lost */
	if (strlen(buf) != count) {
		pr_err_ratelimited("%s: expected a text, without a NUL\n", name);
	} else if (!strcmp(name, "state")) {
		ret = __sysfs_match_string(irq_balance_mode_names, IRQ_BALANCE_NR_MODES, buf);
		if (ret < 0)
			pr_err_ratelimited("state: expected off, observe or on\n");
		else
			ret = irq_balance_set_mode(ret);
	} else if (!strcmp(name, "cpus")) {
		ret = irq_balance_set_cpus(buf, "");
		if (!ret)
			irq_balance_restrict();
	} else if (!strcmp(name, "ban")) {
		ret = irq_balance_set_bans(buf, "");
		if (!ret)
			irq_balance_restrict();
	} else {
		scoped_guard(mutex, &irq_balance_pass_mutex)
			ret = irq_balance_set(&irq_balance_settings, name, buf, "");
		if (!ret)
			irq_balance_replan();
	}
	return ret ? : count;
}

static ssize_t state_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", irq_balance_mode_names[irq_balance_get_mode()]);
}

static struct kobj_attribute irq_balance_state_attr =
	__ATTR(state, 0644, state_show, irq_balance_store);

static ssize_t cpus_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	cpumask_var_t mask __free(free_cpumask_var) = CPUMASK_VAR_NULL;

	if (!alloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	irq_balance_get_cpus(mask);
	return sysfs_emit(buf, "%*pbl\n", cpumask_pr_args(mask));
}

static struct kobj_attribute irq_balance_cpus_attr =
	__ATTR(cpus, 0644, cpus_show, irq_balance_store);

static ssize_t ban_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return irq_balance_show_bans(buf);
}

static struct kobj_attribute irq_balance_ban_attr =
	__ATTR(ban, 0644, ban_show, irq_balance_store);

#define IRQ_BALANCE_SETTING_ATTR(name, ...)						\
static ssize_t name##_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)	\
{											\
	return sysfs_emit(buf, "%u\n", READ_ONCE(irq_balance_settings.name));		\
}											\
static struct kobj_attribute irq_balance_##name##_attr =				\
	__ATTR(name, 0644, name##_show, irq_balance_store);
IRQ_BALANCE_SETTINGS(IRQ_BALANCE_SETTING_ATTR)

static const struct attribute *irq_balance_attrs[] = {
#define IRQ_BALANCE_SETTING_NAME(name, ...)	&irq_balance_##name##_attr.attr,
	&irq_balance_cpus_attr.attr,
	&irq_balance_ban_attr.attr,
	IRQ_BALANCE_SETTINGS(IRQ_BALANCE_SETTING_NAME)
	NULL
};

/* One interrupt: the files are added by irqdesc.c to those that it has */
static struct irq_desc *to_desc(struct kobject *kobj)
{
	return container_of(kobj, struct irq_desc, kobj);
}

static ssize_t balance_status_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	cpumask_var_t usable __free(free_cpumask_var) = CPUMASK_VAR_NULL;
	const struct irq_balance_entry *entry = irq_balance_peek(to_desc(kobj));
	const char *word;

	if (!alloc_cpumask_var(&usable, GFP_KERNEL))
		return -ENOMEM;
	irq_balance_usable_cpus(usable);
	scoped_guard(raw_spinlock_irq, &to_desc(kobj)->lock)
		word = irq_balance_word(to_desc(kobj), usable);
	/* A move is proposed, and not made */
	if (entry && word == irq_balance_why_name(READ_ONCE(entry->state.planned)) &&
	    !irq_balance_moves())
		return sysfs_emit(buf, "%s CPU%u\n", word, READ_ONCE(entry->state.target));
	return sysfs_emit(buf, "%s\n", word);
}

static struct kobj_attribute irq_balance_status_attr = __ATTR_RO(balance_status);

static ssize_t load_ns_per_s_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct irq_balance_entry *entry;

	irq_balance_refresh();
	entry = irq_balance_peek(to_desc(kobj));
	return sysfs_emit(buf, "%llu\n", entry ? READ_ONCE(entry->state.load.mean) : 0);
}

/* Only for root: the load of a device shows what others do with it */
static struct kobj_attribute irq_balance_load_attr = __ATTR_RO_MODE(load_ns_per_s, 0400);

/* Each file takes memory for every interrupt, unused ones too: the rest is in debugfs */
static struct attribute *irq_balance_irq_attrs[] = {
	&irq_balance_status_attr.attr,
	&irq_balance_load_attr.attr,
	NULL
};

const struct attribute_group irq_balance_irq_group = {
	.attrs = irq_balance_irq_attrs,
};

static int __init irq_balance_sysfs_init(void)
{
	struct kobject *kobj = kobject_create_and_add("irq_balance", kernel_kobj);

	if (!kobj || sysfs_create_files(kobj, irq_balance_attrs))
		return -ENOMEM;
	/* Created last: its presence means that the directory is complete */
	return sysfs_create_file(kobj, &irq_balance_state_attr.attr);
}
late_initcall_sync(irq_balance_sysfs_init);
