/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_parts.h - the parts of a text report, and the struct that they share.
 * Each function prints its section, or nothing if the section is empty; 0 or -ENOMEM.
 */
#ifndef SKEP_CLI_REPORT_PARTS_H
#define SKEP_CLI_REPORT_PARTS_H

#include "cli/base/paint.h"
#include "cli/report/accuracy.h"
#include "cli/report/failures.h"

struct report {
	const struct lake_report *lake;
	struct paint paint;
	struct family *family;
	struct failures *failures;
	struct accuracy accuracy;
	size_t *tools; /* tools with a row of their own: indices into lake->tools */
	size_t n_tools;
	uint64_t end_ns;
};

/* report_head.c */
int report_head(const struct report *);   /* the command, the host, the end */
int report_totals(const struct report *); /* total cost */
/* report_failures.c */
int report_failures(const struct report *);
/* report_advice.c */
int report_advice(const struct report *);   /* what to change, at most three */
/* report_notes.c */
int report_losses(const struct report *);   /* lost records and missing processes, prominently */
int report_environ(const struct report *);  /* environments that skep did not search to their end */
int report_unended(const struct report *);  /* still running, zombies, ends not seen */
int report_accuracy(const struct report *); /* the last line */

#endif
