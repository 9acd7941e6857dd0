/*
 * Splitting huge pages, and the queue of those to be split (Linux mm/huge_memory.c, 4.5 and later).
 *
 * Since 4.5 a huge page of which a part is unmapped stays one, and what is unmapped is not free, until the
 * shrinker or reclaim splits it. The split first freezes the page: everything that maps it, whole or in
 * part, is replaced by migration entries, so that nobody can reach it and its count is that of the caller
 * alone; if it is not, somebody else uses the page, and all is put back. Then the tails become pages and
 * are mapped again. The family's anon_vma lock is held for write throughout.
 *
 * How the entries are found is mail 003's subject (knob thp.split_walk):
 *
 *   vma     one search of the interval tree for the whole page; in each VMA one walk to the table, and
 *           along it under one hold of its lock; there and back
 *   page    for each of the 512 pages, there and back, a search for its own offset, and in each VMA a
 *           walk from the top, and a lock (4.6, by the generic rmap_walk())
 *   range   there as vma (page_vma_mapped_walk(), 4.11), back as page: remove_migration_ptes() of each
 *
 * What a search costs is what it looks at: every node of the tree is charged with its line and those of
 * its VMA (the node's interval is computed from that), by how much else the CPU has touched since.
 *
 * Before 4.5 (thp.partial_unmap = page) a huge page was split when it was first unmapped in part: pins did
 * not matter, tails had counts of their own, and it could not fail.
 */
#include "core/huge_memory.h"

/* ---- the deferred split queue --------------------------------------------------------------------------- */

static u32 split_link(const struct pglist_data *pgdat, const struct page *head)
{
	return (u32)(head - pgdat->mem_map) + 1;
}

static struct page *split_page(const struct pglist_data *pgdat, u32 link)
{
	return link ? &pgdat->mem_map[link - 1] : NULL;
}

static void split_queue_add_tail(struct pglist_data *pgdat, struct page *head)
{
	u32 link = split_link(pgdat, head);

	head[2].deferred_prev = pgdat->split_queue_last;
	head[2].deferred_next = 0;
	if (pgdat->split_queue_last)
		split_page(pgdat, pgdat->split_queue_last)[2].deferred_next = link;
	else
		pgdat->split_queue_first = link;
	pgdat->split_queue_last = link;
	head[1].compound_flags |= COMPOUND_QUEUED;
}

static void split_queue_del(struct pglist_data *pgdat, struct page *head)
{
	struct page *next = split_page(pgdat, head[2].deferred_next);
	struct page *prev = split_page(pgdat, head[2].deferred_prev);

	if (prev)
		prev[2].deferred_next = head[2].deferred_next;
	else
		pgdat->split_queue_first = head[2].deferred_next;
	if (next)
		next[2].deferred_prev = head[2].deferred_prev;
	else
		pgdat->split_queue_last = head[2].deferred_prev;
	head[1].compound_flags &= ~COMPOUND_QUEUED;
}

void deferred_split_huge_page(struct machine *m, struct page *head)
{
	struct pglist_data *pgdat = page_pgdat(m, head);

	if (m->knob.thp_partial == THP_PARTIAL_PAGE) /* it is being split this moment */
		return;
	if (page_test(head, PG_swapcache)) /* reclaim is at it */
		return;
	spin_lock_irq(&pgdat->split_queue_lock);
	if (!(head[1].compound_flags & COMPOUND_DEFERRED)) {
		if (compound_order(head) == HPAGE_PMD_ORDER)
			count_vm_event(m, THP_DEFERRED_SPLIT_PAGE);
		count_mthp(m, head, MTHP_SPLIT_DEFERRED);
		head[1].compound_flags |= COMPOUND_DEFERRED;
		split_queue_add_tail(pgdat, head);
		pgdat->split_queue_len += 1;
	}
	spin_unlock_irq(&pgdat->split_queue_lock);
}

/* split_queue_lock held. */
static void split_queue_forget(struct pglist_data *pgdat, struct page *head)
{
	if (!(head[1].compound_flags & COMPOUND_DEFERRED))
		return;
	if (head[1].compound_flags & COMPOUND_QUEUED)
		split_queue_del(pgdat, head);
	head[1].compound_flags &= ~COMPOUND_DEFERRED;
	pgdat->split_queue_len -= 1;
}

/* Up to @nr from the head of the queue, each with a reference; they stay counted. Those being freed drop out. */
u32 split_queue_take(struct pglist_data *pgdat, struct page **batch, u32 nr)
{
	u32 n = 0;

	spin_lock_irq(&pgdat->split_queue_lock);
	while (n < nr && pgdat->split_queue_first) {
		struct page *head = split_page(pgdat, pgdat->split_queue_first);

		charge2(COST_PAGE_LINE_COLD, COST_ATOMIC);
		if (head->refcount) {
			head->refcount += 1;
			split_queue_del(pgdat, head);
			batch[n++] = head;
		} else {
			split_queue_forget(pgdat, head);
		}
	}
	spin_unlock_irq(&pgdat->split_queue_lock);
	return n;
}

/* What split_queue_take() took, unless it has been split: to the end of the queue. */
void split_queue_put_back(struct pglist_data *pgdat, struct page *head)
{
	if (!page_is_head(head))
		return;
	spin_lock_irq(&pgdat->split_queue_lock);
	if (head[1].compound_flags & COMPOUND_DEFERRED &&
	    !(head[1].compound_flags & COMPOUND_QUEUED))
		split_queue_add_tail(pgdat, head);
	spin_unlock_irq(&pgdat->split_queue_lock);
}

void free_huge_page(struct machine *m, struct page *head)
{
	struct pglist_data *pgdat = page_pgdat(m, head);

	if (compound_nr(head) > 2) {
		spin_lock_irq(&pgdat->split_queue_lock);
		split_queue_forget(pgdat, head);
		spin_unlock_irq(&pgdat->split_queue_lock);
	}
	free_compound_page(m, head);
}

/* References that the swap cache has: one for each page. */
static s32 swap_cache_references(const struct page *head)
{
	return page_test(head, PG_swapcache) ? (s32)compound_nr(head) : 0;
}

/* ---- searching the reverse map --------------------------------------------------------------------------- */

/* One split. */
struct split {
	struct machine *m;
	struct page *head;
	struct anon_vma *anon_vma; /* locked for write */
	u64 index;                 /* of the head */
	u32 nr;                    /* pages */
	struct world_touch pages;  /* the 512 struct pages, which are gone through in a row */
};

/* In Linux a node's interval is computed from its VMA: a line of the one, two of the other. */
static void visit_avc(const struct interval_node *node, void *arg)
{
	struct anon_vma_chain *avc = container_of(node, struct anon_vma_chain, node);

	(void)arg;
	charge(COST_RMAP_NODE);
	world_touch(&avc->touch, 1);
	world_touch(&avc->vma->touch, 2);
}

#define split_for_each_vma(node, s, first, last)                                                   \
	for (node = interval_tree_iter_first_visit(&(s)->anon_vma->rb_root, first, last,           \
	                                           visit_avc, NULL);                               \
	     node; node = interval_tree_iter_next_visit(node, first, last, visit_avc, NULL))

static struct vm_area_struct *node_vma(const struct interval_node *node)
{
	return container_of(node, struct anon_vma_chain, node)->vma;
}

/* Where @vma has pages of the huge page: [*@first, *@last] of its 512, and the address of the first. */
static u64 split_range(const struct split *s, const struct vm_area_struct *vma, u32 *first,
                       u32 *last)
{
	u64 begin = max(s->index, vma->vm_pgoff);
	u64 end = min(s->index + s->nr, vma->vm_pgoff + vma_pages(vma));

	*first = (u32)(begin - s->index);
	*last = (u32)(end - 1 - s->index);
	return vma->vm_start + ((begin - vma->vm_pgoff) << PAGE_SHIFT);
}

/* The leaf table of @va, and what reaching it from the top costs; 0: none. */
static u32 split_walk_table(struct machine *m, struct vm_area_struct *vma, u64 va)
{
	u32 table;

	charge(COST_RMAP_STEP);
	world_touch(&vma->vm_mm->touch, 2 + PTE_LEVELS - 1);
	table = pt_find(m, vma->vm_mm, va);
	if (!table)
		return 0;
	/* The next page's walk comes here too: saves host time. */
	vma->vm_mm->leaf_cache = leaf_cache_key(va) << 32 | table;
	world_touch(&m->table[table].touch, 2);
	return table;
}

/* ---- freezing --------------------------------------------------------------------------------------------- */

/* One pte, if it maps page @i; its table is locked. */
static inline bool freeze_pte(struct split *s, struct vm_area_struct *vma, u32 table, u64 va, u32 i,
                              bool flush)
{
	struct machine *m = s->m;
	pte_t *pte = pt_entry(m, table, va);
	u64 pfn = page_to_pfn(m, s->head) + i;
	pte_t entry = *pte;

	if (!pte_present(entry) || pte_special(entry) || pte_pfn(entry) != pfn) {
		charge(COST_PTE);
		return false;
	}
	/* Read, cleared and flushed, then set to the migration entry; none of it can be used meanwhile. */
	charge_n(COST_PTE, 3);
	charge2(COST_ATOMIC, COST_PAGE_FLAG);
	*pte = pte_make_migration(entry, pfn);
	if (flush)
		world_tlb_flush(&vma->vm_mm->as, va, va + PAGE_SIZE);
	if (pte_dirty(entry))
		page_set(s->head, PG_dirty);
	page_remove_rmap(m, s->head + i);
	VM_BUG_ON(s->head->refcount < 2);
	s->head->refcount -= 1;
	return true;
}

/* A PMD entry that maps the page goes in one piece. */
static bool freeze_pmd(struct split *s, struct vm_area_struct *vma, u64 va)
{
	struct machine *m = s->m;
	pte_t *pmd;
	u32 pmd_table = pt_find_pmd(m, vma->vm_mm, va, &pmd);
	bool mapped;

	if (!pmd_table || !pte_huge(READ_ONCE(*pmd)))
		return false;
	spin_lock(pmd_lockptr(m, pmd_table));
	mapped = pte_huge(*pmd) && pte_pfn(*pmd) == page_to_pfn(m, s->head);
	if (mapped)
		split_huge_pmd_locked(m, vma, pmd_table, pmd, va & PMD_MASK, true);
	spin_unlock(pmd_lockptr(m, pmd_table));
	return mapped;
}

/* All entries of one VMA, in one walk along its table. */
static void freeze_vma(struct split *s, struct vm_area_struct *vma, bool flush_each)
{
	struct machine *m = s->m;
	u32 first, last;
	u64 va = split_range(s, vma, &first, &last);
	u64 start = va;
	u32 nr = 0;
	u32 table;

	if (freeze_pmd(s, vma, va))
		return;
	table = split_walk_table(m, vma, va);
	if (!table)
		return;
	spin_lock(&m->table[table].ptl);
	world_touch(&s->pages, last - first + 1);
	for (u32 i = first; i <= last; i++, va += PAGE_SIZE)
		nr += freeze_pte(s, vma, table, va, i, flush_each);
	if (nr && !flush_each)
		world_tlb_flush(&vma->vm_mm->as, start, va);
	spin_unlock(&m->table[table].ptl);
}

static void freeze_by_vma(struct split *s, bool flush_each)
{
	struct interval_node *node;

	split_for_each_vma(node, s, s->index, s->index + s->nr - 1)
		freeze_vma(s, node_vma(node), flush_each);
}

/* Page @i in one VMA: try_to_unmap_one() as of 4.6. */
static void freeze_page_in_vma(struct split *s, struct vm_area_struct *vma, u32 i)
{
	struct machine *m = s->m;
	u64 va = vma->vm_start + ((s->index + i - vma->vm_pgoff) << PAGE_SHIFT);
	u32 table;

	if (i == 0 && freeze_pmd(s, vma, va))
		return;
	table = split_walk_table(m, vma, va);
	if (!table || !pte_present(READ_ONCE(*pt_entry(m, table, va))))
		return;
	spin_lock(&m->table[table].ptl);
	freeze_pte(s, vma, table, va, i, true);
	spin_unlock(&m->table[table].ptl);
}

/* The head's walk splits the PMD entries; if nothing but these mapped the page, it is the only one. */
static void freeze_by_page(struct split *s)
{
	world_touch(&s->pages, s->nr);
	for (u32 i = 0; i < s->nr; i++) {
		struct interval_node *node;

		if (READ_ONCE(s->head->refcount) == 1 + swap_cache_references(s->head))
			return;
		charge(COST_RMAP_LOOKUP);
		split_for_each_vma(node, s, s->index + i, s->index + i)
		{
			freeze_page_in_vma(s, node_vma(node), i);
			if (!page_mapcount(s->head + i))
				break;
		}
	}
}

static void freeze_page(struct split *s)
{
	switch (s->m->knob.thp_split_walk) {
	case SPLIT_WALK_VMA:
		freeze_by_vma(s, true);
		break;
	case SPLIT_WALK_PAGE:
		freeze_by_page(s);
		break;
	case SPLIT_WALK_RANGE:
		freeze_by_vma(s, false);
		break;
	}
}

/* ---- mapping again ------------------------------------------------------------------------------------------ */

/* The page is @s->head + @i still, or a page of its own by now. */
static void unfreeze_pte(struct split *s, struct vm_area_struct *vma, u32 table, u64 va, u32 i)
{
	struct machine *m = s->m;

	charge(COST_PTE);
	remove_migration_pte(m, vma, table, va, s->head + i);
}

static void unfreeze_by_vma(struct split *s)
{
	struct machine *m = s->m;
	struct interval_node *node;

	split_for_each_vma(node, s, s->index, s->index + s->nr - 1)
	{
		struct vm_area_struct *vma = node_vma(node);
		u32 first, last;
		u64 va = split_range(s, vma, &first, &last);
		u32 table = split_walk_table(m, vma, va);

		if (!table)
			continue;
		spin_lock(&m->table[table].ptl);
		world_touch(&s->pages, last - first + 1);
		for (u32 i = first; i <= last; i++, va += PAGE_SIZE)
			unfreeze_pte(s, vma, table, va, i);
		spin_unlock(&m->table[table].ptl);
	}
}

static void unfreeze_by_page(struct split *s)
{
	struct machine *m = s->m;

	world_touch(&s->pages, s->nr);
	for (u32 i = 0; i < s->nr; i++) {
		struct interval_node *node;

		charge(COST_RMAP_LOOKUP);
		split_for_each_vma(node, s, s->index + i, s->index + i)
		{
			struct vm_area_struct *vma = node_vma(node);
			u64 va = vma->vm_start + ((s->index + i - vma->vm_pgoff) << PAGE_SHIFT);
			u32 table = split_walk_table(m, vma, va);

			if (!table || !pte_migration(READ_ONCE(*pt_entry(m, table, va))))
				continue;
			spin_lock(&m->table[table].ptl);
			unfreeze_pte(s, vma, table, va, i);
			spin_unlock(&m->table[table].ptl);
		}
	}
}

static void unfreeze_page(struct split *s)
{
	if (s->m->knob.thp_split_walk == SPLIT_WALK_VMA)
		unfreeze_by_vma(s);
	else
		unfreeze_by_page(s);
}

/* ---- one page becomes 512 -------------------------------------------------------------------------------------- */

/* What tails have in common with their head. */
#define SPLIT_FLAGS                                                                                \
	(1u << PG_referenced | 1u << PG_swapbacked | 1u << PG_uptodate | 1u << PG_active |         \
	 1u << PG_locked | 1u << PG_unevictable | 1u << PG_dirty | 1u << PG_workingset |           \
	 1u << PG_swapcache)

/* Tail @i; lru_lock held, and references frozen. */
static void split_tail(struct split *s, u32 i, struct lruvec *lruvec, struct page_list *list)
{
	struct machine *m = s->m;
	struct page *head = s->head;
	struct page *tail = head + i;

	charge(COST_LRU_ADD);
	charge_n(COST_PAGE_FLAG, 2);
	VM_BUG_ON(tail->refcount || tail->mapcount);
	tail->flags = (head->flags & ~PAGE_FLAGS_MASK) | (head->flags & SPLIT_FLAGS);
	/* The caller's, to be dropped at the end, and the swap cache's. */
	tail->refcount = 1 + page_test(head, PG_swapcache);
	tail->mapping = head->mapping;
	tail->index = s->index + i;
	if (page_test(head, PG_lru)) {
		page_set(tail, PG_lru);
		page_list_add_before(&lruvec->list[page_lru(head)], head, tail);
	} else if (list) {
		page_set(tail, PG_isolated);
		tail->refcount += 1;
		page_list_add_before(list, head, tail);
	} else {
		/* The head is in somebody's hands, and not counted. */
		page_set(tail, PG_lru);
		add_page_to_lru_list(m, tail, lruvec);
	}
}

/* The queue has forgotten it, nothing maps it, and @page's reference is the only one. */
static void __split_huge_page(struct split *s, struct page *page, struct page_list *list)
{
	struct machine *m = s->m;
	struct page *head = s->head;
	struct lruvec *lruvec = page_lruvec(m, head);

	spin_lock_irq(&lruvec->lru_lock);
	for (u32 i = s->nr - 1; i; i--)
		split_tail(s, i, lruvec, list);
	page_clear(head, PG_compound);
	head->refcount = 1 + page_test(head, PG_swapcache);
	spin_unlock_irq(&lruvec->lru_lock);

	span_enter(SPAN_UNFREEZE);
	unfreeze_page(s);
	span_exit();
	for (u32 i = 0; i < s->nr; i++) {
		if (head + i == page)
			continue;
		if (page_test(head + i, PG_swapcache) && !page_mapped(head + i))
			try_to_free_swap(m, head + i);
		unlock_page(m, head + i);
		put_page(m, head + i);
	}
}

/* Is @s->head's only reference the caller's? Then it is frozen, and leaves the queue. */
static bool split_freeze_refs(struct split *s)
{
	struct pglist_data *pgdat = page_pgdat(s->m, s->head);
	bool ok;

	spin_lock_irq(&pgdat->split_queue_lock);
	/* Linux before 6.6 adds up the mapcounts of all pages. */
	if (mapcount_doubles(s->m))
		charge_n(COST_COMPOUND_TAIL, s->nr);
	charge(COST_ATOMIC);
	ok = s->head->refcount == 1 + swap_cache_references(s->head) && !s->head[1].total_mapcount;
	if (ok) {
		s->head->refcount = 0;
		split_queue_forget(pgdat, s->head);
	}
	spin_unlock_irq(&pgdat->split_queue_lock);
	return ok;
}

static int do_split(struct split *s, struct page *page, struct page_list *list)
{
	struct machine *m = s->m;
	struct page *head = s->head;

	if (mapcount_doubles(m))
		charge_n(COST_COMPOUND_TAIL, s->nr);
	world_order();
	/* Every entry has a reference, the caller has one: more are pins, batches, other isolations. */
	if (head->refcount != head[1].total_mapcount + swap_cache_references(head) + 1 ||
	    page_test(head, PG_writeback))
		return -EBUSY;
	prep_tails(m, head);
	span_enter(SPAN_FREEZE);
	freeze_page(s);
	span_exit();
	if (!split_freeze_refs(s)) {
		span_enter(SPAN_UNFREEZE);
		unfreeze_page(s);
		span_exit();
		return -EBUSY;
	}
	__split_huge_page(s, page, list);
	return 0;
}

/* ---- before 4.5 ---------------------------------------------------------------------------------------------------- */

/*
 * Every PMD entry is made ptes, in all address spaces; then references are handed out: a tail gets one for
 * each of its ptes, the head keeps the rest. (Linux does it the other way round, with the PMD entries marked
 * as "splitting", which whoever wants to change them waits for. Here a tail may have lost its ptes by now.)
 * Returns how many tails have one reference that is nobody's.
 */
static u32 hand_out_references(struct split *s, struct page_list *list, struct page **unmapped)
{
	struct machine *m = s->m;
	struct page *head = s->head;
	struct lruvec *lruvec = page_lruvec(m, head);
	u32 nr = 0;

	spin_lock_irq(&lruvec->lru_lock);
	head->refcount += HPAGE_PMD_NR - 1;
	for (u32 i = HPAGE_PMD_NR - 1; i; i--) {
		struct page *tail = head + i;
		s32 mapcount = tail->mapcount;

		tail->mapcount = 0;
		split_tail(s, i, lruvec, list);
		page_clear(tail, PG_locked);
		tail->mapcount = mapcount;
		tail->refcount += mapcount - 1;
		head->refcount -= mapcount + 1;
		if (!tail->refcount) {
			tail->refcount = 1;
			unmapped[nr++] = tail;
		}
	}
	page_clear(head, PG_compound);
	VM_BUG_ON(head->refcount <= head->mapcount);
	spin_unlock_irq(&lruvec->lru_lock);
	return nr;
}

static void split_at_once(struct split *s, struct page_list *list)
{
	struct machine *m = s->m;
	struct page *unmapped[HPAGE_PMD_NR];
	struct interval_node *node;
	u32 nr;

	split_for_each_vma(node, s, s->index, s->index + HPAGE_PMD_NR - 1)
	{
		struct vm_area_struct *vma = node_vma(node);
		u32 first, last;
		u64 va = split_range(s, vma, &first, &last);
		u32 pmd_table;
		pte_t *pmd;

		charge(COST_RMAP_STEP);
		pmd_table = pt_find_pmd(m, vma->vm_mm, va, &pmd);
		if (!pmd_table)
			continue;
		spin_lock(pmd_lockptr(m, pmd_table));
		if (pte_huge(*pmd) && pte_pfn(*pmd) == page_to_pfn(m, s->head))
			split_huge_pmd_locked(m, vma, pmd_table, pmd, va & PMD_MASK, false);
		spin_unlock(pmd_lockptr(m, pmd_table));
	}
	VM_BUG_ON(s->head[1].compound_mapcount);
	nr = hand_out_references(s, list, unmapped);
	while (nr)
		put_page(m, unmapped[--nr]);
}

/* ---- the calls ----------------------------------------------------------------------------------------------------------- */

/*
 * The head with the family's lock; false: nobody maps the page, so that its last reference frees it, or
 * somebody else has split it.
 */
static bool split_begin(struct machine *m, struct page *head, struct split *s)
{
	*s = (struct split){.m = m, .head = head};
	world_order();
	if (!page_is_head(head) || !page_is_anon(head) || !page_mapped(head))
		return false;
	span_enter(SPAN_SPLIT_PAGE);
	s->index = head->index;
	s->nr = compound_nr(head);
	s->anon_vma = page_anon_vma(m, head);
	s->anon_vma->refcount += 1;
	anon_vma_lock_write(s->anon_vma);
	return true;
}

static void count_split(struct machine *m, u32 nr, int err)
{
	if (nr == HPAGE_PMD_NR)
		count_vm_event(m, err ? THP_SPLIT_PAGE_FAILED : THP_SPLIT_PAGE);
	m->mthp_stat[__builtin_ctz(nr)][err ? MTHP_SPLIT_FAILED : MTHP_SPLIT] += 1;
}

static void split_end(struct split *s, int err)
{
	anon_vma_unlock_write(s->anon_vma);
	put_anon_vma(s->m, s->anon_vma);
	count_split(s->m, s->nr, err);
	span_exit();
}

int split_huge_page_at_once(struct machine *m, struct page *head, struct page_list *list)
{
	struct split s;

	if (!split_begin(m, head, &s))
		return -EBUSY;
	/* Another thread may have split it while this one waited for the lock. */
	if (page_is_head(head) && head[1].compound_mapcount) {
		split_at_once(&s, list);
		split_end(&s, 0);
		return 0;
	}
	anon_vma_unlock_write(s.anon_vma);
	put_anon_vma(m, s.anon_vma);
	span_exit();
	return -EBUSY;
}

int split_huge_page_to_list(struct machine *m, struct page *page, struct page_list *list)
{
	struct page *head = compound_head(page);
	struct split s;
	int err;

	VM_BUG_ON(!page_test(head, PG_locked));
	if (m->knob.thp_partial == THP_PARTIAL_PAGE)
		return split_huge_page_at_once(m, head, list);
	if (!split_begin(m, head, &s)) {
		count_split(m, compound_nr(head), -EBUSY);
		return -EBUSY;
	}
	err = do_split(&s, page, list);
	split_end(&s, err);
	return err;
}

/* ---- audit ------------------------------------------------------------------------------------------------------------------ */

/* Whoever waits for a split is on its node's queue, once, and has something to be freed. Between tasks. */
void deferred_split_audit(struct machine *m)
{
	struct pglist_data *pgdat;

	for_each_node (m, pgdat) {
		struct page *prev = NULL;
		unsigned long nr = 0;

		for (struct page *p = split_page(pgdat, pgdat->split_queue_first); p;
		     prev = p, p = split_page(pgdat, p[2].deferred_next)) {
			VM_BUG_ON(!page_is_head(p) || p->refcount <= 0);
			VM_BUG_ON(!(p[1].compound_flags & COMPOUND_DEFERRED));
			VM_BUG_ON(!(p[1].compound_flags & COMPOUND_QUEUED));
			VM_BUG_ON(split_page(pgdat, p[2].deferred_prev) != prev);
			VM_BUG_ON(page_pgdat(m, p) != pgdat);
			nr += 1;
		}
		VM_BUG_ON(split_page(pgdat, pgdat->split_queue_last) != prev);
		VM_BUG_ON_MSG(nr > pgdat->split_queue_len, "%lu on the split queue, its length %lu",
		              nr, pgdat->split_queue_len);
	}
}

void split_queues_init(struct machine *m)
{
	struct pglist_data *pgdat;

	for_each_node (m, pgdat)
		spin_lock_init(m->world, &pgdat->split_queue_lock, LOCK_SPLIT_QUEUE);
}
