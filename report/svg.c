/*
 * Rewriting gnuplot's SVG. See svg.h.
 *
 * What gnuplot 5 and 6 write is full of defaults: half of it goes. A colour rgb(1, 1, N) stands for the
 * variable --pN of the page's style. Its symbols are references to definitions by name, which would clash
 * on a page with many pictures; the only one we use is the filled circle.
 */
#include "report/svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/bytes.h"

/* What is left out wherever it stands in a tag. */
static const char *const noise[] = {
	" font-family=\"sans\"", " stroke-linecap=\"butt\"", " stroke-linejoin=\"miter\"",
	" class=\"gridline\"",   " color=\"white\"",         " color=\"black\"",
	" fill=\"none\"",        " stroke=\"currentColor\"", " font-size=\"13.00\"",
	" stroke='black'",
};

#define CIRCLE "use xlink:href='#gpPt6'"

static void put(struct bytes *out, const char *text)
{
	bytes_add(out, text, strlen(text));
}

static bool begins(const char *p, const char *with)
{
	return strncmp(p, with, strlen(with)) == 0;
}

/* "rgb(  1,   1,  12)" at @p: its end, and 12; NULL if it is another colour. */
static const char *theme_colour(const char *p, u32 *n)
{
	unsigned int r;
	unsigned int g;
	int end = 0;

	if (sscanf(p, "rgb(%u ,%u ,%u )%n", &r, &g, n, &end) == 3 && end && r == 1 && g == 1)
		return p + end;
	return NULL;
}

static size_t noise_at(const char *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(noise); i++)
		if (begins(p, noise[i]))
			return strlen(noise[i]);
	/* Names: they clash. */
	if (begins(p, " id=\""))
		return 5 + strcspn(p + 5, "\"") + 1;
	return 0;
}

/* One tag, from '<' to behind '>'. */
static const char *copy_tag(struct bytes *out, const char *p)
{
	const char *end = p + strcspn(p, ">");
	char number[32];
	u32 n;

	for (; p < end;) {
		size_t skip = noise_at(p);
		const char *colour = *p == 'r' ? theme_colour(p, &n) : NULL;

		if (skip) {
			p += skip;
		} else if (colour) {
			snprintf(number, sizeof(number), "var(--p%u)", n);
			put(out, number);
			p = colour;
		} else if (begins(p, " fill=\"black\"")) {
			put(out, " fill='currentColor'");
			p += strlen(" fill=\"black\"");
		} else if (begins(p, CIRCLE)) {
			put(out, "circle r='1'");
			p += strlen(CIRCLE);
		} else if (begins(p, " color='")) { /* of a circle: what it is filled with */
			put(out, " stroke='none' fill");
			p += strlen(" color");
		} else if (*p == '.' && p[1] >= '0' && p[1] <= '9' && p[2] >= '0' && p[2] <= '9') {
			/* Half a tenth of a pixel is enough. */
			if (p[1] != '0')
				bytes_add(out, p, 2);
			p += 2 + strspn(p + 2, "0123456789");
		} else if (*p == '\n' || *p == '\t') {
			bytes_add(out, " ", 1);
			p += strspn(p, " \t\n");
		} else {
			bytes_add(out, p++, 1);
		}
	}
	if (*end)
		bytes_add(out, end++, 1);
	return end;
}

/* A group that has nothing in it: "<g ...>" at the end of @out. */
static bool drop_empty_group(struct bytes *out)
{
	size_t i = out->len;

	while (i && out->data[i - 1] == ' ')
		i--;
	if (!i || out->data[i - 1] != '>')
		return false;
	while (i && out->data[i - 1] != '<')
		i--;
	if (!i || out->data[i] != 'g' || (out->data[i + 1] != ' ' && out->data[i + 1] != '>'))
		return false;
	out->len = i - 1;
	return true;
}

/* The body of a document, between its definitions and its end. */
static char *rewrite(const char *p, const char *end, const char *view)
{
	struct bytes out = {0};

	put(&out, "<svg role='img' viewBox='");
	bytes_add(&out, view, strcspn(view, "\""));
	put(&out, "'><g fill='none' stroke='currentColor'>");
	while (p < end) {
		if (begins(p, "<tspan")) {
			p += strcspn(p, ">") + 1;
		} else if (begins(p, "</tspan>")) {
			p += strlen("</tspan>");
		} else if (begins(p, "<title>")) {
			const char *after = strstr(p, "</title>");

			p = after ? after + strlen("</title>") : end;
		} else if (begins(p, "</g>") && drop_empty_group(&out)) {
			p += strlen("</g>");
		} else if (*p == '<') {
			p = copy_tag(&out, p);
		} else if (*p == '\n' || *p == '\t' || *p == ' ') {
			p += strspn(p, " \t\n");
			if (out.len && out.data[out.len - 1] != '>')
				bytes_add(&out, " ", 1);
		} else {
			bytes_add(&out, p++, 1);
		}
	}
	put(&out, "</g></svg>");
	bytes_add(&out, "", 1);
	return out.data;
}

bool svg_split(const char *text, char **svg, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		const char *begin = strstr(text, "<svg");
		const char *view = begin ? strstr(begin, "viewBox=\"") : NULL;
		const char *body = begin ? strstr(begin, "</defs>") : NULL;
		const char *end = begin ? strstr(begin, "</svg>") : NULL;
		const char *canvas;

		if (!view || !body || !end || view > end || body > end)
			break;
		body += strlen("</defs>");
		/* The canvas's group was opened before the definitions. */
		canvas = end;
		while (canvas > body && !begins(canvas, "</g>"))
			canvas--;
		svg[i] = rewrite(body, canvas, view + strlen("viewBox=\""));
		text = end + strlen("</svg>");
	}
	if (i == nr)
		return true;
	while (i)
		free(svg[--i]);
	return false;
}

void svg_label(char **svg, const char *label)
{
	struct bytes out = {0};
	const char *p = *svg + strlen("<svg");

	put(&out, "<svg aria-label=\"");
	for (; *label; label++)
		bytes_add(&out, strchr("\"<>&", *label) ? "'" : label, 1);
	put(&out, "\"");
	put(&out, p);
	bytes_add(&out, "", 1);
	free(*svg);
	*svg = out.data;
}
