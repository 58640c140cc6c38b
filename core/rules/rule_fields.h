/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rule_fields.h - what rules may ask about a process, and a process as rules see it:
 * whoever has one (the process table, /proc, a recorded file) fills the same struct, and the
 * same function answers for all of them.
 */
#ifndef SKEP_CORE_RULE_FIELDS_H
#define SKEP_CORE_RULE_FIELDS_H

#include "filters/expr.h"

struct users;

enum rule_field {
	/* texts */
	RULE_FIELD_TOOL,
	RULE_FIELD_EXE,
	RULE_FIELD_COMM,
	RULE_FIELD_FILENAME,
	RULE_FIELD_ARGV, /* a list */
	RULE_FIELD_CWD,
	RULE_FIELD_CGROUP,
	RULE_FIELD_CONTAINER,
	RULE_FIELD_RUN,
	RULE_FIELD_PIPELINE,
	RULE_FIELD_TASK,
	RULE_FIELD_USER, /* by name: from RULE_FIELD_UID */
	RULE_FIELD_GROUP,
	/* numbers */
	RULE_FIELD_UID,
	RULE_FIELD_GID,
	RULE_FIELD_SESSION,
	RULE_FIELD_PID,
	RULE_FIELD_PPID,
	RULE_FIELD_PID_NS,
	RULE_FIELD_MOUNT_NS,
	/* true or false */
	RULE_FIELD_WRAPPER,
	RULE_FIELDS,
};

extern const struct filter_schema rule_fields_schema;

/* Zeroed, nothing is known of it. All borrowed. */
struct rule_subject {
	/*
	 * By enum rule_field. ptr NULL: not known; an empty text with a ptr: known, and there is none (no container).
	 */
	struct filter_text text[RULE_FIELD_USER];
	uint64_t number[RULE_FIELD_WRAPPER - RULE_FIELD_UID]; /* by field - RULE_FIELD_UID */
	bool wrapper;
	uint32_t known; /* 1u << field of each number, and of the wrapper, that is known */
	/* core/identify/users.h, which RULE_FIELD_USER and RULE_FIELD_GROUP ask; NULL: names are not known */
	struct users *users;
	/*
	 * The parent, and `owner` for whatever finds it. parent NULL, or NULL returned: there is none, or it is not
	 * known.
	 */
	const struct rule_subject *(*parent)(const struct rule_subject *);
	void *owner;
};

/* text NULL: not known */
void rule_subject_set_text(struct rule_subject *, enum rule_field, const char *text, size_t len);
void rule_subject_set_number(struct rule_subject *, enum rule_field, uint64_t);
void rule_subject_set_wrapper(struct rule_subject *, bool);

/* A filter_get over a struct rule_subject. */
enum filter_known rule_field_get(const void *subject, uint32_t level, uint32_t field, union filter_value *ret);

#endif
