// SPDX-License-Identifier: GPL-2.0
/*
 * Make lines of the 8259A pair wait with interrupts off, and report the order
 * in which they are served. For one CPU, `noapic`, under QEMU.
 *
 * Lines are requested by QEMU's pc-testdev, which drives any of them (testdev=1),
 * or by the transmitter-empty interrupt of UARTs that no driver has opened (io=,
 * irq=). The order is that of the tracepoint irq_handler_entry, so lines that
 * have a driver (the timer, the keyboard, the clock, the console) take part.
 *
 * In debugfs, i8259_lines/:
 *   run	reading it does one trial: "irr MASK order IRQ IRQ ..."
 *   syscore	writing it takes the system core through suspend and resume
 *   scene	reading it runs a UART in loopback beside four lines with long
 *		handlers and prints how long its requests had to wait; see scene()
 */
#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/serial_reg.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/syscore_ops.h>
#include <linux/tracepoint.h>

#include <asm/i8259.h>

#define TESTDEV		0x2000
#define CASCADE		2
#define MAX_UARTS	4

static bool testdev;
module_param(testdev, bool, 0444);
static int io[MAX_UARTS], irq[MAX_UARTS];
static int nr_io, nr_irq;
module_param_array(io, int, &nr_io, 0444);
module_param_array(irq, int, &nr_irq, 0444);
static int scale = 4;
module_param(scale, int, 0444);
MODULE_PARM_DESC(scale, "times of the scene are this many times those of the FAQ");

static DEFINE_MUTEX(lock);
static struct dentry *dir;
static struct tracepoint *entry_tp;
static u32 wanted, requested;

/* State of the present trial; one CPU, so no lock */
static bool trial;
static u32 seen;
static u8 served[16];
static unsigned int nr_served;

static void line_set(unsigned int line, bool on)
{
	if (testdev) {
		outb(on, TESTDEV + line);
		return;
	}
	for (int i = 0; i < nr_io; i++) {
		if (irq[i] != line)
			continue;
		outb(UART_MCR_OUT2, io[i] + UART_MCR);
		outb(on ? UART_IER_THRI : 0, io[i] + UART_IER);
		if (!on)
			inb(io[i] + UART_IIR);
	}
}

/* Initializing the chips loses an edge of the timer, which is not raised again. */
static void timer_again(void)
{
	outb(1, TESTDEV);
	outb(0, TESTDEV);
}

/*
 * Lines of PCI devices are shared with the test device. Lowering a line cancels the
 * request of the device, which does not repeat it.
 */
static void pci_again(void)
{
	struct pci_dev *pdev = NULL;

	for_each_pci_dev(pdev) {
		if (pdev->irq >= 16 || !(wanted & BIT(pdev->irq)))
			continue;
		pci_intx(pdev, 0);
		pci_intx(pdev, 1);
	}
}

static void entry_probe(void *data, int line, struct irqaction *action)
{
	if (!trial || line >= 16 || !(wanted & BIT(line)) || (seen & BIT(line)))
		return;
	seen |= BIT(line);
	served[nr_served++] = line;
	line_set(line, false);
}

/* The scene: cost of a line of competing work, time of its next request */
static struct source {
	unsigned int	line;
	unsigned int	cost_us;
} sources[] = {
	{ 12, 320 }, { 13, 300 }, { 14, 190 }, { 15, 500 },
};

/* 6700 characters per second, an interrupt after 8, room for 8 more */
#define CHARS_PER_S	6700
#define TRIGGER		8
#define MAX_DELAYS	4096

static bool scene_on;
static u64 next_char, next_burst, request_time, last_clock, max_gap;
static unsigned int in_fifo, sent, received, overruns, nr_delays;
static u32 *delays, seed;

/*
 * The hardware's clock. The CPU is always in scene() or in one of the handlers,
 * which all call this, so characters and requests arrive on time.
 */
static void scene_clock(void)
{
	u64 now;

	guard(irqsave)();

	now = ktime_get_ns();
	max_gap = max(max_gap, now - last_clock);
	last_clock = now;

	for (; now >= next_char; next_char += NSEC_PER_SEC / CHARS_PER_S * scale) {
		outb(sent++ & 0xff, io[0] + UART_TX);
		if (++in_fifo == TRIGGER)
			request_time = now;
	}
	if (now >= next_burst) {
		for (int i = 0; i < ARRAY_SIZE(sources); i++)
			outb(1, TESTDEV + sources[i].line);
		seed = seed * 1664525 + 1013904223;
		/* every 4 ms +- 1 ms */
		next_burst = now + (3 * NSEC_PER_MSEC + (seed >> 8) % (2 * NSEC_PER_MSEC)) * scale;
	}
}

static void scene_source(unsigned int line)
{
	for (int i = 0; i < ARRAY_SIZE(sources); i++) {
		u64 end = ktime_get_ns() + (u64)sources[i].cost_us * NSEC_PER_USEC * scale;

		if (sources[i].line != line)
			continue;
		outb(0, TESTDEV + line);
		while (ktime_get_ns() < end)
			scene_clock();
	}
}

static void scene_uart(void)
{
	u64 now = ktime_get_ns();
	u8 lsr;

	if (in_fifo >= TRIGGER && nr_delays < MAX_DELAYS)
		delays[nr_delays++] = now - request_time;
	inb(io[0] + UART_IIR);
	while ((lsr = inb(io[0] + UART_LSR)) & (UART_LSR_DR | UART_LSR_OE)) {
		if (lsr & UART_LSR_OE)
			overruns++;
		if (!(lsr & UART_LSR_DR))
			break;
		inb(io[0] + UART_RX);
		received++;
	}
	in_fifo = 0;
	scene_clock();
}

static irqreturn_t pend_handler(int line, void *data)
{
	if (scene_on) {
		if (line == irq[0])
			scene_uart();
		else
			scene_source(line);
	}
	return IRQ_HANDLED;
}

static void run_trial(struct seq_file *m, u32 lines, bool auto_eoi)
{
	unsigned long flags;
	unsigned int irr;

	guard(mutex)(&lock);

	nr_served = 0;
	seen = 0;

	local_irq_save(flags);
	trial = true;
	if (auto_eoi)
		legacy_pic->init(true);
	for (unsigned int line = 0; line < 16; line++) {
		if (lines & BIT(line))
			line_set(line, true);
	}
	mdelay(1);
	irr = inb(0x20) | inb(0xa0) << 8;
	local_irq_restore(flags);

	for (int ms = 0; ms < 200 && (seen & lines) != lines; ms++)
		mdelay(1);

	local_irq_save(flags);
	trial = false;
	for (unsigned int line = 0; line < 16; line++) {
		if (lines & BIT(line))
			line_set(line, false);
	}
	if (auto_eoi) {
		legacy_pic->init(false);
		timer_again();
	}
	local_irq_restore(flags);
	pci_again();

	seq_printf(m, "irr %04x order", irr);
	for (unsigned int i = 0; i < nr_served; i++) {
		if (lines & BIT(served[i]))
			seq_printf(m, " %u", served[i]);
	}
	seq_puts(m, "\n");
}

static int run_show(struct seq_file *m, void *v)
{
	run_trial(m, wanted, false);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(run);

static int aeoi_show(struct seq_file *m, void *v)
{
	run_trial(m, wanted & 0xff, true);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(aeoi);

static int syscore_set(void *data, u64 value)
{
	int ret;

	guard(irqsave)();
	system_state = SYSTEM_SUSPEND;
	ret = syscore_suspend();
	if (!ret)
		syscore_resume();
	timer_again();
	system_state = SYSTEM_RUNNING;
	return ret;
}
DEFINE_DEBUGFS_ATTRIBUTE(syscore_fops, NULL, syscore_set, "%llu\n");

static int init_set(void *data, u64 value)
{
	guard(irqsave)();
	legacy_pic->init(false);
	timer_again();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(init_fops, NULL, init_set, "%llu\n");

static int compare_u32(const void *a, const void *b)
{
	return *(const u32 *)a < *(const u32 *)b ? -1 : *(const u32 *)a > *(const u32 *)b;
}

/*
 * The FAQ's example. A UART (io=, irq=, the first one; loopback, so characters
 * come from this module and the overrun flag from the UART) and four lines with
 * handlers of 320, 300, 190 and 500 us, requested together at other intervals than
 * the characters. All times are multiplied by scale=, so that the overhead of the
 * emulation is small. Slices in which the host took the CPU away for more than 100 us
 * (times scale) do not count.
 */
static int scene_show(struct seq_file *m, void *v)
{
	unsigned int good = 0, chars, lost, flags;
	u64 total = 0, end;

	if (!testdev || !nr_io)
		return -EINVAL;

	guard(mutex)(&lock);

	delays = kcalloc(MAX_DELAYS, sizeof(*delays), GFP_KERNEL);
	if (!delays)
		return -ENOMEM;

	nr_delays = 0;
	chars = 0;
	lost = 0;
	flags = 0;
	seed = 1;

	outb(UART_LCR_DLAB, io[0] + UART_LCR);
	/* Slower than the characters, so that the FIFO does not time out */
	outb(12, io[0] + UART_DLL);
	outb(0, io[0] + UART_DLM);
	outb(UART_LCR_WLEN8, io[0] + UART_LCR);
	outb(UART_FCR_ENABLE_FIFO | UART_FCR_CLEAR_RCVR | UART_FCR_CLEAR_XMIT |
	     UART_FCR_TRIGGER_8, io[0] + UART_FCR);
	outb(UART_MCR_OUT2 | UART_MCR_LOOP, io[0] + UART_MCR);
	inb(io[0] + UART_LSR);
	inb(io[0] + UART_RX);

	for (int slice = 0; slice < 150 && good < 50; slice++) {
		unsigned int delays_before = nr_delays;

		in_fifo = 0;
		sent = 0;
		received = 0;
		overruns = 0;
		max_gap = 0;

		preempt_disable();
		last_clock = ktime_get_ns();
		next_char = last_clock;
		next_burst = last_clock;
		end = last_clock + 100 * NSEC_PER_MSEC;
		scene_on = true;
		outb(UART_IER_RDI, io[0] + UART_IER);
		while (ktime_get_ns() < end)
			scene_clock();
		scene_on = false;
		outb(0, io[0] + UART_IER);
		preempt_enable();

		/* Characters that are left in the FIFO */
		while (inb(io[0] + UART_LSR) & UART_LSR_DR) {
			inb(io[0] + UART_RX);
			received++;
		}
		for (int i = 0; i < ARRAY_SIZE(sources); i++)
			outb(0, TESTDEV + sources[i].line);
		cond_resched();

		if (max_gap > 100ULL * NSEC_PER_USEC * scale) {
			nr_delays = delays_before;
			continue;
		}
		good++;
		chars += sent;
		lost += sent - received;
		flags += overruns;
	}
	outb(0, io[0] + UART_MCR);
	outb(0, io[0] + UART_FCR);

	sort(delays, nr_delays, sizeof(*delays), compare_u32, NULL);
	for (unsigned int i = 0; i < nr_delays; i++)
		total += delays[i];
	seq_printf(m, "requests %u mean_us %llu p99_us %u chars %u lost %u overruns %u\n",
		   nr_delays, div_u64(total, max(nr_delays, 1) * 1000 * scale),
		   delays[nr_delays * 99 / 100] / 1000 / scale, chars, lost, flags);
	kfree(delays);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(scene);

static void find_entry_tp(struct tracepoint *tp, void *data)
{
	if (!strcmp(tp->name, "irq_handler_entry"))
		entry_tp = tp;
}

static void free_lines(void)
{
	for (unsigned int line = 0; line < 16; line++) {
		if (requested & BIT(line))
			free_irq(line, &dir);
	}
}

static int __init i8259_lines_init(void)
{
	int ret;

	if (nr_io != nr_irq || scale < 1)
		return -EINVAL;
	for_each_kernel_tracepoint(find_entry_tp, NULL);
	if (!entry_tp)
		return -ENOENT;

	wanted = testdev ? 0xffff & ~BIT(CASCADE) : 0;
	for (int i = 0; i < nr_irq; i++)
		wanted |= BIT(irq[i]);
	for (unsigned int line = 0; line < 16; line++) {
		/* Busy lines have a driver and need no action */
		if ((wanted & BIT(line)) &&
		    !request_irq(line, pend_handler, 0, "i8259_lines", &dir))
			requested |= BIT(line);
	}

	ret = tracepoint_probe_register(entry_tp, entry_probe, NULL);
	if (ret) {
		free_lines();
		return ret;
	}
	dir = debugfs_create_dir("i8259_lines", NULL);
	debugfs_create_x32("lines", 0600, dir, &wanted);
	debugfs_create_file_unsafe("init", 0200, dir, NULL, &init_fops);
	debugfs_create_file("run", 0400, dir, NULL, &run_fops);
	debugfs_create_file("aeoi", 0400, dir, NULL, &aeoi_fops);
	debugfs_create_file("scene", 0400, dir, NULL, &scene_fops);
	debugfs_create_file_unsafe("syscore", 0200, dir, NULL, &syscore_fops);
	pr_info("i8259_lines: lines %04x, of them ours %04x\n", wanted, requested);
	return 0;
}
module_init(i8259_lines_init);

static void __exit i8259_lines_exit(void)
{
	debugfs_remove(dir);
	tracepoint_probe_unregister(entry_tp, entry_probe, NULL);
	tracepoint_synchronize_unregister();
	free_lines();
}
module_exit(i8259_lines_exit);

MODULE_DESCRIPTION("Make 8259A lines wait and see how they are served");
MODULE_LICENSE("GPL");
