/*
 * Buffered reads and writes (Linux mm/filemap.c: do_generic_file_read(), generic_perform_write(); what
 * a file system such as ext3 does around them).
 *
 * A read goes page by page, or folio by folio: look it up, let readahead see a miss or a marker, wait if it is
 * not up to date, copy. A page is marked as accessed once per read() that comes to it, and not again by one that
 * goes on where the last one stopped within the page, or the folio.
 *
 * A write takes the inode's mutex, and for each page, or each folio, gets it, brings it up to date if only a part
 * is written, gets it its blocks (so a full disk is found out here), copies, and makes it dirty. Where nothing is
 * it makes a folio as large as what is still to be written, and as the offset is aligned.
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
static int wait_uptodate(struct machine *m, struct inode *inode, struct page *page, u64 index)
{
	for (u32 i = 0;; i++) {
		bool ours, uptodate;

		if (lock_page_killable(m, page))
			return -EINTR;
		ours = page->mapping == inode->i_data.number && folio_contains(page, index);
		uptodate = page_test(page, PG_uptodate);
		if (!ours || uptodate || i) {
			unlock_page(m, page);
			return !ours ? -EAGAIN : uptodate ? 0 : -EIO;
		}
		readpage(m, inode, page); /* unlocks it */
	}
}

/*
 * The page, or folio, at @index, up to date, with a reference: *@pagep. @req: pages that the call still wants.
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
			page_cache_async_readahead(m, file, page, page->index,
			                           req + (index - page->index));
		if (likely(page_test(page, PG_uptodate))) {
			*pagep = page;
			return 0;
		}
		err = wait_uptodate(m, inode, page, index);
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
static void charge_copy_bytes(u64 bytes)
{
	if (bytes == PAGE_SIZE)
		charge(COST_COPY_USER);
	else
		charge_ns(world_self->cost[COST_COPY_USER] * bytes / PAGE_SIZE);
}

void charge_copy_user(u64 bytes)
{
	charge(COST_FILEMAP);
	charge_copy_bytes(bytes);
}

/* How much of [@pos, @end) the folio has that has @pos. */
static u64 folio_bytes(const struct page *folio, u64 pos, u64 end)
{
	return min(end, folio_next_index(folio) << PAGE_SHIFT) - pos;
}

/*
 * Does a read at @pos go on where one of the same page has stopped, at @prev_offset? For large folios: of the same
 * folio, wherever (pos_same_folio(), 6.2).
 */
static bool read_goes_on(const struct page *folio, u64 pos, s64 prev_index, u64 prev_offset)
{
	if (unlikely(page_is_compound(folio)))
		return folio_contains(folio, (u64)prev_index);
	return pos >> PAGE_SHIFT == (u64)prev_index && (pos & ~PAGE_MASK) == prev_offset;
}

/*
 * Copies @bytes of @folio from @pos on to the user. One that has been cut off while the call held it, waiting, reads as
 * what it was before, though the file may have grown again meanwhile: in Linux, too.
 */
static void copy_folio_to_user(struct machine *m, const struct inode *inode, struct page *folio,
                               u64 pos, u64 bytes)
{
	u64 pfn = page_to_pfn(m, folio) + ((pos >> PAGE_SHIFT) - folio->index);

	charge(COST_FILEMAP);
	for (u64 n; bytes; pos += n, bytes -= n) {
		n = min(PAGE_SIZE - (pos & ~PAGE_MASK), bytes);
		if (likely(folio->mapping == inode->i_data.number))
			world_contents_file(WORLD_FILE_READ, inode->nr_created, pos >> PAGE_SHIFT,
			                    pfn++);
		charge_copy_bytes(n);
	}
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
		u64 size = READ_ONCE(inode->i_size);
		struct page *page;
		u64 bytes;

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
		bytes = folio_bytes(page, pos, min(end, size));
		if (!read_goes_on(page, pos, prev_index, prev_offset))
			mark_page_accessed(m, page);
		copy_folio_to_user(m, inode, page, pos, bytes);
		put_page(m, page);
		pos += bytes;
		*done += bytes;
		prev_index = (s64)((pos - 1) >> PAGE_SHIFT);
		prev_offset = pos & ~PAGE_MASK;
		if (unlikely(current_task()->killed))
			break;
	}
	ra->prev_pos = prev_index * (s64)PAGE_SIZE | (s64)prev_offset; /* -1: no page */
	return *done ? 0 : err;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* How large a folio a write of @bytes at @index may make (fgf_set_order()): of no more than it fills. */
static unsigned int write_folio_order(const struct machine *m, const struct address_space *mapping,
                                      u64 index, u64 bytes)
{
	unsigned int order = mapping_max_folio_order(m, mapping);

	if (!order || bytes < 2 * PAGE_SIZE)
		return 0;
	order = min(order, (unsigned int)fls64(bytes >> PAGE_SHIFT) - 1);
	return index & ((1UL << order) - 1) ? (unsigned int)__builtin_ctzl(index) : order;
}

/*
 * A new page at @index, locked, or a folio of @order, or the largest below that for which there is memory and
 * room among what is there. 0, -EEXIST or -ENOMEM. May switch tasks.
 */
static int new_cache_page(struct machine *m, struct address_space *mapping, u64 index,
                          unsigned int order, struct page **pagep)
{
	for (;; order--) {
		gfp_t gfp = GFP_HIGHUSER_MOVABLE | __GFP_WRITE |
		            (order ? __GFP_NORETRY | __GFP_NOWARN : 0);
		struct page *page = filemap_alloc_folio(m, gfp, order);
		int err = -ENOMEM;

		*pagep = page;
		if (page)
			err = add_to_page_cache_lru(m, page, mapping, index, GFP_NOFS);
		if (!err)
			return 0;
		if (page)
			put_page(m, page);
		if (!order)
			return err;
	}
}

/*
 * The page at @index, or the folio that has it, locked, from the cache or new, of @order then, if that is to be had.
 * NULL: no memory. May switch tasks.
 */
static struct page *grab_cache_page(struct machine *m, struct inode *inode, u64 index,
                                    unsigned int order)
{
	struct address_space *mapping = &inode->i_data;

	for (;;) {
		struct page *page = find_get_page(m, mapping, index);
		int err;

		if (page) {
			lock_page(m, page);
			if (likely(page->mapping == mapping->number && folio_contains(page, index)))
				return page;
			unlock_page(m, page);
			put_page(m, page);
			continue;
		}
		err = new_cache_page(m, mapping, index, order, &page);
		if (!err)
			return page;
		if (err != -EEXIST)
			return NULL;
	}
}

/* Is there anything on the disk of what @folio is for? Behind the end, or in a hole, there is not. */
static bool nothing_to_read(struct inode *inode, const struct page *folio, u64 pos)
{
	u64 block;

	if (unlikely(page_is_compound(folio)))
		return folio->index << PAGE_SHIFT >= inode->i_size;
	return (pos & PAGE_MASK) >= inode->i_size || !inode_bmap(inode, folio->index, &block);
}

/* A page, or folio, that is a hole. */
static void clear_folio(struct machine *m, struct page *folio)
{
	for (u32 i = 0; i < compound_nr(folio); i++)
		world_frame_clear(page_to_pfn(m, folio) + i);
	page_set(folio, PG_uptodate);
}

/* The rest of a page, or folio, of which only a part is written. Locked, and locked again. */
static int fill_the_rest(struct machine *m, struct inode *inode, struct page *page, u64 pos)
{
	if (nothing_to_read(inode, page, pos)) {
		clear_folio(m, page);
		return 0;
	}
	readpage(m, inode, page);
	lock_page(m, page);
	if (page->mapping != inode->i_data.number || !folio_contains(page, pos >> PAGE_SHIFT))
		return -EAGAIN;
	return page_test(page, PG_uptodate) ? 0 : -EIO;
}

/*
 * Does it take a read to make a write of @bytes of @page? Of all of a page: no; of a large folio: only if none or all
 * of its pages are on the disk, so that it is known what it is if there are not blocks for all of it.
 */
static bool must_fill(struct inode *inode, const struct page *page, u64 bytes)
{
	u64 block;
	u64 run;

	if (page_test(page, PG_uptodate))
		return false;
	if (bytes != (u64)compound_nr(page) << PAGE_SHIFT)
		return true;
	if (likely(!page_is_compound(page)))
		return false;
	inode_bmap_run(inode, page->index, compound_nr(page), &block, &run);
	return run < compound_nr(page);
}

/*
 * Blocks for the pages that [@pos, @pos + *@bytes) touches; as many as are to be had, and *@bytes becomes what goes
 * there. An error: none.
 */
static int get_write_blocks(struct machine *m, struct inode *inode, u64 pos, u64 *bytes)
{
	u64 first = pos >> PAGE_SHIFT;
	u64 got;
	int err = inode_get_blocks(m, inode, first, DIV_ROUND_UP(pos + *bytes, PAGE_SIZE) - first,
	                           &got);

	if (!got)
		return err;
	*bytes = min(*bytes, ((first + got) << PAGE_SHIFT) - pos);
	return 0;
}

/* Copies @bytes from the user to @folio, from @pos on. */
static void copy_user_to_folio(struct machine *m, const struct inode *inode, struct page *folio,
                               u64 pos, u64 bytes)
{
	u64 pfn = page_to_pfn(m, folio) + ((pos >> PAGE_SHIFT) - folio->index);

	charge(COST_FILEMAP);
	for (u64 n; bytes; pos += n, bytes -= n) {
		n = min(PAGE_SIZE - (pos & ~PAGE_MASK), bytes);
		world_contents_file(n == PAGE_SIZE ? WORLD_FILE_FILL : WORLD_FILE_WRITE,
		                    inode->nr_created, pos >> PAGE_SHIFT, pfn++);
		charge_copy_bytes(n);
	}
}

/*
 * Copies one page's part of a write of *@bytes, or one folio's: *@bytes is what it took then. 0, -EAGAIN (truncated
 * meanwhile), -ENOSPC, -ENOMEM, -EIO.
 */
static int write_one_page(struct machine *m, struct inode *inode, u64 pos, u64 *bytes)
{
	u64 index = pos >> PAGE_SHIFT;
	unsigned int order = write_folio_order(m, &inode->i_data, index, *bytes);
	struct page *page = grab_cache_page(m, inode, index, order);
	u64 wanted;
	int err = 0;

	if (!page)
		return -ENOMEM;
	*bytes = wanted = folio_bytes(page, pos, pos + *bytes);
	if (m->knob.stable_pages == KNOB_ON)
		wait_on_page_writeback(m, page);
	if (must_fill(inode, page, wanted))
		err = fill_the_rest(m, inode, page, pos);
	if (err)
		goto out;
	err = get_write_blocks(m, inode, pos, bytes);
	if (unlikely((err || *bytes != wanted) && page_is_compound(page) &&
	             !page_test(page, PG_uptodate)))
		clear_folio(m, page); /* all of it was a hole */
	if (err)
		goto out;
	copy_user_to_folio(m, inode, page, pos, *bytes);
	page_set(page, PG_uptodate);
	folio_set_blocks_dirty(page, (u32)(index - page->index),
	                       (u32)(DIV_ROUND_UP(pos + *bytes, PAGE_SIZE) - index));
	__set_page_dirty(m, page);
	mark_page_accessed(m, page);
	if (pos + *bytes > inode->i_size)
		WRITE_ONCE(inode->i_size, pos + *bytes);
out:
	unlock_page(m, page);
	put_page(m, page);
	return err;
}

/* One part of [@pos, @pos + *@bytes): *@bytes of it. */
static int write_part(struct machine *m, struct inode *inode, u64 pos, u64 *bytes)
{
	if (!mapping_is_shmem(&inode->i_data))
		return write_one_page(m, inode, pos, bytes);
	*bytes = min(PAGE_SIZE - (pos & ~PAGE_MASK), *bytes);
	return shmem_write_page(m, inode, pos, *bytes);
}

int generic_file_write(struct machine *m, struct file *file, u64 pos, u64 len, u64 *done)
{
	struct inode *inode = file->f_inode;
	u64 end = pos + len;
	int err = 0;

	*done = 0;
	mutex_lock(&inode->i_mutex);
	while (pos < end) {
		u64 bytes = end - pos;

		world_cond_resched();
		if (unlikely(current_task()->killed))
			break;
		err = write_part(m, inode, pos, &bytes);
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
