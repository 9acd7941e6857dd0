/*
 * The ledger's tree of spans, and the names of its X-macros.
 */
#include "world/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bug.h"

#define X(name, text) [SPAN_##name] = text,
const char *const ledger_span_name[NR_LEDGER_SPANS] = {LEDGER_SPANS(X)};
#undef X

#define X(name, text) [LOCK_##name] = text,
const char *const ledger_lock_name[NR_LEDGER_LOCKS] = {LEDGER_LOCKS(X)};
#undef X

#define X(name, text) [HIST_##name] = text,
const char *const ledger_hist_name[NR_LEDGER_HISTS] = {LEDGER_HISTS(X)};
#undef X

#define X(name, text) [EVENT_##name] = text,
const char *const ledger_event_name[NR_LEDGER_EVENTS] = {LEDGER_EVENTS(X)};
#undef X

int ledger_init(struct ledger *l)
{
	memset(l, 0, sizeof(*l));
	l->node = calloc(LEDGER_NODE_MAX, sizeof(*l->node));
	if (!l->node)
		return -ENOMEM;
	for (int i = 0; i < NR_LEDGER_HISTS; i++)
		hist_init(&l->hist[i]);
	l->nr_nodes = 1;
	return 0;
}

void ledger_restart(struct ledger *l)
{
	for (u32 i = 1; i < l->nr_nodes; i++)
		l->node[i].ns = l->node[i].count = 0;
	memset(l->lock, 0, sizeof(l->lock));
	memset(l->cost_count, 0, sizeof(l->cost_count));
	for (u32 i = 0; i < NR_LEDGER_HISTS; i++)
		hist_init(&l->hist[i]);
}

void ledger_destroy(struct ledger *l)
{
	free(l->node);
	l->node = NULL;
}

void ledger_settle(struct ledger *l)
{
	for (u32 p = 0; p < LEDGER_PATHS; p++) {
		for (u32 op = 0; op < NR_WORLD_COSTS; op++)
			l->cost_count[op] += l->path_count[p] * l->path_nr[p][op];
		l->path_count[p] = 0;
	}
}

struct ledger_node *__ledger_child(struct ledger *l, struct ledger_node *parent,
                                   enum ledger_span span)
{
	u16 *slot = parent ? &parent->child[span] : &l->root[span];
	struct ledger_node *node;

	if (l->nr_nodes == LEDGER_NODE_MAX) {
		l->nr_dropped += 1;
		VM_BUG_ON(!parent);
		return parent;
	}
	*slot = (u16)l->nr_nodes++;
	node = &l->node[*slot];
	node->parent = parent ? (u16)(parent - l->node) : 0;
	node->span = (u16)span;
	return node;
}

void ledger_path(const struct ledger *l, const struct ledger_node *node, char *buf, size_t size)
{
	const struct ledger_node *up[LEDGER_NODE_MAX > 64 ? 64 : LEDGER_NODE_MAX];
	u32 n = 0;
	size_t len = 0;

	for (; node != l->node && n < ARRAY_SIZE(up); node = &l->node[node->parent])
		up[n++] = node;
	buf[0] = '\0';
	while (n-- && len < size) {
		int w = snprintf(buf + len, size - len, "%s%s", len ? "/" : "",
		                 ledger_span_name[up[n]->span]);

		len += (size_t)w;
	}
}
