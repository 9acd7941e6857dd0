/*
 * What the files of host/ know of each other.
 *
 * Processes of one run:
 *
 *   runner      whoever called open(): makes the changes, forks the workers, waits, undoes
 *   watcher     forked first, in a session of its own; undoes everything if the runner dies
 *   anchor      a child of the watcher that does nothing but lead the workers' process group, so
 *               that the group's number cannot pass to strangers while anyone may still kill it
 *   workers     one per task of each group, and what they fork
 *
 * Who may touch what is said by letters as in the rest of the program:
 *   (c) constant after open()   (r) the runner   (w) the watcher   (t) the task itself
 *   (a) atomic, in memory that all processes share
 *
 * The atomics here are the compiler's, not lib's: these processes really run at the same time.
 */
#ifndef HOST_INTERNAL_H
#define HOST_INTERNAL_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include "host/host.h"
#include "lib/types.h"

#define HOST_SYSCTLS_MAX 32
#define HOST_SPARE_SLOTS 16384 /* tasks that spawn() may have at once, beside the groups' */
#define HOST_TASKS_MAX 32768   /* below the usual pid_max */
#define HOST_PATH_MAX 256
#define HOST_VALUE_MAX 256

/* ---- undo.c: the journal of changes, the lock, the watcher ---- */

enum undo_kind {
	UNDO_WRITE,   /* write value into path */
	UNDO_SWAPOFF, /* swapoff(path) */
	UNDO_UNLINK,  /* remove the file path */
	UNDO_CGROUP,  /* end what is in the group path, and remove it */
	UNDO_TREE,    /* remove the directory path with the files in it */
	UNDO_ZRAM,    /* reset and remove the device path, or any idle one not listed in value */
};

struct undo_record {
	u32 kind;
	u32 armed; /* (a) set before the change is made, cleared after it is undone */
	char path[HOST_PATH_MAX];
	char value[HOST_VALUE_MAX];
};

#define UNDO_RECORDS_MAX 64

/* Lies in the lock file, so that even what a dead watcher left can be undone later. */
struct undo_journal {
	u64 magic;
	char boot_id[40]; /* a journal from before a reboot has only files left to remove */
	s32 runner;
	u32 nr; /* (a) records in use; they are undone from the last to the first */
	struct undo_record record[UNDO_RECORDS_MAX];
};

struct host_lock {
	int fd; /* -1: not held; shared with the watcher, who keeps it until all is undone */
	bool is_named;
	char path[HOST_PATH_MAX];
	struct undo_journal *journal;
};

/* Takes the lock and starts the watcher: from here on changes may be made. */
int host_guard(struct target *t, char *err);
/* Undoes all changes and gives up both. */
void host_unguard(struct target *t);

/* Arms a record; returns its index, or -ENOSPC. The change may be made afterwards. */
int undo_arm(struct target *t, enum undo_kind kind, const char *path, const char *value);
void undo_disarm(struct target *t, int record);
/* Undoes all armed records, last first; what fails is said on stderr. Returns their number. */
u32 undo_all(struct undo_journal *j, bool only_files);

/* Kills every worker. Async-signal-safe. */
void workers_kill(struct target *t);
/* Kills every worker and waits until none is left, their memory included. 0 or -ETIME. */
int workers_end(struct target *t);

/* ---- what all processes of a run share ---- */

enum host_state {
	HOST_STARTING,
	HOST_RUNNING, /* or sleeping for a time */
	HOST_IN_BARRIER,
	HOST_IN_EVENT,
	HOST_IN_WAIT,
	HOST_ENDED, /* its body has returned */
};

#define SLOT_NO_PARENT UINT32_MAX

/* One task. Written by the task, except as noted. */
struct host_slot {
	u32 used;   /* (a) 0: free */
	u32 state;  /* (a) enum host_state */
	u32 object; /* (a) the barrier, event or slot it waits for */
	u32 round;  /* (a) of that barrier */
	s32 pid;    /* (a) the process it runs in */
	u32 parent; /* (a) slot of the spawner plus 1; 0: a task of a group */
	u32 reaped; /* (a) by whoever waited for its process */
	u32 killed; /* (a) the runner ended it, or its whole process was ended */
	s32 status; /* as wait4() gave it */
	u32 index;
	bool thread;
	bool background;
	char function[TARGET_NAME_MAX];
};

/* round and arrivals in one word: a task killed between two updates would strand the others. */
struct host_barrier {
	u64 word; /* (a) round << 32 | arrived; waiters sleep on the upper half */
};

struct host_shared {
	u64 begin_ns;    /* CLOCK_MONOTONIC when the tasks were let go */
	u32 go;          /* (a) futex */
	u32 nr_ready;    /* (a) */
	u32 nr_tasks;    /* (a) ever started */
	u32 nr_oom;      /* (a) ended by a SIGKILL that the runner did not send */
	u32 nr_failed;   /* (a) */
	u32 error_owner; /* (a) slot plus 1 of the first task that failed: it writes error[] */
	s32 broken;      /* (a) negative errno once error[] is complete */
	u32 stop_signal; /* (a) the runner got it */
	u32 nr_spawned;  /* (a) slots ever used: bound for those who walk them */
	u32 slot_hint;   /* (a) */
	s32 anchor;      /* pid, and number of the workers' process group */
	u32 watcher_ready;
	struct host_barrier barrier[TARGET_SYNC_MAX];
	u32 event[TARGET_SYNC_MAX];   /* (a) futex: 1 once set */
	s64 counter[TARGET_SYNC_MAX]; /* (a) */
	s64 time_ns;                  /* (a) record_time() */
	u32 measure;                  /* (a) futex: 1 asked for by start_measuring(), 0 done */
	char error[TARGET_ERROR_MAX];
	u32 nr_slots; /* (c) */
	struct host_slot slot[];
};

/* ---- one process's own memory (memory.c) ---- */

struct host_range {
	u64 start;
	u64 end;
};

/* What this process mapped for its tasks: accesses and advice stay inside, off the Lua heap. */
struct host_memory {
	pthread_mutex_t lock;     /* guards all below, between the threads of a process */
	struct host_range *range; /* sorted, apart from each other */
	size_t nr;
	size_t room;
	u64 heap_start; /* brk's own area, reserved at the first brk() */
	u64 heap_end;
	u64 heap_limit;
	int vmstat_fd; /* for the throttle; -1: not open */
};

/* Ends of the part of [va, va + len) from va on that is the tasks' own; va if none is. */
u64 memory_covered(struct host_memory *m, u64 va, u64 end);
void memory_init(struct host_memory *m);
/* Unmaps all that is listed: what execve() would do. */
void memory_unmap_all(struct host_memory *m);
int memory_probe(struct target *t, char *err);
/* Maps, of @fd or of nothing (-1), and lists it. */
int memory_map(struct host_memory *m, u64 len, int prot, int map_flags, int fd, u64 offset,
               u64 *va);
int host_mmap(struct target_task *task, u64 len, int prot, int flags, u64 *va);
int host_munmap(struct target_task *task, u64 va, u64 len);
int host_mprotect(struct target_task *task, u64 va, u64 len, int prot);
int host_mremap(struct target_task *task, u64 va, u64 old_len, u64 new_len, int flags, u64 *new);
int host_brk(struct target_task *task, s64 delta, u64 *end);
int host_set_mempolicy(struct target_task *task, enum target_mempolicy mode, u64 nodes);
int host_mbind(struct target_task *task, u64 va, u64 len, enum target_mempolicy mode, u64 nodes);
int host_move_pages(struct target_task *task, u64 va, u64 len, u32 node, u64 *left);
int host_migrate_pages(struct target_task *task, u64 from, u64 to, u64 *left);
int host_madvise(struct target_task *task, u64 va, u64 len, enum target_advice advice);
int host_mlock(struct target_task *task, u64 va, u64 len, int flags);
int host_munlock(struct target_task *task, u64 va, u64 len);
int host_mlockall(struct target_task *task, int flags);
/* The calling process may lock @bytes from now on, whoever it is. 0 or a negative errno. */
int memory_limit_locks(u64 bytes);

/* ---- place.c: where on the disks of this host ---- */

enum place_use { PLACE_SWAP, PLACE_FILES };

/*
 * A directory on a disk with room for @bytes: @given, if it is not "", or the first of the usual ones.
 * NULL: *@why says what is wrong; @setting is what names one.
 */
const char *place_choose(const char *given, const char *setting, u64 bytes, enum place_use use,
                         const char **why);
/* An absolute path in @dir that nobody else has: @prefix, this process, the time. 0 or a negative errno. */
int place_path(const struct target *t, const char *dir, const char *prefix,
               char path[HOST_PATH_MAX], char *err);

/* ---- files.c: the files of the scenario; file_calls.c: what tasks do with them ---- */

int files_check(struct target *t, char *err);
int files_apply(struct target *t, char *err);
/* Takes what is cached of files out of memory, as far as this process may. */
void files_drop_cache(struct target *t);
/* Removes the directory @path of a run and the files in it; 0 or a negative errno. */
int files_remove(const char *path);

struct host_task;
int host_file_open(struct target_task *task, u32 file, u32 *fd);
int host_file_close(struct target_task *task, u32 fd);
int host_file_mmap(struct target_task *task, u32 fd, u64 offset, u64 len, int prot, int flags,
                   u64 *va);
int host_file_read(struct target_task *task, u32 fd, u64 offset, u64 len, u64 *done);
int host_file_write(struct target_task *task, u32 fd, u64 offset, u64 len, u64 *done);
int host_file_fsync(struct target_task *task, u32 fd);
int host_file_truncate(struct target_task *task, u32 fd, u64 size);
int host_file_advise(struct target_task *task, u32 fd, u64 offset, u64 len,
                     enum target_fadvice advice);
int host_file_temporary(struct target_task *task, u32 *fd);
int host_sync(struct target_task *task);
/* Closes what a task has open, and gives its buffer back. */
void task_close_files(struct host_task *ht);

/* ---- access.c ---- */

int access_catch_faults(void); /* installs the handlers, in a worker */
int host_access(struct target_task *task, u64 va, u64 len, enum target_access kind, u64 seed);
/* The n-th page of a seeded order of [0, nr). */
struct page_order {
	u64 nr;
	u64 mask;
	u32 shift;
	u64 mul[3]; /* odd */
	u64 add[3];
};
void page_order_init(struct page_order *o, u64 nr, u64 seed);
u64 page_order_at(const struct page_order *o, u64 i);

/* ---- tasks (worker.c) ---- */

struct host_task {
	struct target_task task; /* first: this is what the body is given */
	struct host_slot *slot;
	u32 nr_spawned; /* (t) seeds the children's seeds */
	bool joined;    /* (t: the spawner) */
	pthread_t thread;
	struct host_task *sibling; /* next thread this task spawned */
	struct host_task *child;   /* (t) threads it spawned */
	u64 slow_bp;               /* what compute() is stretched by, parts of 10,000 */
	int *open;                 /* (t) its open files; -1: a free place */
	u32 nr_open;
	void *buffer; /* (t) of read and write; as large as the largest call so far */
	size_t buffer_bytes;
	/* While an access is going on: where a fault resumes, and which addresses may fault. */
	sigjmp_buf fault_env;
	volatile u64 fault_from;
	volatile u64 fault_to;
	char err[TARGET_ERROR_MAX];
};

__attribute__((noreturn)) void worker_main(struct target *t, u32 slot, u32 group, u32 index);
int worker_calibrate(struct target *t);
struct host_slot *slot_claim(struct host_shared *s);
void host_fail(struct target *t, const struct host_slot *slot, int err, const char *text);

int host_spawn(struct target_task *task, enum target_spawn how, const char *function,
               const s64 arg[4], u32 *child);
int host_wait(struct target_task *task, u32 child);
int host_sleep(struct target_task *task, u64 ns);
int host_compute(struct target_task *task, u64 ns);
int host_barrier(struct target_task *task, u32 barrier);
int host_event_set(struct target_task *task, u32 event);
int host_event_wait(struct target_task *task, u32 event);
int host_counter_add(struct target_task *task, u32 counter, s64 delta, s64 *value);
int host_drop_caches(struct target_task *task, u32 what);
int host_record_time(struct target_task *task, u64 ns);
int host_start_measuring(struct target_task *task);
u64 host_now(struct target_task *task);

/* ---- run.c ---- */

int host_run(struct target *t, struct target_result *res);

/* ---- settings.c ---- */

enum host_free { HOST_FREE_LAZY, HOST_FREE_THROTTLE, HOST_FREE_DONTNEED };
enum host_thp { HOST_THP_LEAVE, HOST_THP_NEVER };

struct host_sysctl {
	char name[TARGET_NAME_MAX]; /* below /proc/sys/vm/ */
	char value[TARGET_NAME_MAX];
	char origin[128];
};

struct host_config {
	enum host_free free;
	enum host_thp thp;
	char swap_dir[TARGET_NAME_MAX];
	char file_dir[TARGET_NAME_MAX];
	char read_ahead_kb[16]; /* of the disk with the files; "": leave it */
	u32 nr_sysctls;
	struct host_sysctl sysctl[HOST_SYSCTLS_MAX];
};

int settings_read(struct target *t, char *err);
int sysctls_check(struct target *t, char *err);
int sysctls_apply(struct target *t, char *err);

/* ---- limit.c, swap.c: each _check() changes nothing and says what is missing ---- */

int limit_check(struct target *t, char *err);
int limit_apply(struct target *t, char *err);
/* What there is for the tasks, if ballast limits them. */
void limit_measure(struct target *t, struct target_memory *memory);
int swap_check(struct target *t, char *err);
int swap_apply(struct target *t, char *err);

/* ---- procfs.c ---- */

enum proc_file { PROC_VMSTAT, PROC_ZONEINFO, PROC_MEMINFO, PROC_BUDDYINFO, NR_PROC_FILES };
extern const char *const proc_file_name[NR_PROC_FILES];

/* The first @size - 1 bytes of a file as a string; its length, or a negative errno. */
ssize_t file_read(const char *path, char *buf, size_t size);
/* All of a file, to be freed; NULL if it cannot be read. */
char *file_read_all(const char *path);
int file_write(const char *path, const char *text);
bool file_writable(const char *path);
/* "name: value kB" of /proc/meminfo in bytes, or -1. */
s64 meminfo_bytes(const char *name);
/* "name value" of a text like /proc/vmstat, or -1. */
s64 vmstat_value(const char *text, const char *name);
void vmstat_fold(void);
u32 vmstat_difference(const char *begin, const char *end, struct target_counter *counter, u32 max);
bool capable(int cap);
void host_describe(struct target *t);

/* ---- host.c ---- */

struct target {
	const struct target_request *req;
	struct host_config config;
	struct host_shared *shared;
	size_t shared_bytes;
	struct host_lock lock;
	struct host_memory memory; /* of the process that looks at it */
	pid_t runner;
	pid_t watcher;
	int lifeline[2];     /* pipe; workers hold the writing end: end of file when all are gone */
	double spins_per_ns; /* (c) of compute()'s loop */
	char cgroup[HOST_PATH_MAX]; /* the workers' memory cgroup; "": none */
	char files[HOST_PATH_MAX];  /* (c) the directory of the scenario's files; "": none */
	s32 old_oom_score_adj;
	bool ran;
	bool signals_caught;
	u64 ballast_bytes;             /* (c) that was added */
	u64 min_free_pages;            /* (c) min_free_kbytes, for the throttle */
	char *proc_end[NR_PROC_FILES]; /* as they were at the end of the run */
	size_t notes_len;
	char notes[sizeof(((struct target_result *)0)->notes)];
};

/* Adds a line to the notes. */
void note(struct target *t, const char *fmt, ...) __printf(2, 3);
/* Writes @err (TARGET_ERROR_MAX bytes) and returns @code. */
int host_error(char *err, int code, const char *fmt, ...) __printf(3, 4);
bool host_stopped(const struct target *t);
const char *size_text(u64 bytes, char buf[32]);

static inline u64 clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

/* Sleeps until *@word is no longer @value, or a tenth of a second has passed. */
void futex_wait(u32 *word, u32 value);
void futex_wake_all(u32 *word);

static inline struct host_task *host_task_of(struct target_task *task)
{
	return container_of(task, struct host_task, task);
}

#define host_load(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define host_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define host_add(p, v) __atomic_add_fetch((p), (v), __ATOMIC_ACQ_REL)
#define host_cas(p, old, new)                                                                      \
	__atomic_compare_exchange_n((p), (old), (new), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

#endif
