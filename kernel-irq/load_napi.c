// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time per interrupt: the interrupt of a NAPI instance. Some drivers name it with
 * netif_napi_set_irq(). For others it is learned: a handler that is timed schedules its
 * instance. The learned interrupt is kept aside, by the address of the instance. Each sighting
 * is a vote, and a vote for another interrupt takes one away.
 *
 * An instance that polls without end since before measuring began has no interrupt
 * to learn from. It came by an interrupt of its device on this CPU: the one with the
 * most interrupts that no other instance has is taken for it, with one vote.
 *
 * The backlog, gro_cells and tunnels have no interrupt, nor have instances that a task or a
 * softirq schedules. Polls by NAPI threads and busy pollers run where the scheduler puts them:
 * they are not charged, but the interrupt is marked, see irq_load_is_polled().
 */
#include <linux/hash.h>
#include <linux/irq.h>
#include <linux/msi.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "internals.h"

#define IRQ_LOAD_NAPI_BITS	11

/* An instance is in one of so many slots from its hash on */
#define IRQ_LOAD_PROBES		4
#define IRQ_LOAD_SLOTS		(BIT(IRQ_LOAD_NAPI_BITS) + IRQ_LOAD_PROBES)

#define IRQ_LOAD_MAX_VOTES	8

/* Written without lock: a slot that two CPUs write at a time may be wrong until it heals */
static struct irq_load_napi {
	const struct napi_struct	*napi;		/* only compared: it may be gone */
	u32				irq;
	u32				votes;
} *irq_load_napis;

/* The instance whose interrupt is searched for */
static struct {
	unsigned long			busy;		/* bit 0 */
	const struct napi_struct	*napi;		/* only compared */
	struct device			*owner;		/* referenced */
	unsigned int			cpu;
	unsigned long			since;		/* jiffies of the last search */
	unsigned long			rest;		/* jiffies after it without another */
} irq_load_wanted;

/* Jiffies of the last poll by a task that was marked, by the hash of the instance */
#define IRQ_LOAD_MARKED_BITS	3
static DEFINE_PER_CPU(u32 [BIT(IRQ_LOAD_MARKED_BITS)], irq_load_marked);

/* The slot of an instance, or one that it may have; NULL if the others have votes */
static struct irq_load_napi *irq_load_slot(const struct napi_struct *napi, bool take)
{
	struct irq_load_napi *slot = irq_load_napis + hash_ptr(napi, IRQ_LOAD_NAPI_BITS);
	struct irq_load_napi *unused = NULL;

	for (unsigned int i = 0; i < IRQ_LOAD_PROBES; i++) {
		if (READ_ONCE(slot[i].napi) == napi)
			return &slot[i];
		if (take && !unused && !READ_ONCE(slot[i].votes))
			unused = &slot[i];
	}
	return unused;
}

/* @napi was scheduled by the handler of @irq */
void irq_load_napi_vote(const struct napi_struct *napi, unsigned int irq)
{
	struct irq_load_napi *slot = irq_load_slot(napi, true);
	u32 votes;

	if (READ_ONCE(napi->irq) > 0)
		return;
	/* Instances that are gone have to make room */
	if (!slot)
		slot = irq_load_napis + hash_ptr(napi, IRQ_LOAD_NAPI_BITS);
	votes = READ_ONCE(slot->votes);

	if (READ_ONCE(slot->napi) == napi && READ_ONCE(slot->irq) == irq) {
		if (votes < IRQ_LOAD_MAX_VOTES)
			WRITE_ONCE(slot->votes, votes + 1);
	} else if (votes) {
		WRITE_ONCE(slot->votes, votes - 1);
	} else {
		WRITE_ONCE(slot->irq, irq);
		WRITE_ONCE(slot->napi, napi);
		WRITE_ONCE(slot->votes, 1);
	}
}

/* The interrupt of a NAPI instance, 0 if there is none or it is not known */
unsigned int irq_load_napi_irq(const struct napi_struct *napi)
{
	const struct irq_load_napi *slot;
	int irq = READ_ONCE(napi->irq);

	if (irq > 0)
		return irq;
	slot = napi->dev ? irq_load_slot(napi, false) : NULL;
	return slot ? READ_ONCE(slot->irq) : 0;
}

/**
 * irq_load_napi_forget - An instance is disabled, or removed: another may get its address
 * @napi:	the instance
 *
 * Context: any
 */
void irq_load_napi_forget(const struct napi_struct *napi)
{
	/* Pairs with irq_load_napi_start() */
	struct irq_load_napi *slot = smp_load_acquire(&irq_load_napis);

	slot = slot ? irq_load_slot(napi, false) : NULL;
	if (slot) {
		WRITE_ONCE(slot->votes, 0);
		WRITE_ONCE(slot->napi, NULL);
	}
}

/* The device of the interrupts of an instance that is not removed yet, NULL: not known */
static struct device *irq_load_owner(const struct napi_struct *napi)
{
#ifdef CONFIG_GENERIC_MSI_IRQ
	struct device *dev = napi->dev ? napi->dev->dev.parent : NULL;

	/* That of virtio has none, its parent does. A PCI port has interrupts of its own. */
	for (; dev; dev = dev_is_pci(dev) ? NULL : dev->parent) {
		if (dev->msi.data)
			return dev;
	}
#endif
	return NULL;
}

static bool irq_load_has_napi(unsigned int irq)
{
	for (unsigned int i = 0; i < IRQ_LOAD_SLOTS; i++) {
		if (READ_ONCE(irq_load_napis[i].irq) == irq && READ_ONCE(irq_load_napis[i].votes))
			return true;
	}
	return false;
}

/* Interrupts of the device that came on the CPU, 0 if another instance has it */
static unsigned int irq_load_fits(struct irq_desc *desc)
{
	unsigned int cpu = irq_load_wanted.cpu;
	struct msi_desc *msi;

	/* While it is requested the device cannot free it */
	guard(raw_spinlock_irq)(&desc->lock);
	msi = irq_data_get_msi_desc(&desc->irq_data);
	if (!desc->action || !msi ||
	    msi_desc_to_dev(msi) != irq_load_wanted.owner ||
	    !cpumask_test_cpu(cpu, irq_data_get_effective_affinity_mask(&desc->irq_data)) ||
	    irq_load_has_napi(irq_desc_get_irq(desc)))
		return 0;
	return per_cpu_ptr(desc->kstat_irqs, cpu)->cnt;
}

static void irq_load_search(struct work_struct *work)
{
	unsigned int irq = 0, found = 0, count, most = 0;
	struct irq_desc *desc;

	while ((desc = irq_load_next_desc(irq))) {
		irq = irq_desc_get_irq(desc) + 1;
		count = irq_load_fits(desc);
		if (count > most) {
			most = count;
			found = irq_desc_get_irq(desc);
		}
		irq_desc_put_ref(desc);
	}
	if (found) {
		struct irq_load_napi *slot = irq_load_slot(irq_load_wanted.napi, true);

		/* A handler may have taught it meanwhile */
		if (slot && !(READ_ONCE(slot->napi) == irq_load_wanted.napi &&
			      READ_ONCE(slot->votes))) {
			WRITE_ONCE(slot->irq, found);
			WRITE_ONCE(slot->napi, irq_load_wanted.napi);
			WRITE_ONCE(slot->votes, 1);
		}
	}
	WRITE_ONCE(irq_load_wanted.rest, found ? 1 : HZ);
	WRITE_ONCE(irq_load_wanted.since, jiffies);
	put_device(irq_load_wanted.owner);
	clear_bit_unlock(0, &irq_load_wanted.busy);
}

static DECLARE_WORK(irq_load_search_work, irq_load_search);

/* Search for the interrupt of an instance that goes on to be polled on this CPU */
void irq_load_napi_guess(const struct napi_struct *napi)
{
	struct device *owner = irq_load_owner(napi);

	/* Instances of a CPU, as gro_cells, must not leave it */
	if (!owner || test_bit(NAPI_STATE_NO_BUSY_POLL, &napi->state) ||
	    jiffies - READ_ONCE(irq_load_wanted.since) < READ_ONCE(irq_load_wanted.rest) ||
	    test_and_set_bit_lock(0, &irq_load_wanted.busy))
		return;
	irq_load_wanted.napi = napi;
	irq_load_wanted.owner = get_device(owner);
	irq_load_wanted.cpu = smp_processor_id();
	queue_work(system_dfl_wq, &irq_load_search_work);
}

/**
 * irq_load_mark_polled - A task polls an instance, or is about to
 * @napi:	the instance
 *
 * Its cost is not measured, and does not follow the interrupt. If the handler of an
 * interrupt is being timed, it has scheduled the instance.
 *
 * Context: preemption disabled
 */
void irq_load_mark_polled(const struct napi_struct *napi)
{
	unsigned int irq = this_cpu_read(irq_load_cpu.handling);
	u32 hash = hash_ptr(napi, IRQ_LOAD_MARKED_BITS), now = jiffies;
	/* Of this instance in this jiffy */
	u32 mark = now + (u32)(unsigned long)napi;
	struct irq_load_line *line;

	if (unlikely(irq) &&
	    this_cpu_read(irq_load_cpu.handler) == (in_hardirq() ? NULL : current))
		irq_load_napi_vote(napi, irq);
	if (this_cpu_read(irq_load_marked[hash]) == mark)
		return;

	this_cpu_write(irq_load_marked[hash], mark);

	guard(rcu)();
	irq = irq_load_napi_irq(napi);
	line = irq ? irq_load_get_line(irq) : NULL;
	if (line)
		irq_load_count_polled(line, now);
}

/* Before measuring begins: 0 or -errno */
int irq_load_napi_start(void)
{
	struct irq_load_napi *napis;

	if (irq_load_napis)
		return 0;
	napis = kcalloc(IRQ_LOAD_SLOTS, sizeof(*napis), GFP_KERNEL);
	/* Pairs with irq_load_napi_forget() */
	smp_store_release(&irq_load_napis, napis);
	return napis ? 0 : -ENOMEM;
}
