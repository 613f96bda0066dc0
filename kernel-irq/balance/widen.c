// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-balance-widen
 *
 * Many drivers write a mask of one CPU for each of their interrupts. That is their default
 * placement: a pin that no user has asked for. It is respected (status "driver"), unless the
 * user names the interrupt in the list "widen". Then the balancer does what the user would do
 * by hand: smp_affinity becomes default_smp_affinity, and the affinity notifier is called.
 *
 * Which masks are the user's is recorded where they are written (IRQS_USER_AFFINITY). When the
 * driver of a widened interrupt writes again, its mask is kept for later and the wide one written
 * in its place, in the same critical section: the effective CPU is never outside of the mask that
 * smp_affinity shows. A mask that the user writes takes the place of the wide one. The driver's
 * mask comes back when the interrupt leaves the list, or the balancer is not "on" any more.
 */
#include <linux/delay.h>
#include <linux/irq.h>
#include <linux/slab.h>

#include "../internals.h"
#include "core.h"

/* The masks of a widened interrupt, under desc->lock */
struct irq_balance_masks {
	struct cpumask	driver;		/* its last one */
	struct cpumask	user;		/* if @by_user */
	bool		by_user;	/* the user has written since */
};

/* The mask instead of @mask, which it is where that has no CPU that is online */
static const struct cpumask *irq_balance_wide_mask(const struct irq_balance_masks *masks,
						   const struct cpumask *mask)
{
	const struct cpumask *wide = masks->by_user ? &masks->user : irq_default_affinity;

	return cpumask_intersects(wide, cpu_online_mask) ? wide : mask;
}

/* Write a mask. A chip may choose any CPU of it: an interrupt that is inside of it stays there. */
static int irq_balance_set_mask(struct irq_desc *desc, const struct cpumask *mask)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);
	const struct cpumask *effective = irq_data_get_effective_affinity_mask(data);

	if (!irqd_is_started(data) || irqd_is_setaffinity_pending(data) ||
	    cpumask_empty(effective) || !cpumask_subset(effective, mask))
		return irq_set_affinity_locked(data, mask, false);

	irq_balance_cancel(desc);
	irq_data_update_affinity(data, mask);
	irqd_set(data, IRQD_AFFINITY_SET);
	irq_balance_notify(desc);
	return 0;
}

/**
 * irq_set_affinity_driver - Set the affinity of an interrupt for its driver
 * @desc:	descriptor of the interrupt, locked
 * @mask:	the driver's mask
 * @force:	see irq_force_affinity(): nothing else is written then
 *
 * If the interrupt is widened another mask is written, and the driver's kept. Drivers also
 * write back the mask that they were notified of: that is no choice of theirs.
 *
 * Return: 0 or the error of irq_set_affinity()
 */
int irq_set_affinity_driver(struct irq_desc *desc, const struct cpumask *mask, bool force)
{
	struct irq_balance_desc *b = READ_ONCE(desc->balance);
	struct irq_balance_masks *masks = b ? b->widened : NULL;
	bool same = cpumask_equal(mask, irq_balance_mask(desc));
	const struct cpumask *set = mask;
	int ret;

	if (masks && !same && !force && (masks->by_user || cpumask_weight(mask) == 1))
		set = irq_balance_wide_mask(masks, mask);
	ret = set != mask ? irq_balance_set_mask(desc, set) :
			    irq_set_affinity_locked(irq_desc_get_irq_data(desc), mask, force);
	if (ret || same)
		return ret;

	if (masks)
		cpumask_copy(&masks->driver, mask);
	if (set == mask)
		desc->istate &= ~IRQS_USER_AFFINITY;
	if (irq_balance_may_balance(desc))
		irq_balance_review();
	return 0;
}

static int irq_balance_set_usr(struct irq_desc *desc, const struct cpumask *mask)
{
	struct irq_balance_desc *b;
	int ret;

	guard(raw_spinlock_irqsave)(&desc->lock);
	ret = irq_set_affinity_locked(irq_desc_get_irq_data(desc), mask, false);
	if (ret)
		return ret;

	desc->istate |= IRQS_USER_AFFINITY;
	b = READ_ONCE(desc->balance);
	if (b && b->widened) {
		cpumask_copy(&b->widened->user, mask);
		b->widened->by_user = true;
	}
	irq_balance_review();
	return 0;
}

/**
 * irq_set_affinity_usr - Set the affinity of an interrupt for the user
 * @irq:	interrupt number
 * @mask:	the user's mask
 *
 * Context: process context, may sleep
 *
 * Return: 0 or the error of irq_set_affinity()
 */
int irq_set_affinity_usr(unsigned int irq, const struct cpumask *mask)
{
	struct irq_desc *desc = irq_to_desc(irq);
	unsigned int tries = 20;
	int ret;

	if (!desc)
		return -EINVAL;

	/* The chip may have to clean up after a move, and no mask be pending meanwhile */
	while ((ret = irq_balance_set_usr(desc, mask)) == -EBUSY && --tries)
		usleep_range(50, 100);
	return ret;
}

/* Whether the mask is one CPU, as a driver has written it */
bool irq_balance_is_drivers(struct irq_desc *desc)
{
	struct irq_balance_desc *b = READ_ONCE(desc->balance);

	return cpumask_weight(irq_balance_mask(desc)) == 1 &&
	       irqd_has_set(&desc->irq_data, IRQD_AFFINITY_SET) &&
	       !(desc->istate & IRQS_USER_AFFINITY) && !(b && b->widened);
}

/* Interrupts that cannot be moved at the moment may be movable later, without notice */
#define IRQ_BALANCE_WIDENS	(BIT(IRQ_BALANCE_MOVABLE) | BIT(IRQ_BALANCE_STOPPED) | \
				 BIT(IRQ_BALANCE_POLLED))

/* Give the driver's mask back. If its CPU has gone, the mask would have been widened by that. */
static void irq_balance_give_back(struct irq_desc *desc, const struct irq_balance_masks *masks)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);

	if (masks->by_user || !cpumask_intersects(&masks->driver, cpu_online_mask))
		return;
	if (desc->action) {
		/* If that fails, the next mask that the driver writes is its own */
		irq_set_affinity_locked(data, &masks->driver, false);
		return;
	}
	/* The chip may be gone already. If not, the next startup takes the mask. */
	irqd_clr_move_pending(data);
	irq_data_update_affinity(data, &masks->driver);
}

/* Widen the mask of an interrupt, or give the driver's back: as @listed */
static void irq_balance_widen_locked(struct irq_desc *desc, bool listed,
				     struct irq_balance_masks **masks)
{
	struct irq_balance_desc *b = desc->balance;

	lockdep_assert_held(&desc->lock);

	if (listed && *masks && desc->istate & IRQS_USER_AFFINITY) {
		/* It stays, whatever the driver writes from now on */
		cpumask_copy(&(*masks)->user, irq_balance_mask(desc));
		cpumask_copy(&(*masks)->driver, irq_balance_mask(desc));
		(*masks)->by_user = true;
		swap(b->widened, *masks);
	} else if (listed && *masks && !b->opted_out && irq_balance_is_drivers(desc) &&
		   (BIT(irq_balance_check(desc)) & IRQ_BALANCE_WIDENS)) {
		cpumask_copy(&(*masks)->driver, irq_balance_mask(desc));
		if (!irq_balance_set_mask(desc, irq_balance_wide_mask(*masks, &(*masks)->driver)))
			swap(b->widened, *masks);
	} else if (!listed && b->widened) {
		irq_balance_give_back(desc, b->widened);
		swap(b->widened, *masks);
	}
}

/**
 * irq_balance_widen - Have the mask of an interrupt follow the list
 * @desc:	descriptor of the interrupt, referenced
 * @on:		false: as if the list were empty
 *
 * Context: process context, may sleep, serialised by the caller.
 */
void irq_balance_widen(struct irq_desc *desc, bool on)
{
	struct irq_balance_masks *masks __free(kfree) = NULL;
	bool listed, widened;

	scoped_guard(raw_spinlock_irq, &desc->lock) {
		widened = READ_ONCE(desc->balance) && desc->balance->widened;
		/* One without a handler has no name: it stays as it is */
		listed = on && !irq_balance_is_banned(desc) &&
			 (desc->action ? irq_balance_is_listed_to_widen(desc) : widened);
	}
	if (listed == widened)
		return;
	if (listed && irq_balance_alloc(desc))
		masks = kzalloc_obj(*masks);
	if (READ_ONCE(desc->balance)) {
		guard(raw_spinlock_irq)(&desc->lock);
		irq_balance_widen_locked(desc, listed, &masks);
	}
}
