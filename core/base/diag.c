/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/diag.c - a list of the errors in an input, kept until the program prints it.
 */
#include "core/base/diag.h"

#include <stdarg.h>
#include <skep/utf8.h>
#include <stdlib.h>
#include <string.h>

void diag_init(struct diag *diag)
{
	memset(diag, 0, sizeof(*diag));
}

void diag_clear(struct diag *diag)
{
	for (size_t i = 0; i < diag->n; i++) {
		free(diag->entries[i].file);
		free(diag->entries[i].text);
		free(diag->entries[i].shown);
	}
	free(diag->entries);
	diag_init(diag);
}

static struct diag_entry *diag_room(struct diag *diag)
{
	if (diag->n == diag->room) {
		size_t room = diag->room ? diag->room * 2 : 8;
		struct diag_entry *entries = reallocarray(diag->entries, room, sizeof(*entries));

		if (!entries)
			return NULL;
		diag->entries = entries;
		diag->room = room;
	}
	return &diag->entries[diag->n];
}

/*
 * A copy in one line without control characters: texts carry pieces of the input (jansson's
 * "near '...'" is raw), and input must not move a terminal's cursor or fake a line.
 */
static char *diag_clean(const char *text)
{
	size_t n = strlen(text);
	char *copy = malloc(4 * n + 1);

	if (!copy)
		return NULL;
	copy[skep_utf8_shown(text, n, copy)] = '\0';
	return copy;
}

void diag_add(struct diag *diag, enum diag_severity severity, const char *file, int line, int column, const char *fmt,
	      ...)
{
	struct diag_entry *entry;
	char *name = NULL, *text = NULL, *raw = NULL;
	va_list ap;
	int n;

	/* Counted first: a caller that reads only n_errors must see the error even without memory for its text. */
	if (severity == DIAG_ERROR)
		diag->n_errors++;
	va_start(ap, fmt);
	n = vasprintf(&raw, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	text = diag_clean(raw);
	free(raw);
	if (!text)
		return;
	if (file) {
		name = diag_clean(file);
		if (!name)
			goto out;
	}
	entry = diag_room(diag);
	if (!entry)
		goto out;
	*entry = (struct diag_entry){
		.severity = severity,
		.file = name,
		.line = line,
		.column = column,
		.text = text,
	};
	diag->n++;
	return;
out:
	free(name);
	free(text);
}

void diag_show(struct diag *diag, char *shown)
{
	struct diag_entry *entry = diag->n ? &diag->entries[diag->n - 1] : NULL;

	if (entry) {
		free(entry->shown);
		entry->shown = shown;
	} else {
		free(shown);
	}
}

void diag_place(struct diag *diag, size_t from, const char *file, int line, int column)
{
	for (size_t i = from; i < diag->n; i++) {
		struct diag_entry *entry = &diag->entries[i];

		if (entry->file)
			continue;
		entry->file = diag_clean(file);
		if (!entry->file)
			continue;
		entry->line = line;
		entry->column = column;
	}
}

void diag_print(const struct diag *diag, FILE *out)
{
	size_t printed_errors = 0;

	for (size_t i = 0; i < diag->n; i++) {
		const struct diag_entry *entry = &diag->entries[i];

		if (entry->severity == DIAG_ERROR)
			printed_errors++;
		if (entry->file) {
			fprintf(out, "%s:", entry->file);
			if (entry->line > 0)
				fprintf(out, "%d:", entry->line);
			if (entry->line > 0 && entry->column > 0)
				fprintf(out, "%d:", entry->column);
			fputc(' ', out);
		}
		fprintf(out, "%s: %s\n", entry->severity == DIAG_ERROR ? "error" : "warning", entry->text);
		if (entry->shown)
			fprintf(out, "%s\n", entry->shown);
	}
	if (printed_errors < diag->n_errors)
		fprintf(out, "error: out of memory: the text of %zu errors is lost\n", diag->n_errors - printed_errors);
}
