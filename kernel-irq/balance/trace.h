/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of the interrupt balancer: why it does what it does */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM irq_balance

#if !defined(_IRQ_BALANCE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _IRQ_BALANCE_TRACE_H

#include <linux/tracepoint.h>

#include "core.h"

TRACE_DEFINE_ENUM(IRQ_BALANCE_WHY_NONE);
TRACE_DEFINE_ENUM(IRQ_BALANCE_WHY_IMBALANCE);
TRACE_DEFINE_ENUM(IRQ_BALANCE_WHY_CAPACITY);
TRACE_DEFINE_ENUM(IRQ_BALANCE_WHY_LOCALITY);
TRACE_DEFINE_ENUM(IRQ_BALANCE_WHY_AFFINITY);
TRACE_DEFINE_ENUM(IRQ_BALANCE_WHY_HOTPLUG);
TRACE_DEFINE_ENUM(IRQ_BALANCE_WHY_ROTATE);
TRACE_DEFINE_ENUM(IRQ_BALANCE_WHY_COMPACT);

TRACE_DEFINE_ENUM(IRQ_BALANCE_OFF);
TRACE_DEFINE_ENUM(IRQ_BALANCE_OBSERVE);
TRACE_DEFINE_ENUM(IRQ_BALANCE_ON);
TRACE_DEFINE_ENUM(IRQ_BALANCE_POLICY_BALANCE);
TRACE_DEFINE_ENUM(IRQ_BALANCE_POLICY_ROTATE);
TRACE_DEFINE_ENUM(IRQ_BALANCE_POLICY_COMPACT);

TRACE_DEFINE_ENUM(IRQ_BALANCE_MOVABLE);
TRACE_DEFINE_ENUM(IRQ_BALANCE_UNUSED);
TRACE_DEFINE_ENUM(IRQ_BALANCE_CHAINED);
TRACE_DEFINE_ENUM(IRQ_BALANCE_NMI);
TRACE_DEFINE_ENUM(IRQ_BALANCE_NESTED);
TRACE_DEFINE_ENUM(IRQ_BALANCE_PER_CPU);
TRACE_DEFINE_ENUM(IRQ_BALANCE_MANAGED);
TRACE_DEFINE_ENUM(IRQ_BALANCE_NO_BALANCING);
TRACE_DEFINE_ENUM(IRQ_BALANCE_NO_AFFINITY);
TRACE_DEFINE_ENUM(IRQ_BALANCE_STOPPED);
TRACE_DEFINE_ENUM(IRQ_BALANCE_FORWARDED);
TRACE_DEFINE_ENUM(IRQ_BALANCE_REDIRECTED);
TRACE_DEFINE_ENUM(IRQ_BALANCE_CHIP);
TRACE_DEFINE_ENUM(IRQ_BALANCE_OPTED_OUT);
TRACE_DEFINE_ENUM(IRQ_BALANCE_USER_MOVE);
TRACE_DEFINE_ENUM(IRQ_BALANCE_BANNED);
TRACE_DEFINE_ENUM(IRQ_BALANCE_PINNED);

/**
 * irq_balance_state - The balancer was switched
 * @mode:	the new mode
 */
TRACE_EVENT(irq_balance_state,
	    TP_PROTO(unsigned int mode),

	    TP_ARGS(mode),

	    TP_STRUCT__entry(__field(unsigned int, mode)
	    ),

	    TP_fast_assign(__entry->mode = mode;
	    ),

	    TP_printk("state=%s",
		      __print_symbolic(__entry->mode,
				       { IRQ_BALANCE_OFF, "off" },
				       { IRQ_BALANCE_OBSERVE, "observe" },
				       { IRQ_BALANCE_ON, "on" }))
);

/**
 * irq_balance_settings - The settings, at the first pass that is traced and when
 * they change
 * @set:	the settings
 */
TRACE_EVENT(irq_balance_settings,
	    TP_PROTO(const struct irq_balance_settings *set),

	    TP_ARGS(set),

	    TP_STRUCT__entry(__field(u32, policy)
			     __field(u32, heavy)
			     __field(u32, min_gain)
			     __field(u32, compact_limit)
			     __field(u32, rotate_ms)
			     __field(u32, interval_ms)
	    ),

	    TP_fast_assign(__entry->policy = set->policy;
			   __entry->heavy = set->heavy;
			   __entry->min_gain = set->min_gain;
			   __entry->compact_limit = set->compact_limit;
			   __entry->rotate_ms = set->rotate_ms;
			   __entry->interval_ms = set->interval_ms;
	    ),

	    TP_printk("policy=%s heavy=%u min_gain=%u interval_ms=%u compact_limit=%u rotate_ms=%u",
		      __print_symbolic(__entry->policy,
				       { IRQ_BALANCE_POLICY_BALANCE, "balance" },
				       { IRQ_BALANCE_POLICY_ROTATE, "rotate" },
				       { IRQ_BALANCE_POLICY_COMPACT, "compact" }),
		      __entry->heavy, __entry->min_gain, __entry->interval_ms,
		      __entry->compact_limit, __entry->rotate_ms)
);

/*
 * irq_balance_cpu - A CPU, at the first pass that is traced and when one changes
 * @cpu:	its number
 * @c:		where it is and what it can do
 * @online:	whether it is online; if not, the other fields may be old
 */
TRACE_EVENT_FN(irq_balance_cpu,
	       TP_PROTO(unsigned int cpu, const struct irq_balance_cpu *c, bool online),

	       TP_ARGS(cpu, c, online),

	       TP_STRUCT__entry(__field(unsigned int, cpu)
				__field(int, node)
				__field(unsigned int, package)
				__field(unsigned int, llc)
				__field(unsigned int, core)
				__field(unsigned int, capacity)
				__field(bool, online)
				__field(bool, usable)
	       ),

	       TP_fast_assign(__entry->cpu = cpu;
			      __entry->node = c->node;
			      __entry->package = c->package;
			      __entry->llc = c->llc;
			      __entry->core = c->core;
			      __entry->capacity = c->capacity;
			      __entry->online = online;
			      __entry->usable = c->usable;
	       ),

	       TP_printk("cpu=%u node=%d package=%u llc=%u core=%u capacity=%u online=%d usable=%d",
			 __entry->cpu, __entry->node, __entry->package, __entry->llc,
			 __entry->core, __entry->capacity, __entry->online, __entry->usable),

	       irq_balance_trace_begin, NULL
);

/**
 * irq_balance_base - What a pass saw of a CPU
 * @cpu:	its number
 * @time:	interrupt and softirq time so far that belongs to no interrupt, ns
 * @load:	its relative load, all interrupts included, ns/s
 */
TRACE_EVENT(irq_balance_base,
	    TP_PROTO(unsigned int cpu, u64 time, u64 load),

	    TP_ARGS(cpu, time, load),

	    TP_STRUCT__entry(__field(u64, time)
			     __field(u64, load)
			     __field(unsigned int, cpu)
	    ),

	    TP_fast_assign(__entry->cpu = cpu;
			   __entry->time = time;
			   __entry->load = load;
	    ),

	    TP_printk("cpu=%u time=%llu load=%llu",
		      __entry->cpu, __entry->time, __entry->load)
);

/**
 * irq_balance_irq - What a pass saw of an interrupt that has a load
 * @irq:	what it handed to the planner
 * @fixed:	whether it may be moved, see enum irq_balance_fixed
 * @mask:	affinity mask
 */
TRACE_EVENT(irq_balance_irq,
	    TP_PROTO(const struct irq_balance_irq *irq, unsigned int fixed,
		     const unsigned long *mask),

	    TP_ARGS(irq, fixed, mask),

	    TP_STRUCT__entry(__field(u64, time)
			     __field(u64, load)
			     __field(unsigned int, irq)
			     __field(unsigned int, cpu)
			     __field(int, node)
			     __field(unsigned int, fixed)
			     __bitmask(mask, nr_cpu_ids)
	    ),

	    TP_fast_assign(__entry->irq = irq->irq;
			   __entry->cpu = irq->cpu;
			   __entry->node = irq->node;
			   __entry->time = irq->time;
			   __entry->load = irq->load;
			   __entry->fixed = fixed;
			   __assign_bitmask(mask, mask, nr_cpu_ids);
	    ),

	    TP_printk("irq=%u cpu=%u node=%d time=%llu load=%llu status=%s mask=%s",
		      __entry->irq, __entry->cpu, __entry->node, __entry->time, __entry->load,
		      __print_symbolic(__entry->fixed,
				       { IRQ_BALANCE_MOVABLE, "movable" },
				       { IRQ_BALANCE_UNUSED, "unused" },
				       { IRQ_BALANCE_CHAINED, "chained" },
				       { IRQ_BALANCE_NMI, "nmi" },
				       { IRQ_BALANCE_NESTED, "nested" },
				       { IRQ_BALANCE_PER_CPU, "per-cpu" },
				       { IRQ_BALANCE_MANAGED, "managed" },
				       { IRQ_BALANCE_NO_BALANCING, "no-balancing" },
				       { IRQ_BALANCE_NO_AFFINITY, "no-affinity" },
				       { IRQ_BALANCE_STOPPED, "stopped" },
				       { IRQ_BALANCE_FORWARDED, "forwarded" },
				       { IRQ_BALANCE_REDIRECTED, "redirected" },
				       { IRQ_BALANCE_CHIP, "chip" },
				       { IRQ_BALANCE_OPTED_OUT, "opted-out" },
				       { IRQ_BALANCE_USER_MOVE, "user-move" },
				       { IRQ_BALANCE_BANNED, "banned" },
				       { IRQ_BALANCE_PINNED, "pinned" }),
		      __get_bitmask(mask))
);

/**
 * irq_balance_plan - A pass of the balancer
 * @now:	its clock, ns
 * @heavy:	interrupts that are heavy enough to be placed
 * @worst:	load of the busiest CPU relative to its capacity, ns/s
 * @planned:	the same at the end of the plan that is under way, ns/s
 * @moves:	moves that this pass asks for
 * @next_ms:	time to the next pass, 0 if no timer is armed
 * @asked:	the user asked for it through rebalance
 */
TRACE_EVENT(irq_balance_plan,
	    TP_PROTO(u64 now, unsigned int heavy, u64 worst, u64 planned, unsigned int moves,
		     unsigned int next_ms, bool asked),

	    TP_ARGS(now, heavy, worst, planned, moves, next_ms, asked),

	    TP_STRUCT__entry(__field(u64, now)
			     __field(u64, worst)
			     __field(u64, planned)
			     __field(unsigned int, heavy)
			     __field(unsigned int, moves)
			     __field(unsigned int, next_ms)
			     __field(bool, asked)
	    ),

	    TP_fast_assign(__entry->now = now;
			   __entry->heavy = heavy;
			   __entry->worst = worst;
			   __entry->planned = planned;
			   __entry->moves = moves;
			   __entry->next_ms = next_ms;
			   __entry->asked = asked;
	    ),

	    TP_printk("now=%llu heavy=%u worst=%llu planned=%llu moves=%u next_ms=%u asked=%d",
		      __entry->now, __entry->heavy, __entry->worst, __entry->planned,
		      __entry->moves, __entry->next_ms, __entry->asked)
);

DECLARE_EVENT_CLASS(irq_balance_target,
		    TP_PROTO(unsigned int irq, unsigned int from, unsigned int to,
			     unsigned int reason, u64 load, u64 gain),

		    TP_ARGS(irq, from, to, reason, load, gain),

		    TP_STRUCT__entry(__field(u64, load)
				     __field(u64, gain)
				     __field(unsigned int, irq)
				     __field(unsigned int, from)
				     __field(unsigned int, to)
				     __field(unsigned int, reason)
		    ),

		    TP_fast_assign(__entry->irq = irq;
				   __entry->from = from;
				   __entry->to = to;
				   __entry->reason = reason;
				   __entry->load = load;
				   __entry->gain = gain;
		    ),

		    TP_printk("irq=%u from=%u to=%u reason=%s load=%llu gain=%llu",
			      __entry->irq, __entry->from, __entry->to,
			      __print_symbolic(__entry->reason,
					       { IRQ_BALANCE_WHY_NONE, "none" },
					       { IRQ_BALANCE_WHY_IMBALANCE, "imbalance" },
					       { IRQ_BALANCE_WHY_CAPACITY, "capacity" },
					       { IRQ_BALANCE_WHY_LOCALITY, "locality" },
					       { IRQ_BALANCE_WHY_AFFINITY, "affinity" },
					       { IRQ_BALANCE_WHY_HOTPLUG, "hotplug" },
					       { IRQ_BALANCE_WHY_ROTATE, "rotate" },
					       { IRQ_BALANCE_WHY_COMPACT, "compact" }),
			      __entry->load, __entry->gain)
);

/**
 * irq_balance_move - A move was published
 * @irq:	interrupt number
 * @from:	CPU that serves it
 * @to:		CPU that is to serve it
 * @reason:	why, see enum irq_balance_why
 * @load:	what the interrupt takes on a CPU of capacity 1024, ns/s
 * @gain:	by how much the plan lowers the load of the busiest CPU, ns/s
 */
DEFINE_EVENT(irq_balance_target, irq_balance_move,
	     TP_PROTO(unsigned int irq, unsigned int from, unsigned int to,
		      unsigned int reason, u64 load, u64 gain),
	     TP_ARGS(irq, from, to, reason, load, gain)
);

/**
 * irq_balance_propose - The same in state observe, in which nothing moves
 * @irq:	interrupt number
 * @from:	CPU that serves it
 * @to:		CPU that would serve it
 * @reason:	why, see enum irq_balance_why
 * @load:	what the interrupt takes on a CPU of capacity 1024, ns/s
 * @gain:	by how much the plan would lower the load of the busiest CPU, ns/s
 */
DEFINE_EVENT(irq_balance_target, irq_balance_propose,
	     TP_PROTO(unsigned int irq, unsigned int from, unsigned int to,
		      unsigned int reason, u64 load, u64 gain),
	     TP_ARGS(irq, from, to, reason, load, gain)
);

/**
 * irq_balance_fail - A move did not happen
 * @irq:	interrupt number
 * @to:		CPU that was to serve it
 * @error:	see irq_balance_move() and irq_balance_move_result()
 */
TRACE_EVENT(irq_balance_fail,
	    TP_PROTO(unsigned int irq, unsigned int to, int error),

	    TP_ARGS(irq, to, error),

	    TP_STRUCT__entry(__field(unsigned int, irq)
			     __field(unsigned int, to)
			     __field(int, error)
	    ),

	    TP_fast_assign(__entry->irq = irq;
			   __entry->to = to;
			   __entry->error = error;
	    ),

	    TP_printk("irq=%u to=%u error=%d", __entry->irq, __entry->to, __entry->error)
);

#endif /* _IRQ_BALANCE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
