// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-load
 *
 * Two clock readings around each handler would be felt at a hundred thousand interrupts
 * per second, and at a thousand on a small board. So only samples are timed, 20 to 30 per
 * second and interrupt at any rate, and each stands for the events since the one before::
 *
 *   handlers	handle_irq_event() counts down beside desc->lock; the interrupt that
 *		reaches zero is handled by irq_load_timed_event() (load.c)
 *   threads	the same around the handler of an interrupt thread (load.c)
 *   softirqs	handle_softirqs() counts down the runs of each on this CPU
 *		(load_softirq.c)
 *   NAPI	in a run of NET_RX that is timed each poll is (load_softirq.c), and is
 *		charged to the interrupt of its instance (load_napi.c)
 *
 * Work belongs to what caused it. If an interrupt, or a poll for it, raises a softirq or
 * schedules another NAPI instance, that is charged to the interrupt, too. Its CPU
 * is charged for all others: timers, RCU, the scheduler, packets that another CPU steers here.
 *
 * Each ns is charged once: the time of a softirq or a thread does not contain what
 * interrupted it. Interruptions that were not timed count with this CPU's recent mean. If a
 * thread slept, its run time is taken instead, which contains all of it if IRQ time accounting
 * is off, and no softirqs if it is on. Time that the hypervisor took is not charged, except to a
 * thread that slept without CONFIG_PARAVIRT_TIME_ACCOUNTING. Like PELT's, loads are scaled to the
 * highest frequency of the CPU.
 *
 * A shared interrupt is one load. A handler that demultiplexes other interrupts contains
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
#include <linux/topology.h>

#include <kunit/static_stub.h>

#include "internals.h"

/* The mean of a CPU's handlers covers the last one or two of these intervals */
#define IRQ_LOAD_MEAN_NS	(2ULL * NSEC_PER_SEC)

DEFINE_STATIC_KEY_FALSE(irq_load_key);
DEFINE_PER_CPU(struct irq_load_cpu, irq_load_cpu);

/* Queued when a load rises, see irq_load_set_kick() */
static struct irq_work *irq_load_kick;
static u32 irq_load_limit;

/* A span of nothing takes this long, ns */
static u64 irq_load_span_cost;

static DEFINE_MUTEX(irq_load_mutex);
static unsigned int irq_load_users;

/* The descriptor after @desc, NULL: the first one. Drops the reference on @desc, and takes one. */
struct irq_desc *irq_load_next_desc(struct irq_desc *desc)
{
	unsigned int irq = desc ? irq_desc_get_irq(desc) + 1 : 0;

	if (desc)
		irq_desc_put_ref(desc);
	guard(rcu)();
	while ((desc = irq_find_desc_at_or_after(irq))) {
		if (irq_desc_get_ref(desc))
			return desc;
		irq = irq_desc_get_irq(desc) + 1;
	}
	return NULL;
}

/* Before the descriptor is used: 0 or -errno */
int irq_load_alloc(struct irq_desc *desc, int node)
{
	desc->load = kzalloc_node(sizeof(*desc->load), GFP_KERNEL, node);
	if (!desc->load)
		return -ENOMEM;
	irq_load_restart(&desc->load->hard.sampler);
	irq_load_restart(&desc->load->thread.sampler);
	desc->load->seen.cpu = nr_cpu_ids;
	return 0;
}

/* Under RCU. NULL if there is no such interrupt */
struct irq_load_line *irq_load_get_line(unsigned int irq)
{
	struct irq_desc *desc = irq ? irq_to_desc(irq) : NULL;

	return desc ? desc->load : NULL;
}

/*
 * A line was charged, on this CPU. Wake the user if its load has risen. A window closes when a
 * quantum has been charged in it. A race with another CPU wakes it for nothing, or a window late.
 */
void irq_load_charged(struct irq_load_line *line, u64 now)
{
	struct irq_work *work = READ_ONCE(irq_load_kick);
	u64 total = READ_ONCE(line->hard.time) + atomic64_read(&line->soft) +
		    READ_ONCE(line->thread.time);
	s64 charged = total - READ_ONCE(line->window_total);

	WRITE_ONCE(line->seen.cpu, smp_processor_id());
	WRITE_ONCE(line->seen.charges, READ_ONCE(line->seen.charges) + 1);

	/* Negative if a race has left a lower total. By far if it had read halves: begin anew. */
	if (!work || (charged < IRQ_LOAD_QUANTUM && charged > -(s64)NSEC_PER_SEC))
		return;

	if (charged > 0 &&
	    irq_load_rises(charged, irq_load_since(now, READ_ONCE(line->window_start)),
			   READ_ONCE(irq_load_limit)))
		irq_work_queue(work);

	WRITE_ONCE(line->window_start, now);
	WRITE_ONCE(line->window_total, total);
}

/* How far apart samples are to be: tests time everything */
u64 irq_load_aim(u64 aim)
{
	KUNIT_STATIC_STUB_REDIRECT(irq_load_aim, aim);
	return aim;
}

/* Time (ns) that the hypervisor has taken from this CPU */
u64 irq_load_steal_clock(void)
{
	KUNIT_STATIC_STUB_REDIRECT(irq_load_steal_clock);
#ifdef CONFIG_PARAVIRT
	if (static_key_false(&paravirt_steal_enabled))
		return paravirt_steal_clock(smp_processor_id());
#endif
	return 0;
}

/* The frequency of this CPU: 1024 is the highest */
u32 irq_load_freq(void)
{
	KUNIT_STATIC_STUB_REDIRECT(irq_load_freq);
#ifdef arch_scale_freq_capacity
	return arch_scale_freq_capacity(smp_processor_id());
#else
	return SCHED_CAPACITY_SCALE;
#endif
}

static u32 irq_load_untimed_runs(unsigned int nr)
{
	return kstat_softirqs_cpu(nr, smp_processor_id()) -
	       this_cpu_read(irq_load_cpu.vector[nr].timed);
}

/* Start to time a piece of work, with migration disabled. A preemption in here is its own. */
void irq_load_span_begin(struct irq_load_span *span)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);

	span->switches = current->nvcsw + current->nivcsw;
	span->irqs = kstat_cpu_irqs_sum(smp_processor_id()) - c->timed;
	span->timed_ns = c->timed_ns;
	span->soft_ns = c->soft_ns;
	for (unsigned int nr = 0; nr < NR_SOFTIRQS && !in_serving_softirq(); nr++)
		span->softirqs[nr] = irq_load_untimed_runs(nr);
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || !in_serving_softirq())
		span->runtime = task_sched_runtime(current);
	span->steal = irq_load_steal_clock();
	span->start = local_clock_noinstr();
}

/* Stop to time it, perhaps on another CPU; the time without what interrupted it */
u64 irq_load_span_end(const struct irq_load_span *span, u64 now)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);
	s64 wall = irq_load_since(now, span->start), spent = wall, more;
	u64 nr = c->mean_nr;

	/*
	 * Others ran in it: the scheduler knows what was left. With IRQ_TIME_ACCOUNTING and
	 * PREEMPT_RT it leaves out softirqs in tasks other than ksoftirqd: their charge is too low.
	 */
	if (current->nvcsw + current->nivcsw != span->switches)
		return min_t(u64, wall, irq_load_since(task_sched_runtime(current), span->runtime));

	spent -= irq_load_since(irq_load_steal_clock(), span->steal) + irq_load_span_cost;
	spent -= c->timed_ns - span->timed_ns;
	spent -= c->soft_ns - span->soft_ns;
	/* Of those that were not timed the mean of their kind */
	for (unsigned int nr = 0; nr < NR_SOFTIRQS && !in_serving_softirq(); nr++)
		spent -= (irq_load_untimed_runs(nr) - span->softirqs[nr]) * c->vector[nr].mean;
	/* The count has nested ones, too, and on some architectures timers and IPIs */
	more = (long)(kstat_cpu_irqs_sum(smp_processor_id()) - c->timed - span->irqs);
	if (more > 0 && nr)
		spent -= div64_u64(more * c->mean_ns, nr);
	return clamp(spent, 0, wall);
}

/* Account for a timed handler on this CPU; @nested: @timed_ns before it ran */
static void irq_load_account_cpu(struct irq_load_cpu *c, u64 nested, u32 stands_for, u64 now,
				 u64 delta)
{
	s64 own = delta - (c->timed_ns - nested), mean;

	own = max(own, 0);
	c->timed++;
	c->timed_ns += own;

	if (now - c->mean_stamp > IRQ_LOAD_MEAN_NS) {
		c->mean_nr = (c->mean_nr + 1) / 2;
		c->mean_ns /= 2;
		c->mean_stamp = now;
	}
	/* The mean is for those that are not timed */
	mean = c->mean_nr ? div64_u64(c->mean_ns, c->mean_nr) : own;
	c->mean_ns += irq_load_usual(own, mean, &c->last_ns) * (stands_for - 1);
	c->mean_nr += stands_for - 1;
}

/* Handle an interrupt, and charge its time: a sample is due */
irqreturn_t irq_load_timed_event(struct irq_desc *desc)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);
	struct irq_load_line *line = desc->load;
	struct irq_load_cause *outer = this_cpu_read(irq_load_cause), cause = {
		/* The tick's is the CPU's own work */
		.irq = desc->action->flags & __IRQF_TIMER ? 0 : irq_desc_get_irq(desc),
		.weight = line->hard.sampler.stratum,
		.missing = line->hard.sampler.missing,
		.irqs = kstat_cpu_irqs_sum(smp_processor_id()),
	};
	u64 nested, start, now, since, steal;
	irqreturn_t ret;
	u32 pending;

	lockdep_assert_held(&desc->lock);

	/* It is timed, and not due again */
	desc->load_skip = INT_MAX / 2;
	/* Which softirqs does the handler raise? Others may have raised the same. */
	pending = local_softirq_pending();
	set_softirq_pending(0);
	nested = c->timed_ns;
	this_cpu_write(irq_load_cause, &cause);
	steal = irq_load_steal_clock();
	start = local_clock_noinstr();

	ret = handle_irq_event(desc);

	this_cpu_write(irq_load_cause, outer);
	now = local_clock();
	start += irq_load_steal_clock() - steal + irq_load_span_cost;
	/* Work that the handler of another interrupt raised in it does not belong to this one */
	if (likely(cause.irqs == kstat_cpu_irqs_sum(smp_processor_id())))
		irq_load_raised(local_softirq_pending(), &cause);
	or_softirq_pending(pending);

	since = irq_load_since(now, line->hard.stamp);
	if (likely(!(desc->istate & IRQS_POLL_INPROGRESS))) {
		irq_load_account_cpu(c, nested, line->hard.sampler.stratum, now,
				     irq_load_since(now, start));
		irq_load_take_sample(&line->hard, now, now - start, irq_load_freq());
		irq_load_charged(line, now);
	}
	irq_load_next_sample(&line->hard.sampler, now, since, irq_load_aim(IRQ_LOAD_SAMPLE_NS));
	desc->load_skip = line->hard.sampler.gap - 1;
	return ret;
}

/* Run the handler of an interrupt thread, and charge its time if a sample is due */
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

/* Time of a series; if it has become rare the next is timed: it must not stand for hundreds */
static u64 irq_load_peek_series(struct irq_load_series *h, int *skip, u64 now)
{
	int left = READ_ONCE(*skip);
	u64 time = h->time + irq_load_unsampled_time(h, left, now);

	if (left < INT_MAX / 4 && irq_load_since(now, h->stamp) >= IRQ_LOAD_RARE_NS) {
		WRITE_ONCE(h->time, time);
		h->sampler.missing += -min(irq_load_unsampled(&h->sampler, left), 0);
		irq_load_restart(&h->sampler);
		WRITE_ONCE(*skip, 0);
	}
	return time;
}

/* Read the load of an interrupt: its CPU is nr_cpu_ids if nothing was ever charged */
void irq_load_peek(struct irq_desc *desc, struct irq_load *load)
{
	struct irq_load_line *line = desc->load;
	u64 now = local_clock(), soft;

	lockdep_assert_held(&desc->lock);

	/* Softirqs go on as they did at last, until the next sample is due */
	soft = min(irq_load_since(now, READ_ONCE(line->soft_stamp)), NSEC_PER_SEC);
	soft = atomic64_read(&line->soft) +
	       min(soft * READ_ONCE(line->soft_rate) >> 10, READ_ONCE(line->soft_last));

	/* The next samples may find that this was too much */
	irq_load_advance(&line->seen.time_ns,
			 irq_load_peek_series(&line->hard, &desc->load_skip, now));
	irq_load_advance(&line->seen.thread_ns,
			 irq_load_peek_series(&line->thread, &line->thread_skip, now));
	irq_load_advance(&line->seen.soft_ns, soft);
	/* A softirq on another CPU may be charged meanwhile */
	*load = data_race(line->seen);
}

/* Whether NAPI of an interrupt was polled lately by a thread or a busy poller: not measured */
bool irq_load_is_polled(struct irq_desc *desc)
{
	return irq_load_polled(desc->load, jiffies) > IRQ_LOAD_POLLED / 2;
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

static void irq_load_calibrate(void)
{
	struct irq_load_span span;
	u64 least = NSEC_PER_USEC;

	for (unsigned int i = 0; i < 16; i++) {
		guard(irqsave)();
		irq_load_span_begin(&span);
		least = min(least, local_clock_noinstr() - span.start);
	}
	irq_load_span_cost = least;
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
 */
void irq_load_get(void)
{
	guard(mutex)(&irq_load_mutex);

	if (!irq_load_users) {
		irq_load_calibrate();
		irq_load_softirq_start();
		static_branch_enable(&irq_load_key);
	}
	irq_load_users++;
}

/**
 * irq_load_put - The opposite of irq_load_get()
 *
 * Context: process context, may sleep, patches kernel text for the last user.
 */
void irq_load_put(void)
{
	guard(mutex)(&irq_load_mutex);

	if (!--irq_load_users)
		static_branch_disable(&irq_load_key);
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
	if (!desc)
		return 0;
	guard(raw_spinlock_irqsave)(&desc->lock);
	/* If it has become rare the next one is timed */
	irq_load_peek_series(&desc->load->hard, &desc->load_skip, local_clock());
	return xchg(&desc->load->hard.max, 0);
}
