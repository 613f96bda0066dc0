// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: a pass of the planner
 *
 * A pass takes in what each interrupt has cost, brings the loads up to date (average.c), judges the
 * last moves, has place.c find those that are worth it, and asks for them.
 *
 * An interrupt with at least 2 % of a CPU of capacity 1024 (``heavy``) may move once it was
 * measured for a tenth of a second. On a CPU above 80 % a sixteenth of ``heavy`` is enough.
 *
 * After a move the interrupt rests for a second. Five seconds after it the loads of both CPUs over
 * the last second are compared with the predicted gain, whatever causes them: if half of it did
 * not come, the interrupt rests for a minute, after a second failure for an hour. So it does
 * if it moves again within two minutes after its rest, unless its CPU is above 80 %: there that
 * counts for five seconds only. A gain that came takes back what failures have added to the
 * rest, a move later than these two minutes half of all, a step of the interrupt's load all of it.
 *
 * The next pass comes after interval_ms while loads change or moves are under way, after six times
 * that while an interrupt is heavy, or light interrupts are in sum on a CPU with a quarter of
 * load, otherwise when an interrupt becomes heavy.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/types.h>

#include "place.h"
#include "plan.h"

/* A move is judged after that time (ns): what it brought shows in the loads of the last second */
#define JUDGE_NS	5000000000ULL

/* After a move it rests a second, a minute or an hour; longer if it moves within SOON_NS of that */
#define REST_NS		1000000000ULL
#define REST_SHIFT	6U
#define REST_MAX	2U
#define SOON_NS		120000000000ULL

/* Passes after which a move has failed */
#define WAITED		8U

/*
 * On a CPU that is nearly full those with a sixteenth of what is heavy may move as well. From a
 * quarter of load on, a CPU is watched that has light interrupts.
 */
#define CROWD_SHIFT	4
#define CROWDED		(IRQ_BALANCE_FULL / 4)

/* An interrupt on an idle CPU delays no task. Tasks weigh an eighth of their time */
#define TASKS_SHIFT	3
/* A priority counts from 0 to 255 (x86: of 1 to 64 for the slow and the fast cores) */
#define PRIORITY_MAX	255
#define PRIORITY_SHIFT	13

/* Between two passes while nothing changes, in units of interval_ms */
#define SETTLED		6U

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
	struct irq_balance_work *w = mem;

	if (mem) {
		bal->work = w;
		w->nr_cpus = nr_cpus;
		w->items = mem + sizeof(*w);
		w->slots = mem + sizeof(*w) + irqs;
	}
	return sizeof(*w) + irqs + nr_cpus * sizeof(struct irq_balance_slot);
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
static u32 rated(const struct irq_balance_cpu *cpu)
{
	return cpu->capacity + cpu->throttled;
}

/* Takes in the window of one interrupt */
static void measure(struct irq_balance *bal, u64 now, u64 elapsed, struct irq_balance_irq *irq)
{
	const struct irq_balance_work *w = bal->work;
	struct irq_balance_state *st = irq->state;
	u64 heavy = irq_balance_heavy(w->in.set);
	u32 age;

	irq->target = irq->cpu;
	irq->reason = IRQ_BALANCE_WHY_NONE;
	irq->gain = 0;
	/* Its first pass since irq_balance_init(): what it knows is of another time */
	if (st->generation != bal->generation) {
		memset(st, 0, sizeof(*st));
		st->generation = bal->generation;
	}
	age = st->load.age_ms;
	if (irq->cpu < w->nr_cpus && elapsed) {
		u32 capacity = rated(&w->in.cpus[irq->cpu]);

		/* The shares of two kinds of CPU in a window are not known */
		if (st->cpu < w->nr_cpus && rated(&w->in.cpus[st->cpu]) != capacity)
			st->load.seen = false;
		irq_balance_average_update(&st->load, irq->time, elapsed, capacity, true);
	}
	/* Another load is news, unless it is of its own move */
	if (st->load.age_ms < age && now >= st->moved + JUDGE_NS) {
		st->hold = 0;
		st->broken = 0;
		st->soon = 0;
	}
	st->cpu = irq->cpu;
	irq->load = st->load.mean;
	/* One that is heavy remains so down to three quarters, lest it come and go */
	if (st->heavy)
		heavy = heavy / 4 * 3;
	st->heavy = irq->cpu < w->nr_cpus && irq->load >= heavy;
	bal->busy |= st->heavy;
	bal->changes |= (st->load.run_ms && max(irq->load, st->load.run) >= heavy) ||
			(st->heavy && st->load.age_ms < IRQ_BALANCE_STEP_MS);
	st->heavy &= st->load.age_ms >= IRQ_BALANCE_STEP_MS;
	bal->nr_heavy += st->heavy;
}

static void rest(struct irq_balance_state *st, u64 from)
{
	st->hold = from + (REST_NS << REST_SHIFT * max(st->broken, st->soon));
}

/* Was the last move done, and did it gain what was predicted? How long it rests depends on that */
static void judge(const struct irq_balance *bal, u64 now, struct irq_balance_irq *irq)
{
	struct irq_balance_state *st = irq->state;
	const struct irq_balance_cpu *cpus = bal->work->in.cpus;

	if (st->planned && irq->cpu == st->target) {
		if (st->hold && now < st->hold + SOON_NS) {
			st->soon = min(st->soon + 1U, REST_MAX);
		} else {
			st->soon /= 2;
			st->broken /= 2;
		}
		/* A program may move it as often as it likes */
		if (bal->program) {
			st->soon = 0;
			st->broken = 0;
		}
		rest(st, now);
		st->moved = now;
		st->reason = st->planned;
		st->waited = 0;
		st->failed = false;
	} else if (st->planned && !bal->observe && ++st->waited == WAITED) {
		/* It is still not there: tried again after a second, a minute, each hour */
		st->waited = 0;
		st->failed = true;
		rest(st, now);
		st->broken = min(st->broken + 1U, REST_MAX);
	}
	st->planned = IRQ_BALANCE_WHY_NONE;
	/* If others have come or gone since, the loads do not judge this move */
	if (irq->cpu != st->target || bal->program || cpus[st->from].asked >= st->moved ||
	    cpus[irq->cpu].asked >= st->moved)
		st->promise = 0;
	if (st->promise && now >= st->moved + JUDGE_NS) {
		if (max(cpus[st->from].recent, cpus[irq->cpu].recent) > st->promise)
			st->broken = min(st->broken + 1U, REST_MAX);
		else
			st->broken = 0;
		st->promise = 0;
		rest(st, st->moved);
	}
	/* Its mask, or the CPUs, have changed: no rest */
	if (bal->changed || irq->changed) {
		st->hold = 0;
		st->waited = 0;
		st->failed = false;
	}
}

/* Takes in the CPUs: what each has to do, and how it compares with others */
static void take_cpus(struct irq_balance *bal, u64 now)
{
	struct irq_balance_work *w = bal->work;
	struct irq_balance_irq *irq;
	u32 i;

	memset(w->slots, 0, w->nr_cpus * sizeof(*w->slots));
	for (i = 0; i < w->nr_cpus; i++) {
		struct irq_balance_slot *slot = &w->slots[i];
		struct irq_balance_cpu *cpu = &w->in.cpus[i];
		u64 base, error;

		if (cpu->node >= 0 && cpu->node < (int)w->nr_cpus)
			w->slots[cpu->node].package = 1 + cpu->package;
		slot->scale = (IRQ_BALANCE_CAPACITY << IRQ_BALANCE_SCALE_SHIFT) / cpu->capacity;
		slot->room = cpu->usable && now >= cpu->full_until;
		slot->bias = (min(cpu->tasks, IRQ_BALANCE_FULL) >> TASKS_SHIFT) +
			     (u64)(PRIORITY_MAX - clamp(cpu->priority, 0, PRIORITY_MAX)) *
			     (IRQ_BALANCE_FULL >> PRIORITY_SHIFT);
		base = irq_balance_cost(w, cpu->base.mean, i);
		cpu->load = base;
		cpu->recent = irq_balance_cost(w, cpu->base.recent, i);
		error = irq_balance_cost(w, irq_balance_average_error(&cpu->base), i);
		irq_balance_charge(w, i, base, irq_balance_square(error));
	}
	for (irq = w->in.irqs; irq < w->in.irqs + w->in.nr_irqs; irq++) {
		u64 cost;

		if (irq->cpu >= w->nr_cpus)
			continue;
		cost = irq_balance_cost(w, irq->load, irq->cpu);
		w->in.cpus[irq->cpu].load += cost;
		w->in.cpus[irq->cpu].recent +=
			irq_balance_cost(w, irq->state->load.recent, irq->cpu);
		w->slots[irq->cpu].light += irq->state->heavy ? 0 : cost;
	}
}

/* On a CPU that is nearly full it waits no longer than for the judgment, unless that was bad */
static bool is_resting(const struct irq_balance_state *st, u64 now, bool full)
{
	u64 judged = st->moved + max(REST_NS << REST_SHIFT * st->broken, JUDGE_NS);

	return now < (full ? min(st->hold, judged) : st->hold);
}

/* Whether an interrupt may be put elsewhere by this pass; if not, why */
static bool is_item(struct irq_balance *bal, u64 now, const struct irq_balance_irq *irq, bool stay)
{
	const struct irq_balance_work *w = bal->work;
	struct irq_balance_state *st = irq->state;
	bool full = w->in.cpus[irq->cpu].load >= IRQ_BALANCE_NEARLY_FULL;
	bool crowd = full && irq->load >= irq_balance_heavy(w->in.set) >> CROWD_SHIFT &&
		     st->load.age_ms >= IRQ_BALANCE_STEP_MS;
	enum irq_balance_why why;

	if (!irq->allowed)
		why = IRQ_BALANCE_WHY_FIXED;
	else if (now < st->hold && st->failed)
		why = IRQ_BALANCE_WHY_FAILED;
	else if (stay && is_resting(st, now, full))
		why = IRQ_BALANCE_WHY_RESTING;
	else if (stay && !st->heavy && !crowd)
		why = IRQ_BALANCE_WHY_LIGHT;
	else if (stay && bal->program)
		/* With a program, the planner places what may not stay, and nothing else */
		why = IRQ_BALANCE_WHY_PROGRAM;
	else
		return true;
	WRITE_ONCE(st->why, why);
	return false;
}

static int heavier(const void *a, const void *b)
{
	const struct irq_balance_item *x = a, *y = b;

	return cmp_int(y->load, x->load) ?: cmp_int(x->irq, y->irq);
}

/* Sorts the interrupts into what may be moved and what is given */
static void take_irqs(struct irq_balance *bal, u64 now)
{
	struct irq_balance_work *w = bal->work;
	struct irq_balance_irq *irq;

	w->nr = 0;
	for (irq = w->in.irqs; irq < w->in.irqs + w->in.nr_irqs; irq++) {
		u64 error = irq_balance_average_error(&irq->state->load), cost;
		bool stay;

		if (irq->cpu >= w->nr_cpus)
			continue;
		bal->busy |= w->in.cpus[irq->cpu].load >= CROWDED &&
			     w->slots[irq->cpu].light >= irq_balance_heavy(w->in.set);
		stay = irq->allowed && w->in.cpus[irq->cpu].usable &&
		       test_bit(irq->cpu, irq->allowed);
		if (!is_item(bal, now, irq, stay)) {
			cost = irq_balance_cost(w, irq->load, irq->cpu);
			error = irq_balance_cost(w, error, irq->cpu);
			irq_balance_charge(w, irq->cpu, cost, irq_balance_square(error));
			continue;
		}
		w->items[w->nr++] = (struct irq_balance_item) {
			.load = irq->load, .error = error, .toll = irq->toll,
			.known = irq->state->load.age_ms >= IRQ_BALANCE_UNKNOWN_MS,
			.allowed = irq->allowed, .irq = irq - w->in.irqs,
			.home = irq->cpu, .place = irq->cpu, .node = irq->node,
			.stay = stay, .keeps = !stay && irq->state->failed,
			.why = IRQ_BALANCE_WHY_BEST, .hint = irq->hint - 1,
		};
	}
	sort(w->items, w->nr, sizeof(*w->items), heavier, NULL);
}

static enum irq_balance_why reason_of(const struct irq_balance_work *w,
				      const struct irq_balance_item *it)
{
	int node = it->node;

	if (!it->stay)
		return IRQ_BALANCE_WHY_AFFINITY;
	if (node >= 0 && w->in.cpus[it->home].node != node && w->in.cpus[it->place].node == node)
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
	const struct irq_balance_work *w = bal->work;
	u64 before = max(w->in.cpus[irq->cpu].load, w->in.cpus[cpu].load);
	u64 after = max(w->slots[irq->cpu].load, w->slots[cpu].load);

	irq->target = cpu;
	irq->reason = reason;
	irq->gain = bal->before - min(bal->before, bal->after);
	/* Half of what the busier of both gains has to come */
	irq->state->promise = after +
			      (max(before, after) - after + irq_balance_heavy(w->in.set)) / 2;
	irq->state->from = irq->cpu;
	w->in.cpus[irq->cpu].asked = bal->last;
	w->in.cpus[cpu].asked = bal->last;
	irq->state->target = cpu;
	irq->state->planned = reason;
	WRITE_ONCE(irq->state->why, reason);
	bal->nr_moves++;
}

/* Asks for the moves of the placement */
static void ask_all(struct irq_balance *bal)
{
	struct irq_balance_work *w = bal->work;
	const struct irq_balance_cpu *cpus = w->in.cpus;
	struct irq_balance_item *it;

	bal->before = 0;
	bal->after = 0;
	for (it = w->items; it < w->items + w->nr; it++) {
		if (it->place == it->home) {
			WRITE_ONCE(w->in.irqs[it->irq].state->why, it->why);
			continue;
		}
		bal->before = max3(bal->before, cpus[it->home].load, cpus[it->place].load);
		bal->after = max3(bal->after, w->slots[it->home].load, w->slots[it->place].load);
	}
	for (it = w->items; it < w->items + w->nr; it++) {
		if (it->place != it->home)
			irq_balance_ask(bal, &w->in.irqs[it->irq], it->place, reason_of(w, it));
	}
}

/* Sets when the next pass comes, or what starts it */
static void set_pace(struct irq_balance *bal, u64 now)
{
	const struct irq_balance_settings *set = bal->work->in.set;

	bal->changes |= bal->kicked || bal->changed || (bal->nr_moves && !bal->observe);
	bal->interval_ms = bal->changes ? set->interval_ms :
			   bal->busy ? SETTLED * set->interval_ms : 0;
	bal->next = bal->interval_ms ? now + bal->interval_ms * 1000000ULL : IRQ_BALANCE_NO_TIMER;
	bal->limit = bal->interval_ms ? 0 :
		     div_u64(IRQ_LOAD_QUANTUM * IRQ_BALANCE_FULL, irq_balance_heavy(set));
}

/**
 * irq_balance_pass - One pass: measure, plan, ask for moves
 * @bal:	the planner
 * @now:	clock in ns, above 0, never going back
 * @in:		settings, CPUs, interrupts
 *
 * Every interrupt whose @target is not its @cpu is to be moved there. The next
 * pass sees whether it was. The time of the next pass is in &irq_balance.next.
 *
 * Context: any; the caller serialises passes. No allocation, no recursion.
 *
 * Return: number of moves
 */
unsigned int irq_balance_pass(struct irq_balance *bal, u64 now, const struct irq_balance_input *in)
{
	struct irq_balance_work *w = bal->work;
	u64 elapsed = bal->last ? now - bal->last : 1;
	unsigned int i;

	/* Too short a time to measure: plan with the loads of the last pass */
	if (bal->last && elapsed < IRQ_BALANCE_WINDOW_MIN)
		elapsed = 0;
	bal->changes = !bal->last;
	if (elapsed)
		WRITE_ONCE(bal->last, now);
	bal->nr_moves = 0;
	bal->nr_heavy = 0;
	bal->busy = false;
	w->in = *in;
	for (i = 0; i < w->nr_cpus && elapsed; i++)
		irq_balance_average_update(&in->cpus[i].base, in->cpus[i].time, elapsed,
					   rated(&in->cpus[i]), false);
	for (i = 0; i < in->nr_irqs; i++)
		measure(bal, now, elapsed, &in->irqs[i]);
	take_cpus(bal, now);
	for (i = 0; i < in->nr_irqs; i++)
		judge(bal, now, &in->irqs[i]);
	take_irqs(bal, now);
	irq_balance_place(w);
	ask_all(bal);
	if (bal->program) {
		/* Its moves have no gain that is known */
		bal->after = bal->before;
		bal->program->plan(bal, now);
	}
	set_pace(bal, now);
	bal->kicked = false;
	bal->changed = false;
	return bal->nr_moves;
}
