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
	struct page *(*get)(const struct page *page, void *arg); /* of the size of @page */
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

/* The pte of @va, which maps @page, becomes a migration entry; its table's lock is held. @flags: TTU_BATCH_FLUSH. */
void set_migration_pte(struct machine *m, struct page *page, struct vm_area_struct *vma, u32 table,
                       u64 va, u32 flags);
/*
 * If @vma has a migration entry of @old at @new's offset, or some of a large one's, they become entries of @new. The
 * rmap lock is held.
 */
void remove_migration_pte_in(struct machine *m, struct vm_area_struct *vma, struct page *old,
                             struct page *new);

/* huge_migrate.c: what @vma has of the anonymous @head becomes migration entries; and the second half of the above. */
void try_to_migrate_in(struct machine *m, struct page *head, struct vm_area_struct *vma);
void remove_migration_folio_in(struct machine *m, struct vm_area_struct *vma, struct page *old,
                               struct page *new);

/* Isolated pages go back to their LRU lists. */
void putback_movable_pages(struct machine *m, struct page_list *pages);

#endif
