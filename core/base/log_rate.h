/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log_rate.h - how often one place may log: a token bucket for each place in the
 * code and source, so that one bad device or one broken plugin does not fill a disk, and does
 * not drown the lines of others either.  Counts suppressed lines, and reports the number.
 */
#ifndef SKEP_CORE_LOG_RATE_H
#define SKEP_CORE_LOG_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* Reports that many suppressed lines of that place.  Called under the lock. */
typedef void (*log_rate_tell)(int level, const char *source, const char *fmt, uint64_t held_back);

void log_rate(unsigned burst, unsigned per_s);
/*
 * May this line go out?  A place is a level, a source and the address of its format.  First
 * reports its suppressed lines, and all overdue ones.  Any thread.
 */
bool log_rate_may(int level, const char *source, const char *fmt, log_rate_tell);
/* Reports all suppressed lines. */
void log_rate_flush(log_rate_tell);

#endif
