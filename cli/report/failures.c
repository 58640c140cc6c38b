/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/failures.c - finds the process that caused each failure.
 *
 * A failed process has passed on a child's failure when it ended after that child, and
 * either with the same status (exit 2 for exit 2, 137 for SIGKILL: what shells do), or,
 * if it is no shell, without having started anything after it (make, workflow engines).
 * The status 1 is too common, so with it the parent must also have ended soon after.  Signals that a
 * terminal or a scheduler sends to many processes at once (INT, TERM, HUP) make one
 * entry for all their victims instead.
 */
#include "cli/report/failures.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/reason.h"

/* End times of a child and of the parent that waited for it may be taken on different CPUs. */
#define CLOCK_SLACK_NS 1000000
/* A clean-up after a failure may take this long; a parent that ends later failed for a cause of its own. */
#define SOON_NS        1000000000

struct entry {
	size_t member;
	size_t n_chain; /* processes after it, the run's root included */
	bool ended_run;
	char *key; /* equal for similar failures */
	uint64_t end_ns;
	uint64_t weight; /* the report shows the entry of a group with the largest weight */
};

static bool broadcast(const struct lake_process *p)
{
	const uint64_t signal = p->kind->signal;

	return !p->kind->oom_killed && (signal == SIGINT || signal == SIGTERM || signal == SIGHUP);
}

static bool same_status(const struct lake_process *child, const struct lake_process *parent)
{
	if (parent->kind->signal)
		return child->kind->signal == parent->kind->signal;
	return child->kind->signal ? parent->kind->exit_code == 128 + (int64_t)child->kind->signal
			     : child->kind->exit_code == parent->kind->exit_code;
}

/* The child whose failure this member passed on; FAMILY_NONE: the failure is its own. */
static uint32_t culprit(const struct family *f, size_t member)
{
	const struct lake_process *p = family_last(f, member);
	const struct family_member *m = &f->members[member];
	uint32_t same = FAMILY_NONE, latest = FAMILY_NONE;
	uint64_t started = 0;

	if (!reason_failed(p) || p->kind->oom_killed || broadcast(p))
		return FAMILY_NONE;
	for (uint32_t c = m->child; c != FAMILY_NONE; c = f->members[c].sibling) {
		const struct lake_process *child = family_last(f, c);

		if (family_start_ns(f, c) > started)
			started = family_start_ns(f, c);
		if (!reason_failed(child) || !child->end_ns || child->end_ns > p->end_ns + CLOCK_SLACK_NS)
			continue;
		if (latest == FAMILY_NONE || child->end_ns >= family_end_ns(f, latest))
			latest = c;
		if (same_status(child, p) && (p->kind->exit_code != 1 || child->end_ns + SOON_NS >= p->end_ns) &&
		    (same == FAMILY_NONE || child->end_ns >= family_end_ns(f, same)))
			same = c;
	}
	if (same != FAMILY_NONE)
		return same;
	/*
	 * A shell that passes on a failure has its child's status; another status is its own.  SIGPIPE is normal in a
	 * pipe.  A process that a signal ended did not pass on a child's failure.
	 */
	if (latest == FAMILY_NONE || p->kind->signal || reason_is_starter(p) ||
	    family_last(f, latest)->kind->signal == SIGPIPE)
		return FAMILY_NONE;
	return started <= family_end_ns(f, latest) ? latest : FAMILY_NONE;
}

/* Follows the failure from its culprit towards the root. */
static void follow(const struct family *f, const uint32_t *culprits, struct entry *e)
{
	size_t m = e->member;

	while (f->members[m].parent != FAMILY_NONE && culprits[f->members[m].parent] == m) {
		m = f->members[m].parent;
		e->n_chain++;
	}
	e->ended_run = m == f->root;
}

static char *entry_key(const struct family *f, const struct entry *e)
{
	const struct lake_process *p = family_last(f, e->member);
	char *key = NULL;
	size_t size, m = e->member;
	FILE *stream;

	if (broadcast(p)) {
		if (asprintf(&key, "broadcast %" PRIu64, p->kind->signal) < 0)
			return NULL;
		return key;
	}
	stream = open_memstream(&key, &size);
	if (!stream)
		return NULL;
	fprintf(stream, "%d %d %" PRIu64 " %d %" PRId64 " %" PRIu64 "\n%s\n%s", e->ended_run, p->kind->oom_killed,
		p->kind->signal, p->kind->core_dumped, p->kind->exit_code, p->kind->oom_limit_bytes,
		p->kind->oom_cgroup, reason_name(p));
	for (size_t i = 0; i < e->n_chain; i++) {
		m = f->members[m].parent;
		p = family_last(f, m);
		fprintf(stream, "\n%s %" PRId64 " %" PRIu64, reason_name(p), p->kind->exit_code, p->kind->signal);
	}
	if (ferror(stream)) {
		fclose(stream);
		free(key);
		return NULL;
	}
	if (fclose(stream) != 0) {
		free(key);
		return NULL;
	}
	return key;
}

static int by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	if (order == 0 && x->weight != y->weight)
		order = x->weight > y->weight ? -1 : 1;
	if (order == 0)
		order = x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
	if (order == 0)
		order = x->member < y->member ? -1 : x->member > y->member;
	return order;
}

static enum failure_severity judge(const struct lake_run *run, const struct lake_process *p, bool ended_run)
{
	bool run_failed = run->signal || run->exit_code > 0;

	if (p->kind->oom_killed || (ended_run && run_failed))
		return FAILURE_ERROR;
	if (p->kind->signal && p->kind->signal != SIGPIPE)
		return FAILURE_WARNING;
	return run_failed && !p->kind->signal ? FAILURE_WARNING : FAILURE_INFO;
}

/* "a, b and 3 more": the different names of a group. */
static char *group_subject(const struct family *f, const struct entry *entries, size_t n)
{
	const char *names[4];
	size_t n_names = 0, more = 0;
	char *subject = NULL;
	int len;

	for (size_t i = 0; i < n; i++) {
		const char *name = reason_name(family_last(f, entries[i].member));
		size_t k = 0;

		while (k < n_names && strcmp(names[k], name) != 0)
			k++;
		if (k < n_names)
			continue;
		if (n_names < 4)
			names[n_names++] = name;
		else
			more++;
	}
	len = asprintf(&subject, "%s%s%s%s%s%s%s%s", names[0], n_names > 1 ? ", " : "", n_names > 1 ? names[1] : "",
		       n_names > 2 ? ", " : "", n_names > 2 ? names[2] : "", n_names > 3 ? ", " : "",
		       n_names > 3 ? names[3] : "", more ? " and others" : "");
	return len < 0 ? NULL : subject;
}

static int make_group(const struct family *f, const struct entry *entries, size_t n, struct failure *ret)
{
	size_t m = entries[0].member;

	ret->n = n;
	ret->n_chain = entries[0].n_chain;
	for (size_t i = 0; i < n; i++)
		ret->ended_run |= entries[i].ended_run;
	ret->images = calloc(n, sizeof(*ret->images));
	ret->chain = calloc(ret->n_chain + 1, sizeof(*ret->chain));
	ret->subject = group_subject(f, entries, n);
	if (!ret->images || !ret->chain || !ret->subject)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ret->images[i] = f->members[entries[i].member].last;
	for (size_t i = 0; i < ret->n_chain; i++) {
		m = f->members[m].parent;
		ret->chain[i] = f->members[m].last;
	}
	ret->severity = judge(&f->report->run, family_last(f, entries[0].member), ret->ended_run);
	return 0;
}

static int by_severity(const void *a, const void *b, void *arg)
{
	const struct lake_report *report = arg;
	const struct failure *x = a, *y = b;
	const struct lake_process *p = &report->processes[x->images[0]], *q = &report->processes[y->images[0]];

	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	if (x->ended_run != y->ended_run)
		return x->ended_run ? -1 : 1;
	if (p->end_ns != q->end_ns)
		return p->end_ns < q->end_ns ? -1 : 1;
	return x->images[0] < y->images[0] ? -1 : x->images[0] > y->images[0];
}

static int make_groups(const struct family *f, struct entry *entries, size_t n, struct failures *ret)
{
	int rc;

	ret->list = calloc(n + 1, sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	for (size_t i = 0, end; i < n; i = end) {
		struct failure *group = &ret->list[ret->n++];

		for (end = i + 1; end < n && strcmp(entries[i].key, entries[end].key) == 0; end++)
			;
		rc = make_group(f, entries + i, end - i, group);
		if (rc)
			return rc;
		for (size_t k = i; k < end; k++)
			ret->processes += 1 + entries[k].n_chain;
	}
	qsort_r(ret->list, ret->n, sizeof(*ret->list), by_severity, (void *)f->report);
	return 0;
}

int failures_new(const struct family *f, struct failures **ret)
{
	struct failures *found = calloc(1, sizeof(*found));
	uint32_t *culprits = calloc(f->n + 1, sizeof(*culprits));
	struct entry *entries = calloc(f->n + 1, sizeof(*entries));
	size_t n = 0;
	int rc = -ENOMEM;

	if (!found || !culprits || !entries)
		goto out;
	for (size_t m = 0; m < f->n; m++)
		culprits[m] = culprit(f, m);
	for (size_t m = 0; m < f->n; m++) {
		const struct lake_process *p = family_last(f, m);
		struct entry *e = &entries[n];

		if (!reason_failed(p) || culprits[m] != FAMILY_NONE)
			continue;
		e->member = m;
		e->end_ns = p->end_ns;
		follow(f, culprits, e);
		/* The report shows the largest process killed for memory, or the interrupted one that ended the run. */
		e->weight = p->kind->oom_killed ? p->totals.rss_peak_bytes : e->n_chain;
		n++; /* before the key is made: the caller frees n entries */
		e->key = entry_key(f, e);
		if (!e->key)
			goto out;
	}
	qsort(entries, n, sizeof(*entries), by_key);
	rc = make_groups(f, entries, n, found);
	if (rc)
		goto out;
	*ret = found;
	found = NULL;
out:
	for (size_t i = 0; i < n; i++)
		free(entries[i].key);
	free(entries);
	free(culprits);
	failures_free(found);
	return rc;
}

struct failures *failures_free(struct failures *found)
{
	if (!found)
		return NULL;
	for (size_t i = 0; found->list && i < found->n; i++) {
		free(found->list[i].images);
		free(found->list[i].chain);
		free(found->list[i].subject);
	}
	free(found->list);
	free(found);
	return NULL;
}

const char *failure_severity_name(enum failure_severity severity)
{
	static const char *const names[] = {
		[FAILURE_INFO] = "info",
		[FAILURE_WARNING] = "warning",
		[FAILURE_ERROR] = "error",
	};

	return names[severity];
}
