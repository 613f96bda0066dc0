// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the planner: the CPU of each interrupt, on CPUs that differ by their load, or in what is
 * allowed on them. Where they are and how fast they are is tested in test_topology.c.
 */
#include "place.h"
#include "test.h"

static void test_lone(void)
{
	struct world w;

	world_init(&w, 8);
	world_irq(&w, 3, 600000000);
	settle(&w);
	EXPECT_EQ(world_run(&w, 300000), 0);
	EXPECT_EQ(w.moves, 0);
	/* A second interrupt on its CPU. */
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

	/* Base load that is less than the minimum gain does not drive it away ... */
	world_init(&w, 4);
	world_irq(&w, 0, 300000000);
	w.base[0] = 10000000;
	settle(&w);
	EXPECT_EQ(world_run(&w, 60000), 0);
	EXPECT_EQ(w.moves, 0);
	/* ... nor does a burst of it ... */
	w.base[0] = 300000000;
	EXPECT_EQ(world_run(&w, 500), 0);
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
	report("base load drives a lone interrupt away once it is proven");
}

/* CPUs that were busy in their first second do not keep interrupts together for long */
static void test_base_at_first(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 8);
	for (i = 0; i < 8; i++) {
		w.base[i] = i * 40000000;
		world_irq(&w, 0, 40000000);
	}
	w.bal.kicked = true;
	world_pass(&w);
	world_run(&w, 1000);
	EXPECT(world_worst(&w) > 100000000);
	memset(w.base, 0, sizeof(w.base));
	world_run(&w, 20000);
	EXPECT(world_worst(&w) <= 80000000);
	finish(&w);
	report("base load of the first second is forgotten");
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
	report("two equal interrupts on a CPU: one move, then none");
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
	/* Heavy interrupts among them leave, they stay. */
	world_irq(&w, 0, 300000000);
	world_irq(&w, 0, 300000000);
	EXPECT_EQ(world_run(&w, 1000), 2);
	for (i = 0; i < 60; i++)
		EXPECT_EQ(w.irqs[i].cpu, 0);
	finish(&w);
	report("light interrupts stay");
}

/* All interrupts that the workspace has room for are heavy */
static void test_exact_size(void)
{
	unsigned int i;
	struct world w;

	world_init(&w, 12);
	for (i = 0; i < 12; i++)
		world_irq(&w, 11, 50000000);
	irq_balance_init(&w.bal, w.work, w.nr_irqs, w.nr_cpus);
	settle(&w);
	EXPECT_EQ(w.moves, 11);
	EXPECT_EQ(world_worst(&w), 50000000);
	finish(&w);
	report("a workspace that is full");
}

static void test_hard_first(void)
{
	struct world w;

	/* The only allowed CPU is worse than the forbidden one. */
	world_init(&w, 3);
	world_irq(&w, 0, 500000000);
	world_irq(&w, 1, 500000000);
	w.irqs[0].cpu = 2;
	only(&w, 1, 1, 1);
	only(&w, 0, 1, 2);
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
	w.cpus[1].full_until = ~0ULL;
	settle(&w);
	EXPECT_EQ(world_load(&w, 1), 0);
	EXPECT_EQ(w.moves, 1);
	/* There is room again. */
	w.cpus[1].full_until = 0;
	EXPECT_EQ(world_run(&w, 1000), 1);
	/* A full CPU keeps what it has. */
	for (i = 0; i < 3; i++)
		w.cpus[i].full_until = ~0ULL;
	EXPECT_EQ(world_run(&w, 10000), 0);
	finish(&w);
	/* One that may not stay, and has to: it forces nothing that gains too little, 20 of 424. */
	world_init(&w, 3);
	world_irq(&w, 0, 300000000);
	world_irq(&w, 0, 100000000);
	world_irq(&w, 0, 24000000);
	world_irq(&w, 1, 380000000);
	only(&w, 0, 2, 2);
	w.cpus[2].full_until = ~0ULL;
	settle(&w);
	EXPECT_EQ(w.moves, 0);
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
	/* 410 can be had: 430 are within the minimum gain of it */
	EXPECT(world_worst(&w) <= 430000000);
	EXPECT(w.moves <= 4);
	finish(&w);
	/* 50 has to leave a full CPU only as long as 10, which may not stay, is there. */
	world_init(&w, 3);
	world_irq(&w, 2, 500000000);
	world_irq(&w, 2, 100000000);
	only(&w, 1, 1, 1);
	settle(&w);
	EXPECT_EQ(w.irqs[0].cpu, 2);
	EXPECT_EQ(w.irqs[1].cpu, 1);
	EXPECT_EQ(w.moves, 1);
	finish(&w);
	report("fewest moves among equal placements");
}

/* One moves where a lighter one gives way to it: eight times on one machine. */
static void test_give_way_often(void)
{
	unsigned int i, irq;
	struct world w;

	world_init(&w, 24);
	for (i = 0; i < 24; i += 3) {
		irq = world_irq(&w, i, 500000000);
		only(&w, irq, i, i);
		irq = world_irq(&w, i, 300000000);
		only(&w, irq, i, i + 1);
		irq = world_irq(&w, i + 1, 250000000);
		only(&w, irq, i + 1, i + 2);
		w.base[i + 1] = 320000000;
	}
	settle(&w);
	world_run(&w, 5000);
	EXPECT_EQ(world_worst(&w), 620000000);
	EXPECT_EQ(w.moves, 16);
	finish(&w);
	report("a move is made possible by another move");
}

/* @load is on a CPU that has 400 ms/s, where the rest may move: does the user's plan do that? */
static bool exact_gain(u64 load)
{
	struct world w;
	bool moved;

	world_init(&w, 3);
	w.set.heavy = 10;
	world_irq(&w, 0, 400 * MSEC - load);
	world_irq(&w, 0, load);
	w.movable[1] = false;
	world_step(&w, 100 * MSEC);
	EXPECT_EQ(world_step(&w, 200 * MSEC), 0);
	EXPECT_EQ(w.state[0].why, load < 20 * MSEC ? IRQ_BALANCE_WHY_GAIN :
						     IRQ_BALANCE_WHY_NOISE);
	world_exact(&w);
	moved = world_step(&w, 200 * MSEC);
	finish(&w);
	return moved;
}

static void test_exact_gain(void)
{
	EXPECT(exact_gain(20000000));
	EXPECT(!exact_gain(19990000));
	report("a gain of exactly min_gain is enough");
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
	for (i = 0; i < w.nr_irqs; i++)
		only(&w, i, i < 3 ? 0 : 2, i < 3 ? 1 : 3);
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
	world_run(&w, 10000);
	EXPECT(world_worst(&w) <= 770000000);
	finish(&w);
	report("parts of a machine are solved each for itself");
}

/* Where CPUs end equally low tasks decide, then priority, then the hint; no tasks cause a move */
static void test_preferences(void)
{
	unsigned int i, kind;
	struct world w;

	for (kind = 0; kind < 4; kind++) {
		world_init(&w, 4);
		world_irq(&w, 0, 200 * MSEC);
		world_irq(&w, 0, 190 * MSEC);
		for (i = 1; i < 4; i++) {
			w.cpus[i].tasks = kind == 0 && i != 2 ? 300 * MSEC : 0;
			w.cpus[i].priority = kind == 1 ? i == 3 ? 20 : 10 : 0;
		}
		if (kind == 1)
			w.cpus[0].priority = 10;
		if (kind == 2) {
			w.irqs[0].hint = 1 + 3;
			w.irqs[1].hint = 1 + 3;
		}
		/* With tasks on all of them it moves as well */
		for (i = 1; i < 4 && kind == 3; i++)
			w.cpus[i].tasks = 1000 * MSEC;
		settle(&w);
		EXPECT_EQ(w.moves, 1);
		if (kind < 3)
			EXPECT_EQ(w.irqs[0].cpu + w.irqs[1].cpu, kind ? 3 : 2);
		/* That tasks come is no reason to go */
		for (i = 0; i < 4; i++)
			w.cpus[i].tasks = world_load(&w, i) ? 700 * MSEC : 0;
		EXPECT_EQ(world_run(&w, 30000), 0);
		finish(&w);
	}
	/* A CPU with tasks is taken if the idle CPUs would get much more interrupts than it */
	world_init(&w, 4);
	world_irq(&w, 0, 200 * MSEC);
	world_irq(&w, 0, 190 * MSEC);
	w.cpus[1].tasks = 1000 * MSEC;
	w.base[2] = 130 * MSEC;
	w.base[3] = 130 * MSEC;
	settle(&w);
	EXPECT_EQ(w.irqs[0].cpu + w.irqs[1].cpu, 1);
	finish(&w);
	/*
	 * Among CPUs that end within half a per cent of each other (2^22 ns/s) an eighth of the
	 * time of tasks, and for 255 of priority 31 ms/s, decide.
	 */
	for (i = 0; i < 8; i++) {
		world_init(&w, 3);
		world_irq(&w, 0, 200 * MSEC);
		world_irq(&w, 0, 190 * MSEC);
		w.movable[0] = false;
		w.cpus[1].tasks = 80 * MSEC;
		w.cpus[1].priority = 100;
		w.cpus[2].priority = 100;
		w.cpus[1].priority += i & 1 ? 83 : 81;
		w.cpus[1].package = 1;
		w.cpus[1].llc = w.cpus[1].package;
		w.cpus[2].package = 2;
		w.cpus[2].llc = w.cpus[2].package;
		w.base[2] = i & 2 ? 2 * MSEC : 0;
		w.base[2] = i & 4 ? 10 * MSEC : w.base[2];
		settle(&w);
		EXPECT_EQ(w.irqs[1].cpu, i & 4 || i & 1 ? 1 : 2);
		finish(&w);
	}
	/* No more than a whole CPU of tasks counts, and a priority from 0 to 255 */
	world_init(&w, 3);
	world_irq(&w, 0, 200 * MSEC);
	world_irq(&w, 0, 190 * MSEC);
	w.movable[0] = false;
	w.cpus[1].tasks = 5000 * MSEC;
	w.cpus[2].tasks = 1000 * MSEC;
	w.cpus[1].priority = 1000;
	w.cpus[2].priority = 254;
	settle(&w);
	EXPECT_EQ(w.irqs[1].cpu, 1);
	finish(&w);
	report("CPUs that end equally low differ by tasks, priority and hint");
}

/* Moves that cost permanently have to gain more than that */
static void test_toll(void)
{
	struct world w;
	u64 toll;

	for (toll = 0; toll <= 300 * MSEC; toll += 100 * MSEC) {
		world_init(&w, 4);
		world_irq(&w, 0, 200 * MSEC);
		world_irq(&w, 0, 190 * MSEC);
		w.irqs[0].toll = toll;
		w.irqs[1].toll = toll;
		settle(&w);
		EXPECT_EQ(w.moves, toll < 190 * MSEC);
		EXPECT_EQ(world_run(&w, 30000), 0);
		finish(&w);
	}
	/* It counts beside a move that gains for sure, too */
	for (toll = 0; toll <= 300 * MSEC; toll += 300 * MSEC) {
		world_init(&w, 6);
		world_irq(&w, 0, 500 * MSEC);
		world_irq(&w, 0, 490 * MSEC);
		world_irq(&w, 1, 300 * MSEC);
		world_irq(&w, 1, 300 * MSEC);
		w.irqs[2].toll = toll;
		w.irqs[3].toll = toll;
		settle(&w);
		EXPECT_EQ(w.moves, toll ? 1 : 2);
		finish(&w);
	}
	report("what a move costs permanently is weighed against its gain");
}

/* Many light interrupts fill a CPU; a few do not */
static void test_crowd(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 16);
	for (i = 0; i < 64; i++)
		world_irq(&w, 0, 15 * MSEC);
	world_pass(&w);
	world_run(&w, 2000);
	EXPECT(world_worst(&w) <= 120 * MSEC);
	EXPECT_EQ(world_run(&w, 60000), 0);
	finish(&w);
	world_init(&w, 4);
	world_irq(&w, 0, 22 * MSEC);
	for (i = 0; i < 40; i++)
		world_irq(&w, 0, 2 * MSEC);
	settle(&w);
	world_run(&w, 600000);
	EXPECT(w.moves <= 1);
	finish(&w);
	/* Each of more than a pass moves */
	world_init(&w, 64);
	for (i = 0; i < 120; i++)
		world_irq(&w, 0, 25 * MSEC);
	settle(&w);
	world_run(&w, 5000);
	EXPECT(world_worst(&w) <= 75 * MSEC);
	finish(&w);
	/* The same of light interrupts, until the CPU is not nearly full any more */
	world_init(&w, 16);
	for (i = 0; i < 120; i++)
		world_irq(&w, 0, 7500000);
	world_pass(&w);
	world_run(&w, 2000);
	EXPECT(world_worst(&w) < 800 * MSEC);
	EXPECT_EQ(world_run(&w, 60000), 0);
	finish(&w);
	/* As many moves of others do not concern them */
	world_init(&w, 80);
	for (i = 0; i < 100; i++)
		world_irq(&w, 0, 9 * MSEC + (i < 70) * 16 * MSEC);
	for (i = 70; i < 100; i++)
		w.irqs[i].cpu = 79;
	world_pass(&w);
	world_run(&w, 2000);
	EXPECT(w.moves >= 64);
	for (i = 70; i < 100; i++)
		EXPECT_EQ(w.irqs[i].cpu, 79);
	finish(&w);
	report("light interrupts that fill a CPU are spread");
}

/* On a CPU with 80 % light interrupts move. With a quarter they are watched if heavy in sum. */
static void test_crowd_limits(void)
{
	unsigned int kind, i;
	struct world w;

	for (kind = 0; kind < 2; kind++) {
		world_init(&w, 4);
		for (i = 0; i < 25; i++)
			world_irq(&w, 0, 10 * MSEC);
		w.base[0] = (kind ? 551 : 549) * MSEC;
		world_step(&w, 100 * MSEC);
		world_exact(&w);
		/* With so much history they may */
		EXPECT_EQ(world_step(&w, 100 * MSEC) > 0, kind);
		finish(&w);
	}
	for (kind = 0; kind < 3; kind++) {
		world_init(&w, 4);
		for (i = 0; i < 2; i++)
			world_irq(&w, 0, (kind == 1 ? 9 : 10) * MSEC);
		w.base[0] = (kind == 2 ? 229 : 235) * MSEC;
		settle(&w);
		EXPECT_EQ(w.bal.busy, !kind);
		finish(&w);
	}
	/* None that has less than a sixteenth of what is heavy */
	for (i = 0; i < 2; i++) {
		world_init(&w, 4);
		while (w.nr_irqs < 100)
			world_irq(&w, 0, 5 * MSEC);
		w.set.heavy = 80 + i;
		w.base[0] = 400 * MSEC;
		world_step(&w, 100 * MSEC);
		world_exact(&w);
		EXPECT_EQ(world_step(&w, 200 * MSEC) > 0, !i);
		finish(&w);
	}
	report("a crowd is watched on a CPU with a quarter, and leaves one with 80 %");
}

void test_placement(void)
{
	test_lone();
	test_lone_base();
	test_base_at_first();
	test_lone_forbidden();
	test_two_equal();
	test_light();
	test_exact_size();
	test_hard_first();
	test_full();
	test_fewest_moves();
	test_give_way_often();
	test_exact_gain();
	test_hidden();
	test_parts();
	test_preferences();
	test_toll();
	test_crowd();
	test_crowd_limits();
}
