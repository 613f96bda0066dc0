/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the tests of the planner.
 */
#ifndef _IRQ_BALANCE_TEST_H
#define _IRQ_BALANCE_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

extern const char *failure;
extern char text[512];
extern u64 rng;

#define EXPECT(cond) do {						\
	if (!(cond) && !failure) {					\
		snprintf(text, sizeof(text), "line %d: %s", __LINE__, #cond); \
		failure = text;						\
	}								\
} while (0)

#define EXPECT_EQ(a, b) do {						\
	unsigned long long ea = (a), eb = (b);				\
	if (ea != eb && !failure) {					\
		snprintf(text, sizeof(text), "line %d: %s is %llu, not %llu", \
			 __LINE__, #a, ea, eb);				\
		failure = text;						\
	}								\
} while (0)

void report(const char *name);
void finish(struct world *w);
void settle(struct world *w);
unsigned int ask(struct world *w);
u64 rnd(u64 below);
void only(struct world *w, unsigned int irq, unsigned int a, unsigned int b);

void test_small(void);
void test_average(void);
void test_placement(void);
void test_search(void);
void test_topology(void);
void test_time(void);
void test_rules(void);
void test_hostile(void);
void test_beyond(unsigned int seeds);
void test_bursts(unsigned int seeds);
void test_swings(unsigned int seeds);

#endif /* _IRQ_BALANCE_TEST_H */
