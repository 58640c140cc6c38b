/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/show.c - `skep show`: prints the report of one run.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/out_file.h"
#include "cli/base/question.h"
#include "cli/base/skep.h"
#include "cli/report/engine_names.h"
#include "cli/report/flame.h"
#include "cli/report/report.h"
#include "cli/report/trace.h"
#include "cli/runs.h"
#include "cli/tune/tune.h"
#include "cli/web/html.h"
#include "lake/lake.h"

#define WITHIN_MOST 10 /* rows of runs that began in the run */

struct show_options {
	unsigned long width;
	const char *lake, *trace, *flame, *flame_of, *html;
	bool json, columns, summary, processes, tasks, no_files;
};

static const struct command_option options[] = {
	{ "tasks", .help = "a row for each task, also where tasks of one name share one",
	  COMMAND_AT(struct show_options, tasks) },
	{ "processes", .help = "every process as well, as a tree", COMMAND_AT(struct show_options, processes) },
	{ "no-files", .help = "do not read your engine's own files for names and requests of tasks",
	  COMMAND_AT(struct show_options, no_files) },
	{ "json", .help = "print the whole report as JSON, for programs", COMMAND_AT(struct show_options, json) },
	{ "columns", .help = "with --json: processes and samples as columns, {\"pid\": [1, 2]}: less than half of the text",
	  COMMAND_AT(struct show_options, columns) },
	{ "summary", .help = "with --json: without processes and samples", COMMAND_AT(struct show_options, summary) },
	{ "html", .value = "FILE", .help = "write the run as a page for a browser, in one file; -: to the output",
	  COMMAND_AT(struct show_options, html) },
	{ "trace", .value = "FILE", .help = "write a trace for ui.perfetto.dev: tasks, programs, cores, memory; -: to the output",
	  COMMAND_AT(struct show_options, trace) },
	{ "flame", .value = "FILE", .help = "write folded stacks of tasks and tools, for speedscope or flamegraph.pl; -: to the "
	  "output", COMMAND_AT(struct show_options, flame) },
	{ "flame-of", .value = "TIME", .help = "what --flame adds up: cpu (default), queued (ready to run, without a CPU) or "
	  "blocked (waiting for storage)", COMMAND_AT(struct show_options, flame_of) },
	{ "width", .value = "N", .help = "columns of the text (80 to 400; default: the terminal's)", .min = 80,
	  .max = 400, COMMAND_AT(struct show_options, width) },
	QUESTION_LAKE(struct show_options, lake),
	{ 0 },
};

static int run_show(int argc, char **argv);

const struct command cmd_show = {
	.name = "show",
	.operands = "[RUN|last]",
	.summary = "report a run: its tasks and tools, their cost and times, its failures",
	.about = "RUN is a run's id, the beginning of an id, a name (skep shows the newest run with the name), or "
		 "`last`, the default. `skep runs` lists the runs.\n",
	.options = options,
	.notes =
		"How to read it: `try` is a task's attempt, `asked` the memory that its engine or scheduler was asked for; `cores` is CPU time by wall time, while the task or tool ran; `peak` is the same in the "
		"busiest sample; `RSS peak` is the peak of the largest process; memory of all processes is the largest sum at a sample, of PSS "
		"(a page divided among the processes that map it) or, where skep did not measure that, of RSS (a page "
		"counted in each); between samples more may have been in use; `read` and `written` are bytes of "
		"storage, without bytes from caches; `queued` is the time in which the tool was ready to run and "
		"waited for a CPU. NO_COLOR turns colours off.\n"
		"A shell command of Snakemake does not show its rule: of your own runs skep reads the rules from "
		".snakemake/metadata, which Snakemake writes at the end of a job.\n"
		"A trace has the run, its tasks and their programs with arguments, ends and costs, and counters of its samples; "
		"a stack of --flame is the run, the task, and the chain of tools, each time in ns.\n",
	.most = -1,
	.run = run_show,
};

/* Writes the report to a file, or to the output. 0 or an exit status. */
static int write_to(const char *path, const struct lake_report *report, bool trace, enum flame_of of)
{
	struct out_file out;
	int rc = out_file_open(path, &out);

	if (rc)
		return skep_fail("show", SKEP_EXIT_RUNTIME, "%s: %s", path, strerror(-rc));
	rc = out_file_close(&out, trace ? trace_print(report, out.stream) : flame_print(report, of, out.stream));
	return rc ? skep_fail("show", SKEP_EXIT_RUNTIME, "cannot write %s: %s", path, strerror(-rc)) : SKEP_EXIT_OK;
}

/* Writes the page to a file, or to the output. 0 or an exit status. */
static int write_html(const char *path, struct lake *lake, const struct lake_report *report, struct engine_names *names)
{
	struct out_file out;
	char why[1024] = "";
	int status = html_begin("show", path, &out);

	if (status)
		return status;
	return html_end("show", path, &out, tune_report_html(lake, report, names, "", NULL, out.stream, why, sizeof(why)), why);
}

/*
 * Prints the runs that began in the run: its own tables lack their processes and costs.  Of a lake with a damaged file
 * prints the runs that can be read.
 */
static void print_within(struct lake *lake, const struct lake_report *report, unsigned width)
{
	const struct lake_runs_query query = { .within = report->run.id, .sessions = true, .limit = WITHIN_MOST + 1 };
	struct lake_runs *runs = NULL;
	char why[512];
	bool more;

	if (lake_runs(lake, &query, &runs, why, sizeof(why)) != 0)
		return;
	more = runs->n > WITHIN_MOST;
	runs->n -= more;
	if (runs->n) {
		puts("\nRuns that began in this run, each with a report of its own:");
		runs_print(runs, stdout, &(struct paint_style){ .width = width });
	}
	if (more)
		printf("and more: skep runs --within %s --limit 0\n", report->run.id);
	lake_runs_free(runs);
}

static int print(const struct lake_report *report, const struct show_options *o, enum flame_of of)
{
	const struct paint_style style = { .width = (unsigned)o->width, .processes = o->processes, .tasks = o->tasks };
	const enum report_json_form form =
		o->columns ? REPORT_JSON_COLUMNS : o->summary ? REPORT_JSON_SUMMARY : REPORT_JSON_WHOLE;
	int status = SKEP_EXIT_OK, rc;

	if (o->trace)
		status = write_to(o->trace, report, true, of);
	if (o->flame && status == SKEP_EXIT_OK)
		status = write_to(o->flame, report, false, of);
	if (o->trace || o->flame)
		return status;
	rc = o->json ? report_json_print_as(report, form, stdout) : report_print(report, stdout, &style);
	return rc ? skep_fail("show", SKEP_EXIT_RUNTIME, "cannot write the report: %s", strerror(-rc)) : SKEP_EXIT_OK;
}

static int answer(const char *which, const struct show_options *o, enum flame_of of)
{
	struct lake *lake = NULL;
	struct lake_report *report = NULL;
	struct engine_names *names = NULL;
	char why[1024] = "";
	int rc, status;

	status = question_open("show", o->lake, which, 0, &lake);
	if (status)
		return status;
	if (!o->json && !o->html && !o->trace && !o->flame && !o->processes)
		lake_few_arguments(lake);
	rc = lake_report(lake, which, &report, why, sizeof(why));
	if (!rc && !o->no_files)
		names = engine_names_add(report);
	if (rc)
		status = skep_fail("show", SKEP_EXIT_RUNTIME, "%s", why);
	else
		status = o->html ? write_html(o->html, lake, report, names) : print(report, o, of);
	if (status == SKEP_EXIT_OK) {
		status = question_partial("show", lake, report);
		if (!o->json && !o->html && !o->trace && !o->flame)
			print_within(lake, report, (unsigned)o->width);
	}
	lake_report_free(report);
	engine_names_free(names);
	lake_close(lake);
	return status;
}

static int run_show(int argc, char **argv)
{
	struct show_options o = { 0 };
	int status = command_parse(&cmd_show, argc, argv, &o);
	enum flame_of of = FLAME_CPU;

	if (status >= 0)
		return status;
	if (argc - optind > 1)
		return skep_usage("show", "unexpected argument '%s': one run at a time", argv[optind + 1]);
	if (o.flame_of && (!o.flame || flame_of_name(o.flame_of, &of) != 0))
		return skep_usage("show", "--flame-of %s: %s", o.flame_of,
				  o.flame ? "not one of cpu, queued, blocked" : "only with --flame FILE");
	if (!!o.html + o.json + (o.trace || o.flame) > 1)
		return skep_usage("show", "--html, --json, and --trace or --flame: one of them");
	if ((o.columns || o.summary) && !o.json)
		return skep_usage("show", "--%s: only with --json", o.columns ? "columns" : "summary");
	if (o.columns && o.summary)
		return skep_usage("show", "--columns and --summary: one of them");
	status = o.html ? html_possible("show", o.html) : SKEP_EXIT_OK;
	if (status)
		return status;
	if (o.trace && strcmp(o.trace, "-") == 0 && (o.flame || isatty(STDOUT_FILENO)))
		return skep_usage("show", "--trace -: %s", o.flame ? "name a file, beside --flame" :
				  "a trace is no text for a terminal; name a file, or use a pipe");
	return answer(optind < argc ? argv[optind] : "last", &o, of);
}
