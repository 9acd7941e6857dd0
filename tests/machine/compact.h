/*
 * Compaction of a whole zone, as by a write to /proc/sys/vm/compact_memory.
 */
#ifndef TESTS_MACHINE_COMPACT_H
#define TESTS_MACHINE_COMPACT_H

#include "core/compaction.h"

static void compact_whole_zone(struct machine *m, struct zone *z)
{
	struct compact_control cc = {
		.zone = z,
		.order = -1,
		.migratetype = MIGRATE_MOVABLE,
		.highest_zoneidx = ZONE_NORMAL,
		.mode = MIGRATE_SYNC,
		.ignore_skip_hint = true,
	};

	compact_zone(m, &cc);
}

#endif
