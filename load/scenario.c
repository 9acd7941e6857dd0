/*
 * Reading a scenario, asking a target to run it, and running its tasks. See scenario.h.
 */
#include "load/scenario.h"

#include <errno.h>
#include <lauxlib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/sandbox.h"
#include "load/script.h"

/* ---- reading ---- */

/* "name=value" of the command line. */
static int split_sets(struct script *sc, char *err)
{
	const struct scenario_options *opt = &sc->s->opt;
	struct keep *keep = &sc->s->keep;

	sc->set = keep_array(keep, struct script_set, opt->nr_set);
	for (u32 i = 0; i < opt->nr_set; i++) {
		const char *text = opt->set[i];
		const char *eq = strchr(text, '=');
		const char *option = i + opt->nr_varied < opt->nr_set ? "--set" : "--vary";

		if (!eq || eq == text || !eq[1] || eq - text >= TARGET_NAME_MAX ||
		    strlen(eq + 1) >= TARGET_NAME_MAX) {
			snprintf(err, TARGET_ERROR_MAX, "%s %.80s: expected name=value", option,
			         text);
			return -EINVAL;
		}
		sc->set[i].name = keep_strndup(keep, text, (size_t)(eq - text));
		sc->set[i].value = keep_strdup(keep, eq + 1);
		sc->set[i].option = option;
	}
	sc->nr_sets = opt->nr_set;
	return 0;
}

static int open_declarations(lua_State *L)
{
	script_open_declarations(L);
	return 0;
}

static int open_task(lua_State *L)
{
	script_open_task(L);
	return 0;
}

/* A state that knows the scenario's words. */
static struct sandbox *open_script(struct script *sc, const struct scenario_options *opt, u64 steps,
                                   lua_CFunction open)
{
	struct sandbox *sb =
		sandbox_new(&(struct sandbox_options){.memory_bytes = opt->memory_bytes,
	                                              .steps = steps,
	                                              .print = opt->print,
	                                              .print_arg = opt->print_arg,
	                                              .user = sc});
	char err[TARGET_ERROR_MAX];

	if (!sb)
		return NULL;
	sc->sb = sb;
	lua_pushcfunction(sb->L, open);
	if (sandbox_call(sb, 0, 0, err)) {
		sandbox_free(sb);
		return NULL;
	}
	return sb;
}

static int read_scenario(struct scenario *s, const char *text, size_t len, char *err)
{
	struct script sc = {.s = s, .program = s, .declaring = true};
	struct sandbox *sb;
	int result = split_sets(&sc, err);

	if (result)
		return result;
	sb = open_script(&sc, &s->opt, s->opt.steps_file, open_declarations);
	if (!sb) {
		snprintf(err, TARGET_ERROR_MAX, "%s: out of memory", s->path);
		return -ENOMEM;
	}
	result = sandbox_compile(sb, s->path, text, len, err);
	if (!result && sandbox_dump(sb, &s->code, &s->code_len)) {
		snprintf(err, TARGET_ERROR_MAX, "%s: out of memory", s->path);
		result = -ENOMEM;
	}
	if (!result)
		result = sandbox_call(sb, 0, 0, err);
	if (!result) {
		lua_pushcfunction(sb->L, script_finish);
		result = sandbox_call(sb, 0, 0, err);
	}
	sandbox_free(sb);
	return result;
}

int scenario_load(const char *path, const struct scenario_options *opt, struct scenario **out,
                  char *err)
{
	struct scenario *s = calloc(1, sizeof(*s));
	char *text = NULL;
	size_t len;
	int result;

	if (!s) {
		snprintf(err, TARGET_ERROR_MAX, "out of memory");
		return -ENOMEM;
	}
	if (opt)
		s->opt = *opt;
	s->path = keep_strdup(&s->keep, path);
	s->timeout_ns = SCENARIO_TIMEOUT_NS;
	s->limit_kind = keep_strdup(&s->keep, "ballast");
	if (s->opt.kernel) {
		s->kernel = keep_strdup(&s->keep, s->opt.kernel);
		s->kernel_origin = keep_strdup(&s->keep, "--kernel");
	}
	result = sandbox_read_file(path, &text, &len, err);
	if (!result)
		result = read_scenario(s, text, len, err);
	free(text);
	s->opt.set = NULL; /* the caller's strings are not needed any more */
	s->opt.nr_set = 0;
	if (result) {
		scenario_free(s);
		return result;
	}
	*out = s;
	return 0;
}

/* What the body of a task is given. Constant while the run lasts, but for the scripts: tasks may be threads. */
struct program {
	const struct scenario *s;
	const struct target_ops *ops;
	const char *variant;
	struct program *next; /* of the scenario */
	pthread_mutex_t lock; /* of the list */
	struct list_head
		scripts; /* of tasks that have not ended; a run that is broken off leaves some */
};

static void free_programs(struct scenario *s)
{
	for (struct program *p = s->programs; p; p = p->next) {
		struct sandbox *sb, *next;

		list_for_each_entry_safe (sb, next, &p->scripts, list)
			sandbox_free(sb);
		pthread_mutex_destroy(&p->lock);
	}
}

void scenario_free(struct scenario *s)
{
	if (!s)
		return;
	free_programs(s);
	profile_free(s->profile);
	free(s->code);
	keep_free(&s->keep);
	free(s);
}

u32 scenario_variant(const struct scenario *s, const char *name)
{
	u32 v = 0;

	while (v < s->nr_variants && strcmp(s->variant[v].name, name) != 0)
		v++;
	return v;
}

/* ---- running ---- */

/* The state of one task, with the file's functions in it. */
static struct sandbox *open_task_script(struct script *sc, char *err)
{
	const struct scenario *s = sc->program;
	u64 steps = s->opt.steps_task ? s->opt.steps_task : SANDBOX_STEPS_TASK;
	struct sandbox *sb = open_script(sc, &s->opt, steps, open_task);

	if (!sb) {
		snprintf(err, TARGET_ERROR_MAX, "%s: out of memory", s->path);
		return NULL;
	}
	if (sandbox_undump(sb, s->path, s->code, s->code_len, err) || sandbox_call(sb, 0, 0, err)) {
		sandbox_free(sb);
		return NULL;
	}
	return sb;
}

/* The script of a task is known to the program while it runs. */
static void script_runs(struct program *p, struct sandbox *sb, bool runs)
{
	pthread_mutex_lock(&p->lock);
	if (runs)
		list_add_tail(&sb->list, &p->scripts);
	else
		list_del(&sb->list);
	pthread_mutex_unlock(&p->lock);
}

static int run_task(void *arg, struct target_task *t, char *err)
{
	struct program *p = arg;
	struct script sc = {.program = p->s, .ops = p->ops, .variant = p->variant};
	struct sandbox *sb = open_task_script(&sc, err);
	int result;

	if (!sb)
		return -EINVAL;
	if (!script_push_function(sb->L, t->function)) {
		snprintf(err, TARGET_ERROR_MAX, "%s: there is no task '%.60s'", p->s->path,
		         t->function);
		sandbox_free(sb);
		return -EINVAL;
	}
	sc.task = t; /* from here on: the top of the file may not call the target */
	sandbox_seed(sb, t->seed);
	script_push_task(sb->L);
	for (size_t i = 0; i < ARRAY_SIZE(t->arg); i++)
		lua_pushinteger(sb->L, t->arg[i]);
	script_runs(p, sb, true);
	result = sandbox_call(sb, 1 + (int)ARRAY_SIZE(t->arg), 0, err);
	script_runs(p, sb, false);
	sandbox_free(sb);
	return result == -EINTR ? 0 : result; /* killed: the target knows */
}

static bool task_line(void *arg, const struct target_task *t, char *buf, size_t n)
{
	struct program *p = arg;
	const struct sandbox *sb;

	list_for_each_entry (sb, &p->scripts, list) {
		int line = sandbox_line(sb->L);

		if (((const struct script *)sb->user)->task != t || !line)
			continue;
		snprintf(buf, n, "%s:%d", sb->path, line);
		return true;
	}
	return false;
}

void scenario_request(struct scenario *s, u32 variant, u64 seed, const struct target_ops *ops,
                      struct target_request *req)
{
	const struct scenario_variant *v = &s->variant[variant];
	u32 nr = s->nr_settings + v->nr_settings + s->nr_overrides;
	struct target_setting *all = keep_array(&s->keep, struct target_setting, nr);
	struct program *p = keep_alloc(&s->keep, sizeof(*p));
	u32 n = 0;

	/* Later ones win. */
	for (u32 i = 0; i < s->nr_settings; i++)
		all[n++] = s->setting[i];
	for (u32 i = 0; i < v->nr_settings; i++)
		all[n++] = v->setting[i];
	for (u32 i = 0; i < s->nr_overrides; i++)
		all[n++] = s->override[i];
	*p = (struct program){.s = s, .ops = ops, .variant = v->name, .next = s->programs};
	pthread_mutex_init(&p->lock, NULL);
	INIT_LIST_HEAD(&p->scripts);
	s->programs = p;
	*req = (struct target_request){
		.scenario = s->path,
		.variant = v->name,
		.seed = seed,
		.hw = s->hw,
		.ballast_bytes = s->shape.ballast_bytes,
		.kernel = s->kernel,
		.nr_settings = nr,
		.setting = all,
		.nr_groups = s->nr_groups,
		.group = s->group,
		.nr_files = s->nr_files,
		.files = s->files,
		.nr_barriers = s->nr_barriers,
		.nr_events = s->nr_events,
		.nr_counters = s->nr_counters,
		.max_ns = s->timeout_ns,
		.body = run_task,
		.line = task_line,
		.program = p,
	};
	memcpy(req->barrier_size, s->barrier_size, sizeof(req->barrier_size));
	if (s->machine_declared) {
		req->ram_bytes = s->shape.ram_bytes;
		req->swap_bytes = s->shape.swap_bytes;
	}
	snprintf(req->swap_kind, sizeof(req->swap_kind), "%s",
	         s->shape.swap_kind == SWAP_ON_ZRAM ? "zram"
	                                            : "disk"); /* all that a host can tell */
	snprintf(req->limit_kind, sizeof(req->limit_kind), "%s", s->limit_kind);
}
