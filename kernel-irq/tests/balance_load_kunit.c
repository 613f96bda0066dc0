// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the load map: its arithmetic with made-up clocks, and what is
 * charged to interrupts. Those are real, the chip is not.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqdesc.h>
#include <linux/irqdomain.h>
#include <linux/processor.h>
#include <linux/sched/clock.h>

#include <kunit/test.h>

#include "../internals.h"
#include "../balance.h"
#include "../balance_charge.h"
#include "../balance_pace.h"

#define US	NSEC_PER_USEC
#define MS	((u64)NSEC_PER_MSEC)
#define SEC	((u64)NSEC_PER_SEC)

/*
 * An interrupt that comes each @period ns for @time ns and whose handler takes
 * what @cost says, on a clock that starts anywhere.
 */
struct source {
	struct irq_balance_desc	b;
	u64			now;
	u64			true_time;
	unsigned int		interrupts;
	unsigned int		samples;
};

static void source_run(struct source *s, u64 period, u64 time, u64 (*cost)(unsigned int n))
{
	u64 end;

	for (end = s->now + time; (s64)(end - s->now) > 0; s->now += period) {
		u64 delta = cost(s->interrupts++), since;

		s->true_time += delta;
		if (--s->b.skip != 0)
			continue;
		s->samples++;
		since = s->now + delta - s->b.stamp;
		irq_balance_take_sample(&s->b, s->now + delta, since, delta);
		irq_balance_next_gap(&s->b, s->now + delta, since);
		if (s->now + delta - s->b.rest_stamp >= IRQ_BALANCE_REST_NS) {
			irq_balance_take_carry(&s->b, s->now + delta);
			irq_balance_shorten_gaps(&s->b, since);
		}
	}
}

/* A source that has found its gap */
static void source_init(struct source *s, u64 now, u64 period, u64 (*cost)(unsigned int n))
{
	*s = (struct source) { .b.gap = 1, .b.skip = 1, .now = now };
	source_run(s, period, 100 * MS, cost);
	s->b.time = 0;
	s->true_time = 0;
	s->interrupts = 0;
	s->samples = 0;
}

static u64 cost_even(unsigned int n)
{
	return 4 * US;
}

/* The same mean, but every other interrupt is cheap */
static u64 cost_alternating(unsigned int n)
{
	return n % 2 ? 7 * US : US;
}

/* The same mean, all in every 64th */
static u64 cost_bursts(unsigned int n)
{
	return n % 64 ? US : 193 * US;
}

static void expect_near(struct kunit *test, u64 value, u64 truth, unsigned int percent)
{
	KUNIT_EXPECT_GE(test, 100 * value, (100 - percent) * truth);
	KUNIT_EXPECT_LE(test, 100 * value, (100 + percent) * truth);
}

static void sampling_is_right_on_average(struct kunit *test)
{
	static const u64 periods[] = { 200 * US, 20 * US, 10 * US, 10 * MS };
	static u64 (*const costs[])(unsigned int n) = { cost_even, cost_alternating };
	struct source s;

	for (int i = 0; i < ARRAY_SIZE(periods); i++) {
		for (int j = 0; j < ARRAY_SIZE(costs); j++) {
			source_init(&s, SEC, periods[i] + 7, costs[j]);
			source_run(&s, periods[i] + 7, 20 * SEC, costs[j]);
			expect_near(test, s.b.time, s.true_time, 4);
			KUNIT_EXPECT_LE(test, s.samples, 20 * 1000 * 5 / 4);
		}
	}

	/* If one in many is slow few of them are seen: wider bounds */
	source_init(&s, SEC, 20 * US + 7, cost_bursts);
	source_run(&s, 20 * US + 7, 60 * SEC, cost_bursts);
	expect_near(test, s.b.time, s.true_time, 10);
}

static void gap_follows_the_rate(struct kunit *test)
{
	struct source s;

	/* Rare: each one is timed */
	source_init(&s, SEC, 5 * MS, cost_even);
	KUNIT_EXPECT_EQ(test, s.b.gap, 1);

	/* 100 per ms; two thirds of the aimed at are as good */
	source_run(&s, 10 * US, SEC, cost_even);
	KUNIT_EXPECT_GE(test, s.b.spread, 63);
	KUNIT_EXPECT_LE(test, s.b.spread, 511);

	/* It is bounded, whatever the rate */
	source_run(&s, 10, SEC / 4, cost_even);
	KUNIT_EXPECT_LE(test, s.b.spread, IRQ_BALANCE_MAX_SPREAD);
	KUNIT_EXPECT_LE(test, s.b.gap, 2 * IRQ_BALANCE_MAX_SPREAD);

	/* Bursts with silence between them are not timed from end to end */
	source_init(&s, SEC, 20 * US, cost_even);
	s.samples = 0;
	for (int i = 0; i < 100; i++) {
		source_run(&s, 5 * US, 5 * MS, cost_even);
		s.now += 20 * MS;
	}
	KUNIT_EXPECT_LE(test, s.samples, 100 * 40);

	/* And back, as soon as a pass has looked */
	irq_balance_flush_gap(&s.b, s.now + 10 * MS);
	KUNIT_EXPECT_EQ(test, s.b.gap, 1);
	KUNIT_EXPECT_EQ(test, s.b.skip, 1);
}

static void gaps_are_not_all_the_same(struct kunit *test)
{
	struct irq_balance_desc b = { .spread = 63 };
	unsigned int least = U32_MAX, most = 0;

	for (u64 now = 0; now < 1000 * 2 * MS; now += 2 * MS + 7919) {
		irq_balance_shorten_gaps(&b, 2 * MS);
		irq_balance_next_gap(&b, now, 2 * MS);
		KUNIT_ASSERT_EQ(test, b.spread, 63);
		KUNIT_ASSERT_EQ(test, b.skip, b.gap);
		least = min(least, b.gap);
		most = max(most, b.gap);
	}
	KUNIT_EXPECT_GE(test, least, 32);
	KUNIT_EXPECT_LE(test, least, 36);
	KUNIT_EXPECT_GE(test, most, 90);
	KUNIT_EXPECT_LE(test, most, 95);
}

static void clock_may_wrap_around(struct kunit *test)
{
	struct source s;

	source_init(&s, -10 * SEC, 20 * US, cost_even);
	source_run(&s, 20 * US, 20 * SEC, cost_even);
	KUNIT_ASSERT_LT(test, s.now, 11 * SEC);
	expect_near(test, s.b.time, s.true_time, 4);

	/* So may what is counted */
	source_init(&s, SEC, 20 * US, cost_even);
	s.b.time = -10 * MS;
	source_run(&s, 20 * US, SEC, cost_even);
	expect_near(test, s.b.time + 10 * MS, s.true_time, 3);
}

static void clock_may_go_back(struct kunit *test)
{
	struct irq_balance_desc b = { .gap = 64, .spread = 63, .stamp = 10 * SEC, .time = MS };
	u64 since;

	KUNIT_EXPECT_EQ(test, irq_balance_since(5, 7), 0);
	KUNIT_EXPECT_EQ(test, irq_balance_since(7, 5), 2);

	/* The stamp is of a CPU that is 5 s ahead: how long ago is not known */
	since = 5 * SEC - b.stamp;
	KUNIT_EXPECT_EQ(test, irq_balance_take_sample(&b, 5 * SEC, since, 4 * US), 64 * 4 * US);
	KUNIT_EXPECT_EQ(test, b.time, MS + 64 * 4 * US);
	KUNIT_EXPECT_EQ(test, b.count, 64);
	irq_balance_next_gap(&b, 5 * SEC, since);
	KUNIT_EXPECT_EQ(test, b.spread, 63);
	irq_balance_shorten_gaps(&b, since);
	KUNIT_EXPECT_EQ(test, b.spread, 31);

	/* A handler that ended before it began took no time */
	KUNIT_EXPECT_EQ(test, irq_balance_take_sample(&b, 6 * SEC, MS, -US), 0);
	KUNIT_EXPECT_EQ(test, b.time, MS + 64 * 4 * US);
	/* Nor one in which the clock went back behind the last sample */
	KUNIT_EXPECT_EQ(test, irq_balance_take_sample(&b, 4 * SEC, -MS, -2 * MS), 0);
	KUNIT_EXPECT_EQ(test, b.time, MS + 64 * 4 * US);
	KUNIT_EXPECT_EQ(test, b.last, 0);
	KUNIT_EXPECT_EQ(test, b.max, 4 * US);
	KUNIT_EXPECT_EQ(test, b.carry, 0);
}

static void no_time_is_no_charge(struct kunit *test)
{
	struct irq_balance_desc b = { .gap = 8, .spread = 7 };
	struct irq_balance_average avg = {};

	/* A clock that stands still */
	KUNIT_EXPECT_EQ(test, irq_balance_take_sample(&b, SEC, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, b.count, 8);
	irq_balance_next_gap(&b, SEC, 0);
	KUNIT_EXPECT_GE(test, b.gap, 1);

	/* An average over no time is no average */
	irq_balance_average_update(&avg, MS, SEC, IRQ_BALANCE_CAPACITY);
	irq_balance_average_update(&avg, 2 * MS, 10 * MS, IRQ_BALANCE_CAPACITY);
	KUNIT_EXPECT_EQ(test, avg.fast, 100 * MS);
	irq_balance_average_update(&avg, 9 * MS, 0, IRQ_BALANCE_CAPACITY);
	KUNIT_EXPECT_EQ(test, avg.fast, 100 * MS);
}

/* The gap is no licence to charge more time than there was */
static void one_slow_run_is_one(struct kunit *test)
{
	struct irq_balance_desc b = { .gap = 1000 };

	KUNIT_EXPECT_EQ(test, irq_balance_take_sample(&b, SEC, 6 * MS, 5 * MS), 6 * MS);
	KUNIT_EXPECT_EQ(test, b.max, 5 * MS);
	KUNIT_EXPECT_EQ(test, b.count, 1000);

	/* Of the rest a little is charged later, at half of the time at most */
	KUNIT_EXPECT_EQ(test, b.carry, IRQ_BALANCE_CARRY_NS);
	b.rest_stamp = SEC;
	KUNIT_EXPECT_EQ(test, irq_balance_take_carry(&b, SEC + 10 * MS), 5 * MS);
	KUNIT_EXPECT_EQ(test, irq_balance_take_carry(&b, 9 * SEC), IRQ_BALANCE_CARRY_NS - 5 * MS);
	KUNIT_EXPECT_EQ(test, irq_balance_take_carry(&b, 10 * SEC), 0);
	KUNIT_EXPECT_EQ(test, b.time, 6 * MS + IRQ_BALANCE_CARRY_NS);
}

static void maximum_decays(struct kunit *test)
{
	struct irq_balance_desc b = { .gap = 1 };

	irq_balance_take_sample(&b, SEC, MS, 800 * US);
	KUNIT_EXPECT_EQ(test, b.max, 800 * US);
	irq_balance_take_sample(&b, SEC + 2 * MS, 2 * MS, 10 * US);
	KUNIT_EXPECT_EQ(test, b.max, 800 * US);

	/* An eighth per 2^30 ns */
	irq_balance_decay_max(&b, SEC + BIT_ULL(30));
	KUNIT_EXPECT_EQ(test, b.max, 700 * US);
	irq_balance_decay_max(&b, SEC + BIT_ULL(30));
	KUNIT_EXPECT_EQ(test, b.max, 700 * US);
	irq_balance_decay_max(&b, SEC + 11 * BIT_ULL(30));
	KUNIT_EXPECT_LT(test, b.max, 200 * US);

	/* Seconds later the present ones are the longest */
	irq_balance_decay_max(&b, 60 * SEC);
	irq_balance_take_sample(&b, 60 * SEC, MS, 10 * US);
	KUNIT_EXPECT_EQ(test, b.max, 10 * US);
	irq_balance_decay_max(&b, 600 * SEC);
	KUNIT_EXPECT_EQ(test, b.max, 0);
}

static void sums_do_not_go_back(struct kunit *test)
{
	u64 highest = 100;

	KUNIT_EXPECT_EQ(test, irq_balance_advance(&highest, 90), 0);
	KUNIT_EXPECT_EQ(test, highest, 100);
	KUNIT_EXPECT_EQ(test, irq_balance_advance(&highest, 130), 30);
	KUNIT_EXPECT_EQ(test, highest, 130);

	highest = -5;
	KUNIT_EXPECT_EQ(test, irq_balance_advance(&highest, 5), 10);
	KUNIT_EXPECT_EQ(test, highest, 5);
}

static void unsampled_ones_are_estimated(struct kunit *test)
{
	struct irq_balance_desc b = { .gap = 1 };

	irq_balance_take_sample(&b, SEC, SEC, 3 * US);
	b.gap = 100;
	b.skip = 100;
	KUNIT_EXPECT_EQ(test, irq_balance_unsampled(&b), 0);
	b.skip = 60;
	KUNIT_EXPECT_EQ(test, irq_balance_unsampled(&b), 40);
	KUNIT_EXPECT_EQ(test, irq_balance_unsampled_time(&b, SEC + MS), 40 * 3 * US);
	/* 40 like the last would have taken longer than there was time */
	KUNIT_EXPECT_EQ(test, irq_balance_unsampled_time(&b, SEC + 50 * US), 50 * US);

	/* Too early to give the gap up, and then not */
	irq_balance_flush_gap(&b, SEC + MS);
	KUNIT_EXPECT_EQ(test, b.count, 1);
	irq_balance_flush_gap(&b, SEC + 5 * MS);
	KUNIT_EXPECT_EQ(test, b.count, 41);
	KUNIT_EXPECT_EQ(test, b.time, 41 * 3 * US);
	KUNIT_EXPECT_EQ(test, b.skip, 1);
	KUNIT_EXPECT_EQ(test, irq_balance_unsampled(&b), 0);
}

static void load_of_a_stopped_one_decays(struct kunit *test)
{
	struct irq_balance_average avg = {};
	u64 total = 0;

	for (int i = 0; i < 20; i++)
		irq_balance_average_update(&avg, total += 20 * MS, 100 * MS, IRQ_BALANCE_CAPACITY);
	KUNIT_EXPECT_EQ(test, avg.fast, 200 * MS);
	irq_balance_average_update(&avg, total, 64 * MS, IRQ_BALANCE_CAPACITY);
	expect_near(test, avg.fast, 100 * MS, 2);
	irq_balance_average_update(&avg, total, 2 * SEC, IRQ_BALANCE_CAPACITY);
	KUNIT_EXPECT_LT(test, avg.fast, US);
}

static void raisers_share(struct kunit *test)
{
	struct irq_balance_raisers r = {};
	unsigned int irqs[IRQ_BALANCE_RAISERS];

	KUNIT_EXPECT_EQ(test, irq_balance_take_raisers(&r, SEC, irqs), 0);

	/* Sampled ones stay, once each */
	irq_balance_note_raiser(&r, 10, false, SEC);
	irq_balance_note_raiser(&r, 11, false, SEC + MS);
	irq_balance_note_raiser(&r, 10, false, SEC + 2 * MS);
	KUNIT_EXPECT_EQ(test, irq_balance_take_raisers(&r, SEC + 3 * MS, irqs), 2);
	KUNIT_EXPECT_EQ(test, irqs[0], 10);
	KUNIT_EXPECT_EQ(test, irqs[1], 11);
	KUNIT_EXPECT_EQ(test, irq_balance_take_raisers(&r, SEC + 4 * MS, irqs), 2);

	/* A rare one is asked for the run that it raised */
	irq_balance_note_raiser(&r, 12, true, SEC + 5 * MS);
	KUNIT_EXPECT_EQ(test, irq_balance_take_raisers(&r, SEC + 6 * MS, irqs), 3);
	KUNIT_EXPECT_EQ(test, irqs[2], 12);
	KUNIT_EXPECT_EQ(test, irq_balance_take_raisers(&r, SEC + 7 * MS, irqs), 2);

	/* Whoever does not raise any more has no share */
	KUNIT_EXPECT_EQ(test, irq_balance_take_raisers(&r, SEC + 26 * MS - US, irqs), 1);
	KUNIT_EXPECT_EQ(test, irqs[0], 10);
	KUNIT_EXPECT_EQ(test, irq_balance_take_raisers(&r, SEC + 60 * MS, irqs), 0);

	/* There is room for a few, the latest */
	for (int i = 0; i < IRQ_BALANCE_RAISERS + 2; i++)
		irq_balance_note_raiser(&r, 20 + i, false, 2 * SEC + i);
	KUNIT_EXPECT_EQ(test, irq_balance_take_raisers(&r, 2 * SEC + 10, irqs),
			IRQ_BALANCE_RAISERS);
	for (int i = 0; i < IRQ_BALANCE_RAISERS; i++)
		KUNIT_EXPECT_GE(test, irqs[i], 22);
}

/* An interrupt with what its actions do */
struct fake {
	unsigned int		irq;
	unsigned int		handled;
	unsigned int		hard_us;
	unsigned int		soft_us;
	unsigned int		thread_us;
	struct irq_desc		*desc;
	struct tasklet_struct	tasklet;
	bool			measures;
	u64			in_thread_ns;
	struct fake		*other;

	/* Instead of what thread and tasklet do else */
	void			(*in_thread)(struct fake *fake);
	void			(*in_work)(struct fake *fake);
};

static struct irq_chip fake_chip = {
	.name		= "fake-load",
	.flags		= IRQCHIP_SKIP_SET_WAKE,
};

/* Not udelay(), whose calibration may be wrong where time is emulated */
static void spin_us(unsigned int us)
{
	u64 start = local_clock();

	while (local_clock() - start < us * NSEC_PER_USEC)
		cpu_relax();
}

static irqreturn_t fake_handler(int irq, void *data)
{
	struct fake *fake = data;

	fake->handled++;
	if (fake->hard_us)
		spin_us(fake->hard_us);
	if (fake->soft_us && !fake->in_thread)
		tasklet_schedule(&fake->tasklet);
	return fake->thread_us ? IRQ_WAKE_THREAD : IRQ_HANDLED;
}

static irqreturn_t fake_thread(int irq, void *data)
{
	struct fake *fake = data;
	u64 start = local_clock();

	spin_us(fake->thread_us);
	if (fake->in_thread)
		fake->in_thread(fake);
	fake->in_thread_ns += local_clock() - start;
	return IRQ_HANDLED;
}

static void fake_work(struct tasklet_struct *t)
{
	struct fake *fake = container_of(t, struct fake, tasklet);

	if (fake->in_work)
		fake->in_work(fake);
	else
		spin_us(fake->soft_us);
}

static void fake_free(void *data)
{
	struct fake *fake = data;

	if (fake->desc->action)
		free_irq(fake->irq, fake);
	tasklet_kill(&fake->tasklet);
	irq_free_desc(fake->irq);
	if (fake->measures)
		irq_balance_load_put();
}

static void fake_request(struct kunit *test, struct fake *fake)
{
	KUNIT_ASSERT_EQ(test, 0,
			request_threaded_irq(fake->irq, fake_handler, fake_thread,
					     IRQF_NO_THREAD | IRQF_SHARED, "fake", fake));
}

static struct fake *fake_irq(struct kunit *test)
{
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	int irq;

	KUNIT_ASSERT_NOT_NULL(test, fake);
	irq = irq_domain_alloc_descs(-1, 1, 0, NUMA_NO_NODE, NULL);
	KUNIT_ASSERT_GT(test, irq, 0);
	fake->irq = irq;
	fake->desc = irq_to_desc(irq);
	KUNIT_ASSERT_NOT_NULL(test, fake->desc);
	tasklet_setup(&fake->tasklet, fake_work);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, fake_free, fake), 0);

	irq_set_chip_and_handler(irq, &fake_chip, handle_simple_irq);
	irq_settings_clr_norequest(fake->desc);
	fake_request(test, fake);
	irq_balance_load_get();
	fake->measures = true;
	return fake;
}

/* Raised @n times; what follows is waited for each time */
static void fake_raise(struct fake *fake, unsigned int n)
{
	while (n--) {
		scoped_guard(irqsave)
			generic_handle_irq(fake->irq);
		if (fake->soft_us) {
			local_bh_disable();
			local_bh_enable();
		}
		if (fake->thread_us)
			synchronize_irq(fake->irq);
	}
}

static struct irq_balance_load fake_load(struct kunit *test, struct fake *fake)
{
	struct irq_balance_load load = {};

	KUNIT_EXPECT_EQ(test, irq_balance_load_read(fake->irq, &load), 0);
	return load;
}

/* Samples stand for what is between them: no interrupt is left out or doubled */
static void load_counts_every_interrupt(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	struct irq_balance_load before = fake_load(test, fake), after;

	for (unsigned int i = 1; i <= 6; i++) {
		fake_raise(fake, 500);
		after = fake_load(test, fake);
		KUNIT_EXPECT_EQ(test, after.count - before.count, i * 500);
		KUNIT_EXPECT_GE(test, after.time_ns, before.time_ns);
	}
	/* That was too fast to time each of them */
	KUNIT_EXPECT_GT(test, fake->desc->balance.gap, 1);
}

/*
 * A handler takes at least that long, and nothing else was there. A sample that
 * an emulator stretches stands for many: most attempts must be right, not all.
 */
static void load_is_time(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	struct irq_balance_load before, after;

	for (unsigned int us = 20; us <= 200; us *= 10) {
		unsigned int right = 0;

		fake->hard_us = us;
		/* A host that takes the CPU away makes one handler long, which counts for many */
		for (unsigned int i = 0; right < 3 && i < 50; i++) {
			u64 start = local_clock(), spent, charged;

			before = fake_load(test, fake);
			fake_raise(fake, 20000 / us);
			after = fake_load(test, fake);
			spent = local_clock() - start;
			charged = after.time_ns - before.time_ns;

			if (charged >= 16 * MS && charged <= spent + spent / 8)
				right++;
			else
				kunit_info(test, "%u us: %llu ns in %llu\n", us, charged, spent);
		}
		KUNIT_EXPECT_EQ(test, right, 3);
		KUNIT_EXPECT_GE(test, after.max_ns, us * US);
		KUNIT_EXPECT_EQ(test, after.soft_ns, 0);
		KUNIT_EXPECT_EQ(test, after.thread_ns, 0);
	}
}

static void tasklet_is_charged_to_who_schedules_it(struct kunit *test)
{
	struct fake *fake = fake_irq(test), *other = fake_irq(test);
	struct irq_balance_load before, after;

	fake->soft_us = 100;
	before = fake_load(test, fake);
	fake_raise(fake, 100);
	after = fake_load(test, fake);
	KUNIT_EXPECT_EQ(test, fake->tasklet.load_irq, fake->irq);
	KUNIT_EXPECT_GE(test, after.soft_ns - before.soft_ns, 9 * MS);
	KUNIT_EXPECT_EQ(test, fake_load(test, other).soft_ns, 0);
}

static void thread_is_charged(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	struct irq_balance_load before, after;

	before = fake_load(test, fake);
	fake->thread_us = 200;
	fake_raise(fake, 50);
	after = fake_load(test, fake);
	KUNIT_EXPECT_GE(test, after.thread_ns - before.thread_ns, 9 * MS);
	KUNIT_EXPECT_EQ(test, after.soft_ns, before.soft_ns);
}

static void sleep_in_thread(struct fake *fake)
{
	usleep_range(2000, 2500);
}

/* A thread that sleeps in its handler is no load then */
static void sleep_is_not_charged(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	u64 before, least = U64_MAX;
	int i;

	fake->thread_us = 200;
	fake->in_thread = sleep_in_thread;
	/* The least of three: a busy host may take the CPU away meanwhile */
	for (i = 0; i < 3; i++) {
		before = fake_load(test, fake).thread_ns;
		fake_raise(fake, 50);
		least = min(least, fake_load(test, fake).thread_ns - before);
	}
	KUNIT_EXPECT_GE(test, least, 9 * MS);
	KUNIT_EXPECT_LT(test, least, 50 * MS);
}

static void softirq_in_thread(struct fake *fake)
{
	local_bh_disable();
	tasklet_schedule(&fake->tasklet);
	local_bh_enable();
}

/* As with forced threading and PREEMPT_RT: the thread runs what it has raised */
static void softirq_of_a_thread_is_charged_once(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	struct irq_balance_load before, after;

	fake->thread_us = 200;
	fake->soft_us = 600;
	fake->in_thread = softirq_in_thread;
	before = fake_load(test, fake);
	fake_raise(fake, 50);
	after = fake_load(test, fake);
	KUNIT_EXPECT_EQ(test, fake->tasklet.load_irq, fake->irq);
	KUNIT_EXPECT_GE(test, after.soft_ns - before.soft_ns, 27 * MS);
	KUNIT_EXPECT_GE(test, after.thread_ns - before.thread_ns, 9 * MS);
	KUNIT_EXPECT_LE(test, after.soft_ns - before.soft_ns + after.thread_ns - before.thread_ns,
			fake->in_thread_ns + fake->in_thread_ns / 8);
}

static void interrupt_in_thread(struct fake *fake)
{
	scoped_guard(irqsave)
		generic_handle_irq(fake->other->irq);
}

static void interrupt_over_a_thread_is_charged_once(struct kunit *test)
{
	struct fake *fake = fake_irq(test), *other = fake_irq(test);
	struct irq_balance_load before, after;
	u64 charged;

	/* So rare that each is timed */
	fake->thread_us = 1200;
	fake->in_thread = interrupt_in_thread;
	fake->other = other;
	other->hard_us = 600;
	before = fake_load(test, fake);
	fake_raise(fake, 50);
	after = fake_load(test, fake);
	charged = fake_load(test, other).time_ns;
	KUNIT_EXPECT_GE(test, charged, 27 * MS);
	KUNIT_EXPECT_GE(test, after.thread_ns - before.thread_ns, 54 * MS);
	KUNIT_EXPECT_LE(test, after.thread_ns - before.thread_ns + charged,
			fake->in_thread_ns + fake->in_thread_ns / 8);
}

static void span_in_work(struct fake *fake)
{
	struct irq_balance_span span;

	irq_balance_softirq_begin(&span);
	/* PREEMPT_RT: as if somebody else had run in it */
	if (!fake->hard_us)
		span.notifier.ops->sched_out(&span.notifier, current);
	spin_us(fake->soft_us);
	if (!fake->hard_us)
		span.notifier.ops->sched_in(&span.notifier, smp_processor_id());
	/* As if somebody had stopped to measure and begun again */
	if (fake->hard_us == 2)
		span.session++;
	irq_balance_softirq_end(&span, fake->other->irq);
}

/* A span is taken out of the one around it, but for what others ran in it */
static void span_without_what_others_run_is_charged(struct kunit *test)
{
	struct fake *fake = fake_irq(test), *other = fake_irq(test);
	u64 others = U64_MAX, own = U64_MAX;
	struct irq_balance_load before, after;
	int i;

	fake->soft_us = 200;
	fake->in_work = span_in_work;
	fake->other = other;
	/* The least of three: a busy host may take the CPU away meanwhile */
	for (i = 0; i < 3; i++) {
		u64 was = fake_load(test, other).soft_ns;

		before = fake_load(test, fake);
		fake_raise(fake, 50);
		after = fake_load(test, fake);
		others = min(others, fake_load(test, other).soft_ns - was);
		/* With PREEMPT_RT others may really run in it */
		KUNIT_EXPECT_GE(test, after.soft_ns - before.soft_ns, 5 * MS);
	}
	/* 10 ms if it were not */
	KUNIT_EXPECT_LT(test, others, 9 * MS);

	fake->hard_us = 1;
	for (i = 0; i < 3; i++) {
		before = fake_load(test, fake);
		fake_raise(fake, 50);
		after = fake_load(test, fake);
		own = min(own, after.soft_ns - before.soft_ns);
	}
	KUNIT_EXPECT_GE(test, fake_load(test, other).soft_ns, 5 * MS);
	KUNIT_EXPECT_LT(test, own, 9 * MS);

	fake->hard_us = 2;
	before = fake_load(test, other);
	fake_raise(fake, 50);
	KUNIT_EXPECT_EQ(test, fake_load(test, other).soft_ns, before.soft_ns);
}

/* One who stops to measure leaves the spans of the others alone */
static void session_goes_on_with_other_users(struct kunit *test)
{
	struct irq_balance_span span = { };
	u64 now;

	fake_irq(test);
	irq_balance_load_get();
	irq_balance_span_begin(&span);
	KUNIT_ASSERT_TRUE(test, irq_balance_span_runs(&span));
	spin_us(200);
	irq_balance_load_put();
	/* 0 if it had ended; others may have run in it */
	KUNIT_EXPECT_GT(test, irq_balance_span_end(&span, &now), 0);
}

static unsigned int told;

static void tell(struct irq_work *work)
{
	told++;
}

static DEFINE_IRQ_WORK(tell_work, tell);

/* Charges @ns, and whether that was told at @now */
static bool is_told(struct irq_balance_desc *b, s64 ns, u64 now)
{
	unsigned int before = told;

	atomic64_add(ns, &b->soft);
	scoped_guard(irqsave)
		irq_balance_check_limit(b, now);
	irq_work_sync(&tell_work);
	return told != before;
}

static void rising_load_is_told(struct kunit *test)
{
	/* Sums may wrap around */
	struct irq_balance_desc b = { .time = -MS, .window_total = -MS };
	enum irq_balance_mode mode = irq_balance_get_mode();

	/* Whose work is told otherwise */
	KUNIT_ASSERT_EQ(test, irq_balance_set_mode(IRQ_BALANCE_OFF), 0);
	irq_balance_load_set_kick(&tell_work, 4 * MS, 100 * MS);

	/* Less than a quantum is nothing, and one in a second not much */
	KUNIT_EXPECT_FALSE(test, is_told(&b, 3 * MS, MS));
	KUNIT_EXPECT_FALSE(test, is_told(&b, MS, SEC));

	/* One in less than the limit; of all kinds */
	KUNIT_EXPECT_TRUE(test, is_told(&b, 4 * MS, SEC + 99 * MS));
	b.thread += 2 * MS;
	b.time += MS;
	KUNIT_EXPECT_FALSE(test, is_told(&b, MS, SEC + 200 * MS));

	/* Two in twice the limit are as much */
	KUNIT_EXPECT_TRUE(test, is_told(&b, 8 * MS, SEC + 390 * MS));

	/* What the planner knows of is no news */
	b.limit = 50 * MS;
	KUNIT_EXPECT_FALSE(test, is_told(&b, 4 * MS, SEC + 450 * MS));
	KUNIT_EXPECT_TRUE(test, is_told(&b, 4 * MS, SEC + 490 * MS));

	/* What was given back is charged before anything is told */
	KUNIT_EXPECT_FALSE(test, is_told(&b, -3 * MS, SEC + 491 * MS));
	KUNIT_EXPECT_FALSE(test, is_told(&b, 4 * MS, SEC + 492 * MS));

	irq_balance_load_set_kick(NULL, 0, 0);
	KUNIT_EXPECT_FALSE(test, is_told(&b, SEC, SEC + 493 * MS));
	KUNIT_EXPECT_EQ(test, irq_balance_set_mode(mode), 0);
}

/* What a thread did stays when it goes, and the next one starts from nothing */
static void removed_action_stays_charged(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	struct irq_balance_load before, after;

	fake->thread_us = 200;
	fake_raise(fake, 50);
	before = fake_load(test, fake);
	fake_raise(fake, 50);
	free_irq(fake->irq, fake);
	after = fake_load(test, fake);
	KUNIT_EXPECT_GE(test, after.thread_ns - before.thread_ns, 9 * MS);

	before = after;
	fake_request(test, fake);
	after = fake_load(test, fake);
	KUNIT_EXPECT_GE(test, after.thread_ns, before.thread_ns);
	KUNIT_EXPECT_LT(test, after.thread_ns - before.thread_ns, 5 * MS);
	fake_raise(fake, 50);
	KUNIT_EXPECT_GE(test, fake_load(test, fake).thread_ns - after.thread_ns, 9 * MS);
}

/* All actions of a line are one load, and what one took stays when it goes */
static void shared_line_is_one_load(struct kunit *test)
{
	struct fake *fake = fake_irq(test), *second;
	struct irq_balance_load before, after;

	second = kunit_kzalloc(test, sizeof(*second), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, second);
	second->hard_us = 300;
	fake->hard_us = 100;

	before = fake_load(test, fake);
	KUNIT_ASSERT_EQ(test, 0,
			request_irq(fake->irq, fake_handler, IRQF_NO_THREAD | IRQF_SHARED,
				    "second", second));
	fake_raise(fake, 50);
	free_irq(fake->irq, second);
	after = fake_load(test, fake);
	KUNIT_EXPECT_EQ(test, fake->handled, 50);
	KUNIT_EXPECT_EQ(test, second->handled, 50);
	KUNIT_EXPECT_EQ(test, after.count - before.count, 50);
	KUNIT_EXPECT_GE(test, after.time_ns - before.time_ns, 18 * MS);
	KUNIT_EXPECT_GE(test, after.max_ns, 400 * US);
}

/* Nothing moves, and what went on meanwhile is not made up for */
static void load_stands_still_when_off(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	enum irq_balance_mode mode = irq_balance_get_mode();
	struct irq_balance_load before, after;

	irq_balance_load_put();
	fake->measures = false;
	KUNIT_ASSERT_EQ(test, irq_balance_set_mode(IRQ_BALANCE_OFF), 0);

	before = fake_load(test, fake);
	fake->thread_us = 200;
	fake_raise(fake, 50);
	after = fake_load(test, fake);
	KUNIT_EXPECT_EQ(test, after.count, before.count);
	KUNIT_EXPECT_EQ(test, after.thread_ns, before.thread_ns);
	KUNIT_EXPECT_EQ(test, fake->handled, 50);

	KUNIT_EXPECT_EQ(test, irq_balance_load_get(), 0);
	after = fake_load(test, fake);
	irq_balance_load_put();
	KUNIT_EXPECT_LT(test, after.thread_ns - before.thread_ns, 5 * MS);
	KUNIT_EXPECT_EQ(test, irq_balance_set_mode(mode), 0);
}

static struct kunit_case irq_balance_load_cases[] = {
	KUNIT_CASE(sampling_is_right_on_average),
	KUNIT_CASE(gap_follows_the_rate),
	KUNIT_CASE(gaps_are_not_all_the_same),
	KUNIT_CASE(clock_may_wrap_around),
	KUNIT_CASE(clock_may_go_back),
	KUNIT_CASE(no_time_is_no_charge),
	KUNIT_CASE(one_slow_run_is_one),
	KUNIT_CASE(maximum_decays),
	KUNIT_CASE(sums_do_not_go_back),
	KUNIT_CASE(unsampled_ones_are_estimated),
	KUNIT_CASE(load_of_a_stopped_one_decays),
	KUNIT_CASE(raisers_share),
	KUNIT_CASE(load_counts_every_interrupt),
	KUNIT_CASE(load_is_time),
	KUNIT_CASE(tasklet_is_charged_to_who_schedules_it),
	KUNIT_CASE(thread_is_charged),
	KUNIT_CASE(sleep_is_not_charged),
	KUNIT_CASE(softirq_of_a_thread_is_charged_once),
	KUNIT_CASE(interrupt_over_a_thread_is_charged_once),
	KUNIT_CASE(span_without_what_others_run_is_charged),
	KUNIT_CASE(session_goes_on_with_other_users),
	KUNIT_CASE(rising_load_is_told),
	KUNIT_CASE(removed_action_stays_charged),
	KUNIT_CASE(shared_line_is_one_load),
	KUNIT_CASE(load_stands_still_when_off),
	{}
};

static struct kunit_suite irq_balance_load_suite = {
	.name		= "irq_balance_load",
	.test_cases	= irq_balance_load_cases,
};

kunit_test_suite(irq_balance_load_suite);
