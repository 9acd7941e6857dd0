/*
 * Whole machines under random operations.
 *
 * Aim: whatever tasks do, in whatever order, the machine's invariants hold and nothing is lost.
 * Method: tiny machines (1 to 4 CPUs, sometimes 16; 12 to 40 MiB on 1 to 4 nodes; swap on each kind
 * of disk, on two, or none; both presets, random knobs; sometimes failing allocations and disks, and
 * ties between CPUs broken by the seed), a few tasks and threads that map, fill, read, advise, protect,
 * fork, wait and unmap at random (workers.h). Contents are tagged and every read is checked by the
 * simulation; at the end the whole machine is audited, and everything must have been given back
 * (leaks.h). Some cases run twice, and must end at the same time with the same counters.
 *
 * A case is a function of its seed alone. Cases that once failed are named below. More of them:
 *
 *   QUIRE_CASES=2000 SEED=7 make test T=random_ops      2,000 cases of another series
 *   QUIRE_CASE=0x2a make test T=random_ops              one case
 *   QUIRE_CASE=0x2a QUIRE_CASES=100 QUIRE_VERBOSE=1 ... that and the 99 seeds after it, described
 *   QUIRE_KNOBS="lru.per=node swap.slots=3.12" ...      these values in every case
 */
#include "tests/test.h"

#include <sys/time.h>

#include "sim/sim.h"
#include "tests/hw_util.h"
#include "tests/machine/leaks.h"
#include "tests/machine/workers.h"

#define STREAM_CASE 1
#define STREAM_KNOB 3 /* 2, 4: workers.h */
#define STREAM_CASE_FILES 5
#define CASES_DEFAULT 60
#define CASE_CPU_SECONDS 60       /* of the host: nothing runs that long unless it runs for ever */
#define CASE_MAX_NS 3000000000000 /* a disk that fails and seeks is slow */
#define VICTIM_MAX_NS 10000000000 /* how long the OOM killer may wait for its victim */
#define TWICE_EVERY 8             /* cases that are run again */

/* Everything that a seed decides. */
struct random_case {
	u64 seed;
	const char *preset;
	const char *forced; /* knobs that the seed does not decide */
	struct knobs knobs;
	struct hw_machine *hw;
	struct sim_options opt;
	struct plan plan;
	u32 nr_tasks;
	u64 file_size[FILES_MAX];
	bool file_sparse[FILES_MAX];
	u32 other_disk; /* 1 + the number of a second disk for files; 0: there is none */
};

/* What must be the same the second time. */
struct outcome {
	u64 elapsed_ns;
	u64 digest; /* of counters and CPU times */
	u32 nr_killed;
	u32 nr_workers;
};

/* The case that runs, for whoever has to describe it after a crash. */
static const struct random_case *running;

/* ---- what a case is ---- */

static bool chance(struct rand_stream *r, u32 percent)
{
	return rand_below(r, 100) < percent;
}

static void random_disk(struct hw_machine *hw, struct rand_stream *r)
{
	u64 bytes = (rand_below(r, 2) ? 64 : 1 + rand_below(r, 8)) << 20;
	struct hw_disk *d;

	switch (rand_below(r, 3)) {
	case 0:
		d = hw_add_flash(hw, bytes);
		break;
	case 1:
		d = hw_add_rotating(hw, bytes);
		break;
	default:
		d = hw_add_zram(hw, bytes);
		break;
	}
	if (chance(r, 10))
		d->error_ppm = 1 + (u32)rand_below(r, 20000);
	if (d->nr_requests && chance(r, 25))
		d->nr_requests = 4 + (u32)rand_below(r, 16);
}

static struct hw_machine *random_machine(struct rand_stream *r)
{
	u32 nr_cpus = chance(r, 10) ? 5 + (u32)rand_below(r, 12) : 1 + (u32)rand_below(r, 4);
	u32 nr_nodes = 1 + (u32)rand_below(r, chance(r, 10) ? 4 : 2);
	struct hw_machine *hw = hw_make(nr_cpus, nr_nodes, 3072 + rand_below(r, 7168));
	u32 nr_disks = (u32)rand_below(r, 8);

	nr_disks = nr_disks < 2 ? 0 : nr_disks < 7 ? 1 : 2;
	while (nr_disks--)
		random_disk(hw, r);
	hw->queued_spinlocks = rand_below(r, 2);
	hw->seed_jitter_bp = chance(r, 25) ? 2000 : 0;
	if (chance(r, 50))
		hw->range[0].nr_reserved = 1 + rand_below(r, 200);
	return hw;
}

/* Numbers worth trying; most of the others only make another machine of it. */
static const struct {
	const char *name;
	u64 min;
	u64 max;
} number_knobs[] = {
	{"vm.swappiness", 0, 200},
	{"fs.max_folio_order", 0, 9},
	{"vm.min_free_kbytes", 64, 2048},
	{"vm.watermark_scale_factor", 1, 1000},
	{"vm.watermark_boost_factor", 0, 30000},
	{"vm.page-cluster", 0, 6},
	{"vm.percpu_pagelist_high_fraction", 8, 100},
	{"vm.stat_interval", 1, 5},
	{"lru.batch", 1, 31},
	{"vm.dirty_bytes", 8 << 12, 1 << 20},
	{"vm.dirty_background_bytes", 1, 1 << 19},
	{"vm.dirty_writeback_centisecs", 0, 20},
	{"vm.dirty_expire_centisecs", 0, 30},
	{"khugepaged.scan_sleep_millisecs", 10, 100},
	{"khugepaged.alloc_sleep_millisecs", 1, 50},
	{"khugepaged.max_ptes_none", 0, 511},
	{"khugepaged.max_ptes_swap", 0, 511},
	{"khugepaged.max_ptes_shared", 0, 511},
};

static void set_knob(struct knobs *k, const char *name, const char *value)
{
	char err[256];

	if (knob_set(k, name, value, err, sizeof(err)))
		panic("%s", err);
}

/* A knob's own numbers, so that another knob in the table does not change the cases there are. */
static void knob_stream(struct rand_stream *r, u64 seed, const char *name)
{
	u64 object = 0;

	while (*name)
		object = rand_mix(object ^ (unsigned char)*name++) + RAND_GAMMA;
	rand_init(r, seed, STREAM_KNOB, object);
}

/* Values that change how the machine works, some of them other than the preset's. */
static void random_knobs(struct knobs *k, u64 seed)
{
	struct rand_stream r;

	for (u32 i = 0; i < knob_count(); i++) {
		const struct knob_info *info = knob_at(i);

		knob_stream(&r, seed, info->name);
		if (info->nr_values && chance(&r, 25))
			set_knob(k, info->name, info->value[rand_below(&r, info->nr_values)]);
	}
	for (u32 i = 0; i < ARRAY_SIZE(number_knobs); i++) {
		u64 range = number_knobs[i].max - number_knobs[i].min + 1;
		char value[24];

		knob_stream(&r, seed, number_knobs[i].name);
		snprintf(value, sizeof(value), "%lu", number_knobs[i].min + rand_below(&r, range));
		if (chance(&r, 20))
			set_knob(k, number_knobs[i].name, value);
	}
}

static void random_failures(struct random_case *c, struct rand_stream *r)
{
	for (u32 i = 0; i <= WORLD_FAIL_TABLE; i++) {
		c->opt.fail_every[i] = chance(r, 40) ? 2 + (u32)rand_below(r, 500) : 0;
		c->plan.fails |= c->opt.fail_every[i] != 0;
	}
}

/* "name=value name=value": these, whatever the seed says. NULL: none. */
static void force_knobs(struct knobs *k, const char *list)
{
	char text[512];
	char *next = text;
	char *word;

	snprintf(text, sizeof(text), "%s", list ? list : "");
	while ((word = strsep(&next, " "))) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value = '\0';
		set_knob(k, word, value + 1);
	}
}

/* Half of the cases have files, on a flash or rotating disk that may fail, or be too small. */
static void random_files(struct random_case *c)
{
	struct rand_stream r;
	struct hw_disk *d;
	u64 bytes;

	rand_init(&r, c->seed, STREAM_CASE_FILES, 0);
	if (chance(&r, 50))
		return;
	bytes = (chance(&r, 20) ? 2 : 64) << 20;
	d = chance(&r, 70) ? hw_add_flash(c->hw, bytes) : hw_add_rotating(c->hw, bytes);
	d->files = true;
	if (chance(&r, 15))
		d->error_ppm = 1 + (u32)rand_below(&r, 20000);
	c->plan.nr_files = 1 + (u32)rand_below(&r, FILES_MAX);
	c->plan.file_pages = 16 + rand_below(&r, 2500);
	for (u32 i = 0; i < c->plan.nr_files; i++) {
		c->file_size[i] = rand_below(&r, c->plan.file_pages * PAGE_SIZE);
		c->file_sparse[i] = bytes < 16 << 20 || chance(&r, 40);
	}
	/* A third of them on a slow disk of their own. */
	if (chance(&r, 30)) {
		d = hw_add_rotating(c->hw, 64 << 20);
		d->files = true;
		c->other_disk = c->hw->nr_disks;
	}
}

/*
 * Whoever stores to a folio larger than the dirty limit faults for ever (test_large_folios.c), as in Linux. Files of
 * such folios are not for machines where they alone may be more than vm.dirty_ratio allows, either.
 */
static void dirty_limit_above_folios(struct knobs *k)
{
	if (k->max_folio_order >= 5 || k->dirty_bytes)
		k->dirty_bytes = max(k->dirty_bytes, 4 * PAGE_SIZE << k->max_folio_order);
}

static void case_init(struct random_case *c, u64 seed, const char *forced, bool files)
{
	struct rand_stream r;

	rand_init(&r, seed, STREAM_CASE, 0);
	*c = (struct random_case){
		.seed = seed, .preset = rand_below(&r, 2) ? "6.18" : "4.0", .forced = forced};
	c->hw = random_machine(&r);
	BUG_ON(knobs_preset(&c->knobs, c->preset));
	if (chance(&r, 50))
		random_knobs(&c->knobs, seed);
	force_knobs(&c->knobs, forced);
	dirty_limit_above_folios(&c->knobs);
	c->opt = (struct sim_options){
		.seed = seed,
		.check = true,
		.max_ns = CASE_MAX_NS,
		.nr_trace_max = 1000,
	};
	c->opt.explore = rand_below(&r, 2);
	c->opt.tracing = chance(&r, 20);
	c->plan.seed = seed;
	c->plan.max_pages = 16 + rand_below(&r, 3000);
	c->plan.nr_ops = 30 + (u32)rand_below(&r, 120);
	c->plan.threads = rand_below(&r, 2);
	c->plan.locks = rand_hash(seed, STREAM_LOCK, 0, 0) & 1;
	c->plan.spaces = rand_hash(seed, STREAM_SPACE, 0, 0) & 1;
	if (chance(&r, 10))
		random_failures(c, &r);
	c->nr_tasks = 1 + (u32)rand_below(&r, 5);
	if (files)
		random_files(c);
}

static void case_describe(const struct random_case *c, FILE *f)
{
	static const char *const kind[] = {"rotating", "flash", "RAM"};
	static const char *const fail[] = {"pages", "swap slots", "radix nodes", "anon_vmas",
	                                   "tables"};
	struct knobs preset;
	u64 nr_pages = 0;

	for (u32 i = 0; i < c->hw->nr_ranges; i++)
		nr_pages += c->hw->range[i].nr_pages;
	fprintf(f, "case 0x%lx: %s, %u CPUs, %u nodes, %lu pages", c->seed, c->preset,
	        c->hw->nr_cpus, c->hw->nr_nodes, nr_pages);
	for (u32 i = 0; i < c->hw->nr_disks; i++)
		fprintf(f, ", %s on %s of %lu MiB (%u errors a million)",
		        c->hw->disk[i].files ? "files" : "swap", kind[c->hw->disk[i].kind],
		        c->hw->disk[i].size_bytes >> 20, c->hw->disk[i].error_ppm);
	if (c->plan.nr_files)
		fprintf(f, "; %u files of up to %lu pages", c->plan.nr_files, c->plan.file_pages);
	fprintf(f, "; %u tasks%s%s of %u operations on up to %lu pages%s%s", c->nr_tasks,
	        c->plan.threads ? " with threads" : "",
	        c->plan.locks    ? " and locks"
	        : c->plan.spaces ? " and moves"
	                         : "",
	        c->plan.nr_ops, c->plan.max_pages, c->opt.explore ? "; explores" : "",
	        c->opt.tracing ? "; traced" : "");
	for (u32 i = 0; i < ARRAY_SIZE(fail); i++)
		if (c->opt.fail_every[i])
			fprintf(f, "; one in %u %s fails", c->opt.fail_every[i], fail[i]);
	fputs(";", f);
	BUG_ON(knobs_preset(&preset, c->preset));
	for (u32 i = 0; i < knob_count(); i++) {
		char value[64], usual[64];

		knob_get(&c->knobs, knob_at(i), value, sizeof(value));
		knob_get(&preset, knob_at(i), usual, sizeof(usual));
		if (strcmp(value, usual))
			fprintf(f, " %s=%s", knob_at(i)->name, value);
	}
	fputc('\n', f);
}

/* ---- running one ---- */

/* kill -9 of all but ourselves. Each wake-up is an order point, after which the list may be another. */
static void kill_everybody(struct plan *p, const struct task *self)
{
	struct task *t;

again:
	list_for_each_entry (t, &p->m->tasks, tasks) {
		if (t == self || t->killed || t->w.state == WORLD_TASK_NEW)
			continue;
		t->killed = true;
		world_wake_signal(&t->w);
		goto again;
	}
}

/*
 * Kernels without a reaper may hang: the OOM killer waits for a victim that waits for a lock, whose holder asks for a
 * page, and asks again for as long as nobody else is killed. That was so in Linux to 4.5, and it takes an
 * administrator to get out of it. This one looks on for a while.
 */
static void mind_oom_victim(struct plan *p, const struct task *self, const struct task **victim,
                            u64 *since)
{
	const struct task *now = machine_oom_victim(p->m);

	if (now != *victim)
		*since = world_now();
	*victim = now;
	if (now && world_now() - *since > VICTIM_MAX_NS)
		kill_everybody(p, self);
}

/* Ends when everything else has, and all that was under way. Its own sleeps are the machine's last. */
static void janitor_main(struct task *t, void *arg)
{
	const struct task *victim = NULL;
	struct plan *p = arg;
	u64 since = 0;

	world_syscall_enter();
	do {
		world_sleep(100000000);
		mind_oom_victim(p, t, &victim, &since);
	} while (p->nr_running || !machine_is_quiet(p->m));
	world_syscall_exit();
	/* Removing a file takes its pages, blocks and shadows with it. */
	for (u32 i = 0; i < p->nr_files; i++)
		do_unlink(p->m, p->ino[i]);
	world_syscall_enter();
	while (!machine_is_quiet(p->m))
		world_sleep(100000000);
	world_syscall_exit();
}

static void start_tasks(struct random_case *c)
{
	struct plan *p = &c->plan;

	for (u32 i = 0; i <= c->nr_tasks; i++) {
		struct task *t;

		if (i < c->nr_tasks)
			t = task_create(p->m, "worker", NULL, worker_main,
			                worker_new(p, NULL, false));
		else
			t = task_create(p->m, "janitor", NULL, janitor_main, p);
		BUG_ON(!t);
		plan_start(p, t);
	}
	p->task[p->nr_tasks - 1]->oom_score_adj = -1000;
	p->nr_running -= 1; /* the janitor waits for the others */
}

static void digest_counter(const char *name, u64 value, bool event, void *arg)
{
	struct outcome *o = arg;

	(void)name;
	(void)event;
	o->digest = rand_mix(o->digest ^ value) + RAND_GAMMA;
}

static struct outcome case_outcome(const struct random_case *c, struct world *w)
{
	struct outcome o = {
		.elapsed_ns = sim_elapsed(w),
		.nr_killed = c->plan.nr_killed,
		.nr_workers = c->plan.nr_workers,
	};

	machine_counters(c->plan.m, digest_counter, &o);
	for (u32 i = 0; i < c->hw->nr_cpus; i++) {
		struct sim_cpu_times t = sim_cpu_times(w, i);

		VM_BUG_ON_MSG(t.busy_ns + t.idle_ns != o.elapsed_ns,
		              "CPU %u: %lu ns busy and %lu ns idle in %lu ns", i, t.busy_ns,
		              t.idle_ns, o.elapsed_ns);
		digest_counter("busy", t.busy_ns, false, &o);
	}
	return o;
}

static int create_file(struct random_case *c, u32 i, u32 *ino)
{
	struct machine *m = c->plan.m;

	if (c->other_disk && i % 3 == 2)
		return machine_file_create_on(m, c->other_disk - 1, "file", c->file_size[i],
		                              c->file_sparse[i], ino);
	return machine_file_create(m, "file", c->file_size[i], c->file_sparse[i], ino);
}

static struct outcome run_case(struct random_case *c)
{
	struct plan *p = &c->plan;
	struct outcome o;
	struct world *w;
	long frames_at_boot;
	char err[SIM_ERROR_MAX];
	int rc;

	w = sim_create(c->hw, &c->opt, err);
	if (!w)
		panic("%s", err);
	/* Booting is not what is tested. */
	memset(w->fail_every, 0, sizeof(w->fail_every));
	p->m = machine_create(w, &c->knobs, err, sizeof(err));
	if (!p->m)
		panic("%s", err);
	for (u32 i = 0; i < c->hw->nr_disks; i++)
		BUG_ON(!c->hw->disk[i].files && do_swapon(p->m, i, -1));
	frames_at_boot = frames_out(p->m);
	for (u32 i = 0; i < p->nr_files; i++)
		BUG_ON(p->spaces && i % 3 == 1
		               ? machine_shm_create(p->m, "shm", c->file_size[i], &p->ino[i])
		               : create_file(c, i, &p->ino[i]));
	start_tasks(c);
	memcpy(w->fail_every, c->opt.fail_every, sizeof(w->fail_every));
	rc = sim_run(w);
	VM_BUG_ON_MSG(rc, "sim_run() returned %d", rc);
	memset(w->fail_every, 0, sizeof(w->fail_every));
	o = case_outcome(c, w);
	while (p->nr_tasks)
		task_put(p->task[--p->nr_tasks]);
	machine_audit(p->m);
	xa_drop_stocks(p->m);
	nothing_is_left(p->m, frames_at_boot);
	machine_destroy(p->m);
	sim_destroy(w);
	return o;
}

/* @locks: if the seed says so, tasks lock memory, and use the rest of the calls (space_ops.h). */
static struct outcome run_seed(u64 seed, const char *forced, bool files, bool locks)
{
	static const struct itimerval limit = {.it_value.tv_sec = CASE_CPU_SECONDS};
	struct random_case c;
	struct outcome o;

	case_init(&c, seed, forced, files);
	c.plan.locks &= locks;
	c.plan.spaces &= locks;
	running = &c;
	if (getenv("QUIRE_VERBOSE"))
		case_describe(&c, stdout);
	fflush(stdout);
	setitimer(ITIMER_VIRTUAL, &limit, NULL);
	o = run_case(&c);
	if (getenv("QUIRE_VERBOSE"))
		printf("  %lu ns, %u tasks, %u killed, counters 0x%lx\n", o.elapsed_ns,
		       o.nr_workers, o.nr_killed, o.digest);
	setitimer(ITIMER_VIRTUAL, &(struct itimerval){.it_value.tv_sec = 0}, NULL);
	hw_free(c.hw);
	running = NULL;
	return o;
}

static void run_seed_twice(u64 seed, const char *forced)
{
	struct outcome a = run_seed(seed, forced, true, true);
	struct outcome b = run_seed(seed, forced, true, true);

	if (a.elapsed_ns != b.elapsed_ns || a.digest != b.digest || a.nr_killed != b.nr_killed ||
	    a.nr_workers != b.nr_workers)
		panic("case 0x%lx ends at %lu ns, with %u tasks and %u killed; the second time at "
		      "%lu ns, with %u and %u%s",
		      seed, a.elapsed_ns, a.nr_workers, a.nr_killed, b.elapsed_ns, b.nr_workers,
		      b.nr_killed, a.digest == b.digest ? "" : ", and with other counters");
}

/* ---- failing ---- */

/* Not safe for a signal; but it says most of the time what would not be said otherwise. */
static void on_signal(int sig)
{
	if (sig == SIGVTALRM) {
		fprintf(stderr, "the case has run for %d s of CPU time\n", CASE_CPU_SECONDS);
		if (running && world_self) {
			sim_dump(world_self->w, stderr);
			machine_dump(running->plan.m, stderr);
		}
	}
	if (running) {
		case_describe(running, stderr);
		fprintf(stderr, "again: QUIRE_CASE=0x%lx%s%s%s make test T=random_ops\n",
		        running->seed, running->forced ? " QUIRE_KNOBS='" : "",
		        running->forced ? running->forced : "", running->forced ? "'" : "");
	} else {
		test_print_again();
	}
	signal(SIGABRT, SIG_DFL);
	abort();
}

static void prepare(void)
{
	signal(SIGABRT, on_signal);
	signal(SIGSEGV, on_signal);
	signal(SIGVTALRM, on_signal);
}

/* ---- tests ---- */

TEST(random_operations_keep_every_invariant)
{
	const char *forced = getenv("QUIRE_KNOBS");
	const char *first = getenv("QUIRE_CASE");
	const char *nr = getenv("QUIRE_CASES");
	u64 cases = nr ? strtoull(nr, NULL, 0) : first ? 1 : CASES_DEFAULT;

	prepare();
	for (u64 i = 0; i < cases; i++) {
		u64 seed = first ? strtoull(first, NULL, 0) + i : rand_hash(test_seed(), 0, i, 0);

		if (i % TWICE_EVERY)
			run_seed(seed, forced, true, true);
		else
			run_seed_twice(seed, forced);
	}
}

/* Seeds that have failed. Whoever changes what a seed means makes ordinary cases of them. */
TEST(cases_that_once_failed_pass)
{
	static const struct {
		u64 seed;
		const char *knobs;
		bool files;
	} known[] = {
		/* do_wait() freed a child that was on its way off another CPU. */
		{0x4c5, NULL, false},
		/* A 4.0 victim without reserves went on reclaiming in today's slow path. */
		{0x93, "alloc.slowpath=6.18 oom.reserves=memdie", false},
		/* kswapd scanned a node's file list, which was empty, and was never done. */
		{0x45, "reclaim.kswapd=3.12 lru.per=node reclaim.scan_balance=recent", false},
		/* kswapd of 3.12 did not give up a node's lists, and throttled tasks waited on. */
		{0x8c,
	         "reclaim.kswapd=3.12 lru.per=node reclaim.scan_balance=cost "
	         "madvise.free_list=inactive_file",
	         false},
		/* They did not hear that kswapd of 6.18 had given up lists of zones. */
		{0x38, "reclaim.kswapd=6.18 lru.per=zone", false},
		/* A look at what the estimate would be was an order point, in a section that has none. */
		{0xa2dab1588b44a8de, NULL, true},
		/* move_pages() of a part of a huge page met a tail that was not filled in. */
		{0x580fdd270309152, NULL, true},
		/* A read that held a page while it was cut off, and the file grew again. */
		{0xa3831daae4d0e8cc, NULL, true},
		/* A write to a shared huge page copied tails that had been split off and freed. */
		{0x744c960498c47add, "thp.enabled=always vm.min_free_kbytes=256", false},
		/* Compaction moved a cached page that a full disk had left without contents. */
		{0x39987701251bcaf1,
	         "thp.enabled=always thp.defrag=always khugepaged.scan_sleep_millisecs=1 "
	         "khugepaged.alloc_sleep_millisecs=1",
	         true},
	};

	prepare();
	for (u32 i = 0; i < ARRAY_SIZE(known) && !getenv("QUIRE_CASE"); i++)
		run_seed(known[i].seed, known[i].knobs, known[i].files, false);
}

TEST_MAIN("random_ops")
