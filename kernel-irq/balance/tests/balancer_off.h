/* SPDX-License-Identifier: GPL-2.0 */
/* KUnit tests of interrupts that the balancer would move */
#ifndef _KERNEL_IRQ_BALANCE_TESTS_BALANCER_OFF_H
#define _KERNEL_IRQ_BALANCE_TESTS_BALANCER_OFF_H

#include <kunit/test.h>

#include "../core.h"

static enum irq_balance_mode balancer;

static inline int balancer_off(struct kunit_suite *suite)
{
	balancer = irq_balance_get_mode();
	return irq_balance_set_mode(IRQ_BALANCE_OFF);
}

static inline void balancer_back(struct kunit_suite *suite)
{
	irq_balance_set_mode(balancer);
}

#endif /* _KERNEL_IRQ_BALANCE_TESTS_BALANCER_OFF_H */
