/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/lake_records.h - realistic records of the core's streams for tests and
 * measurements of the lake: deterministic, made from a number.
 */
#ifndef SKEP_TESTS_LAKE_RECORDS_H
#define SKEP_TESTS_LAKE_RECORDS_H

#include "core/process/records.h"
#include <skep/mock.h>

/* 2026-11-10T00:00:00Z at boot time 0. */
#define RECORDS_OFFSET INT64_C(1794268800000000000)
#define SECOND         UINT64_C(1000000000)

/* Makes a file of version 6 into one of version 5. */
#define RECORDS_VERSION_5 \
	"ALTER TABLE proc_kind DROP COLUMN exe_size_bytes; ALTER TABLE proc_kind DROP COLUMN exe_modified_ns;" \
	"DROP TABLE usage_hour; PRAGMA user_version = 5; UPDATE meta SET value = '5' WHERE key = 'schema_version';"

/* Makes a file of version 6 into one of version 4. */
#define RECORDS_VERSION_4 \
	RECORDS_VERSION_5 \
	"DROP TABLE rollup_run; PRAGMA user_version = 4; UPDATE meta SET value = '4' WHERE key = 'schema_version';"

/* Makes a file of version 6 into one of version 3. */
#define RECORDS_VERSION_3 \
	RECORDS_VERSION_4 \
	"CREATE TABLE flat (" \
	"id INTEGER PRIMARY KEY, run INTEGER NOT NULL, task INTEGER NOT NULL, tool INTEGER NOT NULL, boot " \
	"INTEGER NOT NULL, pid INTEGER, start_boot_ns INTEGER, image INTEGER, ppid INTEGER, " \
	"parent_start_boot_ns INTEGER, start_ns INTEGER, end_ns INTEGER, exit_code INTEGER, signal INTEGER, " \
	"state INTEGER NOT NULL, comm INTEGER NOT NULL, exe INTEGER NOT NULL, filename INTEGER NOT NULL, cwd " \
	"INTEGER NOT NULL, cgroup INTEGER NOT NULL, container INTEGER NOT NULL, oom_cgroup INTEGER NOT NULL, " \
	"argv BLOB, argv_total INTEGER, wrapper INTEGER, execed INTEGER, last INTEGER, core_dumped INTEGER, " \
	"oom_killed INTEGER, uid INTEGER, gid INTEGER, session INTEGER, approx INTEGER, oom_limit_bytes " \
	"INTEGER, oom_usage_bytes INTEGER, oom_peak_bytes INTEGER, cpu_ns INTEGER, user_ns INTEGER, system_ns " \
	"INTEGER, run_delay_ns INTEGER, run_count INTEGER, voluntary_switches INTEGER, involuntary_switches " \
	"INTEGER, minor_faults INTEGER, major_faults INTEGER, rss_peak_bytes INTEGER, maxrss_bytes INTEGER, " \
	"rchar_bytes INTEGER, wchar_bytes INTEGER, read_calls INTEGER, write_calls INTEGER, read_bytes " \
	"INTEGER, write_bytes INTEGER, cancelled_write_bytes INTEGER, threads_peak INTEGER, task_id INTEGER " \
	"NOT NULL DEFAULT 0, step INTEGER NOT NULL DEFAULT 0, unit INTEGER NOT NULL DEFAULT 0" \
	");INSERT INTO flat SELECT * FROM proc; DROP VIEW proc; DROP VIEW proc_rows; DROP TABLE proc_row;" \
	"DROP TABLE proc_kind; DROP TABLE proc_argv; DROP TABLE IF EXISTS proc_earlier;" \
	"ALTER TABLE flat RENAME TO proc; CREATE INDEX proc_by_run ON proc (run, task, start_ns);" \
	"CREATE INDEX proc_by_tool ON proc (tool, start_ns); CREATE INDEX proc_by_upid ON proc (start_boot_ns, pid);" \
	"PRAGMA user_version = 3; UPDATE meta SET value = '3' WHERE key = 'schema_version';"

/* Makes a file of version 6 into one of version 2, for sqlite3_exec(): each run has a job. */
#define RECORDS_VERSION_2                                                                                        \
	RECORDS_VERSION_3 \
	"ALTER TABLE run DROP COLUMN container; ALTER TABLE run DROP COLUMN container_name;" \
	"ALTER TABLE run DROP COLUMN container_image; ALTER TABLE run DROP COLUMN pod;" \
	"ALTER TABLE run DROP COLUMN namespace; ALTER TABLE run DROP COLUMN unit;" \
	"ALTER TABLE task DROP COLUMN container; ALTER TABLE task DROP COLUMN container_name;" \
	"ALTER TABLE task DROP COLUMN container_image; ALTER TABLE task DROP COLUMN pod;" \
	"ALTER TABLE task DROP COLUMN namespace; ALTER TABLE task DROP COLUMN unit;" \
	"ALTER TABLE run DROP COLUMN job; ALTER TABLE proc DROP COLUMN unit; PRAGMA user_version = 2;"            \
	"UPDATE meta SET value = '2' WHERE key = 'schema_version'; INSERT OR IGNORE INTO dict (s) VALUES ('run');" \
	"INSERT INTO record (time_ns, stream, run, upid, fields) SELECT 1 << 62, (SELECT id FROM dict WHERE s = "   \
	"'run'), id, '', '{\"job\":\"4711\"}' FROM run;"

/* Makes a file of version 6 into one of version 1: its records of tasks are gone. */
#define RECORDS_VERSION_1                                                                                        \
	RECORDS_VERSION_2                                                                                        \
	"DROP TABLE task; ALTER TABLE proc DROP COLUMN task_id; ALTER TABLE proc DROP COLUMN step;"              \
	"DELETE FROM record;"                                                                                    \
	"ALTER TABLE run DROP COLUMN engine; ALTER TABLE run DROP COLUMN parent_run;"                            \
	"ALTER TABLE run DROP COLUMN origin; PRAGMA user_version = 1;"                                           \
	"UPDATE meta SET value = '1' WHERE key = 'schema_version'; INSERT OR IGNORE INTO dict (s) VALUES "       \
	"('run'), ('task');"                                                                                     \
	"INSERT INTO record (time_ns, stream, run, upid, fields) SELECT start_ns, (SELECT id FROM dict WHERE s = " \
	"'run'), id, '', '{\"run\":\"' || run || '\",\"origin\":\"command\",\"engine\":\"snakemake\",' || "              \
	"'\"parent_run\":\"outer\"}' FROM run;"                                                                    \
	"INSERT INTO record (time_ns, stream, run, upid, fields) SELECT start_ns, (SELECT id FROM dict WHERE s = " \
	"'task'), id, '', '{\"task\":\"old\",\"task_id\":\"7-1.0\",\"state\":\"exited\",\"cpu_ns\":77,' || "           \
	"'\"start_ns\":\"2026-11-10T00:16:40.000000005Z\",\"exit_code\":3,\"requested_cpus\":1.5}' FROM run;"

/* Process number n of a run of tasks x tools; strings live until the next 4,096 calls. */
void records_process(uint64_t n, const char *run, struct record_process *ret);
/* state "running" or "ended" */
void records_run(const char *run, const char *state, uint64_t start_ns, struct record_run *ret);
void records_add_process(struct skep_mock_batch *, const struct record_process *);
void records_add_run(struct skep_mock_batch *, const struct record_run *);
/* Task number n of the run: those of records_process(). */
void records_task(unsigned n, const char *run, struct record_task *ret);
void records_add_task(struct skep_mock_batch *, const struct record_task *);
/* Gives the sink the batch, waits a minute at most until it is acknowledged, and frees it. false: it was not. */
bool records_send_take(struct skep_mock *, struct skep_mock_batch *);

#endif
