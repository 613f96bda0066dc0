// SPDX-License-Identifier: GPL-2.0
/*
 * Choice of the order in which the 8259A pair serves its lines.
 *
 * The user sets an order with the boot parameter i8259_priority= or in
 * /sys/kernel/i8259_priority/, or `auto` computes the best one from the measured
 * load. i8259_order.c defines the orders and has the computation.
 *
 * None of this code runs when an interrupt is served. mask_and_ack_8259A() masks
 * the line and sends the EOI before the handlers run, so the order matters only
 * for lines that wait together while interrupts are off, in a handler or
 * elsewhere. Neither the specific EOIs nor auto-EOI change the order. ICW1 resets
 * it, so init_8259A() calls i8259_priority_restore(). A spurious interrupt is
 * line 7 or 15 in any order.
 *
 * Locking: the order in force is written under both i8259_priority_mutex and
 * i8259A_lock and read under either. The mutex protects all other state. The
 * boot parameter is read before concurrent access is possible.
 */
#define pr_fmt(fmt) "i8259_priority: " fmt

#include <linux/bitops.h>
#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/kernel_stat.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <linux/sprintf.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include <asm/i8259.h>

#include "i8259_order.h"

#define I8259_CHOICE_USAGE	"MASTER[,SLAVE] (MASTER 0..7, SLAVE 8..15), auto, off or default"

/* Seconds between two passes of the measuring: default and upper limit */
#define I8259_INTERVAL_DEFAULT	10
#define I8259_INTERVAL_MAX	3600

static void i8259_measure_pass(struct work_struct *work);

static DEFINE_MUTEX(i8259_priority_mutex);

/* The order in force, and its source */
static struct i8259_order i8259_order = I8259_ORDER_DEFAULT;
static enum i8259_mode i8259_mode;

/*
 * Measuring runs for `auto`, or for the user if i8259_measure is set. The timer is
 * deferrable, so that it wakes no idle CPU.
 */
static DECLARE_DEFERRABLE_WORK(i8259_measure_work, i8259_measure_pass);
static bool i8259_measure;
static bool i8259_measuring;
static unsigned int i8259_interval = I8259_INTERVAL_DEFAULT;
static unsigned int i8259_passes;
static u64 i8259_pass_time;
static u32 i8259_count[I8259_NR_LINES];
static struct i8259_line i8259_lines[I8259_NR_LINES];
static unsigned int i8259_worse;

static void i8259_priority_write(struct i8259_order order)
{
	lockdep_assert_held(&i8259A_lock);

	outb(i8259_ocw2_first(order.master), PIC_MASTER_CMD);
	outb(i8259_ocw2_first(order.slave), PIC_SLAVE_CMD);
}

/**
 * i8259_priority_restore() - Set the chosen order after ICW1 has reset it
 *
 * Does nothing if the default order is in force, which ICW1 has set.
 *
 * Context: any, interrupts disabled, i8259A_lock held.
 */
void i8259_priority_restore(void)
{
	lockdep_assert_held(&i8259A_lock);

	if (!i8259_order_equal(i8259_order, I8259_ORDER_DEFAULT))
		i8259_priority_write(i8259_order);
}

static void i8259_priority_set(struct i8259_order order)
{
	lockdep_assert_held(&i8259_priority_mutex);

	guard(raw_spinlock_irqsave)(&i8259A_lock);
	i8259_order = order;
	i8259_priority_write(order);
}

/* The order has an effect on lines that are routed through the 8259A. */
static bool i8259_is_pic_line(unsigned int irq)
{
	return irq != I8259_CASCADE && irq_get_chip(irq) == &i8259A_chip;
}

static unsigned long i8259_pic_lines(void)
{
	unsigned long lines = 0;

	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		if (i8259_is_pic_line(irq))
			lines |= BIT(irq);
	}
	return lines;
}

/* Log the order, and the lines on which it has no effect. */
static void i8259_priority_report(void)
{
	unsigned long other = ~i8259_pic_lines() & GENMASK(I8259_NR_LINES - 1, 0) &
			      ~BIT(I8259_CASCADE);

	lockdep_assert_held(&i8259_priority_mutex);

	pr_info("%s: order %u,%u\n", i8259_mode == I8259_MODE_AUTO ? "auto" : "set",
		i8259_order.master, i8259_order.slave);
	if (hweight_long(other) == I8259_NR_DEVICES)
		pr_warn("no interrupt is routed through the 8259A (but through the IO-APIC): nothing will change\n");
	else if (other)
		pr_info("nothing will change for IRQ %*pbl, which are not routed through the 8259A\n",
			I8259_NR_LINES, &other);
}

static int i8259_priority_present(void)
{
	if (has_legacy_pic())
		return 0;
	pr_warn("there is no 8259A: nothing will change\n");
	return -ENODEV;
}

/* Read the load of the lines. Rates are known from the second pass on. */
static void i8259_measure_lines(void)
{
	u64 now = ktime_get_ns(), elapsed = now - i8259_pass_time;

	lockdep_assert_held(&i8259_priority_mutex);

	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		struct i8259_line *line = &i8259_lines[irq];
		u32 count = kstat_irqs_usr(irq), longest = irq_load_take_max(irq);

		if (!i8259_is_pic_line(irq)) {
			line->used = false;
			continue;
		}
		if (i8259_passes)
			line->rate_hz = i8259_rate_update(line->rate_hz,
							  count - i8259_count[irq], elapsed);
		/* No sample says nothing */
		if (longest)
			line->cost_us = max_t(u32, DIV_ROUND_UP_ULL(longest, NSEC_PER_USEC),
					      line->cost_us / 2);
		line->used = line->rate_hz;
		i8259_count[irq] = count;
	}
	i8259_pass_time = now;
	if (i8259_passes < UINT_MAX)
		i8259_passes++;
}

static void i8259_auto_pass(void)
{
	struct i8259_order next, old = i8259_order;
	u32 before, after;

	lockdep_assert_held(&i8259_priority_mutex);

	if (!i8259_auto_step(&i8259_worse, old, i8259_lines, &next))
		return;

	before = i8259_ratio_permille(i8259_order_worst(old, i8259_lines, NULL));
	after = i8259_ratio_permille(i8259_order_worst(next, i8259_lines, NULL));
	i8259_priority_set(next);
	pr_info("auto: order %u,%u -> %u,%u, worst latency/deadline %u%s -> %u%s permille\n",
		old.master, old.slave, next.master, next.slave,
		before, before == U32_MAX ? "+" : "", after, after == U32_MAX ? "+" : "");
}

static void i8259_measure_schedule(void)
{
	lockdep_assert_held(&i8259_priority_mutex);

	/*
	 * Freezable: the controllers are left alone during suspend. The timer may sleep with its
	 * CPU: CPU 0 has the interrupts of the 8259A.
	 */
	mod_delayed_work_on(0, system_freezable_wq, &i8259_measure_work,
			    secs_to_jiffies(i8259_interval));
}

static void i8259_measure_pass(struct work_struct *work)
{
	guard(mutex)(&i8259_priority_mutex);

	/* It may have been cancelled, or scheduled anew, while it waited for the mutex */
	if (!i8259_measuring || delayed_work_pending(&i8259_measure_work))
		return;

	i8259_measure_lines();
	if (i8259_mode == I8259_MODE_AUTO && i8259_passes > 1)
		i8259_auto_pass();
	i8259_measure_schedule();
}

static int i8259_measure_start(void)
{
	lockdep_assert_held(&i8259_priority_mutex);

	if (i8259_measuring)
		return 0;

	/* Measure nothing where there is nothing to gain */
	if (!i8259_pic_lines())
		return 0;

	irq_load_get();
	if (!irq_load_clock_is_good())
		pr_warn("sched_clock() is unstable or coarse: so are the costs that auto and measure use\n");

	i8259_measuring = true;
	i8259_passes = 0;
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		i8259_lines[irq].rate_hz = 0;
		i8259_lines[irq].cost_us = 0;
		/* Forget the time before */
		irq_load_take_max(irq);
	}
	i8259_measure_lines();
	i8259_measure_schedule();
	return 0;
}

/* Stop measuring unless `auto` or the user still needs it. */
static void i8259_measure_stop(void)
{
	lockdep_assert_held(&i8259_priority_mutex);

	if (!i8259_measuring || i8259_measure || i8259_mode == I8259_MODE_AUTO)
		return;

	i8259_measuring = false;
	cancel_delayed_work(&i8259_measure_work);
	irq_load_put();
}

/* Apply a choice; `auto` starts from the order in force. An error changes nothing. */
static int i8259_priority_choose(const struct i8259_choice *choice)
{
	int ret;

	lockdep_assert_held(&i8259_priority_mutex);

	ret = i8259_priority_present();
	if (ret)
		return ret;

	if (choice->mode == I8259_MODE_AUTO) {
		ret = i8259_measure_start();
		if (ret)
			return ret;
		if (i8259_mode != I8259_MODE_AUTO)
			i8259_worse = 0;
	} else {
		i8259_priority_set(choice->order);
	}

	i8259_mode = choice->mode;
	i8259_measure_stop();
	i8259_priority_report();
	return 0;
}

static ssize_t priority_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	guard(mutex)(&i8259_priority_mutex);

	switch (i8259_mode) {
	case I8259_MODE_AUTO:
		return sysfs_emit(buf, "auto\n");
	case I8259_MODE_FIXED:
		return sysfs_emit(buf, "%u,%u\n", i8259_order.master, i8259_order.slave);
	default:
		return sysfs_emit(buf, "default\n");
	}
}

static ssize_t priority_store(struct kobject *kobj, struct kobj_attribute *attr,
			      const char *buf, size_t count)
{
	struct i8259_choice choice;
	int ret;

	if (i8259_choice_parse(buf, &choice)) {
		pr_warn("priority: must be " I8259_CHOICE_USAGE "\n");
		return -EINVAL;
	}

	guard(mutex)(&i8259_priority_mutex);

	ret = i8259_priority_choose(&choice);
	return ret ?: count;
}

static struct kobj_attribute priority_attr = __ATTR_RW(priority);

/* The names of the interrupt's actions, "-" if there are none. */
static int i8259_emit_names(char *buf, int at, unsigned int irq)
{
	/* Descriptors of legacy interrupts are never freed */
	struct irq_desc *desc = irq_to_desc(irq);
	struct irqaction *action;
	int start = at;

	if (desc) {
		guard(raw_spinlock_irqsave)(&desc->lock);
		for (action = desc->action; action; action = action->next)
			at += sysfs_emit_at(buf, at, "%s%s", at == start ? "" : ",",
					    action->name ?: "?");
	}
	if (at == start)
		at += sysfs_emit_at(buf, at, "-");
	return at - start;
}

static ssize_t order_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	u8 irqs[I8259_NR_DEVICES];
	int at = 0;

	if (!has_legacy_pic())
		return -ENODEV;

	scoped_guard(mutex, &i8259_priority_mutex)
		i8259_order_irqs(i8259_order, irqs);

	for (unsigned int rank = 0; rank < I8259_NR_DEVICES; rank++) {
		at += sysfs_emit_at(buf, at, "%u %c%u ", rank,
				    irqs[rank] < 8 ? 'M' : 'S', irqs[rank] & 7);
		at += i8259_emit_names(buf, at, irqs[rank]);
		at += sysfs_emit_at(buf, at, "\n");
	}
	return at;
}

static struct kobj_attribute order_attr = __ATTR_RO(order);

static ssize_t pic_irqs_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	unsigned long lines = i8259_pic_lines();

	return sysfs_emit(buf, "%*pbl\n", I8259_NR_LINES, &lines);
}

static struct kobj_attribute pic_irqs_attr = __ATTR_RO(pic_irqs);

static ssize_t measure_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	guard(mutex)(&i8259_priority_mutex);

	return sysfs_emit(buf, "%d\n", i8259_measure);
}

static ssize_t measure_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	u8 measure;
	int ret;

	if (kstrtou8(buf, 10, &measure) || measure > 1) {
		pr_warn("measure: must be 0 or 1\n");
		return -EINVAL;
	}

	guard(mutex)(&i8259_priority_mutex);

	ret = i8259_priority_present();
	if (ret)
		return ret;

	if (measure) {
		ret = i8259_measure_start();
		if (ret)
			return ret;
	}
	i8259_measure = measure;
	i8259_measure_stop();
	return count;
}

static struct kobj_attribute measure_attr = __ATTR_RW(measure);

static ssize_t interval_s_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	guard(mutex)(&i8259_priority_mutex);

	return sysfs_emit(buf, "%u\n", i8259_interval);
}

static ssize_t interval_s_store(struct kobject *kobj, struct kobj_attribute *attr,
				const char *buf, size_t count)
{
	unsigned int interval;

	if (kstrtouint(buf, 10, &interval) || !interval || interval > I8259_INTERVAL_MAX) {
		pr_warn("interval_s: must be 1..%u\n", I8259_INTERVAL_MAX);
		return -EINVAL;
	}

	guard(mutex)(&i8259_priority_mutex);

	i8259_interval = interval;
	if (i8259_measuring)
		i8259_measure_schedule();
	return count;
}

static struct kobj_attribute interval_s_attr = __ATTR_RW(interval_s);

/* The load is valid once a whole interval was measured. */
static int i8259_measure_ready(void)
{
	lockdep_assert_held(&i8259_priority_mutex);

	return i8259_measuring && i8259_passes > 1 ? 0 : -ENODATA;
}

static ssize_t load_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	int at = 0, ret;

	guard(mutex)(&i8259_priority_mutex);

	ret = i8259_measure_ready();
	if (ret)
		return ret;

	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		const struct i8259_line *line = &i8259_lines[irq];

		if (!line->used)
			continue;
		at += sysfs_emit_at(buf, at, "irq %u %u %u", irq, line->cost_us, line->rate_hz);
		if (line->deadline_us)
			at += sysfs_emit_at(buf, at, " %u", line->deadline_us);
		at += sysfs_emit_at(buf, at, "\n");
	}
	return at;
}

static struct kobj_attribute load_attr = __ATTR_RO(load);

static ssize_t latency_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct i8259_latency latency[I8259_NR_LINES];
	int at = 0, ret;

	guard(mutex)(&i8259_priority_mutex);

	ret = i8259_measure_ready();
	if (ret)
		return ret;

	i8259_order_latency(i8259_order, i8259_lines, latency);
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		const struct i8259_latency *l = &latency[irq];

		if (l->verdict == I8259_UNBOUNDED)
			at += sysfs_emit_at(buf, at, "latency %u - unbounded\n", irq);
		else if (l->verdict != I8259_UNUSED)
			at += sysfs_emit_at(buf, at, "latency %u %llu %s\n", irq, l->us,
					    l->verdict == I8259_LATE ? "late" : "ok");
	}
	return at;
}

static struct kobj_attribute latency_attr = __ATTR_RO(latency);

static ssize_t best_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct i8259_ratio worst;
	struct i8259_order best;
	int ret;

	guard(mutex)(&i8259_priority_mutex);

	ret = i8259_measure_ready();
	if (ret)
		return ret;

	best = i8259_order_best(i8259_lines, &worst);
	return sysfs_emit(buf, "%u,%u\n", best.master, best.slave);
}

static struct kobj_attribute best_attr = __ATTR_RO(best);

static struct attribute *i8259_priority_attrs[] = {
	&priority_attr.attr,
	&order_attr.attr,
	&pic_irqs_attr.attr,
	&measure_attr.attr,
	&interval_s_attr.attr,
	&load_attr.attr,
	&latency_attr.attr,
	&best_attr.attr,
	NULL,
};

static const struct attribute_group i8259_priority_group = {
	.attrs	= i8259_priority_attrs,
};

/* deadline_us/N: one file for each device line, filled in at init */
static struct kobj_attribute i8259_deadline[I8259_NR_LINES];
static char i8259_deadline_name[I8259_NR_LINES][3];
static struct attribute *i8259_deadline_attrs[I8259_NR_DEVICES + 1];

static ssize_t deadline_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	guard(mutex)(&i8259_priority_mutex);

	return sysfs_emit(buf, "%u\n", i8259_lines[attr - i8259_deadline].deadline_us);
}

static ssize_t deadline_store(struct kobject *kobj, struct kobj_attribute *attr,
			      const char *buf, size_t count)
{
	u32 deadline_us;

	if (kstrtou32(buf, 10, &deadline_us)) {
		pr_warn("deadline_us/%s: must be 0..%u, 0 is the period\n", attr->attr.name,
			U32_MAX);
		return -EINVAL;
	}

	guard(mutex)(&i8259_priority_mutex);

	i8259_lines[attr - i8259_deadline].deadline_us = deadline_us;
	return count;
}

static void __init i8259_deadline_init(void)
{
	unsigned int nr = 0;

	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		struct kobj_attribute *attr = &i8259_deadline[irq];

		if (irq == I8259_CASCADE)
			continue;
		snprintf(i8259_deadline_name[irq], sizeof(i8259_deadline_name[irq]), "%u", irq);
		sysfs_attr_init(&attr->attr);
		attr->attr.name = i8259_deadline_name[irq];
		attr->attr.mode = 0644;
		attr->show = deadline_show;
		attr->store = deadline_store;
		i8259_deadline_attrs[nr++] = &attr->attr;
	}
}

static const struct attribute_group i8259_deadline_group = {
	.name	= "deadline_us",
	.attrs	= i8259_deadline_attrs,
};

static const struct attribute_group *i8259_priority_groups[] = {
	&i8259_priority_group,
	&i8259_deadline_group,
	NULL,
};

/* Early: init_8259A() runs long before the other parameters are read. */
static int __init i8259_priority_setup(char *str)
{
	struct i8259_choice choice;

	if (!str || i8259_choice_parse(str, &choice)) {
		pr_warn("i8259_priority=%s: must be " I8259_CHOICE_USAGE "\n", str ?: "");
		return -EINVAL;
	}

	i8259_order = choice.order;
	i8259_mode = choice.mode;
	return 0;
}
early_param("i8259_priority", i8259_priority_setup);

/* Late, when each line has its final chip, and sched_clock() may be stable. */
static int __init i8259_priority_init(void)
{
	struct i8259_choice choice;
	struct kobject *kobj;
	int ret;

	scoped_guard(mutex, &i8259_priority_mutex) {
		choice = (struct i8259_choice){ .mode = i8259_mode, .order = i8259_order };
		if (choice.mode != I8259_MODE_DEFAULT) {
			/* In force only if i8259_priority_choose() succeeds */
			i8259_mode = I8259_MODE_DEFAULT;
			if (i8259_priority_choose(&choice)) {
				guard(raw_spinlock_irqsave)(&i8259A_lock);
				i8259_order = I8259_ORDER_DEFAULT;
			}
		}
	}

	i8259_deadline_init();
	kobj = kobject_create_and_add("i8259_priority", kernel_kobj);
	if (!kobj)
		return -ENOMEM;

	ret = sysfs_create_groups(kobj, i8259_priority_groups);
	if (ret)
		kobject_put(kobj);
	return ret;
}
late_initcall_sync(i8259_priority_init);
