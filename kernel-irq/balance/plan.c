// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the planner
 *
 * A pass takes in what each interrupt has cost, brings the loads up to date, decides which
 * interrupts may move, has place.c find the moves that are worth it, and asks for them. The
 * rules, with an example, are in Documentation/admin-guide/irq-balance.rst, "How it decides".
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
/* One that base load follows begins with the longest rest: 64 s, up to an hour and more */
#define CHURN_FOLLOWED	12U

/* Passes after which a move has failed, and ms until it is tried again */
#define REFUSED		8U
#define FAILED_MS	2000U
#define FAILED_MAX	6U

/*
 * On a CPU with that load (ns/s), so much of it by light interrupts, those with a sixteenth of
 * what is heavy may move as well, until none of their moves is left for another pass
 */
#define NEARLY_FULL	(IRQ_BALANCE_FULL / 10 * 8)
#define CROWDED		(IRQ_BALANCE_FULL / 4)
#define CROWD_SHIFT	4

/* An interrupt on an idle CPU delays no task. Tasks weigh an eighth of their time */
#define TASKS_SHIFT	3

/*
 * Between two passes while nothing changes, in units of interval_ms; while a load swings, by
 * this part of it, long windows would hide that
 */
#define SETTLED		40U
#define SWINGING	4U
#define SWING_SHIFT	3

/* An alarm looks back for a sixteenth of a second. After one for nothing there is none for... */
#define ALARM_SHIFT	4
#define CALM_MS		125U
#define CALM_MAX	5U

static u64 irq_balance_ns(u32 ms)
{
	return (u64)ms * 1000000;
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
	size_t irqs = nr_irqs * sizeof(struct irq_balance_item);
	size_t cpus = nr_cpus * sizeof(struct irq_balance_slot);
	size_t domains = nr_cpus * sizeof(struct irq_balance_domain);
	struct irq_balance_work *w = mem;
	u32 i;

	if (mem) {
		bal->work = w;
		w->nr_cpus = nr_cpus;
		w->items = mem + sizeof(*w);
		w->slots = mem + sizeof(*w) + irqs;
		for (i = 0; i < IRQ_BALANCE_NR_LEVELS; i++)
			w->domains[i] = mem + sizeof(*w) + irqs + cpus + i * domains;
		for (i = 0; i < nr_cpus; i++)
			w->slots[i].cpu = i;
	}
	return sizeof(*w) + irqs + cpus + IRQ_BALANCE_NR_LEVELS * domains;
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

/* The capacity that a CPU's times count with */
static u32 irq_balance_rated(const struct irq_balance_cpu *cpu)
{
	return cpu->capacity + cpu->throttled;
}

/* An alarm wakes the thread before its timer: a load is far above its mean, or gets heavy */
static void irq_balance_set_alarm(const struct irq_balance *bal, u64 now,
				  const struct irq_balance_irq *irq)
{
	struct irq_balance_state *st = irq->state;
	u64 level = st->load.mean + irq_balance_average_off(&st->load), light, crowd;
	u64 heavy = irq_balance_heavy(bal->work->set);

	st->alarm.quantum = 0;
	if (!(irq->allowed || irq->waits) || irq->cpu >= bal->work->nr_cpus || now < bal->calm)
		return;
	if (!st->heavy) {
		/* If all light interrupts of its CPU rise as much they fill a quarter of it */
		light = bal->work->slots[bal->work->cpus[irq->cpu].pos].light;
		crowd = light ? mul_u64_u64_div_u64(st->load.mean, CROWDED, light) : 0;
		if (crowd < heavy >> CROWD_SHIFT)
			crowd = heavy / 2;
		level = clamp(level, min(crowd, heavy / 2), heavy);
	}
	level = div_u64(level * IRQ_BALANCE_CAPACITY,
			irq_balance_rated(&bal->work->cpus[irq->cpu]));
	if (level >= IRQ_BALANCE_FULL)
		return;
	st->alarm.quantum = max_t(u64, level >> ALARM_SHIFT, IRQ_LOAD_QUANTUM);
	/* Where little is heavy, a light load may take a quantum in more than 4 s */
	st->alarm.limit = min_t(u64, div_u64(IRQ_LOAD_QUANTUM * IRQ_BALANCE_FULL, level), U32_MAX);
}

/* Takes in the window of one interrupt; returns whether its load changes */
static bool irq_balance_measure(struct irq_balance *bal, u64 elapsed, struct irq_balance_irq *irq)
{
	const struct irq_balance_work *w = bal->work;
	struct irq_balance_state *st = irq->state;
	u64 heavy = irq_balance_heavy(w->set);
	u32 age = st->load.age_ms;
	bool was, heavy_now, busy;

	irq->target = irq->cpu;
	irq->reason = IRQ_BALANCE_WHY_NONE;
	irq->gain = 0;
	/* Its first pass since irq_balance_init(): what it knows is of another time */
	if (st->generation != bal->generation) {
		memset(st, 0, sizeof(*st));
		st->generation = bal->generation;
		st->from = IRQ_BALANCE_NOWHERE;
	}
	was = st->heavy;
	if (irq->cpu < w->nr_cpus && elapsed) {
		u32 capacity = irq_balance_rated(&w->cpus[irq->cpu]);

		/* The shares of two kinds of CPU in a window are not known */
		if (st->cpu < w->nr_cpus && irq_balance_rated(&w->cpus[st->cpu]) != capacity)
			st->load.seen = false;
		st->ran = irq->time != st->load.total;
		irq_balance_average_update(&st->load, irq->time, elapsed, capacity, true);
		/* Another load has other followers */
		if (st->load.age_ms < age) {
			st->follows = 0;
			st->churn = 0;
			st->from = IRQ_BALANCE_NOWHERE;
		}
	}
	st->cpu = irq->cpu;
	irq->load = st->load.mean;
	/* One that is heavy remains so down to three quarters, lest it come and go */
	if (was)
		heavy = heavy / 4 * 3;
	heavy_now = irq->cpu < w->nr_cpus && irq->load >= heavy;
	/* On a slow CPU a light interrupt takes as much, and would start pass after pass */
	busy = (irq->allowed || irq->waits) && irq->cpu < w->nr_cpus &&
	       irq->load * IRQ_BALANCE_CAPACITY >= heavy * w->cpus[irq->cpu].capacity;
	bal->busy |= busy;
	st->heavy = heavy_now && st->load.age_ms >= IRQ_BALANCE_STEP_MS;
	bal->nr_heavy += st->heavy;
	bal->swings |= st->heavy && busy &&
		       (st->load.run_ms || st->load.dev > st->load.mean >> SWING_SHIFT);
	return irq->allowed && (st->heavy ? !was : heavy_now);
}

/* Where base load goes with an interrupt, what its moves gain is less sure */
static bool irq_balance_is_followed(const struct irq_balance *bal,
				    const struct irq_balance_state *st)
{
	return st->follows >= irq_balance_heavy(bal->work->set) / 2;
}

/* Sees whether a move was done, and for how many passes it was not */
static void irq_balance_arrive(const struct irq_balance *bal, u64 now, struct irq_balance_irq *irq)
{
	struct irq_balance_state *st = irq->state;
	const struct irq_balance_cpu *cpus = bal->work->cpus;

	/* The user asks, or what it may do has changed: no rest */
	if (bal->asked || bal->changed || irq->changed) {
		WRITE_ONCE(st->hold, 0);
		st->refused = 0;
	}
	if (st->away && irq->cpu < bal->work->nr_cpus && cpus[irq->cpu].node == irq->node)
		st->away = false;
	/* It is not where it was sent: base load that comes or goes proves nothing */
	if (irq->cpu != st->target)
		st->from = IRQ_BALANCE_NOWHERE;
	if (!st->planned)
		return;
	/* Done: it rests, twice as long if the last rest ended less than CHURN_MS ago */
	if (irq->cpu == st->target) {
		if (bal->program)
			st->churn = 0;
		else if (irq_balance_is_followed(bal, st))
			st->churn = clamp(st->churn + 1U, CHURN_MAX, CHURN_FOLLOWED);
		else if (st->moved && st->hold && now < st->hold + irq_balance_ns(CHURN_MS))
			st->churn = min(st->churn + 1U, CHURN_MAX);
		else
			st->churn = 0;
		st->moved = now;
		WRITE_ONCE(st->hold, now + (irq_balance_ns(REST_MS) << st->churn));
		st->reason = st->planned;
		st->refused = 0;
		st->away = irq->node >= 0 && cpus[irq->cpu].node != irq->node;
	} else if (!bal->observe && st->ran) {
		/* The move of a silent interrupt may wait until it occurs */
		st->refused++;
		/* The wait doubles after each failure, up to 64 s */
		if (st->refused % REFUSED == 0)
			WRITE_ONCE(st->hold, now + irq_balance_ns(FAILED_MS <<
								  (st->refused / REFUSED - 1)));
		if (st->refused >= REFUSED * FAILED_MAX)
			st->refused -= REFUSED;
	}
	st->planned = IRQ_BALANCE_WHY_NONE;
}

/*
 * Load that the load map does not know to be an interrupt's is base load. Some of it follows the
 * interrupt: what came to its new CPU and left the old one in the minute after its move. To move
 * the interrupt away from that gains nothing. Returns what follows it, of the base load of its
 * CPU, ns/s on a CPU of capacity 1024.
 */
static u64 irq_balance_learn(struct irq_balance *bal, const struct irq_balance_irq *irq)
{
	const struct irq_balance_cpu *cpus = bal->work->cpus;
	struct irq_balance_state *st = irq->state;
	u64 least = irq_balance_heavy(bal->work->set) / 2, here = cpus[irq->cpu].base.mean, there;

	if (st->from < bal->work->nr_cpus && irq->cpu == st->target &&
	    bal->last < st->moved + irq_balance_ns(CHURN_MS)) {
		there = cpus[st->from].base.mean;
		here -= min(here, st->found);
		there = st->left - min(st->left, there);
		/* Either may have changed for another reason: the smaller one counts */
		bal->vain += st->follows < least && min(here, there) >= least;
		st->follows = max(st->follows, min(here, there));
	}
	return st->follows;
}

/* Finds the domains of one level: @first of each CPU, @end, @nr and @bias of each domain */
static void irq_balance_domains(struct irq_balance_work *w, u32 level, size_t member)
{
	struct irq_balance_domain *d = NULL;
	u32 pos, first = 0;

	for (pos = 0; pos < w->nr_cpus; pos++) {
		struct irq_balance_slot *slot = &w->slots[pos];
		const void *a = &w->cpus[w->slots[first].cpu], *b = &w->cpus[slot->cpu];

		if (!d || *(const u32 *)(a + member) != *(const u32 *)(b + member) ||
		    (level && slot->first[level - 1] > first)) {
			first = pos;
			d = &w->domains[level][pos];
			memset(d, 0, sizeof(*d));
		}
		slot->first[level] = first;
		d->end = pos + 1;
		d->nr += w->cpus[slot->cpu].usable;
		d->bias += slot->bias;
	}
}

static int irq_balance_in_order(const void *a, const void *b, const void *priv)
{
	u32 i = ((const struct irq_balance_slot *)a)->cpu;
	u32 j = ((const struct irq_balance_slot *)b)->cpu;
	const struct irq_balance_cpu *x = (const struct irq_balance_cpu *)priv + i;
	const struct irq_balance_cpu *y = (const struct irq_balance_cpu *)priv + j;

	return cmp_int(x->node, y->node) ?: cmp_int(x->package, y->package) ?:
	       cmp_int(x->llc, y->llc) ?: cmp_int(x->core, y->core) ?: cmp_int(i, j);
}

/* Brings the CPUs into the order of nodes, packages, caches, cores; mostly they are */
static void irq_balance_order(struct irq_balance_work *w)
{
	int most = w->cpus[0].priority, least = w->cpus[0].priority;
	bool equal = true;
	u32 pos;

	for (pos = 1; pos < w->nr_cpus; pos++) {
		const struct irq_balance_cpu *cpu = &w->cpus[pos];

		most = max(most, cpu->priority);
		least = min(least, cpu->priority);
		equal &= cpu->capacity == w->cpus[0].capacity;
		if (irq_balance_in_order(&w->slots[pos - 1], &w->slots[pos], w->cpus) > 0)
			sort_r(w->slots, w->nr_cpus, sizeof(*w->slots), irq_balance_in_order,
			       NULL, w->cpus);
	}
	for (pos = 0; pos < w->nr_cpus; pos++) {
		struct irq_balance_slot *slot = &w->slots[pos];
		struct irq_balance_cpu *cpu = &w->cpus[slot->cpu];

		cpu->pos = pos;
		slot->bias = min(cpu->tasks, IRQ_BALANCE_FULL) >> TASKS_SHIFT;
		if (equal && most > least)
			slot->bias += div_u64(irq_balance_heavy(w->set) / 2 *
					      (most - cpu->priority), most - least);
	}
	irq_balance_domains(w, IRQ_BALANCE_NODE, offsetof(struct irq_balance_cpu, node));
	irq_balance_domains(w, IRQ_BALANCE_PACKAGE, offsetof(struct irq_balance_cpu, package));
	irq_balance_domains(w, IRQ_BALANCE_LLC, offsetof(struct irq_balance_cpu, llc));
	irq_balance_domains(w, IRQ_BALANCE_CORE, offsetof(struct irq_balance_cpu, core));
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

/* Takes in the CPUs, and adds up what each has to do */
static void irq_balance_take_cpus(struct irq_balance *bal, u64 now)
{
	struct irq_balance_work *w = bal->work;
	const struct irq_balance_irq *irq;
	u32 pos;

	irq_balance_order(w);
	for (pos = 0; pos < w->nr_cpus; pos++) {
		struct irq_balance_slot *slot = &w->slots[pos];
		const struct irq_balance_cpu *cpu = &w->cpus[slot->cpu];

		slot->scale = (IRQ_BALANCE_CAPACITY << IRQ_BALANCE_SCALE_SHIFT) / cpu->capacity;
		slot->fixed = irq_balance_cost(w, cpu->base.mean, pos);
		slot->fixed_error = irq_balance_cost(w, irq_balance_error(bal, &cpu->base), pos);
		slot->base = slot->fixed;
		slot->room = cpu->usable && now >= cpu->full_until;
		slot->load = slot->fixed;
		slot->light = 0;
	}
	for (irq = w->irqs; irq < w->irqs + w->nr_irqs; irq++) {
		struct irq_balance_slot *slot;
		u64 cost;

		/* Of those behind a chained one the carrier has the load */
		if (irq->cpu >= w->nr_cpus || irq->carrier)
			continue;
		slot = &w->slots[w->cpus[irq->cpu].pos];
		cost = irq_balance_cost(w, irq->load, w->cpus[irq->cpu].pos);
		slot->load += cost;
		slot->light += irq->state->heavy ? 0 : cost;
	}
	/* The wait of light interrupts behind one that saturates the CPU: up to a quarter */
	for (pos = 0; pos < w->nr_cpus; pos++) {
		struct irq_balance_slot *slot = &w->slots[pos];
		u64 light = min(slot->light, IRQ_BALANCE_FULL);

		w->cpus[slot->cpu].load = slot->load;
		slot->wait = div_u64(IRQ_BALANCE_FULL / 4 * light, light + IRQ_BALANCE_FULL / 1000);
	}
}

/* Sorts the interrupts into what may be moved and what is given */
static void irq_balance_take_irqs(struct irq_balance *bal, u64 now)
{
	struct irq_balance_work *w = bal->work;
	struct irq_balance_irq *irq;
	u32 pos;

	w->nr = 0;
	for (irq = w->irqs; irq < w->irqs + w->nr_irqs; irq++) {
		struct irq_balance_state *st = irq->state;
		u64 error = irq_balance_error(bal, &st->load), follows;
		struct irq_balance_slot *slot;
		bool allowed, crowded;

		for (pos = 0; st->away && st->heavy && pos < w->nr_cpus;
		     pos = w->domains[IRQ_BALANCE_NODE][pos].end)
			w->domains[IRQ_BALANCE_NODE][pos].away |=
				w->cpus[w->slots[pos].cpu].node == irq->node;
		if (irq->cpu >= w->nr_cpus || irq->carrier)
			continue;
		pos = w->cpus[irq->cpu].pos;
		slot = &w->slots[pos];
		follows = irq_balance_learn(bal, irq);
		allowed = irq->allowed && w->cpus[irq->cpu].usable &&
			  test_bit(irq->cpu, irq->allowed);
		/* From a quarter of a CPU on, light interrupts in sum are watched */
		crowded = slot->light >= CROWDED && irq->allowed;
		bal->busy |= crowded;
		crowded &= (slot->load >= NEARLY_FULL || bal->more) &&
			   st->load.age_ms >= IRQ_BALANCE_STEP_MS &&
			   irq->load >= irq_balance_heavy(w->set) >> CROWD_SHIFT;
		bal->crowd |= crowded && !st->heavy;
		if (!irq->allowed)
			st->why = IRQ_BALANCE_WHY_FIXED;
		else if (!st->heavy && !crowded)
			st->why = IRQ_BALANCE_WHY_LIGHT;
		else if (now < st->hold)
			st->why = st->refused ? IRQ_BALANCE_WHY_FAILED : IRQ_BALANCE_WHY_RESTING;
		else if (bal->program)
			st->why = IRQ_BALANCE_WHY_PROGRAM;
		/* With a program, the planner places what may not stay, and nothing else */
		if (!(st->heavy || crowded) || !irq->allowed ||
		    (allowed && bal->program) ||
		    ((allowed || st->refused >= 2 * REFUSED) && now < st->hold)) {
			slot->fixed += irq_balance_cost(w, irq->load, pos);
			slot->fixed_error += irq_balance_cost(w, error, pos);
			continue;
		}
		/* The part of base load that follows it moves with it */
		follows = min(irq_balance_cost(w, follows, pos), slot->base);
		slot->base -= follows;
		slot->fixed -= follows;
		w->items[w->nr++] = (struct irq_balance_item) {
			.load = irq->load +
				div_u64(follows << IRQ_BALANCE_SCALE_SHIFT, slot->scale),
			.error = error, .toll = irq->toll, .allowed = irq->allowed,
			.irq = irq - w->irqs,
			.home = pos, .place = pos, .node = irq->node,
			.stay = allowed, .doubt = st->refused >= REFUSED,
			.why = IRQ_BALANCE_WHY_BEST,
			.hint = irq->hint && irq->hint <= w->nr_cpus ?
				w->cpus[irq->hint - 1].pos : IRQ_BALANCE_NOWHERE,
			.refused = st->refused >= REFUSED && now < st->hold ?
				   w->cpus[st->target].pos : IRQ_BALANCE_NOWHERE,
			.vain = follows >= irq_balance_need(w, slot->load),
		};
		/* Each move has to gain more than the one before */
		if (irq_balance_is_followed(bal, st))
			w->items[w->nr - 1].toll += st->churn * irq_balance_need(w, slot->load);
	}
	for (pos = 0; pos < w->nr_cpus; pos++) {
		struct irq_balance_slot *slot = &w->slots[pos];

		slot->fixed_error = irq_balance_product(slot->fixed_error, slot->fixed_error);
	}
	sort(w->items, w->nr, sizeof(*w->items), irq_balance_heavier, NULL);
}

/* Why an item is left where it is: the CPUs that its node keeps it from come first */
static enum irq_balance_why irq_balance_why_home(const struct irq_balance_work *w,
						 const struct irq_balance_item *it)
{
	u32 i, pos;

	if (it->vain)
		return IRQ_BALANCE_WHY_VAIN;
	if (it->why != IRQ_BALANCE_WHY_BEST)
		return it->why;
	for (i = 0; i < w->nr_cpus; i++) {
		pos = (it->end + i) % w->nr_cpus;
		if (pos != it->home && w->slots[pos].room &&
		    test_bit(w->slots[pos].cpu, it->allowed))
			return i < w->nr_cpus - (it->end - it->first) ?
			       IRQ_BALANCE_WHY_NODE : IRQ_BALANCE_WHY_BEST;
	}
	return IRQ_BALANCE_WHY_FULL;
}

static bool irq_balance_is_near(const struct irq_balance_work *w,
				const struct irq_balance_item *it, u32 pos)
{
	return it->node < 0 || w->cpus[w->slots[pos].cpu].node == it->node;
}

static enum irq_balance_why irq_balance_reason(const struct irq_balance_work *w,
					       const struct irq_balance_item *it)
{
	if (!it->stay)
		return IRQ_BALANCE_WHY_AFFINITY;
	if (!irq_balance_is_near(w, it, it->home) && irq_balance_is_near(w, it, it->place))
		return IRQ_BALANCE_WHY_LOCALITY;
	if (w->slots[it->place].scale < w->slots[it->home].scale)
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
	irq->state->from = irq->cpu;
	irq->state->left = bal->work->cpus[irq->cpu].base.mean;
	irq->state->found = bal->work->cpus[cpu].base.mean;
	irq->state->target = cpu;
	irq->state->planned = reason;
	irq->state->why = reason;
	bal->nr_moves++;
}

/* The load of a CPU, less the wait of light interrupts that it counts with */
static u64 irq_balance_without_wait(const struct irq_balance_work *w, u32 pos)
{
	const struct irq_balance_slot *slot = &w->slots[pos];
	const struct irq_balance_item *it;
	u64 load = slot->load;

	/* The heaviest come first */
	hlist_for_each_entry(it, &slot->items, at) {
		if (irq_balance_cost(w, it->load, pos) < IRQ_BALANCE_SATURATES)
			break;
		load -= slot->wait;
	}
	return load;
}

/* Asks for the moves of the placement */
static void irq_balance_ask_all(struct irq_balance *bal)
{
	struct irq_balance_work *w = bal->work;
	struct irq_balance_item *it;

	bal->before = 0;
	bal->after = 0;
	for (it = w->items; it < w->items + w->nr; it++) {
		const struct irq_balance_slot *old = &w->slots[it->home];
		const struct irq_balance_slot *new = &w->slots[it->place];

		if (it->place == it->home) {
			w->irqs[it->irq].state->why = irq_balance_why_home(w, it);
			continue;
		}
		bal->before = max3(bal->before, w->cpus[old->cpu].load, w->cpus[new->cpu].load);
		bal->after = max3(bal->after, irq_balance_without_wait(w, it->home),
				  irq_balance_without_wait(w, it->place));
	}
	for (it = w->items; it < w->items + w->nr; it++) {
		if (it->place != it->home)
			irq_balance_ask(bal, &w->irqs[it->irq], w->slots[it->place].cpu,
					irq_balance_reason(w, it));
	}
}

/* Sets when the next pass comes, and what starts one before that */
static void irq_balance_pace(struct irq_balance *bal, u64 now, bool changes)
{
	const struct irq_balance_settings *set = bal->work->set;
	u32 least = set->interval_ms, ms = 0;

	if (changes)
		ms = least;
	else if (bal->busy)
		ms = clamp(2 * bal->interval_ms, least, (bal->swings ? SWINGING : SETTLED) * least);
	bal->interval_ms = ms;
	/* Without alarms nothing but a timer starts a pass */
	if (ms)
		bal->next = now + irq_balance_ns(ms);
	else
		bal->next = now < bal->calm ? bal->calm : IRQ_BALANCE_NO_TIMER;
	bal->limit = div_u64(IRQ_LOAD_QUANTUM * IRQ_BALANCE_FULL, irq_balance_heavy(set));
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

	/* Too short a time to measure: plan with the loads of the last pass */
	if (bal->last && elapsed < IRQ_BALANCE_WINDOW_MIN)
		elapsed = 0;
	/* After a start or a change look until loads are known */
	if (bal->kicked || bal->changed || !bal->last)
		bal->probe = 4;
	bal->probe -= !!bal->probe;
	if (elapsed)
		WRITE_ONCE(bal->last, now);
	bal->nr_moves = 0;
	bal->nr_heavy = 0;
	bal->busy = false;
	bal->swings = false;
	bal->crowd = false;
	w->set = set;
	w->cpus = cpus;
	w->irqs = irqs;
	w->nr_irqs = nr_irqs;
	for (i = 0; i < nr_cpus && elapsed; i++)
		irq_balance_average_update(&cpus[i].base, cpus[i].time, elapsed,
					   irq_balance_rated(&cpus[i]), false);
	for (i = 0; i < nr_irqs; i++) {
		changes |= irq_balance_measure(bal, elapsed, &irqs[i]);
		irq_balance_arrive(bal, now, &irqs[i]);
	}
	irq_balance_take_cpus(bal, now);
	irq_balance_take_irqs(bal, now);
	irq_balance_place(w);
	irq_balance_ask_all(bal);
	if (bal->program) {
		/* Its moves have no gain that is known */
		bal->after = bal->before;
		bal->program->plan(bal, now);
	}

	/* A kick for nothing: the next one is not listened to for a while */
	if (bal->nr_moves) {
		bal->false_alarms = 0;
		bal->calm = 0;
	} else if (bal->kicked) {
		bal->false_alarms = min(bal->false_alarms + 1, CALM_MAX);
		bal->calm = now + (irq_balance_ns(CALM_MS) << bal->false_alarms);
	}
	for (i = 0; i < nr_irqs; i++)
		irq_balance_set_alarm(bal, now, &irqs[i]);
	bal->kicked = false;
	bal->asked = false;
	bal->changed = false;
	bal->more = bal->crowd && bal->nr_moves >= IRQ_BALANCE_MOVES_MAX;

	changes |= bal->probe || (bal->nr_moves && !bal->observe);
	irq_balance_pace(bal, now, changes);
	return bal->nr_moves;
}
