/*
 * Progress. See progress.h.
 */
#include "cli/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000 + (u64)ts.tv_nsec / 1000000;
}

static void show(const struct progress *p, const char *what)
{
	u64 ms = now_ms() - p->start_ms;

	fprintf(stderr, "\r\033[K  %u of %u runs, %lu s", p->nr_done, p->nr, ms / 1000);
	if (p->nr_done)
		fprintf(stderr, ", about %lu s left",
		        ms * (p->nr - p->nr_done) / p->nr_done / 1000);
	if (*what)
		fprintf(stderr, "   (%.40s)", what);
	fflush(stderr);
}

void progress_start(struct progress *p, u32 nr, bool quiet)
{
	*p = (struct progress){.nr = nr, .start_ms = now_ms()};
	p->shown = !quiet && nr > 1 && isatty(STDERR_FILENO);
	if (p->shown)
		show(p, "");
}

void progress_step(struct progress *p, const char *what)
{
	p->nr_done++;
	if (p->shown)
		show(p, what);
}

void progress_clear(struct progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r\033[K");
}
