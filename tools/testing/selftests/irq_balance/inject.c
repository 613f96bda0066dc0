// SPDX-License-Identifier: GPL-2.0
/*
 * Raise an interrupt through debugfs (CONFIG_GENERIC_IRQ_INJECTION): the real
 * vector is sent, so entry code, flow handler and ack path run as for a device.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

#define MAX	64
#define TICK	1000000LL

static struct source {
	char	name[16];
	int	fd;
	long	done, failed;
} sources[MAX];

static void sleep_until(long long when)
{
	struct timespec ts = { when / 1000000000LL, when % 1000000000LL };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static int stop;

static void stopped(int sig)
{
	__atomic_store_n(&stop, sig, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	long count, rate, round = 0, due;
	long long start, next;
	char path[64], *name;
	int n = 0, i, last = 0, alive = 0;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "Usage: inject IRQ[,IRQ...] COUNT [PER_SECOND]\n");
		return 2;
	}
	count = atol(argv[2]);
	rate = argc > 3 ? atol(argv[3]) : 0;
	for (name = strtok(argv[1], ","); name && n < MAX; name = strtok(NULL, ","), n++) {
		snprintf(sources[n].name, sizeof(sources[n].name), "%s", name);
		snprintf(path, sizeof(path), "/sys/kernel/debug/irq/irqs/%s", name);
		sources[n].fd = open(path, O_WRONLY);
		if (sources[n].fd < 0) {
			fprintf(stderr, "inject: %s: %s\n", path, strerror(errno));
			return 4;
		}
	}
	signal(SIGTERM, stopped);
	signal(SIGINT, stopped);
	start = now();
	next = start;
	while (round < count && !__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		due = count;
		if (rate > 0) {
			next += TICK;
			sleep_until(next);
			due = (next - start) * rate / 1000000000LL;
			if (due > count)
				due = count;
			/* never catch up more than one hundredth of a second */
			if (now() > next + 10 * TICK) {
				start += now() - next;
				next = now();
			}
		}
		for (; round < due && !__atomic_load_n(&stop, __ATOMIC_RELAXED); round++) {
			for (i = 0; i < n; i++) {
				if (write(sources[i].fd, "trigger", 7) == 7) {
					sources[i].done++;
				} else {
					last = errno;
					sources[i].failed++;
				}
			}
		}
	}
	for (i = 0; i < n; i++) {
		printf("%s: %ld injected, %ld refused\n", sources[i].name, sources[i].done,
		       sources[i].failed);
		alive += sources[i].done > 0;
	}
	printf("%lld ms%s%s\n", (now() - start) / 1000000, last ? ", last refusal: " : "",
	       last ? strerror(last) : "");
	return alive != n;
}
