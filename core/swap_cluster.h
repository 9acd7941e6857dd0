/*
 * Clusters of swap slots and the lists they are on: what swap_slots.c and swap_cluster.c share.
 */
#ifndef CORE_SWAP_CLUSTER_H
#define CORE_SWAP_CLUSTER_H

#include "core/swap.h"

static inline struct swap_cluster *cluster_at(const struct swap_info_struct *si, u32 link)
{
	return &si->cluster[link - 1];
}

static inline u32 cluster_link(const struct swap_info_struct *si, const struct swap_cluster *c)
{
	return (u32)(c - si->cluster) + 1;
}

static inline void cluster_list_del(struct swap_info_struct *si, struct swap_cluster *c)
{
	struct swap_cluster_head *head = &si->clusters[c->list];

	if (c->prev)
		cluster_at(si, c->prev)->next = c->next;
	else
		head->first = c->next;
	if (c->next)
		cluster_at(si, c->next)->prev = c->prev;
	else
		head->last = c->prev;
	head->nr -= 1;
	c->list = SWAP_CLUSTERS_NONE;
}

static inline void cluster_list_add_tail(struct swap_info_struct *si, struct swap_cluster *c,
                                         u32 list)
{
	struct swap_cluster_head *head = &si->clusters[list];
	u32 link = cluster_link(si, c);

	c->list = (u8)list;
	c->next = 0;
	c->prev = head->last;
	if (head->last)
		cluster_at(si, head->last)->next = link;
	else
		head->first = link;
	head->last = link;
	head->nr += 1;
}

static inline u32 cluster_size(const struct swap_info_struct *si)
{
	return 1u << si->cluster_shift;
}

static inline u64 cluster_start(const struct swap_info_struct *si, const struct swap_cluster *c)
{
	return (u64)(c - si->cluster) << si->cluster_shift;
}

static inline u64 cluster_end(const struct swap_info_struct *si, const struct swap_cluster *c)
{
	return min_t(u64, cluster_start(si, c) + cluster_size(si), si->max);
}

/* Usable slots. */
static inline u32 cluster_capacity(const struct swap_info_struct *si, const struct swap_cluster *c)
{
	return (u32)(cluster_end(si, c) - cluster_start(si, c)) - (c == si->cluster);
}

/* A cluster with as many slots as others: it may be free, or a huge page's. */
static inline bool cluster_is_whole(const struct swap_info_struct *si, const struct swap_cluster *c)
{
	return cluster_capacity(si, c) == cluster_size(si);
}

#endif
