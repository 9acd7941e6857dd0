/*
 * Dirty limits and position ratios.
 *
 * Aim: the numbers are Linux's. Method: a small machine on the null world, whose counters are known, and
 * the functions called with numbers of which the results can be had with pen and paper.
 */
#include "core/fs.h"
#include "core/writeback.h"
#include "tests/core/rig.h"

static void with_files(struct hw_machine *hw, struct knobs *k)
{
	(void)k;
	hw->disk[0].files = true;
}

static unsigned long available(void)
{
	return global_page_state(rig.m, NR_FREE_PAGES) - rig.m->totalreserve_pages + 1;
}

TEST(limits_are_parts_of_what_could_be_dirty)
{
	unsigned long background, thresh;

	rig_start(1, 8192, "3.16", with_files);
	assert_true(available() > 4000);
	global_dirty_limits(rig.m, &background, &thresh);
	assert_int_equal(thresh, available() * 20 / 100);
	assert_int_equal(background, available() * 10 / 100);
	assert_int_equal(dirty_limit_peek(rig.m, false), thresh);
	assert_int_equal(dirty_limit_peek(rig.m, true), background);
	rig_stop();
}

TEST(bytes_win_over_ratios_and_background_is_half_if_it_is_not_less)
{
	unsigned long background, thresh;

	rig_start(1, 8192, "3.16", with_files);
	rig.m->knob.dirty_bytes = (1 << 20) + 1; /* 256 pages and a byte */
	rig.m->knob.dirty_background_bytes = 1 << 19;
	global_dirty_limits(rig.m, &background, &thresh);
	assert_int_equal(thresh, 257);
	assert_int_equal(background, 128);
	rig.m->knob.dirty_background_bytes = 1 << 21;
	global_dirty_limits(rig.m, &background, &thresh);
	assert_int_equal(background, 128);
	rig_stop();
}

/* In parts of 1024: 2 at freerun = 2 x setpoint - limit, 1 at setpoint, 0 at limit; half-way 1 +- 1/8. */
TEST(the_polynomial_goes_from_two_to_nothing)
{
	assert_int_equal(pos_ratio_polynom(3000, 2000, 3999), 2048); /* | 1 makes 999 of it */
	assert_int_equal(pos_ratio_polynom(3000, 3000, 4001), 1024);
	assert_int_equal(pos_ratio_polynom(3000, 4001, 4001), 0);
	/* 512/1024 of the way: x = 1024 x 500 / 1001 = 511; 511^3 >> 20 = 127. */
	assert_int_equal(pos_ratio_polynom(3000, 2500, 4001), 1024 + 127);
	/* x = -511: (-511 x -511) >> 10 = 255, 255 x -511 >> 10 = -128. */
	assert_int_equal(pos_ratio_polynom(3000, 3500, 4001), 1024 - 128);
	/* Not beyond. */
	assert_int_equal(pos_ratio_polynom(3000, 0, 4001), 2048);
	assert_int_equal(pos_ratio_polynom(3000, 9000, 4001), 0);
}

/*
 * One disk with all of the threshold, 4000, of which 2000 begin the background: freerun 3000, setpoint
 * 3500. Bandwidth 100 pages a second: the line falls from 1 at 3500 to 0 at 3500 + 800.
 */
TEST(one_disk_s_own_line_is_multiplied_in)
{
	struct bdi_writeback *wb;

	rig_start(1, 8192, "3.16", with_files);
	wb = &rig.m->fs->sb[0].wb;
	wb->avg_write_bandwidth = 100;
	/* At both setpoints: 1, less what x = (4000 << 16) / 4001 loses. */
	assert_in_range(wb_position_ratio(wb, 4000, 4000, 2000, 3500, 4000, 3500), 1020, 1024);
	assert_int_equal(wb_position_ratio(wb, 4000, 4000, 2000, 4000, 4000, 3500), 0);
	/* All dirty pages are another's, and this disk has a tenth of its share: eight times as much. */
	assert_true(wb_position_ratio(wb, 4000, 4000, 2000, 3500, 4000, 200) > 8 * 1024);
	/* Nearly all of the line is used up: a quarter. */
	assert_in_range(wb_position_ratio(wb, 4000, 4000, 2000, 3500, 4000, 4250), 250, 256);
	rig_stop();
}

TEST_MAIN("dirty_limits")
