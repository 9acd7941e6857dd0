/*
 * Huge pages of other sizes: 16 KiB to 1 MiB, mapped by ptes (Linux 6.8 on, mm/memory.c: alloc_anon_folio()).
 *
 * Each size has a policy of its own (knobs thp.16kB ... thp.2048kB: always, madvise, never, or inherit, which is
 * thp.enabled's). A fault takes the largest size that is enabled, fits the VMA, has nothing mapped in its range
 * and is to be had, and counts each size that it could not have. They are compound pages as others, without
 * PMD entries: parts may be unmapped, then they wait to be split. Reclaim writes them whole (huge_swap.c), and
 * faults may read them so, from RAM disks (6.13).
 *
 * Left out: file pages (filemap_folio.c has large folios of files by rules of its own).
 */
#include "core/huge_memory.h"
#include "core/swap.h"

/* ---- who gets them ---------------------------------------------------------------------------------- */

/* What the knob of an order says in terms of thp.enabled. */
static enum thp_policy order_policy(const struct machine *m, unsigned int order)
{
	static const size_t offset[] = {
		offsetof(struct knobs, thp_16kB),   offsetof(struct knobs, thp_32kB),
		offsetof(struct knobs, thp_64kB),   offsetof(struct knobs, thp_128kB),
		offsetof(struct knobs, thp_256kB),  offsetof(struct knobs, thp_512kB),
		offsetof(struct knobs, thp_1024kB), offsetof(struct knobs, thp_2048kB),
	};
	const char *knobs = (const char *)&m->knob;

	switch (*(const u32 *)(knobs + offset[order - MTHP_MIN_ORDER])) {
	case MTHP_NEVER:
		return THP_NEVER;
	case MTHP_MADVISE:
		return THP_MADVISE;
	case MTHP_ALWAYS:
		return THP_ALWAYS;
	case MTHP_INHERIT:
		break;
	}
	return (enum thp_policy)m->knob.thp_enabled;
}

enum thp_policy thp_pmd_policy(const struct machine *m)
{
	return order_policy(m, HPAGE_PMD_ORDER);
}

/* Boot. Before 4.5's counts of what is mapped they could not be unmapped in part. */
void mthp_init(struct machine *m)
{
	for (unsigned int o = MTHP_MIN_ORDER; o < HPAGE_PMD_ORDER; o++) {
		enum thp_policy policy = order_policy(m, o);

		if (m->knob.thp_partial == THP_PARTIAL_PAGE)
			break;
		m->mthp_always |= policy == THP_ALWAYS ? 1u << o : 0;
		m->mthp_madvise |= policy == THP_MADVISE ? 1u << o : 0;
	}
}

/* Orders below 9 that are enabled for @vma and fit it around @va, a bit each. */
static u32 thp_vma_orders(const struct machine *m, const struct vm_area_struct *vma, u64 va)
{
	bool advised = vma->vm_flags & VM_HUGEPAGE;
	u32 orders = m->mthp_always | (advised ? m->mthp_madvise : 0);

	if (vma->vm_flags & VM_NOHUGEPAGE)
		return 0;
	for (unsigned int o = HPAGE_PMD_ORDER - 1; o >= MTHP_MIN_ORDER; o--) {
		u64 start = ALIGN_DOWN(va, PAGE_SIZE << o);

		if (start < vma->vm_start || start + (PAGE_SIZE << o) > vma->vm_end)
			orders &= ~(1u << o);
	}
	return orders;
}

/* ---- faults ------------------------------------------------------------------------------------------- */

static bool range_is_none(const pte_t *pte, u32 nr)
{
	while (nr && pte_none(pte[nr - 1]))
		nr--;
	return !nr;
}

/* The largest page that goes where @f is, cleared; *@va: where. NULL: none. */
static struct page *alloc_anon_folio(struct vm_fault *f, u64 *va)
{
	struct machine *m = f->m;
	u32 orders = thp_vma_orders(m, f->vma, f->va);
	bool found = false;

	for (unsigned int o = HPAGE_PMD_ORDER - 1; o >= MTHP_MIN_ORDER; o--) {
		struct page *page;

		*va = ALIGN_DOWN(f->va, PAGE_SIZE << o);
		if (!(orders >> o & 1))
			continue;
		/* Where nothing is in a range, there is nothing in a part of it. */
		if (!found) {
			charge_n(COST_PTE, 1u << o);
			found = range_is_none(pt_entry(m, f->table, *va), 1u << o);
		}
		if (!found)
			continue;
		page = alloc_pages_vma(m, thp_gfp(m, f->vma->vm_flags & VM_HUGEPAGE), o, f->vma,
		                       *va);
		if (!page) {
			m->mthp_stat[o][MTHP_ANON_FAULT_FALLBACK] += 1;
			continue;
		}
		for (u32 i = 0; i < 1u << o; i++)
			world_frame_clear(page_to_pfn(m, page) + i);
		page_set(page, PG_uptodate);
		return page;
	}
	return NULL;
}

/* @page's entries, all of one table, whose lock is held. A reference for each of them. */
static void map_anon_folio(struct vm_fault *f, struct page *page, u64 va)
{
	struct machine *m = f->m;
	pte_t *pte = pt_entry(m, f->table, va);
	u32 nr = compound_nr(page);

	prep_tails(m, page);
	page_set(page, PG_swapbacked);
	page->mapping = anon_vma_mapping(m, f->vma->anon_vma);
	page->index = vma_index(f->vma, va);
	page->refcount += (s32)nr - 1;
	page[1].total_mapcount = (s32)nr;
	charge_n(COST_PTE, nr);
	for (u32 i = 0; i < nr; i++) {
		page[i].mapcount = 1;
		set_pte(m, f->table, pte + i, fault_mkwrite(f, fault_mk_pte(f, page + i)));
	}
	mod_node_state(page_zone(m, page), NR_ANON_MAPPED, nr);
	atomic_long_add(nr, &f->mm->rss[MM_ANONPAGES]);
	charge(COST_RSS);
	lru_cache_add_inactive_or_unevictable(m, page, f->vma);
}

int do_anonymous_folio(struct vm_fault *f)
{
	struct machine *m = f->m;
	struct page *page;
	u64 va;

	page = alloc_anon_folio(f, &va);
	if (!page)
		return VM_FAULT_FALLBACK;
	spin_lock(fault_ptl(f));
	if (!range_is_none(pt_entry(m, f->table, va), compound_nr(page))) {
		spin_unlock(fault_ptl(f));
		put_page(m, page);
		return 0; /* another thread was here: look again */
	}
	m->mthp_stat[compound_order(page)][MTHP_ANON_FAULT_ALLOC] += 1;
	map_anon_folio(f, page, va);
	spin_unlock(fault_ptl(f));
	return 0;
}

/* ---- faults on swap entries --------------------------------------------------------------------------- */

/* Do @nr entries from @pte on name slots in a row, from @first's on, none of which the swap cache has? */
static bool can_swapin_thp(const struct machine *m, const pte_t *pte, swp_entry_t first, u32 nr)
{
	const struct swap_info_struct *si = swap_info(m, first);

	charge_n(COST_PTE, nr);
	if (!pte_swap(*pte) || pte_to_swp_entry(*pte).v != first.v)
		return false;
	if (swap_pte_batch(m, pte, nr) != nr)
		return false;
	charge_n(COST_SWAP_SCAN, nr);
	for (u64 i = swp_offset(first); i < swp_offset(first) + nr; i++)
		if (si->swap_map[i] & SWAP_HAS_CACHE)
			return false;
	return true;
}

/* The largest order whose range around the fault was swapped out as a row; 0: none. */
static unsigned int swapin_order(struct vm_fault *f, u32 orders)
{
	u64 offset = swp_offset(pte_to_swp_entry(f->orig));
	unsigned int o = HPAGE_PMD_ORDER - 1;

	if (!fault_lock_pte(f))
		return 0;
	for (; o >= MTHP_MIN_ORDER; o--) {
		u64 idx = (f->va >> PAGE_SHIFT) & ((1u << o) - 1);
		swp_entry_t first = {pte_to_swp_entry(f->orig).v - idx};

		/* Aligned in the area as in the address space (thp_swap_suitable_orders()). */
		if (orders >> o & 1 && (offset & ((1u << o) - 1)) == idx &&
		    can_swapin_thp(f->m, f->pte - idx, first, 1u << o))
			break;
	}
	spin_unlock(fault_ptl(f));
	return o >= MTHP_MIN_ORDER ? o : 0;
}

struct page *alloc_swap_folio(struct vm_fault *f)
{
	struct machine *m = f->m;
	u32 orders = m->knob.thp_swapin == THP_SWAPIN_LARGE ? thp_vma_orders(m, f->vma, f->va) : 0;
	unsigned int o = orders ? swapin_order(f, orders) : 0;

	for (; o >= MTHP_MIN_ORDER; o--) {
		u64 va = ALIGN_DOWN(f->va, PAGE_SIZE << o);
		struct page *page;

		if (!(orders >> o & 1))
			continue;
		page = alloc_pages_vma(m, thp_gfp(m, f->vma->vm_flags & VM_HUGEPAGE), o, f->vma,
		                       va);
		if (page) {
			prep_tails(m, page);
			return page;
		}
		m->mthp_stat[o][MTHP_SWPIN_FALLBACK] += 1;
	}
	return alloc_pages_vma(m, GFP_HIGHUSER_MOVABLE, 0, f->vma, f->va);
}
