/*
 * For those who implement a world: what every simulated one does in the same way. The core does not
 * include this.
 */
#ifndef WORLD_IMPL_H
#define WORLD_IMPL_H

#include "world/world.h"

/* The root of the ledger that the time of a task of this kind is booked under. */
struct ledger_node *world_root_span(struct ledger *l, enum world_task_kind kind);

/* The fields of @c that follow from @w, which has hw and ledger set. */
void world_cpu_init(struct world *w, struct world_cpu *c, u32 id);

/* A task that is neither started nor in any queue. */
void world_task_setup(struct world *w, struct world_task *t, const char *name,
                      enum world_task_kind kind);

/* Books the time since the last change of mode to @t, which is running on @c. */
static inline void world_task_account(const struct world_cpu *c, struct world_task *t)
{
	u64 ns = c->clock - t->mode_start;

	if (t->in_user)
		t->utime_ns += ns;
	else
		t->stime_ns += ns;
	t->mode_start = c->clock;
}

/* ---- the page walk ------------------------------------------------------------------------- */

/* Table @nr of the core's reservation. */
static inline pte_t *world_table(const struct world *w, u64 nr)
{
	return (pte_t *)((char *)w->tables + nr * PAGE_SIZE);
}

/*
 * The entry that maps @va: in a leaf table (*@level 0), or a huge one (*@level 1 or 2).
 * NULL if the tables end before; the entry itself may be not present.
 */
static inline pte_t *world_walk(const struct world *w, const struct world_as *as, u64 va,
                                unsigned int *level)
{
	pte_t *table = world_table(w, as->root);

	for (unsigned int l = PTE_LEVELS - 1; l; l--) {
		pte_t *entry = &table[pte_index(va, l)];

		if (!pte_present(*entry))
			return NULL;
		if (entry->v & PTE_HUGE) {
			*level = l;
			return entry;
		}
		table = world_table(w, pte_pfn(*entry));
	}
	*level = 0;
	return &table[pte_index(va, 0)];
}

static inline bool world_access_writes(enum world_access kind)
{
	return kind == WORLD_WRITE || kind == WORLD_FILL;
}

/* What an entry must have for an access to succeed ... */
static inline u64 world_access_needs(enum world_access kind)
{
	return PTE_PRESENT | PTE_USER | (world_access_writes(kind) ? PTE_WRITE : 0);
}

/* ... and what the access sets in it. */
static inline u64 world_access_sets(enum world_access kind)
{
	return PTE_ACCESSED | (world_access_writes(kind) ? PTE_DIRTY : 0);
}

/* What user code pays for its access to one page, the TLB miss apart. */
static inline enum world_cost world_access_cost(enum world_access kind)
{
	return kind == WORLD_FILL   ? COST_USER_PAGE
	       : kind == WORLD_SCAN ? COST_USER_PAGE_READ
	                            : COST_USER_WORD;
}

#endif
