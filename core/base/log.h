/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log.h - the daemon's own messages.  If stderr is the systemd journal ($JOURNAL_STREAM), a message goes
 * there with fields (core/base/journal.h).  Else it is a line on stderr: "program: warning: source: text".  Each place
 * in the code has its own rate limit, except debug messages; a later line reports the suppressed ones as "N more like
 * this".  Any thread may call it; errno stays as it is.
 */
#ifndef SKEP_CORE_LOG_H
#define SKEP_CORE_LOG_H

#include <skep/plugin.h>
#include <stdarg.h>

#include "core/base/log_rate.h"

/* The place in the code that logs a message, and the reason behind the message; members may be NULL. */
struct log_place {
	const char *file;
	int line;
	const char *function;
	const char *reason; /* SKEP_REASON: why something failed, in the plugin's words */
};

void log_level(int level);    /* prints this level and more urgent ones; default SKEP_LOG_NOTICE */
int log_level_now(void);
void log_program(const char *name); /* prefix of each line; borrowed for ever */
/*
 * From now on a line waits 50 ms at most for a stderr that takes nothing: a full pipe, a terminal after Ctrl-S. skep
 * counts the lines that stderr did not take, and a later line tells how many. Without this call a line waits until
 * stderr takes it.
 */
void log_hurry(void);
void log_from(const struct log_place *, int level, const char *source, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* For messages of other code (a plugin, libbpf), which has no place in skep's sources. */
void log_vat(int level, const char *source, const char *fmt, va_list) __attribute__((format(printf, 3, 0)));
/* Reports suppressed lines now: a timer calls it, and the program at its end. */
void log_flush(void);
/* Whether stderr is the journal. */
bool log_to_journal(void);
/* Sets the journal's socket, before the first message; for tests.  Borrowed. */
void log_journal(const char *path);

#define LOG_HERE(...) (&(const struct log_place){ __FILE__, __LINE__, __func__, __VA_ARGS__ })
#define log_at(level, source, ...) log_from(LOG_HERE(NULL), level, source, __VA_ARGS__)
#define log_because(level, source, reason_, ...) log_from(LOG_HERE(reason_), level, source, __VA_ARGS__)
#define log_error(...) log_at(SKEP_LOG_ERROR, NULL, __VA_ARGS__)
#define log_warning(...) log_at(SKEP_LOG_WARNING, NULL, __VA_ARGS__)
#define log_notice(...) log_at(SKEP_LOG_NOTICE, NULL, __VA_ARGS__)
#define log_info(...) log_at(SKEP_LOG_INFO, NULL, __VA_ARGS__)
#define log_debug(...) log_at(SKEP_LOG_DEBUG, NULL, __VA_ARGS__)

#endif
