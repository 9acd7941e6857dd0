/*
 * A machine on the null world for tests of the LRU lists and of swap: its hardware and knobs are the
 * test's, and so are its pages, which no address space knows. The test runs as the boot task, or as a
 * user task that owns nothing (rig_become()).
 */
#ifndef TESTS_CORE_RIG_H
#define TESTS_CORE_RIG_H

#include <errno.h>

#include "core/internal.h"
#include "tests/test.h"
#include "world/null.h"

static struct rig {
	struct hw_machine *hw;
	struct world *w;
	struct machine *m;
	struct task *t;
} rig;

typedef void rig_tweak(struct hw_machine *hw, struct knobs *k);

__attribute__((unused)) static void rig_start(u32 nr_cpus, u64 nr_pages, const char *preset,
                                              rig_tweak *tweak)
{
	struct knobs knobs;
	char err[256] = "";

	memset(&rig, 0, sizeof(rig));
	assert_int_equal(knobs_preset(&knobs, preset), 0);
	knobs.thp_enabled = THP_NEVER;
	knobs.overcommit_memory = OVERCOMMIT_ALWAYS; /* these machines are tiny */
	rig.hw = null_hw(nr_cpus, 1, nr_pages);
	if (tweak)
		tweak(rig.hw, &knobs);
	rig.w = null_create(rig.hw);
	rig.m = machine_create(rig.w, &knobs, err, sizeof(err));
	if (!rig.m)
		fail_msg("machine_create: %s", err);
}

/* The @nr disks that rig_start_disks() gives the next machine. */
static struct {
	enum hw_disk_kind kind;
	u64 bytes;
	u32 nr;
} rig_disks;

static void rig_set_disks(struct hw_machine *hw, struct knobs *k)
{
	(void)k;
	for (u32 i = 0; i < rig_disks.nr; i++) {
		hw->disk[i] = hw->disk[0];
		hw_disk_set_kind(&hw->disk[i], rig_disks.kind);
		hw->disk[i].size_bytes = rig_disks.bytes;
	}
	hw->nr_disks = rig_disks.nr;
}

/* The machine has @nr disks of @kind with @bytes each. */
__attribute__((unused)) static void rig_start_disks(u32 nr_cpus, u64 nr_pages, const char *preset,
                                                    enum hw_disk_kind kind, u64 bytes, u32 nr)
{
	rig_disks.kind = kind;
	rig_disks.bytes = bytes;
	rig_disks.nr = nr;
	rig_start(nr_cpus, nr_pages, preset, rig_set_disks);
}

__attribute__((unused)) static void rig_stop(void)
{
	machine_destroy(rig.m);
	null_destroy(rig.w);
	null_hw_free(rig.hw);
}

static void rig_body(struct task *t, void *arg)
{
	(void)t, (void)arg;
}

/* The test goes on as a user task, in the kernel. */
__attribute__((unused)) static void rig_become(void)
{
	rig.t = task_create(rig.m, "test", NULL, rig_body, NULL);
	assert_non_null(rig.t);
	null_set_task(rig.w, &rig.t->w);
}

/* An anonymous page that is mapped nowhere; the reference is the test's. */
__attribute__((unused)) static struct page *rig_page(void)
{
	struct page *page = alloc_page(rig.m, GFP_HIGHUSER_MOVABLE);

	assert_non_null(page);
	page_set(page, PG_swapbacked);
	page_set(page, PG_uptodate);
	page->mapping = PAGE_MAPPING_ANON; /* of no anon_vma: it is never walked */
	return page;
}

/* The same, locked, in the swap cache, with a slot of its own that @nr_ptes ptes name. */
__attribute__((unused)) static struct page *rig_swap_page(u32 nr_ptes)
{
	struct page *page = rig_page();

	assert_true(trylock_page(rig.m, page));
	assert_true(add_to_swap(rig.m, page));
	for (u32 i = 0; i < nr_ptes; i++)
		assert_int_equal(swap_duplicate(rig.m, page_swap_entry(rig.m, page)), 0);
	return page;
}

__attribute__((unused)) static u64 rig_event(enum vm_event e)
{
	return vm_event_sum(rig.m, e);
}

#endif
