/*
 * The machine in words: what a person wants to see who stops it.
 *
 * Read from outside, as by a debugger: nothing is charged, no order point is passed and no lock
 * taken, so a list may be seen in the middle of a change; that is what is the case then.
 */
#include "core/page_alloc.h"
#include "core/swap.h"

#include <stdio.h>

static const char *against_marks(long free, const struct zone *z)
{
	if (free < (long)wmark(z, WMARK_MIN))
		return "below min";
	if (free < (long)wmark(z, WMARK_LOW))
		return "below low";
	return free < (long)wmark(z, WMARK_HIGH) ? "below high" : "above high";
}

static void dump_zone(struct machine *m, FILE *f, const struct zone *z)
{
	long free = stat_exact(m, &z->stat, NR_FREE_PAGES);

	fprintf(f, "  node %u zone %s: free %ld, %s (min %lu low %lu high %lu)\n",
	        z->pgdat->node_id, z->name, free, against_marks(free, z), wmark(z, WMARK_MIN),
	        wmark(z, WMARK_LOW), wmark(z, WMARK_HIGH));
	fprintf(f, "    counter %ld, managed %lu; blocks by order",
	        atomic_long_peek(&z->stat.v[NR_FREE_PAGES]), z->managed_pages);
	for (int o = 0; o < MAX_ORDER; o++)
		fprintf(f, " %lu", z->free_area[o].nr_free);
	if (z->lock.owner)
		fprintf(f, "\n    zone->lock held by CPU %u, %u wait", z->lock.owner - 1,
		        z->lock.nr_waiters);
	fputc('\n', f);
}

static void dump_lruvec(FILE *f, const struct lruvec *l, const char *where)
{
	fprintf(f, "  %s: in-/active anon %lu/%lu, file %lu/%lu, unevictable %lu", where,
	        l->list[LRU_INACTIVE_ANON].nr, l->list[LRU_ACTIVE_ANON].nr,
	        l->list[LRU_INACTIVE_FILE].nr, l->list[LRU_ACTIVE_FILE].nr,
	        l->list[LRU_UNEVICTABLE].nr);
	if (l->lru_lock.owner)
		fprintf(f, "\n    lru_lock held by CPU %u, %u wait", l->lru_lock.owner - 1,
		        l->lru_lock.nr_waiters);
	fputc('\n', f);
}

static void dump_memory(struct machine *m, FILE *f)
{
	struct pglist_data *pgdat;
	char where[64];
	struct zone *z;

	fprintf(f, "zones (pages)\n");
	for_each_populated_zone (m, pgdat, z)
		dump_zone(m, f, z);
	fprintf(f, "LRU lists (pages)\n");
	for_each_node (m, pgdat) {
		for (z = pgdat->zone; z < pgdat->zone + MAX_NR_ZONES; z++) {
			if (!populated_zone(z) || z->lruvec != &z->own_lruvec)
				continue;
			snprintf(where, sizeof(where), "node %u zone %s", pgdat->node_id, z->name);
			dump_lruvec(f, z->lruvec, where);
		}
		snprintf(where, sizeof(where), "node %u", pgdat->node_id);
		if (pgdat->zone[0].lruvec == &pgdat->lruvec)
			dump_lruvec(f, &pgdat->lruvec, where);
	}
}

/* ---- per CPU ---------------------------------------------------------------------------------------- */

static u32 nr_adding(const struct cpu_pagevecs *p)
{
	u32 nr = 0;

	for (int i = 0; i < NR_LRU_LISTS; i++)
		nr += p->lru_add[i].nr;
	return nr;
}

/* CPUs that hold nothing are left out. */
static void dump_cpu(struct machine *m, FILE *f, u32 cpu)
{
	const struct cpu_data *d = m->cpu[cpu];
	struct pglist_data *pgdat;
	struct zone *z;
	char lists[32];
	u32 nr = 0;

	snprintf(lists, sizeof(lists), "  CPU %u lists:", cpu);
	for_each_populated_zone (m, pgdat, z)
		if (z->pcp[cpu] && z->pcp[cpu]->count)
			fprintf(f, "%s %s %d of %d (batch %d)", nr++ ? "," : lists, z->name,
			        z->pcp[cpu]->count, z->pcp[cpu]->high, z->pcp[cpu]->batch);
	if (nr)
		fputc('\n', f);
	if (d && nr_adding(&d->pvec) + d->pvec.lru_rotate.nr + d->pvec.lru_deactivate.nr +
	                 d->pvec.lru_lazyfree.nr + d->pvec.activate_page.nr)
		fprintf(f,
		        "  CPU %u batches: add %u rotate %u deactivate %u lazyfree %u activate "
		        "%u\n",
		        cpu, nr_adding(&d->pvec), d->pvec.lru_rotate.nr, d->pvec.lru_deactivate.nr,
		        d->pvec.lru_lazyfree.nr, d->pvec.activate_page.nr);
}

/* ---- swap, dirty state --------------------------------------------------------------------------- */

static void dump_swap(struct machine *m, FILE *f)
{
	fprintf(f, "swap (pages)\n");
	for (u32 i = 0; i < m->nr_swapfiles; i++) {
		const struct swap_info_struct *si = m->swap[i];

		fprintf(f, "  %s: %lu of %lu used, priority %d", m->world->hw->disk[si->disk].name,
		        si->inuse_pages, si->pages, si->prio);
		if (si->lock.owner)
			fprintf(f, "; si->lock held by CPU %u, %u wait", si->lock.owner - 1,
			        si->lock.nr_waiters);
		fputc('\n', f);
	}
	if (!m->nr_swapfiles)
		fprintf(f, "  none\n");
}

/* Every amount that is not 0, as in /proc/vmstat: dirty and writeback pages among them. */
static void dump_amounts(struct machine *m, FILE *f)
{
	u32 at = 0;

	fprintf(f, "amounts (pages), as the counters say\n");
	for (u32 i = 0; i < NR_VM_ITEMS; i++) {
		long v = atomic_long_peek(&m->vm_stat.v[i]);

		if (!v)
			continue;
		if (at && at > 60) {
			fputc('\n', f);
			at = 0;
		}
		at += (u32)fprintf(f, "  %s %ld", vm_item_name[i], v);
	}
	if (at)
		fputc('\n', f);
}

void machine_dump(struct machine *m, FILE *f)
{
	dump_memory(m, f);
	fprintf(f, "per-CPU lists and LRU batches (pages); CPUs that hold none are left out\n");
	for (u32 cpu = 0; cpu < m->nr_cpus; cpu++)
		dump_cpu(m, f, cpu);
	dump_swap(m, f);
	dump_amounts(m, f);
}
