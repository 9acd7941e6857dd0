/*
 * Random numbers that are a function of what they are for.
 *
 * The n-th number of a stream is rand_hash(seed, stream, object, n): there is
 * no hidden state, so a new user of one stream does not shift another, and two
 * variants of an experiment stay paired after they diverge. @stream says what
 * the number is for (disk latency, access pattern ...), @object whose it is.
 *
 * One use takes one n, also when rand_below() has to draw again: the further
 * draws are derived from the first.
 */
#ifndef LIB_RANDOM_H
#define LIB_RANDOM_H

#include "lib/bug.h"
#include "lib/types.h"

/*
 * A bijection in which every input bit reaches every output bit: two rounds of
 * xor-shift and multiply. The constants are those of splitmix64 (Steele, Lea
 * and Flood, OOPSLA 2014, with Stafford's "Mix13").
 */
static __always_inline u64 rand_mix(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9UL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebUL;
	return x ^ (x >> 31);
}

#define RAND_GAMMA 0x9e3779b97f4a7c15UL /* 2^64 over the golden ratio, odd */

/* The key of a stream; its n-th number is rand_mix(key + (n + 1) * RAND_GAMMA). */
static inline u64 rand_key(u64 seed, u32 stream, u64 object)
{
	u64 key = rand_mix(seed + RAND_GAMMA);

	key = rand_mix(key ^ (stream + 0x632be59bd9b4e019UL));
	return rand_mix(key ^ (object + RAND_GAMMA));
}

static inline u64 rand_hash(u64 seed, u32 stream, u64 object, u64 n)
{
	return rand_mix(rand_key(seed, stream, object) + (n + 1) * RAND_GAMMA);
}

struct rand_stream {
	u64 seed;
	u64 object;
	u64 n;   /* numbers drawn so far */
	u64 key; /* rand_key() of the others, kept */
	u32 stream;
};

static inline void rand_init(struct rand_stream *s, u64 seed, u32 stream, u64 object)
{
	s->seed = seed;
	s->object = object;
	s->n = 0;
	s->key = rand_key(seed, stream, object);
	s->stream = stream;
}

static inline u64 rand_u64(struct rand_stream *s)
{
	return rand_mix(s->key + ++s->n * RAND_GAMMA);
}

/*
 * @random, which is uniform, turned into an unbiased number in [0, @bound).
 * Multiplying gives the number in the high word; the few low words that would
 * favour some results are drawn again (Lemire, 2019).
 */
static inline u64 rand_reduce(u64 random, u64 bound)
{
	unsigned __int128 product = (unsigned __int128)random * bound;

	if (unlikely((u64)product < bound)) {
		u64 unfair = -bound % bound; /* 2^64 mod bound */

		while ((u64)product < unfair) {
			random = rand_mix(random + RAND_GAMMA);
			product = (unsigned __int128)random * bound;
		}
	}
	return (u64)(product >> 64);
}

/* Uniform in [0, @bound); @bound must not be 0. */
static inline u64 rand_below(struct rand_stream *s, u64 bound)
{
	VM_BUG_ON(bound == 0);
	return rand_reduce(rand_u64(s), bound);
}

/* Uniform in [@lo, @hi], both included. */
static inline u64 rand_range_u64(struct rand_stream *s, u64 lo, u64 hi)
{
	VM_BUG_ON(lo > hi);
	if (hi - lo == UINT64_MAX)
		return rand_u64(s);
	return lo + rand_below(s, hi - lo + 1);
}

/* True with probability @num / @den. */
static inline bool rand_chance(struct rand_stream *s, u64 num, u64 den)
{
	return rand_below(s, den) < num;
}

/* Uniform in [0, 1) in steps of 2^-53. For load and report; the core is integer. */
static inline double rand_unit(struct rand_stream *s)
{
	return (double)(rand_u64(s) >> 11) * 0x1p-53;
}

#endif
