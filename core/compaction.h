/*
 * Memory compaction: compaction.c (scanners), compact_defer.c (whether, and for whom).
 */
#ifndef CORE_COMPACTION_H
#define CORE_COMPACTION_H

#include "core/migrate.h"
#include "core/page_alloc.h"

enum compact_result {
	COMPACT_SKIPPED,         /* too little free memory, or it is not what fragments it */
	COMPACT_DEFERRED,        /* it failed lately */
	COMPACT_CONTINUE,        /* not done; as an answer to "is it worth it": yes */
	COMPACT_COMPLETE,        /* the scanners met: the whole zone was looked at */
	COMPACT_PARTIAL_SKIPPED, /* they met, but did not begin at the ends of the zone */
	COMPACT_CONTENDED,       /* asynchronous: a lock was taken */
	COMPACT_SUCCESS,         /* a block of the order is free */
};

/* How hard a request may try: Linux's compact_priority. */
enum compact_priority {
	COMPACT_PRIO_SYNC_FULL,
	COMPACT_PRIO_SYNC_LIGHT,
	COMPACT_PRIO_ASYNC,
};

#define COMPACT_CLUSTER_MAX SWAP_CLUSTER_MAX
#define COMPACT_MAX_DEFER_SHIFT 6

/* One run of the two scanners over a zone. */
struct compact_control {
	struct zone *zone;
	struct page_list freepages;    /* isolated, single, nobody's */
	struct page_list migratepages; /* isolated from the LRU lists */
	unsigned long nr_migratepages; /* of those, not counting those that have a place */
	u64 free_pfn;                  /* where the free scanner goes on, downwards */
	u64 migrate_pfn;               /* where the other goes on, upwards */
	u64 last_migrated_pfn;         /* 0: nothing since the per-CPU lists were drained */
	u64 nr_migrate_scanned;
	u64 nr_free_scanned;
	int order; /* -1: compact all */
	enum migratetype migratetype;
	u32 alloc_flags;
	int highest_zoneidx;
	enum migrate_mode mode;
	bool ignore_skip_hint;
	bool whole_zone;
	bool contended;
	bool daemon; /* kcompactd: its pages are counted apart */
};

/* ---- compaction.c ------------------------------------------------------------------------------ */

enum compact_result compact_zone(struct machine *m, struct compact_control *cc);
/* Is there enough free memory to move pages to, and would it help? COMPACT_CONTINUE: yes. */
enum compact_result compaction_suitable(struct zone *z, int order, u32 alloc_flags,
                                        int highest_zoneidx);
/* 0 ... 1000: the order cannot be had because memory is short ... because it is in pieces; -1000: it
 * can. */
int fragmentation_index(struct zone *z, unsigned int order);
/* The scanners of @z forget which blocks were not worth it. */
void reset_isolation_suitable(struct zone *z);

/* ---- compact_defer.c --------------------------------------------------------------------------- */

void compaction_init(struct machine *m); /* boot */
/* A page of the request's order after compaction; NULL: see *@result. */
struct page *alloc_pages_direct_compact(struct machine *m, gfp_t gfp, unsigned int order,
                                        u32 alloc_flags, enum compact_priority prio,
                                        enum compact_result *result);
/* Would compaction be possible if more were reclaimed? */
bool compaction_zonelist_suitable(struct machine *m, gfp_t gfp, int order, u32 alloc_flags);
/* kswapd has nothing to do: the scanners may look at all blocks again. */
void compaction_before_kswapd_sleeps(struct pglist_data *pgdat);
/* kswapd of 3.12 compacts its node itself, later ones wake the daemon. */
void compact_pgdat(struct machine *m, struct pglist_data *pgdat, int order);
void wakeup_kcompactd(struct pglist_data *pgdat, int order, int highest);

#endif
