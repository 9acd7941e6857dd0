/*
 * Contents under --check: that right managers pass, and that each kind of mistake is found.
 */
#include "tests/sim/pager.h"

struct tag_test {
	struct pager p;
	struct world_as child;
	void (*fn)(struct test_machine *m, struct tag_test *t);
	struct wait_queue_head q;
	bool done;
	int err;
};

static void tag_body(struct test_machine *m, u32 i)
{
	struct tag_test *t = m->data;

	(void)i;
	world_use_as(&t->p.as);
	t->fn(m, t);
	world_use_as(NULL);
}

static void tag_run(void (*fn)(struct test_machine *m, struct tag_test *t))
{
	struct test_machine m;
	struct tag_test *t = calloc(1, sizeof(*t));

	test_machine_init(&m, 2, 1);
	m.opt.check = true;
	m.hw->nr_disks = 2;
	m.hw->disk[1] =
		(struct hw_disk){.name = "zram0", .kind = HW_DISK_RAM, .size_bytes = 1 << 24};
	test_machine_build(&m);
	pager_init(&m, &t->p);
	init_waitqueue_head(&t->q);
	t->fn = fn;
	m.data = t;
	test_task_start(&m, WORLD_TASK_USER, 0, tag_body);
	assert_int_equal(sim_run(m.w), 0);
	test_machine_destroy(&m);
	free(t->p.tables);
	free(t);
}

static void tag_io_done(struct world_io *io, int err)
{
	struct tag_test *t = io->priv;

	t->done = true;
	t->err = err;
	wake_up_all(&t->q);
}

static void tag_io_start(struct tag_test *t, struct world_io *io, u32 disk, bool write, u64 sector,
                         u64 pfn)
{
	*io = (struct world_io){.disk = disk,
	                        .write = write,
	                        .sector = sector,
	                        .nr_pages = 1,
	                        .pfn = {pfn},
	                        .done = tag_io_done,
	                        .priv = t};
	t->done = false;
	assert_int_equal(world_io_submit(io), 0);
}

static void tag_io(struct tag_test *t, u32 disk, bool write, u64 sector, u64 pfn)
{
	struct world_io io;

	tag_io_start(t, &io, disk, write, sector, pfn);
	wait_event(&t->q, READ_ONCE(t->done));
	assert_int_equal(t->err, 0);
}

static int read_page(struct tag_test *t, u64 page)
{
	return pager_access(&t->p, page, 1, WORLD_READ, 0);
}

static int write_page(struct tag_test *t, u64 page)
{
	return pager_access(&t->p, page, 1, WORLD_WRITE, 0);
}

static pte_t *pte_of(struct tag_test *t, u64 page)
{
	return pager_pte(&t->p, page * PAGE_SIZE);
}

/* ---- managers that are right ---------------------------------------------------------------- */

static void swap_and_copy(struct test_machine *m, struct tag_test *t)
{
	pte_t saved;

	(void)m;
	for (u32 disk = 0; disk < 2; disk++) {
		assert_int_equal(read_page(t, 1), 0);
		assert_int_equal(write_page(t, 1), 0);
		assert_int_equal(read_page(t, 1), 0);
		/* Out, the frame to somebody else, and in again to another frame. */
		saved = *pte_of(t, 1);
		*pte_of(t, 1) = (pte_t){0};
		tag_io(t, disk, true, 80, pte_pfn(saved));
		world_frame_free(pte_pfn(saved));
		tag_io(t, disk, false, 80, 500);
		*pte_of(t, 1) = pte_make(500, PTE_PRESENT | PTE_USER | PTE_WRITE);
		assert_int_equal(read_page(t, 1), 0);
		/* Migrated. */
		world_frame_copy(501, 500);
		world_frame_free(500);
		*pte_of(t, 1) = pte_make(501, PTE_PRESENT | PTE_USER | PTE_WRITE);
		assert_int_equal(read_page(t, 1), 0);
		assert_int_equal(write_page(t, 1), 0);
	}
}

TEST(contents_survive_swapping_and_migration)
{
	tag_run(swap_and_copy);
}

static void zero_page(struct test_machine *m, struct tag_test *t)
{
	(void)m;
	*pte_of(t, 1) = pte_make(9, PTE_PRESENT | PTE_USER | PTE_SPECIAL);
	assert_int_equal(read_page(t, 1), 0);
	assert_int_equal(write_page(t, 1), 0); /* faults, gets a frame */
	assert_int_equal(read_page(t, 1), 0);
}

TEST(zero_page_reads_as_zeros)
{
	tag_run(zero_page);
}

static void lazy_free(struct test_machine *m, struct tag_test *t)
{
	(void)m;
	for (u64 page = 0; page < 4; page++)
		assert_int_equal(write_page(t, page), 0);
	world_contents_zero(&t->p.as, 0, 4 * PAGE_SIZE, false); /* MADV_FREE */
	assert_int_equal(read_page(t, 0), 0);                   /* still there */
	world_frame_clear(pager_frame(0));                      /* gone, and zeros now */
	assert_int_equal(read_page(t, 0), 0);
	world_frame_clear(pager_frame(PAGE_SIZE));
	assert_int_equal(read_page(t, 1), 0);
	assert_int_equal(write_page(t, 2), 0); /* written: it may not go any more */
	assert_int_equal(read_page(t, 2), 0);
	/* DONTNEED: gone for certain, but for what was written meanwhile. */
	world_contents_zero(&t->p.as, 0, 4 * PAGE_SIZE, false);
	world_frame_clear(pager_frame(2 * PAGE_SIZE));
	world_frame_clear(pager_frame(3 * PAGE_SIZE));
	assert_int_equal(write_page(t, 3), 0);
	world_contents_zero(&t->p.as, 0, 4 * PAGE_SIZE, true);
	assert_int_equal(read_page(t, 2), 0);
	assert_int_equal(read_page(t, 3), 0);
}

TEST(advised_pages_may_read_as_zeros)
{
	tag_run(lazy_free);
}

/* ---- mistakes ------------------------------------------------------------------------------- */

#define MISTAKE(name, text, ...)                                                                   \
	static void mistake_##name(struct test_machine *m, struct tag_test *t)                     \
	{                                                                                          \
		(void)m;                                                                           \
		assert_panics(text, __VA_ARGS__);                                                  \
	}                                                                                          \
	TEST(name)                                                                                 \
	{                                                                                          \
		tag_run(mistake_##name);                                                           \
	}

MISTAKE(page_that_is_not_cleared_is_found, "garbage", t->p.dont_clear = true, read_page(t, 1))

MISTAKE(word_written_to_garbage_is_found, "garbage", t->p.dont_clear = true, write_page(t, 1))

MISTAKE(lost_page_is_found, "reads as zeros", write_page(t, 1), *pte_of(t, 1) = (pte_t){0},
        read_page(t, 1))

MISTAKE(page_of_somebody_else_is_found, "reads as write", write_page(t, 1), write_page(t, 2),
        *pte_of(t, 1) = *pte_of(t, 2), read_page(t, 1))

MISTAKE(page_used_after_free_is_found, "garbage", write_page(t, 1),
        world_frame_free(pager_frame(PAGE_SIZE)), read_page(t, 1))

MISTAKE(stale_swap_is_found, "reads as write", write_page(t, 1),
        tag_io(t, 0, true, 80, pager_frame(PAGE_SIZE)), write_page(t, 1), /* not written again */
        tag_io(t, 0, false, 80, 500), *pte_of(t, 1) = pte_make(500, PTE_PRESENT | PTE_USER),
        read_page(t, 1))

MISTAKE(write_during_writeback_must_not_be_lost, "reads as write", {
	struct world_io io;
	write_page(t, 1);
	tag_io_start(t, &io, 0, true, 80, pager_frame(PAGE_SIZE));
	write_page(t, 1); /* while it is on its way */
	wait_event(&t->q, READ_ONCE(t->done));
	tag_io(t, 0, false, 80, 500);
	*pte_of(t, 1) = pte_make(500, PTE_PRESENT | PTE_USER);
	read_page(t, 1);
})

MISTAKE(frame_freed_during_writeback_is_found, "freed while it was written", {
	struct world_io io;
	write_page(t, 1);
	tag_io_start(t, &io, 0, true, 80, pager_frame(PAGE_SIZE));
	world_frame_free(pager_frame(PAGE_SIZE));
	wait_event(&t->q, READ_ONCE(t->done));
})

MISTAKE(discarded_block_is_found, "garbage", write_page(t, 1),
        tag_io(t, 0, true, 80, pager_frame(PAGE_SIZE)), world_disk_discard(world_self->w, 0, 80, 8),
        tag_io(t, 0, false, 80, 500), *pte_of(t, 1) = pte_make(500, PTE_PRESENT | PTE_USER),
        read_page(t, 1))

MISTAKE(page_that_should_be_gone_is_found, "reads as write", write_page(t, 1),
        world_contents_zero(&t->p.as, 0, 4 * PAGE_SIZE, false),
        world_contents_zero(&t->p.as, 0, 4 * PAGE_SIZE, true), read_page(t, 1))

MISTAKE(page_that_came_back_is_found, "reads as write", {
	write_page(t, 1);
	world_frame_copy(500, pager_frame(PAGE_SIZE));
	world_contents_zero(&t->p.as, 0, 4 * PAGE_SIZE, false);
	world_frame_clear(pager_frame(PAGE_SIZE));
	read_page(t, 1); /* zeros: the page is gone */
	*pte_of(t, 1) = pte_make(500, PTE_PRESENT | PTE_USER);
	read_page(t, 1);
})

static void forked(struct test_machine *m, struct tag_test *t)
{
	(void)m;
	write_page(t, 1);
	world_contents_fork(&t->p.as, &t->child);
	t->child.root = t->p.as.root; /* shares the tables, as before the first write */
	world_syscall_exit();
	assert_int_equal(world_user_access(&t->child, PAGE_SIZE, PAGE_SIZE, WORLD_READ, 0), 0);
	world_syscall_enter();
	/* The parent writes without copying first: the child sees it, and must not. */
	assert_panics("reads as write", {
		write_page(t, 1);
		world_syscall_exit();
		world_user_access(&t->child, PAGE_SIZE, PAGE_SIZE, WORLD_READ, 0);
	});
}

TEST(fork_copies_what_is_expected)
{
	tag_run(forked);
}

/* A fork that fails late: what the child would have seen is no expectation of whoever comes after. */
static void stillborn(struct test_machine *m, struct tag_test *t)
{
	(void)m;
	t->child.root = t->p.as.root;
	write_page(t, 1);
	write_page(t, 2);
	world_contents_fork(&t->p.as, &t->child);
	world_contents_zero(&t->child, 0, 4 * PAGE_SIZE, false);
	world_contents_zero(&t->child, 0, 4 * PAGE_SIZE, true);
	/* A new address space at the same place ... */
	world_frame_clear(pager_frame(PAGE_SIZE));
	world_syscall_exit();
	assert_int_equal(world_user_access(&t->child, PAGE_SIZE, PAGE_SIZE, WORLD_READ, 0), 0);
	world_syscall_enter();
	/* ... or another child, whose own child comes after it. */
	assert_int_equal(pager_access(&t->p, 1, 1, WORLD_FILL, 0), 0);
	for (int i = 0; i < 2; i++) {
		world_contents_fork(&t->p.as, &t->child);
		world_contents_fork(&t->child, &t->p.as);
	}
	world_syscall_exit();
	assert_int_equal(world_user_access(&t->child, PAGE_SIZE, 2 * PAGE_SIZE, WORLD_READ, 0), 0);
	world_syscall_enter();
}

TEST(child_that_never_ran_leaves_no_expectations)
{
	tag_run(stillborn);
}

TEST_MAIN("tags")
