/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/paint.c - the few things that every part of a text report draws with.
 */
#include "cli/paint.h"

#include <langinfo.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/human.h"
#include "cli/text.h"

#define WIDTH_LEAST 80
#define WIDTH_MOST 200
#define WIDTH_NO_TERMINAL 100

static unsigned stream_width(FILE *out)
{
	struct winsize size;
	int fd = fileno(out);

	if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return WIDTH_NO_TERMINAL;
	return size.ws_col < WIDTH_LEAST ? WIDTH_LEAST : size.ws_col > WIDTH_MOST ? WIDTH_MOST : size.ws_col;
}

static bool stream_colour(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	int fd = fileno(out);

	/* no-color.org: any value that is not empty; a dumb terminal shows the sequences as text. */
	return fd >= 0 && isatty(fd) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

void paint_init(struct paint *p, FILE *out, const struct report_style *style)
{
	static const struct report_style defaults = {0};

	if (!style)
		style = &defaults;
	p->out = out;
	p->width = style->width ? style->width : stream_width(out);
	if (p->width < WIDTH_LEAST)
		p->width = WIDTH_LEAST;
	p->colour = style->colour == REPORT_AUTO ? stream_colour(out) : style->colour == REPORT_ALWAYS;
	p->unicode = style->unicode == REPORT_AUTO ? strcmp(nl_langinfo(CODESET), "UTF-8") == 0 :
						     style->unicode == REPORT_ALWAYS;
}

static const char *ink_begin(enum ink ink)
{
	switch (ink) {
	case INK_BOLD: return "\033[1m";
	case INK_DIM: return "\033[2m";
	case INK_RED: return "\033[1;31m";
	case INK_GREEN: return "\033[1;32m";
	case INK_YELLOW: return "\033[33m";
	case INK_CYAN: return "\033[36m";
	case INK_NONE: break;
	}
	return "";
}

void paint(const struct paint *p, enum ink ink, const char *fmt, ...)
{
	bool coloured = p->colour && ink != INK_NONE;
	va_list ap;

	if (coloured)
		fputs(ink_begin(ink), p->out);
	va_start(ap, fmt);
	vfprintf(p->out, fmt, ap);
	va_end(ap);
	if (coloured)
		fputs("\033[0m", p->out);
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

void paint_wrapped(const struct paint *p, enum ink ink, const char *first, const char *rest, const char *text)
{
	const char *lead = first;

	for (;;) {
		size_t indent = text_width(lead), room = p->width > indent + 20 ? p->width - indent : 20;
		size_t at = 0, columns = 0, end = 0, n;
		uint32_t code;

		/* The longest piece that fits; a word longer than a line is broken where the line ends. */
		while (text[at]) {
			char one[8];

			n = text_decode(text + at, &code);
			n = n ? n : 1;
			memcpy(one, text + at, n);
			one[n] = '\0';
			if (columns + text_width(one) > room)
				break;
			columns += text_width(one);
			at += n;
			if (text[at] == ' ' || text[at] == '\0')
				end = at;
		}
		if (end == 0)
			end = at;
		fputs(lead, p->out);
		paint(p, ink, "%.*s", (int)end, text);
		fputc('\n', p->out);
		text += end;
		while (*text == ' ')
			text++;
		if (!*text)
			return;
		lead = rest;
	}
}
