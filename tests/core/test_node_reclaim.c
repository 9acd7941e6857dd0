/*
 * zone_reclaim_mode: when it is on, and where it is asked for. What it reclaims needs
 * files, and is shown by tests/machine/test_reclaim_files.c.
 */
#include "tests/test.h"

#include "core/node_reclaim.c"

static u32 mode_for(u32 distance, u64 limit, u64 mode)
{
	u8 slit[4] = {10, (u8)distance, (u8)distance, 10};
	struct hw_machine hw = {.nr_nodes = 2, .distance = slit};
	struct world w = {.hw = &hw};
	static struct machine m;

	m = (struct machine){.world = &w, .nr_nodes = 2};
	m.knob.reclaim_distance = limit;
	m.knob.zone_reclaim_mode = mode;
	node_reclaim_init(&m);
	return m.zone_reclaim_mode;
}

TEST(far_nodes_switch_it_on)
{
	/* 2.6.36: beyond 20. Firmware of the time said 20 or 21. */
	assert_int_equal(mode_for(20, 20, 0), 0);
	assert_int_equal(mode_for(21, 20, 0), 1);
	/* 3.0: beyond 30. */
	assert_int_equal(mode_for(21, 30, 0), 0);
	assert_int_equal(mode_for(31, 30, 0), 1);
	/* 3.16: never. */
	assert_int_equal(mode_for(254, 0, 0), 0);
	assert_int_equal(mode_for(10, 0, 5), 5);
	assert_int_equal(mode_for(40, 20, 4), 5);
}

TEST(presets_know_the_distance)
{
	static const struct {
		const char *preset;
		u64 distance;
	} row[] = {{"2.6.36", 20}, {"2.6.38", 20}, {"3.1", 30}, {"3.16", 0}, {"6.18", 0}};

	for (u32 i = 0; i < ARRAY_SIZE(row); i++) {
		struct knobs k;

		assert_int_equal(knobs_preset(&k, row[i].preset), 0);
		assert_int_equal(k.reclaim_distance, row[i].distance);
	}
}

TEST_MAIN("node_reclaim")
