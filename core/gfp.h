/*
 * What a request for frames says of itself, and what the watermark test makes of that.
 */
#ifndef CORE_GFP_H
#define CORE_GFP_H

#include "lib/types.h"

typedef u32 gfp_t;

#define __GFP_DMA (1u << 0)
#define __GFP_DMA32 (1u << 1)
#define __GFP_HIGHMEM (1u << 2)
#define __GFP_MOVABLE (1u << 3)
#define __GFP_RECLAIMABLE (1u << 4)
#define __GFP_HIGH (1u << 5)
#define __GFP_IO (1u << 6)
#define __GFP_FS (1u << 7)
#define __GFP_DIRECT_RECLAIM (1u << 8)
#define __GFP_KSWAPD_RECLAIM (1u << 9)
#define __GFP_NORETRY (1u << 10)
#define __GFP_RETRY_MAYFAIL (1u << 11)
#define __GFP_NOFAIL (1u << 12)
#define __GFP_MEMALLOC (1u << 13)
#define __GFP_NOMEMALLOC (1u << 14)
#define __GFP_THISNODE (1u << 15)
#define __GFP_ZERO (1u << 16)
#define __GFP_NOWARN (1u << 17)
#define __GFP_COMP (1u << 18)  /* a compound page */
#define __GFP_WRITE (1u << 19) /* it will be written to, and to a disk */

#define GFP_ATOMIC (__GFP_HIGH | __GFP_KSWAPD_RECLAIM)
#define GFP_NOWAIT (__GFP_KSWAPD_RECLAIM)
#define GFP_NOIO (__GFP_DIRECT_RECLAIM | __GFP_KSWAPD_RECLAIM)
#define GFP_NOFS (GFP_NOIO | __GFP_IO)
#define GFP_KERNEL (GFP_NOFS | __GFP_FS)
#define GFP_HIGHUSER_MOVABLE (GFP_KERNEL | __GFP_HIGHMEM | __GFP_MOVABLE)

/* Allocation flags of the watermark test. */
#define ALLOC_WMARK_MASK 3u /* enum zone_watermarks */
#define ALLOC_NO_WATERMARKS (1u << 2)
#define ALLOC_HIGH (1u << 3)   /* 6.18: MIN_RESERVE */
#define ALLOC_HARDER (1u << 4) /* 6.18: NON_BLOCK */
#define ALLOC_OOM (1u << 5)
#define ALLOC_FAIR (1u << 6) /* 3.12 to 4.7: the fair pass */
#define ALLOC_KSWAPD (1u << 7)
#define ALLOC_NOFRAGMENT (1u << 8)   /* 6.18: do not take from blocks of another type */
#define ALLOC_SPREAD_DIRTY (1u << 9) /* 3.3: only where few pages are dirty */

#endif
