/*
 * Who touched what when: how many pages of each region of each address space user code accessed in
 * each part of the run. For a picture; only if it is asked for.
 *
 * Neither addresses nor the length of the run are known beforehand. Regions begin small and columns
 * short; when there are more than fit, two regions, or two columns, become one. An address space is known
 * by its top-level table, so one that is made after another has gone may continue its rows.
 */
#include "sim/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAT_ROWS 4096
#define HEAT_HASH (2 * HEAT_ROWS)
#define HEAT_COLUMNS 128
#define HEAT_SPACES 1024
#define HEAT_FIRST_SHIFT 4 /* 64 KB */
#define HEAT_FIRST_NS 10000

struct heat_row {
	u32 root;
	u64 region; /* page >> shift */
};

struct sim_heat {
	u32 shift;
	u64 column_ns;
	u32 nr_columns; /* in use */
	u32 nr_rows;
	u32 last;            /* the row that was used last */
	u16 hash[HEAT_HASH]; /* row + 1; 0: free */
	struct heat_row row[HEAT_ROWS];
	u32 cell[HEAT_ROWS][HEAT_COLUMNS];
	u32 nr_spaces;
	struct heat_space {
		u32 root;
		char name[24]; /* of the first task that was seen in it */
	} space[HEAT_SPACES];
};

int sim_heat_create(struct sim *sim)
{
	struct sim_heat *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->shift = HEAT_FIRST_SHIFT;
	h->column_ns = HEAT_FIRST_NS;
	sim->heat = h;
	return 0;
}

void sim_heat_destroy(struct sim *sim)
{
	free(sim->heat);
	sim->heat = NULL;
}

/* The place of a row in the hash, or the free one where it belongs. */
static u16 *heat_find(struct sim_heat *h, u32 root, u64 region)
{
	u64 i = (region * 0x9e3779b97f4a7c15UL ^ root * 0xc2b2ae3d27d4eb4fUL) >> 40;

	for (;; i++) {
		u16 *slot = &h->hash[i % HEAT_HASH];
		const struct heat_row *r;

		if (!*slot)
			return slot;
		r = &h->row[*slot - 1];
		if (r->root == root && r->region == region)
			return slot;
	}
}

/* Twice as large regions. A row's new place is never behind its old one. */
static void heat_merge_rows(struct sim_heat *h)
{
	u32 nr = h->nr_rows;

	h->shift += 1;
	h->nr_rows = 0;
	h->last = 0;
	memset(h->hash, 0, sizeof(h->hash));
	for (u32 i = 0; i < nr; i++) {
		struct heat_row r = {h->row[i].root, h->row[i].region >> 1};
		u16 *slot = heat_find(h, r.root, r.region);

		if (*slot) {
			for (u32 c = 0; c < HEAT_COLUMNS; c++)
				h->cell[*slot - 1][c] += h->cell[i][c];
			continue;
		}
		h->row[h->nr_rows] = r;
		if (h->nr_rows != i)
			memcpy(h->cell[h->nr_rows], h->cell[i], sizeof(h->cell[i]));
		*slot = (u16)++h->nr_rows;
	}
	memset(h->cell[h->nr_rows], 0, (nr - h->nr_rows) * sizeof(h->cell[0]));
}

static void heat_merge_columns(struct sim_heat *h)
{
	h->column_ns *= 2;
	for (u32 i = 0; i < h->nr_rows; i++) {
		u32 *c = h->cell[i];

		for (u32 k = 0; k < HEAT_COLUMNS / 2; k++)
			c[k] = c[2 * k] + c[2 * k + 1];
		memset(c + HEAT_COLUMNS / 2, 0, HEAT_COLUMNS / 2 * sizeof(*c));
	}
	h->nr_columns = HEAT_COLUMNS / 2;
}

static void heat_name(struct sim_heat *h, u32 root, const struct world_task *t)
{
	for (u32 i = 0; i < h->nr_spaces; i++)
		if (h->space[i].root == root)
			return;
	if (h->nr_spaces == HEAT_SPACES)
		return;
	h->space[h->nr_spaces].root = root;
	snprintf(h->space[h->nr_spaces++].name, sizeof(h->space[0].name), "%.12s %u", t->name,
	         t->id);
}

static u32 heat_row(struct sim_heat *h, u32 root, u64 page, const struct world_task *t)
{
	const struct heat_row *last = &h->row[h->last];
	u16 *slot;

	if (likely(h->nr_rows && last->root == root && last->region == page >> h->shift))
		return h->last;
	slot = heat_find(h, root, page >> h->shift);
	if (!*slot) {
		while (h->nr_rows == HEAT_ROWS) {
			heat_merge_rows(h);
			slot = heat_find(h, root, page >> h->shift);
		}
		if (!*slot) {
			heat_name(h, root, t);
			h->row[h->nr_rows] = (struct heat_row){root, page >> h->shift};
			*slot = (u16)++h->nr_rows;
		}
	}
	return h->last = *slot - 1u;
}

void sim_heat(struct sim *sim, const struct world_as *as, u64 page, u64 nr)
{
	struct sim_heat *h = sim->heat;
	const struct world_cpu *c = world_self;
	u64 column;

	while ((column = c->clock / h->column_ns) >= HEAT_COLUMNS)
		heat_merge_columns(h);
	h->nr_columns = max_t(u32, h->nr_columns, (u32)column + 1);
	while (nr) {
		u32 row = heat_row(h, as->root, page, c->task);
		u64 here = min(nr, (((page >> h->shift) + 1) << h->shift) - page);

		h->cell[row][column] += (u32)here;
		page += here;
		nr -= here;
	}
}

u32 sim_heat_rows(const struct world *w, u64 *column_ns, u32 *nr_columns)
{
	const struct sim_heat *h = sim_of(w)->heat;

	*column_ns = h ? h->column_ns : 0;
	*nr_columns = h ? h->nr_columns : 0;
	return h ? h->nr_rows : 0;
}

void sim_heat_row(const struct world *w, u32 i, struct sim_heat_row *r)
{
	const struct sim_heat *h = sim_of(w)->heat;

	*r = (struct sim_heat_row){.name = "?",
	                           .page = h->row[i].region << h->shift,
	                           .nr_pages = 1UL << h->shift,
	                           .touched = h->cell[i]};
	for (u32 k = 0; k < h->nr_spaces; k++) {
		if (h->space[k].root != h->row[i].root)
			continue;
		r->name = h->space[k].name;
		r->space = k;
	}
}
