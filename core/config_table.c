/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config_table.c - the keys of skepd.conf, for people and for editors.
 */
#include "core/config_table.h"

#include <stddef.h>

#include "core/config.h"

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
		.help = "how often live processes are sampled, \"100ms\" to \"1h\"; totals of ended processes do not depend on it",
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
		.help = "where plugins are looked for, in this order",
	},
	{
		.name = "probes",
		.type = CONFIG_KEY_PROBES,
		.help = "what is observed",
	},
	{
		.name = "sinks",
		.type = CONFIG_KEY_SINKS,
		.help = "where records go",
	},
	{
		.name = "tools",
		.type = CONFIG_KEY_PATHS,
		.help = "more tables of tools (how programs are seen through interpreters): files, or folders of *.json; later entries win",
	},
	{
		.name = "redact",
		.type = CONFIG_KEY_PATHS,
		.help = "more tables of secrets in command lines, likewise",
	},
	{
		.name = "containers",
		.type = CONFIG_KEY_PATHS,
		.help = "more tables of what cgroup paths name (containers, pods, jobs), likewise",
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
		.help = "packs of rules that come with skep, behind those of dirs: \"host\", \"bioinformatics\", \"ml\", \"build\"",
	},
	{
		.section = "filters",
		.name = "pack_dirs",
		.type = CONFIG_KEY_PATHS,
		.default_value = "the installation's folder of packs",
		.help = "where packs are looked for",
	},
	{
		.section = "filters",
		.name = "default",
		.type = CONFIG_KEY_VERDICT,
		.default_value = "\"include\"",
		.help = "what happens to a process for which no rule holds",
	},
	{
		.section = "filters",
		.name = "kernel",
		.type = CONFIG_KEY_BOOL,
		.default_value = "true",
		.help = "whether the kernel decides what it can; false costs more and decides the same. Changes only with a restart",
	},
	{
		.name = "carry_file",
		.type = CONFIG_KEY_PATH_ABSOLUTE,
		.help = "where skepd leaves at its end what it knows of live processes, for the skepd that is started next on the same boot",
	},
	{
		.name = "pin_dir",
		.type = CONFIG_KEY_PATH_ABSOLUTE,
		.help = "a folder in a BPF filesystem where the kernel side goes on recording while skepd is restarted or upgraded, for the skepd that "
			"is started next; skepd --unpin takes it out. Changes only with a restart",
	},
	{
		.name = "pin_for",
		.type = CONFIG_KEY_TIME,
		.default_value = "\"10m\"",
		.help = "how long what is in pin_dir goes on recording while no skepd comes, \"1s\" to \"1h\", and two intervals more; a skepd that is "
			"started later begins anew. Changes only with a restart",
	},
	{
		.name = "drain",
		.type = CONFIG_KEY_TIME_OR_0,
		.default_value = "\"5s\"",
		.help = "how long a sink that ends, with skepd or by a reload, is still offered what waits for it, \"100ms\" to \"1h\"; \"0s\": not at "
			"all. What it has not taken by then waits in the spool, or is lost where there is none",
	},
	{
		.section = "spool",
		.name = "path",
		.type = CONFIG_KEY_PATH_ABSOLUTE,
		.default_value = "\"" SKEP_STATE_DIR "/spool.db\"",
		.help = "the file in which what is on its way to sinks waits, across outages of theirs, restarts and crashes; without a "
			"section spool, in memory. Changes only with a restart",
	},
	{
		.section = "spool",
		.name = "max_bytes",
		.type = CONFIG_KEY_SIZE,
		.default_value = "\"1GiB\"",
		.help = "how large it may become, at least \"8MiB\"; beyond that samples go first, then the oldest, all counted",
	},
	{
		.section = "spool",
		.name = "reserve",
		.type = CONFIG_KEY_SIZE,
		.default_value = "\"256MiB\"",
		.help = "what it leaves free on its filesystem: with less than that it does not grow",
	},
	{
		.section = "spool",
		.name = "max_age",
		.type = CONFIG_KEY_TIME_ANY,
		.default_value = "\"30d\"",
		.help = "what no sink has taken for so long goes, and is counted; \"0s\": never",
	},
	{
		.section = "spool",
		.name = "sync",
		.type = CONFIG_KEY_TIME_ANY,
		.default_value = "\"1s\"",
		.help = "what a loss of power may cost: the disk is waited for that often; \"0s\": each time. A crash of skepd costs nothing",
	},
	{
		.name = "keep_capabilities",
		.type = CONFIG_KEY_CAPABILITIES,
		.help = "capabilities that a plugin of the site needs and skep does not, for example \"CAP_SYS_RAWIO\"; all others are given "
			"away at start",
	},
	{
		.section = "control",
		.name = "socket",
		.type = CONFIG_KEY_SOCKET,
		.default_value = "\"" CONTROL_SOCKET_DEFAULT "\"",
		.help = "where skep status, skep attach and the like ask; false: nowhere. One that stands here has to work; the default one "
			"only warns",
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
		.help = "this instance, in messages and counters; no two entries of the file may have the same",
	},
	{
		.name = "required",
		.type = CONFIG_KEY_BOOL,
		.default_value = "false",
		.help = "true: skepd does not run without it; false: it goes on, tells the reason and tries again",
	},
	{
		.section = "sinks",
		.name = "backlog",
		.type = CONFIG_KEY_BACKLOG,
		.default_value = "\"shared\" where the plugin takes records in any order",
		.help = "after an outage: \"shared\", what waited and what is new are sent in turn; \"first\", all in order",
	},
	{
		.section = "sinks",
		.name = "max_age",
		.type = CONFIG_KEY_TIME_ANY,
		.default_value = "\"0s\", everything is sent",
		.help = "what has waited for longer is not sent to this sink any more, and is counted",
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
