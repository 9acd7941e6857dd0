/*
 * Aim: lib/list.h.
 * Method: random operations on four lists of a few entries, against arrays;
 * after each, both directions of every list are compared.
 */
#include "tests/test.h"

#include "lib/list.h"

#define NR_LISTS 4
#define NR_ENTRIES 12

/* Aligned more than a head is: where a walk ends, no entry may be looked at (a sanitizer says so). */
struct entry {
	_Alignas(64) int id;
	struct list_head link;
};

struct model {
	int id[NR_ENTRIES + 1]; /* one more while an entry moves within a list */
	int n;
};

static void model_insert(struct model *m, int at, int id)
{
	memmove(&m->id[at + 1], &m->id[at], (m->n - at) * sizeof(int));
	m->id[at] = id;
	m->n++;
}

static void model_remove(struct model *m, int at)
{
	m->n--;
	memmove(&m->id[at], &m->id[at + 1], (m->n - at) * sizeof(int));
}

static void compare(struct list_head *head, const struct model *m)
{
	struct entry *e;
	int i = 0;

	list_for_each_entry (e, head, link) {
		assert_true(i < m->n);
		assert_int_equal(e->id, m->id[i++]);
	}
	assert_int_equal(i, m->n);
	list_for_each_entry_reverse (e, head, link)
		assert_int_equal(e->id, m->id[--i]);
	assert_int_equal(i, 0);
	assert_int_equal(list_empty(head), m->n == 0);
	assert_int_equal(list_is_singular(head), m->n == 1);
	assert_int_equal(list_count(head), m->n);
	e = list_first_entry_or_null(head, struct entry, link);
	assert_int_equal(e ? e->id : -1, m->n ? m->id[0] : -1);
	e = list_last_entry_or_null(head, struct entry, link);
	assert_int_equal(e ? e->id : -1, m->n ? m->id[m->n - 1] : -1);
}

TEST(lists_match_arrays_under_random_operations)
{
	struct list_head heads[NR_LISTS];
	struct model models[NR_LISTS] = {0};
	struct entry entries[NR_ENTRIES];
	struct rand_stream r;

	rand_init(&r, test_seed(), 1, 0);
	for (int i = 0; i < NR_LISTS; i++)
		INIT_LIST_HEAD(&heads[i]);
	for (int i = 0; i < NR_ENTRIES; i++) {
		entries[i].id = i;
		list_add_tail(&entries[i].link, &heads[0]);
		model_insert(&models[0], i, i);
	}

	for (int step = 0; step < 20000; step++) {
		int from = rand_below(&r, NR_LISTS);
		int to = rand_below(&r, NR_LISTS);
		struct model *mf = &models[from];
		struct model *mt = &models[to];

		if (rand_chance(&r, 1, 8) && from != to) {
			/* A whole list, or its head end, to the front or the end of another. */
			bool front = rand_chance(&r, 1, 2);
			int nr = rand_chance(&r, 1, 2) ? mf->n : (int)rand_below(&r, mf->n + 1);
			struct list_head part;
			struct list_head *cut = &heads[from];

			for (int i = 0; i < nr; i++)
				cut = cut->next;
			list_cut_position(&part, &heads[from], cut);
			if (front)
				list_splice_init(&part, &heads[to]);
			else
				list_splice_tail_init(&part, &heads[to]);
			assert_true(list_empty(&part));
			for (int i = 0; i < nr; i++) {
				model_insert(mt, front ? i : mt->n, mf->id[0]);
				model_remove(mf, 0);
			}
		} else if (mf->n) {
			int at = rand_below(&r, mf->n);
			int id = mf->id[at];
			struct list_head *link = &entries[id].link;

			model_remove(mf, at);
			switch (rand_below(&r, 5)) {
			case 0:
				list_move(link, &heads[to]);
				model_insert(mt, 0, id);
				break;
			case 1:
				list_move_tail(link, &heads[to]);
				model_insert(mt, mt->n, id);
				break;
			case 2:
				list_del(link);
				list_add(link, &heads[to]);
				model_insert(mt, 0, id);
				break;
			case 3:
				list_del_init(link);
				assert_true(list_empty(link));
				list_add_tail(link, &heads[to]);
				model_insert(mt, mt->n, id);
				break;
			case 4: {
				struct entry stand_in = {.id = id};

				list_replace(link, &stand_in.link);
				list_replace(&stand_in.link, link);
				model_insert(mf, at, id);
				list_rotate_to_front(link, &heads[from]);
				for (int i = 0; i < at; i++) {
					model_insert(mf, mf->n, mf->id[0]);
					model_remove(mf, 0);
				}
				break;
			}
			}
		}
		for (int i = 0; i < NR_LISTS; i++)
			compare(&heads[i], &models[i]);
	}
}

TEST(safe_walks_survive_removal)
{
	LIST_HEAD(head);
	struct entry entries[6];
	struct entry *e, *next;
	int seen = 0;

	for (int i = 0; i < 6; i++) {
		entries[i].id = i;
		list_add_tail(&entries[i].link, &head);
	}
	list_for_each_entry_safe (e, next, &head, link) {
		assert_int_equal(e->id, seen++);
		if (e->id % 2)
			list_del(&e->link);
	}
	assert_int_equal(seen, 6);
	assert_int_equal(list_count(&head), 3);
	list_for_each_entry_safe_reverse (e, next, &head, link)
		list_del(&e->link);
	assert_true(list_empty(&head));
}

TEST(a_deleted_entry_points_nowhere)
{
	LIST_HEAD(head);
	struct entry e;

	list_add(&e.link, &head);
	assert_true(list_is_first(&e.link, &head) && list_is_last(&e.link, &head));
	list_del(&e.link);
	assert_ptr_equal(e.link.next, LIST_POISON_NEXT);
	assert_ptr_equal(e.link.prev, LIST_POISON_PREV);
}

struct hentry {
	int id;
	struct hlist_node link;
};

TEST(hash_chains_match_arrays)
{
	struct hlist_head head;
	struct hentry entries[8];
	struct model m = {0};
	struct rand_stream r;

	rand_init(&r, test_seed(), 2, 0);
	INIT_HLIST_HEAD(&head);
	for (int i = 0; i < 8; i++) {
		entries[i].id = i;
		INIT_HLIST_NODE(&entries[i].link);
	}
	for (int step = 0; step < 5000; step++) {
		struct hentry *e = &entries[rand_below(&r, 8)];
		struct hlist_node *next;
		int at = 0;

		while (at < m.n && m.id[at] != e->id)
			at++;
		assert_int_equal(hlist_unhashed(&e->link), at == m.n);
		if (at < m.n) {
			hlist_del_init(&e->link);
			model_remove(&m, at);
		} else if (m.n && rand_chance(&r, 1, 2)) {
			int behind = rand_below(&r, m.n);

			hlist_add_behind(&e->link, &entries[m.id[behind]].link);
			model_insert(&m, behind + 1, e->id);
		} else {
			hlist_add_head(&e->link, &head);
			model_insert(&m, 0, e->id);
		}
		at = 0;
		hlist_for_each_entry (e, &head, link)
			assert_int_equal(e->id, m.id[at++]);
		assert_int_equal(at, m.n);
		assert_int_equal(hlist_empty(&head), m.n == 0);
		if (rand_chance(&r, 1, 50)) {
			hlist_for_each_entry_safe (e, next, &head, link)
				hlist_del_init(&e->link);
			m.n = 0;
		}
	}
}

TEST_MAIN("list")
