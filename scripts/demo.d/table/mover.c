// SPDX-License-Identifier: GPL-2.0
/*
 * mover MS CPUS IRQS...: gives each of IRQS another CPU at random every MS ms, as the kernel
 * of 2003 did. IRQS are numbers with commas between them, which move together: a card of
 * 2003 had one interrupt.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX 32

int main(int argc, char **argv)
{
	int card[MAX], fd[MAX], n = 0, i, length, cpu = 0;
	char text[64], *irq;

	for (i = 3; i < argc; i++)
		for (irq = strtok(argv[i], ","); irq && n < MAX; irq = strtok(NULL, ","), n++) {
			snprintf(text, sizeof(text), "/proc/irq/%s/smp_affinity_list", irq);
			card[n] = i;
			fd[n] = open(text, O_WRONLY);
			if (fd[n] < 0) {
				perror(text);
				return 1;
			}
		}
	for (;;) {
		for (i = 0; i < n; i++) {
			if (!i || card[i] != card[i - 1])
				cpu = rand() % atoi(argv[2]);
			length = sprintf(text, "%d", cpu);
			if (write(fd[i], text, length) < 0)
				perror("mover");
		}
		usleep(atoi(argv[1]) * 1000);
	}
}
