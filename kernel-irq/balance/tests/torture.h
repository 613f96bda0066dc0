/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the halves of the torture test: interrupts and their NAPI */
#ifndef _KERNEL_IRQ_BALANCE_TORTURE_H
#define _KERNEL_IRQ_BALANCE_TORTURE_H

#include <linux/atomic.h>
#include <linux/printk.h>

extern struct bt_stats {
	atomic_long_t moves, published, refused, retried, expired, cancelled, writes, requests;
	atomic_long_t descriptors, disables, switches, notifications, late;
	atomic_long_t polls, handed, sent, received, dropped;
	/* Errors */
	atomic_long_t lost, extra, forbidden, dead_cpu, wrong_mask, others;
	atomic_long_t twice, foreign, forgotten, missing;
} bt_stats;

#define bt_fail(what, fmt, ...)						\
do {									\
	atomic_long_inc(&bt_stats.what);				\
	pr_alert_ratelimited("!!! " fmt "\n", ##__VA_ARGS__);		\
} while (0)

struct bt_napi *bt_napi_add(unsigned int irq, unsigned int how);
void bt_napi_raise(struct bt_napi *n);
void bt_napi_del(struct bt_napi *n);
void bt_napi_toggle(struct bt_napi *n, bool threaded);

#endif /* _KERNEL_IRQ_BALANCE_TORTURE_H */
