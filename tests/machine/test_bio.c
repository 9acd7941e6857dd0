/*
 * Bios when there is no memory for one (core/bio.c).
 *
 * Aim: a bio takes no page from below the min mark; two are in reserve; whoever comes then waits until one
 * is given back, and no longer; and reclaim that swaps to a disk goes that way and loses nothing.
 * Method: tasks that take all memory above the mark themselves, then whole machines short of memory.
 */
#include "tests/machine/stage.h"

#include "core/swap.h"

#define HOLD_MS 20

static struct page *held[4096];
static u32 nr_held;

static void set(const char *preset)
{
	stage_begin(preset, 2, 1, 4096);
	hw_add_flash(stage.hw, MB(64));
	stage.knobs.overcommit_memory = OVERCOMMIT_ALWAYS;
	stage_build();
}

static u32 bios(void)
{
	return stage.m->slab[SLAB_BIO].nr_objs;
}

/* Takes what can be had at the min mark without an effort. */
static void hold_all(void)
{
	while (nr_held < ARRAY_SIZE(held) &&
	       (held[nr_held] = alloc_page(stage.m, __GFP_NOMEMALLOC | __GFP_NOWARN)))
		nr_held += 1;
}

static void let_go(void)
{
	while (nr_held)
		__free_pages(stage.m, held[--nr_held], 0);
}

static void gives_back(struct task *t, void *arg)
{
	(void)t, (void)arg;
	world_sleep(MS(HOLD_MS));
	bio_free(stage.m, 0);
}

/* As many as the slabs have room for, then the two; the next one waits for gives_back(). */
static void takes_all(struct task *t, void *arg)
{
	u32 nr = 0, room;
	u64 since;

	(void)arg;
	hold_all();
	room = stage.m->slab[SLAB_BIO].nr_frames * stage.m->slab[SLAB_BIO].objs_per_frame;
	t->flags |= PF_MEMALLOC; /* which is of no use */
	for (u32 i = 0; i < room + 2; i++, nr++)
		bio_alloc(stage.m, 0, GFP_NOIO);
	assert_int_equal(stage.m->nr_bio_reserve, 0);
	since = world_now();
	bio_alloc(stage.m, 0, GFP_NOIO);
	nr += 1;
	assert_in_range(world_now() - since, MS(HOLD_MS) / 2, MS(HOLD_MS) * 2);
	t->flags &= ~(u32)PF_MEMALLOC;
	let_go();
	while (--nr) /* one has been given back */
		bio_free(stage.m, 0);
}

static const char *const presets[] = {"3.1", "4.0", "6.18"};

TEST(whoever_finds_no_bio_waits_until_one_is_given_back)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i]);
		assert_int_equal(stage.m->nr_bio_reserve, 2);
		stage_task("taker", takes_all, NULL);
		stage_task("giver", gives_back, NULL);
		stage_run();
		assert_int_equal(stage.m->nr_bio_reserve, 2);
		assert_int_equal(bios(), 0);
		stage_strike();
	}
}

static u64 waits_for_bios(void)
{
	const struct ledger *l = &stage.w->ledger;
	u64 nr = 0;

	for (u32 i = 1; i < l->nr_nodes; i++)
		if (l->node[i].span == SPAN_MEMPOOL)
			nr += l->node[i].count;
	return nr;
}

/* Half as much again as there is memory, twice: contents are checked. */
static void swaps(struct task *t, void *arg)
{
	u64 va;

	(void)t, (void)arg;
	stage.result = do_mmap(stage.m, PAGES(6000), RW, 0, &va) ?:
	               mm_access(stage.m, va, PAGES(6000), WORLD_FILL, 0) ?:
	               mm_access(stage.m, va, PAGES(6000), WORLD_SCAN, 0);
}

TEST(reclaim_at_the_min_mark_waits_for_bios)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		set(presets[i]);
		stage_play(swaps);
		assert_true(stage_event(PSWPOUT) > 2000);
		assert_true(waits_for_bios() > 0);
		stage_strike();
	}
}

/* A RAM disk is done at once, and needs none. */
TEST(ram_disks_take_no_bios)
{
	stage_begin("4.0", 2, 1, 4096);
	hw_add_zram(stage.hw, MB(64));
	stage.knobs.overcommit_memory = OVERCOMMIT_ALWAYS;
	stage_build();
	stage_play(swaps);
	assert_true(stage_event(PSWPOUT) > 2000);
	assert_int_equal(bios(), 0);
	stage_strike();
}

TEST_MAIN("bio")
