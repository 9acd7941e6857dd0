/*
 * What the memory manager needs from below, and nothing else.
 *
 * A *world* is a machine to run on: CPUs and tasks, a clock, locks, an MMU, the contents of frames,
 * disks. The core (core/) is written against this header alone and never learns which world it has:
 * the simulation (sim/), the null world of the core's unit tests (null.c), later a live process.
 * The rules below are for both sides.
 *
 * Two speeds. What happens several times per fault is inline here, on small structs that this header
 * publishes; all else goes through struct world_ops.
 *
 * TIME AND ORDER. Each CPU has a clock in ns; charge() moves it. A CPU may be ahead of others in
 * virtual time, so before a task touches state that other CPUs can see it passes an *order point*:
 * world_order() returns when no runnable CPU is behind. READ_ONCE, WRITE_ONCE, the atomic_ calls and
 * every lock call below contain one. Fields tagged (c) constant or (o) own-CPU need none, nor do
 * fields protected by a lock that is held: whoever looks at them takes the lock. Adding to a counter
 * that is only ever summed up (adds commute) is exempt.
 *
 * PREEMPTION. Core code is not preempted. A task leaves its CPU only in calls marked "may switch
 * tasks", or in user mode. At an order point other *CPUs* run, and shared state may have changed
 * when it returns; the task is still on the same CPU, and the CPU's own (o) state has changed only
 * by interrupts. Interrupts (IPIs, timers, I/O completions) run at order points, on the stack of
 * the interrupted task, unless world_irq_save() holds them off. They take only locks that are
 * always taken with interrupts off, and never switch tasks. Their time counts as system time of the
 * interrupted task, as with tick accounting.
 *
 * FAILURE. Nothing here allocates on behalf of a fault path. Calls that can fail say so.
 */
#ifndef WORLD_WORLD_H
#define WORLD_WORLD_H

#include "lib/types.h"
#include "lib/bug.h"
#include "lib/list.h"
#include "world/cost.h"
#include "world/hw.h"
#include "world/ledger.h"
#include "world/pte.h"

struct world;
struct world_cpu;
struct world_task;
struct world_io;

/* ---- cache lines ------------------------------------------------------------------------- */

/*
 * A cache line that several CPUs use: who wrote it last, and whether others have read it since.
 * Reading or writing one charges LINE_OWN, _CORE, _SOCKET or _REMOTE by the distance to the last
 * writer; reading one that another CPU of the socket has fetched since, _SOCKET: it is in the cache that
 * they share. A CPU remembers the versions of the last WORLD_LINES_SEEN lines it read (direct-mapped by
 * the line's number), so that re-reading an unchanged line is cheap.
 * A zeroed line works (it is nobody's); world_line_init() gives it a number of its own.
 */
struct world_line {
	u32 id;
	u32 version; /* goes up when a write finds that others have it, or had it: who has read it can tell */
	union {
		struct {
			u16 writer; /* CPU + 1; 0: nobody */
			u16 shared; /* read by other CPUs since: the bits of their sockets */
		};
		u32 holder; /* both: CPU + 1 if only that one has it */
	};
};

#define WORLD_LINES_SEEN 64

struct world_line_seen {
	u32 id;
	u32 version;
};

/* ---- CPUs -------------------------------------------------------------------------------- */

/* The part of a CPU that inline calls use. A world embeds it. */
struct world_cpu {
	u64 clock; /* ns */
	u64 limit; /* order: run on while clock < limit */
	u64 turn;  /* the same, for all but whoever looks on, who may make the limit lower */
	u64 ahead; /* the same for work on what is the task's own: world_own_until() */
	const u32 *cost;
	u64 *cost_count; /* of the ledger */
	struct ledger *ledger;
	struct world *w;
	struct world_task *task; /* the running one; the idle task if none */
	u64 span_start;
	struct ledger_node *span;
	u16 id;
	u16 node;
	u16 irq_off; /* depth of world_irq_save() */
	u16 nr_spin; /* spin locks held */
	u16 in_irq;
	bool need_resched;
	bool idle;
	u32 nr_touched;                /* lines, by world_touch() */
	u32 mark;                      /* id + 1: what it leaves in lines and locks that it has */
	const struct spinlock *unseen; /* at DEBUG_VM >= 1: spin_lock_unseen() */
	struct world_line_seen seen[WORLD_LINES_SEEN];
};

/* The CPU this host thread is running. The program's only thread-local. */
extern __thread struct world_cpu *world_self;

/* ---- tasks ------------------------------------------------------------------------------- */

enum world_task_kind {
	WORLD_TASK_USER,
	WORLD_TASK_KSWAPD,
	WORLD_TASK_KTHREAD,
	WORLD_TASK_IDLE,
};

enum world_task_state {
	WORLD_TASK_NEW,
	WORLD_TASK_RUNNING,         /* on a CPU or in a run queue */
	WORLD_TASK_INTERRUPTIBLE,   /* asleep; world_wake_signal() wakes it too */
	WORLD_TASK_UNINTERRUPTIBLE, /* asleep */
	WORLD_TASK_DEAD,
};

struct world_as;

/* Embedded first in the core's struct task. The world owns every field. */
struct world_task {
	u32 id; /* numbered from 1 in order of creation */
	enum world_task_kind kind;
	enum world_task_state state;
	u16 cpu;
	bool in_user;
	bool signal; /* a fatal signal is pending: interruptible sleeps end */
	s8 nice;
	u16 memstall; /* depth of psi_memstall_enter() */
	u32 span_depth;
	u64 utime_ns;
	u64 stime_ns;
	u64 mode_start;           /* clock at the last change of user/system */
	struct ledger_node *span; /* saved while not running */
	struct ledger_node *span_stack[LEDGER_DEPTH_MAX];
	u64 nr_switches;
	struct world_as *as;   /* NULL: a kernel task, which borrows the last one (lazy TLB) */
	const void *waits_for; /* for the deadlock report: a lock or queue, and its class */
	int waits_class;
	char name[24];
	void *engine; /* the world's own part */
};

enum world_stack {
	WORLD_STACK_KERNEL, /* 64 KiB */
	WORLD_STACK_LUA,    /* 256 KiB: a task whose user code is Lua */
};

/* ---- locks ------------------------------------------------------------------------------- */

/*
 * Spin locks, ticket or queued as the machine says. FIFO. Never switch tasks; the holder must not
 * switch tasks either (checked). A lock released at time t is held, for everyone, until t.
 * zeroed = unlocked, class 0; use spin_lock_init().
 */
struct spinlock {
	u64 free_at; /* when it was last released */
	u64 taken_at;
	u32 owner; /* CPU + 1; 0: free */
	u16 class; /* enum ledger_lock */
	u16 nr_waiters;
	struct world_line line;
	void *waiters; /* the world's queue */
};

/*
 * Reader/writer semaphore, as Linux's rw_semaphore: FIFO, a waiting writer holds off new readers.
 * down_ calls may switch tasks, trylocks and up_ calls do not.
 */
struct rw_semaphore {
	struct world_task *writer;
	s32 nr_readers;
	u16 class;
	u16 nr_waiters;
	bool is_mutex;
	u16 nr_spinners; /* of a mutex's waiters; the world's */
	u64 taken_at;
	u64 free_at;      /* when a writer last released it: held until then */
	u64 read_free_at; /* when the last reader did: held against writers until then */
	struct world_line line;
	struct list_head waiters; /* the world's */
};

/*
 * Not FIFO: who finds it free takes it, and who spins, which one does while the owner runs, comes
 * before who sleeps.
 */
struct mutex {
	struct rw_semaphore sem;
};

/* A queue of sleeping tasks. */
struct wait_queue_head {
	struct list_head list;
};

/* One task's place in a queue; on the sleeper's stack. */
struct wait_queue_entry {
	struct list_head list;
	struct world_task *task;
	u64 key; /* wake_up_key() wakes only equal keys; 0 matches all */
	bool exclusive;
	bool woken;
};

/* ---- timers, I/O --------------------------------------------------------------------------- */

/* A one-shot timer; @fn runs as an interrupt on the CPU that armed it. Embedded by its owner. */
struct world_timer {
	void (*fn)(struct world_timer *t);
	u64 expires; /* ns; 0: not armed */
	u16 cpu;
	void *engine;
	struct list_head list;
};

#define WORLD_IO_MAX_PAGES 32

/*
 * One request to a disk. Owned by the submitter until @done is called, which happens as an
 * interrupt on some CPU (inside submit for RAM disks and in the null world).
 */
struct world_io {
	u32 disk;
	bool write;
	bool sync; /* somebody waits for it: reads, and writes of fsync */
	u32 nr_pages;
	u64 sector; /* of 512 bytes, a multiple of 8 */
	u64 pfn[WORLD_IO_MAX_PAGES];
	void (*done)(struct world_io *io, int err); /* 0 or -EIO */
	void *priv;
	u64 submitted_at;
	struct list_head list; /* the world's */
	u64 engine[4];
};

/* ---- address spaces ------------------------------------------------------------------------ */

/* What a world keeps per address space. Embedded by the core's mm_struct. */
struct world_as {
	u32 root;      /* table number of the top-level table */
	u32 nr_loaded; /* CPUs in the mask */
	u64 trim_at;   /* lazy masks: from this time on a flush takes out who has left */
	u32 nr_tasks;  /* that use it; without one no CPU keeps translations */
	u64 table_gen; /* the core adds 1 whenever it frees a table: cached walks end */
	u64 cpumask[HW_MAX_CPUS / 64]; /* CPUs whose TLB may hold entries: Linux's mm_cpumask */
	/* With world.lazy_cpumask a CPU that has gone on to another address space is still in it. */
};

enum world_access {
	WORLD_READ,  /* one word per page */
	WORLD_WRITE, /* one word per page */
	WORLD_FILL,  /* writes all of the page */
	WORLD_SCAN,  /* reads all of the page */
};

/* What the core hands to the world at start-up. Each gets the machine given to world_attach(). */
struct world_upcalls {
	/*
	 * User code of the running task touched @va, and the tables do not allow it. The world has
	 * charged the trap and entered the span of the fault, which it leaves. 0: try again;
	 * negative errno: give up, world_user_access() returns it. May switch tasks.
	 */
	int (*fault)(void *machine, struct world_task *t, u64 va, enum world_access kind);

	/*
	 * Optional. As many faults of writes to @va and the pages after it, at most @max, as .fault() would all
	 * handle in the same way and time and as may be taken before anybody else has caught up, see
	 * world_own_until(); @gap_ns lie between one and the next. Returns how many; the last has just ended.
	 * 0: none, and nothing has changed. @single: they are to come by .fault() one by one, in the same
	 * times; returns 0.
	 */
	u32 (*fault_run)(void *machine, struct world_task *t, u64 va, u32 max, u64 gap_ns,
	                 bool single);

	/* Disk @disk left congestion for reads or writes. Interrupt context. */
	void (*uncongested)(void *machine, u32 disk, bool write);

	/* Prints what is known of @t and the locks it holds, for a deadlock report. */
	void (*describe_task)(void *machine, struct world_task *t, void *file);
};

/* ---- the table ------------------------------------------------------------------------------ */

/*
 * What happens to the contents of a file, for --check. A file is a number that is never used again;
 * @index is a page of it.
 */
enum world_file_event {
	WORLD_FILE_ON_DISK, /* it is there when the run begins: @arg is disk << 48 | block of 4 KiB */
	WORLD_FILE_READ, /* a program read the page from frame @arg: must be what was last written */
	WORLD_FILE_WRITE, /* a program wrote to part of it, in frame @arg */
	WORLD_FILE_FILL,  /* the same, all of it */
	WORLD_FILE_ZERO,  /* all pages from @index on read as zeros: the file was cut off there */
	WORLD_FILE_LOST,  /* the disk refused it: it may read as anything older */
	WORLD_FILE_GONE,  /* the file is removed */
};

struct world_ops {
	const char *name;
	void (*order)(struct world_cpu *c);
	void (*spin_lock)(struct spinlock *l);
	void (*spin_unlock)(struct spinlock *l);
	void (*irq_restore)(struct world_cpu *c);
	void (*down)(struct rw_semaphore *s, bool write);
	void (*up)(struct rw_semaphore *s, bool write);
	void (*task_init)(struct world *w, struct world_task *t, const char *name,
	                  enum world_task_kind kind, enum world_stack stack, void (*fn)(void *arg),
	                  void *arg);
	void (*task_start)(struct world_task *t, int cpu);
	void (*task_free)(struct world_task *t);
	void (*task_exit)(void);
	u64 (*schedule)(u64 timeout_ns);
	void (*cond_resched)(void);
	bool (*wake)(struct world_task *t);
	void (*memstall)(struct world_task *t);
	void (*user)(bool enter);
	void (*user_compute)(u64 ns);
	void (*use_as)(struct world_as *as);
	int (*user_access)(struct world_as *as, u64 va, u64 len, enum world_access kind, u64 seed);
	void (*tlb_flush)(struct world_as *as, u64 start, u64 end);
	void (*tlb_flush_mask)(const u64 *cpumask);
	void (*ipi)(const u64 *cpumask, void (*fn)(void *arg), void *arg);
	void (*timer_arm)(struct world_timer *t, u64 expires);
	void (*timer_cancel)(struct world_timer *t);
	void (*frame_clear)(u64 pfn);
	void (*frame_copy)(u64 to, u64 from);
	void (*frame_free)(u64 pfn);
	void (*contents_zero)(struct world_as *as, u64 start, u64 end, bool done);
	void (*contents_fork)(struct world_as *parent, struct world_as *child);
	void (*contents_map)(struct world_as *as, u64 start, u64 end, u64 file, u64 index,
	                     bool shared);
	void (*contents_copied)(struct world_as *as, u64 va, u64 pfn);
	void (*contents_move)(struct world_as *as, u64 from, u64 to, u64 len);
	void (*contents_file)(enum world_file_event event, u64 file, u64 index, u64 arg);
	int (*io_submit)(struct world_io *io);
	bool (*disk_congested)(struct world *w, u32 disk, bool write);
	void (*disk_discard)(struct world *w, u32 disk, u64 sector, u64 nr_sectors);
	void (*trace)(struct world_cpu *c, enum ledger_event e, u64 a, u64 b);
	void (*span)(struct world_cpu *c, bool enter); /* if ledger.slices: see there */
};

struct world {
	const struct world_ops *ops;
	const struct hw_machine *hw;
	const struct world_upcalls *up;
	void *machine;          /* the core's; given back in upcalls */
	void *tables;           /* where table 0 is */
	struct world_cpu **cpu; /* [hw->nr_cpus] */
	const u16 *socket_of;   /* [nr_cpus] */
	const u16 *core_of;     /* [nr_cpus] */
	struct ledger ledger;
	u64 seed;
	u64 ns_per_tick;
	u32 next_line;
	u32 next_task;
	u32 fail_every[8]; /* failure injection, by enum world_fail; 0: never */
	u64 fail_count[8];
	u8 lock_use[NR_LEDGER_LOCKS]; /* by class: enum world_lock_use, at DEBUG_VM >= 1 */
	const char *again; /* the command that repeats this run, for reports; NULL: not known */
	bool check;        /* contents are tagged and verified */
	bool tracing;
	bool lazy_cpumask; /* the core's choice, before the first task; a world may ignore it */
};

/* Called once by the core, before anything else: whom to call, and where its tables are. */
static inline void world_attach(struct world *w, const struct world_upcalls *up, void *machine,
                                void *tables)
{
	w->up = up;
	w->machine = machine;
	w->tables = tables;
}

/* ---- current CPU, time, charging ---------------------------------------------------------- */

static inline unsigned int world_cpu_id(void)
{
	return world_self->id;
}

static inline struct world_task *world_current(void)
{
	return world_self->task;
}

static inline u64 world_now(void)
{
	return world_self->clock;
}

/* Timer ticks since boot (Linux: jiffies). */
static inline u64 world_ticks(void)
{
	return world_self->clock / world_self->w->ns_per_tick;
}

static inline void charge_n(enum world_cost op, u64 n)
{
	struct world_cpu *c = world_self;

	c->clock += c->cost[op] * n;
	c->cost_count[op] += n;
}

static inline void __charge(struct world_cpu *c, enum world_cost op)
{
	c->clock += c->cost[op];
	c->cost_count[op] += 1;
}

/* Two operations at one store to the clock: the hot path charges dozens per page. */
static inline void __charge2(struct world_cpu *c, enum world_cost a, enum world_cost b)
{
	c->clock += c->cost[a] + c->cost[b];
	c->cost_count[a] += 1;
	c->cost_count[b] += 1;
}

/* @n of each. */
static inline void charge2_n(enum world_cost a, enum world_cost b, u64 n)
{
	struct world_cpu *c = world_self;

	c->clock += n * (c->cost[a] + c->cost[b]);
	c->cost_count[a] += n;
	c->cost_count[b] += n;
}

static inline void charge(enum world_cost op)
{
	__charge(world_self, op);
}

static inline void charge2(enum world_cost a, enum world_cost b)
{
	__charge2(world_self, a, b);
}

/* Counts @op; its time, which is returned, is for the caller to spend with charge_ns(). */
static inline u32 count_cost(enum world_cost op)
{
	struct world_cpu *c = world_self;

	c->cost_count[op] += 1;
	return c->cost[op];
}

/* Charges @ns that no named operation describes (a computed transfer time). */
static inline void charge_ns(u64 ns)
{
	world_self->clock += ns;
}

/*
 * A path is charged as a whole: its time, which is added up when the machine is created, in as few steps as
 * what happens on the way can bear, and its operations by one count instead of one each. @op is in it @nr
 * times; returns what that takes, ns.
 */
static inline u32 world_path_add(struct world *w, u32 path, enum world_cost op, u32 nr)
{
	w->ledger.path_nr[path][op] += (u8)nr;
	return w->hw->cost_ns[op] * nr;
}

/* Counts the path's operations; the caller moves the clock. */
static __always_inline void __count_path(struct world_cpu *c, u32 path)
{
	c->ledger->path_count[path] += 1;
}

/*
 * Order point: returns when no runnable CPU is behind this one, after running the interrupts that
 * are due. Never switches tasks. Loops without any other order point must call it.
 */
static inline void world_order(void)
{
	struct world_cpu *c = world_self;

	if (unlikely(c->clock >= c->limit))
		c->w->ops->order(c);
}

/*
 * Is nobody due before @ns from now, no other CPU and no interrupt? Then order points until then do nothing,
 * and it does not matter where they are.
 */
static inline bool world_alone_for(const struct world_cpu *c, u64 ns)
{
	return c->clock + ns < c->turn;
}

/*
 * Until when work on what is this CPU's or this task's alone needs no order point: others may be behind by as
 * much as when user code touches memory (docs/FIDELITY.md), but interrupts that are due have run, and nobody
 * is in a memory stall, who would look at other tasks' pages.
 */
static inline u64 world_own_until(const struct world_cpu *c)
{
	return max(c->turn, c->ahead);
}

#define READ_ONCE(x) (world_order(), *(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, val)                                                                         \
	do {                                                                                       \
		world_order();                                                                     \
		*(volatile __typeof__(x) *)&(x) = (val);                                           \
	} while (0)

/* ---- cache lines --------------------------------------------------------------------------- */

static inline void world_line_init(struct world *w, struct world_line *l)
{
	*l = (struct world_line){.id = ++w->next_line};
}

static inline enum world_cost world_distance(const struct world_cpu *c, unsigned int other)
{
	const struct world *w = c->w;

	if (other == c->id)
		return COST_LINE_OWN;
	if (w->socket_of[other] != w->socket_of[c->id])
		return COST_LINE_REMOTE;
	return w->core_of[other] == w->core_of[c->id] ? COST_LINE_CORE : COST_LINE_SOCKET;
}

/* Sockets from WORLD_LINE_SOCKETS - 1 on have one bit together, which says nothing about any of them. */
#define WORLD_LINE_SOCKETS 16

static inline u32 world_line_socket(const struct world_cpu *c)
{
	return min_t(u32, c->w->socket_of[c->id], WORLD_LINE_SOCKETS - 1);
}

/* Has no other CPU written @l since this one wrote or read it? Then reading it moves nothing. */
static inline bool world_line_is_here(const struct world_cpu *c, const struct world_line *l)
{
	const struct world_line_seen *seen = &c->seen[l->id % WORLD_LINES_SEEN];

	return l->writer == c->mark || !l->writer ||
	       (seen->id == l->id && seen->version == l->version);
}

/* Reads @l; what that costs is returned, and for the caller to charge. */
static inline enum world_cost __world_line_read(struct world_cpu *c, struct world_line *l)
{
	struct world_line_seen *seen = &c->seen[l->id % WORLD_LINES_SEEN];
	enum world_cost cost;
	u32 socket;

	if (world_line_is_here(c, l))
		return COST_LINE_OWN;
	socket = world_line_socket(c);
	cost = world_distance(c, l->writer - 1u);
	if (cost == COST_LINE_REMOTE && l->shared >> socket & 1 && socket < WORLD_LINE_SOCKETS - 1)
		cost = COST_LINE_SOCKET;
	seen->id = l->id;
	seen->version = l->version;
	l->shared |= (u16)(1u << socket);
	return cost;
}

static inline void world_line_read(struct world_line *l)
{
	struct world_cpu *c = world_self;

	__charge(c, __world_line_read(c, l));
}

/*
 * The same for one of many lines that are read in a loop whose addresses do not depend on what is read:
 * an out-of-order CPU has the next ones on their way before this one has come.
 */
static inline void world_line_read_next(struct world_line *l)
{
	struct world_cpu *c = world_self;
	enum world_cost cost = __world_line_read(c, l);

	if (cost == COST_LINE_REMOTE)
		cost = COST_LINE_REMOTE_MORE;
	else if (cost == COST_LINE_SOCKET)
		cost = COST_LINE_SOCKET_MORE;
	__charge(c, cost);
}

/* Writes @l; what that costs is returned, and for the caller to charge. */
static inline enum world_cost __world_line_write(const struct world_cpu *c, struct world_line *l)
{
	enum world_cost cost = COST_LINE_OWN;

	if (likely(l->holder == c->mark))
		return cost;
	l->version += 1;
	if (l->writer == c->mark)
		cost = COST_LINE_SOCKET; /* Others have copies: they must be told. Where is not kept. */
	else if (l->writer)
		cost = world_distance(c, l->writer - 1u);
	l->holder = c->mark;
	return cost;
}

static inline void world_line_write(struct world_line *l)
{
	struct world_cpu *c = world_self;

	__charge(c, __world_line_write(c, l));
}

/* ---- lines of kernel data --------------------------------------------------------------------- */

/*
 * Whether an object's lines are still in a cache when they are touched again depends on how many others
 * have been touched in between. Where that decides what an operation costs (walks of large trees), each
 * CPU counts the lines it touches that way, and each object remembers the count: the distance says which
 * level of cache would still hold it, at the sizes below. What another CPU touched is in the socket's.
 */
struct world_touch {
	u32 when; /* lines touched by then, modulo 2^32 */
	u16 cpu;  /* CPU + 1; 0: never */
};

#define WORLD_L1_LINES (32u * 1024 / 64)        /* 32 KiB */
#define WORLD_L2_LINES (256u * 1024 / 64)       /* 256 KiB */
#define WORLD_L3_LINES (20u * 1024 * 1024 / 64) /* 20 MiB */

static inline enum world_cost world_touch_level(u32 distance)
{
	if (likely(distance < WORLD_L1_LINES))
		return COST_TOUCH_L1;
	if (likely(distance < WORLD_L2_LINES))
		return COST_TOUCH_L2;
	return distance < WORLD_L3_LINES ? COST_TOUCH_L3 : COST_TOUCH_DRAM;
}

/* Touches the @nr lines of an object, of which this is the record; what that costs, for the caller to charge. */
static inline u32 __world_touch(struct world_touch *t, u32 nr)
{
	struct world_cpu *c = world_self;
	enum world_cost cost = world_touch_level(c->nr_touched - t->when);

	if (unlikely(t->cpu != c->mark)) {
		if (!t->cpu)
			cost = COST_TOUCH_DRAM;
		else if (cost != COST_TOUCH_DRAM)
			cost = COST_TOUCH_L3;
		t->cpu = (u16)c->mark;
	}
	c->nr_touched += nr;
	t->when = c->nr_touched;
	c->cost_count[cost] += nr;
	return c->cost[cost] * nr;
}

static inline void world_touch(struct world_touch *t, u32 nr)
{
	u32 ns = __world_touch(t, nr);

	charge_ns(ns);
}

/* ---- atomics ------------------------------------------------------------------------------- */

/*
 * Counters that CPUs share. A plain long in worlds where CPUs take turns. They contain the order
 * point; their line, if it matters, is charged by the caller with world_line_write().
 */
typedef struct {
	long v;
} atomic_long_t;

static inline long atomic_long_read(const atomic_long_t *a)
{
	world_order();
	return a->v;
}

static inline void atomic_long_set(atomic_long_t *a, long v)
{
	world_order();
	a->v = v;
}

/* Adds commute: no order point. */
static inline void atomic_long_add(long n, atomic_long_t *a)
{
	a->v += n;
}

static inline long atomic_long_add_return(long n, atomic_long_t *a)
{
	world_order();
	return a->v += n;
}

/* For counters read where order does not matter (reports, audits). */
static inline long atomic_long_peek(const atomic_long_t *a)
{
	return a->v;
}

/* ---- interrupts ---------------------------------------------------------------------------- */

/* Holds interrupts off on this CPU; nests. */
static inline void world_irq_save(void)
{
	world_self->irq_off += 1;
}

/* Lets them through again; those that are due run here. */
static inline void world_irq_restore(void)
{
	struct world_cpu *c = world_self;

	VM_BUG_ON(!c->irq_off);
	if (--c->irq_off == 0 && unlikely(c->clock >= c->limit))
		c->w->ops->irq_restore(c);
}

/* The same where nothing in between could have let any in, and so nobody held them off. */
static inline void world_irq_point(void)
{
	struct world_cpu *c = world_self;

	if (unlikely(c->clock >= c->limit) && !c->irq_off)
		c->w->ops->irq_restore(c);
}

static inline bool world_in_irq(void)
{
	return world_self->in_irq;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/*
 * Prepares @t (zeroed, embedded in the core's task) to run @fn(@arg), in user mode if its kind is
 * WORLD_TASK_USER. It runs after world_task_start(), on @cpu or, if negative, where the world's
 * scheduler puts it. A KTHREAD that is started on a CPU stays there, a KSWAPD on the CPU's node.
 * When @fn returns, or calls world_task_exit(), the task is dead: the world lets go of it before the
 * next task that was told of its end runs, and world_task_free() returns its stack.
 */
static inline void world_task_init(struct world *w, struct world_task *t, const char *name,
                                   enum world_task_kind kind, enum world_stack stack,
                                   void (*fn)(void *arg), void *arg)
{
	w->ops->task_init(w, t, name, kind, stack, fn, arg);
}

static inline void world_task_start(struct world *w, struct world_task *t, int cpu)
{
	w->ops->task_start(t, cpu);
}

static inline void world_task_free(struct world *w, struct world_task *t)
{
	w->ops->task_free(t);
}

static inline void __attribute__((noreturn)) world_task_exit(void)
{
	world_self->w->ops->task_exit();
	__builtin_unreachable();
}

/* Gives way if the scheduler wants the CPU for another task. May switch tasks. Order point. */
static inline void world_cond_resched(void)
{
	world_order();
	if (unlikely(world_self->need_resched))
		world_self->w->ops->cond_resched();
}

/* The task enters the kernel (system call) or returns to user mode; return may switch tasks. */
static inline void world_syscall_enter(void)
{
	world_self->w->ops->user(false);
	charge(COST_SYSCALL);
}

static inline void world_syscall_exit(void)
{
	world_self->w->ops->user(true);
}

/* User code that touches no memory runs for @ns. User mode only. May switch tasks. */
static inline void world_user_compute(u64 ns)
{
	world_self->w->ops->user_compute(ns);
}

/* ---- address spaces -------------------------------------------------------------------------- */

/* The running task's address space becomes @as (exec, fork, exit: NULL). */
static inline void world_use_as(struct world_as *as)
{
	world_self->w->ops->use_as(as);
}

/*
 * User code of the running task accesses every page of [@va, @va + @len) once: in address order,
 * or if @seed is not 0 in a seeded random order. The world translates by the core's tables, sets
 * accessed and dirty bits, and delivers faults. A task may run ahead of what other CPUs do to its
 * tables by one leaf table or 20 us, whichever comes first. 0, or the errno of a failed fault.
 * User mode only. May switch tasks.
 */
static inline int world_user_access(struct world_as *as, u64 va, u64 len, enum world_access kind,
                                    u64 seed)
{
	return world_self->w->ops->user_access(as, va, len, kind, seed);
}

/*
 * No CPU uses a stale translation of [@start, @end) of @as once this returns: flushes the own TLB,
 * and by IPI those of the other CPUs in its mask, and waits for them. More than
 * WORLD_TLB_CEILING pages flush all of it. Interrupts must be on if others have it loaded.
 */
#define WORLD_TLB_CEILING 33 /* Linux: tlb_single_page_flush_ceiling */

static inline void world_tlb_flush(struct world_as *as, u64 start, u64 end)
{
	if (unlikely(!as->nr_loaded))
		charge(COST_TLB_NOBODY);
	else
		world_self->w->ops->tlb_flush(as, start, end);
}

/*
 * The same for everything on the CPUs of @cpumask: the batched flush of reclaim (4.3). It does not say
 * whose translations, so with lazy masks it disturbs CPUs that have long left the address space.
 */
static inline void world_tlb_flush_mask(const u64 *cpumask)
{
	world_self->w->ops->tlb_flush_mask(cpumask);
}

/* Runs @fn(@arg) as an interrupt on each CPU of @cpumask but this one, and waits until all have. */
static inline void world_ipi(const u64 *cpumask, void (*fn)(void *arg), void *arg)
{
	world_self->w->ops->ipi(cpumask, fn, arg);
}

/* ---- timers ---------------------------------------------------------------------------------- */

/* Runs @t->fn once at @expires (ns of this CPU's clock), on this CPU. Re-arming moves it. */
static inline void world_timer_arm(struct world_timer *t, u64 expires)
{
	world_self->w->ops->timer_arm(t, expires);
}

static inline void world_timer_cancel(struct world_timer *t)
{
	if (t->expires)
		world_self->w->ops->timer_cancel(t);
}

/* ---- frames and disks -------------------------------------------------------------------------- */

/* Fills a frame with zeros; the caller charges PAGE_CLEAR. */
static inline void __world_frame_clear(u64 pfn)
{
	if (unlikely(world_self->w->check))
		world_self->w->ops->frame_clear(pfn);
}

/* The same, and charges it. */
static inline void world_frame_clear(u64 pfn)
{
	charge(COST_PAGE_CLEAR);
	__world_frame_clear(pfn);
}

/* Copies a frame; charges PAGE_COPY. */
static inline void world_frame_copy(u64 to, u64 from)
{
	charge(COST_PAGE_COPY);
	if (unlikely(world_self->w->check))
		world_self->w->ops->frame_copy(to, from);
}

/* The core has given the frame back: reading it before it is cleared, copied to or read into is a
 * bug, which the world reports under --check. */
static inline void world_frame_free(u64 pfn)
{
	if (unlikely(world_self->w->check))
		world_self->w->ops->frame_free(pfn);
}

/*
 * What user code may see in [@start, @end) of @as, for --check. From now on each page of it reads as
 * before or as zeros, until it is written again (MADV_FREE: that is all). With @done, pages that
 * have not been written since they were announced must read as zeros (munmap and MADV_DONTNEED:
 * one call when the pages are taken, one with @done when all are gone). Other threads may write at
 * any order point, so announce after the last one; where there are any, @done says nothing new.
 * [0, TASK_SIZE) with @done is the end of the address space.
 */
static inline void world_contents_zero(struct world_as *as, u64 start, u64 end, bool done)
{
	if (unlikely(world_self->w->check))
		world_self->w->ops->contents_zero(as, start, end, done);
}

/* @child begins with the contents of @parent; called when fork has copied its tables. */
static inline void world_contents_fork(struct world_as *parent, struct world_as *child)
{
	if (unlikely(world_self->w->check))
		world_self->w->ops->contents_fork(parent, child);
}

/*
 * [@start, @end) of @as shows @file from page @index on: what is stored there is the file's (@shared),
 * or the address space's own from its first store on. @file 0: nothing any more.
 */
static inline void world_contents_map(struct world_as *as, u64 start, u64 end, u64 file, u64 index,
                                      bool shared)
{
	if (unlikely(world_self->w->check))
		world_self->w->ops->contents_map(as, start, end, file, index, shared);
}

/* Page @va of a private mapping has its own copy now, in @pfn; the file no longer shows. */
static inline void world_contents_copied(struct world_as *as, u64 va, u64 pfn)
{
	if (unlikely(world_self->w->check))
		world_self->w->ops->contents_copied(as, va, pfn);
}

/* What [@from, @from + @len) showed, [@to, @to + @len), which shows nothing yet, shows now: mremap(). */
static inline void world_contents_move(struct world_as *as, u64 from, u64 to, u64 len)
{
	if (unlikely(world_self->w->check))
		world_self->w->ops->contents_move(as, from, to, len);
}

static inline void world_contents_file(enum world_file_event event, u64 file, u64 index, u64 arg)
{
	if (unlikely(world_self->w->check))
		world_self->w->ops->contents_file(event, file, index, arg);
}

/*
 * Submits @io. Returns 0, or -EAGAIN if it would have to wait for a request and the caller is an
 * interrupt. Waits (may switch tasks) while the disk's queue is full. @io->done may be called
 * before this returns.
 */
static inline int world_io_submit(struct world_io *io)
{
	return world_self->w->ops->io_submit(io);
}

/* Linux's bdi congestion: more than 7/8 of the queue's requests are in use. */
static inline bool world_disk_congested(struct world *w, u32 disk, bool write)
{
	world_order();
	return w->ops->disk_congested(w, disk, write);
}

/* The contents of these sectors will not be read again. */
static inline void world_disk_discard(struct world *w, u32 disk, u64 sector, u64 nr_sectors)
{
	w->ops->disk_discard(w, disk, sector, nr_sectors);
}

/* ---- failure injection, tracing ---------------------------------------------------------------- */

enum world_fail {
	WORLD_FAIL_PAGE_ALLOC,
	WORLD_FAIL_SWAP_SLOT,
	WORLD_FAIL_RADIX,
	WORLD_FAIL_ANON_VMA,
	WORLD_FAIL_TABLE,
};

/* Must this occurrence of @what fail? The n-th does, for each n that fail_every says. */
static inline bool world_should_fail(struct world *w, enum world_fail what)
{
	if (likely(!w->fail_every[what]))
		return false;
	return ++w->fail_count[what] % w->fail_every[what] == 0;
}

static inline void world_trace(enum ledger_event e, u64 a, u64 b)
{
	struct world_cpu *c = world_self;

	if (unlikely(c->w->tracing))
		c->w->ops->trace(c, e, a, b);
}

/* ---- spans ------------------------------------------------------------------------------------ */

static __always_inline void __span_to(struct world_cpu *c, struct ledger_node *node)
{
	c->span->ns += c->clock - c->span_start;
	c->span_start = c->clock;
	c->span = node;
}

/* Time from here on belongs to @span, under the present one. Pairs with span_exit(). */
static inline void span_enter(enum ledger_span span)
{
	struct world_cpu *c = world_self;
	struct world_task *t = c->task;
	struct ledger_node *node = ledger_child(c->ledger, c->span, span);

	VM_BUG_ON(t->span_depth >= LEDGER_DEPTH_MAX);
	t->span_stack[t->span_depth++] = c->span;
	__span_to(c, node);
	node->count += 1;
	if (unlikely(c->ledger->slices))
		c->w->ops->span(c, true);
}

static inline void span_exit(void)
{
	struct world_cpu *c = world_self;
	struct world_task *t = c->task;

	VM_BUG_ON(!t->span_depth);
	if (unlikely(c->ledger->slices))
		c->w->ops->span(c, false);
	__span_to(c, t->span_stack[--t->span_depth]);
}

static inline void world_latency(enum ledger_hist h, u64 since_ns)
{
	struct world_cpu *c = world_self;

	hist_add(&c->ledger->hist[h], c->clock - since_ns);
}

#include "world/lock.h" /* spin locks, semaphores, mutexes, wait queues */

#endif
