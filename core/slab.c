/*
 * Objects of the memory manager itself: VMAs, anon_vmas and their chains, address spaces, tasks.
 *
 * Their host memory comes from pools that are reserved at boot. What they would take of the
 * machine's memory is modelled by frames: a cache owns as many as its objects would fill at Linux's
 * object sizes, takes one when it runs out of room and gives one back when two would be empty. Which
 * object lies in which frame is not modelled, so a cache never suffers from partly used slabs.
 *
 * No lock and no cost of its own: Linux serves these from per-CPU freelists, and the operations that
 * allocate (COST_VMA_OP, COST_ANON_VMA, COST_MM_OP) are charged for it.
 */
#include <errno.h>

#include "core/fs.h"
#include "core/huge_memory.h"

/*
 * Bytes are Linux 4.0's on x86-64 with the usual configuration (/proc/slabinfo). A task is its
 * task_struct (about 5.8 KiB in slabs of 5 per 32 KiB) and a 16 KiB kernel stack; here both are
 * counted as slab frames, six for each task.
 */
static const struct {
	const char *name;
	u32 size;  /* of the object here */
	u32 bytes; /* of the object in Linux */
	u32 max;   /* at most so many at once */
} slab_table[NR_SLABS] = {
	[SLAB_VMA] = {"vm_area_struct", sizeof(struct vm_area_struct), 184, 1u << 24},
	[SLAB_ANON_VMA] = {"anon_vma", sizeof(struct anon_vma), 80, 1u << 24},
	[SLAB_AVC] = {"anon_vma_chain", sizeof(struct anon_vma_chain), 64, 1u << 26},
	[SLAB_MM] = {"mm_struct", sizeof(struct mm_struct), 896, 1u << 18},
	[SLAB_TASK] = {"task_struct", sizeof(struct task), 24576, 1u << 18},
	[SLAB_RADIX] = {"radix_tree_node", sizeof(struct xa_node), 576, 1u << 26},
	[SLAB_INODE] = {"inode_cache", sizeof(struct inode), 1024, 1u << 22},
	[SLAB_FILE] = {"filp", sizeof(struct file), 256, 1u << 22},
	[SLAB_EXTENT] = {"extent_status", sizeof(struct extent), 40, 1u << 26},
	[SLAB_BIO] = {"bio", sizeof(u64), 192, 1}, /* only reserved */
};

int slab_init(struct machine *m)
{
	for (u32 i = 0; i < NR_SLABS; i++) {
		struct kmem_cache *c = &m->slab[i];
		int err = pool_init(&c->pool, slab_table[i].size, slab_table[i].max,
		                    slab_table[i].name);

		if (err)
			return err;
		c->frames_per_obj = max_t(u32, 1, slab_table[i].bytes / PAGE_SIZE);
		c->objs_per_frame = max_t(u32, 1, PAGE_SIZE / slab_table[i].bytes);
		/* Links count from the machine's first page, so frames of all nodes may be mixed. */
		page_list_init(&c->frames[0], m->mem_map);
	}
	return gather_init(m) ?: looks_init(m);
}

void slab_destroy(struct machine *m)
{
	for (u32 i = 0; i < NR_SLABS; i++)
		pool_destroy(&m->slab[i].pool);
	gather_destroy(m);
	looks_destroy(m);
}

/* Objects that the cache's frames have room for. */
static u32 slab_capacity(const struct kmem_cache *c)
{
	return c->nr_frames / c->frames_per_obj * c->objs_per_frame;
}

static void slab_put_frame(struct machine *m, struct kmem_cache *c)
{
	struct page *page = page_list_pop(&c->frames[0]);

	c->nr_frames -= 1;
	page_clear(page, PG_slab);
	mod_node_state(page_zone(m, page), NR_SLAB_UNRECLAIMABLE, -1);
	__free_pages(m, page, 0);
}

static bool slab_get_frame(struct machine *m, struct kmem_cache *c, gfp_t gfp)
{
	struct page *page = alloc_page(m, gfp);

	if (!page)
		return false;
	page_set(page, PG_slab);
	mod_node_state(page_zone(m, page), NR_SLAB_UNRECLAIMABLE, 1);
	world_order();
	page_list_add(&c->frames[0], page);
	c->nr_frames += 1;
	return true;
}

bool slab_reserve(struct machine *m, enum slab_kind kind, gfp_t gfp)
{
	struct kmem_cache *c = &m->slab[kind];

	world_order();
	/* Looked at again after each frame: others may have used it, or brought one too. */
	while (c->nr_objs >= slab_capacity(c))
		if (!slab_get_frame(m, c, gfp))
			return false;
	c->nr_objs += 1;
	return true;
}

void *slab_alloc(struct machine *m, enum slab_kind kind, gfp_t gfp)
{
	struct kmem_cache *c = &m->slab[kind];
	u32 handle;

	if (!slab_reserve(m, kind, gfp))
		return NULL;
	handle = pool_alloc(&c->pool);
	if (handle)
		return pool_ptr(&c->pool, handle);
	slab_release(m, kind);
	return NULL;
}

void slab_free(struct machine *m, enum slab_kind kind, void *obj)
{
	struct pool *pool = &m->slab[kind].pool;

	pool_free(pool, pool_index(pool, obj));
	slab_release(m, kind);
}

void slab_release(struct machine *m, enum slab_kind kind)
{
	struct kmem_cache *c = &m->slab[kind];

	world_order();
	VM_BUG_ON(!c->nr_objs);
	c->nr_objs -= 1;
	/* One frame may stay empty, so that the next object does not fetch it again. */
	while (c->nr_frames > c->frames_per_obj &&
	       c->nr_objs + 2 * c->objs_per_frame <= slab_capacity(c))
		for (u32 i = 0; i < c->frames_per_obj; i++) {
			slab_put_frame(m, c);
			world_order();
		}
}
