/*
 * Buffered reads and writes (Linux mm/filemap.c: do_generic_file_read(), generic_perform_write(); what
 * a file system such as ext3 does around them).
 *
 * A read goes page by page: look it up, let readahead see a miss or a marker, wait if it is not up to
 * date, copy. A page is marked as accessed once per read() that comes to it, and not again by one that
 * goes on where the last one stopped within the page.
 *
 * A write takes the inode's mutex, and for each page gets it, brings it up to date if only a part is
 * written, gets it a block (so a full disk is found out here), copies, and makes it dirty.
 *
 * The user's buffer is taken to be one that is used again and again: its pages are not accessed.
 */
#include "core/fs.h"

#include <errno.h>

/* ---- reading ------------------------------------------------------------------------------------------ */

/* Nobody else has brought it: a frame, and a read of this page alone. NULL with *@err. */
static struct page *no_cached_page(struct machine *m, struct inode *inode, u64 index, int *err)
{
	struct page *page = alloc_page(m, GFP_HIGHUSER_MOVABLE);

	*err = -ENOMEM;
	if (!page)
		return NULL;
	*err = add_to_page_cache_lru(m, page, &inode->i_data, index, GFP_KERNEL);
	if (*err) {
		put_page(m, page);
		return *err == -EEXIST ? find_get_page(m, &inode->i_data, index) : NULL;
	}
	readpage(m, inode, page);
	return page;
}

/*
 * Waits until a page, on which a reference is held, is up to date; reads it itself if the read that was
 * under way has failed. 0; -EIO; -EAGAIN: it is not the file's any more. May switch tasks.
 */
static int wait_uptodate(struct machine *m, struct inode *inode, struct page *page)
{
	for (u32 i = 0;; i++) {
		bool ours, uptodate;

		if (lock_page_killable(m, page))
			return -EINTR;
		ours = page->mapping == inode->i_data.number;
		uptodate = page_test(page, PG_uptodate);
		if (!ours || uptodate || i) {
			unlock_page(m, page);
			return !ours ? -EAGAIN : uptodate ? 0 : -EIO;
		}
		readpage(m, inode, page); /* unlocks it */
	}
}

/*
 * The page at @index, up to date, with a reference: *@pagep. @req: pages that the call still wants.
 * 0, -ENOMEM or -EIO. May switch tasks.
 */
static int get_read_page(struct machine *m, struct file *file, u64 index, u64 req,
                         struct page **pagep)
{
	struct inode *inode = file->f_inode;
	struct address_space *mapping = &inode->i_data;

	for (;;) {
		struct page *page = find_get_page(m, mapping, index);
		int err = 0;

		if (unlikely(!page)) {
			page_cache_sync_readahead(m, file, index, req);
			page = find_get_page(m, mapping, index);
			if (!page)
				page = no_cached_page(m, inode, index, &err);
			if (!page && err != -EEXIST)
				return err;
			if (!page)
				continue; /* it has come and gone */
		}
		if (unlikely(page_test(page, PG_readahead)))
			page_cache_async_readahead(m, file, page, index, req);
		if (likely(page_test(page, PG_uptodate))) {
			*pagep = page;
			return 0;
		}
		err = wait_uptodate(m, inode, page);
		if (!err) {
			*pagep = page;
			return 0;
		}
		put_page(m, page);
		if (err != -EAGAIN)
			return err;
	}
}

/* What a part of a page costs to copy. */
void charge_copy_user(u64 bytes)
{
	charge(COST_FILEMAP);
	if (bytes == PAGE_SIZE)
		charge(COST_COPY_USER);
	else
		charge_ns(world_self->cost[COST_COPY_USER] * bytes / PAGE_SIZE);
}

/* Bytes read go to *@done; 0, or why there are not more, if there are none. May switch tasks. */
int generic_file_read(struct machine *m, struct file *file, u64 pos, u64 len, u64 *done)
{
	struct inode *inode = file->f_inode;
	struct file_ra_state *ra = &file->f_ra;
	u64 end = pos + len;
	s64 prev_index = ra->prev_pos >> PAGE_SHIFT;
	u64 prev_offset = (u64)ra->prev_pos & ~PAGE_MASK;
	int err = 0;

	if (mapping_is_shmem(&inode->i_data))
		return shmem_file_read(m, file, pos, len, done);
	*done = 0;
	while (pos < end) {
		u64 index = pos >> PAGE_SHIFT;
		u64 offset = pos & ~PAGE_MASK;
		u64 size = READ_ONCE(inode->i_size);
		u64 bytes = min(PAGE_SIZE - offset, end - pos);
		struct page *page;

		if (pos >= size)
			break;
		world_cond_resched();
		err = get_read_page(m, file, index, DIV_ROUND_UP(end, PAGE_SIZE) - index, &page);
		if (err)
			break;
		size = READ_ONCE(inode->i_size);
		if (unlikely(pos >= size)) { /* truncated meanwhile */
			put_page(m, page);
			break;
		}
		bytes = min(bytes, size - pos);
		if ((s64)index != prev_index || offset != prev_offset)
			mark_page_accessed(m, page);
		prev_index = (s64)index;
		world_contents_file(WORLD_FILE_READ, inode->nr_created, index,
		                    page_to_pfn(m, page));
		charge_copy_user(bytes);
		put_page(m, page);
		pos += bytes;
		*done += bytes;
		prev_offset = pos & ~PAGE_MASK;
		if (unlikely(current_task()->killed))
			break;
	}
	ra->prev_pos = prev_index * (s64)PAGE_SIZE | (s64)prev_offset; /* -1: no page */
	return *done ? 0 : err;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* The page at @index, locked, from the cache or new: NULL: no memory. May switch tasks. */
static struct page *grab_cache_page(struct machine *m, struct inode *inode, u64 index)
{
	struct address_space *mapping = &inode->i_data;

	for (;;) {
		struct page *page = find_get_page(m, mapping, index);
		int err;

		if (page) {
			lock_page(m, page);
			if (likely(page->mapping == mapping->number))
				return page;
			unlock_page(m, page);
			put_page(m, page);
			continue;
		}
		page = alloc_page(m, GFP_HIGHUSER_MOVABLE | __GFP_WRITE);
		if (!page)
			return NULL;
		err = add_to_page_cache_lru(m, page, mapping, index, GFP_NOFS);
		if (!err)
			return page;
		put_page(m, page);
		if (err != -EEXIST)
			return NULL;
	}
}

/* The rest of a page of which only a part is written. Page locked, and locked again. */
static int fill_the_rest(struct machine *m, struct inode *inode, struct page *page, u64 pos)
{
	u64 block;

	/* Behind the end, or in a hole, there is nothing to read. */
	if ((pos & PAGE_MASK) >= inode->i_size || !inode_bmap(inode, page->index, &block)) {
		world_frame_clear(page_to_pfn(m, page));
		page_set(page, PG_uptodate);
		return 0;
	}
	readpage(m, inode, page);
	lock_page(m, page);
	if (page->mapping != inode->i_data.number)
		return -EAGAIN;
	return page_test(page, PG_uptodate) ? 0 : -EIO;
}

/* Copies one page's part of a write. 0, -EAGAIN (truncated meanwhile), -ENOSPC, -ENOMEM, -EIO. */
static int write_one_page(struct machine *m, struct inode *inode, u64 pos, u64 bytes)
{
	u64 index = pos >> PAGE_SHIFT;
	struct page *page;
	u64 block;
	int err = 0;

	if (mapping_is_shmem(&inode->i_data))
		return shmem_write_page(m, inode, pos, bytes);
	page = grab_cache_page(m, inode, index);
	if (!page)
		return -ENOMEM;
	if (m->knob.stable_pages == KNOB_ON)
		wait_on_page_writeback(m, page);
	if (bytes != PAGE_SIZE && !page_test(page, PG_uptodate))
		err = fill_the_rest(m, inode, page, pos);
	if (!err)
		err = inode_get_block(m, inode, index, &block);
	if (err)
		goto out;
	world_contents_file(bytes == PAGE_SIZE ? WORLD_FILE_FILL : WORLD_FILE_WRITE,
	                    inode->nr_created, index, page_to_pfn(m, page));
	charge_copy_user(bytes);
	page_set(page, PG_uptodate);
	set_page_dirty(m, page);
	mark_page_accessed(m, page);
	if (pos + bytes > inode->i_size)
		WRITE_ONCE(inode->i_size, pos + bytes);
out:
	unlock_page(m, page);
	put_page(m, page);
	return err;
}

int generic_file_write(struct machine *m, struct file *file, u64 pos, u64 len, u64 *done)
{
	struct inode *inode = file->f_inode;
	u64 end = pos + len;
	int err = 0;

	*done = 0;
	mutex_lock(&inode->i_mutex);
	while (pos < end) {
		u64 bytes = min(PAGE_SIZE - (pos & ~PAGE_MASK), end - pos);

		world_cond_resched();
		if (unlikely(current_task()->killed))
			break;
		err = write_one_page(m, inode, pos, bytes);
		if (err == -EAGAIN)
			continue;
		if (err)
			break;
		pos += bytes;
		*done += bytes;
		balance_dirty_pages_ratelimited(m, &inode->i_data);
	}
	mutex_unlock(&inode->i_mutex);
	return *done ? 0 : err;
}
