/*
 * How a huge page's entries are found when it is split: mail 003's subject (huge_split.c, split_walk.c).
 */
#ifndef CORE_SPLIT_WALK_H
#define CORE_SPLIT_WALK_H

#include "core/huge_memory.h"

/* One split. */
struct split {
	struct machine *m;
	struct page *head;
	struct anon_vma *anon_vma; /* locked for write */
	u64 index;                 /* of the head */
	u32 nr;                    /* pages */
	struct world_touch pages;  /* the 512 struct pages, which are gone through in a row */

	/* split_walk.c: the last search, [first, last], and up to which first page it goes the same way */
	u32 looks; /* handle of a struct looks; 0: none */
	u64 looks_first;
	u64 looks_last;
	u64 looks_until;
};

/* References that the swap cache has: one for each page. */
static inline s32 swap_cache_references(const struct page *head)
{
	return page_test(head, PG_swapcache) ? (s32)compound_nr(head) : 0;
}

/* Everything that maps the page becomes migration entries, and these become ptes again. */
void freeze_page(struct split *s);
void unfreeze_page(struct split *s);
/* Before 4.5: every PMD entry of the page becomes ptes, in all address spaces. */
void split_all_pmds(struct split *s);
/* At the end, the lock still held. */
void forget_looks(struct split *s);

#endif
