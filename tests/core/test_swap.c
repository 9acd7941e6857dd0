/*
 * The LRU lists and their batches.
 *
 * Aim: pages are on the list their flags name, in the order they came or were moved, and a page in a
 * batch is nowhere else. Method: random operations on two CPUs with batches of three, beside arrays
 * of pages that do the same in the plainest way; after each operation all lists are compared.
 */
#include "core/swap.c"

#include "tests/core/rig.h"

#define NR_PAGES 40
#define BATCH 3

enum batch { B_ADD, B_ROTATE, B_DEACTIVATE, B_LAZYFREE, B_ACTIVATE, NR_BATCHES };

/* What the model knows of a page. */
struct mpage {
	struct page *page; /* NULL: not in use */
	s32 refs;
	bool held; /* the test's own reference is among them */
	bool lru;
	bool active;
	bool referenced;
	bool swapbacked;
};

static struct model {
	bool per_node;
	bool rotate_active;
	struct mpage p[NR_PAGES];
	u32 list[MAX_NR_ZONES][NR_LRU_LISTS][NR_PAGES]; /* indexes into p, head first */
	u32 size[MAX_NR_ZONES][NR_LRU_LISTS];
	u32 batch[2][NR_BATCHES][BATCH];
	u32 in_batch[2][NR_BATCHES];
	u64 nr_moved[NR_BATCHES];
} mo;

static u32 model_zone(const struct mpage *p)
{
	return mo.per_node ? 0 : page_zonenum(p->page);
}

static u32 model_lru(const struct mpage *p)
{
	return (p->swapbacked ? LRU_INACTIVE_ANON : LRU_INACTIVE_FILE) + p->active;
}

static void model_del(u32 i)
{
	u32 z = model_zone(&mo.p[i]), l = model_lru(&mo.p[i]), at = 0;

	while (mo.list[z][l][at] != i)
		at++;
	mo.size[z][l] -= 1;
	memmove(&mo.list[z][l][at], &mo.list[z][l][at + 1],
	        (mo.size[z][l] - at) * sizeof(mo.list[0][0][0]));
}

static void model_add(u32 i, bool tail)
{
	u32 z = model_zone(&mo.p[i]), l = model_lru(&mo.p[i]);
	u32 *list = mo.list[z][l];

	if (!tail)
		memmove(&list[1], &list[0], mo.size[z][l] * sizeof(*list));
	list[tail ? mo.size[z][l] : 0] = i;
	mo.size[z][l] += 1;
}

static void model_put(u32 i)
{
	struct mpage *p = &mo.p[i];

	if (--p->refs)
		return;
	if (p->lru)
		model_del(i);
	*p = (struct mpage){0};
}

/* What draining does to one page of a batch. */
static void model_apply(enum batch b, u32 i)
{
	struct mpage *p = &mo.p[i];

	if (b == B_ADD) {
		p->lru = true;
		model_add(i, false);
		return;
	}
	if (!p->lru || (b == B_ACTIVATE && p->active) || (b == B_DEACTIVATE && !p->active) ||
	    (b == B_LAZYFREE && !p->swapbacked) ||
	    (b == B_ROTATE && p->active && !mo.rotate_active))
		return;
	mo.nr_moved[b] += 1;
	model_del(i);
	p->active = b == B_ACTIVATE;
	if (b == B_DEACTIVATE || b == B_LAZYFREE)
		p->referenced = false;
	if (b == B_LAZYFREE)
		p->swapbacked = false;
	model_add(i, b == B_ROTATE);
}

static void model_drain_batch(u32 cpu, enum batch b)
{
	u32 pages[BATCH], nr = mo.in_batch[cpu][b];

	memcpy(pages, mo.batch[cpu][b], sizeof(pages));
	mo.in_batch[cpu][b] = 0;
	for (u32 i = 0; i < nr; i++)
		model_apply(b, pages[i]);
	for (u32 i = 0; i < nr; i++)
		model_put(pages[i]);
}

static void model_batch(u32 cpu, enum batch b, u32 i)
{
	mo.p[i].refs += 1;
	mo.batch[cpu][b][mo.in_batch[cpu][b]++] = i;
	if (mo.in_batch[cpu][b] == BATCH)
		model_drain_batch(cpu, b);
}

static void model_drain(u32 cpu)
{
	for (u32 b = 0; b < NR_BATCHES; b++)
		model_drain_batch(cpu, b);
}

/* ---- the two side by side ---- */

static void op_new(struct rand_stream *r, u32 cpu, u32 i)
{
	struct mpage *p = &mo.p[i];
	gfp_t gfp = rand_below(r, 2) ? GFP_HIGHUSER_MOVABLE : GFP_KERNEL | __GFP_DMA;

	p->page = alloc_page(rig.m, gfp);
	assert_non_null(p->page);
	p->swapbacked = rand_below(r, 4);
	p->active = rand_below(r, 2);
	p->refs = 1;
	p->held = true;
	p->page->mapping = p->swapbacked ? PAGE_MAPPING_ANON : 0;
	if (p->swapbacked)
		page_set(p->page, PG_swapbacked);
	if (p->active)
		page_set(p->page, PG_active);
	lru_cache_add(rig.m, p->page);
	model_batch(cpu, B_ADD, i);
}

static void op_accessed(u32 cpu, u32 i)
{
	struct mpage *p = &mo.p[i];
	bool activate = p->referenced && !p->active;

	mark_page_accessed(rig.m, p->page);
	p->referenced = !activate;
	if (activate && p->lru) {
		model_batch(cpu, B_ACTIVATE, i);
		return;
	}
	for (u32 n = 0; activate && n < mo.in_batch[cpu][B_ADD]; n++)
		if (mo.batch[cpu][B_ADD][n] == i)
			p->active = true;
}

static void op_move(u32 cpu, u32 i, enum batch b)
{
	const struct mpage *p = &mo.p[i];
	bool wanted = p->lru;

	switch (b) {
	case B_ACTIVATE:
		activate_page(rig.m, p->page);
		wanted &= !p->active;
		break;
	case B_DEACTIVATE:
		deactivate_page(rig.m, p->page);
		wanted &= p->active;
		break;
	case B_LAZYFREE:
		mark_page_lazyfree(rig.m, p->page);
		wanted &= p->swapbacked;
		break;
	default:
		if (rotate_reclaimable_page(rig.m, p->page))
			rotate_full_batch(rig.m);
		wanted &= !p->active || mo.rotate_active;
	}
	if (wanted)
		model_batch(cpu, b, i);
}

static void op_put(u32 i)
{
	struct page *page = mo.p[i].page;

	mo.p[i].held = false;
	model_put(i);
	put_page(rig.m, page);
}

static void compare(void)
{
	for (u32 z = 0; z < MAX_NR_ZONES; z++) {
		const struct lruvec *lruvec = rig.m->node[0].zone[z].lruvec;

		if (mo.per_node && z)
			break;
		for (u32 l = 0; l < NR_LRU_LISTS; l++) {
			const struct page *page = page_list_first(&lruvec->list[l]);

			assert_int_equal(lruvec->size[l], mo.size[z][l]);
			for (u32 i = 0; i < mo.size[z][l]; i++) {
				assert_ptr_equal(page, mo.p[mo.list[z][l][i]].page);
				page = page_link(&lruvec->list[l], page->lru_next);
			}
			assert_null(page);
		}
	}
	for (u32 i = 0; i < NR_PAGES; i++)
		if (mo.p[i].page)
			assert_int_equal(mo.p[i].page->refcount, mo.p[i].refs);
}

static void one_op(struct rand_stream *r, u32 cpu)
{
	u32 i = (u32)rand_below(r, NR_PAGES);
	u32 op = (u32)rand_below(r, 10);

	if (op == 0 && rand_below(r, 2)) {
		lru_add_drain(rig.m);
		model_drain(cpu);
	} else if (!mo.p[i].page) {
		op_new(r, cpu, i);
	} else if (!mo.p[i].held) {
		return; /* only batches know it */
	} else if (op < 3) {
		op_accessed(cpu, i);
	} else if (op < 8) {
		static const enum batch b[] = {B_ACTIVATE, B_DEACTIVATE, B_LAZYFREE, B_ROTATE,
		                               B_ROTATE};

		op_move(cpu, i, b[op - 3]);
	} else {
		op_put(i);
	}
}

static void small_batches(struct hw_machine *hw, struct knobs *k)
{
	(void)hw;
	k->lru_batch = BATCH;
}

static void run_model(const char *preset)
{
	struct rand_stream r;

	rig_start(2, 8192, preset, small_batches);
	rand_init(&r, test_seed(), 1, 0);
	memset(&mo, 0, sizeof(mo));
	mo.per_node = rig.m->knob.lru_per == LRU_PER_NODE;
	mo.rotate_active = rig.m->knob.writeback_met == WRITEBACK_ACTIVATE;
	for (u32 step = 0; step < 20000; step++) {
		u32 cpu = (u32)rand_below(&r, 2);

		null_set_cpu(rig.w, cpu);
		one_op(&r, cpu);
		compare();
	}
	lru_audit(rig.m);
	assert_int_equal(rig_event(PGROTATED), mo.nr_moved[B_ROTATE]);
	assert_int_equal(rig_event(PGACTIVATE), mo.nr_moved[B_ACTIVATE]);
	assert_int_equal(rig_event(PGDEACTIVATE), mo.nr_moved[B_DEACTIVATE]);
	assert_int_equal(rig_event(PGLAZYFREE), mo.nr_moved[B_LAZYFREE]);
	rig_stop();
}

TEST(lists_of_a_zone_match_arrays_under_random_operations)
{
	run_model("4.0");
}

TEST(lists_of_a_node_match_arrays_under_random_operations)
{
	run_model("6.18");
}

/* ---- by hand ---- */

TEST(a_page_in_a_batch_has_a_reference_more_and_is_on_no_list)
{
	struct page *page;

	rig_start(1, 4096, "4.0", NULL);
	page = rig_page();
	lru_cache_add(rig.m, page);
	assert_int_equal(page->refcount, 2);
	assert_false(page_test(page, PG_lru));
	lru_add_drain(rig.m);
	assert_int_equal(page->refcount, 1);
	assert_true(page_test(page, PG_lru));
	rig_stop();
}

TEST(a_batch_is_drained_when_the_14th_page_comes_and_today_the_31st)
{
	static const struct {
		const char *preset;
		u32 nr;
	} era[] = {{"4.0", 14}, {"6.18", 31}};

	for (u32 e = 0; e < 2; e++) {
		rig_start(1, 4096, era[e].preset, NULL);
		for (u32 i = 1; i < era[e].nr; i++)
			lru_cache_add(rig.m, rig_page());
		assert_int_equal(rig.m->node[0].zone[0].lruvec->size[LRU_INACTIVE_ANON], 0);
		lru_cache_add(rig.m, rig_page());
		assert_int_equal(rig.m->node[0].zone[0].lruvec->size[LRU_INACTIVE_ANON], era[e].nr);
		rig_stop();
	}
}

TEST(new_anonymous_pages_start_active_in_4_0_and_inactive_today)
{
	struct vm_area_struct vma = {0};

	rig_start(1, 4096, "4.0", NULL);
	lru_cache_add_inactive_or_unevictable(rig.m, rig_page(), &vma);
	lru_add_drain(rig.m);
	assert_int_equal(rig.m->node[0].zone[0].lruvec->size[LRU_ACTIVE_ANON], 1);
	rig_stop();
	rig_start(1, 4096, "6.18", NULL);
	lru_cache_add_inactive_or_unevictable(rig.m, rig_page(), &vma);
	lru_add_drain(rig.m);
	assert_int_equal(rig.m->node[0].lruvec.size[LRU_INACTIVE_ANON], 1);
	rig_stop();
}

/*
 * 100 pages of one zone: lru_lock is dropped after each 32 pages seen with it held, so that it is
 * taken 4 times (pages 1-32, 33-64, 65-96, 97-100).
 */
TEST(release_pages_holds_lru_lock_for_32_pages_at_most)
{
	struct page *pages[100];
	struct ledger_lock_stat *st;
	unsigned long free;
	u64 before;

	rig_start(1, 4096, "4.0", NULL);
	st = &rig.w->ledger.lock[LOCK_LRU];
	for (u32 i = 0; i < 100; i++) {
		pages[i] = rig_page();
		lru_cache_add(rig.m, pages[i]);
	}
	lru_add_drain(rig.m);
	before = st->acquisitions;
	free = rig_event(PGFREE);
	release_pages(rig.m, pages, 100);
	assert_int_equal(st->acquisitions - before, 4);
	assert_int_equal(rig_event(PGFREE) - free, 100);
	lru_audit(rig.m);
	rig_stop();
}

/* A page that somebody else refers to stays where it is. */
TEST(release_pages_leaves_pages_that_others_hold)
{
	struct page *pages[2];

	rig_start(1, 4096, "4.0", NULL);
	for (u32 i = 0; i < 2; i++) {
		pages[i] = rig_page();
		lru_cache_add(rig.m, pages[i]);
	}
	lru_add_drain(rig.m);
	get_page(pages[1]);
	release_pages(rig.m, pages, 2);
	assert_int_equal(pages[0]->refcount, 0);
	assert_int_equal(pages[1]->refcount, 1);
	assert_int_equal(rig.m->node[0].zone[0].lruvec->size[LRU_INACTIVE_ANON], 1);
	lru_audit(rig.m);
	rig_stop();
}

TEST(locked_or_dirty_pages_are_not_rotated)
{
	struct page *page;

	rig_start(1, 4096, "4.0", NULL);
	page = rig_page();
	lru_cache_add(rig.m, page);
	lru_add_drain(rig.m);
	page_set(page, PG_dirty);
	rotate_reclaimable_page(rig.m, page);
	page_clear(page, PG_dirty);
	page_set(page, PG_locked);
	rotate_reclaimable_page(rig.m, page);
	lru_add_drain(rig.m);
	assert_int_equal(rig_event(PGROTATED), 0);
	page_clear(page, PG_locked);
	rotate_reclaimable_page(rig.m, page);
	lru_add_drain(rig.m);
	assert_int_equal(rig_event(PGROTATED), 1);
	rig_stop();
}

TEST_MAIN("swap")
