/*
 * Congestion of disks (Linux mm/backing-dev.c, until 5.15).
 *
 * A disk is congested while more than 7/8 of its queue's requests are in use; the world knows. Those
 * who would make it worse sleep until any disk leaves that state, or for a while.
 *
 * Swap's own pseudo device is never congested, so reclaim is not refused swap writes however long
 * the queue: submitters wait in the block layer. What waits here is counted in zone->flags
 * (ZONE_CONGESTED) or simply wants to wait.
 */
#include "core/internal.h"
#include "core/swap.h"

/* Interrupt context. */
void disk_uncongested(void *machine, u32 disk, bool write)
{
	struct machine *m = machine;

	(void)disk;
	wake_up(&m->congestion_wait[write]);
}

static bool any_disk_congested(struct machine *m, bool write)
{
	for (u32 i = 0; i < m->world->hw->nr_disks; i++)
		if (world_disk_congested(m->world, i, write))
			return true;
	return false;
}

/*
 * Sleeps until a disk leaves congestion, at most @ticks; also if none is congested, and then for all
 * of it. May switch tasks.
 */
void congestion_wait(struct machine *m, bool write, u64 ticks)
{
	struct wait_queue_entry e;

	span_enter(SPAN_CONGESTION);
	blk_flush_plug(m);
	prepare_to_wait(&m->congestion_wait[write], &e, 0, false, WORLD_TASK_UNINTERRUPTIBLE);
	schedule_timeout(world_ticks_to_ns(ticks));
	finish_wait(&e);
	span_exit();
}

/* The same, but only if a disk is congested and reclaim has seen @z so. May switch tasks. */
void wait_iff_congested(struct machine *m, struct zone *z, bool write, u64 ticks)
{
	if (!(READ_ONCE(z->flags) & ZONE_CONGESTED) || !any_disk_congested(m, write))
		world_cond_resched();
	else
		congestion_wait(m, write, ticks);
}
