// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: where each heavy interrupt should be
 *
 * To place n interrupts on m CPUs so that the worst CPU has least to do is
 * NP-hard. Here CPUs above a limit give their heaviest interrupts to the CPUs
 * that end lowest (longest processing time first, R. L. Graham, 1969). Then
 * moves, swaps and sharing out the interrupts of two CPUs anew relieve the worst
 * CPU. After that the placement is perturbed and relieved again, as long as that
 * may pay. Nodes hold their devices' interrupts up to NODE_LIMIT: irq_balance_place().
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>

#include "place.h"

/* Steps of work for each item and CPU, and in all: a few nanoseconds each */
#define EFFORT		48U
#define EFFORT_MAX	150000U

/* Items of two CPUs that are shared out anew, at most 64 */
#define PAIR_MAX	40U

/* Load (ns/s) of a CPU from which its node lets interrupts go, and takes them back */
#define NODE_LIMIT	(IRQ_BALANCE_FULL / 100 * 80)
#define NODE_BACK	(NODE_LIMIT / 8 * 7)

/* Domains are compared in units of 2^20 ns/s: a thousandth of a CPU */
#define BUSY_SHIFT	20

/* Whether a CPU is one that an item may be moved to, if its mask allows it and there is room */
static bool irq_balance_in_range(const struct irq_balance_item *it, u32 pos)
{
	return pos >= it->first && pos < it->end;
}

/* Whether an item may be at a CPU; a CPU without room keeps what it has */
bool irq_balance_may(const struct irq_balance_work *w, const struct irq_balance_item *it, u32 pos)
{
	if (pos == it->home)
		return it->stay;
	return irq_balance_in_range(it, pos) && (w->flags[pos] & IRQ_BALANCE_ROOM) &&
	       test_bit(w->cpu[pos], it->allowed);
}

static void irq_balance_charge(struct irq_balance_work *w, u32 pos, u64 cost)
{
	u32 level;

	w->load[pos] += cost;
	for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++)
		w->domain[level][w->first[level][pos]].busy += cost;
}

/* Puts an item on a CPU, or on IRQ_BALANCE_NOWHERE */
void irq_balance_put(struct irq_balance_work *w, struct irq_balance_item *it, u32 pos)
{
	if (it->place == pos)
		return;
	if (it->place != IRQ_BALANCE_NOWHERE) {
		hlist_del(&it->at);
		irq_balance_charge(w, it->place, -irq_balance_cost(w, it->load, it->place));
	}
	it->place = pos;
	if (pos != IRQ_BALANCE_NOWHERE) {
		hlist_add_head(&it->at, &w->items_at[pos]);
		irq_balance_charge(w, pos, irq_balance_cost(w, it->load, pos));
	}
}

/* Puts every item where it is */
void irq_balance_home(struct irq_balance_work *w)
{
	u32 level, pos, i;

	for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++) {
		for (pos = 0; pos < w->nr_cpus; pos++)
			w->domain[level][pos].busy = 0;
	}
	for (pos = 0; pos < w->nr_cpus; pos++) {
		w->load[pos] = 0;
		INIT_HLIST_HEAD(&w->items_at[pos]);
		irq_balance_charge(w, pos, w->fixed[pos]);
	}
	for (i = w->nr; i-- > 0;) {
		w->items[i].place = IRQ_BALANCE_NOWHERE;
		irq_balance_put(w, &w->items[i], w->items[i].home);
	}
}

/* Whether the domain of one CPU is busier than that of another, CPU for CPU */
static bool irq_balance_busier(const struct irq_balance_work *w, u32 level, u32 a, u32 b)
{
	const struct irq_balance_domain *x = &w->domain[level][w->first[level][a]];
	const struct irq_balance_domain *y = &w->domain[level][w->first[level][b]];

	return (x->busy >> BUSY_SHIFT) * y->nr > (y->busy >> BUSY_SHIFT) * x->nr;
}

/* Whether a CPU shares less than another: package, then cache, then core */
static bool irq_balance_apart(const struct irq_balance_work *w, u32 a, u32 b)
{
	u32 level;

	for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++) {
		if (irq_balance_busier(w, level, b, a))
			return true;
		if (irq_balance_busier(w, level, a, b))
			return false;
	}
	return w->load[a] < w->load[b];
}

/* The CPU that shares least: of the least busy node its least busy package, ... */
static u32 irq_balance_least_shared(struct irq_balance_work *w, u32 first, u32 end)
{
	u32 level, pos, best;

	for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++) {
		best = first;
		for (pos = first; pos < end; pos = w->domain[level][pos].end) {
			w->spent++;
			if (!w->domain[level][best].nr ||
			    (w->domain[level][pos].nr && irq_balance_busier(w, level, best, pos)))
				best = pos;
		}
		first = best;
		end = w->domain[level][best].end;
	}
	for (pos = first; pos < end; pos++) {
		if (w->load[pos] < w->load[best])
			best = pos;
	}
	return best;
}

/* Where an item ends lowest; up to the limit only what CPUs share counts */
static u32 irq_balance_pick(struct irq_balance_work *w, const struct irq_balance_item *it,
			    u64 limit)
{
	u32 pos, best = irq_balance_least_shared(w, it->first, it->end);
	u64 least = ~0ULL, end;

	if (irq_balance_may(w, it, best) &&
	    w->load[best] + irq_balance_cost(w, it->load, best) <= limit)
		return best;
	best = IRQ_BALANCE_NOWHERE;
	for (pos = it->first; pos < it->end; pos++) {
		end = max(w->load[pos] + irq_balance_cost(w, it->load, pos), limit);
		if (end <= least && irq_balance_may(w, it, pos) &&
		    (end < least || irq_balance_apart(w, pos, best))) {
			least = end;
			best = pos;
		}
	}
	w->spent += it->end - it->first;
	return best;
}

/* Puts what is nowhere, heaviest first, where it ends lowest */
static void irq_balance_fill(struct irq_balance_work *w)
{
	struct irq_balance_item *it;

	for (it = w->items; it < w->items + w->nr; it++) {
		if (it->place == IRQ_BALANCE_NOWHERE) {
			u32 pos = irq_balance_pick(w, it, w->enough);

			irq_balance_put(w, it, pos == IRQ_BALANCE_NOWHERE ? it->home : pos);
		}
	}
}

/* Home again where there is room, the lightest first: fewest moves */
static void irq_balance_undo(struct irq_balance_work *w)
{
	struct irq_balance_item *it = w->items + w->nr;

	while (it-- > w->items) {
		if (it->stay && it->place != it->home &&
		    w->load[it->home] + irq_balance_cost(w, it->load, it->home) <= w->enough)
			irq_balance_put(w, it, it->home);
	}
}

/* Takes the items off CPUs that are not good enough, the heaviest first */
static void irq_balance_strip(struct irq_balance_work *w)
{
	struct irq_balance_item *it;

	irq_balance_home(w);
	for (it = w->items; it < w->items + w->nr; it++) {
		if (!it->stay || w->load[it->home] > w->enough)
			irq_balance_put(w, it, IRQ_BALANCE_NOWHERE);
	}
}

/* Gets a CPU to at most @most by a move or a swap: the first that is good enough, or the best */
static bool irq_balance_relieve(struct irq_balance_work *w, u32 from, u64 most)
{
	struct irq_balance_item *it, *jt, *give = NULL, *take = NULL;
	u32 to = 0, pos;

	hlist_for_each_entry(it, &w->items_at[from], at) {
		u64 left = w->load[from] - irq_balance_cost(w, it->load, from);

		if (w->spent >= w->until || (give && most <= w->enough))
			break;
		if (left > most)
			continue;
		for (pos = it->first; pos < it->end; pos++) {
			u64 got, end;
			bool apart;

			w->spent++;
			if (w->load[pos] >= most || !irq_balance_may(w, it, pos))
				continue;
			got = w->load[pos] + irq_balance_cost(w, it->load, pos);
			end = max(got, left);
			apart = end == most &&
				(!give || (!take && irq_balance_apart(w, pos, to)));
			if (end < most || apart) {
				most = end;
				give = it;
				take = NULL;
				to = pos;
			}
			hlist_for_each_entry(jt, &w->items_at[pos], at) {
				w->spent++;
				end = max(left + irq_balance_cost(w, jt->load, from),
					  got - irq_balance_cost(w, jt->load, pos));
				if (end >= most || !irq_balance_may(w, jt, from))
					continue;
				most = end;
				give = it;
				take = jt;
				to = pos;
			}
		}
	}
	if (!give)
		return false;
	irq_balance_put(w, give, to);
	if (take)
		irq_balance_put(w, take, from);
	return true;
}

/* The items of two CPUs in their order; returns how many, more than PAIR_MAX if too many */
static u32 irq_balance_gather(struct irq_balance_work *w, u32 a, u32 b,
			      struct irq_balance_item **found)
{
	struct irq_balance_item *it;
	u32 nr = 0, both[] = { a, b }, i, n;

	for (n = 0; n < 2; n++) {
		hlist_for_each_entry(it, &w->items_at[both[n]], at) {
			if (nr == PAIR_MAX)
				return nr + 1;
			for (i = nr++; i && found[i - 1] > it; i--)
				found[i] = found[i - 1];
			found[i] = it;
		}
	}
	return nr;
}

/*
 * Takes load off a CPU by sharing its items and those of another CPU out anew,
 * heaviest first. A CPU with a heavy item and one with many light ones may change
 * places that way.
 */
static bool irq_balance_relieve_pair(struct irq_balance_work *w, u32 from, u64 most)
{
	struct irq_balance_item *found[PAIR_MAX];
	u32 pos, i, nr;

	for (pos = 0; pos < w->nr_cpus && w->spent < w->until; pos++) {
		u64 load[] = { w->fixed[from], w->fixed[pos] }, where = 0;

		w->spent++;
		if (pos == from)
			continue;
		nr = irq_balance_gather(w, from, pos, found);
		if (nr > PAIR_MAX)
			continue;
		w->spent += nr;
		for (i = 0; i < nr; i++) {
			u64 end[] = { load[0] + irq_balance_cost(w, found[i]->load, from),
				      load[1] + irq_balance_cost(w, found[i]->load, pos) };
			u32 to = end[1] < end[0];

			if (!irq_balance_may(w, found[i], to ? pos : from))
				to = !to;
			if (end[to] > most || !irq_balance_may(w, found[i], to ? pos : from))
				break;
			load[to] = end[to];
			where |= (u64)to << i;
		}
		if (i < nr)
			continue;
		while (i-- > 0)
			irq_balance_put(w, found[i], where >> i & 1 ? pos : from);
		return true;
	}
	return false;
}

/* The worst CPU that has an item and may be relieved yet */
static u32 irq_balance_worst(const struct irq_balance_work *w)
{
	u32 pos, worst = IRQ_BALANCE_NOWHERE;

	for (pos = 0; pos < w->nr_cpus; pos++) {
		if (!hlist_empty(&w->items_at[pos]) && !(w->flags[pos] & IRQ_BALANCE_FROZEN) &&
		    (worst == IRQ_BALANCE_NOWHERE || w->load[pos] > w->load[worst]))
			worst = pos;
	}
	return worst;
}

static u64 irq_balance_top(const struct irq_balance_work *w)
{
	u32 worst = irq_balance_worst(w);

	return worst == IRQ_BALANCE_NOWHERE ? 0 : w->load[worst];
}

/*
 * Relieves the worst CPU as long as a move or a swap does, then the next one: with @each
 * as long as each step is worth it, otherwise until all are good enough.
 */
static void irq_balance_descend(struct irq_balance_work *w, bool each)
{
	u32 worst, pos;

	while ((worst = irq_balance_worst(w)) != IRQ_BALANCE_NOWHERE && w->spent < w->until) {
		u64 load = w->load[worst], least = each ? irq_balance_need(w, load) : 1;

		if (each ? least >= load : load <= w->enough)
			break;
		w->spent += w->nr_cpus;
		if (!irq_balance_relieve(w, worst, load - least) &&
		    (each || !irq_balance_relieve_pair(w, worst, load - least)))
			w->flags[worst] |= IRQ_BALANCE_FROZEN;
	}
	for (pos = 0; pos < w->nr_cpus; pos++)
		w->flags[pos] &= ~IRQ_BALANCE_FROZEN;
}

/* The steps that a search may take: they grow with the problem */
static u32 irq_balance_effort(const struct irq_balance_work *w)
{
	return min((u64)EFFORT * w->nr * w->nr_cpus, EFFORT_MAX);
}

/* Relieves each CPU, the worst first, by moves and swaps that each gain enough */
void irq_balance_settle(struct irq_balance_work *w)
{
	w->until = w->spent + irq_balance_effort(w);
	irq_balance_descend(w, true);
}

static void irq_balance_keep(struct irq_balance_work *w)
{
	u32 i;

	for (i = 0; i < w->nr; i++)
		w->items[i].best = w->items[i].place;
}

static void irq_balance_restore(struct irq_balance_work *w)
{
	u32 i;

	for (i = 0; i < w->nr; i++)
		irq_balance_put(w, &w->items[i], w->items[i].best);
}

/* Moves an item off the worst CPU, then one off the CPU that got it, and so on, taking turns */
static void irq_balance_perturb(struct irq_balance_work *w)
{
	u32 from = irq_balance_worst(w), kicks = 1 + w->turn % 5, nr, pos, tries;
	struct irq_balance_item *it;

	while (kicks--) {
		w->turn++;
		nr = w->turn % hlist_count_nodes(&w->items_at[from]);
		hlist_for_each_entry(it, &w->items_at[from], at) {
			if (!nr--)
				break;
		}
		for (tries = 0; tries < w->nr_cpus; tries++) {
			pos = w->cursor++ % w->nr_cpus;
			if (pos != from && irq_balance_may(w, it, pos)) {
				irq_balance_put(w, it, pos);
				from = pos;
				break;
			}
		}
	}
	w->spent += w->nr_cpus;
}

/* Perturbed placements, as long as none is good enough */
static void irq_balance_iterate(struct irq_balance_work *w)
{
	u64 least = irq_balance_top(w);
	u32 away = 0;

	irq_balance_keep(w);
	w->turn = 0;
	w->cursor = 0;
	while (least > w->enough && w->spent < w->until) {
		u64 top;

		irq_balance_perturb(w);
		irq_balance_descend(w, false);
		top = irq_balance_top(w);
		if (top < least) {
			least = top;
			irq_balance_keep(w);
			away = 0;
		} else if (top - least > (least >> 4) || ++away > 20) {
			irq_balance_restore(w);
			away = 0;
		}
	}
	irq_balance_restore(w);
}

/* A load to get down to at best: all shared out by capacity, or the heaviest on the fastest CPU */
static u64 irq_balance_bound(const struct irq_balance_work *w)
{
	u64 total = 0, room = 0, low = ~0ULL;
	u32 pos, i, fast = ~0U;

	for (pos = 0; pos < w->nr_cpus; pos++) {
		low = min(low, w->fixed[pos]);
		fast = min(fast, w->scale[pos]);
	}

	for (i = 0; i < w->nr; i++)
		total += w->items[i].load;
	for (pos = 0; pos < w->nr_cpus; pos++) {
		if (!(w->flags[pos] & IRQ_BALANCE_ROOM))
			continue;
		total += div_u64(w->fixed[pos] << 4, w->scale[pos] >> 16);
		room += w->cpus[w->cpu[pos]].capacity;
	}
	if (!room || !w->nr)
		return 0;
	return max(low + ((w->items[0].load * fast) >> IRQ_BALANCE_SCALE_SHIFT),
		   div_u64(total, (u32)room) * IRQ_BALANCE_CAPACITY);
}

/* One placement, for the nodes that hold */
static void irq_balance_solve(struct irq_balance_work *w)
{
	u64 bound = irq_balance_bound(w);

	/* Loads within 1 % are equal: fewer moves are worth more */
	w->enough = bound + div_u64(bound, 100);
	irq_balance_strip(w);
	irq_balance_fill(w);
	irq_balance_descend(w, false);
	irq_balance_iterate(w);
	irq_balance_undo(w);
	irq_balance_settle(w);
}

/* Nodes whose worst CPU is too full let their devices' interrupts go */
static bool irq_balance_spill(struct irq_balance_work *w)
{
	bool spilled = false;
	u32 i;

	for (i = 0; i < w->nr; i++) {
		const struct irq_balance_item *it = &w->items[i];
		u8 *flags = &w->flags[it->first];

		if (it->held && irq_balance_in_range(it, it->place) &&
		    !(*flags & IRQ_BALANCE_OPEN) &&
		    w->load[it->place] > (*flags & IRQ_BALANCE_AWAY ? NODE_BACK : NODE_LIMIT)) {
			*flags |= IRQ_BALANCE_OPEN;
			spilled = true;
		}
	}
	return spilled;
}

/* Brings remote items back where that makes the worst CPU no worse */
static void irq_balance_bring_back(struct irq_balance_work *w)
{
	struct irq_balance_item *it;

	for (it = w->items; it < w->items + w->nr; it++) {
		u32 from = it->place, pos;

		if (!it->held || irq_balance_in_range(it, from))
			continue;
		pos = irq_balance_pick(w, it, w->worst);
		if (pos == IRQ_BALANCE_NOWHERE ||
		    w->load[pos] + irq_balance_cost(w, it->load, pos) > w->worst)
			pos = from;
		irq_balance_put(w, it, pos);
	}
}

/* Finds out where an item may be; returns whether it is to come back to its node */
static bool irq_balance_bind(struct irq_balance_work *w, struct irq_balance_item *it, bool relaxed)
{
	u32 node, pos, end = 0;

	it->stay = !irq_balance_is_forbidden(w, it);
	it->held = false;
	for (node = 0; it->node >= 0 && node < w->nr_cpus; node = end) {
		end = w->domain[IRQ_BALANCE_NODE][node].end;
		if (w->cpus[w->cpu[node]].node == it->node && !(w->flags[node] & IRQ_BALANCE_OPEN))
			break;
	}
	it->first = node;
	it->end = end;
	for (pos = node; it->node >= 0 && pos < end && !it->held; pos++)
		it->held = irq_balance_may(w, it, pos);
	if (!it->held) {
		it->first = 0;
		it->end = w->nr_cpus;
		return false;
	}
	if (!it->stay || irq_balance_in_range(it, it->home) || relaxed)
		return false;
	it->stay = false;
	return true;
}

/* Whether any CPU could gain enough */
static bool irq_balance_hope(const struct irq_balance_work *w)
{
	u64 low = ~0ULL;
	u32 pos, i, fast = ~0U;

	for (pos = 0; pos < w->nr_cpus; pos++) {
		if (w->flags[pos] & IRQ_BALANCE_ROOM) {
			low = min(low, w->load[pos]);
			fast = min(fast, w->scale[pos]);
		}
	}
	for (i = 0; i < w->nr; i++) {
		const struct irq_balance_item *it = &w->items[i];
		u64 least = max(low, (it->load * fast) >> IRQ_BALANCE_SCALE_SHIFT);

		if (!it->stay ||
		    w->load[it->home] >= least + irq_balance_need(w, w->load[it->home]))
			return true;
	}
	return false;
}

/*
 * Finds the placement. Nodes hold their devices' interrupts at first. Those whose
 * worst CPU passes the limit let go, in this pass, and the search begins again. If
 * bringing remote interrupts back would make the worst CPU worse, they may stay.
 * Returns false if no CPU could gain enough; then everything is at home.
 */
bool irq_balance_place(struct irq_balance_work *w)
{
	bool relaxed = false, first = true, again = true;
	u32 i;

	for (i = 0; i < w->nr_cpus; i++)
		w->flags[i] &= ~IRQ_BALANCE_OPEN;
	irq_balance_home(w);
	w->worst = irq_balance_top(w);
	w->spent = 0;
	for (; again; first = false) {
		bool remote = false;

		for (i = 0; i < w->nr; i++)
			remote |= irq_balance_bind(w, &w->items[i], relaxed);
		if (first && !irq_balance_hope(w))
			return false;
		/* Beginning again for nodes that let go takes no more in all */
		w->until = min(w->spent + irq_balance_effort(w), EFFORT_MAX);
		irq_balance_solve(w);
		again = irq_balance_spill(w);
		if (again)
			continue;
		if (relaxed)
			irq_balance_bring_back(w);
		else if (remote && irq_balance_top(w) > w->worst)
			again = true;
		relaxed = again;
	}
	return true;
}
