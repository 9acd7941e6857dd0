/*
 * What the parts of tools/measure-host share: clocks, repetition, and lines of a profile.
 */
#ifndef TOOLS_MEASURE_HOST_H
#define TOOLS_MEASURE_HOST_H

#include <stdio.h>
#include <time.h>

#include "lib/types.h"

#define PAGE 4096UL
#define MB (1UL << 20)

static inline u64 clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

/*
 * Of several measurements. What is used is the lower quartile: neighbours only ever add time, and
 * the best may be luck.
 */
struct sample {
	double low;
	double best;
};

/* Runs @fn, which returns ns per operation, some times. */
struct sample measure(double (*fn)(void *arg), void *arg);

/* "name = { value, "measured: how (best n)" }," of the table of costs. */
void print_cost(const char *name, double ns, const struct sample *s, const char *fmt, ...)
	__printf(4, 5);
/* What print_cost() has printed for @name; 0: nothing. */
double measured(const char *name);
/* A comment of its own line: totals to hold the simulation against. */
void print_total(const char *name, const struct sample *s, const char *fmt, ...) __printf(3, 4);

int read_number(const char *path); /* -1: there is none */

void run_on_cpu(int cpu);
int first_cpu(void);
int second_cpu(void); /* another CPU this process may use; -1: there is none */

/* ns of single calls of @fn, and of those while another CPU runs a thread of this process. */
void measure_beside(void (*fn)(void *arg), void *arg, struct sample *alone, struct sample *beside);

void measure_cpu(void);    /* measure-host-cpu.c: lines, locks, switches, interrupts */
void measure_memory(void); /* measure-host-mem.c: faults, contents, address spaces */
/* "name = { ... }," of the disk below @dir (measure-host-disk.c) */
void measure_disk(const char *dir);
void measure_files(const char *dir); /* measure-host-file.c: page cache, requests */

#endif
