/*
 * Files as programs see them: open and close (Linux fs/open.c, fs/file_table.c).
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

int machine_file_create(struct machine *m, const char *name, u64 size, bool sparse, u32 *ino)
{
	struct inode *inode;
	int err = inode_create(m, name, size, sparse, &inode);

	if (!err)
		*ino = inode->i_data.number;
	return err;
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
