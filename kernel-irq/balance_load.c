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
 *       irq_balance_timed_event()	the one that reaches zero
 *         handle_irq_event()		... is handled as always
 *         irq_balance_charge()		... and charged
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
 * What is measured is the time between two points of handle_irq_event() at
 * which desc->lock is held: all handlers of the line (a shared line is one
 * load), no flow handler, no entry code. Polling for misrouted interrupts
 * (IRQS_POLL_INPROGRESS) is not charged: it runs the handlers of lines that may
 * be innocent. Per-CPU interrupts, NMIs, chained and nested ones do not pass
 * handle_irq_event() or cannot be moved; they are not in the map. A requested
 * interrupt that demultiplexes others contains their time.
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>

#include "internals.h"

DEFINE_STATIC_KEY_FALSE(irq_balance_load_key);

/* Aim of the adaptive gap: samples of one interrupt are about this far apart */
#define IRQ_BALANCE_SAMPLE_NS	NSEC_PER_MSEC

/* A gap of 4096 is one sample per ms at four million interrupts per second */
#define IRQ_BALANCE_MAX_SHIFT	12

/* The maximum decays by 1/e in 2^33 ns, about 9 s */
#define IRQ_BALANCE_MAX_DECAY	33

/* ns of handler time that this CPU has charged to interrupts, never reset */
static DEFINE_PER_CPU(u64, irq_balance_charged);

/* The interrupt that is timed on this CPU at the moment, 0 for none */
DEFINE_PER_CPU(unsigned int, irq_balance_timed_irq);

/* Who is woken when a load rises, see irq_balance_load_set_kick() */
static struct irq_work *irq_balance_kick_work;
static u32 irq_balance_quantum;
static u32 irq_balance_default_limit;

/*
 * A reader on another CPU may be ahead of or behind the clock that stamped:
 * time that ran backwards is no time.
 */
static u64 irq_balance_since(u64 now, u64 stamp)
{
	s64 delta = now - stamp;

	return delta > 0 ? delta : 0;
}

/*
 * Choose the gap to the next sample. @delta is the time since the last one.
 * Only factors of two, with a dead band of four, so that a steady rate settles.
 */
static void irq_balance_next_gap(struct irq_balance_desc *b, u64 now, u64 delta)
{
	unsigned int dither;

	if (delta < IRQ_BALANCE_SAMPLE_NS && b->shift < IRQ_BALANCE_MAX_SHIFT)
		b->shift++;
	else if (delta > 4 * IRQ_BALANCE_SAMPLE_NS && b->shift)
		b->shift--;

	/* 1, or 2^shift +- 2^(shift - 1) */
	dither = BIT(b->shift) >> 1;
	b->gap = BIT(b->shift) - dither;
	if (dither)
		b->gap += hash_64(now, b->shift);
}

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
	u64 total = READ_ONCE(b->time) + atomic64_read(&b->soft);
	u64 charged = total - READ_ONCE(b->window_total);
	u32 quantum = READ_ONCE(irq_balance_quantum);
	u64 limit;

	/* Negative if a softirq was given back what a handler took */
	if (!work || (s64)charged < (s64)quantum)
		return;

	/* A window may close with more than a quantum in it */
	limit = READ_ONCE(b->limit) ? : READ_ONCE(irq_balance_default_limit);
	limit *= div_u64(charged, quantum);

	if (irq_balance_since(now, READ_ONCE(b->window_start)) < limit)
		irq_work_queue(work);

	WRITE_ONCE(b->window_start, now);
	WRITE_ONCE(b->window_total, total);
}

static void irq_balance_charge(struct irq_desc *desc, u64 start, u64 now)
{
	struct irq_balance_desc *b = &desc->balance;
	u64 since = irq_balance_since(now, b->stamp);
	u64 delta = irq_balance_since(now, start);
	u64 charged;

	lockdep_assert_held(&desc->lock);

	/* One slow run is not as many as the gap: they had no time for it */
	charged = min(delta * b->gap, max(since, delta));

	b->time += charged;
	b->count += b->gap;
	b->stamp = now;
	this_cpu_add(irq_balance_charged, charged);

	/* An average over eight samples, for what was not sampled yet */
	b->mean += ((s64)min_t(u64, delta, S32_MAX) - b->mean) / 8;

	since = min(since, BIT_ULL(IRQ_BALANCE_MAX_DECAY)) >> 13;
	b->max -= DIV_ROUND_UP_ULL(b->max * since, BIT_ULL(IRQ_BALANCE_MAX_DECAY - 13));
	if (delta > b->max)
		b->max = min_t(u64, delta, U32_MAX);
}

/**
 * irq_balance_timed_event - Handle an interrupt and charge its time
 * @desc:	descriptor of the interrupt, locked
 *
 * Called by handle_irq_event() when the sample is due, and calls it in turn: the
 * countdown is set up again before, so it does not come back here.
 *
 * Context: hard interrupt, or task context for interrupts that are resent or
 * injected; interrupts disabled, desc->lock held and dropped in between as in
 * handle_irq_event().
 *
 * Return: what the handlers returned
 */
irqreturn_t irq_balance_timed_event(struct irq_desc *desc)
{
	unsigned int outer = this_cpu_read(irq_balance_timed_irq);
	struct irq_balance_desc *b = &desc->balance;
	irqreturn_t ret;
	u64 start, since;

	lockdep_assert_held(&desc->lock);

	/* handle_irq_event() below counts once more and must not see zero */
	b->skip = 2;

	this_cpu_write(irq_balance_timed_irq, irq_desc_get_irq(desc));
	start = local_clock();
	since = irq_balance_since(start, b->stamp);
	ret = handle_irq_event(desc);
	this_cpu_write(irq_balance_timed_irq, outer);

	/* Only now: @skip and @gap are of the gap which ends here */
	if (likely(!(desc->istate & IRQS_POLL_INPROGRESS))) {
		u64 now = local_clock();

		if (unlikely(!b->gap))
			b->gap = 1;
		irq_balance_charge(desc, start, now);
		irq_balance_check_limit(b, now);
	}

	irq_balance_next_gap(b, start, since);
	b->skip = b->gap;
	return ret;
}

/* Interrupts since the last sample; they are charged with the mean */
static unsigned int irq_balance_unsampled(struct irq_balance_desc *b)
{
	return b->skip > 0 && b->skip < b->gap ? b->gap - b->skip : 0;
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
	unsigned int unsampled = irq_balance_unsampled(b);

	lockdep_assert_held(&desc->lock);

	load->time_ns = b->time + (u64)unsampled * b->mean;
	load->soft_ns = max(0, atomic64_read(&b->soft));
	load->count = b->count + unsampled;
	load->max_ns = b->max;
}

/**
 * irq_balance_load_flush - Charge an interrupt that has become rare
 * @desc:	descriptor of the interrupt, locked
 *
 * The gap was chosen for the rate at the last sample. If that was long ago, the
 * interrupts since then are charged with the mean and the next one is timed:
 * otherwise hundreds would be charged by what a single one costs much later.
 *
 * Context: any, interrupts disabled, desc->lock held.
 */
void irq_balance_load_flush(struct irq_desc *desc)
{
	struct irq_balance_desc *b = &desc->balance;
	unsigned int unsampled = irq_balance_unsampled(b);

	lockdep_assert_held(&desc->lock);

	if (b->skip <= 0 || irq_balance_since(local_clock(), b->stamp) < 4 * IRQ_BALANCE_SAMPLE_NS)
		return;

	b->time += (u64)unsampled * b->mean;
	b->count += unsampled;
	b->skip = 1;
	b->gap = 1;
	b->shift = 0;
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
