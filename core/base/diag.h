/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/diag.h - collects all errors and warnings about an input, not only the first.  Library code adds them, and
 * the program that gives up prints them once.
 */
#ifndef SKEP_CORE_DIAG_H
#define SKEP_CORE_DIAG_H

#include <stddef.h>
#include <stdio.h>

enum diag_severity { DIAG_ERROR, DIAG_WARNING };

struct diag_entry {
	enum diag_severity severity;
	char *file; /* NULL: not about a file */
	int line;   /* 1-based, 0: the file as a whole */
	int column; /* 1-based, 0: the line as a whole */
	char *text; /* the error, the value, the remedy; no newline at its end */
	char *shown; /* the line of the file with a mark below the error; NULL: not shown */
};

struct diag {
	struct diag_entry *entries;
	size_t n, room;
	size_t n_errors;
};

void diag_init(struct diag *);
void diag_clear(struct diag *); /* frees all entries; usable again */
/* Copies its strings, control characters as "\xNN". Running out of memory loses the text but still counts the error. */
void diag_add(struct diag *, enum diag_severity, const char *file, int line, int column, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* Owns the text from now on, and prints it below the entry that was added last.  NULL is fine. */
void diag_show(struct diag *, char *shown);
/* Sets this position in the entries from number `from` on that name no file: for a caller that knows the file. */
void diag_place(struct diag *, size_t from, const char *file, int line, int column);
/* One line an entry: "file:line:column: error: text". */
void diag_print(const struct diag *, FILE *);

#endif
