// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the policy as a pure function.
 */

/**
 * DOC: irq-balance-policy
 *
 * The problem
 * ~~~~~~~~~~~
 *
 * The core gives an interrupt to a CPU once, without knowing what it will
 * cost, and leaves it there. Two busy devices may then share a CPU for ever
 * while others idle. Moving interrupts about is no cure in itself: a move
 * costs cache warmth, may delay packets, and undoes what somebody relied on.
 * So this policy stands still unless a change is worth it, and it has to know
 * what an interrupt costs to tell.
 *
 * What is measured
 * ~~~~~~~~~~~~~~~~
 *
 * The load of an interrupt is the CPU time per second that it causes, scaled
 * to a CPU of the largest capacity (1024). Placed on a CPU of capacity C it
 * takes 1024/C times as much. The load of a CPU is the sum over its
 * interrupts and its own base load: softirq and interrupt time that belongs
 * to nothing that could be moved. A CPU's load over its time is its relative
 * load; the worst CPU is the one where it is highest.
 *
 * Two averages are kept of each load: a fast one with a half-life of 64 ms,
 * which jumps when a load makes a step of more than a quarter and stays there,
 * and a slow one over about 15 s; and with them the noise, which is how far
 * windows are off the fast one on average, or how far the fast average was off
 * the slow one when the load came back from there: half of what is new in such a
 * swing is believed each time, and it is forgotten in a minute. The load is
 * taken to be what is closest to the slow average within the noise of the fast
 * one: a steady load is followed at once, one that comes in bursts, or swings to
 * and fro, is known by its mean.
 *
 * An interrupt above the share ``heavy`` of one CPU (2 %) is heavy until it
 * falls below three quarters of it. Others are light: they stay where they
 * are and count as base load of their CPU.
 *
 * What is decided, in this order
 * ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
 *
 * 1. What may be where. A CPU is allowed when it is in the user's mask,
 *    online, a housekeeping CPU and in the balancer's own list; one that ran
 *    out of vectors gets no newcomers for a while. Managed and per-CPU
 *    interrupts, those with one CPU to choose from and those that the user
 *    opted out are not touched.
 * 2. Which node. The node of a device holds its interrupts until the worst
 *    CPU of the node passes ``node_limit`` (80 %) of its capacity although
 *    they are spread inside it. Then they may leave. They are brought back
 *    when it would be at most seven eighths of the limit again. An interrupt
 *    that is away from its node is brought home when that is worth the
 *    minimum gain and makes the worst CPU no worse.
 * 3. Where it is best. The placement with the lowest load of the worst CPU is
 *    searched for; placements within 1 % of it are equal. Among them the one
 *    with the fewest moves is taken. Whatever moves is spread over packages
 *    first, then last-level caches, cores and SMT siblings. Parts of the
 *    machine that share neither CPUs nor interrupts are decided separately,
 *    and where the worst CPU cannot be helped the next ones are.
 * 4. Whether it is worth it. A plan is wanted when the worst of the CPUs that
 *    it touches loses ``min_gain`` of its load (14 %: loads that are 15 %
 *    up on one of two CPUs and 15 % down on the other look like 13 %), and
 *    no less than makes an interrupt heavy. With many CPUs such noise may look
 *    like up to 26 %, so a gain has to show in the slow averages too, unless it
 *    is nearly twice the minimum, and left of it is the minimum when each load
 *    is taken as close to its slow average as new noise can have kept it from
 *    that. A plan is wanted without any gain when an interrupt is on a CPU that
 *    it may not be on.
 * 5. Whether it is certain. ``confirm`` passes in a row (3) must want it, and
 *    no interrupt in it may have been moved within ``cooldown_ms`` (400 ms).
 *    For a small gain that time doubles with each move within a minute of the
 *    last one, up to 64 times: what does not come to rest is left alone.
 * 6. How it is done. At most ``max_moves`` (8) interrupts per pass, in an
 *    order in which no step makes the worst CPU worse, until the plan is at
 *    its end. When the loads change under way it is made anew. A move counts
 *    when the interrupt is seen on its new CPU; until then it is asked for
 *    again, eight passes long, not counting those in which it was silent. What
 *    could not be moved is left alone for 2 s, and for twice as long each
 *    further time, up to two minutes, or until what may be where changes.
 *
 * A heavy interrupt alone on its CPU stays if the CPU has nothing else to do.
 * Base load and light interrupts drive it away when that gains the minimum by the
 * slow averages, too. If it saturates its CPU (80 %) the small ones (less than 10 %) wait
 * for it, which is not in their load: while there is such a one they count for up
 * to a quarter of a CPU, so that it goes where there are none, and stay beside it.
 *
 * When it looks
 * ~~~~~~~~~~~~~
 *
 * While something changes every ``interval_min_ms`` (50 ms), then half as
 * often each time up to ``interval_max_ms`` (200 ms). When no interrupt is
 * heavy there is no timer at all: interrupt entry wakes the balancer when an
 * interrupt was charged 2 ms faster than a light one would have been. A step
 * worth twice the minimum gain is settled within 500 ms, one of a load that came
 * in bursts or swung before within six seconds, or up to 16 if it has stayed that
 * long before and came back: until then it may be a burst.
 *
 * Policies
 * ~~~~~~~~
 *
 * ``balance``
 *	is what was described.
 * ``rotate``
 *	is the rule of 2003 for few heavy interrupts, without its randomness:
 *	when there are fewer of them than CPUs and nothing is gained by a plan,
 *	each goes to the next allowed CPU every ``rotate_ms`` (1 s). It evens
 *	out heat and accounting over time. It costs cache warmth at each turn
 *	and, with NAPI, latency; it is there to be compared with.
 * ``compact``
 *	gathers heavy interrupts on as few CPUs of one package as take them at
 *	no more than ``compact_limit`` (50 %) each, so that others sleep. It
 *	costs latency, as interrupts wait for each other, and makes the worst
 *	CPU worse on purpose, up to the limit. Above the limit it balances.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "balance_pace.h"
#include "balance_plan.h"
#include "balance_step.h"
#include "balance_work.h"

/* A move within this time (ms) of the last one counts as churn, up to so much. */
#define CHURN_MS	60000U
#define CHURN_MAX	6U

/* Passes that a begun plan may make no progress. */
#define STUCK_MAX	8U

/*
 * What could not be moved is left alone for so long (ms), and for twice as long
 * each further time, up to so often.
 */
#define HOLD_MS		2000U
#define REFUSED_MAX	6U

/* Looks on from the end of a plan; one is nearly always enough. */
#define LOOKS_MAX	4U

/* Why an item moves. */
static enum irq_balance_reason
irq_balance_why(const struct irq_balance_work *work,
		const struct irq_balance_item *item)
{
	const struct irq_balance_machine *mach = &work->solver.mach;

	if (!item->may_stay)
		return IRQ_BALANCE_REASON_AFFINITY;
	if (!irq_balance_is_near(work, item, item->home) &&
	    irq_balance_is_near(work, item, item->place))
		return IRQ_BALANCE_REASON_LOCALITY;
	if (mach->scale[item->place] < mach->scale[item->home])
		return IRQ_BALANCE_REASON_CAPACITY;
	return IRQ_BALANCE_REASON_IMBALANCE;
}

/* The larger fall: of the worst CPU of all, or of those that are touched. */
static void irq_balance_predict(struct irq_balance *bal,
				const struct irq_balance_cpu *cpus)
{
	struct irq_balance_solver *s = &bal->work->solver;
	struct irq_balance_machine *mach = &s->mach;
	u64 worst_before = 0, worst_after = 0;
	unsigned int i, j;

	bal->before = 0;
	bal->after = 0;
	for (i = 0; i < mach->nr_cpus; i++) {
		worst_before = max(worst_before, cpus[mach->cpu[i]].load);
		worst_after = max(worst_after, mach->load[i]);
	}
	for (i = 0; i < s->nr; i++) {
		const struct irq_balance_item *item = &s->items[i];
		u32 ends[] = { item->home, item->place };

		for (j = 0; j < ARRAY_SIZE(ends) && item->place != item->home; j++) {
			bal->before = max(bal->before,
					  cpus[mach->cpu[ends[j]]].load);
			bal->after = max(bal->after, mach->load[ends[j]]);
		}
	}
	bal->gain = 0;
	if (worst_before > worst_after)
		bal->gain = worst_before - worst_after;
	else if (bal->before > bal->after)
		bal->gain = bal->before - bal->after;
}

/* Writes down a plan: from now on it is carried to its end. */
static void irq_balance_begin(struct irq_balance *bal,
			      const struct irq_balance_cpu *cpus,
			      struct irq_balance_irq *irqs, bool compact)
{
	struct irq_balance_work *work = bal->work;
	struct irq_balance_solver *s = &work->solver;
	unsigned int i;

	irq_balance_tally(s, cpus, false);
	irq_balance_predict(bal, cpus);
	for (i = 0; i < s->nr; i++) {
		const struct irq_balance_item *item = &s->items[i];
		struct irq_balance_state *st = irqs[item->irq].state;

		st->planned = IRQ_BALANCE_REASON_NONE;
		if (item->place == item->home)
			continue;
		st->target = s->mach.cpu[item->place];
		st->planned = irq_balance_why(work, item);
		if (compact && item->may_stay)
			st->planned = IRQ_BALANCE_REASON_COMPACT;
	}
	bal->active = true;
	bal->stuck = 0;
	bal->confirmed = 0;
}

/* No move is under way any more. */
static void irq_balance_drop(struct irq_balance *bal,
			     struct irq_balance_irq *irqs, unsigned int nr_irqs)
{
	unsigned int i;

	for (i = 0; i < nr_irqs; i++)
		irqs[i].state->planned = IRQ_BALANCE_REASON_NONE;
	bal->active = false;
}

/* Sees which moves were done, and forgets what cannot be done any more. */
static void irq_balance_arrivals(struct irq_balance *bal, u64 now,
				 const struct irq_balance_cpu *cpus,
				 unsigned int nr_cpus,
				 struct irq_balance_irq *irqs,
				 unsigned int nr_irqs)
{
	unsigned int i;

	bal->nr_done = 0;
	for (i = 0; i < nr_irqs; i++) {
		struct irq_balance_irq *irq = &irqs[i];
		struct irq_balance_state *st = irq->state;
		bool strange;

		if (irq->cpu >= nr_cpus) {
			st->planned = IRQ_BALANCE_REASON_NONE;
			continue;
		}
		strange = irq->node >= 0 && cpus[irq->cpu].node != irq->node;
		if (!strange)
			st->away = false;
		if (!st->planned || irq->cpu != st->target)
			continue;
		st->reason = st->planned;
		st->planned = IRQ_BALANCE_REASON_NONE;
		if (st->moved && now - st->moved < irq_balance_ms(CHURN_MS))
			st->churn = min_t(u8, st->churn + 1, CHURN_MAX);
		else
			st->churn = 0;
		st->moved = now;
		st->refused = 0;
		st->away = strange;
		bal->nr_done++;
	}
}

/**
 * irq_balance_resume - see what is left of the begun plan
 * @bal:	the balancer, everything collected
 * @cpus:	the CPUs
 * @irqs:	the interrupts
 *
 * Return: whether it still fits: its targets are allowed, it ends no worse
 * than it was promised, and it makes the worst CPU no worse.
 */
static bool irq_balance_resume(struct irq_balance *bal,
			       const struct irq_balance_cpu *cpus,
			       struct irq_balance_irq *irqs)
{
	struct irq_balance_work *work = bal->work;
	struct irq_balance_solver *s = &work->solver;
	struct irq_balance_machine *mach = &s->mach;
	u64 after = 0, before = 0, now;
	bool left = false, forced = false;
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		struct irq_balance_item *item = &s->items[i];
		const struct irq_balance_state *st = irqs[item->irq].state;

		if (!st->planned || st->target >= mach->nr_cpus)
			continue;
		item->place = mach->pos[st->target];
		if (!test_bit(item->place, irq_balance_bits(mach, item->wide)))
			return false;
		forced |= !item->may_stay;
		left = true;
	}
	if (!left) {
		bal->active = false;
		return true;
	}
	now = irq_balance_peak(mach);
	irq_balance_tally(s, cpus, false);
	for (i = 0; i < s->nr; i++) {
		const struct irq_balance_item *item = &s->items[i];

		if (item->place == item->home)
			continue;
		before = max(before, cpus[mach->cpu[item->home]].load);
		before = max(before, cpus[mach->cpu[item->place]].load);
		after = max(after, mach->load[item->home]);
		after = max(after, mach->load[item->place]);
	}
	if (after > bal->after + bal->after / 8 + s->floor)
		return false;
	/* Within 1 % is equal. */
	return forced || after <= before + div_u64(before, 100) ||
	       (after <= bal->after && after <= now + div_u64(now, 100));
}

/* Takes an item to be at a position that it may be at. */
static void irq_balance_settle_at(struct irq_balance_work *work,
				  struct irq_balance_item *item, u32 pos,
				  bool may_stay)
{
	work->heavy[item->home]--;
	work->heavy[pos]++;
	item->home = pos;
	item->may_stay = may_stay;
}

/**
 * irq_balance_look_on - plan from the end of the plan
 * @work:	workspace, judged
 * @set:	settings
 * @now:	clock in ns
 * @cpus:	the CPUs
 * @irqs:	the interrupts
 *
 * A search from another placement may find what the first one missed. What
 * it would do next is done at once, so that a plan's outcome is left alone.
 *
 * Return: whether anything is left to be moved.
 */
static bool irq_balance_look_on(struct irq_balance_work *work,
				const struct irq_balance_settings *set, u64 now,
				const struct irq_balance_cpu *cpus,
				const struct irq_balance_irq *irqs)
{
	struct irq_balance_solver *s = &work->solver;
	bool more = true, moves = false;
	unsigned int round, i;

	for (round = 0; more && round < LOOKS_MAX && s->placed < IRQ_BALANCE_PLACES;
	     round++) {
		for (i = 0; i < s->nr; i++)
			irq_balance_settle_at(work, &s->items[i],
					      s->items[i].place, true);
		irq_balance_locate(work, set, cpus);
		more = irq_balance_judge(work, set, now, irqs,
					 IRQ_BALANCE_LOOK_SECOND);
	}
	for (i = 0; i < s->nr; i++) {
		struct irq_balance_item *item = &s->items[i];
		const struct irq_balance_irq *irq = &irqs[item->irq];

		irq_balance_settle_at(work, item, s->mach.pos[irq->cpu],
				      irq_balance_may_stay(cpus, irq));
		moves |= item->place != item->home;
	}
	return moves;
}

/* Looks for something better, and begins it when that is certain. */
static void irq_balance_consider(struct irq_balance *bal,
				 const struct irq_balance_settings *set, u64 now,
				 const struct irq_balance_cpu *cpus,
				 struct irq_balance_irq *irqs, bool anew)
{
	struct irq_balance_work *work = bal->work;
	struct irq_balance_solver *s = &work->solver;
	bool wanted, compact = false;

	/* A look is enough until the plan might be begun. */
	s->effort = anew || bal->confirmed + 1 >= set->confirm ?
		    IRQ_BALANCE_THOROUGH : IRQ_BALANCE_LOOK;
	if (anew)
		s->min_gain = 10;
	irq_balance_locate(work, set, cpus);
	wanted = irq_balance_judge(work, set, now, irqs,
				   anew ? IRQ_BALANCE_LOOK_ANEW :
					  IRQ_BALANCE_LOOK_FIRST);

	if (set->policy == IRQ_BALANCE_POLICY_COMPACT) {
		u64 limit = IRQ_BALANCE_FULL / 100 * set->compact_limit;

		irq_balance_tally(s, cpus, true);
		if (irq_balance_worst_load(&s->mach) <= limit) {
			compact = true;
			wanted = irq_balance_gather(work, set, cpus);
		}
	}
	if (!wanted) {
		bal->confirmed = 0;
		return;
	}
	if (!anew && ++bal->confirmed < set->confirm)
		return;
	s->min_gain = set->min_gain;
	if (!compact && !irq_balance_look_on(work, set, now, cpus, irqs))
		return;
	irq_balance_begin(bal, cpus, irqs, compact);
}

/*
 * Leaves those alone for a while that could not be moved: those that were asked
 * for, or all of the plan if there was no way to go on with it.
 */
static void irq_balance_hold(const struct irq_balance *bal, u64 now,
			     const struct irq_balance_irq *irq)
{
	struct irq_balance_state *st = irq->state;

	if (bal->nr_moves ? irq->target == irq->cpu : !st->planned)
		return;
	WRITE_ONCE(st->hold, now + irq_balance_ms(HOLD_MS << st->refused));
	st->refused = min_t(u8, st->refused + 1, REFUSED_MAX);
}

/* Says which interrupts are to be moved now. */
static void irq_balance_publish(struct irq_balance *bal,
				const struct irq_balance_settings *set, u64 now,
				const struct irq_balance_cpu *cpus,
				struct irq_balance_irq *irqs,
				unsigned int nr_irqs)
{
	struct irq_balance_solver *s = &bal->work->solver;
	bool heard = false;
	unsigned int i;
	u64 end;

	irq_balance_tally(s, cpus, false);
	end = irq_balance_peak(&s->mach);
	irq_balance_tally(s, cpus, true);
	bal->nr_moves = irq_balance_step(s, set->max_moves, end);
	for (i = 0; i < s->nr; i++) {
		const struct irq_balance_item *item = &s->items[i];
		struct irq_balance_irq *irq = &irqs[item->irq];

		if (!item->rank)
			continue;
		irq->target = s->mach.cpu[item->place];
		irq->reason = irq->state->planned;
		irq->gain = bal->gain;
		heard |= irq->state->ran;
	}
	/* One that is silent may be moved by the next interrupt only. */
	if (bal->nr_done)
		bal->stuck = 0;
	else if (heard)
		bal->stuck++;
	if (!bal->nr_moves || (bal->stuck > STUCK_MAX && !bal->observe)) {
		for (i = 0; i < nr_irqs; i++) {
			struct irq_balance_irq *irq = &irqs[i];

			irq_balance_hold(bal, now, irq);
			irq->target = irq->cpu;
			irq->reason = IRQ_BALANCE_REASON_NONE;
			irq->gain = 0;
		}
		bal->nr_moves = 0;
		irq_balance_drop(bal, irqs, nr_irqs);
	}
}

/**
 * irq_balance_limits - at which rate each interrupt kicks
 * @bal:	the balancer, with the time of the next pass
 * @set:	settings
 * @cpus:	the CPUs
 * @nr_cpus:	how many
 * @irqs:	the interrupts
 * @nr_irqs:	how many
 *
 * A light interrupt kicks when it turns heavy. A heavy one kicks when its
 * CPU would rise by one and a half times the minimum gain if all of that
 * CPU's interrupts rose as it does: then no rise of the CPU by that much goes
 * unseen, whichever of them it is made of, and noise of 15 % kicks nobody.
 */
static void irq_balance_limits(const struct irq_balance *bal,
			       const struct irq_balance_settings *set,
			       const struct irq_balance_cpu *cpus,
			       unsigned int nr_cpus,
			       struct irq_balance_irq *irqs, unsigned int nr_irqs)
{
	bool soon = bal->interval_ms == set->interval_min_ms;
	u64 worst = 0;
	unsigned int i;

	for (i = 0; i < nr_cpus; i++)
		worst = max(worst, cpus[i].load);
	for (i = 0; i < nr_irqs; i++) {
		const struct irq_balance_irq *irq = &irqs[i];
		struct irq_balance_state *st = irq->state;
		u64 rate, share;

		if (irq->cpu >= nr_cpus || soon) {
			WRITE_ONCE(st->limit, IRQ_BALANCE_LIMIT_NEVER);
			continue;
		}
		rate = irq_balance_heavy_load(set);
		if (st->heavy) {
			rate = max(st->load.fast, st->load.slow);
			/* In 1/1024, up to 16 times the load itself. */
			share = div_u64(cpus[irq->cpu].load, 1024) + 1;
			while (share >> 32)
				share >>= 1;
			share = min_t(u64, div_u64(worst, (u32)share), 16 * 1024);
			rate += div_u64((rate >> 10) * share * set->min_gain * 3, 2000);
		}
		rate = min_t(u64, rate, IRQ_BALANCE_LOAD_MAX);
		rate = div_u64(rate * IRQ_BALANCE_CAPACITY, cpus[irq->cpu].capacity);
		WRITE_ONCE(st->limit, irq_balance_limit(rate));
	}
}

/**
 * irq_balance_pass - one pass: measure, plan, say what to move
 * @bal:	the balancer
 * @set:	settings
 * @now:	clock in ns, above 0, never going back
 * @cpus:	the CPUs, by number
 * @nr_cpus:	how many, as given to irq_balance_init()
 * @irqs:	the interrupts, in rising order
 * @nr_irqs:	how many, at most as given to irq_balance_init()
 *
 * Every interrupt whose @target is not its @cpu is to be moved there. What
 * became of it need not be told: the next pass sees where it is. The time of
 * the next pass is in &irq_balance.next.
 *
 * Context: any; the caller serialises passes. No allocation, no recursion.
 * Return: number of moves.
 */
unsigned int irq_balance_pass(struct irq_balance *bal,
			      const struct irq_balance_settings *set, u64 now,
			      struct irq_balance_cpu *cpus, unsigned int nr_cpus,
			      struct irq_balance_irq *irqs, unsigned int nr_irqs)
{
	struct irq_balance_settings asked;
	unsigned int i;
	bool restless;

	bal->nr_moves = 0;
	if (bal->asked) {
		asked = *set;
		asked.confirm = 1;
		asked.cooldown_ms = 0;
		set = &asked;
	}
	for (i = 0; i < nr_irqs && (bal->asked || bal->changed); i++) {
		WRITE_ONCE(irqs[i].state->hold, 0);
		irqs[i].state->refused = 0;
	}
	bal->asked = false;
	bal->changed = false;
	if (bal->kicked)
		bal->probe = 3;
	bal->kicked = false;
	if (bal->probe)
		bal->probe--;

	irq_balance_measure(bal, set, now, cpus, nr_cpus, irqs, nr_irqs);
	irq_balance_arrivals(bal, now, cpus, nr_cpus, irqs, nr_irqs);
	irq_balance_survey(bal->work, set, now, cpus, irqs, nr_irqs);

	/* What is not done is looked at again now and then, if it is wanted yet. */
	if (bal->active && bal->observe && bal->stuck > STUCK_MAX) {
		irq_balance_drop(bal, irqs, nr_irqs);
		bal->confirmed = set->confirm;
	}
	if (bal->active && !irq_balance_resume(bal, cpus, irqs)) {
		irq_balance_drop(bal, irqs, nr_irqs);
		irq_balance_consider(bal, set, now, cpus, irqs, true);
	} else if (!bal->active) {
		irq_balance_drop(bal, irqs, nr_irqs);
		irq_balance_consider(bal, set, now, cpus, irqs, false);
	}
	if (bal->active)
		irq_balance_publish(bal, set, now, cpus, irqs, nr_irqs);
	else if (set->policy == IRQ_BALANCE_POLICY_ROTATE)
		irq_balance_rotate(bal, set, now, cpus, irqs);

	restless = ((bal->active || bal->nr_moves) && !bal->observe) ||
		   bal->confirmed || bal->probe ||
		   (bal->nr_heavy && bal->work->unsettled);
	irq_balance_pace(bal, set, now, restless);
	irq_balance_limits(bal, set, cpus, nr_cpus, irqs, nr_irqs);
	return bal->nr_moves;
}
