/*
 * What every test program includes: cmocka, a seed, and little else.
 *
 *   #include "tests/test.h"
 *
 *   TEST(buddy_never_hands_out_a_frame_twice)
 *   {
 *           struct rand_stream r;
 *
 *           rand_init(&r, test_seed(), 1, 0);
 *           ...
 *           assert_int_equal(a, b);
 *   }
 *
 *   TEST_MAIN("page_alloc")
 *
 * A test is named for what is true when it passes, and TEST() puts it on the
 * list, in the order of the file. The name given to TEST_MAIN is the file's
 * without test_ and .c: it is what `make test T=` takes. Whatever fails, panics
 * included, prints how to see it again.
 */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/bug.h"
#include "lib/random.h"
#include "lib/types.h"

#define TEST_SEED_DEFAULT 0x5bd1e995UL
#define TEST_SKIPPED 77 /* exit status, as automake's */
#define TEST_MAX 512

static struct {
	const char *name;
	struct CMUnitTest tests[TEST_MAX];
	size_t nr;
} test_program;

__attribute__((unused)) static void test_add(const char *name, CMUnitTestFunction fn)
{
	if (test_program.nr == TEST_MAX)
		panic("more than %d tests in one program", TEST_MAX);
	test_program.tests[test_program.nr++] = (struct CMUnitTest){.name = name, .test_func = fn};
}

#define TEST(name)                                                                                 \
	static void name(void **);                                                                 \
	__attribute__((constructor)) static void test_add_##name(void)                             \
	{                                                                                          \
		test_add(#name, name);                                                             \
	}                                                                                          \
	static void name(void **state __attribute__((unused)))

/* The seed of this run: QUIRE_SEED, or the one that is always used. */
__attribute__((unused)) static u64 test_seed(void)
{
	const char *text = getenv("QUIRE_SEED");

	return text && *text ? strtoull(text, NULL, 0) : TEST_SEED_DEFAULT;
}

__attribute__((unused)) static void test_print_again(void)
{
	fprintf(stderr, "again: make test T=%s SEED=0x%lx\n", test_program.name, test_seed());
}

static void test_on_abort(int sig)
{
	test_print_again();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* The whole program lacks something of the host: say what, and leave as skipped. */
__attribute__((unused, noreturn)) static void test_skip_all(const char *why)
{
	printf("skipped: %s\n", why);
	fflush(stdout);
	_exit(TEST_SKIPPED);
}

__attribute__((unused)) static int test_main(const char *name, int argc, char **argv)
{
	test_program.name = name;
	signal(SIGABRT, test_on_abort);
	printf("seed 0x%lx\n", test_seed());
	fflush(stdout);
	if (argc > 1) /* a pattern of test names, by hand */
		cmocka_set_test_filter(argv[1]);
	if (_cmocka_run_group_tests(name, test_program.tests, test_program.nr, NULL, NULL) == 0)
		return 0;
	fflush(stdout);
	test_print_again();
	return 1;
}

#define TEST_MAIN(name)                                                                            \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return test_main(name, argc, argv);                                                \
	}

/*
 * Check that a statement ends the program by panic(): it runs in a child, whose
 * message must contain @text.
 */
#define assert_panics(text, ...)                                                                   \
	do {                                                                                       \
		int test_pipe[2];                                                                  \
		pid_t test_child = test_panic_fork(test_pipe);                                     \
                                                                                                   \
		if (test_child == 0) {                                                             \
			__VA_ARGS__;                                                               \
			_exit(0);                                                                  \
		}                                                                                  \
		test_panic_wait(test_child, test_pipe, text, #__VA_ARGS__);                        \
	} while (0)

__attribute__((unused)) static pid_t test_panic_fork(int *fds)
{
	fflush(stdout);
	assert_int_equal(pipe(fds), 0);

	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		dup2(fds[1], STDERR_FILENO);
		close(fds[0]);
	}
	close(fds[1]);
	return child;
}

__attribute__((unused)) static void test_panic_wait(pid_t child, int *fds, const char *text,
                                                    const char *what)
{
	char said[4096];
	size_t n = 0;
	ssize_t got;
	int status = 0;

	while (n < sizeof(said) - 1 && (got = read(fds[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)got;
	said[n] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
		fail_msg("does not panic: %s", what);
	if (!strstr(said, text))
		fail_msg("%s: says '%s' instead of '%s'", what, said, text);
}

#endif
