// SPDX-License-Identifier: GPL-2.0
/*
 * /init of the suspend test: an initramfs without anything else, as the 9p root
 * of the other tests does not survive that QEMU resets its devices on the way
 * out of S3. Sets some orders, sleeps, and shows the order of service before and
 * after. The output is read through scripts/tests.d/i8259.d/lib.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("s3 error %s: %s: %s\n", path, text, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void show(const char *what, const char *order)
{
	char text[256] = "";
	int fd = open("/debug/pic_pend/run", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		printf("s3 error run: %s\n", strerror(errno));
	close(fd);
	printf("s3 %s %s %s", what, order, text);
}

int main(void)
{
	static const char *const orders[] = { "3,14", "2,11", "6,9", "0,8" };
	char text[16] = "";
	int fd;

	mkdir("/sys", 0755);
	mkdir("/debug", 0755);
	mkdir("/dev", 0755);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("debugfs", "/debug", "debugfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	fd = open("/dev/console", O_RDWR);
	dup2(fd, 0);
	dup2(fd, 1);
	dup2(fd, 2);
	setvbuf(stdout, NULL, _IOLBF, 0);

	fd = open("/pic_pend.ko", O_RDONLY);
	if (syscall(SYS_finit_module, fd, "testdev=1", 0))
		printf("s3 error module: %s\n", strerror(errno));

	put("/sys/power/mem_sleep", "deep");
	for (unsigned int i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		put("/sys/kernel/i8259_priority/priority", orders[i]);
		show("before", orders[i]);
		put("/sys/class/rtc/rtc0/wakealarm", "+2");
		put("/sys/power/state", "mem");
		show("after", orders[i]);
	}
	fd = open("/sys/power/suspend_stats/success", O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		printf("s3 error suspend_stats: %s\n", strerror(errno));
	printf("s3 slept %s", text);
	printf("s3 end\n");
	reboot(RB_AUTOBOOT);
	return 0;
}
