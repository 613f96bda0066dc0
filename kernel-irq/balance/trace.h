/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of the interrupt balancer: why it does what it does */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM irq_balance

#if !defined(_IRQ_BALANCE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _IRQ_BALANCE_TRACE_H

#include <linux/tracepoint.h>

#include "state.h"

/* The words of the enumerations, for user space */
#define DEFINE_WORD(name, word)		TRACE_DEFINE_ENUM(IRQ_BALANCE_##name);
#define DEFINE_WHY_WORD(name, word)	TRACE_DEFINE_ENUM(IRQ_BALANCE_WHY_##name);
IRQ_BALANCE_STATUSES(DEFINE_WORD)
IRQ_BALANCE_WHYS(DEFINE_WHY_WORD)

#define WORD(name, word)		{ IRQ_BALANCE_##name, word },
#define WHY_WORD(name, word)		{ IRQ_BALANCE_WHY_##name, word },
#define SETTING_FIELD(name, ...)	__field(u32, name)
#define SETTING_ASSIGN(name, ...)	__entry->name = set->name;
#define SETTING_FORMAT(name, ...)	#name "=%u "
#define SETTING_VALUE(name, ...)	__entry->name,
#define show_word(value, list, how)	__print_symbolic(value, list(how) { 255, "?" })

/* A pass has begun, with these settings, and a program that plans */
TRACE_EVENT(irq_balance_settings,
	    TP_PROTO(const struct irq_balance_settings *set,
		     const struct irq_balance_program *program),
	    TP_ARGS(set, program),
	    TP_STRUCT__entry(IRQ_BALANCE_SETTINGS(SETTING_FIELD)
			     __string(program, program ? program->name : "none")),
	    TP_fast_assign(IRQ_BALANCE_SETTINGS(SETTING_ASSIGN)
			   __assign_str(program);
	    ),
	    TP_printk(IRQ_BALANCE_SETTINGS(SETTING_FORMAT) "program=%s",
		      IRQ_BALANCE_SETTINGS(SETTING_VALUE) __get_str(program))
);

/*
 * A CPU at a pass: the time so far of its real-time tasks, and of softirqs that belong to no
 * interrupt (ns), its relative load, all interrupts included, and what other tasks take (ns/s).
 * An offline one's may be old.
 */
TRACE_EVENT(irq_balance_cpu,
	    TP_PROTO(unsigned int cpu, const struct irq_balance_cpu *c, bool online),
	    TP_ARGS(cpu, c, online),
	    TP_STRUCT__entry(__field(u64, time)
			     __field(u64, load)
			     __field(u64, tasks)
			     __field(unsigned int, cpu)
			     __field(int, node)
			     __field(unsigned int, package)
			     __field(unsigned int, llc)
			     __field(unsigned int, core)
			     __field(unsigned int, capacity)
			     __field(bool, online)
			     __field(bool, usable)),
	    TP_fast_assign(__entry->time = c->time;
			   __entry->load = c->load;
			   __entry->tasks = c->tasks;
			   __entry->cpu = cpu;
			   __entry->node = c->node;
			   __entry->package = c->package;
			   __entry->llc = c->llc;
			   __entry->core = c->core;
			   __entry->capacity = c->capacity;
			   __entry->online = online;
			   __entry->usable = c->usable;
	    ),
	    TP_printk("cpu=%u node=%d package=%u llc=%u core=%u capacity=%u online=%d usable=%d time=%llu load=%llu tasks=%llu",
		      __entry->cpu, __entry->node, __entry->package, __entry->llc,
		      __entry->core, __entry->capacity, __entry->online, __entry->usable,
		      __entry->time, __entry->load, __entry->tasks)
);

/*
 * An interrupt with a load, as a pass handed it to the planner; the toll is what IPIs take once a
 * redirected interrupt has moved (ns/s)
 */
TRACE_EVENT(irq_balance_irq,
	    TP_PROTO(const struct irq_balance_irq *irq, const unsigned long *mask),
	    TP_ARGS(irq, mask),
	    TP_STRUCT__entry(__field(u64, time)
			     __field(u64, load)
			     __field(u64, toll)
			     __field(unsigned int, irq)
			     __field(unsigned int, cpu)
			     __field(int, node)
			     __field(unsigned int, status)
			     __bitmask(mask, nr_cpu_ids)),
	    TP_fast_assign(__entry->irq = irq->irq;
			   __entry->cpu = irq->cpu;
			   __entry->node = irq->node;
			   __entry->time = irq->time;
			   __entry->load = irq->load;
			   __entry->toll = irq->toll;
			   __entry->status = irq->status;
			   __assign_bitmask(mask, mask, nr_cpu_ids);
	    ),
	    TP_printk("irq=%u cpu=%u node=%d time=%llu load=%llu toll=%llu status=%s mask=%s",
		      __entry->irq, __entry->cpu, __entry->node, __entry->time, __entry->load,
		      __entry->toll,
		      show_word(__entry->status, IRQ_BALANCE_STATUSES, WORD),
		      __get_bitmask(mask))
);

/*
 * tools/testing/irq_balance/record.py knows the fields of all of these, in their order.
 *
 * A pass: the worst CPU's relative load now and at the end of the plan (ns/s), the moves
 * that it asks for, the time to the next pass (0: no timer), and a number that changes each time
 * that the state does, which voids all loads
 */
TRACE_EVENT(irq_balance_plan,
	    TP_PROTO(const struct irq_balance *bal, u64 now, u64 worst, unsigned int moves),
	    TP_ARGS(bal, now, worst, moves),
	    TP_STRUCT__entry(__field(u64, now)
			     __field(u64, worst)
			     __field(u64, planned)
			     __field(unsigned int, heavy)
			     __field(unsigned int, moves)
			     __field(unsigned int, next_ms)
			     __field(unsigned int, generation)),
	    TP_fast_assign(__entry->now = now;
			   __entry->heavy = bal->nr_heavy;
			   __entry->worst = worst;
			   __entry->planned = bal->before ? bal->after : worst;
			   __entry->moves = moves;
			   __entry->next_ms = bal->interval_ms;
			   __entry->generation = bal->generation;
	    ),
	    TP_printk("now=%llu heavy=%u worst=%llu planned=%llu moves=%u next_ms=%u generation=%u",
		      __entry->now, __entry->heavy, __entry->worst, __entry->planned,
		      __entry->moves, __entry->next_ms, __entry->generation)
);

DECLARE_EVENT_CLASS(irq_balance_target,
		    TP_PROTO(const struct irq_balance_irq *irq),
		    TP_ARGS(irq),
		    TP_STRUCT__entry(__field(u64, load)
				     __field(u64, gain)
				     __field(unsigned int, irq)
				     __field(unsigned int, from)
				     __field(unsigned int, to)
				     __field(unsigned int, reason)),
		    TP_fast_assign(__entry->irq = irq->irq;
				   __entry->from = irq->cpu;
				   __entry->to = irq->target;
				   __entry->reason = irq->reason;
				   __entry->load = irq->load;
				   __entry->gain = irq->gain;
		    ),
		    TP_printk("irq=%u from=%u to=%u reason=%s load=%llu gain=%llu",
			      __entry->irq, __entry->from, __entry->to,
			      show_word(__entry->reason, IRQ_BALANCE_WHYS, WHY_WORD),
			      __entry->load, __entry->gain)
);

/*
 * A move was published, or in state observe proposed: the interrupt's load on a CPU of
 * capacity 1024, and by how much the plan lowers the load of the busiest CPU (ns/s)
 */
DEFINE_EVENT(irq_balance_target, irq_balance_move,
	     TP_PROTO(const struct irq_balance_irq *irq),
	     TP_ARGS(irq)
);
DEFINE_EVENT(irq_balance_target, irq_balance_propose,
	     TP_PROTO(const struct irq_balance_irq *irq),
	     TP_ARGS(irq)
);

/* A move did not happen: the error of the move, or of what a program proposed */
TRACE_EVENT(irq_balance_fail,
	    TP_PROTO(unsigned int irq, unsigned int to, int error),
	    TP_ARGS(irq, to, error),
	    TP_STRUCT__entry(__field(unsigned int, irq)
			     __field(unsigned int, to)
			     __field(int, error)),
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
