// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the kernel command line, the CPUs to use, the interrupts to leave alone
 *
 * The words are the same as in sysfs.
 *
 *   irqbalance=[STATE][,SETTING=VALUE]...[,cpus=LIST]
 *   irqbalance_ban=INTERRUPT[,INTERRUPT]...
 *
 * Both may be given several times, and add up: bans to one list, other words are taken in
 * turn. The word "off" holds wherever it stands. A word that is wrong is logged and left out,
 * and as it may have been one that restricts, the balancer then does not move: "observe".
 */
#define pr_fmt(fmt) "irq_balance: " fmt

#include <linux/ctype.h>
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

/* Known, and parsed by irq_balance_boot(): no memory can be allocated yet */
static int __init is_parsed_later(char *rest)
{
	return *rest == '=' || parameqn(rest, "_ban=", 5);
}
__setup("irqbalance", is_parsed_later);

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

#define BLANKS	" \t\n"

/* In place: words by commas become words by NUL. Returns false if one was none, and is left out. */
static bool parse_list(char *list)
{
	char *rest = list, *end = list, *word;
	unsigned int number;
	bool good = true;
	size_t len;

	while ((word = strsep(&rest, ","))) {
		/* strim() would take the end of a letter in UTF-8 for a blank */
		word += strspn(word, BLANKS);
		for (len = strlen(word); len && strchr(BLANKS, word[len - 1]); len--)
			;
		word[len] = '\0';
		if (!len || strchr(word, '\n') || kstrtouint(word, 10, &number) == -ERANGE) {
			good = false;
			continue;
		}
		memmove(end, word, len + 1);
		end += len + 1;
	}
	*end = '\0';
	return good;
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
 * Called when its actions have changed, and for all that have some when the list has.
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
	/* sysfs cuts a longer write into pieces of a page: one would be taken for the whole */
	bool wrong = size > PAGE_SIZE;
	struct irq_desc *desc = NULL;

	char *words __free(kfree) = kzalloc(size, GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	strscpy(words, list + strspn(list, BLANKS), size);
	if (*words && !parse_list(words))
		wrong = true;
	if (wrong) {
		pr_err_ratelimited("%sban: expected interrupt numbers and names of actions, separated by commas\n",
				   where);
		/* At boot the others of the list hold */
		if (!*where)
			return -EINVAL;
	}

	guard(mutex)(&irq_balance_ban_mutex);
	scoped_guard(raw_spinlock_irq, &irq_balance_list_lock)
		swap(irq_balance_bans, words);
	while ((desc = irq_load_next_desc(desc))) {
		guard(raw_spinlock_irq)(&desc->lock);
		/* One that is just allocated is written without its lock */
		if (desc->action)
			irq_balance_match(desc);
	}
	return wrong ? -EINVAL : 0;
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
	int ret;

	if (word && !strcmp(name, "cpus"))
		return irq_balance_set_cpus(word, "irqbalance=");

	ret = word ? irq_balance_set(set, name, word, "irqbalance=") :
		     match_string(irq_balance_mode_names, IRQ_BALANCE_NR_MODES, name);
	if (ret < 0 && (!word || ret == -ENOENT))
		pr_err("irqbalance=%s: expected off, observe, on or a setting and its value\n",
		       name);
	else if (ret >= 0 && !word && *mode != IRQ_BALANCE_OFF)
		*mode = ret;
	return min(ret, 0);
}

/* Parse the kernel command line, before anything else of the balancer runs: 0 or -ENOMEM */
int __init irq_balance_boot(struct irq_balance_settings *set, enum irq_balance_mode *mode)
{
	char *line __free(kfree) = kstrdup(saved_command_line, GFP_KERNEL);
	char *bans __free(kfree) = kstrdup(saved_command_line, GFP_KERNEL);
	char *rest = line, *end = bans, *name, *words, *word;
	enum irq_balance_mode said = IRQ_BALANCE_NR_MODES;
	bool good = true;

	if (!line || !bans)
		return -ENOMEM;

	while (*rest) {
		rest = next_arg(rest, &name, &words);
		if (!words && !strcmp(name, "--"))
			break;
		/* Each is shorter than with its name before it */
		if (words && *words && parameq(name, "irqbalance_ban"))
			end += sprintf(end, ",%s", words);
		while (parameq(name, "irqbalance") && (word = strsep(&words, ","))) {
			/* A list of CPUs has commas of its own, and a digit or N behind each */
			while (strstarts(word, "cpus=") && words &&
			       (isdigit(*words) || *words == 'N')) {
				words[-1] = ',';
				strsep(&words, ",");
			}
			good &= !*word || !boot_word(set, &said, word);
		}
	}
	if (end != bans && irq_balance_set_bans(bans + 1, "irqbalance_"))
		good = false;
	if (said != IRQ_BALANCE_NR_MODES)
		*mode = said;
	if (!good)
		*mode = min(*mode, IRQ_BALANCE_OBSERVE);
	return 0;
}
