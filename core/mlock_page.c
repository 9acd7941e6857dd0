/*
 * Pages of locked memory: PG_mlocked, the unevictable list, and the way back (Linux mm/mlock.c,
 * isolate_lru_page() and putback_lru_page() of mm/vmscan.c).
 *
 * A page that a VM_LOCKED VMA maps is PG_mlocked, counts in nr_mlock, and belongs on its lruvec's
 * unevictable list, which reclaim does not scan.
 *
 * To 5.17 (mlock.isolate = now) a page is taken off its list and put on the other one on the spot. That
 * fails while it waits in a CPU's batch, or somebody has isolated it: it stays PG_mlocked among the
 * evictable, until reclaim meets it and culls it. munlock does the reverse, and if other VMAs map the
 * page it walks them all, since one of them may lock it too.
 *
 * Today (batch, 5.18) a CPU gathers pages whose locked mappings have changed, and changes their lists a
 * batch at a time. How many locked VMAs map the page is counted while it is on the unevictable list (in
 * Linux in place of its links; here in an array beside the pages, and the list is one in both eras). The
 * count begins anew whenever the page comes to the list, so it may be too low, and then reclaim, which
 * finds the locked mapping, sets it right.
 *
 * A page of several frames, of which the head stands for all, counts as so many in nr_mlock, and today in the events.
 * (Before 3.7 it counted as one in nr_mlock, and as 512 after a split.)
 */
#include "core/huge_memory.h"
#include "core/mlock.h"

static u16 *mlock_count(struct machine *m, const struct page *page)
{
	return &m->page_mlock_count[page_to_pfn(m, page)];
}

static bool page_evictable(const struct page *page)
{
	return !page_test(page, PG_mlocked);
}

static void count_mlock(struct machine *m, struct page *page, int sign)
{
	mod_zone_state(page_zone(m, page), NR_MLOCK, sign * (long)compound_nr(page));
}

/* Today in small pages. */
static void count_mlock_event(struct machine *m, const struct page *page, enum vm_event event)
{
	count_vm_events(m, event, mlock_today(m) ? compound_nr(page) : 1);
}

/* ---- taking a page off its list ---------------------------------------------------------------- */

/* False: it is on none. Otherwise the caller has a reference, and gives it to putback_lru_page(). */
bool isolate_lru_page(struct machine *m, struct page *page)
{
	struct lruvec *lruvec = page_lruvec(m, page);
	bool isolated = false;

	VM_BUG_ON(page->refcount <= 0);
	world_order();
	if (!page_test(page, PG_lru))
		return false;
	spin_lock_irq(&lruvec->lru_lock);
	if (page_test(page, PG_lru)) {
		charge2(COST_LRU_ISOLATE, COST_PAGE_FLAG);
		get_page(page);
		del_page_from_lru_list(m, page, lruvec);
		page_clear(page, PG_lru);
		isolated = true;
	}
	spin_unlock_irq(&lruvec->lru_lock);
	return isolated;
}

static void add_page_to_unevictable_list(struct machine *m, struct page *page)
{
	struct lruvec *lruvec = page_lruvec(m, page);

	spin_lock_irq(&lruvec->lru_lock);
	charge(COST_LRU_ADD);
	page_clear(page, PG_active);
	page_set(page, PG_unevictable);
	page_set(page, PG_lru);
	add_page_to_lru_list(m, page, lruvec);
	spin_unlock_irq(&lruvec->lru_lock);
}

/*
 * Back to the list where it belongs now, without the caller's reference. Today the batch of new pages
 * sorts them; before, what is evictable goes through that batch and the rest straight to its list.
 */
void putback_lru_page(struct machine *m, struct page *page)
{
	bool was_unevictable = page_test(page, PG_unevictable);

	if (mlock_today(m)) {
		lru_cache_add(m, page);
		put_page(m, page);
		return;
	}
	for (;;) {
		page_clear(page, PG_unevictable);
		if (page_evictable(page)) {
			lru_cache_add(m, page);
			break;
		}
		add_page_to_unevictable_list(m, page);
		/* Unlocked since the look at it, by someone who could not isolate it? */
		if (!page_evictable(page) || !isolate_lru_page(m, page))
			break;
		put_page(m, page);
	}
	if (was_unevictable != page_test(page, PG_unevictable))
		count_vm_event(m, was_unevictable ? UNEVICTABLE_PGRESCUED : UNEVICTABLE_PGCULLED);
	put_page(m, page);
}

/* False: it was marked already. */
static bool set_mlocked(struct machine *m, struct page *page)
{
	charge(COST_PAGE_FLAG);
	if (page_test(page, PG_mlocked))
		return false;
	page_set(page, PG_mlocked);
	count_mlock(m, page, 1);
	count_mlock_event(m, page, UNEVICTABLE_PGMLOCKED);
	return true;
}

/* ---- to 5.17: at once -------------------------------------------------------------------------- */

void mlock_vma_page(struct machine *m, struct page *page)
{
	VM_BUG_ON(!page_test(page, PG_locked) || page_is_tail(page));
	if (set_mlocked(m, page) && isolate_lru_page(m, page))
		putback_lru_page(m, page);
}

/* The page is isolated. */
static void munlock_isolated_page(struct machine *m, struct page *page)
{
	enum ttu_result ret = SWAP_AGAIN;

	/* Its own mapping is not VM_LOCKED any more. */
	if (page_mapcount(page) > 1)
		ret = try_to_munlock(m, page);
	if (ret != SWAP_MLOCK)
		count_vm_event(m, UNEVICTABLE_PGMUNLOCKED);
	putback_lru_page(m, page);
}

/* Somebody else has it in hand, or a batch: who puts it on a list will see that it is evictable. */
static void munlock_isolation_failed(struct machine *m, const struct page *page)
{
	count_vm_event(m, page_test(page, PG_unevictable) ? UNEVICTABLE_PGSTRANDED
	                                                  : UNEVICTABLE_PGMUNLOCKED);
}

void munlock_vma_page(struct machine *m, struct page *page)
{
	VM_BUG_ON(!page_test(page, PG_locked));
	charge(COST_PAGE_FLAG);
	if (!page_test_clear(page, PG_mlocked))
		return;
	count_mlock(m, page, -1);
	if (isolate_lru_page(m, page))
		munlock_isolated_page(m, page);
	else
		munlock_isolation_failed(m, page);
}

void clear_page_mlock(struct machine *m, struct page *page)
{
	if (!page_test_clear(page, PG_mlocked))
		return;
	count_mlock(m, page, -1);
	count_vm_event(m, UNEVICTABLE_PGCLEARED);
	if (isolate_lru_page(m, page))
		putback_lru_page(m, page);
	else if (page_test(page, PG_unevictable))
		count_vm_event(m, UNEVICTABLE_PGSTRANDED);
}

/* ---- today: in batches ------------------------------------------------------------------------- */

/* Its list is to be chosen anew; lru_lock held, PG_lru set again by the caller. */
static void move_unevictable(struct machine *m, struct page *page, struct lruvec *lruvec,
                             bool unevictable)
{
	charge(COST_LRU_ADD);
	del_page_from_lru_list(m, page, lruvec);
	if (unevictable) {
		page_clear(page, PG_active);
		page_set(page, PG_unevictable);
		*mlock_count(m, page) = page_test(page, PG_mlocked);
	} else {
		page_clear(page, PG_unevictable);
	}
	add_page_to_lru_list(m, page, lruvec);
	count_mlock_event(m, page, unevictable ? UNEVICTABLE_PGCULLED : UNEVICTABLE_PGRESCUED);
}

/* One more locked mapping. */
static void __mlock_folio(struct machine *m, struct page *page, struct lruvec *lruvec)
{
	if (!page_test(page, PG_lru))
		return;             /* who has it puts it back where PG_mlocked says */
	if (page_evictable(page)) { /* another CPU's munlock came before */
		if (page_test(page, PG_unevictable))
			move_unevictable(m, page, lruvec, false);
	} else if (page_test(page, PG_unevictable)) {
		*mlock_count(m, page) += 1;
	} else {
		move_unevictable(m, page, lruvec, true);
	}
}

/* Its first list. */
static void __mlock_new_folio(struct machine *m, struct page *page, struct lruvec *lruvec)
{
	if (!page_evictable(page)) {
		page_clear(page, PG_active);
		page_set(page, PG_unevictable);
		*mlock_count(m, page) = 1;
		count_mlock_event(m, page, UNEVICTABLE_PGCULLED);
	}
	charge(COST_LRU_ADD);
	page_set(page, PG_lru);
	add_page_to_lru_list(m, page, lruvec);
}

/* One locked mapping less. */
static void __munlock_folio(struct machine *m, struct page *page, struct lruvec *lruvec)
{
	bool on_list = page_test(page, PG_lru);
	u16 *count = mlock_count(m, page);

	if (on_list && page_test(page, PG_unevictable)) {
		if (*count)
			*count -= 1;
		if (*count)
			return;
	}
	/* Otherwise taken to be the last one: reclaim will find out if it was not. */
	if (page_test_clear(page, PG_mlocked)) {
		count_mlock(m, page, -1);
		count_mlock_event(m, page,
		                  on_list || !page_test(page, PG_unevictable)
		                          ? UNEVICTABLE_PGMUNLOCKED
		                          : UNEVICTABLE_PGSTRANDED);
	}
	if (on_list && page_test(page, PG_unevictable) && page_evictable(page))
		move_unevictable(m, page, lruvec, false);
}

void mlock_drain_local(struct machine *m)
{
	struct mlock_pagevec *b = &this_cpu(m)->mlock;
	struct lruvec *locked = NULL;

	if (likely(!b->pvec.nr))
		return;
	span_enter(SPAN_LRU_DRAIN);
	for (u32 i = 0; i < b->pvec.nr; i++) {
		struct page *page = b->pvec.page[i];
		struct lruvec *lruvec = page_lruvec(m, page);

		if (lruvec != locked) {
			if (locked)
				spin_unlock_irq(&locked->lru_lock);
			spin_lock_irq(&lruvec->lru_lock);
			locked = lruvec;
		}
		charge2(COST_PAGE_LINE, COST_PAGE_FLAG);
		if (b->what[i] == MLOCK_PAGE)
			__mlock_folio(m, page, lruvec);
		else if (b->what[i] == MLOCK_NEW_PAGE)
			__mlock_new_folio(m, page, lruvec);
		else
			__munlock_folio(m, page, lruvec);
	}
	spin_unlock_irq(&locked->lru_lock);
	release_pages(m, b->pvec.page, b->pvec.nr);
	b->pvec.nr = 0;
	span_exit();
}

static void mlock_batch_add(struct machine *m, struct page *page, enum mlock_what what)
{
	struct mlock_pagevec *b = &this_cpu(m)->mlock;

	VM_BUG_ON(page_is_tail(page));
	get_page(page);
	charge(COST_LRU_BATCH);
	b->what[b->pvec.nr] = (u8)what;
	b->pvec.page[b->pvec.nr++] = page;
	/* Large ones are not kept waiting. */
	if (b->pvec.nr >= m->knob.lru_batch || page_is_compound(page))
		mlock_drain_local(m);
}

void mlock_folio(struct machine *m, struct page *page)
{
	set_mlocked(m, page);
	mlock_batch_add(m, page, MLOCK_PAGE);
}

void mlock_new_folio(struct machine *m, struct page *page)
{
	set_mlocked(m, page);
	mlock_batch_add(m, page, MLOCK_NEW_PAGE);
}

void munlock_folio(struct machine *m, struct page *page)
{
	mlock_batch_add(m, page, MUNLOCK_PAGE);
}

/* ---- either ------------------------------------------------------------------------------------ */

/* A new anonymous page for a VM_LOCKED VMA. False: it goes the ordinary way, as ptes map it (to 5.17). */
bool lru_cache_add_mlocked(struct machine *m, struct page *page)
{
	if (mlock_today(m)) {
		mlock_new_folio(m, page);
		return true;
	}
	if (page_is_compound(page) && compound_order(page) != HPAGE_PMD_ORDER)
		return false;
	set_mlocked(m, page);
	add_page_to_unevictable_list(m, page);
	return true;
}

/*
 * To 5.17 only if the VMA's mmap_sem can be had at once, without which its flags may be changing. If
 * not, the page stays where it is, for a later round of reclaim.
 */
bool mlock_found(struct machine *m, struct page *page, struct vm_area_struct *vma)
{
	bool locked;

	if (mlock_today(m)) {
		if (!(vma->vm_flags & VM_IO) && !vma->vm_mm->mlock_counts)
			mlock_folio(m, page);
		return true;
	}
	if (page_is_compound(page)) /* after it has been split */
		return true;
	if (!down_read_trylock(&vma->vm_mm->mmap_sem))
		return false;
	locked = vma->vm_flags & VM_LOCKED;
	if (locked)
		mlock_vma_page(m, page);
	up_read(&vma->vm_mm->mmap_sem);
	return locked;
}

/*
 * A fault has replaced @page by a copy in a VM_LOCKED VMA. To 5.17 with the table unlocked, as the page
 * lock is waited for.
 */
void munlock_replaced_page(struct machine *m, struct page *page)
{
	lock_page(m, page);
	munlock_vma_page(m, page);
	unlock_page(m, page);
}

/* The batch of new pages comes to the lists, today: a page's place follows PG_mlocked. lru_lock held. */
void lru_add_sort(struct machine *m, struct page *page)
{
	bool was_unevictable = page_test_clear(page, PG_unevictable);

	if (page_evictable(page)) {
		if (was_unevictable)
			count_mlock_event(m, page, UNEVICTABLE_PGRESCUED);
		return;
	}
	page_clear(page, PG_active);
	page_set(page, PG_unevictable);
	/* Whether the mapping is counted elsewhere is not known: too low rather than too high. */
	*mlock_count(m, page) = 0;
	if (!was_unevictable)
		count_mlock_event(m, page, UNEVICTABLE_PGCULLED);
}

/* The batch is emptied, because its reference would make the migration fail. */
void munlock_migrating_page(struct machine *m, struct page *page, const struct vm_area_struct *vma)
{
	if (likely(!(vma->vm_flags & VM_LOCKED)) || !mlock_today(m))
		return;
	munlock_vma_folio(m, page, vma, false);
	mlock_drain_local(m);
}

void mlock_migrate_page(struct machine *m, struct page *new, struct page *page)
{
	charge_n(COST_PAGE_FLAG, 2);
	page_clear(page, PG_mlocked);
	count_mlock(m, page, -1);
	if (page_test(new, PG_mlocked))
		return;
	page_set(new, PG_mlocked);
	count_mlock(m, new, 1);
}

/* Who maps it is not known: too low rather than too high, as in lru_add_sort(). */
void mlock_split_tail(struct machine *m, struct page *tail)
{
	if (page_test(tail, PG_unevictable))
		*mlock_count(m, tail) = 0;
}
