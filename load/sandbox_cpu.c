/*
 * The last bound: CPU time of the process. See sandbox.h.
 *
 * It is not the same in every run, as the others are, and is therefore far away: only a script that
 * means harm comes here.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "load/sandbox.h"

int sandbox_limit_cpu(u32 seconds)
{
	struct rlimit limit = {.rlim_cur = seconds, .rlim_max = (rlim_t)seconds + 1};

	return setrlimit(RLIMIT_CPU, &limit) ? -errno : 0;
}

/* What the signal handler needs, and nothing else can give it. */
static struct {
	const char *message;
	int status;
	struct rlimit limit;
	struct sigaction action;
} guard;

static void on_xcpu(int sig)
{
	(void)sig;
	if (write(STDERR_FILENO, guard.message, strlen(guard.message)) < 0 ||
	    write(STDERR_FILENO, "\n", 1) < 0)
		_exit(guard.status);
	_exit(guard.status);
}

int sandbox_guard_cpu(u32 seconds, const char *message, int status)
{
	struct sigaction action = {.sa_handler = on_xcpu};
	struct rusage used;
	struct rlimit limit;

	if (getrusage(RUSAGE_SELF, &used) || getrlimit(RLIMIT_CPU, &guard.limit))
		return -errno;
	guard.message = message;
	guard.status = status;
	if (sigaction(SIGXCPU, &action, &guard.action))
		return -errno;
	limit = guard.limit;
	limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + seconds + 1;
	if (limit.rlim_cur > guard.limit.rlim_cur) /* somebody else's limit is nearer */
		limit.rlim_cur = guard.limit.rlim_cur;
	return setrlimit(RLIMIT_CPU, &limit) ? -errno : 0;
}

void sandbox_unguard_cpu(void)
{
	setrlimit(RLIMIT_CPU, &guard.limit);
	sigaction(SIGXCPU, &guard.action, NULL);
}
