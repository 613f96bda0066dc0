// SPDX-License-Identifier: GPL-2.0
/*
 * Torture test of the interrupt balancer's mover
 *
 * Interrupts of an irqchip that exists only here are raised all the time, on all CPUs,
 * while a thread each moves them past the planner, writes random affinity masks, takes
 * CPUs offline and online, frees, requests and disables interrupts and gives up their
 * descriptors, and switches the balancer, which moves them too. Some schedule NAPI, whose
 * polls follow them (torture_napi.c).
 *
 * A device raises its next interrupt at the earliest when the handler of the last one
 * has begun. So no two of them merge into one, and each that is raised has to be handled,
 * once; but the next one may come to another CPU while the handler runs.
 *
 * Half of the CPUs never go offline, and each mask has one of them, so that the core has
 * no reason to replace a mask: a mask always has to be what was written last.
 *
 * On PREEMPT_RT migrate_enable() may warn in affine_move_task(): that is a flaw of the
 * scheduler, which any kernel thread meets that sets its mask to a CPU which is cpu_dying()
 * and sleeps with migration disabled until that CPU is online again.
 */
#define pr_fmt(fmt) "irq_balance torture: " fmt

#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqdomain.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/torture.h>

#include "../../internals.h"
#include "../core.h"
#include "torture.h"

/* Writable: a run has the values that it begins with */
#define bt_param(type, name, init, text) \
	static type name = init; module_param(name, type, 0644); MODULE_PARM_DESC(name, text)

bt_param(int, nr_sources, 0, "Number of interrupts, 0: two per CPU");
bt_param(int, rate, 500, "Interrupts per second of each");
bt_param(int, cost_us, 20, "Time in a handler (us)");
bt_param(int, move_us, 1000, "Time between two moves of each interrupt (us)");
bt_param(int, write_us, 5000, "Time between two writes of a mask (us), 0: none");
bt_param(int, onoff_ms, 100, "Time between two CPU hotplug operations (ms), 0: none");
bt_param(int, request_ms, 10, "Time between two changes of handlers (ms), 0: none");
bt_param(int, mode_ms, 500, "Time between two switches of the balancer (ms), 0: none");
bt_param(bool, napi, true, "Whether every third interrupt schedules NAPI");
bt_param(int, timeout_ms, 5000, "Time after which an interrupt is late, ten of it: lost (ms)");
bt_param(int, stat_interval, 60, "Time between two statistics (s), 0: none");
bt_param(int, break_rule, 0, "Rule to break, to see that it is noticed, 0: none");

/* Errors that break_rule= makes. Each is reported by one check, the third by several. */
enum bt_break {
	BREAK_NOTHING, BREAK_LOSE, BREAK_FORBIDDEN, BREAK_NARROW_MASK, BREAK_DEAD_CPU,
	BREAK_TWICE, BREAK_LOSE_WRITE, BREAK_OPT_OUT, BREAK_MANAGED, BREAK_NOT_NOTIFIED,
};

/* A device, its wire to the irqchip, and its driver */
struct bt_source {
	/* Serializes whatever changes the interrupt or its mask, but moves */
	struct mutex			mutex;
	unsigned int			irq;		/* 0 if it could not be had again */
	irq_hw_number_t			hwirq;		/* index of the source */
	struct irq_data			*data;		/* top level */
	unsigned int			kind;		/* index into bt_kinds[] */
	struct irq_affinity_notify	notify;		/* of those that have one */

	/* Under desc->lock */
	struct cpumask			mask;		/* as last written */
	struct cpumask			writing;	/* the same, or being written */
	struct cpumask			notified;	/* that the notifier got last */
	unsigned int			notified_cpu;	/* that it found the interrupt on */
	bool				routed;		/* changed since the notifier was set */
	struct torture_random_state	random;		/* what the chip does */

	raw_spinlock_t			lock;		/* the wire */
	unsigned int			route;		/* CPU that is interrupted */
	bool				masked;		/* the chip holds interrupts back */
	bool				latched;	/* an edge came meanwhile */
	bool				in_service;	/* a level was sent, no EOI yet */
	bool				active;		/* the device raises interrupts */
	struct hrtimer			timer;		/* raises them */
	unsigned long			raised;
	unsigned long			raised_at;	/* jiffies of the last one */
	unsigned long			handled;	/* the first handler has begun */
	unsigned long			second;		/* the second has run, if shared */
	unsigned long			thread;		/* @handled, as the thread saw it */
	struct bt_napi			*napi;		/* network device, NULL: none */
	call_single_data_t		csd;		/* takes it to another CPU */
	struct irq_work			work;		/* delivers it, in hard interrupt context */
};

/*
 * Ways to request an interrupt. Handlers of one line that are forced into threads
 * would not run equally often.
 */
static const struct bt_kind {
	unsigned long	flags;
	bool		threaded;
} bt_kinds[] = {
	{ .flags = 0 },
	{ .flags = IRQF_SHARED | IRQF_NO_THREAD },
	{ .flags = 0, .threaded = true },
	{ .flags = IRQF_ONESHOT, .threaded = true },
	{ .flags = IRQF_SHARED | IRQF_NO_THREAD, .threaded = true },
};

struct bt_stats bt_stats;

static struct bt_source **bt_sources;
static struct irq_domain *bt_domain;
static struct irq_affinity_desc bt_managed = { .is_managed = 1 };
static struct cpumask bt_stable, bt_roaming;
static enum irq_balance_mode bt_mode;
static long bt_attempts[2], bt_hotplugs[2];	/* to go offline, online */

/* Time to break a rule? Seldom enough that the test goes on. */
static bool bt_break(enum bt_break rule, struct torture_random_state *random)
{
	return break_rule == rule && !(torture_random(random) % 256);
}

static unsigned int bt_random_cpu(const struct cpumask *mask, struct torture_random_state *random)
{
	unsigned int weight = cpumask_weight(mask);

	return weight ? cpumask_nth(torture_random(random) % weight, mask) : nr_cpu_ids;
}

/* With five and four each flavour is of each sort sooner or later */
static bool bt_is_managed(struct bt_source *s)
{
	return s->hwirq % 5 == 3;
}

static bool bt_has_notifier(struct bt_source *s)
{
	return s->hwirq % 5 == 4;
}

/* See bt_map() */
static bool bt_is_level(struct bt_source *s)
{
	return s->hwirq % 4 == 1;
}

/* The compiler drops what depends on it if there is no NAPI to follow */
static struct bt_napi *bt_napi_of(struct bt_source *s)
{
	return IS_ENABLED(CONFIG_IRQ_LOAD_NAPI) ? s->napi : NULL;
}

/* The wire: from the device to the CPU */

static void bt_send(struct bt_source *s)
{
	lockdep_assert_held(&s->lock);

	if (!cpu_online(s->route)) {
		bt_fail(dead_cpu, "irq %u is sent to CPU%u, which is offline", s->irq, s->route);
		return;
	}

	s->in_service = true;
	s->latched = false;
	if (s->route == smp_processor_id())
		irq_work_queue(&s->work);
	else
		smp_call_function_single_async(s->route, &s->csd);
}

/* An interrupt that is due is sent, if the chip lets it pass */
static void bt_try_send(struct bt_source *s)
{
	lockdep_assert_held(&s->lock);

	if (s->masked)
		return;
	if (bt_is_level(s) ? !s->in_service && s->raised != READ_ONCE(s->handled) : s->latched)
		bt_send(s);
}

static void bt_raise(struct bt_source *s)
{
	s->latched = true;
	bt_try_send(s);
}

static void bt_arrive(void *info)
{
	irq_work_queue(info);
}

static void bt_deliver(struct irq_work *work)
{
	struct bt_source *s = container_of(work, struct bt_source, work);

	if (cpu_online(smp_processor_id())) {
		generic_handle_domain_irq(bt_domain, s->hwirq);
		return;
	}
	/* It was on its way when the CPU went. Architectures send it again. */
	guard(raw_spinlock)(&s->lock);
	bt_send(s);
}

static enum hrtimer_restart bt_fire(struct hrtimer *timer)
{
	struct bt_source *s = container_of(timer, struct bt_source, timer);

	scoped_guard(raw_spinlock, &s->lock) {
		/* Pairs with bt_handler() */
		if (!s->active || s->raised != smp_load_acquire(&s->handled))
			break;
		WRITE_ONCE(s->raised_at, jiffies);
		WRITE_ONCE(s->raised, s->raised + 1);
		if (break_rule != BREAK_LOSE || s->raised % 256)
			bt_raise(s);
	}
	hrtimer_forward_now(timer, NSEC_PER_SEC / rate);
	return HRTIMER_RESTART;
}

/* The irqchip */

static void bt_mask(struct irq_data *data)
{
	struct bt_source *s = irq_data_get_irq_chip_data(data);

	guard(raw_spinlock)(&s->lock);
	s->masked = true;
}

static void bt_unmask(struct irq_data *data)
{
	struct bt_source *s = irq_data_get_irq_chip_data(data);

	guard(raw_spinlock)(&s->lock);
	s->masked = false;
	bt_try_send(s);
}

static int bt_retrigger(struct irq_data *data)
{
	struct bt_source *s = irq_data_get_irq_chip_data(data);

	guard(raw_spinlock)(&s->lock);
	bt_raise(s);
	return 1;
}

static void bt_eoi(struct irq_data *data)
{
	struct bt_source *s = irq_data_get_irq_chip_data(data);

	irq_move_irq(data);

	guard(raw_spinlock)(&s->lock);
	s->in_service = false;
	bt_try_send(s);
}

/* The core hands out all of a mask that is online, the mover a CPU of it */
static bool bt_is_all_of(const struct cpumask *dest, const struct cpumask *mask)
{
	return cpumask_subset(dest, mask) &&
	       cpumask_weight(dest) == cpumask_weight_and(mask, cpu_online_mask);
}

static bool bt_is_mover(struct bt_source *s, struct irq_data *data, const struct cpumask *dest)
{
	return cpumask_weight(dest) == 1 && !bt_is_all_of(dest, irq_data_get_affinity_mask(data)) &&
	       !bt_is_all_of(dest, irq_balance_mask(irq_data_to_desc(data))) &&
	       !bt_is_all_of(dest, &s->writing);
}

static int bt_set_affinity(struct irq_data *data, const struct cpumask *dest, bool force)
{
	struct bt_source *s = irq_data_get_irq_chip_data(data);
	bool mover = bt_is_mover(s, data, dest), dying = !cpu_online(smp_processor_id());
	unsigned int cpu;

	lockdep_assert_held(&irq_data_to_desc(data)->lock);

	/* Chips may say that they cannot now. When the old CPU goes or is gone they have to. */
	if (!dying && cpu_online(s->route) && irqd_is_started(data) &&
	    !(torture_random(&s->random) % 16))
		return mover && (torture_random(&s->random) & 64) ? -ENOSPC : -EBUSY;

	cpu = bt_random_cpu(dest, &s->random);
	if (break_rule == BREAK_DEAD_CPU && dying)
		cpu = s->route;
	if (bt_break(BREAK_FORBIDDEN, &s->random) && !cpumask_subset(cpu_online_mask, &s->writing))
		cpu = cpumask_first_andnot(cpu_online_mask, &s->writing);

	if (!cpumask_test_cpu(cpu, &s->writing) && !cpumask_test_cpu(cpu, &s->mask))
		bt_fail(forbidden, "irq %u is routed to CPU%u, mask %*pbl", s->irq, cpu,
			cpumask_pr_args(&s->mask));
	if (mover && bt_is_managed(s))
		bt_fail(others, "irq %u is managed and goes to CPU%u", s->irq, cpu);

	s->routed = true;
	scoped_guard(raw_spinlock, &s->lock) {
		if (mover && s->route != cpu)
			atomic_long_inc(&bt_stats.moves);
		s->route = cpu;
	}
	irq_data_update_effective_affinity(data, cpumask_of(cpu));
	return IRQ_SET_MASK_OK;
}

#define BT_CHIP(_name, _flags)					\
{								\
	.name			= "torture-" _name,		\
	.irq_ack		= irq_move_irq,			\
	.irq_eoi		= bt_eoi,			\
	.irq_mask		= bt_mask,			\
	.irq_unmask		= bt_unmask,			\
	.irq_retrigger		= bt_retrigger,			\
	.irq_set_affinity	= bt_set_affinity,		\
	.flags			= IRQCHIP_SKIP_SET_WAKE | (_flags), \
}

static struct irq_chip bt_direct_chip = BT_CHIP("direct", 0);
static struct irq_chip bt_deferred_chip = BT_CHIP("deferred", IRQCHIP_MOVE_DEFERRED);

static int bt_map(struct irq_domain *domain, unsigned int irq, irq_hw_number_t hwirq)
{
	struct irq_chip *chip = hwirq & 2 ? &bt_direct_chip : &bt_deferred_chip;
	struct irq_data *data = irq_get_irq_data(irq);

	/* Edges; levels on the chip that defers, fasteoi on the other one */
	irq_set_chip_and_handler(irq, chip, hwirq & 1 ? handle_fasteoi_irq : handle_edge_irq);
	if (!(hwirq & 1)) {
		irqd_set_single_target(data);
	} else if (hwirq & 2) {
		irqd_set_resend_when_in_progress(data);
	} else {
		irqd_set_trigger_type(data, IRQ_TYPE_LEVEL_HIGH);
		irq_settings_set_level(irq_data_to_desc(data));
	}
	irq_set_chip_data(irq, bt_sources[hwirq]);
	irq_settings_clr_norequest(irq_data_to_desc(data));
	return 0;
}

static const struct irq_domain_ops bt_domain_ops = { .map = bt_map };

/* The driver */

static irqreturn_t bt_handler(int irq, void *dev)
{
	struct bt_source *s = dev;
	unsigned long raised = READ_ONCE(s->raised);

	if (s->handled == raised) {
		bt_fail(extra, "irq %u was handled once more than raised", irq);
		return IRQ_HANDLED;
	}
	if (time_after(jiffies, READ_ONCE(s->raised_at) + msecs_to_jiffies(timeout_ms)))
		atomic_long_inc(&bt_stats.late);
	/* From here on the device may raise the next one. Pairs with bt_fire(). */
	smp_store_release(&s->handled, raised);
	udelay(cost_us);
	if (bt_napi_of(s))
		bt_napi_raise(s->napi);

	if (break_rule == BREAK_TWICE && raised % 256 == 0 && !bt_is_level(s)) {
		guard(raw_spinlock_irqsave)(&s->lock);
		bt_raise(s);
	}
	return bt_kinds[s->kind].threaded ? IRQ_WAKE_THREAD : IRQ_HANDLED;
}

static irqreturn_t bt_second_handler(int irq, void *dev)
{
	struct bt_source *s = container_of(dev, struct bt_source, second);

	WRITE_ONCE(s->second, s->second + 1);
	return IRQ_HANDLED;
}

static irqreturn_t bt_thread(int irq, void *dev)
{
	struct bt_source *s = dev;

	WRITE_ONCE(s->thread, READ_ONCE(s->handled));
	return IRQ_HANDLED;
}

static void bt_notify(struct irq_affinity_notify *notify, const cpumask_t *mask)
{
	struct bt_source *s = container_of(notify, struct bt_source, notify);

	guard(raw_spinlock_irq)(&irq_data_to_desc(s->data)->lock);
	cpumask_copy(&s->notified, mask);
	/* Often, as it can be seen until the next move only */
	if (break_rule != BREAK_NOT_NOTIFIED || torture_random(&s->random) % 8)
		s->notified_cpu = cpumask_first(irq_data_get_effective_affinity_mask(s->data));
	atomic_long_inc(&bt_stats.notifications);
}

static void bt_notify_release(struct kref *ref) { }

/* The mask of the user, and the CPU of the interrupt */
static void bt_check(struct bt_source *s)
{
	struct irq_desc *desc = irq_data_to_desc(s->data);
	const struct cpumask *shown;
	unsigned int cpu;

	lockdep_assert_held(&s->mutex);
	guard(raw_spinlock_irq)(&desc->lock);

	/* See show_irq_affinity() */
	shown = desc->irq_common_data.affinity;
	if (irq_move_pending(s->data))
		shown = irq_desc_get_pending_mask(desc);
	if (!cpumask_equal(shown, &s->mask)) {
		bt_fail(wrong_mask, "irq %u has mask %*pbl, last written was %*pbl", s->irq,
			cpumask_pr_args(shown), cpumask_pr_args(&s->mask));
		cpumask_copy(&s->mask, shown);
		cpumask_copy(&s->writing, shown);
	}

	/* Until a pending write takes effect the mask before it is in force */
	if (irqd_is_setaffinity_pending(s->data))
		return;

	cpu = cpumask_first(irq_data_get_effective_affinity_mask(s->data));
	if (!cpumask_test_cpu(cpu, &s->mask))
		bt_fail(forbidden, "irq %u is on CPU%u, mask %*pbl", s->irq, cpu,
			cpumask_pr_args(&s->mask));
	if (!cpu_online(cpu))
		bt_fail(dead_cpu, "irq %u is on CPU%u, which is offline", s->irq, cpu);

	if (bt_has_notifier(s) && s->routed && s->notified_cpu != cpu &&
	    !work_busy(&s->notify.work))
		bt_fail(others, "irq %u is on CPU%u, its notifier was last called on %u", s->irq,
			cpu, s->notified_cpu);

	guard(raw_spinlock)(&s->lock);
	if (cpu != s->route)
		bt_fail(others, "irq %u is reported on CPU%u, but is on %u", s->irq, cpu, s->route);
}

static void bt_write(struct bt_source *s, const struct cpumask *mask)
{
	struct irq_desc *desc = irq_data_to_desc(s->data);
	int ret = 0;

	lockdep_assert_held(&s->mutex);

	/* The user may not */
	if (bt_is_managed(s))
		return;

	scoped_guard(raw_spinlock_irq, &desc->lock)
		cpumask_copy(&s->writing, mask);

	/* Without GENERIC_PENDING_IRQ the write fails as the chip is busy: try again */
	do {
		if (break_rule != BREAK_LOSE_WRITE)
			ret = irq_set_affinity(s->irq, mask);
	} while (ret == -EBUSY && !IS_ENABLED(CONFIG_GENERIC_PENDING_IRQ));
	if (ret)
		bt_fail(others, "irq %u: writing %*pbl: %d", s->irq, cpumask_pr_args(mask), ret);
	if (bt_has_notifier(s))
		flush_work(&s->notify.work);

	guard(raw_spinlock_irq)(&desc->lock);
	if (bt_has_notifier(s) && !ret && !cpumask_equal(&s->notified, mask))
		bt_fail(wrong_mask, "irq %u: the notifier got %*pbl instead of %*pbl", s->irq,
			cpumask_pr_args(&s->notified), cpumask_pr_args(mask));
	if (!ret)
		cpumask_copy(&s->mask, mask);
	cpumask_copy(&s->writing, &s->mask);
	atomic_long_inc(&bt_stats.writes);
}

/* Have the device stop, and see that nothing that it did was missed */
static void bt_stop(struct bt_source *s)
{
	unsigned long end;

	lockdep_assert_held(&s->mutex);

	/* A host that takes the CPUs away makes interrupts late, but loses none */
	scoped_guard(raw_spinlock_irq, &s->lock) {
		s->active = false;
		end = s->raised_at + 10 * msecs_to_jiffies(timeout_ms);
	}
	while (s->raised != READ_ONCE(s->handled) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	if (s->raised != READ_ONCE(s->handled)) {
		bt_fail(lost, "irq %u: raised %lu, handled %lu", s->irq, s->raised, s->handled);
		s->raised = s->handled;
	}

	synchronize_irq(s->irq);
	if (bt_kinds[s->kind].threaded && s->thread != s->handled)
		bt_fail(others, "irq %u: handled %lu, the thread saw %lu", s->irq, s->handled,
			s->thread);
	if (bt_kinds[s->kind].flags & IRQF_SHARED && s->second != s->handled)
		bt_fail(others, "irq %u: handled %lu, the second handler %lu", s->irq, s->handled,
			s->second);
}

static void bt_start_timer(void *info)
{
	hrtimer_start(info, NSEC_PER_SEC / rate, HRTIMER_MODE_REL_PINNED_HARD);
}

static int bt_request(struct bt_source *s)
{
	const struct bt_kind *kind = &bt_kinds[s->kind];
	int ret;

	s->second = s->handled;
	s->thread = s->handled;
	if (IS_ENABLED(CONFIG_IRQ_LOAD_NAPI) && napi && s->hwirq % 3 == 0)
		s->napi = bt_napi_add(s->irq, s->handled);
	ret = request_threaded_irq(s->irq, bt_handler, kind->threaded ? bt_thread : NULL,
				   kind->flags, "balance_torture", s);
	if (!ret && kind->flags & IRQF_SHARED) {
		ret = request_irq(s->irq, bt_second_handler, kind->flags, "balance_torture",
				  &s->second);
		if (ret)
			free_irq(s->irq, s);
	}
	if (!ret && bt_has_notifier(s)) {
		s->notify.notify = bt_notify;
		s->notify.release = bt_notify_release;
		s->routed = false;
		ret = irq_set_affinity_notifier(s->irq, &s->notify);
	}
	atomic_long_inc(&bt_stats.requests);
	return ret;
}

static void bt_free(struct bt_source *s)
{
	if (bt_has_notifier(s))
		irq_set_affinity_notifier(s->irq, NULL);
	if (bt_kinds[s->kind].flags & IRQF_SHARED)
		free_irq(s->irq, &s->second);
	free_irq(s->irq, s);
	if (bt_napi_of(s))
		bt_napi_del(s->napi);
	s->napi = NULL;
}

static int bt_create_mapping(struct bt_source *s)
{
	s->irq = irq_create_mapping_affinity(bt_domain, s->hwirq,
					     bt_is_managed(s) ? &bt_managed : NULL);
	if (!s->irq)
		return -ENOMEM;

	s->data = irq_get_irq_data(s->irq);
	if (!irq_balance_alloc(irq_data_to_desc(s->data))) {
		irq_dispose_mapping(s->irq);
		s->irq = 0;
		return -ENOMEM;
	}
	cpumask_copy(&s->mask, cpu_possible_mask);
	cpumask_copy(&s->writing, cpu_possible_mask);
	atomic_long_inc(&bt_stats.descriptors);
	return 0;
}

/* The actions of the threads */

static struct bt_source *bt_any_source(struct torture_random_state *random)
{
	return bt_sources[torture_random(random) % nr_sources];
}

static void bt_count_result(int ret)
{
	if (ret == -EBUSY || ret == -ENOSPC)
		atomic_long_inc(&bt_stats.retried);
	else if (ret == -ETIMEDOUT)
		atomic_long_inc(&bt_stats.expired);
	else if (ret == -ECANCELED)
		atomic_long_inc(&bt_stats.cancelled);
}

static void bt_move(struct bt_source *s, struct torture_random_state *random)
{
	struct irq_desc *desc = irq_data_to_desc(s->data);
	unsigned int cpu = bt_random_cpu(&s->mask, random);
	bool banned, broken;
	int ret;

	/* The mover has to refuse CPUs that are offline or not in the mask */
	if (!(torture_random(random) % 16))
		cpu = bt_random_cpu(cpu_possible_mask, random);

	if (bt_break(BREAK_NARROW_MASK, random)) {
		irq_set_affinity(s->irq, cpumask_of(cpu));
		return;
	}

	guard(raw_spinlock_irq)(&desc->lock);
	bt_count_result(irq_balance_move_result(desc));

	broken = bt_break(BREAK_OPT_OUT, random);
	banned = broken || !(torture_random(random) % 64);
	if (banned && !broken)
		desc->istate |= IRQS_BALANCE_BANNED;
	if (bt_is_managed(s) && bt_break(BREAK_MANAGED, random))
		irqd_clear(s->data, IRQD_AFFINITY_MANAGED);
	ret = irq_balance_move(desc, cpu);
	if (banned || bt_is_managed(s)) {
		if (ret == -ECANCELED)
			atomic_long_inc(&bt_stats.refused);
		else
			bt_fail(others, "irq %u is %s and moves: %d", s->irq,
				banned ? "banned" : "managed", ret);
	}
	/* It was before: a CPU goes offline only while no other has interrupts disabled */
	if (!cpu_online(cpu) && ret != -ECANCELED)
		bt_fail(dead_cpu, "irq %u moves to offline CPU%u: %d", s->irq, cpu, ret);
	desc->istate &= ~IRQS_BALANCE_BANNED;
	if (bt_is_managed(s))
		irqd_set(s->data, IRQD_AFFINITY_MANAGED);

	atomic_long_inc(&bt_stats.published);
}

static void bt_move_all(struct torture_random_state *random)
{
	for (int i = 0; i < nr_sources; i++) {
		scoped_guard(mutex_try, &bt_sources[i]->mutex) {
			if (bt_sources[i]->irq)
				bt_move(bt_sources[i], random);
		}
	}
}

/* A pin, all CPUs, or some; with one at least that never goes offline */
static void bt_random_mask(struct cpumask *mask, struct torture_random_state *random)
{
	unsigned int cpu, kind = torture_random(random) % 4;

	cpumask_clear(mask);
	cpumask_set_cpu(bt_random_cpu(&bt_stable, random), mask);
	for_each_possible_cpu(cpu) {
		if (kind == 1 || (kind && torture_random(random) & 64))
			cpumask_set_cpu(cpu, mask);
	}
}

static void bt_write_any(struct torture_random_state *random)
{
	struct bt_source *s = bt_any_source(random);
	static struct cpumask mask;

	bt_random_mask(&mask, random);
	guard(mutex)(&s->mutex);
	if (!s->irq)
		return;
	bt_check(s);
	bt_write(s, &mask);
	bt_check(s);
}

static void bt_request_anew(struct bt_source *s, struct torture_random_state *random)
{
	static struct cpumask mask;
	int ret = 0;

	bt_stop(s);
	bt_check(s);
	cpumask_copy(&mask, &s->mask);
	bt_free(s);
	/* Startup forgets a write that is pending and drops CPUs that are offline */
	cpumask_copy(&s->writing, cpu_possible_mask);
	if (!(torture_random(random) % 4)) {
		irq_dispose_mapping(s->irq);
		ret = bt_create_mapping(s);
	}
	s->kind = torture_random(random) % ARRAY_SIZE(bt_kinds);
	if (!ret)
		ret = bt_request(s);
	if (ret) {
		bt_fail(others, "irq %u: requesting it again: %d", s->irq, ret);
		irq_dispose_mapping(s->irq);
		s->irq = 0;
		return;
	}
	bt_write(s, &mask);
	s->active = true;
}

static void bt_request_any(struct torture_random_state *random)
{
	struct bt_source *s = bt_any_source(random);

	guard(mutex)(&s->mutex);
	if (!s->irq)
		return;
	if (torture_random(random) & 64) {
		bt_request_anew(s, random);
		return;
	}
	if (bt_napi_of(s))
		bt_napi_toggle(s->napi, !(torture_random(random) % 4));
	disable_irq(s->irq);
	torture_hrtimeout_us(1000, 1000, random);
	enable_irq(s->irq);
	atomic_long_inc(&bt_stats.disables);
}

static void bt_switch(struct torture_random_state *random)
{
	if (irq_balance_set_mode(torture_random(random) % IRQ_BALANCE_NR_MODES))
		bt_fail(others, "the balancer cannot be switched");
	atomic_long_inc(&bt_stats.switches);
}

static void bt_onoff_cpu(unsigned int cpu, bool online)
{
	static unsigned long sums[2];
	static int mins[2] = { -1, -1 }, maxs[2];

	(online ? torture_online : torture_offline)(cpu, &bt_attempts[online], &bt_hotplugs[online],
						    &sums[online], &mins[online], &maxs[online]);
}

static void bt_onoff(struct torture_random_state *random)
{
	unsigned int cpu = bt_random_cpu(&bt_roaming, random);

	if (cpu < nr_cpu_ids)
		bt_onoff_cpu(cpu, !cpu_online(cpu));
}

#define N(what) atomic_long_read(&bt_stats.what)

static void bt_print(const char *title)
{
	unsigned long raised = 0, handled = 0;

	for (int i = 0; i < nr_sources && bt_sources[i]; i++) {
		raised += READ_ONCE(bt_sources[i]->raised);
		handled += READ_ONCE(bt_sources[i]->handled);
	}
	pr_alert("published %ld: refused %ld, retried %ld, expired %ld, cancelled %ld; requests %ld, descriptors %ld, disabled %ld, switched %ld, notified %ld\n",
		 N(published), N(refused), N(retried), N(expired), N(cancelled), N(requests),
		 N(descriptors), N(disables), N(switches), N(notifications));
	pr_alert("NAPI: polls %ld, handed over %ld, packets sent %ld, received %ld, dropped %ld; polled twice %ld, by a foreign CPU %ld, forgotten %ld, missing %ld\n",
		 N(polls), N(handed), N(sent), N(received), N(dropped), N(twice), N(foreign),
		 N(forgotten), N(missing));
	pr_alert("%s: moves %ld, hotplug cycles %ld, masks written %ld, raised %lu, handled %lu, late %ld; lost %ld, extra %ld, forbidden %ld, dead CPU %ld, wrong mask %ld, others %ld\n",
		 title, N(moves), min(bt_hotplugs[0], bt_hotplugs[1]), N(writes), raised, handled,
		 N(late), N(lost), N(extra), N(forbidden), N(dead_cpu), N(wrong_mask), N(others));
}

static bool bt_failed(void)
{
	return N(lost) || N(extra) || N(forbidden) || N(dead_cpu) || N(wrong_mask) || N(others) ||
	       N(twice) || N(foreign) || N(forgotten) || N(missing) ||
	       N(sent) != N(received) + N(dropped) ||
	       bt_hotplugs[0] != bt_attempts[0] || bt_hotplugs[1] != bt_attempts[1];
}

static void bt_print_statistics(struct torture_random_state *random)
{
	bt_print("Statistics");
}

/* The action of a thread, and the parameter that paces it, 0: no thread */
static struct bt_job {
	void			(*step)(struct torture_random_state *random);
	char			*name;
	int			*time;
	unsigned int		unit_us;
	struct task_struct	*task;
} bt_jobs[] = {
	{ bt_move_all, "bt_mover", &move_us, 1 },
	{ bt_write_any, "bt_writer", &write_us, 1 },
	{ bt_request_any, "bt_requester", &request_ms, USEC_PER_MSEC },
	{ bt_switch, "bt_switcher", &mode_ms, USEC_PER_MSEC },
	{ bt_onoff, "bt_onoff", &onoff_ms, USEC_PER_MSEC },
	{ bt_print_statistics, "bt_statistics", &stat_interval, USEC_PER_SEC },
};

static int bt_run_job(void *data)
{
	DEFINE_TORTURE_RANDOM(random);
	struct bt_job *job = data;

	do {
		torture_hrtimeout_us(*job->time * job->unit_us, 1000, &random);
		job->step(&random);
	} while (!torture_must_stop());
	torture_kthread_stopping(job->name);
	return 0;
}

static void bt_destroy_sources(void)
{
	for (int i = 0; i < nr_sources && bt_sources[i]; i++) {
		struct bt_source *s = bt_sources[i];

		guard(mutex)(&s->mutex);
		hrtimer_cancel(&s->timer);
		if (!s->irq)
			continue;
		bt_stop(s);
		bt_check(s);
		bt_free(s);
		irq_dispose_mapping(s->irq);
		irq_work_sync(&s->work);
	}
}

static void bt_end(void)
{
	unsigned int cpu;

	if (torture_cleanup_begin())
		return;

	for (int i = 0; i < ARRAY_SIZE(bt_jobs); i++)
		_torture_stop_kthread(bt_jobs[i].name, &bt_jobs[i].task);
	irq_balance_set_mode(bt_mode);
	for_each_cpu_andnot(cpu, &bt_roaming, cpu_online_mask)
		bt_onoff_cpu(cpu, true);

	if (bt_sources) {
		bt_destroy_sources();
		bt_print(bt_failed() ? "End of test: FAILURE" : "End of test: SUCCESS");
		for (int i = 0; i < nr_sources; i++)
			kfree(bt_sources[i]);
		kfree(bt_sources);
		bt_sources = NULL;
	}
	if (bt_domain)
		irq_domain_remove(bt_domain);
	bt_domain = NULL;

	torture_cleanup_end();
}

static int bt_create_source(irq_hw_number_t hwirq, unsigned int cpu)
{
	struct bt_source *s = kzalloc_obj(*s);
	int ret;

	if (!s)
		return -ENOMEM;

	s->hwirq = hwirq;
	mutex_init(&s->mutex);
	raw_spin_lock_init(&s->lock);
	INIT_CSD(&s->csd, bt_arrive, &s->work);
	s->work = IRQ_WORK_INIT_HARD(bt_deliver);
	hrtimer_setup(&s->timer, bt_fire, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	bt_sources[hwirq] = s;
	ret = bt_create_mapping(s);
	if (!ret)
		ret = bt_request(s);
	if (ret) {
		if (s->irq)
			irq_dispose_mapping(s->irq);
		kfree(s);
		bt_sources[hwirq] = NULL;
		return ret;
	}

	guard(mutex)(&s->mutex);
	bt_write(s, cpu_possible_mask);
	s->active = true;
	if (smp_call_function_single(cpu, bt_start_timer, &s->timer, true))
		bt_start_timer(&s->timer);
	return 0;
}

static int bt_create_sources(void)
{
	int ret = 0;

	bt_sources = kcalloc(nr_sources, sizeof(*bt_sources), GFP_KERNEL);
	bt_domain = irq_domain_create_linear(NULL, nr_sources, &bt_domain_ops, NULL);
	if (!bt_sources || !bt_domain)
		return -ENOMEM;

	for (int i = 0; i < nr_sources && !ret; i++)
		ret = bt_create_source(i, cpumask_nth(i % num_online_cpus(), cpu_online_mask));
	return ret;
}

static int bt_begin(void)
{
	int ret = -EINVAL;

	if (!torture_init_begin("irq_balance", 0))
		return -EBUSY;
	bt_mode = irq_balance_get_mode();
	memset(&bt_stats, 0, sizeof(bt_stats));

	if (rate <= 0 || move_us <= 0 || timeout_ms <= 0 || nr_sources < 0) {
		pr_alert("rate, move_us and timeout_ms have to be positive\n");
		goto unwind;
	}
	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU))
		onoff_ms = 0;

	nr_sources = nr_sources ?: 2 * num_online_cpus();
	cpumask_copy(&bt_managed.mask, cpu_possible_mask);
	cpumask_copy(&bt_stable, cpu_online_mask);
	while (cpumask_weight(&bt_stable) > DIV_ROUND_UP(num_online_cpus(), 2))
		cpumask_clear_cpu(cpumask_last(&bt_stable), &bt_stable);
	cpumask_andnot(&bt_roaming, cpu_online_mask, &bt_stable);

	ret = bt_create_sources();
	for (int i = 0; !ret && i < ARRAY_SIZE(bt_jobs); i++) {
		if (*bt_jobs[i].time > 0)
			ret = _torture_create_kthread(bt_run_job, &bt_jobs[i], bt_jobs[i].name, "",
						      "", &bt_jobs[i].task, NULL);
	}
unwind:
	torture_init_end();
	if (ret)
		bt_end();
	return ret;
}

/* Begins or ends a run. Not from the command line: the balancer is not there yet. */
static int bt_set_run(const char *text, const struct kernel_param *kp)
{
	bool run;
	int ret = system_state < SYSTEM_RUNNING ? -EBUSY : kstrtobool(text, &run);

	if (ret || run == !!bt_sources)
		return ret;
	if (run)
		return bt_begin();
	bt_end();
	return 0;
}

static const struct kernel_param_ops bt_run_ops = { .set = bt_set_run };
module_param_cb(run, &bt_run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "1: torture, 0: end that and report");
