/*
 * Doubly linked lists whose links live in the objects they connect.
 *
 * struct list_head is a ring through a head; struct hlist_head has a one-word
 * head for hash tables. Neither allocates and neither knows its length. An
 * entry that is taken off with list_del() keeps poisoned links, so that a
 * second list_del() or a walk through it faults at once; use list_del_init()
 * where list_empty(&entry->link) is asked later.
 */
#ifndef LIB_LIST_H
#define LIB_LIST_H

#include "lib/types.h"

struct list_head {
	struct list_head *next;
	struct list_head *prev;
};

#define LIST_HEAD_INIT(name)                                                                       \
	{                                                                                          \
		&(name), &(name)                                                                   \
	}
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)

/* Not canonical on x86-64: touching them faults whatever is mapped. */
#define LIST_POISON_NEXT ((void *)0xdead000000000100UL)
#define LIST_POISON_PREV ((void *)0xdead000000000122UL)

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline bool list_is_first(const struct list_head *entry, const struct list_head *head)
{
	return entry->prev == head;
}

static inline bool list_is_last(const struct list_head *entry, const struct list_head *head)
{
	return entry->next == head;
}

static inline bool list_is_singular(const struct list_head *head)
{
	return head->next != head && head->next == head->prev;
}

/* Put @entry between two neighbours. */
static inline void __list_add(struct list_head *entry, struct list_head *prev,
                              struct list_head *next)
{
	entry->prev = prev;
	entry->next = next;
	prev->next = entry;
	next->prev = entry;
}

/* Put @entry right after @head: first, or a stack's push. */
static inline void list_add(struct list_head *entry, struct list_head *head)
{
	__list_add(entry, head, head->next);
}

/* Put @entry right before @head: last, or a queue's push. */
static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	__list_add(entry, head->prev, head);
}

static inline void __list_del_entry(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
}

static inline void list_del(struct list_head *entry)
{
	__list_del_entry(entry);
	entry->next = LIST_POISON_NEXT;
	entry->prev = LIST_POISON_PREV;
}

static inline void list_del_init(struct list_head *entry)
{
	__list_del_entry(entry);
	INIT_LIST_HEAD(entry);
}

/* @entry takes the place of @old, which is left uninitialised. */
static inline void list_replace(struct list_head *old, struct list_head *entry)
{
	__list_add(entry, old->prev, old->next);
}

static inline void list_move(struct list_head *entry, struct list_head *head)
{
	__list_del_entry(entry);
	list_add(entry, head);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
	__list_del_entry(entry);
	list_add_tail(entry, head);
}

/* Make @head begin at @entry, which is on it: what was before goes to the end. */
static inline void list_rotate_to_front(struct list_head *entry, struct list_head *head)
{
	__list_del_entry(head);
	list_add_tail(head, entry);
}

/* The entries of @list, which is not empty, between two neighbours. */
static inline void __list_splice(struct list_head *list, struct list_head *prev,
                                 struct list_head *next)
{
	list->next->prev = prev;
	list->prev->next = next;
	prev->next = list->next;
	next->prev = list->prev;
}

/* All of @list to the front of @head, in order. @list itself is left stale. */
static inline void list_splice(struct list_head *list, struct list_head *head)
{
	if (!list_empty(list))
		__list_splice(list, head, head->next);
}

static inline void list_splice_tail(struct list_head *list, struct list_head *head)
{
	if (!list_empty(list))
		__list_splice(list, head->prev, head);
}

static inline void list_splice_init(struct list_head *list, struct list_head *head)
{
	list_splice(list, head);
	INIT_LIST_HEAD(list);
}

static inline void list_splice_tail_init(struct list_head *list, struct list_head *head)
{
	list_splice_tail(list, head);
	INIT_LIST_HEAD(list);
}

/*
 * Move the first entries of @head up to and including @entry to @list, which
 * is empty (and initialised by this). @entry == @head moves nothing.
 */
static inline void list_cut_position(struct list_head *list, struct list_head *head,
                                     struct list_head *entry)
{
	INIT_LIST_HEAD(list);
	if (entry == head || list_empty(head))
		return;
	list->next = head->next;
	list->prev = entry;
	head->next = entry->next;
	head->next->prev = head;
	entry->next = list;
	list->next->prev = list;
}

/* Length, by walking. For checks and reports. */
static inline u64 list_count(const struct list_head *head)
{
	u64 n = 0;

	for (const struct list_head *p = head->next; p != head; p = p->next)
		n++;
	return n;
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_last_entry(head, type, member) list_entry((head)->prev, type, member)
#define list_first_entry_or_null(head, type, member)                                               \
	(list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_last_entry_or_null(head, type, member)                                                \
	(list_empty(head) ? NULL : list_last_entry(head, type, member))

/*
 * The list node in @pos, by arithmetic: where a walk ends @pos is not an entry but what would be one if the
 * head were in it, and need not be aligned as an entry is.
 */
#define list_node_of(pos, member)                                                                  \
	((struct list_head *)((char *)(pos) + offsetof(__typeof__(*(pos)), member)))
#define list_next_entry(pos, member)                                                               \
	list_entry(list_node_of(pos, member)->next, __typeof__(*(pos)), member)
#define list_prev_entry(pos, member)                                                               \
	list_entry(list_node_of(pos, member)->prev, __typeof__(*(pos)), member)
#define list_entry_is_head(pos, head, member) (list_node_of(pos, member) == (head))

/* Walk the list. The entry under @pos may be changed but must stay on it. */
#define list_for_each_entry(pos, head, member)                                                     \
	for (pos = list_first_entry(head, __typeof__(*pos), member);                               \
	     !list_entry_is_head(pos, head, member); pos = list_next_entry(pos, member))

#define list_for_each_entry_reverse(pos, head, member)                                             \
	for (pos = list_last_entry(head, __typeof__(*pos), member);                                \
	     !list_entry_is_head(pos, head, member); pos = list_prev_entry(pos, member))

/* Go on with @pos. */
#define list_for_each_entry_from(pos, head, member)                                                \
	for (; !list_entry_is_head(pos, head, member); pos = list_next_entry(pos, member))

/* The entry under @pos may be taken off; the one after it, @n, must not be. */
#define list_for_each_entry_safe(pos, n, head, member)                                             \
	for (pos = list_first_entry(head, __typeof__(*pos), member),                               \
	    n = list_next_entry(pos, member);                                                      \
	     !list_entry_is_head(pos, head, member); pos = n, n = list_next_entry(n, member))

#define list_for_each_entry_safe_reverse(pos, n, head, member)                                     \
	for (pos = list_last_entry(head, __typeof__(*pos), member),                                \
	    n = list_prev_entry(pos, member);                                                      \
	     !list_entry_is_head(pos, head, member); pos = n, n = list_prev_entry(n, member))

/* Hash chains: a one-word head; each node points back at the word that points to it. */
struct hlist_head {
	struct hlist_node *first;
};

struct hlist_node {
	struct hlist_node *next;
	struct hlist_node **pprev; /* NULL while on no chain */
};

static inline void INIT_HLIST_HEAD(struct hlist_head *head)
{
	head->first = NULL;
}

static inline void INIT_HLIST_NODE(struct hlist_node *node)
{
	node->next = NULL;
	node->pprev = NULL;
}

static inline bool hlist_empty(const struct hlist_head *head)
{
	return !head->first;
}

static inline bool hlist_unhashed(const struct hlist_node *node)
{
	return !node->pprev;
}

static inline void hlist_add_head(struct hlist_node *node, struct hlist_head *head)
{
	node->next = head->first;
	node->pprev = &head->first;
	if (node->next)
		node->next->pprev = &node->next;
	head->first = node;
}

/* Put @node right after @prev, which is on a chain. */
static inline void hlist_add_behind(struct hlist_node *node, struct hlist_node *prev)
{
	node->next = prev->next;
	node->pprev = &prev->next;
	if (node->next)
		node->next->pprev = &node->next;
	prev->next = node;
}

static inline void hlist_del_init(struct hlist_node *node)
{
	if (hlist_unhashed(node))
		return;
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
	INIT_HLIST_NODE(node);
}

/* Links are poisoned as by list_del(). @node must be on a chain. */
static inline void hlist_del(struct hlist_node *node)
{
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
	node->next = LIST_POISON_NEXT;
	node->pprev = LIST_POISON_PREV;
}

#define hlist_entry(ptr, type, member) container_of(ptr, type, member)
#define hlist_entry_safe(ptr, type, member)                                                        \
	__extension__({                                                                            \
		__typeof__(ptr) __hnode = (ptr);                                                   \
		__hnode ? hlist_entry(__hnode, type, member) : NULL;                               \
	})

#define hlist_for_each_entry(pos, head, member)                                                    \
	for (pos = hlist_entry_safe((head)->first, __typeof__(*pos), member); pos;                 \
	     pos = hlist_entry_safe((pos)->member.next, __typeof__(*pos), member))

/* @n is a struct hlist_node *; the entry under @pos may be taken off. */
#define hlist_for_each_entry_safe(pos, n, head, member)                                            \
	for (pos = hlist_entry_safe((head)->first, __typeof__(*pos), member);                      \
	     pos && (n = pos->member.next, true);                                                  \
	     pos = hlist_entry_safe(n, __typeof__(*pos), member))

#endif
