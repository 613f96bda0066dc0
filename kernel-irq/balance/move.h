/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: moving an interrupt inside its affinity mask */
#ifndef _KERNEL_IRQ_BALANCE_MOVE_H
#define _KERNEL_IRQ_BALANCE_MOVE_H

#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>

/*
 * Whether an interrupt may be moved, or why not. If several reasons apply one of
 * them is given. The words are interface of sysfs, tracepoints and tools. In sysfs
 * those of problem.h replace "movable" once there are any.
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
	x(BANNED,	"banned")	/* in the user's list */		\
	x(STOPPED,	"stopped")	/* not started */			\
	x(FORWARDED,	"forwarded")	/* goes to a virtual CPU */		\
	x(CHIP,		"chip")		/* see chip_forbids() */	\
	x(DRIVER,	"driver")	/* its mask is the one CPU that its driver prefers */\
	x(PINNED,	"pinned")	/* by the mask */

#define IRQ_BALANCE_ENUM(name, word)	IRQ_BALANCE_##name,

enum irq_balance_status {
	IRQ_BALANCE_STATUSES(IRQ_BALANCE_ENUM)
	IRQ_BALANCE_NR_STATUSES
};

/* The mover's state of one interrupt, the first member of struct irq_balance_entry: desc->lock */
struct irq_balance_desc {
	unsigned int	target;		/* of a pending move */
	int		error;		/* outcome of the last move */
	bool		followed;	/* NAPI polls go to @target already */
	bool		overwrites;	/* its chip has written the affinity mask */
};

enum irq_balance_status irq_balance_check(struct irq_desc *desc);
int irq_balance_move(struct irq_desc *desc, unsigned int cpu);
int irq_balance_move_result(struct irq_desc *desc);
unsigned int irq_balance_cpu(struct irq_desc *desc);
const struct cpumask *irq_balance_mask(struct irq_desc *desc);
bool irq_balance_is_housekeeping(unsigned int cpu);
bool irq_balance_is_redirected(struct irq_desc *desc);

#endif /* _KERNEL_IRQ_BALANCE_MOVE_H */
