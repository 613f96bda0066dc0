// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the planner: nodes, packages, caches, cores and siblings, and the capacity of CPUs.
 */
#include "test.h"

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
	unsigned int i, node;
	struct world w;

	for (node = 0; node < 2; node++) {
		world_init(&w, 8);
		for (i = 0; i < 8; i++)
			w.cpus[i].node = i / 4;
		i = world_irq(&w, node ? 0 : 7, 200000000);
		w.irqs[i].node = node;
		settle(&w);
		EXPECT_EQ(w.moves, 1);
		EXPECT_EQ(w.irqs[i].cpu / 4, node);
		EXPECT_EQ(w.state[i].reason, IRQ_BALANCE_WHY_LOCALITY);
		EXPECT_EQ(world_run(&w, 60000), 0);
		finish(&w);
	}
	report("lone heavy interrupt goes home to its node once");
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
		w.load[i] = 500000000;
	world_run(&w, 3000);
	EXPECT_EQ(world_worst(&w), 500000000);
	/* 80 % in the node would do, but that is the edge: they stay away. */
	for (i = 0; i < 4; i++)
		w.load[i] = 390000000;
	EXPECT_EQ(world_run(&w, 20000), 0);
	finish(&w);
	report("a node holds its devices up to the limit");
}

/* Whether four with that load stay in a node of two CPUs */
static bool holds(u64 load)
{
	bool all = true;
	struct world w;
	unsigned int i;

	world_init(&w, 8);
	for (i = 0; i < 8; i++)
		w.cpus[i].node = i >= 2;
	for (i = 0; i < 4; i++)
		w.irqs[world_irq(&w, i % 2, load)].node = 0;
	settle(&w);
	for (i = 0; i < 4; i++)
		all &= w.irqs[i].cpu < 2;
	finish(&w);
	return all;
}

static void test_node_split(void)
{
	struct world w;
	unsigned int i;

	/* CPUs of a node need not be neighbours. */
	world_init(&w, 3);
	for (i = 0; i < 3; i++)
		w.cpus[i].node = i != 1;
	w.irqs[world_irq(&w, 0, 300000000)].node = 1;
	w.irqs[world_irq(&w, 0, 300000000)].node = 1;
	settle(&w);
	EXPECT_EQ(w.irqs[0].cpu + w.irqs[1].cpu, 2);
	finish(&w);
	report("a node of CPUs that are no neighbours");
}

static void test_node_limit(void)
{
	EXPECT(holds(400000000));
	EXPECT(!holds(400100000));
	report("a node lets go from 80 %");
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
	/* 71 %, which is more than seven eighths of the limit: no way back. 69 % are less. */
	for (i = 0; i < 4; i++)
		w.load[i] = 355000000;
	EXPECT_EQ(world_run(&w, 60000), 0);
	for (i = 0; i < 4; i++)
		w.load[i] = 345000000;
	EXPECT(world_run(&w, 60000) > 0);
	for (i = 0; i < 4; i++)
		EXPECT(w.irqs[i].cpu < 2);
	EXPECT_EQ(world_run(&w, 20000), 0);
	finish(&w);
	report("a node takes its devices back well below the limit");
}

/* A device in a node that has no CPU is near to none */
static void test_node_without_cpu(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 8);
	for (i = 0; i < 8; i++)
		w.cpus[i].node = i / 4;
	for (i = 0; i < 8; i++)
		w.irqs[world_irq(&w, 0, 90 * MSEC)].node = i % 2 ? 2 : 100;
	settle(&w);
	EXPECT_EQ(world_worst(&w), 90 * MSEC);
	finish(&w);
	report("a node without a CPU holds nothing");
}

/* A node of which the user allows no CPU does not hold, whatever CPU comes behind it */
static void test_node_forbidden(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 4);
	for (i = 0; i < 4; i++)
		w.cpus[i].node = i / 2;
	for (i = 0; i < 2; i++) {
		world_irq(&w, 2, 300000000);
		only(&w, i, 2, 3);
		w.irqs[i].node = 0;
	}
	settle(&w);
	EXPECT_EQ(w.moves, 1);
	EXPECT_EQ(w.irqs[0].cpu + w.irqs[1].cpu, 5);
	finish(&w);
	report("a node without an allowed CPU does not hold");
}

/* A node that its devices' interrupts fill to three quarters of its limit holds all of them */
static void test_node_tight(void)
{
	unsigned int i, nr, left = 0, seed;
	struct world w;
	u64 sum;

	for (seed = 1; seed <= 100; seed++) {
		rng = seed * 2654435761ULL + 88172645463325252ULL;
		world_init(&w, 16);
		for (i = 0; i < 16; i++) {
			w.cpus[i].node = i / 8;
			w.cpus[i].package = i / 8;
			w.cpus[i].llc = i / 8;
		}
		nr = 24 + rnd(16);
		for (i = 0, sum = 0; i < nr; i++) {
			world_irq(&w, rnd(8), 250 + rnd(1000));
			w.irqs[i].node = 0;
			sum += w.load[i];
		}
		for (i = 0; i < nr; i++)
			w.load[i] = w.load[i] * 8 * 600 * MSEC / sum;
		world_step(&w, 100 * MSEC);
		world_exact(&w);
		world_step(&w, 200 * MSEC);
		for (i = 0; i < nr; i++)
			left += w.irqs[i].cpu >= 8;
		finish(&w);
	}
	EXPECT_EQ(left, 0);
	report("a node that is three quarters full holds all");
}

static void test_node_home(void)
{
	unsigned int i, home = 0;
	struct world w;

	/* Two have room at home, as a CPU that ends above 70 % there is too full. */
	world_init(&w, 8);
	for (i = 0; i < 8; i++) {
		w.cpus[i].package = i >= 2;
		w.cpus[i].node = i >= 2;
	}
	for (i = 0; i < 4; i++) {
		world_irq(&w, 2 + i, 351000000);
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
	/* Passes are rare while nothing may be moved. */
	world_run(&w, 5000);
	w.movable[1] = true;
	EXPECT_EQ(world_run(&w, 20000), 0);
	finish(&w);
	report("a move to the own node makes nothing worse, and gains something");
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

/* Packages of two and of six CPUs; @busy ns/s is on one of the two, 400 ms/s on one of the six. */
static unsigned int small_package(u64 busy)
{
	unsigned int i, package;
	struct world w;

	world_init(&w, 9);
	for (i = 0; i < 9; i++) {
		w.cpus[i].package = i ? 1 + (i > 2) : 0;
		w.cpus[i].llc = w.cpus[i].package;
	}
	w.base[1] = busy;
	w.base[8] = 400000000;
	world_irq(&w, 0, 300000000);
	world_irq(&w, 0, 300000000);
	settle(&w);
	package = w.cpus[w.irqs[0].cpu + w.irqs[1].cpu].package;
	finish(&w);
	return package;
}

static void test_package_sizes(void)
{
	EXPECT_EQ(small_package(390000000), 1);
	EXPECT_EQ(small_package(410000000), 2);
	report("the less busy of two packages is taken");
}

/* The busier node is so now, not since ever. */
static void test_busy_now(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 5);
	for (i = 0; i < 5; i++)
		w.cpus[i].node = i / 2;
	w.base[0] = 500000000;
	world_irq(&w, 4, 300000000);
	settle(&w);
	world_run(&w, 20000);
	w.base[0] = 0;
	w.base[2] = 500000000;
	world_run(&w, 15000);
	world_run(&w, 15000);
	world_irq(&w, 4, 300000000);
	EXPECT_EQ(world_run(&w, 3000), 1);
	EXPECT(w.irqs[0].cpu < 2 || w.irqs[1].cpu < 2);
	finish(&w);
	report("the less busy node is taken, as it is now");
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
	/* Both packages have 40 %, of the cores of two allowed CPUs one has none. */
	world_init(&w, 12);
	for (i = 0; i < 12; i++) {
		w.cpus[i].package = i / 6;
		w.cpus[i].llc = i / 6;
		w.cpus[i].core = i / 2;
	}
	w.base[0] = 100000000;
	w.base[6] = 400000000;
	world_irq(&w, 3, 300000000);
	world_irq(&w, 3, 300000000);
	w.movable[0] = false;
	w.mask[1][0] = BIT(1) | BIT(3) | BIT(9);
	settle(&w);
	EXPECT_EQ(w.irqs[1].cpu, 9);
	finish(&w);
	/* Of two cores the less busy one is taken, if a CPU of the other has not much less. */
	world_init(&w, 4);
	for (i = 0; i < 4; i++)
		w.cpus[i].core = i / 2;
	w.base[0] = 120000000;
	w.base[1] = 120000000;
	w.base[2] = 119000000;
	w.base[3] = 800000000;
	world_irq(&w, 3, 100000000);
	settle(&w);
	EXPECT(w.irqs[0].cpu < 2);
	finish(&w);
	report("an interrupt per core on 2 x 2 x 2");
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

static void shuffle(unsigned int numbers[16])
{
	unsigned int i, j;

	for (i = 0; i < 16; i++) {
		j = rnd(i + 1);
		numbers[i] = numbers[j];
		numbers[j] = i;
	}
}

static void test_permuted(void)
{
	unsigned int i, seed, cores[8] = { 0 }, caches[4] = { 0 };
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
	/*
	 * Any numbers of CPUs, caches and cores, and other base loads, so that no tie hides
	 * the order in which they are compared: one interrupt for each domain.
	 */
	for (seed = 1; seed <= 200; seed++) {
		unsigned int nr, each, used[16] = { 0 }, at[16], ids[16];

		rng = seed * 2654435761ULL + 88172645463325252ULL;
		world_init(&w, 16);
		shuffle(at);
		shuffle(ids);
		for (i = 0; i < 16; i++) {
			w.cpus[at[i]].core = ids[i / 2];
			w.cpus[at[i]].llc = ids[8 + i / 4];
			w.cpus[at[i]].package = ids[14 + i / 8];
			w.base[i] = rnd(900000);
		}
		nr = 2 << seed % 3;
		each = 16 / nr;
		for (i = 0; i < nr; i++)
			world_irq(&w, at[0], 250000000);
		settle(&w);
		for (i = 0; i < 16; i++)
			used[i / each] += world_load(&w, at[i]) > 200000000;
		for (i = 0; i < nr; i++)
			EXPECT_EQ(used[i], 1);
		finish(&w);
	}
	report("cores and caches are spread over whatever their CPUs' numbers");
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

/* The weight of neighbours for a CPU with 600 more, or of these */
static u64 model_company(const struct world *w, unsigned int cpu)
{
	const struct irq_balance_cpu *me = &w->cpus[cpu], *it;
	u64 core = 0, llc = 0, package = 0, own = me->load + 600 * MSEC;

	for (it = w->cpus; it < w->cpus + w->nr_cpus; it++) {
		if (it->core == me->core) {
			core += it == me ? 0 : it->load;
			continue;
		}
		llc += it->llc == me->llc ? it->load : 0;
		package += it->package == me->package ? it->load : 0;
	}
	return min(core, own) / 4 + min((package / 2 + llc / 2) / 8, own / 2);
}

/* An interrupt leaves CPU 0: of CPUs that end within 2^22 ns/s a model says which one is taken */
static void test_ties_model(void)
{
	unsigned int seed, i, n, divisor[3], to, ties = 0;
	struct world w;
	u64 key, tie;

	for (seed = 1; seed <= 400 && !failure; seed++) {
		rng = seed * 2654435761ULL + 88172645463325252ULL;
		for (i = 0; i < 8; i++)
			rnd(2);
		n = 3 + rnd(14);
		world_init(&w, n);
		divisor[2] = 1 + rnd(3);
		for (i = 2; i-- > 0;)
			divisor[i] = divisor[i + 1] * (1 + rnd(3));
		for (i = 0; i < n; i++) {
			/* CPU 0 is company for none, or it would leave once more for that */
			w.cpus[i].package = i ? 1 + (i - 1) / divisor[0] : 0;
			w.cpus[i].llc = i ? 1 + (i - 1) / divisor[1] : 0;
			w.cpus[i].core = i ? 1 + (i - 1) / divisor[2] : 0;
			w.cpus[i].usable = !i || rnd(8);
			w.base[i] = rnd(3) ? rnd(29) * MSEC : 0;
			w.cpus[i].tasks = seed % 3 ? 0 : rnd(3) * 96 * MSEC;
		}
		world_irq(&w, 0, 600 * MSEC);
		world_irq(&w, 0, 600 * MSEC);
		w.movable[1] = false;
		for (i = 1; i < n && seed % 2; i++) {
			if (!rnd(3))
				__clear_bit(i, w.mask[0]);
		}
		ask(&w);
		to = w.irqs[0].cpu;
		for (i = 1; i < n && to; i++) {
			if (i == to || !world_may(&w, 0, i))
				continue;
			key = (w.cpus[i].load + 600 * MSEC) >> 22;
			EXPECT(key >= (w.cpus[to].load + 600 * MSEC) >> 22);
			if (key > (w.cpus[to].load + 600 * MSEC) >> 22)
				continue;
			tie = w.cpus[to].tasks / 8 + model_company(&w, to);
			EXPECT(w.cpus[i].tasks / 8 + model_company(&w, i) >= tie);
			ties++;
		}
		finish(&w);
	}
	EXPECT(ties > 300);
	report("of CPUs that end equally low that with least company and tasks is taken");
}

/* Two on siblings, or in one package, while another core or package is idle: one move, then rest */
static void test_company(void)
{
	unsigned int i, kind, third, capacity;
	struct world w;

	for (kind = 0; kind < 24; kind++) {
		third = kind / 2 % 3;
		capacity = kind % 12 < 6 ? 1024 : 800;
		world_init(&w, kind < 12 ? 4 : 8);
		for (i = 0; i < w.nr_cpus; i++) {
			w.cpus[i].package = kind % 2 ? i % 4 / 2 : 0;
			w.cpus[i].core = kind % 2 ? i % 4 : i % 4 / 2;
			w.cpus[i].llc = w.cpus[i].package;
			w.cpus[i].node = third == 2 ? 0 : -1;
			w.cpus[i].capacity = capacity;
			/* A sibling that is offline has nothing to do */
			w.cpus[i].usable = i < 4;
			w.base[i] = i < 4 ? (1 + i) * MSEC : 0;
		}
		world_irq(&w, 0, 500 * MSEC);
		world_irq(&w, 1, 500 * MSEC);
		if (third == 1)
			world_irq(&w, 2, 500 * MSEC);
		settle(&w);
		world_run(&w, 10000);
		EXPECT_EQ(w.moves, third == 1 ? 0 : 1);
		if (third != 1)
			EXPECT_EQ((w.irqs[0].cpu < 2) + (w.irqs[1].cpu < 2), 1);
		EXPECT_EQ(world_run(&w, 60000), 0);
		finish(&w);
	}
	/* Little company is not worth a move. */
	world_init(&w, 4);
	for (i = 0; i < 4; i++)
		w.cpus[i].core = i / 2;
	world_irq(&w, 0, 300 * MSEC);
	world_irq(&w, 1, 35 * MSEC);
	settle(&w);
	world_run(&w, 20000);
	EXPECT_EQ(w.moves, 0);
	finish(&w);
	report("heavy interrupts on siblings, or in one package, are separated");
}

/* Those that are away from a node that is full, and share a CPU, are separated where they are */
static void test_node_away(void)
{
	unsigned int node, i;
	struct world w;

	for (node = 0; node < 2; node++) {
		world_init(&w, 4);
		for (i = 0; i < 4; i++) {
			w.cpus[i].package = i;
			w.cpus[i].node = i / 2;
			w.base[i] = (i / 2 == node ? 700 : 0) * MSEC;
		}
		for (i = 0; i < 2; i++) {
			world_irq(&w, node ? 0 : 2, 300 * MSEC);
			w.irqs[i].node = node;
		}
		EXPECT_EQ(ask(&w), 1);
		EXPECT_EQ(w.irqs[0].cpu + w.irqs[1].cpu, node ? 1 : 5);
		finish(&w);
	}
	report("what its node has no room for is balanced on the others");
}

/* One CPU of the node is too full: its sibling's interrupt goes to a free core there, if any */
static void test_node_company(void)
{
	unsigned int i, cores, node, first;
	struct world w;

	for (i = 0; i < 4; i++) {
		cores = 1 + i / 2;
		node = i % 2;
		first = node * 2 * cores;
		world_init(&w, 4 * cores);
		for (unsigned int cpu = 0; cpu < w.nr_cpus; cpu++) {
			w.cpus[cpu].core = cpu / 2;
			w.cpus[cpu].package = cpu / (2 * cores);
			w.cpus[cpu].node = cpu / (2 * cores);
		}
		w.base[first] = 700 * MSEC;
		world_irq(&w, first, 200 * MSEC);
		world_irq(&w, first + 1, 200 * MSEC);
		w.irqs[0].node = node;
		w.irqs[1].node = node;
		memset(w.mask[0], 0, sizeof(w.mask[0]));
		w.mask[0][0] = 1UL << first;
		EXPECT_EQ(world_run(&w, 60000), cores - 1);
		EXPECT_EQ(w.irqs[1].cpu / 2, first / 2 + cores - 1);
		finish(&w);
	}
	report("a busy sibling is a reason to leave it, but not the node");
}

/* The driver's hint does not count if the node holds the interrupt */
static void test_node_hint(void)
{
	unsigned int hint, i;
	struct world w;

	for (hint = 1; hint < 4; hint++) {
		world_init(&w, 4);
		for (i = 0; i < 4; i++)
			w.cpus[i].node = i / 3;
		world_irq(&w, 0, 300 * MSEC);
		world_irq(&w, 0, 290 * MSEC);
		w.movable[1] = false;
		w.irqs[0].node = 0;
		w.irqs[0].hint = 1 + hint;
		EXPECT_EQ(ask(&w), 1);
		EXPECT_EQ(w.irqs[0].cpu, hint == 3 ? 1 : hint);
		finish(&w);
	}
	report("a hint counts inside the node only");
}

/* The only CPU of its node gets more, and the hint is the CPU that the interrupt came from */
static void test_node_hint_outside(void)
{
	struct world w;

	world_init(&w, 3);
	w.cpus[1].node = 1;
	w.base[1] = 250 * MSEC;
	world_irq(&w, 0, 200 * MSEC);
	w.irqs[0].node = 1;
	w.irqs[0].hint = 1;
	world_irq(&w, 2, 460 * MSEC);
	EXPECT_EQ(ask(&w), 1);
	EXPECT_EQ(w.irqs[0].cpu, 1);
	finish(&w);
	report("a hint outside of the node that holds an interrupt is no choice");
}

/*
 * A quarter of the load of siblings, an eighth of that of the package. X weighs X / 4 on a sibling,
 * and X / 8 on another core of the package, or X / 8 there and nothing outside. To be gained are
 * 5 % of 500 and that weight, and a quarter more: X / 8 is that from 285.7 on, or from 266.7 on.
 */
static void test_company_weight(void)
{
	static const unsigned int most[] = { 285, 266 };
	unsigned int kind, i, more;
	struct world w;

	for (kind = 0; kind < 4; kind++) {
		more = kind % 2;
		world_init(&w, 4);
		for (i = 0; i < 4; i++) {
			w.cpus[i].package = kind < 2 ? 0 : i / 2;
			w.cpus[i].llc = w.cpus[i].package;
			w.cpus[i].core = kind < 2 ? i / 2 : i;
		}
		world_irq(&w, 0, 500 * MSEC);
		w.base[1] = (most[kind / 2] + more) * MSEC;
		EXPECT_EQ(ask(&w), more);
		finish(&w);
	}
	report("siblings weigh a quarter, other cores of the package an eighth");
}

/* 500 leave a CPU whose neighbour has 800 for one that has so much */
static unsigned int company_end(u64 load)
{
	unsigned int i, moves;
	struct world w;

	world_init(&w, 4);
	for (i = 0; i < 4; i++) {
		w.cpus[i].package = i / 2;
		w.cpus[i].llc = i / 2;
	}
	world_irq(&w, 0, 500 * MSEC);
	w.base[1] = 800 * MSEC;
	w.base[2] = load;
	w.base[3] = load;
	moves = ask(&w);
	finish(&w);
	return moves;
}

/* The same where loads may be off: that of the interrupt, and the base loads of both CPUs */
static unsigned int company_error(u64 own, u64 here, u64 there)
{
	unsigned int i, moves;
	struct world w;

	world_init(&w, 4);
	for (i = 0; i < 4; i++) {
		w.cpus[i].package = i / 2;
		w.cpus[i].llc = i / 2;
	}
	for (i = 0; i < 4; i++)
		w.base[i] = 60 * MSEC;
	world_irq(&w, 0, 500 * MSEC);
	world_irq(&w, 1, 500 * MSEC);
	w.movable[0] = false;
	w.movable[1] = false;
	world_step(&w, 100 * MSEC);
	world_step(&w, 200 * MSEC);
	w.movable[0] = true;
	w.state[0].load.age_ms = 1000000;
	w.state[0].load.swing_ms = 1000000;
	w.state[0].load.dev = own / 3;
	for (i = 0; i < 4; i++) {
		w.cpus[i].base.age_ms = 1000000;
		w.cpus[i].base.swing_ms = 1000000;
		w.cpus[i].base.dev = i == 0 ? here / 3 : i == 1 ? 0 : there / 3;
	}
	moves = world_pass(&w);
	finish(&w);
	return moves;
}

static void test_company_gain(void)
{
	/* 600 are there with what 800 weigh: half of what has to be gained, which is 37.5 */
	EXPECT_EQ(company_end(18750000), 1);
	EXPECT_EQ(company_end(18750010), 0);
	/* The weight falls by 62.5, of which 39.4 are to be gained: that leaves the bases 23.1 */
	EXPECT_EQ(company_error(250 * MSEC, 0, 0), 1);
	EXPECT_EQ(company_error(0, 23 * MSEC, 0), 1);
	EXPECT_EQ(company_error(0, 24 * MSEC, 0), 0);
	EXPECT_EQ(company_error(0, 0, 23 * MSEC), 1);
	EXPECT_EQ(company_error(0, 0, 24 * MSEC), 0);
	EXPECT_EQ(company_error(0, 16 * MSEC, 16 * MSEC), 1);
	EXPECT_EQ(company_error(0, 17 * MSEC, 17 * MSEC), 0);
	report("what is separated ends with little more, and gains for sure");
}

/* Of two that end equally low the faster one is taken, if there is no better one */
static void test_equal_faster(void)
{
	struct world w;

	world_init(&w, 4);
	w.cpus[1].capacity = 900;
	w.base[1] = 2 * MSEC;
	w.base[2] = 2 * MSEC;
	world_irq(&w, 0, 300 * MSEC);
	world_irq(&w, 0, 40 * MSEC);
	w.movable[0] = false;
	/* Where least is done it may not go */
	__clear_bit(3, w.mask[1]);
	EXPECT_EQ(ask(&w), 1);
	EXPECT_EQ(w.irqs[1].cpu, 2);
	finish(&w);
	report("of two that end equally low the faster one is taken");
}

/* Energy: a few per cent wake no faster CPU, and next to nothing is left where it is */
static void test_little(void)
{
	unsigned int load, moves;
	struct world w;

	for (load = 25; load <= 150; load += 25) {
		world_init(&w, 4);
		w.cpus[0].capacity = 446;
		w.cpus[1].capacity = 446;
		world_irq(&w, 0, load * MSEC);
		settle(&w);
		moves = world_run(&w, 60000) + w.moves;
		/* 109 ms/s are a quarter of the slow CPU */
		EXPECT_EQ(moves, load >= 125);
		finish(&w);
	}
	/* A quarter of a CPU of half the capacity, to the ns/s */
	for (load = 0; load < 2; load++) {
		world_init(&w, 2);
		w.cpus[0].capacity = 512;
		world_irq(&w, 0, 125 * MSEC - 1000 + 1000 * load);
		EXPECT_EQ(ask(&w), load);
		finish(&w);
	}
	for (load = 20; load <= 21; load++) {
		world_init(&w, 2);
		world_irq(&w, 0, load * MSEC);
		world_irq(&w, 0, load * MSEC);
		settle(&w);
		world_run(&w, 20000);
		EXPECT_EQ(w.moves, load > 20);
		finish(&w);
	}
	report("little load stays where it is");
}

void test_topology(void)
{
	test_lone_faster();
	test_lone_home();
	test_node_holds();
	test_node_split();
	test_node_limit();
	test_node_edge();
	test_node_without_cpu();
	test_node_forbidden();
	test_node_tight();
	test_node_home();
	test_packages_first();
	test_package_sizes();
	test_busy_now();
	test_cores_next();
	test_permuted();
	test_odroid();
	test_ties_model();
	test_company();
	test_node_away();
	test_node_company();
	test_node_hint();
	test_node_hint_outside();
	test_company_weight();
	test_company_gain();
	test_equal_faster();
	test_little();
}
