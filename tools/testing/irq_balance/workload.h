/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A workload for the user-space build of the balancer: CPUs, interrupts, and
 * events. Documentation/admin-guide/irq-balance-replay.rst has the
 * format.
 */
#ifndef _IRQ_BALANCE_WORKLOAD_H
#define _IRQ_BALANCE_WORKLOAD_H

#include <stdio.h>

#include "kernel.h"

#define WORKLOAD_CPUS_MAX	8192U
#define WORKLOAD_IRQS_MAX	1048576U
#define WORKLOAD_MS_MAX		4294967295ULL

/**
 * struct workload_cpu - a cpu statement
 * @id:		number of the CPU in the file
 * @node:	NUMA node or -1
 * @package:	package
 * @llc:	last-level cache
 * @core:	core
 * @capacity:	1..1024
 * @isolated:	not a housekeeping CPU
 * @online:	while parsing: whether it is online
 */
struct workload_cpu {
	unsigned int	id;
	int		node;
	unsigned int	package;
	unsigned int	llc;
	unsigned int	core;
	unsigned int	capacity;
	bool		isolated;
	bool		online;
};

/**
 * struct workload_irq - an irq statement
 * @id:		number of the interrupt
 * @node:	NUMA node of the device or -1
 * @mask:	bitmap of CPU indices
 * @at:		index of the CPU that it is delivered to at the start
 * @managed:	managed affinity
 * @pinned:	left where it is
 */
struct workload_irq {
	unsigned int	id;
	int		node;
	unsigned long	*mask;
	unsigned int	at;
	bool		managed;
	bool		pinned;
};

enum workload_what {
	WORKLOAD_EPOCH,
	WORKLOAD_LOAD,
	WORKLOAD_BASE,
	WORKLOAD_TASKS,
	WORKLOAD_FOLLOWS,
	WORKLOAD_TOLL,
	WORKLOAD_MASK,
	WORKLOAD_OFFLINE,
	WORKLOAD_ONLINE,
	WORKLOAD_PASS,
};

/**
 * struct workload_event - a statement of an epoch
 * @what:	kind of statement
 * @ms:		time of its epoch
 * @index:	index of the CPU or interrupt
 * @value:	ns/s
 * @mask:	bitmap of CPU indices
 */
struct workload_event {
	enum workload_what	what;
	u64			ms;
	unsigned int		index;
	u64			value;
	unsigned long		*mask;
};

/**
 * struct workload - all of a file
 * @cpus:	CPUs, by rising number
 * @nr_cpus:	how many
 * @irqs:	interrupts, by rising number
 * @nr_irqs:	how many
 * @events:	statements of the epochs, in their order
 * @nr_events:	how many
 * @recorded:	the file has the times of the passes
 * @end:	ms
 */
struct workload {
	struct workload_cpu	*cpus;
	unsigned int		nr_cpus;
	struct workload_irq	*irqs;
	unsigned int		nr_irqs;
	struct workload_event	*events;
	size_t			nr_events;
	bool			recorded;
	u64			end;
};

int workload_read(struct workload *load, const char *name, FILE *in, FILE *err);
void workload_free(struct workload *load);
int workload_number(const char *word, u64 max, u64 *value);
int workload_cpulist(const struct workload *load, const char *list,
		     unsigned long *mask);

#endif /* _IRQ_BALANCE_WORKLOAD_H */
