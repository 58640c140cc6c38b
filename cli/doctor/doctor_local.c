/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/doctor_local.c - runs a collector that starts every probe, makes the answer to `skep plugins`, and stops.
 * The collector opens no sink and stores nothing.
 */
#include "cli/doctor/doctor_local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "cli/base/skep.h"
#include "cli/run/run.h"
#include "core/base/log.h"
#include "core/collect/collector.h"
#include "core/config/config.h"
#include "core/control/control_plugins.h"
#include "core/plugin/plugin.h"

struct found {
	json_t *probes;  /* entries of a configuration */
	json_t *skipped; /* plugins that were not tried, with the reason, in the form of an answer */
};

static json_t *not_tried(const char *name, const char *version, const char *state, const char *why)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:[]}", "name", name, "plugin", name, "kind", "probe",
			 "version", version, "state", state, "reason", why, "required", 0, "signals");
}

static void on_plugin(const char *path, const struct skep_plugin_note *note, const char *why, void *arg)
{
	struct found *found = arg;
	const json_t *one;
	size_t i;

	(void)path;
	if (!note || note->kind != SKEP_KIND_PROBE)
		return;
	if (why) {
		json_array_append_new(found->skipped, not_tried(note->name, note->version, "failed", why));
		return;
	}
	json_array_foreach(found->probes, i, one) /* found in two folders: the first is loaded */
		if (strcmp(json_string_value(json_object_get(one, "plugin")), note->name) == 0)
			return;
	json_array_append_new(found->probes,
			      json_pack("{s:s, s:b}", "plugin", note->name, "required", run_needs(note->name)));
}

/* Skips plugins with a required option: doctor cannot guess its value. */
static void leave_out_wanting(struct found *found, const char *const *dirs)
{
	for (size_t i = 0; i < json_array_size(found->probes);) {
		const char *name = json_string_value(json_object_get(json_array_get(found->probes, i), "plugin"));
		const struct skep_option *option;
		struct plugin *plugin = NULL;
		const char *wanted = NULL;
		struct diag diag;

		diag_init(&diag);
		if (plugin_load(dirs, name, SKEP_KIND_PROBE, &diag, &plugin) < 0) {
			const char *why = diag.n > 0 ? diag.entries[0].text : "cannot be loaded";

			json_array_append_new(found->skipped, not_tried(name, "", "failed", why));
			wanted = "";
		}
		for (option = plugin ? plugin->desc->options : NULL; option && option->name && !wanted;
		     option = (const void *)((const char *)option + plugin->desc->option_size))
			if (option->flags & SKEP_OPT_REQUIRED)
				wanted = option->name;
		if (wanted && *wanted) {
			char why[128];

			snprintf(why, sizeof(why), "needs the option \"%s\": try it with --config FILE", wanted);
			json_array_append_new(found->skipped, not_tried(name, plugin->note.version, "off", why));
		}
		diag_clear(&diag);
		if (wanted)
			json_array_remove(found->probes, i);
		else
			i++;
	}
}

/* A configuration with all probes found. */
static struct config *config_of_all(struct diag *diag, json_t **ret_skipped)
{
	static const char nothing[] = "{}";
	struct config *defaults = config_parse(nothing, sizeof(nothing) - 1, "skep doctor", diag), *config = NULL;
	struct found found = { json_array(), json_array() };
	json_t *root = NULL;
	char *text = NULL;

	if (defaults && found.probes && found.skipped) {
		plugin_list((const char *const *)defaults->plugin_dirs, on_plugin, &found);
		leave_out_wanting(&found, (const char *const *)defaults->plugin_dirs);
		root = json_pack("{s:O}", "probes", found.probes);
		text = root ? json_dumps(root, 0) : NULL;
		config = text ? config_parse(text, strlen(text), "skep doctor", diag) : NULL;
	}
	free(text);
	json_decref(root);
	json_decref(found.probes);
	config_free(defaults);
	if (config)
		*ret_skipped = found.skipped;
	else
		json_decref(found.skipped);
	return config;
}

static void on_stopped(void *arg)
{
	*(bool *)arg = true;
}

static int collect(uv_loop_t *loop, const struct config *config, struct diag *diag, json_t **ret)
{
	static const struct collector_options options = { .runs_only = false };
	struct collector *collector = NULL;
	bool stopped = false;
	int err = collector_new(loop, config, &options, diag, &collector);

	if (err < 0)
		return err;
	err = collector_open(collector, diag);
	/* A failed probe is an answer; only a failure of the whole collector ends the trial. */
	if (err == 0 || collector_instances(collector)) {
		int started = err == 0 ? collector_start(collector, diag) : 0;

		(void)started;
		*ret = control_plugins(collector);
		err = *ret ? 0 : -ENOMEM;
	}
	collector_stop(collector, 0, on_stopped, &stopped);
	while (!stopped && uv_run(loop, UV_RUN_ONCE) != 0)
		;
	if (!collector_left_behind(collector)) {
		uv_run(loop, UV_RUN_DEFAULT);
		collector_free(collector);
	}
	return err;
}

int doctor_local(const char *config_file, json_t **ret)
{
	json_t *skipped = NULL, *answer = NULL;
	struct config *config;
	struct diag diag;
	static uv_loop_t loop; /* a thread that is left behind may signal it when this function has returned */
	size_t n_sinks;
	int err, status = SKEP_EXIT_OK;

	diag_init(&diag);
	log_program("skep doctor");
	log_level(SKEP_LOG_ERROR); /* the answer has warnings and notices */
	config = config_file ? config_load(config_file, &diag) : config_of_all(&diag, &skipped);
	if (!config) {
		diag_print(&diag, stderr);
		diag_clear(&diag);
		return SKEP_EXIT_CONFIG;
	}
	/* Starts no sink: doctor must not write. config_free needs the number again. */
	n_sinks = config->n_sinks;
	config->n_sinks = 0;
	err = uv_loop_init(&loop);
	if (err == 0) {
		err = collect(&loop, config, &diag, &answer);
		uv_loop_close(&loop);
	}
	config->n_sinks = n_sinks;
	config_free(config);
	if (err < 0) {
		diag_print(&diag, stderr);
		status = err == -ENOEXEC ? SKEP_EXIT_ABI : diag.n_errors > 0 ? SKEP_EXIT_CONFIG : SKEP_EXIT_RUNTIME;
		if (diag.n_errors == 0)
			skep_fail("doctor", status, "cannot try the probes: %s", strerror(-err));
		json_decref(answer);
	} else {
		if (skipped)
			json_array_extend(json_object_get(answer, "plugins"), skipped);
		*ret = answer;
	}
	diag_clear(&diag);
	json_decref(skipped);
	return status;
}
