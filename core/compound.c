/*
 * Compound pages: several frames that are one page (Linux mm/page_alloc.c, prep_compound_page()).
 *
 * The head has the reference count, the flags and the place on a list. A tail has PG_compound,
 * TAIL_MAPPING and its distance from the head, a reference count of 0, and a mapcount of its own.
 *
 * Linux fills in all tails when the page is allocated, and looks at all when it is freed; that is
 * charged. Here the third page is the last that is written to then: the others are filled in when
 * something may come across them, which is a leaf table that maps them (prep_tails()). Most huge pages
 * live and die without one.
 */
#include "core/page_alloc.h"

/* Tails that are filled in from the beginning: those that hold fields of the whole page. */
#define FIRST_TAILS 3u

static inline void prep_tail(const struct zone *z, struct page *tail, u32 distance)
{
	tail->flags = z->page_flags | 1u << PG_compound;
	tail->refcount = 0;
	tail->mapcount = 0;
	tail->head_distance = distance;
	tail->mapping = TAIL_MAPPING;
}

/* @head is a block just allocated, with a reference. */
void prep_compound_page(const struct zone *z, struct page *head, unsigned int order)
{
	u32 nr = 1u << order;

	VM_BUG_ON(!order);
	charge_n(COST_COMPOUND_TAIL, nr - 1);
	page_set(head, PG_compound);
	for (u32 i = 1; i < min(nr, FIRST_TAILS); i++)
		prep_tail(z, &head[i], i);
	head[1].total_mapcount = 0;
	head[1].compound_mapcount = 0;
	head[1].compound_order = (u8)order;
	head[1].compound_flags = nr <= FIRST_TAILS ? COMPOUND_TAILS : 0;
	if (nr > 2) {
		head[2].deferred_next = 0;
		head[2].deferred_prev = 0;
	}
}

void prep_tails(struct machine *m, struct page *head)
{
	struct zone *z = page_zone(m, head);

	if (head[1].compound_flags & COMPOUND_TAILS)
		return;
	for (u32 i = FIRST_TAILS; i < compound_nr(head); i++)
		prep_tail(z, &head[i], i);
	head[1].compound_flags |= COMPOUND_TAILS;
}

/* The tails are pages like others again, blank ones. */
void destroy_compound_page(const struct zone *z, struct page *head)
{
	u32 nr = 1u << head[1].compound_order;
	u32 nr_filled = head[1].compound_flags & COMPOUND_TAILS ? nr : FIRST_TAILS;

	charge_n(COST_COMPOUND_TAIL, nr - 1);
	page_clear(head, PG_compound);
	for (u32 i = 1; i < nr_filled; i++) {
		struct page *tail = &head[i];

		VM_BUG_ON_MSG(tail->refcount || tail->mapcount, "tail %u: refcount %d mapcount %d",
		              i, tail->refcount, tail->mapcount);
		tail->flags = z->page_flags;
		tail->mapping = 0;
	}
}
