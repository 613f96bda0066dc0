// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the planner: the few moves together that bring a CPU down to enough.
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

/* The last CPU has 500 ms/s in one interrupt that stays: 525 are enough */
static void start(struct world *w, unsigned int nr_cpus)
{
	apart(w, nr_cpus + 1);
	world_irq(w, nr_cpus, 500 * MSEC);
	only(w, 0, nr_cpus, nr_cpus);
}

/* An interrupt of so many ms/s that may go to one other CPU */
static void add(struct world *w, unsigned int cpu, unsigned int ms, unsigned int to)
{
	only(w, world_irq(w, cpu, ms * MSEC), cpu, to);
}

/* Each may go to the next CPU, which has too much with it until another one has left */
static void test_give_way(void)
{
	unsigned int length, i;
	struct world w;

	for (length = 1; length <= 4; length++) {
		start(&w, length + 1);
		w.base[0] = 400 * MSEC;
		for (i = 0; i < length; i++) {
			add(&w, i, 200 + 60 * i, i + 1);
			w.base[i + 1] = (325 - 60 * i) * MSEC;
		}
		EXPECT_EQ(ask(&w), length < 4 ? length : 0);
		EXPECT_EQ(world_worst(&w), (length < 4 ? 525 : 600) * MSEC);
		finish(&w);
	}
	report("up to two give way to one that has to go, also on CPUs that have too much");
}

/*
 * @nr small ones have to leave CPU 0, each for a CPU where it just fits. So many others may do
 * instead: one goes, and on its CPU and the next ones @chain - 1 give way.
 */
static unsigned int either(unsigned int nr, unsigned int chain)
{
	unsigned int i, moves;
	struct world w;

	start(&w, 20);
	for (i = 0; i < nr; i++) {
		add(&w, 0, 30, 12 + i);
		w.base[12 + i] = 495 * MSEC;
	}
	w.base[0] = (chain ? 325 : 525) * MSEC;
	for (i = 0; i < chain; i++) {
		add(&w, i, 200, i + 1);
		w.base[i + 1] = 325 * MSEC;
	}
	moves = ask(&w);
	EXPECT_EQ(world_worst(&w), 525 * MSEC);
	/* Which they were */
	EXPECT(!chain || moves == (w.irqs[1].cpu ? nr : chain));
	finish(&w);
	return moves;
}

static void test_either(void)
{
	unsigned int nr, chain;

	for (nr = 1; nr <= 5; nr++)
		EXPECT_EQ(either(nr, 0), nr);
	for (nr = 2; nr <= 5; nr++) {
		for (chain = 1; chain <= 3; chain++)
			EXPECT_EQ(either(nr, chain), min(nr, chain));
	}
	report("several go, or others give way to one, whichever takes fewer moves");
}

/* The same with six, or with one that goes to CPU 1, from where @nr then leave */
static unsigned int six_or(unsigned int nr)
{
	unsigned int i, moves;
	struct world w;

	start(&w, 4);
	w.base[0] = 325 * MSEC;
	add(&w, 0, 200, 1);
	w.base[1] = 325 * MSEC;
	w.base[2] = 345 * MSEC;
	w.base[3] = 325 * MSEC;
	for (i = 0; i < 6; i++)
		add(&w, 0, 30, 2);
	for (i = 0; i < nr; i++)
		add(&w, 1, 200 / nr, 3);
	moves = ask(&w);
	EXPECT_EQ(world_worst(&w), 525 * MSEC);
	EXPECT_EQ(w.irqs[1].cpu, nr < 5);
	finish(&w);
	return moves;
}

/* One may go to CPU 1 only, from where so many have to leave, each for another CPU */
static void test_many_leave(void)
{
	unsigned int nr, i;
	struct world w;

	for (nr = 2; nr <= 14; nr++) {
		start(&w, 34);
		w.base[0] = 525 * MSEC;
		add(&w, 0, 20 * nr, 1);
		w.base[1] = (525 - 20 * nr) * MSEC;
		for (i = 0; i < nr; i++) {
			add(&w, 1, 20, 2 + i);
			w.base[2 + i] = 505 * MSEC;
		}
		EXPECT_EQ(ask(&w), nr + 1);
		EXPECT_EQ(world_worst(&w), 525 * MSEC);
		finish(&w);
	}
	EXPECT_EQ(six_or(4), 5);
	EXPECT_EQ(six_or(5), 6);
	report("one goes to a CPU from which up to fourteen then leave");
}

/* 52 or 53 ms/s are to go. The heaviest is not enough: which one goes besides? */
static void test_lightest(void)
{
	static const unsigned int loads[] = { 32, 30, 25, 20 };
	unsigned int extra, i;
	struct world w;

	for (extra = 0; extra < 2; extra++) {
		start(&w, 3);
		w.base[0] = (470 + extra) * MSEC;
		w.base[1] = 493 * MSEC;
		for (i = 0; i < 4; i++)
			add(&w, 0, loads[i], i ? 2 : 1);
		EXPECT_EQ(ask(&w), 2);
		EXPECT_EQ(w.irqs[1].cpu, 1);
		EXPECT_EQ(w.irqs[extra ? 3 : 4].cpu, 2);
		finish(&w);
	}
	report("of those that suffice the lightest goes");
}

/* If nothing brings it down to enough, the one that leaves the least of both CPUs goes */
static void test_best_step(void)
{
	struct world w;

	/* 600 - 150 and 350 + 150, 600 - 140 and 370 + 140: enough would be 480 */
	apart(&w, 3);
	w.base[0] = 310 * MSEC;
	w.base[1] = 350 * MSEC;
	w.base[2] = 370 * MSEC;
	add(&w, 0, 150, 1);
	add(&w, 0, 140, 2);
	EXPECT_EQ(ask(&w), 1);
	EXPECT_EQ(w.irqs[0].cpu, 1);
	finish(&w);
	report("if enough cannot be had the move after which both CPUs have least is made");
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
	/* 600, of which 200 could go to CPU 1 if another 200 left that for CPU 2 */
	for (i = 0; i < 2; i++) {
		apart(&w, 4);
		world_irq(&w, 3, (i ? 950 : 400) * MSEC);
		w.base[0] = 400 * MSEC;
		w.base[1] = 220 * MSEC;
		w.base[2] = 150 * MSEC;
		add(&w, 0, 200, 1);
		add(&w, 1, 200, 2);
		EXPECT_EQ(ask(&w), i ? 0 : 2);
		finish(&w);
	}
	report("once a CPU is done with another one has to gain a quarter, or to be nearly full");
}

/* CPU 0 has 650. 525 are enough, 617.5 a gain, 571.25 half of that. */
static void test_half(void)
{
	struct world w;

	start(&w, 6);
	w.base[0] = 430 * MSEC;
	/* Three moves to 570, or one to 580 */
	add(&w, 0, 120, 1);
	add(&w, 0, 100, 4);
	w.base[1] = 320 * MSEC;
	add(&w, 1, 130, 2);
	w.base[2] = 310 * MSEC;
	add(&w, 2, 130, 3);
	w.base[3] = 440 * MSEC;
	w.base[4] = 480 * MSEC;
	ask(&w);
	EXPECT_EQ(world_worst(&w), 570 * MSEC);
	finish(&w);
	report("if enough cannot be had half of the gain is tried before less");
}

/* The limit called "enough" at the head of place.c */
static u64 model_enough(const struct world *w)
{
	u64 total = 0, capacity = 0, low = ~0ULL, bound, shared;
	unsigned int i, k, m = 0;

	for (i = 0; i < w->nr_cpus; i++) {
		total += world_load(w, i) * w->cpus[i].capacity;
		if (!w->cpus[i].usable)
			total -= w->base[i] * w->cpus[i].capacity;
		capacity += w->cpus[i].usable ? w->cpus[i].capacity : 0;
		m += w->cpus[i].usable;
		low = min(low, w->base[i]);
	}
	bound = total / capacity;
	/* Interrupts are in falling order: the k + 1 lightest of the k * m + 1 heaviest */
	for (k = 0; k * m < w->nr_irqs; k++) {
		for (i = k * m - k, shared = low; i <= k * m; i++)
			shared += w->load[i];
		bound = max(bound, shared);
	}
	return bound + max(bound / 1000 * 50, 10 * MSEC);
}

static void test_enough_model(void)
{
	unsigned int seed, i, n, nr, kind, checked = 0;
	u64 enough, model;
	struct world w;

	for (seed = 1; seed <= 1500 && !failure; seed++) {
		rng = seed * 2654435761ULL + 88172645463325252ULL;
		for (i = 0; i < 8; i++)
			rnd(2);
		n = 2 + rnd(5);
		kind = rnd(8);
		apart(&w, n);
		for (i = 0; i < n; i++) {
			w.base[i] = (50 + (i == 1 ? 60 : kind & 1 ? rnd(4) * 20 : 0)) * MSEC;
			/* The first one is the fastest */
			w.cpus[i].capacity = i && kind & 2 ? 900 + rnd(124) : 1024;
		}
		for (i = 0, nr = n * (1 + rnd(3)) + rnd(3); i < nr; i++)
			world_irq(&w, i % n, i ? w.load[i - 1] - rnd(9) * MSEC : 220 * MSEC);
		/* One that is not usable, which keeps what may not be moved */
		if (kind & 4 && n > 2) {
			w.cpus[n - 1].usable = false;
			for (i = 0; i < w.nr_irqs; i++)
				w.irqs[i].cpu %= n - 1;
			w.base[n - 1] = 100 * MSEC;
		}
		model = model_enough(&w);
		/* As long as no CPU is done with, which also ends what is known of the heaviest */
		if (world_worst(&w) <= model && world_load(&w, 0) < world_worst(&w)) {
			checked++;
			ask(&w);
			enough = w.bal.work->enough;
			/* Loads are rounded on CPUs that differ */
			EXPECT(max(enough, model) - min(enough, model) <= (kind & 2 ? 1000 : 0));
		}
		finish(&w);
	}
	EXPECT(checked > 100);
	report("what is enough is that of a model");
}

/*
 * One leaves CPU 0, which gains 75, where another one gives way, whose load may be off by so much:
 * on its new CPU that counts in full.
 */
static unsigned int gives_way_off_by(u64 error)
{
	unsigned int i, moves;
	struct world w;

	start(&w, 3);
	w.base[0] = 400 * MSEC;
	w.base[1] = 325 * MSEC;
	w.base[2] = 325 * MSEC;
	add(&w, 0, 200, 1);
	add(&w, 1, 200, 2);
	for (i = 0; i < 3; i++)
		w.movable[i] = false;
	world_step(&w, 100 * MSEC);
	world_step(&w, 200 * MSEC);
	for (i = 0; i < 3; i++) {
		w.movable[i] = true;
		w.state[i].load.age_ms = 1000000;
		w.state[i].load.dev = i == 2 ? error / 3 : 0;
		w.cpus[i].base.age_ms = 1000000;
	}
	moves = world_pass(&w);
	finish(&w);
	return moves;
}

static void test_gives_way_for_sure(void)
{
	/* 75 are gained, and 30 have to be */
	EXPECT_EQ(gives_way_off_by(44 * MSEC), 2);
	EXPECT_EQ(gives_way_off_by(46 * MSEC), 0);
	report("by what one that gives way may be off counts as well");
}

/* Once a giant is done with, what the others have is divided among their CPUs */
static void test_enough_of_rest(void)
{
	unsigned int full;
	struct world w;

	for (full = 0; full < 2; full++) {
		apart(&w, 4);
		world_irq(&w, 3, 900 * MSEC);
		w.base[0] = 210 * MSEC;
		w.base[1] = 180 * MSEC;
		w.base[2] = 290 * MSEC;
		w.base[3] = 50 * MSEC;
		world_irq(&w, 0, 90 * MSEC);
		world_irq(&w, 1, 100 * MSEC);
		w.cpus[3].full_until = full ? ~0ULL : 0;
		EXPECT_EQ(ask(&w), 0);
		EXPECT_EQ(w.bal.work->dones, 1);
		EXPECT_EQ(w.bal.work->enough, 304500000);
		finish(&w);
	}
	/* A CPU that is left at the end of a pass is not done with: 512.5 are the mean */
	apart(&w, 10);
	for (full = 0; full < 75; full++)
		add(&w, full / 15, 20, 5 + full / 15);
	for (full = 0; full < 10; full++)
		w.base[full] = (full < 5 ? 525 : 200) * MSEC;
	EXPECT_EQ(ask(&w), 64);
	EXPECT_EQ(w.bal.work->enough, 538125000);
	finish(&w);
	report("what the CPUs that are done with have does not count for the others");
}

/*
 * CPU 0 has 620 ms/s. Two moves bring it down to enough, and one to @left. Nothing helps CPU 4,
 * which has @stuck: as that is more than enough other plans are tried, up to an enough of 562.5.
 */
static unsigned int tries(unsigned int stuck, unsigned int left)
{
	unsigned int moves;
	struct world w;

	start(&w, 5);
	w.base[0] = (left - 100) * MSEC;
	add(&w, 0, 620 - left, 1);
	add(&w, 0, 50, 2);
	add(&w, 0, 50, 3);
	w.base[4] = (stuck - 100) * MSEC;
	add(&w, 4, 100, 4);
	moves = ask(&w);
	EXPECT_EQ(world_load(&w, 0), (moves == 1 ? left : left - 50) * MSEC);
	if (stuck == 540 && moves == 1)
		EXPECT_EQ(w.bal.work->enough, 550 * MSEC);
	finish(&w);
	return moves;
}

static void test_tries(void)
{
	/* 540 and a third of what has to be gained, 5 % of it, are 549 */
	EXPECT_EQ(tries(540, 548), 1);
	EXPECT_EQ(tries(540, 550), 2);
	/* Also if there is a plan that is good enough */
	EXPECT_EQ(tries(520, 524), 1);
	EXPECT_EQ(tries(520, 526), 1);
	/* 575 would be the next */
	EXPECT_EQ(tries(565, 570), 2);
	report("of plans that are nearly as good the one with fewest moves counts");
}

/* One that may be off by all of its load leaves CPU 2, if another one leaves CPU 0 for sure */
static void test_proven(void)
{
	unsigned int sure, i;
	struct world w;

	for (sure = 0; sure < 2; sure++) {
		apart(&w, 5);
		world_irq(&w, 4, 300 * MSEC);
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
			w.state[i].load.dev = i > 2 ? w.load[i] / 3 : 0;
		}
		EXPECT_EQ(world_pass(&w), 2 * sure);
		EXPECT_EQ(w.state[3].why, sure ? IRQ_BALANCE_WHY_IMBALANCE : IRQ_BALANCE_WHY_NOISE);
		finish(&w);
	}
	report("once one gains for sure others may move that gain as likely as not");
}

/*
 * 49 moves, then two that are worth it only together. After 50 these have to wait, until so much
 * more is enough that fewer do.
 */
static void test_room_for_plan(void)
{
	static const unsigned int many[] = { 15, 15, 15, 4 };
	unsigned int more, c, i;
	struct world w;

	for (more = 0; more < 2; more++) {
		start(&w, 11);
		for (c = 0; c < 4; c++) {
			w.base[c] = 525 * MSEC;
			w.base[4 + c] = 200 * MSEC;
			for (i = 0; i < many[c] + (c == 3 && more); i++)
				add(&w, c, 20, 4 + c);
		}
		w.base[8] = 360 * MSEC;
		w.base[9] = 320 * MSEC;
		add(&w, 8, 200, 9);
		add(&w, 9, 210, 10);
		EXPECT_EQ(ask(&w), more ? 48 : 51);
		finish(&w);
	}
	report("several moves together begin only while a pass has room for all");
}

void test_search(void)
{
	test_give_way();
	test_either();
	test_many_leave();
	test_lightest();
	test_best_step();
	test_after_done();
	test_half();
	test_enough_model();
	test_proven();
	test_enough_of_rest();
	test_gives_way_for_sure();
	test_tries();
	test_room_for_plan();
}
