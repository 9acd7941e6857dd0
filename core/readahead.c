/*
 * Readahead (Linux mm/readahead.c).
 *
 * Each open file remembers a window: start, size, and how much of its end is ahead of need
 * (async_size). The page with which that part begins carries PG_readahead; whoever comes to it
 * starts the next, larger window while the rest of this one is still being used. Reads that follow
 * nothing are random and get just what they ask for.
 *
 * Knob readahead.form: "2.6.31", where a miss at the expected places continues the sequence as well,
 * or "6.18", where only the marker does, and where a first window leaves half of itself for later.
 *
 * Where folios may be large (fs.max_folio_order) those of a first window are single pages; each window that the
 * marker starts has them four times as large, up to the window itself, and ends where such a folio would.
 */
#include "core/fs.h"

void file_ra_state_init(struct machine *m, struct file_ra_state *ra)
{
	*ra = (struct file_ra_state){
		.ra_pages = (u32)(m->knob.read_ahead_kb >> (PAGE_SHIFT - 10)),
		.prev_pos = -1,
	};
}

u64 get_init_ra_size(u64 size, u64 max)
{
	u64 newsize = 1;

	while (newsize < size)
		newsize <<= 1;
	if (newsize <= max / 32)
		newsize *= 4;
	else if (newsize <= max / 4)
		newsize *= 2;
	else
		newsize = max;
	return newsize;
}

u64 get_next_ra_size(u64 cur, u64 max)
{
	if (cur < max / 16)
		return 4 * cur;
	return cur <= max / 2 ? 2 * cur : max;
}

/* ---- reading a range --------------------------------------------------------------------------------- */

/* Frames for readahead are taken without trying hard: nobody needs these pages yet. */
#define GFP_READAHEAD (GFP_HIGHUSER_MOVABLE | __GFP_NORETRY | __GFP_NOWARN)

/* A new page at @index; false: there is no memory for more. *@page NULL: it is there already. */
static bool readahead_page(struct machine *m, struct address_space *mapping, u64 index, bool marker,
                           struct page **page)
{
	int err;

	*page = NULL;
	world_order();
	if (xa_is_page(xa_load(m, &mapping->i_pages, index)))
		return true;
	*page = alloc_page(m, GFP_READAHEAD);
	if (!*page)
		return false;
	err = add_to_page_cache_lru(m, *page, mapping, index, GFP_KERNEL | __GFP_NORETRY);
	if (err) {
		put_page(m, *page);
		*page = NULL;
		return err == -EEXIST;
	}
	if (marker)
		page_set(*page, PG_readahead);
	return true;
}

u64 do_page_cache_readahead(struct machine *m, struct file *file, u64 start, u64 nr, u64 lookahead)
{
	struct inode *inode = file->f_inode;
	u64 nr_pages = inode_pages(inode);
	struct mpage mp;
	u64 nr_read = 0;

	mpage_start(&mp, m, inode, false);
	for (u64 i = 0; i < nr && start + i < nr_pages; i++) {
		struct page *page;

		if (!readahead_page(m, &inode->i_data, start + i, lookahead && i == nr - lookahead,
		                    &page))
			break;
		if (!page)
			continue;
		mpage_read(&mp, page);
		put_page(m, page); /* the cache has its own; the reader looks it up */
		nr_read += 1;
	}
	mpage_submit(&mp);
	return nr_read;
}

/* A new folio at @index. -EEXIST: some of it is there; -ENOMEM. */
static int ra_alloc_folio(struct mpage *mp, u64 index, u64 mark, unsigned int order)
{
	struct machine *m = mp->m;
	struct page *folio = filemap_alloc_folio(m, GFP_READAHEAD, order);
	int err;

	if (!folio)
		return -ENOMEM;
	err = add_to_page_cache_lru(m, folio, &mp->inode->i_data, index,
	                            GFP_KERNEL | __GFP_NORETRY);
	if (!err) {
		if (index == ALIGN_DOWN(mark, 1UL << order))
			page_set(folio, PG_readahead);
		mpage_read(mp, folio);
	}
	put_page(m, folio);
	return err;
}

/*
 * The window in folios of ra->order, smaller where they would not be aligned, or beyond the end of the window
 * or the file. Where some of it is there already, or no memory for folios of this size, the rest is read by
 * single pages.
 */
static u32 page_cache_ra_order(struct machine *m, struct file *file, unsigned int max_order)
{
	struct file_ra_state *ra = &file->f_ra;
	u64 index = ra->start;
	u64 end = min(inode_pages(file->f_inode), ra->start + ra->size);
	u64 mark = index + ra->size - ra->async_size;
	struct mpage mp;
	int err = 0;

	ra->order = (u8)min3((unsigned int)ra->order, max_order, (unsigned int)fls64(ra->size) - 1);
	if (ra->order) {
		mpage_start(&mp, m, file->f_inode, false);
		while (index < end && !err) {
			unsigned int order = ra->order;

			if (index & ((1UL << order) - 1))
				order = (unsigned int)__builtin_ctzl(index);
			while (index + (1UL << order) > end)
				order--;
			err = ra_alloc_folio(&mp, index, mark, order);
			index += err ? 0 : 1UL << order;
		}
		mpage_submit(&mp);
	}
	if (index < end)
		do_page_cache_readahead(m, file, index, ra->start + ra->size - index,
		                        ra->async_size);
	return (u32)(end - min(end, ra->start));
}

u32 ra_submit(struct machine *m, struct file *file)
{
	struct file_ra_state *ra = &file->f_ra;
	unsigned int max_order = mapping_max_folio_order(m, &file->f_inode->i_data);

	if (max_order)
		return page_cache_ra_order(m, file, max_order);
	return (u32)do_page_cache_readahead(m, file, ra->start, ra->size, ra->async_size);
}

/* @nr pages, in blocks of 2 MiB so that not too many are locked at a time. */
void force_page_cache_readahead(struct machine *m, struct file *file, u64 start, u64 nr)
{
	while (nr) {
		u64 this_chunk = min_t(u64, nr, (2UL << 20) / PAGE_SIZE);

		do_page_cache_readahead(m, file, start, this_chunk, 0);
		start += this_chunk;
		nr -= this_chunk;
	}
}

/* ---- which range --------------------------------------------------------------------------------------- */

/*
 * Does the cache show that what comes before @index has been read in order? Then a stream is being
 * followed whose state was lost, or is shared with others.
 */
static bool try_context_readahead(struct machine *m, struct file *file, u64 index, u64 req, u64 max)
{
	struct file_ra_state *ra = &file->f_ra;
	u64 head = page_cache_prev_hole(m, &file->f_inode->i_data.i_pages, index - 1, max);
	u64 size = index - 1 - head;

	if (size <= req)
		return false;
	/* All of the file so far: surely a sequential reader. */
	if (size >= index)
		size *= 2;
	ra->start = index;
	ra->size = (u32)(m->knob.readahead == READAHEAD_2_6_31 ? get_init_ra_size(size + req, max)
	                                                       : min(size + req, max));
	ra->async_size = 1;
	return true;
}

static void initial_readahead(struct machine *m, struct file_ra_state *ra, u64 index, u64 req,
                              u64 max)
{
	ra->start = index;
	ra->size = (u32)get_init_ra_size(req, max);
	if (ra->size > req)
		ra->async_size = ra->size - (u32)req;
	else
		ra->async_size = m->knob.readahead == READAHEAD_2_6_31 ? ra->size : ra->size / 2;
}

static void next_window(struct file_ra_state *ra, u64 max)
{
	ra->start += ra->size;
	ra->size = (u32)get_next_ra_size(ra->size, max);
	ra->async_size = ra->size;
}

/* A first window that would be all lookahead: the next one is added to it at once. */
static void merge_next_window(struct file_ra_state *ra, u64 index, u64 max)
{
	if (index != ra->start || ra->size != ra->async_size)
		return;
	ra->async_size = (u32)get_next_ra_size(ra->size, max);
	ra->size += ra->async_size;
	if (ra->size > max) {
		ra->async_size = (u32)max / 2;
		ra->size = (u32)max;
	}
}

/* Several readers of one file: the marker is not where this one's window expects it. */
static bool interleaved_readahead(struct machine *m, struct file *file, u64 index, u64 req, u64 max)
{
	struct file_ra_state *ra = &file->f_ra;
	u64 start = page_cache_next_hole(m, &file->f_inode->i_data.i_pages, index + 1, max);

	if (!start || start - index > max)
		return false;
	ra->start = start;
	ra->size = (u32)get_next_ra_size(start - index + req, max);
	ra->async_size = ra->size;
	return true;
}

/* Is @index, of a folio of @nr pages, where the present window, or the part of it ahead of need, ends? */
static bool is_expected(const struct machine *m, const struct file_ra_state *ra, u64 index,
                        bool marker, u64 nr)
{
	if (!ra->size)
		return false;
	if (index == ALIGN_DOWN(ra->start + ra->size - ra->async_size, nr))
		return marker || m->knob.readahead == READAHEAD_2_6_31;
	return index == ra->start + ra->size && m->knob.readahead == READAHEAD_2_6_31;
}

/* The window is one that was expected: its folios are larger than the last one's, and it ends as they do. */
static void larger_folios(struct file_ra_state *ra, u64 max)
{
	u64 end = ra->start + ra->size;
	u64 aligned_end;

	ra->order += 2;
	aligned_end = ALIGN_DOWN(end, 1UL << min((u64)ra->order, (u64)__builtin_ctzl(max)));
	if (aligned_end > ra->start)
		ra->size -= (u32)(end - aligned_end);
	ra->async_size = ra->size;
}

/* @folio: has the marker, and is at @index; NULL: nothing is there. */
static void ondemand_readahead(struct machine *m, struct file *file, const struct page *folio,
                               u64 index, u64 req)
{
	bool marker = folio;
	struct file_ra_state *ra = &file->f_ra;
	u64 max = ra->ra_pages;
	u64 prev = (u64)ra->prev_pos >> PAGE_SHIFT;

	charge(COST_READAHEAD);
	if (!index) {
		initial_readahead(m, ra, index, req, max);
	} else if (is_expected(m, ra, index, marker, marker ? compound_nr(folio) : 1)) {
		next_window(ra, max);
	} else if (marker) {
		if (!interleaved_readahead(m, file, index, req, max))
			return;
	} else if (req > max || index - prev <= 1UL) {
		initial_readahead(m, ra, index, req, max);
	} else if (!try_context_readahead(m, file, index, req, max)) {
		do_page_cache_readahead(m, file, index, req, 0); /* random */
		return;
	}
	if (m->knob.readahead == READAHEAD_2_6_31)
		merge_next_window(ra, index, max);
	if (!marker)
		ra->order = 0;
	else if (mapping_max_folio_order(m, &file->f_inode->i_data))
		larger_folios(ra, max);
	ra_submit(m, file);
}

/* @index is not in the cache; @req pages from there are wanted. May switch tasks. */
void page_cache_sync_readahead(struct machine *m, struct file *file, u64 index, u64 req)
{
	if (!file->f_ra.ra_pages)
		return;
	span_enter(SPAN_READAHEAD);
	if (file->random)
		force_page_cache_readahead(m, file, index, req);
	else
		ondemand_readahead(m, file, NULL, index, req);
	span_exit();
}

/* @page, at @index, carries the marker. May switch tasks. */
void page_cache_async_readahead(struct machine *m, struct file *file, struct page *page, u64 index,
                                u64 req)
{
	if (!file->f_ra.ra_pages || page_test(page, PG_writeback))
		return;
	page_clear(page, PG_readahead);
	/* To 5.17 a busy disk is not given work that nobody waits for yet. */
	if (m->knob.throttle == THROTTLE_CONGESTION &&
	    bdi_congested(m, &file->f_inode->i_data, false))
		return;
	span_enter(SPAN_READAHEAD);
	ondemand_readahead(m, file, page, index, req);
	span_exit();
}
