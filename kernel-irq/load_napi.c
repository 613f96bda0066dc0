// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time per interrupt: the interrupt of a NAPI instance. Some drivers name it with
 * netif_napi_set_irq(). For others it is learned: a handler that is timed schedules its
 * instance.
 *
 * An instance that polls without end since before measuring began has no interrupt
 * to learn from. It came by an interrupt of its device on this CPU: the one with the
 * most interrupts that no other instance has is taken for it.
 *
 * The backlog, gro_cells and tunnels have no interrupt, nor have instances that a task or a
 * softirq schedules. Polls by NAPI threads and busy pollers run where the scheduler puts them:
 * they are not charged, but the interrupt is marked, see irq_load_is_polled().
 */
#include <linux/irq.h>
#include <linux/msi.h>
#include <linux/netdevice.h>
#include <linux/pci.h>

#include "internals.h"

/* Jiffies of the last search for the interrupt of an instance */
static unsigned long irq_load_searched;

/* The last poll by a task that was marked: its jiffy and instance */
static DEFINE_PER_CPU(u32, irq_load_marked);

/* The interrupt of a NAPI instance, 0 if there is none or it is not known */
unsigned int irq_load_napi_irq(const struct napi_struct *napi)
{
	int irq = READ_ONCE(napi->irq);

	return irq > 0 ? irq : READ_ONCE(napi->irq_seen);
}

static bool irq_load_has_napi(const struct net_device *dev, unsigned int irq)
{
	const struct napi_struct *napi;

	list_for_each_entry_rcu(napi, &dev->napi_list, dev_list) {
		if (irq_load_napi_irq(napi) == irq)
			return true;
	}
	return false;
}

/* Interrupts of the device that came on this CPU, 0 if another instance has it */
static unsigned int irq_load_fits(struct irq_desc *desc, const struct net_device *dev)
{
	const struct device *parent = dev->dev.parent, *owner;
	unsigned int count = this_cpu_read(desc->kstat_irqs->cnt);
	struct msi_desc *msi;

	if (!count)
		return 0;
	guard(raw_spinlock_irqsave)(&desc->lock);
	/* While it is requested the device cannot free it */
	if (!desc->action)
		return 0;
	msi = irq_data_get_msi_desc(&desc->irq_data);
	owner = msi ? msi_desc_to_dev(msi) : NULL;
	/* The parent of virtio's has none, but that one's parent. A PCI port has its own. */
	if (!owner ||
	    (owner != parent && (dev_is_pci(parent) || owner != parent->parent)) ||
	    /* One that was charged lately is taken, as by another port of the device */
	    irq_load_since(local_clock(), READ_ONCE(desc->load->soft_stamp)) < NSEC_PER_SEC ||
	    irq_load_has_napi(dev, irq_desc_get_irq(desc)))
		return 0;
	return count;
}

static bool irq_load_has_msi(const struct device *dev)
{
#ifdef CONFIG_GENERIC_MSI_IRQ
	return dev && dev->msi.data;
#else
	return false;
#endif
}

/* The mask that smp_affinity shows: in a flood no interrupt comes to make a pending one hold */
static const struct cpumask *irq_load_mask(struct irq_desc *desc)
{
	if (irqd_is_setaffinity_pending(&desc->irq_data))
		return irq_desc_get_pending_mask(desc);
	return irq_data_get_affinity_mask(&desc->irq_data);
}

/*
 * Search for the interrupt of an instance that goes on to be polled on this CPU, in softirq. It
 * may have been moved since. If several fit their masks have to be equal: a wrong guess must not
 * take polls out of a mask.
 */
void irq_load_napi_guess(struct napi_struct *napi)
{
	struct device *parent = napi->dev ? napi->dev->dev.parent : NULL;
	unsigned int irq = 0, count, most = 0;
	struct irq_desc *desc, *best = NULL;

	/* Instances of a CPU, as gro_cells, must not leave it */
	if (!parent || !(irq_load_has_msi(parent) || irq_load_has_msi(parent->parent)) ||
	    test_bit(NAPI_STATE_NO_BUSY_POLL, &napi->state) ||
	    jiffies - READ_ONCE(irq_load_searched) < HZ / 8)
		return;
	WRITE_ONCE(irq_load_searched, jiffies);

	guard(rcu)();
	while ((desc = irq_find_desc_at_or_after(irq))) {
		irq = irq_desc_get_irq(desc) + 1;
		count = irq_load_fits(desc, napi->dev);
		if (count && best && !cpumask_equal(irq_load_mask(desc), irq_load_mask(best)))
			return;
		if (count > most) {
			most = count;
			best = desc;
		}
	}
	if (best)
		WRITE_ONCE(napi->irq_seen, irq_desc_get_irq(best));
}

/**
 * irq_load_mark_polled - A task polls an instance
 * @napi:	the instance
 *
 * Its cost is not measured, and does not follow the interrupt.
 *
 * Context: BH or preemption disabled
 */
void irq_load_mark_polled(const struct napi_struct *napi)
{
	u32 now = jiffies, mark = now + (u32)(unsigned long)napi;
	struct irq_load_line *line;

	if (this_cpu_read(irq_load_marked) == mark)
		return;
	this_cpu_write(irq_load_marked, mark);

	guard(rcu)();
	line = irq_load_get_line(irq_load_napi_irq(napi));
	if (line)
		irq_load_count_polled(line, now);
}
