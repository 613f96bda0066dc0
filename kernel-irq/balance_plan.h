/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupt balancing: the policy as a pure function.
 *
 * Numbers in, moves out. Nothing here takes a lock, reads a clock, allocates
 * or knows what an interrupt descriptor is, so that the same files serve the
 * kernel, KUnit and tools/testing/irq_balance. All state lives in the
 * structures that the caller hands in; the caller serialises.
 */
#ifndef _KERNEL_IRQ_BALANCE_PLAN_H
#define _KERNEL_IRQ_BALANCE_PLAN_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "load_charge.h"

struct irq_balance_work;

/* The capacity of the fastest CPU, as SCHED_CAPACITY_SCALE. */
#define IRQ_BALANCE_CAPACITY	1024U

/* A CPU that does nothing else: ns of work per second. */
#define IRQ_BALANCE_FULL	1000000000ULL

/* &irq_balance.next when the thread shall sleep until it is kicked. */
#define IRQ_BALANCE_NO_TIMER	(~0ULL)

/* No time is that short: never kick. */
#define IRQ_BALANCE_LIMIT_NEVER	1U

/**
 * enum irq_balance_reason - why an interrupt is where it is
 * @IRQ_BALANCE_REASON_NONE:		"none": the balancer did not move it
 * @IRQ_BALANCE_REASON_IMBALANCE:	"imbalance": the worst CPU has less to do
 * @IRQ_BALANCE_REASON_CAPACITY:	"capacity": to a CPU of more capacity
 * @IRQ_BALANCE_REASON_LOCALITY:	"locality": home to its device's node
 * @IRQ_BALANCE_REASON_AFFINITY:	"affinity": its CPU is not allowed
 * @IRQ_BALANCE_REASON_HOTPLUG:		"hotplug": its CPU went offline
 * @IRQ_BALANCE_REASON_ROTATE:		"rotate": policy rotate, its turn
 * @IRQ_BALANCE_REASON_COMPACT:		"compact": policy compact, others sleep
 * @IRQ_BALANCE_NR_REASONS:		number of reasons, not a reason
 *
 * The words are interface: irq_balance_reason_name(), the tracepoint, sysfs
 * and the replay tool use the same ones. The policy itself never says
 * "hotplug": it is for moves that the core makes.
 */
enum irq_balance_reason {
	IRQ_BALANCE_REASON_NONE,
	IRQ_BALANCE_REASON_IMBALANCE,
	IRQ_BALANCE_REASON_CAPACITY,
	IRQ_BALANCE_REASON_LOCALITY,
	IRQ_BALANCE_REASON_AFFINITY,
	IRQ_BALANCE_REASON_HOTPLUG,
	IRQ_BALANCE_REASON_ROTATE,
	IRQ_BALANCE_REASON_COMPACT,
	IRQ_BALANCE_NR_REASONS
};

/**
 * enum irq_balance_policy - what the planner strives for
 * @IRQ_BALANCE_POLICY_BALANCE:	the lowest load of the worst CPU (default)
 * @IRQ_BALANCE_POLICY_ROTATE:	the same, but few heavy interrupts take turns
 *				on the CPUs, as in 2003
 * @IRQ_BALANCE_POLICY_COMPACT:	light total load on few CPUs of one package
 * @IRQ_BALANCE_NR_POLICIES:	number of policies, not a policy
 */
enum irq_balance_policy {
	IRQ_BALANCE_POLICY_BALANCE,
	IRQ_BALANCE_POLICY_ROTATE,
	IRQ_BALANCE_POLICY_COMPACT,
	IRQ_BALANCE_NR_POLICIES
};

/**
 * struct irq_balance_settings - the knobs of the policy
 * @policy:		enum irq_balance_policy
 * @heavy:		per mille of one CPU of capacity 1024: an interrupt
 *			below it is light and never moved; 1..1000
 * @min_gain:		per mille of the worst CPU's load: no plan is begun
 *			that gains less; 0..1000
 * @confirm:		consecutive passes that must agree before a plan is
 *			begun; 1..100
 * @max_moves:		moves per pass, 0: as many as the plan has
 * @cooldown_ms:	ms for which an interrupt stays after a move; 0..600000
 * @node_limit:		per cent of a CPU's capacity up to which a device's
 *			node holds its interrupts; 0..100, 100: always
 * @compact_limit:	per cent of a CPU's capacity up to which policy
 *			compact fills a CPU; 1..100
 * @rotate_ms:		ms between two turns of policy rotate; 10..600000
 * @interval_min_ms:	ms between passes while something changes; 10..10000
 * @interval_max_ms:	ms between passes while nothing does; 10..600000
 *
 * All are u32: irq_balance_knobs[] describes them to sysfs and to the tools.
 */
struct irq_balance_settings {
	u32	policy;
	u32	heavy;
	u32	min_gain;
	u32	confirm;
	u32	max_moves;
	u32	cooldown_ms;
	u32	node_limit;
	u32	compact_limit;
	u32	rotate_ms;
	u32	interval_min_ms;
	u32	interval_max_ms;
};

/**
 * struct irq_balance_knob - one member of struct irq_balance_settings
 * @name:	its name in sysfs and on the command line of the tools
 * @offset:	where it is, a u32
 * @min:	smallest allowed value
 * @max:	largest allowed value
 * @def:	value at boot
 */
struct irq_balance_knob {
	const char	*name;
	size_t		offset;
	u32		min;
	u32		max;
	u32		def;
};

/**
 * struct irq_balance_average - decaying average of a rate
 * @total:	the cumulative time (ns) that was seen at the last pass
 * @fast:	ns/s, forgets half in IRQ_BALANCE_HALF_LIFE_MS
 * @slow:	ns/s, the mean over about IRQ_BALANCE_SLOW_MS
 * @noise:	ns/s, how far windows are off @fast, the mean over the same time
 * @swing:	ns/s, how far @fast has been off @slow before it came back:
 *		below it [0] and above it [1]
 * @off:	ns/s, how far @fast has been off @slow in the present run
 * @age_ms:	ms of history behind the two, saturating
 * @run_ms:	ms for which windows have been above @slow, negative: not above,
 *		saturating: a run
 * @lasts_ms:	ms after which a run is no swing, 0: IRQ_BALANCE_BURST_MS
 * @steps:	consecutive passes that were far off @fast, negative: below
 * @seen:	whether @total is valid
 *
 * A zeroed one has seen nothing.
 */
struct irq_balance_average {
	u64	total;
	u64	fast;
	u64	slow;
	u64	noise;
	u64	swing[2];
	u64	off;
	u32	age_ms;
	s16	run_ms;
	s16	lasts_ms;
	s8	steps;
	bool	seen;
};

/**
 * struct irq_balance_state - what the policy remembers of one interrupt
 * @load:	its load on a CPU of capacity 1024
 * @moved:	clock (ns) of the pass that saw its last move done, 0: never
 * @hold:	clock (ns) before which it is left alone: it could not be moved
 * @generation:	&irq_balance.generation that the rest belongs to
 * @cpu:	where the last pass saw it
 * @target:	where the begun plan wants it
 * @limit:	ns, 0: unknown, see irq_balance_kick()
 * @reason:	enum irq_balance_reason of the last move that was done
 * @planned:	enum irq_balance_reason of the move to @target, NONE: no move
 * @refused:	how often in a row it could not be moved
 * @churn:	moves that each came within a minute of the one before
 * @heavy:	whether the planner looks at it
 * @ran:	whether it was charged any time in the last window
 * @away:	whether the balancer took it from its device's node
 *
 * The kernel embeds one in each descriptor, zeroed at first. Only
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
	u8				refused;
	u8				churn;
	bool				heavy;
	bool				ran;
	bool				away;
};

/**
 * struct irq_balance_cpu - one CPU
 * @time:	in: cumulative ns of interrupt and softirq time that it spent
 *		for no interrupt that is handed in; not scaled, may restart
 * @capacity:	in: 1..1024, as arch_scale_cpu_capacity()
 * @node:	in: NUMA node or -1
 * @package:	in: package, numbered machine-wide
 * @llc:	in: CPUs that share the last-level cache, numbered machine-wide
 * @core:	in: SMT siblings have the same one, numbered machine-wide
 * @usable:	in: may be given interrupts: online, housekeeping and in the
 *		balancer's own list
 * @full:	in: had no vector lately (-ENOSPC): no newcomers
 * @base:	state: decayed load of its own
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
 * struct irq_balance_irq - one interrupt, as it is handed to a pass
 * @irq:	in: its number; the array is in rising order of it
 * @node:	in: node of its device or -1
 * @cpu:	in: CPU that it is effectively delivered to; one that is not
 *		in the array: delivered nowhere
 * @time:	in: cumulative ns spent for it, on whatever CPU; may restart
 * @allowed:	in: bitmap of the CPUs that the user allows, NULL: may not be
 *		moved (managed, opted out, one CPU, move pending, ...)
 * @state:	in, out: what is remembered of it
 * @load:	out: decayed load (ns/s) on a CPU of capacity 1024
 * @target:	out: CPU that it is to be moved to by this pass, @cpu: stays
 * @reason:	out: why, IRQ_BALANCE_REASON_NONE: stays
 * @gain:	out: ns/s by which the plan that this move belongs to lowers
 *		the worst relative load
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
	enum irq_balance_reason		reason;
	u64				gain;
};

/**
 * struct irq_balance - what the policy remembers of the machine
 * @work:	workspace, of irq_balance_work_size() bytes
 * @last:	clock (ns) of the last pass, 0: there was none
 * @next:	clock (ns) of the next pass, or IRQ_BALANCE_NO_TIMER
 * @rotated:	clock (ns) of the last turn of policy rotate
 * @before:	relative load (ns/s) of the worst CPU that the begun plan
 *		touches, when it was begun
 * @after:	the same at its end, as predicted
 * @gain:	ns/s by which it lowers the worst relative load
 * @generation:	changes with irq_balance_init(): older states are void
 * @interval_ms: ms from the last pass to the next, 0: no timer
 * @confirmed:	consecutive passes that wanted a plan
 * @stuck:	consecutive passes in which the begun plan made no progress
 * @nr_heavy:	heavy interrupts at the last pass, movable or not
 * @nr_moves:	moves that the last pass asked for
 * @nr_done:	moves that the last pass saw done
 * @probe:	passes to make after a kick although nothing is heavy yet
 * @active:	a plan was begun and is not at its end
 * @kicked:	in: the sampled path asked for this pass; the pass clears it
 * @changed:	in: what may be where has changed: what could not be
 *		moved may be moved now; the pass clears it
 * @observe:	in: what is asked for is not done
 * @asked:	in: the user asks for this pass, so it need not be confirmed, and
 *		whatever was moved or given up lately may be moved; the pass
 *		clears it
 */
struct irq_balance {
	struct irq_balance_work	*work;
	u64			last;
	u64			next;
	u64			rotated;
	u64			before;
	u64			after;
	u64			gain;
	u32			generation;
	u32			interval_ms;
	unsigned int		confirmed;
	unsigned int		stuck;
	unsigned int		nr_heavy;
	unsigned int		nr_moves;
	unsigned int		nr_done;
	unsigned int		probe;
	bool			active;
	bool			kicked;
	bool			changed;
	bool			observe;
	bool			asked;
};

extern const struct irq_balance_knob irq_balance_knobs[];
extern const unsigned int irq_balance_nr_knobs;

const char *irq_balance_reason_name(enum irq_balance_reason reason);
const char *irq_balance_policy_name(enum irq_balance_policy policy);
void irq_balance_settings_init(struct irq_balance_settings *set);
int irq_balance_settings_put(struct irq_balance_settings *set,
			     const struct irq_balance_knob *knob, u32 value);
int irq_balance_settings_check(const struct irq_balance_settings *set);
int irq_balance_settings_store(struct irq_balance_settings *set,
			       const struct irq_balance_knob *knob, u32 value);
u32 irq_balance_heavy_limit(const struct irq_balance_settings *set);
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
 * irq_balance_kick - Whether an interrupt wakes the sleeping thread
 * @set:	settings
 * @state:	the interrupt's state
 * @elapsed:	ns in which IRQ_LOAD_QUANTUM ns were charged to it, on whatever CPU
 *
 * What the load map does, as it is given these limits.
 *
 * Context: any, lockless: a torn or stale limit costs one needless pass or
 * one quantum of delay.
 * Return: true when the thread is to be kicked.
 */
static inline bool irq_balance_kick(const struct irq_balance_settings *set,
				    const struct irq_balance_state *state,
				    u64 elapsed)
{
	u32 limit = READ_ONCE(state->limit);

	return irq_load_rises(IRQ_LOAD_QUANTUM, elapsed,
			      limit ? limit : irq_balance_heavy_limit(set));
}

#endif /* _KERNEL_IRQ_BALANCE_PLAN_H */
