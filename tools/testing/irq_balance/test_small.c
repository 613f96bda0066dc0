// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the planner on machines that are small enough to try all placements.
 */
#include "place.h"
#include "test.h"

/* All placements of the interrupts from @irq on: the least worst CPU by the number of moves */
static void try_all(const struct world *w, unsigned int irq, u64 *load, unsigned int moves,
		    u64 *least)
{
	unsigned int cpu, home;
	u64 worst = 0, cost;

	if (irq == w->nr_irqs) {
		for (cpu = 0; cpu < w->nr_cpus; cpu++)
			worst = max(worst, load[cpu]);
		least[moves] = min(least[moves], worst);
		return;
	}
	home = w->irqs[irq].cpu;
	for (cpu = 0; cpu < w->nr_cpus; cpu++) {
		if (cpu == home ? !w->cpus[cpu].usable || !test_bit(cpu, w->mask[irq]) :
				  !world_may(w, irq, cpu) || w->load[irq] < 20 * MSEC)
			continue;
		cost = w->load[irq] * 1024 / w->cpus[cpu].capacity;
		load[cpu] += cost;
		try_all(w, irq + 1, load, moves + (cpu != home), least);
		load[cpu] -= cost;
	}
}

static u64 square(u64 load)
{
	return load / MSEC * (load / MSEC);
}

/* Totals of many plans: the less of each the better */
enum { WORST, MOVES, SQUARES, PACKAGES, CACHES, CORES, GUESTS, MISSED, NR_TOTALS };

/* Lets the user ask for a plan, and adds up what it achieves */
static void plan_small(struct world *w, u64 *total)
{
	u64 least[9], load[8] = { 0 }, domain[3][8] = { 0 }, optimum, before = world_worst(w);
	unsigned int i;

	memset(least, 0xff, sizeof(least));
	for (i = 0; i < w->nr_cpus; i++)
		load[i] = w->base[i];
	try_all(w, 0, load, 0, least);
	for (i = 0, optimum = before; i <= w->nr_irqs; i++)
		optimum = min(optimum, least[i]);
	world_exact(w);
	total[MOVES] += world_step(w, 200 * MSEC);
	total[WORST] += world_worst(w) / MSEC;
	total[MISSED] += world_worst(w) > optimum + max(optimum / 100, before / 20);
	for (i = 0; i < w->nr_cpus; i++) {
		total[SQUARES] += square(world_load(w, i));
		domain[0][w->cpus[i].package] += world_load(w, i);
		domain[1][w->cpus[i].llc] += world_load(w, i);
		domain[2][w->cpus[i].core] += world_load(w, i);
	}
	for (i = 0; i < 8; i++) {
		total[PACKAGES] += square(domain[0][i]);
		total[CACHES] += square(domain[1][i]);
		total[CORES] += square(domain[2][i]);
	}
	for (i = 0; i < w->nr_irqs; i++)
		total[GUESTS] += w->irqs[i].node >= 0 &&
				 w->irqs[i].node != w->cpus[w->irqs[i].cpu].node;
}

void test_small(void)
{
	/* Two per cent more than they are */
	static const u64 most[NR_TOTALS] = {
		[WORST] = 1158700, [MOVES] = 1653, [SQUARES] = 1727480000,
		[PACKAGES] = 2596260000, [CACHES] = 2163780000, [CORES] = 1954150000,
		[GUESTS] = 504, [MISSED] = 226,
	};
	static const unsigned int most_irqs[] = { 8, 6, 5, 4, 4 };
	unsigned int seed, i, n, nr, kind, package, llc, core;
	u64 total[NR_TOTALS] = { 0 };
	struct world w;

	for (seed = 1; seed <= 1000 && !failure; seed++) {
		rng = seed * 2654435761ULL + 88172645463325252ULL;
		for (i = 0; i < 8; i++)
			rnd(2);
		n = 2 + rnd(5);
		nr = 1 + rnd(most_irqs[n - 2]);
		kind = rnd(64);
		package = rnd(3);
		llc = rnd(package + 1);
		core = rnd(llc + 1);
		world_init(&w, n);
		w.bal.observe = true;
		for (i = 0; i < n; i++) {
			w.cpus[i].package = i >> package;
			w.cpus[i].llc = i >> llc;
			w.cpus[i].core = i >> core;
			if (kind & 1)
				w.base[i] = rnd(300000000);
			if (kind & 2)
				w.cpus[i].capacity = rnd(2) ? 1024 : 300 + rnd(600);
			if (kind & 4)
				w.cpus[i].node = i * 2 / n;
			w.cpus[i].full_until = kind & 8 && !rnd(4) ? ~0ULL : 0;
			w.cpus[i].usable = !(kind & 8) || rnd(8);
		}
		for (i = 0; i < nr; i++) {
			world_irq(&w, kind & 16 ? rnd(n) : 0,
				  (1 + rnd(rnd(4) ? 20 : 5)) * (kind & 32 ? 37 : 17) * MSEC);
			if (kind & 4)
				w.irqs[i].node = (int)rnd(3) - 1;
			if (!rnd(5))
				only(&w, i, rnd(2) ? w.irqs[i].cpu : rnd(n), rnd(n));
		}
		world_step(&w, 100 * MSEC);
		plan_small(&w, total);
		for (i = 0; i < nr; i++) {
			w.load[i] = w.load[i] * (1 << rnd(4)) / 4;
			memset(&w.state[i].load, 0, sizeof(w.state[i].load));
		}
		world_step(&w, 100 * MSEC);
		plan_small(&w, total);
		finish(&w);
	}
	for (i = 0; i < NR_TOTALS && !failure; i++) {
		if (total[i] <= most[i])
			continue;
		snprintf(text, sizeof(text), "total %u is %llu, above %llu", i,
			 (unsigned long long)total[i], (unsigned long long)most[i]);
		failure = text;
	}
	report("what plans of small machines achieve");
}
