/* SPDX-License-Identifier: GPL-2.0 */
/* The part of linux/math64.h that the planner needs. */
#ifndef _IRQ_BALANCE_LINUX_MATH64_H
#define _IRQ_BALANCE_LINUX_MATH64_H

#include <linux/types.h>

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

/* Exact as long as b * divisor fits 64 bits. */
static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 divisor)
{
	return a / divisor * b + a % divisor * b / divisor;
}

#endif
