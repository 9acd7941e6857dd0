/*
 * Tasks that do what comes to their minds, for the random-operations test: map, fill, read, advise,
 * protect, lock, unmap, move the break, fork, start threads, wait.
 *
 * Tasks that share an address space share a struct space, which says where their mappings are. What
 * one of them finds there may be gone when it gets to it, so -EFAULT and holes are no errors.
 */
#ifndef TESTS_MACHINE_WORKERS_H
#define TESTS_MACHINE_WORKERS_H

#include <errno.h>
#include <stdlib.h>

#include "core/internal.h"
#include "lib/random.h"
#include "tests/machine/leaks.h"
#include "world/world.h"

#define STREAM_TASK 2
#define STREAM_LOCK 6 /* 3, 5: test_random_ops.c */
#define STREAM_SPACE 7

#define MAPS_MAX 8
#define CHILDREN_MAX 3
#define DEPTH_MAX 2
#define TASKS_MAX 256
#define FILES_MAX 6
#define FDS_MAX 3
#define STREAM_FILES 4 /* of a worker's file operations; 3: test_random_ops.c */

/* What the tasks of one case share. */
struct plan {
	struct machine *m;
	u64 seed;
	u64 max_pages; /* of one mapping */
	u32 nr_ops;
	u32 nr_files; /* 0: no files */
	u32 ino[FILES_MAX];
	u64 file_pages; /* they grow to that */
	bool threads;   /* tasks start others in their address space */
	bool fails;     /* failures are injected: any call may return -ENOMEM */
	bool locks;     /* tasks lock memory */
	bool huge;      /* more than others do with huge pages */
	u64 nr_done;    /* operations */
	bool spaces;    /* tasks do what space_ops.h has */
	u32 nr_workers; /* created so far */
	u32 nr_running;
	u32 nr_waiting; /* of these, for a child */
	u32 nr_killed;
	u64 audit_every; /* operations; 0: only at the end */
	u64 nr_audits;
	bool halt;     /* until the machine has been audited */
	u32 nr_halted; /* running workers that have */
	u32 nr_tasks;
	struct task *task[TASKS_MAX]; /* that nobody has waited for */
};

/* One address space. */
struct space {
	u32 nr_users;
	u32 nr_maps;
	struct {
		u64 va;
		u64 pages;
	} map[MAPS_MAX];
};

struct worker {
	struct plan *plan;
	struct space *space;
	struct rand_stream r;
	struct rand_stream fr; /* of file operations */
	u32 fd[FDS_MAX];
	struct rand_stream lock; /* of its own: cases without locks are what they were before */
	struct rand_stream sr;   /* of space_ops.h, the same */
	u32 depth;
	u32 nr_children;
	struct task *child[CHILDREN_MAX];
};

static void worker_main(struct task *t, void *arg);

/* @parent NULL: a first task. @share: a thread of it, otherwise a child by fork. */
static struct worker *worker_new(struct plan *p, const struct worker *parent, bool share)
{
	struct worker *w = calloc(1, sizeof(*w));

	BUG_ON(!w);
	w->plan = p;
	if (parent)
		w->depth = parent->depth + 1;
	if (share) {
		w->space = parent->space;
	} else {
		w->space = calloc(1, sizeof(*w->space));
		BUG_ON(!w->space);
		if (parent) /* a fork has its parent's mappings */
			*w->space = *parent->space;
		w->space->nr_users = 0;
	}
	w->space->nr_users += 1;
	rand_init(&w->fr, p->seed, STREAM_FILES, p->nr_workers);
	rand_init(&w->lock, p->seed, STREAM_LOCK, p->nr_workers);
	rand_init(&w->sr, p->seed, STREAM_SPACE, p->nr_workers);
	rand_init(&w->r, p->seed, STREAM_TASK, p->nr_workers++);
	return w;
}

static void worker_free(struct worker *w)
{
	if (!--w->space->nr_users)
		free(w->space);
	free(w);
}

/* @t is to be freed by whoever waits for it, or at the end. */
static void plan_start(struct plan *p, struct task *t)
{
	BUG_ON(p->nr_tasks == TASKS_MAX);
	p->task[p->nr_tasks++] = t;
	p->nr_running += 1;
	task_start(t, -1);
}

static void plan_forget(struct plan *p, const struct task *t)
{
	u32 i = 0;

	while (p->task[i] != t)
		BUG_ON(++i == p->nr_tasks);
	p->task[i] = p->task[--p->nr_tasks];
}

/* ---- operations: 0, or the errno of a call that failed and should not have ---- */

/* Errors that a program must expect of the call. */
static int expected(const struct worker *w, int rc, int allowed)
{
	return rc == allowed || (w->plan->fails && rc == -ENOMEM) ? 0 : rc;
}

/* Small mappings only: what is locked cannot be reclaimed. */
static int map_flags(struct worker *w)
{
	if (!w->plan->locks || w->plan->max_pages > 1000)
		return 0;
	switch (rand_below(&w->lock, 8)) {
	case 0:
		return MM_MAP_POPULATE;
	case 1:
		return MM_MAP_LOCKED;
	default:
		return 0;
	}
}

static int op_map(struct worker *w)
{
	struct space *s = w->space;
	u64 pages = 1 + rand_below(&w->r, w->plan->max_pages);
	u64 va;
	int rc;

	if (s->nr_maps == MAPS_MAX)
		return 0;
	rc = do_mmap(w->plan->m, pages * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, map_flags(w),
	             &va);
	if (rc == -EAGAIN && w->plan->locks) /* RLIMIT_MEMLOCK */
		return 0;
	if (rc) /* -ENOMEM: overcommit */
		return expected(w, rc, -ENOMEM);
	if (s->nr_maps == MAPS_MAX) /* another thread was faster */
		return expected(w, do_munmap(w->plan->m, va, pages * PAGE_SIZE), 0);
	s->map[s->nr_maps].va = va;
	s->map[s->nr_maps++].pages = pages;
	return 0;
}

/* The break, anywhere up to max_pages above where it began. What is below it counts as a mapping. */
static int op_brk(struct worker *w)
{
	struct space *s = w->space;
	u64 brk = BRK_START + rand_below(&w->r, w->plan->max_pages * PAGE_SIZE);
	u64 now;
	u32 i = 0;
	int rc;

	rc = do_brk(w->plan->m, brk, &now);
	if (rc)
		return rc;
	while (i < s->nr_maps && s->map[i].va != BRK_START)
		i++;
	if (i == MAPS_MAX || now < BRK_START + PAGE_SIZE)
		return 0;
	s->map[i].va = BRK_START;
	s->map[i].pages = (now - BRK_START) / PAGE_SIZE;
	s->nr_maps = max(s->nr_maps, i + 1);
	return 0;
}

/* A random part of a random mapping. False: there is none. */
static bool pick(struct worker *w, u32 *i, u64 *va, u64 *len)
{
	const struct space *s = w->space;
	u64 first;

	if (!s->nr_maps)
		return false;
	*i = (u32)rand_below(&w->r, s->nr_maps);
	first = rand_below(&w->r, s->map[*i].pages);
	*va = s->map[*i].va + first * PAGE_SIZE;
	*len = (1 + rand_below(&w->r, s->map[*i].pages - first)) * PAGE_SIZE;
	return true;
}

static int op_access(struct worker *w)
{
	static const enum world_access kinds[] = {WORLD_READ, WORLD_WRITE, WORLD_FILL, WORLD_SCAN};
	enum world_access kind;
	u64 va, len, seed;
	u32 i;
	int rc;

	if (!pick(w, &i, &va, &len))
		return 0;
	kind = kinds[rand_below(&w->r, 4)];
	seed = rand_below(&w->r, 2) ? rand_u64(&w->r) | 1 : 0;
	rc = mm_access(w->plan->m, va, len, kind, seed);
	return expected(w, rc, -EFAULT); /* parts may be protected or unmapped */
}

static int op_advise(struct worker *w)
{
	static const enum mm_advice advice[] = {MM_MADV_DONTNEED, MM_MADV_FREE, MM_MADV_FREE,
	                                        MM_MADV_WILLNEED, MM_MADV_NORMAL};
	u64 va, len;
	u32 i;
	int rc;

	if (!pick(w, &i, &va, &len))
		return 0;
	rc = do_madvise(w->plan->m, va, len, advice[rand_below(&w->r, ARRAY_SIZE(advice))]);
	if (rc == -EINVAL && (w->plan->nr_files || w->plan->spaces))
		return 0;                    /* MADV_FREE of a file */
	if (rc == -EINVAL && w->plan->locks) /* what is locked must not be given up */
		return 0;
	return expected(w, rc, -ENOMEM); /* a hole: mprotect and munmap make them */
}

static int op_protect(struct worker *w)
{
	static const int prot[] = {MM_PROT_NONE, MM_PROT_READ, MM_PROT_READ | MM_PROT_WRITE,
	                           MM_PROT_READ | MM_PROT_WRITE};
	u64 va, len;
	u32 i;
	int rc;

	if (!pick(w, &i, &va, &len))
		return 0;
	rc = do_mprotect(w->plan->m, va, len, prot[rand_below(&w->r, ARRAY_SIZE(prot))]);
	return expected(w, rc, -ENOMEM);
}

/* Errors of the calls below: holes, protections, the limit, and no memory to fill the range. */
static int lock_expected(int rc)
{
	return rc == -ENOMEM || rc == -EAGAIN ? 0 : rc;
}

/* Up to 100 pages and odd bytes, somewhere in a mapping; or, now and then, everything. */
static int op_lock(struct worker *w)
{
	const struct space *s = w->space;
	struct machine *m = w->plan->m;
	struct rand_stream *r = &w->lock;
	u64 va, len, what;
	u32 i;

	if (!s->nr_maps)
		return 0;
	i = (u32)rand_below(r, s->nr_maps);
	va = s->map[i].va + rand_below(r, s->map[i].pages * PAGE_SIZE);
	len = 1 + rand_below(r, 100 * PAGE_SIZE);
	what = rand_below(r, 100);
	if (what < 35)
		return lock_expected(do_mlock(m, va, len));
	if (what < 45)
		return lock_expected(do_mlock2(m, va, len, MM_MLOCK_ONFAULT));
	if (what < 90)
		return lock_expected(do_munlock(m, va, 4 * len));
	if (what < 93)
		return lock_expected(do_mlockall(m, MM_MCL_CURRENT));
	if (what < 95)
		return lock_expected(
			do_mlockall(m, MM_MCL_CURRENT | MM_MCL_FUTURE | MM_MCL_ONFAULT));
	return lock_expected(do_munlockall(m));
}

static int op_unmap(struct worker *w)
{
	struct space *s = w->space;
	u64 va, len;
	u32 i;

	if (!pick(w, &i, &va, &len))
		return 0;
	if (rand_below(&w->r, 3)) {
		va = s->map[i].va;
		len = s->map[i].pages * PAGE_SIZE;
		s->map[i] = s->map[--s->nr_maps];
	} /* else a hole or an end */
	return expected(w, do_munmap(w->plan->m, va, len), 0);
}

static int op_fork(struct worker *w)
{
	struct task *child = NULL;
	struct worker *c;
	int rc;

	if (w->depth == DEPTH_MAX || w->nr_children == CHILDREN_MAX)
		return 0;
	c = worker_new(w->plan, w, false);
	rc = do_fork(w->plan->m, "child", worker_main, c, &child);
	if (rc) {
		worker_free(c);
		return expected(w, rc, -ENOMEM);
	}
	w->child[w->nr_children++] = child;
	plan_start(w->plan, child);
	return 0;
}

static int op_thread(struct worker *w)
{
	struct task *thread;
	struct worker *c;

	if (!w->plan->threads || w->depth == DEPTH_MAX || w->nr_children == CHILDREN_MAX)
		return 0;
	c = worker_new(w->plan, w, true);
	world_syscall_enter();
	thread = task_create(w->plan->m, "thread", current_task(), worker_main, c);
	world_syscall_exit();
	if (!thread) {
		worker_free(c);
		return 0;
	}
	w->child[w->nr_children++] = thread;
	plan_start(w->plan, thread);
	return 0;
}

static int op_wait(struct worker *w)
{
	struct task *child;
	int rc;

	if (!w->nr_children)
		return 0;
	child = w->child[--w->nr_children];
	plan_forget(w->plan, child);
	w->plan->nr_waiting += 1;
	rc = do_wait(child);
	w->plan->nr_waiting -= 1;
	return rc;
}

static int op_sleep(struct worker *w)
{
	world_syscall_enter();
	world_sleep(rand_below(&w->r, 3000000));
	world_syscall_exit();
	return 0;
}

/* Long enough for a hasty khugepaged to come by. */
static int op_long_sleep(struct worker *w)
{
	world_syscall_enter();
	world_sleep(10000000 + rand_below(&w->r, 30000000));
	world_syscall_exit();
	return 0;
}

static int op_compute(struct worker *w)
{
	world_user_compute(rand_below(&w->r, 2000000));
	return 0;
}

#include "tests/machine/file_ops.h"
#include "tests/machine/space_ops.h"

/* Holds a reference to a mapped page for a while, as a driver that reads into it does. */
static int op_pin(struct worker *w)
{
	struct machine *m = w->plan->m;
	struct mm_struct *mm = current_task()->mm;
	struct page *page = NULL;
	u64 va, len;
	pte_t *pmd;
	u32 i;

	if (!pick(w, &i, &va, &len))
		return 0;
	world_syscall_enter();
	world_order();
	if (pt_find_pmd(m, mm, va, &pmd) && pte_present(*pmd)) {
		pte_t pte = pte_huge(*pmd) ? *pmd : *pt_entry(m, (u32)pte_pfn(*pmd), va);

		if (pte_present(pte) && !pte_special(pte))
			page = compound_head(pfn_to_page(m, pte_pfn(pte)));
	}
	if (page) {
		get_page(page);
		world_sleep(rand_below(&w->r, 5000000));
		put_page(m, page);
	}
	world_syscall_exit();
	return 0;
}

/* In cases with huge pages: what is of interest to them. */
static int op_huge(struct worker *w)
{
	u64 va, len;
	u32 i;
	int rc;

	switch (rand_below(&w->r, 5)) {
	case 0:
		if (!pick(w, &i, &va, &len))
			return 0;
		return expected(
			w,
			do_madvise(w->plan->m, va, len,
		                   rand_below(&w->r, 3) ? MM_MADV_HUGEPAGE : MM_MADV_NOHUGEPAGE),
			-ENOMEM);
	case 1:
		return expected(w, do_drop_caches(w->plan->m, 1 + (u32)rand_below(&w->r, 3)), 0);
	case 2:
	case 3:
		return op_pin(w);
	}
	if (!pick(w, &i, &va, &len))
		return 0;
	rc = do_madvise(w->plan->m, va, PAGE_SIZE, MM_MADV_DONTNEED);
	return expected(w, rc, rc == -EINVAL && w->plan->locks ? rc : -ENOMEM);
}

static int one_op(struct worker *w)
{
	u64 op;

	if (w->plan->nr_files && rand_below(&w->fr, 100) < 35)
		return file_op(w);
	if (w->plan->locks && rand_below(&w->lock, 100) < 12)
		return op_lock(w);
	if (w->plan->spaces && rand_below(&w->sr, 100) < 15)
		return space_op(w);
	if (w->plan->huge && rand_below(&w->r, 100) < 30)
		return rand_below(&w->r, 6) ? op_huge(w) : op_long_sleep(w);
	op = rand_below(&w->r, 100);
	if (op < 13)
		return op_map(w);
	if (op < 15)
		return op_brk(w);
	if (op < 58)
		return op_access(w);
	if (op < 73)
		return op_advise(w);
	if (op < 77)
		return op_protect(w);
	if (op < 85)
		return op_unmap(w);
	if (op < 88)
		return op_fork(w);
	if (op < 91)
		return op_thread(w);
	if (op < 94)
		return op_wait(w);
	if (w->plan->m->knob.thp_enabled == THP_ALWAYS && rand_below(&w->r, 2))
		return op_huge(w);
	return op < 98 ? op_sleep(w) : op_compute(w);
}

/* Has everybody stopped, and is nobody on the way out? */
static bool all_have_halted(const struct plan *p)
{
	struct task *t;

	list_for_each_entry (t, &p->m->tasks, tasks)
		if (t->flags & PF_EXITING && !t->exited)
			return false;
	return p->nr_halted + p->nr_waiting >= p->nr_running && nothing_is_under_way(p->m);
}

/*
 * Between two operations. Every so many of them one worker has the others stop where they are between theirs,
 * or wait for a child, and when nothing else is under way either it audits the machine.
 */
static void halt_for_audit(struct plan *p)
{
	bool audits = p->nr_done / p->audit_every > p->nr_audits && !p->halt;

	if (!audits && !p->halt)
		return;
	p->halt = true;
	p->nr_halted += 1;
	world_syscall_enter();
	do
		world_sleep(1000000);
	while (!task_killed(current_task()) && /* others may be waiting for its memory */
	       (audits ? !all_have_halted(p) : p->halt));
	if (audits && !task_killed(current_task()))
		machine_audit(p->m);
	if (audits) {
		p->nr_audits = p->nr_done / p->audit_every;
		p->halt = false;
	}
	p->nr_halted -= 1;
	world_syscall_exit();
}

static void worker_main(struct task *t, void *arg)
{
	struct worker *w = arg;
	struct plan *p = w->plan;
	u32 nr = p->nr_ops >> w->depth;
	int rc = 0;

	/* 400 pages, if it has no privilege: less than some will want. */
	if (p->locks && rand_below(&w->lock, 4) == 0)
		task_set_memlock(t, 400 * PAGE_SIZE, false);
	for (; nr-- && !rc; p->nr_done++) {
		rc = one_op(w);
		if (p->audit_every)
			halt_for_audit(p);
	}
	while (!rc && w->nr_children)
		rc = op_wait(w);
	worker_close_all(w);
	if (rc) {
		/* Only a kill ends a worker early, by the OOM killer or SIGBUS: all else is a bug. */
		VM_BUG_ON_MSG(rc != -EINTR || !task_killed(t), "a call of task %s (%u) returned %d",
		              t->w.name, t->w.id, rc);
		p->nr_killed += 1;
	}
	worker_free(w);
	p->nr_running -= 1;
}

#endif
