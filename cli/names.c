/*
 * What only the command knows: the targets there are, and for load/, the names of knobs, presets
 * and metrics.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/batch.h"
#include "cli/cli.h"
#include "cli/sim_target.h"
#include "core/knobs.h"
#include "core/mm.h"
#include "core/vmstat.h"
#include "host/host.h"
#include "load/sandbox.h"
#include "report/metric.h"

static const struct target_ops *const targets[] = {&sim_target_ops, &host_target_ops};

const char *const target_names[] = {"sim", "host"};
const u32 nr_target_names = ARRAY_SIZE(target_names);

const struct target_ops *target_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		if (strcmp(targets[i]->name, name) == 0)
			return targets[i];
	return NULL;
}

static const char *knob_name_at(u32 i)
{
	return i < knob_count() ? knob_at(i)->name : NULL;
}

static int knob_check(const char *name, const char *value, char *err)
{
	struct knobs scratch;
	int rc = knobs_preset(&scratch, knob_preset_name(0));

	return rc ? rc : knob_set(&scratch, name, value, err, TARGET_ERROR_MAX);
}

/* Sums over zones come after the counters: "allocstall" is meaningful for every kernel. */
static const char *metric_at(u32 i)
{
	static const char *const other[] = {"elapsed",
	                                    "real",
	                                    "time",
	                                    "user",
	                                    "sys",
	                                    "allocstall",
	                                    "pgalloc",
	                                    "pgrefill",
	                                    "pgskip",
	                                    "pgsteal_kswapd",
	                                    "pgsteal_direct",
	                                    "pgscan_kswapd",
	                                    "pgscan_direct",
	                                    "throughput",
	                                    "estimate_cpu_share",
	                                    "min_breach_pages",
	                                    "mlock_call",
	                                    "munlock_call",
	                                    "stall_time",
	                                    "watermark_min",
	                                    "khugepaged_pages_collapsed",
	                                    "khugepaged_full_scans"};

	if (i < ARRAY_SIZE(other))
		return other[i];
	i -= ARRAY_SIZE(other);
	if (i < NR_VM_EVENTS)
		return vm_event_name[i];
	i -= NR_VM_EVENTS;
	if (i < NR_VM_ITEMS)
		return vm_item_name[i];
	i -= NR_VM_ITEMS;
	if (mthp_stat_name(i))
		return mthp_stat_name(i);
	i -= mthp_stat_count();
	return metric_derived_at(i) ? metric_derived_at(i)->name : NULL;
}

const struct load_names cli_load_names = {
	.knob_at = knob_name_at,
	.knob_check = knob_check,
	.preset_at = knob_preset_name,
	.metric_at = metric_at,
};

#define LOAD_CPU_SECONDS 20

int cli_scenario_load(const char *path, const struct scenario_options *opt, struct scenario **out,
                      char *err)
{
	char message[PATH_MAX + 128];
	int rc;

	snprintf(message, sizeof(message),
	         "quire: %s: reading it takes more than %d s of CPU time: it is no scenario", path,
	         LOAD_CPU_SECONDS);
	rc = sandbox_guard_cpu(LOAD_CPU_SECONDS, message, CLI_USAGE);
	if (rc) {
		snprintf(err, TARGET_ERROR_MAX, "cannot bound the reading of %.200s: %s", path,
		         strerror(-rc));
		return rc;
	}
	rc = scenario_load(path, opt, out, err);
	sandbox_unguard_cpu();
	return rc;
}

profile_dirs cli_machine_dirs(void)
{
	static char machines[PATH_MAX];
	static const char *dirs[] = {machines, NULL};
	const char *data = data_dir();

	if (!data ||
	    snprintf(machines, sizeof(machines), "%s/machines", data) >= (int)sizeof(machines))
		return NULL; /* load/ looks in ./machines */
	return dirs;
}
