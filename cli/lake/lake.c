/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/lake.c - `skep lake`: what a lake holds, its space, and its tables in ClickHouse.
 */
#include "cli/lake/options.h"

#include <string.h>

#include "cli/base/command.h"
#include "cli/base/skep.h"

#define KEEP_MOST 20000 /* days; a TTL that ends after 2106, where DateTime ends, has passed already */

static const struct command_option words[] = {
	{ "status", .help = "what the lake holds: files, bytes, runs, rows, growth, damage (the default)" },
	{ "check", .help = "check each file, and that the sums agree with the rows; reads all of it; skepd may run meanwhile" },
	{ "vacuum", .help = "check the pages of each file, and give the space of removed rows back; skepd may run meanwhile" },
	{ "export", .help = "write rows of runs, tasks, processes or samples, for other programs: NDJSON, CSV, Parquet" },
	{ "import", .help = "write the runs of files of `export --what all` into a lake" },
	{ "init", .help = "make the lake's tables in ClickHouse" },
	{ 0 },
};

static const struct command_option options[] = {
	{ "lake", .value = "PATH", .help = "status, check, vacuum, export, import: the lake (default: $SKEP_LAKE, else "
					   "the lake of ~/.config/skep/skep.conf, else as root /var/lib/skep/lake, "
					   "else ~/.local/share/skep/lake); export also reads clickhouse://HOST/DATABASE",
	  COMMAND_AT(struct lake_options, lake) },
	{ "json", .help = "status, check: print a JSON object, for programs", COMMAND_AT(struct lake_options, json) },
	{ "rows", .help = "status: count the rows of each table, too; that reads a large part of the lake",
	  COMMAND_AT(struct lake_options, rows) },
	{ "what", .value = "ROWS", .help = "export: processes (default; an image of a process each), tasks, runs, samples, ledger; "
					   "all: of every kind, for import",
	  COMMAND_AT(struct lake_options, what) },
	{ "format", .value = "FORMAT", .help = "export: ndjson (default; a JSON object a line), csv or parquet",
	  COMMAND_AT(struct lake_options, format) },
	{ "output", .value = "FILE", .help = "export: write to FILE (default: -, the output)",
	  COMMAND_AT(struct lake_options, output) },
	{ "run", .value = "RUN", .help = "export: one run: its id, the beginning of an id, a name, or last",
	  COMMAND_AT(struct lake_options, run) },
	{ "pipeline", .value = "NAME", .help = "export: only its runs", COMMAND_AT(struct lake_options, pipeline) },
	{ "since", .value = "TIME", .help = "export: runs that began then or later: 2026-11-21T03:48:15Z, or 2h, 3d ago",
	  COMMAND_AT(struct lake_options, since) },
	{ "until", .value = "TIME", .help = "export: runs that began before", COMMAND_AT(struct lake_options, until) },
	{ "clickhouse", .value = "URL", .help = "the server's HTTP interface, http://host:8123",
	  COMMAND_AT(struct lake_options, http.url) },
	{ "database", .value = "NAME", .help = "skep makes it if it does not exist (default: skep)",
	  COMMAND_AT(struct lake_options, database) },
	{ "keep", .value = "DAYS",
	  .help = "the server removes older rows (TTL, from 19.6 on); 0: keeps all; not given: unchanged",
	  .max = KEEP_MOST, COMMAND_AT(struct lake_options, keep) },
	{ "user", .value = "NAME", .help = "a user who may CREATE, ALTER and INSERT (default: the server's default user)",
	  COMMAND_AT(struct lake_options, http.user) },
	{ "password-file", .value = "FILE", .help = "file with the user's password",
	  COMMAND_AT(struct lake_options, password_file) },
	{ "ca-file", .value = "FILE",
	  .help = "certificates (PEM) with which skep verifies the server's (default: the system's)",
	  COMMAND_AT(struct lake_options, http.ca_file) },
	{ "print", .value = "VERSION",
	  .help = "print the statements for a server of this version, such as 24.8, and send nothing",
	  COMMAND_AT(struct lake_options, print) },
	{ 0 },
};

static int run_lake(int argc, char **argv);

const struct command cmd_lake = {
	.name = "lake",
	.operands = "[FILE...]",
	.summary = "what the lake holds; export and import it; give space back; make its tables in ClickHouse",
	.words = words,
	.options = options,
	.notes =
		"status, check and vacuum read the local lake, and exit with 1 when a file is damaged or cannot be read, or when check finds a sum that differs from its rows. The options from --clickhouse on go with init: "
		"running it again changes nothing. The sink \"clickhouse\" fills the tables, see skep-clickhouse(7).\n",
	.most = -1,
	.run = run_lake,
};

/* Which options go with which words. */
enum { OF_LAKE = 1, OF_STATUS = 2, OF_EXPORT = 4, OF_INIT = 8, OF_FILES = 16, OF_JSON = 32 };

static const struct {
	unsigned bit;
	const char *goes;
} groups[] = {
	{ OF_LAKE, "--lake goes with status, check, vacuum, export and import" },
	{ OF_JSON, "--json goes with status and check" },
	{ OF_STATUS, "--rows goes with status" },
	{ OF_EXPORT, "--what, --format, --output, --run, --pipeline, --since and --until go with export" },
	{ OF_INIT, "--clickhouse, --print and --keep go with init: skep lake init --clickhouse URL" },
};

static const struct {
	const char *word;
	unsigned takes;
	int (*run)(const struct lake_options *);
} runs[] = {
	{ "status", OF_LAKE | OF_STATUS | OF_JSON, lake_command_status },
	{ "check", OF_LAKE | OF_JSON, lake_command_check },
	{ "vacuum", OF_LAKE, lake_command_vacuum },
	{ "export", OF_LAKE | OF_EXPORT, lake_command_export },
	{ "import", OF_LAKE | OF_FILES, lake_command_import },
	{ "init", OF_INIT, lake_command_init },
};

static unsigned given(const struct lake_options *o)
{
	unsigned bits = 0;

	bits |= o->lake ? OF_LAKE : 0;
	bits |= o->json ? OF_JSON : 0;
	bits |= o->rows ? OF_STATUS : 0;
	bits |= o->what || o->format || o->output || o->run || o->pipeline || o->since || o->until ? OF_EXPORT : 0;
	bits |= o->http.url || o->print || o->keep != LAKE_KEEP_AS_IS ? OF_INIT : 0;
	return bits;
}

static int run_lake(int argc, char **argv)
{
	struct lake_options o = { .database = "skep", .keep = LAKE_KEEP_AS_IS };
	int status = command_parse(&cmd_lake, argc, argv, &o);
	const char *word;

	if (status >= 0)
		return status;
	word = optind < argc ? argv[optind++] : "status";
	o.files = argv + optind;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		if (strcmp(word, runs[i].word) != 0)
			continue;
		if (optind < argc && !(runs[i].takes & OF_FILES))
			return skep_usage("lake", "unexpected argument '%s'", argv[optind]);
		for (size_t k = 0; k < sizeof(groups) / sizeof(groups[0]); k++)
			if (given(&o) & groups[k].bit & ~runs[i].takes)
				return skep_usage("lake", "%s", groups[k].goes);
		return runs[i].run(&o);
	}
	return command_no_word(&cmd_lake, word);
}
