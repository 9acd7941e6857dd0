/*
 * Files: inodes, their address spaces, open files, and the disk blocks they have.
 *
 * One file system, on the first disk that the machine has for files. It is what memory management
 * sees of one: sizes, holes, a map from page offsets to blocks, and whether pages carry buffer heads
 * (knob fs.buffer_heads) and commit through a journal. Names, directories and permissions are the
 * scenario's affair.
 *
 * Letters: (c) constant after creation  (I) inode->i_mutex  (t) mapping->tree_lock, irq-safe
 *   (R) mapping's i_mmap lock  (B) sb->lock  (a) atomic
 */
#ifndef CORE_FS_H
#define CORE_FS_H

#include "core/internal.h"
#include "core/writeback.h"

struct inode;

/* What Linux's struct address_space is: the pages of one inode, and who maps them. */
struct address_space {
	struct inode *host;               /* (c) */
	u32 number;                       /* (c) page->mapping of its pages */
	u32 flags;                        /* (a) enum mapping_flags */
	struct spinlock tree_lock;        /* irq-safe */
	struct xarray i_pages;            /* (t) */
	unsigned long nrpages;            /* (t) */
	unsigned long nrexceptional;      /* (t) shadows, or swap entries */
	struct rw_semaphore i_mmap_rwsem; /* knob file.i_mmap_lock: this, as mutex or rwsem, ... */
	struct spinlock i_mmap_lock;      /* ... or this one */
	struct rb_root_cached i_mmap;     /* (R) of vm_area_struct.shared, by page offset */
	u64 writeback_index;              /* (a) where a cyclic writeback goes on */
	struct list_head wb_list; /* (wb->list_lock) in one of its lists while it has dirty pages */
	u64 dirtied_when;         /* (wb->list_lock) ns; when it came there */
};

enum mapping_flags {
	AS_EIO = 1 << 0,    /* a write failed; the next fsync() says so */
	AS_ENOSPC = 1 << 1, /* there was no block for it */
	AS_SYNC = 1 << 2,   /* (wb->list_lock) it is being written by its list */
	AS_SHMEM = 1 << 3,  /* (c) shared memory: its pages are swapped. See shmem.c */
};

/* A run of pages that lie one after another on the disk. */
struct extent {
	struct rb_node rb; /* in inode->extents, by index */
	u64 index;         /* page offset of the first */
	u64 nr;            /* pages */
	u64 block;         /* of the disk, 4 KiB each */
};

struct inode {
	struct address_space i_data; /* first */
	struct super_block *i_sb;    /* (c) NULL: of a tmpfs */
	u32 i_count;                 /* (a) open files and mappings */
	u32 i_nlink;                 /* (a) 0: goes with its last user */
	u64 i_size;                  /* (a) bytes; changed under i_mutex */
	struct mutex i_mutex;        /* writes, truncation */
	struct rb_root extents;      /* (B) */
	u64 nr_blocks;               /* (B) */
	u64 shmem_alloced;     /* (a) shared memory: pages it has, or is getting, as accounted */
	u32 shmem_coming;      /* (a) of them on their way into the index */
	bool shmem_unlimited;  /* (c) not of the tmpfs, whose size is limited */
	u64 shmem_prealloc;    /* (c) pages accounted for all of it at once; 0: one by one */
	u64 nr_created;        /* (c) counts inodes: names it in messages and to the world */
	struct list_head list; /* in fs->inodes */
	char name[24];         /* (c) */
};

/* Changed by readers without a lock, as in Linux. */
struct file_ra_state {
	u64 start; /* the window, in pages */
	u32 size;
	u32 async_size; /* at start + size - async_size the next one is started */
	u32 ra_pages;   /* the largest window */
	u32 mmap_miss;
	u8 order;     /* of the folios of the window, if they may be large */
	s64 prev_pos; /* bytes; where the last read ended */
};

struct file {
	struct inode *f_inode; /* (c) */
	u32 f_count;           /* (a) descriptors and VMAs */
	bool random;           /* POSIX_FADV_RANDOM */
	struct file_ra_state f_ra;
};

/* The file system of one disk, with what Linux keeps in the disk's struct backing_dev_info. */
struct super_block {
	struct machine *machine;
	bool has_disk;       /* (c) else there is no room for data: sparse files only */
	u32 disk;            /* (c) */
	u64 nr_blocks;       /* (c) */
	u64 nr_free;         /* (B) */
	u64 next;            /* (B) where the search for free blocks goes on */
	unsigned long *used; /* (B) [nr_blocks] bits */
	struct arena arena;  /* of the bitmap */
	struct spinlock lock;
	struct bdi_writeback wb;
};

struct fs {
	u32 nr_sb; /* (c) at least one, also without any disk */
	struct super_block sb[HW_MAX_DISKS];
	struct wb_domain domain; /* what dirty pages of all of them share */
	u64 nr_shmem;            /* (a) pages of the tmpfs, */
	u64 max_shmem;           /* (c) and how many there may be */
	struct list_head inodes; /* all */
	u64 nr_inodes_created;
	u64 nr_io_errors[2]; /* (a) pages whose read, write failed */
};

#define for_each_sb(m, sb)                                                                         \
	for (struct super_block *sb = (m)->fs->sb; sb < (m)->fs->sb + (m)->fs->nr_sb; sb++)

/* ---- numbers and pointers ---------------------------------------------------------------------- */

static inline struct address_space *mapping_of(const struct machine *m, u32 number)
{
	return &((struct inode *)pool_ptr(&m->slab[SLAB_INODE].pool, number))->i_data;
}

/* The address space of a page-cache page; NULL: anonymous, or not in any (any more). */
static inline struct address_space *page_mapping(const struct machine *m, const struct page *page)
{
	if (page_is_anon(page) || !page->mapping)
		return NULL;
	return mapping_of(m, page->mapping);
}

/* Shared memory, which has no disk and is neither written back nor read ahead. */
static inline bool mapping_is_shmem(const struct address_space *mapping)
{
	return unlikely(mapping->flags & AS_SHMEM);
}

static inline bool page_is_shmem(const struct page *page)
{
	return !page_is_anon(page) && page_test(page, PG_swapbacked);
}

static inline u64 inode_pages(const struct inode *inode)
{
	return DIV_ROUND_UP(inode->i_size, PAGE_SIZE);
}

/* No file is longer (s_maxbytes): as ext4's with blocks of 4 KiB, whose numbers have 32 bits. */
#define FILE_BYTES_MAX ((u64)UINT32_MAX << PAGE_SHIFT)

static inline struct bdi_writeback *mapping_wb(const struct address_space *mapping)
{
	return &mapping->host->i_sb->wb;
}

/* The disk of @mapping's file has as much to do as it takes (@write: in that direction). */
static inline bool bdi_congested(struct machine *m, const struct address_space *mapping, bool write)
{
	const struct super_block *sb = mapping->host->i_sb;

	return sb && sb->has_disk && world_disk_congested(m->world, sb->disk, write);
}

/* ---- inode.c: inodes, blocks, open files --------------------------------------------------------- */

int fs_init(struct machine *m); /* boot */
void fs_destroy(struct machine *m);

/*
 * A file of @size bytes that exists on @sb (NULL: in memory only); with all its blocks on the disk, or
 * (@sparse) none. -ENOSPC.
 */
int inode_create(struct machine *m, struct super_block *sb, const char *name, u64 size, bool sparse,
                 struct inode **out);
void iget(struct inode *inode);
void iput(struct machine *m, struct inode *inode); /* the last one of an unlinked file frees it */
int file_open(struct machine *m, struct inode *inode, struct file **out);
void get_file(struct file *file);
void fput(struct machine *m, struct file *file);

struct file *fd_file(struct machine *m, u32 fd); /* file.c */

/* The block of page @index; false: a hole. */
bool inode_bmap(struct inode *inode, u64 index, u64 *block);
bool inode_bmap_run(struct inode *inode, u64 index, u64 max, u64 *block, u64 *nr);
/* The same, allocating it. -ENOSPC. */
int inode_get_block(struct machine *m, struct inode *inode, u64 index, u64 *block);
int inode_get_blocks(struct machine *m, struct inode *inode, u64 index, u64 nr, u64 *got);
void inode_free_blocks(struct machine *m, struct inode *inode, u64 from_index);
void fs_audit(struct machine *m);

/* ---- filemap.c: the page cache --------------------------------------------------------------------- */

/* The page at @index with a reference, or the head of the large folio that has @index; NULL: none. */
struct page *find_get_page(struct machine *m, struct address_space *mapping, u64 index);
/* Puts a new page there, locked, on the inactive file list. 0, -EEXIST or -ENOMEM. May switch tasks. */
int add_to_page_cache_lru(struct machine *m, struct page *page, struct address_space *mapping,
                          u64 index, gfp_t gfp);
/* Takes a locked page out; its reference of the cache is dropped. */
void delete_from_page_cache(struct machine *m, struct page *page);
/* The same with tree lock held; the caller drops the reference. */
void __delete_from_page_cache(struct machine *m, struct page *page, u64 shadow);

/* @new takes @page's place, tags and buffer. Both locked, @page unmapped. -EAGAIN: others than
 * the cache, its buffer and the caller hold it. */
int replace_page_cache_page(struct machine *m, struct page *page, struct page *new);

/* ---- filemap_folio.c: large folios ------------------------------------------------------------------ */

/* @folio, a head or a page of its own, is of a file: has it @index? */
static inline bool folio_contains(const struct page *folio, u64 index)
{
	return index - folio->index < compound_nr(folio);
}

/* Its page at @index. */
static inline struct page *folio_file_page(struct page *folio, u64 index)
{
	return folio + (index - folio->index);
}

static inline u64 folio_next_index(const struct page *folio)
{
	return folio->index + compound_nr(folio);
}

/* How large folios of @mapping may be; 0: single pages. */
unsigned int mapping_max_folio_order(const struct machine *m, const struct address_space *mapping);
void filemap_prep_folio(struct machine *m, struct page *folio);
struct page *filemap_alloc_folio(struct machine *m, gfp_t gfp, unsigned int order);
/* Which blocks of it are to be written, when it is. Nothing, for a page of its own. Page locked. */
void folio_set_blocks_dirty(struct page *folio, u32 first, u32 nr);
void folio_clear_blocks_dirty(struct page *folio, u32 first); /* from there on */
bool folio_block_dirty(const struct page *folio, u32 i);
bool folio_end_io(struct page *folio);
struct mpage;
void mpage_read_folio(struct mpage *mp, struct page *folio);
int write_folio(struct mpage *mp, struct page *folio);
int split_file_folio(struct machine *m, struct page *folio);

/* ---- filemap_read.c ------------------------------------------------------------------------------- */

/* Bytes transferred go to *@done; an error only if there are none. May switch tasks. */
int generic_file_read(struct machine *m, struct file *file, u64 pos, u64 len, u64 *done);
void charge_copy_user(u64 bytes); /* what a part of a page costs to copy */
int generic_file_write(struct machine *m, struct file *file, u64 pos, u64 len, u64 *done);

/* ---- readahead.c ------------------------------------------------------------------------------------ */

void file_ra_state_init(struct machine *m, struct file_ra_state *ra);
void page_cache_sync_readahead(struct machine *m, struct file *file, u64 index, u64 req);
void page_cache_async_readahead(struct machine *m, struct file *file, struct page *page, u64 index,
                                u64 req);
/* Reads pages that are missing in [@start, @start + @nr); the one @lookahead before the end gets the
 * marker (0: none). Returns how many were started. */
u64 do_page_cache_readahead(struct machine *m, struct file *file, u64 start, u64 nr, u64 lookahead);
u32 ra_submit(struct machine *m, struct file *file);
/* Asked for by the program: all of it, whatever the windows. */
void force_page_cache_readahead(struct machine *m, struct file *file, u64 start, u64 nr);
u64 get_init_ra_size(u64 size, u64 max);
u64 get_next_ra_size(u64 cur, u64 max);

/* ---- mpage.c: pages to and from blocks (fs/mpage.c) -------------------------------------------------- */

/* Pages of one file on their way into requests. */
struct mpage {
	struct machine *m;
	struct inode *inode;
	struct world_io *io; /* being filled */
	u64 next_block;
	bool write;
};

void mpage_start(struct mpage *mp, struct machine *m, struct inode *inode, bool write);
/* A locked page that is not up to date: it is unlocked when it has been read, a hole at once. */
void mpage_read(struct mpage *mp, struct page *page);
void mpage_add(struct mpage *mp, struct page *page, u64 block); /* to the request being filled */
void mpage_submit(struct mpage *mp);                            /* what is left */
/* One page, locked; unlocked when it has been read. */
void readpage(struct machine *m, struct inode *inode, struct page *page);

/* ---- page-writeback.c: dirty pages (mm/page-writeback.c) ----------------------------------------------- */

/* PG_dirty, with what goes with it for a page of a file: tag, counters, the list of dirty inodes.
 * True: it was clean. Page locked, or mapped with the table's lock held, or else kept by its user. */
bool set_page_dirty(struct machine *m, struct page *page); /* all of a large folio */
/* The same of a large folio of which some blocks are known to be dirty. */
bool __set_page_dirty(struct machine *m, struct page *page);
/* Page locked: it is to be written now. False: it was not dirty. May wait for the i_mmap lock. */
bool clear_page_dirty_for_io(struct machine *m, struct page *page);
/* Page locked: its contents are of no interest any more. */
void cancel_dirty_page(struct machine *m, struct page *page);
/* One that leaves the cache of @mapping dirty. */
void account_page_cleaned(struct machine *m, struct page *page, struct address_space *mapping);
/* After pages of @mapping were dirtied: the dirtier may have to wait. May switch tasks. */
void balance_dirty_pages_ratelimited(struct machine *m, struct address_space *mapping);

/* What a writeback is to do, and what is left of it. */
struct writeback_control {
	long nr_to_write; /* pages; counts down */
	u64 range_start;  /* page offsets */
	u64 range_end;
	bool sync_all; /* WB_SYNC_ALL: waits for pages that are being written, leaves none out */
	bool range_cyclic; /* from where the last one ended, then around */
	bool for_reclaim;
};

/* Starts the write of dirty pages of @mapping. May switch tasks. */
int write_cache_pages(struct machine *m, struct address_space *mapping,
                      struct writeback_control *wbc);
/* One page, locked, cleared for I/O: adds it to @mp and unlocks it. */
int writepage(struct mpage *mp, struct page *page);
int filemap_fdatawait(struct machine *m, struct address_space *mapping);
int filemap_flush(struct machine *m, struct address_space *mapping); /* starts it, no more */
void filemap_fdatawait_keep_errors(struct machine *m, struct address_space *mapping);
void wait_inodes_written(struct machine *m); /* all files' */
int filemap_write_and_wait(struct machine *m, struct address_space *mapping);
bool mapping_tagged(struct machine *m, const struct address_space *mapping, enum xa_mark mark);

/* ---- buffer.c: buffer heads (fs/buffer.c) ------------------------------------------------------------------ */

/* A page that is written to gets one, if the file system works with them: PG_private, a reference. */
void create_empty_buffers(struct machine *m, struct page *page);
/* Takes it away, if nothing is in its way. Page locked. */
bool try_to_free_buffers(struct machine *m, struct page *page);
void drop_buffers(struct machine *m, struct page *page); /* whatever is in its way: truncation */

/* ---- truncate.c --------------------------------------------------------------------------------------------- */

void truncate_inode_pages(struct machine *m, struct address_space *mapping, u64 from);
void truncate_setsize(struct machine *m, struct inode *inode, u64 size);
unsigned long invalidate_mapping_pages(struct machine *m, struct address_space *mapping, u64 start,
                                       u64 end);
unsigned long drop_pagecache(struct machine *m);

/* ---- shmem.c: shared memory ------------------------------------------------------------------------- */

struct vm_fault;

/* What a look for a page may do. */
enum sgp_type {
	SGP_READ,  /* not behind the end, and make nothing */
	SGP_CACHE, /* not behind the end */
	SGP_WRITE,
};
int shmem_getpage(struct machine *m, struct inode *inode, u64 index, enum sgp_type sgp,
                  struct page **pagep, bool *major);
/* A file without a name, open: a shared anonymous mapping's. [task] -ENOMEM. */
int shmem_file_setup(struct machine *m, const char *name, u64 size, bool noreserve,
                     struct file **out);
void shmem_evict_inode(struct machine *m, struct inode *inode);
void shmem_recalc_inode(struct machine *m, struct inode *inode);
int shmem_writepage(struct machine *m, struct page *page);
int shmem_fault(struct vm_fault *f, struct page **pagep);
int shmem_file_read(struct machine *m, struct file *file, u64 pos, u64 len, u64 *done);
int shmem_write_page(struct machine *m, struct inode *inode, u64 pos, u64 bytes);
void shmem_willneed(struct machine *m, struct address_space *mapping, u64 start, u64 end);
long shmem_committed(const struct machine *m);
void shmem_for_each_swap(struct machine *m,
                         void (*fn)(struct machine *m, swp_entry_t entry, void *arg), void *arg);

/* ---- filemap_fault.c ----------------------------------------------------------------------------------- */

struct vm_fault;
int do_file_fault(struct vm_fault *f); /* nothing is there */
int do_wp_file_page(struct vm_fault *f,
                    struct page *page); /* read-only, written to; table locked */

/* ---- rmap_file.c ----------------------------------------------------------------------------------------- */

void page_add_file_rmap(struct machine *m, struct page *page);
void folio_add_file_rmap_ptes(struct machine *m, struct page *page, u32 nr);
void vma_link_file(struct machine *m, struct vm_area_struct *vma);
void unlink_file_vma(struct machine *m, struct vm_area_struct *vma); /* and drops the file */
bool page_mkclean(struct machine *m, struct page *page);
void i_mmap_lock_write(struct machine *m, struct address_space *mapping);
void i_mmap_unlock_write(struct machine *m, struct address_space *mapping);
void vma_interval_remove(struct vm_area_struct *vma);
void vma_interval_insert(struct vm_area_struct *vma);

/*
 * The hardware may make the VMA's entries dirty unseen: no file system has to hear of the first store, so
 * that they are writable from the start.
 */
static inline bool vma_dirties_unseen(const struct vm_area_struct *vma)
{
	return unlikely(vma->vm_file) &&
	       (vma->vm_flags & (VM_SHARED | VM_WRITE)) == (VM_SHARED | VM_WRITE) &&
	       vma->vm_file->f_inode->i_data.flags & AS_SHMEM;
}

static inline struct address_space *vma_mapping(const struct vm_area_struct *vma)
{
	return vma->vm_file ? &vma->vm_file->f_inode->i_data : NULL;
}

#endif
