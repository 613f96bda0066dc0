/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: the thread, shared with the files in sysfs and debugfs */
#ifndef _KERNEL_IRQ_BALANCE_H
#define _KERNEL_IRQ_BALANCE_H

#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/kobject.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>

#include "move.h"
#include "plan.h"

/* The modes of the balancer */
#define IRQ_BALANCE_MODES(x)							\
	x(OFF,		"off")		/* nothing, at no cost */		\
	x(OBSERVE,	"observe")	/* measures and plans */		\
	x(ON,		"on")		/* moves as well */

enum irq_balance_mode {
	IRQ_BALANCE_MODES(IRQ_BALANCE_ENUM)
	IRQ_BALANCE_NR_MODES
};

/* States that keep an interrupt, and may end by themselves */
#define IRQ_BALANCE_WAITS	(BIT(IRQ_BALANCE_STOPPED) | BIT(IRQ_BALANCE_FORWARDED) | \
				 BIT(IRQ_BALANCE_POLLED))

/* State of one interrupt, kept until its descriptor is freed */
struct irq_balance_entry {
	struct irq_balance_desc		mover;		/* what the mover does */
	struct irq_balance_state	state;		/* what the planner does */
	bool				moving;		/* a move is under way */
	bool				moved;		/* has the work followed the last one? */
	unsigned int			effective;	/* CPU at the last pass */
	unsigned int			ran;		/* where samples ran since, or none yet */
	u32				charges;	/* of &irq_load.charges by then */
	u64				counted;	/* clock (ns) when @count was read */
	unsigned long			count;
	u64				toll;		/* ns/s for IPIs once it has been moved */
	u64				thread;		/* time of its threads so far, ns */
	u32				behind;		/* a hash of those that it carries */
	unsigned long			allowed[];	/* affinity mask at this pass */
};

/* irq_balance_free() has only the mover's */
static_assert(!offsetof(struct irq_balance_entry, mover));

/* Everything that a pass works on, and what was counted since boot */
struct irq_balance_map {
	struct irq_balance		policy;
	struct irq_balance_cpu		*cpus;
	struct irq_balance_irq		*irqs;		/* of this pass, with a load */
	struct irq_desc			**descs;	/* the same, referenced */
	void				*work;		/* of the planner */
	unsigned int			size;		/* of irqs, descs, work */
	unsigned int			nr;
	struct cpumask			usable;
	u32				gain;		/* of the proposed moves, per mille */
	u64				passes;
	u64				moves[IRQ_BALANCE_NR_WHYS];
	u64				failed;		/* moves; the tracepoint has the causes */
};

extern struct mutex irq_balance_pass_mutex;
extern struct irq_balance_map irq_balance_map;
extern struct irq_balance_settings irq_balance_settings;

#define IRQ_BALANCE_WORD(name, word)	word,

extern const char * const irq_balance_mode_names[];
extern const char * const irq_balance_status_names[];

static inline struct irq_balance_entry *irq_balance_entry_of(struct irq_desc *desc)
{
	struct irq_balance_desc *b = READ_ONCE(desc->balance);

	return b ? container_of(b, struct irq_balance_entry, mover) : NULL;
}

enum irq_balance_mode irq_balance_get_mode(void);
int irq_balance_set_mode(enum irq_balance_mode mode);
int irq_balance_rebalance(void);
void irq_balance_replan(void);
void irq_balance_restrict(void);
void irq_balance_refresh(void);
bool irq_balance_moves(void);
const struct irq_balance_entry *irq_balance_peek(struct irq_desc *desc);

/* collect.c */
struct irq_balance_entry *irq_balance_alloc(struct irq_desc *desc);
int irq_balance_grow(struct irq_balance_map *map);
void irq_balance_usable_cpus(struct cpumask *mask);
enum irq_balance_status irq_balance_status(struct irq_desc *desc, const struct cpumask *usable);
const char *irq_balance_word(struct irq_desc *desc, const struct cpumask *usable);
void irq_balance_count_failure(unsigned int irq, unsigned int target, int error);
void irq_balance_collect_result(struct irq_desc *desc, u64 now);
void irq_balance_collect(struct irq_balance_map *map, u64 now);

/* chained.c */
struct irq_load;
bool irq_balance_carries(struct irq_balance_map *map, const struct irq_balance_irq *irq,
			 struct irq_load *sum);

/* Numbers and patterns of action names, and the file that they are written to */
struct irq_balance_list {
	struct kobj_attribute	attr;
	char			*words;		/* with a NUL each, and an empty one; NULL: none */
};

/* config.c */
extern struct irq_balance_list irq_balance_bans, irq_balance_widens;
int irq_balance_set(struct irq_balance_settings *set, const char *name, const char *text,
		    const char *where);
int irq_balance_set_cpus(const char *list, const char *where);
void irq_balance_get_cpus(struct cpumask *mask);
bool irq_balance_is_banned(struct irq_desc *desc);
bool irq_balance_is_listed_to_widen(struct irq_desc *desc);
void irq_balance_boot(struct irq_balance_settings *set, enum irq_balance_mode *mode);

/* widen.c */
bool irq_balance_is_drivers(struct irq_desc *desc);
void irq_balance_widen(struct irq_desc *desc, bool on);

#endif /* _KERNEL_IRQ_BALANCE_H */
