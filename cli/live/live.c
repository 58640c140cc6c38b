/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/live.c - the live figures in the title of the terminal's window.
 *
 * CMD writes to the terminal itself, so skep never sees CMD's bytes, and does not know where the cursor is.  A line
 * at the bottom of the screen would need to move the cursor there and back.  A terminal keeps one position for that
 * (ESC 7, ESC 8), and it belongs to CMD: a CMD that saves the cursor, waits, and restores it would write elsewhere.
 * The other ways fail as well: relative movements stop at the edge of the screen, and the terminal answers a question
 * for the position on CMD's standard input.  The title needs no cursor, no scroll region and no colour.
 *
 * skep saves the title before it sets its own (XTWINOPS 22), and restores it at the end (23).  A terminal that cannot
 * do that gets an empty title, and shows its default.
 *
 * skep gives the title back while another program has the terminal: canonical mode is off (an editor, a pager, a
 * shell's prompt), or another process group is in the foreground.  Such programs set titles of their own.  skep checks
 * this before every write, and live_check() between refreshes.
 *
 * skep opens the terminal again for a file description of its own, non-blocking: a
 * terminal that Ctrl-S has stopped must not stop the collector.
 */
#include "cli/live/live.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/base/human.h"
#include "cli/base/text.h"

#define COLUMNS 120 /* tmux shows 21 of them, a window's bar about all */

#define SAVE    "\033[22;2t"
#define RESTORE "\033]2;\007\033[23;2t"

struct live {
	int fd;
	bool unicode;
	bool shown;   /* the title is ours */
	pid_t group;  /* see live_follow(); 0: none */
	char *unsent; /* the rest of a text that a full terminal did not accept */
	size_t unsent_len;
};

/* ---- a crash of skep itself: the handler gives the title back --------------- */

static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
#define N_FATAL (sizeof(fatal) / sizeof(fatal[0]))
static struct sigaction before_fatal[N_FATAL];
static volatile sig_atomic_t fatal_fd = -1;

static void on_fatal(int number)
{
	static const char reset[] = RESTORE;
	ssize_t n = 0;

	if (fatal_fd >= 0)
		n = write(fatal_fd, reset, sizeof(reset) - 1);
	(void)n;
	/* When this handler returns, the fault or the unblocked signal occurs again, and the previous handler runs. */
	for (size_t i = 0; i < N_FATAL; i++)
		sigaction(fatal[i], &before_fatal[i], NULL);
	raise(number);
}

static void catch_fatal(int fd)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_fatal;
	fatal_fd = fd;
	for (size_t i = 0; i < N_FATAL; i++)
		sigaction(fatal[i], &action, &before_fatal[i]);
}

static void uncatch_fatal(void)
{
	fatal_fd = -1;
	for (size_t i = 0; i < N_FATAL; i++)
		sigaction(fatal[i], &before_fatal[i], NULL);
}

/* ---- the terminal ------------------------------------------------------------ */

static bool in_foreground(const struct live *live)
{
	/* ENOTTY: not our controlling terminal, so the kernel would not stop us by a signal in the background */
	pid_t owner = tcgetpgrp(live->fd);

	return owner == getpgrp() || (live->group && owner == live->group);
}

/* True when only line-by-line output uses the terminal now. */
static bool ours(const struct live *live)
{
	struct termios mode;

	return in_foreground(live) && tcgetattr(live->fd, &mode) == 0 && (mode.c_lflag & ICANON);
}

/*
 * With SIGTTOU blocked, a write from the background succeeds instead of stopping this process (stty tostop).  skep
 * writes so only to give the title back, or for a CMD to which it gave the terminal.
 */
static ssize_t write_anyway(int fd, const char *text, size_t len)
{
	sigset_t ttou, before;
	ssize_t n;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &ttou, &before);
	do
		n = write(fd, text, len);
	while (n < 0 && errno == EINTR);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return n;
}

/* Sends the unsent text. True when all of it is sent. */
static bool send_rest(struct live *live)
{
	ssize_t n;

	while (live->unsent_len > 0) {
		n = write_anyway(live->fd, live->unsent, live->unsent_len);
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n < 0) /* hung up: drops the text */
			n = (ssize_t)live->unsent_len;
		live->unsent_len -= (size_t)n;
		memmove(live->unsent, live->unsent + n, live->unsent_len);
	}
	return true;
}

/* Sends text and owns it. When the terminal accepts only a part, the next call sends the rest first. */
static void send_take(struct live *live, char *text)
{
	size_t len;
	char *more;

	if (!text)
		return;
	len = strlen(text);
	more = realloc(live->unsent, live->unsent_len + len);
	if (more) {
		memcpy(more + live->unsent_len, text, len);
		live->unsent = more;
		live->unsent_len += len;
	}
	free(text);
	(void)send_rest(live);
}

/* Other terminals may print the sequence. */
static bool has_title(const char *term)
{
	static const char *const families[] = {
		"xterm", "rxvt", "screen", "tmux", "alacritty", "foot", "kitty", "konsole", "vte", "gnome", "st-", "wezterm",
		"ghostty", "contour", "mintty", "putty", "iterm", "mlterm", "Eterm",
	};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (strncmp(term, families[i], strlen(families[i])) == 0)
			return true;
	return false;
}

int live_new(int fd, struct live **ret)
{
	const char *term = getenv("TERM");
	struct live *live;

	if (!isatty(fd) || !term || !has_title(term) || tcgetpgrp(fd) < 0)
		return -ENOTTY;
	live = calloc(1, sizeof(*live));
	if (!live)
		return -ENOMEM;
	/* /dev/tty is the controlling terminal, the same as fd: tcgetpgrp() fails for any other */
	live->fd = open("/dev/tty", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (live->fd < 0) {
		int err = -errno;

		free(live);
		return err;
	}
	live->unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	catch_fatal(live->fd);
	*ret = live;
	return 0;
}

void live_clear(struct live *live)
{
	if (!live || !live->shown)
		return;
	live->shown = false;
	send_take(live, strdup(RESTORE));
}

void live_check(struct live *live)
{
	if (live && send_rest(live) && live->shown && !ours(live))
		live_clear(live);
}

void live_draw(struct live *live, const struct collector_live *figures)
{
	char *text;

	live_check(live);
	if (!live || live->unsent_len > 0 || !ours(live))
		return;
	text = live_text(figures, COLUMNS, live->unicode);
	if (!text)
		return;
	send_take(live, text_format("%s\033]2;%s\007", live->shown ? "" : SAVE, text));
	live->shown = true;
	free(text);
}

void live_follow(struct live *live, pid_t group)
{
	if (live)
		live->group = group;
}

struct live *live_free(struct live *live)
{
	struct pollfd writable;

	if (!live)
		return NULL;
	live_clear(live);
	for (int i = 0; i < 10 && !send_rest(live); i++) {
		writable = (struct pollfd) { .fd = live->fd, .events = POLLOUT };
		poll(&writable, 1, 100);
	}
	uncatch_fatal();
	close(live->fd);
	free(live->unsent);
	free(live);
	return NULL;
}

/* ---- the text ---------------------------------------------------------------- */

char *live_text(const struct collector_live *figures, size_t columns, bool unicode)
{
	unsigned flags = unicode ? HUMAN_SHORT : HUMAN_SHORT | HUMAN_ASCII;
	char elapsed[HUMAN_SIZE], alive[HUMAN_SIZE], total[HUMAN_SIZE], cores[HUMAN_SIZE], rss[HUMAN_SIZE];
	char reads[HUMAN_SIZE], writes[HUMAN_SIZE], busiest[HUMAN_SIZE], lost[HUMAN_SIZE];
	char *tool, *text = NULL, *cut = NULL;

	tool = text_safe(figures->busiest, unicode);
	if (!tool)
		return NULL;
	/* the most important figures first: a narrow title ends early */
	text = text_format(
		"skep %s | %s of %s processes | %s cores | %s | read %s/s write %s/s%s%s%s%s%s%s%s",
		human_time(figures->elapsed_ns, flags, elapsed), human_count(figures->processes_alive, alive),
		human_count(figures->processes_total, total), human_cores(figures->cores_busy, cores),
		human_bytes(figures->rss_bytes, flags, rss),
		human_bytes((uint64_t)(figures->read_bytes_per_s > 0 ? figures->read_bytes_per_s : 0), flags, reads),
		human_bytes((uint64_t)(figures->write_bytes_per_s > 0 ? figures->write_bytes_per_s : 0), flags, writes),
		*tool ? " | " : "", tool, *tool ? " " : "", *tool ? human_cores(figures->busiest_cores, busiest) : "",
		figures->lost ? " | " : "", figures->lost ? human_count(figures->lost, lost) : "",
		figures->lost ? " records lost" : "");
	if (text)
		cut = text_cut(text, columns, unicode);
	free(text);
	free(tool);
	return cut;
}
