/*
 * Swap in compressed RAM (Linux drivers/block/zram, mm/zsmalloc.c).
 *
 * The world charges the compression and carries the contents; here is what it costs in memory. A page
 * stored takes ratio_bp / 10,000 of its size (struct hw_disk), and the frames of all stored pages
 * together are taken from and given back to the machine as pages come and go. So a page swapped out
 * frees less than a page, and a store can fail for want of a frame, which is a write error.
 *
 * A slot's memory is freed with the slot (swap_slot_free_notify(), since 2.6.35). Left out: size
 * classes and their waste, same-filled pages, writeback to a backing device.
 */
#include "core/internal.h"
#include "core/swap.h"
#include "lib/bitmap.h"

void zram_init(struct machine *m, struct swap_info_struct *si)
{
	const struct hw_disk *hw = &m->world->hw->disk[si->disk];

	si->zram.stored_bytes_per_page = (u32)(PAGE_SIZE * hw->ratio_bp / 10000);
	si->zram.stored = arena_array(&si->arena, unsigned long, DIV_ROUND_UP(si->max, 64));
	page_list_init(&si->zram.frames, m->mem_map);
	si->zram.one_stream = m->knob.zram_streams == ZRAM_STREAMS_ONE;
	mutex_init(m->world, &si->zram.stream, LOCK_ZSTRM);
	spin_lock_init(m->world, &si->zram.class_lock, LOCK_ZS_CLASS);
}

/*
 * A write needs a compressor's buffers. To 4.6 there is one set of them unless the administrator has
 * asked for more (max_comp_streams), and the others wait for it, spinning as for any mutex.
 */
void zram_stream_get(struct swap_info_struct *si)
{
	if (si->zram.one_stream)
		mutex_lock(&si->zram.stream);
}

void zram_stream_put(struct swap_info_struct *si)
{
	if (si->zram.one_stream)
		mutex_unlock(&si->zram.stream);
}

static bool zram_get_frame(struct machine *m, struct swap_info_struct *si)
{
	struct page *page = alloc_page(m, GFP_NOIO | __GFP_HIGHMEM | __GFP_NOWARN);

	if (!page)
		return false;
	page_set(page, PG_zsmalloc);
	mod_zone_state(page_zone(m, page), NR_ZSPAGES, 1);
	page_list_add(&si->zram.frames, page);
	return true;
}

static void zram_put_frame(struct machine *m, struct swap_info_struct *si)
{
	struct page *page = page_list_pop(&si->zram.frames);

	page_clear(page, PG_zsmalloc);
	mod_zone_state(page_zone(m, page), NR_ZSPAGES, -1);
	__free_pages(m, page, 0);
}

static void zram_shrink(struct machine *m, struct swap_info_struct *si)
{
	while (si->zram.frames.nr > DIV_ROUND_UP(si->zram.bytes, PAGE_SIZE))
		zram_put_frame(m, si);
}

/*
 * zsmalloc's work on one object, under the lock of its size class: the disk's table, the frame's
 * struct page, and the object itself, which is linked into the list of free ones. An object that is
 * freed has mostly not been touched since it was stored.
 */
static void zs_object(struct swap_info_struct *si, enum world_cost object)
{
	spin_lock(&si->zram.class_lock);
	charge_n(COST_PAGE_LINE, 2);
	charge(object);
	spin_unlock(&si->zram.class_lock);
}

bool zram_store(struct machine *m, struct swap_info_struct *si, u64 offset)
{
	if (__test_and_set_bit(offset, si->zram.stored))
		return true; /* written again, into the place it has */
	zs_object(si, COST_PAGE_LINE);
	si->zram.bytes += si->zram.stored_bytes_per_page;
	/* Looked at again after each frame: other CPUs store and free meanwhile. */
	while (si->zram.frames.nr * PAGE_SIZE < si->zram.bytes) {
		if (zram_get_frame(m, si))
			continue;
		zram_free(m, si, offset);
		return false;
	}
	zram_shrink(m, si); /* they may have freed what this frame was for */
	return true;
}

/* si->lock (from 6.12 on the cluster's) is held: notifying the disk is part of freeing the slot. */
void zram_free(struct machine *m, struct swap_info_struct *si, u64 offset)
{
	if (!test_bit(offset, si->zram.stored))
		return;
	zs_object(si, COST_PAGE_LINE_COLD);
	__clear_bit(offset, si->zram.stored);
	si->zram.bytes -= si->zram.stored_bytes_per_page;
	zram_shrink(m, si);
}

void zram_audit(const struct swap_info_struct *si)
{
	u64 nr = 0;

	for (u64 i = 0; i < DIV_ROUND_UP(si->max, 64); i++)
		nr += (u64)__builtin_popcountl(si->zram.stored[i]);
	VM_BUG_ON_MSG(nr * si->zram.stored_bytes_per_page != si->zram.bytes,
	              "zram: %lu pages stored in %lu bytes", nr, si->zram.bytes);
	VM_BUG_ON_MSG(si->zram.frames.nr < DIV_ROUND_UP(si->zram.bytes, PAGE_SIZE),
	              "zram: %lu bytes in %lu frames", si->zram.bytes, si->zram.frames.nr);
}
