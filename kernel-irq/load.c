// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-load
 *
 * Counts say nothing about cost, so interrupts are timed. Two clock readings
 * around each handler would be felt at a hundred thousand interrupts per second.
 * So only a sample is timed, about a thousand per second and source however hot
 * it is, and each sample stands for the events since the one before::
 *
 *   handlers	handle_irq_event() counts down beside desc->lock; the interrupt that
 *		reaches zero is handled by irq_load_timed_event() (load.c)
 *   softirqs	the action of each softirq is wrapped while measuring is on; the
 *		wrapper counts down its runs on this CPU (load_softirq.c)
 *   NAPI	in a run of NET_RX that is timed each poll is, and is charged to the
 *		interrupt of its instance (load_napi.c)
 *   threads	each run of an interrupt thread's handler is timed (load.c): its
 *		wake-up and two context switches outweigh that
 *
 * How many events share a sample follows the rate of the source; which of them is
 * timed is random. Extrapolated time never exceeds wall time. The arithmetic is in load_charge.h.
 *
 * Nothing is added to the structures of others but a counter and a pointer in
 * struct irq_desc, which has room for them. What has to be kept of an interrupt
 * is allocated when it is first measured and freed with its descriptor.
 *
 * Each ns is charged once. The time of a softirq or a thread does not contain the
 * handlers that interrupted it, and the time of a thread does not contain softirqs
 * either. Handlers and softirqs that were timed are known exactly. For the others
 * their number is known, and the recent mean of this CPU is taken, so sums may go
 * down for a moment. If a thread slept, its run time is taken instead, which contains
 * all of these if IRQ time accounting is off.
 *
 * What is measured of a handler is the time of all handlers of the line, a shared
 * line being one load. A handler that demultiplexes other interrupts contains
 * their time. Polling for misrouted interrupts (IRQS_POLL_INPROGRESS) is not
 * charged: it runs the handlers of lines that may be innocent. Per-CPU
 * interrupts, NMIs, chained and nested ones do not pass handle_irq_event(), or
 * cannot be moved.
 *
 * All of that needs a stable and fine-grained sched_clock().
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kernel_stat.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/cputime.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "internals.h"

/* The mean of a CPU's handlers covers the last one or two of these intervals */
#define IRQ_LOAD_MEAN_NS	(NSEC_PER_SEC / 4)

DEFINE_STATIC_KEY_FALSE(irq_load_key);
DEFINE_PER_CPU(struct irq_load_cpu, irq_load_cpu);

/* What is queued when a load rises, see irq_load_set_kick() */
static struct irq_work *irq_load_kick;
static u32 irq_load_default_limit;

static DEFINE_MUTEX(irq_load_mutex);
static unsigned int irq_load_users;

/**
 * irq_load_next_desc - The next interrupt
 * @irq:	number to begin with
 *
 * Context: process context.
 *
 * Return: descriptor with a reference for irq_desc_put_ref(), or NULL
 */
struct irq_desc *irq_load_next_desc(unsigned int irq)
{
	struct irq_desc *desc;

	guard(rcu)();
	while ((desc = irq_find_desc_at_or_after(irq))) {
		if (irq_desc_get_ref(desc))
			return desc;
		irq = irq_desc_get_irq(desc) + 1;
	}
	return NULL;
}

/* Interrupts that came without having been measured before have @load_skip below 0 */
static void irq_load_alloc(struct work_struct *work)
{
	struct irq_load_line *line;
	struct irq_desc *desc;
	unsigned int irq = 0;

	while ((desc = irq_load_next_desc(irq))) {
		irq = irq_desc_get_irq(desc) + 1;
		line = NULL;
		/* May race with an interrupt, which asks again when it comes again */
		if (data_race(desc->load_skip) < 0 && !desc->load)
			line = kzalloc_obj(*line);
		if (line) {
			irq_load_restart(&line->hard.sampler);
			/* Pairs with irq_load_line_of() */
			smp_store_release(&desc->load, line);
		}
		irq_desc_put_ref(desc);
	}
}

static DECLARE_DELAYED_WORK(irq_load_alloc_work, irq_load_alloc);

static void irq_load_alloc_kick(struct irq_work *work)
{
	/* The delay bounds how often it is tried when memory is short */
	schedule_delayed_work(&irq_load_alloc_work, 1);
}

static DEFINE_IRQ_WORK(irq_load_alloc_irq_work, irq_load_alloc_kick);

static struct irq_load_line *irq_load_line_of(struct irq_desc *desc)
{
	/* Pairs with irq_load_alloc() */
	return smp_load_acquire(&desc->load);
}

static void irq_load_want_line(struct irq_desc *desc)
{
	lockdep_assert_held(&desc->lock);

	desc->load_skip = -1;
	irq_work_queue(&irq_load_alloc_irq_work);
}

/**
 * irq_load_get_line - What is kept of an interrupt
 * @irq:	interrupt number
 *
 * Context: softirq or task, under rcu_read_lock().
 *
 * Return: NULL if there is no such interrupt or it was not measured yet, then what
 * is needed for it will be allocated
 */
struct irq_load_line *irq_load_get_line(unsigned int irq)
{
	struct irq_desc *desc = irq_to_desc(irq);
	struct irq_load_line *line;
	unsigned long flags;

	if (!desc)
		return NULL;
	line = irq_load_line_of(desc);
	/* In overload no interrupt comes that would ask for it */
	if (unlikely(!line) && raw_spin_trylock_irqsave(&desc->lock, flags)) {
		irq_load_want_line(desc);
		raw_spin_unlock_irqrestore(&desc->lock, flags);
	}
	return line;
}

static u64 irq_load_total(const struct irq_load_line *line)
{
	return READ_ONCE(line->hard.time) + atomic64_read(&line->soft) +
	       atomic64_read(&line->thread);
}

/**
 * irq_load_check_rise - Wake the user if the load of an interrupt has risen
 * @line:	the interrupt
 * @now:	local_clock()
 *
 * A window closes when a quantum has been charged in it.
 *
 * Context: any. May race with another CPU that polls for the interrupt: the worst
 * that comes of it is a wake-up for nothing or a window late.
 */
void irq_load_check_rise(struct irq_load_line *line, u64 now)
{
	struct irq_work *work = READ_ONCE(irq_load_kick);
	u64 total = irq_load_total(line);
	s64 charged = total - READ_ONCE(line->window_total);

	/* Negative if a sum went down */
	if (!work || charged < IRQ_LOAD_QUANTUM)
		return;

	if (irq_load_rises(charged, irq_load_since(now, READ_ONCE(line->window_start)),
			   READ_ONCE(line->limit) ? : READ_ONCE(irq_load_default_limit)))
		irq_work_queue(work);

	WRITE_ONCE(line->window_start, now);
	WRITE_ONCE(line->window_total, total);
}

/**
 * irq_load_span_begin - Start to time a piece of work
 * @span:	for irq_load_span_end()
 *
 * Context: migration disabled. A preemption in here counts as one of the work.
 */
void irq_load_span_begin(struct irq_load_span *span)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);

	span->runtime = current->se.sum_exec_runtime;
	span->switches = current->nvcsw + current->nivcsw;
	span->irqs = kstat_cpu_irqs_sum(smp_processor_id());
	span->timed = c->timed;
	span->timed_ns = c->timed_ns;
	span->foreign_ns = c->foreign_ns;
	if (!in_serving_softirq())
		irq_load_softirqs_begin(span);
	span->start = local_clock_noinstr();
}

/**
 * irq_load_span_end - Stop to time a piece of work
 * @span:	what irq_load_span_begin() has filled in
 * @now:	local_clock()
 *
 * Context: as irq_load_span_begin(), the CPU may be another one.
 *
 * Return: ns that the work took without what interrupted it; may be negative, as a
 * mean may be more than there was time for
 */
s64 irq_load_span_end(const struct irq_load_span *span, u64 now)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);
	s64 wall = irq_load_since(now, span->start), spent = wall, more;

	/* Others ran in it: the scheduler knows what was left */
	if (current->nvcsw + current->nivcsw != span->switches)
		return min_t(s64, wall, irq_load_since(task_sched_runtime(current), span->runtime));

	spent -= c->timed_ns - span->timed_ns;
	/* With forced threads the softirqs in a thread are its own */
	if (!in_serving_softirq())
		spent -= force_irqthreads() ? c->foreign_ns - span->foreign_ns :
					      irq_load_softirqs_end(span);
	/*
	 * The kernel's count has nested interrupts, too, and on some architectures
	 * timers and IPIs. That is an overestimate which a mean makes small.
	 */
	more = (long)(kstat_cpu_irqs_sum(smp_processor_id()) - span->irqs -
		      (c->timed - span->timed));
	if (more > 0 && c->mean_nr)
		spent -= div64_u64(more * c->mean_ns, c->mean_nr);
	return min(spent, wall);
}

/* Account for a timed handler on this CPU; @nested: @timed_ns before it ran */
static void irq_load_account_cpu(struct irq_load_cpu *c, u64 nested, u32 stands_for, u64 now,
				 u64 delta)
{
	s64 own = delta - (c->timed_ns - nested);

	own = max(own, 0);
	c->timed++;
	c->timed_ns += own;

	if (now - c->mean_stamp > IRQ_LOAD_MEAN_NS) {
		c->mean_nr >>= 1;
		c->mean_ns >>= 1;
		c->mean_stamp = now;
	}
	c->mean_nr += stands_for;
	c->mean_ns += own * stands_for;
}

/**
 * irq_load_timed_event - Handle an interrupt and charge its time
 * @desc:	descriptor of the interrupt, locked
 *
 * Called by handle_irq_event() instead of what it does itself when a sample is
 * due.
 *
 * Context: hard interrupt, or task context for interrupts that are resent or
 * injected; interrupts disabled, desc->lock held and dropped in between as in
 * handle_irq_event().
 *
 * Return: what the handlers returned
 */
irqreturn_t irq_load_timed_event(struct irq_desc *desc)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);
	struct irq_load_line *line = irq_load_line_of(desc);
	struct irq_load_raise raise;
	u64 nested, start, now, since;
	unsigned long timed;
	irqreturn_t ret;

	lockdep_assert_held(&desc->lock);

	desc->istate &= ~IRQS_PENDING;
	irqd_set(&desc->irq_data, IRQD_IRQ_INPROGRESS);
	raw_spin_unlock(&desc->lock);

	irq_load_raise_begin(&raise);
	nested = c->timed_ns;
	timed = c->timed;
	start = local_clock_noinstr();

	ret = handle_irq_event_percpu(desc);

	raw_spin_lock(&desc->lock);
	irqd_clear(&desc->irq_data, IRQD_IRQ_INPROGRESS);

	now = local_clock();
	/* What the handler of another one raised in it does not belong to this one */
	if (likely(timed == c->timed))
		irq_load_raise_end(&raise, irq_desc_get_irq(desc),
				   line ? line->hard.sampler.stratum : 1);
	if (unlikely(!line)) {
		irq_load_want_line(desc);
		return ret;
	}

	since = now - line->hard.stamp;
	if (likely(!(desc->istate & IRQS_POLL_INPROGRESS))) {
		irq_load_account_cpu(c, nested, line->hard.sampler.stratum, now, now - start);
		irq_load_take_sample(&line->hard, now, now - start);
		irq_load_check_rise(line, now);
	}
	desc->load_skip = irq_load_next_sample(&line->hard.sampler, now, since, now - start,
					       IRQ_LOAD_SAMPLE_NS) - 1;
	return ret;
}

/**
 * irq_load_timed_thread - Run an interrupt thread's handler and charge its time
 * @fn:		the function that calls the handler
 * @desc:	descriptor of the interrupt
 * @action:	action whose thread is current
 *
 * With forced threads the softirqs that the handler raises run in it and count
 * as its time, see irq_load_forced_thread().
 *
 * Context: the thread, may sleep.
 *
 * Return: what @fn returned
 */
irqreturn_t irq_load_timed_thread(irq_load_thread_fn_t fn, struct irq_desc *desc,
				  struct irqaction *action)
{
	struct irq_load_line *line = irq_load_line_of(desc);
	struct task_struct *outer;
	struct irq_load_span span;
	unsigned int outer_irq;
	bool outer_foreign;
	irqreturn_t ret;
	u64 now;

	scoped_guard(preempt) {
		/* Of a thread that was preempted or sleeps: only compared, so it may be gone */
		outer = this_cpu_read(irq_load_cpu.thread);
		outer_irq = this_cpu_read(irq_load_cpu.thread_irq);
		outer_foreign = this_cpu_read(irq_load_cpu.foreign);
		this_cpu_write(irq_load_cpu.thread_irq, action->irq);
		this_cpu_write(irq_load_cpu.foreign, irq_load_polls_wait());
		this_cpu_write(irq_load_cpu.thread, current);
		irq_load_span_begin(&span);
	}

	ret = fn(desc, action);

	scoped_guard(preempt) {
		now = local_clock();
		if (this_cpu_read(irq_load_cpu.thread) == current) {
			this_cpu_write(irq_load_cpu.thread_irq, outer_irq);
			this_cpu_write(irq_load_cpu.foreign, outer_foreign);
			this_cpu_write(irq_load_cpu.thread, outer);
		}
		if (line) {
			atomic64_add(irq_load_span_end(&span, now), &line->thread);
			irq_load_check_rise(line, now);
		}
	}
	return ret;
}

/**
 * irq_load_peek - Read the load of an interrupt
 * @desc:	descriptor of the interrupt, locked
 * @load:	where to put it; all 0 if it was never measured
 *
 * Context: any, interrupts disabled, desc->lock held.
 */
void irq_load_peek(struct irq_desc *desc, struct irq_load *load)
{
	struct irq_load_line *line = irq_load_line_of(desc);
	u64 now = local_clock();

	lockdep_assert_held(&desc->lock);

	*load = (struct irq_load) { };
	if (!line)
		return;

	/* The next sample may find that this was too much */
	irq_load_advance(&line->seen[0], line->hard.time +
			 irq_load_unsampled_time(&line->hard, desc->load_skip, now));
	irq_load_advance(&line->seen[1], atomic64_read(&line->soft));
	irq_load_advance(&line->seen[2], atomic64_read(&line->thread));
	irq_load_decay_max(&line->hard, now);

	load->time_ns = line->seen[0];
	load->soft_ns = line->seen[1];
	load->thread_ns = line->seen[2];
	load->count = line->hard.count + irq_load_unsampled(&line->hard, desc->load_skip);
	load->max_ns = min(line->hard.max, U32_MAX);
}

/**
 * irq_load_flush - Charge an interrupt that has become rare
 * @desc:	descriptor of the interrupt, locked
 *
 * Its next sample was chosen for the rate at the last one. The interrupts since then
 * are charged like that sample, and the next one is timed: otherwise hundreds
 * would be charged by what a single one costs much later.
 *
 * Context: any, interrupts disabled, desc->lock held.
 */
void irq_load_flush(struct irq_desc *desc)
{
	struct irq_load_line *line = irq_load_line_of(desc);
	u64 now = local_clock();

	lockdep_assert_held(&desc->lock);

	if (!line || desc->load_skip < 0 ||
	    irq_load_since(now, line->hard.stamp) < IRQ_LOAD_RARE_NS)
		return;

	WRITE_ONCE(line->hard.time, line->hard.time +
		   irq_load_unsampled_time(&line->hard, desc->load_skip, now));
	line->hard.count += irq_load_unsampled(&line->hard, desc->load_skip);
	irq_load_restart(&line->hard.sampler);
	desc->load_skip = 0;
}

/**
 * irq_load_set_limit - Set when a rising load is reported
 * @desc:	descriptor of the interrupt
 * @limit:	see irq_load_rises(), 0: the default of irq_load_set_kick()
 *
 * Context: any in which @desc cannot go away.
 */
void irq_load_set_limit(struct irq_desc *desc, u32 limit)
{
	struct irq_load_line *line = irq_load_line_of(desc);

	if (line)
		WRITE_ONCE(line->limit, limit);
}

/**
 * irq_load_set_kick - Register what is queued when a load rises
 * @work:	irq_work to queue, or NULL
 * @limit:	see irq_load_rises(), for interrupts without a limit of their own
 *
 * After the call with NULL the work is not queued any more, but may be on its way:
 * use irq_work_sync() before it goes away.
 *
 * Context: process context, may sleep.
 */
void irq_load_set_kick(struct irq_work *work, u32 limit)
{
	WRITE_ONCE(irq_load_default_limit, limit);
	WRITE_ONCE(irq_load_kick, work);
	if (!work)
		synchronize_rcu();
}

/**
 * irq_load_clock_is_good - Whether what is measured can be trusted
 *
 * A clock that is not stable stands still until the next tick now and then. One
 * that counts jiffies measures nothing that is shorter.
 *
 * Context: any.
 *
 * Return: true if sched_clock() is stable and fine-grained
 */
bool irq_load_clock_is_good(void)
{
	unsigned int i;

	if (!sched_clock_stable())
		return false;

	/* A coarse clock may tick once meanwhile, but not each time */
	for (i = 0; i < 4; i++) {
		u64 start = local_clock();

		udelay(9);
		if (local_clock() == start)
			return false;
	}
	return true;
}

/**
 * irq_load_get - Start to measure the time of interrupts
 *
 * The measuring runs as long as it has users. The counters go on where they were:
 * users work on differences.
 *
 * Context: process context, may sleep, patches kernel text for the first user.
 *
 * Return: 0 or -ENOMEM
 */
int irq_load_get(void)
{
	int ret;

	guard(mutex)(&irq_load_mutex);

	if (!irq_load_users) {
		ret = irq_load_softirq_start();
		if (ret)
			return ret;
		static_branch_enable(&irq_load_key);
	}
	irq_load_users++;
	return 0;
}

/**
 * irq_load_put - The opposite of irq_load_get()
 *
 * Context: process context, may sleep, patches kernel text for the last user.
 */
void irq_load_put(void)
{
	guard(mutex)(&irq_load_mutex);

	if (--irq_load_users)
		return;
	static_branch_disable(&irq_load_key);
	irq_load_softirq_stop();
}

/**
 * irq_load_read - Read the load of one interrupt
 * @irq:	interrupt number
 * @load:	where to put it: times and count are cumulative and only move while
 *		measuring is on, see irq_load_get()
 *
 * Context: any in which desc->lock of @irq is not held.
 *
 * Return: 0, or -ENOENT if there is no such interrupt
 */
int irq_load_read(unsigned int irq, struct irq_load *load)
{
	scoped_irqdesc_get_and_lock(irq, 0) {
		irq_load_peek(scoped_irqdesc, load);
		return 0;
	}
	return -ENOENT;
}
