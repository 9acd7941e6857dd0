/*
 * Closed intervals [start, last] of u64, and which of them touch a given one.
 *
 * A red-black tree ordered by start, in insertion order among equals, whose
 * nodes remember the largest last below them. Duplicates are allowed. Finding
 * k intervals takes O(log n + k) steps or little more, in the tree's order.
 */
#ifndef LIB_INTERVAL_TREE_H
#define LIB_INTERVAL_TREE_H

#include "lib/rbtree.h"

struct interval_node {
	struct rb_node rb;
	u64 start;
	u64 last;         /* included; not below start */
	u64 subtree_last; /* kept by the tree */
};

/* @node->start and ->last are set, and must not change while it is in the tree. */
void interval_tree_insert(struct interval_node *node, struct rb_root_cached *root);
void interval_tree_remove(struct interval_node *node, struct rb_root_cached *root);

/* The first interval that shares a value with [@start, @last], or NULL. */
struct interval_node *interval_tree_iter_first(const struct rb_root_cached *root, u64 start,
                                               u64 last);

/* The next one after @node, with the same @start and @last. */
struct interval_node *interval_tree_iter_next(const struct interval_node *node, u64 start,
                                              u64 last);

/*
 * The same, telling @visit of each node that is looked at, in the order a search reads them: for those
 * who model what a search costs.
 */
typedef void interval_visit_fn(const struct interval_node *node, void *arg);
struct interval_node *interval_tree_iter_first_visit(const struct rb_root_cached *root, u64 start,
                                                     u64 last, interval_visit_fn *visit, void *arg);
struct interval_node *interval_tree_iter_next_visit(const struct interval_node *node, u64 start,
                                                    u64 last, interval_visit_fn *visit, void *arg);

#define interval_tree_for_each(pos, root, start, last)                                             \
	for (pos = interval_tree_iter_first(root, start, last); pos;                               \
	     pos = interval_tree_iter_next(pos, start, last))

#endif
