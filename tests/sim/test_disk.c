/*
 * Disks: service times, order, merging, the limit of requests, congestion, errors.
 */
#include "tests/sim/machine.h"

#define US 1000UL
#define MS 1000000UL
#define IO_MAX 4096

struct disk_test;

struct test_io {
	struct world_io io;
	struct disk_test *d;
	u64 done_at;
	int err;
	bool done;
};

struct disk_test {
	struct test_io io[IO_MAX];
	u32 nr;
	u32 nr_done;
	u32 order[IO_MAX]; /* as they ended */
	struct wait_queue_head q;
	void (*fn)(struct test_machine *m, struct disk_test *d);
	u32 nr_uncongested;
	u32 submitted[8]; /* by task, in order */
	u32 nr_submitted;
	u64 arg;
};

static void io_done(struct world_io *io, int err)
{
	struct test_io *t = io->priv;
	struct disk_test *d = t->d;

	assert_true(world_in_irq());
	t->done = true;
	t->err = err;
	t->done_at = world_now();
	d->order[d->nr_done++] = (u32)(t - d->io);
	wake_up_all(&d->q);
}

static struct test_io *new_io(struct disk_test *d, u64 page, u32 nr, bool write)
{
	struct test_io *t = &d->io[d->nr++];

	assert_true(d->nr <= IO_MAX);
	t->d = d;
	t->io.write = write;
	t->io.sector = page * 8;
	t->io.nr_pages = nr;
	for (u32 i = 0; i < nr; i++)
		t->io.pfn[i] = 100 + i;
	t->io.done = io_done;
	t->io.priv = t;
	return t;
}

static struct test_io *submit(struct disk_test *d, u64 page, u32 nr, bool write)
{
	struct test_io *t = new_io(d, page, nr, write);

	assert_int_equal(world_io_submit(&t->io), 0);
	return t;
}

static void wait_all(struct disk_test *d)
{
	wait_event(&d->q, READ_ONCE(d->nr_done) == d->nr);
}

static void uncongested(void *machine, u32 disk, bool write)
{
	struct disk_test *d = machine;

	assert_true(world_in_irq());
	assert_false(world_disk_congested(world_self->w, disk, write));
	d->nr_uncongested++;
}

static const struct world_upcalls disk_upcalls = {.uncongested = uncongested};

static void disk_body(struct test_machine *m, u32 i)
{
	struct disk_test *d = m->data;

	(void)i;
	d->fn(m, d);
}

static struct hw_disk rotating(void)
{
	return (struct hw_disk){.name = "disk0",
	                        .kind = HW_DISK_ROTATING,
	                        .size_bytes = 1UL << 36,
	                        .seek_ns_min = 1 * MS,
	                        .seek_ns_max = 15 * MS,
	                        .rotation_ns = 8333333,
	                        .read_bytes_per_s = 100000000,
	                        .write_bytes_per_s = 100000000,
	                        .nr_requests = 128,
	                        .max_sectors = 1024};
}

/* Builds a machine whose disk 0 is @disk, or the default flash, and runs @fn on CPU 0. */
static u64 disk_run(u32 nr_cpus, const struct hw_disk *disk, u64 seed, u64 arg,
                    void (*fn)(struct test_machine *m, struct disk_test *d))
{
	struct test_machine m;
	struct disk_test *d = calloc(1, sizeof(*d));
	u64 elapsed;

	test_machine_init(&m, nr_cpus, 1);
	m.opt.seed = seed;
	if (disk)
		m.hw->disk[0] = *disk;
	test_machine_build(&m);
	init_waitqueue_head(&d->q);
	d->fn = fn;
	d->arg = arg;
	m.data = d;
	world_attach(m.w, &disk_upcalls, d, NULL);
	test_task_start(&m, WORLD_TASK_USER, 0, disk_body);
	assert_int_equal(sim_run(m.w), 0);
	test_machine_check_books(&m);
	elapsed = sim_elapsed(m.w);
	test_machine_destroy(&m);
	free(d);
	return elapsed;
}

/* ---- flash ---------------------------------------------------------------------------------- */

static void flash_one(struct test_machine *m, struct disk_test *d)
{
	u64 begin;
	struct test_io *t = new_io(d, 7, 1, false);

	world_io_submit(&t->io);
	begin = t->io.submitted_at;
	wait_all(d);
	/* 80 us and 4,096 bytes at 1 GB/s; the way there and back is a few us. */
	assert_true(t->done_at - begin > 84 * US);
	assert_true(t->done_at - begin < 84 * US + 8 * US);
	assert_int_equal(sim_disk_stats(m->w, 0)->busy_ns, 84096);
	assert_int_equal(sim_disk_stats(m->w, 0)->nr_requests[0], 1);
}

TEST(flash_takes_latency_and_transfer)
{
	disk_run(1, NULL, 1, 0, flash_one);
}

static void flash_many(struct test_machine *m, struct disk_test *d)
{
	u64 begin = world_now();

	(void)m;
	for (u32 i = 0; i < 64; i++)
		submit(d, 2 * i, 1, false); /* not contiguous */
	wait_all(d);
	/* Four channels of 84 us each for 64 requests: 16 rounds. */
	assert_true(world_now() - begin > 16 * 80 * US);
	assert_true(world_now() - begin < 16 * 84 * US + 200 * US);
	assert_int_equal(hist_max(&sim_disk_stats(m->w, 0)->latency[0]) > 1000 * US, 1);
}

TEST(flash_serves_its_channels_at_once)
{
	disk_run(2, NULL, 1, 0, flash_many);
}

static void taken_early(struct test_machine *m, struct disk_test *d)
{
	const struct sim_disk_stats *st = sim_disk_stats(m->w, 0);
	static const u64 page[] = {70, 90, 50, 91};
	/* By rising sector from 70 on, 91 with 90; or as they come, each by itself. */
	static const u32 sorted[] = {0, 1, 3, 2};
	u64 begin = world_now();
	u64 ns;

	for (u32 i = 0; i < 4; i++)
		submit(d, page[i], 1, false);
	wait_all(d);
	ns = world_now() - begin;
	assert_int_equal(st->nr_merges[0], d->arg ? 0 : 1);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(d->order[i], d->arg ? i : sorted[i]);
	/* One channel, 84 us each: it is no faster for having them all. */
	assert_true(ns > (d->arg ? 4 : 3) * 84 * US);
	assert_true(ns < (d->arg ? 4 : 3) * 84 * US + 50 * US);
}

TEST(what_a_disk_has_taken_is_neither_sorted_nor_merged)
{
	struct hw_disk disk = {.name = "disk0",
	                       .kind = HW_DISK_FLASH,
	                       .size_bytes = 1UL << 30,
	                       .read_latency_ns = 80 * US,
	                       .read_bytes_per_s = 1000000000,
	                       .write_bytes_per_s = 1000000000,
	                       .nr_channels = 1,
	                       .nr_requests = 128,
	                       .max_sectors = 1024};

	disk_run(1, &disk, 1, 0, taken_early);
	disk.depth = 32;
	disk_run(1, &disk, 1, 1, taken_early);
}

/* ---- rotating disks ------------------------------------------------------------------------- */

static void sequential(struct test_machine *m, struct disk_test *d)
{
	u64 begin;

	(void)m;
	submit(d, 1000, 1, false);
	wait_all(d);
	begin = world_now();
	for (u32 i = 1; i < 100; i++) {
		submit(d, 1000 + i, 1, false);
		wait_all(d);
	}
	/* 40.96 us each, neither seek nor turn. */
	assert_true(world_now() - begin < 99 * 55 * US);
}

static void scattered(struct test_machine *m, struct disk_test *d)
{
	u64 begin = world_now();

	(void)m;
	for (u32 i = 0; i < 100; i++) {
		submit(d, rand_hash(1, 1, 1, i) % 16000000, 1, false);
		wait_all(d);
	}
	/* A seek over a third (root 0.58: about 9 ms) and half a turn (4.2 ms) each. */
	assert_true(world_now() - begin > 100 * 10 * MS);
	assert_true(world_now() - begin < 100 * 15 * MS);
}

TEST(rotating_disk_seeks)
{
	struct hw_disk disk = rotating();

	disk_run(1, &disk, 1, 0, sequential);
	disk_run(1, &disk, 1, 0, scattered);
}

static void sorted(struct test_machine *m, struct disk_test *d)
{
	u64 last = 0;
	u32 back = 0;

	(void)m;
	submit(d, 8000000, 1, false); /* occupies the disk */
	for (u32 i = 0; i < 60; i++)
		submit(d, rand_hash(2, 1, 1, i) % 16000000, 1, false);
	wait_all(d);
	for (u32 i = 1; i < d->nr; i++) {
		u64 sector = d->io[d->order[i]].io.sector;

		back += sector < last;
		last = sector;
	}
	/*
	 * Up from the first; at the top it goes on with the oldest that is left, wherever that is,
	 * so that each round takes about half of the rest.
	 */
	assert_true(back >= 1 && back <= 10);
}

TEST(elevator_goes_one_way)
{
	struct hw_disk disk = rotating();

	disk_run(1, &disk, 1, 0, sorted);
}

static void mixed(struct test_machine *m, struct disk_test *d)
{
	u64 last_read = 0;
	u32 writes_before = 0;

	(void)m;
	submit(d, 8000000, 1, false);
	for (u32 i = 0; i < 100; i++) {
		submit(d, 10 + 2 * i, 1, true);
		submit(d, 12000000 + 2 * i, 1, false);
	}
	wait_all(d);
	for (u32 i = 0; i < d->nr; i++)
		if (!d->io[d->order[i]].io.write)
			last_read = i;
	for (u32 i = 0; i < last_read; i++)
		writes_before += d->io[d->order[i]].io.write;
	/* 101 reads are 7 batches; after every second one, one batch of 16 writes. */
	assert_true(writes_before >= 32 && writes_before <= 64);
}

TEST(reads_go_first_but_writes_do_not_starve)
{
	struct hw_disk disk = rotating();

	disk_run(1, &disk, 1, 0, mixed);
}

static void merging(struct test_machine *m, struct disk_test *d)
{
	const struct sim_disk_stats *st = sim_disk_stats(m->w, 0);
	u64 begin;

	submit(d, 8000000, 1, true); /* occupies the disk */
	begin = world_now();
	for (u32 i = 0; i < 100; i++)
		submit(d, 5000 + i, 1, true); /* behind */
	for (u32 i = 0; i < 28; i++)
		submit(d, 4999 - i, 1, true); /* before */
	submit(d, 5100, 1, true);             /* the request has 128 pages already: 1,024 sectors */
	assert_int_equal(st->nr_merges[1], 127);
	assert_int_equal(st->nr_requests[1], 3);
	wait_all(d);
	for (u32 i = 2; i < 129; i++) /* ended together, in order of sectors */
		assert_int_equal(d->io[d->order[i]].io.sector,
		                 d->io[d->order[i - 1]].io.sector + 8);
	assert_true(world_now() - begin < 60 * MS);
}

TEST(contiguous_requests_merge_up_to_max_sectors)
{
	struct hw_disk disk = rotating();

	disk_run(1, &disk, 1, 0, merging);
}

/* ---- the limit ------------------------------------------------------------------------------ */

static void fill_queue(struct test_machine *m, struct disk_test *d)
{
	const struct sim_disk_stats *st = sim_disk_stats(m->w, 0);

	/* The flash has 4 in service, which count too. On above 7/8: 113 of 128. */
	for (u32 i = 0; i < 112; i++) {
		submit(d, 2 * i, 1, true);
		assert_false(world_disk_congested(m->w, 0, true));
	}
	submit(d, 1000, 1, true);
	assert_true(world_disk_congested(m->w, 0, true));
	assert_false(world_disk_congested(m->w, 0, false));
	wait_all(d);
	assert_int_equal(d->nr_uncongested, 1);
	assert_false(world_disk_congested(m->w, 0, true));
	assert_int_equal(st->nr_congested[1], 1);
	assert_int_equal(st->nr_used_max[1], 113);
}

TEST(more_than_seven_eighths_is_congestion)
{
	struct hw_disk slow = {.name = "slow",
	                       .kind = HW_DISK_FLASH,
	                       .size_bytes = 1UL << 30,
	                       .write_latency_ns = 5 * MS,
	                       .nr_channels = 1,
	                       .nr_requests = 128};

	disk_run(2, &slow, 1, 0, fill_queue);
}

static void submitters(struct test_machine *m, u32 i)
{
	struct disk_test *d = m->data;

	world_sleep((i + 1) * 100 * US);
	submit(d, 1000 + 100 * i, 1, true);
	d->submitted[d->nr_submitted++] = i;
	wait_all(d);
}

/* A queue of 4, filled by the first; the others wait and get requests in order. */
static void full_queue(struct test_machine *m, struct disk_test *d)
{
	const struct sim_disk_stats *st = sim_disk_stats(m->w, 0);

	for (u32 i = 0; i < 4; i++)
		submit(d, 2 * i, 1, true);
	assert_int_equal(st->nr_slept[1], 0);
	world_sleep(2 * MS);
	assert_int_equal(st->nr_slept[1], 3);
	wait_event(&d->q, READ_ONCE(d->nr_done) == 7);
	assert_int_equal(st->nr_used_max[1], 4);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(d->submitted[i], i + 1);
}

TEST(full_queue_makes_submitters_wait_their_turn)
{
	struct test_machine m;
	struct disk_test *d = calloc(1, sizeof(*d));

	test_machine_init(&m, 4, 1);
	m.hw->disk[0] = (struct hw_disk){.name = "slow",
	                                 .kind = HW_DISK_FLASH,
	                                 .size_bytes = 1UL << 30,
	                                 .write_latency_ns = 5 * MS,
	                                 .nr_channels = 1,
	                                 .nr_requests = 4};
	test_machine_build(&m);
	init_waitqueue_head(&d->q);
	d->fn = full_queue;
	m.data = d;
	world_attach(m.w, &disk_upcalls, d, NULL);
	test_task_start(&m, WORLD_TASK_USER, 0, disk_body);
	for (u32 i = 0; i < 3; i++)
		test_task_start(&m, WORLD_TASK_USER, -1, submitters);
	assert_int_equal(sim_run(m.w), 0);
	test_machine_check_books(&m);
	test_machine_destroy(&m);
	free(d);
}

static void flood(struct test_machine *m, struct disk_test *d)
{
	const struct sim_disk_stats *st = sim_disk_stats(m->w, 0);

	for (u32 i = 0; i < 2000; i++)
		submit(d, 2 * i, 1, true);
	wait_all(d);
	assert_int_equal(st->nr_requests[1], 2000);
	if (d->arg) /* batching: half as much again */
		assert_true(st->nr_used_max[1] > 128 && st->nr_used_max[1] <= 192);
	else
		assert_int_equal(st->nr_used_max[1], 128);
	/* A batch of 32 for each sleep, or one request. */
	assert_true(d->arg ? st->nr_slept[1] < 200 : st->nr_slept[1] > 1000);
}

TEST(batching_saves_sleeps)
{
	for (u64 barging = 0; barging < 2; barging++) {
		struct hw_disk disk = {.name = "flash",
		                       .kind = HW_DISK_FLASH,
		                       .size_bytes = 1UL << 30,
		                       .write_latency_ns = 100 * US,
		                       .nr_channels = 1,
		                       .nr_requests = 128,
		                       .barging = barging};

		disk_run(2, &disk, 1, barging, flood);
	}
}

static void submit_in_irq(struct world_timer *t)
{
	struct disk_test *d = world_self->w->machine;

	(void)t;
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(world_io_submit(&new_io(d, 2 * i, 1, true)->io), 0);
	assert_int_equal(world_io_submit(&new_io(d, 100, 1, true)->io), -EAGAIN);
	d->nr--;
}

static void from_irq(struct test_machine *m, struct disk_test *d)
{
	struct world_timer t = {.fn = submit_in_irq};

	(void)m;
	world_timer_arm(&t, world_now() + 1000);
	world_sleep(10000);
	wait_all(d);
}

TEST(interrupt_is_refused_where_a_task_would_wait)
{
	struct hw_disk disk = {.name = "slow",
	                       .kind = HW_DISK_FLASH,
	                       .size_bytes = 1UL << 30,
	                       .write_latency_ns = 5 * MS,
	                       .nr_channels = 1,
	                       .nr_requests = 4};

	disk_run(1, &disk, 1, 0, from_irq);
}

/* ---- chance --------------------------------------------------------------------------------- */

static void with_errors(struct test_machine *m, struct disk_test *d)
{
	u32 nr_failed = 0;

	for (u32 i = 0; i < 2000; i++)
		submit(d, 2 * i, 1, false);
	wait_all(d);
	for (u32 i = 0; i < 2000; i++)
		nr_failed += d->io[i].err == -EIO;
	assert_int_equal(nr_failed, sim_disk_stats(m->w, 0)->nr_errors);
	assert_true(nr_failed > 60 && nr_failed < 140); /* 5 % of 2,000, give or take 4 sigma */
}

TEST(errors_come_as_often_as_asked_for)
{
	struct hw_disk disk = {.name = "bad",
	                       .kind = HW_DISK_FLASH,
	                       .size_bytes = 1UL << 30,
	                       .read_latency_ns = 10 * US,
	                       .nr_channels = 1,
	                       .nr_requests = 128,
	                       .error_ppm = 50000};

	disk_run(1, &disk, test_seed(), 0, with_errors);
}

static void some_reads(struct test_machine *m, struct disk_test *d)
{
	(void)m;
	for (u32 i = 0; i < 100; i++)
		submit(d, rand_hash(3, 1, 1, i) % 16000000, 1, false);
	wait_all(d);
}

TEST(variation_is_a_function_of_the_seed)
{
	struct hw_disk disk = rotating();
	u64 a;

	disk.variation_bp = 2000;
	a = disk_run(1, &disk, 5, 0, some_reads);
	assert_int_equal(disk_run(1, &disk, 5, 0, some_reads), a);
	assert_int_not_equal(disk_run(1, &disk, 6, 0, some_reads), a);
}

static void ram_disk(struct test_machine *m, struct disk_test *d)
{
	u64 before = world_now();
	struct test_io *t = submit(d, 0, 4, true);

	assert_true(t->done);
	assert_true(world_now() - before >= 4 * m->hw->cost_ns[COST_COMPRESS]);
	t = submit(d, 0, 1, false);
	assert_true(t->done);
}

TEST(ram_disk_is_done_inside_submit)
{
	struct hw_disk disk = {.name = "zram0", .kind = HW_DISK_RAM, .size_bytes = 1UL << 30};

	disk_run(1, &disk, 1, 0, ram_disk);
}

TEST(impossible_machines_are_refused_with_a_reason)
{
	struct hw_machine *hw = null_hw(2, 1, 4096);
	struct sim_options opt = {.seed = 1};
	char err[SIM_ERROR_MAX];

	hw->disk[0].nr_requests = 1;
	assert_null(sim_create(hw, &opt, err));
	assert_non_null(strstr(err, "flash0"));
	hw->disk[0].nr_requests = 128;
	hw->cpu[1].node = 7;
	assert_null(sim_create(hw, &opt, err));
	assert_non_null(strstr(err, "CPU 1"));
	hw->cpu[1].node = 0;
	hw->nr_cpus = 0;
	assert_null(sim_create(hw, &opt, err));
	assert_non_null(strstr(err, "CPUs"));
	hw->nr_cpus = 2;
	hw->hz = 0;
	assert_null(sim_create(hw, &opt, err));
	assert_non_null(strstr(err, "hz"));
	null_hw_free(hw);
}

TEST_MAIN("disk")
