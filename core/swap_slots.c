/*
 * How free swap slots are found (the other half of Linux mm/swapfile.c).
 *
 * 3.12 to 6.11: on a rotating disk, runs of 256 neighbouring slots, the lowest such run on the disk
 * first, so that what is swapped out together lies together and near the start; when there is no
 * such run, any free slot upwards of the last one. On a solid-state disk, aligned clusters of 256:
 * each CPU takes the slots of a cluster of its own, then the next free cluster; when none is free,
 * the search of rotating disks goes on where the last one stood, through other CPUs' clusters too.
 * Searching looks at a byte per slot, with si->lock dropped.
 *
 * From 6.12 on: every cluster is on a list, free, nonfull or full, and has a lock of its own. A CPU
 * goes on in its cluster, then takes a free one, then a nonfull one; nothing is searched for
 * beyond a cluster. Rotating disks have one current cluster for all CPUs. The lists for larger
 * orders, and with them the fragmented clusters, are left out, because all pages are of order 0.
 *
 * While swap is more than half full (vm_swap_full()), a slot that only the swap cache holds is
 * taken from it in passing, or, from 6.12 on, once free and nonfull clusters have run out.
 *
 * Left out: the per-CPU slot caches of 4.11 to 6.13; discard.
 */
#include <string.h>

#include "core/internal.h"
#include "core/swap.h"
#include "lib/random.h"

/* Looks at this many slots before it offers its CPU to others. */
#define LATENCY_LIMIT 256

/* ---- lists of clusters -------------------------------------------------------------------------- */

static struct swap_cluster *cluster_at(const struct swap_info_struct *si, u32 link)
{
	return &si->cluster[link - 1];
}

static u32 cluster_link(const struct swap_info_struct *si, const struct swap_cluster *c)
{
	return (u32)(c - si->cluster) + 1;
}

static void cluster_list_del(struct swap_info_struct *si, struct swap_cluster *c)
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
	c->list = SWAP_CLUSTERS_NONE;
}

static void cluster_list_add_tail(struct swap_info_struct *si, struct swap_cluster *c,
                                  enum swap_cluster_list list)
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
}

static u32 cluster_size(const struct swap_info_struct *si)
{
	return 1u << si->cluster_shift;
}

static u64 cluster_start(const struct swap_info_struct *si, const struct swap_cluster *c)
{
	return (u64)(c - si->cluster) << si->cluster_shift;
}

static u64 cluster_end(const struct swap_info_struct *si, const struct swap_cluster *c)
{
	return min_t(u64, cluster_start(si, c) + cluster_size(si), si->max);
}

/* Usable slots. */
static u32 cluster_capacity(const struct swap_info_struct *si, const struct swap_cluster *c)
{
	return (u32)(cluster_end(si, c) - cluster_start(si, c)) - (c == si->cluster);
}

/*
 * Solid-state disks start at a random cluster, to spread the wear (to 6.11). The first cluster is
 * never free, since it holds the header; nor, to 6.11, is a last one that the disk cuts short.
 */
void swap_clusters_init(struct machine *m, struct swap_info_struct *si)
{
	u64 first = 0;

	if (si->rotating && !si->by_list)
		return;
	si->nr_clusters = DIV_ROUND_UP(si->max, cluster_size(si));
	si->cluster = arena_array(&si->arena, struct swap_cluster, si->nr_clusters);
	if (!si->by_list) {
		u64 r = rand_hash(m->world->seed, SWAP_START_STREAM, si->type, 0);

		si->cluster_next = 1 + r % si->highest_bit;
		first = si->cluster_next >> si->cluster_shift;
	} else {
		si->cluster_next = 0;
	}
	for (u64 i = 0; i < si->nr_clusters; i++) {
		struct swap_cluster *c = &si->cluster[(first + i) % si->nr_clusters];
		bool part = cluster_capacity(si, c) < cluster_size(si);

		spin_lock_init(m->world, &c->lock, LOCK_SWAP_INFO);
		c->list = SWAP_CLUSTERS_NONE;
		if (!part)
			cluster_list_add_tail(si, c, SWAP_CLUSTERS_FREE);
		else if (si->by_list)
			cluster_list_add_tail(si, c, SWAP_CLUSTERS_NONFULL);
	}
}

/* The list a cluster of 6.12 belongs on. */
static enum swap_cluster_list cluster_list_for(const struct swap_info_struct *si,
                                               const struct swap_cluster *c)
{
	u32 capacity = cluster_capacity(si, c);

	if (c->count == capacity)
		return SWAP_CLUSTERS_FULL;
	return c->count || capacity < cluster_size(si) ? SWAP_CLUSTERS_NONFULL : SWAP_CLUSTERS_FREE;
}

/* 6.12, cluster lock held. */
static void cluster_relocate(struct swap_info_struct *si, struct swap_cluster *c)
{
	enum swap_cluster_list list = cluster_list_for(si, c);

	if (c->list == list)
		return;
	spin_lock(&si->lock);
	cluster_list_del(si, c);
	cluster_list_add_tail(si, c, list);
	spin_unlock(&si->lock);
}

/* A cluster that is used for the first time leaves the free list, whose head it is. */
void inc_cluster_info_page(struct swap_info_struct *si, u64 offset)
{
	struct swap_cluster *c = &si->cluster[offset >> si->cluster_shift];

	c->count += 1;
	VM_BUG_ON(c->count > cluster_capacity(si, c));
	if (si->by_list)
		cluster_relocate(si, c);
	else if (c->list == SWAP_CLUSTERS_FREE)
		cluster_list_del(si, c);
}

void dec_cluster_info_page(struct swap_info_struct *si, u64 offset)
{
	struct swap_cluster *c = &si->cluster[offset >> si->cluster_shift];

	VM_BUG_ON(!c->count);
	c->count -= 1;
	if (si->by_list)
		cluster_relocate(si, c);
	else if (!c->count && cluster_capacity(si, c) == cluster_size(si))
		cluster_list_add_tail(si, c, SWAP_CLUSTERS_FREE);
}

/* ---- looking at the map, eight slots at a time --------------------------------------------------- */

#define BYTES(b) (~0UL / 0xff * (b))

static u64 map_word(const u8 *map)
{
	u64 word;

	memcpy(&word, map, sizeof(word));
	return word;
}

/* Not 0 if a byte of @word is 0. */
static u64 has_zero_byte(u64 word)
{
	return (word - BYTES(0x01)) & ~word & BYTES(0x80);
}

/* First slot in [@from, @to) that is free or, with @cached, only the swap cache's; @to if none. */
static u64 map_find_free(const u8 *map, u64 from, u64 to, bool cached)
{
	u64 i = from;

	for (; i + 8 <= to; i += 8) {
		u64 word = map_word(map + i);

		if (has_zero_byte(word) || (cached && has_zero_byte(word ^ BYTES(SWAP_HAS_CACHE))))
			break;
	}
	while (i < to && map[i] && !(cached && map[i] == SWAP_HAS_CACHE))
		i++;
	return i;
}

/* First slot in [@from, @to) that is in use; @to if none. */
static u64 map_find_used(const u8 *map, u64 from, u64 to)
{
	u64 i = from;

	while (i + 8 <= to && !map_word(map + i))
		i += 8;
	while (i < to && !map[i])
		i++;
	return i;
}

/* One past the last slot in [@from, @to) that is in use; there is one. */
static u64 map_end_used(const u8 *map, u64 from, u64 to)
{
	u64 i = to;

	while (i >= from + 8 && !map_word(map + i - 8))
		i -= 8;
	while (i > from && !map[i - 1])
		i--;
	return i;
}

/* ---- 3.12: runs and per-CPU clusters, si->lock held --------------------------------------------- */

/* Both searches go in steps of LATENCY_LIMIT slots and offer the CPU in between. */
static void scan_step(u64 nr_slots)
{
	charge_n(COST_SWAP_SCAN, nr_slots);
	world_cond_resched();
}

/*
 * The lowest 256 consecutive free slots, which the search for slots then takes one after the other.
 * Returns where they start, or 0. Drops si->lock while it looks; what it saw free may be taken when
 * it has the lock again.
 */
static u64 find_free_run(struct swap_info_struct *si)
{
	u64 at = si->lowest_bit;
	u64 start = at; /* all between here and at is free */
	u64 run = 0;

	spin_unlock(&si->lock);
	while (start + SWAPFILE_CLUSTER - 1 <= si->highest_bit) {
		u64 end = min(at + LATENCY_LIMIT, si->max);
		u64 used = map_find_used(si->swap_map, at, end);

		if (used >= start + SWAPFILE_CLUSTER) {
			charge_n(COST_SWAP_SCAN, start + SWAPFILE_CLUSTER - at);
			run = start;
			break;
		}
		if (used < end)
			start = map_end_used(si->swap_map, at, end);
		scan_step(end - at);
		at = end;
	}
	spin_lock(&si->lock);
	return run;
}

/* A rotating disk's next slot to try. */
static u64 next_of_run(struct swap_info_struct *si, u64 *scan_base)
{
	u64 offset = si->cluster_next;
	u64 run;

	*scan_base = offset;
	if (si->cluster_nr--)
		return offset;
	if (si->pages - si->inuse_pages < SWAPFILE_CLUSTER) {
		si->cluster_nr = SWAPFILE_CLUSTER - 1;
		return offset;
	}
	*scan_base = si->lowest_bit;
	run = find_free_run(si);
	si->cluster_nr = SWAPFILE_CLUSTER - 1;
	if (!run)
		return *scan_base;
	si->cluster_next = run;
	return run;
}

/*
 * The next free slot of this CPU's cluster, or of a new one; where it has none and there is none,
 * *@offset stays. A CPU remembers its next slot + 1, 0 for no cluster.
 */
static void try_ssd_cluster(struct machine *m, struct swap_info_struct *si, u64 *offset,
                            u64 *scan_base)
{
	u64 *next = &this_cpu(m)->swap_next[si->type];

	for (;;) {
		u64 slot;
		u64 end;

		if (!*next && !si->clusters[SWAP_CLUSTERS_FREE].first)
			return;
		if (!*next) /* it stays on the list until its first slot is taken */
			*next = cluster_start(si, cluster_at(si, si->clusters[0].first)) + 1;
		slot = *next - 1;
		end = cluster_end(si, &si->cluster[slot >> si->cluster_shift]);

		/* Others take from it too, when they find no free cluster. */
		for (; slot < end && si->swap_map[slot]; slot++)
			charge(COST_SWAP_SCAN);
		*next = slot + 1 < end ? slot + 2 : 0;
		if (slot < end) {
			*offset = slot;
			*scan_base = slot;
			return;
		}
	}
}

/*
 * Slots of a free cluster other than the first on the list are not to be had: it would leave the
 * list from the middle. That happens when this CPU's cluster has become free meanwhile; the CPU
 * forgets it.
 */
static bool ssd_cluster_conflict(struct machine *m, struct swap_info_struct *si, u64 offset)
{
	u32 first = si->clusters[SWAP_CLUSTERS_FREE].first;
	struct swap_cluster *c = &si->cluster[offset >> si->cluster_shift];

	if (!first || c->list != SWAP_CLUSTERS_FREE || cluster_link(si, c) == first)
		return false;
	this_cpu(m)->swap_next[si->type] = 0;
	return true;
}

/* The first slot of [@from, @to) worth taking the lock for; @to if none. Lock dropped. */
static u64 scan_range(struct machine *m, struct swap_info_struct *si, u64 from, u64 to)
{
	while (from < to) {
		u64 end = min(from + LATENCY_LIMIT, to);
		u64 slot = map_find_free(si->swap_map, from, end, vm_swap_full(m));

		if (slot < end) {
			charge_n(COST_SWAP_SCAN, slot - from);
			return slot;
		}
		scan_step(end - from);
		from = end;
	}
	return to;
}

/*
 * From *@offset up to highest_bit, then from lowest_bit to where the search began: once round. (Linux
 * goes round for as long as it meets a slot that only the cache holds and cannot be had, also if
 * that one's write waits in this task's own plug.)
 */
static bool scan_for_slot(struct machine *m, struct swap_info_struct *si, u64 *offset,
                          u64 scan_base, bool *wrapped)
{
	u64 end = *wrapped ? min(scan_base, si->max) : si->highest_bit + 1;
	u64 slot;

	spin_unlock(&si->lock);
	slot = scan_range(m, si, *offset + 1, end);
	if (slot >= end && !*wrapped) {
		*wrapped = true;
		end = min(scan_base, si->max);
		slot = scan_range(m, si, min(si->lowest_bit, end), end);
	}
	spin_lock(&si->lock);
	*offset = slot;
	return slot < end;
}

/* Linux: scan_swap_map(). 0: the area is full. */
static u64 scan_swap_map(struct machine *m, struct swap_info_struct *si)
{
	u64 scan_base = si->cluster_next;
	u64 offset = scan_base;
	bool wrapped = false;

	if (si->cluster)
		try_ssd_cluster(m, si, &offset, &scan_base);
	else
		offset = next_of_run(si, &scan_base);
	for (;;) {
		while (si->cluster && offset < si->max && ssd_cluster_conflict(m, si, offset))
			try_ssd_cluster(m, si, &offset, &scan_base);
		if (!si->highest_bit)
			return 0;
		if (offset > si->highest_bit)
			scan_base = offset = si->lowest_bit;
		charge(COST_SWAP_SCAN);
		if (!si->swap_map[offset])
			return offset;
		if (si->swap_map[offset] == SWAP_HAS_CACHE && vm_swap_full(m)) {
			bool freed;

			spin_unlock(&si->lock);
			freed = try_to_reclaim_swap(m, si, offset);
			spin_lock(&si->lock);
			if (freed)
				continue;
		}
		if (!scan_for_slot(m, si, &offset, scan_base, &wrapped))
			return 0;
	}
}

swp_entry_t get_swap_slot_3_12(struct machine *m, struct swap_info_struct *si)
{
	swp_entry_t entry = {0};
	u64 offset;

	spin_lock(&si->lock);
	offset = scan_swap_map(m, si);
	if (offset) {
		VM_BUG_ON(si->swap_map[offset]);
		charge(COST_SWAP_MAP);
		swap_range_alloc(si, offset);
		si->swap_map[offset] = SWAP_HAS_CACHE;
		if (si->cluster)
			inc_cluster_info_page(si, offset);
		si->cluster_next = offset + 1;
		entry = swp_entry(si->type, offset);
	}
	spin_unlock(&si->lock);
	return entry;
}

/* ---- 6.12: cluster lists --------------------------------------------------------------------------- */

/* Where the next search begins: each CPU's own, or one for all on a rotating disk. Slot + 1. */
static u64 *next_slot_6_12(struct machine *m, struct swap_info_struct *si)
{
	return si->rotating ? &si->cluster_next : &this_cpu(m)->swap_next[si->type];
}

/* A free slot of @c from @offset on, taken; 0: none. */
static u64 cluster_take_slot(struct machine *m, struct swap_info_struct *si, struct swap_cluster *c,
                             u64 offset)
{
	u64 end = cluster_end(si, c);

	spin_lock(&c->lock);
	for (; offset < end && si->swap_map[offset]; offset++)
		charge(COST_SWAP_SCAN);
	if (offset < end) {
		charge(COST_SWAP_SCAN);
		charge(COST_SWAP_MAP);
		si->swap_map[offset] = SWAP_HAS_CACHE;
		inc_cluster_info_page(si, offset);
		spin_lock(&si->lock);
		swap_range_alloc(si, offset);
		spin_unlock(&si->lock);
		*next_slot_6_12(m, si) = offset + 1 < end ? offset + 2 : 0;
	}
	spin_unlock(&c->lock);
	return offset < end ? offset : 0;
}

/* The first cluster of @list, which goes to its end, so that CPUs spread over several. */
static struct swap_cluster *cluster_list_next(struct swap_info_struct *si,
                                              enum swap_cluster_list list)
{
	struct swap_cluster *c = NULL;

	spin_lock(&si->lock);
	if (si->clusters[list].first) {
		c = cluster_at(si, si->clusters[list].first);
		cluster_list_del(si, c);
		cluster_list_add_tail(si, c, list);
	}
	spin_unlock(&si->lock);
	return c;
}

static u64 cluster_list_take(struct machine *m, struct swap_info_struct *si,
                             enum swap_cluster_list list)
{
	struct swap_cluster *c;
	u64 slot;

	/* Another CPU may take a cluster's last slot between the list and the cluster's lock. */
	while ((c = cluster_list_next(si, list))) {
		slot = cluster_take_slot(m, si, c, cluster_start(si, c));
		if (slot)
			return slot;
		world_order();
	}
	return 0;
}

/* Linux: swap_reclaim_full_clusters(). One cluster's slots that only the swap cache holds. */
static void swap_reclaim_full_cluster(struct machine *m, struct swap_info_struct *si)
{
	struct swap_cluster *c = cluster_list_next(si, SWAP_CLUSTERS_FULL);

	if (!c)
		return;
	for (u64 i = cluster_start(si, c); i < cluster_end(si, c); i++) {
		charge(COST_SWAP_SCAN);
		if (si->swap_map[i] == SWAP_HAS_CACHE)
			try_to_reclaim_swap(m, si, i);
	}
}

swp_entry_t get_swap_slot_6_12(struct machine *m, struct swap_info_struct *si)
{
	u64 next = *next_slot_6_12(m, si);
	u64 slot = 0;

	if (next)
		slot = cluster_take_slot(m, si, &si->cluster[(next - 1) >> si->cluster_shift],
		                         next - 1);
	if (!slot)
		slot = cluster_list_take(m, si, SWAP_CLUSTERS_FREE);
	if (!slot)
		slot = cluster_list_take(m, si, SWAP_CLUSTERS_NONFULL);
	if (!slot && vm_swap_full(m)) {
		swap_reclaim_full_cluster(m, si);
		slot = cluster_list_take(m, si, SWAP_CLUSTERS_NONFULL);
		if (!slot)
			slot = cluster_list_take(m, si, SWAP_CLUSTERS_FREE);
	}
	return slot ? swp_entry(si->type, slot) : (swp_entry_t){0};
}

/*
 * A whole free cluster, for a huge page: its slots, the first of them; .v == 0: there is none. (A rotating
 * disk's current cluster is not looked at.)
 */
swp_entry_t get_swap_cluster(struct machine *m, struct swap_info_struct *si)
{
	swp_entry_t entry = {0};
	struct swap_cluster *c;

	while (!entry.v && (c = cluster_list_next(si, SWAP_CLUSTERS_FREE))) {
		u64 start = cluster_start(si, c);

		spin_lock(&c->lock);
		if (!c->count) {
			charge_n(COST_SWAP_SCAN, cluster_size(si));
			charge(COST_SWAP_MAP);
			c->count = (u16)cluster_size(si);
			cluster_relocate(si, c);
			spin_lock(&si->lock);
			for (u64 i = start; i < start + cluster_size(si); i++) {
				si->swap_map[i] = SWAP_HAS_CACHE;
				swap_range_alloc(si, i);
			}
			spin_unlock(&si->lock);
			entry = swp_entry(si->type, start);
		}
		spin_unlock(&c->lock);
		world_order();
	}
	(void)m;
	return entry;
}

/* ---- audit ------------------------------------------------------------------------------------------- */

void swap_clusters_audit(struct swap_info_struct *si)
{
	u64 nr_listed = 0;

	for (u64 i = 0; i < si->nr_clusters; i++) {
		const struct swap_cluster *c = &si->cluster[i];
		u32 count = 0;

		for (u64 s = max_t(u64, cluster_start(si, c), 1); s < cluster_end(si, c); s++)
			count += si->swap_map[s] != 0;
		VM_BUG_ON_MSG(count != c->count, "swap cluster %lu: %u slots used, counted %u", i,
		              count, c->count);
		VM_BUG_ON(si->by_list && c->list != cluster_list_for(si, c));
		VM_BUG_ON(!si->by_list &&
		          (c->list == SWAP_CLUSTERS_FREE) !=
		                  (!count && cluster_capacity(si, c) == cluster_size(si)));
		nr_listed += c->list != SWAP_CLUSTERS_NONE;
	}
	for (int l = 0; l < NR_SWAP_CLUSTER_LISTS; l++) {
		u32 prev = 0;

		for (u32 link = si->clusters[l].first; link; link = cluster_at(si, link)->next) {
			VM_BUG_ON(cluster_at(si, link)->list != l);
			VM_BUG_ON(cluster_at(si, link)->prev != prev);
			VM_BUG_ON(!nr_listed--);
			prev = link;
		}
		VM_BUG_ON(si->clusters[l].last != prev);
	}
	VM_BUG_ON(nr_listed);
}
