/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/opens_fields.c - the stream of the detail "opens".
 */
#include "opens_state.h"

#define ATTR(m_, n_, t_, h_) SKEP_FIELD(struct opens_record, m_, n_, t_, SKEP_S_ATTRIBUTE, "", h_)
#define DELTA(m_, n_, h_) SKEP_FIELD(struct opens_record, m_, n_, SKEP_T_U64, SKEP_S_DELTA, "{open}", h_)

static const struct skep_field opens_fields[] = {
	ATTR(id, "detail.id", SKEP_T_U64, "of the attachment that asked"),
	ATTR(path, "file.path", SKEP_T_STR,
	     "by which it was first opened, seen from the process's root; of one that failed as it was asked for"),
	ATTR(error, "error.type", SKEP_T_STR, "why it failed (ENOENT, EACCES, ...); empty: it did not"),
	DELTA(opens, "opens", "that succeeded, since the record before"),
	DELTA(writes, "writes", "of them for writing"),
	DELTA(created, "created", "of them made the file"),
	DELTA(failed, "failed", "that failed"),
	ATTR(first_ns, "first_seen", SKEP_T_TIME, "when the process opened it first while this was attached"),
};

const struct skep_stream proc_opens_stream =
	SKEP_STREAM(struct opens_record, opens_fields, "proc.opens", SKEP_ROLE_DETAIL, SKEP_STREAM_SAMPLE,
		    "detail opens: which files a process opened, and how often");
