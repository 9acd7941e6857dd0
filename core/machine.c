/*
 * A machine: built on a world, given back to it.
 *
 * Everything whose size is known at boot comes from one arena, reserved for the worst case (every
 * CPU uses every zone) and committed as it is touched, so that a machine of 2,048 CPUs and 16 TiB
 * costs what its pointers cost. What a CPU or a zone's per-CPU list needs appears on first use.
 *
 * Boot order: page tables are reserved and the world told where they are; then zones, because all
 * else takes frames; then marks, objects, swap, and last the kswapd tasks, which use everything.
 */
#include "core/compaction.h"
#include "core/fs.h"
#include "core/khugepaged.h"
#include "core/page_alloc.h"
#include "core/shrinker.h"
#include "core/workqueue.h"

#include <errno.h>
#include <stdio.h>

/* ---- what the world calls ---------------------------------------------------------------------------- */

static void describe_task(void *machine, struct world_task *t, void *file)
{
	const struct machine *m = machine;
	const struct task *task = (const struct task *)t;
	FILE *out = file;
	bool flagged;

	if (t->id <= m->nr_world_tasks)
		return;
	flagged = task->flags & (PF_KSWAPD | PF_MEMALLOC | PF_EXITING | TIF_MEMDIE) || task->killed;
	if (!flagged && !task->mm)
		return;
	fprintf(out, "    ");
	if (flagged)
		fprintf(out, "flags%s%s%s%s%s%s", task->flags & PF_KSWAPD ? " kswapd" : "",
		        task->flags & PF_MEMALLOC ? " memalloc" : "",
		        task->flags & PF_EXITING ? " exiting" : "",
		        task->flags & TIF_MEMDIE ? " memdie" : "", task->killed ? " killed" : "",
		        task->mm ? "; " : "");
	if (task->mm)
		fprintf(out, "mm %u: %u maps, %ld pages, %ld swapped%s", task->mm->id,
		        task->mm->map_count, atomic_long_peek(&task->mm->rss[MM_ANONPAGES]),
		        atomic_long_peek(&task->mm->rss[MM_SWAPENTS]),
		        task->mm->mmap_sem.writer == t ? ", mmap_sem held for writing" : "");
	fprintf(out, "\n");
}

static const struct world_upcalls machine_upcalls = {
	.fault = machine_fault,
	.fault_run = machine_fault_run,
	.uncongested = disk_uncongested,
	.describe_task = describe_task,
};

u32 machine_sigbus_kills(const struct machine *m)
{
	return m->nr_sigbus;
}

u32 machine_oom_kills(const struct machine *m)
{
	return (u32)vm_event_sum(m, OOM_KILL);
}

/* ---- building ------------------------------------------------------------------------------------------ */

struct cpu_data *__this_cpu_alloc(struct machine *m)
{
	struct cpu_data *d = arena_alloc(&m->arena, sizeof(*d), 64);

	m->cpu[world_cpu_id()] = d;
	return d;
}

/* What a machine on @hw can come to need; generous, since only what is touched is committed. */
static u64 machine_arena_bytes(const struct hw_machine *hw)
{
	const struct hw_range *last = hw->nr_ranges ? &hw->range[hw->nr_ranges - 1] : NULL;
	u64 frames = last ? last->start_pfn + last->nr_pages + (1UL << MAX_ORDER) : 0;
	u64 nr_zones = min_t(u64, hw->nr_ranges, 3UL * hw->nr_nodes);
	u64 per_cpu_zone = sizeof(struct per_cpu_pages) + 2 * sizeof(struct stat_cpu) +
	                   3 * sizeof(void *) + 3 * 64;
	u64 bytes = 64UL << 20;

	bytes += frames * (sizeof(struct page) + sizeof(u64) + sizeof(u16));
	bytes += frames / PAGEBLOCK_PAGES;
	bytes += hw->nr_nodes * (sizeof(struct pglist_data) + nr_zones * sizeof(void *) + 64);
	/* a worker, and where it waits: a struct task and half as much */
	bytes += hw->nr_cpus * (sizeof(struct task) * 3 / 2 + sizeof(void *));
	bytes += hw->nr_cpus *
	         (nr_zones * per_cpu_zone + sizeof(struct cpu_data) + 64 + sizeof(void *));
	return bytes;
}

static struct machine *machine_alloc(struct world *w)
{
	struct arena arena;
	struct machine *m;

	if (arena_init(&arena, machine_arena_bytes(w->hw), "machine"))
		return NULL;
	m = arena_alloc(&arena, sizeof(*m), 64);
	m->arena = arena;
	m->world = w;
	INIT_LIST_HEAD(&m->tasks);
	INIT_LIST_HEAD(&m->mms);
	m->cpu = arena_array(&m->arena, struct cpu_data *, w->hw->nr_cpus);
	m->nr_world_tasks = w->next_task;
	return m;
}

/* Whole procedures are chosen here or by the file that has them; knobs decide once. */
static void choose_procedures(struct machine *m)
{
	m->slowpath = choose_slowpath(m);
}

/* Where kswapd can never reach the high marks there is nothing to run a task with. */
static int check_enough_memory(struct machine *m, char *err, size_t n)
{
	struct pglist_data *pgdat;
	struct zone *z;
	unsigned long high = 0;

	for_each_populated_zone (m, pgdat, z)
		high += z->_watermark[WMARK_HIGH];
	if (m->totalram_pages > high)
		return 0;
	snprintf(err, n, "the machine has %lu kB of memory and is to keep %lu kB free",
	         m->totalram_pages << (PAGE_SHIFT - 10), high << (PAGE_SHIFT - 10));
	return -EINVAL;
}

/* Whether it was not for want of frames that something could not be had. */
static bool has_frames(struct machine *m)
{
	struct pglist_data *pgdat;
	struct zone *z;
	long free = 0;

	for_each_populated_zone (m, pgdat, z)
		free += stat_exact(m, &z->stat, NR_FREE_PAGES);
	return free > 64;
}

static int machine_boot(struct machine *m, char *err, size_t n)
{
	int ret = zones_init(m, err, n);

	if (ret)
		return ret;
	setup_per_zone_wmarks(m);
	node_reclaim_init(m);
	ret = check_enough_memory(m, err, n);
	if (ret)
		return ret;
	choose_procedures(m);
	m->mempolicy = arena_array(&m->arena, struct mempolicy, MEMPOLICIES_MAX);
	overcommit_init(m);
	page_wait_init(m);
	split_queues_init(m);
	huge_shrinkers_init(m);
	workingset_init(m);
	mutex_init(m->world, &m->oom_lock, LOCK_OOM);
	alloc_init(m);
	lru_add_init(m);
	fault_init(m);
	ret = slab_init(m);
	if (!ret)
		ret = workqueue_init(m);
	if (!ret)
		ret = fs_init(m);
	if (!ret)
		ret = swap_init(m);
	if (!ret)
		ret = kswapd_init(m);
	if (!ret)
		bio_init(m);
	if (!ret)
		compaction_init(m);
	mthp_init(m);
	if (!ret)
		khugepaged_init(m);
	if (!ret)
		writeback_init(m);
	if (ret == -ENOMEM && has_frames(m))
		snprintf(err, n, "the host has no address space left for this machine");
	else if (ret == -ENOMEM)
		snprintf(err, n, "the machine has too little memory to boot");
	else if (ret)
		snprintf(err, n, "the machine does not boot: error %d", ret);
	return ret;
}

struct machine *machine_create(struct world *w, const struct knobs *knobs, char *err, size_t n)
{
	struct machine *m = machine_alloc(w);
	int ret;

	if (m)
		m->knob = *knobs;
	if (!m || pt_init(m)) {
		snprintf(err, n, "the host has no address space left for this machine");
		machine_destroy(m);
		errno = ENOMEM;
		return NULL;
	}
	world_attach(w, &machine_upcalls, m, m->tables);
	w->lazy_cpumask = knobs->mm_cpumask == MM_CPUMASK_LAZY;
	ret = machine_boot(m, err, n);
	if (ret) {
		bool host = ret == -ENOMEM && has_frames(m);

		machine_destroy(m);
		errno = host ? ENOMEM : EINVAL;
		return NULL;
	}
	m->booted = true;
	return m;
}

/* The world has let go of all tasks, or is about to; they live in the machine's memory. */
void machine_destroy(struct machine *m)
{
	struct arena arena;

	if (!m)
		return;
	swap_destroy(m);
	workqueue_destroy(m);
	fs_destroy(m);
	slab_destroy(m);
	zones_destroy(m);
	pt_destroy(m);
	arena = m->arena; /* which holds @m itself */
	arena_destroy(&arena);
}
