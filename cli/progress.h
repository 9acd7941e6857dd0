/*
 * One line on the terminal that says how far a long command is. Nothing if stderr is not one.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "lib/types.h"

struct progress {
	bool shown;
	u32 nr;
	u32 nr_done;
	u64 start_ms;
};

void progress_start(struct progress *p, u32 nr, bool quiet);
void progress_step(struct progress *p, const char *what);

/* Clears the line, also before anything else is printed there. */
void progress_clear(struct progress *p);

#endif
