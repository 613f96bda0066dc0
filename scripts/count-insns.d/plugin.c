// SPDX-License-Identifier: GPL-2.0
/*
 * QEMU TCG plugin: counts the guest instructions from each execution of the
 * instruction at "start" to the next one at "stop", in all and, if there is one,
 * up to and from that at "middle". Writes histograms to "out" at exit, a line
 * being "SPAN MARKS INSTRUCTIONS OCCURRENCES": SPAN is 0 for start to middle, 1 for
 * middle to stop, 2 for all; bit N of MARKS is set if the instruction at the N-th
 * "mark" was executed on the way. Where the instruction at "skip" was executed in
 * between, nothing is counted. For one CPU.
 *
 * Debian does not package qemu-plugin.h; what is used of that stable interface
 * is declared here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
		void (*cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
		void (*cb)(unsigned int cpu, void *data),
		enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
		void (*cb)(qemu_plugin_id_t id, void *data), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = API_VERSION;

#define MAX	100000
#define MARKS	4
static uint64_t start, middle, stop, skip, mark[MARKS], count, hard;
static uint64_t histogram[3][1 << MARKS][MAX + 1];
static unsigned int marks, nr_marks;
static bool counting;
static const char *out;

static void record(unsigned int span, uint64_t n)
{
	histogram[span][marks][n < MAX ? n : MAX]++;
}

static void at_start(unsigned int cpu, void *data)
{
	counting = true;
	count = 1;
	hard = 0;
	marks = 0;
}

static void at_other(unsigned int cpu, void *data)
{
	count++;
}

static void at_mark(unsigned int cpu, void *data)
{
	count++;
	marks |= 1U << (uintptr_t)data;
}

static void at_middle(unsigned int cpu, void *data)
{
	if (counting && !hard) {
		hard = count;
		record(0, hard);
	}
	count++;
}

static void at_skip(unsigned int cpu, void *data)
{
	counting = false;
}

static void at_stop(unsigned int cpu, void *data)
{
	if (counting) {
		if (hard)
			record(1, count - hard);
		record(2, count);
	}
	counting = false;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);

	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t addr = qemu_plugin_insn_vaddr(insn);
		uintptr_t m = 0;

		while (m < nr_marks && mark[m] != addr)
			m++;
		qemu_plugin_register_vcpu_insn_exec_cb(insn,
			addr == start ? at_start : addr == stop ? at_stop :
			addr == middle ? at_middle : addr == skip ? at_skip :
			m < nr_marks ? at_mark : at_other,
			QEMU_PLUGIN_CB_NO_REGS, (void *)m);
	}
}

static void finish(qemu_plugin_id_t id, void *data)
{
	FILE *f = fopen(out, "w");
	unsigned int span, m;
	size_t i;

	if (!f)
		return;
	for (span = 0; span < 3; span++)
		for (m = 0; m < 1U << MARKS; m++)
			for (i = 0; i <= MAX; i++)
				if (histogram[span][m][i])
					fprintf(f, "%u %u %zu %llu\n", span, m, i,
						(unsigned long long)histogram[span][m][i]);
	fclose(f);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info,
			       int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "start=", 6))
			start = strtoull(argv[i] + 6, NULL, 16);
		else if (!strncmp(argv[i], "middle=", 7))
			middle = strtoull(argv[i] + 7, NULL, 16);
		else if (!strncmp(argv[i], "mark=", 5) && nr_marks < MARKS)
			mark[nr_marks++] = strtoull(argv[i] + 5, NULL, 16);
		else if (!strncmp(argv[i], "stop=", 5))
			stop = strtoull(argv[i] + 5, NULL, 16);
		else if (!strncmp(argv[i], "skip=", 5))
			skip = strtoull(argv[i] + 5, NULL, 16);
		else if (!strncmp(argv[i], "out=", 4))
			out = argv[i] + 4;
	}
	if (!start || !stop || !out) {
		fprintf(stderr, "plugin: start=, stop= and out= are needed\n");
		return 1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_atexit_cb(id, finish, NULL);
	return 0;
}
