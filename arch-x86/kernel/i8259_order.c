// SPDX-License-Identifier: GPL-2.0
/*
 * Order of service of the 8259A pair: rotation, response-time analysis, and
 * the parser of what the user writes.
 *
 * Pure functions: no I/O, no locks, no globals, no clock, no allocation. They
 * may be called in any context. The same file is built into the kernel, tested
 * by KUnit, and built in user space for tools/testing/irq_balance/pic-order.
 */
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "i8259_order.h"

/**
 * DOC: i8259-order
 *
 * An 8259A serves its eight lines in rising order, modulo 8, from the line that
 * was set as the first: line 0 after ICW1, any line L after the OCW2 command
 * "set priority", 0xC0 | ((L - 1) & 7), which names the line that becomes the
 * last. In a PC there are two of them. The slave hangs on line 2 of the master:
 * its eight lines, in the slave's own order, stand where line 2 stands in the
 * master's. So there are 8 x 8 orders of the 15 device lines, each named by two
 * numbers: the line that the master serves first (0..7; 2 is the slave) and the
 * line that the slave serves first (8..15). 0,8 is the default.
 */

/**
 * DOC: i8259-latency
 *
 * The latency of a line is the time from its request to the start of its
 * handler. Handlers run with interrupts off, one after the other, and the line
 * that comes first in the order is taken next. So a line waits for the longest
 * handler among the lines behind it, which may just have begun, and for every
 * handler of the lines ahead of it that becomes pending meanwhile::
 *
 *   L = max(COST of the lines behind)
 *       + sum over the lines ahead of (floor(L * RATE / 10^6) + 1) * COST
 *
 * with L and COST in microseconds and RATE in 1/s. The latency is the smallest
 * L for which this holds. This is the response-time analysis for fixed
 * priorities without preemption (Joseph and Pandya 1986; Audsley et al. 1993),
 * counted up to the start of the handler: a line's own cost is not part of its
 * latency. When the lines ahead alone need the whole CPU, sum of COST * RATE >=
 * 10^6, there is no such L: the line may never be served (unbounded).
 *
 * A line is late when L > DEADLINE. The deadline is the line's period, 10^6 /
 * RATE, unless the user gives another: a UART with room for 8 more characters,
 * which come at 6700 per second, has 8 / 6700 s = 1194 us. A line without a
 * rate and without a deadline is never late. The best order is the one with the
 * smallest worst L / DEADLINE of all lines.
 *
 * Example (irqtune FAQ, 1996): handlers of 320, 300, 190 and 500 us ahead of
 * that UART make it wait 1310 us, too late; when it comes first, it waits 500
 * us for the longest one.
 */

#define USEC		1000000U
#define MAX_U32		0xffffffffU

/**
 * i8259_number_parse() - Read a decimal number
 * @str:	where to read; behind the number afterwards
 * @low:	smallest valid number
 * @high:	largest valid number, at most 255
 * @number:	the number, written on success only
 *
 * Digits only: no sign, no blanks, no other base.
 *
 * Return: 0, or -EINVAL when there is no number or it is out of range; then
 * nothing has changed.
 */
int i8259_number_parse(const char **str, unsigned int low, unsigned int high, u8 *number)
{
	const char *s = *str;
	unsigned int n = 0;

	if (*s < '0' || *s > '9')
		return -EINVAL;

	for (; *s >= '0' && *s <= '9'; s++) {
		n = n * 10 + (*s - '0');
		if (n > high)
			return -EINVAL;
	}
	if (n < low)
		return -EINVAL;

	*number = n;
	*str = s;
	return 0;
}

/* The end of a line, as sysfs and boot parameters have it. */
static bool i8259_at_end(const char *s)
{
	return s[0] == '\0' || (s[0] == '\n' && s[1] == '\0');
}

static bool i8259_is_word(const char *s, const char *word)
{
	while (*word) {
		if (*s++ != *word++)
			return false;
	}
	return i8259_at_end(s);
}

/**
 * i8259_choice_parse() - Read what the user asks for
 * @str:	"MASTER", "MASTER,SLAVE", "auto", "off" or "default", and perhaps a
 *		newline; MASTER 0..7, SLAVE 8..15, 14 if not given (as in irqtune)
 * @choice:	the result, written on success only
 *
 * Return: 0, or -EINVAL for anything else; then nothing has changed.
 */
int i8259_choice_parse(const char *str, struct i8259_choice *choice)
{
	struct i8259_choice new = {
		.mode	= I8259_MODE_DEFAULT,
		.order	= { I8259_MASTER_DEFAULT, I8259_SLAVE_DEFAULT },
	};

	if (i8259_is_word(str, "auto")) {
		new.mode = I8259_MODE_AUTO;
	} else if (!i8259_is_word(str, "off") && !i8259_is_word(str, "default")) {
		new.mode = I8259_MODE_FIXED;
		new.order.slave = I8259_SLAVE_IRQTUNE;

		if (i8259_number_parse(&str, 0, 7, &new.order.master))
			return -EINVAL;
		if (*str == ',') {
			str++;
			if (i8259_number_parse(&str, 8, 15, &new.order.slave))
				return -EINVAL;
		}
		if (!i8259_at_end(str))
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
 * last: the one before @irq. See the data sheet of the 8259A, "Specific
 * Rotation".
 *
 * Return: the byte to write to the command port of the line's controller.
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

/**
 * i8259_order_ranks() - The inverse of i8259_order_irqs()
 * @order:	the order, both members in their range
 * @ranks:	rank of each line; that of the cascade is %I8259_NR_DEVICES, as
 *		it is no device line
 */
void i8259_order_ranks(struct i8259_order order, u8 ranks[I8259_NR_LINES])
{
	u8 irqs[I8259_NR_DEVICES];

	i8259_order_irqs(order, irqs);
	ranks[I8259_CASCADE] = I8259_NR_DEVICES;
	for (unsigned int rank = 0; rank < I8259_NR_DEVICES; rank++)
		ranks[irqs[rank]] = rank;
}

/*
 * Interrupts of a line that become pending within @span_us of the moment at
 * which all lines request together: floor(span * rate / 10^6) + 1. Split at the
 * second, so that nothing overflows.
 */
static u64 i8259_requests(u64 span_us, u32 rate_hz)
{
	u64 seconds = div_u64(span_us, USEC);
	u32 rest_us = span_us - seconds * USEC;

	return seconds * rate_hz + div_u64((u64)rest_us * rate_hz, USEC) + 1;
}

/*
 * Smallest L with L = behind_us + sum of requests(L) * cost over the @nr lines
 * @ahead. Returns false when there is none.
 *
 * With U the share of the CPU that the lines ahead need, and floor(x) + 1 >= x +
 * 10^-6 for the fractions that occur here, every solution is at least (behind +
 * sum of COST / 10^6) / (1 - U). Starting there and not at 0 bounds the number
 * of steps: at full seconds all the fractions are next to 0, so a solution lies
 * not much more than a second above that bound, however close U is to 1.
 *
 * Overflow: with bounded load the sum of COST is below 15 * 2^32 and 1 - U at
 * least 10^-6, so L stays below 2^56.
 */
static bool i8259_response(const struct i8259_line *lines, const u8 *ahead, unsigned int nr,
			   u32 behind_us, u64 *latency_us)
{
	u64 fixed_us = behind_us, once_us = 0, load = 0, now, next;

	for (unsigned int i = 0; i < nr; i++) {
		const struct i8259_line *line = &lines[ahead[i]];
		u64 need = (u64)line->cost_us * line->rate_hz;

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
		for (unsigned int i = 0; i < nr; i++) {
			const struct i8259_line *line = &lines[ahead[i]];

			next += i8259_requests(now, line->rate_hz) * line->cost_us;
		}
	} while (next != now);

	*latency_us = now;
	return true;
}

/* Ratio of a latency to the deadline of a line; 0 when there is no deadline. */
static struct i8259_ratio i8259_line_ratio(const struct i8259_line *line, u64 latency_us)
{
	struct i8259_ratio ratio = { .us = latency_us, .num = 1, .den = line->deadline_us };

	if (!line->deadline_us) {
		ratio.num = line->rate_hz;
		ratio.den = USEC;
	}
	return ratio;
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
 * @a:	one ratio
 * @b:	the other
 *
 * Return: < 0, 0 or > 0 when @a is smaller than, equal to or greater than @b.
 * Two unbounded ones are equal.
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
 * i8259_ratio_permille() - A ratio for people
 * @ratio:	the ratio
 *
 * Return: thousandths, rounded down; U32_MAX when unbounded or larger.
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

static bool i8259_is_late(const struct i8259_line *line, u64 latency_us)
{
	struct i8259_ratio in_time = { .us = 1, .num = 1, .den = 1 };

	return i8259_ratio_cmp(i8259_line_ratio(line, latency_us), in_time) > 0;
}

/* Latency of the line of rank @rank; false when it is unbounded. */
static bool i8259_rank_latency(const u8 *irqs, unsigned int rank,
			       const struct i8259_line *lines, u64 *latency_us)
{
	u8 ahead[I8259_NR_DEVICES];
	unsigned int nr = 0;
	u32 behind_us = 0;

	for (unsigned int i = 0; i < I8259_NR_DEVICES; i++) {
		const struct i8259_line *line = &lines[irqs[i]];

		if (!line->used || i == rank)
			continue;
		if (i < rank)
			ahead[nr++] = irqs[i];
		else if (line->cost_us > behind_us)
			behind_us = line->cost_us;
	}
	return i8259_response(lines, ahead, nr, behind_us, latency_us);
}

/**
 * i8259_order_latency() - Worst-case latency of each line under an order
 * @order:	the order, both members in their range
 * @lines:	the load of each line, by interrupt number; the cascade's is not
 *		looked at
 * @latency:	the result, by interrupt number
 *
 * See "DOC: i8259-latency" for the formula.
 */
void i8259_order_latency(struct i8259_order order, const struct i8259_line lines[I8259_NR_LINES],
			 struct i8259_latency latency[I8259_NR_LINES])
{
	u8 irqs[I8259_NR_DEVICES];

	latency[I8259_CASCADE] = (struct i8259_latency){ .verdict = I8259_UNUSED };

	i8259_order_irqs(order, irqs);
	for (unsigned int rank = 0; rank < I8259_NR_DEVICES; rank++) {
		const struct i8259_line *line = &lines[irqs[rank]];
		struct i8259_latency *l = &latency[irqs[rank]];

		l->us = 0;
		if (!line->used)
			l->verdict = I8259_UNUSED;
		else if (!i8259_rank_latency(irqs, rank, lines, &l->us))
			l->verdict = I8259_UNBOUNDED;
		else if (i8259_is_late(line, l->us))
			l->verdict = I8259_LATE;
		else
			l->verdict = I8259_OK;
	}
}

/* The worst ratio of an order, or some ratio that is not below *@limit. */
static struct i8259_ratio i8259_worst_below(struct i8259_order order,
					    const struct i8259_line *lines,
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
 * i8259_order_worst() - Worst ratio of latency to deadline under an order
 * @order:	the order, both members in their range
 * @lines:	the load of each line, by interrupt number
 *
 * Return: the largest ratio of all lines that are used; 0 when there are none.
 */
struct i8259_ratio i8259_order_worst(struct i8259_order order,
				     const struct i8259_line lines[I8259_NR_LINES])
{
	return i8259_worst_below(order, lines, NULL);
}

/**
 * i8259_order_best() - The best of the 64 orders
 * @lines:	the load of each line, by interrupt number
 * @worst:	its worst ratio of latency to deadline
 *
 * Return: the order with the smallest worst ratio; of equal ones that with the
 * lowest master, then the lowest slave.
 */
struct i8259_order i8259_order_best(const struct i8259_line lines[I8259_NR_LINES],
				    struct i8259_ratio *worst)
{
	struct i8259_order best = { I8259_MASTER_DEFAULT, I8259_SLAVE_DEFAULT };

	*worst = i8259_order_worst(best, lines);
	for (u8 master = 0; master < 8; master++) {
		for (u8 slave = 8; slave < 16; slave++) {
			struct i8259_order order = { master, slave };
			struct i8259_ratio ratio = i8259_worst_below(order, lines, worst);

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
 * @rate_hz:	what was returned last time, 0 at first
 * @count:	interrupts since then
 * @elapsed_ns:	time since then, in nanoseconds
 *
 * The analysis wants the rate of the busy times: a rise counts at once, a fall
 * by an eighth per call.
 *
 * Return: interrupts per second, rounded up, at most U32_MAX.
 */
u32 i8259_rate_update(u32 rate_hz, u64 count, u64 elapsed_ns)
{
	u32 slow = rate_hz - rate_hz / 8 - !!(rate_hz % 8);
	u64 elapsed_us = div_u64(elapsed_ns, 1000), rate;

	if (!elapsed_us)
		return rate_hz;
	if (elapsed_us > MAX_U32)
		elapsed_us = MAX_U32;
	if (count > MAX_U32)
		count = MAX_U32;
	rate = div_u64(count * USEC + elapsed_us - 1, elapsed_us);
	if (rate > MAX_U32)
		rate = MAX_U32;
	return rate > slow ? rate : slow;
}

/**
 * i8259_auto_step() - One pass of `auto`
 * @state:	memory between the passes, zeroed at first
 * @now:	the order in force
 * @lines:	the load of each line, by interrupt number
 * @next:	the order to change to, written when there is a change
 *
 * Standing still is the default: the order is left only when the best one's
 * worst ratio is at most 7/8 of its own, in three passes in a row.
 *
 * Return: whether to change the order to @next.
 */
bool i8259_auto_step(struct i8259_auto *state, struct i8259_order now,
		     const struct i8259_line lines[I8259_NR_LINES], struct i8259_order *next)
{
	struct i8259_ratio present = i8259_order_worst(now, lines), worst;
	struct i8259_order best = i8259_order_best(lines, &worst);
	bool gain = i8259_ratio_cmp(worst, present) < 0;

	/* At most 2^57 microseconds: no overflow */
	present.us *= I8259_AUTO_GAIN_NUM;
	worst.us *= I8259_AUTO_GAIN_DEN;

	if (!gain || i8259_ratio_cmp(worst, present) > 0) {
		state->worse = 0;
		return false;
	}
	if (++state->worse < I8259_AUTO_CONFIRM)
		return false;

	state->worse = 0;
	*next = best;
	return true;
}
