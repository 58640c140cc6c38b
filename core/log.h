/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/log.h - the daemon's own lines: stderr, with journald's <n> prefixes when stderr
 * is the journal ($JOURNAL_STREAM), else "program: warning: source: text".  Rate-limited
 * per source and level, debug excepted; what was held back is told as "N lines
 * suppressed".  Any thread; errno is kept.
 */
#ifndef SKEP_CORE_LOG_H
#define SKEP_CORE_LOG_H

#include <skep/plugin.h>
#include <stdarg.h>

void log_level(int level);    /* what is printed: this level and more urgent; default SKEP_LOG_NOTICE */
int log_level_now(void);
void log_program(const char *name); /* prefix; borrowed for ever */
void log_at(int level, const char *source, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void log_vat(int level, const char *source, const char *fmt, va_list) __attribute__((format(printf, 3, 0)));
/* Lines per source and level: so many at once, so many per second after that; default 50 and 10. */
void log_rate(unsigned burst, unsigned per_s);
/* Say now what was suppressed: from a timer, and at the end. */
void log_flush(void);
#define log_error(...) log_at(SKEP_LOG_ERROR, NULL, __VA_ARGS__)
#define log_warning(...) log_at(SKEP_LOG_WARNING, NULL, __VA_ARGS__)
#define log_notice(...) log_at(SKEP_LOG_NOTICE, NULL, __VA_ARGS__)
#define log_info(...) log_at(SKEP_LOG_INFO, NULL, __VA_ARGS__)
#define log_debug(...) log_at(SKEP_LOG_DEBUG, NULL, __VA_ARGS__)

#endif
