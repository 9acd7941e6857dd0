/*
 * The null world's machine: building it, user mode and address spaces, frames, disks.
 */
#include "world/null_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bitmap.h"

/* ---- address spaces ------------------------------------------------------------------------- */

static void null_unload(struct null_cpu *nc)
{
	struct world_as *as = nc->loaded;

	if (!as)
		return;
	__clear_bit(nc->cpu.id, as->cpumask);
	as->nr_loaded -= 1;
	nc->loaded = NULL;
}

void null_load_as(struct world_cpu *c, struct world_as *as)
{
	struct null_cpu *nc = (struct null_cpu *)c;

	if (nc->loaded == as)
		return;
	null_unload(nc);
	__set_bit(c->id, as->cpumask);
	as->nr_loaded += 1;
	nc->loaded = as;
}

void null_use_as(struct world_as *as)
{
	struct world_task *t = world_current();
	struct world_as *old = t->as;
	u64 cpu;

	if (as == old)
		return;
	t->as = as;
	if (as) {
		as->nr_tasks += 1;
		null_load_as(world_self, as);
	}
	if (old && --old->nr_tasks == 0)
		for_each_set_bit (cpu, old->cpumask, HW_MAX_CPUS)
			null_unload(&null_self()->cpus[cpu]);
}

static void null_flush_own(u64 nr_pages)
{
	if (nr_pages > WORLD_TLB_CEILING)
		charge(COST_TLB_FULL);
	else
		charge_n(COST_INVLPG, nr_pages);
}

static void null_flush_ipi(void *arg)
{
	null_flush_own(*(u64 *)arg);
}

static void null_flush_mask_pages(const u64 *mask, u64 nr_pages)
{
	struct null_stats *stats = &null_self()->stats;

	if (bitmap_empty(mask, world_self->w->hw->nr_cpus))
		return;
	stats->nr_tlb_flushes += 1;
	if (nr_pages <= WORLD_TLB_CEILING)
		stats->nr_tlb_pages += nr_pages;
	if (test_bit(world_cpu_id(), mask)) {
		null_flush_own(nr_pages);
		if (bitmap_weight(mask, world_self->w->hw->nr_cpus) == 1)
			return;
	}
	null_ipi(mask, null_flush_ipi, &nr_pages);
}

static void null_tlb_flush(struct world_as *as, u64 start, u64 end)
{
	null_flush_mask_pages(as->cpumask, DIV_ROUND_UP(end - start, PAGE_SIZE));
}

static void null_tlb_flush_mask(const u64 *mask)
{
	null_flush_mask_pages(mask, WORLD_TLB_CEILING + 1);
}

/* ---- user mode ------------------------------------------------------------------------------ */

static void null_user(bool enter)
{
	struct world_task *t = world_current();

	world_order();
	world_task_account(world_self, t);
	t->in_user = enter;
}

static void null_user_compute(u64 ns)
{
	charge_ns(ns);
	world_order();
}

/* Delivers a fault and comes back to user mode. */
static int null_fault(struct world_task *t, u64 va, enum world_access kind)
{
	struct world *w = world_self->w;
	int err;

	null_self()->stats.nr_faults += 1;
	null_user(false);
	span_enter(SPAN_FAULT);
	charge(COST_FAULT_TRAP);
	err = w->up->fault(w->machine, t, va, kind);
	span_exit();
	null_user(true);
	return err;
}

static int null_touch(struct world_as *as, u64 va, enum world_access kind)
{
	struct world_task *t = world_current();
	const u64 needs = world_access_needs(kind);
	unsigned int level;

	for (u32 tries = 0; tries < 1000; tries++) {
		pte_t *pte = world_walk(world_self->w, as, va, &level);
		int err;

		if (pte && (pte->v & needs) == needs) {
			pte->v |= world_access_sets(kind);
			charge(COST_TLB_MISS);
			charge(world_access_cost(kind));
			return 0;
		}
		err = null_fault(t, va, kind);
		if (err)
			return err;
		if (t->signal)
			return -EINTR;
	}
	panic("the fault at 0x%lx comes back for ever", va);
}

/* The seeded order of this world is address order that begins somewhere else. */
static int null_user_access(struct world_as *as, u64 va, u64 len, enum world_access kind, u64 seed)
{
	struct world_task *t = world_current();
	bool was_user = t->in_user;
	u64 first = va & PAGE_MASK;
	u64 nr = len ? (ALIGN(va + len, PAGE_SIZE) - first) / PAGE_SIZE : 0;
	int err = 0;

	if (!was_user)
		null_user(true);
	for (u64 i = 0; i < nr && !err; i++)
		err = null_touch(as, first + (i + seed % nr) % nr * PAGE_SIZE, kind);
	world_order();
	if (!was_user)
		null_user(false);
	return err;
}

/* ---- frames and disks ----------------------------------------------------------------------- */

static void null_frame_clear(u64 pfn)
{
	(void)pfn;
	null_self()->stats.nr_cleared += 1;
}

static void null_frame_copy(u64 to, u64 from)
{
	VM_BUG_ON(to == from);
	null_self()->stats.nr_copied += 1;
}

static void null_frame_free(u64 pfn)
{
	(void)pfn;
	null_self()->stats.nr_freed += 1;
}

static void null_contents_zero(struct world_as *as, u64 start, u64 end, bool done)
{
	(void)as;
	(void)done;
	VM_BUG_ON(start > end);
}

static void null_contents_fork(struct world_as *parent, struct world_as *child)
{
	VM_BUG_ON(parent == child);
}

static void null_contents_map(struct world_as *as, u64 start, u64 end, u64 file, u64 index,
                              bool shared)
{
	(void)as;
	(void)index;
	VM_BUG_ON(start >= end);
	VM_BUG_ON(!file && shared);
}

static void null_contents_copied(struct world_as *as, u64 va, u64 pfn)
{
	(void)as;
	(void)pfn;
	VM_BUG_ON(va % PAGE_SIZE);
}

static void null_contents_move(struct world_as *as, u64 from, u64 to, u64 len)
{
	(void)as;
	VM_BUG_ON((from | to | len) % PAGE_SIZE);
	VM_BUG_ON(from < to + len && to < from + len);
}

static void null_contents_file(enum world_file_event event, u64 file, u64 index, u64 arg)
{
	(void)event;
	(void)index;
	(void)arg;
	VM_BUG_ON(!file);
}

static void null_io_done(struct world_io *io)
{
	struct null_world *nw = null_self();
	struct world_cpu *c = world_self;
	int err = 0;

	if (nw->nr_fail_io) {
		nw->nr_fail_io -= 1;
		err = -EIO;
	}
	null_irq_enter(c);
	charge_n(COST_BIO_END, io->nr_pages);
	io->done(io, err);
	null_irq_exit(c);
}

static int null_io_submit(struct world_io *io)
{
	struct null_world *nw = null_self();
	const struct hw_machine *hw = nw->w.hw;

	VM_BUG_ON(io->disk >= hw->nr_disks);
	VM_BUG_ON(!io->nr_pages || io->nr_pages > WORLD_IO_MAX_PAGES);
	VM_BUG_ON(!IS_ALIGNED(io->sector, 8));
	VM_BUG_ON((io->sector + io->nr_pages * 8) * 512 > hw->disk[io->disk].size_bytes);
	world_order();
	nw->stats.nr_io[io->write] += 1;
	io->submitted_at = world_now();
	charge_n(COST_BIO, io->nr_pages);
	if (nw->defer_io)
		list_add_tail(&io->list, &nw->io);
	else
		null_io_done(io);
	return 0;
}

void null_defer_io(struct world *w, bool defer)
{
	null_of(w)->defer_io = defer;
}

u32 null_complete_io(struct world *w, u32 nr)
{
	struct null_world *nw = null_of(w);
	u32 done = 0;

	for (; done < nr && !list_empty(&nw->io); done++) {
		struct world_io *io = list_first_entry(&nw->io, struct world_io, list);

		list_del(&io->list);
		null_io_done(io);
	}
	return done;
}

void null_fail_io(struct world *w, u32 nr)
{
	null_of(w)->nr_fail_io = nr;
}

void null_set_congested(struct world *w, bool read, bool write)
{
	null_of(w)->congested[0] = read;
	null_of(w)->congested[1] = write;
}

static bool null_disk_congested(struct world *w, u32 disk, bool write)
{
	(void)disk;
	return null_of(w)->congested[write];
}

static void null_disk_discard(struct world *w, u32 disk, u64 sector, u64 nr_sectors)
{
	(void)disk;
	(void)sector;
	null_of(w)->stats.nr_discarded_sectors += nr_sectors;
}

static void null_trace(struct world_cpu *c, enum ledger_event e, u64 a, u64 b)
{
	(void)c;
	(void)e;
	(void)a;
	(void)b;
}

struct null_stats *null_stats(struct world *w)
{
	return &null_of(w)->stats;
}

/* ---- building it ---------------------------------------------------------------------------- */

static const struct world_ops null_ops = {
	.name = "null",
	.order = null_order,
	.spin_lock = null_spin_lock,
	.spin_unlock = null_spin_unlock,
	.irq_restore = null_order,
	.down = null_down,
	.up = null_up,
	.task_init = null_task_init,
	.task_start = null_task_start,
	.task_free = null_task_free,
	.task_exit = null_task_exit,
	.schedule = null_schedule,
	.cond_resched = null_cond_resched,
	.wake = null_wake,
	.memstall = null_memstall,
	.user = null_user,
	.user_compute = null_user_compute,
	.use_as = null_use_as,
	.user_access = null_user_access,
	.tlb_flush = null_tlb_flush,
	.tlb_flush_mask = null_tlb_flush_mask,
	.ipi = null_ipi,
	.timer_arm = null_timer_arm,
	.timer_cancel = null_timer_cancel,
	.frame_clear = null_frame_clear,
	.frame_copy = null_frame_copy,
	.frame_free = null_frame_free,
	.contents_zero = null_contents_zero,
	.contents_fork = null_contents_fork,
	.contents_map = null_contents_map,
	.contents_copied = null_contents_copied,
	.contents_move = null_contents_move,
	.contents_file = null_contents_file,
	.io_submit = null_io_submit,
	.disk_congested = null_disk_congested,
	.disk_discard = null_disk_discard,
	.trace = null_trace,
};

static void *null_alloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		panic("no host memory for the null world");
	return p;
}

/* Zone boundaries: 16 MiB and 4 GiB. A range does not contain one. */
static u64 null_range_end(u64 start, u64 end)
{
	if (start < 4096)
		return min_t(u64, end, 4096);
	if (start < 1048576)
		return min_t(u64, end, 1048576);
	return end;
}

struct hw_machine *null_hw(u32 nr_cpus, u32 nr_nodes, u64 nr_pages)
{
	static const u32 default_cost[NR_WORLD_COSTS] = {
#define X(name, ns, source, doc) [COST_##name] = ns,
		WORLD_COSTS(X)
#undef X
	};
	struct hw_machine *hw = null_alloc(1, sizeof(*hw));

	snprintf(hw->name, sizeof(hw->name), "tiny");
	hw->nr_cpus = nr_cpus;
	hw->nr_nodes = nr_nodes;
	hw->hz = 250;
	hw->cpu = null_alloc(nr_cpus, sizeof(*hw->cpu));
	for (u32 i = 0; i < nr_cpus; i++) {
		u16 node = (u16)((u64)i * nr_nodes / nr_cpus);

		hw->cpu[i] = (struct hw_cpu){.node = node, .socket = node, .core = (u16)i};
	}
	hw->range = null_alloc(nr_nodes + 2, sizeof(*hw->range));
	for (u32 i = 0; i < nr_nodes; i++) {
		for (u64 start = i * nr_pages, end; start < (i + 1) * nr_pages; start = end) {
			end = null_range_end(start, (i + 1) * nr_pages);
			hw->range[hw->nr_ranges++] = (struct hw_range){
				.start_pfn = start, .nr_pages = end - start, .node = (u16)i};
		}
	}
	hw->distance = null_alloc(nr_nodes * nr_nodes, 1);
	for (u32 i = 0; i < nr_nodes * nr_nodes; i++)
		hw->distance[i] = i % nr_nodes == i / nr_nodes ? 10 : 20;
	hw->nr_disks = 1;
	hw->disk[0] = (struct hw_disk){.name = "flash0",
	                               .kind = HW_DISK_FLASH,
	                               .size_bytes = 1UL << 30,
	                               .read_latency_ns = 80000,
	                               .write_latency_ns = 30000,
	                               .read_bytes_per_s = 1000000000,
	                               .write_bytes_per_s = 500000000,
	                               .nr_channels = 4,
	                               .nr_requests = 128,
	                               .max_sectors = 1024};
	memcpy(hw->cost_ns, default_cost, sizeof(default_cost));
	return hw;
}

void null_hw_free(struct hw_machine *hw)
{
	free(hw->cpu);
	free(hw->range);
	free(hw->distance);
	free(hw);
}

struct world *null_create(const struct hw_machine *hw)
{
	struct null_world *nw = null_alloc(1, sizeof(*nw));

	nw->w.ops = &null_ops;
	nw->w.hw = hw;
	nw->w.ns_per_tick = 1000000000 / hw->hz;
	nw->w.cpu = null_alloc(hw->nr_cpus, sizeof(*nw->w.cpu));
	nw->cpus = null_alloc(hw->nr_cpus, sizeof(*nw->cpus));
	nw->socket_of = null_alloc(hw->nr_cpus, sizeof(*nw->socket_of));
	nw->core_of = null_alloc(hw->nr_cpus, sizeof(*nw->core_of));
	nw->w.socket_of = nw->socket_of;
	nw->w.core_of = nw->core_of;
	INIT_LIST_HEAD(&nw->timers);
	INIT_LIST_HEAD(&nw->io);
	INIT_LIST_HEAD(&nw->tasks);
	if (ledger_init(&nw->w.ledger))
		panic("no host memory for a ledger");
	for (u32 i = 0; i < hw->nr_cpus; i++) {
		struct null_cpu *nc = &nw->cpus[i];
		char name[24];

		nw->socket_of[i] = hw->cpu[i].socket;
		nw->core_of[i] = hw->cpu[i].core;
		world_cpu_init(&nw->w, &nc->cpu, i);
		snprintf(name, sizeof(name), "test/%u", i);
		world_task_setup(&nw->w, &nc->boot, name, WORLD_TASK_KTHREAD);
		nc->boot.state = WORLD_TASK_RUNNING;
		nc->boot.cpu = (u16)i;
		nc->cpu.task = &nc->boot;
		nc->cpu.span = nc->boot.span;
	}
	world_self = nw->w.cpu[0];
	return &nw->w;
}

void null_destroy(struct world *w)
{
	struct null_world *nw = null_of(w);

	if (world_self && world_self->w == w)
		world_self = NULL;
	null_free_tasks(nw);
	ledger_destroy(&nw->w.ledger);
	free(nw->core_of);
	free(nw->socket_of);
	free(nw->cpus);
	free(nw->w.cpu);
	free(nw);
}
