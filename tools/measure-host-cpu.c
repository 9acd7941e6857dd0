/*
 * Cache lines, locks, system calls, switches, interrupts.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/measure-host.h"

#define LINE 64

/* ---- cache lines ---- */

struct chain {
	char *memory;
	u64 bytes;
	u64 nr_steps;
};

/* One cycle through all lines in random order (Sattolo), each holding the address of the next. */
static void chain_make(struct chain *c)
{
	u64 nr = c->bytes / LINE;
	u32 *order = malloc(nr * sizeof(*order));
	u64 x = 88172645463325252UL;

	for (u64 i = 0; i < nr; i++)
		order[i] = (u32)i;
	for (u64 i = nr - 1; i > 0; i--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;

		u64 k = x % i;
		u32 tmp = order[i];

		order[i] = order[k];
		order[k] = tmp;
	}
	for (u64 i = 0; i < nr; i++)
		*(char **)(c->memory + order[i] * (u64)LINE) =
			c->memory + order[(i + 1) % nr] * (u64)LINE;
	free(order);
}

static double chain_walk(void *arg)
{
	struct chain *c = arg;
	char *p = c->memory;
	u64 begin = clock_now();

	for (u64 i = 0; i < c->nr_steps; i++)
		p = *(char *volatile *)p;

	u64 end = clock_now();

	__asm__ volatile("" : : "r"(p));
	return (double)(end - begin) / (double)c->nr_steps;
}

static struct sample chain_measure(u64 bytes)
{
	struct chain c = {.bytes = bytes, .nr_steps = 2000000};
	struct sample s;

	c.memory = mmap(NULL, bytes + 2 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                -1, 0);
	char *whole = c.memory;

	/* Huge pages, so that it is the cache that misses and not the TLB. */
	c.memory = (char *)ALIGN((u64)(uintptr_t)c.memory, 2 * MB);
	madvise(c.memory, bytes, MADV_HUGEPAGE);
	chain_make(&c);
	s = measure(chain_walk, &c);
	munmap(whole, bytes + 2 * MB);
	return s;
}

static u64 own_word __attribute__((aligned(LINE)));

static double atomic_add(void *arg)
{
	const u64 nr = 1000000;
	u64 begin = clock_now();

	(void)arg;
	for (u64 i = 0; i < nr; i++)
		__atomic_fetch_add(&own_word, 1, __ATOMIC_SEQ_CST);
	return (double)(clock_now() - begin) / (double)nr;
}

static double lock_pair(void *arg)
{
	const u64 nr = 1000000;
	static u32 lock __attribute__((aligned(LINE)));
	u64 begin = clock_now();

	(void)arg;
	for (u64 i = 0; i < nr; i++) {
		u32 zero = 0;

		while (!__atomic_compare_exchange_n(&lock, &zero, 1, false, __ATOMIC_ACQUIRE,
		                                    __ATOMIC_RELAXED))
			zero = 0;
		__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	}
	return (double)(clock_now() - begin) / (double)nr / 2;
}

/* ---- a second CPU ---- */

struct partner {
	u32 turn __attribute__((aligned(LINE))); /* whose move it is; 2: end */
	u32 futex __attribute__((aligned(LINE)));
	u64 woken_ns __attribute__((aligned(LINE)));
	u64 count __attribute__((aligned(LINE)));
	struct chain chain;
	pthread_t thread;
};

static struct partner partner; /* one for all threads: they have no other way to meet */

static void partner_start(void *(*fn)(void *))
{
	memset(&partner.turn, 0, sizeof(partner.turn));
	partner.futex = 0;
	pthread_create(&partner.thread, NULL, fn, NULL);
}

static void partner_stop(void)
{
	__atomic_store_n(&partner.turn, 2, __ATOMIC_RELEASE);
	__atomic_store_n(&partner.futex, 2, __ATOMIC_RELEASE);
	syscall(SYS_futex, &partner.futex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_join(partner.thread, NULL);
}

static void *partner_answer(void *arg)
{
	u32 turn;

	(void)arg;
	run_on_cpu(second_cpu());
	while ((turn = __atomic_load_n(&partner.turn, __ATOMIC_ACQUIRE)) != 2)
		if (turn == 1)
			__atomic_store_n(&partner.turn, 0, __ATOMIC_RELEASE);
	return NULL;
}

static double hand_over(void *arg)
{
	const u64 nr = 20000;
	u64 begin = clock_now();

	(void)arg;
	for (u64 i = 0; i < nr; i++) {
		__atomic_store_n(&partner.turn, 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&partner.turn, __ATOMIC_ACQUIRE) != 0)
			;
	}
	return (double)(clock_now() - begin) / (double)nr / 2;
}

/* Writes every line of the chain when it is told to. */
static void *partner_write(void *arg)
{
	u32 turn;

	(void)arg;
	run_on_cpu(second_cpu());
	while ((turn = __atomic_load_n(&partner.turn, __ATOMIC_ACQUIRE)) != 2) {
		if (turn != 1)
			continue;
		for (u64 i = 0; i < partner.chain.bytes; i += LINE)
			((volatile u64 *)(partner.chain.memory + i))[1]++;
		__atomic_store_n(&partner.turn, 0, __ATOMIC_RELEASE);
	}
	return NULL;
}

static double fetch_lines(void *arg)
{
	double sum = 0;
	const int nr = 200;

	(void)arg;
	for (int i = 0; i < nr; i++) {
		__atomic_store_n(&partner.turn, 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&partner.turn, __ATOMIC_ACQUIRE) != 0)
			;
		sum += chain_walk(&partner.chain);
	}
	return sum / nr;
}

/* ---- system calls and switches ---- */

static double empty_syscall(void *arg)
{
	const u64 nr = 200000;
	u64 begin = clock_now();

	(void)arg;
	for (u64 i = 0; i < nr; i++)
		syscall(SYS_getppid);
	return (double)(clock_now() - begin) / (double)nr;
}

static int pipes[2][2];

static double own_pipe(void *arg)
{
	const u64 nr = 20000;
	u64 begin = clock_now();
	char c = 0;

	(void)arg;
	for (u64 i = 0; i < nr; i++)
		if (write(pipes[0][1], &c, 1) != 1 || read(pipes[0][0], &c, 1) != 1)
			abort();
	return (double)(clock_now() - begin) / (double)nr;
}

static double pipe_ping(void *arg)
{
	const u64 nr = 5000;
	u64 begin = clock_now();
	char c = 0;

	(void)arg;
	for (u64 i = 0; i < nr; i++)
		if (write(pipes[0][1], &c, 1) != 1 || read(pipes[1][0], &c, 1) != 1)
			abort();
	return (double)(clock_now() - begin) / (double)nr / 2;
}

/* The same CPU for both: every hop is a system call each, a wake-up and a switch. */
static struct sample pipe_switch(void)
{
	struct sample s;
	pid_t pid;
	char c;

	pid = fork();
	if (pid == 0) {
		close(pipes[0][1]);
		while (read(pipes[0][0], &c, 1) == 1)
			if (write(pipes[1][1], &c, 1) != 1)
				break;
		_exit(0);
	}
	s = measure(pipe_ping, NULL);
	close(pipes[0][1]);
	waitpid(pid, NULL, 0);
	return s;
}

/* ---- wake-ups ---- */

/* The word is 0 again before the waker hears of it, so that its next 1 is not lost. */
static void *partner_sleep(void *arg)
{
	u32 word;

	(void)arg;
	run_on_cpu(second_cpu());
	while ((word = __atomic_load_n(&partner.futex, __ATOMIC_ACQUIRE)) != 2) {
		if (word == 0) {
			syscall(SYS_futex, &partner.futex, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
			continue;
		}

		u64 now = clock_now();

		__atomic_compare_exchange_n(&partner.futex, &word, 0, false, __ATOMIC_ACQ_REL,
		                            __ATOMIC_RELAXED);
		__atomic_store_n(&partner.woken_ns, now, __ATOMIC_RELEASE);
	}
	return NULL;
}

struct wakeups {
	double call;    /* of the waker, less a call that wakes nobody */
	double latency; /* until the sleeper runs in user mode */
};

static void spin_ns(u64 ns)
{
	u64 end = clock_now() + ns;

	while (clock_now() < end)
		;
}

static struct wakeups wake_once(void)
{
	struct wakeups w;
	static u32 nobody;
	u64 begin;
	u64 middle;
	u64 end;

	spin_ns(200000); /* the sleeper's CPU is idle by then */
	begin = clock_now();
	syscall(SYS_futex, &nobody, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	middle = clock_now();
	__atomic_store_n(&partner.woken_ns, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&partner.futex, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &partner.futex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	end = clock_now();
	while (__atomic_load_n(&partner.woken_ns, __ATOMIC_ACQUIRE) == 0)
		;
	w.call = (double)(end - middle) - (double)(middle - begin);
	w.latency = (double)partner.woken_ns - (double)middle;
	return w;
}

static double wake_call(void *arg)
{
	double sum = 0;

	(void)arg;
	for (int i = 0; i < 100; i++)
		sum += wake_once().call;
	return sum / 100;
}

static double wake_latency(void *arg)
{
	double sum = 0;

	(void)arg;
	for (int i = 0; i < 100; i++)
		sum += wake_once().latency;
	return sum / 100;
}

/* ---- interrupts ---- */

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a;
	u64 y = *(const u64 *)b;

	return (x > y) - (x < y);
}

static void *partner_count(void *arg)
{
	(void)arg;
	run_on_cpu(second_cpu());
	while (__atomic_load_n(&partner.turn, __ATOMIC_RELAXED) != 2)
		__atomic_store_n(&partner.count, partner.count + 1, __ATOMIC_RELAXED);
	return NULL;
}

struct calls {
	void (*fn)(void *arg);
	void *arg;
	bool beside; /* only those during which the partner was seen to run count */
};

/* Median of single calls: where the other CPU is shared, an average would mix two things. */
static double call_time(void *arg)
{
	enum { NR = 301 };
	struct calls *c = arg;
	static u64 ns[NR];
	u32 nr = 0;

	for (u32 tried = 0; nr < NR && tried < 100000; tried++) {
		u64 count = __atomic_load_n(&partner.count, __ATOMIC_RELAXED);
		u64 begin = clock_now();

		c->fn(c->arg);
		ns[nr] = clock_now() - begin;
		if (!c->beside || __atomic_load_n(&partner.count, __ATOMIC_RELAXED) != count)
			nr++;
	}
	qsort(ns, nr, sizeof(ns[0]), compare_u64);
	return nr ? (double)ns[nr / 2] : 0;
}

void measure_beside(void (*fn)(void *arg), void *arg, struct sample *alone, struct sample *beside)
{
	struct calls c = {fn, arg, false};

	*alone = measure(call_time, &c);
	*beside = *alone;
	if (second_cpu() < 0)
		return;
	c.beside = true;
	partner_start(partner_count);
	*beside = measure(call_time, &c);
	partner_stop();
}

static void barrier_call(void *arg)
{
	(void)arg;
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/* Gaps in a loop that only looks at the clock: the median of them is the tick. */
static double tick_gap(void *arg)
{
	enum { MAX = 1024 };
	static u64 gap[MAX];
	u32 nr = 0;
	u64 end = clock_now() + 200000000;
	u64 last = clock_now();
	u32 *nr_per_s = arg;

	while (last < end) {
		u64 now = clock_now();

		if (now - last > 600 && nr < MAX)
			gap[nr++] = now - last;
		last = now;
	}
	qsort(gap, nr, sizeof(gap[0]), compare_u64);
	*nr_per_s = nr * 5;
	return nr ? (double)gap[nr / 2] : 0;
}

/* ---- all ---- */

static void measure_lines(void)
{
	struct sample s = chain_measure(16 << 10);

	print_cost("line_own", s.low, &s, "dependent loads from 16 KB");
	s = measure(atomic_add, NULL);
	print_cost("atomic", s.low, &s, "locked add to an own line");
	s = measure(lock_pair, NULL);
	print_cost("spin", s.low, &s, "compare-and-swap and store, halved");
	s = chain_measure(4 * MB);
	print_cost("page_line", s.low, &s, "dependent loads from 4 MB in huge pages");
	s = chain_measure(512 * MB);
	print_cost("page_line_cold", s.low, &s, "dependent loads from 512 MB in huge pages");
}

static bool shares_core(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "r");
	char buf[64] = "";
	bool shares;

	if (!f)
		return false;
	shares = fgets(buf, sizeof(buf), f) && strpbrk(buf, ",-");
	fclose(f);
	return shares;
}

static void measure_two_cpus(double switch_ns)
{
	struct sample s;
	struct sample alone;

	if (second_cpu() < 0)
		return;
	partner.chain = (struct chain){.bytes = 64 << 10, .nr_steps = (64 << 10) / LINE};
	partner.chain.memory = aligned_alloc(PAGE, partner.chain.bytes);
	chain_make(&partner.chain);
	partner_start(partner_write);
	s = measure(fetch_lines, NULL);
	partner_stop();
	print_cost(shares_core() ? "line_core" : "line_socket", s.low, &s,
	           "dependent loads of lines that the other CPU has written");
	free(partner.chain.memory);

	partner_start(partner_answer);
	s = measure(hand_over, NULL);
	print_cost("spin_handoff", s.low, &s, "two CPUs pass a flag, one way");
	partner_stop();
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	measure_beside(barrier_call, NULL, &alone, &s);

	double trip = s.low - alone.low;

	print_cost("ipi_send", trip / 3, NULL,
	           "a third of the %.0f ns that membarrier() takes longer with the other CPU busy",
	           trip);
	print_cost("ipi_flight", trip / 3, NULL, "a third of the same round trip");
	print_cost("irq", trip / 3, NULL, "a third of the same round trip");

	partner_start(partner_sleep);
	spin_ns(1000000);
	struct sample call = measure(wake_call, NULL);
	struct sample latency = measure(wake_latency, NULL);

	partner_stop();
	print_cost("wakeup", call.low - trip / 3, &call,
	           "futex wake of a sleeper on the idle other CPU, less one that wakes nobody and "
	           "the ipi_send above");
	print_cost("idle_exit", latency.low - call.low - trip / 3 - switch_ns, &latency,
	           "from the wake until the sleeper runs, less wakeup, ipi_flight, ctx_switch");
}

void measure_cpu(void)
{
	struct sample s;
	struct sample own;
	double switch_ns;
	u32 nr_per_s;

	measure_lines();
	s = measure(empty_syscall, NULL);
	print_cost("syscall", s.low, &s, "getppid()");
	if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0)
		return;
	own = measure(own_pipe, NULL);
	s = pipe_switch();
	switch_ns = s.low - own.low;
	print_cost("ctx_switch", switch_ns, &s,
	           "a hop through a pipe on one CPU, less write and read without a switch (%.0f); "
	           "with the wake-up",
	           own.low);
	measure_two_cpus(switch_ns);
	s = measure(tick_gap, &nr_per_s);
	print_cost("tick", s.low, &s, "median gap in a loop on the clock, %u gaps a second",
	           nr_per_s);
}
