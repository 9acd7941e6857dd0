/*
 * VMAs: objects, the tree, splitting and merging (Linux mm/vma.c, to 6.10 mm/mmap.c).
 *
 * VMAs are in a red-black tree by address, as until 6.0; today's maple tree keeps the same things in
 * the same order. Each node knows the free gap below it and the largest one in its subtree, so that
 * mmap.c finds the highest hole that fits in O(log n).
 *
 * A new mapping, a changed protection or a grown heap becomes part of its neighbours where flags,
 * page offsets and anon_vmas allow (vma_merge()), and splits them where it covers a part.
 */
#include "core/fs.h"
#include "core/huge_memory.h"
#include "core/khugepaged.h"

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

void vma_unlink(struct mm_struct *mm, struct vm_area_struct *vma)
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
int __split_vma(struct machine *m, struct vm_area_struct *vma, u64 addr, bool new_below)
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

/* ---- holes ----------------------------------------------------------------------------------------------- */

/* The highest hole of @len bytes below MMAP_BASE; 0: none. */
u64 vm_unmapped_area(const struct mm_struct *mm, u64 len)
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
