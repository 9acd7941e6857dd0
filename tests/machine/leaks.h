/*
 * What must be left of a machine whose tasks have all ended: nothing but what it had at boot, and what
 * Linux would keep too.
 */
#ifndef TESTS_MACHINE_LEAKS_H
#define TESTS_MACHINE_LEAKS_H

#include <stdio.h>

#include "core/khugepaged.h"
#include "core/swap.h"
#include "core/workqueue.h"

/* Frames that somebody has. */
static long frames_out(const struct machine *m)
{
	return (long)(vm_event_zones(m, PGALLOC_DMA) + m->nr_taken - vm_event_sum(m, PGFREE));
}

/* No reclaim, no I/O, no end of an address space, by its last task or the OOM reaper. */
static bool nothing_is_under_way(const struct machine *m)
{
	const struct mm_struct *mm;

	list_for_each_entry (mm, &m->mms, mmlist)
		if ((mm->oom_victim && !mm->oom_skip) || !mm->mm_users)
			return false;
	return !item_exact(m, NR_WRITEBACK) && !item_exact(m, NR_ISOLATED_ANON) &&
	       !item_exact(m, NR_ISOLATED_FILE) && !pool_live(&m->io_pool) &&
	       workqueue_is_idle(m) && !(m->khugepaged && m->khugepaged->busy);
}

/* And nobody has an address space but the caller: the OOM reaper may be late. */
static bool machine_is_quiet(const struct machine *m)
{
	return nothing_is_under_way(m) && m->mms.next->next == &m->mms;
}

static void leak(const char *what, long nr)
{
	VM_BUG_ON_MSG(nr, "%ld %s left after all tasks have ended", nr, what);
}

/* How many references batches have to @page, of which each has one for each time it has the page. */
static s32 refs_of_batches(const struct machine *m, const struct page *page)
{
	s32 nr = 0;

	for (u32 c = 0; c < m->nr_cpus; c++) {
		const struct pagevec *pv = m->cpu[c] ? m->cpu[c]->pvec.lru_add : NULL;

		for (u32 k = 0; pv && k < sizeof(struct cpu_pagevecs) / sizeof(*pv); k++)
			for (u32 i = 0; i < pv[k].nr; i++)
				nr += pv[k].page[i] == page;
		pv = m->cpu[c] ? &m->cpu[c]->mlock.pvec : NULL;
		for (u32 i = 0; pv && i < pv->nr; i++)
			nr += pv->page[i] == page;
	}
	return nr;
}

/* Pages of @pvec that nobody but batches holds; each of its places counts for its part of one's references. */
static void count_only_in_batches(const struct machine *m, const struct pagevec *pvec, long *parts)
{
	for (u32 i = 0; i < pvec->nr; i++) {
		const struct page *page = pvec->page[i];

		if (page->refcount == refs_of_batches(m, page) && !page_test(page, PG_swapcache))
			*parts +=
				2520L * compound_nr(page) / page->refcount; /* 1 to 10 divide it */
	}
}

/* A batch that is not full yet may hold the last reference to a page. */
static long pages_only_in_batches(const struct machine *m)
{
	long parts = 0;

	for (u32 c = 0; c < m->nr_cpus; c++) {
		const struct pagevec *pv = m->cpu[c] ? m->cpu[c]->pvec.lru_add : NULL;

		for (u32 k = 0; pv && k < sizeof(struct cpu_pagevecs) / sizeof(*pv); k++)
			count_only_in_batches(m, &pv[k], &parts);
		if (m->cpu[c])
			count_only_in_batches(m, &m->cpu[c]->mlock.pvec, &parts);
	}
	return DIV_ROUND_UP(parts, 2520L);
}

static long swap_leaks(const struct machine *m, long *nr_frames)
{
	long nr = 0;

	for (u32 s = 0; s < m->nr_swapfiles; s++) {
		const struct swap_info_struct *si = m->swap[s];

		for (u64 i = 1; i < si->max; i++)
			nr += (si->swap_map[i] & ~SWAP_HAS_CACHE) != 0;
		for (u64 i = 0; i < DIV_ROUND_UP(si->max, PAGE_SIZE); i++)
			*nr_frames += si->cont_levels[i]; /* kept until swapoff */
		if (!si->ram)
			continue;
		/* Compressed RAM has what the swap cache has. */
		*nr_frames += (long)si->zram.frames.nr;
		VM_BUG_ON(si->zram.frames.nr != DIV_ROUND_UP(si->zram.bytes, PAGE_SIZE));
	}
	return nr;
}

static long slab_leaks(const struct machine *m, long *nr_frames)
{
	long nr = 0;

	for (u32 i = 0; i < NR_SLABS; i++) {
		const struct kmem_cache *c = &m->slab[i];

		nr += c->nr_objs;
		*nr_frames += c->nr_frames;
		VM_BUG_ON_MSG(c->nr_frames >= 2 * c->frames_per_obj,
		              "slab %u keeps %u frames for no object", i, c->nr_frames);
	}
	return nr;
}

/* Huge pages that nobody uses and that wait to be split: those in batches may. */
static long split_queue_leaks(const struct machine *m)
{
	const struct pglist_data *nd;
	long nr = 0;

	for_each_node (m, nd)
		nr += (long)nd->split_queue_len;
	return nr - pages_only_in_batches(m) / 4; /* the smallest have so many */
}

/* @frames_at_boot: frames_out() before the first task. */
static void nothing_is_left(const struct machine *m, long frames_at_boot)
{
	long kept = frames_at_boot;

	leak("address spaces", !list_empty(&m->mms));
	leak("tasks", !list_empty(&m->tasks));
	leak("mapped pages", item_exact(m, NR_ANON_MAPPED));
	leak("huge mapped pages", item_exact(m, NR_ANON_THPS));
	if (split_queue_leaks(m) > 0)
		leak("huge pages to be split", split_queue_leaks(m));
	leak("page tables", item_exact(m, NR_PAGETABLE));
	leak("isolated pages", item_exact(m, NR_ISOLATED_ANON) + item_exact(m, NR_ISOLATED_FILE));
	leak("swap slots", swap_leaks(m, &kept));
	leak("slab objects", slab_leaks(m, &kept));
	leak("OOM victims", m->oom_victims);
	leak("gather batches", pool_live(&m->gather_pool));
	leak("requests to disks", pool_live(&m->io_pool));
	/* Pages that were being read ahead or written when their owner went stay in the swap cache. */
	kept += item_exact(m, NR_SWAPCACHE) + pages_only_in_batches(m);
	if (m->zero_page && !m->world->hw->range[0].nr_reserved)
		kept += 1;
	if (m->huge_zero_page) /* until there is pressure */
		kept += 512;
	leak("frames", frames_out(m) - kept);
}

#endif
