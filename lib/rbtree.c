/*
 * Red-black trees. See rbtree.h for how to use them.
 *
 * The rules: the root and all missing children are black, a red node has black
 * children, and every way from the root down meets the same number of black
 * nodes. Rebalancing is the textbook's (Cormen et al., chapter 13), with both
 * mirror images in one piece of code by way of "the child on side s".
 *
 * Each operation is written once with @update possibly NULL and inlined into
 * its plain and augmented forms.
 */
#include "lib/rbtree.h"

#define RB_BLACK 1UL

enum rb_side { RB_LEFT, RB_RIGHT };

static __always_inline struct rb_node **child(struct rb_node *node, enum rb_side side)
{
	return side == RB_LEFT ? &node->left : &node->right;
}

static __always_inline bool is_red(const struct rb_node *node)
{
	return node && !(node->parent_color & RB_BLACK);
}

static __always_inline void set_red(struct rb_node *node)
{
	node->parent_color &= ~RB_BLACK;
}

static __always_inline void set_black(struct rb_node *node)
{
	node->parent_color |= RB_BLACK;
}

static __always_inline void set_parent(struct rb_node *node, struct rb_node *parent)
{
	node->parent_color = (unsigned long)parent | (node->parent_color & RB_BLACK);
}

/* Whatever points at @old from above points at @new from now on. */
static __always_inline void replace_child(struct rb_node *parent, struct rb_node *old,
                                          struct rb_node *new, struct rb_root *root)
{
	if (!parent)
		root->node = new;
	else if (parent->left == old)
		parent->left = new;
	else
		parent->right = new;
}

/* @top goes down on @side, and its child on the other side takes its place. */
static __always_inline void rotate(struct rb_node *top, enum rb_side side, struct rb_root *root,
                                   rb_update_fn *update)
{
	struct rb_node *parent = rb_parent(top);
	struct rb_node *up = *child(top, !side);
	struct rb_node *between = *child(up, side);

	*child(top, !side) = between;
	if (between)
		set_parent(between, top);
	*child(up, side) = top;
	set_parent(top, up);
	set_parent(up, parent);
	replace_child(parent, top, up, root);
	if (update) {
		update(top); /* now the lower of the two */
		update(up);
	}
}

static __always_inline void insert(struct rb_node *node, struct rb_root *root, rb_update_fn *update)
{
	struct rb_node *parent;

	if (update)
		rb_update_path(node, update);

	while (is_red(parent = rb_parent(node))) {
		/* A red node is not the root, so there is a grandparent. */
		struct rb_node *grand = rb_parent(parent);
		enum rb_side side = parent == grand->left ? RB_LEFT : RB_RIGHT;
		struct rb_node *uncle = *child(grand, !side);

		if (is_red(uncle)) {
			set_black(parent);
			set_black(uncle);
			set_red(grand);
			node = grand;
			continue;
		}
		if (node == *child(parent, !side)) {
			rotate(parent, side, root, update);
			parent = node;
		}
		set_black(parent);
		set_red(grand);
		rotate(grand, !side, root, update);
		break;
	}
	set_black(root->node);
}

/* The ways through @node, a child of @parent and perhaps NULL, lack one black node. */
static __always_inline void erase_fixup(struct rb_node *node, struct rb_node *parent,
                                        struct rb_root *root, rb_update_fn *update)
{
	while (parent && !is_red(node)) {
		enum rb_side side = node == parent->left ? RB_LEFT : RB_RIGHT;
		struct rb_node *sibling = *child(parent, !side);

		if (is_red(sibling)) {
			set_black(sibling);
			set_red(parent);
			rotate(parent, side, root, update);
			sibling = *child(parent, !side);
		}

		struct rb_node *near = *child(sibling, side);
		struct rb_node *far = *child(sibling, !side);

		if (!is_red(near) && !is_red(far)) {
			set_red(sibling);
			node = parent;
			parent = rb_parent(node);
			continue;
		}
		if (!is_red(far)) {
			set_black(near);
			set_red(sibling);
			rotate(sibling, !side, root, update);
			far = sibling;
			sibling = near;
		}
		if (is_red(parent))
			set_red(sibling);
		else
			set_black(sibling);
		set_black(parent);
		set_black(far);
		rotate(parent, side, root, update);
		return;
	}
	if (node)
		set_black(node);
}

static __always_inline void erase(struct rb_node *node, struct rb_root *root, rb_update_fn *update)
{
	struct rb_node *parent; /* of the place where the tree got shorter */
	struct rb_node *moved;  /* what is in that place now, perhaps NULL */
	bool lost_black;

	if (!node->left || !node->right) {
		parent = rb_parent(node);
		moved = node->left ? node->left : node->right;
		lost_black = !is_red(node);
		if (moved)
			set_parent(moved, parent);
		replace_child(parent, node, moved, root);
	} else {
		/* The next node, which has no left child, takes the place of this one. */
		struct rb_node *next = node->right;

		while (next->left)
			next = next->left;
		parent = rb_parent(next);
		moved = next->right;
		lost_black = !is_red(next);
		if (parent == node) {
			parent = next;
		} else {
			parent->left = moved;
			if (moved)
				set_parent(moved, parent);
			next->right = node->right;
			set_parent(next->right, next);
		}
		next->left = node->left;
		set_parent(next->left, next);
		next->parent_color = node->parent_color;
		replace_child(rb_parent(node), node, next, root);
	}
	if (update && parent)
		rb_update_path(parent, update);
	if (lost_black)
		erase_fixup(moved, parent, root, update);
}

void rb_insert_color(struct rb_node *node, struct rb_root *root)
{
	insert(node, root, NULL);
}

void rb_insert_augmented(struct rb_node *node, struct rb_root *root, rb_update_fn *update)
{
	insert(node, root, update);
}

void rb_erase(struct rb_node *node, struct rb_root *root)
{
	erase(node, root, NULL);
}

void rb_erase_augmented(struct rb_node *node, struct rb_root *root, rb_update_fn *update)
{
	erase(node, root, update);
}

void rb_update_path(struct rb_node *node, rb_update_fn *update)
{
	for (; node; node = rb_parent(node))
		update(node);
}

void rb_replace_node(struct rb_node *old, struct rb_node *new, struct rb_root *root)
{
	*new = *old;
	if (new->left)
		set_parent(new->left, new);
	if (new->right)
		set_parent(new->right, new);
	replace_child(rb_parent(old), old, new, root);
}

static struct rb_node *outermost(struct rb_node *node, enum rb_side side)
{
	while (node && *child(node, side))
		node = *child(node, side);
	return node;
}

/* The neighbour of @node on @side: outermost below it, or the first turn above. */
static __always_inline struct rb_node *neighbour(const struct rb_node *node, enum rb_side side)
{
	struct rb_node *below = side == RB_LEFT ? node->left : node->right;
	struct rb_node *parent;

	if (below)
		return outermost(below, !side);
	while ((parent = rb_parent(node)) && node == *child(parent, side))
		node = parent;
	return parent;
}

struct rb_node *rb_first(const struct rb_root *root)
{
	return outermost(root->node, RB_LEFT);
}

struct rb_node *rb_last(const struct rb_root *root)
{
	return outermost(root->node, RB_RIGHT);
}

struct rb_node *rb_next(const struct rb_node *node)
{
	return neighbour(node, RB_RIGHT);
}

struct rb_node *rb_prev(const struct rb_node *node)
{
	return neighbour(node, RB_LEFT);
}
