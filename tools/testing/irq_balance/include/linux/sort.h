/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IRQ_BALANCE_LINUX_SORT_H
#define _IRQ_BALANCE_LINUX_SORT_H

#include <stdlib.h>

#define sort(base, nr, size, cmp, swap)	qsort(base, nr, size, cmp)

#endif
