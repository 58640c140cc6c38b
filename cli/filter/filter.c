/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter/filter.c - `skep filter`: its options, and the rules that they select.
 */
#include "cli/filter/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/json_out.h"
#include "cli/base/skep.h"
#include "core/rules/rules_file.h"
#include "core/rules/rules_schema.h"

#define CONFIG_FILE SKEP_SYSCONF_DIR "/skepd.conf"

static const struct command_option words[] = {
	{ "test", .value = "[EXPRESSION] [FILE]",
	  .help = "processes for which an expression is true; with --rules or --config: which rule decides about "
		  "which processes" },
	{ "explain", .value = "PID", .help = "why a rule decides about a process, and no earlier rule" },
	{ "schema", .help = "the JSON Schema of rule files, for editors" },
	{ 0 },
};

static const struct command_option options[] = {
	{ "rules", .value = "PATH",
	  .help = "rules from this file, or from the *.json of this folder; may be repeated",
	  COMMAND_AT(struct filter_options, rules) },
	{ "config", .value = "FILE",
	  .help = "the rules, packs and tables of this configuration (default: " CONFIG_FILE ")",
	  COMMAND_AT(struct filter_options, config) },
	{ "live", .help = "the live processes of this host (the default)", COMMAND_AT(struct filter_options, live) },
	{ "processes", .help = "each process and its rule, not only sums",
	  COMMAND_AT(struct filter_options, processes) },
	{ "all", .help = "also rules that match no process", COMMAND_AT(struct filter_options, all) },
	{ "json", .help = "print one JSON object, for programs", COMMAND_AT(struct filter_options, json) },
	{ 0 },
};

static int run_filter(int argc, char **argv);

const struct command cmd_filter = {
	.name = "filter",
	.summary = "try rules on processes, and show which rule decides about each, and why",
	.about = "skep reads the live processes of this host, or the processes in FILE, a file of skepd's sink "
		 "\"file\" (\"-\": standard input). It needs no daemon and changes nothing.\n",
	.words = words,
	.options = options,
	.notes = "Exit codes: 0 ok, 1 cannot read, 2 usage, 3 an expression, a rule or the configuration is wrong.\n",
	.most = -1,
	.run = run_filter,
};

const char *filter_verdict(const struct rule *r, char *to, size_t size)
{
	switch (r->verdict) {
	case RULE_INCLUDE:
		return "include";
	case RULE_EXCLUDE:
		return "exclude";
	default:
		snprintf(to, size, "1 in %u", r->sample);
		return to;
	}
}

/* ---- rules of the options -------------------------------------------------------------- */

static int load_expression(const char *text, struct ruleset **ret)
{
	struct ruleset *set = ruleset_new(&rule_fields_schema, RULE_EXCLUDE);
	const struct rule_spec spec = {
		.id = "expression", .when = text, .when_len = strlen(text), .verdict = RULE_INCLUDE
	};
	struct filter_error error;
	char shown[4 * FILTER_SHOWN + 16];
	int err;

	if (!set)
		return skep_fail("filter", SKEP_EXIT_RUNTIME, "out of memory");
	err = ruleset_add(set, &spec, &error);
	if (!err) {
		*ret = set;
		return SKEP_EXIT_OK;
	}
	ruleset_unref(set);
	if (err != -EINVAL)
		return skep_fail("filter", SKEP_EXIT_RUNTIME, "%s", error.what);
	filter_error_show(&error, text, strlen(text), shown, sizeof(shown));
	skep_fail("filter", SKEP_EXIT_CONFIG, "%u:%u: %s\n%s", error.line, error.column, error.what, shown);
	if (access(text, F_OK) == 0)
		skep_say("filter", "this is the name of a file: for its rules write --rules %s", text);
	return SKEP_EXIT_CONFIG;
}

int filter_load(const struct filter_options *o, struct config **ret_config, struct ruleset **ret_set)
{
	struct config *config = NULL;
	struct diag diag;
	int err = 0;

	if (o->expression)
		return load_expression(o->expression, ret_set);
	diag_init(&diag);
	if (o->config)
		config = config_load(o->config, &diag);
	if (o->config && !config)
		err = -EINVAL;
	else if (o->rules)
		err = rules_load_files(o->rules, config && config->filters.exclude ? RULE_EXCLUDE : RULE_INCLUDE, &diag,
				       ret_set);
	else
		err = rules_load(config, &diag, ret_set);
	diag_print(&diag, stderr);
	diag_clear(&diag);
	if (err) {
		config_free(config);
		return err == -ENOMEM ? SKEP_EXIT_RUNTIME : SKEP_EXIT_CONFIG;
	}
	*ret_config = config;
	return SKEP_EXIT_OK;
}

/* Without options: the rules of the usual configuration. */
static int choose_rules(struct filter_options *o)
{
	if (o->expression || o->rules || o->config)
		return SKEP_EXIT_OK;
	o->config = CONFIG_FILE;
	if (access(CONFIG_FILE, F_OK) == 0 || errno != ENOENT)
		return SKEP_EXIT_OK;
	return skep_fail("filter", SKEP_EXIT_CONFIG, CONFIG_FILE " does not exist: name the configuration of skepd with "
			 "--config FILE, or rules with --rules PATH");
}

static int run(struct filter_options *o,
	       int (*what)(const struct filter_options *, const struct ruleset *, struct filter_processes *))
{
	struct config *config = NULL;
	struct ruleset *set = NULL;
	struct filter_processes processes = { 0 };
	int status = choose_rules(o);

	if (!status)
		status = filter_load(o, &config, &set);
	if (status)
		return status;
	status = o->recorded ? processes_recorded("filter", o->recorded, &processes)
			     : processes_live("filter", config, &processes);
	if (!status) {
		processes_evaluate(&processes, set);
		status = what(o, set, &processes);
		processes_free(&processes);
	}
	ruleset_unref(set);
	config_free(config);
	return status;
}

/* ---- the command line ------------------------------------------------------------------- */

static int test(int argc, char **argv, struct filter_options *o)
{
	if (!o->rules && !o->config && argc > 0) {
		o->expression = *argv++;
		argc--;
	}
	if (argc > 0) {
		o->recorded = *argv++;
		argc--;
	}
	if (argc > 0)
		return skep_usage("filter", "unexpected argument '%s': an expression is one argument; put it in double quotes",
				  *argv);
	if (o->live && o->recorded)
		return skep_usage("filter", "--live and the file %s exclude each other", o->recorded);
	return run(o, filter_test);
}

static int explain(int argc, char **argv, struct filter_options *o)
{
	unsigned long pid;
	char *end;

	if (argc != 1)
		return skep_usage("filter", argc ? "unexpected argument '%s'" : "explain needs a process: skep filter explain PID",
				  argc ? argv[1] : "");
	errno = 0;
	pid = strtoul(argv[0], &end, 10);
	if (argv[0][0] < '0' || argv[0][0] > '9' || *end || errno || pid == 0 || pid > UINT32_MAX)
		return skep_usage("filter", "'%s' is not a process id", argv[0]);
	o->pid = (uint32_t)pid;
	return run(o, filter_explain);
}

static int schema(int argc, char **argv)
{
	json_t *o;
	int err;

	if (argc > 0)
		return skep_usage("filter", "unexpected argument '%s'", argv[0]);
	o = rules_schema();
	err = o ? json_out_write(o, stdout) : -ENOMEM;
	return err ? skep_fail("filter", SKEP_EXIT_RUNTIME, "cannot write the schema: %s", strerror(-err))
		   : SKEP_EXIT_OK;
}

static int run_filter(int argc, char **argv)
{
	struct filter_options o = { 0 };
	int status = command_parse(&cmd_filter, argc, argv, &o);
	const char *word = status < 0 && optind < argc ? argv[optind++] : NULL;

	if (status >= 0)
		;
	else if (word && strcmp(word, "test") == 0)
		status = test(argc - optind, argv + optind, &o);
	else if (word && strcmp(word, "explain") == 0)
		status = explain(argc - optind, argv + optind, &o);
	else if (word && strcmp(word, "schema") == 0)
		status = schema(argc - optind, argv + optind);
	else
		status = command_no_word(&cmd_filter, word);
	free(o.rules);
	return status;
}
