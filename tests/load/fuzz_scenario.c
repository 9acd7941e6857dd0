/*
 * libFuzzer harness: any bytes as a scenario, read and, if they are one, run on the fake target.
 *
 * Not built by default:
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -std=gnu11 -D_GNU_SOURCE -I. \
 *     $(pkg-config --cflags lua5.4) tests/load/fuzz_scenario.c load/[a-z]*.c lib/[a-z]*.c \
 *     $(pkg-config --libs lua5.4) -lm -o fuzz_scenario
 *   ./fuzz_scenario -dict=tests/load/scenario.dict corpus/ scenarios/
 *
 * A crash, a sanitizer's report, a leak, more than a few seconds or an error without text is a
 * finding. Bounds are low, so that what takes long is a mistake of ours.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/bug.h"
#include "load/scenario.h"
#include "tests/load/fake_target.c"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void drop(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static bool value_of(void *arg, u32 variant, const char *metric, double *value)
{
	(void)arg;
	*value = (double)(variant + strlen(metric));
	return true;
}

static void emit(void *arg, const char *key, const char *value, const char *origin)
{
	*(size_t *)arg += strlen(key) + strlen(value) + strlen(origin);
}

static void run(struct scenario *s)
{
	static struct target_result result;
	struct target_request req;
	struct target *t;
	char err[TARGET_ERROR_MAX];
	size_t n = 0;
	u32 nr_tasks = 0;

	for (u32 i = 0; i < s->nr_groups; i++)
		nr_tasks += s->group[i].nr;
	for (u32 i = 0; i < s->nr_expectations; i++)
		scenario_expect(s, i, value_of, NULL, err);
	for (u32 v = 0; v < s->nr_variants; v++)
		scenario_config(s, v, emit, &n);
	if (nr_tasks > 64)
		return;
	scenario_request(s, 0, 1, &fake_target_ops, &req);
	if (fake_target_ops.open(&req, &t, err))
		return;
	if (fake_target_ops.run(t, &result))
		BUG_ON(!result.error[0]);
	fake_target_ops.close(t);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct scenario_options opt = {
		.steps_file = 200000, .steps_task = 20000, .memory_bytes = 4 << 20, .print = drop};
	struct scenario *s;
	char path[64];
	char err[TARGET_ERROR_MAX] = "";
	int fd = memfd_create("scenario", MFD_CLOEXEC);

	BUG_ON(fd < 0 || write(fd, data, size) != (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (scenario_load(path, &opt, &s, err) == 0) {
		run(s);
		scenario_free(s);
	} else {
		BUG_ON(!err[0]);
	}
	close(fd);
	return 0;
}
