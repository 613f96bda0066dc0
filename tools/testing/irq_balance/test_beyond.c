// SPDX-License-Identifier: GPL-2.0
/*
 * Properties of the planner on many generated machines, and over time: what a user would move is
 * moved, and nothing else.
 */
#include "test.h"

static void seed_rng(u64 seed)
{
	unsigned int i;

	rng = seed * 2654435761ULL + 88172645463325252ULL;
	for (i = 0; i < 8; i++)
		rnd(2);
}

/* CPUs of one package, which share nothing else */
static void one_package(struct world *w, unsigned int nr_cpus)
{
	unsigned int i;

	world_init(w, nr_cpus);
	for (i = 0; i < nr_cpus; i++) {
		w->cpus[i].package = 0;
		w->cpus[i].llc = 0;
	}
}

/* Runs with loads that change on the way: what was promised is of those before */
static void run(struct world *w, unsigned int ms)
{
	w->wrong = NULL;
	world_run(w, ms);
	w->wrong = NULL;
}

/* At most @most per cent of @of: fails, and says how many */
static void at_most(unsigned int bad, unsigned int of, unsigned int most, const char *what)
{
	if (bad * 100 <= max(of, 100U) * most || failure)
		return;
	snprintf(text, sizeof(text), "%s: %u of %u", what, bad, of);
	failure = text;
}

enum { PLAIN, PARETO, CAPACITIES, PINNED, HIGH_BASE, MASKS, NR_KINDS };
static const char * const kinds[] = {
	"plain", "Pareto", "capacities", "pinned", "high base", "masks",
};

static void constant_world(struct world *w, unsigned int kind)
{
	unsigned int n = 2 + rnd(15), nr = 1 + rnd(n * 3), i, c;

	one_package(w, n);
	for (c = 0; c < n; c++) {
		if (kind == CAPACITIES)
			w->cpus[c].capacity = rnd(2) ? 1024 : 256 + rnd(700);
		if (kind == HIGH_BASE)
			w->base[c] = rnd(700) * MSEC;
	}
	for (i = 0; i < nr; i++) {
		u64 load = kind != PARETO ? (22 + rnd(420)) * MSEC :
			   min(24 * MSEC * 1000 / (1 + rnd(1000)), 900 * MSEC);

		world_irq(w, rnd(3) ? 0 : rnd(n), load);
		if (kind == PINNED && !rnd(3)) {
			w->movable[i] = false;
			w->irqs[i].cpu = rnd(n);
			w->load[i] = (100 + rnd(800)) * MSEC;
		}
		for (c = 0; c < n && kind == MASKS; c++) {
			if (rnd(2) && c != w->irqs[i].cpu)
				__clear_bit(c, w->mask[i]);
		}
	}
}

/* Whether one move takes a quarter off a CPU with 12 % or more */
static bool has_quarter(const struct world *w)
{
	unsigned int i, a, b;
	u64 load, left, end;

	for (i = 0; i < w->nr_irqs; i++) {
		a = w->irqs[i].cpu;
		load = world_load(w, a);
		if (!w->movable[i] || w->load[i] < 20 * MSEC || load < 120 * MSEC)
			continue;
		left = load - w->load[i] * 1024 / w->cpus[a].capacity;
		for (b = 0; b < w->nr_cpus; b++) {
			end = world_load(w, b) + w->load[i] * 1024 / w->cpus[b].capacity;
			/* Little load wakes no faster CPU */
			if (b != a && world_may(w, i, b) && max(left, end) < load * 3 / 4 - MSEC &&
			    (load >= 250 * MSEC ||
			     w->cpus[b].capacity <= w->cpus[a].capacity * 9 / 8))
				return true;
		}
	}
	return false;
}

static void test_quarter(unsigned int seeds)
{
	unsigned int kind, seed, bad;
	struct world w;

	for (kind = 0; kind < NR_KINDS; kind++) {
		for (seed = 1, bad = 0; seed <= seeds; seed++) {
			seed_rng(1000 * kind + seed);
			constant_world(&w, kind);
			world_pass(&w);
			world_run(&w, 60000);
			bad += has_quarter(&w);
			finish(&w);
		}
		at_most(bad, seeds, 1, kinds[kind]);
	}
	report("constant loads: no move is left that takes a quarter off a busy CPU");
}

/*
 * The moves of a machine whose last CPU has so much that stays: base load, or an interrupt. Others
 * may not go there, or would not.
 */
static u64 beside_fixed(u64 seed, unsigned int fixed)
{
	struct world w;
	unsigned int i, n;
	u64 hash;

	seed_rng(seed);
	n = 3 + rnd(10);
	one_package(&w, n);
	/* And is no company for others */
	w.cpus[n - 1].package = n - 1;
	w.cpus[n - 1].llc = w.cpus[n - 1].package;
	for (i = 2 + rnd(2 * n); i; i--) {
		world_irq(&w, rnd(2) ? 0 : rnd(n - 1), (25 + rnd(180)) * MSEC);
		if (seed % 4 > 1)
			__clear_bit(n - 1, w.mask[w.nr_irqs - 1]);
	}
	if (seed % 2)
		w.base[n - 1] = fixed * MSEC;
	else
		w.movable[world_irq(&w, n - 1, fixed * MSEC)] = false;
	world_pass(&w);
	world_run(&w, 20000);
	/* As many moves of the same interrupts to the same CPUs */
	hash = w.hash;
	finish(&w);
	return hash;
}

static void test_beside_fixed(unsigned int seeds)
{
	unsigned int seed, moved = 0;
	u64 hash;

	for (seed = 1; seed <= seeds && !failure; seed++) {
		hash = beside_fixed(seed, seed % 4 > 1 ? 40 : 560);
		EXPECT_EQ(beside_fixed(seed, 710), hash);
		EXPECT_EQ(beside_fixed(seed, 940), hash);
		moved += hash > 0;
	}
	EXPECT(moved > seeds / 2);
	report("what is fixed on a CPU of its own changes nothing for others");
}

/* Loads that are on for half of each period, all on one CPU of four */
static void test_on_off(unsigned int seeds)
{
	unsigned int seed, i, t, period, step, used, bad = 0, phase[4];
	u64 load[4];
	struct world w;

	for (seed = 1; seed <= seeds; seed++) {
		seed_rng(seed);
		/* From 0.1 to 60 s, as many of 0.1 to 1 as of 1 to 10 s */
		period = 100 + rnd(900);
		period *= seed % 3 == 1 ? 1 : seed % 3 == 2 ? 10 : 60;
		period = min(period, 60000U);
		one_package(&w, 4);
		for (i = 0; i < 4; i++) {
			load[i] = (170 + rnd(180)) * MSEC;
			phase[i] = rnd(period);
			world_irq(&w, 0, 0);
		}
		world_pass(&w);
		step = max(period / 20 / 10 * 10, 10U);
		for (t = 0; t < 60000; t += step) {
			for (i = 0; i < 4; i++)
				w.load[i] = (t + phase[i]) % period < period / 2 ? load[i] : 0;
			run(&w, step);
		}
		for (i = 0, used = 0; i < 4; i++)
			used |= 1 << w.irqs[i].cpu;
		bad += !(used & (used - 1)) || __builtin_popcount(used) < 3;
		finish(&w);
	}
	at_most(bad, seeds, 1, "fewer than three CPUs");
	report("on/off loads of any period use three CPUs of four within a minute");
}

/*
 * One that swings takes more for good, so that one beside it should leave: as much as it did at
 * times, if it swings fast, or twice that
 */
static void test_out_of_swing(unsigned int seeds)
{
	unsigned int seed, t, half, low, high, late = 0;
	struct world w;

	for (seed = 1; seed <= seeds; seed++) {
		seed_rng(seed);
		half = seed % 2 ? 50 + rnd(150) : 500 + rnd(4000);
		low = rnd(50);
		high = (seed % 2 ? 700 : 340) + rnd(100);
		world_init(&w, 2);
		world_irq(&w, 0, 0);
		world_irq(&w, 0, 160 * MSEC);
		world_irq(&w, 1, 420 * MSEC);
		w.movable[0] = false;
		w.movable[1] = false;
		world_pass(&w);
		for (t = 0; t < 120000; t += half) {
			w.load[0] = (t / half % 2 ? high : low) * MSEC;
			run(&w, half);
		}
		w.movable[1] = true;
		w.load[0] = high * (seed % 2 ? 1 : 2) * MSEC;
		run(&w, 2000);
		late += !w.irqs[1].cpu;
		finish(&w);
	}
	at_most(late, seeds, 1, "late");
	report("a step out of a swing is followed within two seconds");
}

/* Moves of one that other load of such a size follows after a minute, in six */
static unsigned int followed_by(u64 load)
{
	unsigned int round, moves;
	struct world w;

	world_init(&w, 2);
	world_irq(&w, 0, 300 * MSEC);
	for (round = 0; round < 6; round++) {
		w.base[w.irqs[0].cpu] = load;
		w.base[!w.irqs[0].cpu] = 0;
		world_run(&w, 60000);
	}
	moves = w.moves;
	finish(&w);
	return moves;
}

static void test_rest_full(void)
{
	EXPECT_EQ(followed_by(470 * MSEC), 3);
	EXPECT_EQ(followed_by(600 * MSEC), 6);
	report("on a CPU that is nearly full the rest is over once the move is judged");
}

enum { BASE, MANAGED, LIGHT };

/* An interrupt that something follows, @delay ms later: its moves in an hour */
static unsigned int followed(unsigned int what, unsigned int own, unsigned int follows,
			     unsigned int delay, unsigned int nr_cpus)
{
	unsigned int t, i, cpu, moves = 0, past[32] = { 0 };
	struct world w;

	one_package(&w, nr_cpus);
	world_irq(&w, 0, own * MSEC);
	world_irq(&w, 0, own * 7 / 10 * MSEC);
	for (i = 0; i < 20 && what != BASE; i++) {
		world_irq(&w, 0, follows * MSEC / (what == LIGHT ? 20 : 1));
		w.movable[2 + i] = false;
		if (what == MANAGED)
			break;
	}
	world_pass(&w);
	for (t = 0; t < 36000; t++) {
		past[t % 32] = w.irqs[0].cpu;
		cpu = past[(t + 32 - delay / 100) % 32];
		cpu = t < delay / 100 ? 0 : cpu;
		for (i = 0; i < nr_cpus; i++)
			w.base[i] = what == BASE && i == cpu ? follows * MSEC : 0;
		for (i = 2; i < w.nr_irqs; i++)
			w.irqs[i].cpu = cpu;
		run(&w, 100);
		moves += w.irqs[0].cpu != past[t % 32];
	}
	finish(&w);
	return moves;
}

static void test_followed(unsigned int seeds)
{
	unsigned int seed, what, own, follows, delay, moves, nr;
	bool full;

	for (seed = 1; seed <= min(seeds, 60U) && !failure; seed++) {
		seed_rng(seed);
		what = seed % 3;
		full = seed / 3 % 4 == 3;
		own = full ? 520 + rnd(400) : 70 + rnd(350);
		follows = full ? 450 + rnd(400) : 50 + rnd(350);
		follows = what == LIGHT ? min(follows, 390U) : follows;
		delay = rnd(2) ? 0 : 100 * rnd(31);
		nr = 2 + rnd(3);
		moves = followed(what, own, follows, delay, nr);
		if (moves <= (own + follows >= 800 ? 6 : 4))
			continue;
		snprintf(text, sizeof(text), "kind %u, %u with %u after %u ms, %u CPUs: %u moves",
			 what, own, follows, delay, nr, moves);
		failure = text;
	}
	report("what follows costs a few moves an hour, whatever it is");
}

/* Two packages of two nodes each: devices of one node, which overflows */
static void test_sockets(unsigned int seeds)
{
	unsigned int seed, i, c, each, early = 0, away = 0, crossed = 0, home[WORLD_IRQS];
	struct world w;

	for (seed = 1; seed <= seeds; seed++) {
		seed_rng(seed);
		each = 2 + rnd(3);
		world_init(&w, 4 * each);
		for (c = 0; c < w.nr_cpus; c++) {
			w.cpus[c].node = c / each;
			w.cpus[c].package = c / each / 2;
			w.cpus[c].llc = w.cpus[c].package;
		}
		for (i = each + rnd(3 * each); i; i--)
			w.irqs[world_irq(&w, rnd(each), (200 + rnd(400)) * MSEC)].node = 0;
		world_pass(&w);
		while (w.now < 20000 * MSEC && !w.wrong) {
			for (i = 0; i < w.nr_irqs; i++)
				home[i] = w.irqs[i].cpu;
			world_run(&w, 50);
			for (i = 0; i < w.nr_irqs; i++) {
				if (w.irqs[i].cpu < 2 * each || home[i] >= 2 * each)
					continue;
				crossed++;
				for (c = 0; c < 2 * each; c++)
					early += world_load(&w, c) + w.load[i] < 795 * MSEC;
			}
		}
		/* Up to 70 % they come back */
		for (i = 0; i < w.nr_irqs; i++) {
			for (c = 0; c < 2 * each && w.irqs[i].cpu >= 2 * each; c++)
				away += world_load(&w, c) + w.load[i] <= 700 * MSEC;
		}
		finish(&w);
	}
	EXPECT(crossed >= seeds / 8);
	EXPECT_EQ(away, 0);
	/* A CPU may have room when the pass is done that it had not on the way */
	EXPECT(early * 20 <= crossed + 20);
	report("no socket is crossed while a CPU of the package ends below 80 %");
}

/* Four heavy interrupts on the cores of one package, while the other one is idle */
static void test_two_and_two(void)
{
	unsigned int cores, smt, load, i, other;
	struct world w;

	for (cores = 2; cores <= 8; cores *= 2) {
		for (smt = 1; smt <= 2; smt++) {
			for (load = 130; load <= 310; load += 90) {
				world_init(&w, 2 * cores * smt);
				for (i = 0; i < w.nr_cpus; i++) {
					w.cpus[i].core = i / smt;
					w.cpus[i].package = i / smt / cores;
					w.cpus[i].llc = w.cpus[i].package;
				}
				for (i = 0; i < 4; i++)
					world_irq(&w, i % cores * smt, (load + i) * MSEC);
				settle(&w);
				world_run(&w, 60000);
				for (i = 0, other = 0; i < 4; i++)
					other += w.cpus[w.irqs[i].cpu].package;
				EXPECT_EQ(other, 2);
				EXPECT(world_worst(&w) <= (load + 3) * MSEC);
				finish(&w);
			}
		}
	}
	report("four on one package of two become two and two");
}

/* Two share a CPU, an idle one is there: one move, that of the lighter one */
static void test_lighter(unsigned int seeds)
{
	unsigned int seed, lighter, n;
	struct world w;

	for (seed = 1; seed <= seeds; seed++) {
		seed_rng(seed);
		n = 2 + rnd(7);
		one_package(&w, n);
		lighter = rnd(2);
		world_irq(&w, 0, (300 - 90 * !lighter + rnd(80)) * MSEC);
		world_irq(&w, 0, (300 - 90 * lighter + rnd(80)) * MSEC);
		settle(&w);
		EXPECT_EQ(w.moves, 1);
		EXPECT(w.irqs[lighter].cpu && !w.irqs[!lighter].cpu);
		finish(&w);
	}
	report("of two that share a CPU beside an idle one the lighter leaves");
}

/* A giant, and a crowd that has 0 to 5 % more, or less */
static void test_giant(unsigned int seeds)
{
	unsigned int seed, i, nr, giant, crowd;
	struct world w;

	for (seed = 1; seed <= seeds; seed++) {
		seed_rng(seed);
		giant = 500 + rnd(450);
		crowd = giant * (960 + rnd(91)) / 1000;
		nr = 2 + rnd(5);
		one_package(&w, 4 + rnd(4));
		world_irq(&w, 1, giant * MSEC);
		for (i = 0; i < nr; i++)
			world_irq(&w, 0, crowd * MSEC / nr);
		world_pass(&w);
		world_run(&w, 5000);
		EXPECT_EQ(w.irqs[0].cpu, 1);
		/* With two it is half of it; with more a quarter less */
		EXPECT(world_load(&w, 0) * 4 <= crowd * 3 * MSEC);
		/* Nor does it cost them anything when it grows */
		i = w.moves;
		w.load[0] += w.load[0] / 100;
		run(&w, 20000);
		EXPECT_EQ(w.moves, i);
		finish(&w);
	}
	report("a giant hides no crowd");
}

/* Passes and moves of a minute of loads that jitter, with a proposal */
static unsigned int jitter(unsigned int seed, bool observe)
{
	unsigned int i, t, passes;
	u64 mean[12];
	struct world w;

	seed_rng(seed);
	one_package(&w, 4);
	for (i = 0; i < 12; i++) {
		mean[i] = (30 + rnd(100)) * MSEC;
		world_irq(&w, rnd(3), mean[i]);
		w.deaf[i] = observe;
	}
	w.bal.observe = observe;
	world_pass(&w);
	for (t = 0; t < 600; t++) {
		for (i = 0; i < 12; i++)
			w.load[i] = mean[i] * (900 + rnd(201)) / 1000;
		run(&w, 100);
	}
	passes = w.passes;
	finish(&w);
	return passes;
}

static void test_observer(unsigned int seeds)
{
	unsigned int seed, on = 0, observe = 0;

	for (seed = 1; seed <= seeds; seed++) {
		on += jitter(seed, false);
		observe += jitter(seed, true);
	}
	EXPECT(observe <= on);
	/* Each 300 ms there is one */
	EXPECT(on <= seeds * 230);
	report("observe makes no more passes than on");
}

/* 24 on 8 CPUs */
static void crowd(struct world *w, u64 *mean, unsigned int seed)
{
	unsigned int i;

	seed_rng(seed);
	one_package(w, 8);
	for (i = 0; i < 24; i++) {
		mean[i] = (50 + rnd(220)) * MSEC;
		world_irq(w, rnd(8), mean[i]);
	}
	world_pass(w);
}

static void test_loud(unsigned int seeds)
{
	unsigned int seed, i, t, moves = 0, late = 0;
	u64 mean[24];
	struct world w;

	for (seed = 1; seed <= seeds; seed++) {
		crowd(&w, mean, seed);
		for (t = 0; t < 120; t++) {
			for (i = 0; i < 24; i++)
				w.load[i] = mean[i] * (600 + rnd(801)) / 1000;
			run(&w, 1000);
			if (t == 59)
				late -= w.moves;
		}
		moves += w.moves;
		late += w.moves;
		finish(&w);
	}
	EXPECT(moves <= 20 * seeds);
	/* Few machines make a move in the second minute */
	EXPECT(late <= seeds);
	report("noise of 40 % is calm after a few moves");
}

/* One of 24 doubles; one may not stay where it is; a CPU goes */
static void test_one_changes(unsigned int seeds)
{
	unsigned int seed, what, i, cpu, least, moves[3] = { 0 };
	u64 mean[24];
	struct world w;

	for (seed = 1; seed <= seeds; seed++) {
		for (what = 0; what < 3; what++) {
			crowd(&w, mean, seed);
			world_run(&w, 60000);
			i = rnd(24);
			cpu = w.irqs[i].cpu;
			least = w.moves;
			if (what == 0) {
				w.load[i] *= 2;
			} else if (what == 1) {
				__clear_bit(cpu, w.mask[i]);
				w.irqs[i].changed = true;
				least++;
			} else {
				w.cpus[cpu].usable = false;
				w.bal.changed = true;
				for (i = 0; i < 24; i++)
					least += w.irqs[i].cpu == cpu;
			}
			run(&w, 20000);
			moves[what] += w.moves - least;
			finish(&w);
		}
	}
	EXPECT(moves[0] * 2 <= 7 * seeds + 20);
	/* Two per cent more than they are: where it goes others leave, if that is worth it */
	EXPECT(moves[1] * 50 <= 91 * seeds + 400);
	EXPECT(moves[2] * 20 <= 89 * seeds + 200);
	/* If there is a CPU for one that has to move no other moves */
	for (what = 0; what < 2; what++) {
		one_package(&w, 8);
		for (i = 0; i < 21; i++)
			world_irq(&w, i / 3, (95 + i % 3) * MSEC);
		for (i = 0; i < 8; i++) {
			w.cpus[i].package = i;
			w.cpus[i].llc = i;
		}
		settle(&w);
		if (what)
			w.cpus[4].usable = false;
		else
			__clear_bit(4, w.mask[13]);
		least = what ? 0 : 1;
		for (i = 0; i < 21 && what; i++)
			least += w.irqs[i].cpu == 4;
		w.bal.changed = true;
		EXPECT_EQ(world_run(&w, 60000), least);
		finish(&w);
	}
	report("one that changes drags few others along, and one that has to move none");
}

void test_beyond(unsigned int seeds)
{
	test_quarter(seeds);
	test_beside_fixed(seeds);
	test_on_off(seeds);
	test_out_of_swing(seeds);
	test_rest_full();
	test_followed(seeds);
	test_sockets(seeds);
	test_two_and_two();
	test_lighter(seeds);
	test_giant(seeds);
	test_observer(min(seeds, 10U));
	test_loud(min(seeds, 40U));
	test_one_changes(min(seeds, 100U));
}
