/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of the interrupt balancer: why it does what it does */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM irq_balance

#if !defined(_IRQ_BALANCE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _IRQ_BALANCE_TRACE_H

#include <linux/tracepoint.h>

#include "balance_plan.h"

TRACE_DEFINE_ENUM(IRQ_BALANCE_REASON_NONE);
TRACE_DEFINE_ENUM(IRQ_BALANCE_REASON_IMBALANCE);
TRACE_DEFINE_ENUM(IRQ_BALANCE_REASON_CAPACITY);
TRACE_DEFINE_ENUM(IRQ_BALANCE_REASON_LOCALITY);
TRACE_DEFINE_ENUM(IRQ_BALANCE_REASON_AFFINITY);
TRACE_DEFINE_ENUM(IRQ_BALANCE_REASON_HOTPLUG);
TRACE_DEFINE_ENUM(IRQ_BALANCE_REASON_ROTATE);
TRACE_DEFINE_ENUM(IRQ_BALANCE_REASON_COMPACT);

/**
 * irq_balance_plan - A pass of the balancer
 * @heavy:	interrupts that are heavy enough to be placed
 * @worst:	load of the busiest CPU relative to its capacity, ns/s
 * @planned:	the same at the end of the plan that is under way, ns/s
 * @moves:	moves that this pass asks for
 * @next_ms:	time to the next pass, 0 if no timer is armed
 */
TRACE_EVENT(irq_balance_plan,
	    TP_PROTO(unsigned int heavy, u64 worst, u64 planned, unsigned int moves,
		     unsigned int next_ms),

	    TP_ARGS(heavy, worst, planned, moves, next_ms),

	    TP_STRUCT__entry(__field(u64, worst)
			     __field(u64, planned)
			     __field(unsigned int, heavy)
			     __field(unsigned int, moves)
			     __field(unsigned int, next_ms)
	    ),

	    TP_fast_assign(__entry->heavy = heavy;
			   __entry->worst = worst;
			   __entry->planned = planned;
			   __entry->moves = moves;
			   __entry->next_ms = next_ms;
	    ),

	    TP_printk("heavy=%u worst=%llu planned=%llu moves=%u next_ms=%u",
		      __entry->heavy, __entry->worst, __entry->planned,
		      __entry->moves, __entry->next_ms)
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
					       { IRQ_BALANCE_REASON_NONE, "none" },
					       { IRQ_BALANCE_REASON_IMBALANCE, "imbalance" },
					       { IRQ_BALANCE_REASON_CAPACITY, "capacity" },
					       { IRQ_BALANCE_REASON_LOCALITY, "locality" },
					       { IRQ_BALANCE_REASON_AFFINITY, "affinity" },
					       { IRQ_BALANCE_REASON_HOTPLUG, "hotplug" },
					       { IRQ_BALANCE_REASON_ROTATE, "rotate" },
					       { IRQ_BALANCE_REASON_COMPACT, "compact" }),
			      __entry->load, __entry->gain)
);

/**
 * irq_balance_move - An interrupt is told to go elsewhere
 * @irq:	interrupt number
 * @from:	CPU that serves it
 * @to:		CPU that is to serve it
 * @reason:	why, see enum irq_balance_reason
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
 * @reason:	why, see enum irq_balance_reason
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
#define TRACE_INCLUDE_FILE balance_trace
#include <trace/define_trace.h>
