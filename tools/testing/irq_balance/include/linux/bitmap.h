/* SPDX-License-Identifier: GPL-2.0 */
/* The part of linux/bitmap.h that the planner needs. */
#ifndef _IRQ_BALANCE_LINUX_BITMAP_H
#define _IRQ_BALANCE_LINUX_BITMAP_H

#include <string.h>

#include <linux/bits.h>
#include <linux/types.h>

#define BITS_PER_LONG		(8 * sizeof(long))
#define BITS_TO_LONGS(nr)	(((nr) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define DECLARE_BITMAP(name, bits)	unsigned long name[BITS_TO_LONGS(bits)]

static inline void __set_bit(unsigned long nr, unsigned long *bits)
{
	bits[nr / BITS_PER_LONG] |= 1UL << nr % BITS_PER_LONG;
}

static inline void __clear_bit(unsigned long nr, unsigned long *bits)
{
	bits[nr / BITS_PER_LONG] &= ~(1UL << nr % BITS_PER_LONG);
}

static inline bool test_bit(unsigned long nr, const unsigned long *bits)
{
	return bits[nr / BITS_PER_LONG] >> nr % BITS_PER_LONG & 1;
}

static inline void bitmap_zero(unsigned long *bits, unsigned int size)
{
	memset(bits, 0, BITS_TO_LONGS(size) * sizeof(*bits));
}

static inline void bitmap_fill(unsigned long *bits, unsigned int size)
{
	unsigned int nr;

	bitmap_zero(bits, size);
	for (nr = 0; nr < size; nr++)
		__set_bit(nr, bits);
}

static inline void bitmap_clear(unsigned long *bits, unsigned int from, unsigned int nr)
{
	while (nr--)
		__clear_bit(from + nr, bits);
}

static inline unsigned long find_next_bit(const unsigned long *bits,
					  unsigned long size, unsigned long at)
{
	while (at < size) {
		unsigned long word = bits[at / BITS_PER_LONG] >> at % BITS_PER_LONG;

		if (word) {
			at += __builtin_ctzl(word);
			return at < size ? at : size;
		}
		at = (at / BITS_PER_LONG + 1) * BITS_PER_LONG;
	}
	return size;
}

static inline unsigned long find_first_bit(const unsigned long *bits,
					   unsigned long size)
{
	return find_next_bit(bits, size, 0);
}

static inline bool bitmap_empty(const unsigned long *bits, unsigned int size)
{
	return find_first_bit(bits, size) >= size;
}

#endif
