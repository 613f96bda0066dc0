// SPDX-License-Identifier: GPL-2.0
/*
 * pic-order: print the order in which the 8259A pair serves its lines, and the
 * latency of the lines. Built from the kernel's own i8259_order.c.
 *
 *	pic-order MASTER SLAVE [--latency FILE]
 *	pic-order MASTER[,SLAVE] [--latency FILE]	as i8259_priority= has it
 *
 * The output has a row "RANK IRQ LINE" for each device line, in the order of
 * service. With --latency, FILE (- is standard input) has a row "irq N COST_US
 * RATE_HZ [DEADLINE_US]" for each line that is used; '#' starts a comment. The
 * output then has rows "latency IRQ US ok|late|unbounded" for these lines, and
 * "best MASTER SLAVE" for the order with the least worst latency / deadline.
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

#define FIELDS_MAX	5
#define ROW_MAX		4096

static const char usage[] =
	"usage: pic-order MASTER SLAVE [--latency FILE]\n"
	"       pic-order MASTER[,SLAVE] [--latency FILE]\n"
	"  MASTER  the master's line that is served first, 0..7 (2: the slave)\n"
	"  SLAVE   the slave's line that is served first, 8..15 (14 if not given)\n"
	"  FILE    rows of: irq N COST_US RATE_HZ [DEADLINE_US]; - is standard input\n";

static int parse_master_slave(char **argv, struct i8259_order *order)
{
	const char *master = argv[0], *slave = argv[1];

	if (i8259_number_parse(&master, 0, 7, &order->master) || *master) {
		fprintf(stderr, "pic-order: MASTER is '%s', must be 0..7\n", argv[0]);
		return -1;
	}
	if (i8259_number_parse(&slave, 8, 15, &order->slave) || *slave) {
		fprintf(stderr, "pic-order: SLAVE is '%s', must be 8..15\n", argv[1]);
		return -1;
	}
	return 0;
}

static int parse_u32(const char *file, unsigned int row, const char *what, const char *text,
		     u32 low, u32 *value)
{
	u64 n = 0;
	const char *s;

	for (s = text; *s >= '0' && *s <= '9' && n <= UINT32_MAX; s++)
		n = n * 10 + (*s - '0');
	if (s == text || *s || n > UINT32_MAX || n < low) {
		fprintf(stderr, "%s:%u: %s is '%s', must be a whole number, %u..%u\n",
			file, row, what, text, low, UINT32_MAX);
		return -1;
	}
	*value = n;
	return 0;
}

static int parse_row(const char *file, unsigned int row, char *text, struct i8259_line *lines)
{
	char *field[FIELDS_MAX + 1], *save;
	struct i8259_line new = { .used = true };
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

static int parse_file(const char *name, struct i8259_line *lines)
{
	bool is_stdin = !strcmp(name, "-");
	FILE *file = is_stdin ? stdin : fopen(name, "r");
	unsigned int row = 0;
	char text[ROW_MAX];
	int c = 0, ret = 0;
	size_t len;

	if (!file) {
		fprintf(stderr, "pic-order: %s: %s\n", name, strerror(errno));
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
		fprintf(stderr, "pic-order: %s: %s\n", name, strerror(errno));
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

static void print_latency(struct i8259_order order, const struct i8259_line *lines)
{
	struct i8259_latency latency[I8259_NR_LINES];
	struct i8259_ratio worst;

	i8259_order_latency(order, lines, latency);
	for (unsigned int irq = 0; irq < I8259_NR_LINES; irq++) {
		switch (latency[irq].verdict) {
		case I8259_UNUSED:
			break;
		case I8259_UNBOUNDED:
			printf("latency %u - unbounded\n", irq);
			break;
		default:
			printf("latency %u %llu %s\n", irq, (unsigned long long)latency[irq].us,
			       latency[irq].verdict == I8259_LATE ? "late" : "ok");
		}
	}

	order = i8259_order_best(lines, &worst);
	printf("best %u %u\n", order.master, order.slave);
}

static int finish(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	perror("pic-order: standard output");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "latency", required_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct i8259_line lines[I8259_NR_LINES] = { };
	const char *file = NULL;
	struct i8259_order order;
	char *words[2], slave[] = "14";
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 'h') {
			fputs(usage, stdout);
			return finish();
		}
		if (option != 'l' || file) {
			fputs(usage, stderr);
			return 2;
		}
		file = optarg;
	}
	if (argc - optind != 1 && argc - optind != 2) {
		fputs(usage, stderr);
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
	if (file)
		print_latency(order, lines);
	return finish();
}
