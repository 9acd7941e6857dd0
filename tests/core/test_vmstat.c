/*
 * Counters: the arithmetic of differences and thresholds, and their folding.
 */
#include "tests/core/bare.h"

#include "core/vmstat.c"

/* A machine whose one zone has threshold @t, and that zone. */
static struct machine *stat_machine(struct hw_machine **hw, u32 nr_cpus, u8 t)
{
	struct machine *m;

	*hw = bare_zones(nr_cpus, 0, 8192, 0);
	m = bare_create(*hw, "4.0", NULL);
	holder_set_threshold(m, &bare_zone(m, ZONE_DMA32)->stat, t);
	bare_zone(m, ZONE_DMA32)->threshold_normal = t;
	return m;
}

static long own_diff(struct zone *z, enum vm_item item)
{
	struct stat_cpu *s = z->stat.cpu[world_cpu_id()];

	return s ? s->diff[item] : 0;
}

TEST(an_add_beyond_the_threshold_moves_all_of_it)
{
	struct hw_machine *hw;
	struct machine *m = stat_machine(&hw, 2, 10);
	struct zone *z = bare_zone(m, ZONE_DMA32);

	mod_zone_state(z, NR_ANON_MAPPED, 10);
	assert_int_equal(own_diff(z, NR_ANON_MAPPED), 10);
	assert_int_equal(zone_page_state(z, NR_ANON_MAPPED), 0);
	mod_zone_state(z, NR_ANON_MAPPED, 1);
	assert_int_equal(own_diff(z, NR_ANON_MAPPED), 0);
	assert_int_equal(zone_page_state(z, NR_ANON_MAPPED), 11);
	assert_int_equal(global_page_state(m, NR_ANON_MAPPED), 11);
	mod_zone_state(z, NR_ANON_MAPPED, -1000);
	assert_int_equal(zone_page_state(z, NR_ANON_MAPPED), 0);
	assert_int_equal(stat_exact(m, &z->stat, NR_ANON_MAPPED), -989);
	bare_destroy(m, hw);
}

TEST(an_increment_beyond_the_threshold_oversteps_by_half_of_it)
{
	struct hw_machine *hw;
	struct machine *m = stat_machine(&hw, 2, 10);
	struct zone *z = bare_zone(m, ZONE_DMA32);

	for (int i = 0; i < 11; i++)
		inc_zone_state(z, NUMA_HIT, 1);
	assert_int_equal(own_diff(z, NUMA_HIT), -5);
	assert_int_equal(zone_page_state(z, NUMA_HIT), 16);
	/* -5 to -11 takes six more decrements. */
	for (int i = 0; i < 6; i++)
		inc_zone_state(z, NUMA_HIT, -1);
	assert_int_equal(own_diff(z, NUMA_HIT), 5);
	assert_int_equal(zone_page_state(z, NUMA_HIT), 0);
	assert_int_equal(stat_exact(m, &z->stat, NUMA_HIT), 5);
	bare_destroy(m, hw);
}

/* What 3.2 says, on plain numbers. */
struct model {
	long global;
	long diff[4];
};

TEST(random_changes_on_four_cpus_agree_with_a_model)
{
	struct hw_machine *hw;
	struct machine *m = stat_machine(&hw, 4, 23);
	struct zone *z = bare_zone(m, ZONE_DMA32);
	struct model md = {0};
	struct rand_stream r;
	const long t = 23;

	rand_init(&r, test_seed(), 3, 0);
	for (int i = 0; i < 100000; i++) {
		u32 cpu = (u32)rand_below(&r, 4);
		long *d = &md.diff[cpu];
		int one = rand_chance(&r, 1, 2) ? 1 : -1;

		null_set_cpu(m->world, cpu);
		if (rand_chance(&r, 1, 2)) {
			long n = (long)rand_below(&r, 80) - 40;

			mod_zone_state(z, NR_WRITTEN, n);
			*d += n;
			if (*d > t || *d < -t) {
				md.global += *d;
				*d = 0;
			}
		} else {
			inc_zone_state(z, NR_WRITTEN, one);
			*d += one;
			if (*d * one > t) {
				md.global += *d + one * (t / 2);
				*d = -one * (t / 2);
			}
		}
		assert_int_equal(own_diff(z, NR_WRITTEN), *d);
		assert_int_equal(atomic_long_peek(&z->stat.v[NR_WRITTEN]), md.global);
		assert_int_equal(stat_exact(m, &z->stat, NR_WRITTEN),
		                 md.global + md.diff[0] + md.diff[1] + md.diff[2] + md.diff[3]);
	}
	bare_destroy(m, hw);
}

TEST(steps_in_a_row_are_single_changes)
{
	struct hw_machine *hw;
	struct machine *m = stat_machine(&hw, 1, 20);
	struct zone *z = bare_zone(m, ZONE_DMA32);
	struct rand_stream r;

	rand_init(&r, test_seed(), 6, 0);
	for (int i = 0; i < 20000; i++) {
		int step = (1 << rand_below(&r, 4)) * (rand_chance(&r, 1, 2) ? 1 : -1);
		u32 nr = (u32)rand_below(&r, 100);

		mod_zone_state_steps(z, NR_WRITTEN, step, nr);
		for (u32 j = 0; j < nr; j++)
			mod_zone_state(z, NR_DIRTIED, step);
		assert_int_equal(own_diff(z, NR_WRITTEN), own_diff(z, NR_DIRTIED));
		assert_int_equal(z->stat.v[NR_WRITTEN].v, z->stat.v[NR_DIRTIED].v);
	}
	bare_destroy(m, hw);
}

TEST(thresholds_are_those_of_the_table)
{
	static const u32 cpus[] = {1, 2, 4, 8, 15, 16, 32, 64, 128, 1024};
	static const u64 mib[] = {128, 512, 1024, 2048, 4096, 8192, 16384, 65536};
	static const u8 want[][8] = {
		{4, 8, 10, 12, 14, 16, 18, 22},       {8, 16, 20, 24, 28, 32, 36, 44},
		{12, 24, 30, 36, 42, 48, 54, 66},     {16, 32, 40, 48, 56, 64, 72, 88},
		{16, 32, 40, 48, 56, 64, 72, 88},     {20, 40, 50, 60, 70, 80, 90, 110},
		{24, 48, 60, 72, 84, 96, 108, 125},   {28, 56, 70, 84, 98, 112, 125, 125},
		{32, 64, 80, 96, 112, 125, 125, 125}, {44, 88, 110, 125, 125, 125, 125, 125},
	};

	for (u32 i = 0; i < ARRAY_SIZE(cpus); i++)
		for (u32 j = 0; j < ARRAY_SIZE(mib); j++)
			assert_int_equal(calculate_normal_threshold(cpus[i], mib[j] << 8),
			                 want[i][j]);
	assert_int_equal(calculate_normal_threshold(2, 524287), 20);
	assert_int_equal(calculate_normal_threshold(64, 2068480), 98);
	assert_int_equal(calculate_normal_threshold(12, 786432), 48);
	assert_int_equal(calculate_normal_threshold(2048, 16777216), 125);
}

TEST(the_pressure_threshold_shares_the_gap_among_the_cpus)
{
	struct machine m = {.nr_cpus = 64};
	struct zone z = {.machine = &m, ._watermark = {1441, 1801, 2161}};

	assert_int_equal(calculate_pressure_threshold(&z), 5);
	m.nr_cpus = 2048;
	assert_int_equal(calculate_pressure_threshold(&z), 1);
	m.nr_cpus = 2;
	assert_int_equal(calculate_pressure_threshold(&z), 125);
	z._watermark[WMARK_LOW] = 80, z._watermark[WMARK_MIN] = 64;
	assert_int_equal(calculate_pressure_threshold(&z), 8);
}

TEST(pressure_lowers_the_thresholds_of_zones_that_drift)
{
	struct hw_machine *hw = bare_zones(64, 3000, 0, 2097152);
	struct machine *m = bare_create(hw, "4.0", NULL);
	struct zone *z = bare_zone(m, ZONE_NORMAL);

	mod_zone_state(z, NR_WRITTEN, 100);
	set_pgdat_percpu_threshold(&m->node[0], true);
	/* low - min is 722: 11 for each of 64 CPUs. A larger difference goes with the next change. */
	assert_int_equal(z->stat.cpu[0]->threshold, 11);
	assert_int_equal(zone_page_state(z, NR_WRITTEN), 0);
	mod_zone_state(z, NR_WRITTEN, 1);
	assert_int_equal(zone_page_state(z, NR_WRITTEN), 101);
	null_set_cpu(m->world, 1);
	mod_zone_state(z, NR_WRITTEN, 12);
	assert_int_equal(zone_page_state(z, NR_WRITTEN), 113);
	set_pgdat_percpu_threshold(&m->node[0], false);
	assert_int_equal(z->stat.cpu[0]->threshold, 112);
	/* DMA has room for its drift (64 * 28 > gap: no; it has a mark too) or is left alone. */
	assert_int_equal(bare_zone(m, ZONE_DMA)->percpu_drift_mark != 0,
	                 64 * 28 > bare_zone(m, ZONE_DMA)->_watermark[WMARK_LOW] -
	                                   bare_zone(m, ZONE_DMA)->_watermark[WMARK_MIN]);
	bare_destroy(m, hw);
}

TEST(a_node_s_threshold_is_the_largest_of_its_zones)
{
	struct hw_machine *hw = bare_zones(2, 3840, 772808, 163840);
	struct machine *m = bare_create(hw, "6.18", NULL);

	assert_int_equal(m->node[0].stat.threshold, 24);
	mod_node_state(bare_zone(m, ZONE_DMA), NR_ANON_MAPPED, 24);
	assert_int_equal(node_page_state(bare_zone(m, ZONE_DMA32), NR_ANON_MAPPED), 0);
	mod_node_state(bare_zone(m, ZONE_NORMAL), NR_ANON_MAPPED, 1);
	assert_int_equal(node_page_state(bare_zone(m, ZONE_DMA32), NR_ANON_MAPPED), 25);
	bare_destroy(m, hw);
}

/* ---- snapshots ---- */

TEST(a_snapshot_adds_every_cpu_s_difference_and_pays_for_its_line)
{
	struct hw_machine *hw = bare_zones(64, 0, 8192, 0);
	struct machine *m = bare_create(hw, "4.0", NULL);
	struct zone *z = bare_zone(m, ZONE_DMA32);
	u64 cheap, first, again;

	for (u32 cpu = 0; cpu < 64; cpu++) {
		null_set_cpu(m->world, cpu);
		mod_zone_state(z, NR_WRITTEN, 2);
	}
	null_set_cpu(m->world, 0);
	cheap = world_now();
	assert_int_equal(zone_page_state(z, NR_WRITTEN), 0);
	cheap = world_now() - cheap;
	first = world_now();
	assert_int_equal(zone_page_state_snapshot(z, NR_WRITTEN), 128);
	first = world_now() - first;
	again = world_now();
	assert_int_equal(zone_page_state_snapshot(z, NR_WRITTEN), 128);
	again = world_now() - again;
	/* 63 lines from other CPUs; afterwards they are ours, until their owners write. */
	assert_true(first > 63 * hw->cost_ns[COST_LINE_CORE]);
	assert_true(again < first);
	assert_true(cheap < 10);
	bare_destroy(m, hw);
}

TEST(whose_line_was_read_pays_to_write_it_again)
{
	struct hw_machine *hw;
	struct machine *m = stat_machine(&hw, 2, 100);
	struct zone *z = bare_zone(m, ZONE_DMA32);
	u64 mine, shared;

	mod_zone_state(z, NR_WRITTEN, 1);
	mine = world_now();
	mod_zone_state(z, NR_WRITTEN, 1);
	mine = world_now() - mine;
	null_set_cpu(m->world, 1);
	zone_page_state_snapshot(z, NR_WRITTEN);
	null_set_cpu(m->world, 0);
	shared = world_now();
	mod_zone_state(z, NR_WRITTEN, 1);
	shared = world_now() - shared;
	assert_int_equal(mine, hw->cost_ns[COST_VMSTAT]);
	assert_int_equal(shared, hw->cost_ns[COST_VMSTAT] + hw->cost_ns[COST_LINE_SOCKET]);
	bare_destroy(m, hw);
}

/* ---- folding ---- */

#define SECOND 1000000000UL

TEST(differences_are_folded_after_an_interval_and_then_the_timer_rests)
{
	struct hw_machine *hw;
	struct machine *m = stat_machine(&hw, 2, 100);
	struct zone *z = bare_zone(m, ZONE_DMA32);
	struct stat_cpu *used;

	assert_null(m->cpu[0]);
	mod_zone_state(z, NR_WRITTEN, 7);
	used = z->stat.cpu[0];
	null_advance(m->world, SECOND / 2);
	assert_int_equal(zone_page_state(z, NR_WRITTEN), 0);
	null_advance(m->world, SECOND);
	assert_int_equal(zone_page_state(z, NR_WRITTEN), 7);
	assert_true(m->cpu[0]->stat_timer.expires);
	/* It finds nothing the next time, and the CPU's bytes are given back. */
	null_advance(m->world, SECOND);
	assert_int_equal(m->cpu[0]->stat_timer.expires, 0);
	assert_null(z->stat.cpu[0]);
	/* The next change arms it anew, with the same bytes. */
	mod_zone_state(z, NR_WRITTEN, -3);
	assert_ptr_equal(z->stat.cpu[0], used);
	assert_int_equal(own_diff(z, NR_WRITTEN), -3);
	assert_true(m->cpu[0]->stat_timer.expires);
	null_advance(m->world, SECOND + 1);
	assert_int_equal(zone_page_state(z, NR_WRITTEN), 4);
	bare_destroy(m, hw);
}

TEST(the_interval_of_folding_can_be_set)
{
	struct hw_machine *hw;
	struct machine *m = stat_machine(&hw, 1, 100);
	struct zone *z = bare_zone(m, ZONE_DMA32);

	m->knob.stat_interval = 7;
	mod_zone_state(z, NR_WRITTEN, 7);
	null_advance(m->world, 6 * SECOND);
	assert_int_equal(zone_page_state(z, NR_WRITTEN), 0);
	null_advance(m->world, SECOND + 1);
	assert_int_equal(zone_page_state(z, NR_WRITTEN), 7);
	bare_destroy(m, hw);
}

TEST(each_cpu_folds_its_own)
{
	struct hw_machine *hw;
	struct machine *m = stat_machine(&hw, 3, 100);
	struct zone *z = bare_zone(m, ZONE_DMA32);

	for (u32 cpu = 0; cpu < 3; cpu++) {
		null_set_cpu(m->world, cpu);
		mod_zone_state(z, NR_WRITTEN, 1 << cpu);
	}
	null_set_cpu(m->world, 1);
	refresh_cpu_vm_stats(m);
	assert_int_equal(zone_page_state(z, NR_WRITTEN), 2);
	assert_int_equal(stat_exact(m, &z->stat, NR_WRITTEN), 7);
	vmstat_audit(m);
	bare_destroy(m, hw);
}

TEST(pages_of_a_remote_node_go_back_after_three_idle_folds)
{
	struct hw_machine *hw = null_hw(2, 2, 4096 + 2048);
	struct machine *m;
	struct zone *remote;
	struct page *p;

	hw->cpu[1].node = 1;
	m = bare_create(hw, "4.0", NULL);
	remote = &m->node[1].zone[ZONE_DMA32];
	if (!managed_zone(remote))
		remote = &m->node[1].zone[ZONE_DMA];
	null_set_cpu(m->world, 0);
	p = rmqueue_pcplist(m, remote, 0, MIGRATE_MOVABLE, 0);
	assert_non_null(p);
	assert_true(remote->pcp[0]->count > 0 || remote->pcp_batch == 1);
	free_pcp_page(m, remote, p, 0, false);
	if (!remote->pcp[0]->count)
		mod_zone_state(remote, NR_WRITTEN, 1);
	for (int i = 0; i < 6; i++)
		null_advance(m->world, SECOND + 1);
	assert_int_equal(remote->pcp[0]->count, 0);
	assert_int_equal(m->cpu[0]->stat_timer.expires, 0);
	bare_destroy(m, hw);
}

TEST(events_are_summed_over_cpus_and_zones)
{
	struct hw_machine *hw;
	struct machine *m = stat_machine(&hw, 3, 100);

	for (u32 cpu = 0; cpu < 3; cpu++) {
		null_set_cpu(m->world, cpu);
		count_vm_events(m, PGFAULT, cpu + 1);
		count_vm_event(m, ZONE_EVENT(PGALLOC_DMA, cpu));
	}
	assert_int_equal(vm_event_sum(m, PGFAULT), 6);
	assert_int_equal(vm_event_sum(m, PGALLOC_NORMAL), 1);
	assert_int_equal(vm_event_zones(m, PGALLOC_DMA), 3);
	bare_destroy(m, hw);
}

TEST(the_audit_finds_a_lost_update)
{
	struct hw_machine *hw;
	struct machine *m = stat_machine(&hw, 2, 100);
	struct zone *z = bare_zone(m, ZONE_DMA32);

	mod_zone_state(z, NR_WRITTEN, 101);
	vmstat_audit(m);
	z->stat.v[NR_WRITTEN].v -= 1;
	assert_panics("nr_written: zones or nodes have 100", vmstat_audit(m));
	z->stat.v[NR_WRITTEN].v += 1;
	mod_zone_state(z, NR_DIRTIED, -1);
	assert_panics("nr_dirtied is negative", vmstat_audit(m));
	bare_destroy(m, hw);
}

TEST_MAIN("vmstat")
