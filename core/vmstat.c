/*
 * Counters: amounts with per-CPU differences, events, and their folding.
 *
 * Linux mm/vmstat.c. A change goes to a signed byte of the CPU's own; when it passes
 * the threshold it is added to the zone's or node's value and to the sum over all of them. The value
 * read cheaply is therefore off by up to CPUs x threshold.
 *
 * A CPU's bytes for a zone exist while they are not all zero. A timer of the CPU's own folds them
 * every vm.stat_interval and, when it finds nothing more to fold, gives them back and is not armed
 * again until the CPU next changes something. This stands for the work item which from 3.18 on a
 * shepherd queues where there is something to fold (vmstat.worker = busy). As an interrupt it
 * delays no task, and it comes an interval after the first change rather than at full seconds.
 * Before (all), each CPU's timer has its worker do it, and goes on as long as the CPU is not idle; the
 * timer was deferrable, so that it did not wake an idle one.
 */
#include "core/page_alloc.h"
#include "core/workqueue.h"

const char *const vm_item_name[NR_VM_ITEMS] = {
#define X(name, text, where) [name] = text,
	VM_ITEMS(X)
#undef X
};

const char *const vm_event_name[NR_VM_EVENTS] = {
#define X(name, text) [name] = text,
	VM_EVENTS(X)
#undef X
};

#define ZONE 0
#define NODE 1
/* Is the item kept per node, when LRU lists are? */
static const u8 vm_item_is_node[NR_VM_ITEMS] = {
#define X(name, text, where) [name] = where,
	VM_ITEMS(X)
#undef X
};
#undef ZONE
#undef NODE

/* ---- a CPU's differences ------------------------------------------------------------------------- */

void vmstat_init_holder(struct machine *m, struct stat_holder *h)
{
	world_line_init(m->world, &h->line);
	h->cpu = arena_array(&m->arena, struct stat_cpu *, m->nr_cpus);
}

/* A stat_cpu nobody uses: all its differences are 0, and the first bytes of it link to the next. */
union stat_free {
	struct stat_cpu stat;
	struct stat_cpu *next;
};

static void stat_fold_timer(struct world_timer *t);

static void stat_timer_arm(struct machine *m, struct cpu_data *d)
{
	d->stat_timer.fn = stat_fold_timer;
	world_timer_arm(&d->stat_timer, world_now() + m->knob.stat_interval * 1000000000UL);
}

static struct stat_cpu *stat_cpu_alloc(struct machine *m, struct stat_holder *h)
{
	struct cpu_data *d = this_cpu(m);
	struct stat_cpu *s = d->stat_free;

	if (s)
		d->stat_free = ((union stat_free *)s)->next;
	else
		s = arena_alloc(&m->arena, sizeof(union stat_free), 64);
	*s = (struct stat_cpu){.threshold = h->threshold};
	world_line_init(m->world, &s->line);
	world_line_write(&s->line);
	h->cpu[world_cpu_id()] = s;
	if (!d->stat_timer.expires)
		stat_timer_arm(m, d);
	return s;
}

struct stat_cpu *__stat_cpu(struct machine *m, struct stat_holder *h, u32 nr)
{
	struct stat_cpu *s = h->cpu[world_cpu_id()];

	if (!s)
		s = stat_cpu_alloc(m, h);
	charge_n(COST_VMSTAT, nr);
	if (s->line.holder != world_self->mark)
		world_line_write(&s->line);
	return s;
}

static void stat_cpu_release(struct cpu_data *d, struct stat_holder *h)
{
	struct stat_cpu *s = h->cpu[world_cpu_id()];

	if (!s)
		return;
	h->cpu[world_cpu_id()] = NULL;
	((union stat_free *)s)->next = d->stat_free;
	d->stat_free = s;
}

/* As many steps as fit under the threshold are taken at once. */
void mod_zone_state_steps(struct zone *z, enum vm_item item, int step, u32 nr)
{
	struct stat_cpu *s = stat_cpu(z->machine, &z->stat, nr);
	long size = step < 0 ? -step : step;
	long sign = step < 0 ? -1 : 1;
	long x = s->diff[item] * sign; /* as if it were counted upwards */
	long left = nr;

	while (left) {
		long until_fold = x > s->threshold ? 1 : (s->threshold - x) / size + 1;

		if (left < until_fold) {
			x += left * size;
			break;
		}
		left -= until_fold;
		__stat_fold(z->machine, &z->stat, item, (x + until_fold * size) * sign);
		x = 0;
	}
	s->diff[item] = (s8)(x * sign);
}

void inc_zone_state(struct zone *z, enum vm_item item, int one)
{
	struct stat_cpu *s = stat_cpu(z->machine, &z->stat, 1);
	long x = s->diff[item] + one;

	if (x * one > s->threshold) {
		long overstep = one * (s->threshold >> 1);

		__stat_fold(z->machine, &z->stat, item, x + overstep);
		x = -overstep;
	}
	s->diff[item] = (s8)x;
}

/* Adds to @h and to the sums over all, and notes who did it when. */
static __always_inline void fold_add(struct machine *m, struct stat_holder *h, enum vm_item item,
                                     long amount)
{
	const struct world_cpu *c = world_self;
	u32 slot = h->nr_folds++ % FOLDS_KEPT;

	atomic_long_add(amount, &h->v[item]);
	atomic_long_add(amount, &m->vm_stat.v[item]);
	h->fold_cpu[slot] = c->id;
	h->fold_at[slot] = c->clock;
}

/* At least one of the two lines is another CPU's. */
static noinline void fold_from_afar(struct machine *m, struct stat_holder *h, enum vm_item item,
                                    long amount)
{
	charge_n(COST_ATOMIC, 2);
	world_line_write(&h->line);
	world_line_write(&m->vm_stat.line);
	fold_add(m, h, item, amount);
}

/* A difference leaves the CPU. Adds commute: no order point. */
void __stat_fold(struct machine *m, struct stat_holder *h, enum vm_item item, long amount)
{
	const struct world_cpu *c = world_self;

	if (unlikely(h->line.holder != c->mark || m->vm_stat.line.holder != c->mark)) {
		fold_from_afar(m, h, item, amount);
		return;
	}
	charge2_n(COST_ATOMIC, COST_LINE_OWN, 2);
	fold_add(m, h, item, amount);
}

/* ---- reading --------------------------------------------------------------------------------------- */

static unsigned long not_negative(long v)
{
	return v > 0 ? (unsigned long)v : 0;
}

static unsigned long holder_page_state(struct stat_holder *h, enum vm_item item)
{
	long v = atomic_long_read(&h->v[item]);

	world_line_read(&h->line);
	return not_negative(v);
}

unsigned long zone_page_state(struct zone *z, enum vm_item item)
{
	return holder_page_state(&z->stat, item);
}

unsigned long node_page_state(struct zone *z, enum vm_item item)
{
	return holder_page_state(z->node_stat, item);
}

/* A line of every CPU, whether it has a difference or not: that is what it costs. */
unsigned long zone_page_state_snapshot(struct zone *z, enum vm_item item)
{
	struct machine *m = z->machine;
	long v = atomic_long_read(&z->stat.v[item]);
	u32 nr_unused = 0;

	world_line_read(&z->stat.line);
	for (u32 cpu = 0; cpu < m->nr_cpus; cpu++) {
		struct stat_cpu *s = z->stat.cpu[cpu];

		if (!s) {
			nr_unused += 1;
			continue;
		}
		world_line_read_next(&s->line);
		v += s->diff[item];
	}
	charge_n(COST_LINE_OWN, nr_unused);
	return not_negative(v);
}

unsigned long global_page_state(struct machine *m, enum vm_item item)
{
	return not_negative(atomic_long_peek(&m->vm_stat.v[item]));
}

long stat_exact(const struct machine *m, const struct stat_holder *h, enum vm_item item)
{
	long v = atomic_long_peek(&h->v[item]);

	for (u32 cpu = 0; h->cpu && cpu < m->nr_cpus; cpu++)
		if (h->cpu[cpu])
			v += h->cpu[cpu]->diff[item];
	return v;
}

long item_exact(const struct machine *m, enum vm_item item)
{
	const struct pglist_data *pgdat;
	const struct zone *z;
	long sum = 0;

	for_each_node (m, pgdat)
		sum += stat_exact(m, &pgdat->stat, item);
	for_each_populated_zone (m, pgdat, z)
		sum += stat_exact(m, &z->stat, item);
	return sum;
}

u64 vm_event_sum(const struct machine *m, enum vm_event e)
{
	u64 sum = 0;

	for (u32 cpu = 0; cpu < m->nr_cpus; cpu++)
		if (m->cpu[cpu])
			sum += m->cpu[cpu]->event[e];
	return sum;
}

u64 vm_event_zones(const struct machine *m, enum vm_event e)
{
	u64 sum = 0;

	for (int type = 0; type < MAX_NR_ZONES; type++)
		sum += vm_event_sum(m, ZONE_EVENT(e, type));
	return sum;
}

/* ---- thresholds ------------------------------------------------------------------------------------ */

/*
 * Twice the bits of the number of CPUs, times those of the zone's size in units of 128 MiB; a byte
 * holds no more than 125 with room to step over.
 */
static u8 calculate_normal_threshold(u32 nr_cpus, unsigned long pages)
{
	unsigned long mem = pages >> (27 - PAGE_SHIFT);

	return (u8)min(125, 2 * fls(nr_cpus) * (1 + fls64(mem)));
}

/* While kswapd is awake: the differences of all CPUs together fit between min and low (2.6.38). */
static u8 calculate_pressure_threshold(const struct zone *z)
{
	unsigned long room = z->_watermark[WMARK_LOW] - z->_watermark[WMARK_MIN];

	return (u8)clamp_t(unsigned long, room / z->machine->nr_cpus, 1, 125);
}

/* Every CPU's byte is written, and its line with it. */
static void holder_set_threshold(struct machine *m, struct stat_holder *h, u8 threshold)
{
	h->threshold = threshold;
	for (u32 cpu = 0; h->cpu && cpu < m->nr_cpus; cpu++) {
		struct stat_cpu *s = h->cpu[cpu];

		if (!s)
			continue;
		world_line_write(&s->line);
		s->threshold = threshold;
	}
}

unsigned long zone_max_drift(const struct zone *z)
{
	u32 nr_cpus = z->machine->nr_cpus;

	return (unsigned long)nr_cpus * calculate_normal_threshold(nr_cpus, zone_size(z));
}

/*
 * The drift mark is the value of the cheap counter from which on the true one cannot be below the
 * high mark. 0 where the drift is too small to matter.
 */
static void zone_set_threshold(struct machine *m, struct zone *z)
{
	unsigned long drift = zone_max_drift(z);

	z->threshold_normal = calculate_normal_threshold(m->nr_cpus, zone_size(z));
	z->threshold_pressure = calculate_pressure_threshold(z);
	holder_set_threshold(m, &z->stat, z->threshold_normal);
	z->percpu_drift_mark = 0;
	if (drift > z->_watermark[WMARK_LOW] - z->_watermark[WMARK_MIN])
		z->percpu_drift_mark = z->_watermark[WMARK_HIGH] + drift;
}

/* A node's items have the largest threshold of its zones. */
void refresh_zone_stat_thresholds(struct machine *m)
{
	struct pglist_data *pgdat;

	for_each_node (m, pgdat) {
		u8 most = 0;

		for (struct zone *z = pgdat->zone; z < pgdat->zone + MAX_NR_ZONES; z++) {
			if (!populated_zone(z))
				continue;
			zone_set_threshold(m, z);
			most = max(most, z->threshold_normal);
		}
		holder_set_threshold(m, &pgdat->stat, most);
	}
}

void set_pgdat_percpu_threshold(struct pglist_data *pgdat, bool pressure)
{
	struct machine *m = pgdat->machine;

	if (m->knob.free_estimate != ESTIMATE_PRESSURE)
		return;
	world_order();
	for (struct zone *z = pgdat->zone; z < pgdat->zone + MAX_NR_ZONES; z++)
		if (z->percpu_drift_mark)
			holder_set_threshold(m, &z->stat,
			                     pressure ? z->threshold_pressure
			                              : z->threshold_normal);
}

/* ---- folding --------------------------------------------------------------------------------------- */

/* Adds what this CPU has for @h to the global values. Returns how many items had something. */
static u32 fold_holder(struct machine *m, struct stat_holder *h)
{
	struct stat_cpu *s = h->cpu ? h->cpu[world_cpu_id()] : NULL;
	u32 changes = 0;

	if (!s)
		return 0;
	charge_n(COST_VMSTAT, NR_VM_ITEMS);
	for (int item = 0; item < NR_VM_ITEMS; item++) {
		long diff = s->diff[item];

		if (!diff)
			continue;
		s->diff[item] = 0;
		__stat_fold(m, h, (enum vm_item)item, diff);
		changes += 1;
	}
	return changes;
}

/*
 * The per-CPU list of a zone ages with the fold: from 6.7 on its high mark decays; and pages of
 * other nodes that were not touched for three folds go back. Anything still to do?
 */
static bool age_pcp(struct machine *m, struct zone *z, bool changed)
{
	struct per_cpu_pages *pcp = z->pcp[world_cpu_id()];
	bool todo;

	if (!pcp)
		return false;
	if (changed)
		pcp->expire = 3;
	todo = pcp_is_auto(m) && decay_pcp_high(m, z, pcp);
	if (!pcp->expire || !pcp->count)
		return todo;
	if (z->pgdat == this_node(m)) {
		pcp->expire = 0;
		return todo;
	}
	if (--pcp->expire)
		return true;
	drain_zone_pages(m, z, pcp);
	return true;
}

/* Folds and ages everything of this CPU's. Returns whether there was anything to do. */
static bool __refresh_cpu_vm_stats(struct machine *m)
{
	struct pglist_data *pgdat;
	struct zone *z;
	bool busy = false;

	for_each_node (m, pgdat)
		busy |= fold_holder(m, &pgdat->stat) != 0;
	for_each_populated_zone (m, pgdat, z) {
		bool changed = fold_holder(m, &z->stat) != 0;

		busy |= changed;
		busy |= age_pcp(m, z, changed);
	}
	return busy;
}

void refresh_cpu_vm_stats(struct machine *m)
{
	__refresh_cpu_vm_stats(m);
}

/* Folds; with nothing left to do, the CPU's bytes go back. Interrupts are off. */
static void fold_and_rearm(struct machine *m, struct cpu_data *d, bool again)
{
	struct pglist_data *pgdat;
	struct zone *z;

	span_enter(SPAN_VMSTAT);
	if (__refresh_cpu_vm_stats(m) || again) {
		stat_timer_arm(m, d);
	} else {
		for_each_node (m, pgdat)
			if (pgdat->stat.cpu)
				stat_cpu_release(d, &pgdat->stat);
		for_each_populated_zone (m, pgdat, z)
			stat_cpu_release(d, &z->stat);
	}
	span_exit();
}

static void stat_fold_work(struct machine *m, struct work_struct *work)
{
	world_irq_save();
	fold_and_rearm(m, container_of(work, struct cpu_data, stat_work), true);
	world_irq_restore();
}

static void stat_fold_timer(struct world_timer *t)
{
	struct machine *m = world_self->w->machine;
	struct cpu_data *d = container_of(t, struct cpu_data, stat_timer);

	if (m->knob.stat_worker == STAT_WORKER_ALL && world_self->task->kind != WORLD_TASK_IDLE) {
		init_work(&d->stat_work, stat_fold_work);
		queue_work_on(m, world_cpu_id(), &d->stat_work);
		return;
	}
	fold_and_rearm(m, d, false);
}

/* ---- audit ----------------------------------------------------------------------------------------- */

/* No difference beyond its threshold: every change ends within it, and a lowered one is folded to. */
static void holder_audit(const struct machine *m, const struct stat_holder *h, u8 threshold)
{
	for (u32 cpu = 0; h->cpu && cpu < m->nr_cpus; cpu++) {
		const struct stat_cpu *s = h->cpu[cpu];

		if (!s)
			continue;
		VM_BUG_ON(s->threshold > threshold);
		for (int item = 0; item < NR_VM_ITEMS; item++)
			VM_BUG_ON_MSG(s->diff[item] > threshold || s->diff[item] < -threshold,
			              "CPU %u has a difference of %d in %s, threshold %u", cpu,
			              s->diff[item], vm_item_name[item], threshold);
	}
}

/*
 * Two items are no amounts: a zone's turn is overdrawn by what other CPUs take meanwhile, and a free
 * takes the cheap value off nr_pages_scanned each time until that has been folded.
 */
static bool item_may_be_negative(enum vm_item item)
{
	return item == NR_ALLOC_BATCH || item == NR_PAGES_SCANNED;
}

/* The sums over zones and nodes are the global values, and no amount is negative. */
static void item_audit(struct machine *m, enum vm_item item)
{
	bool node = m->knob.lru_per == LRU_PER_NODE && vm_item_is_node[item];
	struct pglist_data *pgdat;
	struct zone *z;
	long sum = 0;

	if (node) {
		for_each_node (m, pgdat) {
			sum += atomic_long_peek(&pgdat->stat.v[item]);
			VM_BUG_ON_MSG(stat_exact(m, &pgdat->stat, item) < 0,
			              "node %u: %s is negative", pgdat->node_id,
			              vm_item_name[item]);
		}
	} else {
		for_each_populated_zone (m, pgdat, z) {
			sum += atomic_long_peek(&z->stat.v[item]);
			VM_BUG_ON_MSG(!item_may_be_negative(item) &&
			                      stat_exact(m, &z->stat, item) < 0,
			              "node %u zone %s: %s is negative", pgdat->node_id, z->name,
			              vm_item_name[item]);
		}
	}
	VM_BUG_ON_MSG(sum != atomic_long_peek(&m->vm_stat.v[item]),
	              "%s: zones or nodes have %ld, the machine %ld", vm_item_name[item], sum,
	              atomic_long_peek(&m->vm_stat.v[item]));
}

void vmstat_audit(struct machine *m)
{
	struct pglist_data *pgdat;
	struct zone *z;

	for_each_node (m, pgdat)
		holder_audit(m, &pgdat->stat, pgdat->stat.threshold);
	for_each_populated_zone (m, pgdat, z)
		holder_audit(m, &z->stat, z->threshold_normal);
	for (int item = 0; item < NR_VM_ITEMS; item++)
		item_audit(m, (enum vm_item)item);
}
