// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the 8259A's order of service. "FAQ" is the FAQ of irqtune,
 * revision 0.2, 1996, which has worked examples.
 */
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "i8259_order.h"

static const struct i8259_order default_order = { 0, 8 };

/* A line of the analysis; the last argument may be left out. */
#define LINE(cost, rate, ...) \
	{ .used = true, .cost_us = (cost), .rate_hz = (rate), .deadline_us = (__VA_ARGS__ + 0) }

static void expect_ranks(struct kunit *test, struct i8259_order order, const u8 *expected)
{
	u8 ranks[I8259_NR_LINES];

	i8259_order_ranks(order, ranks);
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		if (irq != I8259_CASCADE)
			KUNIT_EXPECT_EQ_MSG(test, ranks[irq], expected[irq], "IRQ%u", irq);
	}
}

static void test_default(struct kunit *test)
{
	static const u8 expected[] = { 0, 1, 15, 10, 11, 12, 13, 14, 2, 3, 4, 5, 6, 7, 8, 9 };
	u8 ranks[I8259_NR_LINES];

	expect_ranks(test, default_order, expected);

	/* FAQ: "10 other devices have higher priority" than the serial port */
	i8259_order_ranks(default_order, ranks);
	KUNIT_EXPECT_EQ(test, ranks[3], 10);
}

/* FAQ: irqtune 3, that is 3 14. The table has the master's lines only. */
static void test_faq_3_14(struct kunit *test)
{
	static const u8 expected[] = { 5, 6, 15, 0, 1, 2, 3, 4, 9, 10, 11, 12, 13, 14, 7, 8 };

	expect_ranks(test, (struct i8259_order){ 3, 14 }, expected);
}

/*
 * FAQ: irqtune 3 12. The FAQ counts the slot of the cascade (M2, 7) here, so its
 * numbers of the slave's lines are one too high: 8 for S4, where 7 lines are
 * ahead of it.
 */
static void test_faq_3_12(struct kunit *test)
{
	static const u8 faq[] = { 5, 6, 7, 0, 1, 2, 3, 4, 12, 13, 14, 15, 8, 9, 10, 11 };
	u8 expected[I8259_NR_LINES];

	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++)
		expected[irq] = irq < 8 ? faq[irq] : faq[irq] - 1;
	expect_ranks(test, (struct i8259_order){ 3, 12 }, expected);
}

/* FAQ: irqtune 2 11. Here the slot of the cascade is not counted. */
static void test_faq_2_11(struct kunit *test)
{
	static const u8 faq[] = { 13, 14, 0, 8, 9, 10, 11, 12, 5, 6, 7, 0, 1, 2, 3, 4 };

	expect_ranks(test, (struct i8259_order){ 2, 11 }, faq);
}

static void test_all_orders(struct kunit *test)
{
	u8 irqs[I8259_NR_DEVICES], other[I8259_NR_DEVICES], ranks[I8259_NR_LINES];

	for (u8 master = 0; master < 8; master++) {
		for (u8 slave = 8; slave < 16; slave++) {
			struct i8259_order order = { master, slave };
			unsigned int seen = 0;

			i8259_order_irqs(order, irqs);
			i8259_order_ranks(order, ranks);

			for (unsigned int rank = 0; rank < I8259_NR_DEVICES; rank++) {
				KUNIT_ASSERT_LT(test, irqs[rank], I8259_NR_LINES);
				seen |= BIT(irqs[rank]);
				KUNIT_EXPECT_EQ(test, ranks[irqs[rank]], rank);
			}
			KUNIT_EXPECT_EQ(test, seen, 0xffff & ~BIT(I8259_CASCADE));
			KUNIT_EXPECT_EQ(test, ranks[I8259_CASCADE], I8259_NR_DEVICES);
			KUNIT_EXPECT_EQ(test, irqs[0], master == I8259_CASCADE ? slave : master);

			/* No two of them are the same */
			for (unsigned int i = 0; i < master * 8 + slave - 8; i++) {
				i8259_order_irqs((struct i8259_order){ i / 8, 8 + i % 8 }, other);
				KUNIT_EXPECT_NE(test, memcmp(irqs, other, sizeof(irqs)), 0);
			}
		}
	}
}

static void test_ocw2(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, i8259_ocw2_first(0), 0xc7);
	KUNIT_EXPECT_EQ(test, i8259_ocw2_first(1), 0xc0);
	KUNIT_EXPECT_EQ(test, i8259_ocw2_first(3), 0xc2);
	KUNIT_EXPECT_EQ(test, i8259_ocw2_first(7), 0xc6);
	KUNIT_EXPECT_EQ(test, i8259_ocw2_first(8), 0xc7);
	KUNIT_EXPECT_EQ(test, i8259_ocw2_first(11), 0xc2);
	KUNIT_EXPECT_EQ(test, i8259_ocw2_first(14), 0xc5);
	KUNIT_EXPECT_EQ(test, i8259_ocw2_first(15), 0xc6);
}

static void test_parse_good(struct kunit *test)
{
	static const struct {
		const char *text;
		struct i8259_choice choice;
	} cases[] = {
		{ "3",		{ I8259_MODE_FIXED, { 3, 14 } } },
		{ "3,14",	{ I8259_MODE_FIXED, { 3, 14 } } },
		{ "2,11",	{ I8259_MODE_FIXED, { 2, 11 } } },
		{ "0,8\n",	{ I8259_MODE_FIXED, { 0, 8 } } },
		{ "7,15",	{ I8259_MODE_FIXED, { 7, 15 } } },
		{ "07,09",	{ I8259_MODE_FIXED, { 7, 9 } } },
		{ "auto",	{ I8259_MODE_AUTO, { 0, 8 } } },
		{ "auto\n",	{ I8259_MODE_AUTO, { 0, 8 } } },
		{ "off",	{ I8259_MODE_DEFAULT, { 0, 8 } } },
		{ "default\n",	{ I8259_MODE_DEFAULT, { 0, 8 } } },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct i8259_choice choice = { .order = { 99, 99 } };

		KUNIT_EXPECT_EQ_MSG(test, i8259_choice_parse(cases[i].text, &choice), 0,
				    "'%s'", cases[i].text);
		KUNIT_EXPECT_EQ(test, choice.mode, cases[i].choice.mode);
		KUNIT_EXPECT_EQ(test, choice.order.master, cases[i].choice.order.master);
		KUNIT_EXPECT_EQ(test, choice.order.slave, cases[i].choice.order.slave);
	}
}

static void test_parse_bad(struct kunit *test)
{
	static const char * const cases[] = {
		"", "\n", " ", ",", "8", "14", "8,14", "3,", ",14", "3,7", "3,2", "3,16", "-1",
		"+3", " 3", "3 ", "3 ,14", "3, 14", "3 14", "3,14,", "3,14,1", "0x3", "3,0xe",
		"3,14x", "3x", "3\n\n", "4294967299", "3,4294967310", "18446744073709551619",
		"Auto", "autos", "aut", "offf", "defaults", "none", "off,14", "3,auto",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct i8259_choice choice = { I8259_MODE_AUTO, { 5, 10 } };

		KUNIT_EXPECT_EQ_MSG(test, i8259_choice_parse(cases[i], &choice), -EINVAL,
				    "'%s'", cases[i]);
		KUNIT_EXPECT_EQ(test, choice.mode, I8259_MODE_AUTO);
		KUNIT_EXPECT_EQ(test, choice.order.master, 5);
		KUNIT_EXPECT_EQ(test, choice.order.slave, 10);
	}
}

static void expect_latency(struct kunit *test, struct i8259_order order,
			   const struct i8259_line *lines, unsigned int irq,
			   enum i8259_verdict verdict, u64 us)
{
	struct i8259_latency latency[I8259_NR_LINES];

	i8259_order_latency(order, lines, latency);
	KUNIT_EXPECT_EQ_MSG(test, latency[irq].verdict, verdict, "%u,%u IRQ%u",
			    order.master, order.slave, irq);
	if (verdict == I8259_OK || verdict == I8259_LATE)
		KUNIT_EXPECT_EQ_MSG(test, latency[irq].us, us, "%u,%u IRQ%u",
				    order.master, order.slave, irq);
}

/*
 * FAQ: 33.6 kbit/s with compression are at most 6700 B/s, the UART interrupts
 * after 8 bytes with room for 8 more: 8 / 6700 s = 1194 us, 838 interrupts/s.
 * "Assume we've got 4 of them pending (remember, at higher priority)", with 320,
 * 300, 190 and 500 us. "1310us (...) is greater than the maximum of 1194 us"
 * and "the maximum it would be forced to wait would be largest individual time,
 * (...) 500 us".
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
	struct i8259_ratio worst;
	struct i8259_order best;

	KUNIT_EXPECT_EQ(test, 8 * USEC_PER_SEC / 6700, 1194);
	KUNIT_EXPECT_EQ(test, DIV_ROUND_UP(6700, 8), 838);

	expect_latency(test, default_order, lines, 3, I8259_LATE, 1310);
	expect_latency(test, (struct i8259_order){ 3, 14 }, lines, 3, I8259_OK, 500);

	best = i8259_order_best(lines, &worst);
	expect_latency(test, best, lines, 3, I8259_OK, 500);
	KUNIT_EXPECT_EQ(test, best.master, 3);
	KUNIT_EXPECT_EQ(test, i8259_ratio_permille(worst), 500 * 1000 / 1194);
	KUNIT_EXPECT_LT(test, i8259_ratio_cmp(worst, i8259_order_worst(default_order, lines)), 0);
}

/* Lines ahead that come again while the line waits */
static void test_latency_repeat(struct kunit *test)
{
	static const struct i8259_line lines[I8259_NR_LINES] = {
		/* every 1000 us */
		[0]	= LINE(400, 1000),
		/* 300 behind, 400: 700; no second one of IRQ0 before 1000 */
		[1]	= LINE(200, 500),
		/* 0 behind, 400 + 200 = 600 */
		[3]	= LINE(300, 100),
	};
	static const struct i8259_line more[I8259_NR_LINES] = {
		[0]	= LINE(400, 1000),
		[1]	= LINE(700, 500),
		/* 400 + 700 = 1100; 800 + 700 = 1500 */
		[3]	= LINE(300, 100),
	};
	static const struct i8259_line exact[I8259_NR_LINES] = {
		[0]	= LINE(400, 1000),
		/* 400 + 600 = 1000, and at that moment the next is there: 1400 */
		[3]	= LINE(1, 1),
		[4]	= LINE(600, 1),
	};

	expect_latency(test, default_order, lines, 0, I8259_OK, 300);
	expect_latency(test, default_order, lines, 1, I8259_OK, 700);
	expect_latency(test, default_order, lines, 3, I8259_OK, 600);
	expect_latency(test, default_order, lines, 4, I8259_UNUSED, 0);
	expect_latency(test, default_order, more, 0, I8259_OK, 700);
	expect_latency(test, default_order, more, 3, I8259_OK, 1500);
	expect_latency(test, default_order, exact, 3, I8259_OK, 1400);
}

/* Late means later than the deadline, by any fraction of a microsecond. */
static void test_deadline(struct kunit *test)
{
	struct i8259_line lines[I8259_NR_LINES] = {
		[3]	= LINE(1, 1000),
		[4]	= LINE(1000, 1),
	};

	/* 1000 us, the period is 1000 us */
	expect_latency(test, default_order, lines, 3, I8259_OK, 1000);
	/* the period is 999.000999 us */
	lines[3].rate_hz = 1001;
	expect_latency(test, default_order, lines, 3, I8259_LATE, 1000);
	/* the period is 1000.25 us */
	lines[3].rate_hz = 999;
	lines[4].cost_us = 1001;
	expect_latency(test, default_order, lines, 3, I8259_OK, 1001);
	lines[4].cost_us = 1002;
	expect_latency(test, default_order, lines, 3, I8259_LATE, 1002);

	lines[3].deadline_us = 1001;
	expect_latency(test, default_order, lines, 3, I8259_LATE, 1002);
	lines[3].deadline_us = 1002;
	expect_latency(test, default_order, lines, 3, I8259_OK, 1002);

	/* Without a rate and a deadline it is never late */
	lines[3].deadline_us = 0;
	lines[3].rate_hz = 0;
	expect_latency(test, default_order, lines, 3, I8259_OK, 1002);
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
	expect_latency(test, default_order, lines, 1, I8259_LATE, 8589934795ULL);
	lines[4].cost_us = 0;
	expect_latency(test, default_order, lines, 3, I8259_LATE, 250500);
	/* 100 % */
	lines[1].rate_hz = 500;
	expect_latency(test, default_order, lines, 1, I8259_OK, 510);
	expect_latency(test, default_order, lines, 3, I8259_UNBOUNDED, 0);
	/* 2^64 modulo something small must not look like no load */
	lines[0] = (struct i8259_line)LINE(U32_MAX, U32_MAX);
	lines[1] = (struct i8259_line)LINE(U32_MAX, U32_MAX);
	expect_latency(test, default_order, lines, 0, I8259_LATE, U32_MAX);
	expect_latency(test, default_order, lines, 3, I8259_UNBOUNDED, 0);
	/* The line's own load is no matter */
	expect_latency(test, (struct i8259_order){ 3, 8 }, lines, 3, I8259_LATE, U32_MAX);
}

/* The largest numbers that are bounded */
static void test_latency_huge(struct kunit *test)
{
	struct i8259_line lines[I8259_NR_LINES] = { };

	for (unsigned int irq = 3; irq < I8259_NR_LINES; irq++)
		lines[irq] = (struct i8259_line)LINE(U32_MAX, 0);
	/* U32_MAX us of work for one part of the CPU in a million */
	lines[0] = (struct i8259_line)LINE(1, 999999);
	lines[1] = (struct i8259_line)LINE(1, U32_MAX);

	expect_latency(test, default_order, lines, 0, I8259_LATE, U32_MAX);
	/* L = U32_MAX + floor(0.999999 L) + 1: ceil(L / 10^6) = 2^32 */
	expect_latency(test, default_order, lines, 1, I8259_LATE, 4294967295000001ULL);
	KUNIT_EXPECT_EQ(test, i8259_ratio_permille(i8259_order_worst(default_order, lines)),
			U32_MAX);
}

static void test_best(struct kunit *test)
{
	struct i8259_line lines[I8259_NR_LINES] = { };
	struct i8259_ratio worst;
	struct i8259_order best;

	/* All the same: the lowest */
	best = i8259_order_best(lines, &worst);
	KUNIT_EXPECT_TRUE(test, i8259_order_equal(best, default_order));
	KUNIT_EXPECT_EQ(test, i8259_ratio_permille(worst), 0);

	/* All unbounded: the lowest, too */
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++)
		lines[irq] = (struct i8259_line)LINE(1000, 1000);
	best = i8259_order_best(lines, &worst);
	KUNIT_EXPECT_TRUE(test, i8259_order_equal(best, default_order));
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
}

static void test_ratio(struct kunit *test)
{
	struct i8259_ratio a = { .us = 2, .num = 1, .den = 3 };
	struct i8259_ratio b = { .us = 4, .num = 1, .den = 6 };
	struct i8259_ratio never = { .unbounded = true, .den = 1 };

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

	/* They differ by a carry between the words */
	a = (struct i8259_ratio){ .us = 8446509, .num = 3740752219U, .den = 4126988593U };
	b = (struct i8259_ratio){ .us = 8446510, .num = 3740752219U, .den = 4126988593U };
	KUNIT_EXPECT_LT(test, i8259_ratio_cmp(a, b), 0);
}

static void test_rate(struct kunit *test)
{
	u32 rate;

	KUNIT_EXPECT_EQ(test, i8259_rate_update(0, 1000, NSEC_PER_SEC), 1000);
	KUNIT_EXPECT_EQ(test, i8259_rate_update(0, 1, 10ULL * NSEC_PER_SEC), 1);
	KUNIT_EXPECT_EQ(test, i8259_rate_update(0, 0, NSEC_PER_SEC), 0);
	/* A rise counts at once, a fall slowly */
	KUNIT_EXPECT_EQ(test, i8259_rate_update(100, 1000, NSEC_PER_SEC), 1000);
	KUNIT_EXPECT_EQ(test, i8259_rate_update(1000, 100, NSEC_PER_SEC), 875);
	/* No time, no news */
	KUNIT_EXPECT_EQ(test, i8259_rate_update(77, 1000, 0), 77);
	/* Nothing overflows */
	KUNIT_EXPECT_EQ(test, i8259_rate_update(0, U64_MAX, 1000), U32_MAX);
	KUNIT_EXPECT_EQ(test, i8259_rate_update(0, 1, U64_MAX), 1);
	KUNIT_EXPECT_EQ(test, i8259_rate_update(U32_MAX, 0, NSEC_PER_SEC), 3758096383U);
	/* It ends */
	rate = 1000000;
	for (unsigned int i = 0; i < 120; i++)
		rate = i8259_rate_update(rate, 0, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, rate, 0);
}

static void test_auto(struct kunit *test)
{
	static const struct i8259_line lines[I8259_NR_LINES] = {
		[0]	= LINE(190, 100),
		[1]	= LINE(320, 10),
		[3]	= LINE(20, 838, 1194),
		[14]	= LINE(800, 30),
	};
	/* 500/1194 in any order but that of the best, 450/1194: no eighth */
	static const struct i8259_line close_lines[I8259_NR_LINES] = {
		[0]	= LINE(50, 10),
		[3]	= LINE(20, 838, 1194),
		[14]	= LINE(450, 30),
	};
	static const struct i8259_line idle[I8259_NR_LINES] = { };
	struct i8259_order now = default_order, next = { 99, 99 }, best;
	struct i8259_auto state = { };
	struct i8259_ratio worst;

	/* Confirmed in three passes, then it stands still */
	best = i8259_order_best(lines, &worst);
	KUNIT_EXPECT_FALSE(test, i8259_auto_step(&state, now, lines, &next));
	KUNIT_EXPECT_FALSE(test, i8259_auto_step(&state, now, lines, &next));
	KUNIT_EXPECT_EQ(test, next.master, 99);
	KUNIT_EXPECT_TRUE(test, i8259_auto_step(&state, now, lines, &next));
	KUNIT_EXPECT_TRUE(test, i8259_order_equal(next, best));
	for (unsigned int i = 0; i < 10; i++)
		KUNIT_EXPECT_FALSE(test, i8259_auto_step(&state, best, lines, &next));

	/* One quiet pass starts it anew */
	KUNIT_EXPECT_FALSE(test, i8259_auto_step(&state, now, lines, &next));
	KUNIT_EXPECT_FALSE(test, i8259_auto_step(&state, now, lines, &next));
	KUNIT_EXPECT_FALSE(test, i8259_auto_step(&state, now, idle, &next));
	KUNIT_EXPECT_FALSE(test, i8259_auto_step(&state, now, lines, &next));
	KUNIT_EXPECT_FALSE(test, i8259_auto_step(&state, now, lines, &next));
	KUNIT_EXPECT_TRUE(test, i8259_auto_step(&state, now, lines, &next));

	/* Better, but not by an eighth */
	best = i8259_order_best(close_lines, &worst);
	KUNIT_EXPECT_LT(test, i8259_ratio_cmp(worst, i8259_order_worst(now, close_lines)), 0);
	for (unsigned int i = 0; i < 10; i++)
		KUNIT_EXPECT_FALSE(test, i8259_auto_step(&state, now, close_lines, &next));
}

static struct kunit_case i8259_order_cases[] = {
	KUNIT_CASE(test_default),
	KUNIT_CASE(test_faq_3_14),
	KUNIT_CASE(test_faq_3_12),
	KUNIT_CASE(test_faq_2_11),
	KUNIT_CASE(test_all_orders),
	KUNIT_CASE(test_ocw2),
	KUNIT_CASE(test_parse_good),
	KUNIT_CASE(test_parse_bad),
	KUNIT_CASE(test_faq_latency),
	KUNIT_CASE(test_latency_repeat),
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

MODULE_DESCRIPTION("KUnit tests of the 8259A's order of service");
MODULE_LICENSE("GPL");
