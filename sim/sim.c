/*
 * Building the simulated machine, and taking it down.
 */
#include "sim/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/bitmap.h"
#include "lib/sort.h"

#define SIM_EVENTS_MAX (1u << 22)
#define SIM_TRACE_DEFAULT 1000000

static const struct world_ops sim_ops = {
	.name = "sim",
	.order = sim_order_point,
	.spin_lock = sim_spin_lock,
	.spin_unlock = sim_spin_unlock,
	.irq_restore = sim_irq_restore,
	.down = sim_down,
	.up = sim_up,
	.task_init = sim_task_init,
	.task_start = sim_task_start,
	.task_free = sim_task_free,
	.task_exit = sim_task_exit,
	.schedule = sim_schedule,
	.cond_resched = sim_cond_resched,
	.wake = sim_wake,
	.memstall = sim_memstall,
	.user = sim_user,
	.user_compute = sim_user_compute,
	.use_as = sim_use_as,
	.user_access = sim_user_access,
	.tlb_flush = sim_tlb_flush,
	.tlb_flush_mask = sim_tlb_flush_mask,
	.ipi = sim_ipi,
	.timer_arm = sim_timer_arm,
	.timer_cancel = sim_timer_cancel,
	.frame_clear = sim_frame_clear,
	.frame_copy = sim_frame_copy,
	.frame_free = sim_frame_free,
	.contents_zero = sim_contents_zero,
	.contents_fork = sim_contents_fork,
	.contents_map = sim_contents_map,
	.contents_copied = sim_contents_copied,
	.contents_move = sim_contents_move,
	.contents_file = sim_contents_file,
	.io_submit = sim_io_submit,
	.disk_congested = sim_disk_congested,
	.disk_discard = sim_disk_discard,
	.trace = sim_trace,
	.span = sim_span,
};

/* ---- is it possible? ------------------------------------------------------------------------ */

static int sim_check_hw(const struct hw_machine *hw, char *err)
{
	if (!hw->nr_cpus || hw->nr_cpus > HW_MAX_CPUS)
		snprintf(err, SIM_ERROR_MAX, "a machine has 1 to %d CPUs, not %u", HW_MAX_CPUS,
		         hw->nr_cpus);
	else if (!hw->nr_nodes || hw->nr_nodes > HW_MAX_NODES)
		snprintf(err, SIM_ERROR_MAX, "a machine has 1 to %d nodes, not %u", HW_MAX_NODES,
		         hw->nr_nodes);
	else if (hw->hz < 1 || hw->hz > 10000)
		snprintf(err, SIM_ERROR_MAX, "hz is 1 to 10000 ticks a second, not %u", hw->hz);
	else if (hw->nr_disks > HW_MAX_DISKS)
		snprintf(err, SIM_ERROR_MAX, "a machine has at most %d disks, not %u", HW_MAX_DISKS,
		         hw->nr_disks);
	else if (hw->seed_jitter_bp >= 10000)
		snprintf(err, SIM_ERROR_MAX, "a jitter of %u bp would make times negative",
		         hw->seed_jitter_bp);
	else
		return 0;
	return -EINVAL;
}

static int sim_check_disks(const struct hw_machine *hw, char *err)
{
	for (u32 i = 0; i < hw->nr_disks; i++) {
		const struct hw_disk *d = &hw->disk[i];
		const char *wrong = NULL;

		if (d->size_bytes < PAGE_SIZE)
			wrong = "is smaller than a page";
		else if (d->kind == HW_DISK_RAM)
			continue;
		else if (d->nr_requests < 4)
			wrong = "needs a queue of at least 4 requests";
		else if (d->seek_ns_max < d->seek_ns_min)
			wrong = "seeks faster over all of it than to the next track";
		if (!wrong)
			continue;
		snprintf(err, SIM_ERROR_MAX, "disk %u (%s) %s", i, d->name, wrong);
		return -EINVAL;
	}
	return 0;
}

static int sim_check_cpus(const struct hw_machine *hw, char *err)
{
	for (u32 i = 0; i < hw->nr_cpus; i++) {
		if (hw->cpu[i].node < hw->nr_nodes)
			continue;
		snprintf(err, SIM_ERROR_MAX, "CPU %u is on node %u of %u", i, hw->cpu[i].node,
		         hw->nr_nodes);
		return -EINVAL;
	}
	return 0;
}

/* ---- CPUs and sockets ----------------------------------------------------------------------- */

static int sim_cmp_core(const void *a, const void *b, void *arg)
{
	const struct hw_cpu *cpu = arg;

	return (int)cpu[*(const u16 *)a].core - (int)cpu[*(const u16 *)b].core;
}

/* Lists each socket's CPUs by core. Socket numbers need not be dense. */
static int sim_create_sockets(struct sim *sim)
{
	const struct hw_machine *hw = sim->w.hw;
	u32 max_socket = 0;

	for (u32 i = 0; i < hw->nr_cpus; i++)
		max_socket = max_t(u32, max_socket, hw->cpu[i].socket);
	u32 *dense = calloc(max_socket + 1, sizeof(*dense)); /* index + 1; 0: not seen */

	if (!dense)
		return -ENOMEM;
	for (u32 i = 0; i < hw->nr_cpus; i++) {
		u32 *d = &dense[hw->cpu[i].socket];

		if (!*d)
			*d = ++sim->nr_sockets;
		sim_cpu(sim, i)->socket = (u16)(*d - 1);
	}
	free(dense);
	sim->socket = calloc(sim->nr_sockets, sizeof(*sim->socket));
	if (!sim->socket)
		return -ENOMEM;
	for (u32 i = 0; i < hw->nr_cpus; i++)
		sim->socket[sim_cpu(sim, i)->socket].nr += 1;
	for (u32 i = 0; i < sim->nr_sockets; i++) {
		struct sim_socket *k = &sim->socket[i];

		k->cpu = calloc(k->nr, sizeof(*k->cpu));
		k->idle = calloc(BITS_TO_LONGS(k->nr), sizeof(*k->idle));
		if (!k->cpu || !k->idle)
			return -ENOMEM;
		bitmap_fill(k->idle, k->nr);
		k->nr = 0;
	}
	for (u32 i = 0; i < hw->nr_cpus; i++) {
		struct sim_socket *k = &sim->socket[sim_cpu(sim, i)->socket];

		k->cpu[k->nr++] = (u16)i;
	}
	for (u32 i = 0; i < sim->nr_sockets; i++) {
		struct sim_socket *k = &sim->socket[i];

		sort_stable(k->cpu, k->nr, sizeof(*k->cpu), sim_cmp_core, hw->cpu);
		for (u32 n = 0; n < k->nr; n++)
			sim_cpu(sim, k->cpu[n])->in_socket = n;
	}
	return 0;
}

/* Who goes first among equals: the lower number, or a seeded shuffle of them. */
static void sim_create_ranks(struct sim *sim)
{
	u32 nr = sim->w.hw->nr_cpus;

	for (u32 i = 0; i < nr; i++) {
		sim->cpus[i].rank = i;
		sim->w.cpu[i] = &sim->cpus[i].cpu;
	}
	for (u32 i = nr; sim->explore && i > 1; i--) {
		u64 r = rand_hash(sim->w.seed, SIM_STREAM_RANK, 0, i);

		swap(sim->w.cpu[i - 1], sim->w.cpu[rand_reduce(r, i)]);
	}
}

static void sim_create_cpu(struct sim *sim, u32 id)
{
	struct sim_cpu *s = sim_cpu(sim, id);
	char name[24];

	s->sim = sim;
	s->next_irq = SIM_NEVER;
	s->tick_at = SIM_NEVER;
	s->parked = SIM_PARKED_IDLE;
	s->park_irqs = true;
	world_cpu_init(&sim->w, &s->cpu, id);
	sim->socket_of[id] = sim->w.hw->cpu[id].socket;
	sim->core_of[id] = sim->w.hw->cpu[id].core;
	snprintf(name, sizeof(name), "swapper/%u", id);
	world_task_setup(&sim->w, &s->idle_task, name, WORLD_TASK_IDLE);
	s->idle_task.id = 0;
	s->idle_task.state = WORLD_TASK_RUNNING;
	s->idle_task.cpu = (u16)id;
	s->idle_task.in_user = true; /* idle time is booked as the idle task's user time */
	s->idle_task.engine = &s->idle;
	s->idle.task = &s->idle_task;
	s->idle.sim = sim;
	s->resched.kind = SIM_EVENT_RESCHED;
	s->cpu.task = &s->idle_task;
	s->cpu.span = s->idle_task.span;
	s->cpu.idle = true;
}

/* CPUs that are never used cost address space only. */
static struct sim_cpu *sim_map_cpus(u32 nr)
{
	void *p = mmap(NULL, nr * sizeof(struct sim_cpu), PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int sim_create_cpus(struct sim *sim)
{
	u32 nr = sim->w.hw->nr_cpus;

	sim->cpus = sim_map_cpus(nr);
	sim->w.cpu = calloc(nr, sizeof(*sim->w.cpu));
	sim->socket_of = calloc(nr, sizeof(*sim->socket_of));
	sim->core_of = calloc(nr, sizeof(*sim->core_of));
	sim->heap_words = aligned_alloc(64, ALIGN(heap_words(nr) * sizeof(u64), 64));
	if (!sim->cpus || !sim->w.cpu || !sim->socket_of || !sim->core_of || !sim->heap_words)
		return -ENOMEM;
	sim->w.socket_of = sim->socket_of;
	sim->w.core_of = sim->core_of;
	heap_init(&sim->heap, sim->heap_words, nr);
	sim_create_ranks(sim);
	for (u32 i = 0; i < nr; i++)
		sim_create_cpu(sim, i);
	return sim_create_sockets(sim);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void sim_set_options(struct sim *sim, const struct sim_options *opt)
{
	struct world *w = &sim->w;

	w->seed = opt->seed;
	w->again = opt->again;
	w->check = opt->check;
	w->tracing = opt->tracing || opt->nr_slices_max;
	memcpy(w->fail_every, opt->fail_every, sizeof(w->fail_every));
	sim->explore = opt->explore;
	sim->stop_at = opt->max_ns ? min(opt->max_ns, SIM_TIME_MAX) : SIM_TIME_MAX;
	sim->sample = opt->sample;
	sim->sample_arg = opt->sample_arg;
	sim->sample_at = opt->sample ? opt->sample_ns : SIM_NEVER;
	sim->watch = opt->watch;
	sim->watch_arg = opt->watch_arg;
	sim->pause_at = min(sim->stop_at, sim->sample_at);
	sim->report = opt->report ? opt->report : stderr;
}

static int sim_create_parts(struct sim *sim, const struct sim_options *opt)
{
	int err = ledger_init(&sim->w.ledger);

	if (!err)
		err = pool_init(&sim->events, sizeof(struct sim_event), SIM_EVENTS_MAX,
		                "interrupts");
	if (!err)
		err = sim_create_cpus(sim);
	if (!err)
		err = sim_disks_create(sim);
	if (!err && opt->check)
		err = sim_tags_create(sim);
	if (!err && opt->heat)
		err = sim_heat_create(sim);
	if (!err && opt->nr_slices_max)
		err = sim_slices_create(sim, opt);
	if (!err && opt->tracing && !opt->watch)
		err = sim_trace_create(sim,
		                       opt->nr_trace_max ? opt->nr_trace_max : SIM_TRACE_DEFAULT);
	return err;
}

struct world *sim_create(const struct hw_machine *hw, const struct sim_options *opt, char *err)
{
	struct sim *sim;

	errno = EINVAL;
	if (sim_check_hw(hw, err) || sim_check_cpus(hw, err) || sim_check_disks(hw, err))
		return NULL;
	sim = aligned_alloc(_Alignof(struct sim), sizeof(*sim));
	if (!sim) {
		snprintf(err, SIM_ERROR_MAX, "the host has no memory for a machine");
		errno = ENOMEM;
		return NULL;
	}
	memset(sim, 0, sizeof(*sim));
	sim->w.ops = &sim_ops;
	sim->w.hw = hw;
	sim->w.ns_per_tick = 1000000000 / hw->hz;
	sim_set_options(sim, opt);
	INIT_LIST_HEAD(&sim->tasks);
	INIT_LIST_HEAD(&sim->spinners);
	fiber_stacks_init(&sim->stacks[WORLD_STACK_KERNEL], 64 << 10);
	fiber_stacks_init(&sim->stacks[WORLD_STACK_LUA], 256 << 10);
	if (sim_create_parts(sim, opt)) {
		snprintf(err, SIM_ERROR_MAX, "the host has no memory for a machine of %u CPUs",
		         hw->nr_cpus);
		sim_destroy(&sim->w);
		errno = ENOMEM;
		return NULL;
	}
	sched_init(sim);
	world_task_setup(&sim->w, &sim->boot, "boot", WORLD_TASK_KTHREAD);
	sim->boot.state = WORLD_TASK_RUNNING;
	sim_boot_enter(sim);
	return &sim->w;
}

void sim_destroy(struct world *w)
{
	struct sim *sim = sim_of(w);

	if (world_self && world_self->w == w)
		world_self = NULL;
	sim_free_tasks(sim);
	for (u32 i = 0; sim->cpus && i < w->hw->nr_cpus; i++)
		fiber_stack_put(&sim->stacks[WORLD_STACK_KERNEL], sim->cpus[i].idle.stack);
	fiber_stacks_destroy(&sim->stacks[WORLD_STACK_KERNEL]);
	fiber_stacks_destroy(&sim->stacks[WORLD_STACK_LUA]);
	sim_trace_destroy(sim);
	sim_slices_destroy(sim);
	sim_heat_destroy(sim);
	sim_tags_destroy(sim);
	sim_disks_destroy(sim);
	pool_destroy(&sim->events);
	for (u32 i = 0; sim->socket && i < sim->nr_sockets; i++) {
		free(sim->socket[i].cpu);
		free(sim->socket[i].idle);
	}
	free(sim->socket);
	free(sim->heap_words);
	free(sim->core_of);
	free(sim->socket_of);
	free(sim->w.cpu);
	if (sim->cpus)
		munmap(sim->cpus, w->hw->nr_cpus * sizeof(*sim->cpus));
	ledger_destroy(&sim->w.ledger);
	free(sim);
}
