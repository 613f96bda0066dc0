// SPDX-License-Identifier: GPL-2.0
/*
 * Each of QEMU's "edu" devices raises rate interrupts per second, whose handlers
 * take cost_us. A device raises the next interrupt after the previous one was
 * handled, so the numbers of raised and handled interrupts have to be equal in the end.
 *
 * The timers run on CPU0.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/smp.h>

#define EDU_STATUS	0x24
#define EDU_RAISE	0x60
#define EDU_ACK		0x64

static unsigned int rate = 500;
module_param(rate, uint, 0444);
static unsigned int cost_us = 300;
module_param(cost_us, uint, 0444);
static bool run;
module_param(run, bool, 0644);

static struct beat {
	void __iomem	*regs;
	struct hrtimer	timer;
	unsigned long	raised;
	unsigned long	handled;
} beats[8];
static unsigned int nr_beats;

static int sum(char *buffer, const struct kernel_param *kp)
{
	unsigned long total = 0;
	unsigned int i;

	for (i = 0; i < nr_beats; i++)
		total += READ_ONCE(*(unsigned long *)((void *)&beats[i] + (long)kp->arg));
	return sysfs_emit(buffer, "%lu\n", total);
}

static const struct kernel_param_ops sum_ops = { .get = sum };
module_param_cb(raised, &sum_ops, (void *)offsetof(struct beat, raised), 0444);
module_param_cb(handled, &sum_ops, (void *)offsetof(struct beat, handled), 0444);

static enum hrtimer_restart beat_fire(struct hrtimer *timer)
{
	struct beat *b = container_of(timer, struct beat, timer);

	/* Pairs with beat_handler() */
	if (READ_ONCE(run) && b->raised == smp_load_acquire(&b->handled)) {
		WRITE_ONCE(b->raised, b->raised + 1);
		writel(1, b->regs + EDU_RAISE);
	}
	hrtimer_forward_now(timer, NSEC_PER_SEC / rate);
	return HRTIMER_RESTART;
}

static irqreturn_t beat_handler(int irq, void *dev)
{
	struct beat *b = dev;
	u32 status = readl(b->regs + EDU_STATUS);

	if (!status)
		return IRQ_NONE;

	writel(status, b->regs + EDU_ACK);
	udelay(cost_us);
	/* The next interrupt may be raised from here on. Pairs with beat_fire(). */
	smp_store_release(&b->handled, b->handled + 1);
	return IRQ_HANDLED;
}

static void beat_start(void *info)
{
	struct beat *b = info;

	hrtimer_start(&b->timer, NSEC_PER_SEC / rate, HRTIMER_MODE_REL_PINNED_HARD);
}

static int beat_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct beat *b = &beats[nr_beats];
	int ret;

	if (nr_beats == ARRAY_SIZE(beats))
		return -EBUSY;
	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	b->regs = pcim_iomap_region(pdev, 0, "beat");
	if (IS_ERR(b->regs))
		return PTR_ERR(b->regs);
	pci_set_master(pdev);
	ret = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI | PCI_IRQ_INTX);
	if (ret < 0)
		return ret;
	ret = devm_request_irq(&pdev->dev, pci_irq_vector(pdev, 0), beat_handler, 0, "beat", b);
	if (ret)
		return ret;

	pci_set_drvdata(pdev, b);
	hrtimer_setup(&b->timer, beat_fire, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	nr_beats++;
	return smp_call_function_single(0, beat_start, b, true);
}

static void beat_remove(struct pci_dev *pdev)
{
	struct beat *b = pci_get_drvdata(pdev);

	hrtimer_cancel(&b->timer);
}

/* An interrupt that was raised before is handled after resume */
static int beat_suspend(struct device *dev)
{
	struct beat *b = dev_get_drvdata(dev);

	hrtimer_cancel(&b->timer);
	return 0;
}

static int beat_resume(struct device *dev)
{
	return smp_call_function_single(0, beat_start, dev_get_drvdata(dev), true);
}

static const struct dev_pm_ops beat_pm = {
	NOIRQ_SYSTEM_SLEEP_PM_OPS(beat_suspend, beat_resume)
};

static const struct pci_device_id beat_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },
	{ }
};

static struct pci_driver beat_driver = {
	.name		= "beat",
	.id_table	= beat_ids,
	.probe		= beat_probe,
	.remove		= beat_remove,
	.driver.pm	= pm_sleep_ptr(&beat_pm),
};
module_pci_driver(beat_driver);
MODULE_DESCRIPTION("Interrupts that cost time");
MODULE_LICENSE("GPL");
