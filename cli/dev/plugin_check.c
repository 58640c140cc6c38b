/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/plugin_check.c - `skep-dev check`: runs its checks and prints their findings.
 */
#include "cli/dev/plugin_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/json_out.h"
#include "cli/base/skep.h"
#include "cli/base/text.h"

struct check_options {
	const char **options;
	unsigned long samples;
	bool submit, no_start, json;
};

static const struct command_option options[] = {
	{ "option", .value = "NAME=VALUE",
	  .help = "an option of the plugin, as in a configuration; a list as NAME=A,B; may be repeated",
	  COMMAND_AT(struct check_options, options) },
	{ "samples", .value = "N", .help = "how many times to call sample() (default 3)", .max = 100000,
	  COMMAND_AT(struct check_options, samples) },
	{ "submit", .help = "give a sink a batch of two records, which it sends to its receiver",
	  COMMAND_AT(struct check_options, submit) },
	{ "no-start", .help = "call only open() and close(), which change nothing outside the process",
	  COMMAND_AT(struct check_options, no_start) },
	{ "json", .help = "print one JSON object, for programs", COMMAND_AT(struct check_options, json) },
	{ 0 },
};

static int run_check(int argc, char **argv);

const struct command cmd_check = {
	.name = "check",
	.operands = "FILE.so",
	.summary = "check that a plugin keeps the contract of the plugin host",
	.about =
		"skep-dev looks at the plugin's file, ABI, exports and tables. Then it loads the plugin in a process "
		"of its own and leads it through its life (open, start, sample, stop, close) under the mock host of "
		"skep/mock.h.\n",
	.options = options,
	.notes =
		"skep-dev needs no daemon. `skep plugins` shows the plugins of a running skepd.\n"
		"\n"
		"Exit codes: 0 sound, or warnings only; 1 defects; 2 usage; 4 sound so far, but the plugin could not "
		"start without privilege; 5 built for another plugin ABI, or not a plugin.\n",
	.most = -1,
	.run = run_check,
};

static json_t *to_json(const struct findings *f, const char *path, int status)
{
	json_t *list = json_array(), *o;

	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:o}", "severity", finding_severity_name(f->at[i].severity),
						"check", f->at[i].check, "text", json_out_string(f->at[i].text)));
	o = json_pack("{s:o, s:b, s:I, s:I, s:i, s:o}", "file", json_out_string(path), "sound", f->errors == 0,
		      "errors", (json_int_t)f->errors, "warnings", (json_int_t)f->warnings, "exit_code", status,
		      "findings", list);
	return o;
}

static void print(const struct findings *f, const char *path)
{
	printf("%s\n", path);
	for (size_t i = 0; i < f->n; i++)
		printf("  %-8s %-10s %s\n", finding_severity_name(f->at[i].severity), f->at[i].check, f->at[i].text);
	if (f->errors == 0 && f->warnings == 0)
		puts("sound");
	else
		printf("%s: %zu error%s, %zu warning%s\n", f->errors ? "not sound" : "sound", f->errors,
		       f->errors == 1 ? "" : "s", f->warnings, f->warnings == 1 ? "" : "s");
}

/* NAME of a path .../NAME.so, which the caller frees; NULL: another kind of name. */
static char *stem_of(const char *path)
{
	const char *base = strrchr(path, '/');
	size_t len;

	base = base ? base + 1 : path;
	len = strlen(base);
	return len > 3 && strcmp(base + len - 3, ".so") == 0 ? strndup(base, len - 3) : NULL;
}

/* try: filled in except dir and name. */
static int check(const char *path, struct plugin_try try, bool json)
{
	char *stem = stem_of(path), *dir = strdup(path);
	struct findings f;
	int status;

	if (!stem || !dir) {
		free(stem);
		free(dir);
		return skep_usage("check", "%s: a plugin is a file NAME.so", path);
	}
	if (strrchr(dir, '/'))
		strrchr(dir, '/')[strrchr(dir, '/') == dir] = '\0';
	else
		strcpy(dir, "."); /* path has ".so" at least, so there is room */
	try.dir = dir;
	try.name = stem;
	findings_init(&f, -1);
	status = plugin_try(&f, &try);
	plugin_exports_check(&f, path);
	for (size_t i = 0; i < f.n; i++)
		if (f.at[i].severity == FINDING_ERROR)
			status = status == SKEP_EXIT_ABI || strcmp(f.at[i].check, "exports") == 0 ? SKEP_EXIT_ABI
												  : SKEP_EXIT_RUNTIME;
	if (json)
		json_out_write(to_json(&f, path, status), stdout);
	else
		print(&f, path);
	findings_clear(&f);
	free(stem);
	free(dir);
	return status;
}

static int run_check(int argc, char **argv)
{
	static const char *const nothing[] = { NULL };
	struct check_options o = { .samples = 3 };
	int status = command_parse(&cmd_check, argc, argv, &o);

	if (status < 0 && argc - optind != 1)
		status = skep_usage("check", "takes one file, %d were given", argc - optind);
	else if (status < 0)
		status = check(argv[optind],
			       (struct plugin_try) { .options = o.options ? o.options : (const char *const *)nothing,
						     .samples = (unsigned)o.samples,
						     .start = !o.no_start,
						     .submit = o.submit },
			       o.json);
	free(o.options);
	return status;
}
