// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts of a known cost, and an account of it that is independent of the
 * load map. For QEMU's "edu" devices, each a source, and for lines of the ISA bus
 * (lines=5,10) that its "pc-testdev" drives.
 *
 * A source's handler burns hard_ns, then its tasklet soft_ns, its irq_poll poll_ns, its NAPI
 * instance napi_ns in polls of NAPI_SLICE (with endless_ns it polls without end, as in overload;
 * with joint=1 all do the first one's work), and its thread thread_ns. A timer on CPU0 raises it
 * rate times a second. A NAPI instance that no interrupt schedules is polled foreign_rate times a
 * second on CPU1 and burns foreign_ns. In debugfs, known_cost/:
 *   run	1: the timers run
 *   N/		one source: the values above, and bench: reading it raises the source
 *		on this CPU, one at a time, for the median ns of a raise that is
 *		served and of one that does nothing
 *   account	a line per source: N IRQ HARD SOFT THREAD COUNT KSOFTIRQD, ns and
 *		interrupts; SOFT is tasklet, irq_poll and NAPI, KSOFTIRQD the part of
 *		NAPI that ran there
 *   net_ns	time of NET_RX and NET_TX on all CPUs, by the tracepoints
 *
 * Handlers and softirqs that interrupt the measured code are timed by their tracepoints and
 * subtracted, from NET_RX and NET_TX what the probes take, too, and other tasks: with PREEMPT_RT
 * handlers and softirqs may be preempted.
 */
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/irq_poll.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/tracepoint.h>

#define MAX_SOURCES	8
#define EDU_STATUS	0x24
#define EDU_RAISE	0x60
#define EDU_ACK		0x64
#define TESTDEV		0x2000
#define BENCH		20000
#define NAPI_SLICE	(300 * NSEC_PER_USEC)
#define TASKS		32768

static bool msi = true;
module_param(msi, bool, 0444);
static bool bare;
module_param(bare, bool, 0444);
MODULE_PARM_DESC(bare, "handlers acknowledge and do nothing else");
static unsigned int hidden;
module_param(hidden, uint, 0444);
MODULE_PARM_DESC(hidden, "per cent of what is burnt that the account omits, to break a test");
static int oops = -1;
module_param(oops, int, 0444);
MODULE_PARM_DESC(oops, "source whose thread dies of a bad access");
static bool set_irq;
module_param(set_irq, bool, 0444);
MODULE_PARM_DESC(set_irq, "NAPI instances name their interrupts");
static bool joint;
module_param(joint, bool, 0444);
MODULE_PARM_DESC(joint, "all interrupts do the work of the first, as RX and TX of some cards do");
static int lines[MAX_SOURCES], nr_lines;
module_param_array(lines, int, &nr_lines, 0444);

static struct source {
	struct pci_dev		*pdev;
	void __iomem		*mmio;
	unsigned int		line, irq;
	struct hrtimer		timer;
	struct tasklet_struct	tasklet;
	struct irq_poll		poll;
	struct napi_struct	napi;
	atomic_t		napi_left;
	u32			hard_ns, soft_ns, poll_ns, napi_ns, endless_ns, thread_ns, rate;
	u64			hard, soft, thread, count, ksoftirqd;
} sources[MAX_SOURCES];
static unsigned int nr_sources;

static struct {
	struct napi_struct	napi;
	struct hrtimer		timer;
	u32			ns, rate;
} foreign;

static struct dentry *dir;
static struct net_device *netdev;
static bool running;

/*
 * Times of one CPU, from the tracepoints. Softirqs do not include the handlers in
 * them. The times belong to the running task; put_by has those of other tasks.
 */
struct seen {
	u64	handler_start, handlers, softirq_start, softirqs, net;
};

static DEFINE_PER_CPU(struct seen, seen);
static struct put_by {
	u64	clock, softirq_start, softirqs;
} *put_by;

/* The shortest softirq that the probes see */
static u64 probe_cost;

static u64 clock(void)
{
	return ktime_get_mono_fast_ns();
}

static void handler_entry(void *data, int irq, struct irqaction *action)
{
	this_cpu_write(seen.handler_start, clock());
}

static void handler_exit(void *data, int irq, struct irqaction *action, int ret)
{
	this_cpu_add(seen.handlers, clock() - this_cpu_read(seen.handler_start));
}

static void softirq_begins(void *data, unsigned int vec)
{
	this_cpu_write(seen.softirq_start, clock() - this_cpu_read(seen.handlers));
}

static void softirq_ends(void *data, unsigned int vec)
{
	struct seen *s = this_cpu_ptr(&seen);
	u64 spent = clock() - s->handlers - s->softirq_start;

	s->softirqs += spent;
	if (vec == NET_RX_SOFTIRQ || vec == NET_TX_SOFTIRQ)
		s->net += spent - min(spent, probe_cost);
}

static void probes_calibrate(void)
{
	u64 before, least = NSEC_PER_USEC;

	for (int i = 0; i < 16; i++) {
		guard(irqsave)();
		before = this_cpu_read(seen.softirqs);
		softirq_begins(NULL, NR_SOFTIRQS);
		softirq_ends(NULL, NR_SOFTIRQS);
		least = min(least, this_cpu_read(seen.softirqs) - before);
	}
	probe_cost = least;
}

static void switched(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
		     unsigned int state)
{
	struct seen *s = this_cpu_ptr(&seen);
	u64 now = clock();

	if (prev->pid && prev->pid < TASKS)
		put_by[prev->pid] = (struct put_by){ now - s->handlers, s->softirq_start,
						     s->softirqs };
	if (next->pid && next->pid < TASKS) {
		s->handlers = now - put_by[next->pid].clock;
		s->softirq_start = put_by[next->pid].softirq_start;
		s->softirqs = put_by[next->pid].softirqs;
	}
}

static struct probe {
	const char		*name;
	void			*function;
	struct tracepoint	*tp;
	bool			registered;
} probes[] = {
	{ "irq_handler_entry", handler_entry },
	{ "irq_handler_exit", handler_exit },
	{ "softirq_entry", softirq_begins },
	{ "softirq_exit", softirq_ends },
	{ "sched_switch", switched },
};

static void probe_find(struct tracepoint *tp, void *data)
{
	for (int i = 0; i < ARRAY_SIZE(probes); i++) {
		if (!strcmp(tp->name, probes[i].name))
			probes[i].tp = tp;
	}
}

static void probes_remove(void)
{
	for (int i = 0; i < ARRAY_SIZE(probes); i++) {
		if (probes[i].registered)
			tracepoint_probe_unregister(probes[i].tp, probes[i].function, NULL);
	}
	tracepoint_synchronize_unregister();
	kvfree(put_by);
}

static int probes_add(void)
{
	put_by = kvcalloc(TASKS, sizeof(*put_by), GFP_KERNEL);
	if (!put_by)
		return -ENOMEM;
	probes_calibrate();
	for_each_kernel_tracepoint(probe_find, NULL);
	for (int i = 0; i < ARRAY_SIZE(probes); i++) {
		if (!probes[i].tp ||
		    tracepoint_probe_register(probes[i].tp, probes[i].function, NULL))
			return -ENOENT;
		probes[i].registered = true;
	}
	return 0;
}

/* The time without the handlers that interrupt handlers and softirqs; THREAD: and softirqs */
static u64 own_clock(bool thread)
{
	guard(preempt)();
	return clock() - this_cpu_read(seen.handlers) - (thread ? this_cpu_read(seen.softirqs) : 0);
}

static u64 since(u64 start, bool thread)
{
	return (own_clock(thread) - start) * 100 / (100 + hidden);
}

static void burn(u64 ns)
{
	u64 end = clock() + ns + ns * hidden / 100;

	while (clock() < end)
		cpu_relax();
}

static void source_raise(struct source *s, bool on)
{
	if (s->mmio)
		writel(on, s->mmio + EDU_RAISE);
	else
		outb(on, TESTDEV + s->line);
}

static bool source_ack(struct source *s)
{
	u32 status = 1;

	if (!s->mmio) {
		outb(0, TESTDEV + s->line);
		return true;
	}
	status = readl(s->mmio + EDU_STATUS);
	if (status)
		writel(status, s->mmio + EDU_ACK);
	return status;
}

static irqreturn_t source_handler(int irq, void *data)
{
	struct source *s = data;
	u64 start = bare ? 0 : own_clock(false);
	bool ours = source_ack(s), wake = ours && s->thread_ns && !bare;

	if (ours)
		WRITE_ONCE(s->count, s->count + 1);
	if (bare)
		return IRQ_RETVAL(ours);
	if (ours) {
		burn(s->hard_ns);
		if (joint)
			s = sources;
		if (s->soft_ns)
			tasklet_schedule(&s->tasklet);
		if (IS_ENABLED(CONFIG_IRQ_POLL) && s->poll_ns)
			irq_poll_sched(&s->poll);
		atomic_add(s->napi_ns, &s->napi_left);
		if (s->endless_ns || s->napi_ns)
			napi_schedule(&s->napi);
	}
	/* As IRQ_WAKE_THREAD does, but inside of the measured time */
	if (wake && in_hardirq())
		irq_wake_thread(irq, s);
	s->hard += since(start, false);
	return wake && !in_hardirq() ? IRQ_WAKE_THREAD : IRQ_RETVAL(ours);
}

static irqreturn_t source_thread(int irq, void *data)
{
	u64 start = own_clock(true);
	struct source *s = data;

	if (s - sources == oops)
		WRITE_ONCE(*(int *)NULL, 0);
	burn(s->thread_ns);
	s->thread += since(start, true);
	return IRQ_HANDLED;
}

static void source_tasklet(struct tasklet_struct *tasklet)
{
	struct source *s = from_tasklet(s, tasklet, tasklet);
	u64 start = own_clock(false);

	burn(s->soft_ns);
	s->soft += since(start, false);
}

static int source_poll(struct irq_poll *poll, int budget)
{
	struct source *s = container_of(poll, struct source, poll);
	u64 start = own_clock(false);

	burn(s->poll_ns);
	irq_poll_complete(poll);
	s->soft += since(start, false);
	return 0;
}

static int source_napi(struct napi_struct *napi, int budget)
{
	struct source *s = container_of(napi, struct source, napi);
	u32 ns = min_t(u32, atomic_read(&s->napi_left), NAPI_SLICE);
	u64 start = own_clock(false), spent;
	bool more;

	if (s->endless_ns)
		ns = running ? s->endless_ns : 0;
	burn(ns);
	more = s->endless_ns ? ns : atomic_sub_return(ns, &s->napi_left);
	if (!more)
		napi_complete(napi);
	spent = since(start, false);
	s->soft += spent;
	if (!strncmp(current->comm, "ksoftirqd/", 10))
		s->ksoftirqd += spent;
	return more ? budget : 0;
}

static int foreign_poll(struct napi_struct *napi, int budget)
{
	burn(foreign.ns);
	napi_complete(napi);
	return 0;
}

static enum hrtimer_restart again(struct hrtimer *timer, u32 rate)
{
	hrtimer_forward_now(timer, ns_to_ktime(NSEC_PER_SEC / rate));
	return HRTIMER_RESTART;
}

static enum hrtimer_restart foreign_timer(struct hrtimer *timer)
{
	if (!running || !foreign.rate)
		return HRTIMER_NORESTART;
	napi_schedule(&foreign.napi);
	return again(timer, foreign.rate);
}

static enum hrtimer_restart source_timer(struct hrtimer *timer)
{
	struct source *s = container_of(timer, struct source, timer);

	if (!running || !s->rate)
		return HRTIMER_NORESTART;
	source_raise(s, true);
	return again(timer, s->rate);
}

/* On CPU0; the sources are not synchronised. */
static void start_sources(void *data)
{
	for (int i = 0; i < nr_sources; i++) {
		if (sources[i].rate)
			hrtimer_start(&sources[i].timer, ns_to_ktime(i * 137 * NSEC_PER_USEC),
				      HRTIMER_MODE_REL_PINNED_HARD);
	}
}

static void start_foreign(void *data)
{
	hrtimer_start(&foreign.timer, 0, HRTIMER_MODE_REL_PINNED_HARD);
}

static int run_get(void *data, u64 *value)
{
	*value = running;
	return 0;
}

static int run_set(void *data, u64 value)
{
	running = false;
	for (int i = 0; i < nr_sources; i++)
		hrtimer_cancel(&sources[i].timer);
	hrtimer_cancel(&foreign.timer);
	if (!value)
		return 0;
	running = true;
	if (foreign.rate)
		smp_call_function_single(1, start_foreign, NULL, 1);
	return smp_call_function_single(0, start_sources, NULL, 1);
}
DEFINE_DEBUGFS_ATTRIBUTE(run_fops, run_get, run_set, "%llu\n");

static int net_get(void *data, u64 *value)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(seen, cpu).net);
	*value = sum;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(net_fops, net_get, NULL, "%llu\n");

static int account_show(struct seq_file *m, void *data)
{
	for (int i = 0; i < nr_sources; i++) {
		struct source *s = &sources[i];

		seq_printf(m, "%d %u %llu %llu %llu %llu %llu\n", i, s->irq, READ_ONCE(s->hard),
			   READ_ONCE(s->soft), READ_ONCE(s->thread), READ_ONCE(s->count),
			   READ_ONCE(s->ksoftirqd));
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(account);

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

static int bench_show(struct seq_file *m, void *data)
{
	u32 *served __free(kvfree) = kvcalloc(2 * BENCH, sizeof(*served), GFP_KERNEL);
	u32 *nothing = served + BENCH;
	struct source *s = m->private;

	if (!served)
		return -ENOMEM;
	for (int i = 0; i < BENCH; i++) {
		u64 count = READ_ONCE(s->count), start = clock();

		source_raise(s, true);
		while (READ_ONCE(s->count) == count) {
			cpu_relax();
			if (clock() - start > NSEC_PER_SEC)
				return -ETIMEDOUT;
		}
		served[i] = clock() - start;
		start = clock();
		source_raise(s, false);
		nothing[i] = clock() - start;
	}
	sort(served, BENCH, sizeof(*served), compare, NULL);
	sort(nothing, BENCH, sizeof(*nothing), compare, NULL);
	seq_printf(m, "%u %u\n", served[BENCH / 2], nothing[BENCH / 2]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(bench);

static void add_napi(struct napi_struct *napi, int (*poll)(struct napi_struct *, int))
{
	netif_napi_add(netdev, napi, poll);
	napi_enable(napi);
}

static void remove_napi(struct napi_struct *napi)
{
	napi_disable(napi);
	netif_napi_del(napi);
}

static int source_add(struct source *s, unsigned int irq, unsigned long flags)
{
	char name[4];
	struct dentry *d;
	int ret;

	s->irq = irq;
	tasklet_setup(&s->tasklet, source_tasklet);
	if (IS_ENABLED(CONFIG_IRQ_POLL))
		irq_poll_init(&s->poll, 1, source_poll);
	add_napi(&s->napi, source_napi);
	if (set_irq)
		netif_napi_set_irq(&s->napi, irq);
	hrtimer_setup(&s->timer, source_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	ret = request_threaded_irq(irq, source_handler, source_thread, flags, "known_cost", s);
	if (ret) {
		remove_napi(&s->napi);
		return ret;
	}
	snprintf(name, sizeof(name), "%d", nr_sources++);
	d = debugfs_create_dir(name, dir);
	debugfs_create_u32("hard_ns", 0600, d, &s->hard_ns);
	debugfs_create_u32("soft_ns", 0600, d, &s->soft_ns);
	debugfs_create_u32("poll_ns", 0600, d, &s->poll_ns);
	debugfs_create_u32("napi_ns", 0600, d, &s->napi_ns);
	debugfs_create_u32("endless_ns", 0600, d, &s->endless_ns);
	debugfs_create_u32("thread_ns", 0600, d, &s->thread_ns);
	debugfs_create_u32("rate", 0600, d, &s->rate);
	debugfs_create_file("bench", 0400, d, s, &bench_fops);
	return 0;
}

static void source_remove(struct source *s)
{
	hrtimer_cancel(&s->timer);
	free_irq(s->irq, s);
	tasklet_kill(&s->tasklet);
	remove_napi(&s->napi);
	if (IS_ENABLED(CONFIG_IRQ_POLL))
		irq_poll_disable(&s->poll);
	if (s->pdev)
		pci_free_irq_vectors(s->pdev);
}

static int edu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct source *s = &sources[nr_sources];
	int ret = nr_sources < MAX_SOURCES ? pcim_enable_device(pdev) : -ENOSPC;

	if (ret)
		return ret;
	s->mmio = pcim_iomap(pdev, 0, 0);
	if (!s->mmio)
		return -ENOMEM;
	pci_set_master(pdev);
	ret = pci_alloc_irq_vectors(pdev, 1, 1, msi ? PCI_IRQ_MSI : PCI_IRQ_INTX);
	if (ret < 0)
		return ret;
	s->pdev = pdev;
	pci_set_drvdata(pdev, s);
	ret = source_add(s, pci_irq_vector(pdev, 0), msi ? 0 : IRQF_SHARED);
	if (ret)
		pci_free_irq_vectors(pdev);
	return ret;
}

static void edu_remove(struct pci_dev *pdev)
{
	source_remove(pci_get_drvdata(pdev));
}

static const struct pci_device_id edu_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },
	{ }
};
MODULE_DEVICE_TABLE(pci, edu_ids);

static struct pci_driver edu_driver = {
	.name		= "known_cost",
	.id_table	= edu_ids,
	.probe		= edu_probe,
	.remove		= edu_remove,
};

static void known_cost_exit(void)
{
	running = false;
	debugfs_remove(dir);
	pci_unregister_driver(&edu_driver);
	for (int i = 0; i < nr_sources; i++) {
		if (!sources[i].pdev)
			source_remove(&sources[i]);
	}
	hrtimer_cancel(&foreign.timer);
	remove_napi(&foreign.napi);
	free_netdev(netdev);
	probes_remove();
}
module_exit(known_cost_exit);

static int __init known_cost_init(void)
{
	int ret;

	/* The tracepoints would be part of the cost of an interrupt. */
	ret = bare ? 0 : probes_add();
	netdev = ret ? NULL : alloc_netdev_dummy(0);
	if (!netdev) {
		probes_remove();
		return ret ?: -ENOMEM;
	}
	add_napi(&foreign.napi, foreign_poll);
	hrtimer_setup(&foreign.timer, foreign_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	dir = debugfs_create_dir("known_cost", NULL);
	debugfs_create_u32("foreign_ns", 0600, dir, &foreign.ns);
	debugfs_create_u32("foreign_rate", 0600, dir, &foreign.rate);
	debugfs_create_file_unsafe("run", 0600, dir, NULL, &run_fops);
	debugfs_create_file_unsafe("net_ns", 0400, dir, NULL, &net_fops);
	debugfs_create_file("account", 0400, dir, NULL, &account_fops);
	ret = pci_register_driver(&edu_driver);
	for (int i = 0; i < nr_lines && !ret && nr_sources < MAX_SOURCES; i++) {
		sources[nr_sources].line = lines[i];
		ret = source_add(&sources[nr_sources], lines[i], 0);
	}
	if (ret || !nr_sources)
		known_cost_exit();
	return ret ?: nr_sources ? 0 : -ENODEV;
}
module_init(known_cost_init);

MODULE_DESCRIPTION("Interrupts of a known cost");
MODULE_LICENSE("GPL");
