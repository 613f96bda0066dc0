/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupt balancing: carrying out a plan, pass by pass. Pure, as
 * balance_plan.h.
 */
#ifndef _KERNEL_IRQ_BALANCE_STEP_H
#define _KERNEL_IRQ_BALANCE_STEP_H

#include "balance_solve.h"

unsigned int irq_balance_step(struct irq_balance_solver *s, unsigned int cap,
			      u64 end);

#endif /* _KERNEL_IRQ_BALANCE_STEP_H */
