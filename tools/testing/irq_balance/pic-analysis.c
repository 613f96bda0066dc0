// SPDX-License-Identifier: GPL-2.0
/*
 * Response-time analysis of the 8259A pair: the worst-case latency of each line, and
 * the best of the 64 orders.
 *
 * The latency of a line is the time from its request to the start of its handler. A
 * line waits for the longest handler of the lines behind it, which may just have begun,
 * and for each handler of the lines ahead of it that becomes pending meanwhile:
 *
 *   L = max(COST of the lines behind)
 *       + sum over the lines ahead of (floor(L * RATE / 10^6) + 1) * COST
 *
 * Documentation/admin-guide/i8259-priority.rst explains it.
 */
#include <linux/kernel.h>
#include <linux/math64.h>

#include "pic-analysis.h"

#define USEC		1000000U

/*
 * Requests of a line within @span_us of the moment at which all lines request
 * together: floor(span * rate / 10^6) + 1. Split at the second against overflow.
 */
static u64 pic_requests(u64 span_us, u32 rate_hz)
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
static bool pic_rank_latency(const u8 *irqs, unsigned int rank, const struct pic_line *lines,
			     u64 *latency_us)
{
	u64 fixed_us, once_us = 0, load = 0, now, next;
	u32 behind_us = 0;

	for (unsigned int i = rank + 1; i < I8259_NR_DEVICES; i++) {
		const struct pic_line *line = &lines[irqs[i]];

		if (line->used)
			behind_us = max(behind_us, line->cost_us);
	}
	fixed_us = behind_us;
	for (unsigned int i = 0; i < rank; i++) {
		const struct pic_line *line = &lines[irqs[i]];
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
			const struct pic_line *line = &lines[irqs[i]];

			if (line->used)
				next += pic_requests(now, line->rate_hz) * line->cost_us;
		}
	} while (next != now);

	*latency_us = now;
	return true;
}

/* Ratio of a latency to the deadline of a line; 0 if there is no deadline. */
static struct pic_ratio pic_line_ratio(const struct pic_line *line, u64 latency_us)
{
	return (struct pic_ratio){
		.us	= latency_us,
		.num	= line->deadline_us ? 1 : line->rate_hz,
		.den	= line->deadline_us ?: USEC,
	};
}

/* The product as two words, most significant first. */
static void pic_mul128(u64 a, u64 b, u64 product[2])
{
	u64 low = (u64)(u32)a * (u32)b;
	u64 mid1 = (a >> 32) * (u32)b + (low >> 32);
	u64 mid2 = (u64)(u32)a * (b >> 32) + (u32)mid1;

	product[0] = (a >> 32) * (b >> 32) + (mid1 >> 32) + (mid2 >> 32);
	product[1] = mid2 << 32 | (u32)low;
}

/**
 * pic_ratio_cmp() - Compare two ratios exactly
 * @a:	first ratio
 * @b:	second ratio
 *
 * Return: < 0, 0 or > 0 if @a is smaller than, equal to or greater than @b.
 * Unbounded ratios are equal.
 */
int pic_ratio_cmp(struct pic_ratio a, struct pic_ratio b)
{
	u64 left[2], right[2];
	int word;

	if (a.unbounded || b.unbounded)
		return a.unbounded - b.unbounded;

	pic_mul128(a.us, (u64)a.num * b.den, left);
	pic_mul128(b.us, (u64)b.num * a.den, right);
	word = left[0] == right[0];
	if (left[word] == right[word])
		return 0;
	return left[word] < right[word] ? -1 : 1;
}

/**
 * pic_latencies() - Worst-case latency of each line under an order
 * @order:	the order, both members in their range
 * @lines:	the load of each line, by interrupt number; the cascade's is ignored
 * @latency:	the result, by interrupt number
 *
 * The comment at the top of this file has the formula.
 */
void pic_latencies(struct i8259_order order, const struct pic_line lines[I8259_NR_LINES],
		   struct pic_latency latency[I8259_NR_LINES])
{
	const struct pic_ratio in_time = { .us = 1, .num = 1, .den = 1 };
	u8 irqs[I8259_NR_DEVICES];
	u64 load = 0;

	latency[I8259_CASCADE] = (struct pic_latency){ .verdict = PIC_UNUSED };

	i8259_order_irqs(order, irqs);
	for (unsigned int rank = 0; rank < I8259_NR_DEVICES; rank++) {
		const struct pic_line *line = &lines[irqs[rank]];
		struct pic_latency *l = &latency[irqs[rank]];

		l->us = 0;
		/* Cut off above the whole CPU, so that no sum overflows */
		if (line->used)
			load = min(load + (u64)line->cost_us * line->rate_hz, USEC + 1ULL);
		if (!line->used)
			l->verdict = PIC_UNUSED;
		else if (!pic_rank_latency(irqs, rank, lines, &l->us))
			l->verdict = PIC_UNBOUNDED;
		else if (load > USEC || pic_ratio_cmp(pic_line_ratio(line, l->us), in_time) > 0)
			l->verdict = PIC_LATE;
		else
			l->verdict = PIC_OK;
	}
}

/**
 * pic_worst() - Worst ratio of latency to deadline under an order
 * @order:	the order, both members in their range
 * @lines:	the load of each line, by interrupt number
 * @limit:	stop at a ratio that is not below this one; may be NULL
 *
 * Return: the largest ratio of all lines that are used, 0 if there are none; or
 * some ratio that is not below @limit.
 */
struct pic_ratio pic_worst(struct i8259_order order, const struct pic_line lines[I8259_NR_LINES],
			   const struct pic_ratio *limit)
{
	struct pic_ratio worst = { .den = 1 };
	u8 irqs[I8259_NR_DEVICES];

	i8259_order_irqs(order, irqs);
	for (unsigned int rank = 0; rank < I8259_NR_DEVICES; rank++) {
		const struct pic_line *line = &lines[irqs[rank]];
		struct pic_ratio ratio = { .unbounded = true, .den = 1 };
		u64 us;

		if (!line->used)
			continue;
		if (pic_rank_latency(irqs, rank, lines, &us))
			ratio = pic_line_ratio(line, us);
		if (pic_ratio_cmp(ratio, worst) > 0)
			worst = ratio;
		if (worst.unbounded || (limit && pic_ratio_cmp(worst, *limit) >= 0))
			break;
	}
	return worst;
}

/**
 * pic_best() - The best of the 64 orders
 * @lines:	the load of each line, by interrupt number
 * @worst:	its worst ratio of latency to deadline
 *
 * Return: the order with the smallest worst ratio; of equal orders the one with
 * the lowest master, then the lowest slave.
 */
struct i8259_order pic_best(const struct pic_line lines[I8259_NR_LINES], struct pic_ratio *worst)
{
	struct i8259_order best = I8259_ORDER_DEFAULT;

	*worst = pic_worst(best, lines, NULL);
	for (u8 master = 0; master < 8; master++) {
		for (u8 slave = 8; slave < 16; slave++) {
			struct i8259_order order = { master, slave };
			struct pic_ratio ratio = pic_worst(order, lines, worst);

			if (pic_ratio_cmp(ratio, *worst) < 0) {
				*worst = ratio;
				best = order;
			}
		}
	}
	return best;
}
