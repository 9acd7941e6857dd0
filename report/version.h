/*
 * Which Quire made a result.
 */
#ifndef REPORT_VERSION_H
#define REPORT_VERSION_H

#define QUIRE_VERSION "0.1"

/* The commit that was checked out when this was built; "unknown" outside of git. */
extern const char quire_commit[];

/* A hash of the sources it was built from: two builds of one commit differ in it if one was edited. */
extern const char quire_sources[];

#endif
