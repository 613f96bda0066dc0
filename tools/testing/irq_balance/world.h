/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small machine for tests: it executes all moves of the planner and checks the
 * invariants of each pass.
 */
#ifndef _IRQ_BALANCE_WORLD_H
#define _IRQ_BALANCE_WORLD_H

#include "kernel.h"

#define WORLD_CPUS	96
#define WORLD_IRQS	128
#define MSEC		1000000ULL

/**
 * struct world - a machine under test
 * @nr_cpus:	CPUs
 * @nr_irqs:	interrupts
 * @cpus:	CPUs as the policy sees them, and one more that it may not touch
 * @irqs:	interrupts as the policy sees them
 * @state:	state of the policy for each interrupt
 * @mask:	affinity mask of the user
 * @movable:	whether the interrupt may be moved
 * @load:	ns/s on a CPU of capacity 1024
 * @base:	ns/s of each CPU's own
 * @deaf:	interrupts whose moves are not done
 * @bal:	the balancer
 * @set:	its settings
 * @work:	its workspace
 * @now:	clock, ns
 * @passes:	passes so far
 * @moves:	moves so far
 * @last_move:	clock of the last one
 * @hash:	of all moves
 * @wrong:	the first broken invariant, NULL: none
 */
struct world {
	unsigned int			nr_cpus;
	unsigned int			nr_irqs;
	struct irq_balance_cpu		cpus[WORLD_CPUS + 1];
	struct irq_balance_irq		irqs[WORLD_IRQS];
	struct irq_balance_state	state[WORLD_IRQS];
	unsigned long			mask[WORLD_IRQS][BITS_TO_LONGS(WORLD_CPUS)];
	bool				movable[WORLD_IRQS];
	u64				load[WORLD_IRQS];
	u64				base[WORLD_CPUS];
	bool				deaf[WORLD_IRQS];
	struct irq_balance		bal;
	struct irq_balance_settings	set;
	void				*work;
	u64				now;
	unsigned int			passes;
	unsigned int			moves;
	u64				last_move;
	u64				hash;
	const char			*wrong;
};

void world_init(struct world *w, unsigned int nr_cpus);
void world_exact(struct world *w);
void world_exit(struct world *w);
unsigned int world_irq(struct world *w, unsigned int cpu, u64 load);
u64 world_load(const struct world *w, unsigned int cpu);
u64 world_worst(const struct world *w);
bool world_may(const struct world *w, unsigned int irq, unsigned int cpu);
unsigned int world_pass(struct world *w);
unsigned int world_step(struct world *w, u64 ns);
unsigned int world_run(struct world *w, unsigned int ms);

#endif /* _IRQ_BALANCE_WORLD_H */
