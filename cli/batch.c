/*
 * Many runs. See batch.h.
 */
#include "cli/batch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/progress.h"
#include "cli/sim_target.h"
#include "cli/state.h"
#include "cli/vary.h"
#include "report/version.h"

/* A batch that is running: some of its cells, in jobs. */
struct running {
	const struct batch *b;
	struct results *out;
	struct progress progress;
	const u32 *cell; /* the cells of this pass */
	u32 nr_cells;
	const u32 *todo; /* its jobs, those apart that --state has */
	u64 *key;        /* [b->nr_cells] what decides about a cell's runs; for --state */
	int status;      /* the worst exit code so far */
};

/*
 * Seeds are the outer loop: should the machine we run on change over time, it changes alike for
 * all variants.
 */
static u32 job_cell(const struct running *r, u32 job)
{
	return r->cell[job % r->nr_cells];
}

static u32 job_seed(const struct running *r, u32 job)
{
	return job / r->nr_cells;
}

/* ---- in the child ------------------------------------------------------------------------------- */

static const struct ledger *ledger_of(const struct target_ops *ops, const struct target *t)
{
	return ops == &sim_target_ops ? sim_target_ledger(t) : NULL;
}

static const struct series *series_of(const struct target_ops *ops, const struct target *t)
{
	return ops == &sim_target_ops ? sim_target_series(t) : NULL;
}

/* DIR if there is one cell, else DIR/LABEL with what would be awkward in a name replaced. */
static void proc_path(const struct running *r, u32 cell, char *buf, size_t n)
{
	char label[128];

	if (r->out->nr_columns == 1) {
		snprintf(buf, n, "%s", r->b->proc_dir);
		return;
	}
	column_label(r->out, &r->out->column[cell], label, sizeof(label));
	for (char *p = label; *p; p++)
		if (*p == ' ' || *p == '/' || *p == '*')
			*p = '-';
	snprintf(buf, n, "%s/%s", r->b->proc_dir, label);
}

static int write_proc(const struct running *r, u32 cell, const struct target_ops *ops,
                      struct target *t, char *err)
{
	char dir[PATH_MAX];

	if (mkdir(r->b->proc_dir, 0777) && errno != EEXIST) {
		int rc = -errno;

		snprintf(err, TARGET_ERROR_MAX, "%s: %s", r->b->proc_dir, strerror(-rc));
		return rc;
	}
	proc_path(r, cell, dir, sizeof(dir));
	return ops->write_proc(t, dir, err);
}

/* What the host had when it ran the same, if it did: a simulated run is to be its twin. */
static bool find_twin(const struct running *r, const struct batch_cell *c, u32 seed,
                      struct target_memory *memory)
{
	const struct result_column *host;

	if (c->ops != &sim_target_ops)
		return false;
	host = results_find(r->out, c->s->variant[c->variant].name, c->point, "host");
	return host && !host->record[seed].status && record_memory(&host->record[seed], memory);
}

/* Begins @err with the file that it is about. */
static void name_file(const char *path, char *err)
{
	char text[TARGET_ERROR_MAX];

	snprintf(text, sizeof(text), "%s", err);
	snprintf(err, TARGET_ERROR_MAX, "%.200s: %.300s", path, text);
}

/* One run, from the building of the machine to its record. */
static void run_job(void *arg, u32 i, struct bytes *result)
{
	const struct running *r = arg;
	u32 job = r->todo[i];
	const struct batch_cell *c = &r->b->cell[job_cell(r, job)];
	u32 seed = job_seed(r, job);
	struct target_result *res = report_alloc(1, sizeof(*res));
	char err[TARGET_ERROR_MAX] = "";
	struct target_request req;
	struct target_memory memory;
	struct run_record record;
	struct target *t;
	u64 lost = 0; /* files that could not be written */
	int rc;

	scenario_request(c->s, c->variant, r->out->seed[seed], c->ops, &req);
	req.check = r->b->check;
	req.series = seed == 0;
	req.series_from_ns = r->b->series_from_ns;
	req.series_to_ns = r->b->series_to_ns;
	req.heat = seed == 0 && r->b->heat;
	req.nr_slices = seed == 0 ? r->b->nr_slices : 0;
	req.trace_from_ns = r->b->trace_from_ns;
	req.trace_to_ns = r->b->trace_to_ns;
	if (find_twin(r, c, seed, &memory))
		req.twin_of = &memory;
	rc = c->ops->open(&req, &t, err);
	if (rc) {
		if (rc == -EINVAL) /* what the file asks for */
			name_file(req.scenario, err);
		record_broken(&record, &req, c->ops->name, rc, err);
	} else {
		rc = c->ops->run(t, res);
		record_fill(&record, &req, c->ops->name, res, rc, ledger_of(c->ops, t));
		if (series_of(c->ops, t))
			record_add_series(&record, series_of(c->ops, t));
		if (c->ops == &sim_target_ops) {
			record.trace = sim_target_trace(t);
			record.heat = sim_target_heat(t);
		}
		if (!rc && seed == 0 && r->b->proc_dir) {
			lost = write_proc(r, job_cell(r, job), c->ops, t, err) != 0;
			if (lost)
				fprintf(stderr, "quire: %s\n", err);
		}
		c->ops->close(t);
	}
	record_write(&record, result);
	bytes_u64(result, lost);
	record_free(&record);
	free(res);
}

/* ---- in the parent ------------------------------------------------------------------------------ */

/* The exit code for a run that ended with @status. */
static int exit_for(s32 status)
{
	switch (status) {
	case 0:
		return CLI_OK;
	case -EPERM:
	case -EACCES:
	case -EOPNOTSUPP:
		return CLI_NO_HOST;
	case -EINVAL:
	case -ECANCELED: /* an error of the scenario's own */
	case -ETIME:     /* it does not end */
		return CLI_USAGE;
	default:
		return CLI_FAILED;
	}
}

static void say_again(const struct running *r, const struct batch_cell *c, u64 seed)
{
	fprintf(stderr, "again: quire run %s --on %s", r->b->path, c->ops->name);
	if (c->s->nr_variants > 1)
		fprintf(stderr, " --variant %s", c->s->variant[c->variant].name);
	for (const char *p = c->point; *p;) {
		size_t len = strcspn(p, " ");

		fprintf(stderr, " --set %.*s", (int)len, p);
		p += len + strspn(p + len, " ");
	}
	fprintf(stderr, " --seed %lu --repeat 1%s\n", seed, r->b->again);
}

static void add_option(struct bytes *b, const char *name, const char *value)
{
	bool quote = strpbrk(value, " '\"*$;&") != NULL;
	const char *part[] = {" --", name, quote ? " '" : " ", value, quote ? "'" : ""};

	for (size_t i = 0; i < ARRAY_SIZE(part); i++)
		bytes_add(b, part[i], strlen(part[i]));
}

char *again_options(const char *const *set, u32 nr_sets, const char *machine, const char *kernel,
                    bool check)
{
	struct bytes b = {0};

	for (u32 i = 0; i < nr_sets; i++)
		add_option(&b, "set", set[i]);
	if (machine)
		add_option(&b, "machine", machine);
	if (kernel)
		add_option(&b, "kernel", kernel);
	if (check)
		bytes_add(&b, " --check", strlen(" --check"));
	bytes_add(&b, "", 1);
	return b.data;
}

static void say_broken(const struct batch_cell *c, const struct run_record *rec)
{
	const char *variant = c->s->variant[c->variant].name;

	if (c->s->nr_variants > 1)
		cli_error("%s (variant %s, seed %lu)",
		          *rec->error ? rec->error : strerror(-rec->status), variant, rec->seed);
	else
		cli_error("%s", *rec->error ? rec->error : strerror(-rec->status));
}

/* What became of a job that brought no record. */
static void describe_loss(const struct running *r, const struct job_outcome *o, char *err)
{
	if (o->state == JOB_TOO_LONG)
		snprintf(err, TARGET_ERROR_MAX,
		         "%s: no end after %u s of CPU time (--cpu-limit allows more)", r->b->path,
		         r->b->cpu_seconds);
	else if (o->signal)
		snprintf(err, TARGET_ERROR_MAX, "%s: the run crashed: %s", r->b->path,
		         strsignal(o->signal));
	else
		snprintf(err, TARGET_ERROR_MAX, "%s: the run ended without a result (exit code %d)",
		         r->b->path, o->exit_code);
}

static void lose_record(const struct running *r, const struct batch_cell *c, u64 seed,
                        const struct job_outcome *o, struct run_record *rec)
{
	struct target_request req;
	char err[TARGET_ERROR_MAX];

	scenario_request(c->s, c->variant, seed, c->ops, &req);
	describe_loss(r, o, err);
	record_broken(rec, &req, c->ops->name, o->state == JOB_TOO_LONG ? -ETIME : -EIO, err);
}

static void pass_on(struct running *r, const struct bytes *said)
{
	if (!said->len)
		return;
	progress_clear(&r->progress);
	fflush(stdout);
	fwrite(said->data, 1, said->len, stderr);
	if (said->data[said->len - 1] != '\n')
		fputc('\n', stderr);
}

/* ---- what --state has --------------------------------------------------------------------------- */

static u64 hash_text(u64 h, const char *text)
{
	return hash_bytes(h, text, strlen(text) + 1);
}

/* Everything that decides about a cell's runs, the seed apart. */
static u64 cell_key(const struct running *r, u32 cell)
{
	const struct result_column *c = &r->out->column[cell];
	u64 h = hash_text(HASH_START, quire_sources);

	h = hash_text(h, r->out->scenario_hash);
	h = hash_text(h, c->profile_hash);
	h = hash_text(h, c->target);
	for (u32 i = 0; i < c->config.nr; i++) {
		h = hash_text(h, c->config.entry[i].name);
		h = hash_text(h, c->config.entry[i].value);
	}
	h = hash_bytes(h, &r->b->series_from_ns, sizeof(r->b->series_from_ns));
	h = hash_bytes(h, &r->b->series_to_ns, sizeof(r->b->series_to_ns));
	return hash_bytes(h, &r->b->check, sizeof(r->b->check));
}

/* The first seed's runs keep time series. */
static u64 state_key(const struct running *r, u32 cell, u32 seed)
{
	u64 part[] = {r->key[cell], r->out->seed[seed], seed == 0};

	return hash_bytes(HASH_START, part, sizeof(part));
}

/* Takes a job's record from the state. */
static bool already_run(struct running *r, u32 job)
{
	u32 cell = job_cell(r, job);
	u32 seed = job_seed(r, job);
	struct run_record *rec = &r->out->column[cell].record[seed];
	struct run_record found;
	const struct bytes *b =
		r->b->state ? state_find(r->b->state, state_key(r, cell, seed)) : NULL;
	struct bytes_reader in;

	if (!b)
		return false;
	in = bytes_read(b);
	if (record_read(&found, &in))
		return false;
	record_free(rec);
	*rec = found;
	progress_step(&r->progress, "from --state");
	return true;
}

static bool job_ended(void *arg, u32 i, const struct job_outcome *o)
{
	struct running *r = arg;
	u32 job = r->todo[i];
	u32 cell = job_cell(r, job);
	const struct batch_cell *c = &r->b->cell[cell];
	struct run_record *rec = &r->out->column[cell].record[job_seed(r, job)];
	struct bytes_reader in = bytes_read(&o->result);
	u64 seed = r->out->seed[job_seed(r, job)];
	int status;

	/* The record that said "not run" gives way. */
	record_free(rec);
	if (o->state != JOB_DONE || record_read(rec, &in))
		lose_record(r, c, seed, o, rec);
	else if (bytes_get_u64(&in))
		r->status = max_t(int, r->status, CLI_FAILED);
	if (r->b->state && !rec->status &&
	    !state_add(r->b->state, state_key(r, cell, job_seed(r, job)), &o->result))
		r->status = max_t(int, r->status, CLI_FAILED);
	pass_on(r, &o->said);
	progress_step(&r->progress, c->s->variant[c->variant].name);
	if (!rec->status)
		return true;
	status = exit_for(rec->status);
	progress_clear(&r->progress);
	say_broken(c, rec);
	if (status == CLI_FAILED)
		say_again(r, c, seed);
	/* Of a sweep the other points go on. */
	if (*c->point && status == CLI_USAGE)
		status = CLI_FAILED;
	r->status = max(r->status, status);
	/* Input that is wrong is wrong for every seed; a crash may be one seed's. */
	return status == CLI_FAILED;
}

/* The first line of what the scenario says about itself, and the next ones if the sentence goes on there. */
static char *title_of(const struct scenario *s)
{
	const char *about = s->about ? s->about + strspn(s->about, " \t\n") : s->name;
	char *title = report_strdup(about);

	for (char *p = title; (p = strchr(p, '\n'));) {
		if (p == title || strchr(".?!:)", p[-1]) || p[1] == '\n' || !p[1]) {
			*p = '\0';
			break;
		}
		*p = ' ';
	}
	return title;
}

/* The axes as --vary gave them, and the points that are impossible. */
static void take_sweep(const struct batch *b, struct results *out)
{
	out->nr_holes = b->nr_holes;
	out->hole = b->hole;
	if (!b->vary)
		return;
	out->zip = b->vary->zip;
	out->nr_axes = b->vary->nr_axes;
	out->axis = report_alloc(out->nr_axes, sizeof(*out->axis));
	for (u32 i = 0; i < out->nr_axes; i++) {
		const struct result_axis *from = &b->vary->axis[i];
		struct result_axis *a = &out->axis[i];

		a->name = report_strdup(from->name);
		a->nr_values = from->nr_values;
		a->value = report_alloc(a->nr_values, sizeof(*a->value));
		for (u32 k = 0; k < a->nr_values; k++)
			a->value[k] = report_strdup(from->value[k]);
	}
}

char *batch_profile_hash(const struct profile *p)
{
	return hash_files((const char *const *)p->file, p->nr_files);
}

static void prepare(const struct batch *b, struct results *out)
{
	const struct scenario *s = b->cell[0].s;
	struct target_request req;

	*out = (struct results){.nr_seeds = b->nr_seeds, .nr_columns = b->nr_cells};
	out->scenario = report_strdup(b->path);
	out->scenario_hash = hash_file(b->path);
	out->title = title_of(s);
	out->nr_words = b->nr_words;
	out->word = report_alloc(b->nr_words, sizeof(*out->word));
	for (u32 i = 0; i < b->nr_words; i++)
		out->word[i] = report_strdup(b->word[i]);
	take_sweep(b, out);
	out->seed = report_alloc(b->nr_seeds, sizeof(*out->seed));
	for (u32 i = 0; i < b->nr_seeds; i++)
		out->seed[i] = b->seed + i;
	out->column = report_alloc(b->nr_cells, sizeof(*out->column));
	for (u32 i = 0; i < b->nr_cells; i++) {
		const struct batch_cell *cell = &b->cell[i];
		struct result_column *c = &out->column[i];

		c->variant = report_strdup(cell->s->variant[cell->variant].name);
		c->point = report_strdup(cell->point);
		c->target = report_strdup(cell->ops->name);
		c->profile_hash = batch_profile_hash(cell->s->profile);
		c->record = report_alloc(b->nr_seeds, sizeof(*c->record));
		batch_config(cell, &c->config);
		for (u32 k = 0; k < b->nr_seeds; k++) {
			scenario_request(cell->s, cell->variant, out->seed[k], cell->ops, &req);
			record_broken(&c->record[k], &req, cell->ops->name, -ECANCELED, "not run");
		}
	}
}

/* The cells of one kind of target. Those of the host run alone, and without a limit. */
static int run_pass(struct running *r, bool host)
{
	u32 *cell = report_alloc(r->b->nr_cells, sizeof(*cell));
	struct job_outcome *outcome;
	struct jobs jobs = {
		.nr_parallel = host && r->b->nr_parallel ? 1 : r->b->nr_parallel,
		.cpu_seconds = host ? 0 : r->b->cpu_seconds,
		.run = run_job,
		.ended = job_ended,
		.arg = r,
	};
	u32 nr_jobs;
	u32 *todo;
	int rc = 0;

	r->nr_cells = 0;
	for (u32 i = 0; i < r->b->nr_cells; i++)
		if ((r->b->cell[i].ops != &sim_target_ops) == host)
			cell[r->nr_cells++] = i;
	r->cell = cell;
	nr_jobs = r->nr_cells * r->b->nr_seeds;
	todo = report_alloc(nr_jobs, sizeof(*todo));
	for (u32 i = 0; i < nr_jobs; i++)
		if (!already_run(r, i))
			todo[jobs.nr++] = i;
	r->todo = todo;
	outcome = report_alloc(jobs.nr, sizeof(*outcome));
	if (jobs.nr)
		rc = jobs_run(&jobs, outcome);
	for (u32 i = 0; i < jobs.nr; i++) {
		bytes_free(&outcome[i].result);
		bytes_free(&outcome[i].said);
	}
	free(outcome);
	free(todo);
	free(cell);
	return rc;
}

int batch_run(const struct batch *b, struct results *out)
{
	struct running r = {.b = b, .out = out};
	int rc;

	prepare(b, out);
	r.key = report_alloc(b->nr_cells, sizeof(*r.key));
	for (u32 i = 0; i < b->nr_cells; i++)
		r.key[i] = cell_key(&r, i);
	progress_start(&r.progress, b->nr_cells * b->nr_seeds, b->quiet);
	/* The host first: twins are built like it. */
	rc = run_pass(&r, true);
	if (!rc)
		rc = run_pass(&r, false);
	progress_clear(&r.progress);
	free(r.key);
	if (rc > 0)
		jobs_raise(rc);
	return r.status;
}

/* ---- configuration ------------------------------------------------------------------------------ */

static void add_config(void *arg, const char *key, const char *value, const char *origin)
{
	config_add(arg, key, value, origin);
}

void batch_config(const struct batch_cell *c, struct config *config)
{
	*config = (struct config){0};
	scenario_config(c->s, c->variant, add_config, config);
	if (c->ops == &sim_target_ops)
		config_add_preset(config, c->s->kernel);
}
