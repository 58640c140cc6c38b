/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/live.c - the live line.
 *
 * CMD writes to the terminal itself, so skep never touches its bytes.  A scroll region
 * (DECSTBM) that ends one row above the last keeps the last row for skep: CMD's output
 * scrolls in the region.  One write per refresh: save cursor (with its colours), set the
 * region again (CMD may have reset the terminal), draw, restore the cursor.
 *
 * skep gives up the line, and returns the whole screen, while another program has the
 * terminal: canonical mode is off (an editor, a pager, a shell's prompt), another
 * process group is in the foreground, or the terminal has fewer than MIN_ROWS rows.
 * skep checks this before every write, and live_check() between refreshes.
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
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/human.h"
#include "cli/base/text.h"

#define MIN_ROWS    10
#define MIN_COLUMNS 20

#define SAVE        "\0337" /* DECSC: position, colours, character set */
#define RESTORE     "\0338" /* DECRC */

struct live {
	int fd;
	bool unicode;
	pid_t group;            /* see live_follow(); 0: none */
	bool shown;             /* the scroll region is set */
	unsigned rows, columns; /* the terminal's size when the region was set */
	char *unsent;           /* the rest of a text that a full terminal did not accept */
	size_t unsent_len;
};

/* ---- a crash of skep itself: the handler gives the screen back --------------- */

static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
#define N_FATAL (sizeof(fatal) / sizeof(fatal[0]))
static struct sigaction before_fatal[N_FATAL];
static volatile sig_atomic_t fatal_fd = -1;

static void on_fatal(int number)
{
	static const char reset[] = SAVE "\033[r" RESTORE;
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
static bool ours(const struct live *live, unsigned *ret_rows, unsigned *ret_columns)
{
	struct termios mode;
	struct winsize size;

	if (!in_foreground(live) || tcgetattr(live->fd, &mode) < 0 || !(mode.c_lflag & ICANON))
		return false;
	if (ioctl(live->fd, TIOCGWINSZ, &size) < 0 || size.ws_row < MIN_ROWS || size.ws_col < MIN_COLUMNS)
		return false;
	*ret_rows = size.ws_row;
	*ret_columns = size.ws_col;
	return true;
}

/*
 * With SIGTTOU blocked, a write from the background succeeds instead of stopping this process (stty tostop).  skep
 * writes so only to give the screen back.
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

int live_new(int fd, struct live **ret)
{
	const char *term = getenv("TERM");
	struct live *live;

	if (!isatty(fd) || !term || !*term || strcmp(term, "dumb") == 0 || tcgetpgrp(fd) < 0)
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

/* erase: the last row still shows our line. DECSTBM moves the cursor home, hence save and restore around it. */
static void give_back(struct live *live, bool erase)
{
	if (!live->shown)
		return;
	live->shown = false;
	if (erase)
		send_take(live, text_format(SAVE "\033[r\033[%u;1H\033[2K" RESTORE, live->rows));
	else
		send_take(live, text_format(SAVE "\033[r" RESTORE));
}

void live_check(struct live *live)
{
	unsigned rows, columns;

	if (!live)
		return;
	if (!send_rest(live) || !live->shown)
		return;
	if (!ours(live, &rows, &columns))
		give_back(live, false); /* the other program may have drawn on the last row already */
	else if (rows != live->rows || columns != live->columns)
		live_resize(live);
}

void live_draw(struct live *live, const struct collector_live *figures)
{
	unsigned rows, columns;
	char *text;

	if (!live)
		return;
	live_check(live);
	if (live->unsent_len > 0 || !ours(live, &rows, &columns))
		return;
	text = live_text(figures, columns - 1, live->unicode); /* not the last column: the cursor would wait to wrap */
	if (!text)
		return;
	/*
	 * The first time the cursor may be on the last row. IND scrolls only on the last
	 * row; unlike a newline it keeps the column (ONLCR would add a return).
	 */
	send_take(live, text_format("%s" SAVE "\033[1;%ur\033[%u;1H\033[0;7m%s\033[0m\033[K" RESTORE,
				    live->shown ? "" : "\033D\033[A", rows - 1, rows, text));
	live->shown = true;
	live->rows = rows;
	live->columns = columns;
	free(text);
}

void live_follow(struct live *live, pid_t group)
{
	if (live)
		live->group = group;
}

void live_resize(struct live *live)
{
	/* Only the terminal knows the position of the old line: skep erases nothing, as CMD may have written there. */
	if (live)
		give_back(live, false);
}

void live_clear(struct live *live)
{
	unsigned rows, columns;

	if (live)
		give_back(live, ours(live, &rows, &columns) && rows == live->rows);
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
	/* the most important figures first: a narrow terminal cuts at the end */
	text = text_format(
		" skep %s | %s of %s processes | %s cores | %s | read %s/s write %s/s%s%s%s%s%s%s%s ",
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
