// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-balance-place
 *
 * Which interrupts may move is in plan.c. A step *ends* with the highest load of the CPUs that
 * it touches.
 *
 * 1. The *load* of a CPU is the time per second that interrupts, its own softirqs and its
 *    real-time tasks take; on a CPU of half the capacity an interrupt takes twice the time.
 * 2. First, an interrupt that may not stay on its CPU goes to the CPU that is lowest with it,
 *    and one that is far from its device comes back to a nearer CPU if that ends at or below 70 %.
 * 3. Then the busiest CPU makes a *step*: (a) one of its interrupts moves; or (b) one moves, and
 *    up to six leave its new CPU for any others, lighter ones first; or (c) several move, one
 *    after the other, until that gains enough.
 * 4. A step is worth it if every CPU that it touches ends at least the *price* below what the
 *    busiest one had; the first kind with such a step is used, of its steps the one that ends
 *    lowest, and within half a per cent of a CPU the one that moves the lightest interrupt.
 * 5. The price is ``min_gain`` of the load of the busiest CPU (for kind b 3/16 of the price more,
 *    and 1/16 for each that gives way) and the IPIs of redirected interrupts; the first step of a
 *    pass has to gain the error of the other loads, and of a new one that moves, on top of that.
 * 6. If no step is worth it the CPU is *done* for this pass, and the next busiest follows; from
 *    then on one with up to 80 % makes no step of kind (b), and its price is a quarter of its load.
 * 7. Last, from the busiest CPU on, an interrupt may leave its neighbours for a CPU that ends with
 *    no more load, if they weigh 5/4 of the price less there: a sibling a quarter of its load,
 *    another core of the package and last-level cache an eighth, of one of both a sixteenth.
 * 8. CPUs in the device's node come first, then others of that package, then the rest: one that
 *    is farther is used only if all nearer ones, the present one included, would have more than
 *    80 % with the interrupt; one that is an eighth faster only to relieve a CPU with 25 % or more.
 *
 * For example, with loads in ms/s, and CPUs that share nothing but their package::
 *
 *    CPU                        0      1      2
 *    interrupts that may      500    200      -
 *    move, heaviest first     250    150
 *                                    100
 *    all the rest               0      0      0
 *
 * CPU 0 is the busiest. If the interrupt with 500 moves to CPU 2 the step ends with 500, and so it
 * does if that with 250 moves: the lighter one does. CPU 0 has 500 then, and is done, as no step
 * ends lower. CPU 1 has 450: if 100 moved to CPU 2 both would have 350. That gains 100, but a
 * quarter, 112.5, is needed. CPU 2 cannot gain anything either: this was the only move.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>

#include "place.h"

/* A CPU with no more than this (in units of heavy) makes no step */
#define LITTLE		2U

/* Most interrupts that give way to one */
#define GIVE_WAY	6U

/* The price of a step in which others give way, in sixteenths; and one more for each of them */
#define WAY_PARTS	19U

/*
 * CPUs that a pass looks at before it tries no more to have others give way; and as many before it
 * separates no more neighbours
 */
#define EFFORT		4096U

/* An interrupt comes back to a nearer CPU that ends with at most this, ns/s */
#define COME_BACK	(IRQ_BALANCE_NEARLY_FULL / 8 * 7)

/* An interrupt leaves for a much faster CPU only from one with at least this load, ns/s */
#define WAKES		(IRQ_BALANCE_FULL / 4)

/*
 * With SMT two busy siblings do about 1.15 to 1.3 times the work of one, so that each takes
 * 1.5 to 1.7 times as long for its own (the scheduler assumed 1.15 up to 4.20: smt_gain). As
 * they are not always busy at the same time, a sibling weighs less, a quarter of its load. Other
 * cores share caches, memory and the power budget: the eighth is a guess.
 */
#define SIBLINGS_SHIFT	2
#define PACKAGE_SHIFT	3

/* Loads that differ by less than 2^22 ns/s, half a per cent of a CPU, are equal */
#define EQUAL_SHIFT	22

/* How far a CPU is from a device: in its node, in the package of that, elsewhere */
#define NR_DISTANCES	3

/**
 * irq_balance_charge - Add to the load of a CPU
 * @w:		the workspace
 * @cpu:	the CPU
 * @load:	ns/s of that CPU, may be negative
 * @variance:	the square of what it may be off by, may be negative
 */
void irq_balance_charge(struct irq_balance_work *w, u32 cpu, u64 load, u64 variance)
{
	const struct irq_balance_cpu *c = &w->in.cpus[cpu];

	w->slots[cpu].load += load;
	w->slots[cpu].variance += variance;
	w->slots[c->core].core_load += load;
	w->slots[c->llc].cache_load += load;
	w->slots[c->package].package_load += load;
}

/* The weight of its neighbours for a CPU with such a load of its own, ns/s */
static u64 company(const struct irq_balance_work *w, u32 cpu, u64 own)
{
	const struct irq_balance_cpu *c = &w->in.cpus[cpu];
	u64 core = w->slots[c->core].core_load;
	u64 others = (w->slots[c->package].package_load - core) / 2 +
		     (w->slots[c->llc].cache_load - core) / 2;

	return min((core - w->slots[cpu].load) >> SIBLINGS_SHIFT, own) +
	       min(others >> PACKAGE_SHIFT, own / 2);
}

/* The load of a CPU with so much more of its own. With company, less of its own is no gain */
static u64 load_with(const struct irq_balance_work *w, u32 cpu, u64 more)
{
	u64 own = w->slots[cpu].load + more;

	if (!w->company)
		return own;
	own = max(own, w->own);
	return own + company(w, cpu, own);
}

/* Puts an item into the list of a CPU, which has the heaviest first, as their array has */
static void enter(struct irq_balance_work *w, struct irq_balance_item *it, u32 cpu)
{
	struct irq_balance_item *prev = NULL, *next;

	hlist_for_each_entry(next, &w->slots[cpu].items, at) {
		if (next > it)
			break;
		prev = next;
	}
	if (prev)
		hlist_add_behind(&it->at, &prev->at);
	else
		hlist_add_head(&it->at, &w->slots[cpu].items);
	it->place = cpu;
}

/* Adds an item to the load of the CPU where it is, or takes it off (-1) */
static void weigh(struct irq_balance_work *w, const struct irq_balance_item *it, u64 sign)
{
	u64 error = irq_balance_cost(w, it->error, it->place);

	irq_balance_charge(w, it->place, sign * irq_balance_cost(w, it->load, it->place),
			   sign * irq_balance_square(error));
}

static void put(struct irq_balance_work *w, struct irq_balance_item *it, u32 cpu)
{
	hlist_del(&it->at);
	if (!it->keeps || it->place != it->home)
		weigh(w, it, -1);
	w->nr_moved += (cpu != it->home) - (it->place != it->home);
	enter(w, it, cpu);
	if (!it->keeps || cpu != it->home)
		weigh(w, it, 1);
}

/* A move of the present step */
static void try(struct irq_balance_work *w, struct irq_balance_item *it, u32 cpu)
{
	it->from = it->place;
	w->trail[w->nr_trail++] = it;
	put(w, it, cpu);
}

static void take_back(struct irq_balance_work *w)
{
	while (w->nr_trail) {
		w->nr_trail--;
		put(w, w->trail[w->nr_trail], w->trail[w->nr_trail]->from);
	}
}

/* Whether an item may be put on a CPU; one without room keeps what it has */
static bool may(const struct irq_balance_work *w, const struct irq_balance_item *it, u32 cpu)
{
	const struct irq_balance_slot *slot = &w->slots[cpu], *home = &w->slots[it->home];

	if (cpu == it->home)
		return it->stay;
	/* A small load is no reason to wake a CPU that is an eighth faster, or more */
	if (slot->scale + slot->scale / 8 < home->scale && it->stay &&
	    w->in.cpus[it->home].load < WAKES)
		return false;
	return slot->room && test_bit(cpu, it->allowed);
}

static u32 distance(const struct irq_balance_work *w, const struct irq_balance_item *it, u32 cpu)
{
	if (it->node < 0 || it->node >= (int)w->nr_cpus || !w->slots[it->node].package ||
	    w->in.cpus[cpu].node == it->node)
		return 0;
	return 1 + w->in.cpus[cpu].package == w->slots[it->node].package ? 1 : 2;
}

/* Why no CPU may be picked: full if one is allowed, and none has a free vector */
static enum irq_balance_why why_nowhere(const struct irq_balance_work *w,
					const struct irq_balance_item *it)
{
	enum irq_balance_why why = IRQ_BALANCE_WHY_BEST;
	u32 cpu;

	for (cpu = 0; cpu < w->nr_cpus; cpu++) {
		if (cpu == it->home || !w->in.cpus[cpu].usable || !test_bit(cpu, it->allowed))
			continue;
		if (w->slots[cpu].room)
			return IRQ_BALANCE_WHY_BEST;
		why = IRQ_BALANCE_WHY_FULL;
	}
	return why;
}

/*
 * The CPU that ends lowest with an item, of equal ones that with least company. CPUs that are
 * farther from its device are open only if it would make all nearer ones nearly full, its present
 * one included. @end: how low, ns/s
 */
static u32 pick(struct irq_balance_work *w, struct irq_balance_item *it, u32 farthest, u64 *end)
{
	struct { u64 key, tie, end; u32 cpu; bool closes; } best[NR_DISTANCES];
	u64 here = irq_balance_cost(w, it->load, it->place), own, load, tie;
	u32 cpu, d, found = 0, away = distance(w, it, it->place);

	for (d = 0; d < NR_DISTANCES; d++)
		best[d] = (typeof(*best)) { .key = ~0ULL, .cpu = IRQ_BALANCE_NOWHERE };
	/* It is no company for itself */
	irq_balance_charge(w, it->place, -here, 0);
	if (it->place != it->home || it->stay)
		best[away].closes = w->slots[it->place].load + here <= IRQ_BALANCE_NEARLY_FULL;
	for (cpu = 0; cpu < w->nr_cpus; cpu++) {
		d = distance(w, it, cpu);
		own = w->slots[cpu].load + irq_balance_cost(w, it->load, cpu);
		if (own >> EQUAL_SHIFT > best[d].key &&
		    (best[d].closes || own > IRQ_BALANCE_NEARLY_FULL))
			continue;
		if (cpu == it->place || !may(w, it, cpu))
			continue;
		best[d].closes |= own <= IRQ_BALANCE_NEARLY_FULL;
		load = load_with(w, cpu, own - w->slots[cpu].load);
		tie = cpu == it->hint ? 0 : w->slots[cpu].bias + company(w, cpu, own);
		if (load >> EQUAL_SHIFT < best[d].key ||
		    (load >> EQUAL_SHIFT == best[d].key && tie < best[d].tie))
			best[d] = (typeof(*best)) { load >> EQUAL_SHIFT, tie, load, cpu,
						    best[d].closes };
	}
	irq_balance_charge(w, it->place, here, 0);
	w->spent += w->nr_cpus;
	/* CPUs that are no farther than its present one are open */
	for (d = 0; d < farthest && (!best[d].closes || (away <= farthest && d < away)); d++) {
		if (best[d + 1].key < best[found].key)
			found = d + 1;
	}
	w->why = d < farthest && best[d + 1].key < best[found].key ? IRQ_BALANCE_WHY_NODE :
		 best[found].cpu == IRQ_BALANCE_NOWHERE ? why_nowhere(w, it) : IRQ_BALANCE_WHY_BEST;
	*end = best[found].end;
	return best[found].cpu;
}

/* The price of a move off a CPU, but for tolls and errors, ns/s */
static u64 price(const struct irq_balance_work *w, u32 from)
{
	const struct irq_balance_settings *set = w->in.set;
	u64 load = load_with(w, from, 0);
	u64 least = max(div_u64(load, 1000) * set->min_gain, irq_balance_heavy(set) / 2);

	/* A small gain is worth no move if a busier CPU keeps its load */
	return w->done && !w->company && load <= IRQ_BALANCE_NEARLY_FULL ? max(least, load / 4) :
									    least;
}

/* The step has to gain so many sixteenths of the price */
static void demand(struct irq_balance_work *w, u32 parts)
{
	w->least = w->price * parts / 16;
	w->limit = w->before - min(w->before, w->least);
}

static void begin(struct irq_balance_work *w, u32 from, u32 parts)
{
	w->from = from;
	w->own = w->slots[from].load;
	w->before = load_with(w, from, 0);
	w->variance = w->slots[from].variance;
	w->price = price(w, from);
	demand(w, parts);
	w->noise = false;
	w->nr_trail = 0;
}

/*
 * The square of what the gain may be off by on the CPU where an item has come. If it has left the
 * busiest one its own load is in both sums, so that its error cancels, but for what one of the CPUs
 * takes longer. A load that is new counts in full: within seconds it is known what had better move.
 */
static u64 noise(const struct irq_balance_work *w, const struct irq_balance_item *it)
{
	u64 variance = w->variance + w->slots[it->place].variance;
	u64 before = irq_balance_cost(w, it->error, it->from);
	u64 after = irq_balance_cost(w, it->error, it->place);

	if (it->from != w->from || !it->known)
		return variance;
	return variance - irq_balance_square(before) - irq_balance_square(after) +
	       irq_balance_square(abs_diff(before, after));
}

/*
 * Why the step in the trail is not worth it, NONE: it is. Each CPU that it touches has to end
 * below the load that the first one had. One that interrupts just leave has less, whatever the
 * errors; and once a CPU gains for sure, the rest of the plan may be as likely as not.
 */
static enum irq_balance_why why_not(const struct irq_balance_work *w)
{
	u64 least = w->least, gain;
	unsigned int i;
	u32 cpu;

	for (i = 0; i < w->nr_trail; i++)
		least += w->trail[i]->toll;
	for (i = 0; i < w->nr_trail + !w->company; i++) {
		cpu = i < w->nr_trail ? w->trail[i]->place : w->from;
		gain = w->before - min(w->before, load_with(w, cpu, 0));
		if (gain < least)
			return IRQ_BALANCE_WHY_GAIN;
		if (!w->proven && i < w->nr_trail &&
		    irq_balance_square(gain - least) < noise(w, w->trail[i]))
			return IRQ_BALANCE_WHY_NOISE;
	}
	return IRQ_BALANCE_WHY_NONE;
}

/*
 * The move after which the busier of both CPUs is lowest, of equal ones that of least load. With
 * @whole it has to be worth it by itself.
 */
static bool try_one(struct irq_balance_work *w, bool whole)
{
	u64 least = ~0ULL, worst = ~0ULL, most, left, end;
	struct irq_balance_item *it, *best = NULL;
	enum irq_balance_why why;
	u32 to, where = 0;
	bool fits;

	/* To have no company is worth little load of its own */
	most = w->company ? w->own + w->least / 2 : ~0ULL;
	hlist_for_each_entry(it, &w->slots[w->from].items, at) {
		left = w->company ? 0 :
		       load_with(w, w->from, -irq_balance_cost(w, it->load, w->from));
		/* Lighter items leave more */
		if (left >= worst || (whole && left > w->limit))
			break;
		/* On no CPU it takes less than this. Most interrupts fit nowhere */
		if (w->lowest + it->load > min(w->limit, most)) {
			if (whole && !w->company)
				it->why = w->lowest + it->load < w->before ? IRQ_BALANCE_WHY_GAIN :
									      IRQ_BALANCE_WHY_BEST;
			continue;
		}
		to = pick(w, it, NR_DISTANCES - 1, &end);
		fits = to != IRQ_BALANCE_NOWHERE && end <= w->limit &&
		       w->slots[to].load + irq_balance_cost(w, it->load, to) <= most;
		why = w->why;
		if (to != IRQ_BALANCE_NOWHERE && !fits && end < w->before)
			why = IRQ_BALANCE_WHY_GAIN;
		if (fits && whole) {
			try(w, it, to);
			why = why_not(w);
			take_back(w);
			fits = !why;
		}
		w->noise |= why == IRQ_BALANCE_WHY_NOISE;
		if (!fits && whole && !w->company)
			it->why = why;
		end = max(left, end);
		if (!fits || end >> EQUAL_SHIFT > least ||
		    (end >> EQUAL_SHIFT == least && it->load == best->load))
			continue;
		best = it;
		where = to;
		least = end >> EQUAL_SHIFT;
		worst = left == end ? left : end + (1 << EQUAL_SHIFT);
	}
	if (best)
		try(w, best, where);
	return best;
}

/*
 * Items give way to the one that has come, until the CPU is below the limit: lighter ones, or if
 * none can, heavier ones, but no farther from their device. The mask of the one that has come may
 * leave it no other CPU.
 */
static bool give_way(struct irq_balance_work *w, const struct irq_balance_item *comer, u32 cpu)
{
	struct irq_balance_item *it, *next;
	u32 to, farthest, where = 0;
	u64 end, excess;
	int heavier;

	while (load_with(w, cpu, 0) > w->limit && w->nr_trail <= GIVE_WAY) {
		demand(w, WAY_PARTS + w->nr_trail);
		excess = load_with(w, cpu, 0) - w->limit;
		next = NULL;
		for (heavier = 0; heavier < 2 && !next; heavier++) {
			/* The lightest that suffices, or else the heaviest */
			hlist_for_each_entry(it, &w->slots[cpu].items, at) {
				if (heavier ? it >= comer : it <= comer)
					continue;
				if (next && irq_balance_cost(w, it->load, cpu) < excess)
					break;
				farthest = heavier ? distance(w, it, cpu) : NR_DISTANCES - 1;
				to = pick(w, it, farthest, &end);
				if (to == IRQ_BALANCE_NOWHERE || end > w->limit)
					continue;
				next = it;
				where = to;
			}
		}
		if (!next)
			return false;
		try(w, next, where);
	}
	return !why_not(w);
}

/* A move and the few that give way to it, the fewest that are worth it */
static bool try_way(struct irq_balance_work *w)
{
	struct irq_balance_item *it, *best = NULL;
	unsigned int most = GIVE_WAY + 2;
	u32 cpu, where = 0;

	hlist_for_each_entry(it, &w->slots[w->from].items, at) {
		if (load_with(w, w->from, -irq_balance_cost(w, it->load, w->from)) > w->limit)
			break;
		for (cpu = 0; cpu < w->nr_cpus && w->spent < EFFORT; cpu++) {
			if (cpu == w->from || hlist_empty(&w->slots[cpu].items) ||
			    irq_balance_cost(w, it->load, cpu) > w->limit ||
			    distance(w, it, cpu) || !may(w, it, cpu))
				continue;
			try(w, it, cpu);
			if (give_way(w, it, cpu) && w->nr_trail < most) {
				most = w->nr_trail;
				best = it;
				where = cpu;
			}
			take_back(w);
			demand(w, WAY_PARTS + 1);
		}
	}
	if (best)
		try(w, best, where);
	return best && give_way(w, best, where);
}

/* Makes a step that relieves a CPU; returns whether there is one that is worth it */
static bool relieve(struct irq_balance_work *w, u32 from)
{
	begin(w, from, 16);
	if (try_one(w, true))
		return true;
	begin(w, from, WAY_PARTS + 1);
	if ((!w->done || w->before > IRQ_BALANCE_NEARLY_FULL) &&
	    w->nr_moved + GIVE_WAY < IRQ_BALANCE_MOVES_MAX && try_way(w))
		return true;
	begin(w, from, 16);
	while (load_with(w, from, 0) > w->limit && w->nr_moved < IRQ_BALANCE_MOVES_MAX &&
	       w->nr_trail < IRQ_BALANCE_MOVES_MAX && try_one(w, false))
		;
	/* If they are too many for one pass, the next one goes on */
	if (w->nr_trail && (w->nr_trail == IRQ_BALANCE_MOVES_MAX || !why_not(w)))
		return true;
	take_back(w);
	return false;
}

/* The same for one that has busy neighbours */
static bool separate(struct irq_balance_work *w, u32 from)
{
	begin(w, from, 20);
	/* Alone it would have its own load */
	return w->before - w->own >= w->least && try_one(w, true);
}

/* The busiest CPU that has an item and is not done */
static u32 busiest(struct irq_balance_work *w)
{
	u64 most = LITTLE * irq_balance_heavy(w->in.set);
	u32 cpu, found = IRQ_BALANCE_NOWHERE;

	w->lowest = ~0ULL;
	for (cpu = 0; cpu < w->nr_cpus; cpu++) {
		w->lowest = min(w->lowest, w->slots[cpu].load);
		if (w->slots[cpu].load <= most || w->slots[cpu].done ||
		    hlist_empty(&w->slots[cpu].items))
			continue;
		most = w->slots[cpu].load;
		found = cpu;
	}
	return found;
}

/* Places what may not stay, and what may come nearer to its device */
static void place_strays(struct irq_balance_work *w)
{
	struct irq_balance_item *it;
	u32 cpu, away;
	u64 end;

	for (it = w->items; it < w->items + w->nr && w->nr_moved < IRQ_BALANCE_MOVES_MAX; it++) {
		away = distance(w, it, it->home);
		if (it->stay && (!away || irq_balance_cost(w, it->load, it->home) <
				 price(w, it->home)))
			continue;
		cpu = pick(w, it, it->stay ? away - 1 : NR_DISTANCES - 1, &end);
		if (cpu != IRQ_BALANCE_NOWHERE && (!it->stay || end <= COME_BACK))
			put(w, it, cpu);
	}
}

static void make_steps(struct irq_balance_work *w,
		       bool (*step)(struct irq_balance_work *w, u32 from))
{
	unsigned int steps = 4 * IRQ_BALANCE_MOVES_MAX;
	u32 cpu;

	w->done = false;
	for (cpu = 0; cpu < w->nr_cpus; cpu++)
		w->slots[cpu].done = false;
	while (steps && w->nr_moved < IRQ_BALANCE_MOVES_MAX) {
		cpu = busiest(w);
		if (cpu == IRQ_BALANCE_NOWHERE)
			break;
		if (step(w, cpu)) {
			w->proven = true;
			steps--;
			continue;
		}
		/* The busiest one is separated first, once its load is known */
		if (w->company && (w->noise || w->spent >= EFFORT))
			break;
		w->slots[cpu].done = true;
		w->done = true;
	}
}

/**
 * irq_balance_place - Find the placement
 * @w:	the workspace, with the loads that no plan changes, and the items
 */
void irq_balance_place(struct irq_balance_work *w)
{
	unsigned int i;

	w->nr_moved = 0;
	w->spent = 0;
	w->proven = false;
	w->company = false;
	for (i = w->nr; i-- > 0;) {
		enter(w, &w->items[i], w->items[i].home);
		weigh(w, &w->items[i], 1);
	}
	place_strays(w);
	make_steps(w, relieve);
	w->company = true;
	w->spent = 0;
	make_steps(w, separate);
}
