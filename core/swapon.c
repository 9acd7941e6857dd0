/*
 * swapon(): a disk becomes a swap area (Linux mm/swapfile.c). swapoff.c gives it up.
 *
 * An area's map takes frames of the machine, as vmalloc() would; what else there is per slot comes from an arena of
 * its own.
 *
 * Left out: discard (swapon -d).
 */
#include "core/swap.h"

/* The map is vmalloc()ed: it takes frames of the machine. */
static int swap_take_map_frames(struct machine *m, u64 nr_slots, struct page_list *frames)
{
	/* Links count from the machine's first page, so frames of all nodes may be mixed. */
	page_list_init(frames, m->mem_map);
	for (u64 i = 0; i < DIV_ROUND_UP(nr_slots, PAGE_SIZE); i++) {
		struct page *page = alloc_page(m, GFP_KERNEL);

		if (!page)
			return -ENOMEM;
		page_list_add(frames, page);
	}
	return 0;
}

void swap_free_map_frames(struct machine *m, struct swap_info_struct *si)
{
	struct page *page;

	while ((page = page_list_pop(&si->frames)))
		__free_pages(m, page, 0);
}

static int swap_reserve(struct swap_info_struct *si)
{
	u64 per_slot = sizeof(u8) + 2 * sizeof(u32) + sizeof(u64) + sizeof(u8); /* zram: a bit */
	u64 per_cluster = sizeof(struct swap_cluster) + sizeof(struct spinlock);
	u64 clusters = DIV_ROUND_UP(si->max, SWAPFILE_CLUSTER);

	return arena_init(&si->arena, si->max * (per_slot + 1) + clusters * per_cluster + (1 << 16),
	                  "swap area");
}

static void swap_fill_in(struct machine *m, struct swap_info_struct *si)
{
	u64 nr_trees;

	spin_lock_init(m->world, &si->lock, LOCK_SWAP_INFO);
	spin_lock_init(m->world, &si->next_lock, LOCK_SWAP_GLOBAL_CLUSTER);
	si->lowest_bit = 1;
	si->highest_bit = si->max - 1;
	si->cluster_next = 1;
	si->swap_map = arena_array(&si->arena, u8, si->max);
	si->swap_map[0] = SWAP_MAP_BAD;
	si->continued = arena_array(&si->arena, u32, si->max);
	si->cont_levels = arena_array(&si->arena, u8, DIV_ROUND_UP(si->max, PAGE_SIZE));
	si->cache = arena_array(&si->arena, u64, si->max);
	si->audit = arena_array(&si->arena, u32, si->max);

	/* One tree an area before 4.11, one per 64 MiB from then on (4b3ef9daa4fc). */
	si->by_list = m->get_swap_slot == get_swap_slot_6_12;
	si->cluster_shift = si->by_list ? 9 : 8;
	si->tree_shift = si->by_list ? 14 : 63;
	nr_trees = ((si->max - 1) >> si->tree_shift) + 1;
	si->tree_lock = arena_array(&si->arena, struct spinlock, nr_trees);
	for (u64 i = 0; i < nr_trees; i++)
		spin_lock_init(m->world, &si->tree_lock[i], LOCK_SWAP_TREE);
	swap_clusters_init(m, si);
	if (si->ram)
		zram_init(m, si);
}

/* Behind areas of higher or equal priority. */
static void swap_order_insert(struct machine *m, struct swap_info_struct *si)
{
	u32 i = m->nr_swapfiles;

	for (; i && m->swap[m->swap_order[i - 1]]->prio < si->prio; i--)
		m->swap_order[i] = m->swap_order[i - 1];
	m->swap_order[i] = si->type;
	m->nr_swapfiles += 1;
}

static int swapon(struct machine *m, u32 disk, int prio)
{
	const struct hw_disk *hw = &m->world->hw->disk[disk];
	struct swap_info_struct *si;
	struct page_list frames;
	int err;

	if (disk >= m->world->hw->nr_disks || hw->size_bytes < 2 * PAGE_SIZE)
		return -EINVAL;
	for (u32 i = 0; i < m->nr_swapfiles; i++)
		if (m->swap[i]->disk == disk && !m->swap[i]->off)
			return -EBUSY;
	if (m->nr_swapfiles == MAX_SWAPFILES)
		return -EPERM;
	err = swap_take_map_frames(m, hw->size_bytes >> PAGE_SHIFT, &frames);
	if (err)
		return err;

	si = arena_new(&m->arena, struct swap_info_struct);
	si->machine = m;
	si->type = m->nr_swapfiles;
	si->disk = disk;
	si->frames = frames;
	si->prio = prio >= 0 ? prio : -1 - (s32)si->type;
	si->rotating = hw->rotational;
	si->ram = hw->kind == HW_DISK_RAM;
	si->synchronous = si->ram && m->knob.swap_sync == KNOB_ON;
	si->max = min_t(u64, hw->size_bytes >> PAGE_SHIFT, 1UL << SWP_OFFSET_BITS);
	si->pages = si->max - 1;
	err = swap_reserve(si);
	if (err)
		return err;
	swap_fill_in(m, si);

	spin_lock(&m->swap_avail_lock);
	m->swap[si->type] = si;
	swap_order_insert(m, si);
	m->nr_rotate_swap += si->rotating;
	m->total_swap_pages += si->pages;
	atomic_long_add((long)si->pages, &m->nr_swap_pages);
	si->avail = true;
	spin_unlock(&m->swap_avail_lock);
	return 0;
}

/* -EINVAL: no such disk, or too small; -EBUSY: already swap; -EPERM: too many; -ENOMEM. */
int do_swapon(struct machine *m, u32 disk, int prio)
{
	bool user = world_current()->in_user;
	int err;

	if (user)
		world_syscall_enter();
	span_enter(SPAN_SWAPON);
	err = swapon(m, disk, prio);
	span_exit();
	if (user)
		world_syscall_exit();
	return err;
}
