// SPDX-License-Identifier: GPL-2.0
/*
 * replay - run the planner on a workload
 *
 * Reads a workload and prints the decisions of the balancer. The planner is
 * the kernel's own: the same files, compiled for user space.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* "replay", or "irqload replay" */
#define CALLED		program_invocation_short_name

#define SETS_MAX	64
#define EXPECTED	"%s: --set %s: expected "

#define KNOB(name, def, min, max)	\
	{ #name, offsetof(struct irq_balance_settings, name), def, min, max },
static const struct knob {
	const char *name;
	size_t offset;
	u32 def, min, max;
} knobs[] = { IRQ_BALANCE_SETTINGS(KNOB) };

static void print_help(FILE *out)
{
	unsigned int i;

	fprintf(out, "usage: %s [OPTIONS] FILE\n\n", CALLED);
	fputs("FILE is a workload, or - for the standard input. Prints what the balancer\n"
	      "does with it: moves, where each interrupt is, and passes.\n\n"
	      "  --own-pace        passes when the balancer would make them, not those of a\n"
	      "                    recording\n"
	      "  --program NAME    rotate, compact or keepoff plans, as loaded into a kernel\n"
	      "  --why             in the end a line that says why each interrupt stays\n"
	      "  --set KNOB=VALUE  a setting; knobs are:\n", out);
	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		fprintf(out, "  %-16s %u..%u, default %u\n", knobs[i].name,
			knobs[i].min, knobs[i].max, knobs[i].def);
	fputs("  state            on, off or observe, default on\n"
	      "  cpus             list of CPUs of FILE, or all, the default\n", out);
}

/* The programs of bpf/ */
extern const struct irq_balance_program rotate_program, compact_program, keepoff_program;
static const struct irq_balance_program * const programs[] = {
	&rotate_program, &compact_program, &keepoff_program,
};

static int choose_program(struct sim_options *opt, const char *name)
{
	unsigned int i;

	opt->program = NULL;
	for (i = 0; i < ARRAY_SIZE(programs); i++) {
		if (!strcmp(name, programs[i]->name))
			opt->program = programs[i];
	}
	if (!opt->program && strcmp(name, "none")) {
		fprintf(stderr, "%s: --program %s: expected rotate, compact, keepoff or none\n",
			CALLED, name);
		return -1;
	}
	return 0;
}

/* Apply the settings and the state; cpus= needs the machine and comes later. */
static int turn_knobs(struct sim_options *opt, char **sets, unsigned int nr)
{
	static const char * const states[] = {
		[SIM_OFF] = "off", [SIM_ON] = "on", [SIM_OBSERVE] = "observe",
	};
	unsigned int i, j;

	for (i = 0; i < nr; i++) {
		const char *eq = strchr(sets[i], '=');
		const struct knob *knob = knobs;
		u64 value;

		if (!eq) {
			fprintf(stderr, EXPECTED "KNOB=VALUE\n", CALLED, sets[i]);
			return -1;
		}
		if (!strncmp(sets[i], "cpus=", 5))
			continue;
		if (!strncmp(sets[i], "state=", 6)) {
			for (j = 0; j < ARRAY_SIZE(states) && strcmp(eq + 1, states[j]); j++)
				;
			if (j == ARRAY_SIZE(states)) {
				fprintf(stderr, EXPECTED "on, off or observe\n", CALLED, sets[i]);
				return -1;
			}
			opt->state = j;
			continue;
		}
		while (knob < knobs + ARRAY_SIZE(knobs) &&
		       (strncmp(sets[i], knob->name, eq - sets[i]) || knob->name[eq - sets[i]]))
			knob++;
		if (knob == knobs + ARRAY_SIZE(knobs)) {
			fprintf(stderr, EXPECTED "the name of a knob\n", CALLED, sets[i]);
			return -1;
		}
		if (workload_number(eq + 1, knob->max, &value) || value < knob->min) {
			fprintf(stderr, EXPECTED "%u..%u\n", CALLED, sets[i], knob->min,
				knob->max);
			return -1;
		}
		*(u32 *)((char *)&opt->set + knob->offset) = value;
	}
	return 0;
}

static int finish(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	fprintf(stderr, "%s: standard output: %s\n", CALLED, strerror(errno));
	return 2;
}

int main(int argc, char **argv)
{
	struct sim_options opt = { .state = SIM_ON, .set = IRQ_BALANCE_DEFAULTS };
	const char *name = NULL;
	struct sim_result result;
	struct workload load;
	char *sets[SETS_MAX];
	unsigned int nr = 0, i;
	FILE *in;
	int ret;

	for (i = 1; i < (unsigned int)argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			print_help(stdout);
			return finish();
		}
		if (!strcmp(argv[i], "--own-pace")) {
			opt.own_pace = true;
		} else if (!strcmp(argv[i], "--why")) {
			opt.why = true;
		} else if (!strcmp(argv[i], "--program") && i + 1 < (unsigned int)argc) {
			if (choose_program(&opt, argv[++i]))
				return 2;
		} else if (!strncmp(argv[i], "--program=", 10)) {
			if (choose_program(&opt, argv[i] + 10))
				return 2;
		} else if (!strcmp(argv[i], "--set") && i + 1 < (unsigned int)argc &&
		    nr < SETS_MAX) {
			sets[nr++] = argv[++i];
		} else if (!strncmp(argv[i], "--set=", 6) && nr < SETS_MAX) {
			sets[nr++] = argv[i] + 6;
		} else if (!name && (argv[i][0] != '-' || !argv[i][1])) {
			name = argv[i];
		} else {
			print_help(stderr);
			return 2;
		}
	}
	if (!name) {
		print_help(stderr);
		return 2;
	}

	if (turn_knobs(&opt, sets, nr))
		return 2;
	in = strcmp(name, "-") ? fopen(name, "r") : stdin;
	if (!in) {
		fprintf(stderr, "%s: %s: %s\n", CALLED, name, strerror(errno));
		return 2;
	}
	ret = workload_read(&load, name, in, stderr);
	for (i = 0; i < nr && !ret; i++) {
		if (strncmp(sets[i], "cpus=", 5))
			continue;
		free(opt.cpus);
		opt.cpus = NULL;
		if (!strcmp(sets[i] + 5, "all"))
			continue;
		opt.cpus = calloc(BITS_TO_LONGS(load.nr_cpus), sizeof(*opt.cpus));
		ret = !opt.cpus || workload_cpulist(&load, sets[i] + 5, opt.cpus);
		if (ret)
			fprintf(stderr, EXPECTED "a list of the machine's CPUs\n",
				CALLED, sets[i]);
	}
	if (!ret)
		sim_run(&load, &opt, stdout, &result);
	workload_free(&load);
	free(opt.cpus);
	return ret ? 2 : finish();
}
