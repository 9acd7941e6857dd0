/*
 * How free swap slots are found from 6.12 on: lists of clusters (Linux mm/swapfile.c,
 * cluster_alloc_swap_entry()).
 *
 * A cluster of 512 slots is on a list, and has a lock of its own. Free ones are for any order; the first that
 * gets slots there says which order the cluster is for, until it is free again. One that has been searched
 * goes to that order's frag list, where slots are given back to its nonfull list, and one without free slots
 * to the full list. A large page's slots are in a row and aligned to their number, so that pages of one size
 * leave each other room.
 *
 * A CPU goes on where it found slots of that order last; then it takes a free cluster, then nonfull ones of
 * the order, then those that were searched in vain before. A large page that finds nothing is split; a small
 * one takes slots from clusters of larger orders. Rotating disks have one place to go on for all CPUs.
 *
 * While swap is more than half full (vm_swap_full()), slots that only the swap cache holds are taken from it
 * where they are in the way, and one full cluster is looked through whenever no free one is left.
 *
 * Locks: next_lock where one search goes on after the other; the cluster's, and si->lock inside it for the lists. A cluster that is taken off its list to be
 * searched is found with si->lock held, and its own lock is only tried then.
 */
#include "core/internal.h"
#include "core/swap_cluster.h"

#define ALL_OF_THEM (~0u)

/* ---- on which list ------------------------------------------------------------------------------------ */

/* The cluster's lock is held. @partly: the list of those that are neither free nor full. */
static void cluster_relocate(struct swap_info_struct *si, struct swap_cluster *c, u32 partly)
{
	u32 list = partly + c->order;

	if (c->count == cluster_capacity(si, c))
		list = SWAP_CLUSTERS_FULL;
	else if (!c->count && cluster_is_whole(si, c))
		list = SWAP_CLUSTERS_FREE;
	if (likely(c->list == list))
		return;
	spin_lock(&si->lock);
	if (c->list != SWAP_CLUSTERS_NONE)
		cluster_list_del(si, c);
	cluster_list_add_tail(si, c, list);
	spin_unlock(&si->lock);
	if (list == SWAP_CLUSTERS_FREE)
		c->order = 0;
}

void cluster_slots_freed(struct swap_info_struct *si, u64 offset, u32 nr)
{
	struct swap_cluster *c = &si->cluster[offset >> si->cluster_shift];

	VM_BUG_ON(c->count < nr);
	c->count -= (u16)nr;
	cluster_relocate(si, c, SWAP_CLUSTERS_NONFULL);
}

/* The first cluster of @list that nobody else is at, off the list and locked. NULL: none. */
static struct swap_cluster *isolate_lock_cluster(struct swap_info_struct *si, u32 list)
{
	struct swap_cluster *found = NULL;

	spin_lock(&si->lock);
	for (u32 link = si->off ? 0 : si->clusters[list].first; link && !found;) {
		struct swap_cluster *c = cluster_at(si, link);

		link = c->next;
		if (!spin_trylock(&c->lock))
			continue;
		cluster_list_del(si, c);
		found = c;
	}
	spin_unlock(&si->lock);
	return found;
}

/* ---- one cluster ---------------------------------------------------------------------------------------- */

/* May slots of @order be looked for here? Its lock is held. */
static bool cluster_is_usable(const struct swap_cluster *c, u32 order)
{
	return c->list != SWAP_CLUSTERS_FULL && (!order || !c->count || c->order == order);
}

/* Are the slots free, or would be if the swap cache let go of them (*@reclaim)? */
static bool cluster_scan_range(struct machine *m, const struct swap_info_struct *si, u64 offset,
                               u32 nr, bool *reclaim)
{
	for (u64 i = offset; i < offset + nr; i++) {
		charge(COST_SWAP_SCAN);
		if (likely(!si->swap_map[i]))
			continue;
		if (si->swap_map[i] != SWAP_HAS_CACHE || !vm_swap_full(m))
			return false;
		*reclaim = true;
	}
	return true;
}

/* The swap cache is asked for the slots. @c's lock is dropped meanwhile. True: all are free now. */
static bool cluster_reclaim_range(struct machine *m, struct swap_info_struct *si,
                                  struct swap_cluster *c, u64 offset, u32 nr)
{
	bool ok = true;

	spin_unlock(&c->lock);
	for (u64 i = offset; i < offset + nr && ok; i++) {
		u8 map = READ_ONCE(si->swap_map[i]);

		if (map)
			ok = map == SWAP_HAS_CACHE && try_to_reclaim_swap(m, si, i);
	}
	spin_lock(&c->lock);
	for (u64 i = offset; i < offset + nr; i++)
		if (si->swap_map[i])
			return false;
	return true;
}

/* Free slots become the swap cache's. False: the area is being given up. */
static bool cluster_alloc_range(struct swap_info_struct *si, struct swap_cluster *c, u64 offset,
                                u32 order)
{
	u32 nr = 1u << order;

	if (si->off)
		return false;
	charge(COST_SWAP_MAP);
	if (!c->count && cluster_is_whole(si, c))
		c->order = (u8)order;
	for (u64 i = offset; i < offset + nr; i++)
		si->swap_map[i] = SWAP_HAS_CACHE;
	c->count += (u16)nr;
	VM_BUG_ON(c->count > cluster_capacity(si, c));
	spin_lock(&si->lock);
	swap_range_alloc(si, offset, nr);
	spin_unlock(&si->lock);
	return true;
}

/* Where the next search for slots of @order begins; @next == 0: it has no cluster. */
static void cluster_remember(struct machine *m, struct swap_info_struct *si, u32 order, u64 next)
{
	if (unlikely(si->rotating))
		si->next[order] = next;
	else
		this_cpu(m)->swap_cluster_next[order] =
			next ? swp_entry(si->type, next) : (swp_entry_t){0};
}

/*
 * Takes the first slots from @offset on that there are for @order; 0: there are none. @c's lock is held, and
 * dropped.
 */
static u64 cluster_scan(struct machine *m, struct swap_info_struct *si, struct swap_cluster *c,
                        u64 offset, u32 order)
{
	u64 end = cluster_end(si, c);
	u32 nr = 1u << order;
	u64 found = 0;
	u64 next = 0;

	if (c->count + nr > cluster_capacity(si, c))
		offset = end;
	for (; offset + nr <= end; offset += nr) {
		bool reclaim = false;

		if (!cluster_scan_range(m, si, offset, nr, &reclaim))
			continue;
		if (unlikely(reclaim)) {
			bool ok = cluster_reclaim_range(m, si, c, offset, nr);

			if (!cluster_is_usable(c, order))
				break;
			if (!ok)
				continue;
		}
		if (!cluster_alloc_range(si, c, offset, order))
			break;
		found = offset;
		if (c->count < cluster_capacity(si, c) && offset + 2 * nr <= end)
			next = offset + nr;
		break;
	}
	cluster_relocate(si, c, SWAP_CLUSTERS_FRAG);
	cluster_remember(m, si, order, next);
	spin_unlock(&c->lock);
	return found;
}

/* The cluster where slots of @order were found last, from @offset on. */
static u64 cluster_go_on(struct machine *m, struct swap_info_struct *si, u64 offset, u32 order)
{
	struct swap_cluster *c = &si->cluster[offset >> si->cluster_shift];

	spin_lock(&c->lock);
	if (!cluster_is_usable(c, order)) { /* another order has it now */
		spin_unlock(&c->lock);
		return 0;
	}
	if (!c->count && cluster_is_whole(si, c))
		offset = cluster_start(si, c);
	return cluster_scan(m, si, c, offset, order);
}

/* ---- an area --------------------------------------------------------------------------------------------- */

/* Slots for @order from the first of at most @max clusters of @list that has them. */
static u64 cluster_list_take(struct machine *m, struct swap_info_struct *si, u32 list, u32 order,
                             u32 max)
{
	struct swap_cluster *c;
	u64 slot = 0;

	while (!slot && max-- && (c = isolate_lock_cluster(si, list)))
		slot = cluster_scan(m, si, c, cluster_start(si, c), order);
	return slot;
}

/* One full cluster's slots that only the swap cache holds. */
static void swap_reclaim_full_cluster(struct machine *m, struct swap_info_struct *si)
{
	struct swap_cluster *c = isolate_lock_cluster(si, SWAP_CLUSTERS_FULL);

	if (!c)
		return;
	for (u64 i = cluster_start(si, c); i < cluster_end(si, c); i++) {
		charge(COST_SWAP_SCAN);
		if (si->swap_map[i] != SWAP_HAS_CACHE)
			continue;
		spin_unlock(&c->lock);
		try_to_reclaim_swap(m, si, i);
		spin_lock(&c->lock);
	}
	if (c->list == SWAP_CLUSTERS_NONE)
		cluster_relocate(si, c, SWAP_CLUSTERS_FRAG);
	spin_unlock(&c->lock);
}

/* A small page's slot where larger ones have theirs. */
static u64 cluster_steal(struct machine *m, struct swap_info_struct *si)
{
	u64 slot = 0;

	for (u32 o = 1; o < SWAP_NR_ORDERS && !slot; o++) {
		slot = cluster_list_take(m, si, SWAP_CLUSTERS_FRAG + o, 0, ALL_OF_THEM);
		if (!slot)
			slot = cluster_list_take(m, si, SWAP_CLUSTERS_NONFULL + o, 0, ALL_OF_THEM);
	}
	return slot;
}

/* In a cluster from one of the lists. */
static u64 cluster_alloc_new(struct machine *m, struct swap_info_struct *si, u32 order)
{
	u64 slot = cluster_list_take(m, si, SWAP_CLUSTERS_FREE, order, ALL_OF_THEM);

	if (slot)
		return slot;
	if (vm_swap_full(m))
		swap_reclaim_full_cluster(m, si);
	if (1u << order < cluster_size(si)) {
		u32 nr_frag = READ_ONCE(si->clusters[SWAP_CLUSTERS_FRAG + order].nr);

		slot = cluster_list_take(m, si, SWAP_CLUSTERS_NONFULL + order, order, ALL_OF_THEM);
		/* Their searched ones may have slots now that need no more than asking the swap cache. */
		if (!slot)
			slot = cluster_list_take(m, si, SWAP_CLUSTERS_FRAG + order, order, nr_frag);
	}
	return slot || order ? slot : cluster_steal(m, si);
}

/* On a rotating disk: behind what was swapped out last. */
static u64 cluster_alloc_behind(struct machine *m, struct swap_info_struct *si, u32 order)
{
	u64 slot = 0;

	spin_lock(&si->next_lock);
	if (si->next[order])
		slot = cluster_go_on(m, si, si->next[order], order);
	if (!slot)
		slot = cluster_alloc_new(m, si, order);
	spin_unlock(&si->next_lock);
	return slot;
}

swp_entry_t get_swap_slot_6_12(struct machine *m, struct swap_info_struct *si, u32 order)
{
	u64 slot =
		si->rotating ? cluster_alloc_behind(m, si, order) : cluster_alloc_new(m, si, order);

	return slot ? swp_entry(si->type, slot) : (swp_entry_t){0};
}

swp_entry_t swap_alloc_fast(struct machine *m, u32 order)
{
	swp_entry_t next = this_cpu(m)->swap_cluster_next[order];
	u64 slot;

	if (!next.v)
		return next;
	slot = cluster_go_on(m, swap_info(m, next), swp_offset(next), order);
	return slot ? swp_entry(swp_type(next), slot) : (swp_entry_t){0};
}

/* ---- entries in a row ---------------------------------------------------------------------------------------- */

u32 swap_pte_batch(const struct machine *m, const pte_t *pte, u32 max)
{
	swp_entry_t entry = pte_to_swp_entry(pte[0]);
	u32 nr = 1;

	if (!swap_info(m, entry)->by_list)
		return 1;
	while (nr < max && pte_swap(pte[nr]) && pte_to_swp_entry(pte[nr]).v == entry.v + nr)
		nr++;
	return nr;
}

/* ---- audit ---------------------------------------------------------------------------------------------------- */

void cluster_audit(const struct swap_info_struct *si, const struct swap_cluster *c)
{
	u32 capacity = cluster_capacity(si, c);

	if (c->count == capacity) {
		VM_BUG_ON(c->list != SWAP_CLUSTERS_FULL);
	} else if (!c->count && cluster_is_whole(si, c)) {
		VM_BUG_ON(c->list != SWAP_CLUSTERS_FREE || c->order);
	} else {
		VM_BUG_ON(c->list != SWAP_CLUSTERS_NONFULL + c->order &&
		          c->list != SWAP_CLUSTERS_FRAG + c->order);
		VM_BUG_ON(c->order && !cluster_is_whole(si, c));
	}
}
