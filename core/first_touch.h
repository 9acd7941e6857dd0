/*
 * The fault that is nearly all of them: the first touch of an anonymous page, from beginning to end, alone and
 * many in a row. fault.c's, and inline there.
 */
#ifndef CORE_FIRST_TOUCH_H
#define CORE_FIRST_TOUCH_H

#include "core/alloc_fast.h"
#include "core/fault.h"
#include "core/huge_memory.h"

/* What a first touch is charged on either side of its order point. */
enum fault_path { PATH_TOUCH_TAKE, PATH_TOUCH_MAP };

u32 pay_ahead_reads(struct ahead_reads *a);

/*
 * The lock that a first touch at @va holds, if it and the VMA are as usual: the task has no threads, and
 * the VMA that it found last is writable private memory that is not locked. NULL if not.
 */
static __always_inline struct rw_semaphore *
first_touch_lock(const struct machine *m, struct mm_struct *mm, struct vm_area_struct *vma, u64 va)
{
	struct rw_semaphore *sem = &mm->mmap_sem;

	if (unlikely(mm->mm_users > 1 || !vma || va < vma->vm_start || va >= vma->vm_end))
		return NULL;
	if (unlikely((vma->vm_flags & (VM_WRITE | VM_LOCKED)) != VM_WRITE || vma->vm_file ||
	             !vma->anon_vma))
		return NULL;
	if (m->knob.vma_lock == KNOB_ON) {
		if (unlikely(vma->vm_lock_seq == mm->mm_lock_seq))
			return NULL;
		sem = &vma->vm_lock;
	}
	return likely(__rwsem_is_at_hand(world_self, sem)) ? sem : NULL;
}

/* After the order point something was not as expected: the general functions go on. @page: taken already. */
static noinline int first_touch_slow(struct vm_fault f, struct page *page, u32 late)
{
	int ret = VM_FAULT_OOM;

	if (!page)
		page = alloc_zeroed_user_page_slow(f.m);
	if (page)
		ret = map_zeroed_page(&f, page, late);
	fault_unlock_mm(&f);
	return ret;
}

/*
 * The first touch of an anonymous page, when there is nothing special about anything. It does what
 * handle_mm_fault() would do, at the same times and for the same costs; but it looks first whether all of it
 * will be easy, spends its costs in five steps instead of twenty, and takes the table's lock without anybody
 * being able to see it: 500 instructions of the host instead of 730. VM_FAULT_FALLBACK: nothing has been done.
 */
static __always_inline int first_touch(struct machine *m, struct mm_struct *mm, u64 va)
{
	const struct first_touch *t = &m->first_touch;
	struct world_cpu *c = world_self;
	struct cpu_data *cpu = this_cpu(m);
	struct vm_area_struct *vma = mm->vmacache;
	u32 table = (u32)mm->leaf_cache;
	struct rw_semaphore *sem;
	struct easy_alloc e;
	struct pt_table *pt;
	struct pagevec *pvec;
	struct page *page;
	u64 now = c->clock;
	u32 late = 0;
	bool in_run; /* first_touches() has passed the order points */
	pte_t *pte;

	if (unlikely(mm->leaf_cache >> 32 != leaf_cache_key(va)))
		return VM_FAULT_FALLBACK;
	sem = first_touch_lock(m, mm, vma, va);
	if (unlikely(!sem))
		return VM_FAULT_FALLBACK;
	in_run = cpu->ahead.nr_left;
	pte = pt_entry(m, table, va);
	if (unlikely(!pte_none(*pte) || !alloc_is_easy(m, GFP_HIGHUSER_MOVABLE, false, &e)))
		return VM_FAULT_FALLBACK;

	__down_read_paid(c, sem, now + t->sem_ns);
	c->clock = now + t->sem_ns + t->take_ns;
	__count_path(c, PATH_TOUCH_TAKE);
	page = alloc_page_easy(m, &e, GFP_HIGHUSER_MOVABLE, in_run, &late);
	if (likely(page)) {
		__world_frame_clear(page_to_pfn(m, page));
		world_trace(EVENT_ALLOC, page_to_pfn(m, page), 0);
		if (likely(!in_run))
			world_order(); /* if counting it has taken time */
	}
	if (in_run)
		cpu->ahead.nr_left -= 1;
	else if (cpu->ahead.nr)
		late += pay_ahead_reads(&cpu->ahead);
	pt = &m->table[table];
	pvec = &cpu->pvec.lru_add[m->lru_add_new_anon];
	if (unlikely(!page || !__spin_is_at_hand(c, &pt->ptl) || !pte_none(*pte) ||
	             pvec->nr + 1 >= m->knob.lru_batch))
		return first_touch_slow(
			(struct vm_fault){
				.m = m,
				.mm = mm,
				.vma = vma,
				.va = va,
				.write = true,
				.vma_locked = sem == &vma->vm_lock,
				.table = table,
				.pte = pte,
			},
			page, late);

	c->clock += t->ptl_ns;
	now = c->clock;
	page->flags |= t->page_flags;
	page->refcount = 2; /* the pte's, and the batch's */
	page->mapcount = 1;
	page->mapping = anon_vma_mapping(m, vma->anon_vma);
	page->index = vma_index(vma, va);
	__mod_stat(m, e.zone->node_stat, stat_cpu(m, e.zone->node_stat, 0), NR_ANON_MAPPED, 1);
	pvec->page[pvec->nr++] = page;
	atomic_long_add(1, &mm->rss[MM_ANONPAGES]);
	pt->nr_used += 1;
	*pte = pte_make(page_to_pfn(m, page),
	                PTE_PRESENT | PTE_USER | PTE_ACCESSED | PTE_DIRTY | PTE_WRITE);
	c->clock += t->map_ns;
	__spin_held(c, &pt->ptl, now);
	c->clock += late + t->end_ns;
	__up_read_paid(c, sem);
	__count_path(c, PATH_TOUCH_MAP);
	return 0;
}

/* ---- many in a row ------------------------------------------------------------------------------------- */

/* This CPU's differences of @h if they are at hand, or NULL. */
static __always_inline struct stat_cpu *stat_cpu_at_hand(const struct world_cpu *c,
                                                         const struct stat_holder *h)
{
	struct stat_cpu *s = h->cpu[c->id];

	return likely(s && s->line.holder == c->mark) ? s : NULL;
}

/* What a run of first touches changes besides the pages, and how much of it there is room for. */
struct touch_run {
	struct easy_alloc e;
	struct rw_semaphore *sem;
	struct vm_area_struct *vma;
	struct pt_table *pt;
	pte_t *pte;
	struct pagevec *pvec;
	struct stat_cpu *zone; /* the zone's differences, */
	struct stat_cpu *node; /* and those of its page counters */
	enum vm_item local;    /* NUMA_LOCAL or NUMA_OTHER */
	u32 max;               /* pages */
	u32 touch_ns;          /* of one fault */
	u32 late_ns;           /* of that, the zone's line, */
	u32 pcp_ns;            /* and 6.18's lock of the CPU's list */
};

/* How many pages the CPU's lists and differences have room for: nothing of theirs overflows in the run. */
static __always_inline u32 touch_run_room(const struct machine *m, const struct touch_run *r)
{
	s32 most = r->zone->threshold;
	s32 room = (s32)m->knob.lru_batch - 1 - (s32)r->pvec->nr;

	room = min(room, (s32)r->node->threshold - r->node->diff[NR_ANON_MAPPED]);
	room = min(room, most - r->zone->diff[NUMA_HIT]);
	room = min(room, most - r->zone->diff[r->local]);
	if (m->knob.zone_fair)
		room = min(room, most + r->zone->diff[NR_ALLOC_BATCH]);
	return (u32)clamp_t(s64, room, 0, (s64)r->e.list->nr);
}

/* Looks whether all of @r is at hand. */
static __always_inline bool touch_run_prepare(struct machine *m, struct mm_struct *mm, u64 va,
                                              struct touch_run *r)
{
	const struct first_touch *t = &m->first_touch;
	const struct world_cpu *c = world_self;
	u32 table = (u32)mm->leaf_cache;

	r->vma = mm->vmacache;
	r->sem = first_touch_lock(m, mm, r->vma, va);
	if (!r->sem || r->sem->nr_readers || mm->leaf_cache >> 32 != leaf_cache_key(va) ||
	    !alloc_is_easy(m, GFP_HIGHUSER_MOVABLE, false, &r->e))
		return false;
	r->pte = pt_entry(m, table, va);
	r->pt = &m->table[table];
	r->pvec = &this_cpu(m)->pvec.lru_add[m->lru_add_new_anon];
	r->zone = stat_cpu_at_hand(c, &r->e.zone->stat);
	r->node = stat_cpu_at_hand(c, r->e.zone->node_stat);
	if (!r->zone || !r->node || !__spin_is_at_hand(c, &r->pt->ptl))
		return false;
	if (m->knob.zone_fair && atomic_long_peek(&r->e.zone->stat.v[NR_ALLOC_BATCH]) <= 0)
		return false;
	r->local = r->e.zone->pgdat->node_id == c->node ? NUMA_LOCAL : NUMA_OTHER;
	if (pcp_is_auto(m) && !__spin_is_at_hand(c, &r->e.pcp->lock))
		return false;
	r->late_ns = c->cost[COST_LINE_OWN];
	r->pcp_ns = pcp_is_auto(m) ? (u32)pcp_lock_ns(c) : 0;
	r->touch_ns =
		t->sem_ns + t->take_ns + r->pcp_ns + t->ptl_ns + t->map_ns + r->late_ns + t->end_ns;
	r->max = touch_run_room(m, r);
	return true;
}

/* Takes @nr pages off the list and maps them. */
static __always_inline void touch_run_map(struct machine *m, const struct touch_run *r, u64 va,
                                          u32 nr)
{
	struct page_list *list = r->e.list;
	struct page *base = list->base - 1; /* link 1 is the first frame */
	struct page **cursor = r->pvec->page + r->pvec->nr;
	u32 first = list->first;
	u32 mapping = anon_vma_mapping(m, r->vma->anon_vma);
	u32 flags = m->first_touch.page_flags;
	u64 index = vma_index(r->vma, va);

	for (u32 i = 0; i < nr; i++) {
		struct page *page = base + first;

		first = page->lru_next;
		page->lru_prev = 0;
		page->flags |= flags;
		page->refcount = 2; /* the pte's, and the batch's */
		page->mapcount = 1;
		page->mapping = mapping;
		page->index = index + i;
		*cursor++ = page;
		r->pte[i] = pte_make(page_to_pfn(m, page),
		                     PTE_PRESENT | PTE_USER | PTE_ACCESSED | PTE_DIRTY | PTE_WRITE);
	}
	list->first = first;
	page_list_cut_head(list, nr);
	r->pvec->nr += nr;
	r->pt->nr_used += nr;
}

/* The books of @nr faults, the last of which ends now. */
static __always_inline void touch_run_count(struct machine *m, struct mm_struct *mm,
                                            const struct touch_run *r, u32 nr)
{
	const struct first_touch *t = &m->first_touch;
	struct world_cpu *c = world_self;
	struct cpu_data *cpu = this_cpu(m);

	if (pcp_is_auto(m))
		pcp_locked(r->e.pcp, t->ptl_ns + t->map_ns + r->late_ns + t->end_ns, nr);
	__spins_held(c, &r->pt->ptl, c->clock - t->end_ns - r->late_ns, t->map_ns, nr);
	__reads_held(c, r->sem, r->touch_ns - t->sem_ns, nr);
	c->ledger->path_count[PATH_TOUCH_TAKE] += nr;
	c->ledger->path_count[PATH_TOUCH_MAP] += nr;
	c->cost_count[COST_LINE_OWN] += nr;
	r->zone->diff[NUMA_HIT] += (s8)nr;
	r->zone->diff[r->local] += (s8)nr;
	if (m->knob.zone_fair)
		r->zone->diff[NR_ALLOC_BATCH] -= (s8)nr;
	r->node->diff[NR_ANON_MAPPED] += (s8)nr;
	r->e.pcp->count -= (s32)nr;
	r->e.pcp->free_count >>= min(nr, 15u);
	cpu->event[ZONE_EVENT(PGALLOC_DMA, r->e.zone->type)] += nr;
	cpu->event[PGFAULT] += nr;
	atomic_long_add(nr, &mm->rss[MM_ANONPAGES]);
}

/*
 * Is it worth a look? Not if the reads of the last run are still to be paid for or the line of the zone's counters
 * is elsewhere, which needs a single fault, nor if the batch of new pages has no room for two: two of three calls.
 */
static __always_inline bool touch_run_may_fit(struct machine *m)
{
	const struct cpu_data *d = this_cpu(m);

	return !d->ahead.nr && !d->ahead.nr_left &&
	       d->pvec.lru_add[m->lru_add_new_anon].nr + 3 <= m->knob.lru_batch &&
	       world_line_is_here(world_self, &this_node(m)->zonelist[0]->stat.line);
}

/*
 * As many first touches from @va on as are the task's own affair: neither the CPU's lists nor its differences
 * overflow, and the task is not further ahead than work on its own memory may be. Each would do the same; so
 * what they have in common is done once, and a page costs 60 instructions of the host instead of 700. While
 * nobody is behind it is what single faults would have been, to the last count. Beyond that the one thing of
 * others' that they look at is the line of the zone's counters; the next single fault, which waits for the
 * others, pays for the folds that have come in between. @gap_ns: between one fault and the next. Returns
 * how many; 0: nothing has been done, and the general way must go on. @single: somebody looks on who wants to see
 * them one by one, so they are only counted out here.
 */
static noinline u32 first_touches(struct machine *m, struct mm_struct *mm, u64 va, u32 max,
                                  u64 gap_ns, bool single)
{
	const struct first_touch *t = &m->first_touch;
	struct world_cpu *c = world_self;
	struct ahead_reads *ahead = &this_cpu(m)->ahead;
	u64 end = world_own_until(c);
	struct touch_run r;
	u64 first, order, period;
	u32 nr;

	if (!touch_run_prepare(m, mm, va, &r))
		return 0;
	max = min(max, r.max);
	first = c->clock + t->sem_ns + t->take_ns +
	        r.pcp_ns; /* the first fault's last order point */
	order = first;
	period = r.touch_ns + gap_ns;
	for (nr = 0; nr < max && pte_none(r.pte[nr]) && order < end; nr++)
		order += period;
	if (nr < 2)
		return 0;
	if (order - period >= c->turn)
		*ahead = (struct ahead_reads){&r.e.zone->stat, first, period, nr, 0};
	if (unlikely(single)) {
		ahead->nr_left = nr;
		return 0;
	}
	touch_run_map(m, &r, va, nr);
	c->clock += (u64)nr * r.touch_ns + (nr - 1) * gap_ns;
	touch_run_count(m, mm, &r, nr);
	hist_add_nr(&c->ledger->hist[HIST_FAULT], r.touch_ns, nr);
	return nr;
}

#endif
