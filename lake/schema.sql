-- SPDX-License-Identifier: Apache-2.0
-- The lake: SQLite files of a month each (lake-YYYY-MM.db, then lake-YYYY-MM.1.db, UTC), each
-- complete in itself.  A run is kept whole in the file in which it began; a record without a run is in
-- a file of the month of its time.  This text creates version 1 of the schema; the version is
-- in PRAGMA user_version and in meta.  The sink and readers refuse a file of another version.
--
-- Times (*_ns of a moment) are CLOCK_REALTIME ns since 1970, 0 = not known; those named
-- *_boot_ns are boot time, as they stand in a upid.  Strings that repeat are numbers of
-- dict, 0 = "".  run = 0: no run.  A NULL number: its record had no such field.

-- rows_summed: records that only the sums have, as their users had spent their budgets; other_days: rollup_day also has
-- the days of a removed file.
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
-- origin: command, session, shell, or the class of its engine; container to unit: of its root
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
	memory_peak_bytes INTEGER,
	memory_source TEXT NOT NULL DEFAULT '', -- process, pss, rss
	processes_seen INTEGER,
	rusage_cpu_ns INTEGER,
	lost_kernel INTEGER,
	lost_queue INTEGER,
	lost_spool INTEGER,
	lost_sink INTEGER,
	engine TEXT NOT NULL DEFAULT '', -- workflow engine, scheduler or launcher that leads it
	parent_run TEXT NOT NULL DEFAULT '', -- id of the run in which it began
	origin TEXT NOT NULL DEFAULT '',
	job TEXT NOT NULL DEFAULT '',
	account TEXT NOT NULL DEFAULT '', -- that the scheduler charges for the job
	container TEXT NOT NULL DEFAULT '',
	container_name TEXT NOT NULL DEFAULT '',
	container_image TEXT NOT NULL DEFAULT '',
	pod TEXT NOT NULL DEFAULT '',
	namespace TEXT NOT NULL DEFAULT '',
	unit TEXT NOT NULL DEFAULT ''
);
CREATE INDEX run_by_start ON run (start_ns);
CREATE INDEX run_by_name ON run (name, start_ns);
CREATE INDEX run_by_parent ON run (parent_run);
CREATE INDEX run_by_pipeline ON run (pipeline, start_ns);
CREATE INDEX run_by_job ON run (job) WHERE job <> '';

-- A task of a run: one execution of a step.  Its figures are those of its record: all processes until its end.
CREATE TABLE task (
	run INTEGER NOT NULL,
	task_id TEXT NOT NULL, -- in dict for proc.task_id
	task TEXT NOT NULL, -- its name
	state TEXT NOT NULL,
	engine TEXT NOT NULL,
	scopes TEXT NOT NULL, -- engines around its root when it began: "cron > make"
	sample TEXT NOT NULL,
	job TEXT NOT NULL,
	attempt INTEGER,
	name_source TEXT NOT NULL,
	traceparent TEXT NOT NULL,
	root_pid INTEGER,
	root_start_boot_ns INTEGER,
	start_ns INTEGER,
	end_ns INTEGER,
	exit_code INTEGER,
	signal INTEGER,
	processes INTEGER,
	cpu_ns INTEGER,
	run_delay_ns INTEGER,
	rss_peak_bytes INTEGER,
	read_bytes INTEGER,
	write_bytes INTEGER,
	requested_cpus REAL,
	requested_memory_bytes INTEGER,
	requested_walltime_ns INTEGER,
	requested_gpus INTEGER,
	requested_source TEXT NOT NULL,
	granted_cpus REAL,
	granted_memory_bytes INTEGER,
	granted_gpus INTEGER,
	granted_source TEXT NOT NULL,
	inner_runs INTEGER, -- that its processes began or joined: what these do is not in the task's figures
	container TEXT NOT NULL DEFAULT '',
	container_name TEXT NOT NULL DEFAULT '',
	container_image TEXT NOT NULL DEFAULT '',
	pod TEXT NOT NULL DEFAULT '',
	namespace TEXT NOT NULL DEFAULT '',
	unit TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (run, task_id)
) WITHOUT ROWID;
CREATE INDEX task_by_job ON task (job) WHERE job <> '';

-- One image of a process, as the view `proc` shows it, is a row of proc_row, with a proc_kind and a proc_argv that it
-- shares with other images.  A number that another one implies is stored as its difference to that one, mostly 0:
-- SQLite stores 0 and 1 in no byte.

-- What images have in common.  The sink may store a kind twice.
CREATE TABLE proc_kind (
	id INTEGER PRIMARY KEY,
	-- Realtime minus boot time, nearly: the view adds it to a row's start.  NULL: the rows of this kind hold no
	-- differences, as a number is missing or too large.
	clock_ns INTEGER,
	task INTEGER NOT NULL,
	tool INTEGER NOT NULL,
	boot INTEGER NOT NULL, -- dict: boot id
	image INTEGER,
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
	task_id INTEGER NOT NULL, -- dict: of `task`, within the run
	step INTEGER NOT NULL, -- dict: path within the task
	scopes INTEGER NOT NULL, -- dict: engines around it, "cron > make"
	unit INTEGER NOT NULL, -- dict: of systemd
	-- of the file exe when it was executed: another binary has another time or size; the view proc lacks them
	exe_size_bytes INTEGER,
	exe_modified_ns INTEGER
);

-- The sink may store a list twice.
CREATE TABLE proc_argv (
	id INTEGER PRIMARY KEY,
	argv BLOB, -- "a\0b\0"
	total INTEGER -- larger than length(argv): cut
);

CREATE TABLE proc_row (
	id INTEGER PRIMARY KEY,
	run INTEGER NOT NULL,
	kind INTEGER NOT NULL, -- proc_kind
	pid INTEGER,
	start_boot_ns INTEGER, -- of the process: with boot and pid its upid
	ppid INTEGER,
	parent_start_boot_ns INTEGER, -- minus start_boot_ns
	start_ns INTEGER, -- minus start_boot_ns and the kind's clock_ns
	end_ns INTEGER, -- minus start_ns
	argv INTEGER, -- proc_argv
	cpu_ns INTEGER,
	user_ns INTEGER, -- minus (cpu_ns - system_ns)
	system_ns INTEGER,
	run_delay_ns INTEGER,
	run_count INTEGER, -- minus the switches
	voluntary_switches INTEGER,
	involuntary_switches INTEGER,
	minor_faults INTEGER,
	major_faults INTEGER,
	rss_peak_bytes INTEGER,
	maxrss_bytes INTEGER, -- minus rss_peak_bytes
	rchar_bytes INTEGER,
	wchar_bytes INTEGER,
	read_calls INTEGER,
	write_calls INTEGER,
	read_bytes INTEGER,
	write_bytes INTEGER,
	cancelled_write_bytes INTEGER,
	threads_peak INTEGER
);
CREATE INDEX proc_row_by_run ON proc_row (run);

CREATE VIEW proc_rows AS SELECT
	r.id, r.run, k.task, k.tool, k.boot, r.pid, r.start_boot_ns, k.image, r.ppid,
	r.parent_start_boot_ns + CASE WHEN k.clock_ns IS NULL THEN 0 ELSE r.start_boot_ns END parent_start_boot_ns,
	r.start_ns + coalesce(r.start_boot_ns + k.clock_ns, 0) start_ns,
	r.end_ns + coalesce(r.start_ns + r.start_boot_ns + k.clock_ns, 0) end_ns,
	k.exit_code, k.signal, k.state, k.comm, k.exe, k.filename, k.cwd, k.cgroup, k.container, k.oom_cgroup,
	a.argv, coalesce(a.total, length(a.argv)) argv_total, k.wrapper, k.execed, k.last, k.core_dumped, k.oom_killed,
	k.uid, k.gid, k.session, k.approx, k.oom_limit_bytes, k.oom_usage_bytes, k.oom_peak_bytes, r.cpu_ns,
	r.user_ns + CASE WHEN k.clock_ns IS NULL THEN 0 ELSE r.cpu_ns - r.system_ns END user_ns,
	r.system_ns, r.run_delay_ns,
	r.run_count + CASE WHEN k.clock_ns IS NULL THEN 0
		ELSE r.voluntary_switches + r.involuntary_switches END run_count,
	r.voluntary_switches, r.involuntary_switches, r.minor_faults, r.major_faults, r.rss_peak_bytes,
	r.maxrss_bytes + CASE WHEN k.clock_ns IS NULL THEN 0 ELSE r.rss_peak_bytes END maxrss_bytes,
	r.rchar_bytes, r.wchar_bytes, r.read_calls, r.write_calls, r.read_bytes, r.write_bytes, r.cancelled_write_bytes,
	r.threads_peak, k.task_id, k.step, k.unit, k.scopes
FROM proc_row r LEFT JOIN proc_kind k ON k.id = r.kind LEFT JOIN proc_argv a ON a.id = r.argv;

-- One row per image of a process, with every column: what to ask.  In a copy of a user's own runs, this view shows the
-- table proc_flat (copy.sql).
CREATE VIEW proc AS SELECT * FROM proc_rows;

-- What other probes, or fields that this schema has no column for, say about a row of proc.
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
-- wrappers left out; forks: ran on without exec; failures: non-zero exit or signal.  A task's own sums are in its row of
-- the table task.
CREATE TABLE rollup_run_tool (
	run INTEGER NOT NULL,
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
	PRIMARY KEY (run, tool)
) WITHOUT ROWID;

-- The sums of rollup_run_tool by run: a list of all runs reads a row of each.
CREATE TABLE rollup_run (
	run INTEGER PRIMARY KEY,
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
	rss_max_bytes INTEGER NOT NULL
);

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

-- What a host, each of its GPUs and each container on it used in an hour: sums of the records of ledger, host.memory,
-- gpu.device, cgroup and tool.sample, kept in the transaction that adds them.  A question about a fleet and a month
-- reads this table only.  An hour may have rows in two files: those of a run's samples are in the run's file.
CREATE TABLE usage_hour (
	host INTEGER NOT NULL, -- dict
	item INTEGER NOT NULL, -- dict: '' the host, 'gpu/UUID', 'container/ID'
	hour INTEGER NOT NULL, -- UTC, hours since 1970
	boot INTEGER NOT NULL, -- dict: boot id
	first_ns INTEGER NOT NULL, -- begin of the first interval
	last_ns INTEGER NOT NULL, -- end of the last one
	known_ns INTEGER NOT NULL, -- time that records cover: the rest is a gap, of which nothing is known
	capacity_ns INTEGER NOT NULL, -- of a host: its CPUs x time
	busy_ns INTEGER NOT NULL, -- CPU time of processes; of a GPU: time in which a kernel ran
	idle_ns INTEGER NOT NULL, -- idle CPU time; of a GPU: time in which a process held it and no kernel ran
	runs_ns INTEGER NOT NULL, -- part of busy_ns: of processes that belong to a run
	daemons_ns INTEGER NOT NULL, -- part of busy_ns: of the system's own programs (skep/daemons.h) outside of runs
	memory_bytes INTEGER NOT NULL, -- most in use at a sample; of a container: by all of its cgroups together
	memory_limit_bytes INTEGER NOT NULL,
	rx_bytes INTEGER NOT NULL, -- at uplinks
	tx_bytes INTEGER NOT NULL,
	read_bytes INTEGER NOT NULL, -- of block devices
	write_bytes INTEGER NOT NULL,
	idle_minutes INTEGER NOT NULL, -- of a GPU: a bit for each minute in which it was held, and idle at some record
	other_minutes INTEGER NOT NULL, -- and for each minute with a record at which it was busy, or nobody held it
	pass INTEGER NOT NULL, -- of a container: the last pass over its cgroups, 10 ms since 1970; 0 otherwise
	pass_known_ns INTEGER NOT NULL, -- the part of known_ns that this pass has added
	pass_memory_bytes INTEGER NOT NULL, -- memory of its cgroups in this pass
	PRIMARY KEY (host, item, hour, boot)
) WITHOUT ROWID;

-- Batches that are in this file already: one that comes again is not applied again.
CREATE TABLE batch_seen (
	key TEXT PRIMARY KEY,
	time_ns INTEGER NOT NULL
);
