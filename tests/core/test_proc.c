/*
 * The /proc files of a whole machine: names and order as the kernels have them, the 6.18 ones
 * compared with this host's own; and the audit of a machine, which must notice what is wrong.
 */
#include <sys/utsname.h>

#include "core/page_alloc.h"
#include "tests/test.h"
#include "world/null.h"

static struct machine *boot(struct hw_machine **hw, const char *preset)
{
	struct knobs k;
	struct machine *m;
	char err[200];

	*hw = null_hw(2, 1, (1 << 20) + 16384);
	(*hw)->range[0].start_pfn = 1;
	(*hw)->range[0].nr_pages -= 1;
	(*hw)->range[0].nr_reserved = 95;
	assert_int_equal(knobs_preset(&k, preset), 0);
	m = machine_create(null_create(*hw), &k, err, sizeof(err));
	if (!m)
		fail_msg("machine_create: %s", err);
	return m;
}

static void shut_down(struct machine *m, struct hw_machine *hw)
{
	struct world *w = m->world;

	null_destroy(w);
	machine_destroy(m);
	null_hw_free(hw);
}

/* What @print writes, to be freed. */
static char *text_of(struct machine *m, void (*print)(struct machine *m, FILE *f))
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	print(m, f);
	fclose(f);
	return text;
}

/* The host's file, to be freed; NULL if there is none. */
static char *host_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(text);
	if (!f || !fread(text, 1, (1 << 20) - 1, f)) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

/* These files' names and layout change with the kernel and its configuration. */
static bool host_is_6_18(void)
{
	struct utsname u;

	if (uname(&u) == 0 && !strncmp(u.release, "6.18.", 5))
		return true;
	printf("not compared with this host: its kernel is %s, not 6.18\n", u.release);
	return false;
}

/* Numbers, and the blanks that pad them, out of @text: what is left is layout. */
static void blank_numbers(char *text)
{
	char *out = text;

	for (char *in = text; *in;) {
		if (*in >= '0' && *in <= '9' && (in == text || in[-1] == ' ' || in[-1] == '(')) {
			while (*in >= '0' && *in <= '9')
				in++;
			while (out > text && out[-1] == ' ')
				out--;
			*out++ = '#';
			continue;
		}
		*out++ = *in++;
	}
	*out = '\0';
}

/* The first word of each line. */
static void keep_names(char *text)
{
	char *out = text;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		size_t len = strcspn(line, " ");

		memmove(out, line, len);
		out += len;
		*out++ = '\n';
	}
	*out = '\0';
}

static void assert_same_text(const char *ours, const char *host, const char *what)
{
	for (size_t line = 1, i = 0; ours[i] || host[i]; i++) {
		if (ours[i] == host[i]) {
			line += ours[i] == '\n';
			continue;
		}
		fail_msg("%s differs from the host's in line %zu: '%.40s', the host '%.40s'", what,
		         line, ours + i, host + i);
	}
}

/* ---- vmstat ---- */

TEST(vmstat_of_6_18_has_the_live_kernel_s_names_in_its_order)
{
	struct hw_machine *hw;
	struct machine *m;
	char *ours;
	char *host;

	if (!host_is_6_18())
		skip();
	host = host_file("/proc/vmstat");
	assert_non_null(host);
	m = boot(&hw, "6.18");
	ours = text_of(m, proc_vmstat);
	keep_names(ours);
	keep_names(host);
	assert_same_text(ours, host, "/proc/vmstat");
	free(ours);
	free(host);
	shut_down(m, hw);
}

static char last_name[64];
static u32 nr_names;

static void count_name(const char *name, u64 value, bool event, void *arg)
{
	(void)value, (void)event;
	if (arg && !strcmp(name, arg))
		snprintf(last_name, sizeof(last_name), "after %u", nr_names);
	nr_names += 1;
}

TEST(vmstat_of_4_0_has_its_names_in_order)
{
	struct hw_machine *hw;
	struct machine *m = boot(&hw, "4.0");
	char *ours = text_of(m, proc_vmstat);

	keep_names(ours);
	assert_non_null(strstr(ours, "nr_free_pages\nnr_alloc_batch\nnr_inactive_anon\n"));
	assert_non_null(strstr(ours, "nr_written\nnr_pages_scanned\nnuma_hit\n"));
	assert_non_null(strstr(ours, "\npgmajfault\npglazyfree\npglazyfreed\npgrefill_dma\n"));
	assert_non_null(strstr(ours, "\npageoutrun\nallocstall\npgrotated\ndrop_pagecache\n"));
	assert_non_null(strstr(ours, "\npgscan_direct_movable\npgscan_direct_throttle\n"));
	assert_null(strstr(ours, "nr_zone_inactive_anon"));
	assert_null(strstr(ours, "oom_kill"));
	/* 41 of zones and the two thresholds; every name once. */
	nr_names = 0;
	machine_counters(m, count_name, "pgpgin");
	assert_string_equal(last_name, "after 41");
	free(ours);
	shut_down(m, hw);
}

struct lookup {
	const char *name;
	u64 value;
	bool event;
	u32 nr;
};

static void look(const char *name, u64 value, bool event, void *arg)
{
	struct lookup *l = arg;

	if (strcmp(name, l->name))
		return;
	l->value = value;
	l->event = event;
	l->nr += 1;
}

static u64 counter(struct machine *m, const char *name, bool event)
{
	struct lookup l = {.name = name};

	machine_counters(m, look, &l);
	assert_int_equal(l.nr, 1);
	assert_int_equal(l.event, event);
	return l.value;
}

TEST(counters_say_what_happened)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw;
		struct machine *m = boot(&hw, era ? "6.18" : "4.0");
		u64 alloc = counter(m, "pgalloc_normal", true);
		u64 free = counter(m, "pgfree", true);
		struct page *p[1000];

		for (int i = 0; i < 1000; i++)
			p[i] = alloc_page(m, GFP_KERNEL);
		for (int i = 0; i < 600; i++)
			__free_pages(m, p[i], 0);
		refresh_cpu_vm_stats(m);
		/* 4.0 spreads them over the zones of the node. */
		alloc = counter(m, "pgalloc_normal", true) - alloc;
		assert_true(era ? alloc == 1000 : alloc > 0);
		assert_int_equal(counter(m, "pgfree", true) - free, 600);
		assert_int_equal(counter(m, "nr_free_pages", false),
		                 global_page_state(m, NR_FREE_PAGES));
		if (era) {
			assert_int_equal(counter(m, "pgrefill", true), 0);
			assert_int_equal(counter(m, "allocstall_normal", true), 0);
			assert_true(counter(m, "nr_free_pages_blocks", false) <=
			            counter(m, "nr_free_pages", false) + 100);
			/* At least that: the page tables of no mm, objects and kswapd's. */
			assert_true(counter(m, "numa_hit", true) >= 1000);
		} else {
			assert_int_equal(counter(m, "allocstall", true), 0);
			assert_int_equal(counter(m, "pgrefill_dma", true), 0);
		}
		for (int i = 600; i < 1000; i++)
			__free_pages(m, p[i], 0);
		machine_audit(m);
		shut_down(m, hw);
	}
}

/* ---- the other files ---- */

TEST(zoneinfo_of_6_18_is_laid_out_as_the_live_one)
{
	struct hw_machine *hw;
	struct machine *m;
	char *ours;
	char *host;

	if (!host_is_6_18())
		skip();
	host = host_file("/proc/zoneinfo");
	m = boot(&hw, "6.18");
	ours = text_of(m, proc_zoneinfo);
	assert_non_null(host);
	/* The boot machine has this host's kind of zones and two CPUs. */
	if (sysconf(_SC_NPROCESSORS_ONLN) != 2 || !strstr(host, "zone   Normal") ||
	    strstr(host, "Node 1")) {
		printf("not compared with this host: other zones or CPUs\n");
		skip();
	}
	blank_numbers(ours);
	blank_numbers(host);
	assert_same_text(ours, host, "/proc/zoneinfo");
	free(ours);
	free(host);
	shut_down(m, hw);
}

TEST(zoneinfo_of_4_0_is_per_zone)
{
	struct hw_machine *hw;
	struct machine *m = boot(&hw, "4.0");
	struct zone *z = &m->node[0].zone[ZONE_DMA];
	char *text = text_of(m, proc_zoneinfo);
	char want[400];

	snprintf(want, sizeof(want),
	         "Node 0, zone      DMA\n"
	         "  pages free     4000\n"
	         "        min      %lu\n"
	         "        low      %lu\n"
	         "        high     %lu\n"
	         "        scanned  0\n"
	         "        spanned  4095\n"
	         "        present  4095\n"
	         "        managed  4000\n"
	         "    nr_free_pages 4000\n"
	         "    nr_alloc_batch %lu\n",
	         z->_watermark[WMARK_MIN], z->_watermark[WMARK_LOW], z->_watermark[WMARK_HIGH],
	         z->_watermark[WMARK_HIGH] - z->_watermark[WMARK_LOW]);
	if (strncmp(text, want, strlen(want)))
		fail_msg("%.500s\ninstead of\n%s", text, want);
	/* 1044480 / 256 = 4080 pages of DMA32 above, and 64 of Normal. */
	assert_non_null(strstr(text, "        protection: (0, 4080, 4144, 4144)\n  pagesets\n"
	                             "    cpu: 0\n"
	                             "              count: 0\n"
	                             "              high:  0\n"
	                             "              batch: 1\n"
	                             "  vm stats threshold: 4\n    cpu: 1\n"));
	assert_non_null(strstr(text, "  all_unreclaimable: 1\n"
	                             "  start_pfn:         1\n"
	                             "  inactive_ratio:    1\n"
	                             "Node 0, zone    DMA32\n"));
	assert_null(strstr(text, "Movable"));
	free(text);
	shut_down(m, hw);
}

/* Lines that depend on the processor or its configuration. */
static void drop_line(char *text, const char *name)
{
	char *at = strstr(text, name);

	if (at)
		memmove(at, strchr(at, '\n') + 1, strlen(strchr(at, '\n') + 1) + 1);
}

TEST(meminfo_of_6_18_has_the_live_kernel_s_lines)
{
	struct hw_machine *hw;
	struct machine *m;
	char *ours;
	char *host;

	if (!host_is_6_18())
		skip();
	host = host_file("/proc/meminfo");
	m = boot(&hw, "6.18");
	ours = text_of(m, proc_meminfo);
	assert_non_null(host);
	drop_line(host, "DirectMap1G");
	drop_line(host, "HardwareCorrupted");
	assert_int_equal(strlen(ours) > 0 && ours[27] == '\n', 1);
	keep_names(ours);
	keep_names(host);
	assert_same_text(ours, host, "/proc/meminfo");
	free(ours);
	free(host);
	shut_down(m, hw);
}

TEST(meminfo_adds_up)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw;
		struct machine *m = boot(&hw, era ? "6.18" : "4.0");
		char *text = text_of(m, proc_meminfo);
		u64 total = ((1 << 20) + 16384 - 96) * 4UL;
		char want[64];

		snprintf(want, sizeof(want), "MemTotal:       %8lu kB\nMemFree: ", total);
		assert_int_equal(strncmp(text, want, strlen(want)), 0);
		snprintf(want, sizeof(want), "CommitLimit:    %8lu kB\n", total / 2);
		assert_non_null(strstr(text, want));
		assert_int_equal(strstr(text, "KReclaimable") != NULL, era);
		free(text);
		shut_down(m, hw);
	}
}

TEST(buddyinfo_and_pagetypeinfo_are_laid_out_as_the_live_ones)
{
	struct hw_machine *hw;
	struct machine *m = boot(&hw, "4.0");
	char *text = text_of(m, proc_buddyinfo);

	/* Frames 96 to 4095: 32 to 128, 128 to 1024, three whole blocks. */
	assert_int_equal(strncmp(text,
	                         "Node 0, zone      DMA      0      0      0      0      0      1"
	                         "      0      1      1      1      3 \n",
	                         100),
	                 0);
	free(text);
	text = text_of(m, proc_pagetypeinfo);
	assert_non_null(strstr(
		text,
		"\nNode    0, zone      DMA, type      Movable      0      0      0      0      "
		"0      1      0      1      1      1      3 \n"));
	assert_non_null(strstr(text, "\nNode 0, zone      DMA            0            0            "
	                             "8            0            0 \n"));
	free(text);
	shut_down(m, hw);

	if (!host_is_6_18())
		return;
	m = boot(&hw, "6.18");
	for (int i = 0; i < 2; i++) {
		const char *path = i ? "/proc/pagetypeinfo" : "/proc/buddyinfo";
		char *host = host_file(path);

		/* Only root may read the second, and the host may have other zones. */
		text = text_of(m, i ? proc_pagetypeinfo : proc_buddyinfo);
		if (host && strstr(host, "Normal") && !strstr(host, "Node 1")) {
			blank_numbers(host);
			blank_numbers(text);
			assert_same_text(text, host, path);
		}
		free(host);
		free(text);
	}
	shut_down(m, hw);
}

/* ---- audit ---- */

TEST(a_fresh_machine_passes_its_audit)
{
	for (int era = 0; era < 2; era++) {
		struct hw_machine *hw;
		struct machine *m = boot(&hw, era ? "6.18" : "4.0");

		machine_audit(m);
		shut_down(m, hw);
	}
}

TEST(the_audit_finds_a_frame_in_two_places_and_one_that_is_lost)
{
	struct hw_machine *hw;
	struct machine *m = boot(&hw, "4.0");
	struct page *p = alloc_page(m, GFP_KERNEL);
	struct zone *z = page_zone(m, p);

	/* On a per-CPU list while it is in use. */
	page_list_add(&zone_pcp(z)->list[MIGRATE_MOVABLE], p);
	zone_pcp(z)->count += 1;
	p->index = MIGRATE_MOVABLE;
	assert_panics("is not free", machine_audit(m));
	page_list_del(&zone_pcp(z)->list[MIGRATE_MOVABLE], p);
	zone_pcp(z)->count -= 1;
	machine_audit(m);
	/* A free that was not counted. */
	this_cpu(m)->event[PGFREE] -= 1;
	assert_panics("pgalloc + taken - pgfree", machine_audit(m));
	this_cpu(m)->event[PGFREE] += 1;
	/* A page that says it is on a list, and is not. */
	page_set(p, PG_lru);
	assert_panics("its flags say otherwise", machine_audit(m));
	page_clear(p, PG_lru);
	/* A kind that is counted otherwise. */
	page_set(p, PG_writeback);
	assert_panics("nr_writeback is 0, but there are 1", machine_audit(m));
	page_clear(p, PG_writeback);
	__free_pages(m, p, 0);
	shut_down(m, hw);
}

TEST(impossible_machines_are_refused)
{
	struct hw_machine *hw = null_hw(1, 1, 64);
	struct world *w = null_create(hw);
	struct knobs k;
	char err[200] = "";

	knobs_preset(&k, "4.0");
	hw->range[0].nr_reserved = 64;
	assert_null(machine_create(w, &k, err, sizeof(err)));
	null_destroy(w);
	assert_non_null(strstr(err, "memory that is not reserved"));
	hw->range[0].nr_reserved = 63;
	err[0] = '\0';
	w = null_create(hw);
	assert_null(machine_create(w, &k, err, sizeof(err)));
	null_destroy(w);
	assert_string_equal(err, "the machine has 4 kB of memory and is to keep 192 kB free");
	null_hw_free(hw);
}

TEST_MAIN("proc")
