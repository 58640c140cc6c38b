-- SPDX-License-Identifier: Apache-2.0
-- The spool: batches on their way to sinks, how far each sink has come, what was refused for good, and what the
-- collector knows of live processes at the moment of the last commit.  docs/inside/spool.md says how it is used.

-- kind: 0 life cycles, 1 samples, which go first when space runs out.  counts: "STREAM N" a line.  total_*: of this and
-- all batches before it since the spool was made, so that what lies between two of them is one subtraction.
CREATE TABLE batch (
	id INTEGER PRIMARY KEY,
	kind INTEGER NOT NULL,
	n INTEGER NOT NULL,
	made_ns INTEGER NOT NULL,
	total_n INTEGER NOT NULL,
	total_bytes INTEGER NOT NULL,
	counts TEXT NOT NULL,
	body BLOB NOT NULL
);
CREATE INDEX batch_samples ON batch (id) WHERE kind = 1;

-- cursor: this batch and all before it are settled there.  total_*: of the batches up to there.
CREATE TABLE sink (
	name TEXT PRIMARY KEY,
	cursor INTEGER NOT NULL,
	total_n INTEGER NOT NULL,
	total_bytes INTEGER NOT NULL
) WITHOUT ROWID;

-- What a receiver refused for good, and bodies that cannot be read (sink "").
CREATE TABLE dead (
	id INTEGER PRIMARY KEY,
	batch INTEGER NOT NULL,
	sink TEXT NOT NULL,
	at_ns INTEGER NOT NULL,
	status INTEGER NOT NULL,
	why TEXT NOT NULL,
	n INTEGER NOT NULL,
	body BLOB NOT NULL
);

-- What the next skepd is to know of live processes, runs and tasks (core/process/saved.h): the first chunk has all, the
-- others what changed with each commit since.  A body is one zstd frame with a checksum.
CREATE TABLE chunk (
	id INTEGER PRIMARY KEY,
	body BLOB NOT NULL
);

CREATE TABLE state (
	name TEXT PRIMARY KEY,
	value BLOB NOT NULL
) WITHOUT ROWID;
