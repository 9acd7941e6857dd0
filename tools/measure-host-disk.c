/*
 * The disk that a swap file would lie on, past the page cache (O_DIRECT).
 *
 * Latency is that of one request alone, without what the CPU does for it, the rate that of large requests in parallel, the number of
 * channels how many small reads are served at once. A hypervisor may answer from its own memory, and
 * a disk from its cache: nothing here can tell.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/random.h"
#include "tools/measure-host.h"

#define FILE_BYTES (256 * MB)
#define DEPTH_MAX 64

struct job {
	int fd;
	bool is_write;
	u64 bytes; /* of a request */
	u64 nr;    /* requests of each thread */
	bool is_random;
	u32 depth;
	bool in_one_piece; /* in memory; else pages lie as they come */
};

struct worker {
	const struct job *job;
	u32 index;
	int err;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	const struct job *j = w->job;
	u64 slots = FILE_BYTES / j->bytes;
	struct rand_stream r;
	char *map = mmap(NULL, 4 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *buf = map == MAP_FAILED ? NULL : (char *)ALIGN((u64)map, 2 * MB);

	if (!buf) {
		w->err = ENOMEM;
		return NULL;
	}
	madvise(buf, 2 * MB, j->in_one_piece ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	rand_init(&r, clock_now(), 1, w->index);
	for (u64 i = 0; i < j->bytes; i += 8)
		*(u64 *)(buf + i) = rand_u64(&r);
	for (u64 i = 0; i < j->nr; i++) {
		u64 slot = j->is_random ? rand_below(&r, slots) : (i * j->depth + w->index) % slots;
		off_t at = (off_t)(slot * j->bytes);
		ssize_t n = j->is_write ? pwrite(j->fd, buf, j->bytes, at)
		                        : pread(j->fd, buf, j->bytes, at);

		if (n != (ssize_t)j->bytes)
			w->err = n < 0 ? errno : EIO;
	}
	munmap(map, 4 * MB);
	return NULL;
}

/* ns of the whole job, or 0 if it failed. */
static double run_job(const struct job *j)
{
	struct worker w[DEPTH_MAX];
	u64 begin = clock_now();
	int err = 0;

	for (u32 i = 0; i < j->depth; i++) {
		w[i] = (struct worker){.job = j, .index = i};
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	}
	for (u32 i = 0; i < j->depth; i++) {
		pthread_join(w[i].thread, NULL);
		err = err ? err : w[i].err;
	}
	if (err)
		fprintf(stderr, "measure-host: disk: %s\n", strerror(err));
	return err ? 0 : (double)(clock_now() - begin);
}

static double latency(void *arg)
{
	const struct job *j = arg;

	return run_job(j) / (double)j->nr;
}

/* What the disk, and its interrupt, take: the CPU does nothing but look whether it is there. */
static double device_latency(void *arg)
{
	const struct job *j = arg;
	aio_context_t ctx = 0;
	struct rand_stream r;
	char *buf = aligned_alloc(PAGE, j->bytes);
	u64 sum = 0;

	if (!buf || syscall(SYS_io_setup, 4, &ctx) != 0)
		return 0;
	memset(buf, 1, j->bytes);
	rand_init(&r, clock_now(), 1, 0);
	for (u64 i = 0; i < j->nr; i++) {
		struct iocb cb = {
			.aio_lio_opcode = j->is_write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
			.aio_fildes = (u32)j->fd,
			.aio_buf = (u64)(uintptr_t)buf,
			.aio_nbytes = j->bytes,
			.aio_offset = (s64)(rand_below(&r, FILE_BYTES / j->bytes) * j->bytes),
		};
		struct iocb *list[1] = {&cb};
		struct timespec none = {0};
		struct io_event event;
		u64 begin;

		if (syscall(SYS_io_submit, ctx, 1, list) != 1)
			break;
		begin = clock_now();
		while (syscall(SYS_io_getevents, ctx, 0, 1, &event, &none) == 0)
			;
		sum += clock_now() - begin;
	}
	syscall(SYS_io_destroy, ctx);
	free(buf);
	return (double)sum / (double)j->nr;
}

static double ns_per_byte(void *arg)
{
	const struct job *j = arg;

	return run_job(j) / (double)(j->nr * j->depth * j->bytes);
}

static int queue_number(const char *dir, const char *file)
{
	struct stat st;
	char path[128];
	int value;

	if (stat(dir, &st) != 0)
		return -1;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/queue/%s", major(st.st_dev),
	         minor(st.st_dev), file);
	value = read_number(path);
	if (value < 0) { /* a partition: the queue is its disk's */
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../queue/%s", major(st.st_dev),
		         minor(st.st_dev), file);
		value = read_number(path);
	}
	return value;
}

/* ---- which CPU gets the interrupts ---- */

#define IRQ_CPUS 64

/* The CPU that a device has interrupted most while @j ran; -1: none, as often as there were requests. */
static int busiest_cpu(const struct job *j)
{
	static char line[2][512][IRQ_CPUS * 12];
	int nr[2] = {0, 0};
	u64 best = 0;
	int cpu = -1;

	for (int i = 0; i < 2; i++) {
		FILE *f = fopen("/proc/interrupts", "r");

		while (f && nr[i] < 512 && fgets(line[i][nr[i]], sizeof(line[0][0]), f))
			nr[i]++;
		if (f)
			fclose(f);
		if (i == 0)
			run_job(j);
	}
	for (int i = 1; i < min(nr[0], nr[1]); i++) {
		char *a = line[0][i] + strcspn(line[0][i], ":");
		char *b = line[1][i] + strcspn(line[1][i], ":");
		/* Lines with a number are devices'; the others are timers and calls. */
		bool is_device = strspn(line[0][i], " 0123456789") == strcspn(line[0][i], ":");

		a += *a == ':';
		b += *b == ':';
		for (int c = 0; is_device && c < sysconf(_SC_NPROCESSORS_CONF); c++) {
			u64 more = strtoull(b, &b, 10) - strtoull(a, &a, 10);

			if (more > best) {
				best = more;
				cpu = c;
			}
		}
	}
	return best >= j->nr / 2 ? cpu : -1;
}

/* The CPU that gets all, whoever submits; -1: there is none such. */
static int irq_cpu(const struct job *j)
{
	int a;
	int b;

	if (second_cpu() < 0)
		return -1;
	run_on_cpu(second_cpu());
	a = busiest_cpu(j);
	run_on_cpu(first_cpu());
	b = busiest_cpu(j);
	return a == b ? a : -1;
}

/*
 * The lines of a disk, once for swap and once for files: the simulation has no disk for both. What is
 * swapped lies scattered in memory, and every piece of a request costs something, most of it in a
 * hypervisor; files of today's file systems are cached in large folios.
 */
static void measure_file(FILE *out, int fd, const char *dir, bool in_one_piece)
{
	struct job job = {.fd = fd,
	                  .is_write = true,
	                  .bytes = MB,
	                  .nr = 32,
	                  .depth = 4,
	                  .in_one_piece = in_one_piece};
	struct sample write_rate = measure(ns_per_byte, &job);
	struct sample read_rate;
	struct sample write_one;
	struct sample read_one;
	struct sample whole;
	double best = 0;
	u32 channels = 1;
	int cpu;

	job.is_write = false;
	read_rate = measure(ns_per_byte, &job);
	job = (struct job){.fd = fd,
	                   .is_write = false,
	                   .bytes = PAGE,
	                   .nr = 300,
	                   .is_random = true,
	                   .depth = 1};
	read_one = measure(device_latency, &job);
	whole = measure(latency, &job);
	job.is_write = true;
	write_one = measure(device_latency, &job);
	job.is_write = false;
	cpu = irq_cpu(&job);
	fprintf(out, "\t\t\t-- random reads of 4 KB a second, by requests in flight:");
	for (u32 depth = 1; depth <= DEPTH_MAX; depth *= 2) {
		double ns;
		double rate;

		job.depth = depth;
		ns = measure(ns_per_byte, &job).low * PAGE;
		rate = ns > 0 ? 1e9 / ns : 0;
		fprintf(out, " %u: %.0f", depth, rate);
		best = max(best, rate);
	}
	fprintf(out, "\n");
	if (best > 0 && whole.low > 0)
		channels = (u32)(best * whole.low / 1e9 + 0.5);
	fprintf(out, "\t\t\tkind = \"flash\",\n");
	fprintf(out,
	        "\t\t\tread_latency = \"%.0fus\",  -- measured: 4 KB at random, from the end of "
	        "io_submit() until it is seen; with submitting, sleeping and waking %.0fus\n",
	        read_one.low / 1e3, whole.low / 1e3);
	fprintf(out, "\t\t\twrite_latency = \"%.0fus\", -- measured: the same\n",
	        write_one.low / 1e3);
	fprintf(out,
	        "\t\t\tread_rate = \"%.0fM\",     -- measured: four requests of 1 MB at once, %s\n",
	        1e9 / read_rate.low / (double)MB,
	        in_one_piece ? "each in one piece of memory" : "in pages");
	fprintf(out, "\t\t\twrite_rate = \"%.0fM\",    -- measured: the same\n",
	        1e9 / write_rate.low / (double)MB);
	fprintf(out,
	        "\t\t\tchannels = %u,          -- measured: most reads a second x the longer of "
	        "the two\n",
	        max(channels, 1U));
	if (queue_number(dir, "nr_requests") > 0)
		fprintf(out, "\t\t\trequests = %d,        -- queue/nr_requests\n",
		        queue_number(dir, "nr_requests"));
	if (queue_number(dir, "../mq/0/nr_tags") > 0)
		fprintf(out, "\t\t\tdepth = %d,           -- mq/0/nr_tags\n",
		        queue_number(dir, "../mq/0/nr_tags"));
	if (queue_number(dir, "max_sectors_kb") > 0)
		fprintf(out, "\t\t\tmax_request = \"%dK\",  -- queue/max_sectors_kb\n",
		        queue_number(dir, "max_sectors_kb"));
	if (cpu >= 0)
		fprintf(out, "\t\t\tirq_cpu = %d,           -- /proc/interrupts: gets them all\n",
		        cpu);
	fprintf(out,
	        "\t\t\tvariation = \"10%%\",    -- assumed\n"
	        "\t\t\tsource = \"measured: a file in %s, O_DIRECT; a hypervisor may cache\",\n",
	        dir);
}

void measure_disk(const char *dir)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/quire-measure.XXXXXX", dir);
	fd = mkostemp(path, O_DIRECT);
	if (fd < 0) {
		fprintf(stderr, "measure-host: no O_DIRECT file in %s: %s\n", dir, strerror(errno));
		return;
	}
	unlink(path); /* gone with this process, however it ends */
	if (fallocate(fd, 0, 0, FILE_BYTES) != 0) {
		fprintf(stderr, "measure-host: no 256 MB in %s: %s\n", dir, strerror(errno));
		close(fd);
		return;
	}
	printf("\t\tswap = {\n");
	measure_file(stdout, fd, dir, false);
	if (queue_number(dir, "rotational") == 1)
		printf("\t\t\trotational = true,      -- queue/rotational\n");
	printf("\t\t},\n\t\tfiles = { -- the same disk; here swap does not disturb it\n"
	       "\t\t\tsize = \"64G\",\n");
	measure_file(stdout, fd, dir, true);
	printf("\t\t},\n");
	close(fd);
}
