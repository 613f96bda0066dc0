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
 * load; the worst CPU is the one where it is highest. Two averages are kept
 * of each load: a fast one with a half-life of 64 ms, which jumps when a
 * load makes a step of more than a quarter and stays there, and a slow one
 * over about 15 s.
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
 *    no less than makes an interrupt heavy. With many CPUs such noise looks
 *    like up to 26 %. So a gain has to show in the slow averages too, beyond
 *    twice what the loads of a CPU in question are usually off, unless it is
 *    nearly twice the minimum and left of it is the minimum when each load is
 *    taken as close to its slow average as noise can have kept it from that:
 *    noise around a balanced placement is no reason to move. A plan is
 *    wanted without any gain when an interrupt is on a CPU that it may not be
 *    on.
 * 5. Whether it is certain. ``confirm`` passes in a row (3) must want it, and
 *    no interrupt in it may have been moved within ``cooldown_ms`` (400 ms).
 *    For a small gain that time doubles with each move within a minute of the
 *    last one, up to 64 times: what does not come to rest is left alone.
 * 6. How it is done. At most ``max_moves`` (8) interrupts per pass, in an
 *    order in which no step makes the worst CPU worse, until the plan is at
 *    its end. When the loads change under way it is made anew. A move counts
 *    when the interrupt is seen on its new CPU; until then it is asked for
 *    again, eight passes long.
 *
 * A heavy interrupt alone on its CPU stays, unless that CPU becomes forbidden,
 * or a faster CPU or its device's own node gains the minimum. Base load drives
 * it away only from a CPU that is busy for more than 80 %, and only when the
 * slow averages say so.
 *
 * When it looks
 * ~~~~~~~~~~~~~
 *
 * While something changes every ``interval_min_ms`` (50 ms), then half as
 * often each time up to ``interval_max_ms`` (200 ms). When no interrupt is
 * heavy there is no timer at all: interrupt entry wakes the balancer when an
 * interrupt was charged 2 ms faster than a light one would have been. A step
 * worth twice the minimum gain is settled within 500 ms.
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
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>

#include "balance_pace.h"
#include "balance_plan.h"
#include "balance_solve.h"
#include "balance_step.h"

/* Below this load (ns/s) of its CPU a lone interrupt does not flee from it. */
#define LONE_LOAD	(IRQ_BALANCE_FULL / 10 * 8)

/* A move within this time (ms) of the last one counts as churn, up to so much. */
#define CHURN_MS	60000U
#define CHURN_MAX	6U

/* Passes that a begun plan may make no progress. */
#define STUCK_MAX	8U

/* Looks on from the end of a plan; one is nearly always enough. */
#define LOOKS_MAX	4U

/* Rounds in which one node is found too full; as many more find all. */
#define NODE_ROUNDS	4U

/**
 * enum irq_balance_look - what a placement is looked for
 * @IRQ_BALANCE_LOOK_FIRST:	a plan, when one is worth it
 * @IRQ_BALANCE_LOOK_ANEW:	the rest of a begun plan that does not fit any
 *				more: all that gains anything
 * @IRQ_BALANCE_LOOK_SECOND:	what would be wanted at the end of a plan
 */
enum irq_balance_look {
	IRQ_BALANCE_LOOK_FIRST,
	IRQ_BALANCE_LOOK_ANEW,
	IRQ_BALANCE_LOOK_SECOND,
};

/**
 * struct irq_balance_touch - what a plan does to the CPUs that it touches
 * @before:	load (ns/s) of the worst one before it
 * @after:	and after it
 * @slow_before: the first by the slow averages
 * @slow_after:	the second by the slow averages
 * @sure_before: the first, should the loads be off by as much as noise is
 * @sure_after:	the second, the same
 * @near:	ns/s that come home to their device's node
 * @noise:	ns/s by which the loads of its noisiest CPU are off each time
 * @age_ms:	history of the youngest interrupt that is moved
 * @moves:	moves
 * @forced:	one of them is from a CPU that is not allowed
 * @cooling:	one of them is of an interrupt that was moved lately
 * @restless:	one of them is of an interrupt that is moved too often
 * @lone:	each of them is of the only heavy interrupt of its CPU, to a CPU
 *		that is no faster
 */
struct irq_balance_touch {
	u64		before;
	u64		after;
	u64		slow_before;
	u64		slow_after;
	u64		sure_before;
	u64		sure_after;
	u64		near;
	u64		noise;
	u32		age_ms;
	unsigned int	moves;
	bool		forced;
	bool		cooling;
	bool		restless;
	bool		lone;
};

/**
 * struct irq_balance_work - workspace of a pass
 * @solver:	the placement problem
 * @max_irqs:	room for so many interrupts
 * @touch:	[part] what the plan does there
 * @before:	[position] load with everything at home
 * @slow_before: [position] slow load with everything at home
 * @slow_after:	[position] slow load with everything at its place
 * @sure_before: [position] sure load with everything at home
 * @sure_after:	[position] sure load with everything at its place
 * @noise:	[position] ns/s by which its loads are off each time
 * @heavy:	[position] heavy interrupts at it now, movable or not
 * @source:	[class] the user's mask that it was made of
 * @within:	[class] node that it is confined to, -1: none
 * @node:	[index] nodes of the machine
 * @spilled:	[index] whether the node does not hold its interrupts
 * @holds:	[index] whether the node has a device of its own to hold
 * @away:	[index] whether the balancer took one of them away before
 * @index:	[position] index of its node
 * @nr_nodes:	how many nodes
 * @unsettled:	a heavy interrupt's load is off its average
 */
struct irq_balance_work {
	struct irq_balance_solver	solver;
	unsigned int			max_irqs;
	struct irq_balance_touch	*touch;
	u64				*before;
	u64				*slow_before;
	u64				*slow_after;
	u64				*sure_before;
	u64				*sure_after;
	u64				*noise;
	u32				*heavy;
	const unsigned long		**source;
	int				*within;
	int				*node;
	bool				*spilled;
	bool				*holds;
	bool				*away;
	u32				*index;
	unsigned int			nr_nodes;
	bool				unsettled;
};

/**
 * struct irq_balance_space - workspace that is handed out
 * @base:	its start, NULL: only measured
 * @used:	bytes handed out
 */
struct irq_balance_space {
	char	*base;
	size_t	used;
};

/* An array out of the workspace, aligned for anything in it. */
static void *irq_balance_carve(struct irq_balance_space *space, size_t nr,
			       size_t size)
{
	size_t at = space->used;

	space->used += (nr * size + sizeof(u64) - 1) & ~(sizeof(u64) - 1);
	return space->base ? space->base + at : NULL;
}

/* Lays the workspace out; measures it when @base is NULL. */
static size_t irq_balance_layout(void *base, struct irq_balance_work *work,
				 size_t nr_irqs, size_t nr_cpus)
{
	struct irq_balance_space space = { .base = base };
	struct irq_balance_solver *s = &work->solver;
	struct irq_balance_machine *mach = &s->mach;
	struct irq_balance_search *srch = &s->search;
	size_t small = min_t(size_t, nr_irqs, IRQ_BALANCE_SMALL_ITEMS);
	/* Each interrupt may have a mask of its own, with and without node. */
	size_t classes = 2 * nr_irqs + 1, level;
	size_t costs = small * min_t(size_t, nr_cpus, IRQ_BALANCE_SMALL_CPUS);

	/* The structure itself comes first. */
	irq_balance_carve(&space, 1, sizeof(*work));
	mach->cpu = irq_balance_carve(&space, nr_cpus, sizeof(*mach->cpu));
	mach->pos = irq_balance_carve(&space, nr_cpus, sizeof(*mach->pos));
	mach->scale = irq_balance_carve(&space, nr_cpus, sizeof(*mach->scale));
	mach->fixed = irq_balance_carve(&space, nr_cpus, sizeof(*mach->fixed));
	mach->fixed_slow = irq_balance_carve(&space, nr_cpus, sizeof(*mach->fixed_slow));
	mach->fixed_sure = irq_balance_carve(&space, nr_cpus, sizeof(*mach->fixed_sure));
	mach->load = irq_balance_carve(&space, nr_cpus, sizeof(*mach->load));
	mach->items = irq_balance_carve(&space, nr_cpus, sizeof(*mach->items));
	for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++)
		mach->level[level] = irq_balance_carve(&space, nr_cpus + 1,
						       sizeof(*mach->level[level]));
	mach->longs = BITS_TO_LONGS(nr_cpus);
	mach->max_classes = classes;
	mach->classes = irq_balance_carve(&space, classes * mach->longs,
					  sizeof(*mach->classes));
	mach->class_first = irq_balance_carve(&space, classes, sizeof(*mach->class_first));
	mach->class_end = irq_balance_carve(&space, classes, sizeof(*mach->class_end));

	s->items = irq_balance_carve(&space, nr_irqs, sizeof(*s->items));
	s->order = irq_balance_carve(&space, nr_irqs, sizeof(*s->order));
	s->next = irq_balance_carve(&space, max_t(size_t, nr_irqs, 64), sizeof(*s->next));
	s->head = irq_balance_carve(&space, nr_cpus, sizeof(*s->head));
	s->root = irq_balance_carve(&space, nr_cpus, sizeof(*s->root));
	s->tail = irq_balance_carve(&space, nr_cpus, sizeof(*s->tail));
	s->parts = irq_balance_carve(&space, nr_cpus, sizeof(*s->parts));

	srch->cost = irq_balance_carve(&space, costs, sizeof(*srch->cost));
	srch->mask = irq_balance_carve(&space, small, sizeof(*srch->mask));
	srch->item = irq_balance_carve(&space, small, sizeof(*srch->item));
	srch->home = irq_balance_carve(&space, small, sizeof(*srch->home));
	srch->cur = irq_balance_carve(&space, small, sizeof(*srch->cur));
	srch->best = irq_balance_carve(&space, small, sizeof(*srch->best));
	srch->pick = irq_balance_carve(&space, small, sizeof(*srch->pick));
	srch->bound = irq_balance_carve(&space, small, sizeof(*srch->bound));
	srch->pos = irq_balance_carve(&space, IRQ_BALANCE_SMALL_CPUS, sizeof(*srch->pos));
	srch->fixed = irq_balance_carve(&space, IRQ_BALANCE_SMALL_CPUS, sizeof(*srch->fixed));
	srch->load = irq_balance_carve(&space, IRQ_BALANCE_SMALL_CPUS, sizeof(*srch->load));
	srch->count = irq_balance_carve(&space, IRQ_BALANCE_SMALL_CPUS, sizeof(*srch->count));

	work->touch = irq_balance_carve(&space, nr_cpus, sizeof(*work->touch));
	work->before = irq_balance_carve(&space, nr_cpus, sizeof(*work->before));
	work->slow_before = irq_balance_carve(&space, nr_cpus, sizeof(*work->slow_before));
	work->slow_after = irq_balance_carve(&space, nr_cpus, sizeof(*work->slow_after));
	work->sure_before = irq_balance_carve(&space, nr_cpus, sizeof(*work->sure_before));
	work->sure_after = irq_balance_carve(&space, nr_cpus, sizeof(*work->sure_after));
	work->noise = irq_balance_carve(&space, nr_cpus, sizeof(*work->noise));
	work->heavy = irq_balance_carve(&space, nr_cpus, sizeof(*work->heavy));
	work->source = irq_balance_carve(&space, classes, sizeof(*work->source));
	work->within = irq_balance_carve(&space, classes, sizeof(*work->within));
	work->node = irq_balance_carve(&space, nr_cpus, sizeof(*work->node));
	work->spilled = irq_balance_carve(&space, nr_cpus, sizeof(*work->spilled));
	work->holds = irq_balance_carve(&space, nr_cpus, sizeof(*work->holds));
	work->away = irq_balance_carve(&space, nr_cpus, sizeof(*work->away));
	work->index = irq_balance_carve(&space, nr_cpus, sizeof(*work->index));
	return space.used;
}

/**
 * irq_balance_work_size - how much workspace a machine needs
 * @nr_irqs:	most interrupts that a pass may be handed
 * @nr_cpus:	CPUs, at least 1
 *
 * Context: any.
 * Return: bytes.
 */
size_t irq_balance_work_size(unsigned int nr_irqs, unsigned int nr_cpus)
{
	struct irq_balance_work work;

	return irq_balance_layout(NULL, &work, nr_irqs, nr_cpus);
}

/**
 * irq_balance_init - start from nothing
 * @bal:	the balancer, zeroed before its first use
 * @mem:	workspace of irq_balance_work_size() bytes, aligned to 8
 * @nr_irqs:	as given to irq_balance_work_size()
 * @nr_cpus:	as given to irq_balance_work_size()
 *
 * Whatever was remembered of interrupts before is void from now on; the
 * state in the array of CPUs is the caller's to clear.
 *
 * Context: any; not during a pass.
 */
void irq_balance_init(struct irq_balance *bal, void *mem,
		      unsigned int nr_irqs, unsigned int nr_cpus)
{
	u32 generation = bal->generation + 1;
	struct irq_balance_work *work = mem;
	unsigned int i;

	memset(bal, 0, sizeof(*bal));
	bal->generation = generation ? generation : 1;
	bal->next = IRQ_BALANCE_NO_TIMER;
	bal->work = work;

	memset(work, 0, sizeof(*work));
	irq_balance_layout(mem, work, nr_irqs, nr_cpus);
	work->max_irqs = nr_irqs;
	work->solver.mach.nr_cpus = nr_cpus;
	for (i = 0; i < nr_cpus; i++)
		work->solver.mach.cpu[i] = i;
}

static u64 irq_balance_ms(u32 ms)
{
	return (u64)ms * 1000000;
}

static u64 irq_balance_heavy_load(const struct irq_balance_settings *set)
{
	return (u64)set->heavy * (IRQ_BALANCE_FULL / 1000);
}

/* The least that is worth a plan: ns/s of a CPU with load @before. */
static u64 irq_balance_need(const struct irq_balance_settings *set, u64 before)
{
	u64 need = div_u64(before, 1000) * set->min_gain;

	return max_t(u64, need, irq_balance_heavy_load(set) * 3 / 4);
}

/**
 * irq_balance_sure - what a load is if it is off by noise
 * @set:	settings
 * @load:	its averages
 *
 * Noise that is no reason for a plan is up to about the minimum gain. A step
 * worth twice that is worth the minimum gain by these loads too: one that rose
 * by 1 / (1 - 2g) counts for (1 - g) / (1 - 2g), which gains g / (1 - g).
 *
 * Return: ns/s, the closest to the slow average that is within the minimum
 * gain of the fast one.
 */
static u64 irq_balance_sure(const struct irq_balance_settings *set,
			    const struct irq_balance_average *load)
{
	u32 left = 1000 - min(set->min_gain, 999U);

	return clamp(load->slow, div_u64(load->fast * left, 1000),
		     div_u64(load->fast * 1000, left));
}

static void irq_balance_measure_irq(struct irq_balance *bal,
				    const struct irq_balance_settings *set,
				    u64 elapsed, bool measure,
				    const struct irq_balance_cpu *cpus,
				    unsigned int nr_cpus,
				    struct irq_balance_irq *irq)
{
	struct irq_balance_state *st = irq->state;
	u64 heavy = irq_balance_heavy_load(set);
	bool was_heavy;

	irq->target = irq->cpu;
	irq->reason = IRQ_BALANCE_REASON_NONE;
	irq->gain = 0;
	if (st->generation != bal->generation) {
		memset(st, 0, sizeof(*st));
		st->generation = bal->generation;
		st->cpu = irq->cpu;
	}
	was_heavy = st->heavy;
	if (irq->cpu < nr_cpus && measure) {
		/* A window on two kinds of CPU cannot be told apart. */
		if (st->cpu < nr_cpus &&
		    cpus[st->cpu].capacity != cpus[irq->cpu].capacity)
			st->load.seen = false;
		irq_balance_average_update(&st->load, irq->time, elapsed,
					   cpus[irq->cpu].capacity);
		st->heavy = st->load.fast >= (st->heavy ? heavy * 3 / 4 : heavy);
		bal->nr_heavy += st->heavy;
	} else if (irq->cpu >= nr_cpus) {
		st->heavy = false;
	} else {
		bal->nr_heavy += st->heavy;
	}
	if ((st->heavy && st->load.steps) || st->heavy != was_heavy)
		bal->work->unsettled = true;
	irq->load = st->load.fast;
	st->cpu = irq->cpu;
}

/* Takes in what was measured since the last pass. */
static void irq_balance_measure(struct irq_balance *bal,
				const struct irq_balance_settings *set, u64 now,
				struct irq_balance_cpu *cpus, unsigned int nr_cpus,
				struct irq_balance_irq *irqs, unsigned int nr_irqs)
{
	u64 elapsed = bal->last ? now - bal->last : 0;
	bool measure = !bal->last ||
		       elapsed >= irq_balance_ms(IRQ_BALANCE_WINDOW_MIN_MS);
	unsigned int i;

	for (i = 0; i < nr_cpus && measure; i++)
		irq_balance_average_update(&cpus[i].base, cpus[i].time, elapsed,
					   IRQ_BALANCE_CAPACITY);
	bal->nr_heavy = 0;
	bal->work->unsettled = false;
	for (i = 0; i < nr_irqs; i++)
		irq_balance_measure_irq(bal, set, elapsed, measure, cpus,
					nr_cpus, &irqs[i]);
	if (measure)
		bal->last = now;
}

/* The bitmap of positions for a mask, inside a node or not. */
static u32 irq_balance_class(struct irq_balance_work *work,
			     const struct irq_balance_cpu *cpus,
			     const unsigned long *allowed, int node)
{
	struct irq_balance_machine *mach = &work->solver.mach;
	unsigned long *bits;
	unsigned int i, pos;

	for (i = mach->nr_classes; i-- > 0;) {
		if (work->within[i] == node &&
		    (work->source[i] == allowed ||
		     !memcmp(work->source[i], allowed, mach->longs * sizeof(long))))
			return i;
	}
	i = mach->nr_classes++;
	work->source[i] = allowed;
	work->within[i] = node;
	bits = mach->classes + i * mach->longs;
	bitmap_zero(bits, mach->nr_cpus);
	mach->class_first[i] = 0;
	mach->class_end[i] = 0;
	for (pos = 0; pos < mach->nr_cpus; pos++) {
		const struct irq_balance_cpu *cpu = &cpus[mach->cpu[pos]];

		if (!cpu->usable || cpu->full || !test_bit(mach->cpu[pos], allowed) ||
		    (node >= 0 && cpu->node != node))
			continue;
		__set_bit(pos, bits);
		if (!mach->class_end[i])
			mach->class_first[i] = pos;
		mach->class_end[i] = pos + 1;
	}
	return i;
}

static const unsigned long *irq_balance_bits(const struct irq_balance_machine *mach,
					     u32 class)
{
	return mach->classes + class * mach->longs;
}

/* Index of a node among those of the machine, ~0: it has no CPU. */
static u32 irq_balance_node(struct irq_balance_work *work, int node)
{
	u32 i;

	for (i = 0; i < work->nr_nodes; i++) {
		if (work->node[i] == node)
			return i;
	}
	return ~0U;
}

/* Whether mask and isolation allow an interrupt where it is. */
static bool irq_balance_may_stay(const struct irq_balance_cpu *cpus,
				 const struct irq_balance_irq *irq)
{
	return cpus[irq->cpu].usable && test_bit(irq->cpu, irq->allowed);
}

/* Whether the interrupt is one to be placed; fills in what is known of it. */
static bool irq_balance_collect_irq(struct irq_balance_work *work,
				    const struct irq_balance_settings *set,
				    const struct irq_balance_cpu *cpus,
				    const struct irq_balance_irq *irq,
				    struct irq_balance_item *item)
{
	struct irq_balance_machine *mach = &work->solver.mach;
	const unsigned long *bits;
	u32 first;

	if (!irq->state->heavy || !irq->allowed)
		return false;
	item->wide = irq_balance_class(work, cpus, irq->allowed, -1);
	item->home = mach->pos[irq->cpu];
	item->may_stay = irq_balance_may_stay(cpus, irq);

	/* Nowhere to go, or nowhere else. */
	bits = irq_balance_bits(mach, item->wide);
	first = find_first_bit(bits, mach->nr_cpus);
	if (first == item->home)
		first = find_next_bit(bits, mach->nr_cpus, first + 1);
	if (first >= mach->nr_cpus)
		return false;

	item->near = item->wide;
	item->node = -1;
	if (irq->node >= 0 && irq_balance_node(work, irq->node) != ~0U) {
		u32 near = irq_balance_class(work, cpus, irq->allowed, irq->node);

		if (!bitmap_empty(irq_balance_bits(mach, near), mach->nr_cpus)) {
			item->near = near;
			item->node = irq_balance_node(work, irq->node);
		}
	}
	item->load = irq->state->load.fast;
	item->slow = irq->state->load.slow;
	item->sure = irq_balance_sure(set, &irq->state->load);
	item->place = item->home;
	return true;
}

/* Whether a position is in the node of the item's device, or it has none. */
static bool irq_balance_is_near(const struct irq_balance_work *work,
				const struct irq_balance_item *item, u32 pos)
{
	return item->node < 0 || work->index[pos] == (u32)item->node;
}

/* Sorts the machine into what can be moved and what is given. */
static void irq_balance_collect(struct irq_balance_work *work,
				const struct irq_balance_settings *set,
				struct irq_balance_cpu *cpus,
				struct irq_balance_irq *irqs, unsigned int nr_irqs)
{
	struct irq_balance_solver *s = &work->solver;
	struct irq_balance_machine *mach = &s->mach;
	unsigned int i, pos;

	irq_balance_order(mach, cpus);
	mach->nr_classes = 0;
	work->nr_nodes = 0;
	for (pos = 0; pos < mach->nr_cpus; pos++) {
		const struct irq_balance_cpu *cpu = &cpus[mach->cpu[pos]];
		u32 index;

		mach->scale[pos] = (IRQ_BALANCE_CAPACITY << IRQ_BALANCE_SCALE_SHIFT) /
				   cpu->capacity;
		mach->fixed[pos] = cpu->base.fast;
		mach->fixed_slow[pos] = cpu->base.slow;
		mach->fixed_sure[pos] = irq_balance_sure(set, &cpu->base);
		work->heavy[pos] = 0;
		if (pos && cpu->node == cpus[mach->cpu[pos - 1]].node)
			index = work->index[pos - 1];
		else
			index = irq_balance_node(work, cpu->node);
		if (index == ~0U) {
			index = work->nr_nodes++;
			work->node[index] = cpu->node;
			work->spilled[index] = false;
			work->away[index] = false;
			work->holds[index] = false;
		}
		work->index[pos] = index;
	}

	s->nr = 0;
	s->min_gain = set->min_gain;
	s->floor = irq_balance_heavy_load(set) * 3 / 4;
	for (i = 0; i < nr_irqs; i++) {
		const struct irq_balance_irq *irq = &irqs[i];
		const struct irq_balance_average *load = &irq->state->load;

		if (irq->cpu >= mach->nr_cpus)
			continue;
		work->heavy[mach->pos[irq->cpu]] += irq->state->heavy;
		s->items[s->nr].irq = i;
		if (irq_balance_collect_irq(work, set, cpus, irq, &s->items[s->nr])) {
			int node = s->items[s->nr].node;

			if (node >= 0) {
				work->holds[node] = true;
				work->away[node] |= irq->state->away;
			}
			s->nr++;
			continue;
		}
		pos = mach->pos[irq->cpu];
		mach->fixed[pos] += irq_balance_cost(mach, load->fast, pos);
		mach->fixed_slow[pos] += irq_balance_cost(mach, load->slow, pos);
		mach->fixed_sure[pos] +=
			irq_balance_cost(mach, irq_balance_sure(set, load), pos);
	}

	irq_balance_home(s, cpus);
	for (pos = 0; pos < mach->nr_cpus; pos++)
		cpus[mach->cpu[pos]].load = mach->load[pos];
}

/* Load of the worst CPU. */
static u64 irq_balance_peak(const struct irq_balance_machine *mach)
{
	u64 worst = 0;
	u32 pos;

	for (pos = 0; pos < mach->nr_cpus; pos++)
		worst = max(worst, mach->load[pos]);
	return worst;
}

/* Load of the worst CPU that has an item. */
static u64 irq_balance_worst_load(const struct irq_balance_machine *mach)
{
	u64 worst = 0;
	u32 pos;

	for (pos = 0; pos < mach->nr_cpus; pos++) {
		if (mach->items[pos])
			worst = max(worst, mach->load[pos]);
	}
	return worst;
}

/**
 * irq_balance_spill - find a node that is too full for its devices
 * @work:	workspace, solved
 * @set:	settings
 * @all:	find all of them, else the worst
 *
 * One after the other: when the worst lets go, others may be relieved.
 *
 * Return: whether one was found that was not known.
 */
static bool irq_balance_spill(struct irq_balance_work *work,
			      const struct irq_balance_settings *set, bool all)
{
	struct irq_balance_machine *mach = &work->solver.mach;
	u32 pos, worst = ~0U;

	for (pos = 0; pos < mach->nr_cpus; pos++) {
		u32 index = work->index[pos];
		u64 limit = IRQ_BALANCE_FULL / 100 * set->node_limit;

		if (work->away[index])
			limit -= limit / 8;
		if (work->spilled[index] || !work->holds[index] ||
		    !mach->items[pos] || set->node_limit == 100 ||
		    mach->load[pos] <= limit)
			continue;
		if (worst == ~0U || mach->load[pos] > mach->load[worst])
			worst = pos;
		if (all)
			work->spilled[index] = true;
	}
	if (worst != ~0U)
		work->spilled[work->index[worst]] = true;
	return worst != ~0U;
}

/* Brings home what can come without making the worst CPU worse. */
static void irq_balance_bring_home(struct irq_balance_work *work, u64 worst)
{
	struct irq_balance_solver *s = &work->solver;
	struct irq_balance_machine *mach = &s->mach;
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		struct irq_balance_item *item = &s->items[s->order[i]];
		u32 from = item->place, to;

		if (item->class != item->near ||
		    irq_balance_is_near(work, item, from))
			continue;
		irq_balance_discharge(mach, from,
				      irq_balance_cost(mach, item->load, from));
		to = irq_balance_find(mach, item, worst);
		item->place = to == ~0U ? from : to;
		irq_balance_charge(mach, item->place,
				   irq_balance_cost(mach, item->load, item->place));
	}
}

/**
 * irq_balance_locate - solve, with the rule for nodes
 * @work:	workspace, everything collected
 * @set:	settings
 * @cpus:	the CPUs
 *
 * Everything is held in its node first. Nodes whose worst CPU passes the
 * limit then let their interrupts go, and it is solved again, until no other
 * node does. When bringing strangers home would make the worst CPU worse,
 * they may stay where they are.
 */
static void irq_balance_locate(struct irq_balance_work *work,
			       const struct irq_balance_settings *set,
			       const struct irq_balance_cpu *cpus)
{
	struct irq_balance_solver *s = &work->solver;
	unsigned int i, round;
	bool relaxed = false, again = true;
	u64 before;

	irq_balance_home(s, cpus);
	before = irq_balance_worst_load(&s->mach);
	for (i = 0; i < work->nr_nodes; i++)
		work->spilled[i] = false;

	for (round = 0; again; round++) {
		bool strange = false, forced = false;

		for (i = 0; i < s->nr; i++) {
			struct irq_balance_item *item = &s->items[i];
			bool held = item->node >= 0 && !work->spilled[item->node];
			bool near = irq_balance_is_near(work, item, item->home);

			item->class = held ? item->near : item->wide;
			item->stay = item->may_stay && (!held || near || relaxed);
			strange |= held && !near;
			forced |= !item->may_stay;
		}
		irq_balance_solve(s, cpus);
		again = round < 2 * NODE_ROUNDS &&
			irq_balance_spill(work, set, round >= NODE_ROUNDS);
		if (again || !strange)
			continue;
		if (relaxed) {
			irq_balance_bring_home(work, before);
		} else if (!forced && irq_balance_worst_load(&s->mach) > before) {
			relaxed = true;
			again = true;
		}
	}
}

/* Works out what the plan does to the CPUs that it touches, part by part. */
static void irq_balance_touched(struct irq_balance_work *work,
				const struct irq_balance_settings *set, u64 now,
				const struct irq_balance_cpu *cpus,
				const struct irq_balance_irq *irqs)
{
	struct irq_balance_solver *s = &work->solver;
	struct irq_balance_machine *mach = &s->mach;
	unsigned int i, j;

	memset(work->touch, 0, s->nr_parts * sizeof(*work->touch));
	for (i = 0; i < mach->nr_cpus; i++) {
		work->before[i] = mach->fixed[i];
		work->slow_before[i] = mach->fixed_slow[i];
		work->slow_after[i] = mach->fixed_slow[i];
		work->sure_before[i] = mach->fixed_sure[i];
		work->sure_after[i] = mach->fixed_sure[i];
		work->noise[i] = cpus[mach->cpu[i]].base.noise;
	}
	for (i = 0; i < s->nr; i++) {
		const struct irq_balance_item *item = &s->items[i];

		work->before[item->home] +=
			irq_balance_cost(mach, item->load, item->home);
		work->slow_before[item->home] +=
			irq_balance_cost(mach, item->slow, item->home);
		work->slow_after[item->place] +=
			irq_balance_cost(mach, item->slow, item->place);
		work->sure_before[item->home] +=
			irq_balance_cost(mach, item->sure, item->home);
		work->sure_after[item->place] +=
			irq_balance_cost(mach, item->sure, item->place);
		work->noise[item->home] +=
			irq_balance_cost(mach, irqs[item->irq].state->load.noise,
					 item->home);
	}
	for (i = 0; i < s->nr; i++) {
		const struct irq_balance_item *item = &s->items[i];
		const struct irq_balance_state *st = irqs[item->irq].state;
		struct irq_balance_touch *t = &work->touch[item->rank];
		u32 ends[] = { item->home, item->place };
		u64 quiet;

		if (item->place == item->home)
			continue;
		for (j = 0; j < ARRAY_SIZE(ends); j++) {
			u32 pos = ends[j];

			t->before = max(t->before, work->before[pos]);
			t->after = max(t->after, mach->load[pos]);
			t->slow_before = max(t->slow_before, work->slow_before[pos]);
			t->slow_after = max(t->slow_after, work->slow_after[pos]);
			t->sure_before = max(t->sure_before, work->sure_before[pos]);
			t->sure_after = max(t->sure_after, work->sure_after[pos]);
			t->noise = max(t->noise, work->noise[pos]);
		}
		if (!irq_balance_is_near(work, item, item->home) &&
		    irq_balance_is_near(work, item, item->place))
			t->near += irq_balance_cost(mach, item->load, item->home);
		t->forced |= !item->may_stay;
		quiet = irq_balance_ms(set->cooldown_ms);
		t->cooling |= st->moved && now - st->moved < quiet;
		t->restless |= st->moved && now - st->moved < quiet << st->churn;
		if (!t->moves)
			t->lone = true;
		if (work->heavy[item->home] > 1 ||
		    mach->scale[item->place] < mach->scale[item->home])
			t->lone = false;
		if (!t->moves++ || st->load.age_ms < t->age_ms)
			t->age_ms = st->load.age_ms;
	}
}

/* Whether a part's plan is worth it; see the policy's steps 4 and 5. */
static bool irq_balance_wanted(const struct irq_balance_settings *set,
			       const struct irq_balance_touch *t,
			       enum irq_balance_look look)
{
	u64 need = irq_balance_need(set, t->before);
	u64 gain;

	if (!t->moves)
		return false;
	if (t->forced)
		return true;
	if (t->cooling)
		return false;
	if (t->near && t->near >= need)
		return true;
	if (t->before < t->after + need)
		return false;
	/*
	 * One that has its CPU to itself has only that CPU's base load to flee
	 * from, and base load comes and goes.
	 */
	if (t->lone && t->before < LONE_LOAD)
		return false;
	gain = t->before - t->after;
	if (!t->lone && gain * 8 >= div_u64(t->before, 1000) * set->min_gain * 15 &&
	    gain >= t->noise && t->sure_before >= t->sure_after +
	    irq_balance_need(set, t->sure_before))
		return true;
	if (t->restless)
		return false;
	/* What is begun now need not wait for history: it would be all the same. */
	if (t->age_ms < IRQ_BALANCE_YOUNG_MS)
		return look == IRQ_BALANCE_LOOK_SECOND;
	return t->slow_before >= t->slow_after + 2 * t->noise +
				 irq_balance_need(set, t->slow_before);
}

/**
 * irq_balance_judge - keep of a plan what is worth it
 * @work:	workspace, solved
 * @set:	settings
 * @now:	clock in ns
 * @cpus:	the CPUs
 * @irqs:	the interrupts
 * @look:	which look it is
 *
 * Return: whether anything is left of it.
 */
static bool irq_balance_judge(struct irq_balance_work *work,
			      const struct irq_balance_settings *set, u64 now,
			      const struct irq_balance_cpu *cpus,
			      const struct irq_balance_irq *irqs,
			      enum irq_balance_look look)
{
	struct irq_balance_solver *s = &work->solver;
	bool any = false;
	unsigned int i;

	irq_balance_touched(work, set, now, cpus, irqs);
	for (i = 0; i < s->nr_parts; i++) {
		struct irq_balance_touch *t = &work->touch[i];

		u64 gain = max(div_u64(t->before, 100), t->noise);

		if (!irq_balance_wanted(set, t, look) &&
		    (look != IRQ_BALANCE_LOOK_ANEW || t->after + gain >= t->before))
			t->moves = 0;
		any |= t->moves;
	}
	for (i = 0; i < s->nr; i++) {
		struct irq_balance_item *item = &s->items[i];

		if (!work->touch[item->rank].moves)
			item->place = item->home;
	}
	return any;
}

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

/**
 * irq_balance_gather - policy compact: as few CPUs of one package as it takes
 * @work:	workspace, everything collected and at home
 * @set:	settings
 * @cpus:	the CPUs
 *
 * First fit, heaviest first, on the CPUs that have most already. What may not
 * be in the package stays where it is.
 *
 * Return: whether fewer CPUs would have heavy interrupts.
 */
static bool irq_balance_gather(struct irq_balance_work *work,
			       const struct irq_balance_settings *set,
			       const struct irq_balance_cpu *cpus)
{
	struct irq_balance_solver *s = &work->solver;
	struct irq_balance_machine *mach = &s->mach;
	u64 limit = IRQ_BALANCE_FULL / 100 * set->compact_limit;
	unsigned int i, pkg, used = 0, best_used, best = ~0U;
	u32 pos;

	for (pos = 0; pos < mach->nr_cpus; pos++)
		used += mach->items[pos] > 0;
	best_used = used;

	/* The last round does again what the best one did. */
	for (pkg = 0; pkg <= mach->nr[IRQ_BALANCE_PACKAGE]; pkg++) {
		u32 which = pkg < mach->nr[IRQ_BALANCE_PACKAGE] ? pkg : best;
		const struct irq_balance_domain *dom;
		unsigned int now = 0;

		if (which == ~0U)
			break;
		dom = &mach->level[IRQ_BALANCE_PACKAGE][which];
		irq_balance_home(s, cpus);
		for (i = 0; i < s->nr; i++) {
			struct irq_balance_item *item = &s->items[s->order[i]];
			u32 to = item->place;

			irq_balance_discharge(mach, to,
					      irq_balance_cost(mach, item->load, to));
			for (pos = dom->first; pos < dom[1].first; pos++) {
				if (!irq_balance_may(mach, item, pos) ||
				    mach->load[pos] +
				    irq_balance_cost(mach, item->load, pos) > limit)
					continue;
				if (to < dom->first || to >= dom[1].first ||
				    mach->items[pos] > mach->items[to])
					to = pos;
			}
			item->place = to;
			irq_balance_charge(mach, to,
					   irq_balance_cost(mach, item->load, to));
		}
		for (pos = 0; pos < mach->nr_cpus; pos++)
			now += mach->items[pos] > 0;
		if (now < best_used) {
			best_used = now;
			best = pkg;
		}
	}
	if (best == ~0U)
		irq_balance_home(s, cpus);
	return best != ~0U;
}

/**
 * irq_balance_rotate - policy rotate: each one CPU further
 * @bal:	the balancer, solved: nothing is to be gained
 * @now:	clock in ns
 * @cpus:	the CPUs
 * @irqs:	the interrupts
 * @set:	settings
 *
 * Only with fewer heavy interrupts than CPUs, and where it makes the worst
 * CPU no worse.
 */
static void irq_balance_rotate(struct irq_balance *bal,
			       const struct irq_balance_settings *set, u64 now,
			       const struct irq_balance_cpu *cpus,
			       struct irq_balance_irq *irqs)
{
	struct irq_balance_solver *s = &bal->work->solver;
	struct irq_balance_machine *mach = &s->mach;
	unsigned int i, step, usable = 0;
	u64 worst;

	if (!bal->rotated)
		bal->rotated = now;
	if (now - bal->rotated < irq_balance_ms(set->rotate_ms))
		return;
	bal->rotated = now;
	irq_balance_home(s, cpus);
	for (i = 0; i < mach->nr_cpus; i++)
		usable += cpus[i].usable;
	if (!s->nr || s->nr >= usable ||
	    (set->max_moves && s->nr > set->max_moves))
		return;
	worst = irq_balance_worst_load(mach);
	for (i = 0; i < s->nr; i++)
		irq_balance_discharge(mach, s->items[i].home,
				      irq_balance_cost(mach, s->items[i].load,
						       s->items[i].home));
	for (i = 0; i < s->nr; i++) {
		struct irq_balance_item *item = &s->items[i];
		struct irq_balance_irq *irq = &irqs[item->irq];
		u32 to = item->home;

		for (step = 1; step < mach->nr_cpus; step++) {
			u32 cpu = (irq->cpu + step) % mach->nr_cpus;

			if (irq_balance_may(mach, item, mach->pos[cpu]) &&
			    mach->load[mach->pos[cpu]] +
			    irq_balance_cost(mach, item->load, mach->pos[cpu]) <= worst) {
				to = mach->pos[cpu];
				break;
			}
		}
		irq_balance_charge(mach, to, irq_balance_cost(mach, item->load, to));
		item->place = to;
	}
	/* A place may have been taken by one that could not leave: all or none. */
	if (irq_balance_worst_load(mach) > worst)
		return;
	for (i = 0; i < s->nr; i++) {
		struct irq_balance_item *item = &s->items[i];
		struct irq_balance_irq *irq = &irqs[item->irq];

		if (item->place == item->home)
			continue;
		irq->target = mach->cpu[item->place];
		irq->reason = IRQ_BALANCE_REASON_ROTATE;
		irq->state->target = irq->target;
		irq->state->planned = irq->reason;
		bal->nr_moves++;
	}
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

	for (round = 0; more && round < LOOKS_MAX; round++) {
		for (i = 0; i < s->nr; i++)
			irq_balance_settle_at(work, &s->items[i],
					      s->items[i].place, true);
		irq_balance_locate(work, set, cpus);
		more = irq_balance_judge(work, set, now, cpus, irqs,
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
	wanted = irq_balance_judge(work, set, now, cpus, irqs,
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
	if (now < bal->hold)
		return;
	s->min_gain = set->min_gain;
	if (!compact && !irq_balance_look_on(work, set, now, cpus, irqs))
		return;
	irq_balance_begin(bal, cpus, irqs, compact);
}

/* Says which interrupts are to be moved now. */
static void irq_balance_publish(struct irq_balance *bal,
				const struct irq_balance_settings *set, u64 now,
				const struct irq_balance_cpu *cpus,
				struct irq_balance_irq *irqs,
				unsigned int nr_irqs)
{
	struct irq_balance_solver *s = &bal->work->solver;
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
	}
	bal->stuck = bal->nr_done ? 0 : bal->stuck + 1;
	if (!bal->nr_moves || bal->stuck > STUCK_MAX) {
		for (i = 0; i < nr_irqs; i++) {
			irqs[i].target = irqs[i].cpu;
			irqs[i].reason = IRQ_BALANCE_REASON_NONE;
			irqs[i].gain = 0;
		}
		bal->nr_moves = 0;
		irq_balance_drop(bal, irqs, nr_irqs);
		bal->hold = now + irq_balance_ms(IRQ_BALANCE_YOUNG_MS);
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
	bool restless;

	bal->nr_moves = 0;
	if (bal->kicked)
		bal->probe = 3;
	bal->kicked = false;
	if (bal->probe)
		bal->probe--;

	irq_balance_measure(bal, set, now, cpus, nr_cpus, irqs, nr_irqs);
	irq_balance_arrivals(bal, now, cpus, nr_cpus, irqs, nr_irqs);
	irq_balance_collect(bal->work, set, cpus, irqs, nr_irqs);

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

	restless = bal->active || bal->nr_moves || bal->confirmed || bal->probe ||
		   (bal->nr_heavy && bal->work->unsettled);
	irq_balance_pace(bal, set, now, restless);
	irq_balance_limits(bal, set, cpus, nr_cpus, irqs, nr_irqs);
	return bal->nr_moves;
}
