/*
 * The first divergence. See diverge.h.
 *
 * Two runs of one seed are the same, event by event, until something that differs between them
 * matters. So both run at once, each in a child that writes its trace events into a pipe, and the
 * parent reads them in step; nothing has to be kept, and it is over as soon as they differ. What the
 * machines looked like then is found by running both again up to that event: they are deterministic.
 */
#include "cli/diverge.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/sim_target.h"
#include "cli/stop.h"
#include "lib/bug.h"
#include "report/grid.h"

#define CHUNK 1024 /* events */
#define CHILD_FAILED 125
#define STATE_MAX (4UL << 20)

/* ---- in the child --------------------------------------------------------------------------------- */

struct teller {
	struct sim_watch watch; /* first */
	FILE *out;
	u64 nr_events;
	u64 stop_after; /* events; then the state is told. 0: all events are */
	u32 nr;
	struct sim_trace_event chunk[CHUNK];
};

static void tell(struct teller *t, const void *data, size_t size)
{
	if (fwrite(data, 1, size, t->out) != size)
		_exit(0); /* the parent has seen enough */
}

static void tell_chunk(struct teller *t)
{
	tell(t, t->chunk, sizeof(t->chunk[0]) * t->nr);
	t->nr = 0;
}

static void tell_event(struct sim_watch *watch, struct target *target,
                       const struct sim_trace_event *e)
{
	struct teller *t = (struct teller *)watch;
	char where[256];

	t->nr_events++;
	if (!t->stop_after) {
		/* Copied by member: what pads the struct is not the run's. */
		struct sim_trace_event *to = &t->chunk[t->nr++];

		memset(to, 0, sizeof(*to));
		to->clock = e->clock;
		to->a = e->a;
		to->b = e->b;
		to->task = e->task;
		to->cpu = e->cpu;
		to->event = e->event;
		if (t->nr == CHUNK)
			tell_chunk(t);
	} else if (t->nr_events == t->stop_after) {
		sim_task_where(sim_target_world(target), e->task, where, sizeof(where));
		tell(t, where, sizeof(where));
		stop_dump(target, t->out);
		fclose(t->out);
		_exit(0);
	}
}

static void __attribute__((noreturn))
be_child(const struct batch_cell *c, u64 seed, u64 stop_after, int fd, pid_t parent)
{
	struct teller *t = report_alloc(1, sizeof(*t));
	struct target_result *res = report_alloc(1, sizeof(*res));
	char err[TARGET_ERROR_MAX];
	struct target_request req;
	struct target *target;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGPIPE, SIG_IGN);
	if (getppid() != parent)
		_exit(CHILD_FAILED);
	t->watch.fn = tell_event;
	t->stop_after = stop_after;
	t->out = fdopen(fd, "w");
	scenario_request(c->s, c->variant, seed, c->ops, &req);
	req.watch = &t->watch;
	if (!t->out || c->ops->open(&req, &target, err))
		_exit(CHILD_FAILED);
	c->ops->run(target, res);
	tell_chunk(t);
	fclose(t->out);
	_exit(0);
}

/* ---- in the parent -------------------------------------------------------------------------------- */

struct side {
	pid_t pid;
	FILE *in;
};

static bool side_start(struct side *s, const struct batch_cell *c, u64 seed, u64 stop_after)
{
	pid_t parent = getpid();
	int fd[2];

	*s = (struct side){0};
	if (pipe(fd))
		return false;
	fflush(NULL); /* or the child would print it again */
	s->pid = fork();
	if (s->pid == 0) {
		close(fd[0]);
		be_child(c, seed, stop_after, fd[1], parent);
	}
	close(fd[1]);
	s->in = s->pid > 0 ? fdopen(fd[0], "r") : NULL;
	if (!s->in)
		close(fd[0]);
	return s->in != NULL;
}

/* Ends the child if it still runs. False if it could not do its work. */
static bool side_end(struct side *s)
{
	int status = 0;

	if (s->in)
		fclose(s->in);
	if (s->pid <= 0)
		return false;
	kill(s->pid, SIGTERM);
	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		;
	return !(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_FAILED);
}

static bool same_event(const struct sim_trace_event *x, const struct sim_trace_event *y)
{
	return x->clock == y->clock && x->a == y->a && x->b == y->b && x->task == y->task &&
	       x->cpu == y->cpu && x->event == y->event;
}

static void walk(struct side *side, struct divergence *d)
{
	while (d->nr_common < DIVERGE_EVENTS_MAX) {
		for (int i = 0; i < 2; i++)
			d->ended[i] = fread(&d->event[i], sizeof(d->event[i]), 1, side[i].in) != 1;
		if (d->ended[0] && d->ended[1])
			return;
		if (d->ended[0] || d->ended[1] || !same_event(&d->event[0], &d->event[1])) {
			d->found = true;
			return;
		}
		d->last = d->event[0];
		d->has_last = true;
		d->nr_common++;
	}
	d->given_up = true;
}

/*
 * Takes out of @state how far each CPU's clock and each task's times are ("331045794 ns, "): at the first
 * event that differs they may, by what each side has run ahead of it, and nothing follows from that.
 */
static void drop_clocks(char *state)
{
	char *to = state;

	for (const char *p = state; *p;) {
		const char *number = p;
		size_t digits;
		size_t n;

		if (strncmp(p, "user ", 5) == 0)
			number += 5;
		else if (strncmp(p, "system ", 7) == 0)
			number += 7;
		digits = strspn(number, "0123456789");
		if (digits && strncmp(number + digits, " ns", 3) == 0) {
			p = number + digits + 3;
			p += strncmp(p, ", ", 2) == 0 ? 2 : 0;
			continue;
		}
		n = number == p && digits ? digits : 1;
		memmove(to, p, n);
		to += n;
		p += n;
	}
	*to = '\0';
}

/* The rest of the pipe, after the fixed part that says where. */
static char *read_state(FILE *in, char *where)
{
	struct bytes b = {0};
	char buf[65536];
	size_t n;

	if (fread(where, 1, 256, in) != 256)
		where[0] = '\0';
	while ((n = fread(buf, 1, sizeof(buf), in)) && b.len < STATE_MAX)
		bytes_add(&b, buf, n);
	bytes_add(&b, "", 1);
	drop_clocks(b.data);
	return b.data;
}

bool diverge_find(const struct batch_cell *a, const struct batch_cell *b, u64 seed,
                  struct divergence *d, char *err)
{
	const struct batch_cell *cell[2] = {a, b};
	struct side side[2];
	bool ok;

	*d = (struct divergence){0};
	ok = side_start(&side[0], a, seed, 0);
	ok = side_start(&side[1], b, seed, 0) && ok;
	if (ok)
		walk(side, d);
	for (int i = 0; i < 2; i++)
		ok = side_end(&side[i]) && ok;
	for (int i = 0; ok && d->found && i < 2; i++) {
		if (d->ended[i]) {
			d->state[i] = report_strdup("");
			continue;
		}
		ok = side_start(&side[0], cell[i], seed, d->nr_common + 1);
		if (ok)
			d->state[i] = read_state(side[0].in, d->where[i]);
		ok = side_end(&side[0]) && ok;
	}
	if (ok)
		return true;
	snprintf(err, TARGET_ERROR_MAX, "the runs could not be repeated to find where they part");
	diverge_free(d);
	return false;
}

void diverge_free(struct divergence *d)
{
	free(d->state[0]);
	free(d->state[1]);
	d->state[0] = d->state[1] = NULL;
}

/* ---- in words ------------------------------------------------------------------------------------- */

static void print_side(FILE *f, const struct divergence *d, int i, const char *name)
{
	char first[256];
	char line[512];
	char time[EVENT_TEXT_MAX];
	char text[EVENT_TEXT_MAX];

	if (d->ended[i]) {
		fprintf(f, "    %s: has ended\n", name);
		return;
	}
	snprintf(first, sizeof(first), "    %s: ", name);
	snprintf(line, sizeof(line), "%s, CPU %u, %s", event_time(time, d->event[i].clock),
	         d->event[i].cpu, d->where[i]);
	text_wrap(f, first, line, GRID_WIDTH);
	fprintf(f, "      %s\n", event_text(text, &d->event[i]));
}

/* The n-th line of @state; its length to *@len. NULL behind the last. */
static const char *nth_line(const char *state, u32 n, size_t *len)
{
	for (; n && *state; n--) {
		state += strcspn(state, "\n");
		state += *state == '\n';
	}
	*len = strcspn(state, "\n");
	return *state ? state : NULL;
}

/* The line of the same part: the same words before ": ", as often from the beginning. */
static const char *partner(const char *mine, const char *line, size_t len, const char *other,
                           size_t *other_len)
{
	const char *colon = memmem(line, len, ": ", 2);
	size_t key = colon ? (size_t)(colon - line) + 1 : len;
	u32 nr_before = 0;
	size_t n;

	for (const char *p = mine; p < line; p += n, p += *p == '\n') {
		n = strcspn(p, "\n");
		nr_before += n >= key && strncmp(p, line, key) == 0;
	}
	for (const char *p = other; *p; p += n, p += *p == '\n') {
		n = strcspn(p, "\n");
		if (n < key || strncmp(p, line, key) != 0 || nr_before--)
			continue;
		*other_len = n;
		return p;
	}
	return NULL;
}

#define STATE_LINES 12

/* A line of a dump, which is indented as it is there. @name: whose, if not of both. */
static void print_line(FILE *f, const char *name, const char *line, size_t len)
{
	size_t indent = strspn(line, " ");
	char first[256];
	char text[1024];

	snprintf(first, sizeof(first), "    %s%s%*s", name ? name : "", name ? ":" : "",
	         (int)indent, "");
	snprintf(text, sizeof(text), "%.*s", (int)(len - indent), line + indent);
	text_wrap(f, first, text, GRID_WIDTH);
}

/* Zones and LRU lists always; of the rest what is not the same in both. */
static void print_state(FILE *f, const struct divergence *d, const char *const name[2])
{
	const char *section = "";
	u32 nr_shown = 0;
	u32 nr_left = 0;
	const char *line;
	size_t len;

	fprintf(f, "    the machine then, in both where no name stands before it\n");
	for (u32 n = 0; (line = nth_line(d->state[0], n, &len)); n++) {
		size_t other_len = 0;
		const char *other;
		bool memory;
		bool same;

		if (*line != ' ') {
			section = line;
			continue;
		}
		memory = strncmp(section, "zones", 5) == 0 || strncmp(section, "LRU", 3) == 0;
		other = partner(d->state[0], line, len, d->state[1], &other_len);
		same = other && len == other_len && strncmp(line, other, len) == 0;
		if (same && !memory)
			continue;
		if (!memory && nr_shown++ >= STATE_LINES) {
			nr_left++;
			continue;
		}
		print_line(f, same ? NULL : name[0], line, len);
		if (other && !same)
			print_line(f, name[1], other, other_len);
	}
	if (nr_left)
		fprintf(f, "      and %u more lines that differ (--stop-at '#%lu' prints all)\n",
		        nr_left, d->nr_common + 1);
}

void diverge_print(FILE *f, const struct divergence *d, const char *const name[2], u64 seed)
{
	char line[512];
	char time[EVENT_TEXT_MAX];
	char text[EVENT_TEXT_MAX];

	if (d->found)
		snprintf(text, sizeof(text), "event #%lu", d->nr_common + 1);
	else
		snprintf(text, sizeof(text),
		         d->given_up ? "not within %lu events"
		                     : "nowhere; all %lu events are the same",
		         d->nr_common);
	snprintf(line, sizeof(line), "where %s and %s part, seed %lu: %s", name[0], name[1], seed,
	         text);
	fputc('\n', f);
	text_wrap(f, "  ", line, GRID_WIDTH);
	if (!d->found)
		return;
	if (d->has_last) {
		snprintf(line, sizeof(line), "%s, CPU %u, task %u: %s",
		         event_time(time, d->last.clock), d->last.cpu, d->last.task,
		         event_text(text, &d->last));
		text_wrap(f, "    both: ", line, GRID_WIDTH);
	}
	print_side(f, d, 0, name[0]);
	print_side(f, d, 1, name[1]);
	if (!d->ended[0] && !d->ended[1])
		print_state(f, d, name);
}
