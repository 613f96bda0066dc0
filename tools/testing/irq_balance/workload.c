// SPDX-License-Identifier: GPL-2.0
/*
 * Read a workload. Errors are reported as FILE:LINE: expected ...
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

#define WORDS_MAX	20
#define EPOCH_WORDS \
	"cpu, irq, epoch, load, base, tasks, follows, toll, mask, offline, online, pass or end"
#define LINE_MAX_BYTES	65536	/* a list of each second CPU of 8192 takes 40 kB */
#define LOAD_MAX	((1ULL << 33) - 1)
#define BASE_MAX	1000000000ULL

enum stage { CPUS, IRQS, EPOCHS, ENDED };

/**
 * struct reader - a file that is being read
 * @load:	the workload
 * @name:	its name
 * @err:	where errors go
 * @line:	number of the line
 * @word:	words of the line
 * @nr:		number of words
 * @next:	the first word that was not parsed
 * @stage:	statements that are valid here
 * @ms:		time of the epoch
 * @epochs:	whether there was one
 */
struct reader {
	struct workload	*load;
	const char	*name;
	FILE		*err;
	unsigned long	line;
	char		*word[WORDS_MAX];
	unsigned int	nr;
	unsigned int	next;
	enum stage	stage;
	u64		ms;
	bool		epochs;
};

static int wrong(const struct reader *r, const char *fmt, ...)
{
	va_list args;

	fprintf(r->err, "%s:%lu: expected ", r->name, r->line);
	va_start(args, fmt);
	vfprintf(r->err, fmt, args);
	va_end(args);
	fputc('\n', r->err);
	return -1;
}

static void *grow(void *array, size_t nr, size_t size)
{
	/* Doubles at each power of two. */
	if (nr & (nr - 1))
		return array;
	array = realloc(array, (nr ? 2 * nr : 1) * size);
	if (!array)
		abort();
	return array;
}

/**
 * workload_number - read a decimal number
 * @word:	digits and nothing else
 * @max:	largest value
 * @value:	the number
 *
 * Return: 0 or -1.
 */
int workload_number(const char *word, u64 max, u64 *value)
{
	u64 number = 0;

	if (!*word)
		return -1;
	for (; *word; word++) {
		unsigned int digit = *word - '0';

		if (*word < '0' || *word > '9' || number > (max - digit) / 10 ||
		    digit > max)
			return -1;
		number = 10 * number + digit;
	}
	*value = number;
	return 0;
}

/* The word that has to come next, followed by a number. */
static int number_after(struct reader *r, const char *key, u64 max, u64 *value)
{
	if (key) {
		if (r->next >= r->nr || strcmp(r->word[r->next], key))
			return wrong(r, "'%s'", key);
		r->next++;
	}
	if (r->next >= r->nr ||
	    workload_number(r->word[r->next], max, value))
		return wrong(r, "%s%sa number from 0 to %llu",
			     key ? key : "", key ? " as " : "",
			     (unsigned long long)max);
	r->next++;
	return 0;
}

static int node_after(struct reader *r, int *node)
{
	u64 value;

	if (r->next + 1 < r->nr && !strcmp(r->word[r->next], "node") &&
	    !strcmp(r->word[r->next + 1], "-1")) {
		r->next += 2;
		*node = -1;
		return 0;
	}
	if (number_after(r, "node", 65535, &value))
		return -1;
	*node = value;
	return 0;
}

static int no_more(struct reader *r)
{
	if (r->next < r->nr)
		return wrong(r, "the end of the line, not '%s'", r->word[r->next]);
	return 0;
}

static bool flag(struct reader *r, const char *name)
{
	if (r->next >= r->nr || strcmp(r->word[r->next], name))
		return false;
	r->next++;
	return true;
}

/* Index of a CPU by its number; they are sorted once the first irq is read. */
static int find_cpu(const struct workload *load, u64 id)
{
	unsigned int low = 0, high = load->nr_cpus;

	while (low < high) {
		unsigned int mid = (low + high) / 2;

		if (load->cpus[mid].id == id)
			return mid;
		if (load->cpus[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return -1;
}

/* Where an interrupt is, or would be: they are sorted at all times. */
static unsigned int irq_place(const struct workload *load, u64 id)
{
	unsigned int low = 0, high = load->nr_irqs;

	while (low < high) {
		unsigned int mid = (low + high) / 2;

		if (load->irqs[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int find_irq(const struct workload *load, u64 id)
{
	unsigned int i = irq_place(load, id);

	return i < load->nr_irqs && load->irqs[i].id == id ? (int)i : -1;
}

/**
 * workload_cpulist - read a list of CPUs
 * @load:	workload with all of its CPUs
 * @list:	as in smp_affinity_list: numbers and ranges between commas
 * @mask:	bitmap of CPU indices
 *
 * Return: 0, or -1 if the list is malformed or names an unknown CPU.
 */
int workload_cpulist(const struct workload *load, const char *list,
		     unsigned long *mask)
{
	bitmap_zero(mask, load->nr_cpus);
	for (;;) {
		size_t len = strcspn(list, ",");
		char part[64], *dash;
		u64 first, last, id;

		if (len >= sizeof(part))
			return -1;
		memcpy(part, list, len);
		part[len] = '\0';
		dash = strchr(part, '-');
		if (dash)
			*dash++ = '\0';
		if (workload_number(part, WORKLOAD_CPUS_MAX - 1, &first))
			return -1;
		last = first;
		if (dash && workload_number(dash, WORKLOAD_CPUS_MAX - 1, &last))
			return -1;
		if (last < first)
			return -1;
		for (id = first; id <= last; id++) {
			int cpu = find_cpu(load, id);

			if (cpu < 0)
				return -1;
			__set_bit(cpu, mask);
		}
		list += len;
		if (!*list)
			return 0;
		list++;
	}
}

static unsigned long *new_mask(const struct workload *load)
{
	unsigned long *mask = calloc(BITS_TO_LONGS(load->nr_cpus), sizeof(*mask));

	if (!mask)
		abort();
	return mask;
}

static int read_cpu(struct reader *r)
{
	struct workload *load = r->load;
	struct workload_cpu cpu = { .online = true };
	u64 id, package, llc, core, capacity;
	unsigned int i;

	if (r->stage != CPUS)
		return wrong(r, "all cpu statements before the first irq, epoch or end");
	if (number_after(r, NULL, WORKLOAD_CPUS_MAX - 1, &id) ||
	    node_after(r, &cpu.node) ||
	    number_after(r, "package", 65535, &package) ||
	    number_after(r, "llc", 65535, &llc) ||
	    number_after(r, "core", 65535, &core) ||
	    number_after(r, "capacity", 1024, &capacity))
		return -1;
	if (!capacity)
		return wrong(r, "capacity as a number from 1 to 1024");
	cpu.isolated = flag(r, "isolated");
	if (no_more(r))
		return -1;
	for (i = 0; i < load->nr_cpus; i++) {
		if (load->cpus[i].id == id)
			return wrong(r, "a new CPU number, %u was there before",
				     (unsigned int)id);
	}
	cpu.id = id;
	cpu.package = package;
	cpu.llc = llc;
	cpu.core = core;
	cpu.capacity = capacity;
	load->cpus = grow(load->cpus, load->nr_cpus, sizeof(cpu));
	load->cpus[load->nr_cpus++] = cpu;
	return 0;
}

static int by_cpu_id(const void *a, const void *b)
{
	const struct workload_cpu *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* A statement that comes after the CPUs. */
static int cpus_done(struct reader *r)
{
	if (r->stage != CPUS)
		return 0;
	if (!r->load->nr_cpus)
		return wrong(r, "a cpu statement first");
	qsort(r->load->cpus, r->load->nr_cpus, sizeof(*r->load->cpus), by_cpu_id);
	r->stage = IRQS;
	return 0;
}

static int read_irq(struct reader *r)
{
	struct workload *load = r->load;
	struct workload_irq irq = { 0 };
	unsigned int i;
	u64 id, at;
	int cpu;

	if (cpus_done(r))
		return -1;
	if (r->stage != IRQS)
		return wrong(r, "all irq statements before the first epoch or end");
	if (number_after(r, NULL, 4294967295ULL, &id) || node_after(r, &irq.node))
		return -1;
	if (find_irq(load, id) >= 0)
		return wrong(r, "a new interrupt number, %u was there before", (unsigned int)id);
	if (load->nr_irqs == WORKLOAD_IRQS_MAX)
		return wrong(r, "no more than %u interrupts", WORKLOAD_IRQS_MAX);
	if (!flag(r, "mask"))
		return wrong(r, "'mask'");
	irq.mask = new_mask(load);
	irq.id = id;
	load->irqs = grow(load->irqs, load->nr_irqs, sizeof(irq));
	i = irq_place(load, id);
	memmove(&load->irqs[i + 1], &load->irqs[i], (load->nr_irqs++ - i) * sizeof(irq));
	load->irqs[i] = irq;
	if (r->next >= r->nr ||
	    workload_cpulist(load, r->word[r->next], irq.mask))
		return wrong(r, "a list of this machine's CPUs, such as 0-3,8");
	r->next++;
	if (number_after(r, "at", WORKLOAD_CPUS_MAX - 1, &at))
		return -1;
	cpu = find_cpu(load, at);
	if (cpu < 0 || !test_bit(cpu, irq.mask))
		return wrong(r, "at as a CPU of the mask");
	irq.at = cpu;
	irq.managed = flag(r, "managed");
	irq.pinned = flag(r, "pinned");
	load->irqs[i] = irq;
	return no_more(r);
}

static struct workload_event *add_event(struct reader *r, enum workload_what what)
{
	struct workload *load = r->load;
	struct workload_event *ev;

	load->events = grow(load->events, load->nr_events, sizeof(*ev));
	ev = &load->events[load->nr_events++];
	memset(ev, 0, sizeof(*ev));
	ev->what = what;
	ev->ms = r->ms;
	return ev;
}

static int read_epoch(struct reader *r)
{
	u64 ms;

	if (cpus_done(r) || number_after(r, NULL, WORKLOAD_MS_MAX, &ms) ||
	    no_more(r))
		return -1;
	if (r->epochs && ms <= r->ms)
		return wrong(r, "a time after the last epoch's, %llu",
			     (unsigned long long)r->ms);
	r->stage = EPOCHS;
	r->epochs = true;
	r->ms = ms;
	add_event(r, WORKLOAD_EPOCH);
	return 0;
}

static int read_pass(struct reader *r)
{
	flag(r, "asked");	/* in older recordings */
	if (no_more(r))
		return -1;
	add_event(r, WORKLOAD_PASS);
	r->load->recorded = true;
	return 0;
}

static int read_end(struct reader *r)
{
	u64 ms;

	if (cpus_done(r) || number_after(r, NULL, WORKLOAD_MS_MAX, &ms) ||
	    no_more(r))
		return -1;
	if (r->epochs && ms < r->ms)
		return wrong(r, "a time not before the last epoch's, %llu",
			     (unsigned long long)r->ms);
	r->stage = ENDED;
	r->load->end = ms;
	return 0;
}

static int known_cpu(struct reader *r, unsigned int *index)
{
	u64 id;
	int cpu;

	if (number_after(r, NULL, WORKLOAD_CPUS_MAX - 1, &id))
		return -1;
	cpu = find_cpu(r->load, id);
	if (cpu < 0)
		return wrong(r, "the number of a CPU of this machine");
	*index = cpu;
	return 0;
}

static int known_irq(struct reader *r, unsigned int *index)
{
	u64 id;
	int irq;

	if (number_after(r, NULL, 4294967295ULL, &id))
		return -1;
	irq = find_irq(r->load, id);
	if (irq < 0)
		return wrong(r, "the number of an interrupt of this machine");
	*index = irq;
	return 0;
}

static int read_load(struct reader *r)
{
	unsigned int index;
	u64 value, rate;

	if (known_irq(r, &index) || number_after(r, NULL, LOAD_MAX, &value) ||
	    (r->next < r->nr &&
	     number_after(r, "rate", 1000000000ULL, &rate)) || no_more(r))
		return -1;
	add_event(r, WORKLOAD_LOAD);
	r->load->events[r->load->nr_events - 1].index = index;
	r->load->events[r->load->nr_events - 1].value = value;
	return 0;
}

/* base and tasks: of a CPU; follows and toll: of an interrupt */
static int read_time(struct reader *r, enum workload_what what)
{
	struct workload_event *ev;
	unsigned int index;
	u64 value;

	bool of_irq = what == WORKLOAD_FOLLOWS || what == WORKLOAD_TOLL;

	if ((of_irq ? known_irq(r, &index) : known_cpu(r, &index)) ||
	    number_after(r, NULL, BASE_MAX, &value) || no_more(r))
		return -1;
	ev = add_event(r, what);
	ev->index = index;
	ev->value = value;
	return 0;
}

static int read_mask(struct reader *r)
{
	struct workload_event *ev;
	unsigned int index;

	if (known_irq(r, &index))
		return -1;
	ev = add_event(r, WORKLOAD_MASK);
	ev->index = index;
	ev->mask = new_mask(r->load);
	if (r->next >= r->nr ||
	    workload_cpulist(r->load, r->word[r->next], ev->mask))
		return wrong(r, "a list of this machine's CPUs, such as 0-3,8");
	r->next++;
	return no_more(r);
}

static int read_hotplug(struct reader *r, bool online)
{
	struct workload *load = r->load;
	unsigned int index, i;

	if (known_cpu(r, &index) || no_more(r))
		return -1;
	load->cpus[index].online = online;
	for (i = 0; i < load->nr_cpus && !load->cpus[i].online; i++)
		;
	if (i == load->nr_cpus)
		return wrong(r, "one CPU to stay online");
	add_event(r, online ? WORKLOAD_ONLINE : WORKLOAD_OFFLINE)->index = index;
	return 0;
}

static int read_statement(struct reader *r)
{
	const char *what = r->word[0];

	r->next = 1;
	if (r->stage == ENDED)
		return wrong(r, "nothing after end");
	if (!strcmp(what, "cpu"))
		return read_cpu(r);
	if (!strcmp(what, "irq"))
		return read_irq(r);
	if (!strcmp(what, "epoch"))
		return read_epoch(r);
	if (!strcmp(what, "end"))
		return read_end(r);
	if (strcmp(what, "load") && strcmp(what, "base") && strcmp(what, "mask") &&
	    strcmp(what, "tasks") && strcmp(what, "follows") && strcmp(what, "toll") &&
	    strcmp(what, "offline") && strcmp(what, "online") && strcmp(what, "pass"))
		return wrong(r, EPOCH_WORDS);
	if (r->stage != EPOCHS)
		return wrong(r, "an epoch before %s", what);
	if (!strcmp(what, "load"))
		return read_load(r);
	if (!strcmp(what, "base"))
		return read_time(r, WORKLOAD_BASE);
	if (!strcmp(what, "tasks"))
		return read_time(r, WORKLOAD_TASKS);
	if (!strcmp(what, "follows"))
		return read_time(r, WORKLOAD_FOLLOWS);
	if (!strcmp(what, "toll"))
		return read_time(r, WORKLOAD_TOLL);
	if (!strcmp(what, "mask"))
		return read_mask(r);
	if (!strcmp(what, "pass"))
		return read_pass(r);
	return read_hotplug(r, !strcmp(what, "online"));
}

/* Split a line into words, at most as many as a statement can have. */
static int split(struct reader *r, char *line)
{
	char *save = NULL, *word;

	line[strcspn(line, "#\n")] = '\0';
	r->nr = 0;
	for (word = strtok_r(line, " \t", &save); word;
	     word = strtok_r(NULL, " \t", &save)) {
		if (r->nr == WORDS_MAX)
			return wrong(r, "the end of the line, not '%s'", word);
		r->word[r->nr++] = word;
	}
	return 0;
}

/**
 * workload_read - read a file
 * @load:	the workload, to be freed also after an error
 * @name:	name of the file, for errors
 * @in:		the file
 * @err:	file for error messages
 *
 * Return: 0, or -1 after an error.
 */
int workload_read(struct workload *load, const char *name, FILE *in, FILE *err)
{
	struct reader r = { .load = load, .name = name, .err = err };
	static char line[LINE_MAX_BYTES];
	size_t len;
	int c = 0, ret = 0;

	memset(load, 0, sizeof(*load));
	while (!ret && c != EOF) {
		for (len = 0; (c = getc(in)) > 0 && c != '\n' && len < sizeof(line) - 1; len++)
			line[len] = c;
		if (c == EOF && (!len || ferror(in)))
			break;
		r.line++;
		if (c != '\n' && c != EOF) {
			ret = wrong(&r, c ? "a shorter line" : "text, not a NUL");
			break;
		}
		/* A file from another system */
		if (len && line[len - 1] == '\r')
			len--;
		line[len] = '\0';
		ret = split(&r, line);
		if (!ret && r.nr)
			ret = read_statement(&r);
	}
	if (!ret && ferror(in)) {
		fprintf(err, "%s: %s\n", name, strerror(errno));
		ret = -1;
	}
	if (!ret && r.stage != ENDED) {
		r.line++;
		ret = wrong(&r, "end");
	}
	return ret;
}

/**
 * workload_free - free a workload
 * @load:	the workload
 */
void workload_free(struct workload *load)
{
	unsigned int i;
	size_t ev;

	for (i = 0; i < load->nr_irqs; i++)
		free(load->irqs[i].mask);
	for (ev = 0; ev < load->nr_events; ev++)
		free(load->events[ev].mask);
	free(load->cpus);
	free(load->irqs);
	free(load->events);
	memset(load, 0, sizeof(*load));
}
