// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the kernel command line, and the lists of CPUs and bans
 *
 * The words are the same as in sysfs.
 *
 *   irqbalance=[STATE][,SETTING=VALUE]...[,cpus=LIST]
 *   irqbalance_ban=INTERRUPT[,INTERRUPT]...
 *
 * A CPU list has commas of its own, so cpus= takes what is left of the
 * parameter. A mistake has the parameter ignored as a whole, with one line in
 * the log.
 *
 * The CPUs and the bans are read by passes and by the files of single
 * interrupts, which must not wait for a pass: they are under RCU.
 */
#define pr_fmt(fmt) "irq_balance: " fmt

#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/ctype.h>
#include <linux/glob.h>
#include <linux/init.h>
#include <linux/irq.h>
#include <linux/kstrtox.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "../internals.h"
#include "core.h"

/**
 * struct irq_balance_cpus - CPUs that the balancer may use
 * @rcu:	readers are under RCU
 * @mask:	the CPUs
 */
struct irq_balance_cpus {
	struct rcu_head	rcu;
	unsigned long	mask[];
};

/**
 * struct irq_balance_bans - Interrupts that the balancer leaves alone
 * @rcu:	readers are under RCU
 * @size:	bytes in @words
 * @words:	numbers and patterns of action names, each with its NUL
 */
struct irq_balance_bans {
	struct rcu_head	rcu;
	size_t		size;
	char		words[];
};

/* Replaced under this one; NULL is no restriction */
static DEFINE_MUTEX(irq_balance_param_mutex);
static struct irq_balance_cpus __rcu *irq_balance_cpus;
static struct irq_balance_bans __rcu *irq_balance_bans;

/* Into the command line, which stays */
static char *irq_balance_boot_options __initdata;
static char *irq_balance_boot_bans __initdata;

/**
 * irq_balance_put_text - Parse the value of a setting
 * @set:	settings
 * @knob:	one of irq_balance_knobs[]
 * @text:	the new value, a newline at its end does not matter
 * @where:	what comes before the setting's name in the log
 *
 * Context: any; the caller serialises access to @set.
 *
 * Return: 0, or -EINVAL with a line in the log that says what was expected;
 * then @set is unchanged
 */
int irq_balance_put_text(struct irq_balance_settings *set, const struct irq_balance_knob *knob,
			 const char *text, const char *where)
{
	u32 value;

	if (knob->offset == offsetof(struct irq_balance_settings, policy)) {
		for (value = 0; value < IRQ_BALANCE_NR_POLICIES; value++) {
			if (sysfs_streq(text, irq_balance_policy_name(value)))
				return irq_balance_settings_store(set, knob, value);
		}
		pr_err_ratelimited("%spolicy: expected balance, rotate or compact\n", where);
		return -EINVAL;
	}

	if (!kstrtou32(text, 10, &value) && !irq_balance_settings_store(set, knob, value))
		return 0;

	pr_err_ratelimited("%s%s: expected %u to %u\n", where, knob->name, knob->min, knob->max);
	return -EINVAL;
}

/**
 * irq_balance_and_cpus - Leave the CPUs in a mask that the balancer may use
 * @mask:	the mask
 *
 * Context: any.
 */
void irq_balance_and_cpus(struct cpumask *mask)
{
	struct irq_balance_cpus *cpus;

	guard(rcu)();
	cpus = rcu_dereference(irq_balance_cpus);
	if (cpus)
		cpumask_and(mask, mask, to_cpumask(cpus->mask));
}

/**
 * irq_balance_set_cpus - Set the CPUs that the balancer may use
 * @list:	list of CPUs, at least one of them possible
 * @where:	what comes before the name in the log
 *
 * Context: process context, may sleep.
 *
 * Return: 0; -EINVAL with a line in the log, or -ENOMEM, then nothing is changed
 */
int irq_balance_set_cpus(const char *list, const char *where)
{
	struct irq_balance_cpus *cpus = kzalloc(struct_size(cpus, mask, BITS_TO_LONGS(nr_cpu_ids)),
						GFP_KERNEL);
	struct cpumask *mask;

	if (!cpus)
		return -ENOMEM;

	mask = to_cpumask(cpus->mask);
	/* The parser ends at a newline, whatever is behind it */
	if (cpulist_parse(list, mask) || !cpumask_intersects(mask, cpu_possible_mask) ||
	    *skip_spaces(strchrnul(list, '\n'))) {
		pr_err_ratelimited("%scpus: expected a list of CPUs like 0-2,%u and nothing after it\n",
				   where, nr_cpu_ids - 1);
		kfree(cpus);
		return -EINVAL;
	}

	scoped_guard(mutex, &irq_balance_param_mutex)
		cpus = rcu_replace_pointer(irq_balance_cpus, cpus,
					   lockdep_is_held(&irq_balance_param_mutex));
	kfree_rcu(cpus, rcu);
	return 0;
}

/**
 * irq_balance_show_cpus - Print the CPUs that the balancer may use
 * @buf:	buffer of a file in sysfs
 *
 * Return: length
 */
int irq_balance_show_cpus(char *buf)
{
	struct irq_balance_cpus *cpus;

	guard(rcu)();
	cpus = rcu_dereference(irq_balance_cpus);
	return sysfs_emit(buf, "%*pbl\n",
			  cpumask_pr_args(cpus ? to_cpumask(cpus->mask) : cpu_possible_mask));
}

/* Copy @list into @bans word by word; returns false if it is none */
static bool irq_balance_parse_bans(struct irq_balance_bans *bans, char *list)
{
	char *word;

	while ((word = strsep(&list, ","))) {
		unsigned int number;
		size_t size;

		word = strim(word);
		if (!*word || (isdigit(*word) && kstrtouint(word, 10, &number) == -ERANGE))
			return false;
		size = strlen(word) + 1;
		memcpy(bans->words + bans->size, word, size);
		bans->size += size;
	}
	return true;
}

/**
 * irq_balance_set_bans - Set the interrupts that the balancer leaves alone
 * @list:	numbers and patterns of action names, by commas; empty for none
 * @where:	what comes before the name in the log
 *
 * Holds for interrupts that will be requested too. Moves that wait for their
 * interrupt are the caller's to call off.
 *
 * Context: process context, may sleep.
 *
 * Return: 0; -EINVAL with a line in the log, or -ENOMEM, then nothing is changed
 */
int irq_balance_set_bans(const char *list, const char *where)
{
	struct irq_balance_bans *bans = NULL;

	char *copy __free(kfree) = kstrdup(list, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;

	if (*strim(copy)) {
		bans = kzalloc(struct_size(bans, words, strlen(copy) + 1), GFP_KERNEL);
		if (!bans)
			return -ENOMEM;
		/* What is shown has to fit a page */
		if (strlen(copy) >= PAGE_SIZE - 1 || !irq_balance_parse_bans(bans, copy)) {
			pr_err_ratelimited("%sban: expected interrupt numbers and names of actions, separated by commas\n",
					   where);
			kfree(bans);
			return -EINVAL;
		}
	}

	scoped_guard(mutex, &irq_balance_param_mutex)
		bans = rcu_replace_pointer(irq_balance_bans, bans,
					   lockdep_is_held(&irq_balance_param_mutex));
	kfree_rcu(bans, rcu);
	return 0;
}

/**
 * irq_balance_show_bans - Print which interrupts the balancer leaves alone
 * @buf:	buffer of a file in sysfs
 *
 * Return: length
 */
int irq_balance_show_bans(char *buf)
{
	struct irq_balance_bans *bans;
	size_t i;
	int at = 0;

	guard(rcu)();
	bans = rcu_dereference(irq_balance_bans);
	for (i = 0; bans && i < bans->size; i += strlen(bans->words + i) + 1)
		at += sysfs_emit_at(buf, at, "%s%s", i ? "," : "", bans->words + i);
	return at + sysfs_emit_at(buf, at, "\n");
}

/**
 * irq_balance_is_banned - Whether an interrupt is in the list of bans
 * @desc:	descriptor of the interrupt, locked
 *
 * Context: any, interrupts disabled, desc->lock held.
 *
 * Return: true if its number or the name of one of its actions is in the list
 */
bool irq_balance_is_banned(struct irq_desc *desc)
{
	struct irq_balance_bans *bans;
	struct irqaction *action;
	unsigned int number;
	size_t i;

	lockdep_assert_held(&desc->lock);

	guard(rcu)();
	bans = rcu_dereference(irq_balance_bans);
	for (i = 0; bans && i < bans->size; i += strlen(bans->words + i) + 1) {
		const char *word = bans->words + i;

		if (!kstrtouint(word, 10, &number)) {
			if (number == irq_desc_get_irq(desc))
				return true;
			continue;
		}
		for_each_action_of_desc(desc, action) {
			if (action->name && glob_match(word, action->name))
				return true;
		}
	}
	return false;
}

static int __init irq_balance_setup(char *str)
{
	irq_balance_boot_options = str;
	return 1;
}
__setup("irqbalance=", irq_balance_setup);

static int __init irq_balance_ban_setup(char *str)
{
	irq_balance_boot_bans = str;
	return 1;
}
__setup("irqbalance_ban=", irq_balance_ban_setup);

static int __init irq_balance_boot_word(struct irq_balance_settings *set,
					enum irq_balance_mode *mode, char *word)
{
	char *name = strsep(&word, "=");
	unsigned int i;

	for (i = 0; !word && i < IRQ_BALANCE_NR_MODES; i++) {
		if (!strcmp(name, irq_balance_mode_name(i))) {
			*mode = i;
			return 0;
		}
	}
	for (i = 0; word && i < irq_balance_nr_knobs; i++) {
		const struct irq_balance_knob *knob = &irq_balance_knobs[i];

		if (!strcmp(name, knob->name))
			return irq_balance_put_text(set, knob, word, "irqbalance=");
	}
	pr_err("irqbalance=%s: expected off, observe, on or a setting and its value\n", name);
	return -EINVAL;
}

/**
 * irq_balance_boot - Parse the kernel command line
 * @set:	settings, at their defaults
 * @mode:	mode, at its default
 *
 * Context: process context, may sleep, before anything else of the balancer runs.
 */
void __init irq_balance_boot(struct irq_balance_settings *set, enum irq_balance_mode *mode)
{
	struct irq_balance_settings next = *set;
	enum irq_balance_mode next_mode = *mode;
	char *list = NULL, *rest, *word;

	if (irq_balance_boot_bans)
		irq_balance_set_bans(irq_balance_boot_bans, "irqbalance_");

	char *copy __free(kfree) = kstrdup(irq_balance_boot_options ? : "", GFP_KERNEL);
	rest = copy;
	if (!rest || !*rest)
		return;

	while (rest) {
		if (strstarts(rest, "cpus=")) {
			list = rest + strlen("cpus=");
			break;
		}
		word = strsep(&rest, ",");
		if (irq_balance_boot_word(&next, &next_mode, word))
			return;
	}
	if (list && irq_balance_set_cpus(list, "irqbalance="))
		return;

	*set = next;
	*mode = next_mode;
}
