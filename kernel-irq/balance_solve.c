// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: where everything should be.
 *
 * The machine falls into parts that have no CPU and no interrupt in common
 * (nodes that hold their devices, disjoint masks). Each is solved for itself,
 * so that a part which cannot be improved does not hide one which can. Small
 * parts get a thorough search, large ones a repair of what there is.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>

#include "balance_pace.h"
#include "balance_solve.h"

/* More sets of CPUs than this are not worth taking apart. */
#define CLASSES_MAX	64U

static u32 irq_balance_root(struct irq_balance_solver *s, u32 pos)
{
	while (s->root[pos] != pos) {
		s->root[pos] = s->root[s->root[pos]];
		pos = s->root[pos];
	}
	return pos;
}

static void irq_balance_join(struct irq_balance_solver *s, u32 a, u32 b)
{
	a = irq_balance_root(s, a);
	b = irq_balance_root(s, b);
	/* The lower position is the root: the result has no history. */
	if (a < b)
		s->root[b] = a;
	else
		s->root[a] = b;
}

static void irq_balance_join_class(struct irq_balance_solver *s, u32 class)
{
	const struct irq_balance_machine *mach = &s->mach;
	const unsigned long *bits = mach->classes + class * mach->longs;
	u32 first = find_first_bit(bits, mach->nr_cpus), pos;

	for (pos = first; pos < mach->nr_cpus;
	     pos = find_next_bit(bits, mach->nr_cpus, pos + 1))
		irq_balance_join(s, first, pos);
}

/* Heavier first; the number of the interrupt decides between equals. */
static bool irq_balance_heavier(const struct irq_balance_solver *s, u32 a, u32 b)
{
	const struct irq_balance_item *x = &s->items[a], *y = &s->items[b];

	if (x->rank != y->rank)
		return x->rank < y->rank;
	if (x->load != y->load)
		return x->load > y->load;
	return a < b;
}

static void irq_balance_sift(struct irq_balance_solver *s, unsigned int root,
			     unsigned int nr)
{
	u32 *heap = s->order, top = heap[root];

	for (;;) {
		unsigned int kid = 2 * root + 1;

		if (kid >= nr)
			break;
		if (kid + 1 < nr &&
		    irq_balance_heavier(s, heap[kid], heap[kid + 1]))
			kid++;
		if (!irq_balance_heavier(s, top, heap[kid]))
			break;
		heap[root] = heap[kid];
		root = kid;
	}
	heap[root] = top;
}

static void irq_balance_sort(struct irq_balance_solver *s)
{
	unsigned int i;

	for (i = s->nr / 2; i-- > 0;)
		irq_balance_sift(s, i, s->nr);
	for (i = s->nr; i-- > 1;) {
		u32 last = s->order[i];

		s->order[i] = s->order[0];
		s->order[0] = last;
		irq_balance_sift(s, 0, i);
	}
}

/**
 * irq_balance_split - take the machine apart
 * @s:		solver; items have their class
 *
 * Fills in @parts, @order, @root and @tail. CPUs that no item may be at, and
 * none is at, are in no part.
 */
static void irq_balance_split(struct irq_balance_solver *s)
{
	struct irq_balance_machine *mach = &s->mach;
	bool whole = mach->nr_classes > CLASSES_MAX;
	u32 pos, i, part;

	for (pos = 0; pos < mach->nr_cpus; pos++)
		s->root[pos] = whole ? 0 : pos;
	/* Only classes in use, each once: @head is scratch for that here. */
	for (i = 0; i < min(mach->nr_classes, CLASSES_MAX) && !whole; i++)
		s->next[i] = 0;
	for (i = 0; i < s->nr && !whole; i++) {
		struct irq_balance_item *item = &s->items[i];
		const unsigned long *bits = mach->classes + item->class * mach->longs;

		if (!s->next[item->class]) {
			s->next[item->class] = 1;
			irq_balance_join_class(s, item->class);
		}
		pos = find_first_bit(bits, mach->nr_cpus);
		if (pos < mach->nr_cpus && item->stay)
			irq_balance_join(s, pos, item->home);
	}

	/* Roots that have items become parts, by position. */
	for (pos = 0; pos < mach->nr_cpus; pos++) {
		s->head[pos] = ~0U;
		s->tail[pos] = ~0U;
	}
	for (i = 0; i < s->nr; i++) {
		struct irq_balance_item *item = &s->items[i];
		const unsigned long *bits = mach->classes + item->class * mach->longs;

		pos = find_first_bit(bits, mach->nr_cpus);
		if (pos >= mach->nr_cpus)
			pos = item->home;
		item->rank = irq_balance_root(s, pos);
		s->head[item->rank] = 0;
		s->order[i] = i;
	}
	s->nr_parts = 0;
	for (pos = 0; pos < mach->nr_cpus; pos++) {
		struct irq_balance_part *p;

		if (s->head[pos] == ~0U)
			continue;
		p = &s->parts[s->nr_parts];
		memset(p, 0, sizeof(*p));
		p->cpu = ~0U;
		s->head[pos] = s->nr_parts++;
	}
	for (i = 0; i < s->nr; i++) {
		s->items[i].rank = s->head[s->items[i].rank];
		s->parts[s->items[i].rank].nr++;
	}
	for (pos = mach->nr_cpus; pos-- > 0;) {
		part = s->head[irq_balance_root(s, pos)];
		if (part == ~0U)
			continue;
		s->tail[pos] = s->parts[part].cpu;
		s->parts[part].cpu = pos;
		s->parts[part].nr_cpus++;
	}
	for (part = 0, i = 0; part < s->nr_parts; part++) {
		s->parts[part].first = i;
		i += s->parts[part].nr;
	}
	irq_balance_sort(s);
}

/* Puts the item on the CPU, or nowhere (~0), wherever it was. */
static void irq_balance_place(struct irq_balance_solver *s,
			      struct irq_balance_item *item, u32 pos)
{
	struct irq_balance_machine *mach = &s->mach;

	if (item->place == pos)
		return;
	if (item->place != ~0U)
		irq_balance_discharge(mach, item->place,
				      irq_balance_cost(mach, item->load, item->place));
	item->place = pos;
	if (pos != ~0U)
		irq_balance_charge(mach, pos, irq_balance_cost(mach, item->load, pos));
}

/**
 * irq_balance_tally - sum up the loads of a placement
 * @s:		solver
 * @cpus:	the CPUs
 * @home:	the present placement, else the planned one
 */
void irq_balance_tally(struct irq_balance_solver *s,
		       const struct irq_balance_cpu *cpus, bool home)
{
	struct irq_balance_machine *mach = &s->mach;
	unsigned int i;

	for (i = 0; i < mach->nr_cpus; i++) {
		mach->load[i] = mach->fixed[i];
		mach->items[i] = 0;
	}
	for (i = 0; i < s->nr; i++) {
		const struct irq_balance_item *item = &s->items[i];
		u32 pos = home ? item->home : item->place;

		mach->load[pos] += irq_balance_cost(mach, item->load, pos);
		mach->items[pos]++;
	}
	irq_balance_tree_reset(mach, cpus);
}

/**
 * irq_balance_home - all items at home
 * @s:		solver
 * @cpus:	the CPUs
 */
void irq_balance_home(struct irq_balance_solver *s,
		      const struct irq_balance_cpu *cpus)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		s->items[i].place = s->items[i].home;
	irq_balance_tally(s, cpus, true);
}

static u64 irq_balance_part_worst(const struct irq_balance_solver *s,
				  const struct irq_balance_part *p)
{
	u64 worst = 0;
	u32 pos;

	for (pos = p->cpu; pos != ~0U; pos = s->tail[pos]) {
		if (s->mach.items[pos])
			worst = max(worst, s->mach.load[pos]);
	}
	return worst;
}

/* The load (ns/s on capacity 1024) that fits a part's CPUs up to a level. */
static u64 irq_balance_room(const struct irq_balance_solver *s,
			    const struct irq_balance_part *p, u64 level)
{
	const struct irq_balance_machine *mach = &s->mach;
	u64 room = 0;
	u32 pos;

	for (pos = p->cpu; pos != ~0U; pos = s->tail[pos]) {
		/* A scale is 2^20 and more, a load below 2^44: no overflow. */
		if (mach->fixed[pos] < level)
			room += div_u64((level - mach->fixed[pos]) <<
					(IRQ_BALANCE_SCALE_SHIFT - 4),
					mach->scale[pos] >> 4);
	}
	return room;
}

/**
 * irq_balance_bound - a load that the worst CPU cannot get below
 * @s:		solver
 * @p:		part
 *
 * The larger of two bounds: the heaviest item alone on the best CPU that
 * there is, and all load spread like water over CPUs of any use.
 *
 * Return: ns/s.
 */
static u64 irq_balance_bound(const struct irq_balance_solver *s,
			     const struct irq_balance_part *p)
{
	const struct irq_balance_machine *mach = &s->mach;
	u64 low = 0, high, total = 0, least = ~0ULL;
	u32 scale = ~0U, pos, i;

	for (pos = p->cpu; pos != ~0U; pos = s->tail[pos]) {
		least = min(least, mach->fixed[pos]);
		scale = min(scale, mach->scale[pos]);
	}
	for (i = 0; i < p->nr; i++)
		total += s->items[s->order[p->first + i]].load;
	low = least + ((s->items[s->order[p->first]].load * scale) >>
		       IRQ_BALANCE_SCALE_SHIFT);
	high = max(p->before, low);
	if (irq_balance_room(s, p, low) >= total)
		return low;
	/* Items without a place are not in the present load. */
	for (i = 0; i < 16 && irq_balance_room(s, p, high) < total; i++)
		high *= 2;
	/* Sixteen halvings: within 1/65536 of the present load. */
	for (i = 0; i < 16; i++) {
		u64 level = (low + high) / 2;

		if (irq_balance_room(s, p, level) < total)
			low = level;
		else
			high = level;
	}
	return low;
}

/**
 * irq_balance_solve_small - thorough search on a part
 * @s:		solver; the part's items are at home, or nowhere if they may
 *		not stay
 * @p:		part
 * @bound:	ns/s that the worst CPU cannot get below
 */
static void irq_balance_solve_small(struct irq_balance_solver *s,
				    const struct irq_balance_part *p,
				    u64 bound)
{
	struct irq_balance_machine *mach = &s->mach;
	struct irq_balance_search *srch = &s->search;
	u32 pos, i, c;

	srch->nr = p->nr;
	srch->nr_cpus = 0;
	for (pos = p->cpu; pos != ~0U; pos = s->tail[pos]) {
		srch->pos[srch->nr_cpus] = pos;
		srch->fixed[srch->nr_cpus] = mach->fixed[pos];
		s->head[pos] = srch->nr_cpus++;
	}
	for (i = 0; i < p->nr; i++) {
		const struct irq_balance_item *item;

		srch->item[i] = s->order[p->first + i];
		item = &s->items[srch->item[i]];
		srch->mask[i] = 0;
		for (c = 0; c < srch->nr_cpus; c++) {
			srch->cost[i * srch->nr_cpus + c] =
				irq_balance_cost(mach, item->load, srch->pos[c]);
			if (irq_balance_may(mach, item, srch->pos[c]))
				srch->mask[i] |= 1ULL << c;
		}
		srch->home[i] = item->stay ? s->head[item->home] : srch->nr_cpus;
	}
	irq_balance_search(srch, bound, s->effort);
	for (i = 0; i < p->nr; i++) {
		struct irq_balance_item *item = &s->items[srch->item[i]];

		irq_balance_place(s, item, srch->pos[srch->pick[i]]);
	}
}

/* Takes a part back: everything at home, or nowhere if it may not stay. */
static void irq_balance_revert(struct irq_balance_solver *s,
			       const struct irq_balance_part *p)
{
	u32 i;

	for (i = 0; i < p->nr; i++) {
		struct irq_balance_item *item = &s->items[s->order[p->first + i]];

		irq_balance_place(s, item, item->stay ? item->home : ~0U);
	}
}

/**
 * irq_balance_repair - get a part under a limit with few moves
 * @s:		solver; the part's items are at home, or nowhere if they may
 *		not stay
 * @p:		part
 * @limit:	ns/s that no CPU of the part should pass
 *
 * Takes the heaviest items off each CPU that is above the limit, lets those
 * stay that do not matter, and finds places for the others, heaviest first.
 *
 * Return: whether the limit is kept; if not, everything is as before.
 */
static bool irq_balance_repair(struct irq_balance_solver *s,
			       const struct irq_balance_part *p, u64 limit)
{
	struct irq_balance_machine *mach = &s->mach;
	u32 i;

	s->placed += p->nr;
	for (i = 0; i < p->nr; i++) {
		struct irq_balance_item *item = &s->items[s->order[p->first + i]];

		if (item->stay && mach->load[item->home] > limit)
			irq_balance_place(s, item, ~0U);
	}
	for (i = p->nr; i-- > 0;) {
		struct irq_balance_item *item = &s->items[s->order[p->first + i]];

		if (item->place == ~0U && item->stay && mach->load[item->home] +
		    irq_balance_cost(mach, item->load, item->home) <= limit)
			irq_balance_place(s, item, item->home);
	}
	for (i = 0; i < p->nr; i++) {
		struct irq_balance_item *item = &s->items[s->order[p->first + i]];
		u32 pos;

		if (item->place != ~0U)
			continue;
		pos = irq_balance_find(mach, item, limit);
		if (pos == ~0U)
			break;
		irq_balance_place(s, item, pos);
	}
	if (i == p->nr)
		return true;
	irq_balance_revert(s, p);
	return false;
}

/* Each item where it ends lowest, heaviest first: whatever comes of it. */
static void irq_balance_pour(struct irq_balance_solver *s,
			     const struct irq_balance_part *p)
{
	u32 i, pos;

	for (i = 0; i < p->nr; i++)
		irq_balance_place(s, &s->items[s->order[p->first + i]], ~0U);
	for (i = 0; i < p->nr; i++) {
		struct irq_balance_item *item = &s->items[s->order[p->first + i]];

		pos = irq_balance_lowest(&s->mach, item);
		irq_balance_place(s, item, pos == ~0U ? item->home : pos);
	}
}

/**
 * irq_balance_solve_large - repair a part that is too large to search
 * @s:		solver; the part's items are at home, or nowhere if they may
 *		not stay
 * @p:		part
 * @bound:	ns/s that the worst CPU cannot get below
 *
 * Tries limits above the bound, in ever larger steps, and halves the last
 * step: with many interrupts the first limit is nearly always kept.
 */
static void irq_balance_solve_large(struct irq_balance_solver *s,
				    const struct irq_balance_part *p,
				    u64 bound)
{
	static const u16 slack[] = { 10, 30, 70, 150, 310, 630, 1000 };
	u64 part = div_u64(bound, 1000), low = bound, high = bound, limit;
	bool kept = false;
	unsigned int i;

	for (i = 0; !kept && i < ARRAY_SIZE(slack) && s->placed < IRQ_BALANCE_PLACES; i++) {
		low = high;
		high = bound + part * slack[i];
		kept = irq_balance_repair(s, p, high);
	}
	if (!kept) {
		irq_balance_pour(s, p);
		return;
	}
	while (i > 1 && high - low > part * 10 && s->placed < IRQ_BALANCE_PLACES) {
		irq_balance_revert(s, p);
		limit = low + (high - low) / 2;
		kept = irq_balance_repair(s, p, limit);
		if (kept)
			high = limit;
		else
			low = limit;
	}
	if (!kept)
		irq_balance_repair(s, p, high);
}

/**
 * irq_balance_spread - untangle what moves anyway
 * @s:		solver
 * @p:		part
 * @limit:	ns/s that no CPU of the part may pass
 *
 * Items that leave home go where they share least: node first, then package,
 * cache, core, CPU. Items at home stay there. Each step lowers the crowding,
 * and the number of rounds is bounded on top.
 */
static void irq_balance_spread(struct irq_balance_solver *s,
			       const struct irq_balance_part *p, u64 limit)
{
	struct irq_balance_machine *mach = &s->mach;
	unsigned int round;
	bool again = true;
	u32 i, pos;

	for (round = 0; again && round < 4; round++) {
		again = false;
		for (i = 0; i < p->nr; i++) {
			struct irq_balance_item *item = &s->items[s->order[p->first + i]];
			s64 best[IRQ_BALANCE_NR_LEVELS] = { 0 };
			u32 from = item->place, pick = from;
			u64 less;

			if (from == item->home)
				continue;
			less = irq_balance_cost(mach, item->load, from);
			for (pos = p->cpu; pos != ~0U; pos = s->tail[pos]) {
				u64 more = irq_balance_cost(mach, item->load, pos);
				unsigned int level;
				s64 now = 0;

				if (pos == from || pos == item->home ||
				    !irq_balance_may(mach, item, pos) ||
				    mach->load[pos] + more > limit)
					continue;
				for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++) {
					now = irq_balance_crowding(mach, level, from,
								   less, pos, more);
					if (now != best[level])
						break;
				}
				if (level == IRQ_BALANCE_NR_LEVELS || now >= best[level])
					continue;
				for (; level < IRQ_BALANCE_NR_LEVELS; level++)
					best[level] = irq_balance_crowding(mach, level,
									   from, less,
									   pos, more);
				pick = pos;
			}
			if (pick == from)
				continue;
			irq_balance_place(s, item, pick);
			again = true;
		}
	}
}

/**
 * irq_balance_settle - relieve CPUs that are not the worst
 * @s:		solver
 * @p:		part
 *
 * A part may have a worst CPU that nothing helps, such as one with a single
 * huge interrupt, while others share a CPU without need. A step is taken when
 * it gains the minimum for the CPU that it relieves.
 */
static void irq_balance_settle(struct irq_balance_solver *s,
			       const struct irq_balance_part *p)
{
	struct irq_balance_machine *mach = &s->mach;
	u32 steps = p->nr, i, pos;

	for (pos = p->cpu; pos != ~0U; pos = s->tail[pos])
		s->head[pos] = ~0U;
	for (i = p->nr; i-- > 0;) {
		u32 index = s->order[p->first + i];

		pos = s->items[index].place;
		s->next[index] = s->head[pos];
		s->head[pos] = index;
	}
	for (pos = p->cpu; pos != ~0U; pos = s->tail[pos]) {
		while (steps) {
			u64 load = mach->load[pos], most, need;
			u32 best = ~0U, best_to = 0, to, *link;

			/* Within 1 % is equal, however small a gain is asked for. */
			need = div_u64(load, 1000) * max_t(u32, s->min_gain, 10);
			need = max(need, s->floor);
			if (need >= load)
				break;
			most = load - need;
			for (i = s->head[pos]; i != ~0U; i = s->next[i]) {
				const struct irq_balance_item *item = &s->items[i];
				u64 cost = irq_balance_cost(mach, item->load, pos);

				if (load - cost > most)
					continue;
				to = irq_balance_find(mach, item, most);
				if (to == ~0U || to == pos)
					continue;
				cost = max(load - cost, mach->load[to] +
					   irq_balance_cost(mach, item->load, to));
				if (cost > most || (cost == most && best != ~0U))
					continue;
				most = cost;
				best = i;
				best_to = to;
			}
			if (best == ~0U)
				break;
			for (link = &s->head[pos]; *link != best;)
				link = &s->next[*link];
			*link = s->next[best];
			s->next[best] = s->head[best_to];
			s->head[best_to] = best;
			irq_balance_place(s, &s->items[best], best_to);
			steps--;
		}
	}
}

/**
 * irq_balance_solve - the placement that is wanted
 * @s:		solver: items with classes and homes, machine with fixed loads
 * @cpus:	the CPUs
 *
 * Sets &irq_balance_item.place of all items, @load of the machine and the
 * parts with their loads before and after.
 */
void irq_balance_solve(struct irq_balance_solver *s,
		       const struct irq_balance_cpu *cpus)
{
	unsigned int part;
	u32 i;

	irq_balance_split(s);
	irq_balance_home(s, cpus);
	for (part = 0; part < s->nr_parts; part++)
		s->parts[part].before = irq_balance_part_worst(s, &s->parts[part]);
	/* What may not stay weighs on nobody, wherever its new CPU is. */
	for (i = 0; i < s->nr; i++) {
		if (!s->items[i].stay)
			irq_balance_place(s, &s->items[i], ~0U);
	}
	for (part = 0; part < s->nr_parts; part++) {
		struct irq_balance_part *p = &s->parts[part];
		bool forced = false;
		u64 bound, need;

		for (i = 0; i < p->nr; i++)
			forced |= !s->items[s->order[p->first + i]].stay;
		/* Others of another part may leave: that is a gain as well. */
		need = div_u64(p->before, 1000) * s->min_gain;
		need = max(need, s->floor);
		bound = irq_balance_bound(s, p);
		if (forced || bound + need <= p->before) {
			bool small = p->nr_cpus <= IRQ_BALANCE_SMALL_CPUS &&
				     p->nr <= IRQ_BALANCE_SMALL_ITEMS;

			if (small)
				irq_balance_solve_small(s, p, bound);
			else
				irq_balance_solve_large(s, p, bound);
			p->after = irq_balance_part_worst(s, p);
			if (!forced && p->after + need > p->before)
				irq_balance_revert(s, p);
			else if (small && s->effort >= IRQ_BALANCE_THOROUGH)
				irq_balance_spread(s, p, p->after + div_u64(p->after, 100));
		}
		irq_balance_settle(s, p);
		p->after = irq_balance_part_worst(s, p);
	}
}
