// SPDX-License-Identifier: GPL-2.0
/*
 * Broadcast frames of an experimental protocol: real load for network cards that
 * are connected to each other only. One burst per millisecond and interface.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX		16
#define PROTOCOL	0x88b5	/* IEEE 802: local experimental */
#define TICK		1000000L

int main(int argc, char **argv)
{
	unsigned char frame[600] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1,
				     PROTOCOL >> 8, PROTOCOL & 255 };
	int sock[MAX], n = 0, i, k, burst;
	struct timespec ts;

	if (argc < 3 || argc - 2 > MAX) {
		fprintf(stderr, "Usage: traffic FRAMES_PER_SECOND INTERFACE...\n");
		return 2;
	}
	burst = atoi(argv[1]) / 1000;
	for (i = 2; i < argc; i++, n++) {
		struct sockaddr_ll to = {
			.sll_family = AF_PACKET,
			.sll_protocol = htons(PROTOCOL),
			.sll_ifindex = if_nametoindex(argv[i]),
		};

		sock[n] = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);
		if (sock[n] < 0 || bind(sock[n], (void *)&to, sizeof(to))) {
			fprintf(stderr, "traffic: %s: %s\n", argv[i], strerror(errno));
			return 4;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &ts);
	for (;;) {
		ts.tv_nsec += TICK;
		if (ts.tv_nsec >= 1000000000L) {
			ts.tv_nsec -= 1000000000L;
			ts.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		for (i = 0; i < n; i++)
			for (k = 0; k < burst; k++)
				if (send(sock[i], frame, sizeof(frame), 0) < 0)
					break;
	}
}
