/*
 * A machine of frames only, for tests of the page allocator: zones, marks, lists and counters on the
 * null world, and stand-ins for reclaim, which a test can give something to do.
 *
 * A test that includes this must not reach vmscan.c, kswapd.c, compaction.c, oom_kill.c or swap.c by another way:
 * their functions are defined here.
 */
#ifndef TESTS_CORE_BARE_H
#define TESTS_CORE_BARE_H

#include "core/compaction.h"
#include "tests/test.h"
#include "world/null.h"

/* What the stand-ins were asked for, and what they do. */
static struct bare_reclaim {
	u64 nr_reclaims;
	u64 nr_compactions;
	u64 nr_kswapd_wakes;
	u64 nr_oom;
	u64 nr_congestion_waits;
	unsigned long reclaimable; /* zone_reclaimable_pages() of every zone */
	unsigned long (*reclaim)(struct machine *m, gfp_t gfp, unsigned int order);
	bool (*oom)(struct machine *m);
} bare_reclaim;

unsigned long try_to_free_pages(struct machine *m, gfp_t gfp, unsigned int order)
{
	bare_reclaim.nr_reclaims += 1;
	return bare_reclaim.reclaim ? bare_reclaim.reclaim(m, gfp, order) : 0;
}

void wakeup_kswapd(struct machine *m, struct zone *z, unsigned int order, int highest_zoneidx)
{
	(void)m, (void)z, (void)order, (void)highest_zoneidx;
	bare_reclaim.nr_kswapd_wakes += 1;
}

void wake_all_kswapds(struct machine *m, gfp_t gfp, unsigned int order)
{
	(void)m, (void)gfp, (void)order;
	bare_reclaim.nr_kswapd_wakes += 1;
}

unsigned long zone_reclaimable_pages(struct zone *z)
{
	(void)z;
	return bare_reclaim.reclaimable;
}

/* Nor are there files. */
bool node_dirty_ok(struct machine *m, struct zone *z)
{
	(void)m, (void)z;
	return true;
}

/* Nobody has a memory policy here: these are never called. */
struct pglist_data *__policy_node(struct machine *m)
{
	return this_node(m);
}

bool __policy_allows(const struct machine *m, const struct zone *z)
{
	(void)m, (void)z;
	return true;
}

struct page *alloc_pages_task_policy(struct machine *m, gfp_t gfp, unsigned int order)
{
	return alloc_pages_nopolicy(m, gfp, order);
}

bool out_of_memory(struct machine *m, gfp_t gfp, unsigned int order)
{
	(void)gfp, (void)order;
	bare_reclaim.nr_oom += 1;
	return bare_reclaim.oom && bare_reclaim.oom(m);
}

void wait_iff_congested(struct machine *m, struct zone *z, bool write, u64 ticks)
{
	(void)m, (void)z, (void)write, (void)ticks;
	bare_reclaim.nr_congestion_waits += 1;
}

bool node_reclaim(struct machine *m, struct zone *z, gfp_t gfp, unsigned int order)
{
	(void)m, (void)z, (void)gfp, (void)order;
	return false;
}

void congestion_wait(struct machine *m, bool write, u64 ticks)
{
	(void)m, (void)write, (void)ticks;
	bare_reclaim.nr_congestion_waits += 1;
}

struct page *alloc_pages_direct_compact(struct machine *m, gfp_t gfp, unsigned int order,
                                        u32 alloc_flags, enum compact_priority prio,
                                        enum compact_result *result)
{
	(void)m, (void)gfp, (void)order, (void)alloc_flags, (void)prio;
	bare_reclaim.nr_compactions += 1;
	*result = COMPACT_SKIPPED;
	return NULL;
}

bool compaction_zonelist_suitable(struct machine *m, gfp_t gfp, int order, u32 alloc_flags)
{
	(void)m, (void)gfp, (void)order, (void)alloc_flags;
	return false;
}

void lruvec_init(struct machine *m, struct lruvec *lruvec, struct pglist_data *pgdat,
                 struct zone *zone)
{
	(void)m, (void)zone;
	lruvec->pgdat = pgdat;
}

struct cpu_data *__this_cpu_alloc(struct machine *m)
{
	return m->cpu[world_cpu_id()] = arena_new(&m->arena, struct cpu_data);
}

/* ---- machines ---- */

/* Called before the zones are built, to change knobs. */
typedef void bare_setup(struct machine *m);

__attribute__((unused)) static struct machine *bare_create(struct hw_machine *hw,
                                                           const char *preset, bare_setup *setup)
{
	static const struct world_upcalls none;
	struct world *w = null_create(hw);
	struct arena arena;
	struct machine *m;
	char err[200];

	bare_reclaim = (struct bare_reclaim){0};
	assert_int_equal(arena_init(&arena, 1UL << 40, "bare"), 0);
	m = arena_new(&arena, struct machine);
	m->arena = arena;
	m->world = w;
	m->nr_world_tasks = w->next_task;
	m->cpu = arena_array(&m->arena, struct cpu_data *, hw->nr_cpus);
	assert_int_equal(knobs_preset(&m->knob, preset), 0);
	m->knob.thp_enabled = THP_NEVER;
	if (setup)
		setup(m);
	world_attach(w, &none, m, NULL);
	if (zones_init(m, err, sizeof(err)))
		fail_msg("zones_init: %s", err);
	setup_per_zone_wmarks(m);
	mutex_init(w, &m->oom_lock, LOCK_OOM);
	m->slowpath = choose_slowpath(m);
	return m;
}

__attribute__((unused)) static void bare_destroy(struct machine *m, struct hw_machine *hw)
{
	struct arena arena = m->arena;

	null_destroy(m->world);
	arena_destroy(&arena);
	null_hw_free(hw);
}

/* A machine of one node whose memory is these ranges; @hw is made with room for them. */
__attribute__((unused)) static struct hw_machine *bare_hw(u32 nr_cpus, u32 nr_ranges,
                                                          const struct hw_range *range)
{
	struct hw_machine *hw = null_hw(nr_cpus, 1, 64);

	free(hw->range);
	hw->range = calloc(nr_ranges, sizeof(*hw->range));
	assert_non_null(hw->range);
	memcpy(hw->range, range, nr_ranges * sizeof(*range));
	hw->nr_ranges = nr_ranges;
	return hw;
}

/* Zones of these managed sizes (0: none), with nothing reserved. */
__attribute__((unused)) static struct hw_machine *bare_zones(u32 nr_cpus, u64 dma, u64 dma32,
                                                             u64 normal)
{
	struct hw_range range[3];
	u32 n = 0;

	if (dma)
		range[n++] = (struct hw_range){.start_pfn = 0, .nr_pages = dma};
	if (dma32)
		range[n++] = (struct hw_range){.start_pfn = 4096, .nr_pages = dma32};
	if (normal)
		range[n++] = (struct hw_range){.start_pfn = 1 << 20, .nr_pages = normal};
	return bare_hw(nr_cpus, n, range);
}

__attribute__((unused)) static struct zone *bare_zone(struct machine *m, enum zone_type type)
{
	return &m->node[0].zone[type];
}

#endif
