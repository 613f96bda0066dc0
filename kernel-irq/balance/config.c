// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the kernel command line, the CPUs to use, the interrupts to leave alone
 *
 * The words are the same as in sysfs.
 *
 *   irqbalance=[STATE][,SETTING=VALUE]...[,cpus=LIST]
 *   irqbalance_ban=INTERRUPT[,INTERRUPT]...
 *
 * A CPU list has commas of its own, so cpus= takes what is left of the parameter. A
 * parameter with a mistake is logged and changes nothing, except that the word "off"
 * anywhere in it holds, and "observe" before the mistake.
 */
#define pr_fmt(fmt) "irq_balance: " fmt

#include <linux/glob.h>
#include <linux/init.h>
#include <linux/irq.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "../internals.h"
#include "config.h"

/* Guards the CPUs and the bans */
static DEFINE_RAW_SPINLOCK(irq_balance_list_lock);
/* Serialises writers of the bans, and lets readers sleep */
static DEFINE_MUTEX(irq_balance_ban_mutex);
static struct cpumask irq_balance_cpus = { CPU_BITS_ALL };
static char *irq_balance_bans;		/* words with a NUL each, and an empty one; NULL: none */

/* Into the command line, of which each parameter has a copy that it may change */
static char *irq_balance_boot_options __initdata;
static char *irq_balance_boot_bans __initdata;
core_param(irqbalance, irq_balance_boot_options, charp, 0);
core_param(irqbalance_ban, irq_balance_boot_bans, charp, 0);

#define IRQ_BALANCE_SETTING(name, def, min, max)	\
	{ #name, offsetof(struct irq_balance_settings, name), min, max },
static const struct {
	const char	*name;
	size_t		offset;
	u32		min, max;
} irq_balance_limits[] = { IRQ_BALANCE_SETTINGS(IRQ_BALANCE_SETTING) };

/* Parse a setting: 0, -ENOENT for the name, -EINVAL for the value: logged, @where before it */
int irq_balance_set(struct irq_balance_settings *set, const char *name, const char *text,
		    const char *where)
{
	unsigned int i = 0;
	u32 value;

	while (strcmp(name, irq_balance_limits[i].name)) {
		if (++i == ARRAY_SIZE(irq_balance_limits))
			return -ENOENT;
	}
	if (kstrtou32(text, 10, &value) || value < irq_balance_limits[i].min ||
	    value > irq_balance_limits[i].max) {
		pr_err_ratelimited("%s%s: expected %u to %u\n", where, name,
				   irq_balance_limits[i].min, irq_balance_limits[i].max);
		return -EINVAL;
	}
	WRITE_ONCE(*(u32 *)((void *)set + irq_balance_limits[i].offset), value);
	return 0;
}

/* The CPUs that the user lets the balancer use */
void irq_balance_get_cpus(struct cpumask *mask)
{
	guard(raw_spinlock_irqsave)(&irq_balance_list_lock);
	cpumask_and(mask, &irq_balance_cpus, cpu_possible_mask);
}

/* Set the CPUs that the balancer may use: a list with one that is possible, or -EINVAL */
int irq_balance_set_cpus(const char *list, const char *where)
{
	cpumask_var_t mask __free(free_cpumask_var) = CPUMASK_VAR_NULL;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;

	/* A longer write comes in pieces. The parser ends at a newline, whatever is behind it. */
	if (strlen(list) >= PAGE_SIZE || cpulist_parse(list, mask) ||
	    !cpumask_intersects(mask, cpu_possible_mask) ||
	    *skip_spaces(strchrnul(list, '\n'))) {
		pr_err_ratelimited("%scpus: expected a list of CPUs like 0-2,%u and nothing after it\n",
				   where, nr_cpu_ids - 1);
		return -EINVAL;
	}

	scoped_guard(raw_spinlock_irq, &irq_balance_list_lock)
		cpumask_copy(&irq_balance_cpus, mask);
	return 0;
}

/* In place: words by commas become words by NUL. Returns false if a word is none. */
static bool parse_list(char *list)
{
	char *rest = list, *end = list, *word;
	unsigned int number;

	while ((word = strsep(&rest, ","))) {
		word = strim(word);
		if (!*word || strchr(word, '\n') || kstrtouint(word, 10, &number) == -ERANGE)
			return false;
		memmove(end, word, strlen(word) + 1);
		end += strlen(end) + 1;
	}
	*end = '\0';
	/* The list that is shown has to fit a page */
	return end - list < PAGE_SIZE;
}

static bool is_listed(struct irq_desc *desc)
{
	struct irqaction *action;
	unsigned int number;
	const char *word;

	for (word = irq_balance_bans; word && *word; word += strlen(word) + 1) {
		if (!kstrtouint(word, 10, &number) && number == irq_desc_get_irq(desc))
			return true;
		for_each_action_of_desc(desc, action) {
			if (action->name &&
			    (glob_match(word, action->name) || !strcmp(word, action->name)))
				return true;
		}
	}
	return false;
}

/**
 * irq_balance_match - Note whether the user has banned an interrupt
 * @desc:	descriptor of the interrupt, locked
 *
 * Called when its actions have changed, and for all interrupts when the list has.
 *
 * Context: any, interrupts disabled, desc->lock held.
 */
void irq_balance_match(struct irq_desc *desc)
{
	lockdep_assert_held(&desc->lock);

	guard(raw_spinlock)(&irq_balance_list_lock);
	if (is_listed(desc))
		desc->istate |= IRQS_BALANCE_BANNED;
	else
		desc->istate &= ~IRQS_BALANCE_BANNED;
	if (!desc->action)
		irq_balance_cancel(desc);
}

/* Set the list of interrupts to leave alone: numbers, and patterns of names of actions */
int irq_balance_set_bans(const char *list, const char *where)
{
	size_t size = strlen(list) + 2;
	struct irq_desc *desc = NULL;

	char *words __free(kfree) = kzalloc(size, GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	strscpy(words, skip_spaces(list), size);
	/* sysfs cuts a longer write into pieces of a page: one would be taken for the whole */
	if (size > PAGE_SIZE + 1 || (*words && !parse_list(words))) {
		pr_err_ratelimited("%sban: expected interrupt numbers and names of actions, separated by commas\n",
				   where);
		return -EINVAL;
	}

	guard(mutex)(&irq_balance_ban_mutex);
	scoped_guard(raw_spinlock_irq, &irq_balance_list_lock)
		swap(irq_balance_bans, words);
	while ((desc = irq_load_next_desc(desc))) {
		guard(raw_spinlock_irq)(&desc->lock);
		irq_balance_match(desc);
	}
	return 0;
}

int irq_balance_show_bans(char *buf)
{
	const char *word;
	int at = 0;

	guard(mutex)(&irq_balance_ban_mutex);
	for (word = irq_balance_bans; word && *word; word += strlen(word) + 1)
		at += sysfs_emit_at(buf, at, "%s%s", at ? "," : "", word);
	return at + sysfs_emit_at(buf, at, "\n");
}

static int __init boot_word(struct irq_balance_settings *set, enum irq_balance_mode *mode,
			    char *word)
{
	const char *name = strsep(&word, "=");
	int ret = word ? irq_balance_set(set, name, word, "irqbalance=") :
			 match_string(irq_balance_mode_names, IRQ_BALANCE_NR_MODES, name);

	if (ret < 0 && (!word || ret == -ENOENT))
		pr_err("irqbalance=%s: expected off, observe, on or a setting and its value\n",
		       name);
	else if (ret >= 0 && !word)
		*mode = ret;
	return min(ret, 0);
}

/* Parse the kernel command line, before anything else of the balancer runs */
void __init irq_balance_boot(struct irq_balance_settings *set, enum irq_balance_mode *mode)
{
	char *words = irq_balance_boot_options, *at;
	struct irq_balance_settings next = *set;
	enum irq_balance_mode next_mode = *mode;
	bool off = false;
	int ret = 0;

	if (irq_balance_boot_bans)
		irq_balance_set_bans(irq_balance_boot_bans, "irqbalance_");

	/* A user who asks for off gets it, whatever else is wrong */
	for (at = words; at && *at; at += strcspn(at, ",") + !!strchr(at, ','))
		off |= strcspn(at, ",") == strlen("off") && strstarts(at, "off");

	while (words && *words && !ret) {
		if (strstarts(words, "cpus=")) {
			ret = irq_balance_set_cpus(words + strlen("cpus="), "irqbalance=");
			break;
		}
		ret = boot_word(&next, &next_mode, strsep(&words, ","));
	}
	if (!ret)
		*set = next;
	*mode = ret ? min(*mode, next_mode) : next_mode;
	if (off)
		*mode = IRQ_BALANCE_OFF;
}
