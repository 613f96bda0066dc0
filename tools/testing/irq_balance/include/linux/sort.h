/* SPDX-License-Identifier: GPL-2.0 */
/* The part of linux/sort.h that the planner needs. */
#ifndef _IRQ_BALANCE_LINUX_SORT_H
#define _IRQ_BALANCE_LINUX_SORT_H

#include <stdlib.h>

#define cmp_int(a, b) (((a) > (b)) - ((a) < (b)))

static inline void sort(void *base, size_t nr, size_t size,
			int (*cmp)(const void *, const void *), void *swap)
{
	(void)swap;
	qsort(base, nr, size, cmp);
}

#endif
