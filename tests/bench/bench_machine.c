/*
 * How fast Quire simulates: faults, resident touches, swapping, the start of large machines.
 *
 * Prints one JSON line per benchmark. Ledger, counters and strict order are on, contents and tracing
 * off, as in every real run; build with DEBUG_VM=0 (make bench does).
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/knobs.h"
#include "core/mm.h"
#include "core/mm_types.h"
#include "lib/sort.h"
#include "sim/sim.h"
#include "tests/bench/yardstick.h"
#include "tests/hw_util.h"
#include "world/world.h"

#define RUNS 5
#define GB(n) ((u64)(n) << 18) /* in pages */

/* CPU seconds of this process. */
static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* others may use the machine */
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Resident host memory, bytes. */
static double resident(void)
{
	unsigned long size = 0, rss = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%lu %lu", &size, &rss) != 2)
		rss = 0;
	if (f)
		fclose(f);
	return (double)rss * (double)sysconf(_SC_PAGESIZE);
}

static double resident_max(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return (double)ru.ru_maxrss * 1024;
}

struct bench {
	u64 pages; /* per task */
	u32 rounds;
	u64 random; /* seed of the order; 0: sequential */
	bool zap;
	struct machine *m;
	double start; /* of the measured part: set by the first task that gets there */
	double end;
	u32 ready;
	u32 nr_tasks;
	u32 file;
};

static void fault_zap(struct task *t, void *arg)
{
	struct bench *b = arg;
	u64 va;

	(void)t;
	BUG_ON(do_mmap(b->m, b->pages * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, 0, &va));
	for (u32 i = 0; i < b->rounds; i++) {
		BUG_ON(mm_access(b->m, va, b->pages * PAGE_SIZE, WORLD_WRITE, b->random));
		if (b->zap)
			BUG_ON(do_madvise(b->m, va, b->pages * PAGE_SIZE, MM_MADV_DONTNEED));
	}
}

static void touch(struct task *t, void *arg)
{
	struct bench *b = arg;
	u64 va;

	(void)t;
	BUG_ON(do_mmap(b->m, b->pages * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, 0, &va));
	BUG_ON(mm_access(b->m, va, b->pages * PAGE_SIZE, WORLD_WRITE, 0));
	b->start = seconds();
	for (u32 i = 0; i < b->rounds; i++)
		BUG_ON(mm_access(b->m, va, b->pages * PAGE_SIZE, WORLD_WRITE, b->random));
}

struct machine_run {
	struct hw_machine *hw;
	struct world *w;
	struct machine *m;
};

static void build_knobs(struct machine_run *r, struct hw_machine *hw, const struct knobs *knobs)
{
	char err[512] = "";

	r->hw = hw;
	r->w = sim_create(hw, &(struct sim_options){.seed = 1}, err);
	if (!r->w)
		panic("%s", err);
	r->m = machine_create(r->w, knobs, err, sizeof(err));
	if (!r->m)
		panic("%s", err);
}

static void build(struct machine_run *r, struct hw_machine *hw)
{
	struct knobs knobs;

	BUG_ON(knobs_preset(&knobs, "4.0"));
	build_knobs(r, hw, &knobs);
}

static void destroy(struct machine_run *r)
{
	machine_destroy(r->m);
	sim_destroy(r->w);
	hw_free(r->hw);
}

/* Runs @nr_tasks of @fn; host seconds from b->start, or from the beginning if no task sets it. */
static double run(struct machine_run *r, struct bench *b, void (*fn)(struct task *t, void *arg))
{
	b->m = r->m;
	for (u32 i = 0; i < b->nr_tasks; i++) {
		struct task *t = task_create(r->m, "bench", NULL, fn, b);

		BUG_ON(!t);
		task_start(t, (int)(i % r->hw->nr_cpus));
	}
	b->start = seconds();
	BUG_ON(sim_run(r->w));
	return seconds() - b->start;
}

static int by_value(const void *a, const void *b, void *arg)
{
	double x = *(const double *)a, y = *(const double *)b;

	(void)arg;
	return x < y ? -1 : x > y;
}

static void print(const char *name, double *value, const char *unit, double floor, double wanted,
                  bool less)
{
	double yard = yardstick();

	sort_stable(value, RUNS, sizeof(*value), by_value, NULL);
	printf("{\"name\":\"%s\",\"value\":%.6g,\"median\":%.6g,\"unit\":\"%s\",\"floor\":%g,"
	       "\"wanted\":%g,\"yardstick_ns\":%.1f}\n",
	       name, less ? value[0] : value[RUNS - 1], value[RUNS / 2], unit, floor, wanted, yard);
	fflush(stdout);
}

static void bench_faults(const char *name, u32 cpus, u32 nodes, u64 ram, double floor,
                         double wanted)
{
	double v[RUNS];

	for (int i = 0; i < RUNS; i++) {
		struct machine_run r;
		/* Each task uses a share that leaves half of the RAM free: no reclaim. */
		struct bench b = {.pages = ram / 2 / cpus, .zap = true, .nr_tasks = cpus};
		double s;

		if (b.pages > 16384)
			b.pages = 16384;
		b.rounds = (u32)(6000000 / (b.pages * cpus) + 1);
		build(&r, hw_make(cpus, nodes, ram));
		s = run(&r, &b, fault_zap);
		v[i] = (double)b.pages * b.rounds * cpus / s;
		destroy(&r);
	}
	print(name, v, "cycles/s", floor, wanted, false);
}

static void bench_touch(const char *name, u64 random, double floor, double wanted)
{
	double v[RUNS];

	for (int i = 0; i < RUNS; i++) {
		struct machine_run r;
		struct bench b = {.pages = GB(3) - GB(3) / 16,
		                  .nr_tasks = 1,
		                  .random = random,
		                  .rounds = random ? 20 : 200};
		double s;

		build(&r, hw_make(12, 1, GB(3)));
		s = run(&r, &b, touch);
		v[i] = (double)b.pages * b.rounds / s;
		destroy(&r);
	}
	print(name, v, "touches/s", floor, wanted, false);
}

/* ---- huge pages, forks, reverse walks ---- */

#define HUGE (2UL << 20)
#define HUGE_ROUND_PAGES 1024 /* of 2 MiB: the struct pages of a round do not fit a cache */

static void huge_fault_zap(struct task *t, void *arg)
{
	struct bench *b = arg;
	u64 va;

	(void)t;
	BUG_ON(do_mmap(b->m, (b->pages + 1) * HUGE, MM_PROT_READ | MM_PROT_WRITE, 0, &va));
	va = ALIGN(va, HUGE);
	b->start = seconds();
	for (u32 i = 0; i < b->rounds; i++) {
		BUG_ON(mm_access(b->m, va, b->pages * HUGE, WORLD_WRITE, 0));
		BUG_ON(do_madvise(b->m, va, b->pages * HUGE, MM_MADV_DONTNEED));
	}
}

static void huge_knobs(struct knobs *k, const char *walk)
{
	char err[256];

	BUG_ON(knobs_preset(k, "4.5"));
	BUG_ON(knob_set(k, "thp.enabled", "always", err, sizeof(err)));
	BUG_ON(knob_set(k, "thp.split_walk", walk, err, sizeof(err)));
}

static void bench_huge(void)
{
	double v[RUNS];
	struct knobs k;

	huge_knobs(&k, "vma");
	for (int i = 0; i < RUNS; i++) {
		struct machine_run r;
		struct bench b = {.pages = HUGE_ROUND_PAGES, .nr_tasks = 1, .rounds = 500};
		double s;

		build_knobs(&r, hw_make(4, 1, GB(4)), &k);
		s = run(&r, &b, huge_fault_zap);
		v[i] = (double)b.pages * b.rounds / s;
		destroy(&r);
	}
	print("thp_fault_zap", v, "cycles/s", 2e6, 4e6, false);
}

static void forked(struct task *t, void *arg)
{
	(void)t;
	(void)arg;
}

static void fork_exit(struct task *t, void *arg)
{
	struct bench *b = arg;
	struct task *child;
	u64 va;

	(void)t;
	BUG_ON(do_mmap(b->m, b->pages * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE, 0, &va));
	BUG_ON(mm_access(b->m, va, b->pages * PAGE_SIZE, WORLD_WRITE, 0));
	b->start = seconds();
	for (u32 i = 0; i < b->rounds; i++) {
		BUG_ON(do_fork(b->m, "child", forked, b, &child));
		task_start(child, -1);
		BUG_ON(do_wait(child));
	}
	b->end = seconds();
}

static void bench_fork(void)
{
	double v[RUNS];

	for (int i = 0; i < RUNS; i++) {
		struct machine_run r;
		struct bench b = {.pages = GB(1), .nr_tasks = 1, .rounds = 8};

		build(&r, hw_make(4, 1, GB(4)));
		run(&r, &b, fork_exit);
		v[i] = (b.end - b.start) / b.rounds * 1e3;
		destroy(&r);
	}
	print("fork_exit_1gb", v, "ms", 60, 25, true);
}

static void pause_main(struct task *t, void *arg)
{
	struct bench *b = arg;

	(void)t;
	world_syscall_enter();
	while (!b->end)
		world_sleep(10000000000);
	world_syscall_exit();
}

/* Mail 003's program, with b->pages huge pages and b->rounds forks; b->start to b->end is drop_caches. */
static void huge_split(struct task *t, void *arg)
{
	struct bench *b = arg;
	struct task *child[100];
	u64 va, base;

	(void)t;
	BUG_ON(do_mmap(b->m, (b->pages + 1) * HUGE, MM_PROT_READ | MM_PROT_WRITE, 0, &va));
	base = ALIGN(va, HUGE);
	BUG_ON(mm_access(b->m, base, b->pages * HUGE, WORLD_WRITE, 0));
	for (u64 i = 0; i < b->pages; i++)
		BUG_ON(do_munmap(b->m, base + i * HUGE, PAGE_SIZE));
	for (u32 i = 0; i < b->rounds; i++) {
		BUG_ON(do_fork(b->m, "child", pause_main, b, &child[i]));
		task_start(child[i], -1);
	}
	b->start = seconds();
	BUG_ON(do_drop_caches(b->m, 2));
	b->end = seconds();
	for (u32 i = 0; i < b->rounds; i++)
		BUG_ON(do_wait(child[i]));
}

static double split_cell(const char *walk, u64 huge_pages, u32 forks, double *drop)
{
	struct bench b = {.pages = huge_pages, .nr_tasks = 1, .rounds = forks};
	double begin = seconds();
	struct machine_run r;
	struct knobs k;

	huge_knobs(&k, walk);
	build_knobs(&r, hw_make(16, 1, GB(16)), &k);
	run(&r, &b, huge_split);
	*drop = b.end - b.start;
	destroy(&r);
	return seconds() - begin;
}

/* A step: one page in one VMA, to freeze it or to map it again. */
static void bench_rmap(void)
{
	double v[RUNS], drop;

	for (int i = 0; i < RUNS; i++) {
		split_cell("page", 64, 100, &drop);
		v[i] = 64. * 1022 * 101 / drop;
	}
	print("rmap_steps", v, "steps/s", 20e6, 50e6, false);
}

static void bench_split(void)
{
	double s[RUNS], mem[RUNS], drop, before = resident();

	s[0] = split_cell("vma", 4096, 0, &drop) + split_cell("page", 4096, 0, &drop);
	s[0] += split_cell("vma", 4096, 100, &drop);
	s[0] += split_cell("page", 4096, 100, &drop);
	mem[0] = (resident_max() - before) / 1e9;
	for (int i = 1; i < RUNS; i++) {
		s[i] = s[0];
		mem[i] = mem[0];
	}
	print("thp_split_cells", s, "s", 90, 40, true);
	print("thp_split_cells_memory", mem, "GB", 8, 4, true);
}

static void count_swaps(const char *name, u64 value, bool event, void *arg)
{
	(void)event;
	if (strcmp(name, "pswpin") == 0 || strcmp(name, "pswpout") == 0)
		*(double *)arg += (double)value;
}

static void bench_swap(void)
{
	double v[RUNS];

	for (int i = 0; i < RUNS; i++) {
		struct machine_run r;
		struct hw_machine *hw = hw_make(12, 1, GB(1) / 4);
		struct bench b = {.pages = GB(1) / 32, .nr_tasks = 12, .rounds = 6};
		double swaps = 0, s;

		/* RAM for two thirds of what the tasks use; a disk that is never the limit. */
		hw_add_flash(hw, 4UL << 30);
		hw->disk[0].read_latency_ns = hw->disk[0].write_latency_ns = 5000;
		hw->disk[0].read_bytes_per_s = hw->disk[0].write_bytes_per_s = 10000000000;
		build(&r, hw);
		BUG_ON(do_swapon(r.m, 0, -1));
		s = run(&r, &b, fault_zap);
		machine_counters(r.m, count_swaps, &swaps);
		v[i] = swaps / 2 / s;
		destroy(&r);
	}
	print("swap_out_in_12cpu", v, "cycles/s", 1e6, 2e6, false);
}

/* Reads file b->file in calls of 1 MiB; the time begins with the second round, if there is one. */
static void read_file(struct task *t, void *arg)
{
	struct bench *b = arg;
	u64 done;
	u32 fd;

	(void)t;
	BUG_ON(do_open(b->m, b->file, &fd));
	for (u32 i = 0; i <= b->rounds; i++) {
		if (i == (b->rounds ? 1 : 0))
			b->start = seconds();
		for (u64 at = 0; at < b->pages; at += 256)
			BUG_ON(do_pread(b->m, fd, at * PAGE_SIZE, 256 * PAGE_SIZE, &done));
	}
	BUG_ON(do_close(b->m, fd));
}

/* @pages of a sparse file through @ram pages of memory: once, or @rounds times from the cache. */
static void bench_read(const char *name, u64 ram, u64 pages, u32 rounds, double floor,
                       double wanted)
{
	double v[RUNS];

	for (int i = 0; i < RUNS; i++) {
		struct machine_run r;
		struct bench b = {.pages = pages, .nr_tasks = 1, .rounds = rounds};
		double s;

		build(&r, hw_make(1, 1, ram));
		BUG_ON(machine_file_create(r.m, "data", pages * PAGE_SIZE, true, &b.file));
		s = run(&r, &b, read_file);
		v[i] = (double)pages * (rounds ? rounds : 1) / s;
		destroy(&r);
	}
	print(name, v, "pages/s", floor, wanted, false);
}

static void idle(struct task *t, void *arg)
{
	(void)t;
	(void)arg;
}

static void bench_start(void)
{
	double v[RUNS], mem[RUNS];

	for (int i = 0; i < RUNS; i++) {
		struct machine_run r;
		struct bench b = {.nr_tasks = 1};
		double before = resident(), begin = seconds();

		build(&r, hw_make(2048, 256, GB(16384)));
		run(&r, &b, idle);
		v[i] = seconds() - begin;
		mem[i] = (resident() - before) / 1048576;
		destroy(&r);
	}
	print("start_2048cpu_16tb", v, "s", 1, 0.3, true);
	print("start_2048cpu_16tb_memory", mem, "MB", 1024, 256, true);
}

static void bench_memory(void)
{
	double page[RUNS], cpu[RUNS];

	for (int i = 0; i < RUNS; i++) {
		struct machine_run r;
		struct bench b = {.pages = GB(3) - GB(3) / 16, .nr_tasks = 1, .rounds = 1};
		double before;

		build(&r, hw_make(1, 1, GB(3)));
		before = resident();
		run(&r, &b, touch);
		page[i] = (resident() - before) / (double)b.pages;
		destroy(&r);

		b = (struct bench){.pages = 64, .nr_tasks = 1024, .rounds = 1, .zap = true};
		before = resident();
		build(&r, hw_make(1024, 1, GB(32)));
		run(&r, &b, fault_zap);
		cpu[i] = (resident() - before) / 1024 / 1024;
		destroy(&r);
	}
	print("host_bytes_per_page", page, "B", 64, 48, true);
	print("host_kb_per_cpu", cpu, "KB", 64, 32, true);
}

/* Cost of a cycle against CPUs, and against RAM that is not touched: not judged, only shown. */
static void curves(void)
{
	for (u32 cpus = 1; cpus <= 4096; cpus *= 4) {
		char name[64];

		snprintf(name, sizeof(name), "curve_fault_zap_%ucpu", cpus);
		bench_faults(name, cpus, 1, GB(64), 0, 0);
	}
	for (u64 gb = 4; gb <= 16384; gb *= 16) {
		/*
		 * Links between pages are 32-bit indexes within a node, which therefore spans less
		 * than 16 TiB, the hole below 4 GiB included: 16 TiB are two nodes.
		 */
		u32 nodes = gb < 16384 ? 1 : 2;
		char name[64];

		snprintf(name, sizeof(name), "curve_fault_zap_12cpu_%lugb%s", gb,
		         nodes > 1 ? "_2node" : "");
		bench_faults(name, 12, nodes, GB(gb), 0, 0);
	}
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : "";

	if (!*only || !strcmp(only, "fault")) {
		bench_faults("fault_zap_12cpu_3gb", 12, 1, GB(3), 6e6, 10e6);
		bench_faults("fault_zap_64cpu_32gb_4node", 64, 4, GB(32), 6e6, 10e6);
		bench_faults("fault_zap_2048cpu_32gb", 2048, 1, GB(32), 3e6, 5e6);
	}
	if (!*only || !strcmp(only, "touch")) {
		bench_touch("touch_sequential_3gb", 0, 250e6, 500e6);
		bench_touch("touch_random_3gb", 1, 30e6, 60e6);
	}
	if (!*only || !strcmp(only, "huge"))
		bench_huge();
	if (!*only || !strcmp(only, "fork"))
		bench_fork();
	if (!*only || !strcmp(only, "rmap"))
		bench_rmap();
	if (!*only || !strcmp(only, "split"))
		bench_split();
	if (!*only || !strcmp(only, "swap"))
		bench_swap();
	if (!*only || !strcmp(only, "file")) {
		bench_read("file_read_cached_4k", GB(1), GB(1) / 4, 40, 10e6, 20e6);
		bench_read("file_turnover_1cpu", GB(1) / 4, GB(1) * 4, 0, 1e6, 2e6);
	}
	if (!*only || !strcmp(only, "start"))
		bench_start();
	if (!*only || !strcmp(only, "memory"))
		bench_memory();
	if (!*only || !strcmp(only, "curves"))
		curves();
	return 0;
}
