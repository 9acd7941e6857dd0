/*
 * What the verbs share: exit codes, options, errors, where the data files are.
 *
 * A verb is one file with one entry in main.c's table. It gets its own arguments, prints its result
 * on standard output and everything else on standard error, and returns the exit code.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdio.h>

#include "lib/types.h"
#include "report/version.h"

enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1,  /* an expectation failed, a run broke, or a result cannot be written */
	CLI_USAGE = 2,   /* the command line or an input file is wrong */
	CLI_NO_HOST = 3, /* this host cannot do it; the message says which part */
};

struct verb {
	const char *name;
	const char *summary; /* one line for `quire --help` */
	int (*run)(int argc, char **argv);
};

int verb_run(int argc, char **argv);
int verb_compare(int argc, char **argv);
int verb_reproduce(int argc, char **argv);
int verb_list(int argc, char **argv);

/* ---- errors (errors.c) ---------------------------------------------------------------------- */

/* "quire: ..." on standard error. */
void cli_error(const char *fmt, ...) __printf(1, 2);

/*
 * The same, followed by "; did you mean ...?" if one of @names is near to @word, or by the names if they
 * are few. Both may be NULL.
 */
void cli_error_near(const char *word, const char *const *names, size_t n, const char *fmt, ...)
	__printf(4, 5);

/* ---- options (options.c) -------------------------------------------------------------------- */

enum option_kind {
	OPTION_CASE, /* the verb's own business: options_next() returns it */
	OPTION_TEXT, /* const char *, bool, u64: stored where the row says */
	OPTION_FLAG,
	OPTION_NUMBER,
};

struct option_spec {
	const char *name; /* without the dashes */
	char letter;      /* a short form, or 0 */
	const char *arg;  /* what --help calls its argument; NULL: it takes none */
	const char *help;
	enum option_kind kind;
	size_t at;  /* where in the verb's arguments it is stored */
	u64 lo, hi; /* of a number */
};

/* The last fields of a struct option_spec. The sizeof is there to have the member's type checked. */
#define OPTION_STORE(kind, type, struct_, member, lo, hi)                                          \
	kind, offsetof(struct_, member) + 0 * sizeof(&((struct_ *)0)->member == (type *)0), lo, hi
#define TO_TEXT(struct_, member) OPTION_STORE(OPTION_TEXT, const char *, struct_, member, 0, 0)
#define TO_FLAG(struct_, member) OPTION_STORE(OPTION_FLAG, bool, struct_, member, 0, 0)
#define TO_NUMBER(struct_, member, lo, hi) OPTION_STORE(OPTION_NUMBER, u64, struct_, member, lo, hi)
#define TO_CASE OPTION_CASE, 0, 0, 0

enum { OPTION_END = -1, OPTION_WORD = -2, OPTION_WRONG = -3 };

/* One pass over a command line. Zero it, then fill in the first five. */
struct options {
	const char *verb; /* for messages */
	const struct option_spec *spec;
	size_t nr_specs;
	void *args; /* the verb's arguments */
	int argc;
	char **argv;
	int at;
	bool only_words;   /* "--" has been seen */
	const char *value; /* of the last option or word */
};

/*
 * Stores options until one is the verb's own business, and returns its index in spec, its argument
 * in ->value; OPTION_WORD for an argument that is not an option; OPTION_END; or OPTION_WRONG, after
 * saying what is wrong.
 */
int options_next(struct options *o);

/* The indented list of options for --help. */
void options_print(const struct option_spec *spec, size_t n, FILE *f);

/* ->value, which is to be NAME=VALUE, becomes one more of @set. False after saying what is wrong. */
bool options_setting(const struct options *o, const char **set, u32 *nr, u32 max);

/* ---- data files (paths.c) --------------------------------------------------------------------- */

/*
 * The directory that holds scenarios/ and machines/: $QUIRE_DATA; else the nearest directory above
 * the program that has both (a build tree); else ../share/quire beside the program (an installed
 * one). NULL if there is none.
 */
const char *data_dir(void);

/* The path of @name in @subdir of it, relative if that is the present directory, so that outputs do
 * not differ from one checkout to another. @name "": the directory. False: there is none. */
bool data_path(const char *subdir, const char *name, char *buf, size_t n);

/*
 * The path of scenario @name: as given if there is such a file, else scenarios/@name[.lua] of the
 * data directory. False, with an error that suggests one, if there is neither.
 */
bool scenario_path(const char *name, char *buf, size_t n);

/*
 * Calls @fn for each *.lua in @subdir of the data directory, sorted by name; @name comes without
 * the suffix. Returns how many there are, or a negative errno.
 */
int data_each(const char *subdir, void (*fn)(const char *name, const char *path, void *arg),
              void *arg);

#endif
