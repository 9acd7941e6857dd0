/*
 * quire run.
 */
#include "cli/cli.h"

int verb_run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	cli_error("run: not yet");
	return CLI_USAGE;
}
