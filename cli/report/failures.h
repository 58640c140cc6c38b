/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/failures.h - the failures of a run, each reported once: similar failures are one entry,
 * and a process that only passes on its child's failure belongs to the child's entry.
 */
#ifndef SKEP_CLI_FAILURES_H
#define SKEP_CLI_FAILURES_H

#include "analysis/family.h"

enum failure_severity {
	FAILURE_INFO,    /* the run continued after it: a grep that found nothing */
	FAILURE_WARNING, /* killed, or a non-zero exit in a run that failed for another reason */
	FAILURE_ERROR,   /* it made the run fail, or memory ran out */
};

struct failure {
	enum failure_severity severity;
	bool ended_run; /* passed on up to the run's root */
	size_t n;
	size_t *images; /* indices into report->processes, the one to show first, the others by end */
	size_t n_chain;
	size_t *chain; /* of images[0]: the processes that failed after it because of it, nearest first */
	char *subject; /* "samtools sort", "sleep, bash" (raw bytes from the lake) */
};

struct failures {
	size_t n;
	struct failure *list; /* worst first */
	size_t processes;     /* sum of n and n_chain over all */
};

/* 0 or -ENOMEM. The family must outlive the result. */
int failures_new(const struct family *, struct failures **ret);
struct failures *failures_free(struct failures *);
const char *failure_severity_name(enum failure_severity);

#endif
