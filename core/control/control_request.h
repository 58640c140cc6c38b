/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_request.h - parses and checks one line of the control socket's protocol.
 * Pure: no socket, no collector.  docs/reference/control.md describes the protocol.
 */
#ifndef SKEP_CORE_CONTROL_REQUEST_H
#define SKEP_CORE_CONTROL_REQUEST_H

#include <jansson.h>
#include <skep/plugin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum control_what {
	CONTROL_STATUS = 1,
	CONTROL_PLUGINS,
	CONTROL_DETAILS,
	CONTROL_RUNS,
	CONTROL_ATTACH,
	CONTROL_DETACH,
	CONTROL_LOGLEVEL,
	CONTROL_RELOAD,
	CONTROL_STATS,
	CONTROL_RULES,
	CONTROL_RECOGNIZE,
	CONTROL_RUN_BEGIN,
	CONTROL_RUN_RESUME,
	CONTROL_RUN_END,
	CONTROL_TASK_BEGIN,
	CONTROL_VERSION,
	CONTROL_LAKE_COPY,
	CONTROL_AUDIT_PUBLISH,
	CONTROL_WATCH,
	CONTROL_LAST = CONTROL_WATCH,
};

/* Without for_ns: long enough to see something, short enough to be forgotten without harm. */
#define CONTROL_FOR_DEFAULT_NS 60000000000ull
#define CONTROL_FOR_MOST_NS (24 * 3600 * 1000000000ull)

struct control_request {
	enum control_what what;
	const char *name;   /* the request's name: "status" */
	bool any;           /* every user may ask this, about their own processes and runs */
	/* attach; strings are borrowed from json */
	const char *detail;
	uint64_t for_ns;    /* 0: until the connection ends */
	enum skep_scope scope;
	const char *run;    /* SKEP_SCOPE_GROUP; recognize; run_resume, run_end: its id; lake_copy, audit_publish */
	const char *cgroup; /* SKEP_SCOPE_CGROUP */
	uint32_t pid;       /* SKEP_SCOPE_PID; recognize; run_begin, run_resume: the run's root */
	uint64_t id;        /* detach */
	int level;          /* loglevel: enum skep_log_level; 0: only report the level */
	bool check;         /* reload: only check the configuration */
	/* run_begin; NULL and 0: not given */
	const char *run_name, *pipeline, *cwd, *traceparent;
	const char *sink;   /* run_end waits for this sink's acknowledgement; NULL: for all sinks */
	const json_t *argv; /* an array of strings, not empty; borrowed from json */
	uint64_t argv_bytes;
	uint64_t live_ns;   /* run_begin, run_resume: interval between live figures; 0: none */
	uint64_t status;    /* run_end: the root's exit status, from wait4 */
	uint64_t cpu_ns;    /* run_end: the root's CPU time, from wait4's rusage */
	const char *task;   /* task_begin: its name */
	uint64_t since_ns;  /* lake_copy: runs that began then (realtime) or later; 0: all */
	const char *head;   /* audit_publish: 64 hexadecimal digits */
	uint64_t entries;   /* audit_publish */
	json_t *json;
};

/* Bytes of a run's name or pipeline. */
#define CONTROL_NAME_MOST 255u

#define CONTROL_WHY_SIZE 320

/*
 * Parses a line without its newline, of any bytes.  0, and the caller clears *ret; -EINVAL with the reason and the
 * remedy in why (one line, UTF-8, no control characters).
 */
int control_request_parse(const char *line, size_t len, struct control_request *ret, char why[CONTROL_WHY_SIZE]);
void control_request_clear(struct control_request *); /* frees its members; twice is fine */

/* "host" "run" "cgroup" "pid", as in requests and answers. */
const char *control_scope_name(enum skep_scope);
/* "error" ... "debug"; NULL: no such level. The second function is the inverse; 0: no such word. */
const char *control_level_name(int level);
int control_level(const char *name);

#endif
