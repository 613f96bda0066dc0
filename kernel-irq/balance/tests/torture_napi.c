// SPDX-License-Identifier: GPL-2.0
/*
 * Torture test of the interrupt balancer's mover: NAPI polls that follow
 *
 * Some of the interrupts belong to network devices, whose packets are numbers. An
 * interrupt brings some, and as often as not more of them come while the device is
 * polled, so that the instance uses up its budget and is polled again. The mover has the
 * instance go to and fro meanwhile.
 *
 * Each packet has to be received or to be counted as dropped. No instance may be
 * polled by two CPUs at a time, or by a softirq of a CPU that is not its list_owner,
 * and each has to come to rest once there are no packets any more.
 */
#define pr_fmt(fmt) "irq_balance torture: " fmt

#include <linux/delay.h>
#include <linux/irq.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/torture.h>

#include "../../internals.h"
#include "torture.h"

/* Packets that a device has room for */
#define BT_RING		256

/* Long enough for another CPU to come in between */
#define BT_POLL_US	10UL

/* Time after which polls are forgotten, and not just late on a slow host */
#define BT_NAPI_TIMEOUT	(30 * HZ)

/* A network device */
struct bt_napi {
	struct napi_struct	napi;
	struct net_device	*dev;		/* dummy device, for @napi */
	struct torture_random_state raise_random;
	struct torture_random_state poll_random;
	bool			active;		/* packets arrive */
	atomic_t		ring;		/* packets that were not received yet */
	atomic_long_t		sent;
	atomic_long_t		dropped;	/* they found the ring full */
	unsigned long		polls;
	unsigned long		received;
	atomic_t		polling;	/* it is being polled */
	bool			again;		/* the last poll used up its budget */
	int			cpu;		/* that did it */
};

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

	if (atomic_xchg(&n->polling, 1))
		bt_fail(twice, "an instance is polled by two CPUs");
	if (in_serving_softirq() && READ_ONCE(napi->list_owner) != smp_processor_id())
		bt_fail(foreign, "an instance is polled by CPU%d, its owner is %d",
			smp_processor_id(), READ_ONCE(napi->list_owner));
	atomic_long_inc(&bt_stats.polls);
	WRITE_ONCE(n->polls, n->polls + 1);
	if (n->again && n->cpu != raw_smp_processor_id())
		atomic_long_inc(&bt_stats.handed);

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

/* An interrupt of a device */
void bt_napi_raise(struct bt_napi *n)
{
	bt_napi_arrive(n, torture_random(&n->raise_random) % 64);
	napi_schedule(&n->napi);
}

/* A device on that interrupt. @how: random, for what drivers do in one way or another. */
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

/* Have a device polled by a thread, or by softirqs */
void bt_napi_toggle(struct bt_napi *n, bool threaded)
{
	dev_set_threaded(n->dev, threaded);
}

/* Take a device down whose handler does not run any more: half of them while they are polled */
void bt_napi_del(struct bt_napi *n)
{
	unsigned long end = jiffies + BT_NAPI_TIMEOUT;
	unsigned long left, lost, polls;

	if (get_random_u8() & 1)
		WRITE_ONCE(n->active, false);
	polls = READ_ONCE(n->polls);
	while (READ_ONCE(n->napi.state) & NAPIF_STATE_SCHED && time_before(jiffies, end) &&
	       (!READ_ONCE(n->active) || READ_ONCE(n->polls) == polls))
		schedule_timeout_uninterruptible(1);
	if (!time_before(jiffies, end)) {
		bt_fail(forgotten, "an instance is not polled any more, state %lx", n->napi.state);
		/* It is on some list and must not go away */
		return;
	}
	napi_disable(&n->napi);
	WRITE_ONCE(n->active, false);

	left = atomic_read(&n->ring);
	lost = atomic_long_read(&n->sent) - n->received - atomic_long_read(&n->dropped) - left;
	if (lost)
		bt_fail(missing, "packets: sent %ld, received %lu, dropped %ld, left %lu",
			atomic_long_read(&n->sent), n->received,
			atomic_long_read(&n->dropped), left);
	atomic_long_add(atomic_long_read(&n->sent), &bt_stats.sent);
	atomic_long_add(n->received, &bt_stats.received);
	atomic_long_add(atomic_long_read(&n->dropped) + left, &bt_stats.dropped);

	netif_napi_del(&n->napi);
	free_netdev(n->dev);
	kfree(n);
}
