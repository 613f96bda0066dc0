// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the mean of a load, of what it may be off by, and of steps.
 */
#include "test.h"

/* Takes in windows of @each ms with a load, for @ms; returns after how many ms the mean is that */
static unsigned int feed(struct irq_balance_average *avg, u64 load, unsigned int ms,
			 unsigned int each, bool fast)
{
	unsigned int t, reached = 0;

	for (t = 0; t < ms; t += each) {
		irq_balance_average_update(avg, avg->total + load / 1000 * each, each * MSEC, 1024,
					   fast);
		if (!reached && avg->mean == load)
			reached = t + each;
	}
	return reached;
}

static void test_mean(void)
{
	struct irq_balance_average avg = { 0 };

	/* The first window only says where the count stands. */
	irq_balance_average_update(&avg, 5000, 0, 1024, true);
	EXPECT_EQ(avg.mean, 0);
	EXPECT_EQ(feed(&avg, 100 * MSEC, 20000, 100, true), 100);
	EXPECT_EQ(avg.dev, 0);
	EXPECT_EQ(avg.age_ms, 20000);
	/* Work on a slow CPU counts for less. */
	memset(&avg, 0, sizeof(avg));
	irq_balance_average_update(&avg, 0, 0, 512, true);
	irq_balance_average_update(&avg, 50 * MSEC, 100 * MSEC, 512, true);
	EXPECT_EQ(avg.mean, 250 * MSEC);
	/* A count that went back is no measurement, nor is a window without time. */
	irq_balance_average_update(&avg, 10, 100 * MSEC, 512, true);
	irq_balance_average_update(&avg, 10 * MSEC, 0, 512, true);
	EXPECT_EQ(avg.mean, 250 * MSEC);
	EXPECT_EQ(avg.age_ms, 100);
	/* The largest numbers there are. */
	irq_balance_average_update(&avg, ~0ULL, 1000000ULL * 1000 * MSEC, 1024, true);
	irq_balance_average_update(&avg, ~0ULL, 1000000ULL * 1000 * MSEC, 1024, true);
	EXPECT(avg.mean <= IRQ_BALANCE_LOAD_MAX);
	/* A window of three weeks is measured as exactly as a short one, and no older. */
	memset(&avg, 0, sizeof(avg));
	irq_balance_average_update(&avg, 0, 0, 1024, true);
	irq_balance_average_update(&avg, 2000000 * (u64)562949953, 2000000000 * MSEC, 1024, true);
	EXPECT_EQ(avg.mean, 562949953);
	EXPECT_EQ(avg.age_ms, 1000000);
	/* A counter that jumps is a full load, and no quotient beyond 64 bits. */
	irq_balance_average_update(&avg, ~0ULL, 4 * MSEC, 1024, true);
	EXPECT_EQ(avg.recent, 562949953 + (IRQ_BALANCE_LOAD_MAX - 562949953) * 4 / 1004);
	/* Two minutes start anew, whatever was before */
	avg = (struct irq_balance_average) { .seen = true };
	feed(&avg, 200 * MSEC, 20000, 100, true);
	feed(&avg, 190 * MSEC, 119999, 119999, true);
	EXPECT(avg.mean > 190 * MSEC);
	feed(&avg, 100 * MSEC, 120000, 120000, true);
	EXPECT_EQ(avg.mean, 100 * MSEC);
	EXPECT_EQ(avg.windows.high, 100 * MSEC);
	EXPECT_EQ(avg.seconds.high, 100 * MSEC);
	report("the mean of a load");
}

/* The error of a load of @mean ms/s, which deviates by 9 */
static u64 error(unsigned int mean, unsigned int age, unsigned int since, unsigned int swing)
{
	const struct irq_balance_average avg = {
		.mean = mean * MSEC, .dev = 9 * MSEC, .age_ms = age, .since_ms = since,
		.swing_ms = swing,
	};

	return irq_balance_average_error(&avg);
}

static void test_error(void)
{
	struct irq_balance_average avg = { .seen = true };
	unsigned int i;

	/* A quarter at first, of which after 5 s nothing is left */
	EXPECT_EQ(error(200, 0, 0, 0), (27 + 50) * MSEC);
	EXPECT_EQ(error(200, 2500, 2500, 0), (27 + 25) * MSEC);
	EXPECT_EQ(error(200, 5000, 5000, 0), 27 * MSEC);
	/* No more than half, unless it was higher */
	EXPECT_EQ(error(80, 0, 0, 0), 40 * MSEC);
	EXPECT_EQ(error(50, 5000, 5000, 0), 25 * MSEC);
	/* Three deviations, by the root of the swings: of the last 40 s, of a second at least */
	EXPECT_EQ(error(100, 40000, 0, 10000), 13500000);
	EXPECT_EQ(error(100, 80000, 0, 10000), 13500000);
	EXPECT_EQ(error(100, 39999, 0, 10000), 27 * MSEC);
	EXPECT_EQ(error(100, 40000, 10001, 10000), 27 * MSEC);
	EXPECT_EQ(error(100, 40000, 0, 10001), 27 * MSEC);
	EXPECT_EQ(error(100, 4000, 999, 999), 13500000 + 5 * MSEC);
	EXPECT_EQ(error(100, 3999, 999, 999), (27 + 5) * MSEC + 5000);
	/* One that goes up and down by a fifth each 3 s deviates by about that, 13 times */
	for (i = 0; i < 40; i++)
		feed(&avg, (i % 2 ? 120 : 80) * MSEC, 3000, 100, true);
	EXPECT(avg.mean > 95 * MSEC && avg.mean < 105 * MSEC);
	EXPECT(avg.dev > 10 * MSEC && avg.dev < 20 * MSEC);
	EXPECT(avg.swing_ms >= 2900 && avg.swing_ms <= 3100);
	EXPECT(avg.since_ms <= 3000);
	EXPECT_EQ(irq_balance_average_error(&avg), avg.dev);
	/* It pauses, and may go on: a quarter of 400, of which after two minutes a third is left */
	memset(&avg, 0, sizeof(avg));
	avg.seen = true;
	feed(&avg, 420 * MSEC, 10000, 100, true);
	feed(&avg, 20 * MSEC, 1000, 100, true);
	EXPECT_EQ(avg.mean, 20 * MSEC);
	EXPECT(irq_balance_average_error(&avg) > 98 * MSEC);
	EXPECT(irq_balance_average_error(&avg) <= 100 * MSEC);
	feed(&avg, 20 * MSEC, 120000, 100, true);
	EXPECT(irq_balance_average_error(&avg) > 33 * MSEC);
	EXPECT(irq_balance_average_error(&avg) < 40 * MSEC);
	report("what a mean may be off by");
}

static void test_steps(void)
{
	struct irq_balance_average avg = { .seen = true };
	unsigned int i, ms;

	/* A tenth of a second; what came in the window in which it began does not count. */
	feed(&avg, 100 * MSEC, 20000, 100, true);
	EXPECT_EQ(feed(&avg, 125 * MSEC, 1000, 100, true), 0);
	EXPECT_EQ(feed(&avg, 300 * MSEC, 400, 99, true), 3 * 99);
	EXPECT_EQ(avg.dev, 0);
	EXPECT(avg.age_ms < 400);
	/* Nor a single window, and one that is back */
	feed(&avg, 900 * MSEC, 100, 100, true);
	feed(&avg, 300 * MSEC, 100, 100, true);
	EXPECT_EQ(feed(&avg, 900 * MSEC, 100, 100, true), 0);
	/* A step back is none until what was before is forgotten, */
	EXPECT_EQ(feed(&avg, 100 * MSEC, 5000, 100, true), 0);
	feed(&avg, 300 * MSEC, 240000, 100, true);
	EXPECT_EQ(feed(&avg, 100 * MSEC, 2000, 100, true), 200);
	/* nor is one to and fro */
	for (i = 0; i < 40; i++)
		feed(&avg, (i % 2 ? 300 : 100) * MSEC, 1000, 100, true);
	EXPECT(avg.mean > 150 * MSEC && avg.mean < 250 * MSEC);
	EXPECT(avg.age_ms > 20000);
	/* Out of a fast swing it takes a second or two */
	for (i = 0; i < 2; i++) {
		avg = (struct irq_balance_average) { .seen = true };
		for (ms = 0; ms < 30000; ms += 100)
			feed(&avg, (ms / 100 % 2 ? 400 : 0) * MSEC, 100, 50, i);
		EXPECT(avg.mean > 190 * MSEC && avg.mean < 210 * MSEC);
		EXPECT(avg.seconds.high > 150 * MSEC);
		feed(&avg, 400 * MSEC, 2000, 100, i);
		EXPECT(avg.mean > 390 * MSEC);
	}
	/* Without haste a step takes a second, and a burst is none */
	for (ms = 50; ms <= 300; ms += 50) {
		avg = (struct irq_balance_average) { .seen = true };
		feed(&avg, 200 * MSEC, 20000, ms, false);
		feed(&avg, 700 * MSEC, 500, ms, false);
		EXPECT_EQ(feed(&avg, 200 * MSEC, 20000, ms, false), 0);
		EXPECT(avg.mean < 230 * MSEC);
		feed(&avg, 900 * MSEC, 900, ms, false);
		EXPECT(avg.mean < 300 * MSEC);
		feed(&avg, 900 * MSEC, 900, ms, false);
		EXPECT_EQ(avg.mean, 900 * MSEC);
	}
	report("steps are followed, swings are not");
}

/* The same by the description of average.c, in floating point */
struct model {
	double	mean, recent, dev, run, age, run_ms, range_ms, low[2], high[2];
	bool	up, quick;
};

static void blend(double *old, double new, double ms, double history)
{
	*old += (new - *old) * ms / (history + ms);
}

static void model_widen(struct model *m, unsigned int of, double rate, double ms)
{
	blend(&m->low[of], rate, ms, 120000);
	blend(&m->high[of], rate, ms, 120000);
	m->low[of] = min(m->low[of], rate);
	m->high[of] = max(m->high[of], rate);
}

static bool model_out(const struct model *m, unsigned int of, double rate)
{
	return rate > m->high[of] * 1.25 || rate < m->low[of] - m->high[of] / 4;
}

static void model_anew(struct model *m, double rate, double ms)
{
	m->mean = rate;
	m->recent = rate;
	m->dev = 0;
	m->age = ms;
	m->run_ms = 0;
	model_widen(m, 0, rate, 0);
	model_widen(m, 1, rate, 0);
}

static void model_update(struct model *m, double rate, double ms, bool fast)
{
	bool quick, slow, up;
	double off;

	if (!m->age) {
		m->low[0] = rate;
		m->low[1] = rate;
		m->high[0] = rate;
		m->high[1] = rate;
		model_anew(m, rate, ms);
		return;
	}
	blend(&m->recent, rate, ms, min(m->age, 1000.0));
	quick = fast && model_out(m, 0, rate);
	up = rate > m->mean;
	slow = model_out(m, 1, m->recent) && up == (m->recent > m->mean);
	if (!quick)
		model_widen(m, 0, rate, ms);
	if (m->run_ms && ((!quick && !slow) || up != m->up)) {
		model_widen(m, 0, m->run, 0);
		model_widen(m, 1, m->recent, 0);
		m->run_ms = 0;
	}
	if (quick || slow) {
		m->quick = quick && (m->quick || !m->run_ms);
		if (m->run_ms > 1)
			blend(&m->run, rate, ms, m->run_ms);
		else
			m->run = rate;
		m->run_ms += m->run_ms ? ms : 1;
		m->up = up;
		if (m->run_ms > (m->quick ? 100 : 1000)) {
			model_anew(m, m->run, m->run_ms);
			return;
		}
	}
	m->range_ms += ms;
	if (!m->run_ms && m->range_ms >= 1000) {
		model_widen(m, 1, m->recent, m->range_ms);
		m->range_ms = 0;
	}
	off = (m->age < 1000 ? rate : m->recent) - m->mean;
	blend(&m->dev, off < 0 ? -off : off, ms, min(m->age, 20000.0));
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
	unsigned int series, i, ms, noise, length, capacity, steps = 0;
	struct irq_balance_average avg;
	struct model m;
	u64 us, load, ns;
	bool fast;

	rng = 1;
	for (series = 0; series < 80 && !failure; series++) {
		memset(&avg, 0, sizeof(avg));
		memset(&m, 0, sizeof(m));
		length = rnd(8);
		noise = rnd(2) ? 0 : rnd(400);
		capacity = rnd(2) ? 1024 : 1 + rnd(1024);
		load = rnd(1000000000);
		fast = rnd(4);
		irq_balance_average_update(&avg, 0, 0, capacity, fast);
		for (i = 0; i < 400 && !failure; i++) {
			double rate;

			if (!rnd(30))
				load = rnd(40) ? rnd(1000000000) : 8000000000 + rnd(2000000000);
			us = lengths[length] * 1000 + rnd(1000);
			ms = us / 1000;
			ns = load * us / 1000000;
			ns += ns * rnd(noise + 1) / 1000;
			irq_balance_average_update(&avg, avg.total + ns, us * 1000 + rnd(1000),
						   capacity, fast);
			rate = min(ns * 1e6 / us, (double)IRQ_BALANCE_LOAD_MAX) * capacity / 1024;
			model_update(&m, rate, ms, fast);
			steps += i && m.age < 1000 && !m.dev;
			EXPECT(close_to(avg.mean, m.mean));
			EXPECT(close_to(avg.recent, m.recent));
			EXPECT(close_to(avg.dev, m.dev));
			EXPECT_EQ(avg.age_ms, (u64)m.age);
			EXPECT_EQ(avg.run_ms, (u64)m.run_ms);
		}
	}
	EXPECT(steps > 100);
	report("averages are those of a model in floating point");
}

void test_average(void)
{
	test_mean();
	test_error();
	test_steps();
	test_average_model();
}
