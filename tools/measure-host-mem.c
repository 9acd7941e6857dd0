/*
 * Faults, page contents, address spaces.
 *
 * All of it on memory this process has touched before, so that a hypervisor has nothing to add: the
 * first touch of memory that was never used, or reported as free, costs several times more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/measure-host.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define NR 4096UL /* pages of a test: 16 MB, inside one process's share of the TLB and caches */
#define BIG (256 * MB)

static char *map_small_pages(u64 bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("measure-host: mmap");
		exit(1);
	}
	madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

static void touch(char *p, u64 nr, u64 stride)
{
	for (u64 i = 0; i < nr; i++)
		*(volatile char *)(p + i * stride) = 1;
}

static void touch_read(char *p, u64 nr)
{
	for (u64 i = 0; i < nr; i++)
		(void)*(volatile char *)(p + i * PAGE);
}

static char *area; /* NR pages */
static char *big;  /* BIG bytes, resident */

static double per_page(u64 begin, u64 nr)
{
	return (double)(clock_now() - begin) / (double)nr;
}

/* ---- faults and what undoes them ---- */

static double fault_write(void *arg)
{
	u64 nr = *(u64 *)arg;
	u64 begin = clock_now();
	double ns;

	touch(area, nr, PAGE);
	ns = per_page(begin, nr);
	madvise(area, nr * PAGE, MADV_DONTNEED);
	return ns;
}

static double fault_read(void *arg)
{
	u64 begin = clock_now();
	double ns;

	(void)arg;
	touch_read(area, NR);
	ns = per_page(begin, NR);
	madvise(area, NR * PAGE, MADV_DONTNEED);
	return ns;
}

static double populate(void *arg)
{
	u64 begin = clock_now();
	double ns;

	if (madvise(area, NR * PAGE, *(int *)arg) != 0)
		return 0;
	ns = per_page(begin, NR);
	madvise(area, NR * PAGE, MADV_DONTNEED);
	return ns;
}

static double advise_touched(void *arg)
{
	u64 begin;
	double ns;

	touch(area, NR, PAGE);
	begin = clock_now();
	madvise(area, NR * PAGE, *(int *)arg);
	ns = per_page(begin, NR);
	madvise(area, NR * PAGE, MADV_DONTNEED);
	return ns;
}

/* A lazily freed page that is written again: no fault, but a dirty bit to set. */
static double touch_lazy(void *arg)
{
	u64 begin;
	double ns;

	(void)arg;
	touch(area, NR, PAGE);
	madvise(area, NR * PAGE, MADV_FREE);
	begin = clock_now();
	touch(area, NR, PAGE);
	ns = per_page(begin, NR);
	madvise(area, NR * PAGE, MADV_DONTNEED);
	return ns;
}

/* One page in each 2 MB: a table for every page. */
static double fault_sparse(void *arg)
{
	const u64 nr = *(u64 *)arg;
	char *p = map_small_pages((nr + 1) * 2 * MB);
	u64 begin = clock_now();
	double ns;

	touch(p, nr, 2 * MB);
	ns = per_page(begin, nr);
	munmap(p, (nr + 1) * 2 * MB);
	return ns;
}

/* ---- user accesses, contents ---- */

static double touch_resident(void *arg)
{
	u64 bytes = *(u64 *)arg;
	u64 rounds = max(64 * MB / bytes, 1UL);
	u64 begin = clock_now();

	for (u64 i = 0; i < rounds; i++)
		touch(big, bytes / PAGE, PAGE);
	return per_page(begin, rounds * bytes / PAGE);
}

static double fill_pages(void *arg)
{
	u64 begin = clock_now();
	static int byte;

	(void)arg;
	byte++;
	for (u64 at = 0; at < BIG; at += PAGE)
		memset(big + at, byte, PAGE);
	return per_page(begin, BIG / PAGE);
}

static double scan_pages(void *arg)
{
	u64 begin = clock_now();
	u64 sum = 0;

	(void)arg;
	for (u64 at = 0; at < BIG; at += 8)
		sum += *(volatile u64 *)(big + at);
	__asm__ volatile("" : : "r"(sum));
	return per_page(begin, BIG / PAGE);
}

static double clear_pages(void *arg)
{
	int fd = *(int *)arg;
	u64 begin = clock_now();

	for (u64 at = 0; at < BIG / 2; at += MB)
		if (read(fd, big + at, MB) != (ssize_t)MB)
			return 0;
	return per_page(begin, BIG / 2 / PAGE);
}

static double copy_pages(void *arg)
{
	u64 begin = clock_now();

	(void)arg;
	for (u64 at = 0; at < BIG / 2; at += PAGE)
		memcpy(big + at, big + BIG / 2 + at, PAGE);
	return per_page(begin, BIG / 2 / PAGE);
}

/* ---- address spaces ---- */

static double map_unmap(void *arg)
{
	const u64 nr = 5000;
	u64 begin = clock_now();

	(void)arg;
	for (u64 i = 0; i < nr; i++)
		munmap(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		       PAGE);
	return per_page(begin, nr);
}

/* Protection of all pages changed and changed back; the whole VMA, so that nothing splits. */
static double protect(void *arg)
{
	u64 bytes = *(u64 *)arg;
	const u64 nr = 50;
	char *p = map_small_pages(bytes);
	u64 begin;
	double ns;

	touch(p, bytes / PAGE, PAGE);
	begin = clock_now();
	for (u64 i = 0; i < nr; i++) {
		mprotect(p, bytes, PROT_READ);
		mprotect(p, bytes, PROT_READ | PROT_WRITE);
	}
	ns = per_page(begin, nr * 2);
	munmap(p, bytes);
	return ns;
}

struct forking {
	u64 bytes;
	bool whole; /* until the child has been waited for, not only fork() */
};

static double fork_time(void *arg)
{
	struct forking *f = arg;
	const int nr = 5;
	char *p = f->bytes ? map_small_pages(f->bytes) : NULL;
	u64 sum = 0;

	if (p)
		touch(p, f->bytes / PAGE, PAGE);
	for (int i = 0; i < nr; i++) {
		u64 begin = clock_now();
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (!f->whole)
			sum += clock_now() - begin;
		waitpid(pid, NULL, 0);
		if (f->whole)
			sum += clock_now() - begin;
	}
	if (p)
		munmap(p, f->bytes);
	return (double)sum / nr;
}

/* ---- all ---- */

static void measure_faults(double clear_ns)
{
	int pop_read = MADV_POPULATE_READ;
	int pop_write = MADV_POPULATE_WRITE;
	int dontneed = MADV_DONTNEED;
	int lazy = MADV_FREE;
	u64 many = NR;
	u64 few = 128; /* whose frames stay in the caches, so that tables are all the difference */
	struct sample write = measure(fault_write, &many);
	struct sample dense = measure(fault_write, &few);
	struct sample read = measure(fault_read, NULL);
	struct sample pw = measure(populate, &pop_write);
	struct sample pr = measure(populate, &pop_read);
	struct sample zap = measure(advise_touched, &dontneed);
	struct sample free_ = measure(advise_touched, &lazy);
	struct sample again = measure(touch_lazy, NULL);
	struct sample sparse = measure(fault_sparse, &few);

	if (pw.low > 0)
		print_cost("fault_trap", write.low - pw.low, NULL,
		           "an anonymous fault (%.0f) less the same page by MADV_POPULATE_WRITE "
		           "(%.0f)",
		           write.low, pw.low);
	print_cost("pt_alloc", sparse.low - dense.low - clear_ns, NULL,
	           "a fault that needs a table (%.0f) less one that does not (%.0f) and page_clear",
	           sparse.low, dense.low);
	print_total("anonymous write fault", &write,
	            "16 MB of small pages, freed and touched again");
	print_total("the same without trap", &pw, "MADV_POPULATE_WRITE");
	print_total("read fault (zero page)", &read, "16 MB");
	print_total("the same without trap", &pr, "MADV_POPULATE_READ");
	print_total("MADV_DONTNEED, a page", &zap, "16 MB, resident and dirty");
	print_total("MADV_FREE, a page", &free_, "16 MB, resident and dirty");
	print_total("touch of a lazily freed page", &again, "16 MB");
}

static void measure_contents(double *clear_ns)
{
	u64 small = MB;
	u64 large = BIG;
	int zero = open("/dev/zero", O_RDONLY);
	struct sample word = measure(touch_resident, &small);
	struct sample far = measure(touch_resident, &large);
	struct sample s;

	print_cost("user_word", word.low, &word, "a store to each page of a resident 1 MB");
	print_cost("tlb_miss", far.low - word.low, &far,
	           "the same over 256 MB, less user_word; with the miss of the data's own line");
	s = measure(fill_pages, NULL);
	print_cost("user_page", s.low, &s, "memset() of resident 256 MB");
	s = measure(scan_pages, NULL);
	print_cost("user_page_read", s.low, &s, "words read from resident 256 MB");
	s = measure(clear_pages, &zero);
	close(zero);
	*clear_ns = s.low;
	print_cost("page_clear", s.low, &s, "read() of /dev/zero into resident 128 MB");
	s = measure(copy_pages, NULL);
	print_cost("page_copy", s.low, &s, "memcpy() of 128 MB by pages");
}

/* One resident page loses the right to be written, and gets it back. */
static void protect_page(void *arg)
{
	mprotect(arg, PAGE, PROT_READ);
	mprotect(arg, PAGE, PROT_READ | PROT_WRITE);
	*(volatile char *)arg = 1;
}

/* One resident page is zapped, and touched again. */
static void zap_page(void *arg)
{
	madvise(arg, PAGE, MADV_DONTNEED);
	*(volatile char *)arg = 1;
}

static void measure_flushes(void)
{
	char *p = map_small_pages(PAGE);
	struct sample alone;
	struct sample beside;

	*p = 1;
	measure_beside(protect_page, p, &alone, &beside);
	print_total("mprotect() of a page, twice, and a touch", &alone, "alone");
	print_total("the same, a thread on the other CPU", &beside, "with the flush there");
	measure_beside(zap_page, p, &alone, &beside);
	print_total("MADV_DONTNEED of one page, and a touch", &alone, "alone");
	print_total("the same, a thread on the other CPU", &beside, "with the flush there");
	munmap(p, PAGE);
}

static void measure_spaces(void)
{
	u64 one = PAGE;
	u64 many = NR * PAGE;
	struct forking none = {0, false};
	struct forking some = {64 * MB, false};
	struct forking whole = {0, true};
	struct sample s = measure(map_unmap, NULL);
	struct sample p1;
	struct sample pn;

	print_cost("vma_op", s.low / 2, &s, "mmap() and munmap() of a page, halved; with the call");
	p1 = measure(protect, &one);
	pn = measure(protect, &many);
	print_cost("pte", (pn.low - p1.low) / (NR - 1), &pn,
	           "mprotect() of 4,096 pages less that of one (%.0f), by page", p1.low);
	measure_flushes();
	s = measure(fork_time, &some);
	p1 = measure(fork_time, &none);
	print_cost("fork_pte", (s.low - p1.low) / (64 * MB / PAGE) - measured("page_line"), &s,
	           "fork() with 64 MB more (without: %.0f), by page, less page_line", p1.low);
	s = measure(fork_time, &whole);
	print_cost("mm_op", s.low / 2, &s,
	           "fork, exit and wait of this small process, halved; its pages are in it");
}

void measure_memory(void)
{
	double clear_ns;

	area = map_small_pages(NR * PAGE);
	big = map_small_pages(BIG);
	touch(big, BIG / PAGE, PAGE);
	measure_contents(&clear_ns);
	munmap(big, BIG);
	measure_faults(clear_ns);
	munmap(area, NR * PAGE);
	measure_spaces();
}
