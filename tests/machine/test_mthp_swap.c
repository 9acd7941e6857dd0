/*
 * Huge pages of other sizes on their way to swap and back.
 *
 * Aim: they are written whole where slots in a row are to be had, split and counted where not, mapped whole again
 * while the swap cache has them, and read back from RAM disks in the sizes that their policies allow. Method:
 * a task on a machine of 32 MiB asks for its pages to be swapped out (MADV_PAGEOUT) and touches them; counts
 * are derived beside it, contents are checked.
 */
#include "tests/machine/stage.h"

#include "core/huge_memory.h"

#define LEN MB(2)
#define NR_PAGES (LEN / PAGE_SIZE)

static u32 order;          /* of the size that is enabled */
static const char *also;   /* another one */
static const char *swapin; /* thp.swapin */
static u64 swap_bytes;
static bool zram;

static void set(const char *name, const char *value)
{
	char err[256];

	if (knob_set(&stage.knobs, name, value, err, sizeof(err)))
		panic("%s", err);
}

static void play(stage_fn fn)
{
	char name[32];

	stage_begin("6.18", 1, 1, 8192);
	snprintf(name, sizeof(name), "thp.%ukB", 4u << order);
	set("thp.2048kB", "never");
	set(name, "always");
	if (also)
		set(also, "always");
	if (swapin)
		set("thp.swapin", swapin);
	if (zram)
		hw_add_zram(stage.hw, swap_bytes);
	else
		hw_add_flash(stage.hw, swap_bytes);
	stage_build();
	stage_play(fn);
	stage_strike();
	also = swapin = NULL;
	zram = false;
}

static u64 stat(u32 o, enum mthp_stat s)
{
	return stage.m->mthp_stat[o][s];
}

/* NR_PAGES pages at an address of which all sizes are aligned, written. */
static u64 fill(void)
{
	u64 va;

	BUG_ON(do_mmap(stage.m, 2 * LEN, RW, 0, &va));
	va = ALIGN(va, LEN);
	BUG_ON(mm_access(stage.m, va, LEN, WORLD_FILL, 0));
	return va;
}

static void page_out(u64 va, u64 len)
{
	BUG_ON(do_madvise(stage.m, va, len, MM_MADV_PAGEOUT));
}

static void read_all(u64 va)
{
	BUG_ON(mm_access(stage.m, va, LEN, WORLD_SCAN, 0));
}

/* ---- out ---- */

static void out_whole(struct task *t, void *arg)
{
	u64 nr = NR_PAGES >> order;
	u64 va = fill();

	(void)arg;
	BUG_ON(stat(order, MTHP_ANON_FAULT_ALLOC) != nr);
	page_out(va, LEN);
	BUG_ON(stat(order, MTHP_SWPOUT) != nr || stat(order, MTHP_SPLIT));
	BUG_ON(stat(order, MTHP_SWPOUT_FALLBACK) || stage_event(THP_SWPOUT));
	BUG_ON(stage_event(PSWPOUT) != NR_PAGES);
	BUG_ON(atomic_long_peek(&t->mm->rss[MM_SWAPENTS]) != (long)NR_PAGES);
	/* Each in a row, at an aligned slot. */
	for (u64 at = va; at < va + LEN; at += PAGE_SIZE << order) {
		const pte_t *pte = pt_entry(stage.m, pt_find(stage.m, t->mm, at), at);
		u64 first = swp_offset(pte_to_swp_entry(*pte));

		BUG_ON(first & ((1u << order) - 1));
		for (u32 i = 0; i < 1u << order; i++)
			BUG_ON(swp_offset(pte_to_swp_entry(pte[i])) != first + i);
	}
	read_all(va);
	BUG_ON(stat(order, MTHP_SWPIN));
}

TEST(each_size_is_written_whole_to_slots_in_a_row)
{
	swap_bytes = MB(16);
	for (order = MTHP_MIN_ORDER; order < MTHP_MAX_ORDER; order++)
		play(out_whole);
}

/* 1 MiB of swap has no free cluster, but 255 slots for small pages: 15 large pages' and most of another's. */
static void out_in_pieces(struct task *t, void *arg)
{
	u64 va = fill();

	(void)t;
	(void)arg;
	page_out(va, LEN / 4);
	BUG_ON(stat(4, MTHP_SWPOUT) || stage_event(THP_SWPOUT_FALLBACK));
	BUG_ON(stat(4, MTHP_SWPOUT_FALLBACK) != NR_PAGES / 4 / 16);
	BUG_ON(stat(4, MTHP_SPLIT) != NR_PAGES / 4 / 16);
	BUG_ON(stage_event(PSWPOUT) != NR_PAGES / 4);
	read_all(va);
}

TEST(without_slots_in_a_row_they_are_split_and_counted)
{
	swap_bytes = MB(1);
	order = 4;
	play(out_in_pieces);
}

/* Part of a page is advised, or unmapped: that one is split, and what is unmapped is not written. */
static void out_partly(struct task *t, void *arg)
{
	u64 va = fill();

	(void)t;
	(void)arg;
	page_out(va, PAGES(8));
	BUG_ON(stat(4, MTHP_SPLIT) != 1 || stat(4, MTHP_SWPOUT) || stage_event(PSWPOUT) != 8);
	BUG_ON(do_madvise(stage.m, va + PAGES(16), PAGES(5), MM_MADV_DONTNEED));
	page_out(va + PAGES(16), PAGES(32));
	BUG_ON(stat(4, MTHP_SPLIT) != 2 || stat(4, MTHP_SWPOUT) != 1);
	BUG_ON(stat(4, MTHP_SWPOUT_FALLBACK) || stage_event(PSWPOUT) != 8 + 11 + 16);
	read_all(va);
}

TEST(what_is_partly_mapped_is_split_first)
{
	swap_bytes = MB(16);
	order = 4;
	play(out_partly);
}

/* Moved by half their size, so that one lies in two tables; then more is filled than there is memory. */
static void out_across_tables(struct task *t, void *arg)
{
	u64 va = fill();
	u64 to, more;

	(void)t;
	(void)arg;
	BUG_ON(do_mmap(stage.m, 3 * LEN, MM_PROT_NONE, 0, &to));
	to = ALIGN(to, LEN) + LEN - PAGES(8);
	BUG_ON(do_mremap(stage.m, va, PAGES(16), PAGES(16), MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED,
	                 &to));
	BUG_ON(do_mmap(stage.m, MB(40), RW, 0, &more));
	BUG_ON(mm_access(stage.m, more, MB(40), WORLD_FILL, 0));
	BUG_ON(stat(4, MTHP_SWPOUT) == 0);
	for (u32 i = 0; i < 16; i++) {
		u64 at = to + PAGES(i);

		BUG_ON(!pte_swap(*pt_entry(stage.m, pt_find(stage.m, t->mm, at), at)));
	}
	BUG_ON(mm_access(stage.m, to, PAGES(16), WORLD_SCAN, 0));
}

TEST(one_that_lies_in_two_tables_leaves_both)
{
	swap_bytes = MB(64);
	order = 4;
	play(out_across_tables);
}

/* ---- back, from the swap cache ---- */

/* The disk is slow, so that all is still being written: a fault each, or one each for 16. */
static void back_from_cache(struct task *t, void *arg)
{
	u64 va = fill();
	u64 faults;

	(void)arg;
	page_out(va, LEN);
	faults = t->min_flt;
	read_all(va);
	BUG_ON(stage_event(PSWPIN));
	BUG_ON(t->min_flt - faults != (swapin ? NR_PAGES : NR_PAGES / 16));
	BUG_ON(atomic_long_peek(&t->mm->rss[MM_SWAPENTS]));
	/* Nobody else has them: written where they are. */
	BUG_ON(mm_access(stage.m, va, LEN, WORLD_WRITE, 0));
	BUG_ON(stage_event(PGREUSE) != NR_PAGES || stat(4, MTHP_ANON_FAULT_ALLOC) != NR_PAGES / 16);
}

static void slow_disk(void)
{
	swap_bytes = MB(16);
	order = 4;
}

TEST(what_the_swap_cache_still_has_is_mapped_whole_since_6_11)
{
	slow_disk();
	play(back_from_cache);
	swapin = "page";
	play(back_from_cache);
}

/* ---- back, from a RAM disk ---- */

static void back_whole(struct task *t, void *arg)
{
	u64 va = fill();
	u64 nr = NR_PAGES >> order;

	(void)arg;
	page_out(va, LEN);
	BUG_ON(stat(order, MTHP_SWPOUT) != nr);
	read_all(va);
	BUG_ON(stage_event(PSWPIN) != NR_PAGES);
	BUG_ON(stat(order, MTHP_SWPIN) != (swapin ? 0 : nr));
	BUG_ON(stage_event(PGMAJFAULT) != (swapin ? NR_PAGES : nr));
	BUG_ON(t->maj_flt != stage_event(PGMAJFAULT));
	BUG_ON(atomic_long_peek(&t->mm->rss[MM_SWAPENTS]));
	BUG_ON(get_nr_swap_pages(stage.m) != (long)stage.m->total_swap_pages);
	/* And they are what they were: whole. */
	page_out(va, LEN);
	BUG_ON(stat(order, MTHP_SWPOUT) != (swapin ? 1 : 2) * nr);
	BUG_ON(mm_access(stage.m, va, LEN, WORLD_WRITE, 0));
}

TEST(each_size_is_read_whole_from_a_ram_disk_since_6_13)
{
	swap_bytes = MB(16);
	for (order = MTHP_MIN_ORDER; order < MTHP_MAX_ORDER; order++) {
		zram = true;
		play(back_whole);
	}
	order = 4;
	zram = true;
	swapin = "page";
	play(back_whole);
}

/*
 * Page 5 of the first 16 is unmapped: around it there are three rows of 4 that are whole, and 4, 6 and 7 alone.
 */
static void back_in_parts(struct task *t, void *arg)
{
	u64 va = fill();

	(void)t;
	(void)arg;
	page_out(va, LEN);
	BUG_ON(do_madvise(stage.m, va + PAGES(5), PAGE_SIZE, MM_MADV_DONTNEED));
	read_all(va);
	BUG_ON(stat(4, MTHP_SWPIN) != NR_PAGES / 16 - 1);
	BUG_ON(stat(2, MTHP_SWPIN) != 3);
	BUG_ON(stage_event(PSWPIN) != NR_PAGES - 1);
	BUG_ON(stage_event(PGMAJFAULT) != NR_PAGES / 16 - 1 + 3 + 3);
}

TEST(around_a_hole_smaller_sizes_are_read)
{
	swap_bytes = MB(16);
	order = 4;
	also = "thp.16kB";
	zram = true;
	play(back_in_parts);
}

/* After a fork each slot has two users: pages come one by one through the swap cache, which both find there. */
static void child_reads(struct task *t, void *arg)
{
	(void)t;
	read_all(*(u64 *)arg);
}

static void back_shared(struct task *t, void *arg)
{
	static u64 va;
	struct task *child;

	(void)t;
	(void)arg;
	va = fill();
	page_out(va, LEN);
	BUG_ON(do_fork(stage.m, "child", child_reads, &va, &child));
	task_start(child, -1);
	BUG_ON(do_wait(child));
	BUG_ON(stat(4, MTHP_SWPIN));
	BUG_ON(mm_access(stage.m, va, LEN, WORLD_WRITE, 0));
	read_all(va);
}

TEST(what_two_need_is_read_page_by_page)
{
	swap_bytes = MB(16);
	order = 4;
	zram = true;
	play(back_shared);
}

TEST_MAIN("mthp_swap")
