/*
 * What the two files of /proc share: lists of counters, in the order of a kernel.
 */
#ifndef CORE_PROC_H
#define CORE_PROC_H

#include "core/internal.h"

enum counter_kind {
	COUNTER_NONE,  /* printed as 0: this model does not count it */
	COUNTER_ITEM,  /* enum vm_item, pages now */
	COUNTER_TOTAL, /* enum vm_item that only grows */
	COUNTER_EVENT, /* enum vm_event */
	COUNTER_ZONES, /* the sum of four events, from @id on */
	COUNTER_LIMIT, /* pages that may be dirty; id: for background writeback to begin */
	COUNTER_BLOCKS /* free pages in blocks of a pageblock and more */
};

struct counter {
	const char *name;
	u8 kind;
	u16 id;
};

/* A kernel's lists. Those of zones and nodes come first in /proc/vmstat; before 4.8 all is the zone's. */
struct counter_list {
	const struct counter *zone; /* items of /proc/zoneinfo, per zone */
	u32 nr_zone;
	const struct counter *node; /* and per node */
	u32 nr_node;
	const struct counter *event; /* the rest of /proc/vmstat */
	u32 nr_event;
};

const struct counter_list *machine_counter_list(const struct machine *m);

/* An item of one zone or node as the kernel prints it: differences left out, never negative. */
u64 counter_of_holder(const struct counter *c, const struct stat_holder *h);

/* Free pages of @z in blocks of at least a pageblock. */
u64 zone_free_in_blocks(const struct zone *z);

#endif
