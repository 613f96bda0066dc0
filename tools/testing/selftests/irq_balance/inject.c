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

#define MAX	64
#define TICK	1000000LL
#define SECOND	1000000000LL

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

static int stop;

static void stopped(int sig)
{
	__atomic_store_n(&stop, sig, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	long count, rate, round = 0, due, done[MAX] = { }, failed[MAX] = { };
	int fds[MAX], n = 0, last = 0, idle = 0;
	char path[64], *names[MAX], *name;
	long long start, next;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "Usage: inject IRQ[,IRQ...] COUNT [PER_SECOND]\n");
		return 2;
	}
	count = atol(argv[2]);
	rate = argc > 3 ? atol(argv[3]) : 0;
	for (name = strtok(argv[1], ","); name && n < MAX; name = strtok(NULL, ","), n++) {
		names[n] = name;
		snprintf(path, sizeof(path), "/sys/kernel/debug/irq/irqs/%s", name);
		fds[n] = open(path, O_WRONLY);
		if (fds[n] < 0) {
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
			struct timespec ts;

			next += TICK;
			ts = (struct timespec){ next / SECOND, next % SECOND };
			while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
				;
			due = (next - start) * rate / SECOND;
			if (due > count)
				due = count;
			/* Never catch up more than one hundredth of a second. */
			if (now() > next + 10 * TICK) {
				start += now() - next;
				next = now();
			}
		}
		for (; round < due && !__atomic_load_n(&stop, __ATOMIC_RELAXED); round++) {
			for (int i = 0; i < n; i++) {
				if (write(fds[i], "trigger", 7) == 7) {
					done[i]++;
				} else {
					last = errno;
					failed[i]++;
				}
			}
		}
	}
	for (int i = 0; i < n; i++) {
		printf("%s: %ld injected, %ld refused\n", names[i], done[i], failed[i]);
		idle += !done[i];
	}
	printf("%lld ms%s%s\n", (now() - start) / 1000000, last ? ", last refusal: " : "",
	       last ? strerror(last) : "");
	return idle > 0;
}
