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
	OPENS(id, "detail.id", SKEP_T_U64, "id of the attachment"),
	OPENS(path, "file.path", SKEP_T_STR,
	     "path of the first open, seen from the process's root; for a failed open the given path"),
	OPENS(error, "error.type", SKEP_T_STR,
	      "error of a failed open (ENOENT, EACCES, ...); empty: the open succeeded"),
	OPENS_DELTA(opens, "opens", "opens that succeeded, since the last record"),
	OPENS_DELTA(writes, "writes", "part of opens for writing"),
	OPENS_DELTA(created, "created", "part of opens that made the file"),
	OPENS_DELTA(failed, "failed", "opens that failed"),
	SKEP_FIELD(struct opens_record, size, "size_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By",
		   "size of the file at its last open; of a failed open 0"),
	OPENS(first_ns, "first_seen", SKEP_T_TIME, "first open by the process while the detail was attached"),
};

static const struct skep_stream opens_stream =
	SKEP_STREAM(struct opens_record, opens_fields, "proc.opens", SKEP_ROLE_DETAIL, SKEP_STREAM_SAMPLE,
		    "detail opens: which files a process opened, and how often");

#define FILELAT(m_, n_, t_, h_) SKEP_FIELD(struct filelat_record, m_, n_, t_, SKEP_S_ATTRIBUTE, "", h_)
#define FILELAT_DELTA(m_, n_, u_, h_) SKEP_FIELD(struct filelat_record, m_, n_, SKEP_T_U64, SKEP_S_DELTA, u_, h_)

static const struct skep_field filelat_fields[] = {
	FILELAT(id, "detail.id", SKEP_T_U64, "id of the attachment"),
	FILELAT(path, "file.path", SKEP_T_STR,
	     "path by which the process first used the file, seen from its root; \"other\": "
	     "all files without a row of their own"),
	FILELAT(operation, "operation", SKEP_T_STR, "read, write or sync"),
	FILELAT_DELTA(calls, "calls", "{call}", "calls that ended, since the last record"),
	FILELAT_DELTA(bytes, "bytes", "By", "bytes that these calls read or wrote"),
	FILELAT_DELTA(errors, "errors", "{call}", "part of calls that failed"),
	FILELAT_DELTA(sum_ns, "sum_ns", "ns", "sum of the calls' times"),
	SKEP_FIELD(struct filelat_record, duration, "duration", SKEP_T_HIST, SKEP_S_DELTA, "ns",
		   "distribution of the calls' times"),
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
		.help = "which files are opened, by path and process; where fexit is refused a hook on every system "
			"call of the host",
		.stream = STREAM_OPENS,
		.scopes = SKEP_SCOPE_ANY,
	},
	[DETAIL_FILELAT] = {
		.name = "filelat",
		.help = "how long reads, writes and syncs of files take, by path and process; hooks on every system "
			"call of the host",
		.stream = STREAM_FILELAT,
		.scopes = SKEP_SCOPE_ANY,
	},
};
