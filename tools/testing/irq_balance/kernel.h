/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the user-space build needs of the kernel: the planner's own header and
 * a few of tools/include, or of include/ where there is no kernel tree.
 */
#ifndef _IRQ_BALANCE_KERNEL_H
#define _IRQ_BALANCE_KERNEL_H

#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include "plan.h"

#endif /* _IRQ_BALANCE_KERNEL_H */
