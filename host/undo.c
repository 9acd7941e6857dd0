/*
 * What is changed on the host, and how it becomes as before.
 *
 * Before a change is made, a record that says how to undo it is armed in a journal. The runner
 * undoes the records from the last to the first when it closes the target, so the ballast, which is
 * taken last, is released first. If the runner dies, the watcher does the same: it is forked before
 * the first change, in its own session (a Ctrl-C or a kill of the runner's group does not reach
 * it), and learns of the death from a pidfd. Undoing twice does no harm, because the runner may be
 * killed between undoing a change and disarming its record.
 *
 * The journal is the content of the lock file. Should both processes be killed, the next run finds
 * armed records and undoes them before it starts. The lock is an flock that runner and watcher share:
 * it lasts until the last of them has ended.
 *
 * Left out: if the host itself goes down, the swap file and the scenario's files stay until the next run on that host.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/internal.h"

#define JOURNAL_MAGIC 0x3275726e65727571UL /* changes with the layout of struct undo_journal */
#define WAIT_GONE_NS 60000000000UL         /* killed workers may have gigabytes to give back */

/* ---- the records ---- */

int undo_arm(struct target *t, enum undo_kind kind, const char *path, const char *value)
{
	struct undo_journal *j = t->lock.journal;
	u32 i = j->nr;
	struct undo_record *r = &j->record[i];

	if (i == UNDO_RECORDS_MAX || strlen(path) >= sizeof(r->path) ||
	    strlen(value) >= sizeof(r->value))
		return -ENOSPC;
	r->kind = kind;
	strcpy(r->path, path);
	strcpy(r->value, value);
	host_store(&r->armed, 1);
	host_store(&j->nr, i + 1);
	return (int)i;
}

void undo_disarm(struct target *t, int record)
{
	host_store(&t->lock.journal->record[record].armed, 0);
}

static void sleep_ms(long ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&ts, NULL);
}

static int undo_swapoff(const char *path)
{
	/* Interrupted by a signal or short of memory for a moment: both pass. */
	for (int i = 0; i < 20; i++) {
		if (swapoff(path) == 0 || errno == EINVAL || errno == ENOENT)
			return 0; /* EINVAL: it is no swap area (any more) */
		if (errno != EINTR && errno != ENOMEM)
			break;
		sleep_ms(50);
	}
	return -errno;
}

static int undo_cgroup(const char *path)
{
	char procs[HOST_PATH_MAX + 16];
	char list[4096];

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	for (int i = 0; i < 100; i++) {
		if (rmdir(path) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			break;
		/* Only workers are ever put into this group. */
		if (file_read(procs, list, sizeof(list)) > 0)
			for (char *p = list, *end; strtol(p, &end, 10) > 0 && end != p; p = end)
				kill((pid_t)strtol(p, NULL, 10), SIGKILL);
		sleep_ms(50);
	}
	return -errno;
}

/* zram-control/hot_remove fails with EBUSY while a device is open, as udev may have it briefly. */
static int zram_remove(u32 id)
{
	char path[64];
	char number[16];
	int err = 0;

	snprintf(path, sizeof(path), "/sys/block/zram%u", id);
	if (access(path, F_OK) != 0)
		return 0;
	snprintf(number, sizeof(number), "%u", id);
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "/sys/block/zram%u/reset", id);
		file_write(path, "1");
		err = file_write("/sys/class/zram-control/hot_remove", number);
		if (err != -EBUSY)
			break;
		sleep_ms(50);
	}
	return err;
}

/*
 * With a path ("/dev/zram3"), that device. Without one the runner died between asking for a device
 * and learning its number: then every device of size 0 that is not among those listed.
 */
static int undo_zram(const struct undo_record *r)
{
	u32 id;
	int err = 0;

	if (sscanf(r->path, "/dev/zram%u", &id) == 1)
		return zram_remove(id);

	DIR *dir = opendir("/sys/block");

	if (!dir)
		return 0;
	for (struct dirent *d; (d = readdir(dir));) {
		char word[32];
		char path[64];
		char size[32];

		if (sscanf(d->d_name, "zram%u", &id) != 1)
			continue;
		snprintf(word, sizeof(word), " %u ", id);
		snprintf(path, sizeof(path), "/sys/block/zram%u/disksize", id);
		if (!strstr(r->value, word) && file_read(path, size, sizeof(size)) > 0 &&
		    atoll(size) == 0)
			err = zram_remove(id);
	}
	closedir(dir);
	return err;
}

static int undo_one(const struct undo_record *r)
{
	switch ((enum undo_kind)r->kind) {
	case UNDO_WRITE:
		return file_write(r->path, r->value);
	case UNDO_SWAPOFF:
		return undo_swapoff(r->path);
	case UNDO_UNLINK:
		return unlink(r->path) == 0 || errno == ENOENT ? 0 : -errno;
	case UNDO_CGROUP:
		return undo_cgroup(r->path);
	case UNDO_TREE:
		return files_remove(r->path);
	case UNDO_ZRAM:
		return undo_zram(r);
	}
	return -EINVAL;
}

u32 undo_all(struct undo_journal *j, bool only_files)
{
	static const char *const what[] = {
		[UNDO_WRITE] = "restore",      [UNDO_SWAPOFF] = "swapoff",
		[UNDO_UNLINK] = "remove",      [UNDO_CGROUP] = "remove cgroup",
		[UNDO_ZRAM] = "remove device", [UNDO_TREE] = "remove",
	};
	u32 nr_undone = 0;

	for (u32 i = min_t(u32, host_load(&j->nr), UNDO_RECORDS_MAX); i-- > 0;) {
		struct undo_record *r = &j->record[i];

		if (!host_load(&r->armed))
			continue;
		if (only_files && r->kind != UNDO_UNLINK && r->kind != UNDO_TREE) {
			host_store(&r->armed, 0);
			continue;
		}

		int err = undo_one(r);

		/* It stays armed, and the lock file stays: the next run tries again. */
		if (err) {
			bool is_write = r->kind == UNDO_WRITE;

			fprintf(stderr, "quire: cannot %s %s%s%s: %s\n",
			        r->kind < ARRAY_SIZE(what) ? what[r->kind] : "undo", r->path,
			        is_write ? " to " : "", is_write ? r->value : "", strerror(-err));
			continue;
		}
		host_store(&r->armed, 0);
		nr_undone++;
	}
	return nr_undone;
}

static bool undo_is_pending(const struct undo_journal *j)
{
	for (u32 i = 0; i < min_t(u32, j->nr, UNDO_RECORDS_MAX); i++)
		if (j->record[i].armed)
			return true;
	return false;
}

/* ---- the lock ---- */

/* A directory that only this user can write, or the file could be somebody's trap for root. */
static void lock_path(char path[HOST_PATH_MAX])
{
	if (geteuid() == 0)
		strcpy(path, "/run/quire-host.lock");
	else
		snprintf(path, HOST_PATH_MAX, "/tmp/quire-host-%u.lock", geteuid());
}

/* Whether @fd is still the file that @path names: the last owner unlinks it while holding it. */
static bool lock_is_current(int fd, const char *path)
{
	struct stat held;
	struct stat named;

	return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
	       held.st_dev == named.st_dev;
}

static pid_t lock_owner(int fd)
{
	struct undo_journal j;

	if (pread(fd, &j, offsetof(struct undo_journal, record), 0) !=
	            (ssize_t)offsetof(struct undo_journal, record) ||
	    j.magic != JOURNAL_MAGIC)
		return 0;
	return j.runner;
}

static struct undo_journal *journal_map(int fd)
{
	void *p;

	if (ftruncate(fd, sizeof(struct undo_journal)) != 0)
		return NULL;
	p = mmap(NULL, sizeof(struct undo_journal), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void boot_id(char id[40])
{
	memset(id, 0, 40);
	file_read("/proc/sys/kernel/random/boot_id", id, 37);
}

/* The file of a run that nobody could clean up after; @fd is locked. Undo it and remove the file. */
static int lock_recover(struct target *t, int fd, char *err)
{
	struct undo_journal *j = journal_map(fd);
	char boot[40];
	u32 nr;
	bool is_pending;

	if (!j)
		return host_error(err, -ENOMEM, "cannot map %s: %s", t->lock.path, strerror(errno));
	boot_id(boot);
	if (j->magic == JOURNAL_MAGIC && undo_is_pending(j)) {
		nr = undo_all(j, memcmp(j->boot_id, boot, sizeof(boot)) != 0);
		note(t,
		     "an earlier run was killed together with its watcher: %u changes of it have "
		     "been undone now",
		     nr);
	}
	is_pending = j->magic == JOURNAL_MAGIC && undo_is_pending(j);
	if (!is_pending)
		unlink(t->lock.path);
	munmap(j, sizeof(*j));
	if (is_pending)
		return host_error(err, -EBUSY,
		                  "changes of an earlier run cannot be undone (see above); remove "
		                  "%s once they are",
		                  t->lock.path);
	return 0;
}

/* Returns 0 when no file is there (any more). */
static int lock_wait_free(struct target *t, char *err)
{
	const char *path = t->lock.path;

	/* After a killed run its watcher still holds the lock, until the host is as before. */
	for (int waited_ms = 0;;) {
		struct stat st;
		int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		int rc = 0;

		if (fd < 0 && errno == ENOENT)
			return 0;
		if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
		    st.st_uid != geteuid() || (st.st_mode & 022)) {
			close(fd);
			return host_error(err, -EPERM,
			                  "the lock file %s is not a file of this user alone",
			                  path);
		}
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			if (lock_is_current(fd, path))
				rc = lock_recover(t, fd, err);
			close(fd);
			if (rc)
				return rc;
			continue;
		}

		pid_t owner = lock_owner(fd);
		bool is_ending = owner && kill(owner, 0) != 0 && errno == ESRCH;

		close(fd);
		if (host_stopped(t) || waited_ms >= (is_ending ? 60000 : 500))
			return host_error(
				err, -EBUSY,
				"another quire (process %d) is using this host; two would "
				"disturb each other's memory: wait for it to end",
				owner);
		sleep_ms(20);
		waited_ms += 20;
	}
}

/*
 * The file gets its name only when the watcher runs, so that a runner that is killed before leaves
 * nothing. Where a file system has no nameless files, an empty lock file may stay.
 */
static int lock_prepare(struct target *t, char *err)
{
	struct host_lock *lock = &t->lock;
	char dir[HOST_PATH_MAX];

	strcpy(dir, lock->path);
	*strrchr(dir, '/') = '\0';
	lock->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	lock->is_named = false;
	if (lock->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		lock->fd =
			open(lock->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		lock->is_named = true;
	}
	if (lock->fd < 0)
		return host_error(err, errno == EROFS ? -EOPNOTSUPP : -EPERM,
		                  "cannot make the lock file %s: %s", lock->path, strerror(errno));
	if (flock(lock->fd, LOCK_EX | LOCK_NB) != 0 || !(lock->journal = journal_map(lock->fd))) {
		int rc = host_error(err, -EOPNOTSUPP, "cannot lock %s: %s", lock->path,
		                    strerror(errno));

		close(lock->fd);
		lock->fd = -1;
		return rc;
	}
	memset(lock->journal, 0, sizeof(*lock->journal));
	boot_id(lock->journal->boot_id);
	lock->journal->runner = t->runner;
	lock->journal->magic = JOURNAL_MAGIC;
	return 0;
}

/* -EEXIST: somebody else was faster. */
static int lock_publish(struct target *t, char *err)
{
	char self[64];

	if (t->lock.is_named)
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", t->lock.fd);
	if (linkat(AT_FDCWD, self, AT_FDCWD, t->lock.path, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (errno == EEXIST)
		return -EEXIST;
	return host_error(err, -EOPNOTSUPP, "cannot make the lock file %s: %s", t->lock.path,
	                  strerror(errno));
}

/* Removes the lock file, if it is ours, unless something in it is still to be undone. */
static void lock_finish(struct host_lock *lock)
{
	if (!undo_is_pending(lock->journal) && lock_is_current(lock->fd, lock->path))
		unlink(lock->path);
}

static void lock_drop(struct target *t)
{
	if (t->lock.fd < 0)
		return;
	lock_finish(&t->lock);
	munmap(t->lock.journal, sizeof(*t->lock.journal));
	close(t->lock.fd);
	t->lock.fd = -1;
	t->lock.journal = NULL;
}

/* ---- workers, seen from outside ---- */

void workers_kill(struct target *t)
{
	s32 group = t->shared->anchor;

	/* The anchor, dead or alive, is the watcher's child: the number stays ours meanwhile. */
	if (group > 1)
		kill(-group, SIGKILL);
}

/* One that was just forked joins the group late, so kill again until none is left. */
int workers_end(struct target *t)
{
	struct pollfd pfd = {.fd = t->lifeline[0], .events = POLLIN};
	u64 deadline = clock_ns(CLOCK_MONOTONIC) + WAIT_GONE_NS;

	do {
		workers_kill(t);
		if (poll(&pfd, 1, 20) > 0)
			return 0;
	} while (clock_ns(CLOCK_MONOTONIC) < deadline);
	return -ETIME;
}

/* ---- the watcher ---- */

static void close_all_but(const int *keep, size_t nr)
{
	DIR *dir = opendir("/proc/self/fd");

	if (!dir)
		return;
	for (struct dirent *d; (d = readdir(dir));) {
		int fd = atoi(d->d_name);
		bool kept = fd == dirfd(dir) || d->d_name[0] == '.';

		for (size_t i = 0; i < nr; i++)
			kept = kept || fd == keep[i];
		if (!kept)
			close(fd);
	}
	closedir(dir);
}

static void ignore_signals(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGCHLD)
			signal(sig, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
}

static __attribute__((noreturn)) void anchor_main(struct target *t, pid_t watcher)
{
	prctl(PR_SET_NAME, "quire-anchor");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != watcher)
		_exit(0);
	munmap(t->lock.journal, sizeof(*t->lock.journal)); /* it would keep the lock */
	close_all_but(NULL, 0);
	for (;;)
		pause();
}

static bool runner_is_alive(pid_t runner)
{
	return getppid() == runner;
}

static void wait_for_death(pid_t runner, int pidfd)
{
	struct pollfd pfd = {.fd = pidfd, .events = POLLIN};

	while (runner_is_alive(runner)) {
		if (pidfd < 0)
			sleep_ms(50); /* before Linux 5.3 */
		else if (poll(&pfd, 1, 1000) > 0)
			return;
	}
}

static __attribute__((noreturn)) void watcher_main(struct target *t)
{
	pid_t self = getpid();
	int pidfd = (int)syscall(SYS_pidfd_open, t->runner, 0);
	int keep[] = {STDERR_FILENO, t->lock.fd, t->lifeline[0], pidfd};

	ignore_signals();
	prctl(PR_SET_NAME, "quire-watcher");

	/* While still in the runner's session: its children may join only groups of that. */
	pid_t anchor = fork();

	if (anchor == 0)
		anchor_main(t, self);
	if (anchor < 0 || setpgid(anchor, anchor) != 0)
		_exit(1);
	setsid();
	if (chdir("/") != 0)
		_exit(1);
	close_all_but(keep, ARRAY_SIZE(keep));
	file_write("/proc/self/oom_score_adj", "-1000");
	/* Not what the runner may have in its heap, only what is used here. */
	mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
	t->shared->anchor = anchor;
	host_store(&t->shared->watcher_ready, 1);
	futex_wake_all(&t->shared->watcher_ready);

	wait_for_death(t->runner, pidfd);
	if (workers_end(t) != 0)
		fprintf(stderr, "quire: workers of a killed run do not end\n");
	undo_all(t->lock.journal, false);
	lock_finish(&t->lock);
	waitpid(anchor, NULL, 0);
	_exit(0);
}

static int watcher_start(struct target *t, char *err)
{
	fflush(NULL);

	pid_t pid = fork();

	if (pid < 0)
		return host_error(err, -EAGAIN, "cannot fork the watcher: %s", strerror(errno));
	if (pid == 0)
		watcher_main(t);
	t->watcher = pid;
	while (!host_load(&t->shared->watcher_ready)) {
		if (waitpid(pid, NULL, WNOHANG) == pid) {
			t->watcher = 0;
			return host_error(err, -EOPNOTSUPP, "the watcher process did not start");
		}
		futex_wait(&t->shared->watcher_ready, 0);
	}
	return 0;
}

static void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void watcher_stop(struct target *t)
{
	int was_subreaper = 0;

	if (t->watcher <= 0)
		return;
	/* The anchor becomes this process's child, to leave not even a zombie. */
	prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	workers_kill(t);
	kill(t->watcher, SIGKILL);
	wait_for(t->watcher);
	if (t->shared->anchor > 0)
		wait_for(t->shared->anchor);
	prctl(PR_SET_CHILD_SUBREAPER, was_subreaper);
	t->watcher = 0;
	t->shared->anchor = 0;
	t->shared->watcher_ready = 0;
}

/* ---- both ---- */

int host_guard(struct target *t, char *err)
{
	int rc;

	lock_path(t->lock.path);
	do {
		rc = lock_wait_free(t, err);
		if (!rc)
			rc = lock_prepare(t, err);
		if (!rc)
			rc = watcher_start(t, err);
		if (!rc)
			rc = lock_publish(t, err);
		if (rc)
			host_unguard(t);
	} while (rc == -EEXIST);
	return rc;
}

void host_unguard(struct target *t)
{
	if (t->lock.fd >= 0)
		undo_all(t->lock.journal, false);
	watcher_stop(t);
	lock_drop(t);
}
