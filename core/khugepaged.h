/*
 * khugepaged: khugepaged.c (which address spaces, when), collapse.c (one range).
 */
#ifndef CORE_KHUGEPAGED_H
#define CORE_KHUGEPAGED_H

#include "core/huge_memory.h"

/* What became of a range. */
enum scan_result {
	SCAN_FAIL,
	SCAN_SUCCEED,
	SCAN_ALLOC_FAILED, /* no huge page is to be had: others need not be tried now */
};

/* ---- collapse.c ------------------------------------------------------------------------------ */

/*
 * Is what @vma maps at @haddr worth a huge page? mmap_sem held for read, and dropped if so: then it is
 * tried, and *@dropped set. May switch tasks.
 */
enum scan_result khugepaged_scan_pmd(struct machine *m, struct vm_area_struct *vma, u64 haddr,
                                     bool *dropped);

/* ---- collapse_node.c ------------------------------------------------------------------------- */

/* Where the pages of one range are. */
struct collapse_nodes {
	bool any;
	u32 first;              /* node of the first page seen, if any was */
	u16 load[HW_MAX_NODES]; /* pages on each */
};

/* One more is on @nid. False: that is too far from others; it is not counted. */
bool collapse_count_node(const struct machine *m, struct collapse_nodes *nodes, u32 nid);
/* A huge page for the range. NULL: none. May switch tasks. */
struct page *collapse_alloc_page(struct machine *m, const struct collapse_nodes *nodes, gfp_t gfp);

/* ---- khugepaged.c ---------------------------------------------------------------------------- */

/* The machine's khugepaged. */
struct khugepaged {
	struct machine *machine; /* (c) */
	struct task task;        /* runs from the first address space on */
	bool started;
	struct wait_queue_head wait;
	struct list_head mms;      /* registered, in the order they came */
	struct mm_struct *scan_mm; /* where the scan goes on; NULL: from the beginning */
	u64 scan_va;
	struct mm_struct *busy; /* is being looked at now */
	s32 last_node;          /* where a huge page was taken last; -1: nowhere yet */
	u64 full_scans;         /* sysfs: all address spaces have been looked at */
	u64 pages_collapsed;    /* sysfs: huge pages made */
};

void khugepaged_init(struct machine *m); /* boot */
/* @vma's address space may have huge pages from now on. mmap_sem held. */
void khugepaged_enter(struct machine *m, struct vm_area_struct *vma);
void khugepaged_fork(struct machine *m, struct mm_struct *mm, const struct mm_struct *parent);
/* Nobody runs in @mm any more. Afterwards khugepaged does not touch its tables. May switch tasks. */
void khugepaged_exit(struct machine *m, struct mm_struct *mm);

#endif
