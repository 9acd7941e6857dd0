/*
 * Interval trees on augmented red-black trees. See interval_tree.h.
 */
#include "lib/interval_tree.h"

#include "lib/bug.h"

#define to_interval(node) rb_entry(node, struct interval_node, rb)

static void interval_update(struct rb_node *rb)
{
	struct interval_node *node = to_interval(rb);
	u64 largest = node->last;

	if (rb->left)
		largest = max(largest, to_interval(rb->left)->subtree_last);
	if (rb->right)
		largest = max(largest, to_interval(rb->right)->subtree_last);
	node->subtree_last = largest;
}

void interval_tree_insert(struct interval_node *node, struct rb_root_cached *root)
{
	struct rb_node **link = &root->root.node;
	struct rb_node *parent = NULL;
	bool leftmost = true;

	VM_BUG_ON(node->start > node->last);
	while (*link) {
		parent = *link;
		if (node->start < to_interval(parent)->start) {
			link = &parent->left;
		} else {
			link = &parent->right;
			leftmost = false;
		}
	}
	rb_link_node(&node->rb, parent, link);
	rb_insert_augmented_cached(&node->rb, root, leftmost, interval_update);
}

void interval_tree_remove(struct interval_node *node, struct rb_root_cached *root)
{
	rb_erase_augmented_cached(&node->rb, root, interval_update);
}

/*
 * The first match below @rb, which has one if any interval below it that ends at
 * or after @start also begins by @last. A left subtree that reaches @start holds
 * the answer or nothing does: its intervals begin before all others, so if none
 * of those that reach @start begins by @last, neither does anything to the right.
 */
static __always_inline struct interval_node *subtree_first(struct rb_node *rb, u64 start, u64 last,
                                                           interval_visit_fn *visit, void *arg)
{
	while (rb) {
		struct interval_node *node = to_interval(rb);

		if (visit)
			visit(node, arg);
		if (rb->left && to_interval(rb->left)->subtree_last >= start) {
			rb = rb->left;
			continue;
		}
		if (node->start > last)
			return NULL;
		if (node->last >= start)
			return node;
		rb = rb->right;
		if (rb && to_interval(rb)->subtree_last < start)
			return NULL;
	}
	return NULL;
}

static __always_inline struct interval_node *iter_first(const struct rb_root_cached *root,
                                                        u64 start, u64 last,
                                                        interval_visit_fn *visit, void *arg)
{
	struct rb_node *top = root->root.node;

	/* Most questions that have no answer end here. */
	if (!top || to_interval(top)->subtree_last < start ||
	    to_interval(root->leftmost)->start > last)
		return NULL;
	return subtree_first(top, start, last, visit, arg);
}

static __always_inline struct interval_node *iter_next(const struct interval_node *node, u64 start,
                                                       u64 last, interval_visit_fn *visit,
                                                       void *arg)
{
	const struct rb_node *rb = &node->rb;

	for (;;) {
		/* What follows @rb: its right subtree, then the first parent met from the left. */
		if (rb->right && to_interval(rb->right)->subtree_last >= start)
			return subtree_first(rb->right, start, last, visit, arg);

		const struct rb_node *below;

		do {
			below = rb;
			rb = rb_parent(rb);
			if (!rb)
				return NULL;
			if (visit)
				visit(to_interval(rb), arg);
		} while (below == rb->right);

		const struct interval_node *next = to_interval(rb);

		if (next->start > last)
			return NULL;
		if (next->last >= start)
			return (struct interval_node *)next;
	}
}

struct interval_node *interval_tree_iter_first(const struct rb_root_cached *root, u64 start,
                                               u64 last)
{
	return iter_first(root, start, last, NULL, NULL);
}

struct interval_node *interval_tree_iter_next(const struct interval_node *node, u64 start, u64 last)
{
	return iter_next(node, start, last, NULL, NULL);
}

struct interval_node *interval_tree_iter_first_visit(const struct rb_root_cached *root, u64 start,
                                                     u64 last, interval_visit_fn *visit, void *arg)
{
	return iter_first(root, start, last, visit, arg);
}

struct interval_node *interval_tree_iter_next_visit(const struct interval_node *node, u64 start,
                                                    u64 last, interval_visit_fn *visit, void *arg)
{
	return iter_next(node, start, last, visit, arg);
}
