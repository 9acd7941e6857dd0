/*
 * Taking pages out of the page cache from above: truncation, invalidation (Linux mm/truncate.c, and
 * unmap_mapping_range() of mm/memory.c).
 *
 * Truncation shortens the file first, so that no fault maps what goes; then unmaps the tail, page by
 * page where a page is still found mapped, and takes the pages out, waiting for those that are locked
 * or being written. Who has the tail mapped gets SIGBUS at the next touch. Invalidation takes only what
 * nobody uses and nobody has to write.
 */
#include "core/fs.h"
#include "core/rmap.h"

/* ---- unmapping ---------------------------------------------------------------------------------------- */

/*
 * Takes all ptes of @page away, private copies apart (@even_cows is the whole file's affair, see
 * unmap_mapping_range()). Page locked.
 */
static void unmap_page_everywhere(struct machine *m, struct page *page)
{
	while (page_mapped(page))
		if (try_to_unmap_file(m, page, TTU_IGNORE_MLOCK) == SWAP_AGAIN)
			world_cond_resched(); /* a fork is just copying an entry */
}

/* Zaps what VMAs map of the file from page @from on, private copies too. May switch tasks. */
static void unmap_mapping_range(struct machine *m, struct address_space *mapping, u64 from)
{
	struct interval_node *node;

	i_mmap_lock_write(m, mapping);
	interval_tree_for_each (node, &mapping->i_mmap, from, ~0UL) {
		struct vm_area_struct *vma = container_of(node, struct vm_area_struct, shared);
		u64 start = vma->vm_start;

		if (from > vma->vm_pgoff)
			start += (from - vma->vm_pgoff) << PAGE_SHIFT;
		zap_file_range(m, vma, start, vma->vm_end);
	}
	i_mmap_unlock_write(m, mapping);
}

/* ---- removing -------------------------------------------------------------------------------------------- */

/* A locked page, whoever has it: out of the cache, whatever it holds. */
static void truncate_page(struct machine *m, struct page *page)
{
	unmap_page_everywhere(m, page);
	wait_on_page_writeback(m, page);
	if (page_test(page, PG_private))
		drop_buffers(m, page);
	cancel_dirty_page(m, page);
	page_clear(page, PG_reclaim); /* or the readahead marker */
	delete_from_page_cache(m, page);
}

/*
 * A large folio, locked, of which the pages from @from on go: it is split, and they are found as others. While
 * it is dirty, or somebody uses it, it stays as it is, and what goes is cleared: from then on it is behind the
 * end, where nobody looks; a clean one goes as a whole. True: there is nothing left of it to be removed.
 */
static bool truncate_partial_folio(struct machine *m, struct page *folio, u64 from)
{
	u64 pfn = page_to_pfn(m, folio);

	wait_on_page_writeback(m, folio);
	unmap_page_everywhere(m, folio);
	for (u64 i = from - folio->index; i < compound_nr(folio); i++)
		world_frame_clear(pfn + i);
	folio_clear_blocks_dirty(folio, (u32)(from - folio->index));
	if (!split_file_folio(m, folio))
		return false;
	if (!page_test(folio, PG_dirty))
		truncate_page(m, folio);
	return true;
}

/* All pages from @from on. Shadows go too. May switch tasks. */
void truncate_inode_pages(struct machine *m, struct address_space *mapping, u64 from)
{
	u64 index = from;
	u64 entry;

	for (;;) {
		struct page *page;

		world_cond_resched();
		spin_lock_irq(&mapping->tree_lock);
		entry = xa_find(m, &mapping->i_pages, &index, ~0UL, XA_ANY);
		if (xa_is_value(entry)) {
			xa_store(m, &mapping->i_pages, mapping->number, index, 0);
			mapping->nrexceptional -= 1;
		}
		spin_unlock_irq(&mapping->tree_lock);
		if (!entry)
			return;
		if (xa_is_value(entry)) {
			if (mapping_is_shmem(mapping))
				free_swap_and_cache(m, xa_to_swap(entry));
			index += 1;
			continue;
		}
		page = find_get_page(m, mapping, index);
		if (!page)
			continue; /* reclaim has it, and will leave a shadow at most */
		lock_page(m, page);
		if (page->mapping == mapping->number && folio_contains(page, index)) {
			u64 next = folio_next_index(page);

			if (page->index >= from)
				truncate_page(m, page);
			if (page->index >= from || truncate_partial_folio(m, page, from))
				index = next;
		}
		unlock_page(m, page);
		put_page(m, page);
	}
}

/* The file ends at @size now. i_mutex held. May switch tasks. */
void truncate_setsize(struct machine *m, struct inode *inode, u64 size)
{
	u64 from = DIV_ROUND_UP(size, PAGE_SIZE);

	WRITE_ONCE(inode->i_size, size);
	unmap_mapping_range(m, &inode->i_data, from);
	truncate_inode_pages(m, &inode->i_data, from);
	/* Faults that had looked at the size before it changed may have mapped some once more. */
	unmap_mapping_range(m, &inode->i_data, from);
	inode_free_blocks(m, inode, from);
	if (mapping_is_shmem(&inode->i_data))
		shmem_recalc_inode(m, inode);
	world_contents_file(WORLD_FILE_ZERO, inode->nr_created, from, 0);
}

/* One page that can go without loss, locked: true if it went. */
static bool invalidate_complete_page(struct machine *m, struct page *page)
{
	struct address_space *mapping = page_mapping(m, page);

	if (page_test(page, PG_dirty) || page_test(page, PG_writeback) || page_mapped(page))
		return false;
	if (page_test(page, PG_private) && !try_to_free_buffers(m, page))
		return false;
	spin_lock_irq(&mapping->tree_lock);
	/* The cache's and the caller's. */
	if (page->refcount != 1 + (s32)compound_nr(page) || page_test(page, PG_dirty)) {
		spin_unlock_irq(&mapping->tree_lock);
		return false;
	}
	page_clear(page, PG_reclaim);
	__delete_from_page_cache(m, page, 0);
	page->refcount = 1;
	spin_unlock_irq(&mapping->tree_lock);
	charge(COST_PAGE_FLAG);
	return true;
}

/* Pages of [@start, @end] that nobody uses. Returns how many went. May switch tasks. */
unsigned long invalidate_mapping_pages(struct machine *m, struct address_space *mapping, u64 start,
                                       u64 end)
{
	unsigned long nr = 0;
	u64 index = start;
	u64 next;

	for (; index <= end; index = next) {
		struct page *page;
		u64 entry;

		world_cond_resched();
		world_order();
		entry = xa_find(m, &mapping->i_pages, &index, end, XA_ANY);
		if (!entry)
			break;
		next = index + 1;
		if (!xa_is_page(entry))
			continue;
		page = find_get_page(m, mapping, index);
		if (!page)
			continue;
		if (page_is_compound(page) && folio_contains(page, index)) {
			next = folio_next_index(page);
			if (page->index < start || next - 1 > end) {
				put_page(m, page);
				continue; /* not all of it is asked for */
			}
		}
		if (trylock_page(m, page)) {
			u32 nr_pages = compound_nr(page);
			bool went = page->mapping == mapping->number &&
			            invalidate_complete_page(m, page);

			unlock_page(m, page);
			nr += went ? nr_pages : 0;
			if (!went && page->mapping == mapping->number)
				deactivate_file_page(m, page);
		}
		put_page(m, page);
	}
	return nr;
}

/* drop_caches bit 1: what is clean and unused of all files. Returns how many pages. */
unsigned long drop_pagecache(struct machine *m)
{
	u64 newest = m->fs->nr_inodes_created;
	unsigned long nr = 0;
	struct inode *inode, *next;

	/* Held, so that none goes away meanwhile; those that come are not our concern. */
	list_for_each_entry (inode, &m->fs->inodes, list)
		if (inode->nr_created <= newest)
			iget(inode);
	list_for_each_entry (inode, &m->fs->inodes, list)
		if (inode->nr_created <= newest)
			nr += invalidate_mapping_pages(m, &inode->i_data, 0, XA_INDEX_MAX);
	list_for_each_entry_safe (inode, next, &m->fs->inodes, list)
		if (inode->nr_created <= newest)
			iput(m, inode);
	return nr;
}
