/* SPDX-License-Identifier: GPL-2.0 */
/* The part of linux/kernel.h that the planner needs. */
#ifndef _IRQ_BALANCE_LINUX_KERNEL_H
#define _IRQ_BALANCE_LINUX_KERNEL_H

#include <linux/compiler.h>
#include <linux/types.h>

#define U32_MAX			((u32)~0U)
#define U64_MAX			((u64)~0ULL)
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#define min_t(type, a, b) ({			\
	type min_a = (a), min_b = (b);		\
	min_a < min_b ? min_a : min_b; })
#define max_t(type, a, b) ({			\
	type max_a = (a), max_b = (b);		\
	max_a > max_b ? max_a : max_b; })
#define min(a, b) ({				\
	__auto_type min_x = (a);		\
	__auto_type min_y = (b);		\
	min_x < min_y ? min_x : min_y; })
#define max(a, b) ({				\
	__auto_type max_x = (a);		\
	__auto_type max_y = (b);		\
	max_x > max_y ? max_x : max_y; })
#define max3(a, b, c)		max(max(a, b), c)
#define abs_diff(a, b)		((a) > (b) ? (a) - (b) : (b) - (a))
#define clamp(val, lo, hi)	min(max(val, lo), hi)

/* As lib/math/int_sqrt.c */
static inline unsigned long int_sqrt(unsigned long x)
{
	unsigned long root = 0;

	while ((root + 1) * (root + 1) <= x)
		root++;
	return root;
}

#endif
