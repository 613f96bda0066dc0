/* SPDX-License-Identifier: GPL-2.0 */
/* What the policy uses of linux/compiler.h, where no kernel tree is at hand. */
#ifndef _IRQ_BALANCE_LINUX_COMPILER_H
#define _IRQ_BALANCE_LINUX_COMPILER_H

#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, val)	(*(volatile typeof(x) *)&(x) = (val))

#endif
