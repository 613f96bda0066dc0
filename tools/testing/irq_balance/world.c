// SPDX-License-Identifier: GPL-2.0
/*
 * A small machine for tests.
 */
#include <stdlib.h>
#include <string.h>

#include "world.h"

/**
 * world_init - a machine of equal CPUs, each a core, four to a package
 * @w:		world
 * @nr_cpus:	CPUs
 */
void world_init(struct world *w, unsigned int nr_cpus)
{
	unsigned int i;
	size_t size;

	memset(w, 0, sizeof(*w));
	w->nr_cpus = nr_cpus;
	w->now = 1000 * MSEC;
	w->set = IRQ_BALANCE_DEFAULTS;
	for (i = 0; i < nr_cpus; i++) {
		w->cpus[i].capacity = 1024;
		w->cpus[i].node = -1;
		w->cpus[i].package = i / 4;
		w->cpus[i].llc = i / 4;
		w->cpus[i].core = i;
		w->cpus[i].usable = true;
	}
	size = irq_balance_set_work(&w->bal, NULL, WORLD_IRQS, nr_cpus);
	w->work = malloc(size);
	if (!w->work)
		abort();
	memset(w->work, 0xff, size);
	irq_balance_init(&w->bal, w->work, WORLD_IRQS, nr_cpus);
}

/**
 * world_exit - free what it has
 * @w:		world
 */
void world_exit(struct world *w)
{
	free(w->work);
}

/**
 * world_irq - a new interrupt that may be served by any CPU
 * @w:		world
 * @cpu:	its CPU
 * @load:	ns/s on a CPU of capacity 1024
 *
 * Return: its index.
 */
unsigned int world_irq(struct world *w, unsigned int cpu, u64 load)
{
	unsigned int i = w->nr_irqs++;

	w->irqs[i].irq = 16 + i;
	w->irqs[i].node = -1;
	w->irqs[i].cpu = cpu;
	w->irqs[i].state = &w->state[i];
	w->load[i] = load;
	w->movable[i] = true;
	memset(w->mask[i], 0xff, sizeof(w->mask[i]));
	return i;
}

static u64 cost(const struct world *w, unsigned int irq, unsigned int cpu)
{
	return w->load[irq] * 1024 / w->cpus[cpu].capacity;
}

/* Times that follow the frequency count as if nothing were throttled */
static u64 charged(const struct world *w, unsigned int cpu, u64 ns)
{
	return ns * w->cpus[cpu].capacity / (w->cpus[cpu].capacity + w->cpus[cpu].throttled);
}

/**
 * world_load - the load of a CPU
 * @w:		world
 * @cpu:	CPU
 *
 * Return: ns/s.
 */
u64 world_load(const struct world *w, unsigned int cpu)
{
	u64 load = w->base[cpu];
	unsigned int i;

	for (i = 0; i < w->nr_irqs; i++) {
		if (w->irqs[i].cpu == cpu)
			load += cost(w, i, cpu);
	}
	return load;
}

/**
 * world_worst - the load of the worst CPU
 * @w:		world
 *
 * Return: ns/s.
 */
u64 world_worst(const struct world *w)
{
	u64 worst = 0;
	unsigned int i;

	for (i = 0; i < w->nr_cpus; i++)
		worst = max(worst, world_load(w, i));
	return worst;
}

/**
 * world_may - whether an interrupt may move to a CPU
 * @w:		world
 * @irq:	its index
 * @cpu:	the CPU
 *
 * Return: true if it may.
 */
bool world_may(const struct world *w, unsigned int irq, unsigned int cpu)
{
	return w->movable[irq] && w->cpus[cpu].usable && w->now >= w->cpus[cpu].full_until &&
	       test_bit(cpu, w->mask[irq]);
}

static void check(struct world *w, bool good, const char *what)
{
	if (!good && !w->wrong)
		w->wrong = what;
}

static u64 seen_worst(const struct world *w)
{
	u64 worst = 0;
	unsigned int i;

	for (i = 0; i < w->nr_cpus; i++)
		worst = max(worst, w->cpus[i].load);
	return worst;
}

/* The worst of the CPUs that moves touch, before and after, by the loads the planner knows */
static void touched_worst(const struct world *w, u64 *before, u64 *after)
{
	u64 load[WORLD_CPUS];
	bool touched[WORLD_CPUS] = { false };
	unsigned int i, cpu;

	for (cpu = 0; cpu < w->nr_cpus; cpu++)
		load[cpu] = w->cpus[cpu].load;
	for (i = 0; i < w->nr_irqs; i++) {
		const struct irq_balance_irq *irq = &w->irqs[i];
		u64 gone;

		if (irq->target == irq->cpu)
			continue;
		/* Loads are rounded */
		gone = irq->load * 1024 / w->cpus[irq->cpu].capacity;
		load[irq->cpu] -= min(load[irq->cpu], gone);
		load[irq->target] += irq->load * 1024 / w->cpus[irq->target].capacity;
		touched[irq->cpu] = true;
		touched[irq->target] = true;
	}
	for (cpu = 0, *before = 0, *after = 0; cpu < w->nr_cpus; cpu++) {
		*before = touched[cpu] ? max(*before, w->cpus[cpu].load) : *before;
		*after = touched[cpu] ? max(*after, load[cpu]) : *after;
	}
}

/* Whether light interrupts are heavy in sum on a CPU with a quarter of load */
static bool crowded(const struct world *w)
{
	u64 light[WORLD_CPUS] = { 0 };
	bool found = false;
	unsigned int i;

	for (i = 0; i < w->nr_irqs; i++) {
		if (w->irqs[i].cpu >= w->nr_cpus || w->state[i].heavy)
			continue;
		light[w->irqs[i].cpu] += w->irqs[i].load * 1024 / w->cpus[w->irqs[i].cpu].capacity;
		found |= light[w->irqs[i].cpu] >= w->set.heavy * 990000ULL &&
			 w->cpus[w->irqs[i].cpu].load >= 249 * MSEC;
	}
	return found;
}

static void make_exact(struct irq_balance_average *avg, u64 load)
{
	avg->mean = load;
	avg->recent = load;
	avg->dev = 0;
	avg->windows = (struct irq_balance_range) { load, load };
	avg->seconds = avg->windows;
	avg->age_ms = 3600000;
	avg->run_ms = 0;
}

/**
 * world_exact - let the next passes know the loads as if they had been constant for an hour
 * @w:		world
 *
 * No interrupt rests, either.
 */
void world_exact(struct world *w)
{
	unsigned int i;

	for (i = 0; i < w->nr_irqs; i++)
		make_exact(&w->state[i].load, w->load[i]);
	for (i = 0; i < w->nr_cpus; i++)
		make_exact(&w->cpus[i].base, w->base[i] * w->cpus[i].capacity /
					     IRQ_BALANCE_CAPACITY);
	w->bal.changed = true;
}

/**
 * world_pass - make one pass now and execute its moves
 * @w:		world
 *
 * Return: moves that were done.
 */
unsigned int world_pass(struct world *w)
{
	u64 before, after, nearer = 0, gain, off;
	unsigned int i, asked = 0, done = 0;
	bool forced = false, heavy = false, failed = false;

	for (i = 0; i < w->nr_irqs; i++)
		w->irqs[i].allowed = w->movable[i] ? w->mask[i] : NULL;
	asked = irq_balance_pass(&w->bal, w->now, &(struct irq_balance_input) {
		.set = &w->set, .cpus = w->cpus, .irqs = w->irqs, .nr_irqs = w->nr_irqs,
	});
	for (i = 0; i < w->nr_irqs; i++) {
		struct irq_balance_irq *irq = &w->irqs[i];

		/* Heavy, or heavy with the next average */
		heavy |= irq->state->heavy || (irq->cpu < w->nr_cpus && irq->load >=
					       w->set.heavy * 750000ULL);
	}
	for (i = 0; i < w->nr_irqs; i++) {
		struct irq_balance_irq *irq = &w->irqs[i];

		irq->changed = false;
		if (irq->target == irq->cpu) {
			check(w, irq->reason == IRQ_BALANCE_WHY_NONE,
			      "a reason without a move");
			check(w, !irq->gain, "a gain without a move");
			continue;
		}
		check(w, irq->cpu < w->nr_cpus, "moved from nowhere");
		check(w, irq->target < w->nr_cpus, "moved out of the machine");
		if (w->wrong)
			break;
		asked--;
		check(w, w->movable[i], "moved what may not be moved");
		check(w, world_may(w, i, irq->target), "moved to a forbidden CPU");
		check(w, irq->state->heavy || irq->reason == IRQ_BALANCE_WHY_AFFINITY ||
		      irq->reason == IRQ_BALANCE_WHY_PROGRAM ||
		      w->cpus[irq->cpu].load >= 800 * MSEC, "moved a light interrupt");
		check(w, irq->reason != IRQ_BALANCE_WHY_NONE,
		      "a move without a reason");
		check(w, irq->state->why == irq->reason, "another reason in its state");
		check(w, irq->gain <= seen_worst(w), "gains more than there is");
		if (!w->cpus[irq->cpu].usable || !test_bit(irq->cpu, w->mask[i]))
			forced = true;
		/* It may come nearer to its device up to that */
		if (irq->node >= 0 && w->cpus[irq->cpu].node != irq->node)
			nearer = 700 * MSEC;
		/* One that failed to leave counts where it is as well */
		failed |= irq->state->failed;
	}
	check(w, !asked, "wrong number of moves");
	check(w, w->bal.nr_moves <= IRQ_BALANCE_MOVES_MAX, "too many moves in a pass");
	if (!w->wrong && !w->bal.program) {
		touched_worst(w, &before, &after);
		gain = before - min(before, after);
		off = before / 10000 + 1000;
		for (i = 0; i < w->nr_irqs; i++)
			check(w, w->irqs[i].target == w->irqs[i].cpu ||
			      (w->irqs[i].gain <= gain + off &&
			       (failed || w->irqs[i].gain + off >= gain)),
			      "another gain than that of its moves");
		/* To have no company is worth some load of its own */
		before += max(before / 15, 7 * MSEC);
		check(w, forced || after <= max(before, nearer) + off, "made the worst CPU worse");
	}
	check(w, !w->cpus[w->nr_cpus].base.seen, "measured a CPU behind the last");
	check(w, w->bal.next > w->now, "next pass in the past");
	check(w, heavy || w->bal.next == IRQ_BALANCE_NO_TIMER || w->bal.changes || crowded(w),
	      "a timer with nothing heavy");
	check(w, (w->bal.next == IRQ_BALANCE_NO_TIMER) == !!w->bal.limit,
	      "not either a timer or a limit");
	for (i = 0; i < w->nr_irqs && !w->wrong; i++) {
		struct irq_balance_irq *irq = &w->irqs[i];

		if (irq->target == irq->cpu || w->deaf[i])
			continue;
		w->hash = w->hash * 1000003 + i * 8191 + irq->target;
		irq->cpu = irq->target;
		done++;
	}
	w->passes++;
	w->moves += done;
	if (done)
		w->last_move = w->now;
	return done;
}

static void advance(struct world *w, u64 ns)
{
	unsigned int i;

	for (i = 0; i < w->nr_irqs; i++) {
		if (w->irqs[i].cpu < w->nr_cpus)
			w->irqs[i].time += charged(w, w->irqs[i].cpu, cost(w, i, w->irqs[i].cpu)) *
					   (ns / MSEC) / 1000;
	}
	for (i = 0; i < w->nr_cpus; i++)
		w->cpus[i].time += charged(w, i, w->base[i]) * (ns / MSEC) / 1000;
	w->now += ns;
}

/**
 * world_step - one pass, after a while
 * @w:		world
 * @ns:		how long
 *
 * Return: moves that were done.
 */
unsigned int world_step(struct world *w, u64 ns)
{
	unsigned int i;

	advance(w, ns / MSEC * MSEC);
	w->now += ns % MSEC;
	for (i = 0; i < w->nr_irqs; i++) {
		if (w->irqs[i].cpu < w->nr_cpus)
			w->irqs[i].time += cost(w, i, w->irqs[i].cpu) * (ns % MSEC) / 1000 / MSEC;
	}
	return world_pass(w);
}

/**
 * world_run - passes at the policy's own pace
 * @w:		world
 * @ms:		for how long, simulated; without a timer a kick every 100 ms
 *		stands for interrupt entry
 *
 * Return: moves that were done.
 */
unsigned int world_run(struct world *w, unsigned int ms)
{
	u64 end = w->now + ms * MSEC;
	unsigned int moves = w->moves;

	while (w->now < end && !w->wrong) {
		u64 next = w->bal.next, kick = max(w->bal.last + 100 * MSEC, w->now + MSEC);
		bool kicked = next == IRQ_BALANCE_NO_TIMER || next <= w->now;

		if (kicked)
			next = kick;
		advance(w, min(next, end) - w->now);
		if (w->now == next) {
			w->bal.kicked |= kicked;
			world_pass(w);
		}
	}
	return w->moves - moves;
}
