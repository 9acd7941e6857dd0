/*
 * khugepaged: goes through address spaces and makes huge pages of what was mapped by small ones (Linux
 * mm/khugepaged.c, to 4.7 in mm/huge_memory.c).
 *
 * An address space is registered when it might have a huge page: at a fault that would like one, when
 * it is advised, when a mapping grows, by fork. The task wakes every khugepaged.scan_sleep_millisecs,
 * goes on where it was for khugepaged.pages_to_scan pages, and tries what looks worth it (collapse.c). When
 * no huge page is to be had it sleeps for khugepaged.alloc_sleep_millisecs, and after the second failure
 * until the next round. That it raises min_free_kbytes at boot is in watermark.c.
 *
 * An exit does not wait for it, but for its hold of mmap_sem: whoever comes back to an address space looks
 * whether it still has users. (Linux starts the task at boot; here it starts with the first address space, so
 * that machines without huge pages have none.)
 *
 * Left out: shared memory and files, MADV_COLLAPSE.
 */
#include "core/khugepaged.h"

/* ---- who is registered ------------------------------------------------------------------------------------ */

static bool has_work(const struct khugepaged *k)
{
	return !list_empty(&k->mms);
}

static void khugepaged_main(void *arg);

static void khugepaged_register(struct khugepaged *k, struct mm_struct *mm)
{
	bool wakeup = !has_work(k);

	charge(COST_ATOMIC);
	list_add_tail(&mm->khugepaged, &k->mms);
	if (!k->started) {
		k->started = true;
		kthread_run(k->machine, &k->task, "khugepaged", WORLD_TASK_KTHREAD, khugepaged_main,
		            k, -1);
	} else if (wakeup) {
		wake_up_all(&k->wait);
	}
}

void khugepaged_enter(struct machine *m, struct vm_area_struct *vma)
{
	struct mm_struct *mm = vma->vm_mm;

	if (likely(!list_empty(&mm->khugepaged)) || !m->khugepaged)
		return;
	if (thp_vma_allowable(m, vma, ALIGN(vma->vm_start, PMD_SIZE)))
		khugepaged_register(m->khugepaged, mm);
}

void khugepaged_fork(struct machine *m, struct mm_struct *mm, const struct mm_struct *parent)
{
	if (!list_empty(&parent->khugepaged))
		khugepaged_register(m->khugepaged, mm);
}

/* The next address space, at its beginning; none: the pass is over. */
static void khugepaged_next_mm(struct khugepaged *k)
{
	struct list_head *next = k->scan_mm->khugepaged.next;

	k->scan_va = 0;
	k->scan_mm = NULL;
	if (next == &k->mms)
		k->full_scans += 1;
	else
		k->scan_mm = list_entry(next, struct mm_struct, khugepaged);
}

void khugepaged_exit(struct machine *m, struct mm_struct *mm)
{
	struct khugepaged *k = m->khugepaged;

	if (likely(list_empty(&mm->khugepaged)))
		return;
	if (k->scan_mm == mm)
		khugepaged_next_mm(k);
	list_del_init(&mm->khugepaged);
	if (k->busy != mm)
		return;
	mmap_write_lock(mm);
	mmap_write_unlock(mm);
}

/* ---- scanning ------------------------------------------------------------------------------------------------ */

/*
 * Ranges of one VMA from k->scan_va on. True: mmap_sem is not held any more. *@progress counts what was
 * looked at.
 */
static bool scan_vma(struct khugepaged *k, struct vm_area_struct *vma, u64 *progress, u64 budget,
                     enum scan_result *ret)
{
	struct machine *m = k->machine;
	struct mm_struct *mm = vma->vm_mm;
	u64 end = ALIGN_DOWN(vma->vm_end, PMD_SIZE);

	k->scan_va = max(k->scan_va, ALIGN(vma->vm_start, PMD_SIZE));
	if (k->scan_va >= end || !thp_vma_allowable(m, vma, k->scan_va) || !vma->anon_vma) {
		k->scan_va = max(k->scan_va, vma->vm_end);
		*progress += 1;
		return false;
	}
	while (k->scan_va < end && *progress < budget) {
		u64 haddr = k->scan_va;
		bool dropped = false;

		world_cond_resched();
		if (!READ_ONCE(mm->mm_users))
			return false;
		*ret = khugepaged_scan_pmd(m, vma, haddr, &dropped);
		k->pages_collapsed += *ret == SCAN_SUCCEED;
		*progress += HPAGE_PMD_NR;
		/* Its exit has moved the scan on. */
		if (k->scan_mm == mm)
			k->scan_va = haddr + PMD_SIZE;
		if (dropped)
			return true;
	}
	return false;
}

/* Some of k->scan_mm, mmap_sem held. True: that was all. */
static bool scan_mm_locked(struct khugepaged *k, struct mm_struct *mm, u64 *progress, u64 budget,
                           enum scan_result *ret)
{
	while (*progress < budget && READ_ONCE(mm->mm_users)) {
		struct vm_area_struct *vma = find_vma(mm, k->scan_va);

		if (!vma) {
			up_read(&mm->mmap_sem);
			return true;
		}
		if (scan_vma(k, vma, progress, budget, ret))
			return false;
	}
	up_read(&mm->mmap_sem);
	return false;
}

/* An address space whose mmap_sem cannot be had at once is passed over. */
static u64 scan_mm(struct khugepaged *k, u64 budget, enum scan_result *ret)
{
	struct mm_struct *mm = k->scan_mm;
	u64 progress = 1;
	bool all = true;

	k->busy = mm;
	mm->mm_count += 1;
	if (down_read_trylock(&mm->mmap_sem))
		all = scan_mm_locked(k, mm, &progress, budget, ret);
	if (all && k->scan_mm == mm)
		khugepaged_next_mm(k);
	k->busy = NULL;
	mm_drop(k->machine, mm);
	return progress;
}

static void sleep_ms(struct khugepaged *k, u64 ms)
{
	struct wait_queue_entry e;

	prepare_to_wait(&k->wait, &e, 0, false, WORLD_TASK_INTERRUPTIBLE);
	schedule_timeout(world_ticks_to_ns(ms * k->machine->world->hw->hz / 1000));
	finish_wait(&e);
}

/* One round: until so many pages have been looked at, or everything, or there are no huge pages. */
static void do_scan(struct khugepaged *k)
{
	struct machine *m = k->machine;
	u64 budget = m->knob.khugepaged_pages_to_scan;
	u64 progress = 0;
	u32 nr_failed = 0;
	u32 nr_passes = 0;

	if (m->knob.khugepaged_form == KHUGEPAGED_6_18)
		lru_add_drain_all(m, true); /* 5.8: pages in batches cannot be collapsed */
	while (progress < budget && has_work(k)) {
		enum scan_result ret = SCAN_FAIL;

		world_cond_resched();
		if (!k->scan_mm) {
			/* It has begun at the beginning already, or the last one has just gone. */
			if (nr_passes++ || !has_work(k))
				break;
			k->scan_mm = list_first_entry(&k->mms, struct mm_struct, khugepaged);
			k->scan_va = 0;
		}
		progress += scan_mm(k, budget - progress, &ret);
		if (ret != SCAN_ALLOC_FAILED)
			continue;
		if (nr_failed++)
			break;
		sleep_ms(k, m->knob.khugepaged_alloc_sleep);
	}
}

static void khugepaged_main(void *arg)
{
	struct khugepaged *k = arg;

	for (;;) {
		span_enter(SPAN_KHUGEPAGED);
		do_scan(k);
		span_exit();
		if (has_work(k))
			sleep_ms(k, max_t(u64, k->machine->knob.khugepaged_scan_sleep, 1));
		else
			wait_event(&k->wait, has_work(k));
	}
}

void khugepaged_init(struct machine *m)
{
	struct khugepaged *k;

	if (thp_pmd_policy(m) == THP_NEVER)
		return;
	k = arena_new(&m->arena, struct khugepaged);
	k->machine = m;
	k->last_node = -1;
	init_waitqueue_head(&k->wait);
	INIT_LIST_HEAD(&k->mms);
	m->khugepaged = k;
}
