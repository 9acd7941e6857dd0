/*
 * What huge pages give back under pressure: those partly unmapped are split, so that what is unmapped is
 * freed, and the huge zero page goes when nobody maps it (Linux mm/huge_memory.c).
 */
#include "core/huge_memory.h"
#include "core/shrinker.h"

/* ---- deferred splits -------------------------------------------------------------------------------------- */

static unsigned long deferred_split_count(struct machine *m, struct pglist_data *pgdat)
{
	(void)m;
	return pgdat->split_queue_len;
}

/* To here they are taken under one hold of the queue's lock: all that are asked for, or 31. */
static u32 deferred_split_batch(const struct machine *m, unsigned long nr)
{
	return (u32)min_t(unsigned long, nr,
	                  m->knob.thp_deferred == DEFERRED_SPLIT_TRY ? 31 : SHRINK_BATCH);
}

/* True: the page is split, by whom ever. */
static bool deferred_split_one(struct machine *m, struct page *page)
{
	bool ok;

	if (m->knob.thp_deferred == DEFERRED_SPLIT_WAIT)
		lock_page(m, page);
	else if (!trylock_page(m, page))
		return false;
	/* Somebody else may have split it. */
	ok = page_is_head(page) && !split_huge_page(m, page);
	unlock_page(m, page);
	return ok;
}

static unsigned long deferred_split_scan(struct machine *m, struct pglist_data *pgdat,
                                         unsigned long nr_to_scan)
{
	struct page *batch[SHRINK_BATCH];
	unsigned long nr_split = 0;
	unsigned long left = min(nr_to_scan, pgdat->split_queue_len);

	do {
		u32 nr = split_queue_take(pgdat, batch, deferred_split_batch(m, left));

		for (u32 i = 0; i < nr; i++) {
			nr_split += deferred_split_one(m, batch[i]);
			split_queue_put_back(pgdat, batch[i]);
			put_page(m, batch[i]);
			world_cond_resched();
		}
		if (!nr)
			break;
		left -= nr;
	} while (left);
	world_order();
	return !nr_split && !pgdat->split_queue_first ? SHRINK_STOP : nr_split;
}

/* ---- the huge zero page -------------------------------------------------------------------------------------- */

static unsigned long huge_zero_count(struct machine *m, struct pglist_data *pgdat)
{
	(void)pgdat;
	return m->huge_zero_page && m->huge_zero_refs == 1 ? HPAGE_PMD_NR : 0;
}

static unsigned long huge_zero_scan(struct machine *m, struct pglist_data *pgdat, unsigned long nr)
{
	struct page *page;

	(void)pgdat, (void)nr;
	charge(COST_ATOMIC);
	world_order();
	page = m->huge_zero_page;
	if (!page || m->huge_zero_refs != 1)
		return 0;
	m->huge_zero_page = NULL;
	m->huge_zero_refs = 0;
	put_page(m, page);
	return HPAGE_PMD_NR;
}

/* ---- boot ------------------------------------------------------------------------------------------------------ */

void huge_shrinkers_init(struct machine *m)
{
	struct shrinker *s = arena_array(&m->arena, struct shrinker, 2);

	s[0] = (struct shrinker){
		.count = huge_zero_count, .scan = huge_zero_scan, .seeks = DEFAULT_SEEKS};
	s[1] = (struct shrinker){.count = deferred_split_count,
	                         .scan = deferred_split_scan,
	                         .seeks = DEFAULT_SEEKS,
	                         .numa_aware = true};
	register_shrinker(m, &s[0]);
	register_shrinker(m, &s[1]);
}
