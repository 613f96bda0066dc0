// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time per interrupt: softirqs
 *
 * handle_softirqs() counts down the runs of each softirq on this CPU. The run that reaches zero is
 * timed and stands for those since the last one.
 *
 * A run of NET_RX is charged poll by poll, to the interrupt of the instance, see load_napi.c.
 *
 * Other softirqs, and polls for which no interrupt is known, are charged by claims. A timed
 * handler, poll or run that raises a softirq claims a run of it for each event that it stands for.
 * The next run is timed, and charged to the interrupt as often. One that was pending already is
 * left to what has raised it first.
 *
 * Samples tell what all runs take, claims how much of that is for interrupts. The rest is
 * the base load of the CPU, or is charged to the interrupt whose thread runs the softirq.
 * Timers, scheduler and RCU always are base load.
 *
 * Data: &irq_load_cpu.vector and the countdown, of this CPU, with interrupts disabled. A line is
 * charged without a lock, as its softirqs may run anywhere. Callers: handle_softirqs(),
 * net/core/dev.c, and load_hard.c for what a handler has raised.
 */
#include <linux/irq.h>
#include <linux/netdevice.h>

#include "../../net/core/dev.h"
#include "internals.h"
#include "load_span.h"

/* Softirqs that are raised for interrupts; all others are work of the CPU itself */
#define IRQ_LOAD_RAISED		(BIT(HI_SOFTIRQ) | BIT(NET_TX_SOFTIRQ) | BIT(NET_RX_SOFTIRQ) | \
				 BIT(BLOCK_SOFTIRQ) | BIT(IRQ_POLL_SOFTIRQ) | BIT(TASKLET_SOFTIRQ))

/* Claims may ask for so many of the largest more than all runs took */
#define IRQ_LOAD_SLACK		16

/* Taken off the countdown if the next run is requested; the countdown while a run is timed */
#define IRQ_LOAD_REQUEST	(INT_MAX / 2)
#define IRQ_LOAD_BUSY		(INT_MAX / 4)

/* A run of a softirq that is timed. The interrupt of its cause is that of the present poll. */
struct irq_load_run {
	struct irq_load_cause	cause;
	struct irq_load_span	span;		/* since it began, or the last poll */
	struct napi_struct	*napi;		/* that it polls, NULL: none yet */
	unsigned int		claimant;	/* interrupt that had claimed it, 0: none */
	u32			pending;	/* softirqs when the span began */
	u32			raised;		/* softirqs, for no known interrupt */
	u64			own;		/* time for the interrupt, still to be charged */
	u64			other;		/* time for which no interrupt is known */
	u64			spent;		/* time of all kinds */
};

DEFINE_PER_CPU(int [NR_SOFTIRQS], irq_load_skip);
DEFINE_PER_CPU(struct irq_load_cause *, irq_load_cause);

/* Charge an interrupt, or the CPU if there is none */
static void irq_load_charge_soft(unsigned int irq, u64 time, u64 now)
{
	struct irq_load_line *line;
	u64 since;
	u32 carry;

	if (!time)
		return;

	guard(rcu)();
	line = irq_load_get_line(irq);
	if (!line) {
		atomic64_add(irq_load_scale(time, irq_load_freq()),
			     &this_cpu_ptr(&irq_load_cpu)->base);
		return;
	}
	/* May race with another CPU to which the softirq's work has moved: harmless */
	carry = READ_ONCE(line->soft_carry);
	since = irq_load_since(now, READ_ONCE(line->soft_stamp));
	time = irq_load_scale(irq_load_extrapolate(&carry, time, since), irq_load_freq());
	WRITE_ONCE(line->soft_carry, carry);
	WRITE_ONCE(line->soft_stamp, now);
	WRITE_ONCE(line->soft_last, time);
	WRITE_ONCE(line->soft_rate, min(div64_u64(time << 10, since + 1), 1024));

	atomic64_add(time, &line->soft);
	irq_load_charged(line, now);
}

/* Claim the next run of each softirq in @raised, unless another interrupt has */
void irq_load_claim(u32 raised, unsigned int irq, u32 weight)
{
	lockdep_assert_irqs_disabled();

	for (raised &= IRQ_LOAD_RAISED; raised && irq && weight; raised &= raised - 1) {
		unsigned int nr = __ffs(raised);
		struct irq_load_claim *claim = this_cpu_ptr(&irq_load_cpu.vector[nr].claim);

		if (claim->weight)
			continue;
		*claim = (struct irq_load_claim) { irq, weight };
		this_cpu_sub(irq_load_skip[nr], IRQ_LOAD_REQUEST);
	}
}

/*
 * Charge a run to the interrupt that had claimed it. If claims have asked for more than all runs
 * took, as for interrupts of a sample that did not come, they get less. Softirqs that the run has
 * raised are claimed for the same interrupt: one that raises itself again and again, for one run.
 */
static void irq_load_charge_claim(struct irq_load_vector *v, const struct irq_load_claim *claim,
				  const struct irq_load_run *run, u64 now)
{
	s64 asked = run->other * claim->weight, given;
	u32 weight = claim->weight;

	v->most = max((u64)asked, v->most - v->most / 64);
	given = clamp(v->unclaimed + (s64)(IRQ_LOAD_SLACK * v->most), 0, asked);
	v->unclaimed -= given;
	irq_load_charge_soft(claim->irq, given, now);
	if (given < asked)
		weight = max(div64_u64(given, run->other), 1);
	irq_load_claim(run->raised, claim->irq, weight);
}

/* Interrupts of this CPU so far, but for one, 0: for none */
static unsigned long irq_load_others(unsigned int irq)
{
	unsigned int cpu = smp_processor_id();

	guard(rcu)();
	return kstat_cpu_irqs_sum(cpu) - (irq ? kstat_irqs_cpu(irq, cpu) : 0);
}

static void irq_load_run_begin(struct irq_load_run *run)
{
	/* Another interrupt between these may have raised one: then it is not sure */
	run->cause.irqs = irq_load_others(run->claimant);
	barrier();
	run->pending = local_softirq_pending();
	irq_load_span_begin(&run->span);
}

static void irq_load_flush(struct irq_load_run *run, u64 now)
{
	irq_load_charge_soft(run->cause.irq, run->own * run->cause.weight, now);
	run->own = 0;
}

/* A poll ends, or a run without polls */
static void irq_load_run_end(struct irq_load_run *run, u64 now)
{
	u64 time = irq_load_span_end(&run->span, now);
	u32 raised = local_softirq_pending() & ~run->pending;

	/* If the instance is to be polled again that is for the same interrupt */
	if (run->napi && READ_ONCE(run->napi->irq_seen) < 0 && list_empty(&run->napi->poll_list))
		WRITE_ONCE(run->napi->irq_seen, 0);
	run->spent += time;
	/* Another interrupt, which need not be timed, may have raised all but NET_TX */
	if (run->cause.irqs != irq_load_others(run->claimant))
		raised &= BIT(NET_TX_SOFTIRQ);
	if (!run->cause.irq) {
		run->other += time;
		run->raised |= raised;
		return;
	}
	run->own += time;
	irq_load_claim(raised & ~BIT(NET_RX_SOFTIRQ), run->cause.irq, run->cause.weight);
}

/**
 * irq_load_timed_schedule - A NAPI instance is scheduled while something is timed
 * @napi:	the instance, owned by the caller
 *
 * Context: interrupts disabled
 */
void irq_load_timed_schedule(struct napi_struct *napi)
{
	struct irq_load_cause *cause = this_cpu_read(irq_load_cause);

	/* Not for what interrupts or preempts it, nor for what a handler demultiplexes */
	if (cause->task ? in_hardirq() || cause->task != current :
			  cause->irqs != kstat_cpu_irqs_sum(smp_processor_id()))
		return;
	/* That of a thread raises no softirq */
	if (!cause->run && !(napi->dev && cause->irq && irq_load_learn(napi, cause->irq)) &&
	    !test_bit(NAPI_STATE_THREADED, &napi->state))
		irq_load_claim(BIT(NET_RX_SOFTIRQ), cause->irq, cause->weight);
	if (cause->run && READ_ONCE(napi->irq_seen) != IRQ_LOAD_SHARED && !irq_load_napi_irq(napi))
		WRITE_ONCE(napi->irq_seen, -(int)cause->irq);
}

/**
 * irq_load_timed_poll - net_rx_action() is going to poll an instance while something is timed
 * @napi:	the instance, owned by the caller
 *
 * The time since the poll before is charged with that. Polls in a row for one interrupt
 * are charged together.
 *
 * Context: softirq, interrupts enabled
 */
void irq_load_timed_poll(struct napi_struct *napi)
{
	u64 now = local_clock_noinstr();
	struct irq_load_cause *cause;
	struct irq_load_run *run;
	unsigned int irq;

	/* With PREEMPT_RT it may be of a task that was preempted: that cannot end now */
	guard(irqsave)();
	cause = this_cpu_read(irq_load_cause);
	run = cause ? cause->run : NULL;
	if (!run || cause->task != current)
		return;

	/* The time before the first poll belongs to that */
	if (run->napi)
		irq_load_run_end(run, now);
	irq = irq_load_napi_irq(napi) ?: max(-READ_ONCE(napi->irq_seen), 0);
	if (irq != cause->irq)
		irq_load_flush(run, now);
	cause->irq = irq;
	if (run->napi)
		irq_load_run_begin(run);
	run->napi = napi;
}

/*
 * Softirqs of this CPU that have become rare: the next run of each is timed, for those that came
 * since the last sample. It could be the thousandth otherwise, of runs that got much longer.
 */
static void irq_load_restart_rare(struct irq_load_cpu *c, u64 now)
{
	for (unsigned int nr = 0; nr < NR_SOFTIRQS; nr++) {
		struct irq_load_vector *v = &c->vector[nr];
		int skip = this_cpu_read(irq_load_skip[nr]);
		int runs;

		/* It will be timed, or is being timed */
		if (skip <= 0 || skip >= IRQ_LOAD_BUSY / 2 ||
		    irq_load_since(now, v->sampled) < 4 * IRQ_LOAD_BASE_NS)
			continue;
		runs = irq_load_unsampled(&v->sampler, skip);
		irq_load_restart(&v->sampler);
		v->sampler.stratum = rounddown_pow_of_two(max(runs, 0) + 1);
		this_cpu_write(irq_load_skip[nr], 0);
	}
}

/*
 * The interrupt whose thread runs softirqs that it has raised, 0: none. Those that run at the end
 * of another interrupt are not the thread's: local_bh_enable() runs them with preemption disabled.
 * Where the thread had disabled preemption itself, but not BH, they look the same.
 */
static unsigned int irq_load_raising_thread(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT) && !(preempt_count() & PREEMPT_MASK))
		return 0;
	return irq_thread_irq();
}

/**
 * irq_load_timed_softirq - Run a softirq, and charge its time
 * @nr:		its number
 * @action:	its action
 *
 * Context: softirq, interrupts enabled
 */
void irq_load_timed_softirq(unsigned int nr, void (*action)(void))
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);
	struct irq_load_vector *v = &c->vector[nr];
	struct irq_load_run run = { .cause.task = current, .cause.run = &run };
	struct irq_load_claim claim;
	bool sampled;
	int rest;
	u64 now;

	/*
	 * An interrupt may raise it again from now on. With PREEMPT_RT others may run in the middle
	 * of it: they are not to be timed, too.
	 */
	scoped_guard(irqsave) {
		claim = v->claim;
		v->claim.weight = 0;
		rest = this_cpu_read(irq_load_skip[nr]);
		this_cpu_write(irq_load_skip[nr], IRQ_LOAD_BUSY);
	}
	sampled = rest >= -1;
	/* Samples do not stand for runs on request: each of those stands for itself */
	run.claimant = claim.weight ? claim.irq : 0;
	run.cause.weight = sampled ? v->sampler.stratum : 1;
	if (nr == NET_RX_SOFTIRQ)
		this_cpu_write(irq_load_cause, &run.cause);

	/* This function is cold: keep as much of it as possible out of the span */
	scoped_guard(irqsave)
		irq_load_run_begin(&run);
	action();
	now = local_clock_noinstr();

	/* No interrupt may raise it while claims are settled */
	guard(irqsave)();
	/* With PREEMPT_RT another run may have taken its place, with the last polls */
	if (this_cpu_cmpxchg(irq_load_cause, &run.cause, NULL) != &run.cause) {
		irq_load_flush(&run, now);
		run.cause.irq = 0;
	}
	irq_load_run_end(&run, now);
	irq_load_flush(&run, now);
	c->soft_ns += run.spent;
	v->timed++;

	v->unclaimed += min(run.other * run.cause.weight, irq_load_since(now, v->sampled));
	if (claim.weight)
		irq_load_charge_claim(v, &claim, &run, now);
	/* Runs that are not timed are like these, not like those timed on request */
	if (sampled) {
		irq_load_charge_soft(BIT(nr) & IRQ_LOAD_RAISED ? irq_load_raising_thread() : 0,
				     max(v->unclaimed, 0), now);
		v->unclaimed = min(v->unclaimed, 0);
		v->mean += ((s64)irq_load_usual(run.spent, v->mean, &v->last) - (s64)v->mean) / 8;
		irq_load_next_sample(&v->sampler, now, irq_load_since(now, v->sampled),
				     irq_load_aim(nr == NET_RX_SOFTIRQ ? IRQ_LOAD_POLL_NS :
									 IRQ_LOAD_BASE_NS));
		v->sampled = now;
		rest = v->sampler.gap - 1;
	} else {
		rest += IRQ_LOAD_REQUEST + 1;
	}
	/*
	 * An interrupt may have come meanwhile and request the next run. With PREEMPT_RT another
	 * run may have the countdown.
	 */
	if (rest < IRQ_LOAD_BUSY / 2)
		this_cpu_write(irq_load_skip[nr], v->claim.weight ? rest - IRQ_LOAD_REQUEST : rest);
	irq_load_restart_rare(c, now);
}
