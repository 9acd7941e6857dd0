/*
 * The order in which a disk serves its requests: Linux's deadline scheduler
 * (block/deadline-iosched.c). Requests are served in batches of one direction, by rising sector. A
 * batch begins with the oldest request if that has expired, else where the last one ended. Reads go
 * first, but writes are not passed over more than twice.
 */
#include "sim/disk.h"

/* Linux's defaults. */
#define ELEVATOR_READ_EXPIRE_NS 500000000UL
#define ELEVATOR_WRITE_EXPIRE_NS 5000000000UL
#define ELEVATOR_WRITES_STARVED 2
#define ELEVATOR_FIFO_BATCH 16

void elevator_init(struct sim_elevator *e)
{
	*e = (struct sim_elevator){.nr_batch = ELEVATOR_FIFO_BATCH};
	INIT_LIST_HEAD(&e->fifo[0]);
	INIT_LIST_HEAD(&e->fifo[1]);
}

static struct sim_request *elevator_entry(struct rb_node *n)
{
	return rb_entry_safe(n, struct sim_request, node);
}

static bool elevator_before(const struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct sim_request, node)->sector <
	       rb_entry(b, struct sim_request, node)->sector;
}

void elevator_add(struct sim_elevator *e, struct sim_request *r, u64 now)
{
	r->queued_at = now;
	r->expires = now + (r->write ? ELEVATOR_WRITE_EXPIRE_NS : ELEVATOR_READ_EXPIRE_NS);
	rb_add_cached(&r->node, &e->sorted[r->write], elevator_before);
	list_add_tail(&r->fifo, &e->fifo[r->write]);
	e->nr[r->write] += 1;
}

static void elevator_remove(struct sim_elevator *e, struct sim_request *r)
{
	rb_erase_cached(&r->node, &e->sorted[r->write]);
	list_del(&r->fifo);
	e->nr[r->write] -= 1;
}

/* The first request at or after @sector, or NULL. */
static struct sim_request *elevator_at(const struct sim_elevator *e, bool write, u64 sector)
{
	struct rb_node *n = e->sorted[write].root.node;
	struct sim_request *found = NULL;

	while (n) {
		struct sim_request *r = elevator_entry(n);

		if (r->sector >= sector) {
			found = r;
			n = n->left;
		} else {
			n = n->right;
		}
	}
	return found;
}

bool elevator_merge(struct sim_elevator *e, struct world_io *io, u32 max_sectors)
{
	u64 nr = (u64)io->nr_pages * 8;
	struct sim_request *after = elevator_at(e, io->write, io->sector);
	struct sim_request *before = after ? elevator_entry(rb_prev(&after->node))
	                                   : elevator_entry(rb_last(&e->sorted[io->write].root));

	if (before && before->sector + before->nr_sectors == io->sector &&
	    before->nr_sectors + nr <= max_sectors) {
		list_add_tail(&io->list, &before->ios);
		before->nr_sectors += nr;
		before->nr_pages += io->nr_pages;
		return true;
	}
	if (after && io->sector + nr == after->sector && after->nr_sectors + nr <= max_sectors) {
		/* Its place among the others stays the same: nothing lies between. */
		list_add(&io->list, &after->ios);
		after->sector = io->sector;
		after->nr_sectors += nr;
		after->nr_pages += io->nr_pages;
		return true;
	}
	return false;
}

/* Which direction has the next batch? */
static bool elevator_choose(struct sim_elevator *e)
{
	if (!e->nr[1])
		return false;
	if (!e->nr[0] || e->nr_starved++ >= ELEVATOR_WRITES_STARVED) {
		e->nr_starved = 0;
		return true;
	}
	return false;
}

struct sim_request *elevator_next(struct sim_elevator *e, u64 now)
{
	struct sim_request *r = NULL;

	if (!e->nr[0] && !e->nr[1])
		return NULL;
	if (e->nr_batch < ELEVATOR_FIFO_BATCH)
		r = elevator_at(e, e->direction, e->position);
	if (!r) {
		struct sim_request *oldest;

		e->direction = elevator_choose(e);
		oldest = list_first_entry(&e->fifo[e->direction], struct sim_request, fifo);
		e->nr_batch = 0;
		r = elevator_at(e, e->direction, e->position);
		if (!r || oldest->expires <= now)
			r = oldest;
	}
	e->nr_batch += 1;
	e->position = r->sector + r->nr_sectors;
	elevator_remove(e, r);
	return r;
}
