// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the 8259A's order of service. "FAQ" is the FAQ of irqtune, revision 0.2, 1996. It
 * has examples.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>

#include "i8259_order.h"

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
		{ "3",		{ true, { 3, 14 } } },
		{ "3,14",	{ true, { 3, 14 } } },
		{ "0,8\n",	{ true, { 0, 8 } } },
		{ "7,15",	{ true, { 7, 15 } } },
		{ "007,09",	{ true, { 7, 9 } } },
		{ "off",	{ false, { 0, 8 } } },
		{ "default\n",	{ false, { 0, 8 } } },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct i8259_choice *expected = &cases[i].choice;
		struct i8259_choice choice = { .order = { 99, 99 } };

		KUNIT_EXPECT_EQ_MSG(test, i8259_choice_parse(cases[i].text, &choice), 0,
				    "'%s'", cases[i].text);
		KUNIT_EXPECT_EQ(test, choice.fixed, expected->fixed);
		KUNIT_EXPECT_TRUE(test, i8259_order_equal(choice.order, expected->order));
	}
}

static void test_parse_bad(struct kunit *test)
{
	static const char * const cases[] = {
		"", "\n", " ", ",", "8", "14", "8,14", "3,", ",14", "3,7", "3,2", "3,16", "-1",
		"+3", " 3", "3 ", "3 ,14", "3, 14", "3 14", "3,14,", "3,14,1", "0x3", "3,0xe",
		"3,14x", "3x", "3\n\n", "4294967299", "3,4294967310", "18446744073709551619",
		"auto", "Off", "offf", "defaults", "none", "off,14", "3,off", "0003",
	};
	const struct i8259_choice before = { true, { 5, 10 } };
	const char *long_number = "70";
	u8 number = 9;

	KUNIT_EXPECT_EQ(test, i8259_number_parse(&long_number, 0, 7, &number), -EINVAL);
	KUNIT_EXPECT_EQ(test, number, 9);
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct i8259_choice choice = before;

		KUNIT_EXPECT_EQ_MSG(test, i8259_choice_parse(cases[i], &choice), -EINVAL,
				    "'%s'", cases[i]);
		KUNIT_EXPECT_EQ(test, choice.fixed, before.fixed);
		KUNIT_EXPECT_TRUE(test, i8259_order_equal(choice.order, before.order));
	}
}

static struct kunit_case i8259_order_cases[] = {
	KUNIT_CASE(test_faq_orders),
	KUNIT_CASE(test_ocw2),
	KUNIT_CASE(test_parse_good),
	KUNIT_CASE(test_parse_bad),
	{ }
};

static struct kunit_suite i8259_order_suite = {
	.name		= "i8259_order",
	.test_cases	= i8259_order_cases,
};

kunit_test_suite(i8259_order_suite);
