/*
 * The disk that a swap file would lie on, past the page cache (O_DIRECT).
 *
 * Latency is that of one request alone, the rate that of large requests in parallel, the number of
 * channels how many small reads are served at once. A hypervisor may answer from its own memory, and
 * a disk from its cache: nothing here can tell.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
	char *buf = aligned_alloc(PAGE, j->bytes);

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
	free(buf);
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

static double ns_per_byte(void *arg)
{
	const struct job *j = arg;

	return run_job(j) / (double)(j->nr * j->depth * j->bytes);
}

static int queue_number(const char *dir, const char *file)
{
	struct stat st;
	char path[128];
	FILE *f;
	int value = -1;

	if (stat(dir, &st) != 0)
		return -1;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/queue/%s", major(st.st_dev),
	         minor(st.st_dev), file);
	f = fopen(path, "r");
	if (!f) { /* a partition: the queue is its disk's */
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../queue/%s", major(st.st_dev),
		         minor(st.st_dev), file);
		f = fopen(path, "r");
	}
	if (!f)
		return -1;
	if (fscanf(f, "%d", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

static void measure_file(int fd, const char *dir)
{
	struct job job = {.fd = fd, .is_write = true, .bytes = MB, .nr = 32, .depth = 4};
	struct sample write_rate = measure(ns_per_byte, &job);
	struct sample read_rate;
	struct sample write_one;
	struct sample read_one;
	double best = 0;
	u32 channels = 1;

	job.is_write = false;
	read_rate = measure(ns_per_byte, &job);
	job = (struct job){.fd = fd,
	                   .is_write = false,
	                   .bytes = PAGE,
	                   .nr = 300,
	                   .is_random = true,
	                   .depth = 1};
	read_one = measure(latency, &job);
	job.is_write = true;
	write_one = measure(latency, &job);
	job.is_write = false;
	printf("\t\t\t-- random reads of 4 KB a second, by requests in flight:");
	for (u32 depth = 1; depth <= DEPTH_MAX; depth *= 2) {
		double ns;
		double rate;

		job.depth = depth;
		ns = measure(ns_per_byte, &job).low * PAGE;
		rate = ns > 0 ? 1e9 / ns : 0;
		printf(" %u: %.0f", depth, rate);
		best = max(best, rate);
	}
	printf("\n");
	if (best > 0 && read_one.low > 0)
		channels = (u32)(best * read_one.low / 1e9 + 0.5);
	printf("\t\t\tkind = \"flash\",\n");
	printf("\t\t\tread_latency = \"%.0fus\",  -- measured: 4 KB alone, random, best %.0fus\n",
	       read_one.low / 1e3, read_one.best / 1e3);
	printf("\t\t\twrite_latency = \"%.0fus\", -- measured: the same, best %.0fus\n",
	       write_one.low / 1e3, write_one.best / 1e3);
	printf("\t\t\tread_rate = \"%.0fM\",     -- measured: four requests of 1 MB at once\n",
	       1e9 / read_rate.low / (double)MB);
	printf("\t\t\twrite_rate = \"%.0fM\",    -- measured: the same\n",
	       1e9 / write_rate.low / (double)MB);
	printf("\t\t\tchannels = %u,          -- measured: most reads a second x latency of one\n",
	       max(channels, 1U));
	if (queue_number(dir, "nr_requests") > 0)
		printf("\t\t\trequests = %d,        -- queue/nr_requests\n",
		       queue_number(dir, "nr_requests"));
	if (queue_number(dir, "max_sectors_kb") > 0)
		printf("\t\t\tmax_request = \"%dK\",  -- queue/max_sectors_kb\n",
		       queue_number(dir, "max_sectors_kb"));
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
	measure_file(fd, dir);
	printf("\t\t\tvariation = \"10%%\",    -- assumed\n"
	       "\t\t\tsource = \"measured: a file in %s, O_DIRECT; a hypervisor may "
	       "cache\",\n\t\t},\n",
	       dir);
	close(fd);
}
