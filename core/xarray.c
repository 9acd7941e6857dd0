/*
 * The page cache's index. See xarray.h.
 *
 * Every level of a walk is charged (COST_RADIX_LEVEL), whatever short cut the host takes: the leaf
 * that was found last is remembered per index, since neighbours are looked up one after another.
 *
 * A node whose entries are all shadows is on a list of such nodes, oldest last, of the node of the CPU
 * that took it, for the shrinker of workingset.c; without it the shadows of a large file could fill memory.
 */
#include "core/xarray.h"

#include <errno.h>
#include <string.h>

#include "core/fs.h"

static struct xa_node *xa_node(const struct machine *m, u32 handle)
{
	return pool_ptr(&m->slab[SLAB_RADIX].pool, handle);
}

static u32 xa_handle(const struct machine *m, const struct xa_node *node)
{
	return pool_index(&m->slab[SLAB_RADIX].pool, node);
}

/* ---- nodes ------------------------------------------------------------------------------------- */

int xa_preload(struct machine *m, u32 gfp, unsigned int order)
{
	/* One on each level, and a leaf for every 64 offsets. */
	u32 nr = XA_HEIGHT_MAX - 1 + (1u << (order - min(order, (unsigned int)XA_CHUNK_SHIFT)));

	VM_BUG_ON(nr > XA_STOCK_MAX);
	while (this_cpu(m)->nr_xa_nodes < nr) {
		struct xa_node *node;
		struct cpu_data *d;

		node = world_should_fail(m->world, WORLD_FAIL_RADIX)
		               ? NULL
		               : slab_alloc(m, SLAB_RADIX, gfp & ~(__GFP_HIGHMEM | __GFP_MOVABLE));
		if (!node)
			return -ENOMEM;
		d = this_cpu(m); /* maybe another one by now, and its stock may be full */
		if (d->nr_xa_nodes >= nr)
			slab_free(m, SLAB_RADIX, node);
		else
			d->xa_nodes[d->nr_xa_nodes++] = xa_handle(m, node);
	}
	return 0;
}

void xa_drop_stocks(struct machine *m)
{
	for (u32 cpu = 0; cpu < m->nr_cpus; cpu++) {
		struct cpu_data *d = m->cpu[cpu];

		while (d && d->nr_xa_nodes)
			slab_free(m, SLAB_RADIX, xa_node(m, d->xa_nodes[--d->nr_xa_nodes]));
	}
}

static struct xa_node *xa_node_new(struct machine *m, u32 owner)
{
	struct cpu_data *d = this_cpu(m);
	struct xa_node *node;

	VM_BUG_ON_MSG(!d->nr_xa_nodes, "a store without xa_preload()");
	node = xa_node(m, d->xa_nodes[--d->nr_xa_nodes]);
	node->owner = owner;
	node->nid = (u8)world_self->node;
	charge(COST_RADIX_NODE);
	return node;
}

static struct pglist_data *xa_node_pgdat(const struct machine *m, const struct xa_node *node)
{
	return &m->node[node->nid];
}

static void shadow_list_del(struct machine *m, struct xa_node *node)
{
	struct pglist_data *pgdat = xa_node_pgdat(m, node);

	if (!node->on_shadow_list)
		return;
	if (node->shadow_prev)
		xa_node(m, node->shadow_prev)->shadow_next = node->shadow_next;
	else
		pgdat->shadow_first = node->shadow_next;
	if (node->shadow_next)
		xa_node(m, node->shadow_next)->shadow_prev = node->shadow_prev;
	else
		pgdat->shadow_last = node->shadow_prev;
	node->on_shadow_list = false;
	pgdat->nr_shadow_nodes -= 1;
}

static void shadow_list_add(struct machine *m, struct xa_node *node)
{
	struct pglist_data *pgdat = xa_node_pgdat(m, node);
	u32 handle = xa_handle(m, node);

	node->shadow_prev = 0;
	node->shadow_next = pgdat->shadow_first;
	if (pgdat->shadow_first)
		xa_node(m, pgdat->shadow_first)->shadow_prev = handle;
	else
		pgdat->shadow_last = handle;
	pgdat->shadow_first = handle;
	node->on_shadow_list = true;
	pgdat->nr_shadow_nodes += 1;
}

/* Swap entries are no shadows: they cannot be thrown away. */
static bool node_has_shadows_only(const struct machine *m, const struct xa_node *node)
{
	return !node->shift && node->count && node->count == node->nr_values &&
	       !mapping_is_shmem(mapping_of(m, node->owner));
}

/* A leaf's slots have changed: is it one of shadows only, or no longer? (workingset_update_node()) */
static void shadow_list_update(struct machine *m, struct xa_node *node)
{
	bool shadows = node_has_shadows_only(m, node);

	if (shadows == node->on_shadow_list)
		return;
	world_irq_save();
	if (shadows)
		shadow_list_add(m, node);
	else
		shadow_list_del(m, node);
	mod_node_state(boot_zone(m), WORKINGSET_NODES, shadows ? 1 : -1);
	world_irq_restore();
}

static void xa_node_free(struct machine *m, struct xarray *xa, struct xa_node *node)
{
	u32 handle = xa_handle(m, node);

	if (xa->leaf == handle)
		xa->leaf = 0;
	if (node->on_shadow_list) {
		shadow_list_del(m, node);
		mod_node_state(boot_zone(m), WORKINGSET_NODES, -1);
	}
	charge(COST_RADIX_NODE);
	slab_free(m, SLAB_RADIX, node);
}

/* ---- walking ----------------------------------------------------------------------------------- */

static u32 xa_offset(const struct xa_node *node, u64 index)
{
	return index >> node->shift & XA_CHUNK_MASK;
}

/* The last offset that the tree under @node has room for. */
static u64 xa_node_last(const struct xa_node *node)
{
	return node->base + (((u64)XA_CHUNK_SIZE << node->shift) - 1);
}

static void xa_charge_walk(const struct machine *m, const struct xarray *xa)
{
	if (xa->root)
		charge_n(COST_RADIX_LEVEL, xa_node(m, xa->root)->shift / XA_CHUNK_SHIFT + 1);
}

/* The leaf that has, or would have, @index; NULL: there is none. */
static struct xa_node *xa_leaf(struct machine *m, struct xarray *xa, u64 index)
{
	struct xa_node *node;
	u32 handle;

	if (likely(xa->leaf)) {
		node = xa_node(m, xa->leaf);
		if (likely(node->base == (index & ~(u64)XA_CHUNK_MASK)))
			return node;
	}
	handle = xa->root;
	if (!handle || index > xa_node_last(xa_node(m, handle)))
		return NULL;
	for (;;) {
		node = xa_node(m, handle);
		if (!node->shift)
			break;
		handle = (u32)node->slot[xa_offset(node, index)];
		if (!handle)
			return NULL;
	}
	xa->leaf = handle;
	return node;
}

u64 xa_load(struct machine *m, struct xarray *xa, u64 index)
{
	struct xa_node *node;

	xa_charge_walk(m, xa);
	node = xa_leaf(m, xa, index);
	return node ? node->slot[index & XA_CHUNK_MASK] : 0;
}

/* ---- marks ------------------------------------------------------------------------------------- */

static void node_set_mark(struct machine *m, struct xa_node *node, u32 offset, u32 mark)
{
	for (;;) {
		bool any = node->mark[mark] != 0;
		u64 last = node->base;

		node->mark[mark] |= 1UL << offset;
		if (any || !node->parent)
			return;
		node = xa_node(m, node->parent);
		offset = xa_offset(node, last);
	}
}

static void node_clear_mark(struct machine *m, struct xa_node *node, u32 offset, u32 mark)
{
	for (;;) {
		u64 base = node->base;

		node->mark[mark] &= ~(1UL << offset);
		if (node->mark[mark] || !node->parent)
			return;
		node = xa_node(m, node->parent);
		offset = xa_offset(node, base);
	}
}

void xa_set_mark(struct machine *m, struct xarray *xa, u64 index, enum xa_mark mark)
{
	struct xa_node *node = xa_leaf(m, xa, index);

	xa_charge_walk(m, xa);
	VM_BUG_ON(!node || !xa_is_page(node->slot[index & XA_CHUNK_MASK]));
	node_set_mark(m, node, index & XA_CHUNK_MASK, mark);
}

void xa_clear_mark(struct machine *m, struct xarray *xa, u64 index, enum xa_mark mark)
{
	struct xa_node *node = xa_leaf(m, xa, index);

	xa_charge_walk(m, xa);
	if (node)
		node_clear_mark(m, node, index & XA_CHUNK_MASK, mark);
}

bool xa_get_mark(struct machine *m, struct xarray *xa, u64 index, enum xa_mark mark)
{
	struct xa_node *node = xa_leaf(m, xa, index);

	return node && node->mark[mark] >> (index & XA_CHUNK_MASK) & 1;
}

bool xa_marked(struct machine *m, const struct xarray *xa, enum xa_mark mark)
{
	return xa->root && xa_node(m, xa->root)->mark[mark];
}

/* ---- storing ------------------------------------------------------------------------------------- */

/* Adds levels on top until @index has room. */
static void xa_grow(struct machine *m, struct xarray *xa, u32 owner, u64 index)
{
	VM_BUG_ON(index > XA_INDEX_MAX);
	if (!xa->root) {
		struct xa_node *leaf = xa_node_new(m, owner);

		while (index > xa_node_last(leaf))
			leaf->shift += XA_CHUNK_SHIFT;
		xa->root = xa_handle(m, leaf);
		return;
	}
	while (index > xa_node_last(xa_node(m, xa->root))) {
		struct xa_node *old = xa_node(m, xa->root);
		struct xa_node *top = xa_node_new(m, owner);

		top->shift = old->shift + XA_CHUNK_SHIFT;
		top->slot[0] = xa->root;
		top->count = 1;
		for (u32 mark = 0; mark < NR_XA_MARKS; mark++)
			top->mark[mark] = old->mark[mark] != 0;
		xa->root = old->parent = xa_handle(m, top);
	}
}

/* The leaf of @index; what is missing on the way is made. */
static struct xa_node *xa_leaf_create(struct machine *m, struct xarray *xa, u32 owner, u64 index)
{
	struct xa_node *node = xa_leaf(m, xa, index);

	if (node)
		return node;
	xa_grow(m, xa, owner, index);
	node = xa_node(m, xa->root);
	while (node->shift) {
		u32 offset = xa_offset(node, index);

		if (!node->slot[offset]) {
			struct xa_node *child = xa_node_new(m, owner);

			child->shift = node->shift - XA_CHUNK_SHIFT;
			child->base = node->base + ((u64)offset << node->shift);
			child->parent = xa_handle(m, node);
			node->slot[offset] = xa_handle(m, child);
			node->count += 1;
		}
		node = xa_node(m, (u32)node->slot[offset]);
	}
	xa->leaf = xa_handle(m, node);
	return node;
}

/* Gives back nodes that are empty, from @node upwards, and levels on top that have one way down. */
static void xa_prune(struct machine *m, struct xarray *xa, struct xa_node *node)
{
	while (!node->count) {
		u32 parent = node->parent;
		u64 base = node->base;

		xa_node_free(m, xa, node);
		if (!parent) {
			xa->root = 0;
			return;
		}
		node = xa_node(m, parent);
		node->slot[xa_offset(node, base)] = 0;
		node->count -= 1;
	}
	node = xa_node(m, xa->root);
	while (node->shift && node->count == 1 && node->slot[0]) {
		xa->root = (u32)node->slot[0];
		xa_node_free(m, xa, node);
		node = xa_node(m, xa->root);
		node->parent = 0;
	}
}

int xa_reclaim_shadow_node(struct machine *m, struct pglist_data *pgdat)
{
	struct address_space *mapping;
	struct xa_node *node;

	world_order();
	if (!pgdat->shadow_last)
		return -ENOENT;
	node = xa_node(m, pgdat->shadow_last);
	mapping = mapping_of(m, node->owner);
	world_irq_save();
	if (!spin_trylock(&mapping->tree_lock)) {
		shadow_list_del(m, node);
		shadow_list_add(m, node);
		world_irq_restore();
		return -EAGAIN;
	}
	VM_BUG_ON(node->count != node->nr_values);
	mapping->nrexceptional -= node->count;
	memset(node->slot, 0, sizeof(node->slot));
	node->count = 0;
	node->nr_values = 0;
	mod_node_state(boot_zone(m), WORKINGSET_NODERECLAIM, 1);
	xa_prune(m, &mapping->i_pages, node);
	spin_unlock(&mapping->tree_lock);
	world_irq_restore();
	return 0;
}

/* The walk is charged once the tree has the height that it ends up with. */
static inline u64 __xa_store(struct machine *m, struct xarray *xa, u32 owner, u64 index, u64 entry,
                             bool charged)
{
	struct xa_node *node;
	u64 *slot;
	u64 old;

	node = entry ? xa_leaf_create(m, xa, owner, index) : xa_leaf(m, xa, index);
	if (!charged)
		xa_charge_walk(m, xa);
	if (!node)
		return 0;
	slot = &node->slot[index & XA_CHUNK_MASK];
	old = *slot;
	*slot = entry;
	node->count += !!entry;
	node->count -= !!old;
	node->nr_values += xa_is_value(entry);
	node->nr_values -= xa_is_value(old);
	for (u32 mark = 0; mark < NR_XA_MARKS; mark++)
		if (unlikely(node->mark[mark] >> (index & XA_CHUNK_MASK) & 1))
			node_clear_mark(m, node, index & XA_CHUNK_MASK, mark);
	shadow_list_update(m, node);
	if (!node->count)
		xa_prune(m, xa, node);
	return old;
}

u64 xa_store(struct machine *m, struct xarray *xa, u32 owner, u64 index, u64 entry)
{
	return __xa_store(m, xa, owner, index, entry, false);
}

void xa_store_order(struct machine *m, struct xarray *xa, u32 owner, u64 index, unsigned int order,
                    u64 entry)
{
	VM_BUG_ON(!IS_ALIGNED(index, 1UL << order));
	for (u64 i = 0; i < 1UL << order; i++)
		__xa_store(m, xa, owner, index + i, entry, i);
}

u64 xa_load_order(struct machine *m, struct xarray *xa, u64 index, unsigned int order,
                  u64 *nr_values)
{
	u64 found = 0;

	*nr_values = 0;
	xa_charge_walk(m, xa);
	for (u64 i = index; i < index + (1UL << order) && !xa_is_page(found); i++) {
		struct xa_node *node = xa_leaf(m, xa, i);
		u64 entry = node ? node->slot[i & XA_CHUNK_MASK] : 0;

		found = entry ? entry : found;
		*nr_values += xa_is_value(entry);
	}
	return found;
}

/* ---- searching ----------------------------------------------------------------------------------- */

/* Slots of @node from @offset on that may lead to what is looked for: a bit each. */
static u64 node_candidates(const struct xa_node *node, u32 offset, u32 mark)
{
	u64 bits = 0;

	if (mark != XA_ANY)
		return node->mark[mark] >> offset << offset;
	for (u32 i = offset; i < XA_CHUNK_SIZE; i++)
		if (node->slot[i])
			return bits | 1UL << i;
	return bits;
}

u64 xa_find(struct machine *m, struct xarray *xa, u64 *index, u64 max, u32 mark)
{
	struct xa_node *node;
	u64 at = *index;

	xa_charge_walk(m, xa);
	if (!xa->root)
		return 0;
	node = xa_leaf(m, xa, at);
	if (!node)
		node = xa_node(m, xa->root);
	while (at <= max) {
		u64 bits;
		u32 offset;

		/* Up until the node covers @at, ... */
		while (at > xa_node_last(node) || at < node->base) {
			if (!node->parent)
				return 0;
			node = xa_node(m, node->parent);
		}
		/* ... then to the next slot worth a look. */
		bits = node_candidates(node, xa_offset(node, at), mark);
		if (!bits) {
			at = xa_node_last(node) + 1;
			continue;
		}
		offset = (u32)__builtin_ctzl(bits);
		at = max(at, node->base + ((u64)offset << node->shift));
		if (!node->shift) {
			if (at > max)
				return 0;
			xa->leaf = xa_handle(m, node);
			*index = at;
			return node->slot[offset];
		}
		charge(COST_RADIX_LEVEL);
		node = xa_node(m, (u32)node->slot[offset]);
	}
	return 0;
}

u64 page_cache_next_hole(struct machine *m, struct xarray *xa, u64 index, u64 max)
{
	for (u64 i = 0; i < max; i++, index++)
		if (!xa_is_page(xa_load(m, xa, index)))
			break;
	return index;
}

u64 page_cache_prev_hole(struct machine *m, struct xarray *xa, u64 index, u64 max)
{
	for (u64 i = 0; i < max; i++, index--)
		if (index == ~0UL || !xa_is_page(xa_load(m, xa, index)))
			break;
	return index;
}

/* ---- audit ----------------------------------------------------------------------------------------- */

struct xa_audit {
	void (*fn)(struct machine *m, u64 index, u64 entry, u32 marks, void *arg);
	void *arg;
	u32 owner;
};

static void xa_audit_node(struct machine *m, u32 handle, u32 parent, u64 base,
                          const struct xa_audit *a)
{
	const struct xa_node *node = xa_node(m, handle);
	u32 nr = 0;
	u32 nr_values = 0;

	VM_BUG_ON(node->parent != parent || node->base != base);
	for (u32 i = 0; i < XA_CHUNK_SIZE; i++) {
		u32 marks = 0;

		for (u32 mark = 0; mark < NR_XA_MARKS; mark++)
			marks |= (u32)(node->mark[mark] >> i & 1) << mark;
		if (!node->slot[i]) {
			VM_BUG_ON_MSG(marks, "an empty slot of a node at 0x%lx has marks", base);
			continue;
		}
		nr++;
		if (node->shift) {
			const struct xa_node *child = xa_node(m, (u32)node->slot[i]);

			for (u32 mark = 0; mark < NR_XA_MARKS; mark++)
				VM_BUG_ON((marks >> mark & 1) != (child->mark[mark] != 0));
			VM_BUG_ON(child->shift + XA_CHUNK_SHIFT != node->shift);
			xa_audit_node(m, (u32)node->slot[i], handle, base + ((u64)i << node->shift),
			              a);
			continue;
		}
		nr_values += xa_is_value(node->slot[i]);
		a->fn(m, base + i, node->slot[i], marks, a->arg);
	}
	VM_BUG_ON_MSG(nr != node->count || nr_values != node->nr_values,
	              "index node at 0x%lx: %u slots and %u shadows, counted %u and %u", base,
	              node->count, node->nr_values, nr, nr_values);
	VM_BUG_ON(!nr);
	VM_BUG_ON(node->on_shadow_list != node_has_shadows_only(m, node));
}

void xa_audit(struct machine *m, const struct xarray *xa,
              void (*fn)(struct machine *m, u64 index, u64 entry, u32 marks, void *arg), void *arg)
{
	struct xa_audit a = {.fn = fn, .arg = arg};

	if (xa->root)
		xa_audit_node(m, xa->root, 0, 0, &a);
}
