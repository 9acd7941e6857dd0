/*
 * fork: who is in whose anon_vma, what is shared, copied and freed.
 *
 * The shapes are those of Linux mm/rmap.c. nr_chains of an anon_vma is the number of VMAs that a walk
 * of its pages may have to visit.
 */
#include "tests/core/mm_fixture.h"

static struct task *fork_child(const char *name)
{
	struct task *child = NULL;

	assert_int_equal(do_fork(fix.m, name, fix_body, NULL, &child), 0);
	assert_non_null(child);
	return child;
}

static struct vm_area_struct *vma_of(const struct task *t, u64 va)
{
	struct vm_area_struct *vma = find_vma(t->mm, va);

	assert_true(vma && vma->vm_start <= va);
	return vma;
}

static struct anon_vma *own_anon_vma(const struct task *t, u64 va)
{
	return vma_of(t, va)->anon_vma;
}

static u64 chain_length(const struct task *t, u64 va)
{
	return list_count(&vma_of(t, va)->anon_vma_chain);
}

/* @child ends and is waited for by the test's task. */
static void end_and_wait(struct task *child)
{
	struct task *self = fix.t;

	fix_end(child);
	fix_become(self);
	assert_int_equal(do_wait(child), 0);
}

TEST(a_spawned_child_has_nothing_of_its_parents_memory)
{
	struct task *parent, *child = NULL;
	u64 va;

	fix_start(1, 2048, "6.18", NULL);
	parent = fix.t;
	va = fix_mmap(4);
	fix_write(va, 1);
	assert_int_equal(do_spawn(fix.m, "child", fix_body, NULL, &child), 0);
	assert_true(child->mm != parent->mm);
	assert_int_equal(child->mm->map_count, 0);
	assert_null(find_vma(child->mm, va));
	end_and_wait(child);
	fix_audit();
	fix_stop();
}

TEST(each_generation_has_an_anon_vma_of_its_own)
{
	struct task *parent, *child, *grandchild;
	struct anon_vma *a, *b, *c;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	parent = fix.t;
	va = fix_mmap(4);
	fix_write(va, 1);
	child = fork_child("child");
	fix_become(child);
	grandchild = fork_child("grandchild");

	a = own_anon_vma(parent, va);
	b = own_anon_vma(child, va);
	c = own_anon_vma(grandchild, va);
	assert_true(a != b && b != c && a != c);
	assert_ptr_equal(a->root, a);
	assert_ptr_equal(b->root, a);
	assert_ptr_equal(c->root, a);
	assert_ptr_equal(b->parent, a);
	assert_ptr_equal(c->parent, b);
	assert_int_equal(a->nr_chains, 3);
	assert_int_equal(b->nr_chains, 2);
	assert_int_equal(c->nr_chains, 1);
	/* degree: VMAs that point here and child anon_vmas; a root counts itself. */
	assert_int_equal(a->degree, 1 + 1 + 1);
	assert_int_equal(b->degree, 1 + 1);
	assert_int_equal(c->degree, 1);
	assert_int_equal(chain_length(parent, va), 1);
	assert_int_equal(chain_length(child, va), 2);
	assert_int_equal(chain_length(grandchild, va), 3);
	fix_audit();

	fix_become(parent);
	fix_end(grandchild);
	fix_become(parent);
	assert_int_equal(a->nr_chains, 2);
	assert_int_equal(b->degree, 1);
	task_put(grandchild);
	end_and_wait(child);
	assert_int_equal(a->nr_chains, 1);
	assert_int_equal(a->degree, 2);
	fix_stop();
}

/* "Parent with 100 children: 101 VMAs." */
TEST(the_parents_pages_lead_to_all_children)
{
	struct task *child[100];
	u64 va;

	fix_start(1, 8192, "4.0", NULL);
	va = fix_mmap(2);
	fix_write(va, 1);
	for (u32 i = 0; i < 100; i++)
		child[i] = fork_child("child");
	assert_int_equal(own_anon_vma(fix.t, va)->nr_chains, 101);
	assert_int_equal(fix_page(fix.t, va)->mapcount, 101);
	assert_int_equal(own_anon_vma(child[7], va)->nr_chains, 1);
	fix_audit();
	for (u32 i = 0; i < 100; i++)
		end_and_wait(child[i]);
	assert_int_equal(fix_page(fix.t, va)->mapcount, 1);
	fix_stop();
}

/*
 * Parent exits after each fork. Since 3.19 a clone takes over an ancestor's anon_vma whose VMA is gone
 * and that has at most one child: with root A, its child B and B's child C, the next generation finds B
 * (degree 1, C) free, the one after it C, and so on: never more than three. Without it the chain would
 * be one longer in each generation.
 */
TEST(chains_of_a_line_of_forks_stay_short)
{
	struct task *t;
	u64 va;

	fix_start(1, 4096, "4.0", NULL);
	va = fix_mmap(2);
	fix_write(va, 77);
	for (u32 i = 0; i < 20; i++) {
		struct task *parent = fix.t;

		t = fork_child("next");
		fix_end(parent);
		task_put(parent);
		fix_become(t);
		assert_int_equal(chain_length(t, va), min_t(u64, i + 2, 3));
		assert_int_equal(fix_read(va), 77);
		fix_audit();
	}
	assert_true(pool_live(&fix.m->slab[SLAB_ANON_VMA].pool) <= 3);
	fix_stop();
}

/* Split VMAs share anon_vmas: a fork of n pieces puts n VMAs into the parent's tree. */
TEST(pieces_of_a_vma_stay_in_one_family)
{
	struct task *child;
	u64 va;

	fix_start(1, 4096, "4.0", NULL);
	va = fix_mmap(32);
	for (u32 i = 0; i < 32; i++)
		fix_write(va + i * PAGE_SIZE, i + 1);
	for (u32 i = 1; i < 32; i += 2)
		assert_int_equal(do_munmap(fix.m, va + i * PAGE_SIZE, PAGE_SIZE), 0);
	assert_int_equal(own_anon_vma(fix.t, va)->nr_chains, 16);
	child = fork_child("child");
	assert_int_equal(own_anon_vma(fix.t, va)->nr_chains, 32);
	/* Each piece of the child is a fork of its own: the anon_vmas differ. */
	assert_ptr_not_equal(own_anon_vma(child, va), own_anon_vma(child, va + 2 * PAGE_SIZE));
	fix_audit();
	end_and_wait(child);
	for (u32 i = 0; i < 32; i += 2)
		assert_int_equal(fix_read(va + i * PAGE_SIZE), i + 1);
	fix_stop();
}

TEST(writes_after_fork_copy_once)
{
	struct task *parent, *child;
	struct page *page;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	parent = fix.t;
	va = fix_mmap(3);
	fix_write(va, 21);
	fix_write(va + PAGE_SIZE, 22);
	child = fork_child("child");
	page = fix_page(parent, va);
	assert_ptr_equal(fix_page(child, va), page);
	assert_int_equal(page->mapcount, 2);
	assert_false(pte_write(fix_pte(parent, va)));
	assert_false(pte_write(fix_pte(child, va)));
	assert_true(pte_dirty(fix_pte(child, va)));
	assert_false(pte_young(fix_pte(child, va)));
	assert_int_equal(fix_rss(child, MM_ANONPAGES), 2);

	fix_become(child);
	assert_int_equal(fix_read(va), 21);
	fix_write(va, 31);
	assert_int_equal(null_stats(fix.w)->nr_copied, 1);
	assert_int_equal(page->mapcount, 1);
	assert_int_equal(page_anon_vma(fix.m, fix_page(child, va))->nr_chains, 1);
	assert_int_equal(fix_read(va), 31);
	assert_int_equal(fix_read(va + PAGE_SIZE), 22);
	assert_int_equal(fix_read(va + 2 * PAGE_SIZE), 0);
	fix_audit();

	fix_become(parent);
	assert_int_equal(fix_read(va), 21);
	fix_write(va, 41); /* alone by now: no copy */
	assert_int_equal(null_stats(fix.w)->nr_copied, 1);
	assert_int_equal(fix_event(PGREUSE), 1);
	assert_int_equal(fix_rss(parent, MM_ANONPAGES), 2);
	assert_int_equal(fix_rss(child, MM_ANONPAGES), 2);
	end_and_wait(child);
	fix_write(va + PAGE_SIZE, 42); /* the child's share went with it */
	assert_int_equal(null_stats(fix.w)->nr_copied, 1);
	assert_int_equal(fix_read(va), 41);
	fix_stop();
}

/* Reused, a page belongs to its owner's anon_vma, and walks visit nobody else. */
TEST(a_reused_page_moves_to_the_writers_anon_vma)
{
	struct task *parent, *child;
	struct page *page;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	parent = fix.t;
	va = fix_mmap(1);
	fix_write(va, 1);
	child = fork_child("child");
	page = fix_page(parent, va);
	assert_int_equal(do_madvise(fix.m, va, PAGE_SIZE, MM_MADV_DONTNEED), 0);
	assert_ptr_equal(page_anon_vma(fix.m, page), own_anon_vma(parent, va));
	fix_become(child);
	fix_write(va, 2);
	assert_ptr_equal(fix_page(child, va), page);
	assert_ptr_equal(page_anon_vma(fix.m, page), own_anon_vma(child, va));
	fix_audit();
	fix_become(parent);
	end_and_wait(child);
	fix_stop();
}

TEST(swap_entries_are_shared_by_fork)
{
	struct task *parent, *child;
	long free;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	fix_swapon();
	free = get_nr_swap_pages(fix.m);
	parent = fix.t;
	va = fix_mmap(2);
	fix_write(va, 5);
	fix_write(va + PAGE_SIZE, 6);
	fix_swap_out(va, true);
	fix_swap_out(va + PAGE_SIZE, true);
	child = fork_child("child");
	assert_int_equal(fix_rss(child, MM_SWAPENTS), 2);
	assert_int_equal(swp_swapcount(fix.m, pte_to_swp_entry(fix_pte(child, va))), 2);
	swapfile_audit(fix.m);

	fix_become(child);
	fix_write(va, 15); /* shared: read back, then copied */
	assert_int_equal(null_stats(fix.w)->nr_copied, 1);
	assert_int_equal(fix_read(va + PAGE_SIZE), 6);
	fix_audit();
	swapfile_audit(fix.m);
	fix_become(parent);
	assert_int_equal(fix_read(va), 5);
	assert_int_equal(fix_read(va + PAGE_SIZE), 6);
	fix_write(va + PAGE_SIZE, 7);
	end_and_wait(child);
	assert_int_equal(fix_read(va + PAGE_SIZE), 7);
	assert_int_equal(do_madvise(fix.m, va, 2 * PAGE_SIZE, MM_MADV_DONTNEED), 0);
	assert_int_equal(get_nr_swap_pages(fix.m), free);
	swapfile_audit(fix.m);
	fix_stop();
}

/* A mapping that nobody wrote to has no anon_vma; its zero pages are not copied. */
TEST(unwritten_mappings_are_not_copied)
{
	struct task *child;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	va = fix_mmap(4);
	assert_int_equal(fix_read(va), 0);
	child = fork_child("child");
	assert_int_equal(child->mm->map_count, 1);
	assert_int_equal(child->mm->nr_tables, 1);
	assert_true(pte_none(fix_pte(child, va)));
	end_and_wait(child);
	fix_stop();
}

/* Every allocation of a fork fails once: nothing of the child is left, the parent is as before. */
TEST(a_fork_that_fails_leaves_nothing)
{
	static const enum world_fail fail[] = {WORLD_FAIL_TABLE, WORLD_FAIL_ANON_VMA};
	struct task *child = NULL;
	u32 nr_failed = 0;
	u64 va;

	fix_start(1, 4096, "4.0", NULL);
	va = fix_mmap(2 * 512 + 8);
	for (u32 i = 0; i < 3; i++)
		fix_write(va + i * 512 * PAGE_SIZE, i + 1);
	assert_int_equal(do_mprotect(fix.m, va + 600 * PAGE_SIZE, PAGE_SIZE, MM_PROT_READ), 0);
	for (u32 i = 0; i < ARRAY_SIZE(fail); i++) {
		for (u32 nth = 1; nth < 24; nth++) {
			int err;

			fix.w->fail_count[fail[i]] = 0;
			fix.w->fail_every[fail[i]] = nth;
			err = do_fork(fix.m, "child", fix_body, NULL, &child);
			fix.w->fail_every[fail[i]] = 0;
			if (err) {
				assert_int_equal(err, -ENOMEM);
				nr_failed++;
			} else {
				end_and_wait(child);
			}
			fix_audit();
			assert_true(list_is_singular(&fix.m->mms));
		}
	}
	assert_true(nr_failed > 10);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(fix_read(va + i * 512 * PAGE_SIZE), i + 1);
	fix_stop();
}

TEST(waiting_adds_the_childs_times)
{
	struct task *child;
	u64 u, s, cu, cs, u2, s2;
	u64 va;

	fix_start(1, 2048, "4.0", NULL);
	va = fix_mmap(64);
	fix_write(va, 1);
	child = fork_child("child");
	fix_become(child);
	assert_int_equal(mm_access(fix.m, va, 64 * PAGE_SIZE, WORLD_FILL, 0), 0);
	fix_end(child);
	task_times(child, &cu, &cs);
	assert_true(cu >= 64 * 180 && cs > 0); /* USER_PAGE each */
	fix_become(list_first_entry(&fix.m->tasks, struct task, tasks));
	task_times(fix.t, &u, &s);
	assert_int_equal(do_wait(child), 0);
	task_times(fix.t, &u2, &s2);
	assert_true(u2 >= u + cu && s2 >= s + cs);
	fix_stop();
}

/* ---- random families ---- */

#define FAMILY_MAX 6
#define FAMILY_PAGES 24

struct member {
	struct task *t;
	u32 value[FAMILY_PAGES];
};

/* Forks, writes, reads, swap-outs, zaps and exits at random; each member sees its own contents. */
static void random_family(const char *preset, u64 object)
{
	struct member member[FAMILY_MAX] = {0};
	struct rand_stream r;
	u32 nr = 1;
	u64 va;

	fix_start(2, 4096, preset, NULL);
	fix_swapon();
	va = fix_mmap(FAMILY_PAGES);
	member[0].t = fix.t;
	rand_init(&r, test_seed(), 7, object);
	for (u32 step = 0; step < 3000; step++) {
		struct member *me = &member[rand_below(&r, nr)];
		u32 page = (u32)rand_below(&r, FAMILY_PAGES);
		u64 at = va + page * PAGE_SIZE;
		u64 op = rand_below(&r, 100);

		null_set_cpu(fix.w, (u32)rand_below(&r, 2));
		fix_become(me->t);
		if (op < 40) {
			me->value[page] = step + 1;
			fix_write(at, step + 1);
		} else if (op < 70) {
			assert_int_equal(fix_read(at), me->value[page]);
		} else if (op < 85) {
			if (pte_present(fix_pte(me->t, at)) && !pte_special(fix_pte(me->t, at)))
				fix_swap_out(at, rand_below(&r, 2));
		} else if (op < 90) {
			assert_int_equal(do_madvise(fix.m, at, PAGE_SIZE, MM_MADV_DONTNEED), 0);
			me->value[page] = 0;
		} else if (op < 95 && nr < FAMILY_MAX) {
			member[nr] = *me;
			member[nr++].t = fork_child("member");
		} else if (op >= 97 && nr > 1) {
			struct task *t = me->t;

			*me = member[--nr];
			fix_end(t);
			task_put(t);
		}
		if (step % 16 == 0) {
			fix_audit();
			swapfile_audit(fix.m);
		}
	}
	while (nr > 1) {
		fix_end(member[--nr].t);
		task_put(member[nr].t);
	}
	fix_become(member[0].t);
	fix_stop();
}

TEST(random_families_keep_their_contents_4_0)
{
	random_family("4.0", 0);
}

TEST(random_families_keep_their_contents_6_18)
{
	random_family("6.18", 1);
}

TEST_MAIN("fork")
