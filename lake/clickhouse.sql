-- SPDX-License-Identifier: Apache-2.0
-- The lake in ClickHouse: the tables of schema.sql for many hosts, written by the sink "clickhouse".
--
-- `skep lake init --clickhouse URL` runs this.  Statements end with a semicolon at a line's end; those before the
-- line "-- version N" always run, the others if the database has no tables of that version.  A line "-- since 22.3" or
-- "-- before 22.3" limits the statement after it to such servers.  TEXT is LowCardinality(String), before 19.5
-- String; lines "-- WORD: ..." define a word that skep replaces by their text.
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
-- exe_size_bytes, exe_modified_ns: of the file exe when it was executed: another binary has another time or size.
CREATE TABLE IF NOT EXISTS proc (
	uid UUID,
	host TEXT,
	boot_id TEXT,
	run TEXT,
	pipeline TEXT,
	task TEXT,
	task_id TEXT,
	step TEXT,
	scopes TEXT,
	tool TEXT,
	container TEXT,
	container_name TEXT,
	container_image TEXT,
	pod TEXT,
	namespace TEXT,
	unit TEXT,
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
	exe_size_bytes UInt64,
	exe_modified_ns UInt64,
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
ORDER BY (run, task, tool, uid);

-- A run's begin, and its end, which has the larger rev.  Its pipeline may come late, so it is not in the order: a run has one row.
CREATE TABLE IF NOT EXISTS run (
	uid UUID,
	host TEXT,
	boot_id TEXT,
	run String,
	name TEXT,
	pipeline TEXT,
	engine TEXT,
	parent_run String,
	origin TEXT,
	job String,
	account TEXT,
	join_key String,
	container TEXT,
	container_name TEXT,
	container_image TEXT,
	pod TEXT,
	namespace TEXT,
	unit TEXT,
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
	memory_peak_bytes UInt64,
	memory_source TEXT,
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
ORDER BY (run, uid);

-- A task of a run: one execution of a step.  A record that completes an earlier one has the same uid and a later time, rev, and
-- replaces it.  Its name and its run's pipeline may come late, so neither is in the order.
CREATE TABLE IF NOT EXISTS task (
	uid UUID,
	host TEXT,
	boot_id TEXT,
	run TEXT,
	pipeline TEXT,
	task TEXT,
	task_id String,
	state TEXT,
	engine TEXT,
	scopes TEXT,
	sample String,
	job String,
	attempt UInt32,
	name_source TEXT,
	traceparent String,
	root_pid UInt32,
	root_start_boot_ns UInt64,
	start_ns UInt64,
	end_ns UInt64,
	exit_code Int32,
	signal UInt8,
	processes UInt64,
	cpu_ns UInt64,
	run_delay_ns UInt64,
	rss_peak_bytes UInt64,
	read_bytes UInt64,
	write_bytes UInt64,
	requested_cpus Float64,
	requested_memory_bytes UInt64,
	requested_walltime_ns UInt64,
	requested_gpus UInt32,
	requested_source TEXT,
	granted_cpus Float64,
	granted_memory_bytes UInt64,
	granted_gpus UInt32,
	granted_source TEXT,
	inner_runs UInt32,
	container TEXT,
	container_name TEXT,
	container_image TEXT,
	pod TEXT,
	namespace TEXT,
	unit TEXT,
	extra String,
	rev UInt64,
	start DateTime ALIAS toDateTime(intDiv(start_ns, 1000000000))
) ENGINE = ReplacingMergeTree(rev)
PARTITION BY toYYYYMM(toDateTime(intDiv(start_ns, 1000000000)))
ORDER BY (run, uid);

-- Tasks are in the order of runs: without an index, the question for the runs of a job would read every task.
-- since 22.3
ALTER TABLE task ADD INDEX IF NOT EXISTS of_job job TYPE bloom_filter GRANULARITY 1;

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
	container TEXT,
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
ALTER TABLE task MODIFY SETTING non_replicated_deduplication_window = 1000;
-- since 22.3
ALTER TABLE sample MODIFY SETTING non_replicated_deduplication_window = 1000;
-- since 22.3
ALTER TABLE loss MODIFY SETTING non_replicated_deduplication_window = 1000;
-- since 22.3
ALTER TABLE record MODIFY SETTING non_replicated_deduplication_window = 1000;

-- Sums of proc.  As in schema.sql: images: begun by exec, or forks that ran on; calls: begun by exec, wrappers left
-- out; wall_ns: wrappers left out; day and month: UTC, whatever the server's time zone.  They are views: a materialised
-- view adds up what is inserted, and what comes again after a thousand other inserts it would add again.  FINAL makes
-- rows one by their key, however late they come.
-- SUMS: sum(last) AS processes, countIf(execed OR state != 'replaced') AS images, countIf(execed AND NOT wrapper) AS calls,
-- SUMS: countIf(exit_code > 0 OR signal > 0) AS failures, sum(cpu_ns) AS cpu_ns,
-- SUMS: sum(if(NOT wrapper AND start_ns > 0 AND end_ns > start_ns, end_ns - start_ns, 0)) AS wall_ns,
-- SUMS: sum(run_delay_ns) AS run_delay_ns,
-- SUMS: sum(rchar_bytes) AS rchar_bytes, sum(wchar_bytes) AS wchar_bytes, sum(read_bytes) AS read_bytes,
-- SUMS: sum(write_bytes) AS write_bytes, max(rss_peak_bytes) AS rss_max_bytes
-- A run is one by host, boot and id.
CREATE VIEW IF NOT EXISTS rollup_run_tool AS
SELECT host, boot_id, run, pipeline, tool, toYYYYMM(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) AS month,
	SUMS
FROM proc FINAL GROUP BY host, boot_id, run, pipeline, tool, month;
CREATE VIEW IF NOT EXISTS rollup_day AS
SELECT toDate(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) AS day, pipeline, tool,
	SUMS
FROM proc FINAL GROUP BY day, pipeline, tool;

-- What a host, each of its GPUs and each container on it used in an hour; columns as in schema.sql.  A view, as the sums
-- are: a batch that comes twice counts once.  It reads a row for each record of the asked hours: ask for days, not for years.
-- A container may have several cgroups, whose records of one pass have one time (in SQLite: sinks/lake/usage.c): the pass covers
-- the longest of their intervals, and its memory is the sum.
-- DAEMONS: the names of skep/daemons.h.
-- HOUR: intDiv(time_ns - 1, 3600000000000) AS hour
-- MINUTE: bitShiftLeft(toUInt64(1), toUInt8(intDiv(time_ns - 1, 60000000000) % 60))
-- NUM: visitParamExtractInt
-- REAL: visitParamExtractFloat
-- NONE: toInt64(0)
-- LEDGER: toInt64(greatest(visitParamExtractInt(fields, 'amount'), 0))
CREATE VIEW IF NOT EXISTS usage_hour AS
SELECT hour, host, item, boot_id, min(begin_ns) AS first_ns, max(end_ns) AS last_ns, sum(known) AS known_ns,
	sum(capacity) AS capacity_ns, sum(busy) AS busy_ns, sum(idle) AS idle_ns, sum(runs) AS runs_ns, sum(daemons) AS daemons_ns,
	max(memory) AS memory_bytes, max(memory_limit) AS memory_limit_bytes, sum(rx) AS rx_bytes, sum(tx) AS tx_bytes,
	sum(reads) AS read_bytes, sum(writes) AS write_bytes, groupBitOr(idle_bit) AS idle_minutes,
	groupBitOr(other_bit) AS other_minutes
FROM (
	SELECT HOUR, host, '' AS item, boot_id, toInt64(time_ns) - NUM(fields, 'interval_ns') AS begin_ns, toInt64(time_ns) AS end_ns,
		if(account = 'cpu' AND kind = 'reference', NUM(fields, 'interval_ns'), NONE) AS known,
		if(account = 'cpu' AND kind = 'reference', LEDGER, NONE) AS capacity,
		if(account = 'cpu' AND kind = 'part' AND post IN ('processes', 'excluded'), LEDGER, NONE) AS busy,
		if(account = 'cpu' AND kind = 'part' AND post = 'idle', LEDGER, NONE) AS idle,
		NONE AS runs, NONE AS daemons, NONE AS memory, NONE AS memory_limit,
		if(account = 'net.rx' AND kind = 'reference', LEDGER, NONE) AS rx,
		if(account = 'net.tx' AND kind = 'reference', LEDGER, NONE) AS tx,
		if(account = 'disk.read' AND kind = 'reference', LEDGER, NONE) AS reads,
		if(account = 'disk.write' AND kind = 'reference', LEDGER, NONE) AS writes,
		toUInt64(0) AS idle_bit, toUInt64(0) AS other_bit
	FROM (SELECT *, visitParamExtractString(fields, 'account') AS account, visitParamExtractString(fields, 'kind') AS kind,
		visitParamExtractString(fields, 'item') AS post FROM record FINAL WHERE stream = 'ledger' AND run = '' AND time_ns > 0)
	WHERE kind = 'reference' AND account IN ('cpu', 'net.rx', 'net.tx', 'disk.read', 'disk.write')
		OR account = 'cpu' AND kind = 'part' AND post IN ('idle', 'processes', 'excluded')
	UNION ALL
	SELECT HOUR, host, '' AS item, boot_id, toInt64(time_ns) AS begin_ns, toInt64(time_ns) AS end_ns, NONE AS known,
		NONE AS capacity, NONE AS busy, NONE AS idle, NONE AS runs, NONE AS daemons,
		toInt64(NUM(fields, 'system.memory.usage.used')) AS memory, toInt64(NUM(fields, 'system.memory.limit')) AS memory_limit,
		NONE AS rx, NONE AS tx, NONE AS reads, NONE AS writes, toUInt64(0) AS idle_bit, toUInt64(0) AS other_bit
	FROM record FINAL WHERE stream = 'host.memory' AND time_ns > 0
	UNION ALL
	SELECT HOUR, host, concat('gpu/', device) AS item, boot_id, toInt64(time_ns) - known AS begin_ns,
		toInt64(time_ns) AS end_ns, known, NONE AS capacity, busy, idle, NONE AS runs, NONE AS daemons,
		toInt64(REAL(fields, 'hw.gpu.memory.usage')) AS memory, toInt64(REAL(fields, 'hw.gpu.memory.limit')) AS memory_limit,
		NONE AS rx, NONE AS tx, NONE AS reads, NONE AS writes,
		if(idle > 0 AND busy = 0, MINUTE, toUInt64(0)) AS idle_bit,
		if(idle > 0 AND busy = 0, toUInt64(0), MINUTE) AS other_bit
	FROM (SELECT *, visitParamExtractString(fields, 'hw.id') AS device, toInt64(NUM(fields, 'interval_ns')) AS known,
		toInt64(REAL(fields, 'busy_ns')) AS busy, toInt64(REAL(fields, 'idle_held_ns')) AS idle
		FROM record FINAL WHERE stream = 'gpu.device' AND time_ns > 0)
	WHERE device != '' AND visitParamExtractString(fields, 'hw.parent') = ''
	UNION ALL
	SELECT hour, host, concat('container/', container) AS item, boot_id, min(at_ns - covers) AS begin_ns, max(at_ns) AS end_ns,
		max(covers) AS known, NONE AS capacity, sum(cpu) AS busy, NONE AS idle, NONE AS runs, NONE AS daemons,
		sum(used) AS memory, max(most) AS memory_limit, NONE AS rx, NONE AS tx, sum(in_bytes) AS reads,
		sum(out_bytes) AS writes, toUInt64(0) AS idle_bit, toUInt64(0) AS other_bit
	FROM (SELECT HOUR, host, container, boot_id, intDiv(time_ns, 10000000) AS pass, toInt64(time_ns) AS at_ns,
		toInt64(NUM(fields, 'interval_ns')) AS covers, toInt64(NUM(fields, 'cpu_ns')) AS cpu,
		toInt64(NUM(fields, 'memory_bytes')) AS used, toInt64(NUM(fields, 'memory_limit_bytes')) AS most,
		toInt64(NUM(fields, 'read_bytes')) AS in_bytes, toInt64(NUM(fields, 'write_bytes')) AS out_bytes
		FROM record FINAL WHERE stream = 'cgroup' AND container != '' AND time_ns > 0 AND
		visitParamExtractBool(fields, 'gone') = 0)
	GROUP BY hour, host, container, boot_id, pass
	UNION ALL
	SELECT intDiv(start_ns + interval_ns - 1, 3600000000000) AS hour, host, '' AS item, boot_id, toInt64(start_ns) AS begin_ns,
		toInt64(start_ns + interval_ns) AS end_ns, NONE AS known, NONE AS capacity, NONE AS busy, NONE AS idle,
		if(run != '', toInt64(cpu_ns), NONE) AS runs, if(run = '', toInt64(cpu_ns), NONE) AS daemons, NONE AS memory,
		NONE AS memory_limit, NONE AS rx, NONE AS tx, NONE AS reads, NONE AS writes, toUInt64(0) AS idle_bit,
		toUInt64(0) AS other_bit
	FROM sample FINAL WHERE start_ns > 0 AND (run != '' OR tool IN (DAEMONS))
) GROUP BY hour, host, item, boot_id;
