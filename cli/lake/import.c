/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/import.c - `skep lake import`: the runs of files that `skep lake export --what all` wrote, into a lake.  A
 * run is written whole or not at all; one that the lake has is skipped, so a second import changes nothing.
 */
#include "cli/lake/import.h"

#include <errno.h>
#include <skep/record.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/lakepath.h"
#include "cli/base/skep.h"
#include "cli/lake/options.h"
#include "lake/lake.h"

#define LINE_MOST (64u << 20) /* an argument list has 6 MiB at most */

struct import {
	const char *folder;
	struct import_sink *sink;
	struct import_run run;
	char **ids; /* of the lake's runs, sorted; then of the imported ones */
	size_t n_ids, n_sorted, room;
	size_t imported, processes, skipped;
};

/* ---- runs that the lake has -------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_id(struct import *i, const char *id)
{
	if (i->n_ids == i->room) {
		size_t room = i->room ? 2 * i->room : 256;
		char **grown = reallocarray(i->ids, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		i->ids = grown;
		i->room = room;
	}
	i->ids[i->n_ids] = strdup(id);
	return i->ids[i->n_ids++] ? 0 : -ENOMEM;
}

static bool has_id(const struct import *i, const char *id)
{
	if (i->n_sorted && bsearch(&id, i->ids, i->n_sorted, sizeof(*i->ids), by_id))
		return true;
	for (size_t k = i->n_sorted; k < i->n_ids; k++)
		if (strcmp(i->ids[k], id) == 0)
			return true;
	return false;
}

/* 0, also when there is no lake yet; or an exit status after a message. */
static int read_ids(struct import *i)
{
	const struct lake_runs_query query = { .sessions = true };
	struct lake_runs *runs = NULL;
	struct lake *lake = NULL;
	const char *const *unread;
	char why[1024] = "";
	int err = lake_open(i->folder, &lake, why, sizeof(why));

	if (err == -ENOENT)
		return SKEP_EXIT_OK;
	if (!err)
		err = lake_runs(lake, &query, &runs, why, sizeof(why));
	if (!err && lake_unread(lake, &unread)) {
		snprintf(why, sizeof(why), "%s; its runs could be imported twice", unread[0]);
		err = -EUCLEAN;
	}
	for (size_t k = 0; !err && k < runs->n; k++)
		err = add_id(i, runs->runs[k].id);
	i->n_sorted = i->n_ids;
	if (!err && i->n_ids)
		qsort(i->ids, i->n_ids, sizeof(*i->ids), by_id);
	lake_runs_free(runs);
	lake_close(lake);
	return err ? skep_fail("lake", SKEP_EXIT_RUNTIME, "%s", *why ? why : strerror(-err)) : SKEP_EXIT_OK;
}

/* ---- files --------------------------------------------------------------------------- */

static int write_run(struct import *i, const char *file, size_t line)
{
	const struct lake_report *r = &i->run.report;
	char why[600] = "";
	int err;

	if (has_id(i, r->run.id)) {
		i->skipped++;
		import_run_free(&i->run);
		return SKEP_EXIT_OK;
	}
	err = import_sink_write(i->sink, &i->run, why, sizeof(why));
	if (!err)
		err = add_id(i, r->run.id);
	if (err)
		return skep_fail("lake", SKEP_EXIT_RUNTIME, "%s:%zu: cannot write run %s into %s: %s", file, line, r->run.id,
				 i->folder, why);
	i->imported++;
	i->processes += r->n_processes;
	import_run_free(&i->run);
	return SKEP_EXIT_OK;
}

/* The next line without its end, in *line. 1; 0 at the end of the file; or -errno. */
static int next_line(FILE *in, char **line, size_t *room, size_t *ret_len)
{
	size_t n = 0;
	int c;

	while ((c = getc_unlocked(in)) != EOF && c != '\n') {
		if (n == LINE_MOST)
			return -E2BIG;
		if (n == *room) {
			size_t more = *room ? 2 * *room : 4096;
			char *grown = realloc(*line, more);

			if (!grown)
				return -ENOMEM;
			*line = grown;
			*room = more;
		}
		(*line)[n++] = (char)c;
	}
	if (ferror(in))
		return errno ? -errno : -EIO;
	*ret_len = n;
	return c != EOF || n > 0;
}

static int fail_line(const char *file, size_t number, int err, const struct import_error *e)
{
	if (err == -E2BIG)
		return skep_fail("lake", SKEP_EXIT_RUNTIME, "%s:%zu: the line has more than 64 MiB; is it an export of skep's?", file,
				 number);
	if (err != -EINVAL)
		return skep_fail("lake", SKEP_EXIT_RUNTIME, "%s:%zu: %s", file, number, strerror(-err));
	if (e->column)
		return skep_fail("lake", SKEP_EXIT_RUNTIME, "%s:%zu:%d: %s", file, number, e->column, e->text);
	return skep_fail("lake", SKEP_EXIT_RUNTIME, "%s:%zu: %s", file, number, e->text);
}

static int read_file(struct import *i, const char *file, FILE *in)
{
	struct import_error error = { 0 };
	char *line = NULL;
	size_t room = 0, len = 0, number = 0;
	int more = 0, err, status = SKEP_EXIT_OK;

	while (!status && (more = next_line(in, &line, &room, &len)) > 0) {
		number++;
		err = import_row(&i->run, len ? line : "", len, &error);
		if (err)
			status = fail_line(file, number, err, &error);
		else if (!i->run.following)
			status = write_run(i, file, number);
	}
	if (more < 0)
		status = fail_line(file, number + 1, more, &error);
	if (!status && i->run.following)
		status = skep_fail("lake", SKEP_EXIT_RUNTIME,
				   "%s:%zu: the file ends with %zu of the %zu rows of run %s; is a part of it missing?", file,
				   number, i->run.wanted - i->run.following, i->run.wanted, i->run.report.run.id);
	free(line);
	import_run_free(&i->run);
	return status;
}

/* ---- the command ------------------------------------------------------------------ */

/* Files of another owner than the folder's would stop the skepd that writes there. */
static int check_folder(const char *folder)
{
	struct stat st;

	if (lake_is_address(folder))
		return skep_fail("lake", SKEP_EXIT_USAGE, "%s: import writes into a folder; --lake PATH names one", folder);
	if (stat(folder, &st) == 0 && st.st_uid != geteuid())
		return skep_fail("lake", SKEP_EXIT_RUNTIME,
				 "%s belongs to the user with uid %u; run import as that user, or its owner could not write "
				 "what you import",
				 folder, (unsigned)st.st_uid);
	return SKEP_EXIT_OK;
}

int lake_command_import(const struct lake_options *o)
{
	struct import i = { 0 };
	char *path = NULL;
	int rc = 0, status;

	if (!*o->files)
		return skep_usage("lake", "import needs FILE...; - is the input");
	if (o->lake)
		path = strdup(o->lake);
	else
		rc = lake_default_path(&path);
	if (rc || !path)
		return skep_fail("lake", SKEP_EXIT_RUNTIME, "cannot locate the lake: %s; use --lake PATH",
				 rc == -ENOENT ? "HOME is not set" : rc ? strerror(-rc) : strerror(ENOMEM));
	i.folder = path;
	status = check_folder(path);
	if (!status)
		status = read_ids(&i);
	if (!status)
		status = import_sink_new(path, &i.sink);
	for (char *const *file = o->files; *file && !status; file++) {
		FILE *in = strcmp(*file, "-") == 0 ? stdin : fopen(*file, "re");

		if (!in) {
			status = skep_fail("lake", SKEP_EXIT_RUNTIME, "%s: %s", *file, strerror(errno));
			break;
		}
		status = read_file(&i, *file, in);
		if (in != stdin)
			fclose(in);
	}
	i.sink = import_sink_free(i.sink);
	if (i.imported || i.skipped || !status)
		printf("%s: imported %zu run%s with %zu processes; skipped %zu that the lake has\n", path, i.imported,
		       i.imported == 1 ? "" : "s", i.processes, i.skipped);
	for (size_t k = 0; k < i.n_ids; k++)
		free(i.ids[k]);
	free(i.ids);
	free(path);
	return status;
}
