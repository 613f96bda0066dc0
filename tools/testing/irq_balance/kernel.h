/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel headers of the user-space build: the planner's own, and a few
 * replacements in include/.
 */
#ifndef _IRQ_BALANCE_KERNEL_H
#define _IRQ_BALANCE_KERNEL_H

#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include "plan.h"

#endif /* _IRQ_BALANCE_KERNEL_H */
