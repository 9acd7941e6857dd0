/*
 * VMAs: placing, merging, splitting, protecting, the heap.
 *
 * Method: a model that knows of each page whether it is mapped and with which flags. Random calls are
 * made on the real thing and on the model, and after each the VMAs must be exactly the maximal runs of
 * pages with equal flags (as long as nothing was touched, so that anon_vmas do not keep any apart), and
 * new mappings must lie in the highest hole. A second run touches pages as well, and compares contents.
 */
#include "tests/core/mm_fixture.h"

#define MODEL_PAGES 600
#define MODEL_BASE (MMAP_BASE - MODEL_PAGES * PAGE_SIZE)

/* By page: its vm_flags and MAPPED, or 0; and what is in it. */
#define MAPPED (1u << 31)
static struct {
	u32 flags[MODEL_PAGES];
	u32 value[MODEL_PAGES];
	u32 nr_mapped;
	u32 nr_heap; /* pages */
} model;

static u64 model_va(u32 page)
{
	return MODEL_BASE + page * PAGE_SIZE;
}

/* The first page of the highest hole of @nr pages. */
static u32 model_find_hole(u32 nr)
{
	u32 run = 0;

	for (u32 i = MODEL_PAGES; i-- > 0;) {
		run = model.flags[i] ? 0 : run + 1;
		if (run == nr)
			return i;
	}
	fail_msg("the model has no hole of %u pages", nr);
	return 0;
}

static u32 model_prot_flags(int prot, u32 old)
{
	u32 flags = old & ~(u32)(VM_READ | VM_WRITE);

	flags |= prot & MM_PROT_READ ? VM_READ : 0;
	flags |= prot & MM_PROT_WRITE ? VM_WRITE : 0;
	if (prot & MM_PROT_WRITE && !(flags & VM_NORESERVE))
		flags |= VM_ACCOUNT;
	return flags | MAPPED;
}

static void model_check_runs(void)
{
	struct mm_struct *mm = fix.t->mm;
	struct vm_area_struct *vma = vma_next(mm, NULL);
	u32 nr = 0;

	if (model.nr_heap) {
		assert_non_null(vma);
		assert_int_equal(vma->vm_start, BRK_START);
		assert_int_equal(vma->vm_end, BRK_START + model.nr_heap * PAGE_SIZE);
		vma = vma_next(mm, vma);
	}
	for (u32 i = 0; i < MODEL_PAGES;) {
		u32 first = i;

		if (!model.flags[i]) {
			i++;
			continue;
		}
		while (i < MODEL_PAGES && model.flags[i] == model.flags[first])
			i++;
		assert_non_null(vma);
		assert_int_equal(vma->vm_start, model_va(first));
		assert_int_equal(vma->vm_end, model_va(i));
		assert_int_equal(vma->vm_flags | MAPPED, model.flags[first]);
		vma = vma_next(mm, vma);
		nr++;
	}
	assert_null(vma);
	assert_int_equal(mm->map_count, nr + !!model.nr_heap);
}

/* The same without the demand that neighbours have merged. */
static void model_check_pages(void)
{
	struct mm_struct *mm = fix.t->mm;

	for (u32 i = 0; i < MODEL_PAGES; i++) {
		struct vm_area_struct *vma = find_vma(mm, model_va(i));
		bool mapped = vma && vma->vm_start <= model_va(i);

		assert_int_equal(mapped, model.flags[i] != 0);
		if (mapped)
			assert_int_equal(vma->vm_flags | MAPPED, model.flags[i]);
	}
}

/* ---- random calls, on both ---- */

static void op_mmap(struct rand_stream *r)
{
	static const int prots[] = {MM_PROT_READ, MM_PROT_READ | MM_PROT_WRITE, MM_PROT_NONE};
	u32 nr = 1 + (u32)rand_below(r, 12);
	int prot = prots[rand_below(r, 3)];
	int flags = rand_below(r, 4) ? 0 : MM_MAP_NORESERVE;
	u32 hole;
	u64 va;

	if (model.nr_mapped > 200)
		return;
	hole = model_find_hole(nr);
	assert_int_equal(
		do_mmap(fix.m, nr * PAGE_SIZE - rand_below(r, PAGE_SIZE), prot, flags, &va), 0);
	assert_int_equal(va, model_va(hole));
	for (u32 i = hole; i < hole + nr; i++) {
		model.flags[i] = model_prot_flags(prot, flags ? VM_NORESERVE : 0);
		model.value[i] = 0;
	}
	model.nr_mapped += nr;
}

/* Some range that touches what is mapped. */
static void pick_range(struct rand_stream *r, u32 *first, u32 *nr)
{
	u32 low = MODEL_PAGES;

	while (low && (low == MODEL_PAGES || model.nr_mapped))
		if (model.flags[--low] && rand_below(r, 40) == 0)
			break;
	*nr = 1 + (u32)rand_below(r, 20);
	*first = min_t(u32, low, MODEL_PAGES - *nr);
}

static void op_munmap(struct rand_stream *r)
{
	u32 first, nr;

	pick_range(r, &first, &nr);
	assert_int_equal(do_munmap(fix.m, model_va(first), nr * PAGE_SIZE), 0);
	for (u32 i = first; i < first + nr; i++) {
		model.nr_mapped -= model.flags[i] != 0;
		model.flags[i] = 0;
	}
}

/* Changes what comes before the first hole; -ENOMEM if there is one. */
static void op_mprotect(struct rand_stream *r)
{
	static const int prots[] = {MM_PROT_READ, MM_PROT_READ | MM_PROT_WRITE, MM_PROT_NONE};
	int prot = prots[rand_below(r, 3)];
	u32 first, nr, i;
	int err;

	pick_range(r, &first, &nr);
	err = do_mprotect(fix.m, model_va(first), nr * PAGE_SIZE, prot);
	for (i = first; i < first + nr && model.flags[i]; i++)
		model.flags[i] = model_prot_flags(prot, model.flags[i]);
	assert_int_equal(err, i == first + nr ? 0 : -ENOMEM);
}

static void op_brk(struct rand_stream *r)
{
	u32 nr = (u32)rand_below(r, 30);
	u64 brk = BRK_START + nr * PAGE_SIZE;
	u64 now;

	assert_int_equal(do_brk(fix.m, brk, &now), 0);
	assert_int_equal(now, brk);
	model.nr_heap = nr;
}

/* Reads or writes one page: allowed, or -EFAULT. */
static void op_touch(struct rand_stream *r)
{
	u32 first, nr;
	bool write = rand_below(r, 2);
	u32 need = write ? VM_WRITE : VM_READ | VM_WRITE;
	int err;

	pick_range(r, &first, &nr);
	err = mm_access(fix.m, model_va(first), 1, write ? WORLD_WRITE : WORLD_READ, 0);
	if (!(model.flags[first] & need)) {
		assert_int_equal(err, -EFAULT);
		return;
	}
	assert_int_equal(err, 0);
	if (write) {
		model.value[first] = 1 + (u32)rand_below(r, 1000000);
		fix_write(model_va(first), model.value[first]);
	} else {
		assert_int_equal(fix_read(model_va(first)), model.value[first]);
	}
}

static void op_dontneed(struct rand_stream *r)
{
	u32 first, nr, holes = 0;
	int err;

	pick_range(r, &first, &nr);
	for (u32 i = first; i < first + nr; i++) {
		holes += !model.flags[i];
		model.value[i] = 0;
	}
	err = do_madvise(fix.m, model_va(first), nr * PAGE_SIZE, MM_MADV_DONTNEED);
	assert_int_equal(err, holes ? -ENOMEM : 0);
}

static void start(const char *preset)
{
	memset(&model, 0, sizeof(model));
	fix_start(1, 2048, preset, NULL);
}

static void vmas_match_the_model(const char *preset)
{
	struct rand_stream r;

	start(preset);
	rand_init(&r, test_seed(), 1, 0);
	for (u32 i = 0; i < 4000; i++) {
		u64 op = rand_below(&r, 10);

		if (op < 4)
			op_mmap(&r);
		else if (op < 6)
			op_munmap(&r);
		else if (op < 9)
			op_mprotect(&r);
		else
			op_brk(&r);
		model_check_runs();
		if (i % 64 == 0)
			fix_audit();
	}
	fix_stop();
}

TEST(untouched_vmas_are_the_models_runs_4_0)
{
	vmas_match_the_model("4.0");
}

TEST(untouched_vmas_are_the_models_runs_6_18)
{
	vmas_match_the_model("6.18");
}

static void contents_match_the_model(const char *preset)
{
	struct rand_stream r;

	start(preset);
	rand_init(&r, test_seed(), 2, 0);
	for (u32 i = 0; i < 6000; i++) {
		u64 op = rand_below(&r, 20);

		if (op < 4)
			op_mmap(&r);
		else if (op < 6)
			op_munmap(&r);
		else if (op < 9)
			op_mprotect(&r);
		else if (op < 10)
			op_dontneed(&r);
		else
			op_touch(&r);
		if (i % 32 == 0) {
			model_check_pages();
			fix_audit();
		}
	}
	fix_stop();
}

TEST(contents_survive_splits_merges_and_protections_4_0)
{
	contents_match_the_model("4.0");
}

TEST(contents_survive_splits_merges_and_protections_6_18)
{
	contents_match_the_model("6.18");
}

/* ---- by hand ---- */

TEST(bad_arguments_are_refused)
{
	u64 va = 1, now;

	start("4.0");
	assert_int_equal(do_mmap(fix.m, 0, MM_PROT_READ, 0, &va), -EINVAL);
	assert_int_equal(do_mmap(fix.m, TASK_SIZE + 1, MM_PROT_READ, 0, &va), -ENOMEM);
	assert_int_equal(do_mmap(fix.m, TASK_SIZE, MM_PROT_READ, 0, &va), -ENOMEM);
	assert_int_equal(va, 1);
	va = fix_mmap(4);
	assert_int_equal(do_munmap(fix.m, va + 1, PAGE_SIZE), -EINVAL);
	assert_int_equal(do_munmap(fix.m, va, 0), -EINVAL);
	assert_int_equal(do_munmap(fix.m, va, TASK_SIZE), -EINVAL);
	assert_int_equal(do_munmap(fix.m, va - 64 * PAGE_SIZE, PAGE_SIZE), 0); /* nothing there */
	assert_int_equal(do_mprotect(fix.m, va + 1, PAGE_SIZE, MM_PROT_READ), -EINVAL);
	assert_int_equal(do_mprotect(fix.m, va, 0, MM_PROT_READ), 0);
	assert_int_equal(do_mprotect(fix.m, va - PAGE_SIZE, PAGE_SIZE, MM_PROT_READ), -ENOMEM);
	assert_int_equal(do_brk(fix.m, 0, &now), 0);
	assert_int_equal(now, BRK_START);
	assert_int_equal(do_brk(fix.m, BRK_START - 1, &now), 0); /* as the system call: it stays */
	assert_int_equal(now, BRK_START);
	fix_stop();
}

TEST(the_largest_possible_mapping_fits)
{
	u64 va;

	start("4.0");
	assert_int_equal(do_mmap(fix.m, MMAP_BASE - MMAP_MIN_ADDR, MM_PROT_READ, 0, &va), 0);
	assert_int_equal(va, MMAP_MIN_ADDR);
	assert_int_equal(do_mmap(fix.m, PAGE_SIZE, MM_PROT_READ, 0, &va), -ENOMEM);
	fix_stop();
}

/* Holes in every second page of 2 * n pages leave n VMAs; the limit holds, and a hole at an end fits. */
TEST(there_are_at_most_65530_maps)
{
	u64 va;
	u32 n = MAX_MAP_COUNT;

	fix_start(1, 8192, "4.0", NULL); /* the VMAs alone fill 2,979 frames */
	assert_int_equal(do_mmap(fix.m, 2UL * n * PAGE_SIZE, MM_PROT_READ, 0, &va), 0);
	for (u64 i = 1; i < n; i++)
		assert_int_equal(do_munmap(fix.m, va + (2 * i - 1) * PAGE_SIZE, PAGE_SIZE), 0);
	/* n VMAs: n - 1 of one page, and the last of 3 - 1 pages. */
	assert_int_equal(fix.t->mm->map_count, n);
	assert_int_equal(do_munmap(fix.m, va, PAGE_SIZE), 0);
	assert_int_equal(fix.t->mm->map_count, n - 1);
	fix_audit();
	fix_stop();
}

/*
 * Two touched mappings with anon_vmas of their own cannot merge; one touched and one fresh can. The
 * second touch beside a mapping with other protection shares its anon_vma, so that they merge once
 * the protections are equal.
 */
TEST(anon_vmas_decide_about_merging)
{
	u64 a, b;

	start("4.0");
	b = fix_mmap(2);
	fix_write(b, 1);
	a = fix_mmap(2); /* right below: merges with the touched one */
	assert_int_equal(a + 2 * PAGE_SIZE, b);
	assert_int_equal(fix.t->mm->map_count, 1);

	assert_int_equal(do_mprotect(fix.m, a, PAGE_SIZE, MM_PROT_NONE), 0);
	assert_int_equal(do_mprotect(fix.m, a, PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE), 0);
	assert_int_equal(fix.t->mm->map_count, 1);
	fix_audit();
	fix_stop();

	start("4.0");
	b = fix_mmap(2);
	assert_int_equal(do_mprotect(fix.m, b, PAGE_SIZE, MM_PROT_READ), 0);
	fix_write(b + PAGE_SIZE, 1);
	assert_int_equal(do_mprotect(fix.m, b, PAGE_SIZE, MM_PROT_WRITE), 0);
	fix_write(b, 2);
	assert_ptr_equal(find_vma(fix.t->mm, b)->anon_vma,
	                 find_vma(fix.t->mm, b + PAGE_SIZE)->anon_vma);
	assert_int_equal(fix.t->mm->map_count, 2);
	assert_int_equal(do_mprotect(fix.m, b, PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE), 0);
	assert_int_equal(fix.t->mm->map_count, 1);
	assert_int_equal(fix_read(b), 2);
	assert_int_equal(fix_read(b + PAGE_SIZE), 1);
	fix_stop();
}

/* A boundary that moves between two VMAs (cases 4 and 5) takes the pages along. */
TEST(moving_boundaries_keep_the_reverse_map_right)
{
	u64 va;

	start("4.0");
	va = fix_mmap(8);
	for (u32 i = 0; i < 8; i++)
		fix_write(va + i * PAGE_SIZE, 100 + i);
	assert_int_equal(do_mprotect(fix.m, va, 4 * PAGE_SIZE, MM_PROT_READ), 0);
	assert_int_equal(fix.t->mm->map_count, 2);
	assert_int_equal(do_mprotect(fix.m, va + 4 * PAGE_SIZE, 2 * PAGE_SIZE, MM_PROT_READ),
	                 0); /* 5 */
	assert_int_equal(fix.t->mm->map_count, 2);
	fix_audit();
	assert_int_equal(
		do_mprotect(fix.m, va + 3 * PAGE_SIZE, 3 * PAGE_SIZE, MM_PROT_READ | MM_PROT_WRITE),
		0); /* 4 */
	assert_int_equal(fix.t->mm->map_count, 2);
	assert_int_equal(find_vma(fix.t->mm, va)->vm_end, va + 3 * PAGE_SIZE);
	fix_audit();
	for (u32 i = 0; i < 8; i++)
		assert_int_equal(fix_read(va + i * PAGE_SIZE), 100 + i);
	fix_stop();
}

TEST_MAIN("mmap")
