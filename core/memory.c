/*
 * Page faults: first touches, zero page, copy-on-write (Linux mm/memory.c).
 *
 * A fault comes from fault.c with its VMA, under mmap_sem or under the VMA's own lock (6.4, knob
 * fault.vma_lock), walks to the leaf table and looks at the entry without its lock. Whatever it then decides, it takes the
 * lock and looks again before it changes the entry: other threads fault, and reclaim unmaps, at any
 * order point in between.
 *
 * Huge pages are huge_memory.c's subject; a fault comes to them where it finds no leaf table. File
 * mappings are filemap_fault.c's.
 *
 * Left out: userfaultfd, stack growth. Their branches belong into
 * handle_pte_fault() and handle_mm_fault(). Copy-on-write decides as Linux did before 5.19 whether a
 * page may be reused (reuse_swap_page()); today's PageAnonExclusive answers the same question with
 * fewer copies after fork.
 */
#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/mlock.h"

/* ---- anonymous pages ------------------------------------------------------------------------------- */

int __fault_anon_prepare(struct vm_fault *f)
{
	int err;

	/* It looks at the neighbours, so that mmap_sem is needed, which must not be waited for here. */
	if (f->vma_locked && !down_read_trylock(&f->mm->mmap_sem)) {
		fault_unlock_mm(f);
		return VM_FAULT_RETRY;
	}
	err = anon_vma_prepare(f->m, f->vma);
	if (f->vma_locked)
		up_read(&f->mm->mmap_sem);
	return err ? VM_FAULT_OOM : 0;
}

/*
 * What reads of untouched memory map. Linux has it in the kernel image, which is a reserved frame;
 * a machine without any gives one up at the first such read.
 */
struct page *zero_page(struct machine *m)
{
	const struct hw_machine *hw = m->world->hw;
	struct page *page = NULL;

	if (likely(m->zero_page))
		return m->zero_page;
	for (u32 i = 0; i < hw->nr_ranges && !page; i++)
		if (hw->range[i].nr_reserved)
			page = pfn_to_page(m, hw->range[i].start_pfn);
	if (!page) {
		page = alloc_page(m, GFP_KERNEL);
		/* Another CPU may have been here while this one waited for a frame. */
		if (page && m->zero_page)
			put_page(m, page);
	}
	if (!page || m->zero_page)
		return m->zero_page;
	m->zero_page = page;
	world_frame_clear(page_to_pfn(m, page));
	return page;
}

static int do_zero_page(struct vm_fault *f)
{
	struct page *page = zero_page(f->m);

	if (!page)
		return VM_FAULT_OOM;
	if (!fault_lock_pte(f))
		return 0;
	fault_set_pte(f, pte_set(fault_mk_pte(f, page), PTE_SPECIAL));
	spin_unlock(fault_ptl(f));
	return 0;
}

/* Maps a new page, filled by the caller, where @old was (NULL: nothing counted). Table lock held. */
static __always_inline void map_new_page(struct vm_fault *f, struct page *page,
                                         const struct page *old)
{
	page_add_new_anon_rmap(f->m, page, f->vma, f->va);
	lru_cache_add_inactive_or_unevictable(f->m, page, f->vma);
	if (!old) {
		atomic_long_add(1, &f->mm->rss[MM_ANONPAGES]);
		charge(COST_RSS);
	} else if (unlikely(!page_is_anon(old))) {
		atomic_long_add(1, &f->mm->rss[MM_ANONPAGES]);
		atomic_long_add(-1, &f->mm->rss[MM_FILEPAGES]);
		charge_n(COST_RSS, 2);
	}
	fault_set_pte(f, fault_mkwrite(f, fault_mk_pte(f, page)));
}

void fault_map_anon(struct vm_fault *f, struct page *page)
{
	map_new_page(f, page, NULL);
}

/* The reference that the allocator gives becomes the pte's. */
int map_zeroed_page(struct vm_fault *f, struct page *page, u32 late)
{
	page_set(page, PG_uptodate);
	if (likely(fault_lock_pte(f))) {
		map_new_page(f, page, NULL);
		spin_unlock(fault_ptl(f));
	} else {
		put_page(f->m, page);
	}
	charge_ns(late);
	return 0;
}

/* The first touch of a page, where first_touch() did not do it. */
static int do_anonymous_page(struct vm_fault *f)
{
	struct page *page;
	u32 late = 0;
	int ret;

	if (!f->write)
		return do_zero_page(f);
	ret = fault_anon_prepare(f);
	if (unlikely(ret))
		return ret;
	if (unlikely(f->m->mthp_always | f->m->mthp_madvise)) {
		ret = do_anonymous_folio(f);
		if (ret != VM_FAULT_FALLBACK)
			return ret;
	}
	if (likely(!f->m->nr_mempolicies))
		page = alloc_zeroed_user_page(f->m, &late);
	else
		page = alloc_pages_vma(f->m, GFP_HIGHUSER_MOVABLE | __GFP_ZERO, 0, f->vma, f->va);
	return likely(page) ? map_zeroed_page(f, page, late) : VM_FAULT_OOM;
}

/* ---- copy-on-write --------------------------------------------------------------------------------- */

/* The page is this fault's alone: it may be written where it is. Table lock held, and dropped. */
static int wp_page_reuse(struct vm_fault *f)
{
	count_vm_event(f->m, PGREUSE);
	fault_set_pte(f, pte_set(fault_mkwrite(f, f->orig), PTE_ACCESSED));
	/* The stale read-only translation only causes a fault that finds nothing to do. */
	spin_unlock(fault_ptl(f));
	return 0;
}

/*
 * Is @old's only user this fault? Table lock held; it is dropped if the page lock must be waited for:
 * *@changed then tells that the entry is no longer the same, and the lock is not held.
 */
static bool wp_can_reuse(struct vm_fault *f, struct page *old, bool *changed)
{
	struct machine *m = f->m;
	bool reuse;

	struct page *head = compound_head(old);

	*changed = false;
	charge(COST_PAGE_LINE);
	if (!trylock_page(m, head)) {
		get_page(head);
		spin_unlock(fault_ptl(f));
		lock_page(m, head);
		if (!fault_lock_pte(f)) {
			unlock_page(m, head);
			put_page(m, head);
			*changed = true;
			return false;
		}
		put_page(m, head);
	}
	reuse = reuse_swap_page(m, old);
	/* All of a huge page has one anon_vma. */
	if (reuse && !page_is_compound(old))
		page_move_anon_rmap(m, old, f->vma);
	unlock_page(m, head);
	return reuse;
}

/* Maps a copy of @old (NULL: of the zero page), on which a reference is held. Not locked. */
static int wp_page_copy(struct vm_fault *f, struct page *old)
{
	struct machine *m = f->m;
	struct page *page;
	int ret = fault_anon_prepare(f);

	if (unlikely(ret))
		goto out_put;
	ret = VM_FAULT_OOM;
	page = alloc_pages_vma(m, GFP_HIGHUSER_MOVABLE, 0, f->vma, f->va);
	if (unlikely(!page))
		goto out_put;
	if (old)
		world_frame_copy(page_to_pfn(m, page), page_to_pfn(m, old));
	else
		world_frame_clear(page_to_pfn(m, page));
	page_set(page, PG_uptodate);

	ret = 0;
	if (unlikely(!fault_lock_pte(f))) {
		put_page(m, page);
		goto out_put;
	}
	/* No thread may go on reading the old page after another has written the new one. */
	fault_set_pte(f, (pte_t){0});
	world_tlb_flush(&f->mm->as, f->va, f->va + PAGE_SIZE);
	if (old && !page_is_anon(old))
		world_contents_copied(&f->mm->as, f->va, page_to_pfn(m, page));
	map_new_page(f, page, old);
	if (old) {
		page_remove_rmap(m, old);
		munlock_vma_folio(m, old, f->vma, false);
		put_page(m, old); /* the pte's; the fault's own comes last */
	}
	spin_unlock(fault_ptl(f));
	if (unlikely(f->vma->vm_flags & VM_LOCKED) && old && !mlock_today(m) &&
	    !page_is_compound(old))
		munlock_replaced_page(m, old);
out_put:
	if (old)
		put_page(m, old);
	return ret;
}

int do_wp_page(struct vm_fault *f)
{
	struct page *old = NULL;
	bool changed;
	int ret;

	if (!pte_special(f->orig)) {
		old = pfn_to_page(f->m, pte_pfn(f->orig));
		if (unlikely(!page_is_anon(old))) {
			if (f->vma->vm_flags & VM_SHARED)
				return do_wp_file_page(f, old);
		} else {
			if (page_is_compound(old) && page_is_being_split(f->m, old)) {
				wait_split_huge_page(f->m, old, fault_ptl(f));
				return 0;
			}
			if (wp_can_reuse(f, old, &changed))
				return wp_page_reuse(f);
			if (changed)
				return 0;
		}
		get_page(old);
	}
	spin_unlock(fault_ptl(f));
	span_enter(SPAN_COW);
	ret = wp_page_copy(f, old);
	span_exit();
	return ret;
}

/* ---- dispatch ---------------------------------------------------------------------------------------- */

/* Something is mapped: a write to a read-only page, or another thread was here first. */
static int do_present_page(struct vm_fault *f)
{
	if (!fault_lock_pte(f))
		return 0;
	if (f->write && !pte_write(f->orig))
		return do_wp_page(f);
	fault_set_pte(f, pte_set(f->orig, PTE_ACCESSED | (f->write ? PTE_DIRTY : 0)));
	spin_unlock(fault_ptl(f));
	return 0;
}

/*
 * Finds the leaf table of the fault, other than the one found last, or makes it; or deals with the fault by
 * a huge entry: then f->table is 0, and what is returned is the end of it.
 */
static noinline int fault_find_table(struct vm_fault *f)
{
	struct machine *m = f->m;
	pte_t *pmd;
	u32 pmd_table = pt_find_pmd(m, f->mm, f->va, &pmd);
	int ret = VM_FAULT_FALLBACK;
	pte_t orig;

	f->table = 0;
	if (unlikely(!pmd_table))
		pmd_table = pt_pmd_alloc(m, f->mm, f->va, &pmd);
	if (unlikely(!pmd_table))
		return VM_FAULT_OOM;
	orig = *pmd;
	if (pte_huge(orig))
		ret = do_huge_pmd_present(f, pmd_table, pmd, orig);
	else if (unlikely(pmd_migration(orig)))
		ret = pmd_migration_entry_wait(f, pmd_table, pmd, orig);
	else if (pte_none(orig) && thp_vma_allowable(m, f->vma, f->va))
		ret = do_huge_pmd_anonymous_page(f, pmd_table, pmd);
	if (!(ret & VM_FAULT_FALLBACK))
		return ret;
	f->table = __pt_find_alloc(m, f->mm, f->va);
	if (unlikely(!f->table))
		return VM_FAULT_OOM;
	if (unlikely(f->table == PT_HUGE)) /* another thread's fault: try again */
		f->table = 0;
	return 0;
}

/* Its page is being split or moved: waits until it is not. The fault is tried again. */
static int migration_entry_wait(struct vm_fault *f)
{
	struct page *page = compound_head(pfn_to_page(f->m, pte_pfn(f->orig)));

	if (!fault_lock_pte(f))
		return 0;
	/* Who set the entry has locked the page, and will not let go of it before that. */
	spin_unlock(fault_ptl(f));
	wait_on_page_locked(f->m, page);
	return 0;
}

int handle_pte_fault(struct vm_fault *f)
{
	u64 cache = f->mm->leaf_cache;

	/* With finding the VMA, just done, and the look at the entry that follows. */
	charge3(COST_VMA_LOOKUP, COST_PT_WALK, COST_PTE);
	if (likely(cache >> 32 == leaf_cache_key(f->va))) {
		f->table = (u32)cache;
	} else {
		int ret = fault_find_table(f);

		if (unlikely(!f->table))
			return ret;
	}
	f->pte = pt_entry(f->m, f->table, f->va);
	f->orig = *f->pte;
	/* Where nothing is, only another thread can put something. */
	if (unlikely(!pte_none(f->orig) || f->mm->mm_users > 1))
		f->orig = READ_ONCE(*f->pte);
	if (likely(pte_none(f->orig)))
		return unlikely(f->vma->vm_file) ? do_file_fault(f) : do_anonymous_page(f);
	if (!pte_present(f->orig))
		return unlikely(pte_migration(f->orig)) ? migration_entry_wait(f) : do_swap_page(f);
	return do_present_page(f);
}

/* ---- for the kernel's own sake ----------------------------------------------------------------------- */

int faultin_page(struct machine *m, struct vm_area_struct *vma, u64 va, bool write)
{
	struct task *t = current_task();
	struct vm_fault f = {.m = m, .mm = vma->vm_mm, .vma = vma, .va = va, .write = write};
	int ret;

	span_enter(SPAN_FAULT);
	ret = handle_pte_fault(&f);
	count_vm_event(m, PGFAULT);
	t->maj_flt += (ret & VM_FAULT_MAJOR) != 0;
	t->min_flt += !(ret & VM_FAULT_MAJOR);
	span_exit();
	if (likely(!(ret & VM_FAULT_ERROR)))
		return 0;
	if (t->killed)
		return -EINTR;
	return ret & VM_FAULT_OOM ? -ENOMEM : -EFAULT;
}
