/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ARCH_X86_KERNEL_I8259_ORDER_H
#define _ARCH_X86_KERNEL_I8259_ORDER_H

#include <linux/types.h>

/* The PC's pair of 8259A has 16 lines; the cascade is no device line. */
#define I8259_NR_LINES		16
#define I8259_NR_DEVICES	15
#define I8259_CASCADE		2

/* The fixed order after ICW1, and the slave's line that irqtune put first. */
#define I8259_ORDER_DEFAULT	((struct i8259_order){ 0, 8 })
#define I8259_SLAVE_IRQTUNE	14

/**
 * struct i8259_order - order of service of the 8259A pair
 * @master:	the master's line that is served first, 0..7; 2 is the cascade,
 *		which stands for the whole slave
 * @slave:	the slave's line that is served first among the slave's, 8..15
 *
 * The other lines of each controller follow in rising order, modulo 8.
 */
struct i8259_order {
	u8	master;
	u8	slave;
};

/**
 * struct i8259_choice - what the user chose
 * @fixed:	the user named @order; otherwise it is the default
 * @order:	the order
 */
struct i8259_choice {
	bool			fixed;
	struct i8259_order	order;
};

static inline bool i8259_order_equal(struct i8259_order a, struct i8259_order b)
{
	return a.master == b.master && a.slave == b.slave;
}

int i8259_number_parse(const char **str, unsigned int low, unsigned int high, u8 *number);
int i8259_choice_parse(const char *str, struct i8259_choice *choice);

u8 i8259_ocw2_first(unsigned int irq);
void i8259_order_irqs(struct i8259_order order, u8 irqs[I8259_NR_DEVICES]);

#endif /* _ARCH_X86_KERNEL_I8259_ORDER_H */
