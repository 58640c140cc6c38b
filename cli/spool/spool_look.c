/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/spool/spool_look.c - `skep spool status` and `dead`: prints the contents of the spool.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/human.h"
#include "cli/base/json_out.h"
#include "cli/base/skep.h"
#include "cli/base/text.h"
#include "cli/spool/spool.h"
#include "core/base/clock.h"
#include "spool/db.h"

/* SQLite says of any file that it cannot open "unable to open database file". */
int spool_exists(const char *path)
{
	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0)
		return SKEP_EXIT_OK;
	if (errno == ENOENT)
		return skep_fail("spool", SKEP_EXIT_RUNTIME,
				 "%s does not exist: name the spool of skepd (\"spool\" in its configuration) with --spool PATH",
				 path);
	return skep_fail("spool", errno == EACCES ? SKEP_EXIT_PRIVILEGE : SKEP_EXIT_RUNTIME, "%s: %s", path,
			 strerror(errno));
}

static int open_it(const char *path, struct spool_db **ret)
{
	char why[256];
	int status = spool_exists(path), err;

	if (status != SKEP_EXIT_OK)
		return status;
	err = spool_db_open_read(path, ret, why, sizeof(why));
	if (err == 0)
		return SKEP_EXIT_OK;
	return skep_fail("spool", err == -EACCES ? SKEP_EXIT_PRIVILEGE : SKEP_EXIT_RUNTIME, "%s: %s", path, why);
}

struct looking {
	struct spool_db *db;
	json_t *sinks; /* NULL: print text */
};

static uint64_t age_of(int64_t then_ns)
{
	int64_t now = (int64_t)clock_realtime_ns();

	return then_ns > 0 && now > then_ns ? (uint64_t)(now - then_ns) : 0;
}

static void on_sink(void *arg, const char *name, uint64_t cursor)
{
	struct looking *l = arg;
	struct spool_lag lag = { 0 };
	char records[HUMAN_SIZE], bytes[HUMAN_SIZE], age[HUMAN_SIZE];

	spool_sink_lag(l->db, name, &lag);
	if (l->sinks) {
		json_array_append_new(l->sinks,
				      json_pack("{s:o, s:I, s:I, s:I, s:I}", "name", json_out_string(name), "cursor",
						(json_int_t)cursor, "lag_records", (json_int_t)lag.records, "lag_bytes",
						(json_int_t)lag.batches_bytes, "lag_ns",
						(json_int_t)age_of(lag.oldest_ns)));
		return;
	}
	if (lag.records == 0)
		printf("  %-20s has no backlog\n", name);
	else
		printf("  %-20s %s records behind, %s, the oldest %s ago\n", name, human_count(lag.records, records),
		       human_bytes(lag.batches_bytes, 0, bytes), human_time(age_of(lag.oldest_ns), 0, age));
}

int spool_status(const char *path, bool json)
{
	struct looking l = { .sinks = json ? json_array() : NULL };
	char file[HUMAN_SIZE], used[HUMAN_SIZE], records[HUMAN_SIZE], batches[HUMAN_SIZE], dead[HUMAN_SIZE];
	struct spool_size size;
	int status = open_it(path, &l.db), err;

	if (status != SKEP_EXIT_OK)
		goto out;
	err = spool_size(l.db, &size);
	if (err == 0 && !json) {
		printf("%s: %s, %s of it in use; %s records in %s batches wait\n", path,
		       human_bytes(size.file_bytes, 0, file), human_bytes(size.used_bytes, 0, used),
		       human_count(size.records, records), human_count(size.batches, batches));
		if (size.dead_records)
			printf("  %s records were refused for good: skep spool dead\n",
			       human_count(size.dead_records, dead));
	}
	if (err == 0)
		err = spool_sinks(l.db, on_sink, &l);
	if (err == 0 && json)
		json_out_write(json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:O}", "path", json_out_string(path),
					 "file_bytes", (json_int_t)size.file_bytes, "used_bytes",
					 (json_int_t)size.used_bytes, "batches", (json_int_t)size.batches, "records",
					 (json_int_t)size.records, "refused_records", (json_int_t)size.dead_records,
					 "sinks", l.sinks),
			       stdout);
	if (err < 0)
		status = skep_fail("spool", SKEP_EXIT_RUNTIME, "%s: %s", path, spool_why(l.db));
out:
	spool_db_close(l.db);
	json_decref(l.sinks);
	return status;
}

static int on_dead(void *arg, int64_t number, uint64_t batch, const char *sink, int64_t at_ns, unsigned status,
		   const char *why, uint32_t n, const void *body, size_t size)
{
	char when[HUMAN_SIZE], *safe;
	json_t *list = arg;

	(void)body;
	if (list)
		return json_array_append_new(list, json_pack("{s:I, s:I, s:o, s:I, s:i, s:o, s:i, s:I}", "number",
							     (json_int_t)number, "batch", (json_int_t)batch, "sink",
							     json_out_string(sink), "time_ns", (json_int_t)at_ns,
							     "status", (int)status, "why", json_out_string(why),
							     "records", (int)n, "bytes", (json_int_t)size))
			       ? -ENOMEM
			       : 0;
	safe = text_safe(why, true);
	printf("%s  %-12s batch %llu, %u records", human_date((uint64_t)at_ns, HUMAN_DATE | HUMAN_CLOCK, when),
	       *sink ? sink : "(unreadable)", (unsigned long long)batch, n);
	if (status)
		printf(", status %u", status);
	printf(": %s\n", safe ? safe : "");
	free(safe);
	return 0;
}

int spool_list_dead(const char *path, bool json)
{
	json_t *list = json ? json_array() : NULL;
	struct spool_db *db = NULL;
	int status = open_it(path, &db);

	if (status == SKEP_EXIT_OK && spool_dead(db, on_dead, list) < 0)
		status = skep_fail("spool", SKEP_EXIT_RUNTIME, "%s: %s", path, spool_why(db));
	if (status == SKEP_EXIT_OK && json)
		json_out_write(json_incref(list), stdout);
	spool_db_close(db);
	json_decref(list);
	return status;
}
