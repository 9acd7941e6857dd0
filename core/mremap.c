/*
 * mremap(): mappings that grow, shrink and move (Linux mm/mremap.c).
 *
 * A mapping shrinks by munmap() of its end, and grows in place if what follows is free. Otherwise it
 * moves, if it may: a copy of its VMA at the new place takes over the entries of the page tables, with
 * the pages or swap slots they name, and the old place is unmapped. Pages keep their offset in the
 * object they belong to, so that the reverse map finds them at the new address without being told; which
 * is why the offset of a moved anonymous VMA is no longer its address.
 *
 * Entries are moved one by one under the locks of both tables. Where both ends lie alike in 2 MiB, a huge
 * entry moves as one (3.2), and so does a whole leaf table (5.0): knob mremap.move. A reverse walk that
 * visits the new place before the old one could miss an entry that moves behind its back; then, and when
 * tables move, it is kept out.
 *
 * Errors are Linux's. Left out: MREMAP_DONTUNMAP (5.7), moving tables of the third level (5.11), several
 * VMAs at once (6.17).
 */
#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/mlock.h"

/* One move of page tables. */
struct pt_move {
	struct machine *m;
	struct vm_area_struct *vma; /* they leave */
	u64 from;                   /* how far it has come */
	u64 to;
	u64 end;         /* of the old range */
	bool rmap_locks; /* a reverse walk comes to the new place first */
	bool need_flush; /* something was mapped, and its translations are still about */
};

/* ---- keeping reverse walks out ------------------------------------------------------------------- */

static void take_rmap_locks(struct pt_move *mv)
{
	if (mv->vma->vm_file)
		i_mmap_lock_write(mv->m, vma_mapping(mv->vma));
	if (mv->vma->anon_vma)
		anon_vma_lock_write(mv->vma->anon_vma);
}

static void drop_rmap_locks(struct pt_move *mv)
{
	if (mv->vma->anon_vma)
		anon_vma_unlock_write(mv->vma->anon_vma);
	if (mv->vma->vm_file)
		i_mmap_unlock_write(mv->m, vma_mapping(mv->vma));
}

/* ---- entries -------------------------------------------------------------------------------------- */

/* [mv->from, @end), which lies in one leaf table, goes to @to_table. Both ends are in one of them. */
static void move_ptes(struct pt_move *mv, u32 from_table, u32 to_table, u64 end)
{
	struct machine *m = mv->m;
	struct mm_struct *mm = mv->vma->vm_mm;
	pte_t *from = pt_entry(m, from_table, mv->from);
	pte_t *to = pt_entry(m, to_table, mv->to);
	u64 nr = (end - mv->from) >> PAGE_SHIFT;
	u64 nr_moved = 0;
	bool present = false;

	if (mv->rmap_locks)
		take_rmap_locks(mv);
	spin_lock(&m->table[from_table].ptl);
	if (to_table != from_table)
		spin_lock(&m->table[to_table].ptl);
	flush_tlb_batched_pending(mm);
	for (u64 i = 0; i < nr; i++) {
		pte_t pte = from[i];

		if (pte_none(pte))
			continue;
		VM_BUG_ON(!pte_none(to[i]));
		present |= pte_present(pte);
		set_pte(m, from_table, &from[i], (pte_t){0});
		set_pte(m, to_table, &to[i], pte);
		nr_moved += 1;
	}
	world_contents_move(&mm->as, mv->from, mv->to, end - mv->from);
	charge_n(COST_PTE, nr + 2 * nr_moved);
	/* Before the lock goes: what was moved may be unmapped, and its page another's, at once. */
	if (present && m->knob.mremap_flush == MREMAP_FLUSH_TABLE)
		world_tlb_flush(&mm->as, mv->from, end);
	else
		mv->need_flush |= present;
	if (to_table != from_table)
		spin_unlock(&m->table[to_table].ptl);
	spin_unlock(&m->table[from_table].ptl);
	if (mv->rmap_locks)
		drop_rmap_locks(mv);
}

/* ---- 2 MiB at once ------------------------------------------------------------------------------------ */

/*
 * Moves the entry of 2 MiB, a huge one (or the migration entry of one) or (@table) one that names a leaf table. False: it is of the other
 * kind, or there is something at the new place; then go by entries.
 */
static bool move_pmd(struct pt_move *mv, bool table)
{
	struct machine *m = mv->m;
	struct mm_struct *mm = mv->vma->vm_mm;
	pte_t *from, *to;
	u32 to_table = pt_pmd_alloc(m, mm, mv->to, &to);
	u32 from_table = pt_find_pmd(m, mm, mv->from, &from);
	bool moved = false;

	if (!to_table || !from_table)
		return false;
	if (table || mv->rmap_locks)
		take_rmap_locks(mv);
	spin_lock(pmd_lockptr(m, from_table));
	if (to_table != from_table)
		spin_lock(pmd_lockptr(m, to_table));
	charge_n(COST_PTE, 4);
	if (pte_none(*to) && !pte_none(*from) && pmd_leaf(*from) != table) {
		pte_t entry = *from;

		set_pte(m, from_table, from, (pte_t){0});
		set_pte(m, to_table, to, entry);
		if (!table && from_table != to_table) /* the table laid aside goes with it */
			pt_deposit(m, to_table, pt_withdraw(m, from_table));
		mm->as.table_gen += 1;
		mm->leaf_cache = 0;
		mm->rmap_leaf_cache = 0;
		world_contents_move(&mm->as, mv->from, mv->to, PMD_SIZE);
		if (table || m->knob.mremap_flush == MREMAP_FLUSH_TABLE)
			world_tlb_flush(&mm->as, mv->from, mv->from + PMD_SIZE);
		else
			mv->need_flush = true;
		moved = true;
	}
	if (to_table != from_table)
		spin_unlock(pmd_lockptr(m, to_table));
	spin_unlock(pmd_lockptr(m, from_table));
	if (table || mv->rmap_locks)
		drop_rmap_locks(mv);
	return moved;
}

/* A huge entry at mv->from: moved as one, or made a table. True: moved. */
static bool move_huge(struct pt_move *mv, u64 end)
{
	if (mv->m->knob.mremap_move != MREMAP_MOVE_PTES && end - mv->from == PMD_SIZE &&
	    !(mv->to & ~PMD_MASK) && move_pmd(mv, false))
		return true;
	split_huge_pmd(mv->m, mv->vma, mv->from);
	return false;
}

/* Up to 2 MiB, within one table at both ends. False: out of frames. */
static bool move_extent(struct pt_move *mv, u32 from_table, u64 end)
{
	u32 to_table;

	if (mv->m->knob.mremap_move == MREMAP_MOVE_TABLES && end - mv->from == PMD_SIZE &&
	    !(mv->to & ~PMD_MASK) && move_pmd(mv, true))
		return true;
	to_table = pt_find_alloc(mv->m, mv->vma->vm_mm, mv->to);
	if (!to_table)
		return false;
	VM_BUG_ON(to_table == PT_HUGE);
	move_ptes(mv, from_table, to_table, end);
	return true;
}

/*
 * Moves what is mapped in @len bytes at @old to @new. How much of it: less than all only if frames for
 * tables run out. mmap_sem held for write, both VMAs write-locked. May switch tasks.
 */
static u64 move_page_tables(struct machine *m, struct vm_area_struct *vma, u64 old, u64 new,
                            u64 len, bool rmap_locks)
{
	struct pt_move mv = {
		.m = m,
		.vma = vma,
		.from = old,
		.to = new,
		.end = old + len,
		.rmap_locks = rmap_locks,
	};
	u32 table;

	while (mv.from < mv.end) {
		u64 va = mv.from;
		u64 end;

		world_cond_resched();
		table = pt_next_leaf(m, vma->vm_mm, &va, mv.end);
		if (!table)
			va = mv.end;
		mv.to += va - mv.from;
		mv.from = va;
		if (va == mv.end)
			break;
		end = min3(mv.end, (va & PMD_MASK) + PMD_SIZE, va + PMD_SIZE - (mv.to & ~PMD_MASK));
		if (table == PT_HUGE) {
			if (!move_huge(&mv, end))
				continue; /* a table now */
		} else if (!move_extent(&mv, table, end)) {
			break;
		}
		mv.to += end - va;
		mv.from = end;
	}
	if (mv.need_flush)
		world_tlb_flush(&vma->vm_mm->as, old, mv.end);
	return mv.from - old;
}

/* ---- the VMA -------------------------------------------------------------------------------------------- */

/*
 * A VMA for [@addr, @addr + @len) that shows what *@vmap shows from @pgoff on: a neighbour that takes it
 * in, or a copy. *@vmap itself may be that neighbour. *@rmap_locks: see struct pt_move.
 */
static struct vm_area_struct *copy_vma(struct machine *m, struct vm_area_struct **vmap, u64 addr,
                                       u64 len, u64 pgoff, bool *rmap_locks)
{
	struct vm_area_struct *vma = *vmap;
	struct mm_struct *mm = vma->vm_mm;
	struct vm_area_struct *next, *prev, *new;
	u64 start = vma->vm_start;

	/* Nothing has been mapped: it begins anew, and may merge with what is there. */
	if (!vma->vm_file && !vma->anon_vma)
		pgoff = addr >> PAGE_SHIFT;
	next = find_vma(mm, addr);
	prev = next ? vma_prev(next) : vma_last(mm);
	new = vma_merge(m, mm, prev, addr, addr + len, vma->vm_flags, vma->vm_file, vma->anon_vma,
	                pgoff);
	if (new) {
		if (start >= new->vm_start && start < new->vm_end)
			*vmap = vma = new;
		*rmap_locks = new->vm_pgoff <= vma->vm_pgoff;
		return new;
	}
	*rmap_locks = false;
	new = vm_area_dup(m, vma);
	if (!new)
		return NULL;
	new->vm_start = addr;
	new->vm_end = addr + len;
	new->vm_pgoff = pgoff;
	if (anon_vma_clone(m, new, vma)) {
		vm_area_free(m, new);
		return NULL;
	}
	if (new->vm_file) {
		get_file(new->vm_file);
		vma_link_file(m, new);
	}
	vma_start_write(new);
	vma_link(mm, new);
	charge(COST_VMA_OP);
	return new;
}

/* What is accounted of a VMA, part of which is about to go without giving its share back. */
struct vma_excess {
	u64 nr_pages;
	bool split; /* it will be in two pieces */
};

/*
 * Unmaps the old place. Its pages' share of Committed_AS has gone over to the new one: VM_ACCOUNT is
 * hidden meanwhile.
 */
static void unmap_old(struct machine *m, struct vm_area_struct *vma, u64 addr, u64 len)
{
	struct mm_struct *mm = vma->vm_mm;
	struct vma_excess excess = {0};

	if (vma->vm_flags & VM_ACCOUNT) {
		vma->vm_flags &= ~VM_ACCOUNT;
		excess.nr_pages = vma_pages(vma) - (len >> PAGE_SHIFT);
		excess.split = addr > vma->vm_start && addr + len < vma->vm_end;
	}
	if (__do_munmap(m, mm, addr, len)) {
		/* No memory to split it: it stays whole, and its account is wrong in Linux, too. */
		vm_unacct_memory(m, excess.nr_pages);
		return;
	}
	if (!excess.nr_pages)
		return;
	vma->vm_flags |= VM_ACCOUNT;
	if (excess.split)
		vma_next(mm, vma)->vm_flags |= VM_ACCOUNT;
}

/*
 * [@old, @old + @old_len) of @vma goes to @new, as @new_len bytes. Memory that it grows by has been
 * accounted. 0 or -ENOMEM: everything is where it was.
 */
static int move_vma(struct machine *m, struct vm_area_struct *vma, u64 old, u64 old_len, u64 new,
                    u64 new_len)
{
	struct mm_struct *mm = vma->vm_mm;
	u64 pgoff = vma_index(vma, old);
	struct vm_area_struct *new_vma;
	bool rmap_locks;
	u64 moved;

	/* Two splits of the old one, and the new one. */
	if (mm->map_count >= MAX_MAP_COUNT - 3)
		return -ENOMEM;
	vma_start_write(vma);
	new_vma = copy_vma(m, &vma, new, new_len, pgoff, &rmap_locks);
	if (!new_vma)
		return -ENOMEM;
	mm->total_vm += new_len >> PAGE_SHIFT;
	if (vma->vm_flags & VM_LOCKED)
		mm->locked_vm += new_len >> PAGE_SHIFT;
	if (vma->vm_file)
		world_contents_map(&mm->as, new, new + new_len, vma->vm_file->f_inode->nr_created,
		                   pgoff, vma->vm_flags & VM_SHARED);
	moved = move_page_tables(m, vma, old, new, old_len, rmap_locks);
	if (moved < old_len) {
		/* Back, which needs no tables: they are still there. */
		move_page_tables(m, new_vma, new, old, moved, true);
		unmap_old(m, new_vma, new, new_len);
		return -ENOMEM;
	}
	if (old_len)
		unmap_old(m, vma, old, old_len);
	return 0;
}

/* ---- may it? --------------------------------------------------------------------------------------------- */

/*
 * The VMA that [@addr, @addr + @old_len) lies in, if that may become @new_len bytes: *@vmap. Memory that it
 * grows by is accounted then, *@charged pages of it.
 */
static int vma_to_resize(struct machine *m, struct mm_struct *mm, u64 addr, u64 old_len,
                         u64 new_len, struct vm_area_struct **vmap, u64 *charged)
{
	struct vm_area_struct *vma = find_vma(mm, addr);
	u64 nr_pages = (new_len - old_len) >> PAGE_SHIFT;

	if (!vma || vma->vm_start > addr)
		return -EFAULT;
	/* A second mapping of the same: only what is shared can have one. */
	if (!old_len && !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (old_len > vma->vm_end - addr)
		return -EFAULT;
	*vmap = vma;
	if (new_len == old_len)
		return 0;
	if (vma->vm_flags & VM_LOCKED && mlock_future_check(mm, VM_LOCKED, nr_pages))
		return -EAGAIN;
	if (!(vma->vm_flags & VM_ACCOUNT))
		return 0;
	if (vm_enough_memory(m, mm, nr_pages))
		return m->knob.mremap_errors == MREMAP_ERRORS_4_0 ? -EFAULT : -ENOMEM;
	*charged = nr_pages;
	return 0;
}

/* MREMAP_FIXED: to @new, whatever is there. */
static int mremap_to(struct machine *m, struct mm_struct *mm, u64 addr, u64 old_len, u64 new,
                     u64 new_len)
{
	struct vm_area_struct *vma;
	u64 charged = 0;
	int err;

	if (new & ~PAGE_MASK || new_len > TASK_SIZE || new > TASK_SIZE - new_len)
		return -EINVAL;
	if (addr + old_len > new &&new + new_len > addr)
		return -EINVAL;
	if (mm->map_count + 2 >= MAX_MAP_COUNT - 3)
		return -ENOMEM;
	err = __do_munmap(m, mm, new, new_len);
	if (!err && old_len > new_len) {
		err = __do_munmap(m, mm, addr + new_len, old_len - new_len);
		old_len = new_len;
	}
	if (!err)
		err = vma_to_resize(m, mm, addr, old_len, new_len, &vma, &charged);
	if (!err && new < MMAP_MIN_ADDR) /* vm.mmap_min_addr */
		err = -EPERM;
	if (!err)
		err = move_vma(m, vma, addr, old_len, new, new_len);
	if (err)
		vm_unacct_memory(m, charged);
	return err;
}

/* The VMA ends where the range does, and nothing is in the way of @delta more bytes. */
static bool vma_expandable(const struct mm_struct *mm, const struct vm_area_struct *vma, u64 delta)
{
	const struct vm_area_struct *next = vma_next(mm, vma);
	u64 end = vma->vm_end + delta;

	return end > vma->vm_end && end <= TASK_SIZE && !(next && next->vm_start < end);
}

static bool expand_in_place(struct machine *m, struct vm_area_struct *vma, u64 delta)
{
	struct mm_struct *mm = vma->vm_mm;
	u64 end = vma->vm_end;
	u64 nr_old = vma_pages(vma);
	struct file *file = vma->vm_file;
	u64 pgoff = vma->vm_pgoff + nr_old;
	u32 vm_flags = vma->vm_flags;

	if (!vma_merge(m, mm, vma, end, end + delta, vm_flags, file, vma->anon_vma, pgoff))
		return false;
	mm->total_vm += delta >> PAGE_SHIFT;
	if (vm_flags & VM_LOCKED)
		mm->locked_vm += delta >> PAGE_SHIFT;
	if (file)
		world_contents_map(&mm->as, end, end + delta, file->f_inode->nr_created, pgoff,
		                   vm_flags & VM_SHARED);
	return true;
}

/* Grows: in place, or else elsewhere, if it may. *@new is where it is then. */
static int mremap_grow(struct machine *m, struct mm_struct *mm, u64 addr, u64 old_len, u64 new_len,
                       int flags, u64 *new)
{
	struct vm_area_struct *vma;
	u64 charged = 0;
	int err = vma_to_resize(m, mm, addr, old_len, new_len, &vma, &charged);

	if (err)
		return err;
	*new = addr;
	if (old_len == vma->vm_end - addr && vma_expandable(mm, vma, new_len - old_len)) {
		if (expand_in_place(m, vma, new_len - old_len))
			return 0;
		err = -ENOMEM;
		goto out_unacct;
	}
	err = -ENOMEM;
	if (!(flags & MM_MREMAP_MAYMOVE))
		goto out_unacct;
	*new = get_unmapped_area(m, mm, vma->vm_file,
	                         (vma->vm_pgoff << PAGE_SHIFT) + (addr - vma->vm_start), new_len);
	if (*new)
		err = move_vma(m, vma, addr, old_len, *new, new_len);
	if (!err)
		return 0;
out_unacct:
	vm_unacct_memory(m, charged);
	return err;
}

/* ---- the call ---------------------------------------------------------------------------------------------- */

static int __do_mremap(struct machine *m, struct mm_struct *mm, u64 addr, u64 old_len, u64 new_len,
                       int flags, u64 *new)
{
	struct vm_area_struct *vma = find_vma(mm, addr);

	if (!vma || vma->vm_start > addr)
		return -EFAULT;
	if (flags & MM_MREMAP_FIXED)
		return mremap_to(m, mm, addr, old_len, *new, new_len);
	if (old_len < new_len)
		return mremap_grow(m, mm, addr, old_len, new_len, flags, new);
	*new = addr;
	return old_len > new_len ? __do_munmap(m, mm, addr + new_len, old_len - new_len) : 0;
}

int do_mremap(struct machine *m, u64 addr, u64 old_len, u64 new_len, int flags, u64 *new)
{
	struct task *t = sys_enter(SPAN_MREMAP);
	struct mm_struct *mm = t->mm;
	bool populate = false;
	int err;

	if (flags & ~(MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED) || flags == MM_MREMAP_FIXED ||
	    addr & ~PAGE_MASK)
		return sys_exit(t, -EINVAL);
	old_len = ALIGN(old_len, PAGE_SIZE);
	new_len = ALIGN(new_len, PAGE_SIZE);
	if (!new_len || (m->knob.mremap_errors == MREMAP_ERRORS_6_17 && new_len > TASK_SIZE))
		return sys_exit(t, -EINVAL);
	mmap_write_lock(mm);
	err = __do_mremap(m, mm, addr, old_len, new_len, flags, new);
	if (!err && new_len > old_len) {
		struct vm_area_struct *vma = find_vma(mm, *new);

		populate = vma->vm_flags & VM_LOCKED;
	}
	mmap_write_unlock(mm);
	if (populate)
		mm_populate(m, mm, *new + old_len, new_len - old_len, true);
	return sys_exit(t, err);
}
