/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the KUnit tests of interrupts */
#ifndef _KERNEL_IRQ_KUNIT_H
#define _KERNEL_IRQ_KUNIT_H

#include <linux/lockdep.h>

#include <kunit/test.h>

#define US	NSEC_PER_USEC
#define MS	((u64)NSEC_PER_MSEC)
#define SEC	((u64)NSEC_PER_SEC)

static inline void expect_near(struct kunit *test, u64 value, u64 truth, unsigned int percent)
{
	KUNIT_EXPECT_GE(test, 100 * value, (100 - percent) * truth);
	KUNIT_EXPECT_LE(test, 100 * value, (100 + percent) * truth);
}

/*
 * KUnit looks up static stubs under a spinlock_t of the test, also for functions that are called
 * under desc->lock or in hard interrupts. Only the test itself takes it, so lockdep need not
 * know that it may sleep with PREEMPT_RT.
 */
static inline int kunit_raw_init(struct kunit *test)
{
	static struct lock_class_key key;

	lockdep_init_map(&test->lock.dep_map, "kunit_raw", &key, 0);
	return 0;
}

#endif /* _KERNEL_IRQ_KUNIT_H */
