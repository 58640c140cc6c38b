/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log.c - writes messages to the journal or to stderr, each line by one write(2), so that lines of two
 * threads do not mix.
 */
#include "core/base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <skep/utf8.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/journal.h"
#include "core/base/streams.h"

#define WAIT_MS 50 /* on the loop's thread: a journal or stderr that accepts nothing must not stop the records */

static atomic_int max_level = SKEP_LOG_NOTICE;
static const char *_Atomic program;
static pthread_once_t journal_once = PTHREAD_ONCE_INIT;
static bool journal;

static const char *journal_path = JOURNAL_SOCKET;
static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static int journal_fd = -1;
static uint64_t journal_missed; /* messages that the journal did not accept */

static atomic_bool hurried;
static pthread_mutex_t stderr_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t stderr_missed; /* lines that stderr did not accept */
static bool stderr_cut;        /* it accepted a part of the last one */

void log_level(int level)
{
	atomic_store(&max_level, level);
}

int log_level_now(void)
{
	return atomic_load(&max_level);
}

void log_program(const char *name)
{
	atomic_store(&program, name);
}

void log_hurry(void)
{
	atomic_store(&hurried, true);
}

void log_journal(const char *path)
{
	journal_path = path;
}

/*
 * Compares $JOURNAL_STREAM (systemd.exec(5): "device:inode" of the stream that systemd connected) with stderr.  The
 * variable alone proves nothing: a child with a redirected stderr inherits it too.
 */
static void journal_find(void)
{
	const char *text = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;
	int end = 0;

	if (!text || sscanf(text, "%llu:%llu%n", &device, &inode, &end) != 2 || text[end] != '\0')
		return;
	journal = fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

bool log_to_journal(void)
{
	pthread_once(&journal_once, journal_find);
	return journal;
}

static const char *level_name(int level)
{
	switch (level) {
	case SKEP_LOG_ERROR:
		return "error: ";
	case SKEP_LOG_WARNING:
		return "warning: ";
	case SKEP_LOG_DEBUG:
		return "debug: ";
	default:
		return "";
	}
}

/*
 * Under the lock. false: stderr accepted a part, or nothing. poll() promises room for PIPE_BUF bytes in a pipe, so that
 * a write(2) of them does not wait.
 */
static bool stderr_try(const char *data, size_t size, int wait_ms)
{
	struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };
	ssize_t n;

	while (size > 0) {
		n = poll(&ready, 1, wait_ms);
		if (n > 0)
			n = write(STDERR_FILENO, data, size < PIPE_BUF ? size : PIPE_BUF);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return true; /* no message can report a broken stderr */
		if (n <= 0)
			return false;
		stderr_cut = (size_t)n < size;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

static void stderr_write(const char *data, size_t size)
{
	const char *name = atomic_load(&program);
	char text[160];
	int n;

	if (!atomic_load(&hurried)) {
		(void)streams_write(STDERR_FILENO, data, size);
		return;
	}
	pthread_mutex_lock(&stderr_lock);
	if (stderr_missed > 0) {
		n = snprintf(text, sizeof(text),
			     "%s%s%s%s%llu earlier line%s lost: standard error did not accept %s\n",
			     stderr_cut ? "\n" : "", name && !journal ? name : "", name && !journal ? ": " : "",
			     journal ? "<4>" : level_name(SKEP_LOG_WARNING), (unsigned long long)stderr_missed,
			     stderr_missed == 1 ? " is" : "s are", stderr_missed == 1 ? "it" : "them");
		/* Waits no more until stderr accepts a line. */
		if (stderr_try(text, (size_t)n, 0))
			stderr_missed = 0;
	}
	if (stderr_missed > 0 || !stderr_try(data, size, WAIT_MS))
		stderr_missed++;
	pthread_mutex_unlock(&stderr_lock);
}

/*
 * Lines contain names of processes and files.  skep_utf8_shown() writes their control characters as \xNN, so that no
 * name can move the terminal's cursor or fake a line.
 */
static void print_line(int level, const char *source, const char *text, size_t n)
{
	const char *name = atomic_load(&program);
	size_t name_n = name ? strlen(name) : 0, source_n = source ? strlen(source) : 0;
	size_t room = name_n + 4 * source_n + 4 * n + 32;
	char small[1024];
	char *line = room <= sizeof(small) ? small : malloc(room);
	size_t used = 0;

	if (!line) {
		/* A cut line is better than a lost one. */
		line = small;
		source_n = source_n > 64 ? 64 : source_n;
		name_n = name_n > 64 ? 64 : name_n;
		n = n > 128 ? 128 : n;
	}
	/* The journal knows the program, and reads the level from the prefix. */
	if (journal) {
		used += (size_t)sprintf(line, "<%d>", level);
	} else {
		if (name_n > 0) {
			memcpy(line, name, name_n);
			used = name_n;
			memcpy(line + used, ": ", 2);
			used += 2;
		}
		used += (size_t)sprintf(line + used, "%s", level_name(level));
	}
	if (source_n > 0) {
		used += skep_utf8_shown(source, source_n, line + used);
		memcpy(line + used, ": ", 2);
		used += 2;
	}
	used += skep_utf8_shown(text, n, line + used);
	line[used++] = '\n';
	stderr_write(line, used);
	if (line != small)
		free(line);
}

/* ---- the journal ------------------------------------------------------------------- */

/* Under the lock.  Tries once more with a new socket: journald may have restarted meanwhile. */
static int journal_try(const struct journal_entry *entry, int wait_ms)
{
	int err = journal_fd >= 0 ? journal_send(journal_fd, entry, wait_ms) : -ENOTCONN;

	if (err == 0 || err == -EAGAIN || err == -ENOMEM)
		return err;
	if (journal_fd >= 0)
		close(journal_fd);
	journal_fd = journal_open(journal_path);
	return journal_fd >= 0 ? journal_send(journal_fd, entry, wait_ms) : journal_fd;
}

/* true: the journal has the message, or it is counted as missed; false: the caller writes it to stderr. */
static bool journal_print(const struct journal_entry *entry)
{
	char text[96];
	bool done;
	int err;

	pthread_mutex_lock(&journal_lock);
	/* After a missed message, does not wait for the journal again. */
	err = journal_try(entry, journal_missed > 0 ? 0 : WAIT_MS);
	if (err == -EAGAIN) {
		journal_missed++;
	} else if (err == 0 && journal_missed > 0) {
		struct journal_entry loss = {
			.priority = SKEP_LOG_WARNING, .identifier = entry->identifier, .message = text
		};

		loss.message_len = (size_t)snprintf(text, sizeof(text),
						    "%llu earlier messages are lost: the systemd journal did not "
						    "accept them",
						    (unsigned long long)journal_missed);
		if (journal_try(&loss, 0) == 0)
			journal_missed = 0;
	}
	done = err == 0 || err == -EAGAIN;
	pthread_mutex_unlock(&journal_lock);
	return done;
}

/*
 * The text as one message: lines stay lines. Writes other control characters and bytes that are not UTF-8 as \xNN.
 */
static bool journal_text(const struct log_place *place, int level, const char *source, const char *text, size_t n)
{
	size_t source_n = source ? strlen(source) : 0, used = 0;
	char small[1024], *line = small;
	struct journal_entry entry = { .priority = level, .identifier = atomic_load(&program), .source = source };
	bool done;

	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (4 * (source_n + n) + 8 > sizeof(small))
		line = malloc(4 * (source_n + n) + 8);
	if (!line)
		return false;
	if (source_n > 0) {
		used = skep_utf8_shown(source, source_n, line);
		memcpy(line + used, ": ", 2);
		used += 2;
	}
	for (const char *p = text, *end = text + n; p < end;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;

		used += skep_utf8_shown(p, (size_t)(stop - p), line + used);
		if (newline)
			line[used++] = '\n';
		p = newline ? newline + 1 : end;
	}
	entry.message = line;
	entry.message_len = used;
	if (place) {
		entry.file = place->file;
		entry.line = place->line;
		entry.function = place->function;
		entry.reason = place->reason;
	}
	done = journal_print(&entry);
	if (line != small)
		free(line);
	return done;
}

/* ---- a message ----------------------------------------------------------------------- */

static void print_text(const struct log_place *place, int level, const char *source, const char *text, size_t n)
{
	const char *end = text + n;

	if (journal && journal_text(place, level, source, text, n))
		return;
	/* A text of several lines (of the BPF verifier) becomes as many lines, each with its prefix, for one token. */
	for (const char *p = text; p < end;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;

		print_line(level, source, p, (size_t)(stop - p));
		p = newline ? newline + 1 : end;
	}
}

/* Logs the format as it is: all suppressed messages have it in common. */
static void report_held_back(int level, const char *source, const char *fmt, uint64_t n)
{
	char *text = NULL;
	int len = asprintf(&text, "%llu more like this%s%s", (unsigned long long)n, fmt ? ": " : "", fmt ? fmt : "");

	if (len >= 0)
		print_text(NULL, level, source, text, strcspn(text, "\n"));
	else
		print_text(NULL, level, source, "more like this", strlen("more like this"));
	if (len >= 0)
		free(text);
}

void log_flush(void)
{
	pthread_once(&journal_once, journal_find);
	log_rate_flush(report_held_back);
}

__attribute__((format(printf, 4, 0))) static void log_all(const struct log_place *place, int level, const char *source,
							  const char *fmt, va_list ap)
{
	int saved_errno = errno;
	char small[512];
	char *text = small;
	va_list again;
	int n;

	if (level > atomic_load(&max_level))
		return;
	pthread_once(&journal_once, journal_find);
	/* Debug has no limit: an operator who switched it on wants every line. */
	if (level < SKEP_LOG_DEBUG && !log_rate_may(level, source, fmt, report_held_back))
		goto out;
	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, again);
	va_end(again);
	if (n < 0)
		goto out;
	if ((size_t)n >= sizeof(small)) {
		text = malloc((size_t)n + 1);
		if (text) {
			vsnprintf(text, (size_t)n + 1, fmt, ap);
		} else {
			text = small; /* cut */
			n = (int)sizeof(small) - 1;
		}
	}
	print_text(place, level, source, text, (size_t)n);
	if (text != small)
		free(text);
out:
	errno = saved_errno;
}

void log_vat(int level, const char *source, const char *fmt, va_list ap)
{
	log_all(NULL, level, source, fmt, ap);
}

void log_from(const struct log_place *place, int level, const char *source, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_all(place, level, source, fmt, ap);
	va_end(ap);
}
