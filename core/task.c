/*
 * User tasks: creation, exit, waiting, times (Linux kernel/fork.c, kernel/exit.c, as far as memory
 * management sees them).
 *
 * The world schedules tasks and counts their time; what is here gives them an address space, a place
 * in the list of tasks that the OOM killer chooses from, and an end. A task that has been killed finds
 * out at its next system call or fault, which return -EINTR; its body then returns or calls do_exit().
 */
#include "core/internal.h"
#include "core/writeback.h"

static void task_main(void *arg)
{
	struct task *t = arg;

	world_syscall_enter(); /* ret_from_fork: the world starts a user task in user mode */
	world_use_as(&t->mm->as);
	world_syscall_exit();
	t->fn(t, t->arg);
	do_exit(0);
}

/* A task on @mm, whose user it becomes. NULL: out of frames or tasks; @mm has lost no user. */
static struct task *task_alloc(struct machine *m, const char *name, struct mm_struct *mm,
                               void (*fn)(struct task *t, void *arg), void *arg)
{
	struct task *t = slab_alloc(m, SLAB_TASK, GFP_KERNEL);

	if (!t)
		return NULL;
	charge(COST_MM_OP);
	t->machine = m;
	t->mm = mm;
	t->fn = fn;
	t->arg = arg;
	t->nr_dirtied_pause = 32; /* 128 KiB */
	init_waitqueue_head(&t->exit_wait);
	if (world_self->task->id > m->nr_world_tasks)
		t->mempolicy = current_task()->mempolicy;
	list_add_tail(&t->tasks, &m->tasks);
	world_task_init(m->world, &t->w, name, WORLD_TASK_USER, WORLD_STACK_LUA, task_main, t);
	return t;
}

struct task *task_create(struct machine *m, const char *name, struct task *share,
                         void (*fn)(struct task *t, void *arg), void *arg)
{
	struct mm_struct *mm = share ? share->mm : mm_alloc(m);
	struct task *t;

	if (!mm)
		return NULL;
	if (share)
		mm->mm_users += 1;
	t = task_alloc(m, name, mm, fn, arg);
	if (!t)
		mm_put(m, mm);
	/* Killed, it has no new threads (copy_process()): nobody would kill them, nor spare their memory. */
	if (t && share && share->killed) {
		task_put(t);
		return NULL;
	}
	return t;
}

void task_start(struct task *t, int cpu)
{
	world_task_start(t->machine->world, &t->w, cpu);
}

int do_fork(struct machine *m, const char *name, void (*fn)(struct task *t, void *arg), void *arg,
            struct task **child)
{
	struct task *t = sys_enter(SPAN_FORK);
	struct mm_struct *mm;
	struct task *new;
	int err = -EINTR;

	if (t->killed)
		goto out;
	err = -ENOMEM;
	mm = mm_alloc(m);
	if (!mm)
		goto out;
	new = task_alloc(m, name, mm, fn, arg);
	if (!new) {
		mm_put(m, mm);
		goto out;
	}
	new->oom_score_adj = t->oom_score_adj;
	/* The last step that can fail, or find this task killed: then nobody would start the child. */
	err = dup_mmap(m, mm, t->mm);
	if (err) {
		task_put(new);
		goto out;
	}
	*child = new;
	sys_exit(t, 0);
	return 0;
out:
	return sys_exit(t, err);
}

/*
 * vfork() and execve() in one, as posix_spawn() does them: the child never owns a copy of this
 * task's memory. What its program maps of itself is the caller's to map.
 */
int do_spawn(struct machine *m, const char *name, void (*fn)(struct task *t, void *arg), void *arg,
             struct task **child)
{
	struct task *t = sys_enter(SPAN_EXEC);
	struct task *new;

	if (t->killed)
		return sys_exit(t, -EINTR);
	charge(COST_EXEC);
	new = task_create(m, name, NULL, fn, arg);
	if (!new)
		return sys_exit(t, -ENOMEM);
	if (t->killed) { /* meanwhile: then nobody would start the child */
		task_put(new);
		return sys_exit(t, -EINTR);
	}
	new->oom_score_adj = t->oom_score_adj;
	*child = new;
	return sys_exit(t, 0);
}

/* ---- the end ---------------------------------------------------------------------------------------- */

void do_exit(int code)
{
	struct task *t = current_task();
	struct machine *m = t->machine;
	struct mm_struct *mm = t->mm;

	world_syscall_enter();
	span_enter(SPAN_EXIT);
	t->flags |= PF_EXITING;
	dirty_throttle_exit(m, t);
	/* From here on the CPU runs on borrowed tables, as a kernel task's. */
	world_use_as(NULL);
	t->mm = NULL;
	mm_put(m, mm);
	/* Reserves are for freeing memory, and that is done. */
	if (t->flags & TIF_MEMDIE)
		exit_oom_victim(m, t);
	list_del_init(&t->tasks);
	t->exit_code = code;
	t->exited = true;
	wake_up_all(&t->exit_wait);
	span_exit();
	world_task_exit();
}

void task_put(struct task *t)
{
	struct machine *m = t->machine;

	if (t->w.state == WORLD_TASK_NEW) { /* created, and never started */
		list_del(&t->tasks);
		mm_put(m, t->mm);
		t->exited = true;
	}
	VM_BUG_ON_MSG(!t->exited, "task %s is freed before it has ended", t->w.name);
	charge(COST_MM_OP);
	world_task_free(m->world, &t->w);
	slab_free(m, SLAB_TASK, t);
}

int do_wait(struct task *child)
{
	struct task *t = current_task();
	u64 utime, stime;

	world_syscall_enter();
	wait_event(&child->exit_wait, READ_ONCE(child->exited));
	/* On its way off another CPU, whose stack it still needs (Linux: on_cpu). */
	while (READ_ONCE(child->w.state) != WORLD_TASK_DEAD)
		charge(COST_LINE_SOCKET);
	task_times(child, &utime, &stime);
	t->cutime_ns += utime;
	t->cstime_ns += stime;
	t->min_flt += child->min_flt;
	t->maj_flt += child->maj_flt;
	task_put(child);
	world_syscall_exit();
	return t->killed ? -EINTR : 0;
}

bool task_killed(const struct task *t)
{
	return t->killed;
}

void task_times(const struct task *t, u64 *utime_ns, u64 *stime_ns)
{
	*utime_ns = t->w.utime_ns + t->cutime_ns;
	*stime_ns = t->w.stime_ns + t->cstime_ns;
}

/* ---- user mode -------------------------------------------------------------------------------------- */

int mm_access(struct machine *m, u64 va, u64 len, enum world_access kind, u64 seed)
{
	struct task *t = current_task();
	int err;

	(void)m;
	if (t->killed)
		return -EINTR;
	err = world_user_access(&t->mm->as, va, len, kind, seed);
	return t->killed ? -EINTR : err;
}
