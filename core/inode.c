/*
 * Inodes, open files and disk blocks (Linux fs/inode.c, and what memory management sees of a file
 * system such as ext3).
 *
 * A file's data lies in extents, runs of blocks, in a tree by page offset; where there is none is a
 * hole, which reads as zeros without I/O. Blocks are found next-fit in a bitmap, as near behind the
 * file's last ones as they come.
 *
 * An inode stays while it is linked, open or mapped. Files of a scenario exist when it begins.
 *
 * Files that grow at the same time lie in pieces, a block each, unless fs.prealloc leaves them room.
 *
 * Left out: directories, permissions, block groups, delayed allocation, metadata blocks (a look-up of a
 * block is charged, and reads nothing).
 */
#include "core/fs.h"

#include <errno.h>
#include <stdio.h>

#include "lib/bitmap.h"

#define SECTORS_PER_PAGE (PAGE_SIZE / 512)

/* ---- the file system ------------------------------------------------------------------------------- */

static struct super_block *sb_add(struct machine *m)
{
	struct super_block *sb = &m->fs->sb[m->fs->nr_sb++];

	sb->machine = m;
	spin_lock_init(m->world, &sb->lock, LOCK_FS);
	return sb;
}

static int sb_fill(struct machine *m, struct super_block *sb, u32 disk)
{
	sb->has_disk = true;
	sb->disk = disk;
	sb->nr_blocks = m->world->hw->disk[disk].size_bytes / PAGE_SIZE;
	sb->nr_free = sb->nr_blocks;
	if (arena_init(&sb->arena, sb->nr_blocks / 8 + PAGE_SIZE, "block bitmap"))
		return -ENOMEM;
	sb->used = arena_array(&sb->arena, unsigned long, DIV_ROUND_UP(sb->nr_blocks, 64));
	return 0;
}

/* One for each disk that is not for swap; if there is none, one that holds sparse files only. */
int fs_init(struct machine *m)
{
	const struct hw_machine *hw = m->world->hw;
	struct fs *fs = arena_new(&m->arena, struct fs);
	int err = 0;

	m->fs = fs;
	INIT_LIST_HEAD(&fs->inodes);
	fs->max_shmem = m->totalram_pages / 2;
	for (u32 i = 0; !err && i < hw->nr_disks; i++)
		if (hw->disk[i].files)
			err = sb_fill(m, sb_add(m), i);
	if (!fs->nr_sb)
		sb_add(m);
	return err;
}

void fs_destroy(struct machine *m)
{
	if (!m->fs)
		return;
	for_each_sb(m, sb) arena_destroy(&sb->arena);
}

/* ---- blocks ------------------------------------------------------------------------------------------ */

static struct extent *rb_extent(struct rb_node *node)
{
	return rb_entry_safe(node, struct extent, rb);
}

/* The last extent that begins at or below @index. sb->lock held, or nobody else there. */
static struct extent *extent_before(const struct inode *inode, u64 index)
{
	struct rb_node *node = inode->extents.node;
	struct extent *best = NULL;

	while (node) {
		struct extent *e = rb_extent(node);

		if (e->index <= index) {
			best = e;
			node = node->right;
		} else {
			node = node->left;
		}
	}
	return best;
}

static void extent_link(struct inode *inode, struct extent *new)
{
	struct rb_node **link = &inode->extents.node;
	struct rb_node *parent = NULL;

	while (*link) {
		parent = *link;
		link = new->index < rb_extent(parent)->index ? &parent->left : &parent->right;
	}
	rb_link_node(&new->rb, parent, link);
	rb_insert_color(&new->rb, &inode->extents);
}

static bool __inode_bmap(const struct inode *inode, u64 index, u64 *block)
{
	const struct extent *e = extent_before(inode, index);

	if (!e || index >= e->index + e->nr)
		return false;
	*block = e->block + (index - e->index);
	return true;
}

bool inode_bmap(struct inode *inode, u64 index, u64 *block)
{
	bool found;

	charge(COST_BLOCK_MAP);
	if (!inode->extents.node)
		return false;
	spin_lock(&inode->i_sb->lock);
	found = __inode_bmap(inode, index, block);
	spin_unlock(&inode->i_sb->lock);
	return found;
}

/* The same for the @max pages from there on: *@nr of them, one after another on the disk; false: a hole, *@nr long. */
bool inode_bmap_run(struct inode *inode, u64 index, u64 max, u64 *block, u64 *nr)
{
	const struct extent *e;
	struct rb_node *next;
	bool found;

	charge(COST_BLOCK_MAP);
	*nr = max;
	if (!inode->extents.node)
		return false;
	spin_lock(&inode->i_sb->lock);
	e = extent_before(inode, index);
	found = e && index < e->index + e->nr;
	if (found) {
		*block = e->block + (index - e->index);
		*nr = min(max, e->index + e->nr - index);
	} else {
		next = e ? rb_next(&e->rb) : rb_first(&inode->extents);
		if (next)
			*nr = min(max, rb_extent(next)->index - index);
	}
	spin_unlock(&inode->i_sb->lock);
	return found;
}

/* The first free block at or behind @goal, else from the start; sb->lock held, some are free. */
static u64 find_free_block(const struct super_block *sb, u64 goal)
{
	u64 block = find_next_zero_bit(sb->used, sb->nr_blocks, goal);

	if (block >= sb->nr_blocks)
		block = find_next_zero_bit(sb->used, sb->nr_blocks, 0);
	VM_BUG_ON(block >= sb->nr_blocks);
	return block;
}

/* How many of @want are free from @block on. */
static u64 free_run(const struct super_block *sb, u64 block, u64 want)
{
	u64 end = find_next_bit(sb->used, min(block + want, sb->nr_blocks), block);

	return end - block;
}

static void take_blocks(struct super_block *sb, u64 block, u64 nr)
{
	for (u64 i = 0; i < nr; i++)
		__set_bit(block + i, sb->used);
	sb->nr_free -= nr;
	sb->next = block + nr;
}

/*
 * Where the search for other files' blocks goes on: behind as many as this file is likely to want, which
 * is as many as it has (fs.prealloc). Nothing holds them for it but that; a full disk is used up.
 */
static u64 behind_window(const struct machine *m, const struct inode *inode, u64 block)
{
	u64 window = roundup_pow_of_two(inode->nr_blocks + 1);

	return block + clamp(window, 4UL, max(m->knob.fs_prealloc, 4UL));
}

/*
 * A block for page @index, behind its neighbour's if that is free. @spare is used for an extent of
 * its own if it cannot be part of the neighbour's. sb->lock held.
 */
static int allocate_block(struct machine *m, struct inode *inode, u64 index, struct extent **spare,
                          u64 *block)
{
	struct super_block *sb = inode->i_sb;
	struct extent *before = extent_before(inode, index);
	u64 behind = before ? before->block + before->nr : sb->nr_blocks;
	u64 goal = before ? behind : sb->next;
	u64 next = sb->next;
	struct extent *e;

	if (!sb->nr_free)
		return -ENOSPC;
	if (m->knob.fs_prealloc && behind < sb->nr_blocks && test_bit(behind, sb->used))
		goal = next;
	*block = find_free_block(sb, goal < sb->nr_blocks ? goal : 0);
	take_blocks(sb, *block, 1);
	if (m->knob.fs_prealloc)
		sb->next = *block == behind ? next : behind_window(m, inode, *block);
	inode->nr_blocks += 1;
	if (before && before->index + before->nr == index && before->block + before->nr == *block) {
		before->nr += 1;
		return 0;
	}
	e = *spare;
	*spare = NULL;
	*e = (struct extent){.index = index, .nr = 1, .block = *block};
	extent_link(inode, e);
	return 0;
}

int inode_get_block(struct machine *m, struct inode *inode, u64 index, u64 *block)
{
	struct super_block *sb = inode->i_sb;
	struct extent *spare;
	int err = 0;

	if (inode_bmap(inode, index, block))
		return 0;
	if (!sb->has_disk)
		return -ENOSPC;
	spare = slab_alloc(m, SLAB_EXTENT, GFP_NOFS);
	if (!spare)
		return -ENOMEM;
	charge(COST_BLOCK_MAP);
	spin_lock(&sb->lock);
	if (!__inode_bmap(inode, index, block))
		err = allocate_block(m, inode, index, &spare, block);
	spin_unlock(&sb->lock);
	if (spare)
		slab_free(m, SLAB_EXTENT, spare);
	return err;
}

/* @nr blocks from @block on are nobody's. sb->lock held. */
static void release_blocks(struct super_block *sb, u64 block, u64 nr)
{
	for (u64 i = 0; i < nr; i++) {
		VM_BUG_ON(!test_bit(block + i, sb->used));
		__clear_bit(block + i, sb->used);
	}
	sb->nr_free += nr;
	world_disk_discard(sb->machine->world, sb->disk, block * SECTORS_PER_PAGE,
	                   nr * SECTORS_PER_PAGE);
}

void inode_free_blocks(struct machine *m, struct inode *inode, u64 from)
{
	struct super_block *sb = inode->i_sb;
	struct rb_node *node;

	if (!inode->extents.node)
		return;
	spin_lock(&sb->lock);
	while ((node = rb_last(&inode->extents))) {
		struct extent *e = rb_extent(node);
		u64 keep = from > e->index ? min(from - e->index, e->nr) : 0;

		if (keep == e->nr)
			break;
		charge(COST_BLOCK_MAP);
		release_blocks(sb, e->block + keep, e->nr - keep);
		inode->nr_blocks -= e->nr - keep;
		e->nr = keep;
		if (keep)
			break;
		rb_erase(&e->rb, &inode->extents);
		slab_free(m, SLAB_EXTENT, e);
	}
	spin_unlock(&sb->lock);
}

/* Gives an empty file all its blocks, and the world their contents. */
static int fill_blocks(struct machine *m, struct inode *inode, u64 nr_pages)
{
	struct super_block *sb = inode->i_sb;
	u64 index = 0;

	if (!sb->has_disk || sb->nr_free < nr_pages)
		return -ENOSPC;
	while (index < nr_pages) {
		struct extent *e = slab_alloc(m, SLAB_EXTENT, GFP_KERNEL);
		u64 block;

		if (!e)
			return -ENOMEM;
		block = find_free_block(sb, sb->next < sb->nr_blocks ? sb->next : 0);
		*e = (struct extent){.index = index, .block = block};
		e->nr = free_run(sb, block, nr_pages - index);
		take_blocks(sb, block, e->nr);
		extent_link(inode, e);
		inode->nr_blocks += e->nr;
		for (u64 i = 0; i < e->nr; i++)
			world_contents_file(WORLD_FILE_ON_DISK, inode->nr_created, index + i,
			                    (u64)sb->disk << 48 | (block + i));
		index += e->nr;
	}
	return 0;
}

/* ---- inodes -------------------------------------------------------------------------------------------- */

static void mapping_init(struct machine *m, struct inode *inode)
{
	struct address_space *mapping = &inode->i_data;

	mapping->host = inode;
	mapping->number = pool_index(&m->slab[SLAB_INODE].pool, inode);
	spin_lock_init(m->world, &mapping->tree_lock, LOCK_TREE);
	init_rwsem(m->world, &mapping->i_mmap_rwsem, LOCK_I_MMAP);
	mapping->i_mmap_rwsem.is_mutex = m->knob.i_mmap_lock == I_MMAP_MUTEX;
	spin_lock_init(m->world, &mapping->i_mmap_lock, LOCK_I_MMAP);
	mapping->i_mmap = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&mapping->wb_list);
}

int inode_create(struct machine *m, struct super_block *sb, const char *name, u64 size, bool sparse,
                 struct inode **out)
{
	struct inode *inode = slab_alloc(m, SLAB_INODE, GFP_KERNEL);
	int err = 0;

	if (!inode)
		return -ENOMEM;
	charge(COST_FILE_OP);
	mapping_init(m, inode);
	mutex_init(m->world, &inode->i_mutex, LOCK_INODE);
	inode->i_sb = sb;
	inode->extents = RB_ROOT;
	inode->i_nlink = 1;
	inode->i_size = size;
	inode->nr_created = ++m->fs->nr_inodes_created;
	snprintf(inode->name, sizeof(inode->name), "%s", name);
	list_add_tail(&inode->list, &m->fs->inodes);
	if (!sparse)
		err = fill_blocks(m, inode, inode_pages(inode));
	if (err) {
		inode->i_nlink = 0;
		iget(inode);
		iput(m, inode);
		return err;
	}
	*out = inode;
	return 0;
}

void iget(struct inode *inode)
{
	inode->i_count += 1;
}

/* Nobody can reach the file any more. May switch tasks. */
static void evict_inode(struct machine *m, struct inode *inode)
{
	list_del(&inode->list); /* sync() does not meet it any more */
	inode_wb_del(&inode->i_data);
	truncate_inode_pages(m, &inode->i_data, 0);
	inode_wb_del(&inode->i_data); /* a page that could not be written became dirty again */
	VM_BUG_ON_MSG(inode->i_data.nrpages, "%s is removed with %lu pages in the cache",
	              inode->name, inode->i_data.nrpages);
	VM_BUG_ON(inode->i_data.i_mmap.root.node);
	inode_free_blocks(m, inode, 0);
	if (mapping_is_shmem(&inode->i_data))
		shmem_evict_inode(m, inode);
	world_contents_file(WORLD_FILE_GONE, inode->nr_created, 0, 0);
	charge(COST_FILE_OP);
	slab_free(m, SLAB_INODE, inode);
}

void iput(struct machine *m, struct inode *inode)
{
	world_order();
	VM_BUG_ON(!inode->i_count);
	if (--inode->i_count == 0 && !inode->i_nlink)
		evict_inode(m, inode);
}

/* ---- open files ------------------------------------------------------------------------------------------- */

int file_open(struct machine *m, struct inode *inode, struct file **out)
{
	struct file *file = slab_alloc(m, SLAB_FILE, GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	iget(inode);
	file->f_inode = inode;
	file->f_count = 1;
	file_ra_state_init(m, &file->f_ra);
	*out = file;
	return 0;
}

void get_file(struct file *file)
{
	VM_BUG_ON(!file->f_count);
	file->f_count += 1;
}

void fput(struct machine *m, struct file *file)
{
	struct inode *inode = file->f_inode;

	world_order();
	VM_BUG_ON(!file->f_count);
	if (--file->f_count)
		return;
	slab_free(m, SLAB_FILE, file);
	iput(m, inode);
}
