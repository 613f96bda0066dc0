// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time per interrupt: what each has cost
 *
 * A line is the record of an interrupt. load_softirq.c and load_hard.c charge it, and users of the
 * load map read it: irq_load_peek() adds what the events since the last sample have probably cost.
 * A user may have an irq_work queued when the load of any interrupt rises.
 *
 * Data: &irq_desc.load, allocated and freed with the descriptor.
 */
#include <linux/irq.h>
#include <linux/irq_work.h>

#include "internals.h"
#include "load_span.h"

DEFINE_STATIC_KEY_FALSE(irq_load_key);

/* Queued when a load rises, see irq_load_set_kick() */
static struct irq_work *irq_load_kick;
static u32 irq_load_limit;

/**
 * irq_load_next_desc - Walk over all interrupts
 * @desc:	the descriptor before, NULL for the first one
 *
 * Drops the reference on @desc, and takes one on what it returns.
 *
 * Context: process context
 *
 * Return: the next descriptor, NULL after the last one
 */
struct irq_desc *irq_load_next_desc(struct irq_desc *desc)
{
	unsigned int irq = desc ? irq_desc_get_irq(desc) + 1 : 0;

	if (desc)
		irq_desc_put_ref(desc);
	guard(rcu)();
	while ((desc = irq_find_desc_at_or_after(irq))) {
		if (irq_desc_get_ref(desc))
			return desc;
		irq = irq_desc_get_irq(desc) + 1;
	}
	return NULL;
}

/* Before the descriptor is used: 0 or -errno */
int irq_load_alloc(struct irq_desc *desc, int node)
{
	desc->load = kzalloc_node(sizeof(*desc->load), GFP_KERNEL, node);
	if (!desc->load)
		return -ENOMEM;
	irq_load_restart(&desc->load->hard.sampler);
	irq_load_restart(&desc->load->thread.sampler);
	desc->load->seen.cpu = nr_cpu_ids;
	return 0;
}

/* Under RCU. NULL if there is no such interrupt */
struct irq_load_line *irq_load_get_line(unsigned int irq)
{
	struct irq_desc *desc = irq ? irq_to_desc(irq) : NULL;

	return desc ? desc->load : NULL;
}

/*
 * Whether the load of a line has risen: more than a quantum was charged in @limit ns. A window
 * closes when a quantum has been charged in it. In a race with another CPU the answer may be wrong
 * once, or a window late.
 */
bool irq_load_has_risen(struct irq_load_line *line, u64 now, u32 limit)
{
	struct irq_load load = { READ_ONCE(line->hard.time), atomic64_read(&line->soft),
				 READ_ONCE(line->thread.time) };
	u64 total = irq_load_total(&load), start = READ_ONCE(line->window_start);
	s64 charged = total - READ_ONCE(line->window_total);

	/* Negative if a race has left a lower total. By far if it had read halves: begin anew. */
	if (charged < IRQ_LOAD_QUANTUM && charged > -(s64)NSEC_PER_SEC)
		return false;
	WRITE_ONCE(line->window_start, now);
	WRITE_ONCE(line->window_total, total);
	return charged > 0 && irq_load_rises(charged, irq_load_since(now, start), limit);
}

/* A line was charged, on this CPU. The first time it counts as a rise, whatever its load is. */
void irq_load_charged(struct irq_load_line *line, u64 now)
{
	struct irq_work *work = READ_ONCE(irq_load_kick);
	bool first = READ_ONCE(line->seen.cpu) >= nr_cpu_ids;

	WRITE_ONCE(line->seen.cpu, smp_processor_id());
	WRITE_ONCE(line->seen.charges, READ_ONCE(line->seen.charges) + 1);
	if (work && (irq_load_has_risen(line, now, READ_ONCE(irq_load_limit)) || first))
		irq_work_queue(work);
}

/* Time of a series; if it has become rare the next is timed: it must not stand for hundreds */
static u64 irq_load_peek_series(struct irq_load_series *h, int *skip, u64 now)
{
	int left = READ_ONCE(*skip);
	u64 time = h->time + irq_load_unsampled_time(h, left, now);

	if (left < INT_MAX / 4 && irq_load_since(now, h->stamp) >= IRQ_LOAD_RARE_NS) {
		WRITE_ONCE(h->time, time);
		irq_load_restart(&h->sampler);
		WRITE_ONCE(*skip, 0);
	}
	return time;
}

/**
 * irq_load_peek - Read the load of an interrupt
 * @desc:	the interrupt
 * @load:	its times so far, ns; its CPU is nr_cpu_ids if nothing was ever charged
 *
 * Users work on differences: times never go back.
 *
 * Context: desc->lock is held
 */
void irq_load_peek(struct irq_desc *desc, struct irq_load *load)
{
	struct irq_load_line *line = desc->load;
	u64 now = local_clock(), soft;

	lockdep_assert_held(&desc->lock);

	/* Softirqs go on as they did at last, for as much as was charged then */
	soft = min(irq_load_since(now, READ_ONCE(line->soft_stamp)), NSEC_PER_SEC);
	soft = atomic64_read(&line->soft) +
	       min(soft * READ_ONCE(line->soft_rate) >> 10, READ_ONCE(line->soft_last));

	/* The next samples may find that this was too much */
	irq_load_advance(&line->seen.time_ns,
			 irq_load_peek_series(&line->hard, &desc->load_skip, now));
	irq_load_advance(&line->seen.thread_ns,
			 irq_load_peek_series(&line->thread, &line->thread_skip, now));
	irq_load_advance(&line->seen.soft_ns, soft);
	/* A softirq on another CPU may be charged meanwhile */
	*load = data_race(line->seen);
}

/* A first handler is requested: of the interrupt as it will be nothing is known */
void irq_load_renew(struct irq_desc *desc)
{
	struct irq_load load;

	irq_load_peek(desc, &load);
	irq_load_restart(&desc->load->hard.sampler);
	irq_load_restart(&desc->load->thread.sampler);
	desc->load_skip = 0;
	WRITE_ONCE(desc->load->thread_skip, 0);
	WRITE_ONCE(desc->load->seen.cpu, nr_cpu_ids);
}

/**
 * irq_load_set_kick - Be told when a load rises
 * @work:	queued when an interrupt is charged a quantum within @limit, or for the first time;
 *		NULL: no more
 * @limit:	ns, 0: never
 *
 * After the call with NULL the work may be on its way: use irq_work_sync() before it goes away.
 *
 * Context: any if @work is given, otherwise process context
 */
void irq_load_set_kick(struct irq_work *work, u32 limit)
{
	WRITE_ONCE(irq_load_limit, limit);
	WRITE_ONCE(irq_load_kick, work);
	if (!work)
		synchronize_rcu();
}
