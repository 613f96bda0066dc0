// SPDX-License-Identifier: GPL-2.0
/*
 * Paced UDP traffic between pairs of NICs, and a record of what it costs.
 *
 * Runs in the guest of scripts/demo. NIC i lives in the network namespace
 * /run/netns/ni and has the addresses 10.PAIR.SIDE.1 ... .FLOWS; flow k goes from
 * address k of one side to address k of the other, in both directions, so that
 * receive hashing spreads the flows over a NIC's queues.
 *
 *     load NICS FLOWS COMMAND...
 *
 *     rates=P,P,...   packets a second of each flow, NIC by NIC
 *     probe=FILE      find out which interrupts each flow raises, note it in FILE
 *     heavy=SET,P,Q   with FILE from probe in $PROBED: one flow of each NIC gets P
 *                     packets a second, the others Q. Each heavy flow has queues
 *                     of its own: none shares an interrupt with another. SET 0,
 *                     1, ... prefers other flows.
 *     mark=NAME       print "mark TIME NAME"
 *     sleep=SECONDS
 *     cycle-cpus      take all CPUs but the first offline, then online again
 *
 * Ten times a second it prints
 *     stat TIME RECEIVED_BYTES IRQ+SOFTIRQ_TICKS_OF_CPU0 ...
 * TIME is CLOCK_MONOTONIC in ns.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_NICS	16
#define MAX_FLOWS	32
#define MAX_CPUS	256
#define PORT		5000
#define PAYLOAD		1000
#define TICK_NS		1000000LL
#define BATCH		64

static int nics, flows;
static int rx_sock[MAX_NICS], tx_sock[MAX_NICS][MAX_FLOWS];
static _Atomic double rate[MAX_NICS][MAX_FLOWS];
static atomic_llong received;
static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;

static void die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void sleep_until(long long when)
{
	struct timespec ts = { when / 1000000000LL, when % 1000000000LL };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static struct sockaddr_in address(int nic, int flow, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	a.sin_addr.s_addr = htonl(10u << 24 | (nic / 2) << 16 | (nic % 2) << 8 | (flow + 1));
	return a;
}

/*
 * A socket stays in the namespace it was created in. The sending ones are not
 * connected: the queue to send by is then chosen by the flow's addresses, the
 * same in every run, and not by a random number of the socket.
 */
static void open_sockets(int nic)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	char path[64];
	int fd, k, size = 4 << 20;

	snprintf(path, sizeof(path), "/run/netns/n%d", nic);
	fd = open(path, O_RDONLY);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
	rx_sock[nic] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (rx_sock[nic] < 0 || bind(rx_sock[nic], (void *)&any, sizeof(any)))
		die("bind");
	setsockopt(rx_sock[nic], SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	for (k = 0; k < flows; k++) {
		struct sockaddr_in from = address(nic, k, PORT + 1);

		tx_sock[nic][k] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
		if (tx_sock[nic][k] < 0 ||
		    bind(tx_sock[nic][k], (void *)&from, sizeof(from)))
			die("bind");
	}
}

/*
 * One thread for all NICs: its timer would otherwise be a large part of the
 * interrupt time. Every tick it sends what is due, every fourth it collects what
 * has come.
 */
static void *traffic_thread(void *arg)
{
	static char payload[PAYLOAD], buffer[BATCH][PAYLOAD];
	static double credit[MAX_NICS][MAX_FLOWS];
	struct mmsghdr tx[BATCH] = { 0 }, rx[BATCH] = { 0 };
	struct iovec txv = { payload, PAYLOAD }, rxv[BATCH];
	long long next = now();
	struct sockaddr_in to;
	unsigned int tick;
	int i, k, n;

	for (i = 0; i < BATCH; i++) {
		rxv[i] = (struct iovec){ buffer[i], PAYLOAD };
		rx[i].msg_hdr.msg_iov = &rxv[i];
		tx[i].msg_hdr.msg_iov = &txv;
		rx[i].msg_hdr.msg_iovlen = tx[i].msg_hdr.msg_iovlen = 1;
		tx[i].msg_hdr.msg_name = &to;
		tx[i].msg_hdr.msg_namelen = sizeof(to);
	}
	for (tick = 0; ; tick++) {
		next += TICK_NS;
		if (next < now() - 10 * TICK_NS)
			next = now();
		sleep_until(next);
		for (i = 0; i < nics; i++) {
			for (k = 0; k < flows; k++) {
				double *c = &credit[i][k];

				*c += atomic_load_explicit(&rate[i][k], memory_order_relaxed) *
				      TICK_NS / 1e9;
				n = *c;
				if (!n)
					continue;
				*c -= n;
				to = address(i ^ 1, k, PORT);
				sendmmsg(tx_sock[i][k], tx, n < BATCH ? n : BATCH, MSG_DONTWAIT);
			}
		}
		for (i = 0; tick % 4 == 0 && i < nics; i++) {
			do {
				n = recvmmsg(rx_sock[i], rx, BATCH, MSG_DONTWAIT, NULL);
				if (n > 0)
					atomic_fetch_add(&received, (long long)n * PAYLOAD);
			} while (n == BATCH);
		}
	}
	return NULL;
}

static void *sample_thread(void *arg)
{
	static char text[1 << 18];
	static long long ticks[MAX_CPUS];
	long long next = now();
	unsigned int n_samples = 0;
	int fd = open("/proc/stat", O_RDONLY), cpus = sysconf(_SC_NPROCESSORS_CONF), i;

	for (;;) {
		long long user, nice, system, idle, iowait, irq, softirq, when, bytes;
		char *line;
		ssize_t n;

		next += 100000000LL;
		sleep_until(next);
		n = pread(fd, text, sizeof(text) - 1, 0);
		when = now();
		bytes = atomic_load(&received);
		if (n <= 0)
			die("/proc/stat");
		text[n] = 0;
		for (line = text; line; line = strchr(line, '\n')) {
			line += *line == '\n';
			if (sscanf(line, "cpu%d %lld %lld %lld %lld %lld %lld %lld", &i, &user,
				   &nice, &system, &idle, &iowait, &irq, &softirq) == 8 &&
			    i < MAX_CPUS)
				ticks[i] = irq + softirq;
			else if (!strncmp(line, "intr", 4))
				break;
		}
		pthread_mutex_lock(&print_lock);
		printf("stat %lld %lld", when, bytes);
		for (i = 0; i < cpus; i++)
			printf(" %lld", ticks[i]);
		printf("\n");
		/* writing costs interrupts, too */
		if (++n_samples % 5 == 0)
			fflush(stdout);
		pthread_mutex_unlock(&print_lock);
	}
	return NULL;
}

static void mark(const char *name)
{
	pthread_mutex_lock(&print_lock);
	printf("mark %lld %s\n", now(), name);
	fflush(stdout);
	pthread_mutex_unlock(&print_lock);
}

static void cycle_cpus(void)
{
	int cpus = sysconf(_SC_NPROCESSORS_CONF), up, i;

	for (up = 0; up < 2; up++) {
		for (i = 1; i < cpus; i++) {
			char path[80];
			int fd;

			snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", i);
			fd = open(path, O_WRONLY);
			if (fd < 0 || write(fd, up ? "1" : "0", 1) != 1)
				die(path);
			close(fd);
		}
	}
}

/* Counts of all numbered interrupts, over all CPUs */
#define MAX_IRQS	1024
static void read_counts(long *count)
{
	static char line[8192];
	FILE *f = fopen("/proc/interrupts", "r");

	memset(count, 0, MAX_IRQS * sizeof(*count));
	while (f && fgets(line, sizeof(line), f)) {
		char *p, *end;
		long irq = strtol(line, &end, 10), n;

		if (end == line || *end != ':' || irq < 0 || irq >= MAX_IRQS)
			continue;
		for (p = end + 1; n = strtol(p, &end, 10), end != p && *end == ' '; p = end)
			count[irq] += n;
	}
	if (f)
		fclose(f);
}

/* "NIC FLOW IRQ..." a line */
static void probe(const char *path)
{
	static long before[MAX_IRQS], after[MAX_IRQS];
	FILE *f = fopen(path, "w");
	int i, k, irq;

	if (!f)
		die(path);
	for (k = 0; k < flows; k++) {
		for (i = 0; i < nics; i++) {
			/* the first packets wait for ARP */
			atomic_store(&rate[i][k], 1000);
			sleep_until(now() + (k ? 10000000LL : 100000000LL));
			read_counts(before);
			sleep_until(now() + 40000000LL);
			read_counts(after);
			atomic_store(&rate[i][k], 0);
			fprintf(f, "%d %d", i, k);
			for (irq = 0; irq < MAX_IRQS; irq++)
				if (after[irq] - before[irq] >= 12)
					fprintf(f, " %d", irq);
			fprintf(f, "\n");
			sleep_until(now() + 10000000LL);
		}
	}
	fclose(f);
}

static void heavy(const char *arg)
{
	static int raised[MAX_NICS][MAX_FLOWS][8], taken[MAX_IRQS];
	const char *path = getenv("PROBED");
	char line[256];
	double high = 0, low = 0;
	int set = 0, i, k, n;
	FILE *f;

	f = path ? fopen(path, "r") : NULL;
	if (!f || sscanf(arg, "%d,%lf,%lf", &set, &high, &low) != 3)
		die("heavy=");
	memset(taken, 0, sizeof(taken));
	memset(raised, 0, sizeof(raised));
	while (fgets(line, sizeof(line), f)) {
		char *p = line, *end;

		i = strtol(p, &p, 10);
		k = strtol(p, &p, 10);
		if (i < 0 || i >= nics || k < 0 || k >= flows)
			continue;
		for (n = 0; n < 7; n++, p = end) {
			long irq = strtol(p, &end, 10);

			if (end == p)
				break;
			raised[i][k][n] = irq;
		}
	}
	fclose(f);
	for (i = 0; i < nics; i++) {
		int chosen = -1, try;

		for (try = 0; try < flows && chosen < 0; try++) {
			k = (2 * set + try) % flows;
			for (n = 0; raised[i][k][n] && !taken[raised[i][k][n]]; n++)
				;
			/* one for sending, one for receiving, both free */
			if (n >= 2 && !raised[i][k][n])
				chosen = k;
		}
		if (chosen < 0) {
			fprintf(stderr, "load: NIC %d: no flow with queues of its own\n", i);
			chosen = 2 * set % flows;
		}
		for (n = 0; raised[i][chosen][n]; n++)
			taken[raised[i][chosen][n]] = 1;
		for (k = 0; k < flows; k++)
			atomic_store(&rate[i][k], k == chosen ? high : low);
	}
}

static void set_rates(const char *list)
{
	int i, k;

	for (i = 0; i < nics; i++) {
		for (k = 0; k < flows; k++) {
			char *end;

			atomic_store(&rate[i][k], strtod(list, &end));
			list = *end == ',' ? end + 1 : end;
		}
	}
}

int main(int argc, char **argv)
{
	static char buffer[1 << 16];
	pthread_t thread;
	int i;

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));

	nics = argc > 1 ? atoi(argv[1]) : 0;
	flows = argc > 2 ? atoi(argv[2]) : 0;
	if (nics < 2 || nics > MAX_NICS || flows < 1 || flows > MAX_FLOWS) {
		fprintf(stderr, "Usage: load NICS FLOWS COMMAND...\n");
		return 2;
	}
	for (i = 0; i < nics; i++)
		open_sockets(i);
	if (pthread_create(&thread, NULL, traffic_thread, NULL))
		die("thread");
	if (pthread_create(&thread, NULL, sample_thread, NULL))
		die("thread");
	for (i = 3; i < argc; i++) {
		if (!strncmp(argv[i], "rates=", 6))
			set_rates(argv[i] + 6);
		else if (!strncmp(argv[i], "probe=", 6))
			probe(argv[i] + 6);
		else if (!strncmp(argv[i], "heavy=", 6))
			heavy(argv[i] + 6);
		else if (!strncmp(argv[i], "mark=", 5))
			mark(argv[i] + 5);
		else if (!strncmp(argv[i], "sleep=", 6))
			sleep_until(now() + (long long)(atof(argv[i] + 6) * 1e9));
		else if (!strcmp(argv[i], "cycle-cpus"))
			cycle_cpus();
		else
			fprintf(stderr, "load: what is %s?\n", argv[i]);
	}
	return 0;
}
