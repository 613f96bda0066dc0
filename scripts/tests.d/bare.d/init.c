// SPDX-License-Identifier: GPL-2.0
/*
 * init WHAT[,WHAT...] CPU...: all there is in a guest, with the kernel's nolibc
 *
 *   spread	the interrupts of the module beat.c are crowded on CPU0 and raised: each
 *		has to end on one of the CPUs that are named, and none has more than it must
 *   torture	the mover, for as many seconds as the file /seconds says
 *   sleep	while interrupts move, in each way that /ways names: "deep" for S3,
 *		or a word for /sys/power/pm_test and one for /sys/power/state
 *   kexec	into /bzImage with /second.cpio and the words of /second
 *
 * Speaks TAP, and reboots.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef __NR_kexec_file_load
/* 32 bit x86 has none */
#define __NR_kexec_file_load	-1
#endif

#define MAX	8
#define NR_IRQS	256
#define BALANCER "/sys/kernel/irq_balance/"

static int sources[MAX], nr_sources;
static char masks[NR_IRQS][64];

/* The first line of a file, "" if there is none */
static const char *get(const char *format, ...)
{
	static char text[256];
	char path[128], *end;
	va_list args;
	int fd, n;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = 0;
	end = strchr(text, '\n');
	if (end)
		*end = 0;
	return text;
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	if (!done)
		printf("# %s: cannot write %s\n", path, text);
	return done;
}

static void result(bool good, const char *name)
{
	static int n;

	printf("%s %d - %s\n", good ? "ok" : "not ok", ++n, name);
}

static void pause_ms(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static bool insmod(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY);
	bool done = fd >= 0 && !syscall(__NR_finit_module, fd, parameters, 0);

	if (fd >= 0)
		close(fd);
	if (!done)
		printf("# %s cannot be loaded\n", path);
	return done;
}

static void find_sources(void)
{
	const char *name;
	int irq;

	insmod("/beat.ko", "");
	for (irq = 0; irq < NR_IRQS && nr_sources < MAX; irq++) {
		name = get("/sys/kernel/irq/%d/actions", irq);
		if (strcmp(name, "beat"))
			continue;
		printf("# irq %d: chip %s, ", irq, get("/sys/kernel/irq/%d/chip_name", irq));
		printf("%s\n", get("/sys/kernel/irq/%d/balance_status", irq));
		if (!strcmp(get("/sys/kernel/irq/%d/balance_status", irq), "movable"))
			sources[nr_sources++] = irq;
	}
}

static int where(int source)
{
	return atoi(get("/proc/irq/%d/effective_affinity_list", sources[source]));
}

static void print_places(const char *when)
{
	int i;

	printf("# %s:", when);
	for (i = 0; i < nr_sources; i++)
		printf(" %d:CPU%d", sources[i], where(i));
	printf("\n");
}

static bool hotplug(const char *online)
{
	char path[64];
	bool good = true;
	int cpu;

	for (cpu = 1; cpu < 8; cpu++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
		if (get("%s", path)[0])
			good &= put(path, online);
	}
	return good;
}

static bool same_masks(bool first)
{
	const char *mask;
	bool same = true;
	int irq;

	for (irq = 0; irq < NR_IRQS; irq++) {
		mask = get("/proc/irq/%d/smp_affinity", irq);
		if (first) {
			strlcpy(masks[irq], mask, sizeof(masks[irq]));
		} else if (strcmp(masks[irq], mask)) {
			printf("# irq %d: %s was %s\n", irq, mask, masks[irq]);
			same = false;
		}
	}
	return same;
}

static unsigned long beats(const char *what)
{
	return strtoul(get("/sys/module/beat/parameters/%s", what), NULL, 10);
}

static void start_raising(void)
{
	put("/sys/module/beat/parameters/run", "1");
}

/* Was each that was raised handled? */
static void stop_raising(void)
{
	unsigned long raised;
	int i;

	put("/sys/module/beat/parameters/run", "0");
	pause_ms(100);
	raised = beats("raised");
	for (i = 0; i < 100 && raised != beats("handled"); i++)
		pause_ms(100);
	printf("# Interrupts raised %lu, handled %lu\n", raised, beats("handled"));
	result(raised > 1000 && raised == beats("handled"), "no interrupt is lost");
}

static int nr_cpus;
static char **cpus;

/* On the CPUs that are named, no more on one than there have to be */
static bool is_spread(void)
{
	int i, k, most = (nr_sources + nr_cpus - 1) / nr_cpus, found = 0;

	for (i = 0; i < nr_cpus; i++) {
		int here = 0;

		for (k = 0; k < nr_sources; k++)
			here += where(k) == atoi(cpus[i]);
		if (here > most)
			return false;
		found += here;
	}
	return found == nr_sources;
}

static bool gets_spread(void)
{
	int i;

	for (i = 0; i < 150 && !is_spread(); i++)
		pause_ms(100);
	printf("# after about %d ms\n", i * 100);
	print_places("balanced");
	return i < 150;
}

static void spread(void)
{
	int i;

	put(BALANCER "state", "off");
	/* With nohz_full one of them keeps the time and stays */
	hotplug("0");
	result(hotplug("1"), "CPUs go offline and come back");
	print_places("crowded");
	for (i = 0; i < nr_sources && !where(i); i++)
		;
	result(i == nr_sources, "then all interrupts are on CPU0");

	same_masks(true);
	put(BALANCER "state", "on");
	start_raising();
	result(gets_spread(), "they are spread to the CPUs that are for them");
	pause_ms(3000);
	print_places("later");
	result(is_spread(), "and stays there");
	for (i = 0; i < nr_sources; i++) {
		printf("# irq %d: %s ns/s, ", sources[i],
		       get("/sys/kernel/irq/%d/load_ns_per_s", sources[i]));
		printf("%s ns in all, ", get("/sys/kernel/irq/%d/load_time_ns", sources[i]));
		printf("per CPU %s\n", get("/sys/kernel/irq/%d/per_cpu_count", sources[i]));
	}
	stop_raising();
	result(same_masks(false), "smp_affinity of every interrupt is what it was");
}

static bool nap(char *way)
{
	static char copy[64];
	char *state;

	printf("# %s\n", way);
	if (!strcmp(way, "deep")) {
		put("/sys/power/pm_test", "none");
		return put("/sys/power/mem_sleep", "deep") &&
		       put("/sys/class/rtc/rtc0/wakealarm", "0") &&
		       put("/sys/class/rtc/rtc0/wakealarm", "+4") &&
		       put("/sys/power/state", "mem");
	}
	strlcpy(copy, way, sizeof(copy));
	state = strchr(copy, ' ');
	*state++ = 0;
	return put("/sys/power/pm_test", copy) && put("/sys/power/state", state);
}

/* Each way that /ways names, one a line */
static bool naps(void)
{
	static char ways[512];
	int fd = open("/ways", O_RDONLY), n = read(fd, ways, sizeof(ways) - 1);
	bool good = n > 0;
	char *way, *end;

	close(fd);
	ways[n > 0 ? n : 0] = 0;
	for (way = ways; (end = strchr(way, '\n')); way = end + 1) {
		*end = 0;
		good &= nap(way);
	}
	return good;
}

static int passes(void)
{
	return atoi(get(BALANCER "stats/passes"));
}

static int moves(void)
{
	return atoi(get(BALANCER "stats/moves_rotate"));
}

static void sleep_and_wake(void)
{
	int before;

	put(BALANCER "state", "off");
	result(naps(), "without the balancer: the machine sleeps and wakes");
	same_masks(true);

	put(BALANCER "interval_ms", "20");
	put(BALANCER "rotate_ms", "20");
	put(BALANCER "policy", "rotate");
	put(BALANCER "state", "on");
	start_raising();
	pause_ms(1000);
	before = moves();
	result(before > 0 && naps(), "while interrupts move: the machine sleeps and wakes");
	before = moves();
	pause_ms(1000);
	printf("# %d passes, %d moves in the second after\n", passes(), moves() - before);
	result(moves() > before, "and the interrupts go on to move");
	put(BALANCER "policy", "balance");
	result(gets_spread(), "they are spread");
	stop_raising();
	result(same_masks(false), "the balancer adds nothing to what sleep does to smp_affinity");
}

static void kexec(void)
{
	const char *words = get("/second");
	int kernel = open("/bzImage", O_RDONLY);
	int initrd = open("/second.cpio", O_RDONLY);
	unsigned long length = strlen(words) + 1;

	/* Nothing may be called among the arguments: nolibc has some in registers by then */
	if (syscall(__NR_kexec_file_load, kernel, initrd, length, words, 0)) {
		printf("# The kernel does not load: %d\n", errno);
		result(false, "kexec_file_load");
		return;
	}
	put(BALANCER "interval_ms", "20");
	put(BALANCER "rotate_ms", "20");
	put(BALANCER "policy", "rotate");
	put(BALANCER "state", "on");
	start_raising();
	for (int tries = 0; !moves() && tries < 100; tries++)
		pause_ms(200);
	result(moves() > 0, "interrupts move until kexec");
	reboot(LINUX_REBOOT_CMD_KEXEC);
	result(false, "kexec");
}

static void torture(int seconds)
{
	bool good = insmod("/torture.ko", "") &&
		    insmod("/balance_torture.ko", "stat_interval=30");

	pause_ms(seconds * 1000);
	good = good && !syscall(__NR_delete_module, "balance_torture", 0);
	result(good, "the torture test comes and goes");
}

int main(int argc, char **argv)
{
	char *what;
	int i;

	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 3) {
		printf("not ok - nothing to do\n");
		reboot(LINUX_REBOOT_CMD_RESTART);
	}
	nr_cpus = argc - 2;
	cpus = argv + 2;

	for (i = 0; i < 8; i++) {
		if (get("/sys/devices/system/cpu/cpu%d/cpu_capacity", i)[0])
			printf("# CPU%d has capacity %s\n", i,
			       get("/sys/devices/system/cpu/cpu%d/cpu_capacity", i));
	}
	find_sources();
	result(nr_sources >= 3, "there are interrupts to move");

	what = argv[1];
	if (strstr(what, "spread"))
		spread();
	if (strstr(what, "sleep"))
		sleep_and_wake();
	if (strstr(what, "torture"))
		torture(atoi(get("/seconds")));
	if (strstr(what, "kexec"))
		kexec();
	printf("end\n");
	reboot(LINUX_REBOOT_CMD_RESTART);
	return 0;
}
