/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/interact.c - the loop of `skep top`.
 *
 * A frame is drawn at most once in an interval, when the model has news, and at once after a key.  While the user has
 * frozen the screen, the source keeps what arrives, so that the rows can be looked at in peace and nothing is lost.
 */
#include "cli/top/interact.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/human.h"
#include "cli/base/skep.h"
#include "cli/top/keys.h"
#include "cli/top/screen.h"

#define PROMPT_MOST 1024
#define MUCH 10 /* steps of a replay */
#define AGAIN_MS 1000

struct loop {
	struct top *top;
	struct screen *screen;
	struct top_frame frame;
	uint64_t selected_id; /* the selected row stays selected when rows change places */
	uint64_t drawn_ns;
	bool news;    /* the model has changed since the last frame */
	bool changed; /* the view has */
	bool over;
	char prompt[PROMPT_MOST], note[512], title[128];
	char why[TOP_NOTE_SIZE]; /* of the last key that failed; "" */
};

static volatile sig_atomic_t ended;

static void on_signal(int number)
{
	(void)number;
	ended = 1;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- frames -------------------------------------------------------------------------------- */

static void select_row(struct loop *l, size_t at)
{
	size_t n = l->top->rows.n;

	l->frame.selected = at < n ? at : n ? n - 1 : 0;
	l->selected_id = n ? l->top->rows.rows[l->frame.selected].id : 0;
	l->changed = true;
}

/* At the top of the list the selection stays at the top: the user watches the first row, whichever it is. */
static void select_again(struct loop *l)
{
	if (l->frame.selected == 0)
		return;
	for (size_t i = 0; i < l->top->rows.n; i++)
		if (l->top->rows.rows[i].id == l->selected_id) {
			l->frame.selected = i;
			return;
		}
	select_row(l, l->frame.selected);
}

static int rebuild(struct loop *l)
{
	int err = top_rows_build(&l->top->rows, l->top->model, &l->top->view);

	if (err == 0)
		select_again(l);
	return err;
}

static void set_title(struct loop *l)
{
	const struct top *t = l->top;
	char clock[HUMAN_SIZE], step[HUMAN_SIZE];

	human_date(t->live ? now_ns(CLOCK_REALTIME) : t->at_ns,
		   t->live ? HUMAN_CLOCK : HUMAN_DATE | HUMAN_CLOCK | HUMAN_ZONE, clock);
	if (t->live)
		snprintf(l->title, sizeof(l->title), "%s", clock);
	else
		snprintf(l->title, sizeof(l->title), "%s  [replay, steps of %s]", clock,
			 human_time(t->interval_ns, HUMAN_ASCII, step));
}

static void draw(struct loop *l)
{
	struct top_frame *f = &l->frame;

	set_title(l);
	snprintf(l->note, sizeof(l->note), "%s", *l->why ? l->why : l->top->live ? source_live_note(l->top->live) : "");
	f->model = l->top->model;
	f->view = &l->top->view;
	f->rows = &l->top->rows;
	f->title = l->title;
	f->filter = top_filter_text(l->top->filter);
	f->note = l->note;
	f->replay = l->top->live == NULL;
	screen_draw(l->screen, f);
	l->drawn_ns = now_ns(CLOCK_MONOTONIC);
	l->news = l->changed = false;
}

/* ---- keys ---------------------------------------------------------------------------------- */

static void group_by(struct loop *l, enum top_group group)
{
	struct top_view *v = &l->top->view;

	/* Within a row, the groups that make it up say nothing more. */
	v->group = group;
	l->frame.selected = l->frame.first = 0;
	l->changed = true;
}

static void sort_by(struct loop *l, enum top_column column)
{
	struct top_view *v = &l->top->view;

	if (v->sort == column)
		v->ascending = !v->ascending;
	else
		v->ascending = false;
	v->sort = column;
	l->frame.selected = l->frame.first = 0;
	l->changed = true;
}

static void sort_beside(struct loop *l, int step)
{
	struct top_view *v = &l->top->view;

	v->sort = (enum top_column)(((int)v->sort + step + TOP_COLUMNS) % TOP_COLUMNS);
	l->changed = true;
}

static void enter(struct loop *l)
{
	struct top *t = l->top;

	if (l->frame.selected < t->rows.n && top_view_enter(&t->view, t->model, &t->rows, l->frame.selected))
		l->frame.selected = l->frame.first = 0;
	l->changed = true;
}

static void fold(struct loop *l)
{
	struct top *t = l->top;

	if (l->frame.selected < t->rows.n && top_view_fold(&t->view, &t->rows.rows[l->frame.selected]) < 0)
		snprintf(l->why, sizeof(l->why), "out of memory");
	select_row(l, l->frame.selected);
}

/* Reads the lake for the moment; a moment without a run leaves an empty table. */
static void step(struct loop *l, int64_t steps)
{
	struct top *t = l->top;
	int64_t by = steps * (int64_t)t->interval_ns;

	if (t->live) {
		snprintf(l->why, sizeof(l->why), "Left and Right move in time with --at TIME");
		l->changed = true;
		return;
	}
	if (by < 0 && (uint64_t)-by >= t->at_ns)
		return;
	t->at_ns += (uint64_t)by;
	if (source_lake_at(t->lake, t->at_ns, t->interval_ns, t->model, l->why, sizeof(l->why)) == 0)
		l->why[0] = '\0';
	l->changed = true;
}

static void freeze(struct loop *l)
{
	if (!l->top->live)
		return;
	l->frame.frozen = !l->frame.frozen;
	source_live_hold(l->top->live, l->frame.frozen);
	l->changed = true;
}

static void act(struct loop *l, enum top_action action);

static void on_mouse(struct loop *l)
{
	size_t which = 0;

	switch (screen_mouse(l->screen, &l->frame, &which)) {
	case SCREEN_ROW:
		if (which == l->frame.selected)
			enter(l);
		else
			select_row(l, which);
		break;
	case SCREEN_TITLE:
		sort_by(l, (enum top_column)which);
		break;
	case SCREEN_FUNCTION:
		act(l, top_function_actions[which]);
		break;
	case SCREEN_WHEEL_UP:
		act(l, TOP_UP);
		break;
	case SCREEN_WHEEL_DOWN:
		act(l, TOP_DOWN);
		break;
	case SCREEN_NOTHING:
		break;
	}
}

static void move_by(struct loop *l, long rows)
{
	size_t at = l->frame.selected, back = rows < 0 ? (size_t)-rows : 0;

	select_row(l, rows < 0 ? (at > back ? at - back : 0) : at + (size_t)rows);
}

static void prompt(struct loop *l)
{
	snprintf(l->prompt, sizeof(l->prompt), "%s", top_filter_text(l->top->filter));
	l->frame.prompt = l->prompt;
	l->changed = true;
}

static void act(struct loop *l, enum top_action action)
{
	long page = (long)screen_page(l->screen);
	struct top_view *v = &l->top->view;

	switch (action) {
	case TOP_UP:
		move_by(l, -1);
		break;
	case TOP_DOWN:
		move_by(l, 1);
		break;
	case TOP_PAGE_UP:
		move_by(l, -page);
		break;
	case TOP_PAGE_DOWN:
		move_by(l, page);
		break;
	case TOP_FIRST:
		select_row(l, 0);
		break;
	case TOP_LAST:
		select_row(l, SIZE_MAX);
		break;
	case TOP_ENTER:
		enter(l);
		break;
	case TOP_LEAVE:
		if (top_view_leave(v))
			l->frame.selected = l->frame.first = 0;
		l->changed = true;
		break;
	case TOP_FOLD:
		fold(l);
		break;
	case TOP_BY_RUN:
	case TOP_BY_TASK:
	case TOP_BY_TOOL:
	case TOP_BY_CONTAINER:
	case TOP_BY_USER:
	case TOP_BY_PROCESS:
		group_by(l, (enum top_group)(action - TOP_BY_RUN));
		break;
	case TOP_BY_NEXT:
		group_by(l, (enum top_group)((v->group + 1) % TOP_GROUPS));
		break;
	case TOP_SORT_NEXT:
		sort_beside(l, 1);
		break;
	case TOP_SORT_BEFORE:
		sort_beside(l, -1);
		break;
	case TOP_SORT_CORES:
		sort_by(l, TOP_CORES);
		break;
	case TOP_SORT_CPU:
		sort_by(l, TOP_CPU);
		break;
	case TOP_SORT_RSS:
		sort_by(l, TOP_RSS);
		break;
	case TOP_SORT_TURN:
		v->ascending = !v->ascending;
		l->changed = true;
		break;
	case TOP_FILTER:
		prompt(l);
		break;
	case TOP_FREEZE:
		freeze(l);
		break;
	case TOP_EARLIER:
		step(l, -1);
		break;
	case TOP_LATER:
		step(l, 1);
		break;
	case TOP_MUCH_EARLIER:
		step(l, -MUCH);
		break;
	case TOP_MUCH_LATER:
		step(l, MUCH);
		break;
	case TOP_REDRAW:
		screen_redraw(l->screen);
		l->changed = true;
		break;
	case TOP_MOUSE:
		on_mouse(l);
		break;
	case TOP_HELP:
		l->frame.help = true;
		l->changed = true;
		break;
	case TOP_QUIT:
		l->over = true;
		break;
	case TOP_RESIZE: /* the screen knows */
	case TOP_NOTHING:
		break;
	}
}

static void prompt_end(struct loop *l, bool apply)
{
	if (apply && top_filter_set(l->top->filter, l->prompt, l->why, sizeof(l->why)) < 0)
		return; /* the note shows the error, and the user corrects the filter */
	l->frame.prompt = NULL;
	l->frame.selected = l->frame.first = 0;
}

static void prompt_key(struct loop *l, int key)
{
	size_t len = strlen(l->prompt);

	l->why[0] = '\0';
	if (top_key_action(key) == TOP_ENTER) {
		prompt_end(l, true);
	} else if (key == '\x1b') {
		prompt_end(l, false);
	} else if (key == 'U' - '@') {
		l->prompt[0] = '\0';
	} else if (top_key_action(key) == TOP_LEAVE) {
		while (len && ((unsigned char)l->prompt[--len] & 0xc0) == 0x80) /* a character, not a byte */
			;
		l->prompt[len] = '\0';
	} else if (key >= ' ' && key <= 0xff && len + 1 < sizeof(l->prompt)) {
		l->prompt[len] = (char)key;
		l->prompt[len + 1] = '\0';
	}
	l->changed = true;
}

static void on_key(struct loop *l, int key)
{
	enum top_action action = top_key_action(key);

	if (l->frame.prompt && action != TOP_MOUSE && action != TOP_RESIZE) {
		prompt_key(l, key);
		return;
	}
	l->why[0] = '\0';
	if (l->frame.help && action != TOP_QUIT) { /* any key ends the help */
		l->frame.help = false;
		l->changed = true;
		return;
	}
	act(l, action);
}

/* ---- the loop ------------------------------------------------------------------------------ */

/* 0 or -errno; a skepd that has gone is no error here: the note says so, and the loop tries again. */
static int read_source(struct loop *l)
{
	int got = l->top->live ? source_live_read(l->top->live, l->top->model) : 0;

	if (got == -EPIPE) {
		l->news |= !l->drawn_ns || strcmp(l->note, source_live_note(l->top->live)) != 0;
		return 0;
	}
	l->news |= got == 1;
	return got < 0 ? got : 0;
}

static int wait_ms(const struct loop *l)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC), due = l->drawn_ns + l->top->interval_ns;

	if (l->changed)
		return 0;
	if (!l->news)
		return l->top->live ? AGAIN_MS : -1;
	return due > now ? (int)((due - now) / 1000000) + 1 : 0;
}

static bool due(const struct loop *l)
{
	return l->changed || (l->news && now_ns(CLOCK_MONOTONIC) >= l->drawn_ns + l->top->interval_ns);
}

static int turn(struct loop *l)
{
	struct pollfd fds[2] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = l->top->live ? source_live_fd(l->top->live) : -1, .events = POLLIN },
	};
	int key, err;

	if (poll(fds, 2, wait_ms(l)) < 0 && errno != EINTR)
		return -errno;
	if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) /* the terminal has gone */
		l->over = true;
	if (screen_resized(l->screen))
		l->changed = true;
	while (!l->over && (key = screen_key(l->screen)) != -1) {
		on_key(l, key);
		err = l->changed ? rebuild(l) : 0; /* the next key acts on the rows of this one */
		if (err < 0)
			return err;
	}
	err = read_source(l);
	if (err == 0 && due(l) && !l->over) {
		err = rebuild(l);
		if (err == 0)
			draw(l);
	}
	return err;
}

int top_interact(struct top *t)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct loop l = { .top = t };
	int err = screen_open(&l.screen, l.why, sizeof(l.why));

	if (err < 0)
		return skep_fail("top", SKEP_EXIT_RUNTIME, "%s", l.why);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	if (!t->live) {
		snprintf(l.why, sizeof(l.why), "reading the lake ...");
		draw(&l);
		l.why[0] = '\0';
		step(&l, 0);
	}
	l.changed = true;
	while (err == 0 && !l.over && !ended)
		err = turn(&l);
	screen_close(l.screen);
	return err < 0 ? skep_fail("top", SKEP_EXIT_RUNTIME, "%s", strerror(-err)) : SKEP_EXIT_OK;
}
