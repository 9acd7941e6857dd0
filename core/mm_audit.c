/*
 * Audits of address spaces and reverse maps: every structure walked, every count counted again.
 *
 * They run between tasks, without order points or charges, and abort at the first thing that is not as
 * it must be.
 */
#include <stdlib.h>

#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/mlock.h"

/* ---- all entries of all tables ------------------------------------------------------------------------- */

typedef void pte_fn(struct machine *m, struct mm_struct *mm, u32 table, u64 va, pte_t pte,
                    void *arg);

static void walk_table(struct machine *m, struct mm_struct *mm, u32 table, unsigned int level,
                       u64 base, pte_fn *fn, void *arg)
{
	const pte_t *entry = table_entries(m, table);

	for (u64 i = 0; i < PTRS_PER_TABLE; i++) {
		u64 va = base + (i << (PAGE_SHIFT + 9 * level));

		if (pte_none(entry[i]))
			continue;
		if (level && !pmd_leaf(entry[i]))
			walk_table(m, mm, (u32)pte_pfn(entry[i]), level - 1, va, fn, arg);
		else
			fn(m, mm, table, va, entry[i], arg);
	}
}

static void for_each_pte(struct machine *m, struct mm_struct *mm, pte_fn *fn, void *arg)
{
	walk_table(m, mm, mm->as.root, PTE_LEVELS - 1, 0, fn, arg);
}

struct swap_pte_walk {
	void (*fn)(struct machine *m, swp_entry_t entry, void *arg);
	void *arg;
};

static void visit_swap_pte(struct machine *m, struct mm_struct *mm, u32 table, u64 va, pte_t pte,
                           void *arg)
{
	struct swap_pte_walk *w = arg;

	(void)mm, (void)table, (void)va;
	if (pte_swap(pte))
		w->fn(m, pte_to_swp_entry(pte), w->arg);
}

void for_each_swap_pte(struct machine *m,
                       void (*fn)(struct machine *m, swp_entry_t entry, void *arg), void *arg)
{
	struct swap_pte_walk w = {fn, arg};
	struct mm_struct *mm;

	list_for_each_entry (mm, &m->mms, mmlist)
		for_each_pte(m, mm, visit_swap_pte, &w);
}

/* A task sleeps in the middle of changing its VMAs, or of ending: not all is as it will be. */
static bool mm_is_changing(const struct mm_struct *mm)
{
	return mm->mmap_sem.writer || !mm->mm_users;
}

/* ---- VMAs ------------------------------------------------------------------------------------------------ */

static u64 audit_subtree_gap(const struct rb_node *node)
{
	const struct vm_area_struct *vma;
	u64 gap;

	if (!node)
		return 0;
	vma = rb_entry(node, struct vm_area_struct, vm_rb);
	gap = max3(vma->gap, audit_subtree_gap(node->left), audit_subtree_gap(node->right));
	VM_BUG_ON_MSG(vma->subtree_gap != gap, "VMA 0x%lx: subtree gap 0x%lx, counted 0x%lx",
	              vma->vm_start, vma->subtree_gap, gap);
	return gap;
}

static bool in_interval_tree(const struct anon_vma *anon_vma, const struct anon_vma_chain *avc)
{
	struct interval_node *node;

	interval_tree_for_each (node, &anon_vma->rb_root, avc->node.start, avc->node.start)
		if (node == &avc->node)
			return true;
	return false;
}

static bool in_file_tree(const struct vm_area_struct *vma)
{
	struct interval_node *node;

	VM_BUG_ON(vma->shared.start != vma->vm_pgoff);
	VM_BUG_ON(vma->shared.last != vma->vm_pgoff + vma_pages(vma) - 1);
	interval_tree_for_each (node, &vma_mapping(vma)->i_mmap, vma->vm_pgoff, vma->vm_pgoff)
		if (node == &vma->shared)
			return true;
	return false;
}

/* The VMA's chain: one root, no anon_vma twice, its own among them, intervals as the VMA is. */
static void audit_chain(const struct vm_area_struct *vma)
{
	const struct anon_vma_chain *avc, *other;
	bool own = !vma->anon_vma;

	list_for_each_entry (avc, &vma->anon_vma_chain, same_vma) {
		VM_BUG_ON(avc->vma != vma);
		VM_BUG_ON(!vma->anon_vma);
		VM_BUG_ON(avc->anon_vma->root != vma->anon_vma->root);
		VM_BUG_ON(avc->node.start != vma->vm_pgoff);
		VM_BUG_ON(avc->node.last != vma->vm_pgoff + vma_pages(vma) - 1);
		VM_BUG_ON(!in_interval_tree(avc->anon_vma, avc));
		VM_BUG_ON(avc->anon_vma->refcount <= 0);
		own |= avc->anon_vma == vma->anon_vma;
		other = avc;
		list_for_each_entry_from (other, &vma->anon_vma_chain, same_vma)
			VM_BUG_ON(other != avc && other->anon_vma == avc->anon_vma);
	}
	VM_BUG_ON_MSG(!own, "VMA 0x%lx is not linked to its own anon_vma", vma->vm_start);
}

/* Returns how many chain entries its VMAs have. */
static u64 audit_vmas(struct mm_struct *mm)
{
	struct vm_area_struct *prev = NULL;
	struct vm_area_struct *vma;
	u64 nr_chains = 0;
	u64 nr_locked = 0;
	u64 nr_pages = 0;
	u32 nr = 0;

	for (vma = vma_next(mm, NULL); vma; prev = vma, vma = vma_next(mm, vma)) {
		VM_BUG_ON(vma->vm_mm != mm);
		VM_BUG_ON(vma->vm_start >= vma->vm_end || vma->vm_end > TASK_SIZE);
		VM_BUG_ON((vma->vm_start | vma->vm_end) & ~PAGE_MASK);
		VM_BUG_ON(prev && prev->vm_end > vma->vm_start);
		/* One that has had pages may have moved. */
		VM_BUG_ON(!vma->vm_file && !vma->anon_vma &&
		          vma->vm_pgoff != vma->vm_start >> PAGE_SHIFT);
		VM_BUG_ON(vma->vm_file && !in_file_tree(vma));
		VM_BUG_ON(vma->gap != vma->vm_start - (prev ? prev->vm_end : MMAP_MIN_ADDR));
		audit_chain(vma);
		nr_chains += list_count(&vma->anon_vma_chain);
		nr_pages += vma_pages(vma);
		nr_locked += vma->vm_flags & VM_LOCKED ? vma_pages(vma) : 0;
		VM_BUG_ON(vma->vm_flags & VM_IO);
		nr++;
	}
	VM_BUG_ON_MSG(nr != mm->map_count, "mm %u: %u VMAs, map_count %u", mm->id, nr,
	              mm->map_count);
	VM_BUG_ON(nr_pages != mm->total_vm);
	VM_BUG_ON_MSG(nr_locked != mm->locked_vm, "mm %u: %lu locked pages, locked_vm %lu", mm->id,
	              nr_locked, mm->locked_vm);
	audit_subtree_gap(mm->mm_rb.node);
	return nr_chains;
}

/* ---- tables ------------------------------------------------------------------------------------------------ */

struct mm_count {
	long rss[NR_MM_COUNTERS];
	u64 nr_tables;
	u32 last_table; /* leaf whose entries are being visited */
	u32 nr_in_table;
};

static void audit_upper(struct machine *m, u32 table, unsigned int level, struct mm_count *c)
{
	const pte_t *entry = table_entries(m, table);
	u32 nr_deposits = 0;
	u32 nr_huge = 0;
	u32 nr = 0;

	c->nr_tables += 1;
	VM_BUG_ON(!page_test(pfn_to_page(m, m->table[table].pfn), PG_table));
	for (u32 i = 0; i < PTRS_PER_TABLE; i++) {
		if (pte_none(entry[i]))
			continue;
		nr++;
		nr_huge += pmd_leaf(entry[i]);
		if (level && !pmd_leaf(entry[i]))
			audit_upper(m, (u32)pte_pfn(entry[i]), level - 1, c);
	}
	/* Each huge entry has a table laid aside. */
	for (u32 leaf = m->table[table].deposit; level && leaf; leaf = m->table[leaf].deposit) {
		VM_BUG_ON(m->table[leaf].nr_used);
		c->nr_tables += 1;
		nr_deposits += 1;
	}
	VM_BUG_ON_MSG(nr_huge != nr_deposits, "table %u: %u huge entries, %u tables laid aside",
	              table, nr_huge, nr_deposits);
	VM_BUG_ON_MSG(nr != m->table[table].nr_used, "table %u: %u entries, nr_used %u", table, nr,
	              m->table[table].nr_used);
}

static struct vm_area_struct *audit_find_vma(struct mm_struct *mm, u64 va)
{
	struct rb_node *node = mm->mm_rb.node;

	while (node) {
		struct vm_area_struct *vma = rb_entry(node, struct vm_area_struct, vm_rb);

		if (va < vma->vm_start)
			node = node->left;
		else if (va >= vma->vm_end)
			node = node->right;
		else
			return vma;
	}
	return NULL;
}

static void audit_pte(struct machine *m, struct mm_struct *mm, u32 table, u64 va, pte_t pte,
                      void *arg)
{
	struct vm_area_struct *vma = audit_find_vma(mm, va);
	struct mm_count *c = arg;

	(void)table;
	VM_BUG_ON_MSG(!vma, "mm %u: entry %lx at 0x%lx, outside any VMA", mm->id, pte.v, va);
	VM_BUG_ON(pte_present(pte) && pte_write(pte) && !(vma->vm_flags & VM_WRITE));
	VM_BUG_ON(pmd_leaf(pte) && (!vma_covers_pmd(vma, va) || va & ~PMD_MASK));
	/* Whoever has put a migration entry there holds the page's lock until it is gone. */
	VM_BUG_ON(pte_migration(pte) &&
	          !page_test(compound_head(pfn_to_page(m, pte_pfn(pte))), PG_locked));
	if (pte_swap(pte))
		c->rss[MM_SWAPENTS] += 1;
	else if (!pte_special(pte))
		c->rss[page_is_anon(pfn_to_page(m, pte_pfn(pte))) ? MM_ANONPAGES : MM_FILEPAGES] +=
			pmd_leaf(pte) ? HPAGE_PMD_NR : 1;
}

static void audit_tables(struct machine *m, struct mm_struct *mm)
{
	struct mm_count c = {0};

	audit_upper(m, mm->as.root, PTE_LEVELS - 1, &c);
	VM_BUG_ON_MSG(c.nr_tables != mm->nr_tables, "mm %u: %lu tables, nr_tables %lu", mm->id,
	              c.nr_tables, mm->nr_tables);
	for_each_pte(m, mm, audit_pte, &c);
	for (int i = 0; i < NR_MM_COUNTERS; i++)
		VM_BUG_ON_MSG(c.rss[i] != mm->rss[i].v, "mm %u: counter %d is %ld, counted %ld",
		              mm->id, i, mm->rss[i].v, c.rss[i]);
}

void mmap_audit(struct machine *m)
{
	struct mm_struct *mm;
	u64 nr_chains = 0;
	bool all = true;

	list_for_each_entry (mm, &m->mms, mmlist) {
		if (mm_is_changing(mm)) {
			all = false;
			continue;
		}
		nr_chains += audit_vmas(mm);
		audit_tables(m, mm);
	}
	/* At most one for each task that sleeps on its way to an anon_vma. */
	VM_BUG_ON_MSG(all && nr_chains > pool_live(&m->slab[SLAB_AVC].pool),
	              "%lu chain entries in VMAs, %u in use", nr_chains,
	              pool_live(&m->slab[SLAB_AVC].pool));
}

/* ---- reverse map ---------------------------------------------------------------------------------------------- */

struct rmap_count {
	u32 *nr;          /* by pfn: entries found that map it; huge ones, which map its head, */
	u32 *nr_huge;     /* counted here */
	u8 *locked;       /* by pfn: a VM_LOCKED VMA has it, or a batch of mlock's */
	u64 nr_huge_zero; /* entries of the huge zero page */
	u64 max_pfn;
	bool changing; /* somebody is in the middle of something: what it locks is not known */
};

/* The pte's page must lead back to it: through its anon_vma to this VMA, at this address. */
static void audit_mapped_page(struct machine *m, struct mm_struct *mm, u32 table, u64 va, pte_t pte,
                              void *arg)
{
	struct vm_area_struct *vma = audit_find_vma(mm, va);
	struct rmap_count *c = arg;
	struct interval_node *node;
	struct page *page;

	struct page *head;
	u64 index;

	(void)table;
	c->nr_huge_zero += pte_huge(pte) && pte_special(pte);
	if (!pte_present(pte) || pte_special(pte))
		return;
	VM_BUG_ON(pte_pfn(pte) >= c->max_pfn);
	if (pte_huge(pte))
		c->nr_huge[pte_pfn(pte)] += 1;
	else
		c->nr[pte_pfn(pte)] += 1;
	page = pfn_to_page(m, pte_pfn(pte));
	c->changing |= mm_is_changing(mm);
	if (!vma && mm_is_changing(mm))
		return;
	c->locked[pte_pfn(pte)] |= vma->vm_flags & VM_LOCKED ? 1 : 0;
	if (!page_is_anon(page)) {
		head = compound_head(page);
		VM_BUG_ON_MSG(
			!vma->vm_file || head->mapping != vma_mapping(vma)->number ||
				page_index(page) != vma_index(vma, va),
			"pfn 0x%lx of file %u, page 0x%lx, is mapped at 0x%lx, which shows another",
			pte_pfn(pte), head->mapping, page_index(page), va);
		VM_BUG_ON(pte_write(pte) && !(vma->vm_flags & VM_SHARED));
		return;
	}
	head = compound_head(page);
	VM_BUG_ON(pte_huge(pte) && !page_is_head(page));
	VM_BUG_ON(!page_is_anon(head));
	index = head->index + (u64)(page - head);
	VM_BUG_ON_MSG(index != vma_index(vma, va), "pfn 0x%lx: index 0x%lx, mapped at 0x%lx",
	              pte_pfn(pte), index, va);
	/* A shared page must fault before it is written. */
	VM_BUG_ON(page_mapcount(page) > 1 && pte_write(pte));
	interval_tree_for_each (node, &page_anon_vma(m, head)->rb_root, index, index)
		if (container_of(node, struct anon_vma_chain, node)->vma == vma)
			return;
	panic("pfn 0x%lx is mapped at 0x%lx of mm %u, which its anon_vma does not know",
	      pte_pfn(pte), va, mm->id);
}

/* A compound page: what its entries, of both kinds, make of the counts in its first pages. */
static void audit_compound(struct machine *m, const struct rmap_count *c, u64 pfn)
{
	struct page *head = pfn_to_page(m, pfn);
	u32 doubled = !!(head[1].compound_flags & COMPOUND_DOUBLE_MAP);
	bool tails = head[1].compound_flags & COMPOUND_TAILS;
	s32 total = (s32)c->nr_huge[pfn];

	bool locked = c->changing;

	VM_BUG_ON_MSG(head[1].compound_mapcount != total,
	              "pfn 0x%lx: compound_mapcount %d, %d PMDs", pfn, head[1].compound_mapcount,
	              total);
	VM_BUG_ON(doubled && (!mapcount_doubles(m) || !total));
	for (u32 i = 0; i < compound_nr(head); i++) {
		total += (s32)c->nr[pfn + i];
		locked |= c->locked[pfn + i];
		VM_BUG_ON(!tails && c->nr[pfn + i]);
		VM_BUG_ON_MSG(tails && head[i].mapcount != (s32)(c->nr[pfn + i] + doubled),
		              "pfn 0x%lx + %u: mapcount %d, ptes %u, doubled %u", pfn, i,
		              head[i].mapcount, c->nr[pfn + i], doubled);
	}
	VM_BUG_ON_MSG(head[1].total_mapcount != total, "pfn 0x%lx: total mapcount %d, entries %d",
	              pfn, head[1].total_mapcount, total);
	VM_BUG_ON_MSG(page_test(head, PG_mlocked) && !locked,
	              "huge pfn 0x%lx is mlocked, and no locked VMA has it", pfn);
	if (page_test(head, PG_swapcache) || page_mapping(m, head))
		total += (s32)compound_nr(head);
	total += page_test(head, PG_private);
	VM_BUG_ON_MSG(head->refcount < total, "pfn 0x%lx: refcount %d, entries and cache %d", pfn,
	              head->refcount, total);
}

/* Frames that some pool may have handed out: a range's reserved ones have no descriptor of interest. */
static void audit_mapcounts(struct machine *m, const struct rmap_count *c)
{
	const struct hw_machine *hw = m->world->hw;

	for (u32 i = 0; i < hw->nr_ranges; i++) {
		u64 start = hw->range[i].start_pfn + hw->range[i].nr_reserved;
		u64 end = hw->range[i].start_pfn + hw->range[i].nr_pages;

		for (u64 pfn = start; pfn < end; pfn++) {
			const struct page *page = pfn_to_page(m, pfn);
			s32 cache = page_test(page, PG_swapcache) + page_test(page, PG_private) +
			            (page_mapping(m, page) != NULL);

			if (page_is_head(page)) {
				audit_compound(m, c, pfn);
				pfn += compound_nr(page) - 1;
				continue;
			}
			VM_BUG_ON_MSG(page->mapcount != (s32)c->nr[pfn],
			              "pfn 0x%lx: mapcount %d, ptes %u", pfn, page->mapcount,
			              c->nr[pfn]);
			VM_BUG_ON_MSG(page->refcount < page->mapcount + cache,
			              "pfn 0x%lx: refcount %d, mapcount %d, swap cache %d", pfn,
			              page->refcount, page->mapcount, cache);
			VM_BUG_ON_MSG(page_test(page, PG_mlocked) && !c->locked[pfn] &&
			                      !c->changing,
			              "pfn 0x%lx is mlocked, and no locked VMA has it", pfn);
		}
	}
}

/* Pages whose mlock or munlock waits in a batch. */
static void mark_mlock_batches(const struct machine *m, struct rmap_count *c)
{
	for (u32 cpu = 0; cpu < m->nr_cpus; cpu++) {
		const struct pagevec *pvec = m->cpu[cpu] ? &m->cpu[cpu]->mlock.pvec : NULL;

		for (u32 i = 0; pvec && i < pvec->nr; i++)
			c->locked[page_to_pfn(m, pvec->page[i])] = 1;
	}
}

/* On the unevictable lists, though nothing keeps them there: only who could not be isolated. */
static void audit_unevictable(struct machine *m)
{
	u64 nr_stranded = vm_event_sum(m, UNEVICTABLE_PGSTRANDED);
	struct pglist_data *pgdat;
	struct zone *z;
	u64 nr = 0;

	for_each_populated_zone (m, pgdat, z) {
		const struct page_list *list = &z->lruvec->list[LRU_UNEVICTABLE];

		for (u32 i = list->first; i; i = page_link(list, i)->lru_next) {
			const struct page *page = page_link(list, i);

			/* A node's list is seen once for each of its zones. */
			if (page_zone(m, page) == z)
				nr += !page_test(page, PG_mlocked);
		}
	}
	VM_BUG_ON_MSG(nr > nr_stranded, "%lu pages are unevictable without reason, %lu stranded",
	              nr, nr_stranded);
}

/* Between tasks. Costs time and host memory in the size of the machine. */
void rmap_audit(struct machine *m)
{
	struct rmap_count c = {.max_pfn = m->max_pfn + 1};
	struct mm_struct *mm;

	c.nr = calloc(c.max_pfn, sizeof(*c.nr));
	c.nr_huge = calloc(c.max_pfn, sizeof(*c.nr_huge));
	c.locked = calloc(c.max_pfn, sizeof(*c.locked));
	if (!c.nr || !c.nr_huge || !c.locked)
		panic("no host memory to audit %lu frames", c.max_pfn);
	list_for_each_entry (mm, &m->mms, mmlist)
		for_each_pte(m, mm, audit_mapped_page, &c);
	mark_mlock_batches(m, &c);
	audit_mapcounts(m, &c);
	audit_unevictable(m);
	VM_BUG_ON((s64)c.nr_huge_zero != m->huge_zero_refs - !!m->huge_zero_page);
	free(c.nr);
	free(c.nr_huge);
	free(c.locked);
}
