// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time per interrupt: softirqs. handle_softirqs() counts down the runs of each on this CPU.
 * The one that reaches zero is timed and stands for those since the last one.
 *
 * A run of NET_RX is charged poll by poll, see load_napi.c for the interrupt of an instance. An
 * instance that has none, like the backlog, is charged to the interrupt whose poll scheduled it.
 *
 * Other softirqs are charged by claims. A timed handler, poll or run that raises a softirq
 * claims a run of it for each event that it stands for, and the next run is timed. That stands
 * for as many, or for fewer if there are fewer runs than claims: several interrupts may raise
 * one run. If there are more runs than claims, a part of the sampled ones is charged to no
 * interrupt, or to the one whose thread runs them.
 *
 * Timers, scheduler and RCU always are the base load of the CPU.
 */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/netdevice.h>

#include "internals.h"

/* Softirqs that are raised for interrupts; all others are work of the CPU itself */
#define IRQ_LOAD_RAISED		(BIT(HI_SOFTIRQ) | BIT(NET_TX_SOFTIRQ) | BIT(NET_RX_SOFTIRQ) | \
				 BIT(BLOCK_SOFTIRQ) | BIT(IRQ_POLL_SOFTIRQ) | BIT(TASKLET_SOFTIRQ))

/*
 * Half of the claims and runs of a softirq are forgotten in this time. In less there are too few
 * samples: each time that the claims fall short of the runs by chance counts as base load.
 */
#define IRQ_LOAD_HALF_NS	(4ULL * NSEC_PER_SEC)

/* Claims are in parts of a run */
#define IRQ_LOAD_RUN		1024

/* NAPI instances that are remembered for the poll that scheduled them */
#define IRQ_LOAD_CAUSED		4

/* The countdown if the next run is requested, and while a run is being timed */
#define IRQ_LOAD_REQUESTED	(INT_MIN / 2)
#define IRQ_LOAD_BUSY		(INT_MAX / 2)

/* A run of a softirq that is timed */
struct irq_load_run {
	struct irq_load_cause	cause;
	unsigned int		irq;		/* of the last NAPI poll in it, 0: none yet */
	u32			stands_for;	/* runs, 0: none but those that claimed it */
	bool			continued;	/* it polls what the run before it has left */
	u64			own;		/* time for @irq that is still to be charged */
	u64			other;		/* time for which no interrupt is known */
	u64			spent;		/* time of all kinds */
	/* Instances that polls in it have scheduled */
	struct irq_load_caused {
		const struct napi_struct	*napi;
		unsigned int			irq;
	} caused[IRQ_LOAD_CAUSED];
	unsigned int		nr_caused;
	unsigned int		nr_polled;	/* of these, by polls that have ended */
	u32			raised;		/* softirqs, by polls for no known interrupt */
	/* When what follows the last poll began */
	struct irq_load_span	span;
	u32			pending;
	unsigned long		irqs;
};

DEFINE_PER_CPU(int [NR_SOFTIRQS], irq_load_skip);
DEFINE_PER_CPU(struct irq_load_cause *, irq_load_cause);

static bool irq_load_has_polls(unsigned int nr)
{
	return IS_ENABLED(CONFIG_IRQ_LOAD_NAPI) && nr == NET_RX_SOFTIRQ;
}

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

/* Before one of them is counted: runs and claims are forgotten at the same pace */
static void irq_load_forget(struct irq_load_vector *v, u64 now)
{
	u64 halves = div_u64(irq_load_since(now, v->halved), IRQ_LOAD_HALF_NS);

	if (!halves)
		return;
	v->runs = halves < 64 ? v->runs >> halves : 0;
	v->claims = halves < 64 ? v->claims >> halves : 0;
	v->halved = now;
}

/*
 * Claim runs of a softirq for an interrupt. Not @sure if another interrupt may have
 * raised it: then those that have claims on it come first.
 */
static void irq_load_claim(unsigned int nr, unsigned int irq, u32 weight, bool sure)
{
	struct irq_load_vector *v = this_cpu_ptr(&irq_load_cpu.vector[nr]);
	struct irq_load_claim *claim = v->raiser;
	int skip;

	if (!irq || !weight)
		return;
	for (; claim->weight && claim->irq != irq; claim++) {
		/* More than that do not come before a run */
		if (!sure || claim == &v->raiser[IRQ_LOAD_RAISERS - 1])
			return;
	}
	irq_load_forget(v, local_clock_noinstr());
	/* If it comes again before the run there is still one */
	v->claims += weight - min(weight, claim->weight);
	claim->weight = max(weight, claim->weight);
	claim->irq = irq;

	/* With PREEMPT_RT a run may be timed now, whose countdown is none */
	skip = this_cpu_read(irq_load_skip[nr]);
	if (skip >= -1 && skip < IRQ_LOAD_BUSY / 2)
		v->rest = max(skip, 0);
	this_cpu_write(irq_load_skip[nr], IRQ_LOAD_REQUESTED);
}

static void irq_load_claim_all(u32 raised, unsigned int irq, u32 weight, bool sure)
{
	for (raised &= IRQ_LOAD_RAISED; raised; raised &= raised - 1)
		irq_load_claim(__ffs(raised), irq, weight, sure);
}

/* A part of @value: what claims leave of runs, or how many runs there are for a claim */
static u64 irq_load_part(u64 value, u64 part, u64 whole)
{
	return whole ? mul_u64_u64_div_u64(value, min(part, whole), whole) : 0;
}

/*
 * Charge a run, which took @time and has @raised others, to the interrupts that had claimed it
 * when it began. Several that share it have a part each.
 */
static void irq_load_charge_claims(struct irq_load_vector *v, const struct irq_load_claim *claims,
				   u64 time, u64 now, u32 raised, bool sure)
{
	u32 sum = 0, most = 0;
	int i;

	for (i = 0; i < IRQ_LOAD_RAISERS; i++) {
		sum += claims[i].weight;
		most = max(most, claims[i].weight);
	}
	v->claims -= min(v->claims, sum - most);

	for (i = 0; i < IRQ_LOAD_RAISERS && sum; i++) {
		u64 weight = claims[i].weight, one = weight * min(most, IRQ_LOAD_RUN);

		weight = irq_load_part(div_u64(weight * most, sum), v->runs, v->claims);
		irq_load_charge_soft(claims[i].irq, time * weight / IRQ_LOAD_RUN, now);
		/* Past claims make no softirq that raises itself again and again less than a run */
		irq_load_claim_all(raised, claims[i].irq, max(weight, div_u64(one, sum)), sure);
	}
}

/* A sample has claimed @events runs too many: fewer interrupts came than it stood for */
static void irq_load_unclaim(u32 raised, u32 events)
{
	for (raised &= IRQ_LOAD_RAISED; raised && events; raised &= raised - 1) {
		struct irq_load_vector *v = this_cpu_ptr(&irq_load_cpu.vector[__ffs(raised)]);

		/* Of the claims a part may be forgotten by now */
		v->claims -= min(v->claims - min(v->claims, v->runs), events * IRQ_LOAD_RUN);
	}
}

/* A handler has raised these */
void irq_load_raised(u32 raised, const struct irq_load_cause *cause)
{
	/* See irq_load_timed_schedule() */
	if (IS_ENABLED(CONFIG_IRQ_LOAD_NAPI))
		raised &= ~BIT(NET_RX_SOFTIRQ);
	irq_load_unclaim(raised, cause->missing);
	irq_load_claim_all(raised, cause->irq, cause->weight * IRQ_LOAD_RUN, true);
}

#ifdef CONFIG_IRQ_LOAD_NAPI
/* An instance is scheduled on this CPU, with interrupts disabled, while something is timed */
void irq_load_timed_schedule(struct napi_struct *napi)
{
	struct irq_load_cause *cause = this_cpu_read(irq_load_cause);
	struct irq_load_run *run = cause->run;

	/* Not for what interrupts or preempts it, nor for what a handler demultiplexes */
	if (cause->task ? in_hardirq() || cause->task != current :
			  cause->irqs != kstat_cpu_irqs_sum(smp_processor_id()))
		return;
	if (run) {
		run->caused[run->nr_caused++ % IRQ_LOAD_CAUSED] = (struct irq_load_caused) { napi };
	} else if (napi->dev && cause->irq) {
		WRITE_ONCE(napi->irq_seen, cause->irq);
	} else {
		irq_load_unclaim(BIT(NET_RX_SOFTIRQ), cause->missing);
		irq_load_claim(NET_RX_SOFTIRQ, cause->irq, cause->weight * IRQ_LOAD_RUN, true);
	}
}
#endif

static void irq_load_run_begin(struct irq_load_run *run)
{
	/* An interrupt between these may have raised one: then it is not sure */
	run->irqs = kstat_cpu_irqs_sum(smp_processor_id());
	barrier();
	run->pending = local_softirq_pending();
	irq_load_span_begin(&run->span);
}

static bool irq_load_run_is_sure(const struct irq_load_run *run)
{
	return run->irqs == kstat_cpu_irqs_sum(smp_processor_id());
}

/* Sampled ones do not stand for those on request: such a run stands for itself */
static u32 irq_load_run_weight(const struct irq_load_run *run)
{
	return max(run->stands_for, 1);
}

static void irq_load_flush(struct irq_load_run *run, u64 now)
{
	irq_load_charge_soft(run->irq, run->own * irq_load_run_weight(run), now);
	run->own = 0;
}

/*
 * A poll for @irq, 0: not known, ends; @again: it is to be polled again. Those in a row are
 * charged together.
 */
static void irq_load_run_end(struct irq_load_run *run, unsigned int irq, bool again, u64 now)
{
	u64 time = irq_load_span_end(&run->span, now);

	run->spent += time;
	if (!irq) {
		run->other += time;
		return;
	}
	/*
	 * Instances that the run before has left came in front of those that had scheduled them. In
	 * a flood of both, packets that another CPU steers here look the same.
	 */
	if (!run->irq && run->continued && again) {
		time += run->other;
		run->other = 0;
	}
	if (run->irq != irq)
		irq_load_flush(run, now);
	run->irq = irq;
	run->own += time;
}

#ifdef CONFIG_IRQ_LOAD_NAPI
/* net_rx_action() has polled an instance */
void irq_load_timed_poll(struct napi_struct *napi)
{
	u64 now = local_clock_noinstr();
	bool again = !list_empty(&napi->poll_list);
	struct irq_load_cause *cause;
	struct irq_load_run *run;
	unsigned int irq, i;
	u32 raised;

	if (!irq_load_napi_irq(napi) && again)
		irq_load_napi_guess(napi);
	/* With PREEMPT_RT it may be of a task that was preempted: that cannot end now */
	guard(irqsave)();
	cause = this_cpu_read(irq_load_cause);
	run = cause ? cause->run : NULL;
	if (!run || cause->task != current)
		return;

	irq = irq_load_napi_irq(napi);
	for (i = 0; i < IRQ_LOAD_CAUSED && !irq; i++) {
		if (run->caused[i].napi == napi) {
			irq = run->caused[i].irq;
			run->caused[i].napi = NULL;
		}
	}
	for (; run->nr_polled != run->nr_caused; run->nr_polled++)
		run->caused[run->nr_polled % IRQ_LOAD_CAUSED].irq = irq;
	irq_load_run_end(run, irq, again, now);
	raised = local_softirq_pending() & ~run->pending & ~BIT(NET_RX_SOFTIRQ);
	/* Another interrupt, which need not be timed, may have raised all but NET_TX */
	if (!irq_load_run_is_sure(run))
		raised &= BIT(NET_TX_SOFTIRQ);
	if (!irq)
		run->raised |= raised;
	irq_load_claim_all(raised, irq, irq_load_run_weight(run) * IRQ_LOAD_RUN, true);
	irq_load_run_begin(run);
}
#endif

static u64 irq_load_vector_aim(unsigned int nr)
{
	return irq_load_has_polls(nr) ? IRQ_LOAD_POLL_NS : IRQ_LOAD_BASE_NS;
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
		    irq_load_since(now, v->sampled) < 4 * irq_load_vector_aim(nr))
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
	struct irq_load_claim claims[IRQ_LOAD_RAISERS];
	bool claimed;
	u32 runs;
	int rest;
	u64 now;

	/* With PREEMPT_RT another run may come in between: that stands for some of these */
	scoped_guard(irqsave) {
		runs = kstat_softirqs_cpu(nr, smp_processor_id()) - v->runs_seen;
		v->runs_seen += runs;
	}
	if (this_cpu_read(irq_load_skip[nr]) >= -1)
		run.stands_for = v->sampler.stratum;
	/* With PREEMPT_RT others may run in the middle of it: not to be timed, too */
	this_cpu_write(irq_load_skip[nr], IRQ_LOAD_BUSY);
	claimed = v->raiser[0].weight;
	rest = v->rest;
	/* An interrupt may raise it again from now on */
	if (claimed) {
		guard(irqsave)();
		memcpy(claims, v->raiser, sizeof(claims));
		memset(v->raiser, 0, sizeof(claims));
	}
	if (irq_load_has_polls(nr)) {
		run.continued = napi_polls_left();
		this_cpu_write(irq_load_cause, &run.cause);
	}

	/* This function is cold: keep as much of it as possible out of the span */
	irq_load_run_begin(&run);
	action();
	now = local_clock_noinstr();

	/* No interrupt may raise it while claims are settled */
	guard(irqsave)();
	/* With PREEMPT_RT another run may have taken its place, with the last polls */
	if (this_cpu_cmpxchg(irq_load_cause, &run.cause, NULL) != &run.cause)
		irq_load_run_end(&run, 0, false, now);
	else
		irq_load_run_end(&run, run.irq, false, now);
	irq_load_flush(&run, now);
	c->soft_ns += run.spent;
	v->timed++;

	/* Of NET_RX those count that polled an instance without interrupt */
	if (irq_load_has_polls(nr))
		runs = run.other ? irq_load_run_weight(&run) : 0;
	irq_load_forget(v, now);
	v->runs += (u64)runs * IRQ_LOAD_RUN;
	if (claimed)
		irq_load_charge_claims(v, claims, run.other, now,
				       run.raised | (local_softirq_pending() & ~run.pending),
				       irq_load_run_is_sure(&run));

	/* Those that are not timed are like these, not like those timed on request */
	if (run.stands_for) {
		u64 left = v->runs - min(v->runs, v->claims);
		u64 since = irq_load_since(now, v->sampled);

		left = irq_load_part(run.other * run.stands_for, left, v->runs);
		irq_load_charge_soft(BIT(nr) & IRQ_LOAD_RAISED ? irq_load_raising_thread() : 0,
				     min(left, since), now);
		v->mean += ((s64)irq_load_usual(run.spent, v->mean, &v->last) - (s64)v->mean) / 8;
		irq_load_next_sample(&v->sampler, now, since,
				     irq_load_aim(irq_load_vector_aim(nr)));
		v->sampled = now;
		rest = v->sampler.gap - 1;
	}
	/* An interrupt may have come meanwhile and request the next run */
	if (this_cpu_read(irq_load_skip[nr]) > 0)
		this_cpu_write(irq_load_skip[nr], rest);
	else
		v->rest = rest;
	irq_load_restart_rare(c, now);
}

/* Before measuring begins: the time until then is not made up for */
void irq_load_softirq_start(void)
{
	unsigned int cpu, nr;

	for_each_possible_cpu(cpu) {
		struct irq_load_cpu *c = per_cpu_ptr(&irq_load_cpu, cpu);

		for (nr = 0; nr < NR_SOFTIRQS; nr++) {
			c->vector[nr].runs_seen = kstat_softirqs_cpu(nr, cpu);
			irq_load_restart(&c->vector[nr].sampler);
			per_cpu(irq_load_skip[nr], cpu) = 0;
		}
	}
}
