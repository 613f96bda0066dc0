// SPDX-License-Identifier: GPL-2.0
/*
 * Writes the affinity mask of an interrupt as drivers do: one CPU, and the hint with it.
 *
 * In /sys/module/driver_mask/parameters/:
 *   cpu	writing it is the driver's choice of a CPU
 *   writes	writing N makes N choices, of one online CPU after the other
 *   notified	the mask that the driver was last notified of
 */
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/sysfs.h>

static unsigned int irq;
module_param(irq, uint, 0444);

static struct cpumask notified_mask;
static DEFINE_SPINLOCK(lock);

static void driver_notified(struct irq_affinity_notify *notify, const cpumask_t *mask)
{
	guard(spinlock)(&lock);
	cpumask_copy(&notified_mask, mask);
}

static void driver_release(struct kref *kref) { }

static struct irq_affinity_notify driver_notify = {
	.notify		= driver_notified,
	.release	= driver_release,
};

static int cpu_set(const char *text, const struct kernel_param *kp)
{
	unsigned int cpu;
	int ret = kstrtouint(text, 10, &cpu);

	if (ret || cpu >= nr_cpu_ids || !cpu_online(cpu))
		return ret ? : -EINVAL;
	return irq_set_affinity_and_hint(irq, cpumask_of(cpu));
}

static int writes_set(const char *text, const struct kernel_param *kp)
{
	unsigned int n, cpu = 0;
	int ret = kstrtouint(text, 10, &n);

	for (; !ret && n; n--) {
		cpu = cpumask_next_wrap(cpu, cpu_online_mask);
		ret = irq_set_affinity_and_hint(irq, cpumask_of(cpu));
		cond_resched();
	}
	return ret;
}

static int notified_get(char *buffer, const struct kernel_param *kp)
{
	guard(spinlock)(&lock);
	return sysfs_emit(buffer, "%*pbl\n", cpumask_pr_args(&notified_mask));
}

static const struct kernel_param_ops cpu_ops = { .set = cpu_set };
module_param_cb(cpu, &cpu_ops, NULL, 0200);
static const struct kernel_param_ops writes_ops = { .set = writes_set };
module_param_cb(writes, &writes_ops, NULL, 0200);
static const struct kernel_param_ops notified_ops = { .get = notified_get };
module_param_cb(notified, &notified_ops, NULL, 0444);

static int __init driver_mask_init(void)
{
	return irq_set_affinity_notifier(irq, &driver_notify);
}

static void __exit driver_mask_exit(void)
{
	irq_update_affinity_hint(irq, NULL);
	irq_set_affinity_notifier(irq, NULL);
}

module_init(driver_mask_init);
module_exit(driver_mask_exit);
MODULE_DESCRIPTION("Writes affinity masks as drivers do");
MODULE_LICENSE("GPL");
