// SPDX-License-Identifier: GPL-2.0
/*
 * Choice of the order in which the 8259A pair serves its lines.
 *
 * The user sets an order with the boot parameter i8259_priority= or in
 * /sys/kernel/i8259_priority/. i8259_order.c defines the orders.
 *
 * None of this code runs when an interrupt is served. mask_and_ack_8259A() masks
 * the line and sends the EOI before the handlers run, so the order matters only
 * for lines that wait together while interrupts are off, in a handler or
 * elsewhere. Neither the specific EOIs nor auto-EOI change the order. ICW1 resets
 * it, so init_8259A() calls i8259_priority_restore(). A spurious interrupt is
 * line 7 or 15 in any order.
 *
 * Locking: i8259A_lock protects the choice, together with the controllers. The boot
 * parameter is read before concurrent access is possible.
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
#include <linux/kobject.h>
#include <linux/lockdep.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>

#include <asm/i8259.h>

#include "i8259_order.h"

#define I8259_CHOICE_USAGE	"MASTER[,SLAVE] (MASTER 0..7, SLAVE 8..15), off or default"

static struct i8259_choice i8259_choice = { .order = I8259_ORDER_DEFAULT };

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

	if (!i8259_order_equal(i8259_choice.order, I8259_ORDER_DEFAULT))
		i8259_priority_write(i8259_choice.order);
}

static struct i8259_choice i8259_priority_read(void)
{
	guard(raw_spinlock_irqsave)(&i8259A_lock);
	return i8259_choice;
}

static int i8259_priority_present(void)
{
	if (has_legacy_pic())
		return 0;
	pr_warn("there is no 8259A: nothing will change\n");
	return -ENODEV;
}

/*
 * Log the order, and the lines on which it has no effect: those that are not routed
 * through the 8259A.
 */
static void i8259_priority_report(struct i8259_order order)
{
	unsigned long other = 0;

	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		if (irq != I8259_CASCADE && irq_get_chip(irq) != &i8259A_chip)
			other |= BIT(irq);
	}

	pr_info("set: order %u,%u\n", order.master, order.slave);
	if (hweight_long(other) == I8259_NR_DEVICES)
		pr_warn("no interrupt is routed through the 8259A (but through the IO-APIC): nothing will change\n");
	else if (other)
		pr_info("nothing will change for IRQ %*pbl, which are not routed through the 8259A\n",
			I8259_NR_LINES, &other);
}

static ssize_t priority_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct i8259_choice choice = i8259_priority_read();

	if (!choice.fixed)
		return sysfs_emit(buf, "default\n");
	return sysfs_emit(buf, "%u,%u\n", choice.order.master, choice.order.slave);
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

	ret = i8259_priority_present();
	if (ret)
		return ret;

	scoped_guard(raw_spinlock_irqsave, &i8259A_lock) {
		i8259_choice = choice;
		i8259_priority_write(choice.order);
	}
	i8259_priority_report(choice.order);
	return count;
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

	i8259_order_irqs(i8259_priority_read().order, irqs);
	for (unsigned int rank = 0; rank < I8259_NR_DEVICES; rank++) {
		at += sysfs_emit_at(buf, at, "%u %c%u ", rank,
				    irqs[rank] < 8 ? 'M' : 'S', irqs[rank] & 7);
		at += i8259_emit_names(buf, at, irqs[rank]);
		at += sysfs_emit_at(buf, at, "\n");
	}
	return at;
}

static struct kobj_attribute order_attr = __ATTR_RO(order);

static const struct attribute * const i8259_priority_attrs[] = {
	&priority_attr.attr,
	&order_attr.attr,
	NULL,
};

/* Early: init_8259A() runs long before the other parameters are read. */
static int __init i8259_priority_setup(char *str)
{
	if (!str || i8259_choice_parse(str, &i8259_choice)) {
		pr_warn("i8259_priority=%s: must be " I8259_CHOICE_USAGE "\n", str ?: "");
		return -EINVAL;
	}
	return 0;
}
early_param("i8259_priority", i8259_priority_setup);

/* Late, when each line has its final chip. */
static int __init i8259_priority_init(void)
{
	struct i8259_choice choice = i8259_priority_read();
	struct kobject *kobj;
	int ret;

	/* init_8259A() has set the order, if there is an 8259A */
	if (choice.fixed) {
		if (i8259_priority_present())
			i8259_choice = (struct i8259_choice){ .order = I8259_ORDER_DEFAULT };
		else
			i8259_priority_report(choice.order);
	}

	kobj = kobject_create_and_add("i8259_priority", kernel_kobj);
	if (!kobj)
		return -ENOMEM;

	ret = sysfs_create_files(kobj, i8259_priority_attrs);
	if (ret)
		kobject_put(kobj);
	return ret;
}
late_initcall_sync(i8259_priority_init);
