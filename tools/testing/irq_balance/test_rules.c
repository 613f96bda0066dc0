// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the rules for moves: why an interrupt stays, how long it rests after a move, what
 * happens after moves that fail or gain nothing, what is only proposed, and what programs may plan.
 */
#include <errno.h>

#include "program.h"
#include "test.h"

/* The reason that balance_status shows for an interrupt that stays. */
static void test_why(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 2);
	for (i = 0; i < 5; i++)
		world_irq(&w, 0, 100000000);
	w.movable[2] = false;
	w.load[3] = 1000000;
	world_pass(&w);
	EXPECT_EQ(world_run(&w, 500), 2);
	for (i = 0; i < 5; i++)
		EXPECT(w.state[i].moved || w.state[i].why == (i == 2 ? IRQ_BALANCE_WHY_FIXED :
							      i == 3 ? IRQ_BALANCE_WHY_LIGHT :
								       IRQ_BALANCE_WHY_BEST));
	for (i = 0; i < 5 && !w.state[i].moved; i++)
		;
	EXPECT_EQ(w.state[i].why, IRQ_BALANCE_WHY_RESTING);
	EXPECT_EQ(w.state[i].reason, IRQ_BALANCE_WHY_IMBALANCE);
	world_run(&w, 2000);
	EXPECT_EQ(w.state[i].why, IRQ_BALANCE_WHY_BEST);
	w.cpus[0].full_until = ~0ULL;
	w.cpus[1].full_until = ~0ULL;
	world_run(&w, 2500);
	EXPECT_EQ(w.state[i].why, IRQ_BALANCE_WHY_FULL);
	finish(&w);
	/* A gain that noise could fake, and one that is too small. */
	world_init(&w, 2);
	for (i = 0; i < 10; i++)
		world_irq(&w, i < 6 ? 0 : 1, 100000000);
	world_pass(&w);
	world_run(&w, 300);
	for (i = 0; i < 10 && w.state[i].why != IRQ_BALANCE_WHY_NOISE; i++)
		;
	EXPECT(i < 10);
	finish(&w);
	/* 15 of 600 */
	world_init(&w, 2);
	world_irq(&w, 0, 300000000);
	world_irq(&w, 0, 300000000);
	w.base[1] = 285000000;
	world_pass(&w);
	EXPECT_EQ(world_run(&w, 60000), 0);
	EXPECT(w.state[0].why == IRQ_BALANCE_WHY_GAIN || w.state[1].why == IRQ_BALANCE_WHY_GAIN);
	finish(&w);
	/* One allowed CPU on its node, and one on another. */
	world_init(&w, 2);
	w.cpus[0].node = 0;
	w.cpus[1].node = 1;
	world_irq(&w, 0, 100000000);
	world_irq(&w, 0, 100000000);
	w.irqs[0].node = 0;
	w.irqs[1].node = 0;
	world_pass(&w);
	EXPECT_EQ(world_run(&w, 3000), 0);
	EXPECT_EQ(w.state[0].why, IRQ_BALANCE_WHY_NODE);
	finish(&w);
	/* All CPUs of its mask are on its node: that does not hold it. */
	world_init(&w, 4);
	for (i = 0; i < 4; i++)
		w.cpus[i].node = i >= 2;
	world_irq(&w, 2, 100000000);
	w.irqs[0].node = 1;
	w.mask[0][0] = 12;
	world_pass(&w);
	EXPECT_EQ(world_run(&w, 3000), 0);
	EXPECT_EQ(w.state[0].why, IRQ_BALANCE_WHY_BEST);
	w.cpus[3].full_until = ~0ULL;
	world_run(&w, 2500);
	EXPECT_EQ(w.state[0].why, IRQ_BALANCE_WHY_FULL);
	finish(&w);
	report("the status says why an interrupt stays");
}

/* Why those stay that a plan has looked at */
static void test_why_plan(void)
{
	struct world w;
	unsigned int i;

	/* One that stays is where it is best, once a plan has moved another one of its CPU */
	world_init(&w, 5);
	for (i = 0; i < 5; i++)
		w.cpus[i].package = i;
	world_irq(&w, 0, 300 * MSEC);
	only(&w, 0, 0, 1);
	world_irq(&w, 0, 260 * MSEC);
	only(&w, 1, 0, 2);
	w.base[1] = 240 * MSEC;
	/* A giant, and a worst CPU that has enough: CPU 0 is not looked at again */
	world_irq(&w, 3, 500 * MSEC);
	world_irq(&w, 4, 40 * MSEC);
	only(&w, 2, 3, 3);
	only(&w, 3, 4, 4);
	w.base[4] = 270 * MSEC;
	ask(&w);
	EXPECT_EQ(w.irqs[1].cpu, 2);
	EXPECT_EQ(w.state[0].why, IRQ_BALANCE_WHY_BEST);
	finish(&w);
	/* There is no gain that is too small for one that would be worse off elsewhere */
	world_init(&w, 3);
	world_irq(&w, 0, 300 * MSEC);
	only(&w, 0, 0, 1);
	w.base[0] = 240 * MSEC;
	w.base[1] = 400 * MSEC;
	ask(&w);
	EXPECT_EQ(w.moves, 0);
	EXPECT_EQ(w.state[0].why, IRQ_BALANCE_WHY_BEST);
	finish(&w);
	report("the status says why an interrupt stays that a plan has looked at");
}

static void test_words(void)
{
	EXPECT(!strcmp(irq_balance_why_name(IRQ_BALANCE_WHY_LOCALITY), "locality"));
	EXPECT(!strcmp(irq_balance_why_name(IRQ_BALANCE_NR_WHYS), "unknown"));
	report("words");
}

static void test_rest(void)
{
	struct world w;
	unsigned int k;

	/* Another hand puts it back each time. */
	world_init(&w, 2);
	world_irq(&w, 0, 300000000);
	world_irq(&w, 0, 300000000);
	w.movable[0] = false;
	world_pass(&w);
	for (k = 0; k < 600; k++) {
		world_run(&w, 100);
		if (w.irqs[1].cpu && !w.state[1].planned)
			w.irqs[1].cpu = 0;
	}
	/* After 0, 1, 3, 7, 15, 31 s. */
	EXPECT_EQ(w.moves, 6);
	/* It has rested. */
	w.irqs[1].cpu = 1;
	world_run(&w, 200000);
	w.irqs[1].cpu = 0;
	EXPECT_EQ(world_run(&w, 2500), 1);
	w.irqs[1].cpu = 0;
	EXPECT_EQ(world_run(&w, 2500), 1);
	finish(&w);
	report("what moves again and again rests ever longer");
}

static void test_deaf(void)
{
	unsigned int i, asked = 0;
	struct world w;

	/* Its moves never happen: asked for again, given up, not counted. */
	world_init(&w, 2);
	world_irq(&w, 0, 300000000);
	world_irq(&w, 0, 100000000);
	w.deaf[0] = true;
	w.deaf[1] = true;
	world_pass(&w);
	world_run(&w, 20000);
	EXPECT_EQ(w.moves, 0);
	EXPECT_EQ(w.state[0].moved, 0);
	EXPECT_EQ(w.state[1].moved, 0);
	/* It is asked for eight times, and ever more rarely. */
	for (i = 0; i < 400; i++) {
		w.wrong = NULL;
		world_run(&w, 50);
		asked += w.state[0].planned || w.state[1].planned;
	}
	EXPECT(asked > 0);
	EXPECT(asked <= 40);
	world_run(&w, 300000);
	for (asked = i = 0; i < 6000; i++) {
		w.wrong = NULL;
		world_run(&w, 50);
		asked += w.state[0].planned || w.state[1].planned;
	}
	EXPECT(asked > 0);
	EXPECT(asked <= 100);
	/* One listens at last. */
	w.deaf[0] = false;
	w.deaf[1] = false;
	EXPECT_EQ(world_run(&w, 130000), 1);
	finish(&w);
	report("a move counts only when it is seen");
}

/* Asked for eight times, then given up for 2, 4, ... 64 s, to the nanosecond. */
static void test_given_up(void)
{
	unsigned int round, asked;
	struct world w;
	u64 hold = 0;

	world_init(&w, 2);
	world_irq(&w, 0, 300000000);
	world_irq(&w, 0, 300000000);
	w.movable[1] = false;
	w.deaf[0] = true;
	world_pass(&w);
	for (round = 0; round < 8 && !failure; round++) {
		for (asked = 0; w.state[0].hold == hold && asked < 20;
		     asked += !!w.state[0].planned) {
			world_step(&w, 100 * MSEC);
			if (round)
				EXPECT(w.state[0].planned || w.state[0].hold != hold);
		}
		EXPECT_EQ(asked, 8);
		hold = w.state[0].hold;
		EXPECT_EQ(hold - w.now, (2000ULL << min(round, 5U)) * MSEC);
		EXPECT_EQ(w.state[0].why, IRQ_BALANCE_WHY_FAILED);
		world_step(&w, hold - w.now - 1);
		EXPECT_EQ(w.state[0].planned, IRQ_BALANCE_WHY_NONE);
	}
	/* Once the user changed its mask, or it moved, none of that counts. */
	w.irqs[0].changed = true;
	world_pass(&w);
	EXPECT_EQ(w.state[0].refused, 0);
	w.irqs[0].changed = false;
	w.deaf[0] = false;
	EXPECT_EQ(world_step(&w, 100 * MSEC), 1);
	world_step(&w, 100 * MSEC);
	EXPECT_EQ(w.state[0].refused, 0);
	finish(&w);
	/* While it is tried once more, others wait. */
	world_init(&w, 4);
	for (round = 0; round < 4; round++) {
		world_irq(&w, round / 2, 300000000);
		w.movable[round] = !(round % 2);
	}
	w.deaf[0] = true;
	world_pass(&w);
	w.state[2].hold = ~0ULL;
	for (round = 0; round < 20 && w.state[0].refused < 8; round++)
		world_step(&w, 100 * MSEC);
	w.state[2].hold = w.state[0].hold;
	w.deaf[0] = false;
	EXPECT_EQ(world_step(&w, w.state[0].hold - w.now), 1);
	EXPECT_EQ(w.irqs[2].cpu, 1);
	EXPECT_EQ(world_step(&w, 100 * MSEC), 1);
	EXPECT(w.irqs[2].cpu > 1);
	finish(&w);
	report("a move is tried eight times, then given up, each time for longer");
}

/* One that has to leave goes elsewhere if its target is refused, and rests if all are. */
static void test_refused(void)
{
	unsigned int i, target[3] = { 0 };
	struct world w;

	world_init(&w, 3);
	world_irq(&w, 0, 300000000);
	w.cpus[0].usable = false;
	w.deaf[0] = true;
	world_pass(&w);
	for (i = 0; i < 17; i++) {
		world_step(&w, 100 * MSEC);
		target[w.irqs[0].target]++;
	}
	EXPECT_EQ(target[1], 12);
	EXPECT_EQ(target[2], 4);
	EXPECT_EQ(target[0], 1);
	EXPECT_EQ(w.state[0].why, IRQ_BALANCE_WHY_FAILED);
	world_step(&w, w.state[0].hold - w.now - 1);
	EXPECT_EQ(w.irqs[0].target, 0);
	w.deaf[0] = false;
	EXPECT_EQ(world_step(&w, 1), 1);
	finish(&w);
	/* Others make way for it at first only */
	world_init(&w, 3);
	world_irq(&w, 0, 500 * MSEC);
	world_irq(&w, 1, 300 * MSEC);
	world_irq(&w, 2, 300 * MSEC);
	w.cpus[0].usable = false;
	w.deaf[0] = true;
	world_pass(&w);
	world_run(&w, 5000);
	EXPECT(w.moves <= 2);
	i = w.moves;
	for (; w.now < 300000 * MSEC; w.wrong = NULL)
		world_run(&w, 50);
	EXPECT_EQ(w.moves, i);
	finish(&w);
	report("one that has to leave is not asked to go where that is refused");
}

/* 1, 2, 4, ... 64 s, to the nanosecond; a minute after that a second again. */
static void test_rest_times(void)
{
	unsigned int round;
	struct world w;
	u64 hold = 0;

	world_init(&w, 2);
	w.now = 1000000 * MSEC;
	world_irq(&w, 0, 300000000);
	world_irq(&w, 0, 300000000);
	w.movable[0] = false;
	world_pass(&w);
	world_step(&w, 200 * MSEC);
	for (round = 0; round < 10 && !failure; round++) {
		EXPECT_EQ(w.irqs[1].cpu, 1);
		if (round < 8)
			world_step(&w, 100 * MSEC);
		else
			world_step(&w, hold + 60000 * MSEC - w.now - (round == 8));
		EXPECT_EQ(w.state[1].moved, w.now);
		hold = w.state[1].hold;
		EXPECT_EQ(hold - w.now, (1000ULL << (round == 9 ? 0 : min(round, 6U))) * MSEC);
		EXPECT_EQ(w.state[1].why, IRQ_BALANCE_WHY_RESTING);
		w.irqs[1].cpu = 0;
		EXPECT_EQ(world_step(&w, hold - w.now - 1), 0);
		EXPECT_EQ(world_step(&w, 1), 1);
	}
	finish(&w);
	report("what moves again and again rests for 1, 2, 4, ... 64 s");
}

/* A rest that is void does not make the next rest longer, also just after boot. */
static void test_void_rest(void)
{
	unsigned int i;
	struct world w;

	world_init(&w, 2);
	world_irq(&w, 0, 300000000);
	world_irq(&w, 0, 300000000);
	w.movable[0] = false;
	world_pass(&w);
	EXPECT_EQ(world_step(&w, 200 * MSEC), 1);
	EXPECT_EQ(world_step(&w, 100 * MSEC), 0);
	w.irqs[1].cpu = 0;
	w.irqs[1].changed = true;
	EXPECT_EQ(world_step(&w, 100 * MSEC), 1);
	w.irqs[1].changed = false;
	EXPECT_EQ(world_step(&w, 100 * MSEC), 0);
	EXPECT_EQ(w.state[1].moved, w.now);
	EXPECT_EQ(w.state[1].hold - w.now, 1000 * MSEC);
	/* A new load does not wait for the rests of the old one. */
	for (i = 0; i < 4; i++) {
		w.irqs[1].cpu = 0;
		EXPECT_EQ(world_step(&w, w.state[1].hold - w.now), 1);
		world_step(&w, 100 * MSEC);
		EXPECT_EQ(w.state[1].hold - w.now, (2000ULL << i) * MSEC);
	}
	w.load[1] = 500000000;
	for (i = 0; i < 10; i++)
		world_step(&w, 100 * MSEC);
	w.irqs[1].cpu = 0;
	EXPECT_EQ(world_step(&w, w.state[1].hold - w.now), 1);
	world_step(&w, 100 * MSEC);
	EXPECT_EQ(w.state[1].hold - w.now, 2000 * MSEC);
	finish(&w);
	report("a new mask or load begins with a short rest");
}

static void test_hold(void)
{
	struct world w;
	unsigned int i;

	/* An interrupt with another mask may be moved at once. */
	world_init(&w, 3);
	for (i = 0; i < 2; i++) {
		world_irq(&w, 0, 300000000);
		w.deaf[i] = true;
	}
	w.movable[1] = false;
	world_pass(&w);
	while (w.state[0].hold < w.now + 10000 * MSEC && w.now < 300000 * MSEC) {
		w.wrong = NULL;
		world_run(&w, 200);
	}
	EXPECT_EQ(w.state[0].why, IRQ_BALANCE_WHY_FAILED);
	w.deaf[0] = false;
	w.deaf[1] = false;
	w.wrong = NULL;
	EXPECT_EQ(world_run(&w, 2500), 0);
	/* ... but not one beside it. */
	w.irqs[1].changed = true;
	EXPECT_EQ(world_step(&w, 400 * MSEC), 0);
	w.irqs[0].changed = true;
	EXPECT_EQ(world_step(&w, 400 * MSEC) + world_step(&w, 50 * MSEC), 1);
	EXPECT_EQ(w.state[0].refused + w.state[1].refused, 0);
	/* The user may ask for a move while it rests. */
	for (i = 0; i < 2; i++)
		w.irqs[i].cpu = 0;
	EXPECT_EQ(world_step(&w, 300 * MSEC), 0);
	w.bal.asked = true;
	EXPECT_EQ(world_step(&w, 300 * MSEC) + world_step(&w, 50 * MSEC), 1);
	EXPECT(!w.bal.asked);
	/* So may all when the CPUs change. */
	for (i = 0; i < 2; i++)
		w.irqs[i].cpu = 0;
	EXPECT_EQ(world_step(&w, 300 * MSEC), 0);
	w.bal.changed = true;
	EXPECT_EQ(world_step(&w, 300 * MSEC) + world_step(&w, 50 * MSEC), 1);
	EXPECT(!w.bal.changed);
	finish(&w);
	/* One that is silent refuses nothing. */
	world_init(&w, 3);
	for (i = 0; i < 2; i++) {
		world_irq(&w, 0, 200000000);
		w.movable[i] = false;
		w.deaf[i] = true;
	}
	world_pass(&w);
	world_run(&w, 30000);
	for (i = 0; i < 2; i++) {
		w.movable[i] = true;
		w.load[i] = 0;
	}
	for (i = 0; i < 4; i++) {
		w.now += 20 * MSEC;
		world_pass(&w);
	}
	EXPECT(w.state[0].planned || w.state[1].planned);
	EXPECT_EQ(w.state[0].refused + w.state[1].refused, 0);
	finish(&w);
	report("what could not be moved is left alone, until something changes");
}

static void test_observe(void)
{
	unsigned int i, shown = 0, passes = 0;
	struct world w;
	u64 last = 0;

	world_init(&w, 4);
	for (i = 0; i < 4; i++) {
		world_irq(&w, 0, 200000000);
		w.deaf[i] = true;
	}
	w.bal.observe = true;
	world_pass(&w);
	world_run(&w, 1000);
	for (i = 0; i < 6000; i++) {
		w.wrong = NULL;
		world_run(&w, 10);
		shown += w.state[0].planned + w.state[1].planned +
			 w.state[2].planned + w.state[3].planned ==
			 3 * IRQ_BALANCE_WHY_IMBALANCE;
		passes += w.bal.last != last;
		last = w.bal.last;
	}
	EXPECT_EQ(shown, 6000);
	EXPECT(passes <= 301);
	/* The proposal ends with its gain: 16 of 416 are too little. */
	for (i = 0; i < 4; i++)
		w.load[i] = i ? 0 : 400000000;
	w.load[1] = 16000000;
	w.wrong = NULL;
	world_run(&w, 10000);
	EXPECT(w.state[1].heavy);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(w.state[i].planned, IRQ_BALANCE_WHY_NONE);
	EXPECT_EQ(w.moves, 0);
	finish(&w);
	report("observe proposes what it would do, as long as it would");
}

static bool go;
static int answers[10];

/* Four CPUs, four interrupts on CPU 0; the second may not be moved */
static void propose(struct irq_balance *bal, u64 now)
{
	struct irq_balance_ctx ctx;

	irq_balance_ctx_init(&ctx, bal, now);
	if (!go)
		return;
	go = false;
	answers[0] = irq_balance_propose(&ctx, 99, 1, IRQ_BALANCE_WHY_PROGRAM);
	answers[1] = irq_balance_propose(&ctx, 17, 1, IRQ_BALANCE_WHY_PROGRAM);
	answers[2] = irq_balance_propose(&ctx, 16, 0, IRQ_BALANCE_WHY_PROGRAM);
	answers[3] = irq_balance_propose(&ctx, 16, 4, IRQ_BALANCE_WHY_PROGRAM);
	answers[4] = irq_balance_propose(&ctx, 16, 3, IRQ_BALANCE_WHY_PROGRAM);
	answers[5] = irq_balance_propose(&ctx, 16, 2, IRQ_BALANCE_WHY_PROGRAM);
	answers[6] = irq_balance_propose(&ctx, 16, 1, IRQ_BALANCE_WHY_AFFINITY);
	answers[7] = irq_balance_propose(&ctx, 18, 1, IRQ_BALANCE_WHY_PROGRAM);
	answers[8] = irq_balance_propose(&ctx, 16, 1, IRQ_BALANCE_WHY_IMBALANCE);
	answers[9] = irq_balance_propose(&ctx, 16, 1, IRQ_BALANCE_WHY_PROGRAM);
	EXPECT_EQ(ctx.proposals, 10);
	EXPECT_EQ(ctx.refused, 9);
}

static void test_program(void)
{
	static const int expected[] = { -ENOENT, -EPERM, -EALREADY, -EACCES, -EACCES, -ENOSPC,
					-EINVAL, -EBUSY, 0, -EALREADY };
	const struct irq_balance_program program = { "test", propose };
	struct world w;
	unsigned int i;

	world_init(&w, 4);
	for (i = 0; i < 4; i++)
		world_irq(&w, 0, 100000000);
	w.movable[1] = false;
	w.cpus[3].usable = false;
	w.cpus[2].full_until = ~0ULL;
	w.bal.program = &program;
	world_pass(&w);
	EXPECT_EQ(world_run(&w, 3000), 0);
	w.state[2].hold = ~0ULL;
	go = true;
	world_run(&w, 300);
	for (i = 0; i < ARRAY_SIZE(expected); i++)
		EXPECT_EQ(answers[i], expected[i]);
	EXPECT_EQ(w.moves, 1);
	EXPECT_EQ(w.irqs[0].cpu, 1);
	EXPECT_EQ(w.state[3].why, IRQ_BALANCE_WHY_PROGRAM);
	/* The planner does nothing as long as all may stay where they are, ... */
	EXPECT_EQ(world_run(&w, 5000), 0);
	/* ... places what may not, ... */
	__clear_bit(1, w.mask[0]);
	EXPECT_EQ(world_run(&w, 300), 1);
	EXPECT_EQ(w.state[0].reason, IRQ_BALANCE_WHY_AFFINITY);
	/* A program's moves make no rest longer */
	EXPECT_EQ(w.state[0].hold - w.state[0].moved, 1000 * MSEC);
	/* ... and goes on after the program. */
	w.bal.program = NULL;
	w.cpus[2].full_until = 0;
	w.state[2].hold = 0;
	EXPECT(world_run(&w, 5000) >= 1);
	finish(&w);
	report("a program plans, inside the rules");
}

/* Proposes to move each of 70 interrupts, and ones that the pass does not have, to CPU 1 */
static void propose_many(struct irq_balance *bal, u64 now)
{
	struct irq_balance_ctx ctx;
	unsigned int i;

	irq_balance_ctx_init(&ctx, bal, now);
	EXPECT(bpf_irq_balance_irq(&ctx, 69)->irq == 85 && !bpf_irq_balance_irq(&ctx, 70));
	EXPECT(bpf_irq_balance_cpu(&ctx, 1) && !bpf_irq_balance_cpu(&ctx, 2));
	for (i = 0; i < 4100; i++)
		EXPECT_EQ(irq_balance_propose(&ctx, 16 + i, 1, IRQ_BALANCE_WHY_IMBALANCE + i % 3),
			  i < 63 ? 0 : i == 68 ? -EALREADY : i == 69 ? -EPERM :
			  i < 70 || i >= 4096 ? -E2BIG : -ENOENT);
	EXPECT_EQ(ctx.proposals, 4096);
	EXPECT_EQ(ctx.refused, 4096 - 63);
}

static void test_program_limits(void)
{
	const struct irq_balance_program program = { "test", propose_many };
	struct world w;

	world_init(&w, 2);
	while (w.nr_irqs < 70)
		world_irq(&w, 0, 25000000);
	/* Another one behind the last */
	w.irqs[70].irq = 86;
	world_step(&w, 100 * MSEC);
	/* One that has just rested, one that the planner has to move, and one without a CPU */
	w.state[0].hold = w.now + 200 * MSEC;
	__clear_bit(0, w.mask[68]);
	w.irqs[69].cpu = 2;
	/* CPU 1 has room again, from now on */
	w.cpus[1].full_until = w.now + 200 * MSEC;
	w.bal.program = &program;
	EXPECT_EQ(world_step(&w, 200 * MSEC), 64);
	EXPECT_EQ(w.irqs[0].gain, 0);
	EXPECT(w.irqs[68].gain > 0);
	finish(&w);
	report("a program gets so far, and no further");
}

/* Base load that goes where the interrupt goes: one move teaches that, and a step forgets it */
static void test_vain(void)
{
	unsigned int i, moves = 0, seen = 0;
	struct world w;

	world_init(&w, 4);
	world_irq(&w, 0, 200000000);
	world_pass(&w);
	for (i = 0; i < 36000; i++) {
		memset(w.base, 0, sizeof(w.base));
		w.base[w.irqs[0].cpu] = 100000000;
		moves += world_run(&w, 50);
		w.wrong = NULL;
		seen += w.state[0].why == IRQ_BALANCE_WHY_VAIN;
		if (i == 30000)
			EXPECT_EQ(moves, 1);
		if (i == 30000)
			w.load[0] = 500000000;
	}
	EXPECT(moves <= 2);
	EXPECT(seen > 30000);
	EXPECT(w.state[0].follows > 90000000);
	EXPECT(w.bal.vain >= 1);
	finish(&w);
	/* Base load that does not come along is what it fled from. */
	world_init(&w, 3);
	world_irq(&w, 0, 200000000);
	w.base[0] = 100000000;
	settle(&w);
	world_run(&w, 1000);
	EXPECT_EQ(w.moves, 1);
	EXPECT_EQ(w.state[0].follows, 0);
	w.base[w.irqs[0].cpu] = 100000000;
	world_run(&w, 120000);
	EXPECT_EQ(w.moves, 2);
	EXPECT_EQ(w.bal.vain, 0);
	finish(&w);
	/* That base load follows one is counted from half of what is heavy: 10 ms/s. */
	for (i = 8; i <= 12; i += 4) {
		world_init(&w, 3);
		world_irq(&w, 0, 200 * MSEC);
		w.base[0] = 100 * MSEC;
		settle(&w);
		world_run(&w, 1000);
		EXPECT_EQ(w.moves, 1);
		w.base[0] = (100 - i) * MSEC;
		w.base[w.irqs[0].cpu] = i * MSEC;
		world_run(&w, 200000);
		EXPECT_EQ(w.bal.vain, i > 10);
		/* After a step that is void, and another move has to show it */
		EXPECT(w.state[0].follows > 0);
		w.load[0] = 500 * MSEC;
		world_run(&w, 1000);
		EXPECT_EQ(w.state[0].load.mean, 500 * MSEC);
		EXPECT_EQ(w.state[0].follows, 0);
		world_run(&w, 20000);
		EXPECT_EQ(w.state[0].follows, 0);
		finish(&w);
	}
	/* Load that comes and goes more than a minute later does so by chance */
	world_init(&w, 3);
	world_irq(&w, 0, 200 * MSEC);
	w.base[0] = 100 * MSEC;
	settle(&w);
	EXPECT_EQ(w.moves, 1);
	world_run(&w, 60000);
	w.base[0] = 0;
	w.base[w.irqs[0].cpu] = 100 * MSEC;
	world_run(&w, 1000);
	EXPECT_EQ(w.state[0].follows, 0);
	finish(&w);
	/* Load that was there before it came does not count */
	world_init(&w, 3);
	world_irq(&w, 0, 200 * MSEC);
	w.base[0] = 150 * MSEC;
	w.base[1] = 50 * MSEC;
	w.base[2] = 50 * MSEC;
	settle(&w);
	EXPECT_EQ(w.moves, 1);
	w.base[0] = 80 * MSEC;
	world_run(&w, 60000);
	EXPECT_EQ(w.state[0].follows, 0);
	finish(&w);
	/* Where another hand put it, also if that is where it was, nothing follows. */
	world_init(&w, 3);
	world_irq(&w, 0, 200 * MSEC);
	w.base[0] = 100 * MSEC;
	settle(&w);
	EXPECT_EQ(w.moves, 1);
	i = w.irqs[0].cpu;
	w.irqs[0].cpu = 3 - i;
	world_run(&w, 3000);
	w.irqs[0].cpu = i;
	w.base[0] = 0;
	w.base[i] = 100 * MSEC;
	world_run(&w, 3000);
	EXPECT_EQ(w.irqs[0].cpu, i);
	EXPECT_EQ(w.state[0].follows, 0);
	finish(&w);
	report("what gained nothing is not tried again");
}

/* The gain of a move with which 100 ms/s of base load are known to go, of which @base are there */
static u64 gain_with(u64 base, unsigned int capacity)
{
	struct world w;
	u64 gain;

	world_init(&w, 2);
	w.cpus[0].capacity = capacity;
	w.cpus[1].capacity = capacity;
	w.base[0] = base;
	world_irq(&w, 0, 200 * MSEC * capacity / 1024);
	world_irq(&w, 0, 190 * MSEC * capacity / 1024);
	w.movable[1] = false;
	world_step(&w, 100 * MSEC);
	w.state[0].follows = 100 * MSEC;
	/* The gain that the machine of the tests computes is without load that follows */
	w.bal.vain = 1;
	w.bal.asked = true;
	EXPECT_EQ(world_step(&w, 200 * MSEC), 1);
	gain = w.irqs[0].gain;
	finish(&w);
	return gain;
}

/*
 * Moves of 200 ms/s from a CPU with 100 more, of an interrupt that @follows ms/s of base load
 * follow, and that has moved @churn times: 100 are gained, 15 are needed, and 15 for each move
 */
static unsigned int moves_after(unsigned int churn, u64 follows)
{
	unsigned int moves;
	struct world w;

	world_init(&w, 2);
	world_irq(&w, 0, 200 * MSEC);
	world_irq(&w, 0, 100 * MSEC);
	w.movable[1] = false;
	world_step(&w, 100 * MSEC);
	w.state[0].follows = follows * MSEC;
	w.state[0].churn = churn;
	w.bal.asked = true;
	moves = world_step(&w, 200 * MSEC);
	world_step(&w, 100 * MSEC);
	/* It rests for 64 s at first, then for twice as long each time */
	if (moves && follows)
		EXPECT_EQ(w.state[0].hold - w.now, 64000 * MSEC);
	finish(&w);
	return moves;
}

static void test_follows(void)
{
	EXPECT_EQ(moves_after(5, 100), 1);
	EXPECT_EQ(moves_after(6, 100), 0);
	EXPECT_EQ(moves_after(6, 12), 0);
	EXPECT_EQ(moves_after(6, 0), 1);
	EXPECT_EQ(gain_with(100 * MSEC, 1024), 190 * MSEC);
	EXPECT_EQ(gain_with(100 * MSEC, 512), 190 * MSEC);
	/* No more than there is */
	EXPECT_EQ(gain_with(0, 1024), 190 * MSEC);
	report("what follows an interrupt goes where it goes");
}

/* Base load follows one interrupt only: the first has 300 with it, the second 240, not 340 */
static void test_follows_one(void)
{
	struct world w;

	world_init(&w, 2);
	world_irq(&w, 0, 200 * MSEC);
	world_irq(&w, 0, 240 * MSEC);
	world_irq(&w, 0, 150 * MSEC);
	w.movable[2] = false;
	w.base[0] = 100 * MSEC;
	world_step(&w, 100 * MSEC);
	w.state[0].follows = 100 * MSEC;
	w.state[1].follows = 100 * MSEC;
	w.bal.vain = 1;
	w.bal.asked = true;
	EXPECT_EQ(world_step(&w, 200 * MSEC), 1);
	EXPECT_EQ(w.irqs[0].cpu, 1);
	finish(&w);
	report("base load that follows an interrupt follows no other");
}

/* Interrupts behind a demultiplexer are its load, not others beside it */
static void test_carried(void)
{
	struct world w;
	unsigned int i;

	world_init(&w, 2);
	for (i = 0; i < 3; i++) {
		world_irq(&w, 0, 300 * MSEC);
		w.movable[i] = i == 1;
		w.irqs[i].carrier = i == 1 ? NULL : &w.state[1];
	}
	world_run(&w, 10000);
	EXPECT_EQ(w.moves, 0);
	EXPECT_EQ(w.cpus[0].load, 300 * MSEC);
	finish(&w);
	report("interrupts behind a demultiplexer count once");
}

void test_rules(void)
{
	test_words();
	test_why();
	test_why_plan();
	test_rest();
	test_rest_times();
	test_void_rest();
	test_deaf();
	test_given_up();
	test_refused();
	test_hold();
	test_observe();
	test_program();
	test_program_limits();
	test_vain();
	test_follows();
	test_follows_one();
	test_carried();
}
