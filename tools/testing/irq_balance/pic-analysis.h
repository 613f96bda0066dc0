/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Response-time analysis of the 8259A pair
 */
#ifndef _PIC_ANALYSIS_H
#define _PIC_ANALYSIS_H

#include <linux/types.h>

#include "i8259_order.h"

/**
 * struct pic_line - load of one line, input of the response-time analysis
 * @used:		the line has interrupts; others cost nothing
 * @cost_us:		longest run of its handler, in microseconds
 * @rate_hz:		interrupts per second
 * @deadline_us:	latest start of its handler after the request, in
 *			microseconds; 0: its period, 10^6 / @rate_hz
 */
struct pic_line {
	bool	used;
	u32	cost_us;
	u32	rate_hz;
	u32	deadline_us;
};

/**
 * enum pic_verdict - outcome of the response-time analysis for one line
 * @PIC_UNUSED:	the line has no interrupts
 * @PIC_OK:		the handler always starts within the deadline
 * @PIC_LATE:		the handler may start after the deadline
 * @PIC_UNBOUNDED:	the lines ahead of it fill the CPU: it may never start
 */
enum pic_verdict {
	PIC_UNUSED,
	PIC_OK,
	PIC_LATE,
	PIC_UNBOUNDED,
};

/**
 * struct pic_latency - worst-case latency of one line
 * @us:		request to start of the handler, in microseconds; valid with
 *		%PIC_OK and %PIC_LATE
 * @verdict:	whether it is within the deadline
 */
struct pic_latency {
	u64			us;
	enum pic_verdict	verdict;
};

/**
 * struct pic_ratio - latency / deadline as the exact fraction @us * @num / @den
 * @us:		latency in microseconds
 * @num:	factor
 * @den:	divisor, never 0
 * @unbounded:	the ratio is infinite, the other members are not valid
 */
struct pic_ratio {
	u64	us;
	u32	num;
	u32	den;
	bool	unbounded;
};

void pic_latencies(struct i8259_order order, const struct pic_line lines[I8259_NR_LINES],
		   struct pic_latency latency[I8259_NR_LINES]);
struct pic_ratio pic_worst(struct i8259_order order, const struct pic_line lines[I8259_NR_LINES],
			   const struct pic_ratio *limit);
struct i8259_order pic_best(const struct pic_line lines[I8259_NR_LINES], struct pic_ratio *worst);
int pic_ratio_cmp(struct pic_ratio a, struct pic_ratio b);

#endif /* _PIC_ANALYSIS_H */
