/*
 * The simulation keeps the contract of world.h.
 */
#define CONTRACT_NULL false
#include "tests/world/contract.h"

#include "sim/sim.h"

struct contract_main {
	struct world_task task;
	struct world *w;
	void (*fn)(struct world *w);
};

static void contract_task(void *arg)
{
	struct contract_main *m = arg;

	world_syscall_enter();
	m->fn(m->w);
	world_syscall_exit();
}

static void contract_run(void (*fn)(struct world *w))
{
	struct hw_machine *hw = contract_hw();
	struct sim_options opt = {.seed = test_seed(), .max_ns = 1000000000};
	struct contract_main m = {.fn = fn};
	char err[SIM_ERROR_MAX];

	m.w = sim_create(hw, &opt, err);
	assert_non_null(m.w);
	world_task_init(m.w, &m.task, "main", WORLD_TASK_USER, WORLD_STACK_LUA, contract_task, &m);
	world_task_start(m.w, &m.task, 0);
	assert_int_equal(sim_run(m.w), 0);
	sim_destroy(m.w);
	null_hw_free(hw);
}

TEST_MAIN("sim_contract")
