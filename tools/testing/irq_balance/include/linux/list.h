/* SPDX-License-Identifier: GPL-2.0 */
/* As the kernel's: lists with a head of one pointer */
#ifndef _LINUX_LIST_H
#define _LINUX_LIST_H

#include <stddef.h>
#include <linux/types.h>

struct hlist_node {
	struct hlist_node *next, **link;
};

struct hlist_head {
	struct hlist_node *first;
};

#define INIT_HLIST_HEAD(head)	((head)->first = NULL)

static inline bool hlist_empty(const struct hlist_head *head)
{
	return !head->first;
}

static inline void hlist_del(struct hlist_node *node)
{
	*node->link = node->next;
	if (node->next)
		node->next->link = node->link;
}

static inline void hlist_add_head(struct hlist_node *node, struct hlist_head *head)
{
	node->next = head->first;
	node->link = &head->first;
	if (node->next)
		node->next->link = &node->next;
	head->first = node;
}

#define hlist_entry_safe(node, type, member)	\
	((node) ? (type *)((char *)(node) - offsetof(type, member)) : NULL)
#define hlist_for_each_entry(entry, head, member)				\
	for ((entry) = hlist_entry_safe((head)->first, typeof(*(entry)), member); (entry);	\
	     (entry) = hlist_entry_safe((entry)->member.next, typeof(*(entry)), member))

static inline void hlist_add_behind(struct hlist_node *node, struct hlist_node *prev)
{
	node->next = prev->next;
	node->link = &prev->next;
	prev->next = node;
	if (node->next)
		node->next->link = &node->next;
}

#endif /* _LINUX_LIST_H */
