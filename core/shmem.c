/*
 * Shared memory: shared anonymous mappings, and files of a tmpfs (Linux mm/shmem.c).
 *
 * Pages of a file that has no disk: they live in the page cache, and reclaim swaps them out as it does
 * anonymous ones. They are PG_swapbacked, hence on the anonymous lists; who maps them the file's interval
 * tree tells. A page on its way out moves from the page cache to the swap cache (shmem_writepage()), and
 * its place in the file's index keeps the swap entry; the first to touch it reads it back and moves it to
 * the page cache again. Such a slot is counted once, for the place. (Linux marks it SWAP_MAP_SHMEM.)
 *
 * A page that was only ever read is clean, and dropped without I/O: what comes in its place is as empty.
 *
 * A shared anonymous mapping is a file without a name, accounted as a whole when it is made. Files of a
 * tmpfs are accounted page by page, and there may be no more of those than half of memory.
 *
 * Locks: inode->shmem_lock guards its two counts of pages; the index is the tree lock's. Left out: huge
 * pages, shared policies, sealing, SHM_LOCK, extended swap-in (6.12: several pages at once).
 */
#include "core/fault.h"
#include "core/fs.h"
#include "core/swap.h"

#include <errno.h>

/* ---- accounting ---------------------------------------------------------------------------------- */

static bool shmem_is_tmpfs(const struct inode *inode)
{
	return !inode->shmem_prealloc;
}

/* One page more. -ENOSPC: the tmpfs is full, or overcommit says no. */
static int shmem_acct_block(struct machine *m, struct inode *inode)
{
	struct fs *fs = m->fs;

	if (shmem_is_tmpfs(inode)) {
		world_order();
		if (!inode->shmem_unlimited && fs->nr_shmem >= fs->max_shmem)
			return -ENOSPC;
		if (vm_enough_memory(m, current_task()->mm, 1))
			return -ENOSPC;
	}
	fs->nr_shmem += !inode->shmem_unlimited;
	inode->shmem_alloced += 1;
	return 0;
}

static void shmem_unacct_blocks(struct machine *m, struct inode *inode, u64 nr)
{
	if (!nr)
		return;
	VM_BUG_ON(nr > inode->shmem_alloced);
	inode->shmem_alloced -= nr;
	if (!inode->shmem_unlimited)
		m->fs->nr_shmem -= nr;
	if (shmem_is_tmpfs(inode))
		vm_unacct_memory(m, nr);
}

/* Reclaim drops clean pages without telling: the file has fewer than it has been charged for. */
void shmem_recalc_inode(struct machine *m, struct inode *inode)
{
	const struct address_space *mapping = &inode->i_data;
	u64 has;

	world_order();
	has = mapping->nrpages + mapping->nrexceptional + inode->shmem_coming;
	if (inode->shmem_alloced > has)
		shmem_unacct_blocks(m, inode, inode->shmem_alloced - has);
}

/* ---- files ------------------------------------------------------------------------------------------ */

int shmem_file_setup(struct machine *m, const char *name, u64 size, bool noreserve,
                     struct file **out)
{
	u64 nr_pages = DIV_ROUND_UP(size, PAGE_SIZE);
	struct inode *inode;
	int err;

	if (!noreserve && vm_enough_memory(m, current_task()->mm, nr_pages))
		return -ENOMEM;
	err = inode_create(m, NULL, name, size, true, &inode);
	if (!err) {
		inode->i_data.flags |= AS_SHMEM;
		inode->shmem_unlimited = true;
		inode->shmem_prealloc = noreserve ? 0 : nr_pages;
		inode->i_nlink = 0;
		iget(inode);
		err = file_open(m, inode, out);
		iput(m, inode); /* which gives the account back, if that was the last */
	} else if (!noreserve) {
		vm_unacct_memory(m, nr_pages);
	}
	return err;
}

int machine_shm_create(struct machine *m, const char *name, u64 size, u32 *ino)
{
	struct inode *inode;
	int err = inode_create(m, NULL, name, size, true, &inode);

	if (err)
		return err;
	inode->i_data.flags |= AS_SHMEM;
	*ino = inode->i_data.number;
	return 0;
}

/* Its pages and swap entries are gone. */
void shmem_evict_inode(struct machine *m, struct inode *inode)
{
	shmem_recalc_inode(m, inode);
	VM_BUG_ON(inode->shmem_alloced);
	vm_unacct_memory(m, inode->shmem_prealloc);
}

/* ---- into the page cache and out of it ------------------------------------------------------------------ */

/* @page, locked and with its references, takes the place of @entry. False: that is not there any more. */
static bool shmem_replace_entry(struct machine *m, struct address_space *mapping, struct page *page,
                                u64 index, swp_entry_t entry)
{
	bool found;

	spin_lock_irq(&mapping->tree_lock);
	found = xa_load(m, &mapping->i_pages, index) == xa_mk_swap(entry);
	if (found) {
		page->refcount += 1;
		page->mapping = mapping->number;
		page->index = index;
		xa_store(m, &mapping->i_pages, mapping->number, index,
		         xa_mk_page(page_to_pfn(m, page)));
		mapping->nrpages += 1;
		mapping->nrexceptional -= 1;
		mod_holder_state2(m, page_zone(m, page)->node_stat, NR_FILE_PAGES, 1, NR_SHMEM, 1);
	}
	spin_unlock_irq(&mapping->tree_lock);
	return found;
}

/* The reverse: the page, locked and in the swap cache, leaves @entry behind. */
static void shmem_delete_from_page_cache(struct machine *m, struct page *page, swp_entry_t entry)
{
	struct address_space *mapping = page_mapping(m, page);

	spin_lock_irq(&mapping->tree_lock);
	xa_store(m, &mapping->i_pages, mapping->number, page->index, xa_mk_swap(entry));
	mapping->nrpages -= 1;
	mapping->nrexceptional += 1;
	page->mapping = 0;
	mod_holder_state2(m, page_zone(m, page)->node_stat, NR_FILE_PAGES, -1, NR_SHMEM, -1);
	spin_unlock_irq(&mapping->tree_lock);
	put_page(m, page);
}

/*
 * Reclaim wants the page gone: locked, unmapped, dirty cleared. 0: its write has begun or is over, and it is
 * unlocked. -ENOSPC: there is no slot for it; it is dirty again, and locked. May switch tasks.
 */
int shmem_writepage(struct machine *m, struct page *page)
{
	swp_entry_t entry;

	VM_BUG_ON(!page_test(page, PG_locked) || page_mapped(page));
	span_enter(SPAN_ADD_TO_SWAP);
	entry = get_swap_page(m);
	if (entry.v && add_to_swap_cache(m, page, entry, NULL)) {
		swapcache_free(m, entry);
		entry.v = 0;
	}
	span_exit();
	if (!entry.v) {
		page_set(page, PG_dirty);
		return -ENOSPC;
	}
	VM_BUG_ON(swap_duplicate(m, entry)); /* the index counts as one user */
	shmem_delete_from_page_cache(m, page, entry);
	return swap_writepage(m, page);
}

/* ---- getting a page ------------------------------------------------------------------------------------- */

static bool shmem_confirm_swap(struct machine *m, struct address_space *mapping, u64 index,
                               swp_entry_t entry)
{
	world_order();
	return xa_load(m, &mapping->i_pages, index) == xa_mk_swap(entry);
}

/*
 * Reads @entry back and puts the page at @index: *@pagep, locked and with a reference. -EEXIST: somebody
 * else has, or it was truncated; look again. -ENOMEM, -EIO. *@major: it had to be read.
 */
static int shmem_swapin(struct machine *m, struct address_space *mapping, u64 index,
                        swp_entry_t entry, struct page **pagep, bool *major)
{
	struct page *page = lookup_swap_cache(m, entry, NULL, 0);
	int err = -EEXIST;

	if (!page) {
		count_vm_event(m, PGMAJFAULT);
		*major = true;
		psi_memstall_enter();
		span_enter(SPAN_SWAP_IN);
		page = swapin_readahead(m, entry, GFP_HIGHUSER_MOVABLE, NULL, 0);
		span_exit();
		psi_memstall_leave();
		if (!page)
			return shmem_confirm_swap(m, mapping, index, entry) ? -ENOMEM : -EEXIST;
	}
	lock_page(m, page);
	if (!page_test(page, PG_swapcache) || page_swap_entry(m, page).v != entry.v ||
	    !shmem_confirm_swap(m, mapping, index, entry))
		goto out_unlock;
	err = -EIO;
	if (!page_test(page, PG_uptodate))
		goto out_unlock;
	wait_on_page_writeback(m, page);
	err = -EEXIST;
	if (!shmem_replace_entry(m, mapping, page, index, entry))
		goto out_unlock;
	delete_from_swap_cache(m, page);
	page_set(page, PG_dirty);
	swap_free(m, entry);
	*pagep = page;
	return 0;

out_unlock:
	unlock_page(m, page);
	put_page(m, page);
	return err;
}

/* A new page at @index, empty. -EEXIST: there is something by now. */
static int shmem_alloc_page(struct machine *m, struct inode *inode, u64 index, struct page **pagep)
{
	struct page *page;
	int err = shmem_acct_block(m, inode);

	if (err)
		return err;
	inode->shmem_coming += 1;
	err = -ENOMEM;
	page = alloc_page(m, GFP_HIGHUSER_MOVABLE);
	if (page) {
		page_set(page, PG_swapbacked);
		err = add_to_page_cache_lru(m, page, &inode->i_data, index, GFP_KERNEL);
	}
	inode->shmem_coming -= 1;
	if (err) {
		shmem_recalc_inode(m, inode);
		if (page)
			put_page(m, page);
		return err;
	}
	world_frame_clear(page_to_pfn(m, page));
	page_set(page, PG_uptodate);
	*pagep = page;
	return 0;
}

/*
 * The page at @index, locked, complete and with a reference. SGP_READ: NULL for one that there is not.
 * 0, -EINVAL: behind the end of the file (SGP_WRITE may go there), -ENOMEM, -ENOSPC, -EIO. May switch tasks.
 */
int shmem_getpage(struct machine *m, struct inode *inode, u64 index, enum sgp_type sgp,
                  struct page **pagep, bool *major)
{
	struct address_space *mapping = &inode->i_data;

	for (;;) {
		struct page *page = NULL;
		u64 entry;
		int err = 0;

		if (sgp != SGP_WRITE && index >= DIV_ROUND_UP(READ_ONCE(inode->i_size), PAGE_SIZE))
			return -EINVAL;
		world_order();
		entry = xa_load(m, &mapping->i_pages, index);
		if (xa_is_page(entry)) {
			page = find_get_page(m, mapping, index);
			if (page)
				lock_page(m, page);
		} else if (entry) {
			err = shmem_swapin(m, mapping, index, xa_to_swap(entry), &page, major);
		} else if (sgp == SGP_READ) {
			*pagep = NULL;
			return 0;
		} else {
			err = shmem_alloc_page(m, inode, index, &page);
		}
		if (err && err != -EEXIST)
			return err;
		if (page && page->mapping == mapping->number && page->index == index) {
			/* Not behind the end, if that has come nearer meanwhile: truncation waits. */
			*pagep = page;
			return 0;
		}
		if (page) {
			unlock_page(m, page);
			put_page(m, page);
		}
		world_cond_resched();
	}
}

/* ---- faults, reads, writes --------------------------------------------------------------------------------- */

/* As filemap_fault(). */
int shmem_fault(struct vm_fault *f, struct page **pagep)
{
	struct inode *inode = f->vma->vm_file->f_inode;
	u64 index = vma_index(f->vma, f->va);
	bool major = false;
	int err = shmem_getpage(f->m, inode, index, SGP_CACHE, pagep, &major);
	int ret = major ? VM_FAULT_MAJOR : 0;

	if (!err && index >= inode_pages(inode)) {
		unlock_page(f->m, *pagep);
		put_page(f->m, *pagep);
		err = -EINVAL;
	}
	if (!err)
		return ret;
	return ret | (err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS);
}

int shmem_file_read(struct machine *m, struct file *file, u64 pos, u64 len, u64 *done)
{
	struct inode *inode = file->f_inode;
	u64 end = pos + len;
	bool major;
	int err = 0;

	*done = 0;
	while (pos < end && pos < READ_ONCE(inode->i_size) && !current_task()->killed) {
		u64 bytes = min3(PAGE_SIZE - (pos & ~PAGE_MASK), end - pos, inode->i_size - pos);
		struct page *page;

		world_cond_resched();
		err = shmem_getpage(m, inode, pos >> PAGE_SHIFT, SGP_READ, &page, &major);
		if (err)
			break;
		if (page) { /* else a hole, which reads as zeros */
			unlock_page(m, page);
			mark_page_accessed(m, page);
			world_contents_file(WORLD_FILE_READ, inode->nr_created, pos >> PAGE_SHIFT,
			                    page_to_pfn(m, page));
		}
		charge_copy_user(bytes);
		if (page)
			put_page(m, page);
		pos += bytes;
		*done += bytes;
	}
	return *done || err == -EINVAL ? 0 : err;
}

/* One page's part of a write. */
int shmem_write_page(struct machine *m, struct inode *inode, u64 pos, u64 bytes)
{
	u64 index = pos >> PAGE_SHIFT;
	bool major;
	struct page *page;
	int err = shmem_getpage(m, inode, index, SGP_WRITE, &page, &major);

	if (err)
		return err;
	world_contents_file(bytes == PAGE_SIZE ? WORLD_FILE_FILL : WORLD_FILE_WRITE,
	                    inode->nr_created, index, page_to_pfn(m, page));
	charge_copy_user(bytes);
	page_set(page, PG_dirty);
	if (pos + bytes > inode->i_size)
		WRITE_ONCE(inode->i_size, pos + bytes);
	unlock_page(m, page);
	mark_page_accessed(m, page);
	put_page(m, page);
	return 0;
}

/* MADV_WILLNEED: starts reading what is swapped out of [@start, @end). */
void shmem_willneed(struct machine *m, struct address_space *mapping, u64 start, u64 end)
{
	for (u64 index = start; index < end; index++) {
		struct page *page;
		u64 entry;

		world_cond_resched();
		world_order();
		entry = xa_find(m, &mapping->i_pages, &index, end - 1, XA_ANY);
		if (!entry)
			break;
		if (!xa_is_value(entry))
			continue;
		page = read_swap_cache_async(m, xa_to_swap(entry), GFP_HIGHUSER_MOVABLE, NULL, 0);
		if (page)
			put_page(m, page);
	}
	lru_add_drain(m);
}

/* ---- audit ------------------------------------------------------------------------------------------------- */

struct shmem_walk {
	void (*fn)(struct machine *m, swp_entry_t entry, void *arg);
	void *arg;
};

static void visit_entry(struct machine *m, u64 index, u64 entry, u32 marks, void *arg)
{
	struct shmem_walk *w = arg;

	(void)index, (void)marks;
	if (xa_is_value(entry))
		w->fn(m, xa_to_swap(entry), w->arg);
}

/* Swap entries in the indexes of files, for swapfile_audit(). */
void shmem_for_each_swap(struct machine *m,
                         void (*fn)(struct machine *m, swp_entry_t entry, void *arg), void *arg)
{
	struct shmem_walk w = {fn, arg};
	struct inode *inode;

	list_for_each_entry (inode, &m->fs->inodes, list)
		if (mapping_is_shmem(&inode->i_data))
			xa_audit(m, &inode->i_data.i_pages, visit_entry, &w);
}

/* What files have in Committed_AS. */
long shmem_committed(const struct machine *m)
{
	const struct inode *inode;
	long sum = 0;

	list_for_each_entry (inode, &m->fs->inodes, list)
		if (mapping_is_shmem(&inode->i_data))
			sum += (long)(shmem_is_tmpfs(inode) ? inode->shmem_alloced
			                                    : inode->shmem_prealloc);
	return sum;
}
