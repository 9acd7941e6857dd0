/*
 * mlock(), mlock2(), munlock(), mlockall(), munlockall() (Linux mm/mlock.c).
 *
 * A locked range is one whose VMAs are VM_LOCKED. Making it so splits and merges VMAs, as mprotect()
 * does; then its pages are faulted in (populate, gup.c), unless they are to be locked when they are
 * first touched (VM_LOCKONFAULT, 4.4). What a page in such a VMA is, is mlock_page.c's subject.
 *
 * From 2.6.28 to 4.14 the calls began with lru_add_drain_all(): a page that waits in some CPU's batch
 * cannot be moved to the unevictable list. Mail 001 takes that out, knob mlock.drain. Wherever it is
 * left out such pages stay on ordinary lists until reclaim meets them.
 *
 * Without CAP_IPC_LOCK no more than RLIMIT_MEMLOCK can be locked. Errors are Linux's, odd ones too: a
 * length that wraps to 0 is none, and what cannot be faulted in is EAGAIN or ENOMEM as POSIX wants it.
 *
 * Left out: populating private mappings that mprotect() makes writable (4.2), SHM_LOCK, VM_SPECIAL.
 */
#include "core/mlock.h"

/* ---- limits ---------------------------------------------------------------------------------- */

void task_set_memlock(struct task *t, u64 bytes, bool cap_ipc_lock)
{
	t->mm->rlim_memlock = bytes;
	t->mm->cap_ipc_lock = cap_ipc_lock;
}

bool can_do_mlock(const struct mm_struct *mm)
{
	return mm->cap_ipc_lock || mm->rlim_memlock;
}

static bool memlock_fits(const struct mm_struct *mm, u64 nr_pages)
{
	return mm->cap_ipc_lock || nr_pages <= mm->rlim_memlock >> PAGE_SHIFT;
}

int mlock_future_check(const struct mm_struct *mm, u32 vm_flags, u64 nr_pages)
{
	if (vm_flags & VM_LOCKED && !memlock_fits(mm, mm->locked_vm + nr_pages))
		return -EAGAIN;
	return 0;
}

/* Pages of the range that are locked already, which today are not counted twice (4.9). */
static u64 count_mm_mlocked_pages(struct mm_struct *mm, u64 start, u64 end)
{
	struct vm_area_struct *vma = find_vma(mm, start);
	u64 nr = 0;

	for (; vma && vma->vm_start < end; vma = vma_next(mm, vma))
		if (vma->vm_flags & VM_LOCKED)
			nr += (min(end, vma->vm_end) - max(start, vma->vm_start)) >> PAGE_SHIFT;
	return nr;
}

/* ---- VMAs ------------------------------------------------------------------------------------ */

/*
 * Gives [@start, @end) of @vma @vm_flags. *@prev becomes the VMA that it is part of now, or stays
 * before it. mmap_sem held for write.
 */
static int mlock_fixup(struct machine *m, struct vm_area_struct *vma, struct vm_area_struct **prev,
                       u64 start, u64 end, u32 vm_flags)
{
	struct mm_struct *mm = vma->vm_mm;
	u32 old_flags = vma->vm_flags;
	long nr_pages = (long)((end - start) >> PAGE_SHIFT);
	int err;

	if (vm_flags == old_flags) {
		*prev = vma;
		return 0;
	}
	/* (In Linux there is a moment, after a merge, when reclaim may count a page that is counted here again.) */
	mm->mlock_counts = true;
	err = vma_modify_flags(m, &vma, *prev, start, end, vm_flags);
	*prev = vma;
	if (err)
		goto out;
	if (!(vm_flags & VM_LOCKED))
		nr_pages = -nr_pages;
	else if (old_flags & VM_LOCKED)
		nr_pages = 0;
	mm->locked_vm += (u64)nr_pages;
	if (!(vm_flags & old_flags & VM_LOCKED))
		mlock_vma_pages(m, vma, start, end);
out:
	mm->mlock_counts = false;
	return err;
}

/* mlock(), munlock(): VM_LOCKED and VM_LOCKONFAULT of a range become @flags. */
static int apply_vma_lock_flags(struct machine *m, struct mm_struct *mm, u64 start, u64 len,
                                u32 flags)
{
	struct vm_area_struct *vma, *prev;
	u64 end = start + len;
	int err;

	if (end < start)
		return -EINVAL;
	if (end == start)
		return 0;
	vma = find_vma(mm, start);
	if (!vma || vma->vm_start > start)
		return -ENOMEM;
	prev = start > vma->vm_start ? vma : vma_prev(vma);
	for (;;) {
		u32 vm_flags = (vma->vm_flags & ~VM_LOCKED_MASK) | flags;

		err = mlock_fixup(m, vma, &prev, start, min(end, vma->vm_end), vm_flags);
		if (err)
			return err;
		start = max(min(end, vma->vm_end), prev->vm_end);
		if (start >= end)
			return 0;
		vma = vma_next(mm, prev);
		if (!vma || vma->vm_start != start)
			return -ENOMEM;
	}
}

/* mlockall(), munlockall(): those of all mappings. Errors do not show, in Linux either. */
static void apply_mlockall_flags(struct machine *m, struct mm_struct *mm, int flags)
{
	u32 onfault = flags & MM_MCL_ONFAULT ? VM_LOCKONFAULT : 0;
	struct vm_area_struct *prev = NULL;
	struct vm_area_struct *vma;

	mm->def_flags &= ~VM_LOCKED_MASK;
	if (flags & MM_MCL_FUTURE)
		mm->def_flags |= VM_LOCKED | onfault;
	if (flags && !(flags & MM_MCL_CURRENT))
		return;
	for (vma = vma_next(mm, NULL); vma; vma = vma_next(mm, prev)) {
		u32 vm_flags = vma->vm_flags & ~VM_LOCKED_MASK;

		if (flags & MM_MCL_CURRENT)
			vm_flags |= VM_LOCKED | onfault;
		mlock_fixup(m, vma, &prev, vma->vm_start, vma->vm_end, vm_flags);
		world_cond_resched();
	}
}

/*
 * VMAs of [@start, @end) are about to be unmapped. To 5.17 their pages are unlocked first, each with
 * its page lock; today when their ptes go. mmap_sem held for write, or nobody else uses @mm.
 */
void munlock_before_unmap(struct machine *m, struct mm_struct *mm, u64 start, u64 end)
{
	struct vm_area_struct *vma;

	if (likely(!mm->locked_vm))
		return;
	for (vma = find_vma(mm, start); vma && vma->vm_start < end; vma = vma_next(mm, vma)) {
		if (!(vma->vm_flags & VM_LOCKED))
			continue;
		mm->locked_vm -= vma_pages(vma);
		if (mlock_today(m))
			continue;
		vma->vm_flags &= ~VM_LOCKED_MASK;
		mlock_vma_pages(m, vma, vma->vm_start, vma->vm_end);
	}
}

/* ---- the calls ------------------------------------------------------------------------------- */

static void drain_for_mlock(struct machine *m)
{
	if (m->knob.mlock_drain == MLOCK_DRAIN_ALL)
		lru_add_drain_all(m, false);
	else if (m->knob.mlock_drain == MLOCK_DRAIN_COUNTED)
		lru_add_drain_all(m, true);
}

/* What POSIX says of memory that could not be faulted in. */
static int mlock_posix_error(int err)
{
	if (err == -EFAULT)
		return -ENOMEM;
	return err == -ENOMEM ? -EAGAIN : err;
}

/* Whole pages, byte-granular as the range may be. A length that wraps to 0 asks for nothing. */
static void mlock_range(u64 *va, u64 *len)
{
	*len = ALIGN(*len + (*va & ~PAGE_MASK), PAGE_SIZE);
	*va &= PAGE_MASK;
}

static int __do_mlock(struct machine *m, struct mm_struct *mm, u64 start, u64 len, u32 flags)
{
	u64 nr_pages;
	int err;

	if (!can_do_mlock(mm))
		return -EPERM;
	drain_for_mlock(m);
	mlock_range(&start, &len);
	mmap_write_lock(mm);
	nr_pages = (len >> PAGE_SHIFT) + mm->locked_vm;
	if (!memlock_fits(mm, nr_pages) && mlock_today(m))
		nr_pages -= count_mm_mlocked_pages(mm, start, start + len);
	err = -ENOMEM;
	if (memlock_fits(mm, nr_pages))
		err = apply_vma_lock_flags(m, mm, start, len, flags);
	mmap_write_unlock(mm);
	return err ? err : mlock_posix_error(mm_populate(m, mm, start, len, false));
}

static int mlock_call(struct machine *m, u64 va, u64 len, u32 flags)
{
	struct task *t = sys_enter(SPAN_MLOCK);
	u64 since = world_now();
	int err;

	charge(COST_MLOCK);
	err = __do_mlock(m, t->mm, va, len, flags);
	world_latency(HIST_MLOCK, since);
	return sys_exit(t, err);
}

int do_mlock(struct machine *m, u64 va, u64 len)
{
	return mlock_call(m, va, len, VM_LOCKED);
}

int do_mlock2(struct machine *m, u64 va, u64 len, int flags)
{
	if (flags & ~MM_MLOCK_ONFAULT)
		return sys_exit(sys_enter(SPAN_MLOCK), -EINVAL);
	return mlock_call(m, va, len, VM_LOCKED | (flags & MM_MLOCK_ONFAULT ? VM_LOCKONFAULT : 0));
}

int do_munlock(struct machine *m, u64 va, u64 len)
{
	struct task *t = sys_enter(SPAN_MUNLOCK);
	u64 since = world_now();
	int err;

	charge(COST_MLOCK);
	mlock_range(&va, &len);
	mmap_write_lock(t->mm);
	err = apply_vma_lock_flags(m, t->mm, va, len, 0);
	mmap_write_unlock(t->mm);
	world_latency(HIST_MUNLOCK, since);
	return sys_exit(t, err);
}

static int __do_mlockall(struct machine *m, struct mm_struct *mm, int flags)
{
	int err = -ENOMEM;

	if (!flags || flags & ~(MM_MCL_CURRENT | MM_MCL_FUTURE | MM_MCL_ONFAULT) ||
	    flags == MM_MCL_ONFAULT)
		return -EINVAL;
	if (!can_do_mlock(mm))
		return -EPERM;
	if (flags & MM_MCL_CURRENT)
		drain_for_mlock(m);
	mmap_write_lock(mm);
	if (!(flags & MM_MCL_CURRENT) || memlock_fits(mm, mm->total_vm)) {
		apply_mlockall_flags(m, mm, flags);
		err = 0;
	}
	mmap_write_unlock(mm);
	if (!err && flags & MM_MCL_CURRENT)
		mm_populate(m, mm, 0, TASK_SIZE, true);
	return err;
}

int do_mlockall(struct machine *m, int flags)
{
	struct task *t = sys_enter(SPAN_MLOCK);

	charge(COST_MLOCK);
	return sys_exit(t, __do_mlockall(m, t->mm, flags));
}

int do_munlockall(struct machine *m)
{
	struct task *t = sys_enter(SPAN_MUNLOCK);

	charge(COST_MLOCK);
	mmap_write_lock(t->mm);
	apply_mlockall_flags(m, t->mm, 0);
	mmap_write_unlock(t->mm);
	return sys_exit(t, 0);
}
