// SPDX-License-Identifier: GPL-2.0
/*
 * Raise an interrupt through debugfs (CONFIG_GENERIC_IRQ_INJECTION): the real
 * vector is sent, so entry code, flow handler and ack path run as for a device.
 */
#include <errno.h>
#include <fcntl.h>
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

int main(int argc, char **argv)
{
	long count, rate, done = 0, failed = 0;
	long long start, due;
	char path[128];
	int fd, last = 0;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "Usage: inject IRQ COUNT [PER_SECOND]\n");
		return 2;
	}
	count = atol(argv[2]);
	rate = argc > 3 ? atol(argv[3]) : 0;
	snprintf(path, sizeof(path), "/sys/kernel/debug/irq/irqs/%s", argv[1]);
	fd = open(path, O_WRONLY);
	if (fd < 0) {
		fprintf(stderr, "inject: %s: %s\n", path, strerror(errno));
		return 4;
	}
	start = now();
	for (; done < count; done++) {
		if (rate > 0) {
			struct timespec ts;

			due = start + done * 1000000000LL / rate;
			ts.tv_sec = due / 1000000000LL;
			ts.tv_nsec = due % 1000000000LL;
			while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
				;
		}
		if (write(fd, "trigger", 7) != 7) {
			last = errno;
			failed++;
		}
	}
	printf("%ld injected, %ld refused, %lld ms\n", done - failed, failed,
	       (now() - start) / 1000000);
	if (failed)
		fprintf(stderr, "inject: %s: %s\n", path, strerror(last));
	return failed == done;
}
