/*
 * What a scenario runs on: a simulated machine or the real kernel.
 *
 * load/ reads a scenario and fills a struct target_request. A target builds what it asks for, runs
 * each task's body in a context of the target's own (a fiber of the simulation; a process or thread
 * of the host) and reports counters and times. The body is load/'s: it makes a fresh lua_State, loads
 * the scenario again and calls the task's function, which comes back here through target_ops with
 * the struct target_task it was given.
 *
 * Addresses and lengths are bytes, times are ns of the target's own clock. Calls return 0 or a
 * negative errno unless they say otherwise. -EINTR from any call means that the task has been killed
 * (OOM killer, SIGBUS): the body must unwind without further calls and return.
 */
#ifndef LOAD_TARGET_H
#define LOAD_TARGET_H

#include "lib/random.h"
#include "lib/types.h"

struct target;
struct target_task;
struct hw_machine;
struct sim_watch;

#define TARGET_NAME_MAX 64
#define TARGET_ERROR_MAX 512
#define TARGET_WAITS_MAX 256
#define TARGET_COUNTERS_MAX 512
#define TARGET_ZONES_MAX 64
#define TARGET_FILES_MAX 65536
#define TARGET_SYNC_MAX 64 /* barriers, events and counters of one scenario, each */

enum target_prot {
	TARGET_PROT_READ = 1,
	TARGET_PROT_WRITE = 2,
	TARGET_PROT_EXEC = 4,
};

enum target_map {
	TARGET_MAP_PRIVATE = 0,
	TARGET_MAP_NORESERVE = 1,
	TARGET_MAP_SHARED = 2, /* a file, or memory shared with children */
	TARGET_MAP_LOCKED = 4,
	TARGET_MAP_POPULATE = 8,
};

enum target_mremap {
	TARGET_MREMAP_MAYMOVE = 1,
	TARGET_MREMAP_FIXED = 2,
};

enum target_mlock {
	TARGET_MLOCK_ONFAULT = 1, /* mlock2() */
};

enum target_mlockall {
	TARGET_MCL_CURRENT = 1,
	TARGET_MCL_FUTURE = 2,
	TARGET_MCL_ONFAULT = 4,
};

enum target_advice {
	TARGET_MADV_NORMAL,
	TARGET_MADV_DONTNEED,
	TARGET_MADV_FREE,
	TARGET_MADV_WILLNEED,
	TARGET_MADV_RANDOM,
	TARGET_MADV_SEQUENTIAL,
	TARGET_MADV_HUGEPAGE,
	TARGET_MADV_NOHUGEPAGE,
	TARGET_MADV_COLD,
	TARGET_MADV_PAGEOUT,
};

enum target_fadvice {
	TARGET_FADV_NORMAL,
	TARGET_FADV_RANDOM,
	TARGET_FADV_SEQUENTIAL,
	TARGET_FADV_WILLNEED,
	TARGET_FADV_DONTNEED,
};

enum target_mempolicy {
	TARGET_MPOL_DEFAULT,
	TARGET_MPOL_PREFERRED,
	TARGET_MPOL_BIND,
	TARGET_MPOL_INTERLEAVE,
	TARGET_MPOL_LOCAL,
	TARGET_MPOL_WEIGHTED_INTERLEAVE,
};

/* What spawn() makes of the task that calls it. */
enum target_spawn {
	TARGET_FORK,   /* a process with a copy of its memory, as after fork() */
	TARGET_THREAD, /* a thread that shares its memory */
	TARGET_EXEC,   /* a process with none, as after vfork() and execve() */
};

/* How a range is accessed; every page of it once, in address order unless random. */
enum target_access {
	TARGET_READ,  /* read one word per page */
	TARGET_TOUCH, /* write one word per page */
	TARGET_FILL,  /* write every byte */
	TARGET_SCAN,  /* read every byte */
};

/* "knob = value" as the scenario or the command line gave it, and where it came from. */
struct target_setting {
	char name[TARGET_NAME_MAX];
	char value[TARGET_NAME_MAX];
	char origin[128]; /* "scenarios/x.lua:12", "--set", "variant lazy" */
};

/* nr files of one kind that exist when the run begins; numbered on from those of the one before. */
struct target_files {
	char name[TARGET_NAME_MAX];
	u32 nr;
	u64 size_bytes;
	bool sparse; /* all hole: reads as zeros, and no block of the disk is used */
	bool shm;    /* on a tmpfs: shared memory, empty */
	u32 disk;    /* 1 + its number in hw->disk[]; 0: the first that holds files */
};

/* nr tasks that run the function of one name; each gets its index 0 .. nr - 1. */
struct target_group {
	char name[TARGET_NAME_MAX]; /* of the Lua function, and of the tasks */
	u32 nr;
	u64 start_ns;   /* when the first starts */
	u64 stagger_ns; /* each later one starts this much after the one before */
	u64 jitter_ns;  /* and up to this much later, seeded */
	s32 speed_bp;   /* spread of the tasks' own speed of user code, parts of 10,000, seeded */
	s32 oom_score_adj;
	u64 memlock_bytes; /* RLIMIT_MEMLOCK, without the privilege to exceed it ... */
	bool has_memlock;  /* ... if this is set; else there is no limit */
	bool background; /* the run does not wait for it; it is ended when the others have ended */
};

/* What a zone has for the tasks when they begin: free pages, and what reclaim gets without I/O. */
struct target_zone {
	char name[16]; /* "DMA32" */
	u32 node;
	u64 nr_pages;
};

/*
 * Memory of a host that was limited by ballast, as its simulated twin needs it: the twin is this
 * host with the same pool of huge pages, not a machine with less RAM.
 */
struct target_memory {
	u64 ballast_bytes;
	u32 nr_zones; /* 0: nothing is known but the ballast */
	struct target_zone zone[TARGET_ZONES_MAX];
};

struct target_request {
	const char *scenario; /* path, for messages */
	const char *variant;
	u64 seed;
	const struct hw_machine *hw;         /* the profile's machine, with the scenario's sizes */
	const char *kernel;                  /* preset: "4.0", "6.18"; the host ignores it */
	u64 ballast_bytes;                   /* sim: what a pool of huge pages takes first */
	const struct target_memory *twin_of; /* sim: what a run of the host had instead; or NULL */
	u64 ram_bytes; /* what the host is to be limited to; 0: leave it alone */
	u64 swap_bytes;
	char swap_kind[TARGET_NAME_MAX];  /* "disk", "zram" */
	char limit_kind[TARGET_NAME_MAX]; /* host: "ballast" or "memcg" */
	u32 nr_settings;
	const struct target_setting *setting; /* later ones win */
	u32 nr_groups;
	const struct target_group *group;
	u32 nr_files; /* kinds */
	const struct target_files *files;
	u32 nr_barriers; /* their sizes are in barrier_size */
	u32 barrier_size[TARGET_SYNC_MAX];
	u32 nr_events;
	u32 nr_counters;
	u64 max_ns; /* a run longer than this is broken off: outcome -ETIME */
	bool check; /* content tags, audits */
	bool trace;
	bool series;        /* sim: keep time series */
	u64 series_from_ns; /* and only of this part of the run; to 0: to its end */
	u64 series_to_ns;
	bool heat;         /* sim: and who touched what when */
	u32 nr_slices;     /* sim: for a trace; 0: none */
	u64 trace_from_ns; /* and only of this part of the run; to 0: to its end */
	u64 trace_to_ns;
	struct sim_watch
		*watch; /* sim: who is told of every event (cli/sim_target.h); NULL: nobody */

	/* Runs one task; called in its own context. Returns 0, or a negative errno with the text of
	 * the error in @err (TARGET_ERROR_MAX bytes): the run is broken off and reports it. */
	int (*body)(void *program, struct target_task *t, char *err);

	/* The line of the file at which @t is ("x.lua:12"); while no task runs. False: at none. */
	bool (*line)(void *program, const struct target_task *t, char *buf, size_t n);
	void *program;
};

/* What every target's task begins with; the target embeds it. */
struct target_task {
	struct target *target;
	const char *function; /* the group's name, or what spawn() was given */
	u32 index;
	u32 nr;     /* how many the group has */
	s64 arg[4]; /* what spawn() was given */
	u64 seed;   /* of this task's math.random */

	/* While the body waits at a barrier or for an event, where and for which; else empty. */
	char waits_for[TARGET_WAITS_MAX];
};

struct target_counter {
	char name[48]; /* as in /proc/vmstat */
	s64 value;     /* end minus begin for events, the value at the end for nr_ items */
};

struct target_result {
	/* Times and events are of the part that was measured: see start_measuring(). */
	u64 elapsed_ns;
	u64 user_ns; /* sum over tasks, as wait4() of their parent would report */
	u64 sys_ns;
	u32 nr_counters;
	u32 nr_tasks;
	u32 nr_oom_kills;
	u32 nr_failed;               /* tasks that ended by an error of their own */
	struct target_memory memory; /* host: what there was for the tasks */
	struct target_counter counter[TARGET_COUNTERS_MAX];
	char error[TARGET_ERROR_MAX]; /* why the run broke, if it did */
	char notes[4096];             /* one a line: what is unusual about this run or host */
};

/*
 * ---- what a seed decides, alike on every target ----
 *
 * Streams of lib/random.h. A task of a group is the object (group, index).
 */
enum {
	TARGET_STREAM_START = 0x73740001,
	TARGET_STREAM_SPEED,
	TARGET_STREAM_LUA,
};

static inline u64 target_object(u32 group, u32 index)
{
	return (u64)group << 32 | index;
}

/* When a task starts, after the beginning of the run. */
static inline u64 target_start_ns(const struct target_request *req, u32 group, u32 index)
{
	const struct target_group *g = &req->group[group];
	u64 object = target_object(group, index);
	u64 start = g->start_ns + index * g->stagger_ns;

	if (g->jitter_ns)
		start += rand_hash(req->seed, TARGET_STREAM_START, object, 0) % g->jitter_ns;
	return start;
}

/* How long its user code takes, in parts of 10,000 of what it would take at the usual speed. */
static inline u32 target_slowness_bp(const struct target_request *req, u32 group, u32 index)
{
	s64 spread = req->group[group].speed_bp;
	u64 r = rand_hash(req->seed, TARGET_STREAM_SPEED, target_object(group, index), 0);

	if (spread <= 0)
		return 10000;
	return (u32)max((s64)10000 + (s64)(r % (2 * (u64)spread + 1)) - spread, (s64)1);
}

/* Of its math.random; and of that of the @n-th task that a task with @seed has spawned. */
static inline u64 target_task_seed(const struct target_request *req, u32 group, u32 index)
{
	return rand_hash(req->seed, TARGET_STREAM_LUA, target_object(group, index), 0);
}

static inline u64 target_child_seed(u64 seed, u32 n)
{
	return rand_hash(seed, TARGET_STREAM_LUA, 0, n + 1);
}

struct target_ops {
	const char *name; /* "sim", "host" */

	/* Builds what @req asks for. On failure nothing is left behind, and @err says what is
	 * missing: -EPERM/-EOPNOTSUPP (exit 3) if this host cannot, -EINVAL (exit 2) if nothing can. */
	int (*open)(const struct target_request *req, struct target **out, char *err);

	/* Runs all groups to their end. 0 even if tasks were killed: that is an outcome. */
	int (*run)(struct target *t, struct target_result *res);

	/* Writes vmstat, zoneinfo, meminfo, buddyinfo of the end of the run into @dir. */
	int (*write_proc)(struct target *t, const char *dir, char *err);

	/* Undoes everything. */
	void (*close)(struct target *t);

	/* The rest is called by a body, in its task. */

	/* Maps @len bytes of zeroed anonymous memory; the address goes to *@va. */
	int (*mmap)(struct target_task *t, u64 len, int prot, int flags, u64 *va);
	int (*munmap)(struct target_task *t, u64 va, u64 len);
	int (*mprotect)(struct target_task *t, u64 va, u64 len, int prot);
	/* To *@new if TARGET_MREMAP_FIXED; where it is then goes there. */
	int (*mremap)(struct target_task *t, u64 va, u64 old_len, u64 new_len, int flags, u64 *new);
	int (*brk)(struct target_task *t, s64 delta, u64 *end);
	int (*madvise)(struct target_task *t, u64 va, u64 len, enum target_advice advice);
	/* The task's own policy, and that of a range. @nodes: a bit per node. */
	int (*set_mempolicy)(struct target_task *t, enum target_mempolicy mode, u64 nodes);
	int (*mbind)(struct target_task *t, u64 va, u64 len, enum target_mempolicy mode, u64 nodes);
	/* Its pages go to a node; a task's go from some nodes to others. *@left: how many are not there afterwards. */
	int (*move_pages)(struct target_task *t, u64 va, u64 len, u32 node, u64 *left);
	int (*migrate_pages)(struct target_task *t, u64 from, u64 to, u64 *left);
	/* Of bytes, not pages; munlock() as well. mlockall() with no flags is munlockall(). */
	int (*mlock)(struct target_task *t, u64 va, u64 len, int flags);
	int (*munlock)(struct target_task *t, u64 va, u64 len);
	int (*mlockall)(struct target_task *t, int flags);

	/*
	 * Files, by number in the order they are declared; @fd names an open one until it is closed. All
	 * NULL on a target that has none.
	 */
	int (*file_open)(struct target_task *t, u32 file, u32 *fd);
	int (*file_close)(struct target_task *t, u32 fd);
	int (*file_mmap)(struct target_task *t, u32 fd, u64 offset, u64 len, int prot, int flags,
	                 u64 *va);

	/* Bytes read or written go to *@done; an error only if there are none. */
	int (*file_read)(struct target_task *t, u32 fd, u64 offset, u64 len, u64 *done);
	int (*file_write)(struct target_task *t, u32 fd, u64 offset, u64 len, u64 *done);
	int (*file_fsync)(struct target_task *t, u32 fd);
	int (*file_truncate)(struct target_task *t, u32 fd, u64 size);
	int (*file_advise)(struct target_task *t, u32 fd, u64 offset, u64 len,
	                   enum target_fadvice advice);

	/* An empty file of this task's own, open; removed when it is closed, as a compiler's temporary. */
	int (*file_temporary)(struct target_task *t, u32 *fd);

	/* Writes everything that is dirty. */
	int (*sync)(struct target_task *t);

	/* Accesses each page of [va, va + len) once. @seed other than 0: in a seeded random order.
	 * -EFAULT where nothing is mapped or the protection forbids it. */
	int (*access)(struct target_task *t, u64 va, u64 len, enum target_access kind, u64 seed);

	/* A new task that runs @function with @arg. Its number goes to *@child. */
	int (*spawn)(struct target_task *t, enum target_spawn how, const char *function,
	             const s64 arg[4], u32 *child);
	int (*wait)(struct target_task *t, u32 child);

	int (*sleep)(struct target_task *t, u64 ns);
	int (*compute)(struct target_task *t, u64 ns); /* user code that touches no memory */
	int (*barrier)(struct target_task *t, u32 barrier);
	int (*event_set)(struct target_task *t, u32 event);
	int (*event_wait)(struct target_task *t, u32 event);
	int (*counter_add)(struct target_task *t, u32 counter, s64 delta, s64 *value);
	u64 (*now)(struct target_task *t);

	/* Turns all swap off. NULL on a target whose swap is not the scenario's to turn off. */
	int (*swapoff)(struct target_task *t);
	/* Writes @what (1 page cache, 2 slab, 3 both) to vm.drop_caches. -EPERM if the host forbids it. */
	int (*drop_caches)(struct target_task *t, u32 what);
	/* A task has measured something that took @ns: adds to the run's metric "time". */
	int (*record_time)(struct target_task *t, u64 ns);
	/* What came before was for warming up: times, counters and latencies start again here. */
	int (*start_measuring)(struct target_task *t);
};

#endif
