/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/filelat_fields.c - the stream of the detail "filelat".
 */
#include "filelat_state.h"

const char *const filelat_op_names[FILELAT_OPS] = {
	[FILELAT_NONE] = "",
	[FILELAT_READ] = "read",
	[FILELAT_WRITE] = "write",
	[FILELAT_SYNC] = "sync",
};

#define ATTR(m_, n_, t_, h_) SKEP_FIELD(struct filelat_record, m_, n_, t_, SKEP_S_ATTRIBUTE, "", h_)
#define DELTA(m_, n_, u_, h_) SKEP_FIELD(struct filelat_record, m_, n_, SKEP_T_U64, SKEP_S_DELTA, u_, h_)

static const struct skep_field filelat_fields[] = {
	ATTR(id, "detail.id", SKEP_T_U64, "of the attachment that asked"),
	ATTR(path, "file.path", SKEP_T_STR,
	     "by which the process used it first, seen from its root; \"other\": all files without a row of their own"),
	ATTR(operation, "operation", SKEP_T_STR, "read, write or sync"),
	DELTA(calls, "calls", "{call}", "that ended, since the record before"),
	DELTA(bytes, "bytes", "By", "that they read or wrote"),
	DELTA(errors, "errors", "{call}", "of them failed"),
	DELTA(sum_ns, "sum_ns", "ns", "time in all of them"),
	SKEP_FIELD(struct filelat_record, duration, "duration", SKEP_T_HIST, SKEP_S_DELTA, "ns",
		   "calls by how long each took"),
};

const struct skep_stream io_filelat_stream =
	SKEP_STREAM(struct filelat_record, filelat_fields, "io.filelat", SKEP_ROLE_DETAIL, SKEP_STREAM_SAMPLE,
		    "detail filelat: how long a process's calls on a file took");
