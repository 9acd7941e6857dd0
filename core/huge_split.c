/*
 * Splitting huge pages, and the queue of those to be split (Linux mm/huge_memory.c, 4.5 and later).
 *
 * Since 4.5 a huge page of which a part is unmapped stays one, and what is unmapped is not free, until the
 * shrinker or reclaim splits it. The split first freezes the page: everything that maps it, whole or in
 * part, is replaced by migration entries, so that nobody can reach it and its count is that of the caller
 * alone; if it is not, somebody else uses the page, and all is put back. Then the tails become pages and
 * are mapped again. The family's anon_vma lock is held for write throughout.
 *
 * How the entries are found (mail 003) is in split_walk.c.
 *
 * Before 4.5 (thp.partial_unmap = page) a huge page was split when it was first unmapped in part: pins did
 * not matter, tails had counts of their own, and it could not fail.
 */
#include "core/mlock.h"
#include "core/split_walk.h"

/* ---- the deferred split queue --------------------------------------------------------------------------- */

static u32 split_link(const struct pglist_data *pgdat, const struct page *head)
{
	return (u32)(head - pgdat->mem_map) + 1;
}

static struct page *split_page(const struct pglist_data *pgdat, u32 link)
{
	return link ? &pgdat->mem_map[link - 1] : NULL;
}

static void split_queue_add_tail(struct pglist_data *pgdat, struct page *head)
{
	u32 link = split_link(pgdat, head);

	head[2].deferred_prev = pgdat->split_queue_last;
	head[2].deferred_next = 0;
	if (pgdat->split_queue_last)
		split_page(pgdat, pgdat->split_queue_last)[2].deferred_next = link;
	else
		pgdat->split_queue_first = link;
	pgdat->split_queue_last = link;
	head[1].compound_flags |= COMPOUND_QUEUED;
}

static void split_queue_del(struct pglist_data *pgdat, struct page *head)
{
	struct page *next = split_page(pgdat, head[2].deferred_next);
	struct page *prev = split_page(pgdat, head[2].deferred_prev);

	if (prev)
		prev[2].deferred_next = head[2].deferred_next;
	else
		pgdat->split_queue_first = head[2].deferred_next;
	if (next)
		next[2].deferred_prev = head[2].deferred_prev;
	else
		pgdat->split_queue_last = head[2].deferred_prev;
	head[1].compound_flags &= ~COMPOUND_QUEUED;
}

void deferred_split_huge_page(struct machine *m, struct page *head)
{
	struct pglist_data *pgdat = page_pgdat(m, head);

	if (m->knob.thp_partial == THP_PARTIAL_PAGE) /* it is being split this moment */
		return;
	if (page_test(head, PG_swapcache)) /* reclaim is at it */
		return;
	spin_lock_irq(&pgdat->split_queue_lock);
	if (!(head[1].compound_flags & COMPOUND_DEFERRED)) {
		if (compound_order(head) == HPAGE_PMD_ORDER)
			count_vm_event(m, THP_DEFERRED_SPLIT_PAGE);
		count_mthp(m, head, MTHP_SPLIT_DEFERRED);
		head[1].compound_flags |= COMPOUND_DEFERRED;
		split_queue_add_tail(pgdat, head);
		pgdat->split_queue_len += 1;
	}
	spin_unlock_irq(&pgdat->split_queue_lock);
}

/* split_queue_lock held. */
static void split_queue_forget(struct pglist_data *pgdat, struct page *head)
{
	if (!(head[1].compound_flags & COMPOUND_DEFERRED))
		return;
	if (head[1].compound_flags & COMPOUND_QUEUED)
		split_queue_del(pgdat, head);
	head[1].compound_flags &= ~COMPOUND_DEFERRED;
	pgdat->split_queue_len -= 1;
}

void deferred_split_forget(struct machine *m, struct page *head)
{
	struct pglist_data *pgdat = page_pgdat(m, head);

	spin_lock_irq(&pgdat->split_queue_lock);
	split_queue_forget(pgdat, head);
	spin_unlock_irq(&pgdat->split_queue_lock);
}

/* Up to @nr from the head of the queue, each with a reference; they stay counted. Those being freed drop out. */
u32 split_queue_take(struct pglist_data *pgdat, struct page **batch, u32 nr)
{
	u32 n = 0;

	spin_lock_irq(&pgdat->split_queue_lock);
	while (n < nr && pgdat->split_queue_first) {
		struct page *head = split_page(pgdat, pgdat->split_queue_first);

		charge2(COST_PAGE_LINE_COLD, COST_ATOMIC);
		if (head->refcount) {
			head->refcount += 1;
			split_queue_del(pgdat, head);
			batch[n++] = head;
		} else {
			split_queue_forget(pgdat, head);
		}
	}
	spin_unlock_irq(&pgdat->split_queue_lock);
	return n;
}

/* What split_queue_take() took, unless it has been split: to the end of the queue. */
void split_queue_put_back(struct pglist_data *pgdat, struct page *head)
{
	if (!page_is_head(head))
		return;
	spin_lock_irq(&pgdat->split_queue_lock);
	if (head[1].compound_flags & COMPOUND_DEFERRED &&
	    !(head[1].compound_flags & COMPOUND_QUEUED))
		split_queue_add_tail(pgdat, head);
	spin_unlock_irq(&pgdat->split_queue_lock);
}

void free_huge_page(struct machine *m, struct page *head)
{
	struct pglist_data *pgdat = page_pgdat(m, head);

	/* Those of files are on no queue. */
	if (compound_nr(head) > 2 && head[1].mapping == TAIL_MAPPING) {
		spin_lock_unseen(&pgdat->split_queue_lock);
		split_queue_forget(pgdat, head);
		spin_unlock_unseen(&pgdat->split_queue_lock);
	}
	free_compound_page(m, head);
}

/* ---- one page becomes 512 -------------------------------------------------------------------------------------- */

/* What tails have in common with their head. */
#define SPLIT_FLAGS                                                                                \
	(1u << PG_referenced | 1u << PG_swapbacked | 1u << PG_uptodate | 1u << PG_active |         \
	 1u << PG_locked | 1u << PG_unevictable | 1u << PG_dirty | 1u << PG_workingset |           \
	 1u << PG_swapcache | 1u << PG_mlocked)

/* Tail @i; lru_lock held, and references frozen. */
static void split_tail(struct split *s, u32 i, struct lruvec *lruvec, struct page_list *list)
{
	struct machine *m = s->m;
	struct page *head = s->head;
	struct page *tail = head + i;

	charge(COST_LRU_ADD);
	charge_n(COST_PAGE_FLAG, 2);
	VM_BUG_ON(tail->refcount || tail->mapcount);
	tail->flags = (head->flags & ~PAGE_FLAGS_MASK) | (head->flags & SPLIT_FLAGS);
	/* The caller's, to be dropped at the end, and the swap cache's. */
	tail->refcount = 1 + page_test(head, PG_swapcache);
	tail->mapping = head->mapping;
	tail->index = s->index + i;
	mlock_split_tail(m, tail);
	if (page_test(head, PG_lru)) {
		page_set(tail, PG_lru);
		page_list_add_before(&lruvec->list[page_lru(head)], head, tail);
	} else if (list) {
		page_set(tail, PG_isolated);
		tail->refcount += 1;
		page_list_add_before(list, head, tail);
	} else {
		/* The head is in somebody's hands, and not counted. */
		page_set(tail, PG_lru);
		add_page_to_lru_list(m, tail, lruvec);
	}
}

/* The queue has forgotten it, nothing maps it, and @page's reference is the only one. */
static void __split_huge_page(struct split *s, struct page *page, struct page_list *list)
{
	struct machine *m = s->m;
	struct page *head = s->head;
	struct lruvec *lruvec = page_lruvec(m, head);

	spin_lock_irq(&lruvec->lru_lock);
	for (u32 i = s->nr - 1; i; i--)
		split_tail(s, i, lruvec, list);
	page_clear(head, PG_compound);
	head->refcount = 1 + page_test(head, PG_swapcache);
	spin_unlock_irq(&lruvec->lru_lock);

	span_enter(SPAN_UNFREEZE);
	unfreeze_page(s);
	span_exit();
	for (u32 i = 0; i < s->nr; i++) {
		if (head + i == page)
			continue;
		if (page_test(head + i, PG_swapcache) && !page_mapped(head + i))
			try_to_free_swap(m, head + i);
		unlock_page(m, head + i);
		put_page(m, head + i);
	}
}

/* Is @s->head's only reference the caller's? Then it is frozen, and leaves the queue. */
static bool split_freeze_refs(struct split *s)
{
	struct pglist_data *pgdat = page_pgdat(s->m, s->head);
	bool ok;

	spin_lock_irq(&pgdat->split_queue_lock);
	/* Linux before 6.6 adds up the mapcounts of all pages. */
	if (mapcount_doubles(s->m))
		charge_n(COST_COMPOUND_TAIL, s->nr);
	charge(COST_ATOMIC);
	ok = s->head->refcount == 1 + swap_cache_references(s->head) && !s->head[1].total_mapcount;
	if (ok) {
		s->head->refcount = 0;
		split_queue_forget(pgdat, s->head);
	}
	spin_unlock_irq(&pgdat->split_queue_lock);
	return ok;
}

static int do_split(struct split *s, struct page *page, struct page_list *list)
{
	struct machine *m = s->m;
	struct page *head = s->head;

	if (mapcount_doubles(m))
		charge_n(COST_COMPOUND_TAIL, s->nr);
	world_order();
	/* Every entry has a reference, the caller has one: more are pins, batches, other isolations. */
	if (head->refcount != head[1].total_mapcount + swap_cache_references(head) + 1 ||
	    page_test(head, PG_writeback))
		return -EBUSY;
	prep_tails(m, head);
	span_enter(SPAN_FREEZE);
	freeze_page(s);
	span_exit();
	/* To 5.17, with the last entry; and it must not stay in a batch. Today each entry has counted itself out. */
	if (unlikely(page_test(head, PG_mlocked)) && !mlock_today(m)) {
		clear_page_mlock(m, head);
		lru_add_drain(m);
	}
	if (!split_freeze_refs(s)) {
		span_enter(SPAN_UNFREEZE);
		unfreeze_page(s);
		span_exit();
		return -EBUSY;
	}
	__split_huge_page(s, page, list);
	return 0;
}

/* ---- before 4.5 ---------------------------------------------------------------------------------------------------- */

/*
 * Every PMD entry is made ptes, in all address spaces; then references are handed out: a tail gets one for
 * each of its ptes, the head keeps the rest. (Linux does it the other way round, with the PMD entries marked
 * as "splitting", which whoever wants to change them waits for. Here a tail may have lost its ptes by now.)
 * Returns how many tails have one reference that is nobody's.
 */
static u32 hand_out_references(struct split *s, struct page_list *list, struct page **unmapped)
{
	struct machine *m = s->m;
	struct page *head = s->head;
	struct lruvec *lruvec = page_lruvec(m, head);
	u32 nr = 0;

	spin_lock_irq(&lruvec->lru_lock);
	head->refcount += HPAGE_PMD_NR - 1;
	for (u32 i = HPAGE_PMD_NR - 1; i; i--) {
		struct page *tail = head + i;
		s32 mapcount = tail->mapcount;

		tail->mapcount = 0;
		split_tail(s, i, lruvec, list);
		page_clear(tail, PG_locked);
		tail->mapcount = mapcount;
		tail->refcount += mapcount - 1;
		head->refcount -= mapcount + 1;
		if (!tail->refcount) {
			tail->refcount = 1;
			unmapped[nr++] = tail;
		}
	}
	page_clear(head, PG_compound);
	VM_BUG_ON(head->refcount <= head->mapcount);
	spin_unlock_irq(&lruvec->lru_lock);
	return nr;
}

static void split_at_once(struct split *s, struct page_list *list)
{
	struct machine *m = s->m;
	struct page *unmapped[HPAGE_PMD_NR];
	u32 nr;

	split_all_pmds(s);
	VM_BUG_ON(s->head[1].compound_mapcount);
	nr = hand_out_references(s, list, unmapped);
	while (nr)
		put_page(m, unmapped[--nr]);
}

/* Is a split of @page, of which a pte was found, on its way from the entries to the references? */
bool page_is_being_split(struct machine *m, struct page *page)
{
	struct page *head = compound_head(page);

	return m->knob.thp_partial == THP_PARTIAL_PAGE && page_is_anon(head) &&
	       compound_order(head) == HPAGE_PMD_ORDER;
}

void wait_split_huge_page(struct machine *m, struct page *page, struct spinlock *ptl)
{
	struct anon_vma *anon_vma = page_anon_vma(m, compound_head(page));

	anon_vma->refcount += 1;
	spin_unlock(ptl);
	down_read(&anon_vma->root->rwsem);
	up_read(&anon_vma->root->rwsem);
	put_anon_vma(m, anon_vma);
}

/* ---- the calls ----------------------------------------------------------------------------------------------------------- */

/*
 * The head with the family's lock; false: nobody maps the page, so that its last reference frees it, or
 * somebody else has split it.
 */
static bool split_begin(struct machine *m, struct page *head, struct split *s)
{
	*s = (struct split){.m = m, .head = head};
	world_order();
	if (!page_is_head(head) || !page_is_anon(head) || !page_mapped(head))
		return false;
	span_enter(SPAN_SPLIT_PAGE);
	s->index = head->index;
	s->nr = compound_nr(head);
	s->anon_vma = page_anon_vma(m, head);
	s->anon_vma->refcount += 1;
	anon_vma_lock_write(s->anon_vma);
	return true;
}

void count_split(struct machine *m, u32 nr, int err)
{
	if (nr == HPAGE_PMD_NR)
		count_vm_event(m, err ? THP_SPLIT_PAGE_FAILED : THP_SPLIT_PAGE);
	m->mthp_stat[__builtin_ctz(nr)][err ? MTHP_SPLIT_FAILED : MTHP_SPLIT] += 1;
}

static void split_end(struct split *s, int err)
{
	forget_looks(s);
	anon_vma_unlock_write(s->anon_vma);
	put_anon_vma(s->m, s->anon_vma);
	count_split(s->m, s->nr, err);
	span_exit();
}

int split_huge_page_at_once(struct machine *m, struct page *head, struct page_list *list)
{
	struct split s;

	if (!split_begin(m, head, &s))
		return -EBUSY;
	/* Another thread may have split it while this one waited for the lock. */
	if (page_is_head(head) && head[1].compound_mapcount) {
		split_at_once(&s, list);
		split_end(&s, 0);
		return 0;
	}
	anon_vma_unlock_write(s.anon_vma);
	put_anon_vma(m, s.anon_vma);
	span_exit();
	return -EBUSY;
}

int split_huge_page_to_list(struct machine *m, struct page *page, struct page_list *list)
{
	struct page *head = compound_head(page);
	struct split s;
	int err;

	VM_BUG_ON(!page_test(head, PG_locked));
	if (m->knob.thp_partial == THP_PARTIAL_PAGE)
		return split_huge_page_at_once(m, head, list);
	if (!split_begin(m, head, &s)) {
		count_split(m, compound_nr(head), -EBUSY);
		return -EBUSY;
	}
	err = do_split(&s, page, list);
	split_end(&s, err);
	return err;
}

/* ---- audit ------------------------------------------------------------------------------------------------------------------ */

/* Whoever waits for a split is on its node's queue, once, and has something to be freed. Between tasks. */
void deferred_split_audit(struct machine *m)
{
	struct pglist_data *pgdat;

	for_each_node (m, pgdat) {
		struct page *prev = NULL;
		unsigned long nr = 0;

		for (struct page *p = split_page(pgdat, pgdat->split_queue_first); p;
		     prev = p, p = split_page(pgdat, p[2].deferred_next)) {
			VM_BUG_ON(!page_is_head(p) || p->refcount <= 0);
			VM_BUG_ON(!(p[1].compound_flags & COMPOUND_DEFERRED));
			VM_BUG_ON(!(p[1].compound_flags & COMPOUND_QUEUED));
			VM_BUG_ON(split_page(pgdat, p[2].deferred_prev) != prev);
			VM_BUG_ON(page_pgdat(m, p) != pgdat);
			nr += 1;
		}
		VM_BUG_ON(split_page(pgdat, pgdat->split_queue_last) != prev);
		VM_BUG_ON_MSG(nr > pgdat->split_queue_len, "%lu on the split queue, its length %lu",
		              nr, pgdat->split_queue_len);
	}
}

void split_queues_init(struct machine *m)
{
	struct pglist_data *pgdat;

	for_each_node (m, pgdat)
		spin_lock_init(m->world, &pgdat->split_queue_lock, LOCK_SPLIT_QUEUE);
}
