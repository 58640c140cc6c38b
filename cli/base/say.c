/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/say.c - messages to stderr.
 */
#include <skep/utf8.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/program.h"
#include "cli/base/skep.h"

/* A name of a file or program in a message must not control the terminal (docs/reference/text.md). */
static void __attribute__((format(printf, 2, 0))) say(const char *command, const char *fmt, va_list ap)
{
	char *text = NULL, *shown = NULL;
	int n = vasprintf(&text, fmt, ap);

	fprintf(stderr, "%s%s%s: ", program_name(), *command ? " " : "", command);
	if (n >= 0)
		shown = malloc(4 * (size_t)n + 1);
	/* print line by line: a message may have an expression and ^~~ below it */
	for (char *line = text, *stop; shown && line; line = stop ? stop + 1 : NULL) {
		stop = strchr(line, '\n');
		fwrite(shown, 1, skep_utf8_shown(line, stop ? (size_t)(stop - line) : strlen(line), shown), stderr);
		fputc('\n', stderr);
	}
	free(shown);
	if (n >= 0)
		free(text);
}

void skep_say(const char *command, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(command, fmt, ap);
	va_end(ap);
}

int skep_usage(const char *command, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(command, fmt, ap);
	va_end(ap);
	fprintf(stderr, "Try `%s %s%s`.\n", program_name(), *command ? "help " : "--help", command);
	return SKEP_EXIT_USAGE;
}

int skep_fail(const char *command, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(command, fmt, ap);
	va_end(ap);
	return status;
}
