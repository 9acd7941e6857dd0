/*
 * Dirty pages: which they are, how many, and writing them (Linux mm/page-writeback.c).
 *
 * A page of a file becomes dirty by write(), or by the first store through a shared mapping, which
 * faults for that purpose. PG_dirty and the tag in the mapping's tree say so; the tag moves from dirty
 * to writeback when the write starts. Before a page is written its mappings are made clean and
 * read-only, so that a store that comes later is noticed, and makes it dirty again.
 *
 * Who writes them when is in fs-writeback.c, how many there may be in dirty_limits.c.
 *
 * Counted: nr_dirty, nr_writeback (filemap.c), nr_dirtied, nr_written.
 */
#include "core/fs.h"
#include "core/writeback.h"

#include <errno.h>
#include <limits.h>

/* ---- becoming dirty -------------------------------------------------------------------------------- */

static void mod_dirty(struct machine *m, struct page *page, struct address_space *mapping,
                      long delta)
{
	struct bdi_writeback *wb = mapping_wb(mapping);
	struct zone *z = page_zone(m, page);

	world_irq_save();
	mod_node_state(z, NR_FILE_DIRTY, delta);
	if (!z->lruvec->zone)
		mod_zone_state(z, NR_ZONE_WRITE_PENDING, delta);
	if (delta > 0)
		mod_node_state(z, NR_DIRTIED, delta);
	wb->nr_reclaimable += (u64)delta;
	wb->nr_dirtied += delta > 0 ? (u64)delta : 0;
	world_irq_restore();
}

/* Who dirties pays: see dirty_limits.c. */
static void account_dirtier(struct machine *m, u32 nr)
{
	this_cpu(m)->nr_dirtied += nr;
	if (likely(world_self->task->id > m->nr_world_tasks))
		current_task()->nr_dirtied += nr;
}

bool set_page_dirty(struct machine *m, struct page *page)
{
	if (unlikely(page_is_compound(page)) && !page_is_anon(page)) {
		page = compound_head(page);
		folio_set_blocks_dirty(page, 0, compound_nr(page));
	}
	return __set_page_dirty(m, page);
}

bool __set_page_dirty(struct machine *m, struct page *page)
{
	struct address_space *mapping = page_mapping(m, page);

	charge(COST_PAGE_FLAG);
	world_order();
	/* Anonymous, truncated meanwhile, or shared memory: there is no disk to write it to. */
	if (!mapping || mapping_is_shmem(mapping)) {
		bool was_clean = !page_test(page, PG_dirty);

		page_set(page, PG_dirty);
		return was_clean;
	}
	/* It will be read again, or was wanted gone: not any more. */
	if (!page_test(page, PG_writeback))
		page_clear(page, PG_reclaim);
	if (page_test(page, PG_dirty))
		return false;
	create_empty_buffers(m, page);
	spin_lock_irq(&mapping->tree_lock);
	if (page_test(page, PG_dirty) || page->mapping != mapping->number) {
		spin_unlock_irq(&mapping->tree_lock);
		return false;
	}
	page_set(page, PG_dirty);
	mod_dirty(m, page, mapping, compound_nr(page));
	account_dirtier(m, compound_nr(page));
	xa_set_mark(m, &mapping->i_pages, page->index, PAGECACHE_TAG_DIRTY);
	spin_unlock_irq(&mapping->tree_lock);
	mark_inode_dirty_pages(m, mapping);
	return true;
}

/* ---- becoming clean --------------------------------------------------------------------------------- */

void account_page_cleaned(struct machine *m, struct page *page, struct address_space *mapping)
{
	page_clear(page, PG_dirty);
	if (!page_is_shmem(page))
		mod_dirty(m, page, mapping, -(long)compound_nr(page));
}

void cancel_dirty_page(struct machine *m, struct page *page)
{
	VM_BUG_ON(!page_test(page, PG_locked));
	if (page_test(page, PG_dirty) && page_mapping(m, page))
		account_page_cleaned(m, page, page_mapping(m, page));
}

bool clear_page_dirty_for_io(struct machine *m, struct page *page)
{
	VM_BUG_ON(!page_test(page, PG_locked));
	VM_BUG_ON(!page_mapping(m, page));
	if (page_mkclean(m, page))
		set_page_dirty(m, page);
	charge(COST_PAGE_FLAG);
	world_order();
	if (!page_test(page, PG_dirty))
		return false;
	account_page_cleaned(m, page, page_mapping(m, page));
	return true;
}

/* ---- writing ------------------------------------------------------------------------------------------ */

/*
 * Page locked, not dirty any more; it gets its block, if it has none, and is unlocked when it is under
 * writeback. No block: it is lost, and the file will say so (-ENOSPC is found out at write() time in
 * file systems that reserve; a hole that is first written through a mapping was checked then, too).
 */
int writepage(struct mpage *mp, struct page *page)
{
	struct machine *m = mp->m;
	struct address_space *mapping = page_mapping(m, page);
	u64 block;
	int err;

	if (unlikely(page_is_compound(page)))
		return write_folio(mp, page);
	if (page->index >= inode_pages(mapping->host)) { /* being truncated */
		unlock_page(m, page);
		return 0;
	}
	err = inode_get_block(m, mapping->host, page->index, &block);
	if (err == -ENOMEM) { /* later, when there is some */
		set_page_dirty(m, page);
		unlock_page(m, page);
		return 0;
	}
	if (err) {
		mapping->flags |= AS_ENOSPC;
		world_contents_file(WORLD_FILE_LOST, mapping->host->nr_created, page->index, 0);
		unlock_page(m, page);
		return err;
	}
	set_page_writeback(m, page);
	unlock_page(m, page);
	mpage_add(mp, page, block);
	return 0;
}

bool mapping_tagged(struct machine *m, const struct address_space *mapping, enum xa_mark mark)
{
	return xa_marked(m, &mapping->i_pages, mark);
}

/* The page at or behind *@index that has @mark, locked and cleared for I/O; NULL: none up to @end. */
static struct page *next_dirty_page(struct mpage *mp, struct address_space *mapping, u64 *index,
                                    u64 end, const struct writeback_control *wbc)
{
	struct machine *m = mp->m;

	for (;; *index += 1) {
		struct page *page;

		world_cond_resched();
		world_order();
		if (*index > end || !xa_find(m, &mapping->i_pages, index, end, PAGECACHE_TAG_DIRTY))
			return NULL;
		page = find_get_page(m, mapping, *index);
		if (!page)
			continue;
		/* Waiting with a request of one's own unsent could be for ever. */
		if (!trylock_page(m, page)) {
			mpage_submit(mp);
			lock_page(m, page);
		}
		if (page->mapping != mapping->number || page->index != *index ||
		    !page_test(page, PG_dirty))
			goto next;
		if (page_test(page, PG_writeback)) {
			if (!wbc->sync_all)
				goto next;
			mpage_submit(mp);
			wait_on_page_writeback(m, page);
		}
		if (clear_page_dirty_for_io(m, page))
			return page;
	next:
		unlock_page(m, page);
		put_page(m, page);
	}
}

int write_cache_pages(struct machine *m, struct address_space *mapping,
                      struct writeback_control *wbc)
{
	u64 index = wbc->range_cyclic ? mapping->writeback_index : wbc->range_start;
	u64 end = wbc->range_cyclic ? XA_INDEX_MAX : wbc->range_end;
	bool wrapped = !wbc->range_cyclic || !index;
	struct mpage mp;
	int ret = 0;

	mpage_start(&mp, m, mapping->host, true);
	span_enter(SPAN_WRITEBACK);
	while (wbc->nr_to_write > 0) {
		struct page *page = next_dirty_page(&mp, mapping, &index, end, wbc);
		int err;

		if (!page && wrapped)
			break;
		if (!page) {
			end = mapping->writeback_index - 1;
			index = 0;
			wrapped = true;
			continue;
		}
		err = writepage(&mp, page);
		ret = ret ? ret : err;
		wbc->nr_to_write -= compound_nr(page);
		index += compound_nr(page);
		put_page(m, page);
	}
	mpage_submit(&mp);
	span_exit();
	if (wbc->range_cyclic)
		mapping->writeback_index = index;
	return ret;
}

/* ---- waiting --------------------------------------------------------------------------------------------- */

/* What writing it has come to, which is said once. */
static int filemap_check_errors(struct address_space *mapping)
{
	u32 flags = READ_ONCE(mapping->flags);

	mapping->flags &= ~(u32)(AS_EIO | AS_ENOSPC);
	return flags & AS_EIO ? -EIO : flags & AS_ENOSPC ? -ENOSPC : 0;
}

static void filemap_wait_pages(struct machine *m, struct address_space *mapping, u64 index, u64 end)
{
	for (; index <= end; index++) {
		struct page *page;

		world_order();
		if (!xa_find(m, &mapping->i_pages, &index, end, PAGECACHE_TAG_WRITEBACK))
			break;
		page = find_get_page(m, mapping, index);
		if (!page)
			continue;
		wait_on_page_writeback(m, page);
		put_page(m, page);
	}
}

int filemap_fdatawait(struct machine *m, struct address_space *mapping)
{
	filemap_wait_pages(m, mapping, 0, XA_INDEX_MAX);
	return filemap_check_errors(mapping);
}

int filemap_flush(struct machine *m, struct address_space *mapping)
{
	struct writeback_control wbc = {.nr_to_write = INT_MAX, .range_end = XA_INDEX_MAX};

	return write_cache_pages(m, mapping, &wbc);
}

void filemap_fdatawait_keep_errors(struct machine *m, struct address_space *mapping)
{
	filemap_wait_pages(m, mapping, 0, XA_INDEX_MAX);
}

/* What has been begun; files that are created meanwhile are left out. */
void wait_inodes_written(struct machine *m)
{
	struct inode *inode, *next;
	u64 nr = 0;

	list_for_each_entry (inode, &m->fs->inodes, list) {
		iget(inode); /* stays on the list, in front of those that come */
		nr += 1;
	}
	for (inode = list_first_entry(&m->fs->inodes, struct inode, list); nr; nr--) {
		filemap_wait_pages(m, &inode->i_data, 0, XA_INDEX_MAX);
		next = list_next_entry(inode, list);
		iput(m, inode);
		inode = next;
	}
}

int filemap_write_and_wait(struct machine *m, struct address_space *mapping)
{
	struct writeback_control wbc = {
		.nr_to_write = INT_MAX,
		.range_end = XA_INDEX_MAX,
		.sync_all = true,
	};

	write_cache_pages(m, mapping, &wbc);
	return filemap_fdatawait(m, mapping);
}
