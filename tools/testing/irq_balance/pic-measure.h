/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The 8259A pair of this machine: the load of the lines and the order in force
 */
#ifndef _PIC_MEASURE_H
#define _PIC_MEASURE_H

#include <errno.h>
#include <stdio.h>

#include "pic-analysis.h"

/* A message of pic-order, or of "irqload order", which calls it by that name */
#define complain(format, ...) \
	fprintf(stderr, "%s: " format "\n", program_invocation_short_name, ##__VA_ARGS__)

#define PIC_NAME_MAX	64

/**
 * struct pic_device - a line that is routed through the 8259A
 * @present:	the line is routed through the 8259A
 * @name:	those who requested the interrupt, separated by commas, or empty
 */
struct pic_device {
	bool	present;
	char	name[PIC_NAME_MAX];
};

int pic_devices(const char *root, struct pic_device devices[I8259_NR_LINES]);
int pic_measure(const char *root, unsigned int seconds,
		const struct pic_device devices[I8259_NR_LINES],
		struct pic_line lines[I8259_NR_LINES]);
int pic_order_read(const char *root, bool to_write, struct i8259_order *order);
int pic_order_write(const char *root, struct i8259_order order);

#endif /* _PIC_MEASURE_H */
