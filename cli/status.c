/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/status.c - `skep status`: prints the work, the cost and the losses of a running skepd.
 */
#include "cli/status.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/answer.h"
#include "cli/base/human.h"
#include "cli/base/signals_text.h"
#include "cli/base/skep.h"
#include "cli/base/table.h"
#include "cli/base/text.h"
#include "cli/reload.h"

static int run_status(int argc, char **argv);

const struct command cmd_status = {
	.name = "status",
	.summary = "show the running skepd's work, cost and losses",
	.options = answer_options,
	.notes = "Each loss is counted where it happened: kernel (a ring or map was full), queue (sinks too slow), "
		 "spool, sink (refused). The ledger covers the last interval.\n",
	.run = run_status,
};

static void heading(const struct paint *p, const char *title)
{
	fputc('\n', p->out);
	paint(p, INK_BOLD, "%s\n", title);
}

/* NULL: a skepd that does not say it. */
static const char *engine_files(const char *by)
{
	static const char *const words[][2] = {
		{ "own", "read by skepd's file reader" },
		{ "unit", "read by skep-reader.service" },
		{ "none", "not read: see skep doctor" },
		{ "off", "not read: read_engine_files is false" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(by, words[i][0]) == 0)
			return words[i][1];
	return NULL;
}

static void head(const json_t *o, const struct paint *p)
{
	const json_t *cost = json_object_get(o, "cost");
	uint64_t up = answer_u64(o, "uptime_ns"), cpu = answer_u64(cost, "cpu_ns");
	char a[HUMAN_SIZE], b[HUMAN_SIZE];
	const char *files = engine_files(answer_text(o, "engine_files"));
	unsigned units = paint_units(p);

	paint(p, INK_BOLD, "skepd ");
	answer_print(p, INK_BOLD, answer_text(o, "version"));
	fputs(" on ", p->out);
	answer_print(p, INK_NONE, answer_text(o, "host"));
	fprintf(p->out, ", pid %lld, up %s\n", (long long)answer_i64(o, "pid"), human_time(up, units, a));
	fputs("config     ", p->out);
	answer_print(p, INK_NONE, answer_text(o, "config"));
	fprintf(p->out, ", interval %s, messages from ", human_time(answer_u64(o, "interval_ns"), units, a));
	answer_print(p, INK_NONE, answer_text(o, "loglevel"));
	fputs(" on\n", p->out);
	if (answer_true(o, "own_pid_namespace"))
		fputs("pids       skepd runs in a pid namespace of its own: see skep doctor\n", p->out);
	if (files)
		fprintf(p->out, "files      of engines, for names of tasks: %s\n", files);
	fprintf(p->out, "cost       %s CPU", human_time(cpu, units, a));
	if (up > 0)
		fprintf(p->out, " (%s of one core)", human_percent((double)cpu / (double)up, b));
	fprintf(p->out, ", %s memory", human_bytes(answer_u64(cost, "rss_bytes"), units, a));
	fprintf(p->out, " (peak %s)\n", human_bytes(answer_u64(cost, "rss_peak_bytes"), units, a));
}

static void processes(const json_t *o, const struct paint *p)
{
	const json_t *self = json_object_get(o, "self");
	static const struct {
		const char *key, *words;
	} troubles[] = {
		{ "processes_lost", "ended without final figures" },
		{ "facets_late", "closed without a late facet" },
		{ "late", "reported too late or twice" },
		{ "clamped", "figures that would have gone backwards" },
		{ "invalid", "about no process" },
		{ "no_memory", "dropped: out of memory" },
		{ "unsaved", "not saved for the next skepd" },
		{ "unrestored", "saved by the previous skepd but unreadable" },
		{ "unread", "without arguments, which could not be read" },
	};
	char a[HUMAN_SIZE];

	fprintf(p->out, "processes  %s live", human_count(answer_u64(o, "processes"), a));
	fprintf(p->out, ", %s records received", human_count(answer_u64(self, "records"), a));
	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++)
		if (answer_u64(self, troubles[i].key) > 0)
			fprintf(p->out, ", %s %s", human_count(answer_u64(self, troubles[i].key), a),
				troubles[i].words);
	fputc('\n', p->out);
}

static void losses(const json_t *o, const struct paint *p)
{
	const json_t *lost = json_object_get(o, "lost"), *value;
	const char *where, *between = "";
	char a[HUMAN_SIZE];
	uint64_t total = 0;

	json_object_foreach((json_t *)(uintptr_t)lost, where, value)
		total += answer_u64(lost, where);
	fputs("lost       ", p->out);
	if (total == 0) {
		paint(p, INK_GREEN, "nothing\n");
		return;
	}
	paint(p, INK_RED, "%s records", human_count(total, a));
	fputs(" (", p->out);
	json_object_foreach((json_t *)(uintptr_t)lost, where, value) {
		if (answer_u64(lost, where) == 0)
			continue;
		fprintf(p->out, "%s%s ", between, human_count(answer_u64(lost, where), a));
		answer_print(p, INK_NONE, where);
		between = ", ";
	}
	fputs(")\n", p->out);
}

/* Prints the spool only if it has a problem; each sink's line has the backlog. */
static void spool(const json_t *o, const struct paint *p)
{
	uint64_t errors = answer_u64(o, "errors");
	int replaced = (int)answer_u64(o, "replaced");
	char a[HUMAN_SIZE];

	if (!json_is_object(o) || (json_is_true(json_object_get(o, "writable")) && replaced == 0 && errors == 0))
		return;
	fputs("spool      ", p->out);
	answer_print(p, INK_NONE, answer_text(o, "path"));
	if (!json_is_true(json_object_get(o, "writable"))) {
		paint(p, INK_RED, " cannot be written: ");
		answer_print(p, INK_RED, answer_text(o, "why"));
		paint(p, INK_RED, "; records that sinks cannot accept at once are lost");
	}
	if (errors > 0)
		paint(p, INK_YELLOW, " (%s writes failed since the start)", human_count(errors, a));
	if (replaced > 0)
		paint(p, INK_YELLOW, " was damaged, %d times since the start: skepd renamed the damaged "
			"file", replaced);
	fputc('\n', p->out);
}

/* Adds a sink's lag and its reason; for a sink without lag, the state of its store. */
static void delivery_cell(struct table *t, const json_t *one, const struct paint *p)
{
	const json_t *d = json_object_get(one, "delivery");
	const char *why = answer_text(d, "why"), *reason = answer_text(one, "reason");
	char records[HUMAN_SIZE], bytes[HUMAN_SIZE], age[HUMAN_SIZE], *safe;
	uint64_t lag = answer_u64(d, "lag_records");
	bool failing = why && *why;

	if (answer_u64(one, "stuck_ns") > 0) {
		table_cell(t, INK_RED, "its work has not returned for %s: a file system or a server may not answer",
			   human_time(answer_u64(one, "stuck_ns"), paint_units(p), age));
		return;
	}
	if (*reason || !json_is_object(d) || (lag == 0 && !failing)) {
		answer_cell(t, p, INK_NONE, *reason ? reason : answer_text(one, "store"), "");
		return;
	}
	safe = text_safe(failing ? why : "", p->unicode);
	table_cell(t, failing ? INK_RED : INK_YELLOW, "%s records behind, %s, the oldest %s%s%s",
		   human_count(lag, records), human_bytes(answer_u64(d, "lag_bytes"), paint_units(p), bytes),
		   human_time(answer_u64(d, "lag_ns"), paint_units(p), age),
		   !failing                                   ? ""
		   : json_is_true(json_object_get(d, "held")) ? "; held until it is mended: "
							      : "; tried again: ",
		   safe ? safe : "");
	free(safe);
}

static int instances(const json_t *list, const struct paint *p)
{
	static const struct table_column columns[] = {
		{ .title = "plugin", .left = true },
		{ .title = "kind", .left = true },
		{ .title = "state", .left = true },
		{ .title = "", .left = true, .flex = true },
	};
	struct table *t = table_new(columns, 4);
	const json_t *one;
	size_t i;
	int rc;

	if (!t)
		return -ENOMEM;
	json_array_foreach(list, i, one) {
		const char *state = answer_text(one, "state");

		answer_cell(t, p, INK_BOLD, answer_text(one, "name"), "?");
		answer_cell(t, p, INK_NONE, answer_text(one, "kind"), "?");
		answer_cell(t, p, state_ink(state), state, "?");
		delivery_cell(t, one, p);
	}
	fputc('\n', p->out);
	rc = table_print(t, p, 0, 2);
	table_free(t);
	return rc;
}

int streams_print(const json_t *list, const struct paint *p)
{
	static const struct table_column columns[] = {
		{ .title = "stream", .left = true },
		{ .title = "sink", .left = true },
		{ .title = "seen" },
		{ .title = "delivered" },
		{ .title = "filtered" },
		{ .title = "lost" },
		{ .title = "pending" },
	};
	struct table *t;
	const json_t *one;
	char a[HUMAN_SIZE];
	size_t i;
	int rc;

	if (json_array_size(list) == 0)
		return 0;
	t = table_new(columns, 7);
	if (!t)
		return -ENOMEM;
	json_array_foreach(list, i, one) {
		const json_t *lost = json_object_get(one, "lost");
		uint64_t n = answer_u64(lost, "kernel") + answer_u64(lost, "queue") + answer_u64(lost, "spool") +
			     answer_u64(lost, "sink");

		answer_cell(t, p, INK_NONE, answer_text(one, "stream"), "?");
		answer_cell(t, p, INK_NONE, answer_text(one, "sink"), "?");
		table_cell(t, INK_NONE, "%s", human_count(answer_u64(one, "seen"), a));
		table_cell(t, INK_NONE, "%s", human_count(answer_u64(one, "delivered"), a));
		table_cell(t, INK_NONE, "%s", human_count(answer_u64(one, "filtered"), a));
		table_cell(t, n ? INK_RED : INK_NONE, "%s", human_count(n, a));
		table_cell(t, INK_NONE, "%s", human_count(answer_u64(one, "pending"), a));
	}
	fputc('\n', p->out);
	rc = table_print(t, p, 0, 2);
	table_free(t);
	return rc;
}

static int attached(const json_t *list, const struct paint *p)
{
	static const struct table_column columns[] = {
		{ .title = "id" },
		{ .title = "detail", .left = true },
		{ .title = "plugin", .left = true },
		{ .title = "of", .left = true },
		{ .title = "left" },
	};
	struct table *t;
	const json_t *one;
	char a[HUMAN_SIZE];
	size_t i;
	int rc;

	if (json_array_size(list) == 0)
		return 0;
	t = table_new(columns, 5);
	if (!t)
		return -ENOMEM;
	json_array_foreach(list, i, one) {
		uint64_t left = answer_u64(one, "left_ns");

		table_cell(t, INK_BOLD, "%s", human_count(answer_u64(one, "id"), a));
		answer_cell(t, p, INK_NONE, answer_text(one, "detail"), "?");
		answer_cell(t, p, INK_NONE, answer_text(one, "instance"), "?");
		answer_cell(t, p, INK_NONE, answer_text(one, "scope"), "?");
		table_cell(t, INK_NONE, "%s", left ? human_time(left, paint_units(p), a) : "no end");
	}
	heading(p, "attached");
	rc = table_print(t, p, 0, 2);
	table_free(t);
	return rc;
}

static int runs(const json_t *list, const struct paint *p)
{
	static const struct table_column columns[] = {
		{ .title = "run", .left = true },
		{ .title = "since", .left = true },
		{ .title = "procs" },
		{ .title = "name", .left = true, .flex = true },
	};
	struct table *t;
	const json_t *one;
	char a[HUMAN_SIZE];
	size_t i;
	int rc;

	if (json_array_size(list) == 0)
		return 0;
	t = table_new(columns, 4);
	if (!t)
		return -ENOMEM;
	json_array_foreach(list, i, one) {
		answer_cell(t, p, INK_BOLD, answer_text(one, "id"), "?");
		table_cell(t, INK_DIM, "%.19s", *answer_text(one, "start") ? answer_text(one, "start") : "?");
		table_cell(t, INK_NONE, "%s", human_count(answer_u64(one, "processes"), a));
		answer_cell(t, p, INK_NONE, answer_text(one, "name"), "");
	}
	heading(p, "live runs");
	rc = table_print(t, p, 0, 2);
	table_free(t);
	return rc;
}

/* What skepd has found and is not over. */
static int findings(const json_t *o, const struct paint *p)
{
	static const struct table_column columns[] = {
		{ .title = "finding", .left = true },
		{ .title = "since", .left = true },
		{ .title = "pid" },
		{ .title = "tool", .left = true },
		{ .title = "run", .left = true },
		{ .title = "task", .left = true, .flex = true },
	};
	const json_t *list = json_object_get(o, "open"), *one;
	char a[HUMAN_SIZE];
	struct table *t;
	size_t i;
	int rc;

	if (answer_u64(o, "dropped") > 0)
		fprintf(p->out, "\n%s findings beyond those below were not reported\n",
			human_count(answer_u64(o, "dropped"), a));
	if (json_array_size(list) == 0)
		return 0;
	t = table_new(columns, 6);
	if (!t)
		return -ENOMEM;
	json_array_foreach(list, i, one) {
		answer_cell(t, p, INK_YELLOW, answer_text(one, "kind"), "?");
		table_cell(t, INK_DIM, "%.19s", *answer_text(one, "since") ? answer_text(one, "since") : "?");
		table_cell(t, INK_NONE, "%lld", (long long)answer_i64(one, "pid"));
		answer_cell(t, p, INK_NONE, answer_text(one, "tool"), "");
		answer_cell(t, p, INK_NONE, answer_text(one, "run"), "");
		answer_cell(t, p, INK_NONE, answer_text(one, "task"), "");
	}
	heading(p, "open findings");
	rc = table_print(t, p, 0, 2);
	table_free(t);
	return rc;
}

/* Formats an amount: "cpu" is time, the host's other accounts are bytes. */
static const char *amount(const char *account, int64_t n, unsigned units, char buf[HUMAN_SIZE])
{
	uint64_t magnitude = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
	char text[HUMAN_SIZE];

	if (strcmp(account, "cpu") == 0)
		human_time(magnitude, units, text);
	else
		human_bytes(magnitude, units, text);
	snprintf(buf, HUMAN_SIZE, "%s%.30s", n < 0 ? "-" : "", text);
	return buf;
}

/* Has the account only amounts of 0?  Then status leaves it out. */
static bool account_is_idle(const json_t *lines, const char *account)
{
	const json_t *one;
	size_t i;

	json_array_foreach(lines, i, one)
		if (strcmp(answer_text(one, "account"), account) == 0 && answer_i64(one, "amount") != 0)
			return false;
	return true;
}

static int ledger(const json_t *o, const struct paint *p)
{
	static const struct table_column columns[] = {
		{ .title = "account", .left = true },
		{ .title = "item", .left = true },
		{ .title = "amount" },
		{ .title = "share" },
		{ .title = "", .left = true },
	};
	const json_t *lines = json_object_get(o, "lines"), *one;
	const char *account = "";
	char a[HUMAN_SIZE], title[HUMAN_SIZE + 32];
	struct table *t;
	int64_t whole = 0;
	size_t i;
	int rc;

	if (json_array_size(lines) == 0)
		return 0;
	t = table_new(columns, 5);
	if (!t)
		return -ENOMEM;
	json_array_foreach(lines, i, one) {
		const char *kind = answer_text(one, "kind"), *name = answer_text(one, "account");
		int64_t n = answer_i64(one, "amount");
		bool reference = strcmp(kind, "reference") == 0;

		if (reference)
			whole = n;
		if (account_is_idle(lines, name))
			continue;
		answer_cell(t, p, INK_BOLD, strcmp(name, account) == 0 ? "" : name, "");
		answer_cell(t, p, strcmp(kind, "unattributed") == 0 ? INK_YELLOW : INK_NONE, answer_text(one, "item"),
			    "?");
		table_cell(t, INK_NONE, "%s", amount(name, n, paint_units(p), a));
		if (whole > 0 && n >= 0)
			table_cell(t, INK_NONE, "%s", human_percent((double)n / (double)whole, a));
		else
			table_cell(t, INK_NONE, "%s", "");
		table_cell(t, INK_DIM, "%s",
			   reference                   ? "the whole"
			   : strcmp(kind, "memo") == 0 ? "within the others"
						       : "");
		account = name;
	}
	snprintf(title, sizeof(title), "ledger of the last %s",
		 human_time(answer_u64(o, "interval_ns"), paint_units(p), a));
	heading(p, title);
	rc = table_print(t, p, 0, 2);
	table_free(t);
	return rc;
}

int status_print(const json_t *o, FILE *out, const struct paint_style *style)
{
	struct paint p;
	int rc;

	paint_init(&p, out, style);
	head(o, &p);
	processes(o, &p);
	losses(o, &p);
	spool(json_object_get(o, "spool"), &p);
	reload_status_print(json_object_get(o, "reload"), &p);
	rc = instances(json_object_get(o, "instances"), &p);
	if (rc == 0)
		rc = streams_print(json_object_get(o, "streams"), &p);
	if (rc == 0)
		rc = ledger(json_object_get(o, "ledger"), &p);
	if (rc == 0)
		rc = findings(json_object_get(o, "findings"), &p);
	if (rc == 0)
		rc = runs(json_object_get(o, "runs"), &p);
	if (rc == 0)
		rc = attached(json_object_get(o, "attached"), &p);
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}

static int run_status(int argc, char **argv)
{
	struct answer_options options = { 0 };
	int status = command_parse(&cmd_status, argc, argv, &options);

	return status >= 0 ? status : answer_command("status", "status", &options, status_print);
}
