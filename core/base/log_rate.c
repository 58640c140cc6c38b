/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log_rate.c - the token buckets.
 *
 * The address of the format also identifies a place in a plugin, because plugins log through a pointer, without a
 * __LINE__.  Equal formats may be one place, which does no harm.
 */
#include "core/base/log_rate.h"

#include <pthread.h>
#include <skep/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000ull
#define PLACES_MOST 1024         /* all further places share one bucket */
/* the longest time without a report of suppressed lines, as long as any line is logged */
#define REPORT_NS (10 * NS_PER_S)
#define CHAINS 256u

struct place {
	char *source; /* NULL: the program itself */
	const char *fmt;
	int level;
	double tokens;
	uint64_t filled_ns;
	uint64_t held_back;
	uint64_t since_ns; /* time of the first suppressed line */
	struct place *next, *next_of_all;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct place *chains[CHAINS], *all;
static struct place others = { .level = SKEP_LOG_WARNING };
static unsigned n_places;
static unsigned rate_burst = 50, rate_per_s = 10;
static uint64_t report_due_ns; /* when a report may be overdue; 0: no line is suppressed */

void log_rate(unsigned burst, unsigned per_s)
{
	pthread_mutex_lock(&lock);
	rate_burst = burst;
	rate_per_s = per_s;
	pthread_mutex_unlock(&lock);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static bool same_source(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void report_one(struct place *place, log_rate_report report)
{
	uint64_t n = place->held_back;

	if (n == 0)
		return;
	place->held_back = 0;
	report(place->level, place == &others ? "others" : place->source, place->fmt, n);
}

static void report_overdue(uint64_t now, log_rate_report report)
{
	if (report_due_ns == 0 || now < report_due_ns)
		return;
	report_due_ns = 0;
	for (struct place *place = all; place; place = place->next_of_all)
		if (place->held_back > 0 && now - place->since_ns >= REPORT_NS)
			report_one(place, report);
		else if (place->held_back > 0 && (report_due_ns == 0 || place->since_ns + REPORT_NS < report_due_ns))
			report_due_ns = place->since_ns + REPORT_NS;
	if (others.held_back > 0 && now - others.since_ns >= REPORT_NS)
		report_one(&others, report);
	else if (others.held_back > 0 && (report_due_ns == 0 || others.since_ns + REPORT_NS < report_due_ns))
		report_due_ns = others.since_ns + REPORT_NS;
}

static struct place *place_get(int level, const char *source, const char *fmt, uint64_t now)
{
	struct place **chain = &chains[((uintptr_t)fmt >> 3 ^ (uintptr_t)fmt >> 11) % CHAINS], *place;

	for (place = *chain; place; place = place->next)
		if (place->fmt == fmt && place->level == level && same_source(place->source, source))
			return place;
	place = n_places < PLACES_MOST ? calloc(1, sizeof(*place)) : NULL;
	if (!place)
		return &others;
	if (source) {
		place->source = strdup(source);
		if (!place->source) {
			free(place);
			return &others;
		}
	}
	place->fmt = fmt;
	place->level = level;
	place->tokens = rate_burst;
	place->filled_ns = now;
	place->next = *chain;
	*chain = place;
	place->next_of_all = all;
	all = place;
	n_places++;
	return place;
}

bool log_rate_may(int level, const char *source, const char *fmt, log_rate_report report)
{
	uint64_t now = now_ns();
	struct place *place;
	bool may;

	pthread_mutex_lock(&lock);
	report_overdue(now, report);
	place = place_get(level, source, fmt, now);
	place->tokens += (double)(now - place->filled_ns) * rate_per_s / (double)NS_PER_S;
	if (place->tokens > rate_burst)
		place->tokens = rate_burst;
	place->filled_ns = now;
	may = place->tokens >= 1;
	if (may) {
		place->tokens -= 1;
		report_one(place, report);
	} else if (place->held_back++ == 0) {
		place->since_ns = now;
		if (report_due_ns == 0)
			report_due_ns = now + REPORT_NS;
	}
	pthread_mutex_unlock(&lock);
	return may;
}

void log_rate_flush(log_rate_report report)
{
	pthread_mutex_lock(&lock);
	for (struct place *place = all; place; place = place->next_of_all)
		report_one(place, report);
	report_one(&others, report);
	report_due_ns = 0;
	pthread_mutex_unlock(&lock);
}
