// SPDX-License-Identifier: GPL-2.0
/*
 * busy-poll NIC PEER: receive from a socket that polls NIC, 50 times for 1 ms
 *
 * A frame sent through PEER, which a cable joins to NIC, names the NAPI instance to the socket.
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define PORT	9009
#define BUSY_US	1000
#define RECVS	50

static int failed(const char *what)
{
	perror(what);
	return 1;
}

static unsigned short checksum(const unsigned char *p, int n)
{
	unsigned int sum = 0;

	for (int i = 0; i < n; i += 2)
		sum += p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

int main(int argc, char **argv)
{
	/* UDP from 10.99.0.2 to 10.99.0.1, port PORT, 4 bytes */
	unsigned char frame[60] = { [12] = 8, 0, 0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 99, 0, 2, 10, 99, 0, 1,
				    PORT >> 8, PORT & 255, PORT >> 8, PORT & 255, 0, 12 };
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = INADDR_ANY };
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_halen = ETH_ALEN };
	struct timeval patience = { .tv_sec = 5 };
	unsigned int napi = 0, us = BUSY_US;
	socklen_t size = sizeof(napi);
	int s = socket(AF_INET, SOCK_DGRAM, 0), raw = socket(AF_PACKET, SOCK_RAW, 0), sum;
	struct ifreq nic = { };
	char byte;

	if (argc != 3) {
		fprintf(stderr, "Usage: busy-poll NIC PEER\n");
		return 2;
	}
	strncpy(nic.ifr_name, argv[1], IFNAMSIZ - 1);
	to.sll_ifindex = if_nametoindex(argv[2]);
	if (s < 0 || raw < 0 || ioctl(s, SIOCGIFHWADDR, &nic) || !to.sll_ifindex)
		return failed("busy-poll: sockets and cards");
	memcpy(frame, nic.ifr_hwaddr.sa_data, ETH_ALEN);
	memset(frame + ETH_ALEN, 2, ETH_ALEN);
	sum = checksum(frame + 14, 20);
	frame[24] = sum >> 8;
	frame[25] = sum;
	if (bind(s, (void *)&own, sizeof(own)) || setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    sendto(raw, frame, sizeof(frame), 0, (void *)&to, sizeof(to)) < 0 || recv(s, &byte, 1, 0) < 0)
		return failed("busy-poll: a first packet");
	if (getsockopt(s, SOL_SOCKET, SO_INCOMING_NAPI_ID, &napi, &size) || !napi)
		return failed("busy-poll: no NAPI instance");
	/* The socket waits no longer than it polls */
	patience = (struct timeval){ .tv_usec = BUSY_US };
	if (setsockopt(s, SOL_SOCKET, SO_BUSY_POLL, &us, sizeof(us)) || setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		return failed("busy-poll: SO_BUSY_POLL");
	for (int i = 0; i < RECVS; i++)
		recv(s, &byte, 1, 0);
	printf("polled NAPI %u for %d ms\n", napi, RECVS * BUSY_US / 1000);
	return 0;
}
