/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/runs.c - `skep runs`: prints the runs in a lake, newest first.
 */
#include "cli/runs.h"

#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/human.h"
#include "cli/base/json_stream.h"
#include "cli/base/moment.h"
#include "cli/base/paint.h"
#include "cli/base/question.h"
#include "cli/base/skep.h"
#include "cli/base/table.h"
#include "cli/base/text.h"
#include "cli/report/reason.h"
#include "cli/report/report.h"
#include "lake/lake.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MOST    1000000

struct runs_options {
	unsigned long limit;
	const char *lake, *engine, *pipeline, *user, *state, *since, *until, *job, *within, *host;
	bool json, all;
};

static const struct command_option options[] = {
	{ "limit", 'n', "N", "at most N runs (default 20; 0: all of them)", .max = LIMIT_MOST,
	  COMMAND_AT(struct runs_options, limit) },
	{ "engine", .value = "NAME", .help = "only runs of this engine: snakemake, slurm, make, ...",
	  COMMAND_AT(struct runs_options, engine) },
	{ "pipeline", .value = "NAME", .help = "only runs of this pipeline", COMMAND_AT(struct runs_options, pipeline) },
	{ "user", .value = "USER", .help = "only runs of this user, a name or a uid",
	  COMMAND_AT(struct runs_options, user) },
	{ "state", .value = "STATE", .help = "only runs that are running, failed or ok",
	  COMMAND_AT(struct runs_options, state) },
	{ "since", .value = "TIME", .help = "only runs that began at 2026-11-21T03:48:15Z or later; 2h, 3d: that long ago",
	  COMMAND_AT(struct runs_options, since) },
	{ "until", .value = "TIME", .help = "only runs that began before this time", COMMAND_AT(struct runs_options, until) },
	{ "job", .value = "ID", .help = "only runs of this scheduler job, or with a task of it",
	  COMMAND_AT(struct runs_options, job) },
	{ "within", .value = "ID", .help = "only runs that began in this run: a workflow in a task of a workflow, runs of a session",
	  COMMAND_AT(struct runs_options, within) },
	{ "host", .value = "NAME", .help = "only runs of this host", COMMAND_AT(struct runs_options, host) },
	{ "all", .help = "list sessions in which another run began and small commands of shells, too", COMMAND_AT(struct runs_options, all) },
	{ "json", .help = "print a JSON list of objects, for programs", COMMAND_AT(struct runs_options, json) },
	QUESTION_LAKE(struct runs_options, lake),
	{ 0 },
};

static int run_runs(int argc, char **argv);

const struct command cmd_runs = {
	.name = "runs",
	.summary = "list runs, newest first",
	.options = options,
	.notes = "`skep show ID` reports a run. The beginning of an id is enough; a name finds the newest run with the "
		 "name. The list "
		 "leaves out a login session in which another run began, unless no other run matches.\n",
	.most = -1,
	.run = run_runs,
};

/* ---- for people ----------------------------------------------------------- */

/* Adds a run's row. On a narrow terminal it lacks the bytes, which `skep show` has, and the year, which the id has. */
static int add_run(struct table *t, const struct paint *p, const struct lake_run *run, bool wide, bool engines)
{
	bool failed = run->signal || run->exit_code > 0;
	enum ink ink = failed ? INK_RED : run->exit_code == 0 ? INK_GREEN : INK_YELLOW;
	unsigned units = paint_units(p) | HUMAN_SHORT;
	char buf[HUMAN_SIZE], signal[REASON_SIGNAL_SIZE];
	char *id = text_safe(run->id, p->unicode), *name = text_safe(run->name, p->unicode);
	char *engine = text_safe(run->engine, p->unicode);
	int rc = -ENOMEM;

	if (!id || !name || !engine)
		goto out;
	table_cell(t, INK_BOLD, "%s", id);
	human_date(run->start_ns, HUMAN_DATE | HUMAN_CLOCK, buf);
	if (wide)
		table_cell(t, INK_DIM, "%s", buf);
	else
		table_cell(t, INK_DIM, "%.11s", strlen(buf) > 5 ? buf + 5 : buf); /* 11-21 03:48 */
	table_cell(t, INK_NONE, "%s",
		   run->end_ns > run->start_ns ? human_time(run->end_ns - run->start_ns, units, buf) : "-");
	if (run->signal)
		table_cell(t, ink, "%s", reason_signal(run->signal, signal));
	else if (run->exit_code >= 0)
		table_cell(t, ink, "%s%d", run->exit_code ? "exit " : "", (int)run->exit_code);
	else
		table_cell(t, ink, "%s", run->end_ns ? "unknown" : "running");
	table_cell(t, INK_NONE, "%s", human_count(run->totals.processes, buf));
	table_cell(t, INK_NONE, "%s", human_time(run->totals.cpu_ns, units, buf));
	table_cell(t, INK_NONE, "%s", human_bytes(run->memory_peak_bytes, units, buf));
	if (wide) {
		table_cell(t, INK_NONE, "%s", human_bytes(run->totals.read_bytes, units, buf));
		table_cell(t, INK_NONE, "%s", human_bytes(run->totals.write_bytes, units, buf));
	}
	if (engines)
		table_cell(t, INK_NONE, "%s", engine);
	table_cell(t, INK_NONE, "%s", name);
	rc = 0;
out:
	free(engine);
	free(id);
	free(name);
	return rc;
}

int runs_print(const struct lake_runs *runs, FILE *out, const struct paint_style *style)
{
	static const struct table_column all[] = {
		{ .title = "run", .left = true },
		{ .title = "started", .left = true },
		{ .title = "elapsed" },
		{ .title = "exit", .left = true },
		{ .title = "procs" },
		{ .title = "CPU" },
		{ .title = "MEMORY" },
		{ .title = "read" },
		{ .title = "written" },
		{ .title = "engine", .left = true },
		{ .title = "name", .left = true, .flex = true },
	};
	/* from the widest to the tightest: the first that fits is used */
	static const struct {
		bool bytes, engines;
	} looks[] = { { true, true }, { true, false }, { false, true }, { false, false } };
	size_t n_looks = sizeof(looks) / sizeof(*looks);
	bool any = false;
	struct paint p;
	int rc = 0;

	paint_init(&p, out, style);
	for (size_t i = 0; i < runs->n; i++)
		any |= *runs->runs[i].engine != '\0';
	for (size_t look = 0; look < n_looks && rc == 0; look++) {
		struct table_column columns[sizeof(all) / sizeof(*all)];
		size_t n = 0;
		struct table *t;
		bool fits;

		if (looks[look].engines && !any)
			continue;
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			if ((looks[look].bytes || (i != 7 && i != 8)) && (looks[look].engines || i != 9))
				columns[n++] = all[i];
		t = table_new(columns, n);
		if (!t)
			return -ENOMEM;
		for (size_t i = 0; i < runs->n && rc == 0; i++)
			rc = add_run(t, &p, &runs->runs[i], looks[look].bytes, looks[look].engines);
		fits = look + 1 == n_looks || table_width(t, 1, 16) <= p.width;
		if (fits && rc == 0)
			rc = table_print(t, &p, 0, table_width(t, 2, 24) <= p.width ? 2 : 1);
		table_free(t);
		if (fits)
			break;
	}
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}

/* ---- for programs --------------------------------------------------------- */

int runs_json(const struct lake_runs *runs, FILE *out)
{
	struct json_stream o = { .out = out };

	json_stream_open(&o, NULL, '[');
	for (size_t i = 0; i < runs->n && !o.err; i++) {
		const struct lake_totals *t = &runs->runs[i].totals;

		json_stream_open(&o, NULL, '{');
		report_json_run(&o, &runs->runs[i]);
		json_stream_open(&o, "totals", '{');
		json_stream_number(&o, "processes", t->processes);
		json_stream_number(&o, "images", t->images);
		json_stream_number(&o, "cpu_ns", t->cpu_ns);
		json_stream_number(&o, "rss_peak_bytes", t->rss_peak_bytes);
		json_stream_number(&o, "read_bytes", t->read_bytes);
		json_stream_number(&o, "write_bytes", t->write_bytes);
		json_stream_close(&o, '}');
		json_stream_close(&o, '}');
	}
	json_stream_close(&o, ']');
	return json_stream_end(&o);
}

/* ---- the command ---------------------------------------------------------- */

/* 0, or the exit status after a message. */
static int query_of(const struct runs_options *o, uint64_t *uid, struct lake_runs_query *q)
{
	static const char *const states[] = { [LAKE_RUNS] = "running", [LAKE_FAILED] = "failed", [LAKE_OK] = "ok" };
	struct passwd entry, *user = NULL;
	char text[4096];
	unsigned long number;
	int status;

	*q = (struct lake_runs_query){
		.limit = o->limit,
		.engine = o->engine,
		.pipeline = o->pipeline,
		.job = o->job,
		.within = o->within,
		.host = o->host,
		.sessions = o->all || o->within,
	};
	for (unsigned i = LAKE_RUNS; o->state && i <= LAKE_OK; i++)
		if (strcmp(o->state, states[i]) == 0)
			q->outcome = (enum lake_outcome)i;
	if (o->state && !q->outcome)
		return skep_usage("runs", "--state '%s' is not running, failed or ok", o->state);
	if (o->user && command_number(o->user, 0, UINT32_MAX, &number) == 0) {
		*uid = number;
		q->uid = uid;
	} else if (o->user) {
		if (getpwnam_r(o->user, &entry, text, sizeof(text), &user) != 0 || !user)
			return skep_usage("runs", "--user '%s': this machine knows no such user; give the uid", o->user);
		*uid = user->pw_uid;
		q->uid = uid;
	}
	status = moment_option("runs", "--since", o->since, &q->since_ns);
	return status == SKEP_EXIT_OK ? moment_option("runs", "--until", o->until, &q->until_ns) : status;
}

static int answer(const struct runs_options *o)
{
	struct lake_runs_query query;
	uint64_t uid;
	struct lake *lake = NULL;
	struct lake_runs *runs = NULL;
	char why[512] = "";
	int rc, status;

	status = query_of(o, &uid, &query);
	if (!status)
		status = question_open("runs", o->lake, NULL, query.since_ns, &lake);
	if (status)
		return status;
	rc = lake_runs(lake, &query, &runs, why, sizeof(why));
	if (rc == 0 && !runs->n && !query.sessions) {
		lake_runs_free(runs);
		runs = NULL;
		query.sessions = true;
		rc = lake_runs(lake, &query, &runs, why, sizeof(why));
	}
	if (rc) {
		status = skep_fail("runs", SKEP_EXIT_RUNTIME, "%s", why);
		goto out;
	}
	if (o->json)
		rc = runs_json(runs, stdout);
	else if (runs->n)
		rc = runs_print(runs, stdout, NULL);
	else if (o->engine || o->pipeline || o->user || o->state || o->since || o->until || o->job ||
		 o->within || o->host)
		puts("no run matches; `skep runs --all` without other options lists the newest");
	else
		puts("no runs yet; make one: skep run -- make");
	if (rc)
		status = skep_fail("runs", SKEP_EXIT_RUNTIME, "cannot write the list: %s", strerror(-rc));
	else
		status = question_partial("runs", lake, NULL);
out:
	lake_runs_free(runs);
	lake_close(lake);
	return status;
}

static int run_runs(int argc, char **argv)
{
	struct runs_options o = { .limit = LIMIT_DEFAULT };
	int status = command_parse(&cmd_runs, argc, argv, &o);

	if (status >= 0)
		return status;
	if (optind < argc)
		return skep_usage("runs", "unexpected argument '%s': to report one run, skep show %s", argv[optind], argv[optind]);
	return answer(&o);
}
