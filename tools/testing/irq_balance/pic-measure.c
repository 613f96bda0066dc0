// SPDX-License-Identifier: GPL-2.0
/*
 * The 8259A pair of this machine: the load of the lines, from the load map and the
 * counters of the interrupts, and the order in force.
 *
 * All functions print a message that says what is missing, and return -1, if they fail.
 * ROOT is put before the names of all files; "" is this machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/kernel.h>

#include "pic-measure.h"

#define IRQS		"/sys/kernel/irq"
#define LOAD		"/sys/kernel/debug/irq_load"
#define PRIORITY	"/sys/kernel/i8259_priority/priority"

#define COLUMNS_MAX	32

/*
 * The load map times an interrupt 20 to 30 times per second, rare ones each time. A step has
 * some of these runs, so that a mean over a step is not far from what was timed.
 */
#define STEPS_PER_S	5
#define NSEC_PER_STEP	(1000000000ULL / STEPS_PER_S)

/* Counters of a line */
struct reading {
	u64	count;
	u64	hard_ns;
};

/* A line while it is measured: counters at the begin and at the last step, and the last second */
struct series {
	struct reading	first;
	struct reading	last;
	u64		second_count;
	bool		timed;
};

/* A message, and -1 */
#define fail(format, ...) (complain(format, __VA_ARGS__), -1)

static int fail_load(const char *root, int error)
{
	return fail("%s" LOAD ": %s: %s", root, strerror(error),
		    error == EACCES || error == EPERM ? "run it as root" :
		    "needs a kernel with CONFIG_IRQ_LOAD_DEBUGFS, and debugfs: mount -t debugfs none /sys/kernel/debug");
}

static int open_file(const char *root, const char *name, int flags)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s%s", root, name) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(path, flags | O_CLOEXEC);
}

/* All of a file from its begin, to be freed; NULL with errno set if that fails */
static char *read_all(int fd)
{
	size_t size = 0, len = 0;
	char *text = NULL, *more;
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return NULL;
	do {
		if (size - len < 2) {
			size += 65536;
			more = realloc(text, size);
			if (!more)
				break;
			text = more;
		}
		n = read(fd, text + len, size - len - 1);
		if (n > 0)
			len += n;
		if (!n) {
			text[len] = '\0';
			return text;
		}
	} while (n > 0);

	free(text);
	return NULL;
}

static char *read_file(const char *root, const char *name)
{
	int fd = open_file(root, name, O_RDONLY), error;
	char *text;

	if (fd < 0)
		return NULL;
	text = read_all(fd);
	error = errno;
	close(fd);
	errno = error;
	return text;
}

static char *read_of_irq(const char *root, unsigned int irq, const char *file)
{
	char name[64];

	snprintf(name, sizeof(name), IRQS "/%u/%s", irq, file);
	return read_file(root, name);
}

/**
 * pic_devices() - Find the lines that are routed through the 8259A
 * @root:	put before the names of all files
 * @devices:	the lines, by interrupt number
 *
 * Return: 0, or -1 after a message, also if there is no such line.
 */
int pic_devices(const char *root, struct pic_device devices[I8259_NR_LINES])
{
	unsigned int nr = 0;
	char *text;
	int fd;

	fd = open_file(root, IRQS, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fail("%s" IRQS ": %s: is sysfs mounted?", root, strerror(errno));
	close(fd);

	memset(devices, 0, I8259_NR_LINES * sizeof(*devices));
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		text = read_of_irq(root, irq, "chip_name");
		devices[irq].present = irq != I8259_CASCADE && text && !strcmp(text, "XT-PIC\n");
		nr += devices[irq].present;
		free(text);

		text = devices[irq].present ? read_of_irq(root, irq, "actions") : NULL;
		if (text)
			snprintf(devices[irq].name, PIC_NAME_MAX, "%.*s",
				 (int)strcspn(text, "\n"), text);
		free(text);
	}
	if (!nr)
		return fail("%s",
			    "no interrupt goes through the 8259A (XT-PIC in /proc/interrupts): an order has no effect");
	return 0;
}

/* The number of interrupts of a line, on all CPUs */
static int read_count(const char *root, unsigned int irq, u64 *count)
{
	char *text = read_of_irq(root, irq, "per_cpu_count");

	if (!text)
		return fail("%s" IRQS "/%u/per_cpu_count: %s", root, irq, strerror(errno));
	*count = 0;
	for (char *s = text, *end; *s; s = *end ? end + 1 : end) {
		*count += strtoull(s, &end, 10);
		if (end == s || !strchr(",\n", *end)) {
			free(text);
			return fail("%s" IRQS "/%u/per_cpu_count: expected numbers", root, irq);
		}
	}
	free(text);
	return 0;
}

static int read_counts(const char *root, const struct pic_device *devices, u64 *counts)
{
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		if (devices[irq].present && read_count(root, irq, &counts[irq]))
			return -1;
	}
	return 0;
}

/* The times of all lines; 0 for those that the load map does not have */
static int read_times(const char *root, int fd, u64 *hard_ns)
{
	int columns = 0, irq_column = -1, ns_column = -1;
	char *text = read_all(fd), *row, *rows, *word, *words;

	if (!text)
		return fail_load(root, errno);
	memset(hard_ns, 0, I8259_NR_LINES * sizeof(*hard_ns));

	row = strtok_r(text, "\n", &rows);
	for (word = row ? strtok_r(row, " ", &words) : NULL; word && columns < COLUMNS_MAX;
	     word = strtok_r(NULL, " ", &words), columns++) {
		if (!strcmp(word, "irq"))
			irq_column = columns;
		if (!strcmp(word, "hard_ns"))
			ns_column = columns;
	}
	if (irq_column < 0 || ns_column < 0) {
		free(text);
		return fail("%s" LOAD ": %s", root,
			    "no columns irq and hard_ns: is pic-order of the same version as the kernel?");
	}

	while ((row = strtok_r(NULL, "\n", &rows))) {
		u64 value[COLUMNS_MAX] = { };
		char *end = NULL;
		int column = 0;

		for (word = strtok_r(row, " ", &words); word && column < columns;
		     word = strtok_r(NULL, " ", &words), column++) {
			value[column] = strtoull(word, &end, 10);
			if (*end)
				break;
		}
		if (column < columns || word) {
			free(text);
			return fail("%s" LOAD ": expected %d numbers in each row", root, columns);
		}
		if (value[irq_column] < I8259_NR_LINES)
			hard_ns[value[irq_column]] = value[ns_column];
	}
	free(text);
	return 0;
}

static u32 div_up(u64 a, u64 b)
{
	return min(a / b + !!(a % b), (u64)U32_MAX);
}

/* The mean of the runs between two readings, if there were any */
static void take_cost(struct series *s, const struct reading *since, struct reading now,
		      struct pic_line *line)
{
	u64 runs = now.count - since->count;

	if (now.count <= since->count || now.hard_ns < since->hard_ns)
		return;
	line->cost_us = max(line->cost_us, div_up(now.hard_ns - since->hard_ns, runs * 1000));
	s->last = now;
	s->timed = true;
}

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static void sleep_until(u64 ns)
{
	struct timespec until = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Read all lines in steps. The file of the load map stays open: the kernel measures meanwhile. */
static int measure(const char *root, unsigned int steps, int fd, const struct pic_device *devices,
		   struct pic_line *lines)
{
	u64 before[I8259_NR_LINES], after[I8259_NR_LINES], hard_ns[I8259_NR_LINES];
	struct series series[I8259_NR_LINES] = { };
	u64 start, second = 0, now;

	/* The first runs that are timed come after the file was opened */
	start = now_ns() + NSEC_PER_STEP;
	for (unsigned int step = 0; step <= steps; step++) {
		sleep_until(start + step * NSEC_PER_STEP);
		if (read_counts(root, devices, before) || read_times(root, fd, hard_ns))
			return -1;
		now = now_ns();
		if (read_counts(root, devices, after))
			return -1;

		for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
			struct reading r = { after[irq], hard_ns[irq] };
			struct series *s = &series[irq];
			struct pic_line *line = &lines[irq];

			if (!devices[irq].present)
				continue;
			if (!step) {
				s->first = r;
				s->last = r;
			} else if (before[irq] == after[irq]) {
				/* Otherwise the time may be that of one run more or less */
				take_cost(s, &s->last, r, line);
			}
			if (step == steps && !s->timed)
				take_cost(s, &s->first, r, line);
			if (step % STEPS_PER_S)
				continue;
			if (step && after[irq] > s->second_count)
				line->rate_hz = max(line->rate_hz,
						    div_up((after[irq] - s->second_count) * 1000000,
							   (now - second) / 1000 ?: 1));
			s->second_count = after[irq];
			line->used = line->rate_hz;
		}
		if (step % STEPS_PER_S == 0)
			second = now;
	}
	return 0;
}

/**
 * pic_measure() - Measure the load of the lines
 * @root:	put before the names of all files
 * @seconds:	how long, at least 1
 * @devices:	the lines that pic_devices() found
 * @lines:	the load of each line, by interrupt number: the rate of the busiest second,
 *		and the largest mean time of the handlers in a fifth of a second
 *
 * Return: 0, or -1 after a message.
 */
int pic_measure(const char *root, unsigned int seconds,
		const struct pic_device devices[I8259_NR_LINES],
		struct pic_line lines[I8259_NR_LINES])
{
	int fd = open_file(root, LOAD, O_RDONLY), ret;

	if (fd < 0)
		return fail_load(root, errno);
	memset(lines, 0, I8259_NR_LINES * sizeof(*lines));
	ret = measure(root, seconds * STEPS_PER_S, fd, devices, lines);
	close(fd);
	return ret;
}

/**
 * pic_order_read() - The order in force
 * @root:	put before the names of all files
 * @to_write:	fail if it cannot be written
 * @order:	the order; that of the hardware if the kernel has no choice of an order
 *
 * Return: 0, or -1 after a message.
 */
int pic_order_read(const char *root, bool to_write, struct i8259_order *order)
{
	struct i8259_choice choice = { .order = I8259_ORDER_DEFAULT };
	int fd = open_file(root, PRIORITY, to_write ? O_RDWR : O_RDONLY), ret;
	char *text;

	*order = choice.order;
	if (fd < 0 && errno == ENOENT && !to_write)
		return 0;
	if (fd < 0)
		return fail("%s" PRIORITY ": %s: %s", root, strerror(errno), errno == ENOENT ?
			    "--apply needs a kernel with CONFIG_I8259_PRIORITY" : "run it as root");
	text = read_all(fd);
	ret = text && !i8259_choice_parse(text, &choice) ? 0 :
	      fail("%s" PRIORITY ": expected MASTER,SLAVE or default", root);
	*order = choice.order;
	free(text);
	close(fd);
	return ret;
}

/**
 * pic_order_write() - Set the order
 * @root:	put before the names of all files
 * @order:	the order, both members in their range
 *
 * Return: 0, or -1 after a message.
 */
int pic_order_write(const char *root, struct i8259_order order)
{
	int fd = open_file(root, PRIORITY, O_WRONLY | O_TRUNC), error = 0;
	char text[16];
	ssize_t n;

	snprintf(text, sizeof(text), "%u,%u\n", order.master, order.slave);
	n = fd < 0 ? -1 : write(fd, text, strlen(text));
	if (n < 0)
		error = errno;
	else if ((size_t)n != strlen(text))
		error = EIO;
	if (fd >= 0)
		close(fd);
	if (error)
		return fail("%s" PRIORITY ": cannot write %u,%u: %s: see dmesg", root,
			    order.master, order.slave, strerror(error));
	return 0;
}
