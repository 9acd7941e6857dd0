/*
 * Huge pages: what huge_memory.c, huge_split.c and their neighbours share.
 *
 * A transparent huge page is a compound page of order 9. A PMD entry may map it whole; or leaf tables
 * map its pages one by one, then, or as well, in other address spaces. Every entry holds a reference
 * to the head. Locks: a PMD entry belongs to its table's ptl, as a pte to the leaf table's; the PMD's
 * comes first.
 */
#ifndef CORE_HUGE_MEMORY_H
#define CORE_HUGE_MEMORY_H

#include "core/fault.h"
#include "core/internal.h"

#define HPAGE_PMD_ORDER 9
#define HPAGE_PMD_NR (1u << HPAGE_PMD_ORDER)

#define VM_FAULT_FALLBACK (1 << 8) /* no huge page: go on with small ones */

/* Does whatever is at @va, huge or not, have an entry of its own that the VMA holds whole? */
static inline bool vma_covers_pmd(const struct vm_area_struct *vma, u64 va)
{
	u64 haddr = va & PMD_MASK;

	return haddr >= vma->vm_start && haddr + PMD_SIZE <= vma->vm_end;
}

static inline struct spinlock *pmd_lockptr(struct machine *m, u32 pmd_table)
{
	return &m->table[pmd_table].ptl;
}

/* How entries count the pages they map: enum thp_mapcount_policy. */
static inline bool mapcount_doubles(const struct machine *m)
{
	return m->knob.thp_mapcount == THP_MAPCOUNT_DOUBLE;
}

/* A request for a huge page that nobody waits for, and one that reclaims and compacts for it. */
#define GFP_TRANSHUGE_LIGHT                                                                        \
	(__GFP_HIGHMEM | __GFP_MOVABLE | __GFP_IO | __GFP_FS | __GFP_COMP | __GFP_NOMEMALLOC |     \
	 __GFP_NOWARN)
#define GFP_TRANSHUGE (GFP_TRANSHUGE_LIGHT | __GFP_DIRECT_RECLAIM)

/* Are huge pages and large folios moved as they are? Not where they cannot be mapped in part. */
static inline bool migrates_whole(const struct machine *m)
{
	return m->knob.thp_migration == THP_MOVE_WHOLE && m->knob.thp_partial == THP_PARTIAL_PMD;
}

/* How many entries, of either kind, map this one page of a compound page. */
static inline s32 page_mapcount(struct page *page)
{
	struct page *head;

	if (likely(!page_is_compound(page)))
		return page->mapcount;
	head = compound_head(page);
	return page->mapcount + head[1].compound_mapcount -
	       (head[1].compound_flags & COMPOUND_DOUBLE_MAP ? 1 : 0);
}

/* Part of a huge page that one VMA maps. */
struct huge_range {
	struct vm_area_struct *vma;
	u32 first; /* of the huge page's pages */
	u32 last;
	u64 va; /* of the first */
};

static inline struct huge_range huge_range(const struct page *head, struct vm_area_struct *vma)
{
	u64 begin = max(head->index, vma->vm_pgoff);
	u64 end = min(head->index + compound_nr(head), vma->vm_pgoff + vma_pages(vma));

	return (struct huge_range){
		.vma = vma,
		.first = (u32)(begin - head->index),
		.last = (u32)(end - 1 - head->index),
		.va = vma->vm_start + ((begin - vma->vm_pgoff) << PAGE_SHIFT),
	};
}

/* ---- huge_memory.c --------------------------------------------------------------------------- */

/* May a fault, or khugepaged, give @vma a huge page at @va? */
bool thp_vma_allowable(const struct machine *m, const struct vm_area_struct *vma, u64 va);
/* A fault whose PMD entry is none. 0 or an error: dealt with; VM_FAULT_FALLBACK. */
int do_huge_pmd_anonymous_page(struct vm_fault *f, u32 pmd_table, pte_t *pmd);
/* A fault whose PMD entry @orig is huge. */
int do_huge_pmd_present(struct vm_fault *f, u32 pmd_table, pte_t *pmd, pte_t orig);
gfp_t thp_gfp(const struct machine *m, bool advised);

/* Both host lines of a huge page's head and first tails are on their way. */
static inline void huge_prefetch(const struct page *head)
{
	__builtin_prefetch(head, 1);
	__builtin_prefetch(head + 2, 1);
}

/* @page becomes mapped by a PMD entry of @vma; pmd lock held. */
void page_add_new_anon_rmap_huge(struct machine *m, struct page *page, struct vm_area_struct *vma,
                                 u64 haddr);
void page_add_anon_rmap_huge(struct machine *m, struct page *page); /* again, after a migration */
void page_dup_rmap_huge(struct page *page);
void page_remove_rmap_huge(struct machine *m, struct page *page);
/*
 * A pte less maps @page, a part of a huge page. The first form tells whether nothing maps it now, for who
 * counts NR_ANON_MAPPED, and the need for a split, himself.
 */
bool __page_remove_rmap_compound(struct page *page);
void page_remove_rmap_compound(struct machine *m, struct page *page);

/*
 * To 6.1 each page that loses its last pte asks for the split; since then whoever takes many away asks, at
 * the end, if some of the huge page is still mapped.
 */
static inline bool defers_at_once(const struct machine *m)
{
	return mapcount_doubles(m);
}

/*
 * The huge entry at @va, if there is one, becomes a leaf table. Afterwards it is not huge, unless it was
 * made so again. mmap_sem or the anon_vma's lock held; takes the pmd lock.
 */
void split_huge_pmd(struct machine *m, struct vm_area_struct *vma, u64 va);
/* The same with the pmd lock held, and the entry huge. @freeze: migration entries instead of ptes. */
void split_huge_pmd_locked(struct machine *m, struct vm_area_struct *vma, u32 pmd_table, pte_t *pmd,
                           u64 haddr, bool freeze);
/* Before an end of @vma moves to @addr, or it is cut there: no huge entry may cross the border. */
void vma_split_huge_at(struct machine *m, struct vm_area_struct *vma, u64 addr);

/* One huge entry at @va of a range operation. True: done with; false: it is, or has become, a table. */
bool zap_huge_pmd(struct mmu_gather *tlb, struct vm_area_struct *vma, u64 va, u64 end);
bool change_huge_pmd(struct machine *m, struct vm_area_struct *vma, u64 va, u64 end, u64 *changed);
bool madvise_free_huge_pmd(struct mmu_gather *tlb, struct vm_area_struct *vma, u64 va, u64 end);
int copy_huge_pmd(struct machine *m, struct mm_struct *dst, struct mm_struct *src, u64 va,
                  bool *done);

struct page *get_huge_zero_page(struct machine *m);
void put_huge_zero_page(struct machine *m);

/* ---- huge_split.c ---------------------------------------------------------------------------- */

/* A split of a page of @nr has succeeded, or not (@err). */
void count_split(struct machine *m, u32 nr, int err);
/* Part of @head is mapped by nobody any more: to be split when memory is wanted. */
void deferred_split_huge_page(struct machine *m, struct page *head);
/* It is about to be freed, as another has taken its place. */
void deferred_split_forget(struct machine *m, struct page *head);
/*
 * Makes 512 pages of the one that @page is part of; the head is locked, and the caller has a reference,
 * which is @page's afterwards. @list: has the head, isolated; the tails go there, next to it. 0, or -EBUSY:
 * somebody else has a reference; all is as it was.
 */
int split_huge_page_to_list(struct machine *m, struct page *page, struct page_list *list);
/* Before 4.5: at once and in all address spaces; pins do not matter. For a part of it to be unmapped. */
int split_huge_page_at_once(struct machine *m, struct page *head, struct page_list *list);
/*
 * Before 4.5: a pte has been found, under @ptl, that maps @page, part of a page that somebody is splitting. Its
 * references are not handed out yet, so that one taken now would be the head's, and given back to the tail. Linux
 * marks the PMD entry, and who meets that waits, too.
 */
bool page_is_being_split(struct machine *m, struct page *page);
void wait_split_huge_page(struct machine *m, struct page *page,
                          struct spinlock *ptl); /* drops it */
/* For the shrinker: takes some off the queue, and puts back what it could not split. */
u32 split_queue_take(struct pglist_data *pgdat, struct page **batch, u32 nr);
void split_queue_put_back(struct pglist_data *pgdat, struct page *head);
void deferred_split_audit(struct machine *m);
void split_queues_init(struct machine *m); /* boot */

int __must_check looks_init(struct machine *m); /* split_walk.c, at boot: 0 or -ENOMEM */
void looks_destroy(struct machine *m);

/* ---- mthp.c ---------------------------------------------------------------------------------- */

void mthp_init(struct machine *m); /* boot */
/* Who gets huge pages of 2 MiB. */
enum thp_policy thp_pmd_policy(const struct machine *m);
/* A fault whose pte is none, by a huge page of another size: 0, or VM_FAULT_FALLBACK. */
int do_anonymous_folio(struct vm_fault *f);
/* For a fault on a swap entry of a RAM disk: a page for it, or for all of a row around it. NULL: no memory. */
struct page *alloc_swap_folio(struct vm_fault *f);
void count_mthp(struct machine *m, const struct page *head, enum mthp_stat stat);
void mthp_gauges(struct machine *m, void (*fn)(const char *name, u64 value, bool event, void *arg),
                 void *arg);

/* ---- huge_migrate.c -------------------------------------------------------------------------- */

/* A fault at a PMD migration entry, @orig: waits until the page has been moved. The fault is tried again. */
int pmd_migration_entry_wait(struct vm_fault *f, u32 pmd_table, const pte_t *pmd, pte_t orig);
/* 512 migration entries in @leaf instead of @entry; the pmd lock is held. */
void split_pmd_migration(struct machine *m, u32 leaf, pte_t entry);

/* ---- huge_swap.c ----------------------------------------------------------------------------- */

/* Reclaim need not split @head: it has slots, or may be given some. Page locked. */
bool may_swap_out_whole(struct machine *m, struct page *head);
/* try_to_unmap() of a huge page in the swap cache: its entries become swap entries. */
enum ttu_result try_to_unmap_huge(struct machine *m, struct page *head, u32 flags);

static inline int split_huge_page(struct machine *m, struct page *page)
{
	return split_huge_page_to_list(m, page, NULL);
}

#endif
