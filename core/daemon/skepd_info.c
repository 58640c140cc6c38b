/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/daemon/skepd_info.c - reports on skepd itself and on the plugins that it would load: --help, --version,
 * --list-plugins, --options, --schema, --schema-recognizers, --unpin.
 */
#include <bpf/libbpf.h>
#include <gnu/libc-version.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/config/config_schema.h"
#include "core/identify/recognizer_schema.h"
#include "core/plugin/note.h"
#include "core/plugin/pins.h"
#include "core/plugin/plugin.h"
#include "core/daemon/skepd.h"

#define HELP_WIDTH 80
#define AT(member) COMMAND_AT(struct skepd_arguments, member)

const struct command_option skepd_options_table[] = {
	{ "config", 'c', "FILE", "read FILE instead of " SKEPD_CONFIG_FILE, AT(config) },
	{ "foreground", 'f', NULL, "stay in the foreground (the default, accepted for clarity)", AT(foreground) },
	{ "test", 't', NULL,
	  "check the configuration: load every plugin, check every option, open() each, start none; print all errors",
	  AT(test) },
	{ "tryload", 0, NULL,
	  "the same, then also start every plugin (attach to the kernel, connect) and stop again; "
	  "print how skepd gets each signal of each probe here",
	  AT(tryload) },
	{ "json", 0, NULL, "with --tryload: as one object, for programs", AT(json) },
	{ "list-plugins", 0, NULL,
	  "list the plugins found, without running any of their code, and why skepd would refuse one; -v: with paths",
	  AT(list_plugins) },
	{ "options", 0, "NAME", "list the options of plugin NAME", AT(options) },
	{ "schema", 0, NULL,
	  "print the JSON Schema of the configuration, with the options of every plugin found, for editors",
	  AT(schema) },
	{ "schema-recognizers", 0, NULL, "print the JSON Schema of tables of recognizers, for editors",
	  AT(schema_recognizers) },
	{ "unpin", 0, NULL,
	  "remove the kernel side that a skepd that ended has pinned for the next one (pin_dir, or " PINS_DIR_DEFAULT
	  "); needs no configuration file",
	  AT(unpin) },
	{ "reader", 0, NULL,
	  "be the process that reads engines' files for a skepd without CAP_SETUID and CAP_SETGID: skep-reader.service "
	  "starts it so",
	  AT(reader) },
	{ "verbose", 'v', NULL, "more messages; twice: libbpf's and everything else", AT(verbose) },
	{ "quiet", 'q', NULL, "only warnings and errors; twice: only errors", AT(quiet) },
	{ "version", 0, NULL, "print versions, also of the libraries in use", AT(version) },
	{ "help", 'h', NULL, "print this", .type = COMMAND_FLAG },
	{ 0 },
};

void skepd_help(void)
{
	puts("Usage: skepd [OPTION]...\n"
	     "Record every process of this host, by plugins, until SIGTERM or SIGINT.\n");
	command_options_print(NULL, skepd_options_table, stdout, HELP_WIDTH);
	puts("\n"
	     "skepd never puts itself into the background. A service manager (systemd, runit, a\n"
	     "container) must see the process itself: its exit code, its messages on stderr and\n"
	     "its death. For a background process in a shell use \"skepd &\".\n"
	     "\n"
	     "Signals: TERM or INT stops: probes stop, and skepd offers the sinks their backlog for\n"
	     "at most 5 s (drain); a second one makes skepd exit at once with 1 and drop the rest.\n"
	     "USR1 flushes now. HUP reads the configuration again and applies all of it, or, after\n"
	     "any error, nothing; \"skep reload\" does the same and prints the changes.\n"
	     "\n"
	     "Environment: SKEP_PLUGIN_DIRS, a colon list, where the file has no plugin_dirs.\n"
	     "\n"
	     "Exit codes: 0 ok, 1 runtime error, 2 usage, 3 configuration, 4 missing privilege\n"
	     "or kernel feature, 5 plugin built for another ABI or not loadable.");
}

enum skepd_exit skepd_unpin(const struct config *config)
{
	const char *dir = config->pin_dir ? config->pin_dir : PINS_DIR_DEFAULT;
	int n = pins_remove(dir);

	if (n >= 0) {
		printf("%s: %d objects taken out\n", dir, n);
		return SKEPD_OK;
	}
	if (n == -EBUSY)
		fprintf(stderr, "skepd: %s is in use by a skepd that runs; stop it first\n", dir);
	else if (n == -ENOTSUP)
		fprintf(stderr, "skepd: %s is not in a BPF filesystem: nothing of skep's can be there\n", dir);
	else
		fprintf(stderr, "skepd: %s: %s\n", dir, strerror(-n));
	return n == -EACCES || n == -EPERM ? SKEPD_PRIVILEGE : SKEPD_RUNTIME;
}

void skepd_version(void)
{
	struct utsname kernel;

	printf("skepd " SKEP_VERSION "\n"
	       "plugin ABI: provides %d.%d, accepts %d.0 to %d.%d\n",
	       SKEP_ABI_MAJOR, SKEP_ABI_MINOR, SKEP_ABI_MAJOR, SKEP_ABI_MAJOR, SKEP_ABI_MINOR);
	printf("libbpf %u.%u (%s)\n", libbpf_major_version(), libbpf_minor_version(), libbpf_version_string());
	printf("libuv %s\n", uv_version_string());
#if JANSSON_VERSION_HEX >= 0x020d00
	printf("jansson %s\n", jansson_version_str());
#else
	printf("jansson " JANSSON_VERSION " (at build time)\n"); /* no version at run time before 2.13 */
#endif
	printf("glibc %s\n", gnu_get_libc_version());
	printf("compiler " __VERSION__ "\n");
	if (uname(&kernel) == 0)
		printf("kernel %s %s %s\n", kernel.sysname, kernel.release, kernel.machine);
	printf("configuration " SKEPD_CONFIG_FILE "\n");
}

struct list {
	bool verbose;
	bool any;
};

static void list_one(const char *path, const struct skep_plugin_note *note, const char *why, void *arg)
{
	struct list *list = arg;

	list->any = true;
	/* A refusal's reason begins with the path. */
	if (note)
		printf("%-16s %-6s %-12s ABI %u.%u", note->name, note_kind_name(note->kind), note->version, note->abi_major,
		       note->abi_minor);
	else
		printf("%-16s %-6s %-12s %-7s", "?", "?", "?", "?");
	if (why)
		printf("  refused: %s\n", why);
	else if (list->verbose)
		printf("  %s\n", path);
	else
		printf("\n");
}

void skepd_list(const struct config *config, bool verbose)
{
	struct list list = { .verbose = verbose };

	plugin_list(config->plugin_dirs, list_one, &list);
	if (list.any)
		return;
	printf("no plugins in");
	for (const char **dir = config->plugin_dirs; *dir; dir++)
		printf(" %s", *dir);
	printf("\n");
}

enum skepd_exit skepd_options(const struct config *config, const char *name)
{
	struct plugin *plugin;
	struct diag diag;
	int err;

	diag_init(&diag);
	err = plugin_load(config->plugin_dirs, name, 0, &diag, &plugin);
	diag_print(&diag, stderr);
	diag_clear(&diag);
	if (err)
		return err == -ENOEXEC ? SKEPD_ABI : SKEPD_CONFIG;
	printf("%s %s, a %s: %s\n", plugin->desc->name, plugin->desc->version, note_kind_name(plugin->desc->kind),
	       plugin->desc->summary);
	printf("Every entry also takes \"name\" (of this instance) and \"required\" "
	       "(true: without it skepd does not start).\n\n");
	options_print(plugin->desc, stdout);
	return SKEPD_OK;
}

/* ---- --schema ----------------------------------------------------------------------- */

struct loaded {
	const struct config *config;
	const struct skep_plugin **plugins;
	size_t n;
	bool failed;
};

static void load_one(const char *path, const struct skep_plugin_note *note, const char *why, void *arg)
{
	struct loaded *loaded = arg;
	const struct skep_plugin **larger;
	struct plugin *plugin;
	struct diag diag;
	int err;

	(void)path;
	if (!note || why)
		return; /* -t refuses an entry that names it as well */
	for (size_t i = 0; i < loaded->n; i++)
		if (strcmp(loaded->plugins[i]->name, note->name) == 0)
			return; /* skepd loads the one of the first folder */
	diag_init(&diag);
	err = plugin_load(loaded->config->plugin_dirs, note->name, 0, &diag, &plugin);
	diag_print(&diag, stderr);
	diag_clear(&diag);
	if (err)
		return;
	larger = reallocarray(loaded->plugins, loaded->n + 1, sizeof(*larger));
	if (!larger) {
		loaded->failed = true;
		return;
	}
	loaded->plugins = larger;
	loaded->plugins[loaded->n++] = plugin->desc;
}

/* Owns the schema; NULL: no memory. */
static enum skepd_exit print_schema(json_t *schema)
{
	int err = schema ? json_dumpf(schema, stdout, JSON_INDENT(2)) : -1;

	if (err == 0)
		puts("");
	else
		fputs("skepd: cannot write the schema: out of memory or of space\n", stderr);
	json_decref(schema);
	return err == 0 ? SKEPD_OK : SKEPD_RUNTIME;
}

enum skepd_exit skepd_schema_recognizers(void)
{
	return print_schema(recognizer_schema());
}

enum skepd_exit skepd_schema(const struct config *config)
{
	struct loaded loaded = { .config = config };
	enum skepd_exit result;

	plugin_list(config->plugin_dirs, load_one, &loaded);
	result = print_schema(loaded.failed ? NULL : config_schema(loaded.plugins, loaded.n));
	free(loaded.plugins);
	return result;
}
