/* SPDX-License-Identifier: GPL-2.0 */
/* Moving an interrupt inside its affinity mask: what the rest of kernel/irq calls */
#ifndef _KERNEL_IRQ_BALANCE_MOVE_H
#define _KERNEL_IRQ_BALANCE_MOVE_H

#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/slab.h>

/*
 * Whether an interrupt may be moved, or why not. If several reasons apply one of
 * them is given. The words are interface of sysfs, tracepoints and tools. In sysfs
 * those of plan.h replace "movable" once there are any.
 */
#define IRQ_BALANCE_STATUSES(x)							\
	x(MOVABLE,	"movable")						\
	x(UNUSED,	"unused")	/* no handler */			\
	x(CHAINED,	"chained")	/* demultiplexes other interrupts */	\
	x(NMI,		"nmi")		/* non-maskable */			\
	x(NESTED,	"nested")	/* handled in another interrupt's thread */	\
	x(PER_CPU,	"per-cpu")	/* belongs to one CPU each */		\
	x(MANAGED,	"managed")	/* spread by the core for its driver */	\
	x(NO_BALANCING,	"no-balancing")	/* IRQF_NOBALANCING, IRQ_NO_BALANCING */\
	x(NO_AFFINITY,	"no-affinity")	/* the chip or the platform cannot */	\
	x(STOPPED,	"stopped")	/* not started, or disabled */		\
	x(FORWARDED,	"forwarded")	/* goes to a virtual CPU */		\
	x(CHIP,		"chip")		/* see irq_balance_chip_forbids() */	\
	x(OPTED_OUT,	"opted-out")	/* by the user */			\
	x(POLLED,	"polled")	/* by a task, so its load is not known */\
	x(BANNED,	"banned")	/* in the user's list */		\
	x(DRIVER,	"driver")	/* has a mask of one CPU from its driver */\
	x(PINNED,	"pinned")	/* by the mask */

#define IRQ_BALANCE_ENUM(name, word)	IRQ_BALANCE_##name,

enum irq_balance_status {
	IRQ_BALANCE_STATUSES(IRQ_BALANCE_ENUM)
	IRQ_BALANCE_NR_STATUSES
};

extern const struct attribute_group irq_balance_irq_group;

#ifdef CONFIG_IRQ_BALANCE

/* The mover's state of one interrupt, the first member of struct irq_balance_entry */
struct irq_balance_desc {
	unsigned int	target;		/* of a pending move, or where polls @followed the user's */
	int		error;		/* outcome of the last move */
	bool		opted_out;	/* by the user */
	bool		followed;	/* a move is pending, NAPI polls are at @target already */
	bool		evacuates;	/* the pending move is not the planner's */
	bool		carries;	/* it is chained, and moves with all that is behind it */
	unsigned int	carrier;	/* the interrupt with which it moves, 0: none */
	struct irq_balance_masks *widened; /* NULL: the mask is not the balancer's */
};

extern unsigned long irq_balance_routed;

/*
 * Not its driver's alone, as that of a clock event device, which follows those that go idle, or
 * the doorbell of a virtual CPU (GICv4), whose route changes with each context switch
 */
static inline bool irq_balance_may_balance(struct irq_desc *desc)
{
	return irqd_can_balance(&desc->irq_data) &&
	       !(desc->action && desc->action->flags & __IRQF_TIMER);
}

/* A chained interrupt may keep its action when it is given up, the others do not */
static inline bool irq_balance_is_used(struct irq_desc *desc)
{
	return desc->action && desc->handle_irq != handle_bad_irq;
}

enum irq_balance_status irq_balance_check(struct irq_desc *desc);
int irq_balance_move(struct irq_desc *desc, unsigned int cpu);
int irq_balance_move_result(struct irq_desc *desc);
unsigned int irq_balance_cpu(struct irq_desc *desc);
unsigned int irq_balance_next_cpu(struct irq_desc *desc, unsigned int cpu);
bool irq_balance_move_masked(struct irq_desc *desc);
void irq_balance_cancel(struct irq_desc *desc);
void irq_balance_cancel_on(struct irq_desc *desc, unsigned int cpu);
void irq_balance_notify(struct irq_desc *desc);
const struct cpumask *irq_balance_mask(struct irq_desc *desc);
bool irq_balance_is_housekeeping(unsigned int cpu);
bool irq_balance_is_redirected(struct irq_desc *desc);

/* manage.c */
int irq_set_effective_cpu(struct irq_data *data, unsigned int cpu);

/* widen.c */
int irq_set_affinity_driver(struct irq_desc *desc, const struct cpumask *mask, bool force);
int irq_set_affinity_usr(unsigned int irq, const struct cpumask *mask);

static inline void irq_balance_free(struct irq_desc *desc)
{
	if (desc->balance)
		kfree(desc->balance->widened);
	kfree(desc->balance);
}

/* napi.c, with CONFIG_IRQ_LOAD_NAPI */
void irq_balance_follow(bool follow);

#else /* CONFIG_IRQ_BALANCE */

static inline bool irq_balance_move_masked(struct irq_desc *desc) { return false; }
static inline void irq_balance_cancel(struct irq_desc *desc) { }
static inline void irq_balance_cancel_on(struct irq_desc *desc, unsigned int cpu) { }
static inline void irq_balance_free(struct irq_desc *desc) { }
static inline void irq_balance_notify(struct irq_desc *desc) { }
static inline int irq_set_affinity_usr(unsigned int irq, const struct cpumask *mask)
{
	return irq_set_affinity(irq, mask);
}

#define irq_set_affinity_driver(desc, mask, force) \
	irq_set_affinity_locked(irq_desc_get_irq_data(desc), mask, force)

#endif /* !CONFIG_IRQ_BALANCE */

#endif /* _KERNEL_IRQ_BALANCE_MOVE_H */
