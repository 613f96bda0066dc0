/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupt balancing: the search for a placement. Pure, as balance_plan.h.
 */
#ifndef _KERNEL_IRQ_BALANCE_SOLVE_H
#define _KERNEL_IRQ_BALANCE_SOLVE_H

#endif /* _KERNEL_IRQ_BALANCE_SOLVE_H */
