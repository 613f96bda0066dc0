// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of programs that plan to do harm, and of ones that do not: which end, and after how long.
 *
 * Each runs for ten minutes, as the kernel would run it.
 */
#include "program.h"
#include "test.h"

#define SECONDS	600

static struct irq_balance_verdict verdict;
static unsigned int ejections, passes;
static u64 over, last, barred, bar;

static struct irq_balance_irq *irq_at(struct irq_balance_ctx *ctx, unsigned int i)
{
	return bpf_irq_balance_irq(ctx, i);
}

static void pile(struct irq_balance_ctx *ctx)
{
	unsigned int i;

	for (i = 0; i < ctx->nr_irqs; i++) {
		if (irq_at(ctx, i)->state->heavy)
			irq_balance_propose(ctx, irq_at(ctx, i)->irq, 1);
	}
}

static void pile_light(struct irq_balance_ctx *ctx)
{
	unsigned int i;

	for (i = 0; i < ctx->nr_irqs; i++) {
		if (!irq_at(ctx, i)->state->heavy)
			irq_balance_propose(ctx, irq_at(ctx, i)->irq, 1);
	}
}

/* Half of them are away now and then, for a pass */
static void dodge(struct irq_balance_ctx *ctx)
{
	unsigned int i;

	if (passes % 19) {
		pile(ctx);
		return;
	}
	for (i = 0; i < ctx->nr_irqs; i += 2)
		irq_balance_propose(ctx, irq_at(ctx, i)->irq, 2);
}

/* All of them go to the next CPU, and on, so that each is piled on for a while */
static void wander(struct irq_balance_ctx *ctx)
{
	unsigned int i;

	for (i = 0; i < ctx->nr_irqs; i++)
		irq_balance_propose(ctx, irq_at(ctx, i)->irq, passes / 8 % ctx->nr_cpus);
}

/* They take turns, and are spread at all times */
static void rotate(struct irq_balance_ctx *ctx)
{
	unsigned int i;

	for (i = 0; i < ctx->nr_irqs; i++)
		irq_balance_propose(ctx, irq_at(ctx, i)->irq, (i + passes) % ctx->nr_cpus);
}

/* As many as fit stay together */
static void gather(struct irq_balance_ctx *ctx)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < ctx->nr_irqs; i++) {
		sum += irq_at(ctx, i)->load;
		irq_balance_propose(ctx, irq_at(ctx, i)->irq, sum / (750 * MSEC));
	}
}

static void (*plan)(struct irq_balance_ctx *ctx);
static void judged(struct irq_balance *bal, u64 now);
static const struct irq_balance_program program = { "test", judged };

/* As bpf.c does it */
static void judged(struct irq_balance *bal, u64 now)
{
	struct irq_balance_ctx ctx;

	if (irq_balance_overloads(bal, now, &verdict)) {
		bal->program = NULL;
		bal->changed = true;
		ejections++;
		bar = min(max(2 * bar, 2000 * MSEC), 64000 * MSEC);
		barred = now + bar;
		return;
	}
	passes++;
	irq_balance_ctx_init(&ctx, bal, now);
	plan(&ctx);
}

/* Attached anew as soon as possible, if it is @stubborn. Notes for how long a CPU is full. */
static void run(struct world *w, void (*how)(struct irq_balance_ctx *ctx), bool stubborn)
{
	u64 end;

	plan = how;
	ejections = 0;
	passes = 0;
	over = 0;
	bar = 0;
	barred = 0;
	verdict = (struct irq_balance_verdict) { };
	world_run(w, 3000);
	w->bal.program = &program;
	end = w->now + SECONDS * 1000 * MSEC;
	while (w->now < end && !w->wrong) {
		last = w->now;
		world_run(w, 100);
		if (max(world_load(w, 1), world_load(w, 2)) > 800 * MSEC)
			over += w->now - last;
		if (!w->bal.program && stubborn && w->now >= barred) {
			verdict = (struct irq_balance_verdict) { };
			w->bal.program = &program;
			w->bal.changed = true;
		}
	}
}

static void crowd(struct world *w, unsigned int nr_cpus, unsigned int nr, u64 load)
{
	world_init(w, nr_cpus);
	while (nr--)
		world_irq(w, nr % nr_cpus, load);
}

static void test_ejected(const char *name, struct world *w, void (*how)(struct irq_balance_ctx *),
			 bool stubborn, unsigned int most_s)
{
	run(w, how, stubborn);
	EXPECT(ejections >= 1);
	EXPECT(over > 1000 * MSEC);
	EXPECT(over <= most_s * 1000 * MSEC);
	printf("# %s: %u times ejected, a CPU is full for %llu.%llu of %u s\n", name, ejections,
	       over / 1000 / MSEC, over / 100 / MSEC % 10, SECONDS);
	finish(w);
	report(name);
}

static void test_stays(const char *name, struct world *w, void (*how)(struct irq_balance_ctx *))
{
	run(w, how, false);
	EXPECT_EQ(ejections, 0);
	EXPECT(passes > 100);
	finish(w);
	report(name);
}

void test_hostile(void)
{
	struct world w;

	crowd(&w, 4, 4, 235 * MSEC);
	test_ejected("a program that piles heavy interrupts is ejected", &w, pile, false, 5);

	crowd(&w, 4, 60, 16 * MSEC);
	test_ejected("... light ones", &w, pile_light, false, 5);

	crowd(&w, 4, 48, 16 * MSEC);
	world_irq(&w, 1, 200 * MSEC);
	test_ejected("... light ones beside a heavy one", &w, pile_light, false, 5);

	crowd(&w, 4, 4, 235 * MSEC);
	world_irq(&w, 0, 990 * MSEC);
	w.movable[4] = false;
	test_ejected("... beside a CPU that is fuller", &w, pile, false, 5);

	crowd(&w, 4, 4, 235 * MSEC);
	test_ejected("... and has half of them away now and then", &w, dodge, false, 5);

	crowd(&w, 4, 4, 235 * MSEC);
	test_ejected("... and goes from CPU to CPU with them", &w, wander, false, 5);

	crowd(&w, 4, 4, 235 * MSEC);
	test_ejected("... and is attached anew each time", &w, pile, true, 60);

	crowd(&w, 4, 40, 20 * MSEC);
	test_stays("a program that has interrupts take turns stays", &w, rotate);

	crowd(&w, 4, 12, 100 * MSEC);
	test_stays("a program that gathers what fits stays", &w, gather);

	/* A lone one fills its CPU, wherever it goes, and something light is on each */
	crowd(&w, 4, 4, 5 * MSEC);
	world_irq(&w, 0, 950 * MSEC);
	test_stays("a program that moves an interrupt that fills a CPU stays", &w, rotate);
}
