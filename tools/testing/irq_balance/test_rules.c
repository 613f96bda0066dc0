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
	world_run(&w, 5000);
	EXPECT_EQ(w.state[i].why, IRQ_BALANCE_WHY_BEST);
	w.cpus[0].full_until = ~0ULL;
	w.cpus[1].full_until = ~0ULL;
	w.base[1] = 300000000;
	world_run(&w, 10000);
	EXPECT_EQ(w.state[i].why, IRQ_BALANCE_WHY_FULL);
	finish(&w);
	/* A faster CPU is not woken for so little, but its vectors are not the reason */
	world_init(&w, 4);
	w.cpus[2].usable = false;
	for (i = 0; i < 3; i++) {
		w.cpus[i].full_until = ~0ULL;
		w.cpus[i].capacity = 512;
	}
	world_irq(&w, 0, 30 * MSEC);
	world_irq(&w, 0, 25 * MSEC);
	world_pass(&w);
	EXPECT_EQ(world_run(&w, 10000), 0);
	EXPECT_EQ(w.state[0].why, IRQ_BALANCE_WHY_BEST);
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

#define SECOND	(1000 * MSEC)

/* A second, a minute (64 s), an hour (4096 s) */
static u64 rest(unsigned int nth)
{
	return SECOND << 6 * min(nth, 2U);
}

/* One of 300 beside another one that has 300 and stays: it would go to CPU 1 */
static void two_on_one(struct world *w)
{
	world_init(w, 2);
	w->now = 1000 * SECOND;
	world_irq(w, 0, 300 * MSEC);
	world_irq(w, 0, 300 * MSEC);
	w->movable[0] = false;
	world_pass(w);
}

/* Another hand puts it back each time: to the nanosecond */
static void test_rest_times(void)
{
	unsigned int round;
	struct world w;
	u64 hold = 0;

	two_on_one(&w);
	EXPECT_EQ(world_step(&w, 200 * MSEC), 1);
	for (round = 0; round < 6 && !failure; round++) {
		EXPECT_EQ(w.irqs[1].cpu, 1);
		/* It counts for two minutes after its rest; later the next rest is shorter */
		if (round >= 4)
			w.state[1].hold = w.now + 100 * MSEC - 120 * SECOND + (round == 4);
		w.state[1].broken += 2 * (round == 5);
		world_step(&w, 100 * MSEC);
		EXPECT_EQ(w.state[1].moved, w.now);
		hold = w.state[1].hold;
		EXPECT_EQ(hold - w.now, rest(round < 5 ? round : 1));
		EXPECT_EQ(w.state[1].why, IRQ_BALANCE_WHY_RESTING);
		w.irqs[1].cpu = 0;
		EXPECT_EQ(world_step(&w, hold - w.now - 1), 0);
		EXPECT_EQ(world_step(&w, 1), 1);
	}
	/* Then a promise that is kept ends it all */
	world_step(&w, 100 * MSEC);
	w.state[1].soon = 0;
	world_run(&w, 5300);
	EXPECT_EQ(w.state[1].hold - w.state[1].moved, SECOND);
	finish(&w);
	report("what moves again and again rests for a second, a minute, an hour");
}

/* One moves, and so much load comes to its new CPU: how long it rests */
static u64 judged(u64 came, bool light)
{
	struct world w;
	u64 moved;

	two_on_one(&w);
	EXPECT_EQ(world_step(&w, 200 * MSEC), 1);
	if (light)
		world_irq(&w, 1, came);
	else
		w.base[1] = came;
	world_step(&w, 100 * MSEC);
	moved = w.state[1].moved;
	/* So that what came later is in the load of the last second, and no load is news */
	world_step(&w, 900 * MSEC);
	world_step(&w, 1000 * MSEC);
	EXPECT_EQ(world_step(&w, moved + 5 * SECOND - w.now - 1), 0);
	EXPECT(w.state[1].promise);
	EXPECT_EQ(w.state[1].hold - moved, SECOND);
	world_step(&w, 1);
	EXPECT(!w.state[1].promise);
	moved = w.state[1].hold - moved;
	finish(&w);
	return moved;
}

static void test_judged(void)
{
	unsigned int i;
	struct world w;

	/* From 600 to 300 is promised. Half of that, and of what is heavy, is 460. */
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(judged(i ? 0 : 1000, i), SECOND);
		EXPECT_EQ(judged(150 * MSEC, i), SECOND);
		EXPECT_EQ(judged(250 * MSEC, i), rest(1));
	}
	/* One that is kept ends that */
	two_on_one(&w);
	EXPECT_EQ(world_step(&w, 200 * MSEC), 1);
	w.state[1].broken = 2;
	world_run(&w, 5300);
	EXPECT_EQ(w.state[1].broken, 0);
	EXPECT_EQ(w.state[1].hold - w.state[1].moved, SECOND);
	finish(&w);
	report("a promise that was not kept is a minute's rest, whatever load came");
}

/* The causes of the first rests are forgotten with another load, but not with its own move */
static void test_news(void)
{
	unsigned int late;
	struct world w;

	for (late = 0; late < 2; late++) {
		two_on_one(&w);
		EXPECT_EQ(world_step(&w, 200 * MSEC), 1);
		world_step(&w, 100 * MSEC);
		w.irqs[1].cpu = 0;
		EXPECT_EQ(world_step(&w, w.state[1].hold - w.now), 1);
		world_step(&w, 100 * MSEC);
		EXPECT_EQ(w.state[1].hold - w.now, rest(1));
		if (late)
			world_run(&w, 5000);
		w.load[1] = 500 * MSEC;
		world_run(&w, 1000);
		EXPECT_EQ(w.state[1].load.mean, 500 * MSEC);
		EXPECT_EQ(w.state[1].hold > w.now, !late);
		finish(&w);
	}
	report("another load ends a rest, if it does not come with a move");
}

/* Asked for eight times, then given up for a second, a minute, an hour, to the nanosecond */
static void test_given_up(void)
{
	unsigned int round, asked;
	struct world w;
	u64 hold = 0;

	two_on_one(&w);
	w.deaf[1] = true;
	for (round = 0; round < 5 && !failure; round++) {
		for (asked = 0; w.state[1].hold == hold && asked < 20;
		     asked += !!w.state[1].planned) {
			world_step(&w, 100 * MSEC);
			if (round)
				EXPECT(w.state[1].planned || w.state[1].hold != hold);
		}
		EXPECT_EQ(asked, 8);
		hold = w.state[1].hold;
		EXPECT_EQ(hold - w.now, rest(round));
		EXPECT_EQ(w.state[1].why, IRQ_BALANCE_WHY_FAILED);
		world_step(&w, hold - w.now - 1);
		EXPECT_EQ(w.state[1].planned, IRQ_BALANCE_WHY_NONE);
		EXPECT_EQ(w.state[1].why, IRQ_BALANCE_WHY_FAILED);
	}
	EXPECT_EQ(w.moves + w.state[1].moved, 0);
	/* Once it moved none of that counts. */
	w.deaf[1] = false;
	EXPECT_EQ(world_step(&w, 100 * MSEC), 1);
	EXPECT_EQ(world_step(&w, 100 * MSEC), 0);
	EXPECT_EQ(w.irqs[1].cpu, 1);
	EXPECT(!w.state[1].failed);
	EXPECT_EQ(w.state[1].waited, 0);
	EXPECT_EQ(w.state[1].moved, w.now);
	finish(&w);
	/* One that may not stay is not asked for at each pass, either */
	world_init(&w, 2);
	world_irq(&w, 0, 300 * MSEC);
	w.cpus[0].usable = false;
	w.deaf[0] = true;
	for (asked = round = 0; round < 600; round++) {
		world_step(&w, 100 * MSEC);
		asked += w.irqs[0].target != w.irqs[0].cpu;
	}
	EXPECT_EQ(asked, 16);
	w.deaf[0] = false;
	EXPECT_EQ(world_step(&w, w.state[0].hold - w.now), 1);
	finish(&w);
	report("a move is tried eight times, then given up, each time for longer");
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
	memset(w.deaf, 0, sizeof(w.deaf));
	w.wrong = NULL;
	EXPECT_EQ(world_run(&w, 2500), 0);
	/* ... but not one beside it. */
	w.irqs[1].changed = true;
	EXPECT_EQ(world_step(&w, 400 * MSEC), 0);
	w.irqs[0].changed = true;
	EXPECT_EQ(world_step(&w, 400 * MSEC) + world_step(&w, 50 * MSEC), 1);
	EXPECT_EQ(w.state[0].waited + w.state[1].waited, 0);
	/* All may when the CPUs change. */
	for (i = 0; i < 2; i++)
		w.irqs[i].cpu = 0;
	EXPECT_EQ(world_step(&w, 300 * MSEC), 0);
	w.bal.changed = true;
	EXPECT_EQ(world_step(&w, 300 * MSEC) + world_step(&w, 50 * MSEC), 1);
	EXPECT(!w.bal.changed);
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
static int answers[9];

/* Four CPUs, four interrupts on CPU 0; the second may not be moved */
static void propose(struct irq_balance *bal, u64 now)
{
	struct irq_balance_ctx ctx;

	irq_balance_ctx_init(&ctx, bal, now);
	if (!go)
		return;
	go = false;
	answers[0] = irq_balance_propose(&ctx, 99, 1);
	answers[1] = irq_balance_propose(&ctx, 17, 1);
	answers[2] = irq_balance_propose(&ctx, 16, 0);
	answers[3] = irq_balance_propose(&ctx, 16, 4);
	answers[4] = irq_balance_propose(&ctx, 16, 3);
	answers[5] = irq_balance_propose(&ctx, 16, 2);
	answers[6] = irq_balance_propose(&ctx, 18, 1);
	answers[7] = irq_balance_propose(&ctx, 16, 1);
	answers[8] = irq_balance_propose(&ctx, 16, 1);
	EXPECT_EQ(ctx.refused, 8);
}

static void test_program(void)
{
	static const int expected[] = { -ENOENT, -EPERM, -EALREADY, -EACCES, -EACCES, -ENOSPC,
					-EBUSY, 0, -EALREADY };
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
	for (i = 0; i < 100; i++)
		EXPECT_EQ(irq_balance_propose(&ctx, 16 + i, 1),
			  i < 63 ? 0 : i == 68 ? -EALREADY : i == 69 ? -EPERM :
			  i < 70 ? -E2BIG : -ENOENT);
	EXPECT_EQ(ctx.refused, 100 - 63);
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

void test_rules(void)
{
	test_words();
	test_why();
	test_why_plan();
	test_rest_times();
	test_judged();
	test_news();
	test_given_up();
	test_hold();
	test_observe();
	test_program();
	test_program_limits();
}
