// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the planner over time: averages, noise, steps, the minimum gain, and when it looks.
 */
#include "test.h"

static void test_no_timer(void)
{
	struct world w;

	world_init(&w, 4);
	world_irq(&w, 0, 1000000);
	world_irq(&w, 1, 19000000);
	/* The first pass knows nothing, the second one enough */
	world_pass(&w);
	EXPECT_EQ(w.bal.interval_ms, 50);
	EXPECT_EQ(w.bal.limit, 0);
	world_step(&w, 50 * MSEC);
	EXPECT_EQ(w.bal.next, IRQ_BALANCE_NO_TIMER);
	EXPECT_EQ(w.bal.interval_ms, 0);
	EXPECT_EQ(w.bal.nr_heavy, 0);
	/* It kicks at the rate of a heavy interrupt, and not below. */
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

void test_bursts(unsigned int seeds)
{
	static const unsigned int periods[] = { 100, 200, 300, 500 };
	static const unsigned int crowds[] = { 4, 12 };
	unsigned int duty, p, n, first, late = 0;
	struct world w;

	rng = 1;
	for (duty = 2; duty <= 10 && !failure; duty += 4) {
		for (p = 0; p < ARRAY_SIZE(periods) * 2; p += seeds < 10 ? 3 : 1) {
			n = crowds[p % 2];
			world_init(&w, 8);
			while (w.nr_irqs < n)
				world_irq(&w, rnd(8), 80000000);
			world_pass(&w);
			bursts(&w, duty, periods[p / 2], 60000);
			first = w.moves;
			bursts(&w, duty, periods[p / 2], 90000);
			EXPECT(w.moves <= 3 * 12);
			late += w.moves - first;
			/* At two fifths of a CPU by their means nothing is urgent. */
			EXPECT(world_worst(&w) <= 400000000);
			finish(&w);
			/* A crowd that saturates one CPU is spread, as far as that is sure. */
			world_init(&w, 8);
			while (w.nr_irqs < 12)
				world_irq(&w, 0, 80000000);
			world_pass(&w);
			bursts(&w, duty, periods[p / 2], 120000);
			EXPECT(world_worst(&w) <= 640000000);
			finish(&w);
		}
	}
	EXPECT(late <= 60);
	report("interrupts that come in bursts come to rest, and are spread");
}

/* Some that swing between others that do not: it comes to rest. */
void test_swings(unsigned int seeds)
{
	unsigned int seed, i, n, nr, nr_swing, period, on, depth, t, rests = 0, late = 0;
	struct world w;
	u64 high[3];

	for (seed = 1; seed <= min(3 * seeds, 100) && !failure; seed++) {
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
		EXPECT(w.moves - rests <= 8);
		finish(&w);
	}
	EXPECT(late <= 60);
	report("it comes to rest beside what swings");
}

/* A step is followed at once, a step back is not, until what was before is forgotten. */
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
	world_run(&w, 240000);
	EXPECT(w.state[0].load.mean < 105000000);
	w.load[0] = 800000000;
	world_run(&w, 500);
	EXPECT_EQ(w.state[0].load.mean, 800000000);
	finish(&w);
	report("a step is followed, a step back is not for two minutes");
}

static void test_noise(void)
{
	static const unsigned int periods[] = { 1, 3, 10, 50, 100 };
	unsigned int p, n, i, step, still, loud = 0;
	struct world w;

	for (p = 0; p < ARRAY_SIZE(periods); p++) {
		for (n = p % 2 ? 4 : 2; n <= 16; n *= 4) {
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
			still = w.moves;
			loud += still;
			/* And a step that is no noise. */
			for (i = 0; i < 3 * n; i++)
				w.load[i] = i % n ? 100000000 : 400000000;
			world_run(&w, 2000);
			EXPECT(w.moves > still);
			finish(&w);
		}
	}
	/* The slowest is noise of 10 s */
	EXPECT(loud <= 5);
	report("noise of 15 % moves next to nothing in 300 s");
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
	/* A quarter of the load, but of less than half of what makes it heavy. */
	world_init(&w, 2);
	world_irq(&w, 0, 21000000);
	world_irq(&w, 0, 21000000);
	w.base[1] = 12000000;
	settle(&w);
	EXPECT_EQ(world_run(&w, 60000), 0);
	EXPECT_EQ(w.state[0].why, IRQ_BALANCE_WHY_GAIN);
	w.base[1] = 0;
	EXPECT_EQ(world_run(&w, 60000), 1);
	finish(&w);
	report("nothing is moved for less than the minimum gain");
}

/* 300, 200 and 100 beside 400: whether 100 move if each load may be off by @error. */
static unsigned int example(u64 error)
{
	static const u64 loads[] = { 300, 200, 100, 400 };
	unsigned int i, moves;
	struct world w;

	world_init(&w, 2);
	for (i = 0; i < 4; i++)
		w.movable[world_irq(&w, i == 3, loads[i] * MSEC)] = false;
	world_step(&w, 100 * MSEC);
	world_step(&w, 100 * MSEC);
	for (i = 0; i < 4; i++) {
		struct irq_balance_average *avg = &w.state[i].load;

		avg->age_ms = 1000000;
		avg->swing_ms = 1000000;
		avg->dev = error / 3;
		w.movable[i] = true;
	}
	moves = world_pass(&w);
	finish(&w);
	return moves;
}

static void test_example(void)
{
	/*
	 * 100 are gained, 30 have to be. Two loads stay on the one CPU, and one was on the other:
	 * the root of 3 * 40^2 is 69, that of 3 * 41^2 is 71. The load that moves is in both.
	 */
	EXPECT_EQ(example(40 * MSEC), 1);
	EXPECT_EQ(example(41 * MSEC), 0);
	report("what the loads of both CPUs may be off by is to be gained besides");
}

/* All knowledge is void after a new start. */
static void test_anew(void)
{
	static const struct irq_balance_program program;
	struct world w;
	u32 before;

	world_init(&w, 2);
	world_irq(&w, 0, 300000000);
	world_irq(&w, 0, 300000000);
	settle(&w);
	EXPECT_EQ(w.moves, 1);
	before = w.bal.generation;
	w.bal.program = &program;
	irq_balance_init(&w.bal, w.work, WORLD_IRQS, w.nr_cpus);
	EXPECT(w.bal.program == &program);
	w.bal.program = NULL;
	EXPECT_EQ(w.bal.generation, before + 1);
	EXPECT_EQ(w.bal.next, IRQ_BALANCE_NO_TIMER);
	EXPECT_EQ(w.bal.last, 0);
	world_pass(&w);
	EXPECT_EQ(w.state[0].load.age_ms + w.state[1].load.age_ms, 0);
	EXPECT_EQ(w.state[0].moved + w.state[1].moved, 0);
	EXPECT(!w.state[0].heavy);
	/* Zero is the generation of a state that no pass has seen. */
	w.bal.generation = ~0U;
	irq_balance_init(&w.bal, w.work, WORLD_IRQS, w.nr_cpus);
	EXPECT_EQ(w.bal.generation, 1);
	finish(&w);
	report("it starts from nothing");
}

/* One without a CPU is not heavy, and keeps its mean. */
static void test_nowhere(void)
{
	struct world w;
	u32 age;

	world_init(&w, 2);
	world_irq(&w, 0, 300000000);
	settle(&w);
	EXPECT(w.state[0].heavy);
	EXPECT_EQ(w.bal.nr_heavy, 1);
	/* The element behind the last CPU does not count, whatever it contains. */
	w.irqs[0].cpu = 2;
	w.irqs[0].node = 5;
	w.cpus[2].node = 5;
	w.cpus[2].capacity = 1024;
	age = w.state[0].load.age_ms;
	world_step(&w, 100 * MSEC);
	EXPECT_EQ(w.state[0].load.age_ms, age);
	EXPECT(!w.state[0].heavy);
	EXPECT_EQ(w.bal.nr_heavy, 0);
	EXPECT(!w.bal.busy);
	EXPECT_EQ(w.irqs[0].load, 300000000);
	EXPECT_EQ(w.cpus[0].load + w.cpus[1].load, 0);
	w.cpus[2].capacity = 512;
	w.irqs[0].cpu = 1;
	w.irqs[0].node = -1;
	world_step(&w, 100 * MSEC);
	EXPECT_EQ(w.state[0].load.age_ms, age + 100);
	EXPECT(w.state[0].heavy);
	finish(&w);
	/* It is no load of any CPU. */
	world_init(&w, 2);
	world_irq(&w, 0, 300 * MSEC);
	world_irq(&w, 1, 300 * MSEC);
	settle(&w);
	w.irqs[1].cpu = 2;
	world_run(&w, 20000);
	EXPECT_EQ(w.moves, 0);
	finish(&w);
	report("an interrupt that has no CPU");
}

/* A night without a pass: what was light stays light, what gets heavy is moved at once. */
static void test_night(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 4);
	for (i = 0; i < 4; i++)
		world_irq(&w, 0, 2000000);
	w.base[0] = 3000000;
	world_pass(&w);
	world_run(&w, 1000);
	EXPECT_EQ(world_step(&w, 8 * 3600000 * (u64)MSEC), 0);
	EXPECT_EQ(w.bal.next, IRQ_BALANCE_NO_TIMER);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(w.irqs[i].load, 2000000);
	EXPECT_EQ(w.cpus[0].base.mean, 3000000);
	world_exact(&w);
	EXPECT_EQ(world_step(&w, 100 * MSEC), 0);
	world_step(&w, 24 * 3600000 * (u64)MSEC);
	for (i = 0; i < 4; i++)
		w.load[i] = 200000000;
	EXPECT(world_run(&w, 500) >= 3);
	finish(&w);
	/* The evening was busy, the night is not: that is no deviation. */
	world_init(&w, 4);
	for (i = 0; i < 4; i++) {
		world_irq(&w, 0, 2000000);
		w.base[i] = 400000000;
	}
	world_pass(&w);
	world_run(&w, 60000);
	memset(w.base, 0, sizeof(w.base));
	world_step(&w, 8 * 3600000 * (u64)MSEC);
	for (i = 0; i < 4; i++)
		w.load[i] = 200000000;
	EXPECT(world_run(&w, 500) >= 3);
	finish(&w);
	report("loads are right after a night without a pass");
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

/* interval_ms while something changes, six times that while something is heavy, else no timer */
static void test_pace(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 2);
	w.set.interval_ms = 40;
	world_irq(&w, 0, 300 * MSEC);
	world_pass(&w);
	EXPECT_EQ(w.bal.next, w.now + 40 * MSEC);
	/* An interrupt that gets heavy is news until it may move */
	world_step(&w, 40 * MSEC);
	EXPECT_EQ(w.bal.next, w.now + 40 * MSEC);
	world_step(&w, 40 * MSEC);
	world_step(&w, 40 * MSEC);
	for (i = 0; i < 100; i++) {
		EXPECT_EQ(w.bal.next, w.now + 240 * MSEC);
		world_step(&w, 240 * MSEC);
	}
	/* So is a step, until its loads are known, though nothing can be done; and a kick. */
	w.load[0] = 600 * MSEC;
	world_step(&w, 240 * MSEC);
	EXPECT_EQ(w.bal.next, w.now + 40 * MSEC);
	for (i = 0; i < 10; i++)
		world_step(&w, 40 * MSEC);
	EXPECT_EQ(w.state[0].load.mean, 600 * MSEC);
	EXPECT_EQ(w.bal.next, w.now + 240 * MSEC);
	w.bal.kicked = true;
	world_step(&w, 100 * MSEC);
	EXPECT_EQ(w.bal.next, w.now + 40 * MSEC);
	world_step(&w, 100 * MSEC);
	w.bal.changed = true;
	world_step(&w, 100 * MSEC);
	EXPECT_EQ(w.bal.next, w.now + 40 * MSEC);
	/* Interrupts that may not be moved are watched as well: others may have to leave it */
	w.movable[0] = false;
	world_step(&w, 100 * MSEC);
	EXPECT_EQ(w.bal.next, w.now + 240 * MSEC);
	EXPECT_EQ(w.moves, 0);
	/* A move is news */
	w.movable[0] = true;
	world_irq(&w, 0, 500 * MSEC);
	for (i = 0; i < 20 && !w.moves; i++)
		world_step(&w, 40 * MSEC);
	EXPECT_EQ(w.moves, 1);
	EXPECT_EQ(w.bal.next, w.now + 40 * MSEC);
	finish(&w);
	/* Light ones of one CPU that sum to a quarter are watched */
	for (i = 0; i < 2; i++) {
		world_init(&w, 2);
		while (w.nr_irqs < 25)
			world_irq(&w, 0, (10 - (i && !w.nr_irqs)) * MSEC);
		world_irq(&w, 1, 10 * MSEC);
		settle(&w);
		world_step(&w, 50 * MSEC);
		world_step(&w, 50 * MSEC);
		EXPECT_EQ(w.bal.interval_ms, i ? 0 : 300);
		finish(&w);
	}
	report("it looks when there is something to see");
}

static void test_measure(void)
{
	static const u64 heavy[] = { 15000000, 14999999, 19999999, 20000000 };
	struct irq_balance_average before;
	struct world w;
	unsigned int i;

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
	/* To the ns/s */
	for (i = 0; i < 4; i++) {
		w.state[0].heavy = !i;
		w.state[0].load.mean = heavy[i];
		world_pass(&w);
		EXPECT_EQ(w.state[0].heavy, i == 0 || i == 3);
		EXPECT_EQ(w.bal.busy, i == 0 || i == 3);
	}
	finish(&w);
	/* Heavy it is with a tenth of a second of history, and no less. */
	world_init(&w, 2);
	world_irq(&w, 0, 30000000);
	world_pass(&w);
	world_step(&w, 96 * MSEC);
	EXPECT(!w.state[0].heavy);
	world_step(&w, 4 * MSEC);
	EXPECT(w.state[0].heavy);
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

/* At a quarter of its speed a CPU takes four times as long, and its times show a quarter of that */
static void test_throttled(void)
{
	struct world w;

	world_init(&w, 2);
	w.cpus[0].capacity = 256;
	w.cpus[0].throttled = 768;
	w.base[0] = 40 * MSEC;
	world_irq(&w, 0, 150 * MSEC);
	w.movable[0] = false;
	world_run(&w, 1000);
	EXPECT_EQ(w.irqs[0].load / 1000, 150 * MSEC / 1000);
	EXPECT_EQ(w.cpus[0].load / 1000, 640 * MSEC / 1000);
	world_irq(&w, 0, 70 * MSEC);
	world_run(&w, 10000);
	EXPECT_EQ(w.moves, 1);
	finish(&w);
	report("throttling makes a CPU busier, and its interrupts no lighter");
}

/* Not later than 20 s after the loads became constant */
static void test_late(void)
{
	unsigned int seed, i;
	struct world w;

	for (seed = 1; seed <= 60; seed++) {
		rng = seed * 2654435761ULL + 88172645463325252ULL;
		world_init(&w, 2 + rnd(11));
		for (i = 2 + rnd(40); i; i--)
			world_irq(&w, rnd(w.nr_cpus), rnd(200 * MSEC));
		world_pass(&w);
		world_run(&w, 20000);
		EXPECT_EQ(world_run(&w, 100000), 0);
		finish(&w);
	}
	report("constant loads get no late move");
}

void test_time(void)
{
	test_no_timer();
	test_swing_back();
	test_noise();
	test_min_gain();
	test_example();
	test_anew();
	test_nowhere();
	test_night();
	test_step_500ms();
	test_pace();
	test_measure();
	test_throttled();
	test_late();
}
