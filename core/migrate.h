/*
 * Moving pages: migrate.c, for compaction.c.
 */
#ifndef CORE_MIGRATE_H
#define CORE_MIGRATE_H

#include "core/internal.h"

enum migrate_mode {
	MIGRATE_ASYNC,      /* waits for nothing */
	MIGRATE_SYNC_LIGHT, /* for page locks, but not for I/O */
	MIGRATE_SYNC,
};

/* Where pages go: a new page with one reference, or NULL; and one back that was not needed. */
struct migrate_target {
	struct page *(*get)(void *arg);
	void (*put)(struct page *page, void *arg);
	void *arg;
};

/*
 * Moves the pages of @from, which are isolated (PG_isolated, a reference, NR_ISOLATED_*). What can
 * never be moved goes back to its list at once, what could not be moved now stays on @from. Returns how
 * many were not moved, or -ENOMEM when there was no place for more. May switch tasks.
 */
long migrate_pages(struct machine *m, struct page_list *from, const struct migrate_target *to,
                   enum migrate_mode mode);

/* Isolated pages go back to their LRU lists. */
void putback_movable_pages(struct machine *m, struct page_list *pages);

#endif
