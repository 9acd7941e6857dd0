/*
 * Pages of files to and from their blocks (Linux fs/mpage.c).
 *
 * Pages that follow each other in a file mostly do on the disk, and become one request of up to 32;
 * what could not be joined here may still be merged in the disk's queue. A hole needs no request: its
 * page is cleared and is up to date at once.
 *
 * Completions are interrupts: a read marks its pages up to date and unlocks them, a write ends their
 * writeback. A page that could not be read stays locked no longer and is not up to date: whoever
 * needs it gets -EIO, or SIGBUS, and the next one tries again. A page that could not be written is
 * clean all the same, as in Linux: its mapping remembers that data has been lost (AS_EIO), until an
 * fsync() reports it.
 */
#include "core/fs.h"
#include "core/swap.h"

#define SECTORS_PER_PAGE (PAGE_SIZE / 512)
#define KB_PER_PAGE (PAGE_SIZE / 1024)

/* ---- completion, in interrupt context ------------------------------------------------------------- */

static void end_file_read(struct world_io *io, int err)
{
	struct machine *m = io->priv;

	for (u32 i = 0; i < io->nr_pages; i++) {
		struct page *page = compound_head(pfn_to_page(m, io->pfn[i]));

		if (err)
			m->fs->nr_io_errors[0] += 1;
		if (unlikely(page_is_compound(page))) {
			if (err)
				page[1].compound_flags |= COMPOUND_IO_ERROR;
			if (!folio_end_io(page))
				continue;
			if (!(page[1].compound_flags & COMPOUND_IO_ERROR))
				page_set(page, PG_uptodate);
		} else if (!err) {
			page_set(page, PG_uptodate);
		}
		unlock_page(m, page);
	}
	world_latency(HIST_FILE_READ, io->submitted_at);
	bio_free(m, io->disk);
	pool_free(&m->io_pool, pool_index(&m->io_pool, io));
}

static void end_file_write(struct world_io *io, int err)
{
	struct machine *m = io->priv;

	world_latency(HIST_FILE_WRITE, io->submitted_at);
	for (u32 i = 0; i < io->nr_pages; i++) {
		struct page *page = pfn_to_page(m, io->pfn[i]);
		struct page *head = compound_head(page);

		if (err) {
			struct address_space *mapping = page_mapping(m, head);

			m->fs->nr_io_errors[1] += 1;
			mapping->flags |= AS_EIO;
			world_contents_file(WORLD_FILE_LOST, mapping->host->nr_created,
			                    page_index(page), 0);
		}
		if (folio_end_io(head))
			end_page_writeback(m, head);
	}
	bio_free(m, io->disk);
	pool_free(&m->io_pool, pool_index(&m->io_pool, io));
}

/* ---- requests ----------------------------------------------------------------------------------------- */

void mpage_start(struct mpage *mp, struct machine *m, struct inode *inode, bool write)
{
	*mp = (struct mpage){.m = m, .inode = inode, .write = write};
}

void mpage_submit(struct mpage *mp)
{
	struct world_io *io = mp->io;

	if (!io)
		return;
	mp->io = NULL;
	blk_submit_io(io);
}

void mpage_add(struct mpage *mp, struct page *page, u64 block)
{
	struct machine *m = mp->m;
	struct world_io *io;

	if (mp->io && (mp->next_block != block || mp->io->nr_pages == WORLD_IO_MAX_PAGES))
		mpage_submit(mp);
	count_vm_events(m, mp->write ? PGPGOUT : PGPGIN, KB_PER_PAGE);
	if (!mp->io) {
		bio_alloc(m, mp->inode->i_sb->disk, mp->write ? GFP_NOIO : GFP_KERNEL);
		io = blk_io_alloc(m);
		io->disk = mp->inode->i_sb->disk;
		io->write = mp->write;
		io->sync = !mp->write;
		io->nr_pages = 0;
		io->sector = block * SECTORS_PER_PAGE;
		io->done = mp->write ? end_file_write : end_file_read;
		io->priv = m;
		io->submitted_at = world_now();
		mp->io = io;
	}
	mp->io->pfn[mp->io->nr_pages++] = page_to_pfn(m, page);
	mp->next_block = block + 1;
}

/* ---- reading -------------------------------------------------------------------------------------------- */

void mpage_read(struct mpage *mp, struct page *page)
{
	struct machine *m = mp->m;
	u64 block;

	VM_BUG_ON(!page_test(page, PG_locked) || page_test(page, PG_uptodate));
	if (unlikely(page_is_compound(page))) {
		mpage_read_folio(mp, page);
		return;
	}
	/* The size as it is now that the page is in the cache: who cuts the file off has not passed it, or cannot. */
	if (page->index < inode_pages(mp->inode) && inode_bmap(mp->inode, page->index, &block)) {
		mpage_add(mp, page, block);
		return;
	}
	world_frame_clear(page_to_pfn(m, page));
	page_set(page, PG_uptodate);
	unlock_page(m, page);
}

void readpage(struct machine *m, struct inode *inode, struct page *page)
{
	struct mpage mp;

	mpage_start(&mp, m, inode, false);
	mpage_read(&mp, page);
	mpage_submit(&mp);
}
