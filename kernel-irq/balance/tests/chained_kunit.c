// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of which demultiplexers the interrupt balancer moves, and what it takes
 * for their load. The interrupts and the domain are real, the chip is not.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/irqdomain.h>
#include <linux/netdevice.h>

#include <kunit/test.h>

#include "../../internals.h"
#include "../../kunit.h"
#include "../core.h"
#include "balancer_off.h"

#define BEHIND		2
#define BEHIND_US	20

/* Demultiplexers, the first of which has interrupts behind it, and what a pass has of all */
struct bridge {
	struct fwnode_handle	*fwnode;
	struct irq_domain	*domain;
	unsigned int		demux[2];
	unsigned int		behind[BEHIND];
	unsigned int		handled;
	struct irq_balance_irq	irqs[2 + BEHIND];
	struct irq_desc		*descs[2 + BEHIND];
	struct irq_balance_map	map;
	struct irq_load		sum;
};

static int demux_set_affinity(struct irq_data *data, const struct cpumask *dest, bool force)
{
	irq_data_update_effective_affinity(data, cpumask_of(cpumask_first(dest)));
	return IRQ_SET_MASK_OK;
}

static int demux_set_type(struct irq_data *data, unsigned int type)
{
	return IRQ_SET_MASK_OK;
}

static int demux_get_state(struct irq_data *data, enum irqchip_irq_state which, bool *state)
{
	return -EINVAL;
}

static void demux_noop(struct irq_data *data) { }

static struct irq_chip demux_chip = {
	.name			= "demux",
	.irq_mask		= demux_noop,
	.irq_unmask		= demux_noop,
	.irq_set_affinity	= demux_set_affinity,
	.irq_set_type		= demux_set_type,
	.irq_get_irqchip_state	= demux_get_state,
};

static void demux_handler(struct irq_desc *desc)
{
	struct bridge *bridge = irq_desc_get_handler_data(desc);

	for (unsigned int i = 0; i < BEHIND; i++)
		generic_handle_domain_irq(bridge->domain, i);
}

static irqreturn_t behind_handler(int irq, void *data)
{
	struct bridge *bridge = data;

	bridge->handled++;
	udelay(BEHIND_US);
	return IRQ_HANDLED;
}

static int behind_map(struct irq_domain *domain, unsigned int irq, irq_hw_number_t hwirq)
{
	irq_set_chip_and_handler(irq, &dummy_irq_chip, handle_simple_irq);
	return 0;
}

static const struct irq_domain_ops behind_ops = { .map = behind_map };

static void bridge_free(void *data)
{
	struct bridge *bridge = data;
	unsigned int i;

	for (i = 0; i < BEHIND; i++) {
		free_irq(bridge->behind[i], bridge);
		irq_dispose_mapping(bridge->behind[i]);
	}
	for (i = 0; i < ARRAY_SIZE(bridge->demux); i++) {
		irq_set_chained_handler_and_data(bridge->demux[i], NULL, NULL);
		irq_free_desc(bridge->demux[i]);
	}
	irq_domain_remove(bridge->domain);
	irq_domain_free_fwnode(bridge->fwnode);
}

static void bridge_add(struct kunit *test, struct bridge *bridge, unsigned int irq)
{
	struct irq_desc *desc = irq_to_desc(irq);
	unsigned int i = bridge->map.nr++;

	KUNIT_ASSERT_NOT_NULL(test, irq_balance_alloc(desc));
	bridge->descs[i] = desc;
	bridge->irqs[i].irq = irq;
	bridge->irqs[i].state = &irq_balance_entry_of(desc)->state;
}

static struct bridge *bridge_of(struct kunit *test)
{
	struct bridge *bridge = kunit_kzalloc(test, sizeof(*bridge), GFP_KERNEL);
	unsigned int i;
	int irq;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");

	KUNIT_ASSERT_NOT_NULL(test, bridge);
	bridge->map.irqs = bridge->irqs;
	bridge->map.descs = bridge->descs;
	bridge->fwnode = irq_domain_alloc_named_fwnode("bridge");
	bridge->domain = irq_domain_create_linear(bridge->fwnode, BEHIND, &behind_ops, bridge);
	KUNIT_ASSERT_NOT_NULL(test, bridge->domain);

	for (i = 0; i < ARRAY_SIZE(bridge->demux); i++) {
		irq = irq_domain_alloc_descs(-1, 1, 0, NUMA_NO_NODE, NULL);
		KUNIT_ASSERT_GT(test, irq, 0);
		bridge->demux[i] = irq;
		irq_set_chip(irq, &demux_chip);
		irqd_set_trigger_type(irq_get_irq_data(irq), IRQ_TYPE_LEVEL_HIGH);
		irq_set_chained_handler_and_data(irq, demux_handler, i ? test : (void *)bridge);
	}
	for (i = 0; i < BEHIND; i++) {
		irq = irq_create_mapping(bridge->domain, i);
		KUNIT_ASSERT_GT(test, irq, 0);
		bridge->behind[i] = irq;
		KUNIT_ASSERT_EQ(test, 0, request_irq(irq, behind_handler, IRQF_NO_THREAD,
						     "behind", bridge));
	}
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, bridge_free, bridge));

	/* In an order in which some are before it, and some after */
	bridge_add(test, bridge, bridge->behind[0]);
	bridge_add(test, bridge, bridge->demux[0]);
	bridge_add(test, bridge, bridge->demux[1]);
	bridge_add(test, bridge, bridge->behind[1]);
	return bridge;
}

/* Whether the demultiplexer moves as one; then the others are marked */
static void expect_carries(struct kunit *test, struct bridge *bridge, bool carries)
{
	struct irq_balance_irq *irqs = bridge->irqs;
	struct irq_balance_state *carrier = carries ? irqs[1].state : NULL;
	struct irq_load none;

	for (unsigned int i = 0; i < 4; i++) {
		irqs[i].carrier = NULL;
		bridge->descs[i]->balance->carrier = 0;
	}
	KUNIT_EXPECT_EQ(test, carries, irq_balance_carries(&bridge->map, &irqs[1], &bridge->sum));
	KUNIT_EXPECT_PTR_EQ(test, irqs[0].carrier, carrier);
	KUNIT_EXPECT_PTR_EQ(test, irqs[1].carrier, NULL);
	KUNIT_EXPECT_PTR_EQ(test, irqs[2].carrier, NULL);
	KUNIT_EXPECT_PTR_EQ(test, irqs[3].carrier, carrier);
	for (unsigned int i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, bridge->descs[i]->balance->carrier,
				irqs[i].carrier ? bridge->demux[0] : 0);
	KUNIT_EXPECT_FALSE(test, irq_balance_carries(&bridge->map, &irqs[2], &none));
}

static void any_doubt_keeps_it(struct kunit *test)
{
	struct bridge *bridge = bridge_of(test);
	struct irq_data *demux = irq_get_irq_data(bridge->demux[0]);
	struct irq_data *behind = irq_get_irq_data(bridge->behind[1]);
	struct irq_load_line *line = irq_to_desc(bridge->behind[1])->load;
	struct irq_chip deferred = demux_chip;

	expect_carries(test, bridge, true);

	/* The affinity was set */
	irqd_set(demux, IRQD_AFFINITY_SET);
	expect_carries(test, bridge, false);
	irqd_clear(demux, IRQD_AFFINITY_SET);

	/* Another handler has the same data */
	irq_set_handler_data(bridge->demux[1], bridge);
	KUNIT_EXPECT_FALSE(test, irq_balance_carries(&bridge->map, &bridge->irqs[1], &bridge->sum));
	KUNIT_EXPECT_PTR_EQ(test, bridge->irqs[0].carrier, NULL);
	irq_set_handler_data(bridge->demux[1], test);

	/* Another demultiplexer is behind it */
	irq_get_irq_data(bridge->demux[1])->domain = bridge->domain;
	expect_carries(test, bridge, false);
	irq_get_irq_data(bridge->demux[1])->domain = NULL;

	/* One behind it has an affinity of its own */
	behind->chip = &demux_chip;
	expect_carries(test, bridge, false);
	behind->chip = &dummy_irq_chip;

	/* A task polls for one behind it, which is most of its load */
	line->polled = IRQ_LOAD_POLLED;
	line->polled_at = jiffies;
	expect_carries(test, bridge, false);
	line->polled = 0;

	/* The user has opted one behind it out */
	irq_to_desc(bridge->behind[1])->balance->opted_out = true;
	expect_carries(test, bridge, false);
	irq_to_desc(bridge->behind[1])->balance->opted_out = false;

	/* It cannot be moved from another CPU */
	deferred.flags |= IRQCHIP_MOVE_DEFERRED;
	demux->chip = &deferred;
	expect_carries(test, bridge, !IS_ENABLED(CONFIG_GENERIC_PENDING_IRQ));
	demux->chip = &demux_chip;

	/* It has no effective CPU */
	irq_data_update_effective_affinity(demux, cpu_none_mask);
	expect_carries(test, bridge, false);
	irq_data_update_effective_affinity(demux, cpumask_of(0));

	/* Nothing is behind it */
	free_irq(bridge->behind[0], bridge);
	free_irq(bridge->behind[1], bridge);
	expect_carries(test, bridge, false);
	for (unsigned int i = 0; i < BEHIND; i++)
		KUNIT_ASSERT_EQ(test, 0, request_irq(bridge->behind[i], behind_handler,
						     IRQF_NO_THREAD, "behind", bridge));
	expect_carries(test, bridge, true);
}

/* The times of others were spent at other times: a load of them has not been seen yet */
static void load_begins_with_what_is_behind(struct kunit *test)
{
	struct bridge *bridge = bridge_of(test);
	struct irq_balance_average *load = &bridge->irqs[1].state->load;

	expect_carries(test, bridge, true);
	load->seen = true;
	expect_carries(test, bridge, true);
	KUNIT_EXPECT_TRUE(test, load->seen);

	free_irq(bridge->behind[1], bridge);
	bridge->irqs[0].carrier = NULL;
	bridge->irqs[3].carrier = NULL;
	KUNIT_EXPECT_TRUE(test, irq_balance_carries(&bridge->map, &bridge->irqs[1], &bridge->sum));
	KUNIT_EXPECT_FALSE(test, load->seen);

	load->seen = true;
	KUNIT_ASSERT_EQ(test, 0, request_irq(bridge->behind[1], behind_handler, IRQF_NO_THREAD,
					     "behind", bridge));
	expect_carries(test, bridge, true);
	KUNIT_EXPECT_FALSE(test, load->seen);
}

static enum irq_balance_status demux_status(struct irq_desc *desc)
{
	guard(raw_spinlock_irqsave)(&desc->lock);
	return irq_balance_check(desc);
}

static void it_moves_as_one(struct kunit *test)
{
	struct bridge *bridge = bridge_of(test);
	struct irq_desc *desc = irq_to_desc(bridge->demux[0]);
	unsigned int cpu = cpumask_first(irq_data_get_effective_affinity_mask(&desc->irq_data));
	struct irq_chip chip = demux_chip;

	KUNIT_EXPECT_EQ(test, demux_status(desc), IRQ_BALANCE_CHAINED);
	desc->balance->carries = true;
	KUNIT_EXPECT_EQ(test, demux_status(desc), IRQ_BALANCE_MOVABLE);
	cpu = cpumask_any_but(cpu_online_mask, cpu);
	scoped_guard(raw_spinlock_irqsave, &desc->lock) {
		KUNIT_EXPECT_EQ(test, irq_balance_move(desc, cpu), 0);
		KUNIT_EXPECT_EQ(test, cpu, irq_balance_cpu(desc));
	}
	KUNIT_EXPECT_TRUE(test, cpumask_equal(irq_data_get_affinity_mask(&desc->irq_data),
					      irq_default_affinity));
	KUNIT_EXPECT_FALSE(test, irqd_affinity_was_set(&desc->irq_data));

	/* Two CPUs may be in its handler */
	KUNIT_EXPECT_EQ(test, IRQ_BALANCE_MOVABLE, demux_status(desc));
	chip.irq_get_irqchip_state = NULL;
	desc->irq_data.chip = &chip;
	KUNIT_EXPECT_EQ(test, demux_status(desc), IRQ_BALANCE_CHIP);
	desc->irq_data.chip = &demux_chip;

	/* An edge may be lost: its flow is not known */
	irqd_clear(&desc->irq_data, IRQD_LEVEL);
	KUNIT_EXPECT_EQ(test, demux_status(desc), IRQ_BALANCE_CHIP);
	irqd_set(&desc->irq_data, IRQD_LEVEL);

	/* Its domain is being removed */
	irq_set_chip_and_handler(bridge->demux[0], &demux_chip, NULL);
	KUNIT_EXPECT_TRUE(test, irq_desc_is_chained(desc));
	KUNIT_EXPECT_EQ(test, demux_status(desc), IRQ_BALANCE_UNUSED);
	expect_carries(test, bridge, false);
	desc->handle_irq = demux_handler;
}

/* They have no effective CPU, so NAPI polls would stay in a flood */
static void polls_follow_it(struct kunit *test)
{
	struct napi_struct *napi = kunit_kzalloc(test, sizeof(*napi), GFP_KERNEL);
	struct bridge *bridge = bridge_of(test);
	struct irq_desc *desc = irq_to_desc(bridge->demux[0]);
	unsigned int here, there;

	/* The rest does not link then */
	if (!IS_ENABLED(CONFIG_IRQ_LOAD_NAPI)) {
		kunit_mark_skipped(test, "needs NAPI");
		return;
	}
	KUNIT_ASSERT_NOT_NULL(test, napi);
	napi->irq = bridge->behind[0];
	expect_carries(test, bridge, true);
	desc->balance->carries = true;
	irq_balance_follow(true);
	scoped_guard(irqsave) {
		here = smp_processor_id();
		there = cpumask_any_but(cpu_online_mask, here);
		scoped_guard(raw_spinlock, &desc->lock)
			KUNIT_EXPECT_EQ(test, irq_balance_move(desc, there), 0);
		KUNIT_EXPECT_EQ(test, irq_balance_napi_cpu(napi), there);
		irq_to_desc(bridge->behind[0])->balance->carrier = 0;
		KUNIT_EXPECT_EQ(test, irq_balance_napi_cpu(napi), here);
	}
	irq_balance_follow(irq_balance_get_mode() == IRQ_BALANCE_ON);
}

static void bridge_raise(struct bridge *bridge)
{
	guard(irqsave)();
	generic_handle_irq(bridge->demux[0]);
}

static void load_is_the_sum(struct kunit *test)
{
	struct bridge *bridge = bridge_of(test);
	struct irq_load_line *line;
	unsigned int here;
	u64 time = 0;

	irq_load_get();
	for (unsigned int i = 0; i < 200; i++)
		bridge_raise(bridge);
	KUNIT_EXPECT_EQ(test, bridge->handled, 200 * BEHIND);
	expect_carries(test, bridge, true);
	for (unsigned int i = 0; i < BEHIND; i++) {
		struct irq_desc *desc = irq_to_desc(bridge->behind[i]);
		struct irq_load load;

		scoped_guard(raw_spinlock_irqsave, &desc->lock)
			irq_load_peek(desc, &load);
		/* The time of measuring itself is taken off */
		KUNIT_EXPECT_GE(test, load.time_ns, 180 * BEHIND_US * NSEC_PER_USEC);
		time += load.time_ns;
	}
	KUNIT_EXPECT_LE(test, bridge->sum.time_ns, time);
	KUNIT_EXPECT_GE(test, bridge->sum.time_ns, time / 10 * 9);
	KUNIT_EXPECT_LT(test, bridge->sum.cpu, nr_cpu_ids);
	KUNIT_EXPECT_EQ(test, bridge->sum.soft_ns, 0);

	/* With their softirqs. One that has been silent since a move was elsewhere. */
	here = cpumask_first(irq_get_effective_affinity_mask(bridge->demux[0]));
	for (unsigned int i = 0; i < BEHIND; i++) {
		line = irq_to_desc(bridge->behind[i])->load;
		KUNIT_ASSERT_NOT_NULL(test, line);
		atomic64_add(NSEC_PER_SEC, &line->soft);
		line->seen.cpu = i ? cpumask_any_but(cpu_online_mask, here) : here;
	}
	expect_carries(test, bridge, true);
	KUNIT_EXPECT_EQ(test, bridge->sum.soft_ns, BEHIND * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, bridge->sum.cpu, here);
	irq_load_put();
}

static struct kunit_case irq_balance_chained_cases[] = {
	KUNIT_CASE(any_doubt_keeps_it),
	KUNIT_CASE(load_begins_with_what_is_behind),
	KUNIT_CASE(it_moves_as_one),
	KUNIT_CASE(polls_follow_it),
	KUNIT_CASE(load_is_the_sum),
	{}
};

static struct kunit_suite irq_balance_chained_suite = {
	.name		= "irq_balance_chained",
	.suite_init	= balancer_off,
	.suite_exit	= balancer_back,
	.init		= kunit_raw_init,
	.test_cases	= irq_balance_chained_cases,
};

kunit_test_suite(irq_balance_chained_suite);
