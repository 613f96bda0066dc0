// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the response-time analysis of the 8259A pair. "FAQ" is the FAQ of irqtune, revision 0.2,
 * 1996. It has examples. test_pic_order.py compares random loads with exact fractions.
 */
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/kernel.h>

#include "pic-analysis.h"

/* A line of the analysis; the last argument may be left out. */
#define LINE(cost, rate, ...) \
	{ .used = true, .cost_us = (cost), .rate_hz = (rate), .deadline_us = (__VA_ARGS__ + 0) }

static void expect_latency(struct kunit *test, struct i8259_order order,
			   const struct pic_line *lines, unsigned int irq,
			   enum pic_verdict verdict, u64 us)
{
	struct pic_latency latency[I8259_NR_LINES];

	memset(latency, 0xff, sizeof(latency));
	pic_latencies(order, lines, latency);
	KUNIT_EXPECT_EQ_MSG(test, latency[irq].verdict, verdict, "%u,%u IRQ%u",
			    order.master, order.slave, irq);
	KUNIT_EXPECT_EQ_MSG(test, latency[irq].us, us, "%u,%u IRQ%u",
			    order.master, order.slave, irq);
}

/* @ratio is exactly @us / @deadline_us */
static void expect_ratio(struct kunit *test, struct pic_ratio ratio, u64 us, u32 deadline_us)
{
	struct pic_ratio expected = { .us = us, .num = 1, .den = deadline_us };

	KUNIT_EXPECT_EQ(test, pic_ratio_cmp(ratio, expected), 0);
}

/*
 * FAQ: 33.6 kbit/s with compression are at most 6700 B/s. The UART interrupts
 * after 8 bytes with room for 8 more: 8 / 6700 s = 1194 us, 838 interrupts/s.
 * Four lines of higher priority take 320, 300, 190 and 500 us.
 */
static void test_faq_latency(struct kunit *test)
{
	static const struct pic_line lines[I8259_NR_LINES] = {
		[0]	= LINE(190, 100),
		[1]	= LINE(320, 10),
		[3]	= LINE(20, 838, 1194),
		[12]	= LINE(300, 20),
		[14]	= LINE(500, 30),
	};
	struct pic_line unused[I8259_NR_LINES];
	struct pic_ratio worst;
	struct i8259_order best;

	expect_latency(test, I8259_ORDER_DEFAULT, lines, 3, PIC_LATE, 1310);
	/* The load of lines that are not used does not count, ahead or behind */
	memcpy(unused, lines, sizeof(unused));
	for (unsigned int irq = 4; irq < 12; irq++) {
		unused[irq].cost_us = U32_MAX;
		unused[irq].rate_hz = U32_MAX;
	}
	expect_latency(test, I8259_ORDER_DEFAULT, unused, 3, PIC_LATE, 1310);
	expect_latency(test, (struct i8259_order){ 3, 14 }, lines, 3, PIC_OK, 500);

	best = pic_best(lines, &worst);
	expect_latency(test, best, lines, 3, PIC_OK, 500);
	KUNIT_EXPECT_EQ(test, best.master, 3);
	expect_ratio(test, worst, 500, 1194);
}

/* Late means later than the deadline, by any fraction of a microsecond. */
static void test_deadline(struct kunit *test)
{
	static const struct {
		u32 rate_hz, deadline_us, us;
		enum pic_verdict verdict;
	} cases[] = {
		/* Periods of 1000 us, 999.000999 us and 1001.001 us */
		{ 1000, 0, 1000, PIC_OK },
		{ 1001, 0, 1000, PIC_LATE },
		{ 999, 0, 1002, PIC_LATE },
		{ 999, 1001, 1002, PIC_LATE },
		{ 999, 1002, 1002, PIC_OK },
		/* Without a rate and a deadline it is never late */
		{ 0, 0, 1002, PIC_OK },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct pic_line lines[I8259_NR_LINES] = {
			[3]	= LINE(1, cases[i].rate_hz, cases[i].deadline_us),
			[4]	= LINE(cases[i].us, 1),
		};

		expect_latency(test, I8259_ORDER_DEFAULT, lines, 3, cases[i].verdict, cases[i].us);
	}
}

static void test_unbounded(struct kunit *test)
{
	struct pic_line lines[I8259_NR_LINES] = {
		[0]	= LINE(500, 1000),
		[1]	= LINE(1000, 499),
		[3]	= LINE(10, 10),
		[4]	= LINE(U32_MAX, 0),
	};

	/* 99.9 % */
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 1, PIC_LATE, 8589934795ULL);
	lines[4].cost_us = 0;
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 3, PIC_LATE, 250500);
	/* 100 % */
	lines[1].rate_hz = 500;
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 1, PIC_OK, 510);
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 3, PIC_UNBOUNDED, 0);
	/* 2^64 modulo something small must not look like no load */
	lines[0] = (struct pic_line)LINE(U32_MAX, U32_MAX);
	lines[1] = (struct pic_line)LINE(U32_MAX, U32_MAX);
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 0, PIC_LATE, U32_MAX);
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 3, PIC_UNBOUNDED, 0);
	/* The line's own load does not count */
	expect_latency(test, (struct i8259_order){ 3, 8 }, lines, 3, PIC_LATE, U32_MAX);
}

/* The largest numbers that are bounded */
static void test_latency_huge(struct kunit *test)
{
	struct pic_line lines[I8259_NR_LINES] = { };
	struct pic_ratio worst;

	for (unsigned int irq = 3; irq < I8259_NR_LINES; irq++)
		lines[irq] = (struct pic_line)LINE(U32_MAX, 0);
	/* U32_MAX us of work for one part of the CPU in a million */
	lines[0] = (struct pic_line)LINE(1, 999999);
	lines[1] = (struct pic_line)LINE(1, U32_MAX);

	expect_latency(test, I8259_ORDER_DEFAULT, lines, 0, PIC_LATE, U32_MAX);
	/* L = U32_MAX + floor(0.999999 L) + 1: ceil(L / 10^6) = 2^32 */
	expect_latency(test, I8259_ORDER_DEFAULT, lines, 1, PIC_LATE, 4294967295000001ULL);
	worst = pic_worst(I8259_ORDER_DEFAULT, lines, NULL);
	KUNIT_EXPECT_TRUE(test, worst.unbounded);
}

static void test_best(struct kunit *test)
{
	struct pic_line lines[I8259_NR_LINES] = { };
	struct pic_ratio worst;
	struct i8259_order best;

	/* All the same: the lowest */
	best = pic_best(lines, &worst);
	KUNIT_EXPECT_TRUE(test, i8259_order_equal(best, I8259_ORDER_DEFAULT));
	expect_ratio(test, worst, 0, 1);
	/* All unbounded: the lowest, too */
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++)
		lines[irq] = (struct pic_line)LINE(1000, 1000);
	best = pic_best(lines, &worst);
	KUNIT_EXPECT_TRUE(test, i8259_order_equal(best, I8259_ORDER_DEFAULT));
	KUNIT_EXPECT_TRUE(test, worst.unbounded);

	/* S3 and M3 must be early: the slave first, from S3, then M3 */
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++)
		lines[irq] = (struct pic_line)LINE(100, 10);
	lines[11] = (struct pic_line)LINE(10, 100, 120);
	lines[3] = (struct pic_line)LINE(10, 100, 950);
	best = pic_best(lines, &worst);
	KUNIT_EXPECT_EQ(test, best.master, 2);
	KUNIT_EXPECT_EQ(test, best.slave, 11);
	expect_ratio(test, worst, 810, 950);

	/* S7 and M7 must be ahead of long ones: the last order of all */
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++)
		lines[irq] = (struct pic_line)LINE(irq % 8 < 5 ? 0 : 1000, 10);
	lines[7] = (struct pic_line)LINE(10, 10, 1500);
	lines[15] = lines[7];
	/* One that is not used does not count */
	lines[1] = (struct pic_line){ .cost_us = 9000, .rate_hz = 9000, .deadline_us = 1 };
	best = pic_best(lines, &worst);
	KUNIT_EXPECT_EQ(test, best.master, 7);
	KUNIT_EXPECT_EQ(test, best.slave, 15);
	expect_ratio(test, worst, 1010, 1500);
}

static void test_ratio(struct kunit *test)
{
	struct pic_ratio a = { .us = 2, .num = 1, .den = 3 };
	struct pic_ratio b = { .us = 4, .num = 1, .den = 6 };
	struct pic_ratio never = { .unbounded = true, .den = 1 };
	static const u32 factors[][4] = {
		{ 268435399, 536870909, 4294967291U, 4294967279U },
		{ 123456789, 362436069, 2463534242U, 3735928559U },
		{ 0xfffffff, 0x1fffffff, U32_MAX, 0x80000001 },
		{ 3, 5, U32_MAX, U32_MAX },
	};

	KUNIT_EXPECT_EQ(test, pic_ratio_cmp(a, b), 0);
	b.den = 7;
	KUNIT_EXPECT_GT(test, pic_ratio_cmp(a, b), 0);
	KUNIT_EXPECT_LT(test, pic_ratio_cmp(b, a), 0);
	KUNIT_EXPECT_LT(test, pic_ratio_cmp(b, never), 0);
	KUNIT_EXPECT_GT(test, pic_ratio_cmp(never, b), 0);
	KUNIT_EXPECT_EQ(test, pic_ratio_cmp(never, never), 0);

	/* They differ in the last of about 120 bits */
	a = (struct pic_ratio){ .us = BIT_ULL(57) + 1, .num = U32_MAX, .den = U32_MAX };
	b = (struct pic_ratio){ .us = BIT_ULL(57), .num = U32_MAX, .den = U32_MAX };
	KUNIT_EXPECT_GT(test, pic_ratio_cmp(a, b), 0);
	b.us++;
	KUNIT_EXPECT_EQ(test, pic_ratio_cmp(a, b), 0);
	b.den--;
	KUNIT_EXPECT_LT(test, pic_ratio_cmp(a, b), 0);

	/* Equal products of different factors, and one more or less */
	for (unsigned int i = 0; i < ARRAY_SIZE(factors); i++) {
		const u32 *f = factors[i];

		a = (struct pic_ratio){ .us = (u64)f[0] * f[1], .num = f[2], .den = f[3] };
		b = (struct pic_ratio){ .us = (u64)f[0] * f[2], .num = f[1], .den = f[3] };
		KUNIT_EXPECT_EQ(test, pic_ratio_cmp(a, b), 0);
		KUNIT_EXPECT_EQ(test, pic_ratio_cmp(b, a), 0);
		a.us++;
		KUNIT_EXPECT_GT(test, pic_ratio_cmp(a, b), 0);
		a.us -= 2;
		KUNIT_EXPECT_LT(test, pic_ratio_cmp(a, b), 0);
	}

	/* They differ by a carry between the words */
	a = (struct pic_ratio){ .us = 8446509, .num = 3740752219U, .den = 4126988593U };
	b = (struct pic_ratio){ .us = 8446510, .num = 3740752219U, .den = 4126988593U };
	KUNIT_EXPECT_LT(test, pic_ratio_cmp(a, b), 0);
}

static struct kunit_case pic_cases[] = {
	KUNIT_CASE(test_faq_latency),
	KUNIT_CASE(test_deadline),
	KUNIT_CASE(test_unbounded),
	KUNIT_CASE(test_latency_huge),
	KUNIT_CASE(test_best),
	KUNIT_CASE(test_ratio),
	{ }
};

static struct kunit_suite pic_suite = {
	.name		= "pic",
	.test_cases	= pic_cases,
};

kunit_test_suite(pic_suite);
