// SPDX-License-Identifier: GPL-2.0
/*
 * Order of service of the 8259A pair: rotation, response-time analysis, and
 * the parser of the user's choice.
 *
 * Pure functions: no I/O, no locks, no globals, no clock, no allocation. They
 * may be called in any context. tools/testing/irq_balance builds the same file
 * in user space.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
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
 * DOC: i8259-latency
 *
 * The latency of a line is the time from its request to the start of its
 * handler. Handlers run with interrupts off, one after the other, and the next
 * one is that of the pending line which comes first in the order. So a line waits
 * for the longest handler of the lines behind it, which may just have begun, and
 * for each handler of the lines ahead of it that becomes pending meanwhile::
 *
 *   L = max(COST of the lines behind)
 *       + sum over the lines ahead of (floor(L * RATE / 10^6) + 1) * COST
 *
 * with L and COST in microseconds and RATE in 1/s. The latency is the smallest
 * L that solves this equation. This is the response-time analysis for fixed
 * priorities without preemption (Joseph and Pandya 1986; Audsley et al. 1993),
 * up to the start of the handler: a line's own cost is not part of its latency.
 * If the lines ahead need the whole CPU, sum of COST * RATE >= 10^6, there is no
 * such L: the line may never be served (unbounded).
 *
 * A line is late if L > DEADLINE. The deadline is the line's period, 10^6 /
 * RATE, unless the user sets another one: a UART with room for 8 more characters,
 * which arrive at 6700 per second, has 8 / 6700 s = 1194 us. A line without a
 * rate and without a deadline is never late. A line is also late if it and the
 * lines ahead need more than the whole CPU: it cannot keep up with its requests.
 * The best order is the one with the smallest worst L / DEADLINE of all lines.
 */

#define USEC		1000000U
#define MAX_U32		0xffffffffULL

/* `auto` changes the order for a ratio of at most NUM / DEN, in CONFIRM passes in a row. */
#define I8259_AUTO_GAIN_NUM	7
#define I8259_AUTO_GAIN_DEN	8
#define I8259_AUTO_CONFIRM	3

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
 * @str:	"MASTER", "MASTER,SLAVE", "auto", "off" or "default", and perhaps a
 *		newline; MASTER 0..7, SLAVE 8..15, 14 if not given (as in irqtune)
 * @choice:	the result
 *
 * Return: 0, or -EINVAL for anything else; then @choice is unchanged.
 */
int i8259_choice_parse(const char *str, struct i8259_choice *choice)
{
	struct i8259_choice new = { I8259_MODE_DEFAULT, I8259_ORDER_DEFAULT };

	if (sysfs_streq(str, "auto")) {
		new.mode = I8259_MODE_AUTO;
	} else if (!sysfs_streq(str, "off") && !sysfs_streq(str, "default")) {
		new.mode = I8259_MODE_FIXED;
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

/*
 * Requests of a line within @span_us of the moment at which all lines request
 * together: floor(span * rate / 10^6) + 1. Split at the second against overflow.
 */
static u64 i8259_requests(u64 span_us, u32 rate_hz)
{
	u64 seconds = div_u64(span_us, USEC);
	u32 rest_us = span_us - seconds * USEC;

	return seconds * rate_hz + div_u64((u64)rest_us * rate_hz, USEC) + 1;
}

/*
 * Latency of the line of rank @rank: the smallest L with L = behind + sum of
 * requests(L) * cost over the lines ahead. Returns false if there is none.
 *
 * With U the share of the CPU that the lines ahead need, and floor(x) + 1 >= x +
 * 10^-6 for the fractions that occur here, every solution is at least (behind +
 * sum of COST / 10^6) / (1 - U). A start at this bound limits the number of steps:
 * at full seconds all fractions are next to 0, so a solution lies not much more
 * than a second above the bound, however close U is to 1.
 *
 * Overflow: with bounded load the sum of COST is below 15 * 2^32 and 1 - U at
 * least 10^-6, so L stays below 2^56.
 */
static bool i8259_rank_latency(const u8 *irqs, unsigned int rank,
			       const struct i8259_line *lines, u64 *latency_us)
{
	u64 fixed_us, once_us = 0, load = 0, now, next;
	u32 behind_us = 0;

	for (unsigned int i = rank + 1; i < I8259_NR_DEVICES; i++) {
		const struct i8259_line *line = &lines[irqs[i]];

		if (line->used)
			behind_us = max(behind_us, line->cost_us);
	}
	fixed_us = behind_us;
	for (unsigned int i = 0; i < rank; i++) {
		const struct i8259_line *line = &lines[irqs[i]];
		u64 need = (u64)line->cost_us * line->rate_hz;

		if (!line->used)
			continue;
		if (need >= USEC - load)
			return false;
		load += need;
		if (line->rate_hz)
			once_us += line->cost_us;
		else
			fixed_us += line->cost_us;
	}

	next = div_u64(fixed_us * USEC + once_us + (USEC - load) - 1, USEC - load);
	do {
		now = next;
		next = behind_us;
		for (unsigned int i = 0; i < rank; i++) {
			const struct i8259_line *line = &lines[irqs[i]];

			if (line->used)
				next += i8259_requests(now, line->rate_hz) * line->cost_us;
		}
	} while (next != now);

	*latency_us = now;
	return true;
}

/* Ratio of a latency to the deadline of a line; 0 if there is no deadline. */
static struct i8259_ratio i8259_line_ratio(const struct i8259_line *line, u64 latency_us)
{
	return (struct i8259_ratio){
		.us	= latency_us,
		.num	= line->deadline_us ? 1 : line->rate_hz,
		.den	= line->deadline_us ?: USEC,
	};
}

/* The product as two words, most significant first. */
static void i8259_mul128(u64 a, u64 b, u64 product[2])
{
	u64 low = (u64)(u32)a * (u32)b;
	u64 mid1 = (a >> 32) * (u32)b + (low >> 32);
	u64 mid2 = (u64)(u32)a * (b >> 32) + (u32)mid1;

	product[0] = (a >> 32) * (b >> 32) + (mid1 >> 32) + (mid2 >> 32);
	product[1] = mid2 << 32 | (u32)low;
}

/**
 * i8259_ratio_cmp() - Compare two ratios exactly
 * @a:	first ratio
 * @b:	second ratio
 *
 * Return: < 0, 0 or > 0 if @a is smaller than, equal to or greater than @b.
 * Unbounded ratios are equal.
 */
int i8259_ratio_cmp(struct i8259_ratio a, struct i8259_ratio b)
{
	u64 left[2], right[2];
	int word;

	if (a.unbounded || b.unbounded)
		return a.unbounded - b.unbounded;

	i8259_mul128(a.us, (u64)a.num * b.den, left);
	i8259_mul128(b.us, (u64)b.num * a.den, right);
	word = left[0] == right[0];
	if (left[word] == right[word])
		return 0;
	return left[word] < right[word] ? -1 : 1;
}

/**
 * i8259_ratio_permille() - Round a ratio down to thousandths
 * @ratio:	the ratio
 *
 * Return: thousandths; U32_MAX if unbounded or larger.
 */
u32 i8259_ratio_permille(struct i8259_ratio ratio)
{
	struct i8259_ratio permille = { .num = 1, .den = 1000 };
	u32 low = 0, high = MAX_U32;

	/* A division of 128 bits, 32 comparisons long */
	while (low < high) {
		u32 mid = low + (high - low) / 2 + 1;

		permille.us = mid;
		if (i8259_ratio_cmp(permille, ratio) <= 0)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/**
 * i8259_order_latency() - Worst-case latency of each line under an order
 * @order:	the order, both members in their range
 * @lines:	the load of each line, by interrupt number; the cascade's is ignored
 * @latency:	the result, by interrupt number
 *
 * "DOC: i8259-latency" has the formula.
 */
void i8259_order_latency(struct i8259_order order, const struct i8259_line lines[I8259_NR_LINES],
			 struct i8259_latency latency[I8259_NR_LINES])
{
	const struct i8259_ratio in_time = { .us = 1, .num = 1, .den = 1 };
	u8 irqs[I8259_NR_DEVICES];
	u64 load = 0;

	latency[I8259_CASCADE] = (struct i8259_latency){ .verdict = I8259_UNUSED };

	i8259_order_irqs(order, irqs);
	for (unsigned int rank = 0; rank < I8259_NR_DEVICES; rank++) {
		const struct i8259_line *line = &lines[irqs[rank]];
		struct i8259_latency *l = &latency[irqs[rank]];

		l->us = 0;
		/* Cut off above the whole CPU, so that no sum overflows */
		if (line->used)
			load = min(load + (u64)line->cost_us * line->rate_hz, USEC + 1ULL);
		if (!line->used)
			l->verdict = I8259_UNUSED;
		else if (!i8259_rank_latency(irqs, rank, lines, &l->us))
			l->verdict = I8259_UNBOUNDED;
		else if (load > USEC || i8259_ratio_cmp(i8259_line_ratio(line, l->us), in_time) > 0)
			l->verdict = I8259_LATE;
		else
			l->verdict = I8259_OK;
	}
}

/**
 * i8259_order_worst() - Worst ratio of latency to deadline under an order
 * @order:	the order, both members in their range
 * @lines:	the load of each line, by interrupt number
 * @limit:	stop at a ratio that is not below this one; may be NULL
 *
 * Return: the largest ratio of all lines that are used, 0 if there are none; or
 * some ratio that is not below @limit.
 */
struct i8259_ratio i8259_order_worst(struct i8259_order order,
				     const struct i8259_line lines[I8259_NR_LINES],
				     const struct i8259_ratio *limit)
{
	struct i8259_ratio worst = { .den = 1 };
	u8 irqs[I8259_NR_DEVICES];

	i8259_order_irqs(order, irqs);
	for (unsigned int rank = 0; rank < I8259_NR_DEVICES; rank++) {
		const struct i8259_line *line = &lines[irqs[rank]];
		struct i8259_ratio ratio = { .unbounded = true, .den = 1 };
		u64 us;

		if (!line->used)
			continue;
		if (i8259_rank_latency(irqs, rank, lines, &us))
			ratio = i8259_line_ratio(line, us);
		if (i8259_ratio_cmp(ratio, worst) > 0)
			worst = ratio;
		if (worst.unbounded || (limit && i8259_ratio_cmp(worst, *limit) >= 0))
			break;
	}
	return worst;
}

/**
 * i8259_order_best() - The best of the 64 orders
 * @lines:	the load of each line, by interrupt number
 * @worst:	its worst ratio of latency to deadline
 *
 * Return: the order with the smallest worst ratio; of equal orders the one with
 * the lowest master, then the lowest slave.
 */
struct i8259_order i8259_order_best(const struct i8259_line lines[I8259_NR_LINES],
				    struct i8259_ratio *worst)
{
	struct i8259_order best = I8259_ORDER_DEFAULT;

	*worst = i8259_order_worst(best, lines, NULL);
	for (u8 master = 0; master < 8; master++) {
		for (u8 slave = 8; slave < 16; slave++) {
			struct i8259_order order = { master, slave };
			struct i8259_ratio ratio = i8259_order_worst(order, lines, worst);

			if (i8259_ratio_cmp(ratio, *worst) < 0) {
				*worst = ratio;
				best = order;
			}
		}
	}
	return best;
}

/**
 * i8259_rate_update() - Decaying maximum of a line's rate
 * @rate_hz:	the previous result, 0 at first
 * @count:	interrupts since then
 * @elapsed_ns:	time since then, in nanoseconds
 *
 * The analysis needs the rate of the busy times: a rise counts at once, a fall by
 * an eighth per call.
 *
 * Return: interrupts per second, rounded up, at most U32_MAX.
 */
u32 i8259_rate_update(u32 rate_hz, u64 count, u64 elapsed_ns)
{
	u32 slow = rate_hz - rate_hz / 8 - !!(rate_hz % 8);
	u64 elapsed_us = min(div_u64(elapsed_ns, 1000), MAX_U32), rate;

	if (!elapsed_us)
		return rate_hz;
	rate = div_u64(min(count, MAX_U32) * USEC + elapsed_us - 1, elapsed_us);
	return max(min(rate, MAX_U32), slow);
}

/**
 * i8259_auto_step() - One pass of `auto`
 * @worse:	passes in a row in which the present order was worth leaving, 0 at first
 * @now:	the order in force
 * @lines:	the load of each line, by interrupt number
 * @next:	the order to change to, written if there is a change
 *
 * The hysteresis: the order changes only if the worst ratio of the best order is
 * at most 7/8 of that of the present order, in three passes in a row.
 *
 * Return: whether to change the order to @next.
 */
bool i8259_auto_step(unsigned int *worse, struct i8259_order now,
		     const struct i8259_line lines[I8259_NR_LINES], struct i8259_order *next)
{
	struct i8259_ratio present = i8259_order_worst(now, lines, NULL), worst;
	struct i8259_order best = i8259_order_best(lines, &worst);
	bool gain = i8259_ratio_cmp(worst, present) < 0;

	/* At most 2^57 microseconds: no overflow */
	present.us *= I8259_AUTO_GAIN_NUM;
	worst.us *= I8259_AUTO_GAIN_DEN;

	if (!gain || i8259_ratio_cmp(worst, present) > 0) {
		*worse = 0;
		return false;
	}
	if (++*worse < I8259_AUTO_CONFIRM)
		return false;

	*worse = 0;
	*next = best;
	return true;
}
