/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of kunit/test.h that the pure suites need. A suite becomes a program
 * that prints TAP.
 */
#ifndef _IRQ_BALANCE_KUNIT_TEST_H
#define _IRQ_BALANCE_KUNIT_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>

struct kunit {
	unsigned int failed;
	unsigned int nr;
	void *memory[1024];
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(function)		{ function, #function }
#define KUNIT_CASE_SLOW(function)	KUNIT_CASE(function)

#define KUNIT_EXPECT_TRUE(test, condition) do {						\
	if (!(condition)) {								\
		(test)->failed++;							\
		printf("# %s:%d: expected %s\n", __FILE__, __LINE__, #condition);	\
	}										\
} while (0)
#define KUNIT_EXPECT_FALSE(test, condition)	KUNIT_EXPECT_TRUE(test, !(condition))
#define KUNIT_EXPECT_EQ(test, a, b)		KUNIT_EXPECT_TRUE(test, (a) == (b))
#define KUNIT_EXPECT_EQ_MSG(test, a, b, ...)	KUNIT_EXPECT_TRUE(test, (a) == (b))
#define KUNIT_EXPECT_NE(test, a, b)		KUNIT_EXPECT_TRUE(test, (a) != (b))
#define KUNIT_EXPECT_LT(test, a, b)		KUNIT_EXPECT_TRUE(test, (a) < (b))
#define KUNIT_EXPECT_LE(test, a, b)		KUNIT_EXPECT_TRUE(test, (a) <= (b))
#define KUNIT_EXPECT_GT(test, a, b)		KUNIT_EXPECT_TRUE(test, (a) > (b))
#define KUNIT_EXPECT_GE(test, a, b)		KUNIT_EXPECT_TRUE(test, (a) >= (b))
#define KUNIT_EXPECT_MEMEQ(test, a, b, size)	KUNIT_EXPECT_TRUE(test, !memcmp(a, b, size))
#define KUNIT_EXPECT_MEMNEQ(test, a, b, size)	KUNIT_EXPECT_TRUE(test, memcmp(a, b, size))
#define KUNIT_ASSERT_NOT_NULL(test, pointer) do {					\
	if (!(pointer))									\
		abort();								\
} while (0)

#define GFP_KERNEL	0

static inline void *kunit_kzalloc(struct kunit *test, size_t size, unsigned int flags)
{
	(void)flags;
	if (test->nr >= ARRAY_SIZE(test->memory))
		return NULL;
	test->memory[test->nr] = calloc(1, size);
	return test->memory[test->nr++];
}

static inline int kunit_run(const struct kunit_suite *suite)
{
	unsigned int nr = 0, failed = 0;

	for (const struct kunit_case *c = suite->test_cases; c->run_case; c++) {
		struct kunit test = { 0 };

		c->run_case(&test);
		while (test.nr)
			free(test.memory[--test.nr]);
		failed += !!test.failed;
		printf("%sok %u %s %s\n", test.failed ? "not " : "", ++nr, suite->name, c->name);
		fflush(stdout);
	}
	printf("1..%u\n", nr);
	return failed || !nr;
}

#define kunit_test_suite(suite) const struct kunit_suite *const kunit_program = &(suite)
extern const struct kunit_suite *const kunit_program;

int main(void)
{
	return kunit_run(kunit_program);
}

#endif
