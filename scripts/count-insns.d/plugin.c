// SPDX-License-Identifier: GPL-2.0
/*
 * QEMU TCG plugin: counts the guest instructions from each execution of the
 * instruction at "start" to the next one at "stop", in all and, if there is one,
 * up to and from that at "middle". Writes histograms to "out" at exit, a line
 * being "SPAN MARKS INSTRUCTIONS OCCURRENCES": SPAN is 0 for start to middle, 1 for
 * middle to stop, 2 for all; bit N of MARKS is set if the instruction at the N-th
 * "mark" was executed on the way. Where an instruction at a "skip" was executed in
 * between, or that at "need" was not, nothing is counted. "start" may be "stop", too: of a
 * loop. For one CPU.
 *
 * Debian does not package qemu-plugin.h; what is used of that stable interface
 * is declared here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
static uint64_t start, middle, stop, need, skip[MARKS], mark[MARKS], count, hard;
static uint64_t histogram[3][1 << MARKS][MAX + 1];
static unsigned int marks, nr_marks, nr_skips;
static bool counting, seen;
static const char *out;

static bool among(const uint64_t *list, unsigned int n, uint64_t addr)
{
	while (n--)
		if (list[n] == addr)
			return true;
	return false;
}

static void record(unsigned int span, uint64_t n)
{
	if (seen || !need)
		histogram[span][marks][n < MAX ? n : MAX]++;
}

/* Before each instruction that does not matter */
static void other(unsigned int cpu, void *data)
{
	count++;
}

/* Before each that does; data is its address */
static void executed(unsigned int cpu, void *data)
{
	uint64_t addr = (uintptr_t)data;
	unsigned int m;

	count++;
	for (m = 0; m < nr_marks; m++)
		marks |= (mark[m] == addr) << m;
	if (addr == need) {
		seen = true;
	} else if (addr == middle && counting && !hard) {
		hard = count - 1;
		record(0, hard);
	} else if (addr == stop || among(skip, nr_skips, addr)) {
		if (counting && addr == stop) {
			if (hard)
				record(1, count - 1 - hard);
			record(2, count - 1);
		}
		counting = false;
	}
	if (addr == start) {
		counting = true;
		seen = false;
		count = 1;
		hard = 0;
		marks = 0;
	}
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);

	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t addr = qemu_plugin_insn_vaddr(insn);
		bool matters = addr == start || addr == middle || addr == stop || addr == need ||
			       among(skip, nr_skips, addr) || among(mark, nr_marks, addr);

		qemu_plugin_register_vcpu_insn_exec_cb(insn, matters ? executed : other, QEMU_PLUGIN_CB_NO_REGS,
						       (void *)(uintptr_t)addr);
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
	static const struct { const char *format; uint64_t *addr; } points[] = {
		{ "start=%llx", &start }, { "middle=%llx", &middle }, { "stop=%llx", &stop }, { "need=%llx", &need } };
	unsigned long long v;
	int i, n;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			out = argv[i] + 4;
		else if (sscanf(argv[i], "mark=%llx", &v) == 1 && nr_marks < MARKS)
			mark[nr_marks++] = v;
		else if (sscanf(argv[i], "skip=%llx", &v) == 1 && nr_skips < MARKS)
			skip[nr_skips++] = v;
		for (n = 0; n < 4; n++)
			if (sscanf(argv[i], points[n].format, &v) == 1)
				*points[n].addr = v;
	}
	if (!start || !stop || !out) {
		fprintf(stderr, "plugin: start=, stop= and out= are needed\n");
		return 1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_atexit_cb(id, finish, NULL);
	return 0;
}
