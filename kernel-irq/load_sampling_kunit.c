// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the load map: the arithmetic of its samples, with made-up clocks */
#include <linux/irq.h>

#include <kunit/test.h>

#include "internals.h"
#include "kunit.h"

/*
 * An interrupt that comes each @period ns for @time ns and whose handler takes
 * what @cost says, on a clock that starts anywhere.
 */
struct source {
	struct irq_load_series	h;
	int			skip;
	u64			now;
	u64			true_time;
	unsigned int		interrupts;
	unsigned int		samples;
};

static void source_run(struct source *s, u64 period, u64 time, u64 (*cost)(unsigned int n))
{
	u64 end;

	for (end = s->now + time; (s64)(end - s->now) > 0; s->now += period) {
		u64 delta = cost(s->interrupts++), now = s->now + delta, since;

		s->true_time += delta;
		if (--s->skip >= 0)
			continue;
		s->samples++;
		since = now - s->h.stamp;
		irq_load_take_sample(&s->h, now, delta, 1024);
		irq_load_next_sample(&s->h.sampler, now, since, IRQ_LOAD_SAMPLE_NS);
		s->skip = s->h.sampler.gap - 1;
	}
}

/* A source that has found its gap */
static void source_init(struct source *s, u64 now, u64 period, u64 (*cost)(unsigned int n))
{
	*s = (struct source) { .now = now };
	irq_load_restart(&s->h.sampler);
	source_run(s, period, 100 * MS, cost);
	*s = (struct source) { .h = s->h, .skip = s->skip, .now = s->now };
	s->h.time = 0;
}

/* The cost of the n-th interrupt */
#define COST(name, ns) static u64 cost_##name(unsigned int n) { return ns; }

COST(even, 4 * US)
/* The same mean as even: every other one is cheap, it falls in a burst, all in every 64th */
COST(alternating, n % 2 ? 7 * US : US)
COST(falling, (n % 16 + 1) * 8 * US / 17)
COST(bursts, n % 64 ? US : 193 * US)

static void sampling_is_right_on_average(struct kunit *test)
{
	static const u64 periods[] = { 200 * US, 20 * US, 10 * US, 10 * MS };
	static u64 (*const costs[])(unsigned int n) = { cost_even, cost_alternating };
	struct source s;

	for (int i = 0; i < ARRAY_SIZE(periods); i++) {
		for (int j = 0; j < ARRAY_SIZE(costs); j++) {
			source_init(&s, SEC, periods[i] + 7, costs[j]);
			source_run(&s, periods[i] + 7, 60 * SEC, costs[j]);
			expect_near(test, s.h.time, s.true_time, 4);
			KUNIT_EXPECT_LE(test, s.samples, 60 * 100);
		}
	}
	/* Bursts with silence between them, to which the samples must not be bound */
	source_init(&s, SEC, 300 * US + 7, cost_falling);
	for (int i = 0; i < 2000; i++) {
		s.interrupts = 0;
		source_run(&s, 300 * US + 7, 16 * (300 * US + 7), cost_falling);
		s.now += 20 * MS;
	}
	expect_near(test, s.h.time, s.true_time, 4);
	/* If one in many is slow few of them are seen: wider bounds */
	source_init(&s, SEC, 20 * US + 7, cost_bursts);
	source_run(&s, 20 * US + 7, 120 * SEC, cost_bursts);
	expect_near(test, s.h.time, s.true_time, 20);
}

static void strata_follow_the_rate(struct kunit *test)
{
	struct source s;

	/* Rare: each one is timed */
	source_init(&s, SEC, 50 * MS, cost_even);
	KUNIT_EXPECT_EQ(test, s.h.sampler.stratum, 1);
	/* 100 per ms */
	source_run(&s, 10 * US, SEC, cost_even);
	KUNIT_EXPECT_GE(test, s.h.sampler.stratum, 1024);
	KUNIT_EXPECT_LE(test, s.h.sampler.stratum, 4096);
	/* It is bounded, whatever the rate */
	source_run(&s, 10, SEC / 16, cost_even);
	KUNIT_EXPECT_LE(test, s.h.sampler.stratum, IRQ_LOAD_MAX_STRATUM);
	KUNIT_EXPECT_LE(test, s.h.sampler.gap, 2 * IRQ_LOAD_MAX_STRATUM);
	/* Bursts with silence between them are not timed from end to end */
	source_init(&s, SEC, 20 * US, cost_even);
	for (int i = 0; i < 100; i++) {
		source_run(&s, 5 * US, 5 * MS, cost_even);
		s.now += 20 * MS;
	}
	KUNIT_EXPECT_LE(test, s.samples, 100 * 4);
}

/* Each place in a stratum is as likely as any other */
static void any_event_may_be_timed(struct kunit *test)
{
	struct irq_load_sampler s = { .gap = 1, .stratum = 64 };
	unsigned int seen[64] = { }, events = 0;

	for (u64 now = 0; now < 6400 * (MS + 7919); now += MS + 7919) {
		irq_load_next_sample(&s, now, MS, MS);
		events += s.gap;
		KUNIT_ASSERT_EQ(test, s.stratum, 64);
		seen[(events - 1) % 64]++;
	}
	for (int i = 0; i < 64; i++) {
		KUNIT_EXPECT_GE(test, seen[i], 60);
		KUNIT_EXPECT_LE(test, seen[i], 140);
	}
}

static void clock_may_wrap_around(struct kunit *test)
{
	struct source s;

	source_init(&s, -10 * SEC, 20 * US, cost_even);
	source_run(&s, 20 * US, 20 * SEC, cost_even);
	KUNIT_ASSERT_LT(test, s.now, 11 * SEC);
	expect_near(test, s.h.time, s.true_time, 4);
	/* So may what is counted */
	source_init(&s, SEC, 20 * US, cost_even);
	s.h.time = -10 * MS;
	source_run(&s, 20 * US, SEC, cost_even);
	expect_near(test, s.h.time + 10 * MS, s.true_time, 3);
}

static void clock_may_go_back(struct kunit *test)
{
	struct irq_load_series h = {
		.sampler = { .gap = 64, .stratum = 64, .apart = MS }, .stamp = 10 * SEC, .time = MS,
	};

	KUNIT_EXPECT_EQ(test, irq_load_since(5, 7), 0);
	KUNIT_EXPECT_EQ(test, irq_load_since(7, 5), 2);
	/* The stamp is of a CPU that is 5 s ahead: how long ago is not known */
	irq_load_take_sample(&h, 5 * SEC, 4 * US, 1024);
	KUNIT_EXPECT_EQ(test, h.time, MS + 64 * 4 * US);
	irq_load_next_sample(&h.sampler, 5 * SEC, -5 * SEC, IRQ_LOAD_SAMPLE_NS);
	KUNIT_EXPECT_EQ(test, h.sampler.stratum, 1);
	/* A handler that ended before it began took no time */
	irq_load_take_sample(&h, 5 * SEC + MS, -US, 1024);
	KUNIT_EXPECT_EQ(test, h.time, MS + 64 * 4 * US);
	KUNIT_EXPECT_EQ(test, h.last, 0);
	KUNIT_EXPECT_EQ(test, h.carry, 0);
}

static void clock_may_stand_still(struct kunit *test)
{
	struct irq_load_series h = { .sampler = { .gap = 8, .stratum = 8 } };

	irq_load_take_sample(&h, SEC, 0, 1024);
	KUNIT_EXPECT_EQ(test, h.time, 0);
	irq_load_next_sample(&h.sampler, SEC, 0, IRQ_LOAD_SAMPLE_NS);
	KUNIT_EXPECT_GE(test, h.sampler.gap, 1);
}

/* The gap is no licence to charge more time than there was */
static void one_slow_run_is_one(struct kunit *test)
{
	struct irq_load_series h = { .sampler = { .gap = 1000, .stratum = 1000 }, .stamp = SEC };

	irq_load_take_sample(&h, SEC + 6 * MS, 5 * MS, 1024);
	KUNIT_EXPECT_EQ(test, h.time, 6 * MS);
	/* Of the rest a little is charged later, as there is time for it */
	KUNIT_EXPECT_EQ(test, h.carry, IRQ_LOAD_CARRY_NS);
	irq_load_restart(&h.sampler);
	irq_load_take_sample(&h, SEC + 16 * MS, 0, 1024);
	KUNIT_EXPECT_EQ(test, h.time, 16 * MS);
	irq_load_take_sample(&h, 9 * SEC, US, 1024);
	irq_load_take_sample(&h, 10 * SEC, US, 1024);
	KUNIT_EXPECT_EQ(test, h.time, 6 * MS + IRQ_LOAD_CARRY_NS + 2 * US);
}

static void sums_do_not_go_back(struct kunit *test)
{
	u64 highest = 100;

	irq_load_advance(&highest, 90);
	KUNIT_EXPECT_EQ(test, highest, 100);
	irq_load_advance(&highest, 130);
	KUNIT_EXPECT_EQ(test, highest, 130);
	highest = -5;
	irq_load_advance(&highest, 5);
	KUNIT_EXPECT_EQ(test, highest, 5);
}

static void unsampled_ones_are_estimated(struct kunit *test)
{
	struct irq_load_series h = { .sampler = { .gap = 1, .stratum = 1 } };

	irq_load_take_sample(&h, SEC, 3 * US, 1024);
	h.sampler = (struct irq_load_sampler) { .gap = 100, .stratum = 64, .rest = 4 };
	KUNIT_EXPECT_EQ(test, irq_load_unsampled_time(&h, 99, SEC + MS), 0);
	/* All of them while the next sample is handled */
	KUNIT_EXPECT_EQ(test, irq_load_unsampled_time(&h, -1, SEC + MS), (99 - 40) * 3 * US);
	/* The last sample stands for 40 of them: 100 + 4 - 64 */
	KUNIT_EXPECT_EQ(test, irq_load_unsampled_time(&h, 59, SEC + MS), 0);
	KUNIT_EXPECT_EQ(test, irq_load_unsampled_time(&h, 19, SEC + MS), 40 * 3 * US);
	/* 40 like the last would have taken longer than there was time */
	KUNIT_EXPECT_EQ(test, irq_load_unsampled_time(&h, 19, SEC + 50 * US), 50 * US);
}

/* Work at a quarter of the frequency takes four times as long */
static void load_scales_with_frequency(struct kunit *test)
{
	struct irq_load_series h = { .sampler = { .gap = 4, .stratum = 4 } };

	irq_load_take_sample(&h, SEC, 8 * US, 256);
	KUNIT_EXPECT_EQ(test, h.time, 4 * 2 * US);
	KUNIT_EXPECT_EQ(test, h.last, 2 * US);
}

static void one_long_run_is_not_usual(struct kunit *test)
{
	u64 before = 3 * US;

	KUNIT_EXPECT_EQ(test, irq_load_usual(9 * US, 4 * US, &before), 9 * US);
	KUNIT_EXPECT_EQ(test, irq_load_usual(10 * MS, 4 * US, &before), 16 * US);
	/* But all may have become long */
	KUNIT_EXPECT_EQ(test, irq_load_usual(9 * MS, 4 * US, &before), 9 * MS);
	KUNIT_EXPECT_EQ(test, irq_load_usual(4 * US, 4 * US, &before), 4 * US);
	KUNIT_EXPECT_EQ(test, irq_load_usual(10 * MS, 4 * US, &before), 16 * US);
}

static struct kunit_case irq_load_sampling_cases[] = {
	KUNIT_CASE(sampling_is_right_on_average),
	KUNIT_CASE(strata_follow_the_rate),
	KUNIT_CASE(any_event_may_be_timed),
	KUNIT_CASE(clock_may_wrap_around),
	KUNIT_CASE(clock_may_go_back),
	KUNIT_CASE(clock_may_stand_still),
	KUNIT_CASE(one_slow_run_is_one),
	KUNIT_CASE(sums_do_not_go_back),
	KUNIT_CASE(unsampled_ones_are_estimated),
	KUNIT_CASE(load_scales_with_frequency),
	KUNIT_CASE(one_long_run_is_not_usual),
	{}
};

static struct kunit_suite irq_load_sampling_suite = {
	.name		= "irq_load_sampling",
	.test_cases	= irq_load_sampling_cases,
};

kunit_test_suite(irq_load_sampling_suite);
