/*
 * The page itself. See html.h.
 */
#include "report/html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/version.h"

#define MARK_CHART '\1'  /* followed by the chart's number and another mark */
#define MARK_NOTICE '\2' /* where it is said that there are no pictures */

/*
 * Colours of lines: Okabe and Ito's, which stay apart for those who see fewer colours, darkened or
 * lightened to stand out from their background; and dashes repeat what they say where there are few.
 */
static const char style[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1c1c1e;--mut:#5b5f66;--card:#f5f6f8;"
	"--line:#d6d9de;--good:#00674c;--bad:#a63d00;"
	"--p1:#0072b2;--p2:#c85200;--p3:#00835f;--p4:#a63c86;--p5:#8a6d00;--p6:#3a93c9;"
	"--p7:#882255;--p8:#555;--p9:#b0a000;--p10:#44aa99;"
	"--p64:#d6d9de;--p66:#5b5f66;--p67:#5b5f66;--h0:#eef0f3;--h1:#c6dbef;--h2:#9ecae1;"
	"--h3:#6baed6;--h4:#4292c6;--h5:#2171b5;--h6:#08519c;--h7:#08306b}"
	"@media(prefers-color-scheme:dark){:root{--bg:#16181c;--fg:#e6e7ea;--mut:#a2a8b1;"
	"--card:#1f2227;--line:#3a3f47;--good:#4fd0a5;--bad:#ff9a5c;"
	"--p1:#5db7ec;--p2:#ff8f45;--p3:#3ccf9f;--p4:#e58fca;--p5:#e0b93a;--p6:#9fd3f5;"
	"--p7:#e07aa5;--p8:#b5b9c0;--p9:#e8dc5a;--p10:#7fd8cb;"
	"--p64:#3a3f47;--p66:#a2a8b1;--p67:#a2a8b1;--h0:#23272e;--h1:#1d3b57;--h2:#1f5580;"
	"--h3:#2272a8;--h4:#3b93cc;--h5:#68b3e3;--h6:#a0d2f2;--h7:#e3f3fc}}"
	"*{box-sizing:border-box}"
	"body{margin:0 auto;padding:16px;max-width:1180px;background:var(--bg);color:var(--fg);"
	"font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
	"h1{font-size:1.5em;line-height:1.25;margin:.2em 0 .4em}"
	"h2{font-size:1.25em;margin:1.8em 0 .5em;border-bottom:1px solid var(--line);"
	"padding-bottom:.2em}"
	"h3{font-size:1.05em;margin:1.4em 0 .4em}"
	"p{margin:.5em 0;max-width:76ch}a{color:var(--p1)}"
	".mut{color:var(--mut)}.small{font-size:.875em}"
	".answer{background:var(--card);border-left:4px solid var(--p1);padding:.6em "
	"1em;margin:1em 0;"
	"border-radius:0 6px 6px 0}.answer p{margin:.35em 0;max-width:84ch}"
	".missing{border:1px dashed var(--bad);padding:.6em 1em;border-radius:6px}"
	".scroll{overflow-x:auto;margin:.6em 0}"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9em}"
	"th,td{padding:.28em .7em;text-align:right;border-bottom:1px solid var(--line);"
	"white-space:nowrap;vertical-align:top}"
	"th{font-weight:600;color:var(--mut)}"
	"th:first-child,td:first-child,td.l,th.l{text-align:left}td.w{white-space:normal;"
	"min-width:16em;max-width:60em}"
	"tr.sep td{border-top:2px solid var(--line)}"
	".good{color:var(--good);font-weight:600}.bad{color:var(--bad);font-weight:600}"
	".grid{display:grid;gap:14px;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),"
	"1fr));"
	"margin:.8em 0}"
	"figure{margin:0;background:var(--card);border-radius:8px;padding:10px 10px "
	"6px;min-width:0}"
	"figcaption{font-weight:600;font-size:.92em}"
	".key{font-size:.82em;color:var(--mut);margin:2px 0 0}.key span{margin-right:1em;"
	"white-space:nowrap;display:inline-block}"
	".key i{display:inline-block;width:1.5em;border-top:3px solid;margin-right:.4em;"
	"vertical-align:middle}.key i.d1{border-top-style:dashed}.key i.d2{border-top-style:dotted}"
	"svg{width:100%;height:auto;display:block;font:13px system-ui,-apple-system,'Segoe "
	"UI',Roboto,"
	"'DejaVu Sans',sans-serif;color:var(--fg)}"
	".bar{display:flex;height:26px;border-radius:4px;overflow:hidden;background:var(--h0)}"
	".bar i{display:block;height:100%;border-right:1px solid var(--bg)}"
	".bars{display:grid;grid-template-columns:max-content 1fr;gap:6px 12px;align-items:center;"
	"margin:.8em 0}"
	".chip{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.5em}"
	".idle{background:repeating-linear-gradient(45deg,var(--line),var(--line) 3px,transparent "
	"3px,"
	"transparent 7px)}"
	"details{margin:.6em 0}summary{cursor:pointer;color:var(--p1)}"
	"nav{font-size:.92em;margin:.6em 0}nav a{margin-right:1em;white-space:nowrap;"
	"display:inline-block}"
	"code{font:.92em ui-monospace,'DejaVu Sans Mono',monospace}"
	"@media(max-width:560px){body{padding:12px;font-size:15px}h1{font-size:1.3em}"
	"th,td{padding:.25em .5em}td:first-child,th:first-child{position:sticky;left:0;"
	"background:var(--bg);min-width:7.4em;max-width:46vw;white-space:normal;overflow-wrap:"
	"anywhere}figure{"
	"padding:8px 4px 4px}figcaption,.key{padding-left:6px}"
	".bars{grid-template-columns:1fr;gap:2px}.bars>:nth-child(even){margin-bottom:8px}}"
	"@media print{figure,.answer{break-inside:avoid}}";

void html_text(struct html *h, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", h->f);
			break;
		case '>':
			fputs("&gt;", h->f);
			break;
		case '&':
			fputs("&amp;", h->f);
			break;
		case '"':
			fputs("&quot;", h->f);
			break;
		default:
			if ((unsigned char)*text >= ' ')
				fputc(*text, h->f);
			else if (*text == '\n' || *text == '\t')
				fputc(' ', h->f);
		}
	}
}

void html_print(struct html *h, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(h->f, fmt, args);
	va_end(args);
}

void html_heading(struct html *h, u32 level, const char *id, const char *text)
{
	fprintf(h->f, "<h%u", level);
	if (id) {
		fputs(" id=\"", h->f);
		html_text(h, id);
		fputc('"', h->f);
	}
	fputc('>', h->f);
	html_text(h, text);
	fprintf(h->f, "</h%u>\n", level);
}

void html_cell(struct html *h, const char *tag, const char *class, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (class)
		fprintf(h->f, "<%s class=\"%s\">", tag, class);
	else
		fprintf(h->f, "<%s>", tag);
	html_text(h, text);
	fprintf(h->f, "</%s>", tag);
}

void html_seeds(struct html *h, const struct results *r)
{
	if (r->nr_seeds == 1)
		html_print(h, "seed %lu", r->seed[0]);
	else
		html_print(h, "%u seeds from %lu", r->nr_seeds, r->seed[0]);
}

/* ---- charts ------------------------------------------------------------------------------------- */

void html_charts_begin(struct html *h)
{
	fputs("<div class=\"grid\">\n", h->f);
}

void html_charts_end(struct html *h)
{
	fputs("</div>\n", h->f);
}

static bool first_of_label(const struct chart *c, u32 i)
{
	if (!c->line[i].label)
		return false;
	for (u32 k = 0; k < i; k++)
		if (c->line[k].label && strcmp(c->line[k].label, c->line[i].label) == 0)
			return false;
	return true;
}

static void put_key(struct html *h, const struct chart *c)
{
	u32 nr = 0;

	for (u32 i = 0; i < c->nr_lines; i++)
		nr += first_of_label(c, i);
	if (!nr)
		return;
	fputs("<div class=\"key\">", h->f);
	for (u32 i = 0; i < c->nr_lines; i++) {
		const struct chart_line *l = &c->line[i];

		if (!first_of_label(c, i))
			continue;
		fprintf(h->f, "<span><i class=\"d%u\" style=\"border-color:var(--p%u)\"></i>",
		        l->dash, l->colour ? l->colour : 67);
		html_text(h, l->label);
		fputs("</span>", h->f);
	}
	fputs("</div>", h->f);
}

void html_chart(struct html *h, struct chart *c)
{
	u32 i = 0;

	while (i < h->charts.nr && h->charts.chart[i] != c)
		i++;
	fputs("<figure><figcaption>", h->f);
	html_text(h, c->title);
	fputs("</figcaption>", h->f);
	put_key(h, c);
	fprintf(h->f, "%c%u%c</figure>\n", MARK_CHART, i, MARK_CHART);
}

/* ---- begin and end ------------------------------------------------------------------------------ */

void html_begin(struct html *h, const char *title)
{
	*h = (struct html){0};
	h->f = open_memstream(&h->text, &h->len);
	if (!h->f)
		abort();
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<link rel=\"icon\" href=\"data:,\">\n<title>",
	      h->f);
	html_text(h, title);
	fprintf(h->f, "</title>\n<style>%s</style>\n</head>\n<body>\n%c", style, MARK_NOTICE);
}

/* gnuplot's complaints have been made harmless: it quotes what it was given. */
static void put_notice(FILE *f, bool drawn, char *why)
{
	if (drawn)
		return;
	for (char *p = why; *p; p++)
		if (strchr("<>&", *p))
			*p = ' ';
	fprintf(f,
	        "<p class=\"missing\" id=\"missing\">The pictures are missing: %s. The tables are "
	        "complete.</p>\n",
	        why);
}

void html_end(struct html *h, FILE *f)
{
	char **svg = report_alloc(h->charts.nr, sizeof(*svg));
	char why[256] = "";
	bool drawn;

	fprintf(h->f,
	        "<p class=\"mut small\">Made by quire %s. Simulated seconds are those of the "
	        "machine profile that is named with them.</p>\n</body>\n</html>\n",
	        QUIRE_VERSION);
	fclose(h->f);
	drawn = !h->charts.nr || charts_draw(&h->charts, svg, why, sizeof(why));
	for (const char *p = h->text; *p;) {
		size_t len = strcspn(p, "\1\2");
		char *end;
		u32 i;

		fwrite(p, 1, len, f);
		p += len;
		if (*p == MARK_NOTICE) {
			put_notice(f, drawn, why);
			p++;
		} else if (*p == MARK_CHART) {
			i = (u32)strtoul(p + 1, &end, 10);
			if (drawn)
				fputs(svg[i], f);
			else
				fputs("<p class=\"mut small\">(no picture)</p>", f);
			p = end + 1;
		}
	}
	for (u32 i = 0; drawn && i < h->charts.nr; i++)
		free(svg[i]);
	free(svg);
	charts_free(&h->charts);
	free(h->text);
}
