// SPDX-License-Identifier: GPL-2.0
/*
 * client DIR PORT...: keeps echo requests outstanding at each card of a guest
 *
 * QEMU's netdev I receives UDP datagrams at the PORT 2 I and sends to the PORT 2 I + 1. The
 * guest writes "WINDOW LABEL" to DIR/ask: from then on each card has WINDOW requests
 * outstanding (0: one each 20 ms), and an answer is a transaction. The LABEL names the
 * phase that ends with this line; its figures go to stdout: seconds, transactions and losses of
 * all cards, round-trip times in us (p50, p99), transactions of each card, LABEL. "0 end" ends.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CARDS		8
#define WINDOW_MAX	256
#define TIMES		(1 << 18)
#define LOST_S		0.5
#define TRICKLE_S	0.02
#define LOOK_S		0.02

struct card {
	struct sockaddr_in to;
	unsigned char frame[60];	/* Ethernet 14, IP 20, ICMP 8, 18 bytes of data */
	double sent[WINDOW_MAX];	/* 0: not on its way */
	double last;
	long answers;
};

static struct card cards[CARDS];
static struct pollfd polled[CARDS];
static float times[TIMES];
static long nr_times, lost;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static unsigned short checksum(const unsigned char *p, int n)
{
	unsigned int sum = 0;

	for (int i = 0; i < n; i += 2)
		sum += p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

static void set16(unsigned char *p, unsigned short value)
{
	memcpy(p, &value, 2);
}

static void prepare(struct card *c, int i, const char *to, const char *from)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const unsigned char head[] = {
		0x52, 0x54, 0, 0, 0, i, 0x52, 0x54, 0, 0, 1, i, 8, 0,
		0x45, 0, 0, 46, 0, 0, 0, 0, 64, 1, 0, 0, 10, 9, i, 2, 10, 9, i, 1, 8,
	};

	c->to = own;
	c->to.sin_port = htons(atoi(to));
	own.sin_port = htons(atoi(from));
	polled[i].fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	polled[i].events = POLLIN;
	if (bind(polled[i].fd, (void *)&own, sizeof(own))) {
		perror("client: bind");
		exit(1);
	}
	memcpy(c->frame, head, sizeof(head));
	set16(c->frame + 24, checksum(c->frame + 14, 20));
}

static void request(int i, int slot, double t)
{
	unsigned char *icmp = cards[i].frame + 34;

	set16(icmp + 2, 0);
	set16(icmp + 6, htons(slot));
	set16(icmp + 2, checksum(icmp, 26));
	sendto(polled[i].fd, cards[i].frame, sizeof(cards[i].frame), 0, (void *)&cards[i].to, sizeof(cards[i].to));
	cards[i].sent[slot] = cards[i].last = t;
}

static void answers(int i, int window)
{
	unsigned char b[2048];
	ssize_t n;
	double t;
	int slot;

	while ((n = recv(polled[i].fd, b, sizeof(b), 0)) > 0) {
		slot = b[40] << 8 | b[41];
		/* IP, ICMP, an echo reply, to a request that was not given up */
		if (n < 42 || b[12] != 8 || b[13] || b[23] != 1 || b[34] || slot >= WINDOW_MAX || !cards[i].sent[slot])
			continue;
		t = now();
		cards[i].answers++;
		if (nr_times < TIMES)
			times[nr_times++] = (t - cards[i].sent[slot]) * 1e6;
		cards[i].sent[slot] = 0;
		if (slot < window)
			request(i, slot, t);
	}
}

/* As scripts/guest does for the guest, if the user may: an answer shall not wait for other work */
static void hurry(void)
{
	const struct sched_param param = { .sched_priority = 1 };

	sched_setscheduler(0, SCHED_RR, &param);
}

static int ascending(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void report(int nr, double seconds, const char *label)
{
	long all = 0;

	qsort(times, nr_times, sizeof(*times), ascending);
	for (int i = 0; i < nr; i++)
		all += cards[i].answers;
	printf("%.3f %ld %ld %.0f %.0f", seconds, all, lost, nr_times ? times[nr_times / 2] : 0,
	       nr_times ? times[nr_times * 99 / 100] : 0);
	for (int i = 0; i < nr; i++) {
		printf(" %ld", cards[i].answers);
		cards[i].answers = 0;
	}
	printf(" %s\n", label);
	fflush(stdout);
	nr_times = lost = 0;
}

int main(int argc, char **argv)
{
	int nr = argc / 2 - 1, window = 0, next, at, i, slot;
	double t, look = 0, began = now();
	char path[4096], asked[200] = "", ask[200];
	FILE *f;

	if (argc < 4 || argc % 2 || nr > CARDS) {
		fprintf(stderr, "Usage: client DIR PORT... (two for each of 1 to %d cards)\n", CARDS);
		return 2;
	}
	hurry();
	snprintf(path, sizeof(path), "%s/ask", argv[1]);
	for (i = 0; i < nr; i++)
		prepare(&cards[i], i, argv[2 + 2 * i], argv[3 + 2 * i]);
	for (;;) {
		t = now();
		if (t >= look) {
			look = t + LOOK_S;
			f = fopen(path, "r");
			/* A line that is being written has no end yet */
			if (f && fgets(ask, sizeof(ask), f) && strchr(ask, '\n') && strcmp(ask, asked) &&
			    sscanf(ask, "%d %n", &next, &at) == 1) {
				strcpy(asked, ask);
				ask[strlen(ask) - 1] = 0;
				report(nr, t - began, ask + at);
				if (!strcmp(ask + at, "end"))
					return 0;
				window = next < WINDOW_MAX ? next : WINDOW_MAX;
				began = t;
			}
			if (f)
				fclose(f);
			for (i = 0; i < nr; i++) {
				for (slot = 0; slot < WINDOW_MAX; slot++) {
					if (cards[i].sent[slot] && t - cards[i].sent[slot] > LOST_S) {
						cards[i].sent[slot] = 0;
						lost++;
					}
					if (slot < window && !cards[i].sent[slot])
						request(i, slot, t);
				}
				if (!window && t - cards[i].last >= TRICKLE_S)
					request(i, 0, t);
			}
		}
		poll(polled, nr, 10);
		for (i = 0; i < nr; i++)
			if (polled[i].revents)
				answers(i, window);
	}
}
