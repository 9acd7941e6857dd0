/*
 * The page lock, waiting for pages, and the page cache (Linux mm/filemap.c).
 *
 * The page cache has one reference to each of its pages; a mapping's tree says which offsets they
 * are (xarray.h). A page enters locked, with what its place remembers of an earlier one weighed
 * (workingset.c), and leaves locked too, or with its references frozen (reclaim). Several pages in a row
 * may be one large folio: a compound page, with one lock, one place on the LRU, and 1 << order references of
 * the cache's; see filemap_folio.c.
 *
 * PG_locked and PG_writeback are bits of the page; whoever must wait for one sleeps on one of
 * PAGE_WAIT_TABLE hashed queues under a key of page and bit. PG_waiters says that somebody does, so
 * that the common unlock looks at no queue. (Before 4.10 Linux looked at the queue each time; that
 * it now need not is not modelled as a cost.)
 *
 * A page may be freed by others as soon as its bit is clear. Nothing here touches the page after an
 * order point that follows the clearing.
 */
#include "core/fs.h"
#include "core/swap.h"
#include "core/vmscan.h"

void page_wait_init(struct machine *m)
{
	m->page_wait = arena_array(&m->arena, struct wait_queue_head, PAGE_WAIT_TABLE);
	for (u32 i = 0; i < PAGE_WAIT_TABLE; i++)
		init_waitqueue_head(&m->page_wait[i]);
	init_waitqueue_head(&m->congestion_wait[0]);
	init_waitqueue_head(&m->congestion_wait[1]);
}

/* ---- queues ------------------------------------------------------------------------------------ */

static struct wait_queue_head *page_waitqueue(struct machine *m, const struct page *page)
{
	u64 pfn = page_to_pfn(m, page);

	return &m->page_wait[(pfn ^ pfn >> 8 ^ pfn >> 16) % PAGE_WAIT_TABLE];
}

static u64 page_wait_key(struct machine *m, const struct page *page, enum pageflags bit)
{
	return page_to_pfn(m, page) << 1 | (bit == PG_writeback) | 1UL << 63;
}

static u32 count_waiters(const struct wait_queue_head *q, u64 key)
{
	struct wait_queue_entry *e;
	u32 nr = 0;

	list_for_each_entry (e, &q->list, list)
		nr += e->key == key;
	return nr;
}

/* @bit of @page has just been cleared: wake those who wait for it, at most @nr_exclusive lockers. */
static noinline void wake_up_page(struct machine *m, struct page *page, enum pageflags bit,
                                  u32 nr_exclusive)
{
	struct wait_queue_head *q = page_waitqueue(m, page);
	u64 lock_key = page_wait_key(m, page, PG_locked);
	u64 writeback_key = page_wait_key(m, page, PG_writeback);
	bool is_lock = bit == PG_locked;
	u32 nr_left = count_waiters(q, is_lock ? writeback_key : lock_key);

	if (is_lock && count_waiters(q, lock_key) > nr_exclusive)
		nr_left += 1;
	if (!nr_left)
		page_clear(page, PG_waiters);
	wake_up_key(q, is_lock ? lock_key : writeback_key, nr_exclusive);
}

/* ---- the page lock ----------------------------------------------------------------------------- */

bool trylock_page(struct machine *m, struct page *page)
{
	(void)m;
	world_order();
	charge(COST_PAGE_FLAG);
	if (page_test(page, PG_locked))
		return false;
	page_set(page, PG_locked);
	world_self->ledger->lock[LOCK_PAGE].acquisitions += 1;
	return true;
}

/* Waits in the queue from @since on until the lock is had; false: killed first, which @killable allows. */
static noinline bool __lock_page(struct machine *m, struct page *page, bool killable, u64 since)
{
	struct wait_queue_head *q = page_waitqueue(m, page);
	u64 key = page_wait_key(m, page, PG_locked);
	struct ledger_lock_stat *st = &world_self->ledger->lock[LOCK_PAGE];
	struct wait_queue_entry e;
	bool locked;

	blk_flush_plug(m);
	for (;;) {
		prepare_to_wait(q, &e, key, true,
		                killable ? WORLD_TASK_INTERRUPTIBLE : WORLD_TASK_UNINTERRUPTIBLE);
		page_set(page, PG_waiters);
		locked = trylock_page(m, page);
		if (locked || (killable && world_current()->signal))
			break;
		schedule_timeout(WORLD_FOREVER);
		finish_wait(&e);
	}
	finish_wait(&e);
	st->contentions += 1;
	st->wait_ns += world_now() - since;
	st->wait_ns_max = max(st->wait_ns_max, world_now() - since);
	return locked;
}

/* The caller has a reference. May switch tasks. */
void lock_page(struct machine *m, struct page *page)
{
	if (!trylock_page(m, page))
		__lock_page(m, page, false, world_now());
}

/*
 * The same for who need not have it if it is to die (TASK_KILLABLE): -EINTR, not locked. An unlock may have
 * meant this task when it gave up: then the next one in the queue is woken.
 */
int lock_page_killable(struct machine *m, struct page *page)
{
	u64 since = world_now();

	if (trylock_page(m, page) || __lock_page(m, page, true, since))
		return 0;
	if (!page_test(page, PG_locked) && page_test(page, PG_waiters))
		wake_up_page(m, page, PG_locked, 1);
	return -EINTR;
}

/* Until somebody else has unlocked it, without taking a reference or the lock. May switch tasks. */
void wait_on_page_locked(struct machine *m, struct page *page)
{
	struct wait_queue_head *q = page_waitqueue(m, page);
	u64 key = page_wait_key(m, page, PG_locked);
	struct wait_queue_entry e;

	while (READ_ONCE(page->flags) >> PG_locked & 1) {
		blk_flush_plug(m);
		prepare_to_wait(q, &e, key, false, WORLD_TASK_UNINTERRUPTIBLE);
		page_set(page, PG_waiters);
		if (READ_ONCE(page->flags) >> PG_locked & 1)
			schedule_timeout(WORLD_FOREVER);
		finish_wait(&e);
	}
}

/* Never switches tasks; usable from interrupts. */
void unlock_page(struct machine *m, struct page *page)
{
	world_order();
	charge(COST_PAGE_FLAG);
	VM_BUG_ON(!page_test(page, PG_locked));
	page_clear(page, PG_locked);
	if (unlikely(page_test(page, PG_waiters)))
		wake_up_page(m, page, PG_locked, 1);
}

/* ---- writeback ----------------------------------------------------------------------------------- */

/* Completions change these counters too: interrupts are held off. */
static void mod_writeback(struct machine *m, struct page *page, long delta)
{
	struct zone *z = page_zone(m, page);

	world_irq_save();
	mod_node_state(z, NR_WRITEBACK, delta);
	if (page_mapping(m, page)) {
		wb_count_writeback(m, mapping_wb(page_mapping(m, page)), delta);
	}
	if (!z->lruvec->zone)
		mod_zone_state(z, NR_ZONE_WRITE_PENDING, delta);
	if (delta < 0)
		mod_node_state(z, NR_WRITTEN, -delta);
	world_irq_restore();
}

/* A page of a file: the tag in its mapping's tree goes, or moves. */
static void tag_writeback(struct machine *m, struct page *page, bool begins)
{
	struct address_space *mapping = page_mapping(m, page);

	if (!mapping)
		return;
	spin_lock_irq(&mapping->tree_lock);
	if (begins) {
		xa_set_mark(m, &mapping->i_pages, page->index, PAGECACHE_TAG_WRITEBACK);
		if (!page_test(page, PG_dirty))
			xa_clear_mark(m, &mapping->i_pages, page->index, PAGECACHE_TAG_DIRTY);
	} else {
		xa_clear_mark(m, &mapping->i_pages, page->index, PAGECACHE_TAG_WRITEBACK);
	}
	spin_unlock_irq(&mapping->tree_lock);
}

/* Page locked. It stays under writeback, and is not freed, until end_page_writeback(). */
void set_page_writeback(struct machine *m, struct page *page)
{
	VM_BUG_ON(!page_test(page, PG_locked));
	VM_BUG_ON(page_test(page, PG_writeback));
	charge(COST_PAGE_FLAG);
	page_set(page, PG_writeback);
	tag_writeback(m, page, true);
	mod_writeback(m, page, compound_nr(page));
}

/*
 * The write has ended. A page that reclaim wanted gone (PG_reclaim) goes to the tail of its inactive
 * list, while it still counts as under writeback, so that nobody frees it meanwhile. With mail 002
 * (reclaim.writeback_end = free) that comes after the waiters have been woken, because a full batch may
 * free it; the batch's reference, taken before anything else happens, keeps it so long.
 */
void end_page_writeback(struct machine *m, struct page *page)
{
	bool free = m->knob.writeback_end == WRITEBACK_END_FREE;
	bool full = false;
	bool waiters;

	VM_BUG_ON(!page_test(page, PG_writeback));
	charge(COST_PAGE_FLAG);
	tag_writeback(m, page, false);
	if (!free && page_test_clear(page, PG_reclaim) && rotate_reclaimable_page(m, page))
		rotate_full_batch(m);
	acct_reclaim_writeback(m, page);
	world_order();
	mod_writeback(m, page, -(long)compound_nr(page));
	waiters = page_test(page, PG_waiters);
	page_clear(page, PG_writeback);
	if (free && page_test_clear(page, PG_reclaim))
		full = rotate_reclaimable_page(m, page);
	if (unlikely(waiters))
		wake_up_page(m, page, PG_writeback, ~0u);
	if (full)
		rotate_full_batch(m);
}

/* The caller has a reference. May switch tasks. */
void wait_on_page_writeback(struct machine *m, struct page *page)
{
	struct wait_queue_head *q = page_waitqueue(m, page);
	u64 key = page_wait_key(m, page, PG_writeback);
	struct wait_queue_entry e;

	while (READ_ONCE(page->flags) >> PG_writeback & 1) {
		blk_flush_plug(m);
		prepare_to_wait(q, &e, key, false, WORLD_TASK_UNINTERRUPTIBLE);
		page_set(page, PG_waiters);
		if (READ_ONCE(page->flags) >> PG_writeback & 1)
			schedule_timeout(WORLD_FOREVER);
		finish_wait(&e);
	}
}

/* ---- the page cache -------------------------------------------------------------------------------- */

/*
 * A look-up without locks; the folio that has @index. Under RCU a page found may be gone, and its frame another's, before the
 * reference is had; here nothing happens between the look and the reference.
 */
struct page *find_get_page(struct machine *m, struct address_space *mapping, u64 index)
{
	struct page *page;
	u64 entry;

	world_order();
	entry = xa_load(m, &mapping->i_pages, index);
	if (!xa_is_page(entry))
		return NULL;
	page = pfn_to_page(m, entry - 1);
	charge2(COST_PAGE_LINE, COST_PAGE_FLAG);
	/* Frozen: reclaim is taking it out of the tree at this moment. */
	if (!page->refcount)
		return NULL;
	page->refcount += 1;
	return page;
}

/* Page locked, no order point in between: puts it into the tree. *@shadow: what was there before. */
static int __add_to_page_cache(struct machine *m, struct page *page, struct address_space *mapping,
                               u64 index, gfp_t gfp, u64 *shadow)
{
	unsigned int order = compound_order(page);
	u64 nr_shadows;
	u64 old;

	if (xa_preload(m, gfp, order))
		return -ENOMEM;
	spin_lock_irq(&mapping->tree_lock);
	if (unlikely(order))
		old = xa_load_order(m, &mapping->i_pages, index, order, &nr_shadows);
	else
		nr_shadows = xa_is_value(old = xa_load(m, &mapping->i_pages, index));
	if (xa_is_page(old) || unlikely(old && mapping_is_shmem(mapping))) {
		spin_unlock_irq(&mapping->tree_lock);
		return -EEXIST;
	}
	page->refcount += (s32)(1u << order);
	page->mapping = mapping->number;
	page->index = index;
	xa_store_order(m, &mapping->i_pages, mapping->number, index, order,
	               xa_mk_page(page_to_pfn(m, page)));
	mapping->nrpages += 1UL << order;
	mapping->nrexceptional -= nr_shadows;
	mod_node_state(page_zone(m, page), NR_FILE_PAGES, 1L << order);
	if (unlikely(page_test(page, PG_swapbacked)))
		mod_node_state(page_zone(m, page), NR_SHMEM, 1);
	spin_unlock_irq(&mapping->tree_lock);
	*shadow = old & ~XA_SHADOW;
	return 0;
}

int add_to_page_cache_lru(struct machine *m, struct page *page, struct address_space *mapping,
                          u64 index, gfp_t gfp)
{
	u64 shadow = 0;
	int err;

	page_set(page, PG_locked); /* nobody else has it: no atomic */
	err = __add_to_page_cache(m, page, mapping, index, gfp, &shadow);
	if (err) {
		page_clear(page, PG_locked);
		return err;
	}
	if (shadow)
		workingset_refault(m, page, shadow);
	lru_cache_add(m, page);
	return 0;
}

void __delete_from_page_cache(struct machine *m, struct page *page, u64 shadow)
{
	struct address_space *mapping = page_mapping(m, page);
	struct zone *z = page_zone(m, page);
	unsigned int order = compound_order(page);

	VM_BUG_ON(!page_test(page, PG_locked));
	VM_BUG_ON(page_mapped(page));
	xa_store_order(m, &mapping->i_pages, mapping->number, page->index, order,
	               shadow ? shadow | XA_SHADOW : 0);
	mapping->nrpages -= 1UL << order;
	mapping->nrexceptional += shadow ? 1UL << order : 0;
	page->mapping = 0; /* index stays, as in Linux: it is meaningless now */
	mod_node_state(z, NR_FILE_PAGES, -(1L << order));
	if (unlikely(page_test(page, PG_swapbacked)))
		mod_node_state(z, NR_SHMEM, -1);
	/* Redirtied after truncation had cleaned it, by who still had it mapped. */
	if (unlikely(page_test(page, PG_dirty)))
		account_page_cleaned(m, page, mapping);
}

void delete_from_page_cache(struct machine *m, struct page *page)
{
	struct address_space *mapping = page_mapping(m, page);

	spin_lock_irq(&mapping->tree_lock);
	__delete_from_page_cache(m, page, 0);
	if (page_is_compound(page))
		page->refcount -= (s32)compound_nr(page) - 1; /* the caller's is left */
	spin_unlock_irq(&mapping->tree_lock);
	put_page(m, page);
}

/* A page of a file comes to its zone, or leaves it (@nr -1), with all that is counted of it. Tree lock held. */
static void count_cached(struct machine *m, const struct page *page, long nr)
{
	struct zone *z = page_zone(m, page);

	mod_node_state(z, NR_FILE_PAGES, nr);
	if (page_test(page, PG_swapbacked)) {
		mod_node_state(z, NR_SHMEM, nr);
	} else if (page_test(page, PG_dirty)) {
		mod_node_state(z, NR_FILE_DIRTY, nr);
		if (!z->lruvec->zone)
			mod_zone_state(z, NR_ZONE_WRITE_PENDING, nr);
	}
}

/* Migration. */
int replace_page_cache_page(struct machine *m, struct page *page, struct page *new)
{
	struct address_space *mapping = page_mapping(m, page);
	s32 private = page_test(page, PG_private);
	unsigned int order = compound_order(page);
	s32 nr = 1 << order;
	bool mark[NR_XA_MARKS];
	int err = -EAGAIN;

	spin_lock_irq(&mapping->tree_lock);
	if (page->refcount != 1 + nr + private)
		goto out;
	for (u32 i = 0; i < NR_XA_MARKS; i++)
		mark[i] = xa_get_mark(m, &mapping->i_pages, page->index, i);
	xa_store_order(m, &mapping->i_pages, mapping->number, page->index, order,
	               xa_mk_page(page_to_pfn(m, new)));
	for (u32 i = 0; i < NR_XA_MARKS; i++)
		if (mark[i])
			xa_set_mark(m, &mapping->i_pages, page->index, i);
	new->refcount += nr + private;
	page->refcount -= nr + private;
	if (private) {
		m->page_private[page_to_pfn(m, new)] = m->page_private[page_to_pfn(m, page)];
		m->page_private[page_to_pfn(m, page)] = 0;
		page_clear(page, PG_private);
		page_set(new, PG_private);
	}
	if (unlikely(page_zone(m, page) != page_zone(m, new))) {
		count_cached(m, page, -nr);
		count_cached(m, new, nr);
	}
	page->mapping = 0;
	err = 0;
out:
	spin_unlock_irq(&mapping->tree_lock);
	return err;
}
