/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/findings.c - a list of findings, which a child process sends to its parent.
 */
#include "cli/dev/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *need(void *p)
{
	if (!p) {
		fputs("skep-dev: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

void findings_init(struct findings *f, int fd)
{
	*f = (struct findings){ .fd = fd };
}

const char *finding_severity_name(enum finding_severity severity)
{
	switch (severity) {
	case FINDING_OK:
		return "ok";
	case FINDING_WARNING:
		return "warning";
	default:
		return "error";
	}
}

static void count(struct findings *f, enum finding_severity severity)
{
	f->errors += severity == FINDING_ERROR;
	f->warnings += severity == FINDING_WARNING;
}

static void keep(struct findings *f, enum finding_severity severity, const char *check, const char *text)
{
	/* A plugin makes the same mistake in each trial: report it once. */
	for (size_t i = 0; i < f->n; i++)
		if (f->at[i].severity == severity && strcmp(f->at[i].check, check) == 0 &&
		    strcmp(f->at[i].text, text) == 0)
			return;
	f->at = need(realloc(f->at, (f->n + 1) * sizeof(*f->at)));
	f->at[f->n++] =
		(struct finding) { .severity = severity, .check = need(strdup(check)), .text = need(strdup(text)) };
	count(f, severity);
}

void findings_add(struct findings *f, enum finding_severity severity, const char *check, const char *fmt, ...)
{
	char *text, *line;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	need(n < 0 ? NULL : text);
	if (f->fd < 0) {
		keep(f, severity, check, text);
		free(text);
		return;
	}
	/* A finding is one line: replace control characters, which a plugin's texts may have. */
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	n = asprintf(&line, "%d\t%s\t%s\n", (int)severity, check, text);
	need(n < 0 ? NULL : line);
	count(f, severity);
	/* Write at once: the plugin may crash the process next. */
	for (const char *at = line; n > 0;) {
		ssize_t done = write(f->fd, at, (size_t)n);

		if (done <= 0)
			break;
		at += done;
		n -= (int)done;
	}
	free(line);
	free(text);
}

int findings_take(struct findings *f, char *line)
{
	char *check = strchr(line, '\t'), *text = check ? strchr(check + 1, '\t') : NULL;

	if (!text || check != line + 1 || line[0] < '0' + FINDING_OK || line[0] > '0' + FINDING_ERROR)
		return 0;
	*check++ = '\0';
	*text++ = '\0';
	keep(f, (enum finding_severity)(line[0] - '0'), check, text);
	return 1;
}

void findings_clear(struct findings *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->at[i].check);
		free(f->at[i].text);
	}
	free(f->at);
	findings_init(f, -1);
}
