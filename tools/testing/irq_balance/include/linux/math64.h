/* SPDX-License-Identifier: GPL-2.0 */
/* What the policy uses of linux/math64.h, where no kernel tree is at hand. */
#ifndef _IRQ_BALANCE_LINUX_MATH64_H
#define _IRQ_BALANCE_LINUX_MATH64_H

#include <linux/types.h>

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

#endif
