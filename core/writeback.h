/*
 * Writeback: the flusher of a disk, its lists of inodes with dirty pages, the disk's speed as it has been
 * measured, and how fast those who dirty pages may go on.
 *
 * Letters: (c) constant after boot   (w) wb->list_lock, irq-safe   (a) atomic
 *   (f) only the flusher, or who updates the bandwidth, under list_lock
 */
#ifndef CORE_WRITEBACK_H
#define CORE_WRITEBACK_H

#include "core/internal.h"

struct address_space;

/* What somebody wants of a flusher. On the stack of who waits for it. */
struct wb_work {
	struct list_head list; /* (w) in wb->works */
	struct completion *done;
	u64 older_than; /* ns; only inodes that have been dirty since before */
	long nr_pages;
	bool sync_all; /* WB_SYNC_ALL */
	bool for_kupdate;
	bool for_background;
};

/* Writes that have ended lately, of all disks and of one: see proportions.c. (a) */
struct prop_global {
	u64 events;
	u64 period; /* by time: how many there have been */
	u64 ends; /* by time: ticks; when the present one does. 0: no event is left that could fade */
	u32 shift; /* (c) by events: log2 of how many are a period */
};

struct prop_local {
	u64 events;
	u64 period; /* which it has been aged to */
};

/* Linux's global_wb_domain: what concerns the dirty pages of all disks. */
struct wb_domain {
	struct spinlock lock;
	struct prop_global completions;
	u64 dirty_limit;         /* (lock) global_dirty_limit: follows the threshold down slowly */
	u64 limit_stamp;         /* (lock) ticks */
	unsigned long ratelimit; /* (c) ratelimit_pages: per CPU */
};

/* Linux's struct bdi_writeback, and what of struct backing_dev_info concerns writing. */
struct bdi_writeback {
	struct machine *machine;
	struct task *flusher; /* (c) NULL: the machine has no disk for files */
	struct spinlock list_lock;

	/* Address spaces with dirty pages. */
	struct list_head b_dirty;          /* (w) since when, the newest first */
	struct list_head b_io;             /* (w) to be written now, the oldest last */
	struct list_head b_more_io;        /* (w) had their turn, and have more */
	struct wait_queue_head inode_wait; /* key: number of an address space that was written */

	/* Asking the flusher. */
	struct wait_queue_head wait;
	struct world_timer timer;
	struct list_head works; /* (w) */
	long nr_asked;          /* (a) pages that reclaim wants written */
	bool start_all;         /* (a) reclaim wants all of them written */
	bool kicked;            /* (a) there is something to look at */
	bool running;           /* (a) the flusher is writing */
	u64 last_old_flush;     /* (f) ns */

	/* Pages, of this disk; Linux keeps them with per-CPU differences. (a) */
	u64 nr_reclaimable; /* dirty */
	u64 nr_writeback;
	u64 nr_dirtied;
	u64 nr_written;

	/* Rates, pages a second, as of bw_stamp. (f) */
	u64 bw_stamp; /* ticks */
	u64 dirtied_stamp;
	u64 written_stamp;
	u64 write_bandwidth;
	u64 avg_write_bandwidth;
	u64 dirty_ratelimit;
	u64 balanced_dirty_ratelimit;

	bool dirty_exceeded; /* (a) somebody found it above its limit */
	struct prop_local completions;
};

/* ---- proportions.c: each disk's part in what is written ------------------------------------------------ */

void prop_init(struct machine *m, u64 thresh);
void prop_events(struct machine *m, struct bdi_writeback *wb, u64 nr);
void prop_audit(const struct machine *m, const struct bdi_writeback *wb);
u64 prop_share(struct machine *m, struct bdi_writeback *wb, u64 pages);

/* The write of @delta pages begins, or has ended (@delta negative). Interrupts off. */
static inline void wb_count_writeback(struct machine *m, struct bdi_writeback *wb, long delta)
{
	wb->nr_writeback += (u64)delta;
	if (delta > 0)
		return;
	wb->nr_written += (u64)-delta;
	prop_events(m, wb, (u64)-delta);
}

/* ---- dirty_limits.c: thresholds, rates and pauses (mm/page-writeback.c) ------------------------------ */

void global_dirty_limits(struct machine *m, unsigned long *background, unsigned long *thresh);
/* From outside, for /proc/vmstat: nr_dirty_threshold or nr_dirty_background_threshold. */
unsigned long dirty_limit_peek(const struct machine *m, bool of_background);
bool node_dirty_ok(struct machine *m, struct zone *z);
bool over_bground_thresh(struct machine *m, struct bdi_writeback *wb);
void dirty_limits_init(struct machine *m);
void wb_rates_init(struct bdi_writeback *wb);
/* The flusher's part in measuring. @start: ns, when it began. */
void wb_update_bandwidth(struct machine *m, struct bdi_writeback *wb, u64 start);
/* A task that ends leaves what it dirtied since its last pause to be paid for by others. */
void dirty_throttle_exit(struct machine *m, struct task *t);
/* The dirtiers' polynomial, in parts of 1024. */
u64 pos_ratio_polynom(u64 setpoint, u64 dirty, u64 limit);
u64 wb_position_ratio(const struct bdi_writeback *wb, u64 limit, u64 thresh, u64 background,
                      u64 dirty, u64 wb_thresh, u64 wb_dirty);

/* ---- fs-writeback.c: flushers ------------------------------------------------------------------------------ */

void writeback_init(struct machine *m); /* boot; fs_init() has been called */
/* The first dirty page of @mapping since it was clean. Any context. */
void mark_inode_dirty_pages(struct machine *m, struct address_space *mapping);
/* It goes away: no flusher is at it any more, or will be. May switch tasks. */
void inode_wb_del(struct address_space *mapping);
void wb_start_background(struct machine *m, struct bdi_writeback *wb);
/* @nr pages of any file; 0: all that are dirty. Never switches tasks. */
void wakeup_flusher_threads(struct machine *m, unsigned long nr);
/* To 3.1: a dirtier's own turn at writing. Returns how many pages it has. May switch tasks. */
long writeback_inodes_wb(struct machine *m, struct bdi_writeback *wb, long nr);
/* All that is dirty now is written when this returns. May switch tasks. */
void sync_inodes(struct machine *m);
void wb_audit(struct machine *m);

#endif
