/*
 * pgtable.c: page tables, walks, and the walks that are remembered.
 */
#ifndef CORE_PGTABLE_H
#define CORE_PGTABLE_H

#include "core/machine.h"

/* Reserves tables for as many frames as the machine has; before world_attach(). 0 or -ENOMEM. */
int pt_init(struct machine *m);
void pt_destroy(struct machine *m);

static inline pte_t *table_entries(const struct machine *m, u32 table)
{
	return (pte_t *)((char *)m->tables + (u64)table * PAGE_SIZE);
}

/* A cleared table in a frame of its own; 0 if no frame (gfp GFP_KERNEL: may reclaim, may switch). */
u32 pt_alloc(struct machine *m, struct mm_struct *mm);
/* Frees an empty table that was never in the tree, or whose walks were forgotten when it left it. */
void __pt_free(struct machine *m, struct mm_struct *mm, u32 table);

/* A table leaves the tree: no walk remembered by a CPU, or here, may end in it. */
static inline void pt_forget_walks(struct mm_struct *mm)
{
	mm->as.table_gen += 1;
	mm->leaf_cache = 0;
	mm->rmap_leaf_cache = 0;
	mm->pmd_cache = 0;
}

static inline void pt_free(struct machine *m, struct mm_struct *mm, u32 table)
{
	pt_forget_walks(mm);
	__pt_free(m, mm, table);
}

/* Walks the tables for pt_find(). */
u32 __pt_find(struct machine *m, struct mm_struct *mm, u64 va);
/* The same, allocating what is missing, and remembering it. 0: out of frames. May switch tasks. */
u32 __pt_find_alloc(struct machine *m, struct mm_struct *mm, u64 va);

/*
 * The leaf table that a fault found last is kept in one word of the mm, (va >> PMD_SHIFT) + 1 above the
 * table's number, so that it is read and written whole: other CPUs use it too.
 * pt_free() forgets it. Saves host time only, the walk is charged.
 */
static inline u64 leaf_cache_key(u64 va)
{
	return (va >> PMD_SHIFT) + 1;
}

/* The leaf table that maps @va: 0 if none. Charges PT_WALK. */
static inline u32 pt_find(struct machine *m, struct mm_struct *mm, u64 va)
{
	u64 cache = mm->leaf_cache;

	charge(COST_PT_WALK);
	return likely(cache >> 32 == leaf_cache_key(va)) ? (u32)cache : __pt_find(m, mm, va);
}

/* The same without its charge; allocates what is missing. 0: out of frames. May switch tasks. */
static inline u32 pt_find_alloc_uncharged(struct machine *m, struct mm_struct *mm, u64 va)
{
	u64 cache = mm->leaf_cache;

	return likely(cache >> 32 == leaf_cache_key(va)) ? (u32)cache : __pt_find_alloc(m, mm, va);
}

/*
 * For reverse walks, without its charge. Reclaim works where the owner is not, but itself goes on
 * where it was: they have a word of their own.
 */
static inline u32 pt_find_rmap(struct machine *m, struct mm_struct *mm, u64 va)
{
	u64 key = leaf_cache_key(va);
	u32 table;

	if (likely(mm->rmap_leaf_cache >> 32 == key))
		return (u32)mm->rmap_leaf_cache;
	table = __pt_find(m, mm, va);
	if (table)
		mm->rmap_leaf_cache = key << 32 | table;
	return table;
}

static inline u32 pt_find_alloc(struct machine *m, struct mm_struct *mm, u64 va)
{
	charge(COST_PT_WALK);
	return pt_find_alloc_uncharged(m, mm, va);
}

/* Entry of @va in leaf @table. */
static inline pte_t *pt_entry(const struct machine *m, u32 table, u64 va)
{
	return table_entries(m, table) + pte_index(va, 0);
}

/* Does @pte map frame @pfn, as a page whose maps are counted? */
static inline bool pte_maps(pte_t pte, u64 pfn)
{
	return pte_present(pte) && !pte_special(pte) && pte_pfn(pte) == pfn;
}

/* Changes an entry under the table's ptl; keeps nr_used. */
static inline void set_pte(struct machine *m, u32 table, pte_t *pte, pte_t val)
{
	m->table[table].nr_used += !pte_none(val);
	m->table[table].nr_used -= !pte_none(*pte);
	*pte = val;
}

/*
 * The first leaf table at or above *@va, which moves there (to a leaf's start, unless it began in
 * it); 0: none below @end; PT_HUGE: a huge entry maps *@va. Charges PT_WALK.
 */
u32 pt_next_leaf(struct machine *m, struct mm_struct *mm, u64 *va, u64 end);

/* What pt_next_leaf() and __pt_find_alloc() return where a huge entry maps the address. */
#define PT_HUGE UINT32_MAX

/* The second-level table that was found last is kept in the same way. */
static inline u64 pmd_cache_key(u64 va)
{
	return (va >> PUD_SHIFT) + 1;
}

/* That of @va; 0: it is another. */
static inline u32 pt_cached_pmd(const struct mm_struct *mm, u64 va)
{
	u64 cache = mm->pmd_cache;

	return likely(cache >> 32 == pmd_cache_key(va)) ? (u32)cache : 0;
}

/* Walks the tables for pt_find_pmd(). */
u32 __pt_find_pmd(struct machine *m, struct mm_struct *mm, u64 va);

/* The second-level table of @va and, in *@pmd, its entry there; 0: none. pt_pmd_alloc() makes what is
 * missing; 0: out of frames, may switch tasks. Neither charges a walk. */
static inline u32 pt_find_pmd(struct machine *m, struct mm_struct *mm, u64 va, pte_t **pmd)
{
	u32 table = pt_cached_pmd(mm, va);

	if (unlikely(!table))
		table = __pt_find_pmd(m, mm, va);
	*pmd = table_entries(m, table) + pte_index(va, 1);
	return table;
}

u32 pt_pmd_alloc(struct machine *m, struct mm_struct *mm, u64 va, pte_t **pmd);
/* An empty leaf table kept beside a huge entry, for when it is split; pmd lock held. */
static inline void pt_deposit(struct machine *m, u32 pmd_table, u32 leaf)
{
	VM_BUG_ON(m->table[leaf].nr_used || m->table[leaf].deposit);
	m->table[leaf].deposit = m->table[pmd_table].deposit;
	m->table[pmd_table].deposit = leaf;
}

static inline u32 pt_withdraw(struct machine *m, u32 pmd_table)
{
	u32 leaf = m->table[pmd_table].deposit;

	VM_BUG_ON(!leaf);
	m->table[pmd_table].deposit = m->table[leaf].deposit;
	m->table[leaf].deposit = 0;
	return leaf;
}

/* Frees all tables that only map within [@floor, @ceiling) around the unmapped [@start, @end). */
void free_pgtables(struct machine *m, struct mm_struct *mm, u64 start, u64 end, u64 floor,
                   u64 ceiling);

#endif
