/*
 * Huge pages on the way of being split at once (core/huge_split.c, to 4.4), step by step.
 *
 * Aim: between the time when the first address space maps the page by ptes and the time when references are handed
 * out to the tails, whoever zaps or copies one of them leaves all counts right. Method: two tasks on the null world
 * share a huge page; the test does the first half of the split for one of them by hand.
 */
#include "tests/core/mm_fixture.h"

#include "core/huge_memory.h"

static void always(struct knobs *k)
{
	k->thp_enabled = THP_ALWAYS;
}

/* A huge page of two tasks; the test goes on as the child. Returns its address. */
static u64 shared(struct task **parent)
{
	struct task *child;
	u64 va;

	fix_start(2, 8192, "3.1", always);
	va = ALIGN(fix_mmap(2 * HPAGE_PMD_NR), PMD_SIZE);
	assert_int_equal(mm_access(fix.m, va, PMD_SIZE, WORLD_WRITE, 0), 0);
	assert_int_equal(fix_event(THP_FAULT_ALLOC), 1);
	assert_int_equal(do_fork(fix.m, "child", fix_body, NULL, &child), 0);
	*parent = fix.t;
	fix_become(child);
	lru_add_drain(fix.m);
	return va;
}

/* What split_all_pmds() does for the task the test plays. Returns the head. */
static struct page *begin_split(u64 va)
{
	struct vm_area_struct *vma = find_vma(fix.t->mm, va);
	struct page *head;
	pte_t *pmd;
	u32 table = pt_find_pmd(fix.m, fix.t->mm, va, &pmd);

	head = pfn_to_page(fix.m, pte_pfn(*pmd));
	spin_lock(pmd_lockptr(fix.m, table));
	split_huge_pmd_locked(fix.m, vma, table, pmd, va, false);
	spin_unlock(pmd_lockptr(fix.m, table));
	return head;
}

static void finish_split(struct page *head)
{
	get_page(head);
	assert_int_equal(split_huge_page_at_once(fix.m, head, NULL), 0);
	put_page(fix.m, head);
}

static void end(struct task *parent)
{
	struct task *child = fix.t;

	fix_end(child);
	task_put(child);
	fix_become(parent);
	machine_audit(fix.m);
	fix_stop();
}

TEST(a_page_zapped_meanwhile_loses_the_heads_reference)
{
	struct mmu_gather tlb;
	struct task *parent;
	u64 va = shared(&parent);
	struct page *head;

	world_syscall_enter();
	head = begin_split(va);
	tlb_gather_mmu(&tlb, fix.m, fix.t->mm, false);
	unmap_vma_range(&tlb, find_vma(fix.t->mm, va), va + 3 * PAGE_SIZE, va + 5 * PAGE_SIZE);
	finish_split(head);
	tlb_finish_mmu(&tlb);
	world_syscall_exit();
	for (u32 i = 0; i < 8; i++) {
		s32 mapped = i == 3 || i == 4 ? 1 : 2;

		assert_int_equal(head[i].mapcount, mapped);
		assert_int_equal(head[i].refcount, mapped);
	}
	end(parent);
}

TEST(a_write_to_one_meanwhile_waits)
{
	struct task *parent;
	u64 va = shared(&parent);
	struct vm_fault f = {.m = fix.m, .mm = fix.t->mm, .va = va + PAGE_SIZE, .write = true};
	struct page *head;

	world_syscall_enter();
	head = begin_split(va);
	f.vma = find_vma(f.mm, f.va);
	assert_int_equal(handle_pte_fault(&f), 0);
	assert_int_equal(head->refcount, head[1].total_mapcount);
	finish_split(head);
	world_syscall_exit();
	fix_write(f.va, 7);
	assert_int_equal(head[1].refcount, 1);
	assert_int_equal(head[2].refcount, 2);
	end(parent);
}

TEST_MAIN("huge_split")
