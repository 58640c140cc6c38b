/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log_rate.h - limits how often one place may log: a token bucket for each place in the code and source.  So
 * one bad device or one broken plugin neither fills a disk nor hides the lines of others.  Counts suppressed lines, and
 * reports the number.
 */
#ifndef SKEP_CORE_LOG_RATE_H
#define SKEP_CORE_LOG_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* Reports `held_back` suppressed lines of a place.  log_rate calls it with its lock held. */
typedef void (*log_rate_report)(int level, const char *source, const char *fmt, uint64_t held_back);

void log_rate(unsigned burst, unsigned per_s);
/*
 * Whether the place may log this line.  A level, a source and the address of the format identify a place.  First
 * reports the place's suppressed lines, and all overdue ones.  Any thread.
 */
bool log_rate_may(int level, const char *source, const char *fmt, log_rate_report);
/* Reports all suppressed lines. */
void log_rate_flush(log_rate_report);

#endif
