// SPDX-License-Identifier: GPL-2.0
/**
 * DOC: irq-balance-thread
 *
 * The thread makes passes. A pass collects the load, the mask and the CPU of each
 * interrupt that has a load (collect.c), hands them to the planner (plan.c) and
 * publishes the moves that it asks for (move.c). How a move went is collected by the next
 * pass. When CPUs, isolation or the user's lists have changed, the next pass is a review: it
 * collects light and silent interrupts as well, and the planner has them leave CPUs where
 * they may not be. The planner also sets the time of the next pass. While nothing is heavy there
 * is none: then the charge path of an interrupt that gets heavy queues an irq_work,
 * which wakes the thread.
 *
 * In state off there is no thread. Unless the load map has another user, nothing is
 * measured and the static branch of the interrupt entry is off. The planner's state of an
 * interrupt hangs off its descriptor, is allocated by the first pass that looks at it, and
 * is freed with the descriptor. Switching on voids all that is remembered.
 *
 * Locks, from the outermost::
 *
 *   irq_balance_mode_mutex	off, observe, on; not taken by the thread, which is
 *				stopped under it
 *   cpus_read_lock()		a pass, for the topology and the online CPUs
 *   irq_balance_pass_mutex	a pass, the settings, the statistics
 *   desc->lock			one interrupt
 *   irq_balance_list_lock	the CPUs and bans of the user (config.c)
 *
 * The files of one interrupt take desc->lock, or wait for a pass, for HZ / 10 at most:
 * freeing an interrupt waits for their readers, under a lock which CPU hotplug takes too.
 * A pass holds references on the descriptors, which keep the memory and not the
 * interrupt: whether it still may be moved is checked again, under desc->lock, when it is.
 */
#define pr_fmt(fmt) "irq_balance: " fmt

#include <linux/cpu.h>
#include <linux/freezer.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "../internals.h"
#include "collect.h"
#include "config.h"
#include "core.h"
#include "plan.h"
#include "trace.h"

/* Interrupts with less (ns/s) are not traced: 0.01 % of a CPU */
#define IRQ_BALANCE_TRACED	100000

/* Guards the mode and the thread */
static DEFINE_MUTEX(irq_balance_mode_mutex);
static struct task_struct *irq_balance_task;
static DECLARE_WAIT_QUEUE_HEAD(irq_balance_pass_wait);

static void publish_move(struct irq_desc *desc, struct irq_balance_irq *irq)
{
	int ret;

	if (!irq_balance_moves()) {
		trace_irq_balance_propose(irq);
		return;
	}

	scoped_guard(raw_spinlock_irq, &desc->lock)
		ret = irq_balance_move(desc, irq->target);
	/* The next pass collects how it went, also if it failed at once */
	irq_balance_entry_of(desc)->moving = true;
	if (ret && ret != -EINPROGRESS)
		return;
	irq_balance_map.moves[irq->reason]++;
	trace_irq_balance_move(irq);
}

/* Publish the moves, drop the references */
static void publish(struct irq_balance_map *map)
{
	unsigned int i;

	for (i = 0; i < map->nr; i++) {
		if (map->irqs[i].target != map->irqs[i].cpu)
			publish_move(map->descs[i], &map->irqs[i]);
		irq_desc_put_ref(map->descs[i]);
	}
}

/* With the settings, the inputs of the pass: enough to replay it with others, elsewhere */
static void trace_pass(struct irq_balance_map *map, u64 now, unsigned int moves)
{
	unsigned int cpu, i;
	u64 worst = 0;

	for_each_possible_cpu(cpu)
		trace_irq_balance_cpu(cpu, &map->cpus[cpu], cpu_online(cpu));
	for (i = 0; i < map->nr; i++) {
		struct irq_balance_entry *entry = irq_balance_entry_of(map->descs[i]);

		if (map->irqs[i].load >= IRQ_BALANCE_TRACED || entry->state.heavy)
			trace_irq_balance_irq(&map->irqs[i], entry->allowed);
	}
	for_each_cpu(cpu, &map->usable)
		worst = max(worst, map->cpus[cpu].load);
	trace_irq_balance_plan(&map->policy, now, worst, moves);
}

/* A pass. Returns the time of the next one, IRQ_BALANCE_NO_TIMER for none. */
static u64 run(void)
{
	struct irq_balance_map *map = &irq_balance_map;
	struct irq_balance *policy = &map->policy;
	unsigned int moves;
	u64 now;

	guard(cpus_read_lock)();
	guard(mutex)(&irq_balance_pass_mutex);

	now = ktime_get_ns();
	/* Before anything is read: a later ring starts another pass */
	policy->kicked = xchg(&irq_balance_bell.rung, 0);
	irq_balance_collect(map, now, xchg(&irq_balance_bell.review, 0));

	/* The pass may eject the program */
	trace_irq_balance_settings(&irq_balance_settings, policy->program);
	policy->observe = !irq_balance_moves();
	moves = irq_balance_pass(policy, now, &(struct irq_balance_input) {
		.set = &irq_balance_settings, .cpus = map->cpus,
		.irqs = map->irqs, .nr_irqs = map->nr,
	});
	irq_load_set_kick(&irq_balance_ring, policy->limit);
	trace_pass(map, now, moves);
	publish(map);
	/* The rest of those that may not stay */
	if (moves == IRQ_BALANCE_MOVES_MAX)
		irq_balance_review();

	WRITE_ONCE(map->passes, map->passes + 1);
	wake_up_all(&irq_balance_pass_wait);
	return policy->next;
}

static unsigned long jiffies_until(u64 time)
{
	u64 now = ktime_get_ns();

	if (time == IRQ_BALANCE_NO_TIMER)
		return MAX_SCHEDULE_TIMEOUT;
	return now < time ? nsecs_to_jiffies(time - now) + 1 : 0;
}

/* When the shortest interval is over */
static u64 next_after(u64 time)
{
	return time + (u64)READ_ONCE(irq_balance_settings.interval_ms) * NSEC_PER_MSEC;
}

/* Wait, freezable, for @condition, or so many jiffies */
#define wait_for(condition, timeout)								\
	rcuwait_wait_event_timeout(&irq_balance_bell.wait, condition,				\
				   TASK_INTERRUPTIBLE | TASK_FREEZABLE, timeout)

/*
 * Sleep until @next, or until kicked, but at least for the shortest interval from now on: the
 * moves that were just published need an interrupt. A freezing thread stops here, before
 * suspend takes CPUs offline.
 */
static void sleep_until(u64 next)
{
	u64 published = ktime_get_ns();

	wait_for(READ_ONCE(irq_balance_bell.rung) || kthread_should_stop(), jiffies_until(next));

	/* A write to interval_ms wakes it, too */
	wait_for(kthread_should_stop() || !jiffies_until(next_after(published)),
		 jiffies_until(next_after(published)));
}

static int irq_balance_thread(void *unused)
{
	set_freezable();
	/* Samples find their rates, and NAPI instances their interrupts */
	wait_for(kthread_should_stop(), HZ / 5);
	while (!kthread_freezable_should_stop(NULL))
		sleep_until(run());
	return 0;
}

/* Bring the map up to date for a reader: wait for a pass of a thread that sleeps, but not long */
void irq_balance_refresh(void)
{
	u64 passes = READ_ONCE(irq_balance_map.passes);
	u64 age = ktime_get_ns() - READ_ONCE(irq_balance_map.policy.last);

	if (irq_balance_get_mode() == IRQ_BALANCE_OFF ||
	    age <= 8ULL * READ_ONCE(irq_balance_settings.interval_ms) * NSEC_PER_MSEC)
		return;
	irq_balance_replan();
	wait_event_timeout(irq_balance_pass_wait, READ_ONCE(irq_balance_map.passes) != passes,
			   HZ / 10);
}

/* A plan may be due. A CPU that goes is inactive: no targets. */
static int cpu_changed(unsigned int cpu)
{
	irq_balance_review();
	return 0;
}

/* Cancel moves that wait for an interrupt; count how the others went as long as that is known */
static void cancel_all(void)
{
	struct irq_desc *desc = NULL;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&irq_balance_pass_mutex);

	while ((desc = irq_load_next_desc(desc))) {
		guard(raw_spinlock_irq)(&desc->lock);
		irq_balance_cancel(desc);
		irq_balance_collect_result(desc, now);
	}
}

/* The allowed CPUs or interrupts have changed: cancel what was planned before, plan anew */
void irq_balance_restrict(void)
{
	/* A pass that has not seen the change has published its moves by then */
	scoped_guard(mutex, &irq_balance_pass_mutex) {
		cancel_all();
		/* An interrupt whose move was cancelled has no reason to rest */
		irq_balance_map.policy.changed = true;
	}
	irq_balance_review();
}

/* Returns a thread that waits to be woken, or an error */
static struct task_struct *start(void)
{
	struct task_struct *task;

	irq_load_get();
	task = kthread_create(irq_balance_thread, NULL, "kirqd");
	if (IS_ERR(task))
		irq_load_put();
	return task;
}

static void stop(void)
{
	kthread_stop(irq_balance_task);
	irq_balance_task = NULL;
	irq_load_set_kick(NULL, 0);
	irq_load_put();
	irq_work_sync(&irq_balance_ring);
}

/* Plans of one mode are not carried out in another. Start from a clean map. */
static void reset(enum irq_balance_mode mode)
{
	struct irq_balance_map *map = &irq_balance_map;
	unsigned int cpu;

	guard(mutex)(&irq_balance_pass_mutex);

	WRITE_ONCE(irq_balance_mode, mode);
	cancel_all();
	memset(map->cpus, 0, nr_cpu_ids * sizeof(*map->cpus));
	/* There may be holes between the possible ones, and some may never be online */
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		map->cpus[cpu].capacity = IRQ_BALANCE_CAPACITY;
		map->cpus[cpu].node = NUMA_NO_NODE;
	}
	irq_balance_init(&map->policy, map->work, map->size, nr_cpu_ids);
	irq_balance_review();
}

/**
 * irq_balance_set_mode - Switch the balancer off, on, or to observe
 * @mode:	the new mode
 *
 * On needs a stable and fine-grained sched_clock().
 *
 * Context: process context, may sleep.
 *
 * Return: 0, -EOPNOTSUPP if the clock is not good enough, or another -errno; then
 * the mode is unchanged
 */
int irq_balance_set_mode(enum irq_balance_mode mode)
{
	struct task_struct *task;
	enum irq_balance_mode old;

	guard(mutex)(&irq_balance_mode_mutex);

	if (!irq_balance_map.size)
		return -ENODEV;

	old = irq_balance_mode;
	if (mode == old)
		return 0;

	if (mode != IRQ_BALANCE_OFF && !irq_load_clock_is_good()) {
		if (mode == IRQ_BALANCE_ON) {
			pr_warn("state: on needs a stable and fine-grained sched_clock(); observe is possible\n");
			return -EOPNOTSUPP;
		}
		pr_warn("sched_clock() is unstable or coarse: so are the times that are shown\n");
	}

	if (old == IRQ_BALANCE_OFF) {
		task = start();
		if (IS_ERR(task))
			return PTR_ERR(task);
		irq_balance_task = task;
	}

	if (mode == IRQ_BALANCE_OFF)
		stop();
	reset(mode);
	if (old == IRQ_BALANCE_OFF)
		wake_up_process(irq_balance_task);
	return 0;
}

static int __init irq_balance_late_init(void)
{
	enum irq_balance_mode mode =
		IS_ENABLED(CONFIG_IRQ_BALANCE_DEFAULT_ON) ? IRQ_BALANCE_ON : IRQ_BALANCE_OFF;
	struct irq_balance_map *map = &irq_balance_map;
	static struct cpumask cpus __initdata;
	int ret;

	ret = irq_balance_boot(&irq_balance_settings, &mode);
	if (ret)
		return ret;
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "irq/balance:online",
				cpu_changed, cpu_changed);
	if (ret < 0)
		return ret;
	/* Last: without a map there is no other mode than off */
	map->cpus = kvcalloc(nr_cpu_ids, sizeof(*map->cpus), GFP_KERNEL);
	if (!map->cpus || irq_balance_grow(map))
		return -ENOMEM;

	irq_balance_usable_cpus(&cpus);
	ret = irq_balance_set_mode(mode);
	if (ret == -EOPNOTSUPP)
		ret = irq_balance_set_mode(IRQ_BALANCE_OBSERVE);
	if (!ret)
		pr_info("%s, CPUs %*pbl\n", irq_balance_mode_names[irq_balance_mode],
			cpumask_pr_args(&cpus));
	return ret;
}
late_initcall(irq_balance_late_init);
