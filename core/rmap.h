/*
 * What rmap.c (anonymous pages) and rmap_file.c share: a pte found, and how it is flushed.
 */
#ifndef CORE_RMAP_H
#define CORE_RMAP_H

#include "core/fs.h"

/* Where one VMA maps the page: the entry, its table's lock held. */
struct rmap_pte {
	struct vm_area_struct *vma;
	u64 va;
	u32 table;
	pte_t *pte;
};

/*
 * Looks whether @vma maps @page. True: *@r is filled, and the table's lock is held. As Linux's
 * page_check_address(), it peeks before it locks.
 */
bool page_check_address(struct machine *m, struct page *page, struct vm_area_struct *vma,
                        struct rmap_pte *r);

/* An entry was made old. (x86: flushed to 3.15, b13b1d2d8692.) */
static inline void flush_young(struct machine *m, const struct rmap_pte *r)
{
	if (unlikely(m->knob.young_flush == KNOB_ON))
		world_tlb_flush(&r->vma->vm_mm->as, r->va, r->va + PAGE_SIZE);
}

/* @entry of @mm was cleared: flushes now, or notes that try_to_unmap_flush() must (TTU_BATCH_FLUSH). */
void unmap_flush(struct machine *m, struct mm_struct *mm, u64 va, pte_t entry, u32 flags);

int page_referenced_file(struct machine *m, struct page *page, bool is_locked, u32 *vm_flags);
enum ttu_result try_to_munlock_file(struct machine *m, struct page *page);
/* Entries of @page become migration entries, and those of @old ones of @new. Page locked. */
void try_to_migrate_file(struct machine *m, struct page *page);
void remove_migration_ptes_file(struct machine *m, struct page *old, struct page *new);
enum ttu_result try_to_unmap_file(struct machine *m, struct page *page, u32 flags);

#endif
