/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log_rate.h - how often one place may log: a token bucket for each place in the
 * code and source, so that one bad device or one broken plugin does not fill a disk, and does
 * not drown what others say either.  What is held back is counted, and told.
 */
#ifndef SKEP_CORE_LOG_RATE_H
#define SKEP_CORE_LOG_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* Told: that many lines of that place did not get through.  Called under the lock. */
typedef void (*log_rate_tell)(int level, const char *source, const char *fmt, uint64_t held_back);

void log_rate(unsigned burst, unsigned per_s);
/*
 * May this line go out?  A place is a level, a source and the address of its format.  Tells
 * first what was held back of it, and whatever else is overdue.  Any thread.
 */
bool log_rate_may(int level, const char *source, const char *fmt, log_rate_tell);
/* Tells of all that was held back. */
void log_rate_flush(log_rate_tell);

#endif
