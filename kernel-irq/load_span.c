// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time per interrupt: the time of a piece of work, without what interrupted it
 *
 * A span begins and ends with a reading of the clock. Its time does not contain the interrupts and
 * softirqs that came in between: those that were timed count with their time, others with the
 * recent mean of their kind on this CPU. It does not contain what the hypervisor took, and the
 * reading of the clock itself.
 *
 * Data: &irq_load_cpu. Callers: load_softirq.c and load_hard.c, with migration disabled or from one
 * CPU to another if the task may sleep.
 */
#include <linux/irq.h>
#include <linux/sched/cputime.h>
#include <linux/topology.h>

#include <kunit/static_stub.h>

#include "internals.h"
#include "load_span.h"

DEFINE_PER_CPU(struct irq_load_cpu, irq_load_cpu);

/* A span of nothing takes this long, ns: written before measuring begins */
u64 irq_load_span_cost __read_mostly;

/**
 * irq_load_base - The base load of a CPU
 * @cpu:	its number
 *
 * Context: any
 *
 * Return: softirq time so far that belongs to no interrupt, ns
 */
u64 irq_load_base(unsigned int cpu)
{
	return atomic64_read(&per_cpu(irq_load_cpu, cpu).base);
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

/*
 * A handler that was timed on this CPU took @delta, with those that interrupted it: @nested is
 * &irq_load_cpu.timed_ns before it ran. The mean is for those that are not timed, of about 64
 * samples.
 */
void irq_load_account_cpu(struct irq_load_cpu *c, u64 nested, u32 stands_for, u64 delta)
{
	s64 own = delta - (c->timed_ns - nested), mean;

	own = max(own, 0);
	c->timed++;
	c->timed_ns += own;

	mean = c->mean_nr ? div64_u64(c->mean_ns, c->mean_nr) : own;
	own = irq_load_usual(own, mean, &c->last_ns);
	if (--stands_for) {
		c->mean_ns += own * stands_for - c->mean_ns / 64;
		c->mean_nr += stands_for - c->mean_nr / 64;
	}
}

/* The time of a span of nothing: the least of 16 */
void irq_load_calibrate(void)
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
