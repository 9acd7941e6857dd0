/*
 * Building a simulated target: world, machine, ballast, swap, files, and what is looked at.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sim_internal.h"
#include "core/knobs.h"
#include "lib/append.h"
#include "lib/size.h"
#include "load/profile.h"
#include "report/record.h"
#include "sim/sim.h"

#define BALLAST_ORDER 9 /* pages of BALLAST_PAGE_BYTES */

static int set_knobs(const struct target_request *req, struct knobs *k, char *err)
{
	int rc = knobs_preset(k, req->kernel);

	if (rc) {
		snprintf(err, TARGET_ERROR_MAX, "%s: no kernel preset named \"%s\"", req->scenario,
		         req->kernel);
		return rc;
	}
	for (u32 i = 0; i < req->nr_settings; i++) {
		const struct target_setting *s = &req->setting[i];
		char why[256];

		if (strncmp(s->name, "host.", 5) == 0)
			continue; /* only the host target has these */
		rc = knob_set(k, s->name, s->value, why, sizeof(why));
		if (rc) {
			snprintf(err, TARGET_ERROR_MAX, "%s: %s", s->origin, why);
			return -EINVAL;
		}
	}
	return 0;
}

/* ---- a twin's memory ---- */

void sim_note(struct sim_target *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vappend_text(s->notes, sizeof(s->notes), fmt, ap);
	va_end(ap);
}

/* What the zones of the host had for its tasks, the twin's have too. */
static void leave_free(struct sim_target *s, const struct target_memory *host)
{
	for (u32 i = 0; i < host->nr_zones; i++) {
		const struct target_zone *z = &host->zone[i];
		long left = machine_leave_free(s->machine, z->node, z->name, z->nr_pages);

		sim_note(s, "%s%s %lu", i ? ", " : "pages for the tasks as on the host: ", z->name,
		         z->nr_pages);
		if (left)
			sim_note(s, " (%ld)", (long)z->nr_pages + left);
	}
	sim_note(s, ", after %.2f GB of ballast there\n",
	         (double)host->ballast_bytes / (1UL << 30));
}

/* Without figures of a run: whatever the allocator gives to the pool of huge pages. */
static int take_ballast(struct sim_target *s, char *err)
{
	u64 nr = s->req->ballast_bytes / BALLAST_PAGE_BYTES;
	u64 got;

	if (!nr || (s->req->twin_of && s->req->twin_of->nr_zones))
		return 0;
	got = machine_take_blocks(s->machine, BALLAST_ORDER, nr);
	if (got != nr) {
		snprintf(err, TARGET_ERROR_MAX,
		         "the ballast could not be filled: %lu of %lu huge pages", got, nr);
		return -EINVAL;
	}
	sim_note(s, "ballast: %lu huge pages of 2 MB; nothing else is held\n", nr);
	return 0;
}

static struct sim_series *new_series(const struct target_request *req)
{
	struct sim_series *series = report_alloc(1, sizeof(*series));
	u64 interval = SIM_SERIES_FIRST_NS;

	if (req->series_to_ns)
		interval = (req->series_to_ns - req->series_from_ns) / (SERIES_POINTS - 2);
	series_init(&series->series, max(interval, 1UL));
	series->to_ns = req->series_to_ns;
	return series;
}

static void free_series(struct sim_target *s)
{
	if (!s->series)
		return;
	series_free(&s->series->series);
	free(s->series);
}

static void tell_watch(void *arg, const struct sim_trace_event *e)
{
	struct sim_target *s = arg;

	if (s->running)
		s->req->watch->fn(s->req->watch, (struct target *)s, e);
}

static u64 tell_time(void *arg, u64 now)
{
	struct sim_target *s = arg;

	s->req->watch->at_time(s->req->watch, (struct target *)s, now);
	return UINT64_MAX; /* never again */
}

/* ---- files ---- */

static int create_file(struct machine *m, const struct target_files *f, u32 *ino)
{
	if (f->shm)
		return machine_shm_create(m, f->name, f->size_bytes, ino);
	if (f->disk)
		return machine_file_create_on(m, f->disk - 1, f->name, f->size_bytes, f->sparse,
		                              ino);
	return machine_file_create(m, f->name, f->size_bytes, f->sparse, ino);
}

static int create_files(struct sim_target *s, char *err)
{
	const struct target_request *req = s->req;
	char size[SIZE_TEXT_MAX];
	u32 nr = 0;

	for (u32 i = 0; i < req->nr_files; i++)
		nr += req->files[i].nr;
	if (!nr)
		return 0;
	s->file = calloc(nr, sizeof(*s->file));
	if (!s->file)
		return -ENOMEM;
	for (u32 i = 0; i < req->nr_files; i++) {
		const struct target_files *f = &req->files[i];

		for (u32 k = 0; k < f->nr; k++) {
			u32 *ino = &s->file[s->nr_files];
			int rc = create_file(s->machine, f, ino);

			if (rc) {
				snprintf(err, TARGET_ERROR_MAX, "file \"%s\" [%u] of %s: %s",
				         f->name, k, format_size(size, sizeof(size), f->size_bytes),
				         rc == -ENOSPC ? "the profile's disk for files is too "
				                         "small, or there is none"
				                       : strerror(-rc));
				return -EINVAL;
			}
			s->nr_files += 1;
		}
	}
	return 0;
}

/* Its map is a byte for each page, of the machine's own memory. */
static void swapon_failed(const struct hw_disk *d, int rc, char *err)
{
	char size[SIZE_TEXT_MAX];

	format_size(size, sizeof(size), d->size_bytes);
	if (rc == -ENOMEM)
		snprintf(err, TARGET_ERROR_MAX,
		         "swap of %s on disk \"%s\": the machine has no memory for its map", size,
		         d->name);
	else
		snprintf(err, TARGET_ERROR_MAX, "swap of %s on disk \"%s\": swapon failed: %s",
		         size, d->name, strerror(-rc));
}

int sim_open(const struct target_request *req, struct target **out, char *err)
{
	struct sim_options opt = {
		.seed = req->seed,
		.check = req->check,
		.tracing = req->trace,
		.heat = req->heat,
		.nr_slices_max = req->nr_slices,
		.slices_from_ns = req->trace_from_ns,
		.slices_to_ns = req->trace_to_ns,
		.max_ns = req->max_ns,
	};
	struct sim_target *s;
	struct knobs knobs;
	int rc = set_knobs(req, &knobs, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->ops = &sim_target_ops;
	s->req = req;
	INIT_LIST_HEAD(&s->tasks);
	if (req->watch) {
		opt.tracing = true;
		opt.watch = tell_watch;
		opt.watch_arg = s;
		opt.sample = req->watch->time_ns ? tell_time : NULL;
		opt.sample_arg = s;
		opt.sample_ns = req->watch->time_ns;
	} else if (req->series) {
		s->series = new_series(req);
		opt.sample = sim_series_sample;
		opt.sample_arg = s->series;
		opt.sample_ns = req->series_from_ns;
	}
	s->world = sim_create(req->hw, &opt, err);
	if (!s->world) {
		rc = errno == ENOMEM ? -EOPNOTSUPP : -EINVAL;
		goto out_free;
	}
	s->machine = machine_create(s->world, &knobs, err, TARGET_ERROR_MAX);
	if (!s->machine) {
		rc = errno == ENOMEM ? -EOPNOTSUPP : -EINVAL;
		goto out_world;
	}
	if (s->series) {
		s->series->world = s->world;
		s->series->machine = s->machine;
	}
	rc = take_ballast(s, err);
	if (rc)
		goto out_machine;
	for (u32 i = 0; req->swap_bytes && i < req->hw->nr_disks; i++) {
		if (req->hw->disk[i].files)
			continue;
		rc = do_swapon(s->machine, i, -1);
		if (rc) {
			swapon_failed(&req->hw->disk[i], rc, err);
			rc = -EINVAL;
			goto out_machine;
		}
	}
	rc = create_files(s, err);
	if (rc)
		goto out_machine;
	if (req->twin_of)
		leave_free(s, req->twin_of);
	for (u32 i = 0; i < req->nr_barriers; i++) {
		init_waitqueue_head(&s->barrier[i].queue);
		s->barrier[i].size = req->barrier_size[i];
	}
	for (u32 i = 0; i < req->nr_events; i++)
		init_waitqueue_head(&s->event[i].queue);
	*out = (struct target *)s;
	return 0;

out_machine:
	free(s->file);
	machine_destroy(s->machine);
out_world:
	sim_destroy(s->world);
out_free:
	free_series(s);
	free(s);
	return rc;
}

void sim_close(struct target *t)
{
	struct sim_target *s = to_sim(t);
	struct sim_task *st, *next;

	list_for_each_entry_safe (st, next, &s->tasks, all) {
		free(st->open);
		free(st);
	}
	free(s->file);
	machine_destroy(s->machine);
	sim_destroy(s->world);
	free_series(s);
	free(s);
}
