/*
 * Overcommit: how much memory programs may be promised (Linux mm/util.c; to 3.14 mm/mmap.c).
 *
 * What private writable mappings, and shared memory, could come to if they were all touched is added up
 * in vm_committed_as, a per-CPU counter. Whoever wants more asks vm_enough_memory():
 *
 *   vm.overcommit_memory 0   a guess: to 5.0 what is free, cached or in swap must be enough for this one
 *                            request; since then only what memory and swap there are at all (knob
 *                            overcommit.guess)
 *                        1   always yes
 *                        2   the sum must stay below CommitLimit
 *
 * Something is kept back for who has to repair a machine that is full: for root, and in mode 2 from each
 * process, so that it cannot take everything; by shares to 3.9, by vm.admin_reserve_kbytes and
 * vm.user_reserve_kbytes since (knob overcommit.reserve). Who may not exceed RLIMIT_MEMLOCK is not root.
 */
#include "core/fs.h"

/* ---- the counter --------------------------------------------------------------------------------- */

/* lib/percpu_counter.c: the running CPU's part goes to the sum when it has grown to the batch. */
static void committed_add(struct machine *m, long nr_pages)
{
	struct cpu_data *d = this_cpu(m);
	long batch = (long)m->committed_batch;

	charge(COST_VMSTAT);
	d->committed += nr_pages;
	if (d->committed < batch && d->committed > -batch)
		return;
	charge(COST_ATOMIC);
	atomic_long_add(d->committed, &m->vm_committed_as);
	d->committed = 0;
}

/* The sum without what CPUs still have to themselves. */
static unsigned long committed_read_positive(struct machine *m)
{
	long sum = atomic_long_read(&m->vm_committed_as);

	return sum > 0 ? (unsigned long)sum : 0;
}

long vm_committed_exact(const struct machine *m)
{
	long sum = atomic_long_peek(&m->vm_committed_as);

	for (u32 i = 0; i < m->nr_cpus; i++)
		if (m->cpu[i])
			sum += m->cpu[i]->committed;
	return sum;
}

/* Boot, when memory is known: mm_compute_batch(), and the reserves that have no value. */
void overcommit_init(struct machine *m)
{
	unsigned long share = m->totalram_pages / m->nr_cpus / 256;
	unsigned long free_kb = nr_free_pages(m) << (PAGE_SHIFT - 10);

	m->committed_batch = max(share, 2UL * m->nr_cpus);
	m->admin_reserve_pages =
		(m->knob.admin_reserve ? m->knob.admin_reserve : min(free_kb / 32, 1UL << 13)) >>
		(PAGE_SHIFT - 10);
	m->user_reserve_pages =
		(m->knob.user_reserve ? m->knob.user_reserve : min(free_kb / 32, 1UL << 17)) >>
		(PAGE_SHIFT - 10);
}

/* ---- may it? --------------------------------------------------------------------------------------- */

unsigned long vm_commit_limit(const struct machine *m)
{
	unsigned long limit = m->totalram_pages * m->knob.overcommit_ratio / 100;

	if (m->knob.overcommit_kbytes)
		limit = m->knob.overcommit_kbytes >> (PAGE_SHIFT - 10);
	return limit + m->total_swap_pages;
}

static unsigned long less(unsigned long from, unsigned long nr)
{
	return from - min(from, nr);
}

/* What could be had without taking it from anybody, or by writing it to swap. */
static bool guess_free(struct machine *m, const struct mm_struct *mm, unsigned long nr_pages)
{
	long swap = get_nr_swap_pages(m);
	unsigned long free = global_page_state(m, NR_FREE_PAGES);

	charge_n(COST_LINE_SOCKET, 3);
	free += less(global_page_state(m, NR_FILE_PAGES), global_page_state(m, NR_SHMEM));
	free += swap > 0 ? (unsigned long)swap : 0;
	if (free <= m->totalreserve_pages)
		return false;
	free -= m->totalreserve_pages;
	if (!mm->cap_ipc_lock)
		free = less(free, m->knob.overcommit_reserve == OVERCOMMIT_RESERVE_SHARE
		                          ? free / 32
		                          : m->admin_reserve_pages);
	return free > nr_pages;
}

static bool below_limit(struct machine *m, const struct mm_struct *mm)
{
	bool share = m->knob.overcommit_reserve == OVERCOMMIT_RESERVE_SHARE;
	unsigned long allowed = vm_commit_limit(m);
	unsigned long own = mm->total_vm / 32;

	if (!mm->cap_ipc_lock)
		allowed = less(allowed, share ? allowed / 32 : m->admin_reserve_pages);
	allowed = less(allowed, share ? own : min(own, m->user_reserve_pages));
	return committed_read_positive(m) < allowed;
}

/* Accounts @nr_pages more, on behalf of @mm. -ENOMEM: no, and nothing has been accounted. */
int vm_enough_memory(struct machine *m, const struct mm_struct *mm, unsigned long nr_pages)
{
	bool enough = true;

	committed_add(m, (long)nr_pages);
	switch ((enum overcommit_policy)m->knob.overcommit_memory) {
	case OVERCOMMIT_ALWAYS:
		break;
	case OVERCOMMIT_GUESS:
		enough = m->knob.overcommit_guess == OVERCOMMIT_GUESS_FREE
		                 ? guess_free(m, mm, nr_pages)
		                 : nr_pages <= m->totalram_pages + m->total_swap_pages;
		break;
	case OVERCOMMIT_NEVER:
		enough = below_limit(m, mm);
		break;
	}
	if (!enough)
		vm_unacct_memory(m, nr_pages);
	return enough ? 0 : -ENOMEM;
}

void vm_unacct_memory(struct machine *m, unsigned long nr_pages)
{
	if (nr_pages)
		committed_add(m, -(long)nr_pages);
}

/* VM_ACCOUNT says that a VMA's pages are in the sum. */
void overcommit_audit(struct machine *m)
{
	const struct mm_struct *mm;
	long sum = 0;

	list_for_each_entry (mm, &m->mms, mmlist) {
		const struct vm_area_struct *vma = NULL;

		if (mm->mmap_sem.writer || !mm->mm_users)
			return; /* in the middle of something */
		while ((vma = vma_next(mm, vma)))
			sum += vma->vm_flags & VM_ACCOUNT ? (long)vma_pages(vma) : 0;
	}
	sum += shmem_committed(m);
	VM_BUG_ON_MSG(sum != vm_committed_exact(m),
	              "Committed_AS is %ld pages, VMAs and files have %ld", vm_committed_exact(m),
	              sum);
}
