-- SPDX-License-Identifier: Apache-2.0
-- The lake in ClickHouse: the tables of schema.sql for many hosts, written by the sink "clickhouse".
--
-- `skep lake init --clickhouse URL` runs this.  Statements end with a semicolon at a line's end; those before the
-- first "-- version N" line always run, the others once, in the order of their versions.  A line "-- since 22.3" or
-- "-- before 22.3" limits the statement after it to servers like that.  TEXT is LowCardinality(String), before 19.5
-- String; a word that lines "-- WORD: ..." explain stands for what they say.
--
-- Times (*_ns of a moment) are ns since 1970, 0 = not known, as in schema.sql; `start` and `time` are the same for
-- people, and cost no space.  A record that comes twice has the same uid, and ReplacingMergeTree keeps one of them: at once
-- where the server knows insert_deduplication_token, else when it merges; FINAL never shows two.  A uid has the boot id in it: two hosts may
-- have one name, and runs of two hosts one id.

CREATE TABLE IF NOT EXISTS schema_version (
	version UInt32,
	applied DateTime
) ENGINE = ReplacingMergeTree(applied) ORDER BY version;

-- version 1

-- One row per image of a process.  extra: fields without a column here, those of other probes among them, as JSON.
CREATE TABLE IF NOT EXISTS proc (
	uid UUID,
	host TEXT,
	boot_id TEXT,
	run TEXT,
	pipeline TEXT,
	task TEXT,
	tool TEXT,
	container TEXT,
	pid UInt32,
	start_boot_ns UInt64,
	image UInt32,
	ppid UInt32,
	parent_start_boot_ns UInt64,
	start_ns UInt64,
	end_ns UInt64,
	exit_code Int32,
	signal UInt8,
	state TEXT,
	comm TEXT,
	exe TEXT,
	filename TEXT,
	cwd TEXT,
	cgroup TEXT,
	oom_cgroup TEXT,
	argv Array(String),
	argv_total UInt32,
	labels Array(String),
	wrapper UInt8,
	execed UInt8,
	last UInt8,
	core_dumped UInt8,
	oom_killed UInt8,
	uid_user UInt32,
	gid UInt32,
	session UInt32,
	approx UInt32,
	oom_limit_bytes UInt64,
	oom_usage_bytes UInt64,
	oom_peak_bytes UInt64,
	cpu_ns UInt64,
	user_ns UInt64,
	system_ns UInt64,
	run_delay_ns UInt64,
	run_count UInt64,
	voluntary_switches UInt64,
	involuntary_switches UInt64,
	minor_faults UInt64,
	major_faults UInt64,
	rss_peak_bytes UInt64,
	maxrss_bytes UInt64,
	rchar_bytes UInt64,
	wchar_bytes UInt64,
	read_calls UInt64,
	write_calls UInt64,
	read_bytes UInt64,
	write_bytes UInt64,
	cancelled_write_bytes UInt64,
	threads_peak UInt32,
	extra String,
	start DateTime ALIAS toDateTime(intDiv(start_ns, 1000000000))
) ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(toDateTime(intDiv(start_ns, 1000000000)))
ORDER BY (pipeline, run, task, tool, uid);

-- Its begin, and its end, which has the larger rev.
CREATE TABLE IF NOT EXISTS run (
	uid UUID,
	host TEXT,
	boot_id TEXT,
	run String,
	name TEXT,
	pipeline TEXT,
	kernel TEXT,
	version TEXT,
	state TEXT,
	argv Array(String),
	argv_total UInt32,
	cwd TEXT,
	root_pid UInt32,
	root_start_boot_ns UInt64,
	uid_user UInt32,
	start_ns UInt64,
	end_ns UInt64,
	exit_code Int32,
	signal UInt8,
	cpus UInt32,
	interval_ns UInt64,
	rss_peak_bytes UInt64,
	processes_seen UInt64,
	rusage_cpu_ns UInt64,
	lost_kernel UInt64,
	lost_queue UInt64,
	lost_spool UInt64,
	lost_sink UInt64,
	extra String,
	rev UInt64,
	start DateTime ALIAS toDateTime(intDiv(start_ns, 1000000000))
) ENGINE = ReplacingMergeTree(rev)
PARTITION BY toYYYYMM(toDateTime(intDiv(start_ns, 1000000000)))
ORDER BY (pipeline, run, uid);

CREATE TABLE IF NOT EXISTS sample (
	uid UUID,
	host TEXT,
	boot_id TEXT,
	run TEXT,
	tool TEXT,
	start_ns UInt64,
	interval_ns UInt64,
	cpu_ns UInt64,
	run_delay_ns UInt64,
	read_bytes UInt64,
	write_bytes UInt64,
	rss_bytes UInt64,
	processes UInt32,
	started UInt32,
	extra String,
	start DateTime ALIAS toDateTime(intDiv(start_ns, 1000000000))
) ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(toDateTime(intDiv(start_ns, 1000000000)))
ORDER BY (run, tool, start_ns, uid);

CREATE TABLE IF NOT EXISTS loss (
	uid UUID,
	host TEXT,
	boot_id TEXT,
	time_ns UInt64,
	instance TEXT,
	stream TEXT,
	place TEXT,
	count UInt64,
	extra String,
	time DateTime ALIAS toDateTime(intDiv(time_ns, 1000000000))
) ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(toDateTime(intDiv(time_ns, 1000000000)))
ORDER BY (host, time_ns, uid);

-- Any other stream.  fields: JSON.
CREATE TABLE IF NOT EXISTS record (
	uid UUID,
	host TEXT,
	boot_id TEXT,
	stream TEXT,
	time_ns UInt64,
	run TEXT,
	upid String,
	fields String,
	time DateTime ALIAS toDateTime(intDiv(time_ns, 1000000000))
) ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(toDateTime(intDiv(time_ns, 1000000000)))
ORDER BY (stream, run, host, time_ns, uid);

-- A server knows a batch that comes again by its key, as long as it is among the last thousand inserts of that table, of all hosts: then
-- not even a query without FINAL shows a row twice.
-- since 22.3
ALTER TABLE proc MODIFY SETTING non_replicated_deduplication_window = 1000;
-- since 22.3
ALTER TABLE run MODIFY SETTING non_replicated_deduplication_window = 1000;
-- since 22.3
ALTER TABLE sample MODIFY SETTING non_replicated_deduplication_window = 1000;
-- since 22.3
ALTER TABLE loss MODIFY SETTING non_replicated_deduplication_window = 1000;
-- since 22.3
ALTER TABLE record MODIFY SETTING non_replicated_deduplication_window = 1000;

-- version 2

-- Sums of proc.  As in schema.sql: images: begun by exec, or forks that ran on; calls: begun by exec, wrappers left out; wall_ns: wrappers
-- left out.  They are views: a materialised view adds up what is inserted, and what comes again after a thousand other inserts it would
-- add again.  FINAL makes rows one by their key, however late they come.
-- SUMS: sum(last) AS processes, count() AS images, countIf(execed AND NOT wrapper) AS calls,
-- SUMS: countIf(last AND (exit_code > 0 OR signal > 0)) AS failures, sum(cpu_ns) AS cpu_ns,
-- SUMS: sum(if(NOT wrapper AND end_ns > start_ns, end_ns - start_ns, 0)) AS wall_ns, sum(run_delay_ns) AS run_delay_ns,
-- SUMS: sum(rchar_bytes) AS rchar_bytes, sum(wchar_bytes) AS wchar_bytes, sum(read_bytes) AS read_bytes,
-- SUMS: sum(write_bytes) AS write_bytes, max(rss_peak_bytes) AS rss_max_bytes
-- `skep lake init` has renamed roll-ups of version 1 that are tables: rollup_run_tool_v1, rollup_day_v1.  Their sums may be all that is
-- left of rows that a TTL has removed.  DROP VIEW refuses a table, so rename it first if you run these statements by hand.
DROP TABLE IF EXISTS rollup_run_tool_mv;
DROP TABLE IF EXISTS rollup_day_mv;
-- since 22.3
DROP VIEW IF EXISTS rollup_run_tool;
-- before 22.3
DROP TABLE IF EXISTS rollup_run_tool;
-- since 22.3
DROP VIEW IF EXISTS rollup_day;
-- before 22.3
DROP TABLE IF EXISTS rollup_day;
-- A run is one by host, boot and id.
CREATE VIEW rollup_run_tool AS
SELECT host, boot_id, run, pipeline, task, tool, toYYYYMM(toDateTime(intDiv(start_ns, 1000000000))) AS month,
	SUMS
FROM proc FINAL GROUP BY host, boot_id, run, pipeline, task, tool, month;
CREATE VIEW rollup_day AS
SELECT toDate(toDateTime(intDiv(start_ns, 1000000000))) AS day, pipeline, tool,
	SUMS
FROM proc FINAL GROUP BY day, pipeline, tool;
