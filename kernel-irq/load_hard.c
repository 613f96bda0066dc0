// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time per interrupt: handlers, and handlers of threads
 *
 * handle_irq_event() counts down to the interrupt that is timed, and irq_thread_fn() calls
 * irq_load_timed_thread() for each run. Of others each sample stands for those since the last one.
 *
 * Data: &irq_load_line.hard and &irq_load_line.thread, under desc->lock. For kernel/irq/handle.c
 * and manage.c.
 */
#include <linux/irq.h>

#include "internals.h"
#include "load_span.h"

/**
 * irq_load_timed_event - Handle an interrupt, and charge its time
 * @desc:	the interrupt, whose sample is due
 *
 * Context: hard interrupt, or interrupts disabled; desc->lock is held, and released meanwhile
 *
 * Return: as handle_irq_event()
 */
irqreturn_t irq_load_timed_event(struct irq_desc *desc)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);
	struct irq_load_line *line = desc->load;
	struct irq_load_cause *outer = this_cpu_read(irq_load_cause), cause = {
		/* The tick's is the CPU's own work */
		.irq = desc->action->flags & __IRQF_TIMER ? 0 : irq_desc_get_irq(desc),
		.weight = line->hard.sampler.stratum,
		.irqs = kstat_cpu_irqs_sum(smp_processor_id()),
	};
	u64 nested = c->timed_ns, start, now, since, steal;
	u32 pending = local_softirq_pending(), raised;
	irqreturn_t ret;

	lockdep_assert_held(&desc->lock);

	/* It is timed, and not due again */
	desc->load_skip = INT_MAX / 2;
	this_cpu_write(irq_load_cause, &cause);
	steal = irq_load_steal_clock();
	start = local_clock_noinstr();

	ret = handle_irq_event_untimed(desc);

	this_cpu_write(irq_load_cause, outer);
	now = local_clock();
	start += irq_load_steal_clock() - steal + irq_load_span_cost;
	/* Not what another handler in it has raised. For NAPI see irq_load_timed_schedule(). */
	raised = local_softirq_pending() & ~pending & ~BIT(NET_RX_SOFTIRQ);
	if (likely(cause.irqs == kstat_cpu_irqs_sum(smp_processor_id())))
		irq_load_claim(raised, cause.irq, cause.weight);

	since = irq_load_since(now, line->hard.stamp);
	if (likely(!(desc->istate & IRQS_POLL_INPROGRESS))) {
		irq_load_account_cpu(c, nested, cause.weight, irq_load_since(now, start));
		irq_load_take_sample(&line->hard, now, now - start, irq_load_freq());
		irq_load_charged(line, now);
	}
	irq_load_next_sample(&line->hard.sampler, now, since, irq_load_aim(IRQ_LOAD_SAMPLE_NS));
	desc->load_skip = line->hard.sampler.gap - 1;
	return ret;
}

/**
 * irq_load_timed_thread - Run the handler of an interrupt thread, and charge its time if it is due
 * @desc:	the interrupt
 * @action:	of the thread
 *
 * Context: the thread, may sleep as its handler does
 *
 * Return: what the handler returns
 */
irqreturn_t irq_load_timed_thread(struct irq_desc *desc, struct irqaction *action)
{
	struct irq_load_cause cause = { .task = current, .irq = action->irq };
	struct irq_load_line *line = desc->load;
	int skip = READ_ONCE(line->thread_skip) - 1;
	struct irq_load_span span;
	u64 now, time, since;
	irqreturn_t ret;

	/* Other threads of the interrupt may count at the same time, but not while one is timed */
	if (skip < INT_MAX / 4)
		WRITE_ONCE(line->thread_skip, skip);
	if (skip >= 0)
		return action->thread_fn(action->irq, action->dev_id);
	/* Those that run meanwhile are neither timed nor counted */
	WRITE_ONCE(line->thread_skip, INT_MAX / 2);

	/* A forced thread: with BH disabled it stays on this CPU. It may have preempted a run. */
	if (in_softirq())
		this_cpu_cmpxchg(irq_load_cause, NULL, &cause);
	/* 32-bit machines read a sum in two halves: no interrupt may come between them */
	scoped_guard(irqsave)
		irq_load_span_begin(&span);
	ret = action->thread_fn(action->irq, action->dev_id);
	this_cpu_cmpxchg(irq_load_cause, &cause, NULL);

	guard(raw_spinlock_irqsave)(&desc->lock);
	now = local_clock();
	time = irq_load_span_end(&span, now);
	since = irq_load_since(now, line->thread.stamp);
	irq_load_take_sample(&line->thread, now, time, irq_load_freq());
	irq_load_next_sample(&line->thread.sampler, now, since, irq_load_aim(IRQ_LOAD_SAMPLE_NS));
	line->thread_skip = line->thread.sampler.gap - 1;
	irq_load_charged(line, now);
	return ret;
}
