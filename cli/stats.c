/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/stats.c - `skep stats`: prints the self-metrics of a running skepd.
 */
#include "cli/stats.h"

#include <errno.h>
#include <string.h>

#include "cli/base/answer.h"
#include "cli/base/human.h"
#include "cli/base/signals_text.h"
#include "cli/base/skep.h"
#include "cli/status.h"

struct stats_options {
	struct answer_options answer;
	bool prometheus;
};

static const struct command_option options[] = {
	{ "prometheus",
	  .help = "print the text format that Prometheus scrapes, for example from a timer into the folder of "
		  "node_exporter's textfile collector",
	  COMMAND_AT(struct stats_options, prometheus) },
	ANSWER_JSON(struct stats_options, answer.json),
	ANSWER_SOCKET(struct stats_options, answer.socket),
	{ 0 },
};

static int run_stats(int argc, char **argv);

const struct command cmd_stats = {
	.name = "stats",
	.summary = "show the running skepd's self-metrics",
	.options = options,
	.notes =
		"skep prints each plugin's cost for the daemon, the sinks' queues, the streams' ledger, and the delay "
		"of the event loop. `skep plugins NAME` prints a plugin's own counters.\n",
	.run = run_stats,
};

static void head(const json_t *o, const struct paint *p)
{
	const json_t *cost = json_object_get(o, "cost"), *loop = json_object_get(o, "loop"),
		     *reload = json_object_get(o, "reload");
	char a[HUMAN_SIZE], b[HUMAN_SIZE];
	unsigned units = paint_units(p);

	fprintf(p->out, "up         %s\n", human_time(answer_u64(o, "uptime_ns"), units, a));
	fprintf(p->out, "cpu        %s\n", human_time(answer_u64(cost, "cpu_ns"), units, a));
	fprintf(p->out, "memory     %s (peak %s)\n", human_bytes(answer_u64(cost, "rss_bytes"), units, a),
		human_bytes(answer_u64(cost, "rss_peak_bytes"), units, b));
	fprintf(p->out, "files      %s open\n", human_count(answer_u64(o, "fds"), a));
	fprintf(p->out, "loop       %s late, %s at most\n", human_time(answer_u64(loop, "lag_ns"), units, a),
		human_time(answer_u64(loop, "lag_worst_ns"), units, b));
	fprintf(p->out, "processes  %s live\n", human_count(answer_u64(o, "processes"), a));
	if (json_is_object(reload))
		fprintf(p->out, "reloads    %s succeeded, %s failed\n", human_count(answer_u64(reload, "ok"), a),
			human_count(answer_u64(reload, "failed"), b));
}

static int instances(const json_t *list, const struct paint *p)
{
	static const struct table_column columns[] = {
		{ .title = "plugin", .left = true },
		{ .title = "kind", .left = true },
		{ .title = "state", .left = true },
		{ .title = "busy" },
		{ .title = "worst" },
		{ .title = "overruns" },
		{ .title = "lost" },
		{ .title = "queued" },
		{ .title = "in flight" },
		{ .title = "put off" },
	};
	struct table *t = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	const json_t *one;
	char a[HUMAN_SIZE];
	size_t i;
	int rc;

	if (!t)
		return -ENOMEM;
	json_array_foreach(list, i, one) {
		static const char *const wheres[] = { "kernel", "queue", "spool", "sink" };
		const json_t *queue = json_object_get(one, "queue");
		uint64_t lost = 0;

		for (size_t k = 0; k < sizeof(wheres) / sizeof(wheres[0]); k++)
			lost += answer_u64(json_object_get(one, "lost"), wheres[k]);
		answer_cell(t, p, INK_BOLD, answer_text(one, "name"), "?");
		answer_cell(t, p, INK_NONE, answer_text(one, "kind"), "?");
		answer_cell(t, p, state_ink(answer_text(one, "state")), answer_text(one, "state"), "?");
		table_cell(t, INK_NONE, "%s", human_time(answer_u64(one, "busy_ns"), paint_units(p), a));
		table_cell(t, INK_NONE, "%s", human_time(answer_u64(one, "worst_ns"), paint_units(p), a));
		table_cell(t, answer_u64(one, "overruns") ? INK_YELLOW : INK_NONE, "%s",
			   human_count(answer_u64(one, "overruns"), a));
		table_cell(t, lost ? INK_RED : INK_NONE, "%s", human_count(lost, a));
		if (!json_is_object(queue)) {
			for (int k = 0; k < 3; k++)
				table_cell(t, INK_NONE, "%s", "");
			continue;
		}
		table_cell(t, INK_NONE, "%s", human_bytes(answer_u64(queue, "bytes"), paint_units(p), a));
		table_cell(t, INK_NONE, "%s", human_count(answer_u64(queue, "in_flight"), a));
		table_cell(t, INK_NONE, "%s", human_count(answer_u64(queue, "retries"), a));
	}
	fputc('\n', p->out);
	rc = table_print(t, p, 0, 2);
	table_free(t);
	return rc;
}

int stats_print(const json_t *o, FILE *out, const struct paint_style *style)
{
	struct paint p;
	int rc;

	paint_init(&p, out, style);
	head(o, &p);
	rc = instances(json_object_get(o, "instances"), &p);
	if (rc == 0)
		rc = streams_print(json_object_get(o, "streams"), &p);
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}

static int run_stats(int argc, char **argv)
{
	struct stats_options o = { 0 };
	int status = command_parse(&cmd_stats, argc, argv, &o);

	if (status >= 0)
		return status;
	if (o.prometheus && o.answer.json)
		return skep_usage("stats", "--prometheus and --json exclude each other");
	return answer_command("stats", "stats", &o.answer, o.prometheus ? stats_prometheus : stats_print);
}
