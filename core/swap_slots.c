/*
 * How free swap slots are found to 6.11 (the other half of Linux mm/swapfile.c).
 *
 * 3.12 to 6.11: on a rotating disk, runs of 256 neighbouring slots, the lowest such run on the disk
 * first, so that what is swapped out together lies together and near the start; when there is no
 * such run, any free slot upwards of the last one. On a solid-state disk, aligned clusters of 256:
 * each CPU takes the slots of a cluster of its own, then the next free cluster; when none is free,
 * the search of rotating disks goes on where the last one stood, through other CPUs' clusters too.
 * Searching looks at a byte per slot, with si->lock dropped.
 *
 * While swap is more than half full (vm_swap_full()), a slot that only the swap cache holds is
 * taken from it in passing. 6.12's cluster lists are in swap_cluster.c.
 *
 * Left out: the per-CPU slot caches of 4.11 to 6.13; discard.
 */
#include <string.h>

#include "core/internal.h"
#include "core/swap_cluster.h"
#include "lib/random.h"

/* Looks at this many slots before it offers its CPU to others. */
#define LATENCY_LIMIT 256

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
	}
	for (u64 i = 0; i < si->nr_clusters; i++) {
		struct swap_cluster *c = &si->cluster[(first + i) % si->nr_clusters];

		spin_lock_init(m->world, &c->lock, LOCK_SWAP_INFO);
		c->list = SWAP_CLUSTERS_NONE;
		if (cluster_is_whole(si, c))
			cluster_list_add_tail(si, c, SWAP_CLUSTERS_FREE);
		else if (si->by_list)
			cluster_list_add_tail(si, c, SWAP_CLUSTERS_NONFULL);
	}
}

/* A cluster that is used for the first time leaves the free list, whose head it is. */
static void inc_cluster_info_page(struct swap_info_struct *si, u64 offset)
{
	struct swap_cluster *c = &si->cluster[offset >> si->cluster_shift];

	c->count += 1;
	VM_BUG_ON(c->count > cluster_capacity(si, c));
	if (c->list == SWAP_CLUSTERS_FREE)
		cluster_list_del(si, c);
}

void dec_cluster_info_page(struct swap_info_struct *si, u64 offset)
{
	struct swap_cluster *c = &si->cluster[offset >> si->cluster_shift];

	VM_BUG_ON(!c->count);
	c->count -= 1;
	if (!c->count && cluster_is_whole(si, c))
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

swp_entry_t get_swap_slot_3_12(struct machine *m, struct swap_info_struct *si, u32 order)
{
	swp_entry_t entry = {0};
	u64 offset;

	if (order) /* (4.13 to 6.11 took a free cluster for a huge page, where it does not rotate.) */
		return entry;
	spin_lock(&si->lock);
	offset = scan_swap_map(m, si);
	if (offset) {
		VM_BUG_ON(si->swap_map[offset]);
		charge(COST_SWAP_MAP);
		swap_range_alloc(si, offset, 1);
		si->swap_map[offset] = SWAP_HAS_CACHE;
		if (si->cluster)
			inc_cluster_info_page(si, offset);
		si->cluster_next = offset + 1;
		entry = swp_entry(si->type, offset);
	}
	spin_unlock(&si->lock);
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
		if (si->by_list)
			cluster_audit(si, c);
		else
			VM_BUG_ON((c->list == SWAP_CLUSTERS_FREE) !=
			          (!count && cluster_is_whole(si, c)));
		nr_listed += c->list != SWAP_CLUSTERS_NONE;
	}
	for (int l = 0; l < NR_SWAP_CLUSTER_LISTS; l++) {
		u32 nr = 0;
		u32 prev = 0;

		for (u32 link = si->clusters[l].first; link; link = cluster_at(si, link)->next) {
			VM_BUG_ON(cluster_at(si, link)->list != l);
			VM_BUG_ON(cluster_at(si, link)->prev != prev);
			VM_BUG_ON(!nr_listed--);
			prev = link;
			nr += 1;
		}
		VM_BUG_ON(si->clusters[l].last != prev || si->clusters[l].nr != nr);
	}
	VM_BUG_ON(nr_listed);
}
