/*
 * The command: finds the verb.
 */
#include <string.h>

#include "cli/cli.h"

static const struct verb verbs[] = {
	{"run", "run a scenario, on a simulated machine or on this host", verb_run},
	{"compare", "explain a result, or one result against another", verb_compare},
	{"reproduce", "the mails' experiments, published beside simulated", verb_reproduce},
	{"list", "scenarios, machines, knobs, costs, counters", verb_list},
};

static void print_help(FILE *f)
{
	fprintf(f,
	        "usage: quire VERB [OPTION]... [ARGUMENT]...\n"
	        "\n"
	        "Measures memory-management policies: one workload, on a simulated machine of any\n"
	        "size or on the kernel of this host, everything else held equal.\n"
	        "\n");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(f, "  %-10s  %s\n", verbs[i].name, verbs[i].summary);
	fprintf(f, "\n"
	           "quire VERB --help tells more, with examples. Exit codes: 0 done; 1 a run broke "
	           "or\n"
	           "an expectation failed; 2 wrong usage or input; 3 this host cannot do it.\n");
}

/* A full disk or a closed pipe shows when the output is flushed. */
static int check_output(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		cli_error("cannot write the output");
		return status ? status : CLI_FAILED;
	}
	return status;
}

int main(int argc, char **argv)
{
	const char *names[ARRAY_SIZE(verbs) + 2];
	int status = -1;

	if (argc < 2) {
		print_help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return check_output(CLI_OK);
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("quire %s\n", QUIRE_VERSION);
		return check_output(CLI_OK);
	}
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		names[i] = verbs[i].name;
		if (strcmp(argv[1], verbs[i].name) == 0)
			status = verbs[i].run(argc - 2, argv + 2);
	}
	if (status < 0) {
		names[ARRAY_SIZE(verbs)] = "--help";
		names[ARRAY_SIZE(verbs) + 1] = "--version";
		cli_error_near(argv[1], names, ARRAY_SIZE(names), "no verb is called \"%s\"",
		               argv[1]);
		return CLI_USAGE;
	}
	return check_output(status);
}
