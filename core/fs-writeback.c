/*
 * The flusher of a disk (Linux fs/fs-writeback.c).
 *
 * A kernel task writes what has been dirty for long, or is too much. It is woken
 *
 *   - by a timer, every vm.dirty_writeback_centisecs while there is a dirty inode: it writes inodes that
 *     became dirty more than vm.dirty_expire_centisecs ago;
 *   - by dirtiers who find more dirty pages than the background threshold: it writes until there are not;
 *   - by reclaim that met dirty pages: so many pages, or all;
 *   - by sync(), which waits for it.
 *
 * An address space with dirty pages is on one of three lists. b_dirty has them by the time they became so.
 * A round of writing takes the old ones of it to b_io, writes a chunk of each, and leaves those that
 * have more on b_more_io for the next round. While an inode is written AS_SYNC is set: nobody else writes
 * it by its list, and who frees it waits.
 *
 * In Linux it is a work item of an unbound workqueue (3.10), or a thread named for the disk (2.6.32); a
 * task of its own for each disk stands for both.
 *
 * Left out: inodes that are dirty themselves, laptop mode, cgroups' own flushers (4.2).
 */
#include "core/writeback.h"

#include <limits.h>

#include "core/fs.h"

#define MIN_WRITEBACK_PAGES (4096UL >> (PAGE_SHIFT - 10))
#define TURN_NS 100000000UL /* after so long it looks whether there is something else to do */
#define CENTISEC_NS 10000000UL

static struct address_space *wb_entry(struct list_head *entry)
{
	return list_entry(entry, struct address_space, wb_list);
}

static bool wb_has_dirty_io(const struct bdi_writeback *wb)
{
	return !list_empty(&wb->b_dirty) || !list_empty(&wb->b_io) || !list_empty(&wb->b_more_io);
}

/* ---- asking -------------------------------------------------------------------------------------- */

static void wb_kick(struct bdi_writeback *wb)
{
	WRITE_ONCE(wb->kicked, true);
	if (wb->flusher)
		wake_up(&wb->wait);
}

static void wb_timer(struct world_timer *t)
{
	wb_kick(container_of(t, struct bdi_writeback, timer));
}

/* Unless it is running. list_lock held, so that it is armed once. */
static void wb_timer_arm(struct machine *m, struct bdi_writeback *wb)
{
	u64 interval = m->knob.dirty_writeback_centisecs * CENTISEC_NS;

	if (wb->timer.expires || !interval || !wb->flusher)
		return;
	wb->timer.fn = wb_timer;
	world_timer_arm(&wb->timer, world_now() + interval);
}

void wb_start_background(struct machine *m, struct bdi_writeback *wb)
{
	(void)m;
	if (READ_ONCE(wb->running))
		return;
	wb_kick(wb);
}

static void wakeup_flusher(struct bdi_writeback *wb, unsigned long nr)
{
	if (!wb_has_dirty_io(wb))
		return;
	if (nr)
		wb->nr_asked += (long)nr;
	else if (wb->start_all)
		return;
	else
		wb->start_all = true;
	wb_kick(wb);
}

void wakeup_flusher_threads(struct machine *m, unsigned long nr)
{
	world_order();
	for_each_sb(m, sb) wakeup_flusher(&sb->wb, nr);
}

/* ---- lists ----------------------------------------------------------------------------------------- */

void mark_inode_dirty_pages(struct machine *m, struct address_space *mapping)
{
	struct bdi_writeback *wb = mapping_wb(mapping);

	world_order();
	if (likely(!list_empty(&mapping->wb_list)))
		return;
	spin_lock_irq(&wb->list_lock);
	if (list_empty(&mapping->wb_list)) {
		if (!wb_has_dirty_io(wb))
			wb_timer_arm(m, wb);
		mapping->dirtied_when = world_now();
		list_add(&mapping->wb_list, &wb->b_dirty);
	}
	spin_unlock_irq(&wb->list_lock);
}

/* It has been looked at, and is not to be again before those that were dirty longer. list_lock held. */
static void redirty_tail(struct bdi_writeback *wb, struct address_space *mapping)
{
	list_del(&mapping->wb_list);
	if (!list_empty(&wb->b_dirty) &&
	    mapping->dirtied_when < wb_entry(wb->b_dirty.next)->dirtied_when)
		mapping->dirtied_when = world_now();
	list_add(&mapping->wb_list, &wb->b_dirty);
}

static void requeue_io(struct bdi_writeback *wb, struct address_space *mapping)
{
	list_del(&mapping->wb_list);
	list_add(&mapping->wb_list, &wb->b_more_io);
}

/* b_io gets what is left of the last round, and what has been dirty since before @older_than. list_lock. */
static void queue_io(struct bdi_writeback *wb, u64 older_than)
{
	while (!list_empty(&wb->b_more_io)) {
		struct address_space *mapping = wb_entry(wb->b_more_io.prev);

		list_del(&mapping->wb_list);
		list_add(&mapping->wb_list, &wb->b_io);
	}
	while (!list_empty(&wb->b_dirty)) {
		struct address_space *mapping = wb_entry(wb->b_dirty.prev);

		if (mapping->dirtied_when > older_than)
			break;
		list_del(&mapping->wb_list);
		list_add(&mapping->wb_list, &wb->b_io);
	}
}

/*
 * If @mapping is being written, until that has ended; it may be gone then. list_lock held, and held
 * again. May switch tasks.
 */
static void wait_inode_written(struct bdi_writeback *wb, const struct address_space *mapping)
{
	struct wait_queue_entry e;

	if (!(mapping->flags & AS_SYNC))
		return;
	prepare_to_wait(&wb->inode_wait, &e, mapping->number, false, WORLD_TASK_UNINTERRUPTIBLE);
	spin_unlock_irq(&wb->list_lock);
	schedule_timeout(WORLD_FOREVER);
	finish_wait(&e);
	spin_lock_irq(&wb->list_lock);
}

void inode_wb_del(struct address_space *mapping)
{
	struct bdi_writeback *wb;

	world_order();
	if (list_empty(&mapping->wb_list))
		return;
	wb = mapping_wb(mapping);
	spin_lock_irq(&wb->list_lock);
	while (mapping->flags & AS_SYNC)
		wait_inode_written(wb, mapping);
	list_del_init(&mapping->wb_list);
	spin_unlock_irq(&wb->list_lock);
}

/* ---- one inode's turn -------------------------------------------------------------------------------- */

/* How much of one file at a time: half a second's worth, in multiples of 4 MiB. */
static long chunk_size(const struct machine *m, const struct bdi_writeback *wb,
                       const struct wb_work *work)
{
	u64 pages;

	if (work->sync_all)
		return LONG_MAX;
	pages = min(wb->avg_write_bandwidth / 2, m->fs->domain.dirty_limit / 8);
	pages = min(pages, (u64)work->nr_pages);
	return (long)round_down(pages + MIN_WRITEBACK_PAGES, MIN_WRITEBACK_PAGES);
}

/* Where it goes from here. list_lock held. */
static void requeue_inode(struct machine *m, struct bdi_writeback *wb,
                          struct address_space *mapping, bool more)
{
	if (!mapping_tagged(m, mapping, PAGECACHE_TAG_DIRTY))
		list_del_init(&mapping->wb_list);
	else if (more)
		requeue_io(wb, mapping);
	else
		redirty_tail(wb, mapping);
}

/* list_lock held, and held again. Returns pages whose write was started. May switch tasks. */
static long writeback_single_inode(struct machine *m, struct bdi_writeback *wb,
                                   struct address_space *mapping, struct wb_work *work)
{
	long chunk = chunk_size(m, wb, work);
	struct writeback_control wbc = {
		.nr_to_write = chunk,
		.range_end = XA_INDEX_MAX,
		.range_cyclic = !work->sync_all,
		.sync_all = work->sync_all,
	};

	mapping->flags |= AS_SYNC;
	spin_unlock_irq(&wb->list_lock);
	write_cache_pages(m, mapping, &wbc);
	if (work->sync_all)
		filemap_fdatawait_keep_errors(m, mapping);
	spin_lock_irq(&wb->list_lock);
	mapping->flags &= ~(u32)AS_SYNC;
	/* More work of the same kind is no reason to come back to a file that was just synced. */
	if (work->sync_all)
		mapping->dirtied_when = world_now();
	requeue_inode(m, wb, mapping, wbc.nr_to_write <= 0);
	wake_up_key(&wb->inode_wait, mapping->number, ~0u);
	return chunk - wbc.nr_to_write;
}

/* A round over b_io, or until the turn is over. list_lock held, and held again. May switch tasks. */
static long writeback_inodes(struct machine *m, struct bdi_writeback *wb, struct wb_work *work)
{
	u64 start = world_now();
	long wrote = 0;

	while (!list_empty(&wb->b_io)) {
		struct address_space *mapping = wb_entry(wb->b_io.prev);
		long nr;

		if (mapping->flags & AS_SYNC) { /* a dirtier's turn: to 3.1 */
			if (work->sync_all)
				wait_inode_written(wb, mapping);
			else
				requeue_io(wb, mapping);
			continue;
		}
		nr = writeback_single_inode(m, wb, mapping, work);
		work->nr_pages -= nr;
		wrote += nr;
		if (wrote && (world_now() - start > TURN_NS || work->nr_pages <= 0))
			break;
	}
	return wrote;
}

/* ---- one piece of work ------------------------------------------------------------------------------- */

/* Something more urgent than what goes on by itself. */
static bool wb_has_work(const struct bdi_writeback *wb)
{
	return !list_empty(&wb->works) || READ_ONCE(wb->nr_asked) || READ_ONCE(wb->start_all);
}

/* May switch tasks. */
static void wb_writeback(struct machine *m, struct bdi_writeback *wb, struct wb_work *work)
{
	u64 start = world_now();

	spin_lock_irq(&wb->list_lock);
	while (work->nr_pages > 0) {
		long wrote;

		if ((work->for_background || work->for_kupdate) && wb_has_work(wb))
			break;
		if (work->for_background && !over_bground_thresh(m, wb))
			break;
		if (work->for_kupdate)
			work->older_than =
				world_now() -
				min(world_now(), m->knob.dirty_expire_centisecs * CENTISEC_NS);
		else if (!work->sync_all)
			work->older_than = world_now();
		if (list_empty(&wb->b_io))
			queue_io(wb, work->older_than);
		wrote = writeback_inodes(m, wb, work);
		wb_update_bandwidth(m, wb, start);
		if (!wrote && list_empty(&wb->b_more_io))
			break;
		/* All that is left is another's: let that one get on. */
		if (!wrote && list_empty(&wb->b_io))
			wait_inode_written(wb, wb_entry(wb->b_more_io.prev));
		spin_unlock_irq(&wb->list_lock);
		world_cond_resched();
		spin_lock_irq(&wb->list_lock);
	}
	spin_unlock_irq(&wb->list_lock);
}

static unsigned long nr_dirty_pages(struct machine *m)
{
	return global_page_state(m, NR_FILE_DIRTY);
}

/* What reclaim and sync() have asked for, first come, first served. */
static void do_asked_work(struct machine *m, struct bdi_writeback *wb)
{
	for (;;) {
		struct wb_work asked = {0};
		struct wb_work *work = NULL;

		spin_lock_irq(&wb->list_lock);
		if (wb->nr_asked || wb->start_all) {
			asked.nr_pages = wb->start_all ? (long)nr_dirty_pages(m) : wb->nr_asked;
			wb->nr_asked = 0;
			wb->start_all = false;
			work = &asked;
		} else if (!list_empty(&wb->works)) {
			work = list_entry(wb->works.next, struct wb_work, list);
			list_del(&work->list);
		}
		spin_unlock_irq(&wb->list_lock);
		if (!work)
			return;
		wb_writeback(m, wb, work);
		if (work->done)
			complete(work->done);
	}
}

/* Inodes that have been dirty for too long, every dirty_writeback_centisecs. */
static void check_old_data(struct machine *m, struct bdi_writeback *wb)
{
	u64 interval = m->knob.dirty_writeback_centisecs * CENTISEC_NS;
	struct wb_work work = {.for_kupdate = true};

	if (!interval || world_now() < wb->last_old_flush + interval)
		return;
	wb->last_old_flush = world_now();
	work.nr_pages = (long)nr_dirty_pages(m);
	wb_writeback(m, wb, &work);
}

static void check_background(struct machine *m, struct bdi_writeback *wb)
{
	struct wb_work work = {.nr_pages = LONG_MAX, .for_background = true};

	if (over_bground_thresh(m, wb))
		wb_writeback(m, wb, &work);
}

/* ---- the flusher ---------------------------------------------------------------------------------------- */

static void wb_sleep(struct bdi_writeback *wb)
{
	struct wait_queue_entry e;

	for (;;) {
		prepare_to_wait(&wb->wait, &e, 0, false, WORLD_TASK_INTERRUPTIBLE);
		if (READ_ONCE(wb->kicked))
			break;
		schedule_timeout(WORLD_FOREVER);
		finish_wait(&e);
	}
	finish_wait(&e);
}

static void wb_workfn(void *arg)
{
	struct bdi_writeback *wb = arg;
	struct machine *m = wb->machine;

	for (;;) {
		wb_sleep(wb);
		span_enter(SPAN_FLUSHER);
		WRITE_ONCE(wb->running, true);
		do {
			WRITE_ONCE(wb->kicked, false);
			do_asked_work(m, wb);
			check_old_data(m, wb);
			check_background(m, wb);
		} while (wb_has_work(wb));
		WRITE_ONCE(wb->running, false);
		spin_lock_irq(&wb->list_lock);
		if (wb_has_dirty_io(wb))
			wb_timer_arm(m, wb);
		spin_unlock_irq(&wb->list_lock);
		span_exit();
	}
}

static void wb_init(struct machine *m, struct super_block *sb)
{
	struct bdi_writeback *wb = &sb->wb;

	wb->machine = m;
	spin_lock_init(m->world, &wb->list_lock, LOCK_WB);
	INIT_LIST_HEAD(&wb->b_dirty);
	INIT_LIST_HEAD(&wb->b_io);
	INIT_LIST_HEAD(&wb->b_more_io);
	INIT_LIST_HEAD(&wb->works);
	init_waitqueue_head(&wb->wait);
	init_waitqueue_head(&wb->inode_wait);
	wb_rates_init(wb);
	if (!sb->has_disk)
		return;
	wb->flusher = arena_new(&m->arena, struct task);
	kthread_run(m, wb->flusher, "flusher", WORLD_TASK_KTHREAD, wb_workfn, wb, -1);
}

void writeback_init(struct machine *m)
{
	dirty_limits_init(m);
	for_each_sb(m, sb) wb_init(m, sb);
}

/* ---- others who write ------------------------------------------------------------------------------------ */

long writeback_inodes_wb(struct machine *m, struct bdi_writeback *wb, long nr)
{
	struct wb_work work = {.nr_pages = nr};
	long wrote;

	spin_lock_irq(&wb->list_lock);
	if (list_empty(&wb->b_io))
		queue_io(wb, world_now());
	wrote = writeback_inodes(m, wb, &work);
	spin_unlock_irq(&wb->list_lock);
	return wrote;
}

/* The flusher goes over all that was dirty when we came, and waits for each. May switch tasks. */
static void sync_inodes_sb(struct machine *m, struct bdi_writeback *wb)
{
	struct completion done;
	struct wb_work work = {
		.done = &done,
		.older_than = world_now(),
		.nr_pages = LONG_MAX,
		.sync_all = true,
	};

	if (!wb->flusher)
		return;
	init_completion(m, &done);
	spin_lock_irq(&wb->list_lock);
	list_add_tail(&work.list, &wb->works);
	spin_unlock_irq(&wb->list_lock);
	wb_kick(wb);
	wait_for_completion(&done);
}

/*
 * First what can be started without waiting, then one disk after another; at last what others had begun
 * to write before.
 */
void sync_inodes(struct machine *m)
{
	wakeup_flusher_threads(m, 0);
	for_each_sb(m, sb) sync_inodes_sb(m, &sb->wb);
	wait_inodes_written(m);
}

/* ---- audit -------------------------------------------------------------------------------------------------- */

static void audit_list(struct machine *m, struct list_head *list, bool sorted)
{
	struct address_space *mapping;
	u64 newer = ~0UL;

	list_for_each_entry (mapping, list, wb_list) {
		VM_BUG_ON_MSG(mapping_of(m, mapping->number) != mapping,
		              "a list of dirty inodes has one that is no inode");
		VM_BUG_ON_MSG(sorted && mapping->dirtied_when > newer,
		              "%s is behind one that has been dirty longer", mapping->host->name);
		newer = mapping->dirtied_when;
	}
}

static void audit_wb(struct machine *m, struct bdi_writeback *wb)
{
	audit_list(m, &wb->b_dirty, true);
	audit_list(m, &wb->b_io, false);
	audit_list(m, &wb->b_more_io, false);
	VM_BUG_ON_MSG(wb->nr_written + wb->nr_writeback > wb->nr_dirtied,
	              "%lu pages were written and %lu are being, but only %lu were dirtied",
	              wb->nr_written, wb->nr_writeback, wb->nr_dirtied);
	/* Dirty inodes are seen to: somebody is at it, is about to be, or there is a timer. */
	VM_BUG_ON_MSG(wb->flusher && wb_has_dirty_io(wb) && m->knob.dirty_writeback_centisecs &&
	                      !wb->timer.expires && !wb->running && !wb->kicked,
	              "inodes are dirty, and nothing will write them");
}

/* Between tasks. */
void wb_audit(struct machine *m)
{
	for_each_sb(m, sb)
	{
		audit_wb(m, &sb->wb);
		prop_audit(m, &sb->wb);
	}
}
