// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of how the interrupt balancer moves an interrupt inside its
 * affinity mask. The interrupts are real, the chip is not.
 */
#include <linux/cpu_rmap.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/irqdomain.h>
#include <linux/netdevice.h>

#include <kunit/static_stub.h>
#include <kunit/test.h>

#include "../../../../net/core/dev.h"
#include "../../internals.h"
#include "../../kunit.h"
#include "../collect.h"
#include "../config.h"
#include "../core.h"
#include "balancer_off.h"

/* Answers of the fake chip, and requests to it */
struct fake {
	int		error;
	unsigned int	calls;
	unsigned int	handled;
	unsigned int	irq;
	bool		overwrites;	/* the affinity mask, unasked */
	struct irq_desc	*desc;
};

static int fake_set_affinity(struct irq_data *data, const struct cpumask *dest, bool force)
{
	struct fake *fake = irq_data_get_irq_chip_data(data);

	fake->calls++;
	if (fake->error)
		return fake->error;
	irq_data_update_effective_affinity(data, cpumask_of(cpumask_first(dest)));
	if (fake->overwrites)
		irq_data_update_affinity(data, dest);
	return fake->overwrites ? IRQ_SET_MASK_OK_NOCOPY : IRQ_SET_MASK_OK;
}

static int fake_get_state(struct irq_data *data, enum irqchip_irq_state which, bool *state)
{
	return -EINVAL;
}

static void fake_noop(struct irq_data *data) { }

static void fake_ack(struct irq_data *data)
{
	irq_move_irq(data);
}

#define FAKE_CHIP(more_flags) {						\
	.name			= "fake",			\
	.irq_ack		= fake_ack,			\
	.irq_mask		= fake_noop,			\
	.irq_unmask		= fake_noop,			\
	.irq_set_affinity	= fake_set_affinity,		\
	.flags			= IRQCHIP_SKIP_SET_WAKE | (more_flags), \
}

static struct irq_chip fake_direct_chip = FAKE_CHIP(0);
static struct irq_chip fake_deferred_chip = FAKE_CHIP(IRQCHIP_MOVE_DEFERRED);

static irqreturn_t fake_handler(int irq, void *data)
{
	struct fake *fake = data;

	fake->handled++;
	return IRQ_HANDLED;
}

static void fake_free(void *data)
{
	struct fake *fake = data;

	free_irq(fake->irq, fake);
	irq_free_desc(fake->irq);
}

/* A requested interrupt with all online CPUs in its mask */
static struct fake *fake_irq(struct kunit *test, struct irq_chip *chip)
{
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	int irq;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	if (chip == &fake_deferred_chip && !IS_ENABLED(CONFIG_GENERIC_PENDING_IRQ))
		kunit_skip(test, "needs GENERIC_PENDING_IRQ");

	KUNIT_ASSERT_NOT_NULL(test, fake);
	irq = irq_domain_alloc_descs(-1, 1, 0, NUMA_NO_NODE, NULL);
	KUNIT_ASSERT_GT(test, irq, 0);
	fake->irq = irq;
	fake->desc = irq_to_desc(irq);
	KUNIT_ASSERT_NOT_NULL(test, fake->desc);
	KUNIT_ASSERT_NOT_NULL(test, irq_balance_alloc(fake->desc));

	irq_set_chip_and_handler(irq, chip, handle_edge_irq);
	irq_set_chip_data(irq, fake);
	irq_settings_clr_norequest(fake->desc);
	KUNIT_ASSERT_EQ(test, request_irq(irq, fake_handler, IRQF_NO_THREAD, "fake", fake), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, fake_free, fake), 0);

	KUNIT_ASSERT_EQ(test, irq_set_affinity(irq, cpu_online_mask), 0);
	return fake;
}

static void fake_raise(struct fake *fake)
{
	guard(irqsave)();
	generic_handle_irq(fake->irq);
}

static int fake_move(struct fake *fake, unsigned int cpu)
{
	guard(raw_spinlock_irqsave)(&fake->desc->lock);
	return irq_balance_move(fake->desc, cpu);
}

static int fake_result(struct fake *fake)
{
	guard(raw_spinlock_irqsave)(&fake->desc->lock);
	return irq_balance_move_result(fake->desc);
}

static enum irq_balance_status fake_status(struct fake *fake)
{
	guard(raw_spinlock_irqsave)(&fake->desc->lock);
	return irq_balance_check(fake->desc);
}

static unsigned int fake_cpu(struct fake *fake)
{
	return cpumask_first(irq_data_get_effective_affinity_mask(&fake->desc->irq_data));
}

/* The mask that /proc/irq/N/smp_affinity would show: see show_irq_affinity() */
static const struct cpumask *fake_shown_mask(struct fake *fake)
{
	if (irq_move_pending(&fake->desc->irq_data))
		return irq_desc_get_pending_mask(fake->desc);
	return fake->desc->irq_common_data.affinity;
}

static void expect_place(struct kunit *test, struct fake *fake, unsigned int cpu, int result)
{
	KUNIT_EXPECT_EQ(test, fake_cpu(fake), cpu);
	KUNIT_EXPECT_EQ(test, fake_result(fake), result);
}

static void expect_mask(struct kunit *test, struct fake *fake, const struct cpumask *mask)
{
	KUNIT_EXPECT_TRUE(test, cpumask_equal(fake_shown_mask(fake), mask));
}

static unsigned int other_cpu(struct fake *fake)
{
	return cpumask_any_but(cpu_online_mask, fake_cpu(fake));
}

/* One that has come, the CPU that it came to, and another one */
static struct fake *fake_of(struct kunit *test, struct irq_chip *chip,
			    unsigned int *from, unsigned int *to)
{
	struct fake *fake = fake_irq(test, chip);

	fake_raise(fake);
	*from = fake_cpu(fake);
	*to = other_cpu(fake);
	return fake;
}

static struct fake *fake_deferred(struct kunit *test, unsigned int *from, unsigned int *to)
{
	return fake_of(test, &fake_deferred_chip, from, to);
}

static struct irq_chip *fake_chips[] = { &fake_direct_chip, &fake_deferred_chip };

static void direct_moves_at_once(struct kunit *test)
{
	struct fake *fake = fake_irq(test, &fake_direct_chip);
	unsigned int to = other_cpu(fake);

	KUNIT_EXPECT_EQ(test, fake_move(fake, to), 0);
	KUNIT_EXPECT_EQ(test, fake_cpu(fake), to);
	expect_mask(test, fake, cpu_online_mask);
	KUNIT_EXPECT_EQ(test, fake_result(fake), 0);
}

static void deferred_waits_for_interrupt(struct kunit *test)
{
	unsigned int from, to;
	struct fake *fake = fake_deferred(test, &from, &to);

	fake->calls = 0;

	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EINPROGRESS);
	KUNIT_EXPECT_EQ(test, fake->calls, 0);
	KUNIT_EXPECT_EQ(test, fake_cpu(fake), from);
	expect_mask(test, fake, cpu_online_mask);

	fake_raise(fake);
	KUNIT_EXPECT_EQ(test, fake_cpu(fake), to);
	expect_mask(test, fake, cpu_online_mask);
	KUNIT_EXPECT_EQ(test, fake->calls, 1);
	KUNIT_EXPECT_EQ(test, fake_result(fake), 0);

	/* Once is enough */
	fake_raise(fake);
	KUNIT_EXPECT_EQ(test, fake->calls, 1);
	KUNIT_EXPECT_EQ(test, fake->handled, 3);
}

static void no_interrupt_expires(struct kunit *test)
{
	unsigned int from, to;
	struct fake *fake = fake_deferred(test, &from, &to);

	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EINPROGRESS);
	KUNIT_EXPECT_EQ(test, fake_result(fake), -ETIMEDOUT);
	fake_raise(fake);
	expect_place(test, fake, from, 0);
}

static unsigned int fake_next_cpu(struct fake *fake, unsigned int cpu)
{
	return irq_next_cpu(fake->irq, cpu);
}

static unsigned int fake_load_cpu(struct fake *fake)
{
	guard(raw_spinlock_irqsave)(&fake->desc->lock);
	return irq_balance_cpu(fake->desc);
}

static void polls_follow_a_pending_move(struct kunit *test)
{
	unsigned int from, to;
	struct fake *fake = fake_deferred(test, &from, &to);

	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, from), from);
	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EINPROGRESS);
	KUNIT_EXPECT_EQ(test, fake_load_cpu(fake), from);

	/* No interrupt comes, but the load is at the new CPU */
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, from), to);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, to), to);
	KUNIT_EXPECT_EQ(test, fake_load_cpu(fake), to);
	expect_place(test, fake, from, -EINPROGRESS);
	KUNIT_EXPECT_EQ(test, fake_load_cpu(fake), to);

	/* The next plan takes it back */
	KUNIT_EXPECT_EQ(test, fake_move(fake, from), -EINPROGRESS);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, to), from);
	KUNIT_EXPECT_EQ(test, fake_load_cpu(fake), from);

	/* One that does not follow expires */
	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EINPROGRESS);
	KUNIT_EXPECT_EQ(test, fake_result(fake), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, from), from);

	/* The interrupt comes at last */
	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EINPROGRESS);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, from), to);
	fake_raise(fake);
	expect_place(test, fake, to, 0);
}

static void polls_follow_the_user(struct kunit *test)
{
	unsigned int from, to;
	struct fake *fake = fake_deferred(test, &from, &to);

	KUNIT_EXPECT_EQ(test, irq_set_affinity(fake->irq, cpumask_of(to)), 0);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, from), to);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, to), to);
	fake_raise(fake);
	KUNIT_EXPECT_EQ(test, fake_cpu(fake), to);

	fake = fake_irq(test, &fake_direct_chip);
	from = fake_cpu(fake);
	to = other_cpu(fake);
	KUNIT_EXPECT_EQ(test, irq_set_affinity(fake->irq, cpumask_of(to)), 0);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, from), to);
}

static void polls_stay(struct kunit *test)
{
	struct fake *fake = fake_irq(test, &fake_direct_chip);
	struct irq_data *data = &fake->desc->irq_data;
	unsigned int other = other_cpu(fake);

	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, other), fake_cpu(fake));

	/* Of one CPU each */
	irqd_set(data, IRQD_PER_CPU);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, other), other);
	irqd_clear(data, IRQD_PER_CPU);

	/* No interrupt */
	free_irq(fake->irq, fake);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, other), other);
	KUNIT_ASSERT_EQ(test, 0,
			request_irq(fake->irq, fake_handler, IRQF_NO_THREAD, "fake", fake));
}

static void users_write_wins(struct kunit *test)
{
	unsigned int from, to;
	struct fake *fake = fake_deferred(test, &from, &to);

	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EINPROGRESS);
	KUNIT_EXPECT_EQ(test, irq_set_affinity(fake->irq, cpumask_of(from)), 0);
	expect_mask(test, fake, cpumask_of(from));
	KUNIT_EXPECT_EQ(test, fake_result(fake), -ECANCELED);

	fake_raise(fake);
	KUNIT_EXPECT_EQ(test, fake_cpu(fake), from);
	expect_mask(test, fake, cpumask_of(from));
}

/* All CPUs that are online, but @cpu */
static const struct cpumask *all_but(unsigned int cpu)
{
	static struct cpumask mask;

	cpumask_andnot(&mask, cpu_online_mask, cpumask_of(cpu));
	return &mask;
}

static void users_pending_mask_is_the_mask(struct kunit *test)
{
	unsigned int from, to;
	struct fake *fake = fake_deferred(test, &from, &to);
	const struct cpumask *mask = all_but(from);

	KUNIT_EXPECT_EQ(test, irq_set_affinity(fake->irq, mask), 0);
	KUNIT_EXPECT_EQ(test, fake_status(fake), IRQ_BALANCE_MOVABLE);
	KUNIT_EXPECT_EQ(test, fake_move(fake, from), -ECANCELED);
	expect_mask(test, fake, mask);

	/* The polls are there at once, the interrupt when it comes */
	to = cpumask_last(mask);
	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EINPROGRESS);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, from), to);
	KUNIT_EXPECT_EQ(test, fake_load_cpu(fake), to);
	expect_mask(test, fake, mask);
	fake->calls = 0;
	fake_raise(fake);
	KUNIT_EXPECT_EQ(test, fake->calls, 1);
	KUNIT_EXPECT_FALSE(test, irqd_is_move_pending(&fake->desc->irq_data));
	expect_mask(test, fake, mask);
	expect_place(test, fake, to, 0);

	/* A move that fails, or comes too late, leaves the user's to the core */
	mask = all_but(to);
	KUNIT_EXPECT_EQ(test, irq_set_affinity(fake->irq, mask), 0);
	KUNIT_EXPECT_EQ(test, fake_move(fake, from), -EINPROGRESS);
	fake->error = -EBUSY;
	fake_raise(fake);
	expect_place(test, fake, to, -EBUSY);
	KUNIT_EXPECT_TRUE(test, irqd_is_setaffinity_pending(&fake->desc->irq_data));
	expect_mask(test, fake, mask);
	fake->error = 0;
	fake_raise(fake);
	KUNIT_EXPECT_FALSE(test, irqd_is_setaffinity_pending(&fake->desc->irq_data));
	expect_mask(test, fake, mask);
	KUNIT_EXPECT_EQ(test, fake_cpu(fake), cpumask_first(mask));
}

static bool fake_isolated(unsigned int cpu)
{
	return false;
}

/* A CPU may be isolated between the plan and the interrupt that carries it out */
static void isolation_stops_a_move(struct kunit *test)
{
	unsigned int from, to;
	struct fake *fake = fake_deferred(test, &from, &to);

	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EINPROGRESS);
	kunit_activate_static_stub(test, irq_balance_is_housekeeping, fake_isolated);
	fake_raise(fake);
	expect_place(test, fake, from, -ECANCELED);
	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -ECANCELED);
	kunit_deactivate_static_stub(test, irq_balance_is_housekeeping);
	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EINPROGRESS);

	/* Polls have followed, and come back: the move is over */
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, from), to);
	kunit_activate_static_stub(test, irq_balance_is_housekeeping, fake_isolated);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, to), from);
	KUNIT_EXPECT_EQ(test, fake_load_cpu(fake), from);
	expect_place(test, fake, from, -ETIMEDOUT);
	kunit_deactivate_static_stub(test, irq_balance_is_housekeeping);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, from), from);

	/* One that is refused ends the one before */
	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EINPROGRESS);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, from), to);
	kunit_activate_static_stub(test, irq_balance_is_housekeeping, fake_isolated);
	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -ECANCELED);
	kunit_deactivate_static_stub(test, irq_balance_is_housekeeping);
	KUNIT_EXPECT_EQ(test, fake_next_cpu(fake, to), from);
	fake_raise(fake);
	expect_place(test, fake, from, -ECANCELED);
}

static void never_outside_the_mask(struct kunit *test)
{
	struct fake *fake = fake_irq(test, &fake_direct_chip);
	unsigned int from = fake_cpu(fake), to = other_cpu(fake);

	irq_set_affinity(fake->irq, cpumask_of(from));
	fake->calls = 0;
	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -ECANCELED);
	KUNIT_EXPECT_EQ(test, fake->calls, 0);
	expect_place(test, fake, from, -ECANCELED);
}

static void busy_is_not_retried_at_entry(struct kunit *test)
{
	unsigned int from, to;
	struct fake *fake = fake_deferred(test, &from, &to);

	fake->error = -EBUSY;
	fake->calls = 0;
	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EINPROGRESS);
	fake_raise(fake);
	fake_raise(fake);
	KUNIT_EXPECT_EQ(test, fake->calls, 1);
	KUNIT_EXPECT_EQ(test, fake_cpu(fake), from);
	KUNIT_EXPECT_FALSE(test, irqd_is_setaffinity_pending(&fake->desc->irq_data));
	expect_mask(test, fake, cpu_online_mask);
	KUNIT_EXPECT_EQ(test, fake_result(fake), -EBUSY);
}

/* A user's list holds for what is requested later, too */
static const char *fake_word(struct fake *fake)
{
	guard(raw_spinlock_irqsave)(&fake->desc->lock);
	return irq_balance_word(fake->desc, cpu_online_mask);
}

/* A mask of one CPU is the driver's as long as it is the driver's hint */
static void mask_of_driver_has_its_word(struct kunit *test)
{
	struct fake *fake = fake_irq(test, &fake_direct_chip);
	const struct cpumask *wanted = cpumask_of(other_cpu(fake));

	KUNIT_EXPECT_EQ(test, irq_set_affinity_and_hint(fake->irq, wanted), 0);
	KUNIT_EXPECT_STREQ(test, fake_word(fake), "driver");
	KUNIT_EXPECT_EQ(test, irq_set_affinity(fake->irq, cpumask_of(other_cpu(fake))), 0);
	KUNIT_EXPECT_STREQ(test, fake_word(fake), "pinned");
	KUNIT_EXPECT_EQ(test, irq_set_affinity(fake->irq, cpu_online_mask), 0);
	KUNIT_EXPECT_STREQ(test, fake_word(fake), "movable");
	KUNIT_EXPECT_EQ(test, irq_update_affinity_hint(fake->irq, NULL), 0);
}

/* A pending move ends with the handler, and the next one has never come */
static void next_owner_starts_anew(struct kunit *test)
{
	struct fake *fake = fake_irq(test, &fake_deferred_chip);

	WRITE_ONCE(fake->desc->load->seen.cpu, 0);
	KUNIT_EXPECT_EQ(test, fake_move(fake, other_cpu(fake)), -EINPROGRESS);
	free_irq(fake->irq, fake);
	KUNIT_EXPECT_FALSE(test, irqd_has_set(&fake->desc->irq_data, IRQD_BALANCE_PENDING));
	fake->desc->load_skip = 1000;
	KUNIT_ASSERT_EQ(test, 0,
			request_irq(fake->irq, fake_handler, IRQF_NO_THREAD, "fake", fake));
	KUNIT_EXPECT_GE(test, fake->desc->load->seen.cpu, nr_cpu_ids);
	KUNIT_EXPECT_EQ(test, fake->desc->load_skip, 0);
}

static void banned_ones_stay(struct kunit *test)
{
	struct fake *fake = fake_irq(test, &fake_direct_chip);
	char *old = (char *)get_zeroed_page(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, old);
	irq_balance_show_bans(old);
	KUNIT_EXPECT_EQ(test, irq_balance_set_bans("12345, fak[d-f]", ""), 0);
	KUNIT_EXPECT_EQ(test, fake_status(fake), IRQ_BALANCE_BANNED);
	KUNIT_EXPECT_EQ(test, fake_move(fake, other_cpu(fake)), -ECANCELED);
	free_irq(fake->irq, fake);
	KUNIT_EXPECT_EQ(test, fake_status(fake), IRQ_BALANCE_UNUSED);
	KUNIT_ASSERT_EQ(test, 0,
			request_irq(fake->irq, fake_handler, IRQF_NO_THREAD, "fakd", fake));
	KUNIT_EXPECT_EQ(test, fake_status(fake), IRQ_BALANCE_BANNED);
	KUNIT_EXPECT_EQ(test, irq_balance_set_bans("a,,b", ""), -EINVAL);
	KUNIT_EXPECT_EQ(test, fake_status(fake), IRQ_BALANCE_BANNED);
	KUNIT_EXPECT_EQ(test, irq_balance_set_bans("fake", ""), 0);
	KUNIT_EXPECT_EQ(test, fake_status(fake), IRQ_BALANCE_MOVABLE);
	*strchrnul(old, '\n') = '\0';
	KUNIT_EXPECT_EQ(test, irq_balance_set_bans(old, ""), 0);
	free_page((unsigned long)old);
}

#ifdef CONFIG_IRQ_LOAD_NAPI
/* Polls follow what the driver names, or what was learned, unless it is banned or of one CPU */
static void polls_follow_the_known(struct kunit *test)
{
	struct fake *fake = fake_irq(test, &fake_direct_chip);
	struct napi_struct *napi = kunit_kzalloc(test, sizeof(*napi), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, napi);
	KUNIT_EXPECT_EQ(test, irq_balance_napi_irq(napi), 0);
	napi->irq_seen = fake->irq;
	KUNIT_EXPECT_EQ(test, irq_balance_napi_irq(napi), fake->irq);
	fake->desc->istate |= IRQS_BALANCE_BANNED;
	KUNIT_EXPECT_EQ(test, irq_balance_napi_irq(napi), 0);
	napi->irq = fake->irq;
	KUNIT_EXPECT_EQ(test, irq_balance_napi_irq(napi), fake->irq);
	napi->irq = 0;
	fake->desc->istate &= ~IRQS_BALANCE_BANNED;
	set_bit(NAPI_STATE_NO_BUSY_POLL, &napi->state);
	KUNIT_EXPECT_EQ(test, irq_balance_napi_irq(napi), 0);
}
#endif

/* The user's mask is put right, and the chip is not asked again */
static void chips_that_overwrite_the_mask(struct kunit *test)
{
	struct fake *fake = fake_irq(test, &fake_direct_chip);

	fake->overwrites = true;
	KUNIT_EXPECT_EQ(test, fake_move(fake, other_cpu(fake)), -EOPNOTSUPP);
	expect_mask(test, fake, cpu_online_mask);
	KUNIT_EXPECT_EQ(test, fake_status(fake), IRQ_BALANCE_CHIP);
	fake->calls = 0;
	KUNIT_EXPECT_EQ(test, fake_move(fake, other_cpu(fake)), -ECANCELED);
	KUNIT_EXPECT_EQ(test, fake->calls, 0);
}

static void fixed_ones_stay(struct kunit *test)
{
	static const struct {
		unsigned int		bit;
		enum irq_balance_status	status;
	} bits[] = {
		{ IRQD_AFFINITY_MANAGED, IRQ_BALANCE_MANAGED },
		{ IRQD_NO_BALANCING, IRQ_BALANCE_NO_BALANCING },
		{ IRQD_FORWARDED_TO_VCPU, IRQ_BALANCE_FORWARDED },
	};
	struct fake *fake = fake_irq(test, &fake_direct_chip);
	struct irq_data *data = &fake->desc->irq_data;
	unsigned int i, to = other_cpu(fake);

	KUNIT_EXPECT_EQ(test, fake_status(fake), IRQ_BALANCE_MOVABLE);
	fake->desc->action->flags |= __IRQF_TIMER;
	KUNIT_EXPECT_EQ(test, fake_status(fake), IRQ_BALANCE_NO_BALANCING);
	fake->desc->action->flags &= ~__IRQF_TIMER;
	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		irqd_set(data, bits[i].bit);
		KUNIT_EXPECT_EQ(test, fake_status(fake), bits[i].status);
		KUNIT_EXPECT_EQ(test, fake_move(fake, to), -ECANCELED);
		irqd_clear(data, bits[i].bit);
	}

	/* Drivers disable it while they poll */
	disable_irq(fake->irq);
	KUNIT_EXPECT_EQ(test, fake_status(fake), IRQ_BALANCE_MOVABLE);
	enable_irq(fake->irq);

	/* An error of the chip is no rule of ours */
	fake->error = -EPERM;
	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EPERM);
	KUNIT_EXPECT_EQ(test, fake_result(fake), -EPERM);
	fake->error = 0;

	irq_data_update_effective_affinity(data, cpu_online_mask);
	KUNIT_EXPECT_EQ(test, fake_status(fake), IRQ_BALANCE_CHIP);
}

/* It is where its parent is while its mask has that CPU, so the effective mask may be wide */
static void redirected_ones_move(struct kunit *test)
{
	struct fake *fake = fake_irq(test, &fake_direct_chip);
	struct irq_data *data = &fake->desc->irq_data;
	struct irq_chip chip = fake_direct_chip;
	unsigned int to = other_cpu(fake);

	chip.irq_set_affinity = irq_chip_redirect_set_affinity;
	KUNIT_EXPECT_FALSE(test, irq_balance_is_redirected(fake->desc));
	data->chip = &chip;
	if (!irq_set_affinity(fake->irq, cpu_online_mask)) {
		KUNIT_EXPECT_TRUE(test, irq_balance_is_redirected(fake->desc));
		KUNIT_EXPECT_EQ(test, fake_status(fake), IRQ_BALANCE_MOVABLE);
		KUNIT_EXPECT_EQ(test, fake_move(fake, to), 0);
		expect_mask(test, fake, cpu_online_mask);
		expect_place(test, fake, to, 0);
	}
	data->chip = &fake_direct_chip;
}

/* An edge may come to the new CPU while the old one is in the handler */
static void edges_are_not_lost(struct kunit *test)
{
	static const struct {
		irq_flow_handler_t	flow;
		unsigned int		type;
		bool			resends;
		bool			has_state;
		bool			safe;
	} flows[] = {
		{ .flow = handle_edge_irq, .type = IRQ_TYPE_EDGE_RISING, .safe = true },
		{ .flow = handle_level_irq, .safe = true },
		{ .flow = handle_simple_irq },
		{ .flow = handle_simple_irq, .resends = true, .has_state = true },
		{ .flow = handle_fasteoi_irq, .safe = true },
		{ .flow = handle_fasteoi_irq, .type = IRQ_TYPE_EDGE_RISING },
		{ .flow = handle_fasteoi_irq, .type = IRQ_TYPE_EDGE_FALLING },
		{ .flow = handle_fasteoi_irq, .type = IRQ_TYPE_EDGE_RISING,
		  .resends = true, .safe = true },
		{ .flow = handle_fasteoi_irq, .type = IRQ_TYPE_EDGE_RISING,
		  .has_state = true, .safe = true },
	};
	struct fake *fake = fake_irq(test, &fake_direct_chip);
	struct irq_data *data = &fake->desc->irq_data;
	struct irq_chip chip = fake_direct_chip;
	unsigned int i;

	data->chip = &chip;
	for (i = 0; i < ARRAY_SIZE(flows); i++) {
		irq_set_handler(fake->irq, flows[i].flow);
		irqd_set_trigger_type(data, flows[i].type);
		irqd_clear(data, IRQD_RESEND_WHEN_IN_PROGRESS);
		if (flows[i].resends)
			irqd_set_resend_when_in_progress(data);
		chip.irq_get_irqchip_state = flows[i].has_state ? fake_get_state : NULL;
		KUNIT_EXPECT_EQ_MSG(test, fake_status(fake),
				    flows[i].safe ? IRQ_BALANCE_MOVABLE : IRQ_BALANCE_CHIP,
				    "flow %u", i);
		KUNIT_EXPECT_EQ_MSG(test, fake_move(fake, other_cpu(fake)),
				    flows[i].safe ? 0 : -ECANCELED, "flow %u", i);

		/* A level is still there afterwards */
		irqd_set(data, IRQD_LEVEL);
		KUNIT_EXPECT_EQ_MSG(test, fake_status(fake), IRQ_BALANCE_MOVABLE, "flow %u", i);
		irqd_clear(data, IRQD_LEVEL);
	}
	irqd_set_trigger_type(data, IRQ_TYPE_NONE);
	irqd_clear(data, IRQD_RESEND_WHEN_IN_PROGRESS);
	irq_set_handler(fake->irq, handle_edge_irq);
	data->chip = &fake_direct_chip;
}

struct fake_notify {
	struct irq_affinity_notify	notify;
	struct cpumask			mask;
	unsigned int			cpu;
	unsigned int			calls;
};

static void fake_notify_mask(struct irq_affinity_notify *notify, const cpumask_t *mask)
{
	struct fake_notify *fake = container_of(notify, struct fake_notify, notify);

	cpumask_copy(&fake->mask, mask);
	fake->cpu = cpumask_first(irq_effective_affinity_or(notify->irq, mask));
	fake->calls++;
}

static void fake_notify_release(struct kref *kref) { }

static void expect_notified(struct kunit *test, struct fake_notify *n, unsigned int calls,
			    const struct cpumask *mask, unsigned int cpu)
{
	flush_work(&n->notify.work);
	KUNIT_EXPECT_EQ(test, n->calls, calls);
	KUNIT_EXPECT_TRUE(test, cpumask_equal(&n->mask, mask));
	KUNIT_EXPECT_EQ(test, n->cpu, cpu);
}

/* Some listeners save what they are given and write it back: never the CPU in use */
static void notifier_gets_the_mask(struct kunit *test)
{
	struct fake_notify *n = kunit_kzalloc(test, sizeof(*n), GFP_KERNEL);
	unsigned int i, from, to;

	KUNIT_ASSERT_NOT_NULL(test, n);
	for (i = 0; i < ARRAY_SIZE(fake_chips); i++) {
		struct fake *fake = fake_of(test, fake_chips[i], &from, &to);

		memset(n, 0, sizeof(*n));
		n->notify.notify = fake_notify_mask;
		n->notify.release = fake_notify_release;
		KUNIT_ASSERT_EQ(test, irq_set_affinity_notifier(fake->irq, &n->notify), 0);

		fake_move(fake, to);
		fake_raise(fake);
		expect_notified(test, n, 1, cpu_online_mask, to);

		/* A move that fails changes nothing */
		fake->error = -EBUSY;
		fake_move(fake, from);
		fake_raise(fake);
		expect_notified(test, n, 1, cpu_online_mask, to);
		fake->error = 0;

		/* A listener that needs the CPU is called when it changes, not only before */
		irq_set_affinity(fake->irq, cpumask_of(from));
		if (irqd_is_setaffinity_pending(&fake->desc->irq_data)) {
			expect_notified(test, n, 2, cpumask_of(from), to);
			fake_raise(fake);
			expect_notified(test, n, 3, cpumask_of(from), from);
		} else {
			expect_notified(test, n, 2, cpumask_of(from), from);
		}
		irq_set_affinity_notifier(fake->irq, NULL);
	}
}

static void expect_nearest(struct kunit *test, struct cpu_rmap *rmap, unsigned int near)
{
	unsigned int cpu;

	for_each_online_cpu(cpu)
		KUNIT_EXPECT_EQ(test, !rmap->near[cpu].dist, cpu == near);
}

static void rmap_follows(struct kunit *test)
{
	struct irq_affinity_notify *notify;
	struct cpu_rmap *rmap;
	unsigned int i, from, to;

	if (!IS_ENABLED(CONFIG_CPU_RMAP))
		kunit_skip(test, "needs CPU_RMAP");

	for (i = 0; i < ARRAY_SIZE(fake_chips); i++) {
		struct fake *fake = fake_of(test, fake_chips[i], &from, &to);

		rmap = alloc_irq_cpu_rmap(1);
		KUNIT_ASSERT_NOT_NULL(test, rmap);
		KUNIT_EXPECT_EQ(test, irq_cpu_rmap_add(rmap, fake->irq), 0);
		notify = READ_ONCE(fake->desc->affinity_notify);

		fake_move(fake, to);
		fake_raise(fake);
		flush_work(&notify->work);
		expect_nearest(test, rmap, to);

		/* Of the CPUs that the user wrote it is one */
		KUNIT_EXPECT_EQ(test, irq_set_affinity(fake->irq, cpu_online_mask), 0);
		flush_work(&notify->work);
		fake_raise(fake);
		flush_work(&notify->work);
		expect_nearest(test, rmap, fake_cpu(fake));
		free_irq_cpu_rmap(rmap);
	}
}

/* Of two on one CPU the other one stays when one leaves */
static void rmap_keeps_both(struct kunit *test)
{
	struct irq_affinity_notify *notify;
	struct fake *one, *two;
	struct cpu_rmap *rmap;
	unsigned int from, to;

	if (!IS_ENABLED(CONFIG_CPU_RMAP))
		kunit_skip(test, "needs CPU_RMAP");

	one = fake_of(test, &fake_direct_chip, &from, &to);
	two = fake_irq(test, &fake_direct_chip);
	rmap = alloc_irq_cpu_rmap(2);
	KUNIT_ASSERT_NOT_NULL(test, rmap);
	KUNIT_EXPECT_EQ(test, irq_cpu_rmap_add(rmap, one->irq), 0);
	KUNIT_EXPECT_EQ(test, irq_cpu_rmap_add(rmap, two->irq), 0);

	fake_move(one, to);
	flush_work(&READ_ONCE(one->desc->affinity_notify)->work);
	notify = READ_ONCE(two->desc->affinity_notify);
	fake_move(two, to);
	flush_work(&notify->work);
	expect_nearest(test, rmap, to);
	KUNIT_EXPECT_EQ(test, cpu_rmap_lookup_index(rmap, to), 1);
	fake_move(two, from);
	flush_work(&notify->work);
	KUNIT_EXPECT_EQ(test, cpu_rmap_lookup_index(rmap, from), 1);
	KUNIT_EXPECT_EQ(test, cpu_rmap_lookup_index(rmap, to), 0);
	KUNIT_EXPECT_EQ(test, rmap->near[to].dist, 0);
	free_irq_cpu_rmap(rmap);
}

/* The interrupt that would carry it out comes later, or never */
static void off_and_restrictions_cancel_moves(struct kunit *test)
{
	unsigned int from, to;
	struct fake *fake = fake_deferred(test, &from, &to);

	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EINPROGRESS);
	irq_balance_restrict();
	fake_raise(fake);
	KUNIT_EXPECT_EQ(test, fake_cpu(fake), from);

	KUNIT_ASSERT_EQ(test, irq_balance_set_mode(IRQ_BALANCE_OBSERVE), 0);
	KUNIT_EXPECT_EQ(test, fake_move(fake, to), -EINPROGRESS);
	KUNIT_ASSERT_EQ(test, irq_balance_set_mode(IRQ_BALANCE_OFF), 0);
	fake_raise(fake);
	KUNIT_EXPECT_EQ(test, fake_cpu(fake), from);
}

static irqreturn_t thread_handler(int irq, void *data)
{
	struct fake *fake = data;

	WRITE_ONCE(fake->handled, BIT(16) + smp_processor_id());
	return IRQ_HANDLED;
}

static irqreturn_t wake_handler(int irq, void *data)
{
	return IRQ_WAKE_THREAD;
}

static void thread_follows(struct kunit *test)
{
	struct fake *fake = fake_irq(test, &fake_direct_chip);
	unsigned int i, to;

	free_irq(fake->irq, fake);
	KUNIT_ASSERT_EQ(test, 0, request_threaded_irq(fake->irq, wake_handler, thread_handler, 0,
						      "threaded", fake));
	for (i = 0; i < 4; i++) {
		to = other_cpu(fake);
		KUNIT_EXPECT_EQ(test, fake_move(fake, to), 0);
		/* The thread follows by itself, in its own time */
		msleep(20);
		fake_raise(fake);
		synchronize_irq(fake->irq);
		KUNIT_EXPECT_EQ(test, READ_ONCE(fake->handled), BIT(16) + to);
	}
}

static struct kunit_case irq_balance_move_cases[] = {
	KUNIT_CASE(direct_moves_at_once),
	KUNIT_CASE(deferred_waits_for_interrupt),
	KUNIT_CASE(no_interrupt_expires),
	KUNIT_CASE(polls_follow_a_pending_move),
	KUNIT_CASE(polls_follow_the_user),
	KUNIT_CASE(polls_stay),
	KUNIT_CASE(users_write_wins),
	KUNIT_CASE(users_pending_mask_is_the_mask),
	KUNIT_CASE(isolation_stops_a_move),
	KUNIT_CASE(never_outside_the_mask),
	KUNIT_CASE(busy_is_not_retried_at_entry),
	KUNIT_CASE(mask_of_driver_has_its_word),
	KUNIT_CASE(next_owner_starts_anew),
	KUNIT_CASE(banned_ones_stay),
#ifdef CONFIG_IRQ_LOAD_NAPI
	KUNIT_CASE(polls_follow_the_known),
#endif
	KUNIT_CASE(chips_that_overwrite_the_mask),
	KUNIT_CASE(fixed_ones_stay),
	KUNIT_CASE(redirected_ones_move),
	KUNIT_CASE(edges_are_not_lost),
	KUNIT_CASE(notifier_gets_the_mask),
	KUNIT_CASE(rmap_follows),
	KUNIT_CASE(rmap_keeps_both),
	KUNIT_CASE(off_and_restrictions_cancel_moves),
	KUNIT_CASE(thread_follows),
	{}
};

static struct kunit_suite irq_balance_move_suite = {
	.name		= "irq_balance_move",
	.suite_init	= balancer_off,
	.suite_exit	= balancer_back,
	.init		= kunit_raw_init,
	.test_cases	= irq_balance_move_cases,
};

kunit_test_suite(irq_balance_move_suite);
