/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/screen.h - the terminal of `skep top`: draws a frame, reads keys and the mouse.  ncurses sends only what
 * differs from the frame before.
 */
#ifndef SKEP_CLI_TOP_SCREEN_H
#define SKEP_CLI_TOP_SCREEN_H

#include "cli/top/model.h"

#define SCREEN_LEAST_COLUMNS 80
#define SCREEN_LEAST_LINES 24

struct screen;

struct top_frame {
	const struct top_model *model;
	const struct top_view *view;
	const struct top_rows *rows;
	size_t selected;
	size_t first;       /* the first row in sight; screen_draw() moves it so that the selected row is in sight */
	const char *title;  /* the time, and the runs on the screen */
	const char *filter; /* ""; not safe for a terminal, nor are the next ones */
	const char *note;   /* which figures are missing and why, or an error; "" */
	const char *prompt; /* the filter that the user types; NULL: none */
	bool help, frozen, replay;
};

/* 0; -errno with the reason in why.  The terminal is as before after screen_close(). */
int screen_open(struct screen **ret, char *why, size_t why_size);
struct screen *screen_close(struct screen *);
void screen_draw(struct screen *, struct top_frame *);
void screen_redraw(struct screen *); /* the next screen_draw() sends all: another program has written to the terminal */
size_t screen_page(const struct screen *); /* rows in sight */
int screen_key(struct screen *);           /* of ncurses; -1: no key waits */
bool screen_resized(struct screen *);      /* the terminal has another size since the last call */

/* The part of the screen under a click. */
enum screen_target { SCREEN_NOTHING, SCREEN_ROW, SCREEN_TITLE, SCREEN_FUNCTION, SCREEN_WHEEL_UP, SCREEN_WHEEL_DOWN };
enum screen_target screen_mouse(const struct screen *, const struct top_frame *, size_t *ret_which);

#endif
