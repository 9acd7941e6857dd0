/*
 * What workers do with their address spaces besides, for the random-operations test: mappings move.
 *
 * Numbers come from a stream of their own.
 */
#ifndef TESTS_MACHINE_SPACE_OPS_H
#define TESTS_MACHINE_SPACE_OPS_H

/* Holes, a part that is several VMAs, no room, and limits. */
static int remap_expected(int rc)
{
	return rc == -EFAULT || rc == -ENOMEM || rc == -EAGAIN || rc == -EINVAL ? 0 : rc;
}

/*
 * A mapping, whole or in part, grows, shrinks or moves; now and then over (part of) another. Who shares the
 * address space may find less there than it remembers.
 */
static int sop_remap(struct worker *w)
{
	struct space *s = w->space;
	struct rand_stream *r = &w->sr;
	u32 i = (u32)rand_below(r, s->nr_maps);
	u64 first = rand_below(r, 3) ? 0 : rand_below(r, s->map[i].pages);
	u64 pages = rand_below(r, 3) ? s->map[i].pages - first
	                             : 1 + rand_below(r, s->map[i].pages - first);
	u64 addr = s->map[i].va + first * PAGE_SIZE;
	u64 new_pages = rand_below(r, 3) ? pages + rand_below(r, 600) : 1 + rand_below(r, pages);
	int flags = rand_below(r, 4) ? MM_MREMAP_MAYMOVE : 0;
	u64 va = 0;
	int rc;

	if (addr < BRK_START + (1UL << 40)) /* the heap: brk() relies on where it is */
		return 0;
	if (rand_below(r, 3) == 0) {
		u32 k = (u32)rand_below(r, s->nr_maps);

		flags = MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED;
		va = s->map[k].va;
		va += rand_below(r, 2) ? s->map[k].pages * PAGE_SIZE : rand_below(r, 1 << 22);
		va &= rand_below(r, 2) ? PAGE_MASK : PMD_MASK;
		if (va < BRK_START + (1UL << 40) || va + new_pages * PAGE_SIZE > MMAP_BASE)
			return 0;
	}
	rc = do_mremap(w->plan->m, addr, pages * PAGE_SIZE, new_pages * PAGE_SIZE, flags, &va);
	if (rc)
		return remap_expected(rc);
	if (i < s->nr_maps) {
		s->map[i].va = va;
		s->map[i].pages = new_pages;
	}
	return 0;
}

/* Memory that children will share. */
static int sop_map_shared(struct worker *w)
{
	struct space *s = w->space;
	u64 pages = 1 + rand_below(&w->sr, min(w->plan->max_pages, 1200UL));
	u64 va;
	int rc;

	if (s->nr_maps == MAPS_MAX)
		return 0;
	rc = do_mmap(w->plan->m, pages * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE,
	             MM_MAP_SHARED | (rand_below(&w->sr, 4) ? 0 : MM_MAP_NORESERVE), &va);
	if (rc)
		return remap_expected(rc);
	if (s->nr_maps == MAPS_MAX)
		return do_munmap(w->plan->m, va, pages * PAGE_SIZE);
	s->map[s->nr_maps].va = va;
	s->map[s->nr_maps++].pages = pages;
	return 0;
}

static int sop_cold(struct worker *w)
{
	const struct space *s = w->space;
	struct rand_stream *r = &w->sr;
	u32 i = (u32)rand_below(r, s->nr_maps);
	u64 first = rand_below(r, s->map[i].pages);
	u64 pages = 1 + rand_below(r, s->map[i].pages - first);

	return remap_expected(do_madvise(w->plan->m, s->map[i].va + first * PAGE_SIZE,
	                                 pages * PAGE_SIZE,
	                                 rand_below(r, 2) ? MM_MADV_COLD : MM_MADV_PAGEOUT));
}

/* Where it is to come from from now on: the task's memory, or (a part of) a mapping. */
static int sop_policy(struct worker *w)
{
	const struct space *s = w->space;
	struct rand_stream *r = &w->sr;
	enum mm_mempolicy mode = (enum mm_mempolicy)rand_below(r, MM_MPOL_LOCAL + 1);
	u64 nodes = rand_below(r, 1UL << w->plan->m->nr_nodes);
	u32 i = (u32)rand_below(r, s->nr_maps);
	int rc;

	/* Drawn from what has been drawn: the cases there were stay what they are. */
	if (mode == MM_MPOL_INTERLEAVE && w->plan->m->knob.mpol_weighted == KNOB_ON && i % 2)
		mode = MM_MPOL_WEIGHTED_INTERLEAVE;
	if (rand_below(r, 2))
		rc = do_set_mempolicy(w->plan->m, mode, nodes);
	else
		rc = do_mbind(w->plan->m, s->map[i].va,
		              (1 + rand_below(r, s->map[i].pages)) * PAGE_SIZE, mode, nodes);
	return remap_expected(rc);
}

/* What is there goes to other nodes: some pages of a mapping, one by one, or by policy, or all of the task's. */
static int sop_move(struct worker *w)
{
	struct machine *m = w->plan->m;
	const struct space *s = w->space;
	struct rand_stream *r = &w->sr;
	u32 i = (u32)rand_below(r, s->nr_maps);
	u64 nodes = rand_below(r, 1UL << m->nr_nodes);
	int flags = MM_MPOL_MF_MOVE << rand_below(r, 2);
	u64 page[16];
	s32 node[16];
	s32 status[16];
	long rc;

	switch (rand_below(r, 3)) {
	case 0:
		rc = do_migrate_pages(m, rand_below(r, 1UL << m->nr_nodes), nodes);
		break;
	case 1:
		rc = do_mbind_flags(m, s->map[i].va,
		                    (1 + rand_below(r, s->map[i].pages)) * PAGE_SIZE, MM_MPOL_BIND,
		                    nodes, flags | (int)rand_below(r, 2));
		break;
	default:
		for (u32 k = 0; k < ARRAY_SIZE(page); k++) {
			page[k] = s->map[i].va + rand_below(r, s->map[i].pages + 2) * PAGE_SIZE;
			node[k] = (s32)rand_below(r, m->nr_nodes);
		}
		rc = do_move_pages(m, ARRAY_SIZE(page), page, node, status, flags);
		break;
	}
	/* That some pages stay is no error; nor is that nobody has room, or what was named is not there. */
	return rc >= 0 || rc == -EIO || rc == -ENODEV ? 0 : remap_expected((int)rc);
}

static int space_op(struct worker *w)
{
	if (w->space->nr_maps && rand_below(&w->sr, 10) == 0)
		return rand_below(&w->sr, 2) ? sop_policy(w) : sop_move(w);
	if (!w->space->nr_maps || rand_below(&w->sr, 4) == 0)
		return sop_map_shared(w);
	return rand_below(&w->sr, 3) ? sop_remap(w) : sop_cold(w);
}

#endif
