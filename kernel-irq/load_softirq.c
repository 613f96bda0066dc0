// SPDX-License-Identifier: GPL-2.0
/*
 * CPU time per interrupt: softirqs. A wrapper around each action counts down the runs on
 * this CPU and times the one that reaches zero, which stands for all since the last one.
 *
 * A run that a timed handler raised is timed as well. It is charged once for each
 * interrupt that the handler stands for, as far as there were so many runs: several
 * interrupts may raise one run. NAPI is charged poll by poll instead, see
 * load_napi.c. Runs that no interrupt raised, and timers, scheduler and RCU always,
 * are the base load of the CPU.
 *
 * With forced threads a softirq runs in the thread that raised it and is part of
 * that thread's time. Only what is left to ksoftirqd and others is charged here then.
 */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/netdevice.h>

#include "internals.h"

/* Softirqs that are raised for interrupts; all others are work of the CPU itself */
#define IRQ_LOAD_RAISED		(BIT(HI_SOFTIRQ) | BIT(NET_TX_SOFTIRQ) | BIT(NET_RX_SOFTIRQ) | \
				 BIT(BLOCK_SOFTIRQ) | BIT(IRQ_POLL_SOFTIRQ) | BIT(TASKLET_SOFTIRQ))

/* Samples of softirqs that are timed when an interrupt raises them need not be close */
#define IRQ_LOAD_BASE_NS	(8 * IRQ_LOAD_SAMPLE_NS)

/* At each sample, a sixteenth of the waiting runs and claims expires */
#define IRQ_LOAD_UNCLAIMED	16

/* The countdown if the next run is requested, and while a run is being timed */
#define IRQ_LOAD_REQUESTED	(INT_MIN / 2)
#define IRQ_LOAD_BUSY		(INT_MAX / 2)

static void (*irq_load_actions[NR_SOFTIRQS])(void);
static void (*irq_load_polls_left)(struct list_head *list);

static bool irq_load_has_polls(unsigned int nr)
{
	return IS_ENABLED(CONFIG_IRQ_LOAD_NAPI) && nr == NET_RX_SOFTIRQ;
}

/* NAPI instances that are to be polled by this CPU */
static __always_inline struct list_head *irq_load_polls(void)
{
	return &this_cpu_ptr(&softnet_data)->poll_list;
}

/* Charge an interrupt, or the CPU if there is none or it was never measured */
static void irq_load_charge_soft(unsigned int irq, u64 time, u64 since, u64 now)
{
	struct irq_load_line *line;
	u32 carry;

	guard(rcu)();
	line = irq ? irq_load_get_line(irq) : NULL;
	if (!line) {
		atomic64_add(min(time, since), &this_cpu_ptr(&irq_load_cpu)->base);
		return;
	}
	/* May race with another CPU to which the softirq's work has moved: harmless */
	carry = READ_ONCE(line->soft_carry);
	since = irq_load_since(now, READ_ONCE(line->soft_stamp));
	time = irq_load_extrapolate(&carry, time, since);
	WRITE_ONCE(line->soft_carry, carry);
	WRITE_ONCE(line->soft_stamp, now);

	atomic64_add(time, &line->soft);
	irq_load_check_rise(line, now);
}

/* Charge a NAPI poll for @irq, 0 for none, that ended @now. Those in a row are charged together. */
void irq_load_charge_run(struct irq_load_run *run, unsigned int irq, u64 now)
{
	u64 time = max(irq_load_span_end(&run->span, now), 0);

	if (run->irq != irq && run->time) {
		irq_load_charge_soft(run->irq, run->time * run->vector->sampler.stratum,
				     now - run->vector->stamp, now);
		run->charged += run->time;
		run->time = 0;
	}
	run->irq = irq;
	run->time += time;
}

/* Softirq time of a CPU that belongs to no interrupt, cumulative, ns */
u64 irq_load_base(unsigned int cpu)
{
	return atomic64_read(&per_cpu_ptr(&irq_load_cpu, cpu)->base);
}

static u32 irq_load_untimed_runs(unsigned int nr)
{
	return kstat_softirqs_cpu(nr, smp_processor_id()) -
	       this_cpu_read(irq_load_cpu.vector[nr].timed);
}

/* With forced threads the softirqs in a thread are its own, but for polls that are not */
void irq_load_softirqs_begin(struct irq_load_span *span)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);

	span->soft_ns = force_irqthreads() ? c->foreign_ns : c->soft_ns;
	for (unsigned int nr = 0; nr < NR_SOFTIRQS && !force_irqthreads(); nr++)
		span->softirqs[nr] = irq_load_untimed_runs(nr);
}

/* Time of softirqs on this CPU since then, of those that were not timed the mean of their kind */
u64 irq_load_softirqs_end(const struct irq_load_span *span)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);
	u64 time = c->soft_ns - span->soft_ns;

	if (force_irqthreads())
		return c->foreign_ns - span->soft_ns;

	for (unsigned int nr = 0; nr < NR_SOFTIRQS; nr++)
		time += (irq_load_untimed_runs(nr) - span->softirqs[nr]) * c->vector[nr].mean;
	return time;
}

/*
 * Charge a timed run, which took @time and stands for @runs, to the interrupts that
 * raise the softirq. @claims is what they claimed before the run began. A timed
 * handler stands for some that come later: these claims wait for their runs. Runs that
 * no interrupt has claimed wait, too, for its next sample. A part of both expires each
 * time, and the expired runs are charged to the CPU.
 */
static void irq_load_charge_raisers(struct irq_load_vector *v, u32 claims[IRQ_LOAD_RAISERS],
				    u32 runs, u64 time, u64 since, u64 now)
{
	u32 claimed = 0, paid, settled, waits;
	int i;

	for (i = 0; i < IRQ_LOAD_RAISERS; i++) {
		/* With PREEMPT_RT a run in the middle of this one may have settled some */
		claims[i] = min(claims[i], v->raiser[i].weight);
		claimed += claims[i];
	}
	v->runs += runs;
	paid = min(claimed, v->runs);

	for (i = 0; i < IRQ_LOAD_RAISERS; i++) {
		if (!claims[i])
			continue;
		/* Several that share one run have a part of its time each */
		irq_load_charge_soft(v->raiser[i].irq,
				     div_u64(time * paid * claims[i], claimed), since, now);
		settled = DIV_ROUND_UP_ULL((u64)paid * claims[i], claimed);
		waits = claims[i] - settled;
		/* Handlers that came meanwhile have added to it */
		v->raiser[i].weight -= settled + DIV_ROUND_UP(waits, IRQ_LOAD_UNCLAIMED);
	}
	v->runs -= paid;

	waits = DIV_ROUND_UP(v->runs, IRQ_LOAD_UNCLAIMED);
	v->runs -= waits;
	irq_load_charge_soft(0, time * waits, since, now);
}

/* The last NAPI instance in this CPU's list */
struct list_head *irq_load_polls_tail(void)
{
	return IS_ENABLED(CONFIG_IRQ_LOAD_NAPI) ? irq_load_polls()->prev : NULL;
}

/* The handler of @irq has raised these for @stands_for interrupts, and added NAPI behind @tail */
void irq_load_raised(u32 raised, struct list_head *tail, unsigned int irq, u32 stands_for)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);

	if (IS_ENABLED(CONFIG_IRQ_LOAD_NAPI))
		irq_load_napi_learn(tail, irq_load_polls(), irq);

	for (raised &= IRQ_LOAD_RAISED; raised; raised &= raised - 1) {
		unsigned int nr = __ffs(raised), i;
		struct irq_load_vector *v = &c->vector[nr];

		if (irq_load_has_polls(nr))
			continue;
		for (i = 0; i < IRQ_LOAD_RAISERS; i++) {
			if (!v->raiser[i].weight || v->raiser[i].irq == irq) {
				v->raiser[i].irq = irq;
				v->raiser[i].weight += stands_for;
				break;
			}
		}
		if (c->skip[nr] >= 0)
			v->rest = c->skip[nr];
		c->skip[nr] = IRQ_LOAD_REQUESTED;
	}
}

/*
 * The interrupt whose forced thread runs this softirq, which its handler has raised, 0 for none.
 * If NAPI polls were waiting before, for ksoftirqd, all of NET_RX is treated as theirs.
 */
unsigned int irq_load_forced_thread(unsigned int nr)
{
	const struct irq_load_thread *thread = this_cpu_ptr(&irq_load_cpu.thread);

	if (!force_irqthreads() || thread->task != current ||
	    (thread->foreign && irq_load_has_polls(nr)))
		return 0;
	return thread->irq;
}

/* Whether this CPU has NAPI instances to poll */
bool irq_load_polls_wait(void)
{
	return IS_ENABLED(CONFIG_IRQ_LOAD_NAPI) &&
	       (this_cpu_ptr(&softnet_data)->in_net_rx_action || !list_empty(irq_load_polls()));
}

/* Set what is called with the CPU's poll list when a run of NET_RX leaves polls, or NULL */
void irq_load_set_polls_left(void (*left)(struct list_head *list))
{
	WRITE_ONCE(irq_load_polls_left, left);
}

static noinline void irq_load_timed_action(unsigned int nr)
{
	struct irq_load_cpu *c = this_cpu_ptr(&irq_load_cpu);
	struct irq_load_vector *v = &c->vector[nr];
	u32 seen = kstat_softirqs_cpu(nr, smp_processor_id()), runs = seen - v->runs_seen;
	struct irq_load_run run = { .task = current, .vector = v };
	bool requested = c->skip[nr] < -1;
	u32 claims[IRQ_LOAD_RAISERS];
	int rest = v->rest, i;
	u64 now, since, time;

	v->runs_seen = seen;
	/* With PREEMPT_RT others may run in the middle of it: not to be timed, too */
	c->skip[nr] = IRQ_LOAD_BUSY;
	for (i = 0; i < IRQ_LOAD_RAISERS; i++)
		claims[i] = READ_ONCE(v->raiser[i].weight);
	if (irq_load_has_polls(nr))
		c->run = &run;

	/* This function is cold: keep as much of it as possible out of the span */
	irq_load_span_begin(&run.span);
	irq_load_actions[nr]();
	now = local_clock_noinstr();

	if (c->run == &run)
		c->run = NULL;

	/* No interrupt may raise it while claims are settled */
	guard(irqsave)();
	since = now - v->stamp;
	v->stamp = now;
	if (irq_load_forced_thread(nr))
		run.time = 0;
	else
		irq_load_charge_run(&run, run.irq, now);
	time = run.charged + run.time;
	if (irq_load_has_polls(nr) && c->thread.task == current)
		c->foreign_ns += time * v->sampler.stratum;
	c->soft_ns += time;
	v->timed++;

	if ((BIT(nr) & IRQ_LOAD_RAISED) && !irq_load_has_polls(nr))
		irq_load_charge_raisers(v, claims, runs, run.time, since, now);
	else
		irq_load_charge_soft(run.irq, run.time * v->sampler.stratum, since, now);

	/* Those that are not timed are like these, not like those timed on request */
	if (!requested) {
		v->mean += ((s64)time - (s64)v->mean) / 8;
		irq_load_next_sample(&v->sampler, now, now - v->sampled, time,
				     irq_load_has_polls(nr) ? IRQ_LOAD_SAMPLE_NS :
							      IRQ_LOAD_BASE_NS);
		v->sampled = now;
		rest = v->sampler.gap - 1;
	}
	/* An interrupt may have come meanwhile and request the next run */
	if (c->skip[nr] > 0)
		c->skip[nr] = rest;
	else
		v->rest = rest;
}

static __always_inline void irq_load_run_action(unsigned int nr)
{
	void (*left)(struct list_head *list);

	if (unlikely(this_cpu_dec_return(irq_load_cpu.skip[nr]) < 0))
		irq_load_timed_action(nr);
	else
		irq_load_actions[nr]();

	/* It stays set if instances are left */
	if (irq_load_has_polls(nr) && unlikely(this_cpu_read(softnet_data.in_net_rx_action))) {
		left = READ_ONCE(irq_load_polls_left);
		if (left)
			left(irq_load_polls());
	}
}

#define IRQ_LOAD_SOFTIRQS(x)							\
	x(HI) x(TIMER) x(NET_TX) x(NET_RX) x(BLOCK) x(IRQ_POLL) x(TASKLET) x(SCHED)	\
	x(HRTIMER) x(RCU)

#define IRQ_LOAD_WRAPPER(name)							\
static void irq_load_run_##name(void)						\
{										\
	irq_load_run_action(name##_SOFTIRQ);					\
}

IRQ_LOAD_SOFTIRQS(IRQ_LOAD_WRAPPER)

#define IRQ_LOAD_WRAPPER_NAME(name)	\
	[name##_SOFTIRQ] = irq_load_run_##name,
static void (* const irq_load_wrappers[])(void) = {
	IRQ_LOAD_SOFTIRQS(IRQ_LOAD_WRAPPER_NAME)
};

static_assert(ARRAY_SIZE(irq_load_wrappers) == NR_SOFTIRQS);

void irq_load_softirq_start(void)
{
	unsigned int cpu, nr;

	for_each_possible_cpu(cpu) {
		struct irq_load_cpu *c = per_cpu_ptr(&irq_load_cpu, cpu);

		for (nr = 0; nr < NR_SOFTIRQS; nr++) {
			/* Time before measuring began is not made up for */
			c->vector[nr].runs_seen = kstat_softirqs_cpu(nr, cpu);
			irq_load_restart(&c->vector[nr].sampler);
			c->skip[nr] = 0;
		}
	}
	for (nr = 0; nr < NR_SOFTIRQS; nr++)
		irq_load_actions[nr] = softirq_action(nr);
	/* No CPU may come to a wrapper and not see this */
	synchronize_rcu();
	for (nr = 0; nr < NR_SOFTIRQS; nr++) {
		if (irq_load_actions[nr])
			open_softirq(nr, irq_load_wrappers[nr]);
	}
}

void irq_load_softirq_stop(void)
{
	unsigned int nr;

	for (nr = 0; nr < NR_SOFTIRQS; nr++)
		open_softirq(nr, irq_load_actions[nr]);
}
