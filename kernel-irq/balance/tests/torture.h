/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two halves of the torture test share: interrupts and their NAPI.
 */
#ifndef _KERNEL_IRQ_BALANCE_TORTURE_H
#define _KERNEL_IRQ_BALANCE_TORTURE_H

#include <linux/types.h>

struct bt_napi;

#ifdef CONFIG_IRQ_BALANCE_NAPI
struct bt_napi *bt_napi_add(unsigned int irq, unsigned int how);
void bt_napi_raise(struct bt_napi *n);
void bt_napi_del(struct bt_napi *n);
void bt_napi_toggle(struct bt_napi *n, bool threaded);
void bt_napi_print(void);
bool bt_napi_failed(void);
#else
static inline struct bt_napi *bt_napi_add(unsigned int irq, unsigned int how) { return NULL; }
static inline void bt_napi_raise(struct bt_napi *n) { }
static inline void bt_napi_del(struct bt_napi *n) { }
static inline void bt_napi_toggle(struct bt_napi *n, bool threaded) { }
static inline void bt_napi_print(void) { }
static inline bool bt_napi_failed(void) { return false; }
#endif

#endif /* _KERNEL_IRQ_BALANCE_TORTURE_H */
