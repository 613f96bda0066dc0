// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-balance-place
 *
 * 1. The *load* of a CPU is the time per second that its interrupts, its own softirqs and its
 *    real-time tasks take; on a CPU of half the capacity an interrupt takes twice the time.
 * 2. First, what may not stay where it is goes to the CPU that ends lowest, and what is far from its
 *    device comes nearer if a CPU there ends with at most 70 %.
 * 3. Then the busiest CPU makes a *step*: one interrupt leaves it; or one leaves, and up to four
 *    lighter ones give way where it goes; or several leave that are too light one by one.
 * 4. A step is worth it if each CPU that it touches ends below what the busiest one had, by the
 *    *price*; the first kind that is worth it is made, of these the step that ends lowest, of
 *    equal ones (within half a per cent) that of the lightest interrupt.
 * 5. The price is ``min_gain`` of that load and the IPIs of redirected interrupts, a third more of
 *    ``min_gain`` if others give way; the first step of a pass has to gain what the loads of both
 *    CPUs may be off by, besides.
 * 6. If none is worth it an interrupt may leave busy neighbours, for a third more: a sibling weighs
 *    a quarter of its load, other cores of the cache or the package an eighth.
 * 7. If that is not worth it either the CPU is *done*, and the next busiest follows; from then on
 *    none gives way, and a CPU with at most 80 % has to gain a quarter of its load.
 * 8. CPUs of the device's node come before others of its package, these before the rest: what is
 *    farther is open only if all that are nearer would end above 80 %.
 *
 * For example, with loads in ms/s, and CPUs that share nothing but their package::
 *
 *    CPU                        0      1      2
 *    interrupts that may      600    200      -
 *    move, heaviest first     500    200
 *                                    150
 *    all the rest               0      0      0
 *
 * CPU 0 is the busiest. If 600 leave for CPU 2 both end with 600 at most, and if 500 leave they do,
 * too: the interrupt with 500 moves. CPU 0 has 600 then, and is done, as no step makes that less.
 * CPU 1 has 550, and would have to gain 137.5: its lightest interrupt would bring CPU 2 to 650.
 * CPU 2 has one interrupt, as CPU 0. So that is all.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>

#include "place.h"

/* A CPU with no more than this (in units of heavy) has next to nothing to do */
#define LITTLE		2U

/* Interrupts that give way to one */
#define GIVE_WAY	4U

/* CPUs that a pass looks at, after which it looks for none that give way */
#define EFFORT		16384U

/* An interrupt comes back to a nearer CPU that ends with at most this, ns/s */
#define COME_BACK	(IRQ_BALANCE_NEARLY_FULL / 8 * 7)

/* An interrupt leaves for a faster CPU only from one with at least this load, ns/s */
#define WAKES		(IRQ_BALANCE_FULL / 4)

/*
 * With SMT two busy siblings do about 1.15 to 1.3 times the work of one, so that each takes
 * 1.5 to 1.7 times as long for its own (the scheduler assumed 1.15 up to 4.20: smt_gain). But
 * they are busy at the same time only in part: a sibling weighs a quarter of its load. Other
 * cores share caches, memory and the power budget: they weigh an eighth.
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
	const struct irq_balance_cpu *c = &w->cpus[cpu];

	w->slots[cpu].load += load;
	w->slots[cpu].variance += variance;
	w->slots[c->core].core_load += load;
	w->slots[c->llc].cache_load += load;
	w->slots[c->package].package_load += load;
}

/* What its neighbours do to a CPU with such a load of its own */
static u64 company(const struct irq_balance_work *w, u32 cpu, u64 own)
{
	const struct irq_balance_cpu *c = &w->cpus[cpu];
	u64 core = w->slots[c->core].core_load;
	u64 others = (w->slots[c->package].package_load - core) / 2 +
		     (w->slots[c->llc].cache_load - core) / 2;

	return min((core - w->slots[cpu].load) >> SIBLINGS_SHIFT, own) +
	       min(others >> PACKAGE_SHIFT, own / 2);
}

/* The load of a CPU with so much more of its own */
static u64 load_with(const struct irq_balance_work *w, u32 cpu, u64 more)
{
	u64 own = w->slots[cpu].load + more;

	return own + (w->company ? company(w, cpu, own) : 0);
}

/* Puts an item into the list of a CPU, which has the heaviest first */
static void enter(struct irq_balance_work *w, struct irq_balance_item *it, u32 cpu)
{
	struct irq_balance_item *prev = NULL, *next;

	/* Items are in that order in their array */
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
	irq_balance_charge(w, cpu, irq_balance_cost(w, it->load, cpu),
			   irq_balance_square(irq_balance_cost(w, it->error, cpu)));
}

static void put(struct irq_balance_work *w, struct irq_balance_item *it, u32 cpu)
{
	hlist_del(&it->at);
	irq_balance_charge(w, it->place, -irq_balance_cost(w, it->load, it->place),
			   -irq_balance_square(irq_balance_cost(w, it->error, it->place)));
	w->nr_moved += (cpu != it->home) - (it->place != it->home);
	enter(w, it, cpu);
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
	/* A few per cent are no reason to wake a CPU that is an eighth faster, or more */
	if (slot->scale + slot->scale / 8 < home->scale && it->stay &&
	    w->cpus[it->home].load < WAKES)
		return false;
	return slot->room && test_bit(cpu, it->allowed);
}

static u32 distance(const struct irq_balance_work *w, const struct irq_balance_item *it, u32 cpu)
{
	if (it->node < 0 || it->node >= (int)w->nr_cpus || !w->slots[it->node].package ||
	    w->cpus[cpu].node == it->node)
		return 0;
	return 1 + w->cpus[cpu].package == w->slots[it->node].package ? 1 : 2;
}

/*
 * The CPU that ends lowest with an item, of equal ones that with least company. What is farther
 * from its device is open only if all CPUs that are nearer would be nearly full, the present one
 * included. @end: how low, ns/s
 */
static u32 pick(struct irq_balance_work *w, struct irq_balance_item *it, u32 farthest, u64 *end)
{
	struct { u64 key, tie, end; u32 cpu; bool closes; } best[NR_DISTANCES];
	u64 here = irq_balance_cost(w, it->load, it->place), own, load, tie;
	u32 cpu, d, found = 0;

	for (d = 0; d < NR_DISTANCES; d++)
		best[d] = (typeof(*best)) { .key = ~0ULL, .cpu = IRQ_BALANCE_NOWHERE };
	/* It is no company for itself */
	irq_balance_charge(w, it->place, -here, 0);
	if (it->place != it->home || it->stay)
		best[distance(w, it, it->place)].closes =
			w->slots[it->place].load + here <= IRQ_BALANCE_NEARLY_FULL;
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
	for (d = 0; d < farthest && !best[d].closes; d++) {
		if (best[d + 1].key < best[found].key)
			found = d + 1;
	}
	w->why = best[found].cpu == IRQ_BALANCE_NOWHERE ? IRQ_BALANCE_WHY_FULL :
		 d < farthest && best[d + 1].key < best[found].key ? IRQ_BALANCE_WHY_NODE :
								     IRQ_BALANCE_WHY_BEST;
	*end = best[found].end;
	return best[found].cpu;
}

/* The price of a move off a CPU, but for tolls and errors, ns/s */
static u64 price(const struct irq_balance_work *w, u32 from)
{
	u64 load = load_with(w, from, 0);
	u64 least = max(div_u64(load, 1000) * w->set->min_gain, irq_balance_heavy(w->set) / 2);

	/* A small gain helps nobody if a busier CPU keeps what it has */
	return w->done && !w->company && load <= IRQ_BALANCE_NEARLY_FULL ? max(least, load / 4) :
									    least;
}

/* A step from here has to gain so many thirds of the price */
static void begin(struct irq_balance_work *w, u32 from, u32 thirds)
{
	w->from = from;
	w->before = load_with(w, from, 0);
	w->variance = w->slots[from].variance;
	w->least = div_u64(price(w, from) * thirds, 3);
	w->limit = w->before - min(w->before, w->least);
	w->nr_trail = 0;
}

/*
 * Why the step in the trail is not worth it, NONE: it is. Each CPU that it touches has to end
 * below what the first one had. What just leaves is less there for sure, whatever the errors;
 * and once a CPU gains for sure, the rest of the plan may be as likely as not.
 */
static enum irq_balance_why why_not(const struct irq_balance_work *w)
{
	u64 least = w->least, gain;
	unsigned int i;
	u32 cpu;

	for (i = 0; i < w->nr_trail; i++)
		least += w->trail[i]->toll;
	for (i = 0; i <= w->nr_trail; i++) {
		cpu = i < w->nr_trail ? w->trail[i]->place : w->from;
		gain = w->before - min(w->before, load_with(w, cpu, 0));
		if (gain < least)
			return IRQ_BALANCE_WHY_GAIN;
		if (!w->proven && i < w->nr_trail && irq_balance_square(gain - least) <
						     w->variance + w->slots[cpu].variance)
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
	most = w->company ? w->slots[w->from].load + w->least / 2 : ~0ULL;
	hlist_for_each_entry(it, &w->slots[w->from].items, at) {
		left = load_with(w, w->from, -irq_balance_cost(w, it->load, w->from));
		/* Lighter items leave more */
		if (left >= worst || (whole && left > w->limit))
			break;
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

/* Items that are lighter than the one that has come give way, until the CPU is below the limit */
static bool give_way(struct irq_balance_work *w, const struct irq_balance_item *to_this, u32 cpu)
{
	struct irq_balance_item *it, *next;
	u64 end, excess;
	u32 to, where = 0;

	while (load_with(w, cpu, 0) > w->limit && w->nr_trail <= GIVE_WAY) {
		excess = load_with(w, cpu, 0) - w->limit;
		next = NULL;
		/* The lightest that suffices, or else the heaviest */
		hlist_for_each_entry(it, &w->slots[cpu].items, at) {
			if (it->load >= to_this->load)
				continue;
			if (next && irq_balance_cost(w, it->load, cpu) < excess)
				break;
			to = pick(w, it, NR_DISTANCES - 1, &end);
			if (to == IRQ_BALANCE_NOWHERE || end > w->limit)
				continue;
			next = it;
			where = to;
		}
		if (!next)
			return false;
		try(w, next, where);
	}
	return !why_not(w);
}

/* A move and the few lighter ones that give way to it, the fewest that are worth it */
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
		}
	}
	if (!best)
		return false;
	try(w, best, where);
	return give_way(w, best, where);
}

/* Makes a step that relieves a CPU; returns whether there is one that is worth it */
static bool relieve(struct irq_balance_work *w, u32 from)
{
	bool found;

	begin(w, from, 3);
	if (try_one(w, true))
		return true;
	begin(w, from, 4);
	if (!w->done && try_way(w))
		return true;
	begin(w, from, 3);
	while (load_with(w, from, 0) > w->limit && w->nr_moved < IRQ_BALANCE_MOVES_MAX &&
	       w->nr_trail < IRQ_BALANCE_MOVES_MAX && try_one(w, false))
		;
	/* If they are too many for one pass, the next one goes on */
	if (w->nr_moved == IRQ_BALANCE_MOVES_MAX || (w->nr_trail && !why_not(w)))
		return true;
	take_back(w);
	w->company = true;
	begin(w, from, 4);
	found = try_one(w, true);
	w->company = false;
	return found;
}

/* The busiest CPU that has an item and is not done */
static u32 busiest(const struct irq_balance_work *w)
{
	u64 most = LITTLE * irq_balance_heavy(w->set);
	u32 cpu, found = IRQ_BALANCE_NOWHERE;

	for (cpu = 0; cpu < w->nr_cpus; cpu++) {
		if (hlist_empty(&w->slots[cpu].items) || w->slots[cpu].done ||
		    w->slots[cpu].load <= most)
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

/**
 * irq_balance_place - Find the placement
 * @w:	the workspace, with the loads that no plan changes, and the items
 */
void irq_balance_place(struct irq_balance_work *w)
{
	unsigned int i, steps = 4 * IRQ_BALANCE_MOVES_MAX;
	u32 cpu;

	w->nr_moved = 0;
	w->spent = 0;
	w->done = false;
	w->proven = false;
	w->company = false;
	for (i = w->nr; i-- > 0;)
		enter(w, &w->items[i], w->items[i].home);
	place_strays(w);
	while (steps && w->nr_moved < IRQ_BALANCE_MOVES_MAX) {
		cpu = busiest(w);
		if (cpu == IRQ_BALANCE_NOWHERE)
			break;
		if (relieve(w, cpu)) {
			w->proven = true;
			steps--;
		} else {
			w->slots[cpu].done = true;
			w->done = true;
		}
	}
}
