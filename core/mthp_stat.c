/*
 * Counters per size of huge page, which Linux has as files below
 * /sys/kernel/mm/transparent_hugepage/hugepages-<size>kB/stats/.
 */
#include "core/huge_memory.h"

void count_mthp(struct machine *m, const struct page *head, enum mthp_stat stat)
{
	m->mthp_stat[compound_order(head)][stat] += 1;
}

#define MTHP_NAMES(kb)                                                                             \
	{                                                                                          \
		"mthp_" kb "kB_anon_fault_alloc", "mthp_" kb "kB_anon_fault_fallback",             \
			"mthp_" kb "kB_split", "mthp_" kb "kB_split_failed",                       \
			"mthp_" kb "kB_split_deferred", "mthp_" kb "kB_swpout",                    \
			"mthp_" kb "kB_swpout_fallback", "mthp_" kb "kB_swpin",                    \
			"mthp_" kb "kB_swpin_fallback"                                             \
	}

static const char *const mthp_name[][NR_MTHP_STATS] = {
	MTHP_NAMES("16"),  MTHP_NAMES("32"),  MTHP_NAMES("64"),   MTHP_NAMES("128"),
	MTHP_NAMES("256"), MTHP_NAMES("512"), MTHP_NAMES("1024"), MTHP_NAMES("2048"),
};

u32 mthp_stat_count(void)
{
	return ARRAY_SIZE(mthp_name) * NR_MTHP_STATS;
}

const char *mthp_stat_name(u32 i)
{
	return i < mthp_stat_count() ? mthp_name[i / NR_MTHP_STATS][i % NR_MTHP_STATS] : NULL;
}

void mthp_gauges(struct machine *m, void (*fn)(const char *name, u64 value, bool event, void *arg),
                 void *arg)
{
	const char *name;

	for (u32 i = 0; (name = mthp_stat_name(i)); i++) {
		u64 value = m->mthp_stat[MTHP_MIN_ORDER + i / NR_MTHP_STATS][i % NR_MTHP_STATS];

		if (value)
			fn(name, value, false, arg);
	}
}
