/*
 * One range of 2 MiB becomes a huge page (Linux mm/khugepaged.c: hpage_collapse_scan_pmd() and
 * collapse_huge_page()).
 *
 * First the entries are looked at, under mmap_sem for read: may each of them go, are there not too many
 * that are empty, swapped out or shared, and has anybody used one? Then a huge page is allocated without
 * any lock, what is swapped out is read back (4.8), and with mmap_sem for write everything is looked at
 * again. The PMD entry is taken away under the family's anon_vma lock, so that neither faults nor reverse
 * walks find the table; its pages are locked and isolated, or all is put back. Contents are copied, old
 * pages freed, and the table is laid aside for the day the huge page is split.
 *
 * To 5.7 a page that anybody shares, or that is part of a huge page mapped by ptes, is not taken; and one
 * of the range must be writable (knob khugepaged.form).
 *
 * Locks: mmap_sem, anon_vma's, pmd's, the table's, each page's by trylock, lru_lock. May switch tasks.
 */
#include "core/khugepaged.h"
#include "core/mlock.h"

/* One attempt. */
struct collapse {
	struct machine *m;
	struct mm_struct *mm;
	struct vm_area_struct *vma;
	u64 haddr;
	bool today; /* khugepaged.form */
	u32 table;  /* leaf table of the range */
	u32 nr_none;
	u32 nr_swap;
	u32 nr_shared;
	u32 nr_referenced;
	bool writable;
	struct collapse_nodes nodes;
	u32 nr_isolated;
	struct page *isolated[HPAGE_PMD_NR]; /* locked; compound ones once */
};

/* ---- is it worth it? ------------------------------------------------------------------------------------ */

/* False: more than @limit. 4.0 has no counters for it. */
static bool count_up_to(struct collapse *c, u32 *nr, u64 limit, enum vm_event event)
{
	*nr += 1;
	if (*nr <= limit)
		return true;
	count_vm_event(c->m, event);
	return false;
}

/* What the entry alone says. False: the range stays. *@pagep: the page it maps, if it is to be copied. */
static bool scan_pte(struct collapse *c, pte_t pte, struct page **pagep)
{
	const struct knobs *k = &c->m->knob;
	struct page *page;

	*pagep = NULL;
	if (pte_none(pte) || (pte_present(pte) && pte_special(pte)))
		return count_up_to(c, &c->nr_none, k->khugepaged_max_ptes_none,
		                   THP_SCAN_EXCEED_NONE_PTE);
	if (pte_swap(pte))
		return count_up_to(c, &c->nr_swap, k->khugepaged_max_ptes_swap,
		                   THP_SCAN_EXCEED_SWAP_PTE);
	if (!pte_present(pte))
		return false;
	page = pfn_to_page(c->m, pte_pfn(pte));
	if (!page_is_anon(compound_head(page)) || (page_is_compound(page) && !c->today))
		return false;
	if (page_mapcount(page) > 1 && !count_up_to(c, &c->nr_shared, k->khugepaged_max_ptes_shared,
	                                            THP_SCAN_EXCEED_SHARE_PTE))
		return false;
	c->writable |= pte_write(pte);
	c->nr_referenced += pte_young(pte) || page_test(compound_head(page), PG_referenced);
	*pagep = page;
	return true;
}

/* References other than its entries', the swap cache's and @ours: pins, batches, isolation. */
static bool has_other_references(const struct page *head, s32 ours)
{
	s32 mapped = page_is_compound(head) ? head[1].total_mapcount : head->mapcount;
	s32 cached = page_test(head, PG_swapcache) ? (s32)compound_nr(head) : 0;

	return head->refcount != mapped + cached + ours;
}

static bool scan_page(const struct page *head)
{
	return page_test(head, PG_lru) && !page_test(head, PG_locked) &&
	       !page_test(head, PG_writeback) && !has_other_references(head, 0);
}

/* Somebody used it: that is asked for to avoid the cost where nobody would notice the gain. */
static bool worth_it(const struct collapse *c)
{
	if (!c->nr_referenced || (!c->today && !c->writable))
		return false;
	return !c->nr_swap || c->nr_referenced >= HPAGE_PMD_NR / 2;
}

static void collapse_count_reset(struct collapse *c)
{
	c->nr_none = 0;
	c->nr_swap = 0;
	c->nr_shared = 0;
	c->nr_referenced = 0;
	c->writable = false;
}

/* mmap_sem held for read. */
static bool scan_pmd(struct collapse *c)
{
	struct machine *m = c->m;
	bool ok = true;
	u32 i;

	c->table = pt_find(m, c->mm, c->haddr);
	if (!c->table)
		return false;
	spin_lock(&m->table[c->table].ptl);
	for (i = 0; i < HPAGE_PMD_NR && ok; i++) {
		struct page *page;

		ok = scan_pte(c, table_entries(m, c->table)[i], &page);
		if (ok && page) {
			charge(COST_PAGE_LINE);
			ok = collapse_count_node(m, &c->nodes, page_nid(page)) &&
			     scan_page(compound_head(page));
		}
	}
	charge_n(COST_PTE, i);
	spin_unlock(&m->table[c->table].ptl);
	return ok && worth_it(c);
}

/* ---- reading back what is swapped out ---------------------------------------------------------------------- */

/* mmap_sem held for read, and kept. False: something could not be read. */
static bool collapse_swapin(struct collapse *c)
{
	struct machine *m = c->m;

	if (!c->nr_swap)
		return true;
	for (u32 i = 0; i < HPAGE_PMD_NR; i++) {
		u64 va = c->haddr + ((u64)i << PAGE_SHIFT);
		struct vm_fault f = {.m = m, .mm = c->mm, .vma = c->vma, .va = va};

		f.table = pt_find(m, c->mm, va);
		if (!f.table)
			return false;
		f.pte = pt_entry(m, f.table, va);
		f.orig = READ_ONCE(*f.pte);
		if (pte_swap(f.orig) && do_swap_page(&f) & VM_FAULT_ERROR)
			return false;
	}
	lru_add_drain(m);
	return true;
}

/* ---- taking the pages ------------------------------------------------------------------------------------------ */

static bool is_isolated(const struct collapse *c, const struct page *head)
{
	for (u32 i = c->nr_isolated; i-- > 0;)
		if (c->isolated[i] == head)
			return true;
	return false;
}

/* The table's lock is held. */
static bool isolate_page(struct collapse *c, struct page *head, pte_t pte)
{
	struct machine *m = c->m;

	if (page_is_compound(head) && is_isolated(c, head))
		return true;
	if (!trylock_page(m, head))
		return false;
	if (has_other_references(head, 0) || page_test(head, PG_writeback))
		goto out_unlock;
	/* To 5.17: read-only, and in the swap cache: it may be somebody else's there. */
	if (!c->today && !pte_write(pte) && page_test(head, PG_swapcache) &&
	    !reuse_swap_page(m, head))
		goto out_unlock;
	if (!isolate_lru_page(m, head))
		goto out_unlock;
	mod_node_state(page_zone(m, head), NR_ISOLATED_ANON, compound_nr(head));
	c->isolated[c->nr_isolated++] = head;
	return true;
out_unlock:
	unlock_page(m, head);
	return false;
}

/* Back to the lists, or to the allocator if nobody else has it. */
static void release_isolated(struct collapse *c)
{
	struct machine *m = c->m;

	while (c->nr_isolated) {
		struct page *head = c->isolated[--c->nr_isolated];

		mod_node_state(page_zone(m, head), NR_ISOLATED_ANON, -(long)compound_nr(head));
		if (!page_mapped(head) && page_test(head, PG_swapcache))
			try_to_free_swap(m, head);
		unlock_page(m, head);
		if (head->refcount == 1)
			put_page(m, head);
		else
			putback_lru_page(m, head);
	}
}

/* All pages of the range are locked and on no list, or nothing has changed. */
static bool isolate_range(struct collapse *c)
{
	struct machine *m = c->m;
	bool ok = true;

	collapse_count_reset(c);
	spin_lock(&m->table[c->table].ptl);
	charge_n(COST_PTE, HPAGE_PMD_NR);
	for (u32 i = 0; i < HPAGE_PMD_NR && ok; i++) {
		pte_t pte = table_entries(m, c->table)[i];
		struct page *page;

		ok = scan_pte(c, pte, &page) && !c->nr_swap;
		if (ok && page)
			ok = isolate_page(c, compound_head(page), pte);
	}
	ok = ok && worth_it(c);
	spin_unlock(&m->table[c->table].ptl);
	if (!ok)
		release_isolated(c);
	return ok;
}

/* ---- from the old pages to the new one --------------------------------------------------------------------------- */

/* Locked pages that no entry the hardware sees maps: they do not change. */
static void copy_range(struct collapse *c, struct page *new)
{
	struct machine *m = c->m;
	u64 pfn = page_to_pfn(m, new);

	for (u32 i = 0; i < HPAGE_PMD_NR; i++) {
		pte_t pte = table_entries(m, c->table)[i];

		if (pte_none(pte) || pte_special(pte))
			world_frame_clear(pfn + i);
		else
			world_frame_copy(pfn + i, pte_pfn(pte));
	}
	page_set(new, PG_uptodate);
}

/* The table is emptied, and the pages lose what it held of them. */
static void unmap_range(struct collapse *c)
{
	struct machine *m = c->m;
	bool mlocked = c->vma->vm_flags & VM_LOCKED && mlock_today(m);

	spin_lock(&m->table[c->table].ptl);
	charge_n(COST_PTE, HPAGE_PMD_NR);
	if (mlocked)
		munlock_ptes(m, c->table, c->haddr, c->haddr + PMD_SIZE);
	for (u32 i = 0; i < HPAGE_PMD_NR; i++) {
		pte_t *pte = &table_entries(m, c->table)[i];
		pte_t entry = *pte;

		set_pte(m, c->table, pte, (pte_t){0});
		if (!pte_none(entry) && !pte_special(entry)) {
			struct page *page = pfn_to_page(m, pte_pfn(entry));

			page_remove_rmap(m, page);
			/* The isolation's keeps it. */
			VM_BUG_ON(compound_head(page)->refcount < 2);
			compound_head(page)->refcount -= 1;
		}
	}
	spin_unlock(&m->table[c->table].ptl);
	atomic_long_add(c->nr_none, &c->mm->rss[MM_ANONPAGES]);
	charge(COST_RSS);
}

/* The range's table is taken out of the tree, or (@back) put where it was. mmap_sem held for write. */
static void link_table(struct collapse *c, u32 pmd_table, pte_t *pmd, bool back)
{
	struct machine *m = c->m;
	pte_t entry = {0};

	if (back)
		entry = pte_make(c->table, PTE_PRESENT | PTE_WRITE | PTE_USER);
	spin_lock(pmd_lockptr(m, pmd_table));
	charge(COST_PTE);
	set_pte(m, pmd_table, pmd, entry);
	pt_forget_walks(c->mm);
	if (!back)
		world_tlb_flush(&c->mm->as, c->haddr, c->haddr + PMD_SIZE);
	spin_unlock(pmd_lockptr(m, pmd_table));
}

static void map_collapsed(struct collapse *c, u32 pmd_table, pte_t *pmd, struct page *new)
{
	struct machine *m = c->m;
	struct vm_area_struct *vma = c->vma;
	pte_t entry = pte_make(page_to_pfn(m, new), PTE_PRESENT | PTE_HUGE | PTE_DIRTY);

	if (vma->vm_flags & (VM_READ | VM_WRITE))
		entry = pte_set(entry, PTE_USER);
	if (vma->vm_flags & VM_WRITE)
		entry = pte_set(entry, PTE_WRITE);
	spin_lock(pmd_lockptr(m, pmd_table));
	page_add_new_anon_rmap_huge(m, new, vma, c->haddr);
	lru_cache_add_inactive_or_unevictable(m, new, vma);
	pt_deposit(m, pmd_table, c->table);
	charge(COST_PTE);
	set_pte(m, pmd_table, pmd, entry);
	spin_unlock(pmd_lockptr(m, pmd_table));
}

/* mmap_sem held for write, and everything looked at again. False: @new was not needed. */
static bool collapse_locked(struct collapse *c, struct page *new)
{
	struct machine *m = c->m;
	pte_t *pmd;
	u32 pmd_table = pt_find_pmd(m, c->mm, c->haddr, &pmd);
	bool ok;

	if (!pmd_table || pte_none(*pmd) || pmd_leaf(*pmd))
		return false;
	c->table = (u32)pte_pfn(*pmd);
	vma_start_write(c->vma);
	anon_vma_lock_write(c->vma->anon_vma);
	link_table(c, pmd_table, pmd, false);
	ok = isolate_range(c);
	if (!ok)
		link_table(c, pmd_table, pmd, true);
	anon_vma_unlock_write(c->vma->anon_vma);
	if (!ok)
		return false;
	copy_range(c, new);
	unmap_range(c);
	map_collapsed(c, pmd_table, pmd, new);
	release_isolated(c);
	return true;
}

/* ---- the attempt ---------------------------------------------------------------------------------------------------- */

/* mmap_sem was dropped: is there still a VMA that may have a huge page here? */
static bool revalidate(struct collapse *c)
{
	if (!READ_ONCE(c->mm->mm_users))
		return false;
	c->vma = find_vma(c->mm, c->haddr);
	return c->vma && c->haddr >= c->vma->vm_start && c->vma->anon_vma &&
	       thp_vma_allowable(c->m, c->vma, c->haddr);
}

static struct page *alloc_for_collapse(struct collapse *c)
{
	struct machine *m = c->m;
	gfp_t gfp = m->knob.khugepaged_defrag == KNOB_ON ? GFP_TRANSHUGE : GFP_TRANSHUGE_LIGHT;
	struct page *page;

	if (m->knob.khugepaged_form == KHUGEPAGED_4_0)
		gfp |= __GFP_NORETRY;
	page = collapse_alloc_page(m, &c->nodes, gfp);
	count_vm_event(m, page ? THP_COLLAPSE_ALLOC : THP_COLLAPSE_ALLOC_FAILED);
	return page;
}

static enum scan_result collapse_huge_page(struct collapse *c)
{
	struct machine *m = c->m;
	struct page *new = alloc_for_collapse(c);
	bool ok;

	if (!new)
		return SCAN_ALLOC_FAILED;
	down_read(&c->mm->mmap_sem);
	ok = revalidate(c) && collapse_swapin(c);
	up_read(&c->mm->mmap_sem);
	if (ok) {
		mmap_write_lock(c->mm);
		ok = revalidate(c) && collapse_locked(c, new);
		mmap_write_unlock(c->mm);
	}
	if (!ok)
		put_page(m, new);
	return ok ? SCAN_SUCCEED : SCAN_FAIL;
}

enum scan_result khugepaged_scan_pmd(struct machine *m, struct vm_area_struct *vma, u64 haddr,
                                     bool *dropped)
{
	struct collapse c = {.m = m, .mm = vma->vm_mm, .vma = vma, .haddr = haddr};
	enum scan_result ret;

	c.today = m->knob.khugepaged_form == KHUGEPAGED_6_18;
	if (!scan_pmd(&c))
		return SCAN_FAIL;
	*dropped = true;
	up_read(&c.mm->mmap_sem);
	span_enter(SPAN_COLLAPSE);
	ret = collapse_huge_page(&c);
	span_exit();
	return ret;
}
