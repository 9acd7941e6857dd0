/*
 * Address spaces: creation, fork's copy, destruction (Linux kernel/fork.c, mm/memory.c, mm/mmap.c).
 *
 * fork copies every VMA and every entry of its page tables; present pages become read-only on both
 * sides and are shared until somebody writes (copy-on-write, memory.c).
 *
 * Entries of file mappings without an anon_vma are not copied at all: the child faults.
 *
 * Left out: vfork and CLONE flags other than shared or copied memory.
 */
#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/khugepaged.h"
#include "core/mlock.h"

struct mm_struct *mm_alloc(struct machine *m)
{
	struct mm_struct *mm = slab_alloc(m, SLAB_MM, GFP_KERNEL);

	if (!mm)
		return NULL;
	charge(COST_MM_OP);
	mm->machine = m;
	mm->as.root = pt_alloc(m, mm);
	if (!mm->as.root) {
		slab_free(m, SLAB_MM, mm);
		return NULL;
	}
	init_rwsem(m->world, &mm->mmap_sem, LOCK_MMAP);
	spin_lock_init(m->world, &mm->page_table_lock, LOCK_PTL);
	mm->mm_rb = RB_ROOT;
	mm->id = ++m->next_mm;
	mm->mm_users = 1;
	mm->mm_count = 1;
	INIT_LIST_HEAD(&mm->khugepaged);
	mm->mm_lock_seq = 1; /* VMAs start with 0: not write-locked */
	mm->start_brk = BRK_START;
	mm->brk = BRK_START;
	mm->swap_readahead_hits = 4;
	mm->rlim_memlock = ~0UL;
	mm->cap_ipc_lock = true;
	list_add_tail(&mm->mmlist, &m->mms);
	return mm;
}

/* Nobody runs in @mm any more: unmaps all, in one gather, and frees VMAs and tables. */
void exit_mmap(struct machine *m, struct mm_struct *mm)
{
	struct vm_area_struct *vma, *next;
	unsigned long nr_accounted = 0;
	struct mmu_gather tlb;

	if (!vma_next(mm, NULL))
		return;
	munlock_before_unmap(m, mm, 0, TASK_SIZE);
	lru_add_drain(m);
	tlb_gather_mmu(&tlb, m, mm, true);
	for (vma = vma_next(mm, NULL); vma; vma = vma_next(mm, vma))
		unmap_vma_range(&tlb, vma, 0, TASK_SIZE);
	tlb_finish_mmu(&tlb);
	for (vma = vma_next(mm, NULL); vma; vma = vma_next(mm, vma))
		unlink_anon_vmas(m, vma);
	free_pgtables(m, mm, 0, TASK_SIZE, 0, 0);
	mm->vmacache = NULL;
	for (vma = vma_next(mm, NULL); vma; vma = vma_next(mm, vma))
		unlink_file_vma(m, vma);
	for (vma = vma_next(mm, NULL); vma; vma = next) {
		next = vma_next(mm, vma);
		rb_erase(&vma->vm_rb, &mm->mm_rb); /* its gaps interest nobody now */
		nr_accounted += vma->vm_flags & VM_ACCOUNT ? vma_pages(vma) : 0;
		vm_area_free(m, vma);
		charge(COST_VMA_OP);
		mm->map_count -= 1;
	}
	vm_unacct_memory(m, nr_accounted);
	mm->total_vm = 0;
}

/* The struct goes when nobody knows it. */
void mm_drop(struct machine *m, struct mm_struct *mm)
{
	VM_BUG_ON(mm->mm_count <= 0);
	if (--mm->mm_count == 0)
		slab_free(m, SLAB_MM, mm);
}

void mm_put(struct machine *m, struct mm_struct *mm)
{
	VM_BUG_ON(mm->mm_users <= 0);
	world_order();
	if (--mm->mm_users)
		return;
	khugepaged_exit(m, mm);
	exit_mmap(m, mm);
	world_contents_zero(&mm->as, 0, TASK_SIZE, true);
	charge(COST_MM_OP);
	VM_BUG_ON(mm->map_count);
	for (int i = 0; i < NR_MM_COUNTERS; i++)
		VM_BUG_ON_MSG(mm->rss[i].v, "mm %u ends with counter %d at %ld", mm->id, i,
		              mm->rss[i].v);
	pt_free(m, mm, mm->as.root);
	VM_BUG_ON_MSG(mm->nr_tables, "mm %u ends with %lu tables", mm->id, mm->nr_tables);
	list_del(&mm->mmlist);
	mm_drop(m, mm);
}

/* ---- fork: page tables ------------------------------------------------------------------------------- */

struct copy_count {
	long rss[NR_MM_COUNTERS];
	u32 nr;
};

/*
 * One entry of the parent's, copied to @dst; both tables locked. The child's is old, and dirty if the
 * parent's was: a dirty bit says that the page differs from its slot, or has not been freed lazily, for
 * whoever maps it. -ENOMEM: no memory for the swap slot's count.
 */
static int copy_one_pte(struct machine *m, u32 dst_table, pte_t *dst, pte_t *src,
                        struct copy_count *c)
{
	pte_t pte = *src;
	struct page *page;
	int err;

	if (unlikely(pte_migration(pte))) {
		c->rss[migration_counter(m, pte)] += 1;
		*src = pte_clear(pte, PTE_MIGRATION_WRITE);
		set_pte(m, dst_table, dst, *src);
		return 0;
	}
	if (!pte_present(pte)) {
		err = swap_duplicate(m, pte_to_swp_entry(pte));
		if (err)
			return err;
		c->rss[MM_SWAPENTS] += 1;
		set_pte(m, dst_table, dst, pte);
		return 0;
	}
	pte = pte_clear(pte, PTE_WRITE);
	*src = pte;
	set_pte(m, dst_table, dst, pte_clear(pte, PTE_ACCESSED));
	if (pte_special(pte))
		return 0;
	page = pfn_to_page(m, pte_pfn(pte));
	charge(COST_PAGE_LINE);
	get_page(page);
	page_dup_rmap(page);
	c->rss[page_is_anon(page) ? MM_ANONPAGES : MM_FILEPAGES] += 1;
	return 0;
}

/* How many entries are copied under one hold of the locks. */
#define COPY_PTES_MAX 32

/* Copies up to COPY_PTES_MAX entries from *@va on, which moves on. */
static int copy_pte_run(struct machine *m, struct mm_struct *dst, u32 dst_table, u32 src_table,
                        u64 *va, u64 end)
{
	struct copy_count c = {0};
	int err = 0;

	spin_lock(&m->table[dst_table].ptl);
	spin_lock(&m->table[src_table].ptl);
	for (; *va < end && c.nr < COPY_PTES_MAX && !err; c.nr++) {
		pte_t *src = pt_entry(m, src_table, *va);

		if (!pte_none(*src))
			err = copy_one_pte(m, dst_table, pt_entry(m, dst_table, *va), src, &c);
		if (!err)
			*va += PAGE_SIZE;
	}
	charge_n(COST_FORK_PTE, c.nr);
	spin_unlock(&m->table[src_table].ptl);
	for (int i = 0; i < NR_MM_COUNTERS; i++)
		atomic_long_add(c.rss[i], &dst->rss[i]);
	charge(COST_RSS);
	spin_unlock(&m->table[dst_table].ptl);
	return err;
}

/* The parent's mmap_sem is held for write. May switch tasks. */
int copy_page_range(struct machine *m, struct mm_struct *dst, struct mm_struct *src,
                    struct vm_area_struct *vma)
{
	u64 va = vma->vm_start;
	u32 src_table;

	/* Without an anon_vma nothing has been written: what reads mapped is the zero page again, or
	 * the file's. */
	if (!vma->anon_vma)
		return 0;
	while (va < vma->vm_end && (src_table = pt_next_leaf(m, src, &va, vma->vm_end))) {
		u64 end = min(vma->vm_end, ALIGN_DOWN(va, PMD_SIZE) + PMD_SIZE);
		u32 dst_table;
		int err = 0;

		if (src_table == PT_HUGE) {
			bool done;

			err = copy_huge_pmd(m, dst, src, va, &done);
			if (err)
				return err;
			if (done)
				va = end;
			world_cond_resched();
			continue;
		}
		dst_table = pt_find_alloc(m, dst, va);
		if (!dst_table)
			return -ENOMEM;
		while (va < end && !err) {
			err = copy_pte_run(m, dst, dst_table, src_table, &va, end);
			world_cond_resched();
		}
		if (err)
			return err;
	}
	return 0;
}

/* ---- fork: VMAs --------------------------------------------------------------------------------------- */

static int dup_vma(struct machine *m, struct mm_struct *dst, struct vm_area_struct *pvma)
{
	unsigned long charged = pvma->vm_flags & VM_ACCOUNT ? vma_pages(pvma) : 0;
	struct vm_area_struct *vma;
	int err;

	if (charged && vm_enough_memory(m, pvma->vm_mm, charged))
		return -ENOMEM;
	vma = vm_area_dup(m, pvma);
	if (!vma) {
		vm_unacct_memory(m, charged);
		return -ENOMEM;
	}
	vma->vm_mm = dst;
	vma->vm_flags &= ~VM_LOCKED_MASK;
	err = anon_vma_fork(m, vma, pvma);
	if (err) {
		vm_area_free(m, vma);
		vm_unacct_memory(m, charged);
		return err;
	}
	if (vma->vm_file) {
		get_file(vma->vm_file);
		vma_link_file(m, vma);
	}
	vma_link(dst, vma);
	dst->total_vm += vma_pages(vma);
	charge(COST_VMA_OP);
	return copy_page_range(m, dst, pvma->vm_mm, pvma);
}

/*
 * Fills the new @dst with a copy of @src, the running task's. On failure, which being killed meanwhile
 * is too, @dst holds a part, for mm_put() to free.
 */
int dup_mmap(struct machine *m, struct mm_struct *dst, struct mm_struct *src)
{
	struct vm_area_struct *vma;
	int err = 0;

	mmap_write_lock(src);
	dst->brk = src->brk;
	dst->rlim_memlock = src->rlim_memlock;
	dst->cap_ipc_lock = src->cap_ipc_lock;
	khugepaged_fork(m, dst, src);
	for (vma = vma_next(src, NULL); vma && !err; vma = vma_next(src, vma)) {
		vma_start_write(vma);
		err = dup_vma(m, dst, vma);
	}
	if (!err && current_task()->killed)
		err = -EINTR;
	/* The parent may have writable translations of what is read-only now. */
	world_tlb_flush(&src->as, 0, TASK_SIZE);
	if (!err)
		world_contents_fork(&src->as, &dst->as);
	mmap_write_unlock(src);
	return err;
}
