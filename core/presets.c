/*
 * Presets: kernels as sets of knob values.
 *
 * core/knobs.h has two columns, 4.0 and 6.18. Every other kernel is one of the presets above it in
 * this table with some values changed, so that a row says what is different and nothing else. What a
 * kernel did is said in linux-mm's own terms in each knob's origin; a preset adds no meaning of its
 * own, and no code asks for its name.
 */
#include "core/knobs.h"

#include <errno.h>
#include <string.h>

/* A value that differs from the preset it is derived from. */
struct preset_value {
	const char *knob;
	u64 value;
};

struct preset {
	const char *name;
	const char *base; /* NULL: a column of the table */
	u32 column;
	struct preset_value set[24]; /* ends with a NULL name */
};

/* By age. A base may stand anywhere in the table. */
static const struct preset presets[] = {
	{"2.6.35",
         "2.6.36",
         0,
         {
		 {"vmstat.free_estimate", ESTIMATE_CHEAP},
	 }},
	{"2.6.36",
         "2.6.38",
         0,
         {
		 {"vmstat.free_estimate", ESTIMATE_SNAPSHOT}, /* to 2.6.37 */
		 {"alloc.slowpath", SLOWPATH_2_6_36},
		 {"reclaim.direct_nap", DIRECT_NAP_ALWAYS}, /* 2.6.37 */
		 {"thp.enabled", THP_NEVER},                /* 2.6.38 */
	 }},
	{"2.6.38",
         "3.1",
         0,
         {
		 {"numa.reclaim_distance", 20},          /* 3.0 */
		 {"file.i_mmap_lock", I_MMAP_SPIN},      /* 3.0 */
		 {"readahead.mmap_sequential", KNOB_ON}, /* 3.0 */
		 {"fs.stable_pages", KNOB_OFF},          /* 3.0 */
	 }},
	{"3.1",
         "3.16",
         0,
         {
		 {"lru.add_batches", LRU_ADD_PER_LIST},     /* 3.11 */
		 {"alloc.zone_fair", KNOB_OFF},             /* 3.12 */
		 {"mlock.drain", MLOCK_DRAIN_ALL},          /* 3.12 */
		 {"mlock.huge", MLOCK_HUGE_NEW},            /* 3.7 */
		 {"watermark.pages", WMARK_PAGES_PRESENT},  /* to 3.8 */
		 {"pcp.drain", PCP_DRAIN_ALL},              /* 3.4 */
		 {"reclaim.throttle_direct", KNOB_OFF},     /* 3.6 */
		 {"reclaim.scan_balance", BALANCE_BATCHED}, /* 3.8 */
		 {"reclaim.direct_nap", DIRECT_NAP_CONGESTED},
		 {"reclaim.proportion", KNOB_OFF},           /* 3.11 */
		 {"reclaim.kswapd", KSWAPD_2_6_36},          /* 3.12; it changed little by little */
		 {"numa.reclaim_distance", 30},              /* 3.16 */
		 {"reclaim.file_pageout", FILE_PAGEOUT_ANY}, /* 3.2 */
		 {"writeback.throttle", DIRTY_THROTTLE_WRITE},  /* 3.2 */
		 {"writeback.proportions", PROPORTIONS_EVENTS}, /* 3.6 */
		 {"writeback.spread", KNOB_OFF},                /* 3.3 */
		 {"fs.stable_pages", KNOB_ON},     /* 3.9: only where the device needs it */
		 {"vm.fault_around_bytes", 4096},  /* 3.15 */
		 {"workingset.file", KNOB_OFF},    /* 3.15 */
		 {"reclaim.young_flush", KNOB_ON}, /* 3.16 */
		 {"overcommit.reserve", OVERCOMMIT_RESERVE_SHARE}, /* 3.10 */
		 {"mremap.move", MREMAP_MOVE_PTES},                /* 3.2 */
		 {"khugepaged.node", KHUGEPAGED_NODE_FIRST},       /* 3.13 */
	 }},
	{"3.16",
         "4.0",
         0,
         {
		 {"vmstat.worker", STAT_WORKER_ALL},  /* 3.18 */
		 {"khugepaged.node_abort", KNOB_OFF}, /* 3.17 */
		 {"alloc.slowpath", SLOWPATH_3_0},    /* 3.19 */
		 {"file.i_mmap_lock", I_MMAP_MUTEX},  /* 3.19 */
	 }},
	{"4.0", NULL, 0, {{0}}},
	{"4.5",
         "4.0",
         0,
         {
		 {"reclaim.unmap_flush", UNMAP_FLUSH_BATCH}, /* 4.3 */
		 {"watermark.order", WMARK_ORDER_BLOCK},     /* 4.4 */
		 {"vm.compact_unevictable_allowed", 1},      /* 4.2 */
		 {"madvise.free_swap", FREE_SWAP_DROP},      /* 4.5 */
		 {"madvise.free_list", FREE_LIST_INACTIVE_ANON},
		 {"madvise.free_slot", FREE_SLOT_FIRST},
		 {"thp.partial_unmap", THP_PARTIAL_PMD},
		 {"mremap.errors", MREMAP_ERRORS_4_1},           /* 4.1 */
		 {"khugepaged.node", KHUGEPAGED_NODE_MOST_ONLY}, /* 4.1 */
	 }},
	{"6.18", NULL, 1, {{0}}},
};

const char *knob_preset_name(u32 i)
{
	return i < ARRAY_SIZE(presets) ? presets[i].name : NULL;
}

static const struct preset *preset_find(const char *name)
{
	for (u32 i = 0; i < ARRAY_SIZE(presets); i++)
		if (!strcmp(presets[i].name, name))
			return &presets[i];
	return NULL;
}

u64 knob_preset_value(const struct knob_info *info, u32 i)
{
	const struct preset *p = &presets[i];

	for (;;) {
		for (const struct preset_value *v = p->set; v->knob; v++)
			if (!strcmp(v->knob, info->name))
				return v->value;
		if (!p->base)
			return info->column[p->column];
		p = preset_find(p->base);
	}
}

int knobs_preset(struct knobs *k, const char *name)
{
	const struct preset *p = preset_find(name);

	if (!p)
		return -EINVAL;
	for (u32 i = 0; i < knob_count(); i++)
		knob_write(k, knob_at(i), knob_preset_value(knob_at(i), (u32)(p - presets)));
	return 0;
}
