/*
 * Reverse walks: references, unmapping by the rules of each era, flushes.
 */
#include "tests/core/mm_fixture.h"

static struct task *fork_child(const char *name)
{
	struct task *child = NULL;

	assert_int_equal(do_fork(fix.m, name, fix_body, NULL, &child), 0);
	return child;
}

static void end(struct task *t)
{
	struct task *self = fix.t;

	fix_end(t);
	fix_become(self);
	task_put(t);
}

static int referenced(struct page *page, bool *dirty)
{
	u32 vm_flags;
	int nr;

	lock_page(fix.m, page);
	nr = page_referenced(fix.m, page, true, &vm_flags, dirty);
	unlock_page(fix.m, page);
	return nr;
}

/* As reclaim holds a page: a reference, the lock, no batch that has it. */
static struct page *isolate(u64 va)
{
	struct page *page = fix_page(fix.t, va);

	lru_add_drain(fix.m);
	get_page(page);
	lock_page(fix.m, page);
	return page;
}

static void putback(struct page *page)
{
	unlock_page(fix.m, page);
	put_page(fix.m, page);
}

/* Entry of @va without young and dirty, as MADV_FREE leaves it. */
static void make_clean(const struct task *t, u64 va)
{
	pte_t *pte = pt_entry(fix.m, pt_find(fix.m, t->mm, va), va);

	*pte = pte_clear(*pte, PTE_ACCESSED | PTE_DIRTY);
}

/* ---- ageing ---- */

TEST(page_referenced_counts_and_clears_young_entries)
{
	struct task *parent, *a, *b;
	struct page *page;
	bool dirty;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	parent = fix.t;
	va = fix_mmap(1);
	fix_write(va, 1);
	page = fix_page(parent, va);
	a = fork_child("a");
	b = fork_child("b");
	/* The children's entries are old, and dirty as the parent's was. */
	assert_int_equal(referenced(page, &dirty), 1);
	assert_true(dirty);
	assert_int_equal(referenced(page, &dirty), 0);
	fix_become(a);
	fix_read(va);
	fix_become(b);
	fix_read(va);
	assert_int_equal(referenced(page, &dirty), 2);
	assert_false(pte_young(fix_pte(a, va)));
	assert_int_equal(referenced(page, &dirty), 0);

	make_clean(parent, va);
	make_clean(a, va);
	referenced(page, &dirty);
	assert_true(dirty); /* b's */
	make_clean(b, va);
	referenced(page, &dirty);
	assert_false(dirty);
	fix_become(parent);
	end(a);
	end(b);
	fix_stop();
}

/* Young bits are cleared without any flush (x86 since 3.16). */
TEST(ageing_flushes_nothing)
{
	u64 va, flushes;
	bool dirty;

	fix_start(1, 2048, "4.0", NULL);
	va = fix_mmap(1);
	fix_write(va, 1);
	flushes = null_stats(fix.w)->nr_tlb_flushes;
	assert_int_equal(referenced(fix_page(fix.t, va), &dirty), 1);
	assert_int_equal(null_stats(fix.w)->nr_tlb_flushes, flushes);
	fix_stop();
}

/*
 * A walk of a page the parent had before the fork visits all; of a page the child has copied, the child
 * alone. Counted by the charges: one RMAP_STEP per VMA.
 */
TEST(walks_visit_the_family_that_may_have_the_page)
{
	struct task *parent, *child[5];
	u64 va, steps;
	bool dirty;

	fix_start(1, 4096, "4.0", NULL);
	parent = fix.t;
	va = fix_mmap(1);
	fix_write(va, 1);
	for (u32 i = 0; i < 5; i++)
		child[i] = fork_child("child");
	for (u32 i = 0; i < 5; i++) {
		fix_become(child[i]);
		fix_write(va, 2 + i);
	}
	steps = world_self->cost_count[COST_RMAP_STEP];
	assert_int_equal(referenced(fix_page(child[2], va), &dirty), 1);
	assert_int_equal(world_self->cost_count[COST_RMAP_STEP] - steps, 1);
	/* mapcount 1, found in the first VMA, the parent's: the walk ends there. */
	steps = world_self->cost_count[COST_RMAP_STEP];
	referenced(fix_page(parent, va), &dirty);
	assert_int_equal(world_self->cost_count[COST_RMAP_STEP] - steps, 1);

	/* The last child keeps a page of the parent's that the parent has dropped: all are visited. */
	fix_become(parent);
	assert_int_equal(do_madvise(fix.m, va, PAGE_SIZE, MM_MADV_DONTNEED), 0);
	for (u32 i = 0; i < 5; i++)
		end(child[i]);
	fix_write(va, 1);
	for (u32 i = 0; i < 5; i++)
		child[i] = fork_child("child");
	for (u32 i = 0; i < 4; i++) {
		fix_become(child[i]);
		fix_write(va, 2);
	}
	fix_become(parent);
	assert_int_equal(do_madvise(fix.m, va, PAGE_SIZE, MM_MADV_DONTNEED), 0);
	steps = world_self->cost_count[COST_RMAP_STEP];
	referenced(fix_page(child[4], va), &dirty);
	assert_int_equal(world_self->cost_count[COST_RMAP_STEP] - steps, 6);
	for (u32 i = 0; i < 5; i++)
		end(child[i]);
	fix_stop();
}

TEST(todays_ageing_does_not_wait_for_the_family_lock)
{
	static const struct {
		const char *preset;
		int expected;
	} era[] = {{"4.0", 1}, {"6.18", -1}};

	for (u32 i = 0; i < 2; i++) {
		struct anon_vma *anon_vma;
		struct page *page;
		bool dirty;
		u64 va;

		fix_start(1, 2048, era[i].preset, NULL);
		va = fix_mmap(1);
		fix_write(va, 1);
		page = fix_page(fix.t, va);
		anon_vma = page_anon_vma(fix.m, page);
		if (i == 1) { /* in 4.0 it would wait for ever */
			down_write(&anon_vma->root->rwsem);
			assert_int_equal(referenced(page, &dirty), era[i].expected);
			up_write(&anon_vma->root->rwsem);
		}
		assert_int_equal(referenced(page, &dirty), 1);
		fix_stop();
	}
}

/* ---- unmapping ---- */

TEST(unmapping_leaves_swap_entries_everywhere)
{
	struct task *parent, *child;
	struct page *page;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	fix_swapon();
	parent = fix.t;
	va = fix_mmap(1);
	fix_write(va, 1);
	child = fork_child("child");
	page = isolate(va);
	assert_true(add_to_swap(fix.m, page));
	assert_int_equal(try_to_unmap(fix.m, page, 0), SWAP_SUCCESS);
	assert_int_equal(page->mapcount, 0);
	assert_int_equal(page->refcount, 2); /* the cache's and ours */
	assert_int_equal(page_swapcount(fix.m, page), 2);
	assert_true(pte_swap(fix_pte(parent, va)));
	assert_int_equal(fix_pte(parent, va).v, fix_pte(child, va).v);
	assert_int_equal(fix_rss(parent, MM_ANONPAGES), 0);
	assert_int_equal(fix_rss(parent, MM_SWAPENTS), 1);
	assert_int_equal(fix_rss(child, MM_SWAPENTS), 1);
	assert_true(page_test(page, PG_dirty));
	putback(page);
	fix_audit();
	end(child);
	fix_stop();
}

/* Seed's tree: clean entries outside the swap cache are dropped; a dirty one stops it. */
TEST(lazy_pages_of_the_seeds_tree)
{
	struct page *page;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	va = fix_mmap(2);
	fix_write(va, 1);
	fix_write(va + PAGE_SIZE, 2);

	make_clean(fix.t, va);
	page = isolate(va);
	assert_int_equal(try_to_unmap(fix.m, page, TTU_FREE), SWAP_SUCCESS);
	assert_int_equal(page->refcount, 1); /* so that reclaim can freeze and free it */
	assert_true(pte_none(fix_pte(fix.t, va)));
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 1);
	putback(page);

	page = isolate(va + PAGE_SIZE);
	assert_int_equal(try_to_unmap(fix.m, page, TTU_FREE), SWAP_DIRTY);
	assert_true(page_test(page, PG_dirty));
	assert_true(pte_dirty(fix_pte(fix.t, va + PAGE_SIZE)) &&
	            pte_write(fix_pte(fix.t, va + PAGE_SIZE)));
	assert_int_equal(page->mapcount, 1);
	assert_int_equal(fix_rss(fix.t, MM_ANONPAGES), 1);
	putback(page);
	assert_int_equal(fix_read(va + PAGE_SIZE), 2);
	fix_audit();
	fix_stop();
}

/* A family's page: one clean entry goes, the first dirty one ends it. */
TEST(a_dirty_relative_keeps_a_lazy_page)
{
	struct task *parent, *child;
	struct page *page;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	parent = fix.t;
	va = fix_mmap(1);
	fix_write(va, 1);
	child = fork_child("child");
	make_clean(parent, va);
	page = isolate(va);
	assert_int_equal(try_to_unmap(fix.m, page, TTU_FREE), SWAP_DIRTY);
	assert_true(pte_none(fix_pte(parent, va)));
	assert_true(pte_present(fix_pte(child, va)));
	assert_int_equal(page->mapcount, 1);
	putback(page);
	fix_become(child);
	assert_int_equal(fix_read(va), 1);
	fix_audit();
	fix_become(parent);
	end(child);
	fix_stop();
}

static void slot_first(struct knobs *k)
{
	k->free_slot = FREE_SLOT_FIRST;
	k->free_list = FREE_LIST_INACTIVE_ANON;
	k->free_swap = FREE_SWAP_DROP;
}

/* 4.5: it has a slot; clean it is dropped nevertheless, dirty it is swapped. */
TEST(lazy_pages_of_4_5)
{
	struct page *page;
	u64 va;

	fix_start(1, 2048, "4.0", slot_first);
	fix_swapon();
	va = fix_mmap(2);
	fix_write(va, 1);
	fix_write(va + PAGE_SIZE, 2);

	make_clean(fix.t, va);
	page = isolate(va);
	assert_true(add_to_swap(fix.m, page));
	assert_int_equal(try_to_unmap(fix.m, page, TTU_FREE), SWAP_SUCCESS);
	assert_true(pte_none(fix_pte(fix.t, va)));
	assert_false(page_test(page, PG_dirty));
	assert_int_equal(page_swapcount(fix.m, page), 0);
	assert_true(try_to_free_swap(fix.m, page));
	putback(page);

	page = isolate(va + PAGE_SIZE);
	assert_true(add_to_swap(fix.m, page));
	assert_int_equal(try_to_unmap(fix.m, page, TTU_FREE), SWAP_SUCCESS);
	assert_true(pte_swap(fix_pte(fix.t, va + PAGE_SIZE)));
	assert_true(page_test(page, PG_dirty));
	putback(page);
	assert_int_equal(fix_read(va + PAGE_SIZE), 2);
	fix_audit();
	fix_stop();
}

/* 4.12: known by PG_swapbacked; not if somebody else holds the page, nor if it was written. */
TEST(lazy_pages_of_today)
{
	struct page *page;
	u64 va;

	fix_start(1, 2048, "6.18", NULL);
	va = fix_mmap(1);
	fix_write(va, 1);
	lru_add_drain(fix.m);
	assert_int_equal(do_madvise(fix.m, va, PAGE_SIZE, MM_MADV_FREE), 0);
	page = isolate(va); /* drains the batch that makes it so */
	assert_false(page_test(page, PG_swapbacked));

	get_page(page);
	assert_int_equal(try_to_unmap(fix.m, page, 0), SWAP_FAIL);
	assert_int_equal(page->mapcount, 1);
	put_page(fix.m, page);
	assert_int_equal(try_to_unmap(fix.m, page, 0), SWAP_SUCCESS);
	assert_int_equal(page->refcount, 1);
	putback(page);

	fix_write(va, 2);
	lru_add_drain(fix.m);
	assert_int_equal(do_madvise(fix.m, va, PAGE_SIZE, MM_MADV_FREE), 0);
	page = isolate(va);
	assert_false(page_test(page, PG_swapbacked));
	fix_write(va, 3); /* no fault: only the entry knows */
	/* Off its list, as reclaim has it, since the flag that names the list changes. */
	spin_lock_irq(&page_lruvec(fix.m, page)->lru_lock);
	del_page_from_lru_list(fix.m, page, page_lruvec(fix.m, page));
	page_clear(page, PG_lru);
	spin_unlock_irq(&page_lruvec(fix.m, page)->lru_lock);
	assert_int_equal(try_to_unmap(fix.m, page, 0), SWAP_DIRTY);
	assert_true(page_test(page, PG_swapbacked));
	lru_cache_add(fix.m, page);
	putback(page);
	assert_int_equal(fix_read(va), 3);
	lru_add_drain(fix.m);
	fix_audit();
	lru_audit(fix.m);
	fix_stop();
}

/* ---- flushes ---- */

/* A task with two CPUs in its mask; the test unmaps on the third. @nr pages, each unmapped once. */
static u64 ipis_of_unmapping(const char *preset, u32 nr, u64 *flushes)
{
	struct page *page[32];
	struct task *a, *b, *reclaimer;
	u64 va, ipis;

	fix_start(3, 2048, preset, NULL);
	fix_swapon();
	a = fix.t;
	va = fix_mmap(nr);
	assert_int_equal(mm_access(fix.m, va, nr * PAGE_SIZE, WORLD_WRITE, 0), 0);
	lru_add_drain(fix.m);
	null_set_cpu(fix.w, 1);
	b = fix_task("b", a);
	fix_become(b);
	fix_read(va);
	null_set_cpu(fix.w, 2);
	reclaimer = fix_task("reclaimer", NULL); /* a struct task, but not of that mm */
	fix_become(reclaimer);
	for (u32 i = 0; i < nr; i++) {
		page[i] = fix_page(a, va + i * PAGE_SIZE);
		get_page(page[i]);
		lock_page(fix.m, page[i]);
		assert_true(add_to_swap(fix.m, page[i]));
	}
	ipis = null_stats(fix.w)->nr_ipis;
	*flushes = null_stats(fix.w)->nr_tlb_flushes;
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(try_to_unmap(fix.m, page[i], TTU_BATCH_FLUSH), SWAP_SUCCESS);
	assert_int_equal(a->mm->tlb_flush_batched, fix.m->knob.unmap_flush == UNMAP_FLUSH_BATCH);
	try_to_unmap_flush_dirty(fix.m);
	try_to_unmap_flush(fix.m);
	ipis = null_stats(fix.w)->nr_ipis - ipis;
	*flushes = null_stats(fix.w)->nr_tlb_flushes - *flushes;
	for (u32 i = 0; i < nr; i++) {
		unlock_page(fix.m, page[i]);
		put_page(fix.m, page[i]);
	}

	fix_audit();
	fix_end(reclaimer);
	task_put(reclaimer);
	null_set_cpu(fix.w, 1);
	fix_end(b);
	task_put(b);
	null_set_cpu(fix.w, 0);
	fix_become(a);
	fix_stop();
	return ipis;
}

TEST(unmapping_flushes_per_pte_before_4_3)
{
	u64 flushes;

	/* The task's two CPUs get an IPI for each page. */
	assert_int_equal(ipis_of_unmapping("4.0", 10, &flushes), 20);
	assert_int_equal(flushes, 10);
}

TEST(unmapping_flushes_per_batch_since_4_3)
{
	u64 flushes;

	assert_int_equal(ipis_of_unmapping("6.18", 10, &flushes), 2);
	assert_int_equal(flushes, 1);
}

/* Nobody else has the translations: there is no IPI to save, and nothing is put off. */
TEST(a_flush_that_needs_no_ipi_is_not_put_off)
{
	struct page *page;
	u64 va, flushes;

	fix_start(1, 2048, "6.18", NULL);
	fix_swapon();
	va = fix_mmap(1);
	fix_write(va, 1);
	page = isolate(va);
	assert_true(add_to_swap(fix.m, page));
	flushes = null_stats(fix.w)->nr_tlb_flushes;
	assert_int_equal(try_to_unmap(fix.m, page, TTU_BATCH_FLUSH), SWAP_SUCCESS);
	assert_int_equal(null_stats(fix.w)->nr_tlb_flushes - flushes, 1);
	assert_false(fix.t->mm->tlb_flush_batched);
	putback(page);
	fix_stop();
}

/* Who next changes entries of that mm, and counts on the TLB, pays for what reclaim still owes. */
TEST(mprotect_pays_for_an_owed_flush)
{
	u64 va, flushes;

	fix_start(1, 2048, "6.18", NULL);
	va = fix_mmap(2);
	fix_write(va, 1);
	fix.t->mm->tlb_flush_batched = true;
	flushes = null_stats(fix.w)->nr_tlb_flushes;
	assert_int_equal(do_mprotect(fix.m, va, PAGE_SIZE, MM_PROT_READ), 0);
	assert_int_equal(null_stats(fix.w)->nr_tlb_flushes - flushes,
	                 2); /* the owed one, its own */
	assert_false(fix.t->mm->tlb_flush_batched);
	fix_stop();
}

TEST_MAIN("rmap")
