/* SPDX-License-Identifier: GPL-2.0 */
/* The balancer's own interfaces: what its thread and its sysfs files share */
#ifndef _KERNEL_IRQ_BALANCE_H
#define _KERNEL_IRQ_BALANCE_H

#include <linux/cleanup.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>

#include "move.h"
#include "plan.h"

/**
 * enum irq_balance_mode - What the balancer does
 * @IRQ_BALANCE_OFF:	nothing, at no cost
 * @IRQ_BALANCE_OBSERVE: measures and plans
 * @IRQ_BALANCE_ON:	moves as well
 * @IRQ_BALANCE_NR_MODES: number of modes, not a mode
 */
enum irq_balance_mode {
	IRQ_BALANCE_OFF,
	IRQ_BALANCE_OBSERVE,
	IRQ_BALANCE_ON,
	IRQ_BALANCE_NR_MODES
};

/**
 * struct irq_balance_entry - What the thread remembers of one interrupt
 * @state:	what the planner does
 * @target:	CPU of the move that is under way
 * @origin:	CPU that it started from
 * @from:	the same for the last move that was done
 * @proposal:	in observe: CPU that it would be moved to, plus 1; 0 for none
 * @moving:	whether a move is under way
 * @fixed:	enum irq_balance_fixed, as the present pass saw it
 * @allowed:	affinity mask as the present pass saw it
 */
struct irq_balance_entry {
	struct irq_balance_state	state;
	unsigned int			target;
	unsigned int			origin;
	unsigned int			from;
	unsigned int			proposal;
	bool				moving;
	u8				fixed;
	unsigned long			allowed[];
};

/**
 * struct irq_balance_stats - What the balancer has done since boot
 * @passes:	times it looked
 * @moves:	moves that were asked for, by enum irq_balance_why
 * @busy:	moves put off as the last one was not cleaned up (-EBUSY)
 * @no_vector:	moves refused as the CPU had no vector left (-ENOSPC)
 * @expired:	moves called off as no interrupt came to do them
 * @cancelled:	moves overtaken by a write to the mask or a ban, a shutdown or hotplug
 * @failed:	moves that failed for any other reason
 */
struct irq_balance_stats {
	u64	passes;
	u64	moves[IRQ_BALANCE_NR_WHYS];
	u64	busy;
	u64	no_vector;
	u64	expired;
	u64	cancelled;
	u64	failed;
};

/* Guards the settings, the statistics and everything a pass works on */
extern struct mutex irq_balance_pass_mutex;
extern struct irq_balance_settings irq_balance_settings;
extern struct irq_balance_stats irq_balance_stats;

const char *irq_balance_mode_name(enum irq_balance_mode mode);
enum irq_balance_mode irq_balance_get_mode(void);
int irq_balance_set_mode(enum irq_balance_mode mode);
int irq_balance_rebalance(void);
u64 irq_balance_cpu_time_ns(void);
u32 irq_balance_proposal_gain(void);
int irq_balance_count(enum irq_balance_fixed why);
void irq_balance_replan(void);
void irq_balance_restrict(void);
int irq_balance_trace_begin(void);
void irq_balance_load_of_cpu(unsigned int cpu, u64 *load, u64 *base);
u64 irq_balance_load_of_irq(struct irq_desc *desc);
int irq_balance_status(struct irq_desc *desc, enum irq_balance_fixed *why);
const struct irq_balance_entry *irq_balance_peek_entry(struct irq_desc *desc);

static inline const struct irq_balance_state *irq_balance_peek_state(struct irq_desc *desc)
{
	const struct irq_balance_entry *entry = irq_balance_peek_entry(desc);

	return entry ? &entry->state : NULL;
}

/* config.c */
int irq_balance_put_text(struct irq_balance_settings *set, const struct irq_balance_knob *knob,
			 const char *text, const char *where);
void irq_balance_and_cpus(struct cpumask *mask);
int irq_balance_set_cpus(const char *list, const char *where);
int irq_balance_show_cpus(char *buf);
int irq_balance_set_bans(const char *list, const char *where);
int irq_balance_show_bans(char *buf);
bool irq_balance_is_banned(struct irq_desc *desc);
void irq_balance_boot(struct irq_balance_settings *set, enum irq_balance_mode *mode);

#endif /* _KERNEL_IRQ_BALANCE_H */
