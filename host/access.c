/*
 * Real loads and stores, a batch at a time.
 *
 * A fault inside a batch (SIGSEGV) resumes behind it and becomes -EFAULT. The handler looks at the
 * thread's own task and at the address, so a bug of this program elsewhere still ends it. SIGBUS is
 * what the kernel sends when a page cannot be read back from swap: it is not caught, as the task has
 * lost its memory, and ends the process like any other program's.
 *
 * A random order is a permutation computed from the position, so it takes no memory that would
 * compete with what is measured: a bijection of the next power of two, walked until it falls inside.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "host/internal.h"
#include "lib/random.h"

#define HOST_PAGE 4096UL
#define STREAM_ORDER 101 /* streams of lib/random.h that host/ uses */

/* ---- orders ---- */

void page_order_init(struct page_order *o, u64 nr, u64 seed)
{
	u64 size = roundup_pow_of_two(nr);

	o->nr = nr;
	o->mask = size - 1;
	o->shift = (u32)(fls64(size - 1) + 1) / 2;
	for (u32 i = 0; i < ARRAY_SIZE(o->mul); i++) {
		o->mul[i] = rand_hash(seed, STREAM_ORDER, nr, 2 * i) | 1;
		o->add[i] = rand_hash(seed, STREAM_ORDER, nr, 2 * i + 1);
	}
}

/* Each step can be undone: add, multiply by an odd number, fold the upper half into the lower. */
static inline u64 order_mix(const struct page_order *o, u64 x)
{
	for (u32 i = 0; i < ARRAY_SIZE(o->mul); i++) {
		x = (x * o->mul[i] + o->add[i]) & o->mask;
		x ^= x >> o->shift;
	}
	return x;
}

u64 page_order_at(const struct page_order *o, u64 i)
{
	if (o->nr <= 1)
		return 0;
	do {
		i = order_mix(o, i);
	} while (i >= o->nr);
	return i;
}

/* ---- faults ---- */

/* The running task of this thread, while it is inside an access. */
static __thread struct host_task *accessing;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	struct host_task *ht = accessing;
	u64 va = (u64)(uintptr_t)info->si_addr;

	(void)context;
	if (ht && va >= ht->fault_from && va < ht->fault_to)
		siglongjmp(ht->fault_env, 1);
	/* Ours: fault again, with the default action. */
	signal(sig, SIG_DFL);
}

int access_catch_faults(void)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_fault;
	/* NODEFER: the jump leaves the handler without its end, which would unblock the signal. */
	sa.sa_flags = SA_SIGINFO | SA_NODEFER;
	return sigaction(SIGSEGV, &sa, NULL) == 0 ? 0 : -errno;
}

/* ---- accesses ---- */

struct span {
	u64 from; /* first byte and end, within one page */
	u64 to;
};

/* The n-th page of [va, end): a range need not begin or end at a page's border. */
static inline struct span page_span(u64 va, u64 end, u64 n)
{
	u64 page = ALIGN_DOWN(va, HOST_PAGE) + n * HOST_PAGE;

	return (struct span){max(page, va), min(page + HOST_PAGE, end)};
}

/* Read by nobody, so that reading every byte is not thrown away. */
static __thread volatile u64 sink;

static inline void access_page(struct span s, enum target_access kind)
{
	volatile u64 *word = (volatile u64 *)(uintptr_t)ALIGN_DOWN(s.from, sizeof(u64));
	u64 sum = 0;

	switch (kind) {
	case TARGET_READ:
		(void)*word;
		break;
	case TARGET_TOUCH:
		*word = s.from;
		break;
	case TARGET_FILL:
		/* Never 0: kernels since 6.10 notice pages of zeros and do not swap them out. */
		memset((void *)(uintptr_t)s.from, (int)(s.from >> 12) | 1, s.to - s.from);
		__asm__ volatile("" ::: "memory");
		break;
	case TARGET_SCAN:
		for (; (u64)(uintptr_t)word < s.to; word++)
			sum += *word;
		sink = sum;
		break;
	}
}

/* Every case in its own loop, so that a touch costs a store and not the decision. */
static __always_inline void access_pages(u64 va, u64 end, u64 nr, enum target_access kind,
                                         const struct page_order *order)
{
	if (order) {
		for (u64 i = 0; i < nr; i++)
			access_page(page_span(va, end, page_order_at(order, i)), kind);
	} else {
		for (u64 i = 0; i < nr; i++)
			access_page(page_span(va, end, i), kind);
	}
}

/* Not inlined: what it keeps in registers would not survive the jump out of it. */
static noinline void access_batch(u64 va, u64 end, enum target_access kind,
                                  const struct page_order *order)
{
	u64 nr = (ALIGN(end, HOST_PAGE) - ALIGN_DOWN(va, HOST_PAGE)) / HOST_PAGE;

	switch (kind) {
	case TARGET_READ:
		access_pages(va, end, nr, TARGET_READ, order);
		break;
	case TARGET_TOUCH:
		access_pages(va, end, nr, TARGET_TOUCH, order);
		break;
	case TARGET_FILL:
		access_pages(va, end, nr, TARGET_FILL, order);
		break;
	case TARGET_SCAN:
		access_pages(va, end, nr, TARGET_SCAN, order);
		break;
	}
}

static int access_caught(struct host_task *ht, u64 va, u64 end, enum target_access kind,
                         const struct page_order *order)
{
	ht->fault_from = ALIGN_DOWN(va, HOST_PAGE);
	ht->fault_to = ALIGN(end, HOST_PAGE);
	accessing = ht;
	if (sigsetjmp(ht->fault_env, 0)) {
		accessing = NULL;
		return -EFAULT;
	}
	__asm__ volatile("" ::: "memory");
	access_batch(va, end, kind, order);
	__asm__ volatile("" ::: "memory");
	accessing = NULL;
	return 0;
}

int host_access(struct target_task *task, u64 va, u64 len, enum target_access kind, u64 seed)
{
	struct host_task *ht = host_task_of(task);
	struct page_order order;
	u64 end = va + len;
	u64 covered;
	int err = 0;

	if (len == 0)
		return 0;
	if (end < va)
		return -EFAULT;
	if (kind > TARGET_SCAN)
		return -EINVAL;
	covered = memory_covered(&task->target->memory, va, end);
	if (seed) {
		/* Which pages come before the missing one is anybody's guess: none, here. */
		if (covered != end)
			return -EFAULT;
		page_order_init(&order,
		                (ALIGN(end, HOST_PAGE) - ALIGN_DOWN(va, HOST_PAGE)) / HOST_PAGE,
		                seed);
		return access_caught(ht, va, end, kind, &order);
	}
	if (covered > va)
		err = access_caught(ht, va, covered, kind, NULL);
	return err ? err : covered == end ? 0 : -EFAULT;
}
