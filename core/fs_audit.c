/*
 * Auditing files: each inode's index against its pages and their flags, its blocks against the bitmap,
 * the page cache against its counters.
 */
#include <stdlib.h>

#include "core/fs.h"
#include "lib/bitmap.h"

struct fs_census {
	struct machine *m;
	struct address_space *mapping;
	unsigned long nr_pages;    /* of the mapping */
	unsigned long nr_in_folio; /* of a large one: still to be met */
	unsigned long nr_shadows;
	unsigned long nr_dirty_here;
	unsigned long nr_dirty; /* of all */
	unsigned long nr_mapped;
	unsigned long nr_cached;
	unsigned long nr_shmem;
	struct sb_census {
		u64 nr_blocks;       /* of all files on it */
		unsigned long *used; /* blocks found in extents */
		unsigned long nr_dirty;
	} sb[HW_MAX_DISKS];
};

static struct sb_census *census_of(struct fs_census *c, const struct inode *inode)
{
	return &c->sb[inode->i_sb - c->m->fs->sb];
}

/* A large folio, at the offset of its head: its tails are the file's, and what is dirty of it is so by blocks. */
static void audit_folio(struct fs_census *c, const struct page *folio)
{
	bool settled = !page_test(folio, PG_dirty) && !page_test(folio, PG_locked);

	VM_BUG_ON(!IS_ALIGNED(folio->index, compound_nr(folio)) || page_is_shmem(folio));
	VM_BUG_ON(compound_order(folio) > mapping_max_folio_order(c->m, c->mapping));
	VM_BUG_ON(!(folio[1].compound_flags & COMPOUND_TAILS) || folio[1].compound_mapcount);
	for (u32 i = 1; i < compound_nr(folio); i++) {
		VM_BUG_ON(folio[i].mapping != TAIL_MAPPING_FILE);
		c->nr_mapped += folio[i].mapcount != 0;
	}
	c->nr_mapped += folio->mapcount != 0;
	for (u32 i = 0; i < compound_nr(folio); i++)
		VM_BUG_ON_MSG(settled && folio_block_dirty(folio, i),
		              "page 0x%lx of %s is dirty, its folio is not", folio->index + i,
		              c->mapping->host->name);
	VM_BUG_ON(folio[1].nr_io && !page_test(folio, PG_locked) &&
	          !page_test(folio, PG_writeback));
}

static void audit_entry(struct machine *m, u64 index, u64 entry, u32 marks, void *arg)
{
	struct fs_census *c = arg;
	const struct page *page;
	bool dirty, writeback;

	if (xa_is_value(entry)) {
		c->nr_shadows += 1; /* or swap entries */
		VM_BUG_ON_MSG(marks, "a shadow at 0x%lx of %s has marks", index,
		              c->mapping->host->name);
		return;
	}
	c->nr_pages += 1;
	page = pfn_to_page(m, entry - 1);
	VM_BUG_ON_MSG(page->mapping != c->mapping->number || !folio_contains(page, index),
	              "%s has pfn 0x%lx at 0x%lx, which says %u, 0x%lx", c->mapping->host->name,
	              entry - 1, index, page->mapping, page->index);
	if (page->index != index) {
		VM_BUG_ON_MSG(marks, "0x%lx of %s, in the middle of a folio, has marks", index,
		              c->mapping->host->name);
		c->nr_in_folio -= 1;
		return;
	}
	VM_BUG_ON_MSG(c->nr_in_folio, "of a folio before 0x%lx of %s the index lacks %lu pages",
	              index, c->mapping->host->name, c->nr_in_folio);
	c->nr_in_folio = compound_nr(page) - 1;
	dirty = page_test(page, PG_dirty);
	writeback = page_test(page, PG_writeback);
	c->nr_shmem += page_is_shmem(page);
	VM_BUG_ON(page_is_shmem(page) != mapping_is_shmem(c->mapping));
	if (page_is_shmem(page)) {
		VM_BUG_ON(marks || writeback || page_test(page, PG_swapcache));
		VM_BUG_ON(page->refcount < 1 + page->mapcount);
		c->nr_mapped += page_mapped(page);
		return;
	}
	VM_BUG_ON_MSG(dirty && !(marks >> PAGECACHE_TAG_DIRTY & 1),
	              "page 0x%lx of %s is dirty, and its tag says it is not", index,
	              c->mapping->host->name);
	VM_BUG_ON(writeback != (marks >> PAGECACHE_TAG_WRITEBACK & 1));
	VM_BUG_ON(page_test(page, PG_swapcache));
	VM_BUG_ON(page->refcount < 1 + page->mapcount + page_test(page, PG_private));
	VM_BUG_ON(dirty && list_empty(&c->mapping->wb_list));
	c->nr_dirty += dirty ? compound_nr(page) : 0;
	c->nr_dirty_here += dirty ? compound_nr(page) : 0;
	if (page_is_compound(page))
		audit_folio(c, page);
	else
		c->nr_mapped += page_mapped(page);
}

static void audit_extents(struct fs_census *c, const struct inode *inode)
{
	struct sb_census *on = census_of(c, inode);
	u64 nr_blocks = 0;
	u64 end = 0;

	for (struct rb_node *node = rb_first(&inode->extents); node; node = rb_next(node)) {
		const struct extent *e = rb_entry(node, struct extent, rb);

		VM_BUG_ON_MSG(e->index < end || !e->nr, "%s: extents overlap at page 0x%lx",
		              inode->name, e->index);
		for (u64 b = e->block; b < e->block + e->nr; b++)
			VM_BUG_ON_MSG(__test_and_set_bit(b, on->used), "block 0x%lx has two owners",
			              b);
		end = e->index + e->nr;
		nr_blocks += e->nr;
	}
	VM_BUG_ON(nr_blocks != inode->nr_blocks);
	on->nr_blocks += nr_blocks;
}

static void audit_inode(struct fs_census *c, struct inode *inode)
{
	struct address_space *mapping = &inode->i_data;

	VM_BUG_ON(!inode->i_count && !inode->i_nlink);
	c->mapping = mapping;
	c->nr_pages = 0;
	c->nr_shadows = 0;
	c->nr_dirty_here = 0;
	xa_audit(c->m, &mapping->i_pages, audit_entry, c);
	VM_BUG_ON(c->nr_in_folio);
	VM_BUG_ON_MSG(c->nr_pages != mapping->nrpages, "%s: nrpages %lu, counted %lu", inode->name,
	              mapping->nrpages, c->nr_pages);
	VM_BUG_ON_MSG(c->nr_shadows != mapping->nrexceptional, "%s: %lu shadows, counted %lu",
	              inode->name, mapping->nrexceptional, c->nr_shadows);
	c->nr_cached += c->nr_pages;
	if (!inode->i_sb) {
		VM_BUG_ON(inode->extents.node || c->nr_dirty_here);
		return;
	}
	census_of(c, inode)->nr_dirty += c->nr_dirty_here;
	audit_extents(c, inode);
}

static void audit_sb(const struct super_block *sb, const struct sb_census *c)
{
	VM_BUG_ON_MSG(c->nr_blocks + sb->nr_free != sb->nr_blocks,
	              "%lu blocks belong to files and %lu are free, of %lu", c->nr_blocks,
	              sb->nr_free, sb->nr_blocks);
	for (u64 i = 0; i < DIV_ROUND_UP(sb->nr_blocks, 64); i++)
		VM_BUG_ON_MSG(c->used[i] != sb->used[i], "the bitmap is wrong near block 0x%lx",
		              i * 64);
	VM_BUG_ON_MSG(c->nr_dirty != sb->wb.nr_reclaimable,
	              "%lu pages of a disk's files are dirty, which counted %lu", c->nr_dirty,
	              sb->wb.nr_reclaimable);
}

/* Between tasks. */
void fs_audit(struct machine *m)
{
	struct fs_census c = {.m = m};
	struct inode *inode;
	long cached = item_exact(m, NR_FILE_PAGES) - item_exact(m, NR_SWAPCACHE);

	for_each_sb(m, sb)
	{
		unsigned long *used = calloc(sb->nr_blocks / 64 + 1, sizeof(*used));

		if (!used)
			panic("no host memory to audit %lu blocks", sb->nr_blocks);
		c.sb[sb - m->fs->sb].used = used;
	}
	list_for_each_entry (inode, &m->fs->inodes, list)
		audit_inode(&c, inode);
	for_each_sb(m, sb)
	{
		audit_sb(sb, &c.sb[sb - m->fs->sb]);
		free(c.sb[sb - m->fs->sb].used);
	}
	VM_BUG_ON_MSG((long)c.nr_cached != cached, "%lu pages are in files, nr_file_pages says %ld",
	              c.nr_cached, cached);
	VM_BUG_ON_MSG((long)c.nr_dirty != item_exact(m, NR_FILE_DIRTY),
	              "nr_dirty is %ld, counted %lu", item_exact(m, NR_FILE_DIRTY), c.nr_dirty);
	VM_BUG_ON_MSG((long)c.nr_shmem != item_exact(m, NR_SHMEM), "nr_shmem is %ld, counted %lu",
	              item_exact(m, NR_SHMEM), c.nr_shmem);
	VM_BUG_ON_MSG((long)c.nr_mapped != item_exact(m, NR_FILE_MAPPED),
	              "nr_mapped is %ld, counted %lu", item_exact(m, NR_FILE_MAPPED), c.nr_mapped);
	wb_audit(m);
}
