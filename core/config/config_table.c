/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_table.c - the keys of skepd.conf, for people and for editors.
 */
#include "core/config/config_table.h"

#include <stddef.h>

#include "core/config/config.h"

const struct config_key config_key_table[] = {
	{
		.section = "host",
		.name = "labels",
		.type = CONFIG_KEY_LABELS,
		.help = "labels of this host, for example { \"site\": \"hpc-a\" }",
	},
	{
		.name = "interval",
		.type = CONFIG_KEY_TIME,
		.default_value = "\"5s\"",
		.help = "how often skepd samples live processes, \"100ms\" to \"1h\"; totals of ended processes do not depend on "
			"it",
	},
	{
		.name = "process_interval",
		.type = CONFIG_KEY_TIME_OR_0,
		.default_value = "\"60s\"",
		.help = "how often a live process that did anything gets a record of its own, \"100ms\" to \"1h\"; \"0s\": never",
	},
	{
		.name = "plugin_dirs",
		.type = CONFIG_KEY_PATHS_ABSOLUTE,
		.default_value = "the installation's folder, /usr/local/lib/skep/plugins",
		.help = "folders in which skepd looks for plugins, in this order",
	},
	{
		.name = "probes",
		.type = CONFIG_KEY_PROBES,
		.help = "the probes: what skepd measures",
	},
	{
		.name = "sinks",
		.type = CONFIG_KEY_SINKS,
		.help = "the sinks: where skepd sends records",
	},
	{
		.name = "tools",
		.type = CONFIG_KEY_PATHS,
		.help = "more tables of tools (how skep names programs behind interpreters): files, or folders of *.json; later "
			"entries win",
	},
	{
		.name = "redact",
		.type = CONFIG_KEY_PATHS,
		.help = "more tables of secrets in command lines, likewise",
	},
	{
		.name = "containers",
		.type = CONFIG_KEY_PATHS,
		.help = "more tables of cgroup paths (containers, pods, jobs), likewise",
	},
	{
		.section = "filters",
		.name = "dirs",
		.type = CONFIG_KEY_PATHS,
		.help = "folders whose *.json are rules, skep-rules(5), in byte order of the files' names",
	},
	{
		.section = "filters",
		.name = "packs",
		.type = CONFIG_KEY_PACKS,
		.help = "packs of rules that come with skep, after those of dirs: \"host\", \"bioinformatics\", \"ml\", \"build\"",
	},
	{
		.section = "filters",
		.name = "pack_dirs",
		.type = CONFIG_KEY_PATHS,
		.default_value = "the installation's folder of packs",
		.help = "folders in which skepd looks for packs; without this key SKEP_PACK_DIRS in the environment replaces the "
			"default",
	},
	{
		.section = "filters",
		.name = "default",
		.type = CONFIG_KEY_VERDICT,
		.default_value = "\"include\"",
		.help = "the verdict for a process for which no rule holds",
	},
	{
		.section = "filters",
		.name = "kernel",
		.type = CONFIG_KEY_BOOL,
		.default_value = "true",
		.help = "true: the kernel decides the verdicts that it can; false: skepd decides all, with the same result at a "
			"higher cost. Changes only with a restart",
	},
	{
		.name = "pin_dir",
		.type = CONFIG_KEY_PATH_ABSOLUTE,
		.help = "a folder in a BPF filesystem in which skepd pins its kernel side, so that the kernel goes on recording "
			"during a restart or an upgrade; the next skepd reads it; skepd --unpin removes it. Changes only with a "
			"restart",
	},
	{
		.name = "pin_for",
		.type = CONFIG_KEY_TIME,
		.default_value = "\"10m\"",
		.help = "how long the pinned kernel side records without a skepd that reads it, \"1s\" to \"1h\", and two "
			"intervals more; a suspended host does not count; later events count as lost. Changes only with a restart",
	},
	{
		.name = "drain",
		.type = CONFIG_KEY_TIME_OR_0,
		.default_value = "\"5s\"",
		.help = "how long skepd offers a sink its backlog when the sink ends, at the end of skepd or by a reload, "
			"\"100ms\" to \"1h\"; \"0s\": not at all. The rest stays in the spool; without a spool it is lost and "
			"counted",
	},
	{
		.section = "spool",
		.name = "path",
		.type = CONFIG_KEY_PATH_ABSOLUTE,
		.default_value = "\"" SKEP_STATE_DIR "/spool.db\"",
		.help = "the file that keeps batches for the sinks across outages, restarts and crashes; without a section spool "
			"they wait in memory. Changes only with a restart",
	},
	{
		.section = "spool",
		.name = "max_bytes",
		.type = CONFIG_KEY_SIZE,
		.default_value = "\"1GiB\"",
		.help = "the largest size of the file, at least \"8MiB\"; beyond it skepd drops samples first, then the oldest "
			"batches, and counts all",
	},
	{
		.section = "spool",
		.name = "reserve",
		.type = CONFIG_KEY_SIZE,
		.default_value = "\"256MiB\"",
		.help = "space that the spool leaves free on its filesystem: with less it does not grow",
	},
	{
		.section = "spool",
		.name = "max_age",
		.type = CONFIG_KEY_TIME_ANY,
		.default_value = "\"30d\"",
		.help = "skepd drops batches that no sink has acknowledged for so long, and counts them; \"0s\": never",
	},
	{
		.section = "spool",
		.name = "sync",
		.type = CONFIG_KEY_TIME_ANY,
		.default_value = "\"1s\"",
		.help = "what a loss of power may cost: skepd waits for the disk that often; \"0s\": at each commit. A crash of "
			"skepd costs nothing",
	},
	{
		.name = "keep_capabilities",
		.type = CONFIG_KEY_CAPABILITIES,
		.help = "capabilities that a plugin of the site needs, for example \"CAP_SYS_RAWIO\"; skepd drops all others that "
			"it does not need itself. Counts at start only",
	},
	{
		.section = "control",
		.name = "socket",
		.type = CONFIG_KEY_SOCKET,
		.default_value = "\"" CONTROL_SOCKET_DEFAULT "\"",
		.help = "where skep status, skep attach and the like ask; false: nowhere. skepd does not start without a socket "
			"that the file names; for the default one it only warns",
	},
	{ .name = NULL },
};

const struct config_key config_entry_table[] = {
	{
		.name = "plugin",
		.default_value = "required",
		.help = "the plugin NAME.so in one of plugin_dirs: 1 to 31 letters, digits, '_', '-'; never a path",
	},
	{
		.name = "name",
		.default_value = "that of the plugin",
		.help = "the name of this instance in messages and counters; no two entries of the file may have the same",
	},
	{
		.name = "required",
		.type = CONFIG_KEY_BOOL,
		.default_value = "false",
		.help = "true: skepd does not run without it; false: skepd goes on, reports the reason and tries again",
	},
	{
		.section = "sinks",
		.name = "backlog",
		.type = CONFIG_KEY_BACKLOG,
		.default_value = "\"shared\" where the plugin takes records in any order",
		.help = "after an outage: \"shared\", the sink gets old and new batches in turn; \"first\", all in order",
	},
	{
		.section = "sinks",
		.name = "max_age",
		.type = CONFIG_KEY_TIME_ANY,
		.default_value = "\"0s\", everything is sent",
		.help = "the sink does not get older records any more; skepd counts them. An option of that name of the plugin "
			"comes first",
	},
	{ .name = NULL },
};

const char *config_key_type_name(enum config_key_type type)
{
	static const char *const names[] = {
		[CONFIG_KEY_LABELS] = "object of strings",
		[CONFIG_KEY_TIME] = "time",
		[CONFIG_KEY_TIME_OR_0] = "time",
		[CONFIG_KEY_TIME_ANY] = "time",
		[CONFIG_KEY_SIZE] = "size",
		[CONFIG_KEY_PATHS] = "array of paths",
		[CONFIG_KEY_PATHS_ABSOLUTE] = "array of absolute paths",
		[CONFIG_KEY_PATH_ABSOLUTE] = "absolute path",
		[CONFIG_KEY_PACKS] = "array of names",
		[CONFIG_KEY_CAPABILITIES] = "array of names",
		[CONFIG_KEY_SOCKET] = "absolute path, or false",
		[CONFIG_KEY_BOOL] = "true or false",
		[CONFIG_KEY_VERDICT] = "\"include\" or \"exclude\"",
		[CONFIG_KEY_BACKLOG] = "\"first\" or \"shared\"",
		[CONFIG_KEY_PROBES] = "array of entries",
		[CONFIG_KEY_SINKS] = "array of entries",
	};

	return type && (size_t)type < sizeof(names) / sizeof(names[0]) ? names[type] : "name";
}
