// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the kernel command line, and the lists of CPUs and interrupts
 *
 * The words are the same as in sysfs.
 *
 *   irqbalance=[STATE][,SETTING=VALUE]...[,cpus=LIST]
 *   irqbalance_ban=INTERRUPT[,INTERRUPT]...
 *   irqbalance_widen=INTERRUPT[,INTERRUPT]...
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

#include <kunit/static_stub.h>

#include "../internals.h"
#include "core.h"

/* Each word is matched for each interrupt in a pass, with interrupts off */
#define IRQ_BALANCE_LIST_WORDS	128

/* Protects the CPUs and the lists of interrupts */
static DEFINE_RAW_SPINLOCK(irq_balance_list_lock);
static struct cpumask irq_balance_cpus = { CPU_BITS_ALL };

/* Into the command line, of which each parameter has a copy that it may change */
static char *irq_balance_boot_options __initdata;
static char *irq_balance_boot_bans __initdata;
static char *irq_balance_boot_widens __initdata;
core_param(irqbalance, irq_balance_boot_options, charp, 0);
core_param(irqbalance_ban, irq_balance_boot_bans, charp, 0);
core_param(irqbalance_widen, irq_balance_boot_widens, charp, 0);

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
	irq_balance_restrict();
	return 0;
}

/* In place: words by commas become words by NUL. Returns false if a word is none. */
static bool irq_balance_parse_list(char *list)
{
	char *rest = list, *end = list, *word;
	unsigned int number, words = 0;

	while ((word = strsep(&rest, ","))) {
		word = strim(word);
		if (!*word || strchr(word, '\n') || kstrtouint(word, 10, &number) == -ERANGE)
			return false;
		memmove(end, word, strlen(word) + 1);
		end += strlen(end) + 1;
		words++;
	}
	*end = '\0';
	/* The list that is shown has to fit a page */
	return words <= IRQ_BALANCE_LIST_WORDS && end - list < PAGE_SIZE;
}

static int irq_balance_set_list(struct irq_balance_list *list, const char *text, const char *where)
{
	size_t size = strlen(text) + 2;

	char *words __free(kfree) = kzalloc(size, GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	strscpy(words, skip_spaces(text), size);
	/* sysfs cuts a longer write into pieces of a page: one would be taken for the whole */
	if (size > PAGE_SIZE + 1 || (*words && !irq_balance_parse_list(words))) {
		pr_err_ratelimited("%s%s: expected at most %u interrupt numbers and names of actions, separated by commas\n",
				   where, list->attr.attr.name, IRQ_BALANCE_LIST_WORDS);
		return -EINVAL;
	}

	/* Read under either of them */
	scoped_guard(mutex, &irq_balance_pass_mutex) {
		guard(raw_spinlock_irq)(&irq_balance_list_lock);
		swap(list->words, words);
	}
	irq_balance_restrict();
	return 0;
}

static ssize_t irq_balance_list_store(struct kobject *kobj, struct kobj_attribute *attr,
				      const char *buf, size_t count)
{
	return irq_balance_set_list(container_of(attr, struct irq_balance_list, attr), buf, "") ? :
	       count;
}

static ssize_t irq_balance_list_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct irq_balance_list *list = container_of(attr, struct irq_balance_list, attr);
	const char *word;
	int at = 0;

	guard(mutex)(&irq_balance_pass_mutex);
	for (word = list->words; word && *word; word += strlen(word) + 1)
		at += sysfs_emit_at(buf, at, "%s%s", at ? "," : "", word);
	return at + sysfs_emit_at(buf, at, "\n");
}

/* The interrupts to leave alone */
struct irq_balance_list irq_balance_bans = {
	__ATTR(ban, 0644, irq_balance_list_show, irq_balance_list_store)
};

/* Those whose drivers' masks of one CPU are not to hold */
struct irq_balance_list irq_balance_widens = {
	__ATTR(widen, 0644, irq_balance_list_show, irq_balance_list_store)
};

static bool irq_balance_is_listed(const struct irq_balance_list *list, struct irq_desc *desc)
{
	struct irqaction *action;
	unsigned int number;
	const char *word;

	lockdep_assert_held(&desc->lock);

	if (!READ_ONCE(list->words))
		return false;
	guard(raw_spinlock)(&irq_balance_list_lock);
	for (word = list->words; word && *word; word += strlen(word) + 1) {
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

bool irq_balance_is_listed_to_widen(struct irq_desc *desc)
{
	KUNIT_STATIC_STUB_REDIRECT(irq_balance_is_listed_to_widen, desc);
	return irq_balance_is_listed(&irq_balance_widens, desc);
}

/* Whether the number of an interrupt or the name of one of its actions is banned */
bool irq_balance_is_banned(struct irq_desc *desc)
{
	return irq_balance_is_listed(&irq_balance_bans, desc);
}

static int __init irq_balance_boot_word(struct irq_balance_settings *set,
					enum irq_balance_mode *mode, char *word)
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
		irq_balance_set_list(&irq_balance_bans, irq_balance_boot_bans, "irqbalance_");
	if (irq_balance_boot_widens)
		irq_balance_set_list(&irq_balance_widens, irq_balance_boot_widens, "irqbalance_");

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
	if (!ret)
		*set = next;
	*mode = ret ? min(*mode, next_mode) : next_mode;
	if (off)
		*mode = IRQ_BALANCE_OFF;
}
