/*
 * Reclaim of the local node before memory of another one is taken: zone_reclaim_mode (Linux
 * mm/vmscan.c, zone_reclaim(), since 4.8 node_reclaim()).
 *
 * Only what is cheap to have is taken, unmapped pages of files that nobody has written to, and only if
 * there is more of that than one part in a hundred. Mode bits allow more: 2 writing, 4 unmapping and
 * swapping. To 3.15 the mode switched itself on at boot where a node is far away from another one
 * (numa.reclaim_distance).
 *
 * Left out: slab pages; the zonelist cache, which to 4.4 passed over a full zone for a second.
 */
#include "core/page_alloc.h"
#include "core/swap.h"
#include "core/vmscan.h"

#define NODE_RECLAIM_PRIORITY 4 /* a sixteenth of each list */
#define MIN_UNMAPPED_RATIO 100  /* vm.min_unmapped_ratio is 1 % */

enum node_reclaim_mode {
	RECLAIM_ZONE = 1 << 0,
	RECLAIM_WRITE = 1 << 1,
	RECLAIM_UNMAP = 1 << 2,
};

void node_reclaim_init(struct machine *m)
{
	const struct hw_machine *hw = m->world->hw;
	u64 far = m->knob.reclaim_distance;

	m->zone_reclaim_mode = (u32)m->knob.zone_reclaim_mode;
	for (u32 i = 0; far && i < m->nr_nodes * m->nr_nodes; i++)
		if (hw->distance[i] > far)
			m->zone_reclaim_mode |= RECLAIM_ZONE;
}

/* Pages that could be had in this way. */
static unsigned long pagecache_reclaimable(struct machine *m, struct zone *z)
{
	unsigned long nr = node_page_state(z, NR_FILE_PAGES);
	unsigned long sub = 0;

	if (!(m->zone_reclaim_mode & RECLAIM_UNMAP)) {
		unsigned long lru =
			node_page_state(z, NR_INACTIVE_FILE) + node_page_state(z, NR_ACTIVE_FILE);

		nr = lru;
		sub = node_page_state(z, NR_FILE_MAPPED);
	}
	if (!(m->zone_reclaim_mode & RECLAIM_WRITE))
		sub += node_page_state(z, NR_FILE_DIRTY);
	return nr - min(nr, sub);
}

/* 1 % of the zone, or of the node whose lists they are. */
static unsigned long min_unmapped_pages(const struct zone *z)
{
	unsigned long pages = 0;

	if (z->lruvec->zone)
		return z->managed_pages / MIN_UNMAPPED_RATIO;
	for (int i = 0; i < MAX_NR_ZONES; i++)
		pages += z->pgdat->zone[i].managed_pages / MIN_UNMAPPED_RATIO;
	return pages;
}

/* Has enough been freed for the request? */
static bool reclaim_here(struct machine *m, struct zone *z, gfp_t gfp, unsigned int order)
{
	struct scan_control sc = {
		.nr_to_reclaim = max_t(unsigned long, 1UL << order, SWAP_CLUSTER_MAX),
		.gfp = gfp,
		.order = order,
		.priority = NODE_RECLAIM_PRIORITY,
		.reclaim_idx = gfp_zone(gfp),
		.may_writepage = m->zone_reclaim_mode & RECLAIM_WRITE,
		.may_unmap = m->zone_reclaim_mode & RECLAIM_UNMAP,
		.may_swap = true,
	};
	struct task *t = current_task();

	span_enter(SPAN_NODE_RECLAIM);
	world_cond_resched();
	t->flags |= PF_MEMALLOC;
	do {
		if (z->lruvec->zone)
			shrink_zone(m, z, &sc);
		else
			shrink_node(m, z->pgdat, &sc);
	} while (--sc.priority >= 0 && sc.nr_reclaimed < 1UL << order);
	t->flags &= ~(u32)PF_MEMALLOC;
	span_exit();
	return sc.nr_reclaimed >= 1UL << order;
}

/* May the running CPU reclaim there? Another node's CPUs do that themselves, if it has any. */
static bool is_ours(struct machine *m, const struct zone *z)
{
	return z->pgdat == this_node(m) || !z->pgdat->nr_cpus;
}

/*
 * @z has no page above the mark that @gfp may have. True: something has been reclaimed, and the caller
 * should look again. May switch tasks.
 */
bool node_reclaim(struct machine *m, struct zone *z, gfp_t gfp, unsigned int order)
{
	u32 *flags = z->lruvec->zone ? &z->flags : &z->pgdat->reclaim_flags;
	bool enough;

	if (pagecache_reclaimable(m, z) <= min_unmapped_pages(z) || !zone_reclaimable(z))
		return false;
	if (!(gfp & __GFP_DIRECT_RECLAIM) || world_in_irq() || world_self->irq_off ||
	    world_self->task->id <= m->nr_world_tasks || current_flags(m) & PF_MEMALLOC)
		return false;
	if (!is_ours(m, z) || READ_ONCE(*flags) & ZONE_RECLAIM_LOCKED)
		return false;
	*flags |= ZONE_RECLAIM_LOCKED;
	enough = reclaim_here(m, z, gfp, order);
	WRITE_ONCE(*flags, *flags & ~(u32)ZONE_RECLAIM_LOCKED);
	count_vm_event(m, enough ? ZONE_RECLAIM_SUCCESS : ZONE_RECLAIM_FAILED);
	return enough;
}
