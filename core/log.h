/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/log.h - the daemon's own lines: stderr, with journald's <n> prefixes when stderr
 * is the journal, rate-limited per source.  Any thread.
 */
#ifndef SKEP_CORE_LOG_H
#define SKEP_CORE_LOG_H

#include <skep/plugin.h>
#include <stdarg.h>

void log_level(int level);    /* what is printed: this level and more urgent; default SKEP_LOG_NOTICE */
void log_program(const char *name); /* prefix; borrowed for ever */
void log_at(int level, const char *source, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void log_vat(int level, const char *source, const char *fmt, va_list);
#define log_error(...) log_at(SKEP_LOG_ERROR, NULL, __VA_ARGS__)
#define log_warning(...) log_at(SKEP_LOG_WARNING, NULL, __VA_ARGS__)
#define log_notice(...) log_at(SKEP_LOG_NOTICE, NULL, __VA_ARGS__)
#define log_info(...) log_at(SKEP_LOG_INFO, NULL, __VA_ARGS__)
#define log_debug(...) log_at(SKEP_LOG_DEBUG, NULL, __VA_ARGS__)

#endif
