/* SPDX-License-Identifier: GPL-2.0 */
/* The part of linux/string.h that the planner needs. */
#ifndef _IRQ_BALANCE_LINUX_STRING_H
#define _IRQ_BALANCE_LINUX_STRING_H

#include <stdbool.h>
#include <string.h>

/* Like strcmp() == 0, but @a may end with a newline. */
static inline bool sysfs_streq(const char *a, const char *b)
{
	size_t length = strlen(b);

	return !strncmp(a, b, length) && (!a[length] || !strcmp(a + length, "\n"));
}

#endif
