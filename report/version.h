/*
 * Which Quire made a result.
 */
#ifndef REPORT_VERSION_H
#define REPORT_VERSION_H

#define QUIRE_VERSION "0.1"

#endif
