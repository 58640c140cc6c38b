/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/plugins.c - `skep plugins`: prints the plugins that a running skepd has loaded, or with a
 * name the details of one plugin.
 */
#include <errno.h>
#include <string.h>

#include "cli/base/answer.h"
#include "cli/base/ctl.h"
#include "cli/base/human.h"
#include "cli/base/json_out.h"
#include "cli/base/signals_text.h"
#include "cli/base/skep.h"
#include "cli/base/table.h"
#include "cli/status.h"

static int run_plugins(int argc, char **argv);

const struct command cmd_plugins = {
	.name = "plugins",
	.operands = "[NAME]",
	.summary = "list the running skepd's plugins, or show one in detail",
	.options = answer_options,
	.notes = "With NAME: the plugin's signals, details, counters, and its cost for the daemon. "
		 "busy is the time in its callbacks, worst the longest callback; a callback that takes longer than "
		 "its budget is an overrun. skepd --list-plugins lists the plugins that skepd could load.\n",
	.most = 1,
	.run = run_plugins,
};

int plugins_print(const json_t *o, FILE *out, const struct paint_style *style)
{
	static const struct table_column columns[] = {
		{ .title = "plugin", .left = true },
		{ .title = "kind", .left = true },
		{ .title = "version", .left = true },
		{ .title = "state", .left = true },
		{ .title = "signals", .left = true },
		{ .title = "busy" },
		{ .title = "worst" },
		{ .title = "overruns" },
		{ .title = "", .left = true, .flex = true },
	};
	struct table *t = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	const json_t *list = json_object_get(o, "plugins"), *one;
	char a[HUMAN_SIZE];
	struct paint p;
	size_t i;
	int rc;

	if (!t)
		return -ENOMEM;
	paint_init(&p, out, style);
	json_array_foreach(list, i, one) {
		const json_t *signals = json_object_get(one, "signals"), *signal;
		size_t had = 0, n = json_array_size(signals), k;
		const char *state = answer_text(one, "state");

		json_array_foreach(signals, k, signal) had += strcmp(answer_text(signal, "state"), "ok") == 0 ||
							      strcmp(answer_text(signal, "state"), "partial") == 0;
		answer_cell(t, &p, INK_BOLD, answer_text(one, "name"), "?");
		answer_cell(t, &p, INK_NONE, answer_text(one, "kind"), "?");
		answer_cell(t, &p, INK_NONE, answer_text(one, "version"), "?");
		answer_cell(t, &p, state_ink(state), state, "?");
		if (n > 0)
			table_cell(t, had < n ? INK_YELLOW : INK_NONE, "%zu of %zu", had, n);
		else
			table_cell(t, INK_NONE, "-");
		table_cell(t, INK_NONE, "%s", human_time(answer_u64(one, "busy_ns"), paint_units(&p), a));
		table_cell(t, INK_NONE, "%s", human_time(answer_u64(one, "worst_ns"), paint_units(&p), a));
		table_cell(t, answer_u64(one, "overruns") ? INK_YELLOW : INK_NONE, "%s",
			   human_count(answer_u64(one, "overruns"), a));
		answer_cell(t, &p, INK_NONE, answer_text(one, "reason"), "");
	}
	rc = table_print(t, &p, 0, 2);
	table_free(t);
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}

static int counters_print(const json_t *counters, const struct paint *p)
{
	static const struct table_column columns[] = {
		{ .title = NULL, .left = true }, { .title = NULL }, { .title = NULL, .left = true, .flex = true }
	};
	struct table *t;
	const char *name;
	json_t *one;
	char a[HUMAN_SIZE];
	int rc;

	if (json_object_size(counters) == 0)
		return 0;
	t = table_new(columns, 3);
	if (!t)
		return -ENOMEM;
	json_object_foreach((json_t *)(uintptr_t)counters, name, one) {
		answer_cell(t, p, INK_NONE, name, "?");
		table_cell(t, INK_NONE, "%s", human_count(answer_u64(one, "value"), a));
		answer_cell(t, p, INK_DIM, answer_text(one, "help"), "");
	}
	paint(p, INK_BOLD, "\ncounters\n");
	rc = table_print(t, p, 2, 2);
	table_free(t);
	return rc;
}

int plugin_print(const json_t *o, FILE *out, const struct paint_style *style)
{
	const char *state = answer_text(o, "state"), *reason = answer_text(o, "reason");
	char a[HUMAN_SIZE], b[HUMAN_SIZE];
	struct paint p;
	int rc;

	paint_init(&p, out, style);
	answer_print(&p, INK_BOLD, answer_text(o, "name"));
	fputs(": ", out);
	answer_print(&p, INK_NONE, answer_text(o, "kind"));
	fputs(" ", out);
	answer_print(&p, INK_NONE, answer_text(o, "plugin"));
	fputs(" ", out);
	answer_print(&p, INK_NONE, answer_text(o, "version"));
	fprintf(out, ", ABI %lld.%lld, ", (long long)answer_i64(o, "abi_major"), (long long)answer_i64(o, "abi_minor"));
	answer_print(&p, state_ink(state), state);
	if (*reason) {
		fputs(": ", out);
		answer_print(&p, INK_NONE, reason);
	}
	fputs("\n", out);
	answer_print(&p, INK_DIM, answer_text(o, "path"));
	fprintf(out, "\nbusy %s, worst callback %s", human_time(answer_u64(o, "busy_ns"), paint_units(&p), a),
		human_time(answer_u64(o, "worst_ns"), paint_units(&p), b));
	fprintf(out, " (budget %s, %s overruns)\n", human_time(answer_u64(o, "budget_ns"), paint_units(&p), a),
		human_count(answer_u64(o, "overruns"), b));
	if (json_array_size(json_object_get(o, "signals")) > 0) {
		paint(&p, INK_BOLD, "\nsignals\n");
		signals_print(json_object_get(o, "signals"), &p, 2);
	}
	if (json_array_size(json_object_get(o, "details")) > 0) {
		paint(&p, INK_BOLD, "\ndetails\n");
		details_print(json_object_get(o, "details"), &p, 2);
	}
	rc = counters_print(json_object_get(o, "counters"), &p);
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}

static int one_plugin(const char *name, const struct answer_options *options)
{
	json_t *answer = NULL;
	const json_t *one, *found = NULL;
	struct ctl *ctl = NULL;
	int rc = 0, status = ctl_open("plugins", options->socket, &ctl);
	size_t i;

	if (status)
		return status;
	status = ctl_ask("plugins", ctl, json_pack("{s:s}", "request", "plugins"), &answer);
	ctl_close(ctl);
	if (status)
		return status;
	json_array_foreach(json_object_get(answer, "plugins"), i, one)
		if (strcmp(answer_text(one, "name"), name) == 0)
			found = one;
	if (!found)
		status = skep_fail("plugins", SKEP_EXIT_RUNTIME,
				   "skepd has no plugin named '%s'; skep plugins lists them", name);
	else if (options->json)
		rc = json_out_write(json_incref((json_t *)(uintptr_t)found), stdout);
	else
		rc = plugin_print(found, stdout, NULL);
	json_decref(answer);
	if (rc)
		return skep_fail("plugins", SKEP_EXIT_RUNTIME, "cannot write the answer: %s", strerror(-rc));
	return status;
}

static int run_plugins(int argc, char **argv)
{
	struct answer_options options = { 0 };
	int status = command_parse(&cmd_plugins, argc, argv, &options);

	if (status >= 0)
		return status;
	if (optind < argc)
		return one_plugin(argv[optind], &options);
	return answer_command("plugins", "plugins", &options, plugins_print);
}
