/* Stub. */
#include "sim/engine.h"
int sim_tags_create(struct sim *sim)
{
	(void)sim;
	return 0;
}
void sim_tags_destroy(struct sim *sim)
{
	(void)sim;
}
void sim_tag_access(struct sim *sim, struct world_as *as, u64 va, pte_t pte, enum world_access kind)
{
	(void)sim;
	(void)as;
	(void)va;
	(void)pte;
	(void)kind;
}
void sim_tag_forget(struct sim *sim, struct world_as *as)
{
	(void)sim;
	(void)as;
}
void sim_frame_clear(u64 pfn)
{
	(void)pfn;
}
void sim_frame_copy(u64 to, u64 from)
{
	(void)to;
	(void)from;
}
void sim_frame_free(u64 pfn)
{
	(void)pfn;
}
