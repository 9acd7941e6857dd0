/*
 * A growing buffer of numbers and strings. See bytes.h.
 */
#include "report/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bug.h"

void *report_alloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		panic("out of host memory for a report (%zu x %zu bytes)", n, size);
	return p;
}

char *report_strdup(const char *text)
{
	size_t n = strlen(text) + 1;

	return memcpy(report_alloc(n, 1), text, n);
}

void bytes_add(struct bytes *b, const void *data, size_t len)
{
	if (b->len + len > b->room) {
		b->room = max_t(size_t, 2 * b->room, b->len + len + 4096);
		b->data = realloc(b->data, b->room);
		if (!b->data)
			panic("out of host memory for %zu bytes of results", b->room);
	}
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
}

void bytes_u64(struct bytes *b, u64 v)
{
	bytes_add(b, &v, sizeof(v));
}

void bytes_text(struct bytes *b, const char *text)
{
	u64 len = strlen(text);

	bytes_u64(b, len);
	bytes_add(b, text, len);
}

void bytes_free(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){0};
}

struct bytes_reader bytes_read(const struct bytes *b)
{
	const char *data = b->len ? b->data : ""; /* there is no NULL + 0 */

	return (struct bytes_reader){data, data + b->len, false};
}

u64 bytes_get_u64(struct bytes_reader *r)
{
	u64 v = 0;

	if (r->bad || (size_t)(r->end - r->at) < sizeof(v)) {
		r->bad = true;
		return 0;
	}
	memcpy(&v, r->at, sizeof(v));
	r->at += sizeof(v);
	return v;
}

char *bytes_get_text(struct bytes_reader *r)
{
	u64 len = bytes_get_u64(r);
	char *text;

	if (r->bad || len > (u64)(r->end - r->at)) {
		r->bad = true;
		return report_strdup("");
	}
	text = report_alloc(len + 1, 1);
	memcpy(text, r->at, len);
	r->at += len;
	return text;
}

u32 bytes_get_count(struct bytes_reader *r, size_t min_size)
{
	u64 n = bytes_get_u64(r);

	if (r->bad || n > (u64)(r->end - r->at) / min_size) {
		r->bad = true;
		return 0;
	}
	return (u32)n;
}

u64 hash_bytes(u64 h, const void *data, size_t len)
{
	const u8 *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3UL;
	return h;
}

char *hash_files(const char *const *path, u32 nr)
{
	u64 h = HASH_START;
	char buf[4096];
	size_t n;

	for (u32 i = 0; i < nr; i++) {
		FILE *f = fopen(path[i], "r");

		if (!f)
			return report_strdup("");
		while ((n = fread(buf, 1, sizeof(buf), f)))
			h = hash_bytes(h, buf, n);
		fclose(f);
	}
	snprintf(buf, sizeof(buf), "%016lx", h);
	return report_strdup(buf);
}

char *hash_file(const char *path)
{
	return hash_files(&path, 1);
}
