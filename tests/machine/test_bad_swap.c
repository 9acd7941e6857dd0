/*
 * Swap that fails, and swap that is full, on whole machines.
 *
 * Aim: who needs a page that cannot be read back gets SIGBUS, and nobody else; a page that cannot be written
 * stays where it is; swap that is full is the end of swapping, not of the machine; and no contents are lost.
 * Method: small simulated machines whose contents are checked at every access; audited at the end.
 */
#include "tests/machine/stage.h"

static u64 big_pages;   /* of the task that is too big */
static bool small_done; /* the other one has found what it wrote */

static void set(const char *preset, u64 swap_bytes, u32 error_ppm)
{
	stage_begin(preset, 2, 1, 4096);
	hw_add_flash(stage.hw, swap_bytes)->error_ppm = error_ppm;
	stage.knobs.overcommit_memory = OVERCOMMIT_ALWAYS;
	stage_build();
}

/* Writes and reads all it has, in turns. */
static void is_big(struct task *t, void *arg)
{
	u64 va;

	(void)t, (void)arg;
	if (do_mmap(stage.m, PAGES(big_pages), RW, 0, &va))
		return;
	for (u32 i = 0; i < 6; i++)
		if (mm_access(stage.m, va, PAGES(big_pages), i % 2 ? WORLD_SCAN : WORLD_FILL, 0))
			return;
}

/* Has a little, which it uses all the time: it is not reclaimed, or at least not lost. */
static void is_small(struct task *t, void *arg)
{
	u64 va;

	(void)t, (void)arg;
	if (do_mmap(stage.m, PAGES(50), RW, 0, &va) ||
	    mm_access(stage.m, va, PAGES(50), WORLD_FILL, 0))
		return;
	for (u32 i = 0; i < 400; i++) {
		world_user_compute(200000);
		if (mm_access(stage.m, va, PAGES(50), i % 5 ? WORLD_SCAN : WORLD_WRITE, 0))
			return;
	}
	small_done = true;
}

enum { BIG, SMALL };

static void play(u64 big)
{
	big_pages = big;
	small_done = false;
	stage_task("big", is_big, NULL);
	stage_task("small", is_small, NULL);
	stage_run();
}

static const char *const presets[] = {"3.16", "4.0", "6.18"};

TEST(what_cannot_be_written_stays_in_memory)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i], MB(64), 1000000);
		play(6000);
		/* Nothing leaves memory: it is too small for the big one. Nobody lost a page. */
		assert_true(stage.m->nr_swap_errors[1] > 0);
		assert_int_equal(stage.m->nr_swap_errors[0], 0);
		assert_int_equal(machine_sigbus_kills(stage.m), 0);
		assert_true(stage.killed[BIG]);
		assert_int_equal(stage_event(OOM_KILL), 1);
		assert_true(small_done && !stage.killed[SMALL]);
		stage_strike();
	}
}

TEST(who_needs_a_page_that_cannot_be_read_gets_sigbus)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i], MB(64), 5000);
		play(6000);
		assert_true(stage.m->nr_swap_errors[0] > 0);
		assert_true(stage.killed[BIG]);
		assert_int_equal(machine_sigbus_kills(stage.m), 1);
		assert_int_equal(stage_event(OOM_KILL), 0);
		assert_true(small_done && !stage.killed[SMALL]);
		stage_strike();
	}
}

TEST(full_swap_is_no_more_than_that)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		/*
		 * 1,023 slots. 6.18 has all of them under way at once, finds nothing to reclaim for
		 * as long as that takes, and may kill.
		 */
		set(presets[i], MB(4), 0);
		play(3850);
		assert_true(stage_event(PSWPOUT) > 100);
		assert_true(!stage.killed[BIG] || i == 2);
		assert_true(small_done);
		stage_strike();
		/* Too few. */
		set(presets[i], MB(4), 0);
		play(6000);
		assert_true(stage.killed[BIG]);
		assert_int_equal(stage_event(OOM_KILL), 1);
		assert_int_equal(machine_sigbus_kills(stage.m), 0);
		assert_true(small_done && !stage.killed[SMALL]);
		stage_strike();
	}
}

TEST_MAIN("bad_swap")
