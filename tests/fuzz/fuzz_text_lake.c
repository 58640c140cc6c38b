/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_text_lake.c - any bytes into a lake: each text that SQLite gives back is UTF-8, and json() takes each
 * JSON.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sinks/lake/store.h"
#include "tests/fuzz/fuzz_text.h"
#include "tests/unit/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/skep-fuzz-lake.XXXXXX";

static void clear(void)
{
	folder_remove(folder);
}

static void logged(struct skep_instance *inst, int level, const char *fmt, ...)
{
	(void)inst;
	(void)level;
	(void)fmt;
}

static void read_rows(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s;
	int rc;

	must(sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK, sql);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW)
		for (int c = 0; c < sqlite3_column_count(s); c++)
			if (sqlite3_column_type(s, c) == SQLITE_TEXT) {
				const unsigned char *text = sqlite3_column_text(s, c);

				must_be_utf8(text, (size_t)sqlite3_column_bytes(s, c), sql);
			}
	must(rc == SQLITE_DONE, sqlite3_errmsg(db));
	sqlite3_finalize(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const queries[] = { "SELECT s FROM dict", "SELECT * FROM proc", "SELECT * FROM run",
					       "SELECT *, json(fields) FROM record", "SELECT * FROM proc_facet" };
	static const struct skep_host host = { .size = sizeof(host), .boot_id = BOOT, .log = logged };
	static uint64_t id;
	const struct store_options options = { .path = folder, .host = &host, .db.busy_ms = 1000 };
	struct skep_record records[2 * N_STREAMS];
	struct skep_context contexts[2 * N_STREAMS];
	struct any_record any[2 * N_STREAMS];
	const struct skep_record *list[2 * N_STREAMS];
	char key[32], path[300];
	struct skep_batch batch = { .size = sizeof(batch),
				    .n = 2 * N_STREAMS,
				    .key = key,
				    .records = list,
				    .boot_id = BOOT,
				    .host_name = "h",
				    .kernel = "k" };
	struct store *store;
	uint32_t refused = 0;
	struct db_why why;
	struct texts t;
	sqlite3 *db;

	if (id == 0) {
		must(mkdtemp(folder), "mkdtemp");
		atexit(clear);
	}
	texts_read(&t, data, size);
	batch.id = ++id;
	snprintf(key, sizeof(key), "%llu", (unsigned long long)id);
	for (size_t i = 0; i < 2 * N_STREAMS; i++) {
		any_fill(&any[i], &contexts[i], &t);
		records[i] = (struct skep_record) { .size = sizeof(records[i]),
						    .stream = &any_streams[i % N_STREAMS],
						    .upid = { .pid = 5, .start_ns = 6 },
						    .time_ns = 8 + i,
						    .data = &any[i],
						    .context = &contexts[i] };
		list[i] = &records[i];
	}
	must(store_open(&options, &why, &store) == 0, why.text);
	must(store_apply(store, &batch, &why, &refused) == 0, why.text);
	store_close(store);
	snprintf(path, sizeof(path), "%s/lake-1970-01.db", folder);
	must(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK, "the file is not there");
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		read_rows(db, queries[i]);
	sqlite3_close(db);
	if (id % 64 == 0) { /* shrinks the lake again */
		clear();
		must(mkdir(folder, 0700) == 0, "mkdir");
	}
	return 0;
}
