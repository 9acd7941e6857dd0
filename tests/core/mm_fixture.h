/*
 * A whole machine on the null world, with a user task that the test plays, and contents.
 *
 * The null world keeps no contents. Here every frame and every sector of the disk has a tag that
 * clearing, copying and swap I/O carry, so that a test can write a value at an address and ask for it
 * later, after whatever happened to the page. Reading a frame after it was freed gives FIX_FREED.
 */
#ifndef TESTS_CORE_MM_FIXTURE_H
#define TESTS_CORE_MM_FIXTURE_H

#include <errno.h>

#include "core/internal.h"
#include "tests/test.h"
#include "world/null.h"

#define FIX_FREED 0xdeadU

/* One test at a time. */
static struct fixture {
	struct hw_machine *hw;
	struct world *w;
	struct machine *m;
	struct task *t; /* whom the test plays */
	struct world_ops ops;
	const struct world_ops *null_ops;
	u32 *tag;      /* by pfn */
	u32 *disk_tag; /* by page of the disk */
} fix;

static void fix_frame_clear(u64 pfn)
{
	fix.tag[pfn] = 0;
	fix.null_ops->frame_clear(pfn);
}

static void fix_frame_copy(u64 to, u64 from)
{
	fix.tag[to] = fix.tag[from];
	fix.null_ops->frame_copy(to, from);
}

static void fix_frame_free(u64 pfn)
{
	fix.tag[pfn] = FIX_FREED;
	fix.null_ops->frame_free(pfn);
}

static int fix_io_submit(struct world_io *io)
{
	for (u32 i = 0; i < io->nr_pages; i++) {
		u64 at = io->sector / 8 + i;

		if (io->write)
			fix.disk_tag[at] = fix.tag[io->pfn[i]];
		else
			fix.tag[io->pfn[i]] = fix.disk_tag[at];
	}
	return fix.null_ops->io_submit(io);
}

/* The test goes on as @t, in user mode. */
__attribute__((unused)) static void fix_become(struct task *t)
{
	fix.t = t;
	null_set_task(fix.w, t ? &t->w : NULL);
	if (!t)
		return;
	world_use_as(&t->mm->as);
	world_syscall_exit();
}

static void fix_body(struct task *t, void *arg)
{
	(void)t, (void)arg;
}

__attribute__((unused)) static struct task *fix_task(const char *name, struct task *share)
{
	struct task *t = task_create(fix.m, name, share, fix_body, NULL);

	assert_non_null(t);
	return t;
}

/* @t, whom the test has played, ends; the test goes on as the boot task. Nobody waits for it. */
__attribute__((unused)) static void fix_end(struct task *t)
{
	fix_become(NULL);
	if (t->w.state == WORLD_TASK_NEW)
		task_start(t, -1);
	assert_true(null_run_task(&t->w));
}

/* @setup, if any, changes knobs. No swap until fix_swapon(). */
__attribute__((unused)) static void fix_start(u32 nr_cpus, u64 nr_pages, const char *preset,
                                              void (*setup)(struct knobs *k))
{
	struct knobs knobs;
	char err[256] = "";

	memset(&fix, 0, sizeof(fix));
	fix.hw = null_hw(nr_cpus, 1, nr_pages);
	fix.w = null_create(fix.hw);
	fix.null_ops = fix.w->ops;
	fix.ops = *fix.null_ops;
	fix.ops.frame_clear = fix_frame_clear;
	fix.ops.frame_copy = fix_frame_copy;
	fix.ops.frame_free = fix_frame_free;
	fix.ops.io_submit = fix_io_submit;
	fix.w->ops = &fix.ops;
	fix.w->check = true;
	fix.tag = calloc(nr_pages + 1024, sizeof(*fix.tag));
	fix.disk_tag = calloc(fix.hw->disk[0].size_bytes / PAGE_SIZE, sizeof(*fix.disk_tag));
	assert_int_equal(knobs_preset(&knobs, preset), 0);
	knobs.thp_enabled = THP_NEVER;
	knobs.overcommit_memory = OVERCOMMIT_ALWAYS; /* these machines are tiny */
	if (setup)
		setup(&knobs);
	fix.m = machine_create(fix.w, &knobs, err, sizeof(err));
	if (!fix.m)
		fail_msg("machine_create: %s", err);
	fix_become(fix_task("test", NULL));
}

__attribute__((unused)) static void fix_swapon(void)
{
	assert_int_equal(do_swapon(fix.m, 0, -1), 0);
}

__attribute__((unused)) static void fix_audit(void)
{
	mmap_audit(fix.m);
	rmap_audit(fix.m);
}

/* Ends the task the test plays, and checks that nothing of it is left. */
__attribute__((unused)) static void fix_stop(void)
{
	struct task *t = fix.t;

	if (t) {
		fix_end(t);
		task_put(t);
	}
	machine_audit(fix.m);
	assert_true(list_empty(&fix.m->mms));
	assert_int_equal(pool_live(&fix.m->slab[SLAB_VMA].pool), 0);
	assert_int_equal(pool_live(&fix.m->slab[SLAB_ANON_VMA].pool), 0);
	assert_int_equal(pool_live(&fix.m->slab[SLAB_AVC].pool), 0);
	assert_int_equal(global_page_state(fix.m, NR_PAGETABLE), 0);
	machine_destroy(fix.m);
	null_destroy(fix.w);
	null_hw_free(fix.hw);
	free(fix.tag);
	free(fix.disk_tag);
}

/* ---- memory ---- */

__attribute__((unused)) static u64 fix_mmap(u64 nr_pages)
{
	u64 va = 0;

	assert_int_equal(do_mmap(fix.m, nr_pages * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, 0, &va),
	                 0);
	return va;
}

/* The entry of @va; none where there is no table. */
__attribute__((unused)) static pte_t fix_pte(const struct task *t, u64 va)
{
	u32 table = t->mm->as.root;

	for (unsigned int level = PTE_LEVELS - 1; level; level--) {
		pte_t entry = table_entries(fix.m, table)[pte_index(va, level)];

		if (pte_none(entry))
			return entry;
		table = (u32)pte_pfn(entry);
	}
	return *pt_entry(fix.m, table, va);
}

__attribute__((unused)) static struct page *fix_page(const struct task *t, u64 va)
{
	pte_t pte = fix_pte(t, va);

	assert_true(pte_present(pte));
	return pfn_to_page(fix.m, pte_pfn(pte));
}

/* User code stores @value in, or loads what is in, the page at @va. */
__attribute__((unused)) static void fix_write(u64 va, u32 value)
{
	assert_int_equal(mm_access(fix.m, va, 1, WORLD_WRITE, 0), 0);
	fix.tag[pte_pfn(fix_pte(fix.t, va))] = value;
}

__attribute__((unused)) static u32 fix_read(u64 va)
{
	assert_int_equal(mm_access(fix.m, va, 1, WORLD_READ, 0), 0);
	return fix.tag[pte_pfn(fix_pte(fix.t, va))];
}

/* As reclaim would, in one go: slot, unmap, write, and out of the cache if @drop. */
__attribute__((unused)) static void fix_swap_out(u64 va, bool drop)
{
	struct page *page = fix_page(fix.t, va);

	lru_add_drain(fix.m);
	get_page(page);
	lock_page(fix.m, page);
	if (!page_test(page, PG_swapcache))
		assert_true(add_to_swap(fix.m, page));
	assert_int_equal(try_to_unmap(fix.m, page, 0), SWAP_SUCCESS);
	page_clear(page, PG_dirty);
	swap_writepage(fix.m, page); /* unlocks; on this disk it is over when it returns */
	assert_false(page_test(page, PG_writeback));
	if (drop) {
		lock_page(fix.m, page);
		delete_from_swap_cache(fix.m, page);
		unlock_page(fix.m, page);
	}
	put_page(fix.m, page);
}

/* All lists, at all priorities. */
__attribute__((unused)) static void fix_reclaim(void)
{
	world_syscall_enter();
	fix.t->flags |= PF_MEMALLOC;
	for (u32 pass = 0; pass < 3; pass++) {
		try_to_free_pages(fix.m, GFP_KERNEL, 0);
		lru_add_drain(fix.m);
	}
	fix.t->flags &= ~(u32)PF_MEMALLOC;
	world_syscall_exit();
}

__attribute__((unused)) static u64 fix_event(enum vm_event e)
{
	return vm_event_sum(fix.m, e);
}

__attribute__((unused)) static long fix_rss(const struct task *t, enum mm_counter c)
{
	return atomic_long_peek(&t->mm->rss[c]);
}

#endif
