/*
 * Pages that are moved between nodes, on machines of two.
 *
 * Aim: what move_pages(), migrate_pages() and mbind() move keeps its contents, its place in a cache and its
 * counts, and lies where it was wanted; what others map is left alone unless the caller may. Method: small
 * simulated machines with checked contents and audits; statuses and nodes are asked for afterwards.
 */
#include "tests/machine/stage.h"

#define NR 200

static const char *const presets[] = {"3.16", "4.0", "6.18"};

/* One CPU, on node 0; node 1 has 4,096 pages. */
static void set(const char *preset)
{
	stage_begin(preset, 1, 2, 12288 + 4096);
	hw_add_flash(stage.hw, MB(16));
	hw_add_files(stage.hw, MB(32));
	stage.knobs.overcommit_memory = OVERCOMMIT_ALWAYS;
	stage.knobs.max_folio_order = 0;
	stage_build();
}

static u64 page[NR];
static s32 node[NR];
static s32 status[NR];

static void name_pages(u64 va, s32 to)
{
	for (u32 i = 0; i < NR; i++) {
		page[i] = va + PAGES(i);
		node[i] = to;
		status[i] = -1000;
	}
}

/* How many of the pages at @va are on @nid, as move_pages() says it; -1 for those that are not there. */
static u32 on(u64 va, s32 nid)
{
	u32 nr = 0;

	name_pages(va, 0);
	BUG_ON(do_move_pages(stage.m, NR, page, NULL, status, 0));
	for (u32 i = 0; i < NR; i++)
		nr += status[i] == nid || (nid < 0 && status[i] < 0);
	return nr;
}

static u64 filled(void)
{
	u64 va = 0;

	stage.result |= do_mmap(stage.m, PAGES(NR), RW, 0, &va);
	stage.result |= mm_access(stage.m, va, PAGES(NR), WORLD_FILL, 0);
	return va;
}

/* ---- move_pages() ---- */

static void there_and_back(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled();

	(void)t, (void)arg;
	BUG_ON(on(va, 0) != NR);
	name_pages(va, 1);
	stage.result |= (int)do_move_pages(m, NR, page, node, status, MM_MPOL_MF_MOVE);
	for (u32 i = 0; i < NR; i++)
		BUG_ON(status[i] != 1);
	BUG_ON(on(va, 1) != NR);
	BUG_ON(stage_event(PGMIGRATE_SUCCESS) != NR);
	stage.result |= mm_access(m, va, PAGES(NR), WORLD_SCAN, 0);

	/* Each second one comes back; one is unmapped, and one has never been. */
	stage.result |= do_munmap(m, va + PAGES(10), PAGE_SIZE);
	stage.result |= do_madvise(m, va + PAGES(20), PAGE_SIZE, MM_MADV_DONTNEED);
	name_pages(va, 1);
	for (u32 i = 0; i < NR; i += 2)
		node[i] = 0;
	stage.result |= (int)do_move_pages(m, NR, page, node, status, MM_MPOL_MF_MOVE);
	for (u32 i = 0; i < NR; i++)
		BUG_ON(status[i] != (i == 10 ? -EFAULT : i == 20 ? -ENOENT : node[i]));
	BUG_ON(on(va, 0) != NR / 2 - 2 || on(va, 1) != NR / 2 || on(va, -1) != 2);
	stage.result |= mm_access(m, va, PAGES(10), WORLD_SCAN, 0);
	stage.result |= mm_access(m, va + PAGES(11), PAGES(NR - 11), WORLD_SCAN, 0);
	stage.result |= mm_access(m, va + PAGES(11), PAGES(NR - 11), WORLD_FILL, 0);

	/* What comes before a node that there is not is done. */
	name_pages(va, 0);
	node[4] = 2;
	BUG_ON(do_move_pages(m, NR, page, node, status, MM_MPOL_MF_MOVE) != -ENODEV);
	BUG_ON(status[1] || status[3] || status[4] != -1000 || status[5] != -1000);
}

TEST(pages_go_to_the_node_named_for_each)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i]);
		stage_play(there_and_back);
		stage_strike();
	}
}

/* Swapped out and read back: in the swap cache, clean; and locked. */
static void swapped_and_locked(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled();

	(void)t, (void)arg;
	if (m->knob.lru_per == LRU_PER_NODE) {
		stage.result |= do_madvise(m, va, PAGES(NR), MM_MADV_PAGEOUT);
		stage.result |= mm_access(m, va, PAGES(NR), WORLD_READ, 0);
	}
	stage.result |= do_mlock(m, va + PAGES(100), PAGES(50));
	name_pages(va, 1);
	stage.result |= (int)do_move_pages(m, NR, page, node, status, MM_MPOL_MF_MOVE);
	BUG_ON(on(va, 1) != NR);
	stage.result |= mm_access(m, va, PAGES(NR), WORLD_SCAN, 0);
	BUG_ON(stage_item(NR_MLOCK) != 50);
}

TEST(pages_in_the_swap_cache_and_locked_ones_move)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i]);
		stage_play(swapped_and_locked);
		stage_strike();
	}
}

/* ---- what others map ---- */

static void child_waits(struct task *t, void *arg)
{
	u64 va = *(u64 *)arg;

	(void)t;
	stage.result |= mm_access(stage.m, va, PAGES(NR), WORLD_SCAN, 0);
	world_syscall_enter();
	world_sleep(S(2));
	world_syscall_exit();
	stage.result |= mm_access(stage.m, va, PAGES(NR), WORLD_SCAN, 0);
}

static void shared_pages(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled();
	struct task *child;

	(void)t, (void)arg;
	stage.result |= do_fork(m, "child", child_waits, &va, &child);
	task_start(child, -1);
	world_syscall_enter();
	world_sleep(S(1));
	world_syscall_exit();
	name_pages(va, 1);
	stage.result |= (int)do_move_pages(m, NR, page, node, status, MM_MPOL_MF_MOVE);
	for (u32 i = 0; i < NR; i++)
		BUG_ON(status[i] != -EACCES);
	name_pages(va, 1);
	stage.result |= (int)do_move_pages(m, NR, page, node, status, MM_MPOL_MF_MOVE_ALL);
	BUG_ON(on(va, 1) != NR);
	stage.result |= do_wait(child);
	stage.result |= mm_access(m, va, PAGES(NR), WORLD_SCAN, 0);
}

TEST(what_another_maps_moves_only_for_who_may)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i]);
		stage_play(shared_pages);
		stage_strike();
	}
}

/* ---- files ---- */

static void file_pages(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va, done;
	u32 fd;

	(void)t, (void)arg;
	stage.result |= do_open(m, stage.file, &fd);
	stage.result |= do_mmap_file(m, fd, 0, PAGES(NR), RW, MM_MAP_SHARED, &va);
	stage.result |= do_pwrite(m, fd, 0, PAGES(NR / 2), &done); /* these are dirty */
	stage.result |= mm_access(m, va, PAGES(NR), WORLD_READ, 0);
	BUG_ON(on(va, 0) != NR);
	name_pages(va, 1);
	stage.result |= (int)do_move_pages(m, NR, page, node, status, MM_MPOL_MF_MOVE);
	BUG_ON(on(va, 1) != NR);
	BUG_ON(stage_item(NR_FILE_DIRTY) != NR / 2);
	stage.result |= mm_access(m, va, PAGES(NR), WORLD_SCAN, 0);
	stage.result |= mm_access(m, va, PAGES(NR), WORLD_WRITE, 0);
	stage.result |= do_fsync(m, fd);
	stage.result |= do_pread(m, fd, 0, PAGES(NR), &done);
	stage.result |= do_close(m, fd);
}

TEST(pages_of_a_file_take_their_counts_along)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i]);
		stage_file(NR, false);
		stage_play(file_pages);
		stage_strike();
	}
}

static void shmem_pages(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va;

	(void)t, (void)arg;
	stage.result |= do_mmap(m, PAGES(NR), RW, MM_MAP_SHARED, &va);
	stage.result |= mm_access(m, va, PAGES(NR), WORLD_FILL, 0);
	name_pages(va, 1);
	stage.result |= (int)do_move_pages(m, NR, page, node, status, MM_MPOL_MF_MOVE);
	BUG_ON(on(va, 1) != NR);
	stage.result |= mm_access(m, va, PAGES(NR), WORLD_SCAN, 0);
}

TEST(so_do_those_of_shared_memory)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i]);
		stage_play(shmem_pages);
		stage_strike();
	}
}

/* ---- migrate_pages(), mbind() ---- */

static void by_nodes(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va[2] = {filled(), 0};

	(void)t, (void)arg;
	stage.result |= do_set_mempolicy(m, MM_MPOL_BIND, 2);
	va[1] = filled();
	stage.result |= do_set_mempolicy(m, MM_MPOL_DEFAULT, 0);
	/* They change places: nothing is moved twice. */
	BUG_ON(do_migrate_pages(m, 3, 3));
	BUG_ON(on(va[0], 0) != NR || on(va[1], 1) != NR);
	stage.result |= (int)do_migrate_pages(m, 1, 2);
	BUG_ON(on(va[0], 1) != NR || on(va[1], 1) != NR);
	stage.result |= (int)do_migrate_pages(m, 3, 1);
	BUG_ON(on(va[0], 0) != NR || on(va[1], 0) != NR);
	BUG_ON(do_migrate_pages(m, 1, 4) != -EINVAL);

	/* A policy with MPOL_MF_MOVE has what is there already obey; without, or strict, not. */
	stage.result |= do_mbind(m, va[0], PAGES(NR), MM_MPOL_BIND, 2);
	BUG_ON(on(va[0], 0) != NR);
	BUG_ON(do_mbind_flags(m, va[1], PAGES(NR), MM_MPOL_BIND, 2, MM_MPOL_MF_STRICT) != -EIO);
	stage.result |= do_mbind_flags(m, va[0], PAGES(NR / 2), MM_MPOL_BIND, 2,
	                               MM_MPOL_MF_MOVE | MM_MPOL_MF_STRICT);
	BUG_ON(on(va[0], 1) != NR / 2);
	stage.result |= mm_access(m, va[0], PAGES(NR), WORLD_SCAN, 0);
	stage.result |= mm_access(m, va[1], PAGES(NR), WORLD_SCAN, 0);
}

TEST(nodes_are_emptied_and_policies_obeyed)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i]);
		stage_play(by_nodes);
		stage_strike();
	}
}

/* ---- huge pages ---- */

static void huge(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va;

	(void)t, (void)arg;
	stage.result |= do_mmap(m, MB(4), RW, 0, &va);
	va = ALIGN(va, MB(2));
	stage.result |= mm_access(m, va, MB(2), WORLD_FILL, 0);
	BUG_ON(stage_event(THP_FAULT_ALLOC) != 1);
	name_pages(va, 1);
	stage.result |= (int)do_move_pages(m, NR, page, node, status, MM_MPOL_MF_MOVE);
	BUG_ON(on(va, 1) != NR);
	BUG_ON(stage_event(THP_SPLIT_PAGE) != 1);
	stage.result |= mm_access(m, va, MB(2), WORLD_SCAN, 0);
}

TEST(a_huge_page_is_split_and_its_pages_move)
{
	stage_begin("6.18", 1, 2, 12288 + 4096);
	stage.knobs.thp_enabled = THP_ALWAYS;
	stage.knobs.thp_migration = THP_MOVE_SPLIT;
	stage_build();
	stage_play(huge);
	stage_strike();
}

TEST_MAIN("move_pages")
