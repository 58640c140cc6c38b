/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/export.c - `skep lake export`: rows of runs, tasks, processes or samples, for other programs.  Writes one
 * run after the other: it holds the list of the runs, and the rows of one of them.
 */
#include "cli/lake/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/moment.h"
#include "cli/base/out_file.h"
#include "cli/base/question.h"
#include "cli/base/skep.h"
#include "cli/lake/options.h"

/* ---- rows ------------------------------------------------------------------------- */

static const void *rows_of(const struct lake_report *r, const struct export_kind *kind, size_t *ret_n)
{
	*ret_n = *(const size_t *)(const void *)((const char *)r + kind->n);
	return *(const void *const *)(const void *)((const char *)r + kind->rows);
}

static int write_rows(struct export_writer *e, const struct export_kind *kind, const struct lake_report *report)
{
	size_t n;
	const void *rows = rows_of(report, kind, &n);

	return export_rows(e, kind, report->run.id, rows, n, 0);
}

/* run: from the list of the runs, whose sums are the roll-up's. report: NULL if no row of it is wanted. */
static int write_run(struct export_writer *e, const struct lake_run *run, const struct lake_report *report)
{
	const struct export_kind *runs = &export_kinds[EXPORT_RUNS];
	size_t following = 0, n;
	int err = 0;

	if (!report || e->kind == runs)
		return export_rows(e, runs, run->id, run, 1, 0);
	if (e->kind)
		return write_rows(e, e->kind, report);
	for (size_t i = EXPORT_RUNS + 1; i < EXPORT_KINDS; i++) {
		rows_of(report, &export_kinds[i], &n);
		following += n;
	}
	err = export_rows(e, runs, run->id, run, 1, following);
	for (size_t i = EXPORT_RUNS + 1; i < EXPORT_KINDS && !err; i++)
		err = write_rows(e, &export_kinds[i], report);
	return err;
}

int export_runs(struct lake *lake, const struct export_question *q, struct export_writer *e,
		void (*say)(const char *run, const char *why), size_t *ret_skipped, char *why, size_t why_size)
{
	const bool needs_report = e->kind != &export_kinds[EXPORT_RUNS];
	struct lake_runs_query query = q->runs;
	struct lake_report *report = NULL;
	struct lake_runs *runs = NULL;
	size_t skipped = 0;
	int err;

	*why = '\0';
	if (q->run) {
		err = lake_report(lake, q->run, &report, why, why_size);
		if (err)
			return err;
		query = (struct lake_runs_query){ .since_ns = report->run.start_ns,
						  .until_ns = report->run.start_ns ? report->run.start_ns + 1 : 0 };
	}
	query.sessions = true; /* a lake's rows, all of them */
	err = lake_runs(lake, &query, &runs, why, why_size);
	if (!err) {
		*why = '\0';
		err = export_begin(e);
	}
	for (size_t i = err ? 0 : runs->n; i-- > 0 && !err;) { /* the oldest first */
		const struct lake_run *run = &runs->runs[i];

		if (q->run && strcmp(run->id, report->run.id) != 0)
			continue;
		if (needs_report && !q->run)
			err = lake_report(lake, run->id, &report, why, why_size);
		if (err == -EUCLEAN || err == -ENOENT) { /* damaged; or the sink has just removed its file */
			say(run->id, why);
			skipped += err == -EUCLEAN;
			*why = '\0';
			err = 0;
			continue;
		}
		if (err)
			break;
		*why = '\0';
		err = write_run(e, run, report);
		if (!q->run)
			report = lake_report_free(report);
	}
	if (!err)
		err = export_end(e);
	lake_report_free(report);
	lake_runs_free(runs);
	if (!err)
		*ret_skipped = skipped;
	return err;
}

/* ---- the command ------------------------------------------------------------------ */

static const char *const formats[] = { [EXPORT_NDJSON] = "ndjson", [EXPORT_CSV] = "csv", [EXPORT_PARQUET] = "parquet" };

static int format_of(const char *name, enum export_format *ret)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (strcmp(formats[i], name) == 0) {
			*ret = (enum export_format)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int time_of(const char *option, const char *text, uint64_t *ret)
{
	if (!text || moment(text, ret) == 0)
		return SKEP_EXIT_OK;
	return skep_usage("lake", "--%s %s: not a time; give one like 2026-11-21T03:48:15Z, or 2h or 3d for a time ago",
			  option, text);
}

static int question_of(const struct lake_options *o, struct export_writer *e, struct export_question *q)
{
	const char *what = o->what ? o->what : "processes";
	int status;

	if (format_of(o->format ? o->format : "ndjson", &e->format) != 0)
		return skep_usage("lake", "--format %s: not one of ndjson, csv, parquet", o->format);
	e->kind = export_kind_of(what);
	if (!e->kind && strcmp(what, "all") != 0)
		return skep_usage("lake", "--what %s: not one of processes, tasks, runs, samples, ledger, all", what);
	if (!e->kind && e->format != EXPORT_NDJSON)
		return skep_usage("lake", "--what all: rows of several kinds have no common columns: write them as ndjson, or "
				  "each kind to a %s file of its own", o->format);
	if (o->run && (o->pipeline || o->since || o->until))
		return skep_usage("lake", "--run names one run; --pipeline, --since and --until choose among all");
	q->run = o->run;
	q->runs.pipeline = o->pipeline;
	status = time_of("since", o->since, &q->runs.since_ns);
	return status ? status : time_of("until", o->until, &q->runs.until_ns);
}

/* 0, or an exit status after a message. */
static int output_of(const struct lake_options *o, const struct export_writer *e, struct out_file *ret)
{
	const char *path = o->output ? o->output : "-";
	int rc;

	if (strcmp(path, "-") == 0 && e->format != EXPORT_NDJSON && isatty(STDOUT_FILENO))
		return skep_usage("lake", "--format %s: not for a terminal; name a file with --output, or use a pipe",
				  formats[e->format]);
	rc = out_file_open(path, ret);
	return rc ? skep_fail("lake", SKEP_EXIT_RUNTIME, "--output %s: %s", path, strerror(-rc)) : 0;
}

static void say_skipped(const char *run, const char *why)
{
	skep_say("lake", "partial, without the rows of run %s: %s", run, why);
}

int lake_command_export(const struct lake_options *o)
{
	const char *name = o->output && strcmp(o->output, "-") != 0 ? o->output : NULL;
	struct export_question question = { 0 };
	struct export_writer e = { 0 };
	struct lake *lake = NULL;
	struct out_file out = { 0 };
	char why[1024] = "";
	size_t skipped = 0;
	int err, status = question_of(o, &e, &question);

	if (!status)
		status = question_open("lake", o->lake, o->run, question.runs.since_ns, &lake);
	if (status)
		return status;
	status = output_of(o, &e, &out);
	if (status)
		goto out;
	e.out = out.stream;
	err = out_file_close(&out, export_runs(lake, &question, &e, say_skipped, &skipped, why, sizeof(why)));
	if (err && *why)
		status = skep_fail("lake", SKEP_EXIT_RUNTIME, "%s", why);
	else if (err)
		status = skep_fail("lake", SKEP_EXIT_RUNTIME, "cannot write %s: %s; %s", name ? name : "the rows",
				   strerror(-err), name ? "the file is as it was" : "the rows are not complete");
	else
		status = question_partial("lake", lake, NULL) || skipped ? SKEP_EXIT_RUNTIME : SKEP_EXIT_OK;
out:
	export_free(&e);
	lake_close(lake);
	return status;
}
