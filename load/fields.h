/*
 * Strict reading of Lua tables into C structs.
 *
 * Every key has a declared kind and range; a key that is not declared is an error with the nearest
 * declared name. Messages carry the line on which the key stands, not the line of the call that
 * was given the table.
 */
#ifndef LOAD_FIELDS_H
#define LOAD_FIELDS_H

#include "load/keep.h"
#include "load/quantity.h"
#include "load/sandbox.h"

enum field_kind {
	FIELD_TEXT,     /* char *, kept */
	FIELD_SIZE,     /* u64 bytes */
	FIELD_TIME,     /* u64 ns */
	FIELD_PERCENT,  /* u32, parts of 10,000 */
	FIELD_COUNT,    /* u32 */
	FIELD_INT,      /* s32 */
	FIELD_BOOL,     /* bool */
	FIELD_CHOICE,   /* u32, the place in choices[] */
	FIELD_TABLE,    /* only its type is checked; the caller reads it */
	FIELD_FUNCTION, /* the same */
	FIELD_ANY,      /* not even that */
};

struct field {
	const char *name;
	enum field_kind kind;
	size_t offset;              /* of the member in the struct that is filled */
	s64 lo;                     /* range of FIELD_COUNT, FIELD_INT, FIELD_SIZE, FIELD_TIME */
	s64 hi;                     /* 0: no upper bound */
	const char *const *choices; /* ends with NULL */
};

#define FIELDS_MAX 64

/* A table that is being read. */
struct field_table {
	lua_State *L;
	int index;
	const char *what; /* how messages call it: "machine", "group hog" */
	int line;         /* where it begins in the file; 0: at the caller's line */
	struct keep *keep;
	struct quantity_base base;
};

/*
 * Read all fields that are there into @out; the others stay as they are. Returns the set of those
 * that were there, as bits in the order of @fields. Raises an error if anything is wrong.
 */
u64 fields_read(const struct field_table *t, const struct field *fields, size_t n, void *out);

/* One value, at the top of the stack, of which messages speak as @key. */
void field_read(const struct field_table *t, const char *key, const struct field *f, void *out);

/* The table at @key of @t, which is on top of the stack, for reading its own fields. */
struct field_table field_subtable(const struct field_table *t, const char *key);

/* The line of @key in the table's text, as far as it can be found there. */
int field_line(const struct field_table *t, const char *key);

/* Raise an error about @key. */
void field_error(const struct field_table *t, const char *key, const char *fmt, ...) __printf(3, 4)
	__attribute__((noreturn));

/* Raise "unknown ... 'word'; did you mean ...?" with the names that exist. */
void field_unknown(const struct field_table *t, const char *key, const char *what, const char *word,
                   const char *(*name_at)(void *arg, size_t i), void *arg, size_t n)
	__attribute__((noreturn));

/* The text of field_unknown() into @err (TARGET_ERROR_MAX bytes). */
void field_unknown_text(char *err, const char *what, const char *word,
                        const char *(*name_at)(void *arg, size_t i), void *arg, size_t n);

/*
 * A value given as text on the command line: read "@text" as field @f into @out. @what and @key
 * name it in messages. Returns 0, or -EINVAL and @err.
 */
int field_parse_text(const char *what, const char *key, const char *text, const struct field *f,
                     const struct quantity_base *base, struct keep *keep, void *out, char *err);

/* Push the Lua value that @text would be in a file. */
void field_push_text(lua_State *L, const char *text);

/* For field_unknown(): names in an array of char *. */
const char *field_name_in_array(void *arg, size_t i);

#endif
