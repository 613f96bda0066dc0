// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt balancer's files in sysfs. Values are checked and shown here;
 * the code behind them is elsewhere.
 *
 *   /sys/kernel/irq_balance/		state and settings
 *   /sys/kernel/irq_balance/interrupts/	how many may be moved, or why not
 *   /sys/kernel/irq_balance/stats/	counters since boot
 *   /sys/kernel/irq/N/			one interrupt
 */
#define pr_fmt(fmt) "irq_balance: " fmt

#include <linux/init.h>
#include <linux/irq.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "../internals.h"
#include "core.h"

static ssize_t state_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", irq_balance_mode_name(irq_balance_get_mode()));
}

static ssize_t state_store(struct kobject *kobj, struct kobj_attribute *attr,
			   const char *buf, size_t count)
{
	enum irq_balance_mode mode;
	int ret;

	for (mode = 0; mode < IRQ_BALANCE_NR_MODES; mode++) {
		if (sysfs_streq(buf, irq_balance_mode_name(mode))) {
			ret = irq_balance_set_mode(mode);
			return ret ? : count;
		}
	}
	pr_err_ratelimited("state: expected off, observe or on\n");
	return -EINVAL;
}

static struct kobj_attribute irq_balance_state_attr = __ATTR_RW(state);

static ssize_t cpus_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return irq_balance_show_cpus(buf);
}

static ssize_t cpus_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *buf, size_t count)
{
	int ret = irq_balance_set_cpus(buf, "");

	if (ret)
		return ret;
	irq_balance_restrict();
	return count;
}

static struct kobj_attribute irq_balance_cpus_attr = __ATTR_RW(cpus);

static ssize_t ban_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return irq_balance_show_bans(buf);
}

static ssize_t ban_store(struct kobject *kobj, struct kobj_attribute *attr,
			 const char *buf, size_t count)
{
	int ret = irq_balance_set_bans(buf, "");

	if (ret)
		return ret;
	irq_balance_restrict();
	return count;
}

static struct kobj_attribute irq_balance_ban_attr = __ATTR_RW(ban);

static ssize_t rebalance_store(struct kobject *kobj, struct kobj_attribute *attr,
			       const char *buf, size_t count)
{
	int ret = sysfs_streq(buf, "1") ? irq_balance_rebalance() : -EINVAL;

	if (ret == -EINVAL)
		pr_err_ratelimited("rebalance: expected 1, and state observe or on\n");
	return ret ? : count;
}

static struct kobj_attribute irq_balance_rebalance_attr = __ATTR_WO(rebalance);

static ssize_t proposal_gain_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", irq_balance_proposal_gain());
}

static struct kobj_attribute irq_balance_gain_attr = __ATTR_RO(proposal_gain);

static struct attribute *irq_balance_attrs[] = {
	&irq_balance_cpus_attr.attr,
	&irq_balance_ban_attr.attr,
	&irq_balance_rebalance_attr.attr,
	&irq_balance_gain_attr.attr,
	&irq_balance_state_attr.attr,
	NULL
};

static const struct attribute_group irq_balance_group = {
	.attrs = irq_balance_attrs,
};

/* A setting: a file for each row of irq_balance_knobs[] */
struct irq_balance_knob_attr {
	struct kobj_attribute		attr;
	const struct irq_balance_knob	*knob;
};

static ssize_t irq_balance_knob_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct irq_balance_knob *knob = container_of(attr, struct irq_balance_knob_attr,
							   attr)->knob;
	u32 value = READ_ONCE(*(u32 *)((void *)&irq_balance_settings + knob->offset));

	if (knob->offset == offsetof(struct irq_balance_settings, policy))
		return sysfs_emit(buf, "%s\n", irq_balance_policy_name(value));
	return sysfs_emit(buf, "%u\n", value);
}

static ssize_t irq_balance_knob_store(struct kobject *kobj, struct kobj_attribute *attr,
				      const char *buf, size_t count)
{
	const struct irq_balance_knob *knob = container_of(attr, struct irq_balance_knob_attr,
							   attr)->knob;
	int ret;

	scoped_guard(mutex, &irq_balance_pass_mutex)
		ret = irq_balance_put_text(&irq_balance_settings, knob, buf, "");
	if (ret)
		return ret;
	irq_balance_replan();
	return count;
}

/* A counter: name and place in struct irq_balance_stats */
struct irq_balance_stat_attr {
	struct kobj_attribute	attr;
	size_t			offset;
};

static ssize_t irq_balance_stat_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	size_t offset = container_of(attr, struct irq_balance_stat_attr, attr)->offset;

	guard(mutex)(&irq_balance_pass_mutex);
	return sysfs_emit(buf, "%llu\n", *(u64 *)((void *)&irq_balance_stats + offset));
}

#define IRQ_BALANCE_STAT(_name, _member)						\
static struct irq_balance_stat_attr irq_balance_stat_##_name = {			\
	.attr	= __ATTR(_name, 0444, irq_balance_stat_show, NULL),			\
	.offset	= offsetof(struct irq_balance_stats, _member),				\
}

IRQ_BALANCE_STAT(passes, passes);
IRQ_BALANCE_STAT(moves_imbalance, moves[IRQ_BALANCE_WHY_IMBALANCE]);
IRQ_BALANCE_STAT(moves_capacity, moves[IRQ_BALANCE_WHY_CAPACITY]);
IRQ_BALANCE_STAT(moves_locality, moves[IRQ_BALANCE_WHY_LOCALITY]);
IRQ_BALANCE_STAT(moves_affinity, moves[IRQ_BALANCE_WHY_AFFINITY]);
IRQ_BALANCE_STAT(moves_rotate, moves[IRQ_BALANCE_WHY_ROTATE]);
IRQ_BALANCE_STAT(moves_compact, moves[IRQ_BALANCE_WHY_COMPACT]);
IRQ_BALANCE_STAT(failed_busy, busy);
IRQ_BALANCE_STAT(failed_no_vector, no_vector);
IRQ_BALANCE_STAT(failed_expired, expired);
IRQ_BALANCE_STAT(failed_cancelled, cancelled);
IRQ_BALANCE_STAT(failed_other, failed);

static ssize_t cpu_time_ns_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", irq_balance_cpu_time_ns());
}

static struct kobj_attribute irq_balance_cpu_time_attr = __ATTR_RO(cpu_time_ns);

static struct attribute *irq_balance_stat_attrs[] = {
	&irq_balance_stat_passes.attr.attr,
	&irq_balance_stat_moves_imbalance.attr.attr,
	&irq_balance_stat_moves_capacity.attr.attr,
	&irq_balance_stat_moves_locality.attr.attr,
	&irq_balance_stat_moves_affinity.attr.attr,
	&irq_balance_stat_moves_rotate.attr.attr,
	&irq_balance_stat_moves_compact.attr.attr,
	&irq_balance_stat_failed_busy.attr.attr,
	&irq_balance_stat_failed_no_vector.attr.attr,
	&irq_balance_stat_failed_expired.attr.attr,
	&irq_balance_stat_failed_cancelled.attr.attr,
	&irq_balance_stat_failed_other.attr.attr,
	&irq_balance_cpu_time_attr.attr,
	NULL
};

static const struct attribute_group irq_balance_stat_group = {
	.name	= "stats",
	.attrs	= irq_balance_stat_attrs,
};

static const char * const irq_balance_fixed_names[] = {
	[IRQ_BALANCE_MOVABLE]		= "movable",
	[IRQ_BALANCE_UNUSED]		= "unused",
	[IRQ_BALANCE_CHAINED]		= "chained",
	[IRQ_BALANCE_NMI]		= "nmi",
	[IRQ_BALANCE_NESTED]		= "nested",
	[IRQ_BALANCE_PER_CPU]		= "per-cpu",
	[IRQ_BALANCE_MANAGED]		= "managed",
	[IRQ_BALANCE_NO_BALANCING]	= "no-balancing",
	[IRQ_BALANCE_NO_AFFINITY]	= "no-affinity",
	[IRQ_BALANCE_STOPPED]		= "stopped",
	[IRQ_BALANCE_FORWARDED]		= "forwarded",
	[IRQ_BALANCE_REDIRECTED]	= "redirected",
	[IRQ_BALANCE_CHIP]		= "chip",
	[IRQ_BALANCE_OPTED_OUT]		= "opted-out",
	[IRQ_BALANCE_POLLED]		= "polled",
	[IRQ_BALANCE_USER_MOVE]		= "user-move",
	[IRQ_BALANCE_BANNED]		= "banned",
	[IRQ_BALANCE_PINNED]		= "pinned",
	[IRQ_BALANCE_HELD]		= "held",
};

static_assert(ARRAY_SIZE(irq_balance_fixed_names) == IRQ_BALANCE_NR_FIXED);

/* Interrupts by status: a file for each row of irq_balance_fixed_names[] */
struct irq_balance_count_attr {
	struct kobj_attribute	attr;
	enum irq_balance_fixed	why;
};

static ssize_t irq_balance_count_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	int ret = irq_balance_count(container_of(attr, struct irq_balance_count_attr, attr)->why);

	return ret < 0 ? ret : sysfs_emit(buf, "%d\n", ret);
}

/* One interrupt: the files are added by irqdesc.c to what it has */
static struct irq_desc *irq_balance_to_desc(struct kobject *kobj)
{
	return container_of(kobj, struct irq_desc, kobj);
}

static ssize_t balance_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct irq_balance_desc *b = READ_ONCE(irq_balance_to_desc(kobj)->balance);

	return sysfs_emit(buf, "%d\n", !(b && READ_ONCE(b->opted_out)));
}

static ssize_t balance_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	struct irq_desc *desc = irq_balance_to_desc(kobj);
	u8 balance;

	if (kstrtou8(buf, 10, &balance) || balance > 1) {
		pr_err_ratelimited("irq/%u/balance: expected 0 or 1\n", irq_desc_get_irq(desc));
		return -EINVAL;
	}
	if (!irq_balance_alloc(desc))
		return -ENOMEM;

	scoped_guard(raw_spinlock_irq, &desc->lock) {
		desc->balance->opted_out = !balance;
		if (!balance)
			irq_balance_cancel(desc);
	}
	irq_balance_replan();
	return count;
}

static struct kobj_attribute irq_balance_balance_attr = __ATTR_RW(balance);

static ssize_t balance_status_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	enum irq_balance_fixed why;
	int ret = irq_balance_status(irq_balance_to_desc(kobj), &why);

	return ret ? : sysfs_emit(buf, "%s\n", irq_balance_fixed_names[why]);
}

static struct kobj_attribute irq_balance_status_attr = __ATTR_RO(balance_status);

static ssize_t balance_reason_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct irq_balance_state *state = irq_balance_peek_state(irq_balance_to_desc(kobj));
	u8 reason = state ? READ_ONCE(state->reason) : IRQ_BALANCE_WHY_NONE;

	return sysfs_emit(buf, "%s\n", irq_balance_why_name(reason));
}

static struct kobj_attribute irq_balance_reason_attr = __ATTR_RO(balance_reason);

static ssize_t balance_why_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct irq_balance_state *state = irq_balance_peek_state(irq_balance_to_desc(kobj));
	u8 why = state ? READ_ONCE(state->why) : IRQ_BALANCE_WHY_NONE;

	return sysfs_emit(buf, "%s\n", irq_balance_why_name(why));
}

static struct kobj_attribute irq_balance_why_attr = __ATTR_RO(balance_why);

static ssize_t balance_moved_ms_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct irq_balance_state *state = irq_balance_peek_state(irq_balance_to_desc(kobj));

	u64 moved = state ? READ_ONCE(state->moved) : 0;

	return sysfs_emit(buf, "%llu\n", div_u64(moved, NSEC_PER_MSEC));
}

static struct kobj_attribute irq_balance_moved_attr = __ATTR_RO(balance_moved_ms);

static ssize_t balance_moved_from_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct irq_balance_entry *entry = irq_balance_peek_entry(irq_balance_to_desc(kobj));

	if (!entry || !READ_ONCE(entry->state.moved))
		return sysfs_emit(buf, "\n");
	return sysfs_emit(buf, "%u\n", READ_ONCE(entry->from));
}

static struct kobj_attribute irq_balance_from_attr = __ATTR_RO(balance_moved_from);

static ssize_t balance_proposal_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct irq_balance_entry *entry = irq_balance_peek_entry(irq_balance_to_desc(kobj));
	unsigned int proposal = entry ? READ_ONCE(entry->proposal) : 0;

	return proposal ? sysfs_emit(buf, "%u\n", proposal - 1) : sysfs_emit(buf, "\n");
}

static struct kobj_attribute irq_balance_proposal_attr = __ATTR_RO(balance_proposal);

static ssize_t load_ns_per_s_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", irq_balance_load_of_irq(irq_balance_to_desc(kobj)));
}

static struct kobj_attribute irq_balance_load_attr = __ATTR_RO(load_ns_per_s);

/* What an interrupt has cost: name and place in struct irq_load */
struct irq_balance_load_attr {
	struct kobj_attribute	attr;
	size_t			offset;
};

static ssize_t irq_balance_load_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	size_t offset = container_of(attr, struct irq_balance_load_attr, attr)->offset;
	struct irq_desc *desc = irq_balance_to_desc(kobj);
	struct irq_load load;

	scoped_guard(raw_spinlock_irq, &desc->lock)
		irq_load_peek(desc, &load);
	return sysfs_emit(buf, "%llu\n", *(u64 *)((void *)&load + offset));
}

#define IRQ_BALANCE_LOAD(_name, _member)						\
static struct irq_balance_load_attr irq_balance_##_name = {				\
	.attr	= __ATTR(_name, 0444, irq_balance_load_show, NULL),			\
	.offset	= offsetof(struct irq_load, _member),				\
}

IRQ_BALANCE_LOAD(load_time_ns, time_ns);
IRQ_BALANCE_LOAD(load_soft_ns, soft_ns);
IRQ_BALANCE_LOAD(load_thread_ns, thread_ns);

static struct attribute *irq_balance_irq_attrs[] = {
	&irq_balance_balance_attr.attr,
	&irq_balance_status_attr.attr,
	&irq_balance_why_attr.attr,
	&irq_balance_reason_attr.attr,
	&irq_balance_moved_attr.attr,
	&irq_balance_from_attr.attr,
	&irq_balance_proposal_attr.attr,
	&irq_balance_load_attr.attr,
	&irq_balance_load_time_ns.attr.attr,
	&irq_balance_load_soft_ns.attr.attr,
	&irq_balance_load_thread_ns.attr.attr,
	NULL
};

const struct attribute_group irq_balance_irq_group = {
	.attrs = irq_balance_irq_attrs,
};

/* The load map: a directory for each CPU */
struct irq_balance_cpu_dir {
	struct kobject	kobj;
	unsigned int	cpu;
};

static void irq_balance_cpu_load(struct kobject *kobj, u64 *load, u64 *base)
{
	irq_balance_load_of_cpu(container_of(kobj, struct irq_balance_cpu_dir, kobj)->cpu,
				load, base);
}

static ssize_t cpu_load_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	u64 load, base;

	irq_balance_cpu_load(kobj, &load, &base);
	return sysfs_emit(buf, "%llu\n", load);
}

static struct kobj_attribute irq_balance_cpu_load_attr =
	__ATTR(load_ns_per_s, 0444, cpu_load_show, NULL);

static ssize_t cpu_base_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	u64 load, base;

	irq_balance_cpu_load(kobj, &load, &base);
	return sysfs_emit(buf, "%llu\n", base);
}

static struct kobj_attribute irq_balance_cpu_base_attr =
	__ATTR(base_ns_per_s, 0444, cpu_base_show, NULL);

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

/* A directory for each possible CPU; they are never removed, as the parent is not */
static int __init irq_balance_add_cpus(struct kobject *parent)
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

static int __init irq_balance_add_knobs(struct kobject *kobj)
{
	struct irq_balance_knob_attr *attrs;
	unsigned int i;
	int ret = 0;

	/* Never freed, there is no way to remove the directory */
	attrs = kcalloc(irq_balance_nr_knobs, sizeof(*attrs), GFP_KERNEL);
	if (!attrs)
		return -ENOMEM;

	for (i = 0; i < irq_balance_nr_knobs && !ret; i++) {
		struct kobj_attribute *attr = &attrs[i].attr;

		attrs[i].knob = &irq_balance_knobs[i];
		sysfs_attr_init(&attr->attr);
		attr->attr.name = irq_balance_knobs[i].name;
		attr->attr.mode = 0644;
		attr->show = irq_balance_knob_show;
		attr->store = irq_balance_knob_store;
		ret = sysfs_create_file(kobj, &attr->attr);
	}
	return ret;
}

static int __init irq_balance_add_counts(struct kobject *parent)
{
	struct kobject *kobj = kobject_create_and_add("interrupts", parent);
	struct irq_balance_count_attr *attrs;
	unsigned int i;
	int ret = 0;

	attrs = kcalloc(IRQ_BALANCE_NR_FIXED, sizeof(*attrs), GFP_KERNEL);
	if (!kobj || !attrs)
		return -ENOMEM;

	for (i = 0; i < IRQ_BALANCE_NR_FIXED && !ret; i++) {
		struct kobj_attribute *attr = &attrs[i].attr;

		attrs[i].why = i;
		sysfs_attr_init(&attr->attr);
		attr->attr.name = irq_balance_fixed_names[i];
		attr->attr.mode = 0444;
		attr->show = irq_balance_count_show;
		ret = sysfs_create_file(kobj, &attr->attr);
	}
	return ret;
}

static int __init irq_balance_sysfs_init(void)
{
	struct kobject *kobj = kobject_create_and_add("irq_balance", kernel_kobj);
	int ret;

	if (!kobj)
		return -ENOMEM;

	ret = irq_balance_add_knobs(kobj);
	if (!ret)
		ret = irq_balance_add_counts(kobj);
	if (!ret)
		ret = sysfs_create_group(kobj, &irq_balance_stat_group);
	if (!ret)
		ret = irq_balance_add_cpus(kobj);
	/* Created last: its presence means that the directory is complete */
	if (!ret)
		ret = sysfs_create_group(kobj, &irq_balance_group);
	if (ret)
		kobject_put(kobj);
	return ret;
}
late_initcall_sync(irq_balance_sysfs_init);
