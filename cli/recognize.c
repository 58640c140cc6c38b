/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/recognize.c - `skep recognize`: says why a process is in its run and task, and checks tables of recognizers.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/answer.h"
#include "cli/base/ctl.h"
#include "cli/base/json_out.h"
#include "cli/base/paint.h"
#include "cli/base/question.h"
#include "cli/base/skep.h"
#include "cli/report/recognized.h"
#include "core/identify/recognizer.h"

#define ANSWER_MS 10000

struct recognize_options {
	bool check, list, json;
	const char *socket, *lake;
};

static const struct command_option options[] = {
	{ "check", .help = "check tables (files or folders) and run their tests, with the built-in ones",
	  COMMAND_AT(struct recognize_options, check) },
	{ "list", .help = "list the recognizers: built in, and of the named tables",
	  COMMAND_AT(struct recognize_options, list) },
	ANSWER_JSON(struct recognize_options, json),
	ANSWER_SOCKET(struct recognize_options, socket),
	QUESTION_LAKE(struct recognize_options, lake),
	{ 0 },
};

static int run_recognize(int argc, char **argv);

const struct command cmd_recognize = {
	.name = "recognize",
	.operands = "PID|RUN | --check|--list [TABLE...]",
	.summary = "say which recognizers put processes into their run and task",
	.about = "RUN is a run's id, the beginning of an id, a name or `last`, as for skep show; of a live run skep "
		 "recognize prints each live process, of an ended run what the lake has of each task and process. "
		 "Digits alone are a PID.\n",
	.options = options,
	.notes =
		"Recognizers say in tables which program begins a run or a task of which workflow engine, scheduler or "
		"launcher (docs: reference/recognizers.md). A table of your own: \"recognizers\" in skepd.conf.\n",
	.most = -1,
	.run = run_recognize,
};

/* ---- tables ------------------------------------------------------------------------ */

static int tables(const struct recognize_options *o, const char *const *more)
{
	struct recognizers *r;
	struct tools *tools;
	struct diag diag;
	size_t n = 0, failed;

	diag_init(&diag);
	tools = tools_new(NULL, &diag);
	r = tools ? recognizers_new(more, &diag) : NULL;
	if (r && o->check)
		n = recognizers_test(r, tools, false, &diag);
	failed = diag.n_errors;
	diag_print(&diag, stderr);
	for (size_t i = 0; r && o->list && i < recognizers_count(r); i++) {
		const struct recognizer *e = recognizers_at(r, i);
		unsigned line;
		const char *file = recognizer_file(e, &line);

		printf("%-16s %-10s %s:%u\n", recognizer_engine(e), recognizer_class_name(recognizer_class(e)), file,
		       line);
	}
	if (r && o->list) {
		printf("variables read where a run or task can begin:");
		for (const char *const *name = recognizers_environ(r); *name; name++)
			printf(" %s", *name);
		putchar('\n');
	}
	if (r && o->check && !failed)
		printf("%zu recognizers, %zu tests: all hold\n", recognizers_count(r), n);
	recognizers_unref(r);
	tools_free(tools);
	diag_clear(&diag);
	return failed ? SKEP_EXIT_CONFIG : SKEP_EXIT_OK;
}

/* ---- a process --------------------------------------------------------------------- */

static void line(const struct paint *p, const char *title)
{
	paint(p, INK_DIM, "%-10s", title);
}

static void print_run(const struct paint *p, const char *title, const json_t *run)
{
	line(p, title);
	if (!json_is_object(run)) {
		fprintf(p->out, "none\n");
		return;
	}
	answer_print(p, INK_BOLD, answer_text(run, "id"));
	fprintf(p->out, "  ");
	answer_print(p, INK_NONE, answer_text(run, "name"));
	fprintf(p->out, "  (%s", answer_text(run, "origin"));
	if (*answer_text(run, "pipeline")) {
		fprintf(p->out, ", pipeline ");
		answer_print(p, INK_NONE, answer_text(run, "pipeline"));
	}
	fprintf(p->out, ")\n");
}

static void print_why(const struct paint *p, const json_t *why)
{
	if (!json_is_object(why))
		return;
	line(p, "");
	answer_print(p, INK_BOLD, answer_text(why, "rule"));
	fprintf(p->out, ": ");
	answer_print(p, INK_NONE, answer_text(why, "text"));
	fputc('\n', p->out);
}

static void print_texts(const struct paint *p, const char *title, const json_t *list)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		line(p, i == 0 ? title : "");
		answer_print(p, INK_NONE, json_string_value(one) ? json_string_value(one) : "");
		fputc('\n', p->out);
	}
}

static void print_task(const struct paint *p, const json_t *task, const json_t *why, const char *step)
{
	line(p, "task");
	if (!json_is_object(task)) {
		fprintf(p->out, "none\n");
		print_why(p, why);
		return;
	}
	answer_print(p, INK_BOLD, answer_text(task, "name"));
	if (*answer_text(task, "sample")) {
		fprintf(p->out, " ");
		answer_print(p, INK_NONE, answer_text(task, "sample"));
	}
	if (answer_u64(task, "attempt") > 1)
		fprintf(p->out, ", attempt %llu", (unsigned long long)answer_u64(task, "attempt"));
	fprintf(p->out, "  (its name is from: %s)\n", answer_text(task, "name_source"));
	print_why(p, why);
	if (*step) {
		line(p, "step");
		answer_print(p, INK_NONE, step);
		fputc('\n', p->out);
	}
}

static void print_scope(const struct paint *p, const json_t *s, bool first)
{
	line(p, first ? "engines" : "");
	answer_print(p, INK_BOLD, answer_text(s, "engine"));
	fprintf(p->out, " (%s) process %llu", answer_text(s, "class"), (unsigned long long)answer_u64(s, "pid"));
	if (*answer_text(s, "cwd")) {
		fprintf(p->out, " in ");
		answer_print(p, INK_NONE, answer_text(s, "cwd"));
	}
	fprintf(p->out, "%s%s, by ", *answer_text(s, "run") ? ", began a run" : "",
		answer_true(s, "begins_tasks") ? ", begins the tasks" : "");
	answer_print(p, INK_DIM, answer_text(s, "file"));
	fprintf(p->out, ":%llu %s\n", (unsigned long long)answer_u64(s, "line"), answer_text(s, "mark"));
}

static void print_process(const struct paint *p, const json_t *o, bool with_run)
{
	const json_t *list = json_object_get(o, "scopes"), *one;
	size_t i;

	line(p, "process");
	fprintf(p->out, "%llu  ", (unsigned long long)answer_u64(o, "pid"));
	answer_print(p, INK_NONE, answer_text(o, "tool"));
	fputc('\n', p->out);
	if (with_run)
		print_run(p, "run", json_object_get(o, "run"));
	print_why(p, json_object_get(o, "why_run"));
	print_task(p, json_object_get(o, "task"), json_object_get(o, "why_task"), answer_text(o, "step"));
	json_array_foreach(list, i, one)
		print_scope(p, one, i == 0);
	list = json_object_get(o, "variables");
	line(p, "read");
	fprintf(p->out, "%s", json_array_size(list) ? "the variables" : "no variable");
	json_array_foreach(list, i, one) {
		fputc(' ', p->out);
		answer_print(p, INK_NONE, json_string_value(one) ? json_string_value(one) : "");
	}
	fputc('\n', p->out);
	print_texts(p, "files", json_object_get(json_object_get(o, "task"), "files"));
	print_run(p, "without", json_object_get(o, "without"));
}

static int print(const json_t *o, FILE *out, const struct paint_style *style)
{
	const json_t *list = json_object_get(o, "processes"), *one;
	struct paint p;
	size_t i;

	paint_init(&p, out, style);
	if (!list)
		print_process(&p, o, true);
	else
		print_run(&p, "run", json_object_get(o, "run"));
	json_array_foreach(list, i, one) {
		fputc('\n', out);
		print_process(&p, one, false);
	}
	if (answer_u64(o, "left_off"))
		fprintf(out, "\n%llu processes more: skep recognize PID\n",
			(unsigned long long)answer_u64(o, "left_off"));
	return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}

static int answer(const struct recognize_options *o, json_t *found)
{
	int err = o->json ? json_out_write(json_incref(found), stdout) : print(found, stdout, NULL);

	json_decref(found);
	return err ? skep_fail("recognize", SKEP_EXIT_RUNTIME, "cannot write the answer") : SKEP_EXIT_OK;
}

static int process(const struct recognize_options *o, unsigned long pid)
{
	json_t *found = NULL;
	struct ctl *ctl = NULL;
	int status = ctl_open("recognize", o->socket, &ctl);

	if (status == SKEP_EXIT_OK)
		status = ctl_ask("recognize", ctl,
				 json_pack("{s:s, s:I}", "request", "recognize", "pid", (json_int_t)pid), &found);
	ctl_close(ctl);
	return status == SKEP_EXIT_OK ? answer(o, found) : status;
}

/* ---- a run ------------------------------------------------------------------------- */

/* skepd's answer about a live run; NULL: no skepd answers, or it has no live run of this name. */
static json_t *live_run(const struct recognize_options *o, const char *which)
{
	json_t *found = NULL;
	struct ctl *ctl = NULL;

	if (!ctl_try_own(o->socket, &ctl))
		return NULL;
	if (ctl_send(ctl, json_pack("{s:s, s:s}", "request", "recognize", "run", which)) < 0 ||
	    ctl_receive(ctl, ANSWER_MS, &found) < 0 || !json_is_true(json_object_get(found, "ok"))) {
		json_decref(found);
		found = NULL;
	}
	ctl_close(ctl);
	return found;
}

static int print_recorded(const struct lake_report *r)
{
	const char *engine = r->run.engine;
	json_t *run = json_pack("{s:s, s:o, s:o, s:s}", "id", r->run.id, "name", json_out_string(r->run.name), "pipeline",
				json_out_string(r->run.pipeline), "origin", r->run.origin);
	struct paint p;

	if (!run)
		return -ENOMEM;
	paint_init(&p, stdout, NULL);
	print_run(&p, "run", run);
	json_decref(run);
	line(&p, "engine");
	printf("%s\n", *engine ? engine : "none: the run of a session, or of skep run");
	return recognized_print(r, stdout, NULL);
}

static int run_of(const struct recognize_options *o, const char *which)
{
	struct lake_report *report = NULL;
	struct lake *lake = NULL;
	char why[1024] = "";
	json_t *found = live_run(o, which);
	int status;

	if (found)
		return answer(o, found);
	status = question_open("recognize", o->lake, which, 0, &lake);
	if (status)
		return status;
	if (lake_report(lake, which, &report, why, sizeof(why)) < 0)
		status = skep_fail("recognize", SKEP_EXIT_RUNTIME, "no live run '%s', and %s", which, why);
	else if (o->json ? json_out_write(recognized_json(report), stdout) : print_recorded(report))
		status = skep_fail("recognize", SKEP_EXIT_RUNTIME, "cannot write the answer");
	lake_report_free(report);
	lake_close(lake);
	return status;
}

static int run_recognize(int argc, char **argv)
{
	struct recognize_options o = { 0 };
	unsigned long pid = 0;
	int status = command_parse(&cmd_recognize, argc, argv, &o);

	if (status >= 0)
		return status;
	if (o.check || o.list)
		return tables(&o, (const char *const *)argv + optind);
	if (argc - optind != 1)
		return skep_usage("recognize", "give one process id or run, or --check, or --list");
	if (argv[optind][strspn(argv[optind], "0123456789")])
		return run_of(&o, argv[optind]);
	if (command_number(argv[optind], 1, INT_MAX, &pid))
		return skep_usage("recognize", "'%s' is not a process id", argv[optind]);
	return process(&o, pid);
}
