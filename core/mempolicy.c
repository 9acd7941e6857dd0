/*
 * Memory policies: on which nodes memory is taken (Linux mm/mempolicy.c).
 *
 * A task has one, which its children inherit, and a VMA may have one of its own (mbind()), which wins for
 * the pages that faults bring to it. Default and local: the node of the running CPU, then others by
 * distance. Preferred: the same from another node on. Bind: only the nodes named, the nearest first.
 * Interleave: each page comes from the next node in turn, by the page's offset in a VMA that has the
 * policy, else by a counter of the task's; weighted (6.9): nodes have several turns in a row.
 *
 * Policies are few, and the same one is kept once, in a table of the machine's: what a task or VMA has is a
 * number in it. A VMA's is part of its vm_flags, so that VMAs merge only if they agree, as in Linux.
 *
 * While a request is under way its task says so in alloc_node and alloc_mask: every walk of a zonelist
 * (allocation, reclaim, compaction, waking kswapd) begins with policy_node() and passes over what
 * policy_allows() does not. Interrupts have no policy. What the kernel allocates for a task follows the
 * task's. A machine on which nobody has set a policy does not look.
 *
 * What is there already is moved by move_pages.c.
 *
 * Left out: cpusets and the rebinding that goes with them, shared policies of files, preferred many (5.15).
 */
#include "core/huge_memory.h"

#include "lib/bitmap.h"

#define NO_INDEX (~0UL)

/* ---- the table -------------------------------------------------------------------------------------- */

u64 nodes_with_memory(const struct machine *m)
{
	u64 nodes = 0;

	for (u32 i = 0; i < m->nr_nodes && i < 64; i++)
		nodes |= m->node[i].nr_local_zones ? 1UL << i : 0;
	return nodes;
}

/* The number of the policy: *@index; 0: the default. -EINVAL, as set_mempolicy(); -ENOMEM: too many. */
static int mempolicy_get(struct machine *m, enum mm_mempolicy mode, u64 nodes, u32 *index)
{
	u32 i = 1;

	*index = 0;
	switch (mode) {
	case MM_MPOL_DEFAULT:
	case MM_MPOL_LOCAL:
		if (nodes)
			return -EINVAL;
		/* Local is a policy, if only in that a VMA's wins over the task's. */
		if (mode == MM_MPOL_DEFAULT)
			return 0;
		break;
	case MM_MPOL_PREFERRED:
		if (!nodes) {
			mode = MM_MPOL_LOCAL;
			break;
		}
		nodes &= nodes_with_memory(m);
		if (!nodes)
			return -EINVAL;
		nodes &= -nodes; /* the first one */
		break;
	case MM_MPOL_WEIGHTED_INTERLEAVE:
		if (m->knob.mpol_weighted == KNOB_OFF)
			return -EINVAL;
		__attribute__((fallthrough));
	case MM_MPOL_BIND:
	case MM_MPOL_INTERLEAVE:
		nodes &= nodes_with_memory(m);
		if (!nodes)
			return -EINVAL;
		break;
	default:
		return -EINVAL;
	}
	for (; i <= m->nr_mempolicies; i++)
		if (m->mempolicy[i].mode == mode && m->mempolicy[i].nodes == nodes)
			break;
	if (i == MEMPOLICIES_MAX)
		return -ENOMEM;
	if (i > m->nr_mempolicies)
		m->mempolicy[m->nr_mempolicies = i] =
			(struct mempolicy){.mode = mode, .nodes = nodes};
	*index = i;
	return 0;
}

/* From now on requests look at what their task wants: whoever asks for a node by name needs that. */
void mempolicy_look(struct machine *m)
{
	u32 local;

	world_order();
	if (!m->nr_mempolicies)
		mempolicy_get(m, MM_MPOL_LOCAL, 0, &local);
}

/* ---- what a request is bound to -------------------------------------------------------------------------- */

/* The task whose policies count; NULL: nobody's do. */
static struct task *policy_task(const struct machine *m)
{
	if (world_in_irq() || world_self->task->id <= m->nr_world_tasks)
		return NULL;
	return current_task();
}

struct pglist_data *__policy_node(struct machine *m)
{
	const struct task *t = policy_task(m);

	return t && t->alloc_node ? &m->node[t->alloc_node - 1] : this_node(m);
}

bool __policy_allows(const struct machine *m, const struct zone *z)
{
	const struct task *t = policy_task(m);

	return !t || !t->alloc_mask || t->alloc_mask >> z->pgdat->node_id & 1;
}

static bool interleaves(const struct mempolicy *p)
{
	return p->mode == MM_MPOL_INTERLEAVE || p->mode == MM_MPOL_WEIGHTED_INTERLEAVE;
}

/* How many turns in a row node @nid has. */
static u32 il_weight(const struct machine *m, const struct mempolicy *p, u32 nid)
{
	const struct knobs *k = &m->knob;
	const u64 weight[] = {k->numa_weight_0, k->numa_weight_1, k->numa_weight_2,
	                      k->numa_weight_3};

	if (p->mode == MM_MPOL_INTERLEAVE || nid >= ARRAY_SIZE(weight))
		return 1;
	return (u32)weight[nid];
}

/* The next node in turn, or (@index) the one whose turn it is at that page. */
static u32 interleave_node(const struct machine *m, struct task *t, const struct mempolicy *p,
                           u64 index)
{
	u32 nr = 0;
	u32 turn;

	for (u64 nodes = p->nodes; nodes; nodes &= nodes - 1)
		nr += il_weight(m, p, (u32)__builtin_ctzl(nodes));
	turn = index == NO_INDEX ? t->il_next++ % nr : (u32)(index % nr);
	for (u64 nodes = p->nodes;; nodes &= nodes - 1) {
		u32 nid = (u32)__builtin_ctzl(nodes);
		u32 weight = il_weight(m, p, nid);

		if (turn < weight)
			return nid;
		turn -= weight;
	}
}

struct page *__alloc_pages_policy(struct machine *m, gfp_t gfp, unsigned int order, u32 policy,
                                  u64 index)
{
	const struct mempolicy *p = &m->mempolicy[policy];
	struct task *t = policy_task(m);
	struct page *page;
	u16 node;
	u64 mask;

	if (!t || gfp & __GFP_THISNODE)
		return alloc_pages_nopolicy(m, gfp, order);
	node = t->alloc_node;
	mask = t->alloc_mask;
	t->alloc_node = 0;
	t->alloc_mask = 0;
	if (policy && p->mode == MM_MPOL_BIND)
		t->alloc_mask = p->nodes;
	else if (policy && p->mode == MM_MPOL_PREFERRED)
		t->alloc_node = (u16)(__builtin_ctzl(p->nodes) + 1);
	else if (policy && interleaves(p))
		t->alloc_node = (u16)(interleave_node(m, t, p, index) + 1);
	page = alloc_pages_nopolicy(m, gfp, order);
	if (page && policy && interleaves(p) && page_nid(page) + 1 == t->alloc_node)
		mod_zone_state(page_zone(m, page), NUMA_INTERLEAVE_HIT, 1);
	t->alloc_node = node;
	t->alloc_mask = mask;
	return page;
}

/* The running task's own policy. */
struct page *alloc_pages_task_policy(struct machine *m, gfp_t gfp, unsigned int order)
{
	const struct task *t = policy_task(m);

	return __alloc_pages_policy(m, gfp, order, t ? t->mempolicy : 0, NO_INDEX);
}

/* The VMA's, or else the task's. */
struct page *__alloc_pages_vma(struct machine *m, gfp_t gfp, unsigned int order,
                               const struct vm_area_struct *vma, u64 va)
{
	u32 policy = vma->vm_flags >> VM_POLICY_SHIFT;
	u64 index = (vma->vm_pgoff >> order) + ((va - vma->vm_start) >> (PAGE_SHIFT + order));

	if (!policy)
		return alloc_pages_task_policy(m, gfp, order);
	return __alloc_pages_policy(m, gfp, order, policy, index);
}

/*
 * The node that a huge page had better be on: the policy's, or the running CPU's. False: pages are interleaved, or
 * may not be on that.
 */
static bool huge_page_node(struct machine *m, const struct vm_area_struct *vma,
                           const struct task *t, u32 *nid)
{
	u32 policy = vma->vm_flags >> VM_POLICY_SHIFT;
	const struct mempolicy *p = &m->mempolicy[policy ? policy : t->mempolicy];

	*nid = this_node(m)->node_id;
	if (p == m->mempolicy)
		return true;
	if (p->mode == MM_MPOL_PREFERRED)
		*nid = (u32)__builtin_ctzl(p->nodes);
	return !interleaves(p) && (p->mode != MM_MPOL_BIND || p->nodes >> *nid & 1);
}

/*
 * A far huge page is worse than near small ones: from other nodes only if the request may take pains.
 */
struct page *__alloc_huge_pages_vma(struct machine *m, gfp_t gfp, const struct vm_area_struct *vma,
                                    u64 va)
{
	struct task *t = policy_task(m);
	struct page *page;
	u16 node;
	u64 mask;
	u32 nid;

	if (!t || !huge_page_node(m, vma, t, &nid))
		return alloc_pages_vma(m, gfp, HPAGE_PMD_ORDER, vma, va);
	node = t->alloc_node;
	mask = t->alloc_mask;
	t->alloc_node = (u16)(nid + 1);
	t->alloc_mask = 0;
	page = alloc_pages_nopolicy(m, gfp | __GFP_THISNODE | __GFP_NORETRY, HPAGE_PMD_ORDER);
	t->alloc_node = node;
	t->alloc_mask = mask;
	if (page || !(gfp & __GFP_DIRECT_RECLAIM))
		return page;
	return alloc_pages_vma(m, gfp, HPAGE_PMD_ORDER, vma, va);
}

/* May the death of @t help a request that is bound to @mask? */
bool mempolicy_in_oom_domain(const struct machine *m, const struct task *t, u64 mask)
{
	const struct mempolicy *p = &m->mempolicy[t->mempolicy];

	/* Who has no such policy may have memory anywhere. */
	if (!t->mempolicy || (p->mode != MM_MPOL_BIND && p->mode != MM_MPOL_INTERLEAVE))
		return true;
	return p->nodes & mask;
}

/* ---- the calls ----------------------------------------------------------------------------------------------- */

int do_set_mempolicy(struct machine *m, enum mm_mempolicy mode, u64 nodes)
{
	struct task *t = sys_enter(SPAN_MEMPOLICY);
	u32 index;
	int err;

	world_order();
	err = mempolicy_get(m, mode, nodes, &index);
	if (!err) {
		t->mempolicy = (u8)index;
		t->il_next = 0;
	}
	return sys_exit(t, err);
}

static int mbind_range(struct machine *m, struct mm_struct *mm, u64 start, u64 end, u32 policy)
{
	struct vm_area_struct *vma = find_vma(mm, start);
	struct vm_area_struct *prev;

	if (!vma || vma->vm_start > start)
		return -EFAULT;
	/* Nothing is changed if there is a hole (queue_pages_range()). */
	for (u64 at = start; at < end; at = vma->vm_end) {
		vma = find_vma(mm, at);
		if (!vma || vma->vm_start > at)
			return -EFAULT;
	}
	vma = find_vma(mm, start);
	prev = start > vma->vm_start ? vma : vma_prev(vma);
	while (start < end) {
		u64 next = min(end, vma->vm_end);
		u32 vm_flags = (vma->vm_flags & VM_FLAGS_MASK) | policy << VM_POLICY_SHIFT;
		int err = 0;

		if (vm_flags != vma->vm_flags)
			err = vma_modify_flags(m, &vma, prev, start, next, vm_flags);
		if (err)
			return err;
		start = max(next, vma->vm_end);
		prev = vma;
		vma = vma_next(mm, vma);
	}
	return 0;
}

/*
 * Pages of the range that are where @policy does not want them. -EIO: some are, and that is not to be
 * (MPOL_MF_STRICT); how many that would be if they are to move is known only when they have been tried.
 */
static int mbind_misplaced(struct machine *m, struct mm_struct *mm, u64 start, u64 end, u32 policy,
                           int flags)
{
	const struct mempolicy *p = &m->mempolicy[policy];
	u64 nodes = policy && p->mode != MM_MPOL_LOCAL ? p->nodes : 0;
	long nr_failed;

	/* Where pages are is nothing that the default policy, or local, could object to. */
	if (!nodes || !(flags & (MM_MPOL_MF_STRICT | MM_MPOL_MF_MOVE | MM_MPOL_MF_MOVE_ALL)))
		return 0;
	if (flags & (MM_MPOL_MF_MOVE | MM_MPOL_MF_MOVE_ALL))
		nr_failed =
			mbind_move(m, mm, start, end, policy, nodes, flags & MM_MPOL_MF_MOVE_ALL);
	else
		nr_failed = pages_off_nodes(m, mm, start, end, nodes);
	return nr_failed && flags & MM_MPOL_MF_STRICT ? -EIO : 0;
}

int do_mbind_flags(struct machine *m, u64 va, u64 len, enum mm_mempolicy mode, u64 nodes, int flags)
{
	struct task *t = sys_enter(SPAN_MEMPOLICY);
	u64 end = va + ALIGN(len, PAGE_SIZE);
	bool strict = flags & MM_MPOL_MF_STRICT && !(flags & MM_MPOL_MF_MOVES);
	u32 index;
	int err;

	if (flags & ~(MM_MPOL_MF_STRICT | MM_MPOL_MF_MOVES) || va & ~PAGE_MASK || end < va)
		return sys_exit(t, -EINVAL);
	world_order();
	if (end == va && mode < NR_MM_MPOL)
		return sys_exit(t, 0);
	err = mempolicy_get(m, mode, nodes, &index);
	if (err)
		return sys_exit(t, err);
	if (flags & MM_MPOL_MF_MOVES)
		moving_prepare(m);
	mmap_write_lock(t->mm);
	err = end > TASK_SIZE ? -EFAULT : 0;
	/* Strict, without moving: nothing is changed if a page is elsewhere. */
	if (!err && strict)
		err = mbind_misplaced(m, t->mm, va, end, index, flags);
	if (!err)
		err = mbind_range(m, t->mm, va, end, index);
	if (!err && !strict)
		err = mbind_misplaced(m, t->mm, va, end, index, flags);
	mmap_write_unlock(t->mm);
	return sys_exit(t, err);
}

int do_mbind(struct machine *m, u64 va, u64 len, enum mm_mempolicy mode, u64 nodes)
{
	return do_mbind_flags(m, va, len, mode, nodes, 0);
}
