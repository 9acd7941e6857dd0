/*
 * Migration: what a page holds, and who maps it, moves to another frame (Linux mm/migrate.c).
 *
 * While a page is split or moved its ptes are migration entries (world/pte.h), set under the page lock by
 * whoever does it: huge_split.c, or move_page() here. Then they become ptes again, of the same frame or of
 * another; whoever meets one meanwhile waits for the page lock.
 *
 * A page can be moved if nobody holds a reference but its ptes, the swap or page cache, its buffer and the
 * caller. Pages are moved one by one, each with its flushes, as to 6.2; since then Linux unmaps a batch first.
 *
 * Left out: huge pages (passed over, or split, by who isolates).
 */
#include <errno.h>

#include "core/huge_memory.h"
#include "core/migrate.h"
#include "core/mlock.h"
#include "core/rmap.h"
#include "core/swap.h"

/* ---- migration entries ------------------------------------------------------------------------------------- */

/*
 * The pte of @va becomes one of @page if it is a migration entry of @old. Its table is locked. The VMA's
 * present protection decides what may be written, and the entry remembers whether it was allowed to be.
 */
bool remove_migration_pte_of(struct machine *m, struct vm_area_struct *vma, u32 table, u64 va,
                             struct page *page, u64 old_pfn)
{
	pte_t *pte = pt_entry(m, table, va);
	pte_t entry = *pte;
	pte_t new = pte_make(page_to_pfn(m, page), PTE_PRESENT);

	if (!pte_migration(entry) || pte_pfn(entry) != old_pfn)
		return false;
	if (vma->vm_flags & (VM_READ | VM_WRITE))
		new = pte_set(new, PTE_USER);
	if (entry.v & PTE_MIGRATION_WRITE && vma->vm_flags & VM_WRITE)
		new = pte_set(new, PTE_WRITE);
	new = pte_set(new, entry.v & PTE_DIRTY);
	charge(COST_PAGE_FLAG);
	get_page(page);
	if (likely(page_is_anon(page)))
		page_add_anon_rmap(m, page, vma, va);
	else
		page_add_file_rmap(m, page);
	charge(COST_PTE);
	set_pte(m, table, pte, new);
	if (unlikely(vma->vm_flags & VM_LOCKED) && mlock_today(m)) {
		mlock_vma_folio(m, page, vma, 1, false);
		mlock_drain_local(m);
	}
	return true;
}

bool remove_migration_pte(struct machine *m, struct vm_area_struct *vma, u32 table, u64 va,
                          struct page *page)
{
	return remove_migration_pte_of(m, vma, table, va, page, page_to_pfn(m, page));
}

/* ---- unmapping ---------------------------------------------------------------------------------------------- */

/* The page's anon_vma with a reference, so that it outlives the ptes; NULL: not mapped. */
static struct anon_vma *page_get_anon_vma(struct machine *m, struct page *page)
{
	struct anon_vma *anon_vma;

	charge(COST_RMAP_LOOKUP);
	world_order();
	if (!page_is_anon(page) || !page_mapped(page))
		return NULL;
	anon_vma = page_anon_vma(m, page);
	anon_vma->refcount += 1;
	return anon_vma;
}

void set_migration_pte(struct machine *m, struct page *page, struct vm_area_struct *vma, u32 table,
                       u64 va)
{
	pte_t *pte = pt_entry(m, table, va);
	pte_t entry = *pte;

	charge_n(COST_PTE, 2);
	set_pte(m, table, pte, pte_make_migration(entry, page_to_pfn(m, page)));
	world_tlb_flush(&vma->vm_mm->as, va, va + PAGE_SIZE);
	page_remove_rmap(m, page);
	munlock_migrating_page(m, page, vma);
	VM_BUG_ON(page->refcount < 2);
	page->refcount -= 1;
	charge(COST_PAGE_FLAG);
}

/* The pte of @vma, if it maps @page, becomes a migration entry. The rmap lock is held. */
static void unmap_one(struct machine *m, struct page *page, struct vm_area_struct *vma)
{
	u64 va = vma->vm_start + ((page->index - vma->vm_pgoff) << PAGE_SHIFT);
	u64 pfn = page_to_pfn(m, page);
	u32 table;
	pte_t *pte;
	pte_t entry;

	charge(COST_RMAP_STEP);
	table = pt_find(m, vma->vm_mm, va);
	if (!table)
		return;
	pte = pt_entry(m, table, va);
	charge(COST_PTE_COLD);
	if (!pte_present(READ_ONCE(*pte)))
		return;
	spin_lock(&m->table[table].ptl);
	entry = *pte;
	if (pte_maps(entry, pfn)) {
		if (pte_dirty(entry))
			page_set(page, PG_dirty);
		set_migration_pte(m, page, vma, table, va);
	}
	spin_unlock(&m->table[table].ptl);
}

/* Afterwards nothing maps the page, unless a VMA's table is being changed. Page locked. */
static void try_to_migrate(struct machine *m, struct page *page, struct anon_vma *anon_vma)
{
	struct interval_node *node;

	down_read(&anon_vma->root->rwsem);
	interval_tree_for_each (node, &anon_vma->rb_root, page->index, page->index) {
		unmap_one(m, page, container_of(node, struct anon_vma_chain, node)->vma);
		if (!page_mapped(page))
			break;
	}
	up_read(&anon_vma->root->rwsem);
}

void remove_migration_pte_in(struct machine *m, struct vm_area_struct *vma, struct page *old,
                             struct page *new)
{
	u64 va = vma->vm_start + ((new->index - vma->vm_pgoff) << PAGE_SHIFT);
	u32 table;

	charge(COST_RMAP_STEP);
	table = pt_find(m, vma->vm_mm, va);
	if (!table || !pte_migration(READ_ONCE(*pt_entry(m, table, va))))
		return;
	spin_lock(&m->table[table].ptl);
	remove_migration_pte_of(m, vma, table, va, new, page_to_pfn(m, old));
	spin_unlock(&m->table[table].ptl);
}

/*
 * Migration entries of @old become ptes of @new. A child that fork copied them to meanwhile comes after
 * its parent in the tree, so that none is missed.
 */
static void remove_migration_ptes(struct machine *m, struct page *old, struct page *new,
                                  struct anon_vma *anon_vma)
{
	struct interval_node *node;

	down_read(&anon_vma->root->rwsem);
	interval_tree_for_each (node, &anon_vma->rb_root, new->index, new->index) {
		struct vm_area_struct *vma = container_of(node, struct anon_vma_chain, node)->vma;

		remove_migration_pte_in(m, vma, old, new);
	}
	up_read(&anon_vma->root->rwsem);
}

/* ---- moving -------------------------------------------------------------------------------------------------- */

/* What a page keeps when it moves; the caller has isolated both. */
#define MIGRATE_FLAGS                                                                              \
	(1u << PG_referenced | 1u << PG_uptodate | 1u << PG_dirty | 1u << PG_active |              \
	 1u << PG_swapbacked | 1u << PG_workingset | 1u << PG_unevictable)

/* @new takes @page's place in the cache that has it, if one does. -EAGAIN: somebody else holds it. */
static int move_mapping(struct machine *m, struct page *new, struct page *page)
{
	if (page_test(page, PG_swapcache))
		return swap_cache_replace(m, page, new);
	if (!page_is_anon(page))
		return replace_page_cache_page(m, page, new);
	world_order();
	return page->refcount == 1 ? 0 : -EAGAIN;
}

/*
 * Both locked, @page mapped by nobody. -EAGAIN: somebody holds it. What the page was, anonymous or not, can
 * still be asked of it, as its migration entries do.
 */
static int move_to_new_page(struct machine *m, struct page *new, struct page *page)
{
	int err;

	new->mapping = page->mapping;
	new->index = page->index;
	new->flags |= page->flags &MIGRATE_FLAGS;
	err = move_mapping(m, new, page);
	if (err)
		return err;
	charge_n(COST_PAGE_FLAG, 4);
	/* A cached page that could not be read, or filled for want of a block, holds nothing yet. */
	if (page_is_anon(page) || page_test(page, PG_swapcache) || page_test(page, PG_uptodate))
		world_frame_copy(page_to_pfn(m, new), page_to_pfn(m, page));
	else
		charge(COST_PAGE_COPY);
	if (unlikely(page_test(page, PG_mlocked)) && !mlock_today(m))
		mlock_migrate_page(m, new, page);
	page->flags &= ~MIGRATE_FLAGS;
	return 0;
}

/* A page that is locked or under writeback: is it worth waiting for? 0: it is locked now. */
static int lock_for_migration(struct machine *m, struct page *page, enum migrate_mode mode)
{
	if (!trylock_page(m, page)) {
		/* Who reclaims may hold locks of pages itself (direct compaction under PF_MEMALLOC). */
		if (mode == MIGRATE_ASYNC || current_flags(m) & PF_MEMALLOC)
			return -EAGAIN;
		lock_page(m, page);
	}
	if (!page_test(page, PG_writeback))
		return 0;
	if (mode == MIGRATE_SYNC) {
		wait_on_page_writeback(m, page);
		return 0;
	}
	unlock_page(m, page);
	return -EBUSY;
}

/* @page's contents and ptes go to @new. -EAGAIN: perhaps another time; -EBUSY: not by this caller. */
static int move_page(struct machine *m, struct page *new, struct page *page, enum migrate_mode mode)
{
	int err = lock_for_migration(m, page, mode);
	struct anon_vma *anon_vma;
	bool file, mapped;

	if (err)
		return err;
	err = -EAGAIN;
	anon_vma = page_get_anon_vma(m, page);
	file = page_mapping(m, page);
	mapped = file && page_mapped(page);
	/* Neither mapped nor cached: it is about to be freed, or its mapping is not to be trusted. */
	if (!anon_vma && !file && !page_test(page, PG_swapcache))
		goto out_unlock;
	BUG_ON(!trylock_page(m, new));
	if (anon_vma)
		try_to_migrate(m, page, anon_vma);
	else if (mapped)
		try_to_migrate_file(m, page);
	if (!page_mapped(page))
		err = move_to_new_page(m, new, page);
	if (anon_vma)
		remove_migration_ptes(m, page, err ? page : new, anon_vma);
	else if (mapped)
		remove_migration_ptes_file(m, page, err ? page : new);
	unlock_page(m, new);
	if (anon_vma)
		put_anon_vma(m, anon_vma);
out_unlock:
	unlock_page(m, page);
	return err;
}

/* ---- lists ----------------------------------------------------------------------------------------------------- */

void putback_movable_pages(struct machine *m, struct page_list *pages)
{
	struct page *page;

	while ((page = page_list_pop_tail(pages))) {
		mod_node_state(page_zone(m, page), isolated_item(page_lru(page)), -1);
		page_clear(page, PG_isolated);
		putback_lru_page(m, page);
	}
}

/* @page leaves @from unless it is worth another try. */
static int unmap_and_move(struct machine *m, struct page_list *from, struct page *page,
                          const struct migrate_target *to, enum migrate_mode mode)
{
	enum vm_item item = isolated_item(page_lru(page));
	struct zone *z = page_zone(m, page);
	struct page *new;
	int err;

	world_order();
	if (page->refcount == 1) { /* freed by all others: nothing to move */
		page_list_del(from, page);
		mod_node_state(z, item, -1);
		page->flags &= ~(1u << PG_isolated | 1u << PG_active | 1u << PG_unevictable);
		put_page(m, page);
		return 0;
	}
	new = to->get(to->arg);
	if (!new)
		return -ENOMEM;
	err = move_page(m, new, page, mode);
	if (err) {
		new->mapping = 0;
		new->flags &= ~MIGRATE_FLAGS;
		to->put(new, to->arg);
	} else {
		putback_lru_page(m, new);
	}
	if (err == -EAGAIN)
		return err;
	page_list_del(from, page);
	mod_node_state(z, item, -1);
	page_clear(page, PG_isolated);
	if (err)
		putback_lru_page(m, page);
	else
		put_page(m, page);
	return err;
}

#define MIGRATE_PASSES 10

long migrate_pages(struct machine *m, struct page_list *from, const struct migrate_target *to,
                   enum migrate_mode mode)
{
	long nr_failed = 0;
	long nr_moved = 0;
	long retry = 1;
	int err = 0;

	span_enter(SPAN_MIGRATE);
	for (u32 pass = 0; pass < MIGRATE_PASSES && retry && err != -ENOMEM; pass++) {
		struct page *prev;

		retry = 0;
		for (struct page *page = page_list_last(from); page && err != -ENOMEM;
		     page = prev) {
			prev = page_list_prev(from, page);
			world_cond_resched();
			err = unmap_and_move(m, from, page, to, mode);
			retry += err == -EAGAIN;
			nr_failed += err && err != -EAGAIN && err != -ENOMEM;
			nr_moved += !err;
		}
	}
	nr_failed += retry;
	count_vm_events(m, PGMIGRATE_SUCCESS, (u64)nr_moved);
	count_vm_events(m, PGMIGRATE_FAIL, (u64)nr_failed);
	span_exit();
	return err == -ENOMEM ? -ENOMEM : nr_failed;
}
