/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rule_fields.h - the fields of a process that rules can test. Every source of processes (the
 * process table, /proc, a recorded file) fills the same struct, and one function reads it for the rules.
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
	RULE_FIELD_USER, /* a name, looked up from RULE_FIELD_UID */
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

/* A process for the rules. A zeroed struct has no known field. All pointers are borrowed. */
struct rule_subject {
	/* By enum rule_field. ptr NULL: unknown. An empty text with a ptr: known to be none (no container). */
	struct filter_text text[RULE_FIELD_USER];
	uint64_t number[RULE_FIELD_WRAPPER - RULE_FIELD_UID]; /* index: field - RULE_FIELD_UID */
	bool wrapper;
	uint32_t known; /* bit 1u << field for each known number, and for a known wrapper */
	/* core/identify/users.h looks up RULE_FIELD_USER and RULE_FIELD_GROUP; NULL: names are unknown. */
	struct users *users;
	/*
	 * Returns the parent; `owner` is for this function's use. A NULL function or result: the process has no
	 * parent, or an unknown one.
	 */
	const struct rule_subject *(*parent)(const struct rule_subject *);
	void *owner;
};

/* text NULL: unknown */
void rule_subject_set_text(struct rule_subject *, enum rule_field, const char *text, size_t len);
void rule_subject_set_number(struct rule_subject *, enum rule_field, uint64_t);
void rule_subject_set_wrapper(struct rule_subject *, bool);

/* A filter_get for a struct rule_subject. */
enum filter_known rule_field_get(const void *subject, uint32_t level, uint32_t field, union filter_value *ret);

#endif
