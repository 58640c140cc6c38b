/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/sweep/sweep.c - `skep sweep`: finds idle hosts and GPUs, and containers and processes that outlive their run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/command.h"
#include "cli/base/json_out.h"
#include "cli/base/kinds.h"
#include "cli/base/moment.h"
#include "cli/base/price_file.h"
#include "cli/base/question.h"
#include "cli/base/settings.h"
#include "cli/base/skep.h"
#include "cli/sweep/sweep_print.h"
#include "core/base/clock.h"
#include "core/config/config.h"

#define SINCE_NS      (30 * 24 * LAKE_HOUR_NS)
#define LIMIT_DEFAULT 20
#define LIMIT_MOST    1000000

struct sweep_options {
	unsigned long width, limit;
	const char *lake, *host, *since, *until, *watch, *prices;
	const char **set;
	bool json, list;
};

static const struct command_option options[] = {
	{ "host", .value = "NAME", .help = "only this host", COMMAND_AT(struct sweep_options, host) },
	{ "since", .value = "TIME",
	  .help = "look at the time since 2026-11-21T03:48:15Z, or since 2h or 3d ago (default: 30d)",
	  COMMAND_AT(struct sweep_options, since) },
	{ "until", .value = "TIME", .help = "up to this time (default: now)", COMMAND_AT(struct sweep_options, until) },
	{ "limit", 'n', "N", "print at most N findings, the most worth first (default 20; 0: all of them)",
	  .max = LIMIT_MOST, COMMAND_AT(struct sweep_options, limit) },
	{ "watch", .value = "INTERVAL", .help = "look again each 10s, 5m, ..., and print only findings that are new or over",
	  COMMAND_AT(struct sweep_options, watch) },
	{ "set", .value = "NAME=VALUE", .help = "change a threshold, such as idle-after-run.idle=3600; may be repeated",
	  COMMAND_AT(struct sweep_options, set) },
	{ "list", .help = "print the kinds of findings with their thresholds, and look at no lake",
	  COMMAND_AT(struct sweep_options, list) },
	{ "json", .help = "print the answer as JSON, for programs", COMMAND_AT(struct sweep_options, json) },
	{ "width", .value = "N", .help = "columns of the text (80 to 400; default: the terminal's)", .min = 80,
	  .max = 400, COMMAND_AT(struct sweep_options, width) },
	PRICE_FILE_OPTION(struct sweep_options, prices),
	QUESTION_LAKE(struct sweep_options, lake),
	{ 0 },
};

static int run_sweep(int argc, char **argv);

const struct command cmd_sweep = {
	.name = "sweep",
	.summary = "find waste: idle hosts and GPUs, and what runs left behind",
	.options = options,
	.notes =
		"skep sweep reads a lake and changes nothing. It finds hosts that are idle or that stay on after their last run, "
		"containers and processes that outlive their run, GPUs that are held and not used, and runs that do nothing. "
		"Findings come in the order of their worth: what the host's cores, memory and GPUs would have done for others in "
		"these windows, in core-hours (a GiB-hour of memory counts 0.13 of them, a GPU-hour 30). With a file of prices (see skep cost) it "
		"is money; a finding on a host without a price comes last.\n"
		"A window has no break: a gap in the records ends it and is never idle. The last useful process is the process "
		"that ended last in the last run before the window.\n",
	.run = run_sweep,
};

/* Looks at the lake. The caller frees the look. SKEP_EXIT_OK, or an exit status after a message. */
static int look_at(const struct sweep_options *o, const struct price_table *prices,
		   const struct analysis_setting *settings, size_t n, struct sweep_look *look, struct lake **ret_lake)
{
	char why[1024] = "";
	int status = moment_span("sweep", o->since, o->until, SINCE_NS, clock_realtime_ns(), &look->since_ns, &look->until_ns);

	look->prices = prices;
	look->unit = prices ? price_currency(prices) : SWEEP_UNIT;
	if (status == SKEP_EXIT_OK)
		status = question_open("sweep", o->lake, NULL, look->since_ns, ret_lake);
	if (status == SKEP_EXIT_OK && sweep_look_at(*ret_lake, o->host, settings, n, look, why, sizeof(why)) != 0)
		status = skep_fail("sweep", SKEP_EXIT_RUNTIME, "%s", why);
	return status;
}

static int print(const struct sweep_options *o, const struct sweep_look *look)
{
	const struct paint_style style = { .width = (unsigned)o->width };
	int rc = o->json ? sweep_json(look, stdout) : sweep_text(look, o->limit, stdout, &style);

	if (rc)
		return skep_fail("sweep", SKEP_EXIT_RUNTIME, "cannot write the answer: %s", strerror(-rc));
	sweep_say_doubts(look);
	return SKEP_EXIT_OK;
}

static int watch(const struct sweep_options *o, const struct price_table *prices,
		 const struct analysis_setting *settings, size_t n, uint64_t interval_ns, struct sweep_look *before)
{
	const struct timespec interval = { .tv_sec = (time_t)(interval_ns / 1000000000),
					   .tv_nsec = (long)(interval_ns % 1000000000) };
	const struct paint_style style = { .width = (unsigned)o->width };
	int status = SKEP_EXIT_OK;

	while (status == SKEP_EXIT_OK) {
		struct sweep_look now = { 0 };
		struct lake *lake = NULL;
		int rc;

		nanosleep(&interval, NULL);
		status = look_at(o, prices, settings, n, &now, &lake);
		if (status == SKEP_EXIT_OK) {
			rc = sweep_changes(before, &now, stdout, &style);
			if (rc)
				status = skep_fail("sweep", SKEP_EXIT_RUNTIME, "cannot write the answer: %s",
						   strerror(-rc));
			sweep_look_free(before);
			*before = now;
		} else {
			sweep_look_free(&now);
		}
		lake_close(lake);
	}
	return status;
}

static int answer(const struct sweep_options *o, const struct analysis_setting *settings, size_t n,
		  uint64_t interval_ns)
{
	struct sweep_look look = { 0 };
	struct price_table *prices = NULL;
	struct lake *lake = NULL;
	int status = price_file_open("sweep", o->prices, &prices);

	if (status == SKEP_EXIT_OK)
		status = look_at(o, prices, settings, n, &look, &lake);
	if (status == SKEP_EXIT_OK)
		status = print(o, &look);
	if (status == SKEP_EXIT_OK)
		status = question_partial("sweep", lake, NULL);
	lake_close(lake);
	if (o->watch && look.sweep && (status == SKEP_EXIT_OK || status == SKEP_EXIT_RUNTIME))
		status = watch(o, prices, settings, n, interval_ns, &look);
	sweep_look_free(&look);
	price_table_free(prices);
	return status;
}

static int run_sweep(int argc, char **argv)
{
	struct sweep_options o = { .limit = LIMIT_DEFAULT };
	struct settings settings = { 0 };
	uint64_t interval_ns = 0;
	int status = command_parse(&cmd_sweep, argc, argv, &o);

	if (status >= 0)
		return status;
	if (o.watch && (config_time(o.watch, &interval_ns) != 0 || interval_ns < 100000000))
		status = skep_usage("sweep", "--watch '%s' is no interval of 100ms or more; give one like 10s or 5m",
				    o.watch);
	else if (o.watch && (o.json || o.until))
		status = skep_usage("sweep", "--watch and --%s: one of them", o.json ? "json" : "until");
	else if (o.list)
		status = kinds_list("sweep", sweep_kinds, NULL, o.json, (unsigned)o.width);
	else
		status = settings_read("sweep", o.set, sweep_setting_known, &settings);
	if (status == SKEP_EXIT_OK && !o.list)
		status = answer(&o, settings.list, settings.n, interval_ns);
	settings_free(&settings);
	free(o.set);
	return status;
}
