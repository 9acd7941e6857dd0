/*
 * Files on two disks, and on two nodes (core/proportions.c, node_dirty_ok()).
 *
 * Aim: a slow disk's dirty pages do not take the room of a fast one's, nor do all lie on one node.
 * Method: the well-known test, a writer to a slow stick and a writer to a fast disk, on a small machine;
 * expected times follow from the disks' speeds and the limits.
 */
#include "tests/test.h"

#include <errno.h>

#include "core/fs.h"
#include "sim/sim.h"
#include "tests/hw_util.h"

#define MB (1UL << 20)
#define PAGES(bytes) ((bytes) / PAGE_SIZE)
#define SECOND 1000000000UL

enum { FAST, SLOW }; /* the disks, by their place */

static struct stage {
	struct hw_machine *hw;
	struct world *w;
	struct machine *m;
	u32 file[2];
	u64 bytes[2]; /* what each writer writes */
	u64 took_ns[2];
	u64 most_dirty[2]; /* of each disk's pages */
	u64 most_on_node;
} stage;

/* Background from 1 MB on, pauses from 6, the limit is 11. */
static void limits(struct knobs *k)
{
	k->dirty_background_bytes = 1 * MB;
	k->dirty_bytes = 11 * MB;
}

static void stage_set(const char *preset, u32 nr_nodes, void (*tweak)(struct knobs *k))
{
	struct knobs knobs;
	char err[SIM_ERROR_MAX];

	memset(&stage, 0, sizeof(stage));
	stage.hw = hw_make(2, nr_nodes, PAGES(128 * MB));
	hw_add_files(stage.hw, 512 * MB)->write_bytes_per_s = 20 * MB;
	hw_add_files(stage.hw, 256 * MB)->write_bytes_per_s = 1 * MB;
	hw_add_flash(stage.hw, 64 * MB);
	assert_int_equal(knobs_preset(&knobs, preset), 0);
	knobs.min_free_kbytes = 1024;
	tweak(&knobs);
	stage.w = sim_create(stage.hw, &(struct sim_options){.seed = 1, .check = true}, err);
	assert_non_null(stage.w);
	stage.m = machine_create(stage.w, &knobs, err, sizeof(err));
	assert_non_null(stage.m);
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(
			machine_file_create_on(stage.m, i, "data", 0, true, &stage.file[i]), 0);
}

static void stage_end(void)
{
	machine_audit(stage.m);
	machine_destroy(stage.m);
	sim_destroy(stage.w);
	hw_free(stage.hw);
}

static struct bdi_writeback *wb(u32 i)
{
	return &stage.m->fs->sb[i].wb;
}

static void look(void)
{
	for (u32 i = 0; i < 2; i++)
		stage.most_dirty[i] =
			max(stage.most_dirty[i], wb(i)->nr_reclaimable + wb(i)->nr_writeback);
}

/* Over and over in a file of @size bytes; the last quarter of it is what counts. */
static void write_file(u32 i, u64 bytes, u64 size)
{
	u64 start = 0;
	u64 done;
	u32 fd;

	assert_int_equal(do_open(stage.m, stage.file[i], &fd), 0);
	for (u64 at = 0; at < bytes; at += 16 * PAGE_SIZE) {
		if (at == bytes * 3 / 4)
			start = world_now();
		assert_int_equal(do_pwrite(stage.m, fd, at % size, 16 * PAGE_SIZE, &done), 0);
		if (start)
			look();
	}
	stage.took_ns[i] = world_now() - start;
	assert_int_equal(do_close(stage.m, fd), 0);
}

static void sleep_ns(u64 ns)
{
	world_syscall_enter();
	world_sleep(ns);
	world_syscall_exit();
}

static void writer(struct task *t, void *arg)
{
	u32 i = *(u32 *)arg;

	(void)t;
	write_file(i, stage.bytes[i], 200 * MB);
	sleep_ns(SECOND); /* a run ends in the middle of what kswapd does */
}

static void play(u64 fast_bytes, u64 slow_bytes)
{
	static const u32 number[2] = {FAST, SLOW};
	struct task *t[2] = {0};

	stage.bytes[FAST] = fast_bytes;
	stage.bytes[SLOW] = slow_bytes;
	for (u32 i = 0; i < 2; i++) {
		if (!stage.bytes[i])
			continue;
		t[i] = task_create(stage.m, "writer", NULL, writer, (void *)&number[i]);
		task_start(t[i], (int)i);
	}
	assert_int_equal(sim_run(stage.w), 0);
	for (u32 i = 0; i < 2; i++)
		if (t[i])
			task_put(t[i]);
}

/* ---- two disks ---- */

static void run(const char *preset, u64 fast_bytes, u64 slow_bytes)
{
	stage_set(preset, 1, limits);
	play(fast_bytes, slow_bytes);
	stage_end();
}

/*
 * 1200 MB at 20 MB/s: a minute, of which the last 15 s count; the writer to the slow disk, at 1 MB/s, is
 * there all the time. After half a minute the slow disk's speed is known (the first 100 MB/s assumed of it
 * fade over periods of 3 s, and its 11 MB have to be written), and its pages keep to its share, a
 * twentieth, as far as a few hundred pages in its queue can be; to 3.1 a dirtier is let go at half the
 * limits. The fast one has the rest, and is as fast as alone. 2816 pages may be dirty.
 */
TEST(a_slow_disk_s_pages_do_not_take_the_room_of_a_fast_one_s)
{
	static const char *const presets[] = {"3.1", "3.16", "6.18"};

	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		run(presets[i], 1200 * MB, 60 * MB);
		assert_in_range(stage.took_ns[FAST], 14500000000, 15500000000);
		assert_in_range(stage.took_ns[SLOW], 12 * SECOND, 17 * SECOND);
		assert_true(stage.most_dirty[FAST] > 2816 * 2 / 3);
		assert_true(stage.most_dirty[SLOW] < (i ? 300 : 900));
	}
}

/* Each has its blocks, and a disk for swap has none for files. */
static void write_both(struct task *t, void *arg)
{
	(void)t, (void)arg;
	write_file(FAST, 3 * MB, 3 * MB);
	write_file(SLOW, 1 * MB, 1 * MB);
	assert_int_equal(do_sync(stage.m), 0);
	for (u32 i = 0; i < 2; i++) {
		const struct super_block *sb = &stage.m->fs->sb[i];

		assert_int_equal(sb->disk, i);
		assert_int_equal(sb->nr_blocks - sb->nr_free, PAGES(i == FAST ? 3 * MB : 1 * MB));
		assert_int_equal(wb(i)->nr_reclaimable + wb(i)->nr_writeback, 0);
		assert_int_equal(wb(i)->nr_written, PAGES(i == FAST ? 3 * MB : 1 * MB));
	}
}

TEST(a_file_lies_on_the_disk_it_was_made_on)
{
	struct task *t;
	u32 ino;

	stage_set("6.18", 1, limits);
	assert_int_equal(machine_file_create_on(stage.m, 2, "x", 0, true, &ino), -ENODEV);
	assert_int_equal(machine_file_create_on(stage.m, 9, "x", 0, true, &ino), -ENODEV);
	t = task_create(stage.m, "task", NULL, write_both, NULL);
	task_start(t, 0);
	assert_int_equal(sim_run(stage.w), 0);
	task_put(t);
	stage_end();
}

/* ---- two nodes ---- */

static bool spread;

/* Nothing is written, and nobody pauses. */
static void no_flusher(struct knobs *k)
{
	k->dirty_background_bytes = 35 * MB;
	k->dirty_bytes = 40 * MB;
	k->dirty_writeback_centisecs = 0;
	k->dirty_spread = spread;
}

static u64 dirty_on(u32 nid)
{
	return (u64)atomic_long_peek(
		&stage.m->node[nid].zone[ZONE_DMA32].node_stat->v[NR_FILE_DIRTY]);
}

static void dirty_30_mb(struct task *t, void *arg)
{
	(void)t, (void)arg;
	write_file(FAST, 30 * MB, 30 * MB);
	assert_in_range(dirty_on(0) + dirty_on(1), PAGES(30 * MB) - 250, PAGES(30 * MB) + 250);
	stage.most_on_node = max(dirty_on(0), dirty_on(1));
}

static u64 most_on_a_node(const char *preset, bool on)
{
	struct task *t;

	spread = on;
	stage_set(preset, 2, no_flusher);
	t = task_create(stage.m, "task", NULL, dirty_30_mb, NULL);
	task_start(t, 0);
	assert_int_equal(sim_run(stage.w), 0);
	task_put(t);
	stage_end();
	return stage.most_on_node;
}

/*
 * A task on node 1, which has 56 of 128 MB, dirties 30 MB, of 40 that may be: all of it there, where there is
 * room; or, since 3.3, no more than the node's part, 17.5 MB, and the rest on the other node. Counters
 * may be late by what CPUs hide, up to 125 pages each.
 */
TEST(dirty_pages_are_spread_over_the_nodes)
{
	static const char *const presets[] = {"3.16", "4.0", "6.18"};

	for (u32 i = 0; i < ARRAY_SIZE(presets); i++) {
		assert_true(most_on_a_node(presets[i], false) > PAGES(28 * MB));
		assert_in_range(most_on_a_node(presets[i], true), 4480 - 125, 4480 + 125);
	}
}

TEST_MAIN("two_disks")
