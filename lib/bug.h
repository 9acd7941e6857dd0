/*
 * Asserts: what to do when the program itself is wrong.
 *
 *   panic("...", ...)       always stops the program
 *   BUG_ON(c)               stops it if @c is true
 *   VM_BUG_ON(c)            the same; cheap and always on
 *   VM_BUG_ON_MSG(c, ...)   the same, with a message that shows the object
 *   VM_CHECK(c)             stops it if @c is FALSE; on at DEBUG_VM >= 1. @c walks
 *                           one structure and says whether it is sound:
 *                           VM_CHECK(vma_map_sorted(mm));
 *
 * At DEBUG_VM >= 2 tests under random operations also audit the whole machine again and again.
 *
 * Note the sense: the BUG family names the wrong state, VM_CHECK the right one.
 * Expressions are always compiled, so that a check does not rot, and VM_CHECK's
 * is not evaluated at DEBUG_VM = 0.
 *
 * An assert is for our mistakes. A full disk, an empty zone or a bad scenario
 * is not one, and is handled.
 */
#ifndef LIB_BUG_H
#define LIB_BUG_H

#include <stdio.h>

#include "lib/types.h"

#ifndef DEBUG_VM
#define DEBUG_VM 1
#endif

/* Print "quire: BUG: message", the place and the context, then abort(). */
__attribute__((noreturn))
__cold __printf(3, 4) void bug_panic(const char *file, int line, const char *fmt, ...);

/*
 * Print what the engine knows about the moment: virtual time, CPU, task, seed.
 *
 * Not defined in lib. Whoever runs the core may define it (once in the whole
 * program); a program without one prints no context. It runs in a program that
 * is known to be broken, so it must trust nothing it can do without.
 */
void bug_context(FILE *out);

#define panic(...) bug_panic(__FILE__, __LINE__, __VA_ARGS__)

#define BUG_ON(c)                                                                                  \
	do {                                                                                       \
		if (unlikely(c))                                                                   \
			panic("%s", #c);                                                           \
	} while (0)

/* Not by way of BUG_ON, so that the message shows the condition before macros are expanded. */
#define VM_BUG_ON(c)                                                                               \
	do {                                                                                       \
		if (unlikely(c))                                                                   \
			panic("%s", #c);                                                           \
	} while (0)

#define VM_BUG_ON_MSG(c, ...)                                                                      \
	do {                                                                                       \
		if (unlikely(c))                                                                   \
			panic(__VA_ARGS__);                                                        \
	} while (0)

#define VM_CHECK(c)                                                                                \
	do {                                                                                       \
		if (DEBUG_VM >= 1 && unlikely(!(c)))                                               \
			panic("check failed: %s", #c);                                             \
	} while (0)

#endif
