/*
 * The page-table format: what the core writes and the hardware walks.
 *
 * Four levels of 512 eight-byte entries, as on x86-64 with 48-bit addresses. The core's tables are
 * the truth. A world reads them to translate an access, and sets PTE_ACCESSED and PTE_DIRTY in
 * place, as the processor's page walker does; it changes nothing else.
 *
 * An upper-level entry holds the *table number* of the next table where a leaf entry holds a frame
 * number: tables live in one reservation of the core's, table n at n * 4096 bytes from its start
 * (world_attach() is told where). Each table still occupies a frame, as in Linux; which one is the
 * core's business.
 *
 *   63            52 51                                12 11   9  8    7    6   5  4 3 2   1   0
 *  | zero           | frame or table number              | soft | 0 | PS | D | A | 0   | U | W | P |
 *
 * With P clear, an entry other than zero is the core's: a swap entry (below) or a marker. A world
 * delivers a fault for it and looks no further.
 */
#ifndef WORLD_PTE_H
#define WORLD_PTE_H

#include "lib/types.h"

#define PAGE_SHIFT 12
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define PAGE_MASK (~(PAGE_SIZE - 1))

#define PTRS_PER_TABLE 512
#define PTE_LEVELS 4
#define PMD_SHIFT 21
#define PUD_SHIFT 30
#define PGD_SHIFT 39
#define PMD_SIZE (1UL << PMD_SHIFT)
#define PMD_MASK (~(PMD_SIZE - 1))
#define PUD_SIZE (1UL << PUD_SHIFT)
#define PUD_MASK (~(PUD_SIZE - 1))
#define PGDIR_SIZE (1UL << PGD_SHIFT)
#define PGDIR_MASK (~(PGDIR_SIZE - 1))

/* User addresses end where Linux's do on x86-64 with four levels. */
#define TASK_SIZE ((1UL << 47) - PAGE_SIZE)

/* A struct of its own, so that an entry is not mistaken for a number. */
typedef struct {
	u64 v;
} pte_t;

#define PTE_PRESENT (1UL << 0)
#define PTE_WRITE (1UL << 1)
#define PTE_USER (1UL << 2)
#define PTE_ACCESSED (1UL << 5)
#define PTE_DIRTY (1UL << 6)
#define PTE_HUGE (1UL << 7)    /* PS: a leaf at the second level, 512 frames */
#define PTE_SPECIAL (1UL << 9) /* soft: no struct page behind it (the zero page) */
#define PTE_PFN_SHIFT 12
#define PTE_PFN_MASK (((1UL << 40) - 1) << PTE_PFN_SHIFT)

static inline pte_t pte_make(u64 pfn, u64 flags)
{
	return (pte_t){pfn << PTE_PFN_SHIFT | flags};
}

static inline bool pte_none(pte_t p)
{
	return p.v == 0;
}

static inline bool pte_present(pte_t p)
{
	return p.v & PTE_PRESENT;
}

static inline bool pte_write(pte_t p)
{
	return p.v & PTE_WRITE;
}

static inline bool pte_dirty(pte_t p)
{
	return p.v & PTE_DIRTY;
}

static inline bool pte_young(pte_t p)
{
	return p.v & PTE_ACCESSED;
}

static inline bool pte_special(pte_t p)
{
	return p.v & PTE_SPECIAL;
}

/* An entry of the second level that is a leaf. */
static inline bool pte_huge(pte_t p)
{
	return (p.v & (PTE_PRESENT | PTE_HUGE)) == (PTE_PRESENT | PTE_HUGE);
}

/* The frame of a leaf entry, or the table number of an upper one. Assumes PTE_PRESENT. */
static inline u64 pte_pfn(pte_t p)
{
	return (p.v & PTE_PFN_MASK) >> PTE_PFN_SHIFT;
}

static inline pte_t pte_set(pte_t p, u64 flags)
{
	return (pte_t){p.v | flags};
}

static inline pte_t pte_clear(pte_t p, u64 flags)
{
	return (pte_t){p.v & ~flags};
}

/*
 * A swap entry names a slot: the number of the swap area and the slot's offset in it. In an entry of
 * a page table it has P clear and PTE_SWAP set, so that slot 0 of area 0 is not pte_none().
 */
typedef struct {
	u64 v;
} swp_entry_t;

#define SWP_TYPE_BITS 5
#define SWP_OFFSET_BITS 40
#define PTE_SWAP (1UL << 1) /* in an entry that is not present */

static inline swp_entry_t swp_entry(unsigned int type, u64 offset)
{
	return (swp_entry_t){(u64)type << SWP_OFFSET_BITS | offset};
}

static inline unsigned int swp_type(swp_entry_t e)
{
	return (unsigned int)(e.v >> SWP_OFFSET_BITS);
}

static inline u64 swp_offset(swp_entry_t e)
{
	return e.v & ((1UL << SWP_OFFSET_BITS) - 1);
}

static inline pte_t swp_entry_to_pte(swp_entry_t e)
{
	return (pte_t){e.v << PTE_PFN_SHIFT | PTE_SWAP};
}

static inline swp_entry_t pte_to_swp_entry(pte_t p)
{
	return (swp_entry_t){p.v >> PTE_PFN_SHIFT};
}

static inline bool pte_swap(pte_t p)
{
	return (p.v & (PTE_PRESENT | PTE_SWAP)) == PTE_SWAP;
}

/*
 * A page that is being split or moved: its entry names the frame and keeps what the old entry allowed
 * and knew, until the page is mapped again. Whoever meets one waits for the page's lock.
 */
#define PTE_MIGRATION (1UL << 3) /* in an entry that is not present */
#define PTE_MIGRATION_WRITE (1UL << 2)

static inline pte_t pte_make_migration(pte_t old, u64 pfn)
{
	u64 v = old.v & (PTE_DIRTY | PTE_ACCESSED);

	if (old.v & PTE_WRITE)
		v |= PTE_MIGRATION_WRITE;
	return (pte_t){pfn << PTE_PFN_SHIFT | v | PTE_MIGRATION};
}

static inline bool pte_migration(pte_t p)
{
	return (p.v & (PTE_PRESENT | PTE_SWAP | PTE_MIGRATION)) == PTE_MIGRATION;
}

/*
 * A huge page that is being moved keeps a huge entry of that kind: PTE_HUGE stays. No entry that names a table
 * has that, so that it says alone that an entry of the second level is a leaf.
 */
static inline pte_t pmd_make_migration(pte_t old)
{
	return pte_set(pte_make_migration(old, pte_pfn(old)), PTE_HUGE);
}

static inline bool pmd_migration(pte_t p)
{
	return pte_migration(p) && p.v & PTE_HUGE;
}

static inline bool pmd_leaf(pte_t p)
{
	return p.v & PTE_HUGE;
}

/* Index of @va in its table at @level: 3 is the root (pgd), 0 the leaf table. */
static inline unsigned int pte_index(u64 va, unsigned int level)
{
	return (va >> (PAGE_SHIFT + 9 * level)) & (PTRS_PER_TABLE - 1);
}

#endif
