/*
 * Freeing pages when their write has ended (mail 002: Minchan Kim, 2 July 2014, v3 of the series; knob
 * reclaim.writeback_end = free).
 *
 * Without it a page that reclaim had written is rotated to the tail of its list, clean and unmapped, and
 * waits there for the next scan. With it the drain of the rotate batch, which is where pages are moved
 * to the tail, tries to free each of them first. It runs with interrupts off, often in an interrupt, and
 * under lru_lock, so that nothing may be waited for:
 *
 *   - the page lock is tried;
 *   - only the cache and the batch may hold a reference: so the page is not mapped, not pinned, has no
 *     buffer heads, and is in nobody's hands;
 *   - it must be clean, under the tree lock, which is always taken with interrupts off;
 *   - a page in the swap cache has a slot to give back, whose lock others hold with interrupts on: it is
 *     tried. Areas with a lock per cluster (6.12) and RAM disks are left out: they need locks that cannot
 *     be tried one by one, and a RAM disk's pages are freed in the scan that wrote them anyway.
 *
 * Whatever fails, the page is rotated as before. One that is freed leaves no shadow, and is in no
 * pgsteal counter.
 */
#include "core/fs.h"
#include "core/swap.h"

/* From @nr references, the caller's among them, to none but that: false if there are others. */
static bool freeze_refs(struct page *page)
{
	charge(COST_PAGE_FLAG);
	if (page->refcount != 2 || page_test(page, PG_dirty))
		return false;
	page->refcount = 0;
	return true;
}

static bool remove_from_page_cache(struct machine *m, struct page *page)
{
	struct address_space *mapping = page_mapping(m, page);
	bool removed;

	spin_lock_irq(&mapping->tree_lock);
	removed = freeze_refs(page);
	if (removed) {
		__delete_from_page_cache(m, page, 0);
		page->refcount = 1;
	}
	spin_unlock_irq(&mapping->tree_lock);
	return removed;
}

static bool remove_from_swap_cache(struct machine *m, struct page *page)
{
	swp_entry_t entry = page_swap_entry(m, page);
	struct spinlock *tree_lock = swap_tree_lock(m, entry);
	struct swap_info_struct *si = NULL;

	spin_lock_irq(tree_lock);
	if (freeze_refs(page)) {
		si = swap_info_trylock(m, entry);
		if (si)
			__delete_from_swap_cache(m, page, 0);
		page->refcount = si ? 1 : 2;
	}
	spin_unlock_irq(tree_lock);
	if (si)
		swapcache_free_unlock(si, entry);
	return si != NULL;
}

/* @page, on whose list the caller has lru_lock, interrupts off, and a reference: is that the last one
 * now? Never switches tasks. */
bool free_at_writeback_end(struct machine *m, struct page *page)
{
	bool removed = false;

	if (page_is_compound(page) || !trylock_page(m, page))
		return false;
	if (page_test(page, PG_swapcache))
		removed = remove_from_swap_cache(m, page);
	else if (page_mapping(m, page))
		removed = remove_from_page_cache(m, page);
	unlock_page(m, page);
	return removed;
}
