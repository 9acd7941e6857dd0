/*
 * Entry of page faults: which VMA, under which lock, and what becomes of failures (Linux
 * arch/x86/mm/fault.c and the first lines of mm/memory.c's handle_mm_fault()). And the one fault that is
 * nearly all of them, the first touch of an anonymous page, from beginning to end: first_touch().
 */
#include "core/alloc_fast.h"
#include "core/fault.h"
#include "core/huge_memory.h"

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

/* ---- the first touch --------------------------------------------------------------------------------- */

/* What a first touch is charged on either side of its order point. */
enum fault_path { PATH_TOUCH_TAKE, PATH_TOUCH_MAP };

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

/*
 * The lock that a first touch at @va holds, if it and the VMA are as usual: the task has no threads, and
 * the VMA that it found last is writable private memory that is not locked. NULL if not.
 */
static __always_inline struct rw_semaphore *
first_touch_lock(const struct machine *m, struct mm_struct *mm, struct vm_area_struct *vma, u64 va)
{
	struct rw_semaphore *sem = &mm->mmap_sem;

	if (unlikely(mm->mm_users > 1 || !vma || va < vma->vm_start || va >= vma->vm_end))
		return NULL;
	if (unlikely((vma->vm_flags & (VM_WRITE | VM_LOCKED)) != VM_WRITE || vma->vm_file ||
	             !vma->anon_vma))
		return NULL;
	if (m->knob.vma_lock == KNOB_ON) {
		if (unlikely(vma->vm_lock_seq == mm->mm_lock_seq))
			return NULL;
		sem = &vma->vm_lock;
	}
	return likely(__rwsem_is_at_hand(world_self, sem)) ? sem : NULL;
}

/* After the order point something was not as expected: the general functions go on. @page: taken already. */
static noinline int first_touch_slow(struct vm_fault f, struct page *page, u32 late)
{
	int ret = VM_FAULT_OOM;

	if (!page)
		page = alloc_zeroed_user_page_slow(f.m);
	if (page)
		ret = map_zeroed_page(&f, page, late);
	fault_unlock_mm(&f);
	return ret;
}

/*
 * The first touch of an anonymous page, when there is nothing special about anything. It does what
 * handle_mm_fault() would do, at the same times and for the same costs; but it looks first whether all of it
 * will be easy, spends its costs in five steps instead of twenty, and takes the table's lock without anybody
 * being able to see it: 500 instructions of the host instead of 730, of 1,700 for a page that is touched and
 * unmapped again. VM_FAULT_FALLBACK: nothing has been done.
 */
static __always_inline int first_touch(struct machine *m, struct mm_struct *mm, u64 va)
{
	const struct first_touch *t = &m->first_touch;
	struct world_cpu *c = world_self;
	struct vm_area_struct *vma = mm->vmacache;
	struct rw_semaphore *sem = first_touch_lock(m, mm, vma, va);
	u32 table = (u32)mm->leaf_cache;
	struct easy_alloc e;
	struct pt_table *pt;
	struct pagevec *pvec;
	struct page *page;
	u64 now = c->clock;
	u32 late = 0;
	pte_t *pte;

	if (unlikely(!sem || mm->leaf_cache >> 32 != leaf_cache_key(va)))
		return VM_FAULT_FALLBACK;
	pte = pt_entry(m, table, va);
	if (unlikely(!pte_none(*pte) || !alloc_is_easy(m, GFP_HIGHUSER_MOVABLE, &e)))
		return VM_FAULT_FALLBACK;

	__down_read_paid(c, sem, now + t->sem_ns);
	c->clock = now + t->sem_ns + t->take_ns;
	__count_path(c, PATH_TOUCH_TAKE);
	world_order_own();
	page = alloc_page_easy(m, &e, GFP_HIGHUSER_MOVABLE, &late);
	if (likely(page)) {
		__world_frame_clear(page_to_pfn(m, page));
		world_trace(EVENT_ALLOC, page_to_pfn(m, page), 0);
		world_order_own(); /* if counting it has taken time */
	}
	pt = &m->table[table];
	pvec = &this_cpu(m)->pvec.lru_add[m->lru_add_new_anon];
	if (unlikely(!page || !__spin_is_at_hand(c, &pt->ptl) || !pte_none(*pte) ||
	             pvec->nr + 1 >= m->knob.lru_batch))
		return first_touch_slow(
			(struct vm_fault){
				.m = m,
				.mm = mm,
				.vma = vma,
				.va = va,
				.write = true,
				.vma_locked = sem == &vma->vm_lock,
				.table = table,
				.pte = pte,
			},
			page, late);

	c->clock += t->ptl_ns;
	now = c->clock;
	page->flags |= t->page_flags;
	page->refcount = 2; /* the pte's, and the batch's */
	page->mapcount = 1;
	page->mapping = anon_vma_mapping(m, vma->anon_vma);
	page->index = vma_index(vma, va);
	__mod_stat(m, e.zone->node_stat, stat_cpu(m, e.zone->node_stat, 0), NR_ANON_MAPPED, 1);
	pvec->page[pvec->nr++] = page;
	atomic_long_add(1, &mm->rss[MM_ANONPAGES]);
	pt->nr_used += 1;
	*pte = pte_make(page_to_pfn(m, page),
	                PTE_PRESENT | PTE_USER | PTE_ACCESSED | PTE_DIRTY | PTE_WRITE);
	c->clock += t->map_ns;
	__spin_held(c, &pt->ptl, now);
	c->clock += late + t->end_ns;
	__up_read_paid(c, sem);
	__count_path(c, PATH_TOUCH_MAP);
	return 0;
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
