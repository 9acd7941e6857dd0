/*
 * The allocator's slow path: no zone is above its low mark. Wake kswapd, go down to the min mark,
 * reclaim, retry, and in the end let the OOM killer find memory.
 *
 * Linux mm/page_alloc.c, __alloc_pages_slowpath(), in four forms (knob
 * alloc.slowpath): slowpath_2_6_36() and slowpath_3_0(), to 3.18; slowpath_3_19() of 3.19 to 4.4;
 * and slowpath_6_18() of today. What they share, a round of direct reclaim and the OOM path, comes
 * first.
 *
 * Left out: real-time tasks, and nobody dumps core.
 *
 * Locks: nothing may be held. Everything here may switch tasks if the request allows reclaim.
 */
#include "core/compaction.h"

#define MAX_RECLAIM_RETRIES 16

/* One request on its way through the slow path. */
struct alloc_state {
	gfp_t gfp;
	unsigned int order;
	u32 alloc_flags;
	unsigned long progress; /* of the last round; not 0: worth another try */
	bool can_reclaim;
	enum compact_result compacted; /* by the last attempt */
	enum compact_priority prio;    /* 4.7: of the next one */
	u32 nr_compactions;            /* 4.7: that had a result, at this priority */
};

static struct page *try_freelists(struct machine *m, const struct alloc_state *s, u32 alloc_flags)
{
	return get_page_from_freelist(m, s->gfp, s->order, alloc_flags);
}

/* The zone this request would like best. */
static struct zone *preferred_zone(struct machine *m, gfp_t gfp)
{
	const struct pglist_data *pgdat = policy_node(m);

	for (u32 i = 0; i < pgdat->nr_zonelist; i++)
		if (pgdat->zonelist[i]->type <= (u32)gfp_zone(gfp) &&
		    policy_allows(m, pgdat->zonelist[i]))
			return pgdat->zonelist[i];
	return NULL;
}

static void sleep_one_tick(void)
{
	world_sleep(world_ticks_to_ns(1));
}

/*
 * What lets the running task ignore watermarks: it is reclaiming memory for others, or is being
 * killed to free some. A victim has all reserves, or since 4.6 half of the min mark.
 */
static u32 reserve_flags(const struct machine *m, gfp_t gfp)
{
	u32 flags = world_in_irq() ? 0 : current_flags(m);

	if (gfp & __GFP_NOMEMALLOC)
		return 0;
	if (gfp & __GFP_MEMALLOC || flags & PF_MEMALLOC)
		return ALLOC_NO_WATERMARKS;
	if (flags & TIF_MEMDIE)
		return m->knob.oom == OOM_MEMDIE ? ALLOC_NO_WATERMARKS : ALLOC_OOM;
	return 0;
}

/* To 4.4: from this node or not at all, and without an effort (GFP_THISNODE). */
static bool is_opportunistic(gfp_t gfp)
{
	const gfp_t opportunistic = __GFP_THISNODE | __GFP_NORETRY | __GFP_NOWARN;

	return (gfp & opportunistic) == opportunistic;
}

/* Flags of a pass at the min mark, reserves apart. */
static u32 slow_alloc_flags(gfp_t gfp, bool can_reclaim)
{
	u32 alloc_flags = WMARK_MIN;

	if (gfp & __GFP_HIGH)
		alloc_flags |= ALLOC_HIGH;
	if (gfp & __GFP_KSWAPD_RECLAIM)
		alloc_flags |= ALLOC_KSWAPD;
	if (!can_reclaim && !(gfp & __GFP_NOMEMALLOC))
		alloc_flags |= ALLOC_HARDER;
	return alloc_flags;
}

/* ---- direct reclaim ------------------------------------------------------------------------------------------ */

/* The task frees memory itself. While it does, its own allocations take from the reserves. */
static unsigned long perform_reclaim(struct machine *m, const struct alloc_state *s)
{
	struct task *t = current_task();
	unsigned long progress;

	if (t->w.id <= m->nr_world_tasks) /* the boot context is no task of ours */
		return try_to_free_pages(m, s->gfp, s->order);
	world_cond_resched();
	t->flags |= PF_MEMALLOC;
	progress = try_to_free_pages(m, s->gfp, s->order);
	t->flags &= ~(u32)PF_MEMALLOC;
	world_cond_resched();
	return progress;
}

/*
 * One round of reclaim and a try at the lists. Pages that were freed may sit in per-CPU lists of
 * CPUs that do not need them: if the first try fails all are drained, once.
 */
static struct page *direct_reclaim(struct machine *m, struct alloc_state *s, u32 alloc_flags)
{
	struct page *page;

	s->progress = perform_reclaim(m, s);
	if (!s->progress)
		return NULL;
	page = try_freelists(m, s, alloc_flags);
	if (page)
		return page;
	drain_all_pages(m);
	return try_freelists(m, s, alloc_flags);
}

/* One round of compaction and a try at the lists. */
static struct page *direct_compact(struct machine *m, struct alloc_state *s, u32 alloc_flags,
                                   enum compact_priority prio)
{
	s->compacted = COMPACT_SKIPPED;
	if (!s->order)
		return NULL;
	return alloc_pages_direct_compact(m, s->gfp, s->order, alloc_flags, prio, &s->compacted);
}

/* ---- out of memory ------------------------------------------------------------------------------------------- */

/* Would killing something help this request? */
static bool oom_may_kill(const struct alloc_state *s)
{
	if (s->gfp & __GFP_NOFAIL)
		return true;
	return s->order <= PAGE_ALLOC_COSTLY_ORDER && gfp_zone(s->gfp) >= ZONE_NORMAL &&
	       !(s->gfp & (__GFP_THISNODE | __GFP_RETRY_MAYFAIL));
}

/* oom_lock held. */
static struct page *oom_kill_for(struct machine *m, struct alloc_state *s)
{
	/* The last look, at the high mark: has a kill or a parallel free filled the zones? */
	struct page *page =
		get_page_from_freelist(m, s->gfp & ~__GFP_DIRECT_RECLAIM, s->order, WMARK_HIGH);

	if (page || !oom_may_kill(s))
		return page;
	/* Reclaim without file systems may have missed a lot, so nobody dies; the request loops. */
	if (!(s->gfp & (__GFP_FS | __GFP_NOFAIL))) {
		s->progress = 1;
		return NULL;
	}
	if (out_of_memory(m, s->gfp, s->order) || s->gfp & __GFP_NOFAIL) {
		s->progress = 1;
		if (s->gfp & __GFP_NOFAIL && m->slowpath == slowpath_6_18)
			page = try_freelists(m, s, ALLOC_NO_WATERMARKS);
	}
	return page;
}

/* Progress is reported if something was killed, or if another task is at it already. */
static struct page *alloc_may_oom(struct machine *m, struct alloc_state *s)
{
	struct page *page;

	s->progress = 0;
	if (!mutex_trylock(&m->oom_lock)) {
		s->progress = 1;
		sleep_one_tick();
		return NULL;
	}
	page = oom_kill_for(m, s);
	mutex_unlock(&m->oom_lock);
	return page;
}

/* ---- 2.6.36 to 3.18 ----------------------------------------------------------------------------------------------- */

/* "Too small to fail": up to order 3 the request loops until it has its page or nobody is left. */
static bool should_alloc_retry(const struct alloc_state *s, unsigned long pages_reclaimed)
{
	if (s->gfp & __GFP_NORETRY)
		return false;
	if (s->order <= PAGE_ALLOC_COSTLY_ORDER || s->gfp & __GFP_NOFAIL)
		return true;
	return s->gfp & __GFP_RETRY_MAYFAIL && pages_reclaimed < 1UL << s->order;
}

/* Up to 4.0 a request without watermarks that must not fail waits here, not in reclaim. */
static struct page *alloc_high_priority(struct machine *m, const struct alloc_state *s)
{
	struct page *page;

	while (!(page = try_freelists(m, s, ALLOC_NO_WATERMARKS)) && s->gfp & __GFP_NOFAIL &&
	       s->can_reclaim)
		wait_iff_congested(m, preferred_zone(m, s->gfp), true, m->world->hw->hz / 50);
	return page;
}

/* A task that is freeing memory, or has been told to die, does not reclaim. */
static bool may_reclaim_3_19(const struct machine *m, const struct alloc_state *s)
{
	u32 flags = current_flags(m);

	if (!s->can_reclaim || flags & PF_MEMALLOC)
		return false;
	return !(flags & TIF_MEMDIE) || s->gfp & __GFP_NOFAIL;
}

/* A huge page for a fault, which has small ones to fall back on. (Linux: __GFP_NO_KSWAPD.) */
static bool is_thp_request(const struct alloc_state *s)
{
	return s->gfp & __GFP_COMP && s->gfp & __GFP_NORETRY && !(s->gfp & __GFP_KSWAPD_RECLAIM);
}

/* Compaction without waiting, before anything is reclaimed. True: the request ends here. */
static bool compact_first(struct machine *m, struct alloc_state *s, u32 alloc_flags,
                          struct page **page)
{
	*page = direct_compact(m, s, alloc_flags, COMPACT_PRIO_ASYNC);
	if (*page)
		return true;
	return is_thp_request(s) &&
	       (s->compacted == COMPACT_DEFERRED || s->compacted == COMPACT_CONTENDED);
}

/* Reclaim was not enough: once more, and waiting for what is locked (since 2.6.38). */
static struct page *compact_last(struct machine *m, struct alloc_state *s)
{
	return direct_compact(m, s, s->alloc_flags & ~ALLOC_NO_WATERMARKS,
	                      is_thp_request(s) ? COMPACT_PRIO_ASYNC : COMPACT_PRIO_SYNC_LIGHT);
}

/*
 * To 4.4, after the pass at the min mark, whose result is in *@page: reserves, compaction, a round of
 * reclaim. True: the request ends here, with *@page or without.
 */
static bool try_hard_to_4_4(struct machine *m, struct alloc_state *s, struct page **page)
{
	u32 alloc_flags = s->alloc_flags & ~ALLOC_NO_WATERMARKS;

	if (!*page && s->alloc_flags & ALLOC_NO_WATERMARKS)
		*page = alloc_high_priority(m, s);
	if (*page || !may_reclaim_3_19(m, s))
		return true;
	if (s->order && compact_first(m, s, alloc_flags, page))
		return true;
	*page = direct_reclaim(m, s, alloc_flags);
	return *page != NULL;
}

/*
 * Without progress the OOM killer comes before the question whether to retry; a request that may not
 * call file systems is not worth a kill and just loops.
 */
static bool oom_to_3_18(struct machine *m, struct alloc_state *s, struct page **page)
{
	if (s->progress || !(s->gfp & __GFP_FS) || s->gfp & __GFP_NORETRY)
		return false;
	*page = alloc_may_oom(m, s);
	return true;
}

/*
 * One request, to 3.18. kswapd is woken at the beginning and after a kill. Between two rounds of
 * reclaim 2.6.36 does not look at the free lists again, other than reclaim's own try, and waits for
 * disks whether they are congested or not.
 */
static struct page *slowpath_to_3_18(struct machine *m, gfp_t gfp, unsigned int order, bool old)
{
	struct alloc_state s = {
		.gfp = gfp,
		.order = order,
		.can_reclaim = gfp & __GFP_DIRECT_RECLAIM,
	};
	unsigned long pages_reclaimed = 0;
	struct page *page = NULL;
	bool restart = true;

	if (is_opportunistic(gfp))
		return NULL;
	for (;;) {
		if (restart && gfp & __GFP_KSWAPD_RECLAIM)
			wake_all_kswapds(m, gfp, order);
		s.alloc_flags = slow_alloc_flags(gfp, s.can_reclaim) | reserve_flags(m, gfp);
		if (restart || !old)
			page = try_freelists(m, &s, s.alloc_flags & ~ALLOC_NO_WATERMARKS);
		if (try_hard_to_4_4(m, &s, &page))
			return page;
		restart = oom_to_3_18(m, &s, &page);
		if (restart) {
			if (page || !s.progress)
				return page;
			continue;
		}
		pages_reclaimed += s.progress;
		if (!should_alloc_retry(&s, pages_reclaimed))
			return old ? NULL : compact_last(m, &s);
		if (old)
			congestion_wait(m, true, m->world->hw->hz / 50);
		else
			wait_iff_congested(m, preferred_zone(m, gfp), true, m->world->hw->hz / 50);
	}
}

struct page *slowpath_2_6_36(struct machine *m, gfp_t gfp, unsigned int order)
{
	return slowpath_to_3_18(m, gfp, order, true);
}

struct page *slowpath_3_0(struct machine *m, gfp_t gfp, unsigned int order)
{
	return slowpath_to_3_18(m, gfp, order, false);
}

/* ---- 3.19 to 4.4 ----------------------------------------------------------------------------------------------- */

struct page *slowpath_3_19(struct machine *m, gfp_t gfp, unsigned int order)
{
	struct alloc_state s = {
		.gfp = gfp,
		.order = order,
		.can_reclaim = gfp & __GFP_DIRECT_RECLAIM,
	};
	unsigned long pages_reclaimed = 0;
	struct page *page;
	u32 min_flags = slow_alloc_flags(gfp, s.can_reclaim);

	if (is_opportunistic(gfp))
		return NULL;
	for (;;) {
		if (gfp & __GFP_KSWAPD_RECLAIM)
			wake_all_kswapds(m, gfp, order);
		s.alloc_flags = min_flags | reserve_flags(m, gfp);
		page = try_freelists(m, &s, s.alloc_flags & ~ALLOC_NO_WATERMARKS);
		if (try_hard_to_4_4(m, &s, &page))
			return page;
		pages_reclaimed += s.progress;
		if (!should_alloc_retry(&s, pages_reclaimed))
			return compact_last(m, &s);
		if (!s.progress) {
			page = alloc_may_oom(m, &s);
			if (page || !s.progress)
				return page;
		}
		wait_iff_congested(m, preferred_zone(m, gfp), true, m->world->hw->hz / 50);
	}
}

/* ---- 4.7 to 6.18 ----------------------------------------------------------------------------------------------- */

/*
 * Is there a zone that could serve the request if everything reclaimable in it were free? Then
 * reclaim is worth repeating, but only MAX_RECLAIM_RETRIES times in a row without progress.
 */
static bool should_reclaim_retry(struct machine *m, const struct alloc_state *s,
                                 u32 *no_progress_loops)
{
	const struct pglist_data *pgdat = policy_node(m);
	bool retry = false;

	if (s->progress && s->order <= PAGE_ALLOC_COSTLY_ORDER)
		*no_progress_loops = 0;
	else
		*no_progress_loops += 1;
	if (*no_progress_loops > MAX_RECLAIM_RETRIES)
		return false;
	for (u32 i = 0; i < pgdat->nr_zonelist && !retry; i++) {
		struct zone *z = pgdat->zonelist[i];
		unsigned long available;

		if (z->type > (u32)gfp_zone(s->gfp) || !policy_allows(m, z))
			continue;
		available = zone_reclaimable_pages(z) + zone_page_state_snapshot(z, NR_FREE_PAGES);
		retry = __zone_watermark_ok(z, s->order, wmark(z, WMARK_MIN), gfp_zone(s->gfp),
		                            s->alloc_flags, (long)available);
	}
	world_cond_resched();
	return retry;
}

/* Without compaction, orders 1 to 3 go on as long as a single page could be had. */
static bool single_page_is_free(struct machine *m, const struct alloc_state *s)
{
	const struct pglist_data *pgdat = policy_node(m);

	if (s->order > PAGE_ALLOC_COSTLY_ORDER)
		return false;
	for (u32 i = 0; i < pgdat->nr_zonelist; i++) {
		struct zone *z = pgdat->zonelist[i];

		if (z->type <= (u32)gfp_zone(s->gfp) && policy_allows(m, z) &&
		    zone_watermark_ok(z, 0, wmark(z, WMARK_MIN), gfp_zone(s->gfp), s->alloc_flags))
			return true;
	}
	return false;
}

/* Is the last word of compaction not its last? Then it is tried again, in the end harder. */
static bool should_compact_retry(struct machine *m, struct alloc_state *s)
{
	bool costly = s->order > PAGE_ALLOC_COSTLY_ORDER;
	u32 most = MAX_RECLAIM_RETRIES / (costly ? 4 : 1);

	if (!s->order || current_task()->killed)
		return false;
	if (m->knob.compaction == COMPACTION_OFF)
		return single_page_is_free(m, s);
	if (s->compacted == COMPACT_SKIPPED)
		return compaction_zonelist_suitable(m, s->gfp, (int)s->order, s->alloc_flags);
	if (s->compacted == COMPACT_SUCCESS && ++s->nr_compactions <= most)
		return true;
	if (s->prio <= (costly ? COMPACT_PRIO_SYNC_LIGHT : COMPACT_PRIO_SYNC_FULL))
		return false;
	s->prio -= 1;
	s->nr_compactions = 0;
	return true;
}

/* One round of 6.18: the page, or NULL; *@again: another round may help. */
static struct page *slowpath_round_6_18(struct machine *m, struct alloc_state *s,
                                        u32 *no_progress_loops, bool *again)
{
	u32 reserve = reserve_flags(m, s->gfp);
	struct page *page;

	*again = false;
	if (s->gfp & __GFP_KSWAPD_RECLAIM)
		wake_all_kswapds(m, s->gfp, s->order);
	if (reserve)
		s->alloc_flags = reserve | (s->alloc_flags & ALLOC_KSWAPD);
	page = try_freelists(m, s, s->alloc_flags);
	if (page || !s->can_reclaim || current_flags(m) & PF_MEMALLOC)
		return page;
	page = direct_reclaim(m, s, s->alloc_flags);
	if (!page)
		page = direct_compact(m, s, s->alloc_flags, s->prio);
	if (page || s->gfp & __GFP_NORETRY)
		return page;
	if (s->order > PAGE_ALLOC_COSTLY_ORDER && !(s->gfp & __GFP_RETRY_MAYFAIL))
		return NULL;
	*again = should_reclaim_retry(m, s, no_progress_loops) ||
	         (s->progress && should_compact_retry(m, s));
	if (*again)
		return NULL;
	page = alloc_may_oom(m, s);
	if (page)
		return page;
	/* A victim that has had its reserves, or may not, is not kept waiting for more. */
	if (current_flags(m) & TIF_MEMDIE &&
	    (s->alloc_flags & (ALLOC_OOM | ALLOC_NO_WATERMARKS) || s->gfp & __GFP_NOMEMALLOC))
		return NULL;
	*again = s->progress != 0;
	if (*again)
		*no_progress_loops = 0;
	return NULL;
}

/*
 * What reclaim is unlikely to help is compacted first: large blocks, and those of a type that only
 * movable pages could make room for. True: the request ends here.
 */
static bool compact_first_6_18(struct machine *m, struct alloc_state *s, struct page **page)
{
	bool costly = s->order > PAGE_ALLOC_COSTLY_ORDER;

	if (!s->order || !s->can_reclaim || (!costly && s->gfp & __GFP_MOVABLE) ||
	    current_flags(m) & PF_MEMALLOC)
		return false;
	*page = direct_compact(m, s, s->alloc_flags, COMPACT_PRIO_ASYNC);
	if (*page)
		return true;
	if (!costly || !(s->gfp & __GFP_NORETRY))
		return false;
	/* A huge page for a fault: reclaiming for it would thrash others, and help little. */
	if (s->compacted == COMPACT_SKIPPED || s->compacted == COMPACT_DEFERRED)
		return m->knob.compaction != COMPACTION_OFF;
	s->prio = COMPACT_PRIO_ASYNC;
	return false;
}

struct page *slowpath_6_18(struct machine *m, gfp_t gfp, unsigned int order)
{
	struct alloc_state s = {
		.gfp = gfp,
		.order = order,
		.can_reclaim = gfp & __GFP_DIRECT_RECLAIM,
		.prio = COMPACT_PRIO_SYNC_LIGHT,
	};
	u32 no_progress_loops = 0;
	struct page *page;
	bool again;

	s.alloc_flags = slow_alloc_flags(gfp, s.can_reclaim);
	if (gfp & __GFP_KSWAPD_RECLAIM)
		wake_all_kswapds(m, gfp, order);
	page = try_freelists(m, &s, s.alloc_flags);
	if (!page && compact_first_6_18(m, &s, &page))
		return page;
	while (!page) {
		page = slowpath_round_6_18(m, &s, &no_progress_loops, &again);
		if (page || again)
			continue;
		if (!(gfp & __GFP_NOFAIL) || !s.can_reclaim)
			break;
		/* It must not fail: some of the reserve, and on. */
		page = try_freelists(m, &s, WMARK_MIN | ALLOC_HIGH);
		world_cond_resched();
	}
	return page;
}

slowpath_fn *choose_slowpath(const struct machine *m)
{
	static slowpath_fn *const form[] = {
		[SLOWPATH_2_6_36] = slowpath_2_6_36,
		[SLOWPATH_3_0] = slowpath_3_0,
		[SLOWPATH_3_19] = slowpath_3_19,
		[SLOWPATH_6_18] = slowpath_6_18,
	};

	return form[m->knob.slowpath];
}
