/*
 * Where mmap() and mremap() put what may hold huge pages: this host's kernel beside the simulated one.
 *
 * Method: twin.h. A row first maps 1 GiB, which has all that lies above it out of the way; each step then says
 * how far its mapping lies below the one before, in pages. All are of 2 MiB and more, so that none fits into
 * what alignment has left open. Needs Linux 6.13 or later here.
 */
#include "tests/host/twin.h"

#include <sys/mman.h>

#define M2 (2UL << 20)
#define ODD PAGE_SIZE

enum call {
	END,
	MAP,
	MOVE, /* the mapping before becomes that long, elsewhere */
};

struct step {
	enum call call;
	unsigned long len;
};

#define BASE                                                                                       \
	{                                                                                          \
		MAP, 1UL << 30                                                                     \
	}

static const struct row {
	const char *what;
	struct step step[TWIN_CALLS_MAX];
} table[] = {
	{"multiples of 2 MiB follow each other",
         {BASE, {MAP, M2}, {MAP, M2}, {MAP, 3 * M2}, {MAP, M2}}},
	{"a page more is not aligned, and what comes then is",
         {BASE,
          {MAP, M2 + ODD},
          {MAP, M2},
          {MAP, 2 * M2 + ODD},
          {MAP, 3 * M2 - ODD},
          {MAP, 2 * M2}}},
	{"what is moved to grow",
         {BASE,
          {MAP, M2 + ODD},
          {MAP, 2 * M2 + ODD},
          {MOVE, 5 * M2},
          {MAP, M2 + ODD},
          {MOVE, 4 * M2 + ODD}}},
};

TWIN_TABLE(table)

/* The first one's place is not compared: it is the process's own. */
static s64 below(u64 *before, u64 addr)
{
	s64 pages = *before ? (s64)(*before - addr) >> PAGE_SHIFT : (s64)(addr % M2);

	*before = addr;
	return pages;
}

static int host_row(u32 row, struct twin_result *r)
{
	u64 before = 0;
	u64 len = 0;

	for (u32 i = 0; i < row_nr_calls(row); i++) {
		const struct step *s = &table[row].step[i];
		void *p = s->call == MAP ? mmap(NULL, s->len, PROT_NONE,
		                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
		                         : mremap((void *)before, len, s->len, MREMAP_MAYMOVE);

		r->value[i] = p == MAP_FAILED ? -errno : below(&before, (u64)p);
		len = s->len;
	}
	return 0;
}

static void sim_row(struct task *t, struct twin_sim *sim)
{
	u64 before = 0;
	u64 len = 0;

	(void)t;
	for (u32 i = 0; i < row_nr_calls(sim->row); i++) {
		const struct step *s = &table[sim->row].step[i];
		u64 va = 0;
		int err = s->call == MAP ? do_mmap(sim->m, s->len, 0, MM_MAP_NORESERVE, &va)
		                         : (va = 0, do_mremap(sim->m, before, len, s->len,
		                                              MM_MREMAP_MAYMOVE, &va));

		sim->r->value[i] = err ? err : below(&before, va);
		len = s->len;
	}
}

TEST(mappings_lie_where_this_kernel_puts_them)
{
	struct twin twin = {
		.nr_rows = ARRAY_SIZE(table),
		.what = row_what,
		.nr_calls = row_nr_calls,
		.on_host = host_row,
		.on_sim = sim_row,
	};

	twin_needs_kernel(6, 13);
	twin_compare(&twin);
}

TEST_MAIN("mmap_align")
