/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/paint.c - draws the elements of text reports: coloured text, titles, wrapped lines.
 */
#include "cli/base/paint.h"

#include <errno.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/base/human.h"
#include "cli/base/text.h"
#include "core/base/streams.h"

#define WIDTH_LEAST       80
#define WIDTH_MOST        200
#define WIDTH_NO_TERMINAL 100

static unsigned stream_width(FILE *out)
{
	struct winsize size;
	int fd = streams_fd(out);

	if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return WIDTH_NO_TERMINAL;
	return size.ws_col < WIDTH_LEAST ? WIDTH_LEAST : size.ws_col > WIDTH_MOST ? WIDTH_MOST : size.ws_col;
}

static bool stream_colour(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	int fd = streams_fd(out);

	/* no-color.org: any value that is not empty; a dumb terminal shows the sequences as text. */
	return fd >= 0 && isatty(fd) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

void paint_init(struct paint *p, FILE *out, const struct paint_style *style)
{
	static const struct paint_style defaults = { 0 };

	if (!style)
		style = &defaults;
	p->out = out;
	p->width = style->width ? style->width : stream_width(out);
	if (p->width < WIDTH_LEAST)
		p->width = WIDTH_LEAST;
	p->colour = style->colour == PAINT_AUTO ? stream_colour(out) : style->colour == PAINT_ALWAYS;
	p->unicode = style->unicode == PAINT_AUTO ? strcmp(nl_langinfo(CODESET), "UTF-8") == 0
						   : style->unicode == PAINT_ALWAYS;
}

static const char *ink_begin(enum ink ink)
{
	switch (ink) {
	case INK_BOLD:
		return "\033[1m";
	case INK_DIM:
		return "\033[2m";
	case INK_RED:
		return "\033[1;31m";
	case INK_GREEN:
		return "\033[1;32m";
	case INK_YELLOW:
		return "\033[33m";
	case INK_CYAN:
		return "\033[36m";
	case INK_NONE:
		break;
	}
	return "";
}

void paint_begin(const struct paint *p, enum ink ink)
{
	if (p->colour)
		fputs(ink_begin(ink), p->out);
}

void paint_end(const struct paint *p, enum ink ink)
{
	if (p->colour && ink != INK_NONE)
		fputs("\033[0m", p->out);
}

void paint(const struct paint *p, enum ink ink, const char *fmt, ...)
{
	va_list ap;

	paint_begin(p, ink);
	va_start(ap, fmt);
	vfprintf(p->out, fmt, ap);
	va_end(ap);
	paint_end(p, ink);
}

const char *paint_glyph(const struct paint *p, const char *unicode, const char *ascii)
{
	return p->unicode ? unicode : ascii;
}

unsigned paint_units(const struct paint *p)
{
	return p->unicode ? 0 : HUMAN_ASCII;
}

void paint_title(const struct paint *p, const char *title, const char *note)
{
	fputc('\n', p->out);
	paint(p, INK_BOLD, "%s", title);
	if (*note)
		paint(p, INK_DIM, "  %s", note);
	fputc('\n', p->out);
}

/* Does s, after a blank, begin with a unit?  A unit must stay with its number. */
static bool is_unit(const char *s)
{
	static const char *const units[] = { "B",  "KiB", "MiB", "GiB", "TiB", "PiB", "EiB",
					     "ns", "us",  "µs",  "ms",  "s",   "%" };

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		size_t n = strlen(units[i]);

		if (strncmp(s, units[i], n) == 0 && (s[n] == '\0' || strchr(" ,;:.)", s[n])))
			return true;
	}
	return false;
}

/* Returns how many bytes of text fit a line: up to a blank; a word longer than the line is broken. */
static size_t line_length(const char *text, size_t columns)
{
	size_t at = 0, used = 0, end = 0, n;
	uint32_t code;
	char one[8];

	while (text[at]) {
		n = text_decode(text + at, &code);
		n = n ? n : 1;
		memcpy(one, text + at, n);
		one[n] = '\0';
		used += text_width(one);
		if (used > columns)
			return end ? end : at ? at : n;
		at += n;
		if (text[at] == ' ' && !(text[at - 1] >= '0' && text[at - 1] <= '9' && is_unit(text + at + 1)))
			end = at;
	}
	return at;
}

void paint_flow(const struct paint *p, enum ink ink, size_t column, size_t indent, const char *text)
{
	for (;;) {
		size_t room = p->width > column + 20 ? p->width - column : 20, n = line_length(text, room);

		paint(p, ink, "%.*s", (int)n, text);
		fputc('\n', p->out);
		text += n;
		text += strspn(text, " ");
		if (!*text)
			return;
		fprintf(p->out, "%*s", (int)indent, "");
		column = indent;
	}
}

void paint_wrapped(const struct paint *p, enum ink ink, const char *first, size_t indent, const char *text)
{
	fputs(first, p->out);
	paint_flow(p, ink, text_width(first), indent, text);
}

int paint_taken(const struct paint *p, enum ink ink, const char *first, size_t indent, char *text)
{
	char *safe = text ? text_safe(text, p->unicode) : NULL;

	free(text);
	if (!safe)
		return -ENOMEM;
	paint_wrapped(p, ink, first, indent, safe);
	free(safe);
	return 0;
}
