/*
 * The simulated target's own: what its files share (sim_target.h is for others).
 */
#ifndef CLI_SIM_INTERNAL_H
#define CLI_SIM_INTERNAL_H

#include <errno.h>

#include "cli/sim_series.h"
#include "cli/sim_target.h"
#include "core/mm.h"
#include "core/mm_types.h"
#include "world/world.h"

struct sim_task {
	struct target_task t; /* first: a body is given this */
	struct task *task;
	struct list_head all;      /* in sim_target->tasks */
	struct list_head sibling;  /* in its parent's children, until waited for */
	struct list_head children; /* newest first */
	u32 number;                /* among its parent's children, from 0 */
	u32 *open;                 /* descriptors, 0 where none is */
	u32 nr_open;
	u64 start_ns;
	u32 nr_spawned;
	bool background;
	bool ended;
	char error[TARGET_ERROR_MAX];
	int err;
};

struct sim_barrier {
	struct wait_queue_head queue;
	u32 size;
	u32 arrived;
	u32 generation;
};

struct sim_event {
	struct wait_queue_head queue;
	bool set;
};

struct sim_target {
	const struct target_ops *ops; /* first: struct target is this */
	const struct target_request *req;
	struct world *world;
	struct machine *machine;
	struct sim_series *series; /* NULL: not asked for */
	struct list_head tasks;    /* in order of creation, without those waited for */
	struct sim_barrier barrier[TARGET_SYNC_MAX];
	struct sim_event event[TARGET_SYNC_MAX];
	s64 counter[TARGET_SYNC_MAX];
	u64 time_ns; /* record_time() */
	u32 *file;   /* inode numbers, by the scenario's number */
	u32 nr_files;
	u32 nr_tasks;                /* ever */
	u32 nr_foreground;           /* still running */
	bool running;                /* booting is nobody's business */
	struct target_result before; /* counters and times when measuring began */
	char notes[3072];
};

static inline struct sim_target *to_sim(const struct target *t)
{
	return (struct sim_target *)t;
}

static inline struct sim_target *sim_of(const struct target_task *t)
{
	return to_sim(t->target);
}

static inline struct sim_task *sim_task_of(const struct target_task *t)
{
	return (struct sim_task *)t;
}

static inline struct machine *machine_of(const struct target_task *t)
{
	return sim_of(t)->machine;
}

/* What an operation says in the end: the task may have been killed in it. */
static inline int killed(void)
{
	return current_task()->killed ? -EINTR : 0;
}

/* ---- building (sim_build.c) ---- */

int sim_open(const struct target_request *req, struct target **out, char *err);
void sim_close(struct target *t);

/* Adds to the notes of the result. */
void sim_note(struct sim_target *s, const char *fmt, ...) __printf(2, 3);

/* ---- runs that do not end (sim_endless.c) ---- */

/* From here on SIGXCPU ends the run of @w at its next order point. */
void sim_limit_begin(struct world *w);

/* And no longer. Whether it did. */
bool sim_limit_end(void);

/* Why a run that sim_run() gave up with @rc (-ETIME, -ELOOP), or that was @expired, did not end: to TARGET_ERROR_MAX bytes. */
void sim_describe_endless(const struct sim_target *s, int rc, bool expired, char *error);

/* ---- tasks (sim_target.c) ---- */

/* nanosleep(): high-resolution, ended by a fatal signal. */
int sim_sleep_until(u64 when);

/* ---- memory (sim_ops.c) ---- */

int op_mmap(struct target_task *t, u64 len, int prot, int flags, u64 *va);
int op_mlock(struct target_task *t, u64 va, u64 len, int flags);
int op_munlock(struct target_task *t, u64 va, u64 len);
int op_mlockall(struct target_task *t, int flags);
int op_munmap(struct target_task *t, u64 va, u64 len);
int op_mprotect(struct target_task *t, u64 va, u64 len, int prot);
int op_mremap(struct target_task *t, u64 va, u64 old_len, u64 new_len, int flags, u64 *new);
int op_brk(struct target_task *t, s64 delta, u64 *end);
int op_set_mempolicy(struct target_task *t, enum target_mempolicy mode, u64 nodes);
int op_mbind(struct target_task *t, u64 va, u64 len, enum target_mempolicy mode, u64 nodes);
int op_move_pages(struct target_task *t, u64 va, u64 len, u32 node, u64 *left);
int op_migrate_pages(struct target_task *t, u64 from, u64 to, u64 *left);
int op_madvise(struct target_task *t, u64 va, u64 len, enum target_advice advice);
int op_access(struct target_task *t, u64 va, u64 len, enum target_access kind, u64 seed);
int op_swapoff(struct target_task *t);
int op_drop_caches(struct target_task *t, u32 what);

/* ---- files (sim_files.c) ---- */

int op_file_open(struct target_task *t, u32 file, u32 *fd);
int op_file_close(struct target_task *t, u32 fd);
int op_file_mmap(struct target_task *t, u32 fd, u64 offset, u64 len, int prot, int flags, u64 *va);
int op_file_read(struct target_task *t, u32 fd, u64 offset, u64 len, u64 *done);
int op_file_write(struct target_task *t, u32 fd, u64 offset, u64 len, u64 *done);
int op_file_fsync(struct target_task *t, u32 fd);
int op_file_truncate(struct target_task *t, u32 fd, u64 size);
int op_file_advise(struct target_task *t, u32 fd, u64 offset, u64 len, enum target_fadvice advice);
int op_file_temporary(struct target_task *t, u32 *fd);
int op_sync(struct target_task *t);

/* ---- time, and tasks that meet (sim_sync.c) ---- */

int op_sleep(struct target_task *t, u64 ns);
int op_compute(struct target_task *t, u64 ns);
int op_barrier(struct target_task *t, u32 barrier);
int op_event_set(struct target_task *t, u32 event);
int op_event_wait(struct target_task *t, u32 event);
int op_counter_add(struct target_task *t, u32 counter, s64 delta, s64 *value);
u64 op_now(struct target_task *t);

#endif
