/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log.h - the daemon's own lines.  Where stderr is the systemd journal
 * ($JOURNAL_STREAM): messages by the journal's own protocol, with fields (core/base/journal.h).  Else
 * stderr: "program: warning: source: text".  Each place in the code is rate-limited by itself, debug excepted;
 * a later line reports the suppressed ones as "N more like this".  Any thread; keeps errno.
 */
#ifndef SKEP_CORE_LOG_H
#define SKEP_CORE_LOG_H

#include <skep/plugin.h>
#include <stdarg.h>

#include "core/base/log_rate.h"

/* Where a message comes from, and what lies behind it; members may be NULL. */
struct log_place {
	const char *file;
	int line;
	const char *function;
	const char *reason; /* SKEP_REASON: why something failed, in the plugin's words */
};

void log_level(int level);    /* prints this level and more urgent ones; default SKEP_LOG_NOTICE */
int log_level_now(void);
void log_program(const char *name); /* prefix; borrowed for ever */
void log_from(const struct log_place *, int level, const char *source, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* For a caller without a place in our code: a plugin, libbpf. */
void log_vat(int level, const char *source, const char *fmt, va_list) __attribute__((format(printf, 3, 0)));
/* Reports suppressed lines now: from a timer, and at the end. */
void log_flush(void);
/* Is stderr the journal? */
bool log_to_journal(void);
/* Where the journal listens, before the first message; for tests. Borrowed. */
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
