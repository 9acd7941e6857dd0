/*
 * Disks: requests, their limit, service times, completion.
 *
 * A request comes from a limited supply per direction; who finds none left sleeps. On a disk with
 * `barging`, as Linux's block layer of the mails' time, anybody may take a request that became free
 * before the sleeper has woken, and the sleeper may then take up to 32 beyond the limit (batching);
 * otherwise a free request is handed to who has waited longest. More than 7/8 of them in use is
 * congestion, until less than 13/16 are; a `multiqueue` disk (blk-mq) never says so.
 *
 * A disk has a time line of its own: when a request ends at time t and others are queued, the next
 * begins at t, although the interrupt that says so runs later. Completion interrupts go to the CPU
 * that submitted the request's first page.
 *
 * A rotating disk serves one request at a time: a seek that grows with the root of the distance, a
 * random part of a turn, and the transfer; one that continues where the head stands has neither seek
 * nor turn. Flash serves nr_channels at once, each after its latency, over one bus; up to `depth` it takes from
 * the elevator beforehand (NCQ, a virtio ring) and serves as they came: nothing merges with those any more. RAM
 * disks are done inside submit. Left out: write caches, queueing inside rotating disks.
 */
#include "sim/disk.h"

#include <errno.h>
#include <stdlib.h>

#define DISK_BATCH_REQUESTS 32        /* Linux: q->nr_batching */
#define DISK_BATCH_NS 20000000UL      /* Linux: BLK_BATCH_TIME, a fiftieth of a second */
#define DISK_DEFAULT_MAX_SECTORS 1024 /* Linux: BLK_DEF_MAX_SECTORS */

/* The requests of one direction. */
struct sim_supply {
	u32 nr_used;
	bool congested;
	bool full;                /* somebody has waited since it was last below the limit */
	struct list_head waiters; /* of struct sim_supply_waiter */
	u32 nr_waiters;
};

/* A task that sleeps until there is a request; on its stack. */
struct sim_supply_waiter {
	struct list_head list;
	struct world_task *task;
	bool granted; /* it owns one now */
	bool woken;
};

struct sim_disk {
	const struct hw_disk *hw;
	struct sim *sim;
	u32 id;
	u32 max_sectors;
	u32 congestion_on;
	u32 congestion_off;
	struct spinlock lock;
	struct sim_elevator elevator;
	struct sim_supply supply[2];
	struct list_head free; /* requests */
	struct sim_request *requests;
	u32 nr_in_service; /* that the disk has taken */
	u32 depth;
	u32 nr_channels;
	u64 *channel_free_at; /* [nr_channels] flash: when it has served what it has */
	u64 head;             /* rotating: the sector after the last one served */
	u64 bus_free_at;      /* flash */
	u64 nr_served;        /* the n of random numbers */
	u64 depth_since;      /* when nr_in_service or the queue last changed */
	struct sim_disk_stats stats;
};

/* ---- service times -------------------------------------------------------------------------- */

static u64 disk_transfer_ns(u64 bytes, u64 bytes_per_s)
{
	return bytes_per_s ? mul_div_u64(bytes, 1000000000, bytes_per_s) : 0;
}

static u64 disk_random(const struct sim_disk *d, u32 n)
{
	return rand_hash(d->sim->w.seed, SIM_STREAM_DISK, d->id, 4 * d->nr_served + n);
}

static u64 disk_seek_ns(const struct sim_disk *d, u64 from, u64 to)
{
	const struct hw_disk *hw = d->hw;
	u64 distance = from < to ? to - from : from - to;
	u64 total = max(hw->size_bytes / 512, 1UL);
	/* The root of the fraction, in 2^-16. */
	u64 root = int_sqrt(mul_div_u64(min(distance, total), 1UL << 32, total));

	return hw->seek_ns_min + ((hw->seek_ns_max - hw->seek_ns_min) * root >> 16);
}

/* How long the mechanics or cells take before data flows. */
static u64 disk_access_ns(struct sim_disk *d, const struct sim_request *r)
{
	const struct hw_disk *hw = d->hw;
	u64 ns;

	if (hw->kind == HW_DISK_FLASH) {
		ns = r->write ? hw->write_latency_ns : hw->read_latency_ns;
	} else if (r->sector == d->head) {
		return 0;
	} else {
		ns = disk_seek_ns(d, d->head, r->sector);
		if (hw->rotation_ns)
			ns += rand_reduce(disk_random(d, 0), hw->rotation_ns);
	}
	if (hw->variation_bp)
		ns = mul_div_u64(ns,
		                 10000 - min(hw->variation_bp, 10000u) +
		                         rand_reduce(disk_random(d, 1),
		                                     2 * (u64)min(hw->variation_bp, 10000u) + 1),
		                 10000);
	return ns;
}

/* The channel that is free first. */
static u64 *disk_channel(const struct sim_disk *d)
{
	u64 *first = d->channel_free_at;

	for (u32 i = 1; i < d->nr_channels; i++)
		if (d->channel_free_at[i] < *first)
			first = &d->channel_free_at[i];
	return first;
}

/* When @r, which the disk takes at @now, is done. */
static u64 disk_serve(struct sim_disk *d, struct sim_request *r, u64 now)
{
	u64 bytes = r->nr_sectors * 512;
	u64 rate = r->write ? d->hw->write_bytes_per_s : d->hw->read_bytes_per_s;
	u64 *channel = disk_channel(d);
	u64 at = max(now, *channel) + disk_access_ns(d, r);

	if (d->hw->kind == HW_DISK_FLASH) {
		at = max(at, d->bus_free_at) + disk_transfer_ns(bytes, rate);
		d->bus_free_at = at;
	} else {
		at += disk_transfer_ns(bytes, rate);
		d->head = r->sector + r->nr_sectors;
	}
	*channel = at;
	d->nr_served += 1;
	return at;
}

/* ---- service -------------------------------------------------------------------------------- */

/* Integrates the depth over time up to @now, before it changes. */
static void disk_account(struct sim_disk *d, u64 now)
{
	u64 ns = now > d->depth_since ? now - d->depth_since : 0;

	d->depth_since += ns;
	if (d->nr_in_service)
		d->stats.busy_ns += ns;
	d->stats.depth_ns += ns * (d->supply[0].nr_used + d->supply[1].nr_used);
}

/* Gives the disk what it has room for, at @now by its own time. The lock is held. */
static void disk_dispatch(struct sim_disk *d, u64 now)
{
	while (d->nr_in_service < d->depth) {
		struct sim_request *r = elevator_next(&d->elevator, now);

		if (!r)
			return;
		disk_account(d, now);
		d->nr_in_service += 1;
		r->started_at = max(now, r->queued_at);
		r->done_at = disk_serve(d, r, r->started_at);
		world_trace(EVENT_IO_SUBMIT, r->sector, r->write);
		/* It has stopped answering: the request is in service for ever. */
		if (unlikely(d->hw->hang_at_ns && r->done_at >= d->hw->hang_at_ns)) {
			d->stats.nr_unanswered += 1;
			continue;
		}
		sim_post(sim_cpu(d->sim, r->cpu), &r->event, max(r->done_at, world_now()));
	}
}

/* ---- the supply of requests ----------------------------------------------------------------- */

static bool disk_may_batch(const struct sim_task *t, u64 now)
{
	return t->nr_batch == DISK_BATCH_REQUESTS ||
	       (t->nr_batch && now < t->batch_since + DISK_BATCH_NS);
}

static void disk_begin_batch(struct sim_task *t)
{
	t->nr_batch = DISK_BATCH_REQUESTS;
	t->batch_since = world_now();
}

/* Linux's get_request(): the one who makes the queue full may batch, as those who have waited. */
static bool disk_may_take(struct sim_disk *d, struct sim_supply *s)
{
	struct sim_task *t = world_current()->engine;
	u32 limit = d->hw->nr_requests;

	if (!d->hw->barging)
		return s->nr_used < limit && !s->nr_waiters;
	if (s->nr_used + 1 >= limit) {
		if (!s->full) {
			disk_begin_batch(t);
			s->full = true;
		} else if (!disk_may_batch(t, world_now())) {
			return false;
		}
	}
	if (s->nr_used >= limit + limit / 2)
		return false;
	if (disk_may_batch(t, world_now()))
		t->nr_batch -= 1;
	return true;
}

/* A request of the supply, or NULL: wait. The lock is held. */
static struct sim_request *disk_get_request(struct sim_disk *d, bool write, bool granted)
{
	struct sim_supply *s = &d->supply[write];
	struct sim_request *r;

	if (!granted) {
		if (!disk_may_take(d, s))
			return NULL;
		disk_account(d, world_now());
		s->nr_used += 1;
		if (s->nr_used >= d->congestion_on && !s->congested && !d->hw->multiqueue) {
			s->congested = true;
			d->stats.nr_congested[write] += 1;
		}
		d->stats.nr_used_max[write] = max(d->stats.nr_used_max[write], s->nr_used);
	}
	VM_BUG_ON(list_empty(&d->free));
	r = list_first_entry(&d->free, struct sim_request, fifo);
	list_del(&r->fifo);
	INIT_LIST_HEAD(&r->ios);
	return r;
}

/* @r goes back. Returns true if the direction is no longer congested. The lock is held. */
static bool disk_put_request(struct sim_disk *d, struct sim_request *r)
{
	struct sim_supply *s = &d->supply[r->write];
	struct sim_supply_waiter *w;

	list_add(&r->fifo, &d->free);
	w = list_first_entry_or_null(&s->waiters, struct sim_supply_waiter, list);
	if (w && !d->hw->barging) {
		list_del(&w->list);
		s->nr_waiters -= 1;
		w->granted = w->woken = true;
		world_wake(w->task);
		return false;
	}
	disk_account(d, world_now());
	s->nr_used -= 1;
	if (s->nr_used < d->hw->nr_requests) { /* Linux's __freed_request() */
		s->full = false;
		if (w) {
			list_del(&w->list);
			s->nr_waiters -= 1;
			w->woken = true;
			world_wake(w->task);
		}
	}
	if (!s->congested || s->nr_used >= d->congestion_off)
		return false;
	s->congested = false;
	return true;
}

/* Sleeps until a request may be had. Called and left with the lock held. Returns: it has one. */
static bool disk_wait(struct sim_disk *d, bool write)
{
	struct sim_supply *s = &d->supply[write];
	struct world_task *t = world_current();
	struct sim_supply_waiter me = {.task = t};

	list_add_tail(&me.list, &s->waiters);
	s->nr_waiters += 1;
	d->stats.nr_slept[write] += 1;
	t->waits_for = d;
	while (!me.woken) {
		t->state = WORLD_TASK_UNINTERRUPTIBLE;
		spin_unlock_irq(&d->lock);
		sim_schedule(WORLD_FOREVER);
		spin_lock_irq(&d->lock);
	}
	t->waits_for = NULL;
	t->state = WORLD_TASK_RUNNING;
	disk_begin_batch(t->engine);
	return me.granted;
}

/* ---- submission ----------------------------------------------------------------------------- */

/* Is there a disk that has left requests unanswered? Then who waits for them waits for ever. */
bool sim_disk_has_hung(const struct sim *sim)
{
	for (u32 i = 0; i < sim->w.hw->nr_disks; i++)
		if (sim->disk[i].stats.nr_unanswered)
			return true;
	return false;
}

static void disk_io_done(struct sim *sim, struct world_io *io, int err)
{
	if (sim->tags)
		sim_tag_io_end(sim, io, err);
	io->done(io, err);
}

/* A RAM disk compresses or decompresses at once; so do all disks for the boot task, at no cost. */
static void disk_do_now(struct sim_disk *d, struct world_io *io)
{
	struct world_cpu *c = world_self;

	charge_n(io->write ? COST_COMPRESS : COST_DECOMPRESS, io->nr_pages);
	d->stats.nr_requests[io->write] += 1;
	d->stats.nr_pages[io->write] += io->nr_pages;
	d->stats.nr_ended += 1;
	c->irq_off += 1;
	c->in_irq += 1;
	disk_io_done(d->sim, io, 0);
	c->in_irq -= 1;
	world_irq_restore();
}

static void disk_check_io(const struct sim *sim, const struct world_io *io)
{
	const struct world_cpu *c = world_self;

	VM_BUG_ON_MSG(io->disk >= sim->w.hw->nr_disks, "disk %u does not exist", io->disk);
	VM_BUG_ON(!io->nr_pages || io->nr_pages > WORLD_IO_MAX_PAGES);
	VM_BUG_ON_MSG(!IS_ALIGNED(io->sector, 8), "sector %lu is not at a page", io->sector);
	VM_BUG_ON_MSG((io->sector + 8UL * io->nr_pages) * 512 >
	                      sim->w.hw->disk[io->disk].size_bytes,
	              "sector %lu is beyond the end of disk %u", io->sector, io->disk);
	VM_BUG_ON_MSG(!c->in_irq && (c->irq_off || c->nr_spin),
	              "world_io_submit() in an atomic section");
}

/* A request for @io alone joins the queue. The lock is held. */
static void disk_add(struct sim_disk *d, struct sim_request *r, struct world_io *io)
{
	r->write = io->write;
	r->sector = io->sector;
	r->nr_sectors = 8UL * io->nr_pages;
	r->nr_pages = io->nr_pages;
	r->cpu = d->hw->irq_cpu ? d->hw->irq_cpu - 1 : world_self->id;
	list_add_tail(&io->list, &r->ios);
	elevator_add(&d->elevator, r, world_now());
	disk_dispatch(d, world_now());
}

static int disk_queue_io(struct sim_disk *d, struct world_io *io)
{
	struct sim_request *r;
	bool granted = false;

	spin_lock_irq(&d->lock);
	for (;;) {
		if (!granted && elevator_merge(&d->elevator, io, d->max_sectors)) {
			d->stats.nr_merges[io->write] += 1;
			spin_unlock_irq(&d->lock);
			charge(COST_BIO_MERGE);
			charge_n(COST_BIO_PAGE, io->nr_pages - 1);
			return 0;
		}
		r = disk_get_request(d, io->write, granted);
		if (r)
			break;
		if (world_in_irq()) {
			spin_unlock_irq(&d->lock);
			return -EAGAIN;
		}
		granted = disk_wait(d, io->write);
	}
	d->stats.nr_requests[io->write] += 1;
	spin_unlock_irq(&d->lock);
	charge(COST_BIO);
	charge_n(COST_BIO_PAGE, io->nr_pages - 1);
	spin_lock_irq(&d->lock);
	disk_add(d, r, io);
	spin_unlock_irq(&d->lock);
	return 0;
}

int sim_io_submit(struct world_io *io)
{
	struct sim *sim = sim_of(world_self->w);
	struct sim_disk *d = &sim->disk[io->disk];
	int err;

	disk_check_io(sim, io);
	world_order();
	io->submitted_at = world_now();
	span_enter(SPAN_SUBMIT_IO);
	if (sim->tags)
		sim_tag_io_submit(sim, io);
	if (d->hw->kind == HW_DISK_RAM || !sim->running) {
		disk_do_now(d, io);
		err = 0;
	} else {
		d->stats.nr_pages[io->write] += io->nr_pages;
		err = disk_queue_io(d, io);
	}
	span_exit();
	return err;
}

/* ---- completion ----------------------------------------------------------------------------- */

static bool disk_fails(const struct sim_disk *d)
{
	u64 r;

	if (!d->hw->error_ppm)
		return false;
	r = rand_hash(d->sim->w.seed, SIM_STREAM_DISK_ERROR, d->id, d->stats.nr_ended);
	return rand_reduce(r, 1000000) < d->hw->error_ppm;
}

/* The interrupt: a request has been served. */
void sim_disk_event(struct sim_cpu *s, struct sim_event *e)
{
	struct sim_request *r = e->arg;
	struct sim_disk *d = r->disk;
	const struct world_upcalls *up = s->sim->w.up;
	bool write = r->write;
	struct world_io *io;
	struct world_io *next;
	struct list_head ios;
	bool uncongested;
	int err;

	span_enter(SPAN_IO_DONE);
	charge(COST_IRQ);
	spin_lock(&d->lock);
	err = disk_fails(d) ? -EIO : 0;
	d->stats.nr_ended += 1;
	d->stats.nr_errors += err != 0;
	hist_add(&d->stats.latency[write], r->done_at - r->queued_at);
	if (unlikely(s->sim->slices))
		slice_io(s->sim, d->id, write, r->sector, r->nr_sectors, r->queued_at,
		         max(s->cpu.clock, r->queued_at));
	world_trace(EVENT_IO_DONE, r->sector, (u64)-err);
	INIT_LIST_HEAD(&ios);
	list_splice_init(&r->ios, &ios);
	disk_account(d, r->done_at);
	d->nr_in_service -= 1;
	disk_dispatch(d, r->done_at);
	uncongested = disk_put_request(d, r);
	spin_unlock(&d->lock);
	list_for_each_entry_safe (io, next, &ios, list) {
		list_del(&io->list);
		charge(COST_BIO_END);
		charge_n(COST_BIO_END_PAGE, io->nr_pages - 1);
		disk_io_done(s->sim, io, err);
	}
	if (uncongested && up->uncongested)
		up->uncongested(s->sim->w.machine, d->id, write);
	span_exit();
}

bool sim_disk_congested(struct world *w, u32 disk, bool write)
{
	return sim_of(w)->disk[disk].supply[write].congested;
}

void sim_disk_discard(struct world *w, u32 disk, u64 sector, u64 nr_sectors)
{
	struct sim *sim = sim_of(w);

	sim->disk[disk].stats.nr_discarded_sectors += nr_sectors;
	if (sim->tags)
		sim_tag_disk_discard(sim, disk, sector, nr_sectors);
}

const struct sim_disk_stats *sim_disk_stats(const struct world *w, u32 disk)
{
	return &sim_of(w)->disk[disk].stats;
}

/* ---- creation ------------------------------------------------------------------------------- */

static int disk_create(struct sim *sim, struct sim_disk *d, u32 id)
{
	const struct hw_disk *hw = &sim->w.hw->disk[id];
	u32 nr = 2 * (hw->nr_requests + hw->nr_requests / 2);

	d->hw = hw;
	d->sim = sim;
	d->id = id;
	d->max_sectors = hw->max_sectors ? hw->max_sectors : DISK_DEFAULT_MAX_SECTORS;
	d->nr_channels = hw->kind == HW_DISK_FLASH ? max(hw->nr_channels, 1u) : 1;
	d->depth = hw->kind == HW_DISK_FLASH ? max(hw->depth, d->nr_channels) : 1;
	/* Linux's blk_queue_congestion_threshold(). */
	d->congestion_on = hw->nr_requests - hw->nr_requests / 8 + 1;
	d->congestion_off =
		max((int)(hw->nr_requests - hw->nr_requests / 8 - hw->nr_requests / 16) - 1, 1);
	spin_lock_init(&sim->w, &d->lock, LOCK_QUEUE);
	elevator_init(&d->elevator);
	INIT_LIST_HEAD(&d->free);
	INIT_LIST_HEAD(&d->supply[0].waiters);
	INIT_LIST_HEAD(&d->supply[1].waiters);
	if (hw->kind == HW_DISK_RAM)
		return 0;
	d->requests = calloc(nr, sizeof(*d->requests));
	d->channel_free_at = calloc(d->nr_channels, sizeof(*d->channel_free_at));
	if (!d->requests || !d->channel_free_at)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		struct sim_request *r = &d->requests[i];

		r->disk = d;
		r->event.kind = SIM_EVENT_DISK;
		r->event.arg = r;
		list_add_tail(&r->fifo, &d->free);
	}
	return 0;
}

int sim_disks_create(struct sim *sim)
{
	u32 nr = sim->w.hw->nr_disks;

	if (!nr)
		return 0;
	sim->disk = calloc(nr, sizeof(*sim->disk));
	if (!sim->disk)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		int err = disk_create(sim, &sim->disk[i], i);

		if (err)
			return err;
	}
	return 0;
}

void sim_disks_destroy(struct sim *sim)
{
	for (u32 i = 0; sim->disk && i < sim->w.hw->nr_disks; i++) {
		free(sim->disk[i].requests);
		free(sim->disk[i].channel_free_at);
	}
	free(sim->disk);
	sim->disk = NULL;
}
