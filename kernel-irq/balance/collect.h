/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: the machine as numbers, for a pass and for those who look at it */
#ifndef _KERNEL_IRQ_BALANCE_COLLECT_H
#define _KERNEL_IRQ_BALANCE_COLLECT_H

#include "state.h"

int irq_balance_grow(struct irq_balance_map *map);
void irq_balance_usable_cpus(struct cpumask *mask);
const char *irq_balance_word(struct irq_desc *desc, const struct cpumask *usable);
void irq_balance_count_failure(unsigned int irq, unsigned int target, int error);
void irq_balance_collect_result(struct irq_desc *desc, u64 now);
void irq_balance_collect(struct irq_balance_map *map, u64 now, bool review);

#endif /* _KERNEL_IRQ_BALANCE_COLLECT_H */
