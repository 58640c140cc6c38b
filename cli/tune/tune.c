/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/tune/tune.c - `skep tune`: what to change about a run, with the evidence.
 */
#include "cli/tune/tune.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/json_out.h"
#include "cli/base/kinds.h"
#include "cli/base/price_file.h"
#include "cli/base/question.h"
#include "cli/base/settings.h"
#include "cli/base/skep.h"
#include "cli/web/html.h"
#include "lake/claims.h"

struct tune_options {
	unsigned long width;
	const char *lake, *emit, *prices, *html;
	const char **set;
	bool json, list, no_files;
};

static const struct command_option options[] = {
	{ "emit", .value = "FORMAT", .help = "write what to ask for as a file: snakemake (a profile's config.yaml), "
					     "nextflow (a config), sbatch (directives), k8s (resources of containers)",
	  COMMAND_AT(struct tune_options, emit) },
	{ "set", .value = "NAME=VALUE", .help = "change a threshold, such as gate.wall=10; may be repeated",
	  COMMAND_AT(struct tune_options, set) },
	{ "list", .help = "print the kinds of findings with their thresholds, and look at no run",
	  COMMAND_AT(struct tune_options, list) },
	{ "no-files", .help = "do not read your engine's own files for names and requests of tasks",
	  COMMAND_AT(struct tune_options, no_files) },
	{ "json", .help = "print the answer as JSON, for programs", COMMAND_AT(struct tune_options, json) },
	{ "html", .value = "FILE", .help = "write the run as a page for a browser, open at this answer, in one file; -: to the output",
	  COMMAND_AT(struct tune_options, html) },
	{ "width", .value = "N", .help = "columns of the text (80 to 400; default: the terminal's)", .min = 80,
	  .max = 400, COMMAND_AT(struct tune_options, width) },
	PRICE_FILE_OPTION(struct tune_options, prices),
	QUESTION_LAKE(struct tune_options, lake),
	{ 0 },
};

static int run_tune(int argc, char **argv);

const struct command cmd_tune = {
	.name = "tune",
	.operands = "[RUN|PIPELINE|last]",
	.summary = "say what to change about a run: requests, waits, waste, with the evidence",
	.about = "RUN is a run's id, the beginning of an id, a name (skep takes the newest run with the name), or `last`, "
		 "the default. PIPELINE is a pipeline's name: skep takes its newest run.\n"
		 "skep compares the run with the earlier ones of its pipeline, at most 100, and sizes rest on all of them.\n",
	.options = options,
	.notes =
		"The table has a row for the tasks of one name: median wall time, the cores and the memory that they used at "
		"most and requested, the resource that limits them, and the next request. `bound by` is `cpu`, "
		"`run queue`, `quota` (waits for a CPU that a quota causes), `memory` (that the kernel took), `disk`, `network`, `gpu` or "
		"`waiting` if this is at least half of the lifetime of the processes that have no children.\n"
		"The observed path is a chain of tasks up to the task that ended last; each task of it began after the end of "
		"the task before it. In a run without tasks it is a chain of processes. `the run without` is the most that the "
		"run gains if these took no time.\n"
		"A finding names its evidence, what to change, and what that saves at most. `exact` figures are the "
		"kernel's counters; `delayacct` ones too, which it keeps only with sysctl kernel.task_delayacct=1; `sampled` "
		"ones are one look per interval; `inferred` is the time that no counter explains.\n"
		"With a file of prices, the saving has the amount that it is worth at the price of the run's host.\n",
	.most = -1,
	.run = run_tune,
};

const char *tune_confidence(enum finding_confidence c)
{
	static const char *const texts[] = { "low", "medium", "high" };

	return texts[c];
}

const char *tune_severity(enum finding_severity s)
{
	return s == FINDING_WARN ? "warning" : "note";
}

const char *tune_subject(enum finding_subject s)
{
	static const char *const texts[] = { "run", "task", "tool" };

	return texts[s];
}

/* The run, or the newest one of the pipeline of that name. As lake_report(). */
static int read_run(struct lake *lake, const char *which, struct lake_report **ret, char *why, size_t why_size)
{
	const struct lake_runs_query query = { .limit = 1, .pipeline = which, .sessions = true };
	struct lake_runs *runs = NULL;
	char ignored[512];
	int rc = lake_report(lake, which, ret, why, why_size);

	if (rc == -ENOENT && lake_runs(lake, &query, &runs, ignored, sizeof(ignored)) == 0 && runs->n)
		rc = lake_report(lake, runs->runs[0].id, ret, why, why_size);
	lake_runs_free(runs);
	return rc;
}

/* What an answer rests on. */
struct tuned {
	struct lake *lake;
	struct lake_report *report;
	struct engine_names *names;
	struct tune_history history;
	struct tune_price price;
	struct analysis *analysis;
};

static int write_answer(const void *arg, FILE *out, char *why, size_t room)
{
	const struct tuned *t = arg;

	(void)why;
	(void)room;
	return tune_json(t->report, t->analysis, &t->history, &t->price, out);
}

/* Writes the page, with this answer. SKEP_EXIT_OK, or an exit status after a message. */
static int write_html(const char *path, const struct tuned *t)
{
	const struct html_answer tuned = { .write = write_answer, .arg = t };
	struct out_file file;
	char why[1024] = "";
	int rc, status = html_begin("tune", path, &file);

	if (status)
		return status;
	rc = tune_report_html(t->lake, t->report, t->names, "/tune", &tuned, file.stream, why, sizeof(why));
	return html_end("tune", path, &file, rc, why);
}

static int print(const struct tune_options *o, const struct tuned *t)
{
	const struct paint_style style = { .width = (unsigned)o->width };
	size_t n_emitted = 0;
	int rc;

	if (o->html)
		return write_html(o->html, t);
	if (o->emit)
		rc = tune_emit(t->report, t->analysis, &t->history, o->emit, stdout, &n_emitted);
	else if (o->json)
		rc = tune_json(t->report, t->analysis, &t->history, &t->price, stdout);
	else
		rc = tune_text(t->report, t->analysis, &t->history, &t->price, stdout, &style);
	if (rc)
		return skep_fail("tune", SKEP_EXIT_RUNTIME, "cannot write the answer: %s", strerror(-rc));
	if (o->emit && !n_emitted)
		return skep_fail("tune", SKEP_EXIT_RUNTIME, "run %s has no task of which skep knows what to ask for: none has ended "
				 "well, or none has a name that %s knows", t->report->run.id, o->emit);
	return SKEP_EXIT_OK;
}

int64_t tune_worth(const struct tune_price *p, const struct finding_saving *s)
{
	/* a saving in CPU time is in the reserved cores as well, if it has both */
	const double amounts[PRICE_RESOURCES] = { (s->core_s > s->cpu_s ? s->core_s : s->cpu_s) * 1e9, s->byte_s / 1024,
						  s->gpu_s * 1e9 };
	int64_t worth;

	return p->price && price_of_uses(p->price, &p->has, amounts, &worth) == 0 ? worth : -1;
}

/* The price that held for the run's host. 0, with no price if there is none; or an error of the lake. */
static int price_of_run(struct lake *lake, const struct lake_run *run, struct tune_price *p, char *why, size_t why_size)
{
	struct price_machine machine = { .host = run->host, .instance_type = "", .has = { .cores = run->cpus } };
	const uint64_t end = run->end_ns > run->start_ns ? run->end_ns : run->start_ns + 1;
	const struct lake_claims_query query = { .since_ns = end - 1, .until_ns = end };
	struct lake_claims *claims = NULL;
	int rc = p->table ? lake_claims(lake, &query, &claims, why, why_size) : 0;

	for (size_t i = 0; rc == 0 && claims && i < claims->n_machines; i++) {
		if (strcmp(claims->machines[i].host, run->host) != 0)
			continue;
		machine.instance_type = claims->machines[i].instance_type;
		machine.has.memory_kib = claims->machines[i].memory_bytes / 1024;
	}
	p->price = p->table && rc == 0 ? price_find(p->table, &machine, (int64_t)run->start_ns) : NULL;
	if (p->price)
		p->has = price_capacity(p->price, &machine);
	lake_claims_free(claims);
	return rc;
}

/* Reads the earlier runs, and analyses. The caller frees both, the analysis first: it points into the history. */
static int analyse(struct lake *lake, const struct lake_report *report, struct engine_names *names,
		   const struct analysis_setting *settings, size_t n, struct tune_history *ret_history,
		   struct analysis **ret, char *why, size_t room)
{
	int rc = tune_history_read(lake, report, names, ret_history, why, room);

	if (rc == 0) {
		rc = analysis_new_with(report, NULL, ret_history->runs, settings, n, ret);
		if (rc)
			snprintf(why, room, "out of memory");
	}
	return rc;
}

int tune_report_json(struct lake *lake, const struct lake_report *report, struct engine_names *names, FILE *out,
		     char *why, size_t room)
{
	struct tune_history history = { 0 };
	const struct tune_price none = { 0 };
	struct analysis *analysis = NULL;
	struct settings settings = { 0 };
	int rc = settings_read("show", NULL, analysis_setting_known, &settings) == SKEP_EXIT_OK ? 0 : -EINVAL;

	if (rc)
		snprintf(why, room, "skep.conf has an error");
	else
		rc = analyse(lake, report, names, settings.list, settings.n, &history, &analysis, why, room);
	if (rc == 0) {
		rc = tune_json(report, analysis, &history, &none, out);
		if (rc)
			snprintf(why, room, "%s", strerror(-rc));
	}
	analysis_free(analysis);
	analysis_history_free(history.runs);
	settings_free(&settings);
	return rc;
}

static int answer(const struct tune_options *o, const char *which, const struct analysis_setting *settings, size_t n)
{
	struct tuned t = { 0 };
	char why[1024] = "";
	int rc, status = price_file_open("tune", o->prices, &t.price.table);

	if (status == SKEP_EXIT_OK)
		status = question_open("tune", o->lake, which, 0, &t.lake);
	if (status) {
		price_table_free(t.price.table);
		return status;
	}
	rc = read_run(t.lake, which, &t.report, why, sizeof(why));
	if (rc == 0 && !o->no_files)
		t.names = engine_names_add(t.report);
	if (rc == 0)
		rc = price_of_run(t.lake, &t.report->run, &t.price, why, sizeof(why));
	if (rc == 0)
		rc = analyse(t.lake, t.report, t.names, settings, n, &t.history, &t.analysis, why, sizeof(why));
	status = rc ? skep_fail("tune", SKEP_EXIT_RUNTIME, "%s", why) : print(o, &t);
	if (status == SKEP_EXIT_OK)
		status = question_partial("tune", t.lake, t.report);
	analysis_free(t.analysis);
	analysis_history_free(t.history.runs);
	price_table_free(t.price.table);
	lake_report_free(t.report);
	engine_names_free(t.names);
	lake_close(t.lake);
	return status;
}

static int run_tune(int argc, char **argv)
{
	struct tune_options o = { 0 };
	struct settings settings = { 0 };
	int status = command_parse(&cmd_tune, argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc - optind > 1)
		status = skep_usage("tune", "unexpected argument '%s': one run at a time", argv[optind + 1]);
	else if (o.list && optind < argc)
		status = skep_usage("tune", "unexpected argument '%s': --list looks at no run", argv[optind]);
	else if (!!o.emit + o.json + !!o.html > 1)
		status = skep_usage("tune", "--emit, --json and --html: one of them");
	else if (o.list && o.html)
		status = skep_usage("tune", "--list and --html: one of them");
	else if (o.html && html_possible("tune", o.html) != SKEP_EXIT_OK)
		status = SKEP_EXIT_RUNTIME;
	else if (o.emit && !tune_emit_known(o.emit))
		status = skep_usage("tune", "--emit %s: not one of snakemake, nextflow, sbatch, k8s", o.emit);
	else if (o.list)
		status = kinds_list("tune", analysis_kinds, analysis_gates, o.json, (unsigned)o.width);
	else
		status = settings_read("tune", o.set, analysis_setting_known, &settings);
	if (status == SKEP_EXIT_OK && !o.list)
		status = answer(&o, optind < argc ? argv[optind] : "last", settings.list, settings.n);
	settings_free(&settings);
	free(o.set);
	return status;
}
