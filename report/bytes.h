/*
 * A growing buffer of numbers and strings, and its bounds-checked reader: what travels over a pipe
 * from a repetition to the process that started it. Both ends are the same program, so there is no
 * version and no byte order; but a child may die in the middle, so nothing is taken on trust.
 */
#ifndef REPORT_BYTES_H
#define REPORT_BYTES_H

#include "lib/types.h"

struct bytes {
	char *data;
	size_t len;
	size_t room;
};

struct bytes_reader {
	const char *at;
	const char *end;
	bool bad; /* read past the end; every later read gives 0 or "" */
};

void bytes_add(struct bytes *b, const void *data, size_t len);
void bytes_u64(struct bytes *b, u64 v);
void bytes_text(struct bytes *b, const char *text);
void bytes_free(struct bytes *b);

/* Reads @b from its start. */
struct bytes_reader bytes_read(const struct bytes *b);

u64 bytes_get_u64(struct bytes_reader *r);

/* A copy, for free(). Never NULL. */
char *bytes_get_text(struct bytes_reader *r);

/* A number of things that take at least @min_size bytes each, so that a bad one cannot be huge. */
u32 bytes_get_count(struct bytes_reader *r, size_t min_size);

/* Memory for reports: never NULL, zeroed; ends the program if the host has none. */
void *report_alloc(size_t n, size_t size);
char *report_strdup(const char *text);

/* FNV-1a of @len bytes, beginning with HASH_START or continuing @h: to notice changes, no more. */
#define HASH_START 0xcbf29ce484222325UL
u64 hash_bytes(u64 h, const void *data, size_t len);

/* Of a whole file as 16 digits; "" if it cannot be read. For free(). */
char *hash_file(const char *path);
char *hash_files(const char *const *path, u32 nr); /* of all, one behind the other */

#endif
