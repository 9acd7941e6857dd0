/*
 * Finding the entries of a huge page that is split: mail 003's subject (knob thp.split_walk).
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
 * To save the host's time a search is recorded: which nodes it looked at, and which of them were answers. The
 * anon_vma's lock is held for write, so that the tree stays as it is, and a search for the next page goes the
 * same way until it is past a bound that some node was compared with. The touches of the nodes, which nobody
 * else sees meanwhile, are kept in the record too, and given back at the end.
 */
#include "core/mlock.h"
#include "core/split_walk.h"

/* ---- searching the reverse map --------------------------------------------------------------------------- */

/* A node looked at. */
struct look {
	struct vm_area_struct *vma;
	struct look *node; /* the first look at it; the rest is that one's */
	struct anon_vma_chain *avc;
	u32 when;     /* as the VMA's touch; the node's is two lines older */
	bool touched; /* since the search was recorded */
	bool match;   /* of this look: the VMA is one of those searched for */
};

#define LOOKS_MAX 127

struct looks {
	u32 next; /* handle */
	u32 nr;
	struct look look[LOOKS_MAX];
};

int looks_init(struct machine *m)
{
	return pool_init(&m->looks_pool, sizeof(struct looks), 1u << 16, "looks of splits");
}

void looks_destroy(struct machine *m)
{
	pool_destroy(&m->looks_pool);
}

static struct looks *looks_ptr(const struct split *s, u32 handle)
{
	return pool_ptr_or_null(&s->m->looks_pool, handle);
}

static struct looks *add_looks(struct split *s, u32 *link)
{
	*link = pool_alloc(&s->m->looks_pool);
	VM_BUG_ON(!*link); /* a tree of millions of VMAs */
	return looks_ptr(s, *link);
}

/* A search under way, or being recorded. */
struct search {
	struct split *s;
	struct looks *looks;
	struct look *next; /* in @looks */
	struct look *end;
};

static void search_in(struct search *it, struct looks *looks)
{
	it->looks = looks;
	it->next = looks->look;
	it->end = looks->look + looks->nr;
}

/* Up to where a search from @first on that compares it with @bound, as the end of an interval, stays the same. */
static void limit_to(struct split *s, u64 bound)
{
	if (bound >= s->looks_first)
		s->looks_until = min(s->looks_until, bound);
}

static void record_look(const struct interval_node *node, void *arg)
{
	struct anon_vma_chain *avc = container_of(node, struct anon_vma_chain, node);
	struct search *to = arg;
	struct look *look;

	if (to->looks->nr == LOOKS_MAX)
		to->looks = add_looks(to->s, &to->looks->next);
	look = &to->looks->look[to->looks->nr++];
	look->vma = avc->vma;
	look->avc = avc;
	if (!avc->look)
		avc->look = look;
	look->node = avc->look;

	limit_to(to->s, node->last);
	limit_to(to->s, node->start - 1);
	if (node->rb.left)
		limit_to(to->s, rb_entry(node->rb.left, struct interval_node, rb)->subtree_last);
	if (node->rb.right)
		limit_to(to->s, rb_entry(node->rb.right, struct interval_node, rb)->subtree_last);
}

static void record_search(struct split *s, u64 first, u64 last)
{
	const struct rb_root_cached *tree = &s->anon_vma->rb_root;
	struct search to = {.s = s, .looks = add_looks(s, &s->looks)};
	struct interval_node *node;

	s->looks_first = first;
	s->looks_last = last;
	s->looks_until = first == last ? s->index + s->nr - 1 : first;
	/* What is compared before the first look. */
	if (tree->root.node) {
		limit_to(s, rb_entry(tree->root.node, struct interval_node, rb)->subtree_last);
		limit_to(s, rb_entry(tree->leftmost, struct interval_node, rb)->start - 1);
	}
	node = interval_tree_iter_first_visit(tree, first, last, record_look, &to);
	while (node) {
		struct look *look = &to.looks->look[to.looks->nr - 1];

		VM_BUG_ON(&look->avc->node != node);
		look->match = true;
		node = interval_tree_iter_next_visit(node, first, last, record_look, &to);
	}
}

void forget_looks(struct split *s)
{
	while (s->looks) {
		struct looks *looks = looks_ptr(s, s->looks);
		u32 next = looks->next;

		for (struct look *l = looks->look; l < looks->look + looks->nr; l++) {
			if (l->node != l)
				continue;
			l->avc->look = NULL;
			if (!l->touched)
				continue;
			VM_BUG_ON(l->avc->touch.cpu != world_self->id + 1);
			l->avc->touch.when = l->when - 2;
			l->vma->touch.when = l->when;
		}
		pool_free(&s->m->looks_pool, s->looks);
		s->looks = next;
	}
}

/* The first look at @node since the search was recorded, or lines that may be in different levels of cache. */
static void look_exactly(struct look *node)
{
	if (node->touched) {
		node->avc->touch.when = node->when - 2;
		node->vma->touch.when = node->when;
	}
	world_touch(&node->avc->touch, 1);
	world_touch(&node->vma->touch, 2);
	node->when = node->vma->touch.when;
	node->touched = true;
}

/* The next VMA that may map what is searched for; NULL: no more. */
static __always_inline struct vm_area_struct *search_next(struct search *it)
{
	struct world_cpu *c = world_self;
	u32 nr = 0, nr_l1 = 0,
	    nr_l2; /* looks, and in which level of cache they find their three lines */
	u32 nr_exact = 0;
	struct look *look;

	do {
		struct look *node;
		u32 distance;

		look = it->next++;
		if (unlikely(look == it->end)) {
			if (!it->looks->next) {
				look = NULL;
				break;
			}
			search_in(it, looks_ptr(it->s, it->looks->next));
			look = it->next++;
		}
		node = look->node;
		nr += 1;
		/*
		 * In Linux a node's interval is computed from its VMA: a line of the one, two of the other. The
		 * node's was touched two lines before the VMA's, and is again one before it.
		 */
		distance = c->nr_touched - node->when;
		if (unlikely(!node->touched || distance + 2 >= WORLD_L2_LINES ||
		             distance + 2 == WORLD_L1_LINES)) {
			look_exactly(node);
			nr_exact += 1;
			continue;
		}
		nr_l1 += distance < WORLD_L1_LINES - 2;
		c->nr_touched += 3;
		node->when = c->nr_touched;
	} while (!look->match);
	nr_l2 = nr - nr_exact - nr_l1;
	c->cost_count[COST_RMAP_NODE] += nr;
	c->cost_count[COST_TOUCH_L1] += 3 * nr_l1;
	c->cost_count[COST_TOUCH_L2] += 3 * nr_l2;
	c->clock += (u64)nr * c->cost[COST_RMAP_NODE] + 3ul * nr_l1 * c->cost[COST_TOUCH_L1] +
	            3ul * nr_l2 * c->cost[COST_TOUCH_L2];
	return look ? look->vma : NULL;
}

static inline struct vm_area_struct *search_first(struct search *it, struct split *s, u64 first,
                                                  u64 last)
{
	if (unlikely(!s->looks || first < s->looks_first || first > s->looks_until ||
	             last - first != s->looks_last - s->looks_first)) {
		forget_looks(s);
		record_search(s, first, last);
	}
	it->s = s;
	search_in(it, looks_ptr(s, s->looks));
	return search_next(it);
}

#define split_for_each_vma(vma, it, s, first, last)                                                \
	for (vma = search_first(it, s, first, last); vma; vma = search_next(it))

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
static inline u32 split_walk_table(struct machine *m, struct vm_area_struct *vma, u64 va)
{
	struct mm_struct *mm = vma->vm_mm;
	u64 cache = mm->leaf_cache;
	u32 table = (u32)cache;

	charge_ns(__world_touch(&mm->touch, 2 + PTE_LEVELS - 1) + count_cost(COST_RMAP_STEP) +
	          count_cost(COST_PT_WALK));
	if (unlikely(cache >> 32 != leaf_cache_key(va))) {
		table = __pt_find(m, mm, va);
		if (!table)
			return 0;
		/* The next page's walk comes here too: saves host time. */
		mm->leaf_cache = leaf_cache_key(va) << 32 | table;
	}
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

	if (!pte_maps(entry, pfn)) {
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
	munlock_migrating_page(m, s->head + i, vma);
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
	struct vm_area_struct *vma;
	struct search it;

	split_for_each_vma(vma, &it, s, s->index, s->index + s->nr - 1)
		freeze_vma(s, vma, flush_each);
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
		struct vm_area_struct *vma;
		struct search it;

		if (READ_ONCE(s->head->refcount) == 1 + swap_cache_references(s->head))
			return;
		charge(COST_RMAP_LOOKUP);
		split_for_each_vma(vma, &it, s, s->index + i, s->index + i)
		{
			freeze_page_in_vma(s, vma, i);
			if (!page_mapcount(s->head + i))
				break;
		}
	}
}

void freeze_page(struct split *s)
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
	struct vm_area_struct *vma;
	struct search it;

	split_for_each_vma(vma, &it, s, s->index, s->index + s->nr - 1)
	{
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
		struct vm_area_struct *vma;
		struct search it;

		charge(COST_RMAP_LOOKUP);
		split_for_each_vma(vma, &it, s, s->index + i, s->index + i)
		{
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

void unfreeze_page(struct split *s)
{
	if (s->m->knob.thp_split_walk == SPLIT_WALK_VMA)
		unfreeze_by_vma(s);
	else
		unfreeze_by_page(s);
}

/* ---- before 4.5 -------------------------------------------------------------------------------------------- */

void split_all_pmds(struct split *s)
{
	struct machine *m = s->m;
	struct vm_area_struct *vma;
	struct search it;

	split_for_each_vma(vma, &it, s, s->index, s->index + HPAGE_PMD_NR - 1)
	{
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
}
