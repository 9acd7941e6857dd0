/*
 * The calls of fake_target.c that are about memory; a part of that file. Mappings are lists of ranges.
 */
#ifndef TESTS_LOAD_FAKE_MEMORY_H
#define TESTS_LOAD_FAKE_MEMORY_H

static struct fake_mm *mm_of(struct target_task *t)
{
	return ((struct fake_task *)t)->mm;
}

static int fake_mmap(struct target_task *t, u64 len, int prot, int flags, u64 *va)
{
	struct fake_mm *mm = mm_of(t);
	int err = enter(t);

	if (err)
		return err;
	if ((fake.mmap_max && len > fake.mmap_max) || mm->nr == ARRAY_SIZE(mm->range))
		return -ENOMEM;
	*va = mm->next_va;
	mm->next_va += len + 4096;
	mm->range[mm->nr++] = (struct fake_range){*va, len, prot};
	note((struct fake_task *)t, "mmap %lu prot %d flags %d", len, prot, flags);
	return 0;
}

/* Cut ranges at @at, so that what begins or ends there is a whole range. */
static void split_at(struct fake_mm *mm, u64 at)
{
	for (u32 i = 0; i < mm->nr; i++) {
		struct fake_range *r = &mm->range[i];

		if (at <= r->va || at >= r->va + r->len)
			continue;
		BUG_ON(mm->nr == ARRAY_SIZE(mm->range));
		mm->range[mm->nr++] = (struct fake_range){at, r->va + r->len - at, r->prot};
		r->len = at - r->va;
		return;
	}
}

/* The number of bytes of [@va, @va + @len) that are mapped with all of @prot. */
static u64 mapped(const struct fake_mm *mm, u64 va, u64 len, int prot)
{
	u64 n = 0;

	for (u32 i = 0; i < mm->nr; i++) {
		const struct fake_range *r = &mm->range[i];
		u64 lo = max(va, r->va);
		u64 hi = min(va + len, r->va + r->len);

		if (lo < hi && (r->prot & prot) == prot)
			n += hi - lo;
	}
	return n;
}

static int fake_munmap(struct target_task *t, u64 va, u64 len)
{
	struct fake_mm *mm = mm_of(t);
	int err = enter(t);

	if (err)
		return err;
	split_at(mm, va);
	split_at(mm, va + len);
	for (u32 i = 0; i < mm->nr;)
		if (mm->range[i].va >= va && mm->range[i].va < va + len)
			mm->range[i] = mm->range[--mm->nr];
		else
			i++;
	note((struct fake_task *)t, "munmap %lu", len);
	return 0;
}

static int fake_mprotect(struct target_task *t, u64 va, u64 len, int prot)
{
	struct fake_mm *mm = mm_of(t);
	int err = enter(t);

	if (err)
		return err;
	if (mapped(mm, va, len, 0) != len)
		return -ENOMEM;
	split_at(mm, va);
	split_at(mm, va + len);
	for (u32 i = 0; i < mm->nr; i++)
		if (mm->range[i].va >= va && mm->range[i].va < va + len)
			mm->range[i].prot = prot;
	note((struct fake_task *)t, "mprotect %lu %d", len, prot);
	return 0;
}

static int fake_mremap(struct target_task *t, u64 va, u64 old_len, u64 new_len, int flags, u64 *new)
{
	struct fake_mm *mm = mm_of(t);
	int err = enter(t);

	if (err)
		return err;
	if (mapped(mm, va, old_len, 0) != old_len)
		return -EFAULT;
	for (u32 i = 0; i < mm->nr; i++)
		if (mm->range[i].va == va && mm->range[i].len == old_len) {
			if (flags & TARGET_MREMAP_FIXED)
				mm->range[i].va = *new;
			mm->range[i].len = new_len;
			*new = mm->range[i].va;
		}
	note((struct fake_task *)t, "mremap %lu %lu flags %d", old_len, new_len, flags);
	return 0;
}

static int fake_brk(struct target_task *t, s64 delta, u64 *end)
{
	struct fake_mm *mm = mm_of(t);
	int err = enter(t);

	if (err)
		return err;
	*end = mm->brk += (u64)delta;
	note((struct fake_task *)t, "brk %ld", delta);
	return 0;
}

static int fake_move_pages(struct target_task *t, u64 va, u64 len, u32 node, u64 *left)
{
	int err = enter(t);

	if (err)
		return err;
	if (mapped(mm_of(t), va, len, 0) != len)
		return -EFAULT;
	*left = 2;
	note((struct fake_task *)t, "move_pages %lu to %u", len, node);
	return 0;
}

static int fake_migrate_pages(struct target_task *t, u64 from, u64 to, u64 *left)
{
	int err = enter(t);

	if (err)
		return err;
	*left = 3;
	note((struct fake_task *)t, "migrate_pages 0x%lx to 0x%lx", from, to);
	return 0;
}

static int fake_madvise(struct target_task *t, u64 va, u64 len, enum target_advice advice)
{
	int err = enter(t);

	if (err)
		return err;
	if (mapped(mm_of(t), va, len, 0) != len)
		return -ENOMEM;
	fake.stats.nr_madvise[advice]++;
	note((struct fake_task *)t, "madvise %d %lu", (int)advice, len);
	return 0;
}

static int fake_mlock(struct target_task *t, u64 va, u64 len, int flags)
{
	int err = enter(t);

	if (err)
		return err;
	if (mapped(mm_of(t), va, len, 0) != len)
		return -ENOMEM;
	note((struct fake_task *)t, "mlock %lu %lu flags %d", va & 4095, len, flags);
	return 0;
}

static int fake_munlock(struct target_task *t, u64 va, u64 len)
{
	int err = enter(t);

	if (err)
		return err;
	note((struct fake_task *)t, "munlock %lu %lu", va & 4095, len);
	return 0;
}

static int fake_mlockall(struct target_task *t, int flags)
{
	int err = enter(t);

	if (err)
		return err;
	note((struct fake_task *)t, "mlockall flags %d", flags);
	return flags == TARGET_MCL_ONFAULT ? -EINVAL : 0;
}

static int fake_access(struct target_task *t, u64 va, u64 len, enum target_access kind, u64 seed)
{
	struct fake_task *f = (struct fake_task *)t;
	int prot =
		kind == TARGET_READ || kind == TARGET_SCAN ? TARGET_PROT_READ : TARGET_PROT_WRITE;
	int err = enter(t);

	if (err)
		return err;
	if (mapped(f->mm, va, len, prot) != len)
		return -EFAULT;
	fake.stats.pages[kind] += len / 4096;
	fake.stats.nr_random += seed != 0;
	f->now += len / 4096 * NS_PER_PAGE;
	note(f, "access %d %lu seed %lx", (int)kind, len, seed);
	return 0;
}

#endif
