// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the planner: the steps that relieve a CPU.
 */
#include "place.h"
#include "test.h"

/* CPUs that share nothing */
static void apart(struct world *w, unsigned int nr_cpus)
{
	unsigned int i;

	world_init(w, nr_cpus);
	for (i = 0; i < nr_cpus; i++)
		w->cpus[i].package = i;
}

/* An interrupt of so many ms/s that may go to one other CPU */
static void add(struct world *w, unsigned int cpu, unsigned int ms, unsigned int to)
{
	only(w, world_irq(w, cpu, ms * MSEC), cpu, to);
}

/*
 * 200 could leave CPU 0, which has 600, for CPU 1 only. 5 % are to be gained, and a sixteenth of
 * that three times and for each that gives way: 37.5 for one, so @nr of 20 have to give way, each
 * to a CPU that would have @end then.
 */
static unsigned int give_way(unsigned int nr, unsigned int end)
{
	unsigned int i, moves;
	struct world w;

	apart(&w, 12);
	w.base[0] = 400 * MSEC;
	add(&w, 0, 200, 1);
	w.base[1] = 351 * MSEC;
	for (i = 0; i < nr; i++) {
		add(&w, 1, 20, 2 + i);
		w.base[2 + i] = (end - 20) * MSEC;
	}
	moves = ask(&w);
	EXPECT_EQ(w.irqs[0].cpu, moves > 0);
	finish(&w);
	return moves;
}

static void test_give_way(void)
{
	unsigned int nr;

	for (nr = 1; nr <= 7; nr++)
		EXPECT_EQ(give_way(nr, 540), nr < 7 ? nr + 1 : 0);
	EXPECT_EQ(give_way(2, 560), 3);
	EXPECT_EQ(give_way(2, 561), 0);
	report("up to six give way to one that goes, if all end below the price");
}

/*
 * Which of those with @loads leave CPU 1, which has @base besides, when 200 come from CPU 0
 * If min_gain is a fifth no CPU may have more than 450, and 7.5 less for each after the first.
 */
static unsigned int gives_way(unsigned int base, const unsigned int *loads, bool moves)
{
	unsigned int i, gone = 0;
	struct world w;

	apart(&w, 6);
	w.set.min_gain = 200;
	w.base[0] = 400 * MSEC;
	add(&w, 0, 200, 1);
	w.base[1] = base * MSEC;
	for (i = 0; i < 4; i++) {
		add(&w, 1, loads[i], 2 + i);
		w.base[2 + i] = 300 * MSEC;
	}
	ask(&w);
	EXPECT_EQ(w.irqs[0].cpu, moves);
	for (i = 0; i < 4; i++)
		gone |= (w.irqs[1 + i].cpu != 1) << i;
	finish(&w);
	return gone;
}

static void test_which_give_way(void)
{
	static const unsigned int loads[] = { 100, 60, 55, 30 }, equal[] = { 201, 200, 25, 24 };

	/* 50, 60, 110, 140, 150, and 220 are too many */
	EXPECT_EQ(gives_way(55, loads, true), 4);
	EXPECT_EQ(gives_way(65, loads, true), 2);
	EXPECT_EQ(gives_way(115, loads, true), 9);
	EXPECT_EQ(gives_way(145, loads, true), 5);
	EXPECT_EQ(gives_way(155, loads, true), 3);
	EXPECT_EQ(gives_way(225, loads, true), 15);
	/* Heavier ones fit nowhere, and the others are not enough */
	EXPECT_EQ(gives_way(60, equal, false), 0);
	report("the lightest that suffices gives way, or else the heaviest first");
}

/* 200 may go to CPU 1 only, where @other may leave for CPU 2; @giant has CPU 3 to itself */
static unsigned int heavier_gives_way(unsigned int other, unsigned int giant)
{
	unsigned int moves;
	struct world w;

	apart(&w, 4);
	w.base[0] = 650 * MSEC;
	add(&w, 0, 200, 1);
	w.base[1] = (max(790U, other) - other) * MSEC;
	add(&w, 1, other, 2);
	w.base[3] = giant * MSEC;
	w.movable[world_irq(&w, 3, 30 * MSEC)] = giant;
	moves = ask(&w);
	finish(&w);
	return moves;
}

static void test_heavier_gives_way(void)
{
	unsigned int giant;

	for (giant = 0; giant <= 1200; giant += 1200) {
		EXPECT_EQ(heavier_gives_way(200, giant), 2);
		EXPECT_EQ(heavier_gives_way(400, giant), 2);
		EXPECT_EQ(heavier_gives_way(810, giant), 0);
	}
	report("heavier ones give way if no lighter one can, whatever is full elsewhere");
}

/* 200 may leave CPU 0 for CPU 1, where two have to give way, or for CPU 2, where one has to */
static void test_fewest(void)
{
	struct world w;

	apart(&w, 5);
	w.base[0] = 400 * MSEC;
	world_irq(&w, 0, 200 * MSEC);
	w.mask[0][0] = 7;
	w.base[1] = 360 * MSEC;
	add(&w, 1, 40, 3);
	add(&w, 1, 41, 3);
	w.base[2] = 280 * MSEC;
	add(&w, 2, 150, 4);
	EXPECT_EQ(ask(&w), 2);
	EXPECT_EQ(w.irqs[0].cpu, 2);
	finish(&w);
	report("as few as possible give way");
}

/* Each of 20 gains too little: two gain 5 % of 490, three 5 % of 910 */
static void test_several(void)
{
	unsigned int i, nr;
	struct world w;

	for (nr = 1; nr <= 3; nr++) {
		for (i = 0; i < 2; i++) {
			apart(&w, 12);
			w.base[0] = (i ? 850 : 450) * MSEC;
			while (w.nr_irqs < nr)
				add(&w, 0, 20, 1 + w.nr_irqs);
			if (i || nr < 3)
				EXPECT_EQ(ask(&w), nr >= 2 + i ? nr : 0);
			finish(&w);
		}
	}
	/* Nothing, if all together are not enough, or if IPIs cost as much */
	for (i = 0; i < 3; i++) {
		apart(&w, 4);
		w.base[0] = (i ? 600 : 800) * MSEC;
		add(&w, 0, 20, 1);
		add(&w, 0, 21, 2);
		w.irqs[1].toll = i == 2 ? 10 * MSEC : 0;
		EXPECT_EQ(ask(&w), i == 1 ? 2 : 0);
		finish(&w);
	}
	report("several leave that are too light one by one");
}

/* The one that leaves the least on both CPUs goes, of equal ones the lightest */
static void test_best_step(void)
{
	struct world w;
	unsigned int i;

	/* 600 - 150 and 350 + 150, 600 - 140 and 370 + 140 */
	apart(&w, 3);
	w.base[0] = 310 * MSEC;
	w.base[1] = 350 * MSEC;
	w.base[2] = 370 * MSEC;
	add(&w, 0, 150, 1);
	add(&w, 0, 140, 2);
	EXPECT_EQ(ask(&w), 1);
	EXPECT_EQ(w.irqs[0].cpu, 1);
	finish(&w);
	/* 500 is on CPU 1 with the one or the other; 200 and 240 leave 440 and 400 */
	for (i = 0; i < 2; i++) {
		apart(&w, 3);
		w.base[0] = 200 * MSEC;
		w.base[1] = 300 * MSEC;
		w.base[2] = (260 - 10 * i) * MSEC;
		add(&w, 0, 240, 2);
		add(&w, 0, 200, 1);
		EXPECT_EQ(ask(&w), 1);
		/* 490 is lower */
		EXPECT_EQ(w.irqs[i ? 0 : 1].cpu, i ? 2 : 1);
		finish(&w);
	}
	report("the step that ends lowest is made, of equal ones that of the lightest");
}

/* Once a giant is done with, the others have to gain a quarter, by a single move, up to 80 % */
static void test_after_done(void)
{
	struct world w;
	unsigned int i;

	for (i = 99; i <= 100; i++) {
		apart(&w, 4);
		world_irq(&w, 3, 900 * MSEC);
		w.base[0] = (400 - i) * MSEC;
		add(&w, 0, i, 1);
		EXPECT_EQ(ask(&w), i == 100);
		finish(&w);
	}
	for (i = 640; i <= 660; i += 20) {
		apart(&w, 4);
		world_irq(&w, 3, 900 * MSEC);
		w.base[0] = i * MSEC;
		add(&w, 0, 150, 1);
		EXPECT_EQ(ask(&w), i == 660);
		finish(&w);
	}
	/* 600, of which 200 could go to CPU 1 if 190 left that for CPU 2 */
	for (i = 0; i < 2; i++) {
		apart(&w, 4);
		world_irq(&w, 3, (i ? 950 : 400) * MSEC);
		w.base[0] = 400 * MSEC;
		w.base[1] = 220 * MSEC;
		w.base[2] = 150 * MSEC;
		add(&w, 0, 200, 1);
		add(&w, 1, 190, 2);
		EXPECT_EQ(ask(&w), i ? 0 : 2);
		finish(&w);
	}
	report("once a CPU is done with another one has to gain a quarter, or to be nearly full");
}

/* Of the moves of give_way(1, 540) either interrupt may be off by so much, and the bases */
static unsigned int gives_way_off_by(u64 one, u64 other, u64 here, u64 there)
{
	unsigned int i, moves;
	struct world w;

	apart(&w, 3);
	w.base[0] = 400 * MSEC;
	w.base[1] = 320 * MSEC;
	w.base[2] = 360 * MSEC;
	add(&w, 0, 200, 1);
	add(&w, 1, 150, 2);
	for (i = 0; i < 2; i++)
		w.movable[i] = false;
	world_step(&w, 100 * MSEC);
	world_step(&w, 200 * MSEC);
	for (i = 0; i < 3; i++) {
		w.cpus[i].base.age_ms = 1000000;
		w.cpus[i].base.swing_ms = 1000000;
		w.cpus[i].base.dev = i == 0 ? here / 3 : i == 1 ? there / 3 : 0;
	}
	for (i = 0; i < 2; i++) {
		w.movable[i] = true;
		w.state[i].load.age_ms = 1000000;
		w.state[i].load.swing_ms = 1000000;
		w.state[i].load.dev = (i ? other : one) / 3;
	}
	moves = world_pass(&w);
	finish(&w);
	return moves;
}

static void test_gives_way_for_sure(void)
{
	/*
	 * CPU 0 has 600 before, of which 37.5 have to be gained. CPU 1 ends with 520, which leaves
	 * 42.5 for both bases, and the one is on both CPUs; CPU 2 ends with 510, which leaves 52.5.
	 */
	EXPECT_EQ(gives_way_off_by(52 * MSEC, 0, 0, 0), 2);
	EXPECT_EQ(gives_way_off_by(53 * MSEC, 0, 0, 0), 0);
	EXPECT_EQ(gives_way_off_by(0, 52 * MSEC, 0, 0), 2);
	EXPECT_EQ(gives_way_off_by(0, 53 * MSEC, 0, 0), 0);
	EXPECT_EQ(gives_way_off_by(0, 0, 42 * MSEC, 0), 2);
	EXPECT_EQ(gives_way_off_by(0, 0, 43 * MSEC, 0), 0);
	EXPECT_EQ(gives_way_off_by(0, 0, 0, 42 * MSEC), 2);
	EXPECT_EQ(gives_way_off_by(0, 0, 0, 43 * MSEC), 0);
	report("by what one that gives way may be off counts as well");
}

/* 200 of 500 go to a CPU of half the capacity: they are 400 there, and off by twice as much */
static unsigned int slower_off_by(u64 error, u32 age_ms)
{
	unsigned int moves;
	struct world w;

	apart(&w, 2);
	w.cpus[1].capacity = 512;
	w.base[0] = 300 * MSEC;
	add(&w, 0, 200, 1);
	w.movable[0] = false;
	world_step(&w, 100 * MSEC);
	world_step(&w, 200 * MSEC);
	w.cpus[0].base.age_ms = 1000000;
	w.movable[0] = true;
	w.state[0].load.age_ms = age_ms;
	w.state[0].load.swing_ms = 1000000;
	w.state[0].load.dev = error / 3;
	moves = world_pass(&w);
	finish(&w);
	return moves;
}

static void test_slower_for_sure(void)
{
	/* 100 are gained, 25 have to be. A new load counts on both, there twice */
	EXPECT_EQ(slower_off_by(74 * MSEC, 5000), 1);
	EXPECT_EQ(slower_off_by(76 * MSEC, 5000), 0);
	EXPECT_EQ(slower_off_by(33 * MSEC, 4999), 1);
	EXPECT_EQ(slower_off_by(34 * MSEC, 4999), 0);
	report("what moves is off by more on a slower CPU, and while it is new");
}

/*
 * One leaves CPU 2, where another one stays that may be off by half of its load, if one has left
 * CPU 0 for sure
 */
static void test_proven(void)
{
	unsigned int sure, i;
	struct world w;

	for (sure = 0; sure < 2; sure++) {
		apart(&w, 5);
		world_irq(&w, 4, 300 * MSEC);
		w.base[3] = 100 * MSEC;
		add(&w, 0, 200 + 100 * sure, 1);
		add(&w, 0, 100 + 200 * sure, 0);
		add(&w, 2, 200, 3);
		add(&w, 2, 180, 2);
		for (i = 0; i < w.nr_irqs; i++)
			w.movable[i] = false;
		world_step(&w, 100 * MSEC);
		world_step(&w, 200 * MSEC);
		for (i = 0; i < w.nr_irqs; i++) {
			w.movable[i] = true;
			w.state[i].load.age_ms = 1000000;
			w.state[i].load.swing_ms = 1000000;
			w.state[i].load.dev = i > 2 ? w.load[i] / 3 : 0;
		}
		EXPECT_EQ(world_pass(&w), 1 + sure);
		EXPECT_EQ(w.irqs[1].cpu, 1);
		EXPECT_EQ(w.state[3].why, sure ? IRQ_BALANCE_WHY_IMBALANCE : IRQ_BALANCE_WHY_NOISE);
		finish(&w);
	}
	report("once one gains for sure others may move that gain as likely as not");
}

void test_search(void)
{
	test_give_way();
	test_which_give_way();
	test_heavier_gives_way();
	test_fewest();
	test_several();
	test_best_step();
	test_after_done();
	test_proven();
	test_gives_way_for_sure();
	test_slower_for_sure();
}
