/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: the thread, for the files in sysfs and debugfs */
#ifndef _KERNEL_IRQ_BALANCE_H
#define _KERNEL_IRQ_BALANCE_H

#include "state.h"

int irq_balance_set_mode(enum irq_balance_mode mode);
void irq_balance_restrict(void);
void irq_balance_refresh(void);

#endif /* _KERNEL_IRQ_BALANCE_H */
