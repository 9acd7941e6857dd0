/*
 * Red-black trees whose nodes live in the objects they order.
 *
 * The tree does not compare: the caller walks down from root->node, finds the
 * empty link where its node belongs, and calls rb_link_node() and then
 * rb_insert_color(). rb_add() does that for callers with a simple order, and
 * puts equal nodes behind each other in insertion order.
 *
 * An augmented tree keeps in every node something about the subtree below it
 * (a maximum, a sum). The caller hands in one function, update(node), which
 * recomputes that from the node itself and its two children; the tree calls it
 * in the right order wherever a subtree changed. All insertions and erasures of
 * one tree must then use the augmented variants with the same function.
 */
#ifndef LIB_RBTREE_H
#define LIB_RBTREE_H

#include "lib/types.h"

struct rb_node {
	unsigned long parent_color; /* parent's address; bit 0 set if black */
	struct rb_node *left;
	struct rb_node *right;
};

struct rb_root {
	struct rb_node *node;
};

/* A root that remembers its first node. */
struct rb_root_cached {
	struct rb_root root;
	struct rb_node *leftmost;
};

typedef void rb_update_fn(struct rb_node *node);

#define RB_ROOT                                                                                    \
	(struct rb_root)                                                                           \
	{                                                                                          \
		NULL                                                                               \
	}
#define RB_ROOT_CACHED                                                                             \
	(struct rb_root_cached)                                                                    \
	{                                                                                          \
		{NULL}, NULL                                                                       \
	}

#define rb_entry(ptr, type, member) container_of(ptr, type, member)
#define rb_entry_safe(ptr, type, member)                                                           \
	__extension__({                                                                            \
		__typeof__(ptr) __rbnode = (ptr);                                                  \
		__rbnode ? rb_entry(__rbnode, type, member) : NULL;                                \
	})

static inline struct rb_node *rb_parent(const struct rb_node *node)
{
	return (struct rb_node *)(node->parent_color & ~1UL);
}

static inline bool RB_EMPTY_ROOT(const struct rb_root *root)
{
	return !root->node;
}

/* A node that is in no tree may say so: mark it first, ask later. */
static inline void RB_CLEAR_NODE(struct rb_node *node)
{
	node->parent_color = (unsigned long)node;
}

static inline bool RB_EMPTY_NODE(const struct rb_node *node)
{
	return node->parent_color == (unsigned long)node;
}

/* Hang @node into the empty @link of @parent (NULL for the root's link). */
static inline void rb_link_node(struct rb_node *node, struct rb_node *parent, struct rb_node **link)
{
	node->parent_color = (unsigned long)parent; /* red */
	node->left = NULL;
	node->right = NULL;
	*link = node;
}

/* Rebalance after rb_link_node(). */
void rb_insert_color(struct rb_node *node, struct rb_root *root);
void rb_insert_augmented(struct rb_node *node, struct rb_root *root, rb_update_fn *update);

/* Take @node out. Its links are left stale. */
void rb_erase(struct rb_node *node, struct rb_root *root);
void rb_erase_augmented(struct rb_node *node, struct rb_root *root, rb_update_fn *update);

/* Something in @node itself changed: bring it and everything above up to date. */
void rb_update_path(struct rb_node *node, rb_update_fn *update);

/* Put @new where @old is; the order and the colours stay. */
void rb_replace_node(struct rb_node *old, struct rb_node *new, struct rb_root *root);

/* In order; NULL at the end. */
struct rb_node *rb_first(const struct rb_root *root);
struct rb_node *rb_last(const struct rb_root *root);
struct rb_node *rb_next(const struct rb_node *node);
struct rb_node *rb_prev(const struct rb_node *node);

#define rb_for_each(pos, root) for (pos = rb_first(root); pos; pos = rb_next(pos))

/* The same on a root that remembers its first node: @leftmost says whether @node is it now. */
static inline void rb_insert_color_cached(struct rb_node *node, struct rb_root_cached *root,
                                          bool leftmost)
{
	if (leftmost)
		root->leftmost = node;
	rb_insert_color(node, &root->root);
}

static inline void rb_insert_augmented_cached(struct rb_node *node, struct rb_root_cached *root,
                                              bool leftmost, rb_update_fn *update)
{
	if (leftmost)
		root->leftmost = node;
	rb_insert_augmented(node, &root->root, update);
}

static inline void rb_erase_cached(struct rb_node *node, struct rb_root_cached *root)
{
	if (root->leftmost == node)
		root->leftmost = rb_next(node);
	rb_erase(node, &root->root);
}

static inline void rb_erase_augmented_cached(struct rb_node *node, struct rb_root_cached *root,
                                             rb_update_fn *update)
{
	if (root->leftmost == node)
		root->leftmost = rb_next(node);
	rb_erase_augmented(node, &root->root, update);
}

static inline struct rb_node *rb_first_cached(const struct rb_root_cached *root)
{
	return root->leftmost;
}

/*
 * Insert @node by @less; behind all nodes equal to it. With a constant @less the
 * compiler makes a specialised loop of it.
 */
static __always_inline void rb_add_cached(struct rb_node *node, struct rb_root_cached *root,
                                          bool (*less)(const struct rb_node *a,
                                                       const struct rb_node *b))
{
	struct rb_node **link = &root->root.node;
	struct rb_node *parent = NULL;
	bool leftmost = true;

	while (*link) {
		parent = *link;
		if (less(node, parent)) {
			link = &parent->left;
		} else {
			link = &parent->right;
			leftmost = false;
		}
	}
	rb_link_node(node, parent, link);
	rb_insert_color_cached(node, root, leftmost);
}

static __always_inline void rb_add(struct rb_node *node, struct rb_root *root,
                                   bool (*less)(const struct rb_node *a, const struct rb_node *b))
{
	struct rb_node **link = &root->node;
	struct rb_node *parent = NULL;

	while (*link) {
		parent = *link;
		link = less(node, parent) ? &parent->left : &parent->right;
	}
	rb_link_node(node, parent, link);
	rb_insert_color(node, root);
}

#endif
