// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: what a pass sees
 *
 * Of each CPU: whether the balancer may use it, its capacity, what tasks take of it, its base
 * load. Of each interrupt with a load: how the last move went, the CPU that has the load, the
 * mask, why it may not be moved, its device's node, and what it costs more once it has moved. When
 * masks or CPUs have changed (a review), also of those without a load that ever came.
 */
#include <linux/cacheinfo.h>
#include <linux/cpu.h>
#include <linux/cpufreq.h>
#include <linux/irq.h>
#include <linux/sched.h>
#include <linux/sched/deadline.h>
#include <linux/sched/topology.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "../internals.h"
#include "collect.h"
#include "config.h"
#include "plan.h"
#define CREATE_TRACE_POINTS
#include "trace.h"

/* A CPU without a free vector gets no newcomers for this long */
#define IRQ_BALANCE_NO_VECTOR_NS	(10ULL * NSEC_PER_SEC)

/* Samples of one occurrence: of its handler, its thread, its polls */
#define IRQ_BALANCE_PROOF	3

/*
 * An IPI for each occurrence of a redirected interrupt: sent on one CPU, taken and ended on the
 * other, which may have to leave idle. Small cores take 1 to 2 us for an entry and its exit alone.
 */
#define IRQ_BALANCE_IPI_NS	(2 * NSEC_PER_USEC)

/* The real-time tasks of a CPU */
struct irq_balance_realtime {
	u64	time;		/* of tasks other than threads of interrupts, ns */
	s64	threads;	/* time of these (ns) that is to be taken off what comes */
};

static DEFINE_PER_CPU(struct irq_balance_realtime, irq_balance_realtime);

static const char * const status_names[] = { IRQ_BALANCE_STATUSES(IRQ_BALANCE_WORD) };

/* The lowest CPU of a mask, or @cpu, which it may lack where the firmware says nonsense */
static unsigned int first_of(const struct cpumask *mask, unsigned int cpu)
{
	unsigned int first = cpumask_first(mask);

	return first < nr_cpu_ids ? first : cpu;
}

/* A node has its number; a cache, core or package that of its lowest CPU */
static void collect_topology(struct irq_balance_cpu *c, unsigned int cpu)
{
	struct cacheinfo *llc = get_cpu_cacheinfo_llc(cpu);

	c->node = cpu_to_node(cpu);
	c->core = first_of(topology_sibling_cpumask(cpu), cpu);
	/* Without a topology all CPUs are in one package, but have masks of one CPU */
	c->package = first_of(topology_physical_package_id(cpu) < 0 ?
				       cpu_online_mask : topology_core_cpumask(cpu), cpu);
	c->llc = llc ? first_of(&llc->shared_cpu_map, cpu) : c->package;
}

/* CPUs that interrupts may be moved to. Stale if a CPU may go away meanwhile. */
void irq_balance_usable_cpus(struct cpumask *mask)
{
	unsigned int cpu;

	irq_balance_get_cpus(mask);
	cpumask_and(mask, mask, cpu_online_mask);
	for_each_cpu(cpu, mask) {
		if (!irq_balance_is_housekeeping(cpu))
			cpumask_clear_cpu(cpu, mask);
	}
}

/* The capacity that throttling leaves, and what it takes if times follow the frequency */
static void collect_capacity(struct irq_balance_cpu *c, unsigned int cpu)
{
	u32 capacity = clamp_t(u32, arch_scale_cpu_capacity(cpu), 1, IRQ_BALANCE_CAPACITY);
	u32 throttled = min_t(u32, capacity - 1, cpufreq_get_pressure(cpu));

	c->capacity = capacity - throttled;
	c->throttled = 0;
#ifdef arch_scale_freq_invariant
	if (arch_scale_freq_invariant()) {
		c->throttled = throttled;
		capacity = c->capacity;
	}
#endif
	/* The time that tasks take, ns/s: all but interrupts and base load of the last pass */
	c->tasks = cpu_online(cpu) ? div_u64(sched_cpu_util(cpu) * IRQ_BALANCE_FULL, capacity) : 0;
	c->tasks -= min(c->tasks, c->load);
}

static void collect_cpus(struct irq_balance_map *map)
{
	unsigned int cpu;

	irq_balance_usable_cpus(&map->usable);

	for_each_possible_cpu(cpu) {
		struct irq_balance_cpu *c = &map->cpus[cpu];

		/* Not with its tick, which each CPU has, and the entry of interrupts */
		c->time = irq_load_base(cpu);
		if (cpu_online(cpu))
			collect_topology(c, cpu);
		if (c->usable != cpumask_test_cpu(cpu, &map->usable)) {
			c->usable = !c->usable;
			map->policy.changed = true;
		}
		collect_capacity(c, cpu);
		/* Elsewhere it is the number of the CPU, for packing tasks */
		c->priority = IS_ENABLED(CONFIG_SCHED_MC_PRIO) ? arch_asym_cpu_priority(cpu) : 0;
	}
}

/*
 * Real-time and deadline tasks delay interrupts as softirqs do, and are base load, too. Not the
 * threads of interrupts, which are such tasks: their time is in the load of their interrupts.
 * Both are estimates: if more of these is seen the next time makes up for it, up to a second.
 */
static void collect_realtime(struct irq_balance_map *map, u64 elapsed)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct irq_balance_realtime *rt = per_cpu_ptr(&irq_balance_realtime, cpu);
		s64 spent = -rt->threads;

		if (cpu_online(cpu))
			spent += mul_u64_u64_div_u64(elapsed, sched_cpu_util_rt(cpu),
						     max(arch_scale_cpu_capacity(cpu), 1UL));
		rt->threads = elapsed ? clamp(-spent, 0, (s64)NSEC_PER_SEC) : 0;
		rt->time += max(spent, 0);
		map->cpus[cpu].time += rt->time;
	}
}

void irq_balance_count_failure(unsigned int irq, unsigned int target, int error)
{
	irq_balance_map.failed++;
	trace_irq_balance_fail(irq, target, error);
}

/* Whether it waits for an interrupt to leave a CPU where it may not be: that may be long */
static bool is_leaving(struct irq_desc *desc)
{
	unsigned int cpu = irq_balance_cpu(desc);

	return irqd_has_set(&desc->irq_data, IRQD_BALANCE_PENDING) &&
	       cpumask_test_cpu(desc->balance->target, &irq_balance_map.usable) &&
	       !(cpumask_test_cpu(cpu, &irq_balance_map.usable) &&
		 cpumask_test_cpu(cpu, irq_balance_mask(desc)));
}

/* How did the move go that the last pass asked for? */
void irq_balance_collect_result(struct irq_desc *desc, u64 now)
{
	struct irq_balance_entry *entry = irq_balance_entry_of(desc);
	int error;

	if (!entry || !entry->moving || is_leaving(desc))
		return;

	error = irq_balance_move_result(desc);
	entry->moving = error == -EINPROGRESS;
	entry->unproven = !error;
	if (!error || entry->moving)
		return;
	if (error == -ENOSPC)
		irq_balance_map.cpus[entry->state.target].full_until =
			now + IRQ_BALANCE_NO_VECTOR_NS;
	irq_balance_count_failure(irq_desc_get_irq(desc), entry->state.target, error);
}

/* Whether the mask leaves no choice; one without any usable CPU is respected as it is */
static bool mask_is_pin(struct irq_desc *desc, const struct cpumask *usable)
{
	const struct cpumask *affinity = irq_balance_mask(desc);
	const struct cpumask *effective = irq_data_get_effective_affinity_mask(&desc->irq_data);
	unsigned int first = cpumask_first_and(affinity, usable);

	if (cpumask_weight(affinity) == 1 || first >= nr_cpu_ids)
		return true;

	return cpumask_test_cpu(first, effective) &&
	       cpumask_next_and(first, affinity, usable) >= nr_cpu_ids;
}

/* Why an interrupt stays where it is: for itself, the user, or the mask, maybe the driver's */
static enum irq_balance_status status_of(struct irq_desc *desc, const struct cpumask *usable)
{
	enum irq_balance_status status = irq_balance_check(desc);

	if (status != IRQ_BALANCE_MOVABLE || !mask_is_pin(desc, usable))
		return status;
	return desc->affinity_hint && cpumask_weight(desc->affinity_hint) == 1 &&
	       cpumask_equal(desc->affinity_hint, irq_balance_mask(desc)) ? IRQ_BALANCE_DRIVER :
									   IRQ_BALANCE_PINNED;
}

/* The status in one word. If it may be moved, why the last pass left it, or moved it. */
const char *irq_balance_word(struct irq_desc *desc, const struct cpumask *usable)
{
	const struct irq_balance_entry *entry = irq_balance_peek(desc);
	enum irq_balance_why why = entry ? READ_ONCE(entry->state.why) : IRQ_BALANCE_WHY_NONE;
	enum irq_balance_status status = status_of(desc, usable);

	/* It may have been fixed at the last pass only */
	if (status != IRQ_BALANCE_MOVABLE || !why || why == IRQ_BALANCE_WHY_FIXED)
		return status_names[status];
	return irq_balance_why_name(why);
}

/*
 * The CPU that has the load: where the interrupt goes to, until as many samples ran elsewhere as
 * one occurrence can have. Then a move that was made only for the chip has failed. One that
 * leaves when it comes counts as gone.
 */
static unsigned int load_cpu(struct irq_desc *desc, const struct irq_load *load)
{
	struct irq_balance_entry *entry = irq_balance_entry_of(desc);
	unsigned int cpu = is_leaving(desc) ? desc->balance->target : irq_balance_cpu(desc);

	if (cpu != entry->effective) {
		entry->effective = cpu;
		entry->ran = nr_cpu_ids;
		entry->charges = load->charges;
		/* Something else may have moved it since */
		entry->unproven &= cpu == entry->state.target;
	}
	if (load->charges - entry->charges > IRQ_BALANCE_PROOF) {
		entry->ran = load->cpu;
		entry->charges = load->charges;
		if (entry->unproven && entry->ran != cpu)
			irq_balance_count_failure(irq_desc_get_irq(desc), cpu, -ESTALE);
		entry->unproven = false;
	}
	if (cpu >= nr_cpu_ids)
		return load->cpu;
	if (entry->ran < nr_cpu_ids && cpu_online(entry->ran) &&
	    cpumask_test_cpu(entry->ran, irq_balance_mask(desc)))
		return entry->ran;
	return cpu;
}

/* The time that IPIs would take if the interrupt were redirected, ns/s, over at least 0.1 s */
static u64 toll_of(struct irq_desc *desc, u64 now)
{
	struct irq_balance_entry *entry = irq_balance_entry_of(desc);
	/* Interrupts count on, under desc->lock or not */
	u32 count = data_race(desc->tot_count), more = count - entry->count;

	/* Without a handler there may be no chip any more */
	if (!desc->action || !irq_balance_is_redirected(desc))
		return 0;
	if (now - entry->counted >= NSEC_PER_SEC / 10) {
		if (entry->counted)
			entry->toll = div64_u64((u64)more * IRQ_BALANCE_IPI_NS * MSEC_PER_SEC,
						div_u64(now - entry->counted, NSEC_PER_MSEC));
		entry->count = count;
		entry->counted = now;
	}
	return entry->toll;
}

/*
 * Whether the planner gets an interrupt: if it has a load, and in a review if it ever came. One
 * that never did costs nothing where it is, and would take a vector elsewhere.
 */
static bool is_collected(struct irq_desc *desc, bool review)
{
	struct irq_balance_entry *entry = irq_balance_entry_of(desc);
	/* A change meanwhile is seen by the next pass, or review */
	bool came = data_race(desc->action && desc->tot_count);

	if (READ_ONCE(desc->load->seen.cpu) < nr_cpu_ids || (review && came))
		return irq_balance_alloc(desc);
	/* The state is of its last owner */
	if (entry) {
		entry->state.generation = 0;
		entry->state.planned = IRQ_BALANCE_WHY_NONE;
		WRITE_ONCE(entry->state.why, IRQ_BALANCE_WHY_NONE);
	}
	return false;
}

static void collect_irq(struct irq_desc *desc, struct irq_balance_irq *irq, u64 now)
{
	struct irq_balance_entry *entry = irq_balance_entry_of(desc);
	const struct cpumask *affinity;
	struct irq_load load;

	guard(raw_spinlock_irq)(&desc->lock);
	irq_balance_collect_result(desc, now);
	irq_load_peek(desc, &load);
	affinity = irq_balance_mask(desc);

	irq->irq = irq_desc_get_irq(desc);
	irq->state = &entry->state;
	irq->node = irq_desc_get_node(desc);
	irq->cpu = load_cpu(desc, &load);
	irq->soft = load.soft_ns;
	irq->thread = load.thread_ns;
	irq->time = irq_load_total(&load);
	if (irq->cpu < nr_cpu_ids)
		per_cpu(irq_balance_realtime.threads, irq->cpu) +=
			irq_load_since(load.thread_ns, entry->thread);
	entry->thread = load.thread_ns;
	irq->toll = toll_of(desc, now);
	irq->hint = desc->affinity_hint ? cpumask_first(desc->affinity_hint) + 1 : 0;

	irq->changed = !bitmap_equal(entry->allowed, cpumask_bits(affinity), nr_cpu_ids);
	bitmap_copy(entry->allowed, cpumask_bits(affinity), nr_cpu_ids);
	irq->status = status_of(desc, &irq_balance_map.usable);
	irq->allowed = irq->status == IRQ_BALANCE_MOVABLE ? entry->allowed : NULL;
}

int irq_balance_grow(struct irq_balance_map *map)
{
	unsigned int size = max(64U, 2 * map->size);
	void *irqs = kvrealloc(map->irqs, array_size(size, sizeof(*map->irqs)), GFP_KERNEL);
	void *descs = kvrealloc(map->descs, array_size(size, sizeof(*map->descs)), GFP_KERNEL);
	void *work = kvzalloc(irq_balance_set_work(&map->policy, NULL, size, nr_cpu_ids),
			      GFP_KERNEL);

	map->irqs = irqs ? : map->irqs;
	map->descs = descs ? : map->descs;
	if (!irqs || !descs || !work) {
		kvfree(work);
		return -ENOMEM;
	}

	kvfree(map->work);
	map->work = work;
	map->size = size;
	irq_balance_set_work(&map->policy, work, size, nr_cpu_ids);
	return 0;
}

/* Fill the map with the CPUs and the interrupts, in a review with those without a load */
void irq_balance_collect(struct irq_balance_map *map, u64 now, bool review)
{
	struct irq_desc *desc = NULL;

	lockdep_assert_held(&irq_balance_pass_mutex);
	lockdep_assert_cpus_held();

	collect_cpus(map);

	map->nr = 0;
	while ((desc = irq_load_next_desc(desc))) {
		if (map->nr == map->size && irq_balance_grow(map)) {
			irq_desc_put_ref(desc);
			/* Those that are left out are due still */
			if (review)
				irq_balance_review();
			break;
		}
		if (!is_collected(desc, review))
			continue;
		map->irqs[map->nr] = (struct irq_balance_irq) { };
		collect_irq(desc, &map->irqs[map->nr], now);
		/* Until the moves are published; there is one already, so it is had */
		irq_desc_get_ref(desc);
		map->descs[map->nr++] = desc;
	}
	collect_realtime(map, map->policy.last ? now - map->policy.last : 0);
}
