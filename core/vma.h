/*
 * Address spaces and their VMAs: vma.c, mmap.c, mprotect.c, fork.c; util.c: how much may be promised.
 */
#ifndef CORE_VMA_H
#define CORE_VMA_H

#include "core/machine.h"

#define MMAP_MIN_ADDR 0x10000UL             /* vm.mmap_min_addr */
#define MMAP_BASE (TASK_SIZE - (128 << 20)) /* below the smallest stack gap, no randomization */
#define BRK_START 0x555555800000UL
#define MAX_MAP_COUNT 65530 /* vm.max_map_count */

/* util.c: more memory may be promised? -ENOMEM. Accounted then, till vm_unacct_memory(). */
int __must_check vm_enough_memory(struct machine *m, const struct mm_struct *mm,
                                  unsigned long nr_pages);
void vm_unacct_memory(struct machine *m, unsigned long nr_pages);
unsigned long vm_commit_limit(const struct machine *m);
long vm_committed_exact(const struct machine *m);
void overcommit_init(struct machine *m); /* boot */
void overcommit_audit(struct machine *m);

struct mm_struct *mm_alloc(struct machine *m);
void mm_put(struct machine *m, struct mm_struct *mm);  /* last user: exit_mmap() */
void mm_drop(struct machine *m, struct mm_struct *mm); /* mm_count */
void exit_mmap(struct machine *m, struct mm_struct *mm);
int dup_mmap(struct machine *m, struct mm_struct *dst, struct mm_struct *src); /* fork */
/* Walks the tree for find_vma(), and remembers what it found. */
struct vm_area_struct *__find_vma(struct mm_struct *mm, u64 va);

/* The same without its charge, for those who charge several things at once. */
static inline struct vm_area_struct *find_vma_uncharged(struct mm_struct *mm, u64 va)
{
	struct vm_area_struct *vma = mm->vmacache;

	return likely(vma && vma->vm_start <= va && va < vma->vm_end) ? vma : __find_vma(mm, va);
}

/* First VMA that ends above @va; mmap_sem held. */
static inline struct vm_area_struct *find_vma(struct mm_struct *mm, u64 va)
{
	charge(COST_VMA_LOOKUP);
	return find_vma_uncharged(mm, va);
}

/* Its neighbours in the tree; NULL @vma: next is the first one. */
struct vm_area_struct *vma_next(const struct mm_struct *mm, const struct vm_area_struct *vma);
struct vm_area_struct *vma_prev(const struct vm_area_struct *vma);
struct vm_area_struct *vma_last(const struct mm_struct *mm);
/* The highest hole of @len bytes below MMAP_BASE; 0: there is none. */
u64 vm_unmapped_area(const struct mm_struct *mm, u64 len);
/* Where @len bytes fit; 0: nowhere. */
u64 get_unmapped_area(const struct machine *m, const struct mm_struct *mm, const struct file *file,
                      u64 off, u64 len);
/* munmap() with mmap_sem held for write. */
int __do_munmap(struct machine *m, struct mm_struct *mm, u64 start, u64 len);
struct vm_area_struct *vm_area_alloc(struct machine *m, struct mm_struct *mm);
struct vm_area_struct *vm_area_dup(struct machine *m, const struct vm_area_struct *vma);
void vm_area_free(struct machine *m, struct vm_area_struct *vma);
void vma_link(struct mm_struct *mm, struct vm_area_struct *vma);
void vma_unlink(struct mm_struct *mm, struct vm_area_struct *vma);
int split_vma(struct machine *m, struct vm_area_struct *vma, u64 addr, bool new_below);
int __split_vma(struct machine *m, struct vm_area_struct *vma, u64 addr, bool new_below);
/* The VMA that [@addr, @end) with @vm_flags became part of; NULL: no neighbour can take it. */
struct vm_area_struct *vma_merge(struct machine *m, struct mm_struct *mm,
                                 struct vm_area_struct *prev, u64 addr, u64 end, u32 vm_flags,
                                 struct file *file, struct anon_vma *anon_vma, u64 pgoff);
/* Flags of [@start, @end) in *@vmap become @vm_flags: it is merged or split, and *@vmap is that range's. */
int vma_modify_flags(struct machine *m, struct vm_area_struct **vmap, struct vm_area_struct *prev,
                     u64 start, u64 end, u32 vm_flags);
/* A neighbour's anon_vma that @vma may share, so that they can merge later. */
struct anon_vma *find_mergeable_anon_vma(struct vm_area_struct *vma);
void mmap_audit(struct machine *m);

/*
 * mmap_sem for write, and what keeps the faults out that lock only their VMA (6.4, knob
 * fault.vma_lock): a VMA is write-locked once per hold, by vma_start_write(), and let go with it.
 */
static inline void mmap_write_lock(struct mm_struct *mm)
{
	down_write(&mm->mmap_sem);
	mm->mm_lock_seq += 1;
}

/*
 * A read lock that only the running task's own threads ever take for write. If there are none, no other
 * CPU can have done so at an earlier time, and whether one is behind need not be asked.
 */
static inline bool read_lock_alone(const struct mm_struct *mm, struct rw_semaphore *s)
{
	struct world_cpu *c = world_self;

	if (unlikely(mm->mm_users > 1 || !rwsem_is_free(s, c, false)))
		return false;
	__rwsem_taken(c, s, false);
	return true;
}

static inline void mmap_write_unlock(struct mm_struct *mm)
{
	mm->mm_lock_seq += 1;
	up_write(&mm->mmap_sem);
}

/* Waits for faults at work in @vma and lets no new one in. mmap_sem held for write. */
void vma_start_write(struct vm_area_struct *vma);

static inline unsigned long vma_pages(const struct vm_area_struct *vma)
{
	return (vma->vm_end - vma->vm_start) >> PAGE_SHIFT;
}

static inline u64 vma_index(const struct vm_area_struct *vma, u64 va)
{
	return ((va - vma->vm_start) >> PAGE_SHIFT) + vma->vm_pgoff;
}

#endif
