// SPDX-License-Identifier: GPL-2.0
/*
 * bench - measure the time of a pass
 *
 * The machines have two levels of locality (nodes, last-level caches) and SMT. All
 * interrupts are on one CPU. Each pass is timed from the same state, twenty times.
 * The minimum counts, because every disturbance makes a pass longer. All memory is
 * allocated before.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <stdio.h>

#include "kernel.h"

#define ROUNDS	20
#define SMALL	40
#define SECOND	1000000000ULL

/* Each interrupt begins on a core of its own, not all of them on CPU 0 */
static bool apart;

static u64 seed = 88172645463325252ULL;

/* xorshift64 */
static u64 rnd(u64 below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static u64 clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

static void *array(size_t nr, size_t size)
{
	void *mem = calloc(nr, size);

	if (!mem)
		abort();
	return mem;
}

/**
 * struct figures - result of a run
 * @usec:	minimum time of a pass, in tenths of a microsecond
 * @moves:	moves of the plan
 * @before:	worst relative load before it, per mille
 * @after:	worst relative load after it, per mille
 * @mean:	mean relative load, per mille: a lower bound
 */
struct figures {
	u64		usec;
	unsigned int	moves;
	u64		before;
	u64		after;
	u64		mean;
};

static void build_cpus(struct irq_balance_cpu *cpus, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		cpus[i].capacity = 1024;
		cpus[i].core = i / 2;
		cpus[i].llc = i / 16;
		cpus[i].node = i / 128;
		cpus[i].package = i / 128;
		cpus[i].usable = true;
	}
}

/**
 * run - time one machine
 * @nr_cpus:	CPUs
 * @nr_irqs:	interrupts
 * @heavy:	how many of them are heavy
 * @held:	whether devices have a node
 * @allowed:	CPUs of each mask, which are random, 0: all
 * @rounds:	passes of the same state
 * @fig:	figures
 */
static void run(unsigned int nr_cpus, unsigned int nr_irqs, unsigned int heavy,
		bool held, unsigned int allowed, unsigned int rounds, struct figures *fig)
{
	struct irq_balance_settings set = IRQ_BALANCE_DEFAULTS;
	struct irq_balance_cpu *cpus = array(nr_cpus, sizeof(*cpus));
	struct irq_balance_cpu *cpus0 = array(nr_cpus, sizeof(*cpus));
	struct irq_balance_irq *irqs = array(nr_irqs, sizeof(*irqs));
	struct irq_balance_state *st = array(nr_irqs, sizeof(*st));
	struct irq_balance_state *st0 = array(nr_irqs, sizeof(*st));
	unsigned int longs = BITS_TO_LONGS(nr_cpus);
	unsigned long *masks = array((size_t)nr_irqs * longs, sizeof(*masks));
	struct irq_balance_input in = {
		.set = &set, .cpus = cpus, .irqs = irqs, .nr_irqs = nr_irqs,
	};
	struct irq_balance bal = { 0 }, bal0;
	u64 total = 0, after = 0, *load = array(nr_cpus, sizeof(*load));
	unsigned int i, round;

	memset(masks, allowed ? 0 : 0xff, (size_t)nr_irqs * longs * sizeof(*masks));
	irq_balance_init(&bal, array(1, irq_balance_set_work(&bal, NULL, nr_irqs, nr_cpus)),
			 nr_irqs, nr_cpus);
	build_cpus(cpus, nr_cpus);
	for (i = 0; i < nr_irqs; i++) {
		irqs[i].irq = i;
		irqs[i].node = held ? (int)rnd((nr_cpus + 127) / 128) : -1;
		irqs[i].cpu = apart ? i * (nr_cpus / nr_irqs) : 0;
		irqs[i].allowed = &masks[(size_t)i * longs];
		for (round = 0; round < allowed; round++)
			__set_bit(round ? rnd(nr_cpus) : 0, &masks[(size_t)i * longs]);
		irqs[i].state = &st[i];
	}
	irq_balance_pass(&bal, SECOND, &in);
	for (i = 0; i < nr_irqs; i++) {
		/* Heavy interrupts are spread over the numbers; loads in a window of 1 s. */
		bool is_heavy = (u64)i * heavy / nr_irqs !=
				(u64)(i + 1) * heavy / nr_irqs;

		irqs[i].time = is_heavy ? 30000000 + rnd(300000000) : rnd(2000000);
		total += irqs[i].time;
	}
	for (i = 0; i < nr_cpus; i++) {
		cpus[i].time = rnd(30000000);
		total += cpus[i].time;
	}
	memcpy(cpus0, cpus, nr_cpus * sizeof(*cpus));
	memcpy(st0, st, nr_irqs * sizeof(*st));
	bal0 = bal;

	fig->usec = ~0ULL;
	for (round = 0; round < rounds; round++) {
		u64 begun;

		memcpy(cpus, cpus0, nr_cpus * sizeof(*cpus));
		memcpy(st, st0, nr_irqs * sizeof(*st));
		bal = bal0;
		begun = clock_now();
		irq_balance_pass(&bal, 2 * SECOND, &in);
		fig->usec = min(fig->usec, (clock_now() - begun) / 100);
	}
	for (i = 0; i < nr_cpus; i++)
		load[i] = cpus[i].time;
	for (i = 0; i < nr_irqs; i++)
		load[irqs[i].target] += irqs[i].time;
	for (i = 0; i < nr_cpus; i++)
		after = max(after, load[i]);
	fig->moves = bal.nr_moves;
	fig->before = cpus[0].load / 1000000;
	fig->after = after / 1000000;
	fig->mean = total / nr_cpus / 1000000;

	free(bal.work);
	free(cpus);
	free(cpus0);
	free(irqs);
	free(st);
	free(st0);
	free(masks);
	free(load);
}

/* Times a machine, and says whether that takes more than @ms */
static bool row(unsigned int nr_cpus, unsigned int nr_irqs, unsigned int heavy, bool held,
		unsigned int allowed, unsigned int ms)
{
	struct figures fig;

	run(nr_cpus, nr_irqs, heavy, held, allowed, ROUNDS, &fig);
	printf("%6u %6u %6u %7llu.%llu %6u %9llu %7llu %6llu\n", nr_cpus, nr_irqs,
	       heavy, (unsigned long long)fig.usec / 10,
	       (unsigned long long)fig.usec % 10, fig.moves,
	       (unsigned long long)fig.before, (unsigned long long)fig.after,
	       (unsigned long long)fig.mean);
	return fig.usec >= ms * 10000;
}

int main(int argc, char **argv)
{
	struct figures fig;
	bool bad = false;
	unsigned int n;

	if (argc == 4 && (!strcmp(argv[1], "small") || !strcmp(argv[1], "settled"))) {
		apart = argv[1][1] == 'e';
		for (n = 0; n < SMALL; n++)
			run(atoi(argv[3]), atoi(argv[2]), atoi(argv[2]), false, 0, 1, &fig);
		return 0;
	}
	if (argc > 1) {
		fprintf(stderr, "usage: %s: time passes of the planner\n"
			"       %s small IRQS CPUS: passes of %d machines, to count their instructions\n"
			"       %s settled IRQS CPUS: the same where each interrupt has CPUs of its own\n",
			argv[0], argv[0], SMALL, argv[0]);
		return 2;
	}
	puts("One pass from all interrupts on one CPU, minimum of 20.\n"
	     "Loads are per mille of a CPU.\n"
	     "  CPUs   irqs  heavy        us  moves    before   after   mean");
	for (n = 0; n < 2; n++)
		bad |= row(1024, 4096, 600, n, 0, 2);
	puts("Growth with the interrupts, all heavy, devices in nodes, which let go of\n"
	     "them when 8192 fill the machine:");
	for (n = 64; n <= 8192; n *= 2)
		bad |= row(1024, n, n, true, 0, 10);
	puts("The same on 16 CPUs:");
	for (n = 64; n <= 8192; n *= 2)
		bad |= row(16, n, n, true, 0, 10);
	puts("The same with random masks of 2, 4, and half of 16, 128 and 1024 CPUs:");
	for (n = 16; n <= 1024; n *= 8) {
		bad |= row(n, 4 * n, 4 * n, false, 2, 10);
		bad |= row(n, 4 * n, 4 * n, false, 4, 10);
		bad |= row(n, 4 * n, 4 * n, false, n / 2, 10);
	}
	if (bad)
		puts("FAIL: more than 2 ms for 600 heavy interrupts, or than 10 ms for more");
	return bad;
}
