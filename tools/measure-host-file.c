/*
 * The page cache: reads and writes of what is cached, faults on it, and what it costs to submit and to
 * complete requests of the disk.
 *
 * Requests are those of the page cache itself: POSIX_FADV_WILLNEED of pages that are not cached allocates
 * them, puts them into the cache, submits the reads and returns. The same on a hole does all but the
 * reading, and clears. A completion is what such a call, and a loop on the clock behind it, take more of the
 * CPU that gets the disk's interrupts than of the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/random.h"
#include "tools/measure-host.h"

#define FILE_BYTES (256 * MB)
#define HOT_BYTES (128UL << 10) /* stays in the second-level cache */
#define GROUP 32                /* pages of a large request: 128 KiB */
#define STEP (1 * MB)           /* apart, so that two requests are not merged */

static struct {
	int data;   /* FILE_BYTES, written */
	int direct; /* the same, past the page cache */
	int hole;   /* as large, and nothing is written */
	char *buf;  /* MB */
	char *huge; /* a huge page, if this kernel gives one: the page cache has large folios, too */
} file;

static char path[2][4096];

static void drop(int fd)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void fill_cache(int fd)
{
	for (u64 at = 0; at < FILE_BYTES; at += MB)
		if (pread(fd, file.buf, MB, (off_t)at) < 0)
			return;
}

static double per_page(u64 begin, u64 nr)
{
	return (double)(clock_now() - begin) / (double)nr;
}

/* ---- reads and writes of what is cached ---- */

struct reading {
	u64 bytes; /* of a call; one for every page, or every @bytes if that is more */
	u64 range;
	bool write;
};

/* ns of a page. */
static double read_cached(void *arg)
{
	const struct reading *r = arg;
	u64 step = max(r->bytes, PAGE);
	u64 rounds = max(8 * MB / r->range, 1UL);
	u64 begin = clock_now();

	for (u64 i = 0; i < rounds; i++) {
		for (u64 at = 0; at < r->range; at += step) {
			ssize_t n = r->write ? pwrite(file.data, file.buf, r->bytes, (off_t)at)
			                     : pread(file.data, file.buf, r->bytes, (off_t)at);

			if (n != (ssize_t)r->bytes)
				return 0;
		}
	}
	return per_page(begin, rounds * r->range / PAGE);
}

static double open_close(void *arg)
{
	const u64 nr = 2000;
	u64 begin = clock_now();

	(void)arg;
	for (u64 i = 0; i < nr; i++)
		close(open(path[0], O_RDONLY));
	return per_page(begin, nr);
}

/* ns of a page that is copied within the second-level cache. */
static double copy_hot(void *arg)
{
	const u64 rounds = 2000;
	u64 begin = clock_now();

	(void)arg;
	for (u64 i = 0; i < rounds; i++) {
		memcpy(file.buf, file.buf + HOT_BYTES, HOT_BYTES);
		__asm__ volatile("" ::: "memory");
	}
	return per_page(begin, rounds * HOT_BYTES / PAGE);
}

static void measure_cached(void)
{
	struct reading byte = {1, HOT_BYTES, false};
	struct reading page = {PAGE, HOT_BYTES, false};
	struct reading hot = {HOT_BYTES, HOT_BYTES, false};
	struct reading large = {MB, FILE_BYTES, false};
	struct reading over = {MB, FILE_BYTES, true};
	struct sample b = measure(read_cached, &byte);
	struct sample p = measure(read_cached, &page);
	struct sample h = measure(read_cached, &hot);
	struct sample c = measure(copy_hot, NULL);
	struct sample l = measure(read_cached, &large);
	struct sample w = measure(read_cached, &over);
	struct sample o = measure(open_close, NULL);
	double filemap = max(h.low - c.low, 1.0);

	print_cost("file_op", o.low / 2 - measured("syscall"), &o,
	           "open() and close(), halved, less syscall");
	print_cost("filemap", filemap, &h,
	           "pread() of 128 KB, by page, less memcpy() of a page in the same caches (%.0f)",
	           c.low);
	print_cost("copy_user", l.low - filemap, &l, "a page of 256 MB read by 1 MB, less filemap");
	print_total("pread() of a cached byte", &b, "the call, and filemap");
	print_total("pread() of a cached page", &p, "the same with a copy, 128 KB in all");
	print_total("pwrite() over cached pages, a page", &w, "256 MB by 1 MB");
}

/* ---- faults on what is cached ---- */

static double fault_cached(void *arg)
{
	int advice = *(int *)arg;
	char *p = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, file.data, 0);
	u64 begin;
	double ns;

	if (p == MAP_FAILED)
		return 0;
	madvise(p, FILE_BYTES, advice);
	begin = clock_now();
	for (u64 at = 0; at < FILE_BYTES; at += PAGE)
		(void)*(volatile char *)(p + at);
	ns = per_page(begin, FILE_BYTES / PAGE);
	munmap(p, FILE_BYTES);
	return ns;
}

/* ---- requests ---- */

struct request {
	int fd;
	u64 pages;
};

/* ns of a call that asks for @pages; each when the one before has long ended. */
static double willneed(void *arg)
{
	const struct request *r = arg;
	const u64 nr = 64;
	struct timespec pause = {.tv_nsec = 300000};
	u64 sum = 0;

	drop(r->fd);
	for (u64 i = 0; i < nr; i++) {
		u64 begin;

		nanosleep(&pause, NULL);
		begin = clock_now();
		posix_fadvise(r->fd, (off_t)(i * STEP), (off_t)(r->pages * PAGE),
		              POSIX_FADV_WILLNEED);
		sum += clock_now() - begin;
	}
	return (double)sum / (double)nr;
}

/* ns of a call that submits one read of @pages past the page cache; each alone. */
static double submit_direct(void *arg)
{
	const struct request *r = arg;
	const u64 nr = 64;
	aio_context_t ctx = 0;
	u64 sum = 0;
	u64 done = 0;

	if (syscall(SYS_io_setup, 4, &ctx) != 0)
		return 0;
	for (u64 i = 0; i < nr; i++) {
		struct iocb cb = {
			.aio_lio_opcode = IOCB_CMD_PREAD,
			.aio_fildes = (u32)r->fd,
			.aio_buf = (u64)(uintptr_t)file.huge,
			.aio_nbytes = r->pages * PAGE,
			.aio_offset = (s64)(i * STEP),
		};
		struct iocb *list[1] = {&cb};
		struct io_event event;
		u64 begin = clock_now();

		if (syscall(SYS_io_submit, ctx, 1, list) != 1)
			break;
		sum += clock_now() - begin;
		if (syscall(SYS_io_getevents, ctx, 1, 1, &event, NULL) != 1)
			break;
		done++;
	}
	syscall(SYS_io_destroy, ctx);
	return done ? (double)sum / (double)done : 0;
}

/* What is missing from a loop on the clock of @ns: where a step took long. */
static u64 time_taken(u64 ns)
{
	u64 begin = clock_now();
	u64 last = begin;
	u64 sum = 0;

	while (last - begin < ns) {
		u64 now = clock_now();

		if (now - last > 400) /* some loads, a clock, no interrupt */
			sum += now - last;
		last = now;
	}
	return sum;
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a;
	u64 y = *(const u64 *)b;

	return (x > y) - (x < y);
}

struct completing {
	struct request request;
	bool only_after; /* what interrupts take once the call has returned */
};

/* ns of a call, and of interrupts behind it: the median, as a tick or another task falls into some. */
static double with_completion(void *arg)
{
	enum { NR_CALLS = 64 };
	const struct completing *c = arg;
	const struct request *r = &c->request;
	u64 v[NR_CALLS];

	drop(r->fd);
	for (u64 i = 0; i < NR_CALLS; i++) {
		u64 begin = clock_now();

		posix_fadvise(r->fd, (off_t)(i * STEP), (off_t)(r->pages * PAGE),
		              POSIX_FADV_WILLNEED);
		v[i] = c->only_after ? 0 : clock_now() - begin;
		v[i] += time_taken(400000);
	}
	qsort(v, NR_CALLS, sizeof(v[0]), compare_u64);
	return (double)v[NR_CALLS / 2];
}

/* The same on each of two CPUs; the larger goes to *@high. */
static void on_both_cpus(struct completing *c, double *low, double *high)
{
	int second = second_cpu() < 0 ? first_cpu() : second_cpu();
	double a;
	double b;

	run_on_cpu(second);
	a = measure(with_completion, c).low;
	run_on_cpu(first_cpu());
	b = measure(with_completion, c).low;
	*low = a < b ? a : b;
	*high = a < b ? b : a;
}

/*
 * One of two CPUs gets the disk's interrupts: what a request takes more there than on the other. A read of a
 * page may be over before the call is, so the call must be in it.
 */
static double completion(const struct request *r)
{
	struct completing c = {*r, false};
	double low;
	double high;

	on_both_cpus(&c, &low, &high);
	return high - low;
}

/* For a read that takes longer than its call: what is missing afterwards, on the CPU where something is. */
static double gaps_after(const struct request *r)
{
	struct completing c = {*r, true};
	double low;
	double high;

	on_both_cpus(&c, &low, &high);
	return high;
}

static void measure_requests(void)
{
	double clear_ns = measured("page_clear");
	struct request data1 = {file.data, 1};
	struct request data16 = {file.data, GROUP / 2};
	struct request data32 = {file.data, GROUP};
	struct request hole1 = {file.hole, 1};
	struct request direct1 = {file.direct, 1};
	struct request direct32 = {file.direct, GROUP};
	struct sample d1 = measure(willneed, &data1);
	struct sample h1 = measure(willneed, &hole1);
	struct sample s1 = measure(submit_direct, &direct1);
	struct sample s32 = measure(submit_direct, &direct32);
	double end1 = completion(&data1);
	double end16 = gaps_after(&data16);
	double end32 = gaps_after(&data32);
	double bio = d1.low - h1.low + clear_ns;

	print_cost("bio", bio, &d1,
	           "WILLNEED of a page less that of a hole (%.0f), and page_clear; with the "
	           "notification of the hypervisor",
	           h1.low);
	print_cost("bio_page", (s32.low - s1.low) / (GROUP - 1), &s32,
	           "io_submit() of a direct read of 32 pages less that of one (%.0f), by further "
	           "page; into a huge page, as the page cache has large folios",
	           s1.low);
	print_cost(
		"bio_end", end1 - measured("irq"), NULL,
		"what a read of a page takes more of the CPU that gets its interrupt than of the "
		"other (%.0f), less irq",
		end1);
	print_cost("bio_end_page", (end32 - end16) / (GROUP - GROUP / 2), NULL,
	           "what is missing from a loop on the clock behind a read of 32 pages (%.0f) less "
	           "behind one of 16 (%.0f), by page",
	           end32, end16);
}

/* ---- all ---- */

static int make_file(const char *dir, int nr, bool written)
{
	int fd;

	snprintf(path[nr], sizeof(path[nr]), "%.4000s/quire-measure.XXXXXX", dir);
	fd = mkstemp(path[nr]);
	if (fd < 0)
		return -1;
	if (ftruncate(fd, FILE_BYTES) != 0) {
		close(fd);
		return -1;
	}
	for (u64 at = 0; written && at < FILE_BYTES; at += MB)
		if (pwrite(fd, file.buf, MB, (off_t)at) != (ssize_t)MB)
			return -1;
	fsync(fd);
	/* Reads at random: nothing but what is asked for is read. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return fd;
}

void measure_files(const char *dir)
{
	int normal = MADV_NORMAL;
	int random = MADV_RANDOM;
	struct sample around;
	struct sample one;
	struct rand_stream r;

	file.buf = aligned_alloc(PAGE, MB);
	rand_init(&r, 1, 1, 0);
	for (u64 i = 0; i < MB; i += 8)
		*(u64 *)(file.buf + i) = rand_u64(&r);
	file.huge = aligned_alloc(2 * MB, 2 * MB);
	madvise(file.huge, 2 * MB, MADV_HUGEPAGE);
	memset(file.huge, 1, 2 * MB);
	file.data = make_file(dir, 0, true);
	file.hole = make_file(dir, 1, false);
	file.direct = open(path[0], O_RDONLY | O_DIRECT);
	if (file.data < 0 || file.hole < 0 || file.direct < 0) {
		fprintf(stderr, "measure-host: no 256 MB in %s: %s\n", dir, strerror(errno));
	} else {
		measure_requests();
		fill_cache(file.data);
		measure_cached();
		around = measure(fault_cached, &normal);
		one = measure(fault_cached, &random);
		print_total("read fault on a cached page", &one,
		            "256 MB, MADV_RANDOM: no fault-around");
		print_total("the same with fault-around, by page", &around, "256 MB, in order");
	}
	unlink(path[0]);
	unlink(path[1]);
	close(file.data);
	close(file.direct);
	close(file.hole);
	free(file.buf);
	free(file.huge);
}
