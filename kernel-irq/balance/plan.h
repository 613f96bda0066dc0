/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupt balancing: the pass of the planner, and what a program may ask for in it */
#ifndef _KERNEL_IRQ_BALANCE_PLAN_H
#define _KERNEL_IRQ_BALANCE_PLAN_H

#include "problem.h"

const char *irq_balance_why_name(enum irq_balance_why why);
size_t irq_balance_set_work(struct irq_balance *bal, void *mem, unsigned int nr_irqs,
			    unsigned int nr_cpus);
void irq_balance_init(struct irq_balance *bal, void *mem, unsigned int nr_irqs,
		      unsigned int nr_cpus);
void irq_balance_ask(struct irq_balance *bal, struct irq_balance_irq *irq, unsigned int cpu,
		     enum irq_balance_why reason);
unsigned int irq_balance_pass(struct irq_balance *bal, u64 now,
			      const struct irq_balance_input *in);

#endif /* _KERNEL_IRQ_BALANCE_PLAN_H */
