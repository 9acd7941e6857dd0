/*
 * VMAs: the tree, gaps, mmap(), munmap(), brk(), splitting and merging (Linux mm/mmap.c).
 *
 * VMAs are in a red-black tree by address, as until 6.0; today's maple tree keeps the same things in
 * the same order. Each node knows the free gap below it and the largest one in its subtree, so that
 * the highest hole that fits is found in O(log n): mmap() places top-down from MMAP_BASE.
 *
 * A new mapping, a changed protection or a grown heap becomes part of its neighbours where flags,
 * page offsets and anon_vmas allow (vma_merge()), and splits them where it covers a part.
 *
 * Left out: MAP_FIXED, stack growth, address randomization, and today's alignment of large mappings to huge pages.
 */
#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/khugepaged.h"
#include "core/mlock.h"

/* ---- the tree ----------------------------------------------------------------------------------------- */

static struct vm_area_struct *rb_vma(struct rb_node *node)
{
	return rb_entry_safe(node, struct vm_area_struct, vm_rb);
}

static u64 subtree_gap(struct rb_node *node)
{
	return node ? rb_vma(node)->subtree_gap : 0;
}

static void vma_gap_update(struct rb_node *node)
{
	struct vm_area_struct *vma = rb_vma(node);

	vma->subtree_gap = max3(vma->gap, subtree_gap(node->left), subtree_gap(node->right));
}

struct vm_area_struct *vma_next(const struct mm_struct *mm, const struct vm_area_struct *vma)
{
	return rb_vma(vma ? rb_next(&vma->vm_rb) : rb_first(&mm->mm_rb));
}

struct vm_area_struct *vma_prev(const struct vm_area_struct *vma)
{
	return rb_vma(rb_prev(&vma->vm_rb));
}

struct vm_area_struct *vma_last(const struct mm_struct *mm)
{
	return rb_vma(rb_last(&mm->mm_rb));
}

static u64 vma_gap_below(const struct vm_area_struct *vma)
{
	struct vm_area_struct *prev = vma_prev(vma);

	return vma->vm_start - (prev ? prev->vm_end : MMAP_MIN_ADDR);
}

/* The gap below @vma (NULL: above the last, of no interest) may have changed. */
static void vma_gap_changed(struct vm_area_struct *vma)
{
	if (!vma)
		return;
	vma->gap = vma_gap_below(vma);
	rb_update_path(&vma->vm_rb, vma_gap_update);
}

void vma_link(struct mm_struct *mm, struct vm_area_struct *vma)
{
	struct rb_node **link = &mm->mm_rb.node;
	struct rb_node *parent = NULL;

	while (*link) {
		parent = *link;
		link = vma->vm_end <= rb_vma(parent)->vm_start ? &parent->left : &parent->right;
	}
	rb_link_node(&vma->vm_rb, parent, link);
	vma->gap = 0;
	vma->subtree_gap = 0;
	rb_insert_augmented(&vma->vm_rb, &mm->mm_rb, vma_gap_update);
	vma_gap_changed(vma);
	vma_gap_changed(vma_next(mm, vma));
	mm->map_count += 1;
}

static void vma_unlink(struct mm_struct *mm, struct vm_area_struct *vma)
{
	struct vm_area_struct *next = vma_next(mm, vma);

	rb_erase_augmented(&vma->vm_rb, &mm->mm_rb, vma_gap_update);
	vma_gap_changed(next);
	mm->map_count -= 1;
	if (mm->vmacache == vma)
		mm->vmacache = NULL;
}

struct vm_area_struct *__find_vma(struct mm_struct *mm, u64 va)
{
	struct rb_node *node = mm->mm_rb.node;
	struct vm_area_struct *vma = NULL;

	while (node) {
		if (rb_vma(node)->vm_end <= va) {
			node = node->right;
			continue;
		}
		vma = rb_vma(node);
		if (vma->vm_start <= va)
			break;
		node = node->left;
	}
	if (vma)
		mm->vmacache = vma;
	return vma;
}

/* ---- VMA objects ---------------------------------------------------------------------------------------- */

struct vm_area_struct *vm_area_alloc(struct machine *m, struct mm_struct *mm)
{
	struct vm_area_struct *vma = slab_alloc(m, SLAB_VMA, GFP_KERNEL);

	if (!vma)
		return NULL;
	vma->vm_mm = mm;
	INIT_LIST_HEAD(&vma->anon_vma_chain);
	init_rwsem(m->world, &vma->vm_lock, LOCK_VMA);
	return vma;
}

/* A copy of @vma that is in no tree; its anon_vma is set, but it has no chain. */
struct vm_area_struct *vm_area_dup(struct machine *m, const struct vm_area_struct *vma)
{
	struct vm_area_struct *new = vm_area_alloc(m, vma->vm_mm);

	if (!new)
		return NULL;
	new->vm_start = vma->vm_start;
	new->vm_end = vma->vm_end;
	new->vm_pgoff = vma->vm_pgoff;
	new->vm_flags = vma->vm_flags;
	new->vm_file = vma->vm_file; /* no reference, and not in its tree */
	new->anon_vma = vma->anon_vma;
	return new;
}

void vm_area_free(struct machine *m, struct vm_area_struct *vma)
{
	VM_BUG_ON(!list_empty(&vma->anon_vma_chain));
	vma->vm_mm = NULL; /* for lock_vma_under_rcu() */
	slab_free(m, SLAB_VMA, vma);
}

void vma_start_write(struct vm_area_struct *vma)
{
	struct mm_struct *mm = vma->vm_mm;

	if (mm->machine->knob.vma_lock == KNOB_OFF || vma->vm_lock_seq == mm->mm_lock_seq)
		return;
	down_write(&vma->vm_lock);
	vma->vm_lock_seq = mm->mm_lock_seq;
	up_write(&vma->vm_lock);
}

/* ---- changing ranges ----------------------------------------------------------------------------------- */

/*
 * A change of boundaries, all of it under one hold of the family's lock, so that no reverse walk misses
 * a page: @vma becomes [start, end); @neighbour, if any, gives up or gets what lies between; those in
 * @gone are swallowed whole.
 */
struct vma_change {
	struct vm_area_struct *vma;
	u64 start;
	u64 end;
	struct vm_area_struct *neighbour;
	u64 neighbour_start;
	u64 neighbour_end;
	struct vm_area_struct *gone[2];
};

static void vma_set_range(struct vm_area_struct *vma, u64 start, u64 end)
{
	/* Wraps like page offsets do when the start moves down. */
	vma->vm_pgoff += ((s64)(start - vma->vm_start)) >> PAGE_SHIFT;
	vma->vm_start = start;
	vma->vm_end = end;
}

/*
 * If @vma takes over a range that has pages and has no anon_vma itself, it needs that of who had it.
 * -ENOMEM: nothing has changed.
 */
static int vma_import_anon_vma(struct machine *m, const struct vma_change *c)
{
	struct vm_area_struct *from[] = {c->neighbour, c->gone[0], c->gone[1]};

	for (u32 i = 0; i < ARRAY_SIZE(from) && !c->vma->anon_vma; i++) {
		if (!from[i] || !from[i]->anon_vma)
			continue;
		c->vma->anon_vma = from[i]->anon_vma;
		return anon_vma_clone(m, c->vma, from[i]);
	}
	return 0;
}

static void vma_change_ranges(struct mm_struct *mm, const struct vma_change *c)
{
	struct vm_area_struct *n = c->neighbour;
	struct anon_vma *anon_vma = c->vma->anon_vma ? c->vma->anon_vma : n ? n->anon_vma : NULL;

	struct address_space *mapping = vma_mapping(c->vma);

	if (mapping) {
		i_mmap_lock_write(mm->machine, mapping);
		vma_interval_remove(c->vma);
		if (n)
			vma_interval_remove(n);
	}
	if (anon_vma) {
		anon_vma_lock_write(anon_vma);
		anon_vma_interval_remove(c->vma);
		if (n)
			anon_vma_interval_remove(n);
	}
	vma_set_range(c->vma, c->start, c->end);
	if (n)
		vma_set_range(n, c->neighbour_start, c->neighbour_end);
	if (anon_vma) {
		anon_vma_interval_insert(c->vma);
		if (n)
			anon_vma_interval_insert(n);
		anon_vma_unlock_write(anon_vma);
	}
	if (mapping) {
		vma_interval_insert(c->vma);
		if (n)
			vma_interval_insert(n);
		i_mmap_unlock_write(mm->machine, mapping);
	}
	vma_gap_changed(c->vma);
	vma_gap_changed(vma_next(mm, c->vma));
	if (n)
		vma_gap_changed(n);
	charge(COST_VMA_OP);
}

static int vma_adjust(struct machine *m, const struct vma_change *c)
{
	struct mm_struct *mm = c->vma->vm_mm;
	int err;

	vma_start_write(c->vma);
	if (c->neighbour)
		vma_start_write(c->neighbour);
	vma_split_huge_at(m, c->vma, c->start);
	vma_split_huge_at(m, c->vma, c->end);
	if (c->neighbour) {
		vma_split_huge_at(m, c->neighbour, c->neighbour_start);
		vma_split_huge_at(m, c->neighbour, c->neighbour_end);
	}
	err = vma_import_anon_vma(m, c);
	if (err)
		return err;
	for (u32 i = 0; i < ARRAY_SIZE(c->gone); i++) {
		if (!c->gone[i])
			continue;
		vma_start_write(c->gone[i]);
		vma_unlink(mm, c->gone[i]);
	}
	vma_change_ranges(mm, c);
	for (u32 i = 0; i < ARRAY_SIZE(c->gone); i++) {
		if (!c->gone[i])
			continue;
		unlink_anon_vmas(m, c->gone[i]);
		unlink_file_vma(m, c->gone[i]);
		vm_area_free(m, c->gone[i]);
	}
	return 0;
}

/* Cuts @vma at @addr; the new VMA is the part below, or the part above. */
static int __split_vma(struct machine *m, struct vm_area_struct *vma, u64 addr, bool new_below)
{
	struct mm_struct *mm = vma->vm_mm;
	struct vm_area_struct *new;
	struct vma_change c = {.vma = vma};
	int err;

	VM_BUG_ON(addr <= vma->vm_start || addr >= vma->vm_end);
	new = vm_area_dup(m, vma);
	if (!new)
		return -ENOMEM;
	vma_set_range(new, new_below ? new->vm_start : addr, new_below ? addr : new->vm_end);
	err = anon_vma_clone(m, new, vma);
	if (err) {
		vm_area_free(m, new);
		return err;
	}
	c.start = new_below ? addr : vma->vm_start;
	c.end = new_below ? vma->vm_end : addr;
	if (new->vm_file)
		get_file(new->vm_file);
	vma_link_file(m, new);
	err = vma_adjust(m, &c);
	VM_BUG_ON(err);
	vma_start_write(new);
	vma_link(mm, new);
	return 0;
}

int split_vma(struct machine *m, struct vm_area_struct *vma, u64 addr, bool new_below)
{
	if (vma->vm_mm->map_count >= MAX_MAP_COUNT)
		return -ENOMEM;
	return __split_vma(m, vma, addr, new_below);
}

/* ---- merging ---------------------------------------------------------------------------------------------- */

/*
 * Two anon_vmas in one VMA cannot be: they must be the same, or one side has none. Nor does a VMA that
 * has been through a fork take over pages without need: its chain would make every reverse walk of
 * theirs longer.
 */
static bool is_mergeable_anon_vma(const struct anon_vma *a, const struct anon_vma *b,
                                  const struct vm_area_struct *vma)
{
	if ((!a || !b) && (!vma || list_is_singular(&vma->anon_vma_chain)))
		return true;
	return a == b;
}

static bool can_vma_merge_before(const struct vm_area_struct *vma, u32 vm_flags,
                                 const struct file *file, const struct anon_vma *anon_vma,
                                 u64 pgoff_end)
{
	return vma->vm_flags == vm_flags && vma->vm_file == file &&
	       is_mergeable_anon_vma(anon_vma, vma->anon_vma, vma) && vma->vm_pgoff == pgoff_end;
}

static bool can_vma_merge_after(const struct vm_area_struct *vma, u32 vm_flags,
                                const struct file *file, const struct anon_vma *anon_vma, u64 pgoff)
{
	return vma->vm_flags == vm_flags && vma->vm_file == file &&
	       is_mergeable_anon_vma(anon_vma, vma->anon_vma, vma) &&
	       vma->vm_pgoff + vma_pages(vma) == pgoff;
}

/*
 * [@addr, @end) gets @vm_flags: a new mapping, or (part of) the VMA that follows @prev or is @prev.
 * @prev is the VMA that contains @addr - 1 or the last one below; the cases are those of the picture
 * above Linux's vma_merge(), A the range, P prev, N next:
 *
 *   AAAA between P and N, or all of a VMA:    PPPPPPPPPPPP (1, 6)   PPPPPPPPNNNN (2, 7)   PPPPNNNNNNNN (3, 8)
 *   AAAA at the start or end of a VMA:        the boundary moves:   PPPPPPPPNNNN (5)      PPPPNNNNNNNN (4)
 *
 * NULL: nothing merged (also when there is no memory for it, as in Linux).
 */
struct vm_area_struct *vma_merge(struct machine *m, struct mm_struct *mm,
                                 struct vm_area_struct *prev, u64 addr, u64 end, u32 vm_flags,
                                 struct file *file, struct anon_vma *anon_vma, u64 pgoff)
{
	struct vm_area_struct *area = vma_next(mm, prev); /* what the range covers, if anything */
	struct vm_area_struct *next = area;
	bool with_prev, with_next;
	struct vma_change c = {0};

	if (area && area->vm_end == end)
		next = vma_next(mm, area);
	if (area && area->vm_start >= end)
		area = NULL;
	with_prev = prev && prev->vm_end == addr &&
	            can_vma_merge_after(prev, vm_flags, file, anon_vma, pgoff);
	with_next = next && next->vm_start == end &&
	            can_vma_merge_before(next, vm_flags, file, anon_vma,
	                                 pgoff + ((end - addr) >> PAGE_SHIFT));

	if (with_prev) {
		c.vma = prev;
		c.start = prev->vm_start;
		c.end = end;
		if (with_next && is_mergeable_anon_vma(prev->anon_vma, next->anon_vma, NULL)) {
			c.end = next->vm_end;
			c.gone[1] = next;
		}
		if (area && area->vm_end <= end) {
			c.gone[0] = area;
		} else if (area) { /* case 5: it loses its start */
			c.neighbour = area;
			c.neighbour_start = end;
			c.neighbour_end = area->vm_end;
		}
	} else if (with_next) {
		c.vma = next;
		c.start = addr;
		c.end = next->vm_end;
		if (prev && addr < prev->vm_end) { /* case 4: prev loses its end */
			c.neighbour = prev;
			c.neighbour_start = prev->vm_start;
			c.neighbour_end = addr;
		} else if (area) {
			c.gone[0] = area;
		}
	} else {
		return NULL;
	}
	if (vma_adjust(m, &c))
		return NULL;
	if (c.vma->anon_vma)
		khugepaged_enter(m, c.vma);
	return c.vma;
}

int vma_modify_flags(struct machine *m, struct vm_area_struct **vmap, struct vm_area_struct *prev,
                     u64 start, u64 end, u32 vm_flags)
{
	struct vm_area_struct *vma = *vmap;
	struct vm_area_struct *merged =
		vma_merge(m, vma->vm_mm, prev, start, end, vm_flags, vma->vm_file, vma->anon_vma,
	                  vma_index(vma, start));
	int err = 0;

	if (merged) {
		*vmap = merged;
		return 0;
	}
	if (start != vma->vm_start)
		err = split_vma(m, vma, start, true);
	if (!err && end != vma->vm_end)
		err = split_vma(m, vma, end, false);
	if (err)
		return err;
	vma_start_write(vma);
	vma->vm_flags = vm_flags;
	return 0;
}

/* Would @a and @b merge but for protections, which may be made equal some day? */
static bool anon_vma_compatible(const struct vm_area_struct *a, const struct vm_area_struct *b)
{
	const u32 prot = VM_READ | VM_WRITE | VM_EXEC; /* policies differ: no */

	return a->vm_end == b->vm_start && !((a->vm_flags ^ b->vm_flags) & ~prot) &&
	       a->vm_file == b->vm_file && b->vm_pgoff == a->vm_pgoff + vma_pages(a);
}

struct anon_vma *find_mergeable_anon_vma(struct vm_area_struct *vma)
{
	struct vm_area_struct *next = vma_next(vma->vm_mm, vma);
	struct vm_area_struct *prev = vma_prev(vma);

	/* Only one that has not been through a fork: see is_mergeable_anon_vma(). */
	if (next && anon_vma_compatible(vma, next) && next->anon_vma &&
	    list_is_singular(&next->anon_vma_chain))
		return next->anon_vma;
	if (prev && anon_vma_compatible(prev, vma) && prev->anon_vma &&
	    list_is_singular(&prev->anon_vma_chain))
		return prev->anon_vma;
	return NULL;
}

/* ---- mmap() --------------------------------------------------------------------------------------------- */

/* The highest hole of @len bytes below MMAP_BASE; 0: none. */
static u64 vm_unmapped_area(const struct mm_struct *mm, u64 len)
{
	struct rb_node *node = rb_last(&mm->mm_rb);
	u64 top = node ? rb_vma(node)->vm_end : MMAP_MIN_ADDR;

	if (top <= MMAP_BASE && MMAP_BASE - top >= len)
		return MMAP_BASE - len;
	node = mm->mm_rb.node;
	if (subtree_gap(node) < len)
		return 0;
	for (;;) {
		if (subtree_gap(node->right) >= len)
			node = node->right;
		else if (rb_vma(node)->gap >= len)
			return rb_vma(node)->vm_start - len;
		else
			node = node->left;
	}
}

/* Would huge pages fit into it, if it lay as they must? @off: of a file, in bytes. */
static bool wants_huge_alignment(const struct machine *m, const struct file *file, u64 off, u64 len)
{
	if (!m->knob.mmap_align)
		return false;
	if (!file)
		return !(len & ~PMD_MASK);
	return !mapping_is_shmem(&file->f_inode->i_data) &&
	       off + len >= ALIGN(off, PMD_SIZE) + PMD_SIZE;
}

/*
 * Where to map @len bytes of @file (NULL: of nothing) from @off on; 0: there is no room. If huge pages could be
 * mapped there, the place is as far from a multiple of 2 MiB as @off is (thp_get_unmapped_area()): it is
 * cut out of a hole that has 2 MiB more.
 */
u64 get_unmapped_area(const struct machine *m, const struct mm_struct *mm, const struct file *file,
                      u64 off, u64 len)
{
	u64 room = 0;
	u64 more;

	if (wants_huge_alignment(m, file, off, len))
		room = vm_unmapped_area(mm, len + PMD_SIZE);
	if (!room)
		return vm_unmapped_area(mm, len);
	more = ((file ? off : 0) - room) & ~PMD_MASK; /* anonymous memory has no offset here */
	return room + (more ? more : PMD_SIZE);
}

static u32 calc_vm_flags(const struct machine *m, int prot, int flags)
{
	u32 vm_flags = 0;

	if (prot & MM_PROT_READ)
		vm_flags |= VM_READ;
	if (prot & MM_PROT_WRITE)
		vm_flags |= VM_WRITE;
	if (prot & MM_PROT_EXEC)
		vm_flags |= VM_EXEC;
	if (flags & MM_MAP_SHARED)
		vm_flags |= VM_SHARED;
	/* Where nothing is promised twice, everybody must ask. */
	if (flags & MM_MAP_NORESERVE && m->knob.overcommit_memory != OVERCOMMIT_NEVER)
		vm_flags |= VM_NORESERVE;
	else if (prot & MM_PROT_WRITE && !(flags & MM_MAP_SHARED))
		vm_flags |= VM_ACCOUNT;
	if (flags & MM_MAP_LOCKED)
		vm_flags |= VM_LOCKED;
	return vm_flags;
}

static int __mmap_region(struct machine *m, struct mm_struct *mm, u64 addr, u64 len, u32 vm_flags,
                         struct file *file, u64 pgoff)
{
	struct vm_area_struct *next = find_vma(mm, addr);
	struct vm_area_struct *prev = next ? vma_prev(next) : rb_vma(rb_last(&mm->mm_rb));
	struct vm_area_struct *vma;

	vma = vma_merge(m, mm, prev, addr, addr + len, vm_flags, file, NULL, pgoff);
	if (!vma) {
		if (mm->map_count >= MAX_MAP_COUNT)
			return -ENOMEM;
		vma = vm_area_alloc(m, mm);
		if (!vma)
			return -ENOMEM;
		vma->vm_start = addr;
		vma->vm_end = addr + len;
		vma->vm_pgoff = pgoff;
		vma->vm_flags = vm_flags;
		if (file) {
			get_file(file);
			vma->vm_file = file;
			vma_link_file(m, vma);
		}
		vma_start_write(vma);
		vma_link(mm, vma);
		charge(COST_VMA_OP);
	}
	mm->total_vm += len >> PAGE_SHIFT;
	if (vm_flags & VM_LOCKED)
		mm->locked_vm += len >> PAGE_SHIFT;
	return 0;
}

/* Maps [@addr, @addr + @len), which is free, with @vm_flags: @file from page @pgoff on, or (NULL)
 * anonymous memory, whose offset is its address. */
static int mmap_region(struct machine *m, struct mm_struct *mm, u64 addr, u64 len, u32 vm_flags,
                       struct file *file, u64 pgoff)
{
	unsigned long charged = vm_flags & VM_ACCOUNT ? len >> PAGE_SHIFT : 0;
	int err;

	if (charged && vm_enough_memory(m, mm, charged))
		return -ENOMEM;
	err = __mmap_region(m, mm, addr, len, vm_flags, file, pgoff);
	if (err)
		vm_unacct_memory(m, charged);
	return err;
}

/* May @nr_pages more be mapped with these flags? */
static int may_lock(const struct mm_struct *mm, int flags, u32 vm_flags, u64 nr_pages)
{
	if (flags & MM_MAP_LOCKED && !can_do_mlock(mm))
		return -EPERM;
	return mlock_future_check(mm, vm_flags, nr_pages);
}

static int __do_mmap(struct machine *m, struct file *file, u64 pgoff, u64 len, int prot, int flags,
                     u64 *va)
{
	struct task *t = current_task();
	struct mm_struct *mm = t->mm;
	u32 vm_flags;
	u64 addr;
	int err = -ENOMEM;

	if (!len)
		return -EINVAL;
	if (len > TASK_SIZE)
		return -ENOMEM;
	len = ALIGN(len, PAGE_SIZE);
	mmap_write_lock(mm);
	vm_flags = calc_vm_flags(m, prot, flags) | mm->def_flags;
	addr = get_unmapped_area(m, mm, file, pgoff << PAGE_SHIFT, len);
	if (addr)
		err = may_lock(mm, flags, vm_flags, len >> PAGE_SHIFT);
	if (!err)
		err = mmap_region(m, mm, addr, len, vm_flags, file,
		                  file ? pgoff : addr >> PAGE_SHIFT);
	if (!err) {
		*va = addr;
		if (file)
			world_contents_map(&mm->as, addr, addr + len, file->f_inode->nr_created,
			                   pgoff, flags & MM_MAP_SHARED);
	}
	mmap_write_unlock(mm);
	/* That it could not be filled is no error. */
	if (!err && (vm_flags & VM_LOCKED || flags & MM_MAP_POPULATE))
		mm_populate(m, mm, addr, len, true);
	return err;
}

/* Shared by the children to come: a file that nobody else can find (shmem_zero_setup()). */
static int mmap_shared_anon(struct machine *m, u64 len, int prot, int flags, u64 *va)
{
	bool noreserve = flags & MM_MAP_NORESERVE && m->knob.overcommit_memory != OVERCOMMIT_NEVER;
	struct file *file;
	int err;

	if (!len || len > TASK_SIZE)
		return len ? -ENOMEM : -EINVAL;
	err = shmem_file_setup(m, "dev/zero", ALIGN(len, PAGE_SIZE), noreserve, &file);
	if (err)
		return err;
	err = __do_mmap(m, file, 0, len, prot, flags, va);
	fput(m, file);
	return err;
}

int do_mmap(struct machine *m, u64 len, int prot, int flags, u64 *va)
{
	struct task *t = sys_enter(SPAN_MMAP);

	if (flags & MM_MAP_SHARED)
		return sys_exit(t, mmap_shared_anon(m, len, prot, flags, va));
	return sys_exit(t, __do_mmap(m, NULL, 0, len, prot, flags, va));
}

int do_mmap_file(struct machine *m, u32 fd, u64 offset, u64 len, int prot, int flags, u64 *va)
{
	struct task *t = sys_enter(SPAN_MMAP);
	u64 pgoff = offset >> PAGE_SHIFT;
	int err;

	if (offset & ~PAGE_MASK)
		err = -EINVAL;
	else if (len && len <= TASK_SIZE && pgoff > XA_INDEX_MAX - (len >> PAGE_SHIFT))
		err = -EOVERFLOW; /* Linux: from 8 EiB on; there is nothing to see before either */
	else
		err = __do_mmap(m, fd_file(m, fd), pgoff, len, prot, flags, va);
	return sys_exit(t, err);
}

/* ---- munmap() ------------------------------------------------------------------------------------------- */

/*
 * Makes @start and @end boundaries of VMAs. A hole in the middle of one needs room for one more; on
 * the way there may be another above the limit.
 */
static int split_around(struct machine *m, struct mm_struct *mm, u64 start, u64 end)
{
	struct vm_area_struct *vma = find_vma(mm, start);
	int err;

	if (vma && start > vma->vm_start) {
		if (end < vma->vm_end && mm->map_count >= MAX_MAP_COUNT)
			return -ENOMEM;
		err = __split_vma(m, vma, start, false);
		if (err)
			return err;
	}
	vma = find_vma(mm, end);
	if (vma && end > vma->vm_start)
		return __split_vma(m, vma, end, true);
	return 0;
}

/*
 * Unmaps the VMAs from @first to @end, which is a boundary: their pages, then, once reverse walks cannot
 * find them, their tables. They stay in the tree till the end; nobody looks, since mmap_sem is held for
 * write and each is write-locked.
 */
static void unmap_region(struct machine *m, struct mm_struct *mm, struct vm_area_struct *first,
                         u64 end)
{
	struct vm_area_struct *prev = vma_prev(first);
	struct vm_area_struct *vma, *next;
	unsigned long nr_accounted = 0;
	u64 start = first->vm_start;
	struct mmu_gather tlb;

	lru_add_drain(m);
	tlb_gather_mmu(&tlb, m, mm, false);
	for (vma = first; vma && vma->vm_start < end; vma = vma_next(mm, vma)) {
		vma_start_write(vma);
		unmap_vma_range(&tlb, vma, start, end);
	}
	tlb_finish_mmu(&tlb);
	world_contents_zero(&mm->as, start, end, true);
	for (vma = first; vma && vma->vm_start < end; vma = vma_next(mm, vma)) {
		unlink_anon_vmas(m, vma);
		if (unlikely(vma->vm_file)) {
			world_contents_map(&mm->as, vma->vm_start, vma->vm_end, 0, 0, false);
			unlink_file_vma(m, vma);
		}
	}
	free_pgtables(m, mm, start, end, prev ? prev->vm_end : 0, vma ? vma->vm_start : 0);
	for (vma = first; vma && vma->vm_start < end; vma = next) {
		next = vma_next(mm, vma);
		charge(COST_VMA_OP);
		mm->total_vm -= vma_pages(vma);
		nr_accounted += vma->vm_flags & VM_ACCOUNT ? vma_pages(vma) : 0;
		vma_unlink(mm, vma);
		vm_area_free(m, vma);
	}
	vm_unacct_memory(m, nr_accounted);
}

int __do_munmap(struct machine *m, struct mm_struct *mm, u64 start, u64 len)
{
	struct vm_area_struct *vma;
	u64 end;
	int err;

	if ((start & ~PAGE_MASK) || start > TASK_SIZE || len > TASK_SIZE - start || !len)
		return -EINVAL;
	end = start + ALIGN(len, PAGE_SIZE);
	vma = find_vma(mm, start);
	if (!vma || vma->vm_start >= end)
		return 0;
	err = split_around(m, mm, start, end);
	if (err)
		return err;
	munlock_before_unmap(m, mm, start, end);
	unmap_region(m, mm, find_vma(mm, start), end);
	return 0;
}

int do_munmap(struct machine *m, u64 va, u64 len)
{
	struct task *t = sys_enter(SPAN_MUNMAP);
	int err;

	mmap_write_lock(t->mm);
	err = __do_munmap(m, t->mm, va, len);
	mmap_write_unlock(t->mm);
	return sys_exit(t, err);
}

/* ---- brk() ------------------------------------------------------------------------------------------------ */

/* Moves the break to @brk: 0, or why it stays. */
static int set_brk(struct machine *m, struct mm_struct *mm, u64 brk)
{
	u64 old_end = ALIGN(mm->brk, PAGE_SIZE);
	u64 new_end = ALIGN(brk, PAGE_SIZE);
	struct vm_area_struct *next;
	u32 vm_flags;
	int err = 0;

	if (brk < mm->start_brk || brk >= MMAP_BASE)
		return -EINVAL;
	if (new_end < old_end) {
		err = __do_munmap(m, mm, new_end, old_end - new_end);
	} else if (new_end > old_end) {
		next = find_vma(mm, old_end);
		if (next && next->vm_start < new_end + PAGE_SIZE)
			return -ENOMEM;
		vm_flags = VM_READ | VM_WRITE | VM_ACCOUNT | mm->def_flags;
		err = mlock_future_check(mm, vm_flags, (new_end - old_end) >> PAGE_SHIFT);
		if (!err)
			err = mmap_region(m, mm, old_end, new_end - old_end, vm_flags, NULL,
			                  old_end >> PAGE_SHIFT);
	}
	if (!err)
		mm->brk = brk;
	return err;
}

/* As the system call, it answers with the break that is now; an @brk that cannot be is no error. */
int do_brk(struct machine *m, u64 brk, u64 *now)
{
	struct task *t = sys_enter(SPAN_BRK);
	struct mm_struct *mm = t->mm;
	bool populate;
	u64 old;

	mmap_write_lock(mm);
	old = ALIGN(mm->brk, PAGE_SIZE);
	if (brk)
		set_brk(m, mm, brk);
	*now = mm->brk;
	populate = mm->def_flags & VM_LOCKED && ALIGN(*now, PAGE_SIZE) > old;
	mmap_write_unlock(mm);
	if (populate)
		mm_populate(m, mm, old, ALIGN(*now, PAGE_SIZE) - old, true);
	return sys_exit(t, 0);
}
