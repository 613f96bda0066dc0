// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-balance-load
 *
 * Counts say nothing about cost, so the handlers are timed. Reading the clock
 * around each of them would be felt at a hundred thousand interrupts per
 * second, so only a sample is timed, about a thousand per second and interrupt
 * however hot it is, and each sample stands for the interrupts since the one
 * before::
 *
 *   handle_irq_event()
 *     irq_balance_sample_due()		every interrupt: count down
 *       irq_balance_timed_event()	the one that reaches zero is handled
 *         handle_irq_event_percpu()	as always between two looks at the
 *         irq_balance_take_sample()	clock, and charged
 *
 * The gap to the next sample follows the rate of the interrupt and is
 * dithered, as handlers that alternate between a cheap and an expensive run
 * would otherwise be sampled always at the same one.
 *
 * Everything is kept in the interrupt descriptor: it is written under
 * desc->lock by the one CPU that serves the interrupt, on cache lines that this
 * CPU owns at that moment, and a reader visits each interrupt once instead of
 * each interrupt times each CPU.
 *
 * What is measured is the time of all handlers of the line (a shared line is
 * one load) until desc->lock is held again, no flow handler, no entry code.
 * Polling for misrouted interrupts (IRQS_POLL_INPROGRESS) is not charged: it
 * runs the handlers of lines that may be innocent. Per-CPU interrupts, NMIs,
 * chained and nested ones do not pass handle_irq_event() or cannot be moved;
 * they are not in the map. A requested interrupt that demultiplexes others
 * contains their time.
 *
 * What an interrupt costs after its handlers is in balance_softirq.c and
 * balance_thread.c, the arithmetic of all three in balance_charge.h.
 */
#include <linux/atomic.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/static_call.h>

#include "internals.h"
#include "balance_charge.h"

DEFINE_STATIC_KEY_FALSE(irq_balance_load_key);

/* ns of handler time that this CPU has charged to interrupts, never reset */
static DEFINE_PER_CPU(u64, irq_balance_charged);

/*
 * local_clock(), or where that may stand still irq_balance_clock(). A static call,
 * as interrupts wait for it.
 */
#ifdef CONFIG_HAVE_UNSTABLE_SCHED_CLOCK
DEFINE_STATIC_CALL(irq_balance_hard_clock, local_clock_noinstr);

static __always_inline u64 irq_balance_hard_clock(void)
{
	return static_call(irq_balance_hard_clock)();
}

/**
 * irq_balance_check_clock - Have a clock that became unstable helped on
 *
 * Context: process context, may sleep.
 */
void irq_balance_check_clock(void)
{
	if (!sched_clock_stable())
		static_call_update(irq_balance_hard_clock, irq_balance_clock);
}
#else
static __always_inline u64 irq_balance_hard_clock(void)
{
	return local_clock_noinstr();
}

void irq_balance_check_clock(void) { }
#endif

/* The interrupt that is timed on this CPU at the moment, 0 for none */
DEFINE_PER_CPU(unsigned int, irq_balance_timed_irq);

/* The softirqs that were pending before the interrupt which is timed */
static DEFINE_PER_CPU(unsigned int, irq_balance_pending_before);

/* Who is woken when a load rises, see irq_balance_load_set_kick() */
static struct irq_work *irq_balance_kick_work;
static u32 irq_balance_quantum = U32_MAX;
static u32 irq_balance_default_limit;

/**
 * irq_balance_check_limit - Wake the thread if the load of an interrupt has risen
 * @b:		the interrupt
 * @now:	local_clock()
 *
 * A window closes when a quantum of time has been charged in it. If that took
 * less time than the interrupt's limit, the balancer is told.
 *
 * Context: any, interrupts or softirqs disabled. Two CPUs may be at it, one
 * that serves the interrupt and one that polls for it: the worst that comes of it
 * is a wake-up for nothing or a window late.
 */
void irq_balance_check_limit(struct irq_balance_desc *b, u64 now)
{
	/* Pairs with irq_balance_load_set_kick(): with the work comes its quantum */
	struct irq_work *work = smp_load_acquire(&irq_balance_kick_work);
	s64 charged = irq_balance_window_charged(b);
	u32 quantum = READ_ONCE(irq_balance_quantum);
	u64 limit;

	/* Negative if a softirq was given back what a handler took */
	if (!work || charged < quantum)
		return;

	/* A window may close with more than a quantum in it; below 2^62 */
	limit = READ_ONCE(b->limit) ? : READ_ONCE(irq_balance_default_limit);
	limit = div_u64(limit * min(charged, NSEC_PER_SEC), quantum);

	if (irq_balance_since(now, READ_ONCE(b->window_start)) < limit)
		irq_work_queue(work);

	WRITE_ONCE(b->window_start, now);
	WRITE_ONCE(b->window_total, READ_ONCE(b->window_total) + charged);
}

/* Out of the way of the samples that do not need it */
static noinline void irq_balance_charge_rest(struct irq_desc *desc, u64 now, u64 since)
{
	unsigned int raised = local_softirq_pending() & IRQ_BALANCE_RAISED_MASK &
			      ~this_cpu_read(irq_balance_pending_before);
	struct irq_balance_desc *b = &desc->balance;

	this_cpu_add(irq_balance_charged, irq_balance_take_carry(b, now));
	irq_balance_shorten_gaps(b, since);
	irq_balance_decay_max(b, now);
	irq_balance_check_limit(b, now);
	if (raised)
		irq_balance_note_raised(raised, irq_desc_get_irq(desc),
					since >= IRQ_BALANCE_REST_NS, now);
}

/**
 * irq_balance_timed_event - Handle an interrupt and charge its time
 * @desc:	descriptor of the interrupt, locked
 *
 * Called by handle_irq_event() instead of what it does itself when the sample
 * is due.
 *
 * Context: hard interrupt, or task context for interrupts that are resent or
 * injected; interrupts disabled, desc->lock held and dropped in between as in
 * handle_irq_event().
 *
 * Return: what the handlers returned
 */
irqreturn_t irq_balance_timed_event(struct irq_desc *desc)
{
	struct irq_balance_desc *b = &desc->balance;
	u64 start, now, since;
	irqreturn_t ret;

	lockdep_assert_held(&desc->lock);

	desc->istate &= ~IRQS_PENDING;
	irqd_set(&desc->irq_data, IRQD_IRQ_INPROGRESS);
	raw_spin_unlock(&desc->lock);

	this_cpu_write(irq_balance_timed_irq, irq_desc_get_irq(desc));
	this_cpu_write(irq_balance_pending_before, local_softirq_pending());
	start = irq_balance_hard_clock();

	ret = handle_irq_event_percpu(desc);

	this_cpu_write(irq_balance_timed_irq, 0);

	raw_spin_lock(&desc->lock);
	irqd_clear(&desc->irq_data, IRQD_IRQ_INPROGRESS);

	/* @skip and @gap are of the gap which ends here */
	now = irq_balance_hard_clock();
	since = now - b->stamp;
	if (likely(!(desc->istate & IRQS_POLL_INPROGRESS))) {
		this_cpu_add(irq_balance_charged,
			     irq_balance_take_sample(b, now, since, now - start));
	}
	irq_balance_next_gap(b, now, since);

	if (now - b->rest_stamp >= IRQ_BALANCE_REST_NS)
		irq_balance_charge_rest(desc, now, since);
	return ret;
}

/**
 * irq_balance_load_peek - Read the counters of one interrupt
 * @desc:	descriptor of the interrupt, locked
 * @load:	where to put them
 *
 * Context: any, interrupts disabled, desc->lock held.
 */
void irq_balance_load_peek(struct irq_desc *desc, struct irq_balance_load *load)
{
	struct irq_balance_desc *b = &desc->balance;
	u64 now = local_clock();

	lockdep_assert_held(&desc->lock);

	irq_balance_fold_threads(desc);
	irq_balance_advance(&b->soft_seen, atomic64_read(&b->soft));

	/* The next sample may find that this was too much */
	irq_balance_advance(&b->time_seen, b->time + irq_balance_unsampled_time(b, now));

	load->time_ns = b->time_seen;
	load->soft_ns = b->soft_seen;
	load->thread_ns = b->thread;
	load->count = b->count + irq_balance_unsampled(b);
	irq_balance_decay_max(b, now);
	load->max_ns = min(b->max, U32_MAX);
}

/**
 * irq_balance_load_flush - Charge an interrupt that has become rare
 * @desc:	descriptor of the interrupt, locked
 *
 * Context: any, interrupts disabled, desc->lock held.
 */
void irq_balance_load_flush(struct irq_desc *desc)
{
	lockdep_assert_held(&desc->lock);

	irq_balance_flush_gap(&desc->balance, local_clock());
}

/**
 * irq_balance_load_set_kick - Register who is told when a load rises
 * @work:	irq_work to queue, or NULL
 * @quantum:	time after which a window closes, ns: long enough that one slow
 *		handler does not look like load; not 0 if there is @work
 * @limit:	length below which a closing window is reported, ns, for
 *		interrupts that have no limit of their own
 *
 * The other two are ignored without @work.
 *
 * After the call with NULL the work may still be queued once: use
 * irq_work_sync() when it goes away.
 */
void irq_balance_load_set_kick(struct irq_work *work, u32 quantum, u32 limit)
{
	/* A CPU which still sees the old work must not see a quantum of 0 */
	if (work) {
		WRITE_ONCE(irq_balance_default_limit, limit);
		WRITE_ONCE(irq_balance_quantum, quantum);
	}
	/* Pairs with irq_balance_check_limit(): with the work comes its quantum */
	smp_store_release(&irq_balance_kick_work, work);
}

/**
 * irq_balance_load_charged - Handler time charged on this CPU
 *
 * In jumps, as a sample stands for many interrupts; right on average.
 *
 * Context: any in which the CPU cannot change.
 *
 * Return: ns since boot
 */
u64 irq_balance_load_charged(void)
{
	return this_cpu_read(irq_balance_charged);
}

/**
 * irq_balance_load_get - Start to measure the time of interrupts
 *
 * The measuring runs as long as it has users. Counters go on where they were:
 * users work on differences.
 *
 * Context: process context, may sleep, patches kernel text for the first user.
 *
 * Return: 0
 */
int irq_balance_load_get(void)
{
	irq_balance_check_clock();
	preempt_notifier_inc();
	static_branch_inc(&irq_balance_load_key);
	return 0;
}

/**
 * irq_balance_load_put - The opposite of irq_balance_load_get()
 *
 * Context: process context, may sleep, patches kernel text for the last user.
 */
void irq_balance_load_put(void)
{
	static_branch_dec(&irq_balance_load_key);
	/* Who has just seen the key may still ask to be notified */
	synchronize_rcu();
	/* A new user has preempt_notifier_inc() behind it */
	if (!static_key_enabled(&irq_balance_load_key))
		irq_balance_next_session();
	preempt_notifier_dec();
}

/**
 * irq_balance_load_read - Read the load of one interrupt
 * @irq:	interrupt number
 * @load:	where to put it: time and count are cumulative and only move while
 *		somebody measures, see irq_balance_load_get()
 *
 * Context: any context in which desc->lock of @irq is not held.
 *
 * Return: 0, or -ENOENT if there is no such interrupt
 */
int irq_balance_load_read(unsigned int irq, struct irq_balance_load *load)
{
	scoped_irqdesc_get_and_lock(irq, 0) {
		irq_balance_load_peek(scoped_irqdesc, load);
		return 0;
	}
	return -ENOENT;
}
