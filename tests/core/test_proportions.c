/*
 * A disk's part in the writing (core/proportions.c).
 *
 * Method: two disks of a machine that does nothing; events and time are made here, and the shares that
 * follow are derived from the rule: all counts are halved at the end of a period.
 */
#include "tests/core/rig.h"

#include "core/fs.h"
#include "core/writeback.h"
#include "tests/test.h"

#define SECOND 1000000000UL

static void two_disks(struct hw_machine *hw, struct knobs *k)
{
	(void)k;
	for (hw->nr_disks = 0; hw->nr_disks < 2; hw->nr_disks++)
		hw->disk[hw->nr_disks] = (struct hw_disk){
			.kind = HW_DISK_FLASH,
			.size_bytes = 16 << 20,
			.files = true,
		};
}

static u64 share(u32 disk)
{
	return prop_share(rig.m, &rig.m->fs->sb[disk].wb, 1000);
}

static void events(u32 disk, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		prop_events(rig.m, &rig.m->fs->sb[disk].wb, 1);
}

/* At boot one event, the first disk's; then 300 and 100 more. */
TEST(by_time_shares_fade_every_three_seconds)
{
	rig_start(1, 8192, "3.16", two_disks);
	assert_int_equal(share(0), 1000);
	assert_int_equal(share(1), 0);
	events(0, 299);
	events(1, 100);
	assert_int_equal(share(0), 750);
	assert_int_equal(share(1), 250);
	/* 150 and 50 of 200 are left; then 100 more of the second. */
	world_self->clock += 3 * SECOND + SECOND / 2;
	assert_int_equal(share(0), 750);
	events(1, 100);
	assert_int_equal(share(0), 500);
	assert_int_equal(share(1), 500);
	/* Four periods later 18 are left of 300: nothing changes by itself, one event is a nineteenth. */
	world_self->clock += 12 * SECOND;
	assert_int_equal(share(0), 1000 * 9 / 18);
	events(1, 1);
	assert_int_equal(share(1), 1000 * 10 / 19);
	/* After a long time one event is left of all, and none of each: whoever writes next has half. */
	world_self->clock += 600 * SECOND;
	assert_int_equal(share(0), 0);
	events(0, 1);
	assert_int_equal(share(0), 500);
	rig_stop();
}

/*
 * @thresh decides how long a period is: that of the rig's machine is looked up. At boot the first disk has a
 * period's worth. A period later it has half of that, and the second, which has written it all, the rest.
 */
TEST(to_3_5_shares_fade_by_events)
{
	u64 period;

	rig_start(1, 8192, "3.1", two_disks);
	period = 1UL << rig.m->fs->domain.completions.shift;
	assert_int_equal(share(0), 1000);
	events(1, (u32)period / 2);
	/* period of period + period / 2, and period / 2 of it */
	assert_in_range(share(0), 660, 667);
	assert_in_range(share(1), 328, 334);
	events(1, (u32)(period - period / 2));
	assert_int_equal(share(0), 500);
	assert_in_range(share(1), 495, 500);
	world_self->clock += 600 * SECOND;
	assert_int_equal(share(0), 500);
	rig_stop();
}

TEST_MAIN("proportions")
