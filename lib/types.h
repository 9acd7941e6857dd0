/*
 * The words every other file is written in: integer types, compiler hints,
 * and small arithmetic that C leaves out.
 *
 * u64 is unsigned long here (x86-64 Linux), so %lu prints it and min() accepts
 * it beside an unsigned long. Arguments of every macro are evaluated once,
 * except where the comment beside the macro says it is for constants.
 */
#ifndef LIB_TYPES_H
#define LIB_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

_Static_assert(sizeof(unsigned long) == sizeof(u64), "Quire is for 64-bit machines");

/* Hints and attributes. */
#define likely(c) __builtin_expect(!!(c), 1)
#define unlikely(c) __builtin_expect(!!(c), 0)
#ifndef __must_check
#define __must_check __attribute__((warn_unused_result))
#endif
#ifndef __packed
#define __packed __attribute__((packed))
#endif
#ifndef __cold
#define __cold __attribute__((cold))
#endif
#ifndef noinline
#define noinline __attribute__((noinline))
#endif
#ifndef __always_inline /* the C library has it too, with the same meaning */
#define __always_inline inline __attribute__((always_inline))
#endif
#ifndef __printf
#define __printf(fmt, args) __attribute__((format(printf, fmt, args)))
#endif

#define ARRAY_SIZE(a)                                                                              \
	(sizeof(a) / sizeof((a)[0]) +                                                              \
	 0 * sizeof(char[1 -                                                                       \
	                 2 * !!__builtin_types_compatible_p(__typeof__(a), __typeof__(&(a)[0]))]))

#define container_of(ptr, type, member)                                                            \
	__extension__({                                                                            \
		_Static_assert(__builtin_types_compatible_p(__typeof__(*(ptr)),                    \
		                                            __typeof__(((type *)0)->member)) ||    \
		                       __builtin_types_compatible_p(__typeof__(*(ptr)), void),     \
		               "container_of: pointer is not to that member");                     \
		(type *)((char *)(ptr)-offsetof(type, member));                                    \
	})

/*
 * Smaller and larger of two values of one type. Different types are refused,
 * because a silent conversion of a negative number is the bug one would look
 * for longest; min_t() and max_t() name the type to compare in.
 */
#define __QUIRE_CAT2(a, b) a##b
#define __QUIRE_CAT(a, b) __QUIRE_CAT2(a, b)
#define __UNIQUE(name) __QUIRE_CAT(name, __COUNTER__)

#define __pick(x, op, y, ux, uy)                                                                   \
	__extension__({                                                                            \
		__auto_type ux = (x);                                                              \
		__auto_type uy = (y);                                                              \
		_Static_assert(__builtin_types_compatible_p(__typeof__(ux), __typeof__(uy)),       \
		               "min/max: the types differ, use min_t or max_t");                   \
		ux op uy ? ux : uy;                                                                \
	})
#define min(x, y) __pick(x, <, y, __UNIQUE(__x), __UNIQUE(__y))
#define max(x, y) __pick(x, >, y, __UNIQUE(__x), __UNIQUE(__y))

#define __pick_t(type, x, op, y, ux, uy)                                                           \
	__extension__({                                                                            \
		type ux = (x);                                                                     \
		type uy = (y);                                                                     \
		ux op uy ? ux : uy;                                                                \
	})
#define min_t(type, x, y) __pick_t(type, x, <, y, __UNIQUE(__x), __UNIQUE(__y))
#define max_t(type, x, y) __pick_t(type, x, >, y, __UNIQUE(__x), __UNIQUE(__y))
#define min3(x, y, z) min(min(x, y), z)
#define max3(x, y, z) max(max(x, y), z)

/* @v, but not below @lo or above @hi. All three have one type. */
#define clamp(v, lo, hi) min(max(v, lo), hi)
#define clamp_t(type, v, lo, hi) min_t(type, max_t(type, v, lo), hi)

#define swap(a, b)                                                                                 \
	do {                                                                                       \
		__auto_type __swap_tmp = (a);                                                      \
		(a) = (b);                                                                         \
		(b) = __swap_tmp;                                                                  \
	} while (0)

/*
 * Rounding to a power of two (ALIGN, round_up, round_down: @a is one) and
 * division upwards. The result has the type of @x. Usable in constants.
 */
#define ALIGN_DOWN(x, a) ((x) & ~((__typeof__(x))(a)-1))
#define ALIGN(x, a) ALIGN_DOWN((x) + ((__typeof__(x))(a)-1), a)
#define IS_ALIGNED(x, a) (((x) & ((__typeof__(x))(a)-1)) == 0)
#define round_up(x, a) ALIGN(x, a)
#define round_down(x, a) ALIGN_DOWN(x, a)
#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))        /* evaluates @d twice */
#define DIV_ROUND_CLOSEST(n, d) (((n) + (d) / 2) / (d)) /* unsigned; evaluates @d twice */

#define BITS_PER_LONG 64
#define BIT(n) (1UL << (n))
/* Bits @h down to @l inclusive. */
#define GENMASK(h, l) ((~0UL << (l)) & (~0UL >> (BITS_PER_LONG - 1 - (h))))

/* Index of the highest set bit, counted from 1; 0 if none is set. */
static __always_inline int fls(u32 x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

static __always_inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzl(x) : 0;
}

/* Index of the lowest set bit, counted from 0. @x must not be 0. */
static __always_inline int __ffs64(u64 x)
{
	return __builtin_ctzl(x);
}

static __always_inline int hweight64(u64 x)
{
	return __builtin_popcountl(x);
}

/* Floor of the binary logarithm. @x must not be 0. */
static __always_inline int ilog2(u64 x)
{
	return 63 - __builtin_clzl(x);
}

static __always_inline bool is_power_of_2(u64 x)
{
	return x && !(x & (x - 1));
}

/* Smallest power of two not below @x; 1 for 0. @x must not exceed 2^63. */
static __always_inline u64 roundup_pow_of_two(u64 x)
{
	return x <= 1 ? 1 : 1UL << fls64(x - 1);
}

/* Largest power of two not above @x. @x must not be 0. */
static __always_inline u64 rounddown_pow_of_two(u64 x)
{
	return 1UL << ilog2(x);
}

/* Floor of the square root, without floating point. */
static inline u64 int_sqrt(u64 x)
{
	u64 root = 0;

	/* One result bit per step, from the highest that can be set. */
	for (u64 bit = x ? 1UL << (ilog2(x) / 2) : 0; bit; bit >>= 1) {
		u64 t = root | bit;

		if (t <= x / t)
			root = t;
	}
	return root;
}

/* (@a * @b) / @c without overflow in between; the result must fit. */
static __always_inline u64 mul_div_u64(u64 a, u64 b, u64 c)
{
	return (u64)((unsigned __int128)a * b / c);
}

#endif
