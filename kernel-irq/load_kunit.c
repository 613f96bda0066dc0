// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the load map: what is charged to interrupts. Those are real, the chip is not. */
#include <linux/delay.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/netdevice.h>
#include <linux/processor.h>

#include <kunit/static_stub.h>
#include <kunit/test.h>

#include "internals.h"
#include "load_span.h"
#include "kunit.h"

/* In place of functions of the load map */
#define STUB(type, name, arg, value) static type stub_##name(arg) { return value; }

STUB(u64, everything, u64 aim, 0)
STUB(u64, half, void, local_clock() / 2)
STUB(u32, quarter, void, 256)

/* An interrupt with what its actions do */
struct fake {
	int			irq;
	unsigned int		handled;
	unsigned int		hard_us;
	unsigned int		soft_us;
	unsigned int		thread_us;
	unsigned int		again;		/* so often its tasklet schedules itself */
	struct irq_desc		*desc;
	struct tasklet_struct	tasklet;
	unsigned int		pause_ms;	/* between two */
	u64			in_thread_ns;
	struct fake		*other;
	struct napi_struct	*napi;		/* and one that its poll schedules */
	void			(*in_thread)(struct fake *fake);	/* in addition */
};

static struct irq_chip fake_chip = { .name = "fake-load", .flags = IRQCHIP_SKIP_SET_WAKE };

/* Not udelay(), whose calibration may be wrong where time is emulated */
static void spin_us(unsigned int us)
{
	u64 start = local_clock();

	while (local_clock() - start < us * NSEC_PER_USEC)
		cpu_relax();
}

static irqreturn_t fake_handler(int irq, void *data)
{
	struct fake *fake = data;

	fake->handled++;
	spin_us(fake->hard_us);
	if (fake->soft_us && !fake->in_thread && !fake->napi)
		tasklet_schedule(&fake->tasklet);
	if (IS_ENABLED(CONFIG_IRQ_LOAD_NAPI) && fake->napi)
		napi_schedule(fake->napi);
	/* As one that demultiplexes */
	if (fake->other && !fake->thread_us)
		generic_handle_irq(fake->other->irq);
	return fake->thread_us ? IRQ_WAKE_THREAD : IRQ_HANDLED;
}

static irqreturn_t fake_thread(int irq, void *data)
{
	struct fake *fake = data;
	u64 start = local_clock();

	spin_us(fake->thread_us);
	if (fake->in_thread)
		fake->in_thread(fake);
	fake->in_thread_ns += local_clock() - start;
	return IRQ_HANDLED;
}

static void fake_work(struct tasklet_struct *t)
{
	struct fake *fake = container_of(t, struct fake, tasklet);

	spin_us(fake->soft_us);
	if (fake->again) {
		fake->again--;
		tasklet_schedule(t);
	}
}

static void fake_free(void *data)
{
	struct fake *fake = data;

	if (fake->desc->action)
		free_irq(fake->irq, fake);
	tasklet_kill(&fake->tasklet);
	irq_free_desc(fake->irq);
	irq_load_put();
}

static void fake_request(struct kunit *test, struct fake *fake)
{
	KUNIT_ASSERT_EQ(test, 0, request_threaded_irq(fake->irq, fake_handler, fake_thread,
						      IRQF_NO_THREAD | IRQF_SHARED, "fake", fake));
}

/* Stubs do not hold there: softirqs are sampled as they would be without a test */
static bool ksoftirqd_samples(void)
{
	return IS_ENABLED(CONFIG_PREEMPT_RT);
}

/* As an interrupt does. With PREEMPT_RT it leaves them to ksoftirqd, which was woken. */
static void run_softirqs(struct fake *fake)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT)) {
		local_bh_disable();
		local_bh_enable();
	}
	while (READ_ONCE(fake->tasklet.state) ||
	       (fake->napi && (napi_is_scheduled(fake->napi) ||
			       napi_is_scheduled(fake->napi + 1))))
		usleep_range(100, 200);
}

/* Raised @n times; what follows is waited for each time */
static void fake_raise(struct fake *fake, unsigned int n)
{
	while (n--) {
		scoped_guard(irqsave)
			generic_handle_irq(fake->irq);
		run_softirqs(fake);
		synchronize_irq(fake->irq);
		if (fake->pause_ms)
			msleep(fake->pause_ms);
	}
}

static struct fake *fake_irq(struct kunit *test)
{
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake->irq = irq_domain_alloc_descs(-1, 1, 0, NUMA_NO_NODE, NULL);
	KUNIT_ASSERT_GT(test, fake->irq, 0);
	fake->desc = irq_to_desc(fake->irq);
	KUNIT_ASSERT_NOT_NULL(test, fake->desc);
	tasklet_setup(&fake->tasklet, fake_work);
	irq_load_get();
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, fake_free, fake), 0);

	irq_set_chip_and_handler(fake->irq, &fake_chip, handle_simple_irq);
	irq_settings_clr_norequest(fake->desc);
	fake_request(test, fake);
	/* In its own context */
	kunit_activate_static_stub(test, irq_load_aim, stub_everything);
	return fake;
}

static struct irq_load fake_load(struct fake *fake)
{
	struct irq_load load;

	guard(raw_spinlock_irqsave)(&fake->desc->lock);
	irq_load_peek(fake->desc, &load);
	return load;
}

/* Charge @n interrupts */
static struct irq_load charge(struct fake *fake, unsigned int n)
{
	struct irq_load before = fake_load(fake), after;

	fake_raise(fake, n);
	after = fake_load(fake);
	after.time_ns -= before.time_ns;
	after.soft_ns -= before.soft_ns;
	after.thread_ns -= before.thread_ns;
	return after;
}

/* Samples stand for what is between them: no interrupt is left out or doubled */
static void load_counts_every_interrupt(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	struct irq_load_sampler *s = &fake->desc->load->hard.sampler;
	unsigned int wrong = 0;
	int left;

	kunit_deactivate_static_stub(test, irq_load_aim);
	for (unsigned int i = 0; i < 3000; i++) {
		left = fake->desc->load_skip;
		fake_raise(fake, 1);
		wrong += fake->desc->load_skip != (left ? left : s->gap) - 1;
	}
	KUNIT_EXPECT_EQ(test, fake->handled, 3000);
	/* The balancer's thread may find the interrupt rare if the CPU is taken away */
	KUNIT_EXPECT_LE(test, wrong, 2);
	/* That was too fast to time each of them */
	KUNIT_EXPECT_GT(test, s->stratum, 1);
}

/* A handler takes at least that long, and nothing else was there */
static void load_is_time(struct kunit *test)
{
	struct fake *fake = fake_irq(test);

	for (unsigned int us = 20; us <= 200; us *= 10) {
		u64 start = local_clock(), charged, spent;

		fake->hard_us = us;
		charged = charge(fake, 20000 / us).time_ns;
		spent = local_clock() - start;
		KUNIT_EXPECT_GE(test, charged, 19 * MS);
		KUNIT_EXPECT_LE(test, charged, spent);
		KUNIT_EXPECT_EQ(test, fake_load(fake).soft_ns, 0);
		KUNIT_EXPECT_EQ(test, fake_load(fake).thread_ns, 0);
	}
}

/* The chip of the test has no effective affinity */
static void load_knows_its_cpu(struct kunit *test)
{
	struct fake *fake = fake_irq(test);

	guard(migrate)();
	fake_raise(fake, 1);
	KUNIT_EXPECT_TRUE(test, cpumask_empty(irq_get_effective_affinity_mask(fake->irq)));
	KUNIT_EXPECT_EQ(test, fake_load(fake).cpu, smp_processor_id());
}

/* The hypervisor takes half of each handler and softirq, and the CPU is slow */
static void stolen_time_is_not_charged(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	struct irq_load whole, half, slow;

	guard(migrate)();
	fake->hard_us = 200;
	fake->soft_us = 300;
	whole = charge(fake, 100);
	kunit_activate_static_stub(test, irq_load_steal_clock, stub_half);
	half = charge(fake, 100);
	kunit_deactivate_static_stub(test, irq_load_steal_clock);
	kunit_activate_static_stub(test, irq_load_freq, stub_quarter);
	slow = charge(fake, 100);

	expect_near(test, 2 * half.time_ns, whole.time_ns, 20);
	expect_near(test, 4 * slow.time_ns, whole.time_ns, 20);
	if (ksoftirqd_samples())
		return;
	expect_near(test, 2 * half.soft_ns, whole.soft_ns, 20);
	expect_near(test, 4 * slow.soft_ns, whole.soft_ns, 20);
}

/* One handler that a hypervisor stops, or that waits: threads pay with the mean of its CPU */
static void one_long_run_changes_no_mean(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	struct irq_load_cpu *c;
	u64 before;

	kunit_deactivate_static_stub(test, irq_load_aim);
	guard(migrate)();
	c = this_cpu_ptr(&irq_load_cpu);
	fake->hard_us = 20;
	fake_raise(fake, 80000);
	before = div64_u64(c->mean_ns, c->mean_nr);
	KUNIT_ASSERT_GT(test, fake->desc->load->hard.sampler.stratum, 1);

	fake->hard_us = 10000;
	scoped_guard(raw_spinlock_irqsave, &fake->desc->lock)
		fake->desc->load_skip = 0;
	fake_raise(fake, 1);
	KUNIT_EXPECT_GE(test, fake->desc->load->hard.last, MS);
	/* It stands for 40 ms of the last seconds, with four times the mean */
	KUNIT_EXPECT_LE(test, div64_u64(c->mean_ns, c->mean_nr), before + before / 5);
}

static void softirq_is_charged_to_its_raiser(struct kunit *test)
{
	struct fake *fake = fake_irq(test), *other = fake_irq(test);

	/* A timed interrupt claims runs of its CPU only */
	guard(migrate)();
	fake->soft_us = 500;
	fake_raise(fake, 10);
	KUNIT_EXPECT_GE(test, charge(fake, 100).soft_ns, 40 * MS);
	KUNIT_EXPECT_EQ(test, fake_load(other).soft_ns, 0);
	/* Sampled ones stand for the others */
	kunit_deactivate_static_stub(test, irq_load_aim);
	expect_near(test, charge(fake, 1000).soft_ns, 500 * MS, 15);
}

/* An interrupt that claims four runs for each that there is: a sample stood for others */
static void claims_take_no_more_than_there_was(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	u64 before;

	guard(migrate)();
	fake->soft_us = 100;
	fake_raise(fake, 20);
	before = fake_load(fake).soft_ns;
	for (int i = 0; i < 400; i++) {
		scoped_guard(irqsave) {
			irq_load_claim(BIT(TASKLET_SOFTIRQ), fake->irq, 4);
			tasklet_schedule(&fake->tasklet);
		}
		run_softirqs(fake);
	}
	/* 40 ms and not 160, with what claims get before they get less: 16 times 0.4 ms */
	KUNIT_EXPECT_GE(test, fake_load(fake).soft_ns - before, 36 * MS);
	KUNIT_EXPECT_LE(test, fake_load(fake).soft_ns - before, 80 * MS);
}

/* A softirq that has become rare is timed at once, whatever it stood for when it was frequent */
static void rare_softirqs_are_timed(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	struct irq_load_vector *v;

	kunit_deactivate_static_stub(test, irq_load_aim);
	guard(migrate)();
	v = this_cpu_ptr(&irq_load_cpu.vector[TASKLET_SOFTIRQ]);
	for (int i = 0; i < 100000 && v->sampler.stratum < 64; i++) {
		tasklet_schedule(&fake->tasklet);
		run_softirqs(fake);
	}
	KUNIT_ASSERT_GE(test, v->sampler.stratum, 64);

	/* Timers of this CPU are timed meanwhile */
	for (int i = 0; i < 100 && this_cpu_read(irq_load_skip[TASKLET_SOFTIRQ]); i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, this_cpu_read(irq_load_skip[TASKLET_SOFTIRQ]), 0);
}

/* Each is the first of five as often */
static void first_raiser_is_charged(struct kunit *test)
{
	struct fake *fakes[5];
	u64 before[5], all = 0;

	guard(migrate)();
	for (int i = 0; i < 5; i++) {
		fakes[i] = fake_irq(test);
		fakes[i]->soft_us = 200;
		fake_raise(fakes[i], 10);
		before[i] = fake_load(fakes[i]).soft_ns;
	}
	for (int n = 0; n < 50; n++) {
		scoped_guard(irqsave) {
			for (int i = 0; i < 5; i++)
				generic_handle_irq(fakes[(i + n) % 5]->irq);
		}
		for (int i = 0; i < 5; i++)
			run_softirqs(fakes[i]);
	}
	for (int i = 0; i < 5; i++) {
		u64 charged = fake_load(fakes[i]).soft_ns - before[i];

		KUNIT_EXPECT_GE(test, charged, 8 * MS);
		all += charged;
	}
	expect_near(test, all, 50 * MS, 15);
}

/* As polls while the interrupt is off: its sample stood for some, and each run is one */
static void softirq_that_raises_itself_is_charged(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	u64 before;

	/* Elsewhere the tick is an interrupt, and may have raised the next run */
	if (!IS_ENABLED(CONFIG_X86))
		kunit_skip(test, "needs X86");
	guard(migrate)();
	fake->soft_us = 200;
	fake_raise(fake, 20);
	before = fake_load(fake).soft_ns;
	fake->again = 199;
	scoped_guard(irqsave) {
		irq_load_claim(BIT(TASKLET_SOFTIRQ), fake->irq, 4);
		tasklet_schedule(&fake->tasklet);
	}
	run_softirqs(fake);
	expect_near(test, fake_load(fake).soft_ns - before, 40 * MS, 15);
}

static u64 base_load(void)
{
	return atomic64_read(&this_cpu_ptr(&irq_load_cpu)->base);
}

/* No interrupt has raised it */
static void softirq_of_a_task_is_base(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	u64 before;

	guard(migrate)();
	fake->soft_us = 500;
	before = base_load();
	for (int i = 0; i < 100; i++) {
		tasklet_schedule(&fake->tasklet);
		run_softirqs(fake);
	}
	KUNIT_EXPECT_EQ(test, fake_load(fake).soft_ns, 0);
	/* 50 ms, of which others may take a part */
	if (!ksoftirqd_samples())
		KUNIT_EXPECT_GE(test, base_load() - before, 25 * MS);
}

static void thread_is_charged(struct kunit *test)
{
	struct fake *fake = fake_irq(test);

	/* 10 ms, of which others may take a part */
	fake->thread_us = 200;
	KUNIT_EXPECT_GE(test, charge(fake, 50).thread_ns, 7 * MS);
	KUNIT_EXPECT_EQ(test, fake_load(fake).soft_ns, 0);
}

static void sleep_in_thread(struct fake *fake)
{
	usleep_range(2000, 2500);
}

/* A thread that sleeps in its handler is no load then */
static void sleep_is_not_charged(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	u64 least = U64_MAX;

	fake->thread_us = 200;
	fake->in_thread = sleep_in_thread;
	/* The least of three: a busy host may take the CPU away meanwhile */
	for (int i = 0; i < 3; i++)
		least = min(least, charge(fake, 50).thread_ns);
	/* 10 ms, of which interrupts on a slow CPU may take a part */
	KUNIT_EXPECT_GE(test, least, 5 * MS);
	KUNIT_EXPECT_LT(test, least, 50 * MS);
}

static void softirq_in_thread(struct fake *fake)
{
	local_bh_disable();
	tasklet_schedule(&fake->tasklet);
	local_bh_enable();
}

/* A softirq that an interrupt thread raises belongs to its interrupt, once */
static void softirq_of_a_thread_is_charged_once(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	struct irq_load load;

	fake->thread_us = 200;
	fake->soft_us = 1200;
	fake->in_thread = softirq_in_thread;
	fake_raise(fake, 20);
	load = charge(fake, 300);
	/* 60 ms of 420. For runs that were not timed a mean of few samples is subtracted. */
	KUNIT_EXPECT_GE(test, load.thread_ns, 20 * MS);
	KUNIT_EXPECT_LE(test, load.thread_ns, 200 * MS);
	KUNIT_EXPECT_GE(test, load.soft_ns, 270 * MS);
	KUNIT_EXPECT_LE(test, load.soft_ns, 480 * MS);
}

static void interrupt_in_thread(struct fake *fake)
{
	guard(irqsave)();
	generic_handle_irq(fake->other->irq);
}

/* The handler of an interrupt raises another, as one that demultiplexes */
static void interrupt_over_a_thread_is_charged_once(struct kunit *test)
{
	struct fake *fake = fake_irq(test), *other = fake_irq(test);
	u64 charged, thread;

	/* So rare that each is timed */
	fake->pause_ms = 25;
	fake->thread_us = 1200;
	fake->in_thread = interrupt_in_thread;
	fake->other = other;
	other->other = fake_irq(test);
	other->other->hard_us = 400;
	other->hard_us = 200;
	thread = charge(fake, 30).thread_ns;
	charged = fake_load(other).time_ns;
	KUNIT_EXPECT_GE(test, charged, 16 * MS);
	KUNIT_EXPECT_GE(test, thread + charged, fake->in_thread_ns - fake->in_thread_ns / 8);
	KUNIT_EXPECT_LE(test, thread + charged, fake->in_thread_ns + fake->in_thread_ns / 8);
}

#ifdef CONFIG_IRQ_LOAD_NAPI
static struct fake_napi {
	struct napi_struct	napi[3];	/* but for the first scheduled in a poll */
	struct net_device	*dev;
	struct fake		*soft;		/* its tasklet is, too */
	struct fake		*untimed;	/* an interrupt that comes amid the last poll */
	unsigned int		polls;
} fake_napi;

static int fake_cell_poll(struct napi_struct *napi, int budget)
{
	spin_us(400);
	/* As a tunnel's that fills the backlog */
	if (napi == &fake_napi.napi[1])
		napi_schedule(&fake_napi.napi[2]);
	/* As a tunnel's that defers work */
	if (!napi->dev)
		tasklet_schedule(&fake_napi.soft->tasklet);
	napi_complete(napi);
	return 0;
}

static int fake_poll(struct napi_struct *napi, int budget)
{
	bool last = fake_napi.polls++ % 2;

	/* The first poll of each burst uses up its budget */
	spin_us(last ? 700 : 300);
	if (last && fake_napi.soft) {
		napi_schedule(&fake_napi.napi[1]);
		tasklet_schedule(&fake_napi.soft->tasklet);
	}
	if (last && fake_napi.untimed) {
		guard(irqsave)();
		fake_napi.untimed->desc->load_skip = 1000;
		generic_handle_irq(fake_napi.untimed->irq);
	}
	if (last)
		napi_complete(napi);
	return last ? 0 : budget;
}

static void fake_napi_free(void *unused)
{
	fake_napi.soft = NULL;
	fake_napi.untimed = NULL;
	for (int i = 0; i < 3; i++) {
		napi_disable(&fake_napi.napi[i]);
		netif_napi_del(&fake_napi.napi[i]);
	}
	free_netdev(fake_napi.dev);
}

/* Raises @irq, which schedules NAPI, and returns what 150 times charge to @fake */
static u64 napi_charges(struct fake *irq, struct fake *fake)
{
	u64 before = fake_load(fake).soft_ns;
	/* Samples of 150 would be too few */
	unsigned int times = ksoftirqd_samples() ? 3 : 1;

	fake_raise(irq, 150 * times);
	return div_u64(fake_load(fake).soft_ns - before, times);
}

static void napi_is_charged_to_its_interrupt(struct kunit *test)
{
	struct fake *fake = fake_irq(test), *other = fake_irq(test);
	unsigned int percent = ksoftirqd_samples() ? 50 : 25;
	u64 charged;

	fake_napi.dev = alloc_netdev_dummy(0);
	KUNIT_ASSERT_NOT_NULL(test, fake_napi.dev);
	for (int i = 0; i < 3; i++) {
		netif_napi_add(fake_napi.dev, &fake_napi.napi[i], i ? fake_cell_poll : fake_poll);
		napi_enable(&fake_napi.napi[i]);
	}
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, fake_napi_free, NULL), 0);
	fake->napi = fake_napi.napi;
	other->napi = fake_napi.napi;
	/* The next one is not to come before ksoftirqd has done with the last one */
	if (ksoftirqd_samples())
		fake->pause_ms = 5;
	other->pause_ms = fake->pause_ms;
	guard(migrate)();
	/* Learned: of 150 a few are lost */
	napi_charges(fake, fake);
	expect_near(test, napi_charges(fake, fake), 150 * MS, percent);
	KUNIT_EXPECT_EQ(test, irq_load_napi_irq(fake_napi.napi), fake->irq);
	/* If two interrupts schedule it each is charged for what it began, and it follows none */
	napi_charges(other, other);
	expect_near(test, napi_charges(other, other), 150 * MS, percent);
	KUNIT_EXPECT_EQ(test, napi_charges(other, fake), 0);
	expect_near(test, napi_charges(fake, fake), 150 * MS, percent);
	KUNIT_EXPECT_EQ(test, irq_load_napi_irq(fake_napi.napi), 0);
	/* A driver that names its interrupt is not mistaken */
	netif_napi_set_irq(fake_napi.napi, fake->irq);
	expect_near(test, napi_charges(other, fake), 150 * MS, percent);
	/* Work that an interrupt amid its polls has raised is not its own */
	fake_napi.untimed = fake_irq(test);
	fake_napi.untimed->soft_us = 600;
	expect_near(test, napi_charges(fake, fake), 150 * MS, percent);
	fake_napi.untimed = NULL;
	/* The work that a poll causes belongs to its interrupt: 150, 60, 60 and 90 ms */
	fake->soft_us = 600;
	fake_napi.soft = fake;
	expect_near(test, napi_charges(fake, fake), 360 * MS, percent / 2);
	netif_napi_set_irq(fake_napi.napi, -1);
	/* The instance goes, and the next one has only one interrupt */
	KUNIT_EXPECT_EQ(test, irq_load_napi_irq(fake_napi.napi), 0);
	napi_disable(fake_napi.napi);
	netif_napi_del(fake_napi.napi);
	netif_napi_add(fake_napi.dev, fake_napi.napi, fake_cell_poll);
	KUNIT_EXPECT_EQ(test, irq_load_napi_irq(fake_napi.napi), 0);
	napi_enable(fake_napi.napi);
	/* As the backlog it has no device: interrupts claim its runs, and what they raise, 90 ms */
	fake_napi.napi->dev = NULL;
	charged = napi_charges(fake, fake);
	fake_napi.napi->dev = fake_napi.dev;
	expect_near(test, charged, 150 * MS, percent);
}
#endif

/* Charges @ns, and whether that is a rise at @now */
static bool rises(struct irq_load_line *line, s64 ns, u64 now, u32 limit)
{
	atomic64_add(ns, &line->soft);
	return irq_load_has_risen(line, now, limit);
}

static void rising_load_is_seen(struct kunit *test)
{
	/* Sums may wrap around */
	struct irq_load_line line = { .hard.time = -MS, .window_total = -MS };
	u32 limit = 100 * MS;

	/* Less than a quantum is nothing, and one in a second not much */
	KUNIT_EXPECT_FALSE(test, rises(&line, MS + MS / 2, MS, limit));
	KUNIT_EXPECT_FALSE(test, rises(&line, MS / 2, SEC, limit));
	/* One in less than the limit; of all kinds */
	KUNIT_EXPECT_TRUE(test, rises(&line, 2 * MS, SEC + 99 * MS, limit));
	line.thread.time += MS;
	line.hard.time += MS / 2;
	KUNIT_EXPECT_FALSE(test, rises(&line, MS / 2, SEC + 200 * MS, limit));
	/* Two in twice the limit are as much */
	KUNIT_EXPECT_TRUE(test, rises(&line, 4 * MS, SEC + 390 * MS, limit));
	/* With half the limit they are not */
	limit = 50 * MS;
	KUNIT_EXPECT_FALSE(test, rises(&line, 2 * MS, SEC + 450 * MS, limit));
	KUNIT_EXPECT_TRUE(test, rises(&line, 2 * MS, SEC + 490 * MS, limit));
	/* Time that was given back is charged before anything rises */
	KUNIT_EXPECT_FALSE(test, rises(&line, -(s64)MS, SEC + 491 * MS, limit));
	KUNIT_EXPECT_FALSE(test, rises(&line, 2 * MS, SEC + 492 * MS, limit));
	/* Without a limit nothing does; the window goes on, for the next limit */
	KUNIT_EXPECT_FALSE(test, rises(&line, SEC, SEC + 493 * MS, 0));
	KUNIT_EXPECT_FALSE(test, rises(&line, 2 * MS, SEC + 593 * MS, limit));
}

/* The time of a thread stays when it goes, and the next one starts from nothing */
static void removed_action_stays_charged(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	struct irq_load before, after;

	fake->thread_us = 200;
	fake_raise(fake, 50);
	before = fake_load(fake);
	KUNIT_EXPECT_GE(test, before.thread_ns, 7 * MS);
	free_irq(fake->irq, fake);
	fake_request(test, fake);
	after = fake_load(fake);
	KUNIT_EXPECT_GE(test, after.thread_ns, before.thread_ns);
	KUNIT_EXPECT_LT(test, after.thread_ns - before.thread_ns, 5 * MS);
	KUNIT_EXPECT_GE(test, charge(fake, 50).thread_ns, 7 * MS);
}

/* All actions of a line are one load, and what one took stays when it goes */
static void shared_line_is_one_load(struct kunit *test)
{
	struct fake *fake = fake_irq(test), *second = fake_irq(test);

	second->hard_us = 300;
	fake->hard_us = 100;
	KUNIT_ASSERT_EQ(test, 0, request_irq(fake->irq, fake_handler, IRQF_NO_THREAD | IRQF_SHARED,
					     "second", second));
	KUNIT_EXPECT_GE(test, charge(fake, 50).time_ns, 18 * MS);
	free_irq(fake->irq, second);
	KUNIT_EXPECT_EQ(test, fake->handled, 50);
	KUNIT_EXPECT_EQ(test, second->handled, 50);
}

/* Nothing moves, and what went on meanwhile is not made up for */
static void load_stands_still_when_off(struct kunit *test)
{
	struct fake *fake = fake_irq(test);
	struct irq_load before;
	int users;

	guard(migrate)();
	/* Others may measure, too */
	users = static_key_count(&irq_load_key.key);
	for (int i = 0; i < users; i++)
		static_branch_dec(&irq_load_key);
	before = fake_load(fake);
	fake->thread_us = 200;
	KUNIT_EXPECT_EQ(test, charge(fake, 50).thread_ns, 0);
	KUNIT_EXPECT_EQ(test, fake->handled, 50);
	fake->thread_us = 0;
	fake->soft_us = 100;
	KUNIT_EXPECT_EQ(test, charge(fake, 300).soft_ns, 0);
	for (int i = 0; i < users; i++)
		static_branch_inc(&irq_load_key);
	KUNIT_EXPECT_LT(test, fake_load(fake).thread_ns - before.thread_ns, 5 * MS);
	/* 3 ms of 33 */
	KUNIT_EXPECT_LE(test, charge(fake, 30).soft_ns, 15 * MS);
}

static struct kunit_case irq_load_cases[] = {
	KUNIT_CASE(load_counts_every_interrupt),
	KUNIT_CASE(load_is_time),
	KUNIT_CASE(load_knows_its_cpu),
	KUNIT_CASE(stolen_time_is_not_charged),
	KUNIT_CASE(one_long_run_changes_no_mean),
	KUNIT_CASE(softirq_is_charged_to_its_raiser),
	KUNIT_CASE(claims_take_no_more_than_there_was),
	KUNIT_CASE(rare_softirqs_are_timed),
	KUNIT_CASE(first_raiser_is_charged),
	KUNIT_CASE(softirq_of_a_task_is_base),
	KUNIT_CASE(thread_is_charged),
	KUNIT_CASE(sleep_is_not_charged),
	KUNIT_CASE(softirq_of_a_thread_is_charged_once),
	KUNIT_CASE(interrupt_over_a_thread_is_charged_once),
	/* Its claims are remembered: not before those above */
	KUNIT_CASE(softirq_that_raises_itself_is_charged),
#ifdef CONFIG_IRQ_LOAD_NAPI
	KUNIT_CASE(napi_is_charged_to_its_interrupt),
#endif
	KUNIT_CASE(rising_load_is_seen),
	KUNIT_CASE(removed_action_stays_charged),
	KUNIT_CASE(shared_line_is_one_load),
	KUNIT_CASE(load_stands_still_when_off),
	{}
};

/* Claims and the distance of samples are remembered for seconds: those of other tests */
static int forget_softirqs(struct kunit *test)
{
	unsigned int cpu, nr;

	for_each_possible_cpu(cpu) {
		for (nr = 0; nr < NR_SOFTIRQS; nr++) {
			struct irq_load_vector *v = &per_cpu(irq_load_cpu, cpu).vector[nr];

			v->claim.weight = 0;
			v->unclaimed = 0;
			v->most = 0;
			irq_load_restart(&v->sampler);
			per_cpu(irq_load_skip, cpu)[nr] = 0;
		}
	}
	return kunit_raw_init(test);
}

static struct kunit_suite irq_load_suite = {
	.name		= "irq_load",
	.init		= forget_softirqs,
	.test_cases	= irq_load_cases,
};

kunit_test_suite(irq_load_suite);
