/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupt balancing: the ground on which the other files stand
 *
 * The records of each interrupt and of the machine, the mode, and the bell that wakes the
 * thread. Nothing here calls config, collect, core, sysfs or debugfs.
 */
#ifndef _KERNEL_IRQ_BALANCE_STATE_H
#define _KERNEL_IRQ_BALANCE_STATE_H

#include <linux/cpumask.h>
#include <linux/mutex.h>
#include <linux/rcuwait.h>

#include "move.h"
#include "problem.h"

/* The modes of the balancer */
#define IRQ_BALANCE_MODES(x)							\
	x(OFF,		"off")		/* nothing, at no cost */		\
	x(OBSERVE,	"observe")	/* measures and plans */		\
	x(ON,		"on")		/* moves as well */

enum irq_balance_mode {
	IRQ_BALANCE_MODES(IRQ_BALANCE_ENUM)
	IRQ_BALANCE_NR_MODES
};

/*
 * The letters say which lock guards a member:
 *
 *   D	desc->lock
 *   P	irq_balance_pass_mutex
 *   R	P, for writers; readers take what they find
 */

/* State of one interrupt, allocated when it is needed first, freed with its descriptor */
struct irq_balance_entry {
	struct irq_balance_desc		mover;		/* D: what the mover does */
	struct irq_balance_state	state;		/* R: what the planner does */
	bool				moving;		/* P: its last move has no outcome yet */
	bool				unproven;	/* P: it has moved, no sample shows it */
	unsigned int			effective;	/* P: CPU at the last pass */
	unsigned int			ran;		/* P: where samples ran since */
	u32				charges;	/* P: of &irq_load.charges by then */
	u64				counted;	/* P: clock (ns) when @count was read */
	u32				count;		/* P */
	u64				toll;		/* P: ns/s for IPIs once moved */
	u64				thread;		/* P: time of its threads so far, ns */
	unsigned long			allowed[];	/* P: affinity mask at this pass */
};

/* The descriptor points to the mover's part, and is freed with it */
static_assert(!offsetof(struct irq_balance_entry, mover));

/* Everything that a pass works on, and what was counted since boot: P */
struct irq_balance_map {
	struct irq_balance		policy;
	struct irq_balance_cpu		*cpus;
	struct irq_balance_irq		*irqs;		/* of this pass */
	struct irq_desc			**descs;	/* the same, referenced */
	void				*work;		/* of the planner */
	unsigned int			size;		/* of irqs, descs, work */
	unsigned int			nr;
	struct cpumask			usable;
	u64				passes;		/* R */
	u64				moves[IRQ_BALANCE_NR_WHYS];
	u64				failed;		/* moves; the tracepoint has the causes */
};

/* The bell wakes the thread: set by its caller, cleared by the thread */
struct irq_balance_bell {
	struct rcuwait		wait;		/* of the thread alone */
	unsigned int		rung;		/* a pass is due, as something may have changed */
	unsigned int		review;		/* all interrupts are to be looked at */
};

extern struct mutex irq_balance_pass_mutex;
extern struct irq_balance_map irq_balance_map;
extern struct irq_balance_settings irq_balance_settings;	/* R */
extern enum irq_balance_mode irq_balance_mode;			/* R; core.c has its mutex */
extern struct irq_balance_bell irq_balance_bell;
extern struct irq_work irq_balance_ring;

#define IRQ_BALANCE_WORD(name, word)	word,

extern const char * const irq_balance_mode_names[];

static inline enum irq_balance_mode irq_balance_get_mode(void)
{
	return READ_ONCE(irq_balance_mode);
}

static inline struct irq_balance_entry *irq_balance_entry_of(struct irq_desc *desc)
{
	struct irq_balance_desc *b = READ_ONCE(desc->balance);

	return b ? container_of(b, struct irq_balance_entry, mover) : NULL;
}

/* The record of an interrupt that cannot go away, NULL: none. A pass may be writing. */
static inline const struct irq_balance_entry *irq_balance_peek(struct irq_desc *desc)
{
	return irq_balance_get_mode() == IRQ_BALANCE_OFF ? NULL : irq_balance_entry_of(desc);
}

struct irq_balance_entry *irq_balance_alloc(struct irq_desc *desc);
bool irq_balance_moves(void);
void irq_balance_replan(void);

#endif /* _KERNEL_IRQ_BALANCE_STATE_H */
