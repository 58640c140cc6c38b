-- SPDX-License-Identifier: Apache-2.0
-- The lake: SQLite files of a month each (lake-YYYY-MM.db, then lake-YYYY-MM.1.db, UTC), each
-- complete in itself.  A run is kept whole in the file in which it began; a record without a run is in
-- a file of the month of its time.  This text creates version 1 of the schema; the version is
-- in PRAGMA user_version and in meta.
--
-- Times (*_ns of a moment) are CLOCK_REALTIME ns since 1970, 0 = not known; those named
-- *_boot_ns are boot time, as they stand in a upid.  Strings that repeat are numbers of
-- dict, 0 = "".  run = 0: no run.  A NULL number: its record had no such field.

CREATE TABLE meta (
	key TEXT PRIMARY KEY,
	value TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO meta VALUES ('schema_version', '1'), ('file', lower(hex(randomblob(16))));

CREATE TABLE dict (
	id INTEGER PRIMARY KEY,
	s TEXT NOT NULL UNIQUE
);
INSERT INTO dict VALUES (0, '');

-- state '': the run is known only from its records, its own has not come (yet)
CREATE TABLE run (
	id INTEGER PRIMARY KEY,
	run TEXT NOT NULL UNIQUE,
	name TEXT NOT NULL DEFAULT '',
	pipeline TEXT NOT NULL DEFAULT '',
	host TEXT NOT NULL DEFAULT '',
	boot_id TEXT NOT NULL DEFAULT '',
	kernel TEXT NOT NULL DEFAULT '',
	version TEXT NOT NULL DEFAULT '',
	state TEXT NOT NULL DEFAULT '',
	argv BLOB, -- "a\0b\0"
	argv_total INTEGER,
	cwd TEXT NOT NULL DEFAULT '',
	root_pid INTEGER,
	root_start_boot_ns INTEGER,
	uid INTEGER,
	start_ns INTEGER,
	end_ns INTEGER,
	exit_code INTEGER,
	signal INTEGER,
	cpus INTEGER,
	interval_ns INTEGER,
	rss_peak_bytes INTEGER,
	processes_seen INTEGER,
	rusage_cpu_ns INTEGER,
	lost_kernel INTEGER,
	lost_queue INTEGER,
	lost_spool INTEGER,
	lost_sink INTEGER
);
CREATE INDEX run_by_start ON run (start_ns);

-- One row per image of a process.
CREATE TABLE proc (
	id INTEGER PRIMARY KEY,
	run INTEGER NOT NULL,
	task INTEGER NOT NULL,
	tool INTEGER NOT NULL,
	boot INTEGER NOT NULL, -- dict: boot id
	pid INTEGER,
	start_boot_ns INTEGER, -- of the process: with boot and pid its upid
	image INTEGER,
	ppid INTEGER,
	parent_start_boot_ns INTEGER,
	start_ns INTEGER,
	end_ns INTEGER,
	exit_code INTEGER,
	signal INTEGER,
	state INTEGER NOT NULL,
	comm INTEGER NOT NULL,
	exe INTEGER NOT NULL,
	filename INTEGER NOT NULL,
	cwd INTEGER NOT NULL,
	cgroup INTEGER NOT NULL,
	container INTEGER NOT NULL,
	oom_cgroup INTEGER NOT NULL,
	argv BLOB, -- "a\0b\0"
	argv_total INTEGER, -- larger than length(argv): cut
	wrapper INTEGER,
	execed INTEGER,
	last INTEGER,
	core_dumped INTEGER,
	oom_killed INTEGER,
	uid INTEGER,
	gid INTEGER,
	session INTEGER,
	approx INTEGER,
	oom_limit_bytes INTEGER,
	oom_usage_bytes INTEGER,
	oom_peak_bytes INTEGER,
	cpu_ns INTEGER,
	user_ns INTEGER,
	system_ns INTEGER,
	run_delay_ns INTEGER,
	run_count INTEGER,
	voluntary_switches INTEGER,
	involuntary_switches INTEGER,
	minor_faults INTEGER,
	major_faults INTEGER,
	rss_peak_bytes INTEGER,
	maxrss_bytes INTEGER,
	rchar_bytes INTEGER,
	wchar_bytes INTEGER,
	read_calls INTEGER,
	write_calls INTEGER,
	read_bytes INTEGER,
	write_bytes INTEGER,
	cancelled_write_bytes INTEGER,
	threads_peak INTEGER
);
CREATE INDEX proc_by_run ON proc (run, task, start_ns);
CREATE INDEX proc_by_tool ON proc (tool, start_ns);
-- By which the second record of an image finds the row of the first.  Not unique: an image that a rule excludes and
-- another includes again has one row for each part of its time.
CREATE INDEX proc_by_upid ON proc (start_boot_ns, pid);

-- What other probes, or fields that this schema has no column for, say about a proc row.
CREATE TABLE proc_facet (
	proc INTEGER NOT NULL,
	name INTEGER NOT NULL, -- dict
	value, -- number or text
	PRIMARY KEY (proc, name)
) WITHOUT ROWID;

CREATE TABLE sample (
	id INTEGER PRIMARY KEY,
	run INTEGER NOT NULL,
	tool INTEGER NOT NULL,
	start_ns INTEGER,
	interval_ns INTEGER,
	cpu_ns INTEGER,
	run_delay_ns INTEGER,
	read_bytes INTEGER,
	write_bytes INTEGER,
	rss_bytes INTEGER,
	processes INTEGER,
	started INTEGER
);
CREATE INDEX sample_by_run ON sample (run, start_ns);

CREATE TABLE loss (
	id INTEGER PRIMARY KEY,
	time_ns INTEGER NOT NULL,
	instance INTEGER NOT NULL,
	stream INTEGER NOT NULL,
	place INTEGER NOT NULL, -- dict: kernel, queue, spool, sink
	count INTEGER
);
CREATE INDEX loss_by_time ON loss (time_ns);

-- Any other stream.
CREATE TABLE record (
	id INTEGER PRIMARY KEY,
	time_ns INTEGER NOT NULL,
	stream INTEGER NOT NULL,
	run INTEGER NOT NULL,
	upid TEXT NOT NULL,
	fields TEXT NOT NULL -- JSON
);
CREATE INDEX record_by_run ON record (run, stream, time_ns);
CREATE INDEX record_by_time ON record (stream, time_ns);

-- Sums, kept in the transaction that adds the rows, so that questions about many runs
-- never read proc.  images: begun by exec, or forks that ran on; calls: begun by exec,
-- wrappers left out; forks: ran on without exec; failures: non-zero exit or signal.
CREATE TABLE rollup_run_tool (
	run INTEGER NOT NULL,
	task INTEGER NOT NULL,
	tool INTEGER NOT NULL,
	processes INTEGER NOT NULL,
	images INTEGER NOT NULL,
	calls INTEGER NOT NULL,
	forks INTEGER NOT NULL,
	failures INTEGER NOT NULL,
	cpu_ns INTEGER NOT NULL,
	wall_ns INTEGER NOT NULL, -- sum over images, wrappers left out
	run_delay_ns INTEGER NOT NULL,
	rchar_bytes INTEGER NOT NULL,
	wchar_bytes INTEGER NOT NULL,
	read_bytes INTEGER NOT NULL,
	write_bytes INTEGER NOT NULL,
	rss_max_bytes INTEGER NOT NULL,
	PRIMARY KEY (run, task, tool)
) WITHOUT ROWID;

CREATE TABLE rollup_day (
	day INTEGER NOT NULL, -- UTC, days since 1970
	pipeline INTEGER NOT NULL,
	tool INTEGER NOT NULL,
	processes INTEGER NOT NULL,
	images INTEGER NOT NULL,
	calls INTEGER NOT NULL,
	forks INTEGER NOT NULL,
	failures INTEGER NOT NULL,
	cpu_ns INTEGER NOT NULL,
	wall_ns INTEGER NOT NULL,
	run_delay_ns INTEGER NOT NULL,
	rchar_bytes INTEGER NOT NULL,
	wchar_bytes INTEGER NOT NULL,
	read_bytes INTEGER NOT NULL,
	write_bytes INTEGER NOT NULL,
	rss_max_bytes INTEGER NOT NULL,
	PRIMARY KEY (day, pipeline, tool)
) WITHOUT ROWID;

-- Batches that are in this file already: one that comes again is not applied again.
CREATE TABLE batch_seen (
	key TEXT PRIMARY KEY,
	time_ns INTEGER NOT NULL
);
