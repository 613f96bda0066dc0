// SPDX-License-Identifier: GPL-2.0
/*
 * throttle.c: QEMU plugin that gives the CPUs of a guest a fixed speed
 *
 *	-plugin throttle.so,mips=N,gate=FILE,out=FILE
 *
 * From the time when the file gate exists, each CPU executes at most N million instructions
 * per second of real time: every QUANTUM instructions it waits until they are due. As long as
 * the host can execute what all CPUs together are given, they run as fast as each
 * other and in parallel, however many cores the host has and whatever else it does.
 *
 * A CPU that the host held up catches up if it was late by less than CREDIT; the rest is
 * lost. Idle time is no delay. At the end the file out has a line for each CPU: the seconds that
 * its instructions took, and those that were lost.
 *
 * Debian has no header for plugins: the declarations are those of QEMU 9.1 and later.
 */
#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT		__attribute__((visibility("default")))
#define QUANTUM		2000		/* 80 us at 25 MIPS */
#define CREDIT		10000000	/* ns: a time slice of the host */
#define LOOK		10000000	/* ns between looks for the gate */

typedef uint64_t plugin_id;
typedef struct { void *score; size_t offset; } scored;
enum { NO_REGS };
enum { ADD_U64 };
enum { GREATER_EQUAL = 7 };

struct qemu_plugin_tb;
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*cb)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_idle_cb(plugin_id id, void (*cb)(plugin_id, unsigned int));
void qemu_plugin_register_vcpu_resume_cb(plugin_id id, void (*cb)(plugin_id, unsigned int));
void qemu_plugin_register_atexit_cb(plugin_id id, void (*cb)(plugin_id, void *), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void *qemu_plugin_scoreboard_new(size_t size);
void *qemu_plugin_scoreboard_find(void *score, unsigned int cpu);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb, int op, scored entry, uint64_t value);
void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb *tb, void (*cb)(unsigned int, void *), int flags,
					       int cond, scored entry, uint64_t value, void *data);

EXPORT int qemu_plugin_version = API_VERSION;

struct cpu {
	uint64_t insns;		/* since they were charged last */
	int64_t due;		/* when those charged should be done: ns */
	int64_t busy, late;	/* ns */
};

static void *cpus;
static __thread struct cpu *me;
static scored insns;
static double ns_per_insn;
static const char *gate, *out;
static int64_t opened;
static unsigned int seen;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/*
 * All threads of this process run before other work, if the user may ask the host for that: the
 * nice value alone lets a thread that woke up wait for the time slice of another one.
 */
static void hurry(void)
{
	const struct sched_param param = { .sched_priority = 1 };
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *task;

	while (dir && (task = readdir(dir)))
		if (atoi(task->d_name))
			sched_setscheduler(atoi(task->d_name), SCHED_RR, &param);
	if (dir)
		closedir(dir);
}

static bool is_open(int64_t at)
{
	static int64_t looked;

	if (__atomic_load_n(&opened, __ATOMIC_ACQUIRE))
		return true;
	if (at - __atomic_load_n(&looked, __ATOMIC_RELAXED) < LOOK)
		return false;
	__atomic_store_n(&looked, at, __ATOMIC_RELAXED);
	if (access(gate, F_OK))
		return false;
	hurry();
	__atomic_store_n(&opened, at, __ATOMIC_RELEASE);
	return true;
}

/* Charge what was executed. Returns by how many ns the CPU is late. */
static int64_t charge(struct cpu *c, int64_t at)
{
	int64_t took = c->insns * ns_per_insn;

	c->insns = 0;
	if (!is_open(at)) {
		c->due = at;
		return 0;
	}
	c->busy += took;
	c->due += took;
	return at - c->due;
}

static void quantum(unsigned int i, void *unused)
{
	struct cpu *c = qemu_plugin_scoreboard_find(cpus, i);
	int64_t at = now(), late = charge(c, at);

	me = c;
	if (i >= __atomic_load_n(&seen, __ATOMIC_RELAXED))
		__atomic_store_n(&seen, i + 1, __ATOMIC_RELAXED);
	if (late > CREDIT) {
		c->late += late - CREDIT;
		c->due = at - CREDIT;
	}
	if (late < 0) {
		struct timespec t = { c->due / 1000000000, c->due % 1000000000 };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
}

static void idle(plugin_id id, unsigned int i)
{
	struct cpu *c = qemu_plugin_scoreboard_find(cpus, i);
	int64_t late = charge(c, now());

	if (late > CREDIT)
		c->late += late - CREDIT;
}

static void resume(plugin_id id, unsigned int i)
{
	struct cpu *c = qemu_plugin_scoreboard_find(cpus, i);
	int64_t at = now();

	if (c->due < at)
		c->due = at;
}

/* Code that is executed for the first time is slow on any host */
static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
	int64_t at = now();

	if (me && me->due < at)
		me->due = at;
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, ADD_U64, insns, qemu_plugin_tb_n_insns(tb));
	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, quantum, NO_REGS, GREATER_EQUAL, insns, QUANTUM, NULL);
}

static void ended(plugin_id id, void *unused)
{
	FILE *file = fopen(out, "w");

	if (!file)
		return;
	for (unsigned int i = 0; i < seen; i++) {
		struct cpu *c = qemu_plugin_scoreboard_find(cpus, i);

		fprintf(file, "cpu %u busy %.3f s late %.3f s\n", i, c->busy / 1e9, c->late / 1e9);
	}
	fclose(file);
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "mips=", 5))
			ns_per_insn = 1000 / atof(argv[i] + 5);
		else if (!strncmp(argv[i], "gate=", 5))
			gate = strdup(argv[i] + 5);
		else if (!strncmp(argv[i], "out=", 4))
			out = strdup(argv[i] + 4);
	}
	if (!(ns_per_insn > 0) || !gate || !out) {
		fputs("throttle: expected mips=, gate= and out=\n", stderr);
		return -1;
	}
	cpus = qemu_plugin_scoreboard_new(sizeof(struct cpu));
	insns = (scored){ cpus, offsetof(struct cpu, insns) };
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_vcpu_idle_cb(id, idle);
	qemu_plugin_register_vcpu_resume_cb(id, resume);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
