/*
 * mmap(), munmap() and brk() (Linux mm/mmap.c). VMAs themselves are vma.c's.
 *
 * mmap() places top-down from MMAP_BASE, in the highest hole that fits.
 *
 * Left out: MAP_FIXED, stack growth, address randomization.
 */
#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/khugepaged.h"
#include "core/mlock.h"

/* ---- mmap() --------------------------------------------------------------------------------------------- */

/* Would huge pages fit into it, if it lay as they must? @off: of a file, in bytes. */
static bool wants_huge_alignment(const struct machine *m, const struct file *file, u64 off, u64 len)
{
	if (!m->knob.mmap_align)
		return false;
	if (!file)
		return !(len & ~PMD_MASK);
	return !mapping_is_shmem(&file->f_inode->i_data) &&
	       off + len >= ALIGN(off, PMD_SIZE) + PMD_SIZE;
}

/*
 * Where to map @len bytes of @file (NULL: of nothing) from @off on; 0: there is no room. If huge pages could be
 * mapped there, the place is as far from a multiple of 2 MiB as @off is (thp_get_unmapped_area()): it is
 * cut out of a hole that has 2 MiB more.
 */
u64 get_unmapped_area(const struct machine *m, const struct mm_struct *mm, const struct file *file,
                      u64 off, u64 len)
{
	u64 room = 0;
	u64 more;

	if (wants_huge_alignment(m, file, off, len))
		room = vm_unmapped_area(mm, len + PMD_SIZE);
	if (!room)
		return vm_unmapped_area(mm, len);
	more = ((file ? off : 0) - room) & ~PMD_MASK; /* anonymous memory has no offset here */
	return room + (more ? more : PMD_SIZE);
}

static u32 calc_vm_flags(const struct machine *m, int prot, int flags)
{
	u32 vm_flags = 0;

	if (prot & MM_PROT_READ)
		vm_flags |= VM_READ;
	if (prot & MM_PROT_WRITE)
		vm_flags |= VM_WRITE;
	if (prot & MM_PROT_EXEC)
		vm_flags |= VM_EXEC;
	if (flags & MM_MAP_SHARED)
		vm_flags |= VM_SHARED;
	/* Where nothing is promised twice, everybody must ask. */
	if (flags & MM_MAP_NORESERVE && m->knob.overcommit_memory != OVERCOMMIT_NEVER)
		vm_flags |= VM_NORESERVE;
	else if (prot & MM_PROT_WRITE && !(flags & MM_MAP_SHARED))
		vm_flags |= VM_ACCOUNT;
	if (flags & MM_MAP_LOCKED)
		vm_flags |= VM_LOCKED;
	return vm_flags;
}

static int __mmap_region(struct machine *m, struct mm_struct *mm, u64 addr, u64 len, u32 vm_flags,
                         struct file *file, u64 pgoff)
{
	struct vm_area_struct *next = find_vma(mm, addr);
	struct vm_area_struct *prev = next ? vma_prev(next) : vma_last(mm);
	struct vm_area_struct *vma;

	vma = vma_merge(m, mm, prev, addr, addr + len, vm_flags, file, NULL, pgoff);
	if (!vma) {
		if (mm->map_count >= MAX_MAP_COUNT)
			return -ENOMEM;
		vma = vm_area_alloc(m, mm);
		if (!vma)
			return -ENOMEM;
		vma->vm_start = addr;
		vma->vm_end = addr + len;
		vma->vm_pgoff = pgoff;
		vma->vm_flags = vm_flags;
		if (file) {
			get_file(file);
			vma->vm_file = file;
			vma_link_file(m, vma);
		}
		vma_start_write(vma);
		vma_link(mm, vma);
		charge(COST_VMA_OP);
	}
	mm->total_vm += len >> PAGE_SHIFT;
	if (vm_flags & VM_LOCKED)
		mm->locked_vm += len >> PAGE_SHIFT;
	return 0;
}

/* Maps [@addr, @addr + @len), which is free, with @vm_flags: @file from page @pgoff on, or (NULL)
 * anonymous memory, whose offset is its address. */
static int mmap_region(struct machine *m, struct mm_struct *mm, u64 addr, u64 len, u32 vm_flags,
                       struct file *file, u64 pgoff)
{
	unsigned long charged = vm_flags & VM_ACCOUNT ? len >> PAGE_SHIFT : 0;
	int err;

	if (charged && vm_enough_memory(m, mm, charged))
		return -ENOMEM;
	err = __mmap_region(m, mm, addr, len, vm_flags, file, pgoff);
	if (err)
		vm_unacct_memory(m, charged);
	return err;
}

/* May @nr_pages more be mapped with these flags? */
static int may_lock(const struct mm_struct *mm, int flags, u32 vm_flags, u64 nr_pages)
{
	if (flags & MM_MAP_LOCKED && !can_do_mlock(mm))
		return -EPERM;
	return mlock_future_check(mm, vm_flags, nr_pages);
}

static int __do_mmap(struct machine *m, struct file *file, u64 pgoff, u64 len, int prot, int flags,
                     u64 *va)
{
	struct task *t = current_task();
	struct mm_struct *mm = t->mm;
	u32 vm_flags;
	u64 addr;
	int err = -ENOMEM;

	if (!len)
		return -EINVAL;
	if (len > TASK_SIZE)
		return -ENOMEM;
	len = ALIGN(len, PAGE_SIZE);
	mmap_write_lock(mm);
	vm_flags = calc_vm_flags(m, prot, flags) | mm->def_flags;
	addr = get_unmapped_area(m, mm, file, pgoff << PAGE_SHIFT, len);
	if (addr)
		err = may_lock(mm, flags, vm_flags, len >> PAGE_SHIFT);
	if (!err)
		err = mmap_region(m, mm, addr, len, vm_flags, file,
		                  file ? pgoff : addr >> PAGE_SHIFT);
	if (!err) {
		*va = addr;
		if (file)
			world_contents_map(&mm->as, addr, addr + len, file->f_inode->nr_created,
			                   pgoff, flags & MM_MAP_SHARED);
	}
	mmap_write_unlock(mm);
	/* That it could not be filled is no error. */
	if (!err && (vm_flags & VM_LOCKED || flags & MM_MAP_POPULATE))
		mm_populate(m, mm, addr, len, true);
	return err;
}

/* Shared by the children to come: a file that nobody else can find (shmem_zero_setup()). */
static int mmap_shared_anon(struct machine *m, u64 len, int prot, int flags, u64 *va)
{
	bool noreserve = flags & MM_MAP_NORESERVE && m->knob.overcommit_memory != OVERCOMMIT_NEVER;
	struct file *file;
	int err;

	if (!len || len > TASK_SIZE)
		return len ? -ENOMEM : -EINVAL;
	err = shmem_file_setup(m, "dev/zero", ALIGN(len, PAGE_SIZE), noreserve, &file);
	if (err)
		return err;
	err = __do_mmap(m, file, 0, len, prot, flags, va);
	fput(m, file);
	return err;
}

int do_mmap(struct machine *m, u64 len, int prot, int flags, u64 *va)
{
	struct task *t = sys_enter(SPAN_MMAP);

	if (flags & MM_MAP_SHARED)
		return sys_exit(t, mmap_shared_anon(m, len, prot, flags, va));
	return sys_exit(t, __do_mmap(m, NULL, 0, len, prot, flags, va));
}

int do_mmap_file(struct machine *m, u32 fd, u64 offset, u64 len, int prot, int flags, u64 *va)
{
	struct task *t = sys_enter(SPAN_MMAP);
	u64 pgoff = offset >> PAGE_SHIFT;
	int err;

	if (offset & ~PAGE_MASK)
		err = -EINVAL;
	else if (len && len <= TASK_SIZE && pgoff > XA_INDEX_MAX - (len >> PAGE_SHIFT))
		err = -EOVERFLOW; /* Linux: from 8 EiB on; there is nothing to see before either */
	else
		err = __do_mmap(m, fd_file(m, fd), pgoff, len, prot, flags, va);
	return sys_exit(t, err);
}

/* ---- munmap() ------------------------------------------------------------------------------------------- */

/*
 * Makes @start and @end boundaries of VMAs. A hole in the middle of one needs room for one more; on
 * the way there may be another above the limit.
 */
static int split_around(struct machine *m, struct mm_struct *mm, u64 start, u64 end)
{
	struct vm_area_struct *vma = find_vma(mm, start);
	int err;

	if (vma && start > vma->vm_start) {
		if (end < vma->vm_end && mm->map_count >= MAX_MAP_COUNT)
			return -ENOMEM;
		err = __split_vma(m, vma, start, false);
		if (err)
			return err;
	}
	vma = find_vma(mm, end);
	if (vma && end > vma->vm_start)
		return __split_vma(m, vma, end, true);
	return 0;
}

/*
 * Unmaps the VMAs from @first to @end, which is a boundary: their pages, then, once reverse walks cannot
 * find them, their tables. They stay in the tree till the end; nobody looks, since mmap_sem is held for
 * write and each is write-locked.
 */
static void unmap_region(struct machine *m, struct mm_struct *mm, struct vm_area_struct *first,
                         u64 end)
{
	struct vm_area_struct *prev = vma_prev(first);
	struct vm_area_struct *vma, *next;
	unsigned long nr_accounted = 0;
	u64 start = first->vm_start;
	struct mmu_gather tlb;

	lru_add_drain(m);
	tlb_gather_mmu(&tlb, m, mm, false);
	for (vma = first; vma && vma->vm_start < end; vma = vma_next(mm, vma)) {
		vma_start_write(vma);
		unmap_vma_range(&tlb, vma, start, end);
	}
	tlb_finish_mmu(&tlb);
	world_contents_zero(&mm->as, start, end, true);
	for (vma = first; vma && vma->vm_start < end; vma = vma_next(mm, vma)) {
		unlink_anon_vmas(m, vma);
		if (unlikely(vma->vm_file)) {
			world_contents_map(&mm->as, vma->vm_start, vma->vm_end, 0, 0, false);
			unlink_file_vma(m, vma);
		}
	}
	free_pgtables(m, mm, start, end, prev ? prev->vm_end : 0, vma ? vma->vm_start : 0);
	for (vma = first; vma && vma->vm_start < end; vma = next) {
		next = vma_next(mm, vma);
		charge(COST_VMA_OP);
		mm->total_vm -= vma_pages(vma);
		nr_accounted += vma->vm_flags & VM_ACCOUNT ? vma_pages(vma) : 0;
		vma_unlink(mm, vma);
		vm_area_free(m, vma);
	}
	vm_unacct_memory(m, nr_accounted);
}

int __do_munmap(struct machine *m, struct mm_struct *mm, u64 start, u64 len)
{
	struct vm_area_struct *vma;
	u64 end;
	int err;

	if ((start & ~PAGE_MASK) || start > TASK_SIZE || len > TASK_SIZE - start || !len)
		return -EINVAL;
	end = start + ALIGN(len, PAGE_SIZE);
	vma = find_vma(mm, start);
	if (!vma || vma->vm_start >= end)
		return 0;
	err = split_around(m, mm, start, end);
	if (err)
		return err;
	munlock_before_unmap(m, mm, start, end);
	unmap_region(m, mm, find_vma(mm, start), end);
	return 0;
}

int do_munmap(struct machine *m, u64 va, u64 len)
{
	struct task *t = sys_enter(SPAN_MUNMAP);
	int err;

	mmap_write_lock(t->mm);
	err = __do_munmap(m, t->mm, va, len);
	mmap_write_unlock(t->mm);
	return sys_exit(t, err);
}

/* ---- brk() ------------------------------------------------------------------------------------------------ */

/* Moves the break to @brk: 0, or why it stays. */
static int set_brk(struct machine *m, struct mm_struct *mm, u64 brk)
{
	u64 old_end = ALIGN(mm->brk, PAGE_SIZE);
	u64 new_end = ALIGN(brk, PAGE_SIZE);
	struct vm_area_struct *next;
	u32 vm_flags;
	int err = 0;

	if (brk < mm->start_brk || brk >= MMAP_BASE)
		return -EINVAL;
	if (new_end < old_end) {
		err = __do_munmap(m, mm, new_end, old_end - new_end);
	} else if (new_end > old_end) {
		next = find_vma(mm, old_end);
		if (next && next->vm_start < new_end + PAGE_SIZE)
			return -ENOMEM;
		vm_flags = VM_READ | VM_WRITE | VM_ACCOUNT | mm->def_flags;
		err = mlock_future_check(mm, vm_flags, (new_end - old_end) >> PAGE_SHIFT);
		if (!err)
			err = mmap_region(m, mm, old_end, new_end - old_end, vm_flags, NULL,
			                  old_end >> PAGE_SHIFT);
	}
	if (!err)
		mm->brk = brk;
	return err;
}

/* As the system call, it answers with the break that is now; an @brk that cannot be is no error. */
int do_brk(struct machine *m, u64 brk, u64 *now)
{
	struct task *t = sys_enter(SPAN_BRK);
	struct mm_struct *mm = t->mm;
	bool populate;
	u64 old;

	mmap_write_lock(mm);
	old = ALIGN(mm->brk, PAGE_SIZE);
	if (brk)
		set_brk(m, mm, brk);
	*now = mm->brk;
	populate = mm->def_flags & VM_LOCKED && ALIGN(*now, PAGE_SIZE) > old;
	mmap_write_unlock(mm);
	if (populate)
		mm_populate(m, mm, old, ALIGN(*now, PAGE_SIZE) - old, true);
	return sys_exit(t, 0);
}
