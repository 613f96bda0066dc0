// SPDX-License-Identifier: GPL-2.0
/*
 * Order of service of the 8259A pair: the rotation, and the parser of the user's
 * choice.
 *
 * Pure functions: no I/O, no locks, no globals, no clock, no allocation. They
 * may be called in any context. tools/testing/irq_balance builds the same file
 * in user space.
 */
#include <linux/errno.h>
#include <linux/string.h>

#include "i8259_order.h"

/**
 * DOC: i8259-order
 *
 * An 8259A serves its eight lines in rising order, modulo 8, from the first line
 * on. The first line is 0 after ICW1. The OCW2 command "set priority", 0xC0 | ((L
 * - 1) & 7), makes any line L the first: it names the line that becomes the last.
 *
 * A PC has two of these controllers. The slave is connected to line 2 of the
 * master, so the slave's eight lines, in their own order, take the place of line
 * 2 in the master's order. That makes 8 x 8 orders of the 15 device lines. Each
 * order is named by two numbers: the line that the master serves first (0..7; 2
 * is the slave) and the line that the slave serves first (8..15). 0,8 is the
 * default.
 */

/**
 * i8259_number_parse() - Read a decimal number: digits only
 * @str:	where to read; behind the number afterwards
 * @low:	smallest valid number
 * @high:	largest valid number, at most 255
 * @number:	the number
 *
 * Return: 0, or -EINVAL if there is no number or it is out of range; then @str and
 * @number are unchanged.
 */
int i8259_number_parse(const char **str, unsigned int low, unsigned int high, u8 *number)
{
	const char *s = *str;
	unsigned int n = 0;

	for (; n <= high && s < *str + 3 && *s >= '0' && *s <= '9'; s++)
		n = n * 10 + (*s - '0');
	if (s == *str || n < low || n > high)
		return -EINVAL;

	*number = n;
	*str = s;
	return 0;
}

/**
 * i8259_choice_parse() - Read the choice of the user
 * @str:	"MASTER", "MASTER,SLAVE", "off" or "default", and perhaps a newline;
 *		MASTER 0..7, SLAVE 8..15, 14 if not given (as in irqtune)
 * @choice:	the result
 *
 * Return: 0, or -EINVAL for anything else; then @choice is unchanged.
 */
int i8259_choice_parse(const char *str, struct i8259_choice *choice)
{
	struct i8259_choice new = { .order = I8259_ORDER_DEFAULT };

	if (!sysfs_streq(str, "off") && !sysfs_streq(str, "default")) {
		new.fixed = true;
		new.order.slave = I8259_SLAVE_IRQTUNE;

		if (i8259_number_parse(&str, 0, 7, &new.order.master))
			return -EINVAL;
		if (*str == ',') {
			str++;
			if (i8259_number_parse(&str, 8, 15, &new.order.slave))
				return -EINVAL;
		}
		if (!sysfs_streq(str, ""))
			return -EINVAL;
	}

	*choice = new;
	return 0;
}

/**
 * i8259_ocw2_first() - The OCW2 that makes a line the first of its controller
 * @irq:	the line, 0..15; 0..7 are the master's, 8..15 the slave's
 *
 * OCW2 "set priority" (R = 1, SL = 1, EOI = 0) names the line that becomes the
 * last: the one before @irq.
 *
 * Return: the byte for the command port of the line's controller.
 */
u8 i8259_ocw2_first(unsigned int irq)
{
	return 0xc0 | ((irq - 1) & 7);
}

/**
 * i8259_order_irqs() - The device lines in their order of service
 * @order:	the order, both members in their range
 * @irqs:	line of each rank; rank 0 is served first
 */
void i8259_order_irqs(struct i8259_order order, u8 irqs[I8259_NR_DEVICES])
{
	unsigned int rank = 0;

	for (unsigned int m = 0; m < 8; m++) {
		unsigned int line = (order.master + m) & 7;

		if (line != I8259_CASCADE) {
			irqs[rank++] = line;
			continue;
		}
		for (unsigned int s = 0; s < 8; s++)
			irqs[rank++] = 8 + ((order.slave + s) & 7);
	}
}
