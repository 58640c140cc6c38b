/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/findings.h - the findings of `skep-dev check`, in the order of its checks.
 */
#ifndef SKEP_CLI_FINDINGS_H
#define SKEP_CLI_FINDINGS_H

#include <stddef.h>

enum finding_severity { FINDING_OK, FINDING_WARNING, FINDING_ERROR };

struct finding {
	enum finding_severity severity;
	char *check; /* "file", "note", "exports" ...: the name of the check */
	char *text;
};

struct findings {
	struct finding *at;
	size_t n, errors, warnings;
	/*
	 * In the child process: findings_add writes each finding as a line to this descriptor at once, and does not
	 * keep it.
	 */
	int fd; /* -1: this list keeps the findings */
};

void findings_init(struct findings *, int fd);
/* Adds a finding. Ends the program when memory runs out. */
void findings_add(struct findings *, enum finding_severity, const char *check, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Adds a finding from a line of the child, without its newline. 0: the line is no finding. */
int findings_take(struct findings *, char *line);
void findings_clear(struct findings *);
const char *finding_severity_name(enum finding_severity);

#endif
