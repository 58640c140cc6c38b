/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/status.c - `skep lake status`: prints what a lake holds.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/base/human.h"
#include "cli/base/json_out.h"
#include "cli/base/question.h"
#include "cli/base/skep.h"
#include "cli/base/table.h"
#include "cli/base/text.h"
#include "cli/lake/options.h"
#include "core/config/config.h"
#include "lake/status.h"

#define CONFIG_FILE SKEP_SYSCONF_DIR "/skepd.conf"
#define DAYS_MOST   3650 /* a growth of some days says nothing about ten years */
#define MONTHS_SHOWN 12

/* Retention as skepd.conf sets it for this lake; the defaults are those of sinks/lake/lake.c. */
struct bounds {
	bool known;
	uint64_t max_bytes, min_free, max_age_ns;
};

struct sums {
	uint64_t bytes, free_bytes, runs, processes, first_ns, last_ns;
	bool unknown; /* the number of processes */
	unsigned problems;
};

static bool same_folder(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void option(const json_t *options, const char *key, int (*parse)(const char *, uint64_t *), uint64_t *ret)
{
	const json_t *value = json_object_get(options, key);
	const char *text = json_string_value(value);
	uint64_t n;

	if (json_is_integer(value) && json_integer_value(value) >= 0)
		*ret = (uint64_t)json_integer_value(value);
	else if (text && parse(text, &n) == 0)
		*ret = n;
}

/* fs_bytes: of the lake's file system, of which the lake may have max_share percent. */
static struct bounds bounds_of(const char *lake, uint64_t fs_bytes)
{
	struct bounds b = { .max_bytes = UINT64_C(10) << 30, .min_free = UINT64_C(1) << 30,
			    .max_age_ns = 400 * 86400 * UINT64_C(1000000000) };
	struct diag ignored; /* skepd -t reports it, with file and line */
	uint64_t percent = 25, share;
	struct config *config;

	diag_init(&ignored);
	config = config_load(CONFIG_FILE, &ignored);
	diag_clear(&ignored);
	for (size_t i = 0; config && i < config->n_sinks && !b.known; i++) {
		const struct config_plugin *sink = &config->sinks[i];
		const char *path = json_string_value(json_object_get(sink->options, "path"));

		if (!sink->plugin || strcmp(sink->plugin, "lake") != 0 || !path || !same_folder(path, lake))
			continue;
		option(sink->options, "max_bytes", config_size, &b.max_bytes);
		option(sink->options, "max_share", config_size, &percent);
		option(sink->options, "min_free", config_size, &b.min_free);
		option(sink->options, "max_age", config_time, &b.max_age_ns);
		b.known = true;
	}
	config_free(config);
	share = (uint64_t)((double)fs_bytes * (double)percent / 100);
	if (share && (!b.max_bytes || share < b.max_bytes))
		b.max_bytes = share;
	return b;
}

static struct sums sum_up(const struct lake_status *s)
{
	struct sums sum = { 0 };

	for (size_t i = 0; i < s->n_files; i++) {
		const struct lake_file_status *f = &s->files[i];

		sum.bytes += f->bytes + f->wal_bytes;
		sum.free_bytes += f->free_bytes;
		sum.runs += f->runs;
		sum.processes += f->processes;
		sum.unknown |= !f->processes_known || f->problem;
		if (f->first_ns && (!sum.first_ns || f->first_ns < sum.first_ns))
			sum.first_ns = f->first_ns;
		if (f->last_ns > sum.last_ns)
			sum.last_ns = f->last_ns;
		sum.problems += f->problem != NULL;
	}
	return sum;
}

/* Days until the lake is at its bound or the disk is full; -1: not known. *ret_disk: it is the disk. */
static double days_left(const struct lake_status *s, const struct bounds *b, uint64_t bytes, bool *ret_disk)
{
	double disk = (double)s->fs_free_bytes, room = -1;

	*ret_disk = true;
	if (!s->growth_days || s->growth_bytes_a_day <= 0)
		return -1;
	if (b->known)
		disk = disk > (double)b->min_free ? disk - (double)b->min_free : 0;
	if (b->known && b->max_bytes)
		room = bytes < b->max_bytes ? (double)(b->max_bytes - bytes) : 0;
	if (room >= 0 && room < disk) {
		*ret_disk = false;
		disk = room;
	}
	return disk / s->growth_bytes_a_day;
}

/* Months without a file between the oldest and the newest, newest first; the caller frees the text. "": none. */
static char *months_missing(const struct lake_status *s, json_t *list)
{
	unsigned year, month, last = 0, shown = 0;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < s->n_files; i++) {
		if (sscanf(s->files[i].name, "lake-%4u-%2u", &year, &month) != 2 || strstr(s->files[i].name, ".corrupt-"))
			continue;
		/* a file of 1970 has the records without a time */
		for (unsigned m = last; last && year > 1970 && --m > year * 12 + month - 1 && shown <= MONTHS_SHOWN;) {
			char name[16];

			snprintf(name, sizeof(name), "%04u-%02u", m / 12, m % 12 + 1);
			fprintf(out, "%s%s", shown ? ", " : "", shown == MONTHS_SHOWN ? "..." : name);
			if (list)
				json_array_append_new(list, json_string(name));
			shown++;
		}
		last = year * 12 + month - 1;
	}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- for people ----------------------------------------------------------- */

static void print_bounds(const struct lake_status *s, const struct bounds *b, const struct sums *sum)
{
	char a[HUMAN_SIZE], c[HUMAN_SIZE], age[HUMAN_SIZE];
	bool disk;
	double days = days_left(s, b, sum->bytes, &disk);

	if (b->known)
		printf("  bounds     %s%s, %s stays free, %s%s (" CONFIG_FILE ")\n", b->max_bytes ? "at most " : "any size",
		       b->max_bytes ? human_bytes(b->max_bytes, 0, a) : "", human_bytes(b->min_free, 0, c),
		       b->max_age_ns ? "files of months that ended less than " : "files of any age",
		       b->max_age_ns ? human_time(b->max_age_ns, 0, age) : "");
	else
		puts("  bounds     not known: " CONFIG_FILE " names no such lake");
	if (!s->growth_days || s->growth_bytes_a_day <= 0) {
		puts("  growth     not known: it takes two whole days, and every file readable");
		return;
	}
	printf("  growth     %s a day over the last %u days; ", human_bytes((uint64_t)s->growth_bytes_a_day, 0, a),
	       s->growth_days);
	if (days > DAYS_MOST)
		puts("at this pace there is room for more than 10 years");
	else
		printf("at this pace %s in %.0f days%s\n", disk ? "the disk is full" : "the lake is at its bound", days,
		       b->known ? ", and skepd removes the oldest file" : "");
}

/* The file that retention removes first: the oldest one, and never the only one. NULL: none. */
static const struct lake_file_status *first_to_go(const struct lake_status *s)
{
	const struct lake_file_status *first = NULL;

	for (size_t i = 1; i < s->n_files; i++)
		if (!strstr(s->files[i].name, ".corrupt-"))
			first = &s->files[i];
	return first;
}

/* When max_age lets retention remove the file: that long after its month's end, or its last write. 0: never. */
static uint64_t too_old_ns(const struct lake_file_status *f, const struct bounds *b)
{
	unsigned year, month;
	struct tm tm = { .tm_mday = 1 };
	uint64_t end;

	if (!b->max_age_ns || sscanf(f->name, "lake-%4u-%2u", &year, &month) != 2)
		return 0;
	tm.tm_year = (int)year - 1900;
	tm.tm_mon = (int)month; /* of the month after it */
	end = (uint64_t)timegm(&tm) * 1000000000;
	return (end > f->last_ns ? end : f->last_ns) + b->max_age_ns;
}

static void print_next(const struct lake_status *s, const struct bounds *b)
{
	const struct lake_file_status *f = first_to_go(s);
	char size[HUMAN_SIZE], date[HUMAN_SIZE];
	uint64_t old;

	if (!b->known || !f)
		return;
	old = too_old_ns(f, b);
	printf("  next       %s (%s) goes first: %s%s%s%s\n", f->name, human_bytes(f->bytes + f->wal_bytes, 0, size),
	       b->max_bytes ? "at the bound" : "", b->max_bytes && old ? ", or " : "", old ? "by its age on " : "",
	       old ? human_date(old, HUMAN_DATE, date) : "");
}

static int print_files(const struct lake_status *s)
{
	static const struct table_column columns[] = {
		{ .title = "file", .left = true }, { .title = "size" },      { .title = "wal" },
		{ .title = "free" },               { .title = "schema" },    { .title = "runs" },
		{ .title = "processes" },          { .title = "B/process" }, { .title = "names" },
		{ .title = "first run", .left = true }, { .title = "last write", .left = true },
	};
	struct table *t = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	struct paint p;
	char buf[HUMAN_SIZE];
	int rc;

	if (!t)
		return -ENOMEM;
	paint_init(&p, stdout, NULL);
	for (size_t i = 0; i < s->n_files; i++) {
		const struct lake_file_status *f = &s->files[i];
		char *name = text_safe(f->name, p.unicode);
		bool read = !f->problem, counted = read && f->processes_known;

		table_cell(t, read ? INK_NONE : INK_RED, "%s", name ? name : "?");
		free(name);
		table_cell(t, INK_NONE, "%s", human_bytes(f->bytes, 0, buf));
		table_cell(t, INK_NONE, "%s", f->wal_bytes ? human_bytes(f->wal_bytes, 0, buf) : "-");
		table_cell(t, INK_NONE, "%s", read && f->free_bytes ? human_bytes(f->free_bytes, 0, buf) : "-");
		table_cell(t, INK_NONE, read ? "%u" : "-", f->version);
		table_cell(t, INK_NONE, "%s", read ? human_count(f->runs, buf) : "-");
		table_cell(t, INK_NONE, "%s", counted ? human_count(f->processes, buf) : "-");
		table_cell(t, INK_NONE, "%s", counted && f->processes ? human_count(f->bytes / f->processes, buf) : "-");
		table_cell(t, INK_NONE, "%s", read ? human_count(f->names, buf) : "-");
		table_cell(t, INK_DIM, "%s", human_date(f->first_ns, HUMAN_DATE | HUMAN_CLOCK, buf));
		table_cell(t, INK_DIM, "%s", human_date(f->last_ns, HUMAN_DATE | HUMAN_CLOCK, buf));
	}
	rc = table_print(t, &p, 2, 2);
	table_free(t);
	return rc;
}

static int print_text(const char *path, const struct lake_status *s, const struct bounds *b, bool rows)
{
	const struct sums sum = sum_up(s);
	char bytes[HUMAN_SIZE], runs[HUMAN_SIZE], processes[HUMAN_SIZE], each[HUMAN_SIZE], n[HUMAN_SIZE];
	char *missing = months_missing(s, NULL), *safe = text_safe(path, true);
	int rc;

	if (!missing || !safe) {
		free(missing);
		free(safe);
		return -ENOMEM;
	}
	printf("%s: %zu file%s, %s; %s run%s", safe, s->n_files, s->n_files == 1 ? "" : "s",
	       human_bytes(sum.bytes, 0, bytes), human_count(sum.runs, runs), sum.runs == 1 ? "" : "s");
	if (sum.processes && !sum.unknown)
		printf(", %s processes, %s bytes each", human_count(sum.processes, processes),
		       human_count(sum.bytes / sum.processes, each));
	printf("%s\n", sum.problems ? " in the files that can be read" : "");
	print_bounds(s, b, &sum);
	print_next(s, b);
	if (*missing)
		printf("  months     no file of %s: nothing was recorded, or the file was removed\n", missing);
	if (rows)
		fputs("  rows       ", stdout);
	for (size_t i = 0; rows && i < LAKE_STATUS_TABLES; i++) {
		uint64_t sum_of = 0;

		for (size_t k = 0; k < s->n_files; k++)
			sum_of += s->files[k].rows[i];
		printf("%s%s %s%s", i ? ", " : "", lake_status_tables[i], human_count(sum_of, n),
		       i + 1 == LAKE_STATUS_TABLES ? "\n" : "");
	}
	rc = print_files(s);
	if (sum.free_bytes)
		printf("%s of removed rows are free: new rows use them, skep lake vacuum gives them back\n",
		       human_bytes(sum.free_bytes, 0, n));
	free(missing);
	free(safe);
	return rc;
}

/* ---- for programs --------------------------------------------------------- */

static json_t *known(bool is, uint64_t n)
{
	return is ? json_integer((json_int_t)n) : json_null();
}

static json_t *file_json(const struct lake_file_status *f, bool count)
{
	bool read = !f->problem;
	json_t *rows = read && count ? json_object() : json_null();

	for (size_t i = 0; rows && read && count && i < LAKE_STATUS_TABLES; i++)
		json_object_set_new(rows, lake_status_tables[i], json_integer((json_int_t)f->rows[i]));
	return json_pack("{s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", json_out_string(f->name),
			 "problem", read ? json_null() : json_out_string(f->problem), "schema_version",
			 known(f->version, f->version), "bytes", (json_int_t)f->bytes, "wal_bytes", (json_int_t)f->wal_bytes,
			 "free_bytes", known(read, f->free_bytes), "runs", known(read, f->runs), "processes",
			 known(read && f->processes_known, f->processes), "names", known(read, f->names), "rows", rows,
			 "first", json_out_time(f->first_ns), "last", json_out_time(f->last_ns));
}

static int print_json(const char *path, const struct lake_status *s, const struct bounds *b, bool rows)
{
	const struct sums sum = sum_up(s);
	json_t *files = json_array(), *missing = json_array(), *bounds, *next;
	const struct lake_file_status *first = b->known ? first_to_go(s) : NULL;
	const uint64_t first_bytes = first ? first->bytes + first->wal_bytes : 0;
	bool disk;
	double days = days_left(s, b, sum.bytes, &disk);
	char *months = missing ? months_missing(s, missing) : NULL;

	for (size_t i = 0; files && i < s->n_files; i++)
		json_array_append_new(files, file_json(&s->files[i], rows));
	bounds = b->known ? json_pack("{s:I, s:I, s:I, s:s}", "max_bytes", (json_int_t)b->max_bytes, "min_free_bytes",
				     (json_int_t)b->min_free, "max_age_ns", (json_int_t)b->max_age_ns, "file", CONFIG_FILE)
			 : json_null();
	next = first ? json_pack("{s:o, s:I, s:o}", "name", json_out_string(first->name), "bytes",
				 (json_int_t)first_bytes, "too_old", json_out_time(too_old_ns(first, b)))
		     : json_null();
	free(months);
	return json_out_write(
		json_pack("{s:o, s:b, s:I, s:I, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "path", json_out_string(path),
			  "partial", sum.problems > 0, "bytes", (json_int_t)sum.bytes, "runs", (json_int_t)sum.runs, "processes",
			  known(!sum.unknown, sum.processes), "bytes_a_process",
			  known(!sum.unknown && sum.processes, sum.processes ? sum.bytes / sum.processes : 0),
			  "disk_free_bytes", (json_int_t)s->fs_free_bytes,
			  "bounds", bounds, "next_removed", next, "growth",
			  s->growth_days ? json_pack("{s:i, s:I}", "days", (int)s->growth_days, "bytes_a_day",
						     (json_int_t)s->growth_bytes_a_day)
					 : json_null(),
			  "full_in_days", days >= 0 && days <= DAYS_MOST ? json_real(days) : json_null(), "missing_months",
			  missing, "first", json_out_time(sum.first_ns), "last", json_out_time(sum.last_ns), "files", files),
		stdout);
}

/* ---- the command ---------------------------------------------------------- */

int lake_command_open(const struct lake_options *o, char **ret_path, struct lake **ret)
{
	char why[512] = "", *path = NULL;
	bool named, both;
	int rc = question_path("lake", o->lake, &path, &named, &both);

	if (rc)
		return rc;
	if (lake_is_address(path)) {
		rc = skep_fail("lake", SKEP_EXIT_RUNTIME,
			       "%s: status, check and vacuum are for a lake of files; ask ClickHouse: SELECT table, sum(rows), "
			       "sum(bytes_on_disk) FROM system.parts WHERE active GROUP BY table", path);
		free(path);
		return rc;
	}
	rc = lake_open(path, ret, why, sizeof(why));
	if (rc) {
		free(path);
		return skep_fail("lake", SKEP_EXIT_RUNTIME, "%s; --lake PATH names another", why);
	}
	*ret_path = path;
	return SKEP_EXIT_OK;
}

int lake_command_status(const struct lake_options *o)
{
	struct lake_status *s = NULL;
	struct lake *lake = NULL;
	struct bounds bounds;
	char why[1024] = "", *path = NULL;
	int rc, status = lake_command_open(o, &path, &lake);

	if (status || !path)
		return status;
	rc = lake_status(lake, o->rows, &s, why, sizeof(why));
	if (rc) {
		status = skep_fail("lake", SKEP_EXIT_RUNTIME, "%s", why);
		goto out;
	}
	bounds = bounds_of(path, s->fs_bytes);
	rc = o->json ? print_json(path, s, &bounds, o->rows) : print_text(path, s, &bounds, o->rows);
	if (rc)
		status = skep_fail("lake", SKEP_EXIT_RUNTIME, "cannot write the answer: %s", strerror(-rc));
	for (size_t i = 0; i < s->n_files; i++)
		if (s->files[i].problem)
			status = skep_fail("lake", SKEP_EXIT_RUNTIME, "%s", s->files[i].problem);
out:
	lake_status_free(s);
	lake_close(lake);
	free(path);
	return status;
}
