/*
 * Bios, and the reserve that keeps I/O going when there is no memory for one (Linux block/bio.c,
 * fs_bio_set; mm/mempool.c; the same in all versions here).
 *
 * A bio comes from a slab, which asks for a page above the min mark and not below it, also for a task
 * that may ignore the mark: who writes to free pages must not use up the last of them. When there is
 * none a reserve of two is left, and after that the task lets its plug go and sleeps until a bio comes
 * back. So reclaim that is down at the min mark goes on at the pace at which writes end, in requests of
 * few pages. The two are as old as the machine, and no frame is counted for them.
 *
 * A swapped page takes a bio, a huge one too; so does a request of file pages. RAM disks, which do it
 * at once, take none. Left out: the pools of vectors of bios with more than four pages; bios that stay
 * free in the slabs of CPUs, as for all slabs here (slab.c).
 *
 * Locks: bio_lock, inside of all others.
 */
#include "core/swap.h"

#define BIO_POOL_SIZE 2 /* Linux: the same */

static bool has_queue(const struct machine *m, u32 disk)
{
	return m->world->hw->disk[disk].kind != HW_DISK_RAM;
}

void bio_init(struct machine *m)
{
	spin_lock_init(m->world, &m->bio_lock, LOCK_MEMPOOL);
	init_waitqueue_head(&m->bio_wait);
	m->nr_bio_reserve = BIO_POOL_SIZE;
}

static bool bio_take_reserve(struct machine *m)
{
	bool taken;

	spin_lock_irq(&m->bio_lock);
	taken = m->nr_bio_reserve > 0;
	m->nr_bio_reserve -= taken;
	spin_unlock_irq(&m->bio_lock);
	return taken;
}

/* Let go of what the task holds back, or it may be waiting for itself; then sleep, if still need be. */
static void bio_wait(struct machine *m)
{
	struct wait_queue_entry e;

	span_enter(SPAN_MEMPOOL);
	blk_flush_plug(m);
	prepare_to_wait(&m->bio_wait, &e, 0, false, WORLD_TASK_UNINTERRUPTIBLE);
	if (!READ_ONCE(m->nr_bio_reserve))
		schedule_timeout(WORLD_FOREVER);
	finish_wait(&e);
	span_exit();
}

void bio_alloc(struct machine *m, u32 disk, gfp_t gfp)
{
	const gfp_t polite = gfp | __GFP_NOMEMALLOC | __GFP_NORETRY | __GFP_NOWARN;

	if (!has_queue(m, disk))
		return;
	for (;;) {
		/* Without an effort first. */
		if (slab_reserve(m, SLAB_BIO, polite & ~(__GFP_DIRECT_RECLAIM | __GFP_IO)) ||
		    bio_take_reserve(m) || slab_reserve(m, SLAB_BIO, polite) || bio_take_reserve(m))
			return;
		bio_wait(m);
	}
}

void bio_free(struct machine *m, u32 disk)
{
	bool kept = false;

	if (!has_queue(m, disk))
		return;
	if (READ_ONCE(m->nr_bio_reserve) < BIO_POOL_SIZE) {
		spin_lock_irq(&m->bio_lock);
		kept = m->nr_bio_reserve < BIO_POOL_SIZE;
		m->nr_bio_reserve += kept;
		spin_unlock_irq(&m->bio_lock);
	}
	if (kept)
		wake_up(&m->bio_wait);
	else
		slab_release(m, SLAB_BIO);
}
