/*
 * What a sweep has run so far. See state.h.
 */
#include "cli/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const char header[] = "quire state 1\n";

struct entry_head {
	u64 key;
	u64 len;
	u64 hash; /* of the record */
};

struct entry {
	u64 key;
	struct bytes record;
};

struct state {
	const char *path;
	FILE *f;
	u32 nr;
	struct entry *entry;
};

static void keep(struct state *s, u64 key, const void *data, size_t len)
{
	s->entry = realloc(s->entry, sizeof(*s->entry) * (s->nr + 1));
	if (!s->entry)
		abort();
	s->entry[s->nr] = (struct entry){.key = key};
	bytes_add(&s->entry[s->nr++].record, data, len);
}

/* Reads whole entries; what follows them is cut off. */
static bool read_entries(struct state *s)
{
	long good = ftell(s->f);
	struct entry_head head;

	while (fread(&head, sizeof(head), 1, s->f) == 1 && head.len < 1UL << 32) {
		char *data = malloc(head.len ? head.len : 1);
		bool whole = data && fread(data, 1, head.len, s->f) == head.len &&
		             hash_bytes(HASH_START, data, head.len) == head.hash;

		if (whole)
			keep(s, head.key, data, head.len);
		free(data);
		if (!whole)
			break;
		good = ftell(s->f);
	}
	return fseek(s->f, good, SEEK_SET) == 0 && ftruncate(fileno(s->f), good) == 0;
}

static bool open_file(struct state *s)
{
	char start[sizeof(header) - 1];
	size_t n;

	s->f = fopen(s->path, "r+");
	if (!s->f && errno == ENOENT)
		s->f = fopen(s->path, "w+");
	if (!s->f) {
		cli_error("--state %s: %s", s->path, strerror(errno));
		return false;
	}
	n = fread(start, 1, sizeof(start), s->f);
	if (n == 0) {
		fputs(header, s->f);
	} else if (n != sizeof(start) || memcmp(start, header, n) != 0) {
		cli_error("--state %s: this is no state file of quire", s->path);
		return false;
	} else if (!read_entries(s)) {
		cli_error("--state %s: %s", s->path, strerror(errno));
		return false;
	}
	if (fflush(s->f)) {
		cli_error("--state %s: %s", s->path, strerror(errno));
		return false;
	}
	return true;
}

struct state *state_open(const char *path)
{
	struct state *s = report_alloc(1, sizeof(*s));

	s->path = path;
	if (open_file(s))
		return s;
	state_close(s);
	return NULL;
}

const struct bytes *state_find(const struct state *s, u64 key)
{
	for (u32 i = 0; i < s->nr; i++)
		if (s->entry[i].key == key)
			return &s->entry[i].record;
	return NULL;
}

bool state_add(struct state *s, u64 key, const struct bytes *record)
{
	struct entry_head head = {key, record->len,
	                          hash_bytes(HASH_START, record->data, record->len)};

	fwrite(&head, sizeof(head), 1, s->f);
	fwrite(record->data, 1, record->len, s->f);
	if (!fflush(s->f) && !ferror(s->f))
		return true;
	cli_error("--state %s: %s", s->path, strerror(errno));
	return false;
}

u32 state_nr(const struct state *s)
{
	return s->nr;
}

void state_close(struct state *s)
{
	if (!s)
		return;
	for (u32 i = 0; i < s->nr; i++)
		bytes_free(&s->entry[i].record);
	free(s->entry);
	if (s->f)
		fclose(s->f);
	free(s);
}
