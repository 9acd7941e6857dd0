/*
 * Huge pages and large folios that move whole, on machines of two nodes.
 *
 * Aim: what is moved stays one page, with its contents, entries, locks and places in caches; where there is no room
 * for one it is split, and its pages move; who meets a migration entry of a huge page waits, copies, moves, cuts or
 * drops it. Method: small simulated machines with checked contents and audits. Entries are looked at in page tables,
 * also in the middle of a migration, whose two halves the test then does itself.
 */
#include "tests/machine/stage.h"

#include "core/huge_memory.h"
#include "core/migrate.h"
#include "core/mlock.h"

#define HUGE MB(2)
#define NR 512

static void begin(u32 nr_cpus)
{
	stage_begin("6.18", nr_cpus, 2, 12288 + 4096);
	hw_add_flash(stage.hw, MB(16));
	hw_add_files(stage.hw, MB(32));
	stage.knobs.overcommit_memory = OVERCOMMIT_ALWAYS;
	stage.knobs.thp_enabled = THP_ALWAYS;
}

static void play(stage_fn fn)
{
	stage_build();
	stage_play(fn);
	stage_strike();
}

static u64 page[NR];
static s32 node[NR];
static s32 status[NR];

/* move_pages() of the @nr pages from @va on. */
static long move(u64 va, u32 nr, s32 to, int flags)
{
	for (u32 i = 0; i < nr; i++) {
		page[i] = va + PAGES(i);
		node[i] = to;
		status[i] = -1000;
	}
	return do_move_pages(stage.m, nr, page, node, status, flags);
}

/* The second-level entry of @va. */
static pte_t pmd_of(const struct task *t, u64 va)
{
	pte_t *pmd;

	BUG_ON(!pt_find_pmd(stage.m, t->mm, va, &pmd));
	return *pmd;
}

/* The page at @va, by whichever entry. */
static struct page *page_at(const struct task *t, u64 va)
{
	pte_t pte = pmd_of(t, va);

	if (!pmd_leaf(pte))
		pte = *pt_entry(stage.m, (u32)pte_pfn(pte), va);
	BUG_ON(!pte_present(pte));
	return pfn_to_page(stage.m, pte_pfn(pte));
}

static bool is_huge_on(const struct task *t, u64 va, u32 nid)
{
	pte_t pmd = pmd_of(t, va);

	return pte_huge(pmd) && page_nid(pfn_to_page(stage.m, pte_pfn(pmd))) == nid;
}

/* Are the @nr pages from @va on parts of large folios on @nid, as they were at the beginning? */
static bool are_large_on(const struct task *t, u64 va, u32 nr, unsigned int order, u32 nid)
{
	for (u32 i = 0; i < nr; i++) {
		const struct page *p = page_at(t, va + PAGES(i));
		const struct page *head = p - (page_is_tail(p) ? p->head_distance : 0);

		if (compound_order(head) != order || page_nid(head) != nid ||
		    (u32)(p - head) != i % (1u << order))
			return false;
	}
	return true;
}

static u64 mapped(u64 len)
{
	u64 va = 0;

	stage.result |= do_mmap(stage.m, len + HUGE, RW, 0, &va);
	return ALIGN(va, HUGE);
}

static u64 filled(u64 len)
{
	u64 va = mapped(len);

	stage.result |= mm_access(stage.m, va, len, WORLD_FILL, 0);
	return va;
}

static void nap(u64 ns)
{
	world_syscall_enter();
	world_sleep(ns);
	world_syscall_exit();
}

/* ---- whole ---- */

/* The head is taken when the first address is met; the second is then on no list, and the rest are there already. */
static void there_and_back(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(HUGE);

	(void)arg;
	BUG_ON(!is_huge_on(t, va, 0));
	BUG_ON(move(va, 4, 1, MM_MPOL_MF_MOVE));
	BUG_ON(status[0] != 1 || status[1] != -EBUSY || status[2] != 1 || status[3] != 1);
	BUG_ON(!is_huge_on(t, va, 1));
	BUG_ON(stage_event(PGMIGRATE_SUCCESS) != NR || stage_event(THP_MIGRATION_SUCCESS) != 1);
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
	/* A page in the middle stands for all of it. */
	BUG_ON(move(va + PAGES(300), 1, 0, MM_MPOL_MF_MOVE) || status[0]);
	BUG_ON(!is_huge_on(t, va, 0));
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
	stage.result |= mm_access(m, va, HUGE, WORLD_FILL, 7);

	/* By nodes, and by policy. */
	BUG_ON(do_migrate_pages(m, 1, 2));
	BUG_ON(!is_huge_on(t, va, 1));
	BUG_ON(do_mbind_flags(m, va, HUGE, MM_MPOL_BIND, 1, MM_MPOL_MF_MOVE | MM_MPOL_MF_STRICT));
	BUG_ON(!is_huge_on(t, va, 0));
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
	BUG_ON(stage_event(THP_MIGRATION_SUCCESS) != 4 || stage_event(PGMIGRATE_SUCCESS) != 4 * NR);
	BUG_ON(stage_event(THP_SPLIT_PAGE) || stage_event(THP_SPLIT_PMD));
	BUG_ON(stage_item(NR_ANON_THPS) != 1);
}

TEST(a_huge_page_moves_whole)
{
	begin(1);
	play(there_and_back);
}

/* A PMD entry that has become ptes: they all do, without the page being split. */
static void mapped_by_ptes(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(HUGE);

	(void)arg;
	stage.result |= do_mprotect(m, va + PAGES(7), PAGE_SIZE, MM_PROT_READ);
	BUG_ON(pte_huge(pmd_of(t, va)));
	BUG_ON(move(va + PAGES(9), 1, 1, MM_MPOL_MF_MOVE) || status[0] != 1);
	BUG_ON(!are_large_on(t, va, NR, HPAGE_PMD_ORDER, 1));
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
	BUG_ON(do_migrate_pages(m, 2, 1));
	BUG_ON(!are_large_on(t, va, NR, HPAGE_PMD_ORDER, 0));
	BUG_ON(mm_access(m, va + PAGES(7), PAGE_SIZE, WORLD_WRITE, 0) != -EFAULT);
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
	BUG_ON(stage_event(THP_MIGRATION_SUCCESS) != 2 || stage_event(THP_SPLIT_PAGE));
	BUG_ON(stage_event(THP_SPLIT_PMD) != 1);
}

TEST(so_does_one_that_ptes_map)
{
	begin(1);
	play(mapped_by_ptes);
}

static void of_64_kb(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(PAGES(64));

	(void)arg;
	BUG_ON(!are_large_on(t, va, 64, 4, 0));
	/* Eight addresses are of the first and one is of the third. */
	BUG_ON(move(va + PAGES(3), 8, 1, MM_MPOL_MF_MOVE) || status[0] != 1 || status[7] != 1);
	BUG_ON(move(va + PAGES(35), 1, 1, MM_MPOL_MF_MOVE));
	BUG_ON(!are_large_on(t, va, 16, 4, 1) || !are_large_on(t, va + PAGES(16), 16, 4, 0));
	BUG_ON(!are_large_on(t, va + PAGES(32), 16, 4, 1));
	stage.result |= mm_access(m, va, PAGES(64), WORLD_SCAN, 0);
	BUG_ON(do_migrate_pages(m, 1, 2) || !are_large_on(t, va, 64, 4, 1));
	stage.result |= mm_access(m, va, PAGES(64), WORLD_SCAN, 0);
	stage.result |= mm_access(m, va, PAGES(64), WORLD_FILL, 5);
	/* Those of 2 MiB only. */
	BUG_ON(stage_event(THP_MIGRATION_SUCCESS) || stage_event(PGMIGRATE_SUCCESS) != 64);
	BUG_ON(m->mthp_stat[4][MTHP_SPLIT]);
}

TEST(so_do_those_of_other_sizes)
{
	begin(1);
	stage.knobs.thp_2048kB = MTHP_NEVER;
	stage.knobs.thp_64kB = MTHP_ALWAYS;
	play(of_64_kb);
}

/* Swapped out, and mapped whole from the swap cache, where it still is. */
static void in_the_swap_cache(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(PAGES(64));

	(void)arg;
	/* One that is being written stays: it is looked for before the write has ended. */
	stage.result |= do_madvise(m, va, PAGES(64), MM_MADV_PAGEOUT);
	stage.result |= mm_access(m, va, PAGES(64), WORLD_READ, 0);
	BUG_ON(!page_test(compound_head(page_at(t, va)), PG_swapcache));
	BUG_ON(do_migrate_pages(m, 1, 2));
	BUG_ON(!are_large_on(t, va, 64, 4, 1));
	BUG_ON(!page_test(compound_head(page_at(t, va)), PG_swapcache));
	stage.result |= mm_access(m, va, PAGES(64), WORLD_SCAN, 0);
	stage.result |= mm_access(m, va, PAGES(64), WORLD_FILL, 3);
}

TEST(one_in_the_swap_cache_takes_its_slots_along)
{
	begin(1);
	stage.knobs.thp_2048kB = MTHP_NEVER;
	stage.knobs.thp_64kB = MTHP_ALWAYS;
	play(in_the_swap_cache);
}

/* ---- locked ---- */

static void locked(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(HUGE);

	(void)arg;
	stage.result |= do_mlock(m, va, HUGE);
	for (s32 to = 1; to >= 0; to--) {
		BUG_ON(move(va, 1, to, MM_MPOL_MF_MOVE));
		BUG_ON(!is_huge_on(t, va, (u32)to) || stage_item(NR_MLOCK) != NR);
		world_syscall_enter();
		lru_add_drain(m);
		world_syscall_exit();
		BUG_ON(stage_item(NR_UNEVICTABLE) != NR);
	}
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
	stage.result |= do_munlock(m, va, HUGE);
	BUG_ON(stage_item(NR_MLOCK) || stage_item(NR_UNEVICTABLE));
}

/* By two: one who unlocks it does not do so for the other. */
static void child_locks(struct task *t, void *arg)
{
	u64 va = *(u64 *)arg;

	(void)t;
	stage.result |= do_mlock2(stage.m, va, HUGE, MM_MLOCK_ONFAULT);
	nap(S(2));
	stage.result |= do_munlock(stage.m, va, HUGE);
	BUG_ON(stage_item(NR_MLOCK) != NR || stage_item(NR_UNEVICTABLE) != NR);
}

static void locked_by_two(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(HUGE);
	struct task *child;

	(void)arg;
	stage.result |= do_fork(m, "child", child_locks, &va, &child);
	task_start(child, -1);
	nap(S(1));
	stage.result |= do_mlock2(m, va, HUGE, MM_MLOCK_ONFAULT);
	BUG_ON(move(va, 1, 1, MM_MPOL_MF_MOVE_ALL) || status[0] != 1);
	BUG_ON(stage_item(NR_MLOCK) != NR || stage_item(NR_UNEVICTABLE) != NR);
	stage.result |= do_wait(child);
	BUG_ON(!page_test(page_at(t, va), PG_mlocked));
	stage.result |= do_munlock(m, va, HUGE);
	BUG_ON(stage_item(NR_MLOCK) || stage_item(NR_UNEVICTABLE));
}

TEST(who_has_locked_one_is_counted_when_it_has_moved)
{
	begin(1);
	play(locked_by_two);
}

TEST(a_locked_one_stays_locked)
{
	begin(1);
	play(locked);
	begin(1);
	stage.knobs.mlock_isolate = MLOCK_ISOLATE_NOW;
	play(locked);
}

/* ---- shared ---- */

static void child_reads(struct task *t, void *arg)
{
	u64 va = *(u64 *)arg;

	(void)t;
	stage.result |= mm_access(stage.m, va, HUGE, WORLD_SCAN, 0);
	nap(S(2));
	stage.result |= mm_access(stage.m, va, HUGE, WORLD_SCAN, 0);
	stage.result |= mm_access(stage.m, va, PAGE_SIZE, WORLD_WRITE, 1);
}

/* Whoever maps it, by a PMD entry or by ptes, goes along. */
static void shared(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(HUGE);
	struct task *child;

	(void)arg;
	stage.result |= do_fork(m, "child", child_reads, &va, &child);
	task_start(child, -1);
	nap(S(1));
	BUG_ON(move(va, 1, 1, MM_MPOL_MF_MOVE) || status[0] != -EACCES);
	BUG_ON(do_mbind_flags(m, va, HUGE, MM_MPOL_BIND, 2, MM_MPOL_MF_MOVE | MM_MPOL_MF_STRICT));
	BUG_ON(!is_huge_on(t, va, 0));
	BUG_ON(move(va, 1, 1, MM_MPOL_MF_MOVE_ALL) || status[0] != 1);
	BUG_ON(!is_huge_on(t, va, 1) || !is_huge_on(child, va, 1));
	BUG_ON(pte_write(pmd_of(t, va)));
	stage.result |= do_mprotect(m, va, PAGES(8), MM_PROT_READ);
	BUG_ON(pte_huge(pmd_of(t, va)) || !is_huge_on(child, va, 1));
	BUG_ON(move(va + PAGES(100), 1, 0, MM_MPOL_MF_MOVE) || status[0] != -EACCES);
	BUG_ON(move(va + PAGES(100), 1, 0, MM_MPOL_MF_MOVE_ALL) || status[0]);
	BUG_ON(!are_large_on(t, va, NR, HPAGE_PMD_ORDER, 0) || !is_huge_on(child, va, 0));
	BUG_ON(page_at(t, va) != page_at(child, va));
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
	stage.result |= do_wait(child);
	/* The child has written: its copies are gone with it, and the page is the parent's alone. */
	BUG_ON(move(va + PAGES(200), 1, 1, MM_MPOL_MF_MOVE) || status[0] != 1);
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
	BUG_ON(stage_event(THP_SPLIT_PAGE));
}

TEST(one_that_others_map_moves_only_for_who_may_and_with_all)
{
	begin(1);
	play(shared);
}

/* ---- where there is no room ---- */

/* Node 1 is full but for some pages far from each other. */
static void cut_node_1(void)
{
	struct machine *m = stage.m;
	u64 nr = 0;
	u64 va;

	for (u32 i = 0; i < MAX_NR_ZONES; i++)
		nr += (u64)zone_page_state(&m->node[1].zone[i], NR_FREE_PAGES);
	nr -= 300;
	stage.result |= do_mmap(m, PAGES(nr), RW, 0, &va);
	stage.result |= do_madvise(m, va, PAGES(nr), MM_MADV_NOHUGEPAGE);
	stage.result |= do_set_mempolicy(m, MM_MPOL_BIND, 2);
	stage.result |= mm_access(m, va, PAGES(nr), WORLD_FILL, 0);
	stage.result |= do_set_mempolicy(m, MM_MPOL_DEFAULT, 0);
	/* So that nothing can be moved together. */
	stage.result |= do_mlock(m, va, PAGES(nr));
	for (u64 i = 0; i + 2 < nr; i += 3)
		stage.result |= do_munmap(m, va + PAGES(i), PAGE_SIZE);
}

static void no_room(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(HUGE);

	(void)t, (void)arg;
	cut_node_1();
	BUG_ON(move(va, 1, 1, MM_MPOL_MF_MOVE) || status[0] != 1);
	BUG_ON(stage_event(THP_MIGRATION_SPLIT) != 1 || stage_event(THP_MIGRATION_FAIL) != 1);
	BUG_ON(stage_event(THP_MIGRATION_SUCCESS) || stage_event(THP_SPLIT_PAGE) != 1);
	BUG_ON(stage_event(PGMIGRATE_SUCCESS) != NR || stage_event(PGMIGRATE_FAIL));
	for (u32 i = 0; i < NR; i++)
		BUG_ON(page_nid(page_at(t, va + PAGES(i))) != 1);
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
}

TEST(where_there_is_no_huge_page_it_is_split_and_its_pages_move)
{
	begin(1);
	stage.knobs.compact_unevictable = 0;
	play(no_room);
}

/* ---- what cannot be moved, or had better be split ---- */

static void pinned(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(HUGE);
	struct page *head = page_at(t, va);

	(void)arg;
	world_syscall_enter();
	lru_add_drain(m);
	get_page(head);
	world_syscall_exit();
	/* One was not moved; of the statuses nothing is known. */
	BUG_ON(move(va, 1, 1, MM_MPOL_MF_MOVE) != 1 || status[0] != -1000);
	BUG_ON(!is_huge_on(t, va, 0) || page_at(t, va) != head || !pte_write(pmd_of(t, va)));
	BUG_ON(stage_event(THP_MIGRATION_FAIL) != 1 || stage_event(PGMIGRATE_FAIL) != NR);
	BUG_ON(do_migrate_pages(m, 1, 2) != 1);
	BUG_ON(stage_event(THP_SPLIT_PAGE) || stage_event(THP_MIGRATION_SPLIT));
	world_syscall_enter();
	put_page(m, head);
	world_syscall_exit();
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
	BUG_ON(move(va, 1, 1, MM_MPOL_MF_MOVE) || status[0] != 1);
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
}

TEST(a_pinned_one_stays_as_it_is)
{
	begin(1);
	play(pinned);
}

/* That it was to be split anyway is no failure, although it counts as one if something else has failed. */
static void in_part(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(HUGE);

	(void)arg;
	stage.result |= do_munmap(m, va, PAGES(5));
	BUG_ON(stage_event(THP_DEFERRED_SPLIT_PAGE) != 1);
	BUG_ON(do_migrate_pages(m, 1, 2));
	BUG_ON(stage_event(THP_MIGRATION_SPLIT) != 1 || stage_event(THP_MIGRATION_FAIL) != 1);
	/* Five are freed, as nobody has them any more. That counts as success. */
	BUG_ON(stage_event(PGMIGRATE_SUCCESS) != NR || stage_event(PGMIGRATE_FAIL));
	for (u32 i = 5; i < NR; i++)
		BUG_ON(page_nid(page_at(t, va + PAGES(i))) != 1 ||
		       page_is_compound(page_at(t, va + PAGES(i))));
	stage.result |= mm_access(m, va + PAGES(5), HUGE - PAGES(5), WORLD_SCAN, 0);
}

TEST(one_of_which_a_part_is_unmapped_is_split_first)
{
	begin(1);
	play(in_part);
}

/* ---- files ---- */

static void of_a_file(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va, done, dirty;
	u32 fd;

	(void)arg;
	stage.result |= do_open(m, stage.file, &fd);
	stage.result |= do_mmap_file(m, fd, 0, PAGES(NR), RW, MM_MAP_SHARED, &va);
	stage.result |= do_pread(m, fd, 0, PAGES(NR), &done);
	stage.result |= do_pwrite(m, fd, PAGES(70), PAGES(10), &done);
	stage.result |= mm_access(m, va, PAGES(NR), WORLD_READ, 0);
	dirty = stage_item(NR_FILE_DIRTY);
	BUG_ON(!dirty || !page_is_compound(page_at(t, va + PAGES(70))));
	/* A folio is named by each of its pages, of which the first two tell. */
	for (u32 i = 0; i < NR; i += compound_nr(compound_head(page_at(t, va + PAGES(i))))) {
		u32 nr = compound_nr(compound_head(page_at(t, va + PAGES(i))));

		BUG_ON(move(va + PAGES(i), 2, 1, MM_MPOL_MF_MOVE) || status[0] != 1);
		BUG_ON(compound_nr(compound_head(page_at(t, va + PAGES(i)))) != nr);
		BUG_ON(page_nid(page_at(t, va + PAGES(i))) != 1);
	}
	BUG_ON(stage_item(NR_FILE_DIRTY) != dirty || stage_event(PGMIGRATE_SUCCESS) != NR);
	stage.result |= mm_access(m, va, PAGES(NR), WORLD_SCAN, 0);
	BUG_ON(do_migrate_pages(m, 2, 1));
	BUG_ON(stage_item(NR_FILE_DIRTY) != dirty || stage_event(PGMIGRATE_SUCCESS) != 2 * NR);
	stage.result |= mm_access(m, va + PAGES(100), PAGES(100), WORLD_FILL, 9);
	BUG_ON(do_migrate_pages(m, 1, 2));
	stage.result |= do_fsync(m, fd);
	BUG_ON(stage_item(NR_FILE_DIRTY));
	stage.result |= do_pread(m, fd, 0, PAGES(NR), &done);
	stage.result |= mm_access(m, va, PAGES(NR), WORLD_SCAN, 0);
	stage.result |= do_close(m, fd);
}

TEST(large_folios_of_files_take_their_dirty_blocks_along)
{
	for (u32 heads = 0; heads < 2; heads++) {
		begin(1);
		stage.knobs.buffer_heads = heads ? KNOB_ON : KNOB_OFF;
		stage_build();
		stage_file(NR, false);
		stage_play(of_a_file);
		stage_strike();
	}
}

/* ---- in the middle ---- */

/* The first half of a move, of @va's page to itself: its PMD entry is a migration entry. */
static struct page *stop_in_the_middle(struct task *t, u64 va)
{
	struct machine *m = stage.m;
	struct page *head = page_at(t, va);

	world_syscall_enter();
	lru_add_drain(m);
	get_page(head);
	lock_page(m, head);
	try_to_migrate_in(m, head, find_vma(t->mm, va));
	world_syscall_exit();
	BUG_ON(page_mapped(head) || head->refcount != 1 || !pmd_migration(pmd_of(t, va)));
	return head;
}

/* The second half, in what @mm has in the 2 MiB at @va. */
static void map_again(struct mm_struct *mm, struct page *head, u64 va)
{
	struct vm_area_struct *vma;

	world_syscall_enter();
	for (vma = find_vma(mm, va); vma && vma->vm_start < va + HUGE; vma = vma_next(mm, vma))
		if (vma->vm_pgoff < head->index + NR &&
		    head->index < vma->vm_pgoff + vma_pages(vma))
			remove_migration_pte_in(stage.m, vma, head, head);
	world_syscall_exit();
}

static void move_is_over(struct page *head)
{
	world_syscall_enter();
	unlock_page(stage.m, head);
	put_page(stage.m, head);
	world_syscall_exit();
}

static void protected(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(HUGE);
	struct page *head = stop_in_the_middle(t, va);

	(void)arg;
	BUG_ON(!(pmd_of(t, va).v & PTE_MIGRATION_WRITE));
	/* Where it is is not known, nor is it to be had. */
	BUG_ON(move(va, 1, 1, MM_MPOL_MF_MOVE) || status[0] != -ENOENT);
	BUG_ON(do_migrate_pages(m, 1, 2) != 1);
	stage.result |= do_mprotect(m, va, HUGE, MM_PROT_READ);
	stage.result |= do_mprotect(m, va, HUGE, RW);
	BUG_ON(!pmd_migration(pmd_of(t, va)) || pmd_of(t, va).v & PTE_MIGRATION_WRITE);
	map_again(t->mm, head, va);
	BUG_ON(!pte_huge(pmd_of(t, va)) || pte_write(pmd_of(t, va)));
	move_is_over(head);
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
	stage.result |= mm_access(m, va, HUGE, WORLD_WRITE, 0);
	BUG_ON(stage_event(THP_SPLIT_PMD) || stage_item(NR_ANON_THPS) != 1);

	/* In part: 512 migration entries. */
	head = stop_in_the_middle(t, va);
	stage.result |= do_mprotect(m, va + PAGES(4), PAGES(4), MM_PROT_READ);
	BUG_ON(pmd_leaf(pmd_of(t, va)) || stage_event(THP_SPLIT_PMD) != 1);
	BUG_ON(stage_item(NR_ANON_MAPPED));
	map_again(t->mm, head, va);
	BUG_ON(!are_large_on(t, va, NR, HPAGE_PMD_ORDER, 0));
	BUG_ON(stage_item(NR_ANON_MAPPED) != NR);
	move_is_over(head);
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
	stage.result |= mm_access(m, va, PAGES(4), WORLD_WRITE, 0);
	BUG_ON(mm_access(m, va + PAGES(4), 1, WORLD_WRITE, 0) != -EFAULT);
}

TEST(its_migration_entry_can_be_protected_and_cut)
{
	begin(1);
	play(protected);
}

static void unmapped(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(2 * HUGE);
	struct page *head = stop_in_the_middle(t, va);

	(void)arg;
	BUG_ON(t->mm->rss[MM_ANONPAGES].v != 2 * NR);
	stage.result |= do_munmap(m, va, HUGE);
	BUG_ON(t->mm->rss[MM_ANONPAGES].v != NR);
	move_is_over(head);
	BUG_ON(stage_item(NR_ANON_THPS) != 1);

	va += HUGE;
	head = stop_in_the_middle(t, va);
	stage.result |= do_madvise(m, va + PAGES(100), PAGES(12), MM_MADV_DONTNEED);
	BUG_ON(t->mm->rss[MM_ANONPAGES].v != NR - 12);
	map_again(t->mm, head, va);
	move_is_over(head);
	BUG_ON(!are_large_on(t, va, 100, HPAGE_PMD_ORDER, 0));
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
}

TEST(it_can_be_dropped_whole_or_in_part)
{
	begin(1);
	play(unmapped);
}

static void advised(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(HUGE);
	struct page *head = stop_in_the_middle(t, va);
	pte_t entry = pmd_of(t, va);

	(void)arg;
	for (u32 part = 0; part < 2; part++) {
		u64 len = part ? PAGES(100) : HUGE;

		stage.result |= do_madvise(m, va, len, MM_MADV_FREE);
		stage.result |= do_madvise(m, va, len, MM_MADV_COLD);
		stage.result |= do_madvise(m, va, len, MM_MADV_PAGEOUT);
		stage.result |= do_madvise(m, va, len, MM_MADV_WILLNEED);
	}
	BUG_ON(pmd_of(t, va).v != entry.v);
	/* Locked meanwhile, or unlocked: counted by who maps it again. */
	for (u32 lock = 0; lock < 2; lock++) {
		stage.result |= do_mlock2(m, va, HUGE, MM_MLOCK_ONFAULT);
		if (!lock)
			stage.result |= do_munlock(m, va, HUGE);
		BUG_ON(pmd_of(t, va).v != entry.v || stage_item(NR_MLOCK));
		map_again(t->mm, head, va);
		move_is_over(head);
		BUG_ON(stage_item(NR_MLOCK) != (lock ? NR : 0));
		stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
		head = stop_in_the_middle(t, va);
		BUG_ON(stage_item(NR_MLOCK));
	}
	map_again(t->mm, head, va);
	move_is_over(head);
	BUG_ON(stage_item(NR_MLOCK) != NR || stage_event(THP_SPLIT_PMD));
	stage.result |= do_munlock(m, va, HUGE);
	BUG_ON(stage_item(NR_MLOCK));
}

TEST(advice_and_mlock_pass_over_it)
{
	begin(1);
	play(advised);
}

static void remapped(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(HUGE);
	u64 to = mapped(2 * HUGE);
	struct page *head = stop_in_the_middle(t, va);

	(void)arg;
	stage.result |= do_mremap(m, va, HUGE, HUGE, MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED, &to);
	BUG_ON(!pmd_migration(pmd_of(t, to)) || !pte_none(pmd_of(t, va)));
	map_again(t->mm, head, to);
	move_is_over(head);
	BUG_ON(!pte_huge(pmd_of(t, to)) || stage_event(THP_SPLIT_PMD));
	stage.result |= mm_access(m, to, HUGE, WORLD_SCAN, 0);

	/* Where no huge entry can be it becomes ptes, in two tables. */
	va = to;
	to = mapped(2 * HUGE) + PAGES(12);
	head = stop_in_the_middle(t, va);
	stage.result |= do_mremap(m, va, HUGE, HUGE, MM_MREMAP_MAYMOVE | MM_MREMAP_FIXED, &to);
	map_again(t->mm, head, to);
	move_is_over(head);
	BUG_ON(!are_large_on(t, to, NR, HPAGE_PMD_ORDER, 0) || stage_event(THP_SPLIT_PMD) != 1);
	stage.result |= mm_access(m, to, HUGE, WORLD_SCAN, 0);
	BUG_ON(move(to, 1, 1, MM_MPOL_MF_MOVE) || status[0] != 1);
	BUG_ON(!are_large_on(t, to, NR, HPAGE_PMD_ORDER, 1));
	stage.result |= mm_access(m, to, HUGE, WORLD_SCAN, 0);
}

TEST(mremap_takes_it_along)
{
	begin(1);
	play(remapped);
}

static void child_writes(struct task *t, void *arg)
{
	u64 va = *(u64 *)arg;

	(void)t;
	stage.result |= mm_access(stage.m, va, HUGE, WORLD_WRITE, 3);
	stage.result |= mm_access(stage.m, va, HUGE, WORLD_SCAN, 0);
}

static void child_ends(struct task *t, void *arg)
{
	(void)t, (void)arg;
}

static void forked(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	u64 va = filled(HUGE);
	struct page *head = stop_in_the_middle(t, va);
	struct task *child[2];

	(void)arg;
	stage.result |= do_fork(m, "ends", child_ends, &va, &child[0]);
	stage.result |= do_fork(m, "writes", child_writes, &va, &child[1]);
	/* Both, and the parent, have it for reading only. */
	BUG_ON(pmd_of(t, va).v & PTE_MIGRATION_WRITE);
	BUG_ON(pmd_of(child[1], va).v != pmd_of(t, va).v);
	task_start(child[0], -1);
	stage.result |= do_wait(child[0]); /* which drops its own */
	task_start(child[1], -1);
	nap(MS(10)); /* it waits for the page */
	BUG_ON(!pmd_migration(pmd_of(child[1], va)));
	map_again(t->mm, head, va);
	map_again(child[1]->mm, head, va);
	move_is_over(head);
	BUG_ON(!pte_huge(pmd_of(t, va)) || pte_write(pmd_of(t, va)));
	stage.result |= do_wait(child[1]);
	stage.result |= mm_access(m, va, HUGE, WORLD_SCAN, 0);
	stage.result |= mm_access(m, va, HUGE, WORLD_WRITE, 0);
}

TEST(a_fork_copies_it_and_who_faults_there_waits)
{
	begin(2);
	play(forked);
}

/* ---- all at once ---- */

static u64 common;
static bool over;

/* Another thread writes, cuts and fills up what is being moved. */
static void writes(struct task *t, void *arg)
{
	struct machine *m = stage.m;

	(void)t, (void)arg;
	for (u32 i = 0; i < 300; i++) {
		u64 at = common + PAGES(i * 37 % NR);

		stage.result |= mm_access(m, at, PAGE_SIZE, WORLD_WRITE, i + 1);
		if (i % 60 == 59)
			stage.result |= do_madvise(m, at, PAGE_SIZE, MM_MADV_DONTNEED);
		if (i % 100 == 99) {
			stage.result |= do_madvise(m, common, HUGE, MM_MADV_DONTNEED);
			stage.result |= mm_access(m, common, HUGE, WORLD_FILL, 0);
		}
		world_user_compute(20000);
	}
	over = true;
}

static void moves(struct task *t, void *arg)
{
	struct machine *m = stage.m;
	struct task *thread;

	(void)arg;
	common = filled(HUGE);
	over = false;
	world_syscall_enter();
	thread = task_create(m, "thread", t, writes, NULL);
	world_syscall_exit();
	BUG_ON(!thread);
	task_start(thread, -1);
	for (u32 i = 0; !READ_ONCE(over); i++)
		BUG_ON(do_migrate_pages(m, 1 + i % 2, 2 - i % 2) < 0);
	stage.result |= do_wait(thread);
	stage.result |= mm_access(m, common, HUGE, WORLD_SCAN, 0);
	BUG_ON(stage_event(THP_MIGRATION_SUCCESS) < 10);
}

TEST(nothing_is_lost_while_a_thread_writes)
{
	for (u64 seed = 1; seed <= 4; seed++) {
		begin(2);
		stage.opt.seed = seed;
		stage.opt.explore = seed % 2;
		play(moves);
	}
}

TEST_MAIN("move_huge")
