/*
 * Scenarios: a Lua file that says which machine, which variants of the kernel, which tasks.
 *
 *   scenario "name"                       title of reports
 *   about [[...]]                         what it shows
 *   machine { profile = "small", cpus = 12, ram = "3G", swap = "8G" }      see profile.h
 *   kernel "4.0"                          preset of knobs
 *   set { ["vm.swappiness"] = 60 }        knobs of all variants; "host.*" for the host alone
 *   param { size = "512M", loops = 5 }    --set size=1G overrides; param.size is in bytes, times in ns
 *   variant "lazy" { about = "...", ["madvise.free"] = "lazy" }
 *   local start = barrier "start" (12)    start:wait()
 *   local done = event "done"             done:set(), done:wait()
 *   local hits = counter "hits"           hits:add(1), hits:get()
 *   local data = file "data" { size = "1G", sparse = false, count = 4 }    data[0] ... data[3]
 *   group "hog" { count = 12, run = function(t) ... end, start = "0s", stagger = "0s",
 *                 jitter = "0s", speed = "0%", oom_score_adj = 0, background = false }
 *   task "child" (function(t, a, b, c, d) ... end)       for t:fork(), t:thread(), t:spawn()
 *   published { source = "...", baseline = "dontneed", dontneed = { elapsed = 48.89 },
 *               fitted = "dontneed.elapsed", constant = "disk.swap.rate", note = "..." }
 *   expect { "lazy.elapsed > dontneed.elapsed", "each.oom_kill == 0",
 *            'near(each.pgfault, 1000, "5%")', "between(ratio(lazy.sys, dontneed.sys), 1.2, 2)" }
 *   note "text"                           printed with the results
 *   timeout "10min"                       of the machine's own time; default 1h
 *
 * ncpu, ram, swap (bytes) and page (4096) are numbers for expressions. Inside a task:
 *
 *   t.index (0 ...), t.count, t.variant, t.ncpu
 *   m = t:mmap(size [, { prot = "rw", noreserve = true, shared = true }])      m.va, m.len
 *   m:fill() m:touch() m:read() m:scan() [(offset, length)] [{ random = true }]
 *   m:madvise("dontneed"|"free"|"willneed"|"normal"|"random"|"sequential"|"cold"|"pageout"
 *             [, offset, length])
 *   m:mprotect("r"|"rw"|"none" [, offset, length])   m:munmap([offset, length])
 *   m:mremap(size [, { maymove = true, to = address }])   m.va and m.len are where it is then
 *   m = t:mmap(data[i] [, { offset = 0, size = "all", shared = true, prot = "r" }])
 *   f = t:open(data[i])   f:mmap({ ... })   f:close()   f = t:temporary(), gone when closed
 *   f:pread(offset, length [, block]) -> bytes   f:pwrite(...)   f:fsync()   f:truncate(size)   t:sync()
 *   f:fadvise("normal"|"random"|"sequential"|"willneed"|"dontneed" [, offset, length])
 *   t:set_mempolicy("default"|"local"|"preferred"|"bind"|"interleave"|"weighted interleave" [, { 0, 1 }])   m:mbind(the same)
 *   m:move_pages(node [, offset, length]) -> pages not there   t:migrate_pages({ from }, { to }) -> pages left
 *   t:swapoff()                            sim only
 *   t:brk(delta) -> end     t:region(va, len) -> m, for what a parent mapped
 *   c = t:fork("child", a, b, c, d)   t:thread(...)   c:wait()
 *   c = t:spawn("child", a, b, c, d)      a process with memory of its own: vfork and execve
 *   t:sleep("10ms")   t:compute("1ms")   t:now() in ns
 *
 * The file is read once to learn what it declares, and again, from its compiled form, in a fresh
 * Lua state for every task, where only the functions matter. So its top level must not depend on
 * anything but machine and parameters; math.random() is refused there.
 */
#ifndef LOAD_SCENARIO_H
#define LOAD_SCENARIO_H

#include "load/keep.h"
#include "load/profile.h"
#include "load/target.h"

#define SCENARIO_VARIANTS_MAX 64
#define SCENARIO_TASKS_MAX 100000
#define SCENARIO_TIMEOUT_NS 3600000000000 /* an hour */
#define SCENARIO_TIME_MAX                                                                          \
	(1200 * SCENARIO_TIMEOUT_NS) /* a simulated machine's clock ends soon after */

/* Names that load/ does not know. Any function may be NULL: then nothing is checked. */
struct load_names {
	const char *(*knob_at)(u32 i); /* NULL behind the last */
	int (*knob_check)(const char *name, const char *value, char *err); /* 0 or -errno */
	const char *(*preset_at)(u32 i);
	const char *(*metric_at)(u32 i); /* what expect and published may name */
};

struct scenario_options {
	const struct load_names *names;
	const char *machine; /* --machine: a profile's name, or a path; NULL: the scenario's */
	const char *kernel;  /* --kernel; NULL: the scenario's */
	profile_dirs machine_dirs;
	u32 nr_set;
	const char *const
		*set;     /* --set: "name=value" of parameters, machine.*, disk.*, cost.*, knobs */
	u32 nr_varied;    /* the last of them, which came from --vary */
	u64 steps_file;   /* 0: SANDBOX_STEPS_FILE */
	u64 steps_task;   /* 0: SANDBOX_STEPS_TASK */
	u64 memory_bytes; /* of one Lua state; 0: SANDBOX_MEMORY */
	void (*print)(void *arg, const char *text); /* of print() in the file; NULL: stderr */
	void *print_arg;
};

struct scenario_variant {
	char *name;
	char *about; /* or NULL */
	u32 nr_settings;
	struct target_setting *setting;
};

enum scenario_param_kind {
	PARAM_NUMBER,
	PARAM_SIZE,
	PARAM_TIME,
	PARAM_BOOL,
	PARAM_PERCENT,
	PARAM_TEXT,
};

struct scenario_param {
	char *name;
	enum scenario_param_kind kind;
	bool is_integer; /* of PARAM_NUMBER */
	s64 integer;     /* also bytes, ns, bool */
	double number;
	char *text;   /* the value as text, for people */
	char *origin; /* "file:line", "--set" */
};

struct scenario_figure {
	u32 variant;
	char *metric;
	double value;
	bool fitted; /* it was used to choose a constant: no prediction */
};

struct scenario_published {
	char *source; /* NULL: nothing published */
	char *note;
	u32 baseline;
	u32 nr_figures;
	struct scenario_figure *figure; /* by variant; user, sys, elapsed first */
	char *fitted;                   /* "variant.metric", or NULL */
	char *constant;                 /* that was fitted to it, or NULL */
};

struct scenario_expectation {
	char *text;
	int line;
};

struct scenario {
	char *path;
	char *name;
	char *about; /* or NULL */
	u32 nr_notes;
	char **note;

	struct profile *profile;
	struct machine_shape shape; /* what was built */
	struct hw_machine *hw;
	bool machine_declared; /* else ram and swap say nothing about a host, and there is no swap */
	char *profile_origin;
	char *shape_origin[SHAPE_FIELDS];

	char *kernel;
	char *kernel_origin;
	char *limit_kind; /* "ballast", "memcg" */
	u64 timeout_ns;

	u32 nr_settings; /* of all variants */
	struct target_setting *setting;
	u32 nr_overrides; /* from --set: they win over variants */
	struct target_setting *override;
	u32 nr_variants; /* at least 1 */
	struct scenario_variant *variant;
	u32 nr_params;
	struct scenario_param *param;

	u32 nr_groups;
	struct target_group *group;
	u32 nr_files; /* kinds */
	struct target_files *files;
	u32 nr_functions; /* groups and tasks */
	const char **function;
	u32 nr_barriers;
	const char *barrier[TARGET_SYNC_MAX];
	u32 barrier_size[TARGET_SYNC_MAX];
	u32 nr_events;
	const char *event[TARGET_SYNC_MAX];
	u32 nr_counters;
	const char *counter[TARGET_SYNC_MAX];

	struct scenario_published published;
	u32 nr_expectations;
	struct scenario_expectation *expectation;

	/* For tasks: the compiled file. Constant, so that several threads may run from it. */
	char *code;
	size_t code_len;
	struct scenario_options opt; /* names and limits */
	struct keep keep;
	struct program *programs; /* of its requests */
};

/*
 * Read @path. Returns 0, or a negative errno with "file:line: what was expected" in @err
 * (TARGET_ERROR_MAX bytes): bad input, exit code 2. @opt may be NULL; what it points to must live
 * as long as the scenario, but for strings.
 */
int scenario_load(const char *path, const struct scenario_options *opt, struct scenario **out,
                  char *err);
void scenario_free(struct scenario *s);

/* The variant of that name, or nr_variants. */
u32 scenario_variant(const struct scenario *s, const char *name);

/*
 * Fill @req for one run of variant @variant on the target of @ops. What it points to lives as long
 * as @s. check and trace are left false.
 */
void scenario_request(struct scenario *s, u32 variant, u64 seed, const struct target_ops *ops,
                      struct target_request *req);

/*
 * Is expectation @i met? @value looks up a metric of a variant (a mean, over seeds) and returns
 * whether there is such a metric. Returns 1, 0, or -EINVAL; @why (TARGET_ERROR_MAX bytes) gets the
 * values that were looked at, or the error.
 */
typedef bool scenario_metric_fn(void *arg, u32 variant, const char *metric, double *value);
int scenario_expect(const struct scenario *s, u32 i, scenario_metric_fn *value, void *arg,
                    char *why);

/* Every effective value of a run of @variant and where it came from, for --print-config. */
typedef void scenario_config_fn(void *arg, const char *key, const char *value, const char *origin);
void scenario_config(const struct scenario *s, u32 variant, scenario_config_fn *emit, void *arg);

#endif
