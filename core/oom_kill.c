/*
 * The OOM killer (Linux mm/oom_kill.c).
 *
 * When reclaim finds nothing, the task that would give back most is killed: resident pages, swap
 * entries and page tables, corrected by oom_score_adj. A victim gets TIF_MEMDIE, with which it may
 * use the reserves in order to exit; as long as one is dying nobody else is chosen.
 *
 * 4.0 (knob oom.reserves = memdie) waits for the victim to free its memory, however long that takes.
 * 4.6 and later (reaper): a kernel task takes the victim's memory away if its mmap_sem can be had,
 * ten times a tenth of a second apart, and then marks it, so that another victim may be chosen.
 *
 * Killed means: task->killed, seen by system calls and faults, and a fatal signal, which ends
 * interruptible sleeps. The task exits by itself.
 *
 * Left out: sacrificing a child for its parent, memcg and cpuset constraints (a memory policy's there is), the discount for root
 * (3 % in 4.0), panic. Where Linux would panic because nobody can be killed, out_of_memory() says so.
 */
#include "core/vmscan.h"

#define OOM_SCORE_ADJ_MIN (-1000)
#define MAX_OOM_REAP_RETRIES 10

static bool oom_today(const struct machine *m)
{
	return m->knob.oom == OOM_REAPER;
}

/* ---- choosing ------------------------------------------------------------------------------------ */

/* Pages that the death of @t would free. Negative (today) only by its adjustment. */
static long oom_badness(struct machine *m, const struct task *t)
{
	struct mm_struct *mm = t->mm;
	long total = (long)(m->totalram_pages + m->total_swap_pages);
	long points;

	/* No order points from the look at the list to the kill: tasks come and go. */
	points = atomic_long_peek(&mm->rss[MM_ANONPAGES]) +
	         atomic_long_peek(&mm->rss[MM_SWAPENTS]) + (long)mm->nr_tables;
	points += (long)t->oom_score_adj * (total / 1000);
	/* To 5.9 whoever may be killed has at least one point. */
	return oom_today(m) || points > 0 ? points : 1;
}

/* Is it on its way out already, so that one should wait for it? */
static bool oom_is_dying(const struct machine *m, const struct task *t)
{
	if (t->flags & TIF_MEMDIE)
		return !oom_today(m) || !t->mm || !t->mm->oom_skip;
	return !oom_today(m) && t->flags & PF_EXITING && t->mm;
}

/* A task that was not started cannot exit. (Linux shows none before it runs.) */
static bool oom_unkillable(const struct task *t)
{
	return !t->mm || t->w.state == WORLD_TASK_NEW || t->oom_score_adj == OOM_SCORE_ADJ_MIN ||
	       t->mm->oom_skip;
}

/*
 * Killed, but waiting for a child, which do_wait() does to the end: the child must go first. (Linux
 * sacrifices children before their parents, and wait4() can be interrupted.)
 */
static bool oom_waits_for_child(const struct machine *m, const struct task *t)
{
	const struct task *child;

	if (!t->killed || t->w.state == WORLD_TASK_RUNNING)
		return false;
	list_for_each_entry (child, &m->tasks, tasks)
		if (t->w.waits_for == &child->exit_wait)
			return true;
	return false;
}

/* The worst task; NULL: none. *@dying: wait instead. */
static struct task *select_bad_process(struct machine *m, long *points, bool *dying)
{
	/* Bound to some nodes: CONSTRAINT_MEMORY_POLICY. */
	u64 mask = world_self->task->id > m->nr_world_tasks ? current_task()->alloc_mask : 0;
	struct task *chosen = NULL;
	struct task *t;

	*dying = false;
	list_for_each_entry (t, &m->tasks, tasks) {
		long p;

		if (oom_waits_for_child(m, t))
			continue;
		if (oom_is_dying(m, t)) {
			*dying = true;
			return NULL;
		}
		if (oom_unkillable(t) || (mask && !mempolicy_in_oom_domain(m, t, mask)))
			continue;
		p = oom_badness(m, t);
		if (chosen && p <= *points)
			continue;
		chosen = t;
		*points = p;
	}
	return chosen;
}

/* ---- killing ------------------------------------------------------------------------------------- */

static void mark_oom_victim(struct machine *m, struct task *t)
{
	if (t->flags & TIF_MEMDIE)
		return;
	t->flags |= TIF_MEMDIE;
	m->oom_victims += 1;
	if (!oom_today(m) || !t->mm || t->mm->oom_victim)
		return;
	t->mm->oom_victim = true;
}

struct task *machine_oom_victim(const struct machine *m)
{
	struct task *t;

	list_for_each_entry (t, &m->tasks, tasks)
		if (t->flags & TIF_MEMDIE)
			return t;
	return NULL;
}

/* The victim has given up its address space. */
void exit_oom_victim(struct machine *m, struct task *t)
{
	VM_BUG_ON(!(t->flags & TIF_MEMDIE));
	t->flags &= ~(u32)TIF_MEMDIE;
	VM_BUG_ON(!m->oom_victims);
	m->oom_victims -= 1;
}

/*
 * All who share the address space die with it: alone, the victim would free nothing. Each wake-up is
 * an order point, after which the list of tasks may be another.
 */
static void oom_kill_process(struct machine *m, struct task *victim, long points)
{
	const struct mm_struct *mm = victim->mm;
	struct task *t;

	count_vm_event(m, OOM_KILL);
	world_trace(EVENT_OOM_KILL, victim->w.id, (u64)points);
	mark_oom_victim(m, victim);
	list_for_each_entry (t, &m->tasks, tasks)
		if (t->mm == mm)
			t->killed = true;
again:
	list_for_each_entry (t, &m->tasks, tasks) {
		if (t->killed && !t->w.signal && t->mm == mm) {
			world_wake_signal(&t->w);
			goto again;
		}
	}
	if (oom_today(m))
		wake_up(&m->oom_reaper_wait);
}

/* A task that is about to die anyway is helped along instead of killing another. */
static bool oom_current_is_dying(struct machine *m)
{
	struct task *t = current_task();

	if (world_current()->id <= m->nr_world_tasks || !t->mm)
		return false;
	if (!t->killed && !(t->flags & PF_EXITING))
		return false;
	mark_oom_victim(m, t);
	if (oom_today(m))
		wake_up(&m->oom_reaper_wait);
	return true;
}

bool out_of_memory(struct machine *m, gfp_t gfp, unsigned int order)
{
	struct task *victim;
	long points = 0;
	bool dying;

	(void)order;
	if (oom_current_is_dying(m))
		return true;
	/* Reclaim without __GFP_FS was light: no reason to kill. (4.0 does not come here with it.) */
	if (oom_today(m) && !(gfp & __GFP_FS))
		return true;
	span_enter(SPAN_OOM);
	world_order();
	victim = select_bad_process(m, &points, &dying);
	if (victim) {
		oom_kill_process(m, victim, points);
		/* Time for it to exit, before anybody tries to allocate again. */
		if (!world_current()->signal) {
			world_current()->state = WORLD_TASK_INTERRUPTIBLE;
			schedule_timeout(world_ticks_to_ns(1));
		}
	}
	span_exit();
	return victim || dying;
}

/* ---- the reaper: 4.6 on -------------------------------------------------------------------------- */

static struct mm_struct *oom_next_victim(struct machine *m)
{
	struct mm_struct *mm;

	list_for_each_entry (mm, &m->mms, mmlist)
		if (mm->oom_victim && !mm->oom_skip && mm->mm_users)
			return mm;
	return NULL;
}

/* Private memory can go without asking: its owner will not look at it again. mmap_sem held. */
static void oom_reap_vmas(struct machine *m, struct mm_struct *mm)
{
	struct vm_area_struct *vma;

	for (vma = vma_next(mm, NULL); vma; vma = vma_next(mm, vma))
		if (!(vma->vm_flags & (VM_LOCKED | VM_SHARED)))
			zap_page_range(m, vma, vma->vm_start, vma->vm_end);
}

static void oom_reap_task(struct machine *m, struct mm_struct *mm)
{
	/* It must not go away meanwhile. If its tasks are all gone by the end, it ends here. */
	mm->mm_users += 1;
	for (int i = 0; i < MAX_OOM_REAP_RETRIES; i++) {
		if (down_read_trylock(&mm->mmap_sem)) {
			oom_reap_vmas(m, mm);
			up_read(&mm->mmap_sem);
			break;
		}
		world_sleep(world_ticks_to_ns(m->world->hw->hz / 10));
	}
	WRITE_ONCE(mm->oom_skip, true);
	mm_put(m, mm);
}

static void oom_reaper(void *arg)
{
	struct machine *m = arg;

	for (;;) {
		struct wait_queue_entry e;
		struct mm_struct *mm;

		prepare_to_wait(&m->oom_reaper_wait, &e, 0, false, WORLD_TASK_INTERRUPTIBLE);
		mm = oom_next_victim(m);
		if (!mm)
			schedule_timeout(WORLD_FOREVER);
		finish_wait(&e);
		if (mm)
			oom_reap_task(m, mm);
	}
}

void oom_init(struct machine *m)
{
	init_waitqueue_head(&m->oom_reaper_wait);
	if (!oom_today(m))
		return;
	m->oom_reaper = arena_new(&m->arena, struct task);
	kthread_run(m, m->oom_reaper, "oom_reaper", WORLD_TASK_KTHREAD, oom_reaper, m, -1);
}
