/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cost/cost.c - `skep cost`: what runs, or all hosts, cost.
 */
#include <errno.h>
#include <string.h>

#include "cli/base/moment.h"
#include "cli/base/price_file.h"
#include "cli/base/question.h"
#include "cli/base/skep.h"
#include "cli/cost/cost_print.h"
#include "core/base/clock.h"

#define HOUR_NS       UINT64_C(3600000000000)
#define DAY_NS        (24 * HOUR_NS)
#define LIMIT_DEFAULT 20
#define LIMIT_MOST    1000000

struct cost_options {
	unsigned long width, limit;
	const char *lake, *prices, *by, *pipeline, *since, *until;
	bool json;
};

static const struct command_option options[] = {
	PRICE_FILE_OPTION(struct cost_options, prices),
	{ "by", .value = "WHAT", .help = "a row for each pipeline, run, task, tool, user, host or label (default: of a run, task; "
					 "of a pipeline, run; else pipeline)",
	  COMMAND_AT(struct cost_options, by) },
	{ "pipeline", .value = "NAME", .help = "the runs of this pipeline, and their hosts while they ran",
	  COMMAND_AT(struct cost_options, pipeline) },
	{ "since", .value = "TIME", .help = "the bill begins at 2026-11-21T03:48:15Z; 2h, 3d: that long ago (default: 1d, with "
					    "--pipeline 30d)",
	  COMMAND_AT(struct cost_options, since) },
	{ "until", .value = "TIME", .help = "the bill ends there (default: now)", COMMAND_AT(struct cost_options, until) },
	{ "limit", 'n', "N", "at most N rows (default 20; 0: all of them)", .max = LIMIT_MOST,
	  COMMAND_AT(struct cost_options, limit) },
	{ "json", .help = "print the bill as JSON, for programs", COMMAND_AT(struct cost_options, json) },
	{ "width", .value = "N", .help = "columns of the text (80 to 400; default: the terminal's)", .min = 80,
	  .max = 400, COMMAND_AT(struct cost_options, width) },
	QUESTION_LAKE(struct cost_options, lake),
	{ 0 },
};

static int run_cost(int argc, char **argv);

const struct command cmd_cost = {
	.name = "cost",
	.operands = "[RUN|last]",
	.summary = "say what runs, users or hosts cost: used, reserved, idle, overhead",
	.about = "RUN is a run's id, the beginning of an id, a name, or `last`: the bill of its host while it ran. Without RUN and "
		 "--pipeline: the bill of all hosts in the time from --since to --until.\n",
	.options = options,
	.notes =
		"The bill is the price of the machines for that time. It is split: `used` is what runs used of cores, memory and GPUs; "
		"`reserved, unused` is what their tasks had asked for beyond that; `idle` is what no run used or had asked for; "
		"`overhead` is the CPU time outside of runs (kernel, daemons, skep), and what the price adds. "
		"These parts add up to the bill exactly. Where an amount cannot be known, such as without a price or without "
		"records, no figure has it, and a line names the host, the time and the reason.\n"
		"Energy that is paid by the kWh is a line of its own, beside the bill.\n"
		"A sample of a file of prices: " SKEP_DATA_DIR "/prices.json\n",
	.most = -1,
	.run = run_cost,
};

/* ---- the question ---------------------------------------------------------------------- */

/* "" for none given. 0, or the exit status after a message. */
static int by_of(const struct cost_options *o, bool run, enum cost_by *ret)
{
	*ret = run ? COST_TASK : o->pipeline ? COST_RUN : COST_PIPELINE;
	for (unsigned i = 0; o->by && cost_by_names[i]; i++) {
		if (strcmp(o->by, cost_by_names[i]) == 0) {
			*ret = (enum cost_by)i;
			return SKEP_EXIT_OK;
		}
	}
	return o->by ? skep_usage("cost", "--by %s: not one of pipeline, run, task, tool, user, host, label", o->by) : SKEP_EXIT_OK;
}

/* The runs and the claims of the query's time; of one host if host is not NULL. */
static int read_all(struct lake *lake, const struct cost_query *q, const char *host, struct lake_runs **ret_runs,
		    struct lake_claims **ret_claims, char *why, size_t why_size)
{
	const uint64_t length = q->until_ns - q->since_ns;
	const struct lake_runs_query runs = {
		.host = host, .until_ns = q->until_ns, .alive_ns = q->since_ns, .sessions = true,
	};
	const struct lake_claims_query claims = {
		.since_ns = q->since_ns,
		.until_ns = q->until_ns,
		/* records are some seconds long; sums of hours are enough for days */
		.bucket_ns = length <= 6 * HOUR_NS ? 0 : length <= 2 * DAY_NS ? HOUR_NS / 60 : HOUR_NS,
		.labels = q->by == COST_LABEL,
	};
	int rc = lake_runs(lake, &runs, ret_runs, why, why_size);

	return rc ? rc : lake_claims(lake, &claims, ret_claims, why, why_size);
}

static int print(const struct cost_options *o, const struct cost_query *q, struct cost *cost)
{
	const struct paint_style style = { .width = (unsigned)o->width };
	int rc;

	if (!o->json && !cost->machine_ns && !cost->n_problems)
		return skep_fail("cost", SKEP_EXIT_RUNTIME, "the lake has no run and no record of a host in this time%s%s; skep runs lists "
				 "runs, --since and --until choose another time", q->pipeline ? " of pipeline " : "",
				 q->pipeline ? q->pipeline : "");
	rc = o->json ? cost_json(cost, q, stdout) : cost_text(cost, q, o->limit, stdout, &style);
	if (rc)
		return skep_fail("cost", SKEP_EXIT_RUNTIME, "cannot write the bill: %s", strerror(-rc));
	return cost->machine_ns ? SKEP_EXIT_OK
				: skep_fail("cost", SKEP_EXIT_RUNTIME, "no figure: of no host and time are a price and records known");
}

static int compute(const struct cost_options *o, const struct price_table *prices, struct lake *lake, const char *which)
{
	struct cost_query q = { .pipeline = o->pipeline, .now_ns = clock_realtime_ns() };
	struct lake_report *report = NULL;
	struct lake_runs *runs = NULL;
	struct lake_claims *claims = NULL;
	struct cost *cost = NULL;
	char why[1024] = "";
	int rc = 0, status = by_of(o, which, &q.by);

	if (status == SKEP_EXIT_OK)
		status = moment_span("cost", o->since, o->until, o->pipeline ? 30 * DAY_NS : DAY_NS, q.now_ns,
				     &q.since_ns, &q.until_ns);
	if (status != SKEP_EXIT_OK)
		return status;
	if (which) {
		lake_few_arguments(lake);
		rc = lake_report(lake, which, &report, why, sizeof(why));
		if (rc)
			goto out;
		q.run = report->run.id;
		q.since_ns = report->run.start_ns;
		q.until_ns = report->run.end_ns > q.since_ns ? report->run.end_ns
			     : q.now_ns > q.since_ns         ? q.now_ns
							     : q.since_ns + 1;
		q.now_ns = q.until_ns > q.now_ns ? q.until_ns : q.now_ns;
		if (!o->by && !report->n_tasks)
			q.by = COST_TOOL;
	}
	rc = read_all(lake, &q, which ? report->run.host : NULL, &runs, &claims, why, sizeof(why));
	if (rc == 0) {
		rc = cost_new(prices, runs, claims, &q, &cost);
		snprintf(why, sizeof(why), "%s", rc == -ERANGE   ? "the bill is larger than 9 billion; check the prices"
						 : rc == -EPROTO ? "the parts do not add up to the bill: no figure; report this bug"
								 : "out of memory");
	}
out:
	status = rc ? skep_fail("cost", SKEP_EXIT_RUNTIME, "%s", why) : print(o, &q, cost);
	if (status == SKEP_EXIT_OK)
		status = question_partial("cost", lake, report);
	cost_free(cost);
	lake_claims_free(claims);
	lake_runs_free(runs);
	lake_report_free(report);
	return status;
}

static int run_cost(int argc, char **argv)
{
	struct cost_options o = { .limit = LIMIT_DEFAULT };
	struct price_table *prices = NULL;
	struct lake *lake = NULL;
	const char *which;
	int status = command_parse(&cmd_cost, argc, argv, &o);

	if (status >= 0)
		return status;
	which = optind < argc ? argv[optind] : NULL;
	if (argc - optind > 1)
		return skep_usage("cost", "unexpected argument '%s': one run at a time", argv[optind + 1]);
	if (which && (o.pipeline || o.since || o.until))
		return skep_usage("cost", "RUN beside --pipeline, --since or --until: a run has its own time");
	status = price_file_open("cost", o.prices, &prices);
	if (status == SKEP_EXIT_OK && !prices)
		status = skep_fail("cost", SKEP_EXIT_CONFIG, "no file of prices: give --prices FILE, or \"prices\": \"/path\" in "
				   "skep.conf; a sample is " SKEP_DATA_DIR "/prices.json");
	if (status == SKEP_EXIT_OK)
		status = question_open("cost", o.lake, which, 0, &lake);
	if (status == SKEP_EXIT_OK)
		status = compute(&o, prices, lake, which);
	lake_close(lake);
	price_table_free(prices);
	return status;
}
