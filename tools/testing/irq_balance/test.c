// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the planner: properties on generated machines, and all tests. TAP on stdout.
 */
#include "test.h"

/* Calls of report(): a test that is lost on the way is missed */
#define NR_TESTS	111

static unsigned int nr_tests, nr_failed;
const char *failure;
char text[512];

void report(const char *name)
{
	nr_tests++;
	nr_failed += !!failure;
	printf("%sok %u %s\n", failure ? "not " : "", nr_tests, name);
	if (failure)
		printf("# %s\n", failure);
	failure = NULL;
	fflush(stdout);
}

/* No promise was broken on the way. */
void finish(struct world *w)
{
	if (w->wrong && !failure) {
		snprintf(text, sizeof(text), "promise: %s", w->wrong);
		failure = text;
	}
	world_exit(w);
}

void settle(struct world *w)
{
	world_pass(w);
	world_run(w, 3000);
}

/* The moves of the first plan, with exact loads */
unsigned int ask(struct world *w)
{
	world_step(w, 100 * MSEC);
	world_exact(w);
	return world_step(w, 200 * MSEC);
}

/* Allow an interrupt two CPUs */
void only(struct world *w, unsigned int irq, unsigned int a, unsigned int b)
{
	memset(w->mask[irq], 0, sizeof(w->mask[irq]));
	__set_bit(a, w->mask[irq]);
	__set_bit(b, w->mask[irq]);
}

u64 rng = 1;

u64 rnd(u64 below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 8) % below;
}

/* Properties, on generated machines. */

static void random_world(struct world *w, u64 seed)
{
	unsigned int nr, i, c, kind, nodes, package, llc;

	rng = seed * 2654435761ULL + 88172645463325252ULL;
	for (i = 0; i < 8; i++)
		rnd(2);
	world_init(w, 1 + rnd(rnd(8) ? 16 : WORLD_CPUS));
	kind = rnd(64);
	nodes = 1 + rnd(4);
	package = 4 << rnd(2);
	llc = package >> rnd(2);
	for (c = 0; c < w->nr_cpus; c++) {
		w->cpus[c].package = c / package;
		w->cpus[c].llc = c / llc;
		w->cpus[c].core = c / 2;
		if (kind & 1)
			w->cpus[c].capacity = 1 + rnd(1024);
		if (kind & 2)
			w->cpus[c].node = c * nodes / w->nr_cpus;
		if (kind & 4)
			w->cpus[c].usable = rnd(8);
		if (kind & 8)
			w->cpus[c].full_until = rnd(8) ? 0 : ~0ULL;
		if (kind & 16)
			w->base[c] = rnd(500000000);
	}
	nr = 1 + rnd(rnd(8) ? 24 : WORLD_IRQS - 1);
	for (i = 0; i < nr; i++) {
		world_irq(w, rnd(4) ? 0 : rnd(w->nr_cpus),
			  rnd(4) ? rnd(400000000) : rnd(30000000));
		if (kind & 2)
			w->irqs[i].node = (int)rnd(nodes + 2) - 1;
		if (kind & 32) {
			for (c = 0; c < w->nr_cpus; c++) {
				if (rnd(2))
					__clear_bit(c, w->mask[i]);
			}
		}
		w->movable[i] = rnd(10);
		if (!rnd(30))
			w->irqs[i].cpu = w->nr_cpus + rnd(3);
	}
	for (i = 0; i < nr && seed % 3 == 0; i++) {
		w->irqs[i].hint = rnd(w->nr_cpus + 2);
		w->irqs[i].toll = rnd(4) ? 0 : rnd(50 * MSEC);
	}
	for (c = 0; c < w->nr_cpus && seed % 5 == 0; c++)
		w->cpus[c].throttled = rnd(1025 - w->cpus[c].capacity);
}

/* A CPU may be used no more, or again, and the mask of an interrupt is another one */
static void change(struct world *w)
{
	unsigned int cpu = rnd(w->nr_cpus), i = rnd(w->nr_irqs);

	w->cpus[cpu].usable = !w->cpus[cpu].usable;
	w->bal.changed = true;
	for (cpu = 0; cpu < w->nr_cpus; cpu++) {
		if (rnd(2))
			__clear_bit(cpu, w->mask[i]);
		else
			__set_bit(cpu, w->mask[i]);
	}
	w->irqs[i].changed = true;
}

static u64 play(u64 seed, bool *moving)
{
	struct world w;
	unsigned int i, n;
	u64 hash;

	random_world(&w, seed);
	/* Some whose moves are never done, on every fourth machine. */
	for (i = 0; i < w.nr_irqs && seed % 4 == 0; i++)
		w.deaf[i] = !rnd(8);
	for (n = 0, *moving = false; n < 4 && !*moving; n++) {
		world_pass(&w);
		/*
		 * The slow averages may be needed to measure a load that a slow CPU capped,
		 * and interrupts that do not move are detected one after the other.
		 */
		for (i = 0; i < 8 && world_run(&w, 10000); i++)
			;
		*moving = i == 8;
		change(&w);
	}
	if (w.wrong && !failure) {
		snprintf(text, sizeof(text), "seed %llu: %s",
			 (unsigned long long)seed, w.wrong);
		failure = text;
	}
	hash = w.hash + w.moves + w.bal.next;
	world_exit(&w);
	return hash;
}

static void test_promises(unsigned int seeds)
{
	unsigned int seed;

	for (seed = 1; seed <= seeds && !failure; seed++) {
		bool moving;
		u64 hash;

		hash = play(seed, &moving);
		if (moving && !failure) {
			snprintf(text, sizeof(text), "seed %u: still moves after 80 s",
				 seed);
			failure = text;
		}
		/* Equal input, equal plan. */
		EXPECT_EQ(play(seed, &moving), hash);
	}
	report("promises kept, an end found, and both again, on generated machines");
}

/* A load that is off its mean by up to @amp per mille, in one of four ways. */
static u64 noisy(u64 mean, unsigned int amp, unsigned int kind)
{
	u64 off = mean * amp / 1000, low = mean - off, span = 2 * off + 1;

	switch (kind) {
	case 0:
		return low + rnd(span);
	case 1:
		return rnd(2) ? low : mean + off;
	case 2:
		return rnd(10) ? mean : low;
	default:
		return low + (rnd(span) + rnd(span) + rnd(span)) / 3;
	}
}

/* Some interrupts on a machine, placed well, or about to be. */
static void noisy_world(struct world *w, u64 *mean, unsigned int mode)
{
	unsigned int n = 2 + rnd(15), nr, at = rnd(3), i;
	u64 each = 100000000 + rnd(700000000);
	bool equal = !mode || rnd(2);

	world_init(w, n);
	for (i = 0; i < n; i++)
		w->cpus[i].core = i / 2;
	nr = mode ? n + rnd(n * (1 + rnd(5))) : n * (1 + rnd(5));
	each = each * n / nr;
	for (i = 0; i < nr; i++) {
		mean[i] = equal ? each : each * (400 + rnd(1201)) / 1000;
		mean[i] = min(mean[i], 800000000);
		world_irq(w, !mode || at == 1 ? i % n : at ? rnd(n) : 0, mean[i]);
	}
}

/* All of one CPU's loads grow threefold: true when that is worth a plan. */
static bool noisy_step(struct world *w, const u64 *mean)
{
	unsigned int i, cpu, nr, most = 0, from = 0;
	u64 sum = 0, least = 0;

	for (cpu = 0; cpu < w->nr_cpus; cpu++) {
		for (i = 0, nr = 0; i < w->nr_irqs; i++)
			nr += w->irqs[i].cpu == cpu;
		if (nr > most) {
			most = nr;
			from = cpu;
		}
	}
	for (i = 0; i < w->nr_irqs; i++) {
		w->load[i] = mean[i] * (w->irqs[i].cpu == from ? 3 : 1);
		sum += w->load[i];
		least = max(least, w->load[i]);
	}
	/* A fifth more than that can be reached, with three and more. */
	least = max(least, sum / w->nr_cpus) * 6 / 5;
	return most >= 3 && least < world_worst(w) * 72 / 100;
}

static void noisy_run(struct world *w, const u64 *mean, unsigned int ms,
		      unsigned int period, unsigned int amp, unsigned int kind)
{
	unsigned int i;

	for (; ms; ms -= min(ms, period)) {
		for (i = 0; i < w->nr_irqs; i++)
			w->load[i] = noisy(mean[i], amp, kind);
		for (i = 0; i < w->nr_cpus; i++)
			w->base[i] = rnd(20000000);
		/* The promise is of the loads that it sees, not of the next ones. */
		w->wrong = NULL;
		world_run(w, period);
	}
	w->wrong = NULL;
}

/*
 * Noise of up to 15 % around a balanced placement moves nothing, from the
 * first pass on (mode 0), when it begins later (1), and after a plan that was
 * made of noisy loads (2).
 */
static void test_still(unsigned int seeds)
{
	static const unsigned int periods[] = { 50, 100, 200, 300, 500, 1000, 2000 };
	unsigned int seed, i, mode, kind, period, amp, moves, loud = 0;
	u64 mean[WORLD_IRQS];
	struct world w;

	for (seed = 1; seed <= seeds && !failure; seed++) {
		rng = seed * 2654435761ULL + 88172645463325252ULL;
		for (i = 0; i < 8; i++)
			rnd(2);
		mode = rnd(3);
		kind = rnd(4);
		period = periods[rnd(ARRAY_SIZE(periods))];
		/* The first plans cannot know that something slower is noise */
		period = mode ? period : min(period, 1000U);
		amp = rnd(3) ? 150 : 50 + rnd(101);
		noisy_world(&w, mean, mode);
		world_pass(&w);
		if (mode == 2)
			noisy_run(&w, mean, 2000, period, amp, kind);
		/* Well balanced, by the loads' means. */
		w.set.min_gain = 30;
		if (mode)
			noisy_run(&w, mean, 60000, 1000, 0, 0);
		w.set = IRQ_BALANCE_DEFAULTS;
		moves = w.moves;
		noisy_run(&w, mean, seed % 8 ? 60000 : 300000, period, amp, kind);
		/* Of so many errors of three deviations some are larger */
		loud += w.moves != moves;
		if (loud * 50 > seeds && !failure) {
			snprintf(text, sizeof(text), "seed %u: %u moves", seed,
				 w.moves - moves);
			failure = text;
		}
		if (noisy_step(&w, mean)) {
			moves = w.moves;
			/* After a swing the mean has to come near, and the error to shrink */
			world_run(&w, 60000);
			EXPECT(w.moves > moves);
		}
		world_exit(&w);
	}
	report("noise around balance moves nothing, a step does");
}

/* One plan, then a second one on its outcome, without history. */
static void test_idempotent(unsigned int seeds)
{
	unsigned int seed, i, others = 0;
	struct world w;

	for (seed = 1; seed <= seeds && !failure; seed++) {
		unsigned int again;
		bool lost = false;

		random_world(&w, seed);
		world_pass(&w);
		/* As in play(). */
		for (i = 0; i < 5 && world_run(&w, 10000); i++)
			;
		again = w.moves;
		irq_balance_init(&w.bal, w.work, WORLD_IRQS, w.nr_cpus);
		memset(w.state, 0, sizeof(w.state));
		for (i = 0; i < w.nr_cpus; i++)
			memset(&w.cpus[i].base, 0, sizeof(w.cpus[i].base));
		world_pass(&w);
		world_run(&w, 8000);
		/*
		 * That a node let one go is forgotten: it may be taken back, which others
		 * follow. A CPU that has more than it can do is rid of some in any case.
		 */
		for (i = 0; i < w.nr_irqs; i++)
			lost |= w.state[i].moved &&
				w.state[i].reason == IRQ_BALANCE_WHY_LOCALITY;
		others += w.moves > again && !lost && world_worst(&w) <= 1000000000;
		/* Which CPUs were done with is forgotten, too */
		if (others * 100 > max(seeds, 25U) * 8 && !failure) {
			snprintf(text, sizeof(text), "seed %u: %u more moves", seed,
				 w.moves - again);
			failure = text;
		}
		if (w.wrong && !failure) {
			snprintf(text, sizeof(text), "seed %u: %s", seed, w.wrong);
			failure = text;
		}
		world_exit(&w);
	}
	report("planning on a plan's outcome moves next to nothing");
}

int main(int argc, char **argv)
{
	unsigned int seeds = argc > 1 ? atoi(argv[1]) : 20;

	printf("1..%u\n", NR_TESTS);
	test_small();
	test_search();
	test_topology();
	test_placement();
	test_average();
	test_time();
	test_rules();
	test_hostile();
	test_beyond(seeds);
	test_still(seeds);
	test_promises(seeds);
	test_idempotent(seeds);
	/* The slow ones last */
	test_bursts(seeds);
	test_swings(seeds);
	if (nr_tests != NR_TESTS)
		fprintf(stderr, "%u results, NR_TESTS is %u\n", nr_tests, NR_TESTS);
	return nr_failed || nr_tests != NR_TESTS;
}
