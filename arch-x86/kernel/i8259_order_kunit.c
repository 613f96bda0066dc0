// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the 8259A's order of service. "FAQ" is the FAQ of irqtune, revision 0.2, 1996. It
 * has examples. tools/testing/irq_balance compares all orders with exact fractions.
 */
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "i8259_order.h"

/* A line of the analysis; the last argument may be left out. */
#define LINE(cost, rate, ...) \
	{ .used = true, .cost_us = (cost), .rate_hz = (rate), .deadline_us = (__VA_ARGS__ + 0) }

/*
 * The FAQ has these orders as ranks of the lines. Its table for 3,12 counts the
 * slot of the cascade, its table for 2,11 does not; here it is never counted.
 */
static void test_faq_orders(struct kunit *test)
{
	static const struct {
		struct i8259_order order;
		u8 irqs[I8259_NR_DEVICES];
	} cases[] = {
		{ { 0, 8 },  { 0, 1, 8, 9, 10, 11, 12, 13, 14, 15, 3, 4, 5, 6, 7 } },
		{ { 3, 14 }, { 3, 4, 5, 6, 7, 0, 1, 14, 15, 8, 9, 10, 11, 12, 13 } },
		{ { 3, 12 }, { 3, 4, 5, 6, 7, 0, 1, 12, 13, 14, 15, 8, 9, 10, 11 } },
		{ { 2, 11 }, { 11, 12, 13, 14, 15, 8, 9, 10, 3, 4, 5, 6, 7, 0, 1 } },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		u8 irqs[I8259_NR_DEVICES];

		i8259_order_irqs(cases[i].order, irqs);
		KUNIT_EXPECT_MEMEQ(test, irqs, cases[i].irqs, sizeof(irqs));
	}
}

static void test_ocw2(struct kunit *test)
{
	static const u8 expected[] = { 0xc7, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6 };

	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++)
		KUNIT_EXPECT_EQ(test, i8259_ocw2_first(irq), expected[irq % 8]);
}

static void test_parse_good(struct kunit *test)
{
	static const struct {
		const char *text;
		struct i8259_choice choice;
	} cases[] = {
		{ "3",		{ I8259_MODE_FIXED, { 3, 14 } } },
		{ "3,14",	{ I8259_MODE_FIXED, { 3, 14 } } },
		{ "0,8\n",	{ I8259_MODE_FIXED, { 0, 8 } } },
		{ "7,15",	{ I8259_MODE_FIXED, { 7, 15 } } },
		{ "007,09",	{ I8259_MODE_FIXED, { 7, 9 } } },
		{ "auto\n",	{ I8259_MODE_AUTO, { 0, 8 } } },
		{ "off",	{ I8259_MODE_DEFAULT, { 0, 8 } } },
		{ "default\n",	{ I8259_MODE_DEFAULT, { 0, 8 } } },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct i8259_choice *expected = &cases[i].choice;
		struct i8259_choice choice = { .order = { 99, 99 } };

		KUNIT_EXPECT_EQ_MSG(test, i8259_choice_parse(cases[i].text, &choice), 0,
				    "'%s'", cases[i].text);
		KUNIT_EXPECT_EQ(test, choice.mode, expected->mode);
		KUNIT_EXPECT_TRUE(test, i8259_order_equal(choice.order, expected->order));
	}
}

static void test_parse_bad(struct kunit *test)
{
	static const char * const cases[] = {
		"", "\n", " ", ",", "8", "14", "8,14", "3,", ",14", "3,7", "3,2", "3,16", "-1",
		"+3", " 3", "3 ", "3 ,14", "3, 14", "3 14", "3,14,", "3,14,1", "0x3", "3,0xe",
		"3,14x", "3x", "3\n\n", "4294967299", "3,4294967310", "18446744073709551619",
		"Auto", "autos", "aut", "offf", "defaults", "none", "off,14", "3,auto", "0003",
	};
	const struct i8259_choice before = { I8259_MODE_AUTO, { 5, 10 } };
	const char *long_number = "70";
	u8 number = 9;

	KUNIT_EXPECT_EQ(test, i8259_number_parse(&long_number, 0, 7, &number), -EINVAL);
	KUNIT_EXPECT_EQ(test, number, 9);
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct i8259_choice choice = before;

		KUNIT_EXPECT_EQ_MSG(test, i8259_choice_parse(cases[i], &choice), -EINVAL,
				    "'%s'", cases[i]);
		KUNIT_EXPECT_EQ(test, choice.mode, before.mode);
		KUNIT_EXPECT_TRUE(test, i8259_order_equal(choice.order, before.order));
	}
}

static void expect_latency(struct kunit *test, struct i8259_order order,
			   const struct i8259_line *lines, unsigned int irq,
			   enum i8259_verdict verdict, u64 us)
{
	struct i8259_latency latency[I8259_NR_LINES];

	memset(latency, 0xff, sizeof(latency));
	i8259_order_latency(order, lines, latency);
	KUNIT_EXPECT_EQ_MSG(test, latency[irq].verdict, verdict, "%u,%u IRQ%u",
			    order.master, order.slave, irq);
	KUNIT_EXPECT_EQ_MSG(test, latency[irq].us, us, "%u,%u IRQ%u",
			    order.master, order.slave, irq);
}

/*
 * FAQ: 33.6 kbit/s with compression are at most 6700 B/s. The UART interrupts
 * after 8 bytes with room for 8 more: 8 / 6700 s = 1194 us, 838 interrupts/s.
 * Four lines of higher priority take 320, 300, 190 and 500 us.
 */
static void test_faq_latency(struct kunit *test)
{
	static const struct i8259_line lines[I8259_NR_LINES] = {
		[0]	= LINE(190, 100),
		[1]	= LINE(320, 10),
		[3]	= LINE(20, 838, 1194),
		[12]	= LINE(300, 20),
		[14]	= LINE(500, 30),
	};
	struct i8259_line unused[I8259_NR_LINES];
	struct i8259_ratio worst;
	struct i8259_order best;

	expect_latency(test, I8259_ORDER_DEFAULT, lines, 3, I8259_LATE, 1310);
	/* The load of lines that are not used does not count, ahead or behind */
	memcpy(unused, lines, sizeof(unused));
	for (unsigned int irq = 4; irq < 12; irq++) {
		unused[irq].cost_us = U32_MAX;
		unused[irq].rate_hz = U32_MAX;
	}
	expect_latency(test, I8259_ORDER_DEFAULT, unused, 3, I8259_LATE, 1310);
	expect_latency(test, (struct i8259_order){ 3, 14 }, lines, 3, I8259_OK, 500);

	best = i8259_order_best(lines, &worst);
	expect_latency(test, best, lines, 3, I8259_OK, 500);
	KUNIT_EXPECT_EQ(test, best.master, 3);
	KUNIT_EXPECT_EQ(test, i8259_ratio_permille(worst), 500 * 1000 / 1194);
}

/* Late means later than the deadline, by any fraction of a microsecond. */
static void test_deadline(struct kunit *test)
{
	static const struct {
		u32 rate_hz, deadline_us, us;
		enum i8259_verdict verdict;
	} cases[] = {
		/* Periods of 1000 us, 999.000999 us and 1001.001 us */
		{ 1000, 0, 1000, I8259_OK },
		{ 1001, 0, 1000, I8259_LATE },
		{ 999, 0, 1002, I8259_LATE },
		{ 999, 1001, 1002, I8259_LATE },
		{ 999, 1002, 1002, I8259_OK },
		/* Without a rate and a deadline it is never late */
		{ 0, 0, 1002, I8259_OK },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct i8259_line lines[I8259_NR_LINES] = {
			[3]	= LINE(1, cases[i].rate_hz, cases[i].deadline_us),
			[4]	= LINE(cases[i].us, 1),
		};

		expect_latency(test, I8259_ORDER_DEFAULT, lines, 3, cases[i].verdict, cases[i].us);
	}
}

static void test_unbounded(struct kunit *test)
{
	struct i8259_line lines[I8259_NR_LINES] = {
		[0]	= LINE(500, 1000),
		[1]	= LINE(1000, 499),
		[3]	= LINE(10, 10),
		[4]	= LINE(U32_MAX, 0),
	};

	/* 99.9 % */
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 1, I8259_LATE, 8589934795ULL);
	lines[4].cost_us = 0;
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 3, I8259_LATE, 250500);
	/* 100 % */
	lines[1].rate_hz = 500;
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 1, I8259_OK, 510);
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 3, I8259_UNBOUNDED, 0);
	/* 2^64 modulo something small must not look like no load */
	lines[0] = (struct i8259_line)LINE(U32_MAX, U32_MAX);
	lines[1] = (struct i8259_line)LINE(U32_MAX, U32_MAX);
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 0, I8259_LATE, U32_MAX);
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 3, I8259_UNBOUNDED, 0);
	/* The line's own load does not count */
	expect_latency(test, (struct i8259_order){ 3, 8 }, lines, 3, I8259_LATE, U32_MAX);
}

/* The largest numbers that are bounded */
static void test_latency_huge(struct kunit *test)
{
	struct i8259_line lines[I8259_NR_LINES] = { };
	struct i8259_ratio worst;

	for (unsigned int irq = 3; irq < I8259_NR_LINES; irq++)
		lines[irq] = (struct i8259_line)LINE(U32_MAX, 0);
	/* U32_MAX us of work for one part of the CPU in a million */
	lines[0] = (struct i8259_line)LINE(1, 999999);
	lines[1] = (struct i8259_line)LINE(1, U32_MAX);

	expect_latency(test, I8259_ORDER_DEFAULT, lines, 0, I8259_LATE, U32_MAX);
	/* L = U32_MAX + floor(0.999999 L) + 1: ceil(L / 10^6) = 2^32 */
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 1, I8259_LATE, 4294967295000001ULL);
	worst = i8259_order_worst(I8259_ORDER_DEFAULT, lines, NULL);
	KUNIT_EXPECT_EQ(test, i8259_ratio_permille(worst), U32_MAX);
}

static void test_best(struct kunit *test)
{
	struct i8259_line lines[I8259_NR_LINES] = { };
	struct i8259_ratio worst;
	struct i8259_order best;

	/* All the same: the lowest */
	best = i8259_order_best(lines, &worst);
	KUNIT_EXPECT_TRUE(test, i8259_order_equal(best, I8259_ORDER_DEFAULT));
	KUNIT_EXPECT_EQ(test, i8259_ratio_permille(worst), 0);
	/* All unbounded: the lowest, too */
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++)
		lines[irq] = (struct i8259_line)LINE(1000, 1000);
	best = i8259_order_best(lines, &worst);
	KUNIT_EXPECT_TRUE(test, i8259_order_equal(best, I8259_ORDER_DEFAULT));
	KUNIT_EXPECT_TRUE(test, worst.unbounded);

	/* S3 and M3 must be early: the slave first, from S3, then M3 */
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++)
		lines[irq] = (struct i8259_line)LINE(100, 10);
	lines[11] = (struct i8259_line)LINE(10, 100, 120);
	lines[3] = (struct i8259_line)LINE(10, 100, 950);
	best = i8259_order_best(lines, &worst);
	KUNIT_EXPECT_EQ(test, best.master, 2);
	KUNIT_EXPECT_EQ(test, best.slave, 11);
	KUNIT_EXPECT_EQ(test, i8259_ratio_permille(worst), 810 * 1000 / 950);

	/* S7 and M7 must be ahead of long ones: the last order of all */
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++)
		lines[irq] = (struct i8259_line)LINE(irq % 8 < 5 ? 0 : 1000, 10);
	lines[7] = (struct i8259_line)LINE(10, 10, 1500);
	lines[15] = lines[7];
	/* One that is not used does not count */
	lines[1] = (struct i8259_line){ .cost_us = 9000, .rate_hz = 9000, .deadline_us = 1 };
	best = i8259_order_best(lines, &worst);
	KUNIT_EXPECT_EQ(test, best.master, 7);
	KUNIT_EXPECT_EQ(test, best.slave, 15);
	KUNIT_EXPECT_EQ(test, i8259_ratio_permille(worst), 1010 * 1000 / 1500);
}

static void test_ratio(struct kunit *test)
{
	struct i8259_ratio a = { .us = 2, .num = 1, .den = 3 };
	struct i8259_ratio b = { .us = 4, .num = 1, .den = 6 };
	struct i8259_ratio never = { .unbounded = true, .den = 1 };
	static const u32 factors[][4] = {
		{ 268435399, 536870909, 4294967291U, 4294967279U },
		{ 123456789, 362436069, 2463534242U, 3735928559U },
		{ 0xfffffff, 0x1fffffff, U32_MAX, 0x80000001 },
		{ 3, 5, U32_MAX, U32_MAX },
	};

	KUNIT_EXPECT_EQ(test, i8259_ratio_cmp(a, b), 0);
	KUNIT_EXPECT_EQ(test, i8259_ratio_permille(a), 666);
	b.den = 7;
	KUNIT_EXPECT_GT(test, i8259_ratio_cmp(a, b), 0);
	KUNIT_EXPECT_LT(test, i8259_ratio_cmp(b, a), 0);
	KUNIT_EXPECT_LT(test, i8259_ratio_cmp(b, never), 0);
	KUNIT_EXPECT_GT(test, i8259_ratio_cmp(never, b), 0);
	KUNIT_EXPECT_EQ(test, i8259_ratio_cmp(never, never), 0);
	KUNIT_EXPECT_EQ(test, i8259_ratio_permille(never), U32_MAX);

	/* They differ in the last of about 120 bits */
	a = (struct i8259_ratio){ .us = BIT_ULL(57) + 1, .num = U32_MAX, .den = U32_MAX };
	b = (struct i8259_ratio){ .us = BIT_ULL(57), .num = U32_MAX, .den = U32_MAX };
	KUNIT_EXPECT_GT(test, i8259_ratio_cmp(a, b), 0);
	b.us++;
	KUNIT_EXPECT_EQ(test, i8259_ratio_cmp(a, b), 0);
	b.den--;
	KUNIT_EXPECT_LT(test, i8259_ratio_cmp(a, b), 0);

	/* Equal products of different factors, and one more or less */
	for (unsigned int i = 0; i < ARRAY_SIZE(factors); i++) {
		const u32 *f = factors[i];

		a = (struct i8259_ratio){ .us = (u64)f[0] * f[1], .num = f[2], .den = f[3] };
		b = (struct i8259_ratio){ .us = (u64)f[0] * f[2], .num = f[1], .den = f[3] };
		KUNIT_EXPECT_EQ(test, i8259_ratio_cmp(a, b), 0);
		KUNIT_EXPECT_EQ(test, i8259_ratio_cmp(b, a), 0);
		a.us++;
		KUNIT_EXPECT_GT(test, i8259_ratio_cmp(a, b), 0);
		a.us -= 2;
		KUNIT_EXPECT_LT(test, i8259_ratio_cmp(a, b), 0);
	}

	/* They differ by a carry between the words */
	a = (struct i8259_ratio){ .us = 8446509, .num = 3740752219U, .den = 4126988593U };
	b = (struct i8259_ratio){ .us = 8446510, .num = 3740752219U, .den = 4126988593U };
	KUNIT_EXPECT_LT(test, i8259_ratio_cmp(a, b), 0);
	/* Rounded down, and exact where there is nothing to round */
	for (u64 us = 0; us < 3000; us++)
		KUNIT_EXPECT_EQ(test, i8259_ratio_permille((struct i8259_ratio){
				.us = us, .num = 1, .den = 1000 }), us);
}

static void test_rate(struct kunit *test)
{
	u32 rate;

	KUNIT_EXPECT_EQ(test, i8259_rate_update(0, 1000, NSEC_PER_SEC), 1000);
	KUNIT_EXPECT_EQ(test, i8259_rate_update(0, 1, 10ULL * NSEC_PER_SEC), 1);
	KUNIT_EXPECT_EQ(test, i8259_rate_update(0, 0, NSEC_PER_SEC), 0);
	KUNIT_EXPECT_EQ(test, i8259_rate_update(0, 1, 999999000), 2);
	/* A rise counts at once, a fall slowly */
	KUNIT_EXPECT_EQ(test, i8259_rate_update(100, 1000, NSEC_PER_SEC), 1000);
	KUNIT_EXPECT_EQ(test, i8259_rate_update(1000, 100, NSEC_PER_SEC), 875);
	/* No time has passed */
	KUNIT_EXPECT_EQ(test, i8259_rate_update(77, 1000, 0), 77);
	/* Nothing overflows */
	KUNIT_EXPECT_EQ(test, i8259_rate_update(0, U64_MAX, 1000), U32_MAX);
	KUNIT_EXPECT_EQ(test, i8259_rate_update(0, 1, U64_MAX), 1);
	KUNIT_EXPECT_EQ(test, i8259_rate_update(U32_MAX, 0, NSEC_PER_SEC), 3758096383U);
	/* The decay ends at 0 */
	rate = 1000000;
	for (unsigned int i = 0; i < 120; i++)
		rate = i8259_rate_update(rate, 0, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, rate, 0);
}

/* The number of the pass that changes the order, 0 if none of ten does */
static unsigned int first_change(unsigned int *worse, struct i8259_order now,
				 const struct i8259_line *lines, struct i8259_order *next)
{
	for (unsigned int pass = 1; pass <= 10; pass++) {
		if (i8259_auto_step(worse, now, lines, next))
			return pass;
	}
	return 0;
}

static void test_auto(struct kunit *test)
{
	static const struct i8259_line idle[I8259_NR_LINES] = { };
	struct i8259_line lines[I8259_NR_LINES] = {
		[0]	= LINE(190, 10),
		[3]	= LINE(20, 838, 1194),
		[14]	= LINE(800, 30),
	};
	const struct i8259_order now = I8259_ORDER_DEFAULT;
	struct i8259_order next, best;
	struct i8259_ratio worst;
	unsigned int worse = 0;

	/* Confirmed in three passes, then no change */
	best = i8259_order_best(lines, &worst);
	KUNIT_EXPECT_EQ(test, first_change(&worse, now, lines, &next), 3);
	KUNIT_EXPECT_TRUE(test, i8259_order_equal(next, best));
	KUNIT_EXPECT_EQ(test, first_change(&worse, best, lines, &next), 0);
	/* An idle pass resets the count */
	KUNIT_EXPECT_FALSE(test, i8259_auto_step(&worse, now, lines, &next));
	KUNIT_EXPECT_FALSE(test, i8259_auto_step(&worse, now, idle, &next));
	KUNIT_EXPECT_EQ(test, first_change(&worse, now, lines, &next), 3);
	/* 400/1194 in any order but that of the best, 350/1194: an eighth */
	lines[0].cost_us = 50;
	lines[14].cost_us = 350;
	KUNIT_EXPECT_EQ(test, first_change(&worse, now, lines, &next), 3);
	/* 401/1194 and 351/1194: less */
	lines[14].cost_us = 351;
	best = i8259_order_best(lines, &worst);
	KUNIT_EXPECT_LT(test, i8259_ratio_cmp(worst, i8259_order_worst(now, lines, NULL)), 0);
	KUNIT_EXPECT_EQ(test, first_change(&worse, now, lines, &next), 0);
}

static struct kunit_case i8259_order_cases[] = {
	KUNIT_CASE(test_faq_orders),
	KUNIT_CASE(test_ocw2),
	KUNIT_CASE(test_parse_good),
	KUNIT_CASE(test_parse_bad),
	KUNIT_CASE(test_faq_latency),
	KUNIT_CASE(test_deadline),
	KUNIT_CASE(test_unbounded),
	KUNIT_CASE(test_latency_huge),
	KUNIT_CASE(test_best),
	KUNIT_CASE(test_ratio),
	KUNIT_CASE(test_rate),
	KUNIT_CASE(test_auto),
	{ }
};

static struct kunit_suite i8259_order_suite = {
	.name		= "i8259_order",
	.test_cases	= i8259_order_cases,
};

kunit_test_suite(i8259_order_suite);
