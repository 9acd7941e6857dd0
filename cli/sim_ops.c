/*
 * What a task of the scenario does to memory. See sim_target.c.
 */
#include "cli/sim_internal.h"

#include <errno.h>
#include <stdlib.h>

int op_mmap(struct target_task *t, u64 len, int prot, int flags, u64 *va)
{
	int p = (prot & TARGET_PROT_READ ? MM_PROT_READ : 0) |
	        (prot & TARGET_PROT_WRITE ? MM_PROT_WRITE : 0);
	int f = (flags & TARGET_MAP_NORESERVE ? MM_MAP_NORESERVE : 0) |
	        (flags & TARGET_MAP_LOCKED ? MM_MAP_LOCKED : 0) |
	        (flags & TARGET_MAP_POPULATE ? MM_MAP_POPULATE : 0) |
	        (flags & TARGET_MAP_SHARED ? MM_MAP_SHARED : 0);

	return do_mmap(machine_of(t), len, p, f, va);
}

int op_mlock(struct target_task *t, u64 va, u64 len, int flags)
{
	if (flags & TARGET_MLOCK_ONFAULT)
		return do_mlock2(machine_of(t), va, len, MM_MLOCK_ONFAULT);
	return do_mlock(machine_of(t), va, len);
}

int op_munlock(struct target_task *t, u64 va, u64 len)
{
	return do_munlock(machine_of(t), va, len);
}

int op_mlockall(struct target_task *t, int flags)
{
	int f = (flags & TARGET_MCL_CURRENT ? MM_MCL_CURRENT : 0) |
	        (flags & TARGET_MCL_FUTURE ? MM_MCL_FUTURE : 0) |
	        (flags & TARGET_MCL_ONFAULT ? MM_MCL_ONFAULT : 0);

	return f ? do_mlockall(machine_of(t), f) : do_munlockall(machine_of(t));
}

int op_munmap(struct target_task *t, u64 va, u64 len)
{
	return do_munmap(machine_of(t), va, len);
}

int op_mprotect(struct target_task *t, u64 va, u64 len, int prot)
{
	int p = (prot & TARGET_PROT_READ ? MM_PROT_READ : 0) |
	        (prot & TARGET_PROT_WRITE ? MM_PROT_WRITE : 0);

	return do_mprotect(machine_of(t), va, len, p);
}

int op_mremap(struct target_task *t, u64 va, u64 old_len, u64 new_len, int flags, u64 *new)
{
	int f = (flags & TARGET_MREMAP_MAYMOVE ? MM_MREMAP_MAYMOVE : 0) |
	        (flags & TARGET_MREMAP_FIXED ? MM_MREMAP_FIXED : 0);

	return do_mremap(machine_of(t), va, old_len, new_len, f, new);
}

int op_brk(struct target_task *t, s64 delta, u64 *end)
{
	u64 now;
	int rc = do_brk(machine_of(t), 0, &now);

	if (rc)
		return rc;
	return do_brk(machine_of(t), now + (u64)delta, end);
}

static const enum mm_mempolicy to_mempolicy[] = {
	[TARGET_MPOL_DEFAULT] = MM_MPOL_DEFAULT,
	[TARGET_MPOL_PREFERRED] = MM_MPOL_PREFERRED,
	[TARGET_MPOL_BIND] = MM_MPOL_BIND,
	[TARGET_MPOL_INTERLEAVE] = MM_MPOL_INTERLEAVE,
	[TARGET_MPOL_LOCAL] = MM_MPOL_LOCAL,
	[TARGET_MPOL_WEIGHTED_INTERLEAVE] = MM_MPOL_WEIGHTED_INTERLEAVE,
};

int op_set_mempolicy(struct target_task *t, enum target_mempolicy mode, u64 nodes)
{
	return do_set_mempolicy(machine_of(t), to_mempolicy[mode], nodes);
}

int op_mbind(struct target_task *t, u64 va, u64 len, enum target_mempolicy mode, u64 nodes)
{
	return do_mbind(machine_of(t), va, len, to_mempolicy[mode], nodes);
}

/* All in one call, as numactl's users do. The arrays are the program's, and cost it nothing here. */
int op_move_pages(struct target_task *t, u64 va, u64 len, u32 node, u64 *left)
{
	u32 nr = (u32)DIV_ROUND_UP(len, PAGE_SIZE);
	u64 *page = calloc(nr, sizeof(*page) + 2 * sizeof(s32));
	s32 *nodes = (s32 *)(page + nr);
	s32 *status = nodes + nr;
	long rc;

	if (!page)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		page[i] = va + (u64)i * PAGE_SIZE;
		nodes[i] = (s32)node;
		status[i] = -1;
	}
	rc = do_move_pages(machine_of(t), nr, page, nodes, status, MM_MPOL_MF_MOVE);
	for (u32 i = 0; i < nr; i++)
		*left += status[i] != (s32)node;
	free(page);
	return rc < 0 ? (int)rc : 0;
}

int op_migrate_pages(struct target_task *t, u64 from, u64 to, u64 *left)
{
	long rc = do_migrate_pages(machine_of(t), from, to);

	*left = rc > 0 ? (u64)rc : 0;
	return rc < 0 ? (int)rc : 0;
}

int op_madvise(struct target_task *t, u64 va, u64 len, enum target_advice advice)
{
	static const enum mm_advice to_mm[] = {
		[TARGET_MADV_NORMAL] = MM_MADV_NORMAL,
		[TARGET_MADV_DONTNEED] = MM_MADV_DONTNEED,
		[TARGET_MADV_FREE] = MM_MADV_FREE,
		[TARGET_MADV_WILLNEED] = MM_MADV_WILLNEED,
		[TARGET_MADV_RANDOM] = MM_MADV_RANDOM,
		[TARGET_MADV_SEQUENTIAL] = MM_MADV_SEQUENTIAL,
		[TARGET_MADV_HUGEPAGE] = MM_MADV_HUGEPAGE,
		[TARGET_MADV_NOHUGEPAGE] = MM_MADV_NOHUGEPAGE,
		[TARGET_MADV_COLD] = MM_MADV_COLD,
		[TARGET_MADV_PAGEOUT] = MM_MADV_PAGEOUT,
	};

	return do_madvise(machine_of(t), va, len, to_mm[advice]);
}

int op_access(struct target_task *t, u64 va, u64 len, enum target_access kind, u64 seed)
{
	static const enum world_access to_world[] = {
		[TARGET_READ] = WORLD_READ,
		[TARGET_TOUCH] = WORLD_WRITE,
		[TARGET_FILL] = WORLD_FILL,
		[TARGET_SCAN] = WORLD_SCAN,
	};

	return mm_access(machine_of(t), va, len, to_world[kind], seed);
}

int op_swapoff(struct target_task *t)
{
	const struct target_request *req = sim_of(t)->req;

	for (u32 i = 0; req->swap_bytes && i < req->hw->nr_disks; i++) {
		int rc = req->hw->disk[i].files ? 0 : do_swapoff(machine_of(t), i);

		if (rc && rc != -EINVAL) /* that one is off */
			return rc;
	}
	return killed();
}

int op_drop_caches(struct target_task *t, u32 what)
{
	return do_drop_caches(machine_of(t), what);
}
