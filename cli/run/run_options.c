/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run_options.c - the descriptor of `skep run`, and its command line.
 */
#include "cli/run/run_options.h"

#include <stdlib.h>

#include "cli/base/command.h"
#include "cli/base/skep.h"
#include "cli/run/run.h"
#include "core/config/config.h"

static const struct command_option options[] = {
	{ "name", .value = "NAME", .help = "name of this run (default: the tool that CMD starts)",
	  COMMAND_AT(struct run_options, name) },
	{ "pipeline", .value = "NAME", .help = "name of the work that runs again and again (default: the tool)",
	  COMMAND_AT(struct run_options, pipeline) },
	{ "task", .value = "NAME",
	  .help = "begin no run: CMD is this task of the run around it, or this step of its engine's task",
	  .min = 1, COMMAND_AT(struct run_options, task) },
	{ "lake", .value = "FOLDER",
	  .help = "where skep keeps the run (default: $SKEP_LAKE, /var/lib/skep/lake for root, else "
		  "~/.local/share/skep/lake; without the privilege to collect: skepd's)",
	  .min = 1, COMMAND_AT(struct run_options, lake) },
	{ "html", .value = "FILE", .help = "write the report as a page for a browser as well, in one file",
	  COMMAND_AT(struct run_options, html) },
	{ "json", .value = "FILE", .help = "write the report as JSON as well; - for stdout",
	  COMMAND_AT(struct run_options, json) },
	{ "no-report", .help = "print no report", COMMAND_AT(struct run_options, no_report) },
	{ "no-live", .help = "no live figures in the terminal's title while it runs", COMMAND_AT(struct run_options, no_live) },
	{ "interval", .value = "TIME", .help = "how often skep samples live processes (default: " DEFAULT_INTERVAL ")",
	  COMMAND_AT(struct run_options, interval) },
	{ "otlp", .value = "URL",
	  .help = "send the run as a trace, with metrics and logs, to an OpenTelemetry receiver as well; - for "
		  "$OTEL_EXPORTER_OTLP_ENDPOINT",
	  COMMAND_AT(struct run_options, otlp) },
	{ "otlp-wait", .value = "TIME",
	  .help = "how long skep waits for that receiver after CMD's end (default: " DEFAULT_OTLP_WAIT ")",
	  COMMAND_AT(struct run_options, otlp_wait) },
	{ "detail", .value = "NAME",
	  .help = "measure this detail too and show it after the report, such as runqlat, offcpu, cuda; may be "
		  "repeated; an unknown name lists all",
	  COMMAND_AT(struct run_options, detail) },
	{ "plugin-dir", .value = "DIR", .help = "load plugins from there; may be repeated", .chooses_code = true,
	  COMMAND_AT(struct run_options, plugin_dir) },
	{ 0 },
};

const struct command cmd_run = {
	.name = "run",
	.operands = "[--] CMD [ARG...]",
	.summary = "run a command and report all that it ran",
	.about =
		"Runs CMD, follows all its descendants, and prints a report of their work and cost to stderr (stdout "
		"is CMD's). If a running skepd writes the lake of this run, skepd collects the run, and you need no "
		"privilege. Else skep run collects it, as root or with CAP_BPF and CAP_PERFMON.\n",
	.options = options,
	.notes =
		"Where skepd collects, it has its own configuration: skep run refuses --interval, --otlp, --otlp-wait "
		"and --plugin-dir there; give a lake of your own with --lake.\n"
		"\n"
		"CMD runs in the same process group, session and terminal, with the same signals, limits, descriptors and "
		"environment, plus SKEP_RUN=<id of the run>. With --otlp, skep also sets TRACEPARENT, so that spans of "
		"CMD become children of the run's span; if skep itself finds a TRACEPARENT, the run's span becomes a "
		"child of that span. skep passes a signal sent to skep alone on to CMD, and stops when CMD stops. If CMD "
		"makes a process group of its own, as timeout does, skep gives it the terminal and the terminal's signals. "
		"While skep makes the report after CMD's end, SIGTERM or Ctrl-C twice ends it at once.\n"
		"\n"
		"With --task NAME, skep run reports a task to the skepd that collects here, sets SKEP_TASK=NAME for a skep "
		"run around it, and then becomes CMD: the same process, with no report. It needs no privilege. Where no "
		"skepd and no skep run collects, CMD just runs.\n"
		"\n"
		"Exit status: CMD's; 127 when CMD is not found and 126 when it cannot be executed (the run is kept with "
		"that status). When a signal killed CMD, skep prints the report and dies of the same signal: a shell shows "
		"128 + signal, and Ctrl-C also ends a loop around skep run. Before CMD starts: 1 a failure, 2 wrong usage, "
		"3 wrong configuration, 4 a missing privilege or kernel feature, 5 a plugin of another version; a signal "
		"ends skep.\n",
	.most = -1,
	.passes_on = true,
	.collects = true,
	.run = run_command,
};

int run_options_parse(int argc, char **argv, struct run_options *o)
{
	uint64_t interval, wait;
	int status = command_parse(&cmd_run, argc, argv, o);

	if (status >= 0)
		return status;
	if (o->interval && (config_time(o->interval, &interval) < 0 || interval == 0))
		return skep_usage("run", "--interval %s: not a time above zero, such as 500ms or 5s", o->interval);
	if (o->otlp_wait && config_time(o->otlp_wait, &wait) < 0)
		return skep_usage("run", "--otlp-wait %s: not a time, such as 5s, or 0s for not at all", o->otlp_wait);
	for (const char **name = o->detail; name && *name; name++)
		if (run_detail_add(&o->details, *name) < 0)
			return skep_fail("run", SKEP_EXIT_RUNTIME, "out of memory");
	for (const char **dir = o->plugin_dir; dir && *dir; dir++) {
		if (!o->plugin_dirs)
			o->plugin_dirs = json_array();
		if (!o->plugin_dirs || json_array_append_new(o->plugin_dirs, json_string(*dir)) < 0)
			return skep_usage("run", "--plugin-dir %s: not a path in UTF-8", *dir);
	}
	if (o->task && (o->name || o->pipeline || o->lake || o->json || o->no_report || o->no_live || o->interval ||
			o->otlp || o->otlp_wait || o->detail || o->plugin_dir))
		return skep_usage("run", "--task marks a step of the run around it, so it takes no other option");
	if (optind == argc || !*argv[optind])
		return skep_usage("run", "no command to run");
	o->command = argv + optind;
	return SKEP_EXIT_OK;
}

void run_options_free(struct run_options *options)
{
	json_decref(options->plugin_dirs);
	run_detail_free(options->details);
	free(options->detail);
	free(options->plugin_dir);
}
