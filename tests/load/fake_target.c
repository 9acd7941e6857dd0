/*
 * See fake_target.h.
 */
#include "tests/load/fake_target.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "lib/bug.h"
#include "lib/random.h"

#define NS_PER_PAGE 100
#define FAKE_TASKS_MAX 4096
#define FAKE_LOG_MAX (1 << 20)
#define STACK_PATTERN 0x5a

enum fake_state { FAKE_READY, FAKE_BARRIER, FAKE_EVENT, FAKE_CHILD, FAKE_ENDED };

struct fake_range {
	u64 va;
	u64 len;
	int prot;
};

/* An address space, shared by threads. */
struct fake_mm {
	u32 nr;
	struct fake_range range[256];
	u64 next_va;
	u64 brk;
};

struct fake_task {
	struct target_task t; /* first */
	ucontext_t context;
	char *stack;
	struct fake_mm *mm;
	u64 now;
	enum fake_state state;
	u32 wait_for;
	bool background;
	bool killed;
	u32 nr_calls;
	int err;
	char error[TARGET_ERROR_MAX];
};

struct target {
	const struct target_request *req;
	ucontext_t scheduler;
	struct fake_task *task[FAKE_TASKS_MAX];
	u32 nr_tasks;
	struct fake_mm *mm[FAKE_TASKS_MAX];
	u32 nr_mms;
	struct fake_task *running;
	u32 arrived[TARGET_SYNC_MAX];
	bool event[TARGET_SYNC_MAX];
	s64 counter[TARGET_SYNC_MAX];
	bool expired;
};

static struct {
	char function[TARGET_NAME_MAX];
	u32 index;
	u32 nr;
	u64 mmap_max;
	struct fake_stats stats;
	char log[FAKE_LOG_MAX];
	size_t log_len;
} fake;

void fake_kill(const char *function, u32 index, u32 nr)
{
	snprintf(fake.function, sizeof(fake.function), "%s", function);
	fake.index = index;
	fake.nr = nr;
}

void fake_limit_mmap(u64 bytes)
{
	fake.mmap_max = bytes;
}

const struct fake_stats *fake_stats(void)
{
	return &fake.stats;
}

const char *fake_log(void)
{
	return fake.log;
}

__printf(2, 3) static void note(struct fake_task *f, const char *fmt, ...)
{
	char text[256];
	va_list args;
	int n;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	n = snprintf(fake.log + fake.log_len, FAKE_LOG_MAX - fake.log_len, "%lu %s.%u %s\n", f->now,
	             f->t.function, f->t.index, text);
	if (fake.log_len + (size_t)n < FAKE_LOG_MAX)
		fake.log_len += (size_t)n;
}

/* ---- tasks ---- */

static void task_main(u32 low, u32 high)
{
	struct fake_task *f = (struct fake_task *)((u64)high << 32 | low);
	const struct target_request *req = f->t.target->req;

	f->err = req->body(req->program, &f->t, f->error);
	f->state = FAKE_ENDED;
	swapcontext(&f->context, &f->t.target->scheduler);
}

static struct fake_task *new_task(struct target *t, const char *function, u32 index, u32 nr)
{
	struct fake_task *f = calloc(1, sizeof(*f));

	BUG_ON(!f || t->nr_tasks == FAKE_TASKS_MAX);
	f->t.target = t;
	f->t.function = function;
	f->t.index = index;
	f->t.nr = nr;
	f->t.seed = rand_hash(t->req->seed, 1, t->nr_tasks, 0);
	f->stack = malloc(FAKE_STACK);
	memset(f->stack, STACK_PATTERN, FAKE_STACK);
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = FAKE_STACK;
	makecontext(&f->context, (void (*)(void))task_main, 2, (u32)(u64)f, (u32)((u64)f >> 32));
	t->task[t->nr_tasks++] = f;
	return f;
}

static struct fake_mm *new_mm(struct target *t, const struct fake_mm *old)
{
	struct fake_mm *mm = calloc(1, sizeof(*mm));

	BUG_ON(!mm || t->nr_mms == FAKE_TASKS_MAX);
	if (old)
		*mm = *old;
	else
		*mm = (struct fake_mm){.next_va = 0x7f0000000000, .brk = 0x1000000};
	t->mm[t->nr_mms++] = mm;
	return mm;
}

/* Let others run; back when this one is ready and has the smallest clock. */
static void yield(struct fake_task *f)
{
	swapcontext(&f->context, &f->t.target->scheduler);
}

/* At the beginning of each call: -EINTR if the task is or becomes killed. */
static int enter(struct target_task *t)
{
	struct fake_task *f = (struct fake_task *)t;

	BUG_ON(t->target->running != f);
	if (f->killed) {
		fake.stats.nr_calls_after_kill++;
		return -EINTR;
	}
	f->nr_calls++;
	if (fake.nr && f->nr_calls == fake.nr && f->t.index == fake.index &&
	    strcmp(f->t.function, fake.function) == 0)
		f->killed = true;
	yield(f);
	if (f->t.target->expired)
		f->killed = true;
	return f->killed ? -EINTR : 0;
}

static struct fake_task *next_task(struct target *t)
{
	struct fake_task *best = NULL;

	for (u32 i = 0; i < t->nr_tasks; i++)
		if (t->task[i]->state == FAKE_READY && (!best || t->task[i]->now < best->now))
			best = t->task[i];
	return best;
}

static bool foreground_left(struct target *t)
{
	for (u32 i = 0; i < t->nr_tasks; i++)
		if (!t->task[i]->background && t->task[i]->state != FAKE_ENDED)
			return true;
	return false;
}

static void wake(struct target *t, enum fake_state state, u32 wait_for, u64 now)
{
	for (u32 i = 0; i < t->nr_tasks; i++) {
		struct fake_task *f = t->task[i];

		if (f->state == state && f->wait_for == wait_for) {
			f->state = FAKE_READY;
			f->now = max(f->now, now);
		}
	}
}

static u64 stack_used(const struct fake_task *f)
{
	u64 i = 0;

	while (i < FAKE_STACK && f->stack[i] == STACK_PATTERN)
		i++;
	return FAKE_STACK - i;
}

/* From now on every call says -EINTR, and whoever sleeps is woken to hear it. */
static void expire(struct target *t)
{
	t->expired = true;
	for (u32 i = 0; i < t->nr_tasks; i++)
		if (t->task[i]->state != FAKE_ENDED)
			t->task[i]->state = FAKE_READY;
}

static int stop(struct target *t, struct target_result *res, int result, const char *why)
{
	snprintf(res->error, sizeof(res->error), "%s", why);
	expire(t);
	return result;
}

static int fake_run(struct target *t, struct target_result *res)
{
	struct fake_task *f;
	int result = 0;

	memset(res, 0, sizeof(*res));
	for (;;) {
		f = next_task(t);
		if (!t->expired && !foreground_left(t))
			expire(t);
		else if (!t->expired && !f)
			result = stop(t, res, -EDEADLK, "deadlock");
		else if (!t->expired && f->now > t->req->max_ns)
			result = stop(t, res, -ETIME, "longer than the timeout");
		f = next_task(t);
		if (!f)
			break;
		t->running = f;
		swapcontext(&t->scheduler, &f->context);
		if (f->state != FAKE_ENDED)
			continue;
		fake.stats.stack_bytes_max = max(fake.stats.stack_bytes_max, stack_used(f));
		note(f, "ends %d", f->err);
		wake(t, FAKE_CHILD, 0, 0); /* parents look whether it was theirs */
		if (f->err && !t->expired)
			result = stop(t, res, f->err, f->error);
		res->elapsed_ns = max(res->elapsed_ns, f->now);
	}
	res->nr_tasks = fake.stats.nr_tasks = t->nr_tasks;
	return result;
}

static int fake_open(const struct target_request *req, struct target **out, char *err)
{
	struct target *t = calloc(1, sizeof(*t));

	(void)err;
	memset(&fake.stats, 0, sizeof(fake.stats));
	fake.log_len = 0;
	fake.log[0] = '\0';
	t->req = req;
	for (u32 g = 0; g < req->nr_groups; g++)
		for (u32 i = 0; i < req->group[g].nr; i++) {
			const struct target_group *group = &req->group[g];
			struct fake_task *f = new_task(t, group->name, i, group->nr);

			f->mm = new_mm(t, NULL);
			f->now = group->start_ns + i * group->stagger_ns;
			f->background = group->background;
		}
	*out = t;
	return 0;
}

static void fake_close(struct target *t)
{
	for (u32 i = 0; i < t->nr_tasks; i++) {
		free(t->task[i]->stack);
		free(t->task[i]);
	}
	for (u32 i = 0; i < t->nr_mms; i++)
		free(t->mm[i]);
	free(t);
	fake.nr = 0;
	fake.mmap_max = 0;
}

#include "tests/load/fake_memory.h"

/* ---- tasks and time ---- */

static int fake_spawn(struct target_task *t, enum target_spawn how, const char *function,
                      const s64 arg[4], u32 *child)
{
	struct fake_task *parent = (struct fake_task *)t;
	struct fake_task *f;
	int err = enter(t);

	if (err)
		return err;
	f = new_task(t->target, function, 0, 1);
	f->mm = how == TARGET_THREAD ? parent->mm
	                             : new_mm(t->target, how == TARGET_FORK ? parent->mm : NULL);
	f->now = parent->now;
	memcpy(f->t.arg, arg, sizeof(f->t.arg));
	*child = t->target->nr_tasks - 1;
	note(parent, "spawn %s", function);
	return 0;
}

static int fake_wait(struct target_task *t, u32 child)
{
	struct fake_task *f = (struct fake_task *)t;
	int err = enter(t);

	if (err)
		return err;
	if (child >= t->target->nr_tasks)
		return -ECHILD;
	while (t->target->task[child]->state != FAKE_ENDED) {
		f->state = FAKE_CHILD;
		f->wait_for = 0;
		yield(f);
		if (t->target->expired) {
			f->killed = true;
			return -EINTR;
		}
	}
	f->now = max(f->now, t->target->task[child]->now);
	return 0;
}

static int fake_sleep(struct target_task *t, u64 ns)
{
	int err = enter(t);

	if (err)
		return err;
	((struct fake_task *)t)->now += ns;
	note((struct fake_task *)t, "sleep %lu", ns);
	return 0;
}

/* Wait in @state until woken. */
static int block(struct fake_task *f, enum fake_state state, u32 wait_for)
{
	f->state = state;
	f->wait_for = wait_for;
	yield(f);
	if (f->t.target->expired)
		f->killed = true;
	return f->killed ? -EINTR : 0;
}

static int fake_barrier(struct target_task *t, u32 barrier)
{
	struct fake_task *f = (struct fake_task *)t;
	int err = enter(t);

	if (err)
		return err;
	note(f, "barrier %u", barrier);
	if (++t->target->arrived[barrier] < t->target->req->barrier_size[barrier])
		return block(f, FAKE_BARRIER, barrier);
	t->target->arrived[barrier] = 0;
	wake(t->target, FAKE_BARRIER, barrier, f->now);
	return 0;
}

static int fake_event_set(struct target_task *t, u32 event)
{
	int err = enter(t);

	if (err)
		return err;
	t->target->event[event] = true;
	wake(t->target, FAKE_EVENT, event, ((struct fake_task *)t)->now);
	return 0;
}

static int fake_event_wait(struct target_task *t, u32 event)
{
	int err = enter(t);

	if (err || t->target->event[event])
		return err;
	return block((struct fake_task *)t, FAKE_EVENT, event);
}

static int fake_counter_add(struct target_task *t, u32 counter, s64 delta, s64 *value)
{
	int err = enter(t);

	if (err)
		return err;
	*value = t->target->counter[counter] += delta;
	note((struct fake_task *)t, "counter %u = %ld", counter, *value);
	return 0;
}

static u64 fake_now(struct target_task *t)
{
	return ((struct fake_task *)t)->now;
}

static int fake_drop_caches(struct target_task *t, u32 what)
{
	int err = enter(t);

	if (!err)
		note((struct fake_task *)t, "drop_caches %u", what);
	return err;
}

static int fake_record_time(struct target_task *t, u64 ns)
{
	int err = enter(t);

	if (!err)
		note((struct fake_task *)t, "record_time %lu", ns);
	return err;
}

static int fake_start_measuring(struct target_task *t)
{
	int err = enter(t);

	if (!err)
		note((struct fake_task *)t, "start_measuring");
	return err;
}

const struct target_ops fake_target_ops = {
	.name = "fake",
	.open = fake_open,
	.run = fake_run,
	.close = fake_close,
	.mmap = fake_mmap,
	.munmap = fake_munmap,
	.mprotect = fake_mprotect,
	.mremap = fake_mremap,
	.brk = fake_brk,
	.madvise = fake_madvise,
	.move_pages = fake_move_pages,
	.migrate_pages = fake_migrate_pages,
	.mlock = fake_mlock,
	.munlock = fake_munlock,
	.mlockall = fake_mlockall,
	.access = fake_access,
	.spawn = fake_spawn,
	.wait = fake_wait,
	.sleep = fake_sleep,
	.compute = fake_sleep,
	.barrier = fake_barrier,
	.event_set = fake_event_set,
	.event_wait = fake_event_wait,
	.counter_add = fake_counter_add,
	.now = fake_now,
	.drop_caches = fake_drop_caches,
	.record_time = fake_record_time,
	.start_measuring = fake_start_measuring,
};
