// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the interrupt balancer's policy.
 *
 * The policy is tested in depth in user space (tools/testing/irq_balance).
 * These are the cases with numbers from the field, and the rules that an
 * administrator relies on, on the object that is in the kernel.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "../average.h"
#include "../plan.h"

#define MACHINE_CPUS	8
#define MACHINE_IRQS	16

/**
 * struct machine - CPUs and interrupts under test
 * @nr_irqs:	interrupts
 * @cpus:	CPUs as the policy sees them
 * @irqs:	interrupts as the policy sees them
 * @state:	what the policy remembers of them
 * @load:	ns/s on a CPU of capacity 1024
 * @mask:	what the user allows
 * @bal:	the balancer
 * @set:	its settings
 * @now:	clock, ns
 * @moves:	moves so far
 */
struct machine {
	unsigned int			nr_irqs;
	struct irq_balance_cpu		cpus[MACHINE_CPUS];
	struct irq_balance_irq		irqs[MACHINE_IRQS];
	struct irq_balance_state	state[MACHINE_IRQS];
	u64				load[MACHINE_IRQS];
	DECLARE_BITMAP(mask, MACHINE_CPUS);
	struct irq_balance		bal;
	struct irq_balance_settings	set;
	u64				now;
	unsigned int			moves;
};

/* Equal CPUs in packages of @package CPUs and cores of @core CPUs. */
static struct machine *machine_new(struct kunit *test, unsigned int package,
				   unsigned int core)
{
	struct machine *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned int i;
	void *work;

	KUNIT_ASSERT_NOT_NULL(test, m);
	work = kunit_kzalloc(test, irq_balance_set_work(&m->bal, NULL, MACHINE_IRQS, MACHINE_CPUS),
			     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, work);
	m->set = IRQ_BALANCE_DEFAULTS;
	irq_balance_init(&m->bal, work, MACHINE_IRQS, MACHINE_CPUS);
	bitmap_fill(m->mask, MACHINE_CPUS);
	m->now = NSEC_PER_SEC;
	for (i = 0; i < MACHINE_CPUS; i++) {
		m->cpus[i].capacity = IRQ_BALANCE_CAPACITY;
		m->cpus[i].node = -1;
		m->cpus[i].package = i / package;
		m->cpus[i].llc = i / package;
		m->cpus[i].core = i / core;
		m->cpus[i].usable = true;
	}
	return m;
}

static unsigned int machine_irq(struct machine *m, unsigned int cpu, u64 load)
{
	unsigned int i = m->nr_irqs++;

	m->irqs[i].irq = 16 + i;
	m->irqs[i].node = -1;
	m->irqs[i].cpu = cpu;
	m->irqs[i].allowed = m->mask;
	m->irqs[i].state = &m->state[i];
	m->load[i] = load;
	return i;
}

/* Passes every 50 ms, whatever they ask for is done. */
static unsigned int machine_run(struct machine *m, unsigned int ms)
{
	unsigned int moves = 0, i;

	for (; ms; ms -= min(ms, 50U)) {
		m->now += 50 * NSEC_PER_MSEC;
		for (i = 0; i < m->nr_irqs; i++)
			m->irqs[i].time += div_u64(m->load[i] * IRQ_BALANCE_CAPACITY,
						   20 * m->cpus[m->irqs[i].cpu].capacity);
		irq_balance_pass(&m->bal, m->now, &(struct irq_balance_input) {
			.set = &m->set, .cpus = m->cpus, .irqs = m->irqs, .nr_irqs = m->nr_irqs,
		});
		for (i = 0; i < m->nr_irqs; i++) {
			moves += m->irqs[i].target != m->irqs[i].cpu;
			m->irqs[i].cpu = m->irqs[i].target;
		}
	}
	m->moves += moves;
	return moves;
}

/*
 * From each of the 256 placements of four on four CPUs. The mail of 2003 on the balancer
 * of 2.5.52 has four land apart with (4/4)*(3/4)*(2/4)*(1/4) = 3/16; that product is 3/32.
 */
static void balance_plan_four_on_four(struct kunit *test)
{
	unsigned int i, j, seen;

	for (i = 0; i < 256; i++) {
		struct machine *m = machine_new(test, 4, 1);

		bitmap_clear(m->mask, 4, 4);
		for (j = 0; j < 4; j++)
			machine_irq(m, (i >> (2 * j)) & 3, 250000000);
		machine_run(m, 1000);
		for (j = 0, seen = 0; j < 4; j++)
			seen |= BIT(m->irqs[j].cpu);
		KUNIT_EXPECT_EQ_MSG(test, seen, 0xf, "placement %u", i);
		KUNIT_EXPECT_EQ(test, machine_run(m, 5000), 0);
	}
}

/* The mail's machine: four packages of two siblings, four NICs. */
static void balance_plan_packages(struct kunit *test)
{
	struct machine *m = machine_new(test, 2, 2);
	unsigned int i, seen = 0;

	for (i = 0; i < 4; i++)
		machine_irq(m, 0, 250000000);
	machine_run(m, 1000);
	for (i = 0; i < 4; i++)
		seen |= BIT(m->cpus[m->irqs[i].cpu].package);
	KUNIT_EXPECT_EQ(test, seen, 0xf);
	KUNIT_EXPECT_EQ(test, m->moves, 3);
	KUNIT_EXPECT_EQ(test, machine_run(m, 60000), 0);
}

/* Two packages, two heavy interrupts, four logical CPUs: one per package. */
static void balance_plan_two_packages(struct kunit *test)
{
	struct machine *m = machine_new(test, 2, 2);

	bitmap_clear(m->mask, 4, 4);
	machine_irq(m, 1, 400000000);
	machine_irq(m, 1, 400000000);
	machine_run(m, 1000);
	KUNIT_EXPECT_NE(test, m->cpus[m->irqs[0].cpu].package,
			m->cpus[m->irqs[1].cpu].package);
	KUNIT_EXPECT_EQ(test, m->moves, 1);
}

/* Two packages of two cores of two siblings: one per core. */
static void balance_plan_cores(struct kunit *test)
{
	struct machine *m = machine_new(test, 4, 2);
	unsigned int i, seen = 0;

	for (i = 0; i < 4; i++)
		machine_irq(m, 0, 250000000);
	machine_run(m, 1000);
	for (i = 0; i < 4; i++)
		seen |= BIT(m->cpus[m->irqs[i].cpu].core);
	KUNIT_EXPECT_EQ(test, seen, 0xf);
}

static void balance_plan_lone(struct kunit *test)
{
	struct machine *m = machine_new(test, 4, 1);

	machine_irq(m, 5, 800000000);
	KUNIT_EXPECT_EQ(test, machine_run(m, 300000), 0);
	/* A second one comes to its CPU. */
	machine_irq(m, 5, 800000000);
	KUNIT_EXPECT_EQ(test, machine_run(m, 500), 1);
	KUNIT_EXPECT_EQ(test, machine_run(m, 300000), 0);
}

/*
 * ODROID-XU4: CPU 0-3 are Cortex-A7, 4-7 Cortex-A15, all three USB interrupts
 * on CPU 0. The two that are heavy belong on two A15.
 */
static void balance_plan_big_little(struct kunit *test)
{
	struct machine *m = machine_new(test, 4, 1);
	unsigned int i;

	for (i = 0; i < 4; i++)
		m->cpus[i].capacity = 446;
	machine_irq(m, 0, 100000);
	machine_irq(m, 0, 150000000);
	machine_irq(m, 0, 350000000);
	machine_run(m, 1000);
	KUNIT_EXPECT_EQ(test, m->irqs[0].cpu, 0);
	KUNIT_EXPECT_GE(test, m->irqs[1].cpu, 4);
	KUNIT_EXPECT_GE(test, m->irqs[2].cpu, 4);
	KUNIT_EXPECT_NE(test, m->irqs[1].cpu, m->irqs[2].cpu);
	KUNIT_EXPECT_EQ(test, m->state[1].reason, IRQ_BALANCE_WHY_CAPACITY);
	KUNIT_EXPECT_EQ(test, machine_run(m, 60000), 0);
}

static void balance_plan_node(struct kunit *test)
{
	struct machine *m = machine_new(test, 4, 1);
	unsigned int i;

	/* Four of 35 % on two CPUs of their node: 70 %, they are held. */
	for (i = 0; i < MACHINE_CPUS; i++)
		m->cpus[i].node = i >= 2;
	for (i = 0; i < 4; i++)
		m->irqs[machine_irq(m, 0, 350000000)].node = 0;
	machine_run(m, 1000);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_LT(test, m->irqs[i].cpu, 2);
	/* Of 45 %: 90 %, they leave. */
	for (i = 0; i < 4; i++)
		m->load[i] = 450000000;
	machine_run(m, 1000);
	for (i = 0; i < MACHINE_CPUS; i++)
		KUNIT_EXPECT_LE(test, m->cpus[i].load, 460000000);
	KUNIT_EXPECT_EQ(test, machine_run(m, 60000), 0);
}

static void balance_plan_forbidden(struct kunit *test)
{
	struct machine *m = machine_new(test, 4, 1);

	machine_irq(m, 0, 300000000);
	machine_irq(m, 0, 300000000);
	m->irqs[0].allowed = NULL;
	m->cpus[1].usable = false;
	m->cpus[2].full_until = U64_MAX;
	bitmap_clear(m->mask, 3, 4);
	machine_run(m, 1000);
	KUNIT_EXPECT_EQ(test, m->irqs[0].cpu, 0);
	KUNIT_EXPECT_EQ(test, m->irqs[1].cpu, 7);
	m->cpus[7].usable = false;
	machine_run(m, 1000);
	KUNIT_EXPECT_EQ(test, m->irqs[1].cpu, 0);
	KUNIT_EXPECT_EQ(test, m->state[1].reason, IRQ_BALANCE_WHY_AFFINITY);
}

/* Takes windows of 50 ms with a load into an average */
static void average_run(struct irq_balance_average *avg, u64 load, unsigned int ms)
{
	for (; ms; ms -= 50)
		irq_balance_average_update(avg, avg->total + load / 20, 50 * NSEC_PER_MSEC,
					   IRQ_BALANCE_CAPACITY, true);
}

static void balance_plan_average(struct kunit *test)
{
	struct irq_balance_average avg = { .seen = true };

	average_run(&avg, 100000000, 60000);
	KUNIT_EXPECT_EQ(test, avg.mean, 100000000);
	KUNIT_EXPECT_EQ(test, avg.dev, 0);
	/* A quarter while nothing else is known; 60 s of history are enough to know */
	KUNIT_EXPECT_EQ(test, irq_balance_average_error(&avg), 0);
	/* A window without time changes nothing */
	irq_balance_average_update(&avg, avg.total + 1000000, 0, IRQ_BALANCE_CAPACITY, true);
	KUNIT_EXPECT_EQ(test, avg.mean, 100000000);

	/* A step is followed at once ... */
	average_run(&avg, 300000000, 200);
	KUNIT_EXPECT_EQ(test, avg.mean, 300000000);
	/* ... a step back is not: it is known by its mean and its deviation */
	average_run(&avg, 100000000, 200);
	KUNIT_EXPECT_GT(test, avg.mean, 150000000);
	KUNIT_EXPECT_GT(test, avg.dev, 10000000);
	average_run(&avg, 100000000, 240000);
	KUNIT_EXPECT_LT(test, avg.mean, 101000000);
	/* When the higher load is forgotten it is a step again */
	average_run(&avg, 300000000, 200);
	KUNIT_EXPECT_EQ(test, avg.mean, 300000000);
}

/* Bursts of a quarter of the time, by turns, and all at once: their means count */
static void balance_plan_bursts(struct kunit *test)
{
	struct machine *m = machine_new(test, 4, 1);
	unsigned int i;

	machine_irq(m, 0, 0);
	machine_irq(m, 0, 0);
	for (i = 0; i < 200; i++) {
		m->load[0] = i % 4 == 0 ? 400000000 : 0;
		m->load[1] = i % 4 == 2 ? 400000000 : 0;
		machine_run(m, 100);
	}
	KUNIT_EXPECT_EQ(test, m->moves, 1);
	KUNIT_EXPECT_NE(test, m->irqs[0].cpu, m->irqs[1].cpu);
}

static void balance_plan_idle(struct kunit *test)
{
	struct machine *m = machine_new(test, 4, 1);
	unsigned int i;

	for (i = 0; i < MACHINE_IRQS; i++)
		machine_irq(m, 0, 1000000);
	machine_run(m, 1000);
	KUNIT_EXPECT_EQ(test, m->moves, 0);
	KUNIT_EXPECT_EQ(test, m->bal.next, IRQ_BALANCE_NO_TIMER);
	KUNIT_EXPECT_TRUE(test, irq_load_rises(IRQ_LOAD_QUANTUM, 50 * NSEC_PER_MSEC, m->bal.limit));
	KUNIT_EXPECT_FALSE(test, irq_load_rises(IRQ_LOAD_QUANTUM, NSEC_PER_SEC, m->bal.limit));
	m->load[3] = 400000000;
	m->load[4] = 400000000;
	machine_run(m, 1000);
	KUNIT_EXPECT_NE(test, m->bal.next, IRQ_BALANCE_NO_TIMER);
	KUNIT_EXPECT_NE(test, m->irqs[3].cpu, m->irqs[4].cpu);
}

/* Two on the siblings of a core, another core is idle: the mail's rule */
static void balance_plan_siblings(struct kunit *test)
{
	struct machine *m = machine_new(test, 8, 2);

	machine_irq(m, 0, 700000000);
	machine_irq(m, 1, 700000000);
	machine_run(m, 10000);
	KUNIT_EXPECT_EQ(test, m->moves, 1);
	KUNIT_EXPECT_NE(test, m->cpus[m->irqs[0].cpu].core, m->cpus[m->irqs[1].cpu].core);
	KUNIT_EXPECT_EQ(test, machine_run(m, 60000), 0);
}

/* Each is light, and together they fill a CPU */
static void balance_plan_crowd(struct kunit *test)
{
	struct machine *m = machine_new(test, 4, 1);
	unsigned int i;

	m->set.heavy = 100;
	for (i = 0; i < MACHINE_IRQS; i++)
		machine_irq(m, 0, 60000000);
	machine_run(m, 2000);
	for (i = 0; i < MACHINE_CPUS; i++)
		KUNIT_EXPECT_LE(test, m->cpus[i].load, 250000000);
}

static struct kunit_case balance_plan_cases[] = {
	KUNIT_CASE(balance_plan_four_on_four),
	KUNIT_CASE(balance_plan_packages),
	KUNIT_CASE(balance_plan_two_packages),
	KUNIT_CASE(balance_plan_cores),
	KUNIT_CASE_SLOW(balance_plan_lone),
	KUNIT_CASE(balance_plan_big_little),
	KUNIT_CASE(balance_plan_node),
	KUNIT_CASE(balance_plan_forbidden),
	KUNIT_CASE(balance_plan_average),
	KUNIT_CASE(balance_plan_bursts),
	KUNIT_CASE(balance_plan_idle),
	KUNIT_CASE(balance_plan_siblings),
	KUNIT_CASE(balance_plan_crowd),
	{}
};

static struct kunit_suite balance_plan_suite = {
	.name		= "irq_balance_plan",
	.test_cases	= balance_plan_cases,
};

kunit_test_suite(balance_plan_suite);
