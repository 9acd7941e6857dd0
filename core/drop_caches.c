/*
 * /proc/sys/vm/drop_caches (Linux fs/drop_caches.c): 1 drops clean page cache, 2 what shrinkers can free.
 */
#include "core/fs.h"
#include "core/shrinker.h"

/*
 * To 5.14 each node by itself, until a round frees no more than 10 objects; then (e83b39d6bbdb, 5.15) all
 * of them, until a round frees less than twice what the one before should have left.
 */
static void drop_slab(struct machine *m)
{
	struct pglist_data *pgdat;
	unsigned long freed;
	u32 shift = 0;

	if (m->knob.slab_scan == SLAB_SCAN_RATIO) {
		for_each_node (m, pgdat)
			do
				freed = shrink_slab(m, pgdat, 0, 1000, 1000);
			while (freed > 10);
		return;
	}
	do {
		freed = 0;
		for_each_node (m, pgdat) {
			if (current_task()->killed)
				return;
			freed += shrink_slab(m, pgdat, 0, 0, 0);
		}
	} while (freed >> min(shift++, 63u) > 1);
}

int do_drop_caches(struct machine *m, u32 what)
{
	struct task *t = sys_enter(SPAN_DROP_CACHES);

	if (!what || what > 3)
		return sys_exit(t, -EINVAL);
	if (what & 1) {
		/* Batches hold references that would keep pages; today they are emptied first. */
		if (m->knob.slab_scan == SLAB_SCAN_PRIORITY)
			lru_add_drain_all(m, true);
		drop_pagecache(m);
		count_vm_event(m, DROP_PAGECACHE);
	}
	if (what & 2) {
		drop_slab(m);
		count_vm_event(m, DROP_SLAB);
	}
	return sys_exit(t, 0);
}
