// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-load
 *
 * Two clock readings around each handler would be felt at a hundred thousand interrupts
 * per second. So only a sample is timed, about one per IRQ_LOAD_SAMPLE_NS and source
 * however hot it is, and each sample stands for the events since the one before::
 *
 *   handlers	handle_irq_event() counts down beside desc->lock; the interrupt that
 *		reaches zero is handled by irq_load_timed_event() (load.c)
 *   softirqs	a wrapper around the action counts down its runs on this CPU
 *		(load_softirq.c)
 *   NAPI	in a run of NET_RX that is timed each poll is, and is charged to the
 *		interrupt of its instance (load_napi.c)
 *   threads	each run of an interrupt thread's handler is timed (load.c): its
 *		wake-up and two context switches outweigh that
 *
 * Each ns is charged once: the time of a softirq or a thread does not contain what
 * interrupted it. Interruptions that were not timed count with this CPU's recent mean,
 * so sums may go down for a moment. If a thread slept, its run time is taken instead,
 * which contains all of it if IRQ time accounting is off, and no softirqs if it is on.
 *
 * A shared line is one load. A handler that demultiplexes other interrupts contains
 * their time. Polling for misrouted interrupts (IRQS_POLL_INPROGRESS) is not
 * charged: it runs the handlers of lines that may be innocent. Per-CPU
 * interrupts, NMIs, chained, nested and untracked ones do not pass
 * handle_irq_event(), or cannot be moved.
 */
#include <linux/delay.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/mutex.h>
#include <linux/sched/cputime.h>
#include <linux/workqueue.h>

#include "internals.h"

/* The mean of a CPU's handlers covers the last one or two of these intervals */
#define IRQ_LOAD_MEAN_NS	(NSEC_PER_SEC / 4)

DEFINE_STATIC_KEY_FALSE(irq_load_key);
DEFINE_PER_CPU(struct irq_load_cpu, irq_load_cpu);

/* Queued when a load rises, see irq_load_set_kick() */
static struct irq_work *irq_load_kick;
static u32 irq_load_limit;

static DEFINE_MUTEX(irq_load_mutex);
static unsigned int irq_load_users;

/* The descriptor of the next interrupt from @irq on, for irq_desc_put_ref(), or NULL */
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
		/* May race with an interrupt, which asks again when it comes again */
		line = data_race(desc->load_skip) < 0 && !desc->load ? kzalloc_obj(*line) : NULL;
		if (line) {
			irq_load_restart(&line->hard.sampler);
			/* Pairs with irq_load_line_of() */
			smp_store_release(&desc->load, line);
		}
		irq_desc_put_ref(desc);
	}
}

static DECLARE_DELAYED_WORK(irq_load_alloc_work, irq_load_alloc);

static struct irq_load_line *irq_load_line_of(struct irq_desc *desc)
{
	/* Pairs with irq_load_alloc() */
	return smp_load_acquire(&desc->load);
}

static void irq_load_request_line(struct irq_desc *desc)
{
	lockdep_assert_held(&desc->lock);
	desc->load_skip = -1;
	/* The delay bounds how often it is tried when memory is short */
	schedule_delayed_work(&irq_load_alloc_work, 1);
}

/* Under RCU. NULL if there is no such interrupt, or its line has yet to be allocated */
struct irq_load_line *irq_load_get_line(unsigned int irq)
{
	struct irq_desc *desc = irq_to_desc(irq);
	struct irq_load_line *line = desc ? irq_load_line_of(desc) : NULL;
	unsigned long flags;

	/* In overload no interrupt comes that would ask for it */
	if (unlikely(desc && !line) && raw_spin_trylock_irqsave(&desc->lock, flags)) {
		irq_load_request_line(desc);
		raw_spin_unlock_irqrestore(&desc->lock, flags);
	}
	return line;
}

/*
 * Wake the user if the load of an interrupt has risen. A window closes when a quantum has been
 * charged in it. A race with another CPU that polls wakes it for nothing, or a window late.
 */
void irq_load_check_rise(struct irq_load_line *line, u64 now)
{
	struct irq_work *work = READ_ONCE(irq_load_kick);
	u64 total = READ_ONCE(line->hard.time) + atomic64_read(&line->soft) +
		    atomic64_read(&line->thread);
	s64 charged = total - READ_ONCE(line->window_total);

	/* Negative if a sum went down */
	if (!work || charged < IRQ_LOAD_QUANTUM)
		return;

	if (irq_load_rises(charged, irq_load_since(now, READ_ONCE(line->window_start)),
			   READ_ONCE(irq_load_limit)))
		irq_work_queue(work);

	WRITE_ONCE(line->window_start, now);
	WRITE_ONCE(line->window_total, total);
}

/* Start to time a piece of work, with migration disabled. A preemption in here is its own. */
void irq_load_span_begin(struct irq_load_span *span)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);

	span->runtime = current->se.sum_exec_runtime;
	span->switches = current->nvcsw + current->nivcsw;
	span->irqs = kstat_cpu_irqs_sum(smp_processor_id()) - c->timed;
	span->timed_ns = c->timed_ns;
	if (!in_serving_softirq())
		irq_load_softirqs_begin(span);
	span->start = local_clock_noinstr();
}

/* Stop to time it, perhaps on another CPU; the time without what interrupted it may be negative */
s64 irq_load_span_end(const struct irq_load_span *span, u64 now)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);
	s64 wall = irq_load_since(now, span->start), spent = wall, more;
	/* An interrupt may change it */
	u64 nr = READ_ONCE(c->mean_nr);

	/*
	 * Others ran in it: the scheduler knows what was left. With IRQ_TIME_ACCOUNTING and
	 * PREEMPT_RT it leaves out softirqs in tasks other than ksoftirqd: their charge is too low.
	 */
	if (current->nvcsw + current->nivcsw != span->switches)
		return min_t(s64, wall, irq_load_since(task_sched_runtime(current), span->runtime));

	spent -= c->timed_ns - span->timed_ns;
	if (!in_serving_softirq())
		spent -= irq_load_softirqs_end(span);
	/* The count has nested ones, too, and on some architectures timers and IPIs */
	more = (long)(kstat_cpu_irqs_sum(smp_processor_id()) - c->timed - span->irqs);
	if (more > 0 && nr)
		spent -= div64_u64(more * c->mean_ns, nr);
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
	/* The mean is for those that are not timed. It is short: long handlers are all timed. */
	c->mean_nr += stands_for - 1;
	c->mean_ns += own * (stands_for - 1);
}

/* Handle an interrupt as handle_irq_event() does, and charge its time: a sample is due */
irqreturn_t irq_load_timed_event(struct irq_desc *desc)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);
	struct irq_load_line *line = irq_load_line_of(desc);
	u64 nested, start, now, since;
	struct list_head *tail;
	unsigned long timed;
	irqreturn_t ret;
	u32 pending;

	lockdep_assert_held(&desc->lock);

	desc->istate &= ~IRQS_PENDING;
	irqd_set(&desc->irq_data, IRQD_IRQ_INPROGRESS);
	raw_spin_unlock(&desc->lock);

	pending = local_softirq_pending();
	tail = irq_load_polls_tail();
	nested = c->timed_ns;
	timed = c->timed;
	start = local_clock_noinstr();

	ret = handle_irq_event_percpu(desc);

	raw_spin_lock(&desc->lock);
	irqd_clear(&desc->irq_data, IRQD_IRQ_INPROGRESS);

	now = local_clock();
	/* Softirqs that the handler of another one raised in it do not belong to this one */
	if (likely(timed == c->timed))
		irq_load_raised(local_softirq_pending() & ~pending, tail, irq_desc_get_irq(desc),
				line ? line->hard.sampler.stratum : 1);
	if (unlikely(!line)) {
		irq_load_request_line(desc);
		return ret;
	}

	since = now - line->hard.stamp;
	if (likely(!(desc->istate & IRQS_POLL_INPROGRESS))) {
		irq_load_account_cpu(c, nested, line->hard.sampler.stratum, now, now - start);
		irq_load_take_sample(&line->hard, now, now - start);
		irq_load_check_rise(line, now);
	}
	irq_load_next_sample(&line->hard.sampler, now, since, now - start, IRQ_LOAD_SAMPLE_NS);
	desc->load_skip = line->hard.sampler.gap - 1;
	return ret;
}

/*
 * Run an interrupt thread's handler and charge its time. With forced threads the softirqs
 * that the handler raises run in it and count as its time, see irq_load_forced_thread().
 */
irqreturn_t irq_load_timed_thread(irq_load_thread_fn_t fn, struct irq_desc *desc,
				  struct irqaction *action)
{
	struct irq_load_line *line = irq_load_line_of(desc);
	struct irq_load_thread outer, *thread;
	struct irq_load_span span;
	irqreturn_t ret;
	u64 now;

	/* 32-bit machines read a sum in two halves: no interrupt may come between them */
	scoped_guard(irqsave) {
		thread = this_cpu_ptr(&irq_load_cpu.thread);
		/* Of a thread that was preempted or sleeps, and may be gone */
		outer = *thread;
		*thread = (struct irq_load_thread) {
			.task = current, .irq = action->irq, .foreign = irq_load_polls_wait(),
		};
		irq_load_span_begin(&span);
	}

	ret = fn(desc, action);

	scoped_guard(irqsave) {
		now = local_clock();
		thread = this_cpu_ptr(&irq_load_cpu.thread);
		if (thread->task == current)
			*thread = outer;
		if (line) {
			atomic64_add(irq_load_span_end(&span, now), &line->thread);
			irq_load_check_rise(line, now);
		}
	}
	return ret;
}

/* Read the load of an interrupt: all 0 if it was never measured */
void irq_load_peek(struct irq_desc *desc, struct irq_load *load)
{
	struct irq_load_line *line = irq_load_line_of(desc);
	u64 now = local_clock(), time;

	lockdep_assert_held(&desc->lock);

	*load = (struct irq_load) { };
	if (!line)
		return;

	time = line->hard.time + irq_load_unsampled_time(&line->hard, desc->load_skip, now);
	/* If it has become rare the next one is timed: it must not stand for hundreds before it */
	if (desc->load_skip >= 0 && irq_load_since(now, line->hard.stamp) >= IRQ_LOAD_RARE_NS) {
		WRITE_ONCE(line->hard.time, time);
		irq_load_restart(&line->hard.sampler);
		desc->load_skip = 0;
	}

	/* The next sample may find that this was too much */
	irq_load_advance(&line->seen.time_ns, time);
	irq_load_advance(&line->seen.thread_ns, atomic64_read(&line->thread));
	line->seen.soft_ns = atomic64_read(&line->soft);
	*load = line->seen;
}

/* Whether NAPI of an interrupt was polled lately by a thread or a busy poller: not measured */
bool irq_load_is_polled(struct irq_desc *desc)
{
	struct irq_load_line *line = irq_load_line_of(desc);

	return line && irq_load_polled(line, jiffies) > IRQ_LOAD_POLLED / 2;
}

/*
 * Queue @work when an interrupt is charged a quantum within @limit ns, 0: never. After the call
 * with NULL it may be on its way: use irq_work_sync() before it goes away.
 */
void irq_load_set_kick(struct irq_work *work, u32 limit)
{
	WRITE_ONCE(irq_load_limit, limit);
	WRITE_ONCE(irq_load_kick, work);
	if (!work)
		synchronize_rcu();
}

/**
 * irq_load_clock_is_good - Whether what is measured can be trusted
 *
 * Context: any.
 *
 * Return: true if sched_clock() is stable and fine-grained
 */
bool irq_load_clock_is_good(void)
{
	/* A coarse clock may tick once meanwhile, but not each time */
	for (unsigned int i = 0; i < 4; i++) {
		u64 start = local_clock();

		udelay(9);
		if (!sched_clock_stable() || local_clock() == start)
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
 * Return: 0 or -errno
 */
int irq_load_get(void)
{
	int ret = 0;

	guard(mutex)(&irq_load_mutex);

	if (!irq_load_users) {
		if (IS_ENABLED(CONFIG_IRQ_LOAD_NAPI))
			ret = irq_load_napi_start();
		if (ret)
			return ret;
		irq_load_softirq_start();
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
	if (IS_ENABLED(CONFIG_IRQ_LOAD_NAPI))
		irq_load_napi_stop();
}

/**
 * irq_load_take_max - The longest run of an interrupt's handlers since the last call
 * @irq:	interrupt number
 *
 * Context: any in which desc->lock of @irq is not held.
 *
 * Return: ns, as far as runs were timed; 0 for none, or if there is no such interrupt
 */
u32 irq_load_take_max(unsigned int irq)
{
	struct irq_desc *desc;

	guard(rcu)();
	desc = irq_to_desc(irq);
	if (!desc || !irq_load_line_of(desc))
		return 0;
	guard(raw_spinlock_irqsave)(&desc->lock);
	return xchg(&irq_load_line_of(desc)->hard.max, 0);
}
