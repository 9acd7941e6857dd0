/*
 * Large folios of the page cache: several pages of a file in a row that are one (Linux 5.16 on; ext4 since
 * 6.16; knob fs.max_folio_order).
 *
 * A large folio is a compound page whose frames are those of 1 << order pages, at an offset that is a multiple
 * of that. The index has it at each of its offsets. It is locked, on the LRU, up to date, dirty and under
 * writeback as one, and counted as the pages it is; ptes map its pages, each with a mapcount of its own
 * and a reference to the head. The cache has a reference for each page.
 *
 * Readahead makes them (readahead.c), larger while a file is read in order, and so do writes, as long as they
 * are (filemap_read.c). What is dirty of a folio is known by the block, as buffer heads do: a write()
 * dirties what it writes, a store through a mapping all of it; one writeback then writes the dirty ones.
 * That a block is dirty is PG_dirty of its tail, and COMPOUND_BLOCK_DIRTY for the first, as the head's
 * PG_dirty is the folio's.
 *
 * A file that is cut off in the middle of a folio has it split, if nobody uses it and nothing of it is dirty.
 *
 * Left out: PMD entries for those of 2 MiB; splits to anything but single pages; blocks that are up to date by
 * themselves: what is read of a folio is read whole.
 */
#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/mlock.h"

#include <errno.h>

unsigned int mapping_max_folio_order(const struct machine *m, const struct address_space *mapping)
{
	return mapping_is_shmem(mapping) ? 0 : (unsigned int)m->knob.max_folio_order;
}

/* @folio, a compound page just allocated, is to be a file's. */
void filemap_prep_folio(struct machine *m, struct page *folio)
{
	prep_tails(m, folio);
	for (u32 i = 1; i < compound_nr(folio); i++)
		folio[i].mapping = TAIL_MAPPING_FILE;
	folio[1].nr_io = 0;
}

/* A new one with a reference; NULL: there is no memory for it. May switch tasks. */
struct page *filemap_alloc_folio(struct machine *m, gfp_t gfp, unsigned int order)
{
	struct page *folio;

	if (!order)
		return alloc_page(m, gfp);
	folio = alloc_pages(m, gfp | __GFP_COMP, order);
	if (folio)
		filemap_prep_folio(m, folio);
	return folio;
}

/* Blocks for the @nr pages from @index on. 0, or why there are only *@got. */
int inode_get_blocks(struct machine *m, struct inode *inode, u64 index, u64 nr, u64 *got)
{
	u64 block;
	u64 run;

	for (*got = 0; *got < nr; *got += run) {
		int err;

		if (nr > 1 && inode_bmap_run(inode, index + *got, nr - *got, &block, &run))
			continue;
		err = inode_get_block(m, inode, index + *got, &block);
		if (err)
			return err;
		run = 1;
	}
	return 0;
}

/* ---- dirty blocks ------------------------------------------------------------------------------------ */

void folio_set_blocks_dirty(struct page *folio, u32 first, u32 nr)
{
	if (!page_is_compound(folio))
		return;
	if (!first && nr)
		folio[1].compound_flags |= COMPOUND_BLOCK_DIRTY;
	for (u32 i = max(first, 1u); i < first + nr; i++)
		page_set(&folio[i], PG_dirty);
}

bool folio_block_dirty(const struct page *folio, u32 i)
{
	return i ? page_test(&folio[i], PG_dirty) : folio[1].compound_flags & COMPOUND_BLOCK_DIRTY;
}

static void clear_block_dirty(struct page *folio, u32 i)
{
	if (i)
		page_clear(&folio[i], PG_dirty);
	else
		folio[1].compound_flags &= ~COMPOUND_BLOCK_DIRTY;
}

void folio_clear_blocks_dirty(struct page *folio, u32 first)
{
	for (u32 i = first; page_is_compound(folio) && i < compound_nr(folio); i++)
		clear_block_dirty(folio, i);
}

/* ---- reading and writing ------------------------------------------------------------------------------- */

/* The blocks of a file that had @end pages when the folio was in its cache: what is behind that is a hole. */
static bool bmap_run_before(const struct mpage *mp, u64 end, u64 index, u64 max, u64 *block,
                            u64 *run)
{
	*run = max;
	return index < end && inode_bmap_run(mp->inode, index, min(max, end - index), block, run);
}

/*
 * mpage_read() of a large folio. Nobody sees that some of it has been read already; it is unlocked by who reads
 * the last of it.
 */
void mpage_read_folio(struct mpage *mp, struct page *folio)
{
	struct machine *m = mp->m;
	u64 end = inode_pages(mp->inode);
	u32 nr = compound_nr(folio);
	u32 nr_io = 0;
	u64 block;
	u64 run;

	folio[1].compound_flags &= ~COMPOUND_IO_ERROR;
	for (u32 i = 0; i < nr; i += run) {
		bool hole = !bmap_run_before(mp, end, folio->index + i, nr - i, &block, &run);

		nr_io += hole ? 0 : run;
		for (u32 j = 0; hole && j < run; j++)
			world_frame_clear(page_to_pfn(m, folio) + i + j);
	}
	if (!nr_io) {
		page_set(folio, PG_uptodate);
		unlock_page(m, folio);
		return;
	}
	folio[1].nr_io = (u16)nr_io;
	for (u32 i = 0; i < nr && nr_io; i += run) {
		if (!bmap_run_before(mp, end, folio->index + i, nr - i, &block, &run))
			continue;
		nr_io -= run;
		for (u32 j = 0; j < run; j++)
			mpage_add(mp, folio + i + j, block + j);
	}
}

/* One page of @folio has been read or written: was it the last? In interrupts. */
bool folio_end_io(struct page *folio)
{
	if (!page_is_compound(folio))
		return true;
	VM_BUG_ON(!folio[1].nr_io);
	return --folio[1].nr_io == 0;
}

/*
 * Sees to it that the dirty pages of @folio have blocks: *@nr of them. What the disk has no room for is lost.
 * -ENOMEM: not all have been looked at.
 */
static int get_dirty_blocks(struct machine *m, struct address_space *mapping, struct page *folio,
                            u32 *nr)
{
	u64 nr_pages = inode_pages(mapping->host);
	u64 mapped = 0; /* up to here */
	int ret = 0;

	*nr = 0;
	for (u32 i = 0; i < compound_nr(folio); i++) {
		u64 index = folio->index + i;
		u64 block;
		u64 run;
		int err = 0;

		if (!folio_block_dirty(folio, i))
			continue;
		if (index >= nr_pages) { /* being truncated */
			clear_block_dirty(folio, i);
			continue;
		}
		if (i >= mapped &&
		    inode_bmap_run(mapping->host, index, compound_nr(folio) - i, &block, &run))
			mapped = i + run;
		if (i >= mapped)
			err = inode_get_block(m, mapping->host, index, &block);
		if (err == -ENOMEM)
			return err;
		*nr += !err;
		if (!err)
			continue;
		ret = err;
		clear_block_dirty(folio, i);
		mapping->flags |= AS_ENOSPC;
		world_contents_file(WORLD_FILE_LOST, mapping->host->nr_created, index, 0);
	}
	return ret;
}

/* writepage() of a large folio. It stays locked until all its writes are on their way. */
int write_folio(struct mpage *mp, struct page *folio)
{
	struct machine *m = mp->m;
	struct address_space *mapping = page_mapping(m, folio);
	u64 mapped = 0; /* up to here, by @block for page @first */
	u32 first = 0;
	u64 block;
	u64 run;
	u32 nr_io;
	int err = get_dirty_blocks(m, mapping, folio, &nr_io);

	if (err == -ENOMEM) { /* later, when there is some */
		__set_page_dirty(m, folio);
		unlock_page(m, folio);
		return 0;
	}
	if (!nr_io) {
		unlock_page(m, folio);
		return err;
	}
	set_page_writeback(m, folio);
	folio[1].nr_io = (u16)nr_io;
	for (u32 i = 0; nr_io; i++) {
		if (!folio_block_dirty(folio, i))
			continue;
		clear_block_dirty(folio, i);
		nr_io -= 1;
		if (i >= mapped) {
			BUG_ON(!inode_bmap_run(mapping->host, folio->index + i,
			                       compound_nr(folio) - i, &block, &run));
			first = i;
			mapped = i + run;
		}
		mpage_add(mp, folio + i, block + (i - first));
	}
	unlock_page(m, folio);
	return err;
}

/* ---- splitting ------------------------------------------------------------------------------------------- */

/* What the pages of a clean folio have in common with it. */
#define SPLIT_FLAGS                                                                                \
	(1u << PG_referenced | 1u << PG_uptodate | 1u << PG_active | 1u << PG_workingset |         \
	 1u << PG_lru | 1u << PG_unevictable | 1u << PG_mlocked)

/* Nobody has a reference but the cache and the caller, and none is to be had: tree lock held. */
static void split_frozen(struct machine *m, struct page *folio, u32 nr)
{
	struct address_space *mapping = page_mapping(m, folio);
	struct lruvec *lruvec = page_lruvec(m, folio);
	bool on_lru = page_test(folio, PG_lru);

	spin_lock(&lruvec->lru_lock);
	charge_n(COST_LRU_ADD, nr - 1);
	charge_n(COST_COMPOUND_TAIL, nr - 1);
	for (u32 i = nr - 1; i; i--) {
		struct page *page = folio + i;

		VM_BUG_ON(page->refcount || page->mapcount);
		page->flags = (folio->flags & ~PAGE_FLAGS_MASK) | (folio->flags & SPLIT_FLAGS);
		page->mapping = folio->mapping;
		page->index = folio->index + i;
		page->refcount = 1; /* the cache's */
		mlock_split_tail(m, page);
		xa_store(m, &mapping->i_pages, mapping->number, page->index,
		         xa_mk_page(page_to_pfn(m, page)));
		if (on_lru)
			page_list_add_before(&lruvec->list[page_lru(folio)], folio, page);
	}
	page_clear(folio, PG_compound);
	folio->refcount = 2;
	spin_unlock(&lruvec->lru_lock);
	/* One that has never been on a list is in nobody's batch, either. */
	VM_BUG_ON(!on_lru);
}

/*
 * The pages of @folio, which is locked and mapped by nobody, become pages like others; the caller's lock and
 * reference are the first one's. -EBUSY: it is dirty, being written, or in use; all is as it was.
 */
int split_file_folio(struct machine *m, struct page *folio)
{
	struct address_space *mapping = page_mapping(m, folio);
	u32 nr = compound_nr(folio);
	int err = -EBUSY;

	VM_BUG_ON(!page_test(folio, PG_locked));
	if (page_test(folio, PG_dirty) || page_test(folio, PG_writeback) || page_mapped(folio))
		goto out;
	if (page_test(folio, PG_private) && !try_to_free_buffers(m, folio))
		goto out;
	span_enter(SPAN_SPLIT_PAGE);
	spin_lock_irq(&mapping->tree_lock);
	if (folio->refcount == (s32)nr + 1 && !page_test(folio, PG_dirty)) {
		folio->refcount = 0;
		split_frozen(m, folio, nr);
		err = 0;
	}
	spin_unlock_irq(&mapping->tree_lock);
	span_exit();
out:
	count_split(m, nr, err);
	return err;
}
