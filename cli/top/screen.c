/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/screen.c - draws `skep top` with ncursesw.
 */
#include "cli/top/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <ncurses.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/base/paint.h"
#include "cli/base/text.h"
#include "cli/top/cells.h"
#include "cli/top/keys.h"

/* ncurses keeps a cell of 28 bytes for each place: a terminal that says 65535 x 65535 would need 120 GB. */
#define MOST_COLUMNS 1000
#define MOST_LINES 500
#define HEAD_LINES 4 /* title, totals, path, titles of the columns */
#define FOOT_LINES 2 /* note or prompt, function keys */
#define ESCAPE_MS 100 /* how long the rest of a key's sequence may take, over a slow line */
#define FUNCTION_WIDTH 8

enum { COLOUR_RED = 1, COLOUR_GREEN, COLOUR_YELLOW, COLOUR_CYAN };

struct screen {
	SCREEN *terminal;
	bool unicode, all;
};

static volatile sig_atomic_t size_changed;

static void on_winch(int number)
{
	(void)number;
	size_changed = 1;
}

/* ---- size ---------------------------------------------------------------------------------- */

/* A terminal that does not know its size says 0: then terminfo's, which newterm() has taken. */
static void take_size(void)
{
	struct winsize size = { 0 };
	int lines = LINES, columns = COLS;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col) {
		lines = size.ws_row < MOST_LINES ? size.ws_row : MOST_LINES;
		columns = size.ws_col < MOST_COLUMNS ? size.ws_col : MOST_COLUMNS;
	}
	if (lines != LINES || columns != COLS)
		resizeterm(lines, columns);
}

bool screen_resized(struct screen *s)
{
	if (!size_changed)
		return false;
	size_changed = 0;
	take_size();
	s->all = true; /* what the terminal did with its old contents is its own affair */
	return true;
}

size_t screen_page(const struct screen *s)
{
	(void)s;
	return LINES > HEAD_LINES + FOOT_LINES ? (size_t)(LINES - HEAD_LINES - FOOT_LINES) : 1;
}

/* ---- opened -------------------------------------------------------------------------------- */

static void set_colours(void)
{
	const char *no = getenv("NO_COLOR");

	if ((no && *no) || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	init_pair(COLOUR_RED, COLOR_RED, -1);
	init_pair(COLOUR_GREEN, COLOR_GREEN, -1);
	init_pair(COLOUR_YELLOW, COLOR_YELLOW, -1);
	init_pair(COLOUR_CYAN, COLOR_CYAN, -1);
}

/*
 * ncurses writes in a loop, or loses the rest of a frame (before 6.2), when another program has made the terminal
 * non-blocking and it is full.  So it gets the terminal by an open file description of our own, with flags of its own.
 */
static int open_output(void)
{
	int fd = open("/proc/self/fd/1", O_WRONLY | O_NOCTTY | O_CLOEXEC);

	if (fd < 0) /* after su, the terminal is another user's */
		return STDOUT_FILENO;
	return fd;
}

int screen_open(struct screen **ret, char *why, size_t why_size)
{
	struct sigaction action = { .sa_handler = on_winch };
	struct screen *s = calloc(1, sizeof(*s));
	struct paint paint;
	FILE *in, *out;

	if (!s) {
		snprintf(why, why_size, "out of memory");
		return -ENOMEM;
	}
	paint_init(&paint, stdout, NULL);
	s->unicode = paint.unicode;
	use_env(FALSE); /* take_size() asks the terminal, and bounds the answer */
	sigaction(SIGWINCH, &action, NULL); /* before newterm(), which then sets no handler of its own */
	/* ncurses wants streams of the C library itself: it uses only their descriptors, which stay open */
	out = fdopen(open_output(), "w");
	in = fdopen(STDIN_FILENO, "r");
	s->terminal = out && in ? newterm(NULL, out, in) : NULL;
	if (!s->terminal) {
		const char *term = getenv("TERM");

		snprintf(why, why_size, "no description of the terminal TERM=%s here; set another TERM, or use --once",
			 term ? term : "");
		free(s);
		return -ENOENT;
	}
	set_colours();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	timeout(0);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	take_size();
	*ret = s;
	return 0;
}

struct screen *screen_close(struct screen *s)
{
	if (!s)
		return NULL;
	endwin();
	delscreen(s->terminal);
	free(s);
	return NULL;
}

int screen_key(struct screen *s)
{
	int key = getch();

	(void)s;
	return key == ERR ? -1 : key;
}

void screen_redraw(struct screen *s)
{
	s->all = true;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Writes a text of other programs: escaped, and cut to so many columns; fills the rest with blanks. */
static void put(const struct screen *s, const char *text, size_t columns)
{
	char *safe = text_safe(text, s->unicode), *cut = safe ? text_cut(safe, columns, s->unicode) : NULL;
	size_t width = cut ? text_width(cut) : 0;

	if (cut)
		addstr(cut);
	for (; width < columns; width++)
		addch(' ');
	free(safe);
	free(cut);
}

static void put_line(const struct screen *s, int y, int attributes, const char *text)
{
	if (move(y, 0) == ERR)
		return;
	attron(attributes);
	put(s, text, (size_t)COLS);
	attroff(attributes);
}

/* ---- the frame ----------------------------------------------------------------------------- */

static void draw_head(const struct screen *s, const struct top_frame *f)
{
	const struct top_row *t = &f->rows->totals;
	char cores[HUMAN_SIZE], cpu[HUMAN_SIZE], queued[HUMAN_SIZE], rss[HUMAN_SIZE], line[512];
	const unsigned flags = HUMAN_SHORT | HUMAN_ASCII;
	size_t at;

	snprintf(line, sizeof(line), "skep top  %s%s%s%s", f->title, f->frozen ? "  [frozen: Space goes on]" : "",
		 *f->filter ? "  filter: " : "", f->filter);
	put_line(s, 0, A_BOLD, line);
	snprintf(line, sizeof(line), "%llu alive, %llu ended, %llu failed; %s cores busy; CPU %s, queued %s, RSS %s",
		 (unsigned long long)t->alive, (unsigned long long)t->ended, (unsigned long long)t->failed,
		 human_cores(t->cores, cores), human_time(t->figures.cpu_ns, flags, cpu),
		 human_time(t->figures.run_delay_ns, flags, queued),
		 human_bytes(t->figures.rss_bytes, flags, rss));
	put_line(s, 1, 0, line);
	at = (size_t)snprintf(line, sizeof(line), "by %s", top_group_name(f->view->group));
	for (size_t i = 0; i < f->view->n_path && at < sizeof(line); i++)
		at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s", i ? " > " : " in ", f->view->path[i].label);
	if (f->prompt && *f->note) /* the error in the filter; the prompt has the note's line */
		put_line(s, 2, COLOR_PAIR(COLOUR_RED), f->note);
	else
		put_line(s, 2, COLOR_PAIR(COLOUR_CYAN), line);
}

static void draw_titles(const struct top_frame *f, const bool shown[TOP_COLUMNS], unsigned name)
{
	move(HEAD_LINES - 1, 0);
	attron(A_REVERSE);
	for (unsigned i = 0; i < TOP_COLUMNS; i++) {
		enum top_column c = top_cells_order[i];
		const char *title = c == TOP_NAME ? top_group_name(f->view->group) : top_cell_title(c);
		bool sorts = c == f->view->sort;

		if (!shown[c])
			continue;
		if (sorts)
			attron(A_BOLD | A_UNDERLINE);
		if (c == TOP_NAME)
			printw("%-*.*s", (int)name, (int)name, title);
		else
			printw("%*s", (int)top_cell_width(c), title);
		attroff(A_BOLD | A_UNDERLINE);
		if (c != TOP_NAME)
			addch(' ');
	}
	attroff(A_REVERSE);
}

static int colour_of(const struct top_row *r, enum top_column c)
{
	if (c == TOP_FAILED && r->failed)
		return COLOR_PAIR(COLOUR_RED);
	if (c == TOP_CORES && r->cores >= 0.005)
		return COLOR_PAIR(COLOUR_GREEN);
	if ((c == TOP_STATE && r->state == 'D') || (c == TOP_QUEUED && r->figures.run_delay_ns > r->figures.cpu_ns / 4))
		return COLOR_PAIR(COLOUR_YELLOW);
	return r->alive ? 0 : (int)A_DIM;
}

static void draw_name(const struct screen *s, const struct top_frame *f, const struct top_row *r, unsigned columns)
{
	char *label = top_row_label(f->model, r), *text = NULL;
	const char *mark = top_group_below(r->group) == TOP_GROUPS ? "  " : r->unfolded ? "- " : "+ ";

	if (label)
		text = text_format("%*s%s%s", (int)r->depth * 2, "", mark, label);
	put(s, text ? text : "", columns);
	free(label);
	free(text);
}

static void draw_row(const struct screen *s, const struct top_frame *f, size_t at, const bool shown[TOP_COLUMNS],
		     unsigned name)
{
	const struct top_row *r = &f->rows->rows[at];
	bool selected = at == f->selected;
	char buf[HUMAN_SIZE];

	for (unsigned i = 0; i < TOP_COLUMNS; i++) {
		enum top_column c = top_cells_order[i];
		int attributes = selected ? (int)A_REVERSE : colour_of(r, c);

		if (!shown[c])
			continue;
		attron(attributes);
		if (c == TOP_NAME)
			draw_name(s, f, r, name);
		else
			printw("%*.*s ", (int)top_cell_width(c), (int)top_cell_width(c), top_cell_text(r, c, buf));
		attroff(attributes);
	}
}

static void draw_foot(const struct screen *s, const struct top_frame *f)
{
	char line[512];

	if (f->prompt) {
		snprintf(line, sizeof(line), "filter: %s_", f->prompt);
		put_line(s, LINES - 2, A_BOLD, line);
	} else {
		put_line(s, LINES - 2, COLOR_PAIR(COLOUR_YELLOW), f->note);
	}
	move(LINES - 1, 0);
	for (int i = 0; i < TOP_FUNCTION_KEYS; i++) { /* they fit the least width */
		if (!top_function_keys[i])
			continue;
		printw("F%d", i + 1);
		attron(A_REVERSE);
		printw("%-6.6s", top_function_keys[i]);
		attroff(A_REVERSE);
	}
}

static void draw_help(const struct screen *s)
{
	char line[512];
	int y = HEAD_LINES;

	for (const struct top_key_help *h = top_keys_help; h->keys && y < LINES - FOOT_LINES; h++, y++) {
		snprintf(line, sizeof(line), " %-27s %s", h->keys, h->what);
		put_line(s, y, 0, line);
	}
	if (y < LINES - FOOT_LINES)
		put_line(s, y, A_DIM,
			 " S: R runs or waits for a CPU, D waits in the kernel, S sleeps, Z ended, + alive; -: all ended");
}

static void draw_rows(const struct screen *s, struct top_frame *f)
{
	bool shown[TOP_COLUMNS];
	unsigned name = top_cells_fit((unsigned)COLS, shown);
	size_t page = screen_page(s);

	if (f->selected < f->first)
		f->first = f->selected;
	if (f->selected >= f->first + page)
		f->first = f->selected - page + 1;
	if (f->first + page > f->rows->n)
		f->first = f->rows->n > page ? f->rows->n - page : 0;
	draw_titles(f, shown, name);
	for (size_t i = 0; i < page && f->first + i < f->rows->n; i++) {
		move(HEAD_LINES + (int)i, 0);
		draw_row(s, f, f->first + i, shown, name);
	}
	if (f->rows->n == 0)
		put_line(s, HEAD_LINES, A_DIM, *f->filter  ? "no process for this filter"
					  : f->replay ? "no process at this time"
						      : "no process yet");
}

void screen_draw(struct screen *s, struct top_frame *f)
{
	char line[128];

	erase();
	if (COLS < SCREEN_LEAST_COLUMNS || LINES < SCREEN_LEAST_LINES) {
		snprintf(line, sizeof(line), "%dx%d is too small: skep top needs %dx%d; q quits", COLS, LINES,
			 SCREEN_LEAST_COLUMNS, SCREEN_LEAST_LINES);
		put_line(s, 0, 0, line);
	} else {
		draw_head(s, f);
		if (f->help)
			draw_help(s);
		else
			draw_rows(s, f);
		draw_foot(s, f);
	}
	if (s->all)
		clearok(curscr, TRUE);
	s->all = false;
	refresh();
}

/* ---- the mouse ----------------------------------------------------------------------------- */

static enum screen_target title_at(int x, size_t *ret)
{
	bool shown[TOP_COLUMNS];
	int left = 0;

	top_cells_fit((unsigned)COLS, shown);
	for (unsigned i = 0; i < TOP_COLUMNS; i++) {
		enum top_column c = top_cells_order[i];

		if (!shown[c])
			continue;
		left += c == TOP_NAME ? COLS : (int)top_cell_width(c) + 1;
		if (x < left) {
			*ret = c;
			return SCREEN_TITLE;
		}
	}
	return SCREEN_NOTHING;
}

static enum screen_target function_at(int x, size_t *ret)
{
	int left = 0;

	for (size_t i = 0; i < TOP_FUNCTION_KEYS; i++) {
		if (!top_function_keys[i])
			continue;
		left += FUNCTION_WIDTH + (i + 1 >= 10);
		if (x < left) {
			*ret = i;
			return SCREEN_FUNCTION;
		}
	}
	return SCREEN_NOTHING;
}

enum screen_target screen_mouse(const struct screen *s, const struct top_frame *f, size_t *ret)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return SCREEN_NOTHING;
	if (event.bstate & BUTTON4_PRESSED)
		return SCREEN_WHEEL_UP;
	if (event.bstate & BUTTON5_PRESSED)
		return SCREEN_WHEEL_DOWN;
	if (event.y == HEAD_LINES - 1)
		return title_at(event.x, ret);
	if (event.y == LINES - 1)
		return function_at(event.x, ret);
	if (event.y < HEAD_LINES || event.y >= HEAD_LINES + (int)screen_page(s))
		return SCREEN_NOTHING;
	*ret = f->first + (size_t)(event.y - HEAD_LINES);
	return *ret < f->rows->n ? SCREEN_ROW : SCREEN_NOTHING;
}
