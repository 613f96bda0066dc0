// SPDX-License-Identifier: GPL-2.0
/*
 * Unit and property tests of the policy. TAP on stdout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static unsigned int nr_tests, nr_failed;
static const char *failure;
static char text[512];

#define EXPECT(cond) do {						\
	if (!(cond) && !failure) {					\
		snprintf(text, sizeof(text), "line %d: %s", __LINE__, #cond); \
		failure = text;						\
	}								\
} while (0)

#define EXPECT_EQ(a, b) do {						\
	unsigned long long ea = (a), eb = (b);				\
	if (ea != eb && !failure) {					\
		snprintf(text, sizeof(text), "line %d: %s is %llu, not %llu", \
			 __LINE__, #a, ea, eb);				\
		failure = text;						\
	}								\
} while (0)

static void report(const char *name)
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
static void finish(struct world *w)
{
	if (w->wrong && !failure) {
		snprintf(text, sizeof(text), "promise: %s", w->wrong);
		failure = text;
	}
	world_exit(w);
}

static void settle(struct world *w)
{
	world_pass(w);
	world_run(w, 3000);
}

static u64 rng = 1;

static u64 rnd(u64 below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 8) % below;
}

static void test_lone(void)
{
	struct world w;

	world_init(&w, 8);
	world_irq(&w, 3, 600000000);
	settle(&w);
	EXPECT_EQ(world_run(&w, 300000), 0);
	EXPECT_EQ(w.moves, 0);
	/* A second one on its CPU. */
	world_irq(&w, 3, 600000000);
	EXPECT_EQ(world_run(&w, 500), 1);
	EXPECT_EQ(world_run(&w, 60000), 0);
	finish(&w);
	report("lone heavy interrupt stays");
}

static void test_lone_base(void)
{
	struct world w;
	unsigned int i;

	/* Base load that is less than the minimum gain does not drive a lone one away ... */
	world_init(&w, 4);
	world_irq(&w, 0, 300000000);
	w.base[0] = 10000000;
	settle(&w);
	EXPECT_EQ(world_run(&w, 60000), 0);
	EXPECT_EQ(w.moves, 0);
	/* ... nor does a burst of it ... */
	w.base[0] = 300000000;
	EXPECT_EQ(world_run(&w, 1000), 0);
	w.base[0] = 10000000;
	EXPECT_EQ(world_run(&w, 30000), 0);
	/* ... unless there is more of it, and it lasts. */
	w.base[0] = 300000000;
	EXPECT_EQ(world_run(&w, 60000), 1);
	EXPECT_EQ(world_run(&w, 60000), 0);
	/* It goes on to the next CPU only if that is worth it, too. */
	for (i = 1; i < 4; i++)
		w.base[i] = 10000000;
	EXPECT_EQ(world_run(&w, 60000), 0);
	finish(&w);
	/* Nor does a lull of it on another CPU, unless it lasts. */
	world_init(&w, 2);
	world_irq(&w, 0, 300000000);
	w.base[0] = 600000000;
	w.base[1] = 600000000;
	settle(&w);
	world_run(&w, 60000);
	w.base[1] = 200000000;
	EXPECT_EQ(world_run(&w, 1000), 0);
	w.base[1] = 600000000;
	EXPECT_EQ(world_run(&w, 30000), 0);
	w.base[1] = 200000000;
	EXPECT_EQ(world_run(&w, 60000), 1);
	finish(&w);
	report("base load drives a lone one away once it is proven");
}

static void test_lone_waiting(void)
{
	struct world w;
	unsigned int i, light;

	/* Half a CPU: the light one beside it hardly waits. */
	world_init(&w, 4);
	i = world_irq(&w, 0, 500000000);
	light = world_irq(&w, 0, 8000000);
	settle(&w);
	EXPECT_EQ(world_run(&w, 60000), 0);
	/* Saturated, it leaves the light one alone, and stays away. */
	w.load[i] = 900000000;
	EXPECT_EQ(world_run(&w, 30000), 1);
	EXPECT(w.irqs[i].cpu != 0);
	EXPECT_EQ(w.irqs[light].cpu, 0);
	EXPECT_EQ(world_run(&w, 300000), 0);
	/* There is no better place if light ones are everywhere. */
	for (i = 1; i < 4; i++)
		world_irq(&w, i, 8000000);
	EXPECT_EQ(world_run(&w, 300000), 0);
	finish(&w);
	report("a light one does not wait for a lone one that saturates its CPU");
}

static void test_lone_forbidden(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 4);
	i = world_irq(&w, 2, 300000000);
	settle(&w);
	EXPECT_EQ(w.moves, 0);
	w.cpus[2].usable = false;
	EXPECT_EQ(world_run(&w, 1000), 1);
	EXPECT_EQ(w.state[i].reason, IRQ_BALANCE_WHY_AFFINITY);
	EXPECT_EQ(world_run(&w, 10000), 0);
	/* Back again: nothing is gained by that. */
	w.cpus[2].usable = true;
	EXPECT_EQ(world_run(&w, 10000), 0);
	finish(&w);
	report("lone heavy interrupt leaves a forbidden CPU once");
}

static void test_lone_faster(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 4);
	w.cpus[0].capacity = 446;
	w.cpus[1].capacity = 446;
	i = world_irq(&w, 0, 200000000);
	settle(&w);
	EXPECT_EQ(w.moves, 1);
	EXPECT(w.irqs[i].cpu >= 2);
	EXPECT_EQ(w.state[i].reason, IRQ_BALANCE_WHY_CAPACITY);
	EXPECT_EQ(world_run(&w, 60000), 0);
	finish(&w);
	report("lone heavy interrupt goes to a faster CPU once");
}

static void test_lone_home(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 8);
	for (i = 0; i < 8; i++)
		w.cpus[i].node = i / 4;
	i = world_irq(&w, 0, 200000000);
	w.irqs[i].node = 1;
	settle(&w);
	EXPECT_EQ(w.moves, 1);
	EXPECT(w.irqs[i].cpu >= 4);
	EXPECT_EQ(w.state[i].reason, IRQ_BALANCE_WHY_LOCALITY);
	EXPECT_EQ(world_run(&w, 60000), 0);
	finish(&w);
	report("lone heavy interrupt goes home to its node once");
}

static void test_two_equal(void)
{
	struct world w;

	world_init(&w, 2);
	world_irq(&w, 0, 250000000);
	world_irq(&w, 0, 250000000);
	settle(&w);
	EXPECT_EQ(w.moves, 1);
	EXPECT(w.irqs[0].cpu != w.irqs[1].cpu);
	EXPECT_EQ(world_run(&w, 300000), 0);
	/* Both on one again, by another's hand. */
	w.irqs[0].cpu = w.irqs[1].cpu;
	EXPECT_EQ(world_run(&w, 1000), 1);
	finish(&w);
	report("two equal ones on one CPU: one move, then none");
}

static void test_light(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 8);
	for (i = 0; i < 60; i++)
		world_irq(&w, 0, 2000000);
	settle(&w);
	EXPECT_EQ(world_run(&w, 60000), 0);
	EXPECT_EQ(w.moves, 0);
	/* Heavy ones among them leave, they stay. */
	world_irq(&w, 0, 300000000);
	world_irq(&w, 0, 300000000);
	EXPECT_EQ(world_run(&w, 1000), 2);
	for (i = 0; i < 60; i++)
		EXPECT_EQ(w.irqs[i].cpu, 0);
	finish(&w);
	report("light interrupts stay");
}

static void test_no_timer(void)
{
	struct world w;

	world_init(&w, 4);
	world_irq(&w, 0, 1000000);
	world_irq(&w, 1, 19000000);
	world_pass(&w);
	EXPECT_EQ(w.bal.next, IRQ_BALANCE_NO_TIMER);
	w.irqs[1].time += 19000000;
	w.now += 1000 * MSEC;
	world_pass(&w);
	EXPECT_EQ(w.bal.next, IRQ_BALANCE_NO_TIMER);
	EXPECT_EQ(w.bal.nr_heavy, 0);
	/* It kicks at the rate of a heavy one, and not below. */
	EXPECT(irq_load_rises(IRQ_LOAD_QUANTUM, 99 * MSEC, w.bal.limit));
	EXPECT(!irq_load_rises(IRQ_LOAD_QUANTUM, 101 * MSEC, w.bal.limit));
	/* Turned heavy: now there is a timer. */
	w.irqs[1].time += 200000000;
	w.now += 1000 * MSEC;
	world_pass(&w);
	EXPECT(w.bal.next != IRQ_BALANCE_NO_TIMER);
	finish(&w);
	report("no timer when nothing is heavy");
}

/* Interrupts that are silent but for one @duty-th of the time, in windows of @period ms. */
static void bursts(struct world *w, unsigned int duty, unsigned int period,
		   unsigned int ms)
{
	unsigned int i;

	for (; ms; ms -= min(ms, period)) {
		for (i = 0; i < w->nr_irqs; i++)
			w->load[i] = rnd(duty) ? 0 : duty * 80000000;
		world_run(w, period);
		/* The promise is of the loads that it sees, not of the next ones. */
		w->wrong = NULL;
	}
	for (i = 0; i < w->nr_irqs; i++)
		w->load[i] = 80000000;
}

static void test_bursts(void)
{
	static const unsigned int periods[] = { 100, 200, 300, 500 };
	static const unsigned int crowds[] = { 4, 12 };
	unsigned int duty, p, n, first, late = 0;
	struct world w;

	for (duty = 2; duty <= 10; duty += 4) {
		for (p = 0; p < ARRAY_SIZE(periods) * 2; p++) {
			n = crowds[p % 2];
			world_init(&w, 8);
			while (w.nr_irqs < n)
				world_irq(&w, rnd(8), 80000000);
			world_pass(&w);
			bursts(&w, duty, periods[p / 2], 60000);
			first = w.moves;
			bursts(&w, duty, periods[p / 2], 90000);
			EXPECT(w.moves <= 10);
			late += w.moves - first;
			/* At a quarter of a CPU by their means nothing is urgent. */
			EXPECT(world_worst(&w) <= 240000000);
			finish(&w);
			/* A crowd that saturates one CPU is spread. */
			world_init(&w, 8);
			while (w.nr_irqs < 12)
				world_irq(&w, 0, 80000000);
			world_pass(&w);
			bursts(&w, duty, periods[p / 2], 120000);
			EXPECT(world_worst(&w) <= 400000000);
			finish(&w);
		}
	}
	EXPECT(late <= 12);
	report("interrupts that come in bursts come to rest, and are spread");
}

/* Some that swing between others that do not: it comes to rest. */
static void test_swings(void)
{
	unsigned int seed, i, n, nr, nr_swing, period, on, depth, t, rests = 0, late = 0;
	struct world w;
	u64 high[3];

	for (seed = 1; seed <= 100; seed++) {
		rng = seed * 2654435761ULL + 88172645463325252ULL;
		for (i = 0; i < 8; i++)
			rnd(2);
		n = 2 + rnd(5);
		nr = 3 + rnd(3 * n);
		nr_swing = rnd(3) ? 1 : 1 + rnd(2);
		period = 500 + 50 * (rnd(2) ? rnd(40) : rnd(191));
		on = period / 50 * (rnd(2) ? 50 : 10 + rnd(81)) / 100 * 50;
		depth = rnd(2) ? 100 : 20 + rnd(81);
		world_init(&w, n);
		for (i = 0; i < nr_swing; i++) {
			high[i] = 300000000 + rnd(500000000);
			world_irq(&w, rnd(n), high[i]);
		}
		for (; i < nr; i++)
			world_irq(&w, rnd(n), 50000000 + rnd(400000000 * n / nr));
		settle(&w);
		for (t = 0; t < 300000; t += 50) {
			if (t == 60000)
				rests = w.moves;
			for (i = 0; i < nr_swing; i++) {
				w.load[i] = high[i];
				if ((t + i * period / 3) % period >= on)
					w.load[i] -= high[i] / 100 * depth;
			}
			/* As above. */
			w.wrong = NULL;
			world_run(&w, 50);
		}
		w.wrong = NULL;
		late += w.moves - rests;
		EXPECT(w.moves - rests <= 4);
		finish(&w);
	}
	EXPECT(late <= 20);
	report("it comes to rest beside what swings");
}

/* A step is followed at once, a step back is not, until a minute has passed. */
static void test_swing_back(void)
{
	struct world w;

	world_init(&w, 2);
	world_irq(&w, 0, 100000000);
	world_irq(&w, 0, 300000000);
	world_irq(&w, 1, 390000000);
	settle(&w);
	world_run(&w, 60000);
	EXPECT_EQ(w.moves, 0);
	w.load[0] = 800000000;
	EXPECT(world_run(&w, 500) > 0);
	EXPECT_EQ(w.state[0].load.mean, 800000000);
	w.load[0] = 100000000;
	world_run(&w, 500);
	EXPECT(w.state[0].load.mean > 200000000);
	world_run(&w, 120000);
	EXPECT(w.state[0].load.mean < 105000000);
	w.load[0] = 800000000;
	world_run(&w, 500);
	EXPECT_EQ(w.state[0].load.mean, 800000000);
	finish(&w);
	report("a step is followed, a step back is not for a minute");
}

static void test_noise(void)
{
	static const unsigned int periods[] = { 1, 3, 10, 50, 100 };
	unsigned int p, n, i, step;
	struct world w;

	for (p = 0; p < ARRAY_SIZE(periods); p++) {
		for (n = 2; n <= 16; n *= 2) {
			world_init(&w, n);
			for (i = 0; i < 3 * n; i++)
				world_irq(&w, i % n, 200000000);
			world_pass(&w);
			for (step = 0; step < 3000; step++) {
				if (step % periods[p] == 0) {
					for (i = 0; i < 3 * n; i++)
						w.load[i] = 170000000 + rnd(60000001);
				}
				world_run(&w, 100);
				w.wrong = NULL;
			}
			EXPECT_EQ(w.moves, 0);
			/* And a step that is no noise. */
			for (i = 0; i < 3 * n; i++)
				w.load[i] = i % n ? 100000000 : 300000000;
			world_run(&w, 500);
			EXPECT(w.moves > 0);
			finish(&w);
		}
	}
	report("noise of 15 % moves nothing in 300 s");
}

/* Eight of a hundred with a load of @extra more: what is to be gained is half of that. */
static unsigned int small_gain(unsigned int extra, unsigned int min_gain, unsigned int ms)
{
	unsigned int i, moves;
	struct world w;

	world_init(&w, 2);
	w.set.min_gain = min_gain;
	for (i = 0; i < 8; i++)
		world_irq(&w, i % 2, 100000000);
	world_irq(&w, 0, extra * MSEC);
	world_irq(&w, 0, extra * MSEC);
	world_pass(&w);
	world_run(&w, ms);
	moves = w.moves;
	finish(&w);
	return moves;
}

static void test_min_gain(void)
{
	struct world w;

	/* 500 against 400, a tenth is to be gained: it takes time to be sure, ... */
	EXPECT_EQ(small_gain(50, 50, 1000), 0);
	EXPECT_EQ(small_gain(50, 50, 30000), 1);
	/* ... and 460 against 400 is six and a half per cent: more time. */
	EXPECT_EQ(small_gain(30, 50, 3000), 0);
	EXPECT_EQ(small_gain(30, 50, 300000), 1);
	EXPECT_EQ(small_gain(30, 80, 300000), 0);
	/* A quarter of the load, but of less than half of what makes one heavy. */
	world_init(&w, 2);
	world_irq(&w, 0, 21000000);
	world_irq(&w, 0, 21000000);
	w.base[1] = 12000000;
	settle(&w);
	EXPECT_EQ(world_run(&w, 60000), 0);
	EXPECT_EQ(w.state[0].why, IRQ_BALANCE_WHY_BEST);
	w.base[1] = 0;
	EXPECT_EQ(world_run(&w, 60000), 1);
	finish(&w);
	report("nothing is moved for less than the minimum gain");
}

/* The reason that balance_why shows for an interrupt that stays. */
static void test_why(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 2);
	for (i = 0; i < 5; i++)
		world_irq(&w, 0, 100000000);
	w.movable[2] = false;
	w.load[3] = 1000000;
	world_pass(&w);
	EXPECT_EQ(world_run(&w, 500), 2);
	for (i = 0; i < 5; i++)
		EXPECT(w.state[i].moved || w.state[i].why == (i == 2 ? IRQ_BALANCE_WHY_FIXED :
							      i == 3 ? IRQ_BALANCE_WHY_LIGHT :
								       IRQ_BALANCE_WHY_BEST));
	for (i = 0; i < 5 && !w.state[i].moved; i++)
		;
	EXPECT_EQ(w.state[i].why, IRQ_BALANCE_WHY_RESTING);
	EXPECT_EQ(w.state[i].reason, IRQ_BALANCE_WHY_IMBALANCE);
	world_run(&w, 2000);
	EXPECT_EQ(w.state[i].why, IRQ_BALANCE_WHY_BEST);
	w.cpus[0].full = true;
	w.cpus[1].full = true;
	world_run(&w, 500);
	EXPECT_EQ(w.state[i].why, IRQ_BALANCE_WHY_FULL);
	finish(&w);
	/* A gain that noise could fake, and one that is too small. */
	world_init(&w, 2);
	for (i = 0; i < 10; i++)
		world_irq(&w, i < 6 ? 0 : 1, 100000000);
	world_pass(&w);
	world_run(&w, 300);
	for (i = 0; i < 10 && w.state[i].why != IRQ_BALANCE_WHY_NOISE; i++)
		;
	EXPECT(i < 10);
	finish(&w);
	report("it says why one stays");
}

static void test_averages(void)
{
	struct irq_balance_average avg = { 0 };
	u64 total = 5000;
	unsigned int i;

	/* The first window only says where the count stands. */
	irq_balance_average_update(&avg, total, 0, 1024, true);
	EXPECT_EQ(avg.mean, 0);
	for (i = 0; i < 200; i++) {
		total += 10000000;
		irq_balance_average_update(&avg, total, 100 * MSEC, 1024, true);
	}
	EXPECT_EQ(avg.mean, 100000000);
	EXPECT_EQ(avg.dev, 0);
	/* An eighth, as nothing else is known; half of that after 20 s. */
	EXPECT_EQ(irq_balance_average_error(&avg), 6250000);
	/* One that goes up and down by a fifth deviates by about that ... */
	for (i = 0; i < 1000; i++) {
		total += i / 30 % 2 ? 12000000 : 8000000;
		irq_balance_average_update(&avg, total, 100 * MSEC, 1024, true);
	}
	EXPECT(avg.mean > 95000000 && avg.mean < 105000000);
	EXPECT(avg.dev > 8000000 && avg.dev < 20000000);
	/* ... and is off by up to three times that. */
	EXPECT(irq_balance_average_error(&avg) > 3 * avg.dev);
	EXPECT(irq_balance_average_error(&avg) < 4 * avg.dev);
	/* Work on a slow CPU counts for less. */
	memset(&avg, 0, sizeof(avg));
	irq_balance_average_update(&avg, 0, 0, 512, true);
	irq_balance_average_update(&avg, 50 * MSEC, 100 * MSEC, 512, true);
	EXPECT_EQ(avg.mean, 250000000);
	/* A count that went back is no measurement. */
	irq_balance_average_update(&avg, 10, 100 * MSEC, 512, true);
	EXPECT_EQ(avg.mean, 250000000);
	/* The largest numbers there are. */
	irq_balance_average_update(&avg, ~0ULL, 1000000ULL * 1000 * MSEC, 1024, true);
	irq_balance_average_update(&avg, ~0ULL, 1000000ULL * 1000 * MSEC, 1024, true);
	EXPECT(avg.mean <= IRQ_BALANCE_LOAD_MAX);
	report("averages");
}

static void test_knobs(void)
{
	struct irq_balance_settings set, old;
	unsigned int i;

	irq_balance_settings_init(&set);
	for (i = 0; i < irq_balance_nr_knobs; i++) {
		const struct irq_balance_knob *knob = &irq_balance_knobs[i];

		EXPECT(knob->min <= knob->def && knob->def <= knob->max);
		old = set;
		EXPECT(irq_balance_settings_store(&set, knob, knob->max + 1) < 0);
		EXPECT(!memcmp(&old, &set, sizeof(set)));
		EXPECT(!irq_balance_settings_store(&set, knob, knob->def));
		EXPECT(!memcmp(&old, &set, sizeof(set)));
	}
	EXPECT(!strcmp(irq_balance_why_name(IRQ_BALANCE_WHY_LOCALITY), "locality"));
	EXPECT(!strcmp(irq_balance_why_name(IRQ_BALANCE_NR_WHYS), "unknown"));
	EXPECT(!strcmp(irq_balance_policy_name(IRQ_BALANCE_POLICY_ROTATE), "rotate"));
	report("knobs");
}

static void test_rest(void)
{
	struct world w;
	unsigned int k;

	/* Another hand puts it back each time. */
	world_init(&w, 2);
	world_irq(&w, 0, 300000000);
	world_irq(&w, 0, 300000000);
	w.movable[0] = false;
	world_pass(&w);
	for (k = 0; k < 600; k++) {
		world_run(&w, 100);
		if (w.irqs[1].cpu && !w.state[1].planned)
			w.irqs[1].cpu = 0;
	}
	/* After 0, 1, 3, 7, 15, 31 s. */
	EXPECT_EQ(w.moves, 6);
	/* It has rested. */
	w.irqs[1].cpu = 1;
	world_run(&w, 200000);
	w.irqs[1].cpu = 0;
	EXPECT_EQ(world_run(&w, 500), 1);
	w.irqs[1].cpu = 0;
	EXPECT_EQ(world_run(&w, 1500), 1);
	finish(&w);
	report("what moves again and again rests ever longer");
}

static void test_node_holds(void)
{
	struct world w;
	unsigned int i;

	/* Two of 35 % in a node of two CPUs hold; four pass 80 % and leave. */
	world_init(&w, 8);
	for (i = 0; i < 8; i++)
		w.cpus[i].node = i >= 2;
	for (i = 0; i < 4; i++) {
		world_irq(&w, 0, 350000000);
		w.irqs[i].node = 0;
	}
	settle(&w);
	for (i = 0; i < 4; i++)
		EXPECT(w.irqs[i].cpu < 2);
	EXPECT_EQ(world_worst(&w), 700000000);
	for (i = 0; i < 4; i++)
		w.load[i] = 450000000;
	world_run(&w, 1000);
	EXPECT_EQ(world_worst(&w), 450000000);
	/* 80 % in the node would do, but that is the edge: they stay away. */
	for (i = 0; i < 4; i++)
		w.load[i] = 390000000;
	EXPECT_EQ(world_run(&w, 20000), 0);
	finish(&w);
	report("a node holds its devices up to the limit");
}

static void test_node_edge(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 8);
	for (i = 0; i < 8; i++)
		w.cpus[i].node = i >= 2;
	for (i = 0; i < 4; i++) {
		world_irq(&w, 0, 450000000);
		w.irqs[i].node = 0;
	}
	/* The worst CPU is another one: coming home would not make it worse. */
	world_irq(&w, 7, 950000000);
	settle(&w);
	EXPECT_EQ(w.moves, 3);
	/* 78 %, which is more than seven eighths of the limit: no way back. */
	for (i = 0; i < 4; i++)
		w.load[i] = 390000000;
	EXPECT_EQ(world_run(&w, 20000), 0);
	for (i = 0; i < 4; i++)
		w.load[i] = 340000000;
	EXPECT(world_run(&w, 60000) > 0);
	for (i = 0; i < 4; i++)
		EXPECT(w.irqs[i].cpu < 2);
	EXPECT_EQ(world_run(&w, 20000), 0);
	finish(&w);
	report("a node takes its devices back well below the limit");
}

static void test_node_worst(void)
{
	static const u64 loads[] = { 600, 600, 380, 120, 100 };
	struct world w;
	unsigned int i;

	/* Once the worst node lets go there is room for the other's guest. */
	world_init(&w, 3);
	for (i = 0; i < 3; i++)
		w.cpus[i].node = i;
	for (i = 0; i < 5; i++)
		world_irq(&w, i >= 2, loads[i] * MSEC);
	w.base[1] = 250000000;
	for (i = 0; i < 4; i++)
		w.irqs[i].node = i >= 2;
	settle(&w);
	EXPECT_EQ(world_worst(&w), 750000000);
	EXPECT_EQ(w.irqs[2].cpu, 1);
	EXPECT_EQ(w.irqs[3].cpu, 1);
	EXPECT(w.irqs[4].cpu != 1);
	finish(&w);
	report("one node lets go before the next one does");
}

static void test_node_home(void)
{
	unsigned int i, home = 0;
	struct world w;

	/* Two have room at home. With four the worst CPU would be worse. */
	world_init(&w, 8);
	for (i = 0; i < 8; i++)
		w.cpus[i].node = i >= 2;
	for (i = 0; i < 4; i++) {
		world_irq(&w, 2 + i, 350000000);
		w.irqs[i].node = 0;
	}
	settle(&w);
	for (i = 0; i < 4; i++)
		home += w.irqs[i].cpu < 2;
	EXPECT_EQ(home, 2);
	EXPECT_EQ(w.moves, 2);
	EXPECT_EQ(world_run(&w, 20000), 0);
	finish(&w);
	/* Home, but for less than the minimum gain: not now. */
	world_init(&w, 8);
	for (i = 0; i < 8; i++)
		w.cpus[i].node = i / 4;
	world_irq(&w, 0, 500000000);
	world_irq(&w, 0, 24000000);
	w.irqs[1].node = 1;
	settle(&w);
	EXPECT_EQ(world_run(&w, 20000), 0);
	EXPECT_EQ(w.moves, 0);
	w.load[1] = 100000000;
	EXPECT_EQ(world_run(&w, 20000), 1);
	EXPECT_EQ(w.state[1].reason, IRQ_BALANCE_WHY_LOCALITY);
	finish(&w);
	/* Nor for what it was worth until just now. */
	world_init(&w, 8);
	for (i = 0; i < 8; i++)
		w.cpus[i].node = i / 4;
	world_irq(&w, 0, 500000000);
	world_irq(&w, 0, 120000000);
	w.irqs[1].node = 1;
	w.movable[0] = false;
	w.movable[1] = false;
	settle(&w);
	world_run(&w, 60000);
	w.load[1] = 24000000;
	world_run(&w, 500);
	w.movable[1] = true;
	EXPECT_EQ(world_run(&w, 20000), 0);
	finish(&w);
	report("a move to the own node makes nothing worse, and gains something");
}

static void test_hard_first(void)
{
	struct world w;

	/* The only allowed CPU is worse than the forbidden one. */
	world_init(&w, 3);
	world_irq(&w, 0, 500000000);
	world_irq(&w, 1, 500000000);
	w.irqs[0].cpu = 2;
	memset(w.mask[1], 0, sizeof(w.mask[1]));
	__set_bit(1, w.mask[1]);
	memset(w.mask[0], 0, sizeof(w.mask[0]));
	__set_bit(1, w.mask[0]);
	__set_bit(2, w.mask[0]);
	settle(&w);
	EXPECT_EQ(w.moves, 0);
	w.cpus[2].usable = false;
	EXPECT_EQ(world_run(&w, 1000), 1);
	EXPECT_EQ(w.irqs[0].cpu, 1);
	finish(&w);
	report("masks and isolation rank above the worst load");
}

static void test_full(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 3);
	for (i = 0; i < 3; i++)
		world_irq(&w, 0, 200000000);
	w.cpus[1].full = true;
	settle(&w);
	EXPECT_EQ(world_load(&w, 1), 0);
	EXPECT_EQ(w.moves, 1);
	/* There is room again. */
	w.cpus[1].full = false;
	EXPECT_EQ(world_run(&w, 1000), 1);
	/* A full CPU keeps what it has. */
	for (i = 0; i < 3; i++)
		w.cpus[i].full = true;
	EXPECT_EQ(world_run(&w, 10000), 0);
	finish(&w);
	report("no newcomers on a CPU that is out of vectors");
}

static void test_fewest_moves(void)
{
	static const u64 loads[] = { 60, 210, 140, 250, 160, 370 };
	static const unsigned int at[] = { 1, 0, 0, 0, 2, 0 };
	struct world w;
	unsigned int i;

	/* 50 + 20 + 30 on one CPU: 50 against 50 takes one move, not two. */
	world_init(&w, 2);
	world_irq(&w, 0, 200000000);
	world_irq(&w, 0, 500000000);
	world_irq(&w, 0, 300000000);
	settle(&w);
	EXPECT_EQ(world_worst(&w), 500000000);
	EXPECT_EQ(w.moves, 1);
	finish(&w);
	/* 37 leaves CPU 0, 6 makes room for it: which is not the heaviest there. */
	world_init(&w, 3);
	for (i = 0; i < ARRAY_SIZE(loads); i++)
		world_irq(&w, at[i], loads[i] * MSEC);
	settle(&w);
	EXPECT_EQ(world_worst(&w), 410000000);
	EXPECT_EQ(w.moves, 3);
	finish(&w);
	report("fewest moves among equal placements");
}

static void test_within_percent(void)
{
	struct world w;

	/* 400+404+400+404: 804:804 takes two moves, 800:808 too; one cannot. */
	world_init(&w, 2);
	world_irq(&w, 0, 402000000);
	world_irq(&w, 1, 398000000);
	world_irq(&w, 0, 203000000);
	world_irq(&w, 0, 205000000);
	settle(&w);
	/* 605 against 603 is best; one move gets there. */
	EXPECT_EQ(w.moves, 1);
	EXPECT(world_worst(&w) <= 607000000);
	finish(&w);
	/* One move gets to 503. To 501.5 it takes a swap on top of it. */
	world_init(&w, 2);
	w.base[0] = 450000000;
	world_irq(&w, 0, 200000000);
	world_irq(&w, 0, 53000000);
	w.base[1] = 248500000;
	world_irq(&w, 1, 51500000);
	settle(&w);
	EXPECT_EQ(w.moves, 1);
	EXPECT_EQ(world_worst(&w), 503000000);
	finish(&w);
	report("loads within one per cent are equal");
}

static void test_packages_first(void)
{
	struct world w;
	unsigned int i, used[4] = { 0 };

	/* The mail of 2003: four packages of two siblings, four NICs. */
	world_init(&w, 8);
	for (i = 0; i < 8; i++) {
		w.cpus[i].package = i / 2;
		w.cpus[i].llc = i / 2;
		w.cpus[i].core = i / 2;
	}
	for (i = 0; i < 4; i++)
		world_irq(&w, 0, 250000000);
	settle(&w);
	for (i = 0; i < 4; i++)
		used[w.irqs[i].cpu / 2]++;
	for (i = 0; i < 4; i++)
		EXPECT_EQ(used[i], 1);
	EXPECT_EQ(w.moves, 3);
	finish(&w);
	report("one NIC per package on the machine of 2003");
}

static void test_cores_next(void)
{
	struct world w;
	unsigned int i, used[4] = { 0 };

	/* Two packages, two cores each, two siblings each. */
	world_init(&w, 8);
	for (i = 0; i < 8; i++) {
		w.cpus[i].package = i / 4;
		w.cpus[i].llc = i / 4;
		w.cpus[i].core = i / 2;
	}
	for (i = 0; i < 4; i++)
		world_irq(&w, 0, 250000000);
	settle(&w);
	for (i = 0; i < 4; i++)
		used[w.irqs[i].cpu / 2]++;
	for (i = 0; i < 4; i++)
		EXPECT_EQ(used[i], 1);
	finish(&w);
	report("one per core on 2 x 2 x 2");
}

/* Numbers as servers have them: siblings are half of all CPUs apart. */
static void server(struct world *w)
{
	unsigned int i;

	world_init(w, 16);
	for (i = 0; i < 16; i++) {
		w->cpus[i].core = i % 8;
		w->cpus[i].llc = i % 8 / 2;
		w->cpus[i].package = i % 8 / 4;
	}
}

static void test_permuted(void)
{
	unsigned int i, cores[8] = { 0 }, caches[4] = { 0 };
	struct world w;

	server(&w);
	for (i = 0; i < 8; i++)
		world_irq(&w, 0, 250000000);
	settle(&w);
	for (i = 0; i < 8; i++)
		cores[w.irqs[i].cpu % 8]++;
	for (i = 0; i < 8; i++)
		EXPECT_EQ(cores[i], 1);
	finish(&w);
	/* Four of them: one per cache. */
	server(&w);
	for (i = 0; i < 4; i++)
		world_irq(&w, 9, 250000000);
	settle(&w);
	for (i = 0; i < 4; i++)
		caches[w.irqs[i].cpu % 8 / 2]++;
	for (i = 0; i < 4; i++)
		EXPECT_EQ(caches[i], 1);
	finish(&w);
	report("cores and caches are spread over whatever their CPUs' numbers");
}

static void only(struct world *w, unsigned int irq, unsigned int a, unsigned int b)
{
	memset(w->mask[irq], 0, sizeof(w->mask[irq]));
	__set_bit(a, w->mask[irq]);
	__set_bit(b, w->mask[irq]);
}

/* One moves where another one has to leave first: thirty times on one machine. */
static void test_chains(void)
{
	unsigned int i, irq;
	struct world w;

	world_init(&w, 90);
	for (i = 0; i < 90; i += 3) {
		irq = world_irq(&w, i, 500000000);
		only(&w, irq, i, i);
		irq = world_irq(&w, i, 300000000);
		only(&w, irq, i, i + 1);
		irq = world_irq(&w, i + 1, 600000000);
		only(&w, irq, i + 1, i + 2);
	}
	settle(&w);
	world_run(&w, 5000);
	EXPECT_EQ(world_worst(&w), 600000000);
	EXPECT_EQ(w.moves, 60);
	finish(&w);
	report("a move is made possible by another one");
}

/* A heavy one and nine light ones have to change places: no single step helps. */
static void test_pair(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 2);
	w.base[0] = 200000000;
	world_irq(&w, 0, 700000000);
	for (i = 0; i < 9; i++)
		world_irq(&w, 1, 70000000);
	settle(&w);
	world_run(&w, 5000);
	EXPECT_EQ(world_worst(&w), 770000000);
	finish(&w);
	report("the interrupts of two CPUs are shared out anew");
}

static void test_hidden(void)
{
	struct world w;
	unsigned int i;

	/* A giant that nothing helps does not hide two that share a CPU. */
	world_init(&w, 4);
	world_irq(&w, 0, 900000000);
	world_irq(&w, 1, 200000000);
	world_irq(&w, 1, 200000000);
	settle(&w);
	EXPECT_EQ(w.moves, 1);
	EXPECT_EQ(w.irqs[0].cpu, 0);
	finish(&w);
	/* Nor does one that can be helped by too little, 600+660 by 60. */
	world_init(&w, 4);
	world_irq(&w, 0, 600000000);
	world_irq(&w, 0, 660000000);
	world_irq(&w, 1, 600000000);
	world_irq(&w, 2, 200000000);
	world_irq(&w, 2, 200000000);
	for (i = 0; i < w.nr_irqs; i++) {
		memset(w.mask[i], 0, sizeof(w.mask[i]));
		__set_bit(i < 3 ? 0 : 2, w.mask[i]);
		__set_bit(i < 3 ? 1 : 3, w.mask[i]);
	}
	/* It holds the two halves together. */
	world_irq(&w, 1, 30000000);
	settle(&w);
	EXPECT_EQ(w.moves, 1);
	EXPECT_EQ(world_load(&w, 2), 200000000);
	EXPECT_EQ(world_load(&w, 3), 200000000);
	finish(&w);
	report("a worst CPU that cannot be helped hides no other");
}

/*
 * Three on each CPU that fill it exactly, if they are found: CPUs of ten parts,
 * more than a search of the whole could solve.
 */
static void test_parts(void)
{
	unsigned int part, i, c;
	struct world w;

	rng = 1;
	world_init(&w, 40);
	for (part = 0; part < 10; part++) {
		for (i = 0; i < 12; i += 3) {
			u64 a = 100 + rnd(200), b = 100 + rnd(200);

			world_irq(&w, 4 * part, a * MSEC);
			world_irq(&w, 4 * part, b * MSEC);
			world_irq(&w, 4 * part, (700 - a - b) * MSEC);
		}
	}
	for (i = 0; i < w.nr_irqs; i++) {
		memset(w.mask[i], 0, sizeof(w.mask[i]));
		for (c = 0; c < 4; c++)
			__set_bit(i / 12 * 4 + c, w.mask[i]);
	}
	settle(&w);
	EXPECT(world_worst(&w) <= 710000000);
	finish(&w);
	report("parts of a machine are solved each for itself");
}

static void test_odroid(void)
{
	static const u64 loads[] = { 5000000, 300000000, 350000000 };
	struct world w;
	unsigned int i;

	/* ODROID-XU4: CPU 0-3 Cortex-A7, 4-7 A15; all three on CPU 0. */
	world_init(&w, 8);
	for (i = 0; i < 4; i++)
		w.cpus[i].capacity = 446;
	for (i = 0; i < 3; i++)
		world_irq(&w, 0, loads[i]);
	settle(&w);
	EXPECT_EQ(w.irqs[0].cpu, 0);
	EXPECT(w.irqs[1].cpu >= 4);
	EXPECT(w.irqs[2].cpu >= 4);
	EXPECT(w.irqs[1].cpu != w.irqs[2].cpu);
	EXPECT_EQ(w.moves, 2);
	EXPECT_EQ(world_run(&w, 60000), 0);
	finish(&w);
	report("heavy interrupts go to the fast cluster, lights stay");
}

static void test_deaf(void)
{
	unsigned int i, asked = 0;
	struct world w;

	/* Its moves never happen: asked for again, given up, not counted. */
	world_init(&w, 2);
	world_irq(&w, 0, 300000000);
	world_irq(&w, 0, 100000000);
	w.deaf[0] = true;
	w.deaf[1] = true;
	world_pass(&w);
	world_run(&w, 20000);
	EXPECT_EQ(w.moves, 0);
	EXPECT_EQ(w.state[0].moved, 0);
	EXPECT_EQ(w.state[1].moved, 0);
	/* It is asked for eight times, and ever more rarely. */
	for (i = 0; i < 400; i++) {
		w.wrong = NULL;
		world_run(&w, 50);
		asked += w.state[0].planned || w.state[1].planned;
	}
	EXPECT(asked > 0);
	EXPECT(asked <= 40);
	world_run(&w, 300000);
	for (asked = i = 0; i < 6000; i++) {
		w.wrong = NULL;
		world_run(&w, 50);
		asked += w.state[0].planned || w.state[1].planned;
	}
	EXPECT(asked > 0);
	EXPECT(asked <= 100);
	/* One listens at last. */
	w.deaf[0] = false;
	w.deaf[1] = false;
	EXPECT_EQ(world_run(&w, 130000), 1);
	finish(&w);
	report("a move counts only when it is seen");
}

static void test_hold(void)
{
	struct world w;
	unsigned int i;

	/* An interrupt with another mask may be moved at once. */
	world_init(&w, 3);
	for (i = 0; i < 2; i++) {
		world_irq(&w, 0, 300000000);
		w.deaf[i] = true;
	}
	w.movable[1] = false;
	world_pass(&w);
	while (w.state[0].hold < w.now + 10000 * MSEC && w.now < 300000 * MSEC) {
		w.wrong = NULL;
		world_run(&w, 200);
	}
	EXPECT_EQ(w.state[0].why, IRQ_BALANCE_WHY_FAILED);
	w.deaf[0] = false;
	w.deaf[1] = false;
	w.wrong = NULL;
	EXPECT_EQ(world_run(&w, 500), 0);
	w.bal.changed = true;
	EXPECT_EQ(world_run(&w, 400), 1);
	EXPECT_EQ(w.state[0].refused + w.state[1].refused, 0);
	/* The user may ask for a move while it rests. */
	for (i = 0; i < 2; i++)
		w.irqs[i].cpu = 0;
	EXPECT_EQ(world_run(&w, 300), 0);
	w.bal.asked = true;
	EXPECT_EQ(world_run(&w, 300), 1);
	EXPECT(!w.bal.asked);
	finish(&w);
	/* One that is silent refuses nothing. */
	world_init(&w, 3);
	for (i = 0; i < 2; i++) {
		world_irq(&w, 0, 200000000);
		w.movable[i] = false;
		w.deaf[i] = true;
	}
	world_pass(&w);
	world_run(&w, 30000);
	for (i = 0; i < 2; i++) {
		w.movable[i] = true;
		w.load[i] = 0;
	}
	for (i = 0; i < 4; i++) {
		w.now += 20 * MSEC;
		world_pass(&w);
	}
	EXPECT(w.state[0].planned || w.state[1].planned);
	EXPECT_EQ(w.state[0].refused + w.state[1].refused, 0);
	finish(&w);
	report("what could not be moved is left alone, until something changes");
}

static void test_observe(void)
{
	unsigned int i, shown = 0, passes = 0;
	struct world w;
	u64 last = 0;

	world_init(&w, 4);
	for (i = 0; i < 4; i++) {
		world_irq(&w, 0, 200000000);
		w.deaf[i] = true;
	}
	w.bal.observe = true;
	world_pass(&w);
	world_run(&w, 1000);
	for (i = 0; i < 6000; i++) {
		w.wrong = NULL;
		world_run(&w, 10);
		shown += w.state[0].planned + w.state[1].planned +
			 w.state[2].planned + w.state[3].planned ==
			 3 * IRQ_BALANCE_WHY_IMBALANCE;
		passes += w.bal.last != last;
		last = w.bal.last;
	}
	EXPECT_EQ(shown, 6000);
	EXPECT(passes <= 301);
	/* The proposal ends with its gain: 16 of 416 are too little. */
	for (i = 0; i < 4; i++)
		w.load[i] = i ? 0 : 400000000;
	w.load[1] = 16000000;
	w.wrong = NULL;
	world_run(&w, 10000);
	EXPECT(w.state[1].heavy);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(w.state[i].planned, IRQ_BALANCE_WHY_NONE);
	EXPECT_EQ(w.moves, 0);
	finish(&w);
	report("observe proposes what it would do, as long as it would");
}

static void test_step_500ms(void)
{
	unsigned int at, i;
	struct world w;

	/* 4 + 4 against 4 + 4, one grows to 13: gain 4 of 17, no; to 20: yes. */
	for (at = 0; at < 400; at += 7) {
		world_init(&w, 2);
		for (i = 0; i < 4; i++)
			world_irq(&w, i % 2, 100000000);
		world_pass(&w);
		world_run(&w, 5000 + at);
		EXPECT_EQ(w.moves, 0);
		/* 300 + 100 against 200: 300 against 300 gains a quarter... */
		w.load[0] = 360000000;
		/* ... and this 100 of 460 + 0: alone 360 against 300. */
		w.load[2] = 160000000;
		world_run(&w, 500);
		EXPECT(w.moves > 0);
		EXPECT_EQ(world_run(&w, 5000), 0);
		EXPECT(world_worst(&w) <= 364000000);
		finish(&w);
	}
	report("a step of twice the minimum gain settles in 500 ms");
}

static void test_rotate(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 4);
	w.set.policy = IRQ_BALANCE_POLICY_ROTATE;
	world_irq(&w, 0, 300000000);
	world_irq(&w, 1, 300000000);
	world_pass(&w);
	world_run(&w, 10500);
	EXPECT(w.moves >= 16 && w.moves <= 22);
	EXPECT(w.irqs[0].cpu != w.irqs[1].cpu);
	EXPECT_EQ(w.state[0].reason, IRQ_BALANCE_WHY_ROTATE);
	/* As many as CPUs: no turns. */
	world_irq(&w, (w.irqs[0].cpu + 2) % 4, 300000000);
	world_irq(&w, (w.irqs[1].cpu + 2) % 4, 300000000);
	world_run(&w, 1500);
	EXPECT_EQ(world_run(&w, 10000), 0);
	finish(&w);
	/* More than ever fitted into one pass. */
	world_init(&w, 16);
	w.set.policy = IRQ_BALANCE_POLICY_ROTATE;
	for (i = 0; i < 12; i++)
		world_irq(&w, i, 300000000);
	world_pass(&w);
	EXPECT(world_run(&w, 5000) >= 24);
	EXPECT_EQ(world_worst(&w), 300000000);
	finish(&w);
	/* None, if one has nowhere to go and is in another one's way. */
	world_init(&w, 3);
	w.set.policy = IRQ_BALANCE_POLICY_ROTATE;
	world_irq(&w, 0, 300000000);
	world_irq(&w, 1, 300000000);
	__clear_bit(2, w.mask[0]);
	__clear_bit(0, w.mask[1]);
	w.base[2] = 200000000;
	world_pass(&w);
	EXPECT_EQ(world_run(&w, 5000), 0);
	__set_bit(0, w.mask[1]);
	EXPECT(world_run(&w, 5000) > 0);
	finish(&w);
	report("policy rotate takes turns");
}

static void test_compact(void)
{
	struct world w;
	unsigned int i, first;

	world_init(&w, 8);
	w.set.policy = IRQ_BALANCE_POLICY_COMPACT;
	for (i = 0; i < 4; i++)
		world_irq(&w, 2 * i, 100000000);
	settle(&w);
	first = w.irqs[0].cpu;
	for (i = 0; i < 4; i++)
		EXPECT_EQ(w.irqs[i].cpu, first);
	EXPECT_EQ(world_run(&w, 60000), 0);
	/* Too much for one: it balances. */
	for (i = 0; i < 4; i++)
		w.load[i] = 300000000;
	world_run(&w, 2000);
	EXPECT(world_worst(&w) <= 600000000);
	finish(&w);
	/* An interrupt that may not be there stays. */
	world_init(&w, 8);
	w.set.policy = IRQ_BALANCE_POLICY_COMPACT;
	for (i = 0; i < 4; i++)
		world_irq(&w, 2 * i, 100000000);
	memset(w.mask[0], 0, sizeof(w.mask[0]));
	__set_bit(0, w.mask[0]);
	__set_bit(1, w.mask[0]);
	memset(w.mask[3], 0, sizeof(w.mask[3]));
	__set_bit(6, w.mask[3]);
	__set_bit(7, w.mask[3]);
	settle(&w);
	EXPECT(w.irqs[0].cpu < 2);
	EXPECT(w.irqs[3].cpu >= 6);
	EXPECT(w.moves > 0);
	finish(&w);
	/* It does not keep what its CPU is forbidden to. */
	world_init(&w, 4);
	w.set.policy = IRQ_BALANCE_POLICY_COMPACT;
	world_irq(&w, 0, 100000000);
	settle(&w);
	w.cpus[w.irqs[0].cpu].usable = false;
	EXPECT_EQ(world_run(&w, 1000), 1);
	EXPECT_EQ(w.state[0].reason, IRQ_BALANCE_WHY_AFFINITY);
	finish(&w);
	report("policy compact gathers, and lets go");
}

static void test_pace(void)
{
	struct world w;

	world_init(&w, 2);
	world_irq(&w, 0, 300000000);
	world_pass(&w);
	/* Turned heavy: soon again, then half as often each time. */
	EXPECT_EQ(w.bal.next, IRQ_BALANCE_NO_TIMER);
	world_run(&w, 100);
	EXPECT_EQ(w.bal.interval_ms, 50);
	EXPECT_EQ(w.bal.limit, 0);
	while (w.bal.interval_ms == 50 && w.now < 2000 * MSEC)
		world_run(&w, 10);
	EXPECT_EQ(w.bal.interval_ms, 100);
	world_run(&w, 100);
	EXPECT_EQ(w.bal.interval_ms, 200);
	world_run(&w, 1000);
	/* A step is looked at soon again, though nothing can be done about it. */
	w.load[0] = 600000000;
	world_run(&w, 220);
	EXPECT_EQ(w.bal.interval_ms, 50);
	EXPECT_EQ(w.moves, 0);
	finish(&w);
	/* After a kick it looks a few times although nothing is heavy. */
	world_init(&w, 2);
	world_irq(&w, 0, 3000000);
	settle(&w);
	w.bal.kicked = true;
	world_pass(&w);
	EXPECT_EQ(w.bal.next, w.now + 50 * MSEC);
	world_run(&w, 50);
	EXPECT_EQ(w.bal.next, w.now + 50 * MSEC);
	world_run(&w, 50);
	EXPECT_EQ(w.bal.next, IRQ_BALANCE_NO_TIMER);
	finish(&w);
	report("it looks when there is something to see");
}

static void test_measure(void)
{
	struct irq_balance_average before;
	struct world w;

	world_init(&w, 2);
	world_irq(&w, 0, 30000000);
	settle(&w);
	EXPECT(w.state[0].heavy);
	/* Heavy until it falls below three quarters. */
	w.load[0] = 16000000;
	world_run(&w, 60000);
	EXPECT(w.state[0].heavy);
	w.load[0] = 14000000;
	world_run(&w, 60000);
	EXPECT(!w.state[0].heavy);
	w.load[0] = 19000000;
	world_run(&w, 60000);
	EXPECT(!w.state[0].heavy);
	finish(&w);
	/* A window that is too short is none. */
	world_init(&w, 2);
	world_irq(&w, 0, 300000000);
	settle(&w);
	world_pass(&w);
	before = w.state[0].load;
	w.now += 3 * MSEC;
	w.irqs[0].time += 3 * MSEC;
	world_pass(&w);
	EXPECT(!memcmp(&before, &w.state[0].load, sizeof(before)));
	finish(&w);
	/* One on CPUs of two kinds does not count. */
	world_init(&w, 2);
	w.cpus[1].capacity = 512;
	world_irq(&w, 0, 300000000);
	settle(&w);
	world_run(&w, 1000);
	before = w.state[0].load;
	w.now += 100 * MSEC;
	w.irqs[0].time += 30 * MSEC;
	w.irqs[0].cpu = 1;
	world_pass(&w);
	EXPECT_EQ(w.irqs[0].load, 300000000);
	EXPECT_EQ(w.state[0].load.mean, before.mean);
	EXPECT_EQ(w.state[0].load.age_ms, before.age_ms);
	finish(&w);
	report("what a window says");
}

/* Properties, on generated machines. */

static void random_world(struct world *w, u64 seed)
{
	unsigned int nr, i, c, kind, nodes;

	rng = seed * 2654435761ULL + 88172645463325252ULL;
	for (i = 0; i < 8; i++)
		rnd(2);
	world_init(w, 1 + rnd(rnd(8) ? 16 : WORLD_CPUS));
	kind = rnd(64);
	nodes = 1 + rnd(4);
	for (c = 0; c < w->nr_cpus; c++) {
		w->cpus[c].package = c * (1 + rnd(1)) / 4;
		w->cpus[c].core = c / 2;
		if (kind & 1)
			w->cpus[c].capacity = 1 + rnd(1024);
		if (kind & 2)
			w->cpus[c].node = c * nodes / w->nr_cpus;
		if (kind & 4)
			w->cpus[c].usable = rnd(8);
		if (kind & 8)
			w->cpus[c].full = !rnd(8);
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
	if (!rnd(4))
		w->set.policy = rnd(3);
}

static u64 play(u64 seed, bool *moving)
{
	struct world w;
	unsigned int i;
	u64 hash;

	random_world(&w, seed);
	/* Some whose moves are never done, on every fourth machine. */
	for (i = 0; i < w.nr_irqs && seed % 4 == 0; i++)
		w.deaf[i] = !rnd(8);
	world_pass(&w);
	/*
	 * The slow averages may be needed to measure a load that a slow CPU capped,
	 * and interrupts that do not move are detected one after the other.
	 */
	for (i = 0; i < 8 && world_run(&w, 10000); i++)
		;
	*moving = i == 8 && w.set.policy != IRQ_BALANCE_POLICY_ROTATE;
	if (w.wrong && !failure) {
		snprintf(text, sizeof(text), "seed %llu: %s",
			 (unsigned long long)seed, w.wrong);
		failure = text;
	}
	hash = w.hash + w.moves + w.bal.next;
	world_exit(&w);
	return hash;
}

/* Machines on which a promise was broken once, beyond the usual number. */
static const unsigned int hard_seeds[] = { 718, 817, 4168 };

static unsigned int nth_seed(unsigned int nth, unsigned int seeds)
{
	return nth <= seeds ? nth : hard_seeds[nth - seeds - 1];
}

static void test_promises(unsigned int seeds)
{
	unsigned int nth;

	for (nth = 1; nth <= seeds + ARRAY_SIZE(hard_seeds); nth++) {
		unsigned int seed = nth_seed(nth, seeds);
		bool moving;

		play(seed, &moving);
		if (moving && !failure) {
			snprintf(text, sizeof(text), "seed %u: still moves after 80 s",
				 seed);
			failure = text;
		}
	}
	report("promises kept, and an end found, on generated machines");
}

static void test_deterministic(unsigned int seeds)
{
	unsigned int seed;

	for (seed = 1; seed <= seeds; seed++) {
		bool moving;

		EXPECT_EQ(play(seed, &moving), play(seed, &moving));
	}
	report("equal input, equal plan");
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

/* Some interrupts on a machine, placed well, or soon to be. */
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
	unsigned int seed, i, mode, kind, period, amp, moves;
	u64 mean[WORLD_IRQS];
	struct world w;

	for (seed = 1; seed <= seeds && !failure; seed++) {
		rng = seed * 2654435761ULL + 88172645463325252ULL;
		for (i = 0; i < 8; i++)
			rnd(2);
		mode = rnd(3);
		kind = rnd(4);
		period = periods[rnd(ARRAY_SIZE(periods))];
		amp = rnd(3) ? 150 : 50 + rnd(101);
		noisy_world(&w, mean, mode);
		world_pass(&w);
		if (mode == 2)
			noisy_run(&w, mean, 2000, period, amp, kind);
		/* Well balanced, by the loads' means. */
		w.set.min_gain = 30;
		if (mode)
			noisy_run(&w, mean, 60000, 1000, 0, 0);
		irq_balance_settings_init(&w.set);
		moves = w.moves;
		noisy_run(&w, mean, seed % 8 ? 60000 : 300000, period, amp, kind);
		if (w.moves != moves) {
			snprintf(text, sizeof(text), "seed %u: %u moves", seed,
				 w.moves - moves);
			failure = text;
		}
		if (noisy_step(&w, mean)) {
			moves = w.moves;
			world_run(&w, 30000);
			EXPECT(w.moves > moves);
		}
		world_exit(&w);
	}
	report("noise around balance moves nothing, a step does");
}

/* One plan, then a second one on its outcome, without history. */
static void test_idempotent(unsigned int seeds)
{
	unsigned int nth, i;
	struct world w;

	for (nth = 1; nth <= seeds + ARRAY_SIZE(hard_seeds); nth++) {
		unsigned int seed = nth_seed(nth, seeds);
		unsigned int again;

		random_world(&w, seed);
		w.set.policy = IRQ_BALANCE_POLICY_BALANCE;
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
		/* That a node let one go is forgotten, and it may be taken back. */
		for (i = 0; i < w.nr_irqs; i++)
			again += w.state[i].moved &&
				 w.state[i].reason == IRQ_BALANCE_WHY_LOCALITY;
		if (w.moves > again && !failure) {
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
	report("planning on a plan's outcome moves nothing");
}

int main(int argc, char **argv)
{
	unsigned int seeds = argc > 1 ? atoi(argv[1]) : 20;

	test_averages();
	test_knobs();
	test_lone();
	test_lone_base();
	test_lone_waiting();
	test_lone_forbidden();
	test_lone_faster();
	test_lone_home();
	test_two_equal();
	test_light();
	test_no_timer();
	test_bursts();
	test_swings();
	test_swing_back();
	test_noise();
	test_min_gain();
	test_why();
	test_rest();
	test_node_holds();
	test_node_edge();
	test_node_worst();
	test_node_home();
	test_hard_first();
	test_full();
	test_fewest_moves();
	test_within_percent();
	test_packages_first();
	test_cores_next();
	test_permuted();
	test_chains();
	test_pair();
	test_hidden();
	test_parts();
	test_odroid();
	test_deaf();
	test_hold();
	test_observe();
	test_step_500ms();
	test_rotate();
	test_compact();
	test_pace();
	test_measure();
	test_still(seeds);
	test_promises(seeds);
	test_deterministic(seeds);
	test_idempotent(seeds);
	printf("1..%u\n", nr_tests);
	return nr_failed != 0;
}
