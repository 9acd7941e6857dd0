/*
 * On which node khugepaged takes a huge page (Linux mm/khugepaged.c: hpage_collapse_find_target_node() and
 * hpage_collapse_scan_abort(); knobs khugepaged.node, khugepaged.node_abort).
 *
 * To 3.12 where the range's first page is. Then where most of its pages are; of several nodes with as many,
 * the one after that which was taken last. Other nodes are tried if it has none (to 4.0), or are not (4.1); or
 * (6.2) any of those with as many pages will do, the first of them if it can.
 *
 * Where memory of the own node is reclaimed before another's is taken (vm.zone_reclaim_mode), a range whose pages
 * are on nodes that are far from each other stays as it is (3.17): wherever the huge page was, it would be far from
 * somebody.
 */
#include "core/khugepaged.h"

#define RECLAIM_DISTANCE 30 /* Linux's node_reclaim_distance */

bool collapse_count_node(const struct machine *m, struct collapse_nodes *nodes, u32 nid)
{
	const u8 *distance = m->world->hw->distance + (size_t)nid * m->nr_nodes;

	if (unlikely(!nodes->load[nid] && m->zone_reclaim_mode &&
	             m->knob.khugepaged_abort == KNOB_ON))
		for (u32 i = 0; i < m->nr_nodes; i++)
			if (nodes->load[i] && distance[i] > RECLAIM_DISTANCE)
				return false;
	if (!nodes->any)
		nodes->first = nid;
	nodes->any = true;
	nodes->load[nid] += 1;
	return true;
}

/* The first node with most pages after @from; -1: none. *@mask: all of them, those below 64. */
static s32 node_with_most(const struct machine *m, const struct collapse_nodes *nodes, s32 from,
                          u64 *mask)
{
	s32 found = -1;
	u16 most = 0;

	for (u32 i = 0; i < m->nr_nodes; i++)
		most = max(most, nodes->load[i]);
	*mask = 0;
	for (u32 i = 0; i < m->nr_nodes; i++) {
		if (nodes->load[i] != most)
			continue;
		*mask |= i < 64 ? 1UL << i : 0;
		if (found < 0 && (s32)i > from)
			found = (s32)i;
	}
	return found;
}

static u32 find_target_node(const struct machine *m, const struct collapse_nodes *nodes, u64 *mask)
{
	s32 last = m->khugepaged->last_node;
	s32 node = node_with_most(m, nodes, -1, mask);
	s32 next;

	*mask = m->knob.khugepaged_node == KHUGEPAGED_NODE_MOST_ANY ? *mask : 0;
	if (m->knob.khugepaged_node == KHUGEPAGED_NODE_FIRST && nodes->any)
		return nodes->first;
	if (m->knob.khugepaged_node == KHUGEPAGED_NODE_MOST_ANY || node > last)
		return (u32)node;
	next = node_with_most(m, nodes, last, &(u64){0});
	return (u32)(next >= 0 ? next : node);
}

struct page *collapse_alloc_page(struct machine *m, const struct collapse_nodes *nodes, gfp_t gfp)
{
	struct task *t = current_task();
	struct page *page;
	u64 mask;
	u32 nid;

	if (m->nr_nodes == 1)
		return alloc_pages(m, gfp, HPAGE_PMD_ORDER);
	mempolicy_look(m);
	nid = find_target_node(m, nodes, &mask);
	m->khugepaged->last_node = (s32)nid;
	if (m->knob.khugepaged_node == KHUGEPAGED_NODE_MOST_ONLY)
		gfp |= __GFP_THISNODE;
	t->alloc_node = (u16)(nid + 1);
	t->alloc_mask = mask;
	page = alloc_pages_nopolicy(m, gfp, HPAGE_PMD_ORDER);
	t->alloc_node = 0;
	t->alloc_mask = 0;
	return page;
}
