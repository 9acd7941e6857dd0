/*
 * Slices: what happened from when to when in a run, for a picture of it. The world that kept them and
 * the report that draws them share this. Times are ns.
 */
#ifndef WORLD_SLICES_H
#define WORLD_SLICES_H

#include "lib/types.h"

enum slice_kind {
	SLICE_SPAN,     /* of a task; name: enum ledger_span */
	SLICE_IRQ,      /* the same in an interrupt: it belongs to the CPU */
	SLICE_RUN,      /* a task had a CPU */
	SLICE_LOCK,     /* a task waited; name: enum ledger_lock */
	SLICE_IRQ_LOCK, /* an interrupt waited */
	SLICE_IO,       /* a request of disk @cpu, from queueing to completion; name: 1 a write */
	SLICE_IPI,      /* from its sending (task, cpu) to its reception (a: the CPU) */
	SLICE_INSTANT,  /* name: enum ledger_event */
	NR_SLICE_KINDS
};

struct slice {
	u64 begin;
	u64 end;
	u64 a; /* IO: sector; IPI: receiver; INSTANT: its arguments */
	u64 b; /* IO: sectors; IPI: how long the receiver was busy with it */
	u32 task;
	u16 cpu;
	u8 kind;
	u8 name;
};

struct slices_info {
	u32 nr;
	u64 least_ns;         /* shorter ones were left out ... */
	u64 nr_short;         /* ... so many */
	u64 nr_instants_lost; /* and so many instants, for want of room */
};

struct slice_task {
	u32 id;
	u8 kind; /* enum world_task_kind */
	char name[24];
};

#endif
