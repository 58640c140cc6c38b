/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/tune/tune_history.c - reads the earlier runs of a run's pipeline.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/skep.h"
#include "cli/tune/tune.h"

#define RUNS_MOST      100
#define PROCESSES_MOST 200000 /* of all earlier runs together: they take 2 s; 100 runs of 500 take 0.9 s */
#define LISTED_MOST    200    /* more are not counted: a server sums up each run of a list */
#define LISTED_NAMED   1000   /* of a pipeline of which other work may be a part */

/* skep run calls a pipeline like its tool unless its user names it: then other work may have the same pipeline. */
static bool is_default_pipeline(const struct lake_report *r)
{
	if (!*r->run.pipeline)
		return true;
	for (size_t i = 0; i < r->n_processes && strcmp(r->run.origin, "command") == 0; i++)
		if (strcmp(r->processes[i].upid, r->run.root_upid) == 0 &&
		    strcmp(r->processes[i].kind->tool, r->run.pipeline) == 0)
			return true;
	return false;
}

/*
 * Without a pipeline of its own, work with the same name is the same. A name that skep took from the tool says nothing
 * either: then the folder must be the same.
 */
static bool is_same_work(const struct lake_run *run, const struct lake_run *other, bool by_name)
{
	bool named;

	if (strcmp(run->id, other->id) == 0)
		return false;
	if (!by_name)
		return true;
	named = *run->name && strcmp(run->name, run->pipeline) != 0 && strcmp(run->origin, "shell") != 0;
	return strcmp(run->name, other->name) == 0 && (named || strcmp(run->cwd, other->cwd) == 0);
}

struct reading {
	struct tune_history *history;
	struct engine_names *names;
};

static int add_run(void *arg, const struct lake_run *run, struct lake_report *report, const char *why)
{
	struct reading *in = arg;
	int rc;

	if (!report) {
		skep_say("tune", "without the earlier run %s: %s", run->id, why);
		in->history->left_out++;
		return 0;
	}
	engine_names_reuse(in->names, report);
	rc = analysis_history_add(in->history->runs, report);
	in->history->n += rc == 0;
	return rc;
}

/* Chooses the newest runs that are the same work, within the limits.  0 or -ENOMEM; the caller frees the list. */
static int choose(const struct lake_report *r, bool by_name, const struct lake_runs *runs, struct tune_history *h,
		  const struct lake_run ***ret, size_t *ret_n)
{
	const struct lake_run **chosen = calloc(runs->n + 1, sizeof(*chosen));
	uint64_t processes = 0;
	size_t n = 0;

	if (!chosen)
		return -ENOMEM;
	for (size_t i = 0; i < runs->n; i++) {
		if (!is_same_work(&r->run, &runs->runs[i], by_name))
			continue;
		processes += runs->runs[i].totals.images;
		if (n == RUNS_MOST || processes > PROCESSES_MOST)
			h->left_out++;
		else
			chosen[n++] = &runs->runs[i];
	}
	*ret = chosen;
	*ret_n = n;
	return 0;
}

int tune_history_read(struct lake *lake, const struct lake_report *r, struct engine_names *names,
		      struct tune_history *ret, char *why, size_t why_size)
{
	const bool by_name = is_default_pipeline(r);
	const struct lake_runs_query query = { .limit = by_name ? LISTED_NAMED : LISTED_MOST,
					       .engine = *r->run.engine ? r->run.engine : NULL,
					       .pipeline = r->run.pipeline,
					       .until_ns = r->run.start_ns };
	struct tune_history h = { .runs = analysis_history_new() };
	const struct lake_run **chosen = NULL;
	struct lake_runs *runs = NULL;
	size_t n = 0;
	int rc = h.runs ? 0 : -ENOMEM;

	snprintf(why, why_size, "out of memory");
	if (rc == 0 && strcmp(r->run.origin, "session") != 0 && r->run.start_ns)
		rc = lake_runs(lake, &query, &runs, why, why_size);
	if (rc == 0 && runs)
		rc = choose(r, by_name, runs, &h, &chosen, &n);
	if (rc == 0)
		rc = lake_reports(lake, chosen, n, add_run, &(struct reading){ &h, names });
	h.more = runs && runs->n == query.limit;
	free(chosen);
	lake_runs_free(runs);
	if (rc)
		analysis_history_free(h.runs);
	else
		*ret = h;
	return rc;
}
