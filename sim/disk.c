/* Stub: every request takes its latency. */
#include "sim/engine.h"
#include <stdlib.h>
int sim_disks_create(struct sim *sim)
{
	(void)sim;
	return 0;
}
void sim_disks_destroy(struct sim *sim)
{
	(void)sim;
}
void sim_disk_event(struct sim_cpu *s, struct sim_event *e)
{
	struct world_io *io = e->arg;
	(void)s;
	free(e);
	span_enter(SPAN_IO_DONE);
	charge(COST_IRQ);
	charge_n(COST_BIO_END, io->nr_pages);
	io->done(io, 0);
	span_exit();
}
int sim_io_submit(struct world_io *io)
{
	struct sim_cpu *s = sim_self();
	const struct hw_disk *d = &s->sim->w.hw->disk[io->disk];
	world_order();
	charge_n(COST_BIO, io->nr_pages);
	if (d->kind == HW_DISK_RAM) {
		world_irq_save();
		s->cpu.in_irq = 1;
		io->done(io, 0);
		s->cpu.in_irq = 0;
		world_irq_restore();
		return 0;
	}
	struct sim_event *e = calloc(1, sizeof(*e));
	e->kind = SIM_EVENT_DISK;
	e->arg = io;
	sim_post(s, e, s->cpu.clock + 100000);
	return 0;
}
bool sim_disk_congested(struct world *w, u32 disk, bool write)
{
	(void)w;
	(void)disk;
	(void)write;
	return false;
}
void sim_disk_discard(struct world *w, u32 disk, u64 sector, u64 nr)
{
	(void)w;
	(void)disk;
	(void)sector;
	(void)nr;
}
