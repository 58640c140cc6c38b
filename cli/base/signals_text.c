/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/signals_text.c - the signals of a plugin in words: how the plugin measures each on this
 * kernel, or why it cannot.
 */
#include "cli/base/signals_text.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/answer.h"
#include "cli/base/text.h"

static size_t name_width(const json_t *list, const struct paint *p)
{
	const json_t *one;
	size_t i, width = 0;

	json_array_foreach(list, i, one) {
		char *name = text_safe(answer_text(one, "name"), p->unicode);
		size_t w = name ? text_width(name) : 0;

		width = w > width ? w : width;
		free(name);
	}
	return width;
}

/* Prints the name, padded to the width of the longest name plus two blanks. */
static void name_print(const json_t *one, const struct paint *p, enum ink ink, size_t width)
{
	char *name = text_safe(answer_text(one, "name"), p->unicode);

	paint(p, ink, "%s", name ? name : "?");
	fprintf(p->out, "%*s", (int)(width - (name ? text_width(name) : 1) + 2), "");
	free(name);
}

enum ink state_ink(const char *state)
{
	return strcmp(state, "running") == 0 ? INK_GREEN : strcmp(state, "failed") == 0 ? INK_RED : INK_YELLOW;
}

enum ink signal_ink(const char *state)
{
	return strcmp(state, "ok") == 0	       ? INK_GREEN
	       : strcmp(state, "missing") == 0 ? INK_RED
	       : strcmp(state, "off") == 0     ? INK_DIM
					       : INK_YELLOW;
}

const char *signal_mark(const struct paint *p, const char *state)
{
	return strcmp(state, "ok") == 0	       ? paint_glyph(p, "✓", "ok")
	       : strcmp(state, "partial") == 0 ? paint_glyph(p, "◐", "~ ")
	       : strcmp(state, "missing") == 0 ? paint_glyph(p, "✗", "x ")
	       : strcmp(state, "off") == 0     ? paint_glyph(p, "○", "- ")
					       : "? ";
}

/* Prints "mark  name    how (state: why)"; text that does not fit goes on further lines below `how`. */
void signals_print(const json_t *signals, const struct paint *p, size_t indent)
{
	size_t i, width = name_width(signals, p);
	const json_t *one;

	json_array_foreach(signals, i, one) {
		const char *state = answer_text(one, "state"), *why = answer_text(one, "why"),
			   *how = answer_text(one, "how");
		char *words = strcmp(state, "ok") == 0
				      ? text_format("%s%s%s", how, *why ? ": " : "", why)
				      : text_format("%s: %s%s%s", state, how, *how && *why ? "; " : "", why);
		char *safe = words ? text_safe(words, p->unicode) : NULL;
		const char *mark = signal_mark(p, state);
		size_t column = indent + text_width(mark) + 2 + width + 2;

		fprintf(p->out, "%*s", (int)indent, "");
		paint(p, signal_ink(state), "%s", mark);
		fputs("  ", p->out);
		name_print(one, p, INK_NONE, width);
		paint_flow(p, INK_NONE, column, column, safe ? safe : "");
		free(safe);
		free(words);
	}
}

void details_print(const json_t *details, const struct paint *p, size_t indent)
{
	size_t i, k, width = name_width(details, p);
	const json_t *one, *scope;

	json_array_foreach(details, i, one) {
		const char *between = "";
		char *words = NULL, *safe;
		size_t size;
		FILE *f = open_memstream(&words, &size);

		if (!f)
			return;
		fprintf(f, "%s (", answer_text(one, "help"));
		json_array_foreach(json_object_get(one, "scopes"), k, scope) {
			fprintf(f, "%s%s", between, json_string_value(scope) ? json_string_value(scope) : "?");
			between = ", ";
		}
		fputs(")", f);
		safe = fclose(f) == 0 ? text_safe(words, p->unicode) : NULL;
		fprintf(p->out, "%*s", (int)indent, "");
		name_print(one, p, INK_BOLD, width);
		paint_flow(p, INK_NONE, indent + width + 2, indent + width + 2, safe ? safe : "");
		free(safe);
		free(words);
	}
}
