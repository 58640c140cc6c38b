/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/reload_report.c - the list of changes, and its summary in one line.
 */
#include "core/collect/reload_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const how_names[] = {
	[RELOAD_ADDED] = "added",         [RELOAD_REMOVED] = "removed", [RELOAD_APPLIED] = "applied",
	[RELOAD_RESTARTED] = "restarted", [RELOAD_RETRIED] = "retried", [RELOAD_CHANGED] = "changed",
};
#define N_HOW (sizeof(how_names) / sizeof(how_names[0]))

const char *reload_how_name(enum reload_how how)
{
	return (size_t)how < N_HOW ? how_names[how] : "?";
}

void reload_report_add(struct reload_report *r, enum reload_how how, const char *kind, const char *name,
		       const char *fmt, ...)
{
	struct reload_change *changes, change = { .how = how, .kind = kind };
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&change.words, fmt, args);
	va_end(args);
	if (n < 0)
		change.words = NULL;
	change.name = strdup(name);
	if (!change.words || !change.name)
		goto out;
	if (r->n == r->room) {
		size_t room = r->room ? r->room * 2 : 8;

		changes = reallocarray(r->changes, room, sizeof(*changes));
		if (!changes)
			goto out;
		r->changes = changes;
		r->room = room;
	}
	r->changes[r->n++] = change;
	return;
out:
	r->no_memory++;
	free(change.words);
	free(change.name);
}

void reload_report_clear(struct reload_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->changes[i].name);
		free(r->changes[i].words);
	}
	free(r->changes);
	*r = (struct reload_report){ 0 };
}

static size_t names_of(const struct reload_report *r, enum reload_how how, FILE *out)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (r->changes[i].how != how)
			continue;
		if (out)
			fprintf(out, "%s%s %s", n ? ", " : "", r->changes[i].kind, r->changes[i].name);
		n++;
	}
	return n;
}

char *reload_report_line(const struct reload_report *r)
{
	const char *between = "";
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	if (!out)
		return NULL;
	for (size_t how = 0; how < N_HOW; how++) {
		size_t n = names_of(r, (enum reload_how)how, NULL);

		if (n == 0)
			continue;
		fprintf(out, "%s%zu %s (", between, n, how_names[how]);
		names_of(r, (enum reload_how)how, out);
		fputc(')', out);
		between = ", ";
	}
	fprintf(out, "%s%zu %s unchanged", between, r->unchanged, r->unchanged == 1 ? "plugin" : "plugins");
	if (fclose(out) != 0) {
		free(line);
		line = NULL;
	}
	return line;
}
