/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/findings.h - what `skep-dev check` has found, in the order in which it looked.
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
	 * Asked for by a child that must not write elsewhere: each finding goes there as a line at once, and is not
	 * kept.
	 */
	int fd; /* -1: kept here */
};

void findings_init(struct findings *, int fd);
/* Ends the program when there is no memory. */
void findings_add(struct findings *, enum finding_severity, const char *check, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* A line of such a child, without its newline: kept. false: it is not one. */
int findings_take(struct findings *, char *line);
void findings_clear(struct findings *);
const char *finding_severity_name(enum finding_severity);

#endif
