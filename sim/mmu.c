/*
 * User mode and the MMU: entering and leaving the kernel, user accesses, address spaces, TLBs.
 *
 * An access walks the core's tables as the hardware does, a leaf table at a time, and sets accessed
 * and dirty bits in place. Time is charged for runs of pages; between order points a task covers at
 * most one leaf table or SIM_RUN_AHEAD_NS. There is no TLB: every page costs one miss, entries take
 * effect at once, and a flush costs its time on the CPUs that may hold entries. So a CPU never uses
 * a stale entry, and an accessed bit that was cleared without a flush is set again by the next
 * access.
 */
#include "sim/engine.h"

#include <errno.h>
#include <string.h>

#include "lib/bitmap.h"

/* ---- address spaces ------------------------------------------------------------------------- */

static void sim_mask_clear(struct world_as *as, u32 cpu)
{
	__clear_bit(cpu, as->cpumask);
	as->nr_loaded -= 1;
}

static void sim_unload_as(struct sim_cpu *s)
{
	struct world_as *as = s->loaded;

	if (!as)
		return;
	VM_BUG_ON(!test_bit(s->cpu.id, as->cpumask));
	s->loaded = NULL;
	if (!s->sim->w.lazy_cpumask)
		sim_mask_clear(as, s->cpu.id);
}

void sim_load_as(struct sim_cpu *s, struct world_as *as)
{
	if (s->loaded == as)
		return;
	sim_unload_as(s);
	s->loaded = as;
	if (test_bit(s->cpu.id, as->cpumask)) {
		VM_BUG_ON(!s->sim->w.lazy_cpumask);
		return;
	}
	__set_bit(s->cpu.id, as->cpumask);
	as->nr_loaded += 1;
}

void sim_use_as(struct world_as *as)
{
	struct sim_cpu *s = sim_self();
	struct sim *sim = s->sim;
	struct world_task *t = s->cpu.task;
	struct world_as *old = t->as;
	u64 cpu;

	if (as == old)
		return;
	world_order();
	t->as = as;
	if (as) {
		as->nr_tasks += 1;
		sim_load_as(s, as);
	}
	if (!old || --old->nr_tasks)
		return;
	/* The core may free it now. */
	for_each_set_bit (cpu, old->cpumask, sim->w.hw->nr_cpus) {
		if (sim_cpu(sim, cpu)->loaded == old)
			sim_unload_as(sim_cpu(sim, cpu));
		if (test_bit(cpu, old->cpumask))
			sim_mask_clear(old, (u32)cpu);
	}
}

/* ---- TLB flushes ---------------------------------------------------------------------------- */

struct sim_flush {
	struct world_as *as; /* NULL: whatever is loaded */
	u64 nr_pages;
	bool trim; /* who has left the address space is taken out of its mask */
};

static void sim_flush_own(u64 nr_pages)
{
	if (nr_pages > WORLD_TLB_CEILING)
		charge(COST_TLB_FULL);
	else
		charge_n(COST_INVLPG, nr_pages);
}

/* A CPU that only borrows the address space (lazy TLB) lets go of it: one IPI, and no more. */
static void sim_flush_ipi(void *arg)
{
	const struct sim_flush *f = arg;
	struct sim_cpu *s = sim_self();

	if (f->as && s->loaded != f->as) {
		if (f->trim && test_bit(s->cpu.id, f->as->cpumask))
			sim_mask_clear(f->as, s->cpu.id);
		return; /* has changed its address space meanwhile */
	}
	if (s->loaded && s->cpu.task->as != s->loaded) {
		sim_unload_as(s);
		charge(COST_TLB_FULL);
		return;
	}
	sim_flush_own(f->nr_pages);
}

static void sim_flush_mask(const u64 *mask, struct sim_flush *f)
{
	struct world_cpu *c = world_self;
	u32 nr_words = DIV_ROUND_UP((u32)c->w->hw->nr_cpus, 64u);
	u64 others = 0;

	world_order();
	for (u32 i = 0; i < nr_words; i++)
		others |= mask[i] & ~(i == c->id / 64u ? BIT(c->id % 64) : 0);
	if (test_bit(c->id, mask))
		sim_flush_own(f->nr_pages);
	if (others)
		sim_ipi(mask, sim_flush_ipi, f);
}

/* Linux's TRIM_DELAY_JIFFIES (6db2526c1d69, 6.14): an address space's mask is looked through once a second. */
#define SIM_TRIM_NS 1000000000UL

static bool sim_is_time_to_trim(struct world_as *as)
{
	u64 now = world_now();

	if (now < as->trim_at)
		return false;
	as->trim_at = now + SIM_TRIM_NS;
	return true;
}

/*
 * Whom of @mask a flush must reach where masks are lazy (Linux's should_flush_tlb()): not those in lazy
 * TLB mode, which will find out when they go back to a user task, and, if the flush is of one address
 * space, not those that run another, unless it is time to take them out of the mask.
 */
static void sim_flush_lazy(const u64 *mask, struct sim_flush *f)
{
	struct sim *sim = sim_self()->sim;
	u64 wanted[HW_MAX_CPUS / 64] = {0};
	u64 cpu;

	world_order();
	f->trim = f->as && sim_is_time_to_trim(f->as);
	for_each_set_bit (cpu, mask, sim->w.hw->nr_cpus) {
		const struct sim_cpu *s = sim_cpu(sim, cpu);

		if (s->loaded && s->cpu.task->as != s->loaded && &s->cpu != world_self)
			continue;
		if (!f->as || s->loaded == f->as || f->trim)
			__set_bit(cpu, wanted);
	}
	sim_flush_mask(wanted, f);
}

static void sim_flush(const u64 *mask, struct sim_flush *f)
{
	if (world_self->w->lazy_cpumask)
		sim_flush_lazy(mask, f);
	else
		sim_flush_mask(mask, f);
}

void sim_tlb_flush(struct world_as *as, u64 start, u64 end)
{
	struct sim_flush f = {.as = as, .nr_pages = DIV_ROUND_UP(end - start, PAGE_SIZE)};

	if (!as->nr_loaded)
		return;
	sim_flush(as->cpumask, &f);
}

void sim_tlb_flush_mask(const u64 *cpumask)
{
	struct sim_flush f = {.nr_pages = WORLD_TLB_CEILING + 1};

	sim_flush(cpumask, &f);
}

/* ---- user mode ------------------------------------------------------------------------------ */

void sim_user(bool enter)
{
	struct world_cpu *c = world_self;
	struct world_task *t = c->task;

	VM_BUG_ON(t->in_user == enter);
	if (enter) {
		sim_preempt_point();
		c = world_self;
	}
	world_task_account(c, t);
	t->in_user = enter;
}

static void sim_user_preempt(const struct world_cpu *c)
{
	if (unlikely(c->need_resched)) {
		sim_user(false);
		sim_user(true);
	}
}

/*
 * In user mode: interrupts have run, other CPUs have caught up. Gives way if it must. False if
 * nothing can have happened.
 */
static bool sim_user_order(void)
{
	struct world_cpu *c = world_self;

	if (likely(c->clock < c->limit))
		return false;
	if (unlikely(c->clock < c->turn)) {
		sim_look(c);
		return false;
	}
	sim_order(c);
	sim_user_preempt(c);
	return true;
}

/*
 * The factor of this task's user code for one call, in 2^-20: its own speed, and the profile's
 * seeded jitter.
 */
static u64 sim_user_factor(struct sim *sim, struct sim_task *t)
{
	u64 jitter_bp = sim->w.hw->seed_jitter_bp;
	u64 factor = ((u64)t->speed_bp << 20) / SIM_NORMAL_SPEED;

	if (jitter_bp) {
		u64 r = rand_hash(sim->w.seed, SIM_STREAM_JITTER, t->task->id, t->nr_accesses++);

		factor = factor * (10000 - jitter_bp + rand_reduce(r, 2 * jitter_bp + 1)) / 10000;
	}
	return factor;
}

static u64 sim_user_scale(u64 ns, u64 factor)
{
	return factor == 1UL << 20 ? ns : (u64)(((unsigned __int128)ns * factor) >> 20);
}

void sim_user_compute(u64 ns)
{
	struct sim_cpu *s = sim_self();
	struct world_task *t = s->cpu.task;
	u64 end;

	VM_BUG_ON_MSG(!t->in_user, "user code runs in the kernel");
	world_task_account(&s->cpu, t);
	end = t->utime_ns + sim_user_scale(ns, sim_user_factor(s->sim, t->engine));
	while (t->utime_ns < end && !t->signal) {
		struct sim_wait w = {.at = s->cpu.clock + end - t->utime_ns};

		/* It touches nothing, so other CPUs need not take turns with it. */
		sim_park(s, &w, SIM_PARKED_COMPUTE);
		world_task_account(&s->cpu, t);
		sim_order(&s->cpu);
		sim_user_preempt(&s->cpu);
		s = sim_self();
		world_task_account(&s->cpu, t);
	}
}

/* ---- user accesses -------------------------------------------------------------------------- */

#define SIM_REGIONS 8

/* Second-level tables that were found, by the number of the 1 GiB region, while table_gen stays the same. */
struct sim_regions {
	u64 gen;
	u64 index[SIM_REGIONS];
	pte_t *table[SIM_REGIONS];
};

/* One call of world_user_access(). */
struct sim_access {
	struct sim *sim;
	struct world_task *task;
	struct world_as *as;
	enum world_access kind;
	enum world_cost cost;
	u64 needs;
	u64 sets;
	u64 factor;  /* of user time, in 2^-20 */
	u32 nr_max;  /* pages between order points */
	u64 page_ns; /* user time of a page that is accessed alone */
	bool runs;   /* faults may be taken in runs, */
	bool single; /* but somebody looks on who is to see each */
	pte_t *leaf; /* the leaf table found last, while table_gen stays the same */
	u64 leaf_index;
	u64 leaf_gen;
	struct sim_regions regions;
	u64 stuck_va; /* a fault that comes back for ever: of a store to a folio larger than the dirty limit, or a bug */
	u32 nr_stuck;
};

#define SIM_STUCK_MAX 100000

static void sim_access_init(struct sim_access *a, struct world_as *as, enum world_access kind)
{
	struct world_cpu *c = world_self;
	a->sim = sim_of(c->w);
	a->task = c->task;
	a->as = as;
	a->kind = kind;
	a->cost = world_access_cost(kind);
	a->needs = world_access_needs(kind);
	a->sets = world_access_sets(kind);
	a->factor = sim_user_factor(a->sim, a->task->engine);
	a->page_ns = sim_user_scale(c->cost[COST_TLB_MISS] + c->cost[a->cost], a->factor);
	a->nr_max = a->page_ns ? (u32)clamp_t(u64, SIM_RUN_AHEAD_NS / a->page_ns, 1, PTRS_PER_TABLE)
	                       : PTRS_PER_TABLE;
	a->runs =
		c->w->up->fault_run && (kind == WORLD_WRITE || kind == WORLD_FILL) && a->nr_max > 1;
	a->single = c->w->check || c->w->tracing || a->sim->heat || a->sim->slices;
	a->leaf = NULL;
	a->regions.gen = ~as->table_gen;
	a->stuck_va = SIM_NEVER;
	a->nr_stuck = 0;
}

/* Charges @nr pages, in one of which nothing happened. */
static __always_inline void sim_access_charge(const struct sim_access *a, u64 nr, u64 nr_misses)
{
	struct world_cpu *c = world_self;
	u64 ns = c->cost[COST_TLB_MISS] * nr_misses + c->cost[a->cost] * nr;

	c->clock += sim_user_scale(ns, a->factor);
	c->cost_count[COST_TLB_MISS] += nr_misses;
	c->cost_count[a->cost] += nr;
}

/*
 * The faults of @nr pages in a row have been taken as one. Between two of them user code accesses a page, and
 * is trapped again by the next.
 */
static void sim_fault_gaps(const struct sim_access *a, struct world_cpu *c, u64 nr)
{
	struct world_task *t = a->task;
	u64 user_ns = nr * a->page_ns;

	t->utime_ns += user_ns;
	t->mode_start += user_ns;
	t->span_stack[t->span_depth - 1]->ns += user_ns;
	c->span_start += user_ns;
	c->span->count += nr;
	c->cost_count[COST_FAULT_TRAP] += nr;
	c->cost_count[COST_TLB_MISS] += nr;
	c->cost_count[a->cost] += nr;
}

/* Up to @max first touches from @va on in one go. Returns how many; 0: the fault is still to be handled. */
static u64 sim_fault_run(const struct sim_access *a, struct world_cpu *c, u64 va, u64 max)
{
	u64 nr;

	if (max < 2 || c->need_resched || a->task->signal)
		return 0;
	nr = c->w->up->fault_run(c->w->machine, a->task, va, (u32)max,
	                         a->page_ns + c->cost[COST_FAULT_TRAP], a->single);
	if (nr > 1)
		sim_fault_gaps(a, c, nr - 1);
	return nr;
}

/*
 * The page that has just been mapped is accessed, and the next one, the @next-th of the leaf table, traps: if there is
 * nothing in between that the way back to user mode would look at.
 */
static __always_inline bool sim_fault_again(const struct sim_access *a, u64 next)
{
	struct sim_cpu *s = sim_self();
	struct world_cpu *c = &s->cpu;

	if (!a->runs || a->single || c->need_resched || a->task->signal ||
	    a->leaf_gen != a->as->table_gen || (a->leaf[next - 1].v & a->needs) != a->needs ||
	    (a->leaf[next].v & a->needs) == a->needs || s->next_irq <= c->clock + a->page_ns)
		return false;
	c->clock += a->page_ns + c->cost[COST_FAULT_TRAP];
	sim_fault_gaps(a, c, 1);
	return true;
}

/*
 * Enters the kernel for a page that cannot be accessed, and comes back to user mode; if it is easy, for up to
 * @max pages from there on, all but the last of which have then been accessed: *@nr is how many those are.
 * More than one: the leaf table has them all.
 */
static int sim_fault(struct sim_access *a, u64 va, u64 max, u64 *nr)
{
	struct world_cpu *c = world_self;
	struct world_task *t = a->task;
	u64 first = va / PAGE_SIZE % PTRS_PER_TABLE;
	u64 done = 0;
	int err = 0;

	if (va != a->stuck_va) {
		a->stuck_va = va;
		a->nr_stuck = 0;
	} else if (++a->nr_stuck == SIM_STUCK_MAX) {
		a->sim->stuck = (struct sim_stuck){a->task->id, va, a->nr_stuck};
		sim_end(a->sim, -ELOOP);
	}
	world_task_account(c, t);
	t->in_user = false;
	span_enter(SPAN_FAULT);
	__charge(c, COST_FAULT_TRAP);
	do {
		u64 at = va + done * PAGE_SIZE;
		u64 run = a->runs ? sim_fault_run(a, world_self, at, max - done) : 0;

		if (!run) {
			c = world_self;
			err = c->w->up->fault(c->w->machine, t, at, a->kind);
			run = 1;
		}
		done += run;
	} while (done < max && !err && sim_fault_again(a, first + done));
	*nr = done - 1;
	span_exit();
	if (unlikely(world_self->need_resched))
		sim_preempt_point();
	world_task_account(world_self, t);
	t->in_user = true;
	if (!err && unlikely(t->signal))
		err = -EINTR;
	return err;
}

/* The second-level table that covers @page, or NULL. */
static noinline pte_t *sim_find_region(const struct sim_access *a, u64 page)
{
	pte_t *table = world_table(&a->sim->w, a->as->root);

	for (unsigned int level = PTE_LEVELS - 1; level > 1; level--) {
		pte_t entry = table[pte_index(page << PAGE_SHIFT, level)];

		if (!pte_present(entry))
			return NULL;
		table = world_table(&a->sim->w, pte_pfn(entry));
	}
	return table;
}

/* The second-level entry that covers @page, or NULL: it may not be present, or huge. */
static __always_inline pte_t *sim_find_pmd(struct sim_access *a, u64 page)
{
	struct sim_regions *r = &a->regions;
	u64 index = page / (PTRS_PER_TABLE * PTRS_PER_TABLE);
	u32 slot = index % SIM_REGIONS;

	if (unlikely(r->gen != a->as->table_gen)) {
		memset(r->index, 0xff, sizeof(r->index));
		r->gen = a->as->table_gen;
	}
	if (unlikely(r->index[slot] != index)) {
		pte_t *table = sim_find_region(a, page);

		if (!table)
			return NULL;
		r->index[slot] = index;
		r->table[slot] = table;
	}
	return &r->table[slot][page / PTRS_PER_TABLE % PTRS_PER_TABLE];
}

/* The leaf table of page @page, or NULL; *@huge is the entry, if a huge one maps it. */
static __always_inline pte_t *sim_find_leaf(struct sim_access *a, u64 page, pte_t **huge)
{
	u64 index = page / PTRS_PER_TABLE;
	pte_t *entry;

	*huge = NULL;
	if (a->leaf && a->leaf_index == index && a->leaf_gen == a->as->table_gen)
		return a->leaf;
	a->leaf = NULL;
	entry = sim_find_pmd(a, page);
	if (!entry || !pte_present(*entry))
		return NULL;
	if (entry->v & PTE_HUGE) {
		*huge = entry;
		return NULL;
	}
	a->leaf = world_table(&a->sim->w, pte_pfn(*entry));
	a->leaf_index = index;
	a->leaf_gen = a->as->table_gen;
	return a->leaf;
}

/* Accesses entries until one does not allow it. Returns how many did. */
static __always_inline u64 sim_touch_run(pte_t *pte, u64 nr, u64 needs, u64 sets)
{
	u64 i;

	for (i = 0; i < nr; i++) {
		u64 v = pte[i].v;

		if (unlikely((v & needs) != needs))
			break;
		if ((v & sets) != sets)
			pte[i].v = v | sets;
	}
	return i;
}

/* All of the pages up to @end that the huge entry of @page maps. */
static u64 sim_touch_huge(struct sim_access *a, pte_t *entry, u64 page, u64 end)
{
	u64 nr = min(end, ALIGN_DOWN(page, PTRS_PER_TABLE) + PTRS_PER_TABLE) - page;

	if ((entry->v & a->needs) != a->needs)
		return 0;
	nr = min_t(u64, nr, a->nr_max);
	entry->v |= a->sets;
	sim_access_charge(a, nr, 1);
	return nr;
}

/* Has the task run ahead as far as it may, or is an interrupt due? */
static __always_inline bool sim_access_must_order(const struct sim_access *a, u64 nr_ahead)
{
	struct sim_cpu *s = sim_self();

	return nr_ahead >= a->nr_max || s->next_irq <= s->cpu.clock;
}

static int sim_access_in_order(struct sim_access *a, u64 page, u64 end)
{
	u64 nr_ahead = 0; /* pages since the last order point; a fault has some of its own */

	while (page < end) {
		pte_t *huge;
		pte_t *leaf = sim_find_leaf(a, page, &huge);
		u64 index = page % PTRS_PER_TABLE;
		u64 nr = min3(end - page, PTRS_PER_TABLE - index, a->nr_max - nr_ahead);
		u64 done = 0;

		if (leaf) {
			done = sim_touch_run(leaf + index, nr, a->needs, a->sets);
			sim_access_charge(a, done, done);
		} else if (huge) {
			done = sim_touch_huge(a, huge, page, end);
			nr = max(done, 1UL);
		}
		if (unlikely(a->sim->w.check))
			for (u64 i = 0; i < done; i++)
				sim_tag_access(a->sim, a->as, (page + i) << PAGE_SHIFT,
				               huge ? *huge : leaf[index + i], a->kind);
		if (unlikely(a->sim->heat) && done)
			sim_heat(a->sim, a->as, page, done);
		page += done;
		nr_ahead += done;
		if (sim_access_must_order(a, nr_ahead) || page % PTRS_PER_TABLE == 0) {
			nr_ahead = 0;
			if (sim_user_order()) {
				if (unlikely(a->task->signal))
					return -EINTR;
				continue;
			}
		}
		if (done < nr) {
			u64 more;
			/* Where there is no leaf table yet, the first fault is one of its own. */
			u64 max =
				leaf ? min(end - page, PTRS_PER_TABLE - page % PTRS_PER_TABLE) : 1;
			int err = sim_fault(a, page << PAGE_SHIFT, max, &more);

			if (err)
				return err;
			page += more;
			nr_ahead = 0;
		}
	}
	return 0;
}

/* ---- in random order ------------------------------------------------------------------------ */

/*
 * A seeded permutation of [0, nr): multiplications and shifts that are bijections of the next
 * power of two, walked until the result is in range. A step costs less than a Feistel round.
 */
struct sim_permutation {
	u64 nr;
	u64 mask;
	u32 shift;
	u64 mul[3];
	u64 add[3];
};

static void sim_permutation_init(struct sim_permutation *p, u64 nr, u64 seed)
{
	u32 bits = max(fls64(nr - 1), 1);

	p->nr = nr;
	p->mask = GENMASK(bits - 1, 0);
	p->shift = (bits + 1) / 2;
	for (u32 i = 0; i < 3; i++) {
		p->mul[i] = rand_hash(seed, SIM_STREAM_PATTERN, nr, 2 * i) | 1;
		p->add[i] = rand_hash(seed, SIM_STREAM_PATTERN, nr, 2 * i + 1);
	}
}

static __always_inline u64 sim_permute(const struct sim_permutation *p, u64 x)
{
	do {
		x = (x * p->mul[0] + p->add[0]) & p->mask;
		x ^= x >> p->shift;
		x = (x * p->mul[1] + p->add[1]) & p->mask;
		x ^= x >> p->shift;
		x = (x * p->mul[2] + p->add[2]) & p->mask;
	} while (x >= p->nr);
	return x;
}

#define SIM_BATCH 32 /* entries that are fetched ahead */

/* The entry that maps @page, or NULL. */
static __always_inline pte_t *sim_find_entry(struct sim_access *a, u64 page)
{
	pte_t *entry = sim_find_pmd(a, page);

	if (unlikely(!entry || !pte_present(*entry)))
		return NULL;
	if (unlikely(entry->v & PTE_HUGE))
		return entry;
	return &world_table(&a->sim->w, pte_pfn(*entry))[page % PTRS_PER_TABLE];
}

/* Accesses pages until one needs a fault. Returns how many were accessed. */
static __always_inline u64 sim_touch_batch(const struct sim_access *a, const u64 *page,
                                           pte_t *const *entry, u64 nr)
{
	u64 i;

	for (i = 0; i < nr; i++) {
		pte_t *e = entry[i];

		if (unlikely(!e || (e->v & a->needs) != a->needs))
			break;
		if ((e->v & a->sets) != a->sets)
			e->v |= a->sets;
		if (unlikely(a->sim->w.check))
			sim_tag_access(a->sim, a->as, page[i] << PAGE_SHIFT, *e, a->kind);
	}
	return i;
}

static int sim_access_at_random(struct sim_access *a, u64 first, u64 nr, u64 seed)
{
	struct sim_permutation perm;
	u64 page[SIM_BATCH];
	pte_t *entry[SIM_BATCH];
	u64 nr_ahead = 0; /* as above */
	u64 i = 0;

	sim_permutation_init(&perm, nr, seed);
	while (i < nr) {
		u64 n = min_t(u64, SIM_BATCH, nr - i);
		u64 done = 0;

		for (u64 k = 0; k < n; k++) {
			page[k] = first + sim_permute(&perm, i + k);
			entry[k] = sim_find_entry(a, page[k]);
			__builtin_prefetch(entry[k], 1);
		}
		while (done < n) {
			u64 ran = sim_touch_batch(a, page + done, entry + done, n - done);
			bool ordered = false;

			sim_access_charge(a, ran, ran);
			for (u64 k = done; unlikely(a->sim->heat) && k < done + ran; k++)
				sim_heat(a->sim, a->as, page[k], 1);
			done += ran;
			nr_ahead += ran;
			if (sim_access_must_order(a, nr_ahead)) {
				ordered = sim_user_order();
				nr_ahead = 0;
			}
			if (ordered && unlikely(a->task->signal))
				return -EINTR;
			if (done < n && !ordered) {
				u64 none;
				int err = sim_fault(a, page[done] << PAGE_SHIFT, 1, &none);

				if (err)
					return err;
				ordered = true;
				nr_ahead = 0;
			}
			/* Tables may have come or gone. */
			for (u64 k = done; ordered && k < n; k++)
				entry[k] = sim_find_entry(a, page[k]);
		}
		i += n;
	}
	return 0;
}

int sim_user_access(struct world_as *as, u64 va, u64 len, enum world_access kind, u64 seed)
{
	struct sim_access a;
	u64 first = va >> PAGE_SHIFT;
	u64 end = (va + len + PAGE_SIZE - 1) >> PAGE_SHIFT;

	VM_BUG_ON_MSG(!world_current()->in_user, "user code runs in the kernel");
	if (!len)
		return 0;
	sim_access_init(&a, as, kind);
	if (seed)
		return sim_access_at_random(&a, first, end - first, seed);
	return sim_access_in_order(&a, first, end);
}
