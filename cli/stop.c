/*
 * Stopping a run and walking through it. See stop.h.
 *
 * The watch is called in the task that causes an event, between two of its steps: that is where one
 * looks, and where the walk waits for an answer. At a time there is no event: the engine tells when
 * every CPU has come to it, and the run's time limit ends it right after.
 */
#include "cli/stop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim_target.h"
#include "core/mm.h"
#include "report/grid.h"

#define RECENT 16

struct stop {
	struct sim_watch watch; /* first */
	struct stop_point at;
	bool step;
	bool stepping; /* ask at the next event */
	bool reached;
	u64 step_to_ns; /* walk on at this time; 0: no time is waited for */
	u64 nr_events;
	struct sim_trace_event recent[RECENT];
};

void stop_dump(const struct target *t, FILE *f)
{
	sim_dump(sim_target_world(t), f);
	machine_dump(sim_target_machine(t), f);
}

/* The same for a terminal. */
static void print_dump(const struct target *t)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		abort();
	stop_dump(t, f);
	fclose(f);
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		text_fold(stdout, line, GRID_WIDTH);
	}
	free(text);
}

static void print_event(const struct target *t, u64 number, const struct sim_trace_event *e,
                        bool where)
{
	char text[EVENT_TEXT_MAX];
	char time[EVENT_TEXT_MAX];
	char task[256];

	if (where)
		sim_task_where(sim_target_world(t), e->task, task, sizeof(task));
	else
		snprintf(task, sizeof(task), "task %u", e->task);
	printf("#%lu  %s  CPU %u  %s: %s\n", number, event_time(time, e->clock), e->cpu, task,
	       event_text(text, e));
}

static void print_recent(const struct stop *s, const struct target *t)
{
	u64 first = s->nr_events > RECENT ? s->nr_events - RECENT : 0;

	printf("the last events\n");
	for (u64 i = first; i < s->nr_events; i++)
		print_event(t, i + 1, &s->recent[i % RECENT], false);
}

static void print_step_help(void)
{
	printf("  Enter, s      the next event\n"
	       "  n NAME        on to the next event of that name (page_fault, oom_kill ...)\n"
	       "  t TIME        on to the first event at or after that time (1.5s)\n"
	       "  d             the machine as it is now\n"
	       "  r             the last events\n"
	       "  c             on to the end\n"
	       "  q             end here\n");
}

/* One command; whether the run is to go on. */
static bool obey(struct stop *s, struct target *t, char *line)
{
	char *arg = line + 1 + strspn(line + 1, " ");
	struct stop_point to;

	switch (*line) {
	case '\0':
	case 's':
		return true;
	case 'n':
	case 't':
		if (!stop_point_parse(arg, &to) || to.at_time != (*line == 't'))
			return false;
		s->at = to;
		s->step_to_ns = to.time_ns;
		s->stepping = false;
		return true;
	case 'd':
		print_dump(t);
		return false;
	case 'r':
		print_recent(s, t);
		return false;
	case 'c':
		s->stepping = false;
		s->at = (struct stop_point){.event = -1};
		return true;
	case 'q':
		s->stepping = false;
		s->reached = true;
		sim_stop(sim_target_world(t));
		return true;
	default:
		print_step_help();
		return false;
	}
}

static void ask(struct stop *s, struct target *t)
{
	char line[128];

	for (;;) {
		printf("> ");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			strcpy(line, "q");
		line[strcspn(line, "\n")] = '\0';
		if (obey(s, t, line + strspn(line, " ")))
			return;
	}
}

static void at_event(struct sim_watch *watch, struct target *t, const struct sim_trace_event *e)
{
	struct stop *s = (struct stop *)watch;

	if (s->reached)
		return; /* it stops at the next order point */
	s->recent[s->nr_events++ % RECENT] = *e;
	if (stop_point_reached(&s->at, e) || (s->step_to_ns && e->clock >= s->step_to_ns)) {
		s->step_to_ns = 0;
		if (s->step) {
			s->stepping = true;
		} else {
			s->reached = true;
			printf("stopped at event ");
			print_event(t, s->nr_events, e, true);
			print_dump(t);
			print_recent(s, t);
			sim_stop(sim_target_world(t));
			return;
		}
	}
	if (s->stepping) {
		print_event(t, s->nr_events, e, true);
		ask(s, t);
	}
}

static void at_time(struct sim_watch *watch, struct target *t, u64 now)
{
	struct stop *s = (struct stop *)watch;
	char time[EVENT_TEXT_MAX];

	s->reached = true;
	printf("stopped at %s, after %lu events\n", event_time(time, now), s->nr_events);
	print_dump(t);
	print_recent(s, t);
}

static int judge(const struct stop *s, const struct target_result *res, int rc)
{
	char time[EVENT_TEXT_MAX];

	if (s->reached)
		return CLI_OK;
	if (rc) {
		cli_error("%s", *res->error ? res->error : strerror(-rc));
		return rc == -ECANCELED || rc == -ETIME ? CLI_USAGE : CLI_FAILED;
	}
	if (s->step) {
		printf("the run has ended at %s, after %lu events\n",
		       event_time(time, res->elapsed_ns), s->nr_events);
		return CLI_OK;
	}
	cli_error("the run ends at %s, after %lu events, before it comes to that",
	          event_time(time, res->elapsed_ns), s->nr_events);
	return CLI_FAILED;
}

int stop_run(const struct batch_cell *cell, u64 seed, bool check, const struct stop_point *at,
             bool step)
{
	struct stop s = {.watch = {.fn = at_event}, .step = step, .stepping = step && !at};
	struct target_result *res = report_alloc(1, sizeof(*res));
	char err[TARGET_ERROR_MAX] = "";
	struct target_request req;
	struct target *t;
	int rc;

	s.at = at ? *at : (struct stop_point){.event = -1};
	if (step && at && at->at_time)
		s.step_to_ns = at->time_ns;
	scenario_request(cell->s, cell->variant, seed, cell->ops, &req);
	req.check = check;
	req.watch = &s.watch;
	if (at && at->at_time && !step) {
		s.watch.time_ns = at->time_ns;
		s.watch.at_time = at_time;
		if (!req.max_ns || at->time_ns < req.max_ns)
			req.max_ns = at->time_ns + 1;
	}
	rc = cell->ops->open(&req, &t, err);
	if (rc) {
		cli_error("%s", err);
		free(res);
		return rc == -EINVAL ? CLI_USAGE : CLI_NO_HOST;
	}
	rc = cell->ops->run(t, res);
	rc = judge(&s, res, rc);
	fflush(stdout);
	cell->ops->close(t);
	free(res);
	return rc;
}
