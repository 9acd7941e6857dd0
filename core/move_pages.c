/*
 * Moving pages between nodes: move_pages(), migrate_pages(), and mbind() with MPOL_MF_MOVE (Linux
 * mm/migrate.c, mm/mempolicy.c).
 *
 * The call empties all CPUs' batches, so that pages are on lists, takes those it is to move off them, and
 * has migrate.c move them to pages that it allocates on the node wanted, and nowhere else. What cannot be moved goes
 * back to its list.
 *
 * move_pages() is told a node for each address and leaves a status for each: the node it is on, or an error
 * number; those that could not be moved keep the status that was there before. migrate_pages() moves
 * all that a process has on some nodes to others. Its form is that since 4.17, when a page that is not to be
 * had does not end the call.
 *
 * A page of a huge page or large folio that is named stands for all of it (4.14, knob thp.migration). Before, huge
 * pages were split and their pages moved; large folios of files stay where they are then (-EBUSY). Left out: other
 * processes than the caller, cpusets.
 */
#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/migrate.h"

#include <errno.h>

/* ---- one page ---------------------------------------------------------------------------------------- */

/* What is mapped at an address; the lock of its table is held. */
struct walk {
	struct page *page;
	struct spinlock *lock;
	bool huge;   /* by a PMD entry */
	bool moving; /* -ENOENT: a migration entry is */
};

/* 0, or -ENOENT: nothing; -EFAULT: a page of zeros, which is everybody's. */
static int page_walk(struct machine *m, struct mm_struct *mm, u64 va, struct walk *w)
{
	u32 table = pt_find(m, mm, va);
	pte_t *pte;

	*w = (struct walk){.huge = !table};
	if (table) {
		pte = pt_entry(m, table, va);
		w->lock = &m->table[table].ptl;
	} else {
		u32 pmd_table = pt_find_pmd(m, mm, va, &pte);

		if (!pmd_table || !pmd_leaf(READ_ONCE(*pte)))
			return -ENOENT;
		w->lock = pmd_lockptr(m, pmd_table);
	}
	spin_lock(w->lock);
	charge(COST_PTE);
	if (!table && !pmd_leaf(*pte)) { /* it has become a table */
		spin_unlock(w->lock);
		return page_walk(m, mm, va, w);
	}
	w->moving = pte_migration(*pte);
	if (pte_present(*pte) && !pte_special(*pte)) {
		/* Of a huge entry the head: its tails may not be filled in (compound.c). */
		w->page = pfn_to_page(m, pte_pfn(*pte));
		charge(COST_PAGE_LINE);
		return 0;
	}
	spin_unlock(w->lock);
	return pte_present(*pte) ? -EFAULT : -ENOENT;
}

/*
 * Does anybody else map the page found at @va? Of a large folio Linux remembers whether more than one address space
 * does (6.15). Here the ptes are counted that are where those of the same folio would be: they are all that there are,
 * or not. Those of another table are read without its lock.
 */
static bool is_shared(struct machine *m, struct mm_struct *mm, const struct walk *w, u64 va)
{
	const struct page *head = compound_head(w->page);
	u64 start = va - ((u64)(w->page - head) << PAGE_SHIFT);
	u64 pfn = page_to_pfn(m, head);
	s32 own = 0;

	charge(COST_PAGE_FLAG);
	if (!page_is_compound(head))
		return head->mapcount > 1;
	if (w->huge || head[1].total_mapcount == 1)
		return head[1].total_mapcount > 1;
	for (u64 at = start; pfn < page_to_pfn(m, head) + compound_nr(head);
	     at += PAGE_SIZE, pfn++) {
		u32 table = __pt_find(m, mm, at);
		pte_t pte = table ? *pt_entry(m, table, at) : (pte_t){0};

		own += pte_present(pte) && !pte_special(pte) && pte_pfn(pte) == pfn;
	}
	return own != head[1].total_mapcount;
}

/* The huge page is split, the lock dropped. 0, or -EBUSY. */
static int split_found(struct machine *m, struct walk *w, struct page *head)
{
	int err = -EBUSY;

	get_page(head);
	spin_unlock(w->lock);
	if (trylock_page(m, head)) {
		err = split_huge_page(m, head) ? -EBUSY : 0;
		unlock_page(m, head);
	}
	put_page(m, head);
	return err;
}

static int page_isolate(struct machine *m, struct page *page, struct page_list *list)
{
	if (!isolate_lru_page(m, page))
		return -EBUSY;
	page_set(page, PG_isolated);
	mod_node_state(page_zone(m, page), isolated_item(page_lru(page)), compound_nr(page));
	page_list_add(list, page);
	return 1;
}

/* What a call has taken off its lists: pages of one node. */
struct moving {
	struct machine *m;
	struct page_list list;
	u32 from; /* node */
	bool all; /* also what others map */
	bool whole;
	const struct page *large; /* queue_pages_range(): whose entries have been met last */
};

#define NUMA_NO_NODE UINT32_MAX

static void moving_init(struct moving *mv, struct machine *m, bool all)
{
	*mv = (struct moving){.m = m, .from = NUMA_NO_NODE, .all = all, .whole = migrates_whole(m)};
}

/*
 * The page at @va is to be moved to @nid (NUMA_NO_NODE: away from where it is). 1: it has been taken; 0: it is there
 * already; -EAGAIN: those taken are of another node, and have to be moved first. mmap_sem held.
 */
static int moving_add(struct moving *mv, struct mm_struct *mm, u64 va, u32 nid)
{
	struct machine *m = mv->m;
	struct page *head;
	struct walk w;
	u32 from;
	int err;

	for (;;) {
		bool shared;

		err = page_walk(m, mm, va, &w);
		if (err)
			return err;
		head = compound_head(w.page);
		from = page_nid(head);
		shared = mv->whole ? is_shared(m, mm, &w, va) : page_mapcount(w.page) != 1;
		if (from == nid || (shared && !mv->all) ||
		    (mv->from != NUMA_NO_NODE && mv->from != from)) {
			spin_unlock(w.lock);
			return from == nid                                    ? 0
			       : mv->from != NUMA_NO_NODE && mv->from != from ? -EAGAIN
			                                                      : -EACCES;
		}
		if (!page_is_compound(w.page) || mv->whole)
			break;
		if (!page_is_anon(head)) {
			spin_unlock(w.lock);
			return -EBUSY;
		}
		err = split_found(m, &w, head);
		if (err)
			return err;
	}
	if (mv->from == NUMA_NO_NODE)
		page_list_init(&mv->list, m->node[from].mem_map);
	mv->from = from;
	err = page_isolate(m, head, &mv->list);
	spin_unlock(w.lock);
	return err;
}

/* ---- where they go ---------------------------------------------------------------------------------------- */

struct destination {
	struct machine *m;
	u32 nid;    /* NUMA_NO_NODE: as the policy says */
	u32 policy; /* then its number, */
	u64 index;  /* and whose turn it is to be interleaved */
};

/* From that node or not at all. */
static struct page *new_on_node(struct machine *m, gfp_t gfp, unsigned int order, u32 nid)
{
	struct task *t = current_task();
	struct page *page;
	u16 node = t->alloc_node;
	u64 mask = t->alloc_mask;

	t->alloc_node = (u16)(nid + 1);
	t->alloc_mask = 0;
	page = alloc_pages_nopolicy(m, gfp | __GFP_THISNODE, order);
	t->alloc_node = node;
	t->alloc_mask = mask;
	return page;
}

/* As large as @page. For a large one more is done than for a fault that wants one: alloc_migration_target(). */
static struct page *new_page(const struct page *page, void *arg)
{
	struct destination *d = arg;
	unsigned int order = compound_order(page);
	gfp_t gfp = order ? GFP_TRANSHUGE : GFP_HIGHUSER_MOVABLE;
	struct page *new;

	if (d->nid != NUMA_NO_NODE)
		new = new_on_node(d->m, gfp, order, d->nid);
	else
		new = __alloc_pages_policy(d->m, gfp, order, d->policy, d->index++);
	if (new &&order && !page_is_anon(page))
		filemap_prep_folio(d->m, new);
	return new;
}

static void put_new_page(struct page *page, void *arg)
{
	struct destination *d = arg;

	put_page(d->m, page);
}

/* Nothing is taken any more. How many could not be moved, or -ENOMEM. May switch tasks. */
static long moving_move(struct moving *mv, struct destination *d)
{
	const struct migrate_target to = {new_page, put_new_page, d};
	long err = 0;

	if (mv->from == NUMA_NO_NODE)
		return 0;
	err = migrate_pages(mv->m, &mv->list, &to, MIGRATE_SYNC);
	putback_movable_pages(mv->m, &mv->list);
	mv->from = NUMA_NO_NODE;
	return err;
}

/* All pages are on lists, and the nodes that a request names are looked at. May switch tasks. */
void moving_prepare(struct machine *m)
{
	mempolicy_look(m);
	lru_add_drain_all(m, m->knob.mlock_drain != MLOCK_DRAIN_ALL);
}

/* ---- move_pages() ------------------------------------------------------------------------------------------ */

/* Nodes of pages [@nr] of the call's arrays, which may be host memory. */
struct move_pages_args {
	const u64 *page;
	const s32 *node;
	s32 *status;
	u32 nr;
};

/* What has been taken for @page[@start] to @page[@i - 1] moves to @nid. */
static long move_and_store(struct moving *mv, struct move_pages_args *a, u32 nid, u32 start, u32 i)
{
	struct destination d = {.m = mv->m, .nid = nid};
	long err;

	if (mv->from == NUMA_NO_NODE)
		return 0;
	err = moving_move(mv, &d);
	if (err)
		return err > 0 ? err + (a->nr - i) : err;
	while (start < i)
		a->status[start++] = (s32)nid;
	return 0;
}

static int add_for_migration(struct moving *mv, struct mm_struct *mm, u64 va, u32 nid)
{
	int err = -EFAULT;

	down_read(&mm->mmap_sem);
	if (find_vma(mm, va) && find_vma(mm, va)->vm_start <= va)
		err = moving_add(mv, mm, va, nid);
	up_read(&mm->mmap_sem);
	return err;
}

/* Pages one after another; those for the same node move together. */
static long do_pages_move(struct machine *m, struct mm_struct *mm, struct move_pages_args *a,
                          bool all)
{
	struct moving mv;
	u32 current = NUMA_NO_NODE;
	u32 start = 0;
	long err = 0;
	long last;
	u32 i;

	moving_init(&mv, m, all);
	for (i = 0; i < a->nr; i++) {
		s32 node = a->node[i];

		world_cond_resched();
		if (node < 0 || (u32)node >= m->nr_nodes || !m->node[node].nr_local_zones) {
			err = -ENODEV;
			break;
		}
		if (current == NUMA_NO_NODE) {
			current = (u32)node;
			start = i;
		}
		err = (u32)node != current ? -EAGAIN
		                           : add_for_migration(&mv, mm, a->page[i], (u32)node);
		if (err == -EAGAIN) {
			err = move_and_store(&mv, a, current, start, i);
			if (err)
				return err;
			start = i;
			current = (u32)node;
			err = add_for_migration(&mv, mm, a->page[i], (u32)node);
		}
		if (err > 0) /* taken */
			continue;
		a->status[i] = err ? (s32)err : node;
		err = move_and_store(&mv, a, current, start, i);
		if (err)
			return err > 0 ? err - 1 : err; /* page i is accounted for */
		current = NUMA_NO_NODE;
	}
	last = move_and_store(&mv, a, current, start, i);
	return err < 0 ? err : last;
}

static void do_pages_stat(struct machine *m, struct mm_struct *mm, struct move_pages_args *a)
{
	down_read(&mm->mmap_sem);
	for (u32 i = 0; i < a->nr; i++) {
		const struct vm_area_struct *vma = find_vma(mm, a->page[i]);
		struct walk w;
		int err = -EFAULT;

		if (vma && vma->vm_start <= a->page[i])
			err = page_walk(m, mm, a->page[i], &w);
		if (!err) {
			err = (int)page_nid(compound_head(w.page));
			spin_unlock(w.lock);
		}
		a->status[i] = err;
	}
	up_read(&mm->mmap_sem);
}

long do_move_pages(struct machine *m, u32 nr, const u64 *page, const s32 *node, s32 *status,
                   int flags)
{
	struct task *t = sys_enter(SPAN_MEMPOLICY);
	struct move_pages_args a = {page, node, status, nr};
	long err = 0;

	if (flags & ~(MM_MPOL_MF_MOVE | MM_MPOL_MF_MOVE_ALL))
		return sys_exit(t, -EINVAL);
	if (node) {
		moving_prepare(m);
		err = do_pages_move(m, t->mm, &a, flags & MM_MPOL_MF_MOVE_ALL);
	} else {
		do_pages_stat(m, t->mm, &a);
	}
	return sys_exit(t, (int)err);
}

/* ---- migrate_pages() -------------------------------------------------------------------------------------------- */

/*
 * What is mapped at @va is to be moved, if it is on one of @nodes. -EAGAIN: those taken are of another node. @next:
 * where to go on. How many are not to be had is added to *@nr_failed. That others map one is none of these.
 */
static int queue_page(struct moving *mv, struct mm_struct *mm, u64 va, u64 *next, u64 nodes,
                      long *nr_failed)
{
	const struct page *head;
	struct walk w;
	u32 nid;
	int err;

	*next = va + PAGE_SIZE;
	err = page_walk(mv->m, mm, va, &w);
	if (w.huge && (err || mv->whole)) /* or nothing up to the next table */
		*next = ALIGN_DOWN(va, PMD_SIZE) + PMD_SIZE;
	if (err) {
		*nr_failed += w.moving && mv->whole;
		return 0;
	}
	head = compound_head(w.page);
	nid = page_nid(head);
	spin_unlock(w.lock);
	/* Only the first pte of a large one counts. */
	if (!(nodes >> nid & 1) || (page_is_compound(head) && head == mv->large))
		return 0;
	err = moving_add(mv, mm, va, NUMA_NO_NODE);
	if (err == -EAGAIN)
		return err;
	mv->large = mv->whole ? head : NULL;
	*nr_failed += err < 0 && err != -ENOENT && err != -EACCES;
	return 0;
}

/*
 * Takes the pages of [*@start, @end) that are on one of @nodes, as long as they are on the same one; *@start moves
 * behind the last. mmap_sem held.
 */
static void queue_pages_range(struct moving *mv, struct mm_struct *mm, u64 *start, u64 end,
                              u64 nodes, long *nr_failed)
{
	struct vm_area_struct *vma = find_vma(mm, *start);

	for (; vma && vma->vm_start < end; vma = vma_next(mm, vma)) {
		u64 va = max(*start, vma->vm_start);

		while (va < min(end, vma->vm_end)) {
			*start = va;
			if (queue_page(mv, mm, va, &va, nodes, nr_failed))
				return;
		}
	}
	*start = end;
}

/* All of @mm's pages in the range that are on @nodes go where @d says. May switch tasks. */
static long migrate_range(struct machine *m, struct mm_struct *mm, u64 start, u64 end, u64 nodes,
                          struct destination *d, bool all)
{
	struct moving mv;
	long nr_failed = 0;

	moving_init(&mv, m, all);
	while (start < end) {
		long err;

		queue_pages_range(&mv, mm, &start, end, nodes, &nr_failed);
		err = moving_move(&mv, d);
		if (err < 0)
			return err;
		nr_failed += err;
	}
	return nr_failed;
}

/* The node of @to that is in the place that @nid has in @from. */
static u32 node_remap(u32 nid, u64 from, u64 to)
{
	u32 place = (u32)__builtin_popcountl(from & ((1UL << nid) - 1));

	place %= (u32)__builtin_popcountl(to);
	while (place--)
		to &= to - 1;
	return (u32)__builtin_ctzl(to);
}

/*
 * Which node of *@left comes next: one whose destination is not still to be emptied, so that pages do not
 * move twice; if there is none, any. False: none is left.
 */
static bool next_source(u64 left, u64 from, u64 to, u32 *source, u32 *dest)
{
	bool found = false;

	for (u32 s = 0; s < 64; s++) {
		u32 d;

		if (!(left >> s & 1))
			continue;
		if (__builtin_popcountl(from) != __builtin_popcountl(to) && to >> s & 1)
			continue;
		d = node_remap(s, from, to);
		if (d == s)
			continue;
		*source = s;
		*dest = d;
		found = true;
		if (!(left >> d & 1))
			break;
	}
	return found;
}

long do_migrate_pages(struct machine *m, u64 from, u64 to)
{
	struct task *t = sys_enter(SPAN_MEMPOLICY);
	u64 left = from;
	u32 source, dest;
	long nr_failed = 0;
	long err = 0;

	to &= nodes_with_memory(m);
	if (!to)
		return sys_exit(t, -EINVAL);
	moving_prepare(m);
	down_read(&t->mm->mmap_sem);
	while (err >= 0 && next_source(left, from, to, &source, &dest)) {
		struct destination d = {.m = m, .nid = dest};

		left &= ~(1UL << source);
		err = migrate_range(m, t->mm, 0, TASK_SIZE, (1UL << source), &d, true);
		nr_failed += max(err, 0L);
	}
	up_read(&t->mm->mmap_sem);
	return sys_exit(t, (int)(err < 0 ? err : nr_failed));
}

/* ---- mbind() ------------------------------------------------------------------------------------------------------ */

/* How many of the range lie elsewhere than on @nodes. mmap_sem held. */
long pages_off_nodes(struct machine *m, struct mm_struct *mm, u64 start, u64 end, u64 nodes)
{
	long nr = 0;

	for (u64 va = start; va < end; va += PAGE_SIZE) {
		struct walk w;

		if (page_walk(m, mm, va, &w))
			continue;
		nr += !(nodes >> page_nid(compound_head(w.page)) & 1);
		spin_unlock(w.lock);
	}
	return nr;
}

/*
 * What lies in the range elsewhere than @policy allows, on none of @nodes, moves. How many pages could not
 * be moved. mmap_sem held for writing.
 */
long mbind_move(struct machine *m, struct mm_struct *mm, u64 start, u64 end, u32 policy, u64 nodes,
                bool all)
{
	struct destination d = {.m = m, .nid = NUMA_NO_NODE, .policy = policy};

	return migrate_range(m, mm, start, end, ~nodes, &d, all);
}
