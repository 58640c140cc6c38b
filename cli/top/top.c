/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/top.c - `skep top`: the processes of now or of a past moment, with their cost since their run began.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/answer.h"
#include "cli/base/moment.h"
#include "cli/base/question.h"
#include "cli/base/skep.h"
#include "cli/top/interact.h"
#include "cli/top/print.h"
#include "core/base/clock.h"
#include "core/config/config.h"

#define INTERVAL_NS UINT64_C(2000000000)
#define INTERVAL_LEAST_NS UINT64_C(100000000)
#define FIRST_WAIT_MS 60000 /* two samples of skepd; its interval may be long */
#define STORED_WAIT_MS 10000 /* for its lake */

struct top_options {
	const char *by, *sort, *filter, *at, *interval, *lake, *socket;
	unsigned long batch;
	bool once, json;
};

static const struct command_option options[] = {
	{ "by", .value = "GROUP", .help = "a row for each run (default), task, tool, container, user or process",
	  COMMAND_AT(struct top_options, by) },
	{ "sort", .value = "COLUMN", .help = "cores (default: CPU now), cpu, queued, blocked, rss, read, written, net, alive, "
	  "ended, failed, state or name", COMMAND_AT(struct top_options, sort) },
	{ "filter", .value = "EXPR", .help = "only processes for which this expression of the rules holds: skep filter",
	  COMMAND_AT(struct top_options, filter) },
	{ "at", .value = "TIME", .help = "the runs of the lake at 2026-11-21T03:48:15Z; 2h, 3d: that long ago",
	  COMMAND_AT(struct top_options, at) },
	{ "interval", .value = "TIME", .help = "between two tables (default 2s); with --at: a step in time, and the time of "
	  "`cores`", COMMAND_AT(struct top_options, interval) },
	{ "once", .help = "print one table and end; so without a terminal", COMMAND_AT(struct top_options, once) },
	{ "batch", 'b', "N", "print N tables, one each interval, and end", .min = 1, .max = 1000000,
	  COMMAND_AT(struct top_options, batch) },
	{ "json", .help = "print one JSON object, for programs", COMMAND_AT(struct top_options, json) },
	QUESTION_LAKE(struct top_options, lake),
	ANSWER_SOCKET(struct top_options, socket),
	{ 0 },
};

static int run_top(int argc, char **argv);

const struct command cmd_top = {
	.name = "top",
	.summary = "show what runs now: by run, task, tool, container, user or process",
	.about = "Shows the processes that the running skepd records, live; with --at those of the lake at a moment. Figures "
		 "count from the begin of each run: a process that has ended still counts in its run, task and tool.\n",
	.options = options,
	.notes =
		"How to read it: `cores` is the CPU time of the last interval by its length; `CPU` the time since the begin; "
		"`queued` the time in which processes were ready to run and waited for a CPU; `block` the time in which they "
		"waited for storage (-: the kernel or skepd does not count it); `alive`, `ended` and `fail` count processes.\n"
		"Keys: Enter goes into a row, Backspace back; r t o c u p group by run, task, tool, container, user, process; "
		"< and > choose the column to sort by; / filters; Space freezes; h lists all keys; q quits.\n"
		"skepd samples live processes each `interval` of its configuration (5 s), so their figures change as often. "
		"Of a user who is not in group skep it shows the user's own runs.\n",
	.most = -1,
	.run = run_top,
};

/* ---- the options --------------------------------------------------------------------------- */

static int parse(const struct top_options *o, struct top *t)
{
	int status;

	t->interval_ns = INTERVAL_NS;
	t->view.sort = TOP_CORES;
	if (o->by && top_group_named(o->by, &t->view.group) < 0)
		return skep_usage("top", "--by '%s' is not run, task, tool, container, user or process", o->by);
	if (o->sort && top_column_named(o->sort, &t->view.sort) < 0)
		return skep_usage("top", "--sort '%s' is no column: cores, cpu, queued, blocked, rss, read, written, net, "
				  "alive, ended, failed, state or name", o->sort);
	if (o->interval && (config_time(o->interval, &t->interval_ns) < 0 || t->interval_ns < INTERVAL_LEAST_NS))
		return skep_usage("top", "--interval '%s' is not a time of at least 100ms, such as 1s", o->interval);
	status = moment_option("top", "--at", o->at, &t->at_ns);
	if (status != SKEP_EXIT_OK)
		return status;
	if (o->at && o->socket)
		return skep_usage("top", "--at reads the lake, so --socket has no use with it");
	if (o->once && o->batch)
		return skep_usage("top", "--once and --batch exclude each other");
	if (o->json && o->batch > 1)
		return skep_usage("top", "--json prints one object: without --batch");
	return SKEP_EXIT_OK;
}

static bool on_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

/* ---- tables -------------------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/*
 * Reads what skepd sends until that time; *passes counts the samples.  stop_at: ends earlier, at that number of
 * samples, if the model then has what ended before.  0 or -errno.
 */
static int follow(struct top *t, uint64_t until_ms, unsigned stop_at, unsigned *passes)
{
	uint64_t now, stored_ms = 0;

	while ((now = now_ms()) < until_ms) {
		struct pollfd p = { .fd = source_live_fd(t->live), .events = POLLIN };
		int got;

		if (*passes >= stop_at && !stored_ms)
			stored_ms = now + STORED_WAIT_MS;
		if (stored_ms && (source_live_whole(t->live) || now >= stored_ms))
			return 0;
		poll(&p, 1, (int)(until_ms - now < 250 ? until_ms - now : 250));
		got = source_live_read(t->live, t->model);
		if (got < 0)
			return got;
		*passes += got == 1;
	}
	return 0;
}

static int print(struct top *t, const struct top_options *o)
{
	const struct top_shown shown = {
		.source = t->live ? "skepd" : "lake",
		.time_ns = t->live ? clock_realtime_ns() : t->at_ns,
		.interval_ns = top_model_interval_ns(t->model),
		.filter = top_filter_text(t->filter),
		.note = t->live ? source_live_note(t->live) : "",
	};
	int err = top_rows_build(&t->rows, t->model, &t->view);

	if (err == 0)
		err = o->json ? top_print_json(t->model, &t->view, &t->rows, &shown, stdout)
			      : top_print_table(t->model, &t->view, &t->rows, &shown, stdout);
	return err;
}

static int print_live(struct top *t, const struct top_options *o)
{
	unsigned passes = 0;
	/* `cores` needs two samples */
	int err = follow(t, now_ms() + FIRST_WAIT_MS, 2, &passes);

	if (err == 0 && passes == 0)
		return skep_fail("top", SKEP_EXIT_RUNTIME, "skepd has sent no sample within %d s; see skep status",
				 FIRST_WAIT_MS / 1000);
	for (unsigned long i = 0; i < (o->batch ? o->batch : 1) && err == 0; i++) {
		if (i)
			err = follow(t, now_ms() + t->interval_ns / 1000000, UINT32_MAX, &passes);
		if (err == 0 && i && !o->json)
			putchar('\n');
		if (err == 0)
			err = print(t, o);
	}
	if (err == -EPIPE && source_live_fd(t->live) < 0)
		return skep_fail("top", SKEP_EXIT_RUNTIME, "skepd has closed the connection: did it end? see its log");
	return err < 0 ? skep_fail("top", SKEP_EXIT_RUNTIME, "cannot write the table: %s", strerror(-err)) : SKEP_EXIT_OK;
}

static int print_lake(struct top *t, const struct top_options *o)
{
	char why[512] = "";
	int err = source_lake_at(t->lake, t->at_ns, t->interval_ns, t->model, why, sizeof(why));

	if (err < 0 && (err != -ENOENT || !o->json))
		return skep_fail("top", SKEP_EXIT_RUNTIME, "%s; `skep runs --all` lists the runs and their times", why);
	err = print(t, o);
	return err < 0 ? skep_fail("top", SKEP_EXIT_RUNTIME, "cannot write the table: %s", strerror(-err))
		       : source_lake_partial(t->lake);
}

/* ---- the command --------------------------------------------------------------------------- */

static int answer(const struct top_options *o, struct top *t)
{
	bool prints = o->once || o->batch || o->json || !on_terminal();
	char why[512] = "out of memory";
	int status;

	t->model = top_model_new();
	t->filter = t->model ? top_filter_new(t->model) : NULL;
	if (!t->filter)
		return skep_fail("top", SKEP_EXIT_RUNTIME, "%s", why);
	if (o->filter && top_filter_set(t->filter, o->filter, why, sizeof(why)) < 0)
		return skep_usage("top", "--filter: %s", why);
	status = o->at ? source_lake_open(o->lake, &t->lake) : source_live_open(o->socket, o->lake, &t->live);
	if (status != SKEP_EXIT_OK)
		return status;
	if (prints)
		return t->live ? print_live(t, o) : print_lake(t, o);
	return top_interact(t);
}

static int run_top(int argc, char **argv)
{
	struct top_options o = { 0 };
	struct top t = { 0 };
	int status = command_parse(&cmd_top, argc, argv, &o);

	if (status >= 0)
		return status;
	if (optind < argc)
		return skep_usage("top", "unexpected argument '%s': for one run, --filter 'run = \"ID\"'", argv[optind]);
	status = parse(&o, &t);
	if (status == SKEP_EXIT_OK)
		status = answer(&o, &t);
	source_live_close(t.live);
	source_lake_close(t.lake);
	top_rows_free(&t.rows);
	top_view_free(&t.view);
	top_filter_free(t.filter);
	top_model_free(t.model);
	return status;
}
