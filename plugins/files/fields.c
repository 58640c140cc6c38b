/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/files/fields.c - the streams of both details.  Their names are those of the probes that had them before 1.1.
 */
#include "state.h"

const char *const filelat_op_names[FILELAT_OPS] = {
	[FILELAT_NONE] = "",
	[FILELAT_READ] = "read",
	[FILELAT_WRITE] = "write",
	[FILELAT_SYNC] = "sync",
};

#define OPENS(m_, n_, t_, h_) SKEP_FIELD(struct opens_record, m_, n_, t_, SKEP_S_ATTRIBUTE, "", h_)
#define OPENS_DELTA(m_, n_, h_) SKEP_FIELD(struct opens_record, m_, n_, SKEP_T_U64, SKEP_S_DELTA, "{open}", h_)

static const struct skep_field opens_fields[] = {
	OPENS(id, "detail.id", SKEP_T_U64, "of the attachment that asked"),
	OPENS(path, "file.path", SKEP_T_STR,
	     "by which it was first opened, seen from the process's root; of one that failed as it was asked for"),
	OPENS(error, "error.type", SKEP_T_STR, "why it failed (ENOENT, EACCES, ...); empty: it did not"),
	OPENS_DELTA(opens, "opens", "that succeeded, since the record before"),
	OPENS_DELTA(writes, "writes", "of them for writing"),
	OPENS_DELTA(created, "created", "of them made the file"),
	OPENS_DELTA(failed, "failed", "that failed"),
	OPENS(first_ns, "first_seen", SKEP_T_TIME, "when the process opened it first while this was attached"),
};

static const struct skep_stream opens_stream =
	SKEP_STREAM(struct opens_record, opens_fields, "proc.opens", SKEP_ROLE_DETAIL, SKEP_STREAM_SAMPLE,
		    "detail opens: which files a process opened, and how often");

#define FILELAT(m_, n_, t_, h_) SKEP_FIELD(struct filelat_record, m_, n_, t_, SKEP_S_ATTRIBUTE, "", h_)
#define FILELAT_DELTA(m_, n_, u_, h_) SKEP_FIELD(struct filelat_record, m_, n_, SKEP_T_U64, SKEP_S_DELTA, u_, h_)

static const struct skep_field filelat_fields[] = {
	FILELAT(id, "detail.id", SKEP_T_U64, "of the attachment that asked"),
	FILELAT(path, "file.path", SKEP_T_STR,
	     "by which the process used it first, seen from its root; \"other\": all files without a row of their own"),
	FILELAT(operation, "operation", SKEP_T_STR, "read, write or sync"),
	FILELAT_DELTA(calls, "calls", "{call}", "that ended, since the record before"),
	FILELAT_DELTA(bytes, "bytes", "By", "that they read or wrote"),
	FILELAT_DELTA(errors, "errors", "{call}", "of them failed"),
	FILELAT_DELTA(sum_ns, "sum_ns", "ns", "time in all of them"),
	SKEP_FIELD(struct filelat_record, duration, "duration", SKEP_T_HIST, SKEP_S_DELTA, "ns",
		   "calls by how long each took"),
};

static const struct skep_stream filelat_stream =
	SKEP_STREAM(struct filelat_record, filelat_fields, "io.filelat", SKEP_ROLE_DETAIL, SKEP_STREAM_SAMPLE,
		    "detail filelat: how long a process's calls on a file took");

const struct skep_stream *const files_streams[N_STREAMS] = {
	[STREAM_OPENS] = &opens_stream,
	[STREAM_FILELAT] = &filelat_stream,
};

const struct skep_detail files_details[N_DETAILS] = {
	[DETAIL_OPENS] = {
		.name = "opens",
		.help = "which files are opened, by path and process; where fexit is refused a hook on every system call of the host",
		.stream = STREAM_OPENS,
		.scopes = SKEP_SCOPE_ANY,
	},
	[DETAIL_FILELAT] = {
		.name = "filelat",
		.help = "how long reads, writes and syncs of files take, by path and process; hooks on every system call of the host",
		.stream = STREAM_FILELAT,
		.scopes = SKEP_SCOPE_ANY,
	},
};
