/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_table.c - the keys of skepd.conf.
 */
#include "core/config/config_table.h"

#include <stddef.h>
#include <sys/un.h>

#include "core/base/confine.h"
#include "core/config/config.h"
#include "core/config/sink_terms.h"

#define MS 1000000ll
#define MINUTE (60 * 1000 * MS)
#define MIB (1ll << 20)
#define AT(member) .offset = offsetof(struct config, member)
#define SOCKET_PATH_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)
#define SITE_PLUGIN_DIR "/usr/local/lib/skep/plugins"

static const struct config_text path = { "a path", "path", "array of paths", NULL, NULL, NULL };
static const struct config_text absolute = { "an absolute path", "absolute path", NULL, "^/", NULL, NULL };
static const struct config_text plugin_dir = {
	.expected = "a path",
	.many = "array of absolute paths",
	.pattern = "^/",
	.mismatch =
		"is not an absolute path: code is loaded from there, so it must not depend on the current directory",
};
static const struct config_text pack = {
	.expected = "a name",
	.many = "array of names",
	.pattern = "^[^./][^/]*$",
	.mismatch = "is a path: write the pack's bare name, as \"host\"; files of your own belong into filters.dirs",
};
static const struct config_text capability = {
	.expected = "a name",
	.many = "array of names",
	.pattern = "^[Cc][Aa][Pp]_[A-Za-z_]+$",
	.mismatch = "is no capability: expected such as \"CAP_SYS_RAWIO\"",
	.check = confine_capability,
};
/* Names become part of file names, log lines, metrics and labels, so their letters are few. A plugin's note has 32. */
const struct config_text config_plugin_name = {
	.expected = "a name",
	.one = "name",
	.pattern = "^[A-Za-z0-9_][A-Za-z0-9_-]{0,30}$",
	.mismatch = "is not a name: 1 to 31 letters, digits, '_' and '-', beginning with a letter, digit or '_'; "
		    "a folder belongs into plugin_dirs",
};
static const struct config_text instance_name = {
	.expected = "a name",
	.one = "name",
	.pattern = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$",
	.mismatch = "is not a name: 1 to 63 letters, digits, '_', '-' and '.', beginning with a letter, digit or '_'",
};

const struct config_key config_key_table[] = {
	{
		.section = "host",
		.name = "labels",
		.type = CONFIG_O_LABELS,
		AT(labels),
		.expected = "an object of strings such as { \"site\": \"hpc-a\" }",
		.help = "labels of this host, for example { \"site\": \"hpc-a\" }",
	},
	{
		.name = "interval",
		.type = SKEP_O_TIME,
		AT(interval_ns),
		.default_value = "5s",
		.min = 100 * MS,
		.max = 60 * MINUTE,
		.help = "how often skepd samples live processes; totals of ended processes do not depend on it",
	},
	{
		.name = "process_interval",
		.type = SKEP_O_TIME,
		.flags = CONFIG_OR_ZERO,
		AT(process_interval_ns),
		.default_value = "60s",
		.min = 100 * MS,
		.max = 60 * MINUTE,
		.help = "how often a live process that did anything gets a record of its own; \"0s\": never",
	},
	{
		.name = "plugin_dirs",
		.type = SKEP_O_STRV,
		.flags = CONFIG_NOT_EMPTY,
		AT(plugin_dirs),
		.text = &plugin_dir,
		.default_value = SKEP_PLUGIN_DIR ":" SITE_PLUGIN_DIR,
		.shown_default = "the installation's folder, " SITE_PLUGIN_DIR,
		.variable = "SKEP_PLUGIN_DIRS",
		.help = "folders in which skepd looks for plugins, in this order",
	},
	{
		.name = "probes",
		.type = CONFIG_O_ENTRIES,
		AT(probes),
		.help = "the probes: what skepd measures",
	},
	{
		.name = "sinks",
		.type = CONFIG_O_ENTRIES,
		AT(sinks),
		.help = "the sinks: where skepd sends records",
	},
	{
		.name = "tools",
		.type = SKEP_O_STRV,
		AT(tools),
		.text = &path,
		.default_value = "[]",
		.help = "more tables of tools (how skep names programs behind interpreters): files, or folders of "
			"*.json; later entries win",
	},
	{
		.name = "redact",
		.type = SKEP_O_STRV,
		AT(redact),
		.text = &path,
		.default_value = "[]",
		.help = "more tables of secrets in command lines, likewise",
	},
	{
		.name = "containers",
		.type = SKEP_O_STRV,
		AT(containers),
		.text = &path,
		.default_value = "[]",
		.help = "more tables of cgroup paths (containers, pods, jobs), likewise",
	},
	{
		.name = "pod_logs",
		.type = SKEP_O_STR,
		AT(pod_logs),
		.default_value = "/var/log",
		.help = "folder of the kubelet's pods/ and containers/, whose files' names are those of pods and containers; "
			"\"\": skepd does not look",
	},
	{
		.name = "recognizers",
		.type = SKEP_O_STRV,
		AT(recognizers),
		.text = &path,
		.default_value = "[]",
		.help = "more tables of recognizers (what begins a run or a task of which engine), likewise",
	},
	{
		.name = "read_engine_files",
		.type = SKEP_O_BOOL,
		.flags = CONFIG_AT_START,
		AT(read_engine_files),
		.default_value = "true",
		.help = "true: skepd reads the files of workflow engines that name their tasks, as the task's user "
			"(docs/inside/security.md); false: a task is called what its command shows",
	},
	{
		.name = "fold_forks",
		.type = SKEP_O_BOOL,
		.flags = CONFIG_AT_START,
		AT(fold_forks),
		.default_value = "true",
		.help = "true: one record has a program and the moment between its fork and its exec; false: that moment "
			"has a record of its own, under the parent's program",
	},
	{
		.section = "filters",
		.name = "dirs",
		.type = SKEP_O_STRV,
		AT(filters.dirs),
		.text = &path,
		.default_value = "[]",
		.help = "folders whose *.json are rules, skep-rules(5), in byte order of the files' names",
	},
	{
		.section = "filters",
		.name = "packs",
		.type = SKEP_O_STRV,
		.flags = CONFIG_UNIQUE,
		AT(filters.packs),
		.text = &pack,
		.default_value = "[]",
		.help = "packs of rules that come with skep, after those of dirs: \"host\", \"bioinformatics\", "
			"\"ml\", \"build\"",
	},
	{
		.section = "filters",
		.name = "pack_dirs",
		.type = SKEP_O_STRV,
		AT(filters.pack_dirs),
		.text = &path,
		.default_value = SKEP_DATA_DIR "/packs",
		.shown_default = "the installation's folder of packs",
		.variable = "SKEP_PACK_DIRS",
		.help = "folders in which skepd looks for packs; without this key SKEP_PACK_DIRS in the environment "
			"replaces the default",
	},
	{
		.section = "filters",
		.name = "default",
		.type = CONFIG_O_EITHER,
		AT(filters.exclude),
		.words = { "include", "exclude" },
		.default_value = "include",
		.help = "the verdict for a process for which no rule holds",
	},
	{
		.section = "filters",
		.name = "kernel",
		.type = SKEP_O_BOOL,
		.flags = CONFIG_FIXED,
		AT(filters.kernel),
		.default_value = "true",
		.help = "true: the kernel decides the verdicts that it can; false: skepd decides all, with the same "
			"result at a higher cost",
	},
	{
		.section = "findings",
		.name = "stall",
		.type = SKEP_O_TIME,
		.flags = CONFIG_OR_ZERO,
		AT(findings.stall_ns),
		.default_value = "10m",
		.min = 1000 * MS,
		.max = 24 * 60 * MINUTE,
		.help = "skepd reports a task, or a run without tasks, whose processes have done nothing for so long: no "
			"CPU, files, network or GPU; \"0s\": never",
	},
	{
		.section = "findings",
		.name = "leftover_process",
		.type = SKEP_O_TIME,
		.flags = CONFIG_OR_ZERO,
		AT(findings.leftover_process_ns),
		.default_value = "5m",
		.min = 1000 * MS,
		.max = 24 * 60 * MINUTE,
		.help = "likewise a process that lives so long after its task or its run has ended",
	},
	{
		.section = "findings",
		.name = "orphan_container",
		.type = SKEP_O_TIME,
		.flags = CONFIG_OR_ZERO,
		AT(findings.orphan_container_ns),
		.default_value = "1h",
		.min = 1000 * MS,
		.max = 24 * 60 * MINUTE,
		.help = "likewise a container that has done nothing for so long since its run ended",
	},
	{
		.section = "findings",
		.name = "gpu_held_idle",
		.type = SKEP_O_TIME,
		.flags = CONFIG_OR_ZERO,
		AT(findings.gpu_held_idle_ns),
		.default_value = "30m",
		.min = 1000 * MS,
		.max = 24 * 60 * MINUTE,
		.help = "likewise a process that has held a GPU for so long without a kernel running",
	},
	{
		.section = "findings",
		.name = "oom_kill",
		.type = SKEP_O_BOOL,
		AT(findings.oom_kill),
		.default_value = "true",
		.help = "true: skepd reports each process that the kernel kills for its memory",
	},
	{
		.name = "pin_dir",
		.type = SKEP_O_STR,
		.flags = CONFIG_AT_START,
		AT(pin_dir),
		.text = &absolute,
		.expected = "an absolute path in a BPF filesystem such as \"/sys/fs/bpf/skep\"",
		.help = "a folder in a BPF filesystem in which skepd pins its kernel side, so that the kernel keeps "
			"recording during a restart or an upgrade; the next skepd reads it; skepd --unpin removes it",
	},
	{
		.name = "pin_for",
		.type = SKEP_O_TIME,
		.flags = CONFIG_AT_START,
		AT(pin_for_ns),
		.default_value = "10m",
		.min = 1000 * MS,
		.max = 60 * MINUTE,
		.help = "how long the pinned kernel side records without a skepd that reads it, in seconds (rounded "
			"up), and two intervals more; a suspended host does not count; later events count as lost",
	},
	{
		.name = "drain",
		.type = SKEP_O_TIME,
		.flags = CONFIG_OR_ZERO,
		AT(drain_ns),
		.default_value = "5s",
		.min = 100 * MS,
		.max = 60 * MINUTE,
		.help = "how long skepd offers a sink its backlog when the sink ends, at the end of skepd or by a "
			"reload; \"0s\": not at all. The rest stays in the spool; without a spool it is lost and "
			"counted",
	},
	{
		.section = "spool",
		.name = "path",
		.type = SKEP_O_STR,
		.flags = CONFIG_WITH_SECTION | CONFIG_AT_START,
		AT(spool.path),
		.text = &absolute,
		.expected = "an absolute path such as \"" SKEP_STATE_DIR "/spool.db\"",
		.default_value = SKEP_STATE_DIR "/spool.db",
		.help = "the file that keeps batches for the sinks across outages, restarts and crashes; without a "
			"section spool they wait in memory",
	},
	{
		.section = "spool",
		.name = "max_bytes",
		.type = SKEP_O_SIZE,
		.flags = CONFIG_RAISED | CONFIG_AT_START,
		AT(spool.max_bytes),
		.default_value = "1GiB",
		.min = 8 * MIB,
		.max = INT64_MAX,
		.help = "the largest size of the file; beyond it skepd drops samples first, then the oldest batches, "
			"and counts all",
	},
	{
		.section = "spool",
		.name = "reserve",
		.type = SKEP_O_SIZE,
		.flags = CONFIG_AT_START,
		AT(spool.reserve_bytes),
		.default_value = "256MiB",
		.help = "space that the spool leaves free on its filesystem: with less it does not grow",
	},
	{
		.section = "spool",
		.name = "max_age",
		.type = SKEP_O_TIME,
		.flags = CONFIG_AT_START,
		AT(spool.max_age_ns),
		.default_value = "30d",
		.help = "skepd drops batches that no sink has acknowledged for so long, and counts them; \"0s\": never",
	},
	{
		.section = "spool",
		.name = "sync",
		.type = SKEP_O_TIME,
		.flags = CONFIG_AT_START,
		AT(spool.sync_ns),
		.default_value = "1s",
		.help = "what a loss of power may cost: skepd waits for the disk that often; \"0s\": at each commit. A "
			"crash of skepd costs nothing",
	},
	{
		.name = "keep_capabilities",
		.type = SKEP_O_STRV,
		.flags = CONFIG_AT_START,
		AT(keep_capabilities),
		.text = &capability,
		.help = "capabilities that a plugin of the site needs, for example \"CAP_SYS_RAWIO\"; skepd drops all "
			"others that it does not need itself",
	},
	{
		.section = "control",
		.name = "socket",
		.type = SKEP_O_STR,
		.flags = CONFIG_OR_FALSE | CONFIG_FIXED,
		AT(control_socket),
		.text = &absolute,
		.expected = "an absolute path such as \"" CONTROL_SOCKET_DEFAULT "\", or false for none",
		.default_value = CONTROL_SOCKET_DEFAULT,
		.max = SOCKET_PATH_MAX,
		.help = "where skep status, skep attach and the like ask; false: nowhere. skepd does not start without "
			"a socket that the file names; for the default one it only warns",
	},
	{ .name = NULL },
};

const struct config_key config_entry_table[] = {
	{
		.name = "plugin",
		.type = SKEP_O_STR,
		.flags = SKEP_OPT_REQUIRED,
		.offset = offsetof(struct config_plugin, plugin),
		.text = &config_plugin_name,
		.help = "the plugin NAME.so in one of plugin_dirs: 1 to 31 letters, digits, '_', '-'; never a path",
	},
	{
		.name = "name",
		.type = SKEP_O_STR,
		.offset = offsetof(struct config_plugin, name),
		.text = &instance_name,
		.shown_default = "the plugin's name",
		.help = "the name of this instance in messages and counters; no two entries of the file may have the "
			"same",
	},
	{
		.name = "required",
		.type = SKEP_O_BOOL,
		.offset = offsetof(struct config_plugin, required),
		.default_value = "false",
		.help = "true: skepd does not run without it; false: skepd continues, reports the reason and tries "
			"again",
	},
	{
		.section = "sinks",
		.name = "max_age",
		.type = SKEP_O_TIME,
		.offset = offsetof(struct sink_terms, max_age_ns),
		.shown_default = "\"0s\", everything is sent",
		.help = "the sink does not get older records any more; skepd counts them. An option of that name of "
			"the plugin comes first",
	},
	{ .name = NULL },
};
