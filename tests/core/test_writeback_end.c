/*
 * Freeing pages at writeback completion (mail 002).
 *
 * Aim: a page is freed in the drain of the rotate batch under exactly the conditions of the mail, is
 * rotated under all others that let it into the batch, and is left where it is if it does not get there.
 * Method: one page on an inactive list, its write ended by hand, with one condition broken at a time,
 * before the write ends or between that and the drain; for each what became of the page is compared.
 */
#include "core/fs.h"
#include "core/swap.h"
#include "tests/core/rig.h"

enum outcome {
	FREED,
	ROTATED,
	LEFT, /* as if nobody had wanted it gone */
};

static const char *const outcome_name[] = {"freed", "rotated", "left"};

struct condition {
	const char *what;
	bool swap;                         /* a page of swap, not of a file */
	void (*before)(struct page *page); /* while it is written */
	void (*after)(struct page *page);  /* between the end of the write and the drain */
	enum outcome outcome;
};

static void pin(struct page *page)
{
	get_page(page);
}

static void unpin(struct page *page)
{
	put_page(rig.m, page);
}

static void add_buffers(struct page *page)
{
	create_empty_buffers(rig.m, page);
}

static void dirty(struct page *page)
{
	set_page_dirty(rig.m, page);
}

static void dirty_swap(struct page *page)
{
	page_set(page, PG_dirty);
}

static void lock(struct page *page)
{
	lock_page(rig.m, page);
}

static void make_active(struct page *page)
{
	struct lruvec *lruvec = page_lruvec(rig.m, page);

	spin_lock_irq(&lruvec->lru_lock);
	del_page_from_lru_list(rig.m, page, lruvec);
	page_set(page, PG_active);
	add_page_to_lru_list(rig.m, page, lruvec);
	spin_unlock_irq(&lruvec->lru_lock);
}

static void not_wanted(struct page *page)
{
	page_clear(page, PG_reclaim);
}

static void isolate(struct page *page)
{
	struct lruvec *lruvec = page_lruvec(rig.m, page);

	spin_lock_irq(&lruvec->lru_lock);
	del_page_from_lru_list(rig.m, page, lruvec);
	page_clear(page, PG_lru);
	spin_unlock_irq(&lruvec->lru_lock);
}

/* By a task on the other CPU. */
static void hold_swap_lock(struct page *page)
{
	(void)page;
	null_set_cpu(rig.w, 1);
	spin_lock(&rig.m->swap[0]->lock);
	null_set_cpu(rig.w, 0);
}

static const struct condition conditions[] = {
	{"nothing is in the way", false, NULL, NULL, FREED},
	{"nothing is in the way of a swapped page", true, NULL, NULL, FREED},
	{"reclaim did not ask for it", false, not_wanted, NULL, LEFT},
	{"somebody holds a reference", false, pin, NULL, ROTATED},
	{"somebody gets a reference before the drain", false, NULL, pin, ROTATED},
	{"the reference is gone before the drain", false, pin, unpin, FREED},
	{"it has buffer heads", false, add_buffers, NULL, ROTATED},
	{"it is dirty again when the write ends", false, dirty, NULL, LEFT},
	{"it is dirty again before the drain", false, NULL, dirty, ROTATED},
	{"a swapped page is dirty again before the drain", true, NULL, dirty_swap, ROTATED},
	{"it is locked when the write ends", false, lock, NULL, LEFT},
	{"it is locked at the drain", false, NULL, lock, ROTATED},
	{"it is active when the write ends", false, make_active, NULL, LEFT},
	{"it became active before the drain", false, NULL, make_active, LEFT},
	{"reclaim has isolated it", false, NULL, isolate, LEFT},
	{"somebody has the lock of the swap area", true, NULL, hold_swap_lock, ROTATED},
};

static void two_disks(struct hw_machine *hw, struct knobs *k)
{
	(void)k;
	hw->disk[0].size_bytes = 4UL << 20;
	hw->disk[1] = hw->disk[0];
	hw->disk[1].files = true;
	hw->nr_disks = 2;
}

static void with_free(struct hw_machine *hw, struct knobs *k)
{
	two_disks(hw, k);
	k->writeback_end = WRITEBACK_END_FREE;
}

/* One on an inactive list, whose only reference is that of its cache, with another in front of it. */
static struct page *page_in_cache(const struct condition *c, struct inode *inode)
{
	struct page *page;

	if (c->swap) {
		page = rig_swap_page(0);
		page_clear(page, PG_dirty);
		lru_cache_add(rig.m, page);
	} else {
		page = alloc_page(rig.m, GFP_HIGHUSER_MOVABLE);
		assert_int_equal(add_to_page_cache_lru(rig.m, page, &inode->i_data, 0, GFP_KERNEL),
		                 0);
		page_set(page, PG_uptodate);
	}
	unlock_page(rig.m, page);
	put_page(rig.m, page);
	lru_add_drain(rig.m);
	return page;
}

static enum outcome outcome_of(const struct condition *c, rig_tweak *tweak)
{
	struct inode *inode;
	enum outcome outcome;
	struct page *page;
	u64 rotated;
	u64 freed;
	u32 slots;

	rig_start(2, 4096, "3.16", tweak);
	rig_become();
	assert_int_equal(do_swapon(rig.m, 0, -1), 0);
	assert_int_equal(inode_create(rig.m, &rig.m->fs->sb[0], "data", PAGE_SIZE, true, &inode),
	                 0);
	slots = (u32)rig.m->swap[0]->inuse_pages;
	page = page_in_cache(c, inode);
	lock_page(rig.m, page);
	set_page_writeback(rig.m, page);
	page_set(page, PG_reclaim);
	unlock_page(rig.m, page);
	if (c->before)
		c->before(page);
	rotated = rig_event(PGROTATED);
	freed = rig_event(PGFREE);
	end_page_writeback(rig.m, page);
	assert_false(page_test(page, PG_writeback));
	assert_false(page_test(page, PG_reclaim));
	if (c->after)
		c->after(page);
	lru_add_drain(rig.m);
	if (!page->refcount) {
		outcome = FREED;
		assert_int_equal(rig.m->swap[0]->inuse_pages, slots);
		assert_int_equal(inode->i_data.nrpages, 0);
		assert_int_equal(inode->i_data.nrexceptional, 0); /* it leaves no shadow */
		assert_true(rig_event(PGFREE) > freed);
		assert_int_equal(rig_event(PGROTATED), rotated);
	} else {
		outcome = rig_event(PGROTATED) > rotated ? ROTATED : LEFT;
		assert_true(rig_event(PGFREE) == freed || c->before == pin);
	}
	rig_stop();
	return outcome;
}

TEST(each_condition_leads_to_its_outcome)
{
	u32 nr_wrong = 0;

	for (u32 i = 0; i < ARRAY_SIZE(conditions); i++) {
		const struct condition *c = &conditions[i];
		enum outcome got = outcome_of(c, with_free);

		if (got != c->outcome)
			print_message("%s: %s, expected %s\n", c->what, outcome_name[got],
			              outcome_name[c->outcome]);
		nr_wrong += got != c->outcome;
	}
	assert_int_equal(nr_wrong, 0);
}

/* Without the mail's patch nothing is freed there: what would be is rotated. */
TEST(rotation_frees_nothing)
{
	for (u32 i = 0; i < ARRAY_SIZE(conditions); i++) {
		const struct condition *c = &conditions[i];

		assert_int_equal(outcome_of(c, two_disks),
		                 c->outcome == FREED ? ROTATED : c->outcome);
	}
}

TEST_MAIN("writeback_end")
