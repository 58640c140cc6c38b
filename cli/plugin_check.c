/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/plugin_check.c - `skep plugin check`: puts together what its parts find, and says it.
 */
#include "cli/plugin_check.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plugin.h"
#include "cli/report_json.h"
#include "cli/skep.h"
#include "cli/text.h"

static json_t *to_json(const struct findings *f, const char *path, int status)
{
	json_t *list = json_array(), *o;

	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "severity", finding_severity_name(f->at[i].severity), "check",
						      f->at[i].check, "text", report_json_string(f->at[i].text)));
	o = json_pack("{s:o, s:b, s:I, s:I, s:i, s:o}", "file", report_json_string(path), "sound", f->errors == 0, "errors",
		      (json_int_t)f->errors, "warnings", (json_int_t)f->warnings, "exit_code", status, "findings", list);
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
		printf("%s: %zu error%s, %zu warning%s\n", f->errors ? "not sound" : "sound", f->errors, f->errors == 1 ? "" : "s", f->warnings,
		       f->warnings == 1 ? "" : "s");
}

/* A name of NAME.so; NULL: it is another. To be freed. */
static char *stem_of(const char *path)
{
	const char *base = strrchr(path, '/');
	size_t len;

	base = base ? base + 1 : path;
	len = strlen(base);
	return len > 3 && strcmp(base + len - 3, ".so") == 0 ? strndup(base, len - 3) : NULL;
}

/* try: all but where. */
static int check(const char *path, struct plugin_try try, bool json)
{
	char *stem = stem_of(path), *dir = strdup(path);
	struct findings f;
	int status;

	if (!stem || !dir) {
		free(stem);
		free(dir);
		return skep_usage("plugin", "%s: a plugin is a file NAME.so", path);
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
			status = status == SKEP_EXIT_ABI || strcmp(f.at[i].check, "exports") == 0 ? SKEP_EXIT_ABI : SKEP_EXIT_RUNTIME;
	if (json)
		report_json_write(to_json(&f, path, status), stdout);
	else
		print(&f, path);
	findings_clear(&f);
	free(stem);
	free(dir);
	return status;
}

int plugin_check(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "option", required_argument, NULL, 'o' }, { "samples", required_argument, NULL, 'n' },
		{ "no-start", no_argument, NULL, 's' },	    { "submit", no_argument, NULL, 'b' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },	    { NULL, 0, NULL, 0 },
	};
	const char **options = calloc((size_t)argc + 1, sizeof(*options));
	unsigned long samples = 3;
	bool start = true, submit = false, json = false;
	int c, n = 0, status;
	char *end;

	if (!options)
		return skep_fail("plugin", SKEP_EXIT_RUNTIME, "out of memory");
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, ":h", longs, NULL)) >= 0) {
		switch (c) {
		case 'o':
			options[n++] = optarg;
			break;
		case 'n':
			errno = 0;
			samples = strtoul(optarg, &end, 10);
			if (errno || end == optarg || *end || samples > 100000) {
				status = skep_usage("plugin", "--samples %s: a number up to 100000 is expected", optarg);
				goto out;
			}
			break;
		case 's':
			start = false;
			break;
		case 'b':
			submit = true;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			status = skep_help("plugin");
			goto out;
		default:
			status = skep_usage_option("plugin", c, argv, longs);
			goto out;
		}
	}
	if (argc - optind != 1)
		status = skep_usage("plugin", "check takes one file, %d were given", argc - optind);
	else
		status = check(argv[optind], (struct plugin_try){ .options = options, .samples = (unsigned)samples, .start = start, .submit = submit }, json);
out:
	free(options);
	return status;
}
