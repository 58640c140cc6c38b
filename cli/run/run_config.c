/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run_config.c - the configuration that a user of skepd would write for one run.
 */
#include "cli/run/run_config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/run.h"
#include "cli/base/skep.h"

/* The plugins that collect: the only list of plugins by name. */
static const struct {
	const char *list, *plugin;
	bool required;
	bool has_path; /* its "path" is the lake */
	bool is_asked_for; /* only with --otlp, which gives its endpoint */
} plugins[] = {
	{ .list = "probes", .plugin = "identity" },
	/* before proc: its posts must be in the ledger when proc's pass ends */
	{ .list = "probes", .plugin = "host" },
	{ .list = "probes", .plugin = "proc", .required = true },
	{ .list = "probes", .plugin = "cgroup" },
	{ .list = "probes", .plugin = "sched" },
	{ .list = "probes", .plugin = "net" },
	{ .list = "probes", .plugin = "io" },
	{ .list = "probes", .plugin = "files" },
	{ .list = "probes", .plugin = "gpu" },
	{ .list = "sinks", .plugin = "lake", .required = true, .has_path = true },
	{ .list = "sinks", .plugin = "otlp", .required = true, .is_asked_for = true },
};

bool run_needs(const char *plugin)
{
	for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++)
		if (strcmp(plugins[i].plugin, plugin) == 0)
			return plugins[i].required && !plugins[i].is_asked_for;
	return false;
}

/*
 * Adds the site's and the user's own tables of that key of skepd's configuration, if any: docs/reference/tools.md,
 * docs/guides/containers.md, docs/reference/recognizers.md.
 */
static int add_tables(json_t *root, const char *name, const char *folder)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
	json_t *list = json_array();
	char *folders[2] = { NULL, NULL };
	int err = 0;

	if (asprintf(&folders[0], "%s/%s.d", SKEP_SYSCONF_DIR, folder) < 0)
		folders[0] = NULL;
	if (config && config[0] == '/')
		err = asprintf(&folders[1], "%s/skep/%s.d", config, folder);
	else if (home && home[0] == '/')
		err = asprintf(&folders[1], "%s/.config/skep/%s.d", home, folder);
	if (err < 0)
		folders[1] = NULL;
	for (size_t i = 0; i < 2; i++) {
		if (folders[i] && access(folders[i], R_OK | X_OK) == 0)
			json_array_append_new(list, json_string(folders[i]));
		free(folders[i]);
	}
	return json_object_set_new(root, name, list);
}

int run_config(const struct run_options *options, const char *lake, struct config **ret)
{
	const char *interval = options->interval ? options->interval : DEFAULT_INTERVAL;
	json_t *root = json_object(), *list, *entry;
	int code = SKEP_EXIT_OK;
	char *text = NULL;
	struct diag diag;

	diag_init(&diag);
	json_object_set_new(root, "interval", json_string(interval));
	if (options->plugin_dirs)
		json_object_set(root, "plugin_dirs", options->plugin_dirs);
	if (add_tables(root, "tools", "tools") < 0 || add_tables(root, "redact", "redact") < 0 ||
	    add_tables(root, "containers", "containers") < 0 || add_tables(root, "recognizers", "workflows") < 0) {
		code = skep_fail("run", SKEP_EXIT_RUNTIME, "out of memory");
		goto out;
	}
	for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++) {
		if (plugins[i].is_asked_for && !options->otlp)
			continue;
		list = json_object_get(root, plugins[i].list);
		if (!list) {
			json_object_set_new(root, plugins[i].list, json_array());
			list = json_object_get(root, plugins[i].list);
		}
		entry = json_pack("{s:s, s:b}", "plugin", plugins[i].plugin, "required", plugins[i].required);
		/* in one run tasks are worth the cost for each exec */
		if (strcmp(plugins[i].plugin, "proc") == 0)
			json_object_set_new(entry, "environ", json_pack("[s, s]", "SKEP_TASK", "TRACEPARENT"));
		if (plugins[i].has_path && json_object_set_new(entry, "path", json_string(lake)) < 0) {
			code = skep_fail("run", SKEP_EXIT_USAGE, "--lake %s: not a path in UTF-8", lake);
			json_decref(entry);
			goto out;
		}
		if (plugins[i].is_asked_for && strcmp(options->otlp, "-") != 0 &&
		    json_object_set_new(entry, "endpoint", json_string(options->otlp)) < 0) {
			code = skep_fail("run", SKEP_EXIT_USAGE, "--otlp %s: not a URL", options->otlp);
			json_decref(entry);
			goto out;
		}
		/* A user who asks for this run wants its report, which is small, as long as the disk has any room. */
		if (plugins[i].has_path)
			json_object_set_new(entry, "min_free", json_string("0"));
		/*
		 * The service's lake has the service's bounds, which only skepd.conf knows: skepd removes files there.
		 */
		if (plugins[i].has_path && geteuid() == 0) {
			json_object_set_new(entry, "max_bytes", json_string("0"));
			json_object_set_new(entry, "max_share", json_integer(0));
			json_object_set_new(entry, "max_age", json_string("0s"));
		}
		json_array_append_new(list, entry);
	}
	text = json_dumps(root, 0);
	if (!text) {
		code = skep_fail("run", SKEP_EXIT_RUNTIME, "out of memory");
		goto out;
	}
	*ret = config_parse(text, strlen(text), "skep run", &diag);
	if (!*ret)
		code = SKEP_EXIT_CONFIG;
out:
	diag_print(&diag, stderr);
	diag_clear(&diag);
	free(text);
	json_decref(root);
	return code;
}
