/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Run the balancer's own passes over a workload, in simulated time.
 */
#ifndef _IRQ_BALANCE_SIM_H
#define _IRQ_BALANCE_SIM_H

#include "workload.h"

enum sim_state { SIM_OFF, SIM_ON, SIM_OBSERVE };

/**
 * struct sim_options - options of a run
 * @set:	the balancer's settings
 * @state:	as the kernel's file of that name
 * @program:	plans instead of the planner, NULL: none
 * @own_pace:	make passes at the balancer's own pace where the workload has
 *		recorded ones too
 * @why:	say in the end why each interrupt stays
 * @cpus:	bitmap of CPU indices that the balancer may use, NULL: all
 */
struct sim_options {
	struct irq_balance_settings	set;
	enum sim_state			state;
	const struct irq_balance_program *program;
	bool				own_pace;
	bool				why;
	unsigned long			*cpus;
};

/**
 * struct sim_result - figures of a run
 * @passes:	passes
 * @moves:	moves that the balancer made
 * @last_move:	ms of the last move
 * @worst:	worst relative load (ns/s) at the end, of all online CPUs
 */
struct sim_result {
	unsigned long	passes;
	unsigned long	moves;
	u64		last_move;
	u64		worst;
};

void sim_run(const struct workload *load, const struct sim_options *opt,
	     FILE *out, struct sim_result *result);

#endif /* _IRQ_BALANCE_SIM_H */
