/*
 * quire reproduce.
 */
#include "cli/cli.h"

int verb_reproduce(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	cli_error("reproduce: not yet");
	return CLI_USAGE;
}
