/*
 * A task's own side: its process or thread, and the calls of its body that are not about memory.
 *
 * Tasks meet in shared memory: barriers, events and counters are words there, and waiting is a futex
 * with a time limit of a tenth of a second, so that a waker that was killed halfway strands nobody.
 * A task says in its slot what it waits for; the runner looks through the slots for a deadlock.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/internal.h"

/* ---- futexes, between processes ---- */

void futex_wait(u32 *word, u32 value)
{
	struct timespec tenth = {.tv_nsec = 100000000};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &tenth, NULL, 0);
}

void futex_wake_all(u32 *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* ---- slots ---- */

struct host_slot *slot_claim(struct host_shared *s)
{
	for (u32 tried = 0; tried < s->nr_slots; tried++) {
		u32 i = (host_add(&s->slot_hint, 1) - 1) % s->nr_slots;
		struct host_slot *slot = &s->slot[i];
		u32 no = 0;
		u32 used = host_load(&s->nr_spawned);

		if (!host_cas(&slot->used, &no, 1))
			continue;
		while (used < i + 1 && !host_cas(&s->nr_spawned, &used, i + 1))
			;
		slot->state = HOST_STARTING;
		slot->pid = 0;
		slot->reaped = 0;
		slot->killed = 0;
		slot->status = 0;
		host_add(&s->nr_tasks, 1);
		return slot;
	}
	return NULL;
}

static void slot_wait_begin(struct host_slot *slot, enum host_state state, u32 object, u32 round)
{
	slot->object = object;
	slot->round = round;
	host_store(&slot->state, state);
}

static void slot_wait_end(struct host_slot *slot)
{
	host_store(&slot->state, HOST_RUNNING);
}

/* The parent goes first: whoever looks for its children must not take the next owner's for them. */
static void slot_release(struct host_shared *s, struct host_slot *slot)
{
	host_store(&slot->parent, SLOT_NO_PARENT);
	host_store(&slot->used, 0);
	host_store(&s->slot_hint, (u32)(slot - s->slot));
}

/* The first failure of a run ends it; the text of later ones is lost. */
void host_fail(struct target *t, const struct host_slot *slot, int err, const char *text)
{
	struct host_shared *s = t->shared;
	u32 none = 0;

	host_add(&s->nr_failed, 1);
	if (!host_cas(&s->error_owner, &none, slot ? (u32)(slot - s->slot) + 1 : UINT32_MAX))
		return;
	if (text && *text)
		snprintf(s->error, sizeof(s->error), "%s", text);
	else if (slot)
		snprintf(s->error, sizeof(s->error), "task %s[%u]: %s", slot->function, slot->index,
		         strerror(-err));
	host_store(&s->broken, err);
}

/* ---- speed of user code ---- */

/* Depends on its own result, so that neither compiler nor CPU can do two rounds at once. */
static void spin(u64 nr)
{
	u64 x = nr | 1;

	for (; nr; nr--) {
		x = x * RAND_GAMMA + 1;
		__asm__ volatile("" : "+r"(x));
	}
}

/* compute() is counted in rounds, not by a clock: time that others take is not work done. */
int worker_calibrate(struct target *t)
{
	const u64 nr = 100000;
	u64 best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		u64 begin = clock_ns(CLOCK_MONOTONIC);

		spin(nr);
		best = min(best, clock_ns(CLOCK_MONOTONIC) - begin);
	}
	t->spins_per_ns = (double)nr / (double)max(best, 1UL);
	return 0;
}

int host_compute(struct target_task *task, u64 ns)
{
	struct host_task *ht = host_task_of(task);
	double spins = (double)ns * task->target->spins_per_ns * ((double)ht->slow_bp / 10000.0);

	spin((u64)spins);
	return 0;
}

/* ---- time ---- */

static void sleep_until(u64 ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

u64 host_now(struct target_task *task)
{
	return clock_ns(CLOCK_MONOTONIC) - task->target->shared->begin_ns;
}

int host_sleep(struct target_task *task, u64 ns)
{
	(void)task;
	sleep_until(clock_ns(CLOCK_MONOTONIC) + ns);
	return 0;
}

/* ---- barriers, events, counters ---- */

int host_barrier(struct target_task *task, u32 barrier)
{
	struct target *t = task->target;
	struct host_slot *slot = host_task_of(task)->slot;

	if (barrier >= t->req->nr_barriers)
		return -EINVAL;

	u64 *word = &t->shared->barrier[barrier].word;
	u32 *round_word = (u32 *)word + 1; /* the upper half: little endian */
	u64 old = host_load(word);
	u64 new;

	do {
		u32 arrived = (u32)old + 1;

		/* The last one opens it and leaves a new round behind. */
		new = arrived >= t->req->barrier_size[barrier] ? ((old >> 32) + 1) << 32 : old + 1;
	} while (!host_cas(word, &old, new));

	if (new >> 32 != old >> 32) {
		futex_wake_all(round_word);
		return 0;
	}
	slot_wait_begin(slot, HOST_IN_BARRIER, barrier, (u32)(old >> 32));
	while (host_load(round_word) == (u32)(old >> 32))
		futex_wait(round_word, (u32)(old >> 32));
	slot_wait_end(slot);
	return 0;
}

int host_event_set(struct target_task *task, u32 event)
{
	struct target *t = task->target;

	if (event >= t->req->nr_events)
		return -EINVAL;
	host_store(&t->shared->event[event], 1);
	futex_wake_all(&t->shared->event[event]);
	return 0;
}

int host_event_wait(struct target_task *task, u32 event)
{
	struct target *t = task->target;
	struct host_slot *slot = host_task_of(task)->slot;

	if (event >= t->req->nr_events)
		return -EINVAL;
	slot_wait_begin(slot, HOST_IN_EVENT, event, 0);
	while (!host_load(&t->shared->event[event]))
		futex_wait(&t->shared->event[event], 0);
	slot_wait_end(slot);
	return 0;
}

int host_counter_add(struct target_task *task, u32 counter, s64 delta, s64 *value)
{
	struct target *t = task->target;

	if (counter >= t->req->nr_counters)
		return -EINVAL;

	s64 new = host_add(&t->shared->counter[counter], delta);

	if (value)
		*value = new;
	return 0;
}

int host_record_time(struct target_task *task, u64 ns)
{
	host_add(&task->target->shared->time_ns, (s64)ns);
	return 0;
}

/* The runner has the counters and everybody's times: it is asked, and woken by the signal. */
int host_start_measuring(struct target_task *task)
{
	struct host_shared *s = task->target->shared;

	host_store(&s->measure, 1);
	kill(task->target->runner, SIGCHLD);
	while (host_load(&s->measure))
		futex_wait(&s->measure, 1);
	return 0;
}

/* As writing to the file does; nothing is left changed. */
int host_drop_caches(struct target_task *task, u32 what)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	char digit = (char)('0' + what);
	int err = 0;

	(void)task;
	if (what < 1 || what > 3)
		err = EINVAL;
	else if (fd < 0 || write(fd, &digit, 1) != 1)
		err = errno;
	if (fd >= 0)
		close(fd);
	return -err;
}

/* ---- running a body ---- */

static void task_init(struct host_task *ht, struct target *t, struct host_slot *slot, u32 nr,
                      u64 seed)
{
	memset(ht, 0, sizeof(*ht));
	ht->slot = slot;
	ht->task.target = t;
	ht->task.function = slot->function;
	ht->task.index = slot->index;
	ht->task.nr = nr;
	ht->task.seed = seed;
	ht->slow_bp = 10000;
}

static int task_join_children(struct host_task *ht);

/* Runs the body, then waits for what it has spawned and not waited for. */
static int task_run(struct host_task *ht)
{
	struct target *t = ht->task.target;
	int err;

	host_store(&ht->slot->state, HOST_RUNNING);
	err = t->req->body(t->req->program, &ht->task, ht->err);
	if (err) {
		ht->err[sizeof(ht->err) - 1] = '\0';
		host_fail(t, ht->slot, err, ht->err);
	}
	task_join_children(ht);
	task_close_files(ht);
	host_store(&ht->slot->state, HOST_ENDED);
	return err;
}

static __attribute__((noreturn)) void task_exit(int err)
{
	fflush(stdout);
	fflush(stderr);
	_exit(err ? 1 : 0);
}

/* ---- the end of a parent ---- */

/* The runner of this process; a signal handler has no other way to it. */
static pid_t runner_pid;

/*
 * The parent is gone. Orphans of a killed task live on as children of the runner; when that is gone
 * too, nobody wants the result. The watcher would end this process soon, if it is still there.
 */
static void on_orphaned(int sig)
{
	(void)sig;
	if (getppid() != runner_pid)
		_exit(1);
}

static void orphan_watch(pid_t runner, pid_t parent)
{
	struct sigaction sa = {.sa_handler = on_orphaned, .sa_flags = SA_RESTART};

	runner_pid = runner;
	sigaction(SIGUSR2, &sa, NULL);
	prctl(PR_SET_PDEATHSIG, SIGUSR2);
	if (getppid() != parent)
		on_orphaned(0);
}

/* ---- spawn and wait ---- */

/* In the new process. Threads of the old one do not exist here, nor do its children. */
static __attribute__((noreturn)) void child_main(struct host_task *ht, struct host_slot *slot,
                                                 const s64 arg[4], u64 seed, pid_t parent)
{
	struct host_task *child = malloc(sizeof(*child));

	orphan_watch(ht->task.target->runner, parent);
	host_store(&slot->pid, getpid());
	if (!child) {
		host_fail(ht->task.target, slot, -ENOMEM, NULL);
		task_exit(-ENOMEM);
	}
	task_init(child, ht->task.target, slot, 1, seed);
	memcpy(child->task.arg, arg, sizeof(child->task.arg));
	child->slow_bp = ht->slow_bp;
	task_exit(task_run(child));
}

static int spawn_process(struct host_task *ht, struct host_slot *slot, enum target_spawn how,
                         const s64 arg[4], u64 seed)
{
	struct target *t = ht->task.target;

	fflush(stdout);
	/* Another thread may be changing the list of ranges: the copy must be whole. */
	pthread_mutex_lock(&t->memory.lock);

	pid_t self = getpid();
	pid_t pid = fork();
	int err = pid < 0 ? -errno : 0;

	pthread_mutex_unlock(&t->memory.lock);
	/* This program cannot be left by execve(), as it runs the task: only its memory goes. */
	if (pid == 0 && how == TARGET_EXEC)
		memory_unmap_all(&t->memory);
	/* The child's task has no names for them, and must not keep a removed file alive. */
	if (pid == 0)
		task_close_files(ht);
	if (pid == 0)
		child_main(ht, slot, arg, seed, self);
	if (!err)
		host_store(&slot->pid, pid);
	return err;
}

static void *thread_main(void *arg)
{
	struct host_task *ht = arg;

	task_run(ht);
	return NULL;
}

static int spawn_thread(struct host_task *ht, struct host_slot *slot, const s64 arg[4], u64 seed)
{
	struct host_task *child = malloc(sizeof(*child));
	int err;

	if (!child)
		return -ENOMEM;
	task_init(child, ht->task.target, slot, 1, seed);
	memcpy(child->task.arg, arg, sizeof(child->task.arg));
	child->slow_bp = ht->slow_bp;
	slot->pid = getpid();
	err = -pthread_create(&child->thread, NULL, thread_main, child);
	if (err) {
		free(child);
		return err;
	}
	child->sibling = ht->child;
	ht->child = child;
	return 0;
}

int host_spawn(struct target_task *task, enum target_spawn how, const char *function,
               const s64 arg[4], u32 *child)
{
	struct host_task *ht = host_task_of(task);
	struct host_shared *s = task->target->shared;
	struct host_slot *slot = slot_claim(s);
	u64 seed = target_child_seed(task->seed, ht->nr_spawned);
	int err;

	if (!slot)
		return -EAGAIN;
	ht->nr_spawned++;
	snprintf(slot->function, sizeof(slot->function), "%s", function);
	slot->index = 0;
	slot->thread = how == TARGET_THREAD;
	slot->background = ht->slot->background;
	host_store(&slot->parent, (u32)(ht->slot - s->slot) + 1);
	err = slot->thread ? spawn_thread(ht, slot, arg, seed)
	                   : spawn_process(ht, slot, how, arg, seed);
	if (err) {
		host_add(&s->nr_tasks, -1);
		slot_release(s, slot);
		return err;
	}
	*child = (u32)(slot - s->slot);
	return 0;
}

static void wait_thread(struct host_task *ht, struct host_slot *slot)
{
	for (struct host_task **p = &ht->child; *p; p = &(*p)->sibling) {
		struct host_task *child = *p;

		if (child->slot != slot)
			continue;
		pthread_join(child->thread, NULL);
		*p = child->sibling;
		free(child);
		return;
	}
}

static int wait_process(struct host_slot *slot)
{
	int status = 0;
	pid_t pid;

	do {
		pid = waitpid(slot->pid, &status, 0);
	} while (pid < 0 && errno == EINTR);
	if (pid < 0)
		return -errno;
	slot->status = status;
	return 0;
}

static int wait_slot(struct host_task *ht, struct host_slot *slot)
{
	struct target *t = ht->task.target;
	int err = 0;

	slot_wait_begin(ht->slot, HOST_IN_WAIT, (u32)(slot - t->shared->slot), 0);
	if (slot->thread)
		wait_thread(ht, slot);
	else
		err = wait_process(slot);
	slot_wait_end(ht->slot);
	if (err)
		return err;
	if (!slot->thread && WIFSIGNALED(slot->status)) {
		if (WTERMSIG(slot->status) == SIGKILL)
			host_add(&t->shared->nr_oom, 1);
		else
			host_add(&t->shared->nr_failed, 1);
	}
	host_store(&slot->reaped, 1);
	slot_release(t->shared, slot);
	return 0;
}

int host_wait(struct target_task *task, u32 child)
{
	struct host_task *ht = host_task_of(task);
	struct host_shared *s = task->target->shared;

	if (child >= s->nr_slots || !host_load(&s->slot[child].used) ||
	    s->slot[child].parent != (u32)(ht->slot - s->slot) + 1)
		return -ECHILD;
	return wait_slot(ht, &s->slot[child]);
}

static int task_join_children(struct host_task *ht)
{
	struct host_shared *s = ht->task.target->shared;
	u32 self = (u32)(ht->slot - s->slot) + 1;

	if (!ht->nr_spawned)
		return 0;
	for (u32 i = 0; i < host_load(&s->nr_spawned); i++)
		if (host_load(&s->slot[i].used) && s->slot[i].parent == self)
			wait_slot(ht, &s->slot[i]);
	return 0;
}

/* ---- a task of a group, from fork to exit ---- */

/* Victims of the OOM killer come from here, in the order that the scenario asks for. */
static void worker_be_a_victim(const struct target_request *req, u32 group)
{
	char text[16];
	s32 adj = 1000;

	for (u32 i = 0; i < req->nr_groups; i++)
		if (req->group[i].oom_score_adj)
			adj = 900 + req->group[group].oom_score_adj / 10;
	snprintf(text, sizeof(text), "%d", clamp(adj, 800, 1000));
	file_write("/proc/self/oom_score_adj", text);
}

static int worker_prepare(struct target *t, u32 group)
{
	char path[HOST_PATH_MAX + 16];
	sigset_t none;
	int err = 0;

	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGSEGV)
			signal(sig, SIG_DFL);
	signal(SIGTTOU, SIG_IGN); /* a body may print although it is in the background */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);

	worker_be_a_victim(t->req, group);
	if (t->cgroup[0]) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", t->cgroup);
		err = file_write(path, "0");
	}
	if (!err && t->config.thp == HOST_THP_NEVER && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0)
		err = -errno;
	if (!err)
		err = access_catch_faults();
	if (!err && t->req->group[group].has_memlock)
		err = memory_limit_locks(t->req->group[group].memlock_bytes);
	memory_init(&t->memory);
	return err;
}

void worker_main(struct target *t, u32 slot, u32 group, u32 index)
{
	struct host_shared *s = t->shared;
	struct host_task *ht;
	int err;

	setpgid(0, s->anchor);
	err = worker_prepare(t, group);
	orphan_watch(t->runner, t->runner);
	/* They are the runner's and the watcher's. A mapping keeps a file's lock, too. */
	munmap(t->lock.journal, sizeof(*t->lock.journal));
	close(t->lock.fd);
	close(t->lifeline[0]);
	ht = malloc(sizeof(*ht));
	if (!err && !ht)
		err = -ENOMEM;
	if (err) {
		host_fail(t, &s->slot[slot], err, NULL);
		task_exit(err);
	}
	task_init(ht, t, &s->slot[slot], t->req->group[group].nr,
	          target_task_seed(t->req, group, index));
	ht->slow_bp = target_slowness_bp(t->req, group, index);
	prctl(PR_SET_NAME, ht->slot->function);

	host_add(&s->nr_ready, 1);
	futex_wake_all(&s->nr_ready);
	while (!host_load(&s->go))
		futex_wait(&s->go, 0);
	sleep_until(s->begin_ns + target_start_ns(t->req, group, index));
	task_exit(task_run(ht));
}
