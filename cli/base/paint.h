/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/paint.h - how a report is drawn: stream, width, character set, colour.
 */
#ifndef SKEP_CLI_PAINT_H
#define SKEP_CLI_PAINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum paint_choice { PAINT_AUTO, PAINT_NEVER, PAINT_ALWAYS };

struct paint_style {
	unsigned width;             /* columns; 0: the terminal's (80..200), 100 where there is none */
	size_t rows;                /* of the tools table and the Gantt at most; 0: 12 */
	enum paint_choice colour;  /* auto: the stream is a terminal, NO_COLOR is not set */
	enum paint_choice unicode; /* auto: the locale's charset is UTF-8 (main has called setlocale) */
	bool processes;             /* the process tree as well */
};

enum ink { INK_NONE, INK_BOLD, INK_DIM, INK_RED, INK_GREEN, INK_YELLOW, INK_CYAN };

struct paint {
	FILE *out;
	unsigned width;
	bool unicode, colour;
};

/* style: NULL for defaults. */
void paint_init(struct paint *, FILE *, const struct paint_style *);
/* Text in an ink, which ends with it. */
void paint(const struct paint *, enum ink, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The first where the locale is UTF-8, else the second. */
const char *paint_glyph(const struct paint *, const char *unicode, const char *ascii);
/* HUMAN_* for this charset. */
unsigned paint_units(const struct paint *);
/* A section's title line. note: dim, behind it; "" none. */
void paint_title(const struct paint *, const char *title, const char *note);
/* The same in two halves, for text that comes in pieces. */
void paint_begin(const struct paint *, enum ink);
void paint_end(const struct paint *, enum ink);
/*
 * Text of any length as lines of at most width columns, broken at blanks, never between
 * a number and its unit.  The cursor stands at `column`; further lines are indented.
 */
void paint_flow(const struct paint *, enum ink, size_t column, size_t indent, const char *text);
/* The same behind `first`, on a line of its own. */
void paint_wrapped(const struct paint *, enum ink, const char *first, size_t indent, const char *text);

#endif
