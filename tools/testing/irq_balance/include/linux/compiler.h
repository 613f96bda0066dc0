/* SPDX-License-Identifier: GPL-2.0 */
/* The part of linux/compiler.h that the planner needs. */
#ifndef _IRQ_BALANCE_LINUX_COMPILER_H
#define _IRQ_BALANCE_LINUX_COMPILER_H

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, val)	__atomic_store_n(&(x), (val), __ATOMIC_RELAXED)

#endif
