/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupt balancing: what a pass of the planner is given, and what it answers
 *
 * Numbers in, moves out. Nothing in the planner takes a lock, reads a clock,
 * allocates or knows what an interrupt descriptor is: the same files serve the
 * kernel, KUnit and tools/testing/irq_balance. The caller owns all state and
 * serialises the passes.
 */
#ifndef _KERNEL_IRQ_BALANCE_PROBLEM_H
#define _KERNEL_IRQ_BALANCE_PROBLEM_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../load_charge.h"
#include "average.h"

struct irq_balance_work;

/*
 * All settings that are numbers: name, value at boot, least and greatest value.
 *
 *   heavy		per mille of a CPU of capacity 1024 from which an interrupt is heavy
 *   min_gain		least gain of a step, per mille of the load of the CPU that it relieves
 *   interval_ms	between passes while something changes; six times that while an interrupt
 *			is heavy; no timer otherwise
 */
#define IRQ_BALANCE_SETTINGS(x)	\
	x(heavy,	20,  1,  1000)	\
	x(min_gain,	50,  0,  1000)	\
	x(interval_ms,	50, 10, 10000)

#define IRQ_BALANCE_MEMBER(name, ...) u32 name;
struct irq_balance_settings {
	IRQ_BALANCE_SETTINGS(IRQ_BALANCE_MEMBER)
};

#define IRQ_BALANCE_DEFAULT(name, def, ...) .name = def,
#define IRQ_BALANCE_DEFAULTS	\
	(struct irq_balance_settings) { IRQ_BALANCE_SETTINGS(IRQ_BALANCE_DEFAULT) }

/* Interrupts that a pass moves at most */
#define IRQ_BALANCE_MOVES_MAX	64U

/* &irq_balance.next if no timer is needed */
#define IRQ_BALANCE_NO_TIMER	(~0ULL)

/*
 * Why an interrupt moves: the words are interface of sysfs, debugfs, tracepoints, replay. In the
 * selftests lib.sh and truth.py list them.
 */
#define IRQ_BALANCE_WHYS_MOVE(x)						\
	x(IMBALANCE,	"imbalance")	/* the busiest CPU has too much to do */\
	x(CAPACITY,	"capacity")	/* to a CPU of more capacity */		\
	x(LOCALITY,	"locality")	/* to its device's node */		\
	x(AFFINITY,	"affinity")	/* its CPU is not allowed any more */	\
	x(PROGRAM,	"program")	/* it moves or stays as a loaded program plans */

/* Why it stays */
#define IRQ_BALANCE_WHYS_STAY(x)						\
	x(NONE,		"none")		/* no pass has seen it */		\
	x(HOTPLUG,	"hotplug")	/* replay only: its CPU went offline */	\
	x(BEST,		"best")		/* nothing better was found */		\
	x(LIGHT,	"light")	/* below the share that is heavy */	\
	x(GAIN,		"gain")		/* would gain less than min_gain */	\
	x(NOISE,	"noise")	/* the loads may be off by the gain */	\
	x(RESTING,	"resting")	/* it moved recently */			\
	x(FAILED,	"failed")	/* moves of it had no effect */		\
	x(NODE,		"node")		/* its device's node holds it */	\
	x(FULL,		"full")		/* no other CPU has a free vector */	\
	x(FIXED,	"fixed")	/* may not be moved */

#define IRQ_BALANCE_WHYS(x)	IRQ_BALANCE_WHYS_STAY(x) IRQ_BALANCE_WHYS_MOVE(x)

#define IRQ_BALANCE_WHY_ENUM(name, word) IRQ_BALANCE_WHY_##name,
enum irq_balance_why {
	IRQ_BALANCE_WHYS(IRQ_BALANCE_WHY_ENUM)
	IRQ_BALANCE_NR_WHYS
};

/*
 * State of one interrupt, kept from pass to pass. The kernel keeps one for each, zeroed
 * at first. Only irq_balance_pass() writes; others may read @why locklessly.
 */
struct irq_balance_state {
	struct irq_balance_average	load;	/* on a CPU of capacity 1024 */
	u64	moved;		/* clock (ns) of the pass that saw its last move done, 0: never */
	u64	hold;		/* clock (ns) until which it is left where it is */
	u64	promise;	/* ns/s that neither CPU of its last move is to exceed; 0: judged */
	u32	from;		/* the CPU that it left then */
	u32	generation;	/* &irq_balance.generation that the rest belongs to */
	u32	cpu;		/* where the last pass saw it */
	u32	target;		/* where it was asked to go */
	u8	reason;		/* enum irq_balance_why of its last move */
	u8	planned;	/* enum irq_balance_why of the move to @target, NONE: no move */
	u8	why;		/* enum irq_balance_why: why it stays, if it does */
	u8	waited;		/* passes in which a move of it had no effect */
	u8	broken;		/* promises in a row that were not kept, at most 2 */
	u8	soon;		/* moves within SOON_NS after a rest, at most 2 */
	bool	failed;		/* its last move was not done in WAITED passes */
	bool	heavy;		/* it may be moved for its load */
};

/*
 * One CPU. The array is the caller's, indexed by CPU number, zeroed at first, and
 * persists from pass to pass: @base is kept in it.
 */
struct irq_balance_cpu {
	/* in: cumulative ns of real-time tasks, and of softirqs of no interrupt */
	u64		time;
	u64		tasks;		/* in: time that other tasks take of it, ns/s */
	u32		capacity;	/* in: 1..1024, what throttling leaves */
	u32		throttled;	/* in: what throttling takes, if times count without it */
	int		priority;	/* in: the higher the better, where capacities are equal */
	int		node;		/* in: NUMA node or -1 */
	unsigned int	package;	/* in: these three are numbers of CPUs, below their count */
	unsigned int	llc;		/* in: CPUs that share the last-level cache */
	unsigned int	core;		/* in: SMT siblings have the same one */
	bool		usable;		/* in: may be given interrupts */
	u64		full_until;	/* in: clock (ns) until which it gets no more interrupts */
	struct irq_balance_average base; /* kept: its own load, on a CPU of capacity 1024 */
	u64		asked;		/* kept: clock (ns) of the last move from or to it */
	u64		load;		/* out: ns/s, all interrupts included; 1e9: it is full */
	u64		recent;		/* out: the same over the last second */
};

/* One interrupt, as it is handed to a pass */
struct irq_balance_irq {
	unsigned int		irq;	/* in: its number; the array is in rising order */
	int			node;	/* in: node of its device or -1 */
	unsigned int		cpu;	/* in: effective CPU; beyond the array: none */
	u64			time;	/* in: cumulative ns spent for it; may restart */
	u64			soft;	/* in: the part of @time in softirqs, for programs */
	u64			thread;	/* in: the part of @time in threads, for programs */
	u8			status;	/* in: why @allowed is NULL, for programs and traces */
	bool			changed; /* in: the user's mask has changed: no rest */
	u64			toll;	/* in: ns/s that it costs more once it has been moved */
	unsigned int		hint;	/* in: 1 + the CPU that its driver prefers, 0: none */
	const unsigned long	*allowed; /* in: CPUs of the user's mask, NULL: may not move */
	struct irq_balance_state *state;
	u64			load;	/* out: ns/s on a CPU of capacity 1024 */
	unsigned int		target;	/* out: CPU to move it to, @cpu: stays */
	enum irq_balance_why	reason;	/* out: why it moves, NONE: stays */
	u64			gain;	/* out: ns/s that its plan takes off the worst CPU */
};

/* The input of a pass. All arrays are the caller's. */
struct irq_balance_input {
	const struct irq_balance_settings *set;
	struct irq_balance_cpu	*cpus;	/* by number, as many as irq_balance_init() knows */
	struct irq_balance_irq	*irqs;	/* in rising order */
	unsigned int		nr_irqs; /* at most as many as irq_balance_init() knows */
};

struct irq_balance;

/* Plans instead of the planner, which still moves what may not stay; uses irq_balance_ask() */
struct irq_balance_program {
	const char	*name;
	void		(*plan)(struct irq_balance *bal, u64 now);
};

/* State of the machine, kept from pass to pass */
struct irq_balance {
	struct irq_balance_work	*work;	/* see irq_balance_set_work() */
	const struct irq_balance_program *program; /* in: NULL: none */
	u64		last;		/* clock (ns) of the last pass, 0: there was none */
	u64		next;		/* clock (ns) of the next one, or IRQ_BALANCE_NO_TIMER */
	u64		before;		/* ns/s of the worst CPU that the last plan touched */
	u64		after;		/* the same with its moves done, as predicted */
	u32		generation;	/* of irq_balance_init(): older states are void */
	u32		interval_ms;	/* from the last pass to the next, 0: no timer */
	u32		limit;		/* see irq_load_rises(); 0: the timer is on */
	unsigned int	nr_heavy;	/* heavy interrupts at the last pass, movable or not */
	unsigned int	nr_moves;	/* moves that the last pass asked for */
	bool		busy;		/* one is heavy, or light interrupts in sum */
	bool		changes;	/* something has changed, or may have */
	bool		observe;	/* in: the moves are not made */
	/* in, cleared by the pass: */
	bool		kicked;		/* it was asked for: something may have changed */
	bool		changed;	/* the CPUs, or the program: no rest */
};

/* The load from which on an interrupt is heavy, ns/s */
static inline u64 irq_balance_heavy(const struct irq_balance_settings *set)
{
	return (u64)set->heavy * (IRQ_BALANCE_FULL / 1000);
}

#endif /* _KERNEL_IRQ_BALANCE_PROBLEM_H */
