// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-balance-move
 *
 * The user's mask (irq_common_data.affinity, /proc/irq/N/smp_affinity) stays. Which CPU of
 * the mask is interrupted, the effective affinity, is changed by handing the chip a mask
 * of one CPU that is not copied: irq_set_effective_cpu().
 *
 * Chips that may be programmed from any context are, by the caller. For those with
 * IRQCHIP_MOVE_DEFERRED the target is left in the descriptor with IRQD_BALANCE_PENDING, which the
 * flow handlers test together with the user's pending move, and applied by the next interrupt.
 * The target is not left in the pending mask: smp_affinity shows that, and CPU hotplug turns it
 * into the user's mask.
 *
 * A write to smp_affinity may wait for an interrupt, too, which never comes to a CPU that is
 * saturated by NAPI polls. Such a pending mask counts as the mask: targets are inside of it. The
 * interrupt, when it comes, makes it the mask and goes to the target. Polls do not wait for that:
 * irq_next_cpu() tells them where to go on::
 *
 *   pending           polls go to    the next interrupt     the next pass
 *   ----------------  -------------  ---------------------  --------------------------------
 *   nothing           the interrupt  -                      -
 *   the balancer's    the target     goes to the target     waits for it if polls have asked,
 *                                                           otherwise ends it, -ETIMEDOUT
 *   the user's        a CPU of it    makes it the mask      -
 *   both              the target     both                   as the balancer's
 *
 * All this is set, cleared and acted on under desc->lock only. A write to the mask cancels the
 * balancer's move. All else that may have changed meanwhile, as CPU hotplug, a shutdown, or
 * isolation, is looked at when the move is made, see may_move(). That interrupts leave
 * such CPUs is the next pass's business, see irq_balance_review().
 *
 * The affinity notifier is called after a move, with the mask that has not changed: some
 * listeners save it and write it back later. One that needs the CPU reads the effective affinity.
 */
#include <linux/export.h>
#include <linux/irq.h>
#include <linux/sched/isolation.h>

#include <kunit/static_stub.h>

#include "../internals.h"
#include "move.h"

/*
 * Not its driver's alone, as that of a clock event device, which follows those that go idle, or
 * the doorbell of a virtual CPU (GICv4), whose route changes with each context switch
 */
static bool may_balance(struct irq_desc *desc)
{
	return irqd_can_balance(&desc->irq_data) &&
	       !(desc->action && desc->action->flags & __IRQF_TIMER);
}

/* Every occurrence costs an IPI once the interrupt has left its demultiplexer's CPU */
bool irq_balance_is_redirected(struct irq_desc *desc)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);

	for (; data; data = irqd_get_parent_data(data)) {
		if (data->chip && data->chip->irq_set_affinity == irq_chip_redirect_set_affinity)
			return true;
	}
	return false;
}

/* The root chip keeps an active state for each interrupt, as a GIC does */
static bool has_active_state(struct irq_data *data)
{
	while (irqd_get_parent_data(data))
		data = irqd_get_parent_data(data);
	return data->chip && data->chip->irq_get_irqchip_state;
}

/*
 * The next interrupt may come to the new CPU while the old one is in the handler. Many flows
 * drop it, which is harmless for levels. Edges are safe if the flow remembers them or masks
 * the line meanwhile. Where the flow is the hardware's (fasteoi) it is not to deliver any
 * before the EOI; but some hardware clears edges before they are handled.
 */
static bool may_lose_edge(struct irq_desc *desc)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);

	if (irqd_is_level_type(data))
		return false;
	if (desc->handle_irq == handle_edge_irq || desc->handle_irq == handle_level_irq)
		return false;
	if (desc->handle_irq != handle_fasteoi_irq)
		return true;
	return (irqd_get_trigger_type(data) & IRQ_TYPE_EDGE_BOTH) &&
	       !irqd_needs_resend_when_in_progress(data) &&
	       !has_active_state(data);
}

/*
 * The chip could lose an edge, has overwritten the user's mask, or reports no single CPU: a
 * redirected one is where its parent is
 */
static bool chip_forbids(struct irq_desc *desc)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);
	struct irq_balance_desc *b = READ_ONCE(desc->balance);

	return may_lose_edge(desc) || (b && b->overwrites) ||
	       (cpumask_weight(irq_data_get_effective_affinity_mask(data)) != 1 &&
		!irq_balance_is_redirected(desc));
}

/* Why an interrupt must not be moved, other than by its mask: collect.c sees to that */
enum irq_balance_status irq_balance_check(struct irq_desc *desc)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);
	struct irq_chip *chip = irq_data_get_irq_chip(data);

	lockdep_assert_held(&desc->lock);

	/* First: the reference of a pass keeps the memory, not what the irqdomain frees */
	if (!desc->action)
		return IRQ_BALANCE_UNUSED;
	if (irq_desc_is_chained(desc))
		return IRQ_BALANCE_CHAINED;
	if (irq_is_nmi(desc))
		return IRQ_BALANCE_NMI;
	if (irq_settings_is_nested_thread(desc))
		return IRQ_BALANCE_NESTED;
	if (irqd_is_per_cpu(data))
		return IRQ_BALANCE_PER_CPU;
	if (irqd_affinity_is_managed(data))
		return IRQ_BALANCE_MANAGED;
	if (!may_balance(desc))
		return IRQ_BALANCE_NO_BALANCING;
	if (!chip || !chip->irq_set_affinity || (IS_ENABLED(CONFIG_PROC_FS) && no_irq_affinity))
		return IRQ_BALANCE_NO_AFFINITY;
	if (desc->istate & IRQS_BALANCE_BANNED)
		return IRQ_BALANCE_BANNED;
	/* A driver may disable it while it polls: its load is there nevertheless */
	if (!irqd_is_started(data) || !irqd_is_activated(data))
		return IRQ_BALANCE_STOPPED;
	if (irqd_is_forwarded_to_vcpu(data))
		return IRQ_BALANCE_FORWARDED;
	if (chip_forbids(desc))
		return IRQ_BALANCE_CHIP;

	return IRQ_BALANCE_MOVABLE;
}

/* The mask that is to hold: a pending one, as smp_affinity shows it, or the present one */
const struct cpumask *irq_balance_mask(struct irq_desc *desc)
{
	lockdep_assert_held(&desc->lock);

	if (irqd_is_setaffinity_pending(&desc->irq_data))
		return irq_desc_get_pending_mask(desc);
	return irq_data_get_affinity_mask(&desc->irq_data);
}

/* Whether CPU isolation leaves @cpu to the balancer. A cpuset partition may be made at any time. */
bool irq_balance_is_housekeeping(unsigned int cpu)
{
	KUNIT_STATIC_STUB_REDIRECT(irq_balance_is_housekeeping, cpu);
	guard(rcu)();
	return housekeeping_test_cpu(cpu, HK_TYPE_DOMAIN) &&
	       housekeeping_test_cpu(cpu, HK_TYPE_KERNEL_NOISE);
}

/*
 * The mask may have been written, or the CPU isolated, since the move was planned. A CPU that is
 * being taken down is online still, but not active. An active one cannot go away meanwhile:
 * stop_machine() waits for this CPU to enable interrupts.
 */
static bool may_move(struct irq_desc *desc, unsigned int cpu)
{
	return irq_balance_check(desc) == IRQ_BALANCE_MOVABLE && cpu_active(cpu) &&
	       cpumask_test_cpu(cpu, irq_balance_mask(desc)) && irq_balance_is_housekeeping(cpu);
}

/* Polls go to the target of a pending move as long as that may be made */
static bool leads(struct irq_desc *desc)
{
	return irqd_has_set(&desc->irq_data, IRQD_BALANCE_PENDING) &&
	       may_move(desc, desc->balance->target);
}

/* The mask and the CPUs may have changed since the plan */
static int set_cpu(struct irq_desc *desc, unsigned int cpu)
{
	int ret = -ECANCELED;

	if (may_move(desc, cpu))
		ret = irq_set_effective_cpu(&desc->irq_data, cpu);
	if (!ret)
		irq_balance_notify(desc);
	desc->balance->overwrites |= ret == -EOPNOTSUPP;
	return ret;
}

/* The effective affinity has changed: call the affinity notifier, with the mask unchanged */
void irq_balance_notify(struct irq_desc *desc)
{
	lockdep_assert_held(&desc->lock);

	if (desc->affinity_notify)
		irq_affinity_schedule_notify_work(desc);
}

/**
 * irq_effective_affinity_or - The CPU that an interrupt is delivered to
 * @irq:	interrupt number
 * @mask:	its affinity
 *
 * For affinity notifiers, which are given the affinity mask but map interrupts
 * to CPUs.
 *
 * Context: any. May race with a change, after which the notifier is called again.
 *
 * Return: mask of that CPU, or @mask if it is not one CPU or not known yet
 */
const struct cpumask *irq_effective_affinity_or(unsigned int irq, const struct cpumask *mask)
{
	const struct cpumask *effective = irq_get_effective_affinity_mask(irq);
	unsigned int cpu = nr_cpu_ids;

	if (effective && cpumask_weight(effective) == 1)
		cpu = cpumask_first(effective);
	return cpu < nr_cpu_ids ? cpumask_of(cpu) : mask;
}
EXPORT_SYMBOL_GPL(irq_effective_affinity_or);

/**
 * irq_balance_move - Deliver an interrupt to another CPU of its affinity mask
 * @desc:	descriptor of the interrupt, locked, with its state allocated
 * @cpu:	where to
 *
 * Context: any, interrupts disabled, desc->lock held.
 *
 * Return: 0 if done; -EINPROGRESS if the next interrupt will do it, then
 * irq_balance_move_result() returns the outcome; -ECANCELED if the interrupt must not be
 * moved, or @cpu is not active, isolated or not in the mask; -EOPNOTSUPP if its chip has
 * overwritten the mask, which was put right; or the chip's error: -EBUSY while the last
 * move is not cleaned up, -ENOSPC if @cpu has no vector left.
 */
int irq_balance_move(struct irq_desc *desc, unsigned int cpu)
{
	struct irq_balance_desc *b = desc->balance;
	struct irq_data *data = &desc->irq_data;

	/* Polls may have followed an earlier move, which is pending then */
	irq_balance_cancel(desc);
	if (!may_move(desc, cpu)) {
		b->error = -ECANCELED;
	} else if (irq_can_move_pcntxt(data) && !irqd_is_setaffinity_pending(data)) {
		b->error = set_cpu(desc, cpu);
	} else {
		b->target = cpu;
		b->error = -EINPROGRESS;
		irqd_set(data, IRQD_BALANCE_PENDING);
	}
	return b->error;
}

/**
 * irq_balance_move_masked - Do the balancer's pending move
 * @desc:	descriptor of the interrupt, locked
 *
 * A pending mask of the user is made the mask along with it.
 *
 * -EBUSY is left to the balancer. The retry that a user's move gets would mask
 * and unmask the line at every interrupt until the last move is cleaned up.
 *
 * Context: hard interrupt of @desc, masked at the chip, desc->lock held.
 *
 * Return: false if the user's move is due still
 */
bool irq_balance_move_masked(struct irq_desc *desc)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);
	struct irq_balance_desc *b = desc->balance;

	lockdep_assert_held(&desc->lock);

	if (!irqd_has_set(data, IRQD_BALANCE_PENDING))
		return false;

	irqd_clear(data, IRQD_BALANCE_PENDING);
	b->followed = false;
	b->error = set_cpu(desc, b->target);
	if (!irqd_is_setaffinity_pending(data))
		return true;
	if (b->error)
		return false;

	irq_data_update_affinity(data, irq_desc_get_pending_mask(desc));
	irqd_clr_move_pending(data);
	cpumask_clear(irq_desc_get_pending_mask(desc));
	return true;
}

/**
 * irq_balance_move_result - Get the outcome of the last move, and end it
 * @desc:	descriptor of the interrupt, locked
 *
 * A move for which no interrupt came is cancelled, unless NAPI polls have followed it.
 *
 * Context: any, interrupts disabled, desc->lock held.
 *
 * Return: 0 if there was none or it succeeded; -EINPROGRESS if NAPI polls have
 * followed and the interrupt has not come yet; -ETIMEDOUT if no interrupt came;
 * -ECANCELED if something else set the route; else as irq_balance_move()
 */
int irq_balance_move_result(struct irq_desc *desc)
{
	int ret = desc->balance->error;

	lockdep_assert_held(&desc->lock);

	if (ret == -EINPROGRESS) {
		/* The load is there already. The chip follows with the next interrupt. */
		if (desc->balance->followed && leads(desc))
			return ret;
		irq_balance_cancel(desc);
		ret = -ETIMEDOUT;
	}
	desc->balance->error = 0;
	return ret;
}

/* Cancel the balancer's pending move */
void irq_balance_cancel(struct irq_desc *desc)
{
	struct irq_balance_desc *b = READ_ONCE(desc->balance);

	lockdep_assert_held(&desc->lock);

	if (b)
		b->followed = false;
	if (irqd_has_set(&desc->irq_data, IRQD_BALANCE_PENDING)) {
		irqd_clear(&desc->irq_data, IRQD_BALANCE_PENDING);
		b->error = -ECANCELED;
	}
}

/* The CPU that bears the load: where the interrupt is delivered to, or its NAPI polls have gone */
unsigned int irq_balance_cpu(struct irq_desc *desc)
{
	struct irq_balance_desc *b = READ_ONCE(desc->balance);

	lockdep_assert_held(&desc->lock);

	if (b && b->followed && leads(desc))
		return b->target;
	return cpumask_first(irq_data_get_effective_affinity_mask(irq_desc_get_irq_data(desc)));
}

/* NAPI polls ask where to go on: to the target of a pending move; nr_cpu_ids: there is none */
unsigned int irq_balance_lead(struct irq_desc *desc)
{
	lockdep_assert_held(&desc->lock);

	if (!leads(desc))
		return nr_cpu_ids;
	desc->balance->followed = true;
	return desc->balance->target;
}
