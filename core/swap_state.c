/*
 * The swap cache, and reading ahead of swap-ins (Linux mm/swap_state.c).
 *
 * The cache holds every page that has a swap slot of its own: on its way out until the write has
 * ended, on its way in from the moment the read starts. It is what makes concurrent faults on one
 * entry find one page. A cached page has PG_swapcache, a reference of the cache's, and its entry in
 * page_private. Here the cache of an area is an array by slot: 0, a page, or (5.9) the shadow that
 * an evicted page left. Linux's tree is charged for (RADIX), and its locks are taken: one per area,
 * or one per 64 MiB. They are irq-safe, and nothing is taken inside them.
 *
 * Lookups take no lock. A page they find with refcount 0 is frozen by reclaim, which holds the tree
 * lock and is about to take it out or to unfreeze it: they look again.
 *
 * Readahead guesses that what was swapped out together is wanted together: a block of slots around
 * the one wanted, or (4.14, on disks that do not rotate) the entries around the faulting address.
 * Its size follows from how many pages of the last ones were used.
 */
#include <errno.h>

#include "core/internal.h"
#include "core/swap.h"

/* ---- entries of the array ------------------------------------------------------------------------ */

static u64 cache_of_page(const struct machine *m, const struct page *page)
{
	return (page_to_pfn(m, page) + 1) << 1;
}

static bool cache_is_page(u64 v)
{
	return v && !(v & 1);
}

static struct page *cache_to_page(const struct machine *m, u64 v)
{
	return pfn_to_page(m, (v >> 1) - 1);
}

static u64 cache_of_shadow(u64 shadow)
{
	return shadow ? shadow << 1 | 1 : 0;
}

/* ---- the cache ------------------------------------------------------------------------------------- */

struct page *find_get_swap_page(struct machine *m, swp_entry_t entry)
{
	u64 *slot = &swap_info(m, entry)->cache[swp_offset(entry)];

	for (;;) {
		u64 v = READ_ONCE(*slot);
		struct page *page;

		charge(COST_RADIX);
		if (!cache_is_page(v))
			return NULL;
		page = cache_to_page(m, v);
		charge(COST_PAGE_FLAG);
		if (compound_head(page)->refcount > 0) {
			compound_head(page)->refcount += 1;
			return page;
		}
	}
}

static void mod_swapcache(struct machine *m, struct page *page, long delta)
{
	struct zone *z = page_zone(m, page);

	mod_holder_state2(m, z->node_stat, NR_FILE_PAGES, delta, NR_SWAPCACHE, delta);
}

/*
 * Page locked; the caller holds the slot (SWAP_HAS_CACHE). The shadow that was there goes to
 * *@shadow, if not NULL. -ENOMEM: no node for the tree; nothing has changed.
 */
int add_to_swap_cache(struct machine *m, struct page *page, swp_entry_t entry, u64 *shadow)
{
	u64 *slot = &swap_info(m, entry)->cache[swp_offset(entry)];
	struct spinlock *lock = swap_tree_lock(m, entry);

	VM_BUG_ON(!page_test(page, PG_locked));
	VM_BUG_ON(page_test(page, PG_swapcache));
	VM_BUG_ON(!page_test(page, PG_swapbacked));
	if (world_should_fail(m->world, WORLD_FAIL_RADIX))
		return -ENOMEM;
	get_page(page);
	page_set(page, PG_swapcache);
	m->page_private[page_to_pfn(m, page)] = entry.v;

	spin_lock_irq(lock);
	charge(COST_RADIX);
	VM_BUG_ON(cache_is_page(*slot));
	if (shadow)
		*shadow = *slot >> 1;
	*slot = cache_of_page(m, page);
	mod_swapcache(m, page, 1);
	spin_unlock_irq(lock);
	return 0;
}

/*
 * A large page in the cache has a slot, and a reference, for each of its pages. Each place names its page; the
 * state is the head's. Page locked; the caller holds the slots. -ENOMEM: no node for the tree.
 */
static int add_huge_to_swap_cache(struct machine *m, struct page *head, swp_entry_t entry)
{
	u64 *slot = &swap_info(m, entry)->cache[swp_offset(entry)];
	struct spinlock *lock = swap_tree_lock(m, entry);
	u32 nr = compound_nr(head);

	VM_BUG_ON(!page_test(head, PG_locked) || page_test(head, PG_swapcache));
	if (world_should_fail(m->world, WORLD_FAIL_RADIX))
		return -ENOMEM;
	prep_tails(m, head);
	head->refcount += (s32)nr;
	page_set(head, PG_swapcache);
	spin_lock_irq(lock);
	charge(COST_RADIX);
	charge_n(COST_PTE, nr);
	for (u32 i = 0; i < nr; i++) {
		VM_BUG_ON(cache_is_page(slot[i]));
		m->page_private[page_to_pfn(m, head) + i] = entry.v + i;
		slot[i] = cache_of_page(m, head + i);
	}
	mod_swapcache(m, head, nr);
	spin_unlock_irq(lock);
	return 0;
}

bool add_huge_to_swap(struct machine *m, struct page *head)
{
	bool done = false;
	swp_entry_t entry;

	span_enter(SPAN_ADD_TO_SWAP);
	entry = get_swap_pages(m, compound_order(head));
	if (entry.v) {
		done = !add_huge_to_swap_cache(m, head, entry);
		if (done)
			page_set(head, PG_dirty);
		else
			swapcache_free_nr(m, entry, compound_nr(head));
	}
	span_exit();
	return done;
}

/* The cache's references are the caller's now. */
void __delete_from_swap_cache(struct machine *m, struct page *page, u64 shadow)
{
	swp_entry_t entry = page_swap_entry(m, page);
	u64 *slot = &swap_info(m, entry)->cache[swp_offset(entry)];
	u32 nr = compound_nr(page);

	VM_BUG_ON(!page_test(page, PG_locked));
	VM_BUG_ON(!page_test(page, PG_swapcache));
	VM_BUG_ON(page_test(page, PG_writeback));
	VM_BUG_ON(*slot != cache_of_page(m, page));
	charge(COST_RADIX);
	if (unlikely(nr > 1))
		charge_n(COST_PTE, nr);
	for (u32 i = 0; i < nr; i++) {
		slot[i] = cache_of_shadow(shadow);
		m->page_private[page_to_pfn(m, page) + i] = 0;
	}
	page_clear(page, PG_swapcache);
	mod_swapcache(m, page, -(long)nr);
}

/*
 * @new, which is as large, takes the place of @old in the cache. Both locked. -EAGAIN: others than the cache and the
 * caller hold @old. Migration.
 */
int swap_cache_replace(struct machine *m, struct page *old, struct page *new)
{
	swp_entry_t entry = page_swap_entry(m, old);
	u64 *slot = &swap_info(m, entry)->cache[swp_offset(entry)];
	struct spinlock *lock = swap_tree_lock(m, entry);
	s32 nr = (s32)compound_nr(old);
	int err = -EAGAIN;

	if (nr > 1)
		prep_tails(m, new); /* each place names its page */
	spin_lock_irq(lock);
	charge(COST_RADIX);
	if (nr > 1)
		charge_n(COST_PTE, nr);
	VM_BUG_ON(*slot != cache_of_page(m, old));
	if (old->refcount == 1 + nr) {
		new->refcount += nr;
		page_set(new, PG_swapcache);
		for (s32 i = 0; i < nr; i++) {
			m->page_private[page_to_pfn(m, new) + i] = entry.v + i;
			slot[i] = cache_of_page(m, new + i);
			m->page_private[page_to_pfn(m, old) + i] = 0;
		}
		page_clear(old, PG_swapcache);
		old->refcount -= nr;
		mod_swapcache(m, old, -nr);
		mod_swapcache(m, new, nr);
		err = 0;
	}
	spin_unlock_irq(lock);
	return err;
}

/* The caller has a reference of its own. */
void delete_from_swap_cache(struct machine *m, struct page *page)
{
	swp_entry_t entry = page_swap_entry(m, page);
	struct spinlock *lock = swap_tree_lock(m, entry);
	u32 nr = compound_nr(page);

	spin_lock_irq(lock);
	__delete_from_swap_cache(m, page, 0);
	spin_unlock_irq(lock);
	swapcache_free_nr(m, entry, nr);
	page->refcount -= (s32)nr - 1;
	put_page(m, page);
}

/* The shadow that the last page of @entry left; 0: none. For reads that bypass the cache. */
u64 get_shadow_from_swap_cache(struct machine *m, swp_entry_t entry)
{
	u64 v = READ_ONCE(swap_info(m, entry)->cache[swp_offset(entry)]);

	charge(COST_RADIX);
	return v & 1 ? v >> 1 : 0;
}

/* @nr slots of one cluster become free: what their next pages will be is not what the last ones were. */
void clear_shadow_from_swap_cache(struct machine *m, swp_entry_t entry, u32 nr)
{
	u64 *slot = &swap_info(m, entry)->cache[swp_offset(entry)];
	struct spinlock *lock = swap_tree_lock(m, entry);
	u32 first = 0;

	while (first < nr && !(slot[first] & 1))
		first++;
	if (first == nr)
		return;
	spin_lock_irq(lock);
	charge(COST_RADIX);
	charge_n(COST_PTE, nr - 1);
	for (u32 i = first; i < nr; i++)
		if (slot[i] & 1)
			slot[i] = 0;
	spin_unlock_irq(lock);
}

/*
 * Gives an anonymous page a slot and puts it in the cache. False: no slot, or no memory. May switch
 * tasks.
 *
 * It is dirty from then on, since its slot holds nothing yet; 4.5 leaves that to its ptes, which
 * tell a lazily freed page from others.
 */
bool add_to_swap(struct machine *m, struct page *page)
{
	swp_entry_t entry;
	bool done = false;

	VM_BUG_ON(!page_test(page, PG_locked));
	span_enter(SPAN_ADD_TO_SWAP);
	entry = get_swap_page(m);
	if (entry.v) {
		done = !add_to_swap_cache(m, page, entry, NULL);
		if (!done)
			swapcache_free(m, entry);
		else if (lazyfree_rule(m) != LAZYFREE_SLOT_FIRST)
			page_set(page, PG_dirty);
	}
	span_exit();
	return done;
}

/* ---- one page ---------------------------------------------------------------------------------------- */

/* Today free slots are skipped before a page is allocated for them; in 4.0 after it. */
static bool swap_slot_is_free(struct machine *m, swp_entry_t entry)
{
	struct swap_info_struct *si = swap_info(m, entry);
	u64 offset = swp_offset(entry);

	if (m->knob.swap_readahead == SWAP_RA_CLUSTER)
		return false;
	return offset >= si->max || !(READ_ONCE(si->swap_map[offset]) & ~SWAP_HAS_CACHE);
}

/* A new page, locked, in the cache and on its way to the LRU: to be read. */
static int swapcache_insert(struct machine *m, struct page *page, swp_entry_t entry)
{
	u64 shadow = 0;
	int err;

	page_set(page, PG_locked);
	page_set(page, PG_swapbacked);
	err = add_to_swap_cache(m, page, entry, &shadow);
	if (err) {
		page_clear(page, PG_locked);
		page_clear(page, PG_swapbacked);
		swapcache_free(m, entry);
		return err;
	}
	if (shadow)
		workingset_refault(m, page, shadow);
	lru_cache_add(m, page);
	return 0;
}

/*
 * The cached page of @entry, or a new one (*@allocated), locked, that the caller has to read. NULL:
 * no memory, or the entry is free by now.
 */
static struct page *__read_swap_cache_async(struct machine *m, swp_entry_t entry, gfp_t gfp,
                                            bool *allocated)
{
	struct page *new = NULL;
	struct page *page;
	int err;

	*allocated = false;
	do {
		page = swp_offset(entry) < swap_info(m, entry)->max ? find_get_swap_page(m, entry)
		                                                    : NULL;
		if (page || swap_slot_is_free(m, entry))
			break;
		if (!new)
			new = alloc_page(m, gfp);
		if (!new)
			break;
		err = swapcache_prepare(m, entry);
		if (err == -EEXIST) {
			/*
			 * The slot has been taken for the cache, and its page is not there yet.
			 * (Since 6.9 one sleeps, because a read past the cache can take long.)
			 */
			if (swap_is_synchronous(m, entry))
				world_sleep(world_ticks_to_ns(1));
			else
				world_cond_resched();
			continue;
		}
		if (err)
			break;
		err = swapcache_insert(m, new, entry);
		if (!err) {
			*allocated = true;
			return new;
		}
	} while (err != -ENOMEM);

	if (new)
		put_page(m, new);
	return page;
}

struct page *read_swap_cache_async(struct machine *m, swp_entry_t entry, gfp_t gfp,
                                   struct vm_area_struct *vma, u64 va)
{
	bool allocated;
	struct page *page = __read_swap_cache_async(m, entry, gfp, &allocated);

	(void)vma;
	(void)va;
	if (allocated)
		swap_readpage(m, page);
	return page;
}

/* ---- readahead: how much ------------------------------------------------------------------------------ */

/*
 * Pages to read at @offset, for @hits pages of the last readahead used, which were at @prev_offset
 * and @prev_win many. Without hits one cannot tell whether readahead would be any good, except by
 * whether this is the neighbour of the last one. (The 2 "just happens to work well", says Linux.)
 */
u32 swapin_nr_pages(u64 prev_offset, u64 offset, u32 hits, u32 max_pages, u32 prev_win)
{
	u32 pages = hits + 2;

	if (pages == 2) {
		if (offset != prev_offset + 1 && offset != prev_offset - 1)
			pages = 1;
	} else {
		pages = max_t(u32, 4, (u32)roundup_pow_of_two(pages));
	}
	pages = min(pages, max_pages);
	/* It shrinks slowly. */
	return max(pages, prev_win / 2);
}

/* What is known of the last readahead of a VMA is kept in one word, as Linux does. */
#define SWAP_RA_HITS_MAX 63u
#define SWAP_RA_ORDER_CEILING 5

static u64 swap_ra_pack(u64 va, u32 win, u32 hits)
{
	return (va & PAGE_MASK) | (u64)win << 6 | hits;
}

static u32 swap_ra_win(u64 info)
{
	return info >> 6 & 63;
}

static u32 swap_ra_hits(u64 info)
{
	return info & 63;
}

/* A new VMA starts with 4 hits. */
static u64 swap_ra_info(const struct vm_area_struct *vma)
{
	return vma->swap_readahead_info ? vma->swap_readahead_info : 4;
}

/* One rotating area is enough to give up reading by address. */
static bool swap_use_vma_readahead(const struct machine *m)
{
	return m->knob.swap_readahead == SWAP_RA_VMA && !m->nr_rotate_swap;
}

/*
 * PG_readahead says that readahead brought the page in and nobody has used it. It is PG_reclaim on
 * pages under writeback: looking one up in that state counts as a hit, and the page will not be
 * rotated when its write ends. Linux accepts that, and so does this.
 */
struct page *lookup_swap_cache(struct machine *m, swp_entry_t entry, struct vm_area_struct *vma,
                               u64 va)
{
	struct page *page = find_get_swap_page(m, entry);
	bool by_vma = vma && swap_use_vma_readahead(m);
	bool hit;

	if (!page)
		return NULL;
	if (unlikely(page_is_compound(page))) /* it was never read */
		return page;
	hit = page_test_clear(page, PG_readahead);
	if (by_vma) {
		u64 info = swap_ra_info(vma);
		u32 hits = min(swap_ra_hits(info) + hit, SWAP_RA_HITS_MAX);

		WRITE_ONCE(vma->swap_readahead_info, swap_ra_pack(va, swap_ra_win(info), hits));
	} else {
		m->swapin_readahead_hits += hit;
	}
	if (hit)
		count_vm_event(m, SWAP_RA_HIT);
	return page;
}

/* ---- readahead: by slot ------------------------------------------------------------------------------- */

static u32 swap_cluster_window(struct machine *m, u64 offset)
{
	u32 max_pages = 1u << m->knob.page_cluster;
	u32 hits;
	u32 pages;

	if (max_pages <= 1)
		return 1;
	world_order();
	hits = m->swapin_readahead_hits;
	m->swapin_readahead_hits = 0;
	pages = swapin_nr_pages(m->prev_swap_offset, offset, hits, max_pages,
	                        m->last_readahead_pages);
	if (!hits)
		m->prev_swap_offset = offset;
	m->last_readahead_pages = pages;
	return pages;
}

/* In 4.0 a page that is in the cache already gets the mark as well. */
static void readahead_one(struct machine *m, swp_entry_t entry, gfp_t gfp, bool wanted)
{
	bool allocated;
	struct page *page = __read_swap_cache_async(m, entry, gfp, &allocated);

	if (!page)
		return;
	if (allocated)
		swap_readpage(m, page);
	if (!wanted && !page_is_compound(page) &&
	    (allocated || m->knob.swap_readahead == SWAP_RA_CLUSTER))
		page_set(page, PG_readahead);
	if (!wanted && allocated)
		count_vm_event(m, SWAP_RA);
	put_page(m, page);
}

/* The aligned block of slots that @entry is in. */
static void swap_cluster_readahead(struct machine *m, swp_entry_t entry, gfp_t gfp)
{
	u64 offset = swp_offset(entry);
	u64 mask = swap_cluster_window(m, offset) - 1;
	u64 end = min(offset | mask, swap_info(m, entry)->max - 1);
	struct blk_plug plug;

	if (!mask)
		return;
	blk_start_plug(m, &plug);
	for (u64 i = max_t(u64, offset & ~mask, 1); i <= end; i++)
		readahead_one(m, swp_entry(swp_type(entry), i), gfp, i == offset);
	blk_finish_plug(m, &plug);
	lru_add_drain(m);
}

/* ---- readahead: by address ----------------------------------------------------------------------------- */

struct swap_ra_range {
	u64 start;
	u64 end;
};

/*
 * @win pages from the fault on if it follows the last one, up to it if it precedes that, around it
 * otherwise; within the VMA and the leaf table.
 */
static struct swap_ra_range swap_vma_range(const struct vm_area_struct *vma, u64 va, u64 prev_va,
                                           u32 win)
{
	u64 table = va & PMD_MASK;
	s64 left = (win - 1) / 2;
	s64 start = (s64)(va & PAGE_MASK);
	s64 low = (s64)max(vma->vm_start, table);
	s64 high = (s64)min(vma->vm_end, table + PMD_SIZE);

	if (start == (s64)(prev_va & PAGE_MASK) + (s64)PAGE_SIZE)
		left = 0;
	else if (start + (s64)PAGE_SIZE == (s64)(prev_va & PAGE_MASK))
		left = win - 1;
	start -= left * (s64)PAGE_SIZE;
	return (struct swap_ra_range){(u64)clamp(start, low, high),
	                              (u64)clamp(start + (s64)(win * PAGE_SIZE), low, high)};
}

static struct swap_ra_range swap_vma_window(struct machine *m, struct vm_area_struct *vma, u64 va)
{
	u32 max_pages = 1u << min_t(u64, m->knob.page_cluster, SWAP_RA_ORDER_CEILING);
	u64 info;
	u32 win;

	world_order();
	info = swap_ra_info(vma);
	if (max_pages == 1)
		return (struct swap_ra_range){va, va};
	win = swapin_nr_pages(info >> PAGE_SHIFT, va >> PAGE_SHIFT, swap_ra_hits(info), max_pages,
	                      swap_ra_win(info));
	vma->swap_readahead_info = swap_ra_pack(va, win, 0);
	if (win == 1)
		return (struct swap_ra_range){va, va};
	return swap_vma_range(vma, va, info, win);
}

/* Only entries that are swapped out now; looked at without the table's lock, as Linux does. */
static void swap_vma_readahead(struct machine *m, struct vm_area_struct *vma, u64 va, gfp_t gfp)
{
	struct swap_ra_range r = swap_vma_window(m, vma, va);
	struct blk_plug plug;
	u32 table;

	if (r.start == r.end)
		return;
	table = pt_find(m, vma->vm_mm, va);
	if (!table)
		return;
	blk_start_plug(m, &plug);
	for (u64 a = r.start; a < r.end; a += PAGE_SIZE) {
		pte_t pte = READ_ONCE(*pt_entry(m, table, a));

		charge(COST_PTE);
		if (pte_swap(pte))
			readahead_one(m, pte_to_swp_entry(pte), gfp, a == (va & PAGE_MASK));
	}
	blk_finish_plug(m, &plug);
	lru_add_drain(m);
}

struct page *swapin_readahead(struct machine *m, swp_entry_t entry, gfp_t gfp,
                              struct vm_area_struct *vma, u64 va)
{
	if (vma && swap_use_vma_readahead(m))
		swap_vma_readahead(m, vma, va, gfp);
	else
		swap_cluster_readahead(m, entry, gfp);
	return read_swap_cache_async(m, entry, gfp, vma, va);
}

/* ---- audit ------------------------------------------------------------------------------------------------ */

void swap_cache_audit(struct machine *m, struct swap_info_struct *si)
{
	for (u64 i = 0; i < si->max; i++) {
		u64 v = si->cache[i];
		struct page *page, *head;

		VM_BUG_ON_MSG(cache_is_page(v) != !!(i && si->swap_map[i] & SWAP_HAS_CACHE),
		              "slot %lu of area %u: map 0x%x, cache 0x%lx", i, si->type,
		              si->swap_map[i], v);
		if (!v)
			continue;
		VM_BUG_ON((v & 1) && !si->swap_map[i]);
		if (v & 1)
			continue;
		page = cache_to_page(m, v);
		head = compound_head(page);
		VM_BUG_ON(!page_test(head, PG_swapcache));
		VM_BUG_ON(page_swap_entry(m, page).v != swp_entry(si->type, i).v);
		VM_BUG_ON(head->refcount < (s32)compound_nr(head) + head->mapcount);
	}
}
