/*
 * Files as programs see them: system calls (Linux fs/open.c, fs/read_write.c, fs/sync.c, mm/fadvise.c).
 *
 * A descriptor is the number of the open file itself; whoever opened it closes it. Files are named by
 * numbers that machine_file_create() gave.
 */
#include "core/fs.h"

struct file *fd_file(struct machine *m, u32 fd)
{
	return pool_ptr(&m->slab[SLAB_FILE].pool, fd);
}

static struct inode *inode_of(struct machine *m, u32 ino)
{
	return pool_ptr(&m->slab[SLAB_INODE].pool, ino);
}

static int file_create(struct machine *m, struct super_block *sb, const char *name, u64 size,
                       bool sparse, u32 *ino)
{
	struct inode *inode;
	int err = inode_create(m, sb, name, size, sparse, &inode);

	if (!err)
		*ino = inode->i_data.number;
	return err;
}

int machine_file_create(struct machine *m, const char *name, u64 size, bool sparse, u32 *ino)
{
	return file_create(m, &m->fs->sb[0], name, size, sparse, ino);
}

int machine_file_create_on(struct machine *m, u32 disk, const char *name, u64 size, bool sparse,
                           u32 *ino)
{
	for_each_sb(m, sb) if (sb->has_disk &&
	                       sb->disk == disk) return file_create(m, sb, name, size, sparse, ino);
	return -ENODEV;
}

int do_open(struct machine *m, u32 ino, u32 *fd)
{
	struct task *t = sys_enter(SPAN_OPEN);
	struct file *file;
	int err;

	charge(COST_FILE_OP);
	err = file_open(m, inode_of(m, ino), &file);
	if (!err)
		*fd = pool_index(&m->slab[SLAB_FILE].pool, file);
	span_exit();
	world_syscall_exit();
	/* Killed or not, the descriptor is the caller's now, and it must be told so. */
	(void)t;
	return err;
}

int do_close(struct machine *m, u32 fd)
{
	struct task *t = sys_enter(SPAN_OPEN);

	charge(COST_FILE_OP);
	fput(m, fd_file(m, fd));
	return sys_exit(t, 0);
}

/* Linux rw_verify_area(): positions are signed. */
static int rw_verify_area(u64 offset, u64 len)
{
	return offset > INT64_MAX || len > INT64_MAX - offset ? -EINVAL : 0;
}

/* Linux generic_write_checks(). */
static int write_checks(u64 offset, u64 *len)
{
	if (*len && offset >= FILE_BYTES_MAX)
		return -EFBIG;
	*len = min(*len, FILE_BYTES_MAX - min(offset, FILE_BYTES_MAX));
	return 0;
}

int do_pread(struct machine *m, u32 fd, u64 offset, u64 len, u64 *done)
{
	struct task *t = sys_enter(SPAN_READ);
	u64 start = world_now();
	int err = rw_verify_area(offset, len);

	*done = 0;
	if (!err && len && offset < FILE_BYTES_MAX)
		err = generic_file_read(m, fd_file(m, fd), offset, len, done);
	world_latency(HIST_READ, start);
	return sys_exit(t, err);
}

int do_pwrite(struct machine *m, u32 fd, u64 offset, u64 len, u64 *done)
{
	struct task *t = sys_enter(SPAN_WRITE);
	u64 start = world_now();
	int err = rw_verify_area(offset, len);

	*done = 0;
	if (!err)
		err = write_checks(offset, &len);
	if (!err && len)
		err = generic_file_write(m, fd_file(m, fd), offset, len, done);
	world_latency(HIST_WRITE, start);
	return sys_exit(t, err);
}

int do_fsync(struct machine *m, u32 fd)
{
	struct task *t = sys_enter(SPAN_FSYNC);
	struct inode *inode = fd_file(m, fd)->f_inode;

	return sys_exit(t, filemap_write_and_wait(m, &inode->i_data));
}

/* All files. Errors stay for the fsync() of each. */
int do_sync(struct machine *m)
{
	struct task *t = sys_enter(SPAN_FSYNC);

	sync_inodes(m);
	return sys_exit(t, 0);
}

int do_ftruncate(struct machine *m, u32 fd, u64 size)
{
	struct task *t = sys_enter(SPAN_TRUNCATE);
	struct inode *inode = fd_file(m, fd)->f_inode;
	int err = size > INT64_MAX ? -EINVAL : size > FILE_BYTES_MAX ? -EFBIG : 0;

	charge(COST_FILE_OP);
	if (!err) {
		mutex_lock(&inode->i_mutex);
		truncate_setsize(m, inode, size);
		mutex_unlock(&inode->i_mutex);
	}
	return sys_exit(t, err);
}

int do_creat(struct machine *m, const char *name, u32 *ino)
{
	struct task *t = sys_enter(SPAN_OPEN);
	int err = machine_file_create(m, name, 0, true, ino);

	span_exit();
	world_syscall_exit();
	(void)t; /* as do_open() */
	return err;
}

int do_unlink(struct machine *m, u32 ino)
{
	struct task *t = sys_enter(SPAN_TRUNCATE);
	struct inode *inode = inode_of(m, ino);
	int err = -ENOENT;

	charge(COST_FILE_OP);
	world_order();
	if (inode->i_nlink) {
		iget(inode);
		inode->i_nlink -= 1;
		iput(m, inode);
		err = 0;
	}
	return sys_exit(t, err);
}

/* Writes what the mapped parts of files have that is dirty, and waits. -ENOMEM: a hole in the range. */
int do_msync(struct machine *m, u64 va, u64 len)
{
	struct task *t = sys_enter(SPAN_FSYNC);
	struct mm_struct *mm = t->mm;
	u64 end = va + ALIGN(len, PAGE_SIZE); /* of a length that wraps to nothing: nothing */
	int unmapped = 0;
	int err = 0;

	if (va & ~PAGE_MASK)
		return sys_exit(t, -EINVAL);
	if (end < va)
		return sys_exit(t, -ENOMEM);
	while (va < end && !err) {
		struct vm_area_struct *vma;
		struct file *file = NULL;

		down_read(&mm->mmap_sem);
		vma = find_vma(mm, va);
		if (!vma || vma->vm_start >= end) {
			up_read(&mm->mmap_sem);
			unmapped = -ENOMEM;
			break;
		}
		if (va < vma->vm_start)
			unmapped = -ENOMEM;
		if (vma->vm_file && vma->vm_flags & VM_SHARED) {
			file = vma->vm_file;
			get_file(file);
		}
		va = vma->vm_end;
		up_read(&mm->mmap_sem);
		if (!file)
			continue;
		err = filemap_write_and_wait(m, &file->f_inode->i_data);
		fput(m, file);
	}
	return sys_exit(t, err ? err : unmapped);
}

/* ---- fadvise -------------------------------------------------------------------------------------------- */

/* Linux mm/fadvise.c. [@offset, @offset + @len); @len 0: to the end of the file. */
int do_fadvise(struct machine *m, u32 fd, u64 offset, u64 len, enum mm_fadvice advice)
{
	struct task *t = sys_enter(SPAN_FADVISE);
	struct file *file = fd_file(m, fd);
	struct address_space *mapping = &file->f_inode->i_data;
	u32 ra_pages = (u32)(m->knob.read_ahead_kb >> (PAGE_SHIFT - 10));
	u64 end = len ? offset + len : ~0UL;
	u64 first;

	switch (advice) {
	case MM_FADV_NORMAL:
		file->f_ra.ra_pages = ra_pages;
		file->random = false;
		break;
	case MM_FADV_RANDOM:
		file->random = true;
		break;
	case MM_FADV_SEQUENTIAL:
		file->f_ra.ra_pages = 2 * ra_pages;
		file->random = false;
		break;
	case MM_FADV_WILLNEED:
		end = min(end, file->f_inode->i_size);
		if (offset < end && !mapping_is_shmem(mapping))
			force_page_cache_readahead(m, file, offset >> PAGE_SHIFT,
			                           DIV_ROUND_UP(end, PAGE_SIZE) -
			                                   (offset >> PAGE_SHIFT));
		break;
	case MM_FADV_DONTNEED:
		/* Starts writing what is dirty, for a later call; takes whole pages that are clean. */
		if (!bdi_congested(m, mapping, true))
			filemap_flush(m, mapping);
		first = DIV_ROUND_UP(offset, PAGE_SIZE);
		end = len ? end >> PAGE_SHIFT : XA_INDEX_MAX + 1;
		lru_add_drain(m);
		if (end > first)
			invalidate_mapping_pages(m, mapping, first, end - 1);
		break;
	}
	return sys_exit(t, 0);
}
