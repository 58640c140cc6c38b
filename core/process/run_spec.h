/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/run_spec.h - how a caller describes a run that begins, and how skep makes its id.
 */
#ifndef SKEP_CORE_RUN_SPEC_H
#define SKEP_CORE_RUN_SPEC_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <sys/types.h>

struct run_spec {
	const char *id;       /* unique; see run_id_new */
	const char *name;     /* readable name */
	const char *pipeline; /* the name of the workflow that is run repeatedly */
	const char *const *argv;
	/* bytes of all arguments, each with its NUL, where argv has only the first of them; 0: it has all */
	size_t argv_total;
	const char *cwd;
	pid_t root;           /* a live process that has not exec'd yet */
	/* the root's start as in /proc/PID/stat, to tell it from an earlier process with that pid; 0: not known */
	uint64_t root_ticks;
	uint32_t uid, gid;    /* of the root */
	bool stranger;        /* of a user who may not see the runs of others */
	const char *parent; /* id of the run in which this one began; NULL: none */
	const char *traceparent; /* trace context in which it was started (skep/trace.h); NULL: none */
};
#define RUN_ID_SIZE 33
void run_id_new(char ret[RUN_ID_SIZE]); /* "20261121T034815-0123456789abcdef", sorts by time */

#endif
