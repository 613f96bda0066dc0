/* SPDX-License-Identifier: GPL-2.0 */
/* The part of linux/time64.h that the KUnit suites need. */
#ifndef _IRQ_BALANCE_LINUX_TIME64_H
#define _IRQ_BALANCE_LINUX_TIME64_H

#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_SEC	1000000000L

#endif
