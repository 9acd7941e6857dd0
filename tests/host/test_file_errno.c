/*
 * Results of the calls on files: this host's kernel beside the simulated one.
 *
 * Aim: the error numbers, the numbers of bytes read and written, and who dies of SIGBUS, exactly where Linux
 * gives them. Method: twin.h. Each program begins with a file of 16 pages that is open, and may map it; on the
 * host it is a file without a name on a disk.
 */
#include "tests/host/twin.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "host/internal.h"

#define PAGES 16
#define TB (1UL << 40)

enum call {
	END,
	READ, /* .offset, .length */
	WRITE,
	TRUNCATE, /* to .length */
	FSYNC,
	MAP_READ, /* .length bytes from .offset, shared; what follows is about this mapping */
	MAP_WRITE,
	MAP_COPY, /* private, to be written */
	MAP_NONE,
	SYNC_MAP, /* msync(): .offset in the mapping, .length */
	LOOK,     /* a word at .offset of the mapping */
	TOUCH,
	ADVISE_RANDOM,
	ADVISE_SEQUENTIAL,
	ADVISE_WILLNEED,
	ADVISE_DONTNEED,
	ADVISE_FREE,
	PROTECT_READ,
	PROTECT_WRITE,
	LOCK,
	UNMAP,
	FILE_RANDOM, /* posix_fadvise() */
	FILE_WILLNEED,
	FILE_DONTNEED,
	CLOSE, /* the mapping stays */
};

struct step {
	enum call call;
	u64 offset;
	u64 length;
};

#define P(n) ((n)*PAGE_SIZE)

static const struct row {
	const char *what;
	struct step step[TWIN_CALLS_MAX];
} table[] = {
	{"read and write", {{READ, 0, P(16)}, {WRITE, 0, P(16)}, {FSYNC, 0, 0}}},
	{"no length", {{READ, 0, 0}, {WRITE, 0, 0}, {READ, P(20), 0}}},
	{"a part of a page", {{READ, 100, 24}, {WRITE, 4000, 200}, {READ, 1, P(1)}}},
	{"short at the end", {{READ, P(15), P(2)}, {READ, P(16) - 1, 2}, {READ, P(16), 1}}},
	{"far behind the end", {{READ, TB, P(1)}, {READ, 1UL << 62, P(1)}}},
	{"an offset that is negative",
         {{READ, 1UL << 63, 1}, {WRITE, 1UL << 63, 1}, {READ, -1UL, 1}}},
	{"an offset and a length that wrap",
         {{READ, (1UL << 63) - 1, 2},
          {READ, (1UL << 63) - P(1), P(2)},
          {READ, (1UL << 63) - 9, 8}}},
	{"no file is that long",
         {{WRITE, 1UL << 62, 1},
          {TRUNCATE, 0, 1UL << 62},
          {WRITE, 17 * TB, 1},
          {TRUNCATE, 0, 17 * TB}}},
	{"a length that is negative", {{TRUNCATE, 0, 1UL << 63}, {TRUNCATE, 0, -1UL}}},
	{"it grows by a write", {{WRITE, P(20), 10}, {READ, P(16), P(8)}, {READ, P(20) + 10, 1}}},
	{"it grows by truncate", {{TRUNCATE, 0, P(32)}, {READ, P(30), P(8)}, {READ, P(16), P(1)}}},
	{"it becomes shorter",
         {{TRUNCATE, 0, 100}, {READ, 0, P(1)}, {READ, 100, 1}, {WRITE, 50, 100}, {READ, 0, P(1)}}},
	{"it becomes empty",
         {{TRUNCATE, 0, 0}, {READ, 0, P(16)}, {WRITE, 10, 1}, {READ, 0, P(16)}}},
	{"advice for the file",
         {{FILE_RANDOM, 0, 0},
          {FILE_WILLNEED, 0, 0},
          {FILE_WILLNEED, P(100), P(1)},
          {FILE_DONTNEED, P(1), 100},
          {READ, 0, P(16)}}},
	{"a mapping", {{MAP_READ, 0, P(16)}, {LOOK, 0, 0}, {LOOK, P(15), 0}, {UNMAP, 0, P(16)}}},
	{"a mapping of nothing", {{MAP_READ, 0, 0}, {MAP_WRITE, P(1), 0}}},
	{"a mapping at an odd offset", {{MAP_READ, 100, P(1)}, {MAP_READ, P(1) + 1, P(1)}}},
	{"a mapping far behind the end", {{MAP_READ, P(1000), P(1)}, {LOOK, 0, 0}}},
	{"a mapping of more than there is",
         {{MAP_READ, 0, P(20)}, {LOOK, P(15), 0}, {LOOK, P(16), 0}}},
	{"a mapping that ends within the last page",
         {{TRUNCATE, 0, P(2) + 100}, {MAP_READ, 0, P(4)}, {LOOK, P(2) + 4000, 0}, {LOOK, P(3), 0}}},
	{"a mapping too large for an address space",
         {{MAP_READ, 0, 1UL << 47}, {MAP_READ, 0, 1UL << 63}, {MAP_READ, 0, -1UL}}},
	{"a mapping whose offset wraps",
         {{MAP_READ, -P(1), P(2)},
          {MAP_READ, 1UL << 63, P(1)},
          {MAP_READ, (1UL << 63) - P(1), P(4)}}},
	{"a mapping that is only read", {{MAP_READ, 0, P(16)}, {TOUCH, 0, 0}, {LOOK, 0, 0}}},
	{"a mapping without access", {{MAP_NONE, 0, P(16)}, {LOOK, 0, 0}, {TOUCH, 0, 0}}},
	{"a mapping that is written",
         {{MAP_WRITE, 0, P(16)}, {TOUCH, P(3), 0}, {SYNC_MAP, 0, P(16)}, {READ, P(3), 8}}},
	{"a copy", {{MAP_COPY, 0, P(16)}, {TOUCH, P(3), 0}, {SYNC_MAP, 0, P(16)}, {LOOK, P(3), 0}}},
	{"written behind the end", {{MAP_WRITE, 0, P(18)}, {TOUCH, P(16), 0}}},
	{"copied behind the end", {{MAP_COPY, 0, P(18)}, {TOUCH, P(16), 0}}},
	{"cut off below a mapping",
         {{MAP_READ, 0, P(16)},
          {LOOK, P(8), 0},
          {TRUNCATE, 0, P(4)},
          {LOOK, P(3), 0},
          {LOOK, P(8), 0}}},
	{"cut off below a page that was copied",
         {{MAP_COPY, 0, P(16)}, {TOUCH, P(8), 0}, {TRUNCATE, 0, P(4)}, {LOOK, P(8), 0}}},
	{"cut off and grown again",
         {{MAP_WRITE, 0, P(16)},
          {TOUCH, P(8), 0},
          {TRUNCATE, 0, 0},
          {TRUNCATE, 0, P(16)},
          {LOOK, P(8), 0},
          {TOUCH, P(9), 0}}},
	{"msync of holes",
         {{MAP_WRITE, 0, P(16)},
          {UNMAP, P(4), P(2)},
          {SYNC_MAP, 0, P(16)},
          {SYNC_MAP, P(4), P(1)},
          {SYNC_MAP, 0, P(4)}}},
	{"msync of odd ranges",
         {{MAP_WRITE, 0, P(16)},
          {SYNC_MAP, 1, P(1)},
          {SYNC_MAP, 0, 0},
          {SYNC_MAP, 0, 1},
          {SYNC_MAP, 0, -1UL},
          {SYNC_MAP, 0, -P(2)},
          {SYNC_MAP, 0, 1UL << 50}}},
	{"advice for a mapping",
         {{MAP_READ, 0, P(16)},
          {ADVISE_RANDOM, 0, P(16)},
          {ADVISE_SEQUENTIAL, 0, P(4)},
          {ADVISE_WILLNEED, 0, P(16)},
          {ADVISE_DONTNEED, 0, P(16)},
          {LOOK, 0, 0}}},
	{"lazy freeing is for anonymous memory",
         {{MAP_READ, 0, P(16)}, {ADVISE_FREE, 0, P(4)}, {ADVISE_FREE, 0, 0}}},
	{"lazy freeing is not for copies of files either",
         {{MAP_COPY, 0, P(16)}, {TOUCH, 0, 0}, {ADVISE_FREE, 0, P(4)}, {ADVISE_DONTNEED, 0, P(4)}}},
	{"advice on a hole of a mapping",
         {{MAP_READ, 0, P(16)},
          {UNMAP, P(4), P(1)},
          {ADVISE_RANDOM, 0, P(16)},
          {ADVISE_WILLNEED, P(4), P(1)}}},
	{"advice at an odd address",
         {{MAP_READ, 0, P(16)}, {ADVISE_RANDOM, 1, P(1)}, {ADVISE_WILLNEED, 0, 0}}},
	{"protections of a mapping",
         {{MAP_WRITE, 0, P(16)},
          {PROTECT_READ, 0, P(4)},
          {TOUCH, 0, 0},
          {PROTECT_WRITE, 0, P(16)},
          {TOUCH, 0, 0}}},
	{"a mapping is locked",
         {{MAP_READ, 0, P(16)}, {LOCK, 0, P(16)}, {ADVISE_DONTNEED, 0, P(1)}, {UNMAP, 0, P(16)}}},
	{"locked behind the end", {{MAP_READ, 0, P(18)}, {LOCK, 0, P(18)}, {LOCK, 0, P(16)}}},
	{"the descriptor goes and the mapping stays",
         {{MAP_WRITE, 0, P(16)}, {CLOSE, 0, 0}, {TOUCH, P(2), 0}, {SYNC_MAP, 0, P(16)}}},
	{"an unmapped one is gone", {{MAP_READ, 0, P(4)}, {UNMAP, 0, P(4)}, {LOOK, 0, 0}}},
};

TWIN_TABLE(table)

/* What a call says by which its task dies: that ends the program. */
#define DIES (-EINTR)

/* ---- this host --------------------------------------------------------------------------------- */

static sigjmp_buf fault_env;

static void on_fault(int sig)
{
	siglongjmp(fault_env, sig);
}

static s64 real_access(char *at, bool write)
{
	int sig = sigsetjmp(fault_env, 1);

	if (sig)
		return sig == SIGBUS ? DIES : -EFAULT;
	if (write)
		*(volatile long *)at = 1;
	else
		(void)*(volatile long *)at;
	return 0;
}

static s64 host_value(long rc)
{
	return rc == -1 ? -errno : rc;
}

static s64 real_map(int fd, const struct step *s, int prot, int flags, char **base)
{
	void *p = mmap(NULL, s->length, prot, flags, fd, (off_t)s->offset);

	if (p == MAP_FAILED)
		return -errno;
	*base = p;
	return 0;
}

static s64 real_call(int fd, char **base, const struct step *s)
{
	static char buf[P(PAGES)];
	char *at = (char *)((uintptr_t)*base + s->offset); /* offsets may be nonsense */

	switch (s->call) {
	case READ:
		return host_value(pread(fd, buf, s->length, (off_t)s->offset));
	case WRITE:
		return host_value(pwrite(fd, buf, s->length, (off_t)s->offset));
	case TRUNCATE:
		return host_value(ftruncate(fd, (off_t)s->length));
	case FSYNC:
		return host_value(fsync(fd));
	case MAP_READ:
		return real_map(fd, s, PROT_READ, MAP_SHARED, base);
	case MAP_WRITE:
		return real_map(fd, s, PROT_READ | PROT_WRITE, MAP_SHARED, base);
	case MAP_COPY:
		return real_map(fd, s, PROT_READ | PROT_WRITE, MAP_PRIVATE, base);
	case MAP_NONE:
		return real_map(fd, s, PROT_NONE, MAP_SHARED, base);
	case SYNC_MAP:
		return host_value(msync(at, s->length, MS_SYNC));
	case LOOK:
		return real_access(at, false);
	case TOUCH:
		return real_access(at, true);
	case ADVISE_RANDOM:
		return host_value(madvise(at, s->length, MADV_RANDOM));
	case ADVISE_SEQUENTIAL:
		return host_value(madvise(at, s->length, MADV_SEQUENTIAL));
	case ADVISE_WILLNEED:
		return host_value(madvise(at, s->length, MADV_WILLNEED));
	case ADVISE_DONTNEED:
		return host_value(madvise(at, s->length, MADV_DONTNEED));
	case ADVISE_FREE:
		return host_value(madvise(at, s->length, MADV_FREE));
	case PROTECT_READ:
		return host_value(mprotect(at, s->length, PROT_READ));
	case PROTECT_WRITE:
		return host_value(mprotect(at, s->length, PROT_READ | PROT_WRITE));
	case LOCK:
		return host_value(kernel_mlock(at, s->length));
	case UNMAP:
		return host_value(munmap(at, s->length));
	case FILE_RANDOM:
		return -posix_fadvise(fd, (off_t)s->offset, (off_t)s->length, POSIX_FADV_RANDOM);
	case FILE_WILLNEED:
		return -posix_fadvise(fd, (off_t)s->offset, (off_t)s->length, POSIX_FADV_WILLNEED);
	case FILE_DONTNEED:
		return -posix_fadvise(fd, (off_t)s->offset, (off_t)s->length, POSIX_FADV_DONTNEED);
	case CLOSE:
		return host_value(close(fd));
	case END:
		break;
	}
	return 0;
}

/* A file without a name, of 16 written pages; -1: there is no place for one. */
static int host_file(void)
{
	static char page[P(1)] = "contents";
	const char *why;
	const char *dir = place_choose("", "host.file_dir", P(PAGES), PLACE_FILES, &why);
	int fd = dir ? open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;

	for (u64 i = 0; fd >= 0 && i < PAGES; i++)
		if (pwrite(fd, page, sizeof(page), (off_t)P(i)) != (ssize_t)sizeof(page))
			return -1;
	return fd;
}

static int on_host(u32 nr, struct twin_result *r)
{
	struct sigaction sa = {.sa_handler = on_fault};
	char *base = NULL;
	int fd = host_file();

	if (fd < 0)
		return 1;
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	for (u32 i = 0; i < row_nr_calls(nr); i++) {
		r->value[i] = real_call(fd, &base, &table[nr].step[i]);
		if (r->value[i] == DIES)
			break;
	}
	return 0;
}

/* ---- the simulated machine ----------------------------------------------------------------------- */

static s64 sim_map(struct twin_sim *r, const struct step *s, int prot, int flags)
{
	return do_mmap_file(r->m, r->fd, s->offset, s->length, prot, flags, &r->base);
}

static s64 sim_call(struct twin_sim *r, const struct step *s)
{
	struct machine *m = r->m;
	u64 at = r->base + s->offset;
	u64 done;
	s64 err;

	switch (s->call) {
	case READ:
		err = do_pread(m, r->fd, s->offset, s->length, &done);
		return err ? err : (s64)done;
	case WRITE:
		err = do_pwrite(m, r->fd, s->offset, s->length, &done);
		return err ? err : (s64)done;
	case TRUNCATE:
		return do_ftruncate(m, r->fd, s->length);
	case FSYNC:
		return do_fsync(m, r->fd);
	case MAP_READ:
		return sim_map(r, s, MM_PROT_READ, MM_MAP_SHARED);
	case MAP_WRITE:
		return sim_map(r, s, MM_PROT_READ | MM_PROT_WRITE, MM_MAP_SHARED);
	case MAP_COPY:
		return sim_map(r, s, MM_PROT_READ | MM_PROT_WRITE, 0);
	case MAP_NONE:
		return sim_map(r, s, 0, MM_MAP_SHARED);
	case SYNC_MAP:
		return do_msync(m, at, s->length);
	case LOOK:
		return mm_access(m, at, 1, WORLD_READ, 0);
	case TOUCH:
		return mm_access(m, at, 1, WORLD_WRITE, 0);
	case ADVISE_RANDOM:
		return do_madvise(m, at, s->length, MM_MADV_RANDOM);
	case ADVISE_SEQUENTIAL:
		return do_madvise(m, at, s->length, MM_MADV_SEQUENTIAL);
	case ADVISE_WILLNEED:
		return do_madvise(m, at, s->length, MM_MADV_WILLNEED);
	case ADVISE_DONTNEED:
		return do_madvise(m, at, s->length, MM_MADV_DONTNEED);
	case ADVISE_FREE:
		return do_madvise(m, at, s->length, MM_MADV_FREE);
	case PROTECT_READ:
		return do_mprotect(m, at, s->length, MM_PROT_READ);
	case PROTECT_WRITE:
		return do_mprotect(m, at, s->length, MM_PROT_READ | MM_PROT_WRITE);
	case LOCK:
		return do_mlock(m, at, s->length);
	case UNMAP:
		return do_munmap(m, at, s->length);
	case FILE_RANDOM:
		return do_fadvise(m, r->fd, s->offset, s->length, MM_FADV_RANDOM);
	case FILE_WILLNEED:
		return do_fadvise(m, r->fd, s->offset, s->length, MM_FADV_WILLNEED);
	case FILE_DONTNEED:
		return do_fadvise(m, r->fd, s->offset, s->length, MM_FADV_DONTNEED);
	case CLOSE:
		return do_close(m, r->fd);
	case END:
		break;
	}
	return 0;
}

static void prepare(struct twin_sim *s)
{
	assert_int_equal(0, machine_file_create(s->m, "data", P(PAGES), false, &s->ino));
}

static void on_sim(struct task *t, struct twin_sim *s)
{
	bool closed = false;

	task_set_memlock(t, ~0UL, true);
	BUG_ON(do_open(s->m, s->ino, &s->fd));
	for (u32 i = 0; i < row_nr_calls(s->row); i++) {
		const struct step *step = &table[s->row].step[i];

		s->r->value[i] = sim_call(s, step);
		closed = closed || step->call == CLOSE;
		if (s->r->value[i] == DIES)
			break;
	}
	if (!closed)
		do_close(s->m, s->fd);
}

TEST(every_call_gives_the_same_result_as_this_kernel)
{
	twin_compare(&(struct twin){
		.nr_rows = ARRAY_SIZE(table),
		.what = row_what,
		.nr_calls = row_nr_calls,
		.on_host = on_host,
		.on_sim = on_sim,
		.files_bytes = 64 << 20,
		.prepare = prepare,
	});
}

int main(int argc, char **argv)
{
	int fd = host_file();

	if (fd < 0)
		test_skip_all("no file without a name can be made on a disk here");
	close(fd);
	return test_main("file_errno", argc, argv);
}
