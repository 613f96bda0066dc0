// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: demultiplexers, and the interrupts behind them
 *
 * The handler of a chained interrupt asks a device which of the interrupts behind it have occurred,
 * and handles them on its own CPU: MSI bridges of boards do, and banks of GPIOs. Where those
 * cannot be sent to a CPU but the chained one can, it is one load, the sum of theirs, and
 * moves as one.
 *
 * The core keeps no record of what is behind what. Drivers show it: most hand the same pointer to
 * the handler and to the irqdomain of what is behind it. In any doubt the interrupt stays:
 * if two handlers have that pointer, if another demultiplexer is behind it, whose load
 * is not known, if one behind it can be moved by itself, is to be left alone or is polled by a
 * task, or if a driver has set its affinity.
 * NAPI polls in a flood follow the chained interrupt, as they follow their own elsewhere.
 */
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/jhash.h>

#include "../internals.h"
#include "core.h"

/* The pointer by which what is behind it is known, NULL: it could not be moved anyway */
static void *irq_balance_chain_of(struct irq_desc *desc)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);

	/* Its handler does not make deferred moves */
	if (!irq_balance_is_used(desc) || !irq_desc_is_chained(desc) ||
	    !irq_can_set_affinity(irq_desc_get_irq(desc)) || !irq_can_move_pcntxt(data) ||
	    irqd_affinity_was_set(data) || irq_balance_cpu(desc) >= nr_cpu_ids)
		return NULL;
	return irq_desc_get_handler_data(desc);
}

static bool irq_balance_is_behind(struct irq_desc *desc, const void *chain)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);

	/* If not there may be no domain any more */
	if (!irq_balance_is_used(desc))
		return false;
	for (; data; data = irqd_get_parent_data(data)) {
		if (data->domain && data->domain->host_data == chain)
			return true;
	}
	return false;
}

/* Adds the load of what is behind @chain. Threads go where the scheduler has them. */
static void irq_balance_add_behind(struct irq_desc *desc, unsigned int here, struct irq_load *sum)
{
	struct irq_load load;

	irq_load_peek(desc, &load);
	sum->time_ns += load.time_ns;
	sum->soft_ns += load.soft_ns;
	sum->charges += load.charges;
	/* Some may have been silent since the last move */
	if (sum->cpu != here && load.cpu < nr_cpu_ids)
		sum->cpu = load.cpu;
}

/**
 * irq_balance_carries - Sum up the load of all interrupts behind a demultiplexer
 * @map:	the interrupts of this pass
 * @irq:	that of the demultiplexer in it
 * @sum:	their load; its CPU is that of the demultiplexer if any of them ran there last
 *
 * Those that are summed up are marked with their carrier, which their NAPI polls follow. If
 * others are behind it than at the last pass the load is measured from now on: their times may
 * have been spent long ago.
 *
 * Return: whether it moves as one
 */
bool irq_balance_carries(struct irq_balance_map *map, const struct irq_balance_irq *irq,
			 struct irq_load *sum)
{
	struct irq_desc *demux = map->descs[irq - map->irqs];
	struct irq_balance_entry *entry = irq_balance_entry_of(demux);
	unsigned int i, here;
	bool doubt = false;
	u32 behind = 0;
	void *chain;

	*sum = (struct irq_load) { .cpu = nr_cpu_ids };
	scoped_guard(raw_spinlock_irq, &demux->lock) {
		chain = irq_balance_chain_of(demux);
		here = irq_balance_cpu(demux);
	}

	for (i = 0; chain && i < map->nr && !doubt; i++) {
		struct irq_desc *desc = map->descs[i];

		guard(raw_spinlock_irq)(&desc->lock);
		if (desc != demux && irq_desc_is_chained(desc)) {
			doubt = irq_desc_get_handler_data(desc) == chain ||
				irq_balance_is_behind(desc, chain);
		} else if (irq_balance_is_behind(desc, chain)) {
			doubt = desc->irq_data.chip->irq_set_affinity || map->irqs[i].carrier ||
				irq_load_is_polled(desc) || desc->balance->opted_out ||
				irq_balance_is_banned(desc) || !irq_balance_may_balance(desc);
			if (doubt)
				break;
			irq_balance_add_behind(desc, here, sum);
			map->irqs[i].carrier = irq->state;
			WRITE_ONCE(desc->balance->carrier, irq->irq);
			behind = jhash_1word(map->irqs[i].irq, behind) | 1;
		}
	}
	if (doubt) {
		*sum = (struct irq_load) { .cpu = nr_cpu_ids };
		behind = 0;
	}
	while (doubt && i--) {
		if (map->irqs[i].carrier != irq->state)
			continue;
		map->irqs[i].carrier = NULL;
		WRITE_ONCE(map->descs[i]->balance->carrier, 0);
	}
	if (entry->behind != behind)
		irq->state->load.seen = false;
	entry->behind = behind;
	return behind;
}
