/*
 * Shared memory on a whole machine: what children share, what is swapped, and what cannot be had.
 *
 * Aim: shared pages are found by all who map them, whatever reclaim has done to them meanwhile, and are
 * counted where Linux counts them. Method: small simulated machines with contents checked at every access
 * and audits at the end; tasks that take turns by waiting for each other.
 */
#include "tests/machine/stage.h"

#include "core/swap.h"

static u64 shared; /* a mapping that tasks share */

static void set(u64 ram_pages, u64 swap_bytes, const char *preset)
{
	stage_begin(preset, 2, 1, ram_pages);
	if (swap_bytes)
		hw_add_flash(stage.hw, swap_bytes);
	stage.knobs.overcommit_memory = OVERCOMMIT_ALWAYS;
	stage_build();
}

static const char *const presets[] = {"3.16", "4.0", "6.18"};

/* Slots in use are those of pages that were being written when their last user went. */
static void only_cache_is_in_swap(void)
{
	assert_int_equal(stage.m->total_swap_pages - (u64)atomic_long_peek(&stage.m->nr_swap_pages),
	                 stage_item(NR_SWAPCACHE));
}

/* ---- sharing ---- */

static void child_writes(struct task *t, void *arg)
{
	(void)t, (void)arg;
	stage.result |= mm_access(stage.m, shared, PAGES(100), WORLD_READ, 0);
	stage.result |= mm_access(stage.m, shared + PAGES(50), PAGES(100), WORLD_FILL, 0);
}

static void parent_shares(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	struct task *child;

	(void)t, (void)arg;
	stage.result |= do_mmap(m, PAGES(200), RW, MM_MAP_SHARED, &shared);
	stage.result |= mm_access(m, shared, PAGES(100), WORLD_FILL, 0);
	stage.result |= do_fork(m, "child", child_writes, NULL, &child);
	task_start(child, -1);
	stage.result |= do_wait(child);
	/* What the child wrote, the contents check knows. Page 150 on: nobody has touched. */
	stage.result |= mm_access(m, shared, PAGES(200), WORLD_SCAN, 0);
	BUG_ON(stage_item(NR_SHMEM) != 200 || stage_item(NR_FILE_PAGES) != 200);
	BUG_ON(stage_item(NR_INACTIVE_FILE) || stage_item(NR_ACTIVE_FILE));
	BUG_ON(vm_committed_exact(m) != 200);
	/* It is no anonymous memory. */
	BUG_ON(do_madvise(m, shared, PAGES(10), MM_MADV_FREE) != -EINVAL);
	/* Giving it up here leaves it to the others, and to oneself. */
	stage.result |= do_madvise(m, shared, PAGES(200), MM_MADV_DONTNEED);
	stage.result |= mm_access(m, shared, PAGES(200), WORLD_READ, 0);
}

TEST(a_child_shares_what_its_parent_mapped)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(8192, 0, presets[i]);
		stage_play(parent_shares);
		assert_int_equal(stage_item(NR_SHMEM), 0);
		assert_int_equal(vm_committed_exact(stage.m), 0);
		stage_strike();
	}
}

/* ---- swap ---- */

static void child_reads_all(struct task *t, void *arg)
{
	(void)t, (void)arg;
	for (u32 i = 0; i < 2; i++)
		stage.result |= mm_access(stage.m, shared, PAGES(3000), WORLD_SCAN, i ? 9 : 0);
}

static void shares_more_than_fits(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	struct task *child;
	u64 own;

	(void)t, (void)arg;
	stage.result |= do_mmap(m, PAGES(3000), RW, MM_MAP_SHARED, &shared);
	stage.result |= do_mmap(m, PAGES(1500), RW, 0, &own);
	stage.result |= mm_access(m, shared, PAGES(3000), WORLD_FILL, 0);
	stage.result |= do_fork(m, "child", child_reads_all, NULL, &child);
	task_start(child, -1);
	for (u32 i = 0; i < 3; i++) {
		stage.result |= mm_access(m, own, PAGES(1500), WORLD_FILL, 0);
		stage.result |= mm_access(m, shared, PAGES(3000), WORLD_WRITE, 7 + i);
	}
	stage.result |= do_madvise(m, shared, PAGES(100), MM_MADV_WILLNEED);
	stage.result |= do_wait(child);
	stage.result |= mm_access(m, shared, PAGES(3000), WORLD_SCAN, 0);
}

TEST(shared_memory_is_swapped_and_comes_back)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(4096, MB(64), presets[i]);
		stage_play(shares_more_than_fits);
		assert_true(stage_event(PSWPOUT) > 1000);
		assert_true(stage_event(PSWPIN) > 1000);
		only_cache_is_in_swap();
		stage_strike();
	}
}

static void shares_without_swap(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va;

	(void)arg;
	/* Cannot be reclaimed: the OOM killer comes for it. */
	if (!do_mmap(m, PAGES(5000), RW, MM_MAP_SHARED, &va))
		mm_access(m, va, PAGES(5000), WORLD_FILL, 0);
	BUG_ON(!task_killed(t));
}

TEST(without_swap_shared_memory_stays)
{
	set(4096, 0, "6.18");
	stage_play(shares_without_swap);
	assert_true(stage.killed[0]);
	assert_int_equal(stage_event(OOM_KILL), 1);
	stage_strike();
}

/* Pages that were only read are clean, and empty: they are dropped, not written. */
static void reads_much(struct task *t, void *arg)
{
	u64 va;

	(void)t, (void)arg;
	stage.result |= do_mmap(stage.m, PAGES(8000), MM_PROT_READ, MM_MAP_SHARED, &va);
	stage.result |= mm_access(stage.m, va, PAGES(8000), WORLD_READ, 0);
	stage.result |= mm_access(stage.m, va, PAGES(8000), WORLD_READ, 0);
}

TEST(what_was_only_read_is_dropped)
{
	set(4096, MB(64), "6.18");
	stage_play(reads_much);
	assert_int_equal(stage_event(PSWPOUT), 0);
	stage_strike();
}

/* ---- swapoff ---- */

static void child_holds(struct task *t, void *arg)
{
	u64 va;

	(void)t, (void)arg;
	stage.result |= do_mmap(stage.m, PAGES(300), RW, 0, &va);
	stage.result |= mm_access(stage.m, va, PAGES(300), WORLD_FILL, 0);
	for (u32 i = 0; i < 30; i++) {
		world_syscall_enter();
		world_sleep(10000000);
		world_syscall_exit();
		stage.result |= mm_access(stage.m, va, PAGES(10), WORLD_READ, 5);
	}
	stage.result |= mm_access(stage.m, va, PAGES(300), WORLD_SCAN, 0);
	stage.result |= mm_access(stage.m, shared, PAGES(1500), WORLD_SCAN, 0);
}

/* Shared and private memory is in swap, some of it a child's; then there is no swap. */
static void turns_swap_off(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	struct task *child;
	u64 own, much;

	(void)t, (void)arg;
	BUG_ON(do_swapoff(m, 7) != -EINVAL);
	stage.result |= do_mmap(m, PAGES(1500), RW, MM_MAP_SHARED, &shared);
	stage.result |= do_mmap(m, PAGES(800), RW, 0, &own);
	stage.result |= mm_access(m, shared, PAGES(1500), WORLD_FILL, 0);
	stage.result |= mm_access(m, own, PAGES(800), WORLD_FILL, 0);
	stage.result |= do_fork(m, "child", child_holds, NULL, &child);
	task_start(child, -1);
	stage.result |= do_mmap(m, PAGES(2400), RW, 0, &much);
	stage.result |= mm_access(m, much, PAGES(2400), WORLD_FILL, 0);
	BUG_ON(get_nr_swap_pages(m) + 300 > (long)m->total_swap_pages);
	stage.result |= do_munmap(m, much, PAGES(2400));
	stage.result |= do_swapoff(m, 0);
	VM_BUG_ON_MSG(stage.result || m->total_swap_pages || get_nr_swap_pages(m) ||
	                      m->swap[0]->inuse_pages,
	              "result %d, oom %lu, sigbus %u, %lu pages of swap, %ld free, %lu in use",
	              stage.result, vm_event_sum(m, OOM_KILL), machine_sigbus_kills(m),
	              m->total_swap_pages, get_nr_swap_pages(m), m->swap[0]->inuse_pages);
	BUG_ON(do_swapoff(m, 0) != -EINVAL);
	stage.result |= mm_access(m, own, PAGES(800), WORLD_SCAN, 0);
	stage.result |= mm_access(m, shared, PAGES(1500), WORLD_SCAN, 0);
	stage.result |= do_wait(child);
	/* And on again. */
	stage.result |= do_swapon(m, 0, -1);
	stage.result |= do_mmap(m, PAGES(3000), RW, 0, &much);
	stage.result |= mm_access(m, much, PAGES(3000), WORLD_FILL, 0);
	stage.result |= mm_access(m, own, PAGES(800), WORLD_SCAN, 0);
}

TEST(swapoff_brings_everything_back)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(4096, MB(64), presets[i]);
		stage_play(turns_swap_off);
		assert_int_equal(stage_event(OOM_KILL), 0);
		stage_strike();
	}
}

static void has_no_room(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va;

	(void)t, (void)arg;
	m->knob.overcommit_memory = OVERCOMMIT_NEVER;
	m->knob.overcommit_ratio = 100;
	stage.result |= do_mmap(m, PAGES(6000), RW, 0, &va);
	stage.result |= mm_access(m, va, PAGES(6000), WORLD_FILL, 0);
	BUG_ON(do_swapoff(m, 0) != -ENOMEM);
	BUG_ON(!m->total_swap_pages);
	stage.result |= mm_access(m, va, PAGES(6000), WORLD_SCAN, 0);
}

TEST(swapoff_is_refused_where_there_is_no_room)
{
	set(4096, MB(64), "6.18");
	stage_play(has_no_room);
	stage_strike();
}

/* ---- files of a tmpfs ---- */

static void uses_file(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 done, va, copy, other;
	u32 fd;

	(void)t, (void)arg;
	stage.result |= do_open(m, stage.file, &fd);
	stage.result |= do_pread(m, fd, 0, PAGES(3000), &done) || done != PAGES(2500);
	BUG_ON(stage_item(NR_SHMEM)); /* reading a hole makes no pages */
	stage.result |= do_pwrite(m, fd, 100, PAGES(2000), &done) || done != PAGES(2000);
	stage.result |= do_mmap_file(m, fd, 0, PAGES(2500), RW, MM_MAP_SHARED, &va);
	stage.result |= do_mmap_file(m, fd, 0, PAGES(2500), RW, 0, &copy);
	stage.result |= mm_access(m, va + PAGES(1000), PAGES(1500), WORLD_FILL, 0);
	stage.result |= mm_access(m, copy, PAGES(200), WORLD_WRITE, 0);
	stage.result |= do_mmap(m, PAGES(4500), RW, 0, &other);
	stage.result |= mm_access(m, other, PAGES(4500), WORLD_FILL, 0);
	stage.result |= do_pread(m, fd, 0, PAGES(2500), &done) || done != PAGES(2500);
	stage.result |= mm_access(m, copy, PAGES(2500), WORLD_READ, 5);
	stage.result |= do_fsync(m, fd) || do_msync(m, va, PAGES(2500));
	/* Cut off: pages and swap slots behind the end go, and what was there is empty when it grows. */
	stage.result |= do_ftruncate(m, fd, PAGES(500));
	stage.result |= do_ftruncate(m, fd, PAGES(2500));
	stage.result |= do_munmap(m, copy, PAGES(2500));
	stage.result |= mm_access(m, va, PAGES(2500), WORLD_SCAN, 0);
	stage.result |= do_munmap(m, va, PAGES(2500)) || do_munmap(m, other, PAGES(4500));
	stage.result |= do_close(m, fd);
	/* Closed, it stays, and keeps its memory. */
	BUG_ON(vm_committed_exact(m) < 500);
	stage.result |= do_unlink(m, stage.file);
	BUG_ON(stage_item(NR_SHMEM));
	VM_BUG_ON_MSG(vm_committed_exact(m), "%ld pages are accounted", vm_committed_exact(m));
}

TEST(a_file_of_a_tmpfs_is_written_mapped_swapped_and_cut_off)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(6144, MB(64), presets[i]);
		assert_int_equal(machine_shm_create(stage.m, "shm", PAGES(2500), &stage.file), 0);
		stage_play(uses_file);
		assert_true(stage_event(PSWPOUT) > 500);
		only_cache_is_in_swap();
		stage_strike();
	}
}

static void fills_tmpfs(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 max = m->fs->max_shmem;
	u64 done, va;
	u32 fd;

	(void)arg;
	stage.result |= do_open(m, stage.file, &fd);
	/* Half of memory, no more. */
	stage.result |= do_pwrite(m, fd, 0, PAGES(max + 10), &done) || done != PAGES(max);
	BUG_ON(do_pwrite(m, fd, PAGES(max), PAGES(1), &done) != -ENOSPC || done);
	/* What is there can still be written. */
	stage.result |= do_pwrite(m, fd, 0, PAGES(max), &done);
	stage.result |= do_ftruncate(m, fd, PAGES(max + 10));
	stage.result |= do_mmap_file(m, fd, 0, PAGES(max + 10), RW, MM_MAP_SHARED, &va);
	BUG_ON(mm_access(m, va + PAGES(max + 1), 1, WORLD_WRITE, 0) != -EINTR);
	BUG_ON(!task_killed(t));
	do_close(m, fd);
}

TEST(a_full_tmpfs_is_enospc_and_sigbus)
{
	set(6144, MB(64), "6.18");
	assert_int_equal(machine_shm_create(stage.m, "shm", 0, &stage.file), 0);
	stage_play(fills_tmpfs);
	assert_int_equal(machine_sigbus_kills(stage.m), 1);
	stage_strike();
}

/* ---- a failing swap disk ---- */

static void shares_on_a_bad_disk(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va;

	(void)t, (void)arg;
	if (do_mmap(m, PAGES(4000), RW, MM_MAP_SHARED, &va))
		return;
	for (u32 i = 0; i < 4; i++)
		if (mm_access(m, va, PAGES(4000), i % 2 ? WORLD_SCAN : WORLD_FILL, 0))
			return;
}

TEST(a_page_that_cannot_be_read_back_is_sigbus)
{
	stage_begin("6.18", 2, 1, 3072);
	hw_add_flash(stage.hw, MB(64))->error_ppm = 20000;
	stage_build();
	stage_play(shares_on_a_bad_disk);
	assert_true(stage.killed[0]);
	assert_int_equal(machine_sigbus_kills(stage.m), 1);
	assert_true(stage.m->nr_swap_errors[0] > 0);
	stage_strike();
}

TEST_MAIN("shmem")
