/*
 * The names of charged operations, one X-macro.
 *
 *   X(NAME, default_ns, source, what it is)
 *
 * The core and the worlds charge by name; a machine profile (in machines/) gives each name its
 * nanoseconds, under `costs`, in lower case. The default here is what a profile that is silent gets.
 * The source says where the number comes from: a published figure, a measurement, or `assumed`,
 * followed by what bounds it. What a mail's own result says is none: it is to be predicted.
 * `quire list costs` prints this table with a profile's values beside it.
 *
 * All values are nanoseconds of one occurrence on an otherwise idle CPU with its own data in its
 * own caches. What another CPU does to a cache line is charged apart (LINE_*).
 */
#ifndef WORLD_COST_H
#define WORLD_COST_H

/* clang-format off */
#define WORLD_COSTS(X) \
	/* cache lines, by where the last writer is */ \
	X(LINE_OWN, 1, "published: L1 hit, EPYC Rome article", "touch a shared line that this CPU already has") \
	X(LINE_CORE, 10, "assumed: L2 of the same core", "fetch a line last written by the other thread of this core") \
	X(LINE_SOCKET, 50, "assumed: 20-80 ns, same socket", "fetch a line last written elsewhere on this socket") \
	X(LINE_REMOTE, 200, "assumed: 100-300 ns, other socket", "fetch a line last written on another socket") \
	X(LINE_SOCKET_MORE, 17, "assumed: LINE_SOCKET, three in flight", "a further one of several lines fetched from this socket, none waiting for another") \
	X(LINE_REMOTE_MORE, 67, "assumed: LINE_REMOTE, three in flight", "a further one of several lines fetched from other sockets, none waiting for another") \
	X(ATOMIC, 6, "assumed: 5-8 ns, line owned", "one atomic read-modify-write, the line's transfer apart") \
	/* kernel data, by how much else the CPU has touched since it last touched this */ \
	X(TOUCH_L1, 1, "published: L1 hit, EPYC Rome article", "touch a line of kernel data that is in the first-level cache") \
	X(TOUCH_L2, 4, "assumed: L2 hit", "touch a line that is in the second-level cache") \
	X(TOUCH_L3, 15, "published: L3 hit 10-17 ns, EPYC Rome article", "touch a line that is in the socket's cache") \
	X(TOUCH_DRAM, 80, "published: DRAM 80-125 ns", "touch a line that is in no cache") \
	/* locks */ \
	X(SPIN, 8, "assumed: half of a 10-25 ns pair", "take or release a spin lock nobody else holds") \
	X(SPIN_HANDOFF, 60, "assumed: 1-2 line transfers", "a waiting CPU notices that the lock is its own") \
	X(RWSEM, 10, "assumed: one atomic and bookkeeping", "take or release a semaphore or mutex nobody else holds") \
	X(MUTEX_SPIN, 1000, "assumed: a short optimistic spin", "spin on a sleeping lock before going to sleep") \
	/* scheduler */ \
	X(CTX_SWITCH, 1070, "published: threads, same CPU, Intel 11th gen.", "switch from one task to another") \
	X(WAKEUP, 500, "assumed: try_to_wake_up by the waker", "wake a task, the IPI apart") \
	X(IDLE_EXIT, 2000, "assumed: 3-10 us wake-up less IPI and switch", "leave the idle state") \
	X(TICK, 1500, "assumed", "one timer tick") \
	X(IRQ, 600, "assumed", "enter and leave an interrupt") \
	X(TIMER, 200, "assumed", "run one timer") \
	/* deferred work */ \
	X(WORK, 100, "assumed: pool and item, locks and lines apart", "queue, look for or take a work item") \
	X(PERCPU_ALLOC, 400, "assumed: a mutex, a search, a bitmap", "allocate and free a per-CPU object") \
	X(PERCPU_CLEAR, 20, "assumed: two lines", "clear one CPU's part of a per-CPU object") \
	/* cross-CPU calls */ \
	X(IPI_SEND, 500, "published: TLB shootdown 1 us + 0.2 us a receiver", "send the first IPI of a round") \
	X(IPI_SEND_MORE, 200, "published: TLB shootdown 1 us + 0.2 us a receiver", "each further receiver of a round") \
	X(IPI_FLIGHT, 500, "published: IPI round trip 1-2 us", "from sending until the receiver is interrupted") \
	/* entering the kernel */ \
	X(SYSCALL, 80, "assumed: 50-100 ns without page-table isolation", "enter and leave a system call") \
	X(FAULT_TRAP, 300, "assumed: 200-500 ns bare metal", "trap and return of a page fault") \
	/* user accesses */ \
	X(USER_WORD, 2, "assumed: a store that misses no cache", "user code touches one word of a mapped page") \
	X(USER_PAGE, 180, "assumed: 4 KiB at 22 GB/s", "user code writes all of a mapped page") \
	X(USER_PAGE_READ, 150, "assumed: 4 KiB at 27 GB/s", "user code reads all of a mapped page") \
	X(TLB_MISS, 20, "assumed: cached walk 10-20 ns", "the hardware walks the tables for one page") \
	/* page contents */ \
	X(PAGE_CLEAR, 145, "measured: 28 GB/s streaming", "clear a page") \
	X(PAGE_COPY, 250, "assumed: 200-400 ns cold", "copy a page") \
	/* address spaces */ \
	X(VMA_LOOKUP, 20, "assumed", "find the VMA of an address") \
	X(VMA_OP, 300, "assumed: allocation and tree updates", "insert, remove, split or merge a VMA") \
	X(MLOCK, 100, "assumed: checks, limits, security hooks", "a call of mlock or munlock, its VMAs and pages apart") \
	X(PT_WALK, 20, "assumed: 10-20 ns cached", "walk from the top to a leaf table, in software") \
	X(PT_ALLOC, 200, "assumed: clear and link a table", "a new page-table page, its frame apart") \
	X(PTE, 4, "assumed: warm sequential entry", "read or write one entry of a leaf table already found") \
	X(PTE_COLD, 30, "assumed: a table out of L2", "the first entry of a leaf table reached by an rmap walk") \
	X(RSS, 2, "assumed", "a resident-set counter") \
	X(FORK_PTE, 12, "assumed: 5-20 ns bare metal", "copy one entry at fork") \
	X(EXEC, 60000, "assumed: lmbench fork+execve less fork+exit, faults apart", "execve: open, read and check a program, set up its stack") \
	X(MM_OP, 2000, "assumed", "create or destroy an address space or task") \
	/* struct page and reverse map */ \
	X(PAGE_LINE, 15, "assumed: L3 hit 10-17 ns", "first touch of a struct page by an operation") \
	X(PAGE_LINE_COLD, 80, "published: DRAM 80-125 ns", "first touch of a struct page nobody used for long") \
	X(PAGE_FLAG, 5, "assumed: atomic on an owned line", "an atomic change of flags, count or mapcount") \
	X(RMAP_LOOKUP, 40, "assumed", "find a page's anon_vma and its first chain entry") \
	X(RMAP_STEP, 60, "assumed: 100-300 ns hot with walk and lock", "one more VMA of a reverse map") \
	X(RMAP_NODE, 3, "assumed: two compares and a branch that is often mispredicted", "look at one node of an interval tree, its lines apart") \
	X(ANON_VMA, 150, "assumed", "create, link or unlink an anon_vma chain entry") \
	/* page allocator */ \
	X(COMPOUND_TAIL, 5, "assumed: struct pages in a row, prefetched", "fill in or check a tail of a compound page") \
	X(ALLOC, 25, "assumed", "the allocator's own path, lists apart") \
	X(PCP, 8, "assumed", "take or give a page on a per-CPU list") \
	X(BUDDY, 30, "assumed: refill of 31 takes 1-3 us", "take or give a block on the buddy lists") \
	X(BUDDY_STEP, 10, "assumed", "one split or merge step") \
	X(VMSTAT, 1, "assumed", "a per-CPU counter") \
	X(WATERMARK, 6, "assumed", "one watermark test, lines apart") \
	/* LRU and reclaim */ \
	X(LRU_BATCH, 3, "assumed", "put a page in a per-CPU batch") \
	X(LRU_ADD, 40, "assumed: 14 pages take 0.5-1 us", "put a page on a list, lock held") \
	X(LRU_ISOLATE, 50, "assumed: 32 pages take 1-3 us", "take a page off the tail, lock held") \
	X(SCAN_PAGE, 60, "assumed", "reclaim looks at one page, its walks apart") \
	X(SCAN_COUNT, 150, "assumed", "compute the scan targets of a lruvec") \
	X(RADIX, 60, "assumed: two to three levels", "look up, insert or delete in a swap-cache tree") \
	/* page cache */ \
	X(RADIX_LEVEL, 20, "assumed: a warm node, L2 to L3", "go down one level of a page-cache tree") \
	X(RADIX_NODE, 100, "assumed: 576 bytes cleared and linked", "add or remove a node of a page-cache tree") \
	X(FILEMAP, 30, "assumed", "one page's way through a buffered read or write, tree and copy apart") \
	X(COPY_USER, 100, "assumed: 4 KiB, source in L3; 48 ns hot, 200-400 ns cold", "copy a page between the page cache and a user buffer") \
	X(READAHEAD, 60, "assumed", "decide on a readahead window") \
	X(BLOCK_MAP, 60, "assumed: extent in the inode's own tree", "map a page of a file to its block") \
	X(DIRTY_LIMITS, 200, "assumed: a dozen divisions and as many counters", "a dirtier compares dirty pages with what is allowed") \
	X(BUFFER_HEAD, 50, "assumed: allocate or free and link", "a buffer head of a page") \
	X(FILE_OP, 800, "assumed: path look-up, file table", "open, close, create or remove a file") \
	/* TLB */ \
	X(INVLPG, 120, "assumed: 100-200 ns", "flush one page from the own TLB") \
	X(TLB_NOBODY, 10, "assumed: a call, and a look through the mask of CPUs", "flush of an address space that no CPU has loaded") \
	X(TLB_FULL, 300, "assumed: about 100 ns and the refills", "flush the own TLB") \
	/* swap */ \
	X(SWAP_SLOT, 60, "assumed", "allocate or free a swap slot, scan apart") \
	X(SWAP_SCAN, 1, "assumed: a byte a step, cached", "look at one slot while searching") \
	X(SWAP_MAP, 8, "assumed", "change one count of the swap map") \
	/* block layer */ \
	X(BIO, 1500, "assumed: bio, request, queue lock", "submit one request of 4 KiB") \
	X(BIO_MERGE, 700, "assumed", "submit 4 KiB that merges with a queued request") \
	X(BIO_PAGE, 100, "assumed: a vector in a bio", "a further page of a bio that is submitted or merged") \
	X(BIO_END, 700, "assumed", "complete a bio of one page, in the interrupt") \
	X(BIO_END_PAGE, 120, "assumed: 113 ns measured on an EPYC of 2026", "a further page of a bio that is completed: unlocked, or its writeback ended") \
	X(COMPRESS, 2000, "assumed: lz4 1-3 us", "compress a page for a RAM disk") \
	X(DECOMPRESS, 1000, "assumed: lz4 0.5-1.5 us", "decompress a page from a RAM disk")
/* clang-format on */

enum world_cost {
#define X(name, ns, source, doc) COST_##name,
	WORLD_COSTS(X)
#undef X
		NR_WORLD_COSTS
};

#endif
