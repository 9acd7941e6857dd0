/*
 * Entry of page faults: which VMA, under which lock, and what becomes of failures (Linux
 * arch/x86/mm/fault.c and the first lines of mm/memory.c's handle_mm_fault()). The one fault that is nearly
 * all of them has a header of its own.
 */
#include "core/first_touch.h"

/* ---- which VMA ---------------------------------------------------------------------------------------- */

/*
 * Finds the VMA and locks it alone; NULL: mmap_sem must be taken. The tree is read without a lock, as
 * under RCU; the VMA may be freed, and its memory used for another, before the lock is had, so it is
 * asked afterwards whether it is still the right one.
 */
static struct vm_area_struct *lock_vma_under_rcu(struct vm_fault *f)
{
	struct vm_area_struct *vma;

	if (f->mm->mm_users > 1)
		world_order();
	vma = find_vma_uncharged(f->mm, f->va);
	if (!vma || vma->vm_lock_seq == f->mm->mm_lock_seq)
		return NULL;
	if (!read_lock_alone(f->mm, &vma->vm_lock) && !down_read_trylock(&vma->vm_lock))
		return NULL;
	if (vma->vm_mm == f->mm && f->va >= vma->vm_start && f->va < vma->vm_end &&
	    vma->vm_lock_seq != f->mm->mm_lock_seq)
		return vma;
	up_read(&vma->vm_lock);
	return NULL;
}

/* Locks what the fault needs; false: there is no VMA, and nothing is locked. */
static bool fault_lock_mm(struct vm_fault *f, bool try_vma)
{
	f->vma_locked = false;
	if (try_vma) {
		f->vma = lock_vma_under_rcu(f);
		if (f->vma) {
			f->vma_locked = true;
			return true;
		}
	}
	if (!read_lock_alone(f->mm, &f->mm->mmap_sem))
		down_read(&f->mm->mmap_sem);
	f->vma = find_vma_uncharged(f->mm, f->va);
	if (likely(f->vma && f->va >= f->vma->vm_start))
		return true;
	up_read(&f->mm->mmap_sem);
	return false;
}

/* x86's access_error(): what may be written may be read. */
static inline bool access_allowed(const struct vm_fault *f)
{
	return f->vma->vm_flags & (f->write ? VM_WRITE : VM_READ | VM_WRITE | VM_EXEC);
}

static noinline int handle_mm_fault(struct machine *m, struct mm_struct *mm, u64 va, bool write)
{
	struct vm_fault f = {
		.m = m,
		.mm = mm,
		.va = va,
		.write = write,
		.may_retry = true,
		.killable = true,
	};
	bool try_vma = m->knob.vma_lock == KNOB_ON;
	int major = 0;
	int ret;

	for (;;) {
		if (!fault_lock_mm(&f, try_vma))
			return VM_FAULT_SIGSEGV;
		ret = access_allowed(&f) ? handle_pte_fault(&f) : VM_FAULT_SIGSEGV;
		if (likely(!(ret & VM_FAULT_RETRY)))
			break;
		/* The lock has been dropped. The second time it is mmap_sem, and is kept. */
		major |= ret & VM_FAULT_MAJOR;
		if (unlikely(current_task()->killed))
			return ret | major;
		f.may_retry = false;
		try_vma = false;
	}
	fault_unlock_mm(&f);
	return ret | major;
}

/* ---- first touches --------------------------------------------------------------------------------- */

/* Boot: the times of these paths, in the steps in which they are spent. */
void fault_init(struct machine *m)
{
	struct world *w = m->world;
	struct first_touch *t = &m->first_touch;

#define TAKE(op) world_path_add(w, PATH_TOUCH_TAKE, COST_##op, 1)
#define MAP(op) world_path_add(w, PATH_TOUCH_MAP, COST_##op, 1)
	t->sem_ns = TAKE(LINE_OWN) + TAKE(RWSEM);
	t->take_ns = TAKE(VMA_LOOKUP) + TAKE(PT_WALK) + TAKE(PTE) + TAKE(PAGE_CLEAR) + TAKE(ALLOC) +
	             TAKE(WATERMARK) + TAKE(PCP) + TAKE(PAGE_LINE) +
	             world_path_add(w, PATH_TOUCH_TAKE, COST_VMSTAT, nr_alloc_counters(m));
	t->ptl_ns = MAP(LINE_OWN) + MAP(SPIN);
	t->map_ns = MAP(VMSTAT) + MAP(LRU_BATCH) + MAP(RSS) + MAP(PTE) + MAP(SPIN);
	t->end_ns = MAP(LINE_OWN) + MAP(RWSEM);
#undef TAKE
#undef MAP
	t->page_flags = 1u << PG_uptodate | 1u << PG_swapbacked;
	if (m->knob.lru_anon == LRU_ANON_ACTIVE)
		t->page_flags |= 1u << PG_active;
}

/* A read that came after a fold of @cpu has found the line elsewhere. Returns what that takes, ns. */
static __always_inline u32 pay_line(struct world_cpu *c, u16 cpu)
{
	enum world_cost cost = world_distance(c, cpu);

	c->cost_count[COST_LINE_OWN] -= 1;
	c->cost_count[cost] += 1;
	return c->cost[cost] - c->cost[COST_LINE_OWN];
}

/*
 * Everybody has caught up with the reads of @a. Which of them were the first after a fold of another CPU's, as
 * they would have seen had they waited for it? Newest first; before the oldest fold kept, each of them.
 */
u32 pay_ahead_reads(struct ahead_reads *a)
{
	const struct stat_holder *h = a->holder;
	struct world_cpu *c = world_self;
	u32 oldest = h->nr_folds > FOLDS_KEPT ? h->nr_folds - FOLDS_KEPT : 0;
	u64 last = a->from + (a->nr - 1) * a->period_ns;
	u64 read = last; /* the last that has not been looked at */
	u64 at = SIZE_MAX;
	u16 cpu = c->id;
	u32 ns = 0;

	for (u32 f = h->nr_folds; f-- > oldest && read > a->from;) {
		at = h->fold_at[f % FOLDS_KEPT];
		cpu = h->fold_cpu[f % FOLDS_KEPT];
		if (at <= a->from)
			break;
		if (cpu == c->id || at > read)
			continue;
		/* It was seen by the first read at its time or later. */
		do
			read -= a->period_ns;
		while (read >= at);
		ns += pay_line(c, cpu);
	}
	for (; oldest && at > a->from && at <= last && read > a->from; read -= a->period_ns)
		ns += pay_line(c, cpu);
	a->nr = 0;
	return ns;
}

/* The upcall: first touches in a row, if that is what comes. */
u32 machine_fault_run(void *machine, struct world_task *wt, u64 va, u32 max, u64 gap_ns,
                      bool single)
{
	struct machine *m = machine;
	struct task *t = (struct task *)wt;
	u32 nr;

	if (unlikely(t->killed || m->mthp_always | m->mthp_madvise) || !touch_run_may_fit(m))
		return 0;
	nr = first_touches(m, t->mm, va & PAGE_MASK, max, gap_ns, single);
	t->min_flt += nr;
	return nr;
}

/* ---- failures ---------------------------------------------------------------------------------------------- */

/*
 * No frame for a fault: the allocator has already reclaimed and killed what it could, so this is
 * mostly the victim itself. 0: try again.
 */
static int fault_out_of_memory(struct machine *m, struct task *t)
{
	bool killed = true;

	if (t->killed)
		return -EINTR;
	if (mutex_trylock(&m->oom_lock)) {
		killed = out_of_memory(m, GFP_HIGHUSER_MOVABLE, 0);
		mutex_unlock(&m->oom_lock);
	}
	if (!killed)
		return -ENOMEM;
	if (!t->killed)
		world_sleep(world_ticks_to_ns(1));
	return t->killed ? -EINTR : 0;
}

static int __cold fault_failed(struct machine *m, struct task *t, int ret)
{
	if (ret & VM_FAULT_OOM)
		return fault_out_of_memory(m, t);
	if (ret & VM_FAULT_SIGSEGV)
		return -EFAULT;
	t->killed = true; /* SIGBUS: the page cannot be read back */
	m->nr_sigbus += 1;
	return -EIO;
}

/* ---- entry ---------------------------------------------------------------------------------------------- */

int machine_fault(void *machine, struct world_task *wt, u64 va, enum world_access kind)
{
	struct machine *m = machine;
	struct task *t = (struct task *)wt;
	bool write = kind == WORLD_WRITE || kind == WORLD_FILL;
	u64 start = world_now();
	int ret = VM_FAULT_FALLBACK;

	if (unlikely(t->killed))
		return -EINTR;
	world_trace(EVENT_FAULT, va, kind);
	va &= PAGE_MASK;
	if (likely(write && !(m->mthp_always | m->mthp_madvise)))
		ret = first_touch(m, t->mm, va);
	if (ret == VM_FAULT_FALLBACK)
		ret = handle_mm_fault(m, t->mm, va, write);
	count_vm_event(m, PGFAULT);
	if (unlikely(ret & VM_FAULT_MAJOR)) {
		t->maj_flt += 1;
		world_latency(HIST_MAJOR_FAULT, start);
	} else {
		t->min_flt += 1;
		world_latency(HIST_FAULT, start);
	}
	return unlikely(ret & VM_FAULT_ERROR) ? fault_failed(m, t, ret) : 0;
}
