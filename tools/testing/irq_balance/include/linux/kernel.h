/* SPDX-License-Identifier: GPL-2.0 */
/* What the policy uses of linux/kernel.h, where no kernel tree is at hand. */
#ifndef _IRQ_BALANCE_LINUX_KERNEL_H
#define _IRQ_BALANCE_LINUX_KERNEL_H

#include <linux/compiler.h>
#include <linux/types.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#define min_t(type, a, b) ({			\
	type min_a = (a), min_b = (b);		\
	min_a < min_b ? min_a : min_b; })
#define max_t(type, a, b) ({			\
	type max_a = (a), max_b = (b);		\
	max_a > max_b ? max_a : max_b; })
#define min(a, b)		min_t(typeof((a) + (b)), a, b)
#define max(a, b)		max_t(typeof((a) + (b)), a, b)
#define clamp(val, lo, hi)	min(max(val, lo), hi)

#endif
