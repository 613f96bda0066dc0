// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the kernel command line, and the lists of CPUs and bans
 *
 * The words are the same as in sysfs.
 *
 *   irqbalance=[STATE][,SETTING=VALUE]...[,cpus=LIST]
 *   irqbalance_ban=INTERRUPT[,INTERRUPT]...
 *
 * A CPU list has commas of its own, so cpus= takes what is left of the parameter. A
 * parameter with a mistake is logged and changes nothing, except that the word "off"
 * anywhere in it holds.
 */
#define pr_fmt(fmt) "irq_balance: " fmt

#include <linux/ctype.h>
#include <linux/glob.h>
#include <linux/init.h>
#include <linux/irq.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "../internals.h"
#include "core.h"

/* Protects the CPUs, and writes of the bans, which are read under RCU and desc->lock */
static DEFINE_RAW_SPINLOCK(irq_balance_list_lock);
static struct cpumask irq_balance_cpus = { CPU_BITS_ALL };
/* Numbers and patterns of action names, each with its NUL, and an empty one; NULL: none */
static char __rcu *irq_balance_bans;

/* Into the command line, of which each parameter has a copy that it may change */
static char *irq_balance_boot_options __initdata;
static char *irq_balance_boot_bans __initdata;

/* Parse the value of a setting. A mistake is logged, with @where before the name: -EINVAL. */
int irq_balance_put_text(struct irq_balance_settings *set, const struct irq_balance_knob *knob,
			 const char *text, const char *where)
{
	u32 value;

	if (!kstrtou32(text, 10, &value) && !irq_balance_settings_store(set, knob, value))
		return 0;

	pr_err_ratelimited("%s%s: expected %u to %u\n", where, knob->name, knob->min, knob->max);
	return -EINVAL;
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

	/* The parser ends at a newline, whatever is behind it */
	if (cpulist_parse(list, mask) || !cpumask_intersects(mask, cpu_possible_mask) ||
	    *skip_spaces(strchrnul(list, '\n'))) {
		pr_err_ratelimited("%scpus: expected a list of CPUs like 0-2,%u and nothing after it\n",
				   where, nr_cpu_ids - 1);
		return -EINVAL;
	}

	guard(raw_spinlock_irq)(&irq_balance_list_lock);
	cpumask_copy(&irq_balance_cpus, mask);
	return 0;
}

/* In place: words by commas become words by NUL. Returns false if a word is none. */
static bool irq_balance_parse_bans(char *list)
{
	char *rest = list, *end = list, *word;
	unsigned int number;

	while ((word = strsep(&rest, ","))) {
		word = strim(word);
		if (!*word || (isdigit(*word) && kstrtouint(word, 10, &number) == -ERANGE))
			return false;
		memmove(end, word, strlen(word) + 1);
		end += strlen(end) + 1;
	}
	*end = '\0';
	/* The list that is shown has to fit a page */
	return end - list < PAGE_SIZE;
}

/*
 * Set the interrupts that the balancer leaves alone: numbers and patterns of action names,
 * by commas, or -EINVAL. Also holds for interrupts that are requested later. The caller
 * cancels moves that wait for their interrupt.
 */
int irq_balance_set_bans(const char *list, const char *where)
{
	size_t size = strlen(list) + 2;

	char *bans __free(kfree) = kzalloc(size, GFP_KERNEL);
	if (!bans)
		return -ENOMEM;
	strscpy(bans, skip_spaces(list), size);
	if (*bans && !irq_balance_parse_bans(bans)) {
		pr_err_ratelimited("%sban: expected interrupt numbers and names of actions, separated by commas\n",
				   where);
		return -EINVAL;
	}

	scoped_guard(raw_spinlock_irq, &irq_balance_list_lock)
		bans = rcu_replace_pointer(irq_balance_bans, bans,
					   lockdep_is_held(&irq_balance_list_lock));
	/* The old list is freed when no reader is left in it */
	synchronize_rcu();
	return 0;
}

/* Print the bans into the buffer of a file in sysfs; returns the length */
int irq_balance_show_bans(char *buf)
{
	const char *word;
	int at = 0;

	guard(rcu)();
	for (word = rcu_dereference(irq_balance_bans); word && *word; word += strlen(word) + 1)
		at += sysfs_emit_at(buf, at, "%s%s", at ? "," : "", word);
	return at + sysfs_emit_at(buf, at, "\n");
}

/* Whether the number of an interrupt or the name of one of its actions is banned */
bool irq_balance_is_banned(struct irq_desc *desc)
{
	struct irqaction *action;
	unsigned int number;
	const char *word;

	lockdep_assert_held(&desc->lock);

	guard(rcu)();
	for (word = rcu_dereference(irq_balance_bans); word && *word; word += strlen(word) + 1) {
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
	const char *name = strsep(&word, "=");
	const struct irq_balance_knob *knob = word ? irq_balance_find_knob(name) : NULL;
	int i = word ? -1 : match_string(irq_balance_mode_names, IRQ_BALANCE_NR_MODES, name);

	if (knob)
		return irq_balance_put_text(set, knob, word, "irqbalance=");
	if (i < 0) {
		pr_err("irqbalance=%s: expected off, observe, on or a setting and its value\n",
		       name);
		return -EINVAL;
	}
	*mode = i;
	return 0;
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
		ret = irq_balance_boot_word(&next, &next_mode, strsep(&words, ","));
	}
	if (!ret) {
		*set = next;
		*mode = next_mode;
	}
	if (off)
		*mode = IRQ_BALANCE_OFF;
}
