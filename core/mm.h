/*
 * The memory manager, for its callers: a machine, its tasks, their system calls, its counters.
 *
 * A machine is built on a world (world/world.h) and runs whatever tasks are created on it. Calls
 * marked [task] are made by a user task about itself, in user mode; they enter and leave the kernel.
 * They return 0 or a negative errno; -EINTR: the task has been killed and should call task_exit().
 */
#ifndef CORE_MM_H
#define CORE_MM_H

#include <stdio.h>

#include "lib/types.h"

struct world;
struct machine;
struct task;
struct knobs;

enum mm_prot {
	MM_PROT_NONE = 0,
	MM_PROT_READ = 1,
	MM_PROT_WRITE = 2,
	MM_PROT_EXEC = 4,
};

enum mm_map {
	MM_MAP_NORESERVE = 1,
	MM_MAP_SHARED = 2, /* a file, or memory shared with children */
	MM_MAP_LOCKED = 8,
	MM_MAP_POPULATE = 16,
};

enum mm_mremap {
	MM_MREMAP_MAYMOVE = 1,
	MM_MREMAP_FIXED = 2, /* to where it is told, over whatever is there */
};

enum mm_mlock {
	MM_MLOCK_ONFAULT = 1, /* mlock2() */
};

enum mm_mlockall {
	MM_MCL_CURRENT = 1,
	MM_MCL_FUTURE = 2,
	MM_MCL_ONFAULT = 4,
};

enum mm_advice {
	MM_MADV_NORMAL,
	MM_MADV_DONTNEED,
	MM_MADV_FREE,
	MM_MADV_WILLNEED,
	MM_MADV_RANDOM,
	MM_MADV_SEQUENTIAL,
	MM_MADV_HUGEPAGE,
	MM_MADV_NOHUGEPAGE,
	MM_MADV_COLD, /* 5.4; before that, this and the next are EINVAL */
	MM_MADV_PAGEOUT,
};

/*
 * Boots a machine: zones, watermarks, kswapd tasks, as @knobs say. Runs in the world's boot context.
 * NULL on failure, with a sentence in @err (of @n bytes) and in errno EINVAL, if there can be no
 * such machine, or ENOMEM, if this host has no memory or address space for it.
 */
struct machine *machine_create(struct world *w, const struct knobs *knobs, char *err, size_t n);
void machine_destroy(struct machine *m);

/* The whole-machine audit: every invariant; aborts with a report if one is broken. Between tasks. */
void machine_audit(struct machine *m);

/* ---- tasks ---- */

/*
 * A user task with an address space of its own (@share NULL) or @share's (a thread). Not started.
 * @fn runs in user mode; when it returns the task exits. NULL: out of frames or of tasks, or @share has been
 * killed.
 */
struct task *task_create(struct machine *m, const char *name, struct task *share,
                         void (*fn)(struct task *t, void *arg), void *arg);
void task_start(struct task *t, int cpu);

/* [task] A child with memory of its own, as after vfork() and execve(); not started. */
int do_spawn(struct machine *m, const char *name, void (*fn)(struct task *t, void *arg), void *arg,
             struct task **child);

/* [task] A child with a copy of this task's memory, not started. */
int do_fork(struct machine *m, const char *name, void (*fn)(struct task *t, void *arg), void *arg,
            struct task **child);

/* [task] Waits until @child has exited and frees it; its times are added to this task's. */
int do_wait(struct task *child);

/* [task] Ends the running task. */
void __attribute__((noreturn)) do_exit(int code);

/* Frees a task that has exited and nobody waits for. */
void task_put(struct task *t);

/* RLIMIT_MEMLOCK of @t's process; @cap_ipc_lock: it need not mind. At first it has no limit. */
void task_set_memlock(struct task *t, u64 bytes, bool cap_ipc_lock);

bool task_killed(const struct task *t);

/* How many tasks were killed by SIGBUS so far: no counter of /proc/vmstat tells. */
u32 machine_sigbus_kills(const struct machine *m);

/* How many were killed for want of memory, in every kernel: to 4.12 /proc/vmstat does not tell. */
u32 machine_oom_kills(const struct machine *m);

/* Who was, and has not given up its memory yet; NULL: nobody. */
struct task *machine_oom_victim(const struct machine *m);

void task_times(const struct task *t, u64 *utime_ns, u64 *stime_ns);

/* ---- system calls ---- */

int do_mmap(struct machine *m, u64 len, int prot, int flags, u64 *va); /* [task] */
int do_munmap(struct machine *m, u64 va, u64 len);                     /* [task] */
int do_mprotect(struct machine *m, u64 va, u64 len, int prot);         /* [task] */
/* [task] @va is where it is to go (MM_MREMAP_FIXED), and says where it went. */
int do_mremap(struct machine *m, u64 addr, u64 old_len, u64 new_len, int flags, u64 *va);
int do_brk(struct machine *m, u64 brk, u64 *now);                          /* [task] 0: ask */
int do_madvise(struct machine *m, u64 va, u64 len, enum mm_advice advice); /* [task] */
int do_mlock(struct machine *m, u64 va, u64 len);                          /* [task] */
int do_mlock2(struct machine *m, u64 va, u64 len, int flags);              /* [task] */
int do_munlock(struct machine *m, u64 va, u64 len);                        /* [task] */
int do_mlockall(struct machine *m, int flags);                             /* [task] */
int do_munlockall(struct machine *m);                                      /* [task] */

enum mm_mempolicy {
	MM_MPOL_DEFAULT,
	MM_MPOL_PREFERRED,
	MM_MPOL_BIND,
	MM_MPOL_INTERLEAVE,
	MM_MPOL_LOCAL,
	MM_MPOL_WEIGHTED_INTERLEAVE, /* 6.9 */
	NR_MM_MPOL
};
/* [task] @nodes: a bit per node. -EINVAL. */
int do_set_mempolicy(struct machine *m, enum mm_mempolicy mode, u64 nodes);
int do_mbind(struct machine *m, u64 va, u64 len, enum mm_mempolicy mode, u64 nodes);

enum mm_mpol_mf {
	MM_MPOL_MF_STRICT = 1,
	MM_MPOL_MF_MOVE = 2,     /* what only this process maps */
	MM_MPOL_MF_MOVE_ALL = 4, /* and all else */
};
#define MM_MPOL_MF_MOVES (MM_MPOL_MF_MOVE | MM_MPOL_MF_MOVE_ALL)
int do_mbind_flags(struct machine *m, u64 va, u64 len, enum mm_mempolicy mode, u64 nodes,
                   int flags);
/*
 * [task] The page at each of the @nr addresses goes to the node that @node has for it (NULL: it stays); where it
 * is then goes to @status, or an errno. How many could not be moved, or an errno. The arrays are the host's.
 */
long do_move_pages(struct machine *m, u32 nr, const u64 *page, const s32 *node, s32 *status,
                   int flags);
/* [task] Its pages on nodes @from go to nodes @to. How many could not be moved, or an errno. */
long do_migrate_pages(struct machine *m, u64 from, u64 to);

/* ---- files ---- */

/*
 * From the boot context, before the tasks start: a file of @size bytes, on the machine's first disk for
 * files, or (@sparse) all hole. Its number goes to *@ino. -ENOSPC: the disk has not that much left.
 */
int machine_file_create(struct machine *m, const char *name, u64 size, bool sparse, u32 *ino);
/* On another disk than the first that holds files. -ENODEV: it holds none. */
int machine_file_create_on(struct machine *m, u32 disk, const char *name, u64 size, bool sparse,
                           u32 *ino);

/* The same on a tmpfs: shared memory, empty, of @size bytes. */
int machine_shm_create(struct machine *m, const char *name, u64 size, u32 *ino);

int do_open(struct machine *m, u32 ino, u32 *fd);            /* [task] */
int do_close(struct machine *m, u32 fd);                     /* [task] */
int do_creat(struct machine *m, const char *name, u32 *ino); /* [task] an empty file */
/* [task] Removed from its directory; its data goes when nobody has it open or mapped any more. */
int do_unlink(struct machine *m, u32 ino);
/* [task] Bytes transferred go to *@done, fewer than @len at the end of the file, or if the task is
 * killed, or the disk fails or is full after some. An error only if there were none. */
int do_pread(struct machine *m, u32 fd, u64 offset, u64 len, u64 *done);
int do_pwrite(struct machine *m, u32 fd, u64 offset, u64 len, u64 *done);
int do_ftruncate(struct machine *m, u32 fd, u64 size); /* [task] */
int do_fsync(struct machine *m,
             u32 fd);           /* [task] -EIO, -ENOSPC: a write failed since the last one */
int do_sync(struct machine *m); /* [task] */
int do_msync(struct machine *m, u64 va, u64 len); /* [task] MS_SYNC */

enum mm_fadvice {
	MM_FADV_NORMAL,
	MM_FADV_RANDOM,
	MM_FADV_SEQUENTIAL,
	MM_FADV_WILLNEED,
	MM_FADV_DONTNEED,
};
int do_fadvise(struct machine *m, u32 fd, u64 offset, u64 len, enum mm_fadvice advice); /* [task] */
/* [task] @offset is a multiple of a page. Touching pages behind the file's end is a SIGBUS. */
int do_mmap_file(struct machine *m, u32 fd, u64 offset, u64 len, int prot, int flags, u64 *va);

/* [task] Writes @what to /proc/sys/vm/drop_caches: 1 page cache, 2 what shrinkers have, 3 both. */
int do_drop_caches(struct machine *m, u32 what);

enum world_access;
/* [task] User code accesses [@va, @va + @len): every page once, in order or by @seed. */
int mm_access(struct machine *m, u64 va, u64 len, enum world_access kind, u64 seed);

/* Adds disk @disk as swap of @prio (negative: next lower default). From the boot context or a task. */
int do_swapon(struct machine *m, u32 disk, int prio);
/* [task] -EINVAL: no swap; -ENOMEM: no room for what is there; -EIO, -EINTR. */
int do_swapoff(struct machine *m, u32 disk);

/* ---- memory that is gone before the tasks start (ballast.c) ---- */

/*
 * From the boot context: @nr blocks of @order, from the zones that a request for them would get,
 * never come back. Returns how many there were.
 */
u64 machine_take_blocks(struct machine *m, unsigned int order, u64 nr);

/*
 * The same for what a zone has, until no more than @nr pages of it are free. Returns how many more
 * than that there are: negative if there were fewer.
 */
long machine_leave_free(struct machine *m, u32 node, const char *zone, u64 nr);

/* ---- counters and /proc ---- */

/* Calls @fn for every counter of this machine's /proc/vmstat, in the kernel's order. */
void machine_counters(struct machine *m,
                      void (*fn)(const char *name, u64 value, bool event, void *arg), void *arg);

/* Counters per size of huge page, among machine_gauges() where sizes below 2 MiB are enabled. */
u32 mthp_stat_count(void);
const char *mthp_stat_name(u32 i);
/*
 * The same for figures of the model that no kernel prints: how far free memory fell below min
 * without the counter saying so (the worst zone's), and the highest min mark of a zone.
 */
void machine_gauges(struct machine *m,
                    void (*fn)(const char *name, u64 value, bool event, void *arg), void *arg);

/* What sample.c tells of: amounts as they are, and totals that only grow. */
enum sample_kind { SAMPLE_PAGES, SAMPLE_EVENTS };

/*
 * Calls @fn for each value that a time series may be kept of, in the same order each time. At any
 * moment, also while tasks run; nothing is charged or changed.
 */
void machine_sample(struct machine *m,
                    void (*fn)(void *arg, const char *name, enum sample_kind kind, u64 value),
                    void *arg);

/* Zones, LRU lists, per-CPU lists, swap, amounts, for a person. As machine_sample(). */
void machine_dump(struct machine *m, FILE *f);

void proc_vmstat(struct machine *m, FILE *f);
void proc_zoneinfo(struct machine *m, FILE *f);
void proc_meminfo(struct machine *m, FILE *f);
void proc_buddyinfo(struct machine *m, FILE *f);
void proc_pagetypeinfo(struct machine *m, FILE *f);

#endif
