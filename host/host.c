/*
 * Opening and closing the real kernel as a target.
 *
 * open() takes the lock, starts the watcher and checks everything, so that a missing right is told
 * before the first change; then come the changes: sysctls, files, swap, limit. The ballast is
 * the last change and the first undone. A signal that would end the program is kept until close()
 * has undone everything, and raised again; a second one ends it at once and leaves the rest to the
 * watcher.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/internal.h"

/* ---- texts ---- */

void note(struct target *t, const char *fmt, ...)
{
	size_t room = sizeof(t->notes) - t->notes_len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->notes + t->notes_len, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n + 2 > room) {
		t->notes[t->notes_len] = '\0'; /* no half lines */
		return;
	}
	t->notes_len += (size_t)n;
	t->notes[t->notes_len++] = '\n';
	t->notes[t->notes_len] = '\0';
}

int host_error(char *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, TARGET_ERROR_MAX, fmt, ap);
	va_end(ap);
	return code;
}

const char *size_text(u64 bytes, char buf[32])
{
	double value = (double)bytes;
	const char *unit = "B";

	for (const char *next = "KMGT"; *next && value >= 1024; next++) {
		value /= 1024;
		unit = next;
	}
	snprintf(buf, 32, *unit == 'B' || value >= 100 ? "%.0f %.1s%s" : "%.2f %.1s%s", value, unit,
	         *unit == 'B' ? "" : "B");
	return buf;
}

/* ---- signals ---- */

static const int caught_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/*
 * The one open target of this process, for the handler, and what the signals did before. A handler
 * has no other way to reach them.
 */
static struct {
	struct target *target;
	struct sigaction old[ARRAY_SIZE(caught_signals)];
} open_target;

static void on_signal(int sig)
{
	int saved_errno = errno;
	struct target *t = open_target.target;

	/* Only the process that opened it, not one it forked. */
	if (t && getpid() == t->runner) {
		host_store(&t->shared->stop_signal, (u32)sig);
		workers_kill(t);
	}
	errno = saved_errno;
}

bool host_stopped(const struct target *t)
{
	return host_load(&t->shared->stop_signal) != 0;
}

static void signals_catch(struct target *t)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART | (int)SA_RESETHAND};

	open_target.target = t;
	for (size_t i = 0; i < ARRAY_SIZE(caught_signals); i++) {
		sigaction(caught_signals[i], NULL, &open_target.old[i]);
		if (open_target.old[i].sa_handler != SIG_IGN) /* nohup stays nohup */
			sigaction(caught_signals[i], &sa, NULL);
	}
	t->signals_caught = true;
}

static void signals_release(struct target *t)
{
	u32 sig = host_load(&t->shared->stop_signal);

	if (!t->signals_caught)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(caught_signals); i++)
		sigaction(caught_signals[i], &open_target.old[i], NULL);
	open_target.target = NULL;
	t->signals_caught = false;
	if (sig)
		raise((int)sig);
}

/* ---- open and close ---- */

static int request_check(const struct target_request *req, char *err)
{
	u64 nr_tasks = 0;

	if (req->nr_barriers > TARGET_SYNC_MAX || req->nr_events > TARGET_SYNC_MAX ||
	    req->nr_counters > TARGET_SYNC_MAX)
		return host_error(err, -EINVAL, "at most %d barriers, events and counters each",
		                  TARGET_SYNC_MAX);
	for (u32 g = 0; g < req->nr_groups; g++)
		nr_tasks += req->group[g].nr;
	if (nr_tasks > HOST_TASKS_MAX)
		return host_error(err, -EINVAL, "%lu tasks; the host runs at most %d", nr_tasks,
		                  HOST_TASKS_MAX);
	return 0;
}

/* Slots that are not used take no memory. */
static int shared_make(struct target *t, char *err)
{
	u32 nr_slots = HOST_SPARE_SLOTS;

	for (u32 g = 0; g < t->req->nr_groups; g++)
		nr_slots += t->req->group[g].nr;
	t->shared_bytes = sizeof(*t->shared) + nr_slots * sizeof(t->shared->slot[0]);
	t->shared = mmap(NULL, t->shared_bytes, PROT_READ | PROT_WRITE,
	                 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t->shared == MAP_FAILED) {
		t->shared = NULL;
		return host_error(err, -ENOMEM, "no memory for the tasks' states: %s",
		                  strerror(errno));
	}
	t->shared->nr_slots = nr_slots;
	if (pipe2(t->lifeline, O_CLOEXEC) != 0)
		return host_error(err, -EMFILE, "pipe: %s", strerror(errno));
	return 0;
}

static int check_all(struct target *t, char *err)
{
	int rc = settings_read(t, err);

	if (!rc)
		rc = memory_probe(t, err);
	if (!rc)
		rc = sysctls_check(t, err);
	if (!rc)
		rc = files_check(t, err);
	if (!rc)
		rc = swap_check(t, err);
	if (!rc)
		rc = limit_check(t, err);
	return rc;
}

/* Without the right to lower it, the tasks' scores of 800 and more must be protection enough. */
static void runner_protect(struct target *t)
{
	char buf[16];

	if (file_read("/proc/self/oom_score_adj", buf, sizeof(buf)) > 0)
		t->old_oom_score_adj = atoi(buf);
	if (file_write("/proc/self/oom_score_adj", "-1000") != 0)
		note(t, "the runner has no right to protect itself from the OOM killer "
		        "(CAP_SYS_RESOURCE); the tasks still come first");
}

static int apply_all(struct target *t, char *err)
{
	static int (*const steps[])(struct target *, char *) = {sysctls_apply, files_apply,
	                                                        swap_apply, limit_apply};
	char buf[32];

	runner_protect(t);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		int rc =
			host_stopped(t) ? host_error(err, -EINTR, "interrupted") : steps[i](t, err);

		if (rc)
			return rc;
	}
	if (file_read("/proc/sys/vm/min_free_kbytes", buf, sizeof(buf)) > 0)
		t->min_free_pages = strtoull(buf, NULL, 10) / 4;
	return host_stopped(t) ? host_error(err, -EINTR, "interrupted") : 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void host_close(struct target *t)
{
	char buf[16];

	close_fd(&t->lifeline[1]);
	host_unguard(t);
	close_fd(&t->lifeline[0]);
	snprintf(buf, sizeof(buf), "%d", t->old_oom_score_adj);
	file_write("/proc/self/oom_score_adj", buf);
	for (u32 i = 0; i < NR_PROC_FILES; i++)
		free(t->proc_end[i]);
	if (t->shared) {
		signals_release(t); /* may not return */
		munmap(t->shared, t->shared_bytes);
	}
	free(t);
}

static int host_open(const struct target_request *req, struct target **out, char *err)
{
	struct target *t = calloc(1, sizeof(*t));
	char buf[16];
	int rc;

	if (!t)
		return host_error(err, -ENOMEM, "no memory");
	t->req = req;
	t->runner = getpid();
	t->lock.fd = -1;
	t->lifeline[0] = -1;
	t->lifeline[1] = -1;
	if (file_read("/proc/self/oom_score_adj", buf, sizeof(buf)) > 0)
		t->old_oom_score_adj = atoi(buf);

	rc = open_target.target ? host_error(err, -EBUSY, "the host is open already") : 0;
	if (!rc)
		rc = request_check(req, err);
	if (!rc)
		rc = shared_make(t, err);
	if (!rc) {
		signals_catch(t);
		/* Before the checks: what another run has changed is not this host. */
		rc = host_guard(t, err);
	}
	if (!rc)
		rc = check_all(t, err);
	if (!rc) {
		host_describe(t);
		worker_calibrate(t);
		rc = apply_all(t, err);
	}
	if (rc) {
		host_close(t);
		return rc;
	}
	*out = t;
	return 0;
}

static int host_write_proc(struct target *t, const char *dir, char *err)
{
	char path[4096];

	for (u32 i = 0; i < NR_PROC_FILES; i++) {
		if (!t->proc_end[i])
			return host_error(err, -ENODATA, "there is no end of a run to show");
		snprintf(path, sizeof(path), "%s/%s", dir, proc_file_name[i]);

		FILE *f = fopen(path, "w");

		if (!f)
			return host_error(err, -errno, "cannot write %s: %s", path,
			                  strerror(errno));

		bool is_written = fputs(t->proc_end[i], f) >= 0;

		if (fclose(f) != 0 || !is_written)
			return host_error(err, -EIO, "cannot write %s", path);
	}
	return 0;
}

const struct target_ops host_target_ops = {
	.name = "host",
	.open = host_open,
	.run = host_run,
	.write_proc = host_write_proc,
	.close = host_close,
	.mmap = host_mmap,
	.munmap = host_munmap,
	.mprotect = host_mprotect,
	.mremap = host_mremap,
	.brk = host_brk,
	.madvise = host_madvise,
	.set_mempolicy = host_set_mempolicy,
	.mbind = host_mbind,
	.move_pages = host_move_pages,
	.migrate_pages = host_migrate_pages,
	.mlock = host_mlock,
	.munlock = host_munlock,
	.mlockall = host_mlockall,
	.file_open = host_file_open,
	.file_close = host_file_close,
	.file_mmap = host_file_mmap,
	.file_read = host_file_read,
	.file_write = host_file_write,
	.file_fsync = host_file_fsync,
	.file_truncate = host_file_truncate,
	.file_advise = host_file_advise,
	.file_temporary = host_file_temporary,
	.sync = host_sync,
	.access = host_access,
	.spawn = host_spawn,
	.wait = host_wait,
	.sleep = host_sleep,
	.compute = host_compute,
	.barrier = host_barrier,
	.event_set = host_event_set,
	.event_wait = host_event_wait,
	.counter_add = host_counter_add,
	.now = host_now,
	.drop_caches = host_drop_caches,
	.record_time = host_record_time,
	.start_measuring = host_start_measuring,
};
