/*
 * Swap areas and the swap map (Linux mm/swapfile.c): who uses which slot, and how often.
 *
 * The map has one byte per slot: 0 is free; the low six bits count the page-table entries that name
 * the slot, up to SWAP_MAP_MAX; SWAP_HAS_CACHE says that the swap cache has, or is about to have, a
 * page for it; COUNT_CONTINUED says that the count goes on elsewhere. A slot is free when neither
 * anybody counts nor the cache holds it. How free slots are found is swap_slots.c's subject.
 *
 * Locks: the map is under si->lock, from 6.12 on under the lock of the slot's cluster (see
 * swap_slot_lock()). Both are taken with interrupts on. swap_avail_lock, inside them, guards the
 * order in which areas are tried. The page lock is taken before them, or by trylock.
 *
 * Left out: SWAP_MAP_SHMEM. swapon() and swapoff() are files of their own.
 */
#include <errno.h>

#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/swap.h"

/* The count that one carry into the continuation stands for: digits 0 .. SWAP_MAP_MAX. */
#define SWAP_DIGIT (SWAP_MAP_MAX + 1u)
/* More bios in flight than this mean more than 4 GiB under I/O at once. */
#define SWAP_IO_MAX (1u << 20)

int swap_init(struct machine *m)
{
	spin_lock_init(m->world, &m->swap_avail_lock, LOCK_SWAP_AVAIL);
	m->swapin_readahead_hits = 4;
	m->get_swap_slot =
		m->knob.swap_slots == SWAP_SLOTS_6_12 ? get_swap_slot_6_12 : get_swap_slot_3_12;
	return pool_init(&m->io_pool, sizeof(struct world_io), SWAP_IO_MAX, "swap I/O");
}

void swap_destroy(struct machine *m)
{
	for (u32 i = 0; i < m->nr_swapfiles; i++)
		arena_destroy(&m->swap[i]->arena);
	pool_destroy(&m->io_pool);
}

long get_nr_swap_pages(const struct machine *m)
{
	return atomic_long_read(&m->nr_swap_pages);
}

/* Less than half is free: swapped-in pages give up their slots. */
bool vm_swap_full(const struct machine *m)
{
	return (unsigned long)get_nr_swap_pages(m) * 2 < m->total_swap_pages;
}

bool swap_is_synchronous(const struct machine *m, swp_entry_t entry)
{
	return swap_info(m, entry)->synchronous;
}

bool swap_is_rotating(const struct machine *m, swp_entry_t entry)
{
	return swap_info(m, entry)->rotating;
}

/* ---- counts that go on ---------------------------------------------------------------------------- */

/*
 * Linux chains frames behind each page of the map, whose bytes are further digits of the counts.
 * Here the further digits are one number per slot, and the frames are only taken.
 */
static u32 cont_levels_needed(u32 continued)
{
	u32 levels = 0;

	for (; continued; continued /= SWAP_CONT_MAX + 1)
		levels++;
	return levels;
}

/* Can slot @offset count one carry more? Slot lock held. */
static bool swap_count_continued(const struct swap_info_struct *si, u64 offset)
{
	return cont_levels_needed(si->continued[offset] + 1) <= si->cont_levels[offset / PAGE_SIZE];
}

/* One more frame behind @entry's page of the map. No lock of swap held; the caller may hold others. */
static int add_swap_count_continuation(struct machine *m, swp_entry_t entry)
{
	struct swap_info_struct *si = swap_info(m, entry);
	u64 offset = swp_offset(entry);
	struct page *frame = alloc_page(m, GFP_ATOMIC);
	struct spinlock *lock;

	if (!frame)
		return -ENOMEM;
	lock = swap_slot_lock(si, offset);
	spin_lock(lock);
	if (swap_count_continued(si, offset)) {
		/* Another task has been faster. */
		spin_unlock(lock);
		__free_pages(m, frame, 0);
		return 0;
	}
	si->cont_levels[offset / PAGE_SIZE] += 1;
	spin_unlock(lock);
	return 0;
}

/* ---- counting up -------------------------------------------------------------------------------------- */

/* One more pte names the slot. Slot lock held. */
static int swap_map_inc(struct swap_info_struct *si, u64 offset)
{
	u8 *map = &si->swap_map[offset];
	u8 digit = *map & SWAP_MAP_BAD;

	if (!(*map & ~SWAP_HAS_CACHE) && !(*map & SWAP_HAS_CACHE))
		return -ENOENT;
	if (digit == SWAP_MAP_BAD)
		return -EINVAL;
	if (digit < SWAP_MAP_MAX) {
		*map += 1;
		return 0;
	}
	if (!swap_count_continued(si, offset))
		return -ENOMEM;
	si->continued[offset] += 1;
	*map = (*map & SWAP_HAS_CACHE) | COUNT_CONTINUED;
	return 0;
}

static int swap_map_take_cache(struct swap_info_struct *si, u64 offset)
{
	u8 *map = &si->swap_map[offset];

	if ((*map & SWAP_MAP_BAD) == SWAP_MAP_BAD)
		return -ENOENT;
	if (*map & SWAP_HAS_CACHE)
		return -EEXIST;
	if (!*map)
		return -ENOENT;
	*map |= SWAP_HAS_CACHE;
	return 0;
}

static int __swap_duplicate(struct machine *m, swp_entry_t entry, bool cache)
{
	struct swap_info_struct *si = swap_info(m, entry);
	u64 offset = swp_offset(entry);
	struct spinlock *lock;
	int err;

	if (offset >= si->max)
		return -EINVAL;
	lock = swap_slot_lock(si, offset);
	spin_lock(lock);
	charge(COST_SWAP_MAP);
	err = cache ? swap_map_take_cache(si, offset) : swap_map_inc(si, offset);
	spin_unlock(lock);
	return err;
}

/* -ENOMEM: no frame for a count beyond SWAP_MAP_MAX. Locks of page tables may be held. */
int swap_duplicate(struct machine *m, swp_entry_t entry)
{
	int err = 0;

	while (!err && __swap_duplicate(m, entry, false) == -ENOMEM)
		err = add_swap_count_continuation(m, entry);
	return err;
}

/* -EEXIST: the cache has it, or will in a moment; -ENOENT: the slot is free. */
int swapcache_prepare(struct machine *m, swp_entry_t entry)
{
	return __swap_duplicate(m, entry, true);
}

int swapcache_prepare_nr(struct machine *m, swp_entry_t entry, u32 nr)
{
	struct swap_info_struct *si = swap_info(m, entry);
	u64 offset = swp_offset(entry);
	struct spinlock *lock = swap_slot_lock(si, offset);
	int err = 0;

	spin_lock(lock);
	charge(COST_SWAP_MAP);
	charge_n(COST_SWAP_SCAN, nr);
	for (u64 i = offset; i < offset + nr && !err; i++) {
		if (si->swap_map[i] & SWAP_HAS_CACHE)
			err = -EEXIST;
		else if (!si->swap_map[i])
			err = -ENOENT;
	}
	for (u64 i = offset; i < offset + nr && !err; i++)
		si->swap_map[i] |= SWAP_HAS_CACHE;
	spin_unlock(lock);
	return err;
}

/* ---- taking and giving back slots -------------------------------------------------------------------- */

static void swap_avail_add(struct swap_info_struct *si)
{
	struct machine *m = si->machine;

	spin_lock(&m->swap_avail_lock);
	si->avail = !si->off;
	spin_unlock(&m->swap_avail_lock);
}

static void swap_avail_del(struct swap_info_struct *si)
{
	struct machine *m = si->machine;

	spin_lock(&m->swap_avail_lock);
	si->avail = false;
	spin_unlock(&m->swap_avail_lock);
}

/* si->lock held. */
void swap_range_alloc(struct swap_info_struct *si, u64 offset, u32 nr)
{
	if (offset == si->lowest_bit)
		si->lowest_bit += nr;
	if (offset + nr - 1 == si->highest_bit)
		si->highest_bit -= nr;
	si->inuse_pages += nr;
	if (si->inuse_pages == si->pages) {
		si->lowest_bit = si->max;
		si->highest_bit = 0;
		swap_avail_del(si);
	}
}

/* si->lock held. */
void swap_range_free(struct swap_info_struct *si, u64 offset, u32 nr)
{
	u64 last = offset + nr - 1;
	bool was_full = !si->highest_bit;

	if (offset < si->lowest_bit)
		si->lowest_bit = offset;
	if (last > si->highest_bit) {
		si->highest_bit = last;
		if (was_full)
			swap_avail_add(si);
	}
	atomic_long_add(nr, &si->machine->nr_swap_pages);
	si->inuse_pages -= nr;
}

/* @nr slots from @offset on have become free; more than one: 6.12. Slot lock held. */
static void swap_slots_release(struct swap_info_struct *si, u64 offset, u32 nr)
{
	charge(COST_SWAP_SLOT);
	clear_shadow_from_swap_cache(si->machine, swp_entry(si->type, offset), nr);
	if (si->by_list) {
		cluster_slots_freed(si, offset, nr);
		spin_lock(&si->lock);
		swap_range_free(si, offset, nr);
		spin_unlock(&si->lock);
	} else {
		if (si->cluster)
			dec_cluster_info_page(si, offset);
		swap_range_free(si, offset, nr);
	}
	if (!si->ram)
		return;
	/* Linux: swap_slot_free_notify(), since 2.6.35. */
	for (u32 i = 0; i < nr; i++)
		zram_free(si->machine, si, offset + i);
	world_disk_discard(si->machine->world, si->disk, offset * 8, 8 * nr);
}

/* Drops a pte's count, or the cache's hold. Slot lock held. Returns what is left in the map. */
static u8 swap_map_dec(struct swap_info_struct *si, u64 offset, bool cache)
{
	u8 *map = &si->swap_map[offset];

	if (cache) {
		VM_BUG_ON(!(*map & SWAP_HAS_CACHE));
		*map &= ~SWAP_HAS_CACHE;
	} else if (*map & SWAP_MAP_BAD) {
		VM_BUG_ON((*map & SWAP_MAP_BAD) == SWAP_MAP_BAD);
		*map -= 1;
	} else {
		/* Borrow from the continuation; its last carry gone, the count ends here again. */
		VM_BUG_ON(!(*map & COUNT_CONTINUED));
		si->continued[offset] -= 1;
		*map |= SWAP_MAP_MAX;
		if (!si->continued[offset])
			*map &= ~COUNT_CONTINUED;
	}
	return *map;
}

/* The same, and gives back the slot if nothing is left. */
static u8 swap_entry_free(struct swap_info_struct *si, u64 offset, bool cache)
{
	u8 left;

	charge(COST_SWAP_MAP);
	left = swap_map_dec(si, offset, cache);
	if (!left)
		swap_slots_release(si, offset, 1);
	return left;
}

static u8 swap_entry_put(struct machine *m, swp_entry_t entry, bool cache)
{
	struct swap_info_struct *si = swap_info(m, entry);
	u64 offset = swp_offset(entry);
	struct spinlock *lock = swap_slot_lock(si, offset);
	u8 left;

	VM_BUG_ON(offset >= si->max);
	spin_lock(lock);
	left = swap_entry_free(si, offset, cache);
	spin_unlock(lock);
	return left;
}

void swap_free(struct machine *m, swp_entry_t entry)
{
	swap_entry_put(m, entry, false);
}

void swapcache_free(struct machine *m, swp_entry_t entry)
{
	swap_entry_put(m, entry, true);
}

/*
 * @nr slots of one cluster lose a count each, or the cache's hold, under one hold of its lock, and those that
 * become free are given back in runs. True: only the cache holds some of them now.
 */
static bool swap_cluster_put(struct swap_info_struct *si, u64 offset, u32 nr, bool cache)
{
	struct spinlock *lock = swap_slot_lock(si, offset);
	bool only_cache = false;
	u32 run = 0;

	spin_lock(lock);
	charge(COST_SWAP_MAP);
	charge_n(COST_SWAP_SCAN, nr);
	for (u32 i = 0; i < nr; i++) {
		u8 left = swap_map_dec(si, offset + i, cache);

		only_cache |= left == SWAP_HAS_CACHE;
		run += !left;
		if (run && (left || i + 1 == nr)) {
			swap_slots_release(si, offset + i + !left - run, run);
			run = 0;
		}
	}
	spin_unlock(lock);
	return only_cache;
}

/* Slots in a row; to 6.11 one by one. */
static bool swap_entries_put(struct machine *m, swp_entry_t entry, u32 nr, bool cache)
{
	struct swap_info_struct *si = swap_info(m, entry);
	u64 offset = swp_offset(entry);
	bool only_cache = false;

	VM_BUG_ON(offset + nr > si->max);
	while (nr) {
		u32 n = 1;

		if (si->by_list)
			n = min(nr, (1u << si->cluster_shift) -
			                    (u32)(offset & ((1u << si->cluster_shift) - 1)));
		if (n > 1)
			only_cache |= swap_cluster_put(si, offset, n, cache);
		else
			only_cache |= swap_entry_put(m, swp_entry(si->type, offset), cache) ==
			              SWAP_HAS_CACHE;
		offset += n;
		nr -= n;
	}
	return only_cache;
}

void swap_free_nr(struct machine *m, swp_entry_t entry, u32 nr)
{
	swap_entries_put(m, entry, nr, false);
}

void swapcache_free_nr(struct machine *m, swp_entry_t entry, u32 nr)
{
	swap_entries_put(m, entry, nr, true);
}

/*
 * For an interrupt: the area of @entry, locked, if its lock is free and giving back a slot needs no
 * other one. NULL: not now, or never.
 */
struct swap_info_struct *swap_info_trylock(struct machine *m, swp_entry_t entry)
{
	struct swap_info_struct *si = swap_info(m, entry);

	if (si->ram || si->by_list || !spin_trylock_in_irq(&si->lock))
		return NULL;
	if (si->highest_bit) /* not full: it is on the list of areas already */
		return si;
	spin_unlock(&si->lock);
	return NULL;
}

void swapcache_free_unlock(struct swap_info_struct *si, swp_entry_t entry)
{
	swap_entry_free(si, swp_offset(entry), true);
	spin_unlock(&si->lock);
}

/* The next area in order of priority that @tried does not have, moved behind its equals. */
static struct swap_info_struct *swap_avail_next(struct machine *m, u32 tried)
{
	for (u32 i = 0; i < m->nr_swapfiles; i++) {
		struct swap_info_struct *si = m->swap[m->swap_order[i]];

		if (!si->avail || tried >> si->type & 1)
			continue;
		for (; i + 1 < m->nr_swapfiles && m->swap[m->swap_order[i + 1]]->prio == si->prio;
		     i++)
			swap(m->swap_order[i], m->swap_order[i + 1]);
		return si;
	}
	return NULL;
}

/* From the first area in order of priority that has them. Large pages are tried in one only. */
static swp_entry_t swap_alloc_slow(struct machine *m, u32 order)
{
	swp_entry_t entry = {0};
	u32 tried = 0;

	do {
		struct swap_info_struct *si;

		spin_lock(&m->swap_avail_lock);
		si = swap_avail_next(m, tried);
		spin_unlock(&m->swap_avail_lock);
		if (!si)
			break;
		entry = m->get_swap_slot(m, si, order);
		tried |= 1u << si->type;
	} while (!entry.v && !order);
	return entry;
}

swp_entry_t get_swap_pages(struct machine *m, u32 order)
{
	long nr = 1L << order;
	swp_entry_t entry = {0};

	charge(COST_SWAP_SLOT);
	if (world_should_fail(m->world, WORLD_FAIL_SWAP_SLOT) || get_nr_swap_pages(m) < nr)
		return entry;
	atomic_long_add(-nr, &m->nr_swap_pages);
	entry = swap_alloc_fast(m, order);
	if (!entry.v)
		entry = swap_alloc_slow(m, order);
	if (!entry.v) /* it filled up between the look at the count and now, or is in pieces */
		atomic_long_add(nr, &m->nr_swap_pages);
	return entry;
}

/* ---- questions ------------------------------------------------------------------------------------------ */

static u32 swap_count(const struct swap_info_struct *si, u64 offset)
{
	return (si->swap_map[offset] & SWAP_MAP_BAD) + si->continued[offset] * SWAP_DIGIT;
}

/* How many ptes name @entry; 0 for a free or impossible one. */
int swp_swapcount(struct machine *m, swp_entry_t entry)
{
	struct swap_info_struct *si = swap_info(m, entry);
	u64 offset = swp_offset(entry);
	struct spinlock *lock;
	u32 count;

	if (offset >= si->max || (si->swap_map[offset] & SWAP_MAP_BAD) == SWAP_MAP_BAD)
		return 0;
	lock = swap_slot_lock(si, offset);
	spin_lock(lock);
	charge(COST_SWAP_MAP);
	count = swap_count(si, offset);
	spin_unlock(lock);
	return (int)count;
}

bool swap_entries_single(struct machine *m, swp_entry_t entry, u32 nr)
{
	struct swap_info_struct *si = swap_info(m, entry);
	u64 offset = swp_offset(entry);
	struct spinlock *lock = swap_slot_lock(si, offset);
	bool single = true;

	spin_lock(lock);
	charge_n(COST_SWAP_SCAN, nr);
	for (u64 i = offset; i < offset + nr && single; i++)
		single = swap_count(si, i) == 1;
	spin_unlock(lock);
	return single;
}

int page_swapcount(struct machine *m, struct page *page)
{
	return swp_swapcount(m, page_swap_entry(m, page));
}

/* ---- the swap cache's side ------------------------------------------------------------------------------ */

/* Does any entry name a slot of the page? */
static bool page_swapped(struct machine *m, struct page *page)
{
	swp_entry_t entry = page_swap_entry(m, page);
	struct swap_info_struct *si = swap_info(m, entry);
	u32 nr = compound_nr(page);
	bool swapped = false;

	if (likely(nr == 1))
		return page_swapcount(m, page);
	spin_lock(swap_slot_lock(si, swp_offset(entry)));
	charge_n(COST_SWAP_SCAN, nr);
	for (u32 i = 0; i < nr && !swapped; i++)
		swapped = swap_count(si, swp_offset(entry) + i);
	spin_unlock(swap_slot_lock(si, swp_offset(entry)));
	return swapped;
}

bool try_to_free_swap(struct machine *m, struct page *page)
{
	VM_BUG_ON(!page_test(page, PG_locked) || page_is_tail(page));
	if (!page_test(page, PG_swapcache) || page_test(page, PG_writeback) ||
	    page_swapped(m, page))
		return false;
	delete_from_swap_cache(m, page);
	page_set(page, PG_dirty);
	return true;
}

/* May the one pte that maps @page write to it? Then its slot, which gets stale, is given up. */
bool reuse_swap_page(struct machine *m, struct page *page)
{
	int count = page->mapcount;

	VM_BUG_ON(!page_test(compound_head(page), PG_locked));
	if (page_is_compound(page)) {
		count = page_mapcount(page);
		if (count <= 1 && page_test(compound_head(page), PG_swapcache))
			count += page_swapcount(m, page);
		return count <= 1;
	}
	if (count > 1 || !page_test(page, PG_swapcache))
		return count <= 1;
	count += page_swapcount(m, page);
	if (count == 1 && !page_test(page, PG_writeback)) {
		delete_from_swap_cache(m, page);
		page_set(page, PG_dirty);
	}
	return count <= 1;
}

/* Only the cache holds the slot: its page goes, unless it is busy. Returns how many pages it is. */
static u32 free_unused_cache(struct machine *m, swp_entry_t entry)
{
	struct page *page = find_get_swap_page(m, entry);
	u32 nr;

	if (!page)
		return 1;
	page = compound_head(page);
	nr = compound_nr(page);
	if (trylock_page(m, page)) {
		/*
		 * Linux 4.0 looks it up under si->lock. Here the slot may have found a new user
		 * since: try_to_free_swap() counts again.
		 */
		if (!page_mapped(page) || vm_swap_full(m))
			try_to_free_swap(m, page);
		unlock_page(m, page);
	}
	put_page(m, page);
	return nr;
}

/*
 * Zap of a swap pte. True (always). If only the cache holds the slot
 * now, the page goes too, unless it is busy. Locks of page tables may be held.
 */
bool free_swap_and_cache(struct machine *m, swp_entry_t entry)
{
	if (swap_entry_put(m, entry, false) == SWAP_HAS_CACHE)
		free_unused_cache(m, entry);
	return true;
}

/* The same of ptes that name @nr slots in a row. */
void free_swap_and_cache_nr(struct machine *m, swp_entry_t entry, u32 nr)
{
	struct swap_info_struct *si = swap_info(m, entry);
	u64 end = swp_offset(entry) + nr;
	u32 step;

	if (!swap_entries_put(m, entry, nr, false))
		return;
	for (u64 i = swp_offset(entry); i < end; i += step) {
		step = 1;
		if (READ_ONCE(si->swap_map[i]) != SWAP_HAS_CACHE)
			continue;
		step = free_unused_cache(m, swp_entry(si->type, i));
		step -= (u32)(i & (step - 1)); /* what is left of a large page */
	}
}

bool try_to_reclaim_swap(struct machine *m, struct swap_info_struct *si, u64 offset)
{
	struct page *page = find_get_swap_page(m, swp_entry(si->type, offset));
	bool freed = false;

	if (!page)
		return false;
	page = compound_head(page);
	/* The caller may be reclaim, with a page lock held: no waiting for another. */
	if (trylock_page(m, page)) {
		freed = try_to_free_swap(m, page);
		unlock_page(m, page);
	}
	put_page(m, page);
	return freed;
}

/* ---- audit -------------------------------------------------------------------------------------------------- */

static void audit_count_pte(struct machine *m, swp_entry_t entry, void *arg)
{
	(void)arg;
	VM_BUG_ON(swp_type(entry) >= m->nr_swapfiles);
	VM_BUG_ON(swp_offset(entry) >= swap_info(m, entry)->max);
	swap_info(m, entry)->audit[swp_offset(entry)] += 1;
}

static void swap_area_audit(struct machine *m, struct swap_info_struct *si)
{
	u64 nr_used = 0;

	VM_BUG_ON(si->swap_map[0] != SWAP_MAP_BAD);
	for (u64 i = 1; i < si->max; i++) {
		u8 map = si->swap_map[i];

		nr_used += map != 0;
		VM_BUG_ON(!!(map & COUNT_CONTINUED) != !!si->continued[i]);
		VM_BUG_ON(!map && i < si->lowest_bit);
		VM_BUG_ON(!map && i > si->highest_bit);
		VM_BUG_ON_MSG(swap_count(si, i) != si->audit[i],
		              "slot %lu of area %u: map 0x%x counts %u, %u ptes name it", i,
		              si->type, map, swap_count(si, i), si->audit[i]);
		si->audit[i] = 0;
	}
	VM_BUG_ON_MSG(nr_used != si->inuse_pages, "area %u: %lu slots used, counted %lu", si->type,
	              nr_used, si->inuse_pages);
	swap_clusters_audit(si);
	swap_cache_audit(m, si);
	if (si->ram)
		zram_audit(si);
}

/* Counts equal ptes and places of shared memory, SWAP_HAS_CACHE equals cached pages. */
void swapfile_audit(struct machine *m)
{
	long nr_free = 0;

	for_each_swap_pte(m, audit_count_pte, NULL);
	shmem_for_each_swap(m, audit_count_pte, NULL);
	for (u32 i = 0; i < m->nr_swapfiles; i++) {
		swap_area_audit(m, m->swap[i]);
		nr_free += (long)(m->swap[i]->off ? 0 : m->swap[i]->pages) -
		           (long)m->swap[i]->inuse_pages;
	}
	VM_BUG_ON_MSG(nr_free != atomic_long_peek(&m->nr_swap_pages),
	              "%ld swap slots free, counted %ld", nr_free,
	              atomic_long_peek(&m->nr_swap_pages));
}
