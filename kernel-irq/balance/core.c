// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-balance-thread
 *
 * The thread ties together parts that do not know each other::
 *
 *   load.c		measures what each interrupt costs	(load map),
 *			with load_softirq.c and load_napi.c
 *   plan.c		decides which CPU should serve it	(balance map),
 *			with place.c, average.c and policy.c
 *   move.c		changes the effective CPU
 *   napi.c		lets NAPI polls follow
 *   core.c		collects, plans, publishes; starts and stops
 *   config.c		parses the command line and the lists in sysfs
 *   sysfs.c		shows loads and reasons, and takes settings
 *
 * A pass
 * ~~~~~~
 *
 * The thread visits each interrupt that has a load, hands the loads, the CPUs
 * and the masks to the planner and makes the moves that it asks for.
 * The planner also says when to look again, or that there is nothing heavy on
 * this machine and no reason to wake up. Then it is the interrupt entry path
 * that wakes the thread: the charge path of an interrupt that gets heavy, or
 * gets heavier than the planner can leave alone, queues an irq_work.
 *
 * Lifetime
 * ~~~~~~~~
 *
 * Off means that there is no thread, that nothing is measured and that the
 * static key is off. What the planner remembers of an interrupt hangs off its
 * descriptor, is allocated by the first pass that sees a load and lives as long
 * as the descriptor. When the balancer is switched on again it starts from
 * nothing: irq_balance_init() voids all that is remembered.
 *
 * Locks
 * ~~~~~
 *
 * ::
 *
 *   irq_balance_mode_mutex	on, off, observe, asking for a pass: outermost
 *     cpus_read_lock()		a pass: the topology, and the online CPUs; also the
 *				static keys and calls that are switched
 *       irq_balance_pass_mutex	a pass, the settings, the statistics
 *         desc->lock		one interrupt at a time
 *
 * The thread does not take the mode mutex, so that it can be stopped under it.
 * The lists of bans and CPUs have a lock of their own, see config.c.
 * The files of one interrupt take desc->lock only: freeing an interrupt waits
 * for their readers, under a lock which CPU hotplug takes too.
 * It holds references on the descriptors during a pass. They keep
 * the memory, not the interrupt: whether it still may be moved is checked under
 * desc->lock when it is.
 *
 * Races
 * ~~~~~
 *
 * Most are tortured by tests/torture.c; in brackets what else tests them:
 * cases of tests/move_kunit.c, scripts of selftests/irq_balance.
 *
 * 1.  The user writes smp_affinity between plan and move: the move finds its
 *     target outside the mask, fails with -ENODEV and is forgotten. If the
 *     target is in the new mask too, it is as good as any.
 *     [never_outside_the_mask, mask.sh]
 * 2.  The user writes while a deferred move waits for its interrupt:
 *     irq_set_affinity_locked() calls it off under desc->lock. A write that
 *     waits itself is not overtaken: there is no move while one is pending.
 *     [users_write_wins, users_pending_move_is_not_touched, mask.sh]
 * 3.  The target goes offline while a deferred move waits, as it cannot during a
 *     pass: cpu_active() is tested when the move is done, with interrupts
 *     disabled, and CPUs go offline in stop_machine(). While the interrupt is on a
 *     CPU that goes: migrate_one_irq() calls the move off. [hotplug.sh]
 * 4.  The interrupt is freed, and perhaps requested again, between plan and
 *     move: whether it may be moved, or is banned, is looked at again under
 *     desc->lock. The new owner gets a CPU of its mask; it would have got some
 *     CPU anyway. If the descriptor is freed too, the reference keeps its
 *     memory, and an interrupt without action is left alone before anything is
 *     looked at that the irqdomain frees. [shutdown_calls_it_off, driver.sh]
 * 5.  The interrupt is kicked again while the thread is on its way to sleep: the
 *     flag is set before the wake-up and tested after the state is set, as ever.
 * 6.  The interrupt for which a deferred move waits does not come: the next pass
 *     calls the move off, unless NAPI polls have followed it. Then it waits on, and
 *     whether it is still allowed is looked at again when the interrupt comes. If it
 *     comes before the next pass, and be it much later as the thread was frozen, 1 and
 *     3 hold. If the target was isolated meanwhile, the load that comes with the
 *     interrupt has the thread look again. [no_interrupt_expires, isolated.sh]
 * 7.  The interrupt is disabled while a deferred move waits: __irq_move_irq()
 *     does not touch it, and 6 applies. [fixed_ones_stay]
 * 8.  The last interrupt is still on its way to the old CPU, or handled there,
 *     when the next one comes to the new one: as after a write to the mask,
 *     which some flow handlers know how to deal with. Edges with flows that would
 *     drop the next one are left alone. [edges_are_not_lost]
 * 9.  The chip cannot now (-EBUSY, -ENOSPC): the move is forgotten, not retried
 *     at each interrupt. [busy_is_not_retried_at_entry]
 * 10. The user switches to off or observe while moves wait: the thread is
 *     stopped first, then all are called off. [state.sh, move.sh]
 * 11. CPUs are isolated between plan and move: as 6. [isolated.sh]
 * 12. The machine goes to sleep: the thread is frozen before the CPUs go. A move
 *     that waits is called off with the CPU, or done by the first interrupt
 *     after resume. [each pm_test of suspend and hibernation, S3]
 * 13. An affinity notifier is called while moves go on: its work takes a reference,
 *     and a listener that reads the effective affinity is called again after each
 *     move. [notifier_gets_the_mask, rmap_follows]
 */
#define pr_fmt(fmt) "irq_balance: " fmt

#include <linux/cacheinfo.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/freezer.h>
#include <linux/init.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/sched/cputime.h>
#include <linux/sched/isolation.h>
#include <linux/sched/task.h>
#include <linux/sched/topology.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <linux/timekeeping.h>
#include <linux/topology.h>
#include <linux/wait.h>

#include "../internals.h"
#include "core.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* A CPU without a free vector gets no newcomers for this long */
#define IRQ_BALANCE_FULL_NS	(10ULL * NSEC_PER_SEC)

/**
 * struct irq_balance_source - What is known of a CPU besides its interrupts
 * @full_until:	ktime_get_ns() until which it gets no newcomers
 * @fixed:	load of the interrupts at the last pass that may not be moved, ns/s
 */
struct irq_balance_source {
	u64	full_until;
	u64	fixed;
};

/* Everything that a pass works on, under irq_balance_pass_mutex */
struct irq_balance_map {
	struct irq_balance		policy;
	struct irq_balance_cpu		*cpus;
	struct irq_balance_source	*sources;
	struct irq_balance_irq		*irqs;
	struct irq_desc			**descs;
	void				*work;
	unsigned int			size;
	unsigned int			nr;
	u32				proposal_gain;
	struct irq_balance_settings	traced;
	struct cpumask			usable;
};

/* Interrupts with less (ns/s) are not traced: 0.01 % of a CPU */
#define IRQ_BALANCE_TRACED	100000

/* Outer to desc->lock, inner to irq_balance_mode_mutex, see above */
DEFINE_MUTEX(irq_balance_pass_mutex);
struct irq_balance_settings irq_balance_settings;
struct irq_balance_stats irq_balance_stats;

static struct irq_balance_map irq_balance_map;

static DEFINE_MUTEX(irq_balance_mode_mutex);
static enum irq_balance_mode irq_balance_mode;

static struct task_struct *irq_balance_task;
static bool irq_balance_ready;
static u64 irq_balance_past_cpu_time;
static DECLARE_WAIT_QUEUE_HEAD(irq_balance_wait);
static DECLARE_WAIT_QUEUE_HEAD(irq_balance_pass_wait);
static bool irq_balance_kicked;
static bool irq_balance_wanted;

/* The next pass is the one that irq_balance_rebalance() waits for */
static bool irq_balance_asked;
static bool irq_balance_new_topology;
static bool irq_balance_trace_machine;

static const char * const irq_balance_mode_names[] = {
	[IRQ_BALANCE_OFF]	= "off",
	[IRQ_BALANCE_OBSERVE]	= "observe",
	[IRQ_BALANCE_ON]	= "on",
};

/**
 * irq_balance_mode_name - The word for a mode in sysfs and on the command line
 * @mode:	the mode
 *
 * Return: the word
 */
const char *irq_balance_mode_name(enum irq_balance_mode mode)
{
	return irq_balance_mode_names[mode];
}

/**
 * irq_balance_replan - Have the thread look again at once
 *
 * Context: any in which a wait queue may be woken.
 */
void irq_balance_replan(void)
{
	WRITE_ONCE(irq_balance_wanted, true);
	wake_up(&irq_balance_wait);
}

/* The charge path reports that the load of an interrupt has risen */
static void irq_balance_kick_func(struct irq_work *work)
{
	WRITE_ONCE(irq_balance_kicked, true);
	irq_balance_replan();
}

static struct irq_work irq_balance_kick_irq_work = IRQ_WORK_INIT(irq_balance_kick_func);

/* CPUs of one cache, core or package are given the number of the lowest */
static void irq_balance_collect_topology(struct irq_balance_map *map)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		struct irq_balance_cpu *c = &map->cpus[cpu];
		struct cacheinfo *llc;
		unsigned int other;

		c->node = cpu_to_node(cpu);
		c->core = cpumask_first(topology_sibling_cpumask(cpu));
		c->package = cpu;
		for_each_online_cpu(other) {
			if (topology_physical_package_id(other) ==
			    topology_physical_package_id(cpu)) {
				c->package = other;
				break;
			}
		}
		llc = get_cpu_cacheinfo_llc(cpu);
		c->llc = llc ? cpumask_first(&llc->shared_cpu_map) : c->package;
	}
}

/**
 * irq_balance_usable_cpus - CPUs that the balancer may use
 * @mask:	where to put them
 *
 * Context: any in which no CPU can go away, or the answer may be stale.
 */
static void irq_balance_usable_cpus(struct cpumask *mask)
{
	/* A cpuset partition may replace the housekeeping mask at any time */
	guard(rcu)();
	cpumask_and(mask, cpu_online_mask, housekeeping_cpumask(HK_TYPE_DOMAIN));
	cpumask_and(mask, mask, housekeeping_cpumask(HK_TYPE_KERNEL_NOISE));
	irq_balance_and_cpus(mask);
}

static void irq_balance_collect_cpus(struct irq_balance_map *map, u64 now)
{
	unsigned int cpu;

	irq_balance_usable_cpus(&map->usable);

	for_each_possible_cpu(cpu) {
		struct irq_balance_source *source = &map->sources[cpu];
		struct irq_balance_cpu *c = &map->cpus[cpu];

		/*
		 * Softirq time that was charged to no interrupt is the CPU's own.
		 * Hard interrupts that cannot be moved are in the map. The rest of
		 * the CPU's hard interrupt time is its tick, which each CPU has, and
		 * the entry and exit of the others, which moves with them. kcpustat
		 * is of no use here: what is in it depends on IRQ time accounting.
		 */
		c->time = irq_load_base(cpu);
		source->fixed = 0;

		if (c->usable != cpumask_test_cpu(cpu, &map->usable)) {
			WRITE_ONCE(irq_balance_trace_machine, true);
			map->policy.changed = true;
		}

		c->capacity = clamp_t(u32, arch_scale_cpu_capacity(cpu), 1, IRQ_BALANCE_CAPACITY);
		c->usable = cpumask_test_cpu(cpu, &map->usable);
		c->full = now < source->full_until;
	}
}

/* Learn how the move that the last pass asked for went */
static void irq_balance_collect_result(struct irq_desc *desc, u64 now)
{
	struct irq_balance_stats *stats = &irq_balance_stats;
	struct irq_balance_entry *entry = desc->balance->entry;
	int error;

	if (!entry->moving)
		return;

	error = irq_balance_move_result(desc);
	entry->moving = error == -EINPROGRESS;
	switch (error) {
	case 0:
	case -EINPROGRESS:
		return;
	case -EBUSY:
		stats->busy++;
		break;
	case -ENOSPC:
		stats->no_vector++;
		irq_balance_map.sources[entry->target].full_until = now + IRQ_BALANCE_FULL_NS;
		break;
	case -ETIMEDOUT:
		stats->expired++;
		break;
	case -ECANCELED:
	case -ENODEV:
		stats->cancelled++;
		break;
	default:
		stats->failed++;
	}
	trace_irq_balance_fail(irq_desc_get_irq(desc), entry->target, error);
}

/*
 * Whether the affinity mask leaves no choice. One CPU is a pin even if that CPU is
 * not usable; a mask without any usable CPU is respected as it is.
 */
static bool irq_balance_mask_is_pin(struct irq_desc *desc, const struct cpumask *usable)
{
	const struct cpumask *affinity = irq_data_get_affinity_mask(&desc->irq_data);
	const struct cpumask *effective = irq_data_get_effective_affinity_mask(&desc->irq_data);
	unsigned int first;

	lockdep_assert_held(&desc->lock);

	first = cpumask_first_and(affinity, usable);
	if (cpumask_weight(affinity) == 1 || first >= nr_cpu_ids)
		return true;

	return cpumask_test_cpu(first, effective) &&
	       cpumask_next_and(first, affinity, usable) >= nr_cpu_ids;
}

/* Everything that keeps an interrupt where it is: itself, the user, the mask */
static enum irq_balance_fixed irq_balance_why(struct irq_desc *desc, const struct cpumask *usable)
{
	enum irq_balance_fixed why = irq_balance_why_fixed(desc);

	if (why != IRQ_BALANCE_MOVABLE)
		return why;
	if (irq_balance_is_banned(desc))
		return IRQ_BALANCE_BANNED;
	return irq_balance_mask_is_pin(desc, usable) ? IRQ_BALANCE_PINNED : IRQ_BALANCE_MOVABLE;
}

/* The same for users: the planner takes one that is held into account */
static enum irq_balance_fixed
irq_balance_show_why(struct irq_desc *desc, const struct cpumask *usable)
{
	enum irq_balance_fixed why = irq_balance_why(desc, usable);
	const struct irq_balance_state *state = irq_balance_peek_state(desc);

	if (why == IRQ_BALANCE_MOVABLE && state && READ_ONCE(state->refused) &&
	    ktime_get_ns() < READ_ONCE(state->hold))
		return IRQ_BALANCE_HELD;
	return why;
}

/**
 * irq_balance_status - Get whether an interrupt may be moved, or why not
 * @desc:	descriptor of the interrupt
 * @why:	where to put it
 *
 * Context: process context, may sleep.
 *
 * Return: 0, or -ENOMEM
 */
int irq_balance_status(struct irq_desc *desc, enum irq_balance_fixed *why)
{
	cpumask_var_t usable;

	if (!alloc_cpumask_var(&usable, GFP_KERNEL))
		return -ENOMEM;

	irq_balance_usable_cpus(usable);
	scoped_guard(raw_spinlock_irq, &desc->lock) {
		*why = irq_balance_show_why(desc, usable);
	}
	free_cpumask_var(usable);
	return 0;
}

/**
 * irq_balance_peek_entry - Get the thread's record of an interrupt
 * @desc:	descriptor of the interrupt
 *
 * Context: any in which @desc cannot go away. A pass may be writing.
 *
 * Return: the entry, or NULL if nothing is remembered
 */
const struct irq_balance_entry *irq_balance_peek_entry(struct irq_desc *desc)
{
	struct irq_balance_desc *b = READ_ONCE(desc->balance);
	/* Pairs with irq_balance_collect_irq() */
	struct irq_balance_entry *entry = b ? smp_load_acquire(&b->entry) : NULL;

	return entry && irq_balance_get_mode() != IRQ_BALANCE_OFF ? entry : NULL;
}

/* Returns whether the interrupt is one for the planner */
static bool irq_balance_collect_irq(struct irq_desc *desc, struct irq_balance_irq *irq, u64 now)
{
	const struct cpumask *affinity = irq_data_get_affinity_mask(&desc->irq_data);
	struct irq_balance_entry *entry;
	struct irq_load load;

	/* Never measured: never happened, or is one that is not */
	if (!READ_ONCE(desc->load) || !irq_balance_alloc(desc))
		return false;

	if (!desc->balance->entry) {
		entry = kzalloc(struct_size(entry, allowed, BITS_TO_LONGS(nr_cpu_ids)), GFP_KERNEL);
		if (!entry)
			return false;
		/* Pairs with irq_balance_peek_entry(): zeroed before it is seen */
		smp_store_release(&desc->balance->entry, entry);
	}

	guard(raw_spinlock_irq)(&desc->lock);
	entry = desc->balance->entry;
	irq_balance_collect_result(desc, now);
	irq_load_peek(desc, &load);

	irq->irq = irq_desc_get_irq(desc);
	irq->node = irq_desc_get_node(desc);
	irq->cpu = irq_balance_cpu(desc);
	irq->time = load.time_ns + load.soft_ns + load.thread_ns;
	irq->state = &entry->state;

	if (!bitmap_equal(entry->allowed, cpumask_bits(affinity), nr_cpu_ids))
		irq_balance_map.policy.changed = true;
	bitmap_copy(entry->allowed, cpumask_bits(affinity), nr_cpu_ids);
	entry->fixed = irq_balance_why(desc, &irq_balance_map.usable);
	irq->allowed = entry->fixed == IRQ_BALANCE_MOVABLE ? entry->allowed : NULL;
	return true;
}

static int irq_balance_grow(struct irq_balance_map *map)
{
	unsigned int size = max(64U, 2 * map->size);
	struct irq_balance_irq *irqs;
	struct irq_desc **descs;
	bool first = !map->work;
	void *work;

	irqs = kvcalloc(size, sizeof(*irqs), GFP_KERNEL);
	descs = kvcalloc(size, sizeof(*descs), GFP_KERNEL);
	work = kvzalloc(irq_balance_work_size(size, nr_cpu_ids), GFP_KERNEL);
	if (!irqs || !descs || !work) {
		kvfree(irqs);
		kvfree(descs);
		kvfree(work);
		return -ENOMEM;
	}

	if (map->nr) {
		memcpy(irqs, map->irqs, map->nr * sizeof(*irqs));
		memcpy(descs, map->descs, map->nr * sizeof(*descs));
	}
	kvfree(map->irqs);
	kvfree(map->descs);
	kvfree(map->work);

	map->irqs = irqs;
	map->descs = descs;
	map->work = work;
	map->size = size;
	if (first)
		irq_balance_init(&map->policy, work, size, nr_cpu_ids);
	else
		irq_balance_set_work(&map->policy, work, size, nr_cpu_ids);
	return 0;
}

static void irq_balance_collect(struct irq_balance_map *map, u64 now)
{
	struct irq_desc *desc;
	unsigned int irq = 0;

	lockdep_assert_held(&irq_balance_pass_mutex);
	lockdep_assert_cpus_held();

	if (xchg(&irq_balance_new_topology, false))
		irq_balance_collect_topology(map);
	irq_balance_collect_cpus(map, now);

	map->nr = 0;
	while ((desc = irq_load_next_desc(irq))) {
		irq = irq_desc_get_irq(desc) + 1;
		if ((map->nr == map->size && irq_balance_grow(map)) ||
		    !irq_balance_collect_irq(desc, &map->irqs[map->nr], now)) {
			irq_desc_put_ref(desc);
			continue;
		}
		map->descs[map->nr++] = desc;
	}
}

/* Times of a clock that has become unstable cannot be trusted */
static bool irq_balance_moves(void)
{
	if (READ_ONCE(irq_balance_mode) != IRQ_BALANCE_ON)
		return false;
	if (sched_clock_stable())
		return true;
	pr_warn_once("sched_clock() has become unstable: nothing is moved any more\n");
	return false;
}

static void irq_balance_publish_one(struct irq_desc *desc, struct irq_balance_irq *irq)
{
	struct irq_balance_entry *entry = desc->balance->entry;
	int ret;

	if (!irq_balance_moves()) {
		trace_irq_balance_propose(irq->irq, irq->cpu, irq->target, irq->reason,
					  irq->load, irq->gain);
		return;
	}

	scoped_guard(raw_spinlock_irq, &desc->lock)
		ret = irq_balance_is_banned(desc) ? -EPERM : irq_balance_move(desc, irq->target);

	/* Raced with a write by the user; the move was not started */
	if (ret == -EPERM) {
		irq_balance_stats.cancelled++;
		trace_irq_balance_fail(irq->irq, irq->target, ret);
		return;
	}

	entry->target = irq->target;
	entry->origin = irq->cpu;
	entry->moving = true;
	irq_balance_stats.moves[irq->reason]++;
	trace_irq_balance_move(irq->irq, irq->cpu, irq->target, irq->reason,
			       irq->load, irq->gain);
}

/* An interrupt's load as it weighs on the CPU that serves it */
static u64 irq_balance_weight(struct irq_balance_map *map, struct irq_balance_irq *irq)
{
	return div_u64(irq->load * IRQ_BALANCE_CAPACITY, map->cpus[irq->cpu].capacity);
}

/* Publish the moves and the limits of the charge path, drop the references */
static void irq_balance_publish(struct irq_balance_map *map, u64 now, unsigned int moves)
{
	bool observe = !irq_balance_moves();
	u64 before = map->policy.before;
	unsigned int i;

	map->proposal_gain = 0;
	if (observe && moves && before)
		map->proposal_gain = div64_u64(1000 * (before - min(before, map->policy.after)),
					       before);
	for (i = 0; i < map->nr; i++) {
		struct irq_balance_irq *irq = &map->irqs[i];
		struct irq_desc *desc = map->descs[i];
		struct irq_balance_entry *entry = desc->balance->entry;

		irq_load_set_limit(desc, irq->state->limit);
		if (irq->state->moved == now)
			WRITE_ONCE(entry->from, entry->origin);
		WRITE_ONCE(entry->proposal,
			   observe && irq->state->planned ? irq->state->target + 1 : 0);
		if (!irq->allowed && irq->cpu < nr_cpu_ids)
			map->sources[irq->cpu].fixed += irq_balance_weight(map, irq);
		if (irq->target != irq->cpu)
			irq_balance_publish_one(desc, irq);
		irq_desc_put_ref(desc);
	}
}

static u64 irq_balance_worst(struct irq_balance_map *map)
{
	unsigned int cpu;
	u64 worst = 0;

	for_each_cpu(cpu, &map->usable)
		worst = max(worst, map->cpus[cpu].load);
	return worst;
}

/**
 * irq_balance_trace_begin - A tracer was attached
 *
 * The next pass traces settings and CPUs as well.
 *
 * Context: process context.
 *
 * Return: 0
 */
int irq_balance_trace_begin(void)
{
	WRITE_ONCE(irq_balance_trace_machine, true);
	irq_balance_replan();
	return 0;
}

/* The inputs of the pass: enough to replay it with other settings, elsewhere */
static void irq_balance_trace(struct irq_balance_map *map)
{
	unsigned int cpu, i;
	bool changed;

	changed = memcmp(&map->traced, &irq_balance_settings, sizeof(map->traced));
	if (trace_irq_balance_cpu_enabled() &&
	    (xchg(&irq_balance_trace_machine, false) || changed)) {
		map->traced = irq_balance_settings;
		trace_irq_balance_settings(&irq_balance_settings);
		for_each_possible_cpu(cpu)
			trace_irq_balance_cpu(cpu, &map->cpus[cpu], cpu_online(cpu));
	}

	if (trace_irq_balance_base_enabled()) {
		for_each_online_cpu(cpu)
			trace_irq_balance_base(cpu, map->cpus[cpu].time, map->cpus[cpu].load);
	}

	if (trace_irq_balance_irq_enabled()) {
		for (i = 0; i < map->nr; i++) {
			struct irq_balance_entry *entry = map->descs[i]->balance->entry;

			if (map->irqs[i].load >= IRQ_BALANCE_TRACED || map->irqs[i].state->heavy)
				trace_irq_balance_irq(&map->irqs[i], entry->fixed, entry->allowed);
		}
	}
}

/* Returns the time of the next pass, IRQ_BALANCE_NO_TIMER for none */
static u64 irq_balance_run(void)
{
	struct irq_balance_map *map = &irq_balance_map;
	struct irq_balance *policy = &map->policy;
	bool asked = READ_ONCE(irq_balance_asked);
	unsigned int moves;
	u64 now;

	guard(cpus_read_lock)();
	guard(mutex)(&irq_balance_pass_mutex);

	now = ktime_get_ns();
	irq_load_set_kick(&irq_balance_kick_irq_work,
			  irq_balance_heavy_limit(&irq_balance_settings));
	irq_balance_collect(map, now);
	policy->asked = asked;
	policy->observe = !irq_balance_moves();
	policy->kicked = xchg(&irq_balance_kicked, false);
	moves = irq_balance_pass(policy, &irq_balance_settings, now, map->cpus, nr_cpu_ids,
				 map->irqs, map->nr);
	irq_balance_stats.passes++;
	irq_balance_trace(map);
	if (trace_irq_balance_plan_enabled())
		trace_irq_balance_plan(now, policy->nr_heavy, irq_balance_worst(map),
				       moves ? policy->after : irq_balance_worst(map),
				       moves, policy->interval_ms, asked);
	irq_balance_publish(map, now, moves);
	if (asked)
		WRITE_ONCE(irq_balance_asked, false);
	wake_up_all(&irq_balance_pass_wait);

	return policy->next;
}

/* Whether the last pass was long ago, as nothing was heavy then */
static bool irq_balance_is_stale(void)
{
	u64 last = READ_ONCE(irq_balance_map.policy.last);
	u64 interval = (u64)READ_ONCE(irq_balance_settings.interval_ms) * NSEC_PER_MSEC;

	return irq_balance_get_mode() != IRQ_BALANCE_OFF && ktime_get_ns() - last > 8 * interval;
}

/**
 * irq_balance_load_of_cpu - The map's entry of a CPU
 * @cpu:	possible CPU
 * @load:	where to put the interrupt load that it serves, its own included,
 *		ns per second of this CPU
 * @base:	where to put the part of it that cannot be moved
 *
 * A sleeping thread is woken first, and given a moment, as its numbers are of
 * before it fell asleep. With the balancer off both are 0.
 *
 * Context: process context, may sleep.
 */
void irq_balance_load_of_cpu(unsigned int cpu, u64 *load, u64 *base)
{
	struct irq_balance_map *map = &irq_balance_map;
	u64 passes = READ_ONCE(irq_balance_stats.passes);

	if (irq_balance_is_stale()) {
		irq_balance_replan();
		wait_event_timeout(irq_balance_pass_wait,
				   READ_ONCE(irq_balance_stats.passes) != passes, HZ / 10);
	}

	guard(mutex)(&irq_balance_pass_mutex);

	*load = 0;
	*base = 0;
	if (irq_balance_get_mode() == IRQ_BALANCE_OFF || !cpu_online(cpu))
		return;
	*base = map->cpus[cpu].base.mean + map->sources[cpu].fixed;
	*load = max(map->cpus[cpu].load, *base);
}

/**
 * irq_balance_load_of_irq - The present load of an interrupt
 * @desc:	descriptor of the interrupt
 *
 * As of the last pass, or if that was long ago, as it would be after another one,
 * which is asked for.
 *
 * Context: process context, desc->lock not held. A pass may be going on.
 *
 * Return: ns/s on a CPU of the highest capacity, 0 with the balancer off
 */
u64 irq_balance_load_of_irq(struct irq_desc *desc)
{
	const struct irq_balance_state *state = irq_balance_peek_state(desc);
	u64 last = READ_ONCE(irq_balance_map.policy.last);
	struct irq_balance_average avg = {};
	struct irq_load load;
	unsigned int cpu;

	if (state)
		avg = state->load;
	if (!irq_balance_is_stale())
		return avg.mean;

	irq_balance_replan();
	if (!avg.seen)
		return 0;
	scoped_guard(raw_spinlock_irq, &desc->lock) {
		irq_load_peek(desc, &load);
		cpu = irq_balance_cpu(desc);
	}
	if (cpu >= nr_cpu_ids)
		return 0;
	irq_balance_average_update(&avg, load.time_ns + load.soft_ns + load.thread_ns,
				   ktime_get_ns() - last, arch_scale_cpu_capacity(cpu), true);
	return avg.mean;
}

static unsigned long irq_balance_jiffies_until(u64 time)
{
	u64 now = ktime_get_ns();

	return time == IRQ_BALANCE_NO_TIMER ? MAX_SCHEDULE_TIMEOUT :
	       now < time ? nsecs_to_jiffies(time - now) + 1 : 0;
}

/*
 * Sleep until @next, or until kicked. Between two passes is the shortest interval
 * at least: moves that wait for an interrupt need the time.
 */
static void irq_balance_sleep(u64 next)
{
	u64 earliest;

	wait_event_freezable_timeout(irq_balance_wait,
				     READ_ONCE(irq_balance_wanted) || kthread_should_stop(),
				     irq_balance_jiffies_until(next));

	earliest = READ_ONCE(irq_balance_map.policy.last) +
		   (u64)READ_ONCE(irq_balance_settings.interval_ms) * NSEC_PER_MSEC;
	wait_event_freezable_timeout(irq_balance_wait, kthread_should_stop(),
				     irq_balance_jiffies_until(earliest));
}

static int irq_balance_thread(void *unused)
{
	set_freezable();

	while (!kthread_should_stop()) {
		WRITE_ONCE(irq_balance_wanted, false);
		irq_balance_sleep(irq_balance_run());
	}
	return 0;
}

/*
 * CPUs that come and go: the map is drawn anew, and a plan may be due. One that goes is
 * not active any more.
 */
static int irq_balance_cpu_changed(unsigned int cpu)
{
	irq_balance_take_polls();
	WRITE_ONCE(irq_balance_new_topology, true);
	irq_balance_replan();
	return 0;
}

static int irq_balance_pm_notify(struct notifier_block *nb, unsigned long event, void *unused)
{
	if (event == PM_POST_SUSPEND || event == PM_POST_HIBERNATION)
		irq_balance_replan();
	return NOTIFY_OK;
}

static struct notifier_block irq_balance_pm_nb = {
	.notifier_call = irq_balance_pm_notify,
};

/*
 * Moves that wait for an interrupt must not be done after the user said off. How the
 * others went is learned while it is known what they were asked for.
 */
static void irq_balance_cancel_all(void)
{
	struct irq_desc *desc;
	unsigned int irq = 0;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&irq_balance_pass_mutex);

	while ((desc = irq_load_next_desc(irq))) {
		irq = irq_desc_get_irq(desc) + 1;
		scoped_guard(raw_spinlock_irq, &desc->lock) {
			irq_balance_cancel(desc);
			if (desc->balance && desc->balance->entry)
				irq_balance_collect_result(desc, now);
		}
		irq_desc_put_ref(desc);
	}
}

/**
 * irq_balance_restrict - The allowed CPUs or interrupts have changed
 *
 * Calls off the moves that were planned before, and plans anew.
 *
 * Context: process context.
 */
void irq_balance_restrict(void)
{
	/* A pass that does not know of it yet has published its moves by then */
	scoped_guard(mutex, &irq_balance_pass_mutex)
		irq_balance_cancel_all();
	irq_balance_replan();
}

/* The part of a start that may fail; returns a thread that waits to be woken, or an error */
static struct task_struct *irq_balance_prepare(void)
{
	struct task_struct *task;
	int ret;

	scoped_guard(mutex, &irq_balance_pass_mutex) {
		if (!irq_balance_map.size && irq_balance_grow(&irq_balance_map))
			return ERR_PTR(-ENOMEM);
	}

	ret = irq_load_get();
	if (ret)
		return ERR_PTR(ret);

	task = kthread_create(irq_balance_thread, NULL, "kirqd");
	if (IS_ERR(task))
		irq_load_put();
	return task;
}

static void irq_balance_start(struct task_struct *task)
{
	struct irq_balance_map *map = &irq_balance_map;
	unsigned int cpu;

	scoped_guard(mutex, &irq_balance_pass_mutex) {
		/* Start from a clean map */
		memset(map->cpus, 0, nr_cpu_ids * sizeof(*map->cpus));
		/* There may be holes between the possible ones */
		for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
			map->cpus[cpu].capacity = IRQ_BALANCE_CAPACITY;
			map->sources[cpu].full_until = 0;
			map->sources[cpu].fixed = 0;
		}
		irq_balance_init(&map->policy, map->work, map->size, nr_cpu_ids);
		map->proposal_gain = 0;
	}
	WRITE_ONCE(irq_balance_new_topology, true);
	WRITE_ONCE(irq_balance_trace_machine, true);
	WRITE_ONCE(irq_balance_asked, false);

	irq_balance_follow(irq_balance_mode == IRQ_BALANCE_ON);
	irq_balance_task = task;
	wake_up_process(task);
}

static void irq_balance_stop(void)
{
	struct task_struct *task = get_task_struct(irq_balance_task);

	kthread_stop(task);
	irq_balance_task = NULL;
	/* With the pass that may just have been made */
	irq_balance_past_cpu_time += task_sched_runtime(task);
	put_task_struct(task);

	irq_load_set_kick(NULL, 0);
	irq_balance_follow(false);
	irq_load_put();
	irq_work_sync(&irq_balance_kick_irq_work);
	scoped_guard(mutex, &irq_balance_pass_mutex)
		irq_balance_cancel_all();
}

/**
 * irq_balance_set_mode - Switch the balancer off, on, or to observe
 * @mode:	the new mode
 *
 * Off leaves every interrupt where it is. On needs a stable and fine-grained
 * sched_clock().
 *
 * Context: process context, may sleep.
 *
 * Return: 0, -EOPNOTSUPP if the clock is not good enough, or another -errno; then
 * the mode is unchanged
 */
int irq_balance_set_mode(enum irq_balance_mode mode)
{
	struct task_struct *task = NULL;
	enum irq_balance_mode old;

	guard(mutex)(&irq_balance_mode_mutex);

	if (!irq_balance_ready)
		return -ENODEV;

	old = irq_balance_mode;
	if (mode == old)
		return 0;

	if (mode != IRQ_BALANCE_OFF && !irq_load_clock_is_good()) {
		if (mode == IRQ_BALANCE_ON) {
			pr_err("state: on needs a stable and fine-grained sched_clock(); observe is possible\n");
			return -EOPNOTSUPP;
		}
		pr_warn("sched_clock() is unstable or coarse: so are the times that are shown\n");
	}

	if (mode != IRQ_BALANCE_OFF) {
		task = irq_balance_prepare();
		if (IS_ERR(task))
			return PTR_ERR(task);
	}

	/* Plans of one mode are not carried out in another */
	if (old != IRQ_BALANCE_OFF)
		irq_balance_stop();
	WRITE_ONCE(irq_balance_mode, mode);
	trace_irq_balance_state(mode);
	if (task)
		irq_balance_start(task);
	return 0;
}
EXPORT_SYMBOL_FOR_MODULES(irq_balance_set_mode, "balance_torture");

/**
 * irq_balance_get_mode - Get the present mode
 *
 * Return: the mode
 */
enum irq_balance_mode irq_balance_get_mode(void)
{
	return READ_ONCE(irq_balance_mode);
}
EXPORT_SYMBOL_FOR_MODULES(irq_balance_get_mode, "balance_torture");

/**
 * irq_balance_rebalance - Make a pass now that assumes no deviations
 *
 * No deviation is assumed, and no interrupt rests. The thread makes the pass,
 * after the shortest interval: what it did before has to take effect.
 *
 * Context: process context, may sleep.
 *
 * Return: 0, -EINVAL if the balancer is off, or -ERESTARTSYS if the task is killed
 */
int irq_balance_rebalance(void)
{
	guard(mutex)(&irq_balance_mode_mutex);

	if (irq_balance_mode == IRQ_BALANCE_OFF)
		return -EINVAL;

	WRITE_ONCE(irq_balance_asked, true);
	irq_balance_replan();
	return wait_event_killable(irq_balance_pass_wait, !READ_ONCE(irq_balance_asked));
}

/**
 * irq_balance_proposal_gain - Get the predicted gain of the proposed moves
 *
 * Context: process context, may sleep.
 *
 * Return: per mille of the load of the busiest CPU that they touch
 */
u32 irq_balance_proposal_gain(void)
{
	guard(mutex)(&irq_balance_pass_mutex);

	return irq_balance_map.proposal_gain;
}

/**
 * irq_balance_count - Count interrupts by what keeps them where they are
 * @why:	which to count
 *
 * Context: process context, may sleep.
 *
 * Return: how many, or -ENOMEM
 */
int irq_balance_count(enum irq_balance_fixed why)
{
	cpumask_var_t usable;
	struct irq_desc *desc;
	unsigned int irq = 0;
	int count = 0;

	if (!alloc_cpumask_var(&usable, GFP_KERNEL))
		return -ENOMEM;

	irq_balance_usable_cpus(usable);
	while ((desc = irq_load_next_desc(irq))) {
		irq = irq_desc_get_irq(desc) + 1;
		scoped_guard(raw_spinlock_irq, &desc->lock)
			count += irq_balance_show_why(desc, usable) == why;
		irq_desc_put_ref(desc);
	}
	free_cpumask_var(usable);
	return count;
}

/**
 * irq_balance_cpu_time_ns - CPU time that the balancer's thread has used
 *
 * Context: process context, may sleep.
 *
 * Return: ns since boot
 */
u64 irq_balance_cpu_time_ns(void)
{
	guard(mutex)(&irq_balance_mode_mutex);

	return irq_balance_past_cpu_time +
	       (irq_balance_task ? task_sched_runtime(irq_balance_task) : 0);
}

static int __init irq_balance_late_init(void)
{
	enum irq_balance_mode mode =
		IS_ENABLED(CONFIG_IRQ_BALANCE_DEFAULT_ON) ? IRQ_BALANCE_ON :
		IS_ENABLED(CONFIG_IRQ_BALANCE_DEFAULT_OBSERVE) ? IRQ_BALANCE_OBSERVE :
		IRQ_BALANCE_OFF;
	struct irq_balance_map *map = &irq_balance_map;
	static struct cpumask cpus __initdata;
	int ret;

	irq_balance_settings_init(&irq_balance_settings);
	irq_balance_boot(&irq_balance_settings, &mode);

	map->cpus = kvcalloc(nr_cpu_ids, sizeof(*map->cpus), GFP_KERNEL);
	map->sources = kvcalloc(nr_cpu_ids, sizeof(*map->sources), GFP_KERNEL);
	if (!map->cpus || !map->sources)
		return -ENOMEM;

	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "irq/balance:online",
				irq_balance_cpu_changed, irq_balance_cpu_changed);
	if (ret < 0)
		return ret;
	register_pm_notifier(&irq_balance_pm_nb);
	irq_balance_ready = true;

	irq_balance_usable_cpus(&cpus);
	ret = irq_balance_set_mode(mode);
	if (ret == -EOPNOTSUPP)
		ret = irq_balance_set_mode(IRQ_BALANCE_OBSERVE);
	if (!ret)
		pr_info("%s, policy %s, CPUs %*pbl\n", irq_balance_mode_names[irq_balance_mode],
			irq_balance_policy_name(irq_balance_settings.policy),
			cpumask_pr_args(&cpus));
	return ret;
}
late_initcall(irq_balance_late_init);
