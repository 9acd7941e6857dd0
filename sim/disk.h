/*
 * What disk.c and elevator.c share.
 */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "sim/engine.h"

/* One request of the queue: one or more world_ios that are contiguous. */
struct sim_request {
	struct rb_node node;   /* in the elevator, by sector */
	struct list_head fifo; /* in the elevator by arrival; or in the list of free requests */
	struct list_head ios;  /* by sector */
	struct sim_disk *disk;
	u64 sector;
	u64 nr_sectors;
	u64 expires;
	u64 queued_at;
	u64 started_at; /* by the disk's own time */
	u64 done_at;
	u32 nr_pages;
	u16 cpu; /* that gets the interrupt: the submitter's */
	bool write;
	struct sim_event event;
};

/* Linux's deadline scheduler. Queues are indexed by direction: 0 reads, 1 writes. */
struct sim_elevator {
	struct rb_root_cached sorted[2];
	struct list_head fifo[2];
	u32 nr[2];
	u64 position;   /* where the batch goes on */
	u32 nr_batch;   /* requests of this batch so far */
	u32 nr_starved; /* times that writes have been passed over */
	bool direction;
};

void elevator_init(struct sim_elevator *e);
void elevator_add(struct sim_elevator *e, struct sim_request *r, u64 now);

/* Adds @io to a queued request that it continues or precedes, if there is one. */
bool elevator_merge(struct sim_elevator *e, struct world_io *io, u32 max_sectors);

/* The next request for the disk, taken out; NULL if there is none. */
struct sim_request *elevator_next(struct sim_elevator *e, u64 now);

#endif
