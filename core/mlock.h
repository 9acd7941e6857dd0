/*
 * What the files about locked memory share: mlock.c, mlock_page.c, mlock_walk.c, gup.c.
 */
#ifndef CORE_MLOCK_H
#define CORE_MLOCK_H

#include "core/internal.h"

/* 5.18 on: batches and counts, instead of isolating each page at once (knob mlock.isolate). */
static inline bool mlock_today(const struct machine *m)
{
	return m->knob.mlock_isolate == MLOCK_ISOLATE_BATCH;
}

/* ---- mlock.c --------------------------------------------------------------------------------- */

bool can_do_mlock(const struct mm_struct *mm);
/* -EAGAIN: @nr_pages more, mapped with @vm_flags, are above the limit. mmap_sem held. */
int mlock_future_check(const struct mm_struct *mm, u32 vm_flags, u64 nr_pages);
void munlock_before_unmap(struct machine *m, struct mm_struct *mm, u64 start, u64 end);

/* ---- mlock_walk.c ---------------------------------------------------------------------------- */

/*
 * @vma's VM_LOCKED has just changed: the pages in [@start, @end) follow, those that are there; to 5.17
 * only if it was cleared, since populate finds them all. mmap_sem held for write. May switch tasks.
 */
void mlock_vma_pages(struct machine *m, struct vm_area_struct *vma, u64 start, u64 end);
/* Today: the ptes of [@va, @end) of a table are about to go. Its lock is held. */
void munlock_ptes(struct machine *m, u32 table, u64 va, u64 end);

/* ---- mlock_page.c ---------------------------------------------------------------------------- */

/* To 5.17: @page, mapped in a VM_LOCKED VMA, is to be unevictable. No tail. Page locked. */
void mlock_vma_page(struct machine *m, struct page *page);
/* And is so no longer, unless another VMA locks it. Page locked. */
void munlock_vma_page(struct machine *m, struct page *page);
/* Nobody maps it any more. */
void clear_page_mlock(struct machine *m, struct page *page);

/* Today: one more VM_LOCKED VMA maps @page, or one less. No tail. Table lock held. Never switches tasks. */
void mlock_folio(struct machine *m, struct page *page);
void munlock_folio(struct machine *m, struct page *page);
void mlock_new_folio(struct machine *m, struct page *page); /* a fault's, not on any list yet */
void mlock_drain_local(struct machine *m);

/* The knob mlock.huge: is a page of which ptes map parts mlocked at all? (By a huge entry: yes.) */
static inline bool mlock_counts_ptes(const struct machine *m, const struct page *page)
{
	return !page_is_compound(page) || m->knob.mlock_huge == MLOCK_HUGE_WHOLE;
}

/*
 * Today: @vma has new entries of @nr pages of a folio, from @page on, or lost some. Only all of it makes it mlocked, any
 * part munlocks it: it is too little locked then rather than too much. @huge: it is a huge entry. Table lock held.
 */
static inline void mlock_vma_folio(struct machine *m, struct page *page,
                                   const struct vm_area_struct *vma, u32 nr, bool huge)
{
	struct page *head;

	if (likely(!(vma->vm_flags & VM_LOCKED)) || !mlock_today(m) || vma->vm_flags & VM_IO)
		return;
	head = compound_head(page);
	if (huge || (nr == compound_nr(head) && mlock_counts_ptes(m, head)))
		mlock_folio(m, head);
}

static inline void munlock_vma_folio(struct machine *m, struct page *page,
                                     const struct vm_area_struct *vma, bool huge)
{
	if (likely(!(vma->vm_flags & VM_LOCKED)) || !mlock_today(m))
		return;
	if (huge || mlock_counts_ptes(m, page))
		munlock_folio(m, compound_head(page));
}

/* Any era: a VMA that is, or has become, VM_LOCKED maps @page, today all of it; reclaim has found out. Page locked,
 * table lock held. False: it may not be sure. */
bool mlock_found(struct machine *m, struct page *page, struct vm_area_struct *vma);

/*
 * Today: a migration entry has taken the place of @page in @vma, which is counted out if it is VM_LOCKED, and in
 * again with the new pte: whoever unlocks the VMA meanwhile passes over the entry. Table lock held.
 */
void munlock_migrating_page(struct machine *m, struct page *page, const struct vm_area_struct *vma);
/* To 5.17: what @page, which nobody maps any more, was, @new is: PG_mlocked moves. */
void mlock_migrate_page(struct machine *m, struct page *new, struct page *page);
/* @tail, now a page of its own, has its former head's flags. lru_lock held. */
void mlock_split_tail(struct machine *m, struct page *tail);

/* ---- gup.c ----------------------------------------------------------------------------------- */

/* Faults in what is mapped in the range. @ignore_errors: go on with the next VMA. May switch tasks. */
int mm_populate(struct machine *m, struct mm_struct *mm, u64 start, u64 len, bool ignore_errors);

/* ---- rmap.c ---------------------------------------------------------------------------------- */

/*
 * Does @vma, which is VM_LOCKED, map any of the huge page? Today, if it maps all of it (*@whole), the mlock that was
 * missed is made up for.
 */
bool huge_found_locked(struct machine *m, struct page *head, struct vm_area_struct *vma,
                       bool *whole);
/* To 5.17: does any VM_LOCKED VMA map @page? Then it is mlocked again: SWAP_MLOCK. Page locked. */
enum ttu_result try_to_munlock(struct machine *m, struct page *page);

/* ---- memory.c -------------------------------------------------------------------------------- */

/* A fault for the kernel's own sake, mmap_sem held for read. 0, -ENOMEM, -EFAULT, -EINTR. */
int faultin_page(struct machine *m, struct vm_area_struct *vma, u64 va, bool write);

#endif
