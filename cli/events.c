/*
 * Trace events in words. See events.h.
 */
#include "cli/events.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "load/quantity.h"
#include "load/target.h"

/* What an event's two numbers are; NULL: nothing worth telling. */
struct event_words {
	const char *a;
	const char *b;
	bool hex; /* a is an address */
};

static const struct event_words words[NR_LEDGER_EVENTS] = {
	[EVENT_SWITCH] = {"from task", "to task", false},
	[EVENT_WAKEUP] = {"task", "CPU", false},
	[EVENT_FAULT] = {"address", "kind", true},
	[EVENT_ALLOC] = {"pfn", "order", false},
	[EVENT_FREE] = {"pfn", "order", false},
	[EVENT_KSWAPD_WAKE] = {"node", "order", false},
	[EVENT_KSWAPD_SLEEP] = {"node", NULL, false},
	[EVENT_DIRECT_BEGIN] = {"order", NULL, false},
	[EVENT_DIRECT_END] = {"reclaimed", NULL, false},
	[EVENT_IO_SUBMIT] = {"sector", "write", false},
	[EVENT_IO_DONE] = {"sector", "error", false},
	[EVENT_IPI] = {"receivers", NULL, false},
	[EVENT_MADVISE] = {"address", "advice", true},
	[EVENT_MADVISE_CHOICE] = {"lazy", "free pages", false},
	[EVENT_OOM_KILL] = {"task", "points", false},
};

char *event_text(char *buf, const struct sim_trace_event *e)
{
	const struct event_words *w = &words[e->event];
	int n = snprintf(buf, EVENT_TEXT_MAX, "%s", ledger_event_name[e->event]);

	if (!w->a) /* an event that is new here */
		snprintf(buf + n, EVENT_TEXT_MAX - (size_t)n, " %lu %lu", e->a, e->b);
	else
		n += snprintf(buf + n, EVENT_TEXT_MAX - (size_t)n, w->hex ? " %s %#lx" : " %s %lu",
		              w->a, e->a);
	/* Policies that do not look at free pages give 0 for them. */
	if (w->a && w->b && !(e->event == EVENT_MADVISE_CHOICE && !e->b))
		snprintf(buf + n, EVENT_TEXT_MAX - (size_t)n, ", %s %lu", w->b, e->b);
	return buf;
}

char *event_time(char *buf, u64 ns)
{
	snprintf(buf, EVENT_TEXT_MAX, "%lu.%09lu s", ns / 1000000000, ns % 1000000000);
	return buf;
}

static int event_named(const char *name, size_t len)
{
	for (int i = 0; i < NR_LEDGER_EVENTS; i++)
		if (strlen(ledger_event_name[i]) == len &&
		    strncmp(ledger_event_name[i], name, len) == 0)
			return i;
	return -1;
}

bool stop_point_parse(const char *text, struct stop_point *p)
{
	size_t len = strcspn(text, ":");
	const char *digits = *text == '#' ? text + 1 : text[len] ? text + len + 1 : "1";
	char err[TARGET_ERROR_MAX];
	char name[64];
	char *end;

	*p = (struct stop_point){.event = -1};
	if (isdigit((u8)*text)) {
		p->at_time = true;
		if (quantity_time(text, &p->time_ns, err) == 0 && p->time_ns)
			return true;
		cli_error("\"%s\" is no time to stop at: as in 1.5s, 20ms, 300us", text);
		return false;
	}
	snprintf(name, sizeof(name), "%.*s", (int)min_t(size_t, len, 63), text);
	p->event = *text == '#' ? -1 : event_named(text, len);
	if (*text != '#' && p->event < 0) {
		cli_error_near(name, ledger_event_name, NR_LEDGER_EVENTS,
		               "to stop at \"%s\": expected a time (1.5s), the number of an event "
		               "(#1200), or its name, with :N for the N-th (page_fault:7)",
		               text);
		return false;
	}
	p->nth = strtoull(digits, &end, 10);
	if (!isdigit((u8)*digits) || *end || !p->nth) {
		cli_error("to stop at \"%s\": expected a number from 1 on, not \"%s\"", text,
		          digits);
		return false;
	}
	return true;
}

bool stop_point_reached(struct stop_point *p, const struct sim_trace_event *e)
{
	if (p->at_time || (p->event >= 0 && p->event != e->event) || !p->nth)
		return false;
	return --p->nth == 0;
}
