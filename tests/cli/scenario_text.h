/*
 * A scenario from a text in a test, as its user's file would be.
 */
#ifndef TESTS_CLI_SCENARIO_TEXT_H
#define TESTS_CLI_SCENARIO_TEXT_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/batch.h"
#include "lib/bug.h"
#include "load/scenario.h"

/* For scenario_free(). Panics if there is something wrong with it. */
static inline struct scenario *scenario_from_text(const char *text)
{
	char path[] = "/tmp/quire-text-XXXXXX";
	char err[TARGET_ERROR_MAX] = "";
	struct scenario_options opt = {.names = &cli_load_names,
	                               .machine_dirs = cli_machine_dirs()};
	int fd = mkstemp(path);
	struct scenario *s;

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		panic("cannot write %s", path);
	close(fd);
	if (scenario_load(path, &opt, &s, err))
		panic("%s", err);
	unlink(path);
	return s;
}

#endif
