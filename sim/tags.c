/*
 * Contents: what a page holds, without the 4,096 bytes.
 *
 * Each user write gets a number of its own, and the number is the frame's tag. Clearing, copying,
 * swapping out and in carry tags as they would carry bytes. Beside it stands what the program
 * expects: per address space and page, the tag it wrote last. A read compares the two, so that a
 * page that is lost, stale, swapped for another or not cleared is found at the first look.
 *
 * A page can be announced as "may read as zeros" (MADV_FREE): then both are allowed, until it is
 * seen as zeros or written. Writing one word gives a new tag as writing the page does, but a word
 * must not be written to a frame that holds garbage.
 *
 * Files have expectations of their own, by page. A shared mapping of one has none: what is stored
 * through it is the file's. A private mapping shows the file until its first store.
 */
#include "sim/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define TAG_GARBAGE 0UL /* a frame or block that nobody has written */
#define TAG_ZERO 1UL
#define TAG_STALE 2UL /* what a file's block had before: its first write was lost */
#define TAG_FIRST_WRITE 3UL

/*
 * What a program expects of a page: a tag (TAG_GARBAGE: never touched, reads as zeros, or, in a private
 * mapping, as the file) and flags. "Zero" in the first is what an untouched page reads as.
 */
#define EXPECT_MAYBE_ZERO (1UL << 63)
#define EXPECT_ANYTHING (1UL << 62) /* of a file: a write was lost */
#define EXPECT_FLAGS (EXPECT_MAYBE_ZERO | EXPECT_ANYTHING)

/* The expectations for 512 pages. */
struct tag_chunk {
	u64 index; /* page / PTRS_PER_TABLE */
	struct tag_chunk *next;
	u64 expect[PTRS_PER_TABLE];
};

#define TAG_BUCKETS 1024

/* A mapping of a file. */
struct tag_range {
	u64 start; /* pages */
	u64 end;
	u64 file;
	u64 index; /* of the file, at start */
	bool shared;
	struct tag_range *next;
};

/* What is expected of an address space, or of a file. */
struct tag_space {
	struct world_as *as; /* NULL: a file's */
	u64 file;
	struct tag_space *next;
	struct tag_range *ranges; /* the one used last first */
	struct tag_chunk *bucket[TAG_BUCKETS];
};

/* What a write that is under way takes to the disk. */
struct tag_write {
	struct list_head list;
	u64 tag[];
};

struct sim_tags {
	u64 *frame; /* [nr_frames] */
	u64 nr_frames;
	u64 *block[HW_MAX_DISKS]; /* per 8 sectors */
	u64 nr_blocks[HW_MAX_DISKS];
	u64 nr_writes;
	struct tag_space *spaces; /* the one used last first */
	struct list_head writes;  /* under way; a run may end before they do */
};

/* ---- memory --------------------------------------------------------------------------------- */

/* Words that cost nothing until they are touched. */
static u64 *tag_map(u64 nr)
{
	void *p = mmap(NULL, max(nr, 1UL) * sizeof(u64), PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int sim_tags_create(struct sim *sim)
{
	const struct hw_machine *hw = sim->w.hw;
	struct sim_tags *t = calloc(1, sizeof(*t));

	sim->tags = t;
	if (!t)
		return -ENOMEM;
	INIT_LIST_HEAD(&t->writes);
	for (u32 i = 0; i < hw->nr_ranges; i++)
		t->nr_frames = max(t->nr_frames, hw->range[i].start_pfn + hw->range[i].nr_pages);
	t->frame = tag_map(t->nr_frames);
	if (!t->frame)
		return -ENOMEM;
	for (u32 i = 0; i < hw->nr_disks; i++) {
		t->nr_blocks[i] = hw->disk[i].size_bytes / PAGE_SIZE;
		t->block[i] = tag_map(t->nr_blocks[i]);
		if (!t->block[i])
			return -ENOMEM;
	}
	t->nr_writes = TAG_FIRST_WRITE - 1;
	return 0;
}

static void tag_space_free(struct tag_space *space)
{
	for (u32 i = 0; i < TAG_BUCKETS; i++) {
		while (space->bucket[i]) {
			struct tag_chunk *chunk = space->bucket[i];

			space->bucket[i] = chunk->next;
			free(chunk);
		}
	}
	while (space->ranges) {
		struct tag_range *r = space->ranges;

		space->ranges = r->next;
		free(r);
	}
	free(space);
}

void sim_tags_destroy(struct sim *sim)
{
	struct sim_tags *t = sim->tags;
	struct tag_write *w;
	struct tag_write *next;

	if (!t)
		return;
	list_for_each_entry_safe (w, next, &t->writes, list)
		free(w);
	while (t->spaces) {
		struct tag_space *space = t->spaces;

		t->spaces = space->next;
		tag_space_free(space);
	}
	if (t->frame)
		munmap(t->frame, max(t->nr_frames, 1UL) * sizeof(u64));
	for (u32 i = 0; i < HW_MAX_DISKS; i++)
		if (t->block[i])
			munmap(t->block[i], max(t->nr_blocks[i], 1UL) * sizeof(u64));
	free(t);
	sim->tags = NULL;
}

/* ---- frames --------------------------------------------------------------------------------- */

static u64 *tag_frame(struct sim_tags *t, u64 pfn)
{
	if (pfn >= t->nr_frames)
		panic("frame 0x%lx does not exist", pfn);
	return &t->frame[pfn];
}

static struct sim_tags *tags_self(void)
{
	return sim_of(world_self->w)->tags;
}

void sim_frame_clear(u64 pfn)
{
	*tag_frame(tags_self(), pfn) = TAG_ZERO;
}

void sim_frame_copy(u64 to, u64 from)
{
	u64 tag = *tag_frame(tags_self(), from);

	if (tag == TAG_GARBAGE)
		panic("frame 0x%lx is copied from 0x%lx, which holds garbage", to, from);
	*tag_frame(tags_self(), to) = tag;
}

void sim_frame_free(u64 pfn)
{
	*tag_frame(tags_self(), pfn) = TAG_GARBAGE;
}

/* ---- expectations --------------------------------------------------------------------------- */

/* Moved to the front of the list; NULL: no page of @as (or, if that is NULL, of @file) has been
 * touched. */
static struct tag_space *tag_find(struct sim_tags *t, struct world_as *as, u64 file)
{
	struct tag_space **link = &t->spaces;
	struct tag_space *space;

	while (*link && ((*link)->as != as || (*link)->file != file))
		link = &(*link)->next;
	space = *link;
	if (!space)
		return NULL;
	*link = space->next;
	space->next = t->spaces;
	t->spaces = space;
	return space;
}

static struct tag_space *tag_find_space(struct sim_tags *t, struct world_as *as)
{
	return tag_find(t, as, 0);
}

static struct tag_space *tag_get(struct sim_tags *t, struct world_as *as, u64 file)
{
	struct tag_space *space = tag_find(t, as, file);

	if (space)
		return space;
	space = calloc(1, sizeof(*space));
	if (!space)
		panic("the host has no memory for --check");
	space->as = as;
	space->file = file;
	space->next = t->spaces;
	t->spaces = space;
	return space;
}

static struct tag_space *tag_get_space(struct sim_tags *t, struct world_as *as)
{
	return tag_get(t, as, 0);
}

static void tag_forget(struct sim_tags *t, struct world_as *as, u64 file)
{
	struct tag_space *space = tag_find(t, as, file);

	if (!space)
		return;
	t->spaces = space->next;
	tag_space_free(space);
}

static struct tag_chunk *tag_find_chunk(struct tag_space *space, u64 index)
{
	struct tag_chunk *chunk = space->bucket[index % TAG_BUCKETS];

	while (chunk && chunk->index != index)
		chunk = chunk->next;
	return chunk;
}

static struct tag_chunk *tag_add_chunk(struct tag_space *space, u64 index)
{
	struct tag_chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk)
		panic("the host has no memory for --check");
	chunk->index = index;
	chunk->next = space->bucket[index % TAG_BUCKETS];
	space->bucket[index % TAG_BUCKETS] = chunk;
	return chunk;
}

static u64 *tag_expect(struct tag_space *space, u64 page)
{
	u64 index = page / PTRS_PER_TABLE;
	struct tag_chunk *chunk = tag_find_chunk(space, index);

	if (!chunk)
		chunk = tag_add_chunk(space, index);
	return &chunk->expect[page % PTRS_PER_TABLE];
}

/* The mapping that page @page of @space is in; NULL: anonymous memory. */
static struct tag_range *tag_range(struct tag_space *space, u64 page)
{
	struct tag_range **link = &space->ranges;
	struct tag_range *r;

	while (*link && (page < (*link)->start || page >= (*link)->end))
		link = &(*link)->next;
	r = *link;
	if (!r)
		return NULL;
	*link = r->next;
	r->next = space->ranges;
	space->ranges = r;
	return r;
}

static void tag_add_range(struct tag_space *space, const struct tag_range *range)
{
	struct tag_range *r = malloc(sizeof(*r));

	if (!r)
		panic("the host has no memory for --check");
	*r = *range;
	r->next = space->ranges;
	space->ranges = r;
}

/* Takes [@start, @end) out of all ranges. */
static void tag_cut_ranges(struct tag_space *space, u64 start, u64 end)
{
	struct tag_range **link = &space->ranges;

	while (*link) {
		struct tag_range *r = *link;

		if (r->end <= start || r->start >= end) {
			link = &r->next;
			continue;
		}
		if (r->start < start && r->end > end) { /* a hole in the middle */
			struct tag_range tail = *r;

			tail.index += end - r->start;
			tail.start = end;
			r->end = start;
			tag_add_range(space, &tail);
			return;
		}
		if (r->start < start) {
			r->end = start;
		} else if (r->end > end) {
			r->index += end - r->start;
			r->start = end;
		} else {
			*link = r->next;
			free(r);
			continue;
		}
		link = &r->next;
	}
}

void sim_contents_map(struct world_as *as, u64 start, u64 end, u64 file, u64 index, bool shared)
{
	struct tag_space *space = tag_get_space(tags_self(), as);
	struct tag_range r = {.start = start >> PAGE_SHIFT,
	                      .end = end >> PAGE_SHIFT,
	                      .file = file,
	                      .index = index,
	                      .shared = shared};

	tag_cut_ranges(space, r.start, r.end);
	/* Whatever was here before has been unmapped. */
	for (u64 page = r.start; page < r.end; page++) {
		struct tag_chunk *chunk = tag_find_chunk(space, page / PTRS_PER_TABLE);

		if (chunk)
			chunk->expect[page % PTRS_PER_TABLE] = TAG_GARBAGE;
		else
			page |= PTRS_PER_TABLE - 1;
	}
	if (file)
		tag_add_range(space, &r);
}

void sim_contents_copied(struct world_as *as, u64 va, u64 pfn)
{
	struct sim_tags *t = tags_self();

	*tag_expect(tag_get_space(t, as), va >> PAGE_SHIFT) = *tag_frame(t, pfn);
}

/* What was written to each page moves along; the mapping of a file has been announced before. */
void sim_contents_move(struct world_as *as, u64 from, u64 to, u64 len)
{
	struct tag_space *space = tag_get_space(tags_self(), as);

	for (u64 i = 0; i < len >> PAGE_SHIFT; i++) {
		u64 page = (from >> PAGE_SHIFT) + i;
		struct tag_chunk *chunk = tag_find_chunk(space, page / PTRS_PER_TABLE);
		u64 expect = chunk ? chunk->expect[page % PTRS_PER_TABLE] : TAG_GARBAGE;

		*tag_expect(space, (to >> PAGE_SHIFT) + i) = expect;
		if (chunk)
			chunk->expect[page % PTRS_PER_TABLE] = TAG_GARBAGE;
	}
}

void sim_contents_zero(struct world_as *as, u64 start, u64 end, bool done)
{
	struct tag_space *space = tag_find_space(tags_self(), as);
	struct tag_chunk *chunk = NULL;

	if (done && start == 0 && end == TASK_SIZE) {
		tag_forget(tags_self(), as, 0);
		return;
	}
	/* With other threads, what has not been written since may have been written before, and kept. */
	if (!space || (done && as->nr_tasks > 1))
		return;
	for (u64 page = start >> PAGE_SHIFT; page < DIV_ROUND_UP(end, PAGE_SIZE); page++) {
		u64 *expect;

		if (!chunk || chunk->index != page / PTRS_PER_TABLE)
			chunk = tag_find_chunk(space, page / PTRS_PER_TABLE);
		if (!chunk) { /* never touched: zeros anyway */
			page |= PTRS_PER_TABLE - 1;
			continue;
		}
		expect = &chunk->expect[page % PTRS_PER_TABLE];
		if (!done && *expect != TAG_GARBAGE)
			*expect |= EXPECT_MAYBE_ZERO;
		else if (*expect & EXPECT_MAYBE_ZERO) /* or as the file again */
			*expect = tag_range(space, page) ? TAG_GARBAGE : TAG_ZERO;
	}
}

void sim_contents_fork(struct world_as *parent, struct world_as *child)
{
	struct sim_tags *t = tags_self();
	struct tag_space *from, *to;

	tag_forget(t, child, 0);
	to = tag_get_space(t, child);
	from = tag_get_space(t, parent);
	for (u32 i = 0; i < TAG_BUCKETS; i++) {
		for (struct tag_chunk *c = from->bucket[i]; c; c = c->next) {
			struct tag_chunk *copy = tag_add_chunk(to, c->index);

			for (u32 k = 0; k < PTRS_PER_TABLE; k++)
				copy->expect[k] = c->expect[k];
		}
	}
	for (struct tag_range *r = from->ranges; r; r = r->next)
		tag_add_range(to, r);
}

/* ---- user accesses -------------------------------------------------------------------------- */

static const char *tag_text(char *buf, size_t size, u64 tag)
{
	if (tag == TAG_GARBAGE)
		return "garbage";
	if (tag == TAG_ZERO)
		return "zeros";
	if (tag == TAG_STALE)
		return "what was on the disk before";
	snprintf(buf, size, "write %lu", tag);
	return buf;
}

static __cold void tag_violation(const struct world_as *as, u64 va, u64 pfn, u64 tag, u64 expect)
{
	char have[32];
	char want[32];

	panic("page 0x%lx (as %u) reads as %s from frame 0x%lx; the program last wrote %s%s", va,
	      as->root, tag_text(have, sizeof(have), tag), pfn,
	      tag_text(want, sizeof(want), expect & ~EXPECT_MAYBE_ZERO),
	      expect & EXPECT_MAYBE_ZERO ? ", or it may be zeros" : "");
}

/* What page @index of @file holds, as far as programs know. */
static u64 *tag_of_file(struct sim_tags *t, u64 file, u64 index)
{
	return tag_expect(tag_get(t, NULL, file), index);
}

static bool tag_matches(u64 have, u64 expect)
{
	u64 want = expect & ~EXPECT_FLAGS;

	if (expect & EXPECT_ANYTHING)
		return true;
	return have == (want == TAG_GARBAGE ? TAG_ZERO : want);
}

void sim_tag_access(struct sim *sim, struct world_as *as, u64 va, pte_t pte, enum world_access kind)
{
	struct sim_tags *t = sim->tags;
	u64 page = va >> PAGE_SHIFT;
	u64 pfn = pte_pfn(pte) + (pte.v & PTE_HUGE ? page % PTRS_PER_TABLE : 0);
	u64 *frame = tag_frame(t, pfn);
	struct tag_space *space = tag_get_space(t, as);
	struct tag_range *range = tag_range(space, page);
	u64 *expect;
	u64 *base = NULL; /* what an untouched page of it reads as; NULL: zeros */
	u64 zeros = TAG_ZERO;
	u64 have = pte_special(pte) ? TAG_ZERO : *frame;

	if (range)
		base = tag_of_file(t, range->file, range->index + (page - range->start));
	expect = range && range->shared ? base : tag_expect(space, page);
	if (!base)
		base = &zeros;
	if (kind != WORLD_FILL) {
		/* It reads a word, or leaves all but one as they are. */
		if (*expect & EXPECT_MAYBE_ZERO && tag_matches(have, *base))
			*expect = range ? TAG_GARBAGE : TAG_ZERO;
		if (!tag_matches(have, *expect & ~EXPECT_FLAGS ? *expect : *base | *expect))
			tag_violation(as, va, pfn, have, *expect ? *expect : *base);
	}
	if (world_access_writes(kind)) {
		if (pte_special(pte))
			panic("page 0x%lx writes to the zero page", va);
		*frame = *expect = ++t->nr_writes;
	}
}

/* ---- files ---------------------------------------------------------------------------------- */

static void tag_file_access(struct sim_tags *t, enum world_file_event event, u64 file, u64 index,
                            u64 pfn)
{
	u64 *frame = tag_frame(t, pfn);
	u64 *expect = tag_of_file(t, file, index);
	char have[32];
	char want[32];

	if (event != WORLD_FILE_FILL && !tag_matches(*frame, *expect))
		panic("page 0x%lx of file %lu reads as %s from frame 0x%lx; a program last wrote "
		      "%s",
		      index, file, tag_text(have, sizeof(have), *frame), pfn,
		      tag_text(want, sizeof(want), *expect & ~EXPECT_FLAGS));
	if (event != WORLD_FILE_READ)
		*frame = *expect = ++t->nr_writes;
}

static void tag_file_zero(struct tag_space *space, u64 from)
{
	for (u32 i = 0; space && i < TAG_BUCKETS; i++)
		for (struct tag_chunk *c = space->bucket[i]; c; c = c->next)
			for (u32 k = 0; k < PTRS_PER_TABLE; k++)
				if (c->index * PTRS_PER_TABLE + k >= from)
					c->expect[k] = TAG_ZERO;
}

void sim_contents_file(enum world_file_event event, u64 file, u64 index, u64 arg)
{
	struct sim_tags *t = tags_self();

	switch (event) {
	case WORLD_FILE_ON_DISK:
		t->block[arg >> 48][arg << 16 >> 16] = *tag_of_file(t, file, index) =
			++t->nr_writes;
		break;
	case WORLD_FILE_READ:
	case WORLD_FILE_WRITE:
	case WORLD_FILE_FILL:
		tag_file_access(t, event, file, index, arg);
		break;
	case WORLD_FILE_ZERO:
		tag_file_zero(tag_find(t, NULL, file), index);
		break;
	case WORLD_FILE_LOST:
		*tag_of_file(t, file, index) |= EXPECT_ANYTHING;
		break;
	case WORLD_FILE_GONE:
		tag_forget(t, NULL, file);
		break;
	}
}

/* ---- disks ---------------------------------------------------------------------------------- */

static u64 *tag_block(struct sim_tags *t, const struct world_io *io, u32 i)
{
	u64 block = io->sector / 8 + i;

	if (block >= t->nr_blocks[io->disk])
		panic("sector %lu is beyond the end of disk %u", io->sector + 8 * i, io->disk);
	return &t->block[io->disk][block];
}

/* Takes the tags now: the core must not lose what is written to the page later. */
void sim_tag_io_submit(struct sim *sim, struct world_io *io)
{
	struct sim_tags *t = sim->tags;
	struct tag_write *w;

	io->engine[0] = 0;
	if (!io->write)
		return;
	w = malloc(sizeof(*w) + io->nr_pages * sizeof(w->tag[0]));
	if (!w)
		panic("the host has no memory for --check");
	list_add(&w->list, &t->writes);
	for (u32 i = 0; i < io->nr_pages; i++) {
		w->tag[i] = *tag_frame(t, io->pfn[i]);
		if (w->tag[i] == TAG_GARBAGE)
			panic("frame 0x%lx, which holds garbage, is written to disk %u", io->pfn[i],
			      io->disk);
	}
	io->engine[0] = (u64)(uintptr_t)w;
}

void sim_tag_io_end(struct sim *sim, struct world_io *io, int err)
{
	struct sim_tags *t = sim->tags;
	struct tag_write *w = (struct tag_write *)(uintptr_t)io->engine[0];

	for (u32 i = 0; i < io->nr_pages; i++) {
		u64 *frame = tag_frame(t, io->pfn[i]);
		u64 *block = tag_block(t, io, i);

		if (io->write && *frame == TAG_GARBAGE)
			panic("frame 0x%lx has been freed while it was written to disk %u",
			      io->pfn[i], io->disk);
		if (err)
			continue;
		if (io->write)
			*block = w->tag[i];
		else
			*frame = *block == TAG_GARBAGE && sim->w.hw->disk[io->disk].files
			                 ? TAG_STALE
			                 : *block;
	}
	if (w) {
		list_del(&w->list);
		free(w);
	}
	io->engine[0] = 0;
}

void sim_tag_disk_discard(struct sim *sim, u32 disk, u64 sector, u64 nr_sectors)
{
	struct sim_tags *t = sim->tags;

	for (u64 b = DIV_ROUND_UP(sector, 8); b < (sector + nr_sectors) / 8; b++)
		t->block[disk][b] = TAG_GARBAGE;
}
