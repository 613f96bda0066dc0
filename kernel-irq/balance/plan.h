/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupt balancing: the planner's inputs and outputs
 *
 * Numbers in, moves out. Nothing in the planner takes a lock, reads a clock,
 * allocates or knows what an interrupt descriptor is: the same files serve the
 * kernel, KUnit and tools/testing/irq_balance. The caller owns all state and
 * serialises the passes.
 */
#ifndef _KERNEL_IRQ_BALANCE_PLAN_H
#define _KERNEL_IRQ_BALANCE_PLAN_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../load_charge.h"
#include "average.h"
#include "settings.h"

struct irq_balance_work;

/* &irq_balance.next if no timer is needed */
#define IRQ_BALANCE_NO_TIMER	(~0ULL)

/* No quantum is charged in that time, ns */
#define IRQ_BALANCE_LIMIT_NEVER	1U

/* Why an interrupt moves, or stays: the words are interface of sysfs, tracepoints, replay */
#define IRQ_BALANCE_WHYS(x)							\
	x(NONE,		"none")		/* no pass has seen it */		\
	x(IMBALANCE,	"imbalance")	/* moves: the worst CPU has too much to do */\
	x(CAPACITY,	"capacity")	/* moves to a CPU of more capacity */	\
	x(LOCALITY,	"locality")	/* moves to its device's node */	\
	x(AFFINITY,	"affinity")	/* moves: its CPU is not allowed any more */\
	x(HOTPLUG,	"hotplug")	/* its CPU went offline; the core moved it */\
	x(ROTATE,	"rotate")	/* moves by policy rotate */		\
	x(COMPACT,	"compact")	/* moves by policy compact */		\
	x(BEST,		"best")		/* stays: nothing better was found */	\
	x(LIGHT,	"light")	/* stays: below the share that is heavy */\
	x(GAIN,		"gain")		/* stays: would gain less than min_gain */\
	x(NOISE,	"noise")	/* stays: the loads may be off by the gain */\
	x(RESTING,	"resting")	/* stays: it moved recently */		\
	x(FAILED,	"failed")	/* stays: moves of it had no effect */	\
	x(NODE,		"node")		/* stays: its device's node holds it */	\
	x(FULL,		"full")		/* stays: no other CPU has a free vector */\
	x(FIXED,	"fixed")	/* may not be moved */

#define IRQ_BALANCE_WHY_ENUM(name, word) IRQ_BALANCE_WHY_##name,
enum irq_balance_why {
	IRQ_BALANCE_WHYS(IRQ_BALANCE_WHY_ENUM)
	IRQ_BALANCE_NR_WHYS
};

/**
 * struct irq_balance_state - What the planner remembers of one interrupt
 * @load:	its load on a CPU of capacity 1024
 * @moved:	clock (ns) of the pass that saw its last move done, 0: never
 * @hold:	clock (ns) until which it is left where it is
 * @generation:	&irq_balance.generation that the rest belongs to
 * @cpu:	where the last pass saw it
 * @target:	where it was asked to go
 * @limit:	ns, 0: unknown, see irq_balance_kick()
 * @reason:	enum irq_balance_why of its last move, NONE: the planner did not move it
 * @planned:	enum irq_balance_why of the move to @target, NONE: no move
 * @why:	enum irq_balance_why: why it stays, if it does
 * @refused:	passes in which a move of it had no effect
 * @churn:	moves that each came soon after the one before
 * @heavy:	whether it may be moved for its load
 * @ran:	whether it was charged any time in the last window
 * @away:	whether it was moved away from its device's node
 *
 * The kernel keeps one for each interrupt, zeroed at first. Only
 * irq_balance_pass() writes; others may read single members locklessly.
 */
struct irq_balance_state {
	struct irq_balance_average	load;
	u64				moved;
	u64				hold;
	u32				generation;
	u32				cpu;
	u32				target;
	u32				limit;
	u8				reason;
	u8				planned;
	u8				why;
	u8				refused;
	u8				churn;
	bool				heavy;
	bool				ran;
	bool				away;
};

/**
 * struct irq_balance_cpu - One CPU
 * @time:	in: cumulative ns of interrupt and softirq time that it spent
 *		for no interrupt that is handed in; not scaled, may restart
 * @capacity:	in: 1..1024, as arch_scale_cpu_capacity()
 * @node:	in: NUMA node or -1
 * @package:	in: package, numbered machine-wide
 * @llc:	in: CPUs that share the last-level cache, numbered machine-wide
 * @core:	in: SMT siblings have the same one, numbered machine-wide
 * @usable:	in: may be given interrupts: online, housekeeping and in the
 *		balancer's own list
 * @full:	in: had no free vector recently (-ENOSPC): gets no more interrupts
 * @base:	state: its load that belongs to no interrupt
 * @load:	out: its relative load (ns/s) at this pass, all interrupts
 *		included: 1e9 is a CPU that does nothing else
 *
 * The array is the caller's, indexed by CPU number, zeroed at first, and
 * persists from pass to pass: @base is kept in it.
 */
struct irq_balance_cpu {
	u64				time;
	u32				capacity;
	int				node;
	unsigned int			package;
	unsigned int			llc;
	unsigned int			core;
	bool				usable;
	bool				full;
	struct irq_balance_average	base;
	u64				load;
};

/**
 * struct irq_balance_irq - One interrupt, as it is handed to a pass
 * @irq:	in: its number; the array is in rising order of it
 * @node:	in: node of its device or -1
 * @cpu:	in: CPU that it is effectively delivered to; one that is not
 *		in the array: delivered nowhere
 * @time:	in: cumulative ns spent for it, on whatever CPU; may restart
 * @allowed:	in: bitmap of the CPUs that the user allows, NULL: may not be
 *		moved (managed, opted out, one CPU, move pending, ...)
 * @state:	in, out: what is remembered of it
 * @load:	out: load (ns/s) on a CPU of capacity 1024
 * @target:	out: CPU that it is to be moved to by this pass, @cpu: stays
 * @reason:	out: why, IRQ_BALANCE_WHY_NONE: stays
 * @gain:	out: ns/s by which the moves that this one belongs to lower the
 *		worst relative load of the CPUs that they touch
 */
struct irq_balance_irq {
	unsigned int			irq;
	int				node;
	unsigned int			cpu;
	u64				time;
	const unsigned long		*allowed;
	struct irq_balance_state	*state;
	u64				load;
	unsigned int			target;
	enum irq_balance_why		reason;
	u64				gain;
};

/**
 * struct irq_balance - What the planner remembers of the machine
 * @work:	workspace, of irq_balance_work_size() bytes
 * @last:	clock (ns) of the last pass, 0: there was none
 * @next:	clock (ns) of the next pass, or IRQ_BALANCE_NO_TIMER
 * @rotated:	clock (ns) of the last turn of policy rotate
 * @before:	relative load (ns/s) of the worst CPU that the last plan touched
 * @after:	the same with its moves done, as predicted
 * @generation:	changes with irq_balance_init(): older states are void
 * @interval_ms: ms from the last pass to the next, 0: no timer
 * @nr_heavy:	heavy interrupts at the last pass, movable or not
 * @nr_moves:	moves that the last pass asked for
 * @probe:	passes to make after a kick although nothing is heavy yet
 * @kicked:	in: the charge path asked for this pass; the pass clears it
 * @changed:	in: masks, CPUs or settings changed: what failed may be tried
 *		again; the pass clears it
 * @observe:	in: the moves are not made
 * @asked:	in: the user asked for this pass: no interrupt rests, and steady
 *		loads are assumed; the pass clears it
 */
struct irq_balance {
	struct irq_balance_work	*work;
	u64			last;
	u64			next;
	u64			rotated;
	u64			before;
	u64			after;
	u32			generation;
	u32			interval_ms;
	unsigned int		nr_heavy;
	unsigned int		nr_moves;
	unsigned int		probe;
	bool			kicked;
	bool			changed;
	bool			observe;
	bool			asked;
};

u32 irq_balance_heavy_limit(const struct irq_balance_settings *set);
const char *irq_balance_why_name(enum irq_balance_why why);
size_t irq_balance_work_size(unsigned int nr_irqs, unsigned int nr_cpus);
void irq_balance_set_work(struct irq_balance *bal, void *work,
			  unsigned int nr_irqs, unsigned int nr_cpus);
void irq_balance_init(struct irq_balance *bal, void *work,
		      unsigned int nr_irqs, unsigned int nr_cpus);
unsigned int irq_balance_pass(struct irq_balance *bal,
			      const struct irq_balance_settings *set, u64 now,
			      struct irq_balance_cpu *cpus, unsigned int nr_cpus,
			      struct irq_balance_irq *irqs, unsigned int nr_irqs);

/**
 * irq_balance_kick - Whether an interrupt starts a pass although no timer is due
 * @set:	settings
 * @state:	the interrupt's state
 * @elapsed:	ns in which IRQ_LOAD_QUANTUM ns were charged to it, on whatever CPU
 *
 * Context: any, lockless: a torn or stale limit costs a needless pass or one
 * quantum of delay.
 *
 * Return: true if it does
 */
static inline bool irq_balance_kick(const struct irq_balance_settings *set,
				    const struct irq_balance_state *state, u64 elapsed)
{
	u32 limit = READ_ONCE(state->limit);

	return irq_load_rises(IRQ_LOAD_QUANTUM, elapsed,
			      limit ? limit : irq_balance_heavy_limit(set));
}

#endif /* _KERNEL_IRQ_BALANCE_PLAN_H */
