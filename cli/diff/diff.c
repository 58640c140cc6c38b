/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/diff/diff.c - `skep diff`: what changed between two runs, or between a run and the earlier ones of its pipeline.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/question.h"
#include "cli/base/skep.h"
#include "cli/diff/diff_print.h"
#include "cli/report/engine_names.h"
#include "cli/web/html.h"

#define HISTORY_RUNS      20
#define HISTORY_PROCESSES 300000 /* about 400 MB */
#define HISTORY_LISTED    2000   /* runs of which those in a folder are a history */

struct diff_options {
	unsigned long width;
	const char *lake, *html;
	bool json, all, no_files;
};

static const struct command_option options[] = {
	{ "all", .help = "print the tasks, tools and figures that do not differ, too", COMMAND_AT(struct diff_options, all) },
	{ "no-files", .help = "do not read your engine's own files for names of tasks",
	  COMMAND_AT(struct diff_options, no_files) },
	{ "json", .help = "print the answer as JSON, for programs", COMMAND_AT(struct diff_options, json) },
	{ "html", .value = "FILE", .help = "write the comparison as a page for a browser, in one file; -: to the output",
	  COMMAND_AT(struct diff_options, html) },
	{ "width", .value = "N", .help = "columns of the text (80 to 400; default: the terminal's)", .min = 80,
	  .max = 400, COMMAND_AT(struct diff_options, width) },
	QUESTION_LAKE(struct diff_options, lake),
	{ 0 },
};

static int run_diff(int argc, char **argv);

const struct command cmd_diff = {
	.name = "diff",
	.operands = "A B | [RUN|last]",
	.summary = "say what changed between two runs, or between a run and its pipeline's history",
	.about = "A, the earlier side, and B are runs: an id, the beginning of an id, a name (skep takes the newest run with the "
		 "name), or `last`. One RUN is compared with its history: up to 20 earlier runs of its pipeline that succeeded, with "
		 "300,000 processes together at most. Without a pipeline's name, these are the runs of its tool in its folder.\n",
	.options = options,
	.notes =
		"A line needs a difference of 5 % and of 1 s, 32 MiB or 2 processes; seconds of a task are summed over its "
		"executions. Tasks come first that got significantly worse. Figures of a task are medians of its executions that "
		"ended well, its waits means of all of them; a tool has its sums over the run. CPU time is quieter than wall "
		"time.\n"
		"Tasks with 4 executions a side or more are tested in CPU time, wall time and memory: `p` is the exact one of Mann "
		"and Whitney, adjusted for the number of tasks (Holm), and the interval is the one of Hodges and Lehmann, 95 %. "
		"Against a history of 4 runs or more, the usual range is its median and 3 robust standard deviations. `~` means not "
		"significant, or too small. All else is observed, not tested.\n"
		"Wall time is the lifetime of the processes without children, divided by how many of them ran at once. skep "
		"divides its change into these parts: CPU, run queue (ready, waiting for a CPU), storage wait (with "
		"sysctl kernel.task_delayacct=1), asleep, and more or fewer at once.\n"
		"The exit status is 0 also when the runs differ.\n",
	.most = -1,
	.run = run_diff,
};

/* A run's report; its names are those of the engine's files if there are any. */
struct side {
	struct lake_report *report;
	struct engine_names *names;
	const char **recorded; /* of each task the name without these files */
};

struct sides {
	struct side b, a[HISTORY_RUNS];
	size_t n_a;
	int partial; /* the exit status if the list of earlier runs lacks a file */
};

static int side_names(struct side *s)
{
	s->recorded = calloc(s->report->n_tasks + 1, sizeof(*s->recorded));
	if (!s->recorded)
		return skep_fail("diff", SKEP_EXIT_RUNTIME, "out of memory");
	for (size_t i = 0; i < s->report->n_tasks; i++)
		s->recorded[i] = s->report->tasks[i].task;
	s->names = engine_names_add(s->report);
	return SKEP_EXIT_OK;
}

/* A user who may not read the lake gets a copy of one run: so each run has a lake of its own. */
static int side_read(const struct diff_options *o, const char *which, struct side *ret)
{
	struct lake *lake = NULL;
	char why[1024] = "";
	int status = question_open("diff", o->lake, which, 0, &lake);

	if (status)
		return status;
	if (lake_report(lake, which, &ret->report, why, sizeof(why)) != 0)
		status = skep_fail("diff", SKEP_EXIT_RUNTIME, "%s", why);
	else if (!o->no_files)
		status = side_names(ret);
	lake_close(lake);
	return status;
}

/* The rule of all tasks that were recorded with the name of this program. */
struct rule {
	const char *program, *name;
	bool ambiguous;
};

static struct rule *rule_of(struct rule *rules, size_t n, const char *program)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(rules[i].program, program) == 0)
			return &rules[i];
	return NULL;
}

static bool is_from_file(const struct lake_task *t)
{
	return strcmp(t->name_source, "file") == 0;
}

/*
 * Snakemake overwrites the files of an earlier run that made the same outputs, and the tasks of that run have the names
 * of their programs. Where all tasks of a program have one rule in the other run, they get the rule's name.
 */
static void names_carry(const struct side *from, const struct side *to)
{
	struct rule *rules = from->names ? calloc(from->report->n_tasks + 1, sizeof(*rules)) : NULL;
	size_t n = 0;

	for (size_t i = 0; rules && i < from->report->n_tasks; i++) {
		const struct lake_task *t = &from->report->tasks[i];
		struct rule *rule = is_from_file(t) ? rule_of(rules, n, from->recorded[i]) : NULL;

		if (rule)
			rule->ambiguous |= strcmp(rule->name, t->task) != 0;
		else if (is_from_file(t))
			rules[n++] = (struct rule){ from->recorded[i], t->task, false };
	}
	for (size_t i = 0; n && i < to->report->n_tasks; i++) {
		struct lake_task *t = &to->report->tasks[i];
		const struct rule *rule = is_from_file(t) ? NULL : rule_of(rules, n, t->task);

		if (rule && !rule->ambiguous && strcmp(t->engine, from->report->run.engine) == 0)
			t->task = rule->name;
	}
	free(rules);
}

static void side_free(struct side *s)
{
	lake_report_free(s->report);
	engine_names_free(s->names);
	free(s->recorded);
}

/* Has someone named its pipeline? `skep run` takes the name of the tool otherwise. */
static bool has_pipeline(const struct lake_report *r)
{
	for (size_t i = 0; i < r->n_processes; i++)
		if (strcmp(r->processes[i].upid, r->run.root_upid) == 0 &&
		    strcmp(r->processes[i].kind->tool, r->run.pipeline) == 0)
			return false;
	return *r->run.pipeline;
}

/* Without a pipeline the folder counts: make does another work in each. */
static bool is_earlier(const struct lake_run *run, const struct lake_run *of, bool named)
{
	if (strcmp(run->id, of->id) == 0 || !run->end_ns || strcmp(run->pipeline, of->pipeline) != 0)
		return false;
	if (named)
		return true;
	return strcmp(run->cwd, of->cwd) == 0 && strcmp(run->engine, of->engine) == 0 &&
	       (*of->pipeline || strcmp(run->name, of->name) == 0);
}

static int history_read(const struct diff_options *o, struct sides *s)
{
	const struct lake_run *run = &s->b.report->run;
	const bool named = has_pipeline(s->b.report);
	const struct lake_runs_query query = {
		.pipeline = *run->pipeline ? run->pipeline : NULL,
		.limit = named ? HISTORY_RUNS + 1 : HISTORY_LISTED,
		.outcome = LAKE_OK,
		.until_ns = run->start_ns,
	};
	struct lake *lake = NULL;
	struct lake_runs *runs = NULL;
	uint64_t processes = 0;
	char why[512] = "";
	int status = question_open("diff", o->lake, NULL, 0, &lake);

	if (status)
		return status;
	if (lake_runs(lake, &query, &runs, why, sizeof(why)) != 0)
		status = skep_fail("diff", SKEP_EXIT_RUNTIME, "%s", why);
	else
		s->partial = question_partial("diff", lake, NULL);
	lake_close(lake);
	for (size_t i = 0; status == SKEP_EXIT_OK && i < runs->n && s->n_a < HISTORY_RUNS; i++) {
		if (!is_earlier(&runs->runs[i], run, named))
			continue;
		processes += runs->runs[i].totals.processes;
		if (s->n_a && processes > HISTORY_PROCESSES)
			break;
		status = side_read(o, runs->runs[i].id, &s->a[s->n_a]);
		s->n_a += status == SKEP_EXIT_OK;
	}
	lake_runs_free(runs);
	if (status == SKEP_EXIT_OK && !s->n_a)
		return skep_fail("diff", SKEP_EXIT_RUNTIME,
				 "run %s has no history: no earlier run of %s succeeded%s; name two runs: skep diff A B", run->id,
				 *run->pipeline ? run->pipeline : run->name, named ? "" : " in its folder");
	return status;
}

static int write_answer(const void *arg, FILE *out, char *why, size_t room)
{
	(void)why;
	(void)room;
	return diff_print_json(arg, out);
}

/* Writes the page of the comparison. SKEP_EXIT_OK, or an exit status after a message. */
static int write_html(const char *path, const struct diff_answer *a, bool history)
{
	const char *of_a = history ? "" : a->before[0]->run.id, *of_b = a->after->run.id;
	char page[256], asked[256], why[1024] = "";
	const struct html_answer answer = { asked, write_answer, a };
	struct out_file file;
	int status = html_begin("diff", path, &file);

	if (status)
		return status;
	snprintf(page, sizeof(page), "#/diff/%s%s%s", of_a, *of_a ? "/" : "", of_b);
	snprintf(asked, sizeof(asked), "/api/diff?%s%s%sb=%s", *of_a ? "a=" : "", of_a, *of_a ? "&" : "", of_b);
	return html_end("diff", path, &file, html_write(page, &answer, 1, file.stream, why, sizeof(why)), why);
}

/* SKEP_EXIT_OK, or an exit status after a message. */
static int print(const struct diff_options *o, const struct diff_answer *a, bool history)
{
	const struct paint_style style = { .width = (unsigned)o->width };
	int rc;

	if (o->html)
		return write_html(o->html, a, history);
	rc = o->json ? diff_print_json(a, stdout) : diff_print_text(a, stdout, &style);
	return rc ? skep_fail("diff", SKEP_EXIT_RUNTIME, "cannot write the answer: %s", strerror(-rc)) : SKEP_EXIT_OK;
}

static int answer(const struct diff_options *o, const struct sides *s, bool history)
{
	struct lake_report *before[HISTORY_RUNS];
	struct diff_answer a = { .before = before, .n_before = s->n_a, .after = s->b.report, .all = o->all };
	struct diff *diff = NULL;
	int status;

	for (size_t i = 0; i < s->n_a; i++) {
		names_carry(&s->b, &s->a[i]);
		names_carry(&s->a[i], &s->b);
		before[i] = s->a[i].report;
	}
	if (diff_new((const struct lake_report *const *)before, s->n_a, history, s->b.report, &diff) != 0)
		return skep_fail("diff", SKEP_EXIT_RUNTIME, "out of memory");
	a.diff = diff;
	status = print(o, &a, history);
	diff_free(diff);
	return status;
}

static int run_diff(int argc, char **argv)
{
	struct diff_options o = { 0 };
	struct sides s = { 0 };
	int status = command_parse(&cmd_diff, argc, argv, &o), n = argc - optind;

	if (status >= 0)
		return status;
	if (n > 2)
		return skep_usage("diff", "unexpected argument '%s': two runs at a time", argv[optind + 2]);
	if (o.html && o.json)
		return skep_usage("diff", "--html and --json: one of them");
	if (o.html && html_possible("diff", o.html) != SKEP_EXIT_OK)
		return SKEP_EXIT_RUNTIME;
	status = side_read(&o, n ? argv[argc - 1] : "last", &s.b);
	if (status == SKEP_EXIT_OK && n == 2) {
		status = side_read(&o, argv[optind], &s.a[0]);
		s.n_a = status == SKEP_EXIT_OK;
	} else if (status == SKEP_EXIT_OK) {
		status = history_read(&o, &s);
	}
	if (status == SKEP_EXIT_OK)
		status = answer(&o, &s, n < 2);
	if (status == SKEP_EXIT_OK)
		status = s.partial;
	side_free(&s.b);
	for (size_t i = 0; i < s.n_a; i++)
		side_free(&s.a[i]);
	return status;
}
