// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the planner
 *
 * A pass takes in what each interrupt has cost, brings the loads up to date, has place.c
 * search for a placement, and asks for those of its moves that gain enough: see
 * irq_balance_assess(), and irq_balance_need() in place.h. The rules, with an example,
 * are in Documentation/admin-guide/irq-balance.rst, "How it decides".
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/types.h>

#include "place.h"

/* Rest after a move (ms), doubled for each one within CHURN_MS of the last rest's end */
#define REST_MS		1000U
#define CHURN_MS	60000U
#define CHURN_MAX	6U

/* Passes after which a move has failed, and ms until it is tried again */
#define REFUSED		8U
#define FAILED_MS	2000U
#define FAILED_MAX	6U

/* An interrupt with that load (ns/s) saturates its CPU */
#define SATURATES	(IRQ_BALANCE_FULL / 10 * 8)

static u64 irq_balance_ns(u32 ms)
{
	return (u64)ms * 1000000;
}

static u64 irq_balance_heavy_load(const struct irq_balance_settings *set)
{
	return (u64)set->heavy * (IRQ_BALANCE_FULL / 1000);
}

/**
 * irq_balance_set_work - Give the planner a workspace
 * @bal:	the planner, not in a pass
 * @mem:	the workspace, aligned to 8; NULL: how large has it to be?
 * @nr_irqs:	most interrupts that a pass may be handed
 * @nr_cpus:	CPUs, at least 1
 *
 * Return: bytes of a workspace
 */
size_t irq_balance_set_work(struct irq_balance *bal, void *mem,
			    unsigned int nr_irqs, unsigned int nr_cpus)
{
	struct irq_balance_work *w, none;
	unsigned long at = (unsigned long)mem;
	u32 i;

#define IRQ_BALANCE_PLACE(array, nr)	\
	((array) = (void *)at, at += ((nr) * sizeof(*(array)) + 7) & ~7UL)
	IRQ_BALANCE_PLACE(w, 1);
	if (mem)
		bal->work = w;
	else
		w = &none;
	IRQ_BALANCE_PLACE(w->items, nr_irqs);
	IRQ_BALANCE_PLACE(w->cpu, nr_cpus);
	IRQ_BALANCE_PLACE(w->pos, nr_cpus);
	IRQ_BALANCE_PLACE(w->scale, nr_cpus);
	IRQ_BALANCE_PLACE(w->fixed, nr_cpus);
	IRQ_BALANCE_PLACE(w->error, nr_cpus);
	IRQ_BALANCE_PLACE(w->load, nr_cpus);
	IRQ_BALANCE_PLACE(w->items_at, nr_cpus);
	IRQ_BALANCE_PLACE(w->root, nr_cpus);
	IRQ_BALANCE_PLACE(w->touch, nr_cpus);
	IRQ_BALANCE_PLACE(w->before, nr_cpus);
	IRQ_BALANCE_PLACE(w->after, nr_cpus);
	IRQ_BALANCE_PLACE(w->common, nr_cpus);
	IRQ_BALANCE_PLACE(w->flags, nr_cpus);
	for (i = 0; i < IRQ_BALANCE_NR_LEVELS; i++) {
		IRQ_BALANCE_PLACE(w->first[i], nr_cpus);
		IRQ_BALANCE_PLACE(w->domain[i], nr_cpus);
	}
	w->nr_cpus = nr_cpus;
	for (i = 0; mem && i < nr_cpus; i++)
		w->cpu[i] = i;
	return at - (unsigned long)mem;
}

/**
 * irq_balance_init - Start from nothing
 * @bal:	the planner, zeroed before its first use
 * @mem:	as for irq_balance_set_work()
 * @nr_irqs:	the same
 * @nr_cpus:	the same
 *
 * The states of interrupts are void from now on. The state in the array
 * of CPUs is the caller's to clear.
 *
 * Context: any; not during a pass.
 */
void irq_balance_init(struct irq_balance *bal, void *mem,
		      unsigned int nr_irqs, unsigned int nr_cpus)
{
	const struct irq_balance_program *program = bal->program;
	u32 generation = bal->generation + 1;

	memset(bal, 0, sizeof(*bal));
	bal->program = program;
	bal->generation = generation ? generation : 1;
	bal->next = IRQ_BALANCE_NO_TIMER;
	irq_balance_set_work(bal, mem, nr_irqs, nr_cpus);
}

/* The word for a reason, never NULL */
const char *irq_balance_why_name(enum irq_balance_why why)
{
#define IRQ_BALANCE_WHY_NAME(name, word)	\
	[IRQ_BALANCE_WHY_##name] = word,
	static const char * const names[] = { IRQ_BALANCE_WHYS(IRQ_BALANCE_WHY_NAME) };

	return why < IRQ_BALANCE_NR_WHYS ? names[why] : "unknown";
}

/* Takes in the window of one interrupt; returns whether its load changes */
static bool irq_balance_measure(struct irq_balance *bal, u64 elapsed, struct irq_balance_irq *irq)
{
	const struct irq_balance_work *w = bal->work;
	struct irq_balance_state *st = irq->state;
	u64 heavy = irq_balance_heavy_load(w->set);
	bool was = st->heavy, heavy_now;

	irq->target = irq->cpu;
	irq->reason = IRQ_BALANCE_WHY_NONE;
	irq->gain = 0;
	if (st->generation != bal->generation) {
		memset(st, 0, sizeof(*st));
		st->generation = bal->generation;
		was = false;
	}
	if (irq->cpu < w->nr_cpus && elapsed) {
		u32 capacity = w->cpus[irq->cpu].capacity;

		/* The shares of two kinds of CPU in a window are not known */
		if (st->cpu < w->nr_cpus && w->cpus[st->cpu].capacity != capacity)
			st->load.seen = false;
		st->ran = irq->time != st->load.total;
		irq_balance_average_update(&st->load, irq->time, elapsed, capacity, true);
	}
	st->cpu = irq->cpu;
	irq->load = st->load.mean;
	if (was)
		heavy = heavy / 4 * 3;
	heavy_now = irq->cpu < w->nr_cpus && irq->load >= heavy;
	/* On a slow CPU a light one takes as much, and would start pass after pass */
	bal->busy |= irq->cpu < w->nr_cpus &&
		     irq->load * IRQ_BALANCE_CAPACITY >= heavy * w->cpus[irq->cpu].capacity;
	st->heavy = heavy_now && st->load.age_ms >= IRQ_BALANCE_STEP_MS;
	bal->nr_heavy += st->heavy;
	return st->heavy ? !was || st->load.run_ms : heavy_now;
}

/* Sees whether a move was done, and for how many passes it was not */
static void irq_balance_arrive(const struct irq_balance *bal, u64 now, struct irq_balance_irq *irq)
{
	struct irq_balance_state *st = irq->state;
	const struct irq_balance_cpu *cpus = bal->work->cpus;

	if (bal->asked || bal->changed || irq->changed) {
		WRITE_ONCE(st->hold, 0);
		st->refused = 0;
	}
	if (st->away && irq->cpu < bal->work->nr_cpus && cpus[irq->cpu].node == irq->node)
		st->away = false;
	if (!st->planned)
		return;
	if (irq->cpu == st->target) {
		st->churn = st->moved && st->hold && now < st->hold + irq_balance_ns(CHURN_MS) &&
			    !bal->program ? min(st->churn + 1, CHURN_MAX) : 0;
		st->moved = now;
		WRITE_ONCE(st->hold, now + (irq_balance_ns(REST_MS) << st->churn));
		st->reason = st->planned;
		st->refused = 0;
		st->away = irq->node >= 0 && cpus[irq->cpu].node != irq->node;
	} else if (!bal->observe && st->ran) {
		/* The move of a silent one may wait for its next interrupt */
		st->refused++;
		if (st->refused % REFUSED == 0)
			WRITE_ONCE(st->hold, now + irq_balance_ns(FAILED_MS <<
								  (st->refused / REFUSED - 1)));
		if (st->refused >= REFUSED * FAILED_MAX)
			st->refused -= REFUSED;
	}
	st->planned = IRQ_BALANCE_WHY_NONE;
}

/* Finds the domains of one level: @first of each CPU, @end and @nr of each domain */
static void irq_balance_domains(struct irq_balance_work *w, u32 level, size_t member)
{
	u32 pos, first = 0;

	for (pos = 0; pos < w->nr_cpus; pos++) {
		const void *a = &w->cpus[w->cpu[first]], *b = &w->cpus[w->cpu[pos]];

		if (*(const u32 *)(a + member) != *(const u32 *)(b + member) ||
		    (level && w->first[level - 1][pos] > first))
			first = pos;
		w->first[level][pos] = first;
		if (first == pos)
			w->domain[level][first].nr = 0;
		w->domain[level][first].end = pos + 1;
		w->domain[level][first].nr += w->cpus[w->cpu[pos]].usable;
	}
}

static int irq_balance_in_order(const void *a, const void *b, const void *priv)
{
	u32 i = *(const u32 *)a, j = *(const u32 *)b;
	const struct irq_balance_cpu *x = (const struct irq_balance_cpu *)priv + i;
	const struct irq_balance_cpu *y = (const struct irq_balance_cpu *)priv + j;

	return cmp_int(x->node, y->node) ?: cmp_int(x->package, y->package) ?:
	       cmp_int(x->llc, y->llc) ?: cmp_int(x->core, y->core) ?: cmp_int(i, j);
}

/* Brings the CPUs into the order of nodes, packages, caches, cores; mostly they are */
static void irq_balance_order(struct irq_balance_work *w)
{
	u32 pos;

	for (pos = 1; pos < w->nr_cpus; pos++) {
		if (irq_balance_in_order(&w->cpu[pos - 1], &w->cpu[pos], w->cpus) > 0) {
			sort_r(w->cpu, w->nr_cpus, sizeof(*w->cpu), irq_balance_in_order,
			       NULL, w->cpus);
			break;
		}
	}
	for (pos = 0; pos < w->nr_cpus; pos++)
		w->pos[w->cpu[pos]] = pos;
	irq_balance_domains(w, IRQ_BALANCE_NODE, offsetof(struct irq_balance_cpu, node));
	irq_balance_domains(w, IRQ_BALANCE_PACKAGE, offsetof(struct irq_balance_cpu, package));
	irq_balance_domains(w, IRQ_BALANCE_LLC, offsetof(struct irq_balance_cpu, llc));
	irq_balance_domains(w, IRQ_BALANCE_CORE, offsetof(struct irq_balance_cpu, core));
}

/* Light interrupts wait for one that saturates their CPU: makes it leave them */
static void irq_balance_add_waiting(struct irq_balance_work *w)
{
	const struct irq_balance_irq *irq;
	u64 *light = w->after, wait;
	bool saturated = false;
	u32 pos;

	memset(light, 0, w->nr_cpus * sizeof(*light));
	for (irq = w->irqs; irq < w->irqs + w->nr_irqs; irq++) {
		if (irq->cpu >= w->nr_cpus)
			continue;
		saturated |= irq_balance_cost(w, irq->load, w->pos[irq->cpu]) >= SATURATES;
		if (!irq->state->heavy)
			light[w->pos[irq->cpu]] += irq->load;
	}
	for (pos = 0; pos < w->nr_cpus && saturated; pos++) {
		wait = min(light[pos], IRQ_BALANCE_FULL);
		w->fixed[pos] += div_u64(IRQ_BALANCE_FULL / 4 * wait,
					 wait + IRQ_BALANCE_FULL / 1000);
	}
}

/* How far off a load may be; a pass that the user asked for assumes no error */
static u64 irq_balance_error(const struct irq_balance *bal, const struct irq_balance_average *avg)
{
	return bal->asked ? 0 : irq_balance_average_error(avg);
}

static int irq_balance_heavier(const void *a, const void *b)
{
	const struct irq_balance_item *x = a, *y = b;

	return cmp_int(y->load, x->load) ?: cmp_int(x->irq, y->irq);
}

/* Sorts the machine into what may be moved and what is given */
static void irq_balance_collect(struct irq_balance *bal, u64 now, struct irq_balance_cpu *cpus)
{
	struct irq_balance_work *w = bal->work;
	struct irq_balance_irq *irq;
	u32 pos;

	irq_balance_order(w);
	for (pos = 0; pos < w->nr_cpus; pos++) {
		const struct irq_balance_cpu *cpu = &cpus[w->cpu[pos]];

		w->scale[pos] = (IRQ_BALANCE_CAPACITY << IRQ_BALANCE_SCALE_SHIFT) / cpu->capacity;
		w->fixed[pos] = cpu->base.mean;
		w->error[pos] = irq_balance_error(bal, &cpu->base);
		w->flags[pos] = cpu->usable && now >= cpu->full_until ? IRQ_BALANCE_ROOM : 0;
	}
	w->nr = 0;
	for (irq = w->irqs; irq < w->irqs + w->nr_irqs; irq++) {
		struct irq_balance_state *st = irq->state;
		u64 error = irq_balance_error(bal, &st->load);
		bool allowed;

		for (pos = 0; st->away && pos < w->nr_cpus;
		     pos = w->domain[IRQ_BALANCE_NODE][pos].end) {
			if (cpus[w->cpu[pos]].node == irq->node)
				w->flags[pos] |= IRQ_BALANCE_AWAY;
		}
		if (irq->cpu >= w->nr_cpus)
			continue;
		pos = w->pos[irq->cpu];
		allowed = irq->allowed && cpus[irq->cpu].usable && test_bit(irq->cpu, irq->allowed);
		if (!irq->allowed)
			st->why = IRQ_BALANCE_WHY_FIXED;
		else if (!st->heavy)
			st->why = IRQ_BALANCE_WHY_LIGHT;
		else if (now < st->hold)
			st->why = st->refused ? IRQ_BALANCE_WHY_FAILED : IRQ_BALANCE_WHY_RESTING;
		else if (bal->program)
			st->why = IRQ_BALANCE_WHY_PROGRAM;
		/* With a program, the planner places what may not stay, and nothing else */
		if (!st->heavy || !irq->allowed || (allowed && (bal->program || now < st->hold))) {
			w->fixed[pos] += irq_balance_cost(w, irq->load, pos);
			w->error[pos] += irq_balance_cost(w, error, pos);
			continue;
		}
		w->items[w->nr++] = (struct irq_balance_item) {
			.load = irq->load, .error = error, .allowed = irq->allowed,
			.irq = irq - w->irqs, .home = pos, .node = irq->node,
		};
	}
	irq_balance_home(w);
	for (pos = 0; pos < w->nr_cpus; pos++)
		cpus[w->cpu[pos]].load = w->load[pos];
	irq_balance_add_waiting(w);
	sort(w->items, w->nr, sizeof(*w->items), irq_balance_heavier, NULL);
}

static u32 irq_balance_root(struct irq_balance_work *w, u32 pos)
{
	while (w->root[pos] != pos) {
		w->root[pos] = w->root[w->root[pos]];
		pos = w->root[pos];
	}
	return pos;
}

static bool irq_balance_is_near(const struct irq_balance_work *w,
				const struct irq_balance_item *it, u32 pos)
{
	return it->node < 0 || w->cpus[w->cpu[pos]].node == it->node;
}

/* In units of 2^10 ns/s, so that the squares of thousands fit 64 bits */
static u64 irq_balance_product(u64 a, u64 b)
{
	return min(a >> 10, 1ULL << 24) * min(b >> 10, 1ULL << 24);
}

/* Whether moves gain enough, with their errors: together for all CPUs that they connect */
static void irq_balance_assess(struct irq_balance_work *w)
{
	struct irq_balance_item *it, *end = w->items + w->nr;
	struct irq_balance_touch *t;
	u32 pos;

	memset(w->touch, 0, w->nr_cpus * sizeof(*w->touch));
	for (pos = 0; pos < w->nr_cpus; pos++) {
		w->root[pos] = pos;
		w->before[pos] = w->fixed[pos];
	}
	for (it = w->items; it < end; it++) {
		w->before[it->home] += irq_balance_cost(w, it->load, it->home);
		w->root[irq_balance_root(w, it->place)] = irq_balance_root(w, it->home);
	}
	for (pos = 0; pos < w->nr_cpus; pos++) {
		t = &w->touch[irq_balance_root(w, pos)];
		if (w->before[pos] >= t->before) {
			t->before = w->before[pos];
			t->worst = pos;
		}
	}
	/* The squares of the errors, before and after */
	for (pos = 0; pos < w->nr_cpus; pos++) {
		t = &w->touch[irq_balance_root(w, pos)];
		w->before[pos] = irq_balance_product(w->error[pos], w->error[pos]);
		w->after[pos] = w->before[pos];
		w->common[pos] = t->worst == pos ? w->before[pos] : 0;
		t->worth = true;
	}
	for (it = w->items; it < end; it++) {
		u64 before = irq_balance_cost(w, it->error, it->home);
		u64 after = irq_balance_cost(w, it->error, it->place);

		t = &w->touch[irq_balance_root(w, it->home)];
		w->before[it->home] += irq_balance_product(before, before);
		w->after[it->place] += irq_balance_product(after, after);
		/* On both sides only the difference counts: (a - b)^2 = a^2 + b^2 - 2ab */
		if (t->worst == it->home)
			w->common[it->place] += irq_balance_product(before, after);
		if (it->place == it->home)
			continue;
		t->forced |= irq_balance_is_forbidden(w, it);
		if (!irq_balance_is_near(w, it, it->home) && irq_balance_is_near(w, it, it->place))
			t->near += irq_balance_cost(w, it->load, it->home);
	}
	for (pos = 0; pos < w->nr_cpus; pos++) {
		u64 need, error;

		t = &w->touch[irq_balance_root(w, pos)];
		t->after = max(t->after, w->load[pos]);
		need = w->load[pos] + irq_balance_need(w, t->before);
		error = w->before[t->worst] + w->after[pos] - 2 * w->common[pos];
		if (t->before < need ||
		    irq_balance_product(t->before - need, t->before - need) < error)
			t->worth = false;
	}
}

/* Why an item is left where it is: the CPUs that its node keeps it from come first */
static enum irq_balance_why irq_balance_why_home(const struct irq_balance_work *w,
						 const struct irq_balance_item *it)
{
	u32 i, pos;

	for (i = 0; i < w->nr_cpus; i++) {
		pos = (it->end + i) % w->nr_cpus;
		if (pos != it->home && (w->flags[pos] & IRQ_BALANCE_ROOM) &&
		    test_bit(w->cpu[pos], it->allowed))
			return i < w->nr_cpus - (it->end - it->first) ?
			       IRQ_BALANCE_WHY_NODE : IRQ_BALANCE_WHY_BEST;
	}
	return IRQ_BALANCE_WHY_FULL;
}

/* Keeps of a placement what is worth it; returns the number of moves */
static unsigned int irq_balance_judge(struct irq_balance *bal)
{
	struct irq_balance_work *w = bal->work;
	unsigned int moves = 0;
	struct irq_balance_item *it;

	irq_balance_assess(w);
	bal->before = 0;
	bal->after = 0;
	for (it = w->items; it < w->items + w->nr; it++) {
		const struct irq_balance_touch *t = &w->touch[irq_balance_root(w, it->home)];
		struct irq_balance_state *st = w->irqs[it->irq].state;
		u64 need = irq_balance_need(w, t->before);

		if (it->place == it->home) {
			if (!it->rejected)
				st->why = irq_balance_why_home(w, it);
			continue;
		}
		if (t->forced || t->worth || (t->near && t->near >= need)) {
			bal->before = max(bal->before, t->before);
			bal->after = max(bal->after, t->after);
			moves++;
			continue;
		}
		st->why = t->before >= t->after + need ? IRQ_BALANCE_WHY_NOISE :
							 IRQ_BALANCE_WHY_GAIN;
		it->rejected = true;
		it->place = it->home;
	}
	return moves;
}

/* Finds a placement that is worth its moves */
static void irq_balance_search(struct irq_balance *bal)
{
	struct irq_balance_work *w = bal->work;
	bool hope = irq_balance_place(w);

	if (irq_balance_judge(bal) || !hope)
		return;
	/* Moves that are worth it may be connected with others that are not */
	irq_balance_home(w);
	irq_balance_settle(w);
	irq_balance_judge(bal);
}

static enum irq_balance_why irq_balance_reason(const struct irq_balance_work *w,
					       const struct irq_balance_item *it)
{
	if (irq_balance_is_forbidden(w, it))
		return IRQ_BALANCE_WHY_AFFINITY;
	if (!irq_balance_is_near(w, it, it->home) && irq_balance_is_near(w, it, it->place))
		return IRQ_BALANCE_WHY_LOCALITY;
	if (w->scale[it->place] < w->scale[it->home])
		return IRQ_BALANCE_WHY_CAPACITY;
	return IRQ_BALANCE_WHY_IMBALANCE;
}

/**
 * irq_balance_ask - Ask for a move
 * @bal:	the planner, in a pass
 * @irq:	the interrupt, which may be moved
 * @cpu:	where it is to go, a CPU that it may go to
 * @reason:	why
 */
void irq_balance_ask(struct irq_balance *bal, struct irq_balance_irq *irq, unsigned int cpu,
		     enum irq_balance_why reason)
{
	irq->target = cpu;
	irq->reason = reason;
	irq->gain = bal->before - min(bal->before, bal->after);
	irq->state->target = cpu;
	irq->state->planned = reason;
	irq->state->why = reason;
	bal->nr_moves++;
}

/* Asks for the moves of the placement */
static void irq_balance_publish(struct irq_balance *bal)
{
	struct irq_balance_work *w = bal->work;
	struct irq_balance_item *it;

	for (it = w->items; it < w->items + w->nr; it++) {
		if (it->place != it->home)
			irq_balance_ask(bal, &w->irqs[it->irq], w->cpu[it->place],
					irq_balance_reason(w, it));
	}
}

/* Sets when the next pass comes, and what starts one if there is no timer */
static void irq_balance_pace(struct irq_balance *bal, u64 now, bool changes)
{
	const struct irq_balance_settings *set = bal->work->set;
	u32 least = set->interval_ms, ms = 0;

	if (changes)
		ms = least;
	else if (bal->busy)
		ms = clamp(2 * bal->interval_ms, least, 4 * least);
	bal->interval_ms = ms;
	bal->next = ms ? now + irq_balance_ns(ms) : IRQ_BALANCE_NO_TIMER;
	bal->limit = ms ? 0 : div_u64(IRQ_LOAD_QUANTUM * IRQ_BALANCE_FULL,
				      irq_balance_heavy_load(set));
}

/**
 * irq_balance_pass - One pass: measure, plan, ask for moves
 * @bal:	the planner
 * @set:	settings
 * @now:	clock in ns, above 0, never going back
 * @cpus:	the CPUs, by number
 * @nr_cpus:	how many, as given to irq_balance_init()
 * @irqs:	the interrupts, in rising order
 * @nr_irqs:	how many, at most as given to irq_balance_init()
 *
 * Every interrupt whose @target is not its @cpu is to be moved there. The next
 * pass sees whether it was. The time of the next pass is in &irq_balance.next.
 *
 * Context: any; the caller serialises passes. No allocation, no recursion.
 *
 * Return: number of moves
 */
unsigned int irq_balance_pass(struct irq_balance *bal, const struct irq_balance_settings *set,
			      u64 now, struct irq_balance_cpu *cpus, unsigned int nr_cpus,
			      struct irq_balance_irq *irqs, unsigned int nr_irqs)
{
	struct irq_balance_work *w = bal->work;
	u64 elapsed = bal->last ? now - bal->last : 1;
	bool changes = false;
	unsigned int i;

	if (bal->last && elapsed < IRQ_BALANCE_WINDOW_MIN)
		elapsed = 0;
	if (elapsed)
		WRITE_ONCE(bal->last, now);
	bal->probe = bal->kicked ? 2 : bal->probe - !!bal->probe;
	bal->kicked = false;
	bal->nr_moves = 0;
	bal->nr_heavy = 0;
	bal->busy = false;
	w->set = set;
	w->cpus = cpus;
	w->irqs = irqs;
	w->nr_irqs = nr_irqs;
	for (i = 0; i < nr_cpus && elapsed; i++)
		irq_balance_average_update(&cpus[i].base, cpus[i].time, elapsed,
					   IRQ_BALANCE_CAPACITY, false);
	for (i = 0; i < nr_irqs; i++) {
		changes |= irq_balance_measure(bal, elapsed, &irqs[i]);
		irq_balance_arrive(bal, now, &irqs[i]);
	}
	irq_balance_collect(bal, now, cpus);

	irq_balance_search(bal);
	irq_balance_publish(bal);
	if (bal->program) {
		/* Its moves have no gain that is known */
		bal->after = bal->before;
		bal->program->plan(bal, now);
	}
	bal->asked = false;
	bal->changed = false;

	changes |= bal->probe || (bal->nr_moves && !bal->observe);
	irq_balance_pace(bal, now, changes);
	return bal->nr_moves;
}
