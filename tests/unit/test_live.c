/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_live.c - cli/live/live.c on a pseudo-terminal. A small screen interprets the output: what the title
 * is, that the command's text and its saved cursor survive, when the title stays away, and that it is restored.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cli/live/live.h"

#define ROWS    12
#define COLUMNS 60

static const struct collector_live figures = {
	.elapsed_ns = 12300000000,
	.processes_alive = 3,
	.processes_total = 1234,
	.cores_busy = 1.5,
	.rss_bytes = UINT64_C(3) << 30,
	.read_bytes_per_s = 1048576,
	.busiest = "samtools sort",
	.busiest_cores = 1.25,
};

/* ---- a screen ----------------------------------------------------------------- */

struct screen {
	unsigned row, column, saved_row, saved_column; /* from 0 */
	char text[ROWS][COLUMNS + 1];
	char title[256], saved_title[256];
	unsigned unknown; /* sequences unknown to the screen */
};

static void screen_init(struct screen *screen)
{
	memset(screen, 0, sizeof(*screen));
	strcpy(screen->title, "the user's");
	for (unsigned i = 0; i < ROWS; i++)
		memset(screen->text[i], ' ', COLUMNS);
}

static void screen_down(struct screen *screen)
{
	if (screen->row < ROWS - 1) {
		screen->row++;
		return;
	}
	memmove(screen->text[0], screen->text[1], (ROWS - 1) * sizeof(screen->text[0]));
	memset(screen->text[ROWS - 1], ' ', COLUMNS);
}

static const char *screen_csi(struct screen *screen, const char *at)
{
	unsigned values[4] = { 0 }, n = 0;

	for (; (*at >= '0' && *at <= '9') || *at == ';'; at++) {
		if (*at == ';')
			n += n < 3;
		else
			values[n] = values[n] * 10 + (unsigned)(*at - '0');
	}
	switch (*at) {
	case 't':
		if (values[0] == 22)
			strcpy(screen->saved_title, screen->title);
		else if (values[0] == 23)
			strcpy(screen->title, screen->saved_title);
		else
			screen->unknown++;
		break;
	case 'H':
		screen->row = values[0] ? values[0] - 1 : 0;
		screen->column = values[1] ? values[1] - 1 : 0;
		break;
	case 'm':
		break;
	default:
		screen->unknown++;
	}
	return at;
}

/* OSC 2: everything up to the BEL is the title */
static const char *screen_osc(struct screen *screen, const char *at)
{
	size_t n = strcspn(at, "\007");

	assert_true(strncmp(at, "2;", 2) == 0 && at[n] == '\007' && n - 2 < sizeof(screen->title));
	snprintf(screen->title, sizeof(screen->title), "%.*s", (int)n - 2, at + 2);
	return at + n;
}

static void screen_play(struct screen *screen, const char *text)
{
	for (const char *at = text; *at; at++) {
		if (*at == '\n') {
			screen_down(screen);
		} else if (*at == '\r') {
			screen->column = 0;
		} else if (((unsigned char)*at & 0xc0) == 0x80) {
			continue; /* the rest of a UTF-8 character: one column, shown by its first byte */
		} else if (*at != '\033') {
			assert_true(screen->column < COLUMNS);
			screen->text[screen->row][screen->column++] = *at;
		} else if (*++at == '[') {
			at = screen_csi(screen, at + 1);
		} else if (*at == ']') {
			at = screen_osc(screen, at + 1);
		} else if (*at == '7') {
			screen->saved_row = screen->row;
			screen->saved_column = screen->column;
		} else if (*at == '8') {
			screen->row = screen->saved_row;
			screen->column = screen->saved_column;
		} else {
			screen->unknown++;
		}
	}
}

/* ---- a terminal whose other end the test reads ----------------------------------- */

static int master;

/* Runs body as the leader of a session on a new terminal; returns its output. */
static char *on_terminal(void (*body)(struct live *), unsigned rows, unsigned columns, int *ret_status)
{
	struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns };
	char *text = calloc(1, 65536);
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_non_null(text);
	pid = forkpty(&master, NULL, NULL, &size);
	assert_true(pid >= 0);
	if (pid == 0) {
		struct live *live;

		alarm(200);
		setenv("TERM", "xterm", 1);
		if (live_new(STDERR_FILENO, &live) < 0)
			_exit(99);
		body(live);
		_exit(0);
	}
	while ((n = read(master, text + len, 65535 - len)) > 0) /* EIO: the other end is closed */
		len += (size_t)n;
	assert_int_equal(waitpid(pid, ret_status, 0), pid);
	close(master);
	return text;
}

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(98);
}

static void play(void (*body)(struct live *), struct screen *screen)
{
	int status;
	char *text = on_terminal(body, ROWS, COLUMNS, &status);

	assert_int_equal(status, 0);
	screen_init(screen);
	screen_play(screen, text);
	assert_int_equal(screen->unknown, 0);
	assert_string_equal(screen->title, "the user's"); /* restored */
	free(text);
}

static void lines_body(struct live *live)
{
	char line[32];

	for (int i = 0; i < 30; i++) {
		snprintf(line, sizeof(line), "line %d\n", i);
		say(line);
		if (i % 3 == 0)
			live_draw(live, &figures);
	}
	say("half"); /* the cursor's column stays, too */
	live_draw(live, &figures);
	say(" done");
	live_free(live);
}

static void output_is_the_commands(void **state)
{
	struct screen screen;

	(void)state;
	play(lines_body, &screen);
	assert_memory_equal(screen.text[ROWS - 1], "half done ", 10);
	for (unsigned i = 0; i < ROWS - 1; i++) {
		char want[32];

		snprintf(want, sizeof(want), "line %u ", 30 - (ROWS - 1) + i);
		assert_memory_equal(screen.text[i], want, strlen(want));
	}
	assert_int_equal(screen.row, ROWS - 1);
	assert_int_equal(screen.column, 9);
}

static void saved_body(struct live *live)
{
	say("at \0337");
	live_draw(live, &figures);
	say("50 %");
	live_draw(live, &figures);
	say("\0338100 %\n");
	live_free(live);
}

static void the_saved_cursor_is_the_commands(void **state)
{
	struct screen screen;

	(void)state;
	play(saved_body, &screen);
	assert_memory_equal(screen.text[0], "at 100 % ", 9);
}

static void shown_body(struct live *live)
{
	live_draw(live, &figures);
	live_draw(live, &figures);
	_exit(0); /* ends as if it still ran */
}

static void figures_stand_in_the_title(void **state)
{
	struct screen screen;
	int status;
	char *text = on_terminal(shown_body, ROWS, COLUMNS, &status);

	(void)state;
	assert_int_equal(status, 0);
	screen_init(&screen);
	screen_play(&screen, text);
	free(text);
	assert_non_null(strstr(screen.title, "skep 12.3"));
	assert_non_null(strstr(screen.title, "3 of 1,234 processes"));
	assert_string_equal(screen.saved_title, "the user's");
	assert_int_equal(screen.row + screen.column, 0);
}

static void raw_body(struct live *live)
{
	struct termios mode;

	say("before\n");
	live_draw(live, &figures);
	if (tcgetattr(STDIN_FILENO, &mode) < 0)
		_exit(97);
	mode.c_lflag &= ~(tcflag_t)ICANON;
	tcsetattr(STDIN_FILENO, TCSANOW, &mode);
	live_check(live);
	say("\033[12;1Heditor's last row");
	say("\033[1;1Heditor");
	live_draw(live, &figures);
	live_draw(live, &figures);
	live_free(live);
}

static void keeps_away_from_an_editor(void **state)
{
	struct screen screen;

	(void)state;
	play(raw_body, &screen);
	assert_memory_equal(screen.text[0], "editor", 6);
	assert_memory_equal(screen.text[ROWS - 1], "editor's last row", 17);
}

static void back_body(struct live *live)
{
	struct termios mode, raw;

	if (tcgetattr(STDIN_FILENO, &mode) < 0)
		_exit(97);
	raw = mode;
	raw.c_lflag &= ~(tcflag_t)ICANON;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	live_draw(live, &figures); /* nothing */
	say("x");
	tcsetattr(STDIN_FILENO, TCSANOW, &mode);
	live_draw(live, &figures);
	_exit(0);
}

static void comes_back_after_it(void **state)
{
	int status;
	char *text = on_terminal(back_body, ROWS, COLUMNS, &status);

	(void)state;
	assert_int_equal(status, 0);
	assert_int_equal(text[0], 'x');
	assert_non_null(strstr(text, "skep 12.3"));
	free(text);
}

static void background_body(struct live *live)
{
	pid_t child = fork();

	if (child == 0) { /* another job becomes the foreground */
		setpgid(0, 0);
		signal(SIGTTOU, SIG_IGN);
		tcsetpgrp(STDIN_FILENO, getpgrp());
		pause();
	}
	while (tcgetpgrp(STDIN_FILENO) != child)
		usleep(1000);
	live_draw(live, &figures);
	say("background");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	live_free(live);
}

static void keeps_still_in_the_background(void **state)
{
	int status;
	char *text = on_terminal(background_body, ROWS, COLUMNS, &status);

	(void)state;
	assert_int_equal(status, 0);
	assert_string_equal(text, "background");
	free(text);
}

static void crash_body(struct live *live)
{
	live_draw(live, &figures);
	abort();
}

static void gives_back_on_a_crash(void **state)
{
	int status;
	char *text = on_terminal(crash_body, ROWS, COLUMNS, &status), *line;

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	line = strstr(text, "skep 12.3");
	assert_non_null(line);
	assert_non_null(strstr(line, "\033[23;2t"));
	free(text);
}

static void held_body(struct live *live)
{
	tcflow(STDOUT_FILENO, TCOOFF); /* Ctrl-S */
	for (int i = 0; i < 50; i++)
		live_draw(live, &figures); /* must not block: alarm() would end us */
	tcflow(STDOUT_FILENO, TCOON);
	say("on\n");
	live_free(live);
}

static void a_held_terminal_does_not_hold_us(void **state)
{
	struct screen screen;

	(void)state;
	play(held_body, &screen);
}

static void only_a_terminal_will_do(void **state)
{
	struct live *live;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	setenv("TERM", "xterm", 1);
	assert_int_equal(live_new(ends[1], &live), -ENOTTY);
	close(ends[0]);
	close(ends[1]);
	assert_null(live_free(NULL));
	live_draw(NULL, &figures);
	live_clear(NULL);
	live_check(NULL);
	live_follow(NULL, 1);
}

static void dumb_body(struct live *live)
{
	struct live *other;

	setenv("TERM", "dumb", 1);
	if (live_new(STDERR_FILENO, &other) != -ENOTTY)
		_exit(1);
	setenv("TERM", "linux", 1); /* has no title */
	if (live_new(STDERR_FILENO, &other) != -ENOTTY)
		_exit(3);
	unsetenv("TERM");
	if (live_new(STDERR_FILENO, &other) != -ENOTTY)
		_exit(2);
	live_free(live);
}

static void not_on_a_dumb_one(void **state)
{
	int status;

	(void)state;
	free(on_terminal(dumb_body, ROWS, COLUMNS, &status));
	assert_int_equal(status, 0);
}

static void text_fits_and_is_safe(void **state)
{
	struct collector_live odd = figures;
	char *text;

	(void)state;
	text = live_text(&figures, 200, false);
	assert_non_null(text);
	assert_non_null(strstr(text, "1.5"));
	assert_non_null(strstr(text, "samtools sort 1.25"));
	assert_null(strstr(text, "lost"));
	free(text);
	for (size_t columns = 1; columns < 200; columns++) {
		text = live_text(&figures, columns, false);
		assert_non_null(text);
		assert_true(strlen(text) <= columns);
		free(text);
	}
	snprintf(odd.busiest, sizeof(odd.busiest), "\033]0;title\a");
	odd.lost = 7;
	text = live_text(&odd, 200, false);
	assert_non_null(text);
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "7 records lost"));
	free(text);
	odd = (struct collector_live) { .read_bytes_per_s = -1 };
	text = live_text(&odd, 200, true);
	assert_non_null(text);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_is_the_commands),
		cmocka_unit_test(the_saved_cursor_is_the_commands),
		cmocka_unit_test(figures_stand_in_the_title),
		cmocka_unit_test(keeps_away_from_an_editor),
		cmocka_unit_test(comes_back_after_it),
		cmocka_unit_test(keeps_still_in_the_background),
		cmocka_unit_test(gives_back_on_a_crash),
		cmocka_unit_test(a_held_terminal_does_not_hold_us),
		cmocka_unit_test(only_a_terminal_will_do),
		cmocka_unit_test(not_on_a_dumb_one),
		cmocka_unit_test(text_fits_and_is_safe),
	};

	setlocale(LC_ALL, "");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
