/*
 * Swap that fails, and swap that is full, on whole machines.
 *
 * Aim: who needs a page that cannot be read back gets SIGBUS, and nobody else; a page that cannot be written
 * stays where it is; swap that is full is the end of swapping, not of the machine; and no contents are lost.
 * Method: small simulated machines whose contents are checked at every access; audited at the end.
 */
#include "tests/test.h"

#include <errno.h>

#include "core/fs.h"
#include "sim/sim.h"
#include "tests/hw_util.h"

#define PAGES(n) ((u64)(n)*PAGE_SIZE)
#define RW (MM_PROT_READ | MM_PROT_WRITE)
#define MB(n) ((u64)(n) << 20)

static struct stage {
	struct hw_machine *hw;
	struct world *w;
	struct machine *m;
	u64 big;         /* pages of the task that is too big */
	bool small_done; /* the other one has found what it wrote */
	bool big_killed;
	bool small_killed;
} stage;

static void set(const char *preset, u64 swap_bytes, u32 error_ppm)
{
	struct knobs knobs;
	char err[SIM_ERROR_MAX];

	memset(&stage, 0, sizeof(stage));
	stage.hw = hw_make(2, 1, 4096);
	hw_add_flash(stage.hw, swap_bytes)->error_ppm = error_ppm;
	BUG_ON(knobs_preset(&knobs, preset));
	knobs.min_free_kbytes = 1024;
	knobs.overcommit_memory = OVERCOMMIT_ALWAYS;
	stage.w = sim_create(stage.hw, &(struct sim_options){.seed = 1, .check = true}, err);
	assert_non_null(stage.w);
	stage.m = machine_create(stage.w, &knobs, err, sizeof(err));
	assert_non_null(stage.m);
	assert_int_equal(do_swapon(stage.m, 0, -1), 0);
}

/* Writes and reads all it has, in turns. */
static void is_big(struct task *t, void *arg)
{
	u64 va;

	(void)t, (void)arg;
	if (do_mmap(stage.m, PAGES(stage.big), RW, 0, &va))
		return;
	for (u32 i = 0; i < 6; i++)
		if (mm_access(stage.m, va, PAGES(stage.big), i % 2 ? WORLD_SCAN : WORLD_FILL, 0))
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
	stage.small_done = true;
}

static void play(u64 big)
{
	struct task *a, *b;

	stage.big = big;
	a = task_create(stage.m, "big", NULL, is_big, NULL);
	b = task_create(stage.m, "small", NULL, is_small, NULL);
	task_start(a, 0);
	task_start(b, 1);
	assert_int_equal(sim_run(stage.w), 0);
	stage.big_killed = task_killed(a);
	stage.small_killed = task_killed(b);
	task_put(a);
	task_put(b);
	machine_audit(stage.m);
}

static void strike(void)
{
	machine_destroy(stage.m);
	sim_destroy(stage.w);
	hw_free(stage.hw);
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
		assert_true(stage.big_killed);
		assert_int_equal(vm_event_sum(stage.m, OOM_KILL), 1);
		assert_true(stage.small_done && !stage.small_killed);
		strike();
	}
}

TEST(who_needs_a_page_that_cannot_be_read_gets_sigbus)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i], MB(64), 5000);
		play(6000);
		assert_true(stage.m->nr_swap_errors[0] > 0);
		assert_true(stage.big_killed);
		assert_int_equal(machine_sigbus_kills(stage.m), 1);
		assert_int_equal(vm_event_sum(stage.m, OOM_KILL), 0);
		assert_true(stage.small_done && !stage.small_killed);
		strike();
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
		assert_true(vm_event_sum(stage.m, PSWPOUT) > 100);
		assert_true(!stage.big_killed || i == 2);
		assert_true(stage.small_done);
		strike();
		/* Too few. */
		set(presets[i], MB(4), 0);
		play(6000);
		assert_true(stage.big_killed);
		assert_int_equal(vm_event_sum(stage.m, OOM_KILL), 1);
		assert_int_equal(machine_sigbus_kills(stage.m), 0);
		assert_true(stage.small_done && !stage.small_killed);
		strike();
	}
}

TEST_MAIN("bad_swap")
