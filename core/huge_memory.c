/*
 * Transparent huge pages: faults, mapping and unmapping by PMD entries (Linux mm/huge_memory.c).
 *
 * A fault on a range of 2 MiB that nothing is mapped in, and that its VMA covers, gets a huge page if
 * thp.enabled and the VMA's advice say so and one is to be had; reads get the huge zero page. What
 * touches only part of a huge entry first makes a leaf table of it, for which one was laid aside at the
 * fault. Since 4.5 that leaves the page as it is (knob thp.partial_unmap); before, the page was split
 * as well, in all address spaces.
 *
 * Counting. total_mapcount counts the entries that map the page or part of it, in all eras: Linux adds
 * it up from the rest before 6.6. compound_mapcount counts PMD entries, a tail's mapcount the ptes that
 * map it, and to 6.1 one more while the page is mapped both ways (PageDoubleMap), so that a tail that
 * loses its last pte is not taken for unmapped.
 *
 * Other sizes are in mthp.c, migration entries in huge_migrate.c. Left out: file huge pages, underused pages (6.12).
 */
#include "core/huge_memory.h"
#include "core/khugepaged.h"
#include "core/mlock.h"

/* ---- who gets one ------------------------------------------------------------------------------------- */

bool thp_vma_allowable(const struct machine *m, const struct vm_area_struct *vma, u64 va)
{
	enum thp_policy policy = thp_pmd_policy(m);

	if (policy == THP_NEVER || vma->vm_flags & VM_NOHUGEPAGE || vma->vm_file)
		return false;
	if (policy == THP_MADVISE && !(vma->vm_flags & VM_HUGEPAGE))
		return false;
	return vma_covers_pmd(vma, va);
}

/* How hard an allocation may try: directly, or by waking kswapd. */
gfp_t thp_gfp(const struct machine *m, bool advised)
{
	gfp_t gfp = GFP_TRANSHUGE_LIGHT | __GFP_NORETRY;

	switch (m->knob.thp_defrag) {
	case THP_DEFRAG_ALWAYS:
		return gfp | __GFP_DIRECT_RECLAIM;
	case THP_DEFRAG_DEFER:
		return gfp | __GFP_KSWAPD_RECLAIM;
	case THP_DEFRAG_DEFER_MADVISE:
		return gfp | (advised ? __GFP_DIRECT_RECLAIM : __GFP_KSWAPD_RECLAIM);
	case THP_DEFRAG_MADVISE:
		return gfp | (advised ? __GFP_DIRECT_RECLAIM : 0);
	}
	return gfp;
}

static struct page *alloc_huge(struct vm_fault *f)
{
	gfp_t gfp = thp_gfp(f->m, f->vma->vm_flags & VM_HUGEPAGE);
	u64 va = f->va & PMD_MASK;
	struct page *page;

	if (likely(f->m->nr_nodes == 1 || f->m->knob.thp_node == THP_NODE_POLICY))
		page = alloc_pages_vma(f->m, gfp, HPAGE_PMD_ORDER, f->vma, va);
	else
		page = __alloc_huge_pages_vma(f->m, gfp, f->vma, va);
	if (!page)
		count_vm_event(f->m, THP_FAULT_FALLBACK);
	return page;
}

/* ---- counting maps ------------------------------------------------------------------------------------ */

void page_add_new_anon_rmap_huge(struct machine *m, struct page *page, struct vm_area_struct *vma,
                                 u64 haddr)
{
	struct stat_holder *h = page_zone(m, page)->node_stat;
	struct stat_cpu *s = stat_cpu(m, h, 1);

	page_set(page, PG_swapbacked);
	page[1].compound_mapcount = 1;
	page[1].total_mapcount = 1;
	page->mapping = anon_vma_mapping(m, vma->anon_vma);
	page->index = vma_index(vma, haddr);
	__mod_stat(m, h, s, NR_ANON_MAPPED, HPAGE_PMD_NR);
	mod_holder_state_next(m, h, s, NR_ANON_THPS, 1);
}

/* How many of its pages no pte maps. */
static u32 count_unmapped(struct page *head)
{
	u32 nr = 0;

	if (!(head[1].compound_flags & COMPOUND_TAILS))
		return HPAGE_PMD_NR;
	for (u32 i = 0; i < HPAGE_PMD_NR; i++)
		nr += !head[i].mapcount;
	return nr;
}

void page_add_anon_rmap_huge(struct machine *m, struct page *page)
{
	struct zone *z = page_zone(m, page);
	u32 nr = page[1].total_mapcount ? count_unmapped(page) : HPAGE_PMD_NR;

	charge(COST_PAGE_FLAG);
	page[1].total_mapcount += 1;
	if (page[1].compound_mapcount++)
		return;
	mod_holder_state2(m, z->node_stat, NR_ANON_MAPPED, nr, NR_ANON_THPS, 1);
}

void page_dup_rmap_huge(struct page *page)
{
	page[1].compound_mapcount += 1;
	page[1].total_mapcount += 1;
}

/* Tails no longer count the PMD entries as one of theirs; how many are mapped by no pte then. */
static u32 end_double_map(struct page *head)
{
	u32 nr = 0;

	head[1].compound_flags &= ~COMPOUND_DOUBLE_MAP;
	charge_n(COST_PAGE_FLAG, HPAGE_PMD_NR);
	for (u32 i = 0; i < HPAGE_PMD_NR; i++)
		nr += --head[i].mapcount == 0;
	return nr;
}

/* The last PMD entry is gone; pages that ptes do not map either are mapped no more. */
static void last_pmd_unmapped(struct machine *m, struct page *page)
{
	struct stat_holder *h = page_zone(m, page)->node_stat;
	struct stat_cpu *s = stat_cpu(m, h, 1);
	u32 nr = HPAGE_PMD_NR;

	__mod_stat(m, h, s, NR_ANON_THPS, -1);
	if (page[1].compound_flags & COMPOUND_DOUBLE_MAP)
		nr = end_double_map(page);
	else if (page[1].total_mapcount)
		nr = count_unmapped(page);
	if (!nr)
		return;
	mod_holder_state_next(m, h, s, NR_ANON_MAPPED, -(long)nr);
	/* 4.5 queued pages that nobody mapped at all, too; the next reference dropped frees those. */
	if (page[1].total_mapcount)
		deferred_split_huge_page(m, page);
}

void page_remove_rmap_huge(struct machine *m, struct page *page)
{
	charge(COST_PAGE_FLAG);
	VM_BUG_ON(page[1].compound_mapcount <= 0);
	page[1].total_mapcount -= 1;
	if (--page[1].compound_mapcount == 0)
		last_pmd_unmapped(m, page);
}

bool __page_remove_rmap_compound(struct page *page)
{
	struct page *head = compound_head(page);

	VM_BUG_ON(page->mapcount <= 0 || head[1].total_mapcount <= 0);
	head[1].total_mapcount -= 1;
	return !--page->mapcount && !head[1].compound_mapcount;
}

void page_remove_rmap_compound(struct machine *m, struct page *page)
{
	struct page *head = compound_head(page);

	if (!__page_remove_rmap_compound(page))
		return;
	if (!page_is_anon(page)) {
		mod_node_state(page_zone(m, head), NR_FILE_MAPPED, -1);
		return;
	}
	mod_node_state(page_zone(m, head), NR_ANON_MAPPED, -1);
	if (defers_at_once(m) || head[1].total_mapcount)
		deferred_split_huge_page(m, head);
}

/* ---- the huge zero page --------------------------------------------------------------------------------- */

/* Each entry that maps it holds a reference, one more is kept; freed by its shrinker when that is the last. */
struct page *get_huge_zero_page(struct machine *m)
{
	struct page *page;

again:
	world_order();
	if (m->huge_zero_page)
		goto out;
	page = alloc_pages(m,
	                   (GFP_KERNEL | __GFP_HIGHMEM | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY),
	                   HPAGE_PMD_ORDER);
	if (!page) {
		count_vm_event(m, THP_ZERO_PAGE_ALLOC_FAILED);
		return NULL;
	}
	for (u32 i = 0; i < HPAGE_PMD_NR; i++)
		world_frame_clear(page_to_pfn(m, page) + i);
	world_order();
	count_vm_event(m, THP_ZERO_PAGE_ALLOC);
	if (m->huge_zero_page) { /* another CPU was faster; its page may be gone when this one is */
		put_page(m, page);
		goto again;
	}
	m->huge_zero_page = page;
	m->huge_zero_refs = 1;
out:
	charge(COST_ATOMIC);
	m->huge_zero_refs += 1;
	return m->huge_zero_page;
}

void put_huge_zero_page(struct machine *m)
{
	world_order();
	charge(COST_ATOMIC);
	VM_BUG_ON(m->huge_zero_refs <= 1);
	m->huge_zero_refs -= 1;
}

/* ---- faults: nothing is mapped -------------------------------------------------------------------------- */

/* The entry of a huge page as the VMA's protection allows, not writable. */
static pte_t mk_huge(struct machine *m, const struct page *page)
{
	return pte_make(page_to_pfn(m, page), PTE_PRESENT | PTE_USER | PTE_ACCESSED | PTE_HUGE);
}

static inline void set_pmd(struct machine *m, u32 pmd_table, pte_t *pmd, pte_t val)
{
	charge(COST_PTE);
	set_pte(m, pmd_table, pmd, val);
}

static int map_huge_zero_page(struct vm_fault *f, u32 pmd_table, pte_t *pmd)
{
	struct machine *m = f->m;
	/* The small one is needed when the entry is split, which cannot wait for a frame. */
	u32 leaf = zero_page(m) ? pt_alloc(m, f->mm) : 0;
	struct page *zero;

	if (!leaf)
		return VM_FAULT_OOM;
	zero = get_huge_zero_page(m);
	if (!zero) {
		pt_free(m, f->mm, leaf);
		count_vm_event(m, THP_FAULT_FALLBACK);
		return VM_FAULT_FALLBACK;
	}
	spin_lock(pmd_lockptr(m, pmd_table));
	if (pte_none(*pmd)) {
		pt_deposit(m, pmd_table, leaf);
		set_pmd(m, pmd_table, pmd, pte_set(mk_huge(m, zero), PTE_SPECIAL));
		leaf = 0;
	}
	spin_unlock(pmd_lockptr(m, pmd_table));
	if (leaf) {
		pt_free(m, f->mm, leaf);
		put_huge_zero_page(m);
	}
	return 0;
}

/* Maps the new @page, with its table @leaf; pmd lock held. */
static __always_inline void map_huge_page(struct vm_fault *f, u32 pmd_table, pte_t *pmd,
                                          struct page *page)
{
	struct machine *m = f->m;

	page_add_new_anon_rmap_huge(m, page, f->vma, f->va & PMD_MASK);
	lru_cache_add_inactive_or_unevictable(m, page, f->vma);
	set_pmd(m, pmd_table, pmd, fault_mkwrite(f, mk_huge(m, page)));
}

static void clear_huge_page(struct machine *m, struct page *page)
{
	u64 pfn = page_to_pfn(m, page);

	span_enter(SPAN_CLEAR);
	if (likely(!m->world->check))
		charge_n(COST_PAGE_CLEAR, HPAGE_PMD_NR);
	else
		for (u32 i = 0; i < HPAGE_PMD_NR; i++)
			world_frame_clear(pfn + i);
	page_set(page, PG_uptodate);
	span_exit();
}

int do_huge_pmd_anonymous_page(struct vm_fault *f, u32 pmd_table, pte_t *pmd)
{
	struct machine *m = f->m;
	struct page *page;
	u32 leaf;
	int ret;

	ret = fault_anon_prepare(f);
	if (unlikely(ret))
		return ret;
	khugepaged_enter(m, f->vma);
	if (!f->write && m->knob.thp_zero_page == KNOB_ON)
		return map_huge_zero_page(f, pmd_table, pmd);
	page = alloc_huge(f);
	if (unlikely(!page))
		return VM_FAULT_FALLBACK;
	leaf = pt_alloc(m, f->mm);
	if (unlikely(!leaf)) {
		put_page(m, page);
		return VM_FAULT_OOM;
	}
	clear_huge_page(m, page);

	spin_lock(pmd_lockptr(m, pmd_table));
	if (unlikely(!pte_none(*pmd))) {
		spin_unlock(pmd_lockptr(m, pmd_table));
		put_page(m, page);
		pt_free(m, f->mm, leaf);
		return 0;
	}
	pt_deposit(m, pmd_table, leaf);
	map_huge_page(f, pmd_table, pmd, page);
	atomic_long_add(HPAGE_PMD_NR, &f->mm->rss[MM_ANONPAGES]);
	charge(COST_RSS);
	spin_unlock(pmd_lockptr(m, pmd_table));
	count_vm_event(m, THP_FAULT_ALLOC);
	return 0;
}

/* ---- faults: copy-on-write -------------------------------------------------------------------------------- */

static void copy_huge_page(struct machine *m, struct page *to, const struct page *from)
{
	u64 dst = page_to_pfn(m, to);
	u64 src = page_to_pfn(m, from);

	if (likely(!m->world->check))
		charge_n(COST_PAGE_COPY, HPAGE_PMD_NR);
	else
		for (u32 i = 0; i < HPAGE_PMD_NR; i++)
			world_frame_copy(dst + i, src + i);
	page_set(to, PG_uptodate);
}

/*
 * A huge page of the task's own in place of the one (or of the zero page) that @orig maps, on which a
 * reference is held if it is a page. Not locked.
 */
static int huge_copy(struct vm_fault *f, u32 pmd_table, pte_t *pmd, pte_t orig)
{
	struct machine *m = f->m;
	bool zero = pte_special(orig);
	struct page *old = pfn_to_page(m, pte_pfn(orig));
	struct page *page;
	int ret = fault_anon_prepare(f);

	if (ret)
		return ret;
	page = alloc_huge(f);
	if (!page)
		return VM_FAULT_FALLBACK;
	/*
	 * Before 4.5 others may have split the page meanwhile, and freed tails, which the reference to the
	 * head does not keep. Linux copies whatever is there, and throws it away.
	 */
	if (READ_ONCE(pmd->v) != orig.v) {
		put_page(m, page);
		return 0;
	}
	if (zero)
		clear_huge_page(m, page);
	else
		copy_huge_page(m, page, old);
	spin_lock(pmd_lockptr(m, pmd_table));
	if (pmd->v != orig.v) {
		spin_unlock(pmd_lockptr(m, pmd_table));
		put_page(m, page);
		return 0;
	}
	set_pmd(m, pmd_table, pmd, (pte_t){0});
	world_tlb_flush(&f->mm->as, f->va & PMD_MASK, (f->va & PMD_MASK) + PMD_SIZE);
	map_huge_page(f, pmd_table, pmd, page);
	if (zero) {
		atomic_long_add(HPAGE_PMD_NR, &f->mm->rss[MM_ANONPAGES]);
		charge(COST_RSS);
		put_huge_zero_page(m);
	} else {
		page_remove_rmap_huge(m, old);
		munlock_vma_folio(m, old, f->vma, true);
		put_page(m, old);
	}
	spin_unlock(pmd_lockptr(m, pmd_table));
	/* (Linux leaves it mlocked, to those who have not locked it.) */
	if (unlikely(f->vma->vm_flags & VM_LOCKED) && !zero && !mlock_today(m))
		munlock_replaced_page(m, old);
	if (zero)
		count_vm_event(m, THP_FAULT_ALLOC);
	return 0;
}

/*
 * A write to a huge entry that is read-only. One user: it may write where it is. Otherwise all of it is
 * copied, to 5.7, or it is made ptes, of which the fault goes on to copy one. pmd lock held, and dropped.
 */
static int do_huge_pmd_wp_page(struct vm_fault *f, u32 pmd_table, pte_t *pmd, pte_t orig)
{
	struct machine *m = f->m;
	struct page *old = pte_special(orig) ? NULL : pfn_to_page(m, pte_pfn(orig));
	int ret = VM_FAULT_FALLBACK;

	if (old) {
		charge(COST_PAGE_LINE);
		if (old[1].total_mapcount == 1) {
			set_pmd(m, pmd_table, pmd, pte_set(fault_mkwrite(f, orig), PTE_ACCESSED));
			count_vm_event(m, PGREUSE);
			spin_unlock(pmd_lockptr(m, pmd_table));
			return 0;
		}
		get_page(old);
	}
	spin_unlock(pmd_lockptr(m, pmd_table));
	span_enter(SPAN_COW);
	if (m->knob.thp_cow == THP_COW_COPY || !old)
		ret = huge_copy(f, pmd_table, pmd, orig);
	if (ret == VM_FAULT_FALLBACK)
		split_huge_pmd(m, f->vma, f->va);
	if (old)
		put_page(m, old);
	span_exit();
	return ret;
}

int do_huge_pmd_present(struct vm_fault *f, u32 pmd_table, pte_t *pmd, pte_t orig)
{
	struct machine *m = f->m;

	spin_lock(pmd_lockptr(m, pmd_table));
	if (pmd->v != orig.v) {
		spin_unlock(pmd_lockptr(m, pmd_table));
		return 0;
	}
	if (f->write && !pte_write(orig))
		return do_huge_pmd_wp_page(f, pmd_table, pmd, orig);
	set_pmd(m, pmd_table, pmd, pte_set(orig, PTE_ACCESSED | (f->write ? PTE_DIRTY : 0)));
	spin_unlock(pmd_lockptr(m, pmd_table));
	return 0;
}

/* ---- a huge entry becomes a table ------------------------------------------------------------------------- */

static void split_huge_zero_pmd(struct machine *m, u32 leaf, pte_t entry)
{
	pte_t pte = pte_clear(entry, PTE_HUGE | PTE_WRITE | PTE_PFN_MASK);
	struct page *zero = zero_page(m);
	pte_t *ptes = table_entries(m, leaf);

	pte = pte_set(pte, page_to_pfn(m, zero) << PTE_PFN_SHIFT);
	charge_n(COST_PTE, PTRS_PER_TABLE);
	for (u32 i = 0; i < PTRS_PER_TABLE; i++)
		ptes[i] = pte;
	m->table[leaf].nr_used = PTRS_PER_TABLE;
	put_huge_zero_page(m);
}

/*
 * The PMD entry counts as 512 ptes from now on. If others map the page by PMD too, its tails say so in
 * their own counts (to 6.1).
 */
static void split_pmd_mapcounts(struct machine *m, struct page *page)
{
	bool doubles = mapcount_doubles(m);

	charge_n(COST_PAGE_FLAG, HPAGE_PMD_NR);
	for (u32 i = 0; i < HPAGE_PMD_NR; i++)
		page[i].mapcount += 1;
	page[1].total_mapcount += HPAGE_PMD_NR - 1;
	if (doubles && page[1].compound_mapcount > 1 &&
	    !(page[1].compound_flags & COMPOUND_DOUBLE_MAP)) {
		page[1].compound_flags |= COMPOUND_DOUBLE_MAP;
		charge_n(COST_PAGE_FLAG, HPAGE_PMD_NR);
		for (u32 i = 0; i < HPAGE_PMD_NR; i++)
			page[i].mapcount += 1;
	}
	if (--page[1].compound_mapcount)
		return;
	mod_node_state(page_zone(m, page), NR_ANON_THPS, -1);
	if (page[1].compound_flags & COMPOUND_DOUBLE_MAP)
		VM_BUG_ON(end_double_map(page));
}

void split_huge_pmd_locked(struct machine *m, struct vm_area_struct *vma, u32 pmd_table, pte_t *pmd,
                           u64 haddr, bool freeze)
{
	struct mm_struct *mm = vma->vm_mm;
	u32 leaf = pt_withdraw(m, pmd_table);
	pte_t entry = *pmd;
	pte_t *ptes = table_entries(m, leaf);
	struct page *page = NULL;
	u64 pfn = pte_pfn(entry);

	count_vm_event(m, THP_SPLIT_PMD);
	if (unlikely(pmd_migration(entry))) {
		split_pmd_migration(m, leaf, entry);
		*pmd = pte_make(leaf, PTE_PRESENT | PTE_WRITE | PTE_USER);
		charge(COST_PTE);
		return;
	}
	/* No CPU may go on using, and marking, the huge translation when there are small ones. Others
	 * go on seeing a huge entry, and wait for its lock. */
	*pmd = pte_clear(entry, PTE_USER | PTE_WRITE);
	charge(COST_PTE);
	world_tlb_flush(&mm->as, haddr, haddr + PMD_SIZE);
	if (pte_special(entry)) {
		split_huge_zero_pmd(m, leaf, entry);
	} else {
		page = pfn_to_page(m, pfn);
		prep_tails(m, page);
		charge_n(COST_PTE, PTRS_PER_TABLE);
		for (u32 i = 0; i < PTRS_PER_TABLE; i++) {
			pte_t pte = pte_clear(entry, PTE_HUGE | PTE_PFN_MASK);

			pte = pte_set(pte, (pfn + i) << PTE_PFN_SHIFT);
			ptes[i] = freeze ? pte_make_migration(pte, pfn + i) : pte;
		}
		m->table[leaf].nr_used = PTRS_PER_TABLE;
		page->refcount += HPAGE_PMD_NR - 1;
		split_pmd_mapcounts(m, page);
	}
	*pmd = pte_make(leaf, PTE_PRESENT | PTE_WRITE | PTE_USER);
	charge(COST_PTE);
	if (pte_special(entry))
		return;
	if (unlikely(vma->vm_flags & VM_LOCKED)) {
		if (!freeze)
			mlock_vma_folio(m, page, vma, HPAGE_PMD_NR, false);
		munlock_vma_folio(m, page, vma, true);
	}
	if (!freeze)
		return;
	for (u32 i = 0; i < PTRS_PER_TABLE; i++) {
		page_remove_rmap(m, page + i);
		charge(COST_PAGE_FLAG);
		VM_BUG_ON(page->refcount < 2);
		page->refcount -= 1;
	}
}

void split_huge_pmd(struct machine *m, struct vm_area_struct *vma, u64 va)
{
	u64 haddr = va & PMD_MASK;
	struct page *page = NULL;
	bool at_once;
	pte_t *pmd;
	u32 pmd_table = pt_find_pmd(m, vma->vm_mm, haddr, &pmd);

	if (!pmd_table || !pmd_leaf(READ_ONCE(*pmd)))
		return;
	spin_lock(pmd_lockptr(m, pmd_table));
	if (!pmd_leaf(*pmd)) {
		spin_unlock(pmd_lockptr(m, pmd_table));
		return;
	}
	if (pte_huge(*pmd) && !pte_special(*pmd))
		page = pfn_to_page(m, pte_pfn(*pmd));
	at_once = page && m->knob.thp_partial == THP_PARTIAL_PAGE;
	/* To 5.17 what ptes map is not mlocked: mlock_walk.c. */
	if (!at_once && page && (!page_test(page, PG_mlocked) || mlock_today(m)))
		page = NULL;
	if (page)
		get_page(page);
	if (!at_once)
		split_huge_pmd_locked(m, vma, pmd_table, pmd, haddr, false);
	spin_unlock(pmd_lockptr(m, pmd_table));
	if (!page)
		return;
	if (at_once)
		split_huge_page_at_once(m, page, NULL);
	else
		munlock_replaced_page(m, page);
	put_page(m, page);
}

void vma_split_huge_at(struct machine *m, struct vm_area_struct *vma, u64 addr)
{
	if (addr & ~PMD_MASK && vma->anon_vma && vma_covers_pmd(vma, addr))
		split_huge_pmd(m, vma, addr);
}

/* ---- range operations ------------------------------------------------------------------------------------- */

/*
 * The huge entry of a range operation: 0 with nothing locked if there is none any more, or if the range
 * covers only part of it, which then is a table; else its table, locked.
 */
static u32 lock_huge_pmd(struct machine *m, struct vm_area_struct *vma, u64 va, u64 end,
                         pte_t **pmd)
{
	u32 pmd_table;

	if (va & ~PMD_MASK || end - va < PMD_SIZE) {
		split_huge_pmd(m, vma, va);
		return 0;
	}
	pmd_table = pt_find_pmd(m, vma->vm_mm, va, pmd);
	VM_BUG_ON(!pmd_table);
	spin_lock(pmd_lockptr(m, pmd_table));
	if (pmd_leaf(**pmd))
		return pmd_table;
	spin_unlock(pmd_lockptr(m, pmd_table));
	return 0;
}

bool zap_huge_pmd(struct mmu_gather *tlb, struct vm_area_struct *vma, u64 va, u64 end)
{
	struct machine *m = tlb->m;
	struct mm_struct *mm = tlb->mm;
	pte_t entry, *pmd;
	u32 pmd_table = lock_huge_pmd(m, vma, va, end, &pmd);
	bool full = false;
	u32 leaf;

	if (!pmd_table)
		return false;
	world_contents_zero(&mm->as, va, va + PMD_SIZE, false);
	entry = *pmd;
	if (likely(pte_index(va, 1) + 1 < PTRS_PER_TABLE) && pte_huge(pmd[1]))
		huge_prefetch(pfn_to_page(m, pte_pfn(pmd[1])));
	set_pmd(m, pmd_table, pmd, (pte_t){0});
	tlb_remove_tlb_range(tlb, va, va + PMD_SIZE);
	leaf = pt_withdraw(m, pmd_table);
	if (unlikely(pmd_migration(entry))) { /* whoever set it has the page's reference */
		atomic_long_add(-(long)HPAGE_PMD_NR, &mm->rss[MM_ANONPAGES]);
		charge(COST_RSS);
	} else if (!pte_special(entry)) {
		struct page *page = pfn_to_page(m, pte_pfn(entry));

		charge(COST_PAGE_LINE);
		page_remove_rmap_huge(m, page);
		munlock_vma_folio(m, page, vma, true);
		atomic_long_add(-(long)HPAGE_PMD_NR, &mm->rss[MM_ANONPAGES]);
		charge(COST_RSS);
		full = !tlb_remove_page(tlb, page);
	}
	spin_unlock(pmd_lockptr(m, pmd_table));
	__pt_free(m, mm, leaf);
	if (pte_special(entry))
		put_huge_zero_page(m);
	if (full)
		tlb_flush_mmu(tlb);
	return true;
}

bool change_huge_pmd(struct machine *m, struct vm_area_struct *vma, u64 va, u64 end, u64 *changed)
{
	pte_t *pmd;
	u32 pmd_table = lock_huge_pmd(m, vma, va, end, &pmd);
	pte_t entry;

	if (!pmd_table)
		return false;
	if (unlikely(pmd_migration(*pmd))) {
		entry = pte_clear(*pmd, PTE_MIGRATION_WRITE);
	} else {
		entry = pte_clear(*pmd, PTE_WRITE | PTE_USER);
		if (vma->vm_flags & (VM_READ | VM_WRITE))
			entry = pte_set(entry, PTE_USER);
	}
	set_pmd(m, pmd_table, pmd, entry);
	*changed += HPAGE_PMD_NR;
	spin_unlock(pmd_lockptr(m, pmd_table));
	return true;
}

/*
 * MADV_FREE of a whole huge page, which must be the caller's alone. Of a part of one that is: since 4.5
 * the page is split first; where it cannot be, it is left alone. pmd lock held, and dropped.
 */
static bool free_huge_lazily(struct mmu_gather *tlb, u32 pmd_table, pte_t *pmd, u64 va)
{
	struct machine *m = tlb->m;
	struct page *page = pfn_to_page(m, pte_pfn(*pmd));

	charge(COST_PAGE_LINE);
	if (page[1].total_mapcount != 1 || !trylock_page(m, page))
		goto out;
	page_clear(page, PG_dirty);
	unlock_page(m, page);
	world_contents_zero(&tlb->mm->as, va, va + PMD_SIZE, false);
	if (pmd->v & (PTE_ACCESSED | PTE_DIRTY)) {
		set_pmd(m, pmd_table, pmd, pte_clear(*pmd, PTE_ACCESSED | PTE_DIRTY));
		tlb_remove_tlb_entry(tlb, va);
		tlb_remove_tlb_entry(tlb, va + PMD_SIZE - PAGE_SIZE);
		if (m->knob.free_list == FREE_LIST_INACTIVE_ANON && page_test(page, PG_active))
			deactivate_page(m, page);
	}
	if (m->knob.free_list == FREE_LIST_INACTIVE_FILE)
		mark_page_lazyfree(m, page);
out:
	spin_unlock(pmd_lockptr(m, pmd_table));
	return true;
}

bool madvise_free_huge_pmd(struct mmu_gather *tlb, struct vm_area_struct *vma, u64 va, u64 end)
{
	pte_t *pmd;
	u32 pmd_table;

	/* One that is being moved stays as it is, asked about in part or as a whole. */
	if (pt_find_pmd(tlb->m, vma->vm_mm, va, &pmd) && pmd_migration(READ_ONCE(*pmd)))
		return true;
	pmd_table = lock_huge_pmd(tlb->m, vma, va, end, &pmd);
	if (!pmd_table)
		return false;
	if (pte_huge(*pmd) && !pte_special(*pmd))
		return free_huge_lazily(tlb, pmd_table, pmd, va);
	spin_unlock(pmd_lockptr(tlb->m, pmd_table));
	return true;
}

/* fork: the child maps the huge page too, and both read-only. *@done: it was huge, and is copied. */
int copy_huge_pmd(struct machine *m, struct mm_struct *dst, struct mm_struct *src, u64 va,
                  bool *done)
{
	pte_t entry, *src_pmd, *dst_pmd;
	u32 src_table = pt_find_pmd(m, src, va, &src_pmd);
	u32 dst_table = pt_pmd_alloc(m, dst, va, &dst_pmd);
	u32 leaf;

	*done = false;
	if (!dst_table)
		return -ENOMEM;
	leaf = pt_alloc(m, dst);
	if (!leaf)
		return -ENOMEM;
	spin_lock(pmd_lockptr(m, dst_table));
	spin_lock(pmd_lockptr(m, src_table));
	entry = *src_pmd;
	if (!pmd_leaf(entry)) {
		spin_unlock(pmd_lockptr(m, src_table));
		spin_unlock(pmd_lockptr(m, dst_table));
		pt_free(m, dst, leaf);
		return 0;
	}
	charge(COST_FORK_PTE);
	if (unlikely(pmd_migration(entry))) {
		atomic_long_add(HPAGE_PMD_NR, &dst->rss[MM_ANONPAGES]);
		charge(COST_RSS);
	} else if (pte_special(entry)) {
		get_huge_zero_page(m);
	} else {
		struct page *page = pfn_to_page(m, pte_pfn(entry));

		charge(COST_PAGE_LINE);
		get_page(page);
		page_dup_rmap_huge(page);
		atomic_long_add(HPAGE_PMD_NR, &dst->rss[MM_ANONPAGES]);
		charge(COST_RSS);
	}
	entry = pte_clear(entry, pmd_migration(entry) ? PTE_MIGRATION_WRITE : PTE_WRITE);
	*src_pmd = entry;
	if (pte_huge(entry))
		entry = pte_clear(entry, PTE_ACCESSED);
	pt_deposit(m, dst_table, leaf);
	set_pte(m, dst_table, dst_pmd, entry);
	spin_unlock(pmd_lockptr(m, src_table));
	spin_unlock(pmd_lockptr(m, dst_table));
	*done = true;
	return 0;
}
