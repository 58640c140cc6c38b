/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter.c - `skep filter`: its options, and the rules that they mean.
 */
#include "cli/filter.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/report_json.h"
#include "cli/skep.h"
#include "core/rules_file.h"
#include "core/rules_schema.h"
#include "filters/suggest.h"

#define CONFIG_FILE SKEP_SYSCONF_DIR "/skepd.conf"

const char cmd_filter_help[] =
	"skep filter test EXPRESSION [FILE]      which processes an expression is true of\n"
	"skep filter test [--rules PATH...] [FILE]\n"
	"                                        which rule takes which processes\n"
	"skep filter explain PID [--rules PATH...]\n"
	"                                        why a process is taken by its rule, and not by one before\n"
	"skep filter schema                      the JSON Schema of rule files, for editors\n"
	"\n"
	"Processes are those that live here, or those of FILE, which skepd's sink \"file\" has written\n"
	"(\"-\": from standard input). No daemon is asked and nothing changes.\n"
	"\n"
	"  --rules PATH    rules from this file, or from the *.json of this folder; may be given often\n"
	"  --config FILE   the rules, packs and tables of that configuration\n"
	"                  (default: " CONFIG_FILE ")\n"
	"  --live          the processes that live here (the default)\n"
	"  --processes     each process and its rule, not only sums\n"
	"  --all           rules that took nothing as well\n"
	"  --json          for programs: one object\n"
	"\n"
	"Exit codes: 0 ok, 1 cannot read, 2 usage, 3 an expression, a rule or the configuration is wrong.\n";

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

/* ---- what the options mean ------------------------------------------------------------- */

static int load_expression(const char *text, struct ruleset **ret)
{
	struct ruleset *set = ruleset_new(&judge_schema, RULE_EXCLUDE);
	const struct rule_spec spec = { .id = "expression", .when = text, .when_len = strlen(text), .verdict = RULE_INCLUDE };
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
		err = rules_load_files(o->rules, config && config->filters.exclude ? RULE_EXCLUDE : RULE_INCLUDE, &diag, ret_set);
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

static int run(const struct filter_options *o, int (*what)(const struct filter_options *, const struct ruleset *, struct people *))
{
	struct config *config = NULL;
	struct ruleset *set = NULL;
	struct people people = { 0 };
	int status = filter_load(o, &config, &set);

	if (status)
		return status;
	status = o->recorded ? people_recorded("filter", o->recorded, &people) : people_live("filter", config, &people);
	if (!status) {
		people_judge(&people, set);
		status = what(o, set, &people);
		people_free(&people);
	}
	ruleset_unref(set);
	config_free(config);
	return status;
}

/* ---- the command line ------------------------------------------------------------------- */

static const struct option longs[] = {
	{ "rules", required_argument, NULL, 'r' }, { "config", required_argument, NULL, 'c' }, { "live", no_argument, NULL, 'l' },
	{ "processes", no_argument, NULL, 'p' },   { "all", no_argument, NULL, 'a' },	       { "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },	   { 0 },
};

static int parse(int argc, char **argv, struct filter_options *o, bool *ret_live)
{
	size_t n = 0;
	int got;

	optind = 0; /* GNU: begin anew */
	opterr = 0;
	while ((got = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
		switch (got) {
		case 'r':
			if (!o->rules)
				o->rules = calloc((size_t)argc, sizeof(*o->rules));
			if (!o->rules)
				return skep_fail("filter", SKEP_EXIT_RUNTIME, "out of memory");
			o->rules[n++] = optarg;
			break;
		case 'c':
			o->config = optarg;
			break;
		case 'l':
			*ret_live = true;
			break;
		case 'p':
			o->processes = true;
			break;
		case 'a':
			o->all = true;
			break;
		case 'j':
			o->json = true;
			break;
		case 'h':
			return skep_help("filter");
		default:
			return skep_usage_option("filter", got, argv, longs);
		}
	}
	return -1;
}

static int test(int argc, char **argv, struct filter_options *o, bool live)
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
		return skep_usage("filter", "what is '%s'? An expression is one argument: put it in double quotes", *argv);
	if (live && o->recorded)
		return skep_usage("filter", "--live or the file %s: one of them", o->recorded);
	if (!o->expression && !o->rules && !o->config)
		o->config = CONFIG_FILE;
	return run(o, filter_test);
}

static int explain(int argc, char **argv, struct filter_options *o)
{
	unsigned long pid;
	char *end;

	if (argc != 1)
		return skep_usage("filter", argc ? "what is '%s'?" : "explain whom? skep filter explain PID", argc ? argv[1] : "");
	errno = 0;
	pid = strtoul(argv[0], &end, 10);
	if (argv[0][0] < '0' || argv[0][0] > '9' || *end || errno || pid == 0 || pid > UINT32_MAX)
		return skep_usage("filter", "'%s' is no process id", argv[0]);
	o->pid = (uint32_t)pid;
	if (!o->rules && !o->config)
		o->config = CONFIG_FILE;
	return run(o, filter_explain);
}

static int schema(int argc, char **argv)
{
	json_t *o;
	int err;

	if (argc > 0)
		return skep_usage("filter", "what is '%s'?", argv[0]);
	o = rules_schema();
	err = o ? report_json_write(o, stdout) : -ENOMEM;
	return err ? skep_fail("filter", SKEP_EXIT_RUNTIME, "cannot write the schema: %s", strerror(-err)) : SKEP_EXIT_OK;
}

int cmd_filter(int argc, char **argv)
{
	static const char *const words[] = { "test", "explain", "schema", NULL };
	struct filter_options o = { 0 };
	const char *near, *word;
	bool live = false;
	int status = parse(argc, argv, &o, &live);

	if (status >= 0)
		goto out;
	if (optind == argc) {
		status = skep_usage("filter", "test, explain or schema?");
		goto out;
	}
	word = argv[optind++];
	if (strcmp(word, "test") == 0) {
		status = test(argc - optind, argv + optind, &o, live);
	} else if (strcmp(word, "explain") == 0) {
		status = explain(argc - optind, argv + optind, &o);
	} else if (strcmp(word, "schema") == 0) {
		status = schema(argc - optind, argv + optind);
	} else {
		near = suggest_nearest(word, words);
		status = skep_usage("filter", "'%s' is none of test, explain, schema%s%s%s", word, near ? "; did you mean " : "", near ? near : "",
				    near ? "?" : "");
	}
out:
	free(o.rules);
	return status;
}
