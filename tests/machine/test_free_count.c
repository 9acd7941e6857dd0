/*
 * What is allocated and freed is counted when it happens.
 *
 * Aim: an audit adds up whenever it is made, in the middle of another CPU's allocations and frees too, which wait
 * for locks: a run ends when its last user task does, whatever kernel tasks are at. Method: one CPU holds a zone's
 * lock for a while; the other frees pages of several kinds, and compacts; the first audits.
 */
#include "tests/machine/stage.h"

#include "core/page_alloc.h"
#include "tests/machine/compact.h"

enum { FREES_BLOCK, FREES_LIST, FREES_COLD_LIST, COMPACTS, NR_KINDS };

static struct {
	u32 kind;
	bool ready; /* what is to be freed is there */
	bool done;
	u32 nr_waits; /* audits while the other waited for the lock */
} test;

static void frees(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	struct zone *z = &m->node[0].zone[ZONE_DMA32];
	struct page *page = NULL;
	struct page_list list;
	u64 va;

	(void)t, (void)arg;
	page_list_init(&list, m->node[0].mem_map);
	stage.result |= do_mmap(m, MB(4), RW, 0, &va);
	stage.result |= mm_access(m, va, MB(4), WORLD_WRITE, 0);
	for (u64 i = 0; i < 1024; i += 2)
		stage.result |= do_madvise(m, va + PAGES(i), PAGE_SIZE, MM_MADV_DONTNEED);
	world_syscall_enter();
	if (test.kind == FREES_BLOCK)
		page = alloc_pages(m, GFP_KERNEL, 6);
	for (u32 i = 0; i < 200 && (test.kind == FREES_LIST || test.kind == FREES_COLD_LIST); i++) {
		struct page *p = alloc_pages(m, GFP_KERNEL, 0);

		p->refcount = 0;
		page_list_add(&list, p);
	}
	lru_add_drain(m);
	WRITE_ONCE(test.ready, true);
	world_sleep(MS(2));
	if (page)
		__free_pages(m, page, 6);
	else if (test.kind == FREES_LIST)
		free_unref_page_list(m, &list);
	else if (test.kind == FREES_COLD_LIST)
		free_cold_page_list(m, &list);
	else
		compact_whole_zone(m, z);
	WRITE_ONCE(test.done, true);
	world_syscall_exit();
}

static void audits(struct task *t, void *arg)
{
	struct zone *z = &stage.m->node[0].zone[ZONE_DMA32];

	(void)t, (void)arg;
	world_syscall_enter();
	while (!READ_ONCE(test.ready))
		world_sleep(MS(1));
	while (!READ_ONCE(test.done)) {
		spin_lock_irq(&z->lock);
		for (u32 i = 0; i < 20; i++) {
			charge_ns(5000);
			world_order();
			test.nr_waits += z->lock.nr_waiters != 0;
			machine_audit(stage.m);
		}
		spin_unlock_irq(&z->lock);
		charge_ns(100);
		world_order();
	}
	world_syscall_exit();
}

static void play(const char *preset)
{
	for (test.kind = 0; test.kind < NR_KINDS; test.kind++) {
		stage_begin(preset, 2, 1, 8192);
		stage.knobs.thp_enabled = THP_NEVER;
		stage_build();
		test.ready = test.done = false;
		test.nr_waits = 0;
		stage_task("frees", frees, NULL);
		stage_task("audits", audits, NULL);
		stage_run();
		assert_int_equal(stage.result, 0);
		assert_true(test.nr_waits > 0);
		stage_strike();
	}
}

TEST(of_3_1_the_count_is_exact_while_somebody_waits_for_a_lock)
{
	play("3.1");
}

TEST(of_6_18_the_count_is_exact_while_somebody_waits_for_a_lock)
{
	play("6.18");
}

TEST_MAIN("free_count")
