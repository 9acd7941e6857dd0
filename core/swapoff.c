/*
 * swapoff(): everything comes back (Linux mm/swapfile.c, try_to_unuse()).
 *
 * The area gives out no more slots; then what is in it is read back: entries of each address space, entries
 * in the indexes of shared memory, and at last pages that only the swap cache still has there. Tasks fault,
 * fork and exit meanwhile, so that all this is repeated until no slot is in use. -ENOMEM: there is not memory
 * enough for it, or there is not when it comes to it; -EINTR: the task has been killed. Then the area goes on
 * being used.
 */
#include <errno.h>

#include "core/fault.h"
#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/swap.h"

/* ---- page tables --------------------------------------------------------------------------------- */

static bool is_in(const struct swap_info_struct *si, pte_t pte)
{
	return pte_swap(pte) && swp_type(pte_to_swp_entry(pte)) == si->type;
}

/* One entry, as a read fault would; read here, so that it is no major fault. */
static int unuse_pte(struct machine *m, struct vm_area_struct *vma, u32 table, u64 va, pte_t pte)
{
	struct vm_fault f = {
		.m = m,
		.mm = vma->vm_mm,
		.vma = vma,
		.va = va,
		.table = table,
		.pte = pt_entry(m, table, va),
		.orig = pte,
	};
	struct page *page =
		read_swap_cache_async(m, pte_to_swp_entry(pte), GFP_HIGHUSER_MOVABLE, vma, va);
	int ret;

	if (!page)
		return READ_ONCE(f.pte->v) == pte.v ? -ENOMEM : 0;
	ret = do_swap_page(&f);
	put_page(m, compound_head(page));
	if (ret & VM_FAULT_SIGBUS)
		return -EIO;
	return ret & VM_FAULT_OOM ? -ENOMEM : 0;
}

static int unuse_vma(struct machine *m, struct swap_info_struct *si, struct vm_area_struct *vma)
{
	u64 va = vma->vm_start;
	int err = 0;
	u32 table;

	while (va < vma->vm_end && (table = pt_next_leaf(m, vma->vm_mm, &va, vma->vm_end))) {
		pte_t pte;

		if (table == PT_HUGE) {
			va = (va & PMD_MASK) + PMD_SIZE;
			continue;
		}
		charge(COST_PTE);
		pte = READ_ONCE(*pt_entry(m, table, va));
		if (is_in(si, pte))
			err = unuse_pte(m, vma, table, va, pte);
		if (err)
			return err;
		va += PAGE_SIZE;
		world_cond_resched();
	}
	return 0;
}

static int unuse_mm(struct machine *m, struct swap_info_struct *si, struct mm_struct *mm)
{
	struct vm_area_struct *vma;
	int err = 0;

	down_read(&mm->mmap_sem);
	for (vma = vma_next(mm, NULL); vma && !err; vma = vma_next(mm, vma))
		if (vma->anon_vma)
			err = unuse_vma(m, si, vma);
	up_read(&mm->mmap_sem);
	return err;
}

/* The present one is held, so that it stays on the list. */
static int unuse_mms(struct machine *m, struct swap_info_struct *si)
{
	struct mm_struct *mm, *held = NULL;
	int err = 0;

	world_order();
	list_for_each_entry (mm, &m->mms, mmlist) {
		if (!mm->mm_users || !atomic_long_peek(&mm->rss[MM_SWAPENTS]))
			continue;
		mm->mm_users += 1;
		if (held)
			mm_put(m, held);
		held = mm;
		err = unuse_mm(m, si, mm);
		if (err || current_task()->killed)
			break;
	}
	if (held)
		mm_put(m, held);
	return err;
}

/* ---- shared memory ---------------------------------------------------------------------------------- */

static int unuse_shmem(struct machine *m, struct swap_info_struct *si, struct inode *inode)
{
	struct address_space *mapping = &inode->i_data;
	int err = 0;

	for (u64 index = 0; !err; index++) {
		struct page *page;
		bool major;
		u64 entry;

		world_cond_resched();
		world_order();
		entry = xa_find(m, &mapping->i_pages, &index, XA_INDEX_MAX, XA_ANY);
		if (!entry)
			break;
		if (!xa_is_value(entry) || swp_type(xa_to_swap(entry)) != si->type)
			continue;
		err = shmem_getpage(m, inode, index, SGP_CACHE, &page, &major);
		if (err == -EINVAL) { /* truncated meanwhile */
			err = 0;
			continue;
		}
		if (err)
			break;
		unlock_page(m, page);
		put_page(m, page);
	}
	return err;
}

static int unuse_files(struct machine *m, struct swap_info_struct *si)
{
	struct inode *inode, *held = NULL;
	int err = 0;

	world_order();
	list_for_each_entry (inode, &m->fs->inodes, list) {
		if (!mapping_is_shmem(&inode->i_data) || !inode->i_data.nrexceptional)
			continue;
		iget(inode);
		if (held)
			iput(m, held);
		held = inode;
		err = unuse_shmem(m, si, inode);
		if (err || current_task()->killed)
			break;
	}
	if (held)
		iput(m, held);
	return err;
}

/* ---- what only the cache has ---------------------------------------------------------------------------- */

static void unuse_cache(struct machine *m, struct swap_info_struct *si)
{
	for (u64 i = 1; i < si->max && !current_task()->killed; i++) {
		struct page *page;

		charge(COST_SWAP_SCAN);
		if (!READ_ONCE(si->swap_map[i]))
			continue;
		page = find_get_swap_page(m, swp_entry(si->type, i));
		if (!page)
			continue;
		page = compound_head(page);
		lock_page(m, page);
		if (page_test(page, PG_swapcache)) {
			wait_on_page_writeback(m, page);
			try_to_free_swap(m, page);
		}
		unlock_page(m, page);
		put_page(m, page);
		world_cond_resched();
	}
}

static int try_to_unuse(struct machine *m, struct swap_info_struct *si)
{
	int err = 0;

	/* Makes room: from here on, if there is no other swap, reclaim does not look for such pages. */
	unuse_cache(m, si);
	while (!err && READ_ONCE(si->inuse_pages)) {
		err = unuse_mms(m, si);
		if (!err)
			err = unuse_files(m, si);
		if (!err)
			unuse_cache(m, si);
		if (current_task()->killed)
			return -EINTR;
		world_sleep(world_ticks_to_ns(1)); /* others are at work on the rest */
	}
	return err;
}

/* ---- the call ----------------------------------------------------------------------------------------------- */

static struct swap_info_struct *find_area(const struct machine *m, u32 disk)
{
	for (u32 i = 0; i < m->nr_swapfiles; i++)
		if (m->swap[i]->disk == disk && !m->swap[i]->off)
			return m->swap[i];
	return NULL;
}

/* @on: it is used again, or else no longer. */
static void area_switch(struct machine *m, struct swap_info_struct *si, bool on)
{
	long pages = on ? (long)si->pages : -(long)si->pages;

	spin_lock(&si->lock);
	spin_lock(&m->swap_avail_lock);
	si->off = !on;
	si->avail = on && si->inuse_pages < si->pages;
	m->total_swap_pages += (unsigned long)pages;
	m->nr_rotate_swap += on ? si->rotating : -(u32)si->rotating;
	atomic_long_add(pages, &m->nr_swap_pages);
	spin_unlock(&m->swap_avail_lock);
	spin_unlock(&si->lock);
}

static int swapoff(struct machine *m, u32 disk)
{
	struct swap_info_struct *si = find_area(m, disk);
	int err;

	if (!si)
		return -EINVAL;
	if (vm_enough_memory(m, current_task()->mm, si->pages))
		return -ENOMEM;
	vm_unacct_memory(m, si->pages);
	area_switch(m, si, false);
	err = try_to_unuse(m, si);
	if (err)
		area_switch(m, si, true);
	else
		swap_free_map_frames(m, si);
	return err;
}

int do_swapoff(struct machine *m, u32 disk)
{
	struct task *t = sys_enter(SPAN_SWAPON);

	return sys_exit(t, swapoff(m, disk));
}
