/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/log.c - lines to stderr, each by one write(2) so that threads do not mix them.
 * A token bucket per source and level keeps one bad device or one broken plugin from
 * filling a disk; what was held back is counted and said.
 */
#include "core/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ull
#define BUCKETS_MAX 256          /* sources are instances and a few of ours; the rest share one bucket */
#define SUPPRESSED_SAY_NS (10 * NS_PER_S) /* nothing is held back longer than this without a word, if anybody logs */

struct bucket {
	char *source; /* NULL: the program itself */
	int level;
	double tokens;
	uint64_t filled_ns;
	uint64_t suppressed;
	uint64_t since_ns; /* of the first suppressed line */
	struct bucket *next;
};

static atomic_int max_level = SKEP_LOG_NOTICE;
static const char *_Atomic program;
static pthread_once_t journal_once = PTHREAD_ONCE_INIT;
static bool journal;

static pthread_mutex_t buckets_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bucket *buckets;
static struct bucket others = { .level = SKEP_LOG_WARNING };
static unsigned n_buckets;
static unsigned rate_burst = 50, rate_per_s = 10;

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

void log_rate(unsigned burst, unsigned per_s)
{
	pthread_mutex_lock(&buckets_lock);
	rate_burst = burst;
	rate_per_s = per_s;
	pthread_mutex_unlock(&buckets_lock);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/*
 * systemd.exec(5), $JOURNAL_STREAM: "device:inode" of the stream that it connected.
 * Compared with what stderr is now, because a child with a redirected stderr
 * inherits the variable as well.
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

static void write_all(const char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(STDERR_FILENO, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return; /* nobody is left to be told */
		p += done;
		n -= (size_t)done;
	}
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

/* Names of processes and files get into lines: no control character may reach the terminal or fake a line. */
static size_t append_text(char *to, const char *text, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f) {
			memcpy(to + used, "\\x", 2);
			to[used + 2] = hex[c >> 4];
			to[used + 3] = hex[c & 15];
			used += 4;
		} else {
			to[used++] = (char)c;
		}
	}
	return used;
}

static void print_line(int level, const char *source, const char *text, size_t n)
{
	const char *name = atomic_load(&program);
	size_t name_n = name ? strlen(name) : 0, source_n = source ? strlen(source) : 0;
	size_t room = name_n + 4 * source_n + 4 * n + 32;
	char small[1024];
	char *line = room <= sizeof(small) ? small : malloc(room);
	size_t used = 0;

	if (!line) {
		/* Better cut than lost. */
		line = small;
		source_n = source_n > 64 ? 64 : source_n;
		name_n = name_n > 64 ? 64 : name_n;
		n = n > 128 ? 128 : n;
	}
	/* The journal knows the program and the level by itself. */
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
		used += append_text(line + used, source, source_n);
		memcpy(line + used, ": ", 2);
		used += 2;
	}
	used += append_text(line + used, text, n);
	line[used++] = '\n';
	write_all(line, used);
	if (line != small)
		free(line);
}

/* Under the lock. */
static void say_suppressed(struct bucket *bucket)
{
	char text[64];
	int n;

	if (bucket->suppressed == 0)
		return;
	n = snprintf(text, sizeof(text), "%llu lines suppressed", (unsigned long long)bucket->suppressed);
	bucket->suppressed = 0;
	print_line(bucket->level, bucket == &others ? "others" : bucket->source, text, (size_t)n);
}

static bool same_source(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Under the lock. */
static struct bucket *bucket_get(int level, const char *source, uint64_t now)
{
	struct bucket *bucket;

	for (bucket = buckets; bucket; bucket = bucket->next)
		if (bucket->level == level && same_source(bucket->source, source))
			return bucket;
	bucket = n_buckets < BUCKETS_MAX ? calloc(1, sizeof(*bucket)) : NULL;
	if (!bucket)
		return &others;
	if (source) {
		bucket->source = strdup(source);
		if (!bucket->source) {
			free(bucket);
			return &others;
		}
	}
	bucket->level = level;
	bucket->tokens = rate_burst;
	bucket->filled_ns = now;
	bucket->next = buckets;
	buckets = bucket;
	n_buckets++;
	return bucket;
}

/* Takes a token; says first what is overdue. Only debug is never limited: it is on because somebody asked for it all. */
static bool may_print(int level, const char *source)
{
	uint64_t now = now_ns();
	struct bucket *bucket;
	bool may = true;

	pthread_mutex_lock(&buckets_lock);
	for (bucket = buckets; bucket; bucket = bucket->next)
		if (bucket->suppressed > 0 && now - bucket->since_ns >= SUPPRESSED_SAY_NS)
			say_suppressed(bucket);
	if (others.suppressed > 0 && now - others.since_ns >= SUPPRESSED_SAY_NS)
		say_suppressed(&others);
	if (level < SKEP_LOG_DEBUG) {
		bucket = bucket_get(level, source, now);
		bucket->tokens += (double)(now - bucket->filled_ns) * rate_per_s / (double)NS_PER_S;
		if (bucket->tokens > rate_burst)
			bucket->tokens = rate_burst;
		bucket->filled_ns = now;
		may = bucket->tokens >= 1;
		if (may) {
			bucket->tokens -= 1;
			say_suppressed(bucket);
		} else if (bucket->suppressed++ == 0) {
			bucket->since_ns = now;
		}
	}
	pthread_mutex_unlock(&buckets_lock);
	return may;
}

void log_flush(void)
{
	pthread_mutex_lock(&buckets_lock);
	for (struct bucket *bucket = buckets; bucket; bucket = bucket->next)
		say_suppressed(bucket);
	say_suppressed(&others);
	pthread_mutex_unlock(&buckets_lock);
}

void log_vat(int level, const char *source, const char *fmt, va_list ap)
{
	int saved_errno = errno;
	const char *p, *end;
	char small[512];
	char *text = small;
	va_list again;
	int n;

	if (level > atomic_load(&max_level))
		return;
	pthread_once(&journal_once, journal_find);
	if (!may_print(level, source))
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
	/* A text of several lines (the BPF verifier's) becomes as many, each with its prefix, for one token. */
	for (p = text, end = text + n; p < end;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;

		print_line(level, source, p, (size_t)(stop - p));
		p = newline ? newline + 1 : end;
	}
	if (text != small)
		free(text);
out:
	errno = saved_errno;
}

void log_at(int level, const char *source, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vat(level, source, fmt, ap);
	va_end(ap);
}
