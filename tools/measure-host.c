/*
 * Measures this host and prints a machine profile. Called by measure-host.sh, which says how.
 *
 * Names of costs are those of world/cost.h in lower case. Every line says what was done; a cost that
 * was computed from several measurements gives the formula. Comments give totals (a whole fault, a
 * whole zap) that the simulated twin should reproduce: they are no constants.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/measure-host.h"

/* ---- repetition and lines ---- */

#define NR_SAMPLES 15

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

struct sample measure(double (*fn)(void *arg), void *arg)
{
	double v[NR_SAMPLES];

	fn(arg); /* caches, page tables, the CPU's clock */
	for (int i = 0; i < NR_SAMPLES; i++)
		v[i] = fn(arg);
	qsort(v, NR_SAMPLES, sizeof(v[0]), compare_double);
	return (struct sample){v[NR_SAMPLES / 4], v[0]};
}

static struct {
	const char *name;
	double ns;
} printed[64];

double measured(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(printed) && printed[i].name; i++)
		if (strcmp(printed[i].name, name) == 0)
			return printed[i].ns;
	return 0;
}

void print_cost(const char *name, double ns, const struct sample *s, const char *fmt, ...)
{
	char how[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(how, sizeof(how), fmt, args);
	va_end(args);
	for (size_t i = 0; i < ARRAY_SIZE(printed); i++) {
		if (printed[i].name)
			continue;
		printed[i].name = name;
		printed[i].ns = ns;
		break;
	}
	printf("\t\t%-14s = { %.0f, \"measured: %s", name, ns < 1 ? 1.0 : ns, how);
	if (s)
		printf("; lower quartile %.1f, best %.1f", s->low, s->best);
	printf("\" },\n");
	fflush(stdout);
}

void print_total(const char *name, const struct sample *s, const char *fmt, ...)
{
	char how[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(how, sizeof(how), fmt, args);
	va_end(args);
	printf("\t\t-- total: %s: %.0f ns (best %.0f), %s\n", name, s->low, s->best, how);
	fflush(stdout);
}

/* ---- CPUs ---- */

static cpu_set_t allowed;

void run_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int nth_cpu(int n)
{
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && n-- == 0)
			return cpu;
	return -1;
}

int first_cpu(void)
{
	return nth_cpu(0);
}

int second_cpu(void)
{
	return nth_cpu(1);
}

int read_number(const char *path)
{
	FILE *f = fopen(path, "r");
	int value = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

/* How many different values a topology file has over all CPUs; at least 1. */
static int count_topology(const char *file)
{
	int seen[CPU_SETSIZE];
	int nr = 0;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		char path[128];
		int value;
		int i;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu,
		         file);
		value = read_number(path);
		if (value < 0)
			continue;
		for (i = 0; i < nr && seen[i] != value; i++)
			;
		if (i == nr)
			seen[nr++] = value;
	}
	return nr ? nr : 1;
}

/* CPUs of cpu0's core. */
static int count_threads(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "r");
	char buf[64] = "";
	int a;
	int b;

	if (!f)
		return 1;
	if (!fgets(buf, sizeof(buf), f))
		buf[0] = '\0';
	fclose(f);
	if (sscanf(buf, "%d-%d", &a, &b) == 2)
		return b - a + 1;
	return strchr(buf, ',') ? 2 : 1;
}

/* ---- memory map ---- */

struct zone {
	char name[16];
	int node;
	u64 start_pfn;
	u64 spanned;
	u64 present;
	u64 managed;
	u64 wmark[3];
};

#define ZONES_MAX 64

static u64 meminfo_pages(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	u64 kb = 0;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
			kb = strtoull(line + strlen(name) + 1, NULL, 10);
	if (f)
		fclose(f);
	return kb / 4;
}

static int read_zones(struct zone *z)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	char line[256];
	int nr = 0;

	while (f && fgets(line, sizeof(line), f)) {
		struct zone *last = nr ? &z[nr - 1] : NULL;
		char name[16];
		int node;

		if (sscanf(line, "Node %d, zone %15s", &node, name) == 2) {
			if (nr == ZONES_MAX)
				break;
			memset(&z[nr], 0, sizeof(z[nr]));
			strcpy(z[nr].name, name);
			z[nr++].node = node;
		} else if (last) {
			sscanf(line, " min %lu", &last->wmark[0]);
			sscanf(line, " low %lu", &last->wmark[1]);
			sscanf(line, " high %lu", &last->wmark[2]);
			sscanf(line, " spanned %lu", &last->spanned);
			sscanf(line, " present %lu", &last->present);
			sscanf(line, " managed %lu", &last->managed);
			sscanf(line, " start_pfn: %lu", &last->start_pfn);
		}
	}
	if (f)
		fclose(f);
	return nr;
}

/* The parts of @z that are RAM, from /proc/iomem (root only); else from its start, in one piece. */
static void print_ranges(const struct zone *z, u64 reserved)
{
	FILE *f = fopen("/proc/iomem", "r");
	char line[256];
	u64 found = 0;

	while (f && fgets(line, sizeof(line), f)) {
		u64 from;
		u64 to;

		if (line[0] == ' ' || !strstr(line, "System RAM") ||
		    sscanf(line, "%lx-%lx", &from, &to) != 2 || to == 0)
			continue;
		from = max(DIV_ROUND_UP(from, PAGE), z->start_pfn);
		to = min((to + 1) / PAGE, z->start_pfn + z->spanned);
		if (from >= to)
			continue;

		/* A kernel lies at the end of the low part: what is reserved goes to the largest. */
		u64 here = to - from > z->present / 2 ? reserved : 0;

		printf("\t\t\t{ node = %d, start_pfn = %lu, pages = %lu, reserved = %lu }, -- %s\n",
		       z->node, from, to - from, here, z->name);
		found += to - from;
	}
	if (f)
		fclose(f);
	if (!found)
		printf("\t\t\t{ node = %d, start_pfn = %lu, pages = %lu, reserved = %lu }, -- %s\n",
		       z->node, z->start_pfn, z->present, reserved, z->name);
	else if (found != z->present)
		printf("\t\t\t-- (the map has %lu pages of %s, the kernel says %lu)\n", found,
		       z->name, z->present);
}

static void print_memory(void)
{
	struct zone z[ZONES_MAX];
	int nr = read_zones(z);
	u64 total = meminfo_pages("MemTotal");
	u64 managed = 0;
	int last = -1;

	for (int i = 0; i < nr; i++) {
		managed += z[i].managed;
		if (z[i].present)
			last = i;
	}
	printf("\n\t-- /proc/zoneinfo (pages):\n"
	       "\t--   node zone       start_pfn    spanned    present    managed    min    low   "
	       "high\n");
	for (int i = 0; i < nr; i++)
		if (z[i].present)
			printf("\t--   %4d %-8s %11lu %10lu %10lu %10lu %6lu %6lu %6lu\n",
			       z[i].node, z[i].name, z[i].start_pfn, z[i].spanned, z[i].present,
			       z[i].managed, z[i].wmark[0], z[i].wmark[1], z[i].wmark[2]);
	printf("\t-- MemTotal %lu, MemAvailable %lu, huge pages %lu\n", total,
	       meminfo_pages("MemAvailable"), meminfo_pages("Hugetlb"));
	if (last >= 0 && managed + total / 100 < total) {
		printf("\t-- This kernel initialises memory when it is first used (%lu of %lu "
		       "pages "
		       "so far);\n\t-- the last zone's reserve is what MemTotal leaves for it.\n",
		       managed, total);
		z[last].managed += total - managed;
	}
	printf("\tmemory = {\n\t\tranges = {\n");
	for (int i = 0; i < nr; i++)
		if (z[i].present)
			print_ranges(&z[i], z[i].present - min(z[i].present, z[i].managed));
	printf("\t\t},\n\t},\n");
}

/* ---- the profile ---- */

static const char *cpu_model(void)
{
	static char model[128];
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256];

	while (f && !model[0] && fgets(line, sizeof(line), f))
		if (strncmp(line, "model name", 10) == 0 && strchr(line, ':'))
			snprintf(model, sizeof(model), "%s", strchr(line, ':') + 2);
	if (f)
		fclose(f);
	model[strcspn(model, "\n\"\\")] = '\0';
	return model;
}

static bool has_hypervisor(void)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	static char line[8192];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strncmp(line, "flags", 5) == 0 && strstr(line, " hypervisor");
	if (f)
		fclose(f);
	return found;
}

int main(int argc, char **argv)
{
	struct utsname u;
	time_t now = time(NULL);
	char date[32];
	int hz = argc > 1 ? atoi(argv[1]) : 0;
	const char *dir = argc > 2 ? argv[2] : "/var/tmp";
	double load[1] = {0};

	if (argc < 2) {
		fprintf(stderr, "usage: tools/measure-host.sh [DIRECTORY]\n");
		return 2;
	}
	sched_getaffinity(0, sizeof(allowed), &allowed);
	run_on_cpu(nth_cpu(0));
	setpriority(PRIO_PROCESS, 0, -20); /* if permitted: others should not share the CPU */
	uname(&u);
	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&now));
	if (getloadavg(load, 1) == 1 && load[0] > 0.5)
		fprintf(stderr, "measure-host: the machine is not idle (load %.2f)\n", load[0]);

	printf("-- This host, measured on %s by tools/measure-host.sh; load average before: "
	       "%.2f.\n",
	       date, load[0]);
	printf("-- %s, Linux %s%s\n\n", cpu_model(), u.release,
	       has_hypervisor() ? ", under a hypervisor" : "");
	printf("machine \"this-host\" {\n");
	printf("\tabout = \"the machine that Quire was measured on: %s, %ld CPUs, %.1f GB\",\n\n",
	       cpu_model(), sysconf(_SC_NPROCESSORS_ONLN),
	       (double)meminfo_pages("MemTotal") * PAGE / 1e9);
	printf("\tcpus = %ld, sockets = %d, threads = %d, nodes = 1,\n",
	       sysconf(_SC_NPROCESSORS_ONLN), count_topology("physical_package_id"),
	       count_threads());
	printf("\tram = \"%luM\",\n", meminfo_pages("MemTotal") * PAGE / MB);
	printf("\tswap = \"8G\", swap_kind = \"disk\",\n\n");
	printf("\thz = %d,%s\n\tspinlocks = \"queued\",\n", hz > 0 ? hz : 250,
	       hz > 0 ? "" : " -- assumed: the kernel does not show its configuration");
	printf("\tautogroup = %s, -- kernel.sched_autogroup_enabled\n",
	       read_number("/proc/sys/kernel/sched_autogroup_enabled") == 1 ? "true" : "false");
	print_memory();
	printf("\n\tdisks = {\n");
	measure_disk(dir);
	printf("\t},\n\n\tcosts = {\n");
	measure_cpu();
	measure_memory();
	measure_files(dir);
	printf("\t},\n}\n");
	return 0;
}
