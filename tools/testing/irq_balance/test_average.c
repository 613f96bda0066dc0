// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the mean and the deviation of a load.
 */
#include "test.h"

static void test_averages(void)
{
	struct irq_balance_average avg = { 0 };
	u64 total = 5000, error;
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
	/* An eighth, as nothing else is known; nothing of that after 5 s. */
	EXPECT_EQ(irq_balance_average_error(&avg), 0);
	avg.age_ms = 4000;
	EXPECT_EQ(irq_balance_average_error(&avg), 2500000);
	avg.age_ms = 20000;
	/* One that goes up and down by a fifth deviates by about that ... */
	for (i = 0; i < 1000; i++) {
		total += i / 30 % 2 ? 12000000 : 8000000;
		irq_balance_average_update(&avg, total, 100 * MSEC, 1024, true);
	}
	EXPECT(avg.mean > 95000000 && avg.mean < 105000000);
	EXPECT(avg.dev > 8000000 && avg.dev < 20000000);
	/* ... and is off by up to three times that. */
	EXPECT(irq_balance_average_error(&avg) >= 3 * avg.dev);
	EXPECT(irq_balance_average_error(&avg) < 4 * avg.dev);
	/* Twice that in the first 2.5 s. */
	avg.age_ms = 2499;
	error = irq_balance_average_error(&avg);
	avg.age_ms = 2500;
	EXPECT(irq_balance_average_error(&avg) < error * 51 / 100);
	/* 100 ms are no step yet; what came in the window in which it began does not count. */
	avg = (struct irq_balance_average) { .mean = 100000000, .recent = 100000000,
					     .age_ms = 20000, .far_ms = 60000, .seen = true };
	for (i = 1; i <= 3; i++) {
		irq_balance_average_update(&avg, avg.total + 29700000, 99 * MSEC, 1024, true);
		EXPECT_EQ(avg.mean == 300000000, i == 3);
	}
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

static void test_minute(void)
{
	struct irq_balance_average avg;
	unsigned int ms;

	for (ms = 59999; ms <= 60000; ms++) {
		/* A window far below the mean, so long after one that was far above */
		avg = (struct irq_balance_average) { .mean = 100000000, .recent = 100000000,
			.age_ms = 20000, .far_ms = ms - 50, .seen = true, .up = true };
		irq_balance_average_update(&avg, 0, 50 * MSEC, 1024, true);
		EXPECT_EQ(avg.turned, ms < 60000);
		EXPECT_EQ(avg.run_ms, ms == 60000);
		EXPECT_EQ(avg.far_ms, 0);
		/* A window that is so long */
		avg = (struct irq_balance_average) { .mean = 100000000, .recent = 100000000,
			.age_ms = 20000, .far_ms = 60000, .seen = true };
		irq_balance_average_update(&avg, 0, ms * MSEC, 1024, true);
		EXPECT_EQ(avg.mean, ms < 60000 ? 25000313 : 0);
	}
	report("a step back within a minute is none, and a window of a minute starts anew");
}

/* The same by the description of plan.c, in floating point */
struct model {
	double	mean, recent, dev, run, age, run_ms, far;
	bool	up, turned;
};

static void blend(double *old, double new, double ms, double history)
{
	*old += (new - *old) * ms / (history + ms);
}

static void model_update(struct model *m, double rate, double ms)
{
	double off, bar;
	bool up;

	if (!m->age) {
		*m = (struct model) { .mean = rate, .recent = rate, .age = ms, .far = 60000 };
		return;
	}
	m->far = min(m->far + ms, 60000.0);
	blend(&m->recent, rate, ms, min(m->age, 1000.0));
	off = (m->age < 1000 ? rate : m->recent) - m->mean;
	blend(&m->dev, off < 0 ? -off : off, ms, min(m->age, 20000.0));
	bar = max(m->mean / 4, 3 * m->dev) * (m->run_ms ? 0.75 : 1);
	up = rate > m->mean;
	if (up ? rate > m->mean + bar : rate < m->mean - bar) {
		if (m->far < 60000 && (m->turned || up != m->up)) {
			m->turned = true;
			m->run_ms = 0;
		} else if (!m->run_ms || up != m->up) {
			m->turned = false;
			m->run_ms = 1;
		} else {
			if (m->run_ms > 1)
				blend(&m->run, rate, ms, m->run_ms);
			else
				m->run = rate;
			m->run_ms += ms;
		}
		m->up = up;
		m->far = 0;
		if (m->run_ms > 100) {
			m->mean = m->run;
			m->recent = m->run;
			m->age = m->run_ms;
			m->dev = 0;
			m->run_ms = 0;
			return;
		}
	} else {
		m->run_ms = 0;
	}
	blend(&m->mean, rate, ms, min(m->age, 20000.0));
	m->age = min(m->age + ms, 1000000.0);
}

static bool close_to(u64 value, double expected)
{
	double off = value - expected, most = 200 + expected / 500000;

	return off <= most && off >= -most;
}

static void test_average_model(void)
{
	static const unsigned int lengths[] = { 4, 10, 50, 50, 100, 200, 1000, 5000 };
	unsigned int series, i, ms, noise, length, capacity;
	struct irq_balance_average avg;
	struct model m;
	u64 us, load, ns;

	rng = 1;
	for (series = 0; series < 40 && !failure; series++) {
		memset(&avg, 0, sizeof(avg));
		memset(&m, 0, sizeof(m));
		length = rnd(8);
		noise = rnd(2) ? 0 : rnd(400);
		capacity = rnd(2) ? 1024 : 1 + rnd(1024);
		load = rnd(1000000000);
		irq_balance_average_update(&avg, 0, 0, capacity, true);
		for (i = 0; i < 400 && !failure; i++) {
			double error, rate;

			if (!rnd(30))
				load = rnd(40) ? rnd(1000000000) : 8000000000 + rnd(2000000000);
			us = lengths[length] * 1000 + rnd(1000);
			ms = us / 1000;
			ns = load * us / 1000000;
			ns += ns * rnd(noise + 1) / 1000;
			irq_balance_average_update(&avg, avg.total + ns, us * 1000 + rnd(1000),
						   capacity, true);
			rate = min(ns * 1e6 / us, (double)IRQ_BALANCE_LOAD_MAX) * capacity / 1024;
			model_update(&m, rate, ms);
			error = (m.age < 2500 ? 2 : 1) *
				(3 * m.dev + m.mean / 8 * max(5000 - m.age, 0.) / 5000);
			EXPECT(close_to(avg.mean, m.mean));
			EXPECT(close_to(avg.dev, m.dev));
			EXPECT(close_to(irq_balance_average_error(&avg) / 8, error / 8));
			EXPECT_EQ(avg.age_ms, (u64)m.age);
			EXPECT_EQ(avg.run_ms, (u64)m.run_ms);
		}
	}
	/* A window of three weeks is measured as exactly as a short one, and no older. */
	memset(&avg, 0, sizeof(avg));
	irq_balance_average_update(&avg, 0, 0, 1024, true);
	irq_balance_average_update(&avg, 2000000 * (u64)562949953, 2000000000 * MSEC, 1024, true);
	EXPECT_EQ(avg.mean, 562949953);
	EXPECT_EQ(avg.age_ms, 1000000);
	/* A counter that jumps is a full load, and no quotient beyond 64 bits. */
	irq_balance_average_update(&avg, ~0ULL, 4 * MSEC, 1024, true);
	EXPECT_EQ(avg.recent, 562949953 + (IRQ_BALANCE_LOAD_MAX - 562949953) * 4 / 1004);
	report("averages are those of a model in floating point");
}

void test_average(void)
{
	test_averages();
	test_minute();
	test_average_model();
}
