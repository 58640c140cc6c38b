/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/hosts/hosts.c - `skep hosts`: what the hosts of a lake used, hour by hour.
 */
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/moment.h"
#include "cli/base/question.h"
#include "cli/base/skep.h"
#include "cli/hosts/hosts_print.h"
#include "core/base/clock.h"

#define SINCE_NS      (7 * 24 * LAKE_HOUR_NS)
#define LIMIT_DEFAULT 40
#define LIMIT_MOST    1000000

struct hosts_options {
	unsigned long width, limit;
	const char *lake, *host, *since, *until;
	bool json;
};

static const struct command_option options[] = {
	{ "host", .value = "NAME", .help = "only this host, with its GPUs and containers",
	  COMMAND_AT(struct hosts_options, host) },
	{ "since", .value = "TIME",
	  .help = "look at the time since 2026-11-21T03:48:15Z, or since 2h or 3d ago (default: 7d)",
	  COMMAND_AT(struct hosts_options, since) },
	{ "until", .value = "TIME", .help = "up to this time (default: now)", COMMAND_AT(struct hosts_options, until) },
	{ "limit", 'n', "N", "print at most N hosts, the busiest first (default 40; 0: all of them)",
	  .max = LIMIT_MOST, COMMAND_AT(struct hosts_options, limit) },
	{ "json", .help = "print the answer as JSON, for programs", COMMAND_AT(struct hosts_options, json) },
	{ "width", .value = "N", .help = "columns of the text (80 to 400; default: the terminal's)", .min = 80,
	  .max = 400, COMMAND_AT(struct hosts_options, width) },
	QUESTION_LAKE(struct hosts_options, lake),
	{ 0 },
};

static int run_hosts(int argc, char **argv);

const struct command cmd_hosts = {
	.name = "hosts",
	.summary = "show what hosts used, hour by hour",
	.options = options,
	.notes = "The share of a host's CPUs that processes used, of that the share of runs, the most memory in use, and a bar "
		 "for each hour or group of hours. A dot stands for a time of which the lake has no record: skepd did not run, or its "
		 "probe host did not. Idle hosts and what they cost: skep sweep.\n",
	.run = run_hosts,
};

static int print(const struct hosts_options *o, const struct hosts_look *look)
{
	const struct paint_style style = { .width = (unsigned)o->width };
	int rc;

	if (!o->json && !look->usage->n_hosts)
		return skep_fail("hosts", SKEP_EXIT_RUNTIME,
				 "the lake has no record of a host in that time; try another --since");
	rc = o->json ? hosts_json(look, stdout) : hosts_text(look, o->limit, stdout, &style);
	return rc ? skep_fail("hosts", SKEP_EXIT_RUNTIME, "cannot write the answer: %s", strerror(-rc)) : SKEP_EXIT_OK;
}

static int answer(const struct hosts_options *o, const struct lake_usage_query *q)
{
	struct lake_usage *usage = NULL;
	struct lake *lake = NULL;
	char why[1024] = "";
	int rc = 0, status = question_open("hosts", o->lake, NULL, q->since_ns, &lake);

	if (status == SKEP_EXIT_OK)
		rc = lake_usage(lake, q, &usage, why, sizeof(why));
	if (status == SKEP_EXIT_OK && rc == 0 && o->host && !usage->n_hosts)
		rc = question_no_host(lake, o->host, why, sizeof(why));
	if (rc)
		status = skep_fail("hosts", SKEP_EXIT_RUNTIME, "%s", why);
	if (status == SKEP_EXIT_OK)
		status = print(o, &(struct hosts_look){ usage, q->since_ns, q->until_ns });
	if (status == SKEP_EXIT_OK)
		status = question_partial("hosts", lake, NULL);
	lake_usage_free(usage);
	lake_close(lake);
	return status;
}

static int run_hosts(int argc, char **argv)
{
	struct hosts_options o = { .limit = LIMIT_DEFAULT };
	int status = command_parse(&cmd_hosts, argc, argv, &o);
	struct lake_usage_query q = { .host = o.host, .hosts_only = !o.host };

	if (status >= 0)
		return status;
	status = moment_span("hosts", o.since, o.until, SINCE_NS, clock_realtime_ns(), &q.since_ns, &q.until_ns);
	return status == SKEP_EXIT_OK ? answer(&o, &q) : status;
}
