// SPDX-License-Identifier: GPL-2.0
/*
 * Torture test of the interrupt balancer's mover: NAPI polls that follow.
 *
 * Some of the interrupts belong to network devices, whose packets are numbers. An
 * interrupt brings some, and as often as not more of them come while the device is
 * polled, so that the instance uses up its budget and is polled again. The mover of
 * balance_torture.c has the instance go to and fro meanwhile.
 *
 * Each packet has to be received or to be counted as dropped. No instance may be
 * polled by two CPUs at a time, or by a softirq of a CPU that is not its list_owner,
 * and each has to come to rest once there are no packets any more.
 */
#define pr_fmt(fmt) "irq_balance torture: " fmt

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/torture.h>

#include "torture.h"

/* Packets that a device has room for */
#define BT_RING		256

/* Long enough for another CPU to come in between */
#define BT_POLL_US	10UL

/* Time after which polls are forgotten, and not just late on a slow host */
#define BT_NAPI_TIMEOUT	(30 * HZ)

/**
 * struct bt_napi - A network device
 * @napi:	its NAPI instance
 * @dev:	dummy device, for @napi
 * @raise_random: of its interrupts
 * @poll_random: of its poller
 * @active:	packets arrive
 * @ring:	packets that have arrived and were not received
 * @sent:	packets
 * @dropped:	those that found the ring full
 * @polls:	of it
 * @received:	by the poller
 * @polling:	it is being polled
 * @again:	the last poll used up its budget
 * @cpu:	that did it
 */
struct bt_napi {
	struct napi_struct	napi;
	struct net_device	*dev;
	struct torture_random_state raise_random;
	struct torture_random_state poll_random;
	bool			active;
	atomic_t		ring;
	atomic_long_t		sent;
	atomic_long_t		dropped;
	unsigned long		polls;
	unsigned long		received;
	atomic_t		polling;
	bool			again;
	int			cpu;
};

static struct {
	atomic_long_t	polls;
	atomic_long_t	handed;
	atomic_long_t	sent;
	atomic_long_t	received;
	atomic_long_t	dropped;
	atomic_long_t	twice;
	atomic_long_t	foreign;
	atomic_long_t	forgotten;
	atomic_long_t	missing;
} bt_napi_stats;

#define N(what) atomic_long_read(&bt_napi_stats.what)

static void bt_napi_arrive(struct bt_napi *n, int packets)
{
	if (!READ_ONCE(n->active))
		return;

	atomic_long_add(packets, &n->sent);
	if (atomic_add_return(packets, &n->ring) > BT_RING) {
		atomic_sub(packets, &n->ring);
		atomic_long_add(packets, &n->dropped);
	}
}

static int bt_napi_poll(struct napi_struct *napi, int budget)
{
	struct bt_napi *n = container_of(napi, struct bt_napi, napi);
	int work;

	if (atomic_xchg(&n->polling, 1)) {
		atomic_long_inc(&bt_napi_stats.twice);
		pr_alert_ratelimited("!!! an instance is polled by two CPUs\n");
	}
	if (in_serving_softirq() && READ_ONCE(napi->list_owner) != smp_processor_id()) {
		atomic_long_inc(&bt_napi_stats.foreign);
		pr_alert_ratelimited("!!! an instance is polled by CPU%d, its owner is %d\n",
				     smp_processor_id(), READ_ONCE(napi->list_owner));
	}
	atomic_long_inc(&bt_napi_stats.polls);
	WRITE_ONCE(n->polls, n->polls + 1);
	if (n->again && n->cpu != raw_smp_processor_id())
		atomic_long_inc(&bt_napi_stats.handed);

	udelay(BT_POLL_US);
	if (torture_random(&n->poll_random) % 8)
		bt_napi_arrive(n, budget);
	work = min(atomic_read(&n->ring), budget);
	atomic_sub(work, &n->ring);
	n->received += work;

	n->again = work == budget;
	n->cpu = raw_smp_processor_id();
	atomic_set_release(&n->polling, 0);
	if (work < budget)
		napi_complete_done(napi, work);
	return work;
}

/**
 * bt_napi_raise - An interrupt of a device
 * @n:	the device
 *
 * Context: hard interrupt, or its forced thread.
 */
void bt_napi_raise(struct bt_napi *n)
{
	if (!n)
		return;
	bt_napi_arrive(n, torture_random(&n->raise_random) % 64);
	napi_schedule(&n->napi);
}

/**
 * bt_napi_add - Make a device
 * @irq:	its interrupt
 * @how:	random; what the driver does in one way or another
 *
 * Context: process context, may sleep.
 *
 * Return: the device, or NULL if there is no memory
 */
struct bt_napi *bt_napi_add(unsigned int irq, unsigned int how)
{
	struct bt_napi *n = kzalloc_obj(*n);

	if (!n)
		return NULL;
	n->dev = alloc_netdev_dummy(0);
	if (!n->dev) {
		kfree(n);
		return NULL;
	}
	netif_napi_add(n->dev, &n->napi, bt_napi_poll);
	if (how & 1)
		netif_napi_set_irq(&n->napi, irq);
	n->active = true;
	napi_enable(&n->napi);
	return n;
}

/**
 * bt_napi_toggle - Have a device polled by a thread, or by softirqs
 * @n:		the device
 * @threaded:	by a thread
 *
 * Context: process context, may sleep.
 */
void bt_napi_toggle(struct bt_napi *n, bool threaded)
{
	if (n)
		dev_set_threaded(n->dev, threaded);
}

/**
 * bt_napi_del - Take a device down
 * @n:	the device, whose handler does not run any more
 *
 * Half of them are taken down while they are polled.
 *
 * Context: process context, may sleep.
 */
void bt_napi_del(struct bt_napi *n)
{
	unsigned long end = jiffies + BT_NAPI_TIMEOUT;
	unsigned long left, lost, polls;

	if (!n)
		return;

	if (get_random_u8() & 1)
		WRITE_ONCE(n->active, false);
	polls = READ_ONCE(n->polls);
	while (READ_ONCE(n->napi.state) & NAPIF_STATE_SCHED && time_before(jiffies, end) &&
	       (!READ_ONCE(n->active) || READ_ONCE(n->polls) == polls))
		schedule_timeout_uninterruptible(1);
	if (!time_before(jiffies, end)) {
		atomic_long_inc(&bt_napi_stats.forgotten);
		pr_alert("!!! an instance is not polled any more, state %lx\n", n->napi.state);
		/* It is on some list and must not go away */
		__module_get(THIS_MODULE);
		return;
	}
	napi_disable(&n->napi);
	WRITE_ONCE(n->active, false);

	left = atomic_read(&n->ring);
	lost = atomic_long_read(&n->sent) - n->received - atomic_long_read(&n->dropped) - left;
	if (lost) {
		atomic_long_inc(&bt_napi_stats.missing);
		pr_alert("!!! packets: sent %ld, received %lu, dropped %ld, left %lu\n",
			 atomic_long_read(&n->sent), n->received,
			 atomic_long_read(&n->dropped), left);
	}
	atomic_long_add(atomic_long_read(&n->sent), &bt_napi_stats.sent);
	atomic_long_add(n->received, &bt_napi_stats.received);
	atomic_long_add(atomic_long_read(&n->dropped) + left, &bt_napi_stats.dropped);

	netif_napi_del(&n->napi);
	free_netdev(n->dev);
	kfree(n);
}

/**
 * bt_napi_print - Say what has happened
 */
void bt_napi_print(void)
{
	pr_alert("NAPI: polls %ld, handed over %ld, packets sent %ld, received %ld, dropped %ld; polled twice %ld, by a foreign CPU %ld, forgotten %ld, missing %ld\n",
		 N(polls), N(handed), N(sent), N(received), N(dropped), N(twice), N(foreign),
		 N(forgotten), N(missing));
}

/**
 * bt_napi_failed - Whether anything was wrong
 *
 * Return: true if it was
 */
bool bt_napi_failed(void)
{
	return N(twice) || N(foreign) || N(forgotten) || N(missing) ||
	       N(sent) != N(received) + N(dropped);
}
