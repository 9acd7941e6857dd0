/*
 * Charts and the gnuplot that draws them. See chart.h.
 */
#include "report/chart.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/bytes.h"
#include "report/svg.h"

#define CHART_WIDTH 440
#define CHART_HEIGHT 270

/* Colours that no theme has: svg.c puts variables of the page's style in their place. */
#define COLOUR(n) "rgb '#0101%02x'", (n)
#define COLOUR_GRID 0x40
#define COLOUR_AXIS 0x42
#define COLOUR_REMARK 0x43

extern char **environ;

/* ---- making them -------------------------------------------------------------------------------- */

struct chart *chart_new(struct charts *c, const char *title, const char *x_label,
                        const char *y_label)
{
	struct chart *chart = report_alloc(1, sizeof(*chart));

	c->chart = realloc(c->chart, (c->nr + 1) * sizeof(struct chart *));
	if (!c->chart)
		abort();
	c->chart[c->nr++] = chart;
	chart->title = report_strdup(title);
	chart->x_label = report_strdup(x_label);
	chart->y_label = report_strdup(y_label);
	return chart;
}

struct chart_line *chart_line(struct chart *c, const char *label, u32 colour, u32 n)
{
	struct chart_line *l;

	if (c->nr_lines == CHART_LINES_MAX)
		return NULL;
	l = &c->line[c->nr_lines++];
	l->label = label ? report_strdup(label) : NULL;
	l->colour = colour;
	l->n = n;
	l->x = report_alloc(n, sizeof(double));
	l->y = report_alloc(n, sizeof(double));
	return l;
}

void chart_band(struct chart_line *l)
{
	l->lo = report_alloc(l->n, sizeof(double));
	l->hi = report_alloc(l->n, sizeof(double));
}

void charts_free(struct charts *c)
{
	for (u32 i = 0; i < c->nr; i++) {
		struct chart *chart = c->chart[i];

		for (u32 k = 0; k < chart->nr_lines; k++) {
			struct chart_line *l = &chart->line[k];

			free(l->label);
			free(l->x);
			free(l->y);
			free(l->lo);
			free(l->hi);
		}
		free(chart->title);
		free(chart->x_label);
		free(chart->y_label);
		free(chart->x_tics);
		free(chart);
	}
	free(c->chart);
	*c = (struct charts){0};
}

/* ---- gnuplot's commands ------------------------------------------------------------------------- */

/* Names come from users' files, and gnuplot runs what stands in backquotes. */
static void quoted(FILE *f, const char *text)
{
	fputc('\'', f);
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' || strchr("'\"`\\", *text) ? ' ' : *text, f);
	fputc('\'', f);
}

/* What a logarithmic axis cannot show is left out, not drawn somewhere. */
static void put_value(FILE *f, double v, bool logarithmic, double floor)
{
	if (logarithmic && v < floor)
		v = floor;
	if (!isfinite(v) || (logarithmic && v <= 0))
		fputs(" NaN", f);
	else
		fprintf(f, " %.7g", v);
}

static void put_data(FILE *f, const struct chart *c, u32 line)
{
	const struct chart_line *l = &c->line[line];

	fprintf(f, "$d%u << EOD\n", line);
	for (u32 i = 0; i < l->n; i++) {
		put_value(f, l->x[i], c->log_x, 0);
		put_value(f, l->y[i], c->log_y, c->floor);
		if (l->lo) {
			put_value(f, l->lo[i], c->log_y, c->floor);
			put_value(f, l->hi[i], c->log_y, c->floor);
		}
		fputc('\n', f);
	}
	fputs("EOD\n", f);
}

static double width_of(const struct chart *c, u32 line)
{
	u32 before = 0;

	for (u32 i = 0; i < line; i++)
		before += c->line[i].colour != 0;
	return before < 3 ? 3 - 0.8 * before : 1;
}

static void put_line(FILE *f, const struct chart *c, u32 line)
{
	static const char *const style[] = {
		[CHART_LINE] = "lines", [CHART_STEPS] = "histeps", [CHART_POINTS] = "linespoints"};
	const struct chart_line *l = &c->line[line];
	u32 colour = l->colour ? l->colour : COLOUR_REMARK;

	if (l->lo) {
		fprintf(f, "$d%u using 1:3:4 with filledcurves lc ", line);
		fprintf(f, COLOUR(colour));
		fputs(" notitle, ", f);
	}
	fprintf(f, "$d%u using 1:2 with %s lc ", line, style[l->style]);
	fprintf(f, COLOUR(colour));
	/* Thinner and thinner: lines that lie upon each other are all seen. */
	fprintf(f, " lw %.1f",
	        !l->colour                 ? 1.0
	        : l->style != CHART_POINTS ? width_of(c, line)
	                                   : 1.6);
	if (l->dash)
		fprintf(f, " dt %u", l->dash + 1);
	if (l->style == CHART_POINTS)
		fputs(" pt 7 ps 0.5", f);
	fputs(" notitle", f);
}

/* Whole decades: there is always one to read off. */
static void put_decades(FILE *f, const struct chart *c)
{
	double lo = INFINITY;
	double hi = 0;

	for (u32 i = 0; i < c->nr_lines; i++) {
		for (u32 k = 0; k < c->line[i].n; k++) {
			lo = c->line[i].x[k] > 0 ? fmin(lo, c->line[i].x[k]) : lo;
			hi = fmax(hi, c->line[i].x[k]);
		}
	}
	fprintf(f, "set xrange [%g:%g]\n", pow(10, floor(log10(lo))), pow(10, ceil(log10(hi))));
}

static void put_axes(FILE *f, const struct chart *c)
{
	fputs("set xlabel ", f);
	quoted(f, c->x_label);
	fputs(" tc ", f);
	fprintf(f, COLOUR(COLOUR_AXIS));
	fputs(" offset 0,0.4\nset ylabel ", f);
	quoted(f, c->y_label);
	fputs(" tc ", f);
	fprintf(f, COLOUR(COLOUR_AXIS));
	fputc('\n', f);
	fputs(c->log_x ? "set logscale x\n" : "unset logscale x\n", f);
	fputs(c->log_y ? "set logscale y\n" : "unset logscale y\n", f);
	fputs("set autoscale\nset autoscale xfixmax\n", f);
	if (c->log_x && c->x_tics)
		put_decades(f, c);
	if (c->from_zero && !c->log_y)
		fputs("set yrange [0:*]\n", f);
	if (c->log_y && c->floor > 0)
		fprintf(f, "set yrange [%g:*]\n", c->floor);
	if (c->x_tics)
		fprintf(f, "set xtics nomirror (%s)\n", c->x_tics);
	else
		fputs("set xtics nomirror autofreq\n", f);
}

/* A chart without a single point would be an error. */
static bool has_points(const struct chart *c)
{
	for (u32 i = 0; i < c->nr_lines; i++)
		for (u32 k = 0; k < c->line[i].n; k++)
			if (isfinite(c->line[i].y[k]) && (!c->log_y || c->line[i].y[k] > 0) &&
			    (!c->log_x || c->line[i].x[k] > 0))
				return true;
	return false;
}

static void put_chart(FILE *f, const struct chart *c)
{
	/* Every plot of this terminal begins a document of its own. */
	fprintf(f, "set terminal svg noenhanced size %d,%d font 'sans,13'\n", CHART_WIDTH,
	        CHART_HEIGHT);
	if (!has_points(c)) {
		fputs("unset logscale\nset xrange [0:1]\nset yrange [0:1]\nplot NaN notitle\n", f);
		return;
	}
	for (u32 i = 0; i < c->nr_lines; i++)
		put_data(f, c, i);
	put_axes(f, c);
	fputs("plot ", f);
	for (u32 i = 0; i < c->nr_lines; i++) {
		fputs(i ? ", " : "", f);
		put_line(f, c, i);
	}
	fputc('\n', f);
	for (u32 i = 0; i < c->nr_lines; i++)
		fprintf(f, "undefine $d%u\n", i);
}

static void put_script(FILE *f, const struct charts *c)
{
	fputs("set encoding utf8\nunset key\nset border 3 lc ", f);
	fprintf(f, COLOUR(COLOUR_AXIS));
	fputs("\nset grid lt 1 lc ", f);
	fprintf(f, COLOUR(COLOUR_GRID));
	fputs("\nset bmargin 3.2\nset tics nomirror out scale 0.6\nset format x '%g'\nset format y "
	      "'%g'\n"
	      "set style fill transparent solid 0.2 noborder\n",
	      f);
	for (u32 i = 0; i < c->nr; i++)
		put_chart(f, c->chart[i]);
}

/* ---- running it --------------------------------------------------------------------------------- */

static char *read_all(int fd)
{
	off_t len = lseek(fd, 0, SEEK_END);
	char *text;

	if (len < 0)
		return NULL;
	text = report_alloc((size_t)len + 1, 1);
	if (pread(fd, text, (size_t)len, 0) != len) {
		free(text);
		return NULL;
	}
	return text;
}

/* gnuplot's first line of complaint, to @why. */
static void complaint(int fd, int status, char *why, size_t n)
{
	char *text = read_all(fd);
	const char *p = text ? text + strspn(text, " \t\n^") : "";

	snprintf(why, n, "gnuplot ended with status %d: %.*s", status, (int)strcspn(p, "\n"), p);
	free(text);
}

/* The commands in @in; @out gets what it draws, as files in memory. */
static bool run_gnuplot(int in, int out, int err, char *why, size_t n)
{
	char *argv[] = {"gnuplot", NULL};
	posix_spawn_file_actions_t act;
	int status;
	pid_t pid;
	int rc;

	posix_spawn_file_actions_init(&act);
	posix_spawn_file_actions_adddup2(&act, in, 0);
	posix_spawn_file_actions_adddup2(&act, out, 1);
	posix_spawn_file_actions_adddup2(&act, err, 2);
	rc = posix_spawnp(&pid, "gnuplot", &act, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&act);
	if (rc) {
		snprintf(why, n, "gnuplot, which draws the pictures, %s",
		         rc == ENOENT ? "is not installed" : strerror(rc));
		return false;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
		snprintf(why, n, "gnuplot, which draws the pictures, is not installed");
		return false;
	}
	if (status) {
		complaint(err, WIFEXITED(status) ? WEXITSTATUS(status) : status, why, n);
		return false;
	}
	return true;
}

static bool write_script(const struct charts *c, int fd)
{
	int copy = dup(fd);
	FILE *f = copy < 0 ? NULL : fdopen(copy, "w");

	if (!f)
		return false;
	put_script(f, c);
	return fclose(f) == 0 && lseek(fd, 0, SEEK_SET) == 0;
}

bool charts_draw(const struct charts *c, char **svg, char *why, size_t n)
{
	int in = memfd_create("gnuplot-in", MFD_CLOEXEC);
	int out = memfd_create("gnuplot-out", MFD_CLOEXEC);
	int err = memfd_create("gnuplot-err", MFD_CLOEXEC);
	char *text = NULL;
	bool ok = false;

	snprintf(why, n, "there is no memory for the pictures");
	if (in >= 0 && out >= 0 && err >= 0 && write_script(c, in) &&
	    run_gnuplot(in, out, err, why, n)) {
		text = read_all(out);
		ok = text && svg_split(text, svg, c->nr);
		if (!ok)
			snprintf(why, n, "gnuplot drew something that is not understood");
	}
	for (u32 i = 0; ok && i < c->nr; i++)
		svg_label(&svg[i], c->chart[i]->title);
	free(text);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	if (err >= 0)
		close(err);
	return ok;
}
