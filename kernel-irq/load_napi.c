// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time per interrupt: NAPI. In a run of NET_RX that is timed, the tracepoint behind each
 * poll charges it to the interrupt of its instance. Some drivers name that with
 * netif_napi_set_irq(). For others it is learned: a handler that is timed adds its
 * instance to the end of the CPU's poll list. The learned interrupt is kept aside by the ID of
 * the instance. Each sighting is a vote, and a vote for another interrupt takes one away.
 *
 * An instance that polls without end since before measuring began has no interrupt
 * to learn from. It came by an interrupt of its device on this CPU: the one with the
 * most interrupts that no other instance has is taken for it, with one vote.
 *
 * The backlog, gro_cells and tunnels have no interrupt. Instances that are scheduled by a
 * thread or a tasklet are not learned, nor those without ID (for transmission only), unless
 * the driver names their interrupt. All these are base load of the CPU. Polls by NAPI
 * threads and busy pollers run where the scheduler puts them: they are not charged, but the
 * interrupt is marked, see irq_load_is_polled().
 */
#include <linux/irq.h>
#include <linux/msi.h>
#include <linux/netdevice.h>
#include <linux/slab.h>

#include <trace/events/napi.h>

#include "internals.h"

/* IDs are given out in rising order: two share a slot if there are more of them */
#define IRQ_LOAD_NAPIS		1024

#define IRQ_LOAD_MAX_VOTES	8

/* Written without lock: a slot that two CPUs write at a time may be wrong until it heals */
static struct irq_load_napi {
	u32	napi_id;
	u32	irq;
	u32	votes;
} *irq_load_napis;

static void irq_load_vote(const struct napi_struct *napi, unsigned int irq)
{
	u32 napi_id = READ_ONCE(napi->napi_id);
	struct irq_load_napi *slot = &irq_load_napis[napi_id % IRQ_LOAD_NAPIS];
	u32 votes = READ_ONCE(slot->votes);

	if (!napi->dev || !napi_id || READ_ONCE(napi->irq) > 0)
		return;

	if (READ_ONCE(slot->napi_id) == napi_id && READ_ONCE(slot->irq) == irq) {
		if (votes < IRQ_LOAD_MAX_VOTES)
			WRITE_ONCE(slot->votes, votes + 1);
	} else if (votes) {
		WRITE_ONCE(slot->votes, votes - 1);
	} else {
		WRITE_ONCE(slot->irq, irq);
		WRITE_ONCE(slot->napi_id, napi_id);
		WRITE_ONCE(slot->votes, 1);
	}
}

/* The interrupt of a NAPI instance, 0 if there is none or it is not known */
unsigned int irq_load_napi_irq(const struct napi_struct *napi)
{
	u32 napi_id = READ_ONCE(napi->napi_id);
	const struct irq_load_napi *slot = &irq_load_napis[napi_id % IRQ_LOAD_NAPIS];
	int irq = READ_ONCE(napi->irq);

	if (irq > 0)
		return irq;
	if (!napi->dev || !napi_id)
		return 0;
	return READ_ONCE(slot->napi_id) == napi_id ? READ_ONCE(slot->irq) : 0;
}

/* The handler of @irq has added the instances behind @entry to the CPU's list @head */
void irq_load_napi_learn(const struct list_head *entry, const struct list_head *head,
			 unsigned int irq)
{
	while (entry != head->prev) {
		entry = entry->next;
		irq_load_vote(list_entry(entry, struct napi_struct, poll_list), irq);
	}
}

static bool irq_load_is_child(const struct device *dev, const struct device *parent)
{
	while (dev && dev != parent)
		dev = dev->parent;
	return dev;
}

static bool irq_load_has_napi(unsigned int irq)
{
	for (unsigned int i = 0; i < IRQ_LOAD_NAPIS; i++) {
		if (READ_ONCE(irq_load_napis[i].irq) == irq)
			return true;
	}
	return false;
}

/* Looks at all interrupts, so 50 times per second and CPU at most, once if in vain */
static void irq_load_guess(const struct napi_struct *napi)
{
	unsigned int irq, found = 0, count, most = 0;
	struct msi_desc *msi;
	struct irq_desc *desc;

	if (!napi->dev || !napi->dev->dev.parent || !READ_ONCE(napi->napi_id) ||
	    jiffies - this_cpu_read(irq_load_cpu.guessed) < this_cpu_read(irq_load_cpu.guess_gap))
		return;
	this_cpu_write(irq_load_cpu.guessed, jiffies);

	guard(rcu)();
	for (irq = 0; (desc = irq_find_desc_at_or_after(irq)); irq = irq_desc_get_irq(desc) + 1) {
		/* While it is requested the device cannot free it */
		guard(raw_spinlock_irqsave)(&desc->lock);
		msi = irq_data_get_msi_desc(&desc->irq_data);
		if (!desc->action || !msi ||
		    !irq_load_is_child(napi->dev->dev.parent, msi_desc_to_dev(msi)) ||
		    !cpumask_test_cpu(smp_processor_id(),
				      irq_data_get_effective_affinity_mask(&desc->irq_data)))
			continue;
		count = this_cpu_read(desc->kstat_irqs->cnt);
		if (count > most && !irq_load_has_napi(irq_desc_get_irq(desc))) {
			most = count;
			found = irq_desc_get_irq(desc);
		}
	}
	this_cpu_write(irq_load_cpu.guess_gap, found ? HZ / 50 : HZ);
	if (found)
		irq_load_vote(napi, found);
}

/* A poll by a thread or a busy poller */
static void irq_load_mark_polled(const struct napi_struct *napi)
{
	struct irq_load_line *line;
	unsigned int irq;

	guard(rcu)();
	irq = irq_load_napi_irq(napi);
	line = irq ? irq_load_get_line(irq) : NULL;
	if (line)
		irq_load_count_polled(line, jiffies);
}

static noinline void
irq_load_timed_poll(struct napi_struct *napi, int work, int budget)
{
	u64 now = local_clock_noinstr();
	unsigned int irq, thread_irq;
	struct irq_load_run *run;

	/* Netpoll has no budget, and polls anywhere */
	if (budget && !in_serving_softirq())
		irq_load_mark_polled(napi);
	if (!budget || !in_serving_softirq())
		return;

	/* With PREEMPT_RT the run may be of a task that was preempted: that cannot end now */
	guard(preempt)();
	run = this_cpu_read(irq_load_cpu.run);
	if (!run || run->task != current)
		return;
	thread_irq = irq_load_forced_thread(NET_RX_SOFTIRQ);
	if (thread_irq) {
		irq_load_vote(napi, thread_irq);
		return;
	}
	irq = irq_load_napi_irq(napi);
	irq_load_charge_run(run, irq, now);
	if (!irq && work >= budget)
		irq_load_guess(napi);
	irq_load_span_begin(&run->span);
}

static void irq_load_napi_poll(void *data, struct napi_struct *napi, int work, int budget)
{
	if (unlikely(this_cpu_read(irq_load_cpu.run) || !in_serving_softirq()))
		irq_load_timed_poll(napi, work, budget);
}

/* Start to time NAPI polls: 0 or -errno */
int irq_load_napi_start(void)
{
	if (!irq_load_napis)
		irq_load_napis = kcalloc(IRQ_LOAD_NAPIS, sizeof(*irq_load_napis), GFP_KERNEL);
	if (!irq_load_napis)
		return -ENOMEM;

	return register_trace_napi_poll(irq_load_napi_poll, NULL);
}

void irq_load_napi_stop(void)
{
	unregister_trace_napi_poll(irq_load_napi_poll, NULL);
}
