/*
 * Aim: lib/interval_tree.c.
 * Method: random insertions, removals and questions over a small range of
 * values, so that touching and nested intervals and duplicates are common,
 * against a list in insertion order that is searched and sorted plainly.
 */
#include "tests/test.h"

#include "lib/interval_tree.h"

#define NR_NODES 60
#define VALUES 64

struct model {
	struct interval_node *node[NR_NODES]; /* by start, then age */
	u32 n;
};

static void model_insert(struct model *m, struct interval_node *node)
{
	u32 i = m->n++;

	for (; i > 0 && m->node[i - 1]->start > node->start; i--)
		m->node[i] = m->node[i - 1];
	m->node[i] = node;
}

static void model_remove(struct model *m, struct interval_node *node)
{
	u32 i = 0;

	while (m->node[i] != node)
		i++;
	m->n--;
	memmove(&m->node[i], &m->node[i + 1], (m->n - i) * sizeof(m->node[0]));
}

static void compare(const struct rb_root_cached *root, const struct model *m, u64 start, u64 last)
{
	struct interval_node *it = interval_tree_iter_first(root, start, last);

	for (u32 i = 0; i < m->n; i++) {
		struct interval_node *node = m->node[i];

		if (node->start > last || node->last < start)
			continue;
		assert_ptr_equal(it, node);
		it = interval_tree_iter_next(it, start, last);
	}
	assert_null(it);
}

TEST(overlaps_match_a_plain_search)
{
	static struct interval_node nodes[NR_NODES];
	struct rb_root_cached root = RB_ROOT_CACHED;
	struct model m = {.n = 0};
	bool in[NR_NODES] = {false};
	struct rand_stream r;

	rand_init(&r, test_seed(), 1, 0);
	for (u32 step = 0; step < 20000; step++) {
		u32 i = rand_below(&r, NR_NODES);
		u64 start, last;

		if (in[i]) {
			interval_tree_remove(&nodes[i], &root);
			model_remove(&m, &nodes[i]);
		} else {
			/* Mostly short, some long. */
			u64 len = rand_below(&r, rand_chance(&r, 1, 6) ? VALUES : 5);

			nodes[i].start = rand_below(&r, VALUES);
			nodes[i].last = nodes[i].start + len;
			interval_tree_insert(&nodes[i], &root);
			model_insert(&m, &nodes[i]);
		}
		in[i] = !in[i];
		start = rand_below(&r, VALUES);
		last = start + rand_below(&r, rand_chance(&r, 1, 4) ? VALUES : 3);
		compare(&root, &m, start, last);
		compare(&root, &m, 0, UINT64_MAX);
	}
}

TEST(the_ends_of_the_range_are_included)
{
	struct rb_root_cached root = RB_ROOT_CACHED;
	struct interval_node all = {.start = 0, .last = UINT64_MAX};
	struct interval_node point = {.start = 10, .last = 10};
	struct interval_node *it;
	u32 n = 0;

	assert_null(interval_tree_iter_first(&root, 0, UINT64_MAX));
	interval_tree_insert(&point, &root);
	assert_null(interval_tree_iter_first(&root, 0, 9));
	assert_null(interval_tree_iter_first(&root, 11, UINT64_MAX));
	assert_ptr_equal(interval_tree_iter_first(&root, 10, 10), &point);
	interval_tree_insert(&all, &root);
	assert_ptr_equal(interval_tree_iter_first(&root, UINT64_MAX, UINT64_MAX), &all);
	interval_tree_for_each (it, &root, 0, 10)
		n++;
	assert_int_equal(n, 2);
}

TEST(a_reversed_interval_is_refused)
{
	struct rb_root_cached root = RB_ROOT_CACHED;
	struct interval_node node = {.start = 2, .last = 1};

	assert_panics("node->start > node->last", interval_tree_insert(&node, &root));
}

TEST_MAIN("interval_tree")
