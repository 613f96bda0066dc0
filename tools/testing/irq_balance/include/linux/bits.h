/* SPDX-License-Identifier: GPL-2.0 */
/* The part of linux/bits.h that the KUnit suites need. */
#ifndef _IRQ_BALANCE_LINUX_BITS_H
#define _IRQ_BALANCE_LINUX_BITS_H

#define BIT(nr)		(1UL << (nr))
#define BIT_ULL(nr)	(1ULL << (nr))

#endif
