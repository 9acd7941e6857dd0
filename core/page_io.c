/*
 * Reading and writing swap (Linux mm/page_io.c), and the plug in front of it (block/blk-core.c).
 *
 * A page is one bio. Bios of one task that follow each other on the disk become one request while
 * the task's plug holds them back; what meets in the disk's queue is merged there, by the world.
 * Completions are interrupts: a write ends writeback and sends the page to the tail of its list, a
 * read marks the page up to date and unlocks it.
 *
 * A bio is waited for when there is no memory (bio.c). The requests they become are io_pool's, which is
 * larger than any number of pages that RAM can have in flight on a machine of usual size; a task that
 * finds it empty sleeps ticks.
 *
 * Left out: zero-filled pages (6.12), zswap, swap files with extents.
 */
#include <string.h>

#include "core/huge_memory.h"
#include "core/swap.h"

#define SECTORS_PER_PAGE (PAGE_SIZE / 512)
#define KB_PER_PAGE (PAGE_SIZE / 1024)

/* ---- plugs ------------------------------------------------------------------------------------- */

/* Where the running task keeps its plug; NULL for tasks that are the world's own. */
static struct blk_plug **current_plug(struct machine *m)
{
	return world_self->task->id > m->nr_world_tasks ? &current_task()->plug : NULL;
}

void blk_start_plug(struct machine *m, struct blk_plug *plug)
{
	struct blk_plug **current = current_plug(m);

	plug->nr = 0;
	if (current && !*current)
		*current = plug;
}

void blk_submit_io(struct world_io *io)
{
	int err = world_io_submit(io);

	/* -EAGAIN is for interrupts, and this is none. */
	VM_BUG_ON(err);
}

/* The list is emptied first: submitting may sleep, and sleeping flushes. */
static void flush_plug(struct blk_plug *plug)
{
	struct world_io *io[BLK_MAX_REQUEST_COUNT];
	u32 nr = plug->nr;

	memcpy(io, plug->io, nr * sizeof(io[0]));
	plug->nr = 0;
	for (u32 i = 0; i < nr; i++)
		blk_submit_io(io[i]);
}

void blk_flush_plug(struct machine *m)
{
	struct blk_plug **current = current_plug(m);

	if (current && *current && (*current)->nr)
		flush_plug(*current);
}

void blk_finish_plug(struct machine *m, struct blk_plug *plug)
{
	struct blk_plug **current = current_plug(m);

	if (!current || *current != plug)
		return;
	flush_plug(plug);
	*current = NULL;
}

/* Does the page at @sector continue @io at either end? Then it becomes part of it. */
static bool io_merge(struct world_io *io, u32 disk, bool write, u64 sector, u64 pfn)
{
	if (io->disk != disk || io->write != write || io->nr_pages == WORLD_IO_MAX_PAGES)
		return false;
	if (io->sector + io->nr_pages * SECTORS_PER_PAGE == sector) {
		io->pfn[io->nr_pages++] = pfn;
		return true;
	}
	if (sector + SECTORS_PER_PAGE == io->sector) {
		memmove(io->pfn + 1, io->pfn, io->nr_pages * sizeof(io->pfn[0]));
		io->pfn[0] = pfn;
		io->nr_pages += 1;
		io->sector = sector;
		return true;
	}
	return false;
}

static bool plug_merge(struct blk_plug *plug, u32 disk, bool write, u64 sector, u64 pfn)
{
	for (u32 i = plug->nr; i-- > 0;)
		if (io_merge(plug->io[i], disk, write, sector, pfn))
			return true;
	return false;
}

/* ---- completion, in interrupt context ------------------------------------------------------------ */

/* Has all of it been written, or read? (Linux has one bio for a large page.) */
static bool whole_page_done(struct page *head)
{
	return !page_is_compound(head) || !--head[3].nr_writes;
}

/*
 * A page that could not be written stays dirty and keeps its slot. PG_reclaim is cleared, so that it
 * is not brought back to the tail at once to fail again.
 */
static void end_swap_write(struct world_io *io, int err)
{
	struct machine *m = io->priv;

	world_latency(HIST_SWAP_WRITE, io->submitted_at);
	for (u32 i = 0; i < io->nr_pages; i++) {
		struct page *page = compound_head(pfn_to_page(m, io->pfn[i]));

		if (err) {
			page_set(page, PG_dirty);
			page_clear(page, PG_reclaim);
			m->nr_swap_errors[1] += 1;
		}
		if (whole_page_done(page)) {
			end_page_writeback(m, page);
			bio_free(m, io->disk);
		}
	}
	pool_free(&m->io_pool, pool_index(&m->io_pool, io));
}

/* Whoever waits for a page that could not be read finds it unlocked and not up to date. */
static void end_swap_read(struct world_io *io, int err)
{
	struct machine *m = io->priv;

	world_latency(HIST_SWAP_READ, io->submitted_at);
	for (u32 i = 0; i < io->nr_pages; i++) {
		struct page *page = compound_head(pfn_to_page(m, io->pfn[i]));

		if (err) {
			m->nr_swap_errors[0] += 1;
			if (page_is_compound(page))
				page[1].compound_flags |= COMPOUND_IO_ERROR;
		}
		if (!whole_page_done(page))
			continue;
		if (!err && !(page_is_compound(page) && page[1].compound_flags & COMPOUND_IO_ERROR))
			page_set(page, PG_uptodate);
		unlock_page(m, page);
		bio_free(m, io->disk);
	}
	pool_free(&m->io_pool, pool_index(&m->io_pool, io));
}

/* ---- submission ------------------------------------------------------------------------------------- */

struct world_io *blk_io_alloc(struct machine *m)
{
	u32 handle;

	while (!(handle = pool_alloc(&m->io_pool))) {
		blk_flush_plug(m);
		world_sleep(HZ_NS(m));
	}
	return pool_ptr(&m->io_pool, handle);
}

/*
 * Starts I/O on @page and its slot: now, or when the task's plug is let go. Bios for a RAM disk
 * (zram, brd) pass the request queue and its plug by, in every version: they are done at once.
 */
static void swap_submit(struct machine *m, struct page *page, bool write)
{
	swp_entry_t entry = page_swap_entry(m, page);
	struct swap_info_struct *si = swap_info(m, entry);
	struct blk_plug **current = si->ram ? NULL : current_plug(m);
	struct blk_plug *plug = current ? *current : NULL;
	u64 sector = swp_offset(entry) * SECTORS_PER_PAGE;
	u64 pfn = page_to_pfn(m, page);
	struct world_io *io;

	if (plug && plug_merge(plug, si->disk, write, sector, pfn))
		return;
	if (plug && plug->nr == BLK_MAX_REQUEST_COUNT)
		flush_plug(plug);
	io = blk_io_alloc(m);
	io->disk = si->disk;
	io->write = write;
	io->sync = !write;
	io->nr_pages = 1;
	io->sector = sector;
	io->pfn[0] = pfn;
	io->done = write ? end_swap_write : end_swap_read;
	io->priv = m;
	io->submitted_at = world_now();
	if (plug)
		plug->io[plug->nr++] = io;
	else
		blk_submit_io(io);
}

/* For what @page, whose swap entry is set, is written to or read from. May switch tasks. */
static void swap_bio_alloc(struct machine *m, struct page *page, gfp_t gfp)
{
	bio_alloc(m, swap_info(m, page_swap_entry(m, page))->disk, gfp);
}

static void __swap_writepage(struct machine *m, struct page *page)
{
	u32 nr = compound_nr(page);
	struct blk_plug plug;

	swap_bio_alloc(m, page, GFP_NOIO);
	count_vm_events(m, PSWPOUT, nr);
	count_vm_events(m, PGPGOUT, nr * KB_PER_PAGE);
	set_page_writeback(m, page);
	if (likely(nr == 1)) {
		unlock_page(m, page);
		swap_submit(m, page, true);
		return;
	}
	if (compound_order(page) == HPAGE_PMD_ORDER)
		count_vm_event(m, THP_SWPOUT);
	count_mthp(m, page, MTHP_SWPOUT);
	page[3].nr_writes = nr;
	unlock_page(m, page);
	blk_start_plug(m, &plug);
	for (u32 i = 0; i < nr; i++)
		swap_submit(m, page + i, true);
	blk_finish_plug(m, &plug);
}

static bool zram_store_all(struct machine *m, struct swap_info_struct *si, struct page *page)
{
	for (u32 i = 0; i < compound_nr(page); i++)
		if (!zram_store(m, si, swp_offset(page_swap_entry(m, page + i))))
			return false;
	return true;
}

/* The page stays locked while it waits for the compressor. There may be no room left for it. */
static void zram_writepage(struct machine *m, struct swap_info_struct *si, struct page *page)
{
	zram_stream_get(si);
	if (zram_store_all(m, si, page)) {
		__swap_writepage(m, page);
	} else {
		/* As end_swap_write() does with an error. */
		page_set(page, PG_dirty);
		page_clear(page, PG_reclaim);
		m->nr_swap_errors[1] += 1;
		unlock_page(m, page);
	}
	zram_stream_put(si);
}

/*
 * Page locked, in the swap cache, dirty cleared; it is unlocked. Until the write ends the page keeps
 * its slot, because PG_writeback holds off whoever would free it. A page whose slot nobody needs any
 * more is not written but leaves the cache, dirty. Returns 0. May switch tasks.
 */
int swap_writepage(struct machine *m, struct page *page)
{
	struct swap_info_struct *si;

	VM_BUG_ON(!page_test(page, PG_locked));
	VM_BUG_ON(!page_test(page, PG_swapcache));
	if (try_to_free_swap(m, page)) {
		unlock_page(m, page);
		return 0;
	}
	si = swap_info(m, page_swap_entry(m, page));
	if (si->ram)
		zram_writepage(m, si, page);
	else
		__swap_writepage(m, page);
	return 0;
}

/* Page locked, its swap entry set; the completion unlocks it. May switch tasks. */
void swap_readpage(struct machine *m, struct page *page)
{
	u32 nr = compound_nr(page);

	VM_BUG_ON(!page_test(page, PG_locked));
	VM_BUG_ON(page_test(page, PG_uptodate));
	count_vm_events(m, PSWPIN, nr);
	count_vm_events(m, PGPGIN, nr * KB_PER_PAGE);
	swap_bio_alloc(m, page, GFP_KERNEL);
	if (likely(nr == 1)) {
		swap_submit(m, page, false);
		return;
	}
	count_mthp(m, page, MTHP_SWPIN);
	page[3].nr_writes = nr;
	for (u32 i = 0; i < nr; i++)
		swap_submit(m, page + i, false);
}
