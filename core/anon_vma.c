/*
 * anon_vmas: which VMAs may map an anonymous page (Linux mm/rmap.c, 3.19 and later).
 *
 * A VMA gets an anon_vma at its first fault, and the pages it brings in point to that. A chain entry
 * (AVC) links one VMA to one anon_vma; it sits in the VMA's list, newest first, and in the anon_vma's
 * interval tree, by page offset. fork() links the child's VMA to every anon_vma of the parent's, since
 * the pages the parent had may now be mapped by the child, and then to a new anon_vma of the child's
 * own, for the pages it will bring in itself. So a page's anon_vma reaches all VMAs that may map it:
 * those of the process that brought it in and of its descendants.
 *
 *   parent VMA ──avc── A ──avc── child VMA ──avc── B      (root of B is A, parent of B is A)
 *
 * One lock serves a family: the rwsem of the root. Chains would grow with each generation of a
 * process that forks and lets its child go on; since 3.19 a clone may instead take over an ancestor's
 * anon_vma that has lost its VMA and has at most one child, which degree < 2 tells: degree counts
 * child anon_vmas and VMAs that point here, and a root counts itself, so that it is never reused.
 */
#include "core/internal.h"

/* ---- objects ---------------------------------------------------------------------------------- */

static struct anon_vma *anon_vma_alloc(struct machine *m)
{
	struct anon_vma *anon_vma;

	if (world_should_fail(m->world, WORLD_FAIL_ANON_VMA))
		return NULL;
	anon_vma = slab_alloc(m, SLAB_ANON_VMA, GFP_KERNEL);
	if (!anon_vma)
		return NULL;
	charge(COST_ANON_VMA);
	init_rwsem(m->world, &anon_vma->rwsem, LOCK_ANON_VMA);
	anon_vma->refcount = 1;
	anon_vma->degree = 1; /* for the VMA that will point here */
	anon_vma->parent = anon_vma;
	anon_vma->root = anon_vma;
	return anon_vma;
}

/* Nothing refers to it any more. */
void __put_anon_vma(struct machine *m, struct anon_vma *anon_vma)
{
	struct anon_vma *root = anon_vma->root;

	VM_BUG_ON(anon_vma->nr_chains);
	slab_free(m, SLAB_ANON_VMA, anon_vma);
	if (root != anon_vma)
		put_anon_vma(m, root);
}

static struct anon_vma_chain *anon_vma_chain_alloc(struct machine *m, gfp_t gfp)
{
	if (world_should_fail(m->world, WORLD_FAIL_ANON_VMA))
		return NULL;
	return slab_alloc(m, SLAB_AVC, gfp);
}

/* Root lock held for write. */
static void anon_vma_chain_link(struct vm_area_struct *vma, struct anon_vma_chain *avc,
                                struct anon_vma *anon_vma)
{
	charge(COST_ANON_VMA);
	avc->vma = vma;
	avc->anon_vma = anon_vma;
	avc->node.start = vma->vm_pgoff;
	avc->node.last = vma->vm_pgoff + vma_pages(vma) - 1;
	list_add(&avc->same_vma, &vma->anon_vma_chain);
	interval_tree_insert(&avc->node, &anon_vma->rb_root);
	anon_vma->nr_chains += 1;
}

/* Root lock held for write. */
static void anon_vma_chain_unlink(struct anon_vma_chain *avc)
{
	charge(COST_ANON_VMA);
	interval_tree_remove(&avc->node, &avc->anon_vma->rb_root);
	avc->anon_vma->nr_chains -= 1;
}

void anon_vma_interval_remove(struct vm_area_struct *vma)
{
	struct anon_vma_chain *avc;

	list_for_each_entry (avc, &vma->anon_vma_chain, same_vma)
		interval_tree_remove(&avc->node, &avc->anon_vma->rb_root);
}

void anon_vma_interval_insert(struct vm_area_struct *vma)
{
	struct anon_vma_chain *avc;

	list_for_each_entry (avc, &vma->anon_vma_chain, same_vma) {
		avc->node.start = vma->vm_pgoff;
		avc->node.last = vma->vm_pgoff + vma_pages(vma) - 1;
		interval_tree_insert(&avc->node, &avc->anon_vma->rb_root);
	}
}

/* ---- the lock of a chain ------------------------------------------------------------------------- */

/*
 * Walking a VMA's chain, all of whose anon_vmas have one root: the lock is taken at the first and
 * kept. Returns the root that is locked now.
 */
static struct anon_vma *lock_anon_vma_root(struct anon_vma *locked, struct anon_vma *anon_vma)
{
	struct anon_vma *root = anon_vma->root;

	VM_BUG_ON(locked && locked != root);
	if (!locked)
		down_write(&root->rwsem);
	return root;
}

static void unlock_anon_vma_root(struct anon_vma *locked)
{
	if (locked)
		up_write(&locked->rwsem);
}

/* ---- what VMAs do ----------------------------------------------------------------------------------- */

int anon_vma_prepare(struct machine *m, struct vm_area_struct *vma)
{
	struct mm_struct *mm = vma->vm_mm;
	struct anon_vma *anon_vma, *allocated = NULL;
	struct anon_vma_chain *avc;

	if (likely(vma->anon_vma))
		return 0;
	avc = anon_vma_chain_alloc(m, GFP_KERNEL);
	if (!avc)
		return -ENOMEM;
	anon_vma = find_mergeable_anon_vma(vma);
	if (!anon_vma) {
		anon_vma = allocated = anon_vma_alloc(m);
		if (!anon_vma) {
			slab_free(m, SLAB_AVC, avc);
			return -ENOMEM;
		}
	}

	/* mmap_sem is held for read only: another thread may have been faster. */
	anon_vma_lock_write(anon_vma);
	spin_lock(&mm->page_table_lock);
	if (likely(!vma->anon_vma)) {
		vma->anon_vma = anon_vma;
		anon_vma_chain_link(vma, avc, anon_vma);
		anon_vma->degree += 1; /* this VMA; of a new root: the root itself */
		allocated = NULL;
		avc = NULL;
	}
	spin_unlock(&mm->page_table_lock);
	anon_vma_unlock_write(anon_vma);

	if (unlikely(allocated))
		put_anon_vma(m, allocated);
	if (unlikely(avc))
		slab_free(m, SLAB_AVC, avc);
	return 0;
}

/*
 * Links @dst to all anon_vmas that @src is linked to. With @dst->anon_vma set (a split) it stays;
 * without (fork) an ancestor's that nobody uses may become it: never the parent's own, or the first
 * child would always take that.
 */
int anon_vma_clone(struct machine *m, struct vm_area_struct *dst, struct vm_area_struct *src)
{
	struct anon_vma_chain *avc, *pavc;
	struct anon_vma *root = NULL;

	list_for_each_entry_reverse (pavc, &src->anon_vma_chain, same_vma) {
		struct anon_vma *anon_vma = pavc->anon_vma;

		avc = anon_vma_chain_alloc(m, GFP_NOWAIT | __GFP_NOWARN);
		if (unlikely(!avc)) {
			/* Not with the lock held: reclaim needs it. */
			unlock_anon_vma_root(root);
			root = NULL;
			avc = anon_vma_chain_alloc(m, GFP_KERNEL);
			if (!avc)
				goto enomem;
		}
		root = lock_anon_vma_root(root, anon_vma);
		anon_vma_chain_link(dst, avc, anon_vma);
		if (!dst->anon_vma && anon_vma != src->anon_vma && anon_vma->degree < 2)
			dst->anon_vma = anon_vma;
	}
	if (dst->anon_vma)
		dst->anon_vma->degree += 1;
	unlock_anon_vma_root(root);
	return 0;

enomem:
	/* unlink_anon_vmas() must not take off a degree that was never added. */
	dst->anon_vma = NULL;
	unlink_anon_vmas(m, dst);
	return -ENOMEM;
}

int anon_vma_fork(struct machine *m, struct vm_area_struct *vma, struct vm_area_struct *pvma)
{
	struct anon_vma *anon_vma;
	struct anon_vma_chain *avc;
	int err;

	if (!pvma->anon_vma)
		return 0;
	vma->anon_vma = NULL; /* not the parent's: reuse an ancestor's, or get one */
	err = anon_vma_clone(m, vma, pvma);
	if (err || vma->anon_vma)
		return err;

	anon_vma = anon_vma_alloc(m);
	if (!anon_vma)
		goto enomem;
	avc = anon_vma_chain_alloc(m, GFP_KERNEL);
	if (!avc)
		goto enomem_anon_vma;
	anon_vma->root = pvma->anon_vma->root;
	anon_vma->parent = pvma->anon_vma;
	anon_vma->root->refcount += 1;
	vma->anon_vma = anon_vma;
	anon_vma_lock_write(anon_vma);
	anon_vma_chain_link(vma, avc, anon_vma);
	anon_vma->parent->degree += 1;
	anon_vma_unlock_write(anon_vma);
	return 0;

enomem_anon_vma:
	put_anon_vma(m, anon_vma);
enomem:
	unlink_anon_vmas(m, vma);
	return -ENOMEM;
}

/*
 * The VMA goes away: it leaves all its anon_vmas. Those that become empty are freed after the lock
 * has been dropped; the list is newest first, so the root is the last to go.
 */
void unlink_anon_vmas(struct machine *m, struct vm_area_struct *vma)
{
	struct anon_vma_chain *avc, *next;
	struct anon_vma *root = NULL;

	list_for_each_entry_safe (avc, next, &vma->anon_vma_chain, same_vma) {
		struct anon_vma *anon_vma = avc->anon_vma;

		root = lock_anon_vma_root(root, anon_vma);
		anon_vma_chain_unlink(avc);
		if (!anon_vma->nr_chains) {
			anon_vma->parent->degree -= 1;
			continue;
		}
		list_del(&avc->same_vma);
		slab_free(m, SLAB_AVC, avc);
	}
	if (vma->anon_vma)
		vma->anon_vma->degree -= 1;
	vma->anon_vma = NULL;
	unlock_anon_vma_root(root);

	list_for_each_entry_safe (avc, next, &vma->anon_vma_chain, same_vma) {
		VM_BUG_ON(avc->anon_vma->degree);
		put_anon_vma(m, avc->anon_vma);
		list_del(&avc->same_vma);
		slab_free(m, SLAB_AVC, avc);
	}
}
