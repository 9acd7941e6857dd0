/*
 * Buffer heads (Linux fs/buffer.c), as far as memory management sees them.
 *
 * A page that is written gets one buffer head (blocks are as large as pages; a large folio one for each of its
 * pages), which holds a reference to it and shows as PG_private: such a page has one reference more than its cache gives it, and
 * reclaim must take the buffer away before it can free the page. Pages that are only read have none.
 * Knob fs.buffer_heads: off is a file system that does without.
 *
 * fs.journal = ordered: data is on disk before the transaction that describes it commits, so the
 * journal keeps the buffers of pages that have been written until then. The commit comes with every
 * JOURNAL_COMMIT_NS; who asks a page of an earlier transaction to give up its buffer gets it.
 */
#include "core/fs.h"

#define JOURNAL_COMMIT_NS 5000000000UL /* ext3, ext4: commit=5 */

static u64 transaction_now(void)
{
	return world_now() / JOURNAL_COMMIT_NS + 1;
}

void create_empty_buffers(struct machine *m, struct page *page)
{
	if (m->knob.buffer_heads == KNOB_OFF)
		return;
	if (!page_test(page, PG_private)) {
		charge_n(COST_BUFFER_HEAD, compound_nr(page));
		page_set(page, PG_private);
		page->refcount += 1;
	}
	m->page_private[page_to_pfn(m, page)] = transaction_now();
}

void drop_buffers(struct machine *m, struct page *page)
{
	charge_n(COST_BUFFER_HEAD, compound_nr(page));
	page_clear(page, PG_private);
	m->page_private[page_to_pfn(m, page)] = 0;
	VM_BUG_ON(page->refcount < 2);
	page->refcount -= 1;
}

bool try_to_free_buffers(struct machine *m, struct page *page)
{
	VM_BUG_ON(!page_test(page, PG_locked) || !page_test(page, PG_private));
	world_order();
	if (page_test(page, PG_dirty) || page_test(page, PG_writeback))
		return false;
	if (m->knob.journal == JOURNAL_ORDERED &&
	    m->page_private[page_to_pfn(m, page)] == transaction_now())
		return false;
	drop_buffers(m, page);
	return true;
}
