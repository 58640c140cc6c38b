/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/judge_fields.h - what rules may ask about a process, and a process as rules see it:
 * whoever has one (the process table, /proc, a recorded file) fills the same struct, and the
 * same function answers for all of them.
 */
#ifndef SKEP_CORE_JUDGE_FIELDS_H
#define SKEP_CORE_JUDGE_FIELDS_H

#include "filters/expr.h"

struct users;

enum judge_field {
	/* texts */
	JUDGE_TOOL,
	JUDGE_EXE,
	JUDGE_COMM,
	JUDGE_FILENAME,
	JUDGE_ARGV, /* a list */
	JUDGE_CWD,
	JUDGE_CGROUP,
	JUDGE_CONTAINER,
	JUDGE_RUN,
	JUDGE_PIPELINE,
	JUDGE_TASK,
	JUDGE_USER, /* by name: from JUDGE_UID */
	JUDGE_GROUP,
	/* numbers */
	JUDGE_UID,
	JUDGE_GID,
	JUDGE_SESSION,
	JUDGE_PID,
	JUDGE_PPID,
	JUDGE_PID_NS,
	JUDGE_MOUNT_NS,
	/* true or false */
	JUDGE_WRAPPER,
	JUDGE_FIELDS,
};

extern const struct filter_schema judge_schema;

/* Zeroed, nothing is known of it. All borrowed. */
struct judge_subject {
	/* By enum judge_field. ptr NULL: not known; an empty text with a ptr: known, and there is none (no container). */
	struct filter_text text[JUDGE_USER];
	uint64_t number[JUDGE_WRAPPER - JUDGE_UID]; /* by field - JUDGE_UID */
	bool wrapper;
	uint32_t known; /* 1u << field of each number, and of the wrapper, that is known */
	struct users *users; /* core/users.h, which JUDGE_USER and JUDGE_GROUP ask; NULL: names are not known */
	/* The parent, and `owner` for whatever finds it. parent NULL, or NULL returned: there is none, or it is not known. */
	const struct judge_subject *(*parent)(const struct judge_subject *);
	void *owner;
};

void judge_set_text(struct judge_subject *, enum judge_field, const char *text, size_t len); /* text NULL: not known */
void judge_set_number(struct judge_subject *, enum judge_field, uint64_t);
void judge_set_wrapper(struct judge_subject *, bool);

/* A filter_get over a struct judge_subject. */
enum filter_known judge_get(const void *subject, uint32_t level, uint32_t field, union filter_value *ret);

#endif
