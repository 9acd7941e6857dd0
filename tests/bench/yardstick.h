/*
 * How fast the host is right now: ns per step of a random pointer chase through 64 MB, which misses
 * every cache. About 190 on a quiet machine of the kind this was written on. Benchmarks print it
 * beside each result, so that a slow host is not taken for slow code.
 */
#ifndef TESTS_BENCH_YARDSTICK_H
#define TESTS_BENCH_YARDSTICK_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/random.h"
#include "lib/types.h"

#define YARDSTICK_BYTES (64UL << 20)

/* CPU time of this process: others may use the machine. */
static inline u64 bench_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

/* ns per step. */
static inline double yardstick(void)
{
	u64 n = YARDSTICK_BYTES / 64;
	u64 steps = 1000000;
	struct {
		u64 next;
		u64 pad[7];
	} *line = malloc(YARDSTICK_BYTES);
	u64 at = 0;
	u64 begin;
	u64 end;

	if (!line)
		return 0;
	/* Sattolo's shuffle: one cycle through all lines. */
	for (u64 i = 0; i < n; i++)
		line[i].next = i;
	for (u64 i = n - 1; i > 0; i--) {
		u64 j = rand_reduce(rand_hash(1, 2, 3, i), i);

		swap(line[i].next, line[j].next);
	}
	begin = bench_now_ns();
	for (u64 i = 0; i < steps; i++)
		at = line[at].next;
	end = bench_now_ns();
	__asm__ volatile("" : : "r"(at));
	free(line);
	return (double)(end - begin) / (double)steps;
}

/* One result: a line of JSON. @floor and @wanted: 0 if there are none. */
static inline void bench_print(const char *name, double value, const char *unit, double floor,
                               double wanted, double yardstick_ns)
{
	printf("{\"name\":\"%s\",\"value\":%.6g,\"unit\":\"%s\",\"floor\":%.6g,\"wanted\":%.6g,"
	       "\"yardstick_ns\":%.1f}\n",
	       name, value, unit, floor, wanted, yardstick_ns);
	fflush(stdout);
}

#endif
