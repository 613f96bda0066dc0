/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: policies other than balance */
#ifndef _KERNEL_IRQ_BALANCE_POLICY_H
#define _KERNEL_IRQ_BALANCE_POLICY_H

#include "place.h"

enum irq_balance_why irq_balance_apply_policy(struct irq_balance *bal,
					      const struct irq_balance_settings *set, u64 now);

#endif /* _KERNEL_IRQ_BALANCE_POLICY_H */
