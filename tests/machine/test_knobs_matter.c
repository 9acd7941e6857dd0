/*
 * Every knob changes what a machine does.
 *
 * Aim: no knob is dead. Method: small machines with several kinds of trouble (swap on flash, on
 * rotating disks and on compressed RAM; no swap at all; NUMA) run the same tasks with each value of
 * each knob, on top of each preset; the whole of /proc/vmstat and the elapsed time must differ from
 * the preset's in at least one of them. Knobs that no such run can reach have a unit test, named here.
 */
#include "tests/test.h"

#include "core/internal.h"
#include "sim/sim.h"
#include "tests/hw_util.h"

/* What only requests of more than one page, fragmentation, or more memory than these have can show. */
static const struct {
	const char *knob;
	const char *shown_by;
} elsewhere[] = {
	{"watermark.order", "test_watermark"},
	{"alloc.fallback", "test_buddy"},
	{"vm.watermark_boost_factor", "test_watermark"},
	{"watermark.pages", "test_watermark: these machines have no descriptors"},
	{"vm.zone_reclaim_mode", "test_node_reclaim: needs many pages of files"},
	{"numa.reclaim_distance", "test_node_reclaim"},
	{"readahead.form", "test_readahead"},
	{"writeback.proportions", "test_proportions, test_two_disks: needs two disks for files"},
	{"writeback.spread", "test_two_disks: needs many pages of files"},
	{"fs.prealloc", "test_files: where the blocks of files lie"},
	{"workingset.nodes", "test_reclaim_files: needs many pages of files"},
	{"thp.deferred_split", "test_thp"},
	{"vm.compact_unevictable_allowed", "test_migrate"},
	{"thp.16kB", "test_thp"},
	{"thp.32kB", "test_thp"},
	{"thp.64kB", "test_thp"},
	{"thp.128kB", "test_thp"},
	{"thp.256kB", "test_thp"},
	{"thp.512kB", "test_thp"},
	{"thp.1024kB", "test_thp"},
	{"thp.2048kB", "test_thp"},
	{"thp.migration", "test_move_huge"},
	{"thp.swapin", "test_mthp_swap: needs huge pages of other sizes"},
	{"khugepaged.form", "test_khugepaged: a machine lives for seconds here"},
	{"numa.weighted_interleave", "test_mempolicy"},
	{"numa.weight.node0", "test_mempolicy"},
	{"numa.weight.node1", "test_mempolicy"},
	{"numa.weight.node2", "test_mempolicy"},
	{"numa.weight.node3", "test_mempolicy"},
	{"thp.node", "test_mempolicy"},
	{"khugepaged.node", "test_khugepaged_node"},
	{"khugepaged.node_abort", "test_khugepaged_node"},
	{"khugepaged.defrag", "test_khugepaged"},
	{"khugepaged.pages_to_scan", "test_khugepaged"},
	{"khugepaged.scan_sleep_millisecs", "test_khugepaged"},
	{"khugepaged.alloc_sleep_millisecs", "test_khugepaged"},
	{"khugepaged.max_ptes_none", "test_khugepaged"},
	{"khugepaged.max_ptes_swap", "test_khugepaged"},
	{"khugepaged.max_ptes_shared", "test_khugepaged"},
	{"thp.enabled", "test_watermark: these machines set vm.min_free_kbytes"},
	{"vm.lowmem_reserve_ratio.dma32", "test_watermark: needs 4 GB short of memory"},
	{"vm.lowmem_reserve_ratio.normal",
         "test_watermark: ZONE_MOVABLE is empty, so it reserves nothing"},
};

struct run {
	struct machine *m;
	u64 pages;
	u32 next;
	u32 file[5]; /* one for each worker, one for all */
};

static void child(struct task *t, void *arg)
{
	struct run *r = arg;
	u64 va;

	(void)t;
	if (do_mmap(r->m, r->pages / 4 * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, 0, &va) == 0)
		mm_access(r->m, va, r->pages / 4 * PAGE_SIZE, WORLD_FILL, 0);
}

/* The same, and reads what it shares with its parent: two CPUs come to the locks of reverse walks. */
static void reader(struct task *t, void *arg)
{
	struct run *r = arg;

	child(t, arg);
	for (u32 i = 0; i < 3; i++)
		mm_access(r->m, MMAP_BASE - r->pages * PAGE_SIZE, r->pages * PAGE_SIZE, WORLD_READ,
		          11 + i);
}

/* Fills, locks, advises, overwrites, forks, reads back, sleeps over a fold of the counters. */
static void worker(struct task *t, void *arg)
{
	struct run *r = arg;
	u64 len = r->pages * PAGE_SIZE;
	u32 me = r->next++;
	struct task *c = NULL;
	u64 va;

	(void)t;
	if (do_mmap(r->m, len, MM_PROT_READ | MM_PROT_WRITE, 0, &va))
		return;
	for (u32 i = 0; i < 3; i++) {
		if (mm_access(r->m, va, len, WORLD_FILL, 0))
			return;
		if (do_mlock(r->m, va + len - 64 * PAGE_SIZE, 64 * PAGE_SIZE))
			return;
		if (do_madvise(r->m, va, len / 2, MM_MADV_FREE))
			return;
		if (do_munlock(r->m, va + len - 64 * PAGE_SIZE, 48 * PAGE_SIZE))
			return;
		if (mm_access(r->m, va, len / 3, WORLD_WRITE, 7 + me))
			return;
		if (i == 1 && do_fork(r->m, "child", reader, r, &c) == 0)
			task_start(c, -1);
		if (mm_access(r->m, va, len, WORLD_READ, 0))
			return;
		world_syscall_enter();
		world_sleep(700000000);
		world_syscall_exit();
	}
	/* The counters are due for folding while it computes. */
	world_user_compute(1500000000);
	if (c)
		do_wait(c);
}

#define MB(n) ((u64)(n) << 20)

/* A huge page is shared, written to while others are to be had, and locked as one and as ptes. */
static void copy_huge_page(struct run *r)
{
	struct task *c = NULL;
	u64 va;

	if (do_mmap(r->m, MB(4), MM_PROT_READ | MM_PROT_WRITE, 0, &va))
		return;
	va = ALIGN(va, MB(2));
	mm_access(r->m, va, MB(2), WORLD_WRITE, 0);
	if (do_fork(r->m, "child", child, r, &c))
		return;
	task_start(c, -1);
	mm_access(r->m, va, MB(2), WORLD_WRITE, 0);
	do_wait(c);
	for (u32 i = 0; i < 2; i++) {
		do_mlock(r->m, va, MB(2));
		do_munlock(r->m, va, MB(2));
		do_mprotect(r->m, va, PAGE_SIZE, MM_PROT_READ);
		do_mprotect(r->m, va, PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE);
	}
}

/* Huge pages: read before they are written, unmapped in part, shared, copied, reclaimed. */
static void huge_worker(struct task *t, void *arg)
{
	struct run *r = arg;
	struct task *c = NULL;
	u64 len = MB(24);
	u64 va;

	(void)t;
	if (do_mmap(r->m, len, MM_PROT_READ | MM_PROT_WRITE, 0, &va))
		return;
	va = ALIGN(va, MB(2));
	len -= MB(2);
	copy_huge_page(r);
	for (u32 i = 0; i < 2; i++) {
		if (mm_access(r->m, va, len / 4, WORLD_READ, 0) ||
		    mm_access(r->m, va, len, WORLD_WRITE, 0))
			return;
		do_madvise(r->m, va + MB(4), len / 4, MM_MADV_FREE);
		if (do_fork(r->m, "child", child, r, &c) == 0)
			task_start(c, -1);
		mm_access(r->m, va + MB(6), MB(4), WORLD_WRITE, 3);
		for (u64 at = va + MB(6); at < va + len; at += MB(2))
			do_madvise(r->m, at, PAGE_SIZE, MM_MADV_DONTNEED);
		if (c)
			do_wait(c);
		c = NULL;
		do_drop_caches(r->m, 3);
		world_syscall_enter();
		world_sleep(1200000000);
		world_syscall_exit();
	}
}

#define FILE_PAGES 1600

/* Maps a file of its own and one that all write to; reads in order and at random, writes, reads again. */
static void file_worker(struct task *t, void *arg)
{
	struct run *r = arg;
	u64 len = FILE_PAGES * PAGE_SIZE;
	u32 me = r->next++;
	u32 fd[2];
	u64 own, all, copy;
	u64 done;

	(void)t;
	if (do_open(r->m, r->file[me], &fd[0]) || do_open(r->m, r->file[4], &fd[1]))
		return;
	if (do_mmap_file(r->m, fd[0], 0, len, MM_PROT_READ | MM_PROT_WRITE, MM_MAP_SHARED, &own) ||
	    do_mmap_file(r->m, fd[0], 0, len, MM_PROT_READ | MM_PROT_WRITE, 0, &copy) ||
	    do_mmap_file(r->m, fd[1], 0, len, MM_PROT_READ | MM_PROT_WRITE, MM_MAP_SHARED, &all))
		return;
	for (u32 i = 0; i < 3; i++) {
		if (mm_access(r->m, own, len, WORLD_READ, 0) ||
		    mm_access(r->m, all, len / 2, WORLD_READ, 7 + me) ||
		    mm_access(r->m, own, len / 8, WORLD_WRITE, 0) ||
		    mm_access(r->m, all, len, WORLD_WRITE, 9 + me) ||
		    do_pwrite(r->m, fd[0], len / 2, len / 2, &done) ||
		    do_pread(r->m, fd[1], 0, len, &done) || do_fsync(r->m, fd[0]) ||
		    mm_access(r->m, copy, len / 4, WORLD_FILL, 0))
			return;
		world_syscall_enter();
		world_sleep(700000000);
		world_syscall_exit();
	}
	/* And leaves some of it dirty, less than the flusher is woken for, until that has looked after 30 s. */
	do_pwrite(r->m, fd[0], 0, len / 32, &done);
	world_syscall_enter();
	world_sleep(37000000000);
	world_syscall_exit();
	do_close(r->m, fd[0]);
	do_close(r->m, fd[1]);
}

/*
 * Promises and moves: maps until it is refused, as anybody and as root; moves memory, huge and not, over
 * several tables; grows more than there is.
 */
static void space_worker(struct task *t, void *arg)
{
	struct run *r = arg;
	u64 len = MB(8);
	u64 va, to, small;
	u32 nr = 0;

	if (do_mmap(r->m, MB(64), MM_PROT_NONE, 0, &to) ||
	    do_mmap(r->m, len, MM_PROT_READ | MM_PROT_WRITE, 0, &va) || do_munmap(r->m, to, MB(64)))
		return;
	mm_access(r->m, va, len, WORLD_FILL, 0);
	for (u32 i = 0; i < 4; i++) {
		u64 at = ALIGN(to, MB(2)) + i % 2 * MB(32) + (va & ~PMD_MASK);

		if (do_mremap(r->m, va, len, len, MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED, &at))
			return;
		va = at;
		mm_access(r->m, va, len, WORLD_READ, 5);
	}
	if (do_madvise(r->m, va, MB(1), MM_MADV_COLD) == 0)
		mm_access(r->m, va, len, WORLD_READ, 3);
	if (do_mremap(r->m, va, len, MB(512), MM_MREMAP_MAYMOVE, &va) == -EFAULT)
		mm_access(r->m, va, len, WORLD_READ, 0);
	if (do_mremap(r->m, va, len, 1UL << 47, MM_MREMAP_MAYMOVE, &va) == -EINVAL)
		mm_access(r->m, va, len, WORLD_READ, 0);
	for (u32 i = 0; i < 2; i++) {
		task_set_memlock(t, 0, i);
		while (nr < 2000 &&
		       do_mmap(r->m, 3 * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, 0, &small) == 0)
			nr += 1;
		world_user_compute(nr * 1000); /* so that it shows */
	}
	if (do_mmap(r->m, (r->m->totalram_pages - 20) * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, 0,
	            &small) == 0)
		mm_access(r->m, small, MB(4), WORLD_WRITE, 0);
}

/* A number that two runs share only if they did the same. */
struct print {
	u64 sum;
};

static void add(const char *name, u64 value, bool event, void *arg)
{
	struct print *p = arg;

	(void)name;
	(void)event;
	p->sum = rand_hash(p->sum, 1, value, 0);
}

enum place {
	ON_FLASH,
	ON_ROTATING,
	ON_ZRAM,
	WITHOUT_SWAP,
	ON_NODES,
	WITH_HUGE,
	WITH_FILES,
	WITH_LIMITS, /* vm.overcommit_memory = 2, unless the knob is that */
	WITH_MOVES,
	NR_PLACES,
};

static void (*worker_of(enum place place))(struct task *, void *)
{
	if (place == WITH_LIMITS || place == WITH_MOVES)
		return space_worker;
	return place == WITH_HUGE ? huge_worker : place == WITH_FILES ? file_worker : worker;
}

static u64 run(const struct knobs *knobs, enum place place)
{
	const struct knobs *k = knobs;
	struct knobs huge = *knobs;
	struct hw_machine *hw =
		hw_make(2, place == ON_NODES ? 2 : 1, place == ON_NODES ? 786432 + 8192 : 8192);
	struct run r = {.pages = 3200};
	struct print p = {0};
	struct world *w;
	char err[512];

	if (place == ON_FLASH)
		hw_add_flash(hw, 64 << 20);
	else if (place == ON_ROTATING)
		hw_add_rotating(hw, 64 << 20);
	else if (place == ON_ZRAM)
		hw_add_zram(hw, 64 << 20);
	else if (place == WITHOUT_SWAP)
		r.pages = 2200;
	else if (place == WITH_FILES) {
		hw_add_flash(hw, 64 << 20);
		hw_add_files(hw, 64 << 20);
	}
	if (place == WITH_LIMITS || place == WITH_MOVES) {
		if (place == WITH_LIMITS)
			huge.overcommit_memory = OVERCOMMIT_NEVER;
		else
			huge.thp_enabled = THP_ALWAYS;
		hw->range[hw->nr_ranges - 1].nr_pages = 24 << 8;
		k = &huge;
	}
	if (place == WITH_HUGE) {
		hw->range[hw->nr_ranges - 1].nr_pages = 24 << 8;
		hw_add_flash(hw, MB(128));
		huge.thp_enabled = THP_ALWAYS;
		k = &huge;
	}
	w = sim_create(hw, &(struct sim_options){.seed = 1, .max_ns = 60000000000}, err);
	assert_non_null(w);
	r.m = machine_create(w, k, err, sizeof(err));
	if (!r.m) { /* a value may ask for more than there is */
		sim_destroy(w);
		hw_free(hw);
		return 1;
	}
	if (hw->nr_disks)
		assert_int_equal(0, do_swapon(r.m, 0, -1));
	for (u32 i = 0; place == WITH_FILES && i < ARRAY_SIZE(r.file); i++)
		assert_int_equal(0, machine_file_create(r.m, "data", FILE_PAGES * PAGE_SIZE, false,
		                                        &r.file[i]));
	for (u32 i = 0; i < 4; i++) {
		struct task *t = task_create(r.m, "worker", NULL, worker_of(place), &r);

		assert_non_null(t);
		task_start(t, -1);
	}
	sim_run(w);
	p.sum = sim_elapsed(w);
	machine_counters(r.m, add, &p);
	machine_destroy(r.m);
	sim_destroy(w);
	hw_free(hw);
	return p.sum;
}

static u64 base[2][NR_PLACES];

static const char *const preset[] = {"4.0", "6.18"};

static void preset_is(struct knobs *k, u32 i)
{
	assert_int_equal(0, knobs_preset(k, preset[i]));
	/* The size of these machines would leave most of it to the reserve otherwise. */
	k->min_free_kbytes = 1024;
}

static bool differs(const struct knob_info *info, const char *value)
{
	for (u32 i = 0; i < 2; i++) {
		struct knobs k;
		char now[64], err[256];

		preset_is(&k, i);
		knob_get(&k, info, now, sizeof(now));
		if (strcmp(now, value) == 0)
			continue;
		assert_int_equal(0, knob_set(&k, info->name, value, err, sizeof(err)));
		for (u32 place = 0; place < NR_PLACES; place++)
			if (run(&k, place) != base[i][place])
				return true;
	}
	return false;
}

static const char *shown_elsewhere(const char *knob)
{
	for (u32 i = 0; i < ARRAY_SIZE(elsewhere); i++)
		if (strcmp(elsewhere[i].knob, knob) == 0)
			return elsewhere[i].shown_by;
	return NULL;
}

/* A number other than the default that a run can be expected to notice. */
static void other_number(const struct knob_info *info, char *buf, size_t n)
{
	u64 v = info->column[1] ? info->column[1] * 2 : info->max / 2;

	if (strcmp(info->name, "vm.percpu_pagelist_high_fraction") == 0)
		v = 8;
	if (strcmp(info->name, "vm.user_reserve_kbytes") == 0)
		v = 4;
	if (strcmp(info->name, "vm.min_free_kbytes") == 0)
		v = 2048;
	if (strcmp(info->name, "vm.dirty_writeback_centisecs") == 0)
		v = 0;
	if (strcmp(info->name, "vm.dirty_background_ratio") == 0)
		v = 1;
	if (strcmp(info->name, "vm.dirty_background_bytes") == 0)
		v = 1 << 16;
	snprintf(buf, n, "%lu", min(v, info->max));
}

TEST(every_knob_changes_what_a_machine_does)
{
	u32 nr_dead = 0;

	for (u32 i = 0; i < 2; i++) {
		for (u32 place = 0; place < NR_PLACES; place++) {
			struct knobs k;

			preset_is(&k, i);
			base[i][place] = run(&k, place);
			assert_true(run(&k, place) == base[i][place]);
		}
	}
	for (u32 i = 0; i < knob_count(); i++) {
		const struct knob_info *info = knob_at(i);
		bool alive = shown_elsewhere(info->name) != NULL;
		char number[32];

		if (!info->nr_values && !alive) {
			other_number(info, number, sizeof(number));
			alive = differs(info, number);
		}
		for (u32 v = 0; v < info->nr_values && !alive; v++)
			alive = differs(info, info->value[v]);
		if (!alive)
			print_message("knob %s changes nothing\n", info->name);
		nr_dead += !alive;
	}
	assert_int_equal(0, nr_dead);
}

TEST_MAIN("knobs_matter")
