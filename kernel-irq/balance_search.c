// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: thorough search on a small part of the machine.
 *
 * To place n interrupts on m CPUs so that the worst CPU has least to do is
 * scheduling on related machines with restrictions, which is NP-hard. Longest
 * processing time first (R. L. Graham, 1969) is within a third of the optimum
 * on equal CPUs; single moves and swaps that relieve the worst CPU, repeated
 * from shaken placements (iterated local search), bring it within a per cent
 * on the sizes that machines have. A step count bounds the work.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>

#include "balance_search.h"

/* Items that are shaken at once; and rounds away from the best placement. */
#define KICKS_MAX	12U
#define STRAY_MAX	30U

static u64 irq_balance_item_cost(const struct irq_balance_search *s,
				 unsigned int i, unsigned int c)
{
	return s->cost[i * s->nr_cpus + c];
}

static bool irq_balance_item_may(const struct irq_balance_search *s,
				 unsigned int i, unsigned int c)
{
	return (s->mask[i] >> c) & 1;
}

/* xorshift32 (G. Marsaglia, 2003): shakes placements, the same ones always. */
static u32 irq_balance_random(struct irq_balance_search *s, u32 below)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 17;
	s->seed ^= s->seed << 5;
	return ((u64)s->seed * below) >> 32;
}

static void irq_balance_take(struct irq_balance_search *s, unsigned int i)
{
	unsigned int c = s->cur[i];

	if (c < s->nr_cpus) {
		s->load[c] -= irq_balance_item_cost(s, i, c);
		s->count[c]--;
	}
	s->cur[i] = s->nr_cpus;
}

static void irq_balance_put(struct irq_balance_search *s, unsigned int i,
			    unsigned int c)
{
	irq_balance_take(s, i);
	s->cur[i] = c;
	s->load[c] += irq_balance_item_cost(s, i, c);
	s->count[c]++;
}

/* Makes @place the placement that is worked on. */
static void irq_balance_adopt(struct irq_balance_search *s, const u8 *place)
{
	unsigned int i, c;

	for (c = 0; c < s->nr_cpus; c++) {
		s->load[c] = s->fixed[c];
		s->count[c] = 0;
	}
	for (i = 0; i < s->nr; i++) {
		c = place[i];
		s->cur[i] = c;
		if (c < s->nr_cpus) {
			s->load[c] += irq_balance_item_cost(s, i, c);
			s->count[c]++;
		}
	}
}

/* The worst CPU that has an item; one without is nothing that can be helped. */
static unsigned int irq_balance_worst(const struct irq_balance_search *s)
{
	unsigned int c, worst = s->nr_cpus;

	for (c = 0; c < s->nr_cpus; c++) {
		if (s->count[c] &&
		    (worst == s->nr_cpus || s->load[c] > s->load[worst]))
			worst = c;
	}
	return worst;
}

/* Puts what has no place where it ends lowest, heaviest first. */
static void irq_balance_fill(struct irq_balance_search *s)
{
	unsigned int i, c;

	for (i = 0; i < s->nr; i++) {
		unsigned int best = s->nr_cpus;
		u64 least = ~0ULL;

		if (s->cur[i] < s->nr_cpus)
			continue;
		for (c = 0; c < s->nr_cpus; c++) {
			u64 load = s->load[c] + irq_balance_item_cost(s, i, c);

			if (irq_balance_item_may(s, i, c) && load < least) {
				least = load;
				best = c;
			}
		}
		irq_balance_put(s, i, best);
		s->spent += s->nr_cpus;
	}
}

/**
 * irq_balance_descend - relieve the worst CPU while moves or swaps can
 * @s:		problem; @cur is complete
 * @stop:	ns/s: good enough
 * @until:	value of @spent to end at
 *
 * Each step lowers the higher load of the two CPUs it touches, one of which
 * is the worst: so it ends.
 *
 * Return: load of the worst CPU in @cur, ns/s.
 */
static u64 irq_balance_descend(struct irq_balance_search *s, u64 stop, u32 until)
{
	for (;;) {
		unsigned int worst = irq_balance_worst(s), i, j, c;
		unsigned int best_i = s->nr, best_j = s->nr, best_c = 0;
		u64 top, best;

		if (worst == s->nr_cpus)
			return 0;
		top = s->load[worst];
		if (top <= stop || s->spent >= until)
			return top;
		best = top;
		for (i = 0; i < s->nr; i++) {
			u64 left;

			if (s->cur[i] != worst || s->bound[i])
				continue;
			left = top - irq_balance_item_cost(s, i, worst);
			for (c = 0; c < s->nr_cpus; c++) {
				u64 got = s->load[c] + irq_balance_item_cost(s, i, c);

				if (c == worst || !irq_balance_item_may(s, i, c))
					continue;
				got = max(got, left);
				if (got < best) {
					best = got;
					best_i = i;
					best_j = s->nr;
					best_c = c;
				}
			}
			for (j = 0; j < s->nr; j++) {
				u64 here, there;

				c = s->cur[j];
				if (c == worst || s->bound[j] ||
				    !irq_balance_item_may(s, i, c) ||
				    !irq_balance_item_may(s, j, worst))
					continue;
				here = left + irq_balance_item_cost(s, j, worst);
				there = s->load[c] -
					irq_balance_item_cost(s, j, c) +
					irq_balance_item_cost(s, i, c);
				here = max(here, there);
				if (here < best) {
					best = here;
					best_i = i;
					best_j = j;
					best_c = c;
				}
			}
			s->spent += s->nr + s->nr_cpus;
		}
		if (best_i == s->nr)
			return top;
		irq_balance_put(s, best_i, best_c);
		if (best_j < s->nr)
			irq_balance_put(s, best_j, worst);
	}
}

/*
 * Moves an item off the worst CPU at random, then one off the CPU that got it,
 * and so on a few times.
 */
static void irq_balance_shake(struct irq_balance_search *s)
{
	unsigned int from = irq_balance_worst(s);
	unsigned int kicks = 1 + irq_balance_random(s, KICKS_MAX);

	while (kicks-- && s->count[from]) {
		unsigned int skip = irq_balance_random(s, s->count[from]);
		unsigned int tries = 4, i = 0, c;

		while (s->cur[i] != from || skip--)
			i++;
		if (s->bound[i])
			continue;
		do {
			c = irq_balance_random(s, s->nr_cpus);
		} while (--tries && (c == from || !irq_balance_item_may(s, i, c)));
		if (c == from || !irq_balance_item_may(s, i, c))
			continue;
		irq_balance_put(s, i, c);
		from = c;
	}
	s->spent += s->nr;
}

/**
 * irq_balance_iterate - local search from shaken placements
 * @s:		problem; @cur is complete
 * @stop:	ns/s: good enough
 * @until:	value of @spent to end at
 *
 * Goes on from what is a little worse too, for a while: another way may begin
 * there.
 *
 * Return: load of the worst CPU in @best, ns/s; @cur is the same.
 */
static u64 irq_balance_iterate(struct irq_balance_search *s, u64 stop, u32 until)
{
	u64 least = irq_balance_descend(s, stop, until);
	unsigned int strayed = 0;

	memcpy(s->best, s->cur, s->nr);
	while (least > stop && s->spent < until) {
		u64 load;

		irq_balance_shake(s);
		load = irq_balance_descend(s, stop, until);
		if (load <= least) {
			least = load;
			memcpy(s->best, s->cur, s->nr);
			strayed = 0;
		} else if (load - least > least - stop || ++strayed > STRAY_MAX) {
			irq_balance_adopt(s, s->best);
			strayed = 0;
		}
	}
	irq_balance_adopt(s, s->best);
	return least;
}

static unsigned int irq_balance_moves(const struct irq_balance_search *s,
				      const u8 *place)
{
	unsigned int i, moves = 0;

	for (i = 0; i < s->nr; i++)
		moves += place[i] != s->home[i];
	return moves;
}

/**
 * irq_balance_undo - take back the moves that the limit does not need
 * @s:		problem; @cur is complete
 * @limit:	ns/s that no CPU may pass
 *
 * An item goes home where there is room, or where an item that is away from
 * home anyway can make room.
 */
static void irq_balance_undo(struct irq_balance_search *s, u64 limit)
{
	unsigned int i = s->nr;

	while (i-- > 0) {
		unsigned int home = s->home[i], from = s->cur[i], j, c;
		u64 need;

		if (from == home || home >= s->nr_cpus)
			continue;
		need = s->load[home] + irq_balance_item_cost(s, i, home);
		if (need <= limit) {
			irq_balance_put(s, i, home);
			continue;
		}
		irq_balance_take(s, i);
		for (j = 0; j < s->nr; j++) {
			if (s->cur[j] != home || s->home[j] == home || s->bound[j] ||
			    need - irq_balance_item_cost(s, j, home) > limit)
				continue;
			for (c = 0; c < s->nr_cpus; c++) {
				if (c != home && irq_balance_item_may(s, j, c) &&
				    s->load[c] + irq_balance_item_cost(s, j, c) <= limit)
					break;
			}
			if (c == s->nr_cpus)
				continue;
			irq_balance_put(s, j, c);
			from = home;
			break;
		}
		irq_balance_put(s, i, from);
		s->spent += s->nr;
	}
}

/**
 * irq_balance_keep - leave at home what can stay there
 * @s:		problem
 * @limit:	ns/s that no CPU may pass
 *
 * Takes the heaviest items off each CPU that is above the limit: the fewest
 * moves that its own load allows. Those that turn out not to be needed for it
 * stay after all. All others are bound.
 */
static void irq_balance_keep(struct irq_balance_search *s, u64 limit)
{
	unsigned int i;

	irq_balance_adopt(s, s->home);
	for (i = 0; i < s->nr; i++) {
		unsigned int c = s->home[i];

		s->bound[i] = c < s->nr_cpus &&
			      (s->load[c] <= limit ||
			       s->mask[i] == 1ULL << c);
		if (!s->bound[i])
			irq_balance_take(s, i);
	}
	while (i-- > 0) {
		unsigned int c = s->home[i];

		if (s->bound[i] || c >= s->nr_cpus ||
		    s->load[c] + irq_balance_item_cost(s, i, c) > limit)
			continue;
		irq_balance_put(s, i, c);
		s->bound[i] = true;
	}
	s->spent += 2 * s->nr;
}

/* Lets go of the heaviest bound item at the worst CPU. */
static bool irq_balance_unbind(struct irq_balance_search *s)
{
	unsigned int worst = irq_balance_worst(s), i;

	for (i = 0; i < s->nr; i++) {
		if (s->cur[i] == worst && s->bound[i] &&
		    s->mask[i] != 1ULL << worst) {
			s->bound[i] = false;
			return true;
		}
	}
	return false;
}

/**
 * irq_balance_search - the lowest worst load, then the fewest moves
 * @s:		problem: items, CPUs, homes; the answer is in @pick
 * @stop:	ns/s: no placement can be better, or needs to be
 * @effort:	steps of work
 *
 * Loads within 1 % of the best that was found are equal: among them the
 * placement with the fewest moves is chosen.
 *
 * Return: load of the worst CPU that has an item, ns/s.
 */
u64 irq_balance_search(struct irq_balance_search *s, u64 stop, u32 effort)
{
	unsigned int moves, tries = 8;
	u64 least, load, limit;

	s->spent = 0;
	s->seed = 2463534242U;
	memset(s->bound, 0, s->nr * sizeof(*s->bound));

	/* From nothing; what is comes in below. */
	memset(s->cur, s->nr_cpus, s->nr);
	irq_balance_adopt(s, s->cur);
	irq_balance_fill(s);
	least = irq_balance_iterate(s, stop, effort);
	memcpy(s->pick, s->cur, s->nr);

	limit = least + div_u64(least, 100);
	irq_balance_adopt(s, s->pick);
	irq_balance_undo(s, limit);
	memcpy(s->pick, s->cur, s->nr);
	moves = irq_balance_moves(s, s->pick);

	irq_balance_keep(s, limit);
	do {
		irq_balance_fill(s);
		load = irq_balance_iterate(s, limit, s->spent + effort / 8);
		if (load > limit)
			continue;
		irq_balance_undo(s, limit);
		if (irq_balance_moves(s, s->cur) < moves) {
			moves = irq_balance_moves(s, s->cur);
			memcpy(s->pick, s->cur, s->nr);
		}
		break;
	} while (--tries && irq_balance_unbind(s));

	irq_balance_adopt(s, s->pick);
	return s->load[irq_balance_worst(s)];
}
