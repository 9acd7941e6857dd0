/*
 * Machine profiles: those that are shipped build machines that make sense, whatever is asked of
 * them; those that make no sense are refused with their line.
 */
#include "tests/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include "load/profile.h"
#include "load/target.h"

static char err[TARGET_ERROR_MAX];

static struct profile *profile(const char *name)
{
	struct profile *p;

	if (profile_load(name, false, NULL, &p, err))
		fail_msg("%s", err);
	return p;
}

/* What hw.h promises of every machine. */
static void check_machine(const struct hw_machine *hw)
{
	u64 after = 0;
	u64 pages[HW_MAX_NODES] = {0};
	u32 cpus[HW_MAX_NODES] = {0};

	assert_true(hw->nr_cpus >= 1 && hw->nr_cpus <= HW_MAX_CPUS);
	assert_true(hw->nr_nodes >= 1 && hw->nr_nodes <= HW_MAX_NODES);
	assert_true(hw->nr_ranges >= 1 && hw->nr_ranges <= HW_MAX_RANGES);
	for (u32 i = 0; i < hw->nr_ranges; i++) {
		const struct hw_range *r = &hw->range[i];
		u64 end = r->start_pfn + r->nr_pages;

		assert_true(r->nr_pages > 0 && r->start_pfn >= after);
		assert_true(r->nr_reserved <= r->nr_pages);
		assert_false(r->start_pfn < 4096 && end > 4096);
		assert_false(r->start_pfn < 1048576 && end > 1048576);
		assert_true(r->node < hw->nr_nodes);
		/* Where one node ends and the next begins, no largest block spans them. */
		if (i && hw->range[i - 1].node != r->node)
			assert_true(r->start_pfn % 1024 == 0);
		pages[r->node] += r->nr_pages - r->nr_reserved;
		after = end;
	}
	for (u32 i = 0; i < hw->nr_cpus; i++) {
		assert_true(hw->cpu[i].node < hw->nr_nodes);
		cpus[hw->cpu[i].node]++;
		for (u32 j = 0; j < i && hw->nr_cpus <= 64; j++)
			if (hw->cpu[i].core == hw->cpu[j].core)
				assert_true(hw->cpu[i].socket == hw->cpu[j].socket &&
				            hw->cpu[i].node == hw->cpu[j].node);
	}
	for (u32 a = 0; a < hw->nr_nodes; a++) {
		assert_true(cpus[a] == hw->nr_cpus / hw->nr_nodes);
		assert_true(pages[a] > 0);
		for (u32 b = 0; b < hw->nr_nodes; b++) {
			assert_true(hw->distance[a * hw->nr_nodes + b] ==
			            hw->distance[b * hw->nr_nodes + a]);
			assert_true((hw->distance[a * hw->nr_nodes + b] == 10) == (a == b));
		}
	}
}

/* Sums over the ranges of a zone: 0 DMA, 1 DMA32, 2 Normal. */
static void zone_pages(const struct hw_machine *hw, int zone, u64 *present, u64 *managed)
{
	*present = *managed = 0;
	for (u32 i = 0; i < hw->nr_ranges; i++) {
		const struct hw_range *r = &hw->range[i];
		int z = r->start_pfn < 4096 ? 0 : r->start_pfn < 1048576 ? 1 : 2;

		if (z == zone) {
			*present += r->nr_pages;
			*managed += r->nr_pages - r->nr_reserved;
		}
	}
}

static struct hw_machine *build(struct profile *p, struct machine_shape *s, u64 given)
{
	struct hw_machine *hw;

	if (profile_build(p, s, given, &p->keep, &hw, err))
		fail_msg("%s", err);
	check_machine(hw);
	return hw;
}

TEST(shipped_profiles_build)
{
	struct keep keep = {0};
	const char **names;
	u32 n = profile_list(NULL, &keep, &names);

	assert_true(n >= 4);
	for (u32 i = 0; i < n; i++) {
		struct profile *p = profile(names[i]);
		struct machine_shape s = p->shape;

		assert_string_equal(p->name, names[i]);
		assert_non_null(p->about);
		build(p, &s, 0);
		for (u32 c = 0; c < NR_WORLD_COSTS; c++)
			assert_true(strlen(p->cost_source[c]) > 0);
		profile_free(p);
	}
	keep_free(&keep);
}

/* The numbers that the profile's comment derives. */
TEST(minchan_2015_has_its_zones)
{
	struct profile *p = profile("minchan-2015");
	struct machine_shape s = p->shape;
	struct hw_machine *hw = build(p, &s, 0);
	u64 present;
	u64 managed;

	zone_pages(hw, 0, &present, &managed);
	assert_int_equal(present, 3998);
	assert_int_equal(managed, 3977);
	zone_pages(hw, 1, &present, &managed);
	assert_int_equal(present, 778240);
	assert_int_equal(managed, 749696);
	zone_pages(hw, 2, &present, &managed);
	assert_int_equal(present, 0);
	assert_true(hw->nr_cpus == 12 && hw->cpu[0].core == hw->cpu[6].core);
	assert_true(!hw->queued_spinlocks && hw->hz == 250);
	assert_int_equal(hw->disk[0].size_bytes, 8UL << 30);
	profile_free(p);
}

TEST(more_ram_than_the_hole_leaves_goes_above_4g)
{
	struct profile *p = profile("minchan-2015");
	struct machine_shape s = p->shape;
	u64 present;
	u64 managed;

	s.ram_bytes = 9UL << 29; /* 4.5 GB */
	zone_pages(build(p, &s, SHAPE_RAM), 2, &present, &managed);
	assert_int_equal(present, 3UL << 17); /* 1.5 GB */
	profile_free(p);
}

TEST(any_shape_that_is_accepted_makes_sense)
{
	struct profile *p = profile("small");
	struct rand_stream r;
	u32 nr_built = 0;

	rand_init(&r, test_seed(), 1, 0);
	for (u32 i = 0; i < 3000; i++) {
		struct machine_shape s = p->shape;
		struct hw_machine *hw;
		u64 given = rand_below(&r, 128) | SHAPE_RAM;

		if (given & SHAPE_CPUS)
			s.nr_cpus = 1 + (u32)rand_below(&r, 64);
		if (given & SHAPE_SOCKETS)
			s.nr_sockets = 1 + (u32)rand_below(&r, 4);
		if (given & SHAPE_THREADS)
			s.threads = 1 + (u32)rand_below(&r, 2);
		if (given & SHAPE_NODES)
			s.nr_nodes = 1 + (u32)rand_below(&r, 8);
		s.ram_bytes = (8UL << 20) + rand_below(&r, 1UL << (20 + rand_below(&r, 22)));
		if (profile_build(p, &s, given, &p->keep, &hw, err))
			continue;
		nr_built++;
		check_machine(hw);
	}
	assert_true(nr_built > 500);
	profile_free(p);
}

TEST(the_largest_machine_is_quick_to_build)
{
	struct profile *p = profile("small");
	struct machine_shape s = p->shape;
	clock_t begin = clock();
	struct hw_machine *hw;

	s.nr_cpus = 2048;
	s.nr_nodes = 256;
	s.ram_bytes = 16UL << 40;
	hw = build(p, &s, SHAPE_CPUS | SHAPE_NODES | SHAPE_RAM);
	assert_true(clock() - begin < CLOCKS_PER_SEC);
	assert_true(hw->nr_ranges <= 260 && s.nr_sockets == 256);
	s.nr_cpus = HW_MAX_CPUS;
	build(p, &s, SHAPE_CPUS | SHAPE_NODES | SHAPE_RAM);
	profile_free(p);
}

/* ---- files ---- */

static char path[64];

__attribute__((destructor)) static void remove_file(void)
{
	if (path[0])
		unlink(path);
}

static int load(const char *text, struct profile **p)
{
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/quire-test-%d.lua", (int)getpid());
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return profile_load(path, true, NULL, p, err);
}

static void refused(const char *text, int line, const char *what)
{
	struct profile *p = NULL;
	char place[96];

	if (load(text, &p) == 0)
		fail_msg("loads, but should be refused: %s", what);
	snprintf(place, sizeof(place), "%s:%d: ", path, line);
	if (line && strncmp(err, place, strlen(place)) != 0)
		fail_msg("says '%s', should be at line %d", err, line);
	if (!strstr(err, what))
		fail_msg("says '%s' instead of '%s'", err, what);
}

TEST(bad_profiles_are_refused)
{
	refused("machine 'm' {\n cpu = 4 }", 2, "did you mean 'cpus'");
	refused("machine 'm' {\n hz = 5 }", 2, "24 to 10000");
	refused("machine 'm' {\n costs = {\n  syscal = 3 } }", 3, "did you mean 'syscall'");
	refused("machine 'm' {\n costs = {\n  syscall = 'x' } }", 3, "'syscall' must be");
	refused("machine 'm' {\n costs = {\n  syscall = { 3 } } }", 3, "{ ns, \"source\" }");
	refused("machine 'm' {\n disks = {\n  swap = {\n   knd = 'flash' } } }", 4,
	        "did you mean 'kind'");
	refused("machine 'm' {\n disks = {\n  swap = { kind = 'flash' } } }", 3,
	        "needs 'read_rate'");
	refused("machine 'm' {\n memory = {\n  pci_hole = '5G' } }", 3, "at most 4G");
	refused("machine 'm' { memory = {\n ranges = { { start_pfn = 0, pages = 5000 } } } }", 2,
	        "crosses 16M");
	refused("machine 'm' { memory = { ranges = { { start_pfn = 5000, pages = 5 },\n"
	        "{ start_pfn = 5000, pages = 5 } } } }",
	        0, "must not overlap");
	refused("machine 'm' { memory = { ranges = { { start_pfn = 5000, pages = 5, reserved = 6 } "
	        "}"
	        " } }",
	        1, "more pages are reserved");
	refused("machine 'm' { memory = { ranges = { { start_pfn = 5000, pages = 5, node = 1 } } } "
	        "}",
	        1, "node 1 of 1");
	refused("machine 'm' { distance = { {10, 20}, {21, 10} }, cpus = 2, nodes = 2 }", 1,
	        "differs from its mirror");
	refused("machine 'm' { distance = { {10, 20}, {20, 10} } }", 1, "2 rows for 1 nodes");
	refused("machine 'm' { cpus = 6, sockets = 4 }", 0, "do not divide");
	refused("machine 'm' {} machine 'n' {}", 1, "one machine");
	refused("local x = 1", 0, "describes no machine");
	refused("machine 'm'", 0, "describes no machine");
	assert_int_equal(profile_load("smal", false, NULL, &(struct profile *){NULL}, err),
	                 -ENOENT);
	assert_non_null(strstr(err, "did you mean 'small'"));
}

TEST(a_map_that_is_written_down_is_used_as_it_is)
{
	struct profile *p;
	struct machine_shape s;
	struct hw_machine *hw;
	u64 present;
	u64 managed;

	assert_int_equal(load("machine 'm' { memory = { ranges = {\n"
	                      "{ start_pfn = 1, pages = 3998, reserved = 158 },\n"
	                      "{ start_pfn = 4096, pages = 30000, reserved = 1000 } } } }",
	                      &p),
	                 0);
	s = p->shape;
	hw = build(p, &s, 0);
	assert_int_equal(hw->nr_ranges, 2);
	assert_int_equal(s.ram_bytes, 33998 * 4096);
	zone_pages(hw, 1, &present, &managed);
	assert_int_equal(managed, 29000);
	assert_int_equal(s.ballast_bytes, 0);

	/* Less RAM: the same map, and 3840 + 29000 pages less 16384 are 32.1 huge pages too many. */
	s.ram_bytes = 64 << 20;
	hw = build(p, &s, SHAPE_RAM);
	assert_int_equal(hw->nr_ranges, 2);
	assert_int_equal(s.ballast_bytes, 32 * BALLAST_PAGE_BYTES);
	s.ram_bytes = 256 << 20; /* more RAM: laid out anew */
	hw = build(p, &s, SHAPE_RAM);
	assert_int_equal(hw->range[2].nr_pages, 65536 - 4096);
	assert_int_equal(s.ballast_bytes, 0);
	profile_free(p);
}

/* ---- a profile that is based on another ---- */

static char base_dir[64];

__attribute__((destructor)) static void remove_bases(void)
{
	char file[96];

	for (char c = 'a'; *base_dir && c <= 'k'; c++) {
		snprintf(file, sizeof(file), "%s/%c.lua", base_dir, c);
		unlink(file);
	}
	if (*base_dir)
		rmdir(base_dir);
}

/* Profile @name of a directory of our own. */
static void write_base(char name, const char *text)
{
	char file[96];
	FILE *f;

	if (!*base_dir) {
		snprintf(base_dir, sizeof(base_dir), "/tmp/quire-base-%d", (int)getpid());
		assert_int_equal(mkdir(base_dir, 0700), 0);
	}
	snprintf(file, sizeof(file), "%s/%c.lua", base_dir, name);
	f = fopen(file, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static const char *const dirs[] = {base_dir, NULL};

static void base_refused(char name, int line, const char *what)
{
	char text[2] = {name, '\0'};
	struct profile *p;
	char place[96];

	if (profile_load(text, false, dirs, &p, err) == 0)
		fail_msg("%c loads, but should be refused: %s", name, what);
	snprintf(place, sizeof(place), "%s/%c.lua:%d: ", base_dir, name, line);
	if (strncmp(err, place, strlen(place)) != 0 || !strstr(err, what))
		fail_msg("says '%s', not '%s' '%s'", err, place, what);
}

TEST(what_a_profile_does_not_say_is_its_bases)
{
	struct profile *p;

	write_base('a', "machine 'a' {\n about = 'base', cpus = 4, ram = '256M', hz = 100,\n"
	                " memory = { kernel = '2M', system = '3M' },\n"
	                " disks = { data = { kind = 'ram', ratio = '50%' },\n"
	                "  hdd = { kind = 'ram', ratio = '20%' } },\n"
	                " fitted = { constant = 'cost.pte' },\n"
	                " costs = { pte = { 7, 'base' }, pcp = { 9, 'base' } } }");
	write_base('b', "machine 'b' {\n base = 'a', hz = 1000, memory = { kernel = '4M' },\n"
	                " disks = { hdd = false, swap = { kind = 'ram', ratio = '40%' },\n"
	                "  data = { kind = 'ram', ratio = '60%' } },\n"
	                " costs = { pcp = { 11, 'own' } } }");
	assert_int_equal(profile_load("b", false, dirs, &p, err), 0);
	assert_string_equal(p->name, "b");
	assert_null(p->about);
	assert_null(p->fitted); /* a fit is of one machine */
	assert_int_equal(p->shape.nr_cpus, 4);
	assert_int_equal(p->shape.ram_bytes, 256 << 20);
	assert_int_equal(p->hz, 1000);
	assert_int_equal(p->memory.kernel_bytes, 4 << 20);
	assert_int_equal(p->memory.system_bytes, 3 << 20);
	assert_int_equal(p->cost_ns[COST_PTE], 7);
	assert_string_equal(p->cost_source[COST_PTE], "base");
	assert_int_equal(p->cost_ns[COST_PCP], 11);
	assert_int_equal(p->nr_disks, 2);
	assert_string_equal(p->disk[0].name, "data");
	assert_int_equal(p->disk[0].ratio_bp, 6000);
	assert_string_equal(p->disk[1].name, "swap");
	assert_int_equal(p->nr_files, 2);
	assert_non_null(strstr(p->origin[PROFILE_HZ], "/b.lua"));
	assert_non_null(strstr(p->origin[PROFILE_SPINLOCKS], "/b.lua")); /* nobody says so */
	assert_non_null(strstr(p->origin[0], "/a.lua"));                 /* cpus */
	profile_free(p);
}

TEST(a_base_that_cannot_be_one_is_refused)
{
	char text[64];

	write_base('c', "machine 'c' {\n base = 'd' }");
	write_base('d', "machine 'd' {\n\n base = 'c' }");
	write_base('e', "machine 'e' {\n base = 'nothing' }");
	write_base('f', "machine 'f' {\n base = 'g' }");
	write_base('g', "machine 'g' {\n cpu = 3 }");
	base_refused('c', 2, "d.lua:3: machine: 'c' is based on itself, by way of ");
	base_refused('e', 2, "unknown machine profile 'nothing'");
	base_refused('f', 2, "g.lua:2: machine: unknown field 'cpu'; did you mean 'cpus'");
	write_base('g', "local x = 1");
	base_refused('f', 2, "describes no machine");
	write_base('g', "machine 'g' {\n base = 7 }");
	base_refused('g', 2, "'base' must be a string");
	write_base('g', "machine 'g' {\n disks = { swap = false } }");
	base_refused('g', 2, "no disk 'swap' to leave out");
	for (char c = 'a'; c < 'k'; c++) {
		snprintf(text, sizeof(text), "machine '%c' {\n base = '%c' }", c, c + 1);
		write_base(c, text);
	}
	write_base('k', "machine 'k' {}");
	base_refused('a', 2, "more than 8 profiles, one based on the other");
}

TEST(constants_can_be_changed_by_name)
{
	struct profile *p = profile("minchan-2015");
	const struct hw_disk *d = p->disk;

	while (strcmp(d->name, "swap"))
		d++;
	assert_int_equal(profile_set(p, "disk.swap.rate", "100M", err), 0);
	assert_int_equal(d->read_bytes_per_s, 100 << 20);
	assert_int_equal(d->write_bytes_per_s, 100 << 20);
	assert_int_equal(profile_set(p, "disk.swap.barging", "false", err), 0);
	assert_false(d->barging);
	/* As its kind is, unless something is said, as a virtio disk does. */
	assert_false(d->rotational);
	assert_int_equal(profile_set(p, "disk.swap.rotational", "true", err), 0);
	assert_true(d->rotational);
	assert_int_equal(profile_set(p, "disk.swap.rate", "100M", err), 0);
	assert_true(d->rotational);
	assert_int_equal(profile_set(p, "disk.swap.kind", "flash", err), 0);
	assert_false(d->rotational);
	assert_int_equal(d->irq_cpu, 0);
	assert_int_equal(profile_set(p, "disk.swap.irq_cpu", "3", err), 0);
	assert_int_equal(d->irq_cpu, 4);
	assert_int_equal(profile_set(p, "cost.syscall", "5", err), 0);
	assert_int_equal(p->cost_ns[COST_SYSCALL], 5);
	assert_int_equal(profile_set(p, "vm.swappiness", "5", err), -ENOENT);
	assert_int_equal(profile_set(p, "disk.swap.rte", "5M", err), -EINVAL);
	assert_non_null(strstr(err, "did you mean 'rate'"));
	assert_int_equal(profile_set(p, "disk.swp.rate", "5M", err), -EINVAL);
	assert_int_equal(profile_set(p, "cost.syscall", "-1", err), -EINVAL);
	profile_free(p);
}

TEST_MAIN("profile")
