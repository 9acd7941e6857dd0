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
 * Huge pages and large folios move whole since 4.14 (huge_migrate.c), to one of the same size. If none is to be
 * had, or a part of a huge page is mapped by nobody, it is split, and its pages are moved after the others, with
 * one attempt; it counts as not moved, but if all others have been and its pages as well, so has everything.
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
                       u64 va, u32 flags)
{
	pte_t *pte = pt_entry(m, table, va);
	pte_t entry = *pte;

	charge_n(COST_PTE, 2);
	set_pte(m, table, pte, pte_make_migration(entry, page_to_pfn(m, page)));
	unmap_flush(m, vma->vm_mm, va, entry, flags);
	page_remove_rmap(m, page);
	munlock_migrating_page(m, page, vma);
	page = compound_head(page);
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
		set_migration_pte(m, page, vma, table, va, 0);
	}
	spin_unlock(&m->table[table].ptl);
}

/* Afterwards nothing maps the page, unless a VMA's table is being changed. Page locked. */
static void try_to_migrate(struct machine *m, struct page *page, struct anon_vma *anon_vma)
{
	struct interval_node *node;

	down_read(&anon_vma->root->rwsem);
	interval_tree_for_each (node, &anon_vma->rb_root, page->index,
	                        page->index + compound_nr(page) - 1) {
		struct vm_area_struct *vma = container_of(node, struct anon_vma_chain, node)->vma;

		if (unlikely(page_is_compound(page)))
			try_to_migrate_in(m, page, vma);
		else
			unmap_one(m, page, vma);
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

	if (unlikely(page_is_compound(new))) {
		remove_migration_folio_in(m, vma, old, new);
		return;
	}
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
	interval_tree_for_each (node, &anon_vma->rb_root, new->index,
	                        new->index + compound_nr(new) - 1) {
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

/* The contents. A cached page that could not be read, or filled for want of a block, holds nothing yet. */
static void migrate_copy(struct machine *m, struct page *new, struct page *page)
{
	u32 nr = compound_nr(page);

	if (!page_is_anon(page) && !page_test(page, PG_swapcache) && !page_test(new, PG_uptodate)) {
		charge_n(COST_PAGE_COPY, nr);
		return;
	}
	for (u32 i = 0; i < nr; i++) {
		if (i)
			world_cond_resched();
		world_frame_copy(page_to_pfn(m, new) + i, page_to_pfn(m, page) + i);
	}
}

/* What is known of a large one besides its flags. Its place in the queue of those to be split is given up. */
static void folio_migrate_state(struct machine *m, struct page *new, struct page *page)
{
	if (page_is_anon(page)) {
		deferred_split_forget(m, page);
		return;
	}
	for (u32 i = 0; i < compound_nr(page); i++)
		if (folio_block_dirty(page, i))
			folio_set_blocks_dirty(new, i, 1);
	folio_clear_blocks_dirty(page, 0);
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
	migrate_copy(m, new, page);
	if (unlikely(page_is_compound(page)))
		folio_migrate_state(m, new, page);
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

/* @page's contents and ptes go to @new; today so does its place on a list. -EAGAIN: perhaps another time; -EBUSY: not by this caller. */
static int move_page(struct machine *m, struct page *new, struct page *page, enum migrate_mode mode)
{
	int err = lock_for_migration(m, page, mode);
	struct anon_vma *anon_vma;
	bool file, mapped, mlocked;

	if (err)
		return err;
	err = -EAGAIN;
	mlocked = page_test(page, PG_mlocked);
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
	if (unlikely(page_is_compound(page)))
		try_to_unmap_flush(m);
	if (!page_mapped(page))
		err = move_to_new_page(m, new, page);
	if (!err && mlock_today(m)) {
		/* 5.18: on a list at once, so that its locked mappings are counted as they come back. */
		lru_cache_add(m, new);
		if (unlikely(mlocked))
			lru_add_drain(m);
	}
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

/* @page is in nobody's hands any more. */
static void uncount_isolated(struct machine *m, struct page *page, enum vm_item item)
{
	mod_node_state(page_zone(m, page), item, -(long)compound_nr(page));
	page_clear(page, PG_isolated);
}

void putback_movable_pages(struct machine *m, struct page_list *pages)
{
	struct page *page;

	while ((page = page_list_pop_tail(pages))) {
		uncount_isolated(m, page, isolated_item(page_lru(page)));
		putback_lru_page(m, page);
	}
}

/* One call of migrate_pages(), and what has become of its pages. */
struct migration {
	struct machine *m;
	const struct migrate_target *to;
	bool whole;           /* large pages, too */
	long nr_failed;       /* a large one is one */
	long nr_split;        /* large ones that have been split instead, */
	long nr_pieces;       /* and pages of them that have not been moved */
	u64 nr_moved;         /* small pages */
	u64 nr_failed_pages;  /* the same */
	u32 nr_thp_succeeded; /* of 2 MiB */
	u32 nr_thp_failed;
	u32 nr_thp_split;
};

/* @page leaves @from unless it is worth another try. */
static int unmap_and_move(struct migration *mi, struct page_list *from, struct page *page,
                          enum migrate_mode mode)
{
	enum vm_item item = isolated_item(page_lru(page));
	const struct migrate_target *to = mi->to;
	struct machine *m = mi->m;
	struct page *new;
	int err;

	world_order();
	if (page->refcount == 1) { /* freed by all others: nothing to move */
		page_list_del(from, page);
		uncount_isolated(m, page, item);
		page->flags &= ~(1u << PG_active | 1u << PG_unevictable);
		put_page(m, page);
		return 0;
	}
	new = to->get(page, to->arg);
	if (!new)
		return -ENOMEM;
	err = move_page(m, new, page, mode);
	if (err) {
		new->mapping = 0;
		new->flags &= ~MIGRATE_FLAGS;
		to->put(new, to->arg);
	} else if (mlock_today(m)) {
		put_page(m, new);
	} else {
		putback_lru_page(m, new);
	}
	if (err == -EAGAIN)
		return err;
	page_list_del(from, page);
	uncount_isolated(m, page, item);
	if (err)
		putback_lru_page(m, page);
	else
		put_page(m, page);
	return err;
}

static bool is_thp(const struct page *page)
{
	return compound_order(page) == HPAGE_PMD_ORDER;
}

/* Does it wait to be split, because a part of it is mapped by nobody? */
static bool waits_for_split(const struct page *page)
{
	return page_is_compound(page) && page_is_anon(page) &&
	       page[1].compound_flags & COMPOUND_DEFERRED;
}

/* The huge @page of @from is split, and its pages go to @split. Those of files are not: false. */
static bool try_split(struct migration *mi, struct page_list *from, struct page_list *split,
                      struct page *page, enum migrate_mode mode)
{
	struct machine *m = mi->m;
	bool thp = is_thp(page);
	bool ok;

	if (!split || !page_is_compound(page) || !page_is_anon(page))
		return false;
	if (mode != MIGRATE_ASYNC)
		lock_page(m, page);
	else if (!trylock_page(m, page))
		return false;
	page_list_del(from, page);
	page_list_add(split, page);
	ok = !split_huge_page_to_list(m, page, split);
	unlock_page(m, page);
	if (!ok) {
		page_list_del(split, page);
		page_list_add_tail(from, page);
		return false;
	}
	mi->nr_split += 1;
	mi->nr_thp_split += thp;
	mi->nr_thp_failed += thp;
	return true;
}

/* What is to be tried again. */
struct migrate_retry {
	long nr;
	u64 nr_pages;
	u32 nr_thp;
};

static void count_failed(struct migration *mi, const struct migrate_retry *r)
{
	mi->nr_failed += r->nr;
	mi->nr_failed_pages += r->nr_pages;
	mi->nr_thp_failed += r->nr_thp;
}

/* One attempt at @page. -ENOMEM: there is no place, for anything. */
static int migrate_one(struct migration *mi, struct page_list *from, struct page_list *split,
                       struct page *page, enum migrate_mode mode, struct migrate_retry *retry)
{
	u32 nr = compound_nr(page);
	bool thp = is_thp(page);
	int err;

	if (unlikely(waits_for_split(page)) && try_split(mi, from, split, page, mode))
		return 0;
	err = unmap_and_move(mi, from, page, mode);
	switch (err) {
	case 0:
		mi->nr_moved += nr;
		mi->nr_thp_succeeded += thp;
		return 0;
	case -EAGAIN:
		retry->nr += 1;
		retry->nr_pages += nr;
		retry->nr_thp += thp;
		return 0;
	case -ENOMEM:
		if (try_split(mi, from, split, page, mode))
			return 0;
		if (mi->whole) /* to 4.16 it did not count as one that could not be moved */
			count_failed(mi, &(struct migrate_retry){1, nr, thp});
		return -ENOMEM;
	}
	count_failed(mi, &(struct migrate_retry){1, nr, thp});
	return 0;
}

#define MIGRATE_PASSES 10

/* Up to @passes attempts at each page. @split: where the pages of those go that are split; NULL: none is. -ENOMEM. */
static int migrate_list(struct migration *mi, struct page_list *from, struct page_list *split,
                        enum migrate_mode mode, u32 passes)
{
	struct migrate_retry retry = {.nr = 1};
	int err = 0;

	for (u32 pass = 0; pass < passes && retry.nr && !err; pass++) {
		struct page *prev;

		retry = (struct migrate_retry){0};
		for (struct page *page = page_list_last(from); page && !err; page = prev) {
			prev = page_list_prev(from, page);
			world_cond_resched();
			err = migrate_one(mi, from, split, page, mode, &retry);
		}
	}
	count_failed(mi, &retry);
	return err;
}

static void page_list_splice(struct page_list *from, struct page_list *to)
{
	struct page *page;

	while ((page = page_list_pop_tail(from)))
		page_list_add(to, page);
}

#define NR_MAX_BATCHED_MIGRATION HPAGE_PMD_NR /* pages: 6.3 */

/* Some pages of @from, one of 2 MiB at least, and then what had to be split of them. What is left is put to @left. */
static int migrate_batch(struct migration *mi, struct page_list *from, struct page_list *left,
                         enum migrate_mode mode)
{
	struct page_list batch, split;
	u64 nr_pages = 0;
	int err;

	page_list_init(&batch, from->base);
	page_list_init(&split, from->base);
	while (from->nr && nr_pages < NR_MAX_BATCHED_MIGRATION) {
		struct page *page = page_list_pop_tail(from);

		page_list_add(&batch, page);
		nr_pages += compound_nr(page);
	}
	err = migrate_list(mi, &batch, &split, mode, MIGRATE_PASSES);
	if (!err && split.nr) {
		struct migration pages = {.m = mi->m, .to = mi->to, .whole = true};

		migrate_list(&pages, &split, NULL, MIGRATE_ASYNC, 1);
		mi->nr_moved += pages.nr_moved;
		mi->nr_failed_pages += pages.nr_failed_pages;
		mi->nr_pieces += pages.nr_failed;
	}
	page_list_splice(&batch, left);
	page_list_splice(&split, left);
	return err;
}

/* Large ones, too. */
static int migrate_batches(struct migration *mi, struct page_list *from, enum migrate_mode mode)
{
	struct page_list left;
	int err = 0;

	page_list_init(&left, from->base);
	while (from->nr && !err)
		err = migrate_batch(mi, from, &left, mode);
	page_list_splice(&left, from);
	return err;
}

long migrate_pages(struct machine *m, struct page_list *from, const struct migrate_target *to,
                   enum migrate_mode mode)
{
	struct migration mi = {.m = m, .to = to, .whole = migrates_whole(m)};
	int err;

	span_enter(SPAN_MIGRATE);
	err = mi.whole ? migrate_batches(&mi, from, mode)
	               : migrate_list(&mi, from, NULL, mode, MIGRATE_PASSES);
	count_vm_events(m, PGMIGRATE_SUCCESS, mi.nr_moved);
	count_vm_events(m, PGMIGRATE_FAIL, mi.nr_failed_pages);
	count_vm_events(m, THP_MIGRATION_SUCCESS, mi.nr_thp_succeeded);
	count_vm_events(m, THP_MIGRATION_FAIL, mi.nr_thp_failed);
	count_vm_events(m, THP_MIGRATION_SPLIT, mi.nr_thp_split);
	span_exit();
	if (err)
		return err;
	/* Those that were split have failed, unless all has been moved after all. */
	return mi.nr_failed || mi.nr_pieces ? mi.nr_failed + mi.nr_split : 0;
}
