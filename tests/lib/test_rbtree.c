/*
 * Aim: lib/rbtree.c, plain, cached and augmented.
 * Method: every insertion order and then every erasure of up to six keys; then
 * random operations with duplicates against a sorted array. After each
 * operation the red-black rules, parents, order and augmented sums are checked.
 */
#include "tests/test.h"

#include "lib/rbtree.h"

struct item {
	struct rb_node rb;
	u32 key;
	u32 age; /* order of insertion: what ties are broken by */
	u64 nr;  /* augmented: nodes in the subtree */
	u64 sum; /* augmented: of keys */
};

#define to_item(node) rb_entry(node, struct item, rb)

static void item_update(struct rb_node *rb)
{
	struct item *it = to_item(rb);

	it->nr = 1;
	it->sum = it->key;
	if (rb->left) {
		it->nr += to_item(rb->left)->nr;
		it->sum += to_item(rb->left)->sum;
	}
	if (rb->right) {
		it->nr += to_item(rb->right)->nr;
		it->sum += to_item(rb->right)->sum;
	}
}

static bool item_less(const struct rb_node *a, const struct rb_node *b)
{
	return to_item(a)->key < to_item(b)->key;
}

static bool red(const struct rb_node *node)
{
	return node && !(node->parent_color & 1);
}

/* Check the subtree; returns its black height, counting NULL as one. */
static int check_subtree(struct rb_node *node, struct rb_node *parent, bool augmented)
{
	if (!node)
		return 1;
	assert_ptr_equal(rb_parent(node), parent);
	if (red(node))
		assert_false(red(node->left) || red(node->right));

	int left = check_subtree(node->left, node, augmented);
	int right = check_subtree(node->right, node, augmented);

	assert_int_equal(left, right);
	if (augmented) {
		struct item seen = *to_item(node);

		item_update(&seen.rb); /* from a copy: children are the real ones */
		assert_int_equal(seen.nr, to_item(node)->nr);
		assert_int_equal(seen.sum, to_item(node)->sum);
	}
	return left + !red(node);
}

static void check_tree(struct rb_root *root, struct item **sorted, u32 n, bool augmented)
{
	struct rb_node *rb;
	u32 i = 0;

	assert_false(red(root->node));
	check_subtree(root->node, NULL, augmented);
	rb_for_each (rb, root) {
		assert_true(i < n);
		assert_ptr_equal(rb, &sorted[i++]->rb);
	}
	assert_int_equal(i, n);
	for (rb = rb_last(root); rb; rb = rb_prev(rb))
		assert_ptr_equal(rb, &sorted[--i]->rb);
	assert_int_equal(i, 0);
	assert_int_equal(RB_EMPTY_ROOT(root), n == 0);
}

static void sorted_insert(struct item **sorted, u32 n, struct item *it)
{
	while (n > 0 && sorted[n - 1]->key > it->key) {
		sorted[n] = sorted[n - 1];
		n--;
	}
	sorted[n] = it;
}

static void sorted_remove(struct item **sorted, u32 n, struct item *it)
{
	u32 i = 0;

	while (sorted[i] != it)
		i++;
	memmove(&sorted[i], &sorted[i + 1], (n - i - 1) * sizeof(*sorted));
}

static void insert_augmented(struct rb_root *root, struct item *it)
{
	struct rb_node **link = &root->node;
	struct rb_node *parent = NULL;

	while (*link) {
		parent = *link;
		link = item_less(&it->rb, parent) ? &parent->left : &parent->right;
	}
	rb_link_node(&it->rb, parent, link);
	rb_insert_augmented(&it->rb, root, item_update);
}

#define NR_SMALL 6

/* Next permutation in lexical order; false after the last. */
static bool permute(u32 *p, int n)
{
	int i = n - 2;
	int j = n - 1;

	while (i >= 0 && p[i] > p[i + 1])
		i--;
	if (i < 0)
		return false;
	while (p[j] < p[i])
		j--;
	swap(p[i], p[j]);
	for (int a = i + 1, b = n - 1; a < b; a++, b--)
		swap(p[a], p[b]);
	return true;
}

TEST(small_trees_are_right_in_every_order)
{
	u32 in[NR_SMALL] = {0, 1, 2, 3, 4, 5};

	do {
		u32 out[NR_SMALL] = {0, 1, 2, 3, 4, 5};

		do {
			struct rb_root root = RB_ROOT;
			struct item items[NR_SMALL];
			struct item *sorted[NR_SMALL];
			u32 n = 0;

			for (u32 i = 0; i < NR_SMALL; i++) {
				struct item *it = &items[in[i]];

				it->key = in[i];
				insert_augmented(&root, it);
				sorted_insert(sorted, n++, it);
			}
			check_tree(&root, sorted, n, true);
			for (u32 i = 0; i < NR_SMALL; i++) {
				rb_erase_augmented(&items[out[i]].rb, &root, item_update);
				sorted_remove(sorted, n--, &items[out[i]]);
				check_tree(&root, sorted, n, true);
			}
		} while (permute(out, NR_SMALL));
	} while (permute(in, NR_SMALL));
}

#define NR_ITEMS 200

enum tree_kind { PLAIN, CACHED, AUGMENTED };

static void random_operations(enum tree_kind kind)
{
	static struct item items[NR_ITEMS], spares[NR_ITEMS];
	struct item *sorted[NR_ITEMS];
	struct rb_root_cached cached = RB_ROOT_CACHED;
	struct rb_root *root = &cached.root;
	bool in[NR_ITEMS] = {false};
	struct rand_stream r;
	u32 n = 0;

	rand_init(&r, test_seed(), 1, kind);
	for (u32 step = 0; step < 20000; step++) {
		/* Grow for a while, then shrink, so that all sizes are seen. */
		u32 i = rand_below(&r, NR_ITEMS);
		bool grow = step / 2000 % 2 == 0;
		struct item *it = &items[i];

		if (in[i] && (!grow || rand_chance(&r, 1, 4))) {
			if (kind == AUGMENTED)
				rb_erase_augmented(&it->rb, root, item_update);
			else if (kind == CACHED)
				rb_erase_cached(&it->rb, &cached);
			else
				rb_erase(&it->rb, root);
			sorted_remove(sorted, n--, it);
			in[i] = false;
		} else if (!in[i] && (grow || rand_chance(&r, 1, 4))) {
			it->key = rand_below(&r, 50); /* duplicates are common */
			it->age = step;
			if (kind == AUGMENTED)
				insert_augmented(root, it);
			else if (kind == CACHED)
				rb_add_cached(&it->rb, &cached, item_less);
			else
				rb_add(&it->rb, root, item_less);
			sorted_insert(sorted, n++, it);
			in[i] = true;
		} else if (in[i] && kind == PLAIN) {
			/* Two replacements: away and back. */
			rb_replace_node(&it->rb, &spares[i].rb, root);
			rb_replace_node(&spares[i].rb, &it->rb, root);
		}
		if (step % 7 == 0 || n < 8)
			check_tree(root, sorted, n, kind == AUGMENTED);
		if (kind == CACHED)
			assert_ptr_equal(rb_first_cached(&cached), rb_first(root));
		for (u32 k = 1; k < n; k++)
			assert_true(sorted[k - 1]->key < sorted[k]->key ||
			            sorted[k - 1]->age < sorted[k]->age);
	}
}

TEST(plain_trees_match_a_sorted_array)
{
	random_operations(PLAIN);
}

TEST(cached_trees_remember_their_first_node)
{
	random_operations(CACHED);
}

TEST(augmented_trees_keep_their_sums)
{
	random_operations(AUGMENTED);
}

TEST(a_change_inside_a_node_reaches_the_root)
{
	struct rb_root root = RB_ROOT;
	struct item items[20];

	for (u32 i = 0; i < 20; i++) {
		items[i].key = i;
		insert_augmented(&root, &items[i]);
	}
	assert_int_equal(to_item(root.node)->sum, 190); /* 0 + ... + 19 */
	items[19].key += 100;                           /* still last */
	rb_update_path(&items[19].rb, item_update);
	assert_int_equal(to_item(root.node)->sum, 290);
}

TEST(a_node_knows_that_it_is_in_no_tree)
{
	struct rb_root root = RB_ROOT;
	struct item it = {.key = 1};

	RB_CLEAR_NODE(&it.rb);
	assert_true(RB_EMPTY_NODE(&it.rb));
	rb_add(&it.rb, &root, item_less);
	assert_false(RB_EMPTY_NODE(&it.rb));
}

TEST_MAIN("rbtree")
