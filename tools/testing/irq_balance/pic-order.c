// SPDX-License-Identifier: GPL-2.0
/*
 * pic-order: print the order in which the 8259A pair serves its lines, and the
 * latency of the lines; find the best order for a measured load, and set it.
 *
 *	pic-order MASTER SLAVE [--latency FILE]
 *	pic-order MASTER[,SLAVE] [--latency FILE]	as i8259_priority= has it
 *	pic-order --measure [--seconds N] [--deadline IRQ=US]... [--apply]
 *
 * The output has a row "RANK IRQ LINE" for each device line, in the order of
 * service. With --latency, FILE (- is standard input) has a row "irq N COST_US
 * RATE_HZ [DEADLINE_US]" for each line that is used; '#' starts a comment. The
 * output then has rows "latency IRQ US ok|late|unbounded" for these lines, and
 * "best MASTER SLAVE" for the order with the least worst latency / deadline.
 *
 * With --measure the load is that of this machine. The output has the rows of
 * such a FILE, "now MASTER SLAVE" for the order in force, with its latencies, and
 * "best MASTER SLAVE" with its latencies. With --apply the last row is "applied
 * MASTER SLAVE", or "kept MASTER SLAVE" if the best order is not better.
 *
 * Exit status: 0; 2 on bad arguments, a bad FILE, or an error of input or output.
 * Nothing is printed to standard output before all input was checked.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "i8259_order.h"
#include "pic-analysis.h"
#include "pic-measure.h"

/* "pic-order", or "irqload order" */
#define CALLED		program_invocation_short_name

#define FIELDS_MAX	5
#define ROW_MAX		4096
#define SECONDS_DEFAULT	10
#define SECONDS_MAX	3600

static const char usage[] =
	"usage: %1$s MASTER SLAVE [--latency FILE]\n"
	"       %1$s MASTER[,SLAVE] [--latency FILE]\n"
	"       %1$s --measure [--seconds N] [--deadline IRQ=US]... [--apply]\n"
	"  MASTER  the master's line that is served first, 0..7 (2: the slave)\n"
	"  SLAVE   the slave's line that is served first, 8..15 (14 if not given)\n"
	"  FILE    rows of: irq N COST_US RATE_HZ [DEADLINE_US]; - is standard input\n"
	"\n"
	"--measure prints the load of this machine as such rows, the latencies in the\n"
	"order that is in force, the best order and the latencies in that. Run it as\n"
	"root, under full load. It reads /sys/kernel/debug/irq_load, which needs\n"
	"CONFIG_IRQ_LOAD_DEBUGFS. This list has no longest time: COST_US is the largest\n"
	"mean in a fifth of a second, so single runs of a frequent interrupt may be\n"
	"longer. RATE_HZ is that of the busiest second.\n"
	"  --seconds N        how long to measure, 1..3600, 10 if not given\n"
	"  --deadline IRQ=US  how long a request of this IRQ may wait, in microseconds;\n"
	"                     its period if not given\n"
	"  --apply            set the best order, if it is better than the one in force:\n"
	"                     write it to /sys/kernel/i8259_priority/priority\n"
	"  --root DIR         read and write DIR/sys/... instead, for tests\n";

/* The options of --measure */
struct request {
	const char	*root;
	u32		seconds;
	u32		deadline_us[I8259_NR_LINES];
	bool		measure;
	bool		apply;
	bool		detail;		/* an option that only --measure has */
};

static int parse_master_slave(char **argv, struct i8259_order *order)
{
	const char *master = argv[0], *slave = argv[1];

	if (i8259_number_parse(&master, 0, 7, &order->master) || *master) {
		complain("MASTER is '%s', must be 0..7", argv[0]);
		return -1;
	}
	if (i8259_number_parse(&slave, 8, 15, &order->slave) || *slave) {
		complain("SLAVE is '%s', must be 8..15", argv[1]);
		return -1;
	}
	return 0;
}

static bool number(const char *text, u32 low, u32 high, u32 *value)
{
	u64 n = 0;
	const char *s;

	for (s = text; *s >= '0' && *s <= '9' && n <= UINT32_MAX; s++)
		n = n * 10 + (*s - '0');
	if (s == text || *s || n > high || n < low)
		return false;
	*value = n;
	return true;
}

static int parse_u32(const char *file, unsigned int row, const char *what, const char *text,
		     u32 low, u32 *value)
{
	if (number(text, low, UINT32_MAX, value))
		return 0;
	fprintf(stderr, "%s:%u: %s is '%s', must be a whole number, %u..%u\n",
		file, row, what, text, low, UINT32_MAX);
	return -1;
}

static int parse_row(const char *file, unsigned int row, char *text, struct pic_line *lines)
{
	char *field[FIELDS_MAX + 1], *save;
	struct pic_line new = { .used = true };
	unsigned int nr = 0;
	const char *irq;
	u8 line;

	text[strcspn(text, "#")] = '\0';
	for (char *f = strtok_r(text, " \t\r\n", &save); f; f = strtok_r(NULL, " \t\r\n", &save)) {
		field[nr++] = f;
		if (nr > FIELDS_MAX)
			break;
	}
	if (!nr)
		return 0;
	if (nr < 4 || nr > FIELDS_MAX || strcmp(field[0], "irq")) {
		fprintf(stderr, "%s:%u: expected: irq N COST_US RATE_HZ [DEADLINE_US]\n",
			file, row);
		return -1;
	}

	irq = field[1];
	if (i8259_number_parse(&irq, 0, I8259_NR_LINES - 1, &line) || *irq ||
	    line == I8259_CASCADE) {
		fprintf(stderr, "%s:%u: N is '%s', must be 0..15 and not 2, the cascade\n",
			file, row, field[1]);
		return -1;
	}
	if (lines[line].used) {
		fprintf(stderr, "%s:%u: irq %u was given before\n", file, row, line);
		return -1;
	}
	if (parse_u32(file, row, "COST_US", field[2], 0, &new.cost_us) ||
	    parse_u32(file, row, "RATE_HZ", field[3], 0, &new.rate_hz) ||
	    (nr > 4 && parse_u32(file, row, "DEADLINE_US", field[4], 1, &new.deadline_us)))
		return -1;

	lines[line] = new;
	return 0;
}

static int parse_file(const char *name, struct pic_line *lines)
{
	bool is_stdin = !strcmp(name, "-");
	FILE *file = is_stdin ? stdin : fopen(name, "r");
	unsigned int row = 0;
	char text[ROW_MAX];
	int c = 0, ret = 0;
	size_t len;

	if (!file) {
		complain("%s: %s", name, strerror(errno));
		return -1;
	}

	while (!ret && c != EOF) {
		for (len = 0; (c = getc(file)) > 0 && c != '\n' && len < sizeof(text) - 1; len++)
			text[len] = c;
		text[len] = '\0';
		row++;
		if (c != '\n' && c != EOF) {
			fprintf(stderr, "%s:%u: expected %s\n", name, row,
				c ? "a shorter line" : "text, not a NUL");
			ret = -1;
		} else if (!ferror(file)) {
			ret = parse_row(name, row, text, lines);
		}
	}
	if (!ret && ferror(file)) {
		complain("%s: %s", name, strerror(errno));
		ret = -1;
	}

	if (!is_stdin)
		fclose(file);
	return ret;
}

static void print_order(struct i8259_order order)
{
	u8 irqs[I8259_NR_DEVICES];

	i8259_order_irqs(order, irqs);
	for (unsigned int rank = 0; rank < I8259_NR_DEVICES; rank++)
		printf("%u %u %c%u\n", rank, irqs[rank], irqs[rank] < 8 ? 'M' : 'S',
		       irqs[rank] & 7);
}

static void print_latency(struct i8259_order order, const struct pic_line *lines)
{
	struct pic_latency latency[I8259_NR_LINES];

	pic_latencies(order, lines, latency);
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		switch (latency[irq].verdict) {
		case PIC_UNUSED:
			break;
		case PIC_UNBOUNDED:
			printf("latency %u - unbounded\n", irq);
			break;
		default:
			printf("latency %u %llu %s\n", irq, (unsigned long long)latency[irq].us,
			       latency[irq].verdict == PIC_LATE ? "late" : "ok");
		}
	}
}

static struct i8259_order print_best(const struct pic_line *lines, struct pic_ratio *worst)
{
	struct i8259_order best = pic_best(lines, worst);

	printf("best %u %u\n", best.master, best.slave);
	return best;
}

static void print_load(const struct pic_line *lines, const struct pic_device *devices)
{
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		if (!lines[irq].used)
			continue;
		printf("irq %u %u %u", irq, lines[irq].cost_us, lines[irq].rate_hz);
		if (lines[irq].deadline_us)
			printf(" %u", lines[irq].deadline_us);
		if (*devices[irq].name)
			printf(" # %s", devices[irq].name);
		putchar('\n');
		if (!lines[irq].cost_us)
			complain("no time was measured for IRQ %u: try a larger --seconds",
				 irq);
	}
}

static int measure_and_apply(const struct request *request)
{
	struct pic_device devices[I8259_NR_LINES];
	struct pic_line lines[I8259_NR_LINES];
	struct pic_ratio worst, now_worst;
	struct i8259_order now, best;
	unsigned int used = 0;

	if (pic_devices(request->root, devices) ||
	    pic_order_read(request->root, request->apply, &now))
		return -1;
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		if (request->deadline_us[irq] && !devices[irq].present) {
			complain("--deadline: IRQ %u is not of the 8259A (XT-PIC)", irq);
			return -1;
		}
	}
	if (pic_measure(request->root, request->seconds, devices, lines))
		return -1;
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		lines[irq].deadline_us = request->deadline_us[irq];
		used += lines[irq].used;
	}
	if (!used) {
		complain("no interrupts in %u s: measure under load, or with a larger --seconds",
			 request->seconds);
		return -1;
	}

	print_load(lines, devices);
	printf("now %u %u\n", now.master, now.slave);
	print_latency(now, lines);
	best = print_best(lines, &worst);
	print_latency(best, lines);
	if (!request->apply)
		return 0;

	now_worst = pic_worst(now, lines, NULL);
	if (pic_ratio_cmp(worst, now_worst) >= 0) {
		printf("kept %u %u\n", now.master, now.slave);
		return 0;
	}
	if (pic_order_write(request->root, best))
		return -1;
	printf("applied %u %u\n", best.master, best.slave);
	return 0;
}

static int parse_deadline(const char *text, struct request *request)
{
	const char *s = text;
	u32 deadline_us;
	u8 irq;

	if (i8259_number_parse(&s, 0, I8259_NR_LINES - 1, &irq) || irq == I8259_CASCADE ||
	    *s != '=' || !number(s + 1, 1, UINT32_MAX, &deadline_us)) {
		complain("--deadline is '%s', must be IRQ=US, IRQ 0..15 and not 2, US 1..%u",
			 text, UINT32_MAX);
		return -1;
	}
	request->deadline_us[irq] = deadline_us;
	return 0;
}

/* An option of --measure. Returns 1 if it is none. */
static int parse_option(int option, struct request *request)
{
	switch (option) {
	case 'm':
		request->measure = true;
		return 0;
	case 'a':
		request->apply = true;
		break;
	case 'r':
		request->root = optarg;
		break;
	case 's':
		if (!number(optarg, 1, SECONDS_MAX, &request->seconds)) {
			complain("--seconds is '%s', must be 1..%u", optarg,
				 SECONDS_MAX);
			return -1;
		}
		break;
	case 'd':
		if (parse_deadline(optarg, request))
			return -1;
		break;
	default:
		return 1;
	}
	request->detail = true;
	return 0;
}

static int finish(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	complain("standard output: %s", strerror(errno));
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "latency", required_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ "measure", no_argument, NULL, 'm' },
		{ "seconds", required_argument, NULL, 's' },
		{ "deadline", required_argument, NULL, 'd' },
		{ "apply", no_argument, NULL, 'a' },
		{ "root", required_argument, NULL, 'r' },
		{ }
	};
	struct request request = { .root = "", .seconds = SECONDS_DEFAULT };
	struct pic_line lines[I8259_NR_LINES] = { };
	const char *file = NULL;
	struct pic_ratio worst;
	struct i8259_order order;
	char *words[2], slave[] = "14";
	int option, ret;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 'h') {
			fprintf(stdout, usage, CALLED);
			return finish();
		}
		ret = parse_option(option, &request);
		if (ret < 0)
			return 2;
		if (!ret)
			continue;
		if (option != 'l' || file) {
			fprintf(stderr, usage, CALLED);
			return 2;
		}
		file = optarg;
	}
	if (request.measure && !file && argc == optind) {
		ret = measure_and_apply(&request);
		return finish() || ret ? 2 : 0;
	}
	if (request.measure || request.detail || (argc - optind != 1 && argc - optind != 2)) {
		fprintf(stderr, usage, CALLED);
		return 2;
	}
	words[0] = argv[optind];
	words[1] = argc - optind == 2 ? argv[optind + 1] : slave;
	if (argc - optind == 1 && strchr(words[0], ',')) {
		words[1] = strchr(words[0], ',') + 1;
		words[1][-1] = '\0';
	}
	if (parse_master_slave(words, &order) || (file && parse_file(file, lines)))
		return 2;

	print_order(order);
	if (file) {
		print_latency(order, lines);
		print_best(lines, &worst);
	}
	return finish();
}
