// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the workspace of a pass.
 *
 * All arrays that a pass needs are laid out in one block, which the caller
 * brings: a pass allocates nothing.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

#include "balance_work.h"

/**
 * struct irq_balance_space - workspace that is handed out
 * @base:	its start, NULL: only measured
 * @used:	bytes handed out
 */
struct irq_balance_space {
	char	*base;
	size_t	used;
};

/* An array out of the workspace, aligned for anything in it. */
static void *irq_balance_carve(struct irq_balance_space *space, size_t nr,
			       size_t size)
{
	size_t at = space->used;

	space->used += (nr * size + sizeof(u64) - 1) & ~(sizeof(u64) - 1);
	return space->base ? space->base + at : NULL;
}

/* Lays the workspace out; measures it when @base is NULL. */
static size_t irq_balance_layout(void *base, struct irq_balance_work *work,
				 size_t nr_irqs, size_t nr_cpus)
{
	struct irq_balance_space space = { .base = base };
	struct irq_balance_solver *s = &work->solver;
	struct irq_balance_machine *mach = &s->mach;
	struct irq_balance_search *srch = &s->search;
	size_t small = min_t(size_t, nr_irqs, IRQ_BALANCE_SMALL_ITEMS);
	/* Each interrupt may have a mask of its own, with and without node. */
	size_t classes = 2 * nr_irqs + 1, level;
	size_t costs = small * min_t(size_t, nr_cpus, IRQ_BALANCE_SMALL_CPUS);

	/* The structure itself comes first. */
	irq_balance_carve(&space, 1, sizeof(*work));
	mach->cpu = irq_balance_carve(&space, nr_cpus, sizeof(*mach->cpu));
	mach->pos = irq_balance_carve(&space, nr_cpus, sizeof(*mach->pos));
	mach->scale = irq_balance_carve(&space, nr_cpus, sizeof(*mach->scale));
	mach->fixed = irq_balance_carve(&space, nr_cpus, sizeof(*mach->fixed));
	mach->fixed_slow = irq_balance_carve(&space, nr_cpus, sizeof(*mach->fixed_slow));
	mach->fixed_sure = irq_balance_carve(&space, nr_cpus, sizeof(*mach->fixed_sure));
	mach->load = irq_balance_carve(&space, nr_cpus, sizeof(*mach->load));
	mach->items = irq_balance_carve(&space, nr_cpus, sizeof(*mach->items));
	for (level = 0; level < IRQ_BALANCE_NR_LEVELS; level++)
		mach->level[level] = irq_balance_carve(&space, nr_cpus + 1,
						       sizeof(*mach->level[level]));
	mach->longs = BITS_TO_LONGS(nr_cpus);
	mach->max_classes = classes;
	mach->classes = irq_balance_carve(&space, classes * mach->longs,
					  sizeof(*mach->classes));
	mach->class_first = irq_balance_carve(&space, classes, sizeof(*mach->class_first));
	mach->class_end = irq_balance_carve(&space, classes, sizeof(*mach->class_end));

	s->items = irq_balance_carve(&space, nr_irqs, sizeof(*s->items));
	s->order = irq_balance_carve(&space, nr_irqs, sizeof(*s->order));
	s->next = irq_balance_carve(&space, max_t(size_t, nr_irqs, 64), sizeof(*s->next));
	s->head = irq_balance_carve(&space, nr_cpus, sizeof(*s->head));
	s->root = irq_balance_carve(&space, nr_cpus, sizeof(*s->root));
	s->tail = irq_balance_carve(&space, nr_cpus, sizeof(*s->tail));
	s->parts = irq_balance_carve(&space, nr_cpus, sizeof(*s->parts));

	srch->cost = irq_balance_carve(&space, costs, sizeof(*srch->cost));
	srch->mask = irq_balance_carve(&space, small, sizeof(*srch->mask));
	srch->item = irq_balance_carve(&space, small, sizeof(*srch->item));
	srch->home = irq_balance_carve(&space, small, sizeof(*srch->home));
	srch->cur = irq_balance_carve(&space, small, sizeof(*srch->cur));
	srch->best = irq_balance_carve(&space, small, sizeof(*srch->best));
	srch->pick = irq_balance_carve(&space, small, sizeof(*srch->pick));
	srch->bound = irq_balance_carve(&space, small, sizeof(*srch->bound));
	srch->pos = irq_balance_carve(&space, IRQ_BALANCE_SMALL_CPUS, sizeof(*srch->pos));
	srch->fixed = irq_balance_carve(&space, IRQ_BALANCE_SMALL_CPUS, sizeof(*srch->fixed));
	srch->load = irq_balance_carve(&space, IRQ_BALANCE_SMALL_CPUS, sizeof(*srch->load));
	srch->count = irq_balance_carve(&space, IRQ_BALANCE_SMALL_CPUS, sizeof(*srch->count));

	work->touch = irq_balance_carve(&space, nr_cpus, sizeof(*work->touch));
	work->before = irq_balance_carve(&space, nr_cpus, sizeof(*work->before));
	work->slow_before = irq_balance_carve(&space, nr_cpus, sizeof(*work->slow_before));
	work->slow_after = irq_balance_carve(&space, nr_cpus, sizeof(*work->slow_after));
	work->sure_before = irq_balance_carve(&space, nr_cpus, sizeof(*work->sure_before));
	work->sure_after = irq_balance_carve(&space, nr_cpus, sizeof(*work->sure_after));
	work->heavy = irq_balance_carve(&space, nr_cpus, sizeof(*work->heavy));
	work->full = irq_balance_carve(&space, nr_cpus, sizeof(*work->full));
	work->small = irq_balance_carve(&space, nr_cpus, sizeof(*work->small));
	work->source = irq_balance_carve(&space, classes, sizeof(*work->source));
	work->within = irq_balance_carve(&space, classes, sizeof(*work->within));
	work->node = irq_balance_carve(&space, nr_cpus, sizeof(*work->node));
	work->spilled = irq_balance_carve(&space, nr_cpus, sizeof(*work->spilled));
	work->holds = irq_balance_carve(&space, nr_cpus, sizeof(*work->holds));
	work->away = irq_balance_carve(&space, nr_cpus, sizeof(*work->away));
	work->index = irq_balance_carve(&space, nr_cpus, sizeof(*work->index));
	return space.used;
}

/**
 * irq_balance_work_size - how much workspace a machine needs
 * @nr_irqs:	most interrupts that a pass may be handed
 * @nr_cpus:	CPUs, at least 1
 *
 * Context: any.
 * Return: bytes.
 */
size_t irq_balance_work_size(unsigned int nr_irqs, unsigned int nr_cpus)
{
	struct irq_balance_work work;

	return irq_balance_layout(NULL, &work, nr_irqs, nr_cpus);
}

/**
 * irq_balance_set_work - give it another workspace
 * @bal:	the balancer
 * @mem:	workspace of irq_balance_work_size() bytes, aligned to 8
 * @nr_irqs:	as given to irq_balance_work_size()
 * @nr_cpus:	as given to irq_balance_work_size()
 *
 * Context: any; not during a pass.
 */
void irq_balance_set_work(struct irq_balance *bal, void *mem,
			  unsigned int nr_irqs, unsigned int nr_cpus)
{
	struct irq_balance_work *work = mem;
	unsigned int i;

	memset(work, 0, sizeof(*work));
	irq_balance_layout(mem, work, nr_irqs, nr_cpus);
	work->max_irqs = nr_irqs;
	work->solver.mach.nr_cpus = nr_cpus;
	for (i = 0; i < nr_cpus; i++)
		work->solver.mach.cpu[i] = i;
	bal->work = work;
}

/**
 * irq_balance_init - start from nothing
 * @bal:	the balancer, zeroed before its first use
 * @mem:	workspace of irq_balance_work_size() bytes, aligned to 8
 * @nr_irqs:	as given to irq_balance_work_size()
 * @nr_cpus:	as given to irq_balance_work_size()
 *
 * Whatever was remembered of interrupts before is void from now on; the
 * state in the array of CPUs is the caller's to clear.
 *
 * Context: any; not during a pass.
 */
void irq_balance_init(struct irq_balance *bal, void *mem,
		      unsigned int nr_irqs, unsigned int nr_cpus)
{
	u32 generation = bal->generation + 1;

	memset(bal, 0, sizeof(*bal));
	bal->generation = generation ? generation : 1;
	bal->next = IRQ_BALANCE_NO_TIMER;
	irq_balance_set_work(bal, mem, nr_irqs, nr_cpus);
}
