// SPDX-License-Identifier: GPL-2.0
/*
 * The load map's account of softirqs.
 *
 * Most of what an interrupt costs may be spent after its handler: a network
 * driver only schedules its NAPI instance there. For NAPI and tasklets the
 * relation of the two is fixed, so it is learned once: while an interrupt is
 * timed its number is in irq_balance_timed_irq, and who schedules work in the
 * meantime takes it down. Each time the work runs it is timed and charged to
 * that interrupt.
 *
 * What else a softirq does is charged to the interrupts that were seen to raise
 * it on this CPU, in equal shares; all of it if there is no better knowledge
 * (block layer), or what is left of it. A softirq that no interrupt raised, and
 * timers, scheduler and RCU always, are work of the CPU itself.
 *
 * All of that is timed with one clock, which goes on only while softirq work
 * is done that was not charged yet: it stops for the handlers that interrupt
 * the softirq and for the spans inside a span. So everything is charged once.
 * Handlers are charged by samples, one for many: the clock is right on average
 * only and a span may be negative for once.
 *
 * desc->lock is not held, and the CPU need not be the one that serves the
 * interrupt by now. So the time goes to an atomic counter of the descriptor,
 * which is looked up by number: an interrupt that has been freed meanwhile is
 * not found, one whose number went to somebody else is charged until the next
 * timed interrupt teaches better.
 *
 * With forced threading and PREEMPT_RT most softirqs run in the interrupt thread
 * that raised them. They are charged like all others; the thread is not
 * charged for them too, see balance_thread.c. With PREEMPT_RT others may run in
 * the middle of one, as they do over threads: the scheduler tells, and the span
 * is the sum of what ran before and after.
 */
#include <linux/bitops.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>

#include <asm/local64.h>

#include "internals.h"
#include "balance_charge.h"

/* ns of softirq time that this CPU has charged, to whomever, never reset */
static DEFINE_PER_CPU(u64, irq_balance_soft_charged);

/* The part of it that belongs to no interrupt */
static DEFINE_PER_CPU(local64_t, irq_balance_soft_own);

/* sched_clock() when irq_balance_clock() last set the clock */
static DEFINE_PER_CPU(u64, irq_balance_clock_set);

/* Goes up when the measuring ends: the scheduler has told of no switch since */
static unsigned int irq_balance_session = 1;

/* Written with interrupts disabled */
static DEFINE_PER_CPU(struct irq_balance_raisers[NR_SOFTIRQS], irq_balance_raisers);

/**
 * irq_balance_soft_own_on - Softirq time that was charged to no interrupt
 * @cpu:	possible CPU on which it was spent
 *
 * Right on average, and may go down for a moment.
 *
 * Context: any.
 *
 * Return: ns since boot
 */
s64 irq_balance_soft_own_on(unsigned int cpu)
{
	return local64_read(per_cpu_ptr(&irq_balance_soft_own, cpu));
}

/**
 * irq_balance_note_raised - Remember that an interrupt raised softirqs
 * @raised:	bit mask of them
 * @irq:	interrupt number
 * @once:	whether each interrupt of this number is timed
 * @now:	local_clock()
 *
 * Context: interrupts disabled.
 */
void irq_balance_note_raised(unsigned int raised, unsigned int irq, bool once, u64 now)
{
	do {
		unsigned int nr = __ffs(raised);

		irq_balance_note_raiser(this_cpu_ptr(&irq_balance_raisers[nr]), irq, once, now);
		raised &= raised - 1;
	} while (raised);
}

/**
 * irq_balance_clock - local_clock() that does not stand still
 *
 * A clock which is not stable goes on for a tick from the last tick or the last
 * end of idling, and waits there. An idle CPU has no tick until softirqs are
 * done and a thread is to run: what goes on for longer than a tick would be
 * missed. So it is set here too, not often, as that may read a slow device.
 *
 * A handler that the tick has to wait for would be missed too.
 *
 * Context: any in which the CPU cannot change.
 *
 * Return: ns
 */
u64 irq_balance_clock(void)
{
	if (!sched_clock_stable()) {
		u64 raw = sched_clock();

		if (raw - this_cpu_read(irq_balance_clock_set) > TICK_NSEC / 2) {
			this_cpu_write(irq_balance_clock_set, raw);
			sched_clock_idle_wakeup_event();
		}
	}
	return local_clock();
}

/**
 * irq_balance_soft_clock - A clock that stands still while others are charged
 * @now:	irq_balance_clock()
 *
 * Stops for interrupt handlers and for softirq work that was charged. To be
 * compared with itself on the same CPU, with no context switch in between.
 *
 * Context: any in which the CPU cannot change.
 *
 * Return: ns, since no particular time
 */
static u64 irq_balance_soft_clock(u64 now)
{
	return now - irq_balance_load_charged() - this_cpu_read(irq_balance_soft_charged);
}

static void irq_balance_span_out(struct preempt_notifier *notifier, struct task_struct *next)
{
	struct irq_balance_span *span = container_of(notifier, struct irq_balance_span, notifier);

	span->ran += irq_balance_soft_clock(irq_balance_clock()) - span->start;
}

static void irq_balance_span_in(struct preempt_notifier *notifier, int cpu)
{
	struct irq_balance_span *span = container_of(notifier, struct irq_balance_span, notifier);

	span->start = irq_balance_soft_clock(irq_balance_clock());
}

static struct preempt_ops irq_balance_span_ops = {
	.sched_in	= irq_balance_span_in,
	.sched_out	= irq_balance_span_out,
};

/* May others run in the middle of this? */
static bool irq_balance_span_preemptible(void)
{
	return IS_ENABLED(CONFIG_PREEMPT_RT) || !in_serving_softirq();
}

/**
 * irq_balance_span_begin - Start to time what a task or a softirq does
 * @span:	for irq_balance_span_end(), which has to be called on it if its
 *		session is not 0 then
 *
 * Context: task or softirq.
 */
void irq_balance_span_begin(struct irq_balance_span *span)
{
	guard(preempt)();
	/* Pairs with irq_balance_load_put(), which waits for who disabled preemption */
	if (!static_branch_likely(&irq_balance_load_key))
		return;

	preempt_notifier_init(&span->notifier, &irq_balance_span_ops);
	if (irq_balance_span_preemptible())
		preempt_notifier_register(&span->notifier);
	span->session = READ_ONCE(irq_balance_session);
	span->ran = 0;
	span->start = irq_balance_soft_clock(irq_balance_clock());
}

/**
 * irq_balance_span_end - Stop to time what a task or a softirq does
 * @span:	what irq_balance_span_begin() was given
 * @now:	where to put irq_balance_clock()
 *
 * Context: as in irq_balance_span_begin().
 *
 * Return: ns that it ran, without what was charged meanwhile; 0 if the
 * measuring ended meanwhile
 */
s64 irq_balance_span_end(struct irq_balance_span *span, u64 *now)
{
	guard(preempt)();
	*now = irq_balance_clock();
	if (irq_balance_span_preemptible())
		preempt_notifier_unregister(&span->notifier);
	if (span->session != READ_ONCE(irq_balance_session))
		return 0;
	return span->ran + irq_balance_soft_clock(*now) - span->start;
}

/**
 * irq_balance_next_session - The measuring has ended
 *
 * Context: task.
 */
void irq_balance_next_session(void)
{
	WRITE_ONCE(irq_balance_session, (READ_ONCE(irq_balance_session) + 1) ? : 1);
}

void __irq_balance_softirq_begin(struct irq_balance_span *span)
{
	if (in_serving_softirq())
		irq_balance_span_begin(span);
}

static bool irq_balance_charge_soft(unsigned int irq, s64 spent, u64 now)
{
	struct irq_desc *desc;

	guard(rcu)();
	desc = irq_to_desc(irq);
	if (!desc)
		return false;

	atomic64_add(spent, &desc->balance.soft);
	irq_balance_check_limit(&desc->balance, now);
	return true;
}

/* Stop the clock for @spent ns, which are charged to @nr interrupts, or to none */
static void irq_balance_charge_span(s64 spent, const unsigned int *irqs, unsigned int nr, u64 now)
{
	s64 own = spent, share = nr ? div_s64(spent, nr) : 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (irq_balance_charge_soft(irqs[i], share, now))
			own -= share;
	}
	local64_add(own, this_cpu_ptr(&irq_balance_soft_own));
	this_cpu_add(irq_balance_soft_charged, spent);
}

void __irq_balance_softirq_end(struct irq_balance_span *span, int irq)
{
	unsigned int irqs[] = { irq };
	u64 now;
	s64 ran = irq_balance_span_end(span, &now);

	/* Else it stays with the span around this one */
	if (irq)
		irq_balance_charge_span(ran, irqs, irq > 0, now);
}

void __irq_balance_vector_end(struct irq_balance_span *span, unsigned int nr)
{
	unsigned int irqs[IRQ_BALANCE_RAISERS], nr_irqs = 0;
	struct irqaction *action;
	u64 now;
	s64 ran = irq_balance_span_end(span, &now);

	if (BIT(nr) & IRQ_BALANCE_RAISED_MASK) {
		scoped_guard(irqsave)
			nr_irqs = irq_balance_take_raisers(this_cpu_ptr(&irq_balance_raisers[nr]),
							   now, irqs);
		/* What a thread's handler raised runs when it enables softirqs */
		action = !nr_irqs && force_irqthreads() ? irq_thread_action() : NULL;
		if (action)
			irqs[nr_irqs++] = action->irq;
	}

	irq_balance_charge_span(ran, irqs, nr_irqs, now);
}
