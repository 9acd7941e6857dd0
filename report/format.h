/*
 * Numbers as text, the way kernel mails show them. Each returns its buffer.
 */
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

#include "lib/types.h"
#include "report/stats.h"

#define FORMAT_MAX 96

/* "0:48.89", "1:30.67"; "1:02:03" from an hour on. GNU time's %E, rounded instead of cut. */
char *format_elapsed(char *buf, u64 ns);

/* "6.78user 234.09system 0:48.89elapsed". */
char *format_time_line(char *buf, u64 user_ns, u64 sys_ns, u64 elapsed_ns);

/* Three digits and a unit: "145ns", "1.07us", "12.3ms", "48.9s". */
char *format_ns(char *buf, double ns);

/* A count or a mean of counts: whole numbers as such, others with one digit. */
char *format_count(char *buf, double value);

/* "+85.5%", "-3.1%", "+0.0%"; large ones as a factor: "x12.3". @ratio is value / base. */
char *format_change(char *buf, double ratio);

/*
 * A variant's change against its baseline: "+85.5%"; "~" if there were pairs enough to find a
 * difference and there is none; "new" or "gone" if one side is 0; "=" if both are the same; "n/a" if
 * a side does not have the metric.
 */
char *format_comparison(char *buf, const struct comparison *c);

/* An effect size: "+1.4"; ">+100" where the runs hardly differ among themselves; "-" where not at all. */
char *format_effect(char *buf, double g);

#endif
