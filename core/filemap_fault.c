/*
 * Faults on file mappings (Linux mm/filemap.c: filemap_fault(), filemap_map_pages(); mm/memory.c:
 * do_read_fault(), do_cow_fault(), do_shared_fault()).
 *
 * A read maps the page of the cache, and, since 3.15, those around it that happen to be there
 * (fault-around; vm.fault_around_bytes). A write to a private mapping copies the page; a write to a
 * shared one makes the page dirty and the entry writable: until then it is read-only, also where the
 * VMA may write, so that the first write after each writeback is noticed (page_mkwrite).
 *
 * Of a large folio all is mapped that fits the VMA, the table and the file, by what fault ever (6.18).
 *
 * The page is found in the cache (a minor fault), or readahead brings it, and the fault waits for its
 * lock: without the lock of the address space, if it may start again.
 */
#include "core/fault.h"
#include "core/fs.h"
#include "core/mlock.h"

#define MMAP_LOTSAMISS 100

/* ---- readahead of a mapping ------------------------------------------------------------------------ */

/* The page is not there. May switch tasks. */
static void do_sync_mmap_readahead(struct vm_fault *f, struct file *file, u64 index)
{
	struct file_ra_state *ra = &file->f_ra;
	u32 vm_flags = f->vma->vm_flags;

	if (vm_flags & VM_RAND_READ || !ra->ra_pages)
		return;
	if (vm_flags & VM_SEQ_READ) {
		page_cache_sync_readahead(f->m, file, index,
		                          f->m->knob.mmap_sequential == KNOB_ON ? 1 : ra->ra_pages);
		return;
	}
	/* To 2.6.38: one page after the other is a read in order. */
	if (f->m->knob.mmap_sequential == KNOB_ON && (s64)index - 1 == ra->prev_pos >> PAGE_SHIFT) {
		page_cache_sync_readahead(f->m, file, index, 1);
		return;
	}
	if (ra->mmap_miss < MMAP_LOTSAMISS * 10)
		ra->mmap_miss += 1;
	if (ra->mmap_miss > MMAP_LOTSAMISS)
		return;
	/* Read around: the use of a mapping has no direction. */
	ra->start = index > ra->ra_pages / 2 ? index - ra->ra_pages / 2 : 0;
	ra->size = ra->ra_pages;
	ra->async_size = ra->ra_pages / 4;
	ra->order = 0;
	span_enter(SPAN_READAHEAD);
	ra_submit(f->m, file);
	span_exit();
}

static void do_async_mmap_readahead(struct vm_fault *f, struct file *file, struct page *page,
                                    u64 index)
{
	struct file_ra_state *ra = &file->f_ra;

	if (f->vma->vm_flags & VM_RAND_READ)
		return;
	if (ra->mmap_miss)
		ra->mmap_miss -= 1;
	if (page_test(page, PG_readahead) && !page_test(page, PG_writeback))
		page_cache_async_readahead(f->m, file, page, index, ra->ra_pages);
}

/* ---- the page that was touched ---------------------------------------------------------------------- */

/* Nothing, not even readahead, has brought it: a page is read for this fault alone. */
static struct page *page_cache_read(struct vm_fault *f, struct file *file, u64 index)
{
	struct machine *m = f->m;
	struct page *page = alloc_page(m, GFP_HIGHUSER_MOVABLE);
	int err;

	if (!page)
		return NULL;
	err = add_to_page_cache_lru(m, page, &file->f_inode->i_data, index, GFP_KERNEL);
	if (err) {
		put_page(m, page);
		return err == -EEXIST ? find_get_page(m, &file->f_inode->i_data, index) : NULL;
	}
	readpage(m, file->f_inode, page);
	return page;
}

/*
 * The page at the fault's place, or the folio, locked, up to date and with a reference: *@pagep. Otherwise why not;
 * VM_FAULT_RETRY: the lock of the address space has been dropped. VM_FAULT_MAJOR may be in both.
 */
static int filemap_fault(struct vm_fault *f, struct page **pagep)
{
	struct machine *m = f->m;
	struct file *file = f->vma->vm_file;
	struct address_space *mapping = &file->f_inode->i_data;
	u64 index = vma_index(f->vma, f->va);
	struct page *page;
	u32 nr_reads = 0;
	bool beyond;
	int ret = 0;

	if (mapping_is_shmem(mapping))
		return shmem_fault(f, pagep);
	if (index >= DIV_ROUND_UP(READ_ONCE(file->f_inode->i_size), PAGE_SIZE))
		return VM_FAULT_SIGBUS;
	page = find_get_page(m, mapping, index);
	if (page) {
		do_async_mmap_readahead(f, file, page, index);
	} else {
		count_vm_event(m, PGMAJFAULT);
		ret = VM_FAULT_MAJOR;
		do_sync_mmap_readahead(f, file, index);
		page = find_get_page(m, mapping, index);
	}
	for (;;) {
		if (!page)
			page = page_cache_read(f, file, index);
		if (!page)
			return ret | VM_FAULT_OOM;
		if (!lock_page_or_retry(f, page)) {
			put_page(m, page);
			return ret | VM_FAULT_RETRY;
		}
		beyond = index >= inode_pages(file->f_inode);
		/* Truncated, or reclaimed and used for something else, while nobody had it locked? */
		if (page->mapping == mapping->number && folio_contains(page, index) && !beyond) {
			if (likely(page_test(page, PG_uptodate)))
				break;
			if (nr_reads++)
				beyond = true; /* as good as */
			else
				readpage(m, file->f_inode, page); /* unlocks it */
			if (!beyond)
				continue;
		}
		unlock_page(m, page);
		put_page(m, page);
		if (beyond)
			return ret | VM_FAULT_SIGBUS;
		page = find_get_page(m, mapping, index);
	}
	if (m->knob.mmap_sequential == KNOB_ON)
		file->f_ra.prev_pos = (s64)(index << PAGE_SHIFT);
	*pagep = page;
	return ret;
}

/* Maps @page, locked or with its reference sure to last, at an empty entry; table locked. The caller's
 * reference becomes the pte's. */
static void map_file_page(struct vm_fault *f, struct page *page, pte_t *pte, bool write)
{
	pte_t entry = fault_mk_pte(f, page);

	if (write)
		entry = fault_mkwrite(f, entry);
	else if (vma_dirties_unseen(f->vma))
		entry = pte_set(entry, PTE_WRITE);
	atomic_long_add(1, &f->mm->rss[MM_FILEPAGES]);
	charge2(COST_RSS, COST_PTE);
	page_add_file_rmap(f->m, page);
	set_pte(f->m, f->table, pte, entry);
	mlock_vma_folio(f->m, page, f->vma, 1, false);
}

/* The same for @nr pages of a folio, at entries of one table that are empty. A reference for each of them. */
static void map_folio_ptes(struct vm_fault *f, struct page *page, pte_t *pte, u32 nr, bool write)
{
	pte_t flags = {0};

	if (write)
		flags = fault_mkwrite(f, flags);
	else if (vma_dirties_unseen(f->vma))
		flags = pte_set(flags, PTE_WRITE);
	compound_head(page)->refcount += (s32)nr;
	atomic_long_add(nr, &f->mm->rss[MM_FILEPAGES]);
	charge(COST_RSS);
	charge_n(COST_PTE, nr);
	folio_add_file_rmap_ptes(f->m, page, nr);
	for (u32 i = 0; i < nr; i++)
		set_pte(f->m, f->table, pte + i, pte_set(fault_mk_pte(f, page + i), flags.v));
	mlock_vma_folio(f->m, page, f->vma, nr, false);
}

/* May all of @folio be mapped where the fault is? It is to lie in the VMA, in the table, and before the end. */
static bool folio_fits(const struct vm_fault *f, const struct page *folio)
{
	u64 nr = compound_nr(folio);
	u64 before = vma_index(f->vma, f->va) - folio->index; /* its pages before the fault's */
	u64 voff = (f->va - f->vma->vm_start) >> PAGE_SHIFT;
	u64 off = pte_index(f->va, 0);

	return voff >= before && voff - before + nr <= vma_pages(f->vma) && off >= before &&
	       off - before + nr <= PTRS_PER_TABLE &&
	       folio_next_index(folio) <= inode_pages(f->vma->vm_file->f_inode);
}

static bool ptes_none(const pte_t *pte, u32 nr)
{
	while (nr && pte_none(pte[nr - 1]))
		nr--;
	return !nr;
}

/*
 * Maps what filemap_fault() has found, at the fault's entry, which is empty, and all of a folio if nothing of it is
 * mapped. Table locked. The caller's reference becomes the pte's.
 */
static void finish_fault(struct vm_fault *f, struct page *folio, bool write)
{
	u32 before = (u32)(vma_index(f->vma, f->va) - folio->index);
	u32 nr = compound_nr(folio);

	if (unlikely(nr > 1) && folio_fits(f, folio) && ptes_none(f->pte - before, nr)) {
		map_folio_ptes(f, folio, f->pte - before, nr, write);
		folio->refcount -= 1;
	} else {
		map_file_page(f, folio + before, f->pte, write);
	}
}

/* ---- fault-around ------------------------------------------------------------------------------------- */

/* May be mapped on the side: complete, nobody is busy with it, and no marker that must be seen. */
static bool can_map_around(struct machine *m, struct page *page,
                           const struct address_space *mapping, u64 index)
{
	if (!page_test(page, PG_uptodate) || page_test(page, PG_readahead))
		return false;
	if (!trylock_page(m, page))
		return false;
	if (page->mapping == mapping->number && folio_contains(page, index) &&
	    page_test(page, PG_uptodate) && index < inode_pages(mapping->host))
		return true;
	unlock_page(m, page);
	return false;
}

/*
 * What of @folio is found at [@index, @last] is mapped, or all of it, where that fits and entries are empty. Table
 * locked. Returns where the search goes on.
 */
static u64 map_folio_around(struct vm_fault *f, struct page *folio, u64 index, u64 last)
{
	struct file_ra_state *ra = &f->vma->vm_file->f_ra;
	u64 next = folio_next_index(folio);
	u64 here = vma_index(f->vma, f->va);
	u64 end = min3(next, last + 1, inode_pages(f->vma->vm_file->f_inode));
	u64 nr;

	charge2(COST_PAGE_LINE, COST_PAGE_FLAG);
	if (!folio->refcount || !can_map_around(f->m, folio, vma_mapping(f->vma), index))
		return next;
	if (folio_fits(f, folio)) {
		index = folio->index;
		end = next;
	}
	for (; index < end; index += nr + 1) {
		pte_t *pte = f->pte + (s64)(index - here);

		for (nr = 0; index + nr < end && pte_none(pte[nr]);)
			nr++;
		if (!nr)
			continue;
		map_folio_ptes(f, folio_file_page(folio, index), pte, (u32)nr, false);
		ra->mmap_miss -= min(ra->mmap_miss, (u32)nr);
	}
	unlock_page(f->m, folio);
	return next;
}

/*
 * Maps what the cache has of the pages around the fault, within a block of fault_around_bytes, the
 * table and the VMA. Table locked. True: the page of the fault is among them.
 */
static bool do_fault_around(struct vm_fault *f, u64 nr_around)
{
	struct machine *m = f->m;
	struct address_space *mapping = vma_mapping(f->vma);
	struct file_ra_state *ra = &f->vma->vm_file->f_ra;
	u64 off = pte_index(f->va, 0);
	u64 voff = (f->va - f->vma->vm_start) >> PAGE_SHIFT;
	u64 from = max(ALIGN_DOWN(off, nr_around), off - min(off, voff));
	u64 to = min3(from + nr_around, (u64)PTRS_PER_TABLE, off + vma_pages(f->vma) - voff) - 1;
	u64 index = vma_index(f->vma, f->va) - (off - from);
	u64 first = index;
	u64 last = index + (to - from);

	while (index <= last) {
		struct page *page;
		pte_t *pte;
		u64 entry = xa_find(m, &mapping->i_pages, &index, last, XA_ANY);

		if (!entry)
			break;
		page = xa_is_page(entry) ? pfn_to_page(m, entry - 1) : NULL;
		if (unlikely(page && page_is_compound(page))) {
			index = map_folio_around(f, page, index, last);
			continue;
		}
		pte = f->pte - off + from + (index - first);
		charge_n(COST_PTE, 1);
		if (page && pte_none(*pte)) {
			charge2(COST_PAGE_LINE, COST_PAGE_FLAG);
			if (page->refcount && can_map_around(m, page, mapping, index)) {
				page->refcount += 1;
				if (ra->mmap_miss)
					ra->mmap_miss -= 1;
				map_file_page(f, page, pte, false);
				unlock_page(m, page);
			}
		}
		index += 1;
	}
	return !pte_none(*f->pte);
}

/* ---- the kinds of fault ---------------------------------------------------------------------------------- */

static int do_read_fault(struct vm_fault *f)
{
	u64 nr_around = f->m->knob.fault_around_bytes >> PAGE_SHIFT;
	struct page *page;
	int ret;

	if (nr_around > 1) {
		bool done;

		if (!fault_lock_pte(f))
			return 0;
		done = do_fault_around(f, 1UL << (fls64(nr_around) - 1));
		spin_unlock(fault_ptl(f));
		if (done)
			return 0;
	}
	ret = filemap_fault(f, &page);
	if (ret & (VM_FAULT_ERROR | VM_FAULT_RETRY))
		return ret;
	if (!fault_lock_pte(f)) {
		unlock_page(f->m, page);
		put_page(f->m, page);
		return ret;
	}
	finish_fault(f, page, false);
	spin_unlock(fault_ptl(f));
	unlock_page(f->m, page);
	return ret;
}

/* A write to a private mapping: the copy is an anonymous page like any other. */
static int do_cow_fault(struct vm_fault *f)
{
	struct machine *m = f->m;
	struct page *new;
	struct page *page;
	int ret = fault_anon_prepare(f);

	if (ret)
		return ret;
	new = alloc_pages_vma(m, GFP_HIGHUSER_MOVABLE, 0, f->vma, f->va);
	if (!new)
		return VM_FAULT_OOM;
	ret = filemap_fault(f, &page);
	if (ret & (VM_FAULT_ERROR | VM_FAULT_RETRY)) {
		put_page(m, new);
		return ret;
	}
	world_frame_copy(page_to_pfn(m, new),
	                 page_to_pfn(m, folio_file_page(page, vma_index(f->vma, f->va))));
	page_set(new, PG_uptodate);
	if (fault_lock_pte(f)) {
		world_contents_copied(&f->mm->as, f->va, page_to_pfn(m, new));
		fault_map_anon(f, new);
		spin_unlock(fault_ptl(f));
	} else {
		put_page(m, new);
	}
	unlock_page(m, page);
	put_page(m, page);
	return ret;
}

/*
 * The file may have to find a block, or, for a large folio, as many as it has pages before the end; or say that it
 * cannot. Page locked; a reason, or 0.
 */
static int do_page_mkwrite(struct vm_fault *f, struct page *page)
{
	struct inode *inode = f->vma->vm_file->f_inode;
	u64 got;
	int err;

	if (vma_dirties_unseen(f->vma))
		return 0;
	if (f->m->knob.stable_pages == KNOB_ON)
		wait_on_page_writeback(f->m, page);
	err = inode_get_blocks(f->m, inode, page->index,
	                       min((u64)compound_nr(page), inode_pages(inode) - page->index), &got);
	if (err && got) { /* what has a block now must be written there */
		folio_set_blocks_dirty(page, 0, (u32)got);
		__set_page_dirty(f->m, page);
	}
	if (err)
		return err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
	return 0;
}

static int do_shared_fault(struct vm_fault *f)
{
	struct machine *m = f->m;
	struct page *page;
	int ret = filemap_fault(f, &page);
	int err;

	if (ret & (VM_FAULT_ERROR | VM_FAULT_RETRY))
		return ret;
	err = do_page_mkwrite(f, page);
	if (err) {
		unlock_page(m, page);
		put_page(m, page);
		return ret | err;
	}
	/* Dirty in any case: the block it may have got just now has yet to be written. */
	if (fault_lock_pte(f)) {
		finish_fault(f, page, true);
		get_page(page);
		spin_unlock(fault_ptl(f));
	}
	set_page_dirty(m, page);
	unlock_page(m, page);
	balance_dirty_pages_ratelimited(m, page_mapping(m, page));
	put_page(m, page);
	return ret;
}

int do_file_fault(struct vm_fault *f)
{
	if (!f->write)
		return do_read_fault(f);
	return f->vma->vm_flags & VM_SHARED ? do_shared_fault(f) : do_cow_fault(f);
}

/*
 * A write to a page that a shared mapping has read-only. The table's lock is held, and dropped: the
 * page lock is outside of it.
 */
int do_wp_file_page(struct vm_fault *f, struct page *page)
{
	struct machine *m = f->m;
	struct address_space *mapping = vma_mapping(f->vma);
	int err;

	page = compound_head(page);
	get_page(page);
	spin_unlock(fault_ptl(f));
	lock_page(m, page);
	if (page->mapping != mapping->number) {
		unlock_page(m, page);
		put_page(m, page);
		return 0;
	}
	err = do_page_mkwrite(f, page);
	if (!err && fault_lock_pte(f)) {
		fault_set_pte(f, pte_set(fault_mkwrite(f, f->orig), PTE_ACCESSED));
		spin_unlock(fault_ptl(f));
	}
	if (!err)
		set_page_dirty(m, page);
	unlock_page(m, page);
	if (!err)
		balance_dirty_pages_ratelimited(m, mapping);
	put_page(m, page);
	return err;
}
