/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Moving an interrupt inside its affinity mask: what the rest of kernel/irq
 * has to know of it, which is how to call it off.
 */
#ifndef _KERNEL_IRQ_BALANCE_MOVE_H
#define _KERNEL_IRQ_BALANCE_MOVE_H

#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>

/**
 * enum irq_balance_fixed - Why an interrupt is left where it is
 * @IRQ_BALANCE_MOVABLE:	it is not
 * @IRQ_BALANCE_UNUSED:		no handler
 * @IRQ_BALANCE_CHAINED:	demultiplexes other interrupts
 * @IRQ_BALANCE_NMI:		non-maskable
 * @IRQ_BALANCE_NESTED:		handled in the thread of another interrupt
 * @IRQ_BALANCE_PER_CPU:	belongs to one CPU each
 * @IRQ_BALANCE_MANAGED:	spread by the core for its driver
 * @IRQ_BALANCE_NO_BALANCING:	IRQF_NOBALANCING or IRQ_NO_BALANCING
 * @IRQ_BALANCE_NO_AFFINITY:	the chip or the platform cannot
 * @IRQ_BALANCE_STOPPED:	not started, not activated or disabled
 * @IRQ_BALANCE_FORWARDED:	goes to a virtual CPU
 * @IRQ_BALANCE_REDIRECTED:	would cost an IPI each time
 * @IRQ_BALANCE_CHIP:		the chip does not name one CPU, keeps its route in
 *				the affinity mask, or could lose an edge
 * @IRQ_BALANCE_OPTED_OUT:	the user opted out
 * @IRQ_BALANCE_POLLED:		its NAPI is polled by a thread or a busy poller, which
 *				the scheduler places: its load is not known
 * @IRQ_BALANCE_USER_MOVE:	a write to the mask has not taken effect yet
 * @IRQ_BALANCE_BANNED:		its number or action is in the list of banned ones
 * @IRQ_BALANCE_PINNED:		the mask leaves no choice, or the user placed the thread
 * @IRQ_BALANCE_HELD:		moves of it had no effect lately; there will be another
 * @IRQ_BALANCE_NR_FIXED:	number of reasons, not a reason
 *
 * If several apply the first one is given, in this order.
 */
enum irq_balance_fixed {
	IRQ_BALANCE_MOVABLE,
	IRQ_BALANCE_UNUSED,
	IRQ_BALANCE_CHAINED,
	IRQ_BALANCE_NMI,
	IRQ_BALANCE_NESTED,
	IRQ_BALANCE_PER_CPU,
	IRQ_BALANCE_MANAGED,
	IRQ_BALANCE_NO_BALANCING,
	IRQ_BALANCE_NO_AFFINITY,
	IRQ_BALANCE_STOPPED,
	IRQ_BALANCE_FORWARDED,
	IRQ_BALANCE_REDIRECTED,
	IRQ_BALANCE_CHIP,
	IRQ_BALANCE_OPTED_OUT,
	IRQ_BALANCE_POLLED,
	IRQ_BALANCE_USER_MOVE,
	IRQ_BALANCE_BANNED,
	IRQ_BALANCE_PINNED,
	IRQ_BALANCE_HELD,
	IRQ_BALANCE_NR_FIXED
};

extern const struct attribute_group irq_balance_irq_group;

#ifdef CONFIG_IRQ_BALANCE

/**
 * struct irq_balance_desc - What the balancer keeps of one interrupt
 * @target:	CPU to move to, valid with IRQD_BALANCE_PENDING or @followed
 * @error:	outcome of the last move
 * @opted_out:	not to be moved, the user opted out
 * @followed:	a move is pending, and NAPI polls are at @target already
 * @chip_mask:	not to be moved, as the chip keeps its route in the mask
 * @moving:	the chip is being programmed for one CPU of the mask
 * @entry:	what the thread remembers of the interrupt
 */
struct irq_balance_desc {
	unsigned int			target;
	int				error;
	bool				opted_out;
	bool				followed;
	bool				chip_mask;
	bool				moving;
	struct irq_balance_entry	*entry;
};

enum irq_balance_fixed irq_balance_why_fixed(struct irq_desc *desc);
int irq_balance_move(struct irq_desc *desc, unsigned int cpu);
int irq_balance_move_result(struct irq_desc *desc);
unsigned int irq_balance_cpu(struct irq_desc *desc);
unsigned int irq_balance_next_cpu(struct irq_desc *desc, unsigned int cpu);
bool irq_balance_move_masked(struct irq_desc *desc);
void irq_balance_cancel(struct irq_desc *desc);
struct irq_balance_desc *irq_balance_alloc(struct irq_desc *desc);
void irq_balance_free(struct irq_desc *desc);
void irq_balance_notify(struct irq_desc *desc);

/* Under desc->lock */
static inline bool irq_balance_is_moving(struct irq_desc *desc)
{
	return desc->balance && desc->balance->moving;
}

/* napi.c */
#ifdef CONFIG_IRQ_BALANCE_NAPI
void irq_balance_follow(bool follow);
void irq_balance_take_polls(void);
#else
static inline void irq_balance_follow(bool follow) { }
static inline void irq_balance_take_polls(void) { }
#endif

#else /* CONFIG_IRQ_BALANCE */

static inline bool irq_balance_is_moving(struct irq_desc *desc) { return false; }
static inline bool irq_balance_move_masked(struct irq_desc *desc) { return false; }
static inline void irq_balance_cancel(struct irq_desc *desc) { }
static inline void irq_balance_free(struct irq_desc *desc) { }
static inline void irq_balance_notify(struct irq_desc *desc) { }

#endif /* !CONFIG_IRQ_BALANCE */

#endif /* _KERNEL_IRQ_BALANCE_MOVE_H */
