/*
 * What quire run is to run: a scenario per point of --vary, and the cells made of them.
 */
#include "cli/run.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/rerun.h"

static bool load_point(const struct run_args *a, struct run_plan *p, u32 point)
{
	const char *set[SETTINGS_MAX + VARY_MAX];
	char *varied[VARY_MAX];
	char err[TARGET_ERROR_MAX] = "";
	struct scenario_options opt = {
		.names = &cli_load_names,
		.machine = a->machine,
		.kernel = a->kernel,
		.machine_dirs = cli_machine_dirs(),
		.set = set,
		.nr_set = a->nr_sets + a->vary.nr_axes,
		.nr_varied = a->vary.nr_axes,
	};
	int rc;

	for (u32 i = 0; i < a->nr_sets; i++)
		set[i] = a->set[i];
	for (u32 i = 0; i < a->vary.nr_axes; i++)
		set[a->nr_sets + i] = varied[i] = vary_setting(&a->vary, point, i);
	p->label[point] = vary_label(&a->vary, point);
	rc = cli_scenario_load(a->path, &opt, &p->scenario[point], err);
	for (u32 i = 0; i < a->vary.nr_axes; i++)
		free(varied[i]);
	if (!rc)
		return true;
	if (!*p->label[point]) {
		cli_error("%s", err);
		return false;
	}
	cli_error("impossible: %s: %s", p->label[point], err);
	p->hole = realloc(p->hole, sizeof(*p->hole) * (p->nr_holes + 1));
	if (!p->hole)
		abort();
	p->hole[p->nr_holes++] =
		(struct result_hole){report_strdup(p->label[point]), report_strdup(err)};
	return false;
}

/* Whether --variant names @name; those that it names are counted. */
static bool wanted(const char *list, const char *name)
{
	size_t n = strlen(name);

	if (!list)
		return true;
	for (const char *p = list; *p; p += strspn(p, ",")) {
		size_t len = strcspn(p, ",");

		if (len == n && strncmp(p, name, n) == 0)
			return true;
		p += len;
	}
	return false;
}

/* Every name of --variant must be one of the scenario's. */
static bool check_variants(const struct scenario *s, const char *list)
{
	const char *names[SCENARIO_VARIANTS_MAX];

	for (u32 i = 0; i < s->nr_variants; i++)
		names[i] = s->variant[i].name;
	for (const char *p = list; *p; p += strspn(p, ",")) {
		size_t len = strcspn(p, ",");
		char name[TARGET_NAME_MAX];

		snprintf(name, sizeof(name), "%.*s", (int)min_t(size_t, len, sizeof(name) - 1), p);
		if (scenario_variant(s, name) == s->nr_variants) {
			cli_error_near(name, names, s->nr_variants, "%s has no variant \"%s\"",
			               s->path, name);
			return false;
		}
		p += len;
	}
	return true;
}

static bool unchanged(const struct run_args *a, const char *path, char *now, const char *then)
{
	bool same = !then || strcmp(then, now) == 0;

	if (!same)
		cli_error("%s has changed since %s was made (%s then, %s now)", path, a->from, then,
		          now);
	free(now);
	return same;
}

/* Whether what --from names is still what it was. */
static bool check_from(const struct run_args *a, const struct scenario *s)
{
	return !a->from || strcmp(a->scenario, a->made.scenario) != 0 ||
	       (unchanged(a, a->path, hash_file(a->path), a->made.scenario_hash) &&
	        (a->machine != a->from_machine ||
	         unchanged(a, s->profile->path, batch_profile_hash(s->profile),
	                   a->made.column[0].profile_hash)));
}

bool run_plan_make(const struct run_args *a, struct run_plan *p)
{
	const struct scenario *s = NULL;
	u32 n = 0;

	p->nr_points = vary_points(&a->vary);
	p->scenario = report_alloc(p->nr_points, sizeof(*p->scenario));
	p->label = report_alloc(p->nr_points, sizeof(*p->label));
	for (u32 i = 0; i < p->nr_points; i++)
		if (load_point(a, p, i) && !s)
			s = p->scenario[i];
	if (!s)
		return false;
	if (!check_from(a, s))
		return false;
	if (a->variants && !check_variants(s, a->variants))
		return false;
	p->cell = report_alloc((size_t)a->nr_on * p->nr_points * s->nr_variants, sizeof(*p->cell));
	for (u32 t = 0; t < a->nr_on; t++)
		for (u32 i = 0; i < p->nr_points; i++)
			for (u32 v = 0; p->scenario[i] && v < s->nr_variants; v++)
				if (wanted(a->variants, s->variant[v].name))
					p->cell[n++] = (struct batch_cell){p->scenario[i], v,
					                                   p->label[i], a->on[t]};
	p->nr_cells = n;
	if (!n)
		cli_error("--variant %s names no variant of %s", a->variants, a->path);
	return n > 0;
}

void run_plan_free(struct run_plan *p)
{
	for (u32 i = 0; i < p->nr_holes; i++) { /* no batch has taken them */
		free(p->hole[i].point);
		free(p->hole[i].error);
	}
	free(p->hole);
	for (u32 i = 0; i < p->nr_points; i++) {
		if (p->scenario && p->scenario[i])
			scenario_free(p->scenario[i]);
		if (p->label)
			free(p->label[i]);
	}
	free(p->scenario);
	free(p->label);
	free(p->cell);
	free(p->again);
}

/* ---- results that exist ------------------------------------------------------------------------- */

struct rerun {
	struct run_args a;
	struct run_plan p;
};

struct rerun *rerun_load(const char *path)
{
	struct rerun *r = report_alloc(1, sizeof(*r));
	struct run_args *a = &r->a;

	run_args_init(a);
	if (run_args_from(a, path) && vary_check(&a->vary) &&
	    scenario_path(a->scenario, a->path, sizeof(a->path)) && run_plan_make(a, &r->p))
		return r;
	rerun_free(r);
	return NULL;
}

const struct batch_cell *rerun_cell(const struct rerun *r, const struct result_column *c)
{
	for (u32 i = 0; i < r->p.nr_cells; i++) {
		const struct batch_cell *cell = &r->p.cell[i];

		if (strcmp(cell->s->variant[cell->variant].name, c->variant) == 0 &&
		    strcmp(cell->point, c->point) == 0 && strcmp(cell->ops->name, c->target) == 0)
			return cell;
	}
	return NULL;
}

void rerun_free(struct rerun *r)
{
	run_plan_free(&r->p);
	run_args_free(&r->a);
	free(r);
}
