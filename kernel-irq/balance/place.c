// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-balance-place
 *
 * The planner chooses a CPU for each heavy interrupt. It makes few moves, and only moves that are
 * worth it.
 *
 * The *load* of a CPU is the time per second that its interrupts and its own softirqs take; the
 * *worst* CPU is the one with most, of those that have a heavy interrupt. ``min_gain`` is the part
 * of it that a plan has to take off, besides the tolls of the interrupts that move: of IPIs that
 * they will need, and of load that followed them before. *Enough* is a lower bound for the worst
 * CPU, plus ``min_gain`` of that. The bound is the largest of: all load divided evenly; the
 * heaviest interrupt; and, with m CPUs, the k + 1 lightest of the k * m + 1 heaviest interrupts, as
 * k + 1 of these have to share a CPU; these with the least that a CPU has besides. An interrupt
 * moves only inside its device's node, if that has a CPU for it, until the node lets go (6). An
 * interrupt with less than ``heavy`` is part of what its CPU has, unless such interrupts fill it.
 *
 * 1. An interrupt that may not stay where it is goes to the CPU whose load is lowest then.
 * 2. One that is away from its device's node, and is ``min_gain`` of its CPU's load, goes back if a
 *    CPU there has at most 80 % with it, or 70 % if the node has let one go, and no more than the
 *    worst CPU.
 * 3. Take the worst CPU. If it has at most enough, the search ends, unless it has the heaviest
 *    interrupt, which may have to be alone: that says nothing of the others.
 * 4. Bring it down to enough by few moves: one of its interrupts goes, and up to two others give
 *    way, each from where the last one went; or several go, each time the lightest that suffices or
 *    else the heaviest that fits elsewhere; or one goes to a CPU from which several then leave.
 *    Failing that, try the same half way between enough and just ``min_gain``, then for that. Once
 *    a CPU is done (6) this step is left out.
 * 5. Failing that, make the one move after which the worse of both CPUs is lowest or, if several
 *    bring both down to enough, that of the lightest interrupt. Repeat 4 and 5 until all that moves
 *    have touched is ``min_gain`` below the load that the worst CPU had. The first CPU that is
 *    relieved has to gain the error of the difference besides. If that never comes, take the moves
 *    back; with 64 moves the next pass goes on.
 * 6. If there are no such moves, the CPU has more than these 80 or 70 %, and its node holds some of
 *    that, the node lets go. Failing that, the CPU is done, and enough is worked out anew for the
 *    others. As no move helps the worst CPU any more, a CPU that has at most 80 % has to gain a
 *    quarter of its load. Go on with 3, up to 64 moves.
 * 7. Cancel each move whose interrupt can stay after all: its CPU has no more than enough with
 *    it, or than the CPU to which it goes, and, if it had more than enough before, still
 *    ``min_gain`` less than that.
 * 8. If that takes more than one move, repeat all from 1 with half of ``min_gain`` more in
 *    *enough*, up to three times. Of plans whose worst CPU has hardly more than with
 *    the best one (a third of ``min_gain``) the one with fewest moves counts.
 * 9. On a CPU weigh, besides, its siblings with a quarter of their load, all other cores of its
 *    package with an eighth, both for no more than it has itself. Move an interrupt to the core
 *    or package that is least busy if that makes this weight less by ``min_gain``, and its load
 *    at most half of ``min_gain`` more. One that is on its device's node stays on it. While a
 *    move is tried again that failed, others wait, but for those of 1.
 * 10. CPUs that end equally low, and up to enough all are, differ by the load of their node,
 *     package, cache and core, their own load, tasks and priority, their capacity, and by the
 *     driver's hint.
 *
 * For example, interrupts with 300, 200 and 100 ms/s share a CPU, and another CPU has one with
 * 400 ms/s. Evenly divided each CPU would have 500 ms/s, so 525 are enough. The worst CPU
 * has 600. The lightest interrupt whose move brings it down to 525 is the one with 100: then
 * both have 500. The first CPU then differs from before by this interrupt only. The second has 400
 * and 100 where the worst had 300, 200 and 100: three of these differ. If each may be off by 20
 * ms/s, the gain of 100 may be off by the root of 3 * 20^2, 35 ms/s. That leaves 65, and 30 are
 * needed: ``min_gain``, 5 %, of 600.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>

#include "place.h"

/* A CPU with no more than this (in units of heavy) has next to nothing to do */
#define LITTLE		2U

/* So many limits are tried, each half of min_gain above the one before */
#define TRIES		4U

/* A step moves up to FEW interrupts, each to where the next one leaves, or less than MANY */
#define FEW		3U
#define MANY		16U

/* A search for those that give way takes so many steps for each item and CPU */
#define EFFORT		16U

/* Load (ns/s) of a CPU from which its node lets interrupts go, and takes them back */
#define NODE_LIMIT	(IRQ_BALANCE_FULL / 100 * 80)
#define NODE_BACK	(NODE_LIMIT / 8 * 7)

/*
 * With SMT two busy siblings do about 1.15 to 1.3 times the work of one, so that each takes
 * 1.5 to 1.7 times as long for its own (the scheduler assumed 1.15 up to 4.20: smt_gain). But
 * they are busy at the same time only in part: a sibling weighs a quarter of its load. Other
 * cores share caches, memory and the power budget: they weigh an eighth.
 */
#define SIBLINGS_SHIFT	2
#define PACKAGE_SHIFT	3

/* Loads are compared in units of 2^20 ns/s, a thousandth of a CPU, where any will do */
#define EQUAL_SHIFT	20

static struct irq_balance_domain *irq_balance_domain(const struct irq_balance_work *w,
						     u32 level, u32 pos)
{
	return &w->domains[level][w->slots[pos].first[level]];
}

/* Whether an item may be put on a CPU; a CPU without room keeps what it has */
static bool irq_balance_may(const struct irq_balance_work *w, const struct irq_balance_item *it,
			    u32 pos)
{
	const struct irq_balance_slot *slot = &w->slots[pos], *home = &w->slots[it->home];

	if (pos == it->home)
		return it->stay;
	/* A few per cent are no reason to wake a CPU that is an eighth faster, or more */
	if (slot->scale + slot->scale / 8 < home->scale && it->stay &&
	    home->before < IRQ_BALANCE_WAKES)
		return false;
	return pos >= it->first && pos < it->end && pos != it->refused && slot->room &&
	       test_bit(slot->cpu, it->allowed);
}

/*
 * The time that an item takes of a CPU. One that saturates the CPU takes, besides, the time that
 * light interrupts would wait for it, which makes it leave them.
 */
static u64 irq_balance_takes(const struct irq_balance_work *w, const struct irq_balance_item *it,
			     u32 pos)
{
	u64 cost = irq_balance_cost(w, it->load, pos);

	return cost < IRQ_BALANCE_SATURATES ? cost : cost + w->slots[pos].wait;
}

/* Changes a load, by a sum with its square of errors; both may be negative */
static void irq_balance_charge(struct irq_balance_work *w, u32 pos, u64 cost, u64 error)
{
	u32 level;

	w->slots[pos].load += cost;
	w->slots[pos].error += error;
	for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++)
		irq_balance_domain(w, level, pos)->busy += cost;
}

/* Adds an item to the list of a CPU, which has the heaviest first */
static void irq_balance_enter(struct irq_balance_work *w, struct irq_balance_item *it, u32 pos)
{
	u64 error = irq_balance_cost(w, it->error, pos);
	struct irq_balance_item *prev = NULL, *next;

	/* Items are in that order in their array */
	hlist_for_each_entry(next, &w->slots[pos].items, at) {
		if (next > it)
			break;
		prev = next;
	}
	if (prev)
		hlist_add_behind(&it->at, &prev->at);
	else
		hlist_add_head(&it->at, &w->slots[pos].items);
	it->place = pos;
	irq_balance_charge(w, pos, irq_balance_takes(w, it, pos),
			   irq_balance_product(error, error));
}

/* Puts an item on a CPU */
static void irq_balance_put(struct irq_balance_work *w, struct irq_balance_item *it, u32 pos)
{
	u64 error = irq_balance_cost(w, it->error, it->place);

	hlist_del(&it->at);
	irq_balance_charge(w, it->place, -irq_balance_takes(w, it, it->place),
			   -irq_balance_product(error, error));
	w->nr_moved += (pos != it->home) - (it->place != it->home);
	irq_balance_enter(w, it, pos);
}

/* The same, so that it can be taken back */
static void irq_balance_try(struct irq_balance_work *w, struct irq_balance_item *it, u32 pos)
{
	w->trail[w->nr_trail++] = (struct irq_balance_trace) { it, it->place };
	irq_balance_put(w, it, pos);
}

static void irq_balance_take_back(struct irq_balance_work *w, unsigned int mark)
{
	while (w->nr_trail > mark) {
		w->nr_trail--;
		irq_balance_put(w, w->trail[w->nr_trail].it, w->trail[w->nr_trail].from);
	}
}

/* Puts every item where it is */
void irq_balance_home(struct irq_balance_work *w)
{
	u32 level, pos, i;

	for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++) {
		for (pos = 0; pos < w->nr_cpus; pos = w->domains[level][pos].end) {
			w->domains[level][pos].busy = 0;
			w->domains[level][pos].open = false;
		}
	}
	for (pos = 0; pos < w->nr_cpus; pos++) {
		struct irq_balance_slot *slot = &w->slots[pos];

		INIT_HLIST_HEAD(&slot->items);
		slot->load = 0;
		slot->error = 0;
		slot->done = false;
		irq_balance_charge(w, pos, slot->fixed, slot->fixed_error);
	}
	for (i = w->nr; i-- > 0;)
		irq_balance_enter(w, &w->items[i], w->items[i].home);
	for (pos = 0; pos < w->nr_cpus; pos++)
		w->slots[pos].before = w->slots[pos].load;
	w->nr_moved = 0;
}

/* Whether the domain of one CPU is busier than that of another, CPU for CPU */
static bool irq_balance_busier(const struct irq_balance_work *w, u32 level, u32 a, u32 b)
{
	const struct irq_balance_domain *x = irq_balance_domain(w, level, a);
	const struct irq_balance_domain *y = irq_balance_domain(w, level, b);

	return ((x->busy + x->bias) >> EQUAL_SHIFT) * y->nr >
	       ((y->busy + y->bias) >> EQUAL_SHIFT) * x->nr;
}

/* Whether one CPU is better than another that ends as low */
static bool irq_balance_prefers(const struct irq_balance_work *w, u32 a, u32 b)
{
	const struct irq_balance_slot *x = &w->slots[a], *y = &w->slots[b];
	u64 more = (x->load + x->bias) >> EQUAL_SHIFT, less = (y->load + y->bias) >> EQUAL_SHIFT;
	u32 level;

	for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++) {
		if (irq_balance_busier(w, level, b, a))
			return true;
		if (irq_balance_busier(w, level, a, b))
			return false;
	}
	if (more != less)
		return more < less;
	return x->scale < y->scale;
}

/* The CPU that shares least: of the least busy node its least busy package, ... */
static u32 irq_balance_least_shared(struct irq_balance_work *w, u32 first, u32 end)
{
	u32 level, pos, best;

	for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++) {
		best = first;
		for (pos = first; pos < end; pos = w->domains[level][pos].end) {
			w->spent++;
			if (!w->domains[level][best].nr ||
			    (w->domains[level][pos].nr && irq_balance_busier(w, level, best, pos)))
				best = pos;
		}
		first = best;
		end = w->domains[level][best].end;
	}
	for (pos = first; pos < end; pos++) {
		const struct irq_balance_slot *x = &w->slots[pos], *y = &w->slots[best];

		if (x->room && (!y->room || x->load + x->bias < y->load + y->bias))
			best = pos;
	}
	return best;
}

/* The load of a CPU with an item that goes there, and what it prefers others by */
static u64 irq_balance_end(const struct irq_balance_work *w, const struct irq_balance_item *it,
			   u32 pos)
{
	const struct irq_balance_slot *slot = &w->slots[pos], *old = &w->slots[it->place];

	return slot->load + irq_balance_takes(w, it, pos) +
	       max(slot->bias, old->bias) - old->bias;
}

/* The CPU that ends lowest with an item, but for where it is now; all up to @enough are equal */
static u32 irq_balance_pick(struct irq_balance_work *w, const struct irq_balance_item *it,
			    u64 enough)
{
	u64 least = ~0ULL, end, cost = irq_balance_takes(w, it, it->place);
	u32 pos, best, hint = it->hint;

	/* It is no company for itself */
	irq_balance_charge(w, it->place, -cost, 0);
	/* If the CPU that shares least is low enough there is no need to look at each */
	best = irq_balance_least_shared(w, it->first, it->end);
	if (best == it->place || !irq_balance_may(w, it, best) ||
	    irq_balance_end(w, it, best) > enough) {
		best = IRQ_BALANCE_NOWHERE;
		for (pos = it->first; pos < it->end; pos++) {
			end = max(irq_balance_end(w, it, pos), enough);
			if (end <= least && pos != it->place && irq_balance_may(w, it, pos) &&
			    (end < least || irq_balance_prefers(w, pos, best))) {
				least = end;
				best = pos;
			}
		}
		w->spent += it->end - it->first;
	}
	if (hint >= it->first && hint < it->end && hint != it->place &&
	    irq_balance_may(w, it, hint) && irq_balance_end(w, it, hint) <= enough &&
	    !irq_balance_prefers(w, best, hint))
		best = hint;
	irq_balance_charge(w, it->place, cost, 0);
	return best;
}

/* The same, if it ends within a limit */
static u32 irq_balance_pick_within(struct irq_balance_work *w, const struct irq_balance_item *it,
				   u64 limit)
{
	u32 pos;

	w->spent += it->end - it->first;
	/* Look for any CPU before looking for the best one: that takes less time */
	for (pos = it->first; pos < it->end; pos++) {
		if (pos != it->place && irq_balance_end(w, it, pos) <= limit &&
		    irq_balance_may(w, it, pos))
			return irq_balance_pick(w, it, min(limit, w->enough));
	}
	return IRQ_BALANCE_NOWHERE;
}

/*
 * The load of a CPU with an item that goes there, if its heaviest item gives way. If that is above
 * the limit no other item that gives way makes enough room.
 */
static u64 irq_balance_floor(const struct irq_balance_work *w, const struct irq_balance_item *it,
			     u32 pos)
{
	const struct hlist_head *items = &w->slots[pos].items;
	u64 load = irq_balance_end(w, it, pos);

	if (hlist_empty(items))
		return load;
	it = hlist_entry(items->first, struct irq_balance_item, at);
	return load - irq_balance_takes(w, it, pos);
}

/* Gets a CPU down to a limit by up to so many moves: an item goes, where it goes another does */
static bool irq_balance_make_room(struct irq_balance_work *w, u32 from, u64 limit,
				  unsigned int moves)
{
	struct irq_balance_item *it, *last = w->nr_trail ? w->trail[w->nr_trail - 1].it : NULL;
	unsigned int mark = w->nr_trail;
	u32 to;

	if (w->slots[from].load <= limit)
		return true;
	hlist_for_each_entry(it, &w->slots[from].items, at) {
		/* Lighter items leave more */
		if (w->slots[from].load - irq_balance_takes(w, it, from) > limit || !moves ||
		    w->spent > w->until)
			break;
		/* The one that has just come here would only pass through */
		if (it == last)
			continue;
		if (moves == 1) {
			to = irq_balance_pick_within(w, it, limit);
			if (to == IRQ_BALANCE_NOWHERE)
				continue;
			irq_balance_try(w, it, to);
			return true;
		}
		for (to = it->first; to < it->end; to++) {
			w->spent++;
			if (to == from || irq_balance_floor(w, it, to) > limit ||
			    !irq_balance_may(w, it, to))
				continue;
			irq_balance_try(w, it, to);
			if (irq_balance_make_room(w, to, limit, moves - 1))
				return true;
			irq_balance_take_back(w, mark);
		}
	}
	return false;
}

/*
 * Gets a CPU down to a limit by less than @most moves of its items, but for @keep: the lightest
 * one that suffices, or the heaviest. Returns how many, @most: it cannot be done.
 */
static unsigned int irq_balance_clear(struct irq_balance_work *w, u32 pos, u64 limit,
				      unsigned int most, const struct irq_balance_item *keep)
{
	struct irq_balance_item *it, *best;
	unsigned int moves;
	u32 to;

	for (moves = 0; w->slots[pos].load > limit; moves++) {
		u64 excess = w->slots[pos].load - limit;

		/* The last one in the list that suffices is the lightest */
		best = NULL;
		hlist_for_each_entry(it, &w->slots[pos].items, at) {
			if (it != keep && irq_balance_takes(w, it, pos) >= excess)
				best = it;
		}
		to = best ? irq_balance_pick_within(w, best, limit) : IRQ_BALANCE_NOWHERE;
		hlist_for_each_entry(it, &w->slots[pos].items, at) {
			if (to != IRQ_BALANCE_NOWHERE || w->spent > w->until)
				break;
			if (it == keep)
				continue;
			best = it;
			to = irq_balance_pick_within(w, it, limit);
		}
		if (to == IRQ_BALANCE_NOWHERE || moves + 1 >= most || w->spent > w->until)
			return most;
		irq_balance_try(w, best, to);
	}
	return moves;
}

/* Gets a CPU down to a limit by few moves: its items go, and where one goes others may give way */
static bool irq_balance_make_way(struct irq_balance_work *w, u32 from, u64 limit)
{
	unsigned int many = min(MANY, IRQ_BALANCE_MOVES_MAX - w->nr_moved + 1);
	unsigned int mark = w->nr_trail, most, moves;
	struct irq_balance_item *it, *best = NULL;
	u32 to, where = 0;

	/* Few moves are left to this pass: single ones only */
	if (many < MANY)
		return false;
	w->until = w->spent + EFFORT * (w->nr + w->nr_cpus);
	if (irq_balance_make_room(w, from, limit, 2))
		return true;
	/* How many moves would it take if several go, and none gives way? */
	most = irq_balance_clear(w, from, limit, many, NULL);
	irq_balance_take_back(w, mark);
	if (most >= FEW && irq_balance_make_room(w, from, limit, FEW))
		return true;
	/* Would it take fewer if one goes, to a CPU from which several then leave? */
	w->until = w->spent + EFFORT * (w->nr + w->nr_cpus);
	hlist_for_each_entry(it, &w->slots[from].items, at) {
		if (w->slots[from].load - irq_balance_takes(w, it, from) > limit)
			break;
		for (to = it->first; to < it->end; to++) {
			const struct irq_balance_slot *slot = &w->slots[to];

			if (w->spent++ > w->until || most <= FEW + 1)
				break;
			if (to == from || !irq_balance_may(w, it, to) ||
			    irq_balance_end(w, it, to) + slot->fixed > limit + slot->load)
				continue;
			irq_balance_try(w, it, to);
			moves = 1 + irq_balance_clear(w, to, limit, most - 1, it);
			irq_balance_take_back(w, mark);
			if (moves < most) {
				most = moves;
				best = it;
				where = to;
			}
		}
	}
	if (most == many)
		return false;
	/* The same once more */
	w->until = ~0U;
	if (best)
		irq_balance_try(w, best, where);
	irq_balance_clear(w, best ? where : from, limit, many, best);
	return true;
}

/*
 * The gain that is worth moves, for a CPU with that load. Once the worst CPU is done it is not
 * helped any more, so the gain has to be large, or to help a CPU that is nearly full.
 */
static u64 irq_balance_gain(const struct irq_balance_work *w, u64 load)
{
	u64 need = irq_balance_need(w, load);

	return w->dones && load <= NODE_LIMIT ? max(need, load / 4) : need;
}

/*
 * Makes a step that relieves a CPU: the best single move, unless a small set of moves brings the
 * CPU lower than the worse of both CPUs would be after that one.
 */
static bool irq_balance_step(struct irq_balance_work *w, u32 from)
{
	u64 load = w->slots[from].load, need = irq_balance_gain(w, load), least = ~0ULL;
	struct irq_balance_item *it, *best = NULL;
	u32 to, where = 0;

	hlist_for_each_entry(it, &w->slots[from].items, at) {
		u64 left = load - irq_balance_takes(w, it, from), end;

		/* Lighter items leave more */
		if (left >= least || (left > w->enough && least <= w->enough))
			break;
		to = irq_balance_pick(w, it, min(w->enough, load - min(need, load)));
		if (to == IRQ_BALANCE_NOWHERE)
			continue;
		end = max(left, irq_balance_end(w, it, to));
		if (end < load && it->why == IRQ_BALANCE_WHY_BEST)
			it->why = end + need + it->toll > load ? IRQ_BALANCE_WHY_GAIN :
								 IRQ_BALANCE_WHY_NOISE;
		if (end < load && (end < least || (end <= w->enough && it->load < best->load))) {
			best = it;
			where = to;
			least = end;
		}
	}
	/* From what is enough to what is just worth it, unless all of that is far away */
	it = hlist_entry_safe(w->slots[from].items.first, struct irq_balance_item, at);
	if (!w->dones && load > need && it &&
	    load <= min(w->enough, load - need) + MANY * irq_balance_takes(w, it, from)) {
		u64 most = load - need, limit = min(w->enough, most), step = (most - limit) / 2;

		for (; limit < least && limit <= most; limit += max(step, 1ULL)) {
			if (irq_balance_make_way(w, from, limit))
				return true;
		}
	}
	if (!best)
		return false;
	irq_balance_try(w, best, where);
	return true;
}

/*
 * Whether what is in the trail gains enough for the CPU @from: @before is the load that it had,
 * @error the square of what that may be off by. Each CPU to which an item went has to be as far
 * below it, or the load would only be somewhere else. The first CPU that is relieved has to gain in
 * spite of all errors.
 */
static bool irq_balance_is_worth(const struct irq_balance_work *w, u32 from, u64 before, u64 error)
{
	u64 need = irq_balance_gain(w, before);
	unsigned int i, k;

	if (!w->nr_trail)
		return false;
	for (i = 0; i < w->nr_trail; i++)
		need += w->trail[i].it->toll;
	for (i = 0; i <= w->nr_trail; i++) {
		u32 pos = i < w->nr_trail ? w->trail[i].it->place : from;
		u64 common = pos == from ? error : 0, gain;

		/* On both sides only the difference counts: (a - b)^2 = a^2 + b^2 - 2ab */
		for (k = 0; k < w->nr_trail; k++) {
			const struct irq_balance_trace *t = &w->trail[k];
			u64 e = irq_balance_cost(w, t->it->error, from);

			if (t->from != from)
				continue;
			if (pos == from)
				common -= min(common, irq_balance_product(e, e));
			else if (t->it->place == pos)
				common += irq_balance_product(e, irq_balance_cost(w, t->it->error,
										  pos));
		}
		gain = before - min(before, w->slots[pos].load + need);
		if (before < w->slots[pos].load + need)
			return false;
		/* Once one CPU gains for sure, the rest of the plan may be as likely as not */
		if (!w->proven &&
		    irq_balance_product(gain, gain) + 2 * common < error + w->slots[pos].error)
			return false;
	}
	return true;
}

/*
 * Relieves a CPU by steps that together are worth it. One step alone may be worth nothing: then it
 * stays until others have been made, or is taken back with them.
 */
static bool irq_balance_relieve(struct irq_balance_work *w, u32 from)
{
	u64 before = w->slots[from].load, error = w->slots[from].error;
	struct irq_balance_item *it;

	w->nr_trail = 0;
	hlist_for_each_entry(it, &w->slots[from].items, at)
		it->why = IRQ_BALANCE_WHY_BEST;
	while (w->nr_moved < IRQ_BALANCE_MOVES_MAX && w->nr_trail + MANY <= IRQ_BALANCE_TRAIL &&
	       (w->slots[from].load > w->enough || w->nr_trail) && irq_balance_step(w, from)) {
		/* If there are too many moves for one pass, the next one goes on */
		if (irq_balance_is_worth(w, from, before, error) ||
		    w->nr_moved == IRQ_BALANCE_MOVES_MAX) {
			hlist_for_each_entry(it, &w->slots[from].items, at)
				it->why = IRQ_BALANCE_WHY_BEST;
			w->proven = true;
			return true;
		}
	}
	irq_balance_take_back(w, 0);
	return false;
}

/* The worst CPU that has an item and is not done */
static u32 irq_balance_worst(const struct irq_balance_work *w)
{
	u32 pos, worst = IRQ_BALANCE_NOWHERE;

	for (pos = 0; pos < w->nr_cpus; pos++) {
		const struct irq_balance_slot *slot = &w->slots[pos];

		if (!hlist_empty(&slot->items) && !slot->done &&
		    (worst == IRQ_BALANCE_NOWHERE || slot->load > w->slots[worst].load))
			worst = pos;
	}
	return worst;
}

/*
 * The least that the worst CPU may get: all shared out by capacity, or of the k * m + 1 heaviest
 * interrupts those k + 1 that have to share one of m CPUs, on the fastest one
 */
static void irq_balance_set_enough(struct irq_balance_work *w)
{
	u64 bound = w->room ? div_u64(w->total, w->room) : 0, low = ~0ULL, shared;
	u32 pos, fast = ~0U, nr = 0, i, k, end;

	/* The heaviest on a CPU that is done sets no bound for the others */
	while (w->heaviest < w->nr && w->slots[w->items[w->heaviest].place].done)
		w->heaviest++;
	for (pos = 0; pos < w->nr_cpus; pos++) {
		low = min(low, w->slots[pos].fixed);
		fast = min(fast, w->slots[pos].scale);
		nr += w->cpus[w->slots[pos].cpu].usable;
	}
	/* Of the rest, once a CPU is done, this is only known of one interrupt */
	for (k = 0, end = w->heaviest; end < w->nr; k++, end += nr) {
		for (i = end - k, shared = 0; i <= end; i++)
			shared += w->items[i].load;
		bound = max(bound, low + ((shared * fast) >> IRQ_BALANCE_SCALE_SHIFT));
		if (w->dones || !nr)
			break;
	}
	w->enough = bound + irq_balance_need(w, bound) * (2 + w->slack) / 2;
}

/* Nothing relieves a CPU: the rest have to do with what they have */
static void irq_balance_set_done(struct irq_balance_work *w, u32 pos)
{
	struct irq_balance_slot *slot = &w->slots[pos];
	const struct irq_balance_cpu *cpu = &w->cpus[slot->cpu];

	slot->done = true;
	w->dones++;
	w->total -= min(w->total, (slot->load - (cpu->usable ? 0 : slot->fixed)) * cpu->capacity);
	w->room -= cpu->usable ? min(w->room, cpu->capacity) : 0;
	irq_balance_set_enough(w);
}

static bool irq_balance_in_range(const struct irq_balance_item *it, u32 pos)
{
	return pos >= it->first && pos < it->end;
}

/* Lets an item go anywhere, or to its device's node only, if that holds and has a CPU for it */
static void irq_balance_bind(struct irq_balance_work *w, struct irq_balance_item *it)
{
	u32 pos, node, end = 0;

	it->held = false;
	for (node = 0; it->node >= 0 && node < w->nr_cpus; node = end) {
		end = w->domains[IRQ_BALANCE_NODE][node].end;
		if (w->cpus[w->slots[node].cpu].node != it->node ||
		    w->domains[IRQ_BALANCE_NODE][node].open)
			continue;
		it->first = node;
		it->end = end;
		for (pos = node; pos < end && !it->held; pos++)
			it->held = irq_balance_may(w, it, pos);
		break;
	}
	if (!it->held) {
		it->first = 0;
		it->end = w->nr_cpus;
	}
}

/* Places what may not stay, and brings back what is away from its node */
static void irq_balance_place_strays(struct irq_balance_work *w, u64 worst)
{
	struct irq_balance_item *it;
	u64 limit;
	u32 pos;

	for (it = w->items; it < w->items + w->nr; it++) {
		bool remote = it->held && !irq_balance_in_range(it, it->home);

		if ((it->stay && !remote) || w->nr_moved == IRQ_BALANCE_MOVES_MAX)
			continue;
		pos = irq_balance_pick(w, it, w->enough);
		limit = irq_balance_domain(w, IRQ_BALANCE_NODE, it->first)->away ? NODE_BACK :
										  NODE_LIMIT;
		if (pos != IRQ_BALANCE_NOWHERE &&
		    (!it->stay || (irq_balance_end(w, it, pos) <= min(limit, worst) &&
				   irq_balance_takes(w, it, it->home) >=
				   irq_balance_need(w, w->slots[it->home].load)))) {
			irq_balance_put(w, it, pos);
		} else if (remote) {
			it->held = false;
			it->first = 0;
			it->end = w->nr_cpus;
		}
	}
}

/* A node lets its devices' interrupts go if a CPU is too full of them */
static bool irq_balance_let_go(struct irq_balance_work *w, u32 from)
{
	struct irq_balance_domain *node = irq_balance_domain(w, IRQ_BALANCE_NODE, from);
	struct irq_balance_item *it;
	bool holds = false;

	if (w->slots[from].load <= (node->away ? NODE_BACK : NODE_LIMIT))
		return false;
	hlist_for_each_entry(it, &w->slots[from].items, at)
		holds |= it->held && irq_balance_in_range(it, from);
	if (!holds)
		return false;
	node->open = true;
	for (it = w->items; it < w->items + w->nr; it++) {
		if (it->held && irq_balance_in_range(it, from))
			irq_balance_bind(w, it);
	}
	return true;
}

/*
 * The weight of its siblings, and of other cores of its package, beside a CPU, ns/s. They disturb
 * it for no longer than it runs itself, @load.
 */
static u64 irq_balance_company(const struct irq_balance_work *w, u32 pos, u64 load)
{
	const struct irq_balance_domain *core = irq_balance_domain(w, IRQ_BALANCE_CORE, pos);
	const struct irq_balance_domain *package = irq_balance_domain(w, IRQ_BALANCE_PACKAGE, pos);

	return (min(core->busy - w->slots[pos].load, load) >> SIBLINGS_SHIFT) +
	       (min(package->busy - core->busy, load) >> PACKAGE_SHIFT);
}

/*
 * Moves an item off a CPU that others disturb, to a core or package that is less busy. One that
 * is on its device's node would come back to it.
 */
static void irq_balance_separate(struct irq_balance_work *w, u32 from)
{
	u64 load = w->slots[from].load, need = irq_balance_need(w, load);
	u64 before = irq_balance_company(w, from, load), limit = load + need / 2, after, gain, e;
	u32 node = w->slots[from].first[IRQ_BALANCE_NODE], pos;
	struct irq_balance_item *it;

	if (before < need || w->nr_moved == IRQ_BALANCE_MOVES_MAX)
		return;
	hlist_for_each_entry(it, &w->slots[from].items, at) {
		if (from != it->home)
			continue;
		if (it->node == w->cpus[w->slots[from].cpu].node) {
			it->first = node;
			it->end = w->domains[IRQ_BALANCE_NODE][node].end;
		}
		pos = irq_balance_pick(w, it, limit);
		if (pos == IRQ_BALANCE_NOWHERE || irq_balance_end(w, it, pos) > limit)
			continue;
		irq_balance_put(w, it, pos);
		e = irq_balance_cost(w, it->error, pos);
		after = irq_balance_company(w, pos, load) + need + it->toll +
			max(w->slots[pos].load, load) - load;
		gain = before - min(before, after);
		if (before >= after &&
		    irq_balance_product(gain, gain) + irq_balance_product(e, e) >=
		    w->slots[from].error + w->slots[pos].error)
			return;
		irq_balance_put(w, it, from);
	}
}

/*
 * The load up to which an item may stay at home after all: enough, or what the CPU has to which
 * it goes. A home that was relieved keeps the least gain.
 */
static u64 irq_balance_back(const struct irq_balance_work *w, const struct irq_balance_item *it)
{
	u64 before = w->slots[it->home].before, limit;

	limit = max(w->enough, w->slots[it->place].load);
	if (before <= w->enough)
		return limit;
	return min(limit, before - min(before, irq_balance_need(w, before)));
}

/* Steps 1 to 7; returns what the worst CPU has then, of those that have or had an item */
static u64 irq_balance_search(struct irq_balance_work *w, u32 slack)
{
	u64 little = LITTLE * irq_balance_heavy(w->set), worst;
	struct irq_balance_item *it;
	u32 pos;

	irq_balance_home(w);
	w->slack = slack;
	w->spent = 0;
	w->total = 0;
	w->room = 0;
	w->heaviest = 0;
	w->dones = 0;
	w->proven = false;
	for (pos = 0; pos < w->nr_cpus; pos++) {
		const struct irq_balance_slot *slot = &w->slots[pos];
		const struct irq_balance_cpu *cpu = &w->cpus[slot->cpu];

		w->total += (slot->load - (cpu->usable ? 0 : slot->fixed)) * cpu->capacity;
		w->room += cpu->usable ? cpu->capacity : 0;
	}
	irq_balance_set_enough(w);
	for (it = w->items; it < w->items + w->nr; it++)
		irq_balance_bind(w, it);
	pos = irq_balance_worst(w);
	worst = pos == IRQ_BALANCE_NOWHERE ? 0 : w->slots[pos].load;
	irq_balance_place_strays(w, worst);

	while ((pos = irq_balance_worst(w)) != IRQ_BALANCE_NOWHERE &&
	       w->slots[pos].load > little && w->nr_moved < IRQ_BALANCE_MOVES_MAX) {
		/* A giant that is alone says nothing of the rest */
		if (w->slots[pos].load <= w->enough &&
		    (w->heaviest == w->nr || w->items[w->heaviest].place != pos))
			break;
		if (!irq_balance_relieve(w, pos) && !irq_balance_let_go(w, pos))
			irq_balance_set_done(w, pos);
	}

	/* Cancel moves that later ones have made needless, the lightest first */
	for (it = w->items + w->nr; it-- > w->items;) {
		if (it->stay && it->place != it->home && irq_balance_in_range(it, it->home) &&
		    w->slots[it->home].load + irq_balance_takes(w, it, it->home) <=
		    irq_balance_back(w, it))
			irq_balance_put(w, it, it->home);
	}
	for (it = w->items, worst = 0; it < w->items + w->nr; it++)
		worst = max3(worst, w->slots[it->home].load, w->slots[it->place].load);
	return worst;
}

/* No move relies on one that failed before: the next pass sees whether that is done */
static void irq_balance_await_doubt(struct irq_balance_work *w)
{
	struct irq_balance_item *it;
	bool doubt = false;

	for (it = w->items; it < w->items + w->nr; it++)
		doubt |= it->doubt && it->place != it->home;
	for (it = w->items; doubt && it < w->items + w->nr; it++) {
		if (it->stay && !it->doubt && it->place != it->home)
			irq_balance_put(w, it, it->home);
	}
}

/* Finds the placement: steps 8 and 9 */
void irq_balance_place(struct irq_balance_work *w)
{
	u64 least = 0, enough = 0, worst, margin;
	unsigned int moved = 0;
	struct irq_balance_item *it;
	u32 slack, pos;

	for (slack = 0; slack < TRIES; slack++) {
		worst = irq_balance_search(w, slack);
		margin = div_u64(irq_balance_need(w, worst), 3);
		if (!slack || worst + margin < least ||
		    (worst <= least + margin && w->nr_moved < moved)) {
			least = slack ? min(least, worst) : worst;
			enough = w->enough;
			moved = w->nr_moved;
			for (it = w->items; it < w->items + w->nr; it++)
				it->plan = it->place;
		}
		/* No plan is smaller, or the next pass goes on with it */
		if (w->nr_moved <= 1 || w->nr_moved == IRQ_BALANCE_MOVES_MAX)
			break;
	}
	w->enough = enough;
	for (it = w->items; it < w->items + w->nr; it++) {
		if (it->place != it->plan)
			irq_balance_put(w, it, it->plan);
	}
	for (pos = 0; pos < w->nr_cpus; pos++)
		irq_balance_separate(w, pos);
	irq_balance_await_doubt(w);
}
