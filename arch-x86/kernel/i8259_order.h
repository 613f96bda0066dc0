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

/* Source of the order: ICW1, which sets 0,8; the user; the analysis of the measured load */
enum i8259_mode {
	I8259_MODE_DEFAULT,
	I8259_MODE_FIXED,
	I8259_MODE_AUTO,
};

/* Choice of the user; the order is the default unless the mode is I8259_MODE_FIXED. */
struct i8259_choice {
	enum i8259_mode		mode;
	struct i8259_order	order;
};

/**
 * struct i8259_line - load of one line, input of the response-time analysis
 * @used:		the line has interrupts; others cost nothing
 * @cost_us:		longest run of its handler, in microseconds
 * @rate_hz:		interrupts per second
 * @deadline_us:	latest start of its handler after the request, in
 *			microseconds; 0: its period, 10^6 / @rate_hz
 */
struct i8259_line {
	bool	used;
	u32	cost_us;
	u32	rate_hz;
	u32	deadline_us;
};

/**
 * enum i8259_verdict - outcome of the response-time analysis for one line
 * @I8259_UNUSED:	the line has no interrupts
 * @I8259_OK:		the handler always starts within the deadline
 * @I8259_LATE:		the handler may start after the deadline
 * @I8259_UNBOUNDED:	the lines ahead of it fill the CPU: it may never start
 */
enum i8259_verdict {
	I8259_UNUSED,
	I8259_OK,
	I8259_LATE,
	I8259_UNBOUNDED,
};

/**
 * struct i8259_latency - worst-case latency of one line
 * @us:		request to start of the handler, in microseconds; valid with
 *		%I8259_OK and %I8259_LATE
 * @verdict:	whether it is within the deadline
 */
struct i8259_latency {
	u64			us;
	enum i8259_verdict	verdict;
};

/**
 * struct i8259_ratio - latency / deadline as the exact fraction @us * @num / @den
 * @us:		latency in microseconds
 * @num:	factor
 * @den:	divisor, never 0
 * @unbounded:	the ratio is infinite, the other members are not valid
 */
struct i8259_ratio {
	u64	us;
	u32	num;
	u32	den;
	bool	unbounded;
};

static inline bool i8259_order_equal(struct i8259_order a, struct i8259_order b)
{
	return a.master == b.master && a.slave == b.slave;
}

int i8259_number_parse(const char **str, unsigned int low, unsigned int high, u8 *number);
int i8259_choice_parse(const char *str, struct i8259_choice *choice);

u8 i8259_ocw2_first(unsigned int irq);
void i8259_order_irqs(struct i8259_order order, u8 irqs[I8259_NR_DEVICES]);

void i8259_order_latency(struct i8259_order order, const struct i8259_line lines[I8259_NR_LINES],
			 struct i8259_latency latency[I8259_NR_LINES]);
struct i8259_ratio i8259_order_worst(struct i8259_order order,
				     const struct i8259_line lines[I8259_NR_LINES],
				     const struct i8259_ratio *limit);
struct i8259_order i8259_order_best(const struct i8259_line lines[I8259_NR_LINES],
				    struct i8259_ratio *worst);
int i8259_ratio_cmp(struct i8259_ratio a, struct i8259_ratio b);
u32 i8259_ratio_permille(struct i8259_ratio ratio);

u32 i8259_rate_update(u32 rate_hz, u64 count, u64 elapsed_ns);
bool i8259_auto_step(unsigned int *worse, struct i8259_order now,
		     const struct i8259_line lines[I8259_NR_LINES], struct i8259_order *next);

#endif /* _ARCH_X86_KERNEL_I8259_ORDER_H */
