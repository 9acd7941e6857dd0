/*
 * Fibers: stacks, and the switch from one to another.
 *
 * A switch saves three words and jumps; the compiler saves what it needs of the other registers,
 * because the asm says that they are all lost. That is some seventy times faster than ucontext. The
 * jump is not a return, so each place that switches has an indirect branch of its own to predict.
 */
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include "lib/types.h"

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifdef FIBER_ASAN
/* The bounds of the stack that is in use. Only the sanitizer's build has these. */
extern __thread const void *fiber_bottom;
extern __thread size_t fiber_size;
#endif

/* Where a fiber goes on. */
struct fiber {
	void *sp;
	void *bp;
	void *pc;
#ifdef FIBER_ASAN
	const void *bottom;
	size_t size;
	void *fake;
#endif
};

/* A stack: @size bytes at @base, with a page below that faults. */
struct fiber_stack {
	char *base;
	u64 size;
	u64 colour; /* where it begins above base + size */
};

/* Recycles stacks of one size. */
struct fiber_stacks {
	u64 size;
	u64 colour; /* of the last one */
	u32 nr_free;
	u32 max_free;
	char **free; /* [max_free] */
};

void fiber_stacks_init(struct fiber_stacks *p, u64 size);
void fiber_stacks_destroy(struct fiber_stacks *p);

/* A stack for one fiber. Panics if the host has no memory for it. */
struct fiber_stack fiber_stack_get(struct fiber_stacks *p);
void fiber_stack_put(struct fiber_stacks *p, struct fiber_stack s);

/* Bytes at the top of @s that have ever been used, by this fiber or an earlier one. */
u64 fiber_stack_used(struct fiber_stack s);

/* @f will begin in @entry, which never returns. */
void fiber_init(struct fiber *f, struct fiber_stack s, void (*entry)(void));

/*
 * Each @entry calls this first. @thread stands for the host thread's own stack, from which the first
 * fiber of all is switched to.
 */
static __always_inline void fiber_begin(struct fiber *thread)
{
#ifdef FIBER_ASAN
	const void *bottom;
	size_t size;

	__sanitizer_finish_switch_fiber(NULL, &bottom, &size);
	if (!thread->bottom) {
		thread->bottom = bottom;
		thread->size = size;
	}
#else
	(void)thread;
#endif
}

/* Goes to @to; returns when somebody goes to @from. */
static __always_inline void fiber_switch(struct fiber *from, struct fiber *to)
{
#ifdef FIBER_ASAN
	struct fiber *const self = from;

	self->bottom = fiber_bottom;
	self->size = fiber_size;
	fiber_bottom = to->bottom;
	fiber_size = to->size;
	__sanitizer_start_switch_fiber(&self->fake, to->bottom, to->size);
#endif
	__asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
	                 "movq %%rsp, 0(%%rdi)\n\t"
	                 "movq %%rbp, 8(%%rdi)\n\t"
	                 "movq %%rax, 16(%%rdi)\n\t"
	                 "movq 0(%%rsi), %%rsp\n\t"
	                 "movq 8(%%rsi), %%rbp\n\t"
	                 "jmpq *16(%%rsi)\n"
	                 "1:\n\t"
	                 : "+D"(from), "+S"(to)
	                 :
	                 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13",
	                   "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
	                   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
	                   "xmm15", "cc", "memory");
#ifdef FIBER_ASAN
	__sanitizer_finish_switch_fiber(self->fake, NULL, NULL);
#endif
}

#endif
