/*
 * Page tables: allocation, walking, freeing.
 *
 * The tables are written in the format of world/pte.h and are the truth that the world translates
 * by. They lie in one reservation, table n at n pages from its start, and each occupies a frame of
 * the machine besides: the frame is what Linux would have put the table in, and makes page tables
 * cost memory; which one it is matters to nobody. Number 0 is not used.
 *
 * Lock rules. Upper entries change from none to present under mm->page_table_lock and back to none
 * only while their range can be neither faulted on nor found by a reverse map: mmap_sem is held for
 * write, and the VMAs are gone from the tree and from their anon_vmas. Whoever holds mmap_sem, a
 * VMA's lock or its anon_vma's lock may therefore walk without the page-table lock. Entries of a
 * leaf table belong to its own lock, Linux's split page_table_lock. So do those of a second-level table,
 * which may be huge: then there is no leaf table, but an empty one is kept beside it (pt_deposit()), so
 * that making ptes of the huge entry, or of the migration entry in its place, cannot fail. A huge entry can
 * become a table at any order point at which that lock is not held, or none; a table becomes a huge entry
 * only under mmap_sem and the anon_vma's lock for write (khugepaged).
 *
 * Left out: Linux's gathering of freed tables: here they are freed after the range's translations are
 * flushed.
 */
#include <errno.h>

#include "core/internal.h"

/* Pages the machine has: no more tables than that can ever exist. */
static u64 hw_nr_pages(const struct hw_machine *hw)
{
	u64 nr = 0;

	for (u32 i = 0; i < hw->nr_ranges; i++)
		nr += hw->range[i].nr_pages;
	return nr;
}

int pt_init(struct machine *m)
{
	u64 max = min_t(u64, hw_nr_pages(m->world->hw) + 1, UINT32_MAX);
	int err =
		arena_init(&m->table_arena, max * (PAGE_SIZE + sizeof(struct pt_table)) + PAGE_SIZE,
	                   "page tables");

	if (err)
		return err;
	m->tables = arena_alloc(&m->table_arena, max * PAGE_SIZE, PAGE_SIZE);
	m->table = arena_array(&m->table_arena, struct pt_table, max);
	m->max_tables = (u32)max;
	m->nr_tables = 0;
	m->free_table = 0;
	return 0;
}

void pt_destroy(struct machine *m)
{
	arena_destroy(&m->table_arena);
	m->tables = NULL;
	m->table = NULL;
}

static bool table_is_empty(const struct machine *m, u32 table)
{
	const pte_t *entry = table_entries(m, table);

	for (u32 i = 0; i < PTRS_PER_TABLE; i++)
		if (!pte_none(entry[i]))
			return false;
	return true;
}

/* A number for a table; its entries are none: fresh ones are zero, and freed ones were emptied. */
static u32 table_number(struct machine *m)
{
	u32 nr = m->free_table;

	if (nr) {
		m->free_table = m->table[nr].nr_used;
	} else {
		nr = ++m->nr_tables;
		VM_BUG_ON(nr >= m->max_tables);
	}
	return nr;
}

u32 pt_alloc(struct machine *m, struct mm_struct *mm)
{
	struct pt_table *t;
	struct page *page;
	u32 nr;

	if (world_should_fail(m->world, WORLD_FAIL_TABLE))
		return 0;
	/* Linux asks for __GFP_ZERO; COST_PT_ALLOC includes the clearing. */
	page = alloc_page(m, GFP_KERNEL);
	if (!page)
		return 0;
	charge(COST_PT_ALLOC);
	page_set(page, PG_table);
	mod_node_state(page_zone(m, page), NR_PAGETABLE, 1);

	nr = table_number(m);
	VM_CHECK(table_is_empty(m, nr));
	t = &m->table[nr];
	t->pfn = page_to_pfn(m, page);
	t->nr_used = 0;
	t->deposit = 0;
	spin_lock_init(m->world, &t->ptl, LOCK_PTL);
	mm->nr_tables += 1;
	return nr;
}

void __pt_free(struct machine *m, struct mm_struct *mm, u32 table)
{
	struct pt_table *t = &m->table[table];
	struct page *page = pfn_to_page(m, t->pfn);

	VM_BUG_ON(t->nr_used || t->deposit);
	VM_CHECK(table_is_empty(m, table));
	mm->nr_tables -= 1;
	page_clear(page, PG_table);
	mod_node_state(page_zone(m, page), NR_PAGETABLE, -1);
	__free_pages(m, page, 0);
	t->nr_used = m->free_table;
	m->free_table = table;
}

u32 __pt_find(struct machine *m, struct mm_struct *mm, u64 va)
{
	u32 table = mm->as.root;

	for (unsigned int level = PTE_LEVELS - 1; level; level--) {
		pte_t entry = table_entries(m, table)[pte_index(va, level)];

		if (!pte_present(entry) || entry.v & PTE_HUGE)
			return 0;
		table = (u32)pte_pfn(entry);
	}
	return table;
}

/*
 * Fills the upper-level @entry of @parent, unless another thread does. False: out of frames. Entries of
 * second-level tables, which may become huge instead, are under the table's own lock (3.13).
 */
static bool pt_link(struct machine *m, struct mm_struct *mm, u32 parent, pte_t *entry,
                    unsigned int level)
{
	struct spinlock *lock = level > 1 ? &mm->page_table_lock : &m->table[parent].ptl;
	u32 table = pt_alloc(m, mm);
	bool lost;

	if (!table)
		return false;
	spin_lock(lock);
	lost = !pte_none(*entry);
	if (!lost)
		set_pte(m, parent, entry, pte_make(table, PTE_PRESENT | PTE_WRITE | PTE_USER));
	spin_unlock(lock);
	if (lost)
		pt_free(m, mm, table);
	return true;
}

/* The table of @va at @lowest (0: leaf), with all above it; 0: out of frames. */
static u32 pt_populate(struct machine *m, struct mm_struct *mm, u64 va, unsigned int lowest)
{
	u32 table = mm->as.root;

	for (unsigned int level = PTE_LEVELS - 1; level > lowest; level--) {
		pte_t *entry = table_entries(m, table) + pte_index(va, level);

		if (pte_none(*entry) && !pt_link(m, mm, table, entry, level))
			return 0;
		if (entry->v & PTE_HUGE)
			return PT_HUGE;
		table = (u32)pte_pfn(*entry);
	}
	return table;
}

u32 __pt_find_pmd(struct machine *m, struct mm_struct *mm, u64 va)
{
	u32 table = mm->as.root;

	for (unsigned int level = PTE_LEVELS - 1; level > 1; level--) {
		pte_t entry = table_entries(m, table)[pte_index(va, level)];

		if (!pte_present(entry))
			return 0;
		table = (u32)pte_pfn(entry);
	}
	mm->pmd_cache = pmd_cache_key(va) << 32 | table;
	return table;
}

u32 pt_pmd_alloc(struct machine *m, struct mm_struct *mm, u64 va, pte_t **pmd)
{
	u32 table = pt_find_pmd(m, mm, va, pmd);

	if (unlikely(!table)) {
		table = pt_populate(m, mm, va, 1);
		if (table)
			*pmd = table_entries(m, table) + pte_index(va, 1);
	}
	return table;
}

u32 __pt_find_alloc(struct machine *m, struct mm_struct *mm, u64 va)
{
	u32 table = __pt_find(m, mm, va);

	if (unlikely(!table))
		table = pt_populate(m, mm, va, 0);
	if (likely(table && table != PT_HUGE))
		mm->leaf_cache = leaf_cache_key(va) << 32 | table;
	return table;
}

u32 pt_next_leaf(struct machine *m, struct mm_struct *mm, u64 *va, u64 end)
{
	charge(COST_PT_WALK);
	while (*va < end) {
		u32 table = pt_cached_pmd(mm, *va);
		unsigned int level = 1;

		if (unlikely(!table)) {
			table = mm->as.root;
			level = PTE_LEVELS - 1;
		}
		for (; level; level--) {
			pte_t entry = table_entries(m, table)[pte_index(*va, level)];

			if (pte_none(entry))
				break;
			if (entry.v & PTE_HUGE)
				return PT_HUGE;
			table = (u32)pte_pfn(entry);
		}
		if (!level)
			return table;
		/* Nothing below this entry: go on behind what it would cover. */
		*va = ALIGN_DOWN(*va, BIT(PAGE_SHIFT + 9 * level)) + BIT(PAGE_SHIFT + 9 * level);
	}
	return 0;
}

/* What free_pgtables() is about: which range is unmapped, and where its neighbours begin and end. */
struct pt_free_range {
	struct machine *m;
	struct mm_struct *mm;
	u64 start;
	u64 end;
	u64 floor;
	u64 ceiling;
};

/* Frees what hangs below @table, which maps from @base on at @level, as far as the range allows. */
static void free_pt_range(const struct pt_free_range *r, u32 table, unsigned int level, u64 base)
{
	u64 size = BIT(PAGE_SHIFT + 9 * level);
	u64 va = max(base, ALIGN_DOWN(r->start, size));

	for (; va < min(r->end, base + size * PTRS_PER_TABLE); va += size) {
		pte_t *entry = table_entries(r->m, table) + pte_index(va, level);
		u32 child;

		if (pte_none(*entry))
			continue;
		VM_BUG_ON(entry->v & PTE_HUGE);
		child = (u32)pte_pfn(*entry);
		if (level > 1)
			free_pt_range(r, child, level - 1, va);
		if (va < r->floor || va + size > r->ceiling)
			continue; /* a neighbour may use it */
		set_pte(r->m, table, entry, (pte_t){0});
		pt_free(r->m, r->mm, child);
	}
}

void free_pgtables(struct machine *m, struct mm_struct *mm, u64 start, u64 end, u64 floor,
                   u64 ceiling)
{
	struct pt_free_range r = {m, mm, start, end, floor, ceiling ? ceiling : UINT64_MAX};

	free_pt_range(&r, mm->as.root, PTE_LEVELS - 1, 0);
}
