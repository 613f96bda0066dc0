/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: what the user has said, in sysfs or on the command line */
#ifndef _KERNEL_IRQ_BALANCE_CONFIG_H
#define _KERNEL_IRQ_BALANCE_CONFIG_H

#include "state.h"

int irq_balance_set(struct irq_balance_settings *set, const char *name, const char *text,
		    const char *where);
int irq_balance_set_cpus(const char *list, const char *where);
void irq_balance_get_cpus(struct cpumask *mask);
int irq_balance_set_bans(const char *list, const char *where);
int irq_balance_show_bans(char *buf);
int irq_balance_boot(struct irq_balance_settings *set, enum irq_balance_mode *mode);

#endif /* _KERNEL_IRQ_BALANCE_CONFIG_H */
