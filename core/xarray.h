/*
 * The index of an address space: what each page offset holds (Linux lib/radix-tree.c, today
 * lib/xarray.c).
 *
 * A tree of nodes with 64 slots. A slot holds a page, or the shadow that an evicted page left
 * (workingset.c), or where one of shared memory was swapped to, or a deeper node. Three marks say for each slot, and for each subtree, whether a
 * page below it is dirty, under writeback, or to be written.
 *
 * Look-ups need no lock (RCU in Linux); all else is done under the mapping's tree lock, interrupts
 * off. Nodes are taken from a stock of the CPU's, filled before the lock is taken, so that nothing
 * is allocated under it (radix_tree_preload()).
 *
 * Letters: (t) tree lock
 */
#ifndef CORE_XARRAY_H
#define CORE_XARRAY_H

#include "lib/types.h"
#include "world/pte.h"

struct machine;
struct page;

#define XA_CHUNK_SHIFT 6
#define XA_CHUNK_SIZE (1u << XA_CHUNK_SHIFT)
#define XA_CHUNK_MASK (XA_CHUNK_SIZE - 1)
#define XA_HEIGHT_MAX 7 /* 42 bits of page offset: files of 16 PiB */
#define XA_ORDER_MAX 9  /* of an entry */
#define XA_STOCK_MAX (XA_HEIGHT_MAX - 1 + (1u << (XA_ORDER_MAX - XA_CHUNK_SHIFT)))
#define XA_INDEX_MAX ((1UL << XA_HEIGHT_MAX * XA_CHUNK_SHIFT) - 1)

enum xa_mark { PAGECACHE_TAG_DIRTY, PAGECACHE_TAG_WRITEBACK, PAGECACHE_TAG_TOWRITE, NR_XA_MARKS };

struct xa_node {
	u64 slot[XA_CHUNK_SIZE]; /* (t) entries, or handles of nodes below */
	u64 mark[NR_XA_MARKS];   /* (t) a bit per slot */
	u64 base;                /* (t) page offset of slot 0 */
	u32 parent;              /* (t) handle; 0: the root */
	u8 shift;                /* (t) bits of the offset that are resolved below this node */
	u8 count;                /* (t) slots in use */
	u8 nr_values;            /* (t) of them shadows */
	u8 nid;                  /* (c) node of the CPU that took it: whose shrinker it concerns */
	u32 shadow_next;         /* in pgdat's list of nodes that hold shadows only; handles */
	u32 shadow_prev;
	u32 owner; /* number of the address space */
	bool on_shadow_list;
};

/* One index. Zeroed is empty. */
struct xarray {
	u32 root; /* (t) handle of the top node; 0: empty */
	u32 leaf; /* the leaf found last: saves host time, the walk is charged */
};

/* An entry: 0 none, a page's frame number + 1, or a shadow with the top bit set. */
#define XA_SHADOW (1UL << 63)

static inline u64 xa_mk_page(u64 pfn)
{
	return pfn + 1;
}

static inline bool xa_is_value(u64 entry)
{
	return entry & XA_SHADOW;
}

static inline bool xa_is_page(u64 entry)
{
	return entry && !(entry & XA_SHADOW);
}

/* Of shared memory: what has been swapped out. */
static inline u64 xa_mk_swap(swp_entry_t entry)
{
	return entry.v | XA_SHADOW;
}

static inline swp_entry_t xa_to_swap(u64 entry)
{
	return (swp_entry_t){entry & ~XA_SHADOW};
}

/* Stocks this CPU with as many nodes as a store can need, of an entry of 1 << @order offsets. 0 or -ENOMEM.
 * May switch tasks. */
int xa_preload(struct machine *m, u32 gfp, unsigned int order);

/* What is at @index. No lock needed. */
u64 xa_load(struct machine *m, struct xarray *xa, u64 index);

/* Puts @entry (0: nothing) at @index, and clears its marks. Returns what was there. Tree lock held;
 * xa_preload() was called if nothing was there. */
u64 xa_store(struct machine *m, struct xarray *xa, u32 owner, u64 index, u64 entry);
/* What of 1 << @order offsets is in the way, or a shadow, of which *@nr_values are there: for one walk. */
u64 xa_load_order(struct machine *m, struct xarray *xa, u64 index, unsigned int order,
                  u64 *nr_values);

/*
 * The same for 1 << @order offsets, of which @index is the first and a multiple. In Linux that is one entry,
 * found from each of them (CONFIG_XARRAY_MULTI), and one store; here every offset has it, and what is charged
 * is one. Marks are the first one's.
 */
void xa_store_order(struct machine *m, struct xarray *xa, u32 owner, u64 index, unsigned int order,
                    u64 entry);

void xa_set_mark(struct machine *m, struct xarray *xa, u64 index, enum xa_mark mark);
void xa_clear_mark(struct machine *m, struct xarray *xa, u64 index, enum xa_mark mark);
bool xa_get_mark(struct machine *m, struct xarray *xa, u64 index, enum xa_mark mark);
bool xa_marked(struct machine *m, const struct xarray *xa, enum xa_mark mark);

#define XA_ANY NR_XA_MARKS
/* The first entry at or above *@index and not above @max that has @mark (XA_ANY: any entry); its
 * place goes to *@index. 0: none. Order point apart, as xa_load(). */
u64 xa_find(struct machine *m, struct xarray *xa, u64 *index, u64 max, u32 mark);

/* The first offset at or above @index that has no page, at most @max of them looked at; the last one
 * below. What they return beyond that is @index + @max, @index - @max (wrapped). */
u64 page_cache_next_hole(struct machine *m, struct xarray *xa, u64 index, u64 max);
u64 page_cache_prev_hole(struct machine *m, struct xarray *xa, u64 index, u64 max);

struct pglist_data;

/* The oldest node of @pgdat's that holds shadows only goes, with them. -ENOENT: there is none; -EAGAIN:
 * its tree is busy, and its lock was only tried. */
int xa_reclaim_shadow_node(struct machine *m, struct pglist_data *pgdat);

/* Takes the stocks of all CPUs back; before a machine is audited for what is left. */
void xa_drop_stocks(struct machine *m);

/* Calls @fn for every entry, without charges; checks the nodes on the way. */
void xa_audit(struct machine *m, const struct xarray *xa,
              void (*fn)(struct machine *m, u64 index, u64 entry, u32 marks, void *arg), void *arg);

#endif
