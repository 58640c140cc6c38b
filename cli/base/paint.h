/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/paint.h - draws reports as text: stream, width, character set, colour.
 */
#ifndef SKEP_CLI_PAINT_H
#define SKEP_CLI_PAINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum paint_choice { PAINT_AUTO, PAINT_NEVER, PAINT_ALWAYS };

struct paint_style {
	unsigned width;             /* columns; 0: the terminal's (80..200), 100 without a terminal */
	size_t rows;                /* of the tools table and the Gantt at most; 0: 12 */
	enum paint_choice colour;  /* auto: the stream is a terminal, NO_COLOR is not set */
	enum paint_choice unicode; /* auto: the locale's charset is UTF-8 (main has called setlocale) */
	bool processes;             /* also print the process tree */
	bool tasks;                 /* print each task, however many */
};

enum ink { INK_NONE, INK_BOLD, INK_DIM, INK_RED, INK_GREEN, INK_YELLOW, INK_CYAN };

struct paint {
	FILE *out;
	unsigned width;
	bool unicode, colour;
};

/* style: NULL for defaults. */
void paint_init(struct paint *, FILE *, const struct paint_style *);
/* Prints text in an ink, and resets the ink after it. */
void paint(const struct paint *, enum ink, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Returns `unicode` if the output is Unicode, else `ascii`. */
const char *paint_glyph(const struct paint *, const char *unicode, const char *ascii);
/* HUMAN_* for this charset. */
unsigned paint_units(const struct paint *);
/* Prints a section's title line. note: dim, after the title; "" none. */
void paint_title(const struct paint *, const char *title, const char *note);
/* Begin and end an ink, for text that is printed in pieces. */
void paint_begin(const struct paint *, enum ink);
void paint_end(const struct paint *, enum ink);
/*
 * Prints text of any length as lines of at most width columns, broken at blanks, never between a number and its unit.
 * The first line begins at `column`; further lines are indented.
 */
void paint_flow(const struct paint *, enum ink, size_t column, size_t indent, const char *text);
/* Prints `first` at the beginning of a line, and the text after it as paint_flow does. */
void paint_wrapped(const struct paint *, enum ink, const char *first, size_t indent, const char *text);
/* The same for a text that it escapes (text.h) and frees. 0, or -ENOMEM, also for NULL: memory had run out. */
int paint_taken(const struct paint *, enum ink, const char *first, size_t indent, char *text);

#endif
