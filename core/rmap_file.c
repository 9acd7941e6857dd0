/*
 * The reverse map of file pages (Linux mm/rmap.c, mm/interval_tree.c).
 *
 * A page's address space has a tree of the VMAs that map parts of it, by page offset, private ones
 * included; where the page is mapped is asked of their page tables, as for anonymous pages. The lock
 * of the tree is the mapping's, not the VMA's family's: a spin lock in 2.6.36, a mutex to 3.18, then
 * a rw semaphore (knob file.i_mmap_lock); walks for ageing try it only since 5.19, as they do the
 * anon_vma's (reclaim.rmap_lock).
 */
#include "core/migrate.h"
#include "core/mlock.h"
#include "core/rmap.h"

/* ---- the lock, by era ---------------------------------------------------------------------------- */

void i_mmap_lock_write(struct machine *m, struct address_space *mapping)
{
	if (m->knob.i_mmap_lock == I_MMAP_SPIN)
		spin_lock(&mapping->i_mmap_lock);
	else
		down_write(&mapping->i_mmap_rwsem);
}

void i_mmap_unlock_write(struct machine *m, struct address_space *mapping)
{
	if (m->knob.i_mmap_lock == I_MMAP_SPIN)
		spin_unlock(&mapping->i_mmap_lock);
	else
		up_write(&mapping->i_mmap_rwsem);
}

/* For a walk. False: @try, and somebody has it. */
static bool i_mmap_lock_read(struct machine *m, struct address_space *mapping, bool try)
{
	switch ((enum i_mmap_lock_policy)m->knob.i_mmap_lock) {
	case I_MMAP_SPIN:
		if (try)
			return spin_trylock(&mapping->i_mmap_lock);
		spin_lock(&mapping->i_mmap_lock);
		return true;
	case I_MMAP_MUTEX:
		if (try)
			return down_write_trylock(&mapping->i_mmap_rwsem);
		down_write(&mapping->i_mmap_rwsem);
		return true;
	case I_MMAP_RWSEM:
		break;
	}
	if (try)
		return down_read_trylock(&mapping->i_mmap_rwsem);
	down_read(&mapping->i_mmap_rwsem);
	return true;
}

static void i_mmap_unlock_read(struct machine *m, struct address_space *mapping)
{
	if (m->knob.i_mmap_lock == I_MMAP_RWSEM)
		up_read(&mapping->i_mmap_rwsem);
	else
		i_mmap_unlock_write(m, mapping);
}

/* ---- VMAs in the tree ------------------------------------------------------------------------------ */

void vma_interval_insert(struct vm_area_struct *vma)
{
	vma->shared.start = vma->vm_pgoff;
	vma->shared.last = vma->vm_pgoff + vma_pages(vma) - 1;
	interval_tree_insert(&vma->shared, &vma_mapping(vma)->i_mmap);
}

void vma_interval_remove(struct vm_area_struct *vma)
{
	interval_tree_remove(&vma->shared, &vma_mapping(vma)->i_mmap);
}

/* A VMA that is about to be used enters its file's tree, if it has one. mmap_sem held for write. */
void vma_link_file(struct machine *m, struct vm_area_struct *vma)
{
	struct address_space *mapping = vma_mapping(vma);

	if (!mapping)
		return;
	charge(COST_ANON_VMA);
	i_mmap_lock_write(m, mapping);
	vma_interval_insert(vma);
	i_mmap_unlock_write(m, mapping);
}

/* Its pages are unmapped; it leaves the tree, and lets go of the file. May switch tasks. */
void unlink_file_vma(struct machine *m, struct vm_area_struct *vma)
{
	struct address_space *mapping = vma_mapping(vma);
	struct file *file = vma->vm_file;

	if (!mapping)
		return;
	charge(COST_ANON_VMA);
	i_mmap_lock_write(m, mapping);
	vma_interval_remove(vma);
	i_mmap_unlock_write(m, mapping);
	vma->vm_file = NULL;
	fput(m, file);
}

/* ---- mapping counts ---------------------------------------------------------------------------------- */

/* One more pte maps @page; its table's lock is held, and the page lock or a reference. */
void page_add_file_rmap(struct machine *m, struct page *page)
{
	charge(COST_PAGE_FLAG);
	if (unlikely(page_is_compound(page)))
		compound_head(page)[1].total_mapcount += 1;
	if (page->mapcount++ == 0)
		mod_node_state(page_zone(m, page), NR_FILE_MAPPED, 1);
}

/* The same for @nr pages of a large folio in a row, by as many ptes. */
void folio_add_file_rmap_ptes(struct machine *m, struct page *page, u32 nr)
{
	long nr_mapped = 0;

	charge_n(COST_PAGE_FLAG, nr);
	for (u32 i = 0; i < nr; i++)
		nr_mapped += page[i].mapcount++ == 0;
	compound_head(page)[1].total_mapcount += (s32)nr;
	mod_node_state(page_zone(m, page), NR_FILE_MAPPED, nr_mapped);
}

/* ---- walks --------------------------------------------------------------------------------------------- */

/*
 * Calls @one for every VMA that maps the page, with its table's lock held, which @one keeps; ends when
 * it says so, or when no pte is left that the mapcount promised. -1: the lock is busy.
 */
typedef bool rmap_one_fn(struct machine *m, struct page *page, struct rmap_pte *r, void *arg);

/*
 * The ptes of a large folio in one VMA, in one walk along each of its tables (page_vma_mapped_walk()); @one is
 * called for each page. False: it says so, or all *@mapcount have been seen.
 */
static bool rmap_walk_folio(struct machine *m, struct page *folio, struct vm_area_struct *vma,
                            int *mapcount, rmap_one_fn *one, void *arg)
{
	u64 index = max(folio->index, vma->vm_pgoff);
	u64 end = min(folio_next_index(folio), vma->vm_pgoff + vma_pages(vma));
	u64 pfn = page_to_pfn(m, folio) + (index - folio->index);
	struct rmap_pte r = {.vma = vma};
	bool go_on = true;
	u64 stop;

	for (; index < end && go_on; index = stop) {
		r.va = vma->vm_start + ((index - vma->vm_pgoff) << PAGE_SHIFT);
		stop = min(end, index + ((PMD_SIZE - (r.va & ~PMD_MASK)) >> PAGE_SHIFT));
		r.table = pt_find_rmap(m, vma->vm_mm, r.va);
		if (!r.table) {
			pfn += stop - index;
			continue;
		}
		spin_lock(&m->table[r.table].ptl);
		for (u64 i = index; i < stop && go_on; i++, pfn++, r.va += PAGE_SIZE) {
			r.pte = pt_entry(m, r.table, r.va);
			charge(COST_PTE);
			if (!pte_maps(*r.pte, pfn))
				continue;
			go_on = one(m, pfn_to_page(m, pfn), &r, arg) && --*mapcount;
		}
		spin_unlock(&m->table[r.table].ptl);
	}
	return go_on;
}

static int rmap_walk_file(struct machine *m, struct page *page, bool try, rmap_one_fn *one,
                          void *arg)
{
	struct address_space *mapping = page_mapping(m, page);
	bool large = page_is_compound(page);
	int mapcount = large ? page[1].total_mapcount : page->mapcount;
	struct interval_node *node;
	struct rmap_pte r;

	charge(COST_RMAP_LOOKUP);
	world_order();
	if (!mapping)
		return 0;
	if (!i_mmap_lock_read(m, mapping, try))
		return -1;
	interval_tree_for_each (node, &mapping->i_mmap, page->index, folio_next_index(page) - 1) {
		struct vm_area_struct *vma = container_of(node, struct vm_area_struct, shared);
		bool go_on;

		if (unlikely(large)) {
			if (!rmap_walk_folio(m, page, vma, &mapcount, one, arg))
				break;
			continue;
		}
		if (!page_check_address(m, page, vma, &r))
			continue;
		go_on = one(m, page, &r, arg);
		spin_unlock(&m->table[r.table].ptl);
		if (!go_on || --mapcount == 0)
			break;
	}
	i_mmap_unlock_read(m, mapping);
	return 0;
}

/* Ptes of a large folio that have been found in a VM_LOCKED VMA, in one of its tables. */
struct locked_ptes {
	const struct vm_area_struct *vma;
	u32 table;
	u32 nr;
};

/* One more; @page's folio is counted as one in @vma only if all of it is there. True: it is now. */
static bool folio_found_locked(struct machine *m, struct page *page, const struct rmap_pte *r,
                               struct locked_ptes *l)
{
	struct page *head = compound_head(page);

	if (l->vma != r->vma || l->table != r->table)
		*l = (struct locked_ptes){.vma = r->vma, .table = r->table};
	if (++l->nr < compound_nr(head) || !mlock_counts_ptes(m, head))
		return false;
	return mlock_found(m, head, r->vma);
}

struct referenced_arg {
	struct locked_ptes locked;
	int referenced;
	u32 vm_flags;
	const struct vm_area_struct *last; /* of a large folio: that used it, which counts once */
};

static bool page_referenced_one_file(struct machine *m, struct page *page, struct rmap_pte *r,
                                     void *arg)
{
	struct referenced_arg *a = arg;
	pte_t entry = *r->pte;

	if (unlikely(r->vma->vm_flags & VM_LOCKED)) {
		if (page_is_compound(page) && mlock_today(m) &&
		    !folio_found_locked(m, page, r, &a->locked))
			return true;
		a->vm_flags |= VM_LOCKED;
		if (!page_is_compound(page) && mlock_today(m))
			mlock_found(m, page, r->vma);
		return false;
	}
	if (!pte_young(entry))
		return true;
	*r->pte = pte_clear(entry, PTE_ACCESSED);
	charge(COST_PTE);
	flush_young(m, r);
	/* Who reads in order will not come back. */
	if (!(r->vma->vm_flags & VM_SEQ_READ) && (!page_is_compound(page) || a->last != r->vma))
		a->referenced += 1;
	a->last = r->vma;
	a->vm_flags |= r->vma->vm_flags;
	return true;
}

/*
 * As page_referenced(). Without the page lock (@is_locked) the mapping might go away; it is only tried
 * for, and a page that somebody has locked is in use.
 */
int page_referenced_file(struct machine *m, struct page *page, bool is_locked, u32 *vm_flags)
{
	struct referenced_arg a = {0};
	int busy;

	*vm_flags = 0;
	if (!page_mapped(page))
		return 0;
	if (!is_locked && !trylock_page(m, page))
		return 1;
	busy = rmap_walk_file(m, page, m->knob.rmap_lock == RMAP_LOCK_TRY, page_referenced_one_file,
	                      &a);
	if (!is_locked)
		unlock_page(m, page);
	*vm_flags = a.vm_flags;
	return busy ? -1 : a.referenced;
}

struct unmap_arg {
	u32 flags;
	bool dirty;
	bool mlocked; /* a VM_LOCKED VMA maps it */
	struct locked_ptes locked;
};

/* A file page's pte is just dropped: the page is still in the cache, for whoever faults next. */
static bool try_to_unmap_one_file(struct machine *m, struct page *page, struct rmap_pte *r,
                                  void *arg)
{
	struct unmap_arg *a = arg;
	struct mm_struct *mm = r->vma->vm_mm;
	pte_t entry = *r->pte;

	if (unlikely(a->mlocked && a->locked.vma != r->vma))
		return false;
	if (unlikely(r->vma->vm_flags & VM_LOCKED) && !(a->flags & TTU_IGNORE_MLOCK)) {
		if (page_is_compound(page) && mlock_today(m)) {
			a->mlocked = true;
			return !folio_found_locked(m, page, r, &a->locked);
		}
		a->mlocked = mlock_found(m, page, r->vma);
		return !a->mlocked;
	}
	set_pte(m, r->table, r->pte, (pte_t){0});
	charge(COST_PTE);
	unmap_flush(m, mm, r->va, entry, a->flags);
	a->dirty |= pte_dirty(entry);
	atomic_long_add(-1, &mm->rss[MM_FILEPAGES]);
	charge(COST_RSS);
	page_remove_rmap(m, page);
	munlock_migrating_page(m, page, r->vma);
	page = compound_head(page);
	VM_BUG_ON(page->refcount < 2);
	page->refcount -= 1;
	charge(COST_PAGE_FLAG);
	return true;
}

enum ttu_result try_to_unmap_file(struct machine *m, struct page *page, u32 flags)
{
	struct unmap_arg a = {.flags = flags};

	rmap_walk_file(m, page, false, try_to_unmap_one_file, &a);
	/* Linux moves the bit over pte by pte; the page lock keeps others from looking meanwhile. */
	if (a.dirty)
		set_page_dirty(m, page);
	if (a.mlocked)
		return SWAP_MLOCK;
	return page_mapped(page) ? SWAP_AGAIN : SWAP_SUCCESS;
}

static bool try_to_munlock_one_file(struct machine *m, struct page *page, struct rmap_pte *r,
                                    void *arg)
{
	bool *mlocked = arg;

	*mlocked = r->vma->vm_flags & VM_LOCKED && mlock_found(m, page, r->vma);
	return !*mlocked;
}

/* As try_to_munlock(). */
enum ttu_result try_to_munlock_file(struct machine *m, struct page *page)
{
	bool mlocked = false;

	rmap_walk_file(m, page, false, try_to_munlock_one_file, &mlocked);
	return mlocked ? SWAP_MLOCK : SWAP_AGAIN;
}

static bool page_mkclean_one(struct machine *m, struct page *page, struct rmap_pte *r, void *arg)
{
	pte_t entry = *r->pte;
	bool *cleaned = arg;

	(void)m;
	(void)page;
	if (!pte_dirty(entry) && !pte_write(entry))
		return true;
	/* Cleared and flushed before it is written back clean, so that no CPU dirties it unseen. */
	*r->pte = pte_clear(entry, PTE_DIRTY | PTE_WRITE);
	charge_n(COST_PTE, 2);
	world_tlb_flush(&r->vma->vm_mm->as, r->va, r->va + PAGE_SIZE);
	*cleaned |= pte_dirty(entry);
	return true;
}

/* Shared mappings of @page become read-only and clean. True: one was dirty. Page locked. */
bool page_mkclean(struct machine *m, struct page *page)
{
	bool cleaned = false;

	VM_BUG_ON(!page_test(page, PG_locked));
	if (page_mapped(page))
		rmap_walk_file(m, page, false, page_mkclean_one, &cleaned);
	return cleaned;
}

/* ---- migration --------------------------------------------------------------------------------------- */

static bool migrate_one_file(struct machine *m, struct page *page, struct rmap_pte *r, void *arg)
{
	bool *dirty = arg;

	*dirty |= pte_dirty(*r->pte);
	set_migration_pte(m, page, r->vma, r->table, r->va,
	                  page_is_compound(page) ? TTU_BATCH_FLUSH : 0);
	return true;
}

void try_to_migrate_file(struct machine *m, struct page *page)
{
	bool dirty = false;

	rmap_walk_file(m, page, false, migrate_one_file, &dirty);
	if (dirty)
		set_page_dirty(m, page);
}

void remove_migration_ptes_file(struct machine *m, struct page *old, struct page *new)
{
	struct address_space *mapping = page_mapping(m, new);
	struct interval_node *node;

	i_mmap_lock_read(m, mapping, false);
	interval_tree_for_each (node, &mapping->i_mmap, new->index, folio_next_index(new) - 1) {
		struct vm_area_struct *vma = container_of(node, struct vm_area_struct, shared);

		remove_migration_pte_in(m, vma, old, new);
	}
	i_mmap_unlock_read(m, mapping);
}
